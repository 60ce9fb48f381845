"""The constants of the paper for a set of atoms, each with what is known about it."""

from __future__ import annotations

from enum import Enum

import numpy as np
from scipy.linalg import eigh

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.errors import InputError
from pursuit.objectives.base import Objective, QuadraticObjective
from pursuit.sampling import Sampling, as_sampling


class Kind(Enum):
    """What is proved about a number."""

    EXACT = "exact"
    UPPER = "upper bound"
    LOWER = "lower bound"
    ESTIMATE = "estimate"


class Constant(float):
    """A number that knows what is proved about it; it behaves as a float.

    Attributes
    ----------
    kind
        Exact, an upper bound, a lower bound, or an estimate.
    lower, upper
        The proved interval.
    serves
        The theorem or lemma that it enters.
    """

    kind: Kind
    lower: float
    upper: float
    serves: str

    def __new__(
        cls, value: float, kind: Kind, serves: str, lower: float = 0.0, upper: float = np.inf
    ) -> Constant:
        number = super().__new__(cls, value)
        number.kind, number.serves = kind, serves
        number.lower = float(value) if kind in (Kind.EXACT, Kind.LOWER) else lower
        number.upper = float(value) if kind in (Kind.EXACT, Kind.UPPER) else upper
        return number

    def __repr__(self) -> str:
        return f"{float(self):.6g} ({self.kind.value}; {self.serves})"


def smoothness(f: Objective, atoms: AtomSet) -> Constant:
    """L_A, the smallest constant with f(x + γz) ≤ f(x) + γ⟨∇f(x), z⟩ + ½L_A γ² for ‖z‖_A = 1.

    max_j z_jᵀHz_j for a quadratic over a finite set (exact); the same with an upper bound of the
    Hessian where the objective has one; else L·radius² (Lemma 2).
    """
    serves = "Theorems 3, 4, 5"
    if isinstance(atoms, FiniteAtoms):
        bound = max(f.curvature(atoms.vector(j), f.atom_image(atoms, j)) for j in range(len(atoms)))
        if np.isfinite(bound):
            kind = Kind.EXACT if isinstance(f, QuadraticObjective) else Kind.UPPER
            return Constant(bound, kind, serves)
    if f.L is None:
        raise InputError(
            f"L_A: {type(f).__name__} does not know its smoothness constant; expected L_A or f.L"
        )
    return Constant(f.L * atoms.radius**2, Kind.UPPER, serves)


def nu_random(atoms: AtomSet, sampling: Sampling | None = None) -> Constant:
    """ν′ of Algorithm 3, exactly.

    The largest generalized eigenvalue of (Σ p_j w_j z_j z_jᵀ, Σ p_j z_j z_jᵀ/‖z_j‖²) on lin(A).
    """
    serves = "Theorem 9"
    if not isinstance(atoms, FiniteAtoms):
        # Every isotropic sampling of unit atoms has P = r I, so w = r and the ratio is r.
        bound = atoms.max_leverage * atoms.radius**2
        return Constant(bound, Kind.EXACT if bound == atoms.rank else Kind.UPPER, serves)
    sampling = as_sampling(atoms, sampling)
    moments, p = sampling.moments, sampling.p
    inside = atoms.matrix @ moments.basis.T
    directions = inside / atoms.norms[:, None]
    top = (p * moments.leverage)[:, None] * inside
    bottom = p[:, None] * directions
    value = eigh(inside.T @ top, directions.T @ bottom, eigvals_only=True)[-1]
    return Constant(float(value), Kind.EXACT, serves)


def nu(atoms: AtomSet, sampling: Sampling | None = None) -> Constant:
    """An upper bound r·radius² on ν of Algorithm 4, valid for every sampling of lin(A)."""
    as_sampling(atoms, sampling)
    return Constant(atoms.rank * atoms.radius**2, Kind.UPPER, "Theorem 8")
