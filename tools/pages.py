"""What the site has beside the pages of docs/: gallery, reference, changelog, pictures.

A hook of mkdocs. Scripts of the gallery, and pages whose Python saves pictures, are run while the
site is built, each in a folder of its own under .gallery/ that is named after what was run: what
did not change is not run again (`make clean` forgets everything).
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pursuit

PROJECT = Path(__file__).resolve().parent.parent
DOCS, SCRIPTS = PROJECT / "docs", PROJECT / "docs" / "gallery"
KEPT = PROJECT / ".gallery"
ROOMS = {
    "solving": "Solving",
    "encoding": "Many signals",
    "learning": "Learning",
    "decomposing": "Sounds",
    "atoms": "Atoms",
    "objectives": "Objectives",
    "penalties": "Penalties",
    "rules": "Rules",
    "active": "Rules over the atoms in use",
    "acceleration": "Acceleration",
    "methods": "Methods",
    "base": "Errors and statuses",
}
"""Where a public name lives, and the title of the page that describes it."""
TABLES = PROJECT / "benchmarks" / "README.md"
STRICT = (sys.executable, "-W", "error")
"""Runs the Python of the site: a reader should meet no warning."""
COMMANDS = "<!-- the commands -->"
"""Stands in docs/benchmarks.md for the table of benchmarks/README.md."""


# What is run -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """Some Python that was run: what it printed, and the pictures that it saved."""

    code: str
    printed: str
    pictures: tuple[Path, ...]


def blocks(text: str) -> list[str]:
    """The Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def run(name: str, code: str, python: Sequence[str] = STRICT) -> Run:
    """Run Python in a folder of its own, unless that has been done."""
    digest = hashlib.sha256(f"{pursuit.__version__}\n{code}".encode()).hexdigest()[:16]
    folder = KEPT / f"{name}-{digest}"
    printed = folder / "printed.txt"
    if not printed.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "script.py").write_text(code, encoding="utf-8")
        environment = {**os.environ, "MPLBACKEND": "agg", "PURSUIT_DATA": str(folder)}
        command = [*python, "script.py"]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1200
        )
        if done.returncode:
            raise RuntimeError(f"{name}: it failed while the site was built\n{done.stderr}")
        printed.write_text(done.stdout, encoding="utf-8")
    pictures = tuple(sorted(folder.glob("*.png"), key=lambda path: code.index(path.name)))
    return Run(code, printed.read_text(encoding="utf-8"), pictures)


def saved_pictures(code: str) -> list[str]:
    """The files of pictures that some Python writes; what a comment says does not count."""
    return re.findall(r'^[^#\n]*savefig\("(.*?)"', code, re.MULTILINE)


def drawing_pages() -> dict[str, str]:
    """Pages whose Python saves pictures, and that Python."""
    pages = {path.name: "\n".join(blocks(path.read_text())) for path in sorted(DOCS.glob("*.md"))}
    return {name: code for name, code in pages.items() if saved_pictures(code)}


def run_all() -> tuple[dict[str, Run], dict[str, Run]]:
    """The scripts of the gallery and the pages that draw, two at a time."""
    scripts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(SCRIPTS.glob("*.py"))}
    jobs = {**scripts, **drawing_pages()}
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1))) as pool:
        done = dict(zip(jobs, pool.map(run, jobs, jobs.values()), strict=True))
    return {name: done[name] for name in scripts}, {name: done[name] for name in drawing_pages()}


# The gallery ---------------------------------------------------------------------------------


def title_and_text(code: str) -> tuple[str, str]:
    """The first line of a script's docstring, and the rest of it."""
    title, _, text = (ast.get_docstring(ast.parse(code)) or "").partition("\n")
    return title, text.strip()


def without_docstring(code: str) -> str:
    body = ast.parse(code).body
    return "\n".join(code.splitlines()[(body[0].end_lineno or 0) :]).strip()


def gallery_page(name: str, done: Run) -> str:
    """The page of one script."""
    title, text = title_and_text(done.code)
    pictures = "\n\n".join(f"![{title}]({path.name})" for path in done.pictures)
    printed = f"It prints\n\n```text\n{done.printed.rstrip()}\n```\n" if done.printed else ""
    code = f"```python\n{without_docstring(done.code)}\n```"
    where = f"`docs/gallery/{name}.py`, the whole of it:"
    return f"# {title}\n\n{text}\n\n{pictures}\n\n{where}\n\n{code}\n\n{printed}"


def gallery_index(runs: dict[str, Run]) -> str:
    """Cards with a picture each."""
    cards = []
    for name, done in runs.items():
        title, _ = title_and_text(done.code)
        picture = f"![{title}]({done.pictures[0].name}){{ loading=lazy }}"
        cards.append(f"-   [{picture}]({name}.md)\n\n    [{title}]({name}.md)")
    body = "\n\n".join(cards)
    return (
        "# Gallery\n\nShort scripts that run in seconds, on data that comes with scikit-learn or "
        "is simulated. Each page has the whole script and what it prints.\n\n"
        f'<div class="gallery" markdown>\n\n{body}\n\n</div>\n'
    )


# The reference -------------------------------------------------------------------------------


def reference() -> dict[str, list[str]]:
    """Title of a page → the public names on it, in the order of the rooms, modules last."""
    pages: dict[str, list[str]] = {title: [] for title in ROOMS.values()}
    for name, home in pursuit._HOME.items():
        pages[ROOMS[home.partition(".")[0]]].append(name)
    pages["Methods"].append("methods")
    modules = {
        f"pursuit.{name}": [name, *lazy_names(name), *hidden_names(name)]
        for name in pursuit._MODULES
        if name != "methods"
    }
    return {title: sorted(names) for title, names in pages.items() if names} | modules


def lazy_names(module: str) -> list[str]:
    """Names that a module loads when they are asked for, which reading its source does not show."""
    return [f"{module}.{name}" for name in getattr(getattr(pursuit, module), "_HOME", ())]


def hidden_names(module: str) -> list[str]:
    """Names that files of the module have too: reading its source shows the file in their place."""
    package = getattr(pursuit, module)
    files = {file.name for file in iter_modules(getattr(package, "__path__", ()))}
    return [f"{module}.{name}" for name in getattr(package, "__all__", ()) if name in files]


def members(module: str) -> list[str]:
    """What a module promises: its `__all__`, or what it defines and the package does not name."""
    package = getattr(pursuit, module)
    own = (n for n, thing in vars(package).items() if _home(thing) == package.__name__)
    defined = (name for name in own if name not in pursuit._HOME and not name.startswith("_"))
    return list(getattr(package, "__all__", defined))


def _home(thing: object) -> str | None:
    return getattr(thing, "__module__", None)


def file_of(title: str) -> str:
    return f"api/{re.sub('[^a-z]+', '-', title.lower())}.md"


def public_names() -> set[str]:
    """Every name that the reference must have: those of the package and of its modules."""
    named = {name for names in reference().values() for name in names}
    return named | {f"{module}.{name}" for module in pursuit._MODULES for name in members(module)}


def entry(name: str) -> str:
    """What makes mkdocstrings describe a name; `Method` has an entry of its own."""
    module, _, member = name.partition(".")
    if name in hidden_names(module):  # described where it is defined, found under its own name
        return f"[](){{ #pursuit.{name} }}\n\n::: pursuit.{name}.{member}"
    without = '\n    options:\n      filters: ["!^_", "!^Method$"]' if name == "methods" else ""
    return f"::: pursuit.{name}{without}"


def reference_pages() -> Iterator[tuple[str, str]]:
    """Path and Markdown of each page of the reference."""
    listed = []
    for title, names in reference().items():
        entries = "\n\n".join(entry(name) for name in names)
        yield file_of(title), f"# {title}\n\n{entries}\n"
        page = file_of(title).removeprefix("api/")
        links = ", ".join(f"[`{name}`][pursuit.{name}]" for name in names)
        listed.append(f"| [{title}]({page}) | {links} |")
    table = "\n".join(["| | |", "|---|---|", *listed])
    intro = f"Every public name of `pursuit`. This is version `{pursuit.__version__}`"
    yield "api/index.md", f"# API\n\n{intro} (`pursuit.__version__`).\n\n{table}\n"


# What the benchmarks say, drawn --------------------------------------------------------------


def rows_of_table(text: str, corner: str) -> list[list[str]]:
    """The cells of the table whose head contains `corner`, without its head."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("|") and corner in line:
            next(lines)
            break
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


def to_a_millionth(cell: str) -> float:
    """The middle of three numbers "1e-3 / 1e-6 / 1e-9"; nan where there is none."""
    parts = cell.split("/")
    number = parts[1].strip().replace(",", "") if len(parts) > 1 else ""
    return float(number) if number[:1].isdigit() else float("nan")


def draw_acceleration(target: Path) -> None:
    """Products to 1e-6, as the table of docs/acceleration.md has them."""
    from pursuit import plots

    rows = rows_of_table((DOCS / "acceleration.md").read_text(encoding="utf-8"), "`accelerated`")
    names = ("accelerated", "LSQR", "L-BFGS", "L-BFGS, scaled alike")
    figure = plots.figure(9, 0.34 * len(rows) + 1.4)
    ax = figure.subplots()
    for k, name in enumerate(names):
        counts = [to_a_millionth(row[k + 1]) for row in rows]
        places = [place + 0.18 * (k - 1.5) for place in range(len(rows))]  # none hides another
        ax.semilogx(counts, places, plots.MARKERS[k], color=plots.COLOURS[k], label=name)
    ax.set_yticks(range(len(rows)), [row[0] for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel("products with all atoms until 1e-6 of f(x0) − f* is left")
    ax.grid(axis="x", which="major", alpha=0.4)
    figure.legend(loc="outside upper center", ncols=len(names), frameon=False)
    figure.savefig(target, dpi=120)


def draw_learning(target: Path) -> None:
    """Time for a signal over ours, as the table of docs/learning.md has it."""
    from pursuit import plots

    rows = rows_of_table((DOCS / "learning.md").read_text(encoding="utf-8"), "| china |")
    rows = [row for row in rows if re.match(r"[\d.]+ \(", row[1])]
    sets = ("china", "flower", "ECG")
    figure = plots.figure(9, 0.55 * len(rows) + 1.2)
    ax = figure.subplots()
    for k, name in enumerate(sets):
        times = [float(row[k + 1].split()[0]) for row in rows]
        places = [place + 0.25 * (k - 1) for place in range(len(rows))]
        ax.barh(places, times, height=0.22, color=plots.COLOURS[k], label=name)
    ax.set_yticks(range(len(rows)), [row[0].replace("`", "") for row in rows])
    ax.invert_yaxis()
    ax.set(xscale="log", xlabel="CPU time for a signal over that of learn, one thread")
    figure.legend(loc="outside upper center", ncols=len(sets), frameon=False)
    figure.savefig(target, dpi=120)


BENCHMARK_PICTURES = {"acceleration.png": draw_acceleration, "learning.png": draw_learning}


def benchmark_pictures() -> Iterator[Path]:
    for name, draw in BENCHMARK_PICTURES.items():
        path = KEPT / "benchmarks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draw(path)
        yield path


# What mkdocs calls ---------------------------------------------------------------------------


def navigation(section: dict[str, Any]) -> dict[str, Any]:
    """A section of the navigation, with what is made."""
    title, target = next(iter(section.items()))
    if target == "gallery/index.md":
        scripts = [(path.stem, path.read_text(encoding="utf-8")) for path in SCRIPTS.glob("*.py")]
        pages = [{title_and_text(code)[0]: f"gallery/{name}.md"} for name, code in sorted(scripts)]
        return {title: [target, *pages]}
    if target == "api/index.md":
        return {title: [target, *({name: file_of(name)} for name in reference())]}
    return section


def minimisers() -> Any:
    """An extension of Markdown: the stars of f* and x* stand for minima, not for emphasis."""
    from markdown.extensions import Extension
    from markdown.inlinepatterns import SimpleTextInlineProcessor

    class Minimisers(Extension):
        def extendMarkdown(self, md: Any) -> None:
            star = SimpleTextInlineProcessor(r"(?<![*\w])([fx]\*)(?![*\w])")
            md.inlinePatterns.register(star, "minimisers", 65)  # before emphasis, after code

    return Minimisers()


def on_config(config: Any) -> Any:
    config.nav = [navigation(section) for section in config.nav]
    config.markdown_extensions.append(minimisers())
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add what is made: pages as text, pictures as files."""
    from mkdocs.structure.files import File

    def page(uri: str, text: str) -> None:
        files.append(File.generated(config, uri, content=text))

    def picture(uri: str, path: Path) -> None:
        files.append(File.generated(config, uri, abs_src_path=str(path)))

    scripts, drawn = run_all()
    page("gallery/index.md", gallery_index(scripts))
    for name, done in scripts.items():
        page(f"gallery/{name}.md", gallery_page(name, done))
        for path in done.pictures:
            picture(f"gallery/{path.name}", path)
    for done in drawn.values():
        for path in done.pictures:
            picture(path.name, path)
    for path in benchmark_pictures():
        picture(f"benchmarks/{path.name}", path)
    for uri, text in reference_pages():
        page(uri, text)
    page("changelog.md", (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put the table of commands into the page on benchmarks."""
    if COMMANDS not in markdown:
        return markdown
    return markdown.replace(COMMANDS, TABLES.read_text(encoding="utf-8").partition("\n")[2].strip())


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Let long names in tables break between their parts before they break anywhere."""

    def parts(code: re.Match[str]) -> str:
        return re.sub(r"([._/]|::)(?=\w)", r"\1<wbr>", code[0])

    def cell(found: re.Match[str]) -> str:
        return re.sub(r"(?<=<code>)[^<]+(?=</code>)", parts, found[0])

    return re.sub(r"<td.*?</td>", cell, html, flags=re.DOTALL)


def on_post_build(config: Any) -> None:
    """Every public name must have become a place that can be linked to."""
    places: set[str] = set()
    for page in (Path(config.site_dir) / "api").glob("*.html"):
        places.update(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8")))
    missing = {f"pursuit.{name}" for name in public_names()} - places
    if missing:
        raise RuntimeError(f"without a place in the reference: {sorted(missing)}")
