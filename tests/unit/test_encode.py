"""encode() at its door: what it takes, what it refuses, what it gives back."""

import numpy as np
import pytest

from pursuit import Cone, Dictionary, Encoder, InputError, Status
from pursuit.encoding import Codes, encode
from pursuit.encoding.plan import Workload, choose_form

RNG = np.random.default_rng(0)
ATOMS = RNG.standard_normal((30, 16))
SIGNALS = RNG.standard_normal((20, 16))
BOTH = pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal"])
ARRAYS = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ARRAYS)


@BOTH
def test_a_dictionary_and_an_array_of_rows_give_the_same(method):
    array = encode(SIGNALS, ATOMS, method, n_nonzero=4)
    assert same(array, encode(SIGNALS, Dictionary(ATOMS), method, n_nonzero=4))
    assert same(array, encode(SIGNALS.tolist(), ATOMS.tolist(), method, n_nonzero=4))


@BOTH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_order_changes_nothing_and_inputs_stay_as_they_are(dtype, method):
    signals, atoms = SIGNALS.astype(dtype), ATOMS.astype(dtype) * 3
    wide = np.zeros((40, 32), dtype)
    wide[::2, ::2] = signals
    backwards = np.ascontiguousarray(signals[::-1])[::-1]
    frozen = signals.copy(), atoms.copy()
    expected = encode(signals, atoms, method, n_nonzero=4)
    for view in (np.asfortranarray(signals), wide[::2, ::2], backwards):
        assert same(expected, encode(view, np.asfortranarray(atoms), method, n_nonzero=4))
    assert np.array_equal(signals, frozen[0])
    assert np.array_equal(atoms, frozen[1])


def test_precision_follows_the_inputs():
    single = np.float32
    cases = [(SIGNALS, ATOMS, np.float64), (SIGNALS.astype(single), ATOMS, np.float64)]
    cases.append((SIGNALS.astype(single), ATOMS.astype(single), single))
    cases.append((np.rint(SIGNALS * 9).astype(int), ATOMS.astype(single), np.float64))
    for signals, atoms, expected in cases:
        codes = encode(signals, atoms, n_nonzero=3)
        assert codes.values.dtype == expected
        assert (codes @ atoms).dtype == expected
        assert codes.residual_norms.dtype == np.float64


def test_signals_and_atoms_may_have_any_shape():
    atoms, signals = ATOMS.reshape(30, 4, 4), SIGNALS.reshape(20, 4, 4)
    flat = encode(SIGNALS, ATOMS, n_nonzero=3)
    for shaped in (atoms, Dictionary(atoms)):
        codes = encode(signals, shaped, n_nonzero=3)
        assert same(flat, codes)
        assert same(flat, encode(SIGNALS, shaped, n_nonzero=3))
        assert (codes @ shaped).shape == (20, 4, 4)
        assert np.allclose((codes @ shaped).reshape(20, 16), flat @ ATOMS)


@BOTH
def test_without_any_rule_a_tenth_of_the_dimensions_is_the_limit(method):
    signals, atoms = RNG.standard_normal((5, 50)), RNG.standard_normal((80, 50))
    codes = encode(signals, atoms, method)
    assert (codes.sizes == 5).all()
    assert set(codes.counts()) == {Status.MAX_NONZERO}
    assert (encode(signals[:, :7], atoms[:, :7], method).sizes == 1).all()


def test_matching_pursuit_takes_a_thousand_steps_unless_told():
    # Two atoms an angle of 1e-3 apart: a residual of 1e-14 is out of reach in 1,000 steps.
    atoms = np.array([[1.0, 0.0], [1.0, 1e-3]])
    codes = encode([[1.0, 1.0]], atoms, "matching-pursuit", rtol=1e-14)
    assert codes.iterations[0] == 1000
    assert codes.status(0) is Status.MAX_ITER


@BOTH
def test_each_signal_ends_for_its_own_reason(method):
    atoms = np.eye(6)
    signals = np.array([[9, 0, 0, 0, 0, 0.0], [6, 5, 4, 3, 2, 1], [0] * 6, [8, 8, 0, 0, 0, 0]])
    codes = encode(signals, atoms, method, n_nonzero=3, rtol=1e-9)
    ends = [codes.status(i) for i in range(4)]
    assert ends == [Status.CONVERGED, Status.MAX_NONZERO, Status.CONVERGED, Status.CONVERGED]
    assert codes.sizes.tolist() == codes.iterations.tolist() == [1, 3, 0, 2]
    assert np.allclose(codes.residual_norms, [0, np.sqrt(14), 0, 0])
    assert codes.counts() == {Status.CONVERGED: 3, Status.MAX_NONZERO: 1}
    short = encode(signals, atoms, method, max_iter=2)
    assert short.status(1) is Status.MAX_ITER


def test_orthogonal_pursuit_lists_atoms_in_the_order_of_choice():
    codes = encode([[1.0, 3.0, 2.0]], np.eye(3), n_nonzero=3)
    assert codes.indices.tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"signals": SIGNALS[0, :9]}, ["signals", "rows", "(16,)", "(9,)"]),
        ({"signals": SIGNALS[:, :9]}, ["signals", "(16,)", "(20, 9)"]),
        ({"signals": SIGNALS[:0]}, ["signals", "at least one"]),
        ({"signals": SIGNALS + 1j}, ["signals", "complex128"]),
        ({"signals": [["a", "b"]]}, ["signals", "real numbers"]),
        ({"signals": [[1.0], [2.0, 3.0]]}, ["signals"]),
        ({"atoms": ATOMS[0]}, ["atoms", "rows", "(16,)"]),
        ({"atoms": np.zeros((0, 16))}, ["atoms", "at least one"]),
        ({"method": "somp"}, ["method", "orthogonal", "'somp'"]),
        ({"method": "ols"}, ["method", "orthogonal", "'ols'"]),
        ({"n_nonzero": 0}, ["n_nonzero", "at least 1", "0"]),
        ({"n_nonzero": 2.5}, ["n_nonzero", "2.5"]),
        ({"max_iter": 0}, ["max_iter", "at least 1"]),
        ({"rtol": -1e-3}, ["rtol", "at least 0", "-0.001"]),
        ({"rtol": float("nan")}, ["rtol", "nan"]),
        ({"atol": "small"}, ["atol", "'small'"]),
        ({"threads": 0}, ["threads", "at least 1"]),
    ],
)
def test_wrong_arguments_are_refused_with_their_name_and_value(options, words):
    given = {"signals": SIGNALS, "atoms": ATOMS, **options}
    with pytest.raises(InputError) as error:
        encode(**given)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("given", "name"),
    [("OMP", "orthogonal"), ("MP", "matching-pursuit"), ("Random_Pursuit", "random-pursuit")],
)
def test_methods_are_known_in_any_case_as_in_solve(given, name):
    codes, named = (encode(SIGNALS, ATOMS, m, max_iter=3) for m in (given, name))
    assert np.array_equal(codes.toarray(), named.toarray())
    assert codes.method == named.method


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_entry_that_is_not_finite_is_named(threads, dtype, bad):
    signals = np.ones((5000, 16), dtype)
    signals[[4321, 1234], [3, 5]] = bad
    with pytest.raises(InputError, match=rf"signals: .* got {bad} in signal 1234, entry 5"):
        encode(signals, ATOMS.astype(dtype), n_nonzero=2, threads=threads)
    atoms = ATOMS.astype(dtype)
    atoms[7, 2] = bad
    with pytest.raises(InputError, match=rf"atoms: .* got {bad} in atom 7, entry 2"):
        encode(np.ones((3, 16), dtype), atoms, n_nonzero=2)


def test_a_zero_atom_is_named():
    atoms = ATOMS.copy()
    atoms[11] = 0
    with pytest.raises(InputError, match="atoms: atom 11 is zero"):
        encode(SIGNALS, atoms)


@pytest.mark.parametrize(("signal", "atom"), [(1e30, 1.0), (1e-30, 1.0), (1.0, 1e30)])
@pytest.mark.parametrize("method", ["orthogonal", "mp", "random-pursuit", "accelerated"])
def test_magnitudes_out_of_range_are_refused(signal, atom, method):
    signals = (SIGNALS * signal).astype(np.float32)
    atoms = (ATOMS * atom).astype(np.float32)
    name, row = ("signals", "signal") if signal != 1 else ("atoms", "atom")
    with pytest.raises(InputError, match=f"{name} must be zero or .* in {row} 0; rescale"):
        encode(signals, atoms, method, max_iter=3)
    codes = encode(signals.astype(float), atoms, method, max_iter=3)
    assert np.isfinite(codes.values).all()


@pytest.mark.parametrize("form", ["gram", "columns", "products"])
@pytest.mark.parametrize("unit_atoms", [True, False])
@pytest.mark.parametrize(("dtype", "exponent"), [(np.float64, 200), (np.float32, 40)])
@pytest.mark.parametrize("over", [np.asarray, Cone])
@pytest.mark.parametrize("method", ["orthogonal", "mp"])
def test_powers_of_two_scale_codes_exactly(method, over, dtype, exponent, unit_atoms, form):
    if over is Cone and form == "columns":
        pytest.skip("no columns over a Cone")
    rng = np.random.default_rng(3)
    atoms, signals = (rng.standard_normal((n, 16)).astype(dtype) for n in (30, 40))
    options = {"rtol": 0.2, "max_iter": 50, "form": form, "unit_atoms": unit_atoms}
    expected = Encoder(over(atoms), method, **options)(signals)
    for p, q in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)):
        of_signals, of_atoms = (dtype(2.0) ** (sign * exponent) for sign in (p, q))
        codes = Encoder(over(atoms * of_atoms), method, **options)(signals * of_signals)
        for name in ("indptr", "indices", "iterations", "statuses"):
            np.testing.assert_array_equal(getattr(codes, name), getattr(expected, name))
        np.testing.assert_array_equal(codes.values, expected.values * (of_signals / of_atoms))
        np.testing.assert_array_equal(
            codes.residual_norms, expected.residual_norms * float(of_signals)
        )


def test_threads_come_from_the_environment_when_not_given(monkeypatch):
    monkeypatch.setenv("PURSUIT_THREADS", "many")
    with pytest.raises(InputError, match=r"PURSUIT_THREADS.*'many'"):
        encode(SIGNALS, ATOMS)
    assert len(encode(SIGNALS, ATOMS, threads=1)) == 20
    monkeypatch.setenv("PURSUIT_THREADS", "2")
    assert len(encode(SIGNALS, ATOMS)) == 20


def test_codes_print_what_was_done():
    text = str(encode(SIGNALS, ATOMS, n_nonzero=3))
    for words in ("20 signals over 30 atoms", "60 coefficients", "orthogonal", "MAX_NONZERO 20"):
        assert words in text
    assert "Gram matrix" in text


def test_codes_are_saved_and_loaded_without_pickle(tmp_path, monkeypatch):
    codes = encode(SIGNALS.astype(np.float32), ATOMS.astype(np.float32), n_nonzero=3)
    codes.save(tmp_path / "codes.npz")
    with np.load(tmp_path / "codes.npz", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)
    back = Codes.load(tmp_path / "codes.npz")
    assert same(codes, back)
    assert back.values.dtype == np.float32
    assert (back.method, back.plan, back.shape) == (codes.method, codes.plan, codes.shape)
    assert np.array_equal(back @ ATOMS, codes @ ATOMS)
    assert [path.name for path in tmp_path.iterdir()] == ["codes.npz"]


def test_other_files_are_not_taken_for_codes(tmp_path):
    with pytest.raises(InputError, match="no file"):
        Codes.load(tmp_path / "nothing.npz")
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "foreign.npz", header=np.zeros(3, np.uint8))
    np.save(tmp_path / "array.npy", SIGNALS)
    encode(SIGNALS, ATOMS).save(tmp_path / "whole.npz")
    whole = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    for name in ("text.npz", "foreign.npz", "array.npy", "half.npz"):
        with pytest.raises(InputError, match="not a file of codes, or is damaged"):
            Codes.load(tmp_path / name)


def test_codes_refuse_to_multiply_another_dictionary():
    with pytest.raises(InputError, match=r"expected 30 rows.*got shape \(29, 16\)"):
        encode(SIGNALS, ATOMS) @ ATOMS[1:]


@pytest.mark.parametrize(
    ("sizes", "form"),
    [
        ((100_000, 256, 64, 8, 8), "gram"),
        ((20_000, 1024, 128, 16, 16), "gram"),
        ((2_000, 16_384, 768, 32, 32), "gram"),
        ((94_249, 6, 162, 100, 6), "gram"),
        ((1, 50_000, 10_000, 100, 100), "columns"),
        ((1, 4_000, 10_000, 10, 10), "columns"),
        ((1_000, 65_536, 768, 32, 32), "products"),
        ((100_000, 65_536, 768, 32, 32), "products"),
    ],
)
def test_the_planner_forms_a_gram_matrix_when_it_pays_and_fits(sizes, form):
    for orthogonal in (False, True):
        assert choose_form(Workload(*sizes, 4, orthogonal))["form"] == form


def test_orthogonal_pursuit_is_planned_with_one_step_for_each_atom():
    """A limit of as many steps as atoms changes neither the plan nor the codes."""
    rng = np.random.default_rng(1)
    atoms = rng.standard_normal((2048, 128), dtype=np.float32)
    signals = rng.standard_normal((128, 128), dtype=np.float32)
    free = encode(signals, atoms, "orthogonal", n_nonzero=8)
    limited = encode(signals, atoms, "orthogonal", n_nonzero=8, max_iter=8)
    assert free.plan == limited.plan
    assert (free.iterations == 8).all()
    np.testing.assert_array_equal(free.indices, limited.indices)
    np.testing.assert_array_equal(free.values, limited.values)
