"""Endmembers by every picker on scenes with references: angles, scores, and what the contest takes.

    python benchmarks/pickers.py

Angles are means over the materials, in degrees, to the references matched best. Scores are mean
residuals relative to each pixel's norm, with non-negative shares (what decides) and with shares
that sum to one (which would decide wrongly). Samson and Urban are left out where their files are
not found.
"""

from __future__ import annotations

import numpy as np
import scipy.io
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import linear_sum_assignment

from pursuit.encoding.nonnegative import simplex_fits
from pursuit.files.data import find
from pursuit.unmixing import estimate_number, pick
from pursuit.unmixing.pickers import DETERMINISTIC, PICKERS, mean_relative_residual

SEEDS = 5
"""Of the picker that draws."""


def main() -> None:
    for name, scene in (("Samson", samson), ("Urban", urban), ("dark material", dark)):
        found = scene()
        if found is None:
            print(f"{name}: no file, left out\n")
        else:
            report(name, *found)


def report(name: str, pixels: np.ndarray, truth: np.ndarray) -> None:
    r = len(truth)
    taken = next(score.picker for score in pick(pixels, r).contest if score.won)
    print(f"{name}: {len(pixels)} pixels, {pixels.shape[1]} bands, {r} materials")
    print(
        f"  {'picker':18}{'angle':>8}{'largest':>9}{'averaged':>10}{'score':>9}{'sum to one':>12}"
    )
    for picker in DETERMINISTIC:
        print(f"  {picker:18}{row(pixels, truth, picker)}{'  taken' * (picker == taken)}")
    angles = [degrees(PICKERS["vca"](pixels, r, seed=k).endmembers, truth) for k in range(SEEDS)]
    means = [angle.mean() for angle in angles]
    print(f"  {'vca':18}{min(means):8.2f} to {max(means):.2f} over {SEEDS} seeds")
    print(f"  how many: {estimate_number(pixels)}\n")


def row(pixels: np.ndarray, truth: np.ndarray, picker: str) -> str:
    alone = pick(pixels, len(truth), picker, average=False).endmembers
    mean = pick(pixels, len(truth), picker).endmembers
    angles = degrees(alone, truth)
    scores = 100 * mean_relative_residual(pixels, alone), 100 * summed(pixels, alone)
    parts = f"{angles.mean():8.2f}{angles.max():9.2f}{degrees(mean, truth).mean():10.2f}"
    return parts + f"{scores[0]:8.3f} %{scores[1]:10.1f} %"


def summed(pixels: np.ndarray, endmembers: np.ndarray) -> float:
    """The mean relative residual with shares that sum to one."""
    residuals = simplex_fits(pixels, endmembers, progress=False).residual_norms
    return float(np.mean(residuals / np.linalg.norm(pixels, axis=1)))


def degrees(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    u, v = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (truth, found))
    angles = np.degrees(np.arccos(np.clip(u @ v.T, -1, 1)))
    return angles[linear_sum_assignment(angles)]


def samson() -> tuple[np.ndarray, np.ndarray] | None:
    scene, truth = find("samson/samson_1.mat"), find("samson/Samson_GT_end3.mat")
    if scene is None or truth is None:
        return None
    return scipy.io.loadmat(scene)["V"].T, scipy.io.loadmat(truth)["M"].T


def urban() -> tuple[np.ndarray, np.ndarray] | None:
    path = find("urban77/urban77.npz")
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as file:
        return file["pixels"].T / 1000, file["endmembers_gt"].T.astype(np.float64)


def dark() -> tuple[np.ndarray, np.ndarray]:
    """Five materials, one of 2 % of the brightness of the others, noise a thirtieth of that."""
    rng = np.random.default_rng(0)
    rough = gaussian_filter1d(rng.uniform(0, 1, (5, 160)), 8, axis=1)
    truth = 0.05 + rough - rough.min(axis=1, keepdims=True)
    truth /= np.linalg.norm(truth, axis=1, keepdims=True)
    truth[-1] *= 0.02
    shares = np.vstack([np.repeat(np.eye(5), 3, axis=0), rng.dirichlet(np.ones(5), 3585)])
    noise = 0.02 / 30 / np.sqrt(160) * rng.standard_normal((3600, 160))
    return shares @ truth + noise, truth


if __name__ == "__main__":
    main()
