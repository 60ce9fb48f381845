"""How few atoms a certified δ-approximate oracle looks at.

    python benchmarks/approximate.py

Matching pursuit on ½‖x − b‖² over unit atoms with `Approximate(δ)`: Gaussian atoms (200 × 100, ten
seeds) and the Urban spectral library (651 atoms, 162 bands, ten pixels). Printed for each δ:

refreshed  the share of the atoms looked at in a step;
products   the same with the comparisons of gradients, relative to the exact oracle;
quality    |⟨∇f, z⟩| of the atom taken relative to the best one by brute force: smallest, mean;
to 1e-2    products until f has fallen to 1 % of its start above the optimum, relative to those of
           the exact oracle.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from data_files import find
from numpy.typing import NDArray
from scipy.io import loadmat

from pursuit import Approximate, Dictionary, SquaredDistance, Steepest, methods, solve
from pursuit.rules.directions import Direction

STEPS = 1000
DELTAS = (0.9, 0.7, 0.5, 0.3)
NEAR = 1e-2
LIMIT = 0.35

Vector = NDArray[np.float64]
Problems = list[tuple[Dictionary, Vector]]


@dataclass
class Seen:
    """What was seen in one run."""

    refreshed: float = 0.0
    products: float = 0.0
    to_near: float = np.inf
    quality: list[float] = field(default_factory=list)


def observe(atoms: Dictionary, b: Vector, direction: Direction) -> Seen:
    """One run, with the quality of every step by brute force."""
    seen, xs = Seen(), []
    f = SquaredDistance(b)
    result = solve(
        f,
        atoms,
        methods.matching_pursuit(direction=direction),
        max_iter=STEPS,
        tol=0,
        every=1,
        callback=lambda shown: xs.append(shown.x) or False,
        progress=False,
    )
    for x, after in pairwise(xs):
        c = np.abs(atoms.matrix @ (x - b))
        # A unit atom is left with no correlation by its step: ‖step‖ is what it had.
        seen.quality.append(float(np.linalg.norm(after - x) / c.max()))
    rest = b - atoms.basis.T @ (atoms.basis @ b)
    floor = 0.5 * float(rest @ rest)
    gaps = (result.trace.value - floor) / (result.trace.value[0] - floor)
    near = np.flatnonzero(gaps <= NEAR)
    if near.size:
        seen.to_near = float(result.trace.products[near[0]])
    picks = result.state.numbers["memory"].get("picks", {"looked": len(atoms) * STEPS})
    looked = picks["looked"]
    seen.refreshed = looked / (len(atoms) * STEPS)
    seen.products = result.counts.products / STEPS
    return seen


def gaussian() -> Problems:
    problems = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((200, 100))
        unit = Dictionary(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        problems.append((unit, rng.standard_normal(100)))
    return problems


def urban() -> Problems:
    library, scene = find("spectral_libs/spectral_library_urban.mat"), find("urban77/urban77.npz")
    if library is None or scene is None:
        return []
    rows = loadmat(library)["A"].T.astype(np.float64)
    unit = Dictionary(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    with np.load(scene) as file:
        pixels = file["pixels"].T.astype(np.float64)
    return [(unit, pixel) for pixel in pixels[:: len(pixels) // 10][:10]]


def report(name: str, problems: Problems) -> Iterator[tuple[float, float]]:
    """Print one table; give the refreshed share of each δ."""
    exact = [observe(atoms, b, Steepest()) for atoms, b in problems]
    print(f"\n{name}: {len(problems)} problems, {STEPS} steps each")
    print(f"{'δ':>5} {'refreshed':>10} {'products':>9} {'quality':>16} {'to 1e-2':>8}")
    for delta in DELTAS:
        runs = [observe(atoms, b, Approximate(delta)) for atoms, b in problems]
        share = float(np.mean([run.refreshed for run in runs]))
        work = np.mean([run.products for run in runs]) / np.mean([run.products for run in exact])
        quality = np.concatenate([run.quality for run in runs])
        ratios = [run.to_near / old.to_near for run, old in zip(runs, exact, strict=True)]
        print(
            f"{delta:5.2f} {share:10.3f} {work:9.3f} {quality.min():8.3f} {quality.mean():7.3f} "
            f"{np.median(ratios):8.2f}"
        )
        if quality.min() < delta * (1 - 1e-6):
            raise SystemExit(f"the quality fell below δ = {delta}: {quality.min()}")
        yield delta, share


def main() -> None:
    for name, problems in (("Gaussian, 200 × 100", gaussian()), ("Urban library", urban())):
        if not problems:
            print(f"\n{name}: its files were not found (see pursuit.files.data.find); left out")
            continue
        shares = dict(report(name, problems))
        verdict = "met" if shares[0.5] <= LIMIT else "missed"
        print(f"at δ = 0.5 {shares[0.5]:.3f} of the atoms, at most {LIMIT} wanted: {verdict}")


if __name__ == "__main__":
    main()
