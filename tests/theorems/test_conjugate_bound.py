"""β_t(f(x_t) − f(w)) + ½‖w − v_t‖²_P ≤ ½‖w − x0‖²_P, surely, for every w: conjugate steps."""

import numpy as np
import pytest
from theorems.accelerated_runs import Watched, any_problem

from pursuit import Coordinates, Dictionary, Huber, LeastSquares, geometry, rates, solve
from pursuit.acceleration import conjugate

COUNT, CHUNK = 1000, 50
STEPS, PAST = 60, 500


class PNorm:
    """½‖d‖²_P on lin(A), from the singular values of the rows √p_j z_j."""

    def __init__(self, Z, p, cut):
        _, s, vt = np.linalg.svd(np.sqrt(p)[:, None] * Z, full_matrices=False)
        kept = s > cut * s[0]
        self._rows = vt[kept] / s[kept, None]

    def __call__(self, d):
        return 0.5 * float(np.sum((self._rows @ d) ** 2))


def states(watched):
    """(coefficients, those of v, β) after every step, and whether x still moved."""
    past, moved = 0, True
    for _ in range(STEPS + PAST):
        moved = watched.step().gamma != 0
        yield watched.coef, watched.stepper.memory.v.copy(), watched.beta, moved
        past += not moved
        if past > PAST:
            return


@pytest.mark.parametrize("first", range(0, COUNT, CHUNK))
def test_the_inequality_holds_at_every_iteration_of_a_thousand_problems(first):
    """Also long after nothing more can be told from rounding; float32 within its own."""
    for number in range(first, first + CHUNK):
        f, given = any_problem(number)
        atoms = given.unit().atoms if number % 2 else given
        watched = Watched(f, atoms)
        eps, Z = float(np.finfo(watched.stepper.x.coef.dtype).eps), atoms.matrix.astype(float)
        p = watched.method.momentum.sampled(watched.run.problem).p
        half = PNorm(Z, p, 1e-10 if eps < 1e-10 else 1e-5)
        seen = list(states(watched))
        values = np.array([f.value(coef @ Z) for coef, *_ in seen])
        first_value = abs(f.value(np.zeros(f.shape)))
        best = seen[int(np.argmin(values))][0] @ Z
        for w in (best, 1.5 * best):
            start, level = half(w), f.value(w)
            for (_, v, beta, _), value in zip(seen, values, strict=True):
                noise = (1e-9 if eps < 1e-10 else 1e-3) * start
                noise += 64 * eps * beta * max(first_value, abs(level))
                assert beta * (value - level) + half(w - v @ Z) <= start + noise, number


def narrow(delta):
    """f(x) = h(x − 1), Huber's loss: a straight line down to 1, up to delta."""
    return Huber(np.ones((1, 1)), np.ones(1), delta=delta)


@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-6])
def test_on_a_narrow_huber_loss_it_is_attained_and_fails_with_alpha_ten_percent_too_long(
    delta, monkeypatch
):
    """After one step x is x* = 1 and v is 2 − δ: ½(1 − v)² is all but ½(1 − x0)²."""

    def left():
        watched = Watched(narrow(delta), Coordinates(1))
        watched.step()
        assert watched.x == pytest.approx(1, abs=delta)
        gap = narrow(delta).value(watched.x)
        return watched.beta * gap + 0.5 * float((1 - watched.v[0]) ** 2)

    assert 0.5 * (1 - 3 * delta) <= left() <= 0.5
    root = conjugate.length
    monkeypatch.setattr(conjugate, "length", lambda *given: 1.1 * root(*given))
    assert left() > 0.5 * 1.3


# On quadratics ----------------------------------------------------------------------------------


def conjugate_gradients(f, Z, p, steps):
    """x_1 … of conjugate gradients on ZAᵀAZᵀa = ZAᵀb, preconditioned by diag(p): a textbook's.

    In extended precision, since the short recurrence loses digits.
    """
    Z, A, b, p = (array.astype(np.longdouble) for array in (Z, f.A, f.b, p))
    a, r = np.zeros(len(Z), np.longdouble), Z @ (A.T @ b)
    d, rho = p * r, r @ (p * r)
    for _ in range(steps):
        image = Z @ (A.T @ (A @ (d @ Z)))
        gamma = rho / (d @ image)
        a, r = a + gamma * d, r - gamma * image
        rho, last = r @ (p * r), rho
        d = p * r + rho / last * d
        yield (a @ Z).astype(float)


def large(seed):
    """Least squares over 120 unit atoms of 40 dimensions, and a sampling."""
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((160, 40)), rng.standard_normal(160)
    p = rng.uniform(0.5, 2, 120)
    return LeastSquares(A, b), Dictionary(rng.standard_normal((120, 40))).unit().atoms, p / p.sum()


@pytest.mark.parametrize("first", range(0, 50, 10))
def test_the_first_20_iterates_are_those_of_conjugate_gradients_in_the_P_norm(first):
    for seed in range(first, first + 10):
        f, atoms, p = large(seed)
        watched = Watched(f, atoms, sampling=p)
        for x in conjugate_gradients(f, atoms.matrix, p, 20):
            watched.step()
            assert np.linalg.norm(watched.x - x) <= 1e-8 * np.linalg.norm(x), seed


def test_each_step_minimises_f_over_all_earlier_ones():
    """x_t is the minimiser over span{u_0, …, u_{t−1}}, by linear algebra."""
    f, atoms, p = large(7)
    watched, span = Watched(f, atoms, sampling=p), []
    for _ in range(12):
        c = atoms.matrix @ f.gradient(watched.x)
        span.append((p * c) @ atoms.matrix)
        watched.step()
        D = np.linalg.qr(np.array(span).T)[0]
        best = D @ np.linalg.lstsq(f.A @ D, f.b, rcond=None)[0]
        assert np.linalg.norm(watched.x - best) <= 1e-9 * np.linalg.norm(best)


def test_the_rate_on_quadratics_holds_surely():
    for seed in range(20):
        f, atoms, p = large(seed)
        for sampling in (None, p):
            bound = rates.conjugate(f, atoms, sampling=sampling)
            floor, watched = rates.optimal_value(f, atoms), Watched(f, atoms, sampling=sampling)
            for t in range(1, 41):
                watched.step()
                assert f.value(watched.x) - floor <= bound(t) * (1 + 1e-9), (seed, t)
                own = watched.beta * 4 * bound.constants["L_P"]
                assert own >= (t + 1) ** 2 * (1 - 1e-9)


def test_the_largest_curvature_in_the_P_norm_is_attained_and_at_most_L_A():
    f, atoms, p = large(3)
    L_P = geometry.sampled_smoothness(f, atoms, p)
    P = np.linalg.inv((atoms.matrix.T * p) @ atoms.matrix)
    assert max(np.linalg.eigvals(np.linalg.solve(P, f.A.T @ f.A)).real) == pytest.approx(L_P)
    assert geometry.smoothness(f, atoms) >= L_P


# What no scale changes --------------------------------------------------------------------------


@pytest.mark.parametrize("unit_atoms", [True, False])
def test_neither_the_scale_of_atoms_nor_that_of_columns_changes_a_run(unit_atoms):
    """Unit atoms are the same to the last bit, those as given up to rounding."""
    rng = np.random.default_rng(5)
    for number in range(8):
        X = rng.standard_normal((30, 6))
        f = LeastSquares(X, rng.standard_normal(30))
        if number % 2:
            f = Huber(X, rng.standard_t(1.5, 30), delta=0.5)
        Z = rng.standard_normal((12, 6))
        scale = 2.0 ** rng.integers(-20, 20, 12)
        one = solve(f, Dictionary(Z), "accelerated", max_iter=8, tol=0, unit_atoms=unit_atoms)
        rows = Dictionary(Z * scale[:, None])
        other = solve(f, rows, "accelerated", max_iter=8, tol=0, unit_atoms=unit_atoms)
        assert np.allclose(one.x, other.x, rtol=0 if unit_atoms else 1e-9, atol=0)
        wide = 2.0 ** rng.integers(-8, 8, 6)
        columns = LeastSquares(X * wide, f.b) if number % 2 == 0 else Huber(X * wide, f.y, 0.5)
        plain = solve(f, Coordinates(6), "accelerated", max_iter=5, tol=0)
        scaled = solve(columns, Coordinates(6), "accelerated", max_iter=5, tol=0)
        assert np.allclose(scaled.x * wide, plain.x, rtol=1e-9, atol=0)
