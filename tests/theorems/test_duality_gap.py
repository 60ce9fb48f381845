"""The duality gap: never below what is left to gain, and as small as one likes near the minimum."""

import numpy as np
import pytest

from pursuit import (
    L1,
    Box,
    Coordinates,
    Dictionary,
    ExactLineSearch,
    Huber,
    LeastSquares,
    Logistic,
    NonNegative,
    Poisson,
    Problem,
    Quadratic,
    SquaredDistance,
    SquaredHinge,
    methods,
    solve,
)
from pursuit.geometry.suboptimality import SuboptimalityBound
from pursuit.solving.penalised import penalised

EXACT = methods.matching_pursuit(step=ExactLineSearch())


def random_problem(rng, scale):
    """A linear model with a penalty, its units up to 10^±scale."""
    m, d = int(rng.integers(3, 12)), int(rng.integers(1, 7))
    X = rng.standard_normal((m, d)) * 10.0 ** rng.uniform(-1, 1, d)
    units, l2 = 10.0 ** rng.uniform(-scale, scale), float(rng.choice([0.0, 0.1]))
    intercept = bool(rng.integers(2))
    weights = rng.uniform(0.5, 2, m) if rng.integers(2) else None
    y, signs = rng.standard_normal(m), np.where(rng.random(m) < 0.5, -1.0, 1.0)
    signs[:2] = -1, 1
    more = {"l2": l2, "weights": weights, "intercept": intercept}
    f = [
        lambda: LeastSquares(X, units * y, **more),
        lambda: Huber(X, units * y, 0.5 * units, **more),
        lambda: Logistic(X * units, signs, **more),
        lambda: SquaredHinge(X * units, signs, **more),
    ][int(rng.integers(4))]()
    n = d + intercept
    axes = Coordinates(n)
    atoms = axes if rng.integers(3) else Dictionary(rng.standard_normal((n + 2, n)))
    peak = float(np.abs(atoms.correlate(f.gradient(np.zeros(n)))).max()) or 1.0
    lam = peak * 10.0 ** rng.uniform(-2, 0)
    size = peak / max(f.scales(atoms)[0].max(), 1e-300)
    penalty = [
        lambda: L1(lam),
        lambda: L1(lam * rng.uniform(0.5, 2, len(atoms))),
        lambda: Box(-size * rng.uniform(0.1, 1), size * rng.uniform(0.1, 1)),
        lambda: NonNegative(),
        lambda: L1(lam).joined(NonNegative()),
        lambda: L1(lam).joined(Box(-size, size)),
    ][int(rng.integers(6))]()
    return f, atoms, penalty


def exact_value(f, atoms, penalty, w):
    """P(w) in extended precision, the losses by their own formulas."""
    long = np.longdouble
    model = f.double().linear_model
    x = atoms.matrix.astype(long).T @ w.astype(long)
    X = model.X.astype(long)
    u, wide = X @ x, model.weights.astype(long)
    if isinstance(f, Logistic):
        losses = np.logaddexp(long(0), -model.y.astype(long) * u)
    elif isinstance(f, SquaredHinge):
        losses = np.maximum(1 - model.y.astype(long) * u, 0) ** 2 / 2
    else:
        r = np.abs(u - model.y.astype(long))
        inside = np.minimum(r, long(f.delta)) if isinstance(f, Huber) else r
        losses = inside * (r - inside / 2)
    shrunk = x[:-1] if f.intercept else x
    ridge = long(f.l2) * (shrunk @ shrunk) / 2
    return (wide * losses).sum() + ridge + (penalty.parts(len(w)).weights * np.abs(w)).sum()


@pytest.mark.parametrize("block", range(10))
def test_the_gap_is_never_below_what_is_left_to_gain(block):
    known = 0
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng(seed)
        f, atoms, penalty = random_problem(rng, 1 if seed % 2 else 6)
        whole = penalised(f, atoms, penalty)
        bound = SuboptimalityBound.of(Problem(f, whole))
        results = [
            solve(f, atoms, EXACT, penalty=penalty, max_iter=steps, tol=0) for steps in (1, 4, 60)
        ]
        points = [result.coef.toarray() for result in results]
        values = [exact_value(f, atoms, whole.penalty, w) for w in points]
        for w, value in zip(points, values, strict=True):
            gap = bound(atoms.combine(w), w)
            known += gap < np.inf
            assert gap >= float(value - min(values)), seed
    assert known > 90


MODELS = {
    "LeastSquares": lambda X, y, **more: LeastSquares(X, y, **more),
    "Huber": lambda X, y, **more: Huber(X, y, 1.0, **more),
    "Logistic": lambda X, y, **more: Logistic(X, np.sign(y), **more),
    "SquaredHinge": lambda X, y, **more: SquaredHinge(X, np.sign(y), **more),
}
SMALL = {
    "L1": ({}, L1(2.0)),
    "L1 and l2": ({"l2": 0.5}, L1(2.0)),
    "L1 and an intercept": ({"intercept": True}, L1(2.0)),
    "l2 alone": ({"l2": 0.5}, None),
    "l2 and an intercept": ({"l2": 0.5, "intercept": True}, None),
    "Box": ({}, Box(-0.1, 0.1)),
    "NonNegative and l2": ({"l2": 0.5}, NonNegative()),
    "weights": ({"weights": np.linspace(0.5, 2, 30)}, L1(2.0)),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize(("more", "penalty"), SMALL.values(), ids=SMALL.keys())
def test_the_gap_is_small_at_the_minimum(make, more, penalty):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((30, 5)), rng.standard_normal(30)
    f = make(X, y, **more)
    result = solve(f, Coordinates(*f.shape), EXACT, penalty=penalty, tol=1e-11, max_iter=3000)
    assert result.gap <= 1e-8 * f.value(np.zeros(f.shape))


def test_coefficients_without_a_weight_have_a_dual_point_that_is_orthogonal_to_them():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((30, 6)), rng.standard_normal(30)
    penalty = L1([0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    result = solve(LeastSquares(X, y), Coordinates(6), EXACT, penalty=penalty, tol=1e-10)
    assert 0 < result.gap < 1e-8


def test_spectra_have_a_dual_point_over_their_cone():
    rng = np.random.default_rng(5)
    f = LeastSquares(rng.random((30, 6)), rng.standard_normal(30))
    result = solve(f, Coordinates(6), EXACT, penalty=NonNegative(), tol=1e-10)
    assert 0 < result.gap < 1e-8


def test_any_strongly_convex_f_over_coordinates_has_a_gap():
    rng = np.random.default_rng(6)
    A = rng.standard_normal((20, 6))
    f = Quadratic(A.T @ A, rng.standard_normal(6))
    for penalty in (L1(0.2), Box(-0.1, 0.1), NonNegative()):
        result = solve(f, Coordinates(6), EXACT, penalty=penalty, tol=1e-10)
        assert 0 <= result.gap < 1e-8


def test_a_distance_has_a_gap_over_any_atoms():
    rng = np.random.default_rng(7)
    f, atoms = SquaredDistance(rng.standard_normal((2, 3))), rng.standard_normal((9, 2, 3))
    result = solve(f, Dictionary(atoms), EXACT, penalty=L1(0.3), tol=1e-10, max_iter=20000)
    assert 0 < result.gap < 1e-7


def test_a_gap_is_that_of_bounds_as_given_where_a_run_rounds_them():
    H, b, end = np.float32([[0.875]]), np.float32([-0.9375]), 0.01891716423415138
    result = solve(Quadratic(H, b), Coordinates(1), "cyclic", penalty=Box(-end, end), max_iter=0)
    assert result.x.dtype == np.float32
    assert result.gap >= 0.9375 * end - 0.875 * end * end / 2


def test_an_indefinite_hessian_of_single_precision_is_charged_for():
    """It is accepted as convex, and bounded coefficients limit how far it may fall."""
    H = np.array([[1, 1], [1, 1 - 2.0**-12]], np.float32)  # falls along (1, −1)
    result = solve(Quadratic(H, [0.0, 0.0]), Coordinates(2), penalty=Box(-1, 1), max_iter=0)
    assert 2.0**-13 < result.gap < 2.0**-9
    assert solve(Quadratic(H, [0.0, 0.0]), Coordinates(2), penalty=L1(1.0)).gap == np.inf


def test_a_gap_stops_a_run_and_is_what_the_certificate_says():
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((40, 10)), rng.standard_normal(40)
    f = Poisson(X / 4, np.arange(40) % 4)
    for gap in (1e-2, 1e-5):
        for objective in (LeastSquares(X, y), f):
            result = solve(objective, Coordinates(10), EXACT, penalty=L1(0.5), gap_tol=gap)
            assert result.status.name == "CONVERGED"
            assert "proved to be within" in result.message
            assert result.certificate.bound == result.gap <= gap
            assert f"f(x) − f* ≤ {result.gap:.4g}" in str(result)
    assert result.iterations % 10 == 0  # as often as there are atoms, however few
