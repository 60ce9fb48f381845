"""How many signals and atoms are looked at together, so that work memory stays within bounds."""

from __future__ import annotations

from typing import NamedTuple

from pursuit.base.errors import InputError

MOST = 4096
"""Signals of a chunk, and atoms of a slice that are enough for a fast product."""
WORD = 8
"""Bytes of an atom's number."""


class Shape(NamedTuple):
    """The sizes that work memory depends on.

    A pursuit keeps `bases` times as many vectors for a signal as its code has atoms; `converted`
    atoms are in another precision.
    """

    n: int
    d: int
    width: int
    itemsize: int
    bases: int
    converted: bool

    @property
    def shared(self) -> int:
        """Bytes whatever the chunk is: norms and weights, with what making them takes."""
        return 4 * self.n * self.itemsize

    @property
    def of_signal(self) -> int:
        """Bytes for a signal, but for its correlations."""
        w, d = self.width, self.d
        numbers = 6 * d + 4 * w + 16
        numbers += self.bases * (w * d + 3 * w * w + 4 * w)  # with factors of their products
        return numbers * self.itemsize + (6 * w + 16) * WORD

    def slice(self, rows: int, max_bytes: int) -> int:
        """The most atoms whose correlations with so many signals fit; 0: none do."""
        left = max_bytes - self.shared - rows * (self.of_signal + self.itemsize)
        of_atom = self.itemsize * (rows + (2 * self.d if self.converted else 0))
        return max(0, min(self.n, left // of_atom))


class Cut(NamedTuple):
    """Signals of a chunk, atoms of a slice."""

    rows: int
    atoms: int


def cut(shape: Shape, signals: int, max_bytes: int) -> Cut:
    """As many signals as fit with slices of atoms that are still worth a product."""
    rows = min(signals, MOST)
    while rows > 1 and shape.slice(rows, max_bytes) < min(shape.n, MOST):
        rows = (rows + 1) // 2
    atoms = shape.slice(rows, max_bytes)
    if atoms < 1:
        least = shape.shared + shape.of_signal + 2 * shape.itemsize
        least += shape.itemsize * (2 * shape.d if shape.converted else 0)
        raise InputError(f"max_bytes: expected at least {least} for one signal, got {max_bytes}")
    return Cut(rows, atoms)
