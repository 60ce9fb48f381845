"""Gabor atoms: windowed waves of any phase, at several scales, all along a signal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pursuit.atoms.base import Atom, AtomSet
from pursuit.atoms.forms import AtomForm
from pursuit.atoms.frames import FrameGrid
from pursuit.atoms.overlaps import overlaps_of
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, extent, listed, non_negative, number, shown

if TYPE_CHECKING:
    from pursuit.kernels.gabor import Frames, WindowOverlaps

SHORTEST, LONGEST = 16, 2**20
"""The windows that there may be."""
SCALES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
OVERLAPS = (4, 8, 16)
CUT = 1e-3
SINGLE = 1e-6
"""Cuts of at least this are kept in single precision."""


class GaborAtom(NamedTuple):
    """z(t) = 2 Re(a g(t) e^{2πi m t/L}) on frame n of scale s, one complex a for each channel."""

    scale: int
    frame: int
    bin: int
    amplitudes: Array


class Gabor(AtomSet):
    """A = {g_L(t − n·hop) cos(2πmt/L + φ), at norm one: L a scale, n a frame, 0 ≤ m < L/2, any φ}.

    g_L is a Gaussian of L/8 standard deviation, cut to L samples. With free phase the atoms of
    (L, n, m) are the unit vectors of a plane, and ‖d‖_{A*} = max ‖P d‖ over the projections on
    these planes: the step of matching pursuit is least squares over both phases. An infinite set;
    a handle is (scale, frame, bin, amplitudes). Uniform draws take a plane, then a phase.

    With `channels` atoms are unit vectors on one plane in every channel at once: channels share
    time, frequency and scale, and have phases and amplitudes of their own.

    Over a `SquaredDistance`, points keep the coefficients of all atoms up to date (see
    `pursuit.points.gabor`): `solve` then takes a fraction of a millisecond a step, however long the
    signal is.

    Parameters
    ----------
    length
        The number of samples.
    scales
        Lengths of windows, powers of two. 64, 128, … 8192, as far as they fit, where not given.
    hop
        The distance of frames as a share of their window: 1/4, 1/8 or 1/16.
    channels
        The number of channels that share atoms; x then has the shape (channels, length).
    cut
        Inner products of atoms below this are left out where kept coefficients are brought up to
        date. It decides which of nearly equal atoms is taken, and no number of its step. 0 leaves
        nothing out.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import Gabor, SquaredDistance, solve
    >>> tone = np.cos(0.3 * np.arange(1000))
    >>> result = solve(SquaredDistance(tone), Gabor(1000), rtol=0.2)
    >>> result.status.name
    'CONVERGED'
    """

    # They have no precision of their own: the objective's decides.
    dtype = np.dtype(np.float32)
    form = AtomForm.FRAMES

    def __init__(
        self,
        length: int,
        scales: Sequence[int] | None = None,
        hop: float = 0.25,
        *,
        channels: int | None = None,
        cut: float = CUT,
    ) -> None:
        self.length = extent("length", length)
        self.overlap = _overlap(hop)
        self.scales = _fitting(self.length, scales, self.overlap)
        self.channels = None if channels is None else extent("channels", channels)
        self.cut = non_negative("cut", cut)
        if self.cut >= 1:
            raise InputError(f"cut: expected a number below 1, got {shown(cut)}")
        rows = () if self.channels is None else (self.channels,)
        self.shape = (*rows, self.length)

    def __repr__(self) -> str:
        channels = "" if self.channels is None else f"{self.channels} channels of "
        return (
            f"Gabor({self.grid.places:,} planes over {channels}{self.length:,} samples, windows of "
            f"{self.scales[0]} … {self.scales[-1]})"
        )

    @cached_property
    def grid(self) -> FrameGrid:
        """The frames."""
        return FrameGrid(self.length, self.scales, self.overlap)

    @property
    def kept_dtype(self) -> np.dtype[Any]:
        """The precision of kept coefficients: no finer than what is left out of them."""
        return np.dtype(np.float32 if self.cut >= SINGLE else np.float64)

    @cached_property
    def frames(self) -> Frames:
        """The frames, for compiled code."""
        return self.grid.compiled(self.kept_dtype)

    @cached_property
    def overlaps(self) -> WindowOverlaps:
        """The inner products of atoms, for compiled code."""
        return overlaps_of(self.grid, self.cut, np.result_type(self.kept_dtype, np.complex64))

    # The oracle -----------------------------------------------------------------------------

    def lmo(self, d: Array) -> GaborAtom:
        rows = d.reshape(-1, self.length).astype(np.float64)
        best, place = -1.0, (0, 0, 0)
        for blocks in zip(*(self.grid.blocks(row) for row in rows), strict=True):
            s, first, _ = blocks[0]
            energies = np.zeros(blocks[0].spectra.shape)
            for block in blocks:
                energies += self.grid.energies(s, block.spectra)
            n, m = np.unravel_index(int(np.argmax(energies)), energies.shape)
            if energies[n, m] > best:
                best, place = float(energies[n, m]), (s, first + int(n), int(m))
        return self.projection(d, *place)

    def projection(self, d: Array, s: int, n: int, m: int) -> GaborAtom:
        """The unit vector along the projection of d on a plane; any of the plane if that is 0."""
        a = self._amplitudes(d, s, n, m)
        norm = float(np.sqrt(self._norm2(s, m, a)))
        if norm == 0:
            a, norm = np.ones_like(a), float(np.sqrt(self._norm2(s, m, np.ones_like(a))))
        return GaborAtom(s, n, m, a / norm)

    def _amplitudes(self, d: Array, s: int, n: int, m: int) -> Array:
        rows = d.reshape(-1, self.length)[:, self.grid.span(s, n)].astype(np.float64)
        found: Array = self.grid.amplitudes(s, m, rows @ np.conj(self.grid.wave(s, m)))
        return found

    def _norm2(self, s: int, m: int, a: Array) -> float:
        """‖2 Re(a g e^{iωt})‖² = 2|a|² + 2 Re(k̄ a²), summed over channels."""
        k = self.grid.folds[s][m]
        return float(np.sum(2 * np.abs(a) ** 2 + 2 * (np.conj(k) * a * a).real))

    def dual_norm(self, d: Array) -> float:
        return abs(self.inner(d, self.lmo(d)))

    # One atom -------------------------------------------------------------------------------

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        counts = np.cumsum(self.grid.counts * self.grid.bins)
        drawn = []
        for k in rng.integers(0, counts[-1], size).tolist():
            s = int(np.searchsorted(counts, k, side="right"))
            n, m = divmod(k - int(counts[s - 1] if s else 0), int(self.grid.bins[s]))
            noise = rng.standard_normal((self.channels or 1, self.scales[s]))
            a = self.grid.amplitudes(s, m, noise @ np.conj(self.grid.wave(s, m)))
            drawn.append(GaborAtom(s, n, m, a / np.sqrt(self._norm2(s, m, a))))
        return drawn

    def samples(self, z: GaborAtom) -> tuple[slice, Array]:
        """Where an atom is, and its samples there for each channel."""
        s, n, m, a = z
        return self.grid.span(s, n), 2 * (a[:, None] * self.grid.wave(s, m)).real

    def vector(self, z: Atom) -> Array:
        span, samples = self.samples(z)
        vector = np.zeros((self.channels or 1, self.length))
        vector[:, span] = samples
        return vector.reshape(self.shape)

    def inner(self, d: Array, z: Atom) -> float:
        span, samples = self.samples(z)
        return float(np.vdot(d.reshape(-1, self.length)[:, span], samples))

    def norm2(self, z: Atom) -> float:
        return 1.0

    def shift(self, x: Array, gamma: float, z: Atom) -> None:
        span, samples = self.samples(z)
        x.reshape(-1, self.length)[:, span] -= gamma * samples

    # The set --------------------------------------------------------------------------------

    @property
    def radius(self) -> float:
        return 1.0

    @property
    def rank(self) -> int:
        # Two frames of the shortest windows span all of what windows reach, the highest
        # frequency, which has no bin, included.
        return (self.channels or 1) * self.grid.covered

    def spans(self, x: Array) -> bool:
        return not x[..., self.grid.covered :].any()

    def pack(self, atoms: Sequence[Atom]) -> Array:
        rows = [[z.scale, z.frame, z.bin, *z.amplitudes.view(np.float64)] for z in atoms]
        return np.array(rows, np.float64).reshape(-1, 3 + 2 * (self.channels or 1))

    def unpack(self, packed: Array) -> list[Atom]:
        amplitudes = np.ascontiguousarray(packed[:, 3:]).view(np.complex128)
        places = packed[:, :3].astype(np.int64).tolist()
        return [GaborAtom(s, n, m, a) for (s, n, m), a in zip(places, amplitudes, strict=True)]


def _overlap(hop: object) -> int:
    share = number("hop", hop)
    for overlap in OVERLAPS:
        if share == 1 / overlap:
            return overlap
    raise InputError(f"hop: expected 1/4, 1/8 or 1/16 of a window, got {shown(hop)}")


def window_lengths(scales: object) -> tuple[int, ...]:
    """Lengths of windows in increasing order."""
    lengths = [extent("scales", L) for L in listed("scales", scales, "lengths of windows")]
    if not lengths:
        raise InputError("scales: expected at least one length of a window, got none")
    for L in lengths:
        if L & (L - 1) or not SHORTEST <= L <= LONGEST:
            raise InputError(
                f"scales: expected powers of two from {SHORTEST} to {LONGEST}, got {L}"
            )
    return tuple(sorted(set(lengths)))


def _fitting(length: int, scales: object, overlap: int) -> tuple[int, ...]:
    """The windows, all of which fit into the signal."""
    usual = tuple(L for L in SCALES if L + L // overlap <= length)
    lengths = (usual or SCALES[:1]) if scales is None else window_lengths(scales)
    # The shortest one has to fit twice, a hop apart, for the atoms to span what they reach.
    least = max(lengths[-1], lengths[0] + lengths[0] // overlap)
    if length < least:
        raise InputError(
            f"length: expected at least {least} samples for windows of {lengths[0]} … "
            f"{lengths[-1]}, got {length}"
        )
    return lengths
