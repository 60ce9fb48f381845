"""The page of the reproduced experiments: the verdicts, and the curves behind them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pursuit.base.archive import whole_file
from pursuit.report.charts import Axis, Chart, Series
from pursuit.report.page import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pursuit.experiments.curves import Panel
    from pursuit.experiments.verdicts import Finding

HEADROOM = 30.0
"""How far above the first loss a chart reaches."""
RESOLUTION = 1e-9
"""How far below the first loss a chart reaches at most."""


def reproduction_page(
    panels: Sequence[Panel], findings: Sequence[Finding], path: str | os.PathLike[str]
) -> None:
    """Write the page to `path`, whole or not at all."""
    text = reproduction_html(panels, findings)
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")


def reproduction_html(panels: Sequence[Panel], findings: Sequence[Finding]) -> str:
    """The text of the page."""
    charts = [
        [_chart(panel, "iteration").as_data(), _chart(panel, "products with all atoms").as_data()]
        for panel in panels
    ]
    return render(
        "reproduction.html",
        ("reproduction.js",),
        {"charts": charts},
        panels=[_described(panel) for panel in panels],
        claims=_claims(panels, findings),
    )


def _described(panel: Panel) -> dict[str, Any]:
    facts = {name: _readable(value) for name, value in panel.facts.items()}
    if panel.runs > 1:
        drawn = {"problems": f"{panel.runs}", "curves": "medians, and the range of eight in ten"}
        facts = {**drawn, **facts}
    return {"name": panel.name, "title": panel.title, "facts": facts}


def _readable(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.6g}"


def _claims(panels: Sequence[Panel], findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """The claims in their order, the cases of each, and the finding on every panel or None."""
    claims: dict[str, dict[str, dict[str, Finding]]] = {}
    for finding in findings:
        cases = claims.setdefault(finding.claim, {})
        cases.setdefault(finding.case, {})[finding.panel] = finding
    return [{"claim": claim, "cases": _cases(panels, cases)} for claim, cases in claims.items()]


def _cases(panels: Sequence[Panel], cases: dict[str, dict[str, Finding]]) -> list[dict[str, Any]]:
    return [
        {"case": case, "findings": [found.get(panel.name) for panel in panels]}
        for case, found in cases.items()
    ]


def _chart(panel: Panel, against: str) -> Chart:
    from pursuit.experiments.curves import CONTESTANTS

    start = float(panel.curves["mp"].median[0])
    lowest = min(float(curve.median[-1]) for curve in panel.curves.values())
    x = Axis(against, log=True)
    y = Axis(panel.loss, True, max(lowest / 3, RESOLUTION * start), HEADROOM * start)
    chart = Chart(f"{panel.name}: loss against {against}", x, y)
    for k, (key, contestant) in enumerate(CONTESTANTS.items()):
        if key in panel.curves:
            curve = panel.curves[key]
            where = panel.grid if against == "iteration" else curve.products
            band = (curve.quantile(0.1), curve.quantile(0.9)) if panel.runs > 1 else (None, None)
            chart.lines.append(Series(contestant.label, where, curve.median, k, *band))
    return chart
