"""The curve of accuracy against the number of atoms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit import plots
from pursuit.atoms.base import Atom
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.objectives.problem import Problem
from pursuit.points import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Entries = dict[int, tuple[float, Array, Array]]
"""By the number of atoms: seconds, and the places and the numbers of non-zero coefficients."""


class Recorder:
    """The last point of a run with each number of atoms, as its non-zero coefficients."""

    def __init__(self) -> None:
        self.entries: Entries = {}

    def record(self, size: int, places: Array, weights: Array, seconds: float) -> None:
        """Keep a point with so many atoms, by the places and the numbers of the coefficients that
        the run has given it."""
        self.entries[size] = (seconds, places, weights)

    def restore(self, arrays: dict[str, Array]) -> None:
        ends = np.cumsum(arrays["counts"])[:-1]
        places, weights = np.split(arrays["places"], ends), np.split(arrays["weights"], ends)
        columns = (arrays["seconds"].tolist(), places, weights)
        self.entries = dict(zip(arrays["sizes"].tolist(), zip(*columns, strict=True), strict=True))


def packed(entries: Entries) -> dict[str, Array]:
    """What a file needs to restore a recorder."""
    seconds, places, weights = zip(*entries.values(), strict=True)
    return {
        "sizes": np.array(list(entries)),
        "seconds": np.array(seconds),
        "counts": np.array([len(p) for p in places]),
        "places": np.concatenate(places),
        "weights": np.concatenate(weights),
    }


@dataclass(frozen=True)
class SupportPath:
    """What a run found with each number of atoms: the last point of every support size it had.

    Attributes
    ----------
    sizes
        Numbers of distinct atoms, increasing.
    seconds
        Time in steps until then.
    value, residual
        f, and the residual norm (nan for objectives without one).
    coefs
        The coefficients, one sparse row for each size, in the scale of the atoms as given.
    """

    _entries: Entries
    _problem: Problem
    _start: Array
    _handles: Sequence[Atom]
    _offset: Array | None
    _scale: Array | None
    _leave: Callable[[Array], Array] | None = None

    @cached_property
    def sizes(self) -> Array:
        """Numbers of distinct atoms, increasing."""
        return np.array(sorted(self._entries), dtype=np.int64)

    @cached_property
    def seconds(self) -> Array:
        """Time in steps until each size was last left."""
        return np.array([self._entries[size][0] for size in self.sizes.tolist()])

    def __len__(self) -> int:
        return len(self.sizes)

    def __repr__(self) -> str:
        return (
            f"Path of {len(self)} points, {self.sizes[0]} to {self.sizes[-1]} atoms, "
            f"value {self.value[0]:.6g} → {self.value[-1]:.6g}"
        )

    def x(self, size: int) -> Array:
        """The point with so many atoms."""
        x = self._x(size)
        return x if self._leave is None else self._leave(x)

    def _x(self, size: int) -> Array:
        """The same in the coordinates of the run."""
        if size not in self._entries:
            listed = ", ".join(str(known) for known in self.sizes[:8])
            raise InputError(
                f"size: the run had no point with {size!r} atoms; expected one of {listed}"
                + (" …" if len(self) > 8 else "")
            )
        _, places, weights = self._entries[size]
        moves = [(-w, self._handles[j]) for w, j in zip(weights.tolist(), places, strict=True)]
        f, atoms = self._problem.f, self._problem.atoms
        if not isinstance(self._start, np.ndarray):  # kept as factors
            point = choose(f, atoms, self._start)
            for gamma, z in moves:
                point.move(gamma, z)
            return point.vector
        x = self._start.astype(np.float64)
        for gamma, z in moves:
            x -= gamma * atoms.vector(z).astype(np.float64)
        return x.astype(weights.dtype)

    @cached_property
    def value(self) -> Array:
        """f at each point, computed anew from its coefficients."""
        points = (self._x(size).astype(np.float64) for size in self.sizes.tolist())
        return np.array([self._problem.f.value(x) for x in points])

    @cached_property
    def residual(self) -> Array:
        """The residual norm at each point."""
        if getattr(self._problem.f, "signal_norm", None) is None:
            return np.full(len(self), np.nan)
        norms: Array = np.sqrt(2 * self.value)
        return norms

    @cached_property
    def coefs(self) -> Any:
        """The coefficients, one sparse row for each size."""
        from scipy.sparse import csr_array

        entries = [self._entries[size] for size in self.sizes.tolist()]
        ends = np.cumsum([0, *(len(places) for _, places, _ in entries)])
        places = np.concatenate([places for _, places, _ in entries])
        weights = np.concatenate([weights for _, _, weights in entries])
        coefs = csr_array((weights, places, ends), shape=(len(self), len(self._handles)))
        if self._offset is not None:
            coefs = coefs + csr_array(np.tile(self._offset, (len(self), 1)))
        return coefs if self._scale is None else coefs.multiply(1 / self._scale).tocsr()

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Value against the number of atoms; see `pursuit.plots.path`."""
        return plots.path(self, ax=ax, **options)
