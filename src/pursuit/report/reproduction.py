"""The page of the reproduced experiments: a summary, the paper's figures, and the details."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.base.archive import whole_file
from pursuit.experiments.curves import COMPETITORS, HEADROOM, IN_USE
from pursuit.report.charts import Axis, Chart, Series
from pursuit.report.page import render

if TYPE_CHECKING:
    from pursuit.experiments.curves import Panel, Sensitivity
    from pursuit.experiments.documents import Reproduction


def reproduction_page(run: Reproduction, path: str | os.PathLike[str]) -> None:
    """Write the page to `path`, whole or not at all."""
    text = reproduction_html(run)
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")


def reproduction_html(run: Reproduction) -> str:
    """Return the text of the page."""
    charts = [
        [_chart(panel, "iteration").as_data(), _chart(panel, "products with all atoms").as_data()]
        for panel in run.panels
    ]
    main = [panel for panel in run.panels if panel.role == "main"]
    return render(
        "reproduction.html",
        ("reproduction.js",),
        {"charts": charts, "extra": [chart.as_data() for chart in _extra_charts(run)]},
        groups={role: _groups(run, role) for role in ("main", "second", "appendix")},
        claims=run.claim_rows(main),
        columns=[(_place(panel), panel.reading.title) for panel in main],
        sensitivities=run.sensitivities,
        nu_runs=run.nu_runs,
        is_simulated=any(panel.is_simulated for panel in run.panels),
    )


def _extra_charts(run: Reproduction) -> list[Chart]:
    """Return the charts of the losses against L, then that of ν where it was recorded."""
    charts = [_ratio_chart(one) for one in run.sensitivities]
    if run.nu_runs:
        chart = Chart("ν along runs", Axis("iteration", log=True), Axis("smallest valid ν", True))
        for k, one in enumerate(run.nu_runs):
            name = f"{one.name}, {one.reading.short}" + (" (diverges)" if one.diverges else "")
            where = np.unique(np.geomspace(1, len(one.values), 200).astype(int))
            chart.lines.append(Series(name, where, one.values[where - 1], k))
        charts.append(chart)
    return charts


def _groups(run: Reproduction, role: str) -> list[dict[str, Any]]:
    """Return the problems of a role, each with its panels, one for each reading of L."""
    groups: dict[str, dict[str, Any]] = {}
    for number, panel in enumerate(run.panels):
        if panel.role == role:
            group = groups.setdefault(panel.name, {**_problem(panel), "panels": []})
            described = {
                "number": number,
                "reading": panel.reading.title,
                "L": _readable(panel.facts[IN_USE]),
                "findings": run.findings_on(panel),
            }
            group["panels"].append(described)
    return list(groups.values())


def _problem(panel: Panel) -> dict[str, Any]:
    facts = [f"{name} {_readable(x)}" for name, x in panel.facts.items() if name != IN_USE]
    if panel.runs > 1:
        facts.insert(0, f"{panel.runs} problems: medians, and the range of eight in ten")
    return {
        "title": f"{_place(panel)}: {panel.title}",
        "facts": "; ".join(facts),
        "is_simulated": panel.is_simulated,
    }


def _place(panel: Panel) -> str:
    return "Toy data" if panel.is_toy else panel.name


def _readable(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:,.6g}"


def _chart(panel: Panel, against: str) -> Chart:
    lowest, highest = panel.loss_range()
    x = Axis(against, log=True)
    y = Axis(panel.loss, True, lowest / 2, 2 * highest)
    chart = Chart(f"{panel.name}, {panel.reading.title}: loss against {against}", x, y)
    for k, (key, competitor) in enumerate(COMPETITORS.items()):
        if key in panel.curves:
            curve = panel.curves[key]
            where = panel.grid if against == "iteration" else curve.products
            band = (curve.quantile(0.1), curve.quantile(0.9)) if panel.runs > 1 else (None, None)
            chart.lines.append(Series(competitor.label, where, curve.median, k, *band))
    return chart


def _ratio_chart(one: Sensitivity) -> Chart:
    medians = {key: np.median(rows, axis=0) for key, rows in one.losses.items()}
    top = HEADROOM * max(float(row[-1]) for row in medians.values())
    lowest = min(float(row.min()) for row in medians.values())
    y = Axis(f"{one.loss} at t = {one.iterations}", True, lowest / 2, top)
    title = f"{one.name}: loss after {one.iterations} iterations against L"
    chart = Chart(title, Axis("L / exact L", log=True), y)
    for k, (key, competitor) in enumerate(COMPETITORS.items()):
        if key in medians:
            chart.lines.append(Series(competitor.label, one.ratios, medians[key], k))
    return chart
