"""Every row of docs/the-paper-in-code.md leads to a function and to a test that exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs" / "the-paper-in-code.md"


def rows():
    """(what, functions, tests) of each row of a table that names tests."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and len(cells) == 3 and "tests/" in cells[2]:
            yield cells[0], re.findall(r"`([^`]+)`", cells[1]), re.findall(r"`([^`]+)`", cells[2])


ROWS = list(rows())


def resolve(path):
    """The object behind a dotted path: modules as deep as they go, then attributes."""
    parts = path.split(".")
    owner = import_module(parts[0])
    for part in parts[1:]:
        if not hasattr(owner, part):
            owner = import_module(f"{owner.__name__}.{part}")
        else:
            owner = getattr(owner, part)
    return owner


@pytest.mark.parametrize(("what", "functions", "tests"), ROWS, ids=[row[0] for row in ROWS])
def test_every_row_resolves(what, functions, tests):
    assert functions
    assert tests
    for path in functions:
        assert resolve(path) is not None
    for path in tests:
        file, name = path.split("::")
        assert re.search(rf"^\s*def {name}\(", (PROJECT / file).read_text(encoding="utf-8"), re.M)


def test_every_numbered_statement_of_the_paper_has_a_row():
    stated = " ; ".join(row[0] for row in ROWS)
    wanted = [
        *(f"Algorithm {k}," for k in range(1, 5)),
        *(f"Equation ({k})" for k in range(1, 9)),
        *(f"Theorem {k}" for k in (3, 4, 5, 8, 9)),
        *(f"Lemma {k}" for k in (2, 6, 7, 10, 11, 12, 13, 14, 15)),
        "Definition 1",
    ]
    assert [item for item in wanted if item not in stated] == []


def test_a_row_that_leads_nowhere_would_be_noticed():
    with pytest.raises(ImportError):
        resolve("pursuit.geometry.no_such_constant")
