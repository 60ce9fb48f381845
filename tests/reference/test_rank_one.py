"""Matrices: pursuit over rank-one atoms against NumPy's singular value decomposition."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from scipy.sparse.linalg import LinearOperator, svds

from pursuit import (
    Dictionary,
    ExactLineSearch,
    Factors,
    Function,
    InputError,
    MatrixDistance,
    MatrixEntries,
    RankOne,
    SparsePlusLowRank,
    SquaredDistance,
    methods,
    solve,
)
from pursuit.linalg.leading_pair import leading_pair


def iterates(f, shape, steps, **options):
    seen = []
    solve(
        f,
        RankOne(*shape),
        max_iter=steps,
        tol=0,
        every=1,
        callback=lambda s: seen.append(s),
        **options,
    )
    for shown in seen:
        assert shown.value == pytest.approx(f.value(shown.x), abs=1e-12 * f.signal_norm**2)
    return [shown.x for shown in seen]


def truncated(B, k):
    U, s, Vt = np.linalg.svd(B, full_matrices=False)
    return (U[:, :k] * s[:k]) @ Vt[:k]


@pytest.mark.parametrize("shape", [(12, 9), (9, 12), (1, 5), (30, 100), (90, 70)])
def test_matching_pursuit_gives_the_truncated_svd_at_every_step_up_to_full_rank(shape):
    B = np.random.default_rng(0).standard_normal(shape)
    seen = iterates(MatrixDistance(B), shape, min(shape))
    assert len(seen) == min(shape) + 1
    for k, x in enumerate(seen):
        assert isinstance(x, Factors)
        assert x.weights.size == k
        assert np.abs(x.toarray() - truncated(B, k)).max() <= 1e-9 * np.abs(B).max()


@given(seed=st.integers(0, 1000), decay=st.floats(0.02, 2))
def test_any_spectrum_will_do(seed, decay):
    """Also one whose singular values fall by orders of magnitude."""
    generator = np.random.default_rng(seed)
    U = np.linalg.qr(generator.standard_normal((10, 6)))[0]
    V = np.linalg.qr(generator.standard_normal((8, 6)))[0]
    s = 10.0 ** (-decay * np.arange(6))
    B = (U * s) @ V.T
    for k, x in enumerate(iterates(MatrixDistance(B), (10, 8), 6)):
        assert np.linalg.norm(x.toarray() - (U[:, :k] * s[:k]) @ V[:, :k].T) <= 1e-9


@pytest.mark.parametrize("form", ["sparse", "sparse plus low rank"])
def test_a_matrix_that_is_never_made_dense_gives_the_same(form):
    generator = np.random.default_rng(1)
    S = random_array((120, 90), density=0.05, rng=generator, format="csr")
    L, R = generator.standard_normal((120, 3)), generator.standard_normal((90, 3))
    B = S if form == "sparse" else SparsePlusLowRank(S, L, R)
    dense = S.toarray() if form == "sparse" else S.toarray() + L @ R.T
    f = MatrixDistance(B)
    assert f.signal_norm == pytest.approx(np.linalg.norm(dense))
    for k, x in enumerate(iterates(f, (120, 90), 25)):
        assert np.abs(x.toarray() - truncated(dense, k)).max() <= 1e-9
        assert f.value(x) == pytest.approx(0.5 * np.linalg.norm(x.toarray() - dense) ** 2)


def test_a_large_sparse_plus_low_rank_matrix_needs_no_dense_iterate():
    m, n, steps = 3000, 2000, 12
    generator = np.random.default_rng(2)
    S = random_array((m, n), density=0.002, rng=generator, format="csr")
    L = generator.standard_normal((m, 8)) * np.linspace(1, 3, 8)
    B = SparsePlusLowRank(S, L, generator.standard_normal((n, 8)))
    f = MatrixDistance(B)
    tracemalloc.start()
    seen = iterates(f, (m, n), steps)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A dense iterate alone would take 48 MB.
    assert peak <= 0.5 * m * n * 8
    operator = LinearOperator((m, n), matvec=B.__matmul__, rmatvec=B.T.__matmul__, dtype=float)
    U, s, Vt = svds(operator, k=steps, tol=0, rng=np.random.default_rng(0))
    order = np.argsort(-s)
    U, s, Vt = U[:, order], s[order], Vt[order]
    probe = np.random.default_rng(3).standard_normal((n, 5))
    for k, x in enumerate(seen):
        expected = (U[:, :k] * s[:k]) @ (Vt[:k] @ probe)
        assert np.abs(x @ probe - expected).max() <= 1e-9 * s[0]


def test_a_certificate_knows_of_parts_that_cancel():
    """B is small beside its parts, whose rounding its gradient has."""
    for seed in range(50):
        L, R = np.random.default_rng(seed).standard_normal((2, 1, 2))
        L[0, 1] = 1e-3 - L[0, 0] * R[0, 0] / R[0, 1]
        B = (L.astype(np.longdouble) @ R.T).item()
        f = MatrixDistance(SparsePlusLowRank(csr_array((1, 1)), L, R))
        result = solve(f, RankOne(1, 1), max_iter=1)
        X = (result.x.left.astype(np.longdouble) * result.x.weights @ result.x.right.T).item()
        assert result.certificate.bound * (1 + 1e-9) >= (X - B) ** 2 / 2


@pytest.mark.parametrize("method", ["random-pursuit", "accelerated-matching-pursuit"])
def test_other_methods_run_on_factors_as_they_run_on_arrays(method):
    B = np.random.default_rng(4).standard_normal((5, 4))
    options = {"max_iter": 60, "tol": 0, "rng": 3}
    factored = solve(MatrixDistance(B), RankOne(5, 4), method, **options)
    dense = solve(SquaredDistance(B), RankOne(5, 4), method, **options)
    assert np.allclose(factored.x.toarray(), dense.x, rtol=0, atol=1e-10)
    assert factored.value == pytest.approx(dense.value, abs=1e-10)
    assert factored.slope == pytest.approx(dense.slope, abs=1e-8)


def test_a_stopped_run_on_factors_continues_bit_for_bit(tmp_path):
    S = random_array((150, 110), density=0.05, rng=np.random.default_rng(5), format="csr")
    file = tmp_path / "run.npz"
    for f in (MatrixDistance(S), MatrixEntries(S)):
        options = {"tol": 0, "method": "matching-pursuit"}
        whole = solve(f, RankOne(150, 110), max_iter=12, **options)
        solve(f, RankOne(150, 110), max_iter=5, checkpoint=file, **options)
        resumed = solve(f, RankOne(150, 110), max_iter=12, resume=file, **options)
        assert np.array_equal(whole.x.toarray(), resumed.x.toarray())
        assert np.array_equal(whole.trace.value, resumed.trace.value)


def test_float32_stays_float32():
    S = random_array((150, 110), density=0.05, rng=np.random.default_rng(5), dtype=np.float32)
    dense = S.toarray().astype(np.float64)
    f = MatrixDistance(S.tocsr())
    result = solve(f, RankOne(150, 110), max_iter=6, tol=0)
    assert f.dtype == result.x.weights.dtype == np.float32
    assert np.abs(result.x.toarray() - truncated(dense, 6)).max() <= 1e-4


def test_a_run_may_start_from_an_array():
    generator = np.random.default_rng(6)
    B, x0 = generator.standard_normal((2, 6, 5))
    result = solve(MatrixDistance(B), RankOne(6, 5), x0=x0, max_iter=5, tol=0)
    assert np.allclose(result.x.toarray(), B, atol=1e-12)
    assert result.trace.value[0] == pytest.approx(0.5 * np.linalg.norm(x0 - B) ** 2)


def test_the_residual_and_slope_tests_stop_it():
    B = truncated(np.random.default_rng(7).standard_normal((20, 15)), 4)
    by_slope = solve(MatrixDistance(B), RankOne(20, 15))
    assert by_slope.success
    assert by_slope.iterations == 5  # the fifth finds nothing left
    half = solve(MatrixDistance(B), RankOne(20, 15), rtol=0.7)
    assert half.success
    assert half.iterations < 4


# Known entries --------------------------------------------------------------------------


def completion(seed=8, m=40, n=30, rank=2):
    generator = np.random.default_rng(seed)
    full = generator.standard_normal((m, rank)) @ generator.standard_normal((rank, n))
    mask = generator.random((m, n)) < 0.5
    return full, csr_array(np.where(mask, full, 0.0)), mask


def test_known_entries_are_fitted_and_unknown_ones_are_found():
    full, known, mask = completion()
    result = solve(
        MatrixEntries(known),
        RankOne(40, 30),
        methods.matching_pursuit(step=ExactLineSearch()),
        max_iter=3000,
        rtol=1e-3,
    )
    x = result.x.toarray()
    assert result.success
    assert np.linalg.norm((x - full)[mask]) <= 1.01e-3 * np.linalg.norm(full[mask])
    assert np.linalg.norm((x - full)[~mask]) <= 0.6 * np.linalg.norm(full[~mask])


def test_known_entries_agree_with_a_dense_objective():
    full, known, mask = completion(9, 8, 6)
    dense = Function(
        lambda x: 0.5 * float((((x - full) * mask) ** 2).sum()),
        lambda x: (x - full) * mask,
        shape=(8, 6),
        L=1.0,
    )
    f = MatrixEntries(known)
    runs = [solve(g, RankOne(8, 6), max_iter=40, tol=0) for g in (f, dense)]
    assert np.allclose(runs[0].x.toarray(), runs[1].x, rtol=0, atol=1e-10)
    assert runs[0].value == pytest.approx(runs[1].value)


def test_a_stored_zero_is_a_known_entry():
    stored = csr_array(([0.0, 1.0], ([0, 1], [1, 0])), shape=(2, 2))
    f = MatrixEntries(stored)
    assert f.value(np.full((2, 2), 3.0)) == 0.5 * (9 + 4)


# The oracle -----------------------------------------------------------------------------


class Operator:
    def __init__(self, A):
        self.A, self.shape, self.T = A, A.shape, A.T

    def __matmul__(self, other):
        return self.A @ other


@pytest.mark.parametrize("shape", [(300, 200), (50, 400), (3, 2), (1, 1)])
@pytest.mark.parametrize("guess", ["none", "leading", "second", "orthogonal"])
def test_the_leading_pair_is_exact_whatever_the_guess(shape, guess):
    A = np.random.default_rng(10).standard_normal(shape)
    U, s, Vt = np.linalg.svd(A)
    start = {
        "none": None,
        "leading": Vt[0],
        "second": Vt[min(1, len(Vt) - 1)],
        "orthogonal": Vt[-1],
    }
    pair = leading_pair(Operator(A), start[guess])
    assert pair.sigma == pytest.approx(s[0], rel=1e-12)
    assert abs(pair.u @ U[:, 0]) == pytest.approx(1, abs=1e-10)
    assert pair.u @ (A @ pair.v) == pytest.approx(s[0], rel=1e-12)


def test_a_diagonal_matrix_hides_nothing_from_the_oracle():
    """Its singular vectors are coordinates, in which an unlucky start would stay."""
    A = np.diag(np.concatenate([[1.0, 5.0], np.linspace(0.1, 0.9, 150)]))
    pair = leading_pair(Operator(A), np.eye(152)[0])
    assert pair.sigma == pytest.approx(5.0)


def equal_or_clustered(generator):
    """A matrix whose singular values are equal, or the largest are, or nearly."""
    m, n = generator.integers(2, 9, 2)
    k = min(m, n)
    U, V = (np.linalg.qr(generator.standard_normal((side, k)))[0] for side in (m, n))
    s = (
        np.ones(k),
        np.where(generator.random(k) < 0.6, 1.0, generator.random(k)),
        1 + 10.0 ** -generator.integers(5, 16) * generator.standard_normal(k),
    )[generator.integers(3)]
    return (U * s) @ V.T


def test_equal_singular_values_are_found_one_after_another():
    """What a pair leaves of their space is orthogonal to the start that it was found from."""
    for seed in range(200):
        A = equal_or_clustered(np.random.default_rng(seed))
        for _ in range(min(A.shape)):
            sigma = np.linalg.norm(A, 2)
            pair = leading_pair(Operator(A))
            assert pair.sigma == pytest.approx(sigma, rel=1e-11, abs=1e-14), seed
            A = A - pair.sigma * np.outer(pair.u, pair.v)


@pytest.mark.parametrize("objective", [MatrixDistance, MatrixEntries])
def test_a_slope_is_the_largest_singular_value_also_among_equal_ones(objective):
    for seed in range(200):
        generator = np.random.default_rng(seed)
        B = equal_or_clustered(generator)
        steps = int(generator.integers(0, 9))
        result = solve(objective(csr_array(B)), RankOne(*B.shape), max_iter=steps)
        slope = np.linalg.norm(result.x.toarray() - B, 2)
        assert result.slope == pytest.approx(slope, rel=1e-11, abs=1e-14), seed


def test_a_slowly_converging_spectrum_is_left_to_arpack():
    s = 1 - 1e-6 * np.arange(800.0)
    generator = np.random.default_rng(11)
    Q = np.linalg.qr(generator.standard_normal((800, 800)))[0]
    pair = leading_pair(Operator((Q * s) @ Q.T))
    assert pair.sigma == pytest.approx(1, rel=1e-9)


def test_a_matrix_of_two_rows_has_a_pair_though_arpack_finds_none():
    A = csr_array(np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 1e-20]]))
    for matrix in (A, A.T):
        assert leading_pair(matrix).sigma == pytest.approx(2)
    known = csr_array(np.array([[3.0, 0.0], [0.0, 3.0]]))
    assert solve(MatrixEntries(known), RankOne(2, 2), max_iter=50).value < 1e-9


class Rounded:
    """A matrix whose products carry the rounding of much larger ones, as those of residuals do."""

    def __init__(self, A):
        self.A, self.shape = A, A.shape

    @property
    def T(self):
        return Rounded(self.A.T)

    def __matmul__(self, other):
        large = 1e10 * (np.ones(self.shape) @ other)
        return (large + self.A @ other) - large


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (1, 4), (4, 1), (230, 240), (240, 230)])
def test_a_pair_is_found_up_to_the_rounding_of_products(shape):
    """No residual falls to a share of σ₁ then, neither by Lanczos nor by ARPACK."""
    A = np.random.default_rng(3).standard_normal(shape)
    sigma = np.linalg.norm(A, 2)
    pair = leading_pair(Rounded(A))
    assert pair.sigma == pytest.approx(sigma, rel=1e-2)
    assert abs(pair.u @ A @ pair.v) == pytest.approx(sigma, rel=1e-2)


@pytest.mark.parametrize("scale", [1e70, 1e-70])
def test_the_pair_of_a_matrix_of_any_scale(scale):
    A = np.random.default_rng(4).standard_normal((70, 80))
    pair = leading_pair(Operator(scale * A))
    assert pair.sigma / scale == pytest.approx(np.linalg.norm(A, 2))


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (2, 2)])
@pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal"])
def test_small_sparse_matrices_are_found_to_the_last_digit(shape, method):
    B = np.random.default_rng(5).standard_normal(shape)
    result = solve(MatrixDistance(csr_array(B)), RankOne(*shape), method, max_iter=30, tol=1e-14)
    assert np.abs(result.x.toarray() - B).max() < 1e-13


def test_a_zero_matrix_has_a_pair_too():
    pair = leading_pair(Operator(np.zeros((80, 90))))
    assert pair.sigma == 0
    result = solve(MatrixDistance(csr_array((80, 90))), RankOne(80, 90))
    assert result.success
    assert result.iterations == 0


# Input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "complaint"),
    [
        (lambda: RankOne(0, 3), "rows: expected"),
        (lambda: MatrixDistance(np.ones(3)), "B: expected 2"),
        (lambda: MatrixEntries(np.ones((3, 3))), "B: expected a SciPy sparse"),
        (lambda: SparsePlusLowRank(csr_array((3, 2)), np.ones((3, 1)), np.ones((3, 1))), "left"),
        (lambda: solve(MatrixDistance(np.ones((3, 2))), RankOne(2, 3)), "f's shape"),
        (
            lambda: solve(MatrixDistance(np.ones((3, 2))), Dictionary(np.ones((2, 3, 2)))),
            "needs RankOne",
        ),
        (
            lambda: solve(MatrixDistance(np.ones((3, 2))), RankOne(3, 2), "gradient-free"),
            "gradient-free cannot",
        ),
    ],
)
def test_a_wrong_input_is_named(run, complaint):
    with pytest.raises(InputError, match=complaint):
        run()


def test_the_input_is_left_as_it_is():
    B = csr_array(([1.0, 2.0, 3.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    before = B.data.copy()
    MatrixDistance(B)
    MatrixEntries(B)
    assert np.array_equal(B.data, before)
