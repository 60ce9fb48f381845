"""The Gram form of a quadratic: the correlations of all atoms with its gradient."""

from __future__ import annotations

import numpy as np

from pursuit.atoms.base import Atom, FiniteAtoms
from pursuit.base.products import times
from pursuit.base.validation import Array
from pursuit.objectives.base import QuadraticObjective
from pursuit.points.base import CombiningPoint, Point, Shift
from pursuit.points.ledger import Counts, Ledger

GRAM_BYTES = 2**28
"""A Gram matrix larger than this is not formed; the ambient form is used instead."""


class Gram:
    """What the points of a run over a quadratic share: f at x0, and rows of G = Z H Zᵀ.

    `has_row` says which rows there are. One is computed when a step first needs it, by itself and
    always in the same way, so that a resumed run finds the same bits.
    """

    def __init__(self, f: QuadraticObjective, atoms: FiniteAtoms, x0: Array, counts: Counts):
        self.f, self.atoms, self.x0, self.counts = f, atoms, x0, counts
        n = len(atoms)
        self.dtype = np.result_type(f.dtype, atoms.dtype, x0.dtype)
        self.value = f.value(x0)
        self.correlations = atoms.correlate(f.gradient(x0)).astype(self.dtype, copy=False)
        self.rows: Array = np.empty((n, n), self.dtype)
        self.has_row = np.zeros(n, np.bool_)
        self._n_missing = n

    def row(self, j: int) -> Array:
        """⟨z_i, H z_j⟩ for every i."""
        if not self.has_row[j]:
            self.rows[j] = self.atoms.correlate(self.f.pull(self.f.atom_image(self.atoms, j)))
            self.has_row[j] = True
            self._n_missing -= 1
            self.counts.setup += 1
        row: Array = self.rows[j]
        return row

    def apply(self, weights: Array) -> Array:
        """G · weights, through the rows of its non-zero entries."""
        places = np.flatnonzero(weights)
        for j in places.tolist() if self._n_missing else ():
            self.row(j)
        # What is computed depends on the weights alone, not on the rows known so far.
        if len(places) == len(weights):
            return times(self.rows, weights)
        return times(self.rows[places].T, weights[places])


class GramPoint(CombiningPoint):
    """Coefficients and the correlations s = Z∇f(x) = s0 + G·coef of a quadratic."""

    atoms: FiniteAtoms

    def __init__(self, f: QuadraticObjective, atoms: FiniteAtoms, x0: Array) -> None:
        self.f, self.atoms = f, atoms
        self.counts, self.ledger = Counts(), Ledger(atoms)
        self.gram = Gram(f, atoms, x0, self.counts)
        self.coef = np.zeros(len(atoms), self.gram.dtype)
        self.s = self.gram.correlations.copy()
        self._invalidate()

    def empty_like(self) -> GramPoint:
        other = object.__new__(GramPoint)
        other.f, other.atoms, other.gram = self.f, self.atoms, self.gram
        other.counts, other.ledger = self.counts, self.ledger
        other.coef, other.s = np.empty_like(self.coef), np.empty_like(self.s)
        other._invalidate()
        return other

    def arrays(self) -> dict[str, Array]:
        return {"coef": self.coef, "s": self.s}

    def _grow(self) -> None:
        pass

    @property
    def vector(self) -> Array:
        return self.gram.x0 + self.atoms.combine(self.coef)

    def value(self) -> float:
        # f(x0 + Zᵀa) = f(x0) + s0·a + ½ aᵀGa, and Ga = s − s0.
        both = self.gram.correlations.astype(np.float64) + self.s
        return self.gram.value + 0.5 * float(self.coef @ both)

    def value_along(self, gamma: float, z: Atom) -> float:
        return self.value() - gamma * (float(self.s[z]) - 0.5 * gamma * self.curvature(z))

    def correlation(self, z: Atom) -> float:
        if not self.is_evaluated:
            self._count_atoms()
        return float(self.s[z])

    def correlations_at(self, places: Array) -> Array:
        if not self.is_evaluated:
            self._count_atoms(len(places))
        return self.s[places]

    def derivative_along(self, gamma: float, z: Atom) -> float:
        return float(self.s[z]) - gamma * self.curvature(z)

    def lmo(self) -> tuple[Atom, float]:
        self.counts.oracle_calls += 1
        self.count_evaluation()
        c = self.atoms.admissible(self.s, self.coef)
        z = int(np.abs(c).argmax())
        return z, float(c[z])

    def correlations(self) -> Array:
        self.count_evaluation()
        return self.s

    def dual_norm(self) -> float:
        return float(np.abs(self.atoms.admissible(self.s, self.coef)).max())

    def curvature(self, z: Atom) -> float:
        return float(self.gram.row(z)[z])

    def move(self, gamma: float, z: Atom) -> None:
        self.coef[z] -= gamma
        self.s -= gamma * self.gram.row(z)
        self._count_atoms()
        self.is_evaluated = False

    def move_all(self, gammas: Array, places: Array, effects: Array) -> None:
        self.coef[places] -= gammas
        self.s -= times(effects.T, gammas)
        self._count_atoms(len(places))
        self.is_evaluated = False

    def gather(self, weights: Array) -> Shift:
        self._count_combination()
        return {"coef": weights, "s": self.gram.apply(weights)}

    def refresh(self) -> None:
        # Not from the Gram matrix: s is a small difference of what its rows sum up to.
        if self.coef.dtype == np.float64:
            x = self.vector
        else:
            places = np.flatnonzero(self.coef)
            weights = self.coef[places].astype(np.float64)
            x = self.gram.x0 + self.atoms.combine_some(weights, places)
        self.s[...] = self.atoms.correlate(self.f.gradient(x))
        self._invalidate()


def as_gram(point: Point) -> GramPoint | None:
    """The point as one that keeps the slopes of all atoms; None where it does not."""
    return point if isinstance(point, GramPoint) else None
