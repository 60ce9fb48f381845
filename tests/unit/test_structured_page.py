"""The examples of docs/structured.md run, and find what they made."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "structured.md"


def test_the_examples_of_the_page_find_what_they_made():
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block, names)
    made = set(range(100, 19_900, 333))
    assert len(made & set(names["place"].tolist())) >= 0.9 * len(made)
    assert names["learned"].templates.shape == (2, 48)
