"""The example of docs/coordinate-descent.md prints what it shows, and ends where it says."""

from pathlib import Path

import page_examples

PAGE = Path(__file__).parents[2] / "docs" / "coordinate-descent.md"


def test_the_example_of_the_page_converges_to_few_coordinates():
    result = page_examples.run(PAGE)["result"]
    assert result.success
    assert 20 < len(result.support) < 200
    assert result.x[-1] != 0  # the intercept, which no penalty touches
