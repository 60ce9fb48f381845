"""The area `decompose`: signals into Gabor atoms, and books that reconstruct them."""

from __future__ import annotations

from typing import Any

import numpy as np

import pursuit
from fuzz.case import Case
from fuzz.data import Array, laid_out, magnitude, precision
from fuzz.truth import LD, exact, norm

NAMES = ("signal", "rate", "snr", "max_atoms", "scales", "hop", "shared", "book", "path")
COLUMNS = ("step", "channel", "frequency", "time", "scale", "phase", "amplitude")
MARGIN = 2e-3
"""dB: inner products of atoms that are next to nothing are left out."""


def run(case: Case) -> None:
    """Decompose a signal, check its book, and make the book again in another way."""
    signal, options = random_signal(case)
    given = laid_out(case, signal)

    def decompose(**more: Any) -> Any:
        return case.call(pursuit.decompose, given, names=NAMES, **(options | more))

    book = decompose()
    case.record(book=repr(book))
    _check(case, signal, options, book)
    case.choose(_resumed, _saved, _selected)(case, decompose, book)


def random_signal(case: Case) -> tuple[Array, dict[str, Any]]:
    """Return a sum of tones with noise, and options."""
    length, channels = case.integer(64, 400), case.choose(None, None, 1, 2)
    shape = (length,) if channels is None else (channels, length)
    t, made = np.arange(length), np.zeros(shape)
    for _ in range(case.integer(1, 3)):
        size = case.rng.standard_normal((*shape[:-1], 1))
        made += size * np.cos(case.rng.uniform(0, 3) * t + case.rng.uniform(0, 6))
    made += case.choose(0.01, 0.1, 1.0) * case.rng.standard_normal(shape)
    signal = case.input("signal", (made * magnitude(case)).astype(precision(case)))
    options: dict[str, Any] = {"rate": case.choose(1.0, 8000, 44100.0), "progress": False}
    options["snr"] = case.choose(3.0, 10.0, 20.0)
    if case.chance(0.4):
        options["max_atoms"] = case.integer(1, 30)
    if case.chance(0.3):
        options["scales"] = case.choose((16, 64), [32], (64, 32, 16))
        options["max_atoms"] = 30
    if case.chance(0.3):
        options["hop"] = case.choose(0.25, 0.125)
    if channels == 2:
        options["shared"] = case.chance(0.5)
    case.record(options=options)
    return signal, options


def reconstruct(book: Any) -> Array:
    """Return Σ a exp(−(t − t₀)²/2σ²) cos(2πf(t − t₀) + φ), each atom cut to its window."""
    total = np.zeros((book.channels or 1, book.length), LD)
    times = np.arange(book.length) / LD(book.rate)
    for k in range(len(book)):
        u = (times - LD(book.time[k])) * LD(book.rate)  # samples from the center
        width = LD(int(book.scale[k]))
        wave = np.cos(2 * LD(np.pi) * LD(book.frequency[k]) / LD(book.rate) * u + book.phase[k])
        atom = LD(book.amplitude[k]) * np.exp(-((8 * u / width) ** 2) / 2) * wave
        total[book.channel[k]] += np.where(np.abs(u) <= width / 2, atom, 0)
    return total if book.channels is not None else total[0]


def _check(case: Case, signal: Array, options: dict[str, Any], book: Any) -> None:
    case.require(all(len(getattr(book, c)) == len(book) for c in COLUMNS), "columns of one length")
    expected, signal = reconstruct(book), exact(signal)
    result = exact(case.call(book.rebuild))
    case.require(result.shape == signal.shape, f"a reconstruction of shape {result.shape}")
    size = np.abs(exact(book.amplitude)).sum() + norm(signal.ravel())
    off = np.abs(result - expected).max()
    case.require(off <= 1e-8 * size, f"a reconstruction is {float(off / size):.3g} off")
    for k, (row, fit) in enumerate(
        zip(np.atleast_2d(signal), np.atleast_2d(expected), strict=True)
    ):
        ratio = -20 * np.log10(max(norm(row - fit) / norm(row), LD(1e-15)))
        # What atoms put beyond the ends counts as error there: the signal itself is nearer.
        case.require(
            ratio >= book.reached[k] - MARGIN,
            f"channel {k} is said to reach {book.reached[k]:.6g} dB, not {float(ratio):.6g}",
        )
    most = options.get("max_atoms", book.length)
    case.require(not len(book) or book.step.max() < most, "more atoms than max_atoms")
    if "max_atoms" not in options and not options.get("shared"):
        reached = min(book.reached)
        case.require(reached >= options["snr"] - MARGIN, f"only {reached} dB are reached")


def same_book(case: Case, one: Any, other: Any, how: str) -> None:
    """Check that two books are equal bit for bit."""
    for name in COLUMNS:
        same = getattr(one, name).tobytes() == getattr(other, name).tobytes()
        case.require(same, f"{how}, a book has another {name}")
    case.require(one.reached == other.reached, f"{how}, a book reached something else")


def _resumed(case: Case, decompose: Any, book: Any) -> None:
    path, early = case.folder / "run.npz", max(1, int(book.step.max(initial=0)) // 2)
    decompose(max_atoms=early, checkpoint=path)
    same_book(case, book, decompose(checkpoint=path, resume=True), "resumed")


def _saved(case: Case, decompose: Any, book: Any) -> None:
    path = case.folder / case.choose("book.npz", "book.csv")
    case.call(book.save, path, names=NAMES)
    same_book(case, book, case.call(pursuit.Book.load, path, names=NAMES), "saved and loaded")


def _selected(case: Case, decompose: Any, book: Any) -> None:
    half = len(book) // 2
    parts = case.call(lambda: book[:half].rebuild() + book[half:].rebuild())
    off = np.abs(parts - book.rebuild()).max()
    case.require(off <= 1e-9 * np.abs(book.amplitude).sum(), "two halves are not the whole")
