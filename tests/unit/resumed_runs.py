"""The runs of test_resume.py. As a script: resumes those on standard input, prints their bits."""

import json
import sys

import numpy as np

import pursuit


def problem(form):
    """Least squares over a dictionary (Gram or ambient form) or the sphere; a logistic loss."""
    rng = np.random.default_rng(11)
    f = pursuit.LeastSquares(rng.standard_normal((14, 10)), rng.standard_normal(14))
    if form == "logistic":
        X = rng.standard_normal((40, 10))
        f = pursuit.Logistic(X, np.sign(X[:, 0] + rng.standard_normal(40)), l2=0.1)
    rows = rng.standard_normal((25, 10)) * rng.uniform(0.2, 4, 25)[:, None]
    return f, pursuit.Sphere(10) if form == "sphere" else pursuit.Dictionary(rows)


def run(form, name, every, max_iter, **options):
    f, atoms = problem(form)
    options |= {"tol": 0, "rng": 5, "every": every, "max_iter": max_iter, "progress": False}
    return pursuit.solve(f, atoms, name, gram_bytes=0 if form == "ambient" else None, **options)


def bits(result):
    """All that two runs must share, to the last bit; time is theirs alone."""
    columns = [name for name in pursuit.solving.result.COLUMNS if name != "seconds"]
    return {
        "x": result.x.tobytes().hex(),
        "weights": result.weights.tobytes().hex(),
        "support": result.support.tolist(),
        "used": np.asarray(result.used).tobytes().hex(),
        "value": result.value.hex(),
        "slope": result.slope.hex(),
        "status": [result.status.name, result.message],
        "iterations": result.iterations,
        "work": [result.counts.oracle_calls, result.counts.products.hex()],
        "trace": {name: getattr(result.trace, name).tobytes().hex() for name in columns},
    }


if __name__ == "__main__":
    print(json.dumps([bits(run(*job, resume=path)) for *job, path in json.load(sys.stdin)]))
