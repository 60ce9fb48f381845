"""What the parameter-free acceleration becomes when its parameters are given."""

import numpy as np
import pytest
from equivalence.paper_boxes import accelerated_matching_pursuit
from hypothesis import given, settings
from hypothesis import strategies as st
from theorems.accelerated_runs import Watched, metric, minimiser, problems
from theorems.instances import MANY, instances

from pursuit import (
    Adaptive,
    Dictionary,
    Greedy,
    Quadratic,
    Smooth,
    Steepest,
    geometry,
    methods,
    solve,
)
from pursuit.atoms.sampling import Sampling
from pursuit.methods import Method
from pursuit.rules.run import Run


def iterates(f, atoms, method, T, x0=None, seed=0):
    """x_1 … x_T on the atoms as given."""
    seen = []
    solve(
        f, atoms, method, x0, max_iter=T, tol=0, every=1, unit_atoms=False, rng=seed,
        callback=lambda shown: seen.append(shown.x) and False,
    )  # fmt: skip
    return np.array(seen)


@settings(MANY, max_examples=60)
@given(instances(), st.integers(0, 5))
def test_with_kappa_fixed_to_L_nu_one_draw_and_no_bank_it_is_algorithm_4(case, seed):
    T, f, atoms = 25, case.f, case.atoms
    nu = geometry.nu(atoms).upper
    momentum = Adaptive(exploration=1, kappa=f.L * nu)
    ours = iterates(f, atoms, Method("ours", Greedy(Steepest(), Smooth()), momentum), T, seed=seed)
    library = methods.accelerated_matching_pursuit(nu=nu)
    theirs = iterates(f, atoms, library, T, seed=seed)
    draw = Run(None, seed).stream("probes", Sampling(atoms))
    draws = [draw() for _ in range(T)]
    printed = accelerated_matching_pursuit(
        f.gradient, case.Z, f.L, nu, np.zeros(len(case.b)), draws
    )
    size = np.abs(printed).max()
    rows = min(len(ours), len(theirs), len(printed))
    assert np.allclose(ours[:rows], theirs[:rows], rtol=0, atol=1e-9 * size)
    assert np.allclose(ours[:rows], printed[:rows], rtol=0, atol=1e-7 * size)


def well_posed(rng):
    """A quadratic over generic atoms, and a change of coordinates."""
    root, Z = rng.standard_normal((7, 5)), rng.standard_normal((9, 5))
    M = rng.standard_normal((5, 5)) + 3 * np.eye(5)
    return Quadratic(root.T @ root, rng.standard_normal(5)), Z, M


@pytest.mark.parametrize("name", ["accelerated-affine-invariant", "accelerated"])
def test_iterates_are_affine_invariant(name):
    """f∘M over the atoms M⁻¹z gives M⁻¹x_t; with all of them explored nothing sees coordinates."""
    for seed in range(20):
        f, Z, M = well_posed(np.random.default_rng(seed))
        other = Quadratic(M.T @ f.H @ M, M.T @ f.b)
        plain = iterates(f, Dictionary(Z), name, 30)
        changed = iterates(other, Dictionary(np.linalg.solve(M, Z.T).T), name, 30)
        rows = min(len(plain), len(changed))  # rounding decides with which step a run is done
        assert abs(len(plain) - len(changed)) <= 1
        scale = np.abs(plain).max()
        assert np.allclose((changed @ M.T)[:rows], plain[:rows], rtol=0, atol=1e-9 * scale)


def test_exploring_in_natural_coordinates_after_a_change_gives_other_iterates():
    f, Z, M = well_posed(np.random.default_rng(3))
    other = Quadratic(M.T @ f.H @ M, M.T @ f.b)
    plain = iterates(f, Dictionary(Z), "accelerated-affine-invariant", 5)
    changed = iterates(other, Dictionary(Z), "accelerated-affine-invariant", 5)
    assert not np.allclose(changed @ M.T, plain, rtol=0, atol=1e-3 * np.abs(plain).max())


def test_the_affine_invariant_variant_obeys_its_bound_surely():
    """f(x_t) − f* ≤ 2 L_A ‖x* − x0‖²_P / (t(t + 1)); the ratio is printed, not judged."""
    tightest = 0.0
    for f, Z in problems(60, seed=4):
        x_star, P = minimiser(f, Z), metric(Z)
        L_A = geometry.smoothness(f, Dictionary(Z)).upper
        xs = iterates(f, Dictionary(Z), "accelerated-affine-invariant", 60)
        for t, x in enumerate(xs[1:], start=1):
            bound = 2 * L_A * float(x_star @ P @ x_star) / (t * (t + 1))
            gap = f.value(x) - f.value(x_star)
            assert gap <= bound + 1e-12 * abs(f.value(np.zeros(f.shape)))
            tightest = max(tightest, gap / bound)
    print(f"largest share of the bound that was attained: {tightest:.3f}")


def test_kappa_never_exceeds_L_A_by_more_than_a_refusal_raises_it():
    for f, Z in problems(40, seed=6):
        L_A = geometry.smoothness(f, Dictionary(Z)).upper
        watched = Watched(f, Dictionary(Z), momentum=Adaptive())
        for _ in range(30):
            if watched.step().slope < 1e-8:
                break
            assert 0 < watched.stepper.memory.kappa <= 1.05 * L_A * (1 + 1e-9)
