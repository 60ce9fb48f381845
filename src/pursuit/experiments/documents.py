"""The experiments as documents: every curve as JSON, the verdicts as Markdown."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pursuit.experiments.curves import CONTESTANTS, TRIED, Curve, Panel
from pursuit.experiments.verdicts import Finding, interval

FORMAT = 1
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


def as_json(panels: list[Panel], findings: list[Finding], seed: int) -> str:
    """Every curve and every verdict; the same seed gives the same text."""
    document = {
        "format": FORMAT,
        "seed": seed,
        "panels": [_panel(panel) for panel in panels],
        "verdicts": [vars(finding) for finding in findings],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def as_markdown(panels: list[Panel], findings: list[Finding], seed: int) -> str:
    """The table of verdicts, the constants, and the numbers behind each verdict."""
    parts = [
        "# The claims of the paper's section 4, run again",
        _method(panels, seed),
        "## Verdicts",
        _table(["claim", "case", *(panel.name for panel in panels)], _verdicts(panels, findings)),
        "## Constants, printed and valid",
        _table(["", *CONSTANTS], _nus(panels)),
        "## The numbers behind the verdicts",
        *(_behind(claim, case, findings) for claim, case in cases(findings)),
    ]
    return "\n\n".join(parts) + "\n"


def cases(findings: list[Finding]) -> list[tuple[str, str]]:
    """Every claim and case once, the cases of a claim together."""
    claims = dict.fromkeys(finding.claim for finding in findings)
    pairs = dict.fromkeys((finding.claim, finding.case) for finding in findings)
    return [pair for claim in claims for pair in pairs if pair[0] == claim]


def verdicts(panels: list[Panel], findings: list[Finding], claim: str, case: str) -> list[str]:
    """The verdict on each panel."""
    found = {f.panel: f.verdict for f in findings if (f.claim, f.case) == (claim, case)}
    return [found.get(panel.name, "") for panel in panels]


def _verdicts(panels: list[Panel], findings: list[Finding]) -> list[list[str]]:
    return [
        [claim, case, *verdicts(panels, findings, claim, case)] for claim, case in cases(findings)
    ]


def _method(panels: list[Panel], seed: int) -> str:
    lines = [
        f"- {panel.name}: {panel.title}; {panel.runs} run(s), {panel.grid[-1]} iterations; "
        + ", ".join(f"{name} {value:.{FACT_DIGITS}g}" for name, value in panel.facts.items())
        for panel in panels
    ]
    how = (
        f"Seed {seed}. Losses are counted from their floor and compared at {len(panels[0].grid)} "
        "iteration numbers, as medians over the runs. *Faster from t on*: smaller at t and at "
        "every later record, up to the horizon named. *Diverges*: rises above its first value by "
        "more than it ever fell; whether it does depends on the length of the atoms, which is "
        f"given. *Tuned in hindsight*: of {len(TRIED)} values of ν, from an eighth of the safe one "
        "up to it, the one whose run ended lowest, chosen for each problem."
    )
    return how + "\n\n" + "\n".join(lines)


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


def _behind(claim: str, case: str, findings: list[Finding]) -> str:
    lines = [
        f"- {finding.panel}: **{finding.verdict}** ({finding.evidence})"
        for finding in findings
        if (finding.claim, finding.case) == (claim, case)
    ]
    return f"### {claim}: {case}\n\n" + "\n".join(lines)


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _panel(panel: Panel) -> dict[str, Any]:
    return {
        "name": panel.name,
        "title": panel.title,
        "loss": panel.loss,
        "dimension": panel.dimension,
        "radius": float(f"{panel.radius:.{FACT_DIGITS}g}"),
        "facts": {name: float(f"{x:.{FACT_DIGITS}g}") for name, x in panel.facts.items()},
        "iterations": panel.grid.tolist(),
        "curves": {key: _curve(key, curve) for key, curve in panel.curves.items()},
    }


def _curve(key: str, curve: Curve) -> dict[str, Any]:
    return {
        "label": CONTESTANTS[key].label,
        "nu": [_plain(nu) for nu in curve.nu],
        "products": [_plain(x) for x in curve.products],
        "losses": [[_plain(x) for x in run] for run in curve.losses],
    }


def _plain(value: float) -> float | None:
    """A number of `DIGITS` digits; None for an overflow, and for a constant that is not there."""
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
