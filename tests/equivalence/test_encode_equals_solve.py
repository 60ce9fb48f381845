"""encode() equals solve() signal by signal: random, the paper's accelerated, accelerated."""

import numpy as np
import pytest
from encoded import block_draws, replayed

from pursuit import Dictionary, Encoder, Problem, SquaredDistance, encode, methods, solve
from pursuit.encoding.stepwise import rules_of

DRAWN = ("random-pursuit", "accelerated-random", "accelerated-matching-pursuit")
NAMES = ("affine-invariant", *DRAWN, "greedy-greedy")
STEPS = 1000
EARLY = 100
"""Steps of greedy-greedy, whose choices among nearly equal atoms rounding decides later on."""
SIZES = [(6, 20), (30, 20), (70, 20)]
"""Atoms and dimensions: few, more than dimensions, and so many that residuals are kept."""


def problem_of(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * rng.uniform(0.2, 5, (n, 1)), rng


def plan_of(name, shape, steps=STEPS):
    return Encoder(problem_of(*shape, 0)[0], name, max_iter=steps).plan(np.dtype(float))


@pytest.mark.parametrize("unit_atoms", [True, False])
@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_with_the_draws_of_its_block_every_signal_gets_the_code_of_solve(name, n, d, unit_atoms):
    seed, steps = n + unit_atoms, EARLY if name == "greedy-greedy" else STEPS
    rows, rng = problem_of(n, d, seed)
    block = plan_of(name, (n, d), steps).block
    signals = rng.standard_normal((block + 2, d))
    codes = encode(signals, rows, name, max_iter=steps, rng=seed, unit_atoms=unit_atoms)
    atoms = Dictionary(rows)
    ran_on = atoms.unit().atoms if unit_atoms else atoms
    rules = rules_of(methods.NAMED[name](), Problem(SquaredDistance(np.zeros(d)), ran_on))
    draws = [block_draws(rules, size, seed, k, steps) for k, size in enumerate((block, 2))]
    for i in (0, block - 1, block + 1):
        picks, probes = (drawn[i % block] for drawn in draws[i // block])
        expected = solve(
            SquaredDistance(signals[i]),
            atoms,
            replayed(methods.NAMED[name](), rules, picks, probes),
            max_iter=steps,
            tol=0,
            unit_atoms=unit_atoms,
        ).coef.toarray()
        ours = codes.matrix[[i]].toarray()[0]
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_the_sizes_above_take_both_forms():
    forms = {name: [plan_of(name, size).form for size in SIZES] for name in NAMES}
    kept = ["gram", "gram", "products"]
    assert forms["random-pursuit"] == forms["accelerated-random"] == kept
    for name in ("affine-invariant", "accelerated-matching-pursuit", "greedy-greedy"):
        assert forms[name] == ["gram"] * 3


@pytest.mark.parametrize("n", [30, 70])
@pytest.mark.parametrize("name", NAMES)
def test_a_residual_goal_is_met_at_the_step_at_which_solve_meets_it(name, n):
    rows, rng = problem_of(n, 20, 5)
    signals = rng.standard_normal((6, 20))
    codes = encode(signals, rows, name, rtol=0.1, max_iter=STEPS, rng=1)
    atoms = Dictionary(rows)
    unit = Problem(SquaredDistance(np.zeros(20)), atoms.unit().atoms)
    rules = rules_of(methods.NAMED[name](), unit)
    picks, probes = block_draws(rules, 6, 1, 0, STEPS)
    for i, signal in enumerate(signals):
        method = replayed(methods.NAMED[name](), rules, picks[i], probes[i])
        result = solve(SquaredDistance(signal), atoms, method, rtol=0.1, max_iter=STEPS, tol=0)
        assert codes.status(i) is result.status
        assert codes.iterations[i] == result.iterations > 3


@pytest.mark.parametrize("name", DRAWN)
def test_draws_are_uniform_and_those_of_x_and_v_are_independent(name):
    rows, _ = problem_of(7, 5, 0)
    atoms = Dictionary(rows)
    rules = rules_of(methods.NAMED[name](), Problem(SquaredDistance(np.zeros(5)), atoms))
    picks, probes = block_draws(rules, 40, 3, 2, 5000)
    for drawn in (picks, probes):
        if drawn.size:
            shares = np.bincount(drawn.ravel(), minlength=7) / drawn.size
            np.testing.assert_allclose(shares, 1 / 7, atol=0.004)
    assert (picks.size > 0) == (name != "accelerated-matching-pursuit")
    assert (probes.size > 0) == (name == "accelerated-matching-pursuit")


@pytest.mark.parametrize("unit_atoms", [True, False])
@pytest.mark.parametrize(("n", "d"), [*SIZES, (40, 60), (150, 90)])
def test_the_first_steps_of_conjugate_gradients_are_those_of_solve(n, d, unit_atoms):
    """With all earlier steps kept and without, over few atoms and many."""
    rows, rng = problem_of(n, d, n + unit_atoms)
    signals, lengths = rng.standard_normal((3, d)), np.linalg.norm(rows, axis=1)
    how = {"tol": 0, "unit_atoms": unit_atoms}
    for steps in range(1, min(n, d, 10)):
        codes = encode(signals, rows, "accelerated", max_iter=steps, unit_atoms=unit_atoms)
        for signal, ours in zip(signals, codes.matrix.toarray(), strict=True):
            f, atoms = SquaredDistance(signal), Dictionary(rows)
            theirs = solve(f, atoms, "accelerated", max_iter=steps, **how).coef.toarray()
            error = np.abs((ours - theirs) * lengths).max()
            assert error <= 1e-8 * np.abs(theirs * lengths).max(), steps
