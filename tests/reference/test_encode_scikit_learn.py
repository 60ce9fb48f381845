"""encode() against scikit-learn's OMP on unit atoms, where the two must agree."""

import numpy as np
import pytest
from sklearn.linear_model import orthogonal_mp

from pursuit.encoding import encode


@pytest.mark.parametrize(("n", "d", "k"), [(60, 30, 5), (256, 64, 8), (40, 80, 12)])
def test_supports_and_coefficients_are_those_of_scikit_learn(n, d, k):
    rng = np.random.default_rng(n)
    atoms = rng.standard_normal((n, d))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    signals = rng.standard_normal((50, d))
    codes = encode(signals, atoms, "orthogonal", n_nonzero=k).matrix.toarray()
    expected = orthogonal_mp(atoms.T, signals.T, n_nonzero_coefs=k).T
    assert np.array_equal(codes != 0, expected != 0)
    assert np.abs(codes - expected).max() <= 1e-9 * np.linalg.norm(signals, axis=1).max()


def test_the_residual_rule_stops_where_scikit_learn_stops():
    rng = np.random.default_rng(3)
    atoms = rng.standard_normal((80, 40))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    signals = rng.standard_normal((40, 40))
    codes = encode(signals, atoms, "orthogonal", atol=2.5)
    expected = orthogonal_mp(atoms.T, signals.T, tol=2.5**2).T
    assert np.array_equal(codes.sizes, (expected != 0).sum(axis=1))
    assert (codes.residual_norms <= 2.5).all()
