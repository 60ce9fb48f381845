"""The toy experiment, at a small size."""

from __future__ import annotations

import numpy as np
import pytest

from pursuit import Dictionary, SquaredDistance, methods, solve
from pursuit.experiments import toy
from pursuit.experiments.curves import COMPETITORS, EXACT, FIGURES, TRIED, competitors
from pursuit.experiments.verdicts import CLAIMS, divergence, holds_where
from pursuit.rules.steps import Smooth

SEEDS = 3


@pytest.fixture(scope="module")
def panels():
    return toy.run(SEEDS, 400, seed=1, atoms=40, dimension=20)


def panels_of(panels, reading, *lengths):
    return [one for one in panels if one.reading is reading and one.name.endswith(lengths)]


def test_every_competitor_has_a_curve_for_every_seed_and_kind_of_atoms(panels):
    expected = [(f"toy: {kind.name}", one) for kind in toy.KINDS for one in kind.readings]
    assert [(panel.name, panel.reading) for panel in panels] == expected
    for panel in panels:
        assert set(panel.curves) == set(competitors(panel.reading))
        for curve in panel.curves.values():
            assert curve.losses.shape == (SEEDS, len(panel.grid))
            np.testing.assert_allclose(
                curve.losses[:, 0], panel.curves["mp"].losses[:, 0], rtol=1e-12
            )


@pytest.mark.parametrize(
    ("name", "unit"), [("toy: Gaussian, unit", True), ("toy: Gaussian, raw", False)]
)
def test_the_curve_of_mp_is_that_of_solve(panels, name, unit):
    problem = np.random.default_rng(np.random.SeedSequence((1, 0)))
    signal, rows = problem.standard_normal((1, 20))[0], problem.standard_normal((40, 20))
    for panel in (one for one in panels if one.name == name):
        bound = np.linalg.norm(rows / np.linalg.norm(rows, axis=1, keepdims=True), 2) ** 2
        L = bound if panel.reading is FIGURES else 1.0
        result = solve(
            SquaredDistance(signal),
            Dictionary(rows),
            methods.matching_pursuit(step=Smooth(L)),
            max_iter=100,
            tol=0,
            every=1,
            unit_atoms=unit,
        )
        near = panel.grid <= 100
        np.testing.assert_allclose(
            panel.curves["mp"].losses[0, near], result.trace.value[panel.grid[near]], rtol=1e-8
        )


def test_algorithm_4_with_the_printed_nu_diverges_with_exact_L_on_unit_or_longer_atoms(panels):
    for panel in panels_of(panels, EXACT, "unit", "raw", "1/√dim"):
        for losses in panel.curves["alg4-printed"].losses:
            assert (divergence(panel.grid, losses) is None) == panel.name.endswith("1/√dim")
        for key in ("mp", "rp", "alg3-exact", "alg4-safe"):
            for losses in panel.curves[key].losses:
                assert (losses <= losses[0] * (1 + 1e-9)).all()


def test_the_printed_nu_prime_is_the_dimension_and_the_exact_one_is_larger(panels):
    for panel in panels_of(panels, EXACT, "unit", "raw"):
        np.testing.assert_array_equal(panel.curves["alg3-printed"].nu, 20)
        assert (panel.curves["alg3-exact"].nu > 20).all()


def test_on_atoms_of_norm_one_over_the_root_of_the_dimension_the_printed_constants_are_valid(
    panels,
):
    """ν = 1 is then the safe value itself, and nothing that has a proof diverges."""
    for panel in panels_of(panels, EXACT, "1/√dim"):
        assert panel.radius == pytest.approx(20**-0.5)
        np.testing.assert_allclose(panel.curves["alg4-safe"].nu, 1)
        assert (panel.curves["alg3-exact"].nu < 20).all()
        for key in set(panel.curves) - {"greedy-greedy"}:
            for losses in panel.curves[key].losses:
                assert divergence(panel.grid, losses) is None
        np.testing.assert_allclose(
            panel.curves["alg4-printed"].losses, panel.curves["alg4-safe"].losses, rtol=1e-6
        )


def test_the_nu_tuned_in_hindsight_ends_no_higher_than_the_safe_one_and_is_one_that_was_tried(
    panels,
):
    for panel in panels_of(panels, EXACT, "unit", "raw", "1/√dim"):
        tuned, safe = panel.curves["alg4-tuned"], panel.curves["alg4-safe"]
        assert (tuned.losses[:, -1] <= safe.losses[:, -1]).all()
        shares = tuned.nu / safe.nu
        assert (np.abs(shares[:, None] - TRIED).min(axis=1) < 1e-9).all()
        assert (shares < 1).any()


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(panels):
    again = toy.run(SEEDS, 400, seed=1, atoms=40, dimension=20)
    other = toy.run(SEEDS, 400, seed=2, atoms=40, dimension=20)
    for one, two, three in zip(panels, again, other, strict=True):
        for key in one.curves:
            assert one.curves[key].losses.tobytes() == two.curves[key].losses.tobytes()
            assert not np.array_equal(one.curves[key].losses, three.curves[key].losses)


def test_the_figure_has_logarithmic_axes_labels_and_a_legend_that_names_what_diverges(panels):
    figure = toy.draw(panels[:2])
    assert len(figure.axes) == 4
    for ax in figure.axes:
        assert ax.get_xscale() == ax.get_yscale() == "log"
        assert ax.get_xlabel()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(labels) == len(COMPETITORS)
    assert "Alg. 4, ν = 1 as printed (diverges, cut at ×)" in labels
    assert "MP (Alg. 1)" in labels


def ends(panel, number):
    """Where a claim begins and ceases to hold, in at least 18 of 20 problems."""
    lead = holds_where(panel, CLAIMS[number]).lead
    return (np.inf, 0) if lead is None else (lead.begin, lead.end)


@pytest.mark.slow
def test_the_claims_of_the_paper_hold_with_the_norm_of_the_dictionary_as_L():
    """On seeds that the ranges were not read off from, ends within 20 %.

    Where Algorithm 4 gets ahead of MP on uniform atoms depends on single problems: 55 to 77 in six
    sets of 20 problems.
    """
    panels = {
        panel.name: panel
        for panel in toy.run(20, 8000, seed=2000, kinds=toy.KINDS[:2], readings=[FIGURES])
    }
    for name, claims in {
        "toy: uniform, unit": ((65, 8000), (650, 8000), (3370, 8000), (1, 8000), (1, 8000)),
        "toy: |Gaussian|, unit": ((65, 7690), (630, 8000), (2890, 8000), (1, 8000), (1, 6410)),
    }.items():
        for number, (begin, end) in enumerate(claims):
            found = ends(panels[name], number)
            assert found[0] <= 1.2 * begin, (name, CLAIMS[number], found)
            assert found[1] >= 0.8 * end, (name, CLAIMS[number], found)


def test_sensitivity_is_the_loss_after_a_thousand_iterations_by_L():
    found = toy.sensitivity(2, 5, atoms=40, dimension=20)
    assert found.losses.keys() == set(toy.FOUR)
    assert (np.diff(np.median(found.losses["mp"], axis=0)) > 0).all()  # the exact L is the best
    printed = np.median(found.losses["alg4-printed"], axis=0)
    assert printed[0] > 1e3 * printed.min()  # it diverges with the exact L
    assert 1 < found.figures_ratio < 40


def test_observed_nu_of_the_toy_problem_is_above_the_printed_one_and_below_the_safe_one():
    *unit, short = toy.observed_nu(0)
    for run in unit:
        assert (np.diff(run.values) >= 0).all()
        assert 1 < run.values[0] <= run.values[-1] <= 100
        assert run.diverges == (run.reading is EXACT)
    assert short.values[-1] < 1  # the printed value is valid for these
    assert not short.diverges
