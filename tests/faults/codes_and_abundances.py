"""The jobs of test_compiled_bits.py. As a script: does them all, prints a mark of every result."""

import hashlib
import json
import warnings

import numpy as np

from pursuit import Cone, encode
from pursuit.encoding import METHODS
from pursuit.files.data import find
from pursuit.unmixing import unmix
from pursuit.unmixing.unmix import SOLVERS

URBAN = "urban77/urban77.npz"


def mark(*arrays):
    """A text that tells two results apart by any bit."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def encoded(signals, atoms, method, **options):
    codes = encode(signals, atoms, method, threads=1, progress=False, **options)
    places = codes.indptr, codes.indices, codes.iterations, codes.statuses
    return mark(codes.values, codes.residual_norms, *places)


def unmixed(pixels, endmembers, constraint):
    options = {"n_nonzero": 2} if constraint == "sparse" else {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the fit is bad")
        found = unmix(pixels, endmembers, constraint, threads=1, progress=False, **options)
    return mark(found.abundances, found.residual_norms, found.angles)


def random_jobs(precision):
    """Every method, in each of the forms that a plan may choose, and every constraint."""
    rng = np.random.default_rng(0)
    signals, atoms, many = (
        rng.standard_normal((rows, 24)).astype(precision) for rows in (300, 40, 3000)
    )
    for method in METHODS:
        yield method, encoded(signals, atoms, method, max_iter=60)
        yield f"{method} to a residual", encoded(signals, atoms, method, rtol=0.3)
    yield "few atoms", encoded(signals, atoms[:6], "matching-pursuit", max_iter=60)
    for method in ("orthogonal", "matching-pursuit"):
        yield f"{method}, columns", encoded(signals[:1], many, method, n_nonzero=8)
        yield f"{method}, products", encoded(signals[:64], many, method, n_nonzero=3)
        yield f"{method}, cone", encoded(signals, Cone(np.abs(atoms)), method, n_nonzero=8)
    endmembers = np.abs(rng.standard_normal((7, 24))).astype(precision)
    shares = rng.dirichlet(np.ones(7), 600)
    pixels = (shares @ endmembers + 0.1 * rng.standard_normal((600, 24))).astype(precision)
    for constraint in SOLVERS:
        yield constraint, unmixed(pixels, endmembers, constraint)


def urban_jobs(path, precision):
    with np.load(path, allow_pickle=False) as file:
        pixels = np.ascontiguousarray(file["pixels"].T[::7], precision) / 1000
        endmembers = np.ascontiguousarray(file["endmembers_gt"].T, precision)
    for method in METHODS:
        yield method, encoded(pixels, endmembers, method, max_iter=40)
    for constraint in SOLVERS:
        yield constraint, unmixed(pixels, endmembers, constraint)


def every_mark():
    """A mark of each result, by the name of its job."""
    marks = {}
    for precision in ("f4", "f8"):
        marks |= {f"random {precision} {name}": m for name, m in random_jobs(precision)}
        path = find(URBAN)
        if path is not None:
            marks |= {f"Urban {precision} {name}": m for name, m in urban_jobs(path, precision)}
    return marks


if __name__ == "__main__":
    print(json.dumps(every_mark()))
