"""Is this working tree slower than another commit? ``python benchmarks/compare.py COMMIT``

    python benchmarks/compare.py baseline
    python benchmarks/compare.py HEAD~3 --only encode/W1 linear/ --rounds 15

Both checkouts run their own copy of `rows.py` in their own environment, in turns: ours, theirs,
then theirs, ours, and so on. Each round of a row has two child processes of its own, which make one
call before the timed one: times depend neither on earlier rows nor on one lucky process. A row is
slower if the median of the ratios of the rounds is more than 5 % above 1. Rows are printed as JSON
on standard output, and as a table on standard error while they are measured.

The exit code is 1 where a row is slower, fails, or is missing on one side; 2 where nothing could be
compared. ``baseline`` is the commit that the file `benchmarks/BASELINE` names. The other commit and
the environments are kept in `.compare`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import median
from typing import Any, Protocol

PROJECT = Path(__file__).resolve().parents[1]
CACHE = PROJECT / ".compare"
BASELINE = PROJECT / "benchmarks" / "BASELINE"
ROUNDS = 7
COLD_ROUNDS = 3
"""The most rounds of rows that compile everything anew, which takes long."""
TOLERANCE = 0.05
FAILURES = ("slower", "missing", "failed")
SIDES = ("ours", "theirs")
Answer = dict[str, Any]
Row = dict[str, Any]


class CompareError(Exception):
    """Nothing can be compared; the message says why."""


# Checkouts and environments ---------------------------------------------------------------------


def git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(PROJECT), *arguments], capture_output=True)
    if done.returncode:
        raise CompareError(f"git {arguments[0]}: {done.stderr.decode().strip()}")
    return done.stdout


def resolve(name: str, baseline: Path = BASELINE) -> str:
    """Return the full hash of a commit; ``baseline`` is the one that the file names."""
    if name == "baseline":
        if not baseline.is_file():
            raise CompareError(
                f"{baseline} must be a file with the hash of the baseline's commit, got no such "
                "file; create it, or give a commit"
            )
        name = baseline.read_text(encoding="utf-8").strip()
    return git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").decode().strip()


def check_out(commit: str) -> Path:
    """Return a folder with the files of a commit, made when it is first asked for."""
    folder = CACHE / commit
    if not folder.is_dir():
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as made:
            with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as files:
                files.extractall(made, filter="data")
            # The name appears when the files are complete.
            Path(made).rename(folder)
            Path(made).mkdir()
    return folder


def environment_python(checkout: Path) -> str:
    """Return the interpreter of a checkout's own environment, made when dependencies change."""
    name = "ours" if checkout == PROJECT else checkout.name
    venv = CACHE / "environments" / name
    python, stamp = venv / "bin" / "python", venv / "pyproject.toml"
    wanted = (checkout / "pyproject.toml").read_text(encoding="utf-8")
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        print(f"installing {name} into {venv}", file=sys.stderr)
        run_quietly([sys.executable, "-m", "venv", "--clear", str(venv)])
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run_quietly([*install, "--editable", f"{checkout}[sklearn]"])
        stamp.write_text(wanted, encoding="utf-8")
    return str(python)


def run_quietly(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.DEVNULL)
    if done.returncode:
        raise CompareError(f"exit code {done.returncode} of {' '.join(command)}")


def child_environment(checkout: Path, same: bool) -> dict[str, str]:
    """Return the environment variables of a child."""
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}
    variables["PYTHONHASHSEED"] = "0"
    shared = PROJECT.parent / "shared" / "data"  # not beside a checkout in the cache
    if shared.is_dir():
        variables.setdefault("PURSUIT_DATA", str(shared))
    if same:
        variables["PYTHONPATH"] = str(checkout / "src")
    return variables


# Children ---------------------------------------------------------------------------------------


class Runner(Protocol):
    """What runs rows: a child process, or a stand-in for one."""

    def run(self, label: str) -> Answer:
        """Return ``{"seconds": ...}``, ``{"skipped": why}`` or ``{"error": what}``."""


class Child:
    """A process that serves the rows of one checkout."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, env=environment, stdin=pipe, stdout=pipe, text=True
        )
        self.greeting = self._answer()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()  # which ends it
        self._process.stdout.close()
        self._process.wait()

    def labels(self) -> list[str]:
        found: list[str] = self._ask("list")
        return found

    def run(self, label: str) -> Answer:
        try:
            answer: Answer = self._ask(f"run {label}")
        except (CompareError, BrokenPipeError) as error:
            return {"error": str(error)}
        return answer

    def _ask(self, line: str) -> Any:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise CompareError(f"the process ended with exit code {self._process.wait()}")
        return json.loads(line)


class Side:
    """A checkout, and how its children are started."""

    def __init__(self, checkout: Path, python: str | None, same: bool, rows: Path) -> None:
        if not rows.is_file():
            raise CompareError(
                f"{rows} must exist in both commits, got a commit without it; --use-our-rows runs "
                "the rows of this working tree there"
            )
        if python is None:
            python = sys.executable if same else environment_python(checkout)
        self._checkout, self._command = checkout, [python, str(rows), "--serve"]
        # An interpreter that was given may have another version of the library installed.
        self._environment = child_environment(checkout, same or python != self._own(checkout))

    @staticmethod
    def _own(checkout: Path) -> str:
        name = "ours" if checkout == PROJECT else checkout.name
        return str(CACHE / "environments" / name / "bin" / "python")

    def start(self) -> Child:
        child = Child(self._command, self._environment)
        imported = Path(child.greeting["pursuit"]).resolve()
        if not imported.is_relative_to(self._checkout.resolve()):
            child.__exit__()
            raise CompareError(f"pursuit must come from {self._checkout}, got {imported}")
        return child


# Comparing --------------------------------------------------------------------------------------


def compare_row(label: str, start: Callable[[str], Any], rounds: int) -> Row:
    """Run a row on both sides in turns, and return its times and the verdict.

    Each round has two new children: where a process happens to place its arrays changes its speed
    by several percent, and rounds in the same two processes would all repeat that.
    """
    rounds = min(rounds, COLD_ROUNDS) if label.startswith("cold/") else rounds
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    for turn in range(rounds):
        with ExitStack() as children:
            runners: dict[str, Runner] = {s: children.enter_context(start(s)) for s in SIDES}
            answers = {side: runners[side].run(label) for side in SIDES[:: (-1) ** turn]}
        if any("seconds" not in answer for answer in answers.values()):
            return without_times(label, answers)
        for side, answer in answers.items():
            times[side].append(answer["seconds"])
    return verdict(label, times["ours"], times["theirs"])


def verdict(label: str, ours: list[float], theirs: list[float]) -> Row:
    """Return the row of two lists of seconds, paired by round."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    ratio = median(ratios)
    said = "slower" if ratio > 1 + TOLERANCE else "faster" if ratio < 1 - TOLERANCE else "same"
    return {
        "label": label,
        "ours": median(ours),
        "theirs": median(theirs),
        "ratio": ratio,
        "spread": [min(ratios), max(ratios)],
        "rounds": len(ratios),
        "verdict": said,
    }


def without_times(label: str, answers: dict[str, Answer]) -> Row:
    """Return the row of which a side failed or was skipped."""
    errors = {side: answer["error"] for side, answer in answers.items() if "error" in answer}
    if errors:
        return {"label": label, "verdict": "failed", "why": errors}
    skipped = {side: a["skipped"] for side, a in answers.items() if "skipped" in a}
    said = "skipped" if len(skipped) == len(SIDES) else "missing"
    return {"label": label, "verdict": said, "why": skipped}


def missing_row(label: str, side: str) -> Row:
    return {"label": label, "verdict": "missing", "why": {side: "has no row of this label"}}


def compare(
    labels: dict[str, list[str]],
    start: Callable[[str], Any],
    rounds: int,
    show: Callable[[Row], None],
) -> list[Row]:
    """Compare all rows; `start` makes a child of a side, and `labels` are those of each side."""
    rows = []
    for label in dict.fromkeys([*labels["ours"], *labels["theirs"]]):
        absent = [side for side in SIDES if label not in labels[side]]
        row = missing_row(label, absent[0]) if absent else compare_row(label, start, rounds)
        show(row)
        rows.append(row)
    return rows


def chosen(labels: list[str], prefixes: list[str] | None) -> list[str]:
    """Return the labels that begin with one of the prefixes."""
    return [label for label in labels if prefixes is None or label.startswith(tuple(prefixes))]


def exit_code(rows: list[Row]) -> int:
    return int(any(row["verdict"] in FAILURES for row in rows))


def line_of(row: Row) -> str:
    """Return a row as a line of the table."""
    if "ratio" not in row:
        why = "; ".join(f"{side}: {text}" for side, text in row["why"].items())
        return f"{row['label']:<54} {row['verdict']} ({why})"
    low, high = row["spread"]
    return (
        f"{row['label']:<54} {row['ours']:9.4f} {row['theirs']:9.4f} {row['ratio']:7.3f} "
        f"[{low:.3f} … {high:.3f}] {row['verdict']}"
    )


# The command ------------------------------------------------------------------------------------


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", nargs="?", default="baseline", help="or the word baseline")
    parser.add_argument("--only", nargs="+", metavar="PREFIX", help="rows whose label begins so")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--list", action="store_true", help="print the labels of this working tree")
    parser.add_argument("--same-environment", action="store_true", help="use this interpreter")
    parser.add_argument("--python-ours", help="interpreter for this working tree")
    parser.add_argument("--python-theirs", help="interpreter for the commit")
    parser.add_argument("--use-our-rows", action="store_true", help="for commits without rows.py")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {options.rounds}")
    return options


def sides(options: argparse.Namespace) -> dict[str, Side]:
    checkout, same = check_out(resolve(options.commit)), options.same_environment
    rows = PROJECT / "benchmarks" / "rows.py"
    their_rows = rows if options.use_our_rows else checkout / "benchmarks" / "rows.py"
    return {
        "ours": Side(PROJECT, options.python_ours, same, rows),
        "theirs": Side(checkout, options.python_theirs, same, their_rows),
    }


def main() -> int:
    options = parsed()
    if options.list:
        return subprocess.run(
            [sys.executable, str(PROJECT / "benchmarks" / "rows.py"), "--list"],
            env=child_environment(PROJECT, True),
        ).returncode
    try:
        rows = measured(options)
    except CompareError as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    print(json.dumps(rows, indent=1))
    return exit_code(rows)


def measured(options: argparse.Namespace) -> list[Row]:
    both = sides(options)
    labels, versions = {}, {}
    for name, side in both.items():
        with side.start() as child:
            labels[name] = chosen(child.labels(), options.only)
            versions[name] = {k: v for k, v in child.greeting.items() if k != "pursuit"}
    if versions["ours"] != versions["theirs"]:
        print(f"the environments differ: {versions}", file=sys.stderr)
    if not any(labels.values()):
        raise CompareError(f"--only must name labels that exist, got {options.only}")
    head = f"{'CPU seconds':<54} {'ours':>9} {'theirs':>9} {'ratio':>7} [spread] verdict"
    print(head, file=sys.stderr)
    return compare(
        labels,
        lambda side: both[side].start(),
        options.rounds,
        lambda row: print(line_of(row), file=sys.stderr, flush=True),
    )


if __name__ == "__main__":
    sys.exit(main())
