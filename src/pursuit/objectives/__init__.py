"""Objectives: smooth convex functions."""

from pursuit.objectives.base import Objective, QuadraticObjective
from pursuit.objectives.function import Function
from pursuit.objectives.linear_models import Huber, LinearModel, Logistic
from pursuit.objectives.matrices import (
    MatrixDistance,
    MatrixEntries,
    MatrixObjective,
    SparsePlusLowRank,
)
from pursuit.objectives.quadratic import LeastSquares, Quadratic, SquaredDistance

__all__ = [
    "Function",
    "Huber",
    "LeastSquares",
    "LinearModel",
    "Logistic",
    "MatrixDistance",
    "MatrixEntries",
    "MatrixObjective",
    "Objective",
    "Quadratic",
    "QuadraticObjective",
    "SparsePlusLowRank",
    "SquaredDistance",
]
