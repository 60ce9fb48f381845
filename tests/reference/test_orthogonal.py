"""Orthogonal pursuit against scikit-learn's orthogonal_mp, and on what that one gets wrong."""

import numpy as np
import pytest
from sklearn.linear_model import orthogonal_mp

from pursuit import Dictionary, LeastSquares, SquaredDistance, Status, solve


def unit_rows(rng, n, d):
    rows = rng.standard_normal((n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def a_case(seed):
    """Atoms of unit norm, a signal of a few of them and noise, and a number of atoms to find."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(4, 60), rng.integers(4, 40)
    k = int(rng.integers(1, min(n, d)))
    atoms = unit_rows(rng, n, d)
    used = rng.choice(n, k, replace=False)
    signal = rng.standard_normal(k) @ atoms[used] + rng.uniform(0.01, 1) * rng.standard_normal(d)
    return atoms, signal, k


def orthogonal(atoms, signal, k, **options):
    return solve(
        SquaredDistance(signal), Dictionary(atoms), "orthogonal", n_nonzero=k, tol=0, **options
    )


@pytest.mark.parametrize("block", range(10))
def test_supports_and_coefficients_are_those_of_scikit_learn(block):
    for seed in range(50 * block, 50 * block + 50):
        atoms, signal, k = a_case(seed)
        theirs = orthogonal_mp(atoms.T, signal, n_nonzero_coefs=k)
        ours = orthogonal(atoms, signal, k)
        assert ours.status is Status.MAX_NONZERO
        assert ours.support.tolist() == np.flatnonzero(theirs).tolist(), seed
        np.testing.assert_allclose(ours.coef.toarray(), theirs, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(40))
def test_atoms_of_any_scale_give_the_same_supports_and_the_same_fit(seed):
    atoms, signal, k = a_case(seed)
    rng = np.random.default_rng(seed)
    scales = 10 ** rng.uniform(-6, 6, len(atoms)) * rng.choice([-1, 1], len(atoms))
    plain = orthogonal(atoms, signal, k)
    scaled = orthogonal(atoms * scales[:, None], signal, k)
    assert scaled.support.tolist() == plain.support.tolist()
    np.testing.assert_allclose(scaled.x, plain.x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        scaled.coef.toarray() * scales, plain.coef.toarray(), rtol=0, atol=1e-8
    )


@pytest.mark.parametrize("seed", range(20))
def test_duplicate_atoms_change_no_value_at_any_number_of_atoms(seed):
    atoms, signal, _ = a_case(seed)
    rng = np.random.default_rng(seed)
    copies = atoms[rng.integers(0, len(atoms), 10)] * rng.uniform(-3, 3, (10, 1))
    with_copies = rng.permutation(np.concatenate([atoms, copies]))
    rank = np.linalg.matrix_rank(atoms)
    plain = orthogonal(atoms, signal, 1000, max_iter=rank)
    doubled = orthogonal(with_copies, signal, 1000, max_iter=rank)
    np.testing.assert_array_equal(doubled.path.sizes, plain.path.sizes)
    np.testing.assert_allclose(doubled.path.value, plain.path.value, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_sums_of_atoms_change_neither_the_best_fit_nor_the_number_of_useful_atoms(seed):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((8, 20)) * rng.uniform(0.5, 3, (8, 1))
    sums = rng.integers(-2, 3, (12, 8)) @ atoms
    everything = np.concatenate([sums[np.abs(sums).sum(axis=1) > 0], atoms, -atoms[:3]])
    signal = rng.standard_normal(20)
    best = np.linalg.lstsq(atoms.T, signal, rcond=None)[0] @ atoms
    found = solve(SquaredDistance(signal), Dictionary(everything), "orthogonal", n_nonzero=1000)
    assert found.status is Status.CONVERGED
    assert len(found.support) == 8
    np.testing.assert_allclose(found.x, best, atol=1e-10)


def test_least_squares_is_pursuit_with_the_images_of_the_atoms():
    rng = np.random.default_rng(5)
    A, atoms, b = rng.standard_normal((30, 20)), rng.standard_normal((50, 20)), rng.random(30)
    images = atoms @ A.T
    # The oracle looks at unit atoms, not at unit images: give it atoms whose images are unit.
    atoms /= np.linalg.norm(images, axis=1, keepdims=True)
    theirs = orthogonal_mp((atoms @ A.T).T, b, n_nonzero_coefs=12)
    ours = solve(
        LeastSquares(A, b), Dictionary(atoms), "orthogonal", n_nonzero=12, tol=0, unit_atoms=False
    )
    assert ours.support.tolist() == np.flatnonzero(theirs).tolist()
    np.testing.assert_allclose(ours.coef.toarray(), theirs, rtol=0, atol=1e-8)


def recovery(seed):
    """500 measurements, 2,000 Gaussian atoms, 100 of them in use, 1 % of noise."""
    rng = np.random.default_rng(seed)
    atoms = unit_rows(rng, 2000, 500)
    used = np.sort(rng.choice(2000, 100, replace=False))
    weights = rng.standard_normal(100)
    clean = (weights + 0.1 * np.sign(weights)) @ atoms[used]
    noise = rng.standard_normal(500)
    return atoms, clean + 0.01 * np.linalg.norm(clean) * noise / np.linalg.norm(noise), used


def test_blended_reaches_the_value_of_orthogonal_with_few_more_atoms_and_both_find_the_truth():
    atoms, signal, used = recovery(1)
    f, dictionary = SquaredDistance(signal), Dictionary(atoms)
    theirs = orthogonal_mp(atoms.T, signal, n_nonzero_coefs=100)
    orthogonal = solve(f, dictionary, "orthogonal", n_nonzero=100, tol=0, every=1000)
    assert orthogonal.support.tolist() == used.tolist() == np.flatnonzero(theirs).tolist()
    np.testing.assert_allclose(orthogonal.coef.toarray(), theirs, rtol=0, atol=1e-8)
    blended = solve(f, dictionary, "blended", target=orthogonal.value, tol=0, every=1000)
    assert blended.status is Status.CONVERGED
    assert len(blended.support) <= 130
    assert set(used.tolist()) <= set(blended.support.tolist())
    # The looks at all atoms are what blended saves.
    assert blended.counts.products < 0.3 * orthogonal.counts.products
