"""Theorems 8 and 9: the acceleration of Algorithms 4 and 3, step by step and as a whole.

Φ_t = ½‖x* − v_t‖_P² + β_t(f(x_t) − f*) must not grow in conditional expectation. The expectation
is a sum over the atoms: no noise. The bounds themselves are never nearly attained on quadratics,
so their ratio is printed and ν, ν′ are tested at the directions that attain them.
"""

from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theorems.instances import MANY, Instance, instances

from pursuit import (
    Dictionary,
    Problem,
    Replay,
    SquaredDistance,
    geometry,
    methods,
    rates,
    solve,
)
from pursuit.points import choose
from pursuit.rules.run import Run

SLACK = 1e-9


def algorithm_4(case, draws, factor=1.0):
    nu = factor * case.computed_nu[0]
    return methods.accelerated_matching_pursuit(nu=nu, probe=Replay(draws))


def algorithm_3(case, draws, factor=1.0):
    nu = factor * case.computed_nu[1]
    return methods.accelerated_random(nu=nu, direction=Replay(draws))


BOTH = pytest.mark.parametrize("algorithm", [algorithm_3, algorithm_4])


def after(case, algorithm, draws):
    """(x, v, β, steps made) after the given draws, by `solve` on the atoms as they are."""
    if not draws:
        return case.x0, case.x0, 0.0, 0
    run = solve(
        *(case.f, case.atoms, algorithm(case, draws), case.x0),
        max_iter=len(draws),
        tol=0,
        unit_atoms=False,
    )
    v = case.x0 + run.state.arrays["v.coef"] @ case.Z
    return run.x, v, run.origin.beta, run.iterations


def potential(case, x, v, beta):
    away = case.x_star - v
    return 0.5 * away @ case.P @ away + beta * case.gap(x)


@BOTH
def test_the_potential_does_not_grow_in_conditional_expectation(algorithm):
    @MANY
    @given(instances(max_d=3, max_n=6), st.integers(0, 4))
    def check(case, t):
        n = len(case.Z)
        prefix = case.rng.integers(0, n, t).tolist()
        now = potential(case, *after(case, algorithm, prefix)[:3])
        ends = [after(case, algorithm, [*prefix, j]) for j in range(n)]
        if any(end[3] < t + 1 for end in ends):
            return  # it met the optimum and stopped
        later = [potential(case, *end[:3]) for end in ends]
        start = potential(case, case.x0, case.x0, 0.0)
        assert case.p @ later <= now * (1 + SLACK) + 1e-12 * start

    check()


def expected_paths(case, algorithm, t):
    """(chance, x_t, β_t) for every sequence of t draws."""
    for draws in product(range(len(case.Z)), repeat=t):
        x, _, beta, _ = after(case, algorithm, list(draws))
        yield np.prod(case.p[list(draws)]), x, beta


@BOTH
def test_the_theorem_bounds_the_exact_expectation(algorithm):
    theorem = rates.theorem_9 if algorithm is algorithm_3 else rates.theorem_8

    @MANY
    @given(instances(max_d=2, max_n=3), st.integers(1, 3))
    def check(case, t):
        bound = theorem(case.f, case.atoms, case.x0, sampling=case.p)
        assert bound.holds == "in expectation"
        mean = sum(chance * case.gap(x) for chance, x, _ in expected_paths(case, algorithm, t))
        assert mean <= bound(t) * (1 + SLACK)

    check()


def test_how_loose_theorems_8_and_9_are(capsys):
    """Printed, not judged."""
    rng = np.random.default_rng(0)
    Z, b = rng.standard_normal((12, 6)), rng.standard_normal(6)
    f, atoms, t = SquaredDistance(b), Dictionary(Z), np.arange(61)
    for name, theorem, method in [
        ("8", rates.theorem_8, methods.accelerated_matching_pursuit(nu=geometry.nu(atoms))),
        ("9", rates.theorem_9, methods.accelerated_random()),
    ]:
        runs = [
            solve(f, atoms, method, max_iter=60, tol=0, every=1, rng=seed, unit_atoms=False)
            for seed in range(100)
        ]
        mean = np.mean([run.trace.value for run in runs], axis=0)
        ratio = (mean[1:] / theorem(f, atoms)(t[1:])).max()
        with capsys.disabled():
            print(f"\n  Theorem {name}: mean ε_t / bound is at most {ratio:.3f}")
        assert ratio <= 1


# Sharpness of ν and ν′ ----------------------------------------------------------------------


def growth(case, d, algorithm, factor):
    """E Φ_{t+1} − Φ_t over ½α² Σ p_j w_j c_j², from x = v with gradient d and a huge β.

    f = ½‖x − b‖²: every curvature is L‖z‖², and with β → ∞ what is left of the proof is
    ½α²(Σ p_j w_j c_j² − ν c²/‖z‖²).
    """
    x0 = d / np.abs(case.Z @ d).max()
    f, P = SquaredDistance(np.zeros(len(d))), case.P
    x_star = np.zeros(len(d))
    beta, later, alpha = 1e18, [], 0.0
    for j in range(len(case.Z)):
        run = Run(Problem(f, case.atoms), seed=0)
        method = algorithm(case, [j], factor)
        stepper = method.momentum.start(run, method.advance, choose(f, case.atoms, x0))
        stepper.memory.beta = beta
        stepper.step()
        v = stepper.v.vector
        alpha = (1 + sqrt(1 + 4 * beta * stepper.nu)) / (2 * stepper.nu)
        # ½‖x* − v‖² − ½‖x* − v_0‖², and β⁺ε⁺ − βε, without the large common part
        rise = 0.5 * (v - x0) @ P @ (v + x0 - 2 * x_star)
        x = stepper.x.vector
        change = stepper.beta * 0.5 * (x - x0) @ (x + x0) + alpha * 0.5 * x0 @ x0
        later.append(rise + change)
    spent = alpha**2 / 2 * (case.p @ (case.w * (case.Z @ x0) ** 2))
    return case.p @ later / spent


@MANY
@given(instances())
def test_nu_is_attained_and_the_potential_grows_with_one_ten_percent_too_small(case):
    d = case.computed_nu[0].witness
    # A hair toward the longest of the atoms that tie, so that the oracle picks it.
    d = d / np.abs(case.Z @ d).max()
    tied = case.Z[np.abs(case.Z @ d) > 1 - 1e-7]
    tied *= np.sign(tied @ d)[:, None]
    longest = (tied**2).sum(axis=1)
    picked = longest > longest.max() * (1 - 1e-9)
    picked &= np.isclose(tied, tied[np.argmax(longest)]).all(axis=1)
    d = d + 1e-6 * np.linalg.lstsq(tied, picked.astype(float), rcond=1e-10)[0]
    assert growth(case, d, algorithm_4, 1.0) == pytest.approx(0, abs=2e-3)
    assert growth(case, d, algorithm_4, 0.9) > 0.05


@MANY
@given(instances())
def test_nu_random_is_attained_and_the_potential_grows_with_one_ten_percent_too_small(case):
    squares = (case.Z**2).sum(axis=1)
    B = case.Z @ case.span.T
    top = (B.T * (case.p * case.w)) @ B
    bottom = (B.T * (case.p / squares)) @ B
    spectrum, vectors = np.linalg.eig(np.linalg.solve(bottom, top))
    d = vectors[:, np.argmax(spectrum.real)].real @ case.span
    assert growth(case, d, algorithm_3, 1.0) == pytest.approx(0, abs=2e-3)
    assert growth(case, d, algorithm_3, 0.9) > 0.05


# The lemmas of the appendix -------------------------------------------------------------------


class Model:
    """ψ_t along a run: ½‖x − x0‖_P² and what each step adds to it."""

    def __init__(self, case, algorithm, draws):
        self.case, self.terms = case, []
        method = algorithm(case, draws)
        run = Run(Problem(case.f, case.atoms), seed=0)
        stepper = method.momentum.start(run, method.advance, choose(case.f, case.atoms, case.x0))
        L, nu = stepper.L, stepper.nu
        for j in draws:
            beta = stepper.beta
            alpha = (1 + sqrt(1 + 4 * beta * L * nu)) / (2 * L * nu)
            tau = alpha / (beta + alpha)
            y = (1 - tau) * stepper.x.vector + tau * stepper.v.vector
            progress = stepper.step()
            run.t += 1
            g, z = case.f.gradient(y), case.Z[j]
            self.terms.append((alpha, case.f.value(y), g @ z, case.P @ z, y))
            self.progress = (case.f.value(y), progress.atom, g)
        self.x, self.v, self.beta = stepper.x.vector, stepper.v.vector, stepper.beta
        self.L = L

    def __call__(self, x):
        away = x - self.case.x0
        return 0.5 * away @ self.case.P @ away + sum(
            alpha * (value + c * (Pz @ (x - y))) for alpha, value, c, Pz, y in self.terms
        )


@BOTH
def test_lemma_7_v_minimises_the_model(algorithm):
    @MANY
    @given(instances(), st.integers(1, 6))
    def check(case, t):
        model = Model(case, algorithm, case.rng.integers(0, len(case.Z), t).tolist())
        least = model(model.v)
        scale = sqrt(abs(model.v @ case.P @ model.v)) + 1
        for _ in range(5):
            d = case.direction()
            d *= scale / sqrt(d @ case.P @ d)
            # Around its minimum ψ grows by ½‖d‖_P², no less and no more.
            assert model(model.v + d) - least == pytest.approx(0.5 * scale**2, rel=1e-6)

    check()


@BOTH
def test_the_progress_lemma(algorithm):
    """f(x_{t+1}) ≤ f(y_t) − ⟨∇f(y_t), z_t⟩²/(2L‖z_t‖²)."""

    @MANY
    @given(instances())
    def check(case):
        model = Model(case, algorithm, case.rng.integers(0, len(case.Z), 3).tolist())
        value, k, g = model.progress
        promised = (g @ case.Z[k]) ** 2 / (2 * model.L * (case.Z[k] @ case.Z[k]))
        floor = 1e-12 * (abs(value) + case.gap(case.x0))
        assert case.f.value(model.x) <= value - promised * (1 - SLACK) + floor

    check()


@BOTH
def test_the_model_is_bounded_on_both_sides_in_expectation(algorithm):
    """E ψ_t(x) ≤ β_t f(x) + ψ_0(x) for every x, and E min ψ_t ≥ β_t E f(x_t)."""

    @MANY
    @given(instances(max_d=2, max_n=3), st.integers(1, 3))
    def check(case, t):
        sequences = list(product(range(len(case.Z)), repeat=t))
        chances = np.array([np.prod(case.p[list(s)]) for s in sequences])
        models = [Model(case, algorithm, list(s)) for s in sequences]
        beta = models[0].beta
        size = beta * (abs(case.f.value(case.x0)) + case.gap(case.x0) + 1)
        for x in (case.x_star, case.direction()):
            mean = chances @ [model(x) for model in models]
            away = x - case.x0
            upper = beta * case.f.value(x) + 0.5 * away @ case.P @ away
            assert mean <= upper + 1e-9 * (size + abs(upper))
        least = chances @ [model(model.v) for model in models]
        assert least >= beta * (chances @ [case.f.value(m.x) for m in models]) - 1e-9 * size

    check()


# Acceleration in the P-norm -------------------------------------------------------------------


@MANY
@given(instances())
def test_exploring_all_atoms_with_the_step_of_algorithm_2_meets_its_bound_surely(case):
    f, atoms = case.f, case.atoms
    bound = rates.parameter_free(f, atoms, case.x0, sampling=case.p, exploration=None)
    assert bound.holds == "surely"
    kappa = geometry.smoothness(f, atoms)
    x = v = case.x0
    beta = 0.0
    for t in range(1, 16):
        alpha = (1 + sqrt(1 + 4 * beta * kappa)) / (2 * kappa)
        beta += alpha
        y = x + alpha / beta * (v - x)
        c = case.Z @ f.gradient(y)
        k = int(np.argmax(np.abs(c)))
        x = y - c[k] / kappa * case.Z[k]
        v = v - alpha * (case.p * c) @ case.Z
        assert case.gap(x) <= bound(t) * (1 + SLACK) + 1e-12 * case.gap(case.x0)
    assert rates.parameter_free(f, atoms, case.x0, sampling=case.p)(1) >= bound(1) * (1 - SLACK)


def needed_stiffness(case, g, m):
    """S/(2Δ) for the step of Algorithm 2: what κ has to be at β = 0 for (⋆) to hold."""
    c = case.Z @ g
    mean, drawn = case.p @ c**2, case.p @ (case.w * c**2)
    energy = mean if m is None else drawn / m + (1 - 1 / m) * mean
    return energy * geometry.smoothness(case.f, case.atoms) / np.abs(c).max() ** 2


@MANY
@given(instances(), st.sampled_from([1, 2, 5, None]))
def test_the_largest_stiffness_of_parameter_free_acceleration_always_suffices(case, m):
    rate = rates.parameter_free(case.f, case.atoms, case.x0, sampling=case.p, exploration=m)
    for _ in range(5):
        assert needed_stiffness(case, case.direction(), m) <= rate.constants["κ"] * (1 + SLACK)


@pytest.mark.parametrize("m", [1, 2, 5, None])
def test_the_largest_stiffness_is_attained_and_fails_ten_percent_too_small(m):
    """Orthonormal atoms and a gradient that is as steep along each of them."""
    axes, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))
    case = Instance(axes, np.full(4, 0.25), np.eye(4), np.zeros(4), np.ones(4), None)
    rate = rates.parameter_free(case.f, case.atoms, case.x0, exploration=m)
    needed = needed_stiffness(case, axes.sum(axis=0), m)
    assert needed == pytest.approx(rate.constants["κ"])
    assert needed > 0.9 * rate.constants["κ"]
