"""Runs cases in one or several processes and prints what they find."""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import re
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context

import numpy as np

from fuzz.case import Case, Finding, Rejected

AREAS = (
    "solve", "penalized", "encode", "learn", "unmix", "decompose", "certificates", "files",
    "commands", "inputs",
)  # fmt: skip
"""Each area is a module of this name with a function `run(case)`."""
LIMIT = 200.0
"""Seconds after which a case counts as hung; the first ones of a process compile kernels."""
BATCH = 10
"""Cases of one area that a process runs one after the other."""
PRINTED = 3
"""Findings of one kind that are printed."""


@dataclass(frozen=True)
class Outcome:
    """How a case ended; `problem` is one line, empty where every call is confirmed."""

    area: str
    number: int
    calls: int = 0
    rejections: int = 0
    seconds: float = 0.0
    problem: str = ""

    @property
    def kind(self) -> str:
        """The problem without its numbers: what findings with one cause share."""
        return self.area + re.sub(r"[-+]?[0-9][0-9.e+-]*|nan|inf|/\S+", "#", self.problem)[:100]


def area_of(name: str) -> Callable[[Case], None]:
    """Return the function that runs a case of an area."""
    return importlib.import_module(f"fuzz.{name}").run  # type: ignore[no-any-return]


class Hang(BaseException):
    """A case takes too long; no handler of ordinary errors catches it."""


def run_case(area: str, seed: int, number: int, decades: float = 6.0) -> Outcome:
    """Run one case and return how it ended."""
    case, began, problem = Case(area, seed, number, decades), time.monotonic(), ""

    def interrupt(*_: object) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        with np.errstate(all="warn", under="ignore"):
            area_of(area)(case)
    except Rejected:
        pass
    except Hang as error:
        problem = f"no end after {LIMIT:g} s, in {_place(error)}"
    except Finding as error:
        problem = str(error)
    except Exception as error:
        text = " ".join(str(error).split())[:300]
        problem = f"{type(error).__name__}: {text}, in {_place(error)}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        case.close()
    seconds = time.monotonic() - began
    return Outcome(area, number, case.calls, case.rejections, seconds, problem)


def _place(error: BaseException) -> str:
    """Return the innermost line of the library that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    last = ([f for f in frames if "/pursuit/" in f.filename] or frames)[-1]
    return f"{last.filename.rpartition('/')[2]}:{last.lineno} {last.name}"


def run_batch(area: str, seed: int, first: int, count: int, decades: float) -> list[Outcome]:
    """Run consecutive cases of an area in a process that ends where compiled code hangs."""
    faulthandler.dump_traceback_later(count * LIMIT, exit=True)
    return [run_case(area, seed, number, decades) for number in range(first, first + count)]


@dataclass
class Summary:
    """Cases, calls, rejections and seconds of each area, and the findings."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    findings: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        counts = self.counts.setdefault(outcome.area, Counter())
        counts.update(cases=1, calls=outcome.calls, rejected=outcome.rejections)
        counts["milliseconds"] += round(1000 * outcome.seconds)
        if outcome.problem:
            counts["findings"] += 1
            self.findings.append(outcome)

    @property
    def calls(self) -> int:
        """The calls of all areas."""
        return sum(counts["calls"] for counts in self.counts.values())

    def __str__(self) -> str:
        lines = [f"{'area':<13}{'cases':>8}{'calls':>8}{'rejected':>10}{'findings':>10}{'s':>8}"]
        total: Counter[str] = Counter()
        for counts in self.counts.values():
            total.update(counts)
        for area, c in [*self.counts.items(), ("all", total)]:
            numbers = f"{c['cases']:>8}{c['calls']:>8}{c['rejected']:>10}{c['findings']:>10}"
            lines.append(f"{area:<13}{numbers}{c['milliseconds'] / 1000:>8.1f}")
        return "\n".join(lines)


def batches(areas: tuple[str, ...], first: int) -> Iterator[tuple[str, int]]:
    """Yield areas in turn, each with the number of its next case."""
    while True:
        for area in areas:
            yield area, first
        first += BATCH


def run_areas(options: argparse.Namespace) -> Summary:
    """Run cases until so many calls or seconds have passed."""
    summary, kinds, began = Summary(), Counter[str](), time.monotonic()
    work = batches(tuple(options.area or AREAS), options.first)
    running: dict[Future[list[Outcome]], tuple[str, int]] = {}

    def is_over() -> bool:
        found = options.until_found and bool(summary.findings)
        late = options.seconds is not None and time.monotonic() - began >= options.seconds
        return found or late or (options.calls is not None and summary.calls >= options.calls)

    # Processes that are spawned share no locks of compilers or BLAS with this one.
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        while running or not is_over():
            while len(running) < options.jobs and not is_over():
                area, first = next(work)
                job = pool.submit(run_batch, area, options.seed, first, BATCH, options.decades)
                running[job] = area, first
            for job in wait(running, return_when=FIRST_COMPLETED).done:
                area, first = running.pop(job)
                try:
                    outcomes = job.result()
                except BrokenProcessPool:
                    print(f"a process died in {area}, cases {first} to {first + BATCH - 1}")
                    raise
                for outcome in outcomes:
                    summary.add(outcome)
                    kinds[outcome.kind] += 1
                    if outcome.problem and kinds[outcome.kind] <= PRINTED:
                        print(
                            f"{reproduction(outcome, options)}\n    {outcome.problem}", flush=True
                        )
    return summary


def reproduction(outcome: Outcome, options: argparse.Namespace) -> str:
    """Return the command that runs a case again."""
    wide = f" --decades {options.decades:g}" if options.decades != 6 else ""
    return (
        f"python tools/fuzz --area {outcome.area} --seed {options.seed} "
        f"--case {outcome.number}{wide}"
    )


def run_again(area: str, options: argparse.Namespace) -> int:
    """Run one case, print what it consists of, and let any error pass."""
    case = Case(area, options.seed, options.case, options.decades)
    try:
        area_of(area)(case)
        print(f"all {case.calls} calls are confirmed")
    except Rejected as rejection:
        print(f"rejected: {rejection}")
    finally:
        with np.printoptions(floatmode="unique", linewidth=100, threshold=400):
            for name, value in case.facts.items():
                print(f"  {name} = {value!r}")
        case.close()
    return 0


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="python tools/fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--area", action="append", choices=AREAS, help="may be repeated")
    parser.add_argument("--case", type=int, help="run this case of --area alone and print it")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--calls", type=int, help="stop after so many calls (5000)")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument("--until-found", action="store_true", help="stop at the first finding")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--decades", type=float, default=6.0, help="magnitudes are within 10 to the ± of this"
    )
    parser.add_argument(
        "--faults", nargs="*", metavar="NAME", help="find the faults of tools/faults marked for it"
    )
    options = parser.parse_args(arguments)
    if options.case is not None and len(options.area or ()) != 1:
        parser.error("--case must be used with one --area")
    if options.calls is None and options.seconds is None and not options.until_found:
        options.calls = 5000
    return options


def main() -> int:
    """Run what the command line says; the exit code is 1 where something is found."""
    options = parse()
    if options.case is not None:
        return run_again(options.area[0], options)
    if options.faults is not None:
        from fuzz.faults import find_faults

        return find_faults(options.faults, options.seed)
    summary = run_areas(options)
    print(summary)
    return 1 if summary.findings else 0


if __name__ == "__main__":
    sys.exit(main())
