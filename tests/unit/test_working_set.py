"""Working sets under the driver: what they promise of runs, defaults and paths."""

from math import inf

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, random_array

from pursuit import (
    L1,
    Box,
    Cone,
    Coordinates,
    Dictionary,
    InputError,
    LeastSquares,
    Logistic,
    NonNegative,
    Poisson,
    SquaredDistance,
    path,
    plots,
    solve,
)
from pursuit.active import quadratic_models
from pursuit.active.columns import Columns, DenseColumns
from pursuit.active.growing_gram import Entered, GrowingGram
from pursuit.active.quadratic_models import GramModel
from pursuit.active.terms import Terms
from pursuit.base.products import combined


def problem(seed, n=60, d=150, sparse=False, logistic=True, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    X = np.asfortranarray(X) if d > n else X
    if sparse:
        X = csc_array(random_array((n, d), density=0.2, rng=rng))
    u = X @ (rng.standard_normal(d) * (rng.random(d) < 0.1)) + 0.3 * rng.standard_normal(n)
    f = Logistic(X, u > np.median(u), **options) if logistic else LeastSquares(X, u, **options)
    top = np.abs(f.gradient(np.zeros(f.shape)))
    return f, Coordinates(f.shape[0]), L1(0.05 * top[: None if not f.intercept else -1].max())


CASES = {
    "logistic": {},
    "lasso": {"logistic": False},
    "sparse": {"sparse": True},
    "sparse lasso": {"sparse": True, "logistic": False},
    "intercept": {"intercept": True, "l2": 0.1},
    "many samples": {"n": 400, "d": 30},
    "many columns": {"n": 40, "d": 1100},
    "a set that grows": {"n": 40, "d": 1100, "logistic": False},
}


def same(a, b):
    ends = [(r.x.tobytes(), r.iterations, r.value, r.slope) for r in (a, b)]
    return ends[0] == ends[1]


@pytest.mark.parametrize("penalised", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_stopped_and_resumed_equals_uninterrupted_bit_for_bit(case, penalised, tmp_path):
    f, atoms, penalty = problem(3, **({"l2": 0.3} | CASES[case]))
    options = {"penalty": penalty if penalised else None, "tol": 1e-11}
    whole = solve(f, atoms, "working-set", **options)
    for stop in range(1, whole.iterations + 1):
        file = tmp_path / f"{stop}.npz"
        solve(f, atoms, "working-set", max_iter=stop, checkpoint=file, **options)
        assert same(solve(f, atoms, "working-set", resume=file, **options), whole)


@pytest.mark.parametrize("case", CASES)
def test_threads_change_no_bit(case):
    f, atoms, penalty = problem(4, **CASES[case])
    runs = [solve(f, atoms, penalty=penalty, threads=k, tol=1e-10) for k in (1, 2, 3)]
    assert same(runs[0], runs[1])
    assert same(runs[0], runs[2])


@pytest.mark.parametrize("case", CASES)
def test_every_step_lowers_the_value_by_what_it_says(case):
    f, atoms, penalty = problem(5, **CASES[case])
    result = solve(f, atoms, "working-set", penalty=penalty, tol=1e-10)
    assert result.success
    falls = -np.diff(result.trace.value)
    assert (falls >= -1e-11 * result.trace.value[0]).all()


@pytest.mark.parametrize("seed", range(25))
def test_the_gap_is_never_below_the_error(seed):
    cases = list(CASES.values())
    f, atoms, penalty = problem(seed, **({"l2": 0.2} if seed % 2 else {}) | cases[seed % 6])
    best = solve(f, atoms, "working-set", penalty=penalty, tol=1e-12).value
    for most in (1, 2, 4):
        result = solve(f, atoms, "working-set", penalty=penalty, max_iter=most, tol=1e-12)
        assert result.gap >= result.value - best
    ended = solve(f, atoms, penalty=penalty, gap_tol=1e-7)
    assert ended.success
    assert ended.gap <= 1e-7


def test_dependent_and_constant_columns_end_no_run():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8))
    X = np.hstack([X, X[:, :3], np.zeros((40, 1)), np.ones((40, 1)), X @ rng.random((8, 2))])
    for penalty in (L1(0.5), NonNegative(), None):
        result = solve(
            LeastSquares(X, X[:, 0] + 1), Coordinates(15), "working-set", penalty=penalty
        )
        assert result.success
        assert np.isfinite(result.x).all()


@pytest.mark.parametrize("seed", range(6))
def test_more_sparse_columns_than_samples_depend_on_each_other_and_end_no_run(seed):
    rng = np.random.default_rng(seed)
    X = random_array((30, 185), density=0.3, rng=rng, data_sampler=rng.standard_normal)
    y = rng.standard_normal(30)
    lam = 10.0 ** rng.uniform(-4, -1) * np.abs(X.T @ y).max()
    result = solve(LeastSquares(csr_array(X), y), Coordinates(185), "working-set", penalty=L1(lam))
    assert result.status.name == "CONVERGED"
    assert result.gap <= 1e-4 * result.value


def test_coefficients_of_empty_columns_are_zero_where_they_cost_something():
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((18, 228)) * (rng.random((18, 228)) < 0.1), np.ones(228)
    weights[:3], X[:, 1:6] = 0.0, 0.0
    f, start = LeastSquares(csr_array(X), rng.standard_normal(18)), np.ones(228)
    result = solve(f, Coordinates(228), "working-set", coef0=start, penalty=L1(0.1 * weights))
    assert result.status.name == "CONVERGED"
    assert (result.x[1:6] == [1, 1, 0, 0, 0]).all()


def test_an_empty_column_of_few_goes_to_zero_as_well():
    f = LeastSquares(np.array([[0.0, 1, 1], [0, 1, 1]]), [-0.9, -1.0])
    result = solve(f, Coordinates(3), "working-set", coef0=[3e-6, 5e-6, 0], penalty=L1(4.0))
    assert result.status.name == "CONVERGED"
    assert not result.x.any()


@pytest.mark.parametrize("penalty", [None, L1(0.01), NonNegative()], ids=repr)
@pytest.mark.parametrize("loss", [Logistic, Poisson])
@pytest.mark.parametrize("far", [-30.0, -2000.0])
def test_a_start_where_losses_hardly_bend_is_left(loss, penalty, far):
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 4)) + 0.1, rng.integers(0, 2, 30)
    f, start = loss(X, y, intercept=True, l2=1e-3), np.array([0, 0, 0, 0, far])
    far_off, near = (
        solve(f, Coordinates(5), "working-set", coef0=coef0, penalty=penalty, max_iter=200)
        for coef0 in (start, None)
    )
    assert far_off.status.name == "CONVERGED"
    assert far_off.value == pytest.approx(near.value, rel=1e-4)


def test_a_weight_above_all_slopes_gives_zero():
    f, atoms, _ = problem(1)
    result = solve(f, atoms, penalty=L1(2 * np.abs(f.gradient(np.zeros(f.shape))).max()))
    assert result.success
    assert not result.x.any()


def test_counts_without_a_smoothness_constant_converge():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((100, 10))
    y = rng.poisson(np.exp(X[:, 0] + 1)).astype(float)
    result = solve(Poisson(X, y, intercept=True), Coordinates(11), penalty=L1(3.0), tol=1e-9)
    assert result.success
    assert result.gap <= 1e-6


def test_steps_on_the_dual_of_a_text_end_where_other_methods_do():
    f, atoms, _ = problem(9, sparse=True, l2=0.02)
    result = solve(f, atoms, tol=1e-9)
    assert result.state.numbers["memory"]["dual-descent"]["steps"] > 0
    other = solve(f, atoms, "accelerated", tol=1e-10)
    np.testing.assert_allclose(result.x, other.x, atol=1e-6 * np.abs(other.x).max())
    warm = solve(f, atoms, coef0=result.x, tol=1e-9)
    assert warm.state.numbers["memory"]["dual-descent"]["steps"] == 0


# The default -------------------------------------------------------------------------------


def test_the_default_suits_and_the_result_says_what_it_was_chosen_for():
    f, atoms, penalty = problem(0)
    sparse, _, _ = problem(0, sparse=True)
    small, few, _ = problem(0, n=300, d=20)
    large, many, _ = problem(0, n=400, d=900)
    assert "working-set, chosen for a linear model with a penalty" in str(
        solve(f, atoms, penalty=penalty)
    )
    assert "working-set, chosen for a linear model with a sparse X" in str(
        solve(sparse, atoms, max_iter=2)
    )
    assert "working-set, chosen for a linear model with a small Hessian" in str(solve(small, few))
    assert "accelerated, chosen for a linear model with a dense X" in str(
        solve(large, many, max_iter=2)
    )


def test_whoever_brings_atoms_a_cone_or_a_number_of_them_gets_matching_pursuit():
    f, atoms, _ = problem(0, n=30, d=5)
    for run in (
        solve(f, atoms, n_nonzero=2),
        solve(f, Dictionary(np.eye(5)), max_iter=3),
        solve(f, Cone(atoms), max_iter=3),
        solve(SquaredDistance(np.ones(5)), atoms),
    ):
        assert run.method == "matching-pursuit"
        assert "chosen" not in str(run)


def test_other_sets_and_objectives_are_refused_by_name():
    with pytest.raises(InputError, match=r"expected a linear model .* got SquaredDistance over"):
        solve(SquaredDistance(np.ones(3)), Coordinates(3), "working-set")
    f, _, _ = problem(0, n=30, d=5)
    with pytest.raises(InputError, match="got Logistic over Dictionary"):
        solve(f, Dictionary(np.eye(5)), "working-set")


# Its parts ---------------------------------------------------------------------------------


def test_a_growing_gram_matrix_is_the_product_and_made_again_to_the_last_bit():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 40))
    for orders in ([[3, 7, 1], [1, 20, 5, 7], range(30)], [range(40), [3, 7, 1]]):
        entered = Entered()
        gram = GrowingGram(DenseColumns(X), entered)
        for places in orders:
            chosen = np.array(places)
            np.testing.assert_allclose(gram.at(chosen), X[:, chosen].T @ X[:, chosen], atol=1e-12)
        again = Entered()
        again.restore(entered.saved())
        other = GrowingGram(DenseColumns(X), again)
        assert other.at(chosen).tobytes() == gram.at(chosen).tobytes()


@pytest.mark.parametrize("layout", [np.asfortranarray, np.ascontiguousarray, csc_array, csr_array])
@pytest.mark.parametrize("used", [0, 3, 1200])
def test_products_with_few_columns_are_those_with_all(layout, used):
    rng = np.random.default_rng(used)
    A = rng.standard_normal((30, 1200))
    x = np.where(rng.permutation(1200) < used, rng.standard_normal(1200), 0.0)
    np.testing.assert_allclose(combined(layout(A), x), A @ x, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("logistic", [True, False])
def test_the_gradient_that_a_model_keeps_is_its_own_to_the_last_bit(logistic, dtype):
    rng = np.random.default_rng(2)
    X, y = (
        rng.standard_normal((30, 7)).astype(dtype),
        np.sign(rng.standard_normal(30)).astype(dtype),
    )
    f = (Logistic if logistic else LeastSquares)(X, y, l2=0.5).linear_model
    zero = np.zeros(7, dtype)
    kept = f.gradient(zero)
    assert kept.tobytes() == f.gradient_at(zero, f.image(zero)).tobytes()
    kept[:] = 0  # a copy: it may be changed
    assert f.gradient(zero).any()


def test_a_step_that_leaves_its_face_is_shortened_before_it_is_cut_at_an_edge(monkeypatch):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((60, 150)) + rng.standard_normal((60, 5)) @ rng.standard_normal(
        (5, 150)
    )
    H, ends = X.T @ X, np.full(150, inf)
    c = -X.T @ rng.standard_normal(60)
    terms = Terms(np.full(150, 0.01), np.full(150, 0.02 * np.abs(c).max()), -ends, ends)

    def steps(halvings):
        monkeypatch.setattr(quadratic_models, "HALVINGS", halvings)
        model = GramModel(H.copy(), terms)
        with monkeypatch.context() as patch:
            made = []
            newton = model._newton
            patch.setattr(model, "_newton", lambda *a: made.append(1) or newton(*a))
            w = model.minimise(np.zeros(150), c, 1e-9)
        assert terms.distances(c + (H + 0.01 * np.eye(150)) @ w, w)[1] <= 1e-8
        return len(made)

    assert steps(8) < steps(1)


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_dense_or_sparse_are_those_of_the_matrix(sparse):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((20, 9)) * (rng.random((20, 9)) < 0.5)
    h, v, w = rng.random(20), rng.standard_normal(20), rng.standard_normal(4)
    part = Columns.of(csc_array(A) if sparse else A).part(np.array([0, 3, 4, 8]))
    B = A[:, [0, 3, 4, 8]]
    np.testing.assert_allclose(part.correlate(v), B.T @ v, atol=1e-14)
    np.testing.assert_allclose(part.combine(w), B @ w, atol=1e-14)
    np.testing.assert_allclose(part.gram(h), B.T @ (h[:, None] * B), atol=1e-14)
    np.testing.assert_allclose(part.outer(), B @ B.T, atol=1e-14)
    np.testing.assert_allclose(part.curvatures(h), h @ B**2, atol=1e-14)
    np.testing.assert_allclose(part.dense(np.array([1])), B[:, [1]])


def test_a_step_up_to_the_edge_of_a_face_ends_on_it_exactly():
    inf = np.full(3, np.inf)
    terms = Terms(np.zeros(3), np.ones(3), -inf, inf)
    face = terms.face(np.array([0.3, -0.7, 0.0]))
    assert face.places.tolist() == [0, 1]
    step = np.array([-0.9, 0.1])
    assert face.leaves(step)
    there = face.w + face.up_to_edge(step)
    assert there[0] == 0
    assert there[1] < 0
    assert (face.w + face.clipped(step)).tolist() == [0.0, -0.6]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("count", [1e2, 1e4, 1e6, 1e9])
def test_counts_of_any_size_are_fitted(count, intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8))
    y = np.round(count * np.exp(0.3 * X[:, 0]))
    f = Poisson(X, y, intercept=intercept)
    found = solve(f, Coordinates(f.shape[0]))
    assert found.success
    assert (np.diff(found.trace.value) <= 1e-12 * np.abs(found.trace.value[1:])).all()
    if intercept:  # the data are as the model says, but for the rounding of counts
        np.testing.assert_allclose(found.x[[0, -1]], [0.3, np.log(count)], atol=0.3 / count + 1e-6)


# Paths -------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
def test_a_path_begins_where_coefficients_leave_zero_and_follows_the_minimisers(intercept):
    f, atoms, _ = problem(7, intercept=intercept)
    found = path(f, atoms, n_lambdas=12, lambda_min_ratio=0.02, tol=1e-9)
    d = f.shape[0] - intercept
    coefs = found.coefs.toarray()
    assert not coefs[0, :d].any()
    assert coefs[1, :d].any()
    assert found.success
    assert (found.gaps <= 1e-6 * found.values).all()
    for k in (3, 11):
        alone = solve(f, atoms, penalty=L1(found.lambdas[k]), tol=1e-11)
        np.testing.assert_allclose(coefs[k], alone.x, atol=1e-6 * np.abs(alone.x).max())


@pytest.mark.parametrize("seed", range(20))
def test_no_step_rounds_beyond_a_bound_that_is_small_beside_coefficients(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((11, 8)) * 10.0 ** rng.uniform(-5, 5, (11, 1))
    f, low, start = LeastSquares(A, rng.standard_normal(11)), -2e-8 * rng.random(8), rng.random(8)
    result = solve(
        f, Coordinates(8), "working-set", penalty=Box(low, inf), coef0=start, max_iter=60
    )
    assert np.isfinite(result.trace.value).all()


def test_where_a_path_begins_does_not_depend_on_when_its_runs_stop():
    f, atoms, _ = problem(7, d=20, intercept=True)
    tops = [
        path(f, atoms, n_lambdas=1, **o).lambdas[0] for o in ({}, {"max_iter": 1}, {"gap_tol": 9})
    ]
    assert len(set(tops)) == 1


def test_a_path_prints_and_draws_what_has_a_weight():
    pytest.importorskip("matplotlib")
    f, atoms, _ = problem(8, d=6, intercept=True)
    found = path(f, atoms, n_lambdas=5)
    assert "5 of them" in str(found)
    ax = found.plot(labels=[*"abcdef", "one"])
    drawn = {text.get_text() for text in ax.get_legend().get_texts()}
    assert drawn <= set("abcdef")
    assert ax.get_xlabel() == "λ"
    assert plots.penalty_path(found, ax=ax) is ax


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lambdas": [1.0, -1.0]}, "lambdas: expected numbers above 0"),
        ({"penalty": NonNegative()}, "penalty: expected one with weights"),
        ({"n_lambdas": 0}, "n_lambdas"),
        ({"lambda_min_ratio": 0}, "lambda_min_ratio"),
        (
            {"lambda_min_ratio": 2.0},
            "lambda_min_ratio: expected a number above 0 and at most 1, got 2",
        ),
        ({"penalty": "L1"}, "penalty: expected one with weights, such as L1"),
    ],
)
def test_paths_that_are_none_are_refused(options, message):
    f, atoms, _ = problem(0, d=4)
    with pytest.raises(InputError, match=message):
        path(f, atoms, **options)


def test_a_path_of_what_is_no_objective_for_its_atoms_is_refused():
    with pytest.raises(InputError, match=r"^f: expected an Objective"):
        path(np.ones(4), np.eye(4))
    with pytest.raises(InputError, match=r"^atoms: expected atoms of f's shape"):
        path(SquaredDistance(np.ones(3)), np.eye(4))
