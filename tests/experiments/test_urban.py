"""The hyperspectral experiment: the Urban file where it is there, and the simulated scene."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat

from pursuit import InputError
from pursuit.experiments import toy, urban
from pursuit.experiments.curves import EXACT
from pursuit.experiments.urban_data import BANDS, PIXELS, SPECTRUM, simulated
from pursuit.experiments.urban_data import urban as read
from pursuit.experiments.verdicts import divergence, iteration_ratio, judge
from pursuit.files import data


@pytest.fixture(scope="module")
def panel():
    skip_without_urban()
    return urban.run(iterations=2000, readings=[EXACT])[0]


def skip_without_urban():
    if data.find("urban77/urban77.npz") is None:
        pytest.skip("urban77/urban77.npz was not found in $PURSUIT_DATA or ../shared/data")


def loss(panel, key, t):
    """The loss above its floor at the iteration number t of the grid."""
    return panel.curves[key].losses[0, list(panel.grid).index(t)]


def test_loss_at_zero_and_floor_of_urban_are_those_of_the_reference(panel):
    assert panel.facts["loss at zero"] == pytest.approx(6_663_868.5375, abs=5e-5)
    assert panel.facts["floor"] == pytest.approx(10_484.470594719, rel=1e-11)
    first = panel.facts["loss at zero"] - panel.facts["floor"]
    assert loss(panel, "mp", 0) == pytest.approx(first, rel=1e-12)
    assert panel.dimension == 6
    assert panel.name == "Urban"


def test_mp_on_urban_is_at_1109_after_1000_iterations_and_at_776_after_2000(panel):
    assert loss(panel, "mp", 1000) == pytest.approx(1109, rel=1e-3)
    assert loss(panel, "mp", 2000) == pytest.approx(776, rel=2e-3)


def test_algorithm_4_with_the_printed_nu_falls_until_about_100_then_diverges_and_is_reported_so(
    panel,
):
    found = divergence(panel.grid, panel.curves["alg4-printed"].median)
    assert found is not None
    assert 80 <= found.lowest_at <= 120
    assert found.lowest < 0.01 * loss(panel, "mp", 0)
    reports = [f for f in judge([panel]) if f.case == "Alg. 4, ν = 1"]
    assert [report.verdict for report in reports] == ["does not hold: diverges on unit atoms"]
    assert f"at t = {found.lowest_at}, then rises" in reports[0].evidence


REFERENCE = {
    "figures": [(1670, 932), (4720, 2640), (611, 33), (86, 1.6)],
    "double": [(887, 519), (3130, 1050), (289, 2.1), (14.5, 0.17)],
    "exact": [(577, 298), (2040, 764), (101, 3.2)],
}
"""Means of ½‖x − b‖² above the floor at t = 1000 and 3000, found with a tenth of the pixels."""


def test_losses_on_urban_are_those_of_the_reference_under_every_reading_of_L():
    skip_without_urban()
    for panel in urban.run(iterations=3000):
        expected = REFERENCE[panel.reading.key]
        keys = ("mp", "rp", "alg3-printed", "alg4-printed")
        for key, values in zip(keys, expected, strict=False):
            for t, value in zip((1000, 3000), values, strict=True):
                k = int(np.argmin(np.abs(panel.grid - t)))
                assert panel.curves[key].losses[0, k] / 2 == pytest.approx(value, rel=0.2)


def test_the_lead_of_the_steepest_atom_is_larger_on_urban_than_on_the_toy_data(panel):
    """The paper says the opposite."""
    toys = toy.run(3, 8000, kinds=toy.KINDS[:1], readings=[EXACT])[0]
    assert iteration_ratio(toys, "mp", "rp")[1e-3] < 10 < iteration_ratio(panel, "mp", "rp")[1e-3]


VERDICTS = {
    "toy: uniform, unit": "FFFHHHHFHHFHFH",
    "toy: Gaussian, unit": "FFFFFHHFHHFHFH",
    "toy: Gaussian, raw": "FFFFFHHFHHFHFF",
    "toy: uniform, raw": "FFFFHHHFHHFHFF",
    "toy: Gaussian, 1/√dim": "FFFFFHHHHHFHHH",
    "toy: uniform, 1/√dim": "FFFFHHHHHHFHHH",
    "Urban": "FHHHHHHFHHHFFH",
}
"""With the exact L up to t = 5000: which comparisons, in their order, hold (H) and fail (F)."""


@pytest.mark.slow
def test_verdicts_with_the_exact_L_are_those_of_the_reference():
    skip_without_urban()
    panels = [
        *toy.run(20, 5000, readings=[EXACT]),
        *urban.run(iterations=5000, readings=[EXACT]),
    ]
    for panel in (one for one in panels if one.name in VERDICTS):
        said = "".join(
            "H" if found.verdict.startswith("holds") else "F" for found in judge([panel])
        )
        assert said == VERDICTS[panel.name], panel.name


def test_nu_prime_equal_to_the_dimension_is_exact_on_urban(panel):
    assert panel.curves["alg3-exact"].nu[0] == pytest.approx(6, rel=1e-9)
    np.testing.assert_allclose(
        panel.curves["alg3-exact"].median, panel.curves["alg3-printed"].median, rtol=1e-6
    )


def test_the_file_as_its_authors_made_it_gives_the_same_pixels_and_atoms():
    ours, theirs = data.find("urban77/urban77.npz"), data.find("urban77/urban_undersampled4.mat")
    if ours is None or theirs is None:
        pytest.skip("the Urban files were not found in $PURSUIT_DATA or ../shared/data")
    first, second = read(ours), read(theirs)
    np.testing.assert_array_equal(first.signals, second.signals)
    np.testing.assert_array_equal(first.atoms.matrix, second.atoms.matrix)


def test_the_simulated_scene_has_the_size_and_the_conditioning_of_urban():
    scene = simulated()
    assert scene.signals.shape == (PIXELS, BANDS) == (5929, 162)
    spectra = scene.atoms.matrix
    np.testing.assert_allclose(np.linalg.norm(spectra, axis=1), 1, rtol=1e-12)
    eigenvalues = np.linalg.eigvalsh(spectra @ spectra.T)
    np.testing.assert_allclose(eigenvalues, sorted(SPECTRUM), rtol=1e-9)
    assert eigenvalues[0] == pytest.approx(1.4e-4)
    assert eigenvalues[-1] == pytest.approx(5.4)
    assert (spectra > 0).all()
    assert scene.signals.min() >= 0
    assert scene.signals.max() <= 1000


def test_without_the_file_the_simulated_scene_is_run_and_every_title_says_so(monkeypatch):
    monkeypatch.setattr(data, "find", lambda name: None)
    panels = urban.run(iterations=3)
    panel = panels[0]
    assert panel.is_simulated
    assert panel.name.startswith("Simulated scene")
    assert "Simulated scene" in urban.draw(panels).get_suptitle()
    ours = simulated()
    assert panel.facts["loss at zero"] == pytest.approx(np.mean(np.sum(ours.signals**2, axis=1)))


def test_pixels_of_another_file_are_named_after_it_whichever_way_they_lie(tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.uniform(0, 1, (60, 6)) @ rng.uniform(0, 1, (6, 9))
    np.save(tmp_path / "small.npy", pixels)
    savemat(tmp_path / "small.mat", {"M": pixels.T, "other": np.eye(3)})
    rows, columns = read(tmp_path / "small.npy"), read(tmp_path / "small.mat")
    np.testing.assert_array_equal(rows.signals, columns.signals)
    assert rows.name == "small.npy"


def test_a_file_without_one_clear_matrix_of_pixels_is_refused_with_a_sentence(tmp_path):
    np.savez(tmp_path / "two.npz", a=np.eye(9), b=np.eye(9))
    with pytest.raises(InputError, match=r"two\.npz: expected one matrix of pixels"):
        read(tmp_path / "two.npz")
    np.save(tmp_path / "thin.npy", np.ones((100, 3)))
    with pytest.raises(InputError, match="at least 6 pixels and bands"):
        read(tmp_path / "thin.npy")
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "missing.npz")
