"""E[β_t(f(x_t) − f*)] ≤ ½‖x* − x_s‖²_P for the acceleration that is given neither ν nor L."""

import numpy as np
import pytest
from theorems.adaptive_runs import Watched, metric, minimiser, problems

from pursuit import Dictionary, Quadratic, SquaredDistance


def square(x, P):
    return float(x @ P @ x)


def potential(watched, x_star, P, f_star):
    """½‖x* − v‖²_P + β(f(x) − f*) + bank."""
    gap = watched.f.value(watched.x) - f_star
    return 0.5 * square(x_star - watched.v, P) + watched.beta * gap + watched.bank


@pytest.mark.parametrize("options", [{}, {"subspace": False}, {"monotone": True}], ids=str)
def test_exploring_all_atoms_the_bound_holds_surely_at_every_iteration(options):
    """On quadratics, logistic and Huber losses; also the potential behind it never grows."""
    for f, Z in problems(60, seed=1):
        P, x_star = metric(Z), minimiser(f, Z)
        f_star, start = f.value(x_star), 0.5 * square(x_star, metric(Z))
        watched = Watched(f, Dictionary(Z), patience=0, restart=False, **options)
        last, rounding = start, 1e-9 * start + 1e-12 * abs(f.value(np.zeros(f.shape)))
        for _ in range(40):
            progress = watched.step()
            if progress.slope < 1e-8:
                break
            noise = rounding + 1e-12 * watched.beta * abs(f_star)
            assert watched.bank >= 0
            assert watched.beta * (f.value(watched.x) - f_star) <= start + noise
            now = potential(watched, x_star, P, f_star)
            assert now <= last + noise
            last = now


def test_after_a_start_by_pursuit_and_after_restarts_it_holds_from_where_the_phase_began():
    phases = 0
    for f, Z in problems(40, seed=2):
        P, x_star = metric(Z), minimiser(f, Z)
        f_star = f.value(x_star)
        watched = Watched(f, Dictionary(Z), patience=3, subspace=False)
        began = None
        for _ in range(150):
            x, beta = watched.x, watched.beta
            if watched.step().slope < 1e-8:
                break
            if watched.beta > 0 and beta == 0:
                began, phases = 0.5 * square(x_star - x, P), phases + 1
            if watched.beta > 0:
                noise = 1e-9 * began + 1e-12 * watched.beta * abs(f_star)
                assert watched.beta * (f.value(watched.x) - f_star) <= began + noise
    assert phases > 40, "there was not one restart"


@pytest.mark.parametrize("m", [1, 3])
def test_given_the_past_the_mean_of_the_potential_does_not_grow(m):
    """The exact conditional expectation, by the two moments of one draw: no noise."""
    for f, Z in problems(24, seed=3):
        p, P, x_star = np.full(len(Z), 1 / len(Z)), metric(Z), minimiser(f, Z)
        f_star = f.value(x_star)
        watched = Watched(f, Dictionary(Z), 5, exploration=m, patience=0, restart=False)
        for _ in range(30):
            v, beta, before = watched.v, watched.beta, potential(watched, x_star, P, f_star)
            if watched.step().slope < 1e-7:
                break
            alpha = watched.beta - beta
            y = watched_y(watched, v, beta, alpha)
            c = Z @ f.gradient(y)
            single = [
                0.5 * square(x_star - v + alpha * cj * z, P) for cj, z in zip(c, Z, strict=True)
            ]
            mean_move = alpha * (p * c) @ Z
            sure = 0.5 * square(x_star - v + mean_move, P)
            expected = sure + (p @ single - sure) / m  # the variance of a mean of m draws
            after = expected + watched.beta * (f.value(watched.x) - f_star) + watched.bank
            assert after <= before + 1e-9 * before + 1e-11 * watched.beta * abs(f_star)


def watched_y(watched, v, beta, alpha):
    """y_t = (1 − τ)x_t + τv_t; the point before the swap is still in the stepper's hands."""
    x = watched.stepper._y.vector
    tau = alpha / (beta + alpha)
    return (1 - tau) * x + tau * v


# Means over seeds ---------------------------------------------------------------------------


def five():
    rng = np.random.default_rng(8)
    for k in range(5):
        Z = rng.standard_normal((8, 4)) + (2.0 if k == 1 else 0.0)
        Z[6:] = Z[:2] if k == 2 else Z[6:]
        Z *= 10 ** rng.uniform(-1, 1, (8, 1)) if k == 3 else 1.0
        root = rng.standard_normal((5, 4))
        b = rng.standard_normal(4)
        yield (Quadratic(root.T @ root, b) if k == 4 else SquaredDistance(b)), Z


@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("number", range(5))
def test_the_bound_holds_in_the_mean_over_2000_seeds_also_at_a_random_time(m, number):
    f, Z = list(five())[number]
    x_star, atoms = minimiser(f, Z), Dictionary(Z)
    f_star, start = f.value(x_star), 0.5 * square(x_star, metric(Z))
    T = 8
    paths = np.zeros((2000, T))
    for seed in range(2000):
        watched = Watched(f, atoms, seed=seed, exploration=m, patience=0, restart=False)
        for t in range(T):
            watched.step()
            paths[seed, t] = watched.beta * (f.value(watched.x) - f_star)
    paths /= start
    for t in range(T):
        upper = paths[:, t].mean() + 3 * paths[:, t].std() / np.sqrt(2000)
        assert upper <= 1, (t, upper)
    # Stop the first time that β_t ε_t is above a quarter of the bound, else at the end.
    high = paths > 0.25
    when = np.where(high.any(axis=1), high.argmax(axis=1), T - 1)
    stopped = paths[np.arange(2000), when]
    assert stopped.mean() + 3 * stopped.std() / np.sqrt(2000) <= 1
    for eta in (0.5, 0.2, 0.05):  # Ville's inequality
        share = (paths.max(axis=1) >= 1 / eta).mean()
        assert share <= eta + 3 * np.sqrt(eta * (1 - eta) / 2000)
