"""Kernels of `learn`: what codes say about atoms, and the atoms that follow.

Codes are those of a batch of signals x_i in compressed rows, ``indptr``, ``indices`` and
``values``: γ_ij is the coefficient of atom j in the code of signal i. Sums over signals are kept
by atom, each in the order of its signals, and atoms are shared among threads: who does which atom
changes no bit. Sums are float64, whatever the signals are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pursuit.base.validation import Array
from pursuit.kernels.pursuit import compiled, part


class CodesBySignal(NamedTuple):
    """Codes by signal."""

    indptr: Array
    indices: Array
    values: Array


class CodesByAtom(NamedTuple):
    """The same codes by atom: the signals that use it, and the places of their coefficients."""

    indptr: Array
    signals: Array
    places: Array


@compiled
def by_atom(rows: CodesBySignal, columns: CodesByAtom) -> None:
    """Fill `columns`; ``columns.indptr`` is given as zeros."""
    begin = columns.indptr
    for p in range(rows.indices.size):
        begin[rows.indices[p] + 1] += 1
    for j in range(begin.size - 1):
        begin[j + 1] += begin[j]
    free = begin[:-1].copy()
    for i in range(rows.indptr.size - 1):
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            j = rows.indices[p]
            columns.signals[free[j]], columns.places[free[j]] = i, p
            free[j] += 1


# Statistics --------------------------------------------------------------------------------


@compiled
def add_statistics(
    rows: CodesBySignal,
    columns: CodesByAtom,
    x: Array,
    beta: float,
    before: tuple[Array, Array],
    after: tuple[Array, Array],
    first: int,
    last: int,
) -> None:
    """A′ = βA + ΓᵀΓ and B′ = βB + ΓᵀX, the rows of atoms `first` … `last` − 1."""
    for j in range(first, last):
        a, b = after[0][j], after[1][j]
        _scale(beta, before[0][j], a)
        _scale(beta, before[1][j], b)
        for p in range(columns.indptr[j], columns.indptr[j + 1]):
            i = columns.signals[p]
            gamma = np.float64(rows.values[columns.places[p]])
            for q in range(rows.indptr[i], rows.indptr[i + 1]):
                a[rows.indices[q]] += gamma * rows.values[q]
        _add_signals(columns, rows.values, x, j, b)


@part
def _add_signals(columns: CodesByAtom, values: Array, x: Array, j: int, target: Array) -> float:
    """target += Σ γ_ij x_i over the signals that use atom j, and Σ γ_ij².

    Four signals at a time: the target is read and written once for them.
    """
    signals, places = columns.signals, columns.places
    p, end, weight = columns.indptr[j], columns.indptr[j + 1], 0.0
    while p + 4 <= end:
        r0, r1, r2, r3 = x[signals[p]], x[signals[p + 1]], x[signals[p + 2]], x[signals[p + 3]]
        g0, g1 = np.float64(values[places[p]]), np.float64(values[places[p + 1]])
        g2, g3 = np.float64(values[places[p + 2]]), np.float64(values[places[p + 3]])
        for t in range(target.size):
            target[t] += (g0 * r0[t] + g1 * r1[t]) + (g2 * r2[t] + g3 * r3[t])
        weight += (g0 * g0 + g1 * g1) + (g2 * g2 + g3 * g3)
        p += 4
    while p < end:
        gamma = np.float64(values[places[p]])
        _add(gamma, x[signals[p]], target)
        weight += gamma * gamma
        p += 1
    return weight


@part
def _scale(beta: float, source: Array, target: Array) -> None:
    for t in range(target.size):
        target[t] = beta * source[t]


@part
def _add(gamma: float, source: Array, target: Array) -> None:
    for t in range(target.size):
        target[t] += gamma * source[t]


# Atoms from statistics -----------------------------------------------------------------------


@compiled
def descend_atoms(a: Array, slope: Array, atoms: Array, unit: bool, nonnegative: bool) -> None:
    """One sweep of exact coordinate descent over some atoms of ½⟨AD, D⟩ − ⟨B, D⟩.

    d_j ← d_j + (b_j − A_j D)/A_jj, then to the sphere if `unit`, its negative entries at zero
    before if `nonnegative`. `a` is the part of A, and `slope` of B − AD, of these atoms; it is
    kept up to date. An atom that no code uses stays.
    """
    n, d = atoms.shape
    new = np.empty(d)
    for j in range(n):
        if not a[j, j] > 0:
            continue
        for t in range(d):
            new[t] = atoms[j, t] + slope[j, t] / a[j, j]
        length = _clip(new, nonnegative)
        if not length > 0:
            if unit:
                continue
            length = 1.0
        scale = 1 / length if unit else 1.0
        for t in range(d):
            value = new[t] * scale
            new[t] = value - atoms[j, t]
            atoms[j, t] = value
        for l in range(j, n):
            _add(-a[l, j], new, slope[l])


@part
def _clip(v: Array, nonnegative: bool) -> float:
    """‖v‖, its negative entries set to zero before if asked for."""
    total = 0.0
    for t in range(v.size):
        if nonnegative and v[t] < 0:
            v[t] = 0.0
        total += v[t] * v[t]
    return np.sqrt(total)  # type: ignore[no-any-return]


# Approximate K-SVD ---------------------------------------------------------------------------


@compiled
def sweep_residuals(
    columns: CodesByAtom,
    values: Array,
    residuals: Array,
    atoms: Array,
    nonnegative: bool,
    first: int,
    last: int,
) -> None:
    """Approximate K-SVD for the atoms `first` … `last` − 1; `residuals` are X − ΓD, and stay so.

    With E the residuals of the signals that use atom j as they are without it, and g their
    coefficients: d_j ← unit(Eᵀg), g ← E d_j, each the best for the other; over a cone the positive
    part of each.
    """
    d = atoms.shape[1]
    new, old = np.empty(d), np.empty(d)
    for j in range(first, last):
        begin, end = columns.indptr[j], columns.indptr[j + 1]
        for t in range(d):
            new[t], old[t] = 0.0, atoms[j, t]
        weight = _add_signals(columns, values, residuals, j, new)
        _add(weight, old, new)
        length = _clip(new, nonnegative)
        if not length > 0:
            continue
        cosine = 0.0
        for t in range(d):
            new[t] /= length
            atoms[j, t] = new[t]
            cosine += new[t] * old[t]
        for p in range(begin, end):
            place, r = columns.places[p], residuals[columns.signals[p]]
            values[place] = _refit(r, values[place], old, new, cosine, nonnegative)


@part
def _refit(
    r: Array, before: float, old: Array, new: Array, cosine: float, nonnegative: bool
) -> float:
    """The best coefficient of the new atom for a signal; its residual follows."""
    after = before * cosine
    for t in range(r.size):
        after += r[t] * new[t]
    if nonnegative and after < 0:
        after = 0.0
    for t in range(r.size):
        r[t] += before * old[t] - after * new[t]
    return after


@compiled
def take_residuals(
    rows: CodesBySignal, x: Array, atoms: Array, out: Array, squares: Array, first: int, last: int
) -> None:
    """out_i = x_i − Σ_j γ_ij d_j and its square, for the signals `first` … `last` − 1."""
    rest = np.empty(x.shape[1])
    for i in range(first, last):
        for t in range(rest.size):
            rest[t] = x[i, t]
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            _add(-np.float64(rows.values[p]), atoms[rows.indices[p]], rest)
        total = 0.0
        for t in range(rest.size):
            out[i, t] = rest[t]
            total += rest[t] * rest[t]
        squares[i] = total
