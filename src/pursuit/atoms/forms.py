"""What a set says about its atoms to whoever has to keep them."""

from enum import Enum


class AtomForm(Enum):
    """What the handle of an atom is: what a point may make of it."""

    VECTORS = "whatever the oracle gives, known by its vector alone"
    ROWS = "the number of an atom of a finite set"
    AXES = "the number of a coordinate"
    PAIRS = "a pair (u, v) that stands for uvᵀ"
    FRAMES = "a place in time, frequency and scale, and a phase in each channel"
    LOCAL = "the number of an atom that overlaps few others, of a set that says which"
    SHIFTS = "the number of a template and of a place where it stands"
