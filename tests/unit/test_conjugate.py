"""The parts of conjugate acceleration, one at a time, and runs as a whole."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from unit.smooth_problems import problem

from pursuit import (
    Conjugate,
    Coordinates,
    Dictionary,
    Huber,
    InputError,
    LeastSquares,
    Logistic,
    Poisson,
    Quadratic,
    Sphere,
    SquaredDistance,
    geometry,
    methods,
    solve,
)
from pursuit.acceleration.conjugate import length
from pursuit.acceleration.directions import Directions
from pursuit.acceleration.plane import Plane
from pursuit.objectives.linear_models import LinearModel
from pursuit.objectives.problem import Problem
from pursuit.points import Needs, choose
from pursuit.rules.run import Run


def logistic(seed=0, samples=60, d=12, l2=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, d))
    y = np.sign(X @ rng.standard_normal(d) + rng.standard_normal(samples))
    return Logistic(X, y, l2=l2)


# The length -----------------------------------------------------------------------------------


@pytest.mark.parametrize("along", [-1e8, -3.0, 0.0, 3.0, 1e8])
@pytest.mark.parametrize("beta", [0.0, 1e-6, 1.0, 1e9])
def test_the_length_is_the_larger_root_to_the_last_digits(along, beta):
    energy, gain = 2.0, 0.5
    alpha = length(energy, along, beta, gain)
    terms = np.array([(beta + alpha) * gain, alpha * along, -(alpha**2) * energy / 2])
    assert abs(terms.sum()) <= 1e-12 * np.abs(terms).max()
    more = 1.01 * alpha + 1e-9
    assert (beta + more) * gain + more * along - more**2 * energy / 2 < 0


# What is kept ---------------------------------------------------------------------------------


def test_the_oldest_direction_leaves_and_rows_ahead_stay():
    kept = Directions({"coef": np.zeros(2), "x": np.zeros((1, 3))}, most=40, ahead=1)
    kept.put(0, {"coef": np.full(2, 9.0), "x": np.full(3, 9.0)})
    for k in range(50):
        kept.keep({"coef": np.full(2, float(k)), "x": np.full((1, 3), float(k))})
        assert len(kept) == min(k + 1, 40)
    assert sorted(kept.rows(1)["coef"][:, 0]) == list(range(10, 50))
    assert kept.rows()["x"][0].tolist() == [9.0] * 3
    total = kept.total(np.ones(40), skip=1)
    assert total["x"].shape == (1, 3)
    assert total["coef"].tolist() == [sum(range(10, 50))] * 2
    kept.clear()
    assert len(kept) == 0


def test_what_is_kept_is_bounded_in_bytes():
    row = {"coef": np.zeros(2**22)}
    assert Directions(row, most=300).most == 8
    assert Directions({"coef": np.zeros(2**27, np.float32)}, most=300).most == 1


# The plane of a linear model ------------------------------------------------------------------


def plane(f, atoms, x0, seed=1, count=3):
    rng = np.random.default_rng(seed)
    x = choose(f, atoms, x0, Needs.VECTOR)
    weights = rng.standard_normal((count, len(atoms)))
    rows = [x.gather(row) for row in weights]
    directions = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return Plane(x, directions), np.array([atoms.combine(row) for row in weights])


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_on_a_plane_the_decrease_is_proved_and_most_of_what_there_is(loss):
    rng = np.random.default_rng(3)
    for seed in range(30):
        f = logistic(seed, l2=0.1 * (seed % 2))
        if loss == "huber":
            f = Huber(f.X, rng.standard_t(1.5, 60), delta=0.3, l2=0.1 * (seed % 2))
        atoms = Dictionary(rng.standard_normal((30, 12)))
        x0 = 10 ** rng.uniform(-3, 1) * rng.standard_normal(12)
        seen, D = plane(f, atoms, x0, seed)
        low, gain = seen.best()
        true = f.value(x0) - f.value(x0 - low.delta @ D)
        assert low.value == pytest.approx(f.value(x0 - low.delta @ D))
        assert gain <= true * (1 + 1e-12)
        assert gain >= 0.5 * true > 0


@pytest.mark.parametrize(("loss", "size"), [("logistic", 1e-9), ("poisson", 1e-8)])
def test_near_the_optimum_the_decrease_is_proved_where_values_say_nothing(loss, size):
    """Differences of values are rounding there, and the proved gains are of the size of 1e-18."""
    f = logistic(4, l2=0.1)
    if loss == "poisson":
        f = Poisson(f.X / 4, np.random.default_rng(4).poisson(2, 60), l2=0.1)
    best = solve(f, Coordinates(12), "accelerated", tol=1e-13 if loss == "logistic" else 0).x
    rng = np.random.default_rng(0)
    for _ in range(20):
        away = size * rng.standard_normal(12)
        seen, D = plane(f, Coordinates(12), best + away, count=12)
        low, gain = seen.best()
        H = (f.X.T * f.bends(f.X @ best)) @ f.X + 0.1 * np.eye(12)
        assert 0.1 <= gain / (0.5 * away @ H @ away) <= 1 + 1e-6
        assert np.linalg.norm(away - low.delta @ D) <= 1e-3 * np.linalg.norm(away)


class Narrow(LinearModel):
    """Huber's loss without a parabola of its own above it: only the global bound on its bend."""

    def __init__(self, X, y, delta):
        super().__init__(X)
        self.inner = Huber(X, y, delta)

    def losses(self, u, rows=slice(None)):
        return self.inner.losses(u, rows)

    def slopes(self, u, rows=slice(None)):
        return self.inner.slopes(u, rows)

    def bends(self, u, rows=slice(None)):
        return self.inner.bends(u, rows)


@pytest.mark.parametrize("loss", [Huber, Narrow])
def test_far_outside_its_parabola_a_narrow_loss_is_left_in_a_few_steps(loss):
    """Every sample is a thousand delta away, where Newton sees no curvature at all."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((200, 10))
    y = X @ rng.standard_normal(10) * 10 + rng.standard_t(2, 200)
    result = solve(loss(X, y, delta=0.01), Coordinates(10), "accelerated", tol=1e-6, max_iter=200)
    assert result.status.name == "CONVERGED"
    assert result.iterations <= 60


# Runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["distance", "least squares", "quadratic", "logistic"])
def test_an_iteration_counts_one_look_and_one_combination(kind):
    f, atoms = problem(n=60, d=30)
    rng = np.random.default_rng(0)
    f = {
        "distance": SquaredDistance(rng.standard_normal(30)),
        "least squares": f,
        "quadratic": Quadratic(f.A.T @ f.A, rng.standard_normal(30)),
        "logistic": logistic(d=30),
    }[kind]
    runs = [solve(f, atoms, "accelerated", max_iter=T, tol=0).counts.products for T in (7, 8)]
    assert runs == [14, 16]


def test_an_explicit_hessian_over_coordinates_counts_one_product_an_iteration():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((40, 30))
    f = Quadratic(B.T @ B, rng.standard_normal(30))
    runs = [solve(f, Coordinates(30), "accelerated", max_iter=T, tol=0).counts for T in (3, 4)]
    assert [counts.products for counts in runs] == [3, 4]


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_what_a_point_knows_of_its_samples_is_to_the_last_bit_what_f_says(loss):
    """Up to the last steps, which are gathered anew; then nothing is known."""
    f = logistic(2)
    if loss == "huber":
        f = Huber(f.X, np.random.default_rng(2).standard_t(1.5, 60), delta=0.3, l2=0.1)
    run = Run(Problem(f, Coordinates(12)), 0)
    point = choose(f, run.problem.atoms, np.zeros(12), Needs.VECTOR)
    stepper = Conjugate().start(run, methods.accelerated().advance, point)
    knew = []
    while stepper.step().gamma:
        x = stepper.x
        knew.append(x.samples is not None)
        assert x.value() == f.value_at(x.x, x.image)
        assert np.array_equal(x.correlations(), f.gradient_at(x.x, x.image))
    assert knew[0]
    assert not knew[-1]
    stepper.x.set_samples(f.expansion(stepper.x.image))
    stepper.x.move(0.5, 3)
    assert stepper.x.samples is None


@pytest.mark.parametrize(
    "wrap", [np.asarray, csr_array, aslinearoperator], ids=["dense", "sparse", "operator"]
)
def test_every_kind_of_matrix_gives_the_same_run(wrap):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 8)) * (rng.random((40, 8)) < 0.5)
    y = np.sign(rng.standard_normal(40))
    for atoms in (Coordinates(8), Dictionary(rng.standard_normal((20, 8)))):
        for make in (lambda X: Logistic(X, y, l2=0.1), lambda X: LeastSquares(X, y)):
            given = wrap(X)
            found = solve(make(given), atoms, "accelerated", max_iter=6, tol=0)
            plain = solve(make(X), atoms, "accelerated", max_iter=6, tol=0)
            assert np.allclose(found.x, plain.x, rtol=0, atol=1e-9 * np.abs(plain.x).max())
    assert wrap is not aslinearoperator or isinstance(given, LinearOperator)


@pytest.mark.parametrize("memory", [1, 5, 100])
def test_with_any_memory_it_arrives_and_with_more_not_later(memory):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((80, 40)) * np.logspace(0, -2, 40)
    f, atoms = SquaredDistance(rng.standard_normal(40)), Dictionary(Z)
    few = solve(f, atoms, methods.accelerated(memory=memory), tol=1e-9, max_iter=2000)
    full = solve(f, atoms, "accelerated", tol=1e-9, max_iter=2000)
    assert few.status.name == full.status.name == "CONVERGED"
    assert full.iterations <= few.iterations
    assert full.iterations <= 42
    assert (few.iterations > 60) == (memory < 40)


def test_float32_stays_float32_and_gets_as_far_as_it_can():
    rng = np.random.default_rng(7)
    b, Z = rng.standard_normal(20).astype("f"), rng.standard_normal((50, 20)).astype("f")
    result = solve(SquaredDistance(b), Dictionary(Z), "accelerated", tol=1e-5, max_iter=300)
    assert result.x.dtype == np.float32
    assert result.status.name == "CONVERGED"
    X = rng.standard_normal((60, 20)).astype("f")
    f = Logistic(X, np.sign(X[:, 0]), l2=0.1)
    result = solve(f, Dictionary(Z), "accelerated", tol=1e-4, max_iter=300)
    assert result.x.dtype == np.float32
    assert result.status.name == "CONVERGED"


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_units_do_not_stall_a_loss(unit):
    rng = np.random.default_rng(3)
    X, y, Z = rng.standard_normal((9, 4)), rng.standard_normal(9), rng.standard_normal((5, 4))
    plain, scaled = (solve(Huber(X, s * y, s), Z, "accelerated", tol=1e-9) for s in (1.0, unit))
    assert plain.success
    assert scaled.success
    assert scaled.iterations == plain.iterations


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
    result = solve(f, Coordinates(30), "accelerated", tol=1e-13, max_iter=2000, every=1)
    last = result.trace.value[result.trace.slope < 1e-9 * result.trace.slope[0]]
    assert len(last) > 3
    assert np.ptp(last) <= 1e-13 * abs(result.value)


@pytest.mark.parametrize("kind", ["distance", "duplicate atoms", "logistic", "huber", "poisson"])
def test_without_a_tolerance_a_run_ends_where_nothing_more_can_be_told(kind):
    rng = np.random.default_rng(11)
    f, atoms = SquaredDistance(rng.standard_normal(12)), problem(11)[1]
    if kind == "duplicate atoms":
        atoms = Dictionary(np.vstack([atoms.matrix[:6], -3 * atoms.matrix[:6]]))
    if kind == "logistic":
        f = logistic(11)
    if kind == "huber":
        f = Huber(logistic(11).X, rng.standard_t(1.5, 60), delta=0.5)
    if kind == "poisson":
        f = Poisson(logistic(11).X / 4, rng.poisson(2, 60))
    result = solve(f, atoms, "accelerated", tol=0, max_iter=2000)
    assert result.status.name in ("STALLED", "CONVERGED")
    assert result.iterations < 300
    assert result.slope <= 1e-10 * result.trace.slope[0]


@pytest.mark.parametrize("memory", [None, 1, 2])
def test_what_rounding_leaves_of_a_direction_beside_the_basis_is_not_followed(memory):
    """It points out of lin(A), where coefficients know nothing of it: the first f rose to 1e107."""
    rng = np.random.default_rng(6)
    for number in range(12):
        X = rng.standard_normal((18, 6)) * 10 ** rng.uniform(-2, 2, 6)
        n, rank = ((1, 1), (2, 1), (3, 2))[number % 3]
        Z = 0.1 * rng.standard_normal((n, rank)) @ rng.standard_normal((rank, 6))
        f, how = Quadratic(X.T @ X, X.T @ rng.standard_normal(18)), {"tol": 0, "every": 1}
        method = methods.accelerated(memory=memory)
        result = solve(f, Dictionary(Z), method, max_iter=60, unit_atoms=False, **how)
        values = [*result.trace.value, result.value]
        assert max(values[np.argmin(values) :]) - min(values) <= 1e-13 * abs(min(values)), number


def test_a_flat_direction_of_lin_A_is_left_alone():
    """A zero column, and one that is the sum of two others."""
    rng = np.random.default_rng(12)
    X = rng.standard_normal((30, 5))
    X = np.column_stack([X, np.zeros(30), X[:, 0] + X[:, 1]])
    b = rng.standard_normal(30)
    for f in (LeastSquares(X, b), Logistic(X, np.sign(b)), Huber(X, b, 0.5)):
        result = solve(f, Coordinates(7), "accelerated", tol=1e-9, max_iter=200)
        assert result.status.name == "CONVERGED"
        assert result.x[5] == 0


def test_runs_resume_bit_for_bit_when_memory_is_full_and_when_it_grows():
    cases = [
        (SquaredDistance(np.random.default_rng(0).standard_normal(60)), 60, {}),
        (SquaredDistance(np.random.default_rng(0).standard_normal(60)), 60, {"memory": 7}),
        (logistic(3, d=60, samples=200, l2=1e-3), 60, {}),
        (logistic(3, d=60, samples=200, l2=1e-3), 60, {"memory": 1}),
    ]
    for f, d, options in cases:
        rng = np.random.default_rng(1)
        atoms = Dictionary(rng.standard_normal((90, d)) * np.logspace(0, -1.5, d))
        method = methods.accelerated(**options)
        whole = solve(f, atoms, method, max_iter=70, tol=0)
        part = None
        for end in (1, 2, 8, 31, 33, 50, 70):
            part = solve(f, atoms, method, max_iter=end, tol=0, resume=part)
        assert np.array_equal(part.x, whole.x)
        assert part.counts.products == whole.counts.products
        assert part.state.numbers["memory"] == whole.state.numbers["memory"]


# The sampling ---------------------------------------------------------------------------------


def test_the_preconditioner_is_one_over_the_curvature_on_quadratics():
    f, atoms = problem(5)
    h = np.array([np.sum((f.A @ z) ** 2) for z in atoms.matrix])
    assert np.allclose(geometry.preconditioner(f, atoms).p, (1 / h) / (1 / h).sum())


def test_on_linear_models_atoms_that_reach_samples_evenly_get_more():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((500, 6)) * (rng.random((500, 6)) < [1, 1, 0.3, 0.3, 0.01, 0.01])
    f, atoms = Logistic(X, np.sign(rng.standard_normal(500))), Coordinates(6)
    h = 0.25 * np.sum(X**2, axis=0)
    p = h * geometry.preconditioner(f, atoms).p
    even = 0.25 * np.abs(X).sum(axis=0) ** 2 / h
    assert np.allclose(p / p.sum(), even**0.25 / (even**0.25).sum())
    assert p[0] > p[2] > p[4]


def test_a_sampling_of_ones_own_is_used_and_its_objects_are_accepted():
    f, atoms = problem(6)
    p = np.arange(1.0, 31) / np.arange(1.0, 31).sum()
    unit = atoms.unit().atoms
    step = solve(f, atoms, methods.accelerated(sampling=p), max_iter=1, tol=0).x
    u = (p * (unit.matrix @ f.gradient(np.zeros(12)))) @ unit.matrix
    along = float(f.gradient(np.zeros(12)) @ u) / float(np.sum((f.A @ u) ** 2))
    assert np.allclose(step, -along * u)
    half = np.where(np.arange(30) < 5, 0.2, 0.0)
    with pytest.raises(InputError, match=r"^sampling: the atoms with positive probability span"):
        solve(f, atoms, methods.accelerated(sampling=half))


# Refusals -------------------------------------------------------------------------------------


def test_what_means_nothing_is_refused_with_a_sentence():
    f, atoms = problem()
    with pytest.raises(InputError, match=r"^memory: expected an integer of at least 1"):
        solve(f, atoms, methods.accelerated(memory=0))
    with pytest.raises(InputError, match=r"^memory: with exploration no earlier step is kept"):
        methods.accelerated(memory=5, exploration=2)
    with pytest.raises(InputError, match=r"^memory: SquaredDistance over Sphere keeps no earlier"):
        solve(SquaredDistance(np.ones(3)), Sphere(3), methods.accelerated(memory=5))
