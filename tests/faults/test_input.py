"""Bad input gives one clear sentence that names the argument, and leaves the input as it was."""

import os
import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

import pursuit
from pursuit import (
    AffineInvariant,
    Coordinates,
    Dictionary,
    Function,
    InputError,
    LeastSquares,
    Quadratic,
    Replay,
    Sampling,
    Smooth,
    Sphere,
    SquaredDistance,
    methods,
    solve,
)

N, D, M = 7, 4, 5
rng = np.random.default_rng(0)
ROWS, B = rng.standard_normal((N, D)), rng.standard_normal(D)
A, MEASURED = rng.standard_normal((M, D)), rng.standard_normal(M)
F, ATOMS = SquaredDistance(B), Dictionary(ROWS)


def refuses(argument, action):
    """`action` raises InputError with one sentence on `argument`; the sentence."""
    with pytest.raises(InputError) as caught:
        action()
    message = str(caught.value)
    assert re.match(rf"(\w+, )*{argument}(, \w+)*(: | must )", message), message
    assert "\n" not in message
    assert len(message) < 400
    return message


# Every array that the core takes: how it is called, and how it comes in.
ENTRIES = {
    "Dictionary": ("atoms", ROWS, Dictionary),
    "SquaredDistance": ("b", B, SquaredDistance),
    "LeastSquares A": ("A", A, lambda a: LeastSquares(a, MEASURED)),
    "LeastSquares b": ("b", MEASURED, lambda b: LeastSquares(A, b)),
    "Quadratic H": ("H", A.T @ A, lambda h: Quadratic(h, B)),
    "Quadratic b": ("b", B, lambda b: Quadratic(A.T @ A, b)),
    "x0": ("x0", B, lambda x0: solve(F, ATOMS, x0=x0)),
    "coef0": ("coef0", ROWS[:, 0], lambda coef0: solve(F, ATOMS, coef0=coef0)),
    "Sampling": ("sampling", np.full(N, 1 / N), lambda p: Sampling(ATOMS, p)),
    "sampling of a method": (
        "sampling",
        np.full(N, 1 / N),
        lambda p: solve(F, ATOMS, methods.random_pursuit(sampling=p)),
    ),
    "sampling of Algorithm 3": (
        "sampling",
        np.full(N, 1 / N),
        lambda p: solve(F, ATOMS, methods.accelerated_random(sampling=p)),
    ),
    "sampling of Algorithm 4": (
        "sampling",
        np.full(N, 1 / N),
        lambda p: solve(F, ATOMS, methods.accelerated_matching_pursuit(sampling=p)),
    ),
}


def with_entry(array, value):
    spoiled = array.copy()
    spoiled.flat[-1] = value
    return spoiled


def with_object(array):
    spoiled = array.astype(object)
    spoiled.flat[0] = "one"
    return spoiled


SPOILED = {
    "nan": lambda array: with_entry(array, np.nan),
    "inf": lambda array: with_entry(array, np.inf),
    "minus inf": lambda array: with_entry(array, -np.inf),
    "complex": lambda array: array + 0j,
    "objects": with_object,
    "numbers as objects": lambda array: array.astype(object),
    "masked": lambda array: np.ma.masked_equal(array, array.flat[0]),
    "texts": lambda array: array.astype(str),
    "dates": lambda array: np.zeros(array.shape, "datetime64[s]"),
    "empty": lambda array: array[:0],
    "a number": lambda array: 3.0,
    "one dimension too many": lambda array: array[None, None, None],
    "too long": lambda array: np.concatenate([array, array]),
    "ragged": lambda array: [[1.0, 2.0], [3.0]],
    "a text": lambda array: "signal",
    "nothing": lambda array: {},
}
# A dictionary may have any number of atoms of any shape; a distance a signal of any shape.
FITS = {
    ("Dictionary", "too long"),
    ("Dictionary", "one dimension too many"),
    ("SquaredDistance", "too long"),
    ("SquaredDistance", "one dimension too many"),
}


@pytest.mark.parametrize("spoiling", SPOILED)
@pytest.mark.parametrize("entry", ENTRIES)
def test_arrays_are_checked_wherever_they_come_in(entry, spoiling):
    argument, good, enter = ENTRIES[entry]
    enter(good.copy())  # as it should be
    bad = SPOILED[spoiling](good)
    if (entry, spoiling) in FITS:
        enter(bad)
        return
    if (entry, spoiling) == ("LeastSquares A", "too long"):
        argument = "b"  # it is the measurements that are then too few
    before = bad.copy() if isinstance(bad, np.ndarray) else None
    refuses(argument, lambda: enter(bad))
    if before is not None:
        assert bad.dtype == before.dtype
        np.testing.assert_array_equal(np.ma.getdata(bad), np.ma.getdata(before))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_named_with_its_place(value):
    rows = ROWS.copy()
    rows[2, 1] = value
    assert f"{value} at (2, 1)" in refuses("atoms", lambda: Dictionary(rows))


def test_a_zero_atom_is_named_by_its_index():
    rows = ROWS.copy()
    rows[3] = 0
    assert "zeros in atom 3" in refuses("atoms", lambda: Dictionary(rows))
    images = np.ones((3, 2, 2))
    images[1] = 0
    assert "zeros in atom 1" in refuses("atoms", lambda: Dictionary(images))


@pytest.mark.parametrize(
    "A",
    [csr_array(A + 0j), csr_array(with_entry(A, np.nan)), aslinearoperator(A + 0j), csr_array(A.T)],
    ids=["complex", "nan", "complex operator", "transposed"],
)
def test_sparse_arrays_and_operators_are_checked_too(A):
    with pytest.raises(InputError, match=r"^[Ab]: "):
        LeastSquares(A, MEASURED)


def test_objectives_and_atoms_that_do_not_fit_each_other_are_refused():
    assert "(4,)" in refuses("atoms", lambda: solve(F, Coordinates(5)))
    assert "(4,)" in refuses("atoms", lambda: solve(F, Sphere(2, 2)))
    assert "(4,)" in refuses("atoms", lambda: solve(F, ROWS.T))
    assert "SquaredDistance(b) for a signal b, got ndarray" in refuses("f", lambda: solve(B, ATOMS))


def test_a_quadratic_must_be_symmetric_and_convex():
    assert "square" in refuses("H", lambda: Quadratic(A, B))
    assert "symmetric" in refuses("H", lambda: Quadratic(np.triu(np.ones((D, D))), B))
    assert "semi-definite" in refuses("H", lambda: Quadratic(-np.eye(D), B))
    assert "semi-definite" in refuses("H", lambda: Quadratic(np.diag([1.0, 1, 1, -1e-3]), B))
    assert "zero" in refuses("H", lambda: Quadratic(np.zeros((D, D)), B))


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "1", None, [1.0], True, 1j])
class TestConstantsMustBePositive:
    def cases(self, value):
        cases = {
            "nu": [
                methods.accelerated_random(nu=value),
                methods.accelerated_matching_pursuit(nu=value),
                methods.greedy_greedy(nu=value),
            ],
            "L": [
                methods.matching_pursuit(step=Smooth(value)),
                methods.random_pursuit(step=Smooth(value)),
                methods.accelerated_random(L=value),
                methods.accelerated_matching_pursuit(L=value),
                methods.greedy_greedy(L=value),
            ],
            "L_A": [
                methods.affine_invariant(L_A=value),
                methods.matching_pursuit(step=AffineInvariant(value)),
            ],
        }
        return [(name, method) for name in cases for method in cases[name]]

    def test_nu_and_L(self, value):
        for name, method in self.cases(value):
            if value is None:  # then it is computed
                assert solve(F, ATOMS, method, max_iter=5).iterations == 5
            else:
                refuses(name, lambda method=method: solve(F, ATOMS, method))


class TestProbabilities:
    def test_that_do_not_sum_to_one(self):
        assert "sum to 1" in refuses("sampling", lambda: Sampling(ATOMS, np.full(N, 0.5)))
        assert "sum to 1" in refuses("sampling", lambda: Sampling(ATOMS, np.zeros(N)))

    def test_that_are_negative(self):
        p = np.full(N, 1 / N)
        p[:2] += [1, -1]
        assert "at least 0" in refuses("sampling", lambda: Sampling(ATOMS, p))

    def test_that_miss_part_of_the_span(self):
        message = refuses("sampling", lambda: Sampling(Coordinates(3), [0.5, 0.5, 0]))
        assert "2 of 3" in message
        few = np.zeros(N)
        few[:3] = 1 / 3
        for method in (methods.random_pursuit, methods.accelerated_random):
            refuses("sampling", lambda method=method: solve(F, ATOMS, method(sampling=few)))
        # Leaving out atoms that the others span is fine.
        enough = np.zeros(N)
        enough[:D] = 1 / D
        assert Sampling(ATOMS, enough).moments.rank == D

    def test_in_single_precision_are_fine_and_sum_to_one_afterwards(self):
        assert Sampling(Coordinates(3), np.full(3, 1 / 3, np.float32)).p.sum() == 1

    def test_need_a_finite_set(self):
        refuses("sampling", lambda: Sampling(Sphere(3), [1.0]))

    def test_are_checked_whatever_the_length_of_the_atoms(self):
        scale = np.geomspace(1e-68, 1e68, N)[:, None]
        assert Sampling(Dictionary(ROWS * scale), np.full(N, 1 / N)).p.shape == (N,)


class TestStarts:
    def test_outside_the_span_are_refused(self):
        plane = Dictionary(np.eye(4)[:2])
        assert "span" in refuses("x0", lambda: solve(F, plane, x0=[1.0, 1, 1e-3, 0]))
        assert solve(F, plane, x0=[1.0, 1, 0, 0]).success

    def test_twice_given_are_refused(self):
        refuses("x0", lambda: solve(F, ATOMS, x0=B, coef0=np.zeros(N)))

    def test_by_coefficients_need_a_finite_set(self):
        refuses("coef0", lambda: solve(F, Sphere(D), coef0=[1.0]))


WRONG = {
    "max_iter": [-1, 1.5, "10", None, True, np.nan],
    "n_nonzero": [0, -1, 2.0, "3", True],
    "max_time": [0, -1.0, np.nan, np.inf, "1", [1]],
    "tol": [-1e-9, np.nan, np.inf, "1", [1e-3], 1j],
    "rtol": [-1e-9, np.nan, np.inf, "1", [1e-3], 1j],
    "target": [np.nan, "abc", "1", [1.0], 1j],
    "every": [0, -3, 1.5, "2", True],
    "rng": [-1, 1.5, "0", True, [1]],
    "callback": [5, "print", [print]],
    "checkpoint": [5, os.path.join("no", "such", "directory", "file")],
    "resume": [5, os.path.join("no", "such", "file"), [1]],
    "method": ["matching", "", 5, ["matching-pursuit"], "M P"],
}


@pytest.mark.parametrize(("argument", "value"), [(a, v) for a in WRONG for v in WRONG[a]])
def test_options_are_checked(argument, value):
    refuses(argument, lambda: solve(F, ATOMS, **{argument: value}))


def test_rtol_needs_an_objective_with_a_residual():
    f = Quadratic(np.eye(D), B)
    assert "Quadratic" in refuses("rtol", lambda: solve(f, ATOMS, rtol=0.1))


def test_a_method_is_made_of_an_advance_and_a_momentum():
    rules = methods.matching_pursuit()
    refuses("advance", lambda: pursuit.Method("ours", rules.momentum, rules.momentum))
    refuses("momentum", lambda: pursuit.Method("ours", rules.advance, "none"))


def test_sets_of_no_size_are_refused():
    for wrong in (0, -1, 2.5, "3", True):
        refuses("n", lambda wrong=wrong: Coordinates(wrong))
        refuses("shape", lambda wrong=wrong: Sphere(wrong))


def test_replayed_atoms_must_exist():
    for indices in ([0, N], [-1], [0.5], [[0]], "012"):
        method = methods.matching_pursuit(direction=Replay(indices))
        refuses("indices", lambda method=method: solve(F, ATOMS, method))
    on_sphere = methods.matching_pursuit(direction=Replay([0]))
    refuses("indices", lambda: solve(F, Sphere(D), on_sphere))
    short = methods.matching_pursuit(direction=Replay([0, 1]))
    refuses("indices", lambda: solve(F, ATOMS, short, max_iter=3))
    assert solve(F, ATOMS, short, max_iter=2).iterations == 2


@pytest.mark.parametrize("name", methods.NAMED)
@pytest.mark.parametrize("limit", [0, 2**28])
def test_no_method_modifies_what_it_is_given(name, limit):
    given = {"rows": ROWS, "A": A, "b": MEASURED, "x0": B, "p": np.full(N, 1 / N)}
    given = {key: array.copy() for key, array in given.items()}
    for array in given.values():
        array.setflags(write=False)
    f, atoms = LeastSquares(given["A"], given["b"]), Dictionary(given["rows"])
    options = {"max_iter": 30, "gram_bytes": limit}
    for unit_atoms in (True, False):
        solve(f, atoms, name, x0=given["x0"], unit_atoms=unit_atoms, **options)
    Sampling(atoms, given["p"]).moments
    unlocked = {"rows": ROWS.copy(), "coef0": np.ones(N)}
    solve(F, Dictionary(unlocked["rows"]), name, coef0=unlocked["coef0"], **options)
    np.testing.assert_array_equal(unlocked["rows"], ROWS)
    np.testing.assert_array_equal(unlocked["coef0"], np.ones(N))


@pytest.mark.parametrize("limit", [0, 2**28])
def test_what_a_callback_does_to_its_snapshot_stays_there(limit):
    def vandal(shown):
        shown.x[:] = np.nan

    options = {"max_iter": 20, "gram_bytes": limit}
    quiet, spoiled = (solve(F, ATOMS, callback=c, **options) for c in (None, vandal))
    np.testing.assert_array_equal(spoiled.x, quiet.x)


class Boom(Exception):
    """An error of the user's."""


@pytest.mark.parametrize("error", [Boom, KeyboardInterrupt, SystemExit, pursuit.InputError])
@pytest.mark.parametrize("at", [0, 1, 3])
@pytest.mark.parametrize("name", methods.NAMED)
def test_an_error_in_a_callback_passes_and_the_result_so_far_stays_reachable(name, at, error):
    raised = error("mine")

    def callback(shown):
        if shown.iteration == at:
            raise raised

    options = {"tol": 0, "every": 1}
    with pytest.raises(error) as caught:
        solve(F, ATOMS, name, max_iter=30, callback=callback, **options)
    assert caught.value is raised
    partial = raised.partial_result
    assert partial.status.name == "STOPPED"
    assert not partial.success
    assert partial.iterations == at
    there = solve(F, ATOMS, name, max_iter=at, **options)
    np.testing.assert_array_equal(partial.x, there.x)
    assert partial.trace.iteration.tolist() == list(range(at + 1))
    # And it goes on from there as if nothing had happened.
    whole = solve(F, ATOMS, name, max_iter=30, **options)
    resumed = solve(F, ATOMS, name, max_iter=30, resume=partial, **options)
    np.testing.assert_array_equal(resumed.x, whole.x)
    np.testing.assert_array_equal(resumed.trace.value, whole.trace.value)


def test_an_error_in_the_objective_passes_with_the_result_so_far():
    class Fragile(SquaredDistance):
        calls = 0

        def gradient(self, x):
            Fragile.calls += 1
            if Fragile.calls == 10:
                raise Boom("numbers ran out")
            return super().gradient(x)

    with pytest.raises(Boom, match="numbers ran out") as caught:
        solve(Fragile(B), ATOMS, gram_bytes=0)
    assert 0 < caught.value.partial_result.iterations < 10


@pytest.mark.parametrize("value", [None, "one", 1j, np.ones(3)])
def test_a_function_has_to_return_a_number(value):
    f = Function(lambda x: value, lambda x: x - 1, shape=D, L=1.0)
    message = refuses("value", lambda: solve(f, ATOMS))
    assert "expected a number" in message


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_at_the_start_is_called_so(bad):
    f = Function(lambda x: x @ x, lambda x: x + bad, shape=D, L=2.0)
    message = refuses("f", lambda: solve(f, ATOMS))
    assert "gradient" in message
    assert f"{bad}" in message
    assert "rescale" not in message
