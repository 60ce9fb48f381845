"""The experiments as documents: every curve as JSON, the verdicts as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pursuit.base.validation import Array
from pursuit.experiments.curves import COMPETITORS, TRIED, Curve, Panel, Sensitivity
from pursuit.experiments.observed import NuRun
from pursuit.experiments.toy import FOUR
from pursuit.experiments.verdicts import (
    CLAIMS,
    LEVELS,
    Finding,
    holds_where,
    interval,
    iteration_ratio,
    judge,
)
from pursuit.plots import HUGE

FORMAT = 2
"""Version of the JSON document."""
CONSTANTS = (
    "dim lin(A)",
    "longest atom",
    "ν′ printed",
    "ν′ exact",
    "ν printed",
    "ν safe",
    "ν tuned",
)
"""The columns of the table of constants."""
DIGITS = 10
"""Significant digits of a point of a curve in the JSON document."""
FACT_DIGITS = 14
"""Significant digits of a number that describes a problem, in either document."""
RATIO_LEVELS = LEVELS[:4]
"""Accuracies at which the table of ratios of iterations is read."""
CHECKPOINTS = (1000, 3000)
"""Iterations at which the table of losses over a scene is read."""


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Everything that a run of the experiments came to.

    Attributes
    ----------
    panels
        The curves, one panel for each kind of problem and reading of L.
    seed
        The seed that all random numbers came from.
    sensitivities
        Losses against the L in use.
    nu_runs
        ν along single runs of Algorithm 4.
    findings
        The verdicts on each panel in sentences.
    """

    panels: Sequence[Panel]
    seed: int
    sensitivities: Sequence[Sensitivity] = ()
    nu_runs: Sequence[NuRun] = ()
    findings: list[Finding] = field(init=False)

    def __post_init__(self) -> None:
        judged = [panel for panel in self.panels if not panel.is_simulated]
        object.__setattr__(self, "findings", judge(judged))

    def findings_on(self, panel: Panel) -> list[Finding]:
        """Return the verdicts on one panel."""
        return [finding for finding in self.findings if finding.panel == panel.key]

    def claim_rows(self, panels: Iterable[Panel]) -> list[list[str]]:
        """Return each claim, and where it holds on each of the panels; "–" on simulated data."""
        panels = list(panels)
        return [
            [
                claim.text,
                *("–" if one.is_simulated else str(holds_where(one, claim)) for one in panels),
            ]
            for claim in CLAIMS
        ]


def as_json(run: Reproduction) -> str:
    """Return every curve and every verdict; the same seed gives the same text."""
    document = {
        "format": FORMAT,
        "seed": run.seed,
        "panels": [_panel(panel) for panel in run.panels],
        "sensitivity": [_sensitivity(one) for one in run.sensitivities],
        "nu": [_nu_run(one) for one in run.nu_runs],
        "verdicts": [vars(finding) for finding in run.findings],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def as_markdown(run: Reproduction) -> str:
    """Return the claims, the losses over scenes, the constants, and the details of each panel."""
    parts = ["# The claims of the paper's section 4, run again", _method(run)]
    parts += ["## Where each claim holds", _claims(run)]
    scenes = [panel for panel in run.panels if not panel.is_toy]
    if scenes and scenes[0].grid[-1] >= CHECKPOINTS[0]:
        at = ", ".join(f"t = {t}" for t in _checkpoints(scenes[0]))
        heading = f"## {scenes[0].name}: mean of ½‖x − b‖² above its floor at {at}"
        parts += [heading, _scene_losses(scenes)]
    parts += ["## Iterations of random pursuit for one of MP, by accuracy", _ratios(run.panels)]
    exact = [panel for panel in run.panels if "alg4-safe" in panel.curves]
    parts += ["## Constants, printed and valid", _table(["", *CONSTANTS], _nus(exact))]
    if run.nu_runs:
        parts += ["## ν along runs of Algorithm 4 with ν = 1", _observed(run.nu_runs)]
    parts += ["## Details", *(_details(panel, run) for panel in run.panels)]
    return "\n\n".join(parts) + "\n"


def _method(run: Reproduction) -> str:
    lines = [
        f"- {panel.name}, {panel.reading.title}: {panel.title}; {panel.runs} run(s), "
        f"{panel.grid[-1]} iterations; "
        + ", ".join(f"{name} {value:.{FACT_DIGITS}g}" for name, value in panel.facts.items())
        for panel in run.panels
    ]
    how = (
        f"Seed {run.seed}. Losses are counted from their floor and compared at "
        f"{len(run.panels[0].grid)} iteration numbers. A claim holds at an iteration where it "
        "holds in at least nine of ten problems; in the details medians are compared. *Faster "
        "from t on*: smaller at t and at every later record, up to the horizon named. *Diverges* "
        "(†): rises above its first value by more than it ever fell. *Tuned in hindsight*: of "
        f"{len(TRIED)} values of ν, from an eighth of the safe one up to it, the one whose run "
        "ended lowest, chosen for each problem."
    )
    return how + "\n\n" + "\n".join(lines)


def _claims(run: Reproduction) -> str:
    header = ["claim", *(f"{one.name}, {one.reading.title}" for one in run.panels)]
    return _table(header, run.claim_rows(run.panels))


def _checkpoints(panel: Panel) -> list[int]:
    return [t for t in CHECKPOINTS if t <= panel.grid[-1]]


def _scene_losses(panels: list[Panel]) -> str:
    rows = []
    for panel in panels:
        cells = []
        for key in FOUR:
            half = panel.curves[key].median / 2
            at = [_readable(float(_at(panel, half, t))) for t in _checkpoints(panel)]
            cells.append("; ".join(at))
        rows.append([panel.reading.title, *cells])
    return _table(["", *(COMPETITORS[key].label for key in FOUR)], rows)


def _at(panel: Panel, losses: Array, t: int) -> float:
    """Return the loss at an iteration, between two records by the logarithms of both."""
    logs = np.log(np.maximum(losses[1:], 1 / HUGE))
    return float(np.exp(np.interp(np.log(t), np.log(panel.grid[1:]), logs)))


def _readable(loss: float) -> str:
    return "diverges" if not loss < 1e12 else f"{loss:.3g}"


def _ratios(panels: Sequence[Panel]) -> str:
    """The lead of the steepest atom, for accuracies relative to the first loss."""
    rows = []
    for panel in panels:
        ratios = {} if panel.is_simulated else iteration_ratio(panel, "mp", "rp")
        cells = (f"{ratios[level]:.3g}" if level in ratios else "–" for level in RATIO_LEVELS)
        rows.append([f"{panel.name}, {panel.reading.title}", *cells])
    return _table(["", *(f"{level:g}" for level in RATIO_LEVELS)], rows)


def _nus(panels: list[Panel]) -> list[list[str]]:
    keys = ("alg3-printed", "alg3-exact", "alg4-printed", "alg4-safe", "alg4-tuned")
    return [
        [
            panel.name,
            str(panel.dimension),
            f"{panel.radius:.4g}",
            *(interval(panel.curves[key].nu) for key in keys),
        ]
        for panel in panels
    ]


def _observed(runs: Sequence[NuRun]) -> str:
    rows = [
        [
            f"{one.name}, {one.reading.title}",
            f"{one.values[0]:.3g}",
            f"{one.values[-1]:.3g}",
            f"{len(one.values)}" + (" (diverges)" if one.diverges else ""),
        ]
        for one in runs
    ]
    return _table(
        ["the smallest ν with which the proof holds", "at t = 0", "at the end", "t"], rows
    )


def _details(panel: Panel, run: Reproduction) -> str:
    lines = [
        f"- {finding.claim}, {finding.case}: **{finding.verdict}** ({finding.evidence})"
        for finding in run.findings_on(panel)
    ]
    text = "\n".join(lines) if lines else "Simulated data: nothing is claimed about them."
    return f"### {panel.name}, {panel.reading.title}\n\n{text}"


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    # A bar inside a cell, as in |Gaussian|, would end it.
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def _panel(panel: Panel) -> dict[str, Any]:
    return {
        "name": panel.name,
        "title": panel.title,
        "reading": panel.reading.key,
        "simulated": panel.is_simulated,
        "loss": panel.loss,
        "dimension": panel.dimension,
        "radius": float(f"{panel.radius:.{FACT_DIGITS}g}"),
        "facts": {name: float(f"{x:.{FACT_DIGITS}g}") for name, x in panel.facts.items()},
        "iterations": panel.grid.tolist(),
        "curves": {key: _curve(key, curve) for key, curve in panel.curves.items()},
        "claims": {
            claim.text: None if panel.is_simulated else str(holds_where(panel, claim))
            for claim in CLAIMS
        },
    }


def _curve(key: str, curve: Curve) -> dict[str, Any]:
    return {
        "label": COMPETITORS[key].label,
        "nu": [_plain(nu) for nu in curve.nu],
        "products": [_plain(x) for x in curve.products],
        "losses": [[_plain(x) for x in run] for run in curve.losses],
    }


def _sensitivity(one: Sensitivity) -> dict[str, Any]:
    return {
        "name": one.name,
        "loss": one.loss,
        "iterations": one.iterations,
        "ratios": [_plain(x) for x in one.ratios],
        "figures_ratio": _plain(one.figures_ratio),
        "losses": {
            key: [[_plain(x) for x in run] for run in rows] for key, rows in one.losses.items()
        },
    }


def _nu_run(one: NuRun) -> dict[str, Any]:
    return {
        "name": one.name,
        "reading": one.reading.key,
        "diverges": one.diverges,
        "values": [_plain(x) for x in one.values],
    }


def _plain(value: float) -> float | None:
    """Return a number of `DIGITS` digits; None for an overflow or a constant that is not there."""
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
