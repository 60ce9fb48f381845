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


def test_the_site_can_read_what_docstrings_hold():
    """Examples under their heading, tables as Markdown has them."""
    for name in library_modules():
        text = import_module(name).__doc__ or ""
        assert "====" not in text, name
        before = text.partition(">>> ")[0]
        assert before == text or "Examples\n--------\n" in before, name


def library_modules():
    """The modules with a page of their own."""
    return ["pursuit", *(f"pursuit.{name}" for name in pursuit._MODULES)]
