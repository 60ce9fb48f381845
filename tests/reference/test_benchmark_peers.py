"""What benchmarks compare with solves the problem that they say it does."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from pursuit import L1, Coordinates, Logistic, solve

FILE = Path(__file__).parents[2] / "benchmarks" / "coordinate_descent_peers.py"


@pytest.fixture
def peers(monkeypatch):
    spec = importlib.util.spec_from_file_location(FILE.stem, FILE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, FILE.stem, module)  # its dataclasses look for it there
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("solver", "penalty"),
    [("liblinear", "l1"), ("saga", "l1"), ("liblinear", "l2"), ("lbfgs", "l2")],
)
def test_logistic_regression_has_the_penalty_of_the_task(peers, solver, penalty):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(60))
    task = peers.Task(X, y, logistic=True, **{penalty: 3.0})
    best = solve(
        Logistic(X, y, l2=task.l2),
        Coordinates(8),
        penalty=L1(task.l1) if task.l1 else None,
        tol=1e-12,
    )
    found = peers.logistic(solver)(task, 1e-10)
    np.testing.assert_allclose(found, best.x, atol=1e-5)
