"""encode() side by side with other libraries: ``python benchmarks/encode.py``.

Every contestant of a workload runs once a round, in turn, so that a busy machine slows all of
them; what is printed are ratios: the median over the rounds, and the smallest and largest. The
codes of each run are checked: against supports where the algorithm is the same, against residuals
where it is not (SPAMS is order-recursive). Times of ours include everything from the arrays given
to the sparse matrix returned.

    python benchmarks/encode.py --only W1 W4 --rounds 7
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from encode_peers import (
    Case,
    Contestant,
    dictlearn_omp,
    missing,
    pylops_pursuit,
    sklearn_omp,
    spams_omp,
    torch_matching_pursuit,
    torch_omp,
)
from spams_blas import use_the_right_kernels
from threadpoolctl import threadpool_info, threadpool_limits

from pursuit import Encoder, encode

SIZES = {
    "W1": (256, 64, 100_000, 8),
    "W2": (1024, 128, 20_000, 16),
    "W3": (16_384, 768, 2_000, 32),
    "tall": (1207, 8064, 1207, 30),
}
ABSENT = missing()


def sparse_case(name: str, dtype: type, scale: float = 1.0) -> Case:
    """Unit Gaussian atoms, k-sparse signals with 5 % noise."""
    n, d, m, k = SIZES[name]
    m = max(2, int(m * scale))
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((n, d), dtype=np.float32).astype(dtype)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    signals = np.empty((m, d), dtype)
    for i in range(m):
        chosen = rng.choice(n, k, replace=False)
        signals[i] = rng.standard_normal(k) @ atoms[chosen]
    noise = 0.05 * np.linalg.norm(signals, axis=1, keepdims=True) / np.sqrt(d)
    signals += noise.astype(dtype) * rng.standard_normal((m, d), dtype=np.float32)
    return Case(f"{name} {np.dtype(dtype).name}", signals, atoms, k)


def ours(case: Case, method: str, threads: int) -> Contestant:
    def run() -> object:
        limit = {"n_nonzero": case.k} if method == "orthogonal" else {"max_iter": case.k}
        return encode(case.signals, case.atoms, method, threads=threads, **limit).matrix

    return Contestant("pursuit", run, len(case.signals), f"{threads} thread(s)")


# Measuring -------------------------------------------------------------------------------


REST = 0.1
"""Seconds before each run: threads of OpenBLAS and OpenMP go on spinning for a while after work,
and would take a core from whoever comes next."""


def seconds(run: Callable[[], object]) -> tuple[float, object]:
    time.sleep(REST)
    began = time.perf_counter()
    result = run()
    return time.perf_counter() - began, result


def compete(
    contestants: list[Contestant], rounds: int, m: int
) -> tuple[dict[str, np.ndarray], dict[str, object]]:
    """Seconds of each round for all m signals, by name and label; and the last results."""
    times: dict[str, list[float]] = {}
    results: dict[str, object] = {}
    for turn in range(rounds + 1):
        for one in contestants:
            key = f"{one.name}, {one.label}"
            spent, results[key] = seconds(one.run)
            if turn > 0:  # the first round warms caches and compilers
                times.setdefault(key, []).append(spent * m / one.count)
    return {key: np.array(spent) for key, spent in times.items()}, results


def best(times: dict[str, np.ndarray], name: str) -> str:
    """The faster setting of a contestant."""
    return min((k for k in times if k.split(",")[0] == name), key=lambda k: np.median(times[k]))


def spread(ratio: np.ndarray) -> str:
    return f"{np.median(ratio):7.2f}  [{ratio.min():.2f} … {ratio.max():.2f}]"


def dense(codes: object, count: int) -> np.ndarray:
    rows = codes[:count]  # type: ignore[index]
    return np.asarray(rows.todense() if hasattr(rows, "todense") else rows)


def check(case: Case, theirs: object, mine: object, count: int) -> str:
    """How many supports agree, and the ratio of mean residuals, on the first signals."""
    count = min(count, 200)
    a, b = dense(mine, count), dense(theirs, count)
    x = case.signals[:count].astype(np.float64)
    left = [np.linalg.norm(x - codes @ case.atoms, axis=1).mean() for codes in (a, b)]
    same = np.mean(((a != 0) == (b != 0)).all(axis=1))
    assert left[0] <= 1.1 * left[1], (
        f"{case.name}: our residual is {left[0] / left[1]:.3f} × theirs"
    )
    return f"{same:6.1%} supports equal, residual ratio {left[0] / left[1]:.4f}"


def contest(case: Case, contestants: list[Contestant], rounds: int, what: str) -> str:
    """Run, check and print one workload; the key of our best setting."""
    times, results = compete(contestants, rounds, len(case.signals))
    mine = best(times, "pursuit")
    print(f"\n{case.name}, {what}: our best with {mine.split(', ')[1]}")
    for name in dict.fromkeys(one.name for one in contestants if one.name != "pursuit"):
        key = best(times, name)
        count = next(one.count for one in contestants if one.name == name)
        verdict = check(case, results[key], results[mine], count)
        label = key.split(", ", 1)[1]
        print(f"  {name:>13} / ours {spread(times[key] / times[mine])}   {verdict}   ({label})")
    one, two = (times.get(f"pursuit, {t} thread(s)") for t in (1, 2))
    if one is not None and two is not None:
        print(f"  {'one thread':>13} / two  {spread(one / two)}")
    limit = least_seconds(case, what == "OMP")
    print(
        f"  {'limit':>13} / ours {limit / np.median(times[mine]):7.2f}   of the machine's products"
    )
    return mine


# The machine -----------------------------------------------------------------------------


def product_rate(dtype: type) -> float:
    """Multiply-adds a second of a large matrix product on all cores."""
    a = np.ones((2000, 2000), dtype)
    return 2000**3 / min(seconds(lambda: a @ a)[0] for _ in range(5))


def least_seconds(case: Case, orthogonal: bool) -> float:
    """The time of all multiply-adds at the speed of a large matrix product."""
    (m, d), n, k = case.signals.shape, len(case.atoms), case.k
    updates = k * (k - 1) // 2 + 2 * k if orthogonal else k
    return (n * n * d / 2 + m * n * d + m * n * updates) / product_rate(case.atoms.dtype.type)


def describe_machine() -> None:
    for dtype in (np.float32, np.float64):
        print(f"products in {np.dtype(dtype).name}: {2e-9 * product_rate(dtype):.0f} GFLOP/s")
    for library in threadpool_info():
        if library["user_api"] == "blas":
            where = Path(library["filepath"]).parent.name
            print(f"BLAS of {where}: {library['architecture']}, {library['num_threads']} threads")


# The workloads ---------------------------------------------------------------------------


def available(*makers: tuple[str, Callable[[], Contestant]]) -> list[Contestant]:
    return [make() for name, make in makers if name not in ABSENT]


def omp_peers(case: Case, subset: int) -> list[Contestant]:
    return available(
        *(("spams", lambda t=t: spams_omp(case, t)) for t in (1, 2)),
        ("dictlearn", lambda: dictlearn_omp(case)),
        ("sklearn", lambda: sklearn_omp(case, subset)),
        *(("torch", lambda t=t: torch_omp(case, t, 8 * subset)) for t in (1, 2)),
        ("pylops", lambda: pylops_pursuit(case, 4, True)),
    )


def mp_peers(case: Case) -> list[Contestant]:
    return available(
        *(("torch", lambda t=t: torch_matching_pursuit(case, t)) for t in (1, 2)),
        ("pylops", lambda: pylops_pursuit(case, 4, False)),
    )


def pursuits(name: str, rounds: int) -> None:
    """W1, W2: both methods in both precisions."""
    for dtype in (np.float32, np.float64):
        case = sparse_case(name, dtype)
        own = [ours(case, "orthogonal", t) for t in (1, 2)]
        contest(case, own + omp_peers(case, 500), rounds, "OMP")
        own = [ours(case, "matching-pursuit", t) for t in (1, 2)]
        contest(case, own + mp_peers(case), rounds, "MP")


def decoder(rounds: int) -> None:
    """W3: a Gram matrix of 1 GiB, which everybody has to form."""
    case = sparse_case("W3", np.float32)
    own = [ours(case, "orthogonal", t) for t in (1, 2)]
    peers = available(*(("spams", lambda t=t: spams_omp(case, t)) for t in (1, 2)))
    contest(case, own + peers, min(rounds, 3), "OMP")


def tall(rounds: int) -> None:
    """More numbers in a signal than atoms: dictlearn's strong suit."""
    case = sparse_case("tall", np.float64)
    own = [ours(case, "orthogonal", t) for t in (1, 2)]
    peers = available(
        ("dictlearn", lambda: dictlearn_omp(case)),
        *(("spams", lambda t=t: spams_omp(case, t)) for t in (1, 2)),
    )
    contest(case, own + peers, rounds, "OMP")


def scene_case(dtype: type, common: float) -> Case:
    """6 atoms × 162; `common` makes them alike, as spectra are."""
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((6, 162)) + common * rng.standard_normal(162)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    weights = np.abs(rng.standard_normal((94_249, 6)))
    signals = weights @ atoms + 0.05 * rng.standard_normal((94_249, 162))
    return Case(f"W4 {np.dtype(dtype).name}", signals.astype(dtype), atoms.astype(dtype), 100)


def scene(rounds: int) -> None:
    """W4: 100 steps over 6 atoms, beside the one product that has to be made."""
    for kind, common in (("independent atoms", 0.0), ("atoms alike", 2.0)):
        for dtype in (np.float32, np.float64):
            case = scene_case(dtype, common)
            one = ours(case, "matching-pursuit", 1), ours(case, "matching-pursuit", 2)
            alone = Contestant("product", lambda c=case: c.signals @ c.atoms.T, 94_249, "numpy")
            times, results = compete([*one, alone], 3 * rounds, 94_249)
            mine = best(times, "pursuit")
            rest = case.signals[:500].astype(float) - dense(results[mine], 500) @ case.atoms
            slope = np.abs(rest @ case.atoms.T).max() / np.linalg.norm(case.signals, axis=1).max()
            ratio = times[mine] / times["product, numpy"]
            print(f"\n{case.name}, {kind}, MP: our best with {mine.split(', ')[1]}")
            print(f"   ours / product {spread(ratio)}   largest slope left {slope:.1e}")


def long_signal(rounds: int) -> None:
    """W5: one signal, 50,000 atoms of 10,000 numbers, beside one product with them a step."""
    rng = np.random.default_rng(0)
    n, d, k = 50_000, 10_000, 100
    atoms = np.empty((n, d), np.float32)
    for i in range(0, n, 1000):
        part = rng.standard_normal((1000, d), dtype=np.float32)
        atoms[i : i + 1000] = part / np.linalg.norm(part, axis=1, keepdims=True)
    signal = rng.standard_normal(k, dtype=np.float32) @ atoms[rng.choice(n, k, replace=False)]
    signal += 0.05 * np.linalg.norm(signal) / d**0.5 * rng.standard_normal(d, dtype=np.float32)
    case = Case("W5 float32", signal[None], atoms, k)

    def one_product_a_step() -> object:
        rest, codes = signal.copy(), np.zeros(n, np.float32)
        for _ in range(k):
            c = atoms @ rest
            j = int(np.abs(c).argmax())
            codes[j] += c[j]
            rest -= c[j] * atoms[j]
        return codes[None]

    contestants = [ours(case, "matching-pursuit", t) for t in (1, 2)]
    contestants.append(Contestant("GEMV a step", one_product_a_step, 1, "best"))
    times, results = compete(contestants, min(rounds, 3), 1)
    mine = best(times, "pursuit")
    print(f"\n{case.name}, MP: our best with {mine.split(', ')[1]}")
    verdict = check(case, results["GEMV a step, best"], results[mine], 1)
    ratio = times["GEMV a step, best"] / times[mine]
    print(f"  {'GEMV a step':>13} / ours {spread(ratio)}   {verdict}")


def patches_case(dtype: type) -> Case:
    """All 8 × 8 patches of a photograph with noise, and 256 patches of it without as atoms."""
    from sklearn.datasets import load_sample_image

    rng = np.random.default_rng(0)
    picture = load_sample_image("china.jpg").mean(axis=2) / 255

    def patches(image: np.ndarray) -> np.ndarray:
        rows = np.lib.stride_tricks.sliding_window_view(image, (8, 8)).reshape(-1, 64)
        return rows - rows.mean(axis=1, keepdims=True)

    clean = patches(picture)
    atoms = rng.permutation(clean[np.linalg.norm(clean, axis=1) > 0.5])[:256]
    atoms = atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
    noisy = patches(picture + 25 / 255 * rng.standard_normal(picture.shape))
    return Case(f"patches {np.dtype(dtype).name}", noisy.astype(dtype), atoms.astype(dtype), 32)


def residual_tests(rounds: int) -> None:
    """A residual test alone, beside the same with a limit of 32 atoms that few signals reach."""
    if "sklearn" in ABSENT:
        return
    for dtype in (np.float32, np.float64):
        case = patches_case(dtype)
        for goal in (0.9, 0.4):
            limits = {"alone": None, "limited": case.k}
            contestants = [
                Contestant(
                    name,
                    lambda case=case, goal=goal, most=most: encode(
                        case.signals, case.atoms, atol=goal, n_nonzero=most, threads=1
                    ),
                    len(case.signals),
                    "1 thread",
                )
                for name, most in limits.items()
            ]
            times, results = compete(contestants, rounds, len(case.signals))
            codes = results["alone, 1 thread"]
            ratio = times["alone, 1 thread"] / times["limited, 1 thread"]
            shape = f"{len(case.signals):,} × 64 over 256 atoms"
            print(f"\n{case.name}, {shape}, OMP to a residual of {goal}: {codes.plan}")
            print(f"   median {np.median(codes.sizes):g} atoms; alone / limited {spread(ratio)}")


# Starting --------------------------------------------------------------------------------

FIRST = """
import numpy as np
from pursuit import Encoder, encode
rng = np.random.default_rng(0)
atoms, signals = rng.standard_normal((64, 32)), rng.standard_normal((100, 32))
codes = encode(signals, atoms, "{method}", n_nonzero=4)
assert codes.matrix.shape == (100, 64)
"""
TRIVIAL = """
import numpy as np
from trivial import total
assert total(np.ones(3)) == 3
"""
TRIVIAL_KERNEL = """
from numba import njit
@njit(cache=True)
def total(a):
    s = 0.0
    for v in a:
        s += v
    return s
"""


def prepared_once(rounds: int) -> None:
    """Calls of an `Encoder`, whose dictionary is ready, beside `encode`: CPU time, one thread."""
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((4096, 256), np.float32)
    encoder = Encoder(atoms, n_nonzero=32, threads=1)
    print("\n4,096 atoms × 256, float32, k = 32: an Encoder's call relative to encode, CPU time")
    for count, limit in ((1, None), (32, 1 / 4), (256, 1 / 2)):
        signals = rng.standard_normal((count, 256), np.float32)
        calls = (
            lambda x: encode(x, atoms, n_nonzero=32, threads=1, progress=False),
            lambda x: encoder(x, progress=False),
        )
        for call in calls:
            call(signals)  # compiled and prepared
        ratios = np.array(
            [[processor_seconds(call, signals) for call in calls] for _ in range(rounds)]
        )
        ratio = ratios[:, 1] / ratios[:, 0]
        asked = "" if limit is None else f", at most {limit:g}"
        print(f"{count:>6} signals: {spread(ratio)}{asked}")


def processor_seconds(call: Callable[[np.ndarray], object], signals: np.ndarray) -> float:
    began = time.process_time()
    call(signals)
    return time.process_time() - began


def cold_start(rounds: int) -> None:
    """From the start of a process to the first codes: the first time ever, and later."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "trivial.py").write_text(TRIVIAL_KERNEL)
        sources = str(Path(__file__).resolve().parents[1] / "src")
        paths = os.pathsep.join([folder, sources])
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "PYTHONPATH": paths}

        def start(code: str) -> float:
            command = [sys.executable, "-c", code]
            return seconds(lambda: subprocess.run(command, env=environment, check=True))[0]

        print("\nfrom the start of a process to the first codes, in seconds")
        start(TRIVIAL)
        for method in ("orthogonal", "matching-pursuit"):
            code = FIRST.format(method=method)
            first = start(code)
            pairs = np.array([(start(TRIVIAL), start(code)) for _ in range(rounds)])
            trivial, warm = np.median(pairs, axis=0)
            print(
                f"  {method:>17}: first ever {first:.2f}, later {warm:.2f}; a trivial kernel "
                f"{trivial:.2f}; above it {spread(pairs[:, 1] - pairs[:, 0])}"
            )


WORKLOADS: dict[str, Callable[[int], None]] = {
    "W1": lambda rounds: pursuits("W1", rounds),
    "W2": lambda rounds: pursuits("W2", rounds),
    "W3": decoder,
    "W4": scene,
    "W5": long_signal,
    "tall": tall,
    "patches": residual_tests,
    "start": cold_start,
    "again": prepared_once,
}


def chosen(arguments: argparse.Namespace) -> Iterator[tuple[str, Callable[[int], None]]]:
    for name, run in WORKLOADS.items():
        if not arguments.only or name in arguments.only:
            yield name, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(WORKLOADS), help="some workloads")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each contestant")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    use_the_right_kernels(ABSENT)
    for name in ABSENT:
        print(f"{name} is not installed and is left out: python -m pip install 'pursuit[bench]'")
    describe_machine()
    for _, run in chosen(arguments):
        with threadpool_limits(os.cpu_count()):
            run(arguments.rounds)


if __name__ == "__main__":
    main()
