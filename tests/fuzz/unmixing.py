"""The area `unmix`: abundances under every constraint, and pixels picked as endmembers."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fuzz.case import Case, Finding, words
from fuzz.generators import Array, junked, laid_out, near, precision, real_type, rows
from fuzz.oracle import FLOOR, LD, ROOM, eps_of, exact, norm, tiny_of
from pursuit import unmixing
from pursuit.unmixing.pickers import PICKERS

NAMES = words("pixels r values pixel maps path") | set(inspect.signature(unmixing.unmix).parameters)
CONSTRAINTS = ("none", "non-negative", "sum-to-one", "sum-at-most-one", "sparse")
FEWER = ("found .* endmembers instead of",)
SAID = (".* pixels were left before their best abundances were proved", "the fit is bad")
CLEAR = 1e3


def unmix_case(case: Case) -> None:
    case.weighted({_unmix: 4, _pick_endmembers: 1})(case)


@dataclass(frozen=True)
class Mixed:
    """Pixels, endmembers and a constraint."""

    pixels: Any
    endmembers: Any
    constraint: str
    n_nonzero: int | None

    @cached_property
    def y(self) -> Array:
        return exact(self.pixels)

    @cached_property
    def rows(self) -> Array:
        return exact(self.endmembers)

    @property
    def summed(self) -> bool:
        return self.constraint.startswith("sum")

    @property
    def dtype(self) -> np.dtype[Any]:
        return precision(self.pixels, self.endmembers)

    @cached_property
    def eps(self) -> float:
        return eps_of(self.dtype)

    @cached_property
    def tiny(self) -> Any:
        return tiny_of(self.dtype)


def _unmix(case: Case) -> None:
    mixed, options = _mixed(case)
    call = lambda **more: unmixing.unmix(  # noqa: E731
        mixed.pixels, mixed.endmembers, **(options | more)
    )
    found = case.ask(call, NAMES, valid=not case.odd, warned=SAID)
    case.tell(found=repr(found).replace("\n", " |"))
    check_unmixing(case, mixed, found)
    if case.chance(0.3):
        other = case.ask(lambda: call(threads=3), NAMES, valid=True, warned=SAID)
        for name in ("abundances", "residual_norms", "angles", "pixel_norms"):
            if getattr(found, name).tobytes() != getattr(other, name).tobytes():
                raise Finding(f"with 3 threads {name} differs")


def _mixed(case: Case) -> tuple[Mixed, dict[str, Any]]:
    bands, r = case.whole(1, 14), case.whole(1, 9)
    dtype = real_type(case)
    spectra = rows(case, r, bands, dtype)
    spectra = np.abs(spectra) if case.chance(0.5) and dtype.kind == "f" else spectra
    pixels = near(case, spectra, case.whole(1, 10), dtype if case.chance(0.8) else "f8")
    if case.chance(0.5) and not case.odd:  # of one unit, as a sum of one needs them
        shares = case.rng.dirichlet(np.full(r, 0.7), len(pixels))
        pixels = (shares @ spectra.astype(float)).astype(pixels.dtype)
    constraint = case.pick(*CONSTRAINTS)
    k = case.whole(1, r + 1) if constraint == "sparse" else None
    case.keep("pixels", pixels), case.keep("endmembers", spectra)
    case.tell(constraint=constraint, n_nonzero=k)
    options = {"constraint": constraint, "n_nonzero": k, "progress": False}
    options = junked(case, options, ("constraint", "n_nonzero", "threads"))
    asked = options["n_nonzero"]  # an odd one may be valid all the same
    k = int(asked) if isinstance(asked, (int, np.integer)) else k
    mixed = Mixed(laid_out(case, pixels), laid_out(case, spectra), constraint, k)
    return mixed, options


def check_unmixing(case: Case, mixed: Mixed, found: Any) -> None:
    """Abundances obey, nothing better obeys, and what is said of the fits is true."""
    A = exact(found.abundances)
    case.require(A.shape == (len(mixed.y), len(mixed.rows)), "abundances of another shape")
    case.require(np.isfinite(found.abundances).all(), "abundances that are not finite")
    if mixed.constraint != "none":
        case.require((A >= 0).all(), "a negative abundance")
    if mixed.constraint == "sum-to-one":
        off = np.abs(A.sum(axis=1) - 1).max()
        case.require(off <= 4 * len(mixed.rows) * mixed.eps, f"a sum is off by {float(off):.3g}")
    if mixed.constraint == "sum-at-most-one":
        over = A.sum(axis=1).max() - 1
        case.require(over <= 4 * len(mixed.rows) * mixed.eps, f"a sum is over by {float(over):.3g}")
    if mixed.constraint == "sparse":
        most = int((A != 0).sum(axis=1).max())
        case.require(most <= (mixed.n_nonzero or 0), "more endmembers than n_nonzero")
    residuals = mixed.y - A @ mixed.rows
    size = norm(mixed.y) + np.abs(A) @ norm(mixed.rows)
    _quality(case, mixed, found, residuals, size)
    if mixed.constraint == "sum-at-most-one":  # with shade, an endmember of zeros, sums are one
        shaded = np.vstack([mixed.rows, np.zeros_like(mixed.rows[:1])])
        mixed = Mixed(mixed.pixels, shaded.astype(mixed.dtype), "sum-to-one", None)
        A = np.column_stack([A, np.maximum(1 - A.sum(axis=1), 0)])
    _optimal(case, mixed, A, residuals, size)


def _quality(case: Case, mixed: Mixed, found: Any, residuals: Array, size: Array) -> None:
    true, rounding = norm(residuals), ROOM * 8 * eps_of(np.float64) * size + mixed.tiny
    off = np.abs(exact(found.residual_norms) - true)
    case.require((off <= rounding).all(), f"a residual norm is off by {float(off.max()):.3g}")
    off = np.abs(exact(found.pixel_norms) - norm(mixed.y))
    case.require((off <= rounding).all(), f"a pixel norm is off by {float(off.max()):.3g}")
    fits = mixed.y - residuals
    angles = _angles(mixed.y, fits)
    # Fits that are mostly cancellation have an angle up to that.
    blur = rounding / np.maximum(norm(fits), FLOOR) + 64 * eps_of(np.float64)
    off = np.abs(exact(found.angles) - angles)
    case.require((off <= blur).all(), f"an angle is off by {float(off.max()):.3g}")
    top = norm(mixed.y).max()
    if top > 0 and true.max() < 1e300 * top:
        error = np.sqrt(((true / top) ** 2).sum() / ((norm(mixed.y) / top) ** 2).sum())
        off, blur = abs(LD(found.relative_error) - error), norm(rounding) / norm(norm(mixed.y))
        share = 1e-9 + mixed.tiny / norm(norm(mixed.y))  # the least norms have few digits
        case.require(
            off <= share * (1 + error) + blur, f"the relative error is off by {float(off):.3g}"
        )


def _angles(y: Array, fits: Array) -> Array:
    lengths = norm(y), norm(fits)
    u, v = (x / np.where(n > 0, n, 1)[:, None] for x, n in zip((y, fits), lengths, strict=True))
    return 2 * np.arctan2(norm(u - v), norm(u + v))


# Nothing better ----------------------------------------------------------------------------


def _optimal(case: Case, mixed: Mixed, A: Array, residuals: Array, size: Array) -> None:
    if mixed.constraint == "sparse" and (mixed.n_nonzero or 0) < len(mixed.rows):
        return
    best = np.array([_least(mixed, y) for y in mixed.y])
    true = norm(residuals)
    # Rounding of abundances changes fits by their size; nearly dependent endmembers leave what
    # their slopes do not tell from rounding.
    lost = mixed.tiny * (64 + norm(mixed.rows).sum())
    rounding = ROOM * (len(mixed.rows) + 4) * mixed.eps * size + lost
    worse = true > best + rounding
    if mixed.constraint == "none":
        slopes = np.abs(residuals @ mixed.rows.T) / np.maximum(norm(mixed.rows), FLOOR)
        worse &= (slopes > CLEAR * mixed.eps * size[:, None]).any(axis=1)
    else:
        worse &= _promises(mixed, A, residuals) > CLEAR * mixed.eps * size**2
    if worse.any():
        i = int(np.argmax(np.where(worse, true - best, -1)))
        raise Finding(
            f"{mixed.constraint}: pixel {i} is {float(true[i]):.8g} away where "
            f"{float(best[i]):.8g} is to be had, of norm {float(norm(mixed.y)[i]):.4g}"
        )


def _least(mixed: Mixed, y: Array) -> Any:
    """The distance of a pixel from what the constraint allows, or a little more."""
    rows = mixed.rows
    lengths = np.where(norm(rows) > 0, norm(rows), 1)
    size = max(norm(y), FLOOR)
    if mixed.constraint == "none":
        unit = (rows / lengths[:, None]).astype(np.float64)
        w = np.linalg.lstsq(unit.T, (y / size).astype(np.float64), rcond=1e-12)[0]
        return norm(y - size * (exact(w) / lengths) @ rows)
    if not mixed.summed:
        w = _nnls((rows / lengths[:, None]).T, y / size)
        return norm(y - size * (exact(w) / lengths) @ rows)
    shade = np.zeros((int(mixed.constraint == "sum-at-most-one"), rows.shape[1]), LD)
    return _simplex_distance(np.vstack([rows, shade]), y)


def _simplex_distance(rows: Array, y: Array) -> Any:
    """By non-negative least squares with a heavy row of ones, and by single endmembers."""
    centred, scale = rows - rows.mean(axis=0), np.abs(rows - rows.mean(axis=0)).max()
    best = norm(rows - y).min()
    if not scale > 0:
        return best
    target, reach = (y - rows.mean(axis=0)) / scale, LD(1)
    for weight in (1e2, 1e4, 1e6):
        reach = max(norm(target), LD(1))
        system = np.vstack([(centred / scale / reach).T, np.full(len(rows), weight)])
        w = _nnls(system, np.append(target / reach, weight))
        if w.sum() > 0:
            best = min(best, norm(y - exact(w) / exact(w).sum() @ rows))
    return best


def _nnls(A: Array, b: Array) -> Array:
    """Non-negative least squares by SciPy; zeros where that finds no end."""
    from scipy.optimize import nnls

    try:
        return nnls(A.astype(np.float64), b.astype(np.float64))[0]
    except RuntimeError:
        return np.zeros(A.shape[1])


def _promises(mixed: Mixed, A: Array, residuals: Array) -> Array:
    """How much the squared distance could fall by, along the best single change, to first order."""
    lengths = np.maximum(norm(mixed.rows), FLOOR)
    c = residuals @ mixed.rows.T
    if mixed.summed:  # from the endmember with the least slope to the best
        rows, shares, c = _with_shade(mixed, A, c)
        used = np.where(shares > 0, c, np.inf).min(axis=1)
        spread = np.maximum(norm(rows[:, None] - rows[None]).max(), FLOOR)
        gain = (np.maximum(c.max(axis=1) - used, 0) / spread) ** 2
        return gain - CLEAR * mixed.eps * spread**2  # squares of the longest endmember round
    steep = np.where((c > 0) | (A > 0), np.abs(c) / lengths, 0)
    return (steep**2).max(axis=1)


def _with_shade(mixed: Mixed, A: Array, c: Array) -> tuple[Array, Array, Array]:
    """Endmembers, abundances and slopes, those of shade at the end where it takes the rest."""
    if mixed.constraint == "sum-to-one":
        return mixed.rows, A, c
    rest = 1 - A.sum(axis=1, keepdims=True)
    none = np.zeros((len(A), 1), LD)
    return (
        np.vstack([mixed.rows, np.zeros(mixed.rows.shape[1], LD)]),
        np.hstack([A, rest]),
        np.hstack([c, none]),
    )


# Endmembers --------------------------------------------------------------------------------


def _pick_endmembers(case: Case) -> None:
    dtype = real_type(case)
    pixels = rows(case, case.whole(1, 12), case.whole(1, 10), dtype)
    pixels = case.keep("pixels", np.abs(pixels) if dtype.kind == "f" else pixels)
    r = case.whole(1, 6) if case.chance(0.95) else case.pick(0, -1, 2.0, None, "3", 10**30)
    picker, average = case.pick("auto", *PICKERS), case.chance(0.5)
    case.tell(r=r, picker=picker, average=average)
    shown = laid_out(case, pixels)
    found = case.ask(lambda: unmixing.pick(shown, r, picker, average=average), NAMES, warned=FEWER)
    picked = found.indices
    case.require(1 <= len(picked) <= r and len(set(picked.tolist())) == len(picked), "picks twice")
    case.require((picked >= 0).all() and (picked < len(pixels)).all(), "a pixel there is not")
    taken = np.asarray(found.endmembers)
    alone = np.ones(len(picked), bool) if found.averaged_over is None else found.averaged_over == 1
    case.require(
        np.array_equal(taken[alone], np.asarray(pixels)[picked][alone]),
        "endmembers are not the picks",
    )
    case.require(np.isfinite(taken).all(), "endmembers that are not finite")
    case.ask(lambda: repr(found), NAMES, valid=True)
    if picker == "spa":
        _farthest(case, exact(pixels), found)
    if found.labels is not None:
        _clusters(case, exact(pixels), found)


def _farthest(case: Case, pixels: Array, found: Any) -> None:
    """Every pick of SPA is the pixel with the largest rest, of those that are tied a long one."""
    rest = pixels / max(np.abs(pixels).max(), FLOOR)
    whole = (rest * rest).sum(axis=1).max()
    for j in found.indices:
        squares = (rest * rest).sum(axis=1)
        enough = squares[j] >= squares.max() * (1 - LD(1e-5)) - 1e-9 * whole
        case.require(enough, f"pixel {j} is not the farthest")
        u = rest[j] / max(norm(rest[j]), FLOOR)
        rest = rest - np.outer(rest @ u, u)


def _clusters(case: Case, pixels: Array, found: Any) -> None:
    labels = found.labels
    case.require(labels.shape == (len(pixels),), "labels of another shape")
    case.require(set(labels.tolist()) == set(range(len(found))), "a cluster without pixels")
    mine = labels[found.indices] == np.arange(len(found))
    case.require(mine.all(), "a cluster is represented by a pixel of another one")
