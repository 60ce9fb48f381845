"""Compiled steps of `solve` equal the iterations of the rules up to rounding, and no bit of a run
depends on how often it is recorded or where it is stopped."""

from dataclasses import dataclass

import numpy as np
import pytest

from pursuit import (
    Backtracking,
    Dictionary,
    ExactLineSearch,
    InputError,
    LeastSquares,
    Quadratic,
    Replay,
    Shifts,
    Smooth,
    SquaredDistance,
    methods,
    solve,
)
from pursuit.rules.directions import Direction
from pursuit.rules.run import Choice
from pursuit.rules.steps import Step
from pursuit.solving import compiled as compiling
from pursuit.solving.compiled import GramSteps

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
def compiled(monkeypatch):
    """A switch: whether runs are compiled that may be; it lists how many steps compiled made."""
    made, call = [], GramSteps.__call__

    def counted(self, most, limits):
        before = self._run.t
        progress = call(self, most, limits)
        made.append(self._run.t - before)
        return progress

    monkeypatch.setattr(GramSteps, "__call__", counted)

    def switch(on):
        made.clear()
        monkeypatch.setattr(compiling, "LOADING_SECONDS", 0.0 if on else np.inf)
        return made

    return switch


def problem(dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((N, D)) * np.exp(rng.standard_normal((N, 1)))
    return SquaredDistance(rng.standard_normal(D).astype(dtype)), Dictionary(atoms.astype(dtype))


def assert_same_bits(a, b):
    assert (a.status, a.message, a.iterations) == (b.status, b.message, b.iterations)
    # A resumed run computes its Gram rows again.
    assert (a.counts.oracle_calls, a.counts.products) == (b.counts.oracle_calls, b.counts.products)
    np.testing.assert_array_equal(a.coef.toarray(), b.coef.toarray())
    np.testing.assert_array_equal(a.x, b.x)


def assert_close(a, b):
    """Two runs of which each step is rounded in another way; differences grow with their number."""
    assert (a.status, a.iterations) == (b.status, b.iterations)
    eps = np.finfo(a.x.dtype).eps
    assert a.counts.oracle_calls == b.counts.oracle_calls
    assert a.counts.products == pytest.approx(b.counts.products, rel=1e-9)
    size = np.abs(a.coef.toarray()).max()
    np.testing.assert_allclose(a.coef.toarray(), b.coef.toarray(), rtol=0, atol=1000 * eps * size)
    np.testing.assert_array_equal(a.trace.iteration, b.trace.iteration)
    scale = np.abs(a.trace.value).max()
    np.testing.assert_allclose(a.trace.value, b.trace.value, rtol=0, atol=1000 * eps * scale)


def compare(compiled, *arguments, **options):
    """The same run by the rules and by the compiled; the result."""
    options = {"max_iter": 1000, "every": 100, **options}
    compiled(False)
    by_rules = solve(*arguments, **options)
    made = compiled(True)
    by_compiled = solve(*arguments, **options)
    assert sum(made) == by_compiled.iterations
    assert_close(by_rules, by_compiled)
    return by_compiled


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit_atoms", [True, False])
def test_a_thousand_iterations(name, dtype, unit_atoms, compiled):
    f, atoms = problem(dtype)
    result = compare(compiled, f, atoms, METHODS[name], tol=0, unit_atoms=unit_atoms, rng=3)
    assert result.iterations == 1000


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    "stop", [{"rtol": 0.6}, {"n_nonzero": 7}, {"tol": 1e-2}, {"target": 11.0}, {"max_iter": 77}]
)
def test_the_tests_that_end_a_run_are_met_at_the_same_iteration(name, stop, compiled):
    compare(compiled, *problem(), METHODS[name], every=50, **{"tol": 0, **stop})


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("is_compiled", [True, False])
def test_neither_recording_nor_stopping_changes_a_bit(name, is_compiled, compiled):
    f, atoms = problem()
    made = compiled(is_compiled)
    options = {"tol": 0, "max_iter": 700}
    whole = solve(f, atoms, METHODS[name], every=700, **options)
    assert sum(made) == (700 if is_compiled else 0)
    for every in (1, 37):
        assert_same_bits(whole, solve(f, atoms, METHODS[name], every=every, **options))
    part = None
    for end in (1, 99, 333, 700):
        part = solve(f, atoms, METHODS[name], tol=0, every=50, max_iter=end, resume=part)
    assert_same_bits(whole, part)


@pytest.mark.parametrize("is_compiled", [True, False])
def test_a_resumed_run_is_compiled_if_it_was_begun_so(is_compiled, compiled):
    f, atoms = problem()
    compiled(is_compiled)
    whole = solve(f, atoms, max_iter=200, tol=0)
    half = solve(f, atoms, max_iter=100, tol=0)
    made = compiled(not is_compiled)
    assert_same_bits(whole, solve(f, atoms, max_iter=200, tol=0, resume=half))
    assert sum(made) == (100 if is_compiled else 0)


def test_large_runs_are_compiled_whatever_their_limits_and_small_ones_never():
    rng = np.random.default_rng(0)
    f = SquaredDistance(rng.standard_normal(5))
    for n, expected in ((200, False), (2000, True)):
        atoms = Dictionary(rng.standard_normal((n, 5)))
        for options in ({"max_iter": 1}, {"max_iter": 3, "every": 1, "max_time": 1e-9}):
            assert solve(f, atoms, **options).state.numbers["compiled"] is expected
        assert solve(f, atoms, "orthogonal", max_iter=2).state.numbers["compiled"] is False


def test_divergence_is_noticed_at_the_same_iteration(compiled):
    f, atoms = problem(seed=1)
    method = methods.accelerated_matching_pursuit(nu=1.0)
    ends = []
    for is_compiled in (False, True):
        compiled(is_compiled)
        ends.append(solve(f, atoms, method, tol=0, max_iter=5000))
    assert [end.status.name for end in ends] == ["DIVERGED"] * 2
    assert ends[0].iterations == ends[1].iterations


def test_other_quadratics(compiled):
    rng = np.random.default_rng(5)
    A = rng.standard_normal((25, D))
    atoms = Dictionary(rng.standard_normal((N, D)))
    H = A.T @ A  # of rank 25 in 40 dimensions
    for f in (LeastSquares(A, rng.standard_normal(25)), Quadratic(H, H @ rng.standard_normal(D))):
        for name in ("matching-pursuit", "accelerated-random", "exact"):
            compare(compiled, f, atoms, METHODS[name], tol=0, target=-np.finfo(float).max)


@pytest.mark.parametrize("name", ["matching-pursuit", "affine-invariant", "accelerated-random"])
def test_atoms_that_are_moved_along_and_not_stored(name, compiled):
    rng = np.random.default_rng(6)
    f = LeastSquares(rng.standard_normal((25, D)), rng.standard_normal(25))
    atoms = Shifts(rng.standard_normal((2, 7)).astype(np.float32), D)
    compare(compiled, f, atoms, METHODS[name], tol=0, max_iter=300)


def test_a_flat_direction_gets_no_step(compiled):
    f = Quadratic(np.diag([1.0, 2.0, 0.0]), [1.0, 1.0, 0.0])
    atoms = Dictionary(np.vstack([np.eye(3), [[0, 0, 1.0]]]))
    compare(compiled, f, atoms, METHODS["exact, at random"], tol=0, max_iter=200)


def test_a_start_of_ones_own(compiled):
    f, atoms = problem()
    x0 = atoms.combine(np.linspace(-1, 1, N))
    compare(compiled, f, atoms, METHODS["accelerated-matching-pursuit"], x0, rtol=0.7, tol=0)


def test_ties_are_broken_alike(compiled):
    rng = np.random.default_rng(2)
    atoms = Dictionary(np.eye(70))
    f = SquaredDistance(rng.choice([-1.0, 1.0], 70))
    compare(compiled, f, atoms, METHODS["greedy-greedy"], tol=0, max_iter=300)


@dataclass(frozen=True)
class Cautious(Step):
    """h_j = 1.5 L‖z_j‖², and no word on how to start."""

    def bounds(self, problem):
        return 1.5 * problem.f.L * problem.atoms.norms.astype(np.float64) ** 2


@pytest.mark.parametrize("make", [methods.matching_pursuit, methods.accelerated_matching_pursuit])
def test_a_step_of_your_own_that_gives_bounds_runs_compiled(compiled, make):
    compare(compiled, *problem(), make(step=Cautious()), tol=0)
    ours = solve(*problem(), make(step=Cautious()), max_iter=40, tol=0, every=20)
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


def test_a_step_without_bounds_is_left_to_the_rules(compiled):
    made = compiled(True)
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
            return Choice(z, x.correlation(z), np.nan)

        return choose

    def ahead(self, run, purpose, most):
        return np.arange(run.t, run.t + most) % N


def test_a_direction_of_your_own_that_looks_ahead_runs_compiled(compiled):
    method = methods.matching_pursuit(direction=InTurn())
    compare(compiled, *problem(), method, tol=0)
    made = compiled(True)
    solve(*problem(), method, max_iter=100, tol=0, every=50)
    assert sum(made) == 100


def test_picks_of_no_atom_are_refused_before_a_kernel_reads_them(compiled):
    class Beyond(InTurn):
        def ahead(self, run, purpose, most):
            return super().ahead(run, purpose, most) + 1

    compiled(True)
    with pytest.raises(InputError, match=r"direction: Beyond.ahead gives .* from 0 to 29"):
        solve(*problem(), methods.matching_pursuit(direction=Beyond()), tol=0, every=100)


def test_limits_that_no_kernel_could_hold(compiled):
    compare(compiled, *problem(), METHODS["matching-pursuit"], n_nonzero=2**70, tol=0)


def test_replayed_atoms_that_run_out_are_an_error(compiled):
    compiled(True)
    method = methods.random_pursuit()
    method = methods.Method("replay", methods.Greedy(Replay([0, 1, 2] * 20)), method.momentum)
    with pytest.raises(InputError, match="has no atom for iteration 60"):
        solve(*problem(), method, max_iter=100, every=50, tol=0)
