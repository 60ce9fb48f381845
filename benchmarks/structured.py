"""Sets that know their structure: ``python benchmarks/structured.py``.

Ten templates of 200 samples, moved over 100,000 samples of a simulated signal (600 of them, with
noise): 1,000 steps of matching pursuit over `Shifts`, with set-up, against the same pursuit with an
FFT of the residual in each step, and against alphacsc's locally greedy coordinate descent (LGCD)
at the residual that it ends with. LGCD solves another problem, ½‖x − b‖² plus a multiple of the ℓ1
norm of the coefficients, at the last slope of the pursuit as the multiple: it says what that field
waits for, not which of the two codes is better. How long it takes hangs on how much translations of
a template resemble each other: it is run on smooth templates and on pieces of white noise.

Then the price of a float32 step beside what the memory allows (the bytes that a step reads and
writes, at the speed of y ← y − ax over arrays that no cache holds), of a step as the signal grows
from 10⁵ to 10⁷ samples, and of the steps that correct coefficients; and the memory that a run
takes. At last four templates are learned from five minutes of an ECG, with a picture, and sounds
are taken apart (`gabor.py`). Seconds are those of the processor, on one thread, the best of some
rounds.

    python benchmarks/structured.py --only fft lgcd step growth memory sets ecg sound
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import fft, sparse
from scipy.ndimage import gaussian_filter1d

from pursuit import (
    Coordinates,
    Operator,
    Result,
    Shifts,
    SparseDictionary,
    SquaredDistance,
    Union,
    solve,
)
from pursuit.points import choose

Array = NDArray[Any]
KERNELS, LENGTH, SAMPLES, STEPS = 10, 200, 100_000, 1000
QUIET: dict[str, Any] = {"tol": 0.0, "progress": False, "threads": 1}


def templates(smooth: float) -> Array:
    """Smooth wave forms, as those of sound, EEG and ECG are; or pieces of white noise."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((KERNELS, LENGTH))
    rows = (gaussian_filter1d(rows, smooth) if smooth else rows) * np.hanning(LENGTH)
    unit: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def simulated(samples: int, dtype: Any = np.float64, smooth: float = 4) -> tuple[Array, Array]:
    """Templates and a signal: one of them every 170 samples on average, and noise."""
    rng, rows = np.random.default_rng(1), templates(smooth)
    atoms = Shifts(rows, samples)
    some = rng.integers(0, len(atoms), samples * 6 // 1000)
    signal = atoms.combine_some(3 * rng.standard_normal(len(some)), some)
    signal += 0.05 * rng.standard_normal(samples)
    return rows.astype(dtype), signal.astype(dtype)


def pursued(rows: Array, signal: Array, steps: int, method: str = "mp", **options: Any) -> Result:
    """A whole call: the set is made in it."""
    atoms = Shifts(rows, signal.shape)
    settings = {**QUIET, "max_iter": steps, "every": max(steps, 1), **options}
    return solve(SquaredDistance(signal), atoms, method, **settings)


def by_fft(rows: Array, signal: Array, steps: int) -> tuple[list[int], float]:
    """Matching pursuit with an FFT of the residual in each step: the atoms, seconds a step."""
    n = fft.next_fast_len(len(signal) + LENGTH - 1, real=True)
    spectra = fft.rfft(rows, n, axis=1).conj()
    residual, picks, places = signal.copy(), [], len(signal) - LENGTH + 1
    began = time.process_time()
    for _ in range(steps):
        c = fft.irfft(fft.rfft(residual, n) * spectra, n, axis=1)[:, :places]
        k, t = divmod(int(np.abs(c).argmax()), places)
        residual[t : t + LENGTH] -= c[k, t] * rows[k]
        picks.append(t * KERNELS + k)
    return picks, (time.process_time() - began) / steps


def best(run: Callable[[], Any], rounds: int) -> float:
    """The least seconds of the processor that a call took; one before is not counted."""
    run()
    taken = []
    for _ in range(rounds):
        began = time.process_time()
        run()
        taken.append(time.process_time() - began)
    return min(taken)


# What is printed --------------------------------------------------------------------------------


def against_fft(rounds: int) -> None:
    for dtype in (np.float64, np.float32):
        rows, signal = simulated(SAMPLES, dtype)
        picks, each = by_fft(rows, signal, 12)
        found: list[int] = []
        for steps in range(1, 13):
            found += sorted(set(pursued(rows, signal, steps).support.tolist()) - set(found))
        ours = best(lambda r=rows, s=signal: pursued(r, s, STEPS), rounds)
        print(
            f"{np.dtype(dtype)}: {STEPS:,} steps with set-up {1e3 * ours:.1f} ms; an FFT each step "
            f"{1e3 * each:.2f} ms a step: {each * STEPS / ours:,.0f} × "
            f"(same first 12 atoms: {found == picks})"
        )


def against_lgcd(rounds: int) -> None:
    for kind, smooth in (("smooth templates", 4), ("templates of white noise", 0)):
        rows, signal = simulated(SAMPLES, smooth=smooth)
        by_lgcd(rows, signal[:2000], 1.0)  # compiled
        began = time.process_time()
        codes = by_lgcd(rows, signal, pursued(rows, signal, STEPS).slope)
        theirs = time.process_time() - began
        x = Shifts(rows, SAMPLES).combine(np.ascontiguousarray(codes.T).reshape(-1))
        rtol = float(np.linalg.norm(signal - x) / np.linalg.norm(signal))
        run = lambda r=rows, s=signal, t=rtol: pursued(r, s, 100_000, rtol=t)  # noqa: E731
        result, ours = run(), best(run, rounds)
        print(
            f"{kind}, residual {rtol:.4f} of the signal: alphacsc LGCD (it solves ℓ1: "
            f"{np.count_nonzero(codes):,} atoms) {theirs:.2f} s, ours ({len(result.support):,} "
            f"atoms, {result.iterations:,} steps, with set-up) {1e3 * ours:.1f} ms: "
            f"{theirs / ours:,.0f} ×"
        )


def by_lgcd(rows: Array, signal: Array, multiple: float) -> Array:
    """Codes by alphacsc, at ten times the tolerance that it has by default."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from alphacsc.update_z_multi import update_z_multi

        given = {"solver": "lgcd", "solver_kwargs": {"tol": 1e-2}, "positive": False}
        codes: Array = update_z_multi(signal[None, None], rows[:, None], multiple, **given)[0][0]
        return codes


def steps_alone(samples: int, dtype: Any, steps: int, rounds: int) -> float:
    """Seconds of a compiled step, the set-up left out."""
    from pursuit.kernels import local as kernels
    from pursuit.points.local import ShiftsPoint

    rows, signal = simulated(samples, dtype)
    atoms = Shifts(rows, samples)
    x = choose(SquaredDistance(signal), atoms, np.zeros(samples, dtype))
    assert isinstance(x, ShiftsPoint)
    ends = kernels.LocalEnds(0.0, -np.inf, 0, 0.0)

    def some(count: int) -> None:
        x.reserve(count)
        kept = (x.kept, x.windows, x.residual, x.coefs, atoms.squares, atoms.squares)
        kernels.pursue(*kept, np.empty(0, np.int64), count, ends, x.log)

    return best(lambda: some(steps), rounds) / steps


def beside_memory(rounds: int) -> None:
    step = steps_alone(SAMPLES, np.float32, 2000, rounds)
    changed = KERNELS * (2 * LENGTH - 1) * 4
    moved = (
        4 * changed
    )  # correlations read and written, products read, correlations read for maxima
    y, x = np.zeros(2**26, np.float32), np.ones(2**26, np.float32)
    speed = 3 * x.nbytes / best(lambda: np.subtract(y, x, out=y), rounds)
    print(
        f"a float32 step: {1e6 * step:.2f} µs for {moved / 1024:.0f} KiB read and written; memory "
        f"at {speed / 1e9:.1f} GB/s allows {1e6 * moved / speed:.2f} µs"
    )


def growth(rounds: int) -> None:
    """Beside what bare memory does: y ← y − x over the correlations of a step, anywhere."""
    sizes = (10**5, 10**6, 10**7)
    for what, seconds in (
        ("a float32 step", {T: steps_alone(T, np.float32, 2000, rounds) for T in sizes}),
        ("its correlations read and written", {T: windows_alone(T, rounds) for T in sizes}),
    ):
        shown = ", ".join(f"{T:.0e} samples {1e6 * s:.2f} µs" for T, s in seconds.items())
        print(f"{what} over {shown}: grows {seconds[10**7] / seconds[10**5]:.2f} ×")


def windows_alone(samples: int, rounds: int) -> float:
    """Seconds that a window of correlations takes to be read and written, and nothing else."""
    width = KERNELS * (2 * LENGTH - 1)
    s, products = np.ones(KERNELS * samples, np.float32), np.ones(width, np.float32)
    places = np.random.default_rng(0).integers(0, s.size - width, (rounds + 1, 2000))
    turns = iter(places)
    return best(lambda: _subtract(s, products, next(turns)), rounds) / places.shape[1]


@njit
def _subtract(s: Array, products: Array, places: Array) -> None:
    for place in places:
        window = s[place : place + products.size]
        for t in range(window.size):
            window[t] -= products[t]


def memory(rounds: int) -> None:
    samples = 1_000_000
    rows, signal = simulated(samples, np.float32)
    pursued(rows, signal, 10)
    tracemalloc.start()
    pursued(rows, signal, STEPS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    unit = KERNELS * samples * 4
    full = samples * unit
    print(
        f"{samples:,} samples: peak {peak / 2**20:,.0f} MiB, {peak / unit:.1f} × the correlations; "
        f"the matrix of all translations would take {full / 2**40:,.0f} TiB"
    )


def sets(rounds: int) -> None:
    rows, signal = simulated(SAMPLES)
    for method in ("matching-pursuit", "local-orthogonal", "orthogonal"):
        run = lambda m=method: pursued(rows, signal, STEPS, m)  # noqa: E731
        value = run().value
        print(f"{method}: {STEPS:,} steps {1e3 * best(run, 1):.0f} ms, value {value:.4f}")
    rng, n = np.random.default_rng(2), 100_000
    matrix = sparse.random_array((n, 20_000), density=5e-4, rng=rng, format="csr")
    matrix = matrix + sparse.eye_array(n, 20_000) + sparse.eye_array(n, 20_000, k=20_000 - n)
    covered = matrix[np.diff(matrix.tocsr().indptr) > 0]
    b = rng.standard_normal(20_000)
    many = {
        "SparseDictionary": (SparseDictionary(covered), b),
        "Operator (an inverse FFT)": (Operator(_cosines(20_000), norms=1.0), b),
        "Union of spikes and Shifts": (Union(Coordinates(SAMPLES), Shifts(rows, SAMPLES)), signal),
    }
    for name, (atoms, target) in many.items():
        f = SquaredDistance(target)
        run = lambda f=f, a=atoms: solve(f, a, max_iter=200, every=200, **QUIET)  # noqa: E731
        print(f"{name}, {len(atoms):,} atoms: 200 steps with set-up {1e3 * best(run, 1):.0f} ms")


def ecg(rounds: int) -> None:
    """Five minutes of an ECG: four templates of 0.6 s, and a picture in ``ecg_templates.png``."""
    from data_files import find
    from matplotlib.figure import Figure
    from scipy.ndimage import median_filter, uniform_filter1d

    from pursuit import learn_templates

    volts = (np.load(find("ecg_scipy/ecg.dat"))["ecg"].astype(np.float64) - 1024) / 200
    heart = volts - uniform_filter1d(median_filter(volts, size=181), 361)
    began = time.process_time()
    learned = learn_templates(heart, 4, 216, n_atoms=1000)
    seconds = time.process_time() - began
    template, _, place = learned.atoms.place(learned.result.support)
    explained = 1 - 2 * learned.result.value / float(heart @ heart)
    times = ", ".join(str(n) for n in np.bincount(template, minlength=4))
    print(f"ECG: {learned!r} and {seconds:.1f} s; {explained:.1%} explained; {times} times each")
    figure = Figure(figsize=(12, 6), layout="constrained")
    top, bottom = figure.subfigures(2)
    for k, axes in enumerate(top.subplots(1, 4)):
        axes.plot(np.arange(216) / 360, learned.templates[k])
        axes.set(title=f"template {k}", xlabel="s")
    axes, some = bottom.subplots(), slice(36_000, 39_600)
    axes.plot(np.arange(3600) / 360, heart[some], "k", lw=0.8, label="ECG")
    axes.plot(np.arange(3600) / 360, learned.result.x[some], "r", lw=0.8, label="templates")
    for k, t, w in zip(template, place, learned.result.weights, strict=True):
        if some.start <= t < some.stop - 108 and abs(w) > 3:
            # Each template has a height of its own: two may stand at one place.
            axes.text((t + 108 - some.start) / 360, 4.2 - 0.4 * k, str(k), ha="center")
    axes.set(xlim=(0, 10), ylim=(-1.2, 4.8), xlabel="s", ylabel="mV")
    axes.legend(loc="lower right", ncols=2, frameon=False)
    figure.savefig("ecg_templates.png")


def _cosines(n: int) -> Any:
    from scipy.sparse.linalg import LinearOperator

    return LinearOperator(
        (n, n),
        matvec=lambda w: fft.idct(np.ravel(w), norm="ortho"),
        rmatvec=lambda d: fft.dct(np.ravel(d), norm="ortho"),
        dtype=np.float64,
    )


def sound(rounds: int) -> None:
    """A minute and ten minutes of sound over Gabor atoms, in a process whose memory is its own."""
    subprocess.run([sys.executable, str(Path(__file__).with_name("gabor.py"))], check=True)


PARTS = {
    "fft": against_fft,
    "lgcd": against_lgcd,
    "step": beside_memory,
    "growth": growth,
    "memory": memory,
    "sets": sets,
    "ecg": ecg,
    "sound": sound,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for name in options.only:
        PARTS[name](options.rounds)


if __name__ == "__main__":
    main()
