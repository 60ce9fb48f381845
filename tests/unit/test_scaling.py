"""The range of magnitudes, and scaling by powers of two."""

import numpy as np
import pytest
import scipy.sparse

from pursuit import InputError
from pursuit.base import scaling


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_check_range_accepts_the_documented_range_and_zeros(dtype):
    least, most = scaling.RANGE[np.dtype(dtype)]
    rows = np.array([[least * 1.01, 0], [most * 0.99, 1e-30], [0, 0]], dtype)
    scaling.check_range("signals", rows)
    scaling.check_range("signals", rows[:0])
    scaling.check_range("signals", rows, "signal")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_check_range_names_the_row_that_is_outside(dtype, factor):
    least, most = scaling.RANGE[np.dtype(dtype)]
    rows = np.ones((3, 2, 2), dtype)
    rows[1] *= least * factor if factor < 1 else most * factor
    with pytest.raises(InputError, match=r"signals must be .* in signal 1; rescale the data"):
        scaling.check_range("signals", rows, "signal")


def test_check_range_reads_sparse_arrays():
    X = scipy.sparse.csr_array(np.array([[0.0, -1e80], [1.0, 0.0]]))
    with pytest.raises(InputError, match=r"X must be .* got 1e\+80; rescale the data"):
        scaling.check_range("X", X)
    with pytest.raises(InputError, match="in row 0"):
        scaling.check_range("X", X, "row")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaled_rows_times_their_powers_are_the_rows(dtype):
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((20, 5)) * 10.0 ** rng.uniform(-15, 15, (20, 1))).astype(dtype)
    rows[3] = 0
    scaled, powers = scaling.scale_rows(rows)
    assert scaled.dtype == powers.dtype == dtype
    np.testing.assert_array_equal(scaled * powers[:, None], rows)
    largest = np.abs(np.delete(scaled, 3, axis=0)).max(axis=1)
    assert np.all((largest >= 0.5) & (largest < 1))


def test_unit_rows_leave_zeros():
    unit, norms = scaling.unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(norms, [5, 0])
    np.testing.assert_allclose(unit, [[0.6, 0.8], [0, 0]])
