"""Stopped and resumed equals uninterrupted, bit for bit."""

import json
import subprocess
from functools import cache

import numpy as np
import pytest
from children import strict_python
from unit import resumed_runs
from unit.resumed_runs import bits, run

import pursuit
from pursuit import Dictionary, InputError, LeastSquares, Sphere, SquaredDistance, methods, solve
from pursuit.methods import NAMED
from pursuit.objectives.problem import Problem
from pursuit.rules.memory import Memory
from pursuit.rules.run import Run

HALF, FULL = 500, 1000
EVERY = [1, 7, 600]
FORMS = ["gram", "ambient", "sphere"]


@cache
def straight_run(form, name, every):
    return bits(run(form, name, every, FULL))


@cache
def applicable(form):
    """The methods that run on the form's atoms."""
    found = []
    for name in NAMED:
        try:
            run(form, name, 1, 1)
        except InputError:
            continue
        found.append(name)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_a_run_stopped_at_500_and_resumed_in_another_process_is_the_straight_run(form, tmp_path):
    names = applicable(form)
    assert {"matching-pursuit", "accelerated-random", "accelerated-matching-pursuit"} <= {*names}
    jobs = []
    for name in names:
        for every in EVERY:
            path = tmp_path / f"{name}-{every}"
            run(form, name, every, HALF, checkpoint=path)
            jobs.append((form, name, every, FULL, str(path)))
    other = subprocess.run(
        strict_python(resumed_runs.__file__),
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=True,
    )
    for (_, name, every, _, _), resumed in zip(jobs, json.loads(other.stdout), strict=True):
        straight = straight_run(form, name, every)
        assert straight["iterations"] == FULL or straight["status"][0] != "MAX_ITER"
        assert resumed == straight, (name, every)


@pytest.mark.parametrize("form", FORMS)
def test_how_often_one_observes_changes_no_number(form):
    for name in applicable(form):
        ends = [{**straight_run(form, name, every), "trace": None} for every in EVERY]
        assert ends == [ends[0]] * len(ends), name


@pytest.mark.parametrize("form", ["gram", "ambient", "logistic"])
@pytest.mark.parametrize("name", NAMED)
def test_many_stops_at_odd_places_change_nothing(name, form):
    if name not in applicable(form):
        pytest.skip(f"{name} does not run on this problem")
    ends = (1, 2, 9, 20, 61) if form == "logistic" else (1, 2, 9, 255, 257, 999, 1000, 1001)
    result = None
    for end in ends:
        result = run(form, name, 10, end, resume=result)
    assert bits(result) == bits(run(form, name, 10, ends[-1]))


@pytest.mark.parametrize("name", NAMED)
def test_a_run_that_had_ended_is_not_carried_one_step_further(name):
    rng = np.random.default_rng(2)
    f, atoms = SquaredDistance(rng.standard_normal(6)), Dictionary(rng.standard_normal((12, 6)))
    tests = [{"tol": 1e-3}, {"rtol": 1e-2}, {"target": 0.01}, {"n_nonzero": 3}]
    for options in tests[1:] if NAMED[name]().gradient_free else tests:
        first = solve(f, atoms, name, max_iter=5000, every=1, **options)
        assert first.status.name in ("CONVERGED", "MAX_NONZERO")
        again = solve(f, atoms, name, max_iter=5000, every=1, resume=first, **options)
        assert (again.status, again.iterations) == (first.status, first.iterations)
        np.testing.assert_array_equal(again.x, first.x)
        assert again.message == first.message


def test_a_stop_right_before_the_last_iteration_does_not_shift_it():
    rng = np.random.default_rng(3)
    f, atoms = SquaredDistance(rng.standard_normal(6)), Dictionary(rng.standard_normal((12, 6)))
    whole = solve(f, atoms, tol=1e-2)
    assert whole.status.name == "CONVERGED"
    for stop in range(1, whole.iterations):
        half = solve(f, atoms, tol=1e-2, max_iter=stop)
        assert half.status.name == "MAX_ITER"
        assert solve(f, atoms, tol=1e-2, resume=half).iterations == whole.iterations


def test_a_result_its_state_and_its_file_resume_alike(tmp_path):
    path = tmp_path / "state"
    half = run("gram", "accelerated-matching-pursuit", 10, HALF, checkpoint=path)
    ends = [
        bits(run("gram", "accelerated-matching-pursuit", 10, FULL, resume=source))
        for source in (half, half.state, path, str(path))
    ]
    assert ends == [ends[0]] * 4
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_a_resumed_run_leaves_the_result_it_came_from_alone():
    half = run("gram", "accelerated-random", 10, HALF)
    before = bits(half)
    run("gram", "accelerated-random", 10, FULL, resume=half)
    assert bits(half) == before
    assert half.state.numbers["counts"]["products"] == half.counts.products


def test_a_checkpoint_of_another_problem_is_refused():
    rng = np.random.default_rng(0)
    rows, b = rng.standard_normal((10, 5)), rng.standard_normal(5)
    f, atoms = SquaredDistance(b), Dictionary(rows)
    half = solve(f, atoms, "random-pursuit", max_iter=10, rng=1)
    resume = {"max_iter": 20, "resume": half}
    skewed = pursuit.Sampling(atoms, np.arange(1, 11) / 55)
    others = [
        lambda: solve(SquaredDistance(b + 1e-9), atoms, "random-pursuit", rng=1, **resume),
        lambda: solve(f, Dictionary(rows * 2), "random-pursuit", rng=1, **resume),
        lambda: solve(f, Dictionary(rows[::-1]), "random-pursuit", rng=1, **resume),
        lambda: solve(f, atoms, "matching-pursuit", rng=1, **resume),
        lambda: solve(f, atoms, methods.random_pursuit(sampling=skewed), rng=1, **resume),
        lambda: solve(f, atoms, "random-pursuit", rng=2, **resume),
        lambda: solve(f, atoms, "random-pursuit", rng=1, unit_atoms=False, **resume),
        lambda: solve(f, atoms, "random-pursuit", x0=rows[0], rng=1, **resume),
    ]
    for other in others:
        with pytest.raises(InputError, match=r"^resume: .* another problem"):
            other()
    assert solve(f, atoms, "random-pursuit", rng=1, **resume).iterations == 20


def test_a_checkpoint_of_another_form_is_refused():
    for first, then in (("gram", "ambient"), ("ambient", "gram")):
        half = run(first, "matching-pursuit", 10, 10)
        with pytest.raises(InputError, match=r"^resume: .* expected gram_bytes as in that run"):
            run(then, "matching-pursuit", 10, 20, resume=half)


def test_replayed_lists_with_the_same_digits_are_not_the_same_method():
    f, atoms = SquaredDistance(np.ones(30)), pursuit.Coordinates(30)
    one, other = (
        methods.matching_pursuit(direction=pursuit.Replay(indices))
        for indices in ([1, 23, 4], [12, 3, 4])
    )
    half = solve(f, atoms, one, max_iter=2)
    with pytest.raises(InputError, match="another problem"):
        solve(f, atoms, other, max_iter=3, resume=half)


def test_what_an_objective_has_computed_meanwhile_does_not_make_it_another_one():
    class Named(LeastSquares):
        """A user's own kind of objective inherits what the library's keeps."""

    f, atoms = Named(np.eye(4), np.arange(4.0)), Dictionary(np.eye(4) + 0.1)
    half = solve(f, atoms, max_iter=2, tol=0)
    assert f.signal_norm > 0  # computed now, and kept
    assert atoms.rank == 4
    assert solve(f, atoms, max_iter=5, tol=0, resume=half).iterations == 5


@pytest.mark.parametrize("where", [3, 8])
def test_a_run_interrupted_within_a_step_can_still_be_resumed_to_the_right_answer(where):
    """The interruption hits between the two arrays that a step changes."""

    class Interrupted(Dictionary):
        calls = 0

        def correlate(self, d):
            Interrupted.calls += 1
            if Interrupted.calls == where:
                raise KeyboardInterrupt
            return super().correlate(d)

        def unit(self):
            return pursuit.atoms.Unit(self, None)

    rng = np.random.default_rng(9)
    rows, b = rng.standard_normal((15, 6)), rng.standard_normal(6)
    f, atoms = SquaredDistance(b), Interrupted(rows / np.linalg.norm(rows, axis=1)[:, None])
    with pytest.raises(KeyboardInterrupt) as caught:
        solve(f, atoms)
    partial = caught.value.partial_result
    slopes = atoms.matrix @ (partial.x - b)
    assert partial.slope == pytest.approx(np.abs(slopes).max(), rel=1e-12)
    whole = solve(f, atoms, resume=partial, tol=1e-9)
    assert whole.success
    assert np.abs(atoms.matrix @ (whole.x - b)).max() <= 1e-8


def test_the_sphere_keeps_its_atoms_through_a_file(tmp_path):
    f = LeastSquares(np.diag([1.0, 2.0, 3.0]), np.ones(3))
    path = tmp_path / "sphere"
    for end in (7, 20):
        previous = path if path.exists() else None
        result = solve(
            f,
            Sphere(3),
            "accelerated-matching-pursuit",
            max_iter=end,
            tol=0,
            checkpoint=path,
            resume=previous,
        )
    total = sum(w * z for w, z in zip(result.weights, result.used, strict=True))
    np.testing.assert_allclose(total, result.x, atol=1e-13)


def test_two_rules_that_remember_under_one_name_are_told_so():
    started = Run(Problem(SquaredDistance(np.ones(3)), Sphere(3)), 0)
    started.remember("mine", Memory())
    with pytest.raises(InputError, match=r"^mine: two rules of this run remember under this name"):
        started.remember("mine", Memory())
