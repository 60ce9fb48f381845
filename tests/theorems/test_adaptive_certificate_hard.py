"""β_t(f(x_t) − f*) ≤ ½‖x* − x0‖²_P, surely, on 1,000 problems made to break it."""

import numpy as np
import pytest
from theorems.adaptive_runs import Watched, metric
from unit.hard_problems import COUNT, hard_problem

from pursuit import solve

CHUNK = 50


@pytest.mark.parametrize("first", range(0, COUNT, CHUNK))
def test_exploring_all_atoms_the_bound_holds_surely_whatever_the_problem(first):
    for number in range(first, first + CHUNK):
        f, given = hard_problem(number)
        atoms = given.unit().atoms
        # Where the slope has fallen to 1e-9, f has fallen to f* up to about 1e-18.
        x_star = solve(f, atoms, "accelerated", tol=1e-9, max_iter=10_000).x
        f_star, bound = f.value(x_star), 0.5 * float(x_star @ metric(atoms.matrix) @ x_star)
        watched = Watched(f, atoms, patience=0, restart=False)
        slope = watched.stepper.x.largest_slope()
        for _ in range(15):
            if watched.step().slope < 1e-6 * slope:
                break
            rounding = 1e-13 * watched.beta * abs(f.value(np.zeros(f.shape)))
            reached = watched.beta * (f.value(watched.x) - f_star)
            assert reached <= bound * (1 + 1e-6) + rounding, number
