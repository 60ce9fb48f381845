"""Objectives: smooth convex functions."""

from pursuit.objectives.base import Objective, QuadraticObjective
from pursuit.objectives.quadratic import LeastSquares, Quadratic, SquaredDistance

__all__ = ["LeastSquares", "Objective", "Quadratic", "QuadraticObjective", "SquaredDistance"]
