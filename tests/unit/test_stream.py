"""encode() out of core: whatever the source and wherever codes go, they are those of memory."""

from functools import partial

import numpy as np
import pytest
from encoded import encode_in
from hypothesis import given, settings
from hypothesis import strategies as st

from pursuit import Codes, InputError, encode
from pursuit.encoding import pursuits, signals
from pursuit.encoding.folder import RECORD
from pursuit.encoding.plan import FORMS

RNG = np.random.default_rng(0)
ATOMS = RNG.standard_normal((90, 16)) * RNG.uniform(0.1, 10, (90, 1))
SIGNALS = RNG.standard_normal((7001, 16))
ARRAYS = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")
BOTH = pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal"])


def assert_same(a, b):
    for name in ARRAYS:
        ours, theirs = getattr(a, name), getattr(b, name)
        assert ours.dtype == theirs.dtype, name
        assert np.array_equal(ours, theirs), name
    assert str(a).split("done by")[0] == str(b).split("done by")[0]


def in_blocks(signals, rows):
    return (signals[i : i + rows] for i in range(0, len(signals), rows))


@BOTH
@pytest.mark.parametrize(
    ("dtype", "rule"),
    [
        (np.float32, {"n_nonzero": 3}),
        (np.float64, {"rtol": 0.4}),
        (np.int16, {"max_iter": 2, "atol": 1.5}),
    ],
)
def test_every_source_gives_the_codes_of_memory_bit_for_bit(tmp_path, method, dtype, rule):
    signals, atoms = (SIGNALS * 9).astype(dtype), ATOMS.astype(np.float32)
    expected = encode(signals, atoms, method, **rule)
    np.save(tmp_path / "signals.npy", signals)
    np.save(tmp_path / "columns.npy", np.asfortranarray(signals))
    given = [
        signals,
        tmp_path / "signals.npy",
        str(tmp_path / "columns.npy"),
        np.load(tmp_path / "signals.npy", mmap_mode="r"),
    ]
    for number, source in enumerate(given):
        assert_same(expected, encode(source, atoms, method, **rule))
        codes = encode(source, atoms, method, out=tmp_path / f"{number}", **rule)
        assert_same(expected, codes)
        assert_same(expected, Codes.open(tmp_path / f"{number}"))


@BOTH
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=6)
@given(rows=st.integers(1, 7100), window=st.integers(1, 2**18))
def test_blocks_of_any_size_give_the_codes_of_memory_in_every_form(
    tmp_path_factory, method, form, rows, window
):
    few = 80 if form == "columns" else 7001
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signals, "WINDOW_BYTES", window)
        # The same plan for both: that of memory depends on the number of signals.
        encode = partial(encode_in(form), expected=2000, n_nonzero=2)
        expected = encode(SIGNALS[:few], ATOMS, method)
        blocks = in_blocks(SIGNALS[:few], max(rows, few // 50))
        assert_same(expected, encode(blocks, ATOMS, method))
        blocks = in_blocks(SIGNALS[:few], max(rows, few // 50))
        out = tmp_path_factory.mktemp("codes") / "new" / "folder"
        assert_same(expected, encode(blocks, ATOMS, method, out=out))


def test_an_iterator_may_use_its_array_again():
    def blocks():
        room = np.empty((100, 16))
        for part in in_blocks(SIGNALS, 100):
            room[: len(part)] = part
            yield room[: len(part)]

    expected = encode(in_blocks(SIGNALS, 100), ATOMS, n_nonzero=3)
    assert_same(expected, encode(blocks(), ATOMS, n_nonzero=3))


def test_the_dictionary_is_prepared_once_for_all_windows(monkeypatch):
    calls = []
    product = pursuits.symmetric_product
    monkeypatch.setattr(signals, "WINDOW_BYTES", 1)
    monkeypatch.setattr(pursuits, "symmetric_product", lambda *a: calls.append(a) or product(*a))
    codes = encode(in_blocks(SIGNALS, 10), ATOMS, n_nonzero=3)
    assert len(codes) == 7001
    assert len(calls) == 1


def test_signals_on_disk_may_have_the_shape_of_the_atoms(tmp_path):
    expected = encode(SIGNALS, ATOMS, n_nonzero=3)
    shaped = SIGNALS.reshape(-1, 4, 4)
    np.save(tmp_path / "signals.npy", shaped)
    atoms = ATOMS.reshape(-1, 4, 4)
    codes = encode(tmp_path / "signals.npy", atoms, n_nonzero=3, out=tmp_path / "codes")
    assert_same(expected, codes)
    assert (codes @ atoms).shape == shaped.shape
    blocks = in_blocks(shaped, 7001)
    assert len(encode(blocks, atoms, n_nonzero=3)) == 7001


def test_parts_of_stored_codes_are_slices_of_the_whole(tmp_path):
    expected = encode(SIGNALS, ATOMS, rtol=0.5)
    codes = encode(SIGNALS, ATOMS, rtol=0.5, out=tmp_path / "codes")
    assert len(np.unique(codes.sizes)) > 1
    fit = np.concatenate([part @ ATOMS for part in codes.parts(999)])
    assert np.array_equal(fit, expected @ ATOMS)
    codes.save(tmp_path / "codes.npz")
    assert_same(expected, Codes.load(tmp_path / "codes.npz"))
    assert np.load(tmp_path / "codes" / "indices.npy").dtype == np.int32
    assert (np.load(tmp_path / "codes" / "indices.npy") == -1).any()


def test_a_bar_shows_signals_a_second_and_the_time_left(tmp_path, capfd):
    encode(SIGNALS, ATOMS, n_nonzero=3, out=tmp_path / "codes", progress=True)
    shown = capfd.readouterr().err
    assert "signals/s" in shown
    assert "0:00:00" in shown
    encode(in_blocks(SIGNALS, 50), ATOMS, n_nonzero=3, progress=True)
    assert "signals/s" in capfd.readouterr().err
    encode(SIGNALS, ATOMS, n_nonzero=3, out=tmp_path / "quiet")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("signals", "sentence"),
    [
        (iter([]), "at least one block"),
        (iter([np.ones((2, 16)), np.ones((2, 16), np.float32)]), "float32 in block 1"),
        (iter([np.ones((2, 16)), np.ones((2, 15))]), "atoms' shape"),
        (iter([np.ones((2, 16)), np.full((2, 16), np.nan)]), "got nan in signal 2, entry 0"),
        (iter([np.ones((2, 16)), "text"]), "real numbers"),
        ("nowhere.npy", "there is no such file"),
        (__file__, "path of a .npy file"),
    ],
)
def test_sources_that_cannot_be_encoded_are_refused_in_a_sentence(signals, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        encode(signals, ATOMS, n_nonzero=2)
    assert "\n" not in str(caught.value)


# The command line --------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("kind", ["npy", "npz", "csv"])
def test_the_command_line_encodes_and_decodes(pursuit, tmp_path, kind, columns):
    dictionary, signals = tmp_path / f"D.{kind}", tmp_path / f"X.{kind}"
    for file, array in ((dictionary, ATOMS), (signals, SIGNALS[:500])):
        stored = array.T if columns else array
        if kind == "npy":
            np.save(file, stored)
        elif kind == "npz":
            np.savez(file, rows=stored, other=np.ones((3, 3)))
        else:
            np.savetxt(file, stored, delimiter=",", fmt="%.17g")
    turned = ["--columns"] * columns
    named = ["--variable", "rows"] * (kind == "npz")
    named_too = ["--dictionary-variable", "rows"] * (kind == "npz")
    out, fit = tmp_path / "codes", tmp_path / "fit.npy"
    arguments = [signals, "--dictionary", dictionary, "-o", out, "--nonzero", 3, *turned]
    code, shown, err = pursuit("encode", *arguments, *named, *named_too)
    assert (code, err) == (0, "")
    assert "500 signals over 90 atoms" in shown
    expected = encode(SIGNALS[:500], ATOMS, n_nonzero=3)
    assert_same(expected, Codes.open(out))
    code, _, err = pursuit("decode", out, "--dictionary", dictionary, "-o", fit, *turned, *named)
    assert (code, err) == (0, "")
    assert np.array_equal(np.load(fit).T if columns else np.load(fit), expected @ ATOMS)


def test_the_command_line_continues_a_run_and_refuses_another(pursuit, tmp_path):
    np.save(tmp_path / "D.npy", ATOMS)
    np.save(tmp_path / "X.npy", SIGNALS)
    out = tmp_path / "codes"
    arguments = ["encode", tmp_path / "X.npy", "--dictionary", tmp_path / "D.npy", "-o", out]
    assert pursuit(*arguments, "--method", "matching-pursuit", "--max-iter", 4)[0] == 0
    marks = bytearray((out / "finished").read_bytes())
    marks[RECORD.itemsize : 2 * RECORD.itemsize] = bytes(RECORD.itemsize)  # the second block
    (out / "finished").write_bytes(marks)
    again = ["--resume", "--method", "matching-pursuit", "--max-iter", 4]
    assert pursuit(*arguments, *again)[0] == 0
    assert_same(encode(SIGNALS, ATOMS, "matching-pursuit", max_iter=4), Codes.open(out))
    for more, sentence in (
        ([], "is not empty"),
        (["--resume", "--nonzero", 3], "another job: its --method is matching-pursuit"),
        (["--method", "guess"], "expected one of matching-pursuit, orthogonal"),
        (["--variable", "signals"], "holds one array and no names"),
    ):
        code, shown, err = pursuit(*arguments, *more)
        assert (code, shown) == (2, "")
        assert sentence in err
        assert err.count("\n") == 1


def test_decode_refuses_what_it_cannot_write_or_multiply(pursuit, tmp_path):
    np.save(tmp_path / "D.npy", ATOMS)
    np.save(tmp_path / "small.npy", ATOMS[:5])
    encode(SIGNALS, ATOMS, n_nonzero=2, out=tmp_path / "codes")
    for folder, dictionary, fit, sentence in (
        ("codes", "D.npy", "fit.csv", "ends in .npy"),
        ("codes", "D.npy", "nowhere/fit.npy", "does not exist"),
        ("codes", "small.npy", "fit.npy", "expected 90 rows"),
        ("nothing", "D.npy", "fit.npy", "expected a folder of codes"),
    ):
        code, _, err = pursuit(
            "decode", tmp_path / folder, "--dictionary", tmp_path / dictionary, "-o", tmp_path / fit
        )
        assert code == 2
        assert sentence in err
        assert err.count("\n") == 1
    assert not list(tmp_path.glob("fit*"))
