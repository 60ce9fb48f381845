"""Logistic and Huber losses: scikit-learn's optima, and what their points keep up to date."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array, random_array
from scipy.sparse.linalg import aslinearoperator, eigsh
from sklearn.linear_model import HuberRegressor, LogisticRegression

from pursuit import (
    Coordinates,
    Dictionary,
    ExactLineSearch,
    Groups,
    Huber,
    InputError,
    Logistic,
    geometry,
    methods,
    solve,
)
from pursuit.points import choose
from pursuit.testing import check_objective

SEARCH = methods.matching_pursuit(step=ExactLineSearch())


def samples(seed, N=80, d=12):
    """Responses with five outliers, and the generator for what else is needed."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((N, d))
    truth = generator.standard_normal(d) * (generator.random(d) < 0.5)
    y = X @ truth + generator.standard_normal(N)
    y[:5] += 50 * generator.standard_normal(5)
    return X, y, generator


@pytest.mark.parametrize("l2", [0.1, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_logistic_optimum_is_scikit_learns(l2, weighted, form):
    X, y, generator = samples(0)
    labels = y > np.median(y)
    weights = generator.uniform(0.2, 3, len(y)) if weighted else None
    peer = LogisticRegression(C=1 / l2, fit_intercept=False, solver="newton-cholesky", tol=1e-12)
    peer.fit(X, labels, sample_weight=weights)
    f = Logistic(form(X), labels, l2=l2, weights=weights)
    result = solve(f, Coordinates(12), SEARCH, tol=1e-10, max_iter=20_000)
    assert result.success
    assert np.abs(result.x - peer.coef_[0]).max() <= 1e-6 * np.abs(peer.coef_).max()
    assert f.value(result.x) <= f.value(peer.coef_[0]) + 1e-9


@pytest.mark.parametrize(("epsilon", "alpha"), [(1.35, 1e-4), (1.1, 20.0), (2.5, 1.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_huber_optimum_is_scikit_learns_at_matched_parameters(
    epsilon, alpha, weighted, monkeypatch
):
    """delta = epsilon · scale_ and l2 = alpha · scale_."""
    minimize = scipy.optimize.minimize

    def patient(*arguments, options, **others):
        # Left alone it stops when the value changes by 2e-9 of itself, four digits too early.
        return minimize(*arguments, options={**options, "ftol": 1e-15}, **others)

    monkeypatch.setattr(scipy.optimize, "minimize", patient)
    X, y, generator = samples(1)
    weights = generator.uniform(0.2, 3, len(y)) if weighted else None
    peer = HuberRegressor(
        epsilon=epsilon, alpha=alpha, fit_intercept=False, tol=1e-10, max_iter=10_000
    )
    peer.fit(X, y, sample_weight=weights)
    f = Huber(X, y, delta=epsilon * peer.scale_, l2=alpha * peer.scale_, weights=weights)
    result = solve(f, Coordinates(12), SEARCH, tol=1e-10, max_iter=50_000)
    assert result.success
    assert np.abs(result.x - peer.coef_).max() <= 1e-6 * np.abs(peer.coef_).max()


@pytest.mark.parametrize("method", ["matching-pursuit", "random-pursuit", "accelerated-random"])
def test_every_method_reaches_the_same_logistic_optimum(method):
    generator = np.random.default_rng(2)
    X = generator.standard_normal((60, 6))
    f = Logistic(X, generator.random(60) < 0.5, l2=1.0)
    exact = solve(f, Coordinates(6), SEARCH, tol=1e-12)
    result = solve(f, Coordinates(6), method, tol=1e-8, max_iter=20_000)
    assert np.allclose(result.x, exact.x, atol=1e-6)


@pytest.mark.parametrize("labels", ["signs", "zeros and ones", "booleans"])
def test_labels_may_be_signs_or_zeros_and_ones_or_booleans(labels):
    X, y, _ = samples(3)
    given = {"signs": np.sign(y), "zeros and ones": (y > 0).astype(int), "booleans": y > 0}
    f = Logistic(X, given[labels], l2=1.0)
    assert np.array_equal(f.y, np.where(y > 0, 1.0, -1.0))


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_a_sparse_matrix_gives_the_same_run_as_a_dense_one(loss):
    X = random_array((200, 30), density=0.1, rng=np.random.default_rng(4), format="csr")
    y = np.random.default_rng(5).standard_normal(200)

    def build(form):
        if loss == "logistic":
            return Logistic(form, y > 0, l2=0.1)
        return Huber(form, y, delta=0.5, l2=0.1)

    for method in ("random-pursuit", "matching-pursuit", SEARCH, "accelerated-matching-pursuit"):
        runs = [
            solve(build(form), Coordinates(30), method, max_iter=300)
            for form in (X.toarray(), X, csc_array(X))
        ]
        for other in runs[1:]:
            assert np.allclose(other.x, runs[0].x, rtol=0, atol=1e-12)


class Watched(np.ndarray):
    """An array that counts the entries that are read or written through indices."""

    touched = 0

    def __getitem__(self, key):
        got = super().__getitem__(key)
        Watched.touched += np.size(got)
        return got


def test_a_random_step_along_a_sparse_column_touches_only_its_samples():
    X = random_array((5000, 400), density=0.002, rng=np.random.default_rng(6), format="csc")
    f = Logistic(X, np.random.default_rng(7).random(5000) < 0.5, l2=0.1)
    x = choose(f, Coordinates(400), np.zeros(400))
    # Reading all samples would go through the slopes of the full gradient.
    x.f.gradient_at = None
    f.y, f.weights = f.y.view(Watched), f.weights.view(Watched)
    for z in (3, 77, 200):
        Watched.touched = 0
        column = X.indptr[z + 1] - X.indptr[z]
        gamma = x.correlation(z) / x.curvature(z)
        x.move(gamma, z)
        assert 0 < Watched.touched <= 4 * column
    assert np.allclose(x.image, X @ x.vector, atol=1e-14)


@pytest.mark.parametrize("atoms", ["coordinates", "dictionary", "groups"])
def test_the_image_stays_in_step_with_x(atoms):
    X, y, generator = samples(8)
    sets = {
        "coordinates": Coordinates(12),
        "dictionary": Dictionary(generator.standard_normal((40, 12))),
        "groups": Groups([range(0, 4), range(4, 9), range(9, 12)]),
    }
    f = Huber(X, y, delta=1.0, l2=0.1)
    unit = sets[atoms].unit().atoms
    x = choose(f, unit, np.zeros(12))
    for z in unit.draw(np.random.default_rng(9), 200):
        slope = x.correlation(z)
        assert slope == pytest.approx(float(f.gradient(x.vector) @ unit.vector(z)), rel=1e-9)
        x.move(slope / x.curvature(z), z)
    assert np.allclose(x.image, X @ x.vector, rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_the_curvature_bound_of_an_atom_is_tight(loss):
    """¼ Σ w (Xz)² + l2‖z‖² is attained at zero margins, Σ w (Xz)² + l2‖z‖² at small residuals."""
    X, y, generator = samples(10)
    weights = generator.random(80)
    if loss == "logistic":
        f = Logistic(X, y > 0, l2=0.2, weights=weights)
        bound = 0.25
    else:
        f = Huber(X, np.zeros(80), delta=5.0, l2=0.2, weights=weights)
        bound = 1.0
    for z in np.eye(12):
        exact = bound * float(weights @ (X @ z) ** 2) + 0.2
        assert f.curvature(z, X @ z) == pytest.approx(exact)
        h = 1e-6
        second = float((f.gradient(h * z) - f.gradient(-h * z)) @ z) / (2 * h)
        assert second == pytest.approx(exact, rel=1e-5)
    hessian = bound * (X.T * weights) @ X
    largest = np.linalg.eigvalsh(hessian)[-1] + 0.2
    for form in (f, csr_form(f, X, y, weights, loss)):
        assert abs(form.L - largest) <= 1e-12 * largest
    assert float(geometry.smoothness(f, Coordinates(12))) == pytest.approx(
        bound * max(weights @ X**2) + 0.2
    )


def csr_form(f, X, y, weights, loss):
    if loss == "logistic":
        return Logistic(csr_array(X), y > 0, l2=f.l2, weights=weights)
    return Huber(csr_array(X), np.zeros(80), delta=5.0, l2=f.l2, weights=weights)


def test_a_wide_or_large_matrix_gets_its_smoothness_without_a_dense_factorisation():
    X = random_array((3000, 2500), density=0.001, rng=np.random.default_rng(11), format="csr")
    weights = np.random.default_rng(12).uniform(0.5, 2, 3000)
    f = Logistic(X, np.arange(3000) % 2, weights=weights)
    hessian = X.T @ X.multiply(weights[:, None]) / 4
    exact = eigsh(hessian.tocsr(), k=1, return_eigenvectors=False, tol=1e-12)[0]
    assert exact * (1 - 1e-9) <= f.L <= exact * (1 + 1e-9)


@given(size=st.floats(0, 300), weight=st.floats(0.1, 10))
def test_huge_margins_overflow_nothing(size, weight):
    huge = 10.0**size
    f = Logistic([[1.0], [-1.0]], [1, 1], weights=[weight, weight])
    for beta in (np.array([huge]), np.array([-huge])):
        assert f.value(beta) == pytest.approx(weight * (huge + 2 * np.log1p(np.exp(-huge))))
        assert np.isfinite(f.gradient(beta)).all()
        assert np.isfinite(f.bends(f.image(beta))).all()


def test_the_huber_loss_is_quadratic_below_delta_and_linear_above():
    f = Huber(np.eye(3), [0.0, 0.0, 0.0], delta=2.0)
    assert f.value(np.array([1.0, 0, 0])) == 0.5
    assert f.value(np.array([2.0, 0, 0])) == 2.0
    assert f.value(np.array([5.0, 0, 0])) == 2.0 * (5 - 1)
    assert f.gradient(np.array([1.0, 5.0, -5.0])).tolist() == [1.0, 2.0, -2.0]


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_float32_stays_float32_and_sums_in_float64(loss):
    X, y, _ = samples(13)
    single = X.astype(np.float32)
    f = Logistic(single, y > 0, l2=1) if loss == "logistic" else Huber(single, y, 1.0, l2=1)
    result = solve(f, Coordinates(12), max_iter=200)
    assert f.dtype == np.float32
    assert result.x.dtype == np.float32
    check_objective(f)
    many = Logistic(np.zeros((300_000, 1), np.float32), np.ones(300_000))
    assert many.value(np.zeros(1, np.float32)) == pytest.approx(300_000 * np.log(2), rel=1e-6)


def test_inputs_are_left_as_they_are():
    X = csr_array(([1.0, 2.0, 3.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    before = (X.data.copy(), X.indices.copy(), X.indptr.copy())
    f = Logistic(X, [0, 1], l2=1.0)
    solve(f, Coordinates(2))
    assert all(
        np.array_equal(a, b) for a, b in zip(before, (X.data, X.indices, X.indptr), strict=True)
    )
    assert f.X.toarray().tolist() == [[3.0, 0.0], [0.0, 3.0]]


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: Logistic(np.eye(3), [0, 1, 2]), "y: expected labels"),
        (lambda: Logistic(np.eye(3), [-1, 0, 1]), "y: expected labels"),
        (lambda: Logistic(np.eye(3), [0, 1]), "y: expected shape"),
        (lambda: Logistic(np.eye(3), [0, 1, 1], l2=-1), "l2: expected"),
        (lambda: Logistic(np.eye(3), [0, 1, 1], weights=[1, -1, 1]), "weights: expected"),
        (lambda: Logistic(np.eye(3), [0, 1, 1], weights=[0, 0, 0]), "weights: expected"),
        (lambda: Logistic(np.eye(3), [0, 1, 1], weights=[1, 1]), "weights: expected"),
        (lambda: Logistic([[np.nan]], [1]), "X: expected finite"),
        (lambda: Huber(np.eye(3), [0, 1, 2], delta=0), "delta: expected"),
        (lambda: Huber(np.eye(3), [0, 1, np.inf], delta=1), "y: expected finite"),
    ],
)
def test_a_wrong_input_is_named(build, complaint):
    with pytest.raises(InputError, match=complaint):
        build()


@pytest.mark.parametrize("shape", [(5, 1), (1, 5), (4, 3)])
def test_the_smoothness_of_a_model_through_an_operator_is_that_of_its_matrix(shape):
    X, y = np.random.default_rng(0).standard_normal(shape), np.arange(shape[0]) % 2
    weights = 1.0 + np.arange(shape[0])
    f = Logistic(aslinearoperator(X), y, l2=1.0, weights=weights)
    assert pytest.approx(Logistic(X, y, l2=1.0, weights=weights).L) == f.L
    assert solve(f, Coordinates(shape[1])).success
