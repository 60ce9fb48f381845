"""The examples of docs/extend.md run, and print what the page says."""

from pathlib import Path

import page_examples
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extend.md"
EXAMPLES = page_examples.examples(PAGE)


@pytest.mark.parametrize(
    ("code", "shown"), EXAMPLES, ids=[code.count("\n") for code, _ in EXAMPLES]
)
def test_the_example_runs_alone_and_prints_what_it_says(code, shown, capsys):
    exec(compile(code, str(PAGE), "exec"), {"__name__": "example"})
    page_examples.check(code, capsys.readouterr().out, shown)


def test_the_page_has_examples():
    assert len(EXAMPLES) >= 6
    assert sum(bool(page_examples.SAID.search(code)) for code, _ in EXAMPLES) >= 5
