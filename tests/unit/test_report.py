"""Pages: what is packed comes back, what is written in them is text and nothing else."""

import base64
import json
import re
import sys
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pursuit.base.errors import InputError, MissingExtra
from pursuit.report import page
from pursuit.report.charts import Axis, Chart, Series
from pursuit.report.packing import LEVELS, CodedSpectra, code_spectra, pack, pack_map
from pursuit.report.quicklook import quicklook
from pursuit.report.unmixing import Story, unmixing_html, unmixing_page
from pursuit.unmixing import Scene, h2nmf, unmix
from pursuit.unmixing.convergence import convergence
from pursuit.unmixing.libraries import Match

RNG = np.random.default_rng(0)


def unpacked(packed):
    """What the page's script makes of a packed array."""
    dtype = np.dtype(packed["type"]).newbyteorder("<")
    planes = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), np.uint8)
    entries = planes.reshape(dtype.itemsize, -1).T
    return np.ascontiguousarray(entries).view(dtype).reshape(packed["shape"])


def decoded(spectra):
    """What the page's script makes of coded spectra."""
    folded = spectra.scores.astype(np.int64)
    scores = np.where(folded % 2, -(folded + 1) // 2, folded // 2)
    return spectra.mean + spectra.step * scores.T @ spectra.basis


def scene(pixels, shape, **more):
    places = np.argwhere(np.ones(shape, bool))
    return Scene(pixels, places, shape, np.arange(1, pixels.shape[1] + 1), **more)


@pytest.fixture(scope="module")
def unmixing():
    pixels = RNG.dirichlet(np.full(3, 0.4), 60) @ RNG.uniform(0, 1, (3, 8)) + 0.01
    return unmix(scene(pixels, (10, 6), name="</script><b>scene"), h2nmf(pixels, 3))


# Packing


@given(
    dtype=st.sampled_from(["u1", "u2", "i2", "f4"]),
    shape=st.lists(st.integers(1, 7), min_size=1, max_size=3),
)
def test_packed_arrays_come_back(dtype, shape):
    array = np.random.default_rng(1).integers(0, 100, shape).astype(dtype)
    np.testing.assert_array_equal(unpacked(pack(array)), array)


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e6))
def test_maps_come_back_to_half_a_step(low, width):
    values = low + width * np.random.default_rng(2).random(50)
    packed = pack_map(values)
    back = packed["low"] + packed["step"] * unpacked(packed["levels"])
    assert np.abs(back - values).max() <= 0.5001 * np.ptp(values) / LEVELS
    assert pack_map(values, low=low - width)["low"] == low - width


def test_a_constant_map_comes_back():
    packed = pack_map(np.full(5, 3.5))
    np.testing.assert_array_equal(packed["low"] + packed["step"] * unpacked(packed["levels"]), 3.5)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_spectra_with_room_come_back_to_the_eye(scale):
    pixels = scale * RNG.random((300, 40))
    coded = code_spectra(pixels, 10**9)
    back = decoded(coded)
    lost = np.linalg.norm(back - pixels) / np.linalg.norm(pixels)
    assert lost < 1e-3
    assert coded.error == pytest.approx(lost, rel=0.05)


def test_spectra_fit_their_budget_and_say_what_they_lost():
    smooth = RNG.random((4000, 3)) @ RNG.random((3, 60)) + 0.02 * RNG.standard_normal((4000, 60))
    sizes, errors = [], []
    for budget in (20_000, 60_000, 200_000):
        coded = code_spectra(smooth, budget)
        sizes.append(len(zlib.decompress(base64.b64decode(pack(coded.scores)["data"]))))
        assert len(base64.b64decode(pack(coded.scores)["data"])) <= budget
        lost = np.linalg.norm(decoded(coded) - smooth) / np.linalg.norm(smooth)
        assert coded.error == pytest.approx(lost, rel=0.01)
        errors.append(lost)
    assert errors[0] > errors[1] > errors[2]
    assert errors[0] < 0.05  # the three directions that matter are kept


def test_equal_spectra_need_no_scores():
    coded = code_spectra(np.full((7, 5), 3.0), 1000)
    assert coded.scores.shape == (0, 7)
    assert coded.error == 0
    np.testing.assert_allclose(coded.mean, 3)


# The colour picture


@pytest.mark.parametrize(
    ("waves", "unit", "caption"),
    [
        (
            np.linspace(400, 2400, 41),
            "nm",
            "Natural colours: red 650 nm, green 550 nm, blue 450 nm",
        ),
        (np.linspace(0.4, 2.4, 41), "Micrometers", "Natural colours: red 650 nm"),
        (np.linspace(0.4, 2.4, 41), None, "Natural colours: red 650 nm"),
        (np.linspace(1000, 2500, 41), "nm", "False colours: bands 35, 21, 7 as red, green, blue"),
        (np.linspace(400, 2400, 41), "Wavenumber", "False colours"),
        (None, None, "False colours: bands 35, 21, 7 as red, green, blue"),
    ],
)
def test_the_colour_picture_says_what_its_colours_are(waves, unit, caption):
    made = scene(RNG.random((60, 41)), (10, 6), wavelengths=waves, wavelength_unit=unit)
    found = quicklook(made)
    assert found.caption.startswith(caption)
    assert found.rgb.shape == (60, 3)
    assert found.rgb.min() == 0
    assert found.rgb.max() == 255


@pytest.mark.parametrize("bands", [1, 2, 3])
def test_a_scene_of_few_bands_has_a_colour_picture_too(bands):
    assert quicklook(scene(RNG.random((60, bands)), (10, 6))).rgb.shape == (60, 3)
    assert (quicklook(scene(np.ones((60, bands)), (10, 6))).rgb == 0).all()


def test_colours_come_back_from_their_differences():
    found = quicklook(scene(RNG.random((60, 30)), (10, 6)))
    order = RNG.permutation(60)
    packed = found.packed(order)
    back = np.cumsum(unpacked(packed["rgb"]), axis=1, dtype=np.uint8)
    np.testing.assert_array_equal(back.T, found.rgb[order])


# Text


@given(st.text())
def test_no_text_can_end_the_script_it_stands_in(text):
    written = page.script_json({"name": text})
    assert not re.search("[<>&\u2028\u2029]", written)
    assert json.loads(written) == {"name": text}


def test_names_are_text_and_not_markup(unmixing):
    names = ["<img src=x onerror=alert(1)>", "a&b", '"quoted"']
    named = replace(unmixing, names=tuple(names))
    matches = [[Match("<i>tar</i>", 3.0)]] * 3
    html = unmixing_html(named, Story(None, matches, command="pursuit unmix '<b>'"))
    assert "<i>" not in html
    assert "<img" not in html
    assert "<b>" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert html.count("</script>") == 2
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])
    assert data["names"] == names
    assert data["name"] == "</script><b>scene"


def test_the_page_asks_for_nothing_from_outside(unmixing):
    curves = convergence(unmixing.scene.pixels, unmixing.endmembers)
    html = unmixing_html(unmixing, Story(convergence=curves))
    assert re.findall(r'(?:src|href)="([^"]*)"', html) == ["data:,", "#main"]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", html)
    assert "default-src 'none'" in html


@pytest.mark.filterwarnings("ignore:the fit is bad")
def test_maps_and_spectra_on_the_page_are_in_reading_order(tmp_path):
    rows, columns = 4, 3
    places = np.argwhere(np.ones((columns, rows), bool))[:, ::-1]  # column by column, as MATLAB
    places = np.delete(places, 5, axis=0)  # and one hole
    pixels = RNG.random((11, 6))
    found = unmix(Scene(pixels, places, (rows, columns), np.arange(6)), pixels[:2])
    unmixing_page(found, tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])
    mask = np.unpackbits(unpacked(data["mask"]))[: rows * columns].reshape(rows, columns)
    np.testing.assert_array_equal(mask, found.scene.mask)
    levels = data["abundances"][1]
    values = levels["low"] + levels["step"] * unpacked(levels["levels"])
    expected = found.maps()[:, :, 1]
    np.testing.assert_allclose(values, expected[np.isfinite(expected)], atol=levels["step"])
    parts = data["spectra"]
    mean, basis, scores = (unpacked(parts[name]) for name in ("mean", "basis", "scores"))
    spectra = decoded(CodedSpectra(mean, basis, parts["step"], scores, 0.0))
    cube = found.scene.image(pixels)
    np.testing.assert_allclose(spectra, cube[np.isfinite(expected)], atol=2e-3)


def test_charts_write_none_for_what_is_not_a_number():
    line = Series("a", np.arange(3), np.array([1.0, np.nan, np.inf]), 0)
    data = Chart("t", Axis("x"), Axis("y", log=True), [line]).as_data()
    assert data["lines"][0]["y"] == [1.0, None, None]
    assert json.loads(page.script_json(data)) == data


# Refusals


def test_a_page_needs_pixels_with_places(unmixing):
    with pytest.raises(InputError, match="expected one of a Scene"):
        unmixing_html(unmix(unmixing.scene.pixels, unmixing.endmembers))


def test_a_page_without_jinja2_names_the_extra(unmixing, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr(page, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"needs the 'report' extra: .*pursuit\[report\]"):
        unmixing_html(unmixing)
