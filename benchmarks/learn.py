"""learn() side by side with other libraries: ``python benchmarks/learn.py``.

One thread and CPU time. All learners of a lesson begin with the same atoms and run once a round, in
turn, so that a busy machine slows all of them; what is printed are ratios to ours, the median over
the rounds, the smallest and the largest. Each dictionary is judged by the same codes, those of
`encode`: the share of Σ‖x‖² that k atoms leave out, and for a photograph the noise that is left
in dB when its patches are encoded up to the noise.

    python benchmarks/learn.py --only peers known --rounds 5
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from data_files import find
from learn_peers import (
    PENALTIES,
    Learner,
    Lesson,
    cpu_seconds,
    dictlearn_aksvd,
    dictlearn_mairal,
    missing,
    ours,
    sklearn_minibatch,
    spams_online,
)
from spams_blas import use_the_right_kernels
from threadpoolctl import threadpool_limits

from pursuit import encode, learn
from pursuit.learning import alternating, online
from pursuit.learning.denoising import SIDE, denoise, tolerance
from pursuit.learning.patches import coverage, overlay, patches, some_patches
from pursuit.learning.renewal import Renewal
from pursuit.learning.start import first_atoms

ATOMS, K = 256, 5
SIGNALS, FEW = 100_000, 20_000
SIGMA = 25 / 255
PICTURES = ("china", "flower")
ABSENT = missing()


# Signals ---------------------------------------------------------------------------------------


def photograph(name: str) -> np.ndarray:
    """Grey, from 0 to 1; scikit-learn ships it."""
    from sklearn.datasets import load_sample_image

    return load_sample_image(f"{name}.jpg") @ [0.299, 0.587, 0.114] / 255


def noisy(picture: np.ndarray, sigma: float = SIGMA) -> np.ndarray:
    return picture + sigma * np.random.default_rng(0).standard_normal(picture.shape)


def centred(rows: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    return (rows - rows.mean(axis=1, keepdims=True)).astype(dtype)


def patches_of(picture: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    return centred(some_patches(picture, SIDE, count, np.random.default_rng(seed)))


def heartbeats() -> np.ndarray | None:
    """Windows of 128 samples of an ECG, drawn at random; None where there is no such file."""
    path = find("ecg_scipy/ecg.dat")
    if path is None:
        print("ecg_scipy/ecg.dat is not in $PURSUIT_DATA: left out")
        return None
    with np.load(path) as file:
        millivolts = (file["ecg"].astype(np.float64) - 1024) / 200
    windows = np.lib.stride_tricks.sliding_window_view(millivolts, 128)
    return centred(np.random.default_rng(0).permutation(windows)[:SIGNALS])


def known_atoms(m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Signals of 5 atoms of a Gaussian dictionary of 256 × 64, with noise 20 dB below; and it."""
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((ATOMS, 64))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    chosen = np.argsort(rng.random((m, ATOMS)), axis=1)[:, :K]
    signals = np.einsum("ik,ikd->id", rng.standard_normal((m, K)), atoms[chosen])
    noise = rng.standard_normal(signals.shape)
    lengths = (np.linalg.norm(rows, axis=1, keepdims=True) for rows in (signals, noise))
    signals += 0.1 * np.divide(*lengths) * noise
    return signals.astype(np.float32), atoms


def lesson(name: str, signals: np.ndarray, seed: int = 0) -> Lesson:
    start = first_atoms(signals, ATOMS, seed, False).astype(signals.dtype)
    return Lesson(name, signals, start, K)


# Judging ---------------------------------------------------------------------------------------


def left_out(signals: np.ndarray, atoms: np.ndarray) -> float:
    """Σ‖x − γD‖² / Σ‖x‖² over codes of k atoms."""
    codes = encode(signals, usable(atoms), n_nonzero=K, threads=1)
    return float((codes.residual_norms**2).sum() / np.sum(signals.astype(np.float64) ** 2))


def usable(atoms: np.ndarray) -> np.ndarray:
    """Some learners leave zeros."""
    atoms = np.ascontiguousarray(atoms)
    return atoms[np.linalg.norm(atoms, axis=1) > 0]


def decibels(a: np.ndarray, b: np.ndarray) -> float:
    return float(-10 * np.log10(np.mean((np.clip(a, 0, 1) - b) ** 2)))


def cleaned(picture: np.ndarray, atoms: np.ndarray, sigma: float) -> np.ndarray:
    """A picture whose patches are encoded over the atoms up to the noise."""
    rows = patches(picture.astype(np.float32), SIDE)
    mean, atoms = rows.mean(axis=1, keepdims=True), usable(atoms).astype(np.float32)
    total = np.zeros(picture.shape)
    codes = encode(rows - mean, atoms, atol=tolerance(sigma), threads=1)
    overlay(codes @ atoms + mean, SIDE, total)
    return total / coverage(picture.shape, SIDE)


def spread(ratio: np.ndarray) -> str:
    return f"{np.median(ratio):7.2f} [{ratio.min():.2f} … {ratio.max():.2f}]"


# Peers -----------------------------------------------------------------------------------------


def compete(
    learners: list[Learner], rounds: int
) -> tuple[dict[str, np.ndarray], dict[str, object]]:
    """CPU seconds for each signal, by name; and the last dictionaries."""
    times: dict[str, list[float]] = {}
    atoms: dict[str, np.ndarray] = {}
    for turn in range(rounds + 1):
        for one in learners:
            # scikit-learn takes long, and compiles nothing: it runs once, and nothing warms up.
            slow = one.name.startswith("scikit")
            if slow and turn != 1:
                continue
            spent, atoms[one.name] = cpu_seconds(one.run)
            if turn > 0:
                times.setdefault(one.name, []).append(spent / one.count)
    return {name: np.array(spent) for name, spent in times.items()}, atoms


def online_peers(given: Lesson, few: Lesson) -> Iterator[Learner]:
    if "spams" not in ABSENT:
        yield spams_online(given, 512)
        yield spams_online(given, 2048)
    if given.signals.dtype == np.float64:
        return
    if "dictlearn" not in ABSENT:
        yield dictlearn_mairal(few, FEW)
    if "sklearn" not in ABSENT:
        for penalty in PENALTIES:
            yield sklearn_minibatch(few, FEW, penalty)


def contest(title: str, learners: list[Learner], judge: Callable[[np.ndarray], str], rounds: int):
    """Print each learner's time for a signal over that of the first, and its judgement."""
    times, atoms = compete(learners, rounds)
    first = learners[0].name
    microseconds = 1e6 * np.median(times[first])
    print(f"\n{title}\n  {first:>32}: {microseconds:.2f} µs a signal, {judge(atoms[first])}")
    for one in learners[1:]:
        size = min(len(times[first]), len(times[one.name]))
        ratio = times[one.name][:size] / np.median(times[first])
        signals = f"{one.count:,} signals"
        print(f"  {one.name:>32} / ours {spread(ratio)}, {judge(atoms[one.name])} ({signals})")


def peers(rounds: int) -> None:
    """One pass online beside SPAMS, scikit-learn and dictlearn; AK-SVD beside dictlearn's."""
    for name in (*PICTURES, "ECG"):
        picture = photograph(name) if name in PICTURES else None
        signals = heartbeats() if picture is None else patches_of(noisy(picture), SIGNALS)
        if signals is None:
            continue

        def judge(atoms: np.ndarray, picture=picture, signals=signals) -> str:
            said = f"left out {left_out(signals, atoms):.4f}"
            if picture is None:
                return said
            return f"{said}, {decibels(cleaned(noisy(picture), atoms, SIGMA), picture):.2f} dB"

        for dtype in (np.float32, np.float64):
            given = lesson(name, signals.astype(dtype))
            few = Lesson(name, given.signals[:FEW], given.start, K)
            title = f"{name}, {len(signals):,} signals, {np.dtype(dtype).name}, one pass"
            others = [*online_peers(given, few)]
            if dtype is np.float32:
                others += [
                    Learner(f"pursuit, {p} of the few signals", ours(few, passes=t).run, FEW)
                    for t, p in ((1, "one pass"), (3, "three passes"))
                ]
            contest(title, [ours(given), *others], judge, rounds)
        if "dictlearn" not in ABSENT:
            some = Lesson(name, signals[:20_000].astype(np.float64), given.start, K)
            both = [ours(some, "aksvd", 5), dictlearn_aksvd(some, 20_000, 5)]
            contest(f"{name}, 20,000 signals, float64, five passes of AK-SVD", both, judge, rounds)


def above(rounds: int) -> None:
    """One pass over patches that stand out of the noise, as `pursuit denoise` learns from them."""
    for name in PICTURES:
        picture = photograph(name)
        rows = patches_of(noisy(picture), 3 * SIGNALS)
        rows = rows[np.linalg.norm(rows, axis=1) > tolerance(SIGMA)][:SIGNALS]
        given = lesson(name, rows)
        few = Lesson(name, rows[: FEW // 2], given.start, K)

        def judge(atoms: np.ndarray, picture=picture, rows=rows) -> str:
            clean = decibels(cleaned(noisy(picture), atoms, SIGMA), picture)
            return f"left out {left_out(rows, atoms):.4f}, {clean:.2f} dB"

        others = [sklearn_minibatch(few, FEW // 2, penalty) for penalty in PENALTIES[1:]]
        contest(f"{name}, {len(rows):,} patches, float32", [ours(given), *others], judge, rounds)


# A known dictionary ----------------------------------------------------------------------------


def recovered(atoms: np.ndarray, truth: np.ndarray) -> float:
    """The share of the true atoms that one of ours is within a coherence of 0.99 of."""
    unit = usable(atoms) / np.linalg.norm(usable(atoms), axis=1, keepdims=True)
    return float(np.mean(np.abs(truth @ unit.T.astype(np.float64)).max(axis=1) > 0.99))


def first_to(goal: float, make: Callable[[int], Learner], truth: np.ndarray) -> float:
    """CPU seconds of the shortest run that recovers so many."""
    for passes in (2, 3, 4, 5, 6, 8, 10, 12, 14, 17, 20, 25, 30, 40):
        spent, atoms = cpu_seconds(make(passes).run)
        share = recovered(atoms, truth)
        if share >= goal:
            break
    print(f"  {make(passes).name:>24}: {share:.3f} after {passes} passes, {spent:.2f} s")
    return spent if share >= goal else np.inf


def known(rounds: int) -> None:
    """Recovery of 95 % of a known dictionary: the time of the shortest run that gets there."""
    ratios = []
    for seed in range(rounds):
        signals, truth = known_atoms(20_000, seed)
        given = lesson("known", signals)
        print(f"\n256 atoms × 64, k = 5, 20,000 signals, 20 dB, seed {seed}")
        mine = first_to(0.95, lambda p, g=given: ours(g, passes=p), truth)
        for method in ("aksvd", "mod"):
            first_to(0.95, lambda p, g=given, m=method: ours(g, m, p), truth)
        if "spams" in ABSENT:
            continue
        theirs = [
            first_to(0.95, lambda p, g=given, b=batch: spams_online(g, b, p), truth)
            for batch in (128, 256, 512)
        ]
        ratios.append(min(theirs) / mine)
    if ratios:
        print(f"  best of SPAMS / ours: {spread(np.array(ratios))}")


# What was chosen ---------------------------------------------------------------------------------


def renewal_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Signals to learn from, and others to judge by."""
    for name, sigma in product(PICTURES, (0.0, SIGMA)):
        picture = noisy(photograph(name), sigma)
        what = f"{name}, {'noisy' if sigma else 'clean'}"
        yield what, patches_of(picture, 60_000), patches_of(picture, 30_000, seed=1)
    beats = heartbeats()
    if beats is not None:
        yield "ECG", beats[:60_000], beats[60_000:]
    signals, _ = known_atoms(40_000, 0)
    yield "known atoms", signals[:20_000], signals[20_000:]


def renewal(rounds: int) -> None:
    """The thresholds of renewal: what is left out of signals that were not learned from."""
    chosen = online.RENEWAL
    coherences, usages = (0.7, 0.8, 0.9, 0.95, 0.99, 2.0), (0.0, 0.3, 0.5)
    for method, module in (("online", online), ("aksvd", alternating)):
        print(
            f"\n{method}, {'three' if method == 'online' else 'ten'} passes; left out by coherence"
        )
        print(f"{'':>14}{'usage':>8}" + "".join(f"{c:>10}" for c in coherences))
        for name, signals, others in renewal_sets():
            signals = signals if method == "online" else signals[:15_000]
            for usage in usages:
                shares = []
                for coherence in coherences:
                    module.RENEWAL = Renewal(usage, coherence, chosen.most)
                    passes = 3 if method == "online" else 10
                    runs = [
                        learn(signals, ATOMS, K, method, passes=passes, seed=s, threads=1)
                        for s in range(min(2, rounds))
                    ]
                    shares.append(np.mean([left_out(others, run.atoms) for run in runs]))
                print(f"{name:>14}{usage:>8}" + "".join(f"{share:>10.5f}" for share in shares))
        module.RENEWAL = chosen


def forgetting(rounds: int) -> None:
    """ρ, the size of batches, and float32 beside float64, on a noisy photograph."""
    for name in PICTURES:
        signals = patches_of(noisy(photograph(name)), SIGNALS)
        print(f"\n{name}: left out after 1, 3 and 10 passes")
        chosen = online.FORGETTING
        for rho in (1.0, 2.0, 5.0, 10.0, 15.0):
            online.FORGETTING = rho
            runs = [learn(signals, ATOMS, K, passes=p, threads=1).atoms for p in (1, 3, 10)]
            print(f"  ρ = {rho:4.0f}: " + "  ".join(f"{left_out(signals, a):.4f}" for a in runs))
        online.FORGETTING = chosen
        for dtype in (np.float32, np.float64):
            rows = signals.astype(dtype)
            runs = [learn(rows, ATOMS, K, passes=p, threads=1).atoms for p in (1, 3, 10)]
            print(
                f"  {np.dtype(dtype).name}: " + "  ".join(f"{left_out(rows, a):.4f}" for a in runs)
            )


def noise(rounds: int) -> None:
    """What `pursuit denoise` does to photographs in colours, 8 bits, noise cut off at the ends."""
    from sklearn.datasets import load_sample_image

    for name, sigma in product(PICTURES, (10, 25, 50)):
        clean = load_sample_image(f"{name}.jpg") / 255
        given = np.rint(np.clip(noisy(clean, sigma / 255), 0, 1) * 255) / 255
        for level in (None, sigma / 255):
            done = denoise(given, level, threads=1)
            said = ", ".join(f"{255 * one:.1f}" for one in dict.fromkeys(done.noise))
            how = "estimated" if level is None else "given"
            before, after = decibels(given, clean), decibels(done.pixels, clean)
            print(f"  {name}, σ = {sigma}: {before:.2f} → {after:.2f} dB (noise {how}: {said})")


SECTIONS: dict[str, Callable[[int], None]] = {
    "peers": peers,
    "above": above,
    "known": known,
    "renewal": renewal,
    "forgetting": forgetting,
    "noise": noise,
}


DEFAULT = ["peers", "above", "known", "noise"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=DEFAULT)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    use_the_right_kernels(ABSENT)
    if ABSENT:
        print(f"not installed: {', '.join(ABSENT)}")
    with threadpool_limits(1):
        for name in arguments.only:
            print(f"\n{name}: {SECTIONS[name].__doc__}")
            SECTIONS[name](arguments.rounds)


if __name__ == "__main__":
    main()
