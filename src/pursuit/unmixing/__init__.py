"""Hyperspectral scenes: reading them, picking their endmembers, unmixing their pixels.

Only NumPy is imported here; what reads a file format is imported when such a file is read, and
what is compiled when pixels are unmixed.
"""

from pursuit.unmixing.extraction import Extraction
from pursuit.unmixing.h2nmf import h2nmf
from pursuit.unmixing.reading import read_scene
from pursuit.unmixing.scene import Scene
from pursuit.unmixing.spa import spa
from pursuit.unmixing.unmix import unmix
from pursuit.unmixing.unmixed import Unmixing

__all__ = ["Extraction", "Scene", "Unmixing", "h2nmf", "read_scene", "spa", "unmix"]
