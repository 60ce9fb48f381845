"""Compiled code that an earlier version left on disk does no harm."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from children import without_cache_folder

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
    done = subprocess.run(
        command,
        cwd=path.parent,
        env=without_cache_folder(),
        capture_output=True,
        text=True,
        check=False,
    )
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
        ("solving/solve.py", False),
        ("base/errors.py", False),
    ],
)
def test_compiled_code_is_stale_when_its_own_room_changes_alone(tmp_path, changed, stale):
    ignored = shutil.ignore_patterns("__pycache__")
    package = shutil.copytree(Path(pursuit.__file__).parent, tmp_path / "pursuit", ignore=ignored)
    before = mark(package).stdout
    os.utime(package / changed, (1_000_000_000, 1_000_000_000))
    assert (mark(package).stdout != before) is stale


PARTS = """
import numpy as np
from pursuit.kernels.compiling import part, strict, strict_part

@strict_part
def doubled(number):
    return 2 * number

@part(inline=False, fastmath=True)
def total(row):
    s = 0.0
    for i in range(row.size):
        s += row[i]
    return s

@strict
def twice(rows):
    s = 0.0
    for r in range(len(rows)):
        s += doubled(total(rows[r]))
    return s

@strict
def thrice(rows):
    return 3 * total(rows[0]) + total(rows[1])
"""


def test_parts_are_kept_with_their_kernels_alone(tmp_path):
    (tmp_path / "parts.py").write_text(PARTS)
    code = "import parts as p; rows = p.np.ones((2, 5)); print(p.twice(rows), p.thrice(rows))"
    for _ in range(2):  # compiled, and loaded
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=without_cache_folder(),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == ["20.0", "20.0"]
    kept = {path.name.split("-")[0] for path in tmp_path.glob("__pycache__/*.nbi")}
    assert kept == {"parts.twice", "parts.thrice"}


def test_a_part_has_no_machine_code_of_its_own_and_says_so(tmp_path, monkeypatch):
    (tmp_path / "parts.py").write_text(PARTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    parts = importlib.import_module("parts")
    with pytest.raises(TypeError, match="doubled is a part of kernels"):
        parts.doubled(1.0)


def test_kernels_have_own_copies_of_what_they_call(tmp_path, monkeypatch):
    (tmp_path / "parts.py").write_text(PARTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    parts = importlib.import_module("parts")
    parts.twice(np.ones((2, 5)))
    (code,) = parts.twice.inspect_llvm().values()
    assert re.search(r"define internal .*total", code)
    assert not re.search(r"define linkonce", code)
