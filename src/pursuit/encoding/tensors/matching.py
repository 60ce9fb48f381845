"""Matching pursuit on any device."""

from __future__ import annotations

import torch
from torch import Tensor

from pursuit.encoding.tensors.layouts import Filled
from pursuit.encoding.tensors.residuals import NOWHERE, Chosen, Residuals


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
            gamma /= self.lengths[chosen.atom].square()
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
