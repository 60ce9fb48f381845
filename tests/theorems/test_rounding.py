"""What is said of rounding is true, on problems of any scale and condition, in fractions."""

from fractions import Fraction

import numpy as np
from theorems.hard_certificates import hard_problem
from theorems.rational import Parabola, dot, exact, independent, solved, times

from pursuit import geometry

SEEDS = range(300)
AGREE = Fraction(1e-9)


def quadratics(whole=False):
    """The hard problems that fractions can solve; those whose atoms span everything, if asked."""
    for seed in SEEDS:
        case = hard_problem(seed)
        if isinstance(case.truth, Parabola) and not (whole and case.atoms.lin.basis is not None):
            yield seed, case, np.random.default_rng(seed)


def square(vector):
    return dot(vector, vector)


def test_a_gradient_is_as_exact_as_its_objective_says():
    for seed, case, rng in quadratics():
        x = rng.standard_normal(case.f.shape) * 10.0 ** rng.uniform(-3, 3)
        true = [s - t for s, t in zip(times(case.truth.H, exact(x)), case.truth.b, strict=True)]
        computed = exact(case.f.gradient(x))
        off = square([s - t for s, t in zip(computed, true, strict=True)])
        assert off <= Fraction(case.f.gradient_rounding(x)) ** 2, (seed, case.kind)


def test_a_slope_is_at_least_the_true_one():
    for seed, case, rng in quadratics(whole=True):
        x = rng.standard_normal(case.f.shape)
        true = [s - t for s, t in zip(times(case.truth.H, exact(x)), case.truth.b, strict=True)]
        steepest = max(map(abs, times(exact(case.atoms.matrix), true)))
        assert steepest <= Fraction(geometry.slope_at(case.f, case.atoms, x).value), seed


def test_the_largest_curvature_is_at_least_the_true_one():
    for seed, case, _ in quadratics():
        largest = max(dot(z, times(case.truth.H, z)) for z in exact(case.atoms.matrix))
        L_A = geometry.smoothness(case.f, case.atoms)
        assert largest <= Fraction(L_A.upper) * (1 + AGREE), (seed, case.kind)


def test_strong_convexity_is_at_most_what_its_worst_direction_shows():
    """μ_A ≤ ‖y‖²_{A*}/yᵀH⁻¹y for every y, and nearly that for the witness."""
    tested = 0
    for seed, case, rng in quadratics(whole=True):
        mu_A = geometry.strong_convexity(case.f, case.atoms)
        if mu_A.lower == 0:
            continue
        Z, tested = exact(case.atoms.matrix), tested + 1
        worst = [] if mu_A.witness is None else [mu_A.witness]
        for y in [*worst, *rng.standard_normal((2, *case.f.shape))]:
            steepest = max(map(abs, times(Z, exact(y))))
            inverse = dot(exact(y), solved(case.truth.H, exact(y)))
            assert Fraction(mu_A.lower) * inverse <= steepest**2 * (1 + AGREE), (seed, case.kind)
    assert tested > 60


def test_the_quality_of_a_sampling_lies_in_its_interval():
    for seed in SEEDS:
        atoms = hard_problem(seed).atoms
        quality = geometry.sampling_quality(atoms)
        if atoms.lin.basis is not None:
            continue
        Z = exact(atoms.matrix)
        largest = max(dot(z, solved(second_moment(Z), z)) for z in Z)
        assert Fraction(quality.lower) * largest <= 1 + AGREE, seed
        if np.isfinite(quality.upper):
            assert Fraction(quality.upper) * largest >= 1 - AGREE, seed


def test_the_gap_and_the_distance_of_a_start_lie_in_their_intervals():
    for seed, case, _ in quadratics(whole=True):
        gap, distance = (g(case.f, case.atoms) for g in (geometry.gap, geometry.distance))
        if np.isfinite(gap.upper):
            true = -case.truth.lowest
            assert Fraction(gap.lower) * (1 - AGREE) <= true, (seed, case.kind)
            assert true <= Fraction(gap.upper) * (1 + AGREE), (seed, case.kind)
        if np.isfinite(distance.upper) and len(independent(case.truth.H)) == len(case.truth.H):
            true = _distance2(case)
            assert Fraction(distance.lower) ** 2 * (1 - AGREE) <= true, (seed, case.kind)
            assert true <= Fraction(distance.upper) ** 2 * (1 + AGREE), (seed, case.kind)


def _distance2(case):
    """‖x*‖_P² for a uniform sampling."""
    x = solved(case.truth.H, case.truth.b)
    return dot(x, solved(second_moment(exact(case.atoms.matrix)), x))


def second_moment(Z):
    """Σ zzᵀ/n."""
    return [[dot(s, t) / len(Z) for t in zip(*Z, strict=True)] for s in zip(*Z, strict=True)]
