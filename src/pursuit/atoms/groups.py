"""Unit vectors on one group of coordinates each: group-sparse pursuit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet
from pursuit.atoms.closed_forms import ClosedForm
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, extent, listed, plain_array, shown


class Groups(AtomSet):
    """A = {z : ‖z‖₂ = 1, z supported on one of the groups}, for groups that do not overlap.

    An infinite set: ‖x‖_A = Σ_g ‖x_g‖ (the group lasso norm) and ‖d‖_{A*} = max_g ‖d_g‖. A handle
    is a pair (g, the atom's entries on group g). Uniform draws take a group, then a point of its
    sphere.

    Parameters
    ----------
    groups
        The coordinates of each group, e.g. ``[[0, 1], [2], [3, 4, 5]]``. Coordinates in none of
        them stay zero.
    size
        The number of coordinates; one more than the largest in a group where not given.
    """

    # They have no precision of their own: the objective's decides.
    dtype = np.dtype(np.float32)

    def __init__(self, groups: Iterable[Sequence[int]], size: int | None = None) -> None:
        given = listed("groups", groups, "a list of coordinates for each group")
        self.groups = [_places(g, members) for g, members in enumerate(given)]
        if not self.groups:
            raise InputError("groups: expected at least one group, got none")
        covered = np.concatenate(self.groups)
        places, times = np.unique(covered, return_counts=True)
        if times.max() > 1:
            twice = int(places[np.argmax(times > 1)])
            raise InputError(f"groups: coordinate {twice} is in more than one; expected no overlap")
        smallest = int(places[-1]) + 1
        self.shape = (extent("size", smallest if size is None else size),)
        if self.shape[0] < smallest:
            raise InputError(f"size: expected at least {smallest} coordinates, got {size}")
        self._covered = covered
        self._starts = np.cumsum([0, *(len(group) for group in self.groups[:-1])])

    def __repr__(self) -> str:
        return f"Groups({len(self.groups)} groups of {self.shape[0]} coordinates)"

    def _group_norms(self, d: Array) -> Array:
        entries = d[self._covered].astype(np.float64)
        norms: Array = np.sqrt(np.add.reduceat(entries**2, self._starts))
        return norms

    def lmo(self, d: Array) -> Atom:
        norms = self._group_norms(d)
        g = int(np.argmax(norms))
        if norms[g] == 0:
            return g, np.eye(1, len(self.groups[g]))[0]
        return g, d[self.groups[g]].astype(np.float64) / norms[g]  # as they are packed

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        drawn = []
        for g in rng.integers(0, len(self.groups), size).tolist():
            entries = rng.standard_normal(len(self.groups[g]))
            drawn.append((g, entries / np.linalg.norm(entries)))
        return drawn

    def vector(self, z: Atom) -> Array:
        g, entries = z
        vector = np.zeros(self.shape, entries.dtype)
        vector[self.groups[g]] = entries
        return vector

    def inner(self, d: Array, z: Atom) -> float:
        g, entries = z
        return float(d[self.groups[g]] @ entries)

    def norm2(self, z: Atom) -> float:
        return 1.0

    def image(self, A: Any, z: Atom) -> Array:
        g, entries = z
        if isinstance(A, np.ndarray):
            image: Array = A[:, self.groups[g]] @ entries
            return image
        return super().image(A, z)

    def shift(self, x: Array, gamma: float, z: Atom) -> None:
        g, entries = z
        x[self.groups[g]] -= gamma * entries

    def dual_norm(self, d: Array) -> float:
        return float(self._group_norms(d).max())

    def gauge(self, x: Array) -> float:
        return float(self._group_norms(x).sum()) if self.spans(x) else np.inf

    @property
    def radius(self) -> float:
        return 1.0

    @property
    def rank(self) -> int:
        return len(self._covered)

    @property
    def max_leverage(self) -> float:
        # On group g, P̃ is the identity over the number of groups and the size of g.
        return float(len(self.groups) * max(len(group) for group in self.groups))

    def moments(self, p: Array | None = None) -> ClosedForm:
        diagonal = np.zeros(self.shape)
        for group in self.groups:
            diagonal[group] = 1 / (len(self.groups) * len(group))
        return ClosedForm(1 / len(self.groups), diagonal)

    def largest_curvature(self, hessian: Callable[[Array], Array]) -> float:
        """Return max zᵀHz over the atoms, which is max_g λ_max(H_gg)."""
        largest = 0.0
        for group in self.groups:
            block = np.empty((len(group), len(group)))
            for k, coordinate in enumerate(group):
                block[k] = hessian(np.eye(1, self.shape[0], coordinate)[0])[group]
            largest = max(largest, float(np.linalg.eigvalsh((block + block.T) / 2)[-1]))
        return largest

    def spans(self, x: Array) -> bool:
        outside = np.ones(self.shape, bool)
        outside[self._covered] = False
        return not x[outside].any()

    def pack(self, atoms: Sequence[Atom]) -> Array:
        packed = np.zeros((len(atoms), 1 + max(len(group) for group in self.groups)))
        for row, (g, entries) in zip(packed, atoms, strict=True):
            row[0], row[1 : 1 + len(entries)] = g, entries
        return packed

    def unpack(self, packed: Array) -> list[Atom]:
        return [(int(row[0]), row[1 : 1 + len(self.groups[int(row[0])])]) for row in packed]


def _places(g: int, members: Sequence[int]) -> Array:
    places = plain_array(f"groups, group {g}", members)
    if places.ndim != 1 or not places.size or places.dtype.kind not in "iu" or places.min() < 0:
        raise InputError(
            f"groups: expected coordinates of at least 0 in group {g}, got {shown(members)}"
        )
    return places.astype(np.int64)
