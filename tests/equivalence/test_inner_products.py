"""A run in an inner product is the Euclidean run in transformed coordinates."""

import numpy as np
import pytest

from pursuit import (
    Coordinates,
    Dictionary,
    Function,
    InnerProduct,
    InputError,
    LeastSquares,
    Logistic,
    Oracle,
    Quadratic,
    Sphere,
    SquaredDistance,
    Transformed,
    methods,
    solve,
)
from pursuit.methods import NAMED
from pursuit.objectives.composed import composed
from pursuit.testing import check_atoms, check_objective

D, N = 6, 11
rng = np.random.default_rng(0)
ROWS = rng.standard_normal((N, D)) * 10.0 ** rng.uniform(-1, 1, N)[:, None]
B, A, Y = rng.standard_normal(D), rng.standard_normal((9, D)), rng.standard_normal(9)
WEIGHTS = rng.uniform(0.1, 3, D)
SOBOLEV = np.eye(D) + 4 * (2 * np.eye(D) - np.eye(D, k=1) - np.eye(D, k=-1))
SPACES = {
    "weights": (InnerProduct(weights=WEIGHTS), np.diag(np.sqrt(WEIGHTS))),
    "gram": (InnerProduct(gram=SOBOLEV), np.linalg.cholesky(SOBOLEV).T),
}
STEPS = {"gradient-free": 30, "random-pursuit": 40}


def explicit(name, R):
    """f as a user would write it in the coordinates Rx, and as it is given to the space."""
    inverse = np.linalg.inv(R)
    space = next(space for space, root in SPACES.values() if root is R)
    return {
        "distance": (space.distance(B), SquaredDistance(R @ B)),
        "least squares": (LeastSquares(A, Y), LeastSquares(A @ inverse, Y)),
        "quadratic": (
            Quadratic(A.T @ A, B),
            Quadratic(inverse.T @ A.T @ A @ inverse, inverse.T @ B),
        ),
    }[name]


@pytest.mark.parametrize("unit_atoms", [True, False])
@pytest.mark.parametrize("method", sorted(NAMED))
@pytest.mark.parametrize("name", ["distance", "least squares", "quadratic"])
@pytest.mark.parametrize("kind", SPACES)
def test_every_method_gives_the_euclidean_run_to_ten_digits(kind, name, method, unit_atoms):
    if method == "working-set":
        pytest.skip("it has its own objectives")
    space, R = SPACES[kind]
    ours, theirs = explicit(name, R)
    options = {"max_iter": STEPS.get(method, 25), "unit_atoms": unit_atoms, "rng": 3}
    result = space.solve(ours, Dictionary(ROWS), method, **options)
    expected = solve(theirs, Dictionary(ROWS @ R.T), method, **options)
    scale, size = max(np.linalg.norm(expected.x), 1.0), np.abs(expected.coef.toarray()).max()
    # Values of f alone tell a minimiser along a line to half of their digits.
    close = 1e-7 if method == "gradient-free" else 1e-10
    assert np.linalg.norm(R @ result.x - expected.x) <= close * scale
    assert np.allclose(result.coef.toarray(), expected.coef.toarray(), rtol=0, atol=close * size)
    assert np.allclose(result.coef.toarray() @ ROWS, result.x, rtol=0, atol=1e-9 * scale)
    assert result.iterations == expected.iterations


def test_the_step_of_algorithm_1_is_that_of_the_norm_and_of_L_in_it():
    """x ← x − ⟨∇f, z⟩/(L_W‖z‖_W²) z, L_W the largest eigenvalue of H relative to W."""
    space, _ = SPACES["gram"]
    H = A.T @ A
    result = space.solve(Quadratic(H, B), Dictionary(ROWS), max_iter=1, unit_atoms=False, tol=0)
    L = np.linalg.eigvals(np.linalg.solve(SOBOLEV, H)).real.max()
    z = ROWS[np.argmax(np.abs(ROWS @ B))]
    assert np.allclose(result.x, (B @ z) / (L * (z @ SOBOLEV @ z)) * z, rtol=1e-10)


def test_algorithm_2_does_not_depend_on_the_inner_product():
    space, _ = SPACES["gram"]
    loss = Logistic(A, Y > 0, l2=0.1)
    one = space.solve(loss, Dictionary(ROWS), "affine-invariant", unit_atoms=False, max_iter=30)
    other = solve(loss, Dictionary(ROWS), "affine-invariant", unit_atoms=False, max_iter=30)
    assert np.allclose(one.x, other.x, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal", "accelerated"])
def test_infinite_sets_and_coordinates_enter_too(method):
    space, R = SPACES["gram"]
    f, inverse = LeastSquares(A, Y), np.linalg.inv(R)
    turned = LeastSquares(A @ inverse, Y)
    options = {"max_iter": 20, "tol": 0}
    for atoms in (Sphere(D), Coordinates(D)):
        result = space.solve(f, atoms, method, **options)
        expected = solve(turned, Transformed(atoms, inverse), method, **options)
        assert np.allclose(R @ result.x, expected.x, rtol=0, atol=1e-10)


def test_an_oracle_is_asked_with_the_gradient_of_f_as_it_is():
    asked = []

    def signs(d):
        asked.append(d)
        return np.where(d < 0, -1.0, 1.0)

    space, _ = SPACES["weights"]
    atoms = Oracle(signs, D, radius=np.sqrt(D))
    space.solve(LeastSquares(A, Y), atoms, max_iter=1, tol=0)
    assert np.allclose(asked[0], -A.T @ Y, rtol=1e-12)


def test_what_a_result_says_is_in_the_coordinates_of_f():
    space, _ = SPACES["weights"]
    f, seen = space.distance(B), []
    result = space.solve(f, ROWS, "orthogonal", max_iter=3, callback=lambda s: seen.append(s.x))
    assert np.allclose(seen[-1], result.x)
    assert result.value == pytest.approx(0.5 * space.norm(result.x - B) ** 2)
    assert result.value == pytest.approx(f.value(result.x))
    sizes = result.path.sizes
    assert np.allclose(result.path.x(int(sizes[-1])), result.x)
    start = np.ones(D)
    still = space.solve(f, ROWS, x0=start, max_iter=0)
    assert np.allclose(still.x, start)
    longer = space.solve(f, ROWS, max_iter=9, tol=0)
    half = space.solve(f, ROWS, max_iter=4, tol=0)
    assert np.array_equal(space.solve(f, ROWS, max_iter=9, tol=0, resume=half).x, longer.x)


def test_certificates_hold_in_the_space():
    for seed in range(20):
        local = np.random.default_rng(seed)
        space = InnerProduct(weights=local.uniform(0.1, 2, 4))
        rows, b = local.standard_normal((7, 4)), local.standard_normal(4)
        result = space.solve(space.distance(b), rows, max_iter=seed % 6, tol=0)
        assert result.certificate.bound >= result.value  # f* is 0


def test_functions_on_a_grid_converge_with_the_grid():
    """Quadrature weights: the coefficients on a coarse grid are those on a fine one, nearly."""
    found = []
    for n in (200, 4000):
        t = np.linspace(0, 1, n) ** 2  # finer on the left
        space = InnerProduct(weights=np.gradient(t))
        atoms = np.array([t**0, t, t**2])
        result = space.solve(space.distance(np.sqrt(t)), atoms, "orthogonal")
        found.append(result.coef.toarray())
    exact = [6 / 35, 48 / 35, -4 / 7]  # the projection of √t in L²(0, 1)
    assert np.allclose(found[1], exact, atol=2e-3)
    assert np.abs(found[1] - exact).max() < np.abs(found[0] - exact).max()


def test_the_pieces_keep_their_contracts():
    space, _ = SPACES["gram"]
    for f in (
        space.distance(B),
        composed(LeastSquares(A, Y), space._map),
        composed(Quadratic(A.T @ A, B), space._map),
        composed(Logistic(A, Y > 0, l2=0.3), space._map),
        composed(Function(lambda x: np.cosh(x).sum(), np.sinh, shape=D), space._map),
    ):
        check_objective(f)
    check_atoms(space.problem(space.distance(B), ROWS).atoms)
    check_atoms(space.problem(space.distance(B), Sphere(D)).atoms)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "expected one of them"),
        ({"weights": [1.0, -1.0]}, "weights: expected positive"),
        ({"gram": np.ones((2, 2))}, "gram: expected a positive definite"),
        ({"gram": [[1.0, 0.5], [0.0, 1.0]]}, "gram: expected a symmetric"),
        ({"gram": np.ones((2, 3))}, "gram: expected a square"),
        ({"gram": np.eye(2), "weights": [1, 1]}, "expected one of them"),
    ],
)
def test_what_is_no_inner_product_is_refused(options, complaint):
    with pytest.raises(InputError, match=complaint):
        InnerProduct(**options)


def test_a_problem_of_another_length_is_refused():
    with pytest.raises(InputError, match="length 6"):
        SPACES["gram"][0].solve(SquaredDistance(np.ones(3)), np.eye(3))


def test_a_vector_of_another_length_is_called_by_its_name():
    space, _ = SPACES["weights"]
    with pytest.raises(InputError, match="x0: expected shape"):
        space.solve(space.distance(B), ROWS, x0=np.ones(2))
    with pytest.raises(InputError, match="y: expected shape"):
        space.inner(B, np.ones(2))


def test_named_options_of_methods_pass_through():
    space, _ = SPACES["weights"]
    method = methods.accelerated_matching_pursuit(nu=D)
    assert space.solve(space.distance(B), ROWS, method, max_iter=5).iterations == 5
