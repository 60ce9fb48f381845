"""A run that runs away says so, names the safe value, and a valid run never does."""

import numpy as np
import pytest

from pursuit import (
    L1,
    Backtracking,
    Coordinates,
    Dictionary,
    Function,
    MatrixDistance,
    Oracle,
    Quadratic,
    RankOne,
    Smooth,
    SquaredDistance,
    Status,
    geometry,
    methods,
    path,
    solve,
)

SEEDS = range(20)


def toy(seed):
    """The paper's toy: 200 unit Gaussian atoms in 100 dimensions, a Gaussian signal."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((200, 100))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return SquaredDistance(rng.standard_normal(100)), Dictionary(rows)


def negative(seed):
    """A quadratic whose minimum is far below zero, over the atoms of the toy."""
    rng = np.random.default_rng([seed, 1])
    root = rng.standard_normal((120, 100))
    return Quadratic(root.T @ root / 100, 10 * rng.standard_normal(100)), toy(seed)[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_algorithm_4_with_the_printed_nu_is_caught_within_200_iterations(seed):
    f, atoms = toy(seed)
    printed = methods.accelerated_matching_pursuit(nu=1.0)
    result = solve(f, atoms, printed, max_iter=2000, rng=seed)
    assert result.status is Status.DIVERGED
    assert not result.success
    assert result.iterations <= 200
    assert result.value > f.value(np.zeros(100))
    # The safe value is r · radius² = 100 for unit atoms.
    assert "nu = 1 is below the safe value 100" in result.message
    assert "give nu=100" in result.message


@pytest.mark.parametrize("instance", [toy, negative])
@pytest.mark.parametrize("seed", SEEDS)
def test_valid_constants_never_give_a_false_alarm(seed, instance):
    f, atoms = instance(seed)
    for name in ("accelerated-matching-pursuit", "accelerated-random"):
        result = solve(f, atoms, name, max_iter=2000, tol=0, every=100, rng=seed)
        assert result.status is Status.MAX_ITER, result.message
        assert result.iterations == 2000
        assert result.value < f.value(np.zeros(100))
    if instance is negative:
        assert result.value < 0


def test_the_value_that_the_message_names_is_safe():
    f, atoms = toy(0)
    diverged = solve(f, atoms, methods.accelerated_matching_pursuit(nu=1.0))
    named = float(diverged.message.partition("give nu=")[2].partition(",")[0])
    assert named == pytest.approx(float(geometry.nu(atoms)))
    again = solve(f, atoms, methods.accelerated_matching_pursuit(nu=named), max_iter=2000, tol=0)
    assert again.status is Status.MAX_ITER


def test_a_random_pursuit_with_too_small_a_nu_is_told_the_exact_one():
    f, atoms = toy(3)
    result = solve(f, atoms, methods.accelerated_random(nu=0.5), max_iter=2000)
    assert result.status is Status.DIVERGED
    assert f"give nu={float(geometry.nu_random(atoms)):.6g}" in result.message


WRONG = {
    "L of a step": (lambda L: methods.matching_pursuit(step=Smooth(L=L)), "L", 0.4),
    "L of random pursuit": (lambda L: methods.random_pursuit(step=Smooth(L=L)), "L", 0.4),
    "L_A": (lambda L_A: methods.affine_invariant(L_A=L_A), "L_A", 0.4),
    "L of Algorithm 3": (lambda L: methods.accelerated_random(L=L), "L", 0.4),
    "L of Algorithm 4": (lambda L: methods.accelerated_matching_pursuit(L=L), "L", 0.3),
    "L of its step alone": (
        lambda L: methods.accelerated_matching_pursuit(step=Smooth(L=L)),
        "L",
        0.3,
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_curvature_that_is_too_small_is_caught_and_the_safe_one_is_named(case):
    make, name, wrong = WRONG[case]
    f, atoms = toy(1)
    result = solve(f, atoms, make(wrong), max_iter=2000)
    assert result.status is Status.DIVERGED
    assert f"{name} = {wrong:g} is below" in result.message
    named = float(result.message.partition(f"give {name}=")[2].partition(",")[0])
    assert named == pytest.approx(1)
    again = solve(f, atoms, make(named), max_iter=2000, tol=0)
    assert again.status is Status.MAX_ITER
    assert again.value < f.value(np.zeros(100))


def test_of_two_wrong_constants_both_are_named():
    f, atoms = toy(1)
    both = methods.accelerated_matching_pursuit(nu=1.0, L=0.4)
    message = solve(f, atoms, both, max_iter=2000).message
    assert "give nu=100" in message
    assert "give L=1" in message


def test_an_objective_that_claims_too_small_an_L_is_named_and_the_way_out_works():
    f = Function(lambda x: 2 * (x @ x) - x.sum(), lambda x: 4 * x - 1, shape=3, L=1.0)
    result = solve(f, Coordinates(3), max_iter=500)
    assert result.status is Status.DIVERGED
    assert "f has more curvature than its L says" in result.message
    assert "step=Backtracking()" in result.message
    way_out = methods.matching_pursuit(step=Backtracking())
    assert solve(f, Coordinates(3), way_out).status is Status.CONVERGED


def test_over_an_oracle_a_nu_that_is_too_small_is_still_a_sentence():
    corners = Oracle(
        lambda d: np.where(d < 0, -1.0, 1.0),
        shape=8,
        radius=8**0.5,
        sample=lambda rng: rng.choice([-1.0, 1.0], 8),
    )
    b = np.random.default_rng(0).standard_normal(8)
    small = methods.accelerated_matching_pursuit(nu=0.01)
    result = solve(SquaredDistance(b), corners, small, max_iter=500)
    assert result.status is Status.DIVERGED
    assert result.message


@pytest.mark.parametrize("iterations", [3, 500])
@pytest.mark.parametrize("L", [1e-40, 1e-120])
def test_overflow_is_a_divergence_and_no_warning_however_short_the_run(L, iterations):
    f, atoms = toy(2)
    result = solve(f, atoms, methods.matching_pursuit(step=Smooth(L=L)), max_iter=iterations)
    if np.isfinite(result.value):
        assert result.status is Status.MAX_ITER
    else:
        assert result.status is Status.DIVERGED
        assert not result.success
    assert iterations == 3 or result.status is Status.DIVERGED


@pytest.mark.parametrize("name", methods.NAMED)
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_start_at_the_optimum_is_no_divergence(name, scale):
    """There the value moves by rounding only, up as often as down."""
    rng = np.random.default_rng(5)
    atoms = Dictionary(rng.standard_normal((20, 8)))
    b = scale * rng.standard_normal(8)
    near = np.linalg.lstsq(atoms.matrix.T, b, rcond=None)[0]
    for coef0 in (near, near * (1 + 1e-15 * rng.standard_normal(20))):
        result = solve(SquaredDistance(b), atoms, name, coef0=coef0, tol=0, max_iter=600)
        assert result.status is not Status.DIVERGED


@pytest.mark.parametrize("seed", range(3))
def test_flat_directions_and_a_value_of_zero_on_the_way_are_no_divergence(seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((4, 10))
    H, inside = root.T @ root, root.T @ rng.standard_normal(4)
    f = Quadratic(H, inside)
    minimiser = np.linalg.lstsq(H, inside, rcond=None)[0]
    # f(2x⋆) = f(0) = 0: the run starts at zero and passes through no other special value.
    for name in methods.NAMED:
        result = solve(f, Coordinates(10), name, x0=2 * minimiser, max_iter=600, tol=0)
        assert result.status is not Status.DIVERGED
        assert result.value < 0


def test_a_warm_start_whose_value_drowns_in_its_terms_has_not_diverged():
    """The value is 1e-17 of its terms, and steps follow the rounding of slopes."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        Z, b = rng.standard_normal((13, 2)), 0.2 * rng.standard_normal(2)
        weights = rng.uniform(0.5, 2.5, 13) * (rng.random(13) < 0.7)
        options = {"lambdas": [1, 1e-4, 1e-15, 1e-16, 1e-17], "tol": 1e-3, "max_iter": 120}
        found = path(SquaredDistance(b), Z, L1(weights), "random-pursuit", **options)
        assert Status.DIVERGED not in [run.status for run in found.runs]


def test_a_matrix_kept_as_factors_that_runs_away_says_so():
    f = MatrixDistance(np.random.default_rng(0).standard_normal((6, 5)))
    result = solve(f, RankOne(6, 5), methods.matching_pursuit(step=Smooth(L=0.3)))
    assert result.status is Status.DIVERGED


def test_a_diverged_run_that_is_resumed_has_still_diverged():
    f, atoms = toy(4)
    printed = methods.accelerated_matching_pursuit(nu=1.0)
    first = solve(f, atoms, printed, max_iter=2000)
    again = solve(f, atoms, printed, max_iter=2000, resume=first)
    assert (again.status, again.iterations) == (Status.DIVERGED, first.iterations)
    assert again.message == first.message


def test_a_stop_where_the_value_is_too_high_does_not_count_twice():
    f, atoms = toy(4)
    printed = methods.accelerated_matching_pursuit(nu=1.0)
    whole = solve(f, atoms, printed, max_iter=2000)
    for stop in (whole.iterations // 3, whole.iterations // 3 * 2):
        half = solve(f, atoms, printed, max_iter=stop)
        resumed = solve(f, atoms, printed, max_iter=2000, resume=half)
        assert (resumed.status, resumed.iterations) == (whole.status, whole.iterations)
