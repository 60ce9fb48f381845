"""Abundances side by side with SciPy, and a whole scene from file to page.

    python benchmarks/unmix.py

Prints ratios of times from interleaved repetitions, after checking that the answers agree. The
scene is Urban where its file is found, else a simulated one of its size.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from data_files import find
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize, nnls

from pursuit.encoding.nonnegative import nonnegative_fits, simplex_fits

PER_PIXEL = 200
"""Pixels that the slow way is timed on."""
REPEATS = 5
BANDS, MATERIALS = 162, 6
SCENES = ((307, 307, 162), (610, 340, 103))
"""Rows, columns and bands of Urban and of Pavia University."""
LARGEST_PAGE = 6.0
"""Megabytes."""


def main() -> None:
    pixels, endmembers, name = scene()
    print(f"{name}: {len(pixels)} pixels, {pixels.shape[1]} bands, {len(endmembers)} endmembers")
    chosen = pixels[np.linspace(0, len(pixels) - 1, PER_PIXEL).astype(int)]
    compare(
        "non-negative, against a loop of scipy.optimize.nnls",
        lambda: nonnegative_fits(pixels, endmembers).coefficients,
        lambda: np.array([nnls(endmembers.T, y)[0] for y in pixels]),
        pixels,
        pixels,
        1e-8,
    )
    compare(
        "sum to one, against a quadratic program per pixel (SLSQP)",
        lambda: simplex_fits(pixels, endmembers).coefficients,
        lambda: np.array([quadratic_program(y, endmembers) for y in chosen]),
        pixels,
        chosen,
        1e-6,
    )
    from_file_to_page()


def scene() -> tuple[np.ndarray, np.ndarray, str]:
    path = find("urban77/urban77.npz")
    if path is None:
        cube, pure = simulated(77, 77)
        return cube.reshape(-1, BANDS) / 1000, pure, "simulated"
    with np.load(path, allow_pickle=False) as file:
        return file["pixels"].T / 1000, file["endmembers_gt"].T.astype(np.float64), "Urban"


def simulated(rows: int, columns: int, bands: int = BANDS) -> tuple[np.ndarray, np.ndarray]:
    """Smooth fields of six smooth spectra under uneven light, with noise, as whole numbers."""
    rng = np.random.default_rng(0)
    pure = gaussian_filter(rng.uniform(0, 1, (MATERIALS, bands)), (0, 8))
    pure = 0.05 + 0.5 * (pure - pure.min()) / np.ptp(pure)
    fields = np.stack([gaussian_filter(rng.standard_normal((rows, columns)), 6) for _ in pure], -1)
    shares = np.exp(4 * fields / fields.std())
    shares /= shares.sum(axis=-1, keepdims=True)
    light = rng.uniform(0.6, 1.2, (rows, columns, 1))
    cube = light * (shares @ pure) + 0.008 * rng.standard_normal((rows, columns, bands))
    return np.clip(1000 * cube, 0, None).round().astype(np.uint16), pure


def quadratic_program(y: np.ndarray, endmembers: np.ndarray) -> np.ndarray:
    gram, b, r = endmembers @ endmembers.T, endmembers @ y, len(endmembers)
    return minimize(
        lambda a: 0.5 * a @ gram @ a - b @ a,
        np.full(r, 1 / r),
        jac=lambda a: gram @ a - b,
        method="SLSQP",
        bounds=[(0, None)] * r,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1, "jac": lambda a: np.ones(r)},
        options={"ftol": 1e-15, "maxiter": 500},
    ).x


def compare(
    title: str,
    ours: Callable[[], np.ndarray],
    theirs: Callable[[], np.ndarray],
    all_pixels: np.ndarray,
    their_pixels: np.ndarray,
    tolerance: float,
) -> None:
    """Time per pixel of both, in turn, and their largest difference."""
    found, expected = ours(), theirs()
    if len(their_pixels) < len(all_pixels):
        found = found[np.linspace(0, len(all_pixels) - 1, len(their_pixels)).astype(int)]
    difference = np.abs(found - expected).max()
    times = np.array([[clock(ours), clock(theirs)] for _ in range(REPEATS)])
    each = np.median(times, axis=0) / [len(all_pixels), len(their_pixels)]
    print(f"{title}:")
    mine, yours = 1e6 * each
    print(f"  {mine:.2f} µs a pixel against {yours:.1f}: {yours / mine:.0f} ×")
    print(f"  largest difference of an abundance: {difference:.1e} (allowed {tolerance:g})")
    if difference > tolerance:
        raise SystemExit("the answers differ")


def clock(job: Callable[[], object]) -> float:
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def from_file_to_page() -> None:
    for rows, columns, bands in SCENES:
        with tempfile.TemporaryDirectory() as folder:
            path, page = Path(folder) / "scene.npy", Path(folder) / "page.html"
            np.save(path, simulated(rows, columns, bands)[0])
            command = [sys.executable, "-m", "pursuit.cli", "unmix", path, "-r", MATERIALS]
            seconds, busy = children(lambda c=command, p=page: subprocess.run(
                [*map(str, c), "--report", str(p)], check=True, capture_output=True
            ))  # fmt: skip
            megabytes = page.stat().st_size / 1e6
        print(f"a scene of {rows} × {columns} × {bands} from file to page:")
        print(f"  {seconds:.1f} s ({busy:.1f} s of processors), start of Python and compiled code")
        print(f"  included; {megabytes:.2f} MB")
        if megabytes > LARGEST_PAGE:
            raise SystemExit("the page is too large")


def children(job: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of the processors, that a job takes in other processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = clock(job)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, busy


if __name__ == "__main__":
    main()
