"""The compiled acceleration takes the steps of the reference."""

import numpy as np
import pytest
from theorems.adaptive_runs import Watched

from pursuit import Dictionary, SquaredDistance, solve
from pursuit.encoding import adaptive_kernel as kernel


def problem(kind):
    rng = np.random.default_rng({"gaussian": 0, "coherent": 1, "duplicate": 2}[kind])
    Z = rng.standard_normal((30, 12))
    if kind == "coherent":
        Z = 0.1 * Z + rng.standard_normal(12)
    if kind == "duplicate":
        Z[15:] = Z[:15]
    atoms = Dictionary(Z).unit().atoms
    return SquaredDistance(100 * rng.standard_normal(12)), atoms


KINDS = ["gaussian", "coherent", "duplicate"]


def state_of(watched):
    """The kernel's arrays from what the reference keeps."""
    n, memory, x = len(watched.stepper.x.coef), watched.run.memory, watched.stepper.x
    kept = kernel.Headings(
        np.zeros((6, n)), np.zeros((6, n)), np.zeros(6), np.zeros(6), np.zeros(1)
    )
    for name, place in (("last", kernel.LAST), ("away", kernel.AWAY)):
        kept.coef[place], kept.effect[place] = memory[f"{name}.coef"], memory[f"{name}.s"]
        kept.reach[place], kept.error[place] = memory[f"{name}:reach"], memory[f"{name}:error"]
    numbers = np.array([float(memory[key]) for key in ("beta", "bank", "kappa", "ratio")])
    return x.coef.copy(), x.s.copy(), kept, numbers


def close(ours, theirs, scale):
    return np.allclose(ours, theirs, rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize("kind", KINDS)
def test_from_the_same_state_both_take_the_same_step(kind):
    f, atoms = problem(kind)
    gram = atoms.matrix @ atoms.matrix.T
    watched = Watched(f, atoms, patience=0)
    steps = 0
    for t in range(150):
        coef, s, kept, numbers = state_of(watched)
        slope = watched.step().slope
        if slope < 1e-6 * 100:
            break
        if t % 100 == 0:  # all is computed anew
            continue
        steps += 1
        y = np.zeros(len(s))
        assert kernel._accelerate(gram, atoms.norms, coef, s, y, kept, numbers)
        x = watched.stepper.x
        after = state_of(watched)
        assert close(coef, after[0], np.abs(x.coef).max())
        assert close(s, after[1], slope)
        for ours, theirs in zip(kept[:2], after[2][:2], strict=True):
            for place in (kernel.LAST, kernel.AWAY):
                assert close(ours[place], theirs[place], np.abs(theirs[place]).max())
        assert np.allclose(numbers[[0, 2, 3]], after[3][[0, 2, 3]], rtol=1e-9)
    assert steps > 20


@pytest.mark.parametrize("kind", KINDS)
def test_whole_runs_stay_together_until_rounding_tells_them_apart(kind):
    f, atoms = problem(kind)
    gram = atoms.matrix @ atoms.matrix.T
    first = -(atoms.matrix @ f.b)[None]
    coef = np.zeros_like(first)
    for iterations in (5, 20, 40):
        kernel.accelerated(gram, atoms.norms, first, coef, iterations)
        watched = Watched(f, atoms)
        for _ in range(iterations):
            watched.step()
        assert close(coef[0] @ atoms.matrix, watched.x, np.abs(watched.x).max())


def test_many_signals_reach_their_optimum_without_a_nan():
    rng = np.random.default_rng(4)
    for kind in KINDS:
        _, atoms = problem(kind)
        signals = rng.standard_normal((20, 12)) * 10.0 ** rng.uniform(-6, 6, (20, 1))
        signals[3] = 0
        first = -(signals @ atoms.matrix.T)
        coef = np.full_like(first, np.nan)
        kernel.accelerated(atoms.matrix @ atoms.matrix.T, atoms.norms, first, coef, 10_000)
        best = np.linalg.lstsq(atoms.matrix.T, signals.T, rcond=None)[0].T @ atoms.matrix
        assert np.isfinite(coef).all()
        size = np.abs(signals).max(axis=1, keepdims=True)
        assert (np.abs(coef @ atoms.matrix - best) <= 1e-7 * size).all()


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_products_are_noted_as_solve_counts_them(kind):
    f, atoms = problem(kind)
    gram, first = atoms.matrix @ atoms.matrix.T, -(atoms.matrix @ f.b)[None]
    grid = np.array([0, 1, 5, 20, 40])
    best = np.linalg.lstsq(atoms.matrix.T, f.b, rcond=None)[0][None]
    record = kernel.Record(grid, best, np.zeros(len(grid)), np.zeros(len(grid)), 0.0)
    kernel.watched(gram, atoms.norms, first, np.zeros_like(first), record)
    trace = solve(f, atoms, "accelerated", max_iter=40, every=1, tol=0, unit_atoms=False).trace
    floor = f.value(best[0] @ atoms.matrix)
    assert np.allclose(record.values, trace.value[grid] - floor, rtol=1e-6, atol=1e-9 * floor)
    assert np.allclose(record.products, trace.products[grid], rtol=1e-12)
