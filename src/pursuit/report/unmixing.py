"""The page of an unmixed scene: maps, spectra, errors, convergence, and every pixel to click on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.base.archive import whole_file
from pursuit.base.errors import InputError
from pursuit.report.charts import Axis, Chart, Series, numbers
from pursuit.report.packing import code_spectra, pack, pack_map
from pursuit.report.page import render
from pursuit.report.quicklook import quicklook

if TYPE_CHECKING:
    from pursuit.base.validation import Array
    from pursuit.unmixing import NumberEstimate, Scene, Unmixing
    from pursuit.unmixing.convergence import Convergence
    from pursuit.unmixing.libraries import Match

BUDGET = 3_300_000
"""Bytes for maps and spectra before base 64, which makes them a third longer."""
MOST_DIMENSIONS = 40
"""How many points of the curve of dimensions are drawn at most."""
SMALLEST_LEFT = 1e-4
"""The curve is drawn down to this share of its beginning: below is rounding."""
LEAST_FOR_SPECTRA = 400_000
"""Bytes that the spectra get in any case."""
NO_BREAK = "\u00a0"
"""A blank at which no line ends."""


@dataclass(frozen=True)
class Story:
    """What the page tells beside the numbers of the unmixing.

    Attributes
    ----------
    number
        How the number of endmembers was estimated, if it was.
    matches
        For every endmember the nearest spectra of a library, if there is one.
    convergence
        Curves of the methods, if they were run.
    command
        What made the page.
    notes
        Sentences for the top.
    """

    number: NumberEstimate | None = None
    matches: Sequence[Sequence[Match]] = ()
    convergence: Convergence | None = None
    command: str = ""
    notes: Sequence[str] = ()


def unmixing_page(
    unmixing: Unmixing, path: str | os.PathLike[str], story: Story | None = None
) -> None:
    """Write the page to `path`, whole or not at all."""
    text = unmixing_html(unmixing, story)
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")


def unmixing_html(unmixing: Unmixing, story: Story | None = None) -> str:
    """The text of the page."""
    if unmixing.scene is None:
        raise InputError("unmixing: expected one of a Scene, whose pixels have places")
    story = story or Story()
    order = _reading_order(unmixing.scene)
    data = _data(unmixing, order)
    left = max(LEAST_FOR_SPECTRA, BUDGET - _packed_bytes(data))
    spectra = code_spectra(unmixing.scene.pixels, left, order)
    data["spectra"] = spectra.packed()
    data |= _charts(story)
    picked = unmixing.extraction
    return render(
        "scene.html",
        ("maps.js", "zoom.js", "image.js", "scene.js"),
        data,
        scene=unmixing.scene,
        unmixing=unmixing,
        facts=_facts(unmixing),
        rows=_rows(unmixing, story.matches),
        contest=() if picked is None else picked.contest,
        number=story.number,
        convergence=story.convergence,
        spectra_error=spectra.error,
        command=story.command,
        notes=story.notes,
    )


def _reading_order(scene: Scene) -> Array:
    """The pixels row by row of the picture, each row from left to right."""
    order: Array = np.lexsort((scene.places[:, 1], scene.places[:, 0]))
    return order


def _data(unmixing: Unmixing, order: Array) -> dict[str, Any]:
    scene = unmixing.scene
    assert scene is not None
    waves = scene.bands if scene.wavelengths is None else scene.wavelengths
    unit = f" ({scene.wavelength_unit})" if scene.wavelength_unit else ""
    abundances = unmixing.abundances[order]
    data = {
        "name": scene.name,
        "shape": list(scene.shape),
        "mask": pack(np.packbits(scene.mask)),
        "bands": scene.bands.tolist(),
        "waves": numbers(waves),
        "axis": "band" if scene.wavelengths is None else f"wavelength{unit}",
        "names": unmixing.names,
        "quicklook": quicklook(scene).packed(order),
        "endmembers": pack(unmixing.endmembers.astype(np.float32)),
        "abundances": [pack_map(shares, low=0.0) for shares in abundances.T],
        "residuals": pack_map(unmixing.residual_norms[order], low=0.0),
        "angles": pack_map(np.degrees(unmixing.angles[order]), low=0.0),
    }
    if unmixing.constraint == "sum-at-most-one":
        data["shade"] = pack_map(np.maximum(1 - abundances.sum(axis=1), 0), low=0.0)
    return data


def _packed_bytes(data: dict[str, Any]) -> int:
    maps = [data["residuals"], data["angles"], *data["abundances"]]
    maps += [data["shade"]] if "shade" in data else []
    packed = [data["quicklook"]["rgb"], *(one["levels"] for one in maps)]
    return sum(3 * len(one["data"]) // 4 for one in packed)


def _facts(unmixing: Unmixing) -> list[tuple[str, str]]:
    """What stands at the top: a name and a value each."""
    scene = unmixing.scene
    assert scene is not None
    rows, columns = scene.shape
    degrees = np.degrees(unmixing.angles)
    pixels = f"{rows} × {columns}"
    if len(scene) < rows * columns:
        pixels += f", {len(scene):,} with data"
    facts = [
        ("pixels", pixels),
        ("bands", str(len(scene.bands))),
        ("endmembers", str(len(unmixing.endmembers))),
        ("constraint", unmixing.constraint),
        ("relative error", f"{100 * unmixing.relative_error:.3g} %"),
        ("median angle", f"{np.median(degrees):.3g}°"),
    ]
    if unmixing.extraction is not None:
        facts.insert(3, ("picked by", unmixing.extraction.method))
        if unmixing.extraction.n_sampled is not None:
            sampled = f"{unmixing.extraction.n_sampled:,} evenly spaced pixels"
            facts.insert(4, ("picked from", sampled))
    if scene.scale != 1:
        facts.insert(2, ("scene divided by", f"{scene.scale:g}"))
    return facts


def _rows(unmixing: Unmixing, matches: Sequence[Sequence[Match]]) -> list[dict[str, str]]:
    """The table of the endmembers."""
    scene, picked = unmixing.scene, unmixing.extraction
    assert scene is not None
    most = np.bincount(unmixing.dominant, minlength=len(unmixing.names))
    rows = []
    for k, name in enumerate(unmixing.names):
        shares = unmixing.abundances[:, k]
        row = {
            "name": name,
            "mean": f"{shares.mean():.3g}",
            "largest": f"{shares.max():.3g}",
            "present": f"{100 * np.count_nonzero(shares) / len(shares):.1f} %",
            "dominant": f"{100 * most[k] / len(shares):.1f} %",
        }
        if picked is not None:
            place = scene.places[picked.indices[k]]
            row["pixel"] = f"{place[0]}, {place[1]}"
            if picked.averaged_over is not None:
                row["averaged"] = str(picked.averaged_over[k])
        if matches:
            told = (f"{near.name} {near.degrees:.1f}°" for near in matches[k])
            row["matches"] = ", ".join(text.replace(" ", NO_BREAK) for text in told)
        rows.append(row)
    return rows


def _charts(story: Story) -> dict[str, Any]:
    charts = {}
    if story.number is not None:
        charts["number"] = _number_chart(story.number).as_data()
    if story.convergence is not None:
        charts["convergence"] = _convergence_chart(story.convergence).as_data()
    return charts


def _number_chart(number: NumberEstimate) -> Chart:
    """The curve over the dimensions above the noise and a few more, and the number taken."""
    shown = min(max(number.dimensions, number.number) + 3, MOST_DIMENSIONS)
    left = 100 * number.curve[:shown]
    left = left[left > left[0] * SMALLEST_LEFT]
    shown = len(left)
    chart = Chart(
        "What is left of the pixels after so many dimensions",
        Axis("dimensions"),
        Axis("left, % of a pixel", log=True),
    )
    chart.lines.append(Series("left above the noise", np.arange(1, shown + 1), left, 0))
    taken = np.full(2, number.number)
    ends = np.array([left.min(), left.max()])
    chart.lines.append(Series(f"{number.number} taken", taken, ends, 1))
    return chart


def _convergence_chart(convergence: Convergence) -> Chart:
    chart = Chart(
        "Convergence",
        Axis("iteration", log=True),
        Axis("distance to the best fit, relative to the start", log=True, low=convergence.lowest),
    )
    for k, (name, values) in enumerate(convergence.curves.items()):
        chart.lines.append(Series(name, convergence.grid, values, k))
    return chart
