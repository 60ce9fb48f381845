"""Hyperspectral scenes: reading them, picking their endmembers, unmixing their pixels.

Only NumPy is imported here; what reads a file format is imported when such a file is read, and
what is compiled when pixels are unmixed.
"""

from pursuit.unmixing.extraction import Extraction
from pursuit.unmixing.h2nmf import h2nmf
from pursuit.unmixing.libraries import SpectralLibrary, match_library, read_library
from pursuit.unmixing.number import NumberEstimate, estimate_number
from pursuit.unmixing.pickers import pick
from pursuit.unmixing.reading import read_scene
from pursuit.unmixing.scene import Scene
from pursuit.unmixing.spa import spa
from pursuit.unmixing.unmix import unmix
from pursuit.unmixing.unmixed import Unmixing
from pursuit.unmixing.vca import vca

__all__ = [
    "Extraction",
    "NumberEstimate",
    "Scene",
    "SpectralLibrary",
    "Unmixing",
    "estimate_number",
    "h2nmf",
    "match_library",
    "pick",
    "read_library",
    "read_scene",
    "spa",
    "unmix",
    "vca",
]
