"""Which atom: the δ-approximate oracle and the best of a subset."""

from itertools import combinations

import numpy as np
import pytest

from pursuit import (
    Approximate,
    Coordinates,
    Dictionary,
    Groups,
    InputError,
    LeastSquares,
    Logistic,
    Problem,
    Quadratic,
    Sampling,
    Sphere,
    SquaredDistance,
    Steepest,
    Subset,
    geometry,
    methods,
    points,
    solve,
)
from pursuit.points import Needs
from pursuit.rules.approximate import StaleCorrelations
from pursuit.rules.run import Run

rng = np.random.default_rng(0)


def gaussian(n=60, d=25, seed=0):
    return Dictionary(np.random.default_rng(seed).standard_normal((n, d)))


def walk(seed, d, steps):
    """Gradients that shrink, drift, jump and now and then return to where they were."""
    generator = np.random.default_rng(seed)
    g = generator.standard_normal(d)
    seen = [g]
    for _ in range(steps):
        kind = generator.integers(10)
        if kind < 5:
            g = 0.97 * g + 0.03 * generator.standard_normal(d) * np.linalg.norm(g)
        elif kind < 8:
            g = g * 10.0 ** generator.uniform(-0.3, 0.3)
        elif kind == 8:
            g = seen[generator.integers(len(seen))]
        else:
            g = generator.standard_normal(d) * 10.0 ** generator.uniform(-3, 3)
        seen.append(g)
        yield g


# Steepest -------------------------------------------------------------------------------


SETS = [
    gaussian(30, 6),
    Coordinates(6),
    Sphere(6),
    Groups([[0, 1, 2], [3], [4, 5]]),
    Dictionary(np.random.default_rng(1).standard_normal((30, 6)) * np.logspace(-3, 3, 30)[:, None]),
]


@pytest.mark.parametrize("atoms", SETS, ids=repr)
def test_the_oracle_gives_the_atom_that_maximises_the_correlation(atoms):
    """⟨d, LMO(d)⟩ is ‖d‖_{A*}, and no atom that is drawn reaches more."""
    b = rng.standard_normal(6)
    f = SquaredDistance(b)
    choose = Steepest().start(Run(Problem(f, atoms), seed=0))
    for _ in range(50):
        x = atoms.vector(atoms.draw(rng, 1)[0])
        z, c, slope = choose(points.choose(f, atoms, x, Needs.VECTOR))
        best = atoms.lmo(x - b)
        np.testing.assert_array_equal(atoms.vector(z), atoms.vector(best))
        assert abs(c) == slope == pytest.approx(abs(atoms.inner(x - b, best)))
        assert slope == pytest.approx(geometry.dual_norm(atoms, x - b))
        others = [abs(atoms.inner(x - b, other)) for other in atoms.draw(rng, 40)]
        assert max(others) <= slope * (1 + 1e-12)


# Approximate ----------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1.0, 0.9, 0.5, 0.3])
@pytest.mark.parametrize("scaled", [False, True], ids=["unit atoms", "atoms of many scales"])
def test_the_quality_is_never_below_delta_in_ten_thousand_calls(delta, scaled):
    calls = 10_000 // 8
    generator = np.random.default_rng(1)
    rows = generator.standard_normal((50, 12))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    if scaled:
        rows *= 10.0 ** generator.uniform(-2, 2, (50, 1))
    f, atoms = SquaredDistance(np.zeros(12)), Dictionary(rows)
    choose = Approximate(delta).start(Run(Problem(f, atoms), seed=0))
    for g in walk(2, 12, calls):
        z, c, slope = choose(points.choose(f, atoms, g, Needs.VECTOR))  # whose gradient is g
        exact = rows @ g
        best = np.abs(exact).max()
        assert abs(c - exact[z]) <= 1e-12 * best
        assert abs(c) >= delta * best * (1 - 1e-12)
        assert best * (1 - 1e-12) <= slope <= abs(c) / delta * (1 + 1e-12)


def test_the_bound_never_exceeds_the_plain_stale_bound():
    """|a c(s)| + ‖e‖√(‖z‖² − c(s)²/‖g_s‖²) ≤ |c(s)| + ‖z‖‖g − g_s‖, and both are bounds."""
    smaller = 0
    for _ in range(200):
        rows, none = rng.standard_normal((16, 4)), np.zeros(16)
        old, new = rng.standard_normal((2, 4))
        stale = StaleCorrelations(Dictionary(rows))
        found = stale.search(old, 1.0, none)
        ours, compared = stale._bounds(new, new.dtype, none)
        assert (found.looked, compared) == (16, 1)  # nothing was known, then all of it
        plain = np.abs(rows @ old) + np.linalg.norm(rows, axis=1) * np.linalg.norm(new - old)
        assert (np.abs(rows @ new) <= ours).all()
        assert (ours <= plain * (1 + 1e-12)).all()
        smaller += np.count_nonzero(ours < 0.9 * plain)
    assert smaller > 1000


def test_it_looks_at_few_atoms_and_counts_them():
    atoms, f = gaussian(200, 100), SquaredDistance(rng.standard_normal(100))
    looked = {}
    for delta in (0.9, 0.5, 0.3):
        method = methods.matching_pursuit(direction=Approximate(delta))
        result = solve(f, atoms, method, max_iter=200, tol=0)
        looked[delta] = result.state.numbers["memory"]["picks"]["looked"] / 200**2
        assert result.counts.oracle_calls == 200
        # Comparisons with earlier gradients count too, and so does the atom of each step.
        assert looked[delta] < (result.counts.products - 1) / 200 < looked[delta] + 0.1
    assert looked[0.9] > looked[0.5] > looked[0.3]
    assert looked[0.5] <= 0.35


def test_with_delta_one_it_is_the_exact_oracle():
    atoms, f = gaussian(), SquaredDistance(rng.standard_normal(25))
    one = solve(f, atoms, methods.matching_pursuit(direction=Approximate(1.0)), max_iter=80)
    two = solve(f, atoms, methods.matching_pursuit(direction=Steepest()), max_iter=80)
    assert np.allclose(one.x, two.x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("delta", [0.9, 0.5, 0.3])
def test_theorem_3_holds_with_that_delta(delta):
    """ε_t ≤ 2 L_A R_A²/(δ²t + 4), and each step gains δ²‖g‖²_{A*}/(2 L_A)."""
    generator = np.random.default_rng(5)
    atoms = Dictionary(generator.standard_normal((9, 3)))
    B = generator.standard_normal((3, 3))
    f = Quadratic(B @ B.T + 0.1 * np.eye(3), generator.standard_normal(3))
    L_A = float(geometry.smoothness(f, atoms))
    best = f.value(np.linalg.solve(f.H, f.b))
    R2 = 2 * (f.value(np.zeros(3)) - best) / geometry.strong_convexity(f, atoms).lower
    xs = []
    solve(
        f,
        atoms,
        methods.affine_invariant(direction=Approximate(delta)),
        max_iter=150,
        tol=0,
        every=1,
        unit_atoms=False,
        callback=lambda s: xs.append(s.x),
    )
    gaps = np.array([f.value(x) - best for x in xs])
    slopes = np.array([np.abs(atoms.matrix @ f.gradient(x)).max() for x in xs])
    t = np.arange(1, len(gaps))
    assert (gaps[1:] <= 2 * L_A * R2 / (delta**2 * t + 4) + 1e-12).all()
    gained = gaps[:-1] - gaps[1:]
    assert (gained >= delta**2 * slopes[:-1] ** 2 / (2 * L_A) - 1e-12 * gaps[0]).all()


@pytest.mark.parametrize("delta", [0.5, 0.9])
def test_it_solves_problems_that_are_not_quadratic(delta):
    X = rng.standard_normal((40, 8))
    f = Logistic(X, rng.random(40) < 0.5, l2=0.5)
    atoms = gaussian(30, 8)
    approximate = solve(f, atoms, methods.matching_pursuit(direction=Approximate(delta)), tol=1e-7)
    exact = solve(f, atoms, "matching-pursuit", tol=1e-9, max_iter=5000)
    assert approximate.success
    assert approximate.value == pytest.approx(exact.value, rel=1e-12)


def test_float32_gradients_are_bounded_with_their_own_rounding():
    rows = rng.standard_normal((80, 30)).astype(np.float32)
    atoms = Dictionary(rows)
    stale = StaleCorrelations(atoms)
    for g in walk(3, 30, 300):
        single = g.astype(np.float32)
        c = stale.search(single, 0.7, np.zeros(80)).correlation
        assert abs(c) >= 0.7 * np.abs(rows.astype(float) @ single.astype(float)).max() * (1 - 1e-5)


@pytest.mark.parametrize("delta", [0.0, -1, 1.5, "half", float("nan")])
def test_a_delta_outside_its_range_is_refused(delta):
    method = methods.matching_pursuit(direction=Approximate(delta))
    with pytest.raises(InputError, match="delta"):
        solve(SquaredDistance(np.ones(25)), gaussian(), method)


def test_a_subset_of_an_infinite_set_is_refused():
    with pytest.raises(InputError, match="finite"):
        solve(
            SquaredDistance(np.ones(3)),
            Sphere(3),
            methods.matching_pursuit(direction=Subset(2)),
        )


# Subset ---------------------------------------------------------------------------------


def subset_quality(c2, m):
    """E over all subsets of m of max c_j², relative to max c_j², by enumeration."""
    best = [max(c2[list(S)]) for S in combinations(range(len(c2)), m)]
    return np.mean(best) / c2.max()


@pytest.mark.parametrize("m", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("shape", [(7, 3), (7, 2), (7, 7)])
def test_the_quality_of_a_subset_is_at_least_the_bound_by_enumeration(m, shape):
    """δ̂² = min over d of E max_{j in S} c_j² / max_j c_j² ≥ max(m/n, 1/max w)."""
    generator = np.random.default_rng(shape[1])
    atoms = Dictionary(generator.standard_normal(shape))
    w = Sampling(atoms).moments.leverage
    bound = max(m / shape[0], 1 / w.max())
    ds = [generator.standard_normal(shape[1]) for _ in range(150)]
    # Directions in which one atom stands alone are the worst: refine towards them.
    worst = min(ds, key=lambda d: subset_quality((atoms.matrix @ d) ** 2, m))
    for _ in range(150):
        near = worst + 0.1 * generator.standard_normal(shape[1])
        worst = min(worst, near, key=lambda d: subset_quality((atoms.matrix @ d) ** 2, m))
    quality = subset_quality((atoms.matrix @ worst) ** 2, m)
    assert quality >= bound * (1 - 1e-12)
    if m == shape[0]:
        assert quality == 1


@pytest.mark.parametrize("m", [1, 2, 4])
def test_the_subset_bound_is_attained_by_coordinates(m):
    c2 = np.zeros(6)
    c2[3] = 1.0
    assert subset_quality(c2, m) == pytest.approx(m / 6)


def test_it_takes_the_best_of_the_atoms_it_drew_and_draws_every_subset_as_often():
    atoms = gaussian(6, 4)
    f = SquaredDistance(rng.standard_normal(4))
    choose_run = Run(Problem(f, atoms), 0)
    choose = Subset(2).start(choose_run)
    x = points.choose(f, atoms, np.zeros(4))
    c = np.abs(x.correlations())
    order = np.argsort(-c)
    picks = [choose(x) for _ in range(6000)]
    assert all(abs(pick.correlation) == c[pick.atom] for pick in picks)
    # The k-th best atom wins when the other of the pair is one of the 5 − k worse ones.
    expected = np.array([5, 4, 3, 2, 1, 0]) / 15
    shares = np.array([sum(pick.atom == j for pick in picks) for j in order]) / len(picks)
    assert np.abs(shares - expected).max() < 4 * np.sqrt(0.25 / 6000)
    assert np.isnan(picks[0].slope)


def test_a_subset_of_all_atoms_is_the_exact_oracle():
    atoms, f = gaussian(), LeastSquares(rng.standard_normal((30, 25)), rng.standard_normal(30))
    all_of_them = methods.matching_pursuit(direction=Subset(60))
    one = solve(f, atoms, all_of_them, max_iter=50)
    two = solve(f, atoms, "matching-pursuit", max_iter=50)
    assert np.array_equal(one.x, two.x)


@pytest.mark.parametrize(("m", "complaint"), [(0, "m: expected"), (7, "at most the 6 atoms")])
def test_an_impossible_subset_is_refused(m, complaint):
    with pytest.raises(InputError, match=complaint):
        solve(
            SquaredDistance(np.ones(6)),
            Coordinates(6),
            methods.matching_pursuit(direction=Subset(m)),
        )
