"""One method, two representations; one problem, two coordinate systems."""

import numpy as np
import pytest

import pursuit
from pursuit.methods import NAMED
from pursuit.points import choose
from pursuit.points.ambient import AmbientPoint
from pursuit.points.gram import GramPoint

SEEDS = range(4)
PRINTED = [
    *("matching-pursuit", "affine-invariant", "random-pursuit"),
    *("accelerated-random", "accelerated-matching-pursuit", "greedy-greedy"),
]
# A search on values of f knows its minimiser to half the digits only.
BY_SLOPES = [name for name in NAMED if not NAMED[name]().gradient_free]


def problem(seed, n=30, d=12):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)) * rng.uniform(0.2, 4, n)[:, None]
    A, b = rng.standard_normal((d + 4, d)), rng.standard_normal(d + 4)
    return pursuit.LeastSquares(A, b), pursuit.Dictionary(rows)


def iterates(f, atoms, method, **options):
    seen = []
    result = pursuit.solve(
        f,
        atoms,
        method,
        tol=0,
        every=1,
        callback=lambda shown: seen.append((shown.x, shown.value, shown.slope)),
        **options,
    )
    x, value, slope = (np.array(column) for column in zip(*seen, strict=True))
    return result, x, value, slope


@pytest.mark.parametrize("unit_atoms", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", BY_SLOPES)
def test_the_gram_form_equals_the_ambient_form(name, seed, unit_atoms):
    f, atoms = problem(seed)
    # What the adaptive and corrective methods choose depends on the last bits in the long run.
    length = 200 if name in PRINTED else 25
    options = {"max_iter": length, "rng": seed, "unit_atoms": unit_atoms}
    assert isinstance(choose(f, atoms, np.zeros(atoms.shape)), GramPoint)
    gram, x, value, slope = iterates(f, atoms, name, **options)
    assert isinstance(choose(f, atoms, np.zeros(atoms.shape), gram_bytes=0), AmbientPoint)
    ambient, x2, value2, slope2 = iterates(f, atoms, name, gram_bytes=0, **options)
    # A run may meet an exact zero slope in one form and 1e-17 in the other.
    t = min(len(x), len(x2))
    assert np.linalg.norm(x[-1] - x2[-1]) <= 1e-10 * np.linalg.norm(x2[-1])
    assert np.linalg.norm(x[:t] - x2[:t], axis=1).max() <= 1e-10 * np.linalg.norm(x2, axis=1).max()
    assert np.abs(value[:t] - value2[:t]).max() <= 1e-10 * value2[0]
    assert np.abs(slope[:t] - slope2[:t]).max() <= 1e-10 * slope2[0]
    coef, coef2 = gram.coef.toarray(), ambient.coef.toarray()
    assert np.linalg.norm(coef - coef2) <= 1e-10 * np.linalg.norm(coef2)


@pytest.mark.parametrize("name", NAMED)
def test_both_forms_count_the_same_products_and_oracle_calls(name):
    f, atoms = problem(0)
    counted = []
    for limit in (2**28, 0):
        counts = pursuit.solve(f, atoms, name, max_iter=7, tol=0, gram_bytes=limit).counts
        counted.append((counts.oracle_calls, pytest.approx(counts.products, rel=1e-12)))
    assert counted[0] == counted[1]


def with_condition(rng, d, condition):
    """A random d × d matrix with singular values 1 … 1/condition."""
    left, right = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
    return left * np.geomspace(1, 1 / condition, d) @ right


@pytest.mark.parametrize("condition", [1, 10, 1e2, 1e3])
@pytest.mark.parametrize("seed", SEEDS)
class TestCoordinateSystems:
    """f̂ = f ∘ M over the atoms M⁻¹z is the same problem in other coordinates."""

    def runs(self, seed, condition, method):
        rng = np.random.default_rng([seed, int(condition)])
        d, n, T = 8, 20, 300
        rows = rng.standard_normal((n, d))
        A, b = rng.standard_normal((d + 2, d)), rng.standard_normal(d + 2)
        M = with_condition(rng, d, condition)
        options = {"max_iter": T, "unit_atoms": False}
        _, x, *_ = iterates(pursuit.LeastSquares(A, b), pursuit.Dictionary(rows), method, **options)
        mapped = pursuit.Dictionary(np.linalg.solve(M, rows.T).T)
        _, x_hat, *_ = iterates(pursuit.LeastSquares(A @ M, b), mapped, method, **options)
        expected = np.linalg.solve(M, x.T).T
        apart = np.linalg.norm(x_hat - expected, axis=1).max()
        return apart / np.linalg.norm(expected, axis=1).max()

    def test_algorithm_2_gives_the_mapped_iterates(self, seed, condition):
        assert self.runs(seed, condition, "affine-invariant") <= 1e-8

    def test_algorithm_1_does_not_unless_the_map_is_a_rotation(self, seed, condition):
        apart = self.runs(seed, condition, "matching-pursuit")
        assert apart <= 1e-8 if condition == 1 else apart > 1e-2

    def test_natural_coordinates_after_the_map_give_other_iterates(self, seed, condition):
        """Algorithm 2 over the coordinate atoms of either system: not the same set of atoms."""
        rng = np.random.default_rng([seed, int(condition)])
        d, T = 8, 300
        A, b = rng.standard_normal((d + 2, d)), rng.standard_normal(d + 2)
        M, method = with_condition(rng, d, condition), "affine-invariant"
        e = pursuit.Coordinates(d)
        _, x, *_ = iterates(pursuit.LeastSquares(A, b), e, method, max_iter=T)
        _, x_hat, *_ = iterates(pursuit.LeastSquares(A @ M, b), e, method, max_iter=T)
        expected = np.linalg.solve(M, x.T).T
        apart = np.linalg.norm(x_hat - expected, axis=1).max()
        assert apart > 1e-2 * np.linalg.norm(expected, axis=1).max()
