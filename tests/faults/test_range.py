"""Data of any size: a run works, or an InputError says what is out of range; none is faked."""

import numpy as np
import pytest

from pursuit import (
    Cone,
    Coordinates,
    Dictionary,
    Groups,
    Huber,
    InputError,
    LeastSquares,
    Logistic,
    MatrixDistance,
    Quadratic,
    RankOne,
    Sphere,
    SquaredDistance,
    Status,
    solve,
)

rng = np.random.default_rng(0)
D, M, N = 3, 5, 6
A, B, Y = rng.standard_normal((M, D)), rng.standard_normal(M), np.sign(rng.standard_normal(M))
C, ROWS = rng.standard_normal(D), rng.standard_normal((N, D))
H = A.T @ A
EXPONENTS = {"f4": (-38, -30, -22, -19, -15, 15, 19, 22, 30, 37)}
EXPONENTS |= {"f8": (-307, -200, -160, -150, -75, 75, 150, 160, 200, 300)}
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


def test_float32_data_whose_squares_leave_its_range_are_fitted():
    for factor in (1e-30, 1e20, 1e30):
        b = (factor * np.array([3.0, 1.0])).astype("f4")
        result = solve(SquaredDistance(b), Dictionary(np.eye(2, dtype="f4")))
        assert result.status is Status.CONVERGED
        np.testing.assert_allclose(result.x, b, rtol=1e-6)
        matrix = np.outer(b, [1, 2, 3]).astype("f4")
        result = solve(MatrixDistance(matrix), RankOne(2, 3), max_iter=5)
        np.testing.assert_allclose(result.x.toarray(), matrix, rtol=1e-5)


def test_a_curvature_that_is_no_number_is_named():
    with pytest.raises(InputError, match=r"X: numbers of up to 1e\+200 have products out of the"):
        solve(Huber(1e200 * np.ones((3, 2)), np.ones(3), 1.0), Coordinates(2))
    with pytest.raises(InputError, match=r"A: numbers of up to 1e-200"):
        solve(LeastSquares(1e-200 * np.eye(2), np.ones(2)), Coordinates(2))
    with pytest.raises(InputError, match="coefficients would leave the range of float64"):
        solve(SquaredDistance(np.full(2, 1e-149)), Dictionary(1e200 * np.eye(2)))


def test_numbers_that_the_type_of_the_samples_cannot_hold_are_named():
    X = np.ones((3, 2), np.float32)
    with pytest.raises(
        InputError, match=r"y: expected numbers in the range of float32, got 1e\+60"
    ):
        Huber(X, [1.0, 1e60, 0.0], 1.0)
    with pytest.raises(InputError, match=r"weights: expected numbers in the range of float32"):
        Logistic(X, [1, 0, 1], weights=[1.0, 1e-60, 1.0])
