"""The polar {u : \\|⟨a_j, u⟩\\| ≤ 1 for every j} of the rows of a matrix, and its corners.

A convex function is largest over it at a corner. Up to `ENUMERATED` candidates the corners are
listed and what follows is exact; otherwise a local search finds some of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import comb

import numpy as np

from pursuit.atoms.whitening import whiten
from pursuit.base.errors import InputError
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.geometry.designs import e_optimal, multiplicative

EPS = tolerances(np.float64).eps

ENUMERATED = 60_000
"""The most candidates for a corner that are looked at one by one."""
PIVOTED = 1_000_000
"""n·r² up to which the local search goes on from corner to corner."""
STARTS = 12
"""Starts of the local search."""
ON = 1e-9
"""A constraint is active when it is met up to this."""
DEPENDENT = 1e-13
"""Constraints with a smaller ratio of singular values meet in no corner of their own."""


@dataclass(frozen=True)
class Corners:
    """Corners u of the polar, and a proved bound on ‖u‖ over all of it.

    Attributes
    ----------
    points
        Corners, rows; up to rounding they lie in the polar.
    longest
        At least the largest ‖u‖; infinite where nothing is proved.
    complete
        Whether all of the corners are listed.
    """

    points: Array
    longest: float
    complete: bool


@dataclass(frozen=True)
class Width:
    """W = min over ‖u‖ = 1 of max_j \\|⟨a_j, u⟩\\|, in [lower, upper]; the upper at `witness`."""

    lower: float
    upper: float
    witness: Array | None


def width(rows: Array) -> Width:
    """W of rows that span their space: 1 / max ‖u‖ over the polar.

    The one function behind mDW (the atoms), μ_A (their images under H^½) and R_A.
    """
    scaled, size = _scaled(rows)
    return _between(corners(scaled), size)


def proved_width(rows: Array) -> Width:
    """The lower end of W alone, unless listing the corners gives both."""
    scaled, size = _scaled(rows)
    listed = listed_corners(scaled)
    return (
        Width(_spread(scaled)[1] * size, np.inf, None) if listed is None else _between(listed, size)
    )


def _between(found: Corners, size: float) -> Width:
    lengths = np.linalg.norm(found.points, axis=1)
    lengths = np.where(np.isfinite(lengths), lengths, 0.0)
    best = int(np.argmax(lengths))
    if not lengths[best]:
        return Width(size / found.longest, np.inf, None)
    upper = 1 / float(lengths[best])
    lower = min(1 / found.longest, upper)
    return Width(lower * size, upper * size, found.points[best] / size)


def _scaled(rows: Array) -> tuple[Array, float]:
    """Rows of norm at most one, and what they were divided by."""
    size = float(np.abs(rows).max())
    size *= float(np.linalg.norm(rows / size, axis=1).max())
    return rows / size, size


def corners(rows: Array) -> Corners:
    """All corners of the polar where they can be listed, else some that a search finds."""
    listed = listed_corners(rows)
    if listed is not None:
        return listed
    weights, bound = _spread(rows)
    points = searched_corners(rows, weights)
    return Corners(points, 1 / bound if bound else np.inf, False)


def _spread(rows: Array) -> tuple[Array, float]:
    """Good weights and their bound on W; fewer steps for large matrices."""
    n, r = rows.shape
    return e_optimal(rows, steps=100 if n * r * r <= PIVOTED else 40)


# Listing --------------------------------------------------------------------------------


def listed_corners(rows: Array) -> Corners | None:
    """Every corner, one of each pair ±u; None where there are too many candidates.

    In coordinates with Σ q_j b_j b_jᵀ = I the polar lies in the unit ball, so a row shorter than
    one is never active.
    """
    r = rows.shape[1]
    if 2 ** (r - 1) > ENUMERATED:
        return None
    try:
        found = whiten(rows, multiplicative(rows, 20))
    except InputError:
        return None
    active = found.whitened[found.lengths >= 1 - ON]
    if not 0 < comb(len(active), r) * 2 ** (r - 1) <= ENUMERATED:
        return None
    candidates = _candidates(active)
    peaks = np.abs(candidates @ active.T).max(axis=1)
    inside = (peaks <= 1 + ON) & (np.linalg.norm(candidates, axis=1) <= 1 + ON)
    if not inside.any():
        return None
    points = (candidates[inside] / peaks[inside, None]) @ found.transform.T
    return Corners(points, float(np.linalg.norm(points, axis=1).max()), True)


def _candidates(active: Array) -> Array:
    """Return the points at which r constraints are met."""
    r = active.shape[1]
    signs = np.array([(1, *rest) for rest in product((1, -1), repeat=r - 1)], dtype=float).T
    systems = active[np.array(list(combinations(range(len(active)), r)))]
    spectrum = np.linalg.svd(systems, compute_uv=False)
    regular = spectrum[:, -1] > DEPENDENT * spectrum[:, 0]
    solved = (np.linalg.inv(systems[regular]) @ signs).transpose(0, 2, 1)
    candidates: Array = solved.reshape(-1, r)
    return candidates


# Searching ------------------------------------------------------------------------------


def searched_corners(rows: Array, weights: Array) -> Array:
    """Long corners of the polar: climbs from directions in which Σ q_j a_j a_jᵀ is small."""
    n, r = rows.shape
    rng = np.random.default_rng(0)
    spectrum, axes = np.linalg.eigh((weights[:, None] * rows).T @ rows)
    floor = r * tolerances(np.float64).rank * spectrum[-1]
    emphasis = (np.maximum(spectrum, floor) / max(spectrum[0], floor)) ** -4.0
    starts = [axes[:, 0], *(axes @ (emphasis * rng.standard_normal((STARTS - 1, r))).T).T]
    points = [_climb(rows, start, rng) for start in starts]
    if n * r * r <= PIVOTED:
        points += [_pivot(rows, u) for u in points]
    return np.array(points)


def _climb(rows: Array, start: Array, rng: np.random.Generator) -> Array:
    """From a point of the boundary to a corner, never making ‖u‖ smaller.

    Each move keeps the active constraints active and goes outward until another one is met.
    """
    r = rows.shape[1]
    u: Array = start / np.abs(rows @ start).max()
    held = np.empty((0, r))
    active = np.zeros(len(rows), dtype=bool)
    for _ in range(r + 1):
        c = rows @ u
        for j in np.flatnonzero((np.abs(c) > 1 - ON) & ~active):
            active[j] = True
            fresh = _outside(held, rows[j])
            size = np.linalg.norm(fresh)
            if size > ON * np.linalg.norm(rows[j]):
                held = np.vstack([held, fresh / size])
        if len(held) >= r:
            break
        outward = _outside(held, u)
        if np.linalg.norm(outward) <= ON * np.linalg.norm(u):
            outward = _outside(held, rng.standard_normal(size=(r,)))
        u = u + _room(c, rows @ outward, active).min() * outward
    farthest: Array = u / np.abs(rows @ u).max()
    return farthest


def _pivot(rows: Array, u: Array, moves: int = 50) -> Array:
    """From a corner along the edge that lengthens u most, while there is one."""
    r = rows.shape[1]
    for _ in range(moves):
        c = rows @ u
        active = np.abs(c) > 1 - 10 * ON
        if active.sum() != r or np.linalg.cond(rows[active]) > 1e10:
            break
        edges = -np.linalg.inv(rows[active]) * np.sign(c[active])
        # On its edge the constraint that is let go falls from one to minus one.
        length = np.minimum(_room(c[:, None], rows @ edges, active).min(axis=0), 2)
        gain = 2 * length * (u @ edges) + length**2 * np.einsum("ij,ij->j", edges, edges)
        best = int(np.argmax(gain))
        if not gain[best] > 1e-10 * (u @ u):
            break
        u = u + length[best] * edges[:, best]
        u = u / np.abs(rows @ u).max()
    return u


def _room(c: Array, rise: Array, active: Array) -> Array:
    """How far each constraint lets u go when its c_j grows by `rise`."""
    rise = np.where(active.reshape(-1, *[1] * (rise.ndim - 1)), 0.0, rise)
    still = np.abs(rise) <= 1e-300
    return np.where(still, np.inf, (np.sign(rise) - c) / np.where(still, 1.0, rise))


def _outside(held: Array, vector: Array) -> Array:
    """The part of a vector outside an orthonormal basis, orthogonalised twice."""
    rest = vector - held.T @ (held @ vector)
    twice: Array = rest - held.T @ (held @ rest)
    return twice
