"""What `pursuit` promises to keep, and what importing it costs.

Run as a script, this file writes the names as they are now into public_names.txt.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from children import strict_python

import pursuit
from pursuit import methods

SNAPSHOT = Path(__file__).with_name("public_names.txt")
HEAVY = ("numba", "sklearn", "matplotlib", "plotly", "scipy.optimize", "torch", "dask", "pandas")


METHODS = [*methods.NAMED, *methods.FOR_FINITE_SETS, *methods.FOR_LINEAR_MODELS]


def names():
    return sorted([*pursuit.__all__, *(f"method {name}" for name in METHODS)])


def test_the_public_names_are_those_of_the_snapshot():
    promised = SNAPSHOT.read_text().split("\n")[:-1]
    hint = "if that is meant, run: python tests/unit/test_public_names.py"
    assert names() == promised, hint


def test_every_public_name_can_be_had_and_says_what_it_is():
    assert dir(pursuit) == sorted(pursuit.__all__)
    for name in pursuit.__all__:
        thing = getattr(pursuit, name)
        assert thing.__doc__, name
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        pursuit.nothing_of_the_kind


def test_each_method_is_a_function_in_snake_case():
    for name in METHODS:
        function = getattr(methods, name.replace("-", "_"))
        assert function() == methods.as_method(name)
        assert function().name == name
        assert function.__doc__


def heavy_modules_after(code):
    """Those that a fresh process has loaded after running `code`."""
    script = f"{code}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    run = subprocess.run(strict_python("-c", script), capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_importing_pursuit_loads_nothing_heavy():
    assert heavy_modules_after("import pursuit") == []
    assert heavy_modules_after("import numba") == ["numba"]


def test_a_first_run_loads_nothing_heavy_either():
    code = """
import numpy as np
from pursuit import Dictionary, Sampling, SquaredDistance, solve
atoms = Dictionary(np.eye(3))
for method in ("matching-pursuit", "accelerated-matching-pursuit", "accelerated-random"):
    str(solve(SquaredDistance(np.ones(3)), atoms, method))
"""
    assert heavy_modules_after(code) == []


def test_importing_solve_and_encode_loads_no_linear_algebra():
    code = "import sys; from pursuit import Dictionary, SquaredDistance, encode, solve"
    assert heavy_modules_after(f"{code}; assert 'scipy.linalg' not in sys.modules") == []


def test_the_library_logs_to_nobody_unless_asked():
    code = "import logging, pursuit; print(logging.getLogger('pursuit').handlers)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "NullHandler" in run.stdout


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join(names()) + "\n")
