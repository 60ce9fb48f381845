"""Compiled code that an earlier version left on disk does no harm."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pursuit

MODULE = """
from typing import NamedTuple
from pursuit.kernels.compiling import strict

class {name}(NamedTuple):
    number: float

@strict
def doubled(given: {name}) -> float:
    return {factor} * given.number

print(doubled({name}(21.0)))
"""


def run(path, name, factor):
    path.write_text(MODULE.format(name=name, factor=factor))
    os.utime(path, (1_000_000_000 + factor, 1_000_000_000 + factor))
    command = [sys.executable, "-c", f"import {path.stem}"]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip(), done.stderr


def test_an_index_with_names_that_are_gone_counts_as_empty(tmp_path):
    path = tmp_path / "kernels.py"
    assert run(path, "Before", 1) == ("21.0", "")
    assert list(tmp_path.glob("__pycache__/*.nbi"))
    # The function is where it was, so the index is found; the class that it names is not.
    assert run(path, "After", 2) == ("42.0", "")


def mark(package):
    command = [sys.executable, "-c", "from pursuit.kernels import compiling as c; print(c.mark())"]
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


@pytest.mark.parametrize(
    ("changed", "stale"),
    [
        ("kernels/simd.py", True),
        ("base/status.py", True),
        ("base/roots.py", True),
        ("report/page.py", False),
        ("solving/driver.py", False),
        ("base/errors.py", False),
    ],
)
def test_compiled_code_is_stale_when_its_own_room_changes_alone(tmp_path, changed, stale):
    ignored = shutil.ignore_patterns("__pycache__")
    package = shutil.copytree(Path(pursuit.__file__).parent, tmp_path / "pursuit", ignore=ignored)
    before = mark(package).stdout
    os.utime(package / changed, (1_000_000_000, 1_000_000_000))
    assert (mark(package).stdout != before) is stale
