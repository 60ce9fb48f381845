"""Second moments of infinite sets: known, or estimated from draws with a stated confidence."""

import numpy as np
import pytest
from theorems.adversaries import lazy_ellipsoid, lazy_rank_one, lazy_sphere

from pursuit import (
    AtomSet,
    Dictionary,
    InputError,
    Oracle,
    Quadratic,
    Sampling,
    Sphere,
    SquaredDistance,
    Transformed,
    geometry,
    rates,
    solve,
)
from pursuit.atoms import drawn
from pursuit.geometry import Kind
from pursuit.objectives.problem import Problem
from pursuit.rules.run import Run

REPETITIONS = 1000
METHODS = (
    "random-pursuit",
    "accelerated-random",
    "accelerated-matching-pursuit",
    "accelerated",
    "accelerated-affine-invariant",
    "gradient-free",
)


class Hidden(AtomSet):
    """A finite set that does not say so: its constants are known, and it knows none of them."""

    def __init__(self, rows, p=None):
        self.known, self.shape = Dictionary(rows), (rows.shape[1],)
        self.p = p

    def lmo(self, d):
        return self.known.matrix[self.known.lmo(d)]

    def draw(self, rng, size):
        return list(self.known.matrix[rng.choice(len(self.known), size, p=self.p)])

    def vector(self, z):
        return z

    @property
    def radius(self):
        return self.known.radius

    @property
    def rank(self):
        return self.known.rank


def hidden(kind):
    """(set, its twin with known constants, the probabilities of its draws)."""
    rng = np.random.default_rng(5)
    if kind == "coordinates":
        rows, p = np.eye(3), np.full(3, 1 / 3)
    elif kind == "unequal lengths":
        rows, p = rng.standard_normal((6, 3)), rng.dirichlet(np.full(6, 4.0))
    else:  # a plane in space
        rows, p = rng.standard_normal((5, 2)) @ rng.standard_normal((2, 3)), np.full(5, 0.2)
    atoms = Hidden(rows, p)
    return atoms, atoms.known, p


def inside(truth, found):
    """Whether an interval contains what it is about, up to rounding."""
    return found.lower * (1 - 1e-9) <= truth <= found.upper * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["coordinates", "unequal lengths"])
def test_intervals_contain_the_truth_at_their_confidence_over_a_thousand_repetitions(
    kind, monkeypatch
):
    monkeypatch.setattr(drawn, "ENOUGH", 0.9)  # the first draws will do
    atoms, known, p = hidden(kind)
    confidence, missed = 0.9, 0
    truths = {
        geometry.sampling_quality: geometry.sampling_quality(known, p),
        geometry.nu_random: geometry.nu_random(known, p),
        geometry.nu: geometry.nu(known, p),
    }
    second = geometry.second_moment(known, p).matrix
    for seed in range(REPETITIONS):
        sampling = Sampling(atoms, confidence=confidence, seed=seed)
        stated = {function: function(atoms, sampling) for function in truths}
        assert all(found.confidence == confidence for found in stated.values())
        moments = sampling.moments
        ratios = np.linalg.eigvalsh(dense_ratio(moments, second))
        good = max(1 - ratios.min(), ratios.max() - 1) <= moments.rounding
        good &= all(inside(truths[function], found) for function, found in stated.items())
        missed += not good
        atoms.estimates.clear()
    assert missed <= (1 - confidence) * REPETITIONS


def dense_ratio(moments, second):
    """G P̃ Gᵀ, whose eigenvalues lie in [1 − θ, 1 + θ]."""
    return moments.dual @ second @ moments.dual.T


@pytest.mark.parametrize("kind", ["coordinates", "unequal lengths"])
def test_the_intervals_are_no_wider_than_a_few_tenths(kind):
    """They have to say something: on atoms of one length each end is near the truth."""
    atoms, known, p = hidden(kind)
    quality = geometry.sampling_quality(atoms)
    truth = geometry.sampling_quality(known, p)
    assert quality.upper <= 1.3 * truth
    if kind == "coordinates":
        assert quality.lower >= 0.8 * truth
        assert geometry.nu_random(atoms).upper <= 1.3 * 3
    assert Sampling(atoms).moments.rounding <= 0.2


def test_too_few_draws_would_be_noticed(monkeypatch):
    """The same intervals computed as if there were a hundred times as many draws miss the truth."""
    honest = drawn._relative_error
    monkeypatch.setattr(drawn, "_relative_error", lambda n, r, eta: honest(100 * n, r, eta))
    atoms, known, p = hidden("unequal lengths")
    second, missed = geometry.second_moment(known, p).matrix, 0
    for seed in range(50):
        moments = Sampling(atoms, confidence=0.9, seed=seed).moments
        ratios = np.linalg.eigvalsh(dense_ratio(moments, second))
        missed += max(1 - ratios.min(), ratios.max() - 1) > moments.rounding
    assert missed > 25


def test_moments_that_are_given_are_used_as_they_are():
    """With P̃ and the largest leverage of the sphere everything is that of the sphere."""
    atoms = lazy_sphere(4, 1.0, np.ones(4), moments=np.full(4, 0.25), max_leverage=4.0)
    sphere = Sphere(4)
    assert geometry.sampling_quality(atoms) == geometry.sampling_quality(sphere)
    assert geometry.sampling_quality(atoms).kind is Kind.EXACT
    assert geometry.nu_random(atoms) == pytest.approx(float(geometry.nu_random(sphere)))
    assert inside(float(geometry.nu(sphere)), geometry.nu(atoms))
    assert np.allclose(geometry.second_moment(atoms).matrix, np.eye(4) / 4)
    assert geometry.second_moment(atoms).confidence == 1
    # Without it, radius²/λ_min(P̃) bounds it, and here that is the same number.
    bare = lazy_sphere(4, 1.0, np.ones(4), moments=np.eye(4) / 4)
    assert geometry.sampling_quality(bare) == pytest.approx(0.25)


def test_transformed_sets_know_their_moments_in_closed_form():
    M = np.random.default_rng(0).standard_normal((3, 3))
    atoms = Transformed(Sphere(3), M)
    inverse = np.linalg.inv(M)
    assert np.allclose(geometry.second_moment(atoms).matrix, inverse @ inverse.T / 3)
    assert geometry.sampling_quality(atoms) == pytest.approx(1 / 3)
    seen = Sampling(Hidden(np.eye(3)), seed=3).moments  # and a base that is estimated passes it on
    assert seen.confidence < 1
    turned = Transformed(lazy_sphere(3, 1.0, np.ones(3)), M)
    found = geometry.sampling_quality(turned)
    assert found.confidence < 1
    assert inside(1 / 3, found)


SETS = {
    "a user's sphere": lambda: lazy_sphere(4, 1.0, np.ones(4)),
    "a lazy ellipsoid": lambda: lazy_ellipsoid(np.diag([1.0, 0.8, 0.6, 0.5]), 0.7, np.ones(4)),
    "a transformed sphere": lambda: Transformed(Sphere(4), np.diag([1.0, 1.5, 2.0, 2.5])),
    "a set without full rank": lambda: Hidden(np.eye(4)[:3] + np.eye(4)[1:]),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SETS)
def test_random_and_accelerated_methods_run_over_any_set_with_draws(name, method):
    """And what they reach is the minimum over lin(A)."""
    atoms, b = SETS[name](), np.arange(1.0, 5.0)
    H = np.diag([1.0, 0.7, 0.5, 0.4])
    tol = None if method == "gradient-free" else 1e-5
    result = solve(Quadratic(H, b), atoms, method, max_iter=2000 if tol else 300, tol=tol)
    basis = geometry.second_moment(atoms).axes
    best = basis.T @ np.linalg.solve(basis @ H @ basis.T, basis @ b)
    gap = 0.5 * (result.x - best) @ H @ (result.x - best)
    assert gap <= 1e-6
    assert result.status.name in ("CONVERGED", "MAX_ITER", "STALLED")


def test_theorem_9_bounds_the_mean_of_algorithm_3_with_an_estimated_nu():
    atoms, b = lazy_sphere(4, 1.0, np.ones(4)), np.arange(4.0)
    f = SquaredDistance(b)
    bound = rates.theorem_9(f, atoms)
    assert bound.confidence == 0.999
    assert "with confidence 0.999" in str(bound)
    values = []
    for seed in range(60):
        run = solve(f, atoms, "accelerated-random", max_iter=40, every=1, tol=0, rng=seed)
        values.append(run.trace.value)
    t = np.arange(1, 41)
    assert (np.mean(values, axis=0)[1:] <= bound(t)).all()


def test_the_energy_of_a_blend_is_bounded_from_above():
    """E[w⟨g, z⟩²] of unequal atoms, against what `accelerated` takes for it."""
    from pursuit.acceleration.adaptive import exploring
    from pursuit.points import choose

    atoms, known, p = hidden("unequal lengths")
    f = SquaredDistance(np.array([1.0, -2.0, 0.5]))
    explore = exploring(Run(Problem(f, atoms), 0), None, 1)
    energy, _ = explore(choose(f, atoms, np.zeros(3)))
    c = known.matrix @ f.b
    truth = p @ (geometry.leverage(known, p) * c**2)
    assert truth <= energy <= 4 * truth


@pytest.mark.parametrize("seed", range(200))
def test_no_certificate_is_below_the_gap(seed):
    """Adversarial oracles, δ from 0.2 to 1, moments given or estimated, quadratics of any bend."""
    rng = np.random.default_rng(seed)
    delta, d = float(rng.uniform(0.2, 1)), int(rng.integers(2, 5))
    root = rng.standard_normal((d, d))
    H, b = root @ root.T + 0.05 * np.eye(d), rng.standard_normal(d)
    turned = rng.standard_normal((d, d))
    M = np.eye(d) if seed % 2 else turned / np.linalg.norm(turned, 2) + np.eye(d) * 1.5
    given = {} if seed % 5 == 0 else {"moments": M @ M.T / d}
    atoms = lazy_ellipsoid(M, delta, np.linalg.eigh(H)[1][:, -1], **given)
    method = METHODS[seed % 5] if seed % 3 else "matching-pursuit"
    steps = int(rng.integers(0, 60))
    result = solve(Quadratic(H, b), atoms, method, max_iter=steps, tol=0, rng=seed)
    gap = 0.5 * (result.x - np.linalg.solve(H, b)) @ H @ (result.x - np.linalg.solve(H, b))
    certificate = result.certificate
    assert not certificate.missing
    assert np.isfinite(certificate.bound)
    assert certificate.bound >= gap
    assert certificate.confidence == (0.999 if not given else 1)
    # A bound that says something: within what δ, δ̂² and the condition of the set allow.
    slope = np.linalg.norm(M.T @ (H @ result.x - b))
    curvature = np.linalg.eigvalsh(M.T @ H @ M)[0]
    assert certificate.bound <= 1.01 + 2 * d / delta**2 * slope**2 / (2 * curvature)


def test_certificates_over_rank_one_matrices_with_a_lazy_oracle():
    B = np.random.default_rng(0).standard_normal((3, 4))
    atoms = lazy_rank_one((3, 4), 0.6, moments=np.full(12, 1 / 12))
    result = solve(SquaredDistance(B), atoms, max_iter=10, tol=0)
    assert result.certificate.bound >= 0.5 * np.linalg.norm(result.x - B) ** 2


def test_what_cannot_be_estimated_is_an_error_that_says_what_to_give():
    with pytest.raises(InputError, match="sample"):
        geometry.nu_random(Oracle(np.sign, 3, radius=2.0))
    short = Oracle(np.sign, 3, radius=0.5, sample=lambda rng: np.ones(3))
    with pytest.raises(InputError, match="radius"):
        geometry.sampling_quality(short)
    stuck = Oracle(np.sign, 3, radius=2.0, sample=lambda rng: np.ones(3))
    with pytest.raises(InputError, match="moments"):
        geometry.sampling_quality(stuck)
    with pytest.raises(InputError, match="rank"):
        geometry.sampling_quality(lazy_sphere(3, 1.0, np.ones(3), rank=2))
    with pytest.raises(InputError, match="moments: expected shape"):
        Oracle(np.sign, 3, radius=2.0, moments=np.eye(2))
    for wrong in (2 * np.eye(3), -np.eye(3), np.zeros(3)):
        with pytest.raises(InputError, match="moments: expected a trace"):
            Oracle(np.sign, 3, radius=2.0, moments=wrong)
    with pytest.raises(InputError, match="rank: expected at most 3"):
        Oracle(np.sign, 3, radius=2.0, rank=4)
    with pytest.raises(InputError, match="sample: expected a function"):
        Oracle(np.sign, 3, radius=2.0, sample=3)
    with pytest.raises(InputError, match="max_leverage"):
        Oracle(np.sign, 3, radius=2.0, max_leverage=3)
    with pytest.raises(InputError, match="max_leverage: expected at least dim"):
        Oracle(np.sign, 3, radius=2.0, moments=np.ones(3), max_leverage=2)
    with pytest.raises(InputError, match="confidence"):
        Sampling(Sphere(3), confidence=1.0)


def test_the_same_draws_are_made_once():
    calls = []

    def sample(rng):
        calls.append(1)
        z = rng.standard_normal(3)
        return z / np.linalg.norm(z)

    atoms = Oracle(lambda d: d / np.linalg.norm(d), 3, radius=1.0, sample=sample)
    first = geometry.sampling_quality(atoms)
    made = len(calls)
    geometry.nu_random(atoms), geometry.nu(atoms), geometry.directional_width(atoms)
    assert len(calls) == made
    assert geometry.sampling_quality(atoms, Sampling(atoms, seed=1)) != first
