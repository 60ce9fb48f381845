"""Runs over a cone: feasible at every step, honest at the end, and what cannot run says why."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import nnls
from scipy.sparse import csr_array

from pursuit import (
    Approximate,
    Backtracking,
    Cone,
    Coordinates,
    Dictionary,
    ExactLineSearch,
    Function,
    InputError,
    LeastSquares,
    Logistic,
    Method,
    Plain,
    Quadratic,
    Random,
    Replay,
    SquaredDistance,
    Status,
    Subset,
    Transformed,
    geometry,
    methods,
    rates,
    solve,
)
from pursuit.methods import NAMED
from pursuit.objectives.problem import Problem
from pursuit.rules.advances import Advance
from pursuit.rules.run import Run
from pursuit.solving.penalised import begin
from pursuit.testing import check_atoms

WORKING = ["matching-pursuit", "affine-invariant", "random-pursuit", "orthogonal"]
WORKING += ["cyclic", "shuffled"]
RULES = {name: NAMED[name]() for name in WORKING} | {
    "exact line search": methods.matching_pursuit(step=ExactLineSearch()),
    "backtracking": methods.matching_pursuit(step=Backtracking()),
    "random with exact line search": methods.random_pursuit(step=ExactLineSearch()),
    "random with backtracking": methods.random_pursuit(step=Backtracking()),
    "approximate oracle": methods.matching_pursuit(direction=Approximate(0.5)),
    "best of a subset": methods.matching_pursuit(direction=Subset(4)),
    "replay": methods.matching_pursuit(direction=Replay([*range(12)] * 40)),
}


def objective(name, rng):
    A = rng.standard_normal((20, 7))
    if name == "logistic":
        return Logistic(A, np.sign(A[:, 0] + rng.standard_normal(20)), l2=0.2)
    return LeastSquares(A, rng.standard_normal(20))


def walk(rules, f, cone, steps):
    """The point after each step from coefficients of a half, and what the step said of itself."""
    run = Run(Problem(f, cone.unit().atoms), 3)
    x = rules.advance.point(run.problem, np.zeros(f.shape, cone.dtype))
    begin(x, np.full(len(cone), 0.5))
    stepper = rules.momentum.start(run, rules.advance, x)
    for _ in range(steps):
        yield x, stepper.step()
        run.t += 1


def constrained_slope(c, coef):
    """How far ⟨∇f, z_j⟩ = c_j and coefficients are from the optimality conditions of the cone."""
    return max(np.max(-c, initial=0), np.abs(c[coef > 0]).max(initial=0))


# On the way ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["least squares", "logistic"])
@pytest.mark.parametrize("name", RULES)
def test_no_coefficient_is_ever_negative_and_every_promise_is_kept(name, kind, dtype):
    rng = np.random.default_rng(3)
    f, cone = objective(kind, rng), Cone((rng.standard_normal((12, 7)) + 0.3).astype(dtype))
    eps = 1e-12 if dtype is np.float64 else 1e-5
    before = start = f.value(0.5 * cone.unit().atoms.matrix.sum(axis=0))
    last, left = np.full(12, 0.5), 0
    for x, progress in walk(RULES[name], f, cone, 300):
        value = x.value()
        assert x.coef.min() >= 0
        assert progress.decrease >= 0
        assert before - value >= progress.decrease - eps * start
        exact = constrained_slope(x.atoms.correlate(f.gradient(x.vector)), x.coef)
        assert x.dual_norm() == pytest.approx(exact, rel=1e-6, abs=100 * eps)
        left += np.count_nonzero((last > 0) & (x.coef == 0))
        before, last = value, x.coef.copy()
    assert left > 0  # atoms that had a coefficient lost it


@pytest.mark.parametrize("limit", [2**28, 0], ids=["gram", "ambient"])
def test_a_clipped_step_ends_at_zero_exactly(limit):
    f, cone = SquaredDistance([1.0, 0.1, -0.7]), Cone(np.eye(3) + 0.1)
    # Whatever the first coefficient is, the second step wants to take more than all of it.
    options = {"coef0": [0.1 + 0.2, 0.0, 1 / 3], "max_iter": 500, "gram_bytes": limit}
    result = solve(f, cone, "matching-pursuit", **options)
    assert result.success
    assert result.coef.toarray()[2] == 0
    assert 2 not in result.support


def test_a_random_pick_that_may_not_move_does_not_end_the_run():
    f, cone = SquaredDistance([1.0, -1.0]), Cone(Coordinates(2))
    rules = methods.matching_pursuit(direction=Replay([1, 1, 1, 0, 1]))
    result = solve(f, cone, rules, max_iter=5, every=1, tol=0)
    assert (result.status, result.iterations) == (Status.MAX_ITER, 5)
    assert result.trace.value.tolist() == [1.0, 1.0, 1.0, 1.0, 0.5, 0.5]
    assert result.x.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("step", [None, ExactLineSearch(), Backtracking()], ids=repr)
def test_a_random_pick_that_may_not_move_is_not_searched_along(step):
    f, cone = Logistic(np.eye(2), [1, -1]), Cone(Coordinates(2))
    rules = methods.matching_pursuit(direction=Replay([1] * 6), step=step)
    result = solve(f, cone, rules, max_iter=6, tol=0)
    assert not result.x.any()
    # An atom of two is looked at and moved along, by nothing.
    assert result.counts.products == 6 * (1 / 2 + 1 / 2)


def test_the_certified_oracle_is_as_good_as_it_says_over_a_cone():
    rng = np.random.default_rng(4)
    f, cone = SquaredDistance(rng.standard_normal(15)), Cone(rng.standard_normal((60, 15)))
    rules, seen = methods.matching_pursuit(direction=Approximate(0.7)), 0
    run = Run(Problem(f, cone.unit().atoms), 0)
    x = rules.advance.point(run.problem, np.zeros(15))
    choose = rules.advance.direction.start(run)
    for _ in range(200):
        steepest = x.dual_norm()
        z, c, slope = choose(x)
        assert abs(c) >= 0.7 * steepest * (1 - 1e-12)
        assert steepest * (1 - 1e-12) <= slope <= abs(c) / 0.7 * (1 + 1e-12)
        x.move(min(c, float(x.coef[z])), z)
        seen += c > 0
    assert seen > 5  # some steps went back


@pytest.mark.parametrize("method", [methods.matching_pursuit(step=ExactLineSearch()), "orthogonal"])
def test_f_may_fall_without_end_outside_of_the_cone(method):
    f = Function(
        lambda x: float((np.logaddexp(x, -x) + 2 * x).sum()), lambda x: np.tanh(x) + 2, shape=2
    )
    result = solve(f, Cone(Coordinates(2)), method, coef0=[1.0, 2.0])
    assert result.status is Status.CONVERGED
    assert result.x.tolist() == [0.0, 0.0]
    assert len(result.support) == 0


@pytest.mark.parametrize("seed", [15, 32, 35, 36])
def test_orthogonal_pursuit_goes_along_flat_directions_that_the_cone_ends(seed):
    """b is not in the range of H: atoms that depend on others have slopes of their own."""
    rng = np.random.default_rng(seed)
    root, b = rng.standard_normal((4, 7)), rng.standard_normal(7)
    result = solve(Quadratic(root.T @ root, b), Cone(Coordinates(7)), "orthogonal")
    slopes = root.T @ (root @ result.x) - b
    assert result.status is Status.CONVERGED
    assert slopes.min() >= -1e-9
    assert np.abs(slopes[result.support]).max() <= 1e-9


# At the end ---------------------------------------------------------------------------------

SMALL = st.integers(-3, 3).map(float)


@given(
    st.integers(1, 9).flatmap(lambda n: arrays(float, (n, 4), elements=SMALL)),
    arrays(float, 4, elements=SMALL),
    st.sampled_from(["orthogonal", "matching-pursuit", "random-pursuit"]),
)
@settings(max_examples=150, deadline=None)
def test_the_end_satisfies_the_optimality_conditions_of_the_cone(rows, b, method):
    assume(rows.any(axis=1).all())
    # Small integers: ties, duplicates, dependent atoms and signals on faces of the cone.
    tol = 1e-8 if method == "orthogonal" else 1e-4
    result = solve(SquaredDistance(b), Cone(rows), method, tol=tol, max_iter=2000, every=20)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    coef, c = result.coef.toarray(), unit @ (result.x - b)
    assert result.status is Status.CONVERGED or method != "orthogonal"
    assert coef.min() >= 0
    assert np.allclose(coef @ rows, result.x, atol=1e-10)
    if result.success:
        first = constrained_slope(unit @ -b, np.zeros(len(rows)))
        assert constrained_slope(c, coef) <= 1.001 * tol * first + 1e-14 * np.linalg.norm(b)
    _, residual = nnls(rows.T, b)
    above = result.value - residual**2 / 2
    assert above >= -1e-12
    if method == "orthogonal":
        assert above <= 1e-12
    else:
        # f(x) − f* ≤ ⟨∇f(x), x − x*⟩ = Σ c_j (a_j − a*_j) over unit atoms, at most the slope that
        # is left times Σ a_j + a*_j.
        best, _ = nnls(unit.T, b)
        room = coef @ np.linalg.norm(rows, axis=1) + best.sum()
        assert above <= constrained_slope(c, coef) * room + 1e-12


@pytest.mark.parametrize("method", WORKING)
def test_a_signal_that_every_atom_points_away_from_gives_zero_at_once(method):
    rng = np.random.default_rng(0)
    atoms = np.abs(rng.standard_normal((9, 5)))
    result = solve(SquaredDistance(-np.ones(5)), Cone(atoms), method)
    assert (result.status, result.iterations) == (Status.CONVERGED, 0)
    assert result.message == "the initial point is optimal over the cone of the atoms"
    assert not result.x.any()
    assert result.slope == 0


@pytest.mark.parametrize("method", WORKING)
def test_a_signal_of_zero_gives_zero_at_once(method):
    result = solve(SquaredDistance(np.zeros(3)), Cone(np.eye(3)), method)
    assert (result.status, result.iterations, result.value) == (Status.CONVERGED, 0, 0)


def test_a_signal_that_is_an_atom_is_found_in_one_step():
    rows = np.random.default_rng(0).standard_normal((20, 6))
    for method in ("orthogonal", "matching-pursuit"):
        result = solve(SquaredDistance(4 * rows[7]), Cone(rows), method, max_iter=1)
        assert result.status is Status.CONVERGED or method == "matching-pursuit"
        assert result.support.tolist() == [7]
        assert result.weights[0] == pytest.approx(4, rel=1e-14)
        assert result.slope <= 1e-14


@pytest.mark.parametrize("kind", ["least squares", "logistic"])
def test_duplicates_and_sums_of_atoms_change_neither_the_value_nor_the_end(kind):
    rng = np.random.default_rng(6)
    f, rows = objective(kind, rng), rng.standard_normal((5, 7))
    more = np.vstack([rows, 2 * rows, rows[0] + rows[1], rows[2] + 3 * rows[4]])
    plain = solve(f, Cone(rows), "orthogonal", tol=1e-10)
    result = solve(f, Cone(more), "orthogonal", tol=1e-10)
    assert plain.success
    assert result.success
    assert result.value == pytest.approx(plain.value, rel=1e-12)
    assert len(result.support) <= 5
    assert solve(f, Cone(more), tol=1e-9, max_iter=20_000).value == pytest.approx(plain.value)


@pytest.mark.parametrize("method", WORKING)
@pytest.mark.parametrize("kind", ["least squares", "logistic"])
def test_the_scale_of_the_atoms_changes_nothing(kind, method):
    rng = np.random.default_rng(1)
    f, rows = objective(kind, rng), rng.standard_normal((12, 7))
    scale = 2.0 ** rng.integers(-20, 21, 12)
    runs = [solve(f, Cone(s[:, None] * rows), method, max_iter=40) for s in (np.ones(12), scale)]
    assert runs[0].support.tolist() == runs[1].support.tolist()
    assert np.allclose(runs[0].x, runs[1].x, rtol=0, atol=1e-12)
    given = [run.coef.toarray() for run in runs]
    assert np.allclose(given[0], scale * given[1], rtol=1e-9)


def test_atoms_as_given_may_be_run_on_too():
    rng = np.random.default_rng(3)
    b, rows = rng.standard_normal(8), rng.standard_normal((20, 8)) * rng.uniform(0.5, 3, (20, 1))
    result = solve(SquaredDistance(b), Cone(rows), "orthogonal", unit_atoms=False, tol=1e-12)
    assert result.value == pytest.approx(nnls(rows.T, b)[1] ** 2 / 2, rel=1e-10)


def test_atoms_in_use_are_counted_when_they_leave():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 1, 60)
    rows = np.exp(-((t - t[:, None]) ** 2) / 0.014)
    b = np.maximum(rng.standard_normal(60), 0) @ rows + 0.1 * rng.standard_normal(60)
    result = solve(SquaredDistance(b), Cone(rows), "orthogonal", n_nonzero=15, tol=1e-9)
    assert result.status is Status.MAX_NONZERO
    assert len(result.support) == 15
    assert result.iterations > 20
    assert result.path.sizes.tolist() == list(range(16))
    assert (np.diff(result.path.value) < 0).all()


def test_any_finite_set_has_a_cone():
    rng = np.random.default_rng(1)
    M, rows, b = rng.standard_normal((6, 6)), rng.standard_normal((15, 6)), rng.standard_normal(6)
    inner = Transformed(Dictionary(rows), M)
    result = solve(SquaredDistance(b), Cone(inner), "orthogonal", tol=1e-12)
    assert result.value == pytest.approx(nnls(inner.matrix.T, b)[1] ** 2 / 2, rel=1e-10)
    images = Cone(rows.reshape(15, 2, 3))
    result = solve(SquaredDistance(b.reshape(2, 3)), images, "orthogonal", tol=1e-12)
    assert result.value == pytest.approx(nnls(rows.T, b)[1] ** 2 / 2, rel=1e-10)


def test_a_step_over_the_cone_of_coordinates_reads_one_column_of_sparse_data():
    rng = np.random.default_rng(1)
    X = csr_array(rng.standard_normal((30, 8)) * (rng.random((30, 8)) < 0.3))
    f = Logistic(X, rng.random(30) < 0.5, l2=0.1)
    rows, column = f.column(Cone(Coordinates(8)), 2)
    assert np.array_equal(rows, np.flatnonzero(X.toarray()[:, 2]))
    assert np.array_equal(column, X.toarray()[rows, 2])


# Where it begins ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", WORKING)
@pytest.mark.parametrize("kind", ["least squares", "logistic"])
def test_a_start_with_coefficients_ends_where_a_start_at_zero_does(kind, method):
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((10, 7)) * rng.uniform(0.1, 10, (10, 1))
    f, rows = objective(kind, rng), np.vstack([rows, rows[3]])  # two coefficients of one atom
    begin = rng.choice([0.0, 0.3, 2.0], 11)
    begin[[3, 10]] = 1.0
    given = begin.copy()
    result = solve(f, Cone(rows), method, coef0=begin, tol=1e-9, max_iter=20_000)
    optimum = solve(f, Cone(rows), "orthogonal", tol=1e-11)
    assert np.array_equal(begin, given)
    assert result.trace.value[0] == pytest.approx(f.value(begin @ rows))
    assert result.trace.support[0] == np.count_nonzero(begin)
    assert result.value == pytest.approx(optimum.value, rel=1e-10)
    assert np.allclose(result.coef.toarray() @ rows, result.x)
    assert result.weights.min() > 0


def test_a_start_that_is_optimal_is_left_alone():
    rng = np.random.default_rng(5)
    b, rows = rng.standard_normal(6), rng.standard_normal((4, 6))
    weights, _ = nnls(rows.T, b)
    result = solve(SquaredDistance(b), Cone(rows), "orthogonal", coef0=weights)
    assert result.status is Status.CONVERGED
    assert np.allclose(result.coef.toarray(), weights, rtol=1e-12)


def test_a_start_below_zero_or_without_coefficients_is_refused():
    f, cone = SquaredDistance([1.0, 2.0]), Cone(np.eye(2))
    with pytest.raises(InputError, match=r"coef0: expected coefficients of at least 0 .* got -0.5"):
        solve(f, cone, coef0=[1.0, -0.5])
    with pytest.raises(InputError, match="x0: a point does not tell its coefficients"):
        solve(f, cone, x0=[1.0, 0.0])


# What cannot run ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in NAMED if name not in WORKING])
def test_a_method_that_would_leave_the_cone_is_refused_by_name_with_a_reason(name):
    with pytest.raises(InputError) as error:
        solve(SquaredDistance(np.ones(3)), Cone(np.eye(3)), name)
    message = str(error.value)
    assert message.startswith(f"method: {name} ")
    assert message.endswith(
        "over a Cone expected one of matching-pursuit, affine-invariant, random-pursuit, cyclic, "
        "shuffled, orthogonal"
    )
    reasons = {"blended": "at once", "gradient-free": "which way", "local-orthogonal": "below 0"}
    reason = reasons.get(name, "second sequence")
    assert reason in message


def test_an_advance_of_your_own_is_refused_with_a_reason():
    @dataclass(frozen=True)
    class Mine(Advance):
        def start(self, run):
            raise AssertionError("never started")

    with pytest.raises(InputError, match="method: mine has an advance, Mine, that knows nothing"):
        solve(SquaredDistance(np.ones(3)), Cone(np.eye(3)), Method("mine", Mine(), Plain()))


def test_a_cone_of_a_cone_is_refused():
    with pytest.raises(InputError, match="got a Cone already"):
        Cone(Cone(np.eye(2)))


def test_no_theorem_of_the_paper_is_shown_for_a_cone():
    f, cone = SquaredDistance([1.0, 2.0, -1.0]), Cone(np.eye(3))
    result = solve(f, cone)
    assert "duality" in str(result)
    assert result.certificate.bound == result.gap < 1e-9
    general = solve(Function(f.value, f.gradient, shape=3, L=1.0), cone)
    assert general.certificate.bound == np.inf
    assert "the theorems of the paper are about lin(A)" in str(general)
    with pytest.raises(InputError, match="none covers a Cone"):
        rates.theorem_5(f, cone)
    assert geometry.smoothness(f, cone) == 1  # what Algorithm 2's step needs is still right


# Stopped and resumed ------------------------------------------------------------------------


def bits(result):
    columns = (result.trace.value, result.trace.slope, result.trace.products, result.path)
    path = [] if columns[3] is None else [columns[3].sizes.tolist(), columns[3].coefs.data.tolist()]
    return (
        result.x.tobytes(),
        result.weights.tobytes(),
        result.support.tolist(),
        [column.tolist() for column in columns[:3]],
        (result.status, result.iterations, result.counts.products, result.counts.oracle_calls),
        path,
    )


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("kind", ["bumps", "least squares", "logistic"])
def test_stopped_and_resumed_equals_uninterrupted_bit_for_bit(kind, name, tmp_path):
    rng = np.random.default_rng(11)
    if kind == "bumps":  # most atoms leave again
        t = np.linspace(0, 1, 50)
        rows = np.exp(-((t - t[:, None]) ** 2) / 0.005)
        f = SquaredDistance(np.maximum(rng.standard_normal(50), 0) @ rows + rng.random(50))
    else:
        f, rows = objective(kind, rng), rng.standard_normal((12, 7)) + 0.3
    begin = rng.choice([0.0, 0.5], len(rows))

    def run(max_iter, **options):
        options |= {"coef0": begin, "tol": 0, "rng": 2, "every": 1, "progress": False}
        return solve(f, Cone(rows), RULES[name], max_iter=max_iter, **options)

    whole = run(40)
    for stop in (1, 2, 3, 5, 9, 14, 20, 27, 33):
        run(stop, checkpoint=tmp_path / "run")
        assert bits(run(40, resume=tmp_path / "run")) == bits(whole)


def test_a_cone_and_its_set_are_not_the_same_problem_to_a_checkpoint():
    f, rows = SquaredDistance([1.0, 2.0]), np.array([[1.0, 0.5], [0.2, 1.0]])
    stopped = solve(f, Cone(rows), max_iter=1)
    with pytest.raises(InputError, match="another problem"):
        solve(f, Dictionary(rows), max_iter=5, resume=stopped)


# The contract of the set --------------------------------------------------------------------


class TwoSided(Cone):
    def lmo(self, d):
        return int(np.argmax(np.abs(self.correlate(d))))


class NormOfBothSides(Cone):
    def dual_norm(self, d):
        return float(np.abs(self.correlate(d)).max())


class Lets(Cone):
    def admissible(self, c, coef):
        return c


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (TwoSided, r"lmo\(d\) must maximise −⟨d, z⟩"),
        (NormOfBothSides, r"dual_norm\(d\) must be −⟨d, lmo\(d\)⟩"),
        (Lets, "over a Cone zero where"),
    ],
)
def test_a_cone_that_breaks_its_contract_is_caught(broken, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_atoms(broken(np.random.default_rng(0).standard_normal((9, 4))))


def test_draws_over_a_cone_are_those_of_its_set():
    assert Cone(Coordinates(5)).draw(np.random.default_rng(3), 8) == Coordinates(5).draw(
        np.random.default_rng(3), 8
    )
    assert isinstance(RULES["random-pursuit"].advance.direction, Random)
