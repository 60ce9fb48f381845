"""Templates are learned from one long signal."""

import numpy as np
import pytest

from pursuit import InputError, Shifts, learn_templates
from pursuit.files.data import find


def made(rng, shapes, shape, times):
    """A signal of templates that do not overlap."""
    atoms = Shifts(shapes, shape)
    length = shapes.shape[-1]
    slots = rng.choice(shape // (2 * length), times, replace=False) * 2 * length + length // 2
    numbers = atoms.number(rng.integers(0, len(shapes), times), slots)
    return atoms.combine_some(rng.uniform(1, 3, times), numbers)


def test_templates_that_made_a_signal_are_found():
    rng = np.random.default_rng(0)
    t = np.arange(20)
    shapes = np.array([np.hanning(20), np.sin(t / 2) * np.hanning(20)])
    signal = made(rng, shapes, 4000, 60)
    learned = learn_templates(signal, 2, 26, n_atoms=60, rounds=20)
    assert 2 * learned.result.value < 1e-3 * np.vdot(signal, signal)
    for shape in shapes:
        matches = [np.correlate(found, shape, "full") for found in learned.templates]
        assert np.abs(matches).max() > 0.99 * np.linalg.norm(shape)
    assert learned.values[-1] < learned.values[0]
    np.testing.assert_allclose(np.linalg.norm(learned.templates, axis=1), 1, rtol=1e-12)


def test_images_and_channels_have_templates_too():
    rng = np.random.default_rng(1)
    atoms = Shifts(rng.standard_normal((1, 4, 5)), (40, 50))
    picture = atoms.combine_some(np.ones(4), atoms.number(0, [3, 20, 33, 41], [4, 9, 30, 18]))
    learned = learn_templates(picture, 1, (8, 9), n_atoms=4)
    assert learned.result.value < 1e-12
    assert learned.templates.shape == (1, 8, 9)
    both = np.array([np.ravel(picture[:, :25]), np.ravel(picture[:, 25:])])
    assert learn_templates(both, 2, (2, 30), n_atoms=9, rounds=2).templates.shape == (2, 2, 30)


def test_channels_stay_where_they_are():
    rng = np.random.default_rng(2)
    signal = np.zeros((4, 300))
    signal[0] = made(rng, rng.standard_normal((1, 9)), 300, 6)
    learned = learn_templates(signal, 1, (4, 13), n_atoms=6)
    assert learned.result.value < 1e-12
    assert not learned.templates[0, 1:].any()
    whole = learn_templates(signal, 1, signal.shape)
    assert whole.result.value < 1e-12


@pytest.mark.parametrize("times", [1, 4])
def test_more_templates_than_a_signal_has_shapes_are_learned_all_the_same(times):
    rng = np.random.default_rng(3)
    signal = made(rng, rng.standard_normal((1, 5)), 300, times)
    periodic = np.sin(np.arange(400) * np.pi / 10)
    for heard in (signal, periodic, np.ones(100)):
        learned = learn_templates(heard, 3, 9, n_atoms=60, rounds=4)
        assert len(learned.templates) == 3
        assert learned.values[-1] < 0.1 * np.vdot(heard, heard)


def test_a_number_of_atoms_without_end_is_as_many_as_samples():
    signal = np.random.default_rng(4).standard_normal(30)
    endless, enough = (
        learn_templates(signal, 2, 9, n_atoms=n, rounds=2, method="matching-pursuit")
        for n in (10**18, 30)
    )
    assert endless.result.iterations <= 4 * signal.size
    assert endless.result.value <= enough.result.value


def test_what_cannot_be_learned_from_is_refused():
    with pytest.raises(InputError, match=r"^n_templates: expected at most 46, as .* got 10"):
        learn_templates(np.arange(50.0), 10**18, 5)
    with pytest.raises(InputError, match="n_templates: templates of one sample are all one"):
        learn_templates(np.arange(50.0), 2, 1)
    for unit in (1e-200, 1e150):
        with pytest.raises(InputError, match=r"^signal must be zero or .* rescale the data"):
            learn_templates(np.arange(50.0) * unit, 1, 5)
    with pytest.raises(InputError, match="silent"):
        learn_templates(np.zeros(50), 2, 5)
    with pytest.raises(InputError, match=r"fit into a signal of shape \(50,\), got \(60,\)"):
        learn_templates(np.ones(50), 2, 60)
    with pytest.raises(InputError, match="signal: "):
        learn_templates([1.0, np.nan, 2.0], 1, 2)
    noise = np.random.default_rng(0).standard_normal(60)
    with pytest.raises(InputError, match="method: 'accelerated' takes many atoms at once"):
        learn_templates(noise, 2, 5, n_atoms=4, method="accelerated")


def test_templates_of_an_ecg_are_beats():
    """A minute of record 208: narrow beats with their waves, and wide ones from the ventricle."""
    path = find("ecg_scipy/ecg.dat")
    if path is None or not path.exists():
        pytest.skip("the ECG is not there")
    volts = (np.load(path)["ecg"][:21_600].astype(np.float64) - 1024) / 200
    heart = volts - np.median(volts)
    learned = learn_templates(heart, 3, 216, n_atoms=200, rounds=8)
    assert 2 * learned.result.value < 0.1 * np.vdot(heart, heart)
    widths = [np.count_nonzero(np.abs(t) > np.abs(t).max() / 2) / 360 for t in learned.templates]
    assert min(widths) < 0.05 < 0.08 < max(widths)  # seconds: a normal beat is 0.04 wide
