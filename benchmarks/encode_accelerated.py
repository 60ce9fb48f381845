"""What decides how encode(…, "accelerated") works: ``python benchmarks/encode_accelerated.py``.

Unit atoms whose singular values lie evenly on a logarithmic scale, Gaussian signals, all runs to
their own end. For each condition number,

* float32 atoms and signals computed in float32 and in float64: the distance of the fit from the
  best one, relative to the signal, with codes of float32 in either case; steps; time;
* float64 with and without all earlier steps kept: the same.

Distances and steps are medians, times are microseconds of the processor a signal. The limits that
`pursuit.encoding.conjugate` works by, EASY and HARD, are read off these tables.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from pursuit.encoding.conjugate import EASY, HARD, SMALL, ConjugateBlock, Frame

Rows = NDArray[np.floating]
SHAPES = [(6, 162), (48, 100), (256, 64), (200, 100), (1024, 256)]
CONDITIONS = [3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4, 1e6]
STEPS = 1000


def atoms(shape: tuple[int, int], condition: float, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((k, min(shape))))[0] for k in shape)
    rows = (left * np.geomspace(1, 1 / condition, min(shape))) @ right.T
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def fitted(rows: Rows, signals: Rows, work: str, memory: int) -> str:
    """Distance from the best fit, steps and time, in a precision of the work."""
    frame = Frame.of(rows, np.dtype(work))
    zero = 8 * np.finfo(rows.dtype).eps * np.linalg.norm(signals, axis=1)
    began = time.process_time()
    run = ConjugateBlock(frame, frame.coordinates(signals), zero, memory)
    for _ in range(STEPS):
        if not run.going:
            break
        run.step()
    each = (time.process_time() - began) / len(signals)
    codes = (run.coef() / frame.norms).astype(rows.dtype)
    basis = np.linalg.svd(rows.astype(float), full_matrices=False)[2]
    rest = codes.astype(float) @ rows - signals.astype(float) @ basis.T @ basis
    away = np.linalg.norm(rest, axis=1) / np.linalg.norm(signals, axis=1)
    return f"{np.median(away):9.0e} {np.median(run.steps):6.0f} {1e6 * each:8.0f}"


def table(title: str, shape: tuple[int, int], dtype: str, ways: dict[str, tuple[str, int]]) -> None:
    print(f"\n{title}, {shape[0]} atoms in {shape[1]} dimensions")
    print(f"{'condition':>10}" + "".join(f" |{name + ': away, steps, µs':^26}" for name in ways))
    signals = np.random.default_rng(1).standard_normal((128, shape[1])).astype(dtype)
    for number, condition in enumerate(CONDITIONS):
        rows = atoms(shape, condition, number).astype(dtype)
        cells = [fitted(rows, signals, *way) for way in ways.values()]
        print(f"{condition:>10g}" + "".join(f" |{cell:^26}" for cell in cells))


def main() -> None:
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    for shape in SHAPES:
        kept = min(shape) if min(shape) <= SMALL else 0
        ways = {"float32": ("f4", kept), "float64": ("f8", kept)}
        table(f"float32 (used up to {EASY:g})", shape, "f4", ways)
    for shape in SHAPES:
        ways = {"none kept": ("f8", 0), "all kept": ("f8", min(shape))}
        table(f"earlier steps (kept from {HARD:g} on)", shape, "f8", ways)


if __name__ == "__main__":
    main()
