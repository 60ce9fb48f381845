"""Pursuit by matrix products on any device, in chunks of bounded memory.

Residuals of a chunk of signals are multiplied by slices of the atoms at each step. It is the
engine's form of *products*, in the operations that every device of torch has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from pursuit.base.errors import InputError
from pursuit.encoding.tensors import budget
from pursuit.encoding.tensors.door import Options, working_type
from pursuit.encoding.tensors.layouts import CodesTensor, Filled, gathering

NOWHERE = -1
"""The number of no atom."""
FAR = 2.0**0.5
"""‖residual‖ over ‖signal‖ above which a run has diverged, as in the engine."""


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

    def __post_init__(self) -> None:
        method = self.options.offered
        able = method.orthogonal or method.name.startswith("matching-pursuit")
        if not able or (method.orthogonal and self.options.one_sided):
            kind = ", non-negative" if self.options.one_sided else ""
            raise InputError(
                f"method: expected orthogonal for both signs, or matching-pursuit, on "
                f"{self.atoms.device}, got {method.name}{kind}, which runs on the CPU alone"
            )

    @cached_property
    def cut(self) -> budget.Cut:
        """Signals of a chunk and atoms of a slice."""
        (n, d), size = self.atoms.shape, torch.finfo(self.dtype).bits // 8
        orthogonal, converted = self.options.offered.orthogonal, self.atoms.dtype != self.dtype
        shape = budget.Shape(n, d, self.width, size, orthogonal, converted)
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
        pursuit = OrthogonalSteps if self.options.offered.orthogonal else MatchingSteps
        return pursuit(self, x, norm).run()


class Chosen(NamedTuple):
    """An atom for each signal, its entries, and whether it has a slope above rounding."""

    atom: Tensor
    entries: Tensor
    ahead: Tensor


class Residuals:
    """Signals of a chunk: what is left of them, their codes, and which still go on.

    `index` and `value` (b, width) are filled from the left; `size` (b) places are in use.
    """

    def __init__(self, steps: Steps, x: Tensor, norm: Tensor) -> None:
        o, (b, w) = steps.options, (len(x), steps.width)
        n, d = steps.atoms.shape
        ends = o.limits((n, d))
        self.steps, self.rest, self.norm = steps, x, norm
        self.most, self.last = ends.n_nonzero, ends.max_iter
        self.index = torch.full((b, w), NOWHERE, dtype=torch.int64, device=x.device)
        self.value = x.new_zeros((b, w))
        self.size = torch.zeros(b, dtype=torch.int64, device=x.device)
        self.zero = 8 * torch.finfo(x.dtype).eps * norm
        tested = o.rtol is not None or o.atol is not None
        self.goal = ((o.rtol or 0.0) * norm).clamp_min(o.atol or 0.0) if tested else norm * 0 - 1
        self.going = norm > self.goal
        self.room = x.new_empty((b, steps.cut.atoms + 1))  # one column more, for what is nowhere

    def filled(self) -> Filled:
        used = torch.arange(self.steps.width, device=self.size.device) < self.size[:, None]
        return Filled(self.index.where(used, 0), self.value.where(used, 0), used)

    def best(self, left_out: Tensor | None = None) -> Chosen:
        """The steepest atom of each signal, the lowest of several."""
        top = torch.full_like(self.norm, -torch.inf)
        atom = torch.zeros_like(self.size)
        for begin, part in self.steps.slices():
            slopes = self._slopes(begin, part, left_out)
            here, place = slopes.max(dim=1)
            better = here > top
            top, atom = top.where(~better, here), atom.where(~better, place + begin)
        entries = self.steps.atoms[atom].to(self.rest.dtype)
        scale = self.steps.norm[atom] if self.steps.weight is None else 1
        return Chosen(atom, entries, top > self.zero * scale)

    def _slopes(self, begin: int, part: Tensor, left_out: Tensor | None) -> Tensor:
        """How steep the atoms of a slice are, as far as they may be followed."""
        slopes = self.room[:, : len(part)]
        torch.mm(self.rest, part.T, out=slopes)
        if self.steps.weight is not None:
            slopes *= self.steps.weight[begin : begin + len(part)]
        if not self.steps.options.one_sided:
            slopes.abs_()
        elif not self.steps.options.forward_only:  # those in use may shrink as well
            place = self._places(self.index, begin, len(part))
            self.room.scatter_(1, place, self.room.gather(1, place).abs_())
        if left_out is not None:
            place = self._places(left_out, begin, len(part))
            self.room.scatter_(1, place, -torch.inf)
        return slopes

    def _places(self, atoms: Tensor, begin: int, count: int) -> Tensor:
        """Where atoms are among the columns of a slice; others are in the last one."""
        inside = (atoms >= begin) & (atoms < begin + count)
        return torch.where(inside, atoms - begin, self.room.shape[1] - 1)

    def judge(self) -> None:
        """Leave the signals that are near enough or have all their atoms."""
        left = torch.linalg.vector_norm(self.rest, dim=1)
        self.going &= (left > self.goal) & (self.size < self.most)
        far = ~(left <= FAR * self.norm)
        self.size[far], self.going[far] = 0, False


class MatchingSteps(Residuals):
    """Matching pursuit: r ← r − γ z with γ = ⟨r, z⟩ / ‖z‖², or ⟨r, z⟩ where it is forward only."""

    def run(self) -> Filled:
        for _ in range(self.last):
            if not self.going.any():
                break
            chosen = self.best()
            self.going &= chosen.ahead
            self._step(chosen)
            self.judge()
        return self.filled()

    def _step(self, chosen: Chosen) -> None:
        gamma = (self.rest * chosen.entries).sum(dim=1)
        if not self.steps.options.forward_only:
            gamma /= self.steps.norm[chosen.atom].square()
        gamma = gamma.where(self.going, 0)
        place = self._place(chosen.atom)
        if self.steps.options.one_sided:
            gamma = torch.maximum(gamma, -self.value.gather(1, place)[:, 0])
        self.value.scatter_add_(1, place, gamma[:, None])
        self.rest.addcmul_(gamma[:, None], chosen.entries, value=-1)
        if self.steps.options.one_sided:
            self._leave(place)

    def _place(self, atom: Tensor) -> Tensor:
        """Where the coefficient of an atom is (b, 1); a new one comes after those in use."""
        same = self.index == atom[:, None]
        held = same.any(dim=1)
        new = self.going & ~held
        place = same.int().argmax(dim=1).where(held, self.size)
        place = place.clamp_max(self.steps.width - 1)[:, None]
        there = self.index.gather(1, place)[:, 0]
        self.index.scatter_(1, place, atom.where(new, there)[:, None])
        self.size += new
        return place

    def _leave(self, place: Tensor) -> None:
        """An atom at zero goes, and the last one takes its place."""
        gone = self.going & (self.value.gather(1, place)[:, 0] <= 0)
        last = (self.size - 1).clamp_min(0)[:, None]
        for kept, nothing in ((self.index, NOWHERE), (self.value, 0)):
            moved = kept.gather(1, last)
            kept.scatter_(1, place, moved.where(gone[:, None], kept.gather(1, place)))
            kept.scatter_(1, last, kept.gather(1, last).masked_fill(gone[:, None], nothing))
        self.size -= gone.to(self.size.dtype)


class OrthogonalSteps(Residuals):
    """OrthogonalSteps matching pursuit: the atoms in use are made orthonormal as they come.

    An atom in their span is passed over. All signals that go on have the same number of atoms.
    """

    def run(self) -> Filled:
        b, w, d = len(self.rest), self.steps.width, self.rest.shape[1]
        self.basis = self.rest.new_zeros((b, w, d))
        self.upper = torch.eye(w, dtype=self.rest.dtype, device=self.rest.device).repeat(b, 1, 1)
        self.along = self.rest.new_zeros((b, w))
        self.passed = self.index[:, :0]
        for t in range(min(w, self.last)):
            if not self.going.any():
                break
            self._step(t)
            self.judge()
        return self._solved()

    def _step(self, t: int) -> None:
        chosen, q = self._independent(t)
        self.index[:, t] = chosen.atom.where(self.going, NOWHERE)
        self.size += self.going
        self.basis[:, t] = q
        self.along[:, t] = (self.rest * q).sum(dim=1)
        self.rest.addcmul_(self.along[:, t, None], q, value=-1)

    def _independent(self, t: int) -> tuple[Chosen, Tensor]:
        """The steepest atom outside of the span of those in use, and what is outside of it."""
        apart = 8 * torch.finfo(self.rest.dtype).eps ** 0.5
        while True:
            chosen = self.best(torch.cat([self.index[:, :t], self.passed], dim=1))
            self.going &= chosen.ahead
            q, along = self._against_basis(chosen, t)
            length = torch.linalg.vector_norm(q, dim=1)
            within = self.going & (length <= apart)
            if not within.any():
                break
            passed = chosen.atom.where(within, NOWHERE)[:, None]
            self.passed = torch.cat([self.passed, passed], dim=1)
        self.upper[:, :t, t] = along.where(self.going[:, None], 0)
        self.upper[:, t, t] = length.where(self.going, 1)
        return chosen, (q / length[:, None]).where(self.going[:, None], 0)

    def _against_basis(self, chosen: Chosen, t: int) -> tuple[Tensor, Tensor]:
        """What an atom of unit norm has along the basis, and what is left; twice for rounding."""
        q = chosen.entries / self.steps.norm[chosen.atom, None]
        basis, along = self.basis[:, :t], self.along[:, :t] * 0
        for _ in range(2):
            part = torch.bmm(basis, q[:, :, None])
            along += part[:, :, 0]
            q = torch.baddbmm(q[:, None], part.transpose(1, 2), basis, alpha=-1)[:, 0]
        return q, along

    def _solved(self) -> Filled:
        a = torch.linalg.solve_triangular(self.upper, self.along[:, :, None], upper=True)[:, :, 0]
        self.value = a / self.steps.norm[self.index.clamp_min(0)]
        return self.filled()
