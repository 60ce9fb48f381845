"""A cluster beside one process: signals of a .npy file to a folder of codes.

One process with two threads streams, two workers with one thread each do tasks of some thousand
rows; the rounds are interleaved, and the codes are compared bit for bit. A ratio of rates is that
of the best rounds: the machine may have other work. CPU time is that of all processes: the client
with its scheduler, and the workers. Kernels are loaded, and the dictionary is prepared on the
workers, before the clock starts.

    python benchmarks/cluster.py [--only W1 W2] [--rows 50000 …] [--rounds 4] [--folder DIR]
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

SIZES = {"W1": (256, 64, 8, 1_000_000), "W2": (1024, 128, 16, 300_000)}
"""Atoms, their length, atoms of a code, signals: as in encode.py, but for more signals."""
CHUNK = 50_000
WORKERS = 2


def dictionary(name: str) -> np.ndarray:
    n, d, _, _ = SIZES[name]
    atoms = np.random.default_rng(0).standard_normal((n, d))
    return (atoms / np.linalg.norm(atoms, axis=1, keepdims=True)).astype(np.float32)


def create(path: Path, name: str) -> None:
    """Sums of some atoms and noise, a chunk at a time."""
    rng, atoms = np.random.default_rng(1), dictionary(name)
    n, d, k, signals = SIZES[name]
    file = np.lib.format.open_memmap(path, "w+", np.float32, (signals, d))
    for start in range(0, signals, CHUNK):
        rows = min(CHUNK, signals - start)
        noise = 0.05 * rng.standard_normal((rows, d), np.float32)
        for atom in rng.integers(0, n, (k, rows)):
            noise += rng.standard_normal((rows, 1), np.float32) * atoms[atom]
        file[start : start + rows] = noise
    file.flush()


def processor_seconds(client: Client) -> float:
    """What this process and all workers have used so far."""
    return time.process_time() + sum(client.run(time.process_time).values())


def timed(run: Callable[[], Codes], client: Client) -> tuple[float, float]:
    """Seconds on the wall and of all processors."""
    used, began = processor_seconds(client), time.perf_counter()
    run()
    wall = time.perf_counter() - began
    return wall, processor_seconds(client) - used


def compare(name: str, rows: int, rounds: int, folder: Path, client: Client) -> None:
    n, d, k, total = SIZES[name]
    signals = folder / f"{name}.npy"
    encoder = Encoder(dictionary(name), n_nonzero=k, threads=WORKERS)
    chunks = from_npy(signals, rows=rows)
    contestants = {"local": signals, "cluster": chunks}
    encoder(chunks[: 4 * rows], out=folder / f"first {name} {rows}")
    encoder(np.load(signals, mmap_mode="r")[:rows])
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in contestants}
    for number in range(rounds):
        folders = []
        for kind, source in contestants.items():
            folders.append(folder / f"{kind} {name} {rows} {number}")
            found[kind].append(timed(lambda s=source, o=folders[-1]: encoder(s, out=o), client))
        for file in folders[0].iterdir():
            assert file.read_bytes() == (folders[1] / file.name).read_bytes(), file.name
    best = {kind: np.min(times, axis=0) for kind, times in found.items()}
    wall, used = best["local"] / best["cluster"]
    print(
        f"{name}: {total:,} signals × {d} float32, {n} atoms, k = {k}; {rows:,} rows a task on "
        f"{WORKERS} workers: rate / rate of local streaming {wall:.2f}, in CPU time {used:.2f} "
        f"(local {best['local'][0]:.2f} s, {best['local'][1]:.2f} s of CPU); the same bytes",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000])
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
        for name in arguments.only:
            create(Path(folder) / f"{name}.npy", name)
            for rows in arguments.rows:
                compare(name, rows, arguments.rounds, Path(folder), client)


if __name__ == "__main__":
    main()
