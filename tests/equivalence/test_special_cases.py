"""Over coordinates the methods are coordinate descent; over the sphere, gradient descent."""

import numpy as np
import pytest

import pursuit
from pursuit import Coordinates, LeastSquares, Quadratic, Replay, Sphere, methods, solve

T = 300


def visited(f, atoms, method, x0=None, **options):
    seen = []
    solve(
        f,
        atoms,
        method,
        x0,
        max_iter=T,
        tol=0,
        every=1,
        callback=lambda shown: seen.append(shown.x),
        **options,
    )
    return np.array(seen)


@pytest.fixture(params=range(3))
def quadratic(request):
    """H, b, a start, and draws."""
    rng = np.random.default_rng(request.param)
    root = rng.standard_normal((30, 12)) * rng.uniform(0.3, 2, 12)
    return root.T @ root, rng.standard_normal(12), rng.standard_normal(12), rng.integers(0, 12, T)


def assert_same(ours, theirs):
    assert len(ours) == len(theirs)
    assert np.abs(ours - theirs).max() <= 1e-11 * np.abs(theirs).max()


@pytest.mark.parametrize("limit", [0, 2**28])
class TestOverCoordinates:
    def test_matching_pursuit_is_steepest_coordinate_descent(self, quadratic, limit):
        H, b, x0, _ = quadratic
        L = np.linalg.eigvalsh(H)[-1]
        textbook = [x0.copy()]
        for _ in range(T):
            x = textbook[-1].copy()
            g = H @ x - b
            i = np.argmax(np.abs(g))
            x[i] -= g[i] / L
            textbook.append(x)
        assert_same(
            visited(Quadratic(H, b), Coordinates(12), "matching-pursuit", x0, gram_bytes=limit),
            textbook,
        )

    def test_affine_invariant_pursuit_has_the_largest_coordinate_wise_constant(
        self, quadratic, limit
    ):
        H, b, x0, _ = quadratic
        textbook = [x0.copy()]
        for _ in range(T):
            x = textbook[-1].copy()
            g = H @ x - b
            i = np.argmax(np.abs(g))
            x[i] -= g[i] / np.diag(H).max()
            textbook.append(x)
        assert_same(
            visited(Quadratic(H, b), Coordinates(12), "affine-invariant", x0, gram_bytes=limit),
            textbook,
        )

    def test_exact_line_search_is_the_gauss_southwell_method(self, quadratic, limit):
        H, b, x0, _ = quadratic
        textbook = [x0.copy()]
        for _ in range(T):
            x = textbook[-1].copy()
            i = np.argmax(np.abs(H @ x - b))
            x[i] = 0
            x[i] = (b[i] - H[i] @ x) / H[i, i]
            textbook.append(x)
        exact = methods.matching_pursuit(step=pursuit.ExactLineSearch())
        assert_same(
            visited(Quadratic(H, b), Coordinates(12), exact, x0, gram_bytes=limit), textbook
        )

    def test_replayed_draws_are_random_coordinate_descent(self, quadratic, limit):
        H, b, x0, draws = quadratic
        L = np.linalg.eigvalsh(H)[-1]
        textbook = [x0.copy()]
        for i in draws:
            x = textbook[-1].copy()
            x[i] -= (H[i] @ x - b[i]) / L
            textbook.append(x)
        replayed = methods.matching_pursuit(direction=Replay(draws))
        assert_same(
            visited(Quadratic(H, b), Coordinates(12), replayed, x0, gram_bytes=limit), textbook
        )

    def test_random_pursuit_is_random_coordinate_descent(self, quadratic, limit):
        """One coordinate a step, by −⟨∇f, e_i⟩/L, and every coordinate about as often."""
        H, b, x0, _ = quadratic
        L = np.linalg.eigvalsh(H)[-1]
        ours = visited(
            Quadratic(H, b), Coordinates(12), methods.random_pursuit(), x0, gram_bytes=limit
        )
        moved = np.abs(np.diff(ours, axis=0)).argmax(axis=1)
        textbook = [x0.copy()]
        for i in moved:
            x = textbook[-1].copy()
            x[i] -= (H[i] @ x - b[i]) / L
            textbook.append(x)
        assert_same(ours, textbook)
        drawn = np.bincount(moved, minlength=12)
        assert 0.3 * T / 12 < drawn.min() <= drawn.max() < 2 * T / 12

    def test_the_default_constants_of_the_accelerated_methods_are_n(self, quadratic, limit):
        """ν = ν′ = n for coordinates: a run with them is the run where they are computed."""
        H, b, x0, _ = quadratic
        f, e = Quadratic(H, b), Coordinates(12)
        for name in (methods.accelerated_random, methods.accelerated_matching_pursuit):
            assert_same(
                visited(f, e, name(), x0, gram_bytes=limit),
                visited(f, e, name(nu=12), x0, gram_bytes=limit),
            )


class TestOverTheSphere:
    def test_matching_pursuit_is_gradient_descent(self, quadratic):
        H, b, x0, _ = quadratic
        L = np.linalg.eigvalsh(H)[-1]
        textbook = [x0.copy()]
        for _ in range(T):
            textbook.append(textbook[-1] - (H @ textbook[-1] - b) / L)
        for name in ("matching-pursuit", "affine-invariant"):
            assert_same(visited(Quadratic(H, b), Sphere(12), name, x0), textbook)

    def test_exact_line_search_is_the_method_of_cauchy(self, quadratic):
        H, b, x0, _ = quadratic
        textbook = [x0.copy()]
        for _ in range(T):
            g = H @ textbook[-1] - b
            textbook.append(textbook[-1] - (g @ g) / (g @ H @ g) * g)
        exact = methods.matching_pursuit(step=pursuit.ExactLineSearch())
        # Cauchy's method reaches rounding here, where the last bits of a direction are noise.
        ours = visited(Quadratic(H, b), Sphere(12), exact, x0)
        assert np.abs(ours - textbook[: len(ours)]).max() <= 1e-10 * np.abs(textbook).max()

    def test_it_works_on_arrays_of_any_shape(self):
        b = np.random.default_rng(0).standard_normal((3, 4, 2))
        result = solve(pursuit.SquaredDistance(b), Sphere(3, 4, 2))
        np.testing.assert_allclose(result.x, b, rtol=1e-12)
        assert result.success

    def test_the_weights_and_atoms_of_the_result_make_up_x(self):
        rng = np.random.default_rng(1)
        f = LeastSquares(rng.standard_normal((9, 6)), rng.standard_normal(9))
        result = solve(f, Sphere(6), "accelerated-matching-pursuit", max_iter=40)
        total = sum(w * z for w, z in zip(result.weights, result.used, strict=True))
        np.testing.assert_allclose(total, result.x, atol=1e-12)
