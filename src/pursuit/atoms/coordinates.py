"""The coordinate directions: matching pursuit over them is coordinate descent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, FiniteAtoms
from pursuit.atoms.closed_forms import ClosedForm
from pursuit.atoms.forms import AtomForm
from pursuit.atoms.lin import Lin
from pursuit.base.validation import Array, extent


class Coordinates(FiniteAtoms):
    """A = {e_1, …, e_n}: the corners of the ℓ1 ball, with ‖x‖_A = ‖x‖₁ and ‖d‖_{A*} = ‖d‖_∞."""

    # They have no precision of their own: the objective's decides.
    dtype = np.dtype(np.float32)
    form = AtomForm.AXES

    def __init__(self, n: int) -> None:
        self.shape = (extent("n", n),)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Coordinates({len(self)})"

    @property
    def matrix(self) -> Array:
        return np.eye(len(self))

    @property
    def norms(self) -> Array:
        return np.ones(len(self))

    @property
    def norm_range(self) -> tuple[float, float]:
        return 1.0, 1.0

    @property
    def radius(self) -> float:
        return 1.0

    @property
    def lin(self) -> Lin:
        return Lin(len(self))

    def vector(self, z: Atom) -> Array:
        e = np.zeros(self.shape)
        e[z] = 1
        return e

    def inner(self, d: Array, z: Atom) -> float:
        return float(d[z])

    def image(self, A: Any, z: Atom) -> Array:
        if isinstance(A, np.ndarray):
            return A[:, z]
        return super().image(A, z)

    def images(self, A: Any) -> Iterator[Any]:
        return iter([A]) if hasattr(A, "__getitem__") else super().images(A)

    def shift(self, x: Array, gamma: float, z: Atom) -> None:
        x[z] -= gamma

    def norm2(self, z: Atom) -> float:
        return 1.0

    def support(self, z: Atom) -> tuple[Array, Array]:
        return np.array([z]), np.ones(1, self.dtype)

    def reach(self, where: Array, entries: Array) -> tuple[Array, Array]:
        order = np.argsort(where)
        return where[order], entries[order]

    def correlate(self, d: Array) -> Array:
        return d.copy()

    def correlate_some(self, d: Array, places: Array) -> Array:
        some: Array = d[places]
        return some

    def combine(self, weights: Array) -> Array:
        return weights.copy()

    def combine_some(self, weights: Array, places: Array) -> Array:
        combined = np.zeros(self.shape, weights.dtype)
        combined[places] = weights
        return combined

    def gauge(self, x: Array) -> float:
        return float(np.abs(x).sum())

    def moments(self, p: Array | None = None) -> ClosedForm:
        n = len(self)
        return ClosedForm(1 / n, np.full(n, 1 / n) if p is None else p)
