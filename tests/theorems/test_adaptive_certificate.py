"""E[β_t(f(x_t) − f*)] ≤ ½‖x* − x_s‖²_P for the acceleration from a blend of x and v."""

import numpy as np
import pytest
from theorems.accelerated_runs import Watched, metric, minimiser, problems

from pursuit import Adaptive, Dictionary, Quadratic, SquaredDistance


def square(x, P):
    return float(x @ P @ x)


def potential(watched, x_star, P, f_star):
    """½‖x* − v‖²_P + β(f(x) − f*) + bank."""
    gap = watched.f.value(watched.x) - f_star
    return 0.5 * square(x_star - watched.v, P) + watched.beta * gap + watched.bank


def test_exploring_all_atoms_the_bound_holds_surely_from_where_the_phase_began():
    """On quadratics, logistic and Huber losses; also the potential behind it never grows."""
    phases = 0
    for f, Z in problems(60, seed=1):
        P, x_star = metric(Z), minimiser(f, Z)
        f_star, began = f.value(x_star), 0.5 * square(x_star, metric(Z))
        watched = Watched(f, Dictionary(Z), momentum=Adaptive())
        last, rounding = began, 1e-12 * abs(f.value(np.zeros(f.shape)))
        for _ in range(60):
            x, phase = watched.x, watched.phases
            if watched.step().slope < 1e-8:
                break
            if watched.phases > phase:  # x would have risen: v ← x, and from there anew
                phases += 1
                last = began = 0.5 * square(x_star - x, P)
            noise = rounding + 1e-9 * began + 1e-12 * watched.beta * abs(f_star)
            assert watched.bank >= 0
            assert watched.beta * (f.value(watched.x) - f_star) <= began + noise
            now = potential(watched, x_star, P, f_star)
            assert now <= last + noise
            last = now
    assert phases > 40, "there was hardly a second phase"


def test_x_never_rises():
    for f, Z in problems(40, seed=2):
        for m in (None, 1, 4):
            watched, value = Watched(f, Dictionary(Z), momentum=Adaptive(m)), np.inf
            for _ in range(50):
                if watched.step().slope < 1e-8:
                    break
                last, value = value, f.value(watched.x)
                assert value <= last + 1e-12 * abs(value)


@pytest.mark.parametrize("m", [1, 3])
def test_given_the_past_the_mean_of_the_potential_does_not_grow(m):
    """The exact conditional expectation, by the two moments of one draw: no noise."""
    for f, Z in problems(24, seed=3):
        p, P, x_star = np.full(len(Z), 1 / len(Z)), metric(Z), minimiser(f, Z)
        f_star = f.value(x_star)
        watched = Watched(f, Dictionary(Z), 5, exploration=m)
        for _ in range(30):
            v, beta, before = watched.v, watched.beta, potential(watched, x_star, P, f_star)
            if watched.step().slope < 1e-7 or watched.phases > 1:
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
    """Each run is looked at until its first phase ends, which is a stopping time too."""
    f, Z = list(five())[number]
    x_star, atoms = minimiser(f, Z), Dictionary(Z)
    f_star, start = f.value(x_star), 0.5 * square(x_star, metric(Z))
    T = 8
    paths = np.zeros((2000, T))
    for seed in range(2000):
        watched, ended = Watched(f, atoms, seed=seed, exploration=m), False
        for t in range(T):
            watched.step()
            ended = ended or watched.phases > 1
            now = watched.beta * (f.value(watched.x) - f_star)
            paths[seed, t] = paths[seed, t - 1] if ended else now
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
