"""What a run gives back, when it stops, and what it says about that."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.sparse import issparse

import pursuit
from pursuit import (
    Coordinates,
    Dictionary,
    InputError,
    LeastSquares,
    Quadratic,
    Sphere,
    SquaredDistance,
    Status,
    methods,
    solve,
)
from pursuit.solving.checkpoint import CHECKPOINT, State
from pursuit.solving.result import COLUMNS

N, D = 20, 8
rng = np.random.default_rng(0)
ROWS = rng.standard_normal((N, D)) * rng.uniform(0.2, 4, N)[:, None]
B = rng.standard_normal(D)
F, ATOMS = SquaredDistance(B), Dictionary(ROWS)
BY_SLOPES = [name for name in methods.NAMED if not methods.NAMED[name]().gradient_free]


@pytest.fixture(params=["gram", "ambient"])
def form(request):
    return request.param


@pytest.fixture(name="solve")
def solve_in_form(form):
    return partial(solve, gram_bytes=None if form == "gram" else 0)


def residual(result):
    return np.linalg.norm(result.x - B)


class TestResult:
    def test_coefficients_are_sparse_and_in_the_scale_of_the_atoms_as_given(self):
        result = solve(F, ATOMS, n_nonzero=3)
        assert issparse(result.coef)
        assert result.coef.shape == (N,)
        assert result.coef.nnz == len(result.support) == 3
        np.testing.assert_allclose(result.coef.toarray() @ ROWS, result.x, rtol=1e-12)
        np.testing.assert_allclose(result.weights @ ROWS[result.support], result.x, rtol=1e-12)
        assert result.used == result.support.tolist()

    def test_value_and_slope_are_those_of_f_at_x(self):
        for name in BY_SLOPES:
            result = solve(F, ATOMS, name, max_iter=30)
            unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
            assert result.value == F.value(result.x)
            slope = np.abs(unit @ (result.x - B)).max()
            assert result.slope == pytest.approx(slope, rel=1e-8, abs=1e-13)
            assert result.trace.value[-1] == pytest.approx(result.value, rel=1e-9, abs=1e-14)

    def test_it_prints_what_one_wants_to_know_first(self):
        result = solve(F, ATOMS, n_nonzero=3)
        assert repr(result) == str(result)
        lines = str(result).splitlines()
        first = ["method", "status", "value", "slope", "atoms", "iterations", "products"]
        assert [line.split(":")[0].strip() for line in lines][:7] == first
        assert "matching-pursuit" in lines[0]
        assert "MAX_NONZERO: maximum number of nonzero coefficients reached" in lines[1]
        assert f"3 of {N} in use" in lines[4]
        assert len({line.index(":") for line in lines}) == 1
        assert max(map(len, lines[:7])) <= 100

    def test_statuses_have_codes_that_stay(self):
        assert {status.name: status.code for status in Status} == {
            "CONVERGED": 0,
            "MAX_ITER": 1,
            "MAX_NONZERO": 2,
            "MAX_TIME": 3,
            "STOPPED": 4,
            "STALLED": 5,
            "DIVERGED": 6,
            "UNBOUNDED": 7,
        }
        assert [status for status in Status if status.success] == [Status.CONVERGED]

    def test_it_holds_arrays_of_its_own(self):
        result = solve(F, ATOMS, x0=B, max_iter=0)
        result.x[:] = 0
        assert B.any()


class TestTrace:
    def test_columns_are_arrays_of_one_length(self):
        trace = solve(F, ATOMS, "accelerated-matching-pursuit", max_iter=50, tol=0, every=7).trace
        for name in COLUMNS:
            whole = name in ("iteration", "support", "oracle_calls")
            column = getattr(trace, name)
            assert column.shape == (len(trace),)
            assert column.dtype == (np.int64 if whole else np.float64)
        np.testing.assert_array_equal(trace.rows()[:, 2], trace.value)
        assert trace.iteration.tolist() == [0, 7, 14, 21, 28, 35, 42, 49, 50]
        assert "9 observations, iteration 0 to 50" in repr(trace)

    def test_every_row_is_where_a_run_of_that_length_ends(self):
        for name in methods.NAMED:
            trace = solve(F, ATOMS, name, max_iter=9, tol=0, every=3).trace
            for k, t in enumerate(trace.iteration.tolist()):
                end = solve(F, ATOMS, name, max_iter=t, tol=0)
                assert trace.value[k] == end.trace.value[-1]
                assert trace.support[k] == len(end.support)
                assert trace.oracle_calls[k] == end.counts.oracle_calls
                assert trace.products[k] == end.counts.products

    def test_a_long_run_is_observed_about_a_thousand_times(self):
        assert len(solve(F, ATOMS, "random-pursuit", max_iter=5000, tol=0).trace) == 1001
        assert len(solve(F, ATOMS, "random-pursuit", max_iter=20, tol=0).trace) == 21

    def test_an_observation_shows_what_the_trace_records(self):
        seen = []
        result = solve(F, ATOMS, max_iter=10, tol=0, callback=seen.append)
        for name in ("iteration", "value", "slope", "support", "seconds"):
            recorded = getattr(result.trace, name).tolist()
            assert [getattr(shown, name) for shown in seen] == recorded
        np.testing.assert_allclose(seen[-1].x, result.x, rtol=1e-14)


class TestTime:
    """With a clock in our hands: it ticks once whenever it is read."""

    @pytest.fixture
    def clock(self, monkeypatch):
        class Clock:
            now = 0.0

            def perf_counter(self):
                self.now += 1
                return self.now

            def monotonic(self):
                return self.now

        clock = Clock()
        for module in ("loop",):
            monkeypatch.setattr(f"pursuit.solving.{module}.time", clock)
        return clock

    def test_seconds_are_those_of_steps_without_observation(self, clock):
        def slow(shown):
            clock.now += 1000

        result = solve(F, ATOMS, max_iter=10, tol=0, every=2, callback=slow)
        assert result.seconds == 10
        assert result.trace.seconds.tolist() == [0, 2, 4, 6, 8, 10]

    @pytest.mark.usefixtures("clock")
    def test_a_run_stops_when_its_time_is_over(self):
        result = solve(F, ATOMS, max_iter=100, tol=0, max_time=6.5)
        assert result.status is Status.MAX_TIME
        assert result.iterations == 7
        assert not result.success

    def test_a_checkpoint_is_written_on_the_way(self, clock, tmp_path):
        path = tmp_path / "state"
        seen = []

        def slow(shown):
            clock.now += 20
            seen.append(path.exists() and State.load(path).numbers["iteration"])

        solve(F, ATOMS, max_iter=4, tol=0, every=1, callback=slow, checkpoint=path)
        # Two observations of 20 seconds and their steps: past the half minute.
        assert seen == [False, False, False, 2, 2]
        assert State.load(path).numbers["iteration"] == 4


class TestCounts:
    """A look at or a step along k of n atoms is k/n of a product, in whichever form it runs."""

    @pytest.mark.parametrize(
        ("name", "calls", "products"),
        [
            ("matching-pursuit", 1, 1 + 1 / N),  # the oracle looks at all, x moves along one
            ("affine-invariant", 1, 1 + 1 / N),
            ("random-pursuit", 0, 2 / N),  # the slope of one, x moves along it
            ("accelerated-random", 0, 3 / N),  # and v too
            ("accelerated-matching-pursuit", 1, 1 + 3 / N),  # the probe's slope, x, v
            ("greedy-greedy", 1, 1 + 2 / N),  # x, v
        ],
    )
    def test_products_and_oracle_calls(self, solve, name, calls, products):
        for t in (1, 10, 37):
            counts = solve(F, ATOMS, name, max_iter=t, tol=0).counts
            assert counts.oracle_calls == calls * t
            assert counts.products == pytest.approx(products * t, rel=1e-12)

    def test_gram_columns_are_counted_apart_once_each(self, solve, form):
        result = solve(F, ATOMS, "matching-pursuit", max_iter=200, tol=0)
        assert result.counts.setup == (len(result.support) if form == "gram" else 0)

    def test_observing_is_not_work(self, solve):
        counts = [
            solve(F, ATOMS, "random-pursuit", max_iter=60, tol=0, every=every).counts
            for every in (1, 60)
        ]
        assert counts[0] == counts[1]

    def test_an_infinite_set_has_one_look_a_step(self):
        f = LeastSquares(np.diag(np.arange(1.0, 5)), np.ones(4))
        counts = solve(f, Sphere(4), max_iter=12, tol=0).counts
        assert (counts.oracle_calls, counts.products) == (12, 12)


class TestStopping:
    @pytest.mark.parametrize("name", BY_SLOPES)
    def test_tol_is_the_fall_of_the_slope(self, solve, name):
        unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
        result = solve(F, ATOMS, name, tol=1e-3, max_iter=10_000, every=1)
        assert result.status is Status.CONVERGED
        assert "dual norm of the gradient" in result.message
        assert np.abs(unit @ (result.x - B)).max() <= 1e-3 * np.abs(unit @ B).max() * (1 + 1e-9)

    @pytest.mark.parametrize("rtol", [0.5, 1e-2, 1e-6, 1e-8, 1e-10, 1e-12])
    @pytest.mark.parametrize("name", ["matching-pursuit", "accelerated-matching-pursuit"])
    def test_rtol_is_met_at_the_end_and_not_one_iteration_before(self, solve, name, rtol):
        """Also where the value kept up to date by steps has long drowned in rounding."""
        result = solve(F, ATOMS, name, rtol=rtol, tol=0, max_iter=20_000)
        assert result.status is Status.CONVERGED
        assert "residual" in result.message
        assert residual(result) <= rtol * np.linalg.norm(B) * (1 + 1e-12)
        before = solve(F, ATOMS, name, tol=0, max_iter=result.iterations - 1)
        assert residual(before) > rtol * np.linalg.norm(B)

    @pytest.mark.parametrize("name", methods.NAMED)
    def test_target_is_met_at_the_end_and_not_one_iteration_before(self, solve, name):
        result = solve(F, ATOMS, name, target=0.01, max_iter=20_000)
        assert result.status is Status.CONVERGED
        assert "target 0.01" in result.message
        assert result.value <= 0.01
        assert solve(F, ATOMS, name, max_iter=result.iterations - 1).value > 0.01

    def test_a_negative_target_of_a_quadratic_is_met(self, solve):
        f = Quadratic(np.diag(np.arange(1.0, D + 1)), B)
        lowest = -0.5 * float(B**2 @ (1 / np.arange(1.0, D + 1)))
        result = solve(f, Coordinates(D), target=0.999 * lowest, max_iter=5000)
        assert result.status is Status.CONVERGED
        assert lowest <= result.value <= 0.999 * lowest

    @pytest.mark.parametrize("options", [{"target": -1e-9}, {"rtol": 0.0}])
    def test_what_cannot_be_met_is_never_claimed(self, solve, options):
        """The value kept by steps may round to below zero; f(x) does not."""
        result = solve(F, ATOMS, tol=0, max_iter=3000, **options)
        lowest = max(options.values())
        assert result.value >= 0
        if result.status is Status.CONVERGED:
            assert result.value <= lowest or result.slope <= 1e-15 * np.linalg.norm(B)
        assert result.value < 1e-25  # it went as far as it could

    @pytest.mark.parametrize("options", [{"target": -1e-9}, {"rtol": 0.0}])
    def test_what_rounding_alone_would_meet_is_not_claimed(self, solve, options, monkeypatch):
        """A point that says −1 for its value is asked to compute it anew."""
        for form in ("gram.GramPoint", "ambient.AmbientPoint"):
            monkeypatch.setattr(f"pursuit.points.{form}.value", lambda self: -1.0)
        result = solve(F, ATOMS, tol=0, max_iter=3, **options)
        assert result.status is not Status.CONVERGED

    def test_of_rtol_and_target_the_first_to_be_met_counts(self, solve):
        loose, tight = {"rtol": 0.3}, {"target": 1e-9}
        both = solve(F, ATOMS, **loose, **tight)
        assert both.iterations == solve(F, ATOMS, **loose).iterations
        assert "residual" in both.message

    def test_a_start_that_meets_the_test_takes_no_step(self, solve):
        for options in ({"rtol": 1.0}, {"target": 1e9}, {"x0": B}):
            result = solve(F, ATOMS, **options)
            assert (result.status, result.iterations) == (Status.CONVERGED, 0)
            assert len(result.trace) == 1

    @pytest.mark.parametrize("name", BY_SLOPES)
    def test_a_start_that_is_optimal_up_to_rounding_takes_no_step(self, solve, name):
        coef0 = np.linalg.lstsq(ROWS.T, B, rcond=None)[0]
        assert F.value(coef0 @ ROWS) > 0
        result = solve(F, ATOMS, name, coef0=coef0)
        assert (result.status, result.iterations) == (Status.CONVERGED, 0)
        assert "optimal" in result.message

    @pytest.mark.parametrize("name", methods.NAMED)
    def test_n_nonzero_is_the_number_of_distinct_atoms(self, solve, name):
        result = solve(F, ATOMS, name, n_nonzero=4, tol=0)
        assert result.status is Status.MAX_NONZERO
        assert len(result.support) >= 4
        if name in ("matching-pursuit", "affine-invariant", "random-pursuit", "orthogonal"):
            assert len(result.support) == 4  # others may take in several at a time
        before = solve(F, ATOMS, name, max_iter=result.iterations - 1, tol=0)
        assert len(before.support) < 4

    def test_atoms_of_the_start_count_as_atoms_in_use(self, solve):
        coef0 = np.zeros(N)
        coef0[:3] = 1.0
        result = solve(F, ATOMS, coef0=coef0, n_nonzero=4, tol=0)
        assert result.status is Status.MAX_NONZERO
        assert len(result.support) == 4
        assert result.trace.support[[0, -1]].tolist() == [3, 4]

    @pytest.mark.parametrize("name", methods.NAMED)
    def test_iterations_run_out(self, solve, name):
        for t in (0, 1, 5):
            result = solve(F, ATOMS, name, max_iter=t, tol=0)
            assert (result.status, result.iterations) == (Status.MAX_ITER, t)

    def test_a_callback_stops_the_run(self, solve):
        result = solve(F, ATOMS, callback=lambda shown: shown.iteration == 6, every=1)
        assert (result.status, result.iterations) == (Status.STOPPED, 6)
        at_once = solve(F, ATOMS, callback=lambda shown: True)
        assert (at_once.status, at_once.iterations) == (Status.STOPPED, 0)
        assert solve(F, ATOMS, callback=lambda shown: np.bool_(False), max_iter=3).iterations == 3

    def test_a_run_that_converged_in_the_iteration_it_was_stopped_has_converged(self, solve):
        end = solve(F, ATOMS, tol=1e-3).iterations
        result = solve(F, ATOMS, tol=1e-3, callback=lambda shown: shown.iteration == end, every=1)
        assert result.status is Status.CONVERGED


@pytest.mark.parametrize("name", BY_SLOPES)
class TestPlainSignals:
    def test_a_zero_signal_is_fitted_by_nothing(self, solve, name):
        result = solve(SquaredDistance(np.zeros(D)), ATOMS, name)
        assert (result.status, result.iterations) == (Status.CONVERGED, 0)
        assert len(result.support) == 0
        assert not result.x.any()

    @pytest.mark.parametrize("d", [6, 2000])
    def test_a_signal_orthogonal_to_the_atoms_is_fitted_by_nothing(self, solve, name, d):
        random = np.random.default_rng(d)
        q = np.linalg.qr(random.standard_normal((d, 5)))[0].T
        atoms = Dictionary(random.standard_normal((6, 4)) @ q[:4])
        for scale in (1e-60, 1.0, 1e60):
            result = solve(SquaredDistance(scale * q[4]), atoms, name)
            assert (result.status, result.iterations) == (Status.CONVERGED, 0)
            assert "optimal" in result.message

    def test_a_signal_that_is_an_atom_is_found(self, solve, name):
        result = solve(SquaredDistance(ROWS[7]), ATOMS, name, max_iter=3000)
        assert result.status in (Status.CONVERGED, Status.MAX_ITER)
        np.testing.assert_allclose(result.x, ROWS[7], atol=1e-3)
        if name in ("matching-pursuit", "orthogonal"):
            assert result.status is Status.CONVERGED
            assert 7 in result.support
            assert result.coef.toarray()[7] == pytest.approx(1.0)


class TestPrecision:
    @pytest.mark.parametrize("name", methods.NAMED)
    def test_single_precision_stays_single(self, solve, name):
        A, b = rng.standard_normal((10, D)).astype("f"), rng.standard_normal(10).astype("f")
        problems = [
            (SquaredDistance(B.astype("f")), Dictionary(ROWS.astype("f"))),
            (LeastSquares(A, b), Dictionary(ROWS.astype("f"))),
            (LeastSquares(A, b), Coordinates(D)),
            (Quadratic(A.T @ A, A.T @ b), Coordinates(D)),
        ]
        if name not in ("cyclic", "shuffled"):  # which go through all atoms of a finite set
            problems.append((SquaredDistance(B.astype("f")), Sphere(D)))
        for f, atoms in problems:
            result = solve(f, atoms, name, max_iter=20)
            assert result.x.dtype == result.weights.dtype == np.float32
            assert result.value < f.value(np.zeros(D, "f"))

    def test_integers_become_double(self, solve):
        result = solve(SquaredDistance([1, 2, 3]), Dictionary(np.eye(3, dtype=int) * 2))
        assert result.x.dtype == result.weights.dtype == np.float64
        np.testing.assert_array_equal(result.coef.toarray(), [0.5, 1, 1.5])

    def test_the_value_of_a_long_single_precision_signal_is_summed_in_double(self):
        b = np.full(2**20, 0.1, "f")
        exact = 0.5 * 2**20 * float(np.float32(0.1)) ** 2
        assert SquaredDistance(b).value(np.zeros_like(b)) == pytest.approx(exact, rel=1e-11)

    def test_a_singular_quadratic_in_single_precision_is_accepted(self, solve):
        root = rng.standard_normal((5, 40)).astype("f")
        f = Quadratic(root.T @ root, root.T @ np.ones(5, "f"))
        assert solve(f, Coordinates(40), "accelerated-matching-pursuit", max_iter=50).value < 0


class TestLargestSingularValue:
    """L = ‖A‖₂² for every kind of A, the same in every process."""

    @pytest.mark.parametrize(
        "A",
        [
            np.ones((5, 1)),
            np.ones((1, 5)),
            np.diff(np.eye(30), axis=0),  # maps constants to zero
            np.kron(np.eye(10), [[1.0, -1.0], [-1.0, 1.0]]),
            np.zeros((4, 3)),
        ],
        ids=["column", "row", "differences", "pairs", "zero"],
    )
    def test_of_dense_sparse_and_linear_operators(self, A):
        from scipy.sparse import csr_array
        from scipy.sparse.linalg import aslinearoperator

        b = np.ones(len(A))
        expected = np.linalg.norm(A, 2) ** 2
        kinds = [A, csr_array(A), csr_array(A.astype(int))]
        if A.any():
            kinds.append(aslinearoperator(A))
        for kind in kinds:
            f = LeastSquares(kind, b)
            assert pytest.approx(expected, rel=1e-10, abs=1e-14) == f.L
            result = solve(f, Coordinates(A.shape[1]), max_iter=50)
            assert result.value <= f.value(np.zeros(A.shape[1]))
            assert LeastSquares(kind, b).L == f.L


class TestProgress:
    def test_a_bar_goes_to_standard_error_and_nothing_to_standard_output(self, capfd):
        solve(F, ATOMS, max_iter=200, tol=0, progress=True)
        out, err = capfd.readouterr()
        assert out == ""
        assert "matching-pursuit" in err

    @pytest.mark.parametrize("progress", [None, False])
    def test_away_from_a_terminal_there_is_none_unless_asked_for(self, capfd, progress):
        solve(F, ATOMS, max_iter=200, tol=0, progress=progress)
        assert capfd.readouterr() == ("", "")

    def test_it_changes_no_number(self, capfd):
        one, other = (solve(F, ATOMS, max_iter=50, tol=0, progress=p) for p in (True, False))
        np.testing.assert_array_equal(one.x, other.x)


class TestCheckpointFiles:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "state"
        solve(F, ATOMS, max_iter=5, tol=0, checkpoint=path)
        return path

    def resume(self, path):
        return solve(F, ATOMS, max_iter=10, tol=0, resume=path)

    def refused(self, path):
        with pytest.raises(InputError, match=r"^resume: ") as caught:
            self.resume(path)
        return str(caught.value)

    def test_a_good_one_is_read(self, path):
        assert self.resume(path).iterations == 10

    def test_files_that_are_something_else_are_refused(self, path):
        contents = {
            "nothing": b"",
            "text": b"iteration 5\n",
            "zip": b"PK\x03\x04" + bytes(40),
            "numbers": np.ones(3),
            "json": json.dumps({"format": 1}).encode(),
        }
        for content in contents.values():
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                with path.open("wb") as file:
                    np.save(file, content)
            assert "not a checkpoint" in self.refused(path)
        headers = [b"[1, 2]", b"5", b"\xff\xfe"]
        archives = [{"a": np.ones(3)}, *({"header": np.frombuffer(h, np.uint8)} for h in headers)]
        for archive in archives:
            with path.open("wb") as file:
                np.savez(file, **archive)
            assert "not a checkpoint" in self.refused(path)

    def test_a_missing_file_or_a_directory_is_refused(self, path):
        assert "there is no file" in self.refused(path.with_name("other"))
        self.refused(path.parent)

    def test_a_truncated_file_is_refused(self, path):
        whole = path.read_bytes()
        for length in range(0, len(whole), 97):
            path.write_bytes(whole[:length])
            self.refused(path)

    def test_another_version_is_named_as_such(self, path, monkeypatch):
        later = replace(CHECKPOINT, format=999)
        monkeypatch.setattr("pursuit.solving.checkpoint.CHECKPOINT", later)
        assert "a checkpoint of another version (3)" in self.refused(path)

    def test_one_with_parts_missing_is_refused(self, path):
        state = State.load(path)
        for name in ("x.coef", "trace"):
            arrays = {k: a for k, a in state.arrays.items() if k != name}
            assert "incomplete" in self.refused(State(arrays, state.numbers))
        for name in ("memory", "streams", "counts", "iteration", "last", "compiled"):
            numbers = {k: v for k, v in state.numbers.items() if k != name}
            assert name == "streams" or "incomplete" in self.refused(State(state.arrays, numbers))
        short = {**state.arrays, "x.coef": state.arrays["x.coef"][:-1]}
        assert "incomplete" in self.refused(State(short, state.numbers))

    def test_it_is_written_whole_or_not_at_all(self, path, monkeypatch):
        before = path.read_bytes()

        def fail(file, **arrays):
            file.write(b"half of")
            raise OSError("disk full")

        monkeypatch.setattr(np, "savez", fail)
        with pytest.raises(InputError, match=r"state: cannot be written \(disk full\)") as caught:
            solve(F, ATOMS, max_iter=7, tol=0, checkpoint=path)
        assert path.read_bytes() == before
        assert [file.name for file in path.parent.iterdir()] == [path.name]
        assert caught.value.partial_result.iterations == 7


def test_a_result_of_a_deep_run_equals_least_squares():
    """The end of it all: the methods find the projection on the span of the atoms."""
    plane = Dictionary(ROWS[:5])
    best = np.linalg.lstsq(ROWS[:5].T, B, rcond=None)[0] @ ROWS[:5]
    for name in BY_SLOPES:
        result = pursuit.solve(F, plane, name, max_iter=20_000, tol=1e-10, every=100)
        np.testing.assert_allclose(result.x, best, atol=1e-6, err_msg=name)
