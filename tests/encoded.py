"""What tests of codes share."""

import numpy as np

ARRAYS = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")


def assert_same(a, b):
    """The same codes, bit for bit and of the same types."""
    for name in ARRAYS:
        ours, theirs = getattr(a, name), getattr(b, name)
        assert ours.dtype == theirs.dtype, name
        assert np.array_equal(ours, theirs), name
