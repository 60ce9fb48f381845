"""The examples of docs/structured.md run, and find what they made."""

from pathlib import Path

import page_examples

PAGE = Path(__file__).parents[2] / "docs" / "structured.md"


def test_the_examples_of_the_page_find_what_they_made():
    names = page_examples.run(PAGE)
    made = set(range(100, 19_900, 333))
    assert len(made & set(names["place"].tolist())) >= 0.9 * len(made)
    assert names["learned"].templates.shape == (2, 48)
