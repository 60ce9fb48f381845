"""Draws follow their probabilities, and a stream is where its state says."""

import numpy as np
import pytest

from pursuit import Coordinates, Dictionary, Sampling, Sphere
from pursuit.atoms.sampling import BLOCK, Stream


def stream(sampling, seed=0):
    return Stream(sampling, np.random.SeedSequence(seed))


@pytest.mark.parametrize("p", [None, [0.5, 0.0, 0.25, 0.25], [0.0, 0.7, 0.3, 0.0]])
def test_frequencies_are_the_probabilities_and_what_has_none_is_never_drawn(p):
    # Doubled axes: leaving some atoms out does not shrink the span.
    atoms = Dictionary([[1.0, 0], [0, 1], [0, 2], [2, 0]])
    if p is not None and p[0] == 0:
        atoms = Dictionary([[1.0, 0], [0, 1], [2, 0], [0, 2]])
    sampling, draws = Sampling(atoms, p), 20_000
    draw = stream(sampling)
    shares = np.bincount([draw() for _ in range(draws)], minlength=4) / draws
    five_sigma = 5 * np.sqrt(sampling.p * (1 - sampling.p) / draws)
    assert (np.abs(shares - sampling.p) <= five_sigma).all()
    assert not shares[sampling.p == 0].any()


def test_the_sphere_is_drawn_evenly():
    draw = stream(Sampling(Sphere(3)))
    z = np.array([draw() for _ in range(20_000)])
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(3) / 3, atol=0.02)


@pytest.mark.parametrize("position", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_a_restored_stream_goes_on_where_the_other_was(position):
    sampling = Sampling(Coordinates(50))
    one = stream(sampling)
    for _ in range(position):
        one()
    other = stream(sampling, seed=9)
    other.restore(one.state())
    assert [one() for _ in range(600)] == [other() for _ in range(600)]


def test_leverages_average_to_the_dimension_of_the_span():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((9, 4)) @ rng.standard_normal((4, 7)) * rng.uniform(0.1, 9, (9, 1))
    p = rng.dirichlet(np.ones(9))
    moments = Sampling(Dictionary(rows), p).moments
    assert moments.rank == 4
    assert p @ moments.leverage == pytest.approx(4)
    second = rows.T * p @ rows
    leverage = np.einsum("ij,jk,ik->i", rows, np.linalg.pinv(second, hermitian=True), rows)
    np.testing.assert_allclose(moments.leverage, leverage, rtol=1e-8)
    x = rng.standard_normal(9) @ rows
    assert moments.norm2(x) == pytest.approx(x @ np.linalg.pinv(second, hermitian=True) @ x)
