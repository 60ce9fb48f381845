"""Apply each fault of this folder to a copy of the tree and run the tests that should catch it.

``python tools/faults/run.py`` runs all of them, ``… run.py 03 tie`` those whose names contain one
of the words, ``--whole`` the whole suite where the named tests pass, ``--write`` writes RESULTS.md.
The working tree is never changed: there is one copy in a temporary folder, in which a patched file
gets its old bytes and its old time back before the next fault.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
RESULTS = FOLDER / "RESULTS.md"
SECONDS = 600
"""A run of tests that takes longer is ended, which counts as caught: the fault made it hang."""
KERNEL_SOURCES = ("src/pursuit/kernels/", "src/pursuit/base/status.py", "src/pursuit/base/roots.py")
"""Files whose content ends up in compiled kernels."""
UNCOPIED = shutil.ignore_patterns(
    ".git", ".venv*", "__pycache__", "*.nbi", "*.nbc", ".*_cache", ".hypothesis", "dist", "build",
    "site", "reproduction", ".gallery",
)  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One mistake: its patch file, the header lines, the file and the line that it changes."""

    path: Path
    mistake: str
    promise: str
    tests: tuple[str, ...]
    fuzzer: bool
    target: str
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.stem


def read_fault(path: Path) -> Fault:
    """Read a patch file; a header line that is missing is empty."""
    text = path.read_text(encoding="utf-8")
    header, _, diff = text.partition("\n--- ")
    fields = dict(re.findall(r"^(\w+): (.*)$", header, re.MULTILINE))
    lines = diff.splitlines()[2:]  # without the names of the files
    target = re.search(r"^\+\+\+ b/(.*)$", diff, re.MULTILINE)
    return Fault(
        path,
        fields.get("mistake", ""),
        fields.get("promise", ""),
        tuple(fields.get("tests", "").split()),
        fields.get("fuzzer", "no") == "yes",
        target[1] if target else "",
        tuple(line[1:] for line in lines if line.startswith("-")),
        tuple(line[1:] for line in lines if line.startswith("+")),
    )


def all_faults() -> list[Fault]:
    """Return the faults of this folder in the order of their numbers."""
    return [read_fault(path) for path in sorted(FOLDER.glob("*.patch"))]


@dataclass(frozen=True)
class Outcome:
    """Whether a fault was caught, and the first test that failed."""

    caught: bool
    by: str


def run_pytest(copy: Path, tests: tuple[str, ...], cache: Path) -> Outcome:
    """Run tests of the copy until one fails."""
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    places = {
        "PYTHONPATH": os.pathsep.join(str(copy / name) for name in ("src", "tests")),
        "NUMBA_CACHE_DIR": str(cache),
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no"]
    command += ["-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=os.environ | threads | places,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Outcome(True, f"no end after {SECONDS} seconds")
    if done.returncode == 0:
        return Outcome(False, "")
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", done.stdout, re.MULTILINE)
    if done.returncode == 1 and failed:
        return Outcome(True, failed[1])
    if done.returncode < 0:
        return Outcome(True, f"the tests end with signal {-done.returncode}")
    # Tests that are not found, or cannot be collected, catch nothing.
    raise SystemExit(f"{' '.join(tests)}: pytest failed to run\n{done.stdout}{done.stderr}")


@contextmanager
def applied(fault: Fault, copy: Path) -> Iterator[bool]:
    """Apply a patch to the copy, and restore the file afterwards; whether the patch applies."""
    target = copy / fault.target
    before, about = target.read_bytes(), target.stat()
    # Git must not take the copy for a part of a repository that the temporary folder is in.
    outside = os.environ | {"GIT_CEILING_DIRECTORIES": str(copy.parent)}
    command = ["git", "apply", str(fault.path)]
    done = subprocess.run(command, cwd=copy, env=outside, capture_output=True)
    try:
        yield done.returncode == 0 and target.read_bytes() != before
    finally:
        target.write_bytes(before)
        # The old time as well: kernels on disk are known by it, and stay valid.
        os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))


def try_fault(fault: Fault, copy: Path, cache: Path, whole: bool) -> Outcome | None:
    """Run the tests of one fault; None where its patch does not apply."""
    with applied(fault, copy) as applies:
        if not applies:
            return None
        outcome = run_pytest(copy, fault.tests, cache)
        if whole and not outcome.caught:
            outcome = run_pytest(copy, ("tests",), cache)
    return outcome


def run_faults(faults: list[Fault], whole: bool) -> dict[str, Outcome | None]:
    """Run one fault after the other in one copy of the tree, and print what becomes of each."""
    outcomes: dict[str, Outcome | None] = {}
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        copy, shared = Path(folder, "tree"), Path(folder, "kernels")
        shutil.copytree(ROOT, copy, ignore=UNCOPIED)
        for fault in faults:
            # A changed kernel is compiled in a folder of its own: none from before hides it.
            own = fault.target.startswith(KERNEL_SOURCES)
            cache = Path(folder, fault.name) if own else shared
            outcomes[fault.name] = try_fault(fault, copy, cache, whole)
            print(f"{fault.name}: {describe(outcomes[fault.name])}", flush=True)
            if own:
                shutil.rmtree(cache, ignore_errors=True)
    return outcomes


def describe(outcome: Outcome | None) -> str:
    """Return an outcome in words."""
    if outcome is None:
        return "patch does not apply"
    return f"caught by {outcome.by}" if outcome.caught else "NOT caught"


def summary(outcomes: dict[str, Outcome | None]) -> str:
    """Return how many faults were caught."""
    caught = sum(outcome is not None and outcome.caught for outcome in outcomes.values())
    return f"{caught} of {len(outcomes)} caught"


def table(faults: list[Fault], outcomes: dict[str, Outcome | None]) -> str:
    """Return the results as a page."""
    lines = [
        "# Faults and the tests that catch them",
        "",
        f"As `python tools/faults/run.py` finds them: {summary(outcomes)}.",
        "",
        "| fault | mistake | caught by |",
        "|---|---|---|",
    ]
    for fault in faults:
        outcome = outcomes[fault.name]
        by = f"`{outcome.by}`" if outcome is not None and outcome.caught else describe(outcome)
        cells = (fault.name, fault.mistake, by)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the faults that the command line names; the exit code is 1 unless all are caught."""
    parser = argparse.ArgumentParser(description="Run the tests against one-line faults of src.")
    parser.add_argument("names", nargs="*", help="parts of the names of faults; all without any")
    parser.add_argument(
        "--whole", action="store_true", help="run all tests where the named ones pass"
    )
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    if options.write and options.names:
        parser.error("--write must be used without names, so that the table has all faults")
    faults = [
        fault
        for fault in all_faults()
        if not options.names or any(name in fault.name for name in options.names)
    ]
    outcomes = run_faults(faults, options.whole)
    print(summary(outcomes))
    if options.write:
        RESULTS.write_text(table(faults, outcomes), encoding="utf-8")
    sys.exit(0 if all(outcome and outcome.caught for outcome in outcomes.values()) else 1)


if __name__ == "__main__":
    main()
