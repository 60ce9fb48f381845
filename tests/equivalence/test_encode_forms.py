"""encode() gives the same codes in every form, precision and number of threads, and as solve()."""

import numpy as np
import pytest
from encoded import encode_in

import pursuit
from pursuit.encoding import encode
from pursuit.encoding.plan import FORMS

METHODS = ("matching-pursuit", "orthogonal")
SHAPES = [(50, 20), (200, 30), (6, 40), (70, 100), (64, 8)]


def problem(n, d, m, seed=0):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((n, d)) * 10 ** rng.uniform(-2, 2, (n, 1))
    signals = rng.standard_normal((m, d)) * 10 ** rng.uniform(-3, 3, (m, 1))
    return signals, atoms


def solved(signal, atoms, method, **options):
    return pursuit.solve(pursuit.SquaredDistance(signal), atoms, method, tol=0, **options)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_every_code_equals_that_of_solve(method, shape, form):
    encode = encode_in(form)
    signals, rows = problem(*shape, m=12)
    atoms = pursuit.Dictionary(rows)
    k = min(6, *shape)
    limit = {"n_nonzero": k} if method == "orthogonal" else {"max_iter": 4 * k}
    codes = encode(signals, atoms, method, **limit)
    for i, signal in enumerate(signals):
        same = {"n_nonzero": k} if method == "orthogonal" else {"max_iter": 4 * k}
        result = solved(signal, atoms, method, **same)
        scale = atoms.norms
        code, coef = codes.matrix[[i]].toarray()[0], result.coef.toarray()
        norm = np.linalg.norm(signal)
        assert set(np.flatnonzero(code)) == set(np.flatnonzero(coef))
        assert np.abs((code - coef) * scale).max() <= 1e-9 * norm
        assert abs(codes.residual_norms[i] - np.sqrt(2 * result.value)) <= 1e-9 * norm
        assert codes.iterations[i] == result.iterations


@pytest.mark.parametrize("method", METHODS)
def test_residual_goals_end_where_solve_ends(method):
    signals, rows = problem(80, 30, m=25)
    atoms = pursuit.Dictionary(rows)
    codes = encode(signals, atoms, method, rtol=0.2)
    for i, signal in enumerate(signals):
        result = solved(signal, atoms, method, rtol=0.2)
        assert codes.iterations[i] == result.iterations
        assert codes.status(i) is result.status is pursuit.Status.CONVERGED


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", METHODS)
def test_the_atoms_as_given_are_used_on_request(method, form):
    encode = encode_in(form)
    signals, rows = problem(40, 25, m=10)
    atoms = pursuit.Dictionary(rows)
    codes = encode(signals, atoms, method, max_iter=7, unit_atoms=False)
    unit = encode(signals, atoms, method, max_iter=7)
    for i, signal in enumerate(signals):
        result = solved(signal, atoms, method, max_iter=7, unit_atoms=False)
        code = codes.matrix[[i]].toarray()[0]
        assert np.abs((code - result.coef.toarray()) * atoms.norms).max() <= 1e-9 * np.linalg.norm(
            signal
        )
    assert not np.array_equal(codes.indices, unit.indices)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_threads_changes_no_bit(method, form, dtype):
    encode = encode_in(form)
    signals, rows = problem(150, 40, m=30 if form == "columns" else 500)
    runs = [
        encode(signals.astype(dtype), rows.astype(dtype), method, max_iter=9, threads=t)
        for t in (1, 2, 3)
    ]
    for other in runs[1:]:
        for name in ("indptr", "indices", "values", "residual_norms", "iterations", "statuses"):
            assert np.array_equal(getattr(runs[0], name), getattr(other, name)), name


def test_few_atoms_are_counted_as_many_are():
    signals, rows = problem(5, 30, m=20)
    atoms = pursuit.Dictionary(rows)
    for allowed in (4, 5, 6):
        codes = encode(signals, atoms, "matching-pursuit", n_nonzero=allowed, max_iter=30)
        for i, signal in enumerate(signals):
            result = solved(signal, atoms, "matching-pursuit", n_nonzero=allowed, max_iter=30)
            assert codes.status(i) is result.status
            assert codes.iterations[i] == result.iterations


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 6, 8])
def test_signals_abreast_equal_signals_one_by_one(n, dtype):
    rng = np.random.default_rng(n)
    rows = (rng.standard_normal((n, 30)) + 2 * rng.standard_normal(30)).astype(dtype)
    signals = rng.standard_normal((333, 30)).astype(dtype)
    abreast = encode(signals, rows, "matching-pursuit", max_iter=40)
    # A residual goal that is never met sends the same job through the general kernel.
    general = encode(signals, rows, "matching-pursuit", max_iter=40, atol=0)
    eps = 100 * np.finfo(dtype).eps
    norms = np.linalg.norm(signals, axis=1)
    difference = (abreast.matrix - general.matrix).toarray() * np.linalg.norm(rows, axis=1)
    assert np.abs(difference).max() <= eps * norms.max()
    assert np.abs(abreast.residual_norms - general.residual_norms).max() <= 1e-4 * norms.max()
    if dtype == np.float64:
        assert np.array_equal(abreast.iterations, general.iterations)
        assert np.array_equal(abreast.statuses, general.statuses)


def gaps(signals, unit, steps, orthogonal):
    """The smallest gap between the two best correlations on the way, relative to the signal."""
    smallest = np.full(len(signals), np.inf)
    for i, signal in enumerate(signals):
        rest, chosen = signal.copy(), []
        for _ in range(steps):
            c = unit @ rest
            best, second = np.sort(np.abs(c))[-1:-3:-1]
            smallest[i] = min(smallest[i], (best - second) / np.linalg.norm(signal))
            chosen.append(int(np.argmax(np.abs(c))))
            if orthogonal:
                span = unit[chosen].T
                rest = signal - span @ np.linalg.lstsq(span, signal, rcond=None)[0]
            else:
                rest -= c[chosen[-1]] * unit[chosen[-1]]
    return smallest


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "d", "k"), [(256, 64, 8), (1024, 128, 16)])
def test_float32_finds_the_supports_of_float64_but_for_ties(n, d, k, method):
    rng = np.random.default_rng(5)
    unit = rng.standard_normal((n, d))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    weights = np.zeros((150, n))
    for row in weights:
        row[rng.choice(n, k, replace=False)] = rng.standard_normal(k)
    signals = weights @ unit + 0.02 * rng.standard_normal((150, d))
    double = encode(signals, unit, method, max_iter=k)
    single = encode(signals.astype(np.float32), unit.astype(np.float32), method, max_iter=k)
    assert single.values.dtype == np.float32
    clear = gaps(signals, unit, k, method == "orthogonal") > 1e-5
    assert clear.sum() > 100
    a, b = double.matrix.toarray() != 0, single.matrix.toarray() != 0
    assert np.array_equal(a[clear], b[clear])
    error = np.abs(single.residual_norms - double.residual_norms)[clear]
    assert (error <= 1e-4 * double.residual_norms[clear]).all()


@pytest.mark.parametrize("method", METHODS)
def test_residual_norms_are_those_of_the_codes(method):
    signals, rows = problem(60, 24, m=40)
    for goal in ({"max_iter": 5}, {"rtol": 1e-3}, {"rtol": 1e-12}):
        codes = encode(signals, rows, method, **goal)
        true = np.linalg.norm(signals - codes @ rows, axis=1)
        norms = np.linalg.norm(signals, axis=1)
        assert np.abs(codes.residual_norms - true).max() <= 1e-13 * norms.max()
        assert (np.abs(codes.residual_norms - true) <= 1e-9 * true + 1e-14 * norms).all()


def test_columns_that_had_to_go_are_computed_again():
    signals, rows = problem(400, 30, m=60)
    codes = encode_in("columns")(signals, rows, "orthogonal", n_nonzero=5)
    expected = encode_in("gram")(signals, rows, "orthogonal", n_nonzero=5)
    assert len(np.unique(codes.indices)) > 64  # more than are kept
    assert np.array_equal(codes.indices, expected.indices)
    assert np.allclose(codes.values, expected.values, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", METHODS)
def test_of_equal_correlations_the_lowest_index_is_taken(method, form, dtype):
    """Atoms are axes and entries of signals are ±1 or zero, so that ties are exact."""
    n = 130
    signals = np.zeros((4, n), dtype)
    signals[0, [5, 70, 129]] = 1
    signals[1, [3, 4, 128]] = -1, 1, 1
    signals[2, [64, 100]] = 1, -1
    signals[3, [0, 16, 32, 48, 127]] = 1
    limit = {"n_nonzero": 2} if method == "orthogonal" else {"max_iter": 2}
    codes = encode_in(form)(signals, np.eye(n, dtype=dtype), method, **limit)
    for code, signal in zip(codes, signals, strict=True):
        assert sorted(code.indices.tolist()) == np.flatnonzero(signal)[:2].tolist()
