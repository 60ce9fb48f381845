"""Codes of dask and zarr arrays without a cluster: lazy, the bits of memory, sentences."""

import subprocess
import sys
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import page_examples
import pytest
import zarr
from encoded import assert_same

from pursuit import Cone, Encoder, InputError, MissingExtra, PursuitError, encode
from pursuit.commands import cluster as commands_cluster
from pursuit.encoding import lazy as encoding_cluster

RNG = np.random.default_rng(3)
ATOMS = RNG.standard_normal((50, 12)) * np.exp(RNG.standard_normal((50, 1)))
SIGNALS = RNG.standard_normal((9000, 12))
BLOCK = Encoder(ATOMS, rtol=0.3, expected=len(SIGNALS)).block
COLUMNS = ("indices", "values", "residual_norms", "iterations", "statuses")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="sync"):
        yield


def chunked(rows=2500, array=SIGNALS):
    return da.from_array(array, chunks=(rows, -1))


@pytest.fixture(scope="module")
def expected():
    return encode(SIGNALS, ATOMS, rtol=0.3)


def stored(tmp_path, array=SIGNALS):
    target = zarr.create_array(
        tmp_path / "X.zarr", shape=array.shape, chunks=(700, 5), dtype=array.dtype
    )
    target[:] = array
    return target


# What they are ---------------------------------------------------------------------------------


def test_nothing_is_computed_before_it_is_asked_for():
    made = []

    def rows(block):
        made.append(len(block))
        return block

    lazy = encode(chunked().map_blocks(rows, meta=np.empty((0, 0))), ATOMS, rtol=0.3)
    texts = str(lazy), repr(lazy @ ATOMS), [repr(getattr(lazy, name)) for name in COLUMNS]
    assert all(texts)
    assert made == []
    lazy.compute()
    assert sum(made) == len(SIGNALS)


def test_the_arrays_are_the_codes_in_a_fixed_width(expected):
    lazy = encode(chunked(), ATOMS, rtol=0.3)
    arrays = dict(zip(COLUMNS, dask.compute(*(getattr(lazy, n) for n in COLUMNS)), strict=True))
    assert arrays["indices"].shape == arrays["values"].shape == (9000, lazy.width)
    for name in COLUMNS:
        assert getattr(lazy, name).dtype == arrays[name].dtype, name
    used = arrays["indices"] != -1
    assert len(np.unique(used.sum(axis=1))) > 1
    assert np.array_equal(arrays["indices"][used], expected.indices)
    assert np.array_equal(arrays["values"][used], expected.values)
    assert not arrays["values"][~used].any()
    for name in COLUMNS[2:]:
        assert np.array_equal(arrays[name], getattr(expected, name)), name


def test_they_print_what_will_be_done():
    lazy = encode(chunked(4500, SIGNALS.astype(np.float32)), Cone(ATOMS), n_nonzero=4)
    first = lazy.indices.chunks[0][0]
    assert str(lazy).splitlines()[:3] == [
        "lazy codes: 9,000 signals over 50 atoms, at most 4 a signal (float64)",
        "    method: orthogonal, non-negative",
        f"     tasks: 2, of up to {max(first, 9000 - first):,} signals",
    ]
    assert (lazy.shape, len(lazy), lazy.n_atoms) == ((9000, 50), 9000, 50)


def test_chunks_are_cut_at_blocks_and_those_that_are_stay(expected):
    for rows in ((2 * BLOCK, 9000 - 2 * BLOCK), (1, 8999), (BLOCK - 1, 2, 8999 - BLOCK)):
        lazy = encode(da.from_array(SIGNALS, chunks=(rows, -1)), ATOMS, rtol=0.3)
        firsts = np.cumsum([0, *lazy.indices.chunks[0]])
        assert (firsts[:-1] % BLOCK == 0).all()
        assert firsts[-1] == 9000
        assert firsts[1] != 2 * BLOCK or lazy.values.chunks[0] == rows
        assert_same(lazy.compute(), expected)


# The bits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_other_schedulers_give_the_same_codes(scheduler, expected, tmp_path):
    with dask.config.set(scheduler=scheduler):
        assert_same(encode(chunked(), ATOMS, rtol=0.3).compute(), expected)
        assert_same(encode(chunked(700), ATOMS, rtol=0.3, out=tmp_path / "codes"), expected)


def test_processes_give_the_same_codes(expected, tmp_path):
    with dask.config.set(scheduler="processes", num_workers=1):
        assert_same(encode(chunked(1024), ATOMS, rtol=0.3, out=tmp_path / "codes"), expected)


def test_an_encoder_takes_dask_arrays(tmp_path):
    encoder = Encoder(ATOMS, n_nonzero=3)
    expected = encoder(SIGNALS)
    assert_same(encoder(chunked()).compute(), expected)
    assert_same(encoder(chunked(), out=tmp_path / "codes"), expected)


def test_signals_may_have_the_shape_of_the_atoms(tmp_path):
    atoms, signals = ATOMS.reshape(-1, 3, 4), SIGNALS.reshape(-1, 3, 4)
    expected = encode(signals, atoms, n_nonzero=3)
    lazy = encode(da.from_array(signals, chunks=(2500, 2, 3)), atoms, n_nonzero=3)
    assert_same(lazy.compute(), expected)
    fit = lazy @ atoms
    assert fit.shape == signals.shape
    assert np.array_equal(fit.compute(), expected @ atoms)
    one = encode(da.from_array(SIGNALS[0]), ATOMS, n_nonzero=3).compute()
    assert_same(one, encode(SIGNALS[0], ATOMS, n_nonzero=3))


def test_products_with_atoms_are_those_of_the_codes(expected):
    for atoms in (ATOMS, Cone(ATOMS), ATOMS.astype(np.float32)):
        fit = encode(chunked(), ATOMS, rtol=0.3) @ atoms
        assert fit.dtype == (expected @ atoms).dtype
        assert np.array_equal(fit.compute(), expected @ atoms)


def test_as_an_array_they_are_computed(expected):
    lazy = encode(chunked(), ATOMS, rtol=0.3)
    assert np.array_equal(np.asarray(lazy, np.float32), np.asarray(expected, np.float32))


def test_persisted_codes_are_not_made_again(expected):
    made = []
    signals = chunked().map_blocks(lambda rows: made.append(1) or rows, meta=np.empty((0, 0)))
    kept = encode(signals, ATOMS, rtol=0.3).persist()
    before = len(made)
    assert_same(kept.compute(), expected)
    assert len(made) == before > 0


def test_both_ways_through_zarr(expected, tmp_path):
    source = stored(tmp_path)
    assert_same(encode(source, ATOMS, rtol=0.3), expected)
    assert_same(encode(tmp_path / "X.zarr", ATOMS, rtol=0.3, out=tmp_path / "codes"), expected)
    lazy = encode(da.from_zarr(source), ATOMS, rtol=0.3)
    lazy.to_zarr(tmp_path / "codes.zarr")
    group = zarr.open_group(tmp_path / "codes.zarr", mode="r")
    assert group.attrs["n_atoms"] == 50
    used = group["indices"][:] != -1
    assert np.array_equal(group["values"][:][used], expected.values)
    for name in COLUMNS[2:]:
        assert np.array_equal(group[name][:], getattr(expected, name)), name
    with pytest.raises(InputError, match="is there already; expected a new one"):
        lazy.to_zarr(tmp_path / "codes.zarr")
    with pytest.raises(InputError, match="store: expected a path or a store of zarr, got int"):
        lazy.to_zarr(3)


def test_a_damaged_chunk_of_a_zarr_array_is_a_sentence(files, pursuit, tmp_path):
    path = tmp_path / "X.zarr"
    next(path.glob("c/3/*")).write_bytes(b"junk")
    for signals in (path, zarr.open_array(path)):
        with pytest.raises(InputError, match=f"^{path}: is damaged or incomplete "):
            encode(signals, ATOMS, rtol=0.3)
    code, _, wrong = pursuit(*files("X.zarr"))
    assert (code, wrong.count("\n")) == (2, 1)


def test_a_folder_begun_in_memory_goes_on_in_chunks(expected, tmp_path, monkeypatch):
    out, spoilt = tmp_path / "codes", SIGNALS.copy()
    spoilt[-2] = np.inf
    with pytest.raises(InputError, match="signal 8998"):
        encode(spoilt, ATOMS, rtol=0.3, threads=1, out=out)
    made, results = [], encoding_cluster.each_result

    def counted(*arguments):
        for place, result in results(*arguments):
            made.extend([len(result[0])] if isinstance(result, tuple) else [])
            yield place, result

    monkeypatch.setattr(encoding_cluster, "each_result", counted)
    assert_same(encode(chunked(3000), ATOMS, rtol=0.3, out=out, resume=True), expected)
    assert sum(made) == 9000 % BLOCK, "a block that was there was made again"
    with pytest.raises(InputError, match=r"unchanged since .* other values in block \d+ \(rows"):
        encode(chunked(array=SIGNALS + 1), ATOMS, rtol=0.3, out=out, resume=True)


def test_a_bar_shows_how_far_the_tasks_are(tmp_path, capsys):
    encode(chunked(), ATOMS, rtol=0.3, out=tmp_path / "codes", progress=True)
    assert "100% " in (shown := capsys.readouterr().err)
    assert "signals/s" in shown


def test_the_examples_of_the_page_run_one_after_the_other(tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "cluster.md"
    (_, shown), *others = page_examples.examples(page)
    assert len(others) == 2
    assert "20,000 signals over 256 atoms, at most 8 a signal" in shown
    monkeypatch.chdir(tmp_path)
    scope = page_examples.run(page)
    assert 0 < scope["error"] < 1


# What is refused ---------------------------------------------------------------------------------


def of_another_type(rows):
    return rows.astype(np.float32)


def starved(rows):
    return np.ones(2**46)


@pytest.mark.parametrize(
    ("signals", "sentence"),
    [
        (
            chunked()[da.from_array(SIGNALS[:, 0]) > 0],
            r"known sizes, got .*compute_chunk_sizes\(\)",
        ),
        (chunked(array=SIGNALS[:, :5]), "expected rows of the atoms' shape"),
        (chunked(array=SIGNALS.astype(complex)), "expected real numbers, got a dask array of type"),
        (chunked()[:0], "expected at least one, got shape"),
    ],
)
def test_what_cannot_be_encoded_is_refused_at_once(signals, sentence):
    with pytest.raises(InputError, match=sentence):
        encode(signals, ATOMS, rtol=0.3)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (of_another_type, r"expected \d+ rows of float64 from \d+ on, as the dask array says, got"),
        (lambda rows: rows[1:], r"expected (\d+) rows of float64 from \d+ on, .* got (?!\1)\d+ of"),
        (np.ma.masked_less_equal, "masked"),
        (starved, "a task ran out of memory; expected workers with more memory, or smaller chunks"),
    ],
)
def test_what_chunks_turn_out_to_be_is_said(spoil, sentence, tmp_path):
    arguments = (9.0,) if spoil is np.ma.masked_less_equal else ()
    chunks = chunked().map_blocks(spoil, *arguments, meta=np.empty((0, 0)))
    with pytest.raises(PursuitError, match=sentence):
        encode(chunks, ATOMS, rtol=0.3).compute()


def test_other_arguments_have_to_be_arrays_in_memory():
    with pytest.raises(InputError, match=r"atoms: .* got a dask Array; give its compute\(\)"):
        encode(chunked(), da.from_array(ATOMS), n_nonzero=3)
    with pytest.raises(InputError, match=r"signals: .* got a dask Delayed.*; give its compute"):
        encode(dask.delayed(SIGNALS), ATOMS, n_nonzero=3)
    with pytest.raises(InputError, match="expected an array as a part of a whole, got chunks"):
        Encoder(ATOMS, n_nonzero=3).part(chunked(), 0)
    with pytest.raises(InputError, match="resume: expected the folder"):
        encode(chunked(), ATOMS, n_nonzero=3, resume=True)


# The command line and the extra ------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "X.npy", SIGNALS)
    np.save(tmp_path / "D.npy", ATOMS)
    stored(tmp_path)
    words = ["--dictionary", tmp_path / "D.npy", "--nonzero", 3, "-o", tmp_path / "codes"]
    return lambda name, *more: ("encode", tmp_path / name, *words, *more)


def test_the_command_line_reads_zarr(files, pursuit):
    code, said, wrong = pursuit(*files("X.zarr"))
    assert (code, wrong) == (0, "")
    assert "9,000 signals over 50 atoms" in said
    code, _, wrong = pursuit(*files("X.zarr", "--variable", "a", "--resume"))
    assert (code, wrong.count("\n")) == (2, 1)
    assert "--variable: " in wrong


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--workers", 0], "--workers: expected an integer of at least 1, got 0"),
        (["--workers", 1, "--scheduler", "tcp://a:1"], "--workers: expected either workers or the"),
        (["--workers", 1, "--threads", 2], "--threads: expected none on workers"),
        (["--scheduler", "tcp://127.0.0.1:9"], "--scheduler: expected the address of a Dask"),
        (["--scheduler", "nowhere"], "--scheduler: expected the address of a Dask"),
    ],
)
def test_wrong_clusters_are_one_line(files, pursuit, monkeypatch, options, sentence):
    monkeypatch.setattr(commands_cluster, "SECONDS", "100ms")
    code, _, wrong = pursuit(*files("X.npy", *options))
    assert (code, wrong.count("\n")) == (2, 1)
    assert sentence in wrong


def test_without_the_extra_one_line_names_it(files, pursuit, monkeypatch, tmp_path):
    line = r"needs the 'dask' extra: python -m pip install 'pursuit\[dask\]'"
    lazy = encode(chunked(), ATOMS, rtol=0.3)
    with monkeypatch.context() as missing:
        missing.setitem(sys.modules, "zarr", None)
        with pytest.raises(MissingExtra, match=f"writing a zarr group {line}"):
            lazy.to_zarr(tmp_path / "codes.zarr")
        with pytest.raises(MissingExtra, match=f"encoding a zarr array {line}"):
            encode(tmp_path / "X.zarr", ATOMS, n_nonzero=3)
    monkeypatch.setitem(sys.modules, "dask.array", None)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=f"encoding a zarr array {line}"):
        encode(tmp_path / "X.zarr", ATOMS, n_nonzero=3)
    code, _, wrong = pursuit(*files("X.npy", "--workers", 2))
    assert (code, wrong.count("\n")) == (2, 1)
    assert "encoding on workers needs the 'dask' extra" in wrong


def test_what_becomes_of_the_atoms_before_codes_are_computed_is_no_matter():
    atoms = ATOMS / np.linalg.norm(ATOMS, axis=1, keepdims=True)
    expected = encode(SIGNALS[:300], atoms, n_nonzero=3)
    lazy = encode(da.from_array(SIGNALS[:300], chunks=(300, 12)), atoms, n_nonzero=3)
    atoms[:] = 1
    assert_same(lazy.compute(), expected)


def test_computing_leaves_the_settings_of_distributed_as_they_are():
    """They come with its import, which a first computation may bring about."""
    code = (
        "import dask.array as da, numpy as np, pursuit\n"
        "signals = da.from_array(np.eye(4), chunks=(2, 4))\n"
        "pursuit.encode(signals, np.eye(4), n_nonzero=1).compute()\n"
        "import dask, distributed\n"
        "print(dask.config.get('distributed.comm.timeouts.connect'))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
