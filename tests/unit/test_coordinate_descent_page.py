"""The example of docs/coordinate-descent.md runs, and ends where it says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "coordinate-descent.md"


def test_the_example_of_the_page_converges_to_few_coordinates():
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block, names)
    result = names["result"]
    assert result.success
    assert 20 < len(result.support) < 200
    assert result.x[-1] != 0  # the intercept, which no penalty touches
