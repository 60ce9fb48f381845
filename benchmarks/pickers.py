"""Endmembers by every picker on scenes with references: angles, scores, and what the contest takes.

    python benchmarks/pickers.py

Angles are means over the materials, in degrees, to the references matched best. Scores are mean
residuals relative to each pixel's norm, with non-negative shares (what decides) and with shares
that sum to one (which would decide wrongly). Samson and Urban are left out where their files are
not found.

Then what was considered for picked endmembers: the mean with pixels that differ by noise alone,
which `pick` takes, on many simulated scenes; and a refinement, shares and spectra in turn with a
penalty on the volume, which it does not take, since no weight of the penalty helps everywhere.
"""

from __future__ import annotations

import numpy as np
import scipy.io
from data_files import find
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import linear_sum_assignment

from pursuit.encoding.nonnegative import nonnegative_fits, simplex_fits
from pursuit.unmixing import estimate_number, pick
from pursuit.unmixing.pickers import DETERMINISTIC, PICKERS, mean_relative_residual

SEEDS = 5
"""Of the picker that draws."""
VOLUME_WEIGHTS = (0.0, 0.001, 0.01, 0.1)
ROUNDS = (1, 10)
"""Of the refinement."""


def main() -> None:
    for name, scene in (("Samson", samson), ("Urban", urban), ("dark material", dark)):
        found = scene()
        if found is None:
            print(f"{name}: no file, left out\n")
        else:
            report(name, *found)
    averaging()


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
    print(f"  how many: {estimate_number(pixels)}")
    print(f"  refined with volume weights {VOLUME_WEIGHTS}, what is taken comes to, in degrees:")
    for rounds in ROUNDS:
        means = [refined(pixels, truth, weight, rounds) for weight in VOLUME_WEIGHTS]
        print(f"    {rounds:2} rounds" + "".join(f"{mean:8.2f}" for mean in means))
    print()


def row(pixels: np.ndarray, truth: np.ndarray, picker: str) -> str:
    alone = pick(pixels, len(truth), picker, average=False).endmembers
    mean = pick(pixels, len(truth), picker).endmembers
    angles = degrees(alone, truth)
    scores = 100 * mean_relative_residual(pixels, alone), 100 * summed(pixels, alone)
    parts = f"{angles.mean():8.2f}{angles.max():9.2f}{degrees(mean, truth).mean():10.2f}"
    return parts + f"{scores[0]:8.3f} %{scores[1]:10.1f} %"


def refined(pixels: np.ndarray, truth: np.ndarray, weight: float, rounds: int) -> float:
    """The mean angle after rounds of non-negative shares, then spectra that fit and stay near
    their mean."""
    signals = unit(pixels)
    spectra = unit(pick(pixels, len(truth)).endmembers)
    r = len(spectra)
    for _ in range(rounds):
        shares = nonnegative_fits(signals, spectra, progress=False).coefficients
        gram = shares.T @ shares
        pull = weight * np.trace(gram) / r * (np.eye(r) - 1 / r)
        spectra = unit(np.maximum(np.linalg.solve(gram + pull, shares.T @ signals), 0))
    return float(degrees(spectra, truth).mean())


def averaging() -> None:
    """How the mean with equal pixels changes the angle, by noise and number of pure pixels."""
    ratios = {
        (noise, pure): [averaged(seed, noise, pure) for seed in range(10)]
        for noise in (0.001, 0.01, 0.05, 0.2)
        for pure in (1, 5, 30)
    }
    print("angle of averaged over picked endmembers, ten simulated scenes each: median, largest")
    for (noise, pure), found in ratios.items():
        print(f"  noise {noise:5}, {pure:2} pure pixels{np.median(found):8.2f}{max(found):8.2f}")


def averaged(seed: int, noise: float, pure: int) -> float:
    rng = np.random.default_rng(seed)
    truth = smooth_spectra(rng, 3 + seed % 4, 60)
    r = len(truth)
    shares = np.vstack([np.repeat(np.eye(r), pure, axis=0), rng.dirichlet(np.ones(r), 1000)])
    pixels = rng.uniform(0.5, 1.5, (len(shares), 1)) * (shares @ truth)
    pixels += noise / np.sqrt(60) * rng.standard_normal(pixels.shape)
    alone = pick(pixels, r, "spa-normalised", average=False)
    mean = pick(pixels, r, "spa-normalised")
    return float(degrees(mean.endmembers, truth).mean() / degrees(alone.endmembers, truth).mean())


def summed(pixels: np.ndarray, endmembers: np.ndarray) -> float:
    """The mean relative residual with shares that sum to one."""
    residuals = simplex_fits(pixels, endmembers, progress=False).residual_norms
    return float(np.mean(residuals / np.linalg.norm(pixels, axis=1)))


def degrees(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    angles = np.degrees(np.arccos(np.clip(unit(truth) @ unit(found).T, -1, 1)))
    return angles[linear_sum_assignment(angles)]


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def smooth_spectra(rng: np.random.Generator, materials: int, bands: int) -> np.ndarray:
    rough = gaussian_filter1d(rng.uniform(0, 1, (materials, bands)), 8, axis=1)
    return unit(0.05 + rough - rough.min(axis=1, keepdims=True))


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
    truth = smooth_spectra(rng, 5, 160)
    truth[-1] *= 0.02
    shares = np.vstack([np.repeat(np.eye(5), 3, axis=0), rng.dirichlet(np.ones(5), 3585)])
    noise = 0.02 / 30 / np.sqrt(160) * rng.standard_normal((3600, 160))
    return shares @ truth + noise, truth


if __name__ == "__main__":
    main()
