"""Separable functions of the coefficients, g(w) = Σ_j g_j(w_j), convex, with g_j(0) finite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from pursuit.base.validation import Array


class Penalty(ABC):
    """g(w) = Σ_j g_j(w_j) of the coefficients of a finite set: f(Σ w_j z_j) + g(w) is minimised.

    A rule asks the penalty and knows no other: what is steepest, where a step ends, whether the
    combinations of atoms are still a linear space.
    """

    hull: ClassVar[str] = "span"
    """What combinations of the atoms with finite g fill."""
    one_sided: ClassVar[bool] = False
    """Whether coefficients keep to one side of zero, so that the set is not A ∪ −A."""

    @abstractmethod
    def value(self, w: Array) -> float:
        """g(w); inf outside of its domain."""

    @abstractmethod
    def prox(self, w: Array, h: Array | float) -> Array:
        """argmin over v of g(v) + Σ_j h_j (v_j − w_j)²/2."""

    @abstractmethod
    def subgradient(self, c: Array, w: Array) -> Array:
        """Of c_j + ∂g_j(w_j) the number next to zero, where c = Z∇f: zero exactly at the optimum.

        Its size is the distance of −c_j from the subdifferential: what a steepest rule compares.
        """

    @abstractmethod
    def gain(self, c: Array) -> Array:
        """How fast f + g falls at best along each atom from w = 0, where c = Z∇f; may be < 0."""

    def room(self, w: float, c: float) -> float:
        """How far w may move against the sign of c before it leaves the domain."""
        return inf


@dataclass(frozen=True)
class Free(Penalty):
    """g = 0: no penalty, combinations are lin(A)."""

    def value(self, w: Array) -> float:
        return 0.0

    def prox(self, w: Array, h: Array | float) -> Array:
        return w

    def subgradient(self, c: Array, w: Array) -> Array:
        return c

    def gain(self, c: Array) -> Array:
        return np.abs(c)


@dataclass(frozen=True)
class NonNegative(Penalty):
    """g = 0 for w ≥ 0, else ∞: coefficients never fall below zero."""

    hull: ClassVar[str] = "cone"
    one_sided: ClassVar[bool] = True

    def value(self, w: Array) -> float:
        return 0.0 if np.all(w >= 0) else inf

    def prox(self, w: Array, h: Array | float) -> Array:
        return np.maximum(w, 0)

    def subgradient(self, c: Array, w: Array) -> Array:
        return np.where((c >= 0) & (w <= 0), 0, c)

    def gain(self, c: Array) -> Array:
        return -c

    def room(self, w: float, c: float) -> float:
        return w if c > 0 else inf


FREE = Free()
