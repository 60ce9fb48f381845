"""The pages in a real browser: they load, they answer to clicks and keys, they have no errors."""

import time
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from browser import chromium

from pursuit.files.data import find
from pursuit.report import reproduction_page, unmixing_page
from pursuit.report.unmixing import Story
from pursuit.unmixing import Scene, estimate_number, pick, read_scene, unmix
from pursuit.unmixing.convergence import convergence
from pursuit.unmixing.diagnosis import complaint

MEGABYTE = 10**6


@pytest.fixture(scope="module")
def browser():
    binary = chromium.find()
    if binary is None:
        pytest.skip("no Chromium is installed: the pages are not looked at")
    try:
        found = chromium.Chromium(binary)
        found.call("Browser.getVersion")
    except (OSError, RuntimeError) as error:
        pytest.skip(f"Chromium is installed but does not start here: {error}")
    yield found
    found.close()


def story(unmixing):
    curves = convergence(unmixing.scene.pixels, unmixing.endmembers)
    number = estimate_number(unmixing.scene)
    return Story(number, convergence=curves, command="pursuit unmix scene.npy")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """A page of a small scene, 24 × 30 with a corner without data, and its unmixing."""
    rng = np.random.default_rng(0)
    places = np.argwhere(~np.pad(np.ones((4, 5), bool), ((0, 20), (0, 25))))
    waves = np.linspace(400, 2400, 50)
    pure = np.exp(-(((waves - rng.uniform(500, 2200, (4, 1))) / 400) ** 2))
    pixels = rng.dirichlet(np.full(4, 0.3), len(places)) @ pure
    pixels += 0.01 * rng.standard_normal(pixels.shape)
    bands = np.concatenate([np.arange(1, 31), np.arange(35, 55)])
    scene = Scene(pixels, places, (24, 30), bands, waves, "nm", "simulated <scene>")
    names = ["<b>roof</b>", "grass", "tree", "a material with quite a long name"]
    unmixing = unmix(scene, pick(scene, 4), names=names)
    path = tmp_path_factory.mktemp("simulated") / "page.html"
    unmixing_page(unmixing, path, story(unmixing))
    return path, unmixing


@pytest.fixture(scope="module")
def urban(tmp_path_factory):
    path = find("urban77/urban77.npz")
    if path is None:
        pytest.skip("urban77/urban77.npz is not in $PURSUIT_DATA")
    scene = read_scene(path)
    unmixing = unmix(scene, pick(scene, 6))
    page = tmp_path_factory.mktemp("urban") / "page.html"
    unmixing_page(unmixing, page, story(unmixing))
    return page


@pytest.fixture
def page(browser, simulated):
    found = browser.open(simulated[0])
    yield found
    assert found.problems() == []
    assert found.requests() == [simulated[0].resolve().as_uri()]
    found.close()


SPECTRUM = "document.querySelector('#spectrum .line').getAttribute('d')"
SUMMARY = "document.getElementById('summary').textContent"
COLOURS = """(() => {
  const counts = (canvas) => {
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3]) seen.add(data.slice(i, i + 3).join());
    return seen.size;
  };
  return [...document.querySelectorAll('.map canvas')].map(counts);
})()"""


def test_every_map_of_the_page_shows_something(page):
    colours = page.run(COLOURS)
    assert len(colours) == 1 + 1 + 4 + 2
    assert min(colours) > 20


def test_a_click_shows_the_spectrum_the_fit_and_the_shares_of_that_pixel(page, simulated):
    unmixing = simulated[1]
    scene = unmixing.scene
    before = page.run(SPECTRUM)
    page.click("#maps figure:nth-child(3) canvas", (20 + 0.5) / 30, (15 + 0.5) / 24)
    assert page.run(SPECTRUM) != before
    assert page.run(SUMMARY).startswith("Row 15, column 20: most of ")
    pixel = int(np.flatnonzero((scene.places == [15, 20]).all(axis=1))[0])
    index = page.run("window.page.picture.at(15, 20)")
    measured = page.run(f"Array.from(window.page.measured({index}))")
    np.testing.assert_allclose(measured, scene.pixels[pixel], atol=2e-3)
    fitted = page.run(f"Array.from(window.page.fitted({index}))")
    np.testing.assert_allclose(fitted, unmixing.fit(pixel), atol=2e-3)
    shares = page.run("[...document.querySelectorAll('#shares output')].map(o => o.textContent)")
    np.testing.assert_allclose([float(s) for s in shares], unmixing.abundances[pixel], atol=2e-3)
    marks = page.run("[...document.querySelectorAll('.mark')].map(m => m.style.left)")
    assert len(set(marks)) == 1


def test_a_pixel_without_data_says_so(page):
    page.click("#bigmap canvas", 0.5 / 30, 0.5 / 24)
    assert page.run(SUMMARY) == "Row 0, column 0: no data."
    assert page.run("document.querySelector('#spectrum .line')") is None
    page.click("#bigmap canvas", 0.9, 0.9)
    assert page.run(SPECTRUM)


def test_the_keyboard_alone_reaches_a_map_and_walks_on_it(page):
    for _ in range(20):
        page.press("Tab")
        if page.run("document.activeElement.className") == "map":
            break
    before = page.run("[Number(row.value), Number(column.value)]")
    page.press("ArrowRight")
    page.press("ArrowDown", modifiers=8)
    page.press("ArrowUp")
    assert page.run("[Number(row.value), Number(column.value)]") == [before[0] + 9, before[1] + 1]
    for _ in range(40):
        page.press("ArrowRight")
    assert page.run("Number(column.value)") == 29
    assert page.run(SUMMARY).startswith(f"Row {before[0] + 9}, column 29")


def test_row_and_column_can_be_typed(page):
    page.run("row.value = 7; column.value = 9; row.dispatchEvent(new Event('change'))")
    assert page.run(SUMMARY).startswith("Row 7, column 9:")
    page.run("row.value = 700; row.dispatchEvent(new Event('change'))")
    assert page.run(SUMMARY).startswith("Row 23, column 9:")


def test_the_large_map_shows_what_is_chosen(page):
    picture = "document.querySelector('#bigmap canvas').toDataURL()"
    pictures = [page.run(picture)]
    for k in range(1, 8):
        show_layer(page, k)
        pictures.append(page.run(picture))
    assert len(set(pictures)) == 8


def show_layer(page, k):
    page.run(f"layer.value = '{k}'; layer.dispatchEvent(new Event('change'))")


# The colour picture, zoom, images to keep, warnings

BIG = "document.querySelector('#bigmap canvas')"


def test_the_colour_picture_is_that_of_the_wavelengths(page, simulated):
    scene = simulated[1].scene
    show_layer(page, 1)
    caption = "Natural colours: red 645 nm, green 563 nm, blue 441 nm"
    assert page.run("document.querySelector('#scale').textContent") == caption
    assert page.run("document.querySelector('#maps .caption').textContent") == caption
    shown = page.run(f"[...{BIG}.getContext('2d').getImageData(0, 0, 30, 24).data]")
    shown = np.array(shown).reshape(24, 30, 4)
    for channel, nanometres in enumerate((645, 563, 441)):
        near = np.abs(scene.wavelengths - nanometres) < 1
        values = scene.pixels[:, near].mean(axis=1)
        low, high = np.percentile(values, (2, 98))
        expected = np.clip(255 * (values - low) / (high - low), 0, 255).round()
        np.testing.assert_array_equal(shown[*scene.places.T, channel], expected)
    np.testing.assert_array_equal(shown[:4, :5, 3], 0)  # no data: nothing drawn


def test_the_large_map_zooms_by_buttons_keys_and_wheel_and_is_moved_by_dragging(page):
    width = "document.querySelector('#bigmap .map').getBoundingClientRect().width"
    place = "(w => [w.scrollLeft, w.scrollTop])(document.querySelector('.window'))"
    full = page.run(width)
    assert page.run("fit.disabled && farther.disabled && !nearer.disabled")
    page.click("#nearer")
    page.click("#nearer")
    assert page.run(width) == pytest.approx(2.25 * full, rel=0.01)
    assert page.run("zoom.textContent") == "2.25×"
    page.run("document.querySelector('#bigmap .map').focus({preventScroll: true})")
    page.press("-")
    assert page.run("zoom.textContent") == "1.5×"
    page.press("+")
    before = page.run(place)
    chosen = page.run("[row.value, column.value]")
    page.drag("#bigmap .window", (0.5, 0.5), (0.3, 0.4))
    after = page.run(place)
    assert after[0] > before[0] + 50
    assert after[1] > before[1] + 20
    assert page.run("[row.value, column.value]") == chosen  # dragging chose nothing
    page.click("#bigmap .window", 0.25, 0.25)
    assert page.run("[row.value, column.value]") != chosen
    page.press("0")
    assert page.run(width) == pytest.approx(full, rel=0.01)
    page.wheel("#bigmap .window", 0.5, 0.5, -100, control=True)
    page.wait("page.zoom.factor > 1")


def test_a_zoomed_click_chooses_the_pixel_under_it(page):
    for _ in range(4):
        page.click("#nearer")
    at = page.run(
        "(() => { const w = document.querySelector('.window').getBoundingClientRect(),"
        f" c = {BIG}.getBoundingClientRect(); return [(w.left + 0.3 * w.width - c.left) / c.width,"
        " (w.top + 0.6 * w.height - c.top) / c.height]; })()"
    )
    page.click("#bigmap .window", 0.3, 0.6)
    found = page.run("[Number(column.value), Number(row.value)]")
    assert found == [int(at[0] * 30), int(at[1] * 24)]


def test_walking_on_a_zoomed_map_keeps_the_chosen_pixel_in_sight(page):
    page.run("page.zoom.to(6); page.choose(12, 15)")
    page.run("document.querySelector('#bigmap .map').focus({preventScroll: true})")
    for _ in range(3):
        page.press("ArrowRight", modifiers=8)
    assert page.run("Number(column.value)") == 29
    inside = page.run(
        "(() => { const m = document.querySelector('#bigmap .mark').getBoundingClientRect(),"
        " w = document.querySelector('.window').getBoundingClientRect();"
        " return m.left >= w.left - 9 && m.right <= w.right + 9; })()"
    )
    assert inside


@pytest.mark.parametrize(
    ("layer", "name"),
    [(0, "mixture-of-all"), (1, "colour-picture"), (3, "grass"), (7, "spectral-angle")],
)
def test_an_image_of_the_map_can_be_kept(browser, page, tmp_path, layer, name):
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    show_layer(page, layer)
    page.click("#save")
    expected = tmp_path / f"simulated-scene-{name}.png"
    end = time.monotonic() + 20
    while not expected.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert expected.read_bytes().startswith(b"\x89PNG")
    image = plt.imread(expected)
    scale = round(1000 / 30)
    assert image.shape[1] == 30 * scale
    shown = page.run(f"[...{BIG}.getContext('2d').getImageData(0, 0, 30, 24).data]")
    shown = np.array(shown).reshape(24, 30, 4)
    middle = image[48 + scale // 2 :: scale, scale // 2 :: scale][:24, :30, :3]
    drawn = shown[:, :, 3] > 0
    np.testing.assert_allclose(255 * middle[drawn], shown[drawn][:, :3], atol=1)


def test_a_bad_fit_is_warned_of_at_the_top(browser, simulated, tmp_path):
    assert "fit is bad" not in simulated[0].read_text(encoding="utf-8")
    unmixing = simulated[1]
    pixels, too_bright = unmixing.scene.pixels, 100 * unmixing.endmembers
    said = complaint(pixels, too_bright, "sum-to-one", 0.9, unmixing.scene)
    unmixing_page(replace(unmixing, warning=said), tmp_path / "page.html")
    page = browser.open(tmp_path / "page.html")
    said = page.run("document.querySelector('header .warning').textContent")
    assert said.startswith("Warning: the fit is bad: the mean residual is")
    assert "scene and endmembers have other scales; divide the scene by about 0.0" in said
    page.close()


@pytest.mark.filterwarnings("ignore:the fit is bad")
@pytest.mark.parametrize("dark", [False, True])
def test_twenty_endmembers_have_twenty_colours_that_can_be_told_apart(browser, tmp_path, dark):
    rng = np.random.default_rng(0)
    pixels = rng.random((60, 30))
    scene = Scene(pixels, np.argwhere(np.ones((6, 10))), (6, 10), np.arange(1, 31))
    unmixing_page(unmix(scene, pixels[:20]), tmp_path / "page.html")
    page = browser.open(tmp_path / "page.html", dark=dark)
    for _ in range(2):  # in one theme, and in the other after the button
        colours = page.run("Looks.values()")
        assert len(set(colours)) == 20
        lab = np.array([oklab(colour) for colour in colours])
        apart = np.linalg.norm(lab[:, None] - lab, axis=2)[~np.eye(20, dtype=bool)]
        assert apart.min() > 0.07
        style = "getComputedStyle(document.documentElement)"
        for ground in page.run(f"['--bg', '--card'].map(n => {style}.getPropertyValue(n).trim())"):
            for colour in colours:
                low, high = sorted(map(luminance, (ground, colour)))
                assert (high + 0.05) / (low + 0.05) >= 3
        swatches = "[...document.querySelectorAll('#maps .swatch')]"
        painted = page.run(f"{swatches}.map(s => getComputedStyle(s).backgroundColor)")
        assert len(set(painted)) == 20
        page.click("#theme")
    page.run("localStorage.clear()")
    assert page.problems() == []
    page.close()


def oklab(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    cones = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.63]])
    axes = [[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    return np.array(axes) @ np.cbrt(cones @ linear)


def test_shade_has_a_map_and_the_contest_and_the_number_are_told(browser, simulated, tmp_path):
    unmixing = simulated[1]
    picked = pick(unmixing.scene, 4)
    shaded = unmix(unmixing.scene, picked, "sum-at-most-one")
    unmixing_page(shaded, tmp_path / "page.html", Story(estimate_number(unmixing.scene)))
    page = browser.open(tmp_path / "page.html")
    captions = page.run("[...document.querySelectorAll('#maps figcaption')].map(c => c.innerText)")
    assert captions[-1].strip() == "Shade"
    shares = page.run("[Array.from(page.shade), page.abundances.map(a => Array.from(a))]")
    np.testing.assert_allclose(np.sum(shares[1], axis=0) + shares[0], 1, atol=3e-3)
    rows = page.run("[...document.querySelectorAll('.contest tbody tr')].map(r => r.innerText)")
    assert len(rows) == len(picked.contest)
    assert page.run("document.querySelectorAll('.contest .won').length") == 1
    assert page.run("document.querySelectorAll('#number .line').length") == 2
    assert page.run("document.getElementById('convergence')") is None
    assert page.run("document.getElementById('counted').textContent") == "counted from 0"
    assert page.problems() == []
    page.close()


def test_a_line_can_be_hidden_and_numbers_be_read(page):
    lines = "document.querySelectorAll('#endmembers .line').length"
    assert page.run(lines) == 4
    page.click("#endmembers .legend button:nth-child(2)")
    assert page.run(lines) == 3
    pressed = "document.querySelector('#endmembers .legend button:nth-child(2)').ariaPressed"
    assert page.run(pressed) == "false"
    page.click("#endmembers summary")
    page.wait("document.querySelectorAll('#endmembers tbody tr').length === 50")


def test_names_are_shown_as_written(page):
    assert page.run("document.title") == "simulated <scene>, unmixed"
    captions = page.run("[...document.querySelectorAll('#maps figcaption')].map(c => c.innerText)")
    assert [caption.strip() for caption in captions[:2]] == ["Colour picture", "<b>roof</b>"]
    assert page.run("document.querySelectorAll('main b').length") == 0


@pytest.mark.parametrize("dark", [False, True])
def test_the_theme_follows_the_system_until_the_button_is_pressed(browser, simulated, dark):
    page = browser.open(simulated[0], dark=dark)
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    first, second = ("dark", "light") if dark else ("light", "dark")
    assert page.run(scheme) == first
    page.click("#theme")
    assert page.run(scheme) == second
    page.click("#theme")
    assert page.run(scheme) == first
    page.run("localStorage.clear()")
    assert page.problems() == []
    page.close()


@pytest.mark.parametrize("dark", [False, True])
def test_text_is_told_from_its_background(browser, simulated, dark):
    """WCAG's contrast of 4.5 to 1 for text, and 3 to 1 for the lines of charts."""
    page = browser.open(simulated[0], dark=dark)
    names = ["ink", "soft", "accent", "good", "bad", *(f"look{k}" for k in range(8))]
    for ground in ("bg", "card"):
        for name in names:
            pair = page.run(
                f"['--{ground}', '--{name}'].map(n => getComputedStyle("
                "document.documentElement).getPropertyValue(n).trim())"
            )
            low, high = sorted(map(luminance, pair))
            least = 3 if name.startswith("look") else 4.5
            assert (high + 0.05) / (low + 0.05) >= least, (ground, name, pair)
    page.close()


def luminance(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_nothing_sticks_out_at_any_width(browser, simulated, width):
    page = browser.open(simulated[0], width=width, height=800, touch=width < 500)
    assert page.run("document.documentElement.scrollWidth") == width
    assert page.run("document.querySelector('#bigmap canvas').getBoundingClientRect().width") > 150
    page.resize(900, 800)
    page.wait("document.querySelector('#endmembers svg').viewBox.baseVal.width > 700")
    assert page.problems() == []
    page.close()


def test_everything_that_can_be_operated_has_a_name(page):
    nameless = page.run(
        "[...document.querySelectorAll('button, select, input, [tabindex]')]"
        ".filter(e => !(e.ariaLabel || e.textContent.trim() || (e.labels && e.labels.length)"
        " || e.getAttribute('aria-labelledby'))).map(e => e.outerHTML.slice(0, 80))"
    )
    assert nameless == []


def test_the_page_of_urban_is_small_and_sound(browser, urban):
    assert urban.stat().st_size < 5 * MEGABYTE
    page = browser.open(urban)
    assert page.problems() == []
    colours = page.run(COLOURS)
    assert len(colours) == 10
    assert min(colours) > 100
    before = page.run(SPECTRUM)
    page.click("#bigmap canvas", 0.1, 0.8)
    assert page.run(SPECTRUM) != before
    assert page.run("document.querySelectorAll('#convergence .line').length") == 5
    page.close()


# The reproduced experiments


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory):
    from pursuit.experiments import toy
    from pursuit.experiments.documents import Reproduction

    panels = toy.run(2, 60, 0, atoms=20, dimension=10)
    sensitivity = toy.sensitivity(2, atoms=20, dimension=10)
    run = Reproduction(panels, 0, [sensitivity], toy.observed_nu())
    path = tmp_path_factory.mktemp("reproduction") / "index.html"
    reproduction_page(run, path)
    return path, run


@pytest.mark.parametrize("width", [375, 1280])
def test_the_page_of_the_experiments_has_every_verdict_and_every_curve(
    browser, reproduction, width
):
    path, run = reproduction
    page = browser.open(path, width=width)
    assert page.problems() == []
    assert page.run("document.querySelectorAll('li span').length") == len(run.findings)
    assert page.run("document.querySelectorAll('.verdicts tbody tr').length") == 5
    curves = page.run("document.querySelectorAll('.curves .line').length")
    extra = sum(len(one.losses) for one in run.sensitivities) + len(run.nu_runs)
    assert curves == sum(len(panel.curves) for panel in run.panels) + extra
    assert page.run("document.documentElement.scrollWidth") == width
    first = page.run("document.querySelector('.curves .line').getAttribute('d')")
    page.run("against.value = '1'; against.dispatchEvent(new Event('change'))")
    assert page.run("document.querySelector('.curves .line').getAttribute('d')") != first
    page.click(".findings summary")
    page.wait("document.querySelector('.findings').open")
    columns = page.run("getComputedStyle(document.querySelector('.readings')).gridTemplateColumns")
    assert len(columns.split()) == (1 if width == 375 else 2)  # two readings of L side by side
    page.close()
