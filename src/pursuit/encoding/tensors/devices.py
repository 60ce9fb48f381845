"""Pursuit by matrix products on any device, in chunks of bounded memory.

Residuals of a chunk of signals are multiplied by slices of the atoms at each step. It is the
engine's form of *products*, in the operations that every device of torch has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from pursuit.base.errors import InputError
from pursuit.encoding.tensors import budget
from pursuit.encoding.tensors.door import Options, working_type
from pursuit.encoding.tensors.layouts import CodesTensor, Filled, gathering
from pursuit.encoding.tensors.matching import MatchingSteps
from pursuit.encoding.tensors.nonnegative import NonnegativeSteps
from pursuit.encoding.tensors.orthogonal import OrthogonalSteps
from pursuit.encoding.tensors.residuals import Residuals


@torch.no_grad()
def pursue(
    rows: Tensor, atoms: Tensor, bias: Tensor | None, options: Options, lead: tuple[int, ...]
) -> CodesTensor:
    """The codes of `rows` (m, d) over `atoms` (n, d) on their device."""
    dtype = working_type(rows, atoms, bias)
    ends = options.limits((atoms.shape[0], atoms.shape[1]))
    steps = Steps(atoms, dtype, options, ends.width, len(rows))
    out = gathering(
        options.layout,
        lead,
        len(atoms),
        ends.width,
        options.n_nonzero is None,
        torch.empty(0, dtype=dtype, device=rows.device),
    )
    for first in range(0, len(rows), steps.cut.rows):
        x = rows[first : first + steps.cut.rows].to(dtype, copy=True)
        out.keep(first, steps.run(x if bias is None else x.sub_(bias), first))
    return out.result()


@dataclass(frozen=True, eq=False)
class Steps:
    """A dictionary and a method, for chunks of so many signals in all."""

    atoms: Tensor
    dtype: torch.dtype
    options: Options
    width: int
    signals: int

    @property
    def pursuit(self) -> type[Residuals]:
        """What is done to a chunk."""
        method, one_sided = self.options.offered, self.options.one_sided
        if method.orthogonal:
            return NonnegativeSteps if one_sided else OrthogonalSteps
        if not method.one_sided:
            raise InputError(
                f"method: expected orthogonal or matching-pursuit on {self.atoms.device}, got "
                f"{method.name}, which runs on the CPU alone"
            )
        return MatchingSteps

    @cached_property
    def cut(self) -> budget.Cut:
        """Signals of a chunk and atoms of a slice."""
        (n, d), size = self.atoms.shape, torch.finfo(self.dtype).bits // 8
        bases, converted = self.pursuit.bases, self.atoms.dtype != self.dtype
        shape = budget.Shape(n, d, self.width, size, bases, converted)
        return budget.cut(shape, self.signals, self.options.max_bytes)

    def slices(self) -> Iterator[tuple[int, Tensor]]:
        """The atoms, some at a time, in the precision of the codes; and the first one's number."""
        for begin in range(0, len(self.atoms), self.cut.atoms):
            yield begin, self.atoms[begin : begin + self.cut.atoms].to(self.dtype)

    @cached_property
    def norm(self) -> Tensor:
        norm = torch.cat([torch.linalg.vector_norm(part, dim=1) for _, part in self.slices()])
        odd = ~(torch.isfinite(norm) & (norm > 0))
        if odd.any():
            where = int(odd.int().argmax())
            raise InputError(f"atoms: expected a finite norm above 0, got {norm[where]} of {where}")
        return norm

    @cached_property
    def weight(self) -> Tensor | None:
        """What makes slopes those of unit atoms; None for the atoms as given."""
        forward = self.options.forward_only
        return 1 / self.norm if self.options.unit_atoms and not forward else None

    def run(self, x: Tensor, first: int) -> Filled:
        """The codes of a chunk, whose first signal has a number in the whole."""
        norm = torch.linalg.vector_norm(x, dim=1)
        if not torch.isfinite(norm).all():
            odd = first + int((~torch.isfinite(norm)).int().argmax())
            raise InputError(f"signals: expected numbers with a finite norm in signal {odd}")
        return self.pursuit(self, x, norm).run()
