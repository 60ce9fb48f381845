"""A cluster beside one process: signals of a .npy file to a folder of codes.

One process with two threads streams, two workers with one thread each do tasks of some thousand
rows; the rounds are interleaved, and the codes are compared bit for bit. A ratio of rates is that
of the best rounds: the machine may have other work. CPU time is that of all processes: the client
with its scheduler, and the workers. Kernels are loaded, and the dictionary is prepared on the
workers, before the clock starts.

    python benchmarks/cluster.py [--signals 2000000] [--rows 50000 …] [--rounds 4] [--folder DIR]
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster

from pursuit import Codes, Encoder
from pursuit.encoding.chunks import from_npy

ATOMS, LENGTH, NONZERO = 256, 64, 5
CHUNK = 500_000
WORKERS = 2
COLUMNS = ("indices", "values", "residual_norms", "iterations", "statuses")


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
        for atom in rng.integers(0, ATOMS, (NONZERO, rows)):
            noise += rng.standard_normal((rows, 1), np.float32) * atoms[atom]
        file[start : start + rows] = noise
    file.flush()


def processor_seconds(client: Client) -> float:
    """What this process and all workers have used so far."""
    return time.process_time() + sum(client.run(time.process_time).values())


def timed(run: Callable[[], Codes], client: Client) -> tuple[float, float, Codes]:
    """Seconds on the wall and of all processors, and what came."""
    used, began = processor_seconds(client), time.perf_counter()
    codes = run()
    wall = time.perf_counter() - began
    return wall, processor_seconds(client) - used, codes


def compare(signals: Path, rows: int, rounds: int, folder: Path, client: Client) -> None:
    encoder = Encoder(dictionary(), n_nonzero=NONZERO, threads=WORKERS)
    chunks = from_npy(signals, rows=rows)
    contestants = {"local": signals, "cluster": chunks}
    encoder(chunks[: 4 * rows], out=folder / f"first {rows}")
    encoder(np.load(signals, mmap_mode="r")[:rows])
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for number in range(rounds):
        codes = {}
        for name, source in contestants.items():
            out = folder / f"{name} {rows} {number}"
            wall, used, codes[name] = timed(lambda s=source, o=out: encoder(s, out=o), client)
            found[name].append((wall, used))
        for name in COLUMNS:
            files = [folder / f"{c} {rows} {number}" / f"{name}.npy" for c in contestants]
            assert files[0].read_bytes() == files[1].read_bytes(), name
    total = len(np.load(signals, mmap_mode="r"))
    best = {name: np.min(times, axis=0) for name, times in found.items()}
    wall, used = best["local"] / best["cluster"]
    print(
        f"{total:,} signals × {LENGTH} float32, {ATOMS} atoms, k = {NONZERO}; {rows:,} rows a task "
        f"on {WORKERS} workers: rate / rate of local streaming {wall:.2f}, in CPU time {used:.2f} "
        f"(local {best['local'][0]:.2f} s, {best['local'][1]:.2f} s of CPU); the same bits",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--signals", type=int, default=2_000_000)
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 200_000])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--folder", help="where the signals and codes go, deleted afterwards")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(dir=arguments.folder) as folder,
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        signals = Path(folder) / "signals.npy"
        create(signals, arguments.signals)
        for rows in arguments.rows:
            compare(signals, rows, arguments.rounds, Path(folder), client)


if __name__ == "__main__":
    main()
