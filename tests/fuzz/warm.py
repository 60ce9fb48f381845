"""Compiles, before any clock runs, what cases will call."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np

import pursuit
from fuzz import learning
from fuzz.encoding import METHODS
from fuzz.unmixing import CONSTRAINTS


@cache
def warm_up() -> None:
    """Call every compiled path once in both precisions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _call_all()


def _call_all() -> None:
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        atoms, signals = (rng.random((n, 4)).astype(dtype) for n in (6, 3))
        for method in METHODS:
            pursuit.encode(signals, atoms, method, max_iter=3, progress=False)
            # Over atoms without a condition number to speak of, float32 has kernels of its own.
            pursuit.encode(signals, np.eye(4, dtype=dtype), method, max_iter=3, progress=False)
        for method in ("orthogonal", "matching-pursuit"):
            cone = pursuit.Cone(atoms)
            pursuit.encode(signals, cone, method, max_iter=3, rtol=0.1, progress=False)
        for constraint in CONSTRAINTS:
            most = 2 if constraint == "sparse" else None
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="the fit is bad")
                pursuit.unmixing.unmix(signals, atoms, constraint, n_nonzero=most, progress=False)
        f = pursuit.SquaredDistance(signals[0])
        for method in pursuit.methods.NAMED:
            pursuit.solve(f, pursuit.Dictionary(atoms), method, max_iter=40, every=20)
        pursuit.solve(f, pursuit.Shifts(atoms[:2, :2], 4), max_iter=40)
        for method in ("working-set", "cyclic", "matching-pursuit"):
            model = pursuit.LeastSquares(atoms, atoms[:, 0])
            pursuit.solve(model, pursuit.Coordinates(4), method, penalty=pursuit.L1(0.1))
        for way in learning.METHODS:
            pursuit.learn(atoms, 2, 1, way, passes=1, progress=False)
    pursuit.decompose(rng.standard_normal(64), 1.0, max_atoms=2)
