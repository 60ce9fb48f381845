"""Coefficients between bounds."""

from __future__ import annotations

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.scaling import LARGEST_PARAMETER
from pursuit.base.validation import in_rows, plain_array, shown
from pursuit.penalties.base import Number, Penalty


class Box(Penalty):
    """g = 0 where lower_j ≤ w_j ≤ upper_j, else ∞: coefficients stay between bounds.

    Parameters
    ----------
    lower, upper
        A number for all atoms, or one for each, for the atoms as they are given; −inf and inf
        where there is no bound. Zero lies between them: a run begins there, and an atom that is
        not in use has it.

    Examples
    --------
    >>> from pursuit import Box, Coordinates, SquaredDistance, solve
    >>> solve(SquaredDistance([3.0, -0.5, -2.0]), Coordinates(3), penalty=Box(-1, 2)).x.tolist()
    [2.0, -0.5, -1.0]
    """

    def __init__(self, lower: object, upper: object) -> None:
        self.lower, self.upper = _bound("lower", lower), _bound("upper", upper)
        sizes = {term.shape for term in (self.lower, self.upper) if isinstance(term, np.ndarray)}
        if len(sizes) > 1:
            raise InputError(
                "lower, upper: expected as many bounds below as above, got "
                f"{np.size(self.lower)} and {np.size(self.upper)}"
            )
        if np.any(np.greater(self.lower, self.upper)):
            raise InputError(
                f"lower, upper: expected lower ≤ upper, got {shown(lower)} and {shown(upper)}"
            )
        if np.any(np.greater(self.lower, 0)) or np.any(np.less(self.upper, 0)):
            raise InputError(
                "lower, upper: expected zero to lie between them, for it is the coefficient of an "
                f"atom that is not in use; got {shown(lower)} and {shown(upper)}"
            )

    def __repr__(self) -> str:
        return f"Box({shown(self.lower)}, {shown(self.upper)})"

    @property
    def terms(self) -> tuple[Number, Number, Number]:
        return 0.0, self.lower, self.upper


def _bound(name: str, value: object) -> Number:
    array = in_rows(plain_array(name, value), np.dtype(np.float64)).copy()
    if array.ndim > 1 or array.size == 0:
        raise InputError(f"{name}: expected a number or a row of them, got shape {array.shape}")
    if np.isnan(array).any():
        raise InputError(f"{name}: expected numbers, got nan")
    array[np.abs(array) > LARGEST_PARAMETER] *= np.inf
    return array if array.ndim else float(array)
