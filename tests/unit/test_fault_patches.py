"""The faults of tools/faults: forty one-line mistakes that fit the code as it is."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "tools" / "faults" / "run.py"


def load_runner():
    """Return tools/faults/run.py as a module; it is no part of a package."""
    spec = importlib.util.spec_from_file_location("run_faults", RUNNER)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for their module there
    spec.loader.exec_module(module)
    return module


run = load_runner()
FAULTS = run.all_faults()


def replaced_lines(fault):
    """Return the lines of the file that the only hunk of a patch replaces, context included."""
    text = fault.path.read_text(encoding="utf-8")
    assert text.count("\n@@ -") == 1
    lines = text.partition("\n@@ -")[2].splitlines()[1:]
    return [line[1:] for line in lines if not line.startswith("+")]


def test_there_are_forty_faults_with_distinct_numbers():
    numbers = [int(fault.name[:2]) for fault in FAULTS]
    assert numbers == list(range(1, 41))


def test_ten_faults_are_for_the_fuzzer():
    assert sum(fault.fuzzer for fault in FAULTS) == 10


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_header_names_mistake_promise_and_existing_tests(fault):
    assert fault.mistake.endswith(".")
    assert fault.promise.endswith(".")
    assert fault.tests
    for test in fault.tests:
        file = ROOT / test.partition("::")[0]
        assert file.is_file(), test
        assert file.name.startswith("test_")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_patch_changes_one_line_of_src_and_applies(fault):
    assert fault.target.startswith("src/pursuit/")
    assert len(fault.removed) == len(fault.added) == 1
    assert fault.removed != fault.added
    source = (ROOT / fault.target).read_text(encoding="utf-8").splitlines()
    before = replaced_lines(fault)
    # git apply looks for the hunk anywhere in the file, nearest to where it says it is.
    found = [k for k in range(len(source)) if source[k : k + len(before)] == before]
    assert found, f"{fault.name} does not apply; port the mistake to the code as it is now"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_faulty_source_is_valid_python(fault):
    source = (ROOT / fault.target).read_text(encoding="utf-8")
    compile(source.replace(fault.removed[0], fault.added[0], 1), fault.target, "exec")


def test_summary_counts_what_was_caught():
    outcomes = {
        "a": run.Outcome(True, "tests/unit/test_a.py::test_b"),
        "b": run.Outcome(False, ""),
        "c": None,
    }
    assert run.summary(outcomes) == "1 of 3 caught"
    assert [run.describe(outcome) for outcome in outcomes.values()] == [
        "caught by tests/unit/test_a.py::test_b",
        "NOT caught",
        "patch does not apply",
    ]


def test_results_list_every_fault():
    text = run.RESULTS.read_text(encoding="utf-8")
    assert [fault.name for fault in FAULTS if f"| {fault.name} |" not in text] == []
