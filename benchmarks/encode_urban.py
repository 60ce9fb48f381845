"""All pixels of Urban by encode(…, "accelerated"): ``python benchmarks/encode_urban.py``.

The fewest iterations after which (1/N) Σ ‖x_i − b_i‖² over six endmembers is within 1e-6 of where
it begins above its floor, and the time of the processor for them on one thread: the least of five
runs from pixels to codes. With ``--beside CHECKOUT`` another version of the library, in
CHECKOUT/src, does the same work in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

LEVEL, MOST, REPEATS = 1e-6, 4096, 5


def measured(pixels: np.ndarray, endmembers: np.ndarray) -> tuple[int, float]:
    """Iterations and seconds, by the version of the library that this process imports."""
    from pursuit import encode

    start = float((pixels**2).sum(axis=1).mean())
    basis = np.linalg.qr(endmembers.T)[0]
    floor = start - float(((pixels @ basis) ** 2).sum(axis=1).mean())

    def run(most: int) -> tuple[float, float]:
        began = time.process_time()
        codes = encode(pixels, endmembers, "accelerated", max_iter=most, threads=1, progress=False)
        spent = time.process_time() - began
        return (float((codes.residual_norms**2).mean()) - floor) / (start - floor), spent

    low, high = 0, 1
    while run(high)[0] > LEVEL and high < MOST:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if run(middle)[0] > LEVEL else (low, middle)
    return high, min(run(high)[1] for _ in range(REPEATS))


def elsewhere(checkout: Path, pixels: np.ndarray, endmembers: np.ndarray) -> tuple[int, float]:
    """The same by another checkout."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/scene.npz", pixels=pixels, endmembers=endmembers)
        command = [sys.executable, __file__, "--measure", f"{folder}/scene.npz"]
        environment = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src")}
        said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    iterations, seconds = said.stdout.split()
    return int(iterations), float(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--beside", type=Path, help="a checkout of another version")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        with np.load(arguments.measure) as file:
            print(*measured(file["pixels"], file["endmembers"]))
        return
    from convergence_problems import scene

    pixels, endmembers = scene()
    print(
        f"Urban, {len(pixels):,} pixels over {len(endmembers)} of them, {LEVEL:g} above the floor"
    )
    iterations, seconds = measured(pixels, endmembers)
    print(f"  here: {iterations} iterations, {seconds:.4f} s")
    if arguments.beside:
        before, longer = elsewhere(arguments.beside, pixels, endmembers)
        print(f"  {arguments.beside}: {before} iterations, {longer:.4f} s")
        print(f"  {longer / seconds:.1f} times as long")


if __name__ == "__main__":
    main()
