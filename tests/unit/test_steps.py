"""How far: searches along a line, by slopes and by values, and what they prove."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pursuit import (
    Backtracking,
    Coordinates,
    Dictionary,
    ExactLineSearch,
    Function,
    Huber,
    InputError,
    LeastSquares,
    Logistic,
    Quadratic,
    Sampling,
    SquaredDistance,
    ValueSearch,
    geometry,
    methods,
    solve,
)
from pursuit.objectives.problem import Problem
from pursuit.points import choose
from pursuit.rules.line_search import Line, by_values
from pursuit.rules.run import Run, Unbounded

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 10))
LOSSES = {
    "logistic": Logistic(X, rng.random(60) < 0.5, l2=0.1),
    "logistic without ridge": Logistic(X, rng.random(60) < 0.5),
    "huber": Huber(X, 3 * rng.standard_normal(60), delta=0.5, l2=0.1),
    "cosh": Function(lambda x: np.cosh(X @ x).sum(), lambda x: X.T @ np.sinh(X @ x), shape=10),
    "quartic": Function(
        lambda x: float(((X @ x - 1) ** 4).sum()),
        lambda x: 4 * X.T @ (X @ x - 1) ** 3,
        shape=10,
    ),
}


def point(f, atoms, size=1.0, seed=0):
    return choose(f, atoms, size * np.random.default_rng(seed).standard_normal(f.shape))


def measure_with(step, f, atoms):
    return step.start(Run(Problem(f, atoms), 0))


def exact_decrease(f, x, gamma, z):
    """f(x) − f(x − γz) by a fine integral of the slope, which rounding hardly touches."""
    nodes, weights = np.polynomial.legendre.leggauss(100)
    taus = gamma * (nodes + 1) / 2
    slopes = [float(f.gradient(x - tau * z) @ z) for tau in taus]
    return gamma / 2 * float(weights @ slopes)


# Slopes ---------------------------------------------------------------------------------


@given(
    first=st.floats(0.1, 10),
    bend=st.floats(0.1, 10),
    power=st.floats(0.3, 4),
    cuts=st.lists(st.floats(0.01, 1), min_size=1, max_size=6),
)
def test_the_right_end_sum_never_exceeds_the_decrease(first, bend, power, cuts):
    """ψ(τ) = first·(1 − τ^power) on [0, 1], its integral first·(1 − 1/(power + 1))."""
    line = Line(lambda tau: first * (1 - tau**power), first)
    for cut in cuts:
        line(cut)
    end = max(cuts)
    exact = first * (end - end ** (power + 1) / (power + 1))
    assert line.decrease(end) <= exact + 1e-12
    assert line.sharpen(end, looks=40) >= 0.79 * exact - 1e-12


@given(first=st.floats(0.1, 10), bend=st.floats(0.1, 10), share=st.floats(0.1, 1.5))
def test_with_the_exact_curvature_of_a_quadratic_the_proved_decrease_is_exact(first, bend, share):
    line = Line(lambda tau: first - bend * tau, first, bend)
    tau = share * first / bend
    line(tau)
    assert line.decrease(tau) == pytest.approx(first * tau - bend * tau**2 / 2, rel=1e-9)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("size", [0.0, 0.1, 3.0])
def test_exact_line_search_ends_where_the_slope_vanishes(name, size):
    f, atoms = LOSSES[name], Coordinates(10)
    measure, x = measure_with(ExactLineSearch(), f, atoms), point(f, atoms, size)
    for z in range(10):
        c = x.correlation(z)
        gamma, decrease = measure(x, z, c)
        if c == 0:
            assert gamma == 0
            continue
        assert abs(x.derivative_along(gamma, z)) <= 1e-8 * abs(c)
        gained = exact_decrease(f, x.vector, gamma, np.eye(10)[z])
        assert 0.75 * gained <= decrease <= gained * (1 + 1e-9) + 1e-13 * abs(x.value())


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_exact_line_search_without_any_constant_does_not_depend_on_units(unit):
    f = Function(
        lambda x: np.cosh((x - 3 * unit) / unit).sum(),
        lambda x: np.sinh((x - 3 * unit) / unit) / unit,
        shape=4,
    )
    result = solve(f, Coordinates(4), methods.matching_pursuit(step=ExactLineSearch()))
    assert result.success
    assert np.allclose(result.x / unit, 3, rtol=1e-6)


def test_exact_line_search_steps_back_from_where_f_is_not_a_number():
    def value(x):
        return float(-np.log(1 - x**2).sum() - x.sum())

    def gradient(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(np.abs(x) < 1, 2 * x / (1 - x**2) - 1, np.inf * np.sign(x))

    f = Function(value, lambda x: gradient(x).clip(-1e308, 1e308), shape=2)
    result = solve(f, Coordinates(2), methods.matching_pursuit(step=ExactLineSearch()))
    assert result.success
    assert np.allclose(result.x, np.sqrt(2) - 1)


# Backtracking ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_backtracking_gains_what_it_promises_and_at_least_a_quarter(name):
    f, atoms = LOSSES[name], Coordinates(10)
    run = Run(Problem(f, atoms), 0)
    measure, x = Backtracking().start(run), point(f, atoms, 0.3)
    value = x.value()
    for _ in range(60):
        z, c = x.lmo()
        gamma, decrease = measure(x, z, c)
        assert decrease >= c * gamma / 4 * (1 - 1e-9)  # c²/(4h), γ = c/h
        gained = exact_decrease(f, x.vector, gamma, np.eye(10)[z])
        assert decrease <= gained * (1 + 1e-9) + 1e-13 * value
        x.move(gamma, z)
        assert x.value() <= value
        value = x.value()


@pytest.mark.parametrize("M", [None, 1e-9, 1e9])
def test_the_curvature_that_backtracking_keeps_cannot_run_away(M):
    """M_t ≤ 2 max curvature from the first accepted step on, far beyond convergence."""
    f, atoms = LOSSES["logistic"], Coordinates(10)
    largest = max(f.curvature(e, f.image(e)) for e in np.eye(10))
    run = Run(Problem(f, atoms), 0)
    measure, x = Backtracking(M).start(run), point(f, atoms, 0.3)
    kept = []
    for _ in range(1500):
        z, c = x.lmo()
        gamma, _ = measure(x, z, c)
        x.move(gamma, z)
        kept.append(run.memories["step"].curvature)
    assert abs(c) <= 1e-13 * f.L
    assert max(kept[400:]) <= 2 * largest
    assert min(kept) > 0
    assert np.isfinite(x.value())


@pytest.mark.parametrize("unit", [1e-15, 1.0, 1e15])
def test_backtracking_does_not_depend_on_units(unit):
    f = SquaredDistance(unit * rng.standard_normal(10))
    atoms = Dictionary(np.random.default_rng(1).standard_normal((20, 10)))
    result = solve(f, atoms, methods.matching_pursuit(step=Backtracking()), max_iter=3000)
    assert result.success


@pytest.mark.parametrize("name", ["cosh", "quartic"])
def test_backtracking_solves_what_has_no_smoothness_constant(name):
    f = LOSSES[name]
    with pytest.raises(InputError, match="smoothness constant"):
        solve(f, Coordinates(10), "matching-pursuit")
    result = solve(f, Coordinates(10), methods.matching_pursuit(step=Backtracking()), max_iter=5000)
    assert result.slope <= 1e-5 * result.trace.slope[0]


# Values ---------------------------------------------------------------------------------


@given(
    place=st.floats(-5, 5).filter(lambda p: abs(p) > 1e-3),
    reach=st.floats(-12, 12),
    bend=st.floats(-3, 3),
)
def test_three_values_find_the_vertex_of_a_parabola_from_any_reach(place, reach, bend):
    h = 10.0**bend
    gamma, gain = by_values(lambda g: h * (g - place) ** 2 / 2, h * place**2 / 2, 10.0**reach)
    assert gamma == pytest.approx(place, rel=1e-6)
    assert gain == pytest.approx(h * place**2 / 2, rel=1e-10)


def test_a_line_on_which_nothing_falls_is_left_alone():
    assert by_values(lambda g: 1.0 + g * g, 1.0, 1.0) == (0.0, 0.0)
    assert by_values(lambda g: 1.0, 1.0, 1.0) == (0.0, 0.0)


@pytest.mark.parametrize("name", LOSSES)
def test_value_search_finds_what_exact_line_search_finds(name):
    f, atoms = LOSSES[name], Coordinates(10)
    x = point(f, atoms, 0.3)
    by_slope, by_value = (
        measure_with(ExactLineSearch(), f, atoms),
        measure_with(ValueSearch(), f, atoms),
    )
    for z in range(10):
        exact, _ = by_slope(x, z, x.correlation(z))
        found, gain = by_value(x, z, np.nan)
        best = x.value() - x.value_along(exact, z)
        assert gain >= best - 1e-12 * x.value()
        assert gain == x.value() - x.value_along(found, z)


class Sightless:
    """Takes the gradient away from an objective."""

    def gradient(self, x):
        raise AssertionError("the gradient was asked for")

    def gradient_at(self, x, image):
        raise AssertionError("the gradient was asked for")


class SightlessDistance(Sightless, SquaredDistance):
    pass


class SightlessLeastSquares(Sightless, LeastSquares):
    pass


class SightlessLogistic(Sightless, Logistic):
    pass


Y = rng.standard_normal(60)
SIGHTED = {
    "distance": SquaredDistance(Y[:10]),
    "least squares": LeastSquares(X, Y),
    "logistic": Logistic(X, Y > 0, l2=0.1),
}
SIGHTLESS = {
    "distance": SightlessDistance(Y[:10]),
    "least squares": SightlessLeastSquares(X, Y),
    "logistic": SightlessLogistic(X, Y > 0, l2=0.1),
    "function": Function(lambda x: float(np.cosh(x - 1).sum()), shape=10),
}


@pytest.mark.parametrize("name", SIGHTLESS)
def test_gradient_free_never_asks_for_the_gradient(name, tmp_path):
    f = SIGHTLESS[name]
    file = tmp_path / "run.npz"
    half = solve(f, Coordinates(10), "gradient-free", max_iter=300, checkpoint=file)
    result = solve(f, Coordinates(10), "gradient-free", max_iter=600, resume=file)
    assert half.value < f.value(np.zeros(10))
    assert result.value <= half.value
    assert np.isnan(result.slope)
    assert np.isnan(result.trace.slope).all()
    assert result.counts.oracle_calls == 0
    assert "gradient-free" in str(result)


@pytest.mark.parametrize("name", SIGHTED)
def test_each_gradient_free_step_gains_at_least_what_algorithm_2_would(name):
    f, sighted = SIGHTLESS[name], SIGHTED[name]
    atoms = Dictionary(np.random.default_rng(4).standard_normal((25, 10)))
    L_A = float(geometry.smoothness(f, atoms))
    rows = []
    solve(
        f,
        atoms,
        "gradient-free",
        max_iter=400,
        every=1,
        unit_atoms=False,
        callback=lambda s: rows.append((s.x, s.value)),
    )
    draw = Run(Problem(f, atoms), 0).stream("picks", Sampling(atoms))
    for (x, before), (_, after) in pairwise(rows):
        c = atoms.inner(sighted.gradient(x), draw())
        assert before - after >= c * c / (2 * L_A) - 1e-13 * rows[0][1]


def test_gradient_free_reaches_the_optimum_to_the_precision_of_values():
    f = LOSSES["logistic"]
    exact = solve(f, Coordinates(10), methods.matching_pursuit(step=ExactLineSearch()), tol=1e-10)
    blind = solve(f, Coordinates(10), "gradient-free", max_iter=3000)
    assert blind.value - exact.value <= 1e-13 * exact.value


@pytest.mark.parametrize("unit", [1e-15, 1e15])
def test_gradient_free_does_not_depend_on_units(unit):
    target = np.random.default_rng(3).standard_normal(6)
    result = solve(SquaredDistance(unit * target), Coordinates(6), "gradient-free", max_iter=200)
    assert np.allclose(result.x / unit, target, rtol=1e-6)


@pytest.mark.parametrize("curvature", [1e-40, 1e-65])
def test_gradient_free_finds_a_minimum_that_is_far_but_a_number(curvature):
    result = solve(Quadratic([[curvature]], [1.0]), Coordinates(1), "gradient-free", max_iter=3)
    assert result.x[0] * curvature == pytest.approx(1)


@pytest.mark.parametrize("curvature", [1e-40, 1e-65])
def test_a_curvature_is_measured_wherever_the_slope_changes(curvature):
    line = Line(lambda tau: 1 - curvature * tau, 1.0)
    assert line.typical_curvature(1.0) == pytest.approx(curvature, rel=1e-6, abs=0)
    with pytest.raises(Unbounded):
        Line(lambda tau: 1.0, 1.0).typical_curvature(1.0)


def test_a_slope_test_is_refused_for_gradient_free():
    f = SquaredDistance(np.ones(3))
    with pytest.raises(InputError, match="tol: gradient-free sees no slope"):
        solve(f, Coordinates(3), "gradient-free", tol=1e-3)
    assert solve(f, Coordinates(3), "gradient-free", target=1e-12).success
