"""Matching pursuit over atoms that overlap few others: local updates and a tree of maxima.

The tree holds the largest |s_j| of each leaf of `LEAF` correlations, of each `FORK` leaves, and so
on up to all of them. Floats without their sign are in the order of their bits, so maxima are those
of integers, which processors find many at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pursuit.base.validation import Array
from pursuit.kernels.compiling import strict

LEAF = 64
"""Correlations that share a leaf of the tree."""
FORK = 16
"""Nodes of the tree that share one above them: together in a line of the cache, so that the way
down a tree over millions of correlations waits for memory a few times only."""
ATOM, GAMMA, CORRELATION, VALUE, SUPPORT, MET, PRODUCTS = range(7)
"""Places in the notes of a point: the last step, the value, the number of atoms in use, of those in
the table of coefficients, and the work of a stretch."""
SPREAD = 2654435761
"""Neighbours are spread over the slots of a table: 2³² over the golden ratio."""


class Kept(NamedTuple):
    """Correlations s = Z∇f, their memory seen as integers, and the tree of their maxima, whose
    levels begin at these places: the leaves first, at last the one node above all."""

    s: Array
    bits: Array
    tree: Array
    levels: Array


def planted(s: Array) -> Kept:
    """Correlations with the room for their tree."""
    levels, width = [0], -(-s.size // LEAF)
    while width > 1:
        width = -(-width // FORK)
        levels.append(levels[-1] + FORK * width)  # the level below, filled up with zeros
    bits = s.view(f"i{s.itemsize}")
    return Kept(s, bits, np.zeros(levels[-1] + 1, bits.dtype), np.array(levels))


class SparseCoefficients(NamedTuple):
    """Sparse coefficients: the atoms met in their order, their weights, and for each of them a
    slot of a table (−1: empty) that finds it again."""

    atoms: Array
    weights: Array
    slots: Array


class Windows(NamedTuple):
    """Templates that move.

    Attributes
    ----------
    templates
        Shape (K, channels, h, w).
    cross
        ⟨template l moved by (a, b), template k⟩ at [k, a + h − 1, (b + w − 1)K + l].
    columns, rows
        The numbers of places along the two axes.
    """

    templates: Array
    cross: Array
    rows: int
    columns: int


class LocalEnds(NamedTuple):
    """Where a stretch has to stop, since a test of the run might be met: a slope, a value of f
    (−inf: none) and a number of atoms (0: none); and the products of an iteration."""

    slope: float
    value: float
    atoms: int
    work: float


@strict
def peak(bits: Array) -> int:
    """The largest |s_j| of a few, as an integer."""
    mask = np.iinfo(bits.dtype).max
    best = bits[0] & mask
    for t in range(bits.size):
        best = max(best, bits[t] & mask)
    return best  # type: ignore[no-any-return]


@strict
def fill(kept: Kept) -> None:
    """Make the tree anew."""
    renew(kept, 0, kept.bits.size)


@strict
def renew(kept: Kept, first: int, last: int) -> None:
    """The tree over correlations first … last − 1, which have changed."""
    bits, tree, levels = kept.bits, kept.tree, kept.levels
    low, high = first // LEAF, (last - 1) // LEAF
    for leaf in range(low, high + 1):
        tree[leaf] = peak(bits[leaf * LEAF : min(leaf * LEAF + LEAF, bits.size)])
    for level in range(1, levels.size):
        below, here = levels[level - 1], levels[level]
        low, high = low // FORK, high // FORK
        for node in range(low, high + 1):
            begin = below + node * FORK
            tree[here + node] = peak(tree[begin : begin + FORK])


@strict
def take(kept: Kept, places: Array, products: Array, gamma: float) -> None:
    """s_i ← s_i − γ·products_i at some places in increasing order, and the tree above them."""
    s = kept.s
    begin = 0
    for k in range(places.size):
        s[places[k]] -= gamma * products[k]
        # A run of places that share leaves, or lie in neighbouring ones, is renewed as one.
        if k + 1 == places.size or places[k + 1] // LEAF > places[k] // LEAF + 1:
            renew(kept, places[begin], places[k] + 1)
            begin = k + 1


@strict
def largest(kept: Kept) -> int:
    """The lowest j with the largest |s_j|."""
    bits, tree, levels = kept.bits, kept.tree, kept.levels
    mask = np.iinfo(bits.dtype).max
    best, node = tree[levels[levels.size - 1]], 0
    for level in range(levels.size - 2, -1, -1):
        node *= FORK
        while tree[levels[level] + node] != best:
            node += 1
    j = node * LEAF
    while bits[j] & mask != best:
        j += 1
    return j


@strict
def move(kept: Kept, windows: Windows, gradient: Array, z: int, gamma: float) -> None:
    """x ← x − γz: the gradient under the template, and the correlations that it changes."""
    templates, cross, rows, columns = windows
    K, channels, h, w = templates.shape
    place, k = z // K, z % K
    i, j = place // columns, place % columns
    for c in range(channels):
        for a in range(h):
            # Both are cut out first: only then does the loop below become vector instructions.
            under, template = gradient[c, i + a, j : j + w], templates[k, c, a]
            for t in range(under.size):
                under[t] -= gamma * template[t]
    left, right = max(0, j - w + 1), min(columns, j + w)
    for a in range(max(0, i - h + 1), min(rows, i + h)):
        first, last = (a * columns + left) * K, (a * columns + right) * K
        some = kept.s[first:last]
        begin = (left - j + w - 1) * K
        products = cross[k, a - i + h - 1, begin : begin + some.size]
        for t in range(some.size):
            some[t] -= gamma * products[t]
        renew(kept, first, last)


@strict
def entry(coefs: SparseCoefficients, notes: Array, z: int) -> int:
    """Where an atom is in the table; a new one is entered with a weight of zero."""
    atoms, weights, slots = coefs
    mask = slots.size - 1
    slot = ((z * SPREAD) >> 8) & mask
    while slots[slot] >= 0:
        if atoms[slots[slot]] == z:
            return slots[slot]  # type: ignore[no-any-return]
        slot = (slot + 1) & mask
    new = int(notes[MET])
    slots[slot], atoms[new], weights[new] = new, z, 0
    notes[MET] += 1
    return new


@strict
def entered(coefs: SparseCoefficients, atoms: Array, weights: Array) -> None:
    """Enter atoms and their weights in an empty table."""
    notes = np.zeros(MET + 1)
    for k in range(atoms.size):
        coefs.weights[entry(coefs, notes, atoms[k])] = weights[k]


@strict
def note(coefs: SparseCoefficients, notes: Array, z: int, gamma: float, fall: float) -> None:
    """Note a step: its coefficient, and the value that falls."""
    weights, place = coefs.weights, entry(coefs, notes, z)
    before = weights[place]
    weights[place] -= gamma
    notes[SUPPORT] += int(weights[place] != 0) - int(before != 0)
    notes[VALUE] -= fall


@strict
def move_all(
    kept: Kept,
    windows: Windows,
    gradient: Array,
    coefs: SparseCoefficients,
    squares: Array,
    places: Array,
    gammas: Array,
    notes: Array,
) -> None:
    """x ← x − Σ γ_k z_k, one after another; a γ that changes no coefficient is left out."""
    for i in range(places.size):
        z, gamma = places[i], gammas[i]
        weight = coefs.weights[entry(coefs, notes, z)]
        if weight - gamma == weight:
            continue
        c, exact = np.float64(kept.s[z]), np.float64(gamma)
        move(kept, windows, gradient, z, gamma)
        note(coefs, notes, z, gamma, exact * (c - 0.5 * exact * squares[z % squares.size]))


@strict
def pursue(
    kept: Kept,
    windows: Windows,
    gradient: Array,
    coefs: SparseCoefficients,
    bounds: Array,
    squares: Array,
    picks: Array,
    most: int,
    ends: LocalEnds,
    notes: Array,
) -> int:
    """Up to `most` iterations of matching pursuit, or along `picks`; how many were made.

    γ = c/h, with the bounds h and the squared norms of the atoms given for the templates, or for
    all atoms.
    """
    steepest, K = picks.size == 0, len(squares)
    for t in range(most):
        z = largest(kept) if steepest else picks[t]  # z_t = LMO_A(∇f(x_t)), or z_t ~ p
        c = np.float64(kept.s[z])
        wanted = c / bounds[z % bounds.size]
        gamma = coefs.weights.dtype.type(wanted)
        exact = np.float64(gamma)
        move(kept, windows, gradient, z, gamma)  # x_{t+1} = x_t − γ z_t
        note(coefs, notes, z, gamma, exact * (c - 0.5 * exact * squares[z % K]))
        notes[ATOM], notes[GAMMA], notes[CORRELATION] = z, wanted, c
        notes[PRODUCTS] += ends.work
        met = notes[VALUE] <= ends.value or (ends.atoms > 0 and notes[SUPPORT] >= ends.atoms)
        if met or (steepest and not abs(c) > ends.slope):
            return t + 1
    return most
