"""Gabor atoms in `solve`: energies, resuming, bad input."""

import numpy as np
import pytest

from pursuit import Gabor, InputError, SquaredDistance, solve
from pursuit.points.gabor import GaborPoint

RNG = np.random.default_rng(0)


def noisy(length):
    t = np.arange(length)
    return np.cos(0.2 * t) + np.cos(1e-4 * t**2) + 0.5 * RNG.standard_normal(length)


def test_the_energy_falls_by_what_each_of_ten_thousand_steps_says():
    signal = noisy(6000)
    result = solve(SquaredDistance(signal), Gabor(6000), max_iter=10_000, tol=0)
    energy = signal @ signal
    left = np.sum((signal - result.x) ** 2)
    assert result.iterations == 10_000
    assert len(result.weights) == 10_000
    assert abs(energy - np.sum(result.weights**2) - left) <= 1e-10 * energy
    said = energy - np.concatenate([[0.0], np.cumsum(result.weights**2)])[result.trace.iteration]
    assert np.abs(2 * result.trace.value - said).max() <= 1e-10 * energy


def test_a_run_stopped_anywhere_and_resumed_equals_one_that_was_not(tmp_path):
    f, atoms = SquaredDistance(noisy(1000)), Gabor(1000, (16, 64, 256))
    whole = solve(f, atoms, max_iter=1400, tol=0)
    # Before and after all coefficients were computed anew.
    for stop in (400, 1300):
        solve(f, atoms, max_iter=stop, tol=0, checkpoint=tmp_path / "state.npz")
        resumed = solve(f, atoms, max_iter=1400, tol=0, resume=tmp_path / "state.npz")
        assert np.array_equal(whole.x, resumed.x)
        assert np.array_equal(whole.weights, resumed.weights)
        assert [z[:3] for z in whole.used] == [z[:3] for z in resumed.used]
        assert np.array_equal(whole.trace.value, resumed.trace.value)


def test_drifting_coefficients_are_renewed_where_they_are_off(monkeypatch):
    """With a coarse cut what is kept is soon wrong: 100 dB are reached all the same."""
    renewed, renew = [], GaborPoint._renew
    monkeypatch.setattr(GaborPoint, "_renew", lambda *at: renewed.append(at[1:]) or renew(*at))
    t = np.arange(500)
    signal = np.exp(-(((t - 250) / 60) ** 2)) * np.cos(0.5 * t)
    result = solve(
        SquaredDistance(signal), Gabor(500, (64, 128), cut=0.05), rtol=1e-5, max_iter=5000, tol=0
    )
    assert result.success
    assert renewed
    assert np.linalg.norm(signal - result.x) <= 1e-5 * np.linalg.norm(signal)


def test_coefficients_are_renewed_at_the_end_where_no_long_window_reaches(monkeypatch):
    renewed, renew = [], GaborPoint._renew
    monkeypatch.setattr(GaborPoint, "_renew", lambda *at: renewed.append(at[1:]) or renew(*at))
    signal = np.zeros(2000)
    signal[1800:] = np.random.default_rng(0).standard_normal(200)
    atoms = Gabor(2000, (64, 1024), cut=0.3)
    result = solve(SquaredDistance(signal), atoms, max_iter=300, tol=0)
    ends = [atoms.grid.span(1, n).stop for n in range(atoms.grid.counts[1])]
    assert any(atoms.grid.span(s, n).start >= max(ends) for s, n in renewed)
    assert 2 * result.value == pytest.approx(np.sum((signal - result.x) ** 2), rel=1e-10)


def test_a_cut_above_all_products_of_two_scales_is_a_cut_like_any_other():
    signal = noisy(500)
    result = solve(SquaredDistance(signal), Gabor(500, (16, 256), cut=0.9), max_iter=200, tol=0)
    assert 2 * result.value == pytest.approx(np.sum((signal - result.x) ** 2), rel=1e-10)


def test_a_smooth_packet_of_the_grid_is_one_atom():
    atoms = Gabor(700, (32, 128))
    z = atoms.draw(np.random.default_rng(3), 1)[0]
    result = solve(SquaredDistance(-2.5 * atoms.vector(z)), atoms, max_iter=5)
    assert result.used[0][:3] == z[:3]
    assert abs(abs(result.weights[0]) - 2.5) <= 1e-12
    assert result.success


def test_single_precision_stays_single_precision():
    signal = noisy(500).astype(np.float32)
    result = solve(SquaredDistance(signal), Gabor(500, (32, 64)), rtol=0.3)
    assert result.x.dtype == np.float32
    assert np.linalg.norm(signal - result.x) <= 0.3 * np.linalg.norm(signal)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"length": 0}, "length: expected an integer of at least 1"),
        ({"length": 70}, "length: expected at least 80 samples for windows of 64 … 64, got 70"),
        ({"length": 200, "scales": (64, 256)}, "length: expected at least 256 samples"),
        ({"length": 500, "scales": (48,)}, "scales: expected powers of two from 16"),
        ({"length": 500, "scales": (8,)}, "scales: expected powers of two from 16"),
        ({"length": 500, "scales": ()}, "scales: expected at least one length"),
        ({"length": 500, "scales": 64}, "scales: expected lengths of windows, got 64"),
        ({"length": 500, "hop": 0.3}, "hop: expected 1/4, 1/8 or 1/16 of a window, got 0.3"),
        ({"length": 500, "channels": 0}, "channels: expected an integer of at least 1"),
        ({"length": 500, "cut": 1.0}, "cut: expected a number below 1"),
    ],
)
def test_what_cannot_be_a_set_of_gabor_atoms_is_refused_in_a_sentence(arguments, words):
    with pytest.raises(InputError) as error:
        Gabor(**arguments)
    assert str(error.value).startswith(words)
