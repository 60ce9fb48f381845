"""Matrix completion by rank-one pursuit: an exact oracle against δ-approximate ones.

    python benchmarks/completion.py

A matrix of 2,000 × 2,000 and rank 10, of which 5 % of the entries are known, without noise.
Matching pursuit with exact steps on ½Σ(X_ij − B_ij)² over matrices uvᵀ, with the exact leading
singular pair and with pairs that are proved to be at least δ of it (`Approximate`). Printed:

error      ‖X − B‖/‖B‖ over all entries, after so many atoms;
fit        the same over the known entries;
seconds    CPU time of the run, one thread, and relative to the exact oracle;
products   with the residual matrix and its transpose, in the oracle alone;
quality    |⟨∇f, z⟩|/σ₁ of the atoms taken: smallest and mean (of every tenth, by ARPACK).
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from pursuit import Approximate, ExactLineSearch, MatrixEntries, RankOne, Steepest, methods, solve
from pursuit.linalg import leading_pair
from pursuit.rules.directions import Direction

SIZE, RANK, KNOWN = 2000, 10, 0.05
Matrix = NDArray[np.float64]


@dataclass
class Scene:
    """The whole matrix as factors, and what is known of it."""

    left: Matrix
    right: Matrix
    known: Any

    @staticmethod
    def drawn(size: int, seed: int = 0) -> Scene:
        rng = np.random.default_rng(seed)
        left, right = rng.standard_normal((2, size, RANK))
        places = np.sort(rng.choice(size * size, int(KNOWN * size * size), replace=False))
        rows, columns = np.divmod(places, size)
        entries = np.einsum("ij,ij->i", left[rows], right[columns])
        return Scene(left, right, csr_array((entries, (rows, columns)), shape=(size, size)))

    def error(self, X: Any) -> float:
        """‖X − B‖/‖B‖ from factors alone."""
        left = np.hstack([X.left * X.weights, -self.left])
        right = np.hstack([X.right, self.right])
        rest = np.vdot(left.T @ left, right.T @ right)
        whole = np.vdot(self.left.T @ self.left, self.right.T @ self.right)
        return float(np.sqrt(max(rest, 0.0) / whole))


class Counted:
    """Products made by Lanczos."""

    def __init__(self) -> None:
        self.made, self._times = 0, leading_pair.times

    def __enter__(self) -> Counted:
        leading_pair.times = self._count
        return self

    def __exit__(self, *_: object) -> None:
        leading_pair.times = self._times

    def _count(self, A: Any, x: Matrix) -> Matrix:
        self.made += 1
        return self._times(A, x)


def run(scene: Scene, direction: Direction, atoms: int) -> dict[str, float]:
    """Matching pursuit with exact steps: one oracle call an atom."""
    f, size = MatrixEntries(scene.known), scene.known.shape[0]
    method = methods.matching_pursuit(direction=direction, step=ExactLineSearch())
    with Counted() as counted:
        began = time.process_time()
        result = solve(
            f, RankOne(size, size), method, max_iter=atoms, tol=0, every=atoms, progress=False
        )
        seconds = time.process_time() - began
    fit = float(np.sqrt(2 * result.value) / f.signal_norm)
    return {
        "error": scene.error(result.x),
        "fit": fit,
        "seconds": seconds,
        "products": counted.made,
    }


def quality(scene: Scene, delta: float, atoms: int) -> tuple[float, float]:
    """What the atoms taken have of σ₁, every tenth by ARPACK."""
    f, size = MatrixEntries(scene.known), scene.known.shape[0]
    shares: list[float] = []
    method = methods.matching_pursuit(direction=Approximate(delta), step=ExactLineSearch())
    for steps in range(0, atoms, 10):
        X = solve(f, RankOne(size, size), method, max_iter=steps, tol=0, progress=False).x
        gradient = f.gradient(X)
        sigma = float(svds(gradient, k=1, return_singular_vectors=False)[0])
        z, bound = RankOne(size, size).near_lmo(gradient, delta, np.random.default_rng(steps))
        shares.append(RankOne(size, size).inner(gradient, z) / sigma)
        if bound < sigma * (1 - 1e-9):
            raise SystemExit(f"a bound of {bound} is below σ₁ = {sigma}")
    return min(shares), float(np.mean(shares))


def main() -> None:
    options = argparse.ArgumentParser(description="Rank-one pursuit for matrix completion.")
    options.add_argument("--size", type=int, default=SIZE)
    options.add_argument("--atoms", type=int, default=200)
    options.add_argument("--quality", action="store_true", help="also compare with ARPACK")
    asked = options.parse_args()
    scene = Scene.drawn(asked.size)
    print(
        f"{asked.size:,} × {asked.size:,}, rank {RANK}, {scene.known.nnz:,} entries known "
        f"({KNOWN:.0%}), {asked.atoms} atoms"
    )
    print(f"{'oracle':>8} {'error':>8} {'fit':>8} {'seconds':>8} {'of exact':>9} {'products':>9}")
    exact = 0.0
    for name, direction in (
        ("exact", Steepest()),
        *((f"δ = {delta}", Approximate(delta)) for delta in (0.9, 0.7, 0.5, 0.3)),
    ):
        row = run(scene, direction, asked.atoms)
        exact = exact or row["seconds"]
        print(
            f"{name:>8} {row['error']:8.4f} {row['fit']:8.4f} {row['seconds']:8.2f} "
            f"{row['seconds'] / exact:9.2f} {row['products']:9.0f}"
        )
    if asked.quality:
        for delta in (0.9, 0.7, 0.5, 0.3):
            least, mean = quality(scene, delta, min(asked.atoms, 40))
            print(f"δ = {delta}: quality at least {least:.4f}, mean {mean:.4f}")


if __name__ == "__main__":
    main()
