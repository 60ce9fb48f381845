"""The methods of `encode`: one table, and what each row says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from pursuit.base.errors import InputError
from pursuit.base.validation import count, shown
from pursuit.encoding.plan import UNLIMITED
from pursuit.methods import ALIASES, full_name

STEPS = 1000
"""Steps for each signal where none are given, as in `solve`; orthogonal pursuit needs no limit."""


@dataclass(frozen=True, kw_only=True)
class EncodingMethod:
    """A method of `encode`.

    Attributes
    ----------
    name
        What users call it.
    kernels
        The module of this package that plans its work and encodes blocks: `choose` gives the form
        of a plan, `start` prepares the dictionary and gives each thread its encoder of blocks.
    orthogonal
        Whether coefficients are fitted again at each step.
    cone
        Whether it runs over a `Cone`.
    forward_only
        Whether coefficients only grow, over the atoms as given.
    needs_gram
        Whether it cannot do without the Gram matrix of all atoms.
    n_moved
        The most atoms that a step may bring into a code; 0: all of them.
    limits_atoms
        Whether the number of atoms of a code can be limited.
    is_sparse
        Whether codes have at most a tenth of d atoms where no stopping rule is given at all.
    """

    name: str
    kernels: str
    orthogonal: bool = False
    cone: bool = False
    forward_only: bool = False
    needs_gram: bool = False
    n_moved: int = 1
    limits_atoms: bool = True
    is_sparse: bool = False

    @property
    def module(self) -> Any:
        """The module of its kernels, which need the compiler: loaded when first asked for."""
        return import_module(f"pursuit.encoding.{self.kernels}")

    def limits(
        self,
        shape: tuple[int, int],
        n_nonzero: int | None,
        max_iter: int | None,
        has_target: bool,
    ) -> tuple[int, int, int]:
        """Return n_nonzero, max_iter and the width of codes, the most nonzero coefficients that one
        may have, for a dictionary of shape (n, d).

        `has_target`: a residual test was given. A number of atoms above n is no error.
        """
        n, d = shape
        if n_nonzero is not None and not self.limits_atoms:
            raise InputError(
                f"n_nonzero: {self.name} moves through all atoms, so that their number in a code "
                f"cannot be limited; expected max_iter, rtol or atol, got n_nonzero={n_nonzero!r}"
            )
        if n_nonzero is None and max_iter is None and not has_target and self.is_sparse:
            n_nonzero = max(1, d // 10)
        atoms, steps = UNLIMITED, UNLIMITED if self.orthogonal else STEPS
        if n_nonzero is not None:
            atoms = min(count("n_nonzero", n_nonzero, minimum=1), UNLIMITED)
        if max_iter is not None:
            steps = min(count("max_iter", max_iter, minimum=1), UNLIMITED)
        moved = steps * self.n_moved if self.n_moved else UNLIMITED
        return atoms, steps, min(atoms, n, moved, d if self.orthogonal else n)


_ROWS = (
    EncodingMethod(name="matching-pursuit", kernels="pursuits", cone=True, is_sparse=True),
    EncodingMethod(
        name="orthogonal", kernels="pursuits", cone=True, is_sparse=True, orthogonal=True
    ),
    EncodingMethod(name="affine-invariant", kernels="stepwise", needs_gram=True),
    EncodingMethod(name="random-pursuit", kernels="stepwise"),
    EncodingMethod(name="accelerated-random", kernels="stepwise", limits_atoms=False),
    EncodingMethod(
        name="accelerated-matching-pursuit",
        kernels="stepwise",
        needs_gram=True,
        n_moved=2,
        limits_atoms=False,
    ),
    EncodingMethod(name="greedy-greedy", kernels="stepwise", needs_gram=True, limits_atoms=False),
    EncodingMethod(name="accelerated", kernels="conjugate", n_moved=0, limits_atoms=False),
)
METHODS = {method.name: method for method in _ROWS}


def find_method(name: object, nonnegative: bool, forward_only: bool = False) -> EncodingMethod:
    """Return the method of a name, if it can do what is asked for."""
    full = full_name(name)
    if not isinstance(full, str) or full not in METHODS:
        aliases = [alias for alias, of in ALIASES.items() if of in METHODS]
        known = ", ".join([*METHODS, *aliases])
        raise InputError(f"method: expected one of {known}, got {shown(name)}")
    method = METHODS[full]
    if nonnegative and not method.cone:
        able = " or ".join(other.name for other in METHODS.values() if other.cone)
        raise InputError(f"method: expected {able} over a Cone, got {method.name!r}")
    if not forward_only:
        return method
    if method.name != "matching-pursuit" or not nonnegative:
        over = "a Cone" if nonnegative else "atoms of both signs"
        raise InputError(
            f"forward_only: expected matching-pursuit over a Cone, got {method.name} over {over}"
        )
    return replace(method, name=f"{method.name}, forward only", forward_only=True)
