"""A dictionary prepared once gives the codes of `encode`, in parts, threads and other processes."""

import multiprocessing
import os
import pickle
import threading

import numpy as np
import pytest
from encoded import assert_same

from pursuit import Cone, Dictionary, Encoder, InputError, encode
from pursuit.base import cores
from pursuit.encoding import METHODS, pursuits
from pursuit.encoding.plan import FORMS

RNG = np.random.default_rng(7)
ATOMS = RNG.standard_normal((40, 12)) * np.exp(RNG.standard_normal((40, 1)))
SIGNALS = RNG.standard_normal((3000, 12))
EVERY = pytest.mark.parametrize("method", METHODS)
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def rules_of(method):
    return {"max_iter": 15} if method != "orthogonal" else {"n_nonzero": 4}


@EVERY
@TYPES
def test_calls_give_the_bits_of_encode(method, dtype):
    signals, atoms = SIGNALS.astype(dtype), ATOMS.astype(dtype)
    expected = encode(signals, atoms, method, rng=3, **rules_of(method))
    encoder = Encoder(atoms, method, rng=3, expected=len(signals), **rules_of(method))
    for _ in range(2):
        assert_same(encoder(signals), expected)


@EVERY
def test_parts_are_the_bits_of_the_whole(method):
    encoder = Encoder(ATOMS, method, rng=3, expected=len(SIGNALS), **rules_of(method))
    whole = encoder(SIGNALS)
    again = pickle.loads(pickle.dumps(encoder))
    for first in range(0, len(SIGNALS), 2 * encoder.block):
        rows = slice(first, first + 2 * encoder.block)
        assert_same(again.part(SIGNALS[rows], first), whole[rows])


@pytest.mark.parametrize("method", ["orthogonal", "matching-pursuit"])
def test_parts_over_a_cone_are_the_bits_of_the_whole(method):
    encoder = Encoder(Cone(ATOMS), method, n_nonzero=4, expected=len(SIGNALS))
    whole = encoder(SIGNALS)
    assert whole.values.min() >= 0
    assert_same(encoder.part(SIGNALS[encoder.block :], encoder.block), whole[encoder.block :])


@EVERY
def test_several_threads_may_call_at_once(method):
    encoder = Encoder(ATOMS, method, threads=2, **rules_of(method))
    expected = [encoder(SIGNALS[i::8]) for i in range(8)]
    found = [None] * 8

    def call(i):
        found[i] = [encoder(SIGNALS[i::8]) for _ in range(3)]

    crowd = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    for codes, right in zip(found, expected, strict=True):
        for again in codes:
            assert_same(again, right)


def test_the_dictionary_is_prepared_once(monkeypatch):
    made, product = [], pursuits.symmetric_product
    monkeypatch.setattr(pursuits, "symmetric_product", lambda *a: made.append(a) or product(*a))
    encoder = Encoder(Dictionary(ATOMS), n_nonzero=3)
    for signal in SIGNALS[:20]:
        encoder(signal)
    assert len(made) == 1


def test_both_precisions_are_served_by_one_encoder():
    atoms = ATOMS.astype(np.float32)
    encoder = Encoder(atoms, n_nonzero=3, expected=len(SIGNALS))
    for dtype in (np.float32, np.float64, np.float32):
        signals = SIGNALS.astype(dtype)
        assert_same(encoder(signals), encode(signals, atoms, n_nonzero=3))
        assert encoder(signals).dtype == dtype


def test_an_interrupted_call_leaves_the_encoder_as_it_was():
    encoder = Encoder(ATOMS, n_nonzero=3)
    expected = encoder(SIGNALS)

    def interrupted(number):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encoder.encoders(SIGNALS.dtype).each(range(2), interrupted, None)
    assert_same(encoder(SIGNALS), expected)


@pytest.mark.parametrize("wrapped", [np.asarray, Dictionary, Cone])
def test_what_becomes_of_the_array_is_no_matter_to_later_calls(wrapped):
    given = (ATOMS / np.linalg.norm(ATOMS, axis=1, keepdims=True)).astype(np.float32)
    atoms = given.copy()
    encoder = Encoder(wrapped(atoms), n_nonzero=3)
    expected = Encoder(wrapped(given), n_nonzero=3)
    encoder(SIGNALS[:50].astype(np.float32))
    atoms[:] = RNG.standard_normal(atoms.shape)
    for dtype in (np.float32, np.float64):  # the one that is prepared, and one that comes later
        signals = SIGNALS[:50].astype(dtype)
        assert_same(encoder(signals), expected(signals))


def threads_there(encoder):
    return encoder.threads, len(encoder(SIGNALS[:5]))


@pytest.mark.parametrize("way", ["spawn", "fork"])
def test_an_encoder_that_went_to_a_pool_has_the_threads_of_a_process_there(way, monkeypatch):
    for name in ("PURSUIT_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cores, "cores", lambda: 3)
    encoder, asked = Encoder(ATOMS, n_nonzero=3), Encoder(ATOMS, n_nonzero=3, threads=2)
    assert encoder.threads == 3
    with multiprocessing.get_context(way).Pool(1) as pool:
        assert pool.map(threads_there, [encoder, asked]) == [(1, 5), (2, 5)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_another_thread_prepares_leaves_an_encoder_that_works():
    encoder = Encoder(ATOMS, n_nonzero=3)
    process = multiprocessing.get_context("fork").Process(target=encoder, args=(SIGNALS[:5],))
    with encoder._lock:
        process.start()
        process.join(30)
    assert process.exitcode == 0


def test_folders_and_iterators_are_calls_too(tmp_path):
    encoder = Encoder(ATOMS, n_nonzero=3)
    expected = encoder(SIGNALS)
    assert_same(encoder(SIGNALS, out=tmp_path / "codes"), expected)
    assert_same(encoder(iter([SIGNALS[:100], SIGNALS[100:]])), expected)


# Forms


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal"])
def test_a_form_that_is_asked_for_is_the_one_that_is_used(method, form):
    encoder = Encoder(ATOMS, method, n_nonzero=4, form=form, expected=3000)
    for one in (encoder, pickle.loads(pickle.dumps(encoder)), encoder.with_threads(2)):
        assert one.plan(SIGNALS.dtype).form == form


@pytest.mark.parametrize(
    ("atoms", "method", "options", "sentence"),
    [
        (
            ATOMS,
            "omp",
            {"form": "all"},
            "form: expected one of gram, columns, products, got 'all'",
        ),
        (Cone(ATOMS), "omp", {"form": "columns"}, "form: expected gram or products, got columns"),
        (
            ATOMS,
            "random-pursuit",
            {"form": "columns"},
            "form: expected gram or products, got columns",
        ),
        (ATOMS, "greedy-greedy", {"form": "products"}, "form: expected gram, got products"),
        (ATOMS, "accelerated", {"form": "gram"}, "form: expected none for this method, got gram"),
        (
            ATOMS,
            "omp",
            {"form": "gram", "gram_bytes": 12_799},
            "form: gram takes more memory than is allowed for 40 atoms of 12 numbers",
        ),
        (ATOMS, "omp", {"gram_bytes": -1}, "gram_bytes: expected an integer of at least 0, got -1"),
    ],
)
def test_a_form_that_cannot_be_had_is_refused_at_once(atoms, method, options, sentence):
    with pytest.raises(InputError) as error:
        Encoder(atoms, method, **options)
    assert str(error.value).startswith(sentence)


def test_a_gram_matrix_of_just_the_limit_is_formed():
    form = [Encoder(ATOMS, gram_bytes=12_800 - less).plan(SIGNALS.dtype).form for less in (0, 1)]
    assert [str(each) for each in form] == ["gram", "columns"]


def test_it_says_what_it_does():
    text = repr(Encoder(Cone(ATOMS), n_nonzero=3))
    assert text.startswith("Encoder: 40 atoms × 12, orthogonal, non-negative; Gram matrix of ")
    assert len(Encoder(ATOMS)) == 40


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda e: e.part(SIGNALS, 1), "first: expected a multiple of"),
        (lambda e: e.part(iter([SIGNALS]), 0), "signals: expected an array as a part"),
        (lambda e: e(SIGNALS[:, :3]), "signals: expected rows of the atoms' shape"),
        (lambda e: e(SIGNALS, resume=True), "resume: expected the folder"),
        (lambda _: Encoder(ATOMS, expected=0), "expected: expected"),
        (lambda _: Encoder(ATOMS, expected=10**400), "expected: expected an integer up to"),
        (lambda _: Encoder(ATOMS, "accelerated", n_nonzero=2), "n_nonzero: accelerated moves"),
        (lambda _: Encoder(Cone(ATOMS), "accelerated"), "over a Cone"),
        (lambda _: Encoder(ATOMS, n_nonzero=0), "n_nonzero: "),
        (lambda _: Encoder(ATOMS * np.nan), "atoms: expected finite numbers"),
        (lambda _: Encoder(ATOMS * 0), "atoms: atom 0 is zero"),
    ],
)
def test_what_is_wrong_is_said_at_once(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call(Encoder(ATOMS, n_nonzero=3))


def test_rows_are_counted_in_the_whole():
    encoder = Encoder(ATOMS, n_nonzero=3)
    bad = SIGNALS[:70].copy()
    bad[5, 2] = np.nan
    with pytest.raises(InputError, match=f"signal {encoder.block + 5}, entry 2"):
        encoder.part(bad, encoder.block)
