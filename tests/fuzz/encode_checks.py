"""What codes say, held against a recomputation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fuzz.case import Case
from fuzz.generators import Array, precision
from fuzz.oracle import EPS, FLOOR, LD, ROOM, eps_of, exact, norm, tiny_of

COUNTED = 1000
"""Steps where no limit is given, but for orthogonal pursuit."""
CLEAR = 1e3
"""Units of rounding beyond which a choice is no matter of rounding."""


@dataclass(frozen=True)
class Encoded:
    """What was asked for; `given` is the array behind the atoms."""

    signals: Any
    atoms: Any
    given: Any
    cone: bool
    options: dict[str, Any]

    @cached_property
    def rows(self) -> Array:
        return exact(self.given)

    @property
    def forward(self) -> bool:
        return bool(self.options.get("forward_only", False))

    @cached_property
    def followed(self) -> Array:
        """The rows that the method runs along."""
        if self.options.get("unit_atoms", True) and not self.forward:
            return self.rows / norm(self.rows)[:, None]
        return self.rows

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        return precision(self.signals, self.given)


@dataclass(frozen=True)
class Signal:
    """One signal, its code and what is true of it."""

    asked: Encoded
    y: Array
    indices: Array
    values: Array
    residual_norm: float
    iterations: int
    status: str

    @cached_property
    def eps(self) -> float:
        return eps_of(self.asked.dtype)

    @cached_property
    def residual(self) -> Array:
        return self.y - exact(self.values) @ self.asked.rows[self.indices]

    @cached_property
    def size(self) -> Any:
        """How long the terms are whose sum the residual is."""
        lengths = norm(self.asked.rows[self.indices])
        return norm(self.y) + (np.abs(exact(self.values)) * lengths).sum()

    @cached_property
    def rounding(self) -> Any:
        """What the residual owes to the precision of the coefficients."""
        return ROOM * (len(self.indices) + 4) * self.eps * self.size + self.lost

    @cached_property
    def lost(self) -> Any:
        lengths = norm(self.asked.rows[self.indices]).sum()
        return tiny_of(self.asked.dtype) * (1 + lengths) * len(self.y)

    @cached_property
    def slopes(self) -> Array:
        """⟨residual, z⟩/‖z‖ of every atom; over a cone, of those that may grow."""
        rows = self.asked.rows
        c = rows @ self.residual / norm(rows)
        if self.asked.forward:  # what a step ⟨r, z⟩ z changes, which is nothing for short atoms
            c = c * np.minimum(norm(rows) ** 2, 1)
        return np.maximum(c, 0) if self.asked.cone else np.abs(c)


def check_codes(case: Case, asked: Encoded, codes: Any) -> None:
    """All that can be told from outside."""
    signals = exact(asked.signals).reshape(len(asked.signals), -1)
    case.require(codes.shape == (len(signals), len(asked.rows)), "the codes have another shape")
    case.require(codes.dtype == asked.dtype, f"the codes are {codes.dtype}")
    names = [codes.status(i).name for i in range(len(codes))]
    for i, y in enumerate(signals):
        part = slice(int(codes.indptr[i]), int(codes.indptr[i + 1]))
        ends = float(codes.residual_norms[i]), int(codes.iterations[i]), names[i]
        signal = Signal(asked, y, codes.indices[part], codes.values[part], *ends)
        _code(case, signal)
        if signal.status == "DIVERGED":
            case.require(not len(signal.indices), "DIVERGED with a code")
            continue
        _residual(case, signal)
        STATUSES[signal.status](case, signal)
        _fit(case, signal)
        _choices(case, signal)
        _forward(case, signal)
    _product(case, asked, codes)


def _code(case: Case, signal: Signal) -> None:
    n, limit = len(signal.asked.rows), signal.asked.options.get("n_nonzero")
    inside = len(signal.indices) == 0 or (signal.indices.min() >= 0 and signal.indices.max() < n)
    case.require(inside, "an atom that there is not")
    case.require(len(np.unique(signal.indices)) == len(signal.indices), "an atom twice in a code")
    case.require(np.isfinite(signal.values).all(), "a coefficient that is not finite")
    case.require(limit is None or len(signal.indices) <= limit, "more atoms than n_nonzero")
    if signal.asked.cone:
        case.require((signal.values >= 0).all(), "a negative coefficient over a cone")


def _residual(case: Case, signal: Signal) -> None:
    true, said = norm(signal.residual), LD(signal.residual_norm)
    steps = len(signal.indices) + signal.iterations + 4
    off, squares = abs(said - true), ROOM * steps * signal.eps * signal.size**2
    # Squared norms are carried from step to step as long as four digits of them are sure.
    carried = abs(said**2 - true**2) <= squares and off <= 1e-3 * true
    case.require(
        off <= signal.rounding or carried,
        f"{signal.status}: residual norm {signal.residual_norm:.6g} where it is {float(true):.6g}, "
        f"of a signal of norm {float(norm(signal.y)):.6g}",
    )


def _limit(signal: Signal) -> int | None:
    options = signal.asked.options
    if options.get("max_iter") is not None:
        return int(options["max_iter"])
    return None if options["method"] == "orthogonal" else COUNTED


def _converged(case: Case, signal: Signal) -> None:
    options, true = signal.asked.options, norm(signal.residual)
    goal = max(LD(options.get("rtol") or 0) * norm(signal.y), LD(options.get("atol") or 0))
    asked = options.get("rtol") is not None or options.get("atol") is not None
    reached = asked and true <= goal * LD(1 + 1e-5) + signal.rounding
    flat = signal.slopes.max() <= CLEAR * signal.eps * max(norm(signal.y), true) + signal.rounding
    case.require(
        reached or flat,
        f"CONVERGED with residual {float(true):.4g} and slope {float(signal.slopes.max()):.4g}",
    )


def _max_atoms(case: Case, signal: Signal) -> None:
    n_nonzero = signal.asked.options.get("n_nonzero")
    if n_nonzero is None:
        n_nonzero = max(1, len(signal.y) // 10)  # where no rule is given
    enough = len(signal.indices) >= min(n_nonzero, len(signal.asked.rows), len(signal.y))
    case.require(enough, f"MAX_ATOMS with {len(signal.indices)} of {n_nonzero} atoms")


def _max_iter(case: Case, signal: Signal) -> None:
    limit = _limit(signal)
    case.require(limit == signal.iterations, f"MAX_ITER after {signal.iterations} of {limit} steps")


def _stalled(case: Case, signal: Signal) -> None:
    """What is left cannot be had: dependent atoms, or slopes that are rounding."""
    if signal.asked.options["method"] != "orthogonal":
        gain = signal.slopes.max() ** 2
        rounding = CLEAR * signal.eps * signal.size**2
        case.require(gain <= rounding, f"STALLED with slope {float(signal.slopes.max()):.4g}")
        return
    chosen = signal.asked.followed[signal.indices]
    for j in np.flatnonzero(signal.slopes > CLEAR * signal.eps * signal.size):
        if j not in signal.indices:
            z = signal.asked.rows[j] / norm(signal.asked.rows[j])
            far = norm(_outside(chosen, z))
            bound = 1e2 * np.sqrt(signal.eps)
            case.require(far <= bound, f"STALLED with an atom {float(far):.3g} outside the span")


STATUSES = {
    "CONVERGED": _converged,
    "MAX_ATOMS": _max_atoms,
    "MAX_ITER": _max_iter,
    "STALLED": _stalled,
}


# Which atoms, and how much of them ---------------------------------------------------------


def _basis(rows: Array) -> Array:
    """Orthonormal rows that span the rows; what depends on others is left out."""
    basis = np.zeros((0, rows.shape[1]), LD)
    for z in rows / norm(rows)[:, None]:
        u = z - basis.T @ (basis @ z)
        u = u - basis.T @ (basis @ u)
        if norm(u) > 1e4 * EPS:
            basis = np.vstack([basis, u / norm(u)])
    return basis


def _outside(rows: Array, y: Array) -> Array:
    """The part of y that no combination of the rows reaches."""
    basis = _basis(rows)
    rest = y - basis.T @ (basis @ y)
    return rest - basis.T @ (basis @ rest)


def _fit(case: Case, signal: Signal) -> None:
    """Orthogonal pursuit ends at the least-squares fit over its atoms."""
    if signal.asked.options["method"] != "orthogonal" or not len(signal.indices):
        return
    rows, true = signal.asked.rows[signal.indices], norm(signal.residual)
    best = norm(_outside(rows, signal.y))
    if signal.asked.cone:
        best = _cone_distance(rows, signal.y)
    # Nearly dependent atoms: what their slopes no longer tell from rounding may be left.
    flat = np.abs(rows @ signal.residual) / norm(rows) <= CLEAR * signal.eps * signal.size
    case.require(
        true <= best + signal.rounding or flat.all(),
        f"orthogonal leaves {float(true):.8g} where its atoms reach {float(best):.8g}, "
        f"of a signal of norm {float(norm(signal.y)):.4g}",
    )


def _cone_distance(rows: Array, y: Array) -> Any:
    from scipy.optimize import nnls

    unit, size = rows / norm(rows)[:, None], max(norm(y), FLOOR)
    w, _ = nnls(unit.T.astype(np.float64), (y / size).astype(np.float64))
    return norm(y - (exact(w) * size) @ unit) * (1 + LD(1e-14))


def _choices(case: Case, signal: Signal) -> None:
    """Orthogonal pursuit over lin(A) lists its atoms in the order of their choice: each is best."""
    if signal.asked.options["method"] != "orthogonal" or signal.asked.cone:
        return
    rows, rest = signal.asked.followed, signal.y
    for k, j in enumerate(signal.indices):
        c = np.abs(rows @ rest)
        blur = CLEAR * signal.eps * norm(signal.y) * norm(rows).max() + signal.lost
        if k and norm(rest) <= 1e6 * signal.eps * norm(signal.y):
            return  # the rest is mostly rounding
        independent = c[j] >= c.max() * LD(1 - 1e-3) - blur
        if not independent and not _others_depend(rows, signal.indices[:k], c, c[j] + blur, signal):
            case.require(False, f"choice {k} is an atom of slope {float(c[j]):.6g} where "
                                f"{float(c.max()):.6g} is to be had")  # fmt: skip
        rest = _outside(rows[signal.indices[: k + 1]], signal.y)


def _others_depend(rows: Array, chosen: Array, c: Array, bound: Any, signal: Signal) -> bool:
    """Whether every steeper atom depends on those chosen before."""
    if not len(chosen):
        return False
    steeper = np.flatnonzero(c > bound)
    unit = rows / norm(rows)[:, None]
    return all(norm(_outside(rows[chosen], unit[j])) < 1e2 * signal.eps**0.5 for j in steeper)


def _forward(case: Case, signal: Signal) -> None:
    """Matching pursuit that only goes forward is r ← r − ⟨r, z⟩ z along the best atom as given."""
    if not signal.asked.forward or signal.iterations > 40:
        return
    rows, rest, size = signal.asked.rows, signal.y, norm(signal.y)
    weights = np.zeros(len(rows), LD)
    for _ in range(signal.iterations):
        c = rows @ rest
        first, *others = np.sort(c)[::-1]
        blur = CLEAR * signal.eps * size * norm(rows).max()
        if (others and others[0] >= first - blur) or first <= blur:
            return  # rounding may choose either, or end here
        j = int(np.argmax(c))
        weights[j] += first
        rest = rest - first * rows[j]
        size = max(size, norm(rest))
    dense = np.zeros(len(rows), LD)
    dense[signal.indices] = exact(signal.values)
    growth = signal.iterations * max(norm(rows).max() ** 2, LD(1)) ** signal.iterations
    off = norm((dense - weights)[:, None] * rows).max(initial=0)
    case.require(
        off <= ROOM * CLEAR * signal.eps * growth * size,
        f"forward only, coefficients are {float(off):.3g} off after {signal.iterations} steps",
    )


def _product(case: Case, asked: Encoded, codes: Any) -> None:
    """codes @ atoms, and the matrix, are what the arrays say."""
    product = exact(case.ask(lambda: codes @ asked.atoms, {"atoms"}, valid=True))
    dense = exact(codes.matrix.toarray())
    size = np.abs(dense) @ np.abs(asked.rows)
    off = np.abs(product.reshape(size.shape) - dense @ asked.rows)
    bound = ROOM * len(asked.rows) * eps_of(asked.dtype) * size + tiny_of(asked.dtype) * 64
    overflow = np.abs(dense @ asked.rows) > LD(np.finfo(asked.dtype).max) / 2
    case.require(((off <= bound) | overflow).all(), "codes @ atoms is another product")
