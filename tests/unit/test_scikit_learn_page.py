"""The code of docs/coming-from-scikit-learn.md runs, and what it says is so."""

from pathlib import Path

import page_examples
import pytest

from pursuit import estimators

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-scikit-learn.md"


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_the_code_of_the_page_runs_one_block_after_the_other():
    assert len(page_examples.examples(PAGE)) >= 4
    page_examples.run(PAGE)


def test_the_page_names_every_estimator():
    text = PAGE.read_text()
    assert [name for name in estimators.__all__ if name not in text] == []
