"""What `pursuit.geometry` returns and refuses, and sets that need no computing."""

import pickle
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from pursuit import (
    Coordinates,
    Dictionary,
    Groups,
    InputError,
    LeastSquares,
    Logistic,
    Oracle,
    Quadratic,
    RankOne,
    Sampling,
    Sphere,
    SquaredDistance,
    Transformed,
    geometry,
)
from pursuit.geometry import Constant, Kind
from pursuit.geometry.constant import at_least, at_most

rng = np.random.default_rng(0)
SETS = {
    "coordinates": Coordinates(5),
    "sphere": Sphere(5),
    "rank one": RankOne(3, 4),
    "groups": Groups([[0, 1], [2], [4, 5, 6]], size=8),
}


# The number -------------------------------------------------------------------------------


def test_a_constant_behaves_as_a_float_and_knows_what_is_proved():
    nu = geometry.nu(Dictionary(rng.standard_normal((40, 12))))
    assert isinstance(nu, float)
    assert 2 * nu == 2 * float(nu)
    assert nu.kind is Kind.UPPER
    assert nu.lower < nu == nu.upper
    assert nu.serves == "Theorem 8"
    assert "upper bound; Theorem 8" in repr(nu)


def test_a_constant_survives_pickling():
    before = Constant(2.0, Kind.LOWER, "Theorem 5", upper=3.0)
    after = pickle.loads(pickle.dumps(before))
    assert (after, after.kind, after.lower, after.upper, after.serves) == (
        *(2.0, Kind.LOWER, 2.0, 3.0),
        "Theorem 5",
    )


# Sets known in closed form ------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
class TestClosedForms:
    def test_second_moments_are_those_of_many_draws(self, name):
        atoms = SETS[name]
        drawn = atoms.draw(np.random.default_rng(1), 40_000)
        vectors = np.array([atoms.vector(z) for z in drawn]).reshape(len(drawn), -1)
        moments = geometry.second_moment(atoms)
        assert moments.rank == atoms.rank
        assert np.allclose(moments.matrix, vectors.T @ vectors / len(drawn), atol=0.01)
        assert np.allclose(moments.matrix @ moments.inverse @ moments.matrix, moments.matrix)

    def test_quality_and_nu_random_bound_many_directions_and_are_attained(self, name):
        atoms = SETS[name]
        P_tilde = geometry.second_moment(atoms).matrix
        quality = geometry.sampling_quality(atoms)
        axes = np.eye(len(P_tilde))[np.diag(P_tilde) > 0]
        directions = [*rng.standard_normal((50, len(axes))) @ axes]
        worst = atoms.vector(
            atoms.lmo(axes[np.argmin(axes @ np.diag(P_tilde))].reshape(atoms.shape))
        )
        ratios = [
            d @ P_tilde @ d / atoms.dual_norm(d.reshape(atoms.shape)) ** 2
            for d in [*directions, worst.reshape(-1)]
        ]
        assert min(ratios) == pytest.approx(quality)
        assert ratios[-1] == pytest.approx(quality)
        # Unit atoms: E[w c²] = ‖d‖², over E[c²] = dᵀP̃d.
        nus = [d @ d / (d @ P_tilde @ d) for d in [*directions, worst.reshape(-1)]]
        assert max(nus) == pytest.approx(geometry.nu_random(atoms))

    def test_width_and_nu_bound_many_directions_and_are_attained(self, name):
        atoms = SETS[name]
        flat = {
            "coordinates": np.ones(5),
            "sphere": np.ones(5),
            "rank one": np.eye(3, 4),
            "groups": np.array([1.0, 0, 1, 0, 0, 1, 0, 0]),
        }[name]
        inside = np.diag(geometry.second_moment(atoms).matrix) > 0
        directions = [rng.standard_normal(atoms.shape) * inside.reshape(atoms.shape) for _ in "ab"]
        widths = [atoms.dual_norm(d) / np.linalg.norm(d) for d in [*directions, flat]]
        assert min(widths) == widths[-1] == pytest.approx(geometry.directional_width(atoms))
        assert geometry.nu(atoms) == pytest.approx(1 / widths[-1] ** 2)
        assert geometry.nu(atoms) <= geometry.safe_nu(atoms)

    def test_strong_convexity_of_a_quadratic_is_enclosed(self, name):
        atoms = SETS[name]
        d = int(np.prod(atoms.shape))
        root = rng.standard_normal((d, d))
        H = root @ root.T + np.eye(d)
        f = FlatQuadratic(H, atoms.shape)
        mu_A = geometry.strong_convexity(f, atoms)
        inside = np.diag(geometry.second_moment(atoms).matrix) > 0
        for _ in range(50):
            x = rng.standard_normal(d) * inside
            ratio = x @ H @ x / atoms.gauge(x.reshape(atoms.shape)) ** 2
            assert mu_A.lower <= ratio * (1 + 1e-9)
        assert 0 < mu_A.lower <= mu_A.upper


class FlatQuadratic(Quadratic):
    """½xᵀHx of arrays of any shape."""

    def __init__(self, H, shape):
        super().__init__(H, np.zeros(len(H)))
        self.shape = shape

    def image(self, x):
        return (self.H @ x.reshape(-1)).reshape(self.shape)


def test_the_sphere_turns_affine_invariant_constants_into_the_euclidean_ones():
    f = Quadratic(np.diag([1.0, 2.0, 5.0]), np.ones(3))
    assert geometry.strong_convexity(f, Sphere(3)) == pytest.approx(1)
    assert geometry.strong_convexity(f, Sphere(3)).kind is Kind.EXACT
    assert geometry.smoothness(f, Sphere(3)) == 5
    assert geometry.smoothness(f, Sphere(3)).kind is Kind.EXACT


def test_coordinates_need_no_square_matrix():
    n = 200_000
    tracemalloc.start()
    atoms = Coordinates(n)
    assert geometry.nu_random(atoms) == geometry.nu(atoms) == pytest.approx(n)
    assert geometry.second_moment(atoms).norm2(np.ones(n)) == pytest.approx(n * n)
    assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    tracemalloc.stop()


def test_a_transformed_set_keeps_its_sampling_quality():
    M = rng.standard_normal((5, 5)) + 3 * np.eye(5)
    for atoms in (Dictionary(rng.standard_normal((9, 5))), Sphere(5)):
        moved = Transformed(atoms, M)
        same = geometry.sampling_quality(atoms)
        assert geometry.sampling_quality(moved) == pytest.approx(same)


# Size, rank, refusals -------------------------------------------------------------------------


def test_many_atoms_need_no_square_matrix():
    n = 20_000
    atoms = Dictionary(rng.standard_normal((n, 8)))
    tracemalloc.start()
    assert geometry.sampling_quality(atoms) <= 1 / 8
    assert geometry.nu_random(atoms) > 0
    assert geometry.directional_width(atoms).lower > 0
    assert tracemalloc.get_traced_memory()[1] < n * n * 8 / 20
    tracemalloc.stop()


def test_intervals_close_on_orthonormal_atoms_of_any_dimension():
    d = 60
    axes, _ = np.linalg.qr(rng.standard_normal((d, d)))
    width, nu = geometry.directional_width(Dictionary(axes)), geometry.nu(Dictionary(axes))
    assert width.lower == pytest.approx(1 / np.sqrt(d)) == width.upper
    assert nu.lower == pytest.approx(d) == nu.upper


def test_intervals_of_a_large_dictionary_are_narrow():
    Z = rng.standard_normal((200, 60))
    atoms = Dictionary(Z / np.linalg.norm(Z, axis=1)[:, None])
    width, nu = geometry.directional_width(atoms), geometry.nu(atoms)
    assert 0 < width.lower < width.upper < 1.6 * width.lower
    assert 1 < nu.lower < nu.upper <= 60 * (1 + 1e-9) < 3 * nu.lower


def test_the_numerical_rank_is_reported_and_used():
    Z = rng.integers(-9, 10, (12, 3)) @ rng.integers(-9, 10, (3, 7))
    for dtype in (np.float64, np.float32):
        atoms = Dictionary(Z.astype(dtype))
        moments = geometry.second_moment(atoms)
        assert moments.rank == atoms.rank == 3
        w = geometry.leverage(atoms)
        assert w.mean() == pytest.approx(3, rel=1e-5)
        assert geometry.directional_width(atoms) > 0.01


def test_a_sampling_that_misses_part_of_the_span_is_refused():
    """p = (½, ½, 0) on three coordinates would give δ̂² = ½ where the truth is 0."""
    for atoms in (Coordinates(3), Dictionary(np.eye(3))):
        for constant in (geometry.sampling_quality, geometry.nu, geometry.nu_random):
            with pytest.raises(InputError, match="span 2 of 3"):
                constant(atoms, [0.5, 0.5, 0])


def test_probabilities_of_zero_are_fine_where_the_rest_spans():
    Z = np.array([[1.0, 0], [0, 1], [1, 1]])
    quality = geometry.sampling_quality(Dictionary(Z), [0.5, 0.5, 0])
    assert quality == pytest.approx(1 / 4)


def test_a_gauge_is_infinite_outside_the_span():
    atoms = Dictionary(np.eye(3)[:2])
    assert geometry.gauge(atoms, [1.0, -2.0, 0.0]) == pytest.approx(3)
    assert geometry.gauge(atoms, [1.0, 0.0, 1.0]) == np.inf
    assert geometry.gauge(atoms, np.zeros(3)) == 0


def test_a_gauge_does_not_depend_on_units():
    Z, x = rng.standard_normal((30, 8)), rng.standard_normal(8)
    one = geometry.gauge(Dictionary(Z), x)
    assert geometry.gauge(Dictionary(1e9 * Z), 1e-9 * x) == pytest.approx(1e-18 * one)


def test_what_is_not_known_is_named():
    atoms = Oracle(lambda d: np.sign(d), shape=3, radius=2.0)
    with pytest.raises(InputError, match="mDW: it is not known for Oracle"):
        geometry.directional_width(atoms)
    with pytest.raises(InputError, match="Oracle has no known gauge"):
        geometry.gauge(atoms, np.ones(3))
    assert geometry.radius(atoms).kind is Kind.UPPER
    assert geometry.nu(atoms) == geometry.safe_nu(atoms)


def test_wrong_vectors_are_refused():
    with pytest.raises(InputError, match=r"x: expected shape \(3,\)"):
        geometry.gauge(Coordinates(3), np.ones(4))
    with pytest.raises(InputError, match="x0: expected a point in the span"):
        geometry.gap(SquaredDistance(np.ones(3)), Dictionary(np.eye(3)[:2]), np.ones(3))


# Objectives that are not strongly convex, or not quadratic -------------------------------------


def test_a_singular_hessian_has_a_level_radius_to_the_nearest_minimiser_and_a_distance():
    X, y = rng.standard_normal((3, 6)), rng.standard_normal(3)
    f, atoms = LeastSquares(X, y), Coordinates(6)
    assert geometry.strong_convexity(f, atoms) == 0
    assert geometry.level_radius(f, atoms) < np.inf
    assert "nearest minimiser" in geometry.level_radius(f, atoms).serves
    nearest = np.linalg.pinv(X) @ y
    assert geometry.distance(f, atoms) == pytest.approx(np.sqrt(6) * np.linalg.norm(nearest))
    assert geometry.gap(f, atoms) == pytest.approx(y @ y / 2)
    assert geometry.gap(f, atoms).kind is Kind.EXACT


def test_a_quadratic_without_minimum_has_an_infinite_gap():
    f = Quadratic(np.diag([1.0, 0.0]), np.array([0.0, 1.0]))
    assert geometry.gap(f, Coordinates(2)) == np.inf
    assert geometry.distance(f, Coordinates(2)) == np.inf


def test_a_linear_model_has_bounds_from_its_ridge():
    X = rng.standard_normal((20, 4))
    y = np.where(X @ rng.standard_normal(4) + 0.5 * rng.standard_normal(20) > 0, 1, -1)
    f, atoms = Logistic(X, y, l2=0.5), Coordinates(4)
    assert geometry.smoothness(f, atoms).kind is Kind.UPPER
    mu_A = geometry.strong_convexity(f, atoms)
    assert mu_A.kind is Kind.LOWER
    assert mu_A == pytest.approx(0.5 / 4)
    from pursuit import solve

    best = solve(f, atoms, "accelerated", max_iter=5000, tol=1e-12)
    gap = f.value(np.zeros(4)) - best.value
    assert gap <= geometry.gap(f, atoms).upper
    assert 2 * np.linalg.norm(best.x) <= geometry.distance(f, atoms).upper
    assert np.abs(best.x).sum() <= geometry.level_radius(f, atoms).upper


def test_a_delta_approximate_oracle_needs_a_larger_nu():
    atoms = Dictionary([[3.0, 0.0], [0.0, 1.0]])
    exact, lazy = geometry.nu(atoms), geometry.nu(atoms, delta=0.5)
    # Half of the largest correlation may come with the longest atom.
    assert lazy.upper >= 4 * exact.upper * (1 - 1e-9)
    assert lazy.upper == pytest.approx(2 * 9 / 0.25)


def test_a_sampling_object_and_its_probabilities_are_the_same():
    Z, p = rng.standard_normal((4, 3)), np.array([0.1, 0.2, 0.3, 0.4])
    atoms = Dictionary(Z)
    assert geometry.nu_random(atoms, p) == geometry.nu_random(atoms, Sampling(atoms, p))


# Precision, scale, and what is proved -----------------------------------------------------------


def test_single_precision_has_no_say_in_the_rank():
    Z = np.ones((5, 3), np.float32) + np.float32(1e-6) * rng.standard_normal((5, 3), np.float32)
    for atoms in (Dictionary(Z), Dictionary(Z.astype(np.float64))):
        assert atoms.rank == atoms.unit().atoms.rank == 3
        assert geometry.second_moment(atoms.unit().atoms).rank == 3
        assert geometry.leverage(atoms).mean() == pytest.approx(3)


def test_dividing_by_norms_adds_no_dimension():
    """The unit atoms of 1, 2, … 9 times one vector are one direction, up to their rounding."""
    Z = np.outer(np.arange(1.0, 10.0), [1024, 341, 147])
    for atoms in (Dictionary(Z), Dictionary(Z.astype(np.float32))):
        assert atoms.rank == atoms.unit().atoms.rank == 1


def test_neither_the_norm_of_an_atom_nor_the_unit_of_a_coordinate_has_a_say_in_the_rank():
    Z = rng.standard_normal((6, 4))
    for scaled in (Z * 10.0 ** np.arange(-60, 60, 20)[:, None], Z * [1, 1e-9, 1e-20, 1e12]):
        assert Dictionary(scaled).rank == 4
    assert Dictionary([[1.0, 0.0], [1.0, 1e-17]]).rank == 2
    assert Dictionary([[1.0, 0.0, 2.0], [1.0, 0.0, 2.0]]).rank == 1


def test_lin_is_the_span_of_the_atoms_that_are_kept():
    factors = rng.standard_normal((9, 2)), rng.standard_normal((2, 4))
    for Z in (factors[0] @ factors[1], np.round(64 * factors[0]) @ np.round(64 * factors[1])):
        lin = Dictionary(Z).lin
        assert lin.rank == len(lin.frame) == 2
        assert all((row == Z).all(axis=1).any() for row in lin.frame)
        x = Z[4] + 1e-3 * np.linalg.svd(Z)[2][3]
        np.testing.assert_allclose(lin.coefficients(x) @ lin.frame, Z[4], atol=1e-9)
    for whole in (Dictionary(factors[0]), Coordinates(3)):
        assert whole.lin.frame is None


def test_a_bound_with_no_other_end_is_not_exact():
    assert at_least(2.0, np.inf, "").kind is Kind.LOWER
    assert at_most(2.0, np.inf, "").kind is Kind.UPPER
    assert at_least(0.0, np.inf, "").kind is Kind.LOWER
    assert at_least(2.0, 2.0, "").kind is at_most(np.inf, np.inf, "").kind is Kind.EXACT
    many = Dictionary(rng.standard_normal((60, 20)))
    assert geometry.safe_strong_convexity(SquaredDistance(np.ones(20)), many).kind is Kind.LOWER


@pytest.mark.parametrize("depth", [3, 6, 9, 17])
@pytest.mark.parametrize("seed", range(5))
def test_the_smallest_eigenvalue_is_right_or_zero_up_to_rounding(depth, seed):
    axes = np.linalg.qr(np.random.default_rng(seed).standard_normal((2, 2)))[0]
    H = (axes * [1.0, 10.0**-depth]) @ axes.T
    f = Quadratic((H + H.T) / 2, np.ones(2))

    def below(t):
        """Whether t ≤ λ_min of the stored numbers: det(H − tI) ≥ 0, in fractions."""
        (a, b), (c, d) = ([Fraction(float(entry)) for entry in row] for row in f.H)
        return (a - Fraction(t)) * (d - Fraction(t)) >= b * c

    mu, share = geometry.euclidean_convexity(f, Coordinates(2)), 1e-15 * 10.0**depth
    assert below(f.mu) or f.mu == 0
    if depth > 15.8:
        assert (mu, mu.kind) == (0, Kind.LOWER)
    else:
        assert mu.kind is Kind.EXACT
        assert below(mu * (1 - share))
        assert not below(mu * (1 + share))


SIZES = [1e-60, 1e60]
SQUARED = np.random.default_rng(1).standard_normal((7, 4))


@pytest.mark.parametrize("size", SIZES)
def test_constants_follow_the_scale_of_atoms(size):
    one, atoms = Dictionary(SQUARED), Dictionary(size * SQUARED)
    f = SquaredDistance(np.ones(4))
    same = [
        geometry.sampling_quality,
        lambda atoms: geometry.leverage(atoms)[2],
        lambda atoms: geometry.second_moment(atoms).norm2(atoms.matrix[2]),
        lambda atoms: geometry.gauge(atoms, atoms.matrix[2]),
        lambda atoms: geometry.gap(f, atoms),
        lambda atoms: geometry.level_radius(f, atoms) * geometry.radius(atoms),
        lambda atoms: geometry.strong_convexity(f, atoms) / geometry.radius(atoms) ** 2,
        lambda atoms: geometry.nu(atoms) / geometry.nu_random(atoms),
    ]
    for constant in same:
        assert constant(atoms) == pytest.approx(constant(one))
    for constant in (geometry.radius, geometry.diameter, geometry.directional_width):
        assert constant(atoms) / size == pytest.approx(constant(one))
        assert constant(atoms).kind is Kind.EXACT
    assert geometry.distance(f, atoms) * size == pytest.approx(geometry.distance(f, one))
    for round_set in (Sphere(4), Groups([[0, 1], [2, 3]])):
        assert geometry.gauge(round_set, np.full(4, 1e-68)) > 0
        assert geometry.dual_norm(round_set, np.full(4, 1e68)) < np.inf
