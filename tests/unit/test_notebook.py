"""What a notebook shows: figures, tables with curves, a bar without widgets."""

import re
import tempfile
from xml.etree import ElementTree

import numpy as np
import page_examples
import pytest

import pursuit
from pursuit.base import html, progress
from pursuit.unmixing import unmix

RNG = np.random.default_rng(0)
ATOMS, SIGNALS = RNG.standard_normal((30, 10)), RNG.standard_normal((50, 10))
FIRST = """
import numpy as np
import pursuit
rng = np.random.default_rng(0)
f = pursuit.SquaredDistance(rng.standard_normal(10))
result = pursuit.solve(f, rng.standard_normal((30, 10)), max_iter=50, progress=True)
result
"""
SECOND = "result.plot()"
THIRD = """
t = np.arange(4000) / 4000
book = pursuit.decompose(np.cos(900 * t), 4000, max_atoms=5)
book.plot()
"""


def shown_things():
    """One of each class that a notebook shows as a table, and what its table must name."""
    result = pursuit.solve(pursuit.SquaredDistance(SIGNALS[0]), ATOMS, max_iter=20)
    codes = pursuit.encode(SIGNALS, ATOMS, n_nonzero=3)
    learned = pursuit.learn(SIGNALS, 12, n_nonzero=2)
    found = unmix(np.abs(SIGNALS), np.abs(ATOMS[:3]), names=("a<b", "c", "d"))
    book = pursuit.decompose(np.sin(np.arange(2000) / 9), 1000, max_atoms=5)
    return {
        "Result": (result, ["matching-pursuit", "MAX_ITER", "certificate"]),
        "Codes": (codes, ["50 signals over 30 atoms", "MAX_NONZERO"]),
        "Learned": (learned, ["12 atoms of 10 numbers", "online"]),
        "Unmixing": (found, ["50 pixels", "a<b", "mean abundance"]),
        "Book": (book, ["Book of 5 atoms", "frequency", "amplitude"]),
    }


@pytest.mark.filterwarnings("ignore:the fit is bad")
def test_every_kind_of_result_is_a_sound_table_with_a_curve_and_says_what_it_prints():
    for name, (thing, words) in shown_things().items():
        page = ElementTree.fromstring(thing._repr_html_())  # refuses what is not well formed
        text = " ".join(page.itertext())
        assert page.find(".//table") is not None, name
        assert all(word in text for word in words), name
        curve = page.find(".//polyline").get("points").split()
        places = np.array([[float(number) for number in place.split(",")] for place in curve])
        assert (places >= 0).all(), name
        assert (places <= [html.WIDTH, html.HEIGHT]).all(), name
        assert np.ptp(places[:, 1]) == pytest.approx(html.HEIGHT - 4, abs=0.2), name


def test_a_curve_falls_where_its_numbers_do_and_is_left_out_where_there_are_none():
    places = re.search(r'points="(.*?)"', html.sparkline(np.array([4.0, np.nan, 3.0, 1e-9])))[1]
    y = [float(place.split(",")[1]) for place in places.split()]
    assert y == sorted(y)  # downwards, as pixels go
    assert y[1] - y[0] < 0.1 * (y[2] - y[0])  # a logarithmic scale: 4 and 3 are close
    for few in ([], [1.0], [np.nan, 1.0, np.inf]):
        assert html.sparkline(np.array(few)) == ""
    level = html.sparkline(np.full(5, 2.0))
    assert level.count(f",{html.HEIGHT / 2:.1f}") == 5
    assert "nan" not in html.sparkline(np.array([-1.7e308, 1.7e308]))


class Line:
    """What IPython gives for a display: it keeps what was shown."""

    def __init__(self, first):
        self.shown = [first]

    def update(self, data, raw):
        assert raw
        self.shown.append(data)


def test_a_bar_of_text_fills_up_and_ends_with_what_was_done(monkeypatch):
    pytest.importorskip("IPython")
    lines = []

    def display(data, raw, display_id):
        lines.append(Line(data))
        return lines[-1]

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    with progress.bar("learn", 8, True) as bar:
        for done in range(1, 7):
            bar.update(done, "well")
    shown = lines[0].shown[-1]["text/plain"]
    assert shown.count("█") == int(6 / 8 * progress.CELLS)
    assert shown.count("░") == progress.CELLS - shown.count("█")
    assert "75%" in shown
    assert shown.endswith("well")
    with progress.bar("endless", None, True) as bar:
        bar.update(12)
    assert "12" in lines[1].shown[-1]["text/plain"]
    with progress.bar("short", 5) as bar:  # not asked for, and over before it would appear
        bar.update(5)
    assert len(lines) == 2


def executed(cells, folder):
    """The outputs of a notebook's cells; their kernel talks through sockets in a folder.

    Ports may be taken by others. The name of a socket has at most 107 letters.
    """
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    from nbformat.v4 import new_code_cell, new_notebook
    from traitlets.config import Config

    config = Config()
    config.KernelManager.transport = "ipc"
    config.KernelManager.ip = f"{folder}/kernel"
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(
        notebook,
        timeout=240,
        startup_timeout=240,
        kernel_name="python3",
        config=config,
        resources={"metadata": {"path": folder}},
    )
    client.execute()
    return [cell.outputs for cell in notebook.cells]


@pytest.fixture
def jupyter(tmp_path, monkeypatch):
    """Folders of a test's own for what notebooks keep."""
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("MPLBACKEND", raising=False)


@pytest.mark.usefixtures("jupyter")
@pytest.mark.filterwarnings("ignore")  # those of the machinery that runs notebooks
def test_an_executed_notebook_has_a_bar_a_table_and_each_picture_once():
    with tempfile.TemporaryDirectory() as folder:
        first, second, third = executed([FIRST, SECOND, THIRD], folder)
    texts = [out.data.get("text/plain", "") for out in first if "data" in out]
    assert any("█" in text and "matching-pursuit" in text for text in texts)
    tables = [out.data["text/html"] for out in first if "text/html" in out.get("data", {})]
    assert len(tables) == 1
    assert "<table>" in tables[0]
    assert "<polyline" in tables[0]
    assert [len(pictures(outputs)) for outputs in (second, third)] == [1, 1]


def pictures(outputs):
    return [out for out in outputs if "image/png" in out.get("data", {})]


@pytest.mark.usefixtures("jupyter")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("page", "counts"), [("index", [1, 1, 1, 1]), ("plotting", [1, 1])])
def test_a_page_run_as_a_notebook_shows_the_pictures_that_it_saves(page, counts):
    cells = [code for code, _ in page_examples.examples(f"{page_examples.PROJECT}/docs/{page}.md")]
    assert [cell.count("savefig(") for cell in cells] == counts
    with tempfile.TemporaryDirectory() as folder:
        assert [len(pictures(outputs)) for outputs in executed(cells, folder)] == counts
