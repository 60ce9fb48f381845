"""Compiled stretches of `solve` are, bit for bit, the iterations of the rules."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from pursuit import (
    Backtracking,
    Dictionary,
    ExactLineSearch,
    InputError,
    LeastSquares,
    Problem,
    Quadratic,
    Replay,
    Shifts,
    Smooth,
    SquaredDistance,
    methods,
    solve,
)
from pursuit.rules.directions import Direction
from pursuit.rules.run import Choice, Run
from pursuit.rules.steps import Step
from pursuit.solving.compiled import Stretch
from pursuit.solving.ends import Watched
from pursuit.solving.stopping import Stopping

METHODS = {
    "matching-pursuit": methods.matching_pursuit(),
    "affine-invariant": methods.affine_invariant(),
    "random-pursuit": methods.random_pursuit(),
    "weighted": methods.random_pursuit(sampling=np.arange(1, 31) / np.arange(1, 31).sum()),
    "accelerated-random": methods.accelerated_random(),
    "accelerated-matching-pursuit": methods.accelerated_matching_pursuit(),
    "greedy-greedy": methods.greedy_greedy(),
    "exact": methods.matching_pursuit(step=ExactLineSearch()),
    "exact, at random": methods.random_pursuit(step=ExactLineSearch()),
    "replayed": methods.accelerated_matching_pursuit(
        direction=Replay(np.random.default_rng(0).integers(0, 30, 1500).tolist()),
        probe=Replay(np.random.default_rng(1).integers(0, 30, 1500).tolist()),
    ),
}
N, D = 30, 40


@pytest.fixture
def kernels(monkeypatch):
    """A switch for the kernels; it lists the iterations that they made."""
    made, call = [], Stretch.__call__

    def counted(self, most):
        before = self._run.t
        progress = call(self, most)
        made.append(self._run.t - before)
        return progress

    monkeypatch.setattr(Stretch, "__call__", counted)

    def switch(on):
        made.clear()
        chosen = on if callable(on) else lambda seconds: on
        monkeypatch.setattr(Stretch, "worth_it", staticmethod(chosen))
        return made

    return switch


def problem(dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((N, D)) * np.exp(rng.standard_normal((N, 1)))
    return SquaredDistance(rng.standard_normal(D).astype(dtype)), Dictionary(atoms.astype(dtype))


def assert_equal(a, b):
    assert (a.status, a.message, a.iterations) == (b.status, b.message, b.iterations)
    # A resumed run computes its Gram rows anew.
    assert (a.counts.oracle_calls, a.counts.products) == (b.counts.oracle_calls, b.counts.products)
    np.testing.assert_array_equal(a.coef.toarray(), b.coef.toarray())
    np.testing.assert_array_equal(a.x, b.x)
    for column in ("iteration", "value", "slope", "support"):
        np.testing.assert_array_equal(getattr(a.trace, column), getattr(b.trace, column))


def compare(kernels, *arguments, **options):
    """The same run by the rules and by the kernels; the result."""
    options = {"max_iter": 1000, "every": 100, **options}
    kernels(False)
    by_rules = solve(*arguments, **options)
    made = kernels(True)
    by_kernels = solve(*arguments, **options)
    assert made
    assert_equal(by_rules, by_kernels)
    return by_kernels


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit_atoms", [True, False])
def test_a_thousand_iterations(name, dtype, unit_atoms, kernels):
    f, atoms = problem(dtype)
    result = compare(kernels, f, atoms, METHODS[name], tol=0, unit_atoms=unit_atoms, seed=3)
    assert result.iterations == 1000


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    "stop", [{"rtol": 0.6}, {"max_atoms": 7}, {"tol": 1e-2}, {"target": 11.0}, {"max_iter": 77}]
)
def test_the_tests_that_end_a_run_are_met_at_the_same_iteration(name, stop, kernels):
    compare(kernels, *problem(), METHODS[name], every=50, **{"tol": 0, **stop})


@pytest.mark.parametrize("every", [10, 37, 400, 5000])
def test_observations_at_any_distance(every, kernels):
    for name in ("matching-pursuit", "accelerated-matching-pursuit"):
        compare(kernels, *problem(), METHODS[name], every=every, tol=0, max_iter=2300)


@pytest.mark.parametrize("name", ["random-pursuit", "accelerated-random"])
def test_a_slope_that_nobody_tests_interrupts_no_kernel(name, kernels):
    made = kernels(True)
    solve(*problem(), METHODS[name], max_iter=1000, every=1000, tol=0)
    unseen = len(made)
    made = kernels(True)
    solve(*problem(), METHODS[name], max_iter=1000, every=1000, tol=1e-12)
    assert len(made) - unseen > 1000 // (2 * N)


@pytest.mark.parametrize("name", ["random-pursuit", "accelerated-matching-pursuit", "exact"])
def test_a_run_may_change_over_at_any_iteration(name, kernels):
    f, atoms = problem()
    options = {"max_iter": 900, "every": 30, "tol": 0}
    kernels(False)
    expected = solve(f, atoms, METHODS[name], **options)
    turn = itertools.count()
    made = kernels(lambda seconds: next(turn) % 3 == 1)
    assert_equal(expected, solve(f, atoms, METHODS[name], **options))
    assert 0 < sum(made) < 900


@pytest.mark.parametrize("name", METHODS)
def test_stopped_by_one_and_resumed_by_the_other(name, kernels):
    f, atoms = problem()
    kernels(False)
    expected = solve(f, atoms, METHODS[name], max_iter=700, every=50, tol=0)
    kernels(True)
    first = solve(f, atoms, METHODS[name], max_iter=333, every=50, tol=0)
    kernels(False)
    second = solve(f, atoms, METHODS[name], max_iter=500, every=50, tol=0, resume=first)
    kernels(True)
    last = solve(f, atoms, METHODS[name], max_iter=700, every=50, tol=0, resume=second)
    assert_equal(expected, last)


def test_divergence_is_noticed_at_the_same_iteration(kernels):
    f, atoms = problem(seed=1)
    method = methods.accelerated_matching_pursuit(nu=1.0)
    result = compare(kernels, f, atoms, method, tol=0, max_iter=5000)
    assert result.status.name == "DIVERGED"


def test_other_quadratics(kernels):
    rng = np.random.default_rng(5)
    A = rng.standard_normal((25, D))
    atoms = Dictionary(rng.standard_normal((N, D)))
    H = A.T @ A  # of rank 25 in 40 dimensions
    for f in (LeastSquares(A, rng.standard_normal(25)), Quadratic(H, H @ rng.standard_normal(D))):
        for name in ("matching-pursuit", "accelerated-random", "exact"):
            compare(kernels, f, atoms, METHODS[name], tol=0, target=-np.finfo(float).max)


@pytest.mark.parametrize("name", ["matching-pursuit", "affine-invariant", "accelerated-random"])
def test_atoms_that_are_moved_along_and_not_stored(name, kernels):
    rng = np.random.default_rng(6)
    f = LeastSquares(rng.standard_normal((25, D)), rng.standard_normal(25))
    atoms = Shifts(rng.standard_normal((2, 7)).astype(np.float32), D)
    compare(kernels, f, atoms, METHODS[name], tol=0, max_iter=300)


def test_a_flat_direction_gets_no_step(kernels):
    f = Quadratic(np.diag([1.0, 2.0, 0.0]), [1.0, 1.0, 0.0])
    atoms = Dictionary(np.vstack([np.eye(3), [[0, 0, 1.0]]]))
    compare(kernels, f, atoms, METHODS["exact, at random"], tol=0, max_iter=200)


def test_a_start_of_ones_own(kernels):
    f, atoms = problem()
    x0 = atoms.combine(np.linspace(-1, 1, N))
    compare(kernels, f, atoms, METHODS["accelerated-matching-pursuit"], x0, rtol=0.7, tol=0)


def test_ties_are_broken_alike(kernels):
    rng = np.random.default_rng(2)
    atoms = Dictionary(np.eye(70))
    f = SquaredDistance(rng.choice([-1.0, 1.0], 70))
    compare(kernels, f, atoms, METHODS["greedy-greedy"], tol=0, max_iter=300)


@dataclass(frozen=True)
class Cautious(Step):
    """h_j = 1.5 L‖z_j‖², and no word on how to start."""

    def bounds(self, problem):
        return 1.5 * problem.f.L * problem.atoms.norms.astype(np.float64) ** 2


@pytest.mark.parametrize("make", [methods.matching_pursuit, methods.accelerated_matching_pursuit])
def test_a_step_of_your_own_that_gives_bounds_runs_compiled(kernels, make):
    compare(kernels, *problem(), make(step=Cautious()), tol=0)
    made = kernels(True)
    ours = solve(*problem(), make(step=Cautious()), max_iter=40, tol=0, every=20)
    assert sum(made) > 10
    theirs = solve(*problem(), make(step=Smooth(1.5)), max_iter=40, tol=0)
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-12)


@pytest.mark.parametrize(
    "given",
    [np.ones(N - 1), np.ones((N, 1)), np.full(N, np.nan), np.full(N, -1.0), 1.0, ["high"] * N],
    ids=["too few", "a column", "nan", "negative", "one number", "words"],
)
def test_bounds_that_are_none_are_refused_before_a_kernel_reads_them(given):
    class Odd(Step):
        def bounds(self, problem):
            return given

    with pytest.raises(InputError, match=r"step: Odd.bounds gives [\s\S]* one for each atom"):
        solve(*problem(), methods.matching_pursuit(step=Odd()))


def test_a_step_without_bounds_is_left_to_the_rules(kernels):
    made = kernels(True)
    method = methods.matching_pursuit(step=Backtracking())
    assert solve(*problem(), method, max_iter=100, tol=0, every=50).iterations == 100
    assert sum(made) == 0


@dataclass(frozen=True)
class InTurn(Direction):
    """One atom after the other, known ahead."""

    blind = True

    def start(self, run, purpose="picks"):
        def choose(x):
            z = run.t % N
            return Choice(z, x.slope(z), np.nan)

        return choose

    def ahead(self, run, purpose, most):
        return np.arange(run.t, run.t + most) % N


def test_a_direction_of_your_own_that_looks_ahead_runs_compiled(kernels):
    method = methods.matching_pursuit(direction=InTurn())
    compare(kernels, *problem(), method, tol=0)
    made = kernels(True)
    solve(*problem(), method, max_iter=100, tol=0, every=50)
    assert sum(made) > 50


def test_picks_of_no_atom_are_refused_before_a_kernel_reads_them(kernels):
    class Beyond(InTurn):
        def ahead(self, run, purpose, most):
            return super().ahead(run, purpose, most) + 1

    kernels(True)
    with pytest.raises(InputError, match=r"direction: Beyond.ahead gives .* from 0 to 29"):
        solve(*problem(), methods.matching_pursuit(direction=Beyond()), tol=0, every=100)


def test_limits_that_no_kernel_could_hold(kernels):
    compare(kernels, *problem(), METHODS["matching-pursuit"], max_atoms=2**70, tol=0)


def test_kernels_are_not_loaded_by_a_run_that_is_nearly_over(monkeypatch):
    monkeypatch.setattr("pursuit.solving.compiled._KERNELS", "not loaded")

    def worth_it(seconds, **stop):
        given = Problem(*problem())
        limits = {"rtol": None, "target": None, "max_atoms": None, "max_time": None, **stop}
        rules = METHODS["matching-pursuit"]
        stepper = rules.momentum.start(
            run := Run(given, 0), rules.advance, rules.advance.point(given, np.zeros(D))
        )
        stopping = Stopping.checked(given, 10, 0, **limits)
        return Stretch(run, rules, stepper, stopping, Watched.of(stepper.x), 10).worth_it(seconds)

    assert not worth_it(0.5)
    assert worth_it(2.0)
    assert not worth_it(2.0, max_time=3.0)
    assert worth_it(2.0, max_time=60.0)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert not worth_it(2.0)


def test_replayed_atoms_that_run_out_are_an_error(kernels):
    kernels(True)
    method = methods.random_pursuit()
    method = methods.Method("replay", methods.Greedy(Replay([0, 1, 2] * 20)), method.momentum)
    with pytest.raises(ValueError, match="60 atoms were given"):
        solve(*problem(), method, max_iter=100, every=50, tol=0)
