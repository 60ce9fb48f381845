"""The areas by name: each is a function that runs a case."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.case import Case
from fuzz.commands import commands_case
from fuzz.decomposing import decompose_case
from fuzz.encoding import encode_case
from fuzz.geometry import geometry_case
from fuzz.inputs import inputs_case
from fuzz.kept import kept_case
from fuzz.learning import learn_case
from fuzz.matrices import matrices_case
from fuzz.penalised import penalised_case
from fuzz.readers import readers_case
from fuzz.solving import solve_case
from fuzz.unmixing import unmix_case

AREAS: dict[str, Callable[[Case], None]] = {
    "solve": solve_case,
    "penalised": penalised_case,
    "matrices": matrices_case,
    "encode": encode_case,
    "unmix": unmix_case,
    "learn": learn_case,
    "decompose": decompose_case,
    "geometry": geometry_case,
    "inputs": inputs_case,
    "readers": readers_case,
    "kept": kept_case,
    "commands": commands_case,
}
