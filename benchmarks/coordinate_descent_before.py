"""The logistic regression of w8a with C = 1, to 1e-6, beside another version of the library.

    python benchmarks/coordinate_descent_before.py CHECKOUT

CPU time of `solve` with its defaults on one thread, here and with the source of the checkout, there
also with exact steps and accelerated; each version runs in a process of its own, warmed up.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp
from coordinate_descent_sets import w8a

from pursuit import Coordinates, Logistic, solve

SECONDS = 20
"""The most that a run may take."""

RUN = """
import sys, time
import numpy as np
import scipy.sparse as sp
from pursuit import Coordinates, ExactLineSearch, Logistic, methods, solve

X, y = sp.load_npz(sys.argv[4] + "/X.npz"), np.load(sys.argv[4] + "/y.npy")
named, target = sys.argv[1], float(sys.argv[2])
options = {}
if named == "exact steps":
    options["method"] = methods.matching_pursuit(step=ExactLineSearch())
elif named != "defaults":
    options["method"] = named
f, atoms = Logistic(X, y, l2=1.0), Coordinates(300)
solve(f, atoms, max_iter=2, **options)
begun = time.process_time()
result = solve(Logistic(X, y, l2=1.0), atoms, target=target, tol=0, max_iter=10**6,
               max_time=float(sys.argv[3]), every=10**6, **options)
print(time.process_time() - begun, result.value)
"""


def run(source: Path, method: str, target: float, folder: str) -> tuple[float, float]:
    """CPU seconds, and the value that was reached."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "PURSUIT_THREADS"):
        environment[name] = "1"
    command = [sys.executable, "-c", RUN, method, repr(target), str(SECONDS), folder]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds, value = told.stdout.split()[-2:]
    return float(seconds), float(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("checkout", type=Path)
    checkout = parser.parse_args().checkout
    made = w8a()
    if made is None:
        raise SystemExit("the file of w8a was not found")
    f = Logistic(*made, l2=1.0)
    least, zero = solve(f, Coordinates(300), tol=1e-12).value, f.value(np.zeros(300))
    target = least + 1e-6 * (zero - least)
    with TemporaryDirectory() as folder:
        sp.save_npz(f"{folder}/X.npz", made[0])
        np.save(f"{folder}/y.npy", made[1])
        here = Path(__file__).parents[1] / "src"
        ours = min(run(here, "defaults", target, folder)[0] for _ in range(3))
        print(f"here, defaults: {ours:.3f} s")
        for method in ("defaults", "exact steps", "accelerated"):
            seconds, value = run(checkout / "src", method, target, folder)
            reached = (value - least) / (zero - least)
            print(f"there, {method}: {seconds:.2f} s to {reached:.1e}: {seconds / ours:.0f} ×")


if __name__ == "__main__":
    main()
