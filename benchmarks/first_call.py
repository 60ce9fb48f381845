"""What the first call costs: ``python benchmarks/first_call.py [--beside CHECKOUT]``.

CPU seconds of a call in a fresh process on one thread, after another kernel that was found on disk
has started the compiler: *first*, with nothing of this package on disk, so that its kernels are
compiled; *later*, with all of them there. The least of some rounds. With ``--beside CHECKOUT``
another version of the library, in CHECKOUT/src, does the same in turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ENCODE = "encode(signals, {}, '{}', max_iter=8, threads=1, progress=False)"
SOLVE = "solve(f, Dictionary(atoms), '{}', max_iter=1000, tol=0, every=100)"
CALLS = {
    "encode, matching pursuit": ENCODE.format("atoms", "matching-pursuit"),
    "encode, orthogonal": ENCODE.format("atoms", "orthogonal"),
    "encode over a cone, matching pursuit": ENCODE.format("cone", "matching-pursuit"),
    "encode over a cone, orthogonal": ENCODE.format("cone", "orthogonal"),
    "encode, accelerated-random": ENCODE.format("atoms", "accelerated-random"),
    "solve, compiled, matching pursuit": SOLVE.format("matching-pursuit"),
    "solve, compiled, accelerated-random": SOLVE.format("accelerated-random"),
}

TRIVIAL_KERNEL = """
from numba import njit
@njit(cache=True)
def total(a):
    s = 0.0
    for v in a:
        s += v
    return s
"""

# Over so few atoms a run of `solve` is not compiled, unless loading the kernels is said to cost
# nothing; the version before compiles it where they are imported.
RUN = """
import time
import numpy as np
from pursuit import Cone, Dictionary, SquaredDistance, encode, solve
from trivial import total
total(np.ones(3))
rng = np.random.default_rng(0)
atoms, signals = rng.standard_normal((64, 32)), rng.standard_normal((100, 32))
cone, f = Cone(Dictionary(atoms)), SquaredDistance(signals[0])
began = time.process_time()
if {compiled}:
    import pursuit.kernels.iterations
    import pursuit.solving.compiled
    pursuit.solving.compiled.LOADING_SECONDS = 0.0
{call}
print(time.process_time() - began)
"""


def seconds(source: Path, name: str, folder: str) -> float:
    """CPU seconds of a call in a fresh process, with compiled code kept in a folder."""
    environment = os.environ | {
        **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "PURSUIT_THREADS"), "1"),
        "NUMBA_CACHE_DIR": folder,
        "PYTHONPATH": os.pathsep.join([folder, str(source)]),
    }
    code = RUN.format(call=CALLS[name], compiled="compiled" in name)
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(said.stdout)


def first_and_later(source: Path, name: str) -> tuple[float, float]:
    """CPU seconds of a call with no kernel of the package on disk, and with all."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "trivial.py").write_text(TRIVIAL_KERNEL)
        environment = os.environ | {"NUMBA_CACHE_DIR": folder, "PYTHONPATH": folder}
        trivial = "import numpy, trivial; trivial.total(numpy.ones(3))"
        subprocess.run([sys.executable, "-c", trivial], env=environment, check=True)
        first = seconds(source, name, folder)
        return first, seconds(source, name, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--beside", type=Path, help="a checkout of another version")
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    sources = [Path(__file__).resolve().parents[1] / "src"]
    if arguments.beside:
        sources.append(arguments.beside.resolve() / "src")
    columns = [f"{time}{place}" for place in ("", ", there") for time in ("first", "later")]
    print(f"{'CPU seconds':<38}", *(f"{name:>12}" for name in columns[: 2 * len(sources)]))
    for name in CALLS:
        rounds = [[first_and_later(s, name) for s in sources] for _ in range(arguments.rounds)]
        least = [min(column) for s in zip(*rounds, strict=True) for column in zip(*s, strict=True)]
        print(f"{name:<38}", *(f"{number:12.2f}" for number in least), flush=True)


if __name__ == "__main__":
    main()
