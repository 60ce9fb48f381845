"""Results follow the unit of the data: scaling by a power of two scales numbers and no decision.

Data of order one are multiplied by 2^±200 (float32: 2^±40), each array alone or several together,
with every absolute parameter. Supports, statuses and numbers of iterations stay, and every number
is scaled exactly. An intercept and a sum of one fix a unit: there, numbers agree to 1e-12.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from pursuit import (
    L1,
    Box,
    Cone,
    Coordinates,
    Dictionary,
    Encoder,
    LeastSquares,
    Logistic,
    NonNegative,
    Quadratic,
    SquaredDistance,
    decompose,
    encode,
    learn,
    path,
    solve,
    unmixing,
)

RNG = np.random.default_rng(7)
ATOMS = RNG.standard_normal((24, 12)) * RNG.uniform(0.5, 2, (24, 1))
SIGNALS = (RNG.standard_normal((9, 24)) * (RNG.random((9, 24)) < 0.2)) @ ATOMS
SIGNALS += 0.05 * RNG.standard_normal(SIGNALS.shape)
X = RNG.standard_normal((30, 10))
Y = X[:, 1] - 2 * X[:, 4] + 0.3 * RNG.standard_normal(30)
CLASSES = np.where(Y + RNG.standard_normal(30) > 0, 1.0, -1.0)
ROOT = RNG.standard_normal((14, 12))
SPECTRA = RNG.random((5, 16)) + 0.1
PIXELS = RNG.dirichlet(np.ones(5), 20) @ SPECTRA + 0.02 * RNG.standard_normal((20, 16))
TIME = np.arange(600.0)
SOUND = np.cos(0.3 * TIME) * np.exp(-(((TIME - 250) / 80) ** 2)) + 0.2 * np.cos(1.1 * TIME + 1)
SOUND += 0.01 * RNG.standard_normal(600)

BOTH_PRECISIONS = pytest.mark.parametrize(
    ("dtype", "power"), [("f8", 200), ("f8", -200), ("f4", 40), ("f4", -40)]
)
TWO_ARRAYS = pytest.mark.parametrize(
    ("first", "second"), [(1, 0), (0, 1), (1, 1)], ids=["first alone", "second alone", "both"]
)


def scaled(array, power, dtype="f8"):
    """Return an array in a precision, times a power of two."""
    return np.ldexp(np.asarray(array, dtype), power)


def require_equal(result, base, power, what):
    """Assert that numbers are those of the other run times a power of two, bit for bit."""
    result, base = np.asarray(result), np.asarray(base)
    assert result.dtype == base.dtype, what
    expected = np.ldexp(base, power) if base.dtype.kind == "f" else base
    np.testing.assert_array_equal(result, expected, err_msg=what)


def require_close(result, base, power, what):
    """Assert the same to 1e-12 of the largest number."""
    expected = np.ldexp(np.asarray(base, float), power)
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12 * largest, err_msg=what)


# Many signals -----------------------------------------------------------------------------------


def check_codes(codes, base, signals, atoms):
    """Codes of signals and atoms times powers of two."""
    for name in ("indptr", "indices", "iterations", "statuses"):
        require_equal(getattr(codes, name), getattr(base, name), 0, name)
    require_equal(codes.values, base.values, signals - atoms, "values")
    require_equal(codes.residual_norms, base.residual_norms, signals, "residual norms")


CODINGS = [
    {"method": "orthogonal", "n_nonzero": 4},
    {"method": "orthogonal", "atol": 1.5},
    {"method": "orthogonal", "rtol": 0.1, "unit_atoms": False},
    {"method": "matching-pursuit", "max_iter": 30},
    {"method": "matching-pursuit", "atol": 0.5, "max_iter": 200},
    {"method": "affine-invariant", "max_iter": 30, "unit_atoms": False},
    {"method": "random-pursuit", "max_iter": 60},
    {"method": "accelerated-random", "max_iter": 60},
    {"method": "accelerated-matching-pursuit", "max_iter": 60},
    {"method": "greedy-greedy", "max_iter": 20},
    {"method": "accelerated", "rtol": 1e-4},
]
CODING_NAMES = ["-".join(map(str, (c["method"], *list(c)[1:]))) for c in CODINGS]


@BOTH_PRECISIONS
@TWO_ARRAYS
@pytest.mark.parametrize("options", CODINGS, ids=CODING_NAMES)
def test_encode(options, first, second, dtype, power):
    at, zt = first * power, second * power
    base = encode(scaled(SIGNALS, 0, dtype), scaled(ATOMS, 0, dtype), **options)
    if "atol" in options:
        options = options | {"atol": float(np.ldexp(options["atol"], at))}
    codes = encode(scaled(SIGNALS, at, dtype), scaled(ATOMS, zt, dtype), **options)
    check_codes(codes, base, at, zt)


@BOTH_PRECISIONS
@TWO_ARRAYS
@pytest.mark.parametrize("method", ["orthogonal", "matching-pursuit"])
def test_encode_with_nonnegative_coefficients(method, first, second, dtype, power):
    at, zt = first * power, second * power
    options = {"method": method, "n_nonzero": 5, "max_iter": 40}
    base = encode(scaled(SIGNALS, 0, dtype), Cone(scaled(ATOMS, 0, dtype)), **options)
    codes = encode(scaled(SIGNALS, at, dtype), Cone(scaled(ATOMS, zt, dtype)), **options)
    check_codes(codes, base, at, zt)


@BOTH_PRECISIONS
def test_encode_forward_only(dtype, power):
    unit = ATOMS / np.linalg.norm(ATOMS, axis=1, keepdims=True)
    options = {"method": "matching-pursuit", "forward_only": True, "max_iter": 20}
    atoms = Cone(unit.astype(dtype))
    base = encode(scaled(SIGNALS, 0, dtype), atoms, **options)
    check_codes(encode(scaled(SIGNALS, power, dtype), atoms, **options), base, power, 0)


@BOTH_PRECISIONS
@TWO_ARRAYS
@pytest.mark.parametrize("form", ["gram", "columns", "products"])
def test_encoder(form, first, second, dtype, power):
    at, zt = first * power, second * power
    options = {"n_nonzero": 4, "form": form}
    base = Encoder(scaled(ATOMS, 0, dtype), **options)(scaled(SIGNALS, 0, dtype))
    codes = Encoder(scaled(ATOMS, zt, dtype), **options)(scaled(SIGNALS, at, dtype))
    check_codes(codes, base, at, zt)


@BOTH_PRECISIONS
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("method", ["online", "aksvd", "mod"])
def test_learn(method, nonnegative, dtype, power):
    signals = np.abs(SIGNALS) if nonnegative else SIGNALS
    options = {"n_nonzero": 2, "method": method, "nonnegative": nonnegative, "tol": 1e-3}
    base = learn(scaled(signals, 0, dtype), 6, **options)
    learned = learn(scaled(signals, power, dtype), 6, **options)
    for name in ("atoms", "usage", "replaced", "status"):
        np.testing.assert_array_equal(getattr(learned, name), getattr(base, name), err_msg=name)
    for name in ("signals", "share", "renewed"):
        require_equal(getattr(learned.trace, name), getattr(base.trace, name), 0, name)
    require_equal(learned.trace.objective, base.trace.objective, 2 * power, "objective")


@BOTH_PRECISIONS
@pytest.mark.parametrize("method", ["online", "aksvd", "mod"])
def test_learn_from_given_atoms(method, dtype, power):
    options = {"n_nonzero": 2, "method": method, "passes": 2}
    signals = scaled(SIGNALS, 0, dtype)
    base = learn(signals, 6, start=scaled(ATOMS[:6], 0, dtype), **options)
    learned = learn(signals, 6, start=scaled(ATOMS[:6], power, dtype), **options)
    require_equal(learned.atoms, base.atoms, 0, "atoms")
    require_equal(learned.trace.objective, base.trace.objective, 0, "objective")


@BOTH_PRECISIONS
@pytest.mark.parametrize("shared", [False, True])
def test_decompose(shared, dtype, power):
    signal = np.stack([SOUND, np.roll(SOUND, 40)]) if shared else SOUND
    options = {"rate": 8000.0, "snr": 15.0, "shared": shared}
    base = decompose(scaled(signal, 0, dtype), **options)
    book = decompose(scaled(signal, power, dtype), **options)
    assert len(base) > 3
    for name in ("step", "channel", "frequency", "time", "scale", "phase"):
        require_equal(getattr(book, name), getattr(base, name), 0, name)
    require_equal(book.amplitude, base.amplitude, power, "amplitude")
    assert book.reached == base.reached


@BOTH_PRECISIONS
@TWO_ARRAYS
@pytest.mark.parametrize("constraint", ["none", "non-negative", "sparse"])
def test_unmix(constraint, first, second, dtype, power):
    at, zt = first * power, second * power
    options = {"constraint": constraint, "n_nonzero": 2 if constraint == "sparse" else None}
    base = unmixing.unmix(scaled(PIXELS, 0, dtype), scaled(SPECTRA, 0, dtype), **options)
    result = unmixing.unmix(scaled(PIXELS, at, dtype), scaled(SPECTRA, zt, dtype), **options)
    require_equal(result.abundances, base.abundances, at - zt, "abundances")
    require_equal(result.residual_norms, base.residual_norms, at, "residual norms")
    require_equal(result.pixel_norms, base.pixel_norms, at, "pixel norms")
    require_equal(result.angles, base.angles, 0, "angles")
    assert result.relative_error == base.relative_error


@BOTH_PRECISIONS
@pytest.mark.parametrize("constraint", ["sum-to-one", "sum-at-most-one"])
def test_unmix_with_a_sum(constraint, dtype, power):
    """A sum of one needs pixels and endmembers in the same unit."""
    base = unmixing.unmix(scaled(PIXELS, 0, dtype), scaled(SPECTRA, 0, dtype), constraint)
    result = unmixing.unmix(scaled(PIXELS, power, dtype), scaled(SPECTRA, power, dtype), constraint)
    np.testing.assert_array_equal(result.abundances > 0, base.abundances > 0)
    require_close(result.abundances, base.abundances, 0, "abundances")
    require_close(result.residual_norms, base.residual_norms, power, "residual norms")


# One problem ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Powers:
    """The powers of two of coefficients of the atoms, of x, of values, and of slopes."""

    weights: int
    x: int
    value: int
    slope: int


def check_run(result, base, powers, require=require_equal):
    """A run on scaled data against the run on data of order one."""
    assert result.status == base.status
    assert result.iterations == base.iterations
    np.testing.assert_array_equal(result.support, base.support)
    np.testing.assert_array_equal(result.trace.iteration, base.trace.iteration)
    np.testing.assert_array_equal(result.trace.support, base.trace.support)
    require(result.weights, base.weights, powers.weights, "weights")
    require(result.x, base.x, powers.x, "x")
    require(result.trace.value, base.trace.value, powers.value, "values")
    require(result.value, base.value, powers.value, "value")
    if require is require_equal:  # what is left of a slope or a gap at the end has few digits
        require(result.trace.slope, base.trace.slope, powers.slope, "slopes")
        require(result.slope, base.slope, powers.slope, "slope")
        require(result.gap, base.gap, powers.value, "gap")


OVER_DICTIONARIES = [
    "matching-pursuit", "affine-invariant", "random-pursuit", "accelerated-random",
    "accelerated-matching-pursuit", "greedy-greedy", "accelerated", "accelerated-affine-invariant",
    "cyclic", "shuffled", "orthogonal", "blended",
]  # fmt: skip
"""All but gradient-free pursuit, whose first trial step is 1 in the unit of x."""


@BOTH_PRECISIONS
@TWO_ARRAYS
@pytest.mark.parametrize("method", OVER_DICTIONARIES)
def test_solve_for_a_distance(method, first, second, dtype, power):
    bt, zt = first * power, second * power
    options = {"max_iter": 60, "rng": 3}

    def run(bt, zt):
        f = SquaredDistance(scaled(SIGNALS[0], bt, dtype))
        return solve(f, Dictionary(scaled(ATOMS, zt, dtype)), method, **options)

    check_run(run(bt, zt), run(0, 0), Powers(bt - zt, bt, 2 * bt, bt))


@BOTH_PRECISIONS
@TWO_ARRAYS
@pytest.mark.parametrize("rule", ["target", "rtol", "x0", "coef0", "n_nonzero", "as printed"])
def test_solve_with_absolute_options(rule, first, second, dtype, power):
    bt, zt = first * power, second * power
    coef = RNG.permutation(np.arange(24.0)) / 24 * (np.arange(24) % 3 == 0)

    def run(bt, zt):
        atoms = scaled(ATOMS, zt, dtype)
        options = {
            "target": {"target": float(np.ldexp(2.0, 2 * bt))},
            "rtol": {"rtol": 0.2},
            "x0": {"x0": scaled(coef @ ATOMS, bt, dtype)},
            "coef0": {"coef0": scaled(coef, bt - zt, dtype)},
            "n_nonzero": {"n_nonzero": 4},
            "as printed": {"unit_atoms": False},
        }[rule]
        f = SquaredDistance(scaled(SIGNALS[0], bt, dtype))
        return solve(f, Dictionary(atoms), "matching-pursuit", max_iter=60, **options)

    slope = bt + (zt if rule == "as printed" else 0)
    check_run(run(bt, zt), run(0, 0), Powers(bt - zt, bt, 2 * bt, slope))


@BOTH_PRECISIONS
@pytest.mark.parametrize(("first", "second"), [(1, 0), (0, 1)], ids=["b alone", "H alone"])
@pytest.mark.parametrize("method", ["matching-pursuit", "accelerated", "orthogonal", "cyclic"])
def test_solve_for_a_quadratic(method, first, second, dtype, power):
    """H times 2^h and b times 2^k: x = H⁻¹b follows."""
    bt, ht = first * power, second * power

    def run(bt, ht):
        f = Quadratic(scaled(ROOT.T @ ROOT, ht, dtype), scaled(SIGNALS[0], bt, dtype))
        return solve(f, Coordinates(12), method, max_iter=50)

    check_run(run(bt, ht), run(0, 0), Powers(bt - ht, bt - ht, 2 * bt - ht, bt))


OVER_COORDINATES = [*OVER_DICTIONARIES, None]
Y_AND_X = pytest.mark.parametrize(("y_too", "x_too"), [(1, 0), (0, 1)], ids=["y alone", "X alone"])


@BOTH_PRECISIONS
@Y_AND_X
@pytest.mark.parametrize("l2", [0.0, 0.5])
@pytest.mark.parametrize("method", OVER_COORDINATES)
def test_solve_for_least_squares(method, l2, y_too, x_too, dtype, power):
    yt, xt = y_too * power, x_too * power

    def run(yt, xt):
        ridge = float(np.ldexp(l2, 2 * xt))
        f = LeastSquares(scaled(X, xt, dtype), scaled(Y, yt, dtype), l2=ridge)
        return solve(f, Coordinates(10), method, max_iter=60)

    check_run(run(yt, xt), run(0, 0), Powers(yt - xt, yt - xt, 2 * yt, yt + xt))


PENALIZED = [None, "matching-pursuit", "affine-invariant", "random-pursuit", "cyclic", "shuffled",
             "working-set"]  # fmt: skip


def penalty_of(kind, strength, bound):
    """A penalty whose λ and bounds are multiplied by powers of two."""
    if kind == "L1":
        return L1(float(np.ldexp(3.0, strength)))
    if kind == "L1 of each":
        return L1(np.ldexp(np.arange(10.0), strength))
    if kind == "Box":
        return Box(float(np.ldexp(-0.3, bound)), float(np.ldexp(0.4, bound)))
    return NonNegative()


@BOTH_PRECISIONS
@Y_AND_X
@pytest.mark.parametrize("kind", ["L1", "L1 of each", "Box", "NonNegative"])
@pytest.mark.parametrize("method", PENALIZED)
def test_solve_with_a_penalty(method, kind, y_too, x_too, dtype, power):
    yt, xt = y_too * power, x_too * power

    def run(yt, xt):
        f = LeastSquares(scaled(X, xt, dtype), scaled(Y, yt, dtype))
        penalty = penalty_of(kind, yt + xt, yt - xt)
        return solve(f, Coordinates(10), method, penalty=penalty, max_iter=60)

    check_run(run(yt, xt), run(0, 0), Powers(yt - xt, yt - xt, 2 * yt, yt + xt))


@BOTH_PRECISIONS
@Y_AND_X
@pytest.mark.parametrize("method", PENALIZED)
def test_solve_to_a_gap(method, y_too, x_too, dtype, power):
    yt, xt = y_too * power, x_too * power

    def run(yt, xt):
        f = LeastSquares(scaled(X, xt, dtype), scaled(Y, yt, dtype))
        gap = float(np.ldexp(1e-2, 2 * yt))
        penalty = penalty_of("L1", yt + xt, 0)
        return solve(f, Coordinates(10), method, penalty=penalty, gap_tol=gap, max_iter=500)

    base = run(0, 0)
    assert base.success
    check_run(run(yt, xt), base, Powers(yt - xt, yt - xt, 2 * yt, yt + xt))


@BOTH_PRECISIONS
@pytest.mark.parametrize(
    ("method", "kind"),
    [*product((None, "matching-pursuit", "cyclic"), (None, "L1", "Box")), ("working-set", "L1")],
)
def test_solve_for_a_logistic_loss(method, kind, dtype, power):
    """X scaled, coefficients follow; the loss has its own unit."""

    def run(xt):
        f = Logistic(scaled(X, xt, dtype), CLASSES.astype(dtype), l2=float(np.ldexp(0.5, 2 * xt)))
        penalty = None if kind is None else penalty_of(kind, xt, -xt)
        return solve(f, Coordinates(10), method, penalty=penalty, max_iter=60)

    check_run(run(power), run(0), Powers(-power, -power, 0, power))


@BOTH_PRECISIONS
@pytest.mark.parametrize("method", [None, "matching-pursuit", "cyclic", "working-set"])
def test_solve_with_an_intercept(method, dtype, power):
    """The unit of y is that of the intercept."""
    penalty = method == "working-set"

    def run(yt):
        f = LeastSquares(scaled(X, 0, dtype), scaled(Y + 2, yt, dtype), intercept=True)
        charge = penalty_of("L1", yt, 0) if penalty else None
        return solve(f, Coordinates(11), method, penalty=charge, max_iter=60)

    check_run(run(power), run(0), Powers(power, power, 2 * power, power), require_close)


@BOTH_PRECISIONS
def test_a_certificate(dtype, power):
    def run(bt):
        f = SquaredDistance(scaled(SIGNALS[0], bt, dtype))
        return solve(f, Dictionary(scaled(ATOMS, 0, dtype)), "matching-pursuit", max_iter=20)

    bound = run(0).certificate.bound
    assert np.isfinite(bound)
    require_equal(run(power).certificate.bound, bound, 2 * power, "certificate")


def expect_rounded_lambdas(request):
    """Mark a test of a path whose lambdas are computed."""
    reason = "solving/penalty_path.py spaces lambdas by their logarithms, which rounds"
    request.applymarker(pytest.mark.xfail(strict=True, reason=reason))


@BOTH_PRECISIONS
@Y_AND_X
@pytest.mark.parametrize("given", [False, True], ids=["λ chosen", "λ given"])
@pytest.mark.parametrize("method", [None, "cyclic", "working-set"])
def test_path(method, given, y_too, x_too, dtype, power, request):
    if not given:
        expect_rounded_lambdas(request)
    yt, xt = y_too * power, x_too * power

    def run(yt, xt):
        f = LeastSquares(scaled(X, xt, dtype), scaled(Y, yt, dtype))
        lambdas = np.ldexp([20.0, 5.0, 1.0], yt + xt) if given else None
        return path(
            f, Coordinates(10), method=method, lambdas=lambdas, n_lambdas=6, lambda_min_ratio=0.01
        )

    check_path(run(yt, xt), run(0, 0), Powers(yt - xt, yt - xt, 2 * yt, yt + xt))


def check_path(result, base, powers, require=require_equal):
    """Every solution of a path, and its lambdas."""
    require(result.lambdas, base.lambdas, powers.slope, "lambdas")
    assert len(result.runs) == len(base.runs)
    for one, other in zip(result.runs, base.runs, strict=True):
        check_run(one, other, powers, require)


@BOTH_PRECISIONS
def test_path_for_a_logistic_loss(dtype, power, request):
    expect_rounded_lambdas(request)

    def run(xt):
        f = Logistic(scaled(X, xt, dtype), CLASSES.astype(dtype))
        return path(f, Coordinates(10), n_lambdas=5, lambda_min_ratio=0.05)

    check_path(run(power), run(0), Powers(-power, -power, 0, power))


@BOTH_PRECISIONS
def test_path_with_an_intercept(dtype, power):
    def run(yt):
        f = LeastSquares(scaled(X, 0, dtype), scaled(Y + 2, yt, dtype), intercept=True)
        return path(f, Coordinates(11), n_lambdas=5, lambda_min_ratio=0.05)

    check_path(run(power), run(0), Powers(power, power, 2 * power, power), require_close)


def test_data_are_of_order_one():
    for array in (ATOMS, SIGNALS, X, Y, ROOT, SPECTRA, PIXELS, SOUND):
        assert 0.1 < np.abs(array).max() < 100
