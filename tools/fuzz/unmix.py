"""The area `unmix`: abundances under every constraint, and pixels taken as endmembers."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.case import Case
from fuzz.data import Array, laid_out, magnitude, precision, rows, signals
from fuzz.solve import CLEAR
from fuzz.truth import SLACK, eps_of, exact, norm
from pursuit import unmixing

NAMES = ("scene", "endmembers", "constraint", "n_nonzero", "pixels", "r")
CONSTRAINTS = ("none", "non-negative", "sum-to-one", "sum-at-most-one", "sparse")
WARNED = ("the fit is bad", ".* pixels were left before", "found .* endmembers instead of")


def run(case: Case) -> None:
    """Unmix pixels, or extract endmembers from them, and check the result."""
    if case.chance(0.2):
        _extract(case)
        return
    bands, r, m = case.integer(1, 14), case.integer(1, 9), case.integer(1, 20)
    dtype = precision(case)
    spectra = rows(case, r, bands, dtype)
    spectra = np.abs(spectra) if case.chance(0.5) else spectra
    spectra[~spectra.any(axis=1), 0] = 1.0
    if case.chance(0.5):
        pixels = (case.rng.dirichlet(np.full(r, 0.7), m) @ spectra.astype(float)).astype(dtype)
    else:
        pixels = signals(case, spectra.astype(float), m, dtype)
    constraint = case.choose(*CONSTRAINTS)
    k = case.integer(1, r) if constraint == "sparse" else None
    case.input("pixels", pixels), case.input("endmembers", spectra)
    case.record(constraint=constraint, n_nonzero=k)
    given = laid_out(case, pixels), laid_out(case, spectra)

    def unmix(**more: Any) -> Any:
        return case.call(unmixing.unmix, *given, constraint, n_nonzero=k, progress=False,
                         names=NAMES, warned=WARNED, **more)  # fmt: skip

    result = unmix()
    check_abundances(case, pixels, spectra, constraint, k, result)
    other = unmix(threads=3)
    for name in ("abundances", "residual_norms", "angles"):
        same = getattr(result, name).tobytes() == getattr(other, name).tobytes()
        case.require(same, f"with 3 threads {name} differ")


def check_abundances(
    case: Case, pixels: Array, spectra: Array, constraint: str, k: int | None, result: Any
) -> None:
    """Check the constraint, the quality of the fit and the optimality of abundances."""
    y, E, A = exact(pixels), exact(spectra), exact(result.abundances)
    eps = eps_of(np.float32 if pixels.dtype == spectra.dtype == np.float32 else np.float64)
    case.require(A.shape == (len(y), len(E)), f"abundances of shape {A.shape}")
    case.require(np.isfinite(result.abundances).all(), "abundances that are not finite")
    case.require(constraint == "none" or (A >= 0).all(), "a negative abundance")
    sums, rounding = A.sum(axis=1), 4 * len(E) * eps
    if constraint == "sum-to-one":
        case.require((np.abs(sums - 1) <= rounding).all(), "abundances that do not sum to one")
    if constraint == "sum-at-most-one":
        case.require((sums <= 1 + rounding).all(), "abundances that sum to more than one")
    if constraint == "sparse":
        case.require(((A != 0).sum(axis=1) <= k).all(), "more endmembers than n_nonzero")
    residuals = y - A @ E
    size = norm(y) + np.abs(A) @ norm(E)
    off = np.abs(exact(result.residual_norms) - norm(residuals))
    # Norms are given in float64 whatever the abundances are.
    allowed = SLACK * 8 * eps_of("f8") * size
    case.require((off <= allowed).all(), f"a residual norm is {float(off.max()):.3g} off")
    angles = _angles(y, A @ E)
    blur = allowed / np.maximum(norm(A @ E), 1e-300) + SLACK * eps_of("f8")
    off = np.abs(exact(result.angles) - angles)
    case.require((off <= blur).all(), f"an angle is {float(off.max()):.3g} off")
    if constraint != "sparse":
        _check_optimal(case, E, A, residuals, size, constraint, eps)


def _angles(y: Array, fits: Array) -> Array:
    """Return the angles between pixels and fits, accurate for small ones."""
    u, v = (x / np.where(norm(x) > 0, norm(x), 1)[:, None] for x in (y, fits))
    return 2 * np.arctan2(norm(u - v), norm(u + v))


def _check_optimal(
    case: Case, E: Array, A: Array, residuals: Array, size: Array, constraint: str, eps: float
) -> None:
    """Check the KKT conditions: with g the gradient of ½‖y − aE‖², its largest violation.

    None: g = 0. Non-negative: g ≥ 0, and 0 where a > 0. A sum of one: the same for g − μ, with μ
    the multiplier of the sum, which is ⟨a, g⟩; a sum of at most one has μ ≤ 0.
    """
    g = -residuals @ E.T
    lengths, used = norm(E), A > 0
    multiplier = np.zeros((len(A), 1), dtype=A.dtype)
    if constraint.startswith("sum"):
        multiplier = (A * g).sum(axis=1, keepdims=True) / np.maximum(A.sum(axis=1), 1e-30)[:, None]
    if constraint == "sum-at-most-one":
        inside = A.sum(axis=1) < 1 - 8 * len(E) * eps
        multiplier = np.where(inside[:, None], 0, np.minimum(multiplier, 0))
    g = g - multiplier
    violation = np.abs(g) if constraint == "none" else np.where(used, np.abs(g), np.maximum(-g, 0))
    # With a sum the slopes of all endmembers are compared with that of the longest.
    lengths = np.full(len(E), lengths.max()) if constraint.startswith("sum") else lengths
    bound = CLEAR * len(E) * eps * size[:, None] * lengths
    if constraint.startswith("sum"):
        bound = bound + CLEAR * eps * lengths.max() ** 2
    share = violation / np.maximum(bound, 1e-300)
    if constraint == "non-negative" or constraint.startswith("sum"):
        # A coefficient that is rounding itself may stay in use against its slope.
        tiny = A * lengths <= CLEAR * eps * size[:, None]
        share = np.where(used & tiny & (g > 0), 0, share)
    case.require(
        (share <= 1).all(), f"{constraint}: optimality is violated {float(share.max()):.3g} times"
    )


def _extract(case: Case) -> None:
    """Successive projection as printed; other extractors return pixels of the scene."""
    bands, r = case.integer(2, 12), case.integer(1, 5)
    r = min(r, bands)
    pure = rows(case, r, bands, "f8", "positive")
    shares = np.vstack([np.eye(r), case.rng.dirichlet(np.full(r, 0.8), case.integer(0, 40))])
    pixels = shares @ pure + case.choose(0, 1e-3) * np.abs(pure).max() * case.rng.random(
        (len(shares), bands)
    )
    pixels = case.input("pixels", (pixels * magnitude(case)).astype(precision(case)))
    name = case.choose("spa", "vca", "pick")
    case.record(r=r, extractor=name)
    found = case.call(getattr(unmixing, name), pixels, r, names=NAMES, warned=WARNED, valid=False)
    case.require(len(found.endmembers) <= r, "more endmembers than r")
    if name == "spa":
        expected = _successive_projection(exact(pixels), r)
        if expected is not None:
            case.require(found.indices.tolist() == expected, f"spa takes {found.indices}")
    if name != "pick":
        case.require(np.array_equal(found.endmembers, pixels[found.indices]), "no pixels")


def _successive_projection(points: Array, r: int) -> list[int] | None:
    """Return the pixel farthest from the span of those before, r times; None near a tie."""
    chosen: list[int] = []
    spanned = 1e-6 * (points * points).sum(axis=1).max()
    for _ in range(r):
        squares = (points * points).sum(axis=1)
        *_, second, first = np.sort(squares) if len(squares) > 1 else (0, squares[0])
        if second >= first * 0.99999 or first <= spanned:
            return None
        chosen.append(int(np.argmax(squares)))
        u = points[chosen[-1]] / norm(points[chosen[-1]])
        points = points - np.outer(points @ u, u)
    return chosen
