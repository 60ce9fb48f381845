"""The examples of docs/oracles.md and docs/boosting.md run, and print what the pages say."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = [
    (page, code)
    for page in ("oracles.md", "boosting.md")
    for code in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
]


@pytest.mark.parametrize(("page", "example"), EXAMPLES, ids=[page for page, _ in EXAMPLES])
def test_the_example_runs_and_prints_what_it_says(page, example, capsys):
    if "sklearn" in example:
        pytest.importorskip("sklearn", reason="needs scikit-learn")
    exec(compile(example, page, "exec"), {"__name__": "example"})
    promised = re.findall(r"^\s*print\(.*?\)\s+# (.*)$", example, re.MULTILINE)
    assert len(promised) == 1
    assert capsys.readouterr().out.strip() == promised[0]
