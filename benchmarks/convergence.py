"""How many products with the atoms each method needs: ``python benchmarks/convergence.py``.

Products and seconds to 1e-3, 1e-6 and 1e-9 of f(x0) − f*, for every method and for what a user
would use otherwise. A look at all atoms and a combination of all atoms count as one product
each, in whichever form a method runs. Products do not depend on the machine; seconds do, and are
kept in the file only. A run ends at the cap of its row, in iterations or in seconds; ratios to a
matching pursuit that did not arrive are to all that it had spent by then.

    python benchmarks/convergence.py --quick          a few runs of each row
    python benchmarks/convergence.py --only urban-651 --racers accelerated LSQR --out values.json
    python benchmarks/convergence.py --level 1e-3     no further than that: minutes, not an hour
    python benchmarks/convergence.py --variants       ours in other settings, 5 runs of each row
    python benchmarks/convergence.py --seconds        logistic losses, beside scikit-learn's lbfgs
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

# One process a core; BLAS threads of their own would only fight each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from convergence_peers import Marks, Watch, conjugate_gradients, lsqr_steps, quasi_newton
from convergence_problems import (
    Case,
    clusters,
    dense_logistic,
    diagonal,
    huber,
    least,
    microarray,
    toy,
    urban,
    w8a,
    wild,
    wild_logistic,
    words,
)

from pursuit import Coordinates, ExactLineSearch, Logistic, Result, methods, solve
from pursuit.methods import NAMED, Method
from pursuit.objectives.problem import Problem
from pursuit.rules.run import Run

LEVELS = [1e-3, 1e-6, 1e-9]
END = 0.0
"""The level under which a run of ours notes what it has spent when it ended."""
BASE = "matching-pursuit"
OURS = "accelerated"
SEARCHED = "matching-pursuit, line search"
SCALED = "L-BFGS, the same scaling"
LEAD = (BASE, OURS)
"""These are run on all problems of a row, the others on `others` of them."""
SKIPPED = {"gradient-free", "orthogonal", "local-orthogonal", "blended"}
"""Not counted in looks at all atoms, or not after the same thing."""

Racer = Callable[[Case, list[float], int], Marks]


@dataclass(frozen=True)
class Row:
    """A kind of problem, and how far its runs may go."""

    cases: Callable[..., Iterator[Case]]
    runs: int | None
    cap: int = 60_000
    seconds: float = 60.0
    quadratic: bool = True


ROWS = {
    "gaussian": Row(partial(toy, "gaussian"), 20),
    "uniform": Row(partial(toy, "uniform"), 20),
    "anisotropic": Row(partial(toy, "anisotropic"), 20),
    "urban-6": Row(partial(urban, False), 100),
    "urban-651": Row(partial(urban, True), 100),
    "diagonal": Row(diagonal, 5, cap=10_000, seconds=10.0),
    "wild": Row(wild, 5, cap=10_000, seconds=10.0),
    "clusters": Row(clusters, 5, cap=10_000, seconds=10.0),
    "w8a": Row(w8a, None, seconds=25.0, quadratic=False),
    "w8a-weak": Row(partial(w8a, 1000.0), None, seconds=25.0, quadratic=False),
    "golub": Row(partial(microarray, "golub"), None, seconds=25.0, quadratic=False),
    "wild-logistic": Row(wild_logistic, 5, cap=10_000, seconds=10.0, quadratic=False),
    "huber": Row(partial(huber, 1.0), 5, cap=10_000, seconds=10.0, quadratic=False),
    "huber-narrow": Row(partial(huber, 0.01), 5, cap=10_000, seconds=10.0, quadratic=False),
    "huber-wild": Row(partial(huber, 1.0, 2.0), 5, cap=10_000, seconds=10.0, quadratic=False),
    "alon": Row(partial(microarray, "alon"), None, seconds=25.0, quadratic=False),
    "words": Row(words, 5, cap=10_000, seconds=10.0, quadratic=False),
}
"""The last two were added after the sampling was fixed."""


# Racing -------------------------------------------------------------------------------------


def race(case: Case, levels: list[float], cap: int, *, method: Method, seconds: float) -> Marks:
    """A method of the library, looked at after each of the first 100 steps, then every 1 %."""
    problem = Problem(case.f, case.atoms)
    watch, run = Watch(case, levels), Run(problem, 0)
    x0 = np.zeros(case.f.shape)
    point = method.advance.point(problem, x0)
    stepper = method.momentum.start(run, method.advance, point)
    look = 1
    while run.t < cap:
        stepper.step()
        run.t += 1
        if run.t % 1000 == 0:
            for kept in stepper.points().values():
                kept.refresh()
        if run.t == look:
            if watch.look(stepper.x.value, stepper.x.counts.products):
                break
            if time_is_up(watch, seconds):
                break
            look += max(1, look // 100)
    watch.marks[END] = (stepper.x.counts.products, time.perf_counter() - watch.begun)
    return watch.marks


def time_is_up(watch: Watch, seconds: float) -> bool:
    return time.perf_counter() - watch.begun - watch.paused > seconds


def racers(row: Row, variants: bool = False) -> dict[str, Racer]:
    """Every method of the library that fits, and the peers; or ours in other settings."""
    if variants:
        return settings(row)
    rules = {name: make() for name, make in NAMED.items() if name not in SKIPPED}
    rules["accelerated, m = 1"] = methods.accelerated(exploration=1)
    rules[SEARCHED] = methods.matching_pursuit(step=ExactLineSearch())
    field = {name: _ours(method, row) for name, method in rules.items()}
    if row.quadratic:
        field |= {"LSQR": lsqr_steps, "CG": conjugate_gradients}
    return field | {"L-BFGS": quasi_newton, SCALED: partial(quasi_newton, scaled=True)}


def _ours(method: Method, row: Row) -> Racer:
    return partial(race, method=method, seconds=row.seconds)


def settings(row: Row) -> dict[str, Racer]:
    """Ours, and ours with one thing changed."""
    memories = (1, 8, 50) if row.quadratic else (1, 2, 4, 8, 16)
    changed: list[dict[str, object]] = [{}, *({"memory": m} for m in memories)]
    changed += [{"exploration": m} for m in (1, 4, 16)]
    made = {
        ", ".join([OURS, *(f"{name} {value}" for name, value in options.items())]): _ours(
            methods.accelerated(**options), row
        )
        for options in changed
    }
    sampled = {
        f"{OURS}, p ∝ {text}": partial(race_sampled, weights=weights, seconds=row.seconds)
        for text, weights in SAMPLINGS.items()
    }
    return made | sampled


SAMPLINGS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "1": lambda h, even: np.ones_like(h),
    "1/√h": lambda h, even: h**-0.5,
    "1/h": lambda h, even: 1 / h,
    "√even/h": lambda h, even: even**0.5 / h,
}
"""From curvatures and evenness; ours is even^¼/h, on quadratics 1/h."""


def race_sampled(
    case: Case, levels: list[float], cap: int, *, weights: Callable[..., np.ndarray], seconds: float
) -> Marks:
    """Ours with another sampling, computed from the problem."""
    p = weights(*case.f.scales(case.atoms))
    return race(
        case, levels, cap, method=methods.accelerated(sampling=p / p.sum()), seconds=seconds
    )


def one(name: str, variants: bool, racer: str, number: int, levels: list[float]) -> Marks:
    row = ROWS[name]
    cases = list(row.cases() if row.runs is None else row.cases(runs=number + 1))
    return racers(row, variants)[racer](cases[-1], levels, row.cap)


def runs_of(row: Row, racer: str, others: int, lead: int | None) -> list[int]:
    """Which problems of a row a racer runs on: the first, spread evenly where not all."""
    if row.runs is None:
        return [0]
    wanted = min(row.runs, lead or row.runs) if racer in LEAD else min(others, lead or others)
    return [int(k) for k in np.linspace(0, row.runs - 1, wanted).round()]


def measure(options: argparse.Namespace, levels: list[float]) -> dict[str, dict[str, dict]]:
    """row ↦ racer ↦ number ↦ level ↦ (products, seconds)."""
    variants = options.variants
    lead = options.others if variants else 3 if options.quick else None
    jobs = [
        (name, variants, racer, number, levels)
        for name in options.only
        for racer in racers(ROWS[name], variants)
        if options.racers is None or racer in options.racers
        for number in runs_of(ROWS[name], racer, options.others, lead)
    ]
    values: dict[str, dict[str, dict]] = {}
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for (name, _, racer, number, _), marks in zip(
            jobs, pool.map(one, *zip(*jobs, strict=True)), strict=True
        ):
            values.setdefault(name, {}).setdefault(racer, {})[number] = marks
    return values


# Reporting ----------------------------------------------------------------------------------


def products(marks: Marks, level: float) -> float:
    return marks[level][0] if level in marks else np.inf


def spent(marks: Marks, level: float) -> float:
    """Products to a level, or all that a run spent without reaching it."""
    return marks[level][0] if level in marks else marks[END][0]


def cell(values: dict[int, Marks], level: float) -> str:
    """The median number of products, or what share of the runs arrived."""
    found = [marks[level][0] for marks in values.values() if level in marks]
    if 2 * len(found) <= len(values):
        return f"({len(found)}/{len(values)})" if found else "—"
    everyone = [products(marks, level) for marks in values.values()]
    return f"{np.median(everyone):,.0f}"


def ratios(row: dict[str, dict[int, Marks]], racer: str, level: float) -> np.ndarray:
    """Products relative to those of matching pursuit, or to all that it spent, run by run."""
    base = row[BASE]
    return np.array(
        [
            products(marks, level) / spent(base[number], level)
            for number, marks in row[racer].items()
            if number in base
        ]
    )


def table(values: dict[str, dict[str, dict]], levels: list[float]) -> str:
    """Products to each level, one block for each row."""
    lines = []
    for name, row in values.items():
        lines += ["", f"{name}", f"  {'':32s}" + "".join(f"{level:>12.0e}" for level in levels)]
        for racer, runs in row.items():
            cells = "".join(f"{cell(runs, level):>12s}" for level in levels)
            lines.append(f"  {racer:32s}{cells}   {len(runs)} runs")
    return "\n".join(lines)


def summary(values: dict[str, dict[str, dict]], levels: list[float]) -> str:
    """Ours beside the peers: medians of both; then beside matching pursuit, run by run."""
    reached = " / ".join(f"{level:.0e}" for level in levels)
    lines = ["", f"median products of {OURS} relative to those of a peer, to {reached}"]
    for name, row in values.items():
        for peer in ("LSQR", "L-BFGS", SCALED):
            if peer in row and OURS in row:
                cells = " / ".join(f"{quotient(row, peer, level):.2f}" for level in levels)
                lines.append(f"  {name:16s}{peer:26s}{cells}")
    if not all(BASE in row for row in values.values()):
        return "\n".join(lines)
    heads = f"  {'':32s}" + "".join(f"{name:>14s}" for name in values)
    for level in levels:
        lines += [
            *("", f"products relative to matching-pursuit, to {level:.0e}: medians", heads),
            *block(values, lambda row, racer, level=level: np.median(ratios(row, racer, level))),
        ]
    return "\n".join(
        [
            *(*lines, "", "products more than matching-pursuit's to 1e-3: the most of any run"),
            *(heads, *block(values, lambda row, racer: more(row, racer, 1e-3), "{:.0f}".format)),
        ]
    )


def quotient(row: dict[str, dict[int, Marks]], peer: str, level: float) -> float:
    """Medians over the runs that both have made; nan where neither arrived."""
    numbers = [number for number in row[peer] if number in row[OURS]]
    ours, theirs = (
        np.median([products(row[racer][number], level) for number in numbers])
        for racer in (OURS, peer)
    )
    return float(ours / theirs) if np.isfinite(ours) else np.nan


def more(row: dict[str, dict[int, Marks]], racer: str, level: float) -> float:
    base = row[BASE]
    shared = [number for number in row[racer] if number in base]
    return max(products(row[racer][k], level) - spent(base[k], level) for k in shared)


def ratio(value: float) -> str:
    return f"1/{1 / value:.4g}" if value < 0.95 else f"{value:.4g}"


def block(
    values: dict[str, dict[str, dict]],
    figure: Callable[..., float],
    read: Callable[[float], str] = ratio,
) -> Iterator[str]:
    """One line for each racer, one column for each row of problems."""
    for racer in dict.fromkeys(racer for row in values.values() for racer in row):
        figures = [float(figure(row, racer)) if racer in row else None for row in values.values()]
        cells = ["" if v is None else read(v) if np.isfinite(v) else "—" for v in figures]
        yield f"  {racer:32s}" + "".join(f"{text:>14s}" for text in cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--racers", nargs="+", help="some methods and peers only")
    parser.add_argument("--level", type=float, default=LEVELS[-1], help="not beyond this one")
    parser.add_argument("--quick", action="store_true", help="3 runs of each row")
    parser.add_argument("--others", type=int, default=5, help="runs of methods but MP and ours")
    parser.add_argument("--out", default="convergence.json", help="where all values are kept")
    parser.add_argument("--variants", action="store_true", help="ours with one thing changed")
    parser.add_argument("--seconds", action="store_true", help="CPU time beside scikit-learn")
    arguments = parser.parse_args()
    if arguments.seconds:
        print("\n".join(beside_scikit_learn()))
        return
    levels = [level for level in LEVELS if level >= arguments.level]
    values = measure(arguments, levels)
    with open(arguments.out, "w") as file:
        json.dump(values, file)
    print(table(values, levels))
    print(summary(values, levels))
    print(f"\nall values, seconds too: {arguments.out}")


def beside_scikit_learn(level: float = 1e-6, repeats: int = 5) -> Iterator[str]:
    """Seconds of the processor to `level`, from X and y to coefficients, interleaved."""
    from sklearn.linear_model import LogisticRegression

    sparse, dense = next(w8a()).f, dense_logistic()
    by_rows = sparse.X.tocsr()  # as it was read
    rows = [("w8a", by_rows, sparse.y, l2) for l2 in (sparse.l2, 1.0)]
    rows += [("dense 2,000 × 5,000", *dense, l2) for l2 in (1.0, 100.0)]
    for name, X, y, l2 in rows:
        f, atoms = Logistic(X, y, l2=l2), Coordinates(X.shape[1])
        lowest = least(f)
        goal = lowest + level * (f.value(np.zeros(f.shape)) - lowest)

        def theirs(most: int, X=X, y=y, l2=l2) -> np.ndarray:
            model = LogisticRegression(C=1 / l2, fit_intercept=False, tol=1e-15, max_iter=most)
            return model.fit(X, y).coef_[0]

        def ours(X=X, y=y, l2=l2, atoms=atoms, goal=goal) -> Result:
            how = {"target": goal, "tol": 0, "every": 10_000, "progress": False, "threads": 1}
            return solve(Logistic(X, y, l2=l2), atoms, OURS, max_iter=10_000, **how)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an end by max_iter
            needed = next(t for t in range(1, 10_000) if f.value(theirs(t)) <= goal)
            times = [(timed(ours), timed(partial(theirs, needed))) for _ in range(repeats)]
        mine, peer = np.min(times, axis=0)
        yield (
            f"{name}, l2 = {l2:.4g}: {mine:.3f} s, lbfgs {peer:.3f} s, ratio {mine / peer:.2f} "
            f"({ours().iterations} iterations, lbfgs {needed})"
        )


def timed(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main()
