"""ENVI files by three readers: ours, `spectral` and `rasterio`, on sound and on wrong files.

    python benchmarks/envi.py

Prints what each makes of a file, and how long a scene of 307 × 307 × 162 takes.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import rasterio
from spectral.io import envi

from pursuit.unmixing.envi import read_envi

CUBE = np.arange(60, dtype=np.uint16).reshape(3, 4, 5) * 7 % 101
HEADER = """ENVI
samples = 4
lines = 3
bands = 5
data type = 12
interleave = bip
byte order = 0
"""
CASES = {
    "sound": ("", ""),
    "wavelength unit in Latin-1": (
        "ENVI",
        "ENVI\nwavelength units = µm\nwavelength = {0.4, 0.5, 0.6, 0.7, 0.8}",
    ),
    "no data type": ("data type = 12\n", ""),
    "no interleave": ("interleave = bip\n", ""),
    "interleave = bop": ("= bip", "= bop"),
    "byte order = 2": ("order = 0", "order = 2"),
    "frame offsets": ("ENVI", "ENVI\nmajor frame offsets = {4, 0}"),
}


def ours(path: Path) -> np.ndarray:
    values, layout, _, _ = read_envi(path)
    axes = [layout.split().index(axis) for axis in ("rows", "columns", "bands")]
    return values.transpose(axes)


def by_spectral(path: Path) -> np.ndarray:
    return np.array(
        envi.open(str(path), str(path.with_suffix(".img"))).open_memmap(interleave="bip")
    )


def by_rasterio(path: Path) -> np.ndarray:
    with rasterio.open(path.with_suffix(".img")) as file:
        file.tags(1)
        return np.moveaxis(file.read(), 0, -1)


READERS = {"ours": ours, "spectral": by_spectral, "rasterio": by_rasterio}


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"{'':32}" + "".join(f"{name:>20}" for name in READERS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.hdr"
        for title, (old, new) in CASES.items():
            path.write_bytes(HEADER.replace(old, new, 1).encode("latin-1"))
            path.with_suffix(".img").write_bytes(CUBE.tobytes())
            row(title, path)
        path.write_text(HEADER)
        path.with_suffix(".img").write_bytes(CUBE.tobytes()[:-40])
        row("40 bytes missing", path)
        speed(path)


def row(title: str, path: Path) -> None:
    print(f"{title:32}" + "".join(f"{verdict(read, path):>20}" for read in READERS.values()))


def verdict(read: Callable[[Path], np.ndarray], path: Path) -> str:
    try:
        found = read(path)
    except Exception:
        return "refused"
    same = found.shape == CUBE.shape and bool((found == CUBE).all())
    return "read" if same else "OTHER NUMBERS"


def speed(path: Path) -> None:
    big = np.random.default_rng(0).integers(0, 1000, (307, 307, 162)).astype(np.uint16)
    envi.save_image(str(path), big, interleave="bil", force=True)
    times = [[clock(read, path) for read in READERS.values()] for _ in range(5)]
    print(
        f"{'307 × 307 × 162, milliseconds':32}"
        + "".join(f"{1e3 * t:20.0f}" for t in np.min(times, 0))
    )


def clock(read: Callable[[Path], np.ndarray], path: Path) -> float:
    begin = time.process_time()
    read(path)
    return time.process_time() - begin


if __name__ == "__main__":
    main()
