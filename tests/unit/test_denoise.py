"""Pictures in and out, and the noise taken off them."""

import subprocess
import sys

import numpy as np
import pytest

from pursuit import InputError
from pursuit.base.errors import MissingExtra
from pursuit.files import pictures
from pursuit.files.pictures import Picture, read_picture, write_picture
from pursuit.learning import denoising
from pursuit.learning.denoising import denoise, estimate_noise, tolerance
from pursuit.learning.patches import coverage, overlay, patches, some_patches

pytest.importorskip("PIL", reason="Pillow, which comes with matplotlib, is not installed")


def scene(height=96, width=128):
    """Stripes, discs and a slope: flat in places, textured in others; from 0.1 to 0.9."""
    y, x = np.mgrid[:height, :width] / 16
    stripes = np.sign(np.sin(3 * x + y)) * (x < 3)
    discs = 1.0 * (np.hypot(x - 5, y - 3) < 1.5) - (np.hypot(x - 6, y - 3) < 1)
    picture = stripes + discs + 0.3 * y
    return 0.1 + 0.8 * (picture - picture.min()) / np.ptp(picture)


def noisy(picture, sigma):
    return picture + sigma * np.random.default_rng(0).standard_normal(picture.shape)


def decibels(a, b):
    return -10 * np.log10(np.mean((a - b) ** 2))


COLOURED = np.stack([scene(), scene()[:, ::-1], 1 - scene()], axis=2)


# Patches -----------------------------------------------------------------------------------------


def test_patches_laid_over_each_other_are_the_picture_times_the_coverage():
    for shape in ((8, 8), (9, 30), (12, 10), (40, 23)):
        picture = np.random.default_rng(0).standard_normal(shape)
        rows, total = patches(picture, 8), np.zeros(shape)
        overlay(rows, 8, total)
        np.testing.assert_allclose(total, picture * coverage(shape, 8), atol=1e-12)
        assert np.array_equal(rows[0].reshape(8, 8), picture[:8, :8])
        some = some_patches(picture, 8, 5, np.random.default_rng(1))
        assert all((rows == row).all(axis=1).any() for row in some)


# Noise -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.01, 0.05, 0.1])
def test_the_noise_of_a_picture_is_estimated(sigma):
    given = noisy(scene(200, 300), sigma)
    assert estimate_noise(given, given > 2) == pytest.approx(sigma, rel=0.06)


def test_pixels_at_the_ends_of_the_range_do_not_hide_the_noise():
    bright = np.clip(noisy(np.where(scene(200, 300) > 0.5, 1.0, 0.5), 0.1), 0, 1)
    assert estimate_noise(bright, bright >= 1) == pytest.approx(0.1, rel=0.06)
    assert estimate_noise(bright, bright > 2) < 0.08


def test_noise_alone_seldom_exceeds_the_tolerance():
    lengths = np.linalg.norm(np.random.default_rng(0).standard_normal((20_000, 64)), axis=1)
    assert np.mean(0.3 * lengths <= tolerance(0.3)) == pytest.approx(0.93, abs=0.01)


@pytest.mark.parametrize("picture", [scene(), COLOURED], ids=["grey", "colours"])
@pytest.mark.parametrize("known", [True, False])
def test_most_of_the_noise_goes_and_the_picture_stays(picture, known):
    given = noisy(picture, 0.1)
    done = denoise(given, 0.1 if known else None, progress=False)
    assert done.pixels.shape == picture.shape
    assert decibels(done.pixels, picture) > decibels(given, picture) + 6
    assert done.noise == pytest.approx([0.1] * len(done.noise), rel=0 if known else 0.1)
    assert [len(one.atoms) for one in done.learned] == [256] * (1 if picture.ndim == 2 else 3)


def test_strips_of_a_picture_give_the_whole(monkeypatch):
    given = noisy(scene(), 0.1)
    whole = denoise(given, 0.1, progress=False)
    monkeypatch.setattr(denoising, "STRIP", 121 * 20)
    assert len(list(denoising._strips(given.shape))) == 5
    np.testing.assert_allclose(denoise(given, 0.1).pixels, whole.pixels, atol=1e-6)


def test_a_picture_of_nothing_but_noise_or_of_one_colour_comes_out_flat():
    flat = denoise(noisy(np.full((40, 50), 0.5), 0.05), 0.05)
    assert flat.learned[0] is None or len(flat.learned[0].atoms) < 256
    assert np.std(flat.pixels) < 0.015
    still = np.full((40, 50), 0.25)
    assert np.array_equal(denoise(still).pixels, still)
    np.testing.assert_allclose(denoise(still, 0.1).pixels, still, atol=1e-6)


def test_a_picture_without_noise_that_can_be_seen_stays_as_it_is():
    faint = noisy(COLOURED, 0.5 / 255)
    done = denoise(faint)
    assert done.noise == (0.0, 0.0, 0.0)
    np.testing.assert_allclose(done.pixels, faint, atol=1e-12)


def test_no_bit_depends_on_threads_or_runs():
    given = noisy(COLOURED, 0.1)
    one, other = (denoise(given, threads=t).pixels for t in (1, 2))
    assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("pixels", "options", "said"),
    [
        (np.ones((7, 30)), {}, "pixels: expected at least 8 × 8 pixels, got 7 × 30"),
        (np.ones((30, 30, 2)), {}, "pixels: expected a grey picture"),
        (np.full((9, 9), np.nan), {}, "pixels: expected finite numbers"),
        (np.ones((9, 9)), {"noise": 0}, "noise: expected a positive number, got 0"),
        (np.ones((9, 9)), {"threads": 0}, "threads: expected an integer of at least 1, got 0"),
    ],
)
def test_what_is_no_picture_is_refused(pixels, options, said):
    with pytest.raises(InputError, match=f"^{said}"):
        denoise(pixels, **options)


# Files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("alpha", [False, True])
@pytest.mark.parametrize("pixels", [scene(), COLOURED], ids=["grey", "colours"])
def test_a_picture_is_read_as_it_was_written(tmp_path, bits, alpha, pixels):
    if bits == 16 and (alpha or pixels.ndim == 3):
        pytest.importorskip("rasterio", reason="rasterio is not installed")
    opacity = scene()[::-1] if alpha else None
    path = tmp_path / "picture.png"
    write_picture(path, Picture(pixels, opacity, bits))
    found = read_picture(path)
    assert found.bits == bits
    step = 0.5 / (2**bits - 1)
    np.testing.assert_allclose(found.pixels, pixels, atol=1.01 * step)
    assert (found.alpha is None) == (opacity is None)
    if alpha:
        np.testing.assert_allclose(found.alpha, opacity, atol=1.01 * step)
    assert [one.name for one in tmp_path.iterdir()] == ["picture.png"]


def test_palettes_and_bitmaps_are_read_as_what_they_show(tmp_path):
    from PIL import Image

    drawn = Image.fromarray(np.rint(COLOURED * 255).astype(np.uint8))
    drawn.quantize(64).save(tmp_path / "palette.png")
    drawn.convert("1").save(tmp_path / "bits.png")
    assert read_picture(tmp_path / "palette.png").pixels.shape == COLOURED.shape
    assert set(np.unique(read_picture(tmp_path / "bits.png").pixels)) == {0.0, 1.0}


def test_pixels_out_of_range_are_written_at_its_ends(tmp_path):
    picture = Picture(scene(), None, 8)
    write_picture(tmp_path / "a.png", picture.with_pixels(3 * scene() - 1))
    found = read_picture(tmp_path / "a.png").pixels
    assert (found.min(), found.max()) == (0.0, 1.0)


@pytest.mark.parametrize("content", [b"", b"not a picture", b"\x89PNG\r\n\x1a\n" + bytes(40)])
def test_what_is_no_picture_file_is_one_sentence(tmp_path, content):
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.png: "):
        read_picture(path)


def test_a_missing_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "PIL", None)
    (tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(MissingExtra, match=r"needs the 'plot' extra: python -m pip install"):
        read_picture(tmp_path / "a.png")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(MissingExtra, match=r"16 bits in colours needs the 'scenes' extra"):
        pictures._read_deep(tmp_path / "a.png")


# Commands ----------------------------------------------------------------------------------------


def test_denoise_reads_cleans_and_writes(tmp_path, pursuit):
    given = np.clip(noisy(COLOURED, 0.1), 0, 1)
    write_picture(tmp_path / "photo.png", Picture(given, None, 8))
    words = "denoise", tmp_path / "photo.png", "-o", tmp_path / "clean.png", "--force"
    code, told, errors = pursuit(*words, "--atoms", tmp_path / "atoms.png")
    assert (code, errors) == (0, "")
    assert "128 × 96 pixels, in colours" in told
    assert "(estimated" in told
    found = read_picture(tmp_path / "clean.png")
    assert decibels(found.pixels, COLOURED) > decibels(given, COLOURED) + 5
    assert read_picture(tmp_path / "atoms.png").pixels.shape[2] == 3
    code, told, _ = pursuit(*words, "--noise", 25)
    assert "25.0 of 255 (given)" in told


def test_denoise_speaks_of_files_and_options(tmp_path, pursuit):
    write_picture(tmp_path / "photo.png", Picture(scene(), None, 8))
    write_picture(tmp_path / "tiny.png", Picture(scene()[:5], None, 8))
    photo, out = tmp_path / "photo.png", tmp_path / "clean.png"
    wrong = {
        "there is no such file": ("nothing.png", "-o", out),
        "--noise: expected a number above 0 and up to 255, the range of the picture, got -1": (
            *(photo, "-o", out, "--noise", -1),
        ),
        "range of the picture, got inf": (photo, "-o", out, "--noise", "inf"),
        "range of the picture, got nan": (photo, "-o", out, "--noise", "nan"),
        "--seed: expected an integer of at least 0, got -1": (photo, "-o", out, "--seed", -1),
        "--atoms: expected another file than --out": (photo, "-o", out, "--atoms", out),
        "pursuit: --atoms: ": (photo, "-o", out, "--atoms", photo),
        "--out: expected another file than the picture": (photo, "-o", photo, "--force"),
        "tiny.png is there already; --force writes over it": (photo, "-o", tmp_path / "tiny.png"),
        "does not exist": (photo, "-o", tmp_path / "no" / "clean.png"),
        "expected a name that ends in .png": (photo, "-o", tmp_path / "clean.txt"),
        "tiny.png: expected at least 8 × 8": (tmp_path / "tiny.png", "-o", out),
    }
    for said, words in wrong.items():
        code, told, errors = pursuit("denoise", *words)
        assert (code, told) == (2, "")
        assert said in errors
        assert errors.count("\n") == 1
    assert not out.exists()


def test_learn_writes_over_no_file_that_it_was_not_told_to(tmp_path, pursuit):
    signals, kept = tmp_path / "signals.npy", tmp_path / "state.npz"
    np.save(signals, np.random.default_rng(0).standard_normal((100, 8)))
    before = signals.read_bytes()
    common = "learn", signals, "--atoms", 8, "--passes", 1
    words = *common, "-o", tmp_path / "first.npy", "--checkpoint"
    for force in ((), ("--force",)):
        code, _, errors = pursuit(*words, signals, *force)
        assert (code, signals.read_bytes()) == (2, before)
        assert "--checkpoint: expected another file than the signals" in errors
    assert pursuit(*words, tmp_path / "first.npy")[0] == 2
    assert pursuit(*words, kept)[0] == 0
    state = kept.read_bytes()
    words = *common, "-o", tmp_path / "second.npy", "--checkpoint", kept
    code, _, errors = pursuit(*words)
    assert (code, kept.read_bytes()) == (2, state)
    assert f"--checkpoint: {kept} is there already; --force writes over it" in errors
    errors = pursuit(*words, "--resume", "--seed", 1)[2]
    assert "another --atoms, --nonzero, --method, --nonnegative, --start or --seed" in errors
    assert pursuit(*words, "--resume")[0] == 0


def test_learn_writes_a_dictionary_that_encode_takes(tmp_path, pursuit):
    rows = np.random.default_rng(0).standard_normal((2000, 16)).astype(np.float32)
    np.save(tmp_path / "signals.npy", rows)
    np.save(tmp_path / "columns.npy", rows.T)
    signals, out = tmp_path / "signals.npy", tmp_path / "dictionary.npy"
    words = "--atoms", 32, "--nonzero", 3, "-o", out
    code, told, errors = pursuit("learn", signals, *words)
    assert pursuit("learn", signals, *words)[0] == 2  # it is there already
    assert (code, errors) == (0, "")
    assert "32 atoms of 16 numbers (float32)" in told
    atoms = np.load(out)
    np.testing.assert_allclose(np.linalg.norm(atoms, axis=1), 1, rtol=1e-6)
    codes = "--dictionary", out, "-o", tmp_path / "codes", "--nonzero", 3
    assert pursuit("encode", signals, *codes)[0] == 0
    pursuit("learn", tmp_path / "columns.npy", *words, "--columns", "--force")
    np.testing.assert_allclose(np.linalg.norm(np.load(out), axis=0), 1, rtol=1e-6)


def test_learn_keeps_its_state_and_speaks_of_options(tmp_path, pursuit):
    np.save(tmp_path / "signals.npy", np.random.default_rng(0).standard_normal((500, 8)))
    signals, out, kept = (tmp_path / name for name in ("signals.npy", "atoms.npy", "state.npz"))
    words = "learn", signals, "--atoms", 20, "-o", out, "--force"
    assert pursuit(*words, "--checkpoint", kept, "--passes", 2)[0] == 0
    first = np.load(out)
    assert pursuit(*words, "--checkpoint", kept, "--passes", 2, "--resume")[0] == 0
    assert np.array_equal(np.load(out), first)
    assert pursuit(*words, "--checkpoint", kept, "--passes", 4, "--resume")[0] == 0
    assert not np.array_equal(np.load(out), first)
    wrong = {
        "--atoms: expected an integer of at least 1, got 0": ("--atoms", 0),
        "--nonzero: expected at most as many as there are atoms, 20, got 30": ("--nonzero", 30),
        "--method: expected one of online, aksvd, mod": ("--method", "best"),
        "--resume: expected the file to go on from as --checkpoint": ("--resume",),
        "--resume: the checkpoint belongs to other signals": (
            *("--checkpoint", kept, "--resume", "--seed", 1),
        ),
        f"{signals}: expected at least as many as there are atoms to learn, 900": ("--atoms", 900),
    }
    for said, more in wrong.items():
        code, _, errors = pursuit(*words, *more)
        assert code == 2
        assert said in errors, errors
        assert errors.count("\n") == 1


def test_help_costs_no_compiler():
    script = "import sys; from pursuit import cli; sys.argv[1:] = ['learn', '--help']\n"
    script += "try: cli.main()\nexcept SystemExit: pass\nassert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
