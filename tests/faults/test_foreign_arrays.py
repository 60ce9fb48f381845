"""Arrays of other libraries are taken for what they are, or refused by their names."""

import re

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from pursuit import (
    Dictionary,
    Function,
    Groups,
    Huber,
    InputError,
    LeastSquares,
    Logistic,
    MatrixDistance,
    Operator,
    Oracle,
    Quadratic,
    Replay,
    Sampling,
    SquaredDistance,
    Transformed,
    encode,
    geometry,
    methods,
    solve,
)
from pursuit.unmixing import h2nmf, unmix

pytestmark = pytest.mark.filterwarnings("ignore:the fit is bad")  # the pixels here are noise

N, D = 6, 4
RNG = np.random.default_rng(0)
ROWS, B = RNG.standard_normal((N, D)) + 3, RNG.standard_normal(D) + 3
SIGNALS = RNG.standard_normal((9, D)) + 3
F, ATOMS, P = SquaredDistance(B), Dictionary(ROWS), np.full(N, 1 / N)
CODES = encode(SIGNALS, ROWS, n_nonzero=2)
NORMS = np.linalg.norm(ROWS, axis=1)
LABELS = np.array([1.0, 0, 1, 1, 0, 1])

# Every door: an array, what takes it in, and what it becomes there.
DOORS = {
    "Dictionary": (ROWS, lambda a: Dictionary(a).matrix),
    "SquaredDistance": (B, lambda a: SquaredDistance(a).b),
    "LeastSquares b": (B, lambda a: LeastSquares(ROWS.T, a).b),
    "Quadratic H": (np.eye(D), lambda a: Quadratic(a, B).H),
    "Huber y": (ROWS[:, 0], lambda a: Huber(ROWS, a, 1.0).y),
    "Logistic y": (LABELS, lambda a: Logistic(ROWS, a).y),
    "weights": (P, lambda a: Logistic(ROWS, LABELS, weights=a).weights),
    "solve": (ROWS, lambda a: solve(F, a).x),
    "x0": (B, lambda a: solve(F, ATOMS, x0=a, max_iter=3).x),
    "coef0": (P, lambda a: solve(F, ATOMS, coef0=a, max_iter=3).x),
    "sampling": (P, lambda a: Sampling(ATOMS, a).p),
    "Transformed": (np.eye(D), lambda a: Transformed(ATOMS, a).map.matrix),
    "Oracle": (B, lambda a: Oracle(lambda d: a, D, radius=9).lmo(B)),
    "gradient": (B, lambda a: Function(lambda x: 0.0, lambda x: a, shape=D).gradient(B)),
    "gauge": (B, lambda a: float(geometry.gauge(ATOMS, a))),
    "signals": (SIGNALS, lambda a: encode(a, ROWS, n_nonzero=2).toarray()),
    "one signal": (B, lambda a: encode(a, ROWS, n_nonzero=2).toarray()),
    "blocks": (SIGNALS, lambda a: encode(iter([a]), ROWS, n_nonzero=2).toarray()),
    "atoms": (ROWS, lambda a: encode(SIGNALS, a, n_nonzero=2).toarray()),
    "codes @": (ROWS, lambda a: CODES @ a),
    "unmix": (SIGNALS, lambda a: unmix(a, ROWS[:3]).abundances),
    "endmembers": (ROWS[:3], lambda a: unmix(SIGNALS, a).abundances),
    "h2nmf": (SIGNALS, lambda a: h2nmf(a, 2).indices),
    "norms": (NORMS, lambda a: Operator(ROWS.T, norms=a).norms),
}
# These take sparse arrays and operators, and are refused the rest.
OPERATORS = {
    "LeastSquares A": (ROWS, lambda a: LeastSquares(a, P).A),
    "Logistic X": (ROWS, lambda a: Logistic(a, LABELS).X),
    "MatrixDistance": (ROWS, lambda a: MatrixDistance(a).B),
    "Operator": (ROWS, lambda a: Operator(a).matrix.T),
}


def masked(array):
    spoiled = np.ma.array(array)
    spoiled[..., 0] = np.ma.masked
    return spoiled


def chunked(array):
    """An xarray of dask's chunks."""
    xarray, dask = pytest.importorskip("xarray"), pytest.importorskip("dask.array")
    return xarray.DataArray(dask.from_array(array))


def of(library, make):
    """What a library makes of an array; the test is left out where it is not installed."""
    return lambda array: make(pytest.importorskip(library), array)


REFUSED = {
    "masked": (masked, "masked"),
    "masked rows": (lambda a: [masked(row) for row in np.atleast_2d(a)], "masked"),
    "sparse": (sparse.csr_array, r"sparse csr_array; give its toarray\(\)"),
    "operator": (aslinearoperator, "MatrixLinearOperator"),
    "objects": (lambda a: a.astype(object), "Python objects"),
    "complex": (lambda a: a + 0j, "complex"),
    "dask": (
        of("dask.array", lambda da, a: da.from_array(a)),
        r"dask Array; give its compute\(\)",
    ),
    "chunked xarray": (
        chunked,
        r"dask Array; give its compute\(\)",
    ),
    "dataset": (of("xarray", lambda xr, a: xr.DataArray(a, name="a").to_dataset()), "Dataset"),
    "sparse tensor": (of("torch", lambda torch, a: torch.tensor(a).to_sparse()), "Tensor"),
    "tensor without numbers": (
        of("torch", lambda torch, a: torch.empty(a.shape, device="meta")),
        "Tensor",
    ),
    "frame of objects": (
        of("pandas", lambda pd, a: pd.DataFrame(np.atleast_2d(a)).astype(object)),
        "DataFrame",
    ),
}
TAKEN = {
    "unmasked": np.ma.array,
    "list": lambda a: a.tolist(),
    "matrix rows": lambda a: np.asfortranarray(a),
    "tensor": of("torch", lambda torch, a: torch.tensor(a)),
    "tensor with gradient": of("torch", lambda torch, a: torch.tensor(a, requires_grad=True)),
    "parameter": of("torch", lambda torch, a: torch.nn.Parameter(torch.tensor(a))),
    "xarray": of("xarray", lambda xr, a: xr.DataArray(a)),
}


ELSEWHERE = {
    ("unmix", "xarray"),
    ("unmix", "chunked xarray"),
    ("signals", "dask"),
    ("one signal", "dask"),
}
"""What is taken with its labels, or in its chunks, and proved elsewhere."""


def assert_refused(enter, value, pattern):
    with pytest.raises(InputError) as caught:
        enter(value)
    message = str(caught.value)
    assert re.search(pattern, message), message
    assert "type object" not in message
    assert "\n" not in message
    assert len(message) < 300


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("door", DOORS)
def test_what_is_not_an_array_of_numbers_in_memory_is_refused_by_name(door, kind):
    if (door, kind) in ELSEWHERE:
        return
    array, enter = DOORS[door]
    make, pattern = REFUSED[kind]
    assert_refused(enter, make(array), pattern)


@pytest.mark.parametrize("kind", [k for k in REFUSED if k not in ("sparse", "operator")])
@pytest.mark.parametrize("door", OPERATORS)
def test_so_it_is_where_operators_are_welcome(door, kind):
    array, enter = OPERATORS[door]
    make, pattern = REFUSED[kind]
    assert_refused(enter, make(array), pattern)


@pytest.mark.parametrize("kind", ["masked", "sparse", "dask", "objects"])
def test_so_it_is_where_numbers_of_atoms_are_given(kind):
    make, pattern = REFUSED[kind]
    picks = make(np.array([0, 1]))
    replay = methods.matching_pursuit(direction=Replay(picks))
    assert_refused(lambda m: solve(F, ATOMS, m, max_iter=2), replay, pattern)
    if kind != "sparse":  # which is no sequence
        assert_refused(lambda a: Groups([a]), picks, pattern)


@pytest.mark.parametrize("kind", TAKEN)
@pytest.mark.parametrize("door", DOORS | OPERATORS)
def test_what_holds_the_same_numbers_gives_the_same_answer(door, kind):
    if (door, kind) in ELSEWHERE:
        return
    array, enter = (DOORS | OPERATORS)[door]
    expected, got = np.asarray(enter(array)), np.asarray(enter(TAKEN[kind](array)))
    assert got.dtype == expected.dtype
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("door", ["Dictionary", "SquaredDistance", "signals", "solve", "unmix"])
@pytest.mark.parametrize("kind", ["half", "bfloat16", "numpy half"])
def test_half_precision_is_taken_for_the_float64_numbers_that_it_holds(door, kind):
    array, enter = DOORS[door]
    if kind == "numpy half":
        value = array.astype(np.float16)
        numbers = value.astype(np.float64)
    else:
        torch = pytest.importorskip("torch")
        value = torch.tensor(array).to(getattr(torch, kind))
        numbers = value.double().numpy()
    assert np.array_equal(enter(value), enter(numbers))


def test_a_tensor_keeps_its_precision_and_its_gradient():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(ROWS, dtype=torch.float32, requires_grad=True)
    assert Dictionary(tensor).dtype == np.float32
    assert encode(tensor, tensor).dtype == np.float32
    assert tensor.requires_grad


# What people try first -----------------------------------------------------------------------


def test_solve_takes_an_array_for_the_dictionary_of_its_rows():
    expected, got = solve(F, ATOMS), solve(F, ROWS)
    assert np.array_equal(got.x, expected.x)
    assert np.array_equal(solve(F, ROWS.tolist()).x, expected.x)
    checkpoint = solve(F, ROWS, max_iter=2, tol=0)
    resumed = solve(F, ATOMS, max_iter=5, tol=0, resume=checkpoint)
    assert np.array_equal(resumed.x, solve(F, ATOMS, max_iter=5, tol=0).x)


@pytest.mark.parametrize("make", [np.asarray, list, tuple])
def test_one_signal_is_encoded_as_a_single_row(make, tmp_path):
    expected = encode(B[None], ROWS, n_nonzero=2)
    codes = encode(make(B), ROWS, n_nonzero=2)
    assert codes.shape == (1, N)
    assert np.array_equal(codes.toarray(), expected.toarray())
    np.save(tmp_path / "signal.npy", B)
    assert np.array_equal(encode(tmp_path / "signal.npy", ROWS, n_nonzero=2), expected)
    picture = encode(B.reshape(2, 2), ROWS.reshape(N, 2, 2), n_nonzero=2)
    assert np.array_equal(picture.toarray(), expected.toarray())


def test_one_signal_of_another_length_is_answered_with_the_shapes():
    sentence = r"^signals: expected rows of the atoms' shape \(4,\), .* got shape \(3,\)"
    assert_refused(lambda b: encode(b, ROWS), B[:3], sentence)


@pytest.mark.parametrize(("short", "full"), [("mp", "matching-pursuit"), ("omp", "orthogonal")])
def test_the_short_names_of_the_field_are_known(short, full):
    assert np.array_equal(solve(F, ATOMS, short).x, solve(F, ATOMS, full).x)
    assert solve(F, ATOMS, short).method == full
    codes = encode(SIGNALS, ROWS, short, n_nonzero=2)
    assert codes.method == full
    assert np.array_equal(codes, encode(SIGNALS, ROWS, full, n_nonzero=2))
