"""The README's examples print what it says that they print."""

import re
from pathlib import Path

import page_examples

README = Path(__file__).parents[2] / "README.md"


def test_each_example_runs_after_the_others_and_prints_what_stands_below_it():
    shown = page_examples.examples(README)
    assert len(shown) == 3 == README.read_text(encoding="utf-8").count("```python")
    assert all(promised for _, promised in shown)
    page_examples.run(README)


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
