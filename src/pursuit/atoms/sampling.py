"""How atoms are drawn, and what the constants of the paper need of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms
from pursuit.atoms.closed_forms import ClosedForm
from pursuit.atoms.drawn import Drawn, Leverages, estimated, known
from pursuit.atoms.lin import lin
from pursuit.atoms.whitening import whiten
from pursuit.base.errors import InputError
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, count, real_array, share, shown

BLOCK = 256
"""Atoms are drawn in blocks of this size."""
RAREST = 1e-140
"""Smaller probabilities are zero: nothing is ever drawn with them."""
CONFIDENCE = 0.999
"""With which statements hold that were made from draws."""


class Sampling:
    """A distribution over a set of atoms.

    Parameters
    ----------
    atoms
        The set.
    p
        Probabilities of the atoms of a finite set; uniform where not given. Every formula of the
        paper needs lin(A) ⊆ range(P̃), so a p that misses part of the span is refused.
    confidence, seed
        Of an infinite set that does not know its second moments they are estimated from draws of
        their own, and all that is said about them holds with this confidence.
    """

    block: int = BLOCK
    """Atoms that are drawn together."""

    def __init__(
        self,
        atoms: AtomSet,
        p: object | None = None,
        *,
        confidence: float = CONFIDENCE,
        seed: int = 0,
    ) -> None:
        if not isinstance(atoms, AtomSet):
            raise InputError(f"atoms: expected a set of atoms, got {shown(atoms)}")
        self.atoms = atoms
        self.confidence, self.seed = share("confidence", confidence), count("seed", seed)
        if self.confidence == 1:
            raise InputError("confidence: expected a number below 1, for nothing drawn is certain")
        self._given: Array | None = None if p is None else _probabilities(atoms, p)

    @cached_property
    def p(self) -> Array:
        """The probabilities of a finite set."""
        atoms = self.atoms.finite
        if atoms is None:
            raise InputError("sampling: probabilities exist for finite sets of atoms only")
        if self._given is None:
            return np.full(len(atoms), 1 / len(atoms))
        return self._given

    @property
    def uniform(self) -> bool:
        return self._given is None

    @cached_property
    def _cumulated(self) -> Array:
        cumulated = np.cumsum(self.p)
        total: Array = cumulated / cumulated[-1]
        return total

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        """`size` independent draws."""
        if self.uniform:
            return self.atoms.draw(rng, size)
        places = np.searchsorted(self._cumulated, rng.random(size), side="right")
        drawn: list[int] = places.tolist()
        return drawn

    @property
    def closed_form(self) -> ClosedForm | None:
        """What the set knows of these draws without computing."""
        return self.atoms.moments(self._given)

    @cached_property
    @single_threaded_blas
    def moments(self) -> Moments:
        """P̃, P and the leverages."""
        form, atoms = self.closed_form, self.atoms.finite
        if form is not None:
            return Moments.diagonal(form.diagonal, finite=atoms is not None)
        if atoms is None:
            drawn = self._drawn()
            largest = np.array([drawn.leverages.largest[1]])
            return Moments(drawn.frame, drawn.dual, largest, drawn.doubt, drawn.leverages)
        return Moments.of(atoms, self.p)

    def _drawn(self) -> Drawn:
        """The moments of an infinite set: known, or estimated from draws, once."""
        atoms, key = self.atoms, (self.confidence, self.seed)
        matrix = atoms.second_moment()
        if matrix is not None:
            return known(matrix, atoms.rank, atoms.radius, atoms.max_leverage)
        if key not in atoms.estimates:
            rng = np.random.default_rng(self.seed)

            def draw(size: int) -> Array:
                rows = [np.ravel(atoms.vector(z)) for z in atoms.draw(rng, size)]
                return np.array(rows, np.float64)

            size = atoms.rank, atoms.radius
            atoms.estimates[key] = estimated(draw, *size, self.confidence, atoms.most_draws)
        return atoms.estimates[key]


@dataclass(frozen=True)
class Moments:
    """P̃ = Σ p_j z_j z_jᵀ in factored form, and its pseudo-inverse P.

    Attributes
    ----------
    frame, dual
        F and G of shape (r, d) with P̃ = FᵀF and P = GᵀG: for x in lin(A), x = FᵀGx and
        ‖x‖_P = ‖Gx‖. Sparse where P̃ is diagonal.
    leverage
        w_j = ‖z_j‖_P² = z_jᵀ P z_j; Σ p_j w_j = r. For an infinite set, the values it takes.
    rounding
        θ with (1 − θ)FᵀF ≤ P̃ ≤ (1 + θ)FᵀF: what draws leave open.
    leverages
        What is known of the w_j where they cannot be listed, and with which confidence.
    """

    frame: Any
    dual: Any
    leverage: Array
    rounding: float = 0.0
    leverages: Leverages | None = None

    @property
    def confidence(self) -> float:
        """With which all of it holds; below 1 where it was estimated from draws."""
        return 1.0 if self.leverages is None else self.leverages.confidence

    @property
    def axes(self) -> Array:
        """An orthonormal basis of lin(A) as rows."""
        frame = dense(self.frame)
        if self.leverages is None:  # P̃ is diagonal, or the set knows its own basis
            return (frame > 0).astype(np.float64)
        return np.asarray(np.linalg.qr(frame.T)[0]).T

    @staticmethod
    def of(atoms: FiniteAtoms, p: Array) -> Moments:
        # Coordinates of lin(A): its dimension was decided on the directions of the atoms, and
        # differences between their lengths have no say in it.
        found = whiten(atoms.lin.inside(atoms.matrix), p)
        most = np.divide(1, p, out=np.full_like(p, np.inf), where=p > 0)
        leverage = np.minimum(found.lengths, most)  # for p_j z_j z_jᵀ ≤ P̃
        frame, dual = found.frame, found.transform.T
        if atoms.lin.basis is not None:
            frame, dual = frame @ atoms.lin.basis, dual @ atoms.lin.basis
        return Moments(frame, dual, leverage)

    @staticmethod
    def diagonal(entries: Array, finite: bool) -> Moments:
        """P̃ diagonal, with atoms of norm one inside the axes of one entry each."""
        from scipy.sparse import diags_array

        axes = np.flatnonzero(entries)
        w = 1 / entries[axes]
        frame, dual = (
            diags_array(diagonal, format="csr")[axes]
            for diagonal in (np.sqrt(entries), np.sqrt(1 / np.where(entries, entries, np.inf)))
        )
        return Moments(frame, dual, w if finite else np.unique(w))

    @property
    def matrix(self) -> Array:
        """P̃, shape (d, d)."""
        return _square(self.frame)

    @property
    def inverse(self) -> Array:
        """P, the pseudo-inverse of P̃, shape (d, d)."""
        return _square(self.dual)

    @property
    def rank(self) -> int:
        return int(self.frame.shape[0])

    def norm2(self, x: Array) -> float:
        """‖x‖_P² = xᵀPx."""
        s = self.dual @ x.reshape(-1)
        return float(s @ s)


def dense(factor: Any) -> Array:
    """A factor of `Moments` as an array."""
    array: Array = factor.toarray() if hasattr(factor, "toarray") else factor
    return array


def _square(factor: Any) -> Array:
    return dense(factor.T @ factor)


def as_sampling(atoms: AtomSet, sampling: object | None) -> Sampling:
    """A `Sampling` over `atoms` from one, from probabilities, or from nothing (uniform)."""
    if isinstance(sampling, Sampling):
        given, confidence, seed = sampling._given, sampling.confidence, sampling.seed
        return Sampling(atoms, given, confidence=confidence, seed=seed)
    return Sampling(atoms, sampling)


def _probabilities(atoms: AtomSet, p: object) -> Array:
    finite = atoms.finite
    if finite is None:
        raise InputError("sampling: probabilities need a finite set of atoms")
    array = real_array("sampling", p, ndim=1).astype(np.float64)
    if array.shape != (len(finite),):
        raise InputError(
            f"sampling: expected {len(finite)} probabilities, one for each atom, got {array.size}"
        )
    if (array < 0).any() or abs(array.sum() - 1) > 1e-6:
        raise InputError(
            "sampling: expected probabilities of at least 0 that sum to 1, got a smallest of "
            f"{array.min():.3g} and a sum of {array.sum():.6g}"
        )
    normalised: Array = array / array.sum()
    drawn = normalised >= RAREST
    normalised[~drawn] = 0
    if drawn.all():
        return normalised
    rank = lin(finite.matrix[drawn]).rank
    if rank < atoms.rank:
        raise InputError(
            f"sampling: the atoms with positive probability span {rank} of {atoms.rank} "
            "dimensions; expected probabilities that reach all of lin(A)"
        )
    return normalised


class Stream:
    """Draws one at a time from blocks; its position is plain data."""

    _block: Sequence[Atom]
    _position: int
    _numbers: Array | None

    def __init__(self, sampling: Sampling, seed: np.random.SeedSequence) -> None:
        self._sampling = sampling
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._refill()

    def __call__(self) -> Atom:
        if self._position == self._sampling.block:
            self._refill()
        z = self._block[self._position]
        self._position += 1
        return z

    def ahead(self, most: int) -> Array:
        """The next draws of atoms of a finite set, at least one of them and up to `most`."""
        if self._position == self._sampling.block:
            self._refill()
        if self._numbers is None:
            self._numbers = np.asarray(self._block, np.int64)
        return self._numbers[self._position : self._position + most]

    def skip(self, draws: int) -> None:
        """Pass over draws that `ahead` has shown."""
        self._position += draws

    def _refill(self) -> None:
        self._numbers = None
        self._before = self._rng.bit_generator.state
        self._block = self._sampling.draw(self._rng, self._sampling.block)
        self._position = 0

    def state(self) -> dict[str, Any]:
        """Where the stream is: the generator before its block, and the place in the block."""
        return {"generator": self._before, "position": self._position}

    def restore(self, state: dict[str, Any]) -> None:
        self._rng.bit_generator.state = state["generator"]
        self._refill()
        self._position = int(state["position"])
