"""The parameter-free acceleration on 1,000 problems made to break it."""

import numpy as np
import pytest
from unit.hard_problems import COUNT, hard_problem

from pursuit import methods, solve

CHUNK = 50
BUDGET = 50


@pytest.mark.parametrize("first", range(0, COUNT, CHUNK))
def test_no_nan_no_rise_and_the_slope_falls_to_1e_8(first):
    for number in range(first, first + CHUNK):
        f, atoms = hard_problem(number)
        result = solve(f, atoms, "accelerated", max_iter=BUDGET, tol=1e-8, rng=number)
        said = (number, type(f).__name__, result.status, result.message)
        assert np.isfinite(result.x).all(), said
        assert np.isfinite(result.weights).all(), said
        assert np.isfinite([result.value, result.slope]).all(), said
        assert np.isfinite(result.trace.value).all(), said
        assert result.value <= f.value(np.zeros(f.shape)) * (1 + 1e-12), said
        assert result.status.name == "CONVERGED", said


def test_drawing_atoms_it_neither_rises_nor_fails():
    """One and four draws, on every seventh of the same problems, in a smaller budget."""
    for number in range(0, COUNT, 7):
        f, atoms = hard_problem(number)
        method = methods.accelerated(exploration=1 + 3 * (number % 2))
        result = solve(f, atoms, method, max_iter=100, tol=1e-8, rng=number)
        assert np.isfinite(result.x).all(), number
        assert result.value <= f.value(np.zeros(f.shape)) * (1 + 1e-12), (number, result.message)
