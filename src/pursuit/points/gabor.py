"""Points of a pursuit over Gabor atoms: the coefficients of all atoms are kept up to date.

For f = ½‖x − b‖² a step along an atom changes the spectra of the frames that it meets, each by a
row of a table: no transform is needed. Inner products below the set's cut are left out, so kept
coefficients drift. They decide where to look, and nothing else: slopes, steps and values are
computed from b − x in float64. Where the atom that looks best is off by more than `DRIFT` the
frames that it meets are transformed anew, and all of them after many steps.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from pursuit.atoms.base import Atom, AtomSet
from pursuit.atoms.gabor import Gabor, GaborAtom
from pursuit.base.scaling import norm
from pursuit.base.validation import Array
from pursuit.kernels import gabor as kernels
from pursuit.objectives.base import Objective
from pursuit.points.ambient import AmbientPoint
from pursuit.points.base import Shift

if TYPE_CHECKING:
    from pursuit.kernels.gabor import KeptSpectra

DRIFT = 0.1
"""The largest error of the chosen coefficient, relative to it, that does not have it renewed."""
RENEWALS = 16
"""How often frames are transformed anew in one step, before an atom is taken as it is."""
STEPS, SHARE = 1000, 64
"""All coefficients are computed anew after so many steps, and one for so many samples."""
NEVER = -1
"""In place of the number of atoms when all coefficients were computed, where none are kept."""


class GaborPoint(AmbientPoint):
    """x, and the coefficients of b − x as they follow from the steps since all were computed.

    Coefficients take much room, and follow from x at that time and the steps since: a checkpoint
    holds those (`base`, `since`), and to restore it these steps are made again.
    """

    atoms: Gabor
    _value: float | None
    _candidate: GaborAtom | None
    _next: int
    _missed: bool

    def __init__(self, f: Objective, atoms: Gabor, x0: Array) -> None:
        self.since = np.full(1, float(NEVER))  # which may be blended, as all arrays are
        super().__init__(f, atoms, x0)
        self.x = self.image = x0.astype(np.float64)
        self.base = np.zeros_like(self.x)
        self.b = self._rows(-f.gradient(np.zeros(atoms.shape)))
        # Coefficients are kept for a residual whose norm is one at zero, whatever the unit is.
        self.scale = 1 / (norm(self.b) or 1.0)
        self._kept: KeptSpectra | None = None

    def empty_like(self) -> GaborPoint:
        other = object.__new__(GaborPoint)
        other.f, other.atoms, other.x0 = self.f, self.atoms, self.x0
        other.counts, other.ledger = self.counts, self.ledger
        other.since, other.b, other.scale, other._kept = self.since.copy(), self.b, self.scale, None
        other.x = other.image = np.empty_like(self.x)
        other.base = np.zeros_like(self.x)
        other.coef = np.zeros(self.ledger.size, self.coef.dtype)
        other._invalidate()
        return other

    def arrays(self) -> dict[str, Array]:
        return {**super().arrays(), "base": self.base, "since": self.since}

    def restore(self, arrays: dict[str, Array]) -> None:
        super().restore(arrays)
        if arrays["since"][0] != NEVER:
            self._repeat(arrays["base"], int(arrays["since"][0]))

    def _repeat(self, base: Array, since: int) -> None:
        """Make the steps again that followed since all coefficients were computed."""
        self.x[...] = base
        self._compute(since)
        for place in range(since, len(self.coef)):
            self.lmo()
            self._candidate = self.ledger.atom(place)
            self._follow(-float(self.coef[place]))

    def _rows(self, x: Array) -> Array:
        return x.reshape(-1, self.atoms.length)

    def _invalidate(self) -> None:
        super()._invalidate()
        self.since[0] = NEVER
        self._value = self._candidate = None
        self._missed = False

    # What f says here -----------------------------------------------------------------------

    def value(self) -> float:
        if self._value is None:
            self._value = super().value()
        return self._value

    def correlation(self, z: Atom) -> float:
        span, samples = self.atoms.samples(z)
        return -float(np.vdot(self.b[:, span] - self._rows(self.x)[:, span], samples))

    def derivative_along(self, gamma: float, z: Atom) -> float:
        return self.correlation(z) - gamma

    def value_along(self, gamma: float, z: Atom) -> float:
        return self.value() - gamma * (self.correlation(z) - 0.5 * gamma)

    def curvature(self, z: Atom) -> float:
        return 1.0

    def lmo(self) -> tuple[Atom, float]:
        self.counts.oracle_calls += 1
        self.count_evaluation()
        if self.since[0] == NEVER:
            self._compute(self.ledger.size)
        z, slope = self._best()
        self._candidate, self._slope = z, slope
        return z, slope

    def dual_norm(self) -> float:
        if self.since[0] == NEVER:
            self._compute(self.ledger.size)
        assert self._kept is not None
        place, _ = kernels.largest(self.atoms.frames, self._kept)
        return sqrt(self._energy(*self.atoms.grid.place(place))) / self.scale

    def _energy(self, s: int, n: int, m: int) -> float:
        """That of the projection of b − x on a plane, in the scale of what is kept."""
        rows = self._rows(self.x)
        c, amplitudes = np.empty((2, len(rows)), np.complex128)
        atoms, place = self.atoms, (s, n, m)
        energy = kernels.project(atoms.frames, self.b, rows, self.scale, place, c, amplitudes)
        return max(energy, 0.0)

    # What steps change ----------------------------------------------------------------------

    def move(self, gamma: float, z: Atom) -> None:
        gamma = float(self.coef.dtype.type(gamma))
        self._add(gamma, z)
        self._count_atoms()
        if z is self._candidate and len(self.coef) == self._next + 1:
            self._follow(gamma)
        else:
            self.atoms.shift(self.x, gamma, z)
            self._invalidate()

    def _follow(self, gamma: float) -> None:
        """x ← x − γz along the atom that was found best, and what that does to coefficients."""
        assert self._kept is not None
        assert self._candidate is not None
        s, n, m, amplitudes = self._candidate
        atoms, a = self.atoms, -gamma * amplitudes
        kernels.add(atoms.frames, self._rows(self.x), (s, n, m), a)
        kernels.take_off(atoms.frames, atoms.overlaps, self._kept, (s, n, m), self.scale * a)
        self._value = max(0.0, self.value() - gamma * self._slope + 0.5 * gamma**2)
        super()._invalidate()
        self._candidate, self._next = None, self._next + 1

    def shift(self, gamma: float, direction: Shift) -> None:
        self._grow()
        self.x -= gamma * direction["x"]
        self.coef -= gamma * direction["coef"]
        self._invalidate()

    def refresh(self) -> None:
        if self.since[0] != NEVER:
            many = max(STEPS, self.atoms.length // SHARE)
            if self._missed or self._next - int(self.since[0]) >= many:
                self._compute(self.ledger.size)

    # Kept coefficients ----------------------------------------------------------------------

    def _best(self) -> tuple[GaborAtom, float]:
        """The atom with the largest projection as far as is known, and its true slope."""
        assert self._kept is not None
        frames, rows = self.atoms.frames, self._rows(self.x)
        c, amplitudes = np.empty((2, len(rows)), np.complex128)
        for renewal in range(RENEWALS + 1):
            drift = DRIFT if renewal < RENEWALS else inf
            off, place, energy = kernels.choose(
                frames, self._kept, self.b, rows, self.scale, drift, c, amplitudes
            )
            if not off:
                break
            self._renew(*place[:2])
        if energy <= 0:
            return self.atoms.projection(np.zeros(self.atoms.shape), *place), 0.0
        norm = sqrt(energy)
        return GaborAtom(*place, amplitudes / norm), -norm / self.scale

    def _residual(self, span: slice) -> Array:
        """b − x in the scale and the precision of kept coefficients."""
        rest = self.scale * (self.b[:, span] - self._rows(self.x)[:, span])
        return rest.astype(self.atoms.kept_dtype)

    def _compute(self, since: int) -> None:
        """All coefficients from x, when so many atoms were met."""
        grid, every = self.atoms.grid, self._residual(slice(None))
        if self._kept is None:
            self._kept = kernels.kept_for(len(every), grid.size, self.atoms.kept_dtype)
        for channel, residual in enumerate(every):
            for s, first, spectra in grid.blocks(residual):
                self._store(channel, s, first, spectra)
        for s in range(len(grid.scales)):
            leaves = grid.offsets[s : s + 2] // kernels.LEAF
            kernels.look_through(self.atoms.frames, self._kept, s, *leaves)
        np.copyto(self.base, self.x)
        self.since[0] = self._next = since
        self._value, self._candidate, self._missed = super().value(), None, False

    def _renew(self, s: int, n: int) -> None:
        """The coefficients of all frames that meet a frame, from x."""
        assert self._kept is not None
        grid = self.atoms.grid
        span = grid.span(s, n)
        for u in range(len(grid.scales)):
            first, last = grid.meeting(u, span.start, span.stop)
            if first >= last:
                continue  # the last long windows end before the last short ones
            for channel, part in enumerate(self._residual(grid.hull(u, first, last))):
                self._store(channel, u, first, grid.spectra(part, u))
            begin, end = (int(grid.offsets[u] + k * grid.bins[u]) for k in (first, last))
            leaves = begin // kernels.LEAF, -(-end // kernels.LEAF)
            kernels.look_through(self.atoms.frames, self._kept, u, *leaves)

    def _store(self, channel: int, s: int, first: int, spectra: Array) -> None:
        assert self._kept is not None
        grid = self.atoms.grid
        begin = int(grid.offsets[s] + first * grid.bins[s])
        values = self._kept.c[channel, 2 * begin : 2 * (begin + spectra.size)]
        values.view(spectra.dtype).reshape(spectra.shape)[...] = spectra

    # At the end -----------------------------------------------------------------------------

    def assemble(self, atoms: AtomSet, origin: Array, weights: Array, places: Array) -> Array:
        x = origin.astype(np.float64)
        if len(places):
            seen = [self.ledger.registered[k] for k in places.tolist()]
            amplitudes = weights.astype(np.float64)[:, None] * [z.amplitudes for z in seen]
            found = np.array([z[:3] for z in seen], np.int64)
            kernels.add_all(self.atoms.frames, self._rows(x), found, amplitudes)
        return x.astype(self.coef.dtype)

    def dual_norm_at(self, x: Array) -> float:
        grid, best = self.atoms.grid, 0.0
        rest = (self.scale * (self.b - self._rows(x))).astype(self.atoms.kept_dtype)
        for blocks in zip(*(grid.blocks(row) for row in rest), strict=True):
            weights = grid.weights[blocks[0].scale].astype(rest.dtype)
            spectra = np.stack([block.spectra for block in blocks]).view(rest.dtype)
            best = max(best, kernels.peak(spectra, weights))
        slope = sqrt(best) / self.scale
        self._missed = self.since[0] != NEVER and slope > 2 * self.dual_norm()
        return slope
