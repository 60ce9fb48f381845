"""The examples of docstrings are true as they are printed."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import pursuit

ROOT = Path(pursuit.__file__).parent
FILES = [path for path in sorted(ROOT.rglob("*.py")) if ">>> " in path.read_text()]
NAMES = [".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in FILES]
TENSORS = "torch", "tensors"
"""Parts of the names of modules whose examples are looked at where torch is."""


@pytest.mark.parametrize("name", [n for n in NAMES if not set(TENSORS) & set(n.split("."))])
def test_the_examples_of_a_module_are_true(name):
    if "estimators" in name or "trees" in name:
        pytest.importorskip("sklearn")
    found = doctest.testmod(import_module(name.removesuffix(".__init__")))
    assert found.attempted
    assert not found.failed
