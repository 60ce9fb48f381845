"""The program: its version, its other name, completion; and the package around it."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import pursuit as library
from pursuit import cli

PROJECT = Path(__file__).parents[2]
SOURCE = "https://example.org/pursuit"


def project():
    return tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_program_says_its_version(pursuit):
    code, printed, _ = pursuit("--version")
    assert code == 0
    assert printed == f"pursuit {library.__version__}\n"


def test_the_package_can_be_run_as_the_program():
    command = [sys.executable, "-m", "pursuit", "--version"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == f"pursuit {library.__version__}\n"


def test_the_program_has_one_name_however_it_is_run():
    command = [sys.executable, "-m", "pursuit", "unmix"]  # an argument is missing
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 2
    assert "Usage: pursuit unmix " in run.stderr


def test_a_command_that_is_none_is_refused_with_those_there_are(pursuit):
    code, _, error = pursuit("unmx")
    assert code == 2
    listed = ", ".join(cli.COMMANDS)
    assert error == f"pursuit: COMMAND: expected one of {listed}, got 'unmx'\n"


@pytest.mark.parametrize("arguments", [("-h",), ("unmix", "-h")])
def test_help_has_a_short_name(pursuit, arguments):
    code, printed, _ = pursuit(*arguments)
    assert code == 0
    assert printed == pursuit(*arguments[:-1], "--help")[1]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_offered_the_commands_that_begin_with_what_was_typed(shell):
    asked = {
        "_PURSUIT_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "pursuit de",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "pursuit de",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    code = "import sys; sys.argv = ['pursuit']; from pursuit.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True
    )
    offered = set(re.findall(r"[a-z]+", run.stdout))
    assert {name for name in cli.COMMANDS if name.startswith("de")} <= offered
    assert "encode" not in offered


def test_the_version_is_the_same_wherever_it_is_written():
    cited = (PROJECT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", cited, re.MULTILINE)[1] == library.__version__
    assert "version" in project()["dynamic"]  # read off the package, not written down again


def test_every_version_of_python_that_is_supported_is_a_classifier():
    prefix = "Programming Language :: Python :: 3."
    minors = [int(c.removeprefix(prefix)) for c in project()["classifiers"] if c.startswith(prefix)]
    oldest = int(re.search(r">=3\.(\d+)", project()["requires-python"])[1])
    assert minors == list(range(oldest, oldest + len(minors)))
    assert sys.version_info.minor in minors


def test_every_package_of_an_extra_is_imported_somewhere():
    modules = {"scikit-learn": "sklearn"}
    extras = project()["optional-dependencies"]
    files = PROJECT.glob("src/**/*.py")
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    for extra in extras.keys() - {"test", "check", "docs", "dist", "bench"}:
        for requirement in extras[extra]:
            name = re.match(r"[\w-]+", requirement)[0]
            imported = rf"(import|from|find_spec\(\"|require\(\")\s*{modules.get(name, name)}\b"
            assert re.search(imported, source), (extra, requirement)


@pytest.fixture
def standing_alone(monkeypatch):
    pytest.importorskip("hatchling")
    spec = spec_from_file_location("hatch_build", PROJECT / "hatch_build.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.standing_alone


def test_the_readme_of_a_package_has_no_link_that_depends_on_where_it_stands(standing_alone):
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    relative = re.compile(r"\]\((?!https?:|#)")
    assert relative.search(text)
    for source in (SOURCE, None):
        assert not relative.search(standing_alone(text, source))
    assert f"]({SOURCE}/blob/main/docs/" in standing_alone(text, SOURCE)


def test_without_an_address_words_stay_and_pictures_go(standing_alone):
    text = "see [the page](docs/a.md) ![a picture](b.png) and [there](https://example.org/)"
    assert standing_alone(text, None) == "see the page  and [there](https://example.org/)"
    here = f"[the page]({SOURCE}/blob/main/docs/a.md) ![a picture]({SOURCE}/raw/main/b.png)"
    assert standing_alone(text, SOURCE) == f"see {here} and [there](https://example.org/)"
