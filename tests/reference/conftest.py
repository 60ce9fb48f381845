"""What tests against other libraries share."""

import numpy as np
import pytest

from pursuit.files.data import find


@pytest.fixture(scope="session")
def urban():
    """The pixels of Urban in reflectance, and its reference endmembers, as rows."""
    path = find("urban77/urban77.npz")
    if path is None:
        pytest.skip("urban77/urban77.npz is not in $PURSUIT_DATA")
    with np.load(path, allow_pickle=False) as file:
        return file["pixels"].T / 1000, file["endmembers_gt"].T.astype(np.float64)
