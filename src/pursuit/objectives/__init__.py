"""Objectives: smooth convex functions."""

from pursuit.objectives.base import Objective, QuadraticObjective
from pursuit.objectives.classification import Logistic, SquaredHinge
from pursuit.objectives.function import Function
from pursuit.objectives.linear_models import LinearModel
from pursuit.objectives.matrices import (
    MatrixDistance,
    MatrixEntries,
    MatrixObjective,
    SparsePlusLowRank,
)
from pursuit.objectives.quadratic import LeastSquares, Quadratic, SquaredDistance
from pursuit.objectives.regression import Huber, Poisson

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
    "Poisson",
    "Quadratic",
    "QuadraticObjective",
    "SparsePlusLowRank",
    "SquaredDistance",
    "SquaredHinge",
]
