"""Applies the faults of tools/faults that are marked for the fuzzer, and runs it on each."""

from __future__ import annotations

import importlib.util
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from fuzz.run import BATCH

SECONDS = 300.0
"""The fuzzer must find a fault within this time of one core, compiling kernels included."""
PATIENCE = 3.0
"""How many times as long it may take on a machine that has other work."""
CASE = 7
"""Which word of a reproduction line is the number of the case."""
ROOT = Path(__file__).resolve().parents[2]


def load_faults() -> Any:
    """Return tools/faults/run.py as a module; it is no part of a package."""
    spec = importlib.util.spec_from_file_location("run_faults", ROOT / "tools/faults/run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for their module there
    spec.loader.exec_module(module)
    return module


def find_faults(names: list[str], seed: int) -> int:
    """Run the fuzzer on a copy of the tree with each fault; return 1 unless all are found.

    Kernels are compiled once, by a run without a fault; a fault in a kernel has them compiled
    anew, which is part of its time. A case that is a finding without the fault does not count.
    """
    run = load_faults()
    marked = [fault for fault in run.all_faults() if fault.fuzzer]
    faults = [f for f in marked if not names or any(name in f.name for name in names)]
    missed = []
    with tempfile.TemporaryDirectory(prefix="fuzz-faults-") as folder:
        copy, kernels = Path(folder, "tree"), Path(folder, "kernels")
        shutil.copytree(ROOT, copy, ignore=run.UNCOPIED)
        line, seconds = fuzz(copy, kernels, seed, "--calls", "1000")
        print(f"without a fault: {line or 'nothing'} in {seconds:.0f} s", flush=True)
        for fault in faults:
            # A changed kernel is compiled in a folder of its own: none from before hides it.
            is_kernel = fault.target.startswith(run.KERNEL_SOURCES)
            cache = Path(folder, fault.name) if is_kernel else kernels
            line, total, first = "known", 0.0, 0
            while line.startswith("known") and total < SECONDS:
                with run.applied(fault, copy) as applies:
                    options = ("--until-found", "--first", str(first))
                    line, seconds = fuzz(copy, cache, seed, *options) if applies else ("", 0.0)
                total += seconds
                if line and is_finding(copy, kernels, line):  # without the fault as well
                    first = (int(line.split()[CASE]) // BATCH + 1) * BATCH
                    line = f"known: {line}"
            is_found = line and total <= SECONDS and not line.startswith("known")
            text = f"found in {total:.0f} s: {line}" if is_found else "NOT found"
            print(f"{fault.name}: {text if applies else 'patch does not apply'}", flush=True)
            missed += [] if is_found else [fault.name]
            if is_kernel:
                shutil.rmtree(cache, ignore_errors=True)
    print(f"{len(faults) - len(missed)} of {len(faults)} found")
    return 1 if missed else 0


def environment(copy: Path, cache: Path) -> dict[str, str]:
    """Return the environment in which a copy of the tree is run."""
    places = {"PYTHONPATH": str(copy / "src"), "NUMBA_CACHE_DIR": str(cache)}
    return os.environ | places


def fuzz(copy: Path, cache: Path, seed: int, *options: str) -> tuple[str, float]:
    """Run the fuzzer of a copy; its first finding, and the seconds of one core."""
    command = [sys.executable, "tools/fuzz", "--seed", str(seed), *options]
    command += ["--seconds", str(PATIENCE * SECONDS)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=copy, env=environment(copy, cache), capture_output=True, text=True
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"the fuzzer failed to run\n{done.stdout}{done.stderr}")
    lines = done.stdout.splitlines()
    found = [" ".join(pair) for pair in pairwise(lines) if "--case" in pair[0]]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (found[0] if found else ""), seconds


def is_finding(copy: Path, cache: Path, line: str) -> bool:
    """Return whether the case of a finding is one in a copy without the fault."""
    command = [sys.executable, *line.split()[1 : CASE + 1]]
    done = subprocess.run(command, cwd=copy, env=environment(copy, cache), capture_output=True)
    return done.returncode != 0
