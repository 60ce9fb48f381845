"""Resuming a folder of codes: finished blocks belong to the signals, or the error names one."""

import dask
import dask.array as da
import numpy as np
import pytest
from encoded import assert_same

from pursuit import Encoder, InputError, encode
from pursuit.encoding import signals as signal_sources

RNG = np.random.default_rng(0)
ATOMS = RNG.standard_normal((40, 12))
SIGNALS = RNG.standard_normal((20_000, 12))
BLOCK = Encoder(ATOMS, n_nonzero=3, expected=len(SIGNALS)).block
BAD = 19_990


def write(out, signals, **options):
    return encode(signals, ATOMS, **{"n_nonzero": 3, "threads": 1, **options}, out=out)


def blocks_of(signals):
    return (signals[start : start + 700] for start in range(0, len(signals), 700))


def chunks_of(signals):
    return da.from_array(signals, chunks=(3000, 5))


SOURCES = pytest.mark.parametrize("source", [np.asarray, blocks_of, chunks_of])


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="sync"):
        yield


def failed(out, source=np.asarray):
    """A folder of a run that failed in its last block."""
    spoilt = SIGNALS.copy()
    spoilt[BAD, 5] = np.nan
    with pytest.raises(InputError, match=f"nan in signal {BAD}, entry 5; the finished blocks"):
        write(out, source(spoilt))
    return out


@SOURCES
def test_resume_detects_changed_rows(tmp_path, source):
    out = failed(tmp_path / "codes", source)
    # None of the rows that np.linspace(0, 19_999, 64) has.
    changed = SIGNALS.copy()
    changed[4130:4180] += 1
    number = 4130 // BLOCK
    rows = f"{number * BLOCK} to {number * BLOCK + BLOCK - 1}"
    sentence = rf"got other values in block {number} \(rows {rows}\)"
    with pytest.raises(InputError, match=sentence) as caught:
        write(out, source(changed), resume=True)
    assert "\n" not in str(caught.value)
    expected = write(tmp_path / "undisturbed", source(SIGNALS))
    assert_same(write(out, source(SIGNALS), resume=True), expected)


@SOURCES
def test_resume_of_a_finished_folder_detects_changed_rows(tmp_path, source):
    write(tmp_path / "codes", source(SIGNALS))
    changed = SIGNALS.copy()
    changed[-1, -1] += 1
    with pytest.raises(InputError, match=r"got other values in block \d+ \(rows \d+ to 19999\)"):
        write(tmp_path / "codes", source(changed), resume=True)


def test_resume_takes_the_same_signals_from_any_kind_of_array(tmp_path):
    np.save(tmp_path / "X.npy", SIGNALS)
    expected = encode(SIGNALS, ATOMS, n_nonzero=3)
    others = {
        "file": str(tmp_path / "X.npy"),
        "memory map": np.load(tmp_path / "X.npy", mmap_mode="r"),
        "columns": np.asfortranarray(SIGNALS),
        "big-endian": SIGNALS.astype(">f8"),
        "dask": chunks_of(SIGNALS),
    }
    for name, signals in others.items():
        out = failed(tmp_path / name)
        assert_same(write(out, signals, resume=True), expected)


def test_rows_of_unfinished_blocks_may_change(tmp_path):
    out = failed(tmp_path / "codes")
    mended = SIGNALS.copy()
    mended[BAD] = 1
    assert_same(write(out, mended, resume=True), encode(mended, ATOMS, n_nonzero=3))


# What a run that fails leaves ------------------------------------------------------------------


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("error", [InputError, KeyboardInterrupt, MemoryError])
def test_a_failed_run_without_finished_blocks_removes_what_it_created(tmp_path, error):
    def signals():
        yield SIGNALS[:100]
        raise error("no more")

    with pytest.raises(error):
        write(tmp_path / "a" / "new" / "folder", signals())
    assert not any(tmp_path.iterdir())
    (tmp_path / "codes").mkdir()
    with pytest.raises(error):
        write(tmp_path / "codes", signals())
    assert not any((tmp_path / "codes").iterdir())


@pytest.mark.parametrize(
    "wrong", [{"n_nonzero": 0}, {"method": "guess"}, {"rtol": -1}, {"threads": 0}, {"resume": 3}]
)
def test_wrong_arguments_create_nothing(tmp_path, wrong):
    for signals in (SIGNALS, iter([SIGNALS]), chunks_of(SIGNALS)):
        with pytest.raises(InputError):
            write(tmp_path / "codes", signals, **wrong)
    with pytest.raises(InputError, match="atoms' shape"):
        write(tmp_path / "codes", iter([SIGNALS[:, :5]]))
    assert not any(tmp_path.iterdir())


def test_the_error_of_a_run_with_finished_blocks_names_resume(tmp_path, pursuit, monkeypatch):
    spoilt = SIGNALS.copy()
    spoilt[BAD, 5] = np.nan
    np.save(tmp_path / "X.npy", spoilt)
    np.save(tmp_path / "D.npy", ATOMS)
    out = tmp_path / "codes"
    words = ["encode", tmp_path / "X.npy", "--dictionary", tmp_path / "D.npy", "-o", out]
    code, _, err = pursuit(*words, "--nonzero", 3)
    assert code == 2
    assert err.endswith(f"; the finished blocks are kept in {out}; continue with --resume\n")
    np.save(tmp_path / "X.npy", SIGNALS)
    assert pursuit(*words, "--nonzero", 3, "--resume")[0] == 0

    def signals():
        yield SIGNALS
        raise OSError("a file of the user's")

    monkeypatch.setattr(signal_sources, "WINDOW_BYTES", 1)
    with pytest.raises(OSError, match="user's") as caught:
        write(tmp_path / "more", signals())
    assert "continue with resume=True" in caught.value.__notes__[0]


def test_overwrite_replaces_codes_and_no_other_file(tmp_path):
    out = tmp_path / "codes"
    write(out, SIGNALS)
    (out / "notes.txt").write_text("mine")
    (out / "mine.part").write_text("mine")
    codes = write(out, SIGNALS[:600], n_nonzero=2, overwrite=True)
    assert_same(codes, encode(SIGNALS[:600], ATOMS, n_nonzero=2))
    assert (out / "notes.txt").read_text() == (out / "mine.part").read_text() == "mine"
    for name, text in (("about.json", "{}"), ("values.npy", "mine"), ("finished", "no")):
        folder = tmp_path / f"foreign {name}"
        folder.mkdir()
        (folder / name).write_text(text)
        with pytest.raises(InputError, match=r"out must be a folder of codes for overwrite"):
            write(folder, SIGNALS, overwrite=True)
        assert contents(folder) == {name: text.encode()}
    assert_same(write(tmp_path / "new", SIGNALS[:9], overwrite=True), write(None, SIGNALS[:9]))
    for options, sentence in (({"resume": True}, "without resume=True"), ({"out": None}, "False")):
        with pytest.raises(InputError, match=sentence):
            encode(SIGNALS, ATOMS, **{"out": out, "overwrite": True, **options})


def test_force_overwrites_codes_on_the_command_line(tmp_path, pursuit):
    np.save(tmp_path / "X.npy", SIGNALS[:600])
    np.save(tmp_path / "D.npy", ATOMS)
    words = ["encode", tmp_path / "X.npy", "--dictionary", tmp_path / "D.npy", "-o"]
    assert pursuit(*words, tmp_path / "codes", "--nonzero", 3)[0] == 0
    code, _, err = pursuit(*words, tmp_path / "codes", "--nonzero", 2)
    assert code == 2
    assert "or --force to replace its codes" in err
    before = contents(tmp_path / "codes")
    code, _, err = pursuit(*words, tmp_path / "codes", "--nonzero", 0, "--force")
    assert code == 2
    assert contents(tmp_path / "codes") == before
    assert pursuit(*words, tmp_path / "codes", "--nonzero", 2, "--force")[0] == 0
    code, _, err = pursuit(*words, tmp_path, "--nonzero", 2, "--force")
    assert code == 2
    assert err.startswith("pursuit: --out must be a folder of codes for --force, got ")
    assert (tmp_path / "X.npy").exists()
    code, _, err = pursuit(*words, tmp_path / "codes", "--force", "--resume")
    assert err == "pursuit: --force must be given without --resume, got both\n"


@pytest.mark.parametrize("out", [None, "codes"])
def test_empty_arrays_of_an_iterator_are_skipped(tmp_path, out):
    empty = np.empty((0, 12), np.float32)
    parts = [[], empty, SIGNALS[:700], empty, SIGNALS[700:900], np.empty(0)]
    codes = write(out and tmp_path / out, iter(parts))
    assert_same(codes, encode(iter([SIGNALS[:900]]), ATOMS, n_nonzero=3))
    with pytest.raises(InputError, match="at least one block"):
        write(out and tmp_path / "none", iter([empty, empty]))
    assert not (tmp_path / "none").exists()
