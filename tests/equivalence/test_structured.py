"""Sets that know their structure give what a dictionary of all their atoms gives."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

import pursuit
from pursuit import (
    Cone,
    Coordinates,
    Dictionary,
    LeastSquares,
    Operator,
    Shifts,
    SparseDictionary,
    SquaredDistance,
    Subset,
    Union,
    solve,
)
from pursuit.points import choose

rng = np.random.default_rng(3)
MATRIX = rng.standard_normal((40, 55))
ENTRIES = sparse.random_array((70, 40), density=0.06, rng=rng, format="csr") + sparse.csr_array(
    (np.ones(70), (np.arange(70), np.arange(70) % 40)), shape=(70, 40)
)
MANY = [[1e-3], [1.0], [40.0]]

SETS = {
    "1-D": Shifts(rng.standard_normal((3, 7)), 60),
    "1-D of many scales": Shifts(rng.standard_normal((3, 5)) * MANY, 40),
    "2-D": Shifts(rng.standard_normal((3, 4, 3)), (13, 12)),
    "channels": Shifts(rng.standard_normal((3, 2, 6)), (2, 40)),
    "channels behind samples": Shifts(rng.standard_normal((3, 6, 2)), (40, 2)),
    "channels of images": Shifts(rng.standard_normal((2, 2, 3, 4)), (2, 10, 9)),
    "sparse": SparseDictionary(ENTRIES),
    "operator": Operator(MATRIX),
    "products": Operator(
        LinearOperator((40, 55), lambda w: MATRIX @ w, lambda d: MATRIX.T @ d, dtype=float)
    ),
    "spikes and shifts": Union(Coordinates(40), Shifts(rng.standard_normal((2, 5)), 40)),
    "dense and sparse": Union(Dictionary(MATRIX.T), SparseDictionary(ENTRIES)),
    "shifts and products": Union(Shifts(rng.standard_normal((2, 5)), 40), Operator(MATRIX)),
}


def explicit(atoms):
    return Dictionary(np.array([atoms.vector(j) for j in range(len(atoms))]))


def signal(atoms, seed=0):
    return np.random.default_rng(seed).standard_normal(atoms.shape)


def agree(one, other, within=1e-10):
    assert one.support.tolist() == other.support.tolist()
    np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=within)
    np.testing.assert_allclose(one.x, other.x, rtol=0, atol=within)
    assert one.value == pytest.approx(other.value, abs=within)
    assert one.slope == pytest.approx(other.slope, abs=within)


@pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal", "random-pursuit"])
@pytest.mark.parametrize("name", SETS)
def test_a_structured_set_runs_as_a_dictionary_of_its_atoms(name, method):
    atoms = SETS[name]
    f = SquaredDistance(signal(atoms))
    agree(*(solve(f, a, method, max_iter=25, tol=0) for a in (atoms, explicit(atoms))))


@pytest.mark.parametrize("name", ["1-D of many scales", "channels", "dense and sparse"])
def test_it_does_so_on_atoms_as_given(name):
    atoms = SETS[name]
    f = SquaredDistance(signal(atoms))
    for method in ("matching-pursuit", "affine-invariant"):
        runs = (
            solve(f, a, method, max_iter=20, tol=0, unit_atoms=False)
            for a in (atoms, explicit(atoms))
        )
        agree(*runs)


@pytest.mark.parametrize("method", ["accelerated", "greedy-greedy", "blended", "gradient-free"])
@pytest.mark.parametrize("name", ["2-D", "sparse", "operator", "spikes and shifts"])
def test_methods_with_momentum_run_as_over_a_dictionary(name, method):
    atoms = SETS[name]
    f = SquaredDistance(signal(atoms))
    first, second = (solve(f, a, method, max_iter=12, tol=0) for a in (atoms, explicit(atoms)))
    np.testing.assert_allclose(first.x, second.x, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["1-D", "sparse", "operator", "dense and sparse"])
def test_other_objectives_and_rules_run_as_over_a_dictionary(name):
    atoms, size = SETS[name], int(np.prod(SETS[name].shape))
    measured = LeastSquares(rng.standard_normal((30, size)), rng.standard_normal(30))
    agree(*(solve(measured, a, max_iter=15, tol=0) for a in (atoms, explicit(atoms))), 1e-9)
    f, subset = (
        SquaredDistance(signal(atoms)),
        pursuit.methods.matching_pursuit(direction=Subset(9)),
    )
    agree(*(solve(f, a, subset, max_iter=15, tol=0) for a in (atoms, explicit(atoms))))
    agree(*(solve(f, Cone(a), max_iter=15, tol=0) for a in (atoms, explicit(atoms))))


@pytest.mark.parametrize("name", ["1-D", "2-D", "channels behind samples", "sparse"])
def test_overlaps_are_the_gram_matrix_and_reach_finds_all_that_meet_a_vector(name):
    atoms = SETS[name]
    gram = atoms.matrix @ atoms.matrix.T
    for z in range(0, len(atoms), 7):
        for places, products in (atoms.overlaps(z), atoms.reach(*atoms.support(z))):
            assert (np.diff(places) > 0).all()
            row = np.zeros(len(atoms))
            row[places] = products
            np.testing.assert_allclose(row, gram[z], rtol=0, atol=1e-9)


def test_long_signals_are_correlated_block_by_block():
    templates, d = rng.standard_normal((2, 30)), rng.standard_normal(30_000)
    direct = [np.correlate(d, template, "valid") for template in templates]
    atoms = Shifts(templates, 30_000)
    np.testing.assert_allclose(atoms.correlate(d), np.ravel(direct, "F"), rtol=0, atol=1e-10)
    image = rng.standard_normal((700, 600))
    patch = Shifts(rng.standard_normal((1, 9, 8)), image.shape)
    windows = np.lib.stride_tricks.sliding_window_view(image, (9, 8))
    exact = np.einsum("ijab,ab->ij", windows, patch.templates[0, 0])
    np.testing.assert_allclose(patch.correlate(image), exact.ravel(), rtol=0, atol=1e-10)
    weights = rng.standard_normal(len(patch))
    dense = patch.combine(weights)
    assert np.vdot(dense, image) == pytest.approx(weights @ exact.ravel(), rel=1e-9)


def test_the_value_falls_by_what_each_of_10_000_steps_says():
    atoms = Shifts(rng.standard_normal((4, 50)), 5000)
    f = SquaredDistance(signal(atoms))
    x = choose(f, atoms.unit().atoms, np.zeros(5000))
    first, said = x.value(), 0.0
    for _ in range(10_000):
        z, c = x.lmo()
        h = x.curvature(z)
        x.move(c / h, z)
        said += c * c / (2 * h)
    true = 0.5 * np.sum((x.vector - f.b) ** 2)
    assert true == pytest.approx(first - said, abs=1e-10 * first)
    assert x.value() == pytest.approx(true, abs=1e-10 * first)
    kept = x.s.copy()
    x.refresh()
    np.testing.assert_allclose(kept, x.s, rtol=0, atol=1e-10)


def test_memory_is_a_few_times_that_of_the_correlations():
    samples, templates = 200_000, rng.standard_normal((5, 40)).astype(np.float32)
    f = SquaredDistance(rng.standard_normal(samples).astype(np.float32))
    solve(f, Shifts(templates, samples), max_iter=50, tol=0)  # the kernels are compiled
    tracemalloc.start()
    solve(f, Shifts(templates, samples), max_iter=50, tol=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * 5 * samples * 4  # the matrix of all atoms would take 200,000 × as much


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", ["matching-pursuit", "random-pursuit"])
def test_compiled_stretches_make_the_steps_of_the_rules_bit_for_bit(method, dtype):
    atoms = Shifts(rng.standard_normal((3, 20)).astype(dtype), 900)
    f = SquaredDistance(signal(atoms).astype(dtype))
    one, other = (solve(f, atoms, method, max_iter=300, tol=0, every=e) for e in (1, 300))
    assert np.array_equal(one.weights, other.weights)
    assert (one.value, one.counts) == (other.value, other.counts)


@pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal", "local-orthogonal"])
@pytest.mark.parametrize("name", ["1-D", "2-D", "sparse", "operator", "spikes and shifts"])
def test_stopped_and_resumed_equals_uninterrupted(name, method, tmp_path):
    atoms = SETS[name]
    f, whole = SquaredDistance(signal(atoms)), {"max_iter": 30, "tol": 0}
    uninterrupted = solve(f, atoms, method, **whole)
    solve(f, atoms, method, max_iter=11, tol=0, checkpoint=tmp_path / "run")
    resumed = solve(f, atoms, method, **whole, resume=tmp_path / "run")
    assert np.array_equal(resumed.x, uninterrupted.x)
    assert resumed.support.tolist() == uninterrupted.support.tolist()


def test_limits_hold_as_everywhere():
    atoms = Shifts(rng.standard_normal((3, 30)), 2000)
    f = SquaredDistance(signal(atoms))
    for every in (1, 500):
        few = solve(f, atoms, n_nonzero=40, tol=0, every=every)
        assert (few.status.name, len(few.support)) == ("MAX_NONZERO", 40)
        near = solve(f, atoms, rtol=0.9, max_iter=5000, every=every)
        assert near.status.name == "CONVERGED"
        residual = np.linalg.norm(near.x - f.b) / np.linalg.norm(f.b)
        before = solve(f, atoms, max_iter=near.iterations - 1, tol=0)
        assert residual <= 0.9 < np.linalg.norm(before.x - f.b) / np.linalg.norm(f.b)


def test_a_start_by_coefficients_counts_from_them():
    atoms = SETS["1-D"]
    f, coef = SquaredDistance(signal(atoms)), np.zeros(len(atoms))
    coef[[3, 50]] = 1.0, -2.0
    agree(*(solve(f, a, coef0=coef, max_iter=20, tol=0) for a in (atoms, explicit(atoms))))


def test_float32_stays_float32_and_is_near():
    single = Shifts(rng.standard_normal((3, 20)).astype(np.float32), 400)
    f = SquaredDistance(signal(single).astype(np.float32))
    run = solve(f, single, max_iter=60, tol=0)
    assert run.x.dtype == np.float32
    exact = solve(f.double(), single.astype(np.dtype(np.float64)), max_iter=60, tol=0)
    np.testing.assert_allclose(run.x, exact.x, rtol=0, atol=1e-5)


def test_local_correction_fits_no_better_than_its_own_atoms_allow_and_better_than_none():
    values = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        atoms = Shifts(random.standard_normal((4, 20)), 600)
        b = random.standard_normal(600)
        local, plain = (
            solve(SquaredDistance(b), atoms, method, n_nonzero=90, tol=0)
            for method in ("local-orthogonal", "matching-pursuit")
        )
        rows = np.array([atoms.vector(z) for z in local.support])
        fit = np.linalg.lstsq(rows.T, b, rcond=None)[0] @ rows
        assert np.sum((b - fit) ** 2) / 2 <= local.value * (1 + 1e-12)
        values.append((local.value, plain.value))
    assert np.sum(values, axis=0)[0] < np.sum(values, axis=0)[1]


def test_without_known_overlaps_local_orthogonal_is_orthogonal():
    f = SquaredDistance(rng.standard_normal(40))
    runs = (solve(f, MATRIX.T, m, n_nonzero=12) for m in ("local-orthogonal", "orthogonal"))
    agree(*runs)


def test_atoms_that_depend_on_others_are_set_aside():
    atoms = Shifts(rng.standard_normal((3, 4)), 12)  # 27 atoms in 12 dimensions
    f = SquaredDistance(signal(atoms))
    run = solve(f, atoms, "orthogonal", tol=0, max_iter=60)
    assert run.value < 1e-25
    assert len(run.support) <= 12


def test_many_signals_are_encoded_over_a_set_that_is_small_enough():
    atoms = SETS["sparse"]
    signals = rng.standard_normal((5, 40))
    one, other = (pursuit.encode(signals, a, n_nonzero=4) for a in (atoms, explicit(atoms)))
    assert np.array_equal(one.toarray(), other.toarray())
