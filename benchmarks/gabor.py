"""Sounds taken apart into Gabor atoms: share of real time, memory, against the signal domain.

    python benchmarks/gabor.py [--minutes 10] [--atoms 3000]

A simulated sound of one minute at 44.1 kHz (notes with harmonics, chirps, clicks, noise) is taken
apart to 20 dB on one thread. Times are CPU times. The signal-domain update computes the spectra of
all frames that an atom meets anew, at every scale. For one and for several minutes the time of an
atom is that of the first ones; set-up, which grows with the sound, is printed apart.
"""

from __future__ import annotations

import argparse
import os
import resource
from time import process_time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from pursuit import Gabor, SquaredDistance, decompose
from pursuit.points.gabor import GaborPoint

RATE = 44_100
LINE = "{:34}{:>12}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=10, help="of the long sound")
    parser.add_argument("--atoms", type=int, default=3000, help="that are timed of each sound")
    parser.add_argument("--seconds", type=int, default=60, help="of the sound taken apart")
    chosen = parser.parse_args()
    measure(chosen.seconds, chosen.minutes, chosen.atoms)


def measure(seconds: int = 60, minutes: int = 10, atoms: int = 3000) -> None:
    warm_up()
    whole_sound(seconds)
    against_signal_domain(atoms // 10)
    minute, longer = per_atom(60, atoms), per_atom(60 * minutes, atoms)
    row(f"an atom of {minutes} minutes / of one", f"{longer / minute:.2f} ×")


def row(what: str, figure: str) -> None:
    print(LINE.format(what, figure), flush=True)


def warm_up() -> None:
    """Load the compiled code."""
    decompose(simulated(1), RATE, 3.0, progress=False)


def whole_sound(seconds: int) -> None:
    signal = simulated(seconds)
    began = process_time()
    book = decompose(signal, RATE, 20.0, progress=False)
    spent = process_time() - began
    row("planes of atoms", f"{Gabor(len(signal)).grid.places:,}")
    row(f"atoms of {seconds} s to {book.reached[0]:.2f} dB", f"{len(book):,}")
    row("share of real time", f"{spent / seconds:.3f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row("peak memory", f"{peak / 1024:.0f} MB")
    assert book.snr(signal)[0] >= 20


def prepared(signal: np.ndarray) -> GaborPoint:
    """The start of a run, with all coefficients and tables."""
    point = GaborPoint(SquaredDistance(signal), Gabor(len(signal)), np.zeros(len(signal)))
    z, slope = point.lmo()
    point.move(slope, z)
    return point


def per_atom(seconds: int, steps: int) -> float:
    """Seconds an atom takes, after set-up."""
    signal = simulated(seconds)
    began = process_time()
    point = prepared(signal)
    ready = process_time()
    for _ in range(steps):
        z, slope = point.lmo()
        point.move(slope, z)
    spent = (process_time() - ready) / steps
    row(f"set-up for {seconds} s", f"{ready - began:.2f} s")
    row(f"an atom of {seconds} s", f"{1e6 * spent:.0f} µs")
    return spent


def against_signal_domain(steps: int) -> None:
    """The same steps both ways, some of each in turn, with spectra computed anew in one of them."""
    signal = simulated(60)
    point = prepared(signal)
    domain, found, times = SignalDomain(signal), ([], []), [0.0, 0.0]
    domain.step()

    def ours() -> tuple[int, int, int]:
        z, slope = point.lmo()
        point.move(slope, z)
        return z[:3]

    for _ in range(steps // 10):
        for k, step in enumerate((ours, domain.step)):
            began = process_time()
            found[k].extend(step() for _ in range(10))
            times[k] += process_time() - began
    same = sum(a == b for a, b in zip(*found, strict=True))
    row("an atom of these, ours", f"{1e6 * times[0] / len(found[0]):.0f} µs")
    row("an atom, signal-domain update", f"{1e6 * times[1] / len(found[0]):.0f} µs")
    row(f"atoms of {len(found[0])} that are the same", f"{same}")
    row("signal domain / ours", f"{times[1] / times[0]:.1f} ×")


class SignalDomain:
    """Matching pursuit that keeps the best atom of each frame, and transforms what a step meets."""

    def __init__(self, signal: np.ndarray) -> None:
        self.atoms = Gabor(len(signal))
        self.grid, self.residual = self.atoms.grid, signal.astype(np.float32)
        self.bests = [np.zeros(count, np.float32) for count in self.grid.counts]
        self.bins = [np.zeros(count, np.int64) for count in self.grid.counts]
        for s, first, spectra in self.grid.blocks(self.residual):
            self._note(s, first, spectra)

    def _note(self, s: int, first: int, spectra: np.ndarray) -> None:
        energies = self.grid.energies(s, spectra)
        some = slice(first, first + len(energies))
        self.bins[s][some] = energies.argmax(1)
        self.bests[s][some] = np.take_along_axis(energies, self.bins[s][some, None], 1)[:, 0]

    def step(self) -> tuple[int, int, int]:
        frames = [int(best.argmax()) for best in self.bests]
        s = int(np.argmax([best[n] for best, n in zip(self.bests, frames, strict=True)]))
        n, m = frames[s], int(self.bins[s][frames[s]])
        z = self.atoms.projection(self.residual, s, n, m)
        span, samples = self.atoms.samples(z)
        self.residual[span] -= (self.residual[span] @ samples[0]) * samples[0]
        for u in range(len(self.grid.scales)):
            first, last = self.grid.meeting(u, span.start, span.stop)
            part = self.residual[self.grid.hull(u, first, last)]
            self._note(u, first, self.grid.spectra(part, u))
        return s, n, m


def simulated(seconds: int, seed: int = 0) -> np.ndarray:
    """Notes with harmonics, chirps, clicks and noise 30 dB below them."""
    rng, length = np.random.default_rng(seed), seconds * RATE
    sound = np.zeros(length)
    for kind, many in ((note, 3 * seconds), (chirp, seconds), (click, 4 * seconds)):
        for _ in range(many):
            wave = kind(rng)[:length]
            begin = int(rng.integers(0, length - len(wave) + 1))
            sound[begin : begin + len(wave)] += wave
    level = 10 ** (-30 / 20) * np.sqrt(np.mean(sound**2))
    return sound + level * rng.standard_normal(length)


def note(rng: np.random.Generator) -> np.ndarray:
    """Five harmonics that fade."""
    t = np.arange(int(rng.uniform(0.2, 1.0) * RATE)) / RATE
    pitch, decay = 110 * 2 ** rng.uniform(0, 4), rng.uniform(3, 10)
    harmonics = np.arange(1, 6)[:, None]
    waves = np.cos(2 * np.pi * harmonics * pitch * t + rng.uniform(0, 2 * np.pi, (5, 1)))
    return np.minimum(t / 0.005, 1) * np.exp(-decay * t) * (waves / harmonics).sum(0)


def chirp(rng: np.random.Generator) -> np.ndarray:
    t = np.arange(int(rng.uniform(0.1, 0.5) * RATE)) / RATE
    low, high = rng.uniform(300, 6000, 2)
    phase = 2 * np.pi * (low * t + (high - low) * t**2 / (2 * t[-1]))
    return 0.7 * np.hanning(len(t)) * np.sin(phase)


def click(rng: np.random.Generator) -> np.ndarray:
    t = np.arange(200)
    return rng.uniform(0.5, 2) * np.exp(-t / 25) * np.cos(rng.uniform(0.3, 2.5) * t)


if __name__ == "__main__":
    main()
