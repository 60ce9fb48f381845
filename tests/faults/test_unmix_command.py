"""pursuit unmix: what it writes, and bad files: one sentence, exit code 2, nothing half-written."""

import os
import pickle
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.io

RNG = np.random.default_rng(0)
SHARES = RNG.dirichlet(np.full(3, 0.5), (12, 10))
CUBE = 1000 * SHARES @ RNG.uniform(0, 1, (3, 7)) + RNG.uniform(0, 5, (12, 10, 7))


class Bomb:
    """Whoever unpickles it fails the test."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was loaded",)


@pytest.fixture
def refused(pursuit, tmp_path):
    """Unmixing fails as it should: code 2, one line that has the sentence, no new file."""

    def run(path, sentence, *arguments):
        before = sorted(tmp_path.rglob("*"))
        page, numbers = tmp_path / "out.html", tmp_path / "out.npz"
        if "-r" not in arguments and "--endmembers" not in arguments:
            arguments = ("-r", 3, *arguments)
        code, out, err = pursuit("unmix", path, "--report", page, "--out", numbers, *arguments)
        assert code == 2
        assert out == ""
        assert sentence in err
        assert err.startswith("pursuit: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert sorted(tmp_path.rglob("*")) == before

    return run


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.npy"
    np.save(path, CUBE)
    return path


# What it writes


def test_a_scene_becomes_a_page_numbers_and_a_table(pursuit, scene, tmp_path):
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.npz"
    code, out, err = pursuit("unmix", scene, "-r", 3, "--report", page, "--out", numbers)
    assert (code, err) == (0, "")
    assert "scene: picture of 12 × 10, 7 bands" in out
    assert "Endmember 3" in out
    assert "constraint non-negative, relative error" in out
    assert out.rstrip().endswith(f"the page: {page}")
    assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
    with np.load(numbers, allow_pickle=False) as file:
        assert file["abundances"].shape == (120, 3)
        assert (file["abundances"] >= 0).all()
    assert {path.name for path in tmp_path.iterdir()} == {"scene.npy", "page.html", "numbers.npz"}


def test_known_endmembers_with_names_are_used(pursuit, scene, tmp_path):
    np.savetxt(tmp_path / "pure.csv", CUBE.reshape(-1, 7)[[3, 50, 90]].T, delimiter=",")
    numbers = tmp_path / "numbers.npz"
    code, out, _ = pursuit(
        *("unmix", scene, "--endmembers", tmp_path / "pure.csv", "--columns", "--out", numbers),
        *("--constraint", "sum-to-one", "--names", "tar,[b]grass[/b],tree"),
    )
    assert code == 0
    assert "[b]grass[/b]" in out
    with np.load(numbers, allow_pickle=False) as file:
        np.testing.assert_allclose(file["abundances"].sum(axis=1), 1, atol=1e-14)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--picker", "spa"],
        ["--picker", "vca", "--seed", "3"],
        ["--picker", "h2nmf-normalised", "--no-average"],
        ["--constraint", "none"],
        ["--constraint", "sum-at-most-one"],
        ["--convergence"],
        ["--constraint", "sparse", "--nonzero", "2"],
        ["--bad-bands", "1,3-4"],
        ["--layout", "bands rows columns"],
        ["--scale", "1000"],
    ],
)
def test_every_option_leads_to_a_page(pursuit, scene, tmp_path, arguments):
    page = tmp_path / "page.html"
    code, _, err = pursuit("unmix", scene, "-r", 3, "--report", page, *arguments)
    assert code == 0
    assert err == "" or err.startswith("pursuit: the fit is bad")
    assert page.stat().st_size > 10_000


def test_pixels_without_data_are_left_out(pursuit, tmp_path):
    cube = CUBE.copy()
    cube[4, 5] = -1
    np.save(tmp_path / "scene.npy", cube)
    page = tmp_path / "page.html"
    code, out, _ = pursuit("unmix", page.with_name("scene.npy"), "-r", 3, "--nodata", -1)
    assert code == 0
    assert "119 pixels with data" in out


def test_fewer_endmembers_than_asked_for_are_said_in_one_line(pursuit, tmp_path):
    # Fewer clusters than pixels of different norm: one direction, which cannot be split.
    np.save(tmp_path / "scene.npy", np.arange(1.0, 13).reshape(3, 4, 1) * np.ones(5))
    code, _, err = pursuit("unmix", tmp_path / "scene.npy", "-r", 3, "--picker", "spa")
    assert code == 0
    assert err == "pursuit: found 1 endmembers instead of 3: they span all the others\n"


# Bad files


def test_a_truncated_mat_is_refused(refused, tmp_path):
    path = tmp_path / "scene.mat"
    scipy.io.savemat(path, {"cube": CUBE})
    path.write_bytes(path.read_bytes()[:3000])
    refused(path, "scene.mat: is damaged or incomplete")


HEADER = """ENVI
samples = 10
lines = 12
bands = 7
data type = 5
interleave = bip
byte order = 0
"""


def test_an_envi_header_without_its_numbers_is_refused(refused, tmp_path):
    (tmp_path / "scene.hdr").write_text(HEADER)
    refused(tmp_path / "scene.hdr", "the file of raw numbers beside this header is missing")


def test_an_envi_header_that_contradicts_the_size_is_refused(refused, tmp_path):
    (tmp_path / "scene.hdr").write_text(HEADER.replace("bands = 7", "bands = 8"))
    (tmp_path / "scene.img").write_bytes(CUBE.tobytes())
    refused(tmp_path / "scene.hdr", "expected 7680 bytes by its header, got 6720")


def test_a_wrong_variable_is_refused(refused, tmp_path):
    path = tmp_path / "scene.mat"
    scipy.io.savemat(path, {"Y": CUBE})
    refused(path, "has no array 'V', but Y (12 × 10 × 7)", "--variable", "V")


def test_bands_of_nan_are_refused(refused, tmp_path):
    cube = CUBE.copy()
    cube[:, :, 2] = np.nan
    np.save(tmp_path / "scene.npy", cube)
    refused(tmp_path / "scene.npy", "120 of 120 pixels have NaN or infinite values, in band 3")


@pytest.mark.parametrize("picker", ["auto", "h2nmf", "spa"])
def test_fewer_distinct_pixels_than_endmembers_are_refused(refused, tmp_path, picker):
    np.save(tmp_path / "scene.npy", np.tile(CUBE[0, :2], (4, 1, 1)))
    sentence = "r: expected at most the number of different pixels, 2, got 3"
    refused(tmp_path / "scene.npy", sentence, "--picker", picker)


def test_a_pickle_in_an_npy_is_refused_and_not_loaded(refused, tmp_path):
    (tmp_path / "scene.npy").write_bytes(pickle.dumps(Bomb()))
    refused(tmp_path / "scene.npy", "a pickle, perhaps: those are never loaded")
    np.save(tmp_path / "objects.npy", np.array([[Bomb(), 1]], dtype=object), allow_pickle=True)
    refused(tmp_path / "objects.npy", "pickled Python objects are never loaded")


def test_bad_endmembers_are_refused(refused, scene, tmp_path):
    pure = tmp_path / "pure.npy"
    np.save(pure, CUBE.reshape(-1, 7)[:3].T)
    refused(scene, "expected endmembers of 7 bands as in the scene", "--endmembers", pure)
    refused(scene, "there is no such file", "--endmembers", tmp_path / "none.npy")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--constraint", "positive"], "--constraint: expected one of none, non-negative"),
        (["--picker", "pca"], "--picker: expected one of auto, h2nmf, spa, h2nmf-normalised"),
        (["--scale", "much"], "--scale: expected a positive number or auto, got 'much'"),
        (["--scale", "-1"], "--scale: expected a positive number or auto, got '-1'"),
        (["--wavelengths", "none.txt"], "none.txt: there is no such file"),
        (["--library", "none.csv"], "none.csv: there is no such file"),
        (
            ["--shape", "9" * 5000 + "x5"],
            "--shape: expected rows and columns such as 95x95, got '9",
        ),
        (["--shape", "12"], "--shape: expected rows and columns such as 95x95, got '12'"),
        (
            ["--bad-bands", "4-2"],
            "--bad-bands: expected numbers such as 1-4,76, or a file, got '4-2'",
        ),
        (["--constraint", "sparse"], "--nonzero: expected a number with --constraint sparse"),
        (["--names", "a,b"], "--names: expected 3, one for each endmember, got 2"),
        (["-r", "0"], "-r: expected an integer of at least 1, got 0"),
        (["-r", "2", "--endmembers", "x.npy"], "-r: expected either -r NUMBER or --endmembers"),
    ],
)
def test_a_wrong_option_is_named(refused, scene, arguments, sentence):
    refused(scene, sentence, *arguments)


def test_outputs_that_cannot_be_written_are_refused_before_the_work(pursuit, tmp_path):
    scene = tmp_path / "no-such-scene.npy"  # not even read
    for option, name, sentence in [
        ("--report", "nowhere/page.html", "nowhere does not exist"),
        ("--report", "page.pdf", "--report: expected a file that ends in one of .html"),
        ("--out", "numbers.csv", "--out: expected a file that ends in one of .npz, .tif"),
        ("--endmembers-out", "a.txt", "--endmembers-out: expected a file that ends in one of .csv"),
    ]:
        code, _, err = pursuit("unmix", scene, "-r", 3, option, tmp_path / name)
        assert code == 2
        assert sentence in err
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_page_and_says_so(pursuit, scene, tmp_path, monkeypatch):
    page = tmp_path / "page.html"
    page.write_text("old")

    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "replace", full)
    code, _, err = pursuit("unmix", scene, "-r", 3, "--report", page, "--force")
    assert code == 2
    assert err == f"pursuit: {page}: cannot be written ({os.strerror(28)})\n"
    assert page.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "scene.npy"]


def test_the_program_itself_ends_with_code_2_and_one_sentence(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "pursuit.cli", "unmix", tmp_path / "none.mat", "-r", "3"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr == f"pursuit: {tmp_path / 'none.mat'}: there is no such file\n"
    assert run.stdout == ""


# Numbers, scales, names and files


def test_without_a_number_it_is_estimated_with_its_curve(pursuit, scene):
    code, out, _ = pursuit("unmix", scene)
    assert code == 0
    assert out.startswith("3 endmembers, ")
    assert "(HySime)" in out
    assert sum("% left" in line for line in out.splitlines()) >= 3
    assert out.count("  taken") == 1


def test_the_contest_is_printed(pursuit, scene):
    _, out, _ = pursuit("unmix", scene, "-r", 3)
    assert "contest of the pickers" in out
    assert out.count("│ taken │") == 1
    _, out, _ = pursuit("unmix", scene, "-r", 3, "--picker", "spa")
    assert "contest" not in out


def test_a_bad_sum_is_said_and_the_scale_auto_mends_it(pursuit, tmp_path):
    scipy.io.savemat(tmp_path / "scene.mat", {"Y": CUBE, "maxValue": 1000.0})
    np.save(tmp_path / "pure.npy", CUBE.reshape(-1, 7)[[3, 50, 90]] / 1000)
    run = ("unmix", tmp_path / "scene.mat", "--endmembers", tmp_path / "pure.npy")
    code, out, err = pursuit(*run, "--constraint", "sum-to-one")
    assert code == 0
    assert err.startswith("pursuit: the fit is bad: the mean residual is ")
    assert "its file says to divide by 1000 (scale auto does)" in err
    worse = float(re.search(r"relative error ([\d.]+)", out)[1])
    code, out, err = pursuit(*run, "--constraint", "sum-to-one", "--scale", "auto")
    assert "scales" not in err
    assert float(re.search(r"relative error ([\d.]+)", out)[1]) < worse / 2
    np.save(tmp_path / "scene.npy", CUBE)  # a file that says nothing: by the power of ten
    _, plain, _ = pursuit("unmix", tmp_path / "scene.npy", *run[2:], "--scale", "auto")
    _, said, _ = pursuit(*run, "--scale", "auto")
    assert plain.splitlines()[-1] == said.splitlines()[-1]


def test_a_library_names_the_endmembers_and_endmembers_come_back_with_names(pursuit, tmp_path):
    rng = np.random.default_rng(5)
    pure = rng.uniform(0, 1, (3, 7))
    cube = rng.dirichlet(np.full(3, 0.2), (12, 10)) @ pure
    np.save(tmp_path / "scene.npy", cube)
    titles = "band,tar,grass,tree,far"
    table = np.column_stack([np.arange(1, 8), pure.T, 1 - pure.mean(axis=0)])
    np.savetxt(tmp_path / "library.csv", table, delimiter=",", header=titles, comments="")
    code, out, _ = pursuit(
        *("unmix", tmp_path / "scene.npy", "-r", 3, "--library", tmp_path / "library.csv"),
        *("--endmembers-out", tmp_path / "found.csv"),
    )
    assert code == 0
    assert "nearest" in out
    for name in ("tar", "grass", "tree"):
        assert re.search(rf"│ {name} +│", out)
    code, out, _ = pursuit("unmix", tmp_path / "scene.npy", "--endmembers", tmp_path / "found.csv")
    assert code == 0
    assert all(re.search(rf"│ {name} +│", out) for name in ("tar", "grass", "tree"))


def test_a_library_in_columns_without_titles_is_turned(pursuit, scene, tmp_path):
    np.save(tmp_path / "library.npy", CUBE.reshape(-1, 7)[:20].T)
    _, out, _ = pursuit("unmix", scene, "-r", 3, "--library", tmp_path / "library.npy")
    assert out.count("spectrum") == 6  # as names, and as the nearest


def test_several_files_are_written_at_once(pursuit, scene, tmp_path):
    rasterio = pytest.importorskip("rasterio")
    names = ["all.npz", "shares.tif", "shares.img"]
    wanted = [option for name in names for option in ("--out", tmp_path / name)]
    spectra = tmp_path / "spectra.sli"
    code, out, _ = pursuit("unmix", scene, "-r", 3, *wanted, "--endmembers-out", spectra)
    assert code == 0
    assert out.splitlines()[-4:] == [
        f"all numbers: {tmp_path / 'all.npz'}",
        f"abundances: {tmp_path / 'shares.tif'}",
        f"abundances: {tmp_path / 'shares.img'}",
        f"endmembers: {spectra}",
    ]
    with np.load(tmp_path / "all.npz") as file:
        expected = file["abundances"].reshape(12, 10, 3)
    for name in names[1:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
            with rasterio.open(tmp_path / name) as file:
                np.testing.assert_array_equal(np.moveaxis(file.read(), 0, -1), expected)


@pytest.mark.parametrize(
    ("option", "name", "package"),
    [
        ("--out", "shares.tif", "rasterio"),
        ("--out", "shares.img", "rasterio"),
        ("--endmembers-out", "spectra.sli", "spectral"),
    ],
)
def test_a_missing_extra_is_said_before_the_work(
    pursuit, tmp_path, monkeypatch, option, name, package
):
    monkeypatch.setitem(sys.modules, package, None)
    code, _, err = pursuit("unmix", tmp_path / "nowhere.mat", option, tmp_path / name)
    assert code == 2
    assert err.startswith(f"pursuit: {tmp_path / name}: writing a ")
    assert err.rstrip().endswith(
        "needs the 'scenes' extra: python -m pip install 'pursuit[scenes]'"
    )


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (["--out", "scene.img"], "--out: .*scene.img would replace scene.hdr"),
        (["--out", "scene.hdr"], "--out: .*scene.hdr would replace scene.hdr"),
        (
            ["--endmembers-out", "scene.sli"],
            "--endmembers-out: .*scene.sli would replace scene.hdr",
        ),
        (["--out", "a.img", "--endmembers-out", "a.sli"], "--endmembers-out: .* replace a.hdr"),
        (["--out", "a.npz", "--out", "a.npz"], "--out: .*a.npz would replace a.npz"),
    ],
)
def test_nothing_that_is_read_or_written_is_written_over(pursuit, tmp_path, option, sentence):
    (tmp_path / "scene.dat").write_bytes(CUBE.astype("<f8").tobytes())
    (tmp_path / "scene.hdr").write_text(
        "ENVI\nsamples = 10\nlines = 12\nbands = 7\n"
        "data type = 5\ninterleave = bip\nbyte order = 0\n"
    )
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    option = [tmp_path / word if "." in word else word for word in option]
    code, _, err = pursuit("unmix", tmp_path / "scene.dat", "-r", 3, *option)
    assert code == 2
    assert re.search(sentence, err)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("option", "name", "there"),
    [
        ("--report", "page.html", "page.html"),
        ("--out", "all.npz", "all.npz"),
        ("--out", "shares.img", "shares.hdr"),
        ("--endmembers-out", "spectra.csv", "spectra.csv"),
    ],
)
def test_results_are_written_over_where_that_is_meant_alone(
    pursuit, scene, tmp_path, option, name, there
):
    (tmp_path / there).write_text("mine")
    line = ["unmix", scene, "-r", 3, option, tmp_path / name]
    code, out, err = pursuit(*line)
    assert (code, out) == (2, "")
    said = f"{option}: {tmp_path / there} is there already; --force writes over it"
    assert err == f"pursuit: {said}\n"
    assert (tmp_path / there).read_text() == "mine"
    if there == name:  # a header alone belongs to another file
        assert pursuit(*line, "--force")[0] == 0
        assert (tmp_path / there).read_bytes() != b"mine"


def test_a_file_of_bad_bands_is_not_written_over(pursuit, scene, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("1, 7\n")
    line = ["unmix", scene, "-r", 3, "--bad-bands", bad, "--endmembers-out", bad, "--force"]
    code, _, err = pursuit(*line)
    assert code == 2
    assert err.endswith("would replace bad.csv, which is read or written too\n")
    assert bad.read_text() == "1, 7\n"


def test_bands_and_wavelengths_come_from_side_files(pursuit, scene, tmp_path):
    (tmp_path / "bad.txt").write_text("1, 7\n")
    (tmp_path / "waves.txt").write_text(
        "wavelength (nm)\n" + "\n".join(map(str, range(400, 1100, 100)))
    )
    code, out, _ = pursuit(
        *("unmix", scene, "-r", 3, "--bad-bands", tmp_path / "bad.txt"),
        *("--wavelengths", tmp_path / "waves.txt"),
    )
    assert code == 0
    assert "5 bands, wavelengths 500 to 900 nm" in out
