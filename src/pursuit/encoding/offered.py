"""The methods that `encode` offers: each says how much it may do, plans its work and starts it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from pursuit.base.validation import Array
from pursuit.encoding.plan import Form, Plan, Task, asked, choose

if TYPE_CHECKING:
    from pursuit.encoding.few_atoms import Whole
    from pursuit.encoding.job import Chunk, Job
    from pursuit.kernels.layouts import Piece

STEPS = 1000
"""Steps for each signal where none are given, as in `solve`; orthogonal pursuit needs no limit."""
UNLIMITED = 2**62


class Started(NamedTuple):
    """Work that can begin: the dictionary's part is done.

    Attributes
    ----------
    make
        Gives a thread its encoder of blocks.
    alone
        Whether one encoder uses all threads itself.
    whole
        (number of signals) ↦ where all their codes are written at once; None: block by block.
    """

    make: Callable[[], Callable[[Chunk], Piece]]
    alone: bool = False
    whole: Callable[[int], Whole] | None = None


@dataclass(frozen=True)
class Offered(ABC):
    """A method of `encode`."""

    name: str

    @property
    def orthogonal(self) -> bool:
        """Whether coefficients are fitted anew at each step."""
        return False

    @property
    def one_sided(self) -> bool:
        """Whether it runs over a `Cone`."""
        return False

    @property
    def forward_only(self) -> bool:
        """Whether coefficients only grow, over the atoms as given."""
        return False

    @property
    def any_scale(self) -> bool:
        """Whether it does the same whatever the scale of each atom is."""
        return False

    def only_forward(self) -> Offered | None:
        """This method with steps forward only; None where that has no meaning."""
        return None

    @property
    def counts_atoms(self) -> bool:
        """Whether the number of atoms of a code can be limited."""
        return True

    @property
    def needs_gram(self) -> bool:
        """Whether it can do nothing without the Gram matrix of all atoms."""
        return False

    @property
    def steps(self) -> int:
        """The most steps where none are given."""
        return STEPS

    def atoms(self, d: int) -> int | None:
        """The most atoms of a code of length d where no stopping rule is given at all."""
        return None

    def distinct(self, steps: int, d: int) -> int:
        """The most distinct atoms that so many steps may use."""
        return steps

    @abstractmethod
    def plan(self, task: Task, atoms: Array, nonnegative: bool) -> Plan:
        """How a job is done over atoms that are prepared."""

    @abstractmethod
    def start(self, job: Job, threads: int) -> Started:
        """Do the dictionary's part."""


@dataclass(frozen=True)
class Pursuit(Offered):
    """Matching pursuit with exact steps, or orthogonal matching pursuit.

    `forward`: matching pursuit whose steps are ⟨residual, atom⟩ > 0, whatever the atom's norm is.
    """

    fits: bool
    forward: bool = False

    @property
    def forward_only(self) -> bool:
        return self.forward

    def only_forward(self) -> Offered | None:
        return None if self.fits else Pursuit(f"{self.name}, forward only", False, forward=True)

    @property
    def orthogonal(self) -> bool:
        return self.fits

    @property
    def one_sided(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return UNLIMITED if self.fits else STEPS

    def atoms(self, d: int) -> int | None:
        return max(1, d // 10)

    def distinct(self, steps: int, d: int) -> int:
        return min(steps, d) if self.fits else steps

    def plan(self, task: Task, atoms: Array, nonnegative: bool) -> Plan:
        if not nonnegative:
            return choose(task)
        # Over a cone the Gram matrix is of float64, and not made row by row.
        return choose(replace(task, itemsize=8), (Form.GRAM, Form.PRODUCTS))

    def start(self, job: Job, threads: int) -> Started:
        if job.nonnegative:
            from pursuit.encoding import cone  # its kernels are compiled for those who ask for it

            return cone.start(job, threads)
        from pursuit.encoding import forms

        return forms.start(job, threads)


@dataclass(frozen=True)
class Stepwise(Offered):
    """A method of the paper whose steps are divided by bounds on the curvature.

    Attributes
    ----------
    one_atom
        A step looks at one atom only.
    second
        Atoms that a step moves the second sequence v along; 0: there is none.
    """

    one_atom: bool = False
    second: int = 0

    @property
    def counts_atoms(self) -> bool:
        return self.second == 0

    @property
    def needs_gram(self) -> bool:
        return not self.one_atom

    def distinct(self, steps: int, d: int) -> int:
        return steps * max(1, self.second)  # those of x, and those of v

    def plan(self, task: Task, atoms: Array, nonnegative: bool) -> Plan:
        from pursuit.encoding import batch

        return batch.plan(self, task)

    def start(self, job: Job, threads: int) -> Started:
        from pursuit.encoding import batch

        return Started(batch.encoder(job, threads))


@dataclass(frozen=True)
class ConjugateGradients(Offered):
    """The parameter-free acceleration, which is conjugate gradients on a least-squares problem."""

    @property
    def any_scale(self) -> bool:
        return True

    @property
    def counts_atoms(self) -> bool:
        return False

    def distinct(self, steps: int, d: int) -> int:
        return UNLIMITED

    def plan(self, task: Task, atoms: Array, nonnegative: bool) -> Plan:
        from pursuit.encoding import accelerated

        asked(task, ())  # it has no Gram matrix to do without
        return accelerated.plan(atoms, task.width)

    def start(self, job: Job, threads: int) -> Started:
        from pursuit.encoding import accelerated

        return Started(accelerated.encoder(job))


OFFERED: dict[str, Offered] = {
    method.name: method
    for method in (
        Pursuit("matching-pursuit", fits=False),
        Pursuit("orthogonal", fits=True),
        Stepwise("affine-invariant"),
        Stepwise("random-pursuit", one_atom=True),
        Stepwise("accelerated-random", one_atom=True, second=1),
        Stepwise("accelerated-matching-pursuit", second=2),
        Stepwise("greedy-greedy", second=1),
        ConjugateGradients("accelerated"),
    )
}
