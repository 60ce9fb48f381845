"""`pursuit decompose` and `pursuit rebuild`: kinds of sounds, bad ones, and a kill."""

import signal
import subprocess
import sys
import time
import wave

import numpy as np
import pytest
from scipy.io import wavfile

from pursuit import Book, decompose
from pursuit.decomposing.book import COLUMNS

RATE = 4000
T = np.arange(3000) / RATE
TONE = 0.5 * np.cos(2 * np.pi * 440 * T) * np.exp(-20 * (T - 0.4) ** 2)
# The command as it is, but for saving its state often: more moments to be killed in.
COMMAND = "from pursuit import cli; from pursuit.solving import loop; loop.SAVE_SECONDS = 0.05; "


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_24_bit(path, samples):
    whole = np.round(samples * (2**23 - 1)).astype("<i4")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(3)
        file.setframerate(RATE)
        file.writeframes(whole.view(np.uint8).reshape(-1, 4)[:, :3].tobytes())


KINDS = {
    "8-bit": lambda path: wavfile.write(path, RATE, np.round(TONE * 127 + 128).astype(np.uint8)),
    "16-bit": lambda path: wavfile.write(path, RATE, np.round(TONE * 32767).astype(np.int16)),
    "24-bit": lambda path: write_24_bit(path, TONE),
    "32-bit": lambda path: wavfile.write(path, RATE, (TONE * (2**31 - 1)).astype(np.int32)),
    "float": lambda path: wavfile.write(path, RATE, TONE.astype(np.float32)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_of_any_kind_is_taken_apart_and_rebuilt(folder, pursuit, kind):
    KINDS[kind]("s.wav")
    code, said, errors = pursuit("decompose", "s.wav", "--snr", 15, "-o", "b.npz")
    assert (code, errors) == (0, "")
    assert "Book of" in said
    book = Book.load("b.npz")
    assert abs(book.frequency[0] - 440) <= 2
    assert book.snr(TONE) >= 14.9
    code, said, errors = pursuit("rebuild", "b.npz", "-o", "again.wav")
    assert (code, errors) == (0, "")
    rate, samples = wavfile.read("again.wav")
    assert rate == RATE
    assert np.abs(samples - book.rebuild()).max() <= 1e-7
    assert sorted(p.name for p in folder.iterdir()) == ["again.wav", "b.npz", "s.wav"]


def test_stereo_is_two_channels_one_by_one_or_sharing_atoms(folder, pursuit):
    wavfile.write("s.wav", RATE, np.column_stack([TONE, -0.3 * TONE[::-1]]))
    for options in ([], ["--shared"]):
        command = ("decompose", "s.wav", "--snr", 12, "-o", "b.csv", "--force", *options)
        code, _, errors = pursuit(*command, "--figure", "b.png")
        assert (code, errors) == (0, "")
        book = Book.load("b.csv")
        assert book.channels == 2
        assert set(book.channel.tolist()) == {0, 1}
        assert (folder / "b.png").stat().st_size > 10_000
    assert pursuit("rebuild", "b.csv", "-o", "x.npy")[0] == 0
    assert np.load("x.npy").shape == (2, 3000)


WRONG = [
    (["no.wav"], "no.wav: there is no such file"),
    (["text.wav"], "text.wav: is not a complete .wav file"),
    (["cut.wav"], "cut.wav: is not a complete .wav file"),
    (["sound.mp3"], "sound.mp3: expected a file that ends in .wav or .npy"),
    (["silence.wav"], "silence.wav must have a sample that is not zero"),
    (["short.wav"], "short.wav: 40 samples are shorter than a window; expected at least 64"),
    (["tone.npy"], "--rate: tone.npy does not say it; expected samples in a second"),
    (["nan.npy", "--rate", 100], "nan.npy: expected finite numbers, got nan at (7,)"),
    (["tone.wav", "--rate", 100], "--rate: tone.wav says its own"),
    (["tone.wav", "--snr", 0], "--snr: expected a positive number"),
    (["tone.wav", "--scales", "64,x"], "--scales: expected whole numbers and commas"),
    (["tone.wav", "--scales", "60"], "--scales: expected powers of two"),
    (["tone.wav", "--max-atoms", 0], "--max-atoms: expected an integer of at least 1"),
    (["tone.wav", "--figure", "b.txt"], "--figure: expected a file that ends in .png"),
    (["tone.wav", "-o", "b.txt"], "--out: expected a file that ends in .npz or .csv"),
    (["tone.wav", "-o", "there.npz"], "--out: there.npz is there already; --force"),
    (["tone.wav", "--figure", "there.png"], "--figure: there.png is there already; --force"),
    (["tone.wav", "--columns"], "--columns: tone.wav says which its channels are"),
    (
        ["columns.npy", "--rate", 100],
        "columns.npy: expected channels as rows, got 3000 channels of 2 samples; give --columns\n",
    ),
]


@pytest.fixture
def sounds(folder):
    wavfile.write("tone.wav", RATE, TONE)
    wavfile.write("silence.wav", RATE, np.zeros(3000, np.int16))
    wavfile.write("short.wav", RATE, TONE[:40])
    (folder / "text.wav").write_text("no sound at all")
    (folder / "cut.wav").write_bytes((folder / "tone.wav").read_bytes()[:5000])
    (folder / "sound.mp3").write_bytes(b"ID3")
    (folder / "there.npz").write_bytes(b"")
    (folder / "there.png").write_bytes(b"")
    np.save("tone.npy", TONE)
    np.save("columns.npy", np.column_stack([TONE, TONE]))
    np.save("nan.npy", np.where(np.arange(3000) == 7, np.nan, TONE))
    return folder


@pytest.mark.parametrize(("words", "sentence"), WRONG, ids=lambda v: str(v)[:30])
def test_a_bad_sound_or_option_is_one_sentence(sounds, pursuit, words, sentence):
    out = [] if "-o" in words else ["-o", "b.npz"]
    code, said, errors = pursuit("decompose", *words, *out)
    assert (code, said) == (2, "")
    assert errors.startswith(f"pursuit: {sentence}")
    assert errors.count("\n") == 1


def test_a_ratio_that_channels_reach_together_is_reached(folder, pursuit):
    noise = 0.01 * np.random.default_rng(0).standard_normal(3000)
    np.save("s.npy", np.array([TONE, noise]))
    command = ("decompose", "s.npy", "--rate", RATE, "--snr", 12, "--shared")
    assert pursuit(*command, "-o", "b.npz")[2] == ""
    assert min(Book.load("b.npz").reached) < 12
    assert pursuit(*command, "-o", "few.npz", "--max-atoms", 2)[2] == ""


def test_a_ratio_that_is_not_reached_is_one_line_on_standard_error(folder, pursuit):
    np.save("noise.npy", np.random.default_rng(0).standard_normal(600))
    command = ("decompose", "noise.npy", "--rate", RATE, "--snr", 60, "-o", "b.npz")
    errors = pursuit(*command)[2]
    assert errors.startswith("pursuit: --snr 60 dB was not reached, got ")
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("factor", "rate", "out", "sentence"),
    [
        (1, 0.5, "x.wav", "a .wav file needs a whole number of samples a second"),
        (1, 3e9, "x.wav", "3e+09 samples a second are too many for .wav"),
        (1e50, 100, "x.wav", "samples of up to"),
        (1, 100, "x.mp3", "expected a file that ends in .wav or .npy, got x.mp3"),
    ],
)
def test_what_a_wav_file_cannot_say_is_one_sentence(folder, pursuit, factor, rate, out, sentence):
    decompose(factor * TONE, rate, 5).save("b.npz")
    code, said, errors = pursuit("rebuild", "b.npz", "-o", out)
    assert (code, said) == (2, "")
    assert errors.startswith(f"pursuit: --out: {sentence}")
    assert errors.count("\n") == 1


def test_its_own_checkpoints_are_removed_at_the_end_and_no_other_file(folder, pursuit):
    wavfile.write("s.wav", RATE, np.column_stack([TONE, -0.3 * TONE]))
    (folder / "b[1].npz.checkpoint.mine").write_text("notes")
    assert pursuit("decompose", "s.wav", "--snr", 5, "-o", "b[1].npz")[0] == 0
    left = sorted(p.name for p in folder.iterdir())
    assert left == ["b[1].npz", "b[1].npz.checkpoint.mine", "s.wav"]


def test_a_file_that_is_no_book_is_not_rebuilt(sounds, pursuit):
    np.savez("other.npz", a=TONE)
    code, _, errors = pursuit("rebuild", "other.npz", "-o", "x.wav")
    assert code == 2
    assert errors.startswith("pursuit: other.npz: other.npz is not a book, or is damaged")


def start(folder, *more):
    words = ["decompose", folder / "noise.npy", "--rate", RATE, "--scales", "32,64,256"]
    words += ["--snr", 30, "-o", folder / "b.npz", *more]
    command = [sys.executable, "-c", COMMAND + "cli.main()", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_run_that_was_killed_and_resumed_gives_the_same_book(folder, pursuit):
    np.save("noise.npy", np.random.default_rng(0).standard_normal((2, 4000)))
    whole = ["decompose", "noise.npy", "--rate", RATE, "--scales", "32,64,256", "--snr", 30]
    assert pursuit(*whole, "-o", "whole.npz")[0] == 0
    # Killed in the first channel, then in the second.
    for k in (0, 1):
        saved, child = folder / f"b.npz.checkpoint.{k}", start(folder, "--resume")
        while child.poll() is None and not saved.exists():
            time.sleep(0.005)
        child.kill()
        child.communicate()
        assert saved.exists()
        assert not (folder / "b.npz").exists()
    child = start(folder, "--resume")
    _, errors = child.communicate()
    assert (child.returncode, errors) == (0, b"")
    expected, found = Book.load("whole.npz"), Book.load("b.npz")
    for name in COLUMNS:
        assert np.array_equal(getattr(expected, name), getattr(found, name)), name
    assert not list(folder.glob("*.checkpoint*"))


def test_ctrl_c_while_the_picture_is_drawn_loses_nothing(folder, pursuit, monkeypatch):
    """The atoms are all found by then, and kept."""
    wavfile.write("s.wav", RATE, TONE.astype(np.float32))
    command = ("decompose", "s.wav", "--snr", 12, "-o", "b.npz", "--figure", "b.png")
    with monkeypatch.context() as patch:
        patch.setattr(Book, "plot", lambda *_: signal.raise_signal(signal.SIGINT))
        code, said, errors = pursuit(*command)
    assert (code, said) == (130, "")
    goes_on = "the same command with --resume goes on from the last half minute"
    assert errors == f"pursuit: interrupted; {goes_on}\n"
    assert not (folder / "b.npz").exists()
    assert pursuit(*command, "--resume")[0] == 0
    assert sorted(p.name for p in folder.iterdir()) == ["b.npz", "b.png", "s.wav"]


def test_a_wav_file_without_a_rate_is_named(folder, pursuit):
    KINDS["16-bit"]("s.wav")
    data = bytearray((folder / "s.wav").read_bytes())
    data[24:32] = bytes(8)  # samples and bytes in a second
    (folder / "s.wav").write_bytes(data)
    code, _, errors = pursuit("decompose", "s.wav", "-o", "b.npz")
    assert code == 2
    assert errors.startswith("pursuit: s.wav: its rate: expected a positive number, got 0")


def test_a_sample_that_only_signals_is_named_and_nothing_warns(folder, pursuit):
    samples = TONE.astype(np.float32)
    samples.view(np.uint32)[7] = 0x7FA00000
    wavfile.write("s.wav", RATE, samples)
    code, _, errors = pursuit("decompose", "s.wav", "-o", "b.npz")
    assert (code, errors) == (2, "pursuit: s.wav: expected finite numbers, got nan at (7,)\n")
