"""What `learn` promises: unit atoms, honest ends, the same bits however signals come."""

from pathlib import Path

import numpy as np
import page_examples
import pytest

from pursuit import Cone, InputError, Learned, Status, encode, learn
from pursuit.learning import alternating, signals

RNG = np.random.default_rng(0)
METHODS = ("online", "aksvd", "mod")


def known(n=40, d=16, k=2, m=4000, noise=0.02, seed=0):
    """Signals of k atoms of a known dictionary, and the dictionary."""
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((n, d))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    chosen = np.argsort(rng.random((m, n)), axis=1)[:, :k]
    rows = np.einsum("ik,ikd->id", rng.standard_normal((m, k)), atoms[chosen])
    return rows + noise * rng.standard_normal(rows.shape), atoms


SIGNALS, TRUTH = known()


def recovered(atoms, truth):
    return np.mean(np.abs(truth @ atoms.T.astype(np.float64)).max(axis=1) > 0.99)


def left_out(rows, atoms, k):
    codes = encode(rows, atoms, n_nonzero=k)
    return (codes.residual_norms**2).sum() / (rows.astype(np.float64) ** 2).sum()


@pytest.mark.parametrize(("method", "passes"), [("online", 4), ("aksvd", 40), ("mod", 40)])
def test_a_known_dictionary_is_recovered(method, passes):
    rows, truth = known(n=128, d=48, k=4, m=8000, noise=0.03)
    learned = learn(rows.astype(np.float32), 128, 4, method, passes=passes)
    assert recovered(learned.atoms, truth) >= 0.95
    assert learned.trace.share[-1] < 0.1 * learned.trace.share[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_atom_is_a_unit_vector_of_the_signals_type(method, nonnegative, dtype):
    rows = (np.abs(SIGNALS) if nonnegative else SIGNALS)[:1000].astype(dtype)
    learned = learn(rows, 30, 3, method, nonnegative=nonnegative)
    assert learned.atoms.dtype == dtype
    norms = np.linalg.norm(learned.atoms.astype(np.float64), axis=1)
    np.testing.assert_allclose(norms, 1, atol=4 * np.finfo(dtype).eps)
    if nonnegative:
        assert learned.atoms.min() >= 0
        assert encode(rows, Cone(learned.atoms), n_nonzero=3).values.min() > 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("nonnegative", [False, True])
def test_no_bit_depends_on_the_number_of_threads(method, nonnegative):
    rows = RNG.standard_normal((3000, 20)).astype(np.float32)
    one, three = (
        learn(rows, 150, 4, method, nonnegative=nonnegative, threads=t, passes=2) for t in (1, 3)
    )
    assert np.array_equal(one.atoms, three.atoms)
    assert np.array_equal(one.trace.objective, three.trace.objective)
    assert np.array_equal(one.usage, three.usage)


@pytest.mark.parametrize("method", METHODS)
def test_float32_learns_as_well_as_float64(method):
    single, double = (
        learn(SIGNALS.astype(dtype), 40, 2, method, passes=5).trace.share[-1]
        for dtype in (np.float32, np.float64)
    )
    assert single == pytest.approx(double, rel=0.1)


@pytest.mark.parametrize("method", ["aksvd", "mod"])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_never_rises_between_renewals(method, nonnegative, seed):
    rows = np.random.default_rng(seed).standard_normal((400, 8))
    trace = learn(rows, 30, 4, method, passes=25, nonnegative=nonnegative, seed=seed).trace
    rose = np.flatnonzero(np.diff(trace.objective) > 1e-12 * trace.objective[:-1])
    assert set(rose) <= set(np.flatnonzero(trace.renewed))


def test_codes_that_would_raise_the_objective_give_way_to_the_old_ones(monkeypatch):
    rows = np.random.default_rng(0).standard_normal((400, 8))
    chosen, calls = alternating._chosen, []
    monkeypatch.setattr(alternating, "_chosen", lambda *a: calls.append(a[2].sum()) or chosen(*a))
    learn(rows, 30, 4, "aksvd", passes=40)
    assert calls
    assert max(calls) > 0  # else the test above could not fail


def test_poor_atoms_are_renewed_and_none_in_the_last_fifth():
    start = np.repeat(TRUTH[:1], 40, axis=0) + 1e-3 * RNG.standard_normal((40, 16))
    learned = learn(SIGNALS, 40, 2, start=start, passes=10)
    assert learned.replaced > 0
    assert learned.replaced == learned.trace.renewed.sum()
    late = learned.trace.signals > 0.8 * learned.trace.signals[-1]
    assert learned.trace.renewed[late].sum() == 0
    unhelped = learn(SIGNALS, 40, 2, start=start, passes=1)
    assert left_out(SIGNALS, learned.atoms, 2) < 0.5 * left_out(SIGNALS, unhelped.atoms, 2)


@pytest.mark.parametrize("method", METHODS)
def test_atoms_that_no_signal_can_use_are_renewed(method):
    rows, start = SIGNALS.copy(), RNG.standard_normal((40, 16))
    rows[:, 12:] = 0
    start[:4] = np.eye(16)[12:]
    learned = learn(rows, 40, 2, method, start=start, passes=10)
    assert learned.replaced >= 4
    assert learned.usage.min() > 0
    assert np.abs(learned.atoms[:4, 12:]).max() < 1e-3


# Where signals come from -----------------------------------------------------------------------


def test_a_file_a_memmap_and_their_pieces_are_learned_from(tmp_path, monkeypatch):
    monkeypatch.setattr(signals, "ROWS", 1000)
    path = tmp_path / "signals.npy"
    np.save(path, SIGNALS)
    named, mapped = (
        learn(given, 40, 2, passes=10) for given in (str(path), np.load(path, mmap_mode="r"))
    )
    assert np.array_equal(named.atoms, mapped.atoms)
    assert named.trace.signals[-1] == 10 * len(SIGNALS)
    assert recovered(named.atoms, TRUTH) >= 0.95


def test_every_signal_of_a_file_is_seen_once_a_pass(monkeypatch):
    monkeypatch.setattr(signals, "ROWS", 512)
    for total in (257, 1000, 3001):
        source = signals.StoredSignals(np.arange(2.0 * total).reshape(total, 2), 4)
        for turn in range(2):
            seen = [b for b, _ in signals.batches(source, signals.Place(turn, 0, 0), 0)]
            numbers = np.concatenate([b.numbers for b in seen])
            assert sorted(numbers) == list(range(total))
            assert np.array_equal(np.concatenate([b.rows for b in seen])[:, 0], 2.0 * numbers)
            assert min(len(b.rows) for b in seen) > 60


def test_blocks_of_any_size_are_learned_from_alike(monkeypatch):
    monkeypatch.setattr(signals, "ROWS", 1500)
    runs = [
        learn((SIGNALS[i : i + size] for i in range(0, 4000, size)), 40, 2)
        for size in (1, 333, 4000)
    ]
    assert all(np.array_equal(runs[0].atoms, run.atoms) for run in runs)
    assert runs[0].trace.signals[-1] == 4000
    assert "last signal" in runs[0].message


def test_chunks_of_dask_are_computed_one_window_at_a_time(monkeypatch):
    dask_array = pytest.importorskip("dask.array", reason="dask is not installed")
    monkeypatch.setattr(signals, "ROWS", 1000)
    learned = learn(dask_array.from_array(SIGNALS, chunks=(700, 16)), 40, 2, passes=10)
    assert recovered(learned.atoms, TRUTH) >= 0.95
    chunked = dask_array.from_array(SIGNALS, chunks=(700, 5))
    lazy, held = (learn(s, 40, 2, "mod", start=SIGNALS[:40]) for s in (chunked, SIGNALS))
    assert np.array_equal(lazy.atoms, held.atoms)


def test_a_zarr_array_and_its_path_are_learned_from(tmp_path):
    pytest.importorskip("dask", reason="dask is not installed")
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    array = zarr.open_array(str(tmp_path / "s.zarr"), mode="w", shape=SIGNALS.shape, dtype="f8")
    array[:] = SIGNALS
    one, other = (learn(given, 40, 2, passes=1).atoms for given in (array, tmp_path / "s.zarr"))
    assert np.array_equal(one, other)


def test_signals_with_a_shape_give_atoms_of_that_shape():
    learned = learn(SIGNALS.reshape(-1, 4, 4), 40, 2)
    assert learned.atoms.shape == (40, 4, 4)
    assert np.array_equal(learned.atoms.reshape(40, 16), learn(SIGNALS, 40, 2).atoms)


def test_integers_and_any_order_in_memory_are_taken_as_they_are():
    rows = RNG.integers(-50, 50, (500, 9))
    expected = learn(rows.astype(np.float64), 20, 2).atoms
    assert np.array_equal(learn(np.asfortranarray(rows), 20, 2).atoms, expected)


@pytest.mark.parametrize("power", [-200, -90, 90, 200])
@pytest.mark.parametrize("method", METHODS)
def test_units_change_no_atom(power, method):
    rows = SIGNALS[:600]
    learned = learn(np.ldexp(rows, power), 30, 2, method)
    expected = learn(rows, 30, 2, method)
    assert np.array_equal(learned.atoms, expected.atoms)
    assert np.array_equal(learned.trace.share, expected.trace.share)
    assert np.array_equal(learned.trace.objective, np.ldexp(expected.trace.objective, 2 * power))
    assert learned.status is expected.status


# How it ends -----------------------------------------------------------------------------------


def test_it_stops_by_passes_by_the_fall_of_the_objective_or_by_time():
    assert learn(SIGNALS, 40, 2, passes=2).status is Status.MAX_ITER
    means = learn(SIGNALS, 40, 2, "aksvd", passes=50).trace.passes()
    falls = 1 - means[1:] / means[:-1]
    for tol in (0.2, 0.05, 0.01):
        slow = learn(SIGNALS, 40, 2, "aksvd", passes=50, tol=tol)
        assert slow.status is Status.CONVERGED
        assert slow.success
        assert len(slow.trace) == np.argmax(falls < tol) + 2 < 50
    short = learn(SIGNALS, 40, 2, passes=10**6, max_time=0.2)
    assert short.status is Status.MAX_TIME
    assert not short.success


def test_the_passes_of_a_trace_are_means_over_their_batches():
    trace = learn(SIGNALS, 40, 2, passes=3).trace
    assert len(trace) > 3 == len(trace.passes())
    assert trace.passes()[0] > trace.passes()[-1]
    assert np.flatnonzero(trace.ended).tolist()[-1] == len(trace) - 1


def test_a_learned_dictionary_prints_and_draws_itself():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    learned = learn(SIGNALS, 40, 2)
    assert isinstance(learned, Learned)
    for said in ("40 atoms of 16 numbers", "online, 2 atoms a signal", "MAX_ITER", "left out"):
        assert said in str(learned)
    picture = learned.plot()
    assert picture.images[0].get_array().shape == (6 * 5 + 1, 7 * 5 + 1, 3)
    assert not learned.plot(shape=(16,)).images
    assert len(learned.plot(shape=(16,)).lines) == 2 * 36
    assert not learn(SIGNALS[:, :15], 40, 2).plot().images
    colours = learn(RNG.standard_normal((300, 4, 4, 3)), 9, 2)
    assert colours.plot().images[0].get_array().shape == (16, 16, 3)


def test_seeds_differ_and_a_seed_repeats():
    one, same, other = (learn(SIGNALS, 40, 2, seed=s).atoms for s in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.allclose(one, other)


def test_the_example_of_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "learning.md"
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    scope = page_examples.run(page, near=0.5)  # rounding may lead learning elsewhere
    assert scope["more"].trace.signals[-1] == 2 * scope["learned"].trace.signals[-1]


@pytest.mark.parametrize("method", ["online", "aksvd", "mod"])
def test_usage_is_the_share_of_all_signals_those_without_a_code_too(method):
    rows = SIGNALS[:2000].copy()
    rows[::2] = 0
    learned = learn(rows, 20, 2, method, passes=2)
    np.testing.assert_allclose(learned.usage.sum(), 1.0, rtol=0.02)


def test_atoms_are_drawn_in_a_shape_that_they_have_or_refused():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    learned = learn(SIGNALS[:500].reshape(500, 2, 2, 4), 40, 2, passes=1)
    assert not learned.plot().images  # four numbers a pixel are no colour
    for shape in ((5, 4), 4, "ab", (), (-4, -4)):
        with pytest.raises(InputError, match=r"^shape: expected"):
            learned.plot(shape=shape)


def test_a_run_continued_for_fewer_passes_says_how_many_it_had():
    learned = learn(SIGNALS, 20, 2, passes=3)
    assert "3 passes" in learn(SIGNALS, 20, 2, passes=1, resume=learned).message
