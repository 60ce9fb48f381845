"""Out of core: ten million signals from a memory map to a folder, beside encode() in memory.

Each run is a process of its own. The rounds are interleaved, and a rate counts the signals of one
call of encode(), after a first call on a few signals has loaded the kernels. The file was just
written: it comes from the system's cache as far as that reaches.

    python benchmarks/stream.py [--signals 10000000] [--rounds 3] [--folder DIR]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from pursuit import encode

ATOMS, LENGTH, NONZERO = 256, 64, 5
CHUNK = 500_000
IN_MEMORY = 3_000_000
"""Signals of the runs in memory: a subset that fits there with its codes."""


def dictionary() -> np.ndarray:
    atoms = np.random.default_rng(0).standard_normal((ATOMS, LENGTH))
    return (atoms / np.linalg.norm(atoms, axis=1, keepdims=True)).astype(np.float32)


def create(path: Path, signals: int) -> None:
    """Sums of five atoms and noise, a chunk at a time."""
    rng, atoms = np.random.default_rng(1), dictionary()
    file = np.lib.format.open_memmap(path, "w+", np.float32, (signals, LENGTH))
    for start in range(0, signals, CHUNK):
        rows = min(CHUNK, signals - start)
        noise = 0.05 * rng.standard_normal((rows, LENGTH), np.float32)
        chosen = rng.integers(0, ATOMS, (NONZERO, rows))
        for atom in chosen:
            noise += rng.standard_normal((rows, 1), np.float32) * atoms[atom]
        file[start : start + rows] = noise
    file.flush()


class AnonymousMemory(threading.Thread):
    """The most anonymous memory (RssAnon) of this process, looked at every 20 ms."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.over = 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.02):
            status = Path("/proc/self/status").read_text()
            kilobytes = int(status.split("RssAnon:")[1].split()[0])
            self.peak = max(self.peak, kilobytes * 1024)


def measure(kind: str, signals: Path, method: str) -> None:
    """One run, in this process; prints signals a second and bytes."""
    atoms = dictionary()
    rows = np.load(signals, mmap_mode="r")
    encode(rows[:5000], atoms, method, n_nonzero=NONZERO)
    if kind == "memory":
        rows = np.array(rows[:IN_MEMORY])
    watch = AnonymousMemory()
    watch.start()
    with tempfile.TemporaryDirectory(dir=signals.parent) as folder:
        out = {"out": Path(folder) / "codes"} if kind == "stream" else {}
        began = time.perf_counter()
        codes = encode(rows, atoms, method, n_nonzero=NONZERO, **out)
        seconds = time.perf_counter() - began
        finite = bool(np.isfinite(codes.residual_norms[:: max(1, len(codes) // 1000)]).all())
    watch.over.set()
    watch.join()
    print(json.dumps({"rate": len(rows) / seconds, "peak": watch.peak, "finite": finite}))


def child(kind: str, signals: Path, method: str) -> dict:
    command = [sys.executable, __file__, "--measure", kind, str(signals), method]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["finite"]
    return found


def compare(signals: Path, total: int, method: str, rounds: int) -> None:
    ratios, peaks = [], []
    for _ in range(rounds):
        before, stream, after = (child(k, signals, method) for k in ("memory", "stream", "memory"))
        ratios.append(stream["rate"] / np.sqrt(before["rate"] * after["rate"]))
        peaks.append(stream["peak"])
    print(
        f"{method:>17}: {total:,} signals × {LENGTH} float32, {ATOMS} atoms, k = {NONZERO}: "
        f"rate / rate in memory {np.median(ratios):.2f} ({min(ratios):.2f} … {max(ratios):.2f}), "
        f"RssAnon at most {max(peaks) / 2**20:.0f} MiB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--signals", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each contestant")
    parser.add_argument("--folder", help="where the signals and codes go, deleted afterwards")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        kind, signals, method = arguments.measure
        return measure(kind, Path(signals), method)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        signals = Path(folder) / "signals.npy"
        create(signals, arguments.signals)
        for method in ("orthogonal", "matching-pursuit"):
            compare(signals, arguments.signals, method, arguments.rounds)
    return None


if __name__ == "__main__":
    main()
