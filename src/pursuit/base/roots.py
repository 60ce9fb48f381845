"""The root that every accelerated method of the paper takes once an iteration."""

from math import sqrt


def next_weight(beta: float, L: float, nu: float = 1.0) -> float:
    """α > 0 with α²Lν = β + α, the first line of the loops of Algorithms 3 and 4.

    Kernels compile this very function. `L` alone may be the product κ = Lν.
    """
    return (1 + sqrt(1 + 4 * beta * L * nu)) / (2 * L * nu)
