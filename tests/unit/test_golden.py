"""The record of documented calls: its labels stay, and a changed number is noticed."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
QUICK = (
    "solve/matching-pursuit/dictionary",
    "solve/affine-invariant/as-printed",
    "solve/status/target",
    "solve/bits/resume/random-pursuit",
    "constant/nu",
    "rate/theorem_5",
    "estimator/OrthogonalMatchingPursuit",
    "extract/h2nmf",
)


@pytest.fixture(scope="module")
def golden():
    spec = importlib.util.spec_from_file_location("golden", TOOLS / "golden.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["golden"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def recorded():
    return json.loads((TOOLS / "golden.json").read_text(encoding="utf-8"))


def test_every_call_is_recorded_under_its_label(golden, recorded):
    assert len(golden.CALLS) >= 200
    assert set(golden.CALLS) == set(recorded)


@pytest.mark.parametrize("label", QUICK)
def test_quick_calls_are_as_recorded(golden, recorded, label):
    assert golden.differences(recorded[label], golden.observe(label), 1e-6) == []


def test_a_changed_value_support_or_status_is_noticed(golden, recorded):
    old = recorded["solve/status/target"]
    assert golden.differences(old, old, 1e-6) == []
    for change in ({"value": old["value"] * 1.001}, {"status": "STALLED"}, {"support": [1, 2]}):
        assert golden.differences(old, {**old, **change}, 1e-6)
    assert golden.differences(old, {}, 1e-6)
