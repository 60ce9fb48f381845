"""What pursuits on any device share: residuals, the steepest atoms, and when to stop."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from pursuit.encoding.tensors.layouts import Filled

if TYPE_CHECKING:
    from pursuit.encoding.tensors.devices import Steps

NOWHERE = -1
"""The number of no atom."""
FAR = 2.0**0.5
"""‖residual‖ over ‖signal‖ above which a run has diverged, as in the engine."""


class Chosen(NamedTuple):
    """An atom for each signal, its entries, and whether it has a slope above rounding."""

    atom: Tensor
    entries: Tensor
    ahead: Tensor


class Residuals(ABC):
    """Signals of a chunk: what is left of them, their codes, and which still go on.

    `index` and `value` (b, width) are filled from the left; `size` (b) places are in use.
    """

    bases = 0
    """How many times work memory holds as many vectors for a signal as its code has atoms."""

    def __init__(self, steps: Steps, x: Tensor, norm: Tensor) -> None:
        o, (b, w) = steps.options, (len(x), steps.width)
        n, d = steps.atoms.shape
        ends = o.limits((n, d))
        self.steps, self.rest, self.norm = steps, x, norm
        # Both are made from slices of the atoms: before slices are held for products.
        self.lengths, self.weight = steps.norm, steps.weight
        self.most, self.last = ends.n_nonzero, ends.max_iter
        self.index = torch.full((b, w), NOWHERE, dtype=torch.int64, device=x.device)
        self.value = x.new_zeros((b, w))
        self.size = torch.zeros(b, dtype=torch.int64, device=x.device)
        self.zero = 8 * torch.finfo(x.dtype).eps * norm
        tested = o.rtol is not None or o.atol is not None
        self.goal = ((o.rtol or 0.0) * norm).clamp_min(o.atol or 0.0) if tested else norm * 0 - 1
        self.going = norm > self.goal
        self.room = x.new_empty((b, steps.cut.atoms + 1))  # one column more, for what is nowhere

    @abstractmethod
    def run(self) -> Filled:
        """Go on until no signal does."""

    @property
    def apart(self) -> float:
        """The distance below which an atom of unit norm is in the span of others."""
        return 8 * math.sqrt(torch.finfo(self.rest.dtype).eps)

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
        scale = self.lengths[atom] if self.weight is None else 1
        return Chosen(atom, entries, top > self.zero * scale)

    def _slopes(self, begin: int, part: Tensor, left_out: Tensor | None) -> Tensor:
        """How steep the atoms of a slice are, as far as they may be followed."""
        slopes = self.room[:, : len(part)]
        torch.mm(self.rest, part.T, out=slopes)
        if self.weight is not None:
            slopes *= self.weight[begin : begin + len(part)]
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
