"""The ℓ1 penalty."""

from __future__ import annotations

from math import inf

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.scaling import LARGEST_PARAMETER
from pursuit.base.validation import real_array
from pursuit.penalties.base import Number, Penalty


class L1(Penalty):
    """g(w) = Σ_j λ_j |w_j|: few coefficients, and the others exactly zero.

    λ multiplies the plain sum of |w_j| beside the plain sum of losses: there are no means. Over
    `Coordinates`, ``LeastSquares(X, y)`` with ``L1(lam)`` is scikit-learn's ``Lasso(alpha)`` with
    lam = alpha · len(y), and ``Logistic(X, y)`` its ℓ1-``LogisticRegression(C)`` with lam = 1/C.

    Parameters
    ----------
    weights
        λ ≥ 0 for all atoms, or λ_j for each; for the atoms as they are given, whatever
        `unit_atoms` is. Zero leaves a coefficient free.

    Examples
    --------
    >>> from pursuit import Coordinates, L1, SquaredDistance, solve
    >>> solve(SquaredDistance([3.0, -0.5, -2.0]), Coordinates(3), penalty=L1(1.0)).x.tolist()
    [2.0, 0.0, -1.0]
    """

    def __init__(self, weights: object) -> None:
        array = real_array("weights", weights, minimum=0).astype(np.float64)
        if array.ndim > 1:
            raise InputError(f"weights: expected a number or a row of them, got {array.shape}")
        if array.min() < 0:
            raise InputError(f"weights: expected numbers of at least 0, got {array.min():g}")
        array = np.where(array < 1 / LARGEST_PARAMETER, 0, np.minimum(array, LARGEST_PARAMETER))
        self.weights: Number = array if array.ndim else float(array)

    def __repr__(self) -> str:
        return f"L1({self.weights if isinstance(self.weights, float) else 'one weight an atom'})"

    @property
    def terms(self) -> tuple[Number, Number, Number]:
        return self.weights, -inf, inf
