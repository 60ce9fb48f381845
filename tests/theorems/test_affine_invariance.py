"""Definition 1: Algorithm 2 and δ̂² do not see which coordinates a problem is written in."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from theorems.instances import MANY, instances, iterates

from pursuit import Coordinates, Dictionary, Quadratic, geometry


def surjection(case, extra):
    """M : R^(d + extra) → R^d onto, and a right inverse K of it."""
    d = len(case.H)
    M = case.rng.standard_normal((d, d + extra))
    assume(np.linalg.cond(M) < 50)
    return M, np.linalg.pinv(M)


def pulled_back(case, M):
    """f∘M."""
    return Quadratic(M.T @ case.H @ M, M.T @ case.b)


def near_tie(case, x):
    """Whether rounding could decide which atom the oracle returns; equal atoms do not count."""
    c = np.abs(case.Z @ case.f.gradient(x))
    best = int(np.argmax(c))
    rivals = np.abs(np.abs(case.Z @ case.Z[best]) - case.Z[best] @ case.Z[best]) > 1e-12
    return (c[rivals] > c[best] * (1 - 1e-6)).any()


@MANY
@given(instances(), st.integers(0, 2))
def test_algorithm_2_gives_the_same_iterates_in_other_coordinates(case, extra):
    """Also for a map onto that is not invertible, whatever its kernel adds to the lifted atoms."""
    M, K = surjection(case, extra)
    kernel = np.eye(len(K)) - K @ M
    lifted = case.Z @ K.T + case.rng.standard_normal((len(case.Z), len(K))) @ kernel
    weights = case.rng.standard_normal(len(case.Z))
    plain = iterates(case.f, case.atoms, "affine-invariant", weights @ case.Z, 8)
    other = iterates(
        pulled_back(case, M), Dictionary(lifted), "affine-invariant", weights @ lifted, 8
    )
    size = max(np.linalg.norm(x - case.x_star) for x in plain)
    for x, x_hat in zip(plain, other, strict=False):
        assert np.allclose(M @ x_hat, x, rtol=0, atol=1e-7 * (size + np.linalg.norm(x)))
        if near_tie(case, x) or np.linalg.norm(x - case.x_star) < 1e-6 * size:
            break


@MANY
@given(instances(), st.integers(0, 2))
def test_smoothness_quality_and_strong_convexity_do_not_depend_on_coordinates(case, extra):
    M, K = surjection(case, extra)
    f_hat, atoms_hat = pulled_back(case, M), Dictionary(case.Z @ K.T)
    for plain, other in [
        (geometry.smoothness(case.f, case.atoms), geometry.smoothness(f_hat, atoms_hat)),
        (
            geometry.sampling_quality(case.atoms, case.p),
            geometry.sampling_quality(atoms_hat, case.p),
        ),
        (
            geometry.strong_convexity(case.f, case.atoms),
            geometry.strong_convexity(f_hat, atoms_hat),
        ),
    ]:
        assert other == pytest.approx(plain, rel=1e-6)


@MANY
@given(instances(max_d=4))
def test_natural_coordinates_after_a_change_give_other_iterates(case):
    """Coordinate descent moves along the transformed coordinates, not along new ones."""
    d = len(case.H)
    assume(d > 1)
    M, K = surjection(case, 0)
    f_hat = pulled_back(case, M)
    plain = iterates(case.f, Coordinates(d), "affine-invariant", np.zeros(d), 1)[-1]
    same = iterates(f_hat, Dictionary(K.T), "affine-invariant", np.zeros(d), 1)[-1]
    natural = iterates(f_hat, Coordinates(d), "affine-invariant", np.zeros(d), 1)[-1]
    assert np.allclose(M @ same, plain, atol=1e-9 * np.linalg.norm(plain))
    assert not np.allclose(M @ natural, plain, atol=1e-6 * np.linalg.norm(plain))


@MANY
@given(instances())
def test_algorithm_1_is_not_affine_invariant(case):
    """Its step L‖z‖² is measured in a norm of the coordinates: the test of Algorithm 2 can fail."""
    d = len(case.H)
    assume(d > 1)
    M = np.diag(10.0 ** np.arange(d))
    f_hat, atoms_hat = pulled_back(case, M), Dictionary(case.Z / np.diag(M))
    plain = iterates(case.f, case.atoms, "matching-pursuit", case.x0, 1)[-1]
    other = iterates(f_hat, atoms_hat, "matching-pursuit", case.x0 / np.diag(M), 1)[-1]
    step = np.linalg.norm(plain - case.x0)
    assert not np.allclose(M @ other, plain, rtol=0, atol=1e-6 * step)
