"""The constants of the paper for a set of atoms, each with what is proved about it.

Every function takes the set, or an objective and the set, on the atoms as given, and an optional
``sampling=`` (a `Sampling` or probabilities; uniform where not given). What it returns behaves as
a float and knows its kind, its proved interval and the theorem that it serves.

Examples
--------
>>> from pursuit import Coordinates, geometry
>>> geometry.nu_random(Coordinates(6))
6 (exact; Theorem 9)
"""

from inspect import isfunction, signature

from pursuit.atoms.closed_forms import ClosedForm
from pursuit.geometry.constant import AGREE, Constant, Kind
from pursuit.geometry.curvature import (
    directional_width,
    euclidean_convexity,
    growth,
    safe_strong_convexity,
    sampled_convexity,
    sampled_smoothness,
    smoothness,
    strong_convexity,
)
from pursuit.geometry.door import checked
from pursuit.geometry.moments import (
    closed_form,
    leverage,
    optimal_sampling,
    sampling_quality,
    second_moment,
)
from pursuit.geometry.norms import diameter, dual_norm, gauge, radius
from pursuit.geometry.nu import nu, nu_random, safe_nu
from pursuit.geometry.other_norms import norm_convexity, norm_smoothness, norm_width
from pursuit.geometry.preconditioner import preconditioner
from pursuit.geometry.start import distance, gap, level_radius, start_point

__all__ = [
    "AGREE",
    "ClosedForm",
    "Constant",
    "Kind",
    "closed_form",
    "diameter",
    "directional_width",
    "distance",
    "dual_norm",
    "euclidean_convexity",
    "gap",
    "gauge",
    "growth",
    "level_radius",
    "leverage",
    "norm_convexity",
    "norm_smoothness",
    "norm_width",
    "nu",
    "nu_random",
    "optimal_sampling",
    "preconditioner",
    "radius",
    "safe_nu",
    "safe_strong_convexity",
    "sampled_convexity",
    "sampled_smoothness",
    "sampling_quality",
    "second_moment",
    "smoothness",
    "start_point",
    "strong_convexity",
]

# Every function of a set, or of an objective over one, refuses what is neither.
for _function in [value for value in globals().values() if isfunction(value)]:
    if "atoms" in signature(_function).parameters:
        globals()[_function.__name__] = checked(_function)
