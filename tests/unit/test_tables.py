"""A matrix is the same from every kind of file."""

import numpy as np
import pytest
import scipy.io

from pursuit.base.errors import InputError
from pursuit.files.tables import read_matrix

MATRIX = np.array([[1.0, -2.5, 3e-7], [4.0, 5.0, 6e20]])


def save_hdf5(path, matrix):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        file["D"] = matrix.T


SAVERS = {
    "a.npy": np.save,
    "a.npz": lambda path, matrix: np.savez(path, D=matrix),
    "a.mat": lambda path, matrix: scipy.io.savemat(path, {"D": matrix, "n": 3, "name": "x"}),
    "a73.mat": save_hdf5,
    "a.csv": lambda path, matrix: np.savetxt(path, matrix, delimiter=",", fmt="%.17g"),
    "A.CSV": lambda path, matrix: np.savetxt(path, matrix, delimiter=";", header="a;b;c"),
}


@pytest.mark.parametrize("name", SAVERS)
def test_every_kind_of_file_gives_the_same_matrix(tmp_path, name):
    SAVERS[name](tmp_path / name, MATRIX)
    np.testing.assert_array_equal(read_matrix(tmp_path / name), MATRIX)
    columns = read_matrix(tmp_path / name, columns=True)
    np.testing.assert_array_equal(columns, MATRIX.T)
    assert columns.flags.c_contiguous


@pytest.mark.parametrize(
    ("stored", "read"), [("f4", "f4"), (">f4", "f4"), (">f8", "f8"), ("u2", "f8"), ("f2", "f8")]
)
def test_float32_stays_and_other_types_become_float64(tmp_path, stored, read):
    np.save(tmp_path / "a.npy", np.arange(6).reshape(2, 3).astype(stored))
    matrix = read_matrix(tmp_path / "a.npy")
    assert matrix.dtype == np.dtype(read)
    np.testing.assert_array_equal(matrix, np.arange(6).reshape(2, 3))


@pytest.mark.parametrize("columns", [False, True])
def test_one_dimension_is_one_row(tmp_path, columns):
    np.save(tmp_path / "a.npy", np.arange(4))
    assert read_matrix(tmp_path / "a.npy", columns=columns).shape == (1, 4)


def test_several_matrices_are_listed_and_one_is_chosen(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, atoms=MATRIX, signals=MATRIX + 1, count=3)
    with pytest.raises(InputError, match=r"a.npz: holds several .* atoms \(2 × 3\), signals"):
        read_matrix(path)
    np.testing.assert_array_equal(read_matrix(path, "signals"), MATRIX + 1)
    with pytest.raises(InputError, match=r"a.npz: has no array 'x', but atoms \(2 × 3\), signals"):
        read_matrix(path, "x")


def test_numbers_and_vectors_beside_one_matrix_do_not_count(tmp_path):
    np.savez(tmp_path / "a.npz", count=3, weights=np.ones(2), atoms=MATRIX, row=np.ones((1, 3)))
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.npz"), MATRIX)


def test_a_cube_is_no_matrix(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 3, 4)))
    with pytest.raises(InputError, match=r"a.npy: expected 'a' to be a matrix, got .* 2 × 3 × 4"):
        read_matrix(tmp_path / "a.npy")


def test_nan_is_refused_with_its_place(tmp_path):
    np.save(tmp_path / "a.npy", [[1.0, np.nan]])
    with pytest.raises(InputError, match=r"a.npy: a: expected finite numbers, got nan at \(0, 1\)"):
        read_matrix(tmp_path / "a.npy")


@pytest.mark.parametrize("text", ["1,2\n3,4", "1;2\r\n3;4\r\n", "1\t2\n\n3\t4\n", "1 2\n 3  4\n"])
@pytest.mark.parametrize("start", ["", "\ufeff", "first,second\n", "# two columns\n"])
def test_tables_of_text_are_read_with_any_separator_and_a_title(tmp_path, start, text):
    if start == "first,second\n":
        start = start.replace(",", next((mark for mark in ",;\t" if mark in text), " "))
    (tmp_path / "a.csv").write_text(start + text, encoding="utf-8")
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.csv"), [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "holds no array of real numbers"),
        ("only,a,title\n", "holds no array of real numbers"),
        ("1,2\n\n3,x\n", "line 3, column 2: 'x' is not a number"),
        ("1,2\n3,\n", "line 2, column 2: '' is not a number"),
        ("1,2\n3,4,5\n", "line 2: expected 2 numbers as in the first line, got 3"),
        ("id,1,2\n3,4,5\n", "line 1, column 1: 'id' is not a number"),
        ("1,nan\n", r"expected finite numbers, got nan at \(0, 1\)"),
    ],
)
def test_a_wrong_table_of_text_is_refused_with_its_line(tmp_path, text, sentence):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_matrix(tmp_path / "a.csv")


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(InputError, match=r"a.csv: is damaged or incomplete"):
        read_matrix(tmp_path / "a.csv")


def test_an_unknown_ending_lists_the_known_ones(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"ends in one of \.npy, \.npz, \.mat, \.csv"):
        read_matrix(tmp_path / "a.xlsx")


def test_a_name_of_blanks_is_quoted():
    with pytest.raises(InputError, match=r"^' ': there is no such file$"):
        read_matrix(" ")
