"""Non-negative codes side by side with SciPy, and with codes of any sign.

    python benchmarks/nonnegative.py

Prints ratios of times from interleaved repetitions with their spread, after checking that the
answers agree. The scene is Urban where its file is found, else a simulated one of its size.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import nnls
from unmix import scene

from pursuit import Codes, Cone, encode
from pursuit.encoding.nonnegative import nonnegative_fits

REPEATS = 15
TOLERANCE = 1e-8


def main() -> None:
    pixels, endmembers, name = scene()
    print(f"{name}: {len(pixels)} pixels, {pixels.shape[1]} bands, {len(endmembers)} endmembers")
    against_scipy(pixels, endmembers)
    against_any_sign()


def against_scipy(pixels: np.ndarray, endmembers: np.ndarray) -> None:
    """Whole calls, threads and all, against a loop over the pixels on one thread."""
    count = len(endmembers)

    def one_thread() -> Codes:
        return encode(pixels, Cone(endmembers), "orthogonal", n_nonzero=count, threads=1)

    def every_core() -> Codes:
        return encode(pixels, Cone(endmembers), "orthogonal", n_nonzero=count)

    def fits() -> np.ndarray:
        return nonnegative_fits(pixels, endmembers).coefficients

    def loop() -> list[np.ndarray]:
        return [nnls(endmembers.T, y)[0] for y in pixels]

    expected = np.array(loop())
    for found in (one_thread().matrix.toarray(), every_core().matrix.toarray(), fits()):
        difference = np.abs(found - expected).max()
        if difference > TOLERANCE:
            raise SystemExit(f"the answers differ by {difference:.1e}")
    print(f"all abundances agree to {TOLERANCE:g}; a loop of scipy.optimize.nnls against")
    names = ("encode over a Cone, orthogonal, one thread", "the same, every core", "unmix")
    for title, job in zip(names, (one_thread, every_core, fits), strict=True):
        show(title, job, loop, len(pixels))


def against_any_sign() -> None:
    """What it costs that coefficients may not be negative."""
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((1024, 128))
    weights = np.zeros((4000, 1024))
    for row in weights:
        row[rng.choice(1024, 16, replace=False)] = rng.uniform(0.5, 1, 16)
    signals = weights @ atoms + 0.1 * rng.standard_normal((4000, 128))
    print("1,024 atoms × 128, 4,000 signals, 16 atoms a code; codes of any sign against")
    for method in ("orthogonal", "matching-pursuit"):
        options = {"method": method, "n_nonzero": 16}
        show(
            f"encode over a Cone, {method}",
            lambda options=options: encode(signals, Cone(atoms), **options),
            lambda options=options: encode(signals, atoms, **options),
            len(signals),
        )


def show(
    title: str, ours: Callable[[], object], theirs: Callable[[], object], signals: int
) -> None:
    """The median of the ratios of neighbouring times, and between which the middle half lies."""
    ours()
    theirs()
    times = np.array([(clock(ours), clock(theirs)) for _ in range(REPEATS)])
    low, middle, high = np.percentile(times[:, 1] / times[:, 0], (25, 50, 75))
    mine, yours = 1e6 * np.median(times, axis=0) / signals
    print(
        f"  {title}: {middle:.1f} × ({low:.1f} … {high:.1f}), "
        f"{mine:.2f} µs a signal against {yours:.1f}"
    )


def clock(job: Callable[[], object]) -> float:
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
