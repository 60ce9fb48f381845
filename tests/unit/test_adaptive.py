"""The parts of acceleration from a blend, one at a time, and runs as a whole."""

import numpy as np
import pytest
from unit.smooth_problems import problem

from pursuit import (
    Adaptive,
    Coordinates,
    Dictionary,
    ExactLineSearch,
    Function,
    Greedy,
    Groups,
    InputError,
    LeastSquares,
    Logistic,
    MatrixDistance,
    Oracle,
    Random,
    RankOne,
    Sphere,
    SquaredDistance,
    Steepest,
    methods,
    solve,
)
from pursuit.acceleration.adaptive import exploring
from pursuit.methods import Method
from pursuit.objectives.problem import Problem
from pursuit.points import Needs, choose
from pursuit.rules.run import Run


def blend(advance=None, **options):
    """The momentum that looks at a blend, whatever f is."""
    advance = advance or Greedy(Steepest(), ExactLineSearch())
    return Method("ours", advance, Adaptive(**options))


# Exploration --------------------------------------------------------------------------------


def at(f, atoms, x0=None):
    return choose(f, atoms, np.zeros(f.shape) if x0 is None else x0, Needs.VECTOR)


@pytest.mark.parametrize("m", [1, 4])
def test_the_energy_of_draws_from_a_finite_set_is_their_mean_square_in_the_P_norm(m):
    f, atoms = problem(4, n=7, d=3)
    p = np.array([0.05, 0.1, 0.1, 0.15, 0.2, 0.2, 0.2])
    run = Run(Problem(f, atoms), 0)
    y = at(f, atoms)
    energy, _ = exploring(run, p, m)(y)
    Z, c = atoms.matrix, atoms.matrix @ f.gradient(np.zeros(3))
    P = np.linalg.inv((Z.T * p) @ Z)
    moves = c[:, None] * Z
    mean = p @ moves
    single = p @ np.einsum("ij,jk,ik->i", moves, P, moves)
    assert energy == pytest.approx(mean @ P @ mean + (single - mean @ P @ mean) / m)


def test_the_energy_of_all_atoms_is_the_square_of_their_mean():
    f, atoms = problem(4, n=7, d=3)
    y = at(f, atoms)
    energy, move = exploring(Run(Problem(f, atoms), 0), None, None)(y)
    v = y.copy()
    move(v, -1.0)
    Z, g = atoms.matrix, f.gradient(np.zeros(3))
    u = Z.T @ (Z @ g) / 7
    assert np.allclose(v.vector, u)
    assert energy == pytest.approx(u @ np.linalg.inv(Z.T @ Z / 7) @ u)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize(
    "atoms",
    [Sphere(5), Groups([[0, 2], [1, 3, 4]]), RankOne(3, 2)],
    ids=["sphere", "groups", "rank one"],
)
def test_the_energy_of_draws_from_an_infinite_set_is_what_sampling_gives(atoms, m):
    rng = np.random.default_rng(5)
    f = SquaredDistance(rng.standard_normal(atoms.shape))
    y = at(f, atoms)
    energy, _ = exploring(Run(Problem(f, atoms), 0), None, m)(y)
    drawn = np.array([atoms.vector(z).reshape(-1) for z in atoms.draw(rng, 40_000)])
    g = -f.b.reshape(-1)
    moves = (drawn @ g)[:, None] * drawn
    P = np.linalg.inv(drawn.T @ drawn / len(drawn))
    mean = moves.mean(axis=0)
    single = np.einsum("ij,jk,ik->i", moves, P, moves).mean()
    expected = mean @ P @ mean + (single - mean @ P @ mean) / m
    assert energy == pytest.approx(expected, rel=0.03)


def test_a_matrix_objective_has_the_energy_of_its_dense_twin():
    rng = np.random.default_rng(6)
    B, atoms = rng.standard_normal((4, 3)), RankOne(4, 3)
    energies = []
    for f in (MatrixDistance(B), SquaredDistance(B)):
        run = Run(Problem(f, atoms), 0)
        y = choose(f, atoms, f.origin(atoms))
        energies.append(exploring(run, None, 1)(y)[0])
    assert energies[0] == pytest.approx(energies[1])


# Runs -------------------------------------------------------------------------------------------


def test_an_iteration_counts_one_look_one_atom_and_what_v_moves_along():
    f, atoms = problem(n=200, d=30)
    for m, moves in ((None, 1), (3, 3 / 200)):
        method = blend(exploration=m, kappa=1e6)  # so large that no step is refused
        runs = [solve(f, atoms, method, max_iter=T, tol=0).counts.products for T in (40, 41)]
        assert runs[1] - runs[0] == pytest.approx(1 + 1 / 200 + moves)


@pytest.mark.parametrize("exploration", [None, 3])
def test_the_gram_form_and_the_ambient_form_walk_together(exploration):
    for seed in range(5):
        f, atoms = problem(seed)
        method = blend(exploration=exploration)
        gram = solve(f, atoms, method, max_iter=25, tol=0)
        ambient = solve(f, atoms, method, max_iter=25, tol=0, gram_bytes=0)
        assert np.allclose(gram.x, ambient.x, rtol=0, atol=1e-9 * np.abs(gram.x).max())
        assert gram.counts.products == pytest.approx(ambient.counts.products, abs=1)


@pytest.mark.parametrize("exploration", [None, 1])
def test_float32_stays_float32_and_gets_as_far_as_it_can(exploration):
    rng = np.random.default_rng(7)
    b, Z = rng.standard_normal(20).astype("f"), rng.standard_normal((50, 20)).astype("f")
    method = blend(exploration=exploration)
    result = solve(SquaredDistance(b), Dictionary(Z), method, tol=1e-5, max_iter=3000)
    assert result.x.dtype == np.float32
    assert result.status.name == "CONVERGED"


@pytest.mark.parametrize(
    ("f", "atoms"),
    [
        (LeastSquares(np.vander(np.linspace(-1, 1, 9), 5), np.arange(9.0)), Sphere(5)),
        (SquaredDistance(np.arange(6.0)), Groups([[0, 1], [2, 3, 4], [5]])),
        (MatrixDistance(np.arange(12.0).reshape(4, 3) ** 2), RankOne(4, 3)),
        (
            Function(lambda x: np.cosh(x - 1).sum(), lambda x: np.sinh(x - 1), shape=4),
            Dictionary(np.random.default_rng(0).standard_normal((9, 4))),
        ),
    ],
    ids=["sphere", "groups", "rank one", "function"],
)
def test_it_runs_on_sets_without_coefficients_and_on_functions_without_constants(f, atoms):
    result = solve(f, atoms, "accelerated", tol=1e-8, max_iter=5000)
    assert result.status.name == "CONVERGED"


@pytest.mark.parametrize("name", ["orthogonal", "blended"])
@pytest.mark.parametrize("exploration", [None, 2])
def test_it_takes_any_advance(name, exploration):
    f, atoms = problem()
    method = blend(methods.NAMED[name]().advance, exploration=exploration)
    result = solve(f, atoms, method, tol=1e-9, max_iter=500)
    assert result.status.name == "CONVERGED"


def test_where_a_step_would_raise_f_a_new_phase_begins_at_x():
    f, atoms = problem(9)
    values, phases = [], []
    result = None
    for end in range(1, 120):
        result = solve(f, atoms, blend(exploration=1), max_iter=end, tol=0, resume=result)
        values.append(result.value)
        phases.append(result.state.numbers["memory"]["momentum"]["phases"])
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert phases[-1] > 2
    fixed = solve(f, atoms, blend(exploration=1, kappa=1e3), max_iter=300, tol=0, every=1)
    assert (np.diff(fixed.trace.value) > 0).any(), "with a fixed κ it does, so the test can fail"


def test_runs_resume_bit_for_bit():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 12))
    f, atoms = Logistic(X, np.sign(rng.standard_normal(60)), l2=0.1), Coordinates(12)
    for options in ({}, {"exploration": 4}):
        method = blend(**options)
        whole = solve(f, atoms, method, max_iter=260, tol=0)
        part = None
        for end in (1, 3, 99, 100, 101, 260):
            part = solve(f, atoms, method, max_iter=end, tol=0, resume=part)
        assert np.array_equal(part.x, whole.x)
        assert part.counts.products == whole.counts.products


# Refusals -----------------------------------------------------------------------------------


def test_what_cannot_be_accelerated_is_refused_with_a_sentence():
    f, atoms = problem()
    with pytest.raises(InputError, match=r"^direction: .*expected a rule that looks for it"):
        solve(f, atoms, blend(Greedy(Random())))
    with pytest.raises(InputError, match=r"^exploration: expected an integer of at least 1"):
        solve(f, atoms, methods.accelerated(exploration=0))
    with pytest.raises(InputError, match=r"^L_A: expected a positive number|^kappa"):
        solve(f, atoms, methods.accelerated_affine_invariant(L_A=0.0))


def test_a_set_without_draws_is_refused():
    f, _ = problem()
    own = Oracle(lambda d: d / np.linalg.norm(d), shape=(12,), radius=1.0)
    with pytest.raises(InputError, match=r"^sample: this Oracle has none"):
        solve(f, own, "accelerated")
