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

SECONDS = 300.0
"""The fuzzer must find a fault within this time of one core, compiling kernels included."""
PATIENCE = 3.0
"""How many times as long it may take on a machine that has other work."""
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
    anew, which is part of its time.
    """
    run = load_faults()
    marked = [fault for fault in run.all_faults() if fault.fuzzer]
    faults = [f for f in marked if not names or any(name in f.name for name in names)]
    missed = []
    with tempfile.TemporaryDirectory(prefix="fuzz-faults-") as folder:
        copy, kernels = Path(folder, "tree"), Path(folder, "kernels")
        shutil.copytree(ROOT, copy, ignore=run.UNCOPIED)
        line, seconds = fuzz(copy, kernels, seed, calls=1000)
        print(f"without a fault: {line or 'nothing'} in {seconds:.0f} s", flush=True)
        for fault in faults:
            # A changed kernel is compiled in a folder of its own: none from before hides it.
            is_kernel = fault.target.startswith(run.KERNEL_SOURCES)
            cache = Path(folder, fault.name) if is_kernel else kernels
            with run.applied(fault, copy) as applies:
                line, seconds = fuzz(copy, cache, seed) if applies else ("", 0.0)
            line = line if seconds <= SECONDS else ""
            text = f"found in {seconds:.0f} s: {line}" if line else "NOT found"
            print(f"{fault.name}: {text if applies else 'patch does not apply'}", flush=True)
            missed += [] if line else [fault.name]
            if is_kernel:
                shutil.rmtree(cache, ignore_errors=True)
    print(f"{len(faults) - len(missed)} of {len(faults)} found")
    return 1 if missed else 0


def fuzz(copy: Path, cache: Path, seed: int, calls: int | None = None) -> tuple[str, float]:
    """Run the fuzzer of a copy until a finding; its line, and the seconds of one core."""
    command = [
        sys.executable,
        "tools/fuzz",
        "--seed",
        str(seed),
        "--seconds",
        str(PATIENCE * SECONDS),
    ]
    command += ["--until-found"] if calls is None else ["--calls", str(calls)]
    places = {"PYTHONPATH": str(copy / "src"), "NUMBA_CACHE_DIR": str(cache)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=copy, env=os.environ | places, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"the fuzzer failed to run\n{done.stdout}{done.stderr}")
    lines = done.stdout.splitlines()
    found = [" ".join(pair) for pair in pairwise(lines) if "--case" in pair[0]]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (found[0] if found else ""), seconds
