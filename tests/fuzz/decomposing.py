"""The area `decompose`: signals into Gabor atoms, whose book rebuilds what it says."""

from __future__ import annotations

from typing import Any

import numpy as np

import pursuit
from fuzz.case import Case, words
from fuzz.damage import damaged
from fuzz.generators import Array, junked, laid_out, magnitude, spoilt
from fuzz.oracle import LD, exact, norm, tiny_of
from pursuit import Book

NAMES = words(
    "signal rate snr max_atoms scales hop shared progress checkpoint resume length window book path"
)
COLUMNS = ("step", "channel", "frequency", "time", "scale", "phase", "amplitude")
JUNKED = ("rate", "snr", "max_atoms", "scales", "hop", "shared", "resume")
MARGIN = 2e-3
"""dB that a ratio may be off: kept coefficients leave out small inner products of atoms."""


def decompose_case(case: Case) -> None:
    signal, options = pose(case)
    shown = laid_out(case, signal)
    call = lambda **more: pursuit.decompose(shown, **(options | more))  # noqa: E731
    book = case.ask(call, NAMES, valid=not case.odd)
    case.tell(book=repr(book).replace("\n", " |"))
    _check(case, signal, options, book)
    case.pick(_kept, _resumed, _some)(case, call, book)


def pose(case: Case) -> tuple[Array, dict[str, Any]]:
    length = case.whole(64, 400) if case.chance(0.9) else case.whole(1, 80)
    channels = case.pick(None, None, 1, 2)
    shape = (length,) if channels is None else (channels, length)
    t, rate = np.arange(length), case.pick(1.0, 8000, 44100.0)
    made = np.zeros(shape)
    for _ in range(case.whole(1, 3)):
        tone = np.cos(case.rng.uniform(0, 3) * t + case.rng.uniform(0, 6))
        made += case.rng.standard_normal((*shape[:-1], 1)) * tone
    made += case.pick(0.0, 0.1, 1.0) * case.rng.standard_normal(shape)
    made = made * magnitude(case, "f8")
    if case.chance(0.05):
        made = spoilt(case, np.atleast_2d(made)).reshape(shape)
    case.odd += ["short"] if length < 64 else []
    dtype = case.pick("f8", "f8", "f4", "i2")
    with np.errstate(all="ignore"):
        signal = (made * (1000 if dtype == "i2" else 1)).astype(dtype)
    case.odd += ["another type"] if dtype != "f8" else []
    options: dict[str, Any] = {"rate": rate, "snr": case.pick(3.0, 10.0, 20.0), "progress": False}
    if case.chance(0.4):
        options["max_atoms"] = case.whole(1, 30)
    if case.chance(0.3):
        options["scales"] = case.pick((16, 64), [32], (64, 32, 16), (16, 48), ())
        case.odd.append("scales")
    if case.chance(0.3):
        options["hop"] = case.pick(0.25, 0.125, 0.0625)
    if channels == 2:
        options["shared"] = case.chance(0.5)
    case.keep("signal", signal), case.tell(options=options)
    return signal, junked(case, options, JUNKED)


def rebuilt(book: Any) -> Array:
    """Σ A exp(−(t − t₀)²/2σ²) cos(2πf(t − t₀) + φ), each atom cut to its window."""
    total = np.zeros((book.channels or 1, book.length), LD)
    times = np.arange(book.length) / LD(book.rate)
    for k in range(len(book)):
        u = (times - LD(book.time[k])) * LD(book.rate)  # in samples from the centre
        sigma = LD(int(book.scale[k])) / 8
        wave = np.cos(2 * LD(np.pi) * LD(book.frequency[k]) / LD(book.rate) * u + book.phase[k])
        inside = np.abs(u) <= LD(int(book.scale[k])) / 2
        total[book.channel[k]] += np.where(
            inside, LD(book.amplitude[k]) * np.exp(-((u / sigma) ** 2) / 2) * wave, 0
        )
    return total if book.channels is not None else total[0]


def _check(case: Case, signal: Array, options: dict[str, Any], book: Any) -> None:
    case.require(all(len(getattr(book, c)) == len(book) for c in COLUMNS), "columns of one length")
    case.require(all(np.isfinite(getattr(book, c)).all() for c in COLUMNS), "no number")
    ours, fit = rebuilt(book), exact(case.ask(book.rebuild, NAMES, valid=True))
    truth = exact(signal)
    case.require(fit.shape == truth.shape, f"it rebuilds shape {fit.shape}")
    size = np.abs(exact(book.amplitude)).sum() + norm(truth.reshape(-1))
    off = np.abs(fit - ours).max()
    case.require(
        off <= 1e-8 * size + len(book) * tiny_of("f8"),
        f"a book rebuilds what is {float(off):.3g} off",
    )
    for k, (row, near) in enumerate(zip(np.atleast_2d(truth), np.atleast_2d(ours), strict=True)):
        rest = norm(row - near) / norm(row)
        case.require(
            abs(-20 * np.log10(max(rest, LD(1e-15))) - LD(book.reached[k])) <= MARGIN,
            f"channel {k} reached {book.reached[k]:.6g} dB, where {float(rest):.6g} is left",
        )
    most = options.get("max_atoms") or book.length
    case.require(len(book) == 0 or book.step.max() < most, "more atoms than max_atoms")
    if "max_atoms" not in options and not case.odd and not options.get("shared"):
        reached = min(book.reached)
        # What atoms put beyond the ends counts as error there, so that the signal is nearer.
        case.require(reached >= options["snr"] - MARGIN, f"{reached} dB is not what was asked for")


def _same(case: Case, one: Any, other: Any, what: str) -> None:
    for name in COLUMNS:
        equal = getattr(one, name).tobytes() == getattr(other, name).tobytes()
        case.require(equal, f"{what}, a book has another {name}")
    case.require(one.reached == other.reached, f"{what}, a book reached something else")


def _kept(case: Case, call: Any, book: Any) -> None:
    """Saved and loaded; after damage, the same or a sentence."""
    path = case.folder / "book.npz"
    names = {*NAMES, str(path)}
    case.ask(lambda: book.save(path), names, valid=True)
    _same(case, book, case.ask(lambda: Book.load(path), names, valid=True), "loaded")
    if damaged(case, path):
        _same(case, book, case.ask(lambda: Book.load(path), names), "loaded after damage")


def _resumed(case: Case, call: Any, book: Any) -> None:
    path = case.folder / "run.npz"
    names = {*NAMES, str(path)}
    early = max(1, int(book.step.max(initial=0)) // 2)
    case.ask(lambda: call(max_atoms=early, checkpoint=path), names)
    again = case.ask(lambda: call(checkpoint=path, resume=True), names)
    _same(case, book, again, "resumed")


def _some(case: Case, call: Any, book: Any) -> None:
    """A book of some atoms, and of one after another."""
    half = case.ask(lambda: book[: len(book) // 2], NAMES, valid=True)
    rest = case.ask(lambda: book[len(book) // 2 :], NAMES, valid=True)
    off = np.abs(half.rebuild() + rest.rebuild() - book.rebuild()).max()
    size = np.abs(book.amplitude).sum()
    case.require(off <= 1e-9 * size + tiny_of("f8"), "two halves are not the whole")
    case.ask(lambda: book[case.pick(None, 10**9, "x", 1.5, [[0]], True)], NAMES)
