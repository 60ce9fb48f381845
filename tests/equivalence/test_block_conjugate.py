"""encode(…, "accelerated") is conjugate gradients in the P-norm, signal by signal."""

import numpy as np
import pytest

from pursuit import Encoder, Status, encode
from pursuit.encoding import conjugate
from pursuit.encoding.conjugate import ConjugateBlock, Frame, dot, losses

CONJUGATE = "accelerated"
SHAPES = [(6, 20), (20, 20), (30, 20), (70, 20), (40, 60), (150, 90)]
"""Atoms and dimensions: few of them, as many, more; with and without all earlier steps kept."""


def textbook(rows, signal, steps):
    """Conjugate gradients in the P-norm with p_j ∝ 1/‖z_j‖²: the coefficients after each step."""
    p = 1 / np.sum(rows**2, axis=1)
    p /= p.sum()
    a, x, way, before = np.zeros(len(rows)), np.zeros(rows.shape[1]), 0.0, 1.0
    for _ in range(steps):
        c = rows @ (x - signal)
        S = p @ c**2
        way, before = p * c + S / before * way, S
        t = (c @ way) / np.sum((way @ rows) ** 2)
        a, x = a - t * way, x - t * (way @ rows)
        yield a


def conditioned(n, d, condition, seed=0):
    """Unit atoms; that number or nearly so is the ratio of their extreme singular values."""
    rng = np.random.default_rng(seed)
    rank = min(n, d)
    left, right = (np.linalg.qr(rng.standard_normal((k, rank)))[0] for k in (n, d))
    rows = (left * np.geomspace(1, 1 / condition, rank)) @ right.T
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), rng


def projected(rows, signals):
    """The best fits over the span of atoms that are independent or span everything."""
    basis = np.linalg.svd(rows, full_matrices=False)[2]
    return signals @ basis.T @ basis


# The steps ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(50))
def test_the_first_iterates_are_those_of_the_textbook(number):
    n, d = SHAPES[number % len(SHAPES)]
    rng = np.random.default_rng(number)
    rows = rng.standard_normal((n, d)) * 10 ** rng.uniform(-3, 3, (n, 1))
    signals = rng.standard_normal((9, d)) * 10 ** rng.uniform(-3, 3, (9, 1))
    iterates = [list(textbook(rows, signal, 10)) for signal in signals]
    for t in (1, 2, 3, 5, 10)[: 3 if n == 6 else 5]:  # rank 6 is done in 6 steps
        unit_atoms = bool(number % 2)
        codes = encode(signals, rows, CONJUGATE, max_iter=t, unit_atoms=unit_atoms)
        assert set(codes.iterations) == {t}
        for ours, theirs in zip(codes.matrix.toarray(), iterates, strict=True):
            weight = np.linalg.norm(rows, axis=1)  # coefficients of unit atoms
            error = np.abs((ours - theirs[t - 1]) * weight).max()
            assert error <= 1e-8 * np.abs(theirs[t - 1] * weight).max()


@pytest.mark.parametrize("unit_atoms", [True, False])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_the_fit_is_the_projection(n, d, unit_atoms):
    rng = np.random.default_rng(n)
    rows = rng.standard_normal((n, d)) * rng.uniform(0.2, 5, (n, 1))
    signals = rng.standard_normal((7, d))
    codes = encode(signals, rows, CONJUGATE, unit_atoms=unit_atoms)
    np.testing.assert_allclose(codes @ rows, projected(rows, signals), rtol=0, atol=1e-11)


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6])
@pytest.mark.parametrize(("n", "d"), [(8, 30), (30, 40), (90, 30)])
def test_with_earlier_steps_kept_rounding_spoils_neither_the_count_nor_the_fit(n, d, condition):
    """Short recurrences need 83 … 700 steps here, and products with a Gram matrix leave
    1e-16 · condition² of the fit."""
    rows, rng = conditioned(n, d, condition)
    signals = rng.standard_normal((40, d))
    codes = encode(signals, rows, CONJUGATE)
    if condition > conjugate.HARD or n == 8:
        assert "all earlier steps kept" in codes.plan
        assert np.median(codes.iterations) <= 1.7 * min(n, d)
    error = np.linalg.norm(codes @ rows - projected(rows, signals), axis=1)
    assert (error <= 1e-15 * condition * np.linalg.norm(signals, axis=1)).all()


def test_a_residual_goal_is_met_at_the_step_at_which_the_textbook_meets_it():
    rng = np.random.default_rng(0)
    rows, signals = rng.standard_normal((30, 20)), rng.standard_normal((6, 20))
    codes = encode(signals, rows, CONJUGATE, rtol=0.1)
    for i, signal in enumerate(signals):
        rests = [np.linalg.norm(signal - a @ rows) for a in textbook(rows, signal, 20)]
        assert codes.status(i) is Status.CONVERGED
        assert codes.iterations[i] == 1 + np.argmax(rests <= 0.1 * np.linalg.norm(signal)) > 3
        assert codes.residual_norms[i] == pytest.approx(rests[codes.iterations[i] - 1])


# Side by side ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(12, 30), (70, 40), (40, 200)])
def test_a_signal_gets_its_code_whatever_stands_beside_it(shape):
    """Some end after one step, some are zero, one needs all the steps."""
    rng = np.random.default_rng(1)
    rows = np.concatenate([np.eye(shape[1])[:2], rng.standard_normal(shape)])
    rows[2:, :2] = 0
    signals = rng.standard_normal((50, shape[1]))
    signals[::3, 2:] = 0
    signals[7] = 0
    together = encode(signals, rows, CONJUGATE)
    assert len(set(together.iterations)) >= 3
    assert together.iterations[7] == 0
    assert (together.iterations[::3] == 1).all()
    for i in range(50):
        alone = encode(signals[[i]], rows, CONJUGATE)
        assert abs(alone.iterations[0] - together.iterations[i]) <= 1
        ours = together.matrix[[i]].toarray()
        np.testing.assert_allclose(alone.matrix.toarray(), ours, rtol=0, atol=1e-12)


def test_a_signal_in_other_units_changes_no_bit_but_its_own():
    rng = np.random.default_rng(2)
    rows, signals = rng.standard_normal((30, 20)), rng.standard_normal((5, 20))
    expected = encode(signals, rows, CONJUGATE).matrix.toarray()
    powers = 2.0 ** np.array([0, 200, -200, 30, -90])
    scaled = encode(signals * powers[:, None], rows, CONJUGATE).matrix.toarray()
    np.testing.assert_array_equal(scaled, expected * powers[:, None])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d"), [(40, 60), (90, 60)])
def test_one_two_and_four_threads_give_the_same_bits(n, d, dtype):
    rng = np.random.default_rng(3)
    rows, signals = (rng.standard_normal((k, d)).astype(dtype) for k in (n, 5000))
    runs = [encode(signals, rows, CONJUGATE, rtol=0.3, threads=threads) for threads in (1, 2, 4)]
    for name in ("indptr", "indices", "values", "residual_norms", "iterations", "statuses"):
        for other in runs[1:]:
            np.testing.assert_array_equal(getattr(runs[0], name), getattr(other, name))


# How runs end ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e7, 1e12])
@pytest.mark.parametrize(("n", "d"), [(8, 30), (50, 30), (40, 90)])
def test_what_has_converged_has_no_slope_and_what_has_stalled_is_near_the_best_fit(
    n, d, condition, dtype
):
    exact, rng = conditioned(n, d, condition)
    rows, signals = exact.astype(dtype), rng.standard_normal((60, d)).astype(dtype)
    codes = encode(signals, rows, CONJUGATE, max_iter=300)
    atoms, norms = rows.astype(float), np.linalg.norm(signals.astype(float), axis=1)
    rest = signals.astype(float) - codes.matrix.toarray().astype(float) @ atoms
    slopes = np.abs(rest @ atoms.T).max(axis=1)
    size = np.abs(codes.matrix.toarray()).sum(axis=1).astype(float)
    rounding = 16 * np.finfo(dtype).eps * (norms + size)  # of the code as it is written down
    for i in range(60):
        assert codes.status(i) in (Status.CONVERGED, Status.STALLED, Status.MAX_ITER)
        if codes.status(i) is not Status.MAX_ITER:
            assert slopes[i] <= rounding[i]
    assert (codes.residual_norms <= norms).all()
    np.testing.assert_allclose(codes.residual_norms, np.linalg.norm(rest, axis=1), rtol=1e-4)


def test_directions_that_rounding_has_spoilt_are_begun_anew():
    """Without that some fits would be 1e-5 away; with the old directions kept, too."""
    rows, rng = conditioned(200, 100, 1e7, seed=2)
    signals = rng.standard_normal((120, 100))
    error = np.linalg.norm(encode(signals, rows, CONJUGATE) @ rows - signals, axis=1)
    assert error.max() <= 1e-7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_come_down_to_rounding_on_easy_atoms(dtype):
    """Those that a run keeps do so half of the time while the true ones do not."""
    rows, rng = conditioned(200, 100, 20)
    codes = encode(rng.standard_normal((60, 100)).astype(dtype), rows.astype(dtype), CONJUGATE)
    assert codes.counts()[Status.CONVERGED] >= 54


@pytest.mark.parametrize("memory", [0, 24])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hundreds_of_steps_past_convergence_do_no_harm(memory, dtype):
    """The slope that counts as zero is zero, so that only rounding ends a run."""
    exact, rng = conditioned(50, 24, 1e2)
    frame = Frame.of(exact, np.dtype(dtype))
    targets = frame.coordinates(rng.standard_normal((30, 24)))
    run = ConjugateBlock(frame, targets, np.zeros(30), memory)
    with np.errstate(all="ignore"):  # as in encode
        for _ in range(500):
            run.step()
    if memory:  # with earlier steps kept, it is seen that nothing is left
        assert set(run.statuses) == {Status.STALLED.code}
    rest = run.coef().astype(float) @ frame.rows.astype(float) - targets.T
    assert np.linalg.norm(rest, axis=1).max() <= 1e4 * np.finfo(dtype).eps


def test_a_code_that_would_be_worse_than_none_is_none(monkeypatch):
    """Rounding alone brings that about; here, steps that are three times too long."""
    honest = ConjugateBlock.step

    def too_long(run):
        before = run.held.coef.copy()
        honest(run)
        run.held.coef += 2 * (run.held.coef - before)

    monkeypatch.setattr(ConjugateBlock, "step", too_long)
    rows = np.eye(4) + 0.1 * np.arange(4)
    codes = encode(np.ones((3, 4)), rows, CONJUGATE, max_iter=1)
    assert codes.sizes.tolist() == [0, 0, 0]
    assert codes.residual_norms.tolist() == [2, 2, 2]
    assert [codes.status(i) for i in range(3)] == [Status.STALLED] * 3


def test_inner_products_of_float32_are_summed_in_float64():
    a, b = np.random.default_rng(5).standard_normal((2, 5000, 3)).astype(np.float32) * 1e25
    np.testing.assert_allclose(dot(a, b), (a.astype(float) * b).sum(axis=0), rtol=1e-12)


# Precision and plan ---------------------------------------------------------------------------


@pytest.mark.parametrize("condition", [2.0, 20.0])
@pytest.mark.parametrize(("n", "d"), [(8, 30), (100, 40), (60, 80)])
def test_in_float32_easy_atoms_fit_as_well_as_in_float64(monkeypatch, n, d, condition):
    exact, rng = conditioned(n, d, condition)
    rows, signals = exact.astype(np.float32), rng.standard_normal((60, d)).astype(np.float32)
    best = projected(rows.astype(float), signals.astype(float))
    errors = []
    for limit, said in ((conjugate.EASY, "in float32"), (0.0, "in float64")):
        monkeypatch.setattr(conjugate, "EASY", limit)
        codes = encode(signals, rows, CONJUGATE)
        assert said in codes.plan
        fit = codes.matrix.toarray().astype(float) @ rows
        errors.append(np.linalg.norm(fit - best, axis=1) / np.linalg.norm(signals, axis=1))
    single, double = errors
    rounding = 4 * np.finfo(np.float32).eps
    assert np.median(single) <= max(1.5 * np.median(double), rounding)
    assert single.max() <= max(1.5 * double.max(), 4 * rounding)


def plan(rows):
    return Encoder(rows, CONJUGATE).plan(rows.dtype)


def test_the_precision_and_the_steps_that_are_kept_follow_the_condition_number():
    easy, hard = (conditioned(60, 40, kappa)[0].astype(np.float32) for kappa in (5, 100))
    assert (plan(easy).work_dtype, plan(hard).work_dtype) == (np.float32, np.float64)
    assert plan(easy.astype(float)).work_dtype == np.float64
    assert (plan(easy).memory, plan(hard).memory) == (0, 0)
    assert plan(conditioned(60, 40, 1e4)[0]).memory == 40
    assert plan(conditioned(6, 40, 5)[0]).memory == 6
    dependent = np.concatenate([easy[:20], easy[:20]])
    assert (plan(dependent).memory, plan(dependent).work_dtype) == (40, np.float64)


def test_blocks_of_wide_dictionaries_stay_within_their_room():
    for n, d in ((6, 162), (256, 64), (30_000, 20), (20_000, 30)):
        made = plan(np.random.default_rng(0).standard_normal((n, d)))
        assert 1 <= made.block * 8 * (8 * (n + d) + made.memory * (n + d)) <= 2**28


# Curves ---------------------------------------------------------------------------------------


def test_the_losses_that_are_drawn_are_those_of_the_textbook():
    rng = np.random.default_rng(4)
    rows, signals = rng.standard_normal((12, 9)), rng.standard_normal((4, 9))
    best = projected(rows, signals)
    values, steps = losses(rows, signals, best, 7)
    iterates = [[np.zeros(12), *textbook(rows, signal, 7)] for signal in signals]
    expected = [
        sum(
            0.5 * np.sum((run[t] @ rows - fit) ** 2)
            for run, fit in zip(iterates, best, strict=True)
        )
        for t in range(8)
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-8)
    assert steps.tolist() == [7] * 4
    more, steps = losses(rows, signals, best, 1000)
    assert len(more) == steps.max() + 1 < 20
    assert more[-1] <= 1e-28
