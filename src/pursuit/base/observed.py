"""What was seen on the way of a run, a row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from pursuit.base.validation import Array


class Observed:
    """One NumPy column for each quantity, as an attribute."""

    _columns: ClassVar[tuple[str, ...]]
    _whole: ClassVar[tuple[str, ...]]
    """The columns of whole numbers."""

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        table = np.asarray(rows, dtype=np.float64).reshape(-1, len(self._columns))
        for name, column in zip(self._columns, table.T, strict=True):
            whole = name in self._whole
            setattr(self, name, column.astype(np.int64) if whole else column.copy())

    def __len__(self) -> int:
        return len(getattr(self, self._columns[0]))

    def rows(self) -> Array:
        """All columns side by side, in their order."""
        return np.column_stack([getattr(self, name).astype(np.float64) for name in self._columns])
