"""The README's examples print what it says that they print."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def words_and_numbers(text):
    """Text apart from its numbers; how long something took is neither."""
    text = re.sub(r"in \S+ s$", "in some time", text.strip(), flags=re.MULTILINE)
    numbers = [float(number.replace(",", "")) for number in NUMBER.findall(text)]
    return NUMBER.sub("#", text).split(), numbers


def test_each_example_runs_after_the_others_and_prints_what_stands_below_it(capsys):
    text = README.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == 3 == text.count("```python")
    scope = {}
    for code, promised in examples:
        exec(compile(code, str(README), "exec"), scope)
        words, numbers = words_and_numbers(capsys.readouterr().out)
        assert words == words_and_numbers(promised)[0]
        # Slopes at the end of a run are of the size of rounding: another processor has others.
        assert numbers == pytest.approx(words_and_numbers(promised)[1], rel=0.02, abs=1e-4)


def test_the_readme_is_a_page_and_not_a_book():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 100


def test_every_command_of_the_readme_is_there():
    text = README.read_text(encoding="utf-8")
    commands = re.findall(r"`python (benchmarks/\w+\.py)", text)
    assert len(commands) >= 3
    assert all((README.parent / path).is_file() for path in commands)
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make ([a-z]+)", text):
        assert f"\n{target}:" in makefile
