"""Matching pursuit over Gabor atoms is that of explicit correlations in every step."""

import numpy as np
import pytest

from pursuit import Gabor, LeastSquares, SquaredDistance, decompose, solve
from pursuit.atoms.frames import WIDTH

SCALES = (32, 64, 128, 256)
LENGTH = 2000


def sound(length=LENGTH, seed=0):
    """A chirp, a decaying tone, a click, an offset and some noise."""
    t, rng = np.arange(length), np.random.default_rng(seed)
    chirp = np.cos(2e-4 * (1.5e6 / length) * t**2 / 750)
    tone = 2 * np.exp(-t / 300) * np.cos(1.1 * t)
    return chirp + tone + 5 * (t == length // 3) + 0.3 + 0.1 * rng.standard_normal(length)


def explicit(signal, steps):
    """The signal-domain algorithm: all correlations with the residual, two by two least squares."""
    residual, found = signal.copy(), []
    for _ in range(steps):
        best = (-1.0,)
        for s, L in enumerate(SCALES):
            t = np.arange(L)
            g = np.exp(-0.5 * ((t - (L - 1) / 2) * WIDTH / L) ** 2)
            waves = [np.cos(2 * np.pi * t * m / L) * g for m in range(L // 2)]
            waves += [np.sin(2 * np.pi * t * m / L) * g for m in range(L // 2)]
            C, S = np.array(waves).reshape(2, L // 2, L)
            frames = np.lib.stride_tricks.sliding_window_view(residual, L)[:: L // 4]
            u, v = frames @ C.T, frames @ S.T
            cc, ss, cs = (C * C).sum(1), (S * S).sum(1), (C * S).sum(1)
            determinant = cc * ss - cs**2
            determinant[0] = np.inf
            energy = (ss * u * u - 2 * cs * u * v + cc * v * v) / determinant
            energy[:, 0] = u[:, 0] ** 2 / cc[0]
            n, m = np.unravel_index(np.argmax(energy), energy.shape)
            if energy[n, m] > best[0]:
                best = (energy[n, m], s, int(n), int(m), L, np.array([C[m], S[m]]))
        energy, s, n, m, L, plane = best
        span = slice(n * L // 4, n * L // 4 + L)
        fit = np.linalg.lstsq(plane.T, residual[span], rcond=None)[0]
        residual[span] -= fit @ plane
        found.append((s, n, m))
    return found, residual


@pytest.fixture(scope="module")
def transcript():
    return explicit(sound(), 100)


@pytest.mark.parametrize("cut", [0.0, 1e-3], ids=["all inner products", "those above 1e-3"])
def test_the_first_hundred_atoms_are_those_of_the_signal_domain_algorithm(transcript, cut):
    found, residual = transcript
    atoms = Gabor(LENGTH, SCALES, cut=cut)
    result = solve(SquaredDistance(sound()), atoms, max_iter=100, tol=0)
    assert [z[:3] for z in result.used] == found
    assert np.abs(sound() - result.x - residual).max() <= 1e-10


METHODS = ["matching-pursuit", "random-pursuit", "orthogonal", "greedy-greedy", "blended"]


@pytest.mark.parametrize("method", METHODS)
def test_kept_coefficients_change_no_number_of_a_run(method):
    signal = sound(400)
    kept = solve(SquaredDistance(signal), Gabor(400, (32, 64)), method, max_iter=30, tol=0)
    plain = solve(
        LeastSquares(np.eye(400), signal), Gabor(400, (32, 64)), method, max_iter=30, tol=0
    )
    assert [z[:3] for z in kept.used] == [z[:3] for z in plain.used]
    assert np.abs(kept.x - plain.x).max() <= 1e-10
    assert np.allclose(kept.trace.value, plain.trace.value, rtol=1e-10)


def test_channels_that_share_atoms_share_those_of_the_largest_summed_energy():
    """Two channels that differ by a factor have the atoms of one, with the factor."""
    signal = sound(600)
    alone = decompose(signal, 1.0, 12, scales=(32, 64))
    both = decompose(np.array([signal, -3 * signal]), 1.0, 12, scales=(32, 64), shared=True)
    first, second = (both[both.channel == k] for k in (0, 1))
    for name in ("step", "frequency", "time", "scale"):
        assert np.array_equal(getattr(first, name), getattr(alone, name)), name
        assert np.array_equal(getattr(second, name), getattr(alone, name)), name
    assert np.allclose(second.amplitude, 3 * first.amplitude)
    assert np.allclose(np.cos(second.phase - first.phase), -1)


def test_channels_one_by_one_are_the_books_of_each():
    rows = np.array([sound(600), sound(600, seed=1)])
    book = decompose(rows, 1.0, 10, scales=(32, 64))
    for k, row in enumerate(rows):
        alone, part = decompose(row, 1.0, 10, scales=(32, 64)), book[book.channel == k]
        assert np.array_equal(alone.amplitude, part.amplitude)
        assert np.array_equal(alone.rebuild(), book.rebuild()[k])


@pytest.mark.parametrize("unit", [1e-20, 1e20])
def test_the_unit_of_a_signal_changes_nothing_else(unit):
    book, other = (decompose(u * sound(600), 1.0, 12, scales=(32, 64)) for u in (1.0, unit))
    assert np.array_equal(book.frequency, other.frequency)
    assert np.array_equal(book.time, other.time)
    assert np.allclose(other.amplitude, unit * book.amplitude, rtol=1e-9, atol=0)
