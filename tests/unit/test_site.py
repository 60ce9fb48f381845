"""The pages: their Python runs, their links lead somewhere, every public name is described."""

import re
import shlex
import shutil
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import page_examples
import pytest
import scipy.io
import scipy.io.wavfile
from children import strict_python

import pursuit as library
from pursuit import methods
from pursuit.unmixing import unmix

PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"
PAGES = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
TESTED_APART = {
    "README.md": "unit/test_readme.py",
    "cluster.md": "unit/test_lazy_codes.py",
    "coming-from-scikit-learn.md": "unit/test_scikit_learn_page.py",
    "boosting.md": "unit/test_oracles_page.py",
    "oracles.md": "unit/test_oracles_page.py",
    "extend.md": "contracts/test_extend_page.py",
    "learning.md": "unit/test_learn.py",
    "sound.md": "unit/test_sound_page.py",
    "structured.md": "unit/test_structured_page.py",
    "torch.md": "tensors/test_page.py",
}
"""Pages whose examples have a test of their own, which also looks at what they find."""
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))
MADE = re.compile(r"(gallery|api)/|changelog\.md|.*\.png")
"""Links to what is made while the site is built, where they are checked by tools/links.py."""


def tool(name):
    spec = spec_from_file_location(name, PROJECT / "tools" / f"{name}.py")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


pages, links, widths = tool("pages"), tool("links"), tool("widths")
chromium = widths.chromium


def fenced(path, language):
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def scene_file(folder):
    """What docs/scenes.md calls scene.hdr."""
    envi = pytest.importorskip("spectral.io.envi", reason="the extra scenes is not installed")
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(6, 0.1), 400)
    cube = (shares @ rng.random((6, 20))).reshape(20, 20, 20)
    envi.save_image(str(folder / "scene.hdr"), cube, interleave="bsq", dtype=np.float64)
    np.save(folder / "scene.npy", cube)


PREPARED = {"scenes.md": scene_file}
"""Files that a page speaks of as the reader's own."""


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_the_python_of_a_page_runs_from_top_to_bottom_and_prints_what_is_shown(
    page, tmp_path, monkeypatch
):
    if page.name in TESTED_APART:
        apart = PROJECT / "tests" / TESTED_APART[page.name]
        assert page.name in apart.read_text(encoding="utf-8")
        return
    monkeypatch.chdir(tmp_path)
    PREPARED.get(page.name, lambda folder: None)(tmp_path)
    page_examples.run(page)
    saved = set(pages.saved_pictures(page.read_text(encoding="utf-8")))
    assert {path.name for path in tmp_path.glob("*.png")} == saved


def test_what_a_page_saves_it_shows_and_the_site_draws():
    for name, code in pages.drawing_pages().items():
        text = (DOCS / name).read_text(encoding="utf-8")
        for picture in pages.saved_pictures(code):
            assert f"]({picture})" in text
    assert {"index.md", "plotting.md"} <= pages.drawing_pages().keys()


def commands(page):
    """The lines of a page that call the program, as words."""
    for block in fenced(page, "sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["pursuit"]:
                yield words[1:]


def test_every_command_and_option_of_the_pages_is_one_of_the_program(pursuit, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    told = {}
    for page, words in [(path, words) for path in PAGES for words in commands(path)]:
        command = "" if words[0].startswith("-") else words[0]
        if command not in told:
            code, told[command], _ = pursuit(*[command] * bool(command), "--help")
            assert code == 0, (page, words)
        for option in (word for word in words if re.match(r"--?[a-z]", word)):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", told[command]), (page, words)
    assert len(told) >= 7


NOT_RUN = ("--install-completion", "--scheduler", "--workers", "reproduce", "--help")
"""Words of commands that change a shell, need a cluster, take minutes, or are known from above."""
RUN = [
    (page.name, words)
    for page in PAGES
    for words in commands(page)
    if not any(word in words for word in NOT_RUN)
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What the pages call the reader's own: a scene in each format, signals, a sound, a photo."""
    folder = tmp_path_factory.mktemp("files")
    scene_file(folder)
    rasterio = pytest.importorskip("rasterio", reason="the extra scenes is not installed")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    rng = np.random.default_rng(0)
    cube = np.load(folder / "scene.npy")
    scipy.io.savemat(folder / "scene.mat", {"cube": cube})
    places = {"crs": "EPSG:32631", "transform": rasterio.Affine(30, 0, 500_000, 0, -30, 4_600_000)}
    numbers = {"width": 20, "height": 20, "count": 20, "dtype": "float64"}
    with rasterio.open(folder / "scene.tif", "w", driver="GTiff", **numbers, **places) as file:
        file.write(np.moveaxis(cube, -1, 0))
    spectra = rng.random((9, 20))
    unmix(cube.reshape(-1, 20), spectra).save_endmembers(folder / "usgs.sli")
    np.save(folder / "signals.npy", rng.standard_normal((2000, 32)))
    wave = np.sin(np.arange(4000) / 9).astype("f4")
    scipy.io.wavfile.write(folder / "sound.wav", 8000, wave)
    stripes = 0.5 + 0.4 * np.sin(np.add.outer(np.arange(48), np.arange(48)) / 3)
    photo = stripes[..., None] + 0.05 * rng.standard_normal((48, 48, 3))
    pyplot.imsave(folder / "photo.png", photo.clip(0, 1))
    return folder


@pytest.mark.filterwarnings("ignore:the fit is bad")
def test_the_commands_of_a_page_run_one_after_the_other(pursuit, files, tmp_path, monkeypatch):
    assert len(RUN) >= 12
    for name in dict.fromkeys(name for name, _ in RUN):
        shutil.copytree(files, tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        for words in (words for where, words in RUN if where == name):
            code, _, err = pursuit(*words)
            assert code == 0, (name, words, err)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_link_of_a_page_leads_to_a_file(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path = target.partition("#")[0]
        assert MADE.fullmatch(path) or MADE.match(path) or (page.parent / path).exists(), target


def test_every_page_stands_in_the_navigation_once_and_is_linked_from_the_overview():
    written = sorted(path.name for path in DOCS.glob("*.md"))
    settings = (PROJECT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    placed = re.findall(r": ([a-z-]+\.md)$", settings, re.MULTILINE)
    assert sorted(placed) == sorted([*written, "changelog.md"])
    linked = set(re.findall(r"\]\(([a-z-]+\.md)", (DOCS / "overview.md").read_text("utf-8")))
    assert set(written) - linked == {"index.md", "overview.md", "benchmarks.md"}


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#there">b</a><img src="a.png"><p id="here">')
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1><a href="a.html#here">a</a>')
    assert list(links.broken(tmp_path)) == ["a.html: there is no a.png"]
    (tmp_path / "b.html").write_text('<a href="c.html">c</a><a href="https://example.org/">d</a>')
    assert len(list(links.broken(tmp_path))) == 3


def test_every_public_name_has_its_place_in_the_reference():
    named = [name for names in pages.reference().values() for name in names]
    public = set(library.__all__) - {"__version__"}
    loaded_when_asked_for = ("estimators", "torch")
    lazy = {f"{m}.{name}" for m in loaded_when_asked_for for name in getattr(library, m)._HOME}
    hidden = {"geometry.nu", "geometry.preconditioner"} | {
        f"unmixing.{name}" for name in ("h2nmf", "spa", "unmix", "vca")
    }
    assert sorted(named) == sorted(public | lazy | hidden)
    text = "\n".join(markdown for _, markdown in pages.reference_pages())
    described = set(re.findall(r"^::: pursuit\.(\S+)$", text, re.MULTILINE))
    assert (
        described == {f"{name}.{name.partition('.')[2]}" for name in hidden} | set(named) - hidden
    )
    assert set(re.findall(r"^\[\]\(\)\{ #pursuit\.(\S+) \}$", text, re.MULTILINE)) == hidden
    assert "pursuit.__version__" in text


def test_a_name_that_a_file_has_too_is_described_and_all_names_are_asked_for():
    promised = (PROJECT / "tests" / "unit" / "public_names.txt").read_text().splitlines()
    named = {name for name in promised if not name.startswith("method ")} - {"__version__"}
    asked = pages.public_names()
    assert named <= asked
    for name in promised:
        if name.startswith("method "):
            assert f"methods.{name.removeprefix('method ').replace('-', '_')}" in asked
    assert {"rates.theorem_3", "plots.trace", "testing.check_atoms", "geometry.nu"} <= asked


def test_a_public_name_without_a_place_in_the_built_site_is_refused(tmp_path):
    (tmp_path / "api").mkdir()
    places = "".join(f'<p id="pursuit.{name}">' for name in pages.public_names() - {"geometry.nu"})
    (tmp_path / "api" / "index.html").write_text(places)
    with pytest.raises(RuntimeError, match=r"in the reference: \['pursuit.geometry.nu'\]"):
        pages.on_post_build(SimpleNamespace(site_dir=tmp_path))
    (tmp_path / "api" / "more.html").write_text('<p id="pursuit.geometry.nu">')
    pages.on_post_build(SimpleNamespace(site_dir=tmp_path))


def test_names_in_tables_break_between_their_parts():
    def made(html):
        return pages.on_page_content(html, None, None, None)

    for text in ("<p><code>a.b_c</code></p>", "<table><td>a.b_c</td></table>"):
        assert made(text) == text
    row = "<p><code>a.b</code></p><table><td><code>a.b_c::d/e</code> <code>…, 1</code></td></table>"
    parts = "<code>a.<wbr>b_<wbr>c::<wbr>d/<wbr>e</code>"
    assert made(row) == row.replace("<code>a.b_c::d/e</code>", parts)


def test_warnings_stop_the_building_of_the_pages():
    recipe = (PROJECT / "Makefile").read_text(encoding="utf-8")
    (command,) = re.findall(r"mkdocs build ([^#\n]*)", recipe)
    assert command.split() == ["--strict"]  # with --quiet no warning is counted


def test_parameters_that_share_a_description_are_described_one_by_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "griffe", SimpleNamespace(Extension=object, Object=object))
    text = "Words\n\nParameters\n----------\nf\n    1.\na, b\n    Two\n    lines.\nc\n    3.\n"
    split = tool("parameters").one_by_one(text)
    assert split == text.replace("a, b\n", "a\n    Two\n    lines.\nb\n")


def test_every_method_is_described_on_a_page():
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    assert [name for name in methods.NAMED if f'`"{name}"`' not in text] == []


def test_the_pictures_of_benchmarks_are_those_of_the_tables(tmp_path):
    pytest.importorskip("matplotlib")
    text = (DOCS / "acceleration.md").read_text(encoding="utf-8")
    rows = pages.rows_of_table(text, "`accelerated`")
    assert {len(row) for row in rows} == {6}
    assert pages.to_a_millionth(rows[0][1]) == 35
    logistic = next(row for row in rows if row[0] == "logistic, w8a")
    assert np.isnan(pages.to_a_millionth(logistic[2]))  # LSQR does not apply
    for draw in pages.BENCHMARK_PICTURES.values():
        draw(tmp_path / "picture.png")
        assert (tmp_path / "picture.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_of_the_gallery_runs_and_draws(script, tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr(pages, "KEPT", tmp_path)
    code = script.read_text(encoding="utf-8")
    done = pages.run(script.stem, code, strict_python())
    assert len(done.pictures) == code.count("savefig(")
    assert min(picture.stat().st_size for picture in done.pictures) > 10_000
    page = pages.gallery_page(script.stem, done)
    assert page.startswith("# ")
    assert pages.without_docstring(code) in page


@pytest.mark.parametrize("page", [*DOCS.glob("*.md"), *SCRIPTS], ids=lambda path: path.name)
def test_a_line_of_code_is_seen_whole_beside_the_columns_of_links(page):
    text = page.read_text(encoding="utf-8")
    inside = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = "\n".join(inside).splitlines() if page.suffix == ".md" else text.splitlines()
    lines += re.findall(r"^ {4}(.*)$", text, re.MULTILINE)
    assert [line for line in lines if len(line) > 100] == []


def test_code_that_is_cut_off_is_found(tmp_path):
    found = chromium.find()
    if found is None:
        pytest.skip("no Chromium to look at pages with")
    style = "<style>pre { overflow: auto; font: 20px monospace } body { margin: 0 }</style>"
    lines = {"good": "x" * 20, "wide": "x" * 200}
    for name, line in lines.items():
        page = f"{style}<div class=md-content><pre>{line}</pre></div>"
        (tmp_path / f"{name}.html").write_text(f"<!doctype html>{page}")
    browser = chromium.Chromium(found)
    try:
        assert list(widths.cut_off(browser, tmp_path / "good.html")) == []
        (said,) = widths.cut_off(browser, tmp_path / "wide.html")
    finally:
        browser.close()
    assert said.startswith("code is cut off: 'xxx")


def test_the_gallery_has_ten_scripts_and_each_is_short():
    assert len(SCRIPTS) >= 10
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in SCRIPTS) <= 80
