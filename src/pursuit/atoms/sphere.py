"""The unit sphere: matching pursuit over it is gradient descent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pursuit.atoms.base import Atom, AtomSet
from pursuit.atoms.closed_forms import ClosedForm
from pursuit.base.scaling import norm
from pursuit.base.validation import Array, extent


class Sphere(AtomSet):
    """A = {z : ‖z‖₂ = 1}, an infinite set with ‖·‖_A = ‖·‖_{A*} = ‖·‖₂."""

    # It has no precision of its own: the objective's decides.
    dtype = np.dtype(np.float32)

    def __init__(self, *shape: int) -> None:
        self.shape = tuple(extent("shape", n) for n in shape) or (1,)

    def __repr__(self) -> str:
        return f"Sphere{self.shape}"

    def lmo(self, d: Array) -> Atom:
        size = norm(d)
        if size == 0:
            first = np.zeros(self.shape)
            first.flat[0] = 1
            return first
        return d / size

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        z = rng.standard_normal((size, *self.shape))
        norms = np.linalg.norm(z.reshape(size, -1), axis=1)
        return list(z / norms.reshape(-1, *[1] * len(self.shape)))

    def vector(self, z: Atom) -> Array:
        vector: Array = z
        return vector

    def norm2(self, z: Atom) -> float:
        return 1.0

    def dual_norm(self, d: Array) -> float:
        return norm(d)

    def gauge(self, x: Array) -> float:
        return norm(x)

    @property
    def radius(self) -> float:
        return 1.0

    @property
    def rank(self) -> int:
        return int(np.prod(self.shape))

    @property
    def max_leverage(self) -> float:
        return float(self.rank)

    def moments(self, p: Array | None = None) -> ClosedForm:
        return ClosedForm(1.0, np.full(self.rank, 1 / self.rank))
