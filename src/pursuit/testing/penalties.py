"""The contract of penalties on coefficients."""

from __future__ import annotations

from math import inf

import numpy as np

from pursuit.base.validation import Array
from pursuit.penalties import Penalty

STEP = 1e-7
"""A step by which slopes are measured."""
SLACK = 1e-6
"""What these may be off by, and other comparisons have to keep."""


def check_penalty(penalty: Penalty, *, atoms: int = 1, seed: int = 0, draws: int = 200) -> None:
    """Check that a penalty keeps the contract of `Penalty`.

    Value, prox, subgradient and conjugate have to speak of one g, which is what `terms` say: a
    weight of at least zero on an interval around zero, for every atom.

    Parameters
    ----------
    penalty
        With numbers for all atoms, or for so many:
    atoms
        how many there are.
    seed
        Of the examples.
    draws
        How many coefficients are looked at.
    """
    weights, lower, upper = penalty.parts(atoms)
    _hold(bool((weights >= 0).all()), penalty, "weights must be at least 0")
    _hold(bool(((lower <= 0) & (upper >= 0)).all()), penalty, "0 must lie in every interval")
    _hold(penalty.value(np.zeros(atoms)) == 0, penalty, "value(0) must be 0")
    rng = np.random.default_rng(seed)
    inside = np.clip(3 * rng.standard_normal((draws, atoms)), lower, upper)
    for w in inside:
        cost = float(np.sum(weights * np.abs(w)))
        _hold(
            abs(penalty.value(w) - cost) <= SLACK * (1 + cost),
            penalty,
            f"value(w) must be Σ λ_j|w_j| = {cost:.6g}, got {penalty.value(w):.6g}",
        )
    for w in inside:
        w, c = np.where(rng.random(atoms) < 0.2, 0.0, w), 3 * rng.standard_normal(atoms)
        _prox_is_best(penalty, c, rng)
        _slope_is_the_fall(penalty, c, w)
        _conjugate_is_above(penalty, c, w)


def _prox_is_best(penalty: Penalty, w: Array, rng: np.random.Generator) -> None:
    def cost(v: Array) -> float:
        return penalty.value(v) + float(np.sum((v - w) ** 2))

    best = penalty.prox(w, 2.0)
    others = [best + size * rng.standard_normal(len(w)) for size in (1e-3, 0.1, 1.0)]
    good = all(cost(best) <= cost(v) + SLACK for v in [*others, 0 * w])
    _hold(good and cost(best) < inf, penalty, "prox(w, h) must minimise g(v) + h(v − w)²/2")


def _slope_is_the_fall(penalty: Penalty, c: Array, w: Array) -> None:
    slopes, here = penalty.subgradient(c, w), penalty.value(w)
    for j in range(len(w)):
        falls = [0.0]
        for step in (STEP, -STEP):
            other = w.copy()
            other[j] += step
            falls.append((here - penalty.value(other) - c[j] * step) / STEP)
        _hold(
            abs(abs(slopes[j]) - max(falls)) <= 1e-4,
            penalty,
            f"|subgradient(c, w)| must be how fast c·w + g falls at best: {max(falls):.4g} where "
            f"c = {c[j]:.4g} and w = {w[j]:.4g}, got {abs(slopes[j]):.4g}",
        )


def _conjugate_is_above(penalty: Penalty, v: Array, w: Array) -> None:
    charge = float(penalty.conjugate(v, 1.0).sum())
    _hold(
        charge >= float(v @ w - w @ w / 2) - penalty.value(w) - SLACK,
        penalty,
        "conjugate(v, l2) must be at least vw − g(w) − l2 w²/2 for every w",
    )


def _hold(kept: bool, penalty: Penalty, sentence: str) -> None:
    if not kept:
        raise AssertionError(f"{type(penalty).__name__}: {sentence}")
