"""What a set of atoms is: the symmetric set A ∪ −A behind a linear oracle."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pursuit.atoms.closed_forms import ClosedForm
from pursuit.atoms.drawn import Drawn
from pursuit.atoms.forms import AtomForm
from pursuit.atoms.lin import Lin, lin
from pursuit.base.errors import InputError
from pursuit.base.products import times
from pursuit.base.validation import Array
from pursuit.penalties import FREE, Penalty

GATHERED = 1024
"""Atoms that are gathered from a set at a time."""
Atom = Any
"""An atom is an opaque handle: a row number, an array, a pair (u, v)."""
OFF = 1e-6
"""A point this far from lin(A), relative to its norm, still counts as one of it."""

IMAGES = 256
"""Atoms whose images are computed together."""

EXPANDED = 2**28
"""Bytes of the largest matrix that is made of atoms which nobody stores."""


class GoodEnough(NamedTuple):
    """An atom that is good enough, and a proved upper bound on ‖d‖_{A*}."""

    atom: Atom
    bound: float


class Unit(NamedTuple):
    """A set of unit atoms, and the norms that were divided out (None where they were all one)."""

    atoms: AtomSet
    scale: Array | None


class AtomSet(ABC):
    """A set A of atoms in a space of arrays of one shape.

    Every update of the library is even in z, so a set object stands for A ∪ −A and its oracle
    maximises \\|⟨d, z⟩\\|. A subclass gives `shape`, `lmo`, `draw`, `vector`, `radius` and `rank`;
    the rest has defaults that it may replace by something faster, or by an answer where they
    have none (`gauge`, `max_leverage`, `moments`).
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any] = np.dtype(np.float64)
    penalty: Penalty = FREE
    """g: what coefficients cost, and where they may be."""
    form: AtomForm = AtomForm.VECTORS
    """What a handle is, asked for when the representation of points is chosen."""
    quality: float = 1.0
    """The δ of equation (3) that the oracle keeps: \\|⟨d, lmo(d)⟩\\| ≥ δ‖d‖_{A*}."""

    most_draws: int = 2**17
    """The most atoms that are drawn to estimate moments: what a second or two allow."""

    @property
    def finite(self) -> FiniteAtoms | None:
        """The set as one of finitely many atoms; None where they are not, or nobody counts them."""
        return None

    @property
    def one_sided(self) -> bool:
        """Whether f is minimised over combinations with coefficients on one side of zero alone."""
        return self.penalty.one_sided

    @abstractmethod
    def lmo(self, d: Array) -> Atom:
        """An atom that maximises \\|⟨d, z⟩\\|; of several, the one with the lowest index."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        """`size` atoms drawn independently from the uniform distribution of the set."""

    @abstractmethod
    def vector(self, z: Atom) -> Array:
        """The atom as an array of the set's shape."""

    def inner(self, d: Array, z: Atom) -> float:
        """⟨d, z⟩."""
        return float(np.vdot(d, self.vector(z)))

    def norm2(self, z: Atom) -> float:
        """‖z‖²."""
        vector = self.vector(z)
        return float(np.vdot(vector, vector))

    def image(self, A: Any, z: Atom) -> Array:
        """A z for a linear map A."""
        return times(A, self.vector(z))

    def shift(self, x: Array, gamma: float, z: Atom) -> None:
        """x ← x − γz, in place."""
        x -= gamma * self.vector(z)

    def near_lmo(self, d: Any, delta: float, rng: np.random.Generator) -> GoodEnough:
        """An atom with \\|⟨d, z⟩\\| ≥ δ‖d‖_{A*}, and a proved upper bound on ‖d‖_{A*}.

        A set that finds such an atom for less than the best one replaces this; what it draws for
        that comes from `rng`.
        """
        if delta > self.quality:
            raise InputError(
                f"delta: the oracle of this {type(self).__name__} is {self.quality:g}-approximate; "
                f"expected a delta of at most that, got {delta:g}"
            )
        z = self.lmo(d)
        return GoodEnough(z, abs(self.inner(d, z)) / self.quality)

    def dual_norm(self, d: Array) -> float:
        """‖d‖_{A*} = max over A of \\|⟨d, z⟩\\|; an upper bound if the oracle is approximate."""
        return abs(self.inner(d, self.lmo(d))) / self.quality

    def gauge(self, x: Array) -> float:
        """The atomic norm ‖x‖_A, +inf outside lin(A)."""
        raise InputError(f"atoms: {type(self).__name__} has no known gauge")

    @property
    @abstractmethod
    def radius(self) -> float:
        """max ‖z‖ over the set."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """dim lin(A)."""

    @property
    def max_leverage(self) -> float | None:
        """max ‖z‖_P² over an infinite set with its uniform draws; dim lin(A) if isotropic.

        None where nobody knows.
        """
        return None

    def second_moment(self) -> Array | None:
        """P̃ = E zzᵀ over the set's own draws, on the flattened space; None where nobody knows."""
        form = self.moments()
        return None if form is None else np.diag(form.diagonal)

    @property
    def moments_known(self) -> bool:
        """Whether P̃ is there without drawing for it."""
        return bool(self.estimates) or self.second_moment() is not None

    @cached_property
    def estimates(self) -> dict[tuple[float, int], Drawn]:
        """What was estimated of P̃ so far, by confidence and seed."""
        return {}

    def largest_curvature(self, hessian: Callable[[Array], Array]) -> float | None:
        """Return max zᵀHz over an infinite set, H given by its products; None where not known."""
        return None

    def moments(self, p: Array | None = None) -> ClosedForm | None:
        """What is known of P̃ without computing, under draws with probabilities p.

        None for p stands for the set's own draws, and as an answer for nothing known.
        """
        return None

    def spans(self, x: Array) -> bool:
        """Whether x lies in lin(A), up to rounding."""
        return self.rank == int(np.prod(self.shape))

    def astype(self, dtype: np.dtype[Any]) -> AtomSet:
        """The same atoms in another precision; a set that has none of its own is left as it is."""
        return self

    def unit(self) -> Unit:
        """The same directions as atoms of norm one, and the norms.

        By default the set itself: right for unit atoms, and all that can be done where atoms are
        known by an oracle alone.
        """
        return Unit(self, None)

    def pack(self, atoms: Sequence[Atom]) -> Array:
        """The handles as one plain array, for a file."""
        return np.array([self.vector(z) for z in atoms]).reshape(-1, *self.shape)

    def unpack(self, packed: Array) -> list[Atom]:
        """The handles back from `pack`."""
        return list(packed)


class FiniteAtoms(AtomSet):
    """A set of n atoms whose handles are the row numbers 0 … n − 1."""

    form = AtomForm.ROWS

    @property
    def finite(self) -> FiniteAtoms:
        return self

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    def matrix(self) -> Array:
        """The atoms as rows, shape (n, d); d = product of `shape`.

        A set that stores no rows leaves this as it is: they are made where something needs them,
        and refused where they would fill the memory.
        """
        return self._expanded

    @cached_property
    def _expanded(self) -> Array:
        n, d = len(self), int(np.prod(self.shape))
        if n * d * self.dtype.itemsize > EXPANDED:
            raise InputError(
                f"atoms: this needs the {n:,} × {d:,} matrix of all atoms of the "
                f"{type(self).__name__}, which is never formed; expected a smaller set, or solve "
                "with a method without constants of the set, such as matching-pursuit or orthogonal"
            )
        return self._stacked(0, n)

    def _stacked(self, first: int, last: int) -> Array:
        """Atoms that nobody stores, as rows."""
        numbers = range(first, min(last, len(self)))
        return np.array([np.ravel(self.vector(j)) for j in numbers], self.dtype)

    @property
    @abstractmethod
    def norms(self) -> Array:
        """‖z_j‖ for every atom."""

    @property
    def period(self) -> int:
        """A number of atoms after which their norms begin anew: n where that is not known."""
        return len(self)

    @property
    def norm_range(self) -> tuple[float, float]:
        """The norms of the shortest and of the longest atom."""
        return float(self.norms.min()), float(self.norms.max())

    def support(self, z: Atom) -> tuple[Array, Array]:
        """Where an atom is not zero, as places of the flattened space, and its entries there."""
        entries = np.ravel(self.vector(z))
        where = np.flatnonzero(entries)
        return where, entries[where]

    def reach(self, where: Array, entries: Array) -> tuple[Array, Array]:
        """The atoms that may meet a vector with these entries alone, in the order of their
        numbers, and their inner products with it."""
        d = np.zeros(int(np.prod(self.shape)), entries.dtype)
        d[where] = entries
        return np.arange(len(self)), self.correlate(d.reshape(self.shape))

    @cached_property
    def lin(self) -> Lin:
        """lin(A), decided in float64 on the stored atoms."""
        return lin(self.matrix)

    @property
    def rank(self) -> int:
        return self.lin.rank

    @property
    def moments_known(self) -> bool:
        return True

    def spans(self, x: Array) -> bool:
        if self.rank == int(np.prod(self.shape)):
            return True
        near = x.astype(np.float64)
        rest = near - self.lin.project(near)
        return bool(np.linalg.norm(rest) <= OFF * np.linalg.norm(near))

    @abstractmethod
    def correlate(self, d: Array) -> Array:
        """c_j = ⟨z_j, d⟩ for every atom."""

    @abstractmethod
    def combine(self, weights: Array) -> Array:
        """Σ weights_j z_j."""

    def images(self, A: Any) -> Iterator[Any]:
        """A z_j for every atom of a linear map A, as the columns of one matrix after another."""
        for first in range(0, len(self), IMAGES):
            yield A @ self.some(first, first + IMAGES).T

    def some(self, first: int, last: int) -> Array:
        """The atoms first … last − 1 as rows."""
        return self.matrix[first:last]

    def correlate_some(self, d: Array, places: Array) -> Array:
        """⟨z_j, d⟩ for the atoms at some places."""
        c: Array = self.matrix[places] @ d.reshape(-1)
        return c

    def combine_some(self, weights: Array, places: Array) -> Array:
        """Σ weights_k z_k over the atoms at some places."""
        combined = np.zeros(int(np.prod(self.shape)), weights.dtype)
        for begin in range(0, len(places), GATHERED):
            some = slice(begin, begin + GATHERED)
            combined += weights[some] @ self.matrix[places[some]]
        return combined.reshape(self.shape)

    def admissible(self, c: Array, coef: Array, places: Array | None = None) -> Array:
        """The slopes of f + g at x = Σ coef_j z_j, where c = Z∇f(x); zero where x may not move.

        Over lin(A) they are c; a `Cone` keeps coefficients from falling below zero. With places,
        c and coef are those of the atoms there alone.
        """
        penalty = self.penalty if places is None else self.penalty.at(places)
        return penalty.subgradient(c, coef)

    def lmo(self, d: Array) -> int:
        return int(np.argmax(self.penalty.gain(self.correlate(d))))

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        places: list[int] = rng.integers(0, len(self), size).tolist()
        return places

    def dual_norm(self, d: Array) -> float:
        return max(0.0, float(self.penalty.gain(self.correlate(d)).max()))

    def norm2(self, z: Atom) -> float:
        return float(self.norms[z]) ** 2

    @property
    def radius(self) -> float:
        return float(np.max(self.norms))

    def pack(self, atoms: Sequence[Atom]) -> Array:
        return np.asarray(atoms, dtype=np.int64)

    def unpack(self, packed: Array) -> list[Atom]:
        return [int(j) for j in packed]
