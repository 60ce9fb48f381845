"""Runs with a penalty: what they minimise, how they end, what they refuse, and that they resume."""

from math import inf

import numpy as np
import pytest

from pursuit import (
    L1,
    Approximate,
    Backtracking,
    Box,
    Cone,
    Coordinates,
    Dictionary,
    ExactLineSearch,
    InputError,
    LeastSquares,
    Logistic,
    NonNegative,
    Quadratic,
    Replay,
    Sphere,
    SquaredDistance,
    Status,
    Subset,
    methods,
    solve,
)
from pursuit.methods import NAMED
from pursuit.rules.run import Choice

RULES = {
    "matching-pursuit": methods.matching_pursuit(),
    "affine-invariant": methods.affine_invariant(),
    "random-pursuit": methods.random_pursuit(),
    "exact line search": methods.matching_pursuit(step=ExactLineSearch()),
    "backtracking": methods.matching_pursuit(step=Backtracking()),
    "random with exact line search": methods.random_pursuit(step=ExactLineSearch()),
    "approximate oracle": methods.matching_pursuit(direction=Approximate(0.5)),
    "best of a subset": methods.matching_pursuit(direction=Subset(3)),
    "replay": methods.matching_pursuit(direction=Replay([*range(7)] * 4000)),
}
EVERY_RULE = pytest.mark.parametrize("rules", RULES.values(), ids=RULES.keys())
PENALTIES = {
    "L1": L1(np.linspace(0.1, 0.5, 7)),
    "Box": Box(-0.1, np.linspace(0, 0.3, 7)),
    "non-negative L1": L1(0.3).joined(NonNegative()),
}
EVERY = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES.keys())


def problem(kind="quadratic", rows=7):
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((20, 5)), rng.standard_normal(20)
    atoms = Dictionary(rng.standard_normal((rows, 5)) * 10.0 ** rng.uniform(-0.5, 0.5, (rows, 1)))
    return (LeastSquares(A, b) if kind == "quadratic" else Logistic(A, np.sign(b), l2=0.1)), atoms


def bits(result):
    """All that two runs must share; time is theirs alone."""
    numbers = [result.x, result.weights, np.array([result.value, result.slope])]
    trace = np.delete(result.trace.rows(), 1, 1)
    ended = (result.status, result.message, result.iterations)
    return ended, [array.tobytes() for array in (*numbers, trace)]


def same(one, other):
    assert bits(one) == bits(other)


@EVERY_RULE
@EVERY
@pytest.mark.parametrize("kind", ["quadratic", "logistic"])
def test_every_rule_finds_the_minimum_of_f_and_g(rules, penalty, kind):
    f, atoms = problem(kind)
    result = solve(f, atoms, rules, penalty=penalty, tol=1e-8, max_iter=20000)
    best = solve(f, atoms, RULES["exact line search"], penalty=penalty, tol=1e-12, max_iter=20000)
    assert result.status is Status.CONVERGED
    w = result.coef.toarray()
    assert result.value == pytest.approx(f.value(atoms.combine(w)) + penalty.value(w), rel=1e-12)
    assert result.value <= best.value + 1e-9
    assert (np.diff(result.trace.value) <= 1e-12).all()  # f + g never rises


@EVERY
def test_the_minimiser_is_that_of_the_atoms_as_given_whatever_they_run_at(penalty):
    f, atoms = problem()
    exact = RULES["exact line search"]
    options = {"penalty": penalty, "tol": 1e-11, "max_iter": 20000}
    unit = solve(f, atoms, exact, **options)
    printed = solve(f, atoms, exact, unit_atoms=False, **options)
    np.testing.assert_allclose(unit.coef.toarray(), printed.coef.toarray(), atol=1e-7)
    scales = 10.0 ** np.linspace(-8, 8, 7)
    weights, lower, upper = penalty.parts(7)
    other = L1(weights * scales).joined(Box(lower / scales, upper / scales))
    far = solve(
        f, Dictionary(atoms.matrix * scales[:, None]), exact, **options | {"penalty": other}
    )
    np.testing.assert_allclose(far.coef.toarray() * scales, unit.coef.toarray(), atol=1e-7)


@pytest.mark.parametrize("name", NAMED)
def test_no_weight_is_no_penalty_to_the_last_bit(name):
    f, atoms = problem("logistic")
    for penalty in (L1(0.0), L1(np.zeros(7)), Box(-inf, inf)):
        same(
            solve(f, atoms, name, max_iter=30), solve(f, atoms, name, max_iter=30, penalty=penalty)
        )


@pytest.mark.parametrize("name", ["matching-pursuit", "random-pursuit", "orthogonal"])
def test_a_non_negative_penalty_is_a_cone_to_the_last_bit(name):
    f, atoms = problem("logistic")
    one = solve(f, atoms, name, max_iter=300, penalty=NonNegative())
    same(one, solve(f, Cone(atoms), name, max_iter=300))


def test_a_cone_with_a_penalty_is_both():
    f, atoms = problem()
    both = L1(0.3).joined(NonNegative())
    options = {"tol": 1e-10, "max_iter": 5000}
    same(
        solve(f, atoms, penalty=both, **options),
        solve(f, Cone(atoms), penalty=L1(0.3), **options),
    )


@EVERY
@pytest.mark.parametrize("name", ["matching-pursuit", "random-pursuit"])
def test_stopped_and_resumed_equals_uninterrupted(tmp_path, penalty, name):
    f, atoms = problem("logistic")
    options = {"penalty": penalty, "tol": 0, "every": 7, "rng": 3}
    whole = solve(f, atoms, name, max_iter=90, **options)
    file = tmp_path / "run"
    solve(f, atoms, name, max_iter=41, checkpoint=file, **options)
    same(whole, solve(f, atoms, name, max_iter=90, resume=file, **options))
    for other in (L1(0.31), Box(-0.1, 0.1), None):
        with pytest.raises(InputError, match="belongs to another problem"):
            solve(f, atoms, name, max_iter=90, resume=file, **options | {"penalty": other})


def test_how_often_one_looks_changes_no_number_and_not_where_a_gap_is_reached():
    f, atoms = problem()
    often, seldom = (
        solve(f, atoms, penalty=L1(0.3), gap_tol=1e-4, max_iter=5000, every=every)
        for every in (1, 999)
    )
    assert often.status is seldom.status is Status.CONVERGED
    assert (often.iterations, often.value) == (seldom.iterations, seldom.value)
    assert np.array_equal(often.x, seldom.x)


def test_a_run_goes_on_from_coefficients():
    f, atoms = problem()
    options = {"penalty": L1(0.3), "tol": 1e-9, "max_iter": 20000}
    cold = solve(f, atoms, **options)
    warm = solve(f, atoms, coef0=cold.coef.toarray(), **options | {"tol": 1e-3})
    assert warm.iterations <= 0.5 * cold.iterations
    np.testing.assert_allclose(warm.coef.toarray(), cold.coef.toarray(), atol=1e-6)


def test_a_weight_at_its_bound_has_no_slope_beyond_it():
    """Times the norm of its atom it may be a unit in the last place inside."""
    ended = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        norm, low, high = np.exp(3 * rng.standard_normal()), -rng.random(), rng.random()
        options = {"penalty": Box(low, high), "coef0": [high], "max_iter": 1, "tol": 0}
        result = solve(SquaredDistance([-1e4]), [[norm]], "random-pursuit", **options)
        ended += result.weights[0] == low
        assert result.slope == 0 or result.weights[0] > low
    assert ended > 100


def test_a_weight_of_at_least_lambda_max_gives_zero_and_says_so():
    f, axes = LeastSquares(np.diag([1.0, 2.0]), [3.0, 4.0]), Coordinates(2)
    zero = solve(f, axes, penalty=L1(8.0))
    assert (zero.status, zero.iterations, zero.x.tolist()) == (Status.CONVERGED, 0, [0.0, 0.0])
    assert "zero is the solution, for λ ≥ λmax; with less than 1 times" in zero.message
    assert zero.gap < 1e-12
    down = solve(f, axes, penalty=L1(16.0), coef0=[1.0, -1.0])
    assert down.x.tolist() == [0.0, 0.0]
    assert "with less than 0.5 times these weights it would not be" in down.message
    assert solve(f, axes, penalty=L1(7.9)).x.any()
    beside = solve(
        LeastSquares([[1.0], [0.0], [-1.0]], [3.0, 2.0, 2.0], intercept=True), axes, penalty=L1(2.0)
    )
    assert beside.support.tolist() == [1]  # the intercept alone, which has no weight
    assert "with less than 0.5 times these weights it would not be" in beside.message
    nothing = solve(LeastSquares(np.eye(2), [0.0, 0.0]), axes, penalty=L1(1.0))
    assert "zero is the solution, whatever λ is" in nothing.message


def test_columns_that_are_zero_or_alike_do_no_harm():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((12, 5)), rng.standard_normal(12)
    X[:, 1], X[:, 3] = 0, X[:, 2]
    for penalty in (L1(0.5), Box(-0.2, 0.2), L1(0.5).joined(NonNegative())):
        for rules in (RULES["exact line search"], RULES["random-pursuit"]):
            start = np.full(5, 0.1)
            options = {"penalty": penalty, "coef0": start, "tol": 1e-9, "max_iter": 20000}
            result = solve(LeastSquares(X, y), Coordinates(5), rules, **options)
            assert result.success
            assert result.x[1] == (0.1 if penalty.parts(5).weights[1] == 0 else 0.0)


def test_a_penalty_bounds_what_f_alone_does_not():
    f = Quadratic(np.diag([1.0, 0.0]), [1.0, 1.0])
    assert solve(f, Coordinates(2)).status is Status.UNBOUNDED
    exact = RULES["exact line search"]
    assert solve(f, Coordinates(2), exact, penalty=Box(-1, 2)).x.tolist() == [1.0, 2.0]
    assert solve(f, Coordinates(2), exact, penalty=L1(1.5)).x.tolist() == [0.0, 0.0]
    assert solve(f, Coordinates(2), exact, penalty=L1([0.5, 0.9])).status is Status.UNBOUNDED


def test_a_direction_of_your_own_needs_to_know_nothing_of_penalties():
    class Looking:
        """The oracle, which gives the slope of f + g; told or not, the step asks again."""

        def start(self, run, purpose="picks"):
            return lambda x: Choice(*x.lmo(), np.nan)

    class Plainly:
        def start(self, run, purpose="picks"):
            return lambda x: Choice(run.t % 7, x.correlation(run.t % 7), np.nan)

    f, atoms = problem()
    best = solve(f, atoms, RULES["exact line search"], penalty=L1(0.3), tol=1e-12, max_iter=20000)
    for rule in (Looking(), Plainly()):
        own = methods.matching_pursuit(direction=rule)
        result = solve(f, atoms, own, penalty=L1(0.3), tol=0, max_iter=4000)
        assert result.value <= best.value + 1e-9


UNPROVED = ["accelerated-random", "accelerated", "orthogonal", "blended", "gradient-free"]


@pytest.mark.parametrize("name", UNPROVED)
def test_a_method_without_a_proof_is_refused_by_name_with_those_that_have_one(name):
    f, atoms = problem()
    with pytest.raises(InputError, match=f"method: {name} .* with this penalty") as error:
        solve(f, atoms, name, penalty=L1(0.3))
    able = str(error.value).partition("expected one of ")[2].split(", ")
    assert {"matching-pursuit", "affine-invariant", "random-pursuit"} <= set(able)
    assert not set(able) & set(UNPROVED)
    for other in able:
        solve(f, atoms, other, penalty=L1(0.3), max_iter=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": 0.1}, "penalty: expected an L1, a Box, NonNegative.. or None, got 0.1"),
        (
            {"penalty": L1([1.0, 2.0])},
            "penalty: L1 has 2 numbers, .* expected 7",
        ),
        ({"penalty": L1(1.0), "x0": np.zeros(5)}, "x0: a point does not tell its coefficients"),
        ({"penalty": Box(-1, 1), "coef0": np.arange(7)}, "from -1 to 1 for atom 2, got 2"),
        ({"penalty": L1(1.0), "rtol": 0.1}, "rtol: with weights on coefficients"),
        ({"penalty": L1(1.0), "gap_tol": 0}, "gap_tol: expected a positive number, got 0"),
        ({"penalty": L1(1.0), "gap_tol": np.nan}, "gap_tol: expected a number, got nan"),
        ({"penalty": L1(1.0), "gap_tol": b"3"}, "gap_tol: expected a number, got b'3'"),
        (
            {"gap_tol": 1e-3},
            "gap_tol: of LeastSquares .* without a penalty no dual problem is known",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    f, atoms = problem()
    with pytest.raises(InputError, match=message):
        solve(f, atoms, **options)


def test_a_penalty_needs_a_finite_set():
    with pytest.raises(InputError, match="penalty: expected a finite set of atoms"):
        solve(SquaredDistance(np.ones(3)), Sphere(3), penalty=L1(1.0))


def test_draws_are_those_of_the_run_without_a_penalty():
    f, atoms = problem()
    seen = [
        solve(f, atoms, methods.random_pursuit(sampling=[0.4] + [0.1] * 6), max_iter=200, **options)
        for options in ({}, {"penalty": Box(-inf, 1e9)})
    ]
    np.testing.assert_allclose(seen[0].x, seen[1].x, rtol=1e-9)


def test_an_h_that_rounding_made_indefinite_is_taken_to_the_end():
    H = np.diag([5e8, 1.0, -3.0]).astype(np.float32)  # −3 is rounding of 5e8 in float32
    f = Quadratic(H, np.array([1e8, 1.0, 0.0], np.float32))
    result = solve(f, Coordinates(3), "cyclic", penalty=Box(-1, 1), max_iter=9)
    assert result.gap >= 0.5 * 3  # to be had at ±1 along the last axis
    assert "duality gap" in str(result)


def test_a_gap_knows_of_free_atoms_however_short_they_are():
    """The short ones may have coefficients of any length, so that θ is orthogonal to them too."""
    atoms = np.diag([1.0, 1e-24, 1.0])
    f = SquaredDistance(np.array([1.0, 1.0, 1.0]))
    result = solve(f, atoms, "cyclic", penalty=L1([0.0, 0.0, 0.5]), max_iter=1)
    least = 0.5 * 1 - 0.5 * (1 - 0.5) ** 2  # at w = (1, 1e24, 0.5)
    assert result.gap >= result.value - least > 0.1
