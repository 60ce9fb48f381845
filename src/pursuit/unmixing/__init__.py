"""Hyperspectral scenes: reading them, and picking their endmembers.

Only NumPy is imported here; what reads a file format is imported when such a file is read.
"""

from pursuit.unmixing.extraction import Extraction
from pursuit.unmixing.h2nmf import h2nmf
from pursuit.unmixing.scene import Scene
from pursuit.unmixing.scenes import read_scene
from pursuit.unmixing.spa import spa

__all__ = ["Extraction", "Scene", "h2nmf", "read_scene", "spa"]
