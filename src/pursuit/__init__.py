"""pursuit: minimise a smooth convex function over the span of a set of atoms.

>>> import numpy as np
>>> import pursuit
>>> atoms = pursuit.Dictionary(np.random.default_rng(0).standard_normal((20, 10)))
>>> result = pursuit.solve(pursuit.SquaredDistance(np.ones(10)), atoms, max_atoms=5)
>>> result.status.name
'MAX_ATOMS'
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Where each public name lives. It is loaded when it is first asked for, so that importing
# pursuit costs little and never pulls in a compiler or a plotting library.
_HOME = {
    "AtomSet": "atoms",
    "Cone": "atoms",
    "Coordinates": "atoms",
    "Dictionary": "atoms",
    "FiniteAtoms": "atoms",
    "Groups": "atoms",
    "Oracle": "atoms",
    "RankOne": "atoms",
    "Sphere": "atoms",
    "Transformed": "atoms",
    "Function": "objectives",
    "Huber": "objectives",
    "LeastSquares": "objectives",
    "LinearModel": "objectives",
    "Logistic": "objectives",
    "MatrixDistance": "objectives",
    "MatrixEntries": "objectives",
    "SparsePlusLowRank": "objectives",
    "Factors": "points.factored",
    "Objective": "objectives",
    "Quadratic": "objectives",
    "QuadraticObjective": "objectives",
    "SquaredDistance": "objectives",
    "Problem": "objectives.problem",
    "Sampling": "atoms.sampling",
    "Approximate": "rules.directions",
    "Random": "rules.directions",
    "Replay": "rules.directions",
    "Steepest": "rules.directions",
    "Subset": "rules.directions",
    "AffineInvariant": "rules.steps",
    "Backtracking": "rules.steps",
    "ExactLineSearch": "rules.steps",
    "Smooth": "rules.steps",
    "ValueSearch": "rules.steps",
    "Blended": "active.blended",
    "Corrective": "active.orthogonal",
    "Greedy": "rules.advances",
    "Adaptive": "acceleration.adaptive",
    "FixedNu": "rules.momentum",
    "Plain": "rules.momentum",
    "Method": "methods",
    "solve": "solving.driver",
    "encode": "encoding",
    "Codes": "encoding",
    "Snapshot": "solving.driver",
    "Result": "solving.results",
    "Status": "solving.results",
    "Trace": "solving.results",
    "State": "solving.state",
    "InputError": "base.errors",
    "MissingExtra": "base.errors",
    "PursuitError": "base.errors",
}
_MODULES = ("certificates", "geometry", "methods", "plots", "rates", "testing", "unmixing")

__all__ = [*_HOME, *_MODULES, "__version__"]

logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
