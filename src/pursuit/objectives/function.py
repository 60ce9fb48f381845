"""An objective from the functions a user already has."""

from __future__ import annotations

from collections.abc import Callable

from pursuit.base.errors import InputError
from pursuit.base.validation import Array, extent, non_negative, plain_array, positive, shown
from pursuit.objectives.base import Objective


class Function(Objective):
    """A convex and smooth f given by its value and its gradient.

    Parameters
    ----------
    value
        x ↦ f(x).
    gradient
        x ↦ ∇f(x), an array of x's shape. Method ``"gradient-free"`` does without it.
    shape
        The shape of x.
    L
        The smoothness constant. Where it is not known, give a method a step that does not need
        it: `Backtracking` or `ExactLineSearch`.
    mu
        The strong convexity constant.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import Backtracking, Coordinates, Function, methods, solve
    >>> f = Function(lambda x: np.cosh(x - 1).sum(), lambda x: np.sinh(x - 1), shape=(3,))
    >>> result = solve(f, Coordinates(3), methods.matching_pursuit(step=Backtracking()))
    >>> result.x.round(5).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        value: Callable[[Array], float],
        gradient: Callable[[Array], Array] | None = None,
        *,
        shape: int | tuple[int, ...],
        L: float | None = None,
        mu: float = 0.0,
    ) -> None:
        for name, function in (("value", value), ("gradient", gradient)):
            if function is not None and not callable(function):
                raise InputError(f"{name}: expected a function, got {type(function).__name__}")
        self._value, self._gradient = value, gradient
        sizes = shape if isinstance(shape, tuple) else (shape,)
        self.shape = tuple(extent("shape", size) for size in sizes)
        self.L = None if L is None else positive("L", L)
        self.mu = non_negative("mu", mu)

    def __repr__(self) -> str:
        return f"Function(x of shape {self.shape}, L={self.L})"

    def value(self, x: Array) -> float:
        value = self._value(x)
        try:
            return float(value)
        except (TypeError, ValueError) as error:
            raise InputError(f"value: expected a number, got {shown(value)}") from error

    def gradient(self, x: Array) -> Array:
        if self._gradient is None:
            raise InputError(
                'gradient: this Function has none; expected one, or method="gradient-free"'
            )
        # Not a number or infinite is for a line search to step back from, where it went too far.
        gradient = plain_array("gradient", self._gradient(x))
        if gradient.shape != self.shape:
            raise InputError(
                f"gradient: expected an array of shape {self.shape}, got shape {gradient.shape}"
            )
        return gradient
