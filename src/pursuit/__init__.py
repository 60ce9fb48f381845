"""pursuit: minimise a smooth convex function over the span of a set of atoms.

Examples
--------
>>> import numpy as np
>>> import pursuit
>>> atoms = pursuit.Dictionary(np.random.default_rng(0).standard_normal((20, 10)))
>>> result = pursuit.solve(pursuit.SquaredDistance(np.ones(10)), atoms, n_nonzero=5)
>>> result.status.name
'MAX_NONZERO'
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
    from pursuit.active.blended_pursuit import Blended as Blended
    from pursuit.active.corrective import Corrective as Corrective
    from pursuit.active.corrective import LocalCorrective as LocalCorrective
    from pursuit.active.working_set import WorkingSet as WorkingSet
    from pursuit.atoms.base import AtomSet as AtomSet
    from pursuit.atoms.base import FiniteAtoms as FiniteAtoms
    from pursuit.atoms.cone import Cone as Cone
    from pursuit.atoms.coordinates import Coordinates as Coordinates
    from pursuit.atoms.dictionary import Dictionary as Dictionary
    from pursuit.atoms.gabor import Gabor as Gabor
    from pursuit.atoms.groups import Groups as Groups
    from pursuit.atoms.local import LocalAtoms as LocalAtoms
    from pursuit.atoms.operator import Operator as Operator
    from pursuit.atoms.oracle import Oracle as Oracle
    from pursuit.atoms.rank_one import RankOne as RankOne
    from pursuit.atoms.sampling import Sampling as Sampling
    from pursuit.atoms.shifts import Shifts as Shifts
    from pursuit.atoms.sparse import SparseDictionary as SparseDictionary
    from pursuit.atoms.sphere import Sphere as Sphere
    from pursuit.atoms.transformed import Transformed as Transformed
    from pursuit.atoms.trees import RegressionTrees as RegressionTrees
    from pursuit.atoms.union import Union as Union
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
    from pursuit.objectives.base import Objective as Objective
    from pursuit.objectives.base import QuadraticObjective as QuadraticObjective
    from pursuit.objectives.classification import Logistic as Logistic
    from pursuit.objectives.classification import SquaredHinge as SquaredHinge
    from pursuit.objectives.factors import Factors as Factors
    from pursuit.objectives.function import Function as Function
    from pursuit.objectives.linear_models import LinearModel as LinearModel
    from pursuit.objectives.matrices import MatrixDistance as MatrixDistance
    from pursuit.objectives.matrices import MatrixEntries as MatrixEntries
    from pursuit.objectives.matrices import SparsePlusLowRank as SparsePlusLowRank
    from pursuit.objectives.problem import Problem as Problem
    from pursuit.objectives.quadratic import LeastSquares as LeastSquares
    from pursuit.objectives.quadratic import Quadratic as Quadratic
    from pursuit.objectives.quadratic import SquaredDistance as SquaredDistance
    from pursuit.objectives.regression import Huber as Huber
    from pursuit.objectives.regression import Poisson as Poisson
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
    from pursuit.rules.observed_nu import ObservedNu as ObservedNu
    from pursuit.rules.steps import AffineInvariant as AffineInvariant
    from pursuit.rules.steps import Backtracking as Backtracking
    from pursuit.rules.steps import ExactLineSearch as ExactLineSearch
    from pursuit.rules.steps import Newton as Newton
    from pursuit.rules.steps import Smooth as Smooth
    from pursuit.rules.steps import ValueSearch as ValueSearch
    from pursuit.solving.checkpoint import State as State
    from pursuit.solving.inner_product import InnerProduct as InnerProduct
    from pursuit.solving.loop import Snapshot as Snapshot
    from pursuit.solving.penalty_path import PenaltyPath as PenaltyPath
    from pursuit.solving.penalty_path import path as path
    from pursuit.solving.result import Result as Result
    from pursuit.solving.result import Trace as Trace
    from pursuit.solving.solve import solve as solve

__version__ = "0.1.0"

# Where each public name lives. It is loaded when it is first asked for, so that importing
# pursuit costs little and never pulls in a compiler or a plotting library.
_HOME = {
    "AtomSet": "atoms.base",
    "Cone": "atoms.cone",
    "Box": "penalties",
    "L1": "penalties",
    "NonNegative": "penalties",
    "Penalty": "penalties",
    "Coordinates": "atoms.coordinates",
    "Dictionary": "atoms.dictionary",
    "FiniteAtoms": "atoms.base",
    "Gabor": "atoms.gabor",
    "Groups": "atoms.groups",
    "LocalAtoms": "atoms.local",
    "Operator": "atoms.operator",
    "Oracle": "atoms.oracle",
    "RankOne": "atoms.rank_one",
    "RegressionTrees": "atoms.trees",
    "Shifts": "atoms.shifts",
    "SparseDictionary": "atoms.sparse",
    "Sphere": "atoms.sphere",
    "Transformed": "atoms.transformed",
    "Union": "atoms.union",
    "Function": "objectives.function",
    "Huber": "objectives.regression",
    "LeastSquares": "objectives.quadratic",
    "LinearModel": "objectives.linear_models",
    "Logistic": "objectives.classification",
    "Poisson": "objectives.regression",
    "SquaredHinge": "objectives.classification",
    "MatrixDistance": "objectives.matrices",
    "MatrixEntries": "objectives.matrices",
    "SparsePlusLowRank": "objectives.matrices",
    "Factors": "objectives.factors",
    "Objective": "objectives.base",
    "Quadratic": "objectives.quadratic",
    "QuadraticObjective": "objectives.base",
    "SquaredDistance": "objectives.quadratic",
    "Problem": "objectives.problem",
    "Sampling": "atoms.sampling",
    "Approximate": "rules.directions",
    "Cyclic": "rules.directions",
    "Random": "rules.directions",
    "Shuffled": "rules.directions",
    "Replay": "rules.directions",
    "ObservedNu": "rules.observed_nu",
    "Steepest": "rules.directions",
    "Subset": "rules.directions",
    "AffineInvariant": "rules.steps",
    "Backtracking": "rules.steps",
    "Newton": "rules.steps",
    "ExactLineSearch": "rules.steps",
    "Smooth": "rules.steps",
    "ValueSearch": "rules.steps",
    "Blended": "active.blended_pursuit",
    "Corrective": "active.corrective",
    "LocalCorrective": "active.corrective",
    "WorkingSet": "active.working_set",
    "Greedy": "rules.advances",
    "Adaptive": "acceleration.adaptive",
    "Conjugate": "acceleration.accelerated",
    "FixedNu": "rules.momentum",
    "Plain": "rules.momentum",
    "Method": "methods",
    "solve": "solving.solve",
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
    "Snapshot": "solving.loop",
    "Result": "solving.result",
    "Status": "base.status",
    "Trace": "solving.result",
    "State": "solving.checkpoint",
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
