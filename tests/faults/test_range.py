"""The range of data: within it runs work, beyond it an InputError names what is out of range."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from pursuit import (
    Box,
    Cone,
    Coordinates,
    Dictionary,
    Groups,
    Huber,
    InputError,
    LeastSquares,
    Logistic,
    MatrixDistance,
    MatrixEntries,
    Operator,
    Oracle,
    Poisson,
    Quadratic,
    RankOne,
    RegressionTrees,
    Shifts,
    SparseDictionary,
    SparsePlusLowRank,
    Sphere,
    SquaredDistance,
    SquaredHinge,
    Status,
    Transformed,
    solve,
)

rng = np.random.default_rng(0)
D, M, N = 3, 5, 6
A, B, Y = rng.standard_normal((M, D)), rng.standard_normal(M), np.sign(rng.standard_normal(M))
C, ROWS = rng.standard_normal(D), rng.standard_normal((N, D))
H = A.T @ A
EXPONENTS = {"f4": (-20, -13, -8, 8, 13, 20), "f8": (-80, -68, -35, 35, 68, 80)}
METHODS = (("matching-pursuit", "accelerated-random", "orthogonal", "blended"), ("orthogonal",))
Long = np.longdouble


def scaled(array, exponent, dtype):
    return (array * 10.0**exponent).astype(dtype)


def least_squares(X, y):
    X, y = X.astype(Long), y.astype(Long)
    return lambda x: X.T @ (X @ x - y)


def quadratic(G, b):
    return lambda x: G.astype(Long) @ x - b.astype(Long)


def huber(X, y, delta):
    X, y = X.astype(Long), y.astype(Long)
    return lambda x: X.T @ np.clip(X @ x - y, -Long(delta), Long(delta))


CASES = {
    "SquaredDistance b": lambda e, t: (
        SquaredDistance(scaled(C, e, t)),
        lambda x: x - scaled(C, e, t).astype(Long),
    ),
    "LeastSquares A": lambda e, t: (
        LeastSquares(scaled(A, e, t), B.astype(t)),
        least_squares(scaled(A, e, t), B.astype(t)),
    ),
    "LeastSquares b": lambda e, t: (
        LeastSquares(A.astype(t), scaled(B, e, t)),
        least_squares(A.astype(t), scaled(B, e, t)),
    ),
    "LeastSquares A b": lambda e, t: (
        LeastSquares(scaled(A, e, t), scaled(B, e, t)),
        least_squares(scaled(A, e, t), scaled(B, e, t)),
    ),
    "Quadratic H": lambda e, t: (
        Quadratic(scaled(H, e, t), C.astype(t)),
        quadratic(scaled(H, e, t), C.astype(t)),
    ),
    "Quadratic b": lambda e, t: (
        Quadratic(H.astype(t), scaled(C, e, t)),
        quadratic(H.astype(t), scaled(C, e, t)),
    ),
    "Huber X": lambda e, t: (
        Huber(scaled(A, e, t), B.astype(t), 1.0),
        huber(scaled(A, e, t), B.astype(t), 1.0),
    ),
    "Huber y": lambda e, t: (
        Huber(A.astype(t), scaled(B, e, t), 1.0),
        huber(A.astype(t), scaled(B, e, t), 1.0),
    ),
    "Huber delta": lambda e, t: (
        Huber(A.astype(t), B.astype(t), 10.0**e),
        huber(A.astype(t), B.astype(t), 10.0**e),
    ),
}


def sets(dtype):
    rows = ROWS.astype(dtype)
    exact = rows.astype(Long)
    unit = exact / np.sqrt(np.sum(exact**2, axis=1))[:, None]
    yield Dictionary(rows), lambda g, coef: np.abs(unit @ g).max()
    yield Coordinates(D), lambda g, coef: np.abs(g).max()
    yield Sphere(D), lambda g, coef: np.sqrt(np.sum(g**2))
    yield Groups([[0, 1], [2]]), lambda g, coef: max(np.hypot(g[0], g[1]), abs(g[2]))

    def one_sided(g, coef):
        c = unit @ g
        return np.abs(np.where((c >= 0) & (coef <= 0), 0, c)).max()

    yield Cone(rows), one_sided


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("dtype", EXPONENTS)
@pytest.mark.parametrize("case", CASES)
def test_no_run_on_data_of_any_size_claims_what_is_not_so(case, dtype):
    """Against slopes in extended precision, whose range holds all of these."""
    seen = set()
    for exponent in EXPONENTS[dtype]:
        for atoms, slope in sets(dtype):
            for name in METHODS[isinstance(atoms, Cone)]:
                try:
                    f, gradient = CASES[case](exponent, dtype)
                    result = solve(f, atoms, name, max_iter=30)
                except InputError:
                    seen.add("refused")
                    continue
                seen.add(result.status)
                size = len(atoms) if hasattr(atoms, "__len__") else 0
                coef = result.coef.toarray() if size else None
                first = slope(gradient(np.zeros(D, Long)), np.zeros(size))
                last = slope(gradient(result.x.astype(Long)), coef)
                if result.status is Status.CONVERGED:
                    assert last <= 1.001e-6 * first, (exponent, atoms, name)
    assert Status.CONVERGED in seen or case == "Huber delta"
    assert not seen & {Status.UNBOUNDED, Status.DIVERGED}


def test_float32_data_next_to_the_ends_of_the_range_are_fitted():
    for factor in (1e-14, 1e14):
        b = (factor * np.array([3.0, 1.0])).astype("f4")
        result = solve(SquaredDistance(b), Dictionary(np.eye(2, dtype="f4")))
        assert result.status is Status.CONVERGED
        np.testing.assert_allclose(result.x, b, rtol=1e-6)
        matrix = np.outer(b, [1, 2, 3]).astype("f4")
        result = solve(MatrixDistance(matrix), RankOne(2, 3), max_iter=5)
        np.testing.assert_allclose(result.x.toarray(), matrix, rtol=1e-5)


ONES, FAR = np.ones((3, 2)), {"f4": 1e20, "f8": 1e80}
LABELS = np.array([1, 0, 1])
REFUSED = {
    "Dictionary": ("atoms", lambda far, one: Dictionary(far)),
    "Cone": ("atoms", lambda far, one: Cone(far)),
    "SparseDictionary": ("atoms", lambda far, one: SparseDictionary(csr_array(far))),
    "Shifts": ("templates", lambda far, one: Shifts(far[:1], 9)),
    "Operator": ("operator", lambda far, one: Operator(far)),
    "Operator norms": ("norms", lambda far, one: Operator(one, norms=far[0])),
    "Oracle": ("radius", lambda far, one: Oracle(np.sign, 3, radius=1e80)),
    "Transformed": ("M", lambda far, one: Transformed(Coordinates(2), 1e80 * np.eye(2))),
    "RegressionTrees": ("X", lambda far, one: RegressionTrees(far)),
    "SquaredDistance": ("b", lambda far, one: SquaredDistance(far)),
    "LeastSquares A": ("A", lambda far, one: LeastSquares(far, one[:, 0])),
    "LeastSquares sparse A": ("A", lambda far, one: LeastSquares(csr_array(far), one[:, 0])),
    "LeastSquares b": ("b", lambda far, one: LeastSquares(one, far[:, 0])),
    "LeastSquares w": ("weights", lambda far, one: LeastSquares(one, one[:, 0], 0, far[:, 0])),
    "Quadratic H": ("H", lambda far, one: Quadratic(far[:2] * np.eye(2, dtype="f4"), one[0])),
    "Quadratic b": ("b", lambda far, one: Quadratic(np.eye(2), far[0])),
    "MatrixDistance": ("B", lambda far, one: MatrixDistance(far)),
    "MatrixEntries": ("B", lambda far, one: MatrixEntries(csr_array(far))),
    "SparsePlusLowRank sparse": (
        "sparse",
        lambda far, one: SparsePlusLowRank(csr_array(far), one, one[:2]),
    ),
    "SparsePlusLowRank left": (
        "left",
        lambda far, one: SparsePlusLowRank(csr_array(one), far, one[:2]),
    ),
    "SparsePlusLowRank right": (
        "right",
        lambda far, one: SparsePlusLowRank(csr_array(one), one, far[:2]),
    ),
    "Logistic": ("X", lambda far, one: Logistic(far, LABELS)),
    "Logistic weights": ("weights", lambda far, one: Logistic(one, LABELS, weights=far[:, 0])),
    "SquaredHinge": ("X", lambda far, one: SquaredHinge(far, LABELS)),
    "Huber y": ("y", lambda far, one: Huber(one, far[:, 0], 1.0)),
    "Huber delta": ("delta", lambda far, one: Huber(one, one[:, 0], float(far[0, 0]))),
    "Poisson": ("y", lambda far, one: Poisson(one, far[:, 0])),
}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", FAR)
@pytest.mark.parametrize("case", REFUSED)
def test_data_beyond_the_range_are_refused_by_a_message_that_names_them(case, dtype, sign):
    name, build = REFUSED[case]
    if sign < 0 and case in ("Oracle", "Transformed"):
        pytest.skip("it is the same")
    far = (ONES * FAR[dtype] ** sign).astype(dtype)
    with pytest.raises(InputError, match=rf"^{name} must be .*; rescale the data$"):
        build(far, ONES.astype(dtype))


def test_data_are_checked_in_the_precision_of_the_samples():
    X = np.ones((3, 2), np.float32)
    with pytest.raises(InputError, match=r"^y must be .* from 1e-15 to 1e\+15, got 1e\+60"):
        Huber(X, [1.0, 1e60, 0.0], 1.0)
    with pytest.raises(InputError, match=r"^weights must be .* from 1e-15 to 1e\+15, got 1e\+60"):
        Logistic(X, [1, 0, 1], weights=[1.0, 1e60, 1.0])


def test_single_entries_may_be_as_small_as_they_like():
    """Only the largest magnitude of an atom or an array counts; bounds beyond it are none."""
    f = SquaredDistance([3.0, 1e-300])
    result = solve(f, Dictionary([[1.0, 1e-300], [0.0, 1.0]]), penalty=Box(-1e300, 1e300))
    assert result.status is Status.CONVERGED
    assert result.x[0] == pytest.approx(3)
