"""Every loss with l2, weights and an intercept: scikit-learn's and SciPy's optima, conjugates."""

import numpy as np
import pytest
import scipy.optimize
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import aslinearoperator
from scipy.special import expit
from sklearn.linear_model import ElasticNet, LogisticRegression, PoissonRegressor, Ridge
from sklearn.svm import LinearSVC

from pursuit import (
    L1,
    Box,
    Coordinates,
    Dictionary,
    Huber,
    InputError,
    LeastSquares,
    Logistic,
    NonNegative,
    Poisson,
    SquaredHinge,
    Status,
    solve,
)

N, D, L2 = 90, 7, 0.6
rng = np.random.default_rng(11)
X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.6) * 10.0 ** rng.uniform(-0.5, 0.5, D)
RESPONSES = X @ rng.standard_normal(D) + 2 + rng.standard_normal(N)
LABELS = np.median(RESPONSES) < RESPONSES
COUNTS = rng.poisson(np.exp(0.2 * X @ rng.standard_normal(D) + 0.7)).astype(float)
WEIGHTS = rng.uniform(0.2, 3, N) * (rng.random(N) < 0.9)
SIGNS = np.where(LABELS, 1.0, -1.0)


def huber(r):
    return np.where(np.abs(r) <= 1.3, r * r / 2, 1.3 * (np.abs(r) - 0.65))


# The class, its responses, ℓ(u) and ℓ′(u) by another formula.
LOSSES = {
    "least squares": (LeastSquares, RESPONSES, lambda u: (u - RESPONSES) ** 2 / 2, None),
    "huber": (
        lambda X, y, **options: Huber(X, y, 1.3, **options),
        RESPONSES,
        lambda u: huber(u - RESPONSES),
        None,
    ),
    "logistic": (
        Logistic,
        LABELS,
        lambda u: np.logaddexp(0, -SIGNS * u),
        lambda u: -SIGNS * expit(-SIGNS * u),
    ),
    "squared hinge": (
        SquaredHinge,
        LABELS,
        lambda u: np.maximum(0, 1 - SIGNS * u) ** 2 / 2,
        None,
    ),
    "poisson": (Poisson, COUNTS, lambda u: np.exp(u) - COUNTS * u, lambda u: np.exp(u) - COUNTS),
}
FORMS = {"dense": np.asarray, "csr": csr_array, "csc": csc_array, "operator": aslinearoperator}


def slope(u, loss, given):
    """ℓ′(u): as given, or what a central difference gives, exact for pieces of parabolas."""
    return given(u) if given else (loss(u + 1e-4) - loss(u - 1e-4)) / 2e-4


def scipy_optimum(loss, given, weights, intercept):
    design = np.hstack([X, np.ones((N, 1))]) if intercept else X
    shrunk = np.ones(design.shape[1])
    shrunk[D:] = 0

    def value(x):
        return weights @ loss(design @ x) + L2 / 2 * x @ (shrunk * x)

    def gradient(x):
        return design.T @ (weights * slope(design @ x, loss, given)) + L2 * shrunk * x

    found = scipy.optimize.minimize(
        value, np.zeros(len(shrunk)), jac=gradient, method="BFGS", options={"gtol": 1e-9}
    )
    return found.x, value, gradient


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_optimum_is_scipys(name, form, weighted, intercept):
    build, y, loss, given = LOSSES[name]
    weights = WEIGHTS if weighted else None
    f = build(FORMS[form](X), y, l2=L2, weights=weights, intercept=intercept)
    result = solve(f, Coordinates(D + intercept), "accelerated", tol=1e-11)
    best, value, gradient = scipy_optimum(
        loss, given, WEIGHTS if weighted else 1 + 0 * y, intercept
    )
    assert result.success, result.message
    assert np.abs(result.x - best).max() <= 1e-6 * np.abs(best).max()
    assert abs(result.value - value(result.x)) <= 1e-10 * abs(result.value)
    assert np.abs(f.gradient(result.x)).max() <= 1e-9
    assert np.abs(gradient(result.x)).max() <= 1e-6  # as well as differences tell


def fitted(peer, y, weights):
    peer.fit(X, y, sample_weight=weights)
    return np.append(peer.coef_.ravel(), peer.intercept_)


@pytest.mark.parametrize("form", ["dense", "csc"])
def test_the_optima_with_weights_and_an_intercept_are_scikit_learns(form):
    total = WEIGHTS.sum()
    peers = {
        "least squares": Ridge(L2, solver="cholesky"),
        "logistic": LogisticRegression(C=1 / L2, solver="newton-cholesky", tol=1e-12),
        "poisson": PoissonRegressor(alpha=L2 / total, solver="newton-cholesky", tol=1e-12),
    }
    for name, peer in peers.items():
        build, y, *_ = LOSSES[name]
        f = build(FORMS[form](X), y, l2=L2, weights=WEIGHTS, intercept=True)
        result = solve(f, Coordinates(D + 1), "accelerated", tol=1e-11)
        theirs = fitted(peer, y, WEIGHTS)
        assert np.abs(result.x - theirs).max() <= 1e-6 * np.abs(theirs).max(), name


def test_the_squared_hinge_without_an_intercept_is_that_of_linear_svc():
    peer = LinearSVC(C=1 / (2 * L2), fit_intercept=False, tol=1e-12, max_iter=100_000)
    peer.fit(X, LABELS, sample_weight=WEIGHTS)
    f = SquaredHinge(X, LABELS, l2=L2, weights=WEIGHTS)
    result = solve(f, Coordinates(D), "accelerated", tol=1e-11)
    assert np.abs(result.x - peer.coef_[0]).max() <= 1e-6 * np.abs(peer.coef_).max()


@pytest.mark.parametrize("name", LOSSES)
def test_conjugates_are_those_of_fenchel_and_young(name):
    """w ℓ(u) + (w ℓ)*(a) ≥ au, with equality where a = w ℓ′(u)."""
    build, y, *_ = LOSSES[name]
    for dtype, near in ((np.float64, 1e-12), (np.float32, 2e-5)):
        f = build(X.astype(dtype), y, weights=WEIGHTS).linear_model
        u = (3 * np.random.default_rng(3).standard_normal(N)).astype(dtype)
        a = f.slopes(u).astype(np.float64)
        tight = f.losses(u) + f.conjugates(a) - a * u
        assert np.abs(tight).max() <= near * (1 + np.abs(a * u)).max()
        for share in (0.0, 0.4, 0.9, 1.2):
            assert (f.losses(u) + f.conjugates(share * a) - share * a * u).min() >= -near * 10


def test_conjugates_are_infinite_outside_of_their_domain():
    ones = np.ones(N)
    for f, a in (
        (Logistic(X, LABELS), SIGNS),
        (Logistic(X, LABELS), -1.01 * SIGNS),
        (SquaredHinge(X, LABELS), SIGNS),
        (Huber(X, RESPONSES, 1.3), 1.31 * ones),
        (Poisson(X, COUNTS), -COUNTS - 0.01),
    ):
        assert np.isinf(f.conjugates(a)).all(), f
    without = Logistic(X, LABELS, weights=WEIGHTS)
    none = WEIGHTS == 0
    assert np.isinf(without.conjugates(0.1 * -SIGNS)[none]).all()
    assert (without.conjugates(0 * SIGNS)[none] == 0).all()


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_are_those_of_the_losses(name):
    build, y, *_ = LOSSES[name]
    f = build(X, y, weights=WEIGHTS).linear_model
    u, h = 2 * np.random.default_rng(5).standard_normal(N), 1e-5
    central = (f.losses(u + h) - f.losses(u - h)) / (2 * h)
    assert np.abs(f.slopes(u) - central).max() <= 1e-8 * (1 + np.abs(central).max())
    second = (f.slopes(u + h) - f.slopes(u - h)) / (2 * h)
    assert np.abs(f.bends(u) - second).max() <= 1e-6 * (1 + np.abs(second).max())
    counted = f.weights > 0
    assert (f.bends(u)[counted] <= f.bend * f.weights[counted] * (1 + 1e-12)).all()
    if np.isfinite(f.growth):  # |ℓ‴| ≤ growth·ℓ″
        for t in (-1.5, 0.3, 2.0):
            most = np.exp(f.growth * abs(t)) * f.bends(u)
            assert (f.bends(u + t) <= most * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("form", ["dense", "csc"])
def test_float32_stays_float32_and_its_optimum_is_that_of_float64(name, form):
    build, y, *_ = LOSSES[name]
    wide, narrow = (
        build(FORMS[form](X.astype(dtype)), y.astype(dtype), l2=L2, intercept=True)
        for dtype in (np.float64, np.float32)
    )
    best = solve(wide, Coordinates(D + 1), "accelerated", tol=1e-11)
    result = solve(narrow, Coordinates(D + 1), "accelerated", tol=1e-5)
    assert result.x.dtype == narrow.dtype == np.float32
    assert np.abs(result.x - best.x).max() <= 2e-4 * np.abs(best.x).max()


def test_l2_and_weights_of_least_squares_are_rows_more_and_rows_scaled():
    """In the Gram form and in the ambient one, along atoms of any kind."""
    root = np.sqrt(WEIGHTS)
    rows = np.vstack([root[:, None] * X, np.sqrt(L2) * np.eye(D)])
    plain = LeastSquares(rows, np.append(root * RESPONSES, np.zeros(D)))
    f = LeastSquares(X, RESPONSES, l2=L2, weights=WEIGHTS)
    atoms = Dictionary(np.random.default_rng(8).standard_normal((12, D)))
    assert pytest.approx(plain.L, rel=1e-12) == f.L
    for gram_bytes in (None, 0):
        for method in ("matching-pursuit", "orthogonal", "accelerated", "random-pursuit"):
            options = {"method": method, "gram_bytes": gram_bytes, "max_iter": 60}
            ours, theirs = (solve(g, atoms, **options) for g in (f, plain))
            assert np.allclose(ours.x, theirs.x, rtol=0, atol=1e-11), (gram_bytes, method)
            assert ours.value == pytest.approx(theirs.value, rel=1e-12)


@pytest.mark.parametrize("method", ["orthogonal", "blended", "accelerated"])
def test_an_intercept_is_shrunk_along_no_atoms(method):
    """Atoms that mix the intercept with other entries: f over their span is that of a change of
    variables."""
    mixed = np.random.default_rng(9).standard_normal((D + 1, D + 1))
    for name, (build, y, *_) in LOSSES.items():
        f = build(X, y, l2=L2, intercept=True)
        best = solve(f, Coordinates(D + 1), "accelerated", tol=1e-11)
        result = solve(f, Dictionary(mixed), method, max_iter=3000, tol=1e-10)
        assert result.value <= best.value + 1e-9 * (1 + abs(best.value)), name


# With penalties -------------------------------------------------------------------------------

PENALTIES = {"l1": L1(4.0), "box": Box(-0.1, 0.2), "non-negative": NonNegative()}


def bounded_optimum(f, penalty):
    """SciPy's: w = p − m with p, m ≥ 0 turns λ|w| into λ(p + m), and bounds stay bounds."""
    weights, lower, upper = penalty.freed(np.array([D]), D + 1).parts(D + 1)

    def value(pm):
        return f.value(pm[: D + 1] - pm[D + 1 :]) + np.append(weights, weights) @ pm

    def gradient(pm):
        here = f.gradient(pm[: D + 1] - pm[D + 1 :])
        return np.append(here + weights, -here + weights)

    bounds = [(0, high) for high in upper] + [(0, -low) for low in lower]
    options = {"ftol": 1e-16, "gtol": 1e-11, "maxiter": 10_000, "maxfun": 100_000}
    found = scipy.optimize.minimize(
        value, np.zeros(2 * D + 2), jac=gradient, bounds=bounds, method="L-BFGS-B", options=options
    )
    return found.x[: D + 1] - found.x[D + 1 :], found.fun


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("form", ["dense", "csc"])
@pytest.mark.parametrize("kind", PENALTIES)
def test_the_optimum_with_a_penalty_is_scipys(name, form, kind):
    """With weights and an intercept, which no penalty touches; 1e-9 from the subdifferential."""
    build, y, *_ = LOSSES[name]
    f = build(FORMS[form](X), y, l2=L2, weights=WEIGHTS, intercept=True)
    options = {"penalty": PENALTIES[kind], "tol": 1e-12, "max_iter": 100_000}
    result = solve(f, Coordinates(D + 1), "shuffled", **options)
    best, value = bounded_optimum(f, PENALTIES[kind])
    assert result.success, result.message
    assert result.value <= value + 1e-10 * abs(value)
    assert np.abs(result.x - best).max() <= 1e-6 * np.abs(best).max() + 1e-7
    free = PENALTIES[kind].freed(np.array([D]), D + 1)
    assert np.abs(free.subgradient(f.gradient(result.x), result.x)).max() <= 1e-9


@pytest.mark.parametrize("positive", [False, True])
def test_the_elastic_net_with_weights_and_an_intercept_is_scikit_learns(positive):
    total, lam = WEIGHTS.sum(), 4.0
    peer = ElasticNet(
        alpha=(lam + L2) / total,
        l1_ratio=lam / (lam + L2),
        tol=1e-13,
        max_iter=10**6,
        positive=positive,
    )
    peer.fit(X, RESPONSES, sample_weight=WEIGHTS)
    penalty = Box(0, np.inf) if positive else None
    atoms = Coordinates(D + 1)
    f = LeastSquares(X, RESPONSES, l2=L2, weights=WEIGHTS, intercept=True)
    whole = L1(lam) if penalty is None else L1(lam).joined(penalty)
    result = solve(f, atoms, "cyclic", penalty=whole, tol=1e-12, max_iter=100_000)
    theirs = np.append(peer.coef_, peer.intercept_)
    assert np.abs(result.x - theirs).max() <= 1e-6 * np.abs(theirs).max()


# What is wrong with an input ----------------------------------------------------------------


def test_separable_labels_without_l2_have_no_minimiser_and_the_status_says_so():
    separable = np.column_stack([SIGNS * (1 + rng.random(N)), rng.standard_normal(N)])
    for method in ("matching-pursuit", "accelerated", "orthogonal"):
        result = solve(Logistic(separable, LABELS), Coordinates(2), method, max_iter=300)
        assert result.status is Status.UNBOUNDED, method
        assert "separates the labels" in result.message
        assert np.isfinite([*result.x, result.value]).all()
        assert solve(Logistic(separable, LABELS, l2=0.01), Coordinates(2), "accelerated").success
    asked = solve(Logistic(separable, LABELS), Coordinates(2), target=5.0)
    assert asked.status is Status.CONVERGED
    assert solve(SquaredHinge(separable, LABELS), Coordinates(2), "accelerated").success


def test_weights_on_other_coefficients_do_not_give_separable_labels_a_minimiser():
    separable = np.column_stack([SIGNS * np.linspace(1, 2, N), np.zeros(N)])
    f = Logistic(separable, LABELS)
    for penalty in (L1([0.0, 1.0]), Box([-np.inf, -1.0], [np.inf, 1.0])):
        assert solve(f, Coordinates(2), penalty=penalty).status is Status.UNBOUNDED
    for penalty in (L1([1e-3, 0.0]), Box([-np.inf, -np.inf], [1.0, np.inf])):
        assert solve(f, Coordinates(2), penalty=penalty).status is Status.CONVERGED


def test_columns_that_are_zero_or_constant_are_no_obstacle():
    design = np.column_stack([X, np.zeros(N), np.full(N, 3.0)])
    for name, (build, y, *_) in LOSSES.items():
        for l2 in (0.0, 0.3):
            f = build(design, y, l2=l2)
            result = solve(f, Coordinates(D + 2), "accelerated", tol=1e-8)
            assert result.success, (name, l2, result.message)
            assert result.x[D] == 0


BAD = {
    "labels of one class with an intercept": (
        lambda: Logistic(X, np.ones(N), l2=1, intercept=True),
        "two classes",
    ),
    "one class among the samples that count": (
        lambda: Logistic(X, LABELS, weights=LABELS.astype(float), intercept=True),
        "two classes",
    ),
    "no count with an intercept": (lambda: Poisson(X, 0 * COUNTS, intercept=True), "above 0"),
    "a negative count": (lambda: Poisson(X, COUNTS - 1), "y: expected counts"),
    "a negative weight": (lambda: SquaredHinge(X, LABELS, weights=WEIGHTS - 1), "weights: "),
    "a negative weight of a square": (
        lambda: LeastSquares(X, RESPONSES, weights=-WEIGHTS),
        "weights: ",
    ),
    "weights for other samples": (lambda: Poisson(X, COUNTS, weights=WEIGHTS[1:]), "weights: "),
    "nan among counts": (lambda: Poisson(X, COUNTS * np.nan), "y: expected finite"),
    "nan in X": (lambda: SquaredHinge(X * np.nan, LABELS), "X: expected finite"),
    "three classes": (lambda: SquaredHinge(X, np.arange(N) % 3), "y: expected labels"),
    "a negative l2": (lambda: LeastSquares(X, RESPONSES, l2=-1), "l2: "),
    "an intercept that is no flag": (lambda: Huber(X, RESPONSES, 1, intercept=2), "intercept: "),
    "no smoothness constant": (
        lambda: solve(Poisson(X, COUNTS), Coordinates(D), "matching-pursuit"),
        "shuffled, accelerated, orthogonal",
    ),
    "rtol of more than a residual": (
        lambda: solve(LeastSquares(X, RESPONSES, l2=1), Coordinates(D), rtol=0.1),
        "rtol: ",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    call, words = BAD[case]
    with pytest.raises(InputError, match=words):
        call()
