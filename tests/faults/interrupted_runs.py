"""The runs of test_interrupted_runs.py. As a script: resumes those that standard input names, and
prints all that has to be the same in a run that nobody interrupted."""

import json
import os
import sys

import numpy as np
from scipy.sparse import random_array

import pursuit
from pursuit import methods
from pursuit.methods import NAMED
from pursuit.solving import compiled
from pursuit.solving.loop import run as run_of_solve
from pursuit.solving.result import COLUMNS

METHODS = {name: make() for name, make in NAMED.items()}
METHODS |= {
    "approximate": methods.matching_pursuit(direction=pursuit.Approximate(0.7)),
    "subset": methods.matching_pursuit(direction=pursuit.Subset(5)),
    "backtracking": methods.accelerated_matching_pursuit(step=pursuit.Backtracking(), nu=25.0),
}
SOURCES = os.path.dirname(pursuit.__file__)


def problem(kind):
    """f and a set of atoms: each is kept by points of another form."""
    rng = np.random.default_rng(11)
    rows = rng.standard_normal((25, 10)) * rng.uniform(0.2, 4, 25)[:, None]
    X, y = rng.standard_normal((40, 10)), rng.standard_normal(40)
    quadratic = pursuit.LeastSquares(X, y)
    if kind == "matrix":
        known = random_array((12, 9), density=0.5, rng=rng)
        return pursuit.MatrixEntries(known), pursuit.RankOne(12, 9)
    if kind == "logistic":
        return pursuit.Logistic(X, np.sign(y), l2=0.1), pursuit.Dictionary(rows)
    if kind == "function":
        f = pursuit.Function(quadratic.value, quadratic.gradient, shape=10, L=quadratic.L)
        return f, pursuit.Dictionary(rows)
    sets = {"sphere": pursuit.Sphere(10), "cone": pursuit.Cone(rows)}
    return quadratic, sets.get(kind) or pursuit.Dictionary(rows)


def run(kind, name, every, max_iter, **options):
    compiled.LOADING_SECONDS = 0.0 if kind == "compiled" else np.inf
    options = {"rng": 5, "tol": 0, "progress": False, **options}
    return pursuit.solve(*problem(kind), METHODS[name], every=every, max_iter=max_iter, **options)


def bits(result):
    """What two runs must share to the last bit; time is theirs alone."""
    x = result.x if isinstance(result.x, np.ndarray) else result.x.toarray()
    columns = [name for name in COLUMNS if name != "seconds"]
    return {
        "x": x.tobytes().hex(),
        "weights": result.weights.tobytes().hex(),
        "support": result.support.tolist(),
        "value": result.value.hex(),
        "slope": float(result.slope).hex(),
        "status": [result.status.name, result.message],
        "iterations": result.iterations,
        "work": [result.counts.oracle_calls, result.counts.products.hex()],
        "trace": {name: getattr(result.trace, name).tobytes().hex() for name in columns},
    }


class Interrupter:
    """Raises KeyboardInterrupt before a line of the package, counted from a run's first on."""

    def __init__(self, at):
        self.at, self.lines, self.running = at, 0, False

    def __enter__(self):
        sys.settrace(self._called)
        return self

    def __exit__(self, *error):
        sys.settrace(None)

    def _called(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(SOURCES):
            return None
        self.running |= frame.f_code is run_of_solve.__code__
        return self._ran if self.running else None

    def _ran(self, frame, event, argument):
        self.lines += event == "line"
        if event == "line" and self.lines == self.at:
            raise KeyboardInterrupt
        return self._ran


if __name__ == "__main__":
    print(json.dumps([bits(run(*job, resume=path)) for *job, path in json.load(sys.stdin)]))
