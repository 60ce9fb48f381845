"""A step with a penalty is the prox step of a curvature bound h: f + g falls by hγ²/2 or more."""

from math import inf

import numpy as np
import pytest

from pursuit import (
    L1,
    AffineInvariant,
    Backtracking,
    Box,
    Coordinates,
    Dictionary,
    ExactLineSearch,
    Huber,
    LeastSquares,
    Logistic,
    NonNegative,
    Problem,
    Quadratic,
    Smooth,
    SquaredDistance,
    solve,
)
from pursuit.points import choose
from pursuit.rules.pieces import Pieces
from pursuit.rules.prox_steps import prox_steps
from pursuit.rules.run import Run
from pursuit.solving.penalised import penalised

PENALTIES = {
    "L1": L1(0.7),
    "L1 of each": L1(np.linspace(0, 2, 6)),
    "Box": Box(-0.3, 0.4),
    "NonNegative": NonNegative(),
    "non-negative L1": L1(0.7).joined(NonNegative()),
    "L1 in a Box": L1(0.7).joined(Box(-0.3, 0.4)),
}
STEPS = {
    "Smooth": Smooth(),
    "AffineInvariant": AffineInvariant(),
    "ExactLineSearch": ExactLineSearch(),
    "Backtracking": Backtracking(),
}
EVERY = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES.keys())
RULES = pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
SEEDS = pytest.mark.parametrize("seed", range(4))


def objective(seed, rng):
    A = rng.standard_normal((8, 6)) * 10.0 ** rng.uniform(-1, 1, 6)
    b = 3 * rng.standard_normal(8)
    return [
        LeastSquares(A, b),
        Quadratic(A.T @ A, A.T @ b),
        Logistic(A, np.sign(b), l2=0.1),
        Huber(A, b, 0.5),
    ][seed % 4]


def steps(seed, penalty, step):
    """Steps along random atoms: the coefficient before, its slope, γ, the decrease, the point."""
    rng = np.random.default_rng(seed)
    f = objective(seed, rng)
    rows = rng.standard_normal((6, 6))
    atoms = penalised(f, Coordinates(6) if seed % 2 else Dictionary(rows), penalty)
    run = Run(Problem(f, atoms), 0)
    measure, pieces = prox_steps(step, run), Pieces(run.problem)
    x = choose(f, atoms, np.zeros(6))
    for z in rng.integers(0, 6, 60).tolist():
        w = float(x.coef[z])
        slope = pieces.slope(z, x.correlation(z), w)
        gamma, decrease = measure(x, z, slope)
        yield run, x, z, slope, gamma, decrease


@SEEDS
@EVERY
@RULES
def test_f_and_g_fall_by_what_was_promised(seed, penalty, step):
    for _, x, z, slope, gamma, decrease in steps(seed, penalty, step):
        before = x.total()
        x.move(gamma, z)
        rounding = 1e-12 * (abs(before) + 1)
        assert x.total() < inf
        assert before - x.total() >= decrease - rounding
        assert decrease >= 0
        assert slope * gamma >= 0


@SEEDS
@EVERY
@RULES
def test_a_step_with_a_curvature_bound_is_the_prox_step_and_gains_half_of_h_gamma_squared(
    seed, penalty, step
):
    for run, x, z, slope, gamma, decrease in steps(seed, penalty, step):
        curvature = step.curvatures(run)
        if curvature is None:
            return
        h, w = curvature(x, z, slope), float(x.coef[z])
        own = run.problem.atoms.penalty.at(np.array([z]))
        (expected,) = own.prox(np.array([w - x.correlation(z) / h]), h)
        assert w - gamma == pytest.approx(expected, rel=1e-12, abs=1e-13)
        assert decrease >= h * gamma**2 / 2 * (1 - 1e-12)
        x.move(gamma, z)


@SEEDS
@EVERY
def test_a_step_that_searches_gains_as_much_as_a_prox_step_up_to_zero(seed, penalty):
    for run, x, z, slope, gamma, decrease in steps(seed, penalty, ExactLineSearch()):
        if run.problem.f.quadratic is not None:
            return
        h, w = x.curvature(z), float(x.coef[z])
        bound = Pieces(run.problem).room(z, w, slope)
        tau = min(abs(slope) / h, bound) if h else 0.0
        assert decrease >= 0.8 * (abs(slope) * tau - h * tau**2 / 2) - 1e-12
        x.move(gamma, z)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_coefficient_comes_to_its_bounds_exactly_and_never_beyond(dtype):
    rng, ends = np.random.default_rng(1), 0
    for _ in range(20):
        f = SquaredDistance(rng.standard_normal(6).astype(dtype))
        atoms = Dictionary(rng.standard_normal((9, 6)).astype(dtype))
        result = solve(f, atoms, penalty=Box(-0.1, 1 / 30), max_iter=200)
        coef = result.coef.toarray()
        assert coef.dtype == dtype
        assert (coef.astype(np.float64) >= -0.1).all()
        assert (coef.astype(np.float64) <= 1 / 30).all()
        ends += np.sum((coef == dtype(-0.1)) | (coef >= np.nextafter(dtype(1 / 30), dtype(0))))
        assert result.success
    assert ends > 40
