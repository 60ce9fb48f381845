"""Points of pursuits over rank-one atoms, which keep a matrix as factors."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pursuit.atoms.base import Atom, AtomSet
from pursuit.atoms.forms import AtomForm
from pursuit.atoms.rank_one import RankOne
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.linalg.leading_pair import Pair, leading_pair
from pursuit.objectives.factors import Factors
from pursuit.objectives.quadratic import half_square
from pursuit.points.base import Point
from pursuit.points.ledger import Counts, Ledger

if TYPE_CHECKING:
    from pursuit.objectives.matrices import MatrixDistance, MatrixEntries, MatrixObjective


class FactorLedger(Ledger):
    """A ledger of rank-one atoms that also keeps their vectors as columns."""

    def __init__(self, atoms: RankOne, dtype: np.dtype[Any]) -> None:
        super().__init__(atoms)
        self._left, self._right = (np.zeros((size, 4), dtype, order="F") for size in atoms.shape)
        self._stored = 0

    def factors(self, first: int = 0) -> tuple[Array, Array]:
        """The u and the v of the atoms met so far, from the given one on, as columns."""
        while self._stored < len(self.registered):
            if self._stored == self._left.shape[1]:
                self._left, self._right = _wider(self._left), _wider(self._right)
            u, v = self.registered[self._stored]
            self._left[:, self._stored], self._right[:, self._stored] = u, v
            self._stored += 1
        return self._left[:, first : self._stored], self._right[:, first : self._stored]

    def correlate(self, D: Any, first: int = 0) -> Array:
        """u_kᵀ D v_k for those atoms, one at a time: so a resumed run finds the same bits."""
        left, right = self.factors(first)
        return np.array([u @ (D @ v) for u, v in zip(left.T, right.T, strict=True)])

    def restore(self, handles: list[Atom]) -> None:
        super().restore(handles)
        self._stored = 0


def _wider(columns: Array) -> Array:
    wide = np.zeros((len(columns), 2 * columns.shape[1]), columns.dtype, order="F")
    wide[:, : columns.shape[1]] = columns
    return wide


class FactoredPoint(Point):
    """X = X0 + Σ coef_k u_k v_kᵀ, kept as its coefficients; a subclass keeps what f says there.

    The gradient is something with `shape`, `@` and `T`; its leading singular pair is computed
    from a guess that the last pair left.
    """

    f: MatrixObjective
    atoms: RankOne
    ledger: FactorLedger
    _gradient: Any
    _pair: Pair | None

    def __init__(self, f: MatrixObjective, atoms: RankOne, x0: Factors) -> None:
        self.f, self.atoms, self.x0 = f, atoms, x0
        dtype = np.result_type(f.dtype, x0.dtype)
        self.counts, self.ledger = Counts(), FactorLedger(atoms, dtype)
        self.coef = np.zeros(0, dtype)
        self.guess = np.zeros(atoms.shape[1], dtype)
        self._invalidate()

    @classmethod
    def over(cls, f: MatrixObjective, atoms: Any, x0: Any) -> FactoredPoint:
        """A point at x0, given as factors or as an array."""
        if atoms.form is not AtomForm.PAIRS:
            raise InputError(
                f"atoms: {type(f).__name__} keeps X as factors and needs RankOne atoms, got "
                f"{type(atoms).__name__}; SquaredDistance serves other sets"
            )
        return cls(f, atoms, x0 if isinstance(x0, Factors) else Factors.of(x0))

    def empty_like(self) -> Self:
        other = object.__new__(type(self))
        other.f, other.atoms, other.x0 = self.f, self.atoms, self.x0
        other.counts, other.ledger = self.counts, self.ledger
        other.coef = np.zeros_like(self.coef)
        other.guess = np.zeros_like(self.guess)
        other._invalidate()
        return other

    def arrays(self) -> dict[str, Array]:
        self._grow()
        return {"coef": self.coef, "guess": self.guess}

    @property
    def vector(self) -> Factors:  # type: ignore[override]
        left, right = self.ledger.factors()
        used = np.flatnonzero(self.coef)
        return Factors(
            np.hstack([self.x0.left, left[:, used]]),
            np.concatenate([self.x0.weights, self.coef[used]]),
            np.hstack([self.x0.right, right[:, used]]),
        )

    def gradient(self) -> Any:
        """∇f(X), kept until X changes."""
        if self._gradient is None:
            self._gradient = self._look_up()
        return self._gradient

    @abstractmethod
    def _look_up(self) -> Any:
        """∇f(X)."""

    def correlation(self, z: Atom) -> float:
        return self.atoms.inner(self.gradient(), z)

    def lmo(self) -> tuple[Atom, float]:
        self.counts.oracle_calls += 1
        self.count_evaluation()
        pair = self._leading()
        self.guess[...], self._pair = pair.following, None
        return pair.atom, pair.sigma

    def dual_norm(self) -> float:
        return self._leading().sigma

    def _leading(self) -> Pair:
        """The leading pair of ∇f(X) from the guess, kept for whoever asks next: the same pair
        whether or not somebody observed it before the step that follows it."""
        if self._pair is None:
            self._pair = leading_pair(self.gradient(), self.guess)
        return self._pair

    def assemble(self, atoms: AtomSet, origin: Any, weights: Array, places: Array) -> Any:
        return self.vector

    def dual_norm_at(self, x: Any) -> float:
        return leading_pair(self.f.gradient(x), self.guess).sigma

    def correlations(self) -> Array:
        raise InputError("atoms: rank-one matrices are not a finite set")

    def _invalidate(self) -> None:
        super()._invalidate()
        self._gradient, self._pair = None, None


class DistancePoint(FactoredPoint):
    """For ½‖X − B‖²: beside the coefficients, s_k = ⟨X − B, u_k v_kᵀ⟩ for every atom met."""

    f: MatrixDistance

    def __init__(self, f: MatrixDistance, atoms: RankOne, x0: Factors) -> None:
        self.s = self.s0 = np.zeros(0, np.result_type(f.dtype, x0.dtype))
        self.value0 = f.value(x0)
        super().__init__(f, atoms, x0)

    def empty_like(self) -> Self:
        other = super().empty_like()
        other.s, other.s0, other.value0 = self.s.copy(), self.s0, self.value0
        return other

    def arrays(self) -> dict[str, Array]:
        return {**super().arrays(), "s": self.s}

    def _look_up(self) -> Any:
        return self.f.residual(self.vector)

    def value(self) -> float:
        # f(X0 + Σ c_k Z_k) = f(X0) + c·s0 + ½ cᵀGc, and Gc = s − s0.
        self._grow()
        both = self.s0.astype(np.float64) + self.s
        return max(self.value0 + 0.5 * float(self.coef @ both), 0.0)

    def curvature(self, z: Atom) -> float:
        return 1.0

    def move(self, gamma: float, z: Atom) -> None:
        self._add(gamma, z)
        left, right = self.ledger.factors()
        u, v = z
        self.s -= gamma * ((u @ left) * (v @ right))
        self._invalidate()

    def refresh(self) -> None:
        self._grow()
        self.s[...] = self.ledger.correlate(self.gradient())
        self._invalidate()

    def _grow(self) -> None:
        super()._grow()
        known = len(self.s)
        if known < self.ledger.size:
            new = self.ledger.correlate(self.gradient(), known)
            self.s = np.concatenate([self.s, new.astype(self.s.dtype)])
            first = self.ledger.correlate(self.f.residual(self.x0), len(self.s0))
            self.s0 = np.concatenate([self.s0, first.astype(self.s.dtype)])


class EntriesPoint(FactoredPoint):
    """For ½ Σ (X_ij − B_ij)² over known entries: beside the coefficients, X at those places."""

    f: MatrixEntries

    def __init__(self, f: MatrixEntries, atoms: RankOne, x0: Factors) -> None:
        super().__init__(f, atoms, x0)
        self.image = f.image(x0).astype(self.coef.dtype)

    def empty_like(self) -> Self:
        other = super().empty_like()
        other.image = np.empty_like(self.image)
        return other

    def arrays(self) -> dict[str, Array]:
        return {**super().arrays(), "image": self.image}

    def _look_up(self) -> Any:
        return self.f.sparse(self.image - self.f.entries)

    def value(self) -> float:
        return half_square(self.image - self.f.entries)

    def curvature(self, z: Atom) -> float:
        return 2 * half_square(self.f.atom_image(self.atoms, z))

    def move(self, gamma: float, z: Atom) -> None:
        self._add(gamma, z)
        self.image -= gamma * self.f.atom_image(self.atoms, z)
        self._invalidate()

    def refresh(self) -> None:
        self.image[...] = self.f.image(self.vector)
        self._invalidate()
