"""The comparison of two checkouts: its protocol and its verdicts."""

import importlib.util
import json
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def compare():
    spec = importlib.util.spec_from_file_location("compare", BENCHMARKS / "compare.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class FakeChild:
    """Answers as a child does, from a table of labels to answers or to lists of seconds."""

    def __init__(self, answers, log=None, name=""):
        self.answers, self.log, self.name, self.calls = answers, log, name, 0

    def run(self, label):
        answer = self.answers[label]
        self.calls += 1
        if self.log is not None:
            self.log.append(self.name)
        if isinstance(answer, dict):
            return answer
        return {"seconds": answer[(self.calls - 1) % len(answer)]}


def rows_of(compare, ours, theirs, rounds=7):
    tables = {"ours": ours, "theirs": theirs}
    labels = {side: list(table) for side, table in tables.items()}
    children = {side: FakeChild(table) for side, table in tables.items()}
    return compare.compare(
        labels, lambda side: nullcontext(children[side]), rounds, lambda row: None
    )


# A tiny table in place of the real one, served by the real protocol.
TINY = """
import sys
sys.path.insert(0, {folder!r})
import rows
def tiny():
    print("noise on standard output")
    return lambda: sum(range(200_000))
def absent():
    raise rows.SkippedRow("no file")
rows.ROWS = {{"tiny": tiny, "absent": absent, "broken": lambda: 1 / 0}}
rows.FRESH = {{"import/json": "import json"}}
sys.argv[1:] = ["--serve"]
rows.main()
"""


def test_children_answer_the_row_protocol(compare):
    code = TINY.format(folder=str(BENCHMARKS))
    with compare.Child([sys.executable, "-c", code]) as child:
        assert Path(child.greeting["pursuit"]).name == "__init__.py"
        assert child.labels() == ["absent", "broken", "tiny", "import/json"]
        assert child.run("tiny")["seconds"] > 0
        assert child.run("import/json")["seconds"] >= 0
        assert child.run("absent") == {"skipped": "no file"}
        assert "ZeroDivisionError" in child.run("broken")["error"]
        assert "unknown label" in child.run("other")["error"]


def test_a_child_that_dies_is_an_error_of_its_row(compare):
    code = "print('{}', flush=True); input(); raise SystemExit(3)"
    with compare.Child([sys.executable, "-c", code]) as child:
        assert "exit code 3" in child.run("any")["error"]


def test_labels_are_unique_and_listed():
    command = [sys.executable, str(BENCHMARKS / "rows.py"), "--list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert len(set(listed)) == len(listed) > 40
    assert {"encode/W1/OMP/float32", "cold/encode/MP", "import/pursuit"} <= set(listed)


def test_a_slower_side_is_reported_as_slower(compare):
    theirs = {"a": [1.0], "b": [1.0], "c": [1.0]}
    rows = rows_of(compare, {"a": [1.06], "b": [1.04], "c": [0.5]}, theirs)
    assert [row["verdict"] for row in rows] == ["slower", "same", "faster"]
    assert rows[0]["ratio"] == pytest.approx(1.06)
    assert compare.exit_code(rows) == 1
    assert compare.exit_code(rows[1:]) == 0
    json.dumps(rows)


def test_the_median_of_paired_rounds_decides(compare):
    # Three rounds of seven disturbed on our side do not make it slower.
    (row,) = rows_of(compare, {"a": [1, 1, 9, 1, 9, 1, 9]}, {"a": [1]})
    assert row["verdict"] == "same"
    assert row["spread"] == [1, 9]
    # A machine that slows down in the course of a run slows both sides of a round.
    (row,) = rows_of(compare, {"a": [1, 2, 4, 8, 16, 32, 64]}, {"a": [1, 2, 4, 8, 16, 32, 64]})
    assert row["ratio"] == 1


def test_sides_take_turns_and_swap_each_round(compare):
    log = []
    compare.compare_row("a", lambda side: nullcontext(FakeChild({"a": [1]}, log, side)), 3)
    assert log == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]


def test_missing_rows_are_reported_with_their_side(compare):
    rows = rows_of(compare, {"new": [1], "both": [1]}, {"both": [1], "old": [1]})
    found = {row["label"]: (row["verdict"], list(row.get("why", {}))) for row in rows}
    assert found["new"] == ("missing", ["theirs"])
    assert found["old"] == ("missing", ["ours"])
    assert found["both"] == ("same", [])
    assert compare.exit_code(rows) == 1


def test_rows_without_data_fail_only_on_one_side(compare):
    skipped, failed = {"skipped": "no file"}, {"error": "ValueError: no"}
    rows = rows_of(compare, {"a": skipped, "b": skipped}, {"a": skipped, "b": [1]})
    assert [row["verdict"] for row in rows] == ["skipped", "missing"]
    assert compare.exit_code(rows[:1]) == 0
    (row,) = rows_of(compare, {"a": failed}, {"a": [1]})
    assert row["why"] == {"ours": "ValueError: no"}
    assert compare.exit_code([row]) == 1


def test_cold_rows_run_few_rounds(compare):
    (row,) = rows_of(compare, {"cold/a": [1]}, {"cold/a": [1]}, rounds=7)
    assert row["rounds"] == 3


def test_baseline_without_its_file_is_a_clear_error(compare, tmp_path):
    with pytest.raises(compare.CompareError, match="BASELINE must be a file"):
        compare.resolve("baseline", tmp_path / "BASELINE")
