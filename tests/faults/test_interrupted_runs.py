"""Interrupted anywhere, even within a step, and resumed in another process equals uninterrupted."""

import json
import os
import subprocess
from functools import cache

import numpy as np
import pytest
from children import strict_python
from faults import interrupted_runs
from faults.interrupted_runs import METHODS, Interrupter, bits, problem, run

from pursuit import Dictionary, Function, InputError, methods, solve

KINDS = ("quadratic", "compiled", "logistic", "function", "sphere", "cone", "matrix")
PLACES = 5
"""Interrupts of a method on a kind of problem."""


def end(kind):
    """Iterations of a run; those with singular pairs take longer."""
    return 12 if kind == "matrix" else 40


@cache
def straight(kind, name, every):
    """The run that nobody interrupts."""
    return bits(run(kind, name, every, end(kind)))


def applicable(kind):
    """The methods that run on a kind of problem."""
    for name in METHODS:
        try:
            run(kind, name, 1, 1)
        except InputError:
            continue
        yield name


def resumed(jobs):
    """The ends of runs, each continued by another process from the file of its state."""
    other = subprocess.run(
        strict_python(interrupted_runs.__file__),
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    return json.loads(other.stdout)


def interrupted(kind, name, every, at):
    """What an interrupt before a line of the package leaves, and the last iteration observed."""
    seen = []
    with Interrupter(at), pytest.raises(KeyboardInterrupt) as caught:
        run(kind, name, every, end(kind), callback=lambda shown: seen.append(shown.iteration))
    return caught.value.partial_result, seen[-1] if seen else 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_interrupted_before_any_line_of_the_package_equals_one_that_was_not(kind, tmp_path):
    rng, every = np.random.default_rng(0), 10 if kind == "compiled" else 1
    jobs, names = [], list(applicable(kind))
    assert len(names) >= 4
    for name in names:
        with Interrupter(-1) as counter:
            run(kind, name, every, end(kind))
        # How many lines there are depends a little on the time that they take.
        for at in rng.integers(200, 0.9 * counter.lines, PLACES).tolist():
            partial, seen = interrupted(kind, name, every, at)
            # The next record may have been made, and not shown yet.
            assert partial.iterations in (seen, seen + every)
            path = tmp_path / str(len(jobs))
            partial.state.save(path)
            jobs.append((kind, name, every, end(kind), str(path)))
    for (_, name, *_), found in zip(jobs, resumed(jobs), strict=True):
        assert found == straight(kind, name, every), name


class Flaky:
    """An f that raises when it is asked for the n-th time."""

    def __init__(self, f, error):
        self.f, self.error, self.calls, self.when = f, error, 0, -1

    def objective(self):
        value, gradient = self._counted(self.f.value), self._counted(self.f.gradient)
        return Function(value, gradient, shape=self.f.shape, L=self.f.L)

    def _counted(self, function):
        def call(x):
            self.calls += 1
            if self.calls == self.when:
                raise self.error
            return function(x)

        return call


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_run_that_f_interrupts_equals_one_that_it_did_not(name, error):
    f, atoms = problem("function")
    flaky = Flaky(f, error)
    f = flaky.objective()
    options = {"tol": 0, "rng": 5, "every": 1, "max_iter": 30}
    whole = bits(solve(f, atoms, METHODS[name], **options))
    for when in np.linspace(flaky.calls // 8, flaky.calls - 2, 12).astype(int).tolist():
        flaky.calls, flaky.when = 0, when
        with pytest.raises(error) as caught:
            solve(f, atoms, METHODS[name], **options)
        again = solve(f, atoms, METHODS[name], resume=caught.value.partial_result, **options)
        assert bits(again) == whole


@pytest.mark.parametrize("name", METHODS)
def test_an_error_in_a_callback_leaves_the_iteration_that_it_looked_at(name):
    f, atoms = problem("logistic")
    options = {"tol": 0, "rng": 5, "every": 3, "max_iter": 30}

    def fail(shown):
        if shown.iteration == 6:
            raise RuntimeError

    with pytest.raises(RuntimeError) as caught:
        solve(f, atoms, METHODS[name], callback=fail, **options)
    partial = caught.value.partial_result
    assert partial.iterations == 6
    again = solve(f, atoms, METHODS[name], resume=partial, **options)
    assert bits(again) == bits(solve(f, atoms, METHODS[name], **options))


def test_where_f_fails_for_good_there_is_no_partial_result():
    f, atoms = problem("function")
    broken = False

    def gradient(x):
        if broken:
            raise OSError("gone")
        return f.gradient(x)

    def watch(shown):
        nonlocal broken
        broken = shown.iteration == 7

    flaky = Function(f.value, gradient, shape=f.shape, L=f.L)
    with pytest.raises(OSError, match="gone") as caught:
        solve(flaky, atoms, tol=0, every=1, callback=watch)
    assert not hasattr(caught.value, "partial_result")


def test_the_partial_result_is_that_of_the_last_recorded_iteration():
    f, atoms = problem("function")
    flaky = Flaky(f, RuntimeError("f"))
    options = {"tol": 0, "every": 5, "max_iter": 30}
    recorded = solve(flaky.objective(), atoms, **options).trace
    flaky.calls, flaky.when = 0, flaky.calls // 2
    with pytest.raises(RuntimeError) as caught:
        solve(flaky.objective(), atoms, **options)
    partial = caught.value.partial_result
    rows = len(partial.trace)
    assert 1 < rows < len(recorded)
    assert partial.iterations == recorded.iteration[rows - 1]
    np.testing.assert_array_equal(partial.trace.value, recorded.value[:rows])


@pytest.mark.parametrize("make", [methods.random_pursuit, methods.accelerated_random])
def test_methods_with_random_directions_test_the_slope_every_n_iterations(make):
    (f, _), n = problem("function"), 30
    atoms = Dictionary(np.random.default_rng(1).standard_normal((n, 10)))
    ends = [
        solve(f, atoms, make(), tol=1e-4, max_iter=most, every=every)
        for most in (20_000, 33_333)
        for every in (1, 7, 1000, 33_333)
    ]
    assert {end.status.name for end in ends} == {"CONVERGED"}
    assert len({(end.iterations, end.x.tobytes()) for end in ends}) == 1
    assert ends[0].iterations % n == 0
