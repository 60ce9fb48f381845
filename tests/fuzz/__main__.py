"""``python -m fuzz``: run cases, or one of them again."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

import numpy as np

from fuzz.areas import AREAS
from fuzz.case import Case, Refused
from fuzz.runner import LIMIT, Order, Outcome, Tally, run_workers

SHOWN = 3
"""Findings of one kind that are printed."""


def main() -> int:
    options = _options()
    areas = tuple(options.area or AREAS)
    if options.case is not None:
        return _replay(areas[0], options.seed, options.case)
    calls = options.count if options.count or options.seconds else 5000
    order = Order(areas, options.seed, calls, options.seconds, options.first, options.limit)
    tally = run_workers(order, options.jobs, _Told(options.seed))
    print(tally)
    return 1 if tally.findings else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, help="stop after so many calls (5000)")
    parser.add_argument("--seconds", type=float, help="stop after so much time")
    parser.add_argument("--area", action="append", choices=list(AREAS), help="may be repeated")
    parser.add_argument("--case", type=int, help="run this case of --area and show what it is")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that a case may take")
    return parser.parse_args()


class _Told:
    """Prints findings as they come, a few of each kind, and now and then how far a run is."""

    def __init__(self, seed: int) -> None:
        self._seed, self._kinds = seed, Counter[str]()
        self._next = time.monotonic() + 30

    def __call__(self, tally: Tally, outcome: Outcome) -> None:
        if outcome.problem:
            self._kinds[outcome.kind] += 1
            if self._kinds[outcome.kind] <= SHOWN:
                again = f"--area {outcome.area} --seed {self._seed} --case {outcome.number}"
                print(f"{again}: {outcome.problem}", flush=True)
        if time.monotonic() > self._next:
            self._next = time.monotonic() + 30
            done, found = tally.calls.total(), len(tally.findings)
            print(f"{done} calls, {found} findings", file=sys.stderr, flush=True)


def _replay(area: str, seed: int, number: int) -> int:
    """Run one case with nothing caught, and show what it is made of."""
    case = Case(area, seed, number)
    try:
        with np.errstate(all="ignore"):
            AREAS[area](case)
        print(f"{case.name}: all of its {case.calls} calls are confirmed")
    except Refused as refusal:
        print(f"{case.name}: refused: {refusal}")
    finally:
        print("  odd:", "; ".join(case.odd) or "nothing")
        with np.printoptions(floatmode="unique", linewidth=100, threshold=400):
            for name, value in case.story.items():
                print(f"  {name} = {value!r}")
        case.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
