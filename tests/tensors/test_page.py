"""docs/torch.md and the examples of the docstrings run as they are printed."""

import doctest
from pathlib import Path

import page_examples
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-torch")

import pursuit.torch  # noqa: E402
from pursuit.encoding import tensors  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "torch.md"


def test_the_page_runs_from_top_to_bottom():
    assert len(page_examples.examples(PAGE)) == 3
    scope = page_examples.run(PAGE)
    assert scope["fit"].shape == scope["activations"].shape
    assert scope["codes"].shape == (128, 512)
    assert scope["codes"].values().min() > 0


@pytest.mark.parametrize("where", [pursuit.torch, tensors])
def test_the_examples_of_the_docstrings_are_true(where):
    results = doctest.testmod(where)
    assert results.attempted
    assert not results.failed
