"""The compiled batch runner equals `solve`, signal by signal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from encoded import replayed

from pursuit import (
    Dictionary,
    ExactLineSearch,
    InputError,
    Problem,
    Replay,
    SquaredDistance,
    methods,
    solve,
)
from pursuit.encoding.convergence import BLOCK, run_batch
from pursuit.encoding.stepwise import SEGMENT, rules_of

METHODS = {
    "matching-pursuit": methods.matching_pursuit(),
    "exact line search": methods.matching_pursuit(step=ExactLineSearch()),
    "affine-invariant": methods.affine_invariant(),
    "random-pursuit": methods.random_pursuit(),
    "accelerated-random": methods.accelerated_random(),
    "accelerated-matching-pursuit": methods.accelerated_matching_pursuit(),
    "greedy-greedy": methods.greedy_greedy(),
    "Algorithm 4 with nu = 1": methods.accelerated_matching_pursuit(nu=1),
}


def problem_of(n, d, signals, seed=0):
    """Atoms of unequal length, and signals in no special position."""
    rng = np.random.default_rng(seed)
    atoms = Dictionary(rng.standard_normal((n, d)) * rng.uniform(0.5, 2, (n, 1)))
    return atoms, rng.standard_normal((signals, d))


def stated(atoms, signals):
    return atoms.matrix @ atoms.matrix.T, -signals @ atoms.matrix.T


def given(draws):
    return lambda rng, signals, span: draws[:, slice(*span)]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("n", "steps"), [(6, SEGMENT + 900), (150, 1100)])
def test_every_compiled_method_equals_solve_signal_by_signal(name, n, steps):
    if "nu = 1" in name:
        steps = 25  # solve stops what diverges soon after
    atoms, signals = problem_of(n, 40, signals=3)
    rules = rules_of(METHODS[name], Problem(SquaredDistance(signals[0]), atoms))
    rng = np.random.default_rng(1)
    picks, probes = (rng.integers(0, n, (3, steps), dtype=np.int32) for _ in range(2))
    compiled = replace(
        rules,
        picks=rules.picks and given(picks),
        probes=rules.probes and given(probes),
    )
    grid = np.unique([0, 1, 7, steps // 3, steps // 2, steps])
    runs = run_batch(compiled, *stated(atoms, signals), grid)
    total = np.zeros(len(grid))
    for i, signal in enumerate(signals):
        result = solve(
            SquaredDistance(signal),
            atoms,
            replayed(METHODS[name], rules, picks[i], probes[i]),
            max_iter=steps,
            tol=0,
            every=1,
            unit_atoms=False,
        )
        assert result.iterations == steps
        coef = result.coef.toarray()
        np.testing.assert_allclose(runs.coef[i], coef, rtol=0, atol=1e-9 * np.abs(coef).max())
        total += result.trace.value[grid] - result.trace.value[0]
    np.testing.assert_allclose(runs.values, total, rtol=1e-9)


def test_values_above_the_optimum_and_above_the_start_differ_by_one_constant():
    atoms, signals = problem_of(8, 20, signals=40)
    gram, correlations = stated(atoms, signals)
    rules = rules_of(METHODS["accelerated-random"], Problem(SquaredDistance(signals[0]), atoms))
    best = np.linalg.lstsq(atoms.matrix.T, signals.T, rcond=None)[0].T
    above_start = run_batch(rules, gram, correlations, [0, 3, 50, 400])
    above_best = run_batch(rules, gram, correlations, [0, 3, 50, 400], optimum=best)
    height = 0.5 * np.sum((best @ atoms.matrix) ** 2)
    np.testing.assert_allclose(above_best.values - height, above_start.values, atol=1e-12 * height)
    assert above_best.values[-1] > 0


def test_the_number_of_threads_changes_no_bit_and_every_signal_has_draws_of_its_own():
    atoms, signals = problem_of(8, 20, signals=1)
    many = np.repeat(signals, 2 * BLOCK + 5, axis=0)
    rules = rules_of(METHODS["random-pursuit"], Problem(SquaredDistance(signals[0]), atoms))
    one, four = (
        run_batch(rules, *stated(atoms, many), [20], seed=3, threads=threads) for threads in (1, 4)
    )
    assert one.coef.tobytes() == four.coef.tobytes()
    assert one.values.tobytes() == four.values.tobytes()
    assert len(np.unique(one.coef, axis=0)) == len(many)
    other = run_batch(rules, *stated(atoms, many), [20], seed=4)
    assert not np.array_equal(one.coef, other.coef)


def test_atoms_are_drawn_with_the_probabilities_asked_for():
    p = np.array([0.7, 0.2, 0.1, 0.0])
    atoms = Dictionary(np.eye(4)[[0, 1, 2, 2]])
    method = methods.random_pursuit(sampling=p)
    rules = rules_of(method, Problem(SquaredDistance(np.ones(4)), atoms))
    draws = rules.picks(np.random.default_rng(0), 50, (0, 2000))
    shares = np.bincount(draws.ravel(), minlength=4) / draws.size
    np.testing.assert_allclose(shares, p, atol=0.005)
    assert shares[3] == 0


@pytest.mark.parametrize("name", METHODS)
def test_an_iteration_costs_as_many_products_as_solve_counts(name):
    atoms, signals = problem_of(9, 20, signals=1)
    f = SquaredDistance(signals[0])
    rules = rules_of(METHODS[name], Problem(f, atoms))
    result = solve(f, atoms, METHODS[name], max_iter=7, tol=0, unit_atoms=False)
    assert result.counts.products == pytest.approx(7 * rules.products)


def test_float32_stays_float32_and_is_close_to_float64():
    atoms, signals = problem_of(70, 40, signals=5)
    gram, correlations = stated(atoms, signals)
    for name in ("matching-pursuit", "accelerated-random"):
        rules = rules_of(METHODS[name], Problem(SquaredDistance(signals[0]), atoms))
        double = run_batch(rules, gram, correlations, [0, 30])
        single = run_batch(rules, gram.astype(np.float32), correlations.astype(np.float32), [0, 30])
        assert single.coef.dtype == np.float32
        assert single.values.dtype == np.float64
        np.testing.assert_allclose(single.values, double.values, rtol=1e-4)


def test_a_run_that_overflows_has_an_infinite_value_and_never_a_nan():
    atoms, signals = problem_of(30, 20, signals=3)
    method = methods.accelerated_matching_pursuit(nu=1e-3)
    rules = rules_of(method, Problem(SquaredDistance(signals[0]), atoms))
    runs = run_batch(rules, *stated(atoms, signals), [1, 2000, 4000])
    assert np.isfinite(runs.values[0])
    assert runs.values[-1] == np.inf


def test_inputs_are_not_modified():
    atoms, signals = problem_of(5, 10, signals=4)
    gram, correlations = stated(atoms, signals)
    before = gram.copy(), correlations.copy()
    rules = rules_of(METHODS["greedy-greedy"], Problem(SquaredDistance(signals[0]), atoms))
    run_batch(rules, gram, correlations, [10])
    np.testing.assert_array_equal(gram, before[0])
    np.testing.assert_array_equal(correlations, before[1])


def test_a_method_without_an_array_form_has_no_rules():
    atoms, signals = problem_of(5, 10, signals=1)
    assert rules_of(methods.orthogonal(), Problem(SquaredDistance(signals[0]), atoms)) is None


@pytest.mark.parametrize("grid", [[], [3, 3], [5, 2], [-1, 4], [0.5], 7])
def test_a_grid_that_does_not_increase_is_refused(grid):
    atoms, signals = problem_of(5, 10, signals=1)
    rules = rules_of(METHODS["matching-pursuit"], Problem(SquaredDistance(signals[0]), atoms))
    with pytest.raises(InputError, match="grid: expected"):
        run_batch(rules, *stated(atoms, signals), grid)


def test_wrong_shapes_and_foreign_rows_are_refused_before_a_kernel_sees_them():
    atoms, signals = problem_of(5, 10, signals=2)
    gram, correlations = stated(atoms, signals)
    problem = Problem(SquaredDistance(signals[0]), atoms)
    rules = rules_of(METHODS["matching-pursuit"], problem)
    with pytest.raises(InputError, match="gram"):
        run_batch(rules, gram[:4], correlations, [5])
    with pytest.raises(InputError, match="correlations"):
        run_batch(rules, gram, correlations[:, :4], [5])
    with pytest.raises(InputError, match="row numbers"):
        rules_of(methods.matching_pursuit(direction=Replay([0, 5])), problem)
    foreign = replace(rules, picks=lambda rng, signals, span: np.full((2, span[1]), 5))
    with pytest.raises(InputError, match="draws: expected row numbers below 5"):
        run_batch(foreign, gram, correlations, [3])
    short = rules_of(methods.matching_pursuit(direction=Replay([0, 4])), problem)
    with pytest.raises(InputError, match="2 atoms were given"):
        run_batch(short, gram, correlations, [3])
