"""Matrices of rank one: pursuit over them builds a matrix from singular pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, GoodEnough
from pursuit.atoms.closed_forms import ClosedForm
from pursuit.atoms.forms import AtomForm
from pursuit.base.validation import Array, extent
from pursuit.linalg.leading_pair import leading_pair, near_pair


class RankOne(AtomSet):
    """A = {uvᵀ : ‖u‖ = ‖v‖ = 1}, with ‖X‖_A the nuclear norm and ‖D‖_{A*} the largest σ.

    Handles are pairs (u, v). The oracle is the leading singular pair: by LAPACK for small arrays,
    by Lanczos for sparse arrays and linear operators, which are never made dense.

    Parameters
    ----------
    rows, columns
        The shape of the matrices.
    """

    # They have no precision of their own: the objective's decides.
    dtype = np.dtype(np.float32)
    form = AtomForm.PAIRS

    def __init__(self, rows: int, columns: int) -> None:
        self.shape = (extent("rows", rows), extent("columns", columns))

    def __repr__(self) -> str:
        return f"RankOne{self.shape}"

    def lmo(self, d: Any, start: Array | None = None) -> Atom:
        """The leading singular pair of d; `start` is a guess of v, from which Lanczos begins."""
        return leading_pair(d, start).atom

    def near_lmo(self, d: Any, delta: float, rng: np.random.Generator) -> GoodEnough:
        """u and v with uᵀdv ≥ δσ₁ by a number of Lanczos steps that δ and the shape decide.

        They start at random, and the promise fails with a probability of at most 10⁻⁹ a call.
        """
        _, u, v, bound = near_pair(d, delta, rng)
        return GoodEnough((u, v), bound)

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        rows, columns = self.shape
        left, right = rng.standard_normal((size, rows)), rng.standard_normal((size, columns))
        left /= np.linalg.norm(left, axis=1, keepdims=True)
        right /= np.linalg.norm(right, axis=1, keepdims=True)
        return list(zip(left, right, strict=True))

    def vector(self, z: Atom) -> Array:
        u, v = z
        return np.outer(u, v)

    def inner(self, d: Any, z: Atom) -> float:
        u, v = z
        return float(u @ (d @ v))

    def norm2(self, z: Atom) -> float:
        return 1.0

    def dual_norm(self, d: Any) -> float:
        return leading_pair(d).sigma

    def gauge(self, x: Array) -> float:
        return float(np.linalg.svd(x, compute_uv=False).sum())

    @property
    def radius(self) -> float:
        return 1.0

    @property
    def rank(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def max_leverage(self) -> float:
        return float(self.rank)

    def moments(self, p: Array | None = None) -> ClosedForm:
        return ClosedForm(1 / min(self.shape), np.full(self.rank, 1 / self.rank))

    def pack(self, atoms: Sequence[Atom]) -> Array:
        rows = [np.concatenate(z) for z in atoms]
        return np.array(rows).reshape(-1, sum(self.shape))

    def unpack(self, packed: Array) -> list[Atom]:
        rows = self.shape[0]
        return [(row[:rows].copy(), row[rows:].copy()) for row in packed]
