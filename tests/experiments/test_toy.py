"""The toy experiment, at a small size."""

from __future__ import annotations

import numpy as np
import pytest

from pursuit import Dictionary, SquaredDistance, methods, solve
from pursuit.experiments import toy
from pursuit.experiments.curves import CONTESTANTS, TRIED
from pursuit.experiments.verdicts import divergence

SEEDS = 3


@pytest.fixture(scope="module")
def panels():
    return toy.run(SEEDS, 400, seed=1, atoms=40, dimension=20)


def test_every_contestant_has_a_curve_for_every_seed_and_kind_of_atoms(panels):
    assert [panel.name for panel in panels] == [f"toy: {kind.name}" for kind in toy.KINDS]
    for panel in panels:
        assert set(panel.curves) == set(CONTESTANTS)
        for curve in panel.curves.values():
            assert curve.losses.shape == (SEEDS, len(panel.grid))
            np.testing.assert_allclose(
                curve.losses[:, 0], panel.curves["mp"].losses[:, 0], rtol=1e-12
            )


def test_the_curve_of_mp_is_that_of_solve(panels):
    problem = np.random.default_rng(np.random.SeedSequence((1, 0)))
    signal, rows = problem.standard_normal((1, 20))[0], problem.standard_normal((40, 20))
    for panel, unit in ((panels[0], True), (panels[2], False)):
        result = solve(
            SquaredDistance(signal),
            Dictionary(rows),
            methods.matching_pursuit(),
            max_iter=100,
            tol=0,
            every=1,
            unit_atoms=unit,
        )
        near = panel.grid <= 100
        np.testing.assert_allclose(
            panel.curves["mp"].losses[0, near], result.trace.value[panel.grid[near]], rtol=1e-8
        )


def test_algorithm_4_with_the_printed_nu_diverges_on_unit_or_longer_atoms_and_not_safe(panels):
    for panel, kind in zip(panels, toy.KINDS, strict=True):
        for losses in panel.curves["alg4-printed"].losses:
            assert (divergence(panel.grid, losses) is None) == (kind.length == "1/√dim")
        for key in ("mp", "rp", "alg3-exact", "alg4-safe"):
            for losses in panel.curves[key].losses:
                assert (losses <= losses[0] * (1 + 1e-9)).all()


def test_the_printed_nu_prime_is_the_dimension_and_the_exact_one_is_larger(panels):
    for panel in panels[:4]:
        np.testing.assert_array_equal(panel.curves["alg3-printed"].nu, 20)
        assert (panel.curves["alg3-exact"].nu > 20).all()


def test_on_atoms_of_norm_one_over_the_root_of_the_dimension_the_printed_constants_are_valid(
    panels,
):
    """ν = 1 is then the safe value itself, and nothing diverges."""
    for panel in panels[4:]:
        assert panel.radius == pytest.approx(20**-0.5)
        np.testing.assert_allclose(panel.curves["alg4-safe"].nu, 1)
        assert (panel.curves["alg3-exact"].nu < 20).all()
        for curve in panel.curves.values():
            for losses in curve.losses:
                assert divergence(panel.grid, losses) is None
        np.testing.assert_allclose(
            panel.curves["alg4-printed"].losses, panel.curves["alg4-safe"].losses, rtol=1e-6
        )


def test_the_nu_tuned_in_hindsight_ends_no_higher_than_the_safe_one_and_is_one_that_was_tried(
    panels,
):
    for panel in panels:
        tuned, safe = panel.curves["alg4-tuned"], panel.curves["alg4-safe"]
        assert (tuned.losses[:, -1] <= safe.losses[:, -1]).all()
        shares = tuned.nu / safe.nu
        assert (np.abs(shares[:, None] - TRIED).min(axis=1) < 1e-9).all()
        assert (shares < 1).any()


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(panels):
    again = toy.run(SEEDS, 400, seed=1, atoms=40, dimension=20)
    other = toy.run(SEEDS, 400, seed=2, atoms=40, dimension=20)
    for one, two, three in zip(panels, again, other, strict=True):
        for key in CONTESTANTS:
            assert one.curves[key].losses.tobytes() == two.curves[key].losses.tobytes()
            assert not np.array_equal(one.curves[key].losses, three.curves[key].losses)


def test_the_figure_has_logarithmic_axes_labels_and_a_legend_that_names_what_diverges(panels):
    figure = toy.draw(panels[:2])
    assert len(figure.axes) == 4
    for ax in figure.axes:
        assert ax.get_xscale() == ax.get_yscale() == "log"
        assert ax.get_xlabel()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(labels) == len(CONTESTANTS)
    assert "Alg. 4, ν = 1 as printed (diverges, cut at ×)" in labels
    assert "MP (Alg. 1)" in labels
