"""The losses of linear models by the names that estimators give them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np

from pursuit.atoms.coordinates import Coordinates
from pursuit.base.validation import Array, one_of
from pursuit.objectives.base import Objective
from pursuit.objectives.classification import Logistic
from pursuit.objectives.quadratic import LeastSquares
from pursuit.objectives.regression import Huber, Poisson, Squares
from pursuit.solving.solve import solve

Make = Callable[..., Objective]
"""(X, y, l2, weights, intercept) ↦ f."""


@dataclass(frozen=True)
class Loss:
    """ℓ of a linear model: f = Σ wᵢ ℓ(yᵢ, xᵢᵀβ + b) + l2/2 ‖β‖².

    Attributes
    ----------
    make, by_sample
        f as it is minimised, and as one that gives the losses of single samples.
    mean
        xᵀβ + b ↦ the response that is expected.
    likelihood
        Whether ℓ is minus the logarithm of a likelihood (up to a constant), of known scale.
    """

    make: Make
    by_sample: Make
    mean: Callable[[Array], Array]
    likelihood: bool

    def losses(self, y: Array, u: Array) -> Array:
        """ℓ(yᵢ, uᵢ) for each sample."""
        model: Any = self.by_sample(np.ones((len(y), 1), u.dtype), y)
        losses: Array = model.losses(u)
        return losses

    def constant(self, y: Array, weights: Array | None) -> float:
        """The b that fits best alone."""
        f = self.make(np.ones((len(y), 1), y.dtype), y, 0.0, weights)
        return float(solve(f, Coordinates(1), "orthogonal", progress=False, threads=1).x[0])

    def bic(self, total: float, size: int, samples: float) -> float:
        """−2 log likelihood + size · log(samples), `total` being Σ wᵢ ℓᵢ.

        Where the scale of the noise is not known it is estimated: samples · log(2 total/samples).
        """
        fit = 2 * total
        if not self.likelihood:
            fit = samples * log(fit / samples) if fit > 0 else -inf
        return fit + size * float(np.log(samples))


def _same(u: Array) -> Array:
    return u


def response(name: str, delta: float) -> Loss:
    """The loss of a response: squared, huber (linear beyond `delta`) or poisson."""
    name = one_of("loss", name, ("squared", "huber", "poisson"))
    if name == "squared":
        return Loss(LeastSquares, Squares, _same, likelihood=False)
    if name == "poisson":
        return Loss(Poisson, Poisson, np.exp, likelihood=True)

    def huber(X: Any, y: Array, *more: Any, **named: Any) -> Objective:
        return Huber(X, y, delta, *more, **named)

    return Loss(huber, huber, _same, likelihood=False)


LABELS = Loss(Logistic, Logistic, _same, likelihood=True)
"""Of labels −1 and 1."""
