"""The code of docs/coming-from-scikit-learn.md runs, and what it says is so."""

import re
from pathlib import Path

import pytest

from pursuit import estimators

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-scikit-learn.md"


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_the_code_of_the_page_runs_one_block_after_the_other():
    scope = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)


def test_the_page_names_every_estimator():
    text = PAGE.read_text()
    assert [name for name in estimators.__all__ if name not in text] == []
