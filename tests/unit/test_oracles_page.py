"""The examples of docs/oracles.md and docs/boosting.md run, and print what the pages say."""

from pathlib import Path

import page_examples
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(("page", "blocks"), [("oracles.md", 3), ("boosting.md", 1)])
def test_each_example_runs_alone_and_prints_what_it_says(page, blocks):
    shown = page_examples.examples(DOCS / page)
    if any("sklearn" in code for code, _ in shown):
        pytest.importorskip("sklearn", reason="needs scikit-learn")
    assert len(shown) == blocks
    assert all(page_examples.SAID.search(code) for code, _ in shown)
    page_examples.run(DOCS / page, apart=True)
