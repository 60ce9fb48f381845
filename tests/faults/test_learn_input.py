"""Bad signals and bad arguments of `learn`: one sentence each, and nothing lost."""

import re

import numpy as np
import pytest

from pursuit import InputError, Status, learn
from pursuit.learning import signals

RNG = np.random.default_rng(0)
SIGNALS = RNG.standard_normal((500, 9))
METHODS = ("online", "aksvd", "mod")


def sentence(*arguments, **options):
    with pytest.raises(InputError) as error:
        learn(*arguments, **options)
    return str(error.value)


def test_fewer_signals_than_atoms_are_refused_wherever_they_come_from():
    for few in (SIGNALS[:19], iter([SIGNALS[:10], SIGNALS[10:19]])):
        said = sentence(few, 20)
        assert said == (
            "signals: expected at least as many as there are atoms to learn, 20, got 19"
        )


def test_more_atoms_in_a_code_than_there_are_is_refused():
    said = sentence(SIGNALS, 20, 21)
    assert said == "n_nonzero: expected at most as many as there are atoms, 20, got 21"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_atoms": 0}, "n_atoms: expected an integer of at least 1, got 0"),
        ({"n_atoms": 2.5}, "n_atoms: expected an integer of at least 1, got 2.5"),
        ({"n_nonzero": 0}, "n_nonzero: expected an integer of at least 1, got 0"),
        ({"method": "ksvd"}, "method: expected one of online, aksvd, mod, got 'ksvd'"),
        ({"passes": 0}, "passes: expected an integer of at least 1, got 0"),
        ({"passes": 10**400}, "passes: expected an integer up to"),
        ({"tol": -1}, "tol: expected a number of at least 0, got -1"),
        ({"max_time": 0}, "max_time: expected a positive number, got 0"),
        ({"nonnegative": 1}, "nonnegative: expected True or False, got 1"),
        ({"seed": -1}, "seed: expected an integer of at least 0, got -1"),
        ({"start": np.ones((3, 9))}, r"start: expected 20 atoms of the signals' shape \(9,\)"),
        ({"start": np.eye(20, 9)}, "start: atom 9 is zero; expected atoms with a direction"),
        ({"start": -np.ones((20, 9)), "nonnegative": True}, "start: atom 0 is without a positive"),
        ({"checkpoint": 3}, "checkpoint: expected a path, got int"),
        ({"checkpoint": "/nowhere/at/all"}, "checkpoint: there is no directory for"),
        ({"resume": "nothing.npz"}, "resume: there is no file nothing.npz"),
        ({"resume": 3}, "resume: expected a result or a path, got int"),
        ({"signals": np.ones(9)}, r"signals: expected rows, at least 2 dimensions, got shape \(9,"),
        ({"signals": np.ones((30, 0))}, "signals: expected at least one entry"),
        ({"signals": [["a"]]}, "signals: expected real numbers"),
        ({"signals": iter([])}, "signals: expected at least one block"),
        ({"signals": iter([np.ones(9)])}, "signals: expected blocks of rows"),
        ({"signals": iter([SIGNALS, SIGNALS[:, :8]])}, "in block 1"),
        ({"signals": iter([SIGNALS[:0]])}, "as there are atoms to learn, 20, got 0"),
        ({"signals": iter([SIGNALS[:, :0]])}, r"at least one entry, got shape \(500, 0\) first"),
        ({"signals": iter([SIGNALS]), "method": "mod"}, "method: only online learns from an iter"),
    ],
)
def test_what_is_wrong_with_an_argument_is_one_sentence(options, said):
    arguments = {"signals": SIGNALS, "n_atoms": 20} | options
    told = sentence(arguments.pop("signals"), arguments.pop("n_atoms"), **arguments)
    assert re.search(f"^{said}" if ":" in said else said, told)
    assert "\n" not in told


def test_chunks_of_unknown_length_are_refused_with_what_to_do():
    dask_array = pytest.importorskip("dask.array", reason="dask is not installed")
    rows = dask_array.from_array(SIGNALS, chunks=(100, 9))
    assert "compute_chunk_sizes()" in sentence(rows[rows[:, 0] > 0], 20)


# A number that is none -----------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_place_of_a_number_that_is_none_is_named(method, bad):
    rows = SIGNALS.copy()
    rows[321, 4] = bad
    said = sentence(rows, 20, 2, method)
    assert said == f"signals must be finite, got {bad} in signal 321, entry 4"


def test_nan_in_the_thousandth_block_is_named_and_nothing_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(signals, "ROWS", 5000)
    rows = np.random.default_rng(1).standard_normal((24_000, 9))
    kept = tmp_path / "state.npz"

    def blocks(bad):
        for number in range(1200):
            block = rows[20 * number : 20 * number + 20].copy()
            if number == 1000 and bad:
                block[7, 3] = np.nan
            yield block

    with pytest.raises(InputError) as error:
        learn(blocks(bad=True), 30, 2, checkpoint=kept)
    said = str(error.value)
    assert said == "signals must be finite, got nan in signal 20007, entry 3"
    partial = error.value.partial_result
    assert partial.status is Status.STOPPED
    assert partial.trace.signals[-1] >= 20_000
    whole = learn(blocks(bad=False), 30, 2)
    for resume in (kept, partial):
        again = learn(blocks(bad=False), 30, 2, resume=resume)
        assert np.array_equal(again.atoms, whole.atoms)
        assert np.array_equal(again.trace.objective, whole.trace.objective)


def test_an_error_of_the_iterator_passes_through_with_what_was_learned(monkeypatch):
    monkeypatch.setattr(signals, "ROWS", 200)

    def blocks():
        yield SIGNALS
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone") as error:
        learn(blocks(), 20, 2)
    assert error.value.partial_result.trace.signals[-1] >= 200


def test_blocks_without_rows_are_nothing():
    empty = learn(iter([SIGNALS[:0], SIGNALS, SIGNALS[:0]]), 20, 2)
    assert np.array_equal(empty.atoms, learn(iter([SIGNALS]), 20, 2).atoms)


def test_chunks_that_are_not_as_long_as_dask_says_are_refused():
    dask_array = pytest.importorskip("dask.array", reason="dask is not installed")
    chunks = dask_array.from_array(SIGNALS, chunks=(100, 9))
    shorter = chunks.map_blocks(lambda rows: rows[:-1], meta=np.empty((0, 0)))
    for method in METHODS:
        assert "as the dask array says, got shape" in sentence(shorter, 20, 2, method)


def test_a_run_is_not_continued_with_other_chunks_or_another_iterator():
    dask_array = pytest.importorskip("dask.array", reason="dask is not installed")

    def chunks(rows):
        return dask_array.from_array(SIGNALS, chunks=(rows, 9))

    for given, other in (
        (chunks(100), chunks(150)),
        (iter([SIGNALS]), iter([SIGNALS[::-1]])),
    ):
        learned = learn(given, 20, 2, passes=1)
        said = sentence(other, 20, 2, passes=2, resume=learned)
        assert said.startswith("resume: the checkpoint belongs to other signals")


@pytest.mark.parametrize("method", METHODS)
def test_a_signal_out_of_range_is_named(method):
    rows = np.random.default_rng(2).standard_normal((20_000, 4))
    rows[7777, 2] = -1e200
    said = sentence(rows, 4, 1, method, passes=1)
    assert said.startswith("signals must be zero or have its largest magnitude from 1e-70")
    assert "got 1e+200 in signal 7777" in said


# Signals that teach little ---------------------------------------------------------------------

DIRECTION = RNG.standard_normal(9)
ODD = {
    "zero": np.zeros((300, 9)),
    "constant": np.ones((300, 9)),
    "duplicate": np.repeat(SIGNALS[:3], 100, axis=0),
    "collinear": RNG.standard_normal((300, 1)) * DIRECTION,
    "one entry": np.eye(9)[[4] * 300],
    "mostly zero": np.concatenate([np.zeros((290, 9)), SIGNALS[:10]]),
    "of all scales": SIGNALS[:300] * 10.0 ** RNG.uniform(-12, 12, (300, 1)),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_signals_that_teach_little_give_unit_atoms_and_no_nan(name, method, nonnegative, dtype):
    rows = np.abs(ODD[name]) if nonnegative else ODD[name]
    learned = learn(rows.astype(dtype), 30, 4, method, nonnegative=nonnegative, passes=6)
    norms = np.linalg.norm(learned.atoms.astype(np.float64), axis=1)
    np.testing.assert_allclose(norms, 1, atol=4 * np.finfo(dtype).eps)
    for column in (learned.trace.objective, learned.trace.share, learned.usage):
        assert np.isfinite(column).all()
    assert str(learned)


def test_signals_that_are_fitted_to_rounding_end_the_run_as_converged():
    for name in ("zero", "constant", "duplicate", "collinear"):
        learned = learn(ODD[name], 30, 4, passes=50)
        assert learned.status is Status.CONVERGED, name
        assert "rounding" in learned.message
        assert learned.trace.signals[-1] < 50 * 300
