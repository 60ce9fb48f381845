"""No bit of a result of `solve` depends on a number of threads."""

import json
import os
import subprocess
import threading

import numpy as np
import pytest
from children import strict_python
from faults import threaded_runs
from threadpoolctl import threadpool_info

from pursuit import Dictionary, InputError, SquaredDistance, solve
from pursuit.base.products import LARGE, row_by_row, times
from pursuit.base.threads import Crew


def marks(threads, blas):
    """What a new process computes, with so many threads of its own, and so many of BLAS."""
    counts = {"OPENBLAS_NUM_THREADS": str(blas), "OMP_NUM_THREADS": str(blas)}
    done = subprocess.run(
        strict_python(threaded_runs.__file__, threads),
        env={**os.environ, **counts},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_large_problems_give_the_same_bits_for_any_number_of_threads():
    one, two, four = marks(1, 2), marks(2, 4), marks(4, 1)
    assert [name for name in one if not one[name] == two[name] == four[name]] == []


SHAPES = [(2048, 600), (600, 2048), (LARGE, 2), (3, LARGE), (1031, 1033)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_shared_product_is_the_product(shape, dtype):
    rng = np.random.default_rng(0)
    A = rng.standard_normal(shape).astype(dtype)
    x, y = (rng.standard_normal(size).astype(dtype) for size in shape[::-1])
    with Crew(3):
        for product, factors in ((times(A, x), (A, x)), (times(A.T, y), (A.T, y))):
            exact = np.matmul(*(factor.astype(np.longdouble) for factor in factors))
            scale = np.abs(factors[0]).astype("f8") @ np.abs(factors[1])
            assert product.dtype == dtype
            assert np.all(np.abs(product - exact) <= 8 * np.finfo(dtype).eps * scale)
        np.testing.assert_allclose(row_by_row(A, x), A @ x, rtol=1e-3, atol=1e-3)
        few = rng.standard_normal((shape[1], 3)).astype(dtype)
        np.testing.assert_allclose(times(A, few), A @ few, rtol=1e-3, atol=1e-2)


def test_a_row_of_a_product_row_by_row_does_not_depend_on_the_others():
    A, x = np.random.default_rng(0).standard_normal((1100, 1000)), np.ones(1000)
    with Crew(2):
        whole = row_by_row(A, x)
        assert [row_by_row(A[k : k + 1], x)[0] for k in range(0, 1100, 100)] == [*whole[::100]]


def test_during_a_run_blas_has_one_thread_and_afterwards_what_it_had():
    Z = np.random.default_rng(0).standard_normal((1100, 1000))
    seen = []

    def look(shown):
        pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        seen.append((max(pools), threading.active_count()))

    before, alive = threadpool_info(), threading.active_count()
    solve(SquaredDistance(Z[0]), Dictionary(Z), max_iter=3, every=1, threads=3, callback=look)
    assert {pool for pool, _ in seen} == {1}
    assert seen[-1][1] == alive + 2  # this thread takes part
    assert threading.active_count() == alive
    assert threadpool_info() == before


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_a_number_of_threads_that_is_none_is_refused(threads):
    with pytest.raises(InputError, match=r"^threads: expected"):
        solve(SquaredDistance(np.ones(3)), Dictionary(np.eye(3)), threads=threads)


def test_without_a_number_the_environment_gives_it(monkeypatch):
    f, atoms = SquaredDistance(np.ones(3)), Dictionary(np.eye(3))
    monkeypatch.setenv("PURSUIT_THREADS", "none")
    with pytest.raises(InputError, match=r"^PURSUIT_THREADS: expected"):
        solve(f, atoms)
    monkeypatch.setenv("PURSUIT_THREADS", "2")
    assert solve(f, atoms).success


def test_an_error_on_a_thread_of_a_run_reaches_the_caller_and_leaves_no_thread():
    class Broken(Dictionary):
        def correlate(self, d):
            return times(self.matrix, d[:-1])

        def unit(self):
            return type(super().unit())(self, None)

    Z = np.random.default_rng(0).standard_normal((1100, 1000))
    alive = threading.active_count()
    with pytest.raises(ValueError, match="matmul"):
        solve(SquaredDistance(Z[0]), Broken(Z), threads=2)
    assert threading.active_count() == alive
