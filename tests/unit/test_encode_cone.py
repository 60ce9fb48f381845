"""encode() over a Cone: the codes of the textbook, of solve(), and of every form."""

import subprocess
import sys

import numpy as np
import pytest
from encoded import encode_in
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

import pursuit
from pursuit import Cone, InputError, Status, cli, encode
from pursuit.unmixing import unmix

BOTH = pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal"])
FORMS = pytest.mark.parametrize("form", ["gram", "products"])
ARRAYS = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")


def problem(seed, m=8):
    """Signals and atoms of any scale: of any sign, or like spectra, all of them alike."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 40), rng.integers(1, 30)
    noise, shift = (1, 0) if seed % 2 else (0.3, 1)
    atoms = (noise * rng.standard_normal((n, d)) + shift) * 10 ** rng.uniform(-2, 2, (n, 1))
    signals = (noise * rng.standard_normal((m, d)) + shift) * 10 ** rng.uniform(-3, 3, (m, 1))
    return signals, atoms


def support(codes, i):
    return codes.indices[codes.indptr[i] : codes.indptr[i + 1]].tolist()


def textbook_orthogonal(y, atoms, k):
    """The atoms in use, as they came, and the coefficients; steps."""
    norms = np.linalg.norm(atoms, axis=1)
    unit, used, a, steps = atoms / norms[:, None], [], np.zeros(len(atoms)), 0
    while len(used) < k:
        c = unit @ (y - a @ unit)
        c[used] = 0
        j = int(np.argmax(c))
        if c[j] <= 1e-12 * np.linalg.norm(y):
            break
        used.append(j)
        a[:] = 0
        a[used] = nnls(unit[used].T, y)[0]
        used = [i for i in used if a[i] > 0]
        steps += 1
    return used, a / norms, steps


def textbook_matching_pursuit(y, atoms, steps):
    """The coefficients, and how often an atom left."""
    norms = np.linalg.norm(atoms, axis=1)
    unit, a, rest, left = atoms / norms[:, None], np.zeros(len(atoms)), y.copy(), 0
    for _ in range(steps):
        c = unit @ rest
        c[(c < 0) & (a == 0)] = 0  # what is not there cannot shrink
        j = int(np.argmax(np.abs(c)))
        gamma = max(c[j], -a[j])
        left += gamma == -a[j]
        a[j] = 0 if gamma == -a[j] else a[j] + gamma
        rest -= gamma * unit[j]
    return a / norms, left


def assert_near(code, expected, atoms, signal, tolerance=1e-9):
    error = np.abs((code - expected) * np.linalg.norm(atoms, axis=1)).max()
    assert error <= tolerance * np.linalg.norm(signal)


# The textbook


@FORMS
def test_orthogonal_pursuit_is_that_of_the_textbook(form):
    encode = encode_in(form)
    left = 0
    for seed in range(60):
        signals, atoms = problem(seed)
        k = seed % 15 + 1
        codes = encode(signals, Cone(atoms), "orthogonal", n_nonzero=k)
        assert (codes.values > 0).all()
        for i, y in enumerate(signals):
            used, expected, steps = textbook_orthogonal(y, atoms, k)
            code = codes.matrix[[i]].toarray()[0]
            assert support(codes, i) == used
            assert codes.iterations[i] == steps
            assert_near(code, expected, atoms, y)
            norm = np.linalg.norm(y - code @ atoms)
            assert codes.residual_norms[i] == pytest.approx(norm, abs=1e-9 * np.linalg.norm(y))
            left += steps > len(used)
    assert left > 15, "no atom ever left: nothing was proved about leaving"


@FORMS
def test_matching_pursuit_is_that_of_the_textbook(form):
    encode = encode_in(form)
    left = 0
    for seed in range(60):
        signals, atoms = problem(seed)
        codes = encode(signals, Cone(atoms), "matching-pursuit", max_iter=50)
        assert (codes.values > 0).all()
        for i, y in enumerate(signals):
            expected, times = textbook_matching_pursuit(y, atoms, int(codes.iterations[i]))
            code = codes.matrix[[i]].toarray()[0]
            assert_near(code, expected, atoms, y)
            left += times
    assert left > 8, "no atom ever left: nothing was proved about leaving"


# solve()


@BOTH
@FORMS
@pytest.mark.parametrize("unit_atoms", [True, False])
def test_every_code_equals_that_of_solve(unit_atoms, form, method):
    encode = encode_in(form)
    for seed in range(8):
        signals, rows = problem(seed, m=6)
        if not unit_atoms:
            rows /= 10 ** np.log10(np.linalg.norm(rows, axis=1, keepdims=True)).round()
        atoms = Cone(rows)
        limit = ({"n_nonzero": 5}, {"n_nonzero": 5})
        if method == "matching-pursuit":
            limit = ({"max_iter": 20}, {"max_iter": 20})
        codes = encode(signals, atoms, method, unit_atoms=unit_atoms, **limit[0])
        for i, y in enumerate(signals):
            f = pursuit.SquaredDistance(y)
            result = pursuit.solve(f, atoms, method, tol=0, unit_atoms=unit_atoms, **limit[1])
            code, coef = codes.matrix[[i]].toarray()[0], result.coef.toarray()
            assert_near(code, coef, rows, y)
            value = np.sqrt(2 * result.value)
            assert codes.residual_norms[i] == pytest.approx(value, abs=1e-9 * np.linalg.norm(y))


# What a code is, and how it ends


@given(seed=st.integers(0, 10**6))
def test_more_steps_never_fit_worse_and_goals_are_met_by_true_residuals(seed):
    signals, atoms = problem(seed)
    norms = np.linalg.norm(signals, axis=1)
    before = norms
    for k in (1, 2, 4, 8):
        codes = encode(signals, Cone(atoms), "orthogonal", n_nonzero=k)
        assert (codes.residual_norms <= before * (1 + 1e-12)).all()
        assert (codes.sizes <= k).all()
        before = codes.residual_norms
    goal = encode(signals, Cone(atoms), "orthogonal", rtol=0.5)
    true = np.linalg.norm(signals - goal @ atoms, axis=1)
    met = goal.residual_norms <= 0.5 * norms
    assert (true[met] <= 0.5 * norms[met] * (1 + 1e-9)).all()
    assert (goal.statuses == Status.CONVERGED.code).all()
    free = encode(signals, Cone(atoms), "orthogonal", n_nonzero=len(atoms))
    assert (free.residual_norms[~met] > 0.5 * norms[~met] * (1 - 1e-9)).all()


@FORMS
def test_residual_norms_are_those_of_coefficients_that_nearly_cancel(form):
    """Atoms next to opposite ones reach far with coefficients of 1e6, whose squares hide a residual
    of a few."""
    rng = np.random.default_rng(1)
    base = rng.standard_normal(5)
    atoms = np.array([base, -base, base, -base]) + 1e-6 * rng.standard_normal((4, 5))
    signals = rng.standard_normal((40, 5))
    codes = encode_in(form)(signals, Cone(atoms), rtol=0.0)
    assert np.abs(codes.values).max() > 1e5
    rest = [y - code @ atoms for y, code in zip(signals, codes.toarray(), strict=True)]
    np.testing.assert_allclose(codes.residual_norms, np.linalg.norm(rest, axis=1), rtol=1e-5)


@BOTH
def test_the_end_says_why(method):
    atoms = np.eye(4)
    signals = np.array([[3.0, 2, 1, 0], [-1, -1, -1, -1], [0, 0, 0, 0], [1, 2, 3, 4]])
    codes = encode(signals, Cone(atoms), method, n_nonzero=3)
    ends = [codes.status(i) for i in range(4)]
    assert ends == [Status.CONVERGED] * 3 + [Status.MAX_NONZERO]
    assert codes.sizes.tolist() == [3, 0, 0, 3]
    assert encode(signals[3:], Cone(atoms), method, max_iter=2).status(0) is Status.MAX_ITER
    assert encode(signals[3:], Cone(atoms), method, rtol=0.9).iterations[0] == 1


def test_an_atom_that_has_left_may_come_back():
    rng = np.random.default_rng(0)
    atoms = 1 + 0.3 * rng.standard_normal((20, 8))
    signals = atoms[rng.integers(0, 20, (200, 3))].sum(axis=1) + 0.3 * rng.standard_normal((200, 8))
    path = np.array(
        [encode(signals, Cone(atoms), max_iter=t).matrix.toarray() > 0 for t in range(1, 14)]
    )
    came, went = path[1:] & ~path[:-1], path[:-1] & ~path[1:]
    again = came[1:] & (np.cumsum(went, axis=0)[:-1] > 0)
    assert again.any(axis=(0, 2)).sum() > 3
    codes = encode(signals, Cone(atoms), n_nonzero=20)
    for i, y in enumerate(signals):
        used, expected, _ = textbook_orthogonal(y, atoms, 20)
        assert support(codes, i) == used
        assert_near(codes.matrix[[i]].toarray()[0], expected, atoms, y)


@FORMS
@pytest.mark.parametrize(
    ("seed", "n", "d", "noise", "rare"),
    [(12, 20, 8, 0.3, 51), (49, 30, 12, 0.1, 62), (49, 30, 12, 0.1, 275), (3, 40, 20, 0.2, 181)],
)
def test_an_atom_may_leave_and_come_back_within_one_step(seed, n, d, noise, rare, form):
    # Found among 120,000: the fit of the atoms in use, without looking again at those that reached
    # zero on the way, is not the best one with a ≥ 0 at some step of this signal.
    encode = encode_in(form)
    rng = np.random.default_rng(seed)
    atoms = 1 + noise * rng.standard_normal((n, d))
    y = 1 + noise * rng.standard_normal((300, d))[rare]
    codes = encode([y], Cone(atoms), "orthogonal", n_nonzero=n)
    used, expected, steps = textbook_orthogonal(y, atoms, n)
    assert codes.iterations[0] == steps
    assert set(support(codes, 0)) == set(used)
    assert_near(codes.matrix.toarray()[0], expected, atoms, y)


def test_matching_pursuit_comes_to_the_value_of_least_squares():
    rng = np.random.default_rng(0)
    atoms, signals = rng.standard_normal((15, 10)), rng.standard_normal((20, 10)) + 0.5
    codes = encode(signals, Cone(atoms), "matching-pursuit", max_iter=20_000)
    best = np.array([nnls(atoms.T, y)[1] for y in signals])
    np.testing.assert_allclose(codes.residual_norms, best, rtol=1e-9, atol=1e-9)


@BOTH
def test_an_opposite_atom_is_not_a_duplicate(method):
    atoms = np.array([[1.0, 0], [-1, 0], [0, 1], [1, 0]])
    codes = encode([[-2.0, 3], [2.0, -3]], Cone(atoms), method, n_nonzero=4)
    assert codes.matrix.toarray().tolist() == [[0, 2, 3, 0], [2, 0, 0, 0]]


@BOTH
@FORMS
def test_the_number_of_threads_changes_no_bit(form, method):
    encode = encode_in(form)
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        atoms = rng.standard_normal((60, 20)).astype(dtype)
        signals = rng.standard_normal((700, 20)).astype(dtype)
        limit = {"n_nonzero": 6} if method == "orthogonal" else {"max_iter": 12}
        runs = [encode(signals, Cone(atoms), method, threads=t, **limit) for t in (1, 2, 3)]
        for name in ARRAYS:
            for other in runs[1:]:
                assert np.array_equal(getattr(runs[0], name), getattr(other, name)), name
        assert runs[0].dtype == dtype


def test_inputs_are_left_alone_and_atoms_may_have_a_shape():
    rng = np.random.default_rng(0)
    atoms, signals = rng.random((9, 4, 5)) * 3, rng.random((11, 4, 5))
    copies = atoms.copy(), signals.copy()
    codes = encode(signals, Cone(atoms), n_nonzero=3)
    flat = encode(signals.reshape(11, 20), Cone(atoms.reshape(9, 20)), n_nonzero=3)
    assert np.array_equal(codes.values, flat.values)
    assert (codes @ Cone(atoms)).shape == signals.shape
    assert np.array_equal(atoms, copies[0])
    assert np.array_equal(signals, copies[1])


@BOTH
def test_what_cannot_be_encoded_is_refused(method):
    atoms = np.eye(3)
    for bad in (np.nan, np.inf):
        with pytest.raises(InputError, match=r"expected finite numbers, got .* 1, entry 2"):
            encode([[1, 2, 3], [1, 2, bad]], Cone(atoms), method)
    with pytest.raises(InputError, match="method: expected matching-pursuit or orthogonal over a"):
        encode([[1.0, 2, 3]], Cone(atoms), "random-pursuit")


# Who else uses it, and who does not


@pytest.mark.filterwarnings("ignore:the fit is bad")
def test_sparse_abundances_are_the_codes_over_the_cone_of_the_endmembers():
    rng = np.random.default_rng(0)
    pixels, pure = rng.standard_normal((200, 9)) + 0.5, rng.random((5, 9))
    found = unmix(pixels, pure, "sparse", n_nonzero=2).abundances
    expected = encode(pixels, Cone(pure), n_nonzero=2).matrix.toarray()
    assert np.array_equal(found, expected)
    assert (found >= 0).all()
    assert (encode(pixels, pure, n_nonzero=2).values < 0).any()


def test_codes_of_any_sign_load_none_of_the_kernels_of_a_cone():
    code = (
        "import sys, pursuit; pursuit.encode([[1.0, 2.0]], [[1.0, 0.0]]); "
        "print([name for name in sys.modules if 'cone_' in name or name.endswith('coding.cone')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


# The command line


@BOTH
def test_the_command_line_gives_the_codes_of_the_library(method, tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    signals, atoms = rng.standard_normal((30, 8)), rng.standard_normal((12, 8))
    np.save(tmp_path / "X.npy", signals)
    np.save(tmp_path / "D.npy", atoms)
    words = ["encode", tmp_path / "X.npy", "--dictionary", tmp_path / "D.npy", "--method", method]
    words += ["--nonnegative", "--atol", 1.5, "--seed", 3, "-o", tmp_path / "codes"]
    monkeypatch.setattr("sys.argv", ["pursuit", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    assert capsys.readouterr().err == ""
    expected = encode(signals, Cone(atoms), method, atol=1.5, rng=3)
    found = pursuit.Codes.open(tmp_path / "codes")
    for name in ARRAYS:
        assert np.array_equal(getattr(expected, name), getattr(found, name)), name
    assert (found.values > 0).all()
