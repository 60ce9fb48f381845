"""SciPy's linear algebra, for those who need it: to load it takes longer than all of pursuit."""

from __future__ import annotations

from functools import cache
from typing import Any

from pursuit.base.threads import single_threaded_blas


@cache
def scipy_linalg() -> Any:
    """`scipy.linalg`, whose BLAS is held to one thread where work has begun that is."""
    import scipy.linalg

    single_threaded_blas.renew()
    return scipy.linalg
