"""Spectral libraries: every format of the same spectra, and the nearest by angle."""

import numpy as np
import pytest
import scipy.io
from made_scenes import data_file, spectra, urban

from pursuit.base.errors import InputError
from pursuit.unmixing import pick
from pursuit.unmixing.libraries import (
    Match,
    SpectralLibrary,
    match_library,
    propose_names,
    read_library,
)

SPECTRA = spectra(np.random.default_rng(0), 5, bands=60)
WAVES = np.linspace(400, 2400, 60)
NAMES = ("roof", "grass", "tree", "water", "soil")
LIBRARY = SpectralLibrary(SPECTRA, NAMES, WAVES, "nm")


# Reading


def test_plain_matrices_are_libraries_without_names(tmp_path):
    np.save(tmp_path / "a.npy", SPECTRA)
    np.savetxt(tmp_path / "a.csv", SPECTRA.T, delimiter=",")
    scipy.io.savemat(tmp_path / "a.mat", {"A": SPECTRA.T, "B": np.eye(3)})
    for path, more in [("a.npy", {}), ("a.csv", {"columns": True}),
                       ("a.mat", {"variable": "A", "columns": True})]:  # fmt: skip
        found = read_library(tmp_path / path, **more)
        np.testing.assert_allclose(found.spectra, SPECTRA)
        assert (found.names, found.wavelengths) == ((), None)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_with_titles_is_a_library(tmp_path, separator):
    lines = [separator.join(["wavelength (µm)", *NAMES])]
    table = np.column_stack([WAVES / 1000, SPECTRA.T]).tolist()
    lines += [separator.join(map(repr, row)) for row in table]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    found = read_library(tmp_path / "a.csv")
    np.testing.assert_array_equal(found.spectra, SPECTRA)
    assert found.names == NAMES
    assert found.wavelength_unit == "µm"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("band,a\n1,2,3\n", "a.csv: expected 3 titles, got 2"),
        ("band,wavelength\n1,2\n", "a.csv: expected spectra beside the columns band, wavelength"),
        ("band,a\n1,nan\n", "a.csv: expected finite numbers"),
        ("band,a\n1,x\n", "a.csv: line 2, column 2: 'x' is not a number"),
    ],
)
def test_tables_that_are_none_are_refused(tmp_path, text, sentence):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_library(tmp_path / "a.csv")


def test_a_scene_is_no_library(tmp_path):
    header = "ENVI\nsamples=2\nlines=1\nbands=1\ndata type=1\ninterleave=bsq\nbyte order=0\n"
    (tmp_path / "a.hdr").write_text(header)
    (tmp_path / "a.img").write_bytes(b"12")
    with pytest.raises(InputError, match="is a scene, not a spectral library"):
        read_library(tmp_path / "a.hdr")
    header += "file type = ENVI Spectral Library\nspectra names = {a, b}\n"
    (tmp_path / "a.hdr").write_text(header)
    with pytest.raises(InputError, match="expected a name for each of 1 spectra, got 2"):
        read_library(tmp_path / "a.hdr")


# Matching


def test_the_nearest_by_angle_come_first_whatever_the_brightness():
    noisy = 0.2 * SPECTRA[[3, 1]] + 1e-4
    matches = match_library(noisy, LIBRARY)
    assert [best[0].name for best in matches] == ["water", "grass"]
    for endmember, best in zip(noisy, matches, strict=True):
        degrees = [match.degrees for match in best]
        assert degrees == sorted(degrees)
        u, v = endmember / np.linalg.norm(endmember), SPECTRA[NAMES.index(best[0].name)]
        assert degrees[0] == pytest.approx(np.degrees(np.arccos(u @ v)), abs=1e-5)
        assert len(best) == 3


@pytest.mark.parametrize(("unit", "factor"), [("nm", 1), ("Micrometers", 1e-3), (None, 1e-3)])
def test_a_library_is_brought_to_the_wavelengths_of_the_scene(unit, factor):
    here = np.linspace(350, 2600, 90)
    inside = (here >= 400) & (here <= 2400)
    own = np.array([np.interp(here, WAVES, row) for row in SPECTRA])
    own[:, ~inside] = 9.0  # outside the library's range: does not count
    matches = match_library(own, LIBRARY, factor * here, unit)
    assert [best[0].name for best in matches] == list(NAMES)
    assert max(best[0].degrees for best in matches) < 1e-5
    backwards = SpectralLibrary(SPECTRA[:, ::-1], NAMES, WAVES[::-1], "nm")
    again = match_library(own, backwards, factor * here, unit)
    assert [best[0].name for best in again] == list(NAMES)


@pytest.mark.parametrize("junk", [None, SPECTRA, "usgs.sli"])
def test_what_is_no_library_is_refused(junk):
    with pytest.raises(InputError, match="library: expected a SpectralLibrary, got "):
        match_library(SPECTRA, junk)


def test_bands_that_cannot_be_compared_are_refused():
    with pytest.raises(InputError, match="library: expected 59 bands as in the scene, or wavele"):
        match_library(SPECTRA[:, 1:], LIBRARY)
    with pytest.raises(InputError, match="overlap with 3000 to 4000 nm, got 400 to 2400 nm"):
        match_library(SPECTRA, LIBRARY, np.linspace(3000, 4000, 60), "nm")


@pytest.mark.parametrize("missing", [-1.23e34, np.nan, 7.0])
def test_bands_that_a_library_left_out_do_not_count(tmp_path, missing):
    """The USGS writes -1.23e34 for them, others name a value in the header."""
    values = SPECTRA.astype("<f4")
    values[0, :20] = values[2, 30:] = missing
    values[3, 2:] = missing  # too few are left: this one is like nothing
    (tmp_path / "library.sli").write_bytes(values.tobytes())
    (tmp_path / "library.hdr").write_text(
        f"ENVI\nfile type = ENVI Spectral Library\nsamples = {values.shape[1]}\nbands = 1\n"
        f"lines = {len(values)}\ndata type = 4\ninterleave = bsq\nbyte order = 0\n"
        f"spectra names = {{{', '.join(NAMES)}}}\ndata ignore value = 7\n"
    )
    library = read_library(tmp_path / "library.sli")
    found = match_library(SPECTRA, library)
    assert [best[0].name for best in found[:3]] == list(NAMES[:3])
    assert max(best[0].degrees for best in found[:3]) < 0.1
    assert found[3][0].name != NAMES[3]


def test_a_library_that_does_not_fit_itself_is_refused():
    with pytest.raises(InputError, match="names: expected one for each of 5 spectra, got 1"):
        SpectralLibrary(SPECTRA, ("tree",))
    with pytest.raises(InputError, match=r"wavelengths: expected shape \(60,\), got \(59,\)"):
        SpectralLibrary(SPECTRA, NAMES, WAVES[1:])
    with pytest.raises(InputError, match="spectra: expected rows of numbers"):
        SpectralLibrary(SPECTRA[0])
    with pytest.raises(InputError, match=r"endmembers: expected 2 dimension"):
        match_library(SPECTRA[0], LIBRARY)
    with pytest.raises(InputError, match=r"wavelengths: expected shape \(60,\), got \(3,\)"):
        match_library(SPECTRA, LIBRARY, [1.0, 2.0, 3.0])


def test_names_are_proposed_where_a_spectrum_is_near_and_numbered_where_it_comes_again():
    nearest = {"tree": 2.0, "roof": 25.0, "tree ": 9.0, "soil": 1.0}
    matches = [[Match(name.strip(), degrees)] for name, degrees in nearest.items()]
    assert propose_names(matches) == ("tree 1", "Endmember 2", "tree 2", "soil")


def test_endmembers_of_urban_are_named_by_its_library():
    file = scipy.io.loadmat(data_file("spectral_libs/spectral_library_urban.mat"))
    pixels, truth = urban()
    names = [str(name.ravel()[0]) for name in file["material_names"].ravel()]
    counts = [file[f"lib{k + 1}"].shape[1] for k in range(len(names))]
    library = SpectralLibrary(file["A"].T, tuple(np.repeat(names, counts)))
    assert propose_names(match_library(truth, library)) == tuple(names)
    found = pick(pixels, 6).endmembers
    near = match_library(found, library)
    assert all(len({match.name for match in best}) == 3 for best in near)
    # Each is called what the reference is called that it is nearest to, unless it is far from all.
    u, v = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (found, truth))
    assert [best[0].name for best in near] == [names[k] for k in np.argmax(u @ v.T, axis=1)]
    assert propose_names(near) == ("Tree", "Roof", "Endmember 3", "Grass", "Dirt 1", "Dirt 2")
