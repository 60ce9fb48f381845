"""Processes that tests start take for errors what the tests take for errors."""

import subprocess

import children
import pytest


def test_they_are_told_which_warnings_this_run_passes_over(pytestconfig):
    assert children.passed_over == (pytestconfig.getoption("pythonwarnings") or [])


@pytest.mark.parametrize(
    ("passed_over", "fails"), [([], True), (["ignore::UserWarning"], False)], ids=["none", "one"]
)
def test_a_warning_is_an_error_but_where_it_is_passed_over(passed_over, fails, monkeypatch):
    monkeypatch.setattr(children, "passed_over", passed_over)
    command = children.strict_python("-c", "import warnings; warnings.warn('old')")
    assert (subprocess.run(command, capture_output=True).returncode != 0) == fails
