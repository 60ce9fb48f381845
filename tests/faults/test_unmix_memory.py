"""The memory of pursuit unmix with a page: the scene, a half more at most, and a fixed amount."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from children import strict_python

MB = 2**20
ALLOWANCE = 70 * MB
"""Blocks, samples of fixed size and numbers for each pixel, on top of the scene."""
COMMAND = """
import sys
from pathlib import Path
from pursuit import cli
from pursuit.unmixing import pickers

pickers.LARGEST_SAMPLE = 2**20  # in proportion to a scene smaller than those it is made for
try:
    cli.main()
finally:
    status = Path("/proc/self/status").read_text()
    print("peak", status.split("VmHWM:")[1].split()[0], file=sys.stderr)
"""


def write_scene(path, rows, columns, bands=128):
    """Write a float32 scene of four mixed materials with noise."""
    rng = np.random.default_rng(0)
    spectra = rng.uniform(0.1, 1.0, (4, bands)).astype(np.float32)
    cube = np.lib.format.open_memmap(path, "w+", np.float32, (rows, columns, bands))
    for row in range(rows):
        abundances = rng.dirichlet(np.full(4, 0.4), columns).astype(np.float32)
        noise = rng.standard_normal((columns, bands), dtype=np.float32)
        cube[row] = abundances @ spectra + 0.01 * noise
    return cube.nbytes


def peak_of_unmix(scene, *options):
    """Return the peak of resident memory in bytes, and what the command printed."""
    page = scene.with_suffix(".html")
    command = strict_python("-c", COMMAND, "unmix", scene, "--report", page, *options)
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    assert page.exists()
    return int(run.stderr.split("peak ")[1].split()[0]) * 1024, run.stdout


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak of Linux")
@pytest.mark.parametrize("constraint", ["non-negative", "sum-at-most-one"])
def test_unmix_with_page_needs_at_most_one_and_a_half_scenes(tmp_path, constraint):
    small, large = tmp_path / "small.npy", tmp_path / "large.npy"
    write_scene(small, 20, 20)
    size = write_scene(large, 384, 512)
    options = ("--constraint", constraint, "--scale", "2")
    base, _ = peak_of_unmix(small, *options)
    peak, printed = peak_of_unmix(large, *options)
    assert "endmembers extracted from 8192 evenly spaced pixels of 196608" in printed
    assert "8,192 evenly spaced pixels" in large.with_suffix(".html").read_text(encoding="utf-8")
    assert peak - base <= 1.5 * size + ALLOWANCE, (base // MB, peak // MB)
