"""Matching pursuit over Gabor atoms: the coefficients of all of them, kept up to date.

The residual r of a signal is b − x. For each window of each scale its spectrum is kept,

    c[s, n, m] = Σ_t r(t + n·hop) g(t) e^{−2πi m t/L},

as pairs of real numbers, one row for each channel. A step changes those whose windows it meets,
by a multiple of a row of a table (see `pursuit.atoms.overlaps`). A tree of maxima over leaves of
a few entries knows where the largest projection is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pursuit.base.validation import Array
from pursuit.kernels.compiling import compiled, strict

LEAF = 16
"""Entries whose maximum is kept."""
FAN = 32
"""Maxima whose maximum is kept."""
TOP = 256
"""Maxima that are looked through one by one."""
ROUNDS = 32
"""Atoms that are looked at in a row before one of them is taken as the best."""


class Frames(NamedTuple):
    """Windows of every scale: lengths, hops, how many frames and bins there are, where the
    coefficients, the windows and the bins of a scale begin; g, e^{2πik/L} and Σ g² e^{−4πimt/L}
    for each scale one after another; and the weights of Re², Im² and Re·Im in half the energy of
    a projection."""

    lengths: Array
    hops: Array
    counts: Array
    bins: Array
    offsets: Array
    begins: Array
    folded: Array
    window: Array
    turns: Array
    folds: Array
    weights: Array


class WindowOverlaps(NamedTuple):
    """Inner products of windows: for two scales the first shift, the number of shifts, the place
    in `rows`, the ratio and the farthest reach; for a shift the place in `values` and the reach;
    the values."""

    heads: Array
    rows: Array
    values: Array


class KeptSpectra(NamedTuple):
    """Coefficients (channels, 2·size), the tree of maxima as the bits of numbers, where its levels
    start, and scratch: when a leaf and a node were last changed, which ones, the energies of a leaf
    and their bits, and the time."""

    c: Array
    tree: Array
    starts: Array
    stamps: Array
    leaves: Array
    nodes: Array
    energies: Array
    bits: Array
    clock: Array


def kept_for(
    channels: int, size: int, dtype: np.dtype[np.float32] | np.dtype[np.float64]
) -> KeptSpectra:
    """Room for so many coefficients."""
    levels = [size // LEAF]
    while levels[-1] > TOP:
        levels.append(-(-levels[-1] // FAN))
    starts = np.concatenate([[0], np.cumsum(levels)])
    bits = f"i{dtype.itemsize}"
    energies = np.zeros(LEAF, dtype)
    return KeptSpectra(
        np.zeros((channels, 2 * size), dtype),
        np.zeros(starts[-1], bits),
        starts,
        np.zeros(starts[-1], np.int32),
        np.empty(levels[0], np.int64),
        np.empty(-(-levels[0] // FAN), np.int64),
        energies,
        energies.view(bits),
        np.zeros(1, np.int32),
    )


# The tree of maxima --------------------------------------------------------------------------


@compiled(fastmath=True)
def _add_energies(c: Array, weights: Array, energies: Array, before: float) -> None:
    """Half the energy of the projections on some atoms, and so much of what was there before."""
    re2, im2, cross = weights[0], weights[1], weights[2]
    for i in range(len(energies)):
        u, v = c[2 * i], c[2 * i + 1]
        energies[i] = before * energies[i] + u * u * re2[i] + v * v * im2[i] + u * v * cross[i]


@strict
def _look(frames: Frames, kept: KeptSpectra, leaf: int, s: int) -> None:
    """The maximum of a leaf of a scale."""
    first = 0
    if frames.bins[s] > LEAF:
        first = (leaf * LEAF - frames.offsets[s]) & (frames.bins[s] - 1)  # a power of two
    first += frames.folded[s]
    weights = frames.weights[:, first : first + LEAF]
    one = kept.c.dtype.type
    for k in range(kept.c.shape[0]):
        c = kept.c[k, 2 * LEAF * leaf : 2 * LEAF * (leaf + 1)]
        _add_energies(c, weights, kept.energies, one(min(k, 1)))
    best = kept.bits[0]
    for i in range(LEAF):  # as integers, whose maximum is found in one instruction for many
        best = max(best, kept.bits[i])
    kept.tree[leaf] = best


@strict
def _look_above(kept: KeptSpectra, level: int, node: int) -> None:
    """The maximum of a node above the leaves."""
    tree, starts = kept.tree, kept.starts
    below = tree[
        starts[level - 1] + node * FAN : min(starts[level], starts[level - 1] + (node + 1) * FAN)
    ]
    best = below[0]
    for i in range(len(below)):
        best = max(best, below[i])
    tree[starts[level] + node] = best


@strict
def look_through(frames: Frames, kept: KeptSpectra, s: int, first: int, last: int) -> None:
    """Find the maxima of the leaves of a scale, from one to before another, and above them."""
    for leaf in range(first, last):
        _look(frames, kept, leaf, s)
    low, high = first, last - 1
    for level in range(1, len(kept.starts) - 1):
        low, high = low // FAN, high // FAN
        for node in range(low, high + 1):
            _look_above(kept, level, node)


@strict
def scale_of(frames: Frames, place: int) -> int:
    """The scale that a coefficient belongs to."""
    s = 0
    while place >= frames.offsets[s + 1]:
        s += 1
    return s


@strict
def largest(frames: Frames, kept: KeptSpectra) -> tuple[int, float]:
    """The place of the largest energy, the first of several, and that energy."""
    tree, starts = kept.tree, kept.starts
    top = len(starts) - 2
    node, best = 0, tree[starts[top]]
    for i in range(starts[top + 1] - starts[top]):
        if tree[starts[top] + i] > best:
            node, best = i, tree[starts[top] + i]
    for level in range(top - 1, -1, -1):
        node *= FAN
        while tree[starts[level] + node] != best:
            node += 1
    s = scale_of(frames, node * LEAF)
    _look(frames, kept, node, s)
    for i in range(LEAF):
        if kept.bits[i] == kept.tree[node]:
            return node * LEAF + i, 2 * float(kept.energies[i])
    return node * LEAF, 2 * float(kept.energies[0])


# One atom ------------------------------------------------------------------------------------


@compiled(fastmath=True)
def _spectrum(residual: Array, window: Array, turns: Array, m: int, waves: Array) -> complex:
    """Σ_t r(t) g(t) e^{−2πi m t/L}; `waves` gets the two parts of g e^{2πi m t/L}."""
    L = len(window)
    cosine, sine, k = waves[0], waves[1], 0
    for t in range(L):
        cosine[t] = window[t] * turns[k].real
        sine[t] = window[t] * turns[k].imag
        k += m
        if k >= L:
            k -= L
    along, across = 0.0, 0.0
    for t in range(L):
        along += residual[t] * cosine[t]
        across += residual[t] * sine[t]
    return complex(along, -across)


@strict
def project(
    frames: Frames,
    b: Array,
    x: Array,
    scale: float,
    atom: tuple[int, int, int],
    c: Array,
    amplitudes: Array,
) -> float:
    """The projection of scale·(b − x) on the plane of an atom, for each channel, and its energy.

    It is 2 Re(a·g e^{iωt}) with a + k ā = c, where k = Σ g² e^{−2iωt}: 2 × 2 least squares.
    """
    s, n, m = atom
    L, begin, at = frames.lengths[s], n * frames.hops[s], frames.begins[s]
    window, turns = frames.window[at : at + L], frames.turns[at : at + L]
    residual, waves = np.empty(L), np.empty((2, L))
    k, energy = frames.folds[at // 2 + m], 0.0
    for channel in range(x.shape[0]):
        for t in range(L):
            residual[t] = scale * (b[channel, begin + t] - x[channel, begin + t])
        found = _spectrum(residual, window, turns, m, waves)
        a = found / 2 if m == 0 else (found - k * found.conjugate()) / (1 - abs(k) ** 2)
        c[channel], amplitudes[channel] = found, a
        energy += 2 * (a * found.conjugate()).real
    return energy


@compiled(fastmath=True)
def _add(x: Array, window: Array, turns: Array, m: int, a: complex) -> None:
    L, k = len(window), 0
    for t in range(L):
        x[t] += 2 * window[t] * (a.real * turns[k].real - a.imag * turns[k].imag)
        k += m
        if k >= L:
            k -= L


@strict
def add(frames: Frames, x: Array, atom: tuple[int, int, int], amplitudes: Array) -> None:
    """x ← x + 2 Re(a·g e^{iωt}), for each channel."""
    s, n, m = atom
    L, begin, at = frames.lengths[s], n * frames.hops[s], frames.begins[s]
    window, turns = frames.window[at : at + L], frames.turns[at : at + L]
    for channel in range(x.shape[0]):
        _add(x[channel, begin : begin + L], window, turns, m, amplitudes[channel])


@strict
def add_all(frames: Frames, x: Array, atoms: Array, amplitudes: Array) -> None:
    """The same for many atoms, one in each row."""
    for i in range(len(atoms)):
        add(frames, x, (atoms[i, 0], atoms[i, 1], atoms[i, 2]), amplitudes[i])


# A step of the pursuit -----------------------------------------------------------------------


@strict
def choose(
    frames: Frames,
    kept: KeptSpectra,
    b: Array,
    x: Array,
    scale: float,
    drift: float,
    c: Array,
    amplitudes: Array,
) -> tuple[bool, tuple[int, int, int], float]:
    """The best atom (scale, frame, bin), and the true energy of the projection on it.

    What is kept of an atom that looks best is replaced by what is true; it is taken if it is best
    still. True comes first where the two are apart by more than `drift`, relatively.
    """
    for _ in range(ROUNDS):
        place, _ = largest(frames, kept)
        s = scale_of(frames, place)
        n, m = divmod(place - frames.offsets[s], frames.bins[s])
        energy = project(frames, b, x, scale, (s, n, m), c, amplitudes)
        apart, size = 0.0, 0.0
        for k in range(len(c)):
            apart += (c[k].real - kept.c[k, 2 * place]) ** 2
            apart += (c[k].imag - kept.c[k, 2 * place + 1]) ** 2
            size += c[k].real ** 2 + c[k].imag ** 2
            kept.c[k, 2 * place], kept.c[k, 2 * place + 1] = c[k].real, c[k].imag
        if apart > drift**2 * size:
            return True, (s, n, m), energy
        look_through(frames, kept, s, place // LEAF, place // LEAF + 1)
        again, _ = largest(frames, kept)
        if again == place:
            break
    return False, (s, n, m), energy


@compiled(fastmath=True)
def _take_off(c: Array, values: Array, re: float, im: float) -> None:
    """c ← c − a·values, numbers in pairs."""
    for j in range(len(c) // 2):
        u, v = values[2 * j], values[2 * j + 1]
        c[2 * j] -= re * u - im * v
        c[2 * j + 1] -= re * v + im * u


@strict
def _mark(kept: KeptSpectra, count: int, first: int, last: int) -> int:
    """Note the leaves of some entries, each once a step; how many are noted."""
    now = kept.clock[0]
    for leaf in range(first // LEAF, last // LEAF + 1):
        if kept.stamps[leaf] != now:
            kept.stamps[leaf] = now
            kept.leaves[count] = leaf
            count += 1
    return count


@strict
def _nearest_bin(line: int, L: int, M: int, ratio: int) -> tuple[int, int]:
    """For m of L: the remainder of q, and the bin of M that is not below m."""
    if ratio == 1:
        return 0, line * (M // L)
    left = (-line) % ratio
    return left, (line + left) // ratio


@strict
def _take_off_line(
    frames: Frames,
    overlaps: WindowOverlaps,
    kept: KeptSpectra,
    u: int,
    atom: tuple[int, int, int],
    image: int,
    amplitudes: Array,
    count: int,
) -> int:
    """Change the spectra of scale u by one line of an atom's spectrum; how many leaves changed.

    A real atom has two lines, at m with a and at −m with ā; that one is seen at L − m as well.
    """
    s, n, m = atom
    L, M, hop, begin = frames.lengths[s], frames.lengths[u], frames.hops[u], n * frames.hops[s]
    bins, small = frames.bins[u], min(frames.hops[s], hop)
    first, shifts, place, ratio, farthest = overlaps.heads[s, u]
    left, centre = _nearest_bin(m if image == 0 else (-m if image == 1 else L - m), L, M, ratio)
    if centre + farthest < 0 or centre - farthest >= bins:
        return count
    one = kept.c.dtype.type
    low = max(0, -((-(begin - (first + shifts - 1) * small)) // hop))
    high = min(frames.counts[u] - 1, (begin - first * small) // hop)
    row = place + (begin - low * hop) // small - first
    for frame in range(low, high + 1):
        at, reach = overlaps.rows[row, 0], overlaps.rows[row, 1]
        row -= hop // small
        lowest, highest = max(centre - reach, 0), min(centre + reach, bins - 1)
        if lowest > highest:
            continue
        at += left * (2 * reach + 1) + lowest - (centre - reach)
        values = overlaps.values[2 * at : 2 * (at + highest - lowest + 1)]
        base = frames.offsets[u] + frame * bins
        turn = frames.turns[frames.begins[s] + ((m * (begin - frame * hop)) & (L - 1))]
        for k in range(len(amplitudes)):
            a = amplitudes[k] * turn.conjugate()
            part = kept.c[k, 2 * (base + lowest) : 2 * (base + highest + 1)]
            _take_off(part, values, one(a.real), one(a.imag if image == 0 else -a.imag))
        count = _mark(kept, count, base + lowest, base + highest)
    return count


@strict
def _look_at_changed(frames: Frames, kept: KeptSpectra, u: int, count: int) -> None:
    """The maxima of the leaves that have changed, and of what is above them."""
    nodes, stamps, now = kept.nodes, kept.stamps, kept.clock[0]
    above = 0
    for i in range(count):
        _look(frames, kept, kept.leaves[i], u)
    for level in range(1, len(kept.starts) - 1):
        found = kept.leaves if level == 1 else nodes
        many, above = (count if level == 1 else above), 0
        for i in range(many):
            node = found[i] // FAN
            if stamps[kept.starts[level] + node] != now:
                stamps[kept.starts[level] + node] = now
                nodes[above] = node
                above += 1
        for i in range(above):
            _look_above(kept, level, nodes[i])


@strict
def take_off(
    frames: Frames,
    overlaps: WindowOverlaps,
    kept: KeptSpectra,
    atom: tuple[int, int, int],
    amplitudes: Array,
) -> None:
    """What subtracting 2 Re(a·g e^{iωt}) from the residual does to the kept coefficients."""
    for u in range(len(frames.lengths)):
        kept.clock[0] += 1
        count = 0
        for image in range(3):
            count = _take_off_line(frames, overlaps, kept, u, atom, image, amplitudes, count)
        _look_at_changed(frames, kept, u, count)


@strict
def peak(spectra: Array, weights: Array) -> float:
    """The largest energy of a projection, for spectra (channels, frames, 2·bins)."""
    channels, count, width = spectra.shape
    energies, best = np.zeros(width // 2, spectra.dtype), 0.0
    for n in range(count):
        for k in range(channels):
            _add_energies(spectra[k, n], weights, energies, spectra.dtype.type(min(k, 1)))
        best = max(best, float(energies.max()))
    return 2 * best
