"""The page of an unmixed scene: maps, spectra, errors, convergence, and every pixel to click on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.base.archive import whole_file
from pursuit.base.errors import InputError
from pursuit.report.charts import Axis, Chart, Line, numbers
from pursuit.report.packing import code_spectra, pack, pack_map
from pursuit.report.page import render

if TYPE_CHECKING:
    from pursuit.base.validation import Array
    from pursuit.unmixing import Extraction, Scene, Unmixing
    from pursuit.unmixing.convergence import Convergence

BUDGET = 3_300_000
"""Bytes for maps and spectra before base 64, which makes them a third longer."""
LEAST_FOR_SPECTRA = 400_000
"""Bytes that the spectra get in any case."""


@dataclass(frozen=True)
class Story:
    """What the page tells beside the numbers of the unmixing.

    Attributes
    ----------
    names
        Of the endmembers; numbered where there are none.
    extraction
        The pixels that were picked as endmembers, if they were.
    convergence
        Curves of the methods, if they were run.
    command
        What made the page.
    """

    names: Sequence[str] = ()
    extraction: Extraction | None = None
    convergence: Convergence | None = None
    command: str = ""
    notes: Sequence[str] = field(default_factory=tuple)


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
    names = _names(story.names, len(unmixing.endmembers))
    order = _reading_order(unmixing.scene)
    data = _data(unmixing, names, order)
    left = max(LEAST_FOR_SPECTRA, BUDGET - _packed_bytes(data))
    spectra = code_spectra(unmixing.scene.pixels[order], left)
    data["spectra"] = spectra.packed()
    if story.convergence is not None:
        data["convergence"] = _convergence_chart(story.convergence).as_data()
    return render(
        "scene.html",
        ("maps.js", "scene.js"),
        data,
        scene=unmixing.scene,
        unmixing=unmixing,
        facts=_facts(unmixing),
        rows=_rows(unmixing, names, story.extraction),
        convergence=story.convergence,
        spectra_error=spectra.error,
        command=story.command,
        notes=story.notes,
    )


def _names(given: Sequence[str], r: int) -> list[str]:
    if not given:
        return [f"Endmember {k + 1}" for k in range(r)]
    if len(given) != r:
        raise InputError(f"names: expected {r}, one for each endmember, got {len(given)}")
    return [str(name) for name in given]


def _reading_order(scene: Scene) -> Array:
    """The pixels row by row of the picture, each row from left to right."""
    order: Array = np.lexsort((scene.places[:, 1], scene.places[:, 0]))
    return order


def _data(unmixing: Unmixing, names: list[str], order: Array) -> dict[str, Any]:
    scene = unmixing.scene
    assert scene is not None
    waves = scene.bands if scene.wavelengths is None else scene.wavelengths
    unit = f" ({scene.wavelength_unit})" if scene.wavelength_unit else ""
    abundances = unmixing.abundances[order]
    return {
        "name": scene.name,
        "shape": list(scene.shape),
        "mask": pack(np.packbits(scene.mask)),
        "bands": scene.bands.tolist(),
        "waves": numbers(waves),
        "axis": "band" if scene.wavelengths is None else f"wavelength{unit}",
        "names": names,
        "endmembers": pack(unmixing.endmembers.astype(np.float32)),
        "abundances": [pack_map(abundances[:, k], low=0.0) for k in range(len(names))],
        "residuals": pack_map(unmixing.residual_norms[order], low=0.0),
        "angles": pack_map(np.degrees(unmixing.angles[order]), low=0.0),
    }


def _packed_bytes(data: dict[str, Any]) -> int:
    maps = [data["residuals"], data["angles"], *data["abundances"]]
    return sum(3 * len(packed["levels"]["data"]) // 4 for packed in maps)


def _facts(unmixing: Unmixing) -> list[tuple[str, str]]:
    """What stands at the top: a name and a value each."""
    scene = unmixing.scene
    assert scene is not None
    rows, columns = scene.shape
    degrees = np.degrees(unmixing.angles)
    pixels = f"{rows} × {columns}"
    if len(scene) < rows * columns:
        pixels += f", {len(scene):,} with data"
    return [
        ("pixels", pixels),
        ("bands", str(len(scene.bands))),
        ("endmembers", str(len(unmixing.endmembers))),
        ("constraint", unmixing.constraint),
        ("relative error", f"{100 * unmixing.relative_error:.3g} %"),
        ("median angle", f"{np.median(degrees):.3g}°"),
    ]


def _rows(
    unmixing: Unmixing, names: list[str], extraction: Extraction | None
) -> list[dict[str, str]]:
    """The table of the endmembers."""
    scene = unmixing.scene
    assert scene is not None
    most = np.bincount(unmixing.dominant, minlength=len(names))
    rows = []
    for k, name in enumerate(names):
        shares = unmixing.abundances[:, k]
        row = {
            "name": name,
            "mean": f"{shares.mean():.3g}",
            "largest": f"{shares.max():.3g}",
            "present": f"{100 * np.count_nonzero(shares) / len(shares):.1f} %",
            "dominant": f"{100 * most[k] / len(shares):.1f} %",
        }
        if extraction is not None:
            place = scene.places[extraction.indices[k]]
            row["pixel"] = f"{place[0]}, {place[1]}"
        rows.append(row)
    return rows


def _convergence_chart(convergence: Convergence) -> Chart:
    chart = Chart(
        "Convergence",
        Axis("iteration", log=True),
        Axis("distance to the best fit, relative to the start", log=True, low=convergence.lowest),
    )
    for k, (name, values) in enumerate(convergence.curves.items()):
        chart.lines.append(Line(name, convergence.grid, values, k))
    return chart
