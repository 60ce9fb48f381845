"""Coordinate descent over large columns: kernels and rules, looks and resumes, give the same."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from pursuit import (
    L1,
    Box,
    Coordinates,
    Cyclic,
    Dictionary,
    Function,
    Huber,
    InputError,
    LeastSquares,
    Logistic,
    Newton,
    NonNegative,
    Poisson,
    Random,
    Shuffled,
    Sphere,
    SquaredDistance,
    SquaredHinge,
    Status,
    methods,
    solve,
)
from pursuit.objectives.problem import Problem
from pursuit.points.columns import ENTRIES, suits_columns
from pursuit.points.linear import LinearPoint
from pursuit.rules.momentum import FixedNuStepper
from pursuit.rules.run import Run
from pursuit.solving.penalised import penalised

N, D = 1500, 29
rng = np.random.default_rng(5)
X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.5) * 10.0 ** rng.uniform(-0.5, 0.5, D)
Y = X @ (0.3 * rng.standard_normal(D)) + rng.standard_normal(N) + 0.3
COUNTS = rng.poisson(np.exp(0.2 * X[:, 0] + 0.3)).astype(float)
WEIGHTS = rng.uniform(0.2, 2, N)
COMMON = {"l2": 0.7, "weights": WEIGHTS, "intercept": True}
LOSSES = {
    "least squares": lambda X: LeastSquares(X, Y, **COMMON),
    "huber": lambda X: Huber(X, Y, 0.8, **COMMON),
    "logistic": lambda X: Logistic(X, Y > 0, **COMMON),
    "squared hinge": lambda X: SquaredHinge(X, Y > 0, **COMMON),
    "poisson": lambda X: Poisson(X, COUNTS, **COMMON),
}
FORMS = {"dense": np.asarray, "sparse": csc_array}
P = np.arange(1, D + 2) / np.arange(1, D + 2).sum()
METHODS = {
    "cyclic": methods.cyclic(),
    "shuffled": methods.shuffled(),
    "random": methods.random_pursuit(sampling=P, step=Newton()),
    "steepest": methods.matching_pursuit(step=Newton()),
    "random, L": methods.random_pursuit(),
    "steepest, L": methods.matching_pursuit(),
}
PENALTIES = {
    "l1": L1(30.0),
    "l1 of each": L1(np.linspace(0, 80, D + 1)),
    "box": Box(-0.1, 0.05),
    "non-negative": NonNegative(),
}
# The kernels' exp and sums are not NumPy's to the last bit.
NEAR = 1e-12


def by_rules(f, method, steps, penalty=None):
    """So many steps of the rules, on a point that keeps u up to date with NumPy."""
    run = Run(Problem(f, penalised(f, Coordinates(D + 1), penalty)), 0)
    x = LinearPoint(f.linear_model, run.problem.atoms, np.zeros(D + 1, f.dtype))
    improve = method.advance.start(run)
    for _ in range(steps):
        improve(x)
        run.t += 1
    return x


def compiled(f, method, **options):
    assert suits_columns(f, Coordinates(D + 1))
    options = {"tol": 0, "gram_bytes": 0, "max_iter": 300} | options
    return solve(f, Coordinates(D + 1), method, **options)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", METHODS)
def test_stretches_equal_single_steps(loss, form, name):
    f, method = LOSSES[loss](FORMS[form](X)), METHODS[name]
    if loss == "poisson" and name.endswith("L"):
        pytest.skip("Poisson has no L")
    result, x = compiled(f, method), by_rules(f, method, 300)
    assert np.abs(result.x - x.x).max() <= NEAR * np.abs(x.x).max()
    assert result.iterations == 300
    assert result.value == pytest.approx(f.value(x.x), rel=1e-12)
    # Rounding decides whether a search along a column looks at it once more.
    assert result.counts.products == pytest.approx(x.counts.products, rel=0.02)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", PENALTIES)
def test_stretches_equal_single_steps_with_a_penalty(loss, form, kind):
    f = LOSSES[loss](FORMS[form](X))
    for method in METHODS.values():
        if f.L is None and not method.advance.step.newton:
            continue
        result = compiled(f, method, penalty=PENALTIES[kind])
        x = by_rules(f, method, result.iterations, PENALTIES[kind])
        assert np.abs(result.x - x.x).max() <= 10 * NEAR * np.abs(x.x).max()
        assert result.value == pytest.approx(x.total(), rel=1e-12)


@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "poisson"])
@pytest.mark.parametrize("form", FORMS)
def test_the_pair_of_algorithm_3_equals_its_two_points(loss, form):
    f, method = LOSSES[loss](FORMS[form](X)), methods.accelerated_random(sampling=P)
    run = Run(Problem(f, Coordinates(D + 1)), 0)
    x = LinearPoint(f.linear_model, run.problem.atoms, np.zeros(D + 1))
    stepper = FixedNuStepper(method.momentum, run, method.advance, x)
    for _ in range(700):
        stepper.step()
        run.t += 1
    result = compiled(f, method, max_iter=700)
    assert np.abs(result.x - stepper.x.vector).max() <= 1e-11 * np.abs(result.x).max()
    assert result.origin.beta == pytest.approx(stepper.beta, rel=1e-12)


def test_the_pair_is_rescaled_without_a_trace():
    """θ falls like 1/t²: after 20,000 steps it has been multiplied into b."""
    f = LOSSES["logistic"](X)
    result = compiled(f, "accelerated-random", max_iter=60_000, tol=1e-9)
    best = solve(f, Coordinates(D + 1), "accelerated", tol=1e-11)
    assert result.value <= best.value * (1 + 1e-10)


@pytest.mark.parametrize("name", [*METHODS, "accelerated-random"])
def test_looking_more_often_changes_no_bit(name):
    f, method = LOSSES["logistic"](csc_array(X)), METHODS.get(name, name)
    seldom, often = (compiled(f, method, every=every, max_iter=400) for every in (400, 1))
    assert np.array_equal(seldom.x, often.x)
    assert seldom.counts == often.counts
    assert len(often.trace) == 401
    assert np.array_equal(often.trace.value[[0, 400]], seldom.trace.value)


@pytest.mark.parametrize("name", [*METHODS, "accelerated-random"])
@pytest.mark.parametrize("stop", [1, 77, 330])
def test_stopped_and_resumed_equals_uninterrupted(name, stop, tmp_path):
    f, method = LOSSES["squared hinge"](X), METHODS.get(name, name)
    whole = compiled(f, method, max_iter=500)
    first = compiled(f, method, max_iter=stop, checkpoint=tmp_path / "run")
    for source in (tmp_path / "run", first):
        again = compiled(f, method, max_iter=500, resume=source)
        assert np.array_equal(again.x, whole.x)
        assert again.value == whole.value
        assert again.counts == whole.counts


@pytest.mark.parametrize("name", ["cyclic", "shuffled", "steepest"])
def test_float32_runs_in_float32_to_its_rounding(name):
    for form in FORMS.values():
        for loss in ("logistic", "huber"):
            narrow = LOSSES[loss](form(X.astype(np.float32)))
            result = compiled(narrow, METHODS[name], max_iter=60 * D, tol=3e-6)
            best = solve(LOSSES[loss](X), Coordinates(D + 1), "accelerated", tol=1e-11)
            assert result.x.dtype == np.float32
            assert np.abs(result.x - best.x).max() <= 5e-4 * np.abs(best.x).max(), loss


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["cyclic", "shuffled", "steepest"])
def test_kernels_reach_the_optimum(loss, form, name):
    """Slopes of 1e-9, and the x of another method to 1e-6."""
    f = LOSSES[loss](FORMS[form](X))
    result = compiled(f, METHODS[name], max_iter=400 * D, tol=2e-13)
    best = solve(f, Coordinates(D + 1), "accelerated", tol=1e-11)
    assert result.success, result.message
    assert np.abs(f.gradient(result.x)).max() <= 1e-9
    assert np.abs(result.x - best.x).max() <= 1e-6 * np.abs(best.x).max()


# The rules ----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_a_newton_step_falls_by_what_it_promises(loss):
    """From points far away, along columns of any scale: the decrease that is proved is true, and
    no less than that of the step for the largest curvature."""
    generator = np.random.default_rng(2)
    for scale in (1e-3, 1.0, 30.0):
        f = LOSSES[loss](X).linear_model
        run = Run(Problem(f, Coordinates(D + 1)), 0)
        measure = Newton().start(run)
        start = scale * generator.standard_normal(D + 1) / (30 if loss == "poisson" else 1)
        x = LinearPoint(f, run.problem.atoms, start)
        for j in range(D + 1):
            c, before = x.correlation(j), x.value()
            gamma, promised = measure(x, j, c)
            fallen = before - x.value_along(gamma, j)
            rounding = 1e-12 * abs(before)
            assert promised > 0
            assert fallen >= promised * (1 - 1e-9) - rounding
            if f.bend < np.inf:
                assert promised >= 0.9 * c * c / (2 * x.curvature(j)) - rounding


def test_shuffled_goes_through_all_atoms_in_new_orders():
    atoms = Dictionary(np.random.default_rng(0).standard_normal((7, 4)))
    run = Run(Problem(LeastSquares(np.eye(4), np.ones(4)), atoms), 3)
    Shuffled().start(run)
    orders = []
    for _ in range(20):
        order = run.streams["picks"].ahead(100).tolist()
        run.streams["picks"].skip(7)
        assert sorted(order) == list(range(7))
        orders.append(tuple(order))
    assert len(set(orders)) > 15


def test_cyclic_goes_through_all_atoms_in_turn():
    seen = []

    class Watched(Newton):
        def start(self, run):
            measure = super().start(run)
            return lambda x, z, c: (seen.append(z), measure(x, z, c))[1]

    A = np.random.default_rng(0).standard_normal((6, 4))
    f = Huber(A, np.ones(6), 1.0)
    solve(f, Coordinates(4), methods.cyclic(step=Watched()), max_iter=10, tol=0)
    assert seen == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]


@pytest.mark.parametrize("name", ["cyclic", "shuffled"])
def test_rounds_of_a_dictionary_reach_the_optimum_of_a_quadratic(name):
    generator = np.random.default_rng(4)
    f = LeastSquares(generator.standard_normal((30, 8)), generator.standard_normal(30))
    atoms = Dictionary(generator.standard_normal((12, 8)))
    best = solve(f, atoms, "orthogonal", tol=1e-12)
    result = solve(f, atoms, name, max_iter=50_000, tol=1e-9)
    assert result.success
    assert np.allclose(result.x, best.x, atol=1e-7)
    ambient = solve(f, atoms, name, max_iter=100, tol=0, gram_bytes=0)
    gram = solve(f, atoms, name, max_iter=100, tol=0)
    assert np.allclose(ambient.x, gram.x, atol=1e-12)


def test_rounds_serve_any_f_and_need_a_finite_set():
    f = Function(lambda x: np.cosh(x - 1).sum(), lambda x: np.sinh(x - 1), shape=(3,))
    assert np.allclose(solve(f, Coordinates(3), "shuffled").x, 1, atol=1e-6)
    for name in ("cyclic", "shuffled"):
        with pytest.raises(InputError, match=r"direction: .* needs a finite set"):
            solve(SquaredDistance(np.ones(3)), Sphere(3), name)


# What may be wrong with the data -------------------------------------------------------------


def test_columns_of_zeros_and_constants_and_one_class_are_no_obstacle():
    design = np.column_stack([X, np.zeros(N), np.full(N, 3.0)])
    for f in (
        Logistic(design, np.ones(N), l2=0.5),
        SquaredHinge(csc_array(design), np.ones(N), l2=0.5),
        Poisson(design, COUNTS),
        Huber(design, Y, 1.0),
        LeastSquares(csc_array(design), Y),
    ):
        for method in ("shuffled", METHODS["steepest"]):
            options = {"tol": 1e-10, "max_iter": 30_000, "gram_bytes": 0}
            result = solve(f, Coordinates(D + 2), method, **options)
            assert result.success, (f, result.message)
            assert result.x[D] == 0


def test_separable_labels_without_l2_end_as_unbounded_and_nothing_overflows():
    separable = np.column_stack([np.sign(Y) * (1 + np.abs(Y)), X])
    f = Logistic(separable, Y > 0)
    for method in ("cyclic", "shuffled", METHODS["steepest"]):
        result = solve(f, Coordinates(D + 1), method, max_iter=200 * D, tol=1e-8)
        assert result.status is Status.UNBOUNDED, method
        assert np.isfinite([*result.x, result.value]).all()


def test_counts_that_vanish_along_a_column_do_not_overflow():
    design = X.copy()
    design[:, 0] = np.where(COUNTS == 0, 1.0, 0.0)  # its coefficient falls without end
    result = solve(Poisson(design, COUNTS), Coordinates(D), "shuffled", max_iter=100 * D)
    assert np.isfinite([*result.x, result.value]).all()


def test_limits_on_atoms_and_on_the_value_are_kept():
    f = LOSSES["logistic"](X)
    for method in METHODS.values():
        assert len(compiled(f, method, n_nonzero=5, max_iter=5000).support) == 5
    first = f.value(np.zeros(D + 1))
    reached = compiled(f, "shuffled", target=0.8 * first, max_iter=5000)
    assert reached.status is Status.CONVERGED
    assert reached.value <= 0.8 * first
    assert reached.iterations % (D + 1) == 0  # looked at once a round


def test_small_matrices_are_left_to_the_rules():
    """Which of them runs depends on the problem alone."""
    assert X.size >= ENTRIES
    assert not suits_columns(Logistic(X[:100], Y[:100] > 0), Coordinates(D))
    assert not suits_columns(Logistic(X, Y > 0), Dictionary(np.eye(D)))
    assert Random(P).blind
    assert Cyclic().blind
