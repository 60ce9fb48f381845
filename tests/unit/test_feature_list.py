"""tests/FEATURES.md names tests that exist, lists no feature twice and has every public name."""

import ast
import inspect
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import pursuit

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "tests" / "FEATURES.md"
NAMESPACES = (
    "certificates",
    "estimators",
    "geometry",
    "methods",
    "plots",
    "rates",
    "testing",
    "torch",
    "unmixing",
)


def cells(line):
    """The cells of a row of a table, without the bars that are escaped."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def rows():
    """Feature, source and test of each row."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    found = [cells(line) for line in lines if line.startswith("|")]
    return [row for row in found if row[0] != "feature" and not row[0].startswith("---")]


@cache
def names_of_tests(path):
    """The tests of a file as they stand after `path::`."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
            names.update(f"{node.name}::{method.name}" for method in methods)
    return {name for name in names if name.rpartition("::")[2].startswith("test_")}


def missing_tests(named):
    """Those of the named tests that no file has; ids of parameters do not count."""
    missing = []
    for test in named:
        file, _, name = test.partition("[")[0].partition("::")
        path = PROJECT / file
        if not path.is_file() or name not in names_of_tests(path):
            missing.append(test)
    return missing


def public_names(namespace):
    """The names that a namespace offers: its `__all__`, else what it defines itself."""
    module = getattr(pursuit, namespace)
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and inspect.getmodule(thing) is module and callable(thing)
    ]


def test_every_row_has_a_feature_a_source_and_one_test():
    assert len(rows()) > 200
    for row in rows():
        assert len(row) == 3, row
        assert all(row), row
        assert re.fullmatch(r"`tests/[\w/]+\.py::[\w:]+(\[.+\])?`", row[2]), row


def test_every_test_that_the_list_names_exists():
    assert missing_tests(row[2].strip("`") for row in rows()) == []


def test_no_feature_is_listed_twice():
    counts = Counter(row[0].casefold() for row in rows())
    assert [feature for feature, count in counts.items() if count > 1] == []


def test_every_page_that_the_list_names_exists():
    pages = {row[1] for row in rows() if re.fullmatch(r"[\w./-]+\.(md|py|typed)", row[1])}
    assert pages
    assert [page for page in sorted(pages) if not (PROJECT / page).is_file()] == []


@pytest.mark.parametrize("namespace", ["", *NAMESPACES])
def test_every_public_name_is_listed(namespace):
    names = public_names(namespace) if namespace else pursuit.__all__
    code = re.findall(r"`[^`]+`", " ".join(row[0] for row in rows()))  # "gap" is also a word
    listed = set(re.findall(r"\w+", " ".join(code)))
    assert sorted(set(names) - listed) == []


def test_a_test_that_does_not_exist_is_noticed():
    here = "tests/unit/test_feature_list.py"
    there = f"{here}::test_every_public_name_is_listed[geometry]"
    assert missing_tests([there, f"{here}::test_nothing", "tests/none.py::test_nothing"]) == [
        f"{here}::test_nothing",
        "tests/none.py::test_nothing",
    ]
