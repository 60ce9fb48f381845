"""Infinite sets whose oracle keeps equation (3) for a given δ and not a bit more.

Each answers with an atom that has δ of the best correlation and points where it helps least: the
theorems have to hold for it, and a claim of a larger δ has to fail.
"""

import numpy as np

from pursuit import Oracle


def across(d, toward):
    """The unit vector orthogonal to d that is nearest to another one."""
    rest = toward - (toward @ d) / (d @ d) * d
    size = np.linalg.norm(rest)
    if size <= 1e-9 * np.linalg.norm(toward):
        rest = np.roll(d, 1) - (np.roll(d, 1) @ d) / (d @ d) * d
        size = np.linalg.norm(rest)
    return rest / size


def lazy_sphere(d, delta, toward, **options):
    """The unit sphere of d dimensions: δ of the gradient, and the rest of it `toward`."""

    def answer(g):
        if not g.any():
            return np.eye(d)[0]
        return delta * g / np.linalg.norm(g) + np.sqrt(1 - delta**2) * across(g, toward)

    return Oracle(answer, d, radius=1.0, delta=delta, sample=lambda rng: _unit(rng, d), **options)


def lazy_ellipsoid(M, delta, toward, **options):
    """{Mz : ‖z‖ = 1} for a square matrix M."""
    size, d = float(np.linalg.norm(M, 2)), len(M)
    base = lazy_sphere(d, delta, toward)
    return Oracle(
        lambda g: M @ base.function(M.T @ g),
        d,
        radius=size,
        delta=delta,
        sample=lambda rng: M @ _unit(rng, d),
        **options,
    )


def lazy_rank_one(shape, delta, **options):
    """Matrices uvᵀ of norm one: v of the leading pair, and a u that is δ of its own."""

    def answer(g):
        U, _, Vt = np.linalg.svd(g)
        return np.outer(delta * U[:, 0] + np.sqrt(1 - delta**2) * U[:, -1], Vt[0])

    def sample(rng):
        return np.outer(_unit(rng, shape[0]), _unit(rng, shape[1]))

    return Oracle(answer, shape, radius=1.0, delta=delta, sample=sample, **options)


def _unit(rng, d):
    z = rng.standard_normal(d)
    return z / np.linalg.norm(z)
