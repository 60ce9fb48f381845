"""Folders of codes that are damaged, foreign, of another job, full or not to be written."""

import errno
import json
import os
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from encoded import assert_same

from pursuit import Codes, InputError, PursuitError, encode
from pursuit.encoding import writer
from pursuit.encoding.folder import RECORD, read_about, write_about
from pursuit.encoding.folder import _text as sealed

RNG = np.random.default_rng(0)
ATOMS = RNG.standard_normal((40, 12))
SIGNALS = RNG.standard_normal((3000, 12))
FILES = ("indices.npy", "values.npy", "residual_norms.npy", "iterations.npy", "statuses.npy")


def write(out, signals=SIGNALS, atoms=ATOMS, **options):
    return encode(signals, atoms, **{"n_nonzero": 3, "threads": 1, **options}, out=out)


def unfinished(out):
    """A folder in which the run was stopped after its first block."""
    write(out)
    marks = (out / "finished").read_bytes()
    (out / "finished").write_bytes(marks[: RECORD.itemsize].ljust(len(marks), b"\0"))
    write_about(out, replace(read_about(out), complete=False))
    return out


def finished(out):
    """1 for each block that is marked as finished, 0 for the others."""
    marks = np.frombuffer((out / "finished").read_bytes(), RECORD)
    return (marks["rows"] > 0).astype(int).tolist()


def assert_refused(sentence, call, *arguments, kind=InputError, **options):
    with pytest.raises(kind, match=sentence) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)


def contents(out):
    return {path.name: path.read_bytes() for path in out.iterdir()}


def test_a_folder_that_is_not_empty_is_refused_and_left_alone(tmp_path):
    write(tmp_path / "codes")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "love.txt").write_text("dear")
    before = contents(tmp_path / "codes")
    assert_refused("is not empty", write, tmp_path / "codes")
    assert contents(tmp_path / "codes") == before
    assert_refused("is not empty", write, tmp_path / "letters")
    assert_refused("not a folder of codes", write, tmp_path / "letters", resume=True)
    assert_refused("is a file", write, tmp_path / "letters" / "love.txt", resume=True)
    assert contents(tmp_path / "letters") == {"love.txt": b"dear"}


def test_resume_needs_a_folder_and_may_begin_one(tmp_path):
    assert_refused("resume: expected the folder", encode, SIGNALS, ATOMS, resume=True)
    (tmp_path / "empty").mkdir()
    for out in (tmp_path / "new", tmp_path / "empty"):
        assert_same(encode(SIGNALS, ATOMS, n_nonzero=3), write(out, resume=True))


def one_changed(array):
    changed = array.copy()
    changed[-1, -1] += 1
    return changed


@pytest.mark.parametrize(
    ("sentence", "changes"),
    [
        ("its dictionary is 40 × 12", {"atoms": one_changed(ATOMS)}),
        ("its dictionary is 40 × 12", {"atoms": ATOMS[:39]}),
        ("its signals is 3000 × 12", {"signals": SIGNALS[:2999]}),
        ("its signals is 3000 × 12", {"signals": iter([SIGNALS])}),
        ("its signals is 3000 × 12 float64", {"signals": SIGNALS.astype(np.float32)}),
        ("its method is orthogonal", {"method": "matching-pursuit"}),
        ("its n_nonzero is 3, got 4", {"n_nonzero": 4}),
        ("its max_iter", {"max_iter": 2}),
        ("its rtol is None, got 0.5", {"rtol": 0.5}),
        ("its atol is None, got 0.5", {"atol": 0.5}),
        ("its unit_atoms is True, got False", {"unit_atoms": False}),
    ],
)
def test_another_job_is_refused_with_what_differs(tmp_path, sentence, changes):
    out = unfinished(tmp_path / "codes")
    before = contents(out)
    assert_refused(sentence, write, out, resume=True, **changes)
    assert contents(out) == before


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_missing_or_exchanged_array_is_refused(tmp_path, name):
    write(tmp_path / "whole")
    unfinished(tmp_path / "begun")
    for out, call in ((tmp_path / "whole", Codes.open), (tmp_path / "begun", write)):
        options = {"resume": True} if call is write else {}
        file = out / name
        kept = file.read_bytes()
        file.write_bytes(kept[:-1])
        assert_refused(f"{name} is incomplete, 1 bytes are missing", call, out, **options)
        file.write_bytes(kept[:20])
        assert_refused(f"{name} is incomplete", call, out, **options)
        file.write_bytes(b"x" * len(kept))
        assert_refused(f"{name} is not what about.json says", call, out, **options)
        file.unlink()
        assert_refused(f"{name} is missing", call, out, **options)
        file.write_bytes(kept)
    assert_same(Codes.open(tmp_path / "whole"), write(tmp_path / "begun", resume=True))


def test_a_damaged_description_is_refused(tmp_path):
    write(tmp_path / "codes")
    file = tmp_path / "codes" / "about.json"
    about = json.loads(file.read_text())
    texts = ["", "{", "[]", "7", '{"pursuit codes": 3}', file.read_text()[:-40]]
    for text in texts:
        file.write_text(text)
        assert_refused("not a folder of codes", Codes.open, tmp_path / "codes")
    for name, value, sentence in (
        ("format", 99, "another version"),
        ("block", -1, "is damaged"),
        ("width", "many", "is damaged"),
        ("signals", 3000.5, "is damaged"),
        ("signals", 3001, "missing|says"),
        ("dtype", "O", "is damaged"),
        ("identity", [], "is damaged"),
        ("surprise", 1, "is damaged"),
    ):
        content = {**about["pursuit codes"], name: value}
        file.write_text(json.dumps({**about, "pursuit codes": content}, indent=1))
        assert_refused("about.json is damaged", Codes.open, tmp_path / "codes")
        file.write_text(sealed(content))  # and by somebody who knows about the checksum
        assert_refused(sentence, Codes.open, tmp_path / "codes")


def test_unfinished_codes_are_not_opened(tmp_path):
    out = unfinished(tmp_path / "codes")
    assert_refused("unfinished, 1 of 6 blocks are there", Codes.open, out)
    assert_refused("expected a folder of codes", Codes.open, tmp_path / "nowhere")


def test_a_run_killed_while_it_created_its_files_is_continued(tmp_path):
    expected = encode(SIGNALS, ATOMS, n_nonzero=3)
    write(tmp_path / "codes")
    (tmp_path / "codes" / "finished").unlink()
    (tmp_path / "codes" / "values.npy").write_bytes(b"begun")
    (tmp_path / "codes" / "statuses.npy").unlink()
    assert_same(expected, write(tmp_path / "codes", resume=True))
    (tmp_path / "sooner").mkdir()
    (tmp_path / "sooner" / "about.json.part").write_text("{")
    assert_same(expected, write(tmp_path / "sooner"))


def test_an_iterator_that_gives_more_or_less_than_before_is_refused(tmp_path):
    write(tmp_path / "codes", iter([SIGNALS]))
    more = iter([SIGNALS, np.ones((5000, 12))])
    found = r"got \d+ rows instead of \d+ in block \d+ \(rows \d+ to 2999\)"
    assert_refused(found, write, tmp_path / "codes", more, resume=True)
    less = iter([SIGNALS[:100]])
    found = r"got 100 rows instead of \d+ in block 0 \(rows 0 to \d+\)"
    assert_refused(found, write, tmp_path / "codes", less, resume=True)
    block = read_about(tmp_path / "codes").block
    whole = iter([SIGNALS[:block]])
    assert_refused(f"3000 signals, got {block}", write, tmp_path / "codes", whole, resume=True)


# Work that is stopped ----------------------------------------------------------------------


def fail_after(monkeypatch, calls, error):
    """Let the disk take some arrays and then no more."""
    write_at, count = writer.write_at, iter(range(10**9))

    def failing(*arguments):
        if next(count) >= calls:
            raise error
        write_at(*arguments)

    monkeypatch.setattr(writer, "write_at", failing)


def test_a_full_disk_is_a_sentence_and_what_was_finished_is_kept(tmp_path, monkeypatch):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(writer, "SECONDS", 0.0)  # mark each block at once
    out = tmp_path / "codes"
    with monkeypatch.context() as patch:
        fail_after(patch, 15, full)
        assert_refused("cannot be written .No space left.*resume", write, out, kind=PursuitError)
    assert finished(out) == [1, 1, 0, 0, 0, 0]
    encoded = []
    monkeypatch.setattr(writer.Writer, "keep", spy(writer.Writer.keep, encoded))
    assert_same(encode(SIGNALS, ATOMS, n_nonzero=3), write(out, resume=True))
    assert encoded == [2, 3, 4, 5]


def spy(method, numbers):
    def keep(self, number, piece, checksum):
        numbers.append(number)
        method(self, number, piece, checksum)

    return keep


def test_a_signal_that_is_not_finite_costs_no_finished_block(tmp_path):
    bad = SIGNALS.copy()
    bad[2000, 5] = np.nan
    assert_refused("nan in signal 2000, entry 5", write, tmp_path / "codes", bad)
    assert finished(tmp_path / "codes") == [1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("known", [True, False])
def test_a_run_that_finished_nothing_is_not_in_the_way_of_the_next(tmp_path, known):
    """Neither of the same one, nor of one with signals that were mended."""
    broken = SIGNALS[:40].copy()
    broken[3, 2] = np.nan
    with pytest.raises(InputError, match="got nan in signal 3, entry 2"):
        write(tmp_path, broken if known else iter([broken]))
    assert not any(tmp_path.iterdir())
    assert_same(write(tmp_path, SIGNALS[:40]), encode(SIGNALS[:40], ATOMS, n_nonzero=3))


def test_an_interrupted_run_keeps_what_was_finished(tmp_path, monkeypatch):
    def blocks():
        yield SIGNALS
        yield SIGNALS
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pursuit.encoding.signals.WINDOW_BYTES", 1)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "codes", blocks())
    assert sum(finished(tmp_path / "codes")) > 0
    twice = [SIGNALS, SIGNALS]
    codes = write(tmp_path / "codes", iter(twice), resume=True)
    assert_same(encode(iter(twice), ATOMS, n_nonzero=3), codes)


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "codes"
    assert_refused("cannot be written .Not a directory", write, out, kind=PursuitError)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 128 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)]
    allowed = shutil.which("mount") and hasattr(os, "geteuid") and os.geteuid() == 0
    if not allowed or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_really_full_keeps_what_was_finished(small_disk, tmp_path):
    out = small_disk / "codes"
    assert_refused("No space left on device", write, out, kind=PursuitError)
    kept = sum(finished(out))
    assert 0 < kept < 6
    shutil.copytree(out, tmp_path / "larger")
    codes = write(tmp_path / "larger", resume=True)
    assert_same(encode(SIGNALS, ATOMS, n_nonzero=3), codes)
