"""Documented features that no other test covers through the public API or the command line."""

import json
import re
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import lstsq
from typer.testing import CliRunner

import pursuit
from pursuit import (
    L1,
    Adaptive,
    Approximate,
    Book,
    Codes,
    Conjugate,
    Coordinates,
    Cyclic,
    Dictionary,
    Encoder,
    ExactLineSearch,
    Factors,
    FixedNu,
    Greedy,
    InputError,
    LeastSquares,
    LocalAtoms,
    LocalCorrective,
    Logistic,
    MatrixDistance,
    Method,
    MissingExtra,
    Newton,
    Plain,
    Poisson,
    Problem,
    PursuitError,
    Random,
    RankOne,
    Sampling,
    Shifts,
    Shuffled,
    Smooth,
    SquaredDistance,
    Steepest,
    Subset,
    Union,
    ValueSearch,
    WorkingSet,
    decompose,
    encode,
    geometry,
    learn,
    methods,
    plots,
    rates,
    solve,
)
from pursuit.cli import app
from pursuit.unmixing import pick


def run(*arguments):
    """The output of a command that succeeds."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def generator():
    return np.random.default_rng(0)


@pytest.fixture
def signals(generator):
    return generator.standard_normal((60, 12))


@pytest.fixture
def atoms(generator):
    return generator.standard_normal((20, 12))


@pytest.fixture
def files(tmp_path, monkeypatch, signals, atoms):
    """A folder with signals and atoms that commands run in."""
    np.save(tmp_path / "X.npy", signals)
    np.save(tmp_path / "D.npy", atoms)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Errors, problems and methods ----------------------------------------------------------------


def test_errors_raised_on_purpose_have_one_base_class():
    assert issubclass(InputError, PursuitError)
    assert issubclass(InputError, ValueError)
    assert issubclass(MissingExtra, PursuitError)
    assert issubclass(MissingExtra, ImportError)
    with pytest.raises(PursuitError, match="max_iter"):
        solve(SquaredDistance([1.0]), Coordinates(1), max_iter=-1)


def test_columns_of_a_matrix_are_the_rows_of_its_transpose(generator):
    D, b = generator.standard_normal((5, 8)), generator.standard_normal(5)
    result = solve(SquaredDistance(b), Dictionary(D.T), "orthogonal", n_nonzero=3)
    assert len(result.support) == 3
    assert np.allclose(D @ result.coef.toarray(), result.x)


def test_squared_distance_has_its_value_and_gradient():
    f = SquaredDistance([3.0, 0.0, 4.0])
    assert f.value(np.zeros(3)) == pytest.approx(12.5)
    assert f.gradient(np.ones(3)).tolist() == [-2.0, 1.0, -3.0]


def same_run(first, second, f, atoms, **options):
    one, other = (solve(f, atoms, method, **options) for method in (first, second))
    assert one.iterations == other.iterations
    assert np.array_equal(one.x, other.x)
    return one


def test_greedy_greedy_is_algorithm_4_with_the_oracle_atom_twice(atoms, signals):
    twice = Method("both", Greedy(Steepest(), Smooth()), FixedNu(None, None))
    f = SquaredDistance(signals[0])
    same_run("greedy-greedy", twice, f, atoms, max_iter=50)
    chosen = solve(f, atoms, "accelerated-matching-pursuit", max_iter=50)
    assert not np.array_equal(chosen.x, solve(f, atoms, "greedy-greedy", max_iter=50).x)


def test_a_method_of_greedy_and_plain_is_matching_pursuit(atoms, signals):
    plain = Method("mine", Greedy(Steepest(), Smooth()), Plain())
    result = same_run("matching-pursuit", plain, SquaredDistance(signals[0]), atoms, max_iter=50)
    assert result.value < 0.1 * signals[0] @ signals[0]


def test_local_corrective_is_the_advance_of_local_orthogonal(generator):
    atoms = Shifts(generator.standard_normal((2, 9)), 80)
    f = SquaredDistance(generator.standard_normal(80))
    mine = Method("mine", LocalCorrective(), Plain())
    result = same_run("local-orthogonal", mine, f, atoms, max_iter=20)
    assert result.value < solve(f, atoms, max_iter=20).value


def test_working_set_advance_is_that_of_the_named_method(generator):
    X, y = generator.standard_normal((40, 15)), generator.standard_normal(40)
    mine = Method("mine", WorkingSet(), Plain())
    result = same_run("working-set", mine, LeastSquares(X, y), Coordinates(15), penalty=L1(5.0))
    assert result.success


def drawing(p):
    return Method("drawn", Greedy(Random(p), Smooth()), Plain())


@pytest.mark.parametrize(
    ("momentum", "named"),
    [
        (Conjugate(memory=4), methods.accelerated(memory=4)),
        (Adaptive(exploration=3), methods.accelerated(exploration=3)),
    ],
)
def test_accelerated_is_conjugate_or_adaptive_momentum(signals, atoms, momentum, named):
    mine = Method("accelerated", Greedy(Steepest(), ExactLineSearch()), momentum)
    f = SquaredDistance(signals[0])
    result = same_run(named, mine, f, atoms, max_iter=20, tol=0)
    assert result.value < f.value(np.zeros(12))


def test_random_directions_draw_only_atoms_with_probability(signals):
    p = np.zeros(12)
    p[[2, 5]] = 0.5
    with pytest.raises(InputError, match="span"):
        solve(SquaredDistance(signals[0]), Coordinates(12), drawing(p))
    p[:] = 0.01 / 11
    p[3] = 0.99
    result = solve(SquaredDistance(signals[0]), Coordinates(12), drawing(p), max_iter=5)
    assert result.support.tolist() == [3]


def supports_of(direction, n, rounds):
    """The atoms that one run after another of 1, 2, … steps adds, over orthonormal atoms."""
    method = methods.matching_pursuit(direction=direction)
    f = SquaredDistance(np.arange(1.0, n + 1))
    runs = [solve(f, Coordinates(n), method, max_iter=t, tol=0) for t in range(1, rounds + 1)]
    sets = [set(), *(set(result.support.tolist()) for result in runs)]
    return [after - before for before, after in pairwise(sets)]


def test_cyclic_direction_takes_atoms_in_turn_within_matching_pursuit():
    assert supports_of(Cyclic(), 5, 5) == [{0}, {1}, {2}, {3}, {4}]


def test_shuffled_direction_takes_every_atom_once_a_round():
    added = supports_of(Shuffled(), 8, 8)
    assert all(len(new) == 1 for new in added)
    assert added != [{j} for j in range(8)]


def chosen_atoms(direction, f, rows, steps):
    """The points of a run and the atom of unit rows that each step goes along."""
    points = []
    solve(
        f,
        rows,
        methods.matching_pursuit(direction=direction),
        max_iter=steps,
        tol=0,
        every=1,
        callback=lambda snapshot: points.append(snapshot.x.copy()),
    )
    moves = np.diff(points, axis=0)
    shares = abs(moves @ rows.T) / np.linalg.norm(moves, axis=1, keepdims=True)
    assert np.allclose(shares.max(axis=1), 1)
    return points[:-1], shares.argmax(axis=1)


@pytest.mark.parametrize(("direction", "delta"), [(Steepest(), 1.0), (Approximate(0.6), 0.6)])
def test_directions_find_atoms_as_good_as_they_promise(generator, signals, direction, delta):
    rows = generator.standard_normal((30, 12))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    f = SquaredDistance(signals[0])
    for x, atom in zip(*chosen_atoms(direction, f, rows, 15), strict=True):
        correlations = abs(rows @ f.gradient(x))
        assert correlations[atom] >= delta * correlations.max() * (1 - 1e-9)


def test_a_subset_of_all_atoms_is_the_exact_oracle_and_of_one_is_not(signals, atoms):
    f = SquaredDistance(signals[0])
    of_all = methods.matching_pursuit(direction=Subset(20))
    same_run("matching-pursuit", of_all, f, atoms, max_iter=20)
    of_one = methods.matching_pursuit(direction=Subset(1))
    assert solve(f, atoms, of_one, max_iter=5).value > solve(f, atoms, max_iter=5).value


def test_a_sampling_and_its_probabilities_give_the_same_run(signals, atoms):
    p = np.arange(1.0, 21) / 210
    by_object = methods.random_pursuit(sampling=Sampling(Dictionary(atoms), p))
    by_array = methods.random_pursuit(sampling=p)
    f = SquaredDistance(signals[0])
    drawn = same_run(by_array, by_object, f, atoms, max_iter=30)
    assert not np.array_equal(drawn.x, solve(f, atoms, "random-pursuit", max_iter=30).x)


@pytest.mark.parametrize("step", [ExactLineSearch(), ValueSearch()])
def test_line_searches_end_where_the_derivative_along_the_atom_vanishes(generator, step):
    X, y = generator.standard_normal((50, 6)), generator.random(50) > 0.5
    f = Logistic(X, y, l2=0.1)
    result = solve(f, Coordinates(6), methods.matching_pursuit(step=step), max_iter=1)
    (atom,) = result.support
    first = abs(f.gradient(np.zeros(6)))
    assert atom == first.argmax()
    assert abs(f.gradient(result.x)[atom]) <= 1e-5 * first.max()


def test_newton_steps_lower_the_value_of_counts_to_the_minimum(generator):
    X = generator.standard_normal((60, 5)) / 3
    f = Poisson(X, generator.poisson(2.0, 60), l2=0.1)
    method = methods.matching_pursuit(step=Newton())
    result = solve(f, Coordinates(5), method, max_iter=2000, tol=1e-8, every=1)
    assert result.success
    assert np.all(np.diff(result.trace.value) <= 1e-9)
    assert np.allclose(f.gradient(result.x), 0, atol=1e-5)


def test_shuffled_method_goes_through_all_atoms_once_a_round():
    f = SquaredDistance(np.arange(1.0, 9))
    supports = [
        solve(f, Coordinates(8), "shuffled", max_iter=t, tol=0).support for t in range(1, 9)
    ]
    assert [len(support) for support in supports] == list(range(1, 9))
    assert any(support.max() >= t for t, support in enumerate(supports, 1))  # not in order


def test_a_seed_repeats_a_run_and_another_seed_draws_others(signals, atoms):
    f = SquaredDistance(signals[0])
    one, same, other = (
        solve(f, atoms, "random-pursuit", max_iter=30, rng=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.x, same.x)
    assert not np.array_equal(one.x, other.x)


def test_a_generator_gives_one_integer_that_repeats_the_run(signals, atoms):
    run = partial(solve, SquaredDistance(signals[0]), atoms, "random-pursuit", max_iter=30)
    rng = np.random.default_rng(7)
    one, other = run(rng=rng), run(rng=rng)
    assert one.rng == np.random.default_rng(7).integers(2**63)
    assert one.rng != other.rng
    assert np.array_equal(one.x, run(rng=one.rng).x)


def test_no_rng_draws_an_integer_that_is_stored_and_resumed(signals, atoms, tmp_path):
    run = partial(solve, SquaredDistance(signals[0]), atoms, "random-pursuit", rng=None)
    half = run(max_iter=15, checkpoint=tmp_path / "run")
    assert half.rng != run(max_iter=15).rng
    whole = solve(SquaredDistance(signals[0]), atoms, "random-pursuit", max_iter=30, rng=half.rng)
    for state in (half, tmp_path / "run"):
        resumed = run(max_iter=30, resume=state)
        assert resumed.rng == half.rng
        assert np.array_equal(resumed.x, whole.x)


@pytest.mark.parametrize("method", ["matching-pursuit", "accelerated-random", "orthogonal"])
def test_runs_without_a_gram_matrix_take_the_same_steps(signals, atoms, method):
    f = SquaredDistance(signals[0])
    gram = solve(f, atoms, method, max_iter=10)
    ambient = solve(f, atoms, method, max_iter=10, gram_bytes=0)
    assert gram.support.tolist() == ambient.support.tolist()
    assert np.allclose(gram.x, ambient.x)


def test_a_problem_holds_an_objective_and_atoms_of_its_shape(atoms):
    f = SquaredDistance(np.ones(12))
    problem = Problem(f, Dictionary(atoms))
    assert problem.f is f
    assert len(problem.atoms) == 20
    with pytest.raises(InputError, match="atoms"):
        Problem(f, Coordinates(5))


def test_threads_of_an_encoder_come_from_the_environment(atoms, monkeypatch):
    monkeypatch.delenv("PURSUIT_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert Encoder(atoms, n_nonzero=2).threads == 1
    monkeypatch.setenv("PURSUIT_THREADS", "4")
    assert Encoder(atoms, n_nonzero=2).threads == 4
    assert Encoder(atoms, n_nonzero=2, threads=5).threads == 5


def test_a_step_with_a_penalty_is_a_soft_threshold():
    f = SquaredDistance([3.0, -0.5, 1.0])
    result = solve(f, Coordinates(3), "matching-pursuit", penalty=L1(0.75), max_iter=1)
    assert np.allclose(result.x, [2.25, 0, 0])


# Sets and objectives -------------------------------------------------------------------------


def test_union_says_which_set_an_atom_is_of(generator):
    both = Union(Coordinates(6), Dictionary(generator.standard_normal((4, 6))))
    of, number = both.member([0, 5, 6, 9])
    assert list(of) == [0, 0, 1, 1]
    assert list(number) == [0, 5, 0, 3]


class Pairs(LocalAtoms):
    """A = {e_j + e_{j+1}}: a set that says where its atoms are not zero."""

    def __init__(self, n):
        self.shape = (n,)

    def __len__(self):
        return self.shape[0] - 1

    @property
    def norms(self):
        return np.full(len(self), np.sqrt(2))

    def correlate(self, d):
        return d[:-1] + d[1:]

    def support(self, z):
        return np.array([z, z + 1]), np.ones(2)

    def reach(self, where, entries):
        near = np.unique(np.concatenate([where - 1, where]))
        near = near[(near >= 0) & (near < len(self))]
        d = np.zeros(self.shape[0])
        d[where] = entries
        return near, self.correlate(d)[near]

    def unit(self):
        return Dictionary(self.some(0, len(self))).unit()


def test_local_atoms_of_a_user_run_as_a_dictionary(generator):
    f = SquaredDistance(generator.standard_normal(30))
    rows = np.eye(30)[:-1] + np.eye(30)[1:]
    mine = solve(f, Pairs(30), max_iter=60, unit_atoms=False)
    theirs = solve(f, rows, max_iter=60, unit_atoms=False)
    assert mine.support.tolist() == theirs.support.tolist()
    assert np.allclose(mine.x, theirs.x)


def test_factors_of_a_result_multiply_to_the_dense_matrix(generator):
    B = generator.standard_normal((7, 5))
    result = solve(MatrixDistance(B), RankOne(7, 5), max_iter=2)
    X = result.x
    assert isinstance(X, Factors)
    assert X.shape == (7, 5)
    u, s, v = np.linalg.svd(B)
    assert np.allclose(X.toarray(), (u[:, :2] * s[:2]) @ v[:2])
    assert np.allclose(X @ np.ones(5), X.toarray().sum(axis=1))


# Paths and learning --------------------------------------------------------------------------


def test_path_takes_given_strengths_in_decreasing_order():
    f = SquaredDistance([3.0, -0.5, -2.0])
    path = pursuit.path(f, Coordinates(3), lambdas=[1.0, 2.5])
    assert path.lambdas.tolist() == [2.5, 1.0]
    assert np.allclose(path.coefs.toarray(), [[0.5, 0, 0], [2, 0, -1]])


def test_path_spaces_strengths_evenly_in_the_logarithm():
    f = SquaredDistance([3.0, -0.5, -2.0])
    path = pursuit.path(f, Coordinates(3), n_lambdas=5, lambda_min_ratio=1e-2)
    assert np.allclose(path.lambdas, 3 * np.logspace(0, -2, 5))


def test_learn_starts_from_the_given_atoms(signals):
    start = np.eye(12)[:6]
    exact = start[np.arange(60) % 6] * np.linspace(1, 2, 60)[:, None]
    learned = learn(exact, 6, 1, start=start, passes=1)
    assert np.allclose(abs(learned.atoms @ start.T), np.eye(6))


# Sounds --------------------------------------------------------------------------------------


@pytest.fixture
def sound():
    t = np.arange(2000) / 2000
    return np.array([np.cos(2 * np.pi * 200 * t), np.cos(2 * np.pi * 400 * t)])


def test_decompose_keeps_to_the_given_scales_and_number_of_atoms(sound):
    book = decompose(sound[0], 2000, snr=60, max_atoms=7, scales=(64, 256))
    assert len(book) == 7
    assert set(book.scale) <= {64, 256}


def test_plot_of_a_book_shows_the_signal_and_its_atoms(sound):
    figure = decompose(sound[0], 2000).plot(sound[0])
    above, below = figure.axes[:2]
    assert np.array_equal(above.lines[0].get_ydata(), sound[0])
    energy = np.nan_to_num(np.asarray(below.images[0].get_array(), float), neginf=-99)
    low, high = below.images[0].get_extent()[2:]
    loudest = energy.mean(axis=1).argmax() / len(energy) * (high - low) + low
    assert loudest == pytest.approx(200, abs=30)


def test_decompose_command_keeps_to_scales_and_number_of_atoms(tmp_path, sound):
    np.save(tmp_path / "s.npy", sound[0])
    options = ["--rate", 2000, "--snr", 60, "--scales", "64,256", "--max-atoms", 5]
    run("decompose", tmp_path / "s.npy", "-o", tmp_path / "b.npz", *options)
    book = Book.load(tmp_path / "b.npz")
    assert len(book) == 5
    assert set(book.scale) <= {64, 256}


def test_decompose_command_takes_columns_as_channels(tmp_path, sound):
    np.save(tmp_path / "s.npy", sound.T)
    run("decompose", tmp_path / "s.npy", "-o", tmp_path / "b.npz", "--rate", 2000, "--columns")
    book = Book.load(tmp_path / "b.npz")
    assert set(book.channel) == {0, 1}
    for channel, hertz in enumerate((200, 400)):
        assert book.frequency[book.channel == channel][0] == pytest.approx(hertz, abs=10)


def test_rebuild_command_writes_channels_as_rows(tmp_path, sound):
    decompose(sound, 2000).save(tmp_path / "b.npz")
    run("rebuild", tmp_path / "b.npz", "-o", tmp_path / "s.npy")
    rebuilt = np.load(tmp_path / "s.npy")
    assert rebuilt.shape == sound.shape
    assert np.linalg.norm(rebuilt - sound) <= 0.101 * np.linalg.norm(sound)


# Scenes --------------------------------------------------------------------------------------


@pytest.fixture
def scene(generator):
    """Pixels of three materials, one of them dark, and where the pure ones are."""
    spectra = generator.random((3, 20)) + 0.1
    shares = generator.dirichlet(np.ones(3), 200)
    shares[[10, 50, 90]] = np.eye(3)
    return shares @ spectra, [10, 50, 90]


@pytest.mark.parametrize("picker", ["spa-normalised", "h2nmf-normalised"])
def test_pickers_on_normalized_pixels_ignore_brightness(generator, scene, picker):
    pixels, _ = scene
    light = 0.5 ** generator.integers(0, 8, (len(pixels), 1))
    light[np.linalg.norm(pixels, axis=1).argmax()] = 1  # successive projection starts there
    picked = pick(pixels, 3, picker, average=False)
    lit = pick(pixels * light, 3, picker, average=False)
    assert sorted(picked.indices) == sorted(lit.indices)


def test_picker_with_a_constant_band_finds_a_material_between_others(scene):
    pixels, pure = scene
    half = (pixels[pure[0]] + pixels[pure[1]]) / 4  # darker, and within the span of both
    inner = np.vstack([pixels[pure[:2]], half])
    mixed = np.vstack([inner, np.full((5, 3), 1 / 3) @ inner])
    picked = pick(mixed, 3, "spa-constant", average=False)
    assert sorted(picked.indices) == [0, 1, 2]


def test_the_page_of_a_scene_loads_nothing_from_elsewhere(tmp_path, scene):
    np.save(tmp_path / "s.npy", scene[0].reshape(10, 20, 20))
    run("unmix", tmp_path / "s.npy", "-r", 3, "--report", tmp_path / "s.html")
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert re.findall(r"""(?:src|href)=["']?(?:https?:)?//[^"'> ]+""", page) == []
    assert not re.search(r"@import|url\(\s*[\"']?https?:", page)


# Theory --------------------------------------------------------------------------------------


def test_closed_form_of_coordinates_gives_its_width_and_sampling_quality(atoms):
    form = geometry.closed_form(Coordinates(4))
    assert isinstance(form, geometry.ClosedForm)
    assert form.squared_width == pytest.approx(1 / 4)
    assert np.allclose(form.diagonal, 1 / 4)
    assert form.quality == pytest.approx(float(geometry.sampling_quality(Coordinates(4))))
    assert geometry.closed_form(Dictionary(atoms)) is None


def test_safe_strong_convexity_is_a_lower_bound(signals, atoms):
    f, rows = SquaredDistance(signals[0]), Dictionary(atoms)
    safe = geometry.safe_strong_convexity(f, rows)
    assert 0 < safe <= geometry.strong_convexity(f, rows).upper
    assert safe.kind in (geometry.Kind.LOWER, geometry.Kind.EXACT)


def test_start_point_is_zero_unless_given_and_checked(signals, atoms):
    f, rows = SquaredDistance(signals[0]), Dictionary(atoms)
    assert not geometry.start_point(f, rows, None).any()
    assert np.array_equal(geometry.start_point(f, rows, atoms[0]), atoms[0])
    with pytest.raises(InputError, match="x0"):
        geometry.start_point(f, rows, np.ones(3))


def test_exact_constants_have_an_interval_within_agree(atoms):
    width = geometry.sampling_quality(Dictionary(atoms))
    assert width.kind is geometry.Kind.EXACT
    assert isinstance(width, geometry.Constant)
    assert width.upper - width.lower <= 4 * geometry.AGREE * width
    assert width.lower <= width <= width.upper


def test_constants_given_to_a_theorem_are_used_in_its_bound(signals, atoms):
    f, rows = SquaredDistance(signals[0]), Dictionary(atoms)
    computed = rates.theorem_5(f, rows)
    half = rates.theorem_5(f, rows, given={"μ_A": float(computed.constants["μ_A"]) / 2})
    assert half(100) > computed(100)
    assert half.constants["L_A"] == computed.constants["L_A"]


def test_optimal_value_is_the_least_squares_value(generator):
    rows, b = generator.standard_normal((4, 9)), generator.standard_normal(9)
    w = lstsq(rows.T, b)[0]
    best = 0.5 * np.linalg.norm(rows.T @ w - b) ** 2
    assert rates.optimal_value(SquaredDistance(b), Dictionary(rows)) == pytest.approx(best)


# Plots ---------------------------------------------------------------------------------------


def test_trace_is_drawn_against_the_column_asked_for(signals, atoms):
    trace = solve(SquaredDistance(signals[0]), atoms, max_iter=30, every=1).trace
    ax = plots.trace(trace, against="products", label="run")
    assert np.array_equal(ax.lines[0].get_xdata(), trace.products)
    assert np.array_equal(ax.lines[0].get_ydata(), trace.value)
    assert ax.get_xlabel() == "products"


def test_penalty_path_has_a_curve_for_each_coefficient_in_use():
    path = pursuit.path(SquaredDistance([3.0, 0.0, -2.0]), Coordinates(3), lambdas=[2.5, 1.0])
    ax = plots.penalty_path(path, labels=["a", "b", "c"])
    curves = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert np.allclose(curves["a"], [0.5, 2.0])
    assert np.allclose(curves["c"], [0.0, -1.0])
    assert "b" not in curves


def test_band_draws_the_median_of_the_curves():
    x, curves = np.arange(1, 5), np.array([[4, 3, 2, 1], [8, 6, 4, 2], [9, 9, 9, 9]])
    ax = plots.band(x, curves, label="runs")
    assert ax.lines[0].get_ydata().tolist() == [8, 6, 4, 2]
    assert ax.get_xscale() == ax.get_yscale() == "log"
    cut = plots.band(x, curves[:, ::-1], top=5)
    assert cut.lines[0].get_ydata().tolist() == [2, 4]


def test_atoms_are_drawn_as_patches_or_as_curves(generator):
    atoms = generator.standard_normal((6, 16))
    assert len(plots.atoms(atoms).images) == 1
    curves = plots.atoms(atoms, shape=(16,))
    assert not curves.images
    assert len(curves.lines) >= 6


def test_looks_of_the_first_curves_differ():
    looks = [plots.look(k) for k in range(8)]
    assert len({look["color"] for look in looks}) == len(looks)
    assert len({str(look["linestyle"]) for look in looks}) == len(looks)


def test_axes_that_are_given_come_back():
    ax = plots.figure(3, 2).subplots()
    assert plots.axes(ax) is ax
    assert plots.axes() is not plots.axes()


def test_figures_have_the_size_asked_for():
    for make in (plots.figure, plots.shown, plots.returned):
        figure = make(5, 2.5)
        assert figure.get_size_inches().tolist() == [5, 2.5]
        assert figure.axes == []


def test_coefficients_are_drawn_with_their_names():
    at, curves = np.arange(3), np.array([[0, 0], [1.0, 0], [2.0, -1.0]])
    ax = plots.coefficients(at, curves, names=["age", "weight"])
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert np.allclose(np.nan_to_num(drawn["age"]), [0, 1, 2])
    assert np.nan_to_num(drawn["weight"])[-1] == -1


def test_scores_draw_every_fold_and_their_mean():
    folds = np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 3.0]])
    ax = plots.scores(np.arange(3), folds, 1)
    drawn = [np.asarray(line.get_ydata()).tolist() for line in ax.lines]
    assert [drawn[0], drawn[1], drawn[2]] == [[1, 2, 3], [3, 4, 3], [2, 3, 3]]
    assert ax.lines[3].get_label() == "chosen: 1"


def test_legend_below_names_the_curves_of_the_axes():
    figure = plots.figure(4, 3)
    ax = figure.subplots()
    ax.plot([1, 2], label="first")
    ax.plot([2, 1], label="second")
    plots.legend_below(figure, ax, columns=2)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["first", "second"]


# Commands ------------------------------------------------------------------------------------


def test_encode_command_stops_at_the_residual_asked_for(files, signals):
    norms = np.linalg.norm(signals, axis=1)
    run("encode", "X.npy", "--dictionary", "D.npy", "-o", "r", "--rtol", 0.5)
    run("encode", "X.npy", "--dictionary", "D.npy", "-o", "a", "--atol", 0.7)
    relative, absolute = Codes.open("r"), Codes.open("a")
    assert np.all(relative.residual_norms <= 0.5 * norms)
    assert np.all(absolute.residual_norms <= 0.7)
    assert np.any(relative.residual_norms > 0.7)


def test_encode_command_passes_method_seed_and_iterations(files, signals, atoms):
    options = ["--method", "random-pursuit", "--seed", 3, "--max-iter", 25, "--threads", 1]
    run("encode", "X.npy", "--dictionary", "D.npy", "-o", "c", *options)
    codes = Codes.open("c")
    expected = encode(signals, atoms, "random-pursuit", rng=3, max_iter=25)
    other = encode(signals, atoms, "random-pursuit", rng=4, max_iter=25)
    assert codes.iterations.max() == 25
    assert np.array_equal(codes.toarray(), expected.toarray())
    assert not np.array_equal(codes.toarray(), other.toarray())


def test_learn_command_stops_by_tolerance_and_time(files):
    common = ["learn", "X.npy", "--atoms", 8, "--nonzero", 2, "--passes", 50]
    assert "CONVERGED" in run(*common, "-o", "t.npy", "--tol", 0.9)
    assert "MAX_TIME" in run(*common, "-o", "m.npy", "--max-time", 1e-6)


def test_learn_command_takes_first_atoms_and_nonnegativity(files, signals):
    np.save("P.npy", abs(signals))
    np.save("S.npy", abs(signals[:8]))
    options = ["--nonzero", 2, "--nonnegative", "--start", "S.npy"]
    run("learn", "P.npy", "--atoms", 8, "-o", "n.npy", *options)
    expected = learn(abs(signals), 8, 2, nonnegative=True, start=abs(signals[:8]))
    assert np.array_equal(np.load("n.npy"), expected.atoms)
    assert expected.atoms.min() >= 0


def test_unmix_command_takes_named_arrays_of_endmembers_and_library(tmp_path, scene):
    pixels, pure = scene
    np.save(tmp_path / "s.npy", pixels.reshape(10, 20, 20))
    np.savez(tmp_path / "m.npz", wrong=np.ones((2, 20)), right=pixels[pure])
    known = ["--endmembers", tmp_path / "m.npz", "--endmember-variable", "right"]
    library = ["--library", tmp_path / "m.npz", "--library-variable", "right"]
    run("unmix", tmp_path / "s.npy", *known, *library, "--out", tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as numbers:
        assert np.allclose(numbers["endmembers"], pixels[pure])
        assert np.allclose(numbers["abundances"][pure], np.eye(3), atol=1e-6)


def test_reproduce_command_takes_pixels_of_a_file(tmp_path, generator):
    spectra = generator.random((6, 30)) + 0.1
    np.save(tmp_path / "mine.npy", generator.dirichlet(np.ones(6), 80) @ spectra)
    options = ["--data", tmp_path / "mine.npy", "--iterations", 20, "--out", tmp_path / "out"]
    run("reproduce", "urban", *options)
    assert "mine.npy" in (tmp_path / "out" / "verdicts.md").read_text(encoding="utf-8")


def test_constants_command_divides_atoms_by_their_norms(files):
    def radius(*options):
        document = json.loads(run("constants", "D.npy", "--json", *options))
        return next(row for row in document["constants"] if row["constant"] == "radius")["value"]

    assert radius() > 2
    assert radius("--unit") == pytest.approx(1)
