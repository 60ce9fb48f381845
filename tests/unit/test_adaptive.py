"""The parts of the parameter-free acceleration, one at a time."""

import numpy as np
import pytest

import pursuit.points.base
from pursuit import (
    Adaptive,
    Coordinates,
    Dictionary,
    ExactLineSearch,
    Function,
    Greedy,
    Groups,
    Huber,
    InputError,
    LeastSquares,
    Logistic,
    MatrixDistance,
    Oracle,
    Quadratic,
    Random,
    RankOne,
    Sphere,
    SquaredDistance,
    methods,
    solve,
)
from pursuit.acceleration.exploration import exploring
from pursuit.acceleration.headings import Heading, total
from pursuit.acceleration.patience import Patience
from pursuit.acceleration.subspace import best, solve_small
from pursuit.atoms.sampling import Sampling
from pursuit.methods import Method
from pursuit.objectives.problem import Problem
from pursuit.rules.run import Run


def problem(seed=0, n=30, d=12):
    rng = np.random.default_rng(seed)
    A, Z = rng.standard_normal((2 * d, d)), rng.standard_normal((n, d))
    return LeastSquares(A, rng.standard_normal(2 * d)), Dictionary(Z)


def logistic(seed=0, samples=60, d=12, l2=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, d))
    y = np.sign(X @ rng.standard_normal(d) + rng.standard_normal(samples))
    return Logistic(X, y, l2=l2)


# The plane ----------------------------------------------------------------------------------


def test_a_small_system_is_solved_over_what_is_independent():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((6, 3))
    B = np.column_stack([B, B[:, 0] + B[:, 1]]) * [1, 1e-5, 1e5, 1]  # the fourth depends
    H, slopes = B.T @ B, B.T @ rng.standard_normal(6)
    delta, gain = solve_small(H, slopes, np.diag(H) * 2, 1e-11)
    best_gain = 0.5 * slopes @ np.linalg.pinv(H, rcond=1e-14) @ slopes
    assert gain == pytest.approx(best_gain, rel=1e-6)
    assert slopes @ delta - 0.5 * delta @ H @ delta == pytest.approx(gain, rel=1e-9)


def test_a_direction_that_is_rounding_is_left_alone():
    H = np.diag([1.0, 1e-30])
    delta, gain = solve_small(H, np.array([1.0, 1e-12]), np.ones(2), 1e-12)
    assert delta.tolist() == [1.0, 0.0]
    assert gain == 0.5


def plane(x, count=3, seed=1):
    rng = np.random.default_rng(seed)
    return [Heading.fresh(x, x.gather(rng.standard_normal(len(x.coef)))) for _ in range(count)]


@pytest.mark.parametrize("form", ["gram", "ambient"])
@pytest.mark.parametrize("kind", ["distance", "least squares", "quadratic"])
def test_the_best_point_of_a_plane_is_the_one_of_linear_algebra(form, kind):
    rng = np.random.default_rng(2)
    f, atoms = problem()
    if kind == "distance":
        f = SquaredDistance(rng.standard_normal(12))
    if kind == "quadratic":
        f = Quadratic(f.A.T @ f.A, rng.standard_normal(12))
    make = f.point if form == "gram" else f.ambient_point
    x = make(atoms, np.zeros(12))
    directions = plane(x)
    D = np.array([atoms.combine(heading.shift["coef"]) for heading in directions])
    H = D @ np.array([f.hessian(d) for d in D]).T
    expected = np.linalg.solve(H, D @ f.gradient(x.vector))
    delta, gain = best(x, directions)
    assert np.allclose(delta, expected, rtol=1e-9)
    end = x.vector - delta @ D
    assert gain == pytest.approx(f.value(x.vector) - f.value(end), rel=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_on_linear_models_the_decrease_is_proved_and_most_of_what_there_is(loss):
    rng = np.random.default_rng(3)
    for seed in range(30):
        f = logistic(seed, l2=0.1 * (seed % 2))
        if loss == "huber":
            f = Huber(f.X, rng.standard_t(1.5, 60), delta=0.3, l2=0.1 * (seed % 2))
        atoms = Dictionary(rng.standard_normal((30, 12)))
        x = f.point(atoms, 10 ** rng.uniform(-3, 1) * rng.standard_normal(12))
        directions = plane(x, seed=seed)
        D = np.array([atoms.combine(heading.shift["coef"]) for heading in directions])
        delta, gain = best(x, directions)
        true = f.value(x.vector) - f.value(x.vector - delta @ D)
        assert gain <= true * (1 + 1e-12)
        assert gain >= 0.5 * true > 0


def test_a_sum_that_cancels_is_computed_anew_and_counted():
    f, atoms = problem()
    x = f.point(atoms, np.zeros(12))
    one, other = plane(x, 2)
    nearly = Heading(one.shift, one.reach, one.error)
    before = x.counts.products
    assert total(x, (1.0, one), (2.0, other)).error > 0
    assert x.counts.products == before
    tiny = {name: array * (1 + 1e-13) for name, array in one.shift.items()}
    rest = total(x, (1.0, nearly), (-1.0, Heading.fresh(x, tiny)))
    assert x.counts.products == before + 1
    assert np.array_equal(rest.shift["s"], x.gather(rest.shift["coef"])["s"])


# Exploration --------------------------------------------------------------------------------


def at(f, atoms, x0=None):
    return f.ambient_point(atoms, np.zeros(f.shape) if x0 is None else x0)


@pytest.mark.parametrize("m", [1, 4])
def test_the_energy_of_draws_from_a_finite_set_is_their_mean_square_in_the_P_norm(m):
    f, atoms = problem(4, n=7, d=3)
    p = np.array([0.05, 0.1, 0.1, 0.15, 0.2, 0.2, 0.2])
    run = Run(Problem(f, atoms), 0)
    y = at(f, atoms)
    glimpse = exploring(run, Sampling(atoms, p), m).look(y)
    Z, c = atoms.matrix, atoms.matrix @ f.gradient(np.zeros(3))
    P = np.linalg.inv((Z.T * p) @ Z)
    moves = c[:, None] * Z
    mean = p @ moves
    single = p @ np.einsum("ij,jk,ik->i", moves, P, moves)
    assert glimpse.energy == pytest.approx(mean @ P @ mean + (single - mean @ P @ mean) / m)


def test_the_energy_of_all_atoms_is_the_square_of_their_mean():
    f, atoms = problem(4, n=7, d=3)
    y = at(f, atoms)
    glimpse = exploring(Run(Problem(f, atoms), 0), Sampling(atoms), None).look(y)
    Z, g = atoms.matrix, f.gradient(np.zeros(3))
    u = Z.T @ (Z @ g) / 7
    assert np.allclose(glimpse.mean["x"], u)
    assert glimpse.energy == pytest.approx(u @ np.linalg.inv(Z.T @ Z / 7) @ u)


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
    glimpse = exploring(Run(Problem(f, atoms), 0), Sampling(atoms), m).look(y)
    drawn = np.array([atoms.vector(z).reshape(-1) for z in atoms.draw(rng, 40_000)])
    g = -f.b.reshape(-1)
    moves = (drawn @ g)[:, None] * drawn
    P = np.linalg.inv(drawn.T @ drawn / len(drawn))
    mean = moves.mean(axis=0)
    single = np.einsum("ij,jk,ik->i", moves, P, moves).mean()
    expected = mean @ P @ mean + (single - mean @ P @ mean) / m
    assert glimpse.energy == pytest.approx(expected, rel=0.03)


def test_a_matrix_objective_has_the_energy_of_its_dense_twin():
    rng = np.random.default_rng(6)
    B, atoms = rng.standard_normal((4, 3)), RankOne(4, 3)
    energies = []
    for f in (MatrixDistance(B), SquaredDistance(B)):
        run = Run(Problem(f, atoms), 0)
        y = f.point(atoms, f.origin(atoms))
        energies.append(exploring(run, Sampling(atoms), 1).look(y).energy)
    assert energies[0] == pytest.approx(energies[1])


# Patience -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("constant", "slow"), [(18.0, False), (22.0, True)])
def test_pursuit_is_left_when_its_time_constant_is_above_the_limit(constant, slow):
    f, atoms = problem()
    patience = Patience(Run(Problem(f, atoms), 0), 20.0)
    for t in range(300):
        patience.watch(np.exp(-t / constant))
        if patience.lost:
            break
    assert patience.lost == slow


def test_without_patience_it_accelerates_at_once_and_with_endless_patience_never():
    f, atoms = problem(n=200, d=30)
    method = methods.accelerated(patience=np.finfo(float).max)
    pursued = solve(f, atoms, method, max_iter=200, tol=0)
    plain = solve(f, atoms, methods.matching_pursuit(step=ExactLineSearch()), max_iter=200, tol=0)
    assert np.array_equal(pursued.x, plain.x)
    at_once = solve(f, atoms, methods.accelerated(patience=0), max_iter=1, tol=0)
    assert at_once.counts.products == pytest.approx(2, abs=0.1)


# The whole ----------------------------------------------------------------------------------


def test_an_iteration_counts_one_look_one_combination_and_one_atom():
    f, atoms = problem(n=200, d=30)
    method = methods.accelerated(patience=0)
    runs = [solve(f, atoms, method, max_iter=T, tol=0).counts.products for T in (40, 41)]
    assert runs[1] - runs[0] == pytest.approx(2 + 1 / 200)


@pytest.mark.parametrize("options", [{}, {"subspace": False}, {"exploration": 3}], ids=str)
def test_the_gram_form_and_the_ambient_form_walk_together(options, monkeypatch):
    for seed in range(5):
        f, atoms = problem(seed)
        method = methods.accelerated(patience=0, **options)
        gram = solve(f, atoms, method, max_iter=25, tol=0)
        with monkeypatch.context() as patch:
            patch.setattr(pursuit.points.base, "GRAM_BYTES", 0)
            ambient = solve(f, atoms, method, max_iter=25, tol=0)
        assert np.allclose(gram.x, ambient.x, rtol=0, atol=1e-9 * np.abs(gram.x).max())
        assert gram.counts.products == pytest.approx(ambient.counts.products, abs=1)


@pytest.mark.parametrize("exploration", [None, 1])
def test_float32_stays_float32_and_gets_as_far_as_it_can(exploration):
    rng = np.random.default_rng(7)
    b, Z = rng.standard_normal(20).astype("f"), rng.standard_normal((50, 20)).astype("f")
    method = methods.accelerated(exploration=exploration)
    result = solve(SquaredDistance(b), Dictionary(Z), method, tol=1e-5, max_iter=3000)
    assert result.x.dtype == np.float32
    assert result.status.name == "CONVERGED"


@pytest.mark.parametrize("l2", [1.0, 1e-2])
def test_rounding_does_not_stall_logistic_loss_before_1e_13(l2):
    for seed in range(2):
        f = logistic(seed, samples=100, d=15, l2=l2)
        Z = np.random.default_rng(seed).standard_normal((30, 15))
        for atoms in (Coordinates(15), Dictionary(Z)):
            result = solve(f, atoms, "accelerated", tol=1e-13, max_iter=20_000)
            assert result.status.name == "CONVERGED"
            assert result.slope <= 1e-13 * result.trace.slope[0]


def test_with_values_compared_instead_it_would_have_stalled_long_before():
    """What the proved decrease is for: near 1e-9 values of this f do not change any more."""
    f = logistic(0, samples=200, d=30, l2=1.0)
    result = solve(f, Coordinates(30), "accelerated", tol=1e-13, max_iter=20_000, every=1)
    last = result.trace.value[result.trace.slope < 1e-9 * result.trace.slope[0]]
    assert len(last) > 5
    assert np.ptp(last) <= 1e-13 * abs(result.value)


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
@pytest.mark.parametrize("patience", [None, 0])
def test_it_runs_on_sets_without_coefficients_and_on_functions_without_constants(
    f, atoms, patience
):
    result = solve(f, atoms, methods.accelerated(patience=patience), tol=1e-8, max_iter=5000)
    assert result.status.name == "CONVERGED"


@pytest.mark.parametrize("name", ["orthogonal", "blended"])
@pytest.mark.parametrize("exploration", [None, 2])
def test_it_takes_any_advance(name, exploration):
    f, atoms = problem()
    advance = methods.NAMED[name]().advance
    method = methods.accelerated(exploration=exploration, advance=advance, patience=0)
    result = solve(f, atoms, method, tol=1e-9, max_iter=500)
    assert result.status.name == "CONVERGED"


def test_a_monotone_run_never_rises():
    f, atoms = problem(9)
    for options in ({"exploration": 1}, {"subspace": False}, {}):
        method = methods.accelerated(patience=0, restart=False, monotone=True, **options)
        values = solve(f, atoms, method, max_iter=300, tol=0, every=1).trace.value
        assert (np.diff(values) <= 1e-12 * values[0]).all()
    method = methods.accelerated(patience=0, restart=False, exploration=1)
    values = solve(f, atoms, method, max_iter=300, tol=0, every=1).trace.value
    assert (np.diff(values) > 0).any(), "without the option it does, so the test can fail"


def test_without_a_bank_each_step_pays_for_itself_and_more_are_refused():
    f, atoms = problem(10, n=60, d=30)

    def looks(bank):
        momentum = Adaptive(subspace=False, patience=0, restart=False, bank=bank)
        method = Method("ours", Greedy(step=ExactLineSearch()), momentum)
        return solve(f, atoms, method, max_iter=300, tol=0).counts.products

    assert looks(True) < looks(False)


def test_the_logistic_run_resumes_bit_for_bit():
    f, atoms = logistic(3), Coordinates(12)
    for options in ({}, {"exploration": 4}):
        method = methods.accelerated(patience=3, **options)
        whole = solve(f, atoms, method, max_iter=260, tol=0)
        part = None
        for end in (1, 3, 99, 100, 101, 260):
            part = solve(f, atoms, method, max_iter=end, tol=0, resume=part)
        assert np.array_equal(part.x, whole.x)
        assert part.counts.products == whole.counts.products


# Refusals -----------------------------------------------------------------------------------


def test_what_cannot_be_accelerated_is_refused_with_a_sentence():
    f, atoms = problem()
    drawn = methods.accelerated(advance=Greedy(Random()))
    with pytest.raises(InputError, match=r"^direction: .*expected a rule that looks for it"):
        solve(f, atoms, drawn)
    with pytest.raises(InputError, match=r"^exploration: expected an integer of at least 1"):
        solve(f, atoms, methods.accelerated(exploration=0))
    with pytest.raises(InputError, match=r"^patience: expected a number of at least 0"):
        solve(f, atoms, methods.accelerated(patience=-1))
    with pytest.raises(InputError, match=r"^L_A: expected a positive number|^kappa"):
        solve(f, atoms, methods.accelerated_affine_invariant(L_A=0.0))


def test_a_set_without_known_second_moments_is_refused():
    f, _ = problem()
    own = Oracle(lambda d: d / np.linalg.norm(d), shape=(12,), radius=1.0)
    with pytest.raises(InputError, match=r"^atoms: the second moments of Oracle are not known"):
        solve(f, own, "accelerated")
