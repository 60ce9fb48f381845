"""What draws from a set of atoms show of its second moments, with a stated confidence.

P̃ = E zzᵀ is estimated by the mean over N draws, P̂. Two things are known before anything is drawn:
‖z‖ ≤ radius and dim lin(A). For a fixed direction u, ⟨u, z⟩²/radius² is a number in [0, 1], and a
mean of N of them is above x where its expectation is m < x with a probability of at most
exp(−N kl(x, m)) (Chernoff), so that λ_min(P̂) bounds λ_min(P̃) from below, and the leverages
w = zᵀPz ≤ radius²/λ_min(P̃) from above. With w ≤ W the eigenvalues of P̂ relative to P̃ leave
[1 − ε, 1 + ε] with a probability of at most 2r exp(−N h(ε)/W) (matrix Chernoff, Tropp 2012): then
(1 − θ)FᵀF ≤ P̃ ≤ (1 + θ)FᵀF for a multiple FᵀF of P̂. What follows from P̃ holds where this does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, log1p

import numpy as np

from pursuit.atoms.whitening import whiten
from pursuit.base.errors import InputError
from pursuit.base.tolerances import DOUBLE
from pursuit.base.validation import Array

FIRST = 1024
"""Draws at the first look; their number is doubled until they say enough."""
ENOUGH = 0.2
"""θ at which they do."""
ENTRIES = 2**25
"""Numbers in all drawn atoms together above which no more are drawn."""
PARTS = 9
"""Statements that hold together with the stated confidence."""

Draws = Callable[[int], Array]
"""How many ↦ so many new atoms, as rows."""


@dataclass(frozen=True)
class Leverages:
    """What is known of leverages w = ‖z‖_P² that cannot be listed, those of an infinite set.

    Attributes
    ----------
    largest
        Bounds on max w over the set; δ̂² is one over it.
    energy
        Bounds on max over g of E[w⟨g, z⟩²]/E⟨g, z⟩².
    random
        Bounds on ν′, the largest E[w⟨g, z⟩²]/E[⟨g, z⟩²/‖z‖²].
    confidence
        With which all of them hold at once.
    """

    largest: tuple[float, float]
    energy: tuple[float, float]
    random: tuple[float, float]
    confidence: float = 1.0


@dataclass(frozen=True)
class Drawn:
    """F and G with (1 − θ)FᵀF ≤ P̃ ≤ (1 + θ)FᵀF and GᵀG = (FᵀF)⁺, θ being `doubt`."""

    frame: Array
    dual: Array
    doubt: float
    leverages: Leverages


def known(matrix: Array, rank: int, radius: float, largest: float | None) -> Drawn:
    """The same where P̃ is known, and perhaps the largest leverage."""
    spectrum, axes = np.linalg.eigh(matrix)
    used = spectrum > len(spectrum) * DOUBLE.rank * spectrum[-1]
    if int(used.sum()) != rank:
        raise InputError(
            f"moments: expected a P̃ whose range is lin(A), of {rank} dimensions, got one of "
            f"{int(used.sum())}"
        )
    roots, rows = np.sqrt(spectrum[used]), axes[:, used].T
    least, r = float(spectrum[used].min()), float(rank)
    W = min(radius * radius / least, inf if largest is None else largest)
    lower = (W if largest is not None else r, W)
    bounds = Leverages(lower, (r, W), (r * r * least, W * radius * radius))
    return Drawn(roots[:, None] * rows, rows / roots[:, None], 0.0, bounds)


def estimated(draw: Draws, rank: int, radius: float, confidence: float, most: int) -> Drawn:
    """The moments that enough draws show; an InputError where more than `most` would be needed."""
    rows, look = draw(min(FIRST, most)), 1
    while True:
        # Looks at 2, 4, 8 … times as many draws share what may go wrong: Σ 1/(k(k + 1)) = 1.
        eta = (1 - confidence) / (look * (look + 1))
        found = _seen(rows, rank, radius, eta / PARTS, confidence)
        full = 2 * rows.size > ENTRIES or 2 * len(rows) > most
        if found is not None and (found.doubt <= ENOUGH or full):
            return found
        if full:
            raise InputError(
                f"moments: {len(rows):,} draws say too little about atoms that span {rank} "
                "dimensions; expected moments= for the set, or a method that needs none"
            )
        rows, look = np.vstack([rows, draw(len(rows))]), look + 1


def _seen(rows: Array, rank: int, radius: float, eta: float, confidence: float) -> Drawn | None:
    """What these draws show, each statement failing with probability η; None for nothing."""
    norms = np.linalg.norm(rows, axis=1)
    if norms.max() > radius * (1 + DOUBLE.input):
        raise InputError(
            f"radius: an atom of norm {norms.max():.6g} was drawn; expected a radius of at least "
            f"that, got {radius:.6g}"
        )
    if not norms.all():
        raise InputError("sample: an atom of zeros was drawn; expected atoms other than zero")
    basis = _basis(rows, rank)
    if basis is None:
        return None
    inside, N, r = rows @ basis.T, len(rows), float(rank)
    W, least = _largest_leverage(inside, radius, eta)
    theta, centre = _relative_error(N / W, rank, eta)
    if theta >= 1:
        return None
    weights = np.full(N, centre / N)
    found = whiten(inside, weights)
    w = np.minimum(found.lengths / (1 - theta), W)  # at least the true ones
    energy = _most(inside, w, weights, W * W, N, theta, eta)
    random = _random(inside, w, norms, (W, radius), eta)
    low = max(r * r / _mean_above(w / norms**2, 1 / least, eta), r * r * least)
    largest = max(r, float(found.lengths.max()) / (1 + theta))
    bounds = Leverages(
        (min(largest, W), W), (r, min(energy, W)), (min(low, random), random), confidence
    )
    return Drawn(found.frame @ basis, found.transform.T @ basis, theta, bounds)


def _basis(rows: Array, rank: int) -> Array | None:
    """An orthonormal basis of what was drawn, where that is all of lin(A)."""
    if rank == rows.shape[1]:
        return np.eye(rank)
    _, s, vt = np.linalg.svd(rows, full_matrices=False)
    spanned = int(np.count_nonzero(s > max(rows.shape) * DOUBLE.rank * s[0]))
    if spanned > rank:
        raise InputError(f"rank: drawn atoms span {spanned} dimensions, got a rank of {rank}")
    basis: Array = vt[:rank]
    return basis if spanned == rank else None


def _largest_leverage(inside: Array, radius: float, eta: float) -> tuple[float, float]:
    """W ≥ max w, and the lower bound on λ_min(P̃) that it comes from."""
    singular = np.linalg.svd(inside, compute_uv=False) if len(inside) >= inside.shape[1] else [0.0]
    seen = float(singular[-1]) ** 2 / len(inside) / radius**2
    least = _below(min(seen, 1.0), log(1 / eta) / len(inside)) * radius**2
    return (radius**2 / least if least > 0 else inf), least


def _relative_error(draws: float, rank: int, eta: float) -> tuple[float, float]:
    """(θ, c) with (1 − θ)cP̂ ≤ P̃ ≤ (1 + θ)cP̂, for N/W draws; each side fails with probability η."""
    room = log(rank / eta) / draws
    if not room < 1:
        return inf, 1.0
    low = _root(lambda e: e + (1 - e) * log1p(-e), room, 1 - DOUBLE.equal)
    high = _root(lambda e: (1 + e) * log1p(e) - e, room, 4.0)
    ends = 1 / (1 + high), 1 / (1 - low)
    return (ends[1] - ends[0]) / (ends[0] + ends[1]), (ends[0] + ends[1]) / 2


def _most(
    inside: Array, w: Array, weights: Array, cap: float, N: int, theta: float, eta: float
) -> float:
    """At least λ_max(E[w zzᵀ], P̃): of a mean of matrices whose norms are at most `cap`."""
    b = whiten(inside, weights).whitened
    mean = float(np.linalg.eigvalsh((b * (w / N)[:, None]).T @ b)[-1]) / (1 - theta)
    return _above(min(mean / cap, 1.0), log(1 / eta) / N) * cap


def _random(
    inside: Array, w: Array, norms: Array, largest: tuple[float, float], eta: float
) -> float:
    """At least ν′: w ‖z‖² times directions in coordinates where their own moments are one."""
    (W, radius), N, rank = largest, len(inside), inside.shape[1]
    directions = inside / norms[:, None]
    W_d, _ = _largest_leverage(directions, 1.0, eta)
    theta, centre = _relative_error(N / W_d, rank, eta)
    if theta >= 1:
        return W * radius**2
    weights = np.full(N, centre / N)
    heavy = w * norms**2
    return min(_most(directions, heavy, weights, W * radius**2 * W_d, N, theta, eta), W * radius**2)


def _mean_above(values: Array, cap: float, eta: float) -> float:
    """At least the expectation of numbers in [0, cap]."""
    return _above(min(float(values.mean()) / cap, 1.0), log(1 / eta) / len(values)) * cap


# A mean of numbers in [0, 1] --------------------------------------------------------------


def _kl(x: float, m: float) -> float:
    """x log(x/m) + (1 − x) log((1 − x)/(1 − m))."""
    if not 0 < m < 1:
        return inf
    left = x * log(x / m) if x > 0 else 0.0
    right = (1 - x) * log((1 - x) / (1 - m)) if x < 1 else 0.0
    return left + right


def _below(x: float, room: float) -> float:
    """The smallest m ≤ x with kl(x, m) ≤ room."""
    if x <= 0:
        return 0.0
    return x - _root(lambda s: _kl(x, x - s), room, x * (1 - DOUBLE.equal))


def _above(x: float, room: float) -> float:
    """The largest m ≥ x with kl(x, m) ≤ room."""
    if x >= 1:
        return 1.0
    return x + _root(lambda s: _kl(x, x + s), room, (1 - x) * (1 - DOUBLE.equal))


def _root(grows: Callable[[float], float], value: float, most: float) -> float:
    """s in [0, most] with grows(s) ≥ value, up to rounding the first; `most` if there is none."""
    low, high = 0.0, most
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if grows(middle) < value else (low, middle)
    return high
