"""encode() with the random and the accelerated methods: its promises, and what it refuses."""

import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from encoded import assert_same
from unit.hard_problems import COUNT, LOSSES, hard_problem

from pursuit import Codes, Encoder, InputError, Status, encode
from pursuit.encoding import METHODS, stepwise
from pursuit.encoding.block import BlockEncoder

CONJUGATE = "accelerated"
STEPWISE = [name for name, method in METHODS.items() if not method.cone]
EVERY = pytest.mark.parametrize("method", STEPWISE)
DRAWN = pytest.mark.parametrize(
    "method", ["random-pursuit", "accelerated-random", "accelerated-matching-pursuit"]
)
DENSE = pytest.mark.parametrize("method", [m for m in STEPWISE if not METHODS[m].limits_atoms])
ONE_ATOM = ("random-pursuit", "accelerated-random")
RNG = np.random.default_rng(0)
ATOMS = RNG.standard_normal((45, 20)) * RNG.uniform(0.2, 5, (45, 1))
SIGNALS = RNG.standard_normal((1100, 20))


def statuses(codes):
    return [codes.status(i) for i in range(len(codes))]


# Hard input -----------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_nan_and_no_rise_on_the_quadratic_ones_of_a_thousand_hard_problems(method, dtype):
    """Least squares over z is the distance of its right-hand side over the images of z."""
    for number in range(COUNT):
        if LOSSES[number % 4] not in ("distance", "least squares"):
            continue
        f, atoms = hard_problem(number)
        rows, signal = atoms.matrix, f.b
        if LOSSES[number % 4] == "least squares":
            rows = rows @ f.A.T
        given = signal[None].astype(dtype), rows.astype(dtype)
        codes = encode(*given, method, max_iter=200, rng=number, threads=1)
        said = number, str(codes)
        assert codes.dtype == dtype, said
        assert np.isfinite(codes.values).all(), said
        assert codes.status(0) is not Status.DIVERGED, said
        assert codes.residual_norms[0] <= (1 + 1e-6) * np.linalg.norm(signal), said


@EVERY
@pytest.mark.parametrize("exponent", [-12, 12])
def test_units_of_1e12_in_float32_scale_the_codes_and_change_nothing_else(method, exponent):
    signals, atoms = SIGNALS[:50].astype(np.float32), ATOMS.astype(np.float32)
    plain = encode(signals, atoms, method, max_iter=300)
    power = np.float32(2.0 ** round(exponent * np.log2(10)))
    for scaled in (
        encode(signals * power, atoms, method, max_iter=300),
        encode(signals, atoms / power, method, max_iter=300),
    ):
        assert scaled.dtype == np.float32
        assert statuses(scaled) == statuses(plain)
        np.testing.assert_array_equal(scaled.values, plain.values * power)


@EVERY
@pytest.mark.parametrize("n", [12, 45])
def test_zero_signals_and_signals_outside_the_span_get_empty_codes_and_converge(method, n):
    atoms = np.hstack([ATOMS[:n], np.zeros((n, 1))])
    signals = np.zeros((3, 21))
    signals[1, -1] = 7
    signals[2, :20] = SIGNALS[0]
    codes = encode(signals, atoms, method)
    assert codes.sizes[:2].tolist() == codes.iterations[:2].tolist() == [0, 0]
    assert codes.residual_norms[:2].tolist() == [0, 7]
    assert statuses(codes)[:2] == [Status.CONVERGED] * 2
    assert codes.sizes[2] > 0


@EVERY
@pytest.mark.parametrize("n", [12, 45])
def test_a_signal_that_is_an_atom_is_reached(method, n):
    codes = encode(3 * ATOMS[[4]], ATOMS[:n], method, rtol=1e-3, max_iter=20_000)
    assert codes.status(0) is Status.CONVERGED
    assert np.linalg.norm(codes @ ATOMS[:n] - 3 * ATOMS[4]) <= 3e-3 * np.linalg.norm(ATOMS[4])


@EVERY
def test_duplicate_and_opposite_atoms_do_no_harm(method):
    atoms = np.concatenate([ATOMS[:12], ATOMS[:6], -ATOMS[3:9]])
    codes = encode(SIGNALS[:40], atoms, method, max_iter=3000)
    best = np.linalg.lstsq(ATOMS[:12].T, SIGNALS[:40].T, rcond=None)[0].T @ ATOMS[:12]
    assert np.isfinite(codes.values).all()
    np.testing.assert_allclose(codes @ atoms, best, atol=1e-3)


def test_the_oracle_prefers_an_atom_to_its_later_twins():
    """After one step x has moved along the oracle's atom alone. Products with equal atoms at
    other places may differ in the last bit, and must not decide."""
    atoms = np.concatenate([ATOMS, -ATOMS[::-1], ATOMS[:7]]).astype(np.float32)
    signals = SIGNALS.astype(np.float32)
    codes = encode(signals, atoms, "accelerated-matching-pursuit", max_iter=1)
    assert codes.indices.max() < len(ATOMS)


@EVERY
@pytest.mark.parametrize("n", [12, 45])
def test_the_codes_fit_as_said_in_either_scale_of_the_atoms(method, n):
    for unit_atoms in (True, False):
        codes = encode(SIGNALS[:60], ATOMS[:n], method, unit_atoms=unit_atoms, max_iter=500)
        rest = np.linalg.norm(SIGNALS[:60] - codes @ ATOMS[:n], axis=1)
        np.testing.assert_allclose(codes.residual_norms, rest, rtol=1e-9, atol=1e-12)


# Stopping -------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [12, 45])
def test_a_residual_goal_that_counts_as_met_is_truly_met(method, dtype, n):
    signals, atoms = SIGNALS[:80].astype(dtype), ATOMS[:n].astype(dtype)
    inside = (signals @ atoms.T @ atoms).astype(dtype)  # in the span: any goal is in reach
    norms = np.linalg.norm(inside.astype(np.float64), axis=1)
    codes = encode(inside, atoms, method, rtol=1e-2, max_iter=20_000)
    assert set(statuses(codes)) == {Status.CONVERGED}
    assert (codes.residual_norms <= 1e-2 * norms).all()
    rest = np.linalg.norm(inside.astype(np.float64) - (codes @ atoms).astype(np.float64), axis=1)
    assert (rest <= 1e-2 * norms * (1 + 1e-3)).all()
    assert len(np.unique(codes.iterations)) > (1 if method == CONJUGATE else 5)


def test_a_goal_near_the_rounding_of_float32_is_judged_by_the_code_in_float32():
    signals, atoms = SIGNALS[:80].astype(np.float32), ATOMS.astype(np.float32)
    codes = encode(signals, atoms, "accelerated", rtol=1e-6, unit_atoms=False)
    exact = codes.matrix.toarray().astype(np.float64) @ atoms.astype(np.float64)
    rest = np.linalg.norm(signals.astype(np.float64) - exact, axis=1)
    np.testing.assert_allclose(codes.residual_norms, rest, rtol=1e-9)


@EVERY
def test_an_absolute_goal_counts_in_the_units_of_the_signals(method):
    signals = SIGNALS[:30] @ ATOMS.T @ ATOMS
    codes = encode(signals, ATOMS, method, atol=0.5, max_iter=20_000)
    assert set(statuses(codes)) == {Status.CONVERGED}
    assert (codes.residual_norms <= 0.5).all()
    assert (codes.residual_norms > 1e-3).all()


@EVERY
def test_without_any_rule_a_thousand_steps_are_the_limit(method):
    atoms = 1 + 1e-3 * ATOMS  # hard to tell apart
    signals = SIGNALS[:3]
    if method == CONJUGATE:  # which tells them apart: more of them than it keeps steps of
        atoms = 1 + 1e-3 * np.random.default_rng(0).standard_normal((300, 300))
        signals = np.resize(SIGNALS, (3, 300))
    codes = encode(signals, atoms, method)
    assert codes.iterations.tolist() == [1000] * 3
    assert set(statuses(codes)) == {Status.MAX_ITER}


@EVERY
def test_nothing_but_rounding_left_is_converged(method):
    codes = encode(SIGNALS[:20], np.eye(20), method, max_iter=50_000)
    assert set(statuses(codes)) == {Status.CONVERGED}
    assert (codes.residual_norms <= 1e-13).all()
    assert codes.iterations.max() < 50_000


def test_random_pursuit_stops_at_so_many_distinct_atoms():
    codes = encode(SIGNALS, ATOMS, "random-pursuit", n_nonzero=7)
    assert (codes.sizes == 7).all()
    assert set(statuses(codes)) == {Status.MAX_NONZERO}
    assert (codes.iterations >= 7).all()
    assert codes.iterations.max() > 7  # an atom may be drawn again


def test_a_run_that_diverges_says_so_and_gives_no_number_that_is_none(monkeypatch):
    """The ν that is computed is safe; here it is made a thousand times too small."""
    honest = stepwise.rules_of

    def wrong(method, problem):
        rules = honest(method, problem)
        return replace(rules, stiffness=1e-3 * rules.stiffness)

    monkeypatch.setattr(stepwise, "rules_of", wrong)
    for steps in (40, 3000):
        codes = encode(SIGNALS[:9], ATOMS, "accelerated-matching-pursuit", max_iter=steps)
        assert set(statuses(codes)) == {Status.DIVERGED}
        assert codes.sizes.tolist() == [0] * 9
        np.testing.assert_allclose(codes.residual_norms, np.linalg.norm(SIGNALS[:9], axis=1))


# Randomness, threads, streams -----------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("n", [12, 45])
def test_the_number_of_threads_changes_no_bit(method, n):
    one, two, three = (
        encode(SIGNALS, ATOMS[:n], method, max_iter=60, threads=threads) for threads in (1, 2, 3)
    )
    assert_same(one, two)
    assert_same(one, three)


@DRAWN
def test_a_seed_decides_the_draws(method):
    once, again, other = (
        encode(SIGNALS[:20], ATOMS, method, max_iter=30, rng=seed) for seed in (3, 3, 4)
    )
    assert_same(once, again)
    assert not np.array_equal(once.values, other.values)


def test_a_generator_gives_one_integer_that_repeats_the_codes():
    given, same = np.random.default_rng(7), np.random.default_rng(7)
    encoder = Encoder(ATOMS, "random-pursuit", max_iter=20, rng=given)
    codes = encode(SIGNALS[:20], ATOMS, "random-pursuit", max_iter=20, rng=same)
    assert given.bit_generator.state == same.bit_generator.state
    assert_same(encoder(SIGNALS[:20]), codes)
    assert codes.plan.endswith(f"rng {encoder.rng}")
    again = encode(SIGNALS[:20], ATOMS, "random-pursuit", max_iter=20, rng=encoder.rng)
    assert_same(codes, again)
    assert Encoder(ATOMS, rng=given).rng != encoder.rng


def test_no_rng_draws_an_integer_that_repeats_the_codes():
    one, other = (Encoder(ATOMS, "random-pursuit", max_iter=20, rng=None) for _ in range(2))
    assert one.rng != other.rng
    again = encode(SIGNALS[:20], ATOMS, "random-pursuit", max_iter=20, rng=one.rng)
    assert_same(one(SIGNALS[:20]), again)


@pytest.mark.parametrize("name", ["Matching_Pursuit", "MP", "mp", "MATCHING-pursuit"])
def test_letter_case_and_underscores_of_a_method_do_not_matter(name):
    codes = encode(SIGNALS[:5], ATOMS, name, n_nonzero=3)
    assert codes.method == "matching-pursuit"


def test_an_unknown_method_is_refused_with_the_names_there_are():
    with pytest.raises(InputError, match=r"orthogonal, .*accelerated, mp, omp, got 'Greedy_'"):
        encode(SIGNALS[:5], ATOMS, "Greedy_")


def test_without_random_directions_the_seed_changes_nothing():
    one, other = (encode(SIGNALS[:20], ATOMS, "accelerated", rng=seed) for seed in (3, 4))
    assert_same(one, other)


@DRAWN
def test_equal_signals_have_draws_of_their_own(method):
    codes = encode(np.repeat(SIGNALS[:1], 1100, axis=0), ATOMS, method, max_iter=12)
    assert len(np.unique(codes.matrix.toarray(), axis=0)) == 1100


def test_more_iterations_than_one_segment_of_draws_run_on(monkeypatch):
    monkeypatch.setattr(stepwise, "SEGMENT", 50)
    signals = SIGNALS[:5] @ ATOMS.T @ ATOMS
    codes = encode(signals, ATOMS, "accelerated-random", rtol=1e-2, max_iter=5000)
    assert codes.iterations.max() > 100
    assert set(statuses(codes)) == {Status.CONVERGED}


@EVERY
@pytest.mark.parametrize("n", [12, 45])
def test_folders_files_and_iterators_give_the_bits_of_memory(tmp_path, method, n):
    rules = {"max_iter": 40, "rng": 5}
    expected = encode(SIGNALS, ATOMS[:n], method, **rules)
    np.save(tmp_path / "signals.npy", SIGNALS)
    stored = encode(tmp_path / "signals.npy", ATOMS[:n], method, out=tmp_path / "a", **rules)
    assert_same(expected, stored)
    assert_same(expected, Codes.open(tmp_path / "a"))
    pieces = (SIGNALS[i : i + 111] for i in range(0, 1100, 111))
    assert_same(expected, encode(pieces, ATOMS[:n], method, **rules))


@EVERY
def test_a_stopped_run_into_a_folder_is_continued_with_the_same_bits(tmp_path, monkeypatch, method):
    rules = {"max_iter": 100, "rng": 5}
    block = Encoder(ATOMS, method, max_iter=100).block
    signals = np.resize(SIGNALS, (2 * block + 7, 20))
    expected = encode(signals, ATOMS, method, **rules)
    load, loaded = BlockEncoder.load, []

    def until_the_second(encoder, block):
        if block.number == 1:
            raise KeyboardInterrupt
        return load(encoder, block)

    monkeypatch.setattr(BlockEncoder, "load", until_the_second)
    with pytest.raises(KeyboardInterrupt):
        encode(signals, ATOMS, method, out=tmp_path / "codes", threads=1, **rules)
    monkeypatch.setattr(BlockEncoder, "load", lambda e, k: loaded.append(k.number) or load(e, k))
    folder = {"out": tmp_path / "codes", "resume": True}
    assert_same(expected, encode(signals, ATOMS, method, **folder, **rules))
    assert sorted(loaded) == [1, 2]
    with pytest.raises(InputError, match="its rng is 5, got 6"):
        encode(signals, ATOMS, method, **folder, **{**rules, "rng": 6})


# The door -------------------------------------------------------------------------------------


@DENSE
def test_a_limit_on_atoms_is_refused_where_all_enter(method):
    with pytest.raises(InputError) as error:
        encode(SIGNALS, ATOMS, method, n_nonzero=5)
    for word in ("n_nonzero", method, "all atoms", "max_iter, rtol or atol", "n_nonzero=5"):
        assert word in str(error.value)


@EVERY
def test_a_gram_matrix_that_is_too_large_is_avoided_or_refused_with_the_way_out(method):
    limited = partial(Encoder, ATOMS[:12], method, gram_bytes=100)
    if method in ONE_ATOM:
        codes = limited(max_iter=20)(SIGNALS[:5])
        assert codes.plan.startswith("residuals")
        return
    if method == CONJUGATE:
        assert "Gram" not in limited(max_iter=20)(SIGNALS[:5]).plan
        return
    with pytest.raises(InputError) as error:
        limited()
    for word in ("atoms: ", method, "12 atoms", "GiB", "orthogonal", *ONE_ATOM):
        assert word in str(error.value)


@EVERY
def test_one_short_atom_changes_no_fit(method):
    atoms = ATOMS.astype(np.float32)
    atoms[7] *= np.float32(1e-12)
    signals = SIGNALS[:4].astype(np.float32)
    fit = encode(signals, ATOMS.astype(np.float32), method) @ ATOMS.astype(np.float32)
    np.testing.assert_allclose(encode(signals, atoms, method) @ atoms, fit, atol=1e-3)


@EVERY
def test_the_plan_says_how_it_was_done(method):
    single = SIGNALS[:9].astype(np.float32), ATOMS.astype(np.float32)
    said = encode(*single, method, max_iter=3).plan
    few = encode(single[0], single[1][:12], method, max_iter=3).plan
    if method == CONJUGATE:
        assert said.startswith("two matrix products a step in float32, blocks of ")
        assert "step in float32, all earlier steps kept, blocks of " in few
        return
    if method in ONE_ATOM:
        assert said.startswith("residuals, one atom at a time, blocks of ")
    else:
        assert said.startswith("Gram matrix of 0.0")
    assert few.startswith("Gram matrix of 0.0")


@EVERY
def test_blocks_do_not_depend_on_the_number_of_signals(method):
    wide = [encode(SIGNALS[:m], ATOMS, method, max_iter=9) for m in (1, 700)]
    assert wide[0].plan == wide[1].plan


def test_many_atoms_make_blocks_smaller_and_never_empty():
    atoms = np.random.default_rng(0).standard_normal((1_000_000, 2), dtype=np.float32)
    assert 1 <= Encoder(atoms, "random-pursuit").block < 64


def test_plain_encoding_loads_none_of_these_kernels():
    script = """if True:
        import sys
        import numpy as np
        from pursuit import encode
        encode(np.eye(3), np.eye(3), "matching-pursuit")
        encode(np.eye(3), np.eye(3), "orthogonal")
        ours = ("encoding.stepwise", "kernels.runs", "encoding.conjugate")
        sys.exit(sum(f"pursuit.{name}" in sys.modules for name in ours))
    """
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
