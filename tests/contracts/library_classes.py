"""An example of every set and every objective of the library."""

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import aslinearoperator

from pursuit import (
    Cone,
    Coordinates,
    Dictionary,
    Function,
    Gabor,
    Groups,
    Huber,
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
    Transformed,
    Union,
)

rng = np.random.default_rng(7)
ROWS = rng.standard_normal((9, 4))
M = rng.standard_normal((4, 4))
A = rng.standard_normal((7, 4))
X = rng.standard_normal((20, 4)) * (rng.random((20, 4)) < 0.6)
Y = rng.standard_normal(20)
LABELS = rng.random(20) < 0.5
WEIGHTS = rng.random(20)


def corners(d):
    return np.where(d < 0, -1.0, 1.0)


def lazy_corners(d):
    """A corner that keeps half of the largest product: the smallest entries are turned over."""
    size = np.sort(np.abs(d))
    turned = np.searchsorted(2 * np.cumsum(size), 0.5 * size.sum(), side="right")
    z = corners(d)
    z[np.argsort(np.abs(d))[:turned]] *= -1
    return z


def random_corner(generator):
    return generator.choice([-1.0, 1.0], 4)


ATOMS = {
    "dictionary": Dictionary(ROWS),
    "dictionary of many scales": Dictionary(ROWS * 10.0 ** np.arange(-4, 5)[:, None]),
    "dictionary of images": Dictionary(rng.standard_normal((5, 2, 3))),
    "dictionary in float32": Dictionary(ROWS.astype(np.float32)),
    "dictionary without full rank": Dictionary(ROWS[:3]),
    "coordinates": Coordinates(5),
    "shifts": Shifts(rng.standard_normal((3, 5)), 20),
    "shifts of many scales": Shifts(rng.standard_normal((3, 5)) * [[1e-3], [1], [1e3]], 20),
    "shifts in float32": Shifts(rng.standard_normal((2, 4)).astype(np.float32), 11),
    "shifts of images": Shifts(rng.standard_normal((2, 3, 2)), (7, 6)),
    "shifts of channels": Shifts(rng.standard_normal((2, 3, 4)), (3, 12)),
    "shifts of channels behind samples": Shifts(rng.standard_normal((2, 4, 3)), (12, 3)),
    "shifts of channels of images": Shifts(rng.standard_normal((2, 2, 3, 2)), (2, 6, 5)),
    "shifts at one place": Shifts(rng.standard_normal((2, 5)), 5),
    "sparse dictionary": SparseDictionary(csr_array(X)[:9]),
    "sparse dictionary of images": SparseDictionary(csr_array(np.eye(6) - np.eye(6, k=1)), (2, 3)),
    "operator": Operator(aslinearoperator(A)),
    "operator of known norms": Operator(A, norms=np.linalg.norm(A, axis=0)),
    "union of spikes and shifts": Union(Coordinates(12), Shifts([[1.0, 2.0, -1.0]], 12)),
    "union of dense sets": Union(Dictionary(ROWS), Coordinates(4)),
    "cone of shifts": Cone(Shifts(rng.standard_normal((2, 3)), 9)),
    "cone": Cone(ROWS * 10.0 ** np.arange(-4, 5)[:, None]),
    "cone in float32": Cone(ROWS.astype(np.float32)),
    "cone of coordinates": Cone(Coordinates(5)),
    "cone of a transformed dictionary": Cone(Transformed(Dictionary(ROWS), M)),
    "sphere": Sphere(4),
    "sphere of images": Sphere(2, 3),
    "groups": Groups([[0, 2], [1], [3, 4, 6]], size=8),
    "gabor atoms": Gabor(100, (16, 32)),
    "gabor atoms of two channels": Gabor(90, (16, 32, 64), 1 / 8, channels=2),
    "rank one, dense oracle": RankOne(4, 3),
    "rank one, Lanczos": RankOne(80, 70),
    "transformed coordinates": Transformed(Coordinates(4), M),
    "transformed dictionary": Transformed(Dictionary(ROWS), M),
    "transformed sphere": Transformed(Sphere(4), M),
    "transformed groups": Transformed(Groups([[0, 1], [2, 3]]), M),
    "trees of one split": RegressionTrees(A),
    "oracle": Oracle(corners, 4, radius=2.0, sample=random_corner),
    "oracle that is approximate": Oracle(lazy_corners, 4, radius=2.0, delta=0.5),
    "oracle without a sampler": Oracle(corners, 4, radius=2.0),
}

OBJECTIVES = {
    "squared distance": SquaredDistance(rng.standard_normal(4)),
    "squared distance in float32": SquaredDistance(rng.standard_normal(4).astype(np.float32)),
    "least squares": LeastSquares(A, rng.standard_normal(7)),
    "least squares, sparse": LeastSquares(csr_array(A), rng.standard_normal(7)),
    "quadratic": Quadratic(A.T @ A, rng.standard_normal(4)),
    "logistic": Logistic(X, LABELS),
    "logistic with ridge and weights": Logistic(X, LABELS, l2=0.3, weights=WEIGHTS),
    "logistic, sparse": Logistic(csr_array(X), LABELS, l2=0.3),
    "logistic, operator": Logistic(aslinearoperator(X), LABELS, l2=0.3, weights=WEIGHTS),
    "logistic in float32": Logistic(X.astype(np.float32), LABELS, l2=0.3),
    "logistic with an intercept": Logistic(X, LABELS, l2=0.3, intercept=True),
    "squared hinge": SquaredHinge(X, LABELS, l2=0.3, weights=WEIGHTS),
    "squared hinge with an intercept, sparse": SquaredHinge(
        csr_array(X), LABELS, l2=0.3, intercept=True
    ),
    "poisson": Poisson(X, np.abs(Y)),
    "poisson with an intercept, sparse": Poisson(
        csr_array(X), np.abs(Y), l2=0.3, weights=WEIGHTS, intercept=True
    ),
    "least squares with all": LeastSquares(
        csr_array(X), Y, l2=0.3, weights=WEIGHTS, intercept=True
    ),
    "huber": Huber(X, Y, delta=0.7),
    "huber with ridge and weights": Huber(X, Y, delta=0.7, l2=0.3, weights=WEIGHTS),
    "huber, sparse": Huber(csc_array(X), Y, delta=0.7, l2=0.3),
    "function": Function(lambda x: np.cosh(x).sum(), np.sinh, shape=3),
    "matrix distance": MatrixDistance(A),
    "matrix distance, sparse": MatrixDistance(csr_array(A)),
    "matrix distance, sparse plus low rank": MatrixDistance(
        SparsePlusLowRank(csr_array(X), rng.standard_normal((20, 2)), rng.standard_normal((4, 2)))
    ),
    "matrix entries": MatrixEntries(csr_array(X)),
}
