"""Orthogonal matching pursuit on any device."""

from __future__ import annotations

import torch
from torch import Tensor

from pursuit.encoding.tensors.layouts import Filled
from pursuit.encoding.tensors.residuals import NOWHERE, Chosen, Residuals


class OrthogonalSteps(Residuals):
    """Orthogonal matching pursuit: the atoms in use are made orthonormal as they come.

    An atom in their span is passed over. All signals that go on have the same number of atoms.
    """

    bases = 1

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
        while True:
            chosen = self.best(torch.cat([self.index[:, :t], self.passed], dim=1))
            self.going &= chosen.ahead
            q, along = self._against_basis(chosen, t)
            length = torch.linalg.vector_norm(q, dim=1)
            within = self.going & (length <= self.apart)
            if not within.any():
                break
            passed = chosen.atom.where(within, NOWHERE)[:, None]
            self.passed = torch.cat([self.passed, passed], dim=1)
        self.upper[:, :t, t] = along.where(self.going[:, None], 0)
        self.upper[:, t, t] = length.where(self.going, 1)
        return chosen, (q / length[:, None]).where(self.going[:, None], 0)

    def _against_basis(self, chosen: Chosen, t: int) -> tuple[Tensor, Tensor]:
        """What an atom of unit norm has along the basis, and what is left; twice for rounding."""
        q = chosen.entries / self.lengths[chosen.atom, None]
        basis, along = self.basis[:, :t], self.along[:, :t] * 0
        for _ in range(2):
            part = torch.bmm(basis, q[:, :, None])
            along += part[:, :, 0]
            q = torch.baddbmm(q[:, None], part.transpose(1, 2), basis, alpha=-1)[:, 0]
        return q, along

    def _solved(self) -> Filled:
        a = torch.linalg.solve_triangular(self.upper, self.along[:, :, None], upper=True)[:, :, 0]
        self.value = a / self.lengths[self.index.clamp_min(0)]
        return self.filled()
