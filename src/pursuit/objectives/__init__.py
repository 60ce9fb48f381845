"""Objectives: smooth convex functions."""

from pursuit.objectives.base import Objective, QuadraticObjective
from pursuit.objectives.linear_models import Huber, LinearModel, Logistic
from pursuit.objectives.quadratic import LeastSquares, Quadratic, SquaredDistance

__all__ = [
    "Huber",
    "LeastSquares",
    "LinearModel",
    "Logistic",
    "Objective",
    "Quadratic",
    "QuadraticObjective",
    "SquaredDistance",
]
