"""Numbers next to the largest that there are: encoded as others are, or refused."""

import numpy as np
import pytest

from pursuit import Dictionary, InputError, encode


def test_atoms_whose_norm_is_no_number_are_refused():
    rows = np.eye(3)
    rows[1] = 1.5e308
    for action in (lambda: Dictionary(rows), lambda: encode(np.eye(3), rows)):
        with pytest.raises(InputError, match=r"^atoms: the norm of atom 1 is outside the range"):
            action()
    with pytest.raises(InputError, match=r"^signals: the norm of signal 1 is outside the range"):
        encode(rows, np.eye(3))


@pytest.mark.parametrize("unit_atoms", [True, False])
def test_numbers_next_to_the_largest_are_encoded_as_others_are(unit_atoms):
    # Next to them is 2**1024, a power of two that float64 does not have.
    atoms, signals = np.eye(4)[[0, 1, 2, 3, 0]] + 0.2, np.random.default_rng(0).random((5, 4)) / 2
    power = 2.0**1023
    plain = encode(signals, atoms, n_nonzero=2, unit_atoms=unit_atoms)
    codes = encode(signals * power, atoms * power, n_nonzero=2, unit_atoms=unit_atoms)
    assert np.array_equal(codes.indices, plain.indices)
    assert np.allclose(codes.values, plain.values, rtol=1e-12, atol=0)
    assert np.allclose(codes.residual_norms, plain.residual_norms * power, rtol=1e-9, atol=1e290)
