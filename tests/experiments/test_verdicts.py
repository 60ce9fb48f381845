"""The verdicts follow from the curves, and from nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pursuit.experiments import verdicts
from pursuit.experiments.curves import COMPETITORS, EXACT, Curve, Panel, grid_up_to
from pursuit.experiments.documents import Reproduction, as_json, as_markdown
from pursuit.experiments.verdicts import (
    CLAIMS,
    ahead,
    divergence,
    holds_where,
    iteration_ratio,
    judge,
)

GRID = grid_up_to(1000)
T = np.maximum(GRID, 0.5)


def panel_of(name="a", dimension=10, radius=1.0, **losses):
    """A panel with the given curves, and flat ones for the other competitors."""
    curves = {}
    for key in COMPETITORS:
        rows = np.atleast_2d(losses.get(key.replace("-", "_"), np.full(len(GRID), 5.0)))
        nu = np.full(len(rows), 1.0 if "printed" in key else 2.0)
        curves[key] = Curve(np.asarray(rows, float), GRID * 1.0, nu)
    facts = {"loss at zero": 5.0}
    return Panel(name, "title", EXACT, "loss", dimension, radius, GRID, curves, facts)


def verdict(panels, claim, case):
    found = [f for f in judge(panels) if (f.claim, f.case) == (claim, case)]
    return found[0]


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), min_size=2, max_size=30))
def test_a_method_that_is_ahead_to_the_end_is_below_at_every_record_from_there_and_not_before(
    pairs,
):
    fast, slow = np.array(pairs).T
    grid = np.arange(len(pairs))
    stretch = ahead(grid, fast, slow)
    if fast[-1] >= slow[-1] * (1 - 1e-6):
        assert stretch is None or not stretch.to_the_end or fast[-1] <= slow[-1] * (1 + 1e-6)
        return
    assert stretch is not None
    assert stretch.to_the_end
    assert (fast[stretch.begin :] <= slow[stretch.begin :] * (1 + 1e-6)).all()
    assert stretch.begin == 1 or fast[stretch.begin - 1] > slow[stretch.begin - 1] * (1 - 1e-6)


@pytest.mark.parametrize("last", [1, 2, 9, 10, 60, 1000, 5000])
def test_the_grid_starts_at_0_increases_and_ends_where_asked(last):
    grid = grid_up_to(last)
    assert grid[0] == 0
    assert grid[-1] == last
    assert (np.diff(grid) > 0).all()


def test_the_three_kinds_of_verdict_are_told_apart():
    claim, case = "accelerated faster than plain", "Alg. 4 and MP, safe ν"
    plain = 5 / T
    held = verdict([panel_of(mp=plain, alg4_safe=plain / 2)], claim, case)
    assert held.verdict == "holds up to t = 1000"
    crossing = np.where(GRID < 100, 2, 0.5) * plain
    later = verdict([panel_of(mp=plain, alg4_safe=crossing)], claim, case)
    first = GRID[GRID >= 100][0]
    assert later.verdict == f"holds from t = {first} to 1000"
    between = np.where((GRID > 10) & (GRID < 100), 0.5, 2) * plain
    only = verdict([panel_of(mp=plain, alg4_safe=between)], claim, case)
    inside = GRID[(GRID > 10) & (GRID < 100)]
    assert only.verdict == f"does not hold: ahead only for t = {inside[0]} … {inside[-1]} of 1000"
    never = verdict([panel_of(mp=plain, alg4_safe=2 * plain)], claim, case)
    assert never.verdict == "does not hold up to t = 1000"
    assert f"t = 1000: {2 * plain[-1]:.3g} against {plain[-1]:.3g}" in never.evidence


def test_acceleration_kicks_in_where_it_overtakes_and_not_when_it_leads_from_the_start():
    claim, case = "acceleration kicks in only after some iterations", "Alg. 4 and MP, safe ν"
    plain = 5 / T
    crossing = np.where(GRID < 100, 2, 0.5) * plain
    first = GRID[GRID >= 100][0]
    held = verdict([panel_of(mp=plain, alg4_safe=crossing)], claim, case)
    assert held.verdict == f"holds: at t = {first}, up to t = 1000"
    at_once = verdict([panel_of(mp=plain, alg4_safe=plain / 2)], claim, case)
    assert at_once.verdict == "does not hold: ahead at once"


def test_a_curve_that_falls_and_then_runs_away_is_reported_as_diverging_with_its_lowest_point():
    away = np.where(GRID <= 100, 5 - GRID / 50, 3 * 1.05 ** (GRID - 100.0))
    found = divergence(GRID, away)
    assert found is not None
    assert found.lowest_at == GRID[GRID <= 100][-1]
    assert found.above_start_at == GRID[away > 5][0]
    claim = ("ν = 1 and ν′ = dim usable", "Alg. 4, ν = 1")
    longer = verdict([panel_of(alg4_printed=away, radius=2.5)], *claim)
    assert longer.verdict == "does not hold: diverges on atoms of norm up to 2.5"
    judged = verdict([panel_of(alg4_printed=away)], *claim)
    assert judged.verdict == "does not hold: diverges on unit atoms"
    assert f"falls to {found.lowest:.3g} at t = {found.lowest_at}, then rises" in judged.evidence


def test_a_curve_that_wobbles_below_its_start_does_not_diverge():
    wobbling = 5 / T * (1.5 + np.sin(GRID))
    wobbling[0] = 20
    assert divergence(GRID, wobbling) is None


def test_a_diverging_method_is_never_faster_even_than_one_that_diverges_as_well():
    gone = np.where(GRID < 10, 5.0, np.inf)
    panel = panel_of(alg4_printed=gone, alg3_printed=gone)
    judged = verdict([panel], "steepest faster than random", "Alg. 4 and Alg. 3, as printed")
    assert judged.verdict == "does not hold: diverges on unit atoms"


def test_losses_at_the_level_of_rounding_are_equal():
    plain = np.maximum(5 / T**6, 1e-15)
    assert ahead(GRID, np.maximum(plain / 2, 3e-15), plain) is not None
    assert ahead(GRID, np.maximum(plain / 2, 3e-15), plain).to_the_end
    assert ahead(GRID, np.maximum(plain * 2, 1e-16), plain) is None


def test_iteration_ratio_counts_the_iterations_of_random_over_steepest():
    mp, half, eighth = (5 / (1 + GRID / slower) for slower in (1, 2, 8))
    for slower, factor in ((eighth, 8), (half, 2)):
        ratios = iteration_ratio(panel_of(mp=mp, rp=slower), "mp", "rp")
        assert ratios
        for ratio in ratios.values():
            assert ratio == pytest.approx(factor, rel=0.15)


def test_a_verdict_depends_on_its_own_panel_only():
    one, two = panel_of("one", 6, mp=5 / T), panel_of("two", 100, mp=3 / T)
    assert judge([one, two]) == judge([one]) + judge([two])


def test_claim_holds_where_nine_of_ten_problems_say_so():
    claim = CLAIMS[0]
    slow = np.tile(5 / T, (20, 1))
    fast = slow * np.where(GRID < 100, 2.0, 0.5)
    fast[:2] = 3 * slow[:2]  # two of twenty problems never follow
    first = GRID[GRID >= 100][0]
    found = holds_where(panel_of(mp=slow, alg4_printed=fast), claim)
    assert str(found) == f"t ≥ {first}"
    fast[2] = 3 * slow[2]  # a third one is too many
    assert str(holds_where(panel_of(mp=slow, alg4_printed=fast), claim)) == "never"


def test_claim_that_holds_for_a_while_before_divergence_is_marked():
    claim = CLAIMS[0]
    slow = 5 / (1 + GRID / 1000)
    away = np.where(GRID <= 100, slow / 2, 3 * 1.05 ** (GRID - 100.0))
    found = holds_where(panel_of(mp=slow, alg4_printed=away), claim)
    assert found.diverges
    assert str(found).startswith("1 … ")
    assert str(found).endswith(" †")
    assert str(holds_where(panel_of(mp=5 / T, rp=10 / T), CLAIMS[3])) == "all t"


def test_a_verdict_says_at_which_accuracies_it_holds():
    levels = [0.1, 0.01, 0.001]
    for better, said in (
        ([True, True, True], "holds at accuracies 0.1 to 0.001"),
        ([False, True, True], "holds from accuracy 0.01 to 0.001"),
        ([True, False, True], "holds at accuracy 0.001 alone"),
        ([True, True, False], "does not hold at accuracies 0.1 to 0.001"),
    ):
        assert verdicts._from_accuracy(better, levels) == said
    assert verdicts._from_accuracy([True], [0.1]) == "holds at accuracy 0.1"


def test_iteration_ratio_leaves_out_accuracies_that_take_a_handful_of_iterations():
    """One atom that does nearly all of it says nothing about the speed of what follows."""
    lucky = np.where(GRID == 0, 5.0, 5e-3 / T)
    later = np.where(GRID < 50, 5.0, 5e-3 / T)
    panel = panel_of("low", 6, mp=lucky, rp=later)
    ratios = iteration_ratio(panel, "mp", "rp")
    assert max(ratios) == pytest.approx(1e-4)  # not 50 times at 0.1, 0.01 and 0.001
    assert set(ratios.values()) <= {1.0, 5.0}


def test_it_is_counted_in_how_many_problems_one_is_ahead_at_the_end():
    plain = np.tile(5 / T, (4, 1))
    mixed = plain * np.array([[0.5], [2], [2], [2]])
    judged = verdict(
        [panel_of(mp=plain, alg4_tuned=mixed)],
        "accelerated faster than plain",
        "Alg. 4 and MP, ν tuned in hindsight",
    )
    assert judged.verdict == "does not hold up to t = 1000"
    assert "ahead there in 1 of 4 problems" in judged.evidence


def test_the_documents_hold_every_curve_and_every_verdict_and_no_number_that_json_does_not_know():
    panel = panel_of(mp=5 / T, alg4_printed=np.where(GRID < 10, 5.0, np.inf))
    run = Reproduction([panel], seed=3)
    text = as_json(run)
    assert "NaN" not in text
    assert "Infinity" not in text
    assert all(f'"{key}"' in text for key in panel.curves)
    markdown = as_markdown(run)
    for finding in run.findings:
        assert finding.evidence in markdown
        assert finding.case in markdown


def test_nothing_is_claimed_about_simulated_data():
    panel = replace(panel_of(mp=5 / T), is_simulated=True)
    run = Reproduction([panel], seed=0)
    assert run.findings == []
    assert {cell for row in run.claim_rows([panel]) for cell in row[1:]} == {"–"}
    assert "nothing is claimed about them" in as_markdown(run)
