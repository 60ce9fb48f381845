"""Orthogonal pursuit with coefficients of at least zero, on any device."""

from __future__ import annotations

import torch
from torch import Tensor

from pursuit.encoding.tensors.layouts import Filled
from pursuit.encoding.tensors.residuals import NOWHERE, Residuals

ROUNDS = 30
"""Steps for each atom of the widest code after which rounding goes in circles, as in the engine."""
TINY = 1e-30
"""What keeps a quotient finite."""


class NonnegativeSteps(Residuals):
    """Least squares with a ≥ 0 over the atoms in use, anew after each atom that joins them.

    They are Lawson and Hanson's: an atom leaves when its coefficient comes to zero. Values are
    those of unit atoms until the end.
    """

    bases = 3

    def run(self) -> Filled:
        self.x, self.passed = self.rest.clone(), self.index[:, :0]
        self.places = torch.arange(self.steps.width, device=self.x.device)
        taken = torch.zeros_like(self.size)
        for _ in range(ROUNDS * (self.steps.width + 1)):
            if not self.going.any():
                break
            taken += self._step()
            self.judge()
            self.going &= taken < self.last
        self.value /= self.lengths[self.index.clamp_min(0)]
        return self.filled()

    def _step(self) -> Tensor:
        """Let the steepest atom join; which signals have a new one."""
        chosen = self.best(torch.cat([self.index, self.passed], dim=1))
        self.going &= chosen.ahead & (self.size < self.steps.width)
        last = (self.places == self.size[:, None]) & self.going[:, None]
        self.index = torch.where(last, chosen.atom[:, None], self.index)
        z = self._units()
        fits = SmallFits(torch.bmm(z, z.transpose(1, 2)), torch.bmm(z, self.x[:, :, None])[:, :, 0])
        refused = self.going & self._refused(fits, last)
        joined = self.going & ~refused
        self.index = self.index.masked_fill(last & refused[:, None], NOWHERE)
        a = fits.nonnegative(self.index != NOWHERE, self.value, self.zero[:, None])
        self.rest -= torch.bmm((a - self.value)[:, None], z)[:, 0] * joined[:, None]
        self.value = torch.where(joined[:, None], a, self.value)
        self._pass_over(chosen.atom, refused, joined)
        self._close_ranks()
        return joined

    def _units(self) -> Tensor:
        """The atoms listed, at unit norm, (b, width, d); zero in places that are empty."""
        places = self.index.clamp_min(0)
        z = self.steps.atoms[places].to(self.x.dtype)
        z *= ((self.index != NOWHERE) / self.lengths[places])[:, :, None]
        return z

    def _refused(self, fits: SmallFits, last: Tensor) -> Tensor:
        """Whether the last atom is in the span of the others, or would not grow: rounding."""
        listed = self.index != NOWHERE
        factor, wrong = fits.factor(listed)
        pivot = (factor.diagonal(dim1=1, dim2=2) * last).sum(dim=1)
        goal = (fits.solve(factor, listed) * last).sum(dim=1)
        return (wrong != 0) | (pivot <= self.apart) | (goal <= 0)

    def _pass_over(self, atom: Tensor, refused: Tensor, joined: Tensor) -> None:
        """Look no more at an atom that was refused until another one has joined."""
        self.passed = self.passed.masked_fill(joined[:, None], NOWHERE)
        if refused.any():
            new = atom.where(refused, NOWHERE)[:, None]
            self.passed = torch.cat([self.passed, new], dim=1)

    def _close_ranks(self) -> None:
        """Atoms at zero leave; the others stay in their order."""
        stays = self.value > 0
        order = (~stays).int().argsort(dim=1, stable=True)
        self.size = stays.sum(dim=1)
        kept = self.places < self.size[:, None]
        self.index = self.index.gather(1, order).where(kept, NOWHERE)
        self.value = self.value.gather(1, order).where(kept, 0)


class SmallFits:
    """Least squares over some atoms for each signal: Gram matrices, and products with it."""

    def __init__(self, gram: Tensor, b: Tensor) -> None:
        self.gram, self.b = gram, b

    def factor(self, used: Tensor) -> tuple[Tensor, Tensor]:
        """The Cholesky factor for the atoms in use, one for the others; where it fails, not 0."""
        both = used[:, :, None] & used[:, None]
        gram = torch.where(both, self.gram, torch.diag_embed((~used).to(self.gram.dtype)))
        factor, wrong = torch.linalg.cholesky_ex(gram)
        return factor, wrong

    def solve(self, factor: Tensor, used: Tensor) -> Tensor:
        """The best coefficients of the atoms in use, of any sign."""
        b = self.b.where(used, 0)[:, :, None]
        return torch.cholesky_solve(b, factor)[:, :, 0]

    def nonnegative(self, listed: Tensor, a: Tensor, zero: Tensor) -> Tensor:
        """argmin ‖x − a Z‖ over a ≥ 0 of the atoms listed, from a feasible a.

        A slope of at most `zero` is none.
        """
        used = listed
        for _ in range(ROUNDS * a.shape[1]):
            goal = self.solve(self.factor(used)[0], used)
            low = used & (goal <= 0)
            back = low.any(dim=1, keepdim=True)
            a, out = self._towards(goal, a, low, back)
            slope = self.b - torch.bmm(self.gram, a[:, :, None])[:, :, 0]
            slope = slope.where(listed & ~used & ~back, -torch.inf)
            enters = (slope > zero) & (slope == slope.max(dim=1, keepdim=True).values)
            if not (out.any() or enters.any()):
                break
            used = (used & ~out) | enters
        return a

    @staticmethod
    def _towards(goal: Tensor, a: Tensor, low: Tensor, back: Tensor) -> tuple[Tensor, Tensor]:
        """Go to the goal, or towards it until a coefficient is zero; which ones are."""
        shares = (a / (a - goal).clamp_min(TINY)).where(low, torch.inf)
        share = shares.min(dim=1, keepdim=True).values
        moved = a + share.where(back, 1) * (goal - a)
        out = low & ((shares == share) | (moved <= 0))
        return moved.masked_fill(out, 0), out
