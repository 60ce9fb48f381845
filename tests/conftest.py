"""Settings that every test shares."""

import os
import signal
import sys

# Tests run in one process a core; BLAS threads of their own would only fight each other.
# It is read when NumPy is loaded, which happens after this file.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import children
import paper_page
import pytest
from hypothesis import settings

from pursuit import cli

# A shell that starts tests in the background has them, and what they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every machine and in every run; how long one takes is no verdict.
settings.register_profile("pursuit", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("pursuit")


def pytest_configure(config):
    """What this run passes over, the processes that it starts pass over."""
    children.passed_over[:] = config.getoption("pythonwarnings") or []


@pytest.fixture
def pursuit(monkeypatch, capsys):
    """Run the program; its exit code, standard output and standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["pursuit", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code
        return code or 0, *capsys.readouterr()

    return run


@pytest.fixture(autouse=True)
def figures_are_closed():
    """Pyplot, where something has loaded it, keeps figures open: those of a test end with it."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Let a test fail that docs/the-paper-in-code.md names for functions that it does not run."""
    named = paper_page.functions_of(pyfuncitem.nodeid)
    if not named:
        return (yield)
    with paper_page.watched(named) as missing:
        result = yield
    assert not missing, f"the paper in code says that this test runs {', '.join(sorted(missing))}"
    return result
