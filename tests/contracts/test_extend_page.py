"""The examples of docs/extend.md run, and print what the page says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extend.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.count("\n"))
def test_the_example_runs_and_prints_what_it_says(example, capsys):
    exec(compile(example, str(PAGE), "exec"), {"__name__": "example"})
    printed = capsys.readouterr().out.strip()
    promised = re.findall(r"^\s*print\(.*?\)\s+# (.*)$", example, re.MULTILINE)
    assert len(promised) <= 1
    if promised:
        assert printed.startswith(promised[0].rstrip("…"))


def test_the_page_has_examples():
    assert len(EXAMPLES) >= 6
