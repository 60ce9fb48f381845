"""A short run of the fuzzer, and that it finds what it is there to find."""

import numpy as np
import pytest
from fuzz import run as runner
from fuzz import truth
from fuzz.case import Case, Finding, Rejected, check_message

import pursuit
from pursuit import InputError

CASES = {"penalized": 10, "commands": 18, "learn": 15, "decompose": 10}
"""Cases of a short run; 25 where no number is given."""


def run_cases(area, count):
    """Return the outcomes of the first cases of an area."""
    return [runner.run_case(area, 0, number) for number in range(count)]


@pytest.mark.parametrize("area", runner.AREAS)
def test_every_call_is_confirmed_or_rejected_with_a_message(area):
    outcomes = run_cases(area, CASES.get(area, 25))
    problems = {outcome.number: outcome.problem for outcome in outcomes if outcome.problem}
    assert not problems
    assert sum(outcome.calls for outcome in outcomes) >= 20


def test_a_case_is_the_same_whenever_it_is_run():
    first, second, other = (Case("solve", 3, number) for number in (17, 17, 18))
    for case in (first, second, other):
        runner.area_of("solve")(case)
        case.close()
    assert repr(first.facts) == repr(second.facts) != repr(other.facts)


def test_a_wrong_residual_norm_is_a_finding(monkeypatch):
    encode = pursuit.encode

    def wrong(*args, **kwargs):
        codes = encode(*args, **kwargs)
        codes.residual_norms[...] *= 0.9
        return codes

    monkeypatch.setattr(pursuit, "encode", wrong)
    outcomes = run_cases("encode", 20)
    assert sum("residual norm" in outcome.problem for outcome in outcomes) > 5


@pytest.mark.parametrize("error", [ZeroDivisionError("no"), InputError("something is wrong")])
def test_another_error_is_a_finding(monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(pursuit, "encode", fail)
    assert all(outcome.problem for outcome in run_cases("encode", 5))


def test_a_warning_is_a_finding():
    with pytest.raises(RuntimeWarning), np.errstate(over="warn"):
        Case("solve", 0, 0).call(lambda: np.float64(1e308) * np.array([10.0]))


def test_a_hang_is_a_finding(monkeypatch):
    def hang(case):
        while True:
            pass

    monkeypatch.setattr(runner, "area_of", lambda area: hang)
    monkeypatch.setattr(runner, "LIMIT", 0.05)
    assert "no end" in runner.run_case("solve", 0, 0).problem


def test_a_modified_input_is_a_finding():
    case = Case("solve", 0, 0)
    array = case.input("b", np.ones(3))
    with pytest.raises(Finding, match="modified"):
        case.call(array.fill, 2)


def test_a_rejection_of_valid_input_is_a_finding():
    def reject():
        raise InputError("b must be something else, got 3")

    with pytest.raises(Rejected):
        Case("solve", 0, 0).call(reject, names=("b",), valid=False)
    with pytest.raises(Finding, match="valid input"):
        Case("solve", 0, 0).call(reject, names=("b",))


@pytest.mark.parametrize(
    "text", ["no argument here", "c must be 1", "b: <x object at 0x7f00>", "b: " * 300, "b:\nline"]
)
def test_a_poor_message_is_a_finding(text):
    check_message("b must be an array, got 3", {"b"})
    with pytest.raises(Finding):
        check_message(text, {"b"})


def test_the_least_value_is_found_where_atoms_nearly_depend_on_each_other():
    # f* = 0, attained with coefficients of 1e6.
    rows = truth.exact(np.array([[1.0, 0.0], [1.0, 1e-6]]))
    f = truth.Loss("squares", np.eye(2), np.array([0.0, 1.0]))
    assert truth.least_value(f, rows) < 1e-12
    assert truth.least_value(f, rows[:1]) == pytest.approx(0.5)


def test_coordinate_descent_reaches_the_lasso_minimum():
    b, ones = np.array([3.0, -0.5, -2.0]), np.ones(3)
    f = truth.Loss("squares", np.eye(3), b)
    charge = truth.Charge(truth.exact(ones), truth.exact(-9 * ones), truth.exact(9 * ones))
    start = truth.exact(np.zeros(3))
    least = truth.descend(f, truth.exact(np.eye(3)), charge, start)
    assert least == pytest.approx(0.5 + 0.125 + 0.5 + 2 + 1)
