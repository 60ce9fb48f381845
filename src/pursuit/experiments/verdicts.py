"""What becomes of each claim of the paper's section 4, read off the curves.

`holds_where` gives the iterations at which a claim holds in at least 18 of 20 problems, and `judge`
the details of a panel as sentences. Each verdict depends on the curves of its own panel only.

Losses are compared at every recorded iteration, medians over the runs. A method is *faster from
t on* when its loss is the smaller one at t and at every later record, up to the horizon that a
verdict names: the last iteration. A run *diverges* when its loss rises above its first value by
more than it ever fell; it is then faster than nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pursuit.base.validation import Array
from pursuit.encoding.convergence import RESOLUTION
from pursuit.experiments.curves import COMPETITORS, Curve, Panel
from pursuit.plots import HUGE

HOLDS, FAILS = "holds", "does not hold"
TIE = 1e-9
"""Relative differences up to this are rounding as well."""
COUNTABLE = 10
"""Iterations that an accuracy must have taken for a ratio of them to mean something."""
LEVELS = 10.0 ** -np.arange(1, 10)
"""Accuracies, relative to the first loss, at which iterations are counted."""


@dataclass(frozen=True)
class Finding:
    """A claim in one case on one panel (its key): the verdict, and its evidence in a sentence."""

    claim: str
    case: str
    panel: str
    verdict: str
    evidence: str


Judgement = tuple[str, str]
"""A verdict and its evidence."""


@dataclass(frozen=True)
class Divergence:
    """A loss that ran away: its lowest value, when that was, and when it passed its first value."""

    lowest: float
    lowest_at: int
    above_start_at: int


@dataclass(frozen=True)
class Lead:
    """The longest time, on a logarithmic clock, for which one curve is below another."""

    begin: int
    end: int
    to_the_end: bool


def judge(panels: list[Panel]) -> list[Finding]:
    """Every claim on every panel."""
    return [finding for panel in panels for finding in _judge_panel(panel)]


def divergence(grid: Array, losses: Array) -> Divergence | None:
    """Whether a curve runs away, and where."""
    first = losses[0]
    best = np.minimum.accumulate(losses)
    if not (losses - first > first - best + TIE * first).any():
        return None
    lowest, above = int(np.argmin(losses)), int(np.argmax(losses > first * (1 + TIE)))
    return Divergence(float(losses[lowest]), int(grid[lowest]), int(grid[above]))


def ahead(grid: Array, fast: Array, slow: Array) -> Lead | None:
    """When `fast` is below `slow`: to the end if it is below there; None if it never is."""
    behind, below = _compare(fast, slow)
    return _longest_lead(grid, behind, below)


def _compare(fast: Array, slow: Array) -> tuple[Array, Array]:
    """Return where `fast` is above `slow` and where below, up to rounding; the last axis is t."""
    floor = RESOLUTION * slow[..., :1]
    fast, slow = np.maximum(fast, floor), np.maximum(slow, floor)
    return fast > slow * (1 + TIE), fast < slow * (1 - TIE)


def _longest_lead(grid: Array, behind: Array, below: Array) -> Lead | None:
    """Return the last range without a `behind` if it lasts to the end, else the longest one."""
    edges = [0, *np.flatnonzero(behind), len(grid)]  # at t = 0 nobody is ahead
    ranges = [(a + 1, b - 1) for a, b in pairwise(edges) if below[a + 1 : b].any()]
    if not ranges:
        return None
    last = ranges[-1]
    to_the_end = last[1] == len(grid) - 1
    begin, end = last if to_the_end else max(ranges, key=lambda ends: ends[1] - ends[0])
    return Lead(int(grid[begin]), int(grid[end]), bool(to_the_end))


# Where a claim holds ----------------------------------------------------------------------

SHARE = 0.9
"""A claim holds at an iteration where it holds in this share of the problems: 18 of 20."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper: the loss of one competitor is below that of another."""

    text: str
    fast: str
    slow: str


CLAIMS = (
    Claim("Alg. 4 below MP", "alg4-printed", "mp"),
    Claim("Alg. 3 below random pursuit", "alg3-printed", "rp"),
    Claim("Alg. 3 below MP", "alg3-printed", "mp"),
    Claim("MP below random pursuit", "mp", "rp"),
    Claim("Alg. 4 below Alg. 3", "alg4-printed", "alg3-printed"),
)
"""Claims of section 4 with the constants that it prints: ν = 1, ν′ = dim."""


@dataclass(frozen=True)
class HoldingRange:
    """The iterations at which a claim holds; no `lead` where there are none.

    Attributes
    ----------
    lead
        The longest range of iterations in which it holds.
    diverges
        Whether the median of the faster competitor diverges.
    """

    lead: Lead | None
    diverges: bool

    def __str__(self) -> str:
        if self.lead is None:
            return "never"
        if self.lead.to_the_end:
            return "all t" if self.lead.begin == 1 else f"t ≥ {self.lead.begin}"
        return f"{self.lead.begin} … {self.lead.end}" + (" †" if self.diverges else "")


def holds_where(panel: Panel, claim: Claim) -> HoldingRange:
    """Return the iterations at which a claim holds in at least 18 of 20 runs of a panel."""
    fast, slow = (panel.curves[key].losses for key in (claim.fast, claim.slow))
    behind, below = _compare(fast, slow)
    holds, strictly = (~behind).mean(axis=0) >= SHARE, below.mean(axis=0) >= SHARE
    diverges = divergence(panel.grid, panel.curves[claim.fast].median) is not None
    return HoldingRange(_longest_lead(panel.grid, ~holds, strictly), diverges)


# One panel -------------------------------------------------------------------------------

ACCELERATED = "accelerated faster than plain"
STEEPEST = "steepest faster than random"
KICKS_IN = "acceleration kicks in only after some iterations"
USABLE = "ν = 1 and ν′ = dim usable"

RACES = (
    (ACCELERATED, "Alg. 4 and MP, ν = 1 as printed", "alg4-printed", "mp"),
    (ACCELERATED, "Alg. 4 and MP, safe ν", "alg4-safe", "mp"),
    (ACCELERATED, "Alg. 4 and MP, ν tuned in hindsight", "alg4-tuned", "mp"),
    (ACCELERATED, "Alg. 3 and random pursuit, ν′ = dim as printed", "alg3-printed", "rp"),
    (ACCELERATED, "Alg. 3 and random pursuit, exact ν′", "alg3-exact", "rp"),
    (ACCELERATED, "parameter-free and MP", "parameter-free", "mp"),
    (STEEPEST, "MP and random pursuit", "mp", "rp"),
    (STEEPEST, "Alg. 4 and Alg. 3, as printed", "alg4-printed", "alg3-printed"),
    (STEEPEST, "Alg. 4 and Alg. 3, safe ν and exact ν′", "alg4-safe", "alg3-exact"),
)
KICKS = (
    ("Alg. 4 and MP, safe ν", "alg4-safe", "mp"),
    ("Alg. 3 and random pursuit, exact ν′", "alg3-exact", "rp"),
)


def _judge_panel(panel: Panel) -> Iterator[Finding]:
    for claim, case, fast, slow in RACES:
        if fast in panel.curves and slow in panel.curves:
            yield Finding(claim, case, panel.key, *_race(panel, fast, slow))
    if "parameter-free" in panel.curves:
        case = "parameter-free and MP, by products"
        yield Finding(ACCELERATED, case, panel.key, *_by_products(panel, "parameter-free", "mp"))
    for case, fast, slow in KICKS:
        if fast in panel.curves:
            yield Finding(KICKS_IN, case, panel.key, *_kick(panel, fast, slow))
    for case, pair in (
        ("Alg. 4, ν = 1", ("alg4-printed", "alg4-safe", "safe ν")),
        ("Alg. 3, ν′ = dim", ("alg3-printed", "alg3-exact", "exact ν′")),
    ):
        if pair[1] in panel.curves:
            yield Finding(USABLE, case, panel.key, *_usable(panel, *pair))


def _race(panel: Panel, fast: str, slow: str) -> Judgement:
    quick = panel.curves[fast].median
    evidence = _ends(panel, fast, slow)
    runaway = divergence(panel.grid, quick)
    if runaway is not None:
        return f"{FAILS}: {_diverges(panel)}", f"{_describe(panel, fast, runaway)}; {evidence}"
    lead, last = ahead(panel.grid, quick, panel.curves[slow].median), panel.grid[-1]
    if lead is None:
        return f"{FAILS} up to t = {last}", evidence
    if not lead.to_the_end:
        only = f"ahead only for t = {lead.begin} … {lead.end} of {last}"
        return f"{FAILS}: {only}", evidence
    if lead.begin == 1:
        return f"{HOLDS} up to t = {last}", evidence
    return f"{HOLDS} from t = {lead.begin} to {last}", evidence


def _by_products(panel: Panel, fast: str, slow: str) -> Judgement:
    """The race where the iterations of one cost more: products to each accuracy."""
    needs = [_reached(panel.curves[key].products, panel.curves[key]) for key in (fast, slow)]
    both = [level for level in needs[0] if level in needs[1]]
    if not both:
        return "not judged", "no accuracy was reached by both"
    text = ", ".join(f"{needs[0][k]:.4g} against {needs[1][k]:.4g} to {k:g}" for k in both)
    evidence = f"products to an accuracy relative to the start: {text}"
    return _from_accuracy([needs[0][k] < needs[1][k] for k in both], both), evidence


def _kick(panel: Panel, fast: str, slow: str) -> Judgement:
    lead = ahead(panel.grid, panel.curves[fast].median, panel.curves[slow].median)
    evidence, last = _ends(panel, fast, slow), panel.grid[-1]
    if lead is None:
        return f"{FAILS}: never ahead up to t = {last}", evidence
    if lead.begin == 1:
        return f"{FAILS}: ahead at once", evidence
    until = f"up to t = {last}" if lead.to_the_end else f"until t = {lead.end}"
    return f"{HOLDS}: at t = {lead.begin}, {until}", evidence


def _usable(panel: Panel, printed: str, valid: str, name: str) -> Judgement:
    curve = panel.curves[printed]
    theory = f"{name} is {interval(panel.curves[valid].nu)}, printed {interval(curve.nu)}"
    runaway = divergence(panel.grid, curve.median)
    if runaway is not None:
        return f"{FAILS}: {_diverges(panel)}", f"{_describe(panel, printed, runaway)}; {theory}"
    fallen = f"falls from {curve.median[0]:.4g} to {_loss(curve, -1)}"
    short = (curve.nu < panel.curves[valid].nu * (1 - TIE)).any()
    covered = "the theorem does not cover the printed value" if short else "the theorem covers it"
    held = f"{HOLDS} up to t = {panel.grid[-1]}" if short else f"{HOLDS}: by the theorem"
    return held, f"{fallen}; {theory}: {covered}"


def _ends(panel: Panel, fast: str, slow: str) -> str:
    """Both losses half way (in orders of magnitude) and at the end, and who is ahead there."""
    middle = int(np.searchsorted(panel.grid, np.sqrt(panel.grid[-1])))
    text = "; ".join(
        f"t = {panel.grid[k]}: {_loss(panel.curves[fast], k)} against "
        f"{_loss(panel.curves[slow], k)}"
        for k in (middle, len(panel.grid) - 1)
    )
    if panel.runs == 1:
        return text
    ends = (
        np.maximum(panel.curves[key].losses[:, -1], RESOLUTION * panel.curves[key].losses[:, 0])
        for key in (fast, slow)
    )
    won = np.count_nonzero(next(ends) < next(ends) * (1 - TIE))
    return f"{text}, ahead there in {won} of {panel.runs} problems"


def _describe(panel: Panel, key: str, runaway: Divergence) -> str:
    curve = panel.curves[key]
    text = (
        f"{_label(key)} falls to {runaway.lowest:.3g} at t = {runaway.lowest_at}, then rises: "
        f"above its first value from t = {runaway.above_start_at}, "
        f"{_loss(curve, -1)} at t = {panel.grid[-1]}"
    )
    if panel.runs > 1:
        gone = sum(divergence(panel.grid, row) is not None for row in curve.losses)
        text += f", in {gone} of {panel.runs} problems"
    return text


# Ratios of iterations ------------------------------------------------------------------


def iteration_ratio(panel: Panel, steepest: str, drawn: str) -> dict[float, float]:
    """How many times the iterations of `steepest` does `drawn` need, for each accuracy.

    Accuracies that take a handful of iterations are left out: a ratio to one of them says how
    good the first atom is, and nothing about a speed.
    """
    fast, slow = (_reached(panel.grid, panel.curves[key]) for key in (steepest, drawn))
    known = [level for level in fast if level in slow and fast[level] >= COUNTABLE]
    return {level: slow[level] / fast[level] for level in known}


def _reached(clock: Array, curve: Curve) -> dict[float, float]:
    """What the clock (iterations, products) shows when the median is first at each accuracy."""
    share = curve.median / curve.median[0]
    return {
        float(level): float(clock[np.argmax(share <= level)])
        for level in LEVELS
        if (share <= level).any()
    }


def _from_accuracy(better: list[bool], levels: list[float]) -> str:
    """The verdict on something that is true or not at each of the finer and finer accuracies."""
    several = len(levels) > 1
    span = f"accuracies {levels[0]:g} to {levels[-1]:g}" if several else f"accuracy {levels[0]:g}"
    if all(better):
        return f"{HOLDS} at {span}"
    if not better[-1]:
        return f"{FAILS} at {span}"
    since = len(better) - better[::-1].index(False)
    if since == len(levels) - 1:
        return f"{HOLDS} at accuracy {levels[-1]:g} alone"
    return f"{HOLDS} from accuracy {levels[since]:g} to {levels[-1]:g}"


# Words -----------------------------------------------------------------------------------


def _diverges(panel: Panel) -> str:
    """What is said of a curve that runs away: it depends on the length of the atoms."""
    if abs(panel.radius - 1) < TIE:
        return "diverges on unit atoms"
    return f"diverges on atoms of norm up to {panel.radius:.3g}"


def _label(key: str) -> str:
    return COMPETITORS[key].label


def _loss(curve: Curve, k: int) -> str:
    """The k-th median in words, where it is beyond numbers or below their resolution."""
    loss, smallest = curve.median[k], RESOLUTION * curve.median[0]
    if loss >= HUGE:
        return "overflow"
    return f"{loss:.3g}" if loss > smallest else f"under {smallest:.1g}"


def interval(values: Array) -> str:
    """The smallest and the largest of the runs' constants."""
    low, high = f"{values.min():.5g}", f"{values.max():.5g}"
    return low if low == high else f"{low} … {high}"
