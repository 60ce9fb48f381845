"""What comes in at a door is refused in one sentence, whatever it is: found by the fuzzer."""

import re

import numpy as np
import pytest
from scipy.io import savemat

import pursuit
from pursuit import InputError, encode, geometry, rates, solve, unmixing
from pursuit.files.tables import read_matrix

RNG = np.random.default_rng(0)
ROWS, B = RNG.standard_normal((7, 4)), RNG.standard_normal(4)
F, ATOMS = pursuit.SquaredDistance(B), pursuit.Dictionary(ROWS)
WIDE = np.arange(40.0).reshape(8, 5)
ODD = [WIDE, np.array(2), [1], {}, "3", 1j, 10**400, np.ma.masked, len, np.datetime64("2020-01-01")]


def refusal(action):
    """The one sentence of an InputError."""
    with pytest.raises(InputError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    assert message.isprintable()
    assert len(message) < 400
    return message


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("option", ["tol", "target", "max_time", "every", "n_nonzero", "rng"])
def test_an_option_that_is_no_number_is_refused_in_one_line(option, value):
    if isinstance(value, int) and option in ("every", "n_nonzero", "rng"):
        return  # a count may be as large as it likes
    said = refusal(lambda: solve(F, ATOMS, **{option: value}))
    assert said.startswith((f"{option}: ", f"{option} must be "))


@pytest.mark.parametrize("value", [WIDE, [1], {}, None, len], ids=lambda v: type(v).__name__)
def test_a_choice_that_is_no_text_is_refused(value):
    assert refusal(lambda: encode(ROWS, ROWS, method=value)).startswith("method: ")


@pytest.mark.parametrize("value", [WIDE, [1], 1, "yes", None], ids=lambda v: type(v).__name__)
def test_a_switch_is_true_or_false(value):
    said = refusal(lambda: solve(F, ATOMS, unit_atoms=value))
    assert said.startswith("unit_atoms: expected True or False")
    for option in ("unit_atoms", "resume"):
        said = refusal(lambda: encode(ROWS, ROWS, **{option: value}))  # noqa: B023
        assert said.startswith(f"{option}: expected True or False")


def test_a_tolerance_for_a_method_without_slopes_is_refused_or_is_no_number():
    assert "sees no slope" in refusal(lambda: solve(F, ATOMS, "gradient-free", tol=1e-3))
    assert refusal(lambda: solve(F, ATOMS, "gradient-free", tol=WIDE)).startswith("tol: ")
    assert solve(F, ATOMS, "gradient-free", tol=0, max_iter=2).iterations == 2


def test_a_progress_that_is_neither_wanted_nor_unwanted_is_refused():
    assert refusal(lambda: encode(ROWS, ROWS, progress=WIDE)).startswith("progress: ")


def test_no_message_has_a_second_line_or_an_unprintable_character():
    assert str(InputError("x: got\n  a\ttext\x00\x1b[31m")) == r"x: got a text\x00\x1b[31m"


def test_a_message_is_no_longer_than_a_few_lines():
    said = str(InputError("x: got " + "y" * 10_000 + ", expected less"))
    assert len(said) < 520
    assert said.startswith("x: got y")
    assert said.endswith("y, expected less")


SIZES = {
    "Coordinates": lambda n: pursuit.Coordinates(n),
    "Sphere": lambda n: pursuit.Sphere(n),
    "RankOne": lambda n: pursuit.RankOne(2, n),
    "Function": lambda n: pursuit.Function(np.sum, shape=n),
    "Oracle": lambda n: pursuit.Oracle(np.sign, shape=n, radius=1.0),
    "Groups": lambda n: pursuit.Groups([[0, 1]], size=n),
}


@pytest.mark.parametrize("make", SIZES.values(), ids=SIZES)
def test_a_size_beyond_all_counting_is_refused(make):
    assert repr(make(3))
    assert re.match(r"\w+: expected an integer up to", refusal(lambda: make(2**70)))


@pytest.mark.parametrize("groups", [3.0, None, np.array(2), [[0], [[1], [2, 3]]], "ab", [["a"]]])
def test_groups_that_are_no_lists_of_coordinates_are_refused(groups):
    assert refusal(lambda: pursuit.Groups(groups)).startswith("groups")


# Sets, objectives and results that are something else -----------------------------------------

OF_A_SET = ["radius", "diameter", "directional_width", "leverage", "nu", "nu_random", "safe_nu",
            "sampling_quality", "second_moment", "optimal_sampling"]  # fmt: skip
OF_BOTH = ["smoothness", "strong_convexity", "safe_strong_convexity", "euclidean_convexity", "gap",
           "level_radius", "distance", "sampled_convexity", "start_point"]  # fmt: skip


@pytest.mark.parametrize("name", OF_A_SET)
@pytest.mark.parametrize("atoms", [None, ROWS, "atoms", 3.0], ids=lambda v: type(v).__name__)
def test_constants_of_what_is_no_set_are_refused(name, atoms):
    assert refusal(lambda: getattr(geometry, name)(atoms)).startswith("atoms: expected an AtomSet")


@pytest.mark.parametrize("name", OF_BOTH)
def test_constants_of_what_is_no_objective_are_refused(name):
    function = getattr(geometry, name)
    extra = () if name != "start_point" else (None,)
    assert refusal(lambda: function(B, ATOMS, *extra)).startswith("f: ")
    assert refusal(lambda: function(F, ROWS, *extra)).startswith("atoms: ")
    other = pursuit.SquaredDistance(np.ones(3))
    assert refusal(lambda: function(other, ATOMS, *extra)).startswith("atoms: ")


def test_a_checked_function_is_known_by_its_name_and_its_signature():
    assert geometry.gap.__name__ == "gap"
    assert geometry.gap(f=F, atoms=ATOMS) == geometry.gap(F, ATOMS)
    assert "lin(A)" in geometry.gap.__doc__


THEOREM = {
    "f": {"f": B},
    "atoms": {"atoms": ROWS},
    "delta": {"delta": 1.5},
    "algorithm": {"algorithm": WIDE},
    "given": {"given": 3.0},
    "R_A": {"given": {"R_A": "long"}},
}


@pytest.mark.parametrize("argument", THEOREM)
def test_a_theorem_refuses_what_is_no_constant(argument):
    arguments = {"f": F, "atoms": ATOMS} | THEOREM[argument]
    assert refusal(lambda: rates.theorem_3(**arguments)).startswith(f"{argument}: ")


def test_a_certificate_is_of_a_result():
    said = refusal(lambda: pursuit.certificates.certify(F))
    assert said == "result: expected a result of solve, got SquaredDistance"


# Files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [[1], {}, 3, WIDE], ids=lambda value: type(value).__name__)
def test_a_variable_that_is_no_name_is_refused(tmp_path, name):
    np.savez(tmp_path / "a.npz", one=ROWS)
    assert refusal(lambda: read_matrix(tmp_path / "a.npz", name)).startswith("variable: ")


def test_what_a_decoder_says_is_kept_short_and_without_addresses(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, ROWS)
    path.write_bytes(
        path.read_bytes().replace(b"'fortran_order': False", b"'fortran_order': Falze")
    )
    said = refusal(lambda: read_matrix(path))
    assert said.startswith(f"{path}: is damaged or incomplete")
    assert "0x" not in said


def test_a_file_of_many_arrays_is_listed_by_its_first_ones(tmp_path):
    names = [f"matrix_{k}_{'x' * 25}" for k in range(30)]
    savemat(tmp_path / "a.mat", {name[:31]: ROWS for name in names})
    said = refusal(lambda: read_matrix(tmp_path / "a.mat"))
    assert said.count("7 × 4") == 6
    assert " and 24 more" in said


@pytest.mark.parametrize(
    ("option", "value"),
    [(name, value) for name in ("nodata", "bad_bands", "scale") for value in (WIDE, 1j, len)]
    + [("nodata", {}), ("nodata", "none"), ("bad_bands", 3), ("scale", "large"), ("scale", {})],
)
def test_how_to_read_a_scene_is_refused_where_it_says_nothing(tmp_path, option, value):
    np.save(tmp_path / "scene.npy", np.ones((2, 3, 4)))
    said = refusal(lambda: unmixing.read_scene(tmp_path / "scene.npy", **{option: value}))
    assert said.startswith(f"{option}: ")


def test_pixels_that_are_all_zero_have_no_endmembers():
    assert refusal(lambda: unmixing.spa(np.zeros((4, 3)), 1)).startswith("pixels: ")


@pytest.mark.parametrize("value", [np.nan, np.inf, 1j, "a"])
def test_codes_times_what_is_no_dictionary_is_refused(value):
    codes = encode(ROWS, ROWS, n_nonzero=1)
    atoms = ROWS.astype(object if isinstance(value, str) else type(value))
    atoms[0, 0] = value
    assert refusal(lambda: codes @ atoms).startswith("atoms: ")


@pytest.mark.parametrize(
    "atoms",
    [pursuit.Gabor(256), pursuit.Sphere(256), pursuit.Groups([range(256)], 256)],
    ids=lambda atoms: type(atoms).__name__,
)
def test_a_set_whose_atoms_cannot_be_listed_is_refused_by_its_name(atoms):
    for action in (lambda: encode(np.ones((2, 256)), atoms), lambda: pursuit.Encoder(atoms)):
        message = refusal(action)
        assert message.startswith("atoms: expected rows, or a set whose atoms can be listed, got ")
        assert type(atoms).__name__ in message


def test_a_folder_in_place_of_a_file_of_codes_is_refused(tmp_path):
    encode(ROWS, ROWS, n_nonzero=1, out=tmp_path / "codes")
    marks = tmp_path / "codes" / "finished"
    marks.unlink()
    marks.mkdir()
    assert "finished is a folder" in refusal(lambda: pursuit.Codes.open(tmp_path / "codes"))
