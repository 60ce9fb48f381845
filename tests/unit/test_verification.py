"""What a result says about its x is true there: against a float64 computation of one's own."""

import numpy as np
import pytest

from pursuit import (
    Cone,
    Coordinates,
    Dictionary,
    Groups,
    Huber,
    LeastSquares,
    Logistic,
    MatrixDistance,
    MatrixEntries,
    Quadratic,
    RankOne,
    Sphere,
    SquaredDistance,
    Status,
    Transformed,
    methods,
    solve,
)

EPS = float(np.finfo(np.float64).eps)
ULPS = 64
"""Units in the last place of its terms that a sum of this size may differ by."""
TOL = 1e-6
DTYPES = [("f4", "f4"), ("f8", "f4"), ("f4", "f8"), ("f8", "f8")]
OVER_CONES = ("matching-pursuit", "affine-invariant", "random-pursuit", "orthogonal")


@pytest.fixture(params=["gram", "ambient"])
def limit(request):
    return 2**28 if request.param == "gram" else 0


class Reference:
    """f in float64: value, gradient, and the sizes of the terms that they are sums of."""

    def __init__(self, kind, rng, d, dtype):
        spectrum = np.geomspace(1, 10 ** -rng.uniform(0, 4), d)
        A = np.linalg.qr(rng.standard_normal((d, d)))[0] * spectrum
        b = rng.standard_normal(d).astype(dtype)
        self.kind, self.labels = kind, np.sign(b).astype(np.float64)
        matrix = (A @ A.T if kind == "quadratic" else A).astype(dtype)
        self.f = {
            "distance": lambda: SquaredDistance(b),
            "least squares": lambda: LeastSquares(matrix, b),
            "quadratic": lambda: Quadratic(matrix, b),
            "logistic": lambda: Logistic(matrix, self.labels, l2=1e-3),
            "huber": lambda: Huber(matrix, b, 0.5, l2=1e-3),
        }[kind]()
        self.A, self.b = matrix.astype(np.float64), b.astype(np.float64)

    def value(self, x):
        if self.kind == "distance":
            return 0.5 * np.sum((x - self.b) ** 2)
        if self.kind == "quadratic":
            return 0.5 * x @ self.A @ x - self.b @ x
        u = self.A @ x
        if self.kind == "least squares":
            return 0.5 * np.sum((u - self.b) ** 2)
        if self.kind == "logistic":
            return np.logaddexp(0, -self.labels * u).sum() + 0.5e-3 * x @ x
        r = np.abs(u - self.b)
        return np.where(r <= 0.5, r**2 / 2, 0.5 * (r - 0.25)).sum() + 0.5e-3 * x @ x

    def gradient(self, x):
        if self.kind == "distance":
            return x - self.b
        if self.kind == "quadratic":
            return self.A @ x - self.b
        u = self.A @ x
        if self.kind == "least squares":
            return self.A.T @ (u - self.b)
        if self.kind == "logistic":
            return self.A.T @ (-self.labels / (1 + np.exp(self.labels * u))) + 1e-3 * x
        return self.A.T @ np.clip(u - self.b, -0.5, 0.5) + 1e-3 * x

    def sizes(self, x):
        """Of the value and of the gradient."""
        inner = np.abs(self.A) @ np.abs(x) + np.abs(self.b) + 1
        if self.kind in ("distance", "quadratic"):
            inner = inner + np.abs(x)
        return inner @ inner, np.linalg.norm(np.abs(self.A).T @ inner) + np.linalg.norm(inner)


def atoms_of(rng, kind, n, d, dtype):
    """Rows of lengths 1e-3 … 1e3, plain or up to 1e-5 near each other."""
    rows = rng.standard_normal((n, d))
    if kind == "coherent":
        rows = rng.standard_normal(d) + 10 ** -rng.uniform(0, 5) * rows
    return (rows * 10.0 ** rng.uniform(-3, 3, (n, 1))).astype(dtype)


def check(result, reference, used, rows, x0):
    """x against its coefficients, value and slope against x. `rows`: the atoms that slopes are
    of, or a function of the gradient."""
    x = result.x.astype(np.float64)
    eps = float(np.finfo(result.x.dtype).eps)
    weights = result.weights.astype(np.float64)
    summed = x0 + weights @ used
    rounding = ULPS * EPS * (np.abs(x0) + np.abs(weights) @ np.abs(used))
    assert (np.abs(x - summed) <= eps * np.abs(summed) + rounding).all()
    of_value, of_gradient = reference.sizes(x)
    assert abs(result.value - reference.value(x)) <= ULPS * EPS * of_value
    g = reference.gradient(x)
    slope = rows(g) if callable(rows) else np.abs(rows @ g).max()
    longest = 1.0 if callable(rows) else np.linalg.norm(rows, axis=1).max()
    if not np.isnan(result.slope):
        # Norms of float32 atoms are rounded to float32.
        assert abs(result.slope - slope) <= ULPS * EPS * of_gradient * longest + 4 * eps * slope
        if result.status is Status.CONVERGED and "slope" in result.message:
            first = result.trace.slope[0]
            assert slope <= TOL * first * (1 + 4 * eps) + ULPS * EPS * of_gradient * longest


@pytest.mark.parametrize("kind", ["distance", "least squares", "quadratic", "logistic", "huber"])
@pytest.mark.parametrize("name", methods.NAMED)
def test_value_slope_and_x_are_those_of_the_coefficients_for_finite_sets(name, kind, limit):
    for seed, (of_f, of_atoms) in enumerate(2 * DTYPES):
        rng = np.random.default_rng(seed)
        d, n = int(rng.integers(3, 10)), int(rng.integers(3, 16))
        reference = Reference(kind, rng, d, of_f)
        rows = atoms_of(rng, ("plain", "coherent")[seed // 4], n, d, of_atoms)
        exact = rows.astype(np.float64)
        unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
        begin = (rng.standard_normal(n) / np.linalg.norm(exact, axis=1)).astype(of_atoms)
        ways = ({}, {"coef0": begin}, {"x0": begin @ rows}, {"unit_atoms": False})
        options = ways[(seed + seed // 4) % 4]
        run = {"max_iter": 100, "rng": seed, "gram_bytes": limit}
        result = solve(reference.f, Dictionary(rows), name, **run, **options)
        x0 = options.get("x0", np.zeros(d)).astype(np.float64)
        seen = exact if "unit_atoms" in options else unit
        check(result, reference, exact[result.support], seen, x0)


@pytest.mark.parametrize("name", methods.NAMED)
def test_value_slope_and_x_are_those_of_the_coefficients_for_other_sets(name):
    for seed, (of_f, of_atoms) in enumerate(DTYPES):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(4, 9))
        reference = Reference("quadratic", rng, d, of_f)
        M = np.linalg.qr(rng.standard_normal((d, d)))[0] * np.geomspace(1, 10, d)
        moved = Transformed(Dictionary(atoms_of(rng, "plain", 9, d, of_atoms)), M)
        unit = moved.matrix / np.linalg.norm(moved.matrix, axis=1, keepdims=True)
        half = d // 2
        groups = Groups([range(half), range(half, d)])
        sets = [(moved, unit), (Coordinates(d), np.eye(d)), (Sphere(d), np.linalg.norm)]
        sets += [(groups, lambda g, k=half: max(map(np.linalg.norm, (g[:k], g[k:]))))]
        if name in ("cyclic", "shuffled"):  # which go through all atoms
            sets = [(atoms, rows) for atoms, rows in sets if atoms.finite is not None]
        for atoms, rows in sets:
            result = solve(reference.f, atoms, name, max_iter=100, rng=seed)
            used = [np.asarray(atoms.vector(z), np.float64) for z in result.used]
            check(result, reference, np.array(used).reshape(-1, d), rows, np.zeros(d))


@pytest.mark.parametrize("name", OVER_CONES)
def test_value_slope_and_x_are_those_of_the_coefficients_over_a_cone(name):
    for seed, (of_f, of_atoms) in enumerate(DTYPES):
        rng = np.random.default_rng(seed)
        d, n = 6, 10
        reference = Reference("least squares", rng, d, of_f)
        rows = atoms_of(rng, "plain", n, d, of_atoms)
        result = solve(reference.f, Cone(rows), name, max_iter=100, rng=seed)
        exact = rows.astype(np.float64)
        unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
        coef = result.coef.toarray()

        def slope(g, unit=unit, coef=coef):
            c = unit @ g
            return np.abs(c[(c < 0) | (coef > 0)]).max(initial=0.0)

        check(result, reference, exact[result.support], slope, np.zeros(d))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(7, 5), (90, 80)])
@pytest.mark.parametrize("name", ["matching-pursuit", "orthogonal", "accelerated"])
def test_value_and_slope_are_those_of_the_factors_of_a_matrix(name, shape, dtype):
    from scipy.sparse import coo_array

    rng = np.random.default_rng(0)
    B = (rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1]))).astype(dtype)
    known = rng.random(shape) < 0.5
    entries = coo_array((B[known], np.nonzero(known)), shape=shape)
    for f, mask in ((MatrixDistance(B), np.ones(shape)), (MatrixEntries(entries), known)):
        result = solve(f, RankOne(*shape), name, max_iter=12, tol=1e-4)
        X = result.x.astype(np.float64).toarray()
        rest = mask * (X - B.astype(np.float64))
        size = ULPS * EPS * np.sum(B.astype(np.float64) ** 2)
        assert abs(result.value - 0.5 * np.sum(rest**2)) <= size
        slope = np.linalg.norm(rest, 2)
        assert abs(result.slope - slope) <= 1e-10 * slope + np.sqrt(size) * 1e-6
        if result.status is Status.CONVERGED:
            assert slope <= 1e-4 * result.trace.slope[0]


def test_a_run_in_float32_does_not_call_converged_what_it_has_not_reached():
    """Steps drift away from the coefficients by the rounding of these, times the stiffness."""
    rng = np.random.default_rng(0)
    d = 40
    q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    H = ((q * np.geomspace(1, 1e-5, d)) @ q.T).astype("f4")
    b = H @ rng.standard_normal(d).astype("f4")
    atoms = Dictionary((rng.standard_normal((60, d))).astype("f4"))
    result = solve(Quadratic((H + H.T) / 2, b), atoms, "accelerated", max_iter=3000)
    exact = atoms.matrix.astype(np.float64)
    unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    H = (H.astype(np.float64) + H.T) / 2
    slopes = [np.abs(unit @ (H @ x - b)).max() for x in (np.zeros(d), result.x.astype(np.float64))]
    assert result.slope == pytest.approx(slopes[1], rel=1e-6)
    assert (result.status is Status.CONVERGED) == (slopes[1] <= TOL * slopes[0])


def test_float32_atoms_serve_a_float64_problem_to_its_end():
    """Their unit versions are float64, and not a rounding away from them."""
    rng = np.random.default_rng(1)
    d = 12
    q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    f = Quadratic((q * np.geomspace(1, 1e-6, d)) @ q.T, rng.standard_normal(d))
    atoms = Dictionary(rng.standard_normal((20, d)).astype("f4"))
    result = solve(f, atoms, "orthogonal", tol=1e-9)
    assert result.status is Status.CONVERGED
    exact = atoms.matrix.astype(np.float64)
    unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    coef = result.coef.toarray()
    first, last = (np.abs(unit @ f.gradient(x)).max() for x in (np.zeros(d), coef @ exact))
    assert last <= 1e-9 * first
