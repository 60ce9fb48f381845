"""encode() in threads, forks, fresh interpreters and places that cannot be written."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from children import without_cache_folder
from threadpoolctl import threadpool_info

import pursuit
from pursuit.base import threads as blocks
from pursuit.base.threads import for_each_block
from pursuit.encoding import encode

RNG = np.random.default_rng(0)
ATOMS = RNG.standard_normal((120, 30))
SIGNALS = RNG.standard_normal((3000, 30))


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def test_several_python_threads_may_encode_at_once():
    expected = {
        m: encode(SIGNALS, ATOMS, m, max_iter=8) for m in ("orthogonal", "matching-pursuit")
    }
    before = blas_threads()
    wrong = []

    def work(method):
        for _ in range(4):
            codes = encode(SIGNALS, ATOMS, method, max_iter=8, threads=2)
            if not np.array_equal(codes.values, expected[method].values):
                wrong.append(method)

    threads = [threading.Thread(target=work, args=(m,)) for m in list(expected) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert blas_threads() == before


def _encode_in_child(queue):
    queue.put(encode(SIGNALS, ATOMS, max_iter=8, threads=2).values)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_can_encode():
    expected = encode(SIGNALS, ATOMS, max_iter=8, threads=2).values
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_encode_in_child, args=(queue,))
    child.start()
    values = queue.get(timeout=60)
    child.join(timeout=60)
    assert child.exitcode == 0
    assert np.array_equal(values, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_in_the_middle_of_another_thread_s_work_does_no_harm():
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with blocks.single_threaded_blas:
            inside.set()
            leave.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait(30)
    try:
        test_a_forked_child_can_encode()
    finally:
        leave.set()
        holder.join()


LATE = """
from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.threads import single_threaded_blas
from threadpoolctl import threadpool_info

def threads():
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

with single_threaded_blas:
    before = len(threads())
    scipy_linalg()
    inside = threads()
print(len(inside) > before, set(inside), set(threads()))
"""


def test_a_blas_that_is_loaded_while_others_are_limited_is_limited_too():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    run = subprocess.run(
        [sys.executable, "-c", LATE], env=environment, capture_output=True, text=True, check=True
    )
    most = min(2, len(os.sched_getaffinity(0)))  # what BLAS takes of the two
    assert run.stdout in (f"True {{1}} {{{most}}}\n", f"False {{1}} {{{most}}}\n")


def test_blas_threads_are_limited_inside_and_restored_after_an_error():
    before, seen = blas_threads(), []

    def start():
        def job(number):
            seen.append(set(blas_threads()))
            if number == 1:
                raise RuntimeError("block 1")

        return job

    with pytest.raises(RuntimeError, match="block 1"):
        for_each_block(3, start, 1)
    assert seen == [{1}, {1}]
    assert blas_threads() == before


def test_the_error_of_the_lowest_block_is_raised():
    barrier = threading.Barrier(2, timeout=30)

    def start():
        def job(number):
            barrier.wait()
            raise ValueError(f"block {number}")

        return job

    for _ in range(5):
        barrier.reset()
        with pytest.raises(ValueError, match="block 0"):
            for_each_block(2, start, 2)


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**without_cache_folder(), **environment},
        check=False,
    )


def test_importing_pursuit_does_not_load_the_compiler():
    done = run_python(
        "import sys, pursuit, pursuit.encoding; "
        "print([m for m in ('numba', 'llvmlite', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


COMPILE_ONE = (
    "import numpy as np; from pursuit.kernels.pursuit import sum_squares; "
    "norms = np.empty(2); sum_squares(np.ones((2, 3)), norms); "
    "print(norms, sum_squares.stats.cache_path)"
)


def copy_package(folder):
    source = Path(pursuit.__file__).parent
    shutil.copytree(source, folder / "pursuit", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_kernels_are_kept_beside_the_package_or_in_a_folder_of_the_user(tmp_path):
    package = copy_package(tmp_path / "site")
    kept = package / "pursuit" / "kernels" / "__pycache__"
    kept.write_text("a file where the folder should be, so that nothing can be written there")
    home = tmp_path / "home"
    home.mkdir()
    done = run_python(
        COMPILE_ONE,
        PYTHONPATH=str(package),
        XDG_CACHE_HOME=str(home),
        HOME=str(home),
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[3. 3.]")
    assert list(home.rglob("*sum_squares*.nbi"))


def test_without_any_writable_folder_kernels_are_compiled_and_not_kept(tmp_path):
    package = copy_package(tmp_path / "site")
    (package / "pursuit" / "kernels" / "__pycache__").write_text("no folder")
    nowhere = tmp_path / "nowhere"
    nowhere.write_text("no folder either")
    done = run_python(
        COMPILE_ONE,
        PYTHONPATH=str(package),
        XDG_CACHE_HOME=str(nowhere),
        HOME=str(nowhere),
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[3. 3.] None"


def test_a_progress_bar_is_drawn_only_on_request(capfd):
    encode(SIGNALS, ATOMS, max_iter=3, progress=False)
    assert capfd.readouterr().err == ""
    encode(SIGNALS, ATOMS, max_iter=3)
    assert capfd.readouterr().err == ""
    encode(SIGNALS, ATOMS, max_iter=3, progress=True)
    assert "encode" in capfd.readouterr().err
