"""A short run of the fuzzer, and that it notices what it is there to notice."""

import numpy as np
import pytest

import pursuit
from fuzz import encoding, oracle
from fuzz.areas import AREAS
from fuzz.case import Case, Finding, Refused, check_sentence
from fuzz.runner import Order, run_case, run_here
from pursuit import InputError

CALLS = {"commands": 30, "kept": 60}
"""Calls of a short run; 200 where no number is given."""


@pytest.mark.parametrize("area", AREAS)
def test_every_call_is_confirmed_or_refused_in_a_sentence(area):
    tally = run_here(Order((area,), seed=0, calls=CALLS.get(area, 200), seconds=None))
    assert not tally.findings, "\n".join(
        f"--area {o.area} --seed 0 --case {o.number}: {o.problem}" for o in tally.findings
    )


def test_a_case_is_the_same_whenever_it_is_run():
    first, second = (Case("encode", 3, 17) for _ in range(2))
    ours, theirs = encoding.pose(first), encoding.pose(second)
    assert np.array_equal(ours.signals, theirs.signals, equal_nan=True)
    assert ours.options == theirs.options
    assert not np.array_equal(encoding.pose(Case("encode", 3, 18)).signals, ours.signals)


def test_a_wrong_number_is_a_finding(monkeypatch):
    honest = pursuit.encode

    def boastful(*args, **kwargs):
        codes = honest(*args, **kwargs)
        codes.residual_norms[...] *= 0.9
        return codes

    monkeypatch.setattr(pursuit, "encode", boastful)
    outcomes = [run_case("encode", 0, number) for number in range(20)]
    assert sum("residual norm" in outcome.problem for outcome in outcomes) > 5


@pytest.mark.parametrize(
    "raised", [ZeroDivisionError("no"), KeyError("atoms"), InputError("something is wrong")]
)
def test_another_exception_is_a_finding(monkeypatch, raised):
    def fail(*args, **kwargs):
        raise raised

    monkeypatch.setattr(pursuit, "encode", fail)
    outcomes = [run_case("encode", 0, number) for number in range(5)]
    assert all(outcome.problem for outcome in outcomes if outcome.calls)


def test_a_warning_is_a_finding():
    with pytest.raises(RuntimeWarning):
        Case("solve", 0, 0).ask(lambda: np.float64(1e308) * np.array([10.0]), {"x"})


def test_a_call_without_end_is_a_finding(monkeypatch):
    def never(case):
        while True:
            pass

    monkeypatch.setitem(AREAS, "solve", never)
    assert "no end" in run_case("solve", 0, 0, limit=0.05).problem


def test_a_modified_input_is_a_finding():
    case = Case("solve", 0, 0)
    array = case.keep("b", np.ones(3))
    with pytest.raises(Finding, match="modified"):
        case.ask(lambda: array.fill(2), {"b"})


def test_a_refusal_of_what_is_right_is_a_finding():
    def refuse():
        raise InputError("b: expected something else")

    case = Case("solve", 0, 0)
    with pytest.raises(Refused):
        case.ask(refuse, {"b"})
    with pytest.raises(Finding, match="nothing is wrong"):
        case.ask(refuse, {"b"}, valid=True)


@pytest.mark.parametrize(
    "text", ["no argument here", "c: another argument", "b: got <x object at 0x7f00>", "b: " * 300]
)
def test_a_poor_sentence_is_a_finding(text):
    check_sentence("b: expected an array", {"b"})
    with pytest.raises(Finding):
        check_sentence(text, {"b"})


def test_the_oracle_finds_the_least_value_where_float64_cannot_see_it():
    # f* = 0, attained with coefficients of 1e6; float64's normal equations stop far above it.
    rows = oracle.exact(np.array([[1.0, 0.0], [1.0, 1e-6]]))
    model = oracle.Squares(None, np.array([0.0, 1.0]))
    assert oracle.least_value(model, rows) < 1e-12
    assert oracle.least_value(model, rows[:1]) == pytest.approx(0.5)
