"""Every row of docs/the-paper-in-code.md leads to a function and to a test that runs it.

That a test runs the functions that its rows name is seen while it runs: `tests/conftest.py` watches
those tests, and lets them fail where a function was not called.
"""

import subprocess
import sys

import paper_page
import pytest
from children import leniency

ROWS = list(paper_page.rows())


@pytest.mark.parametrize(("what", "functions", "tests"), ROWS, ids=[row[0] for row in ROWS])
def test_every_row_names_functions_that_are_there_and_tests(what, functions, tests):
    assert functions
    assert tests
    for path in functions:
        assert paper_page.codes_of(path), path


def test_every_test_that_the_page_names_is_one_that_runs():
    wanted = set(paper_page.named_by_test())
    files = sorted({test.partition("::")[0] for test in wanted})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    listed = subprocess.run(
        [*command, *leniency(), *files],
        cwd=paper_page.PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    ids = listed.stdout.splitlines()
    there = {*ids, *(node_id.partition("[")[0] for node_id in ids)}
    assert wanted - there == set()


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
        paper_page.resolve("pursuit.geometry.no_such_constant")


def test_a_function_that_was_not_run_would_be_noticed():
    from pursuit import Coordinates, SquaredDistance, geometry, solve

    named = [
        "pursuit.geometry.radius",
        "pursuit.geometry.nu",
        "pursuit.AtomSet.lmo",
        "pursuit.Result.certificate",
        "pursuit.AffineInvariant",
        "pursuit.methods.affine_invariant",
    ]
    atoms = Coordinates(3)
    with paper_page.watched(named) as missing:
        geometry.radius(atoms)
        atoms.lmo(atoms.vector(1))
    assert missing == {*named} - {"pursuit.geometry.radius", "pursuit.AtomSet.lmo"}
    with paper_page.watched(named[3:]) as missing:
        solve(SquaredDistance([1.0, 2.0, 3.0]), atoms, "affine-invariant").certificate
    assert missing == set()
