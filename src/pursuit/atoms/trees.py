"""Regression trees as atoms: pursuit over them is boosting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet
from pursuit.base.errors import InputError, MissingExtra
from pursuit.base.scaling import check_range
from pursuit.base.validation import Array, count, real_array

if TYPE_CHECKING:
    from pursuit.solving.result import Result

COLUMNS = 5
"""What is kept of a node: feature, threshold, left and right child, value."""


SEEDS = 2**32
"""As many as scikit-learn takes."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A regression tree, and its values on the rows that the set was made with.

    Attributes
    ----------
    nodes
        A row for each node: feature, threshold, left and right child (−1 at a leaf), value.
    values
        Of the tree on those rows, of norm one.
    """

    nodes: Array
    values: Array

    def __call__(self, X: Array) -> Array:
        """The values of the tree on rows in float32, as it was grown."""
        feature, left, right = (self.nodes[:, k].astype(np.int64) for k in (0, 2, 3))
        rows, node = np.arange(len(X)), np.zeros(len(X), np.int64)
        while (left[node] >= 0).any():
            below = X[rows, np.maximum(feature[node], 0)] <= self.nodes[node, 1]
            node = np.where(left[node] < 0, node, np.where(below, left[node], right[node]))
        values: Array = self.nodes[node, 4]
        return values


class RegressionTrees(AtomSet):
    """The values, on the rows of X, of regression trees of norm one: functions as atoms.

    Over ½‖x − y‖² matching pursuit is least-squares boosting, `Smooth(10.0)` for its step a
    learning rate of 0.1, and orthogonal pursuit corrects the weights of all trees. The oracle is a
    tree that scikit-learn grows for the gradient. Of one split (`max_depth=1`) it is the best there
    is. A deeper one is grown greedily: there is no δ > 0 with which it is as good as the best tree
    of its depth (an exclusive or has no good first split), and what is said of slopes and of
    convergence is about trees of one split, than which it is never worse.

    Parameters
    ----------
    X
        Samples as rows; trees see them in float32, as in scikit-learn.
    max_depth, min_samples_leaf
        Of a tree.
    seed
        Of the order in which scikit-learn looks at features that are equally good.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import RegressionTrees, SquaredDistance, solve
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.where(X[:, 0] < 3, -1.0, 2.0)
    >>> trees = RegressionTrees(X)
    >>> result = solve(SquaredDistance(y), trees, max_iter=1)
    >>> trees.predict(result, [[0.0], [9.0]]).round(6).tolist()
    [-1.0, 2.0]
    """

    most_draws = 2**10  # growing one takes about a millisecond

    def __init__(
        self, X: object, *, max_depth: int = 1, min_samples_leaf: int = 1, seed: int = 0
    ) -> None:
        self.X = _seen_by_trees(X)
        self.shape = (len(self.X),)
        self.max_depth = count("max_depth", max_depth, minimum=1)
        self.min_samples_leaf = count("min_samples_leaf", min_samples_leaf, minimum=1)
        self.seed = count("seed", seed)
        if self.seed >= SEEDS:
            raise InputError(f"seed: expected an integer below {SEEDS}, got {seed}")

    def __repr__(self) -> str:
        return f"RegressionTrees({len(self.X)} rows, max_depth={self.max_depth})"

    def lmo(self, d: Array) -> Tree:
        """The tree that scikit-learn grows for d, at norm one; a constant where d is zero."""
        try:
            from sklearn.tree import DecisionTreeRegressor
        except ImportError:
            raise MissingExtra("sklearn", "growing regression trees") from None
        limits = {"max_depth": self.max_depth, "min_samples_leaf": self.min_samples_leaf}
        # Brought to one scale: a tree stops where what is left to gain is below rounding of one.
        size = float(np.abs(d).max(initial=0.0)) or 1.0
        grown = DecisionTreeRegressor(random_state=self.seed, **limits).fit(self.X, d / size).tree_
        structure = (grown.feature, grown.threshold, grown.children_left, grown.children_right)
        return self._unit(np.column_stack([*structure, grown.value.reshape(-1)]))

    def _unit(self, nodes: Array) -> Tree:
        values = Tree(nodes, np.empty(0))(self.X)
        norm = float(np.linalg.norm(values))
        if norm == 0:
            nodes, norm = np.array([[-2.0, -2.0, -1.0, -1.0, 1.0]]), len(self.X) ** 0.5
        nodes[:, 4] /= norm
        return Tree(nodes, Tree(nodes, np.empty(0))(self.X))

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        """Trees for directions without any preference."""
        return [self.lmo(d) for d in rng.standard_normal((size, *self.shape))]

    def vector(self, z: Atom) -> Array:
        values: Array = z.values
        return values

    @property
    def radius(self) -> float:
        return 1.0

    @property
    def rank(self) -> int:
        """At most this: samples that differ, and for trees of one split a step for each value."""
        distinct = len(np.unique(self.X, axis=0))
        steps = 1 + sum(len(np.unique(column)) - 1 for column in self.X.T)
        return min(distinct, steps) if self.max_depth == 1 else distinct

    def spans(self, x: Array) -> bool:
        # Nothing but a bound on its dimension is known of the span.
        return True

    def predict(self, result: Result, X: object) -> Array:
        """Σ weights_k z_k at new samples: what a run from zero found, as a function."""
        rows = _seen_by_trees(X)
        if rows.shape[1] != self.X.shape[1]:
            raise InputError(f"X: expected {self.X.shape[1]} features, got {rows.shape[1]}")
        if not all(callable(z) for z in result.used):  # those of other sets are not
            raise InputError("result: expected that of a run over regression trees")
        if result.origin is not None and result.origin.start.any():
            raise InputError(
                "result: expected that of a run from zero, for x0 has no values at other samples"
            )
        found = np.zeros(len(rows))
        for weight, tree in zip(result.weights.tolist(), result.used, strict=True):
            found += weight * tree(rows)
        return found

    def pack(self, atoms: Sequence[Atom]) -> Array:
        most = max((len(tree.nodes) for tree in atoms), default=0)
        packed = np.full((len(atoms), most, COLUMNS), np.nan)
        for k, tree in enumerate(atoms):
            packed[k, : len(tree.nodes)] = tree.nodes
        return packed

    def unpack(self, packed: Any) -> list[Atom]:
        trees = [nodes[~np.isnan(nodes[:, 4])] for nodes in packed]
        return [Tree(nodes, Tree(nodes, np.empty(0))(self.X)) for nodes in trees]


def _seen_by_trees(X: object) -> Array:
    """Samples in float32; what is too small for it is zero, as in scikit-learn."""
    rows = real_array("X", X, ndim=2)
    check_range("X", rows, dtype=np.dtype(np.float32))
    return rows.astype(np.float32)
