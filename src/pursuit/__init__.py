"""pursuit: minimise a smooth convex function over the span of a set of atoms.

Examples
--------
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
from typing import TYPE_CHECKING, Any

# For type checkers and documentation tools; at run time names are loaded as `_HOME` says.
if TYPE_CHECKING:
    from pursuit import certificates as certificates
    from pursuit import estimators as estimators
    from pursuit import geometry as geometry
    from pursuit import methods as methods
    from pursuit import plots as plots
    from pursuit import rates as rates
    from pursuit import testing as testing
    from pursuit import torch as torch
    from pursuit import unmixing as unmixing
    from pursuit.acceleration.accelerated import Conjugate as Conjugate
    from pursuit.acceleration.adaptive import Adaptive as Adaptive
    from pursuit.active.blended import Blended as Blended
    from pursuit.active.orthogonal import Corrective as Corrective
    from pursuit.active.orthogonal import LocalCorrective as LocalCorrective
    from pursuit.active.working_set import WorkingSet as WorkingSet
    from pursuit.atoms import AtomSet as AtomSet
    from pursuit.atoms import Cone as Cone
    from pursuit.atoms import Coordinates as Coordinates
    from pursuit.atoms import Dictionary as Dictionary
    from pursuit.atoms import FiniteAtoms as FiniteAtoms
    from pursuit.atoms import Gabor as Gabor
    from pursuit.atoms import Groups as Groups
    from pursuit.atoms import LocalAtoms as LocalAtoms
    from pursuit.atoms import Operator as Operator
    from pursuit.atoms import Oracle as Oracle
    from pursuit.atoms import RankOne as RankOne
    from pursuit.atoms import RegressionTrees as RegressionTrees
    from pursuit.atoms import Shifts as Shifts
    from pursuit.atoms import SparseDictionary as SparseDictionary
    from pursuit.atoms import Sphere as Sphere
    from pursuit.atoms import Transformed as Transformed
    from pursuit.atoms import Union as Union
    from pursuit.atoms.sampling import Sampling as Sampling
    from pursuit.base.errors import InputError as InputError
    from pursuit.base.errors import MissingExtra as MissingExtra
    from pursuit.base.errors import PursuitError as PursuitError
    from pursuit.base.status import Status as Status
    from pursuit.decomposing import Book as Book
    from pursuit.decomposing import decompose as decompose
    from pursuit.encoding import Codes as Codes
    from pursuit.encoding import Encoder as Encoder
    from pursuit.encoding import encode as encode
    from pursuit.learning import Learned as Learned
    from pursuit.learning import learn as learn
    from pursuit.learning.templates import LearnedTemplates as LearnedTemplates
    from pursuit.learning.templates import learn_templates as learn_templates
    from pursuit.methods import Method as Method
    from pursuit.objectives import Function as Function
    from pursuit.objectives import Huber as Huber
    from pursuit.objectives import LeastSquares as LeastSquares
    from pursuit.objectives import LinearModel as LinearModel
    from pursuit.objectives import Logistic as Logistic
    from pursuit.objectives import MatrixDistance as MatrixDistance
    from pursuit.objectives import MatrixEntries as MatrixEntries
    from pursuit.objectives import Objective as Objective
    from pursuit.objectives import Poisson as Poisson
    from pursuit.objectives import Quadratic as Quadratic
    from pursuit.objectives import QuadraticObjective as QuadraticObjective
    from pursuit.objectives import SparsePlusLowRank as SparsePlusLowRank
    from pursuit.objectives import SquaredDistance as SquaredDistance
    from pursuit.objectives import SquaredHinge as SquaredHinge
    from pursuit.objectives.factors import Factors as Factors
    from pursuit.objectives.problem import Problem as Problem
    from pursuit.penalties import L1 as L1
    from pursuit.penalties import Box as Box
    from pursuit.penalties import NonNegative as NonNegative
    from pursuit.penalties import Penalty as Penalty
    from pursuit.rules.advances import Greedy as Greedy
    from pursuit.rules.directions import Approximate as Approximate
    from pursuit.rules.directions import Cyclic as Cyclic
    from pursuit.rules.directions import Random as Random
    from pursuit.rules.directions import Replay as Replay
    from pursuit.rules.directions import Shuffled as Shuffled
    from pursuit.rules.directions import Steepest as Steepest
    from pursuit.rules.directions import Subset as Subset
    from pursuit.rules.momentum import FixedNu as FixedNu
    from pursuit.rules.momentum import Plain as Plain
    from pursuit.rules.steps import AffineInvariant as AffineInvariant
    from pursuit.rules.steps import Backtracking as Backtracking
    from pursuit.rules.steps import ExactLineSearch as ExactLineSearch
    from pursuit.rules.steps import Newton as Newton
    from pursuit.rules.steps import Smooth as Smooth
    from pursuit.rules.steps import ValueSearch as ValueSearch
    from pursuit.solving.driver import solve as solve
    from pursuit.solving.inner_product import InnerProduct as InnerProduct
    from pursuit.solving.observing import Snapshot as Snapshot
    from pursuit.solving.penalty_path import PenaltyPath as PenaltyPath
    from pursuit.solving.penalty_path import path as path
    from pursuit.solving.results import Result as Result
    from pursuit.solving.results import Trace as Trace
    from pursuit.solving.state import State as State

__version__ = "0.1.0"

# Where each public name lives. It is loaded when it is first asked for, so that importing
# pursuit costs little and never pulls in a compiler or a plotting library.
_HOME = {
    "AtomSet": "atoms",
    "Cone": "atoms",
    "Box": "penalties",
    "L1": "penalties",
    "NonNegative": "penalties",
    "Penalty": "penalties",
    "Coordinates": "atoms",
    "Dictionary": "atoms",
    "FiniteAtoms": "atoms",
    "Gabor": "atoms",
    "Groups": "atoms",
    "LocalAtoms": "atoms",
    "Operator": "atoms",
    "Oracle": "atoms",
    "RankOne": "atoms",
    "RegressionTrees": "atoms",
    "Shifts": "atoms",
    "SparseDictionary": "atoms",
    "Sphere": "atoms",
    "Transformed": "atoms",
    "Union": "atoms",
    "Function": "objectives",
    "Huber": "objectives",
    "LeastSquares": "objectives",
    "LinearModel": "objectives",
    "Logistic": "objectives",
    "Poisson": "objectives",
    "SquaredHinge": "objectives",
    "MatrixDistance": "objectives",
    "MatrixEntries": "objectives",
    "SparsePlusLowRank": "objectives",
    "Factors": "objectives.factors",
    "Objective": "objectives",
    "Quadratic": "objectives",
    "QuadraticObjective": "objectives",
    "SquaredDistance": "objectives",
    "Problem": "objectives.problem",
    "Sampling": "atoms.sampling",
    "Approximate": "rules.directions",
    "Cyclic": "rules.directions",
    "Random": "rules.directions",
    "Shuffled": "rules.directions",
    "Replay": "rules.directions",
    "Steepest": "rules.directions",
    "Subset": "rules.directions",
    "AffineInvariant": "rules.steps",
    "Backtracking": "rules.steps",
    "Newton": "rules.steps",
    "ExactLineSearch": "rules.steps",
    "Smooth": "rules.steps",
    "ValueSearch": "rules.steps",
    "Blended": "active.blended",
    "Corrective": "active.orthogonal",
    "LocalCorrective": "active.orthogonal",
    "WorkingSet": "active.working_set",
    "Greedy": "rules.advances",
    "Adaptive": "acceleration.adaptive",
    "Conjugate": "acceleration.accelerated",
    "FixedNu": "rules.momentum",
    "Plain": "rules.momentum",
    "Method": "methods",
    "solve": "solving.driver",
    "InnerProduct": "solving.inner_product",
    "path": "solving.penalty_path",
    "PenaltyPath": "solving.penalty_path",
    "decompose": "decomposing",
    "Book": "decomposing",
    "encode": "encoding",
    "Encoder": "encoding",
    "Codes": "encoding",
    "learn": "learning",
    "Learned": "learning",
    "LearnedTemplates": "learning.templates",
    "learn_templates": "learning.templates",
    "Snapshot": "solving.observing",
    "Result": "solving.results",
    "Status": "base.status",
    "Trace": "solving.results",
    "State": "solving.state",
    "InputError": "base.errors",
    "MissingExtra": "base.errors",
    "PursuitError": "base.errors",
}
_MODULES = (
    "certificates",
    "estimators",
    "geometry",
    "methods",
    "plots",
    "rates",
    "testing",
    "torch",
    "unmixing",
)

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
