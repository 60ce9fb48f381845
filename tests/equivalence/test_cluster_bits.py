"""A cluster makes the bits of one machine: any method, precision, chunks and number of workers."""

import signal

import dask
import dask.array as da
import numpy as np
import pytest
from clusters import local_cluster, scale
from distributed import default_client
from encoded import assert_same

from pursuit import Codes, Cone, Encoder, encode
from pursuit.commands import encode as encode_command
from pursuit.encoding import METHODS

RNG = np.random.default_rng(7)
ATOMS = RNG.standard_normal((40, 12)) * np.exp(RNG.standard_normal((40, 1)))
SIGNALS = RNG.standard_normal((5000, 12))
CHUNKS = [(5000, 12), (700, 12), ((1, 2047, 2048, 904), 5)]
"""One; many that end inside of blocks; odd ones, cut along the numbers of a signal, too."""


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(1) as started:
        yield started


def jobs():
    for method in METHODS:
        for dtype in (np.float32, np.float64):
            rules = {"n_nonzero": 4} if method == "orthogonal" else {"max_iter": 9}
            yield SIGNALS.astype(dtype), ATOMS.astype(dtype), {"method": method, "rng": 3} | rules
    yield SIGNALS, Cone(ATOMS), {"n_nonzero": 4}


def test_the_bits_are_those_of_one_machine(cluster):
    expected, lazy = [], []
    for signals, atoms, rules in jobs():
        local = encode(signals, atoms, **rules)
        for chunks in CHUNKS:
            expected.append(local)
            lazy.append(encode(da.from_array(signals, chunks=chunks), atoms, **rules))
    assert len(lazy) == (2 * len(METHODS) + 1) * len(CHUNKS)
    for workers in (1, 2):
        scale(*cluster, workers)
        for codes, local in zip(dask.compute(*lazy), expected, strict=True):
            assert_same(codes, local)
            assert (codes.method, codes.plan) == (local.method, local.plan)


def test_twenty_calls_in_a_row_lose_nothing(cluster, tmp_path):
    scale(*cluster, 2)
    encoder = Encoder(ATOMS, n_nonzero=4)
    expected = encoder(SIGNALS)
    chunks = da.from_array(SIGNALS, chunks=(2048, 12))
    for number in range(20):
        assert_same(encoder(chunks).compute(), expected)
        assert_same(encoder(chunks, out=tmp_path / str(number)), expected)


def test_a_folder_has_the_bytes_of_one_machine(cluster, tmp_path):
    scale(*cluster, 2)
    encode(SIGNALS, ATOMS, rtol=0.3, out=tmp_path / "local")
    encode(da.from_array(SIGNALS, chunks=(700, 7)), ATOMS, rtol=0.3, out=tmp_path / "cluster")
    for file in (tmp_path / "local").iterdir():
        assert file.read_bytes() == (tmp_path / "cluster" / file.name).read_bytes(), file.name


def test_the_dictionary_is_prepared_once_a_worker(cluster):
    """Of one encoder a process makes one, whichever tasks and calls ask for it."""
    from pursuit.base.cluster import _of_this_process

    scale(*cluster, 2)
    _, client = cluster
    client.run(_of_this_process.cache_clear)
    chunks = da.from_array(SIGNALS, chunks=(2048, 12))
    encoder = Encoder(ATOMS[:30], n_nonzero=4)
    for _ in range(3):
        encoder(chunks).compute()
    for made in client.run(lambda: _of_this_process.cache_info().misses).values():
        assert made <= 1


def test_the_command_line_works_on_a_cluster_that_is_there(cluster, pursuit, tmp_path):
    np.save(tmp_path / "X.npy", SIGNALS)
    np.save(tmp_path / "columns.npy", SIGNALS.T)
    np.save(tmp_path / "D.npy", ATOMS)
    np.savetxt(tmp_path / "X.csv", SIGNALS[:100], delimiter=",")
    address = cluster[0].scheduler_address
    words = ["--dictionary", tmp_path / "D.npy", "--nonzero", 4, "--scheduler", address]
    for source, signals in (("X.npy", SIGNALS), ("X.csv", SIGNALS[:100])):
        out = tmp_path / f"codes of {source}"
        code, said, wrong = pursuit("encode", tmp_path / source, *words, "-o", out)
        assert (code, wrong) == (0, "")
        assert f"{len(signals):,} signals" in said
        assert_same(Codes.open(out), encode(signals, ATOMS, n_nonzero=4))


def test_the_command_line_starts_workers_of_its_own(pursuit, tmp_path, monkeypatch):
    hear = []

    def watched(*arguments, **options):
        hear.extend(default_client().run(signal.getsignal, signal.SIGINT).values())
        return encode(*arguments, **options)

    monkeypatch.setattr(encode_command, "encode_signals", watched)
    np.save(tmp_path / "X.npy", SIGNALS.T)
    np.save(tmp_path / "D.npy", ATOMS.T)
    words = ["--dictionary", tmp_path / "D.npy", "--nonzero", 4, "--workers", 1, "--columns"]
    code, _, wrong = pursuit("encode", tmp_path / "X.npy", *words, "-o", tmp_path / "codes")
    assert (code, wrong) == (0, "")
    assert_same(Codes.open(tmp_path / "codes"), encode(SIGNALS, ATOMS, n_nonzero=4))
    assert hear == [signal.SIG_IGN], "Ctrl-C is for the command, which ends its workers"
