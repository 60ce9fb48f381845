"""The geometry of sets that know it without computing."""

from __future__ import annotations

from dataclasses import dataclass

from pursuit.base.validation import Array


@dataclass(frozen=True)
class ClosedForm:
    """mDW², and the diagonal of P̃ over the flattened space, zero outside lin(A).

    It is for unit atoms and a P̃ that is diagonal, constant over the support of every atom. Then
    w = 1/P̃ there, so δ̂² = min P̃ and ν′ = 1/δ̂²; Σ p_j w_j c_j² = ‖d‖², so ν = 1/mDW².
    """

    squared_width: float
    diagonal: Array

    @property
    def quality(self) -> float:
        """δ̂²."""
        return float(self.diagonal[self.diagonal > 0].min())
