"""Objects that fail, numbers that only signal, and entries that are missing, at every door."""

import numpy as np
import pytest

import pursuit
from pursuit import (
    Box,
    Dictionary,
    Encoder,
    Gabor,
    Groups,
    InputError,
    LeastSquares,
    Quadratic,
    SquaredDistance,
    encode,
    estimators,
    learn,
    path,
    solve,
)
from pursuit.base.validation import shown
from pursuit.unmixing import h2nmf, unmix

RNG = np.random.default_rng(0)
ROWS, B, SIGNALS = RNG.random((6, 4)) + 1, RNG.random(4) + 1, RNG.random((9, 4)) + 1
Y, LABELS = RNG.random(9), np.array([0, 1, 0, 1, 0, 1, 0, 1, 1])
F = SquaredDistance(B)

# Every door: what the argument is called, an array, and how it comes in.
DOORS = {
    "Dictionary": ("atoms", ROWS, Dictionary),
    "SquaredDistance": ("b", B, SquaredDistance),
    "LeastSquares": ("A", ROWS, lambda a: LeastSquares(a, ROWS[:, 0])),
    "Quadratic": ("H", np.eye(4), lambda a: Quadratic(a, B)),
    "Box": ("upper", B, lambda a: Box(-9.0, a)),
    "solve": ("atoms", ROWS, lambda a: solve(F, a)),
    "x0": ("x0", B, lambda a: solve(F, ROWS, x0=a)),
    "signals": ("signals", SIGNALS, lambda a: encode(a, ROWS)),
    "blocks": ("signals", SIGNALS, lambda a: encode(iter([a]), ROWS)),
    "atoms": ("atoms", ROWS, lambda a: encode(SIGNALS, a)),
    "Encoder": ("atoms", ROWS, Encoder),
    "learn": ("signals", SIGNALS, lambda a: learn(a, 2)),
    "learn, all at once": ("signals", SIGNALS, lambda a: learn(a, 2, method="mod")),
    "start": ("start", ROWS[:2], lambda a: learn(SIGNALS, 2, start=a)),
    "unmix": ("pixels", SIGNALS, lambda a: unmix(a, ROWS)),
    "h2nmf": ("pixels", SIGNALS, lambda a: h2nmf(a, 2)),
    "decompose": ("signal", np.sin(np.arange(80.0)), lambda a: pursuit.decompose(a, 1.0)),
}


def signalling(dtype, bits):
    def spoil(array):
        spoilt = np.array(array, dtype, order="C")
        spoilt.reshape(-1).view(f"u{spoilt.itemsize}")[-1] = bits
        return spoilt

    return spoil


def beyond_double(array):
    spoilt = array.astype(np.longdouble)
    spoilt.flat[-1] = np.longdouble("1e4000")
    return spoilt


NO_NUMBERS = {
    "half": signalling("f2", 0x7D00),
    "single": signalling("f4", 0x7FA00000),
    "double": signalling("f8", 0x7FF4000000000000),
    "long double": beyond_double,
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
@pytest.mark.parametrize("door", DOORS)
def test_a_number_that_only_signals_is_named_and_nothing_warns(door, kind):
    if np.finfo(np.longdouble).max == np.finfo(np.float64).max and kind == "long double":
        pytest.skip("long double is double here")
    argument, array, enter = DOORS[door]
    if (door, kind) == ("Box", "long double"):
        enter(NO_NUMBERS[kind](array))  # there is no bound, then
        return
    with pytest.raises(InputError, match=rf"^{argument}(: expected .*numbers| must be finite)"):
        enter(NO_NUMBERS[kind](array))


class Failing:
    """Fails as a number, as an array, as a list and in its own description."""

    def _fail(self, *_, **__):
        raise ZeroDivisionError("this object fails")

    __float__ = __index__ = __len__ = __iter__ = __getitem__ = __repr__ = __str__ = _fail
    __hash__ = None


class FailingArray(Failing):
    __array__ = Failing._fail


class KeylessArray(Failing):
    def __array__(self, dtype=None, copy=None):
        raise KeyError("none")


class Arrayless:
    def __array__(self, dtype=None, copy=None):
        return "no array"


def of_pandas(array):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.atleast_2d(array).astype(object))
    frame.iloc[-1, -1] = None
    frame = frame.astype("Float64")
    return frame if array.ndim > 1 else frame.iloc[-1]


def with_object(array):
    made = array.astype(object)
    made.flat[-1] = Failing()
    return made


ODD = {
    "an object that fails": lambda a: Failing(),
    "an array that fails": lambda a: FailingArray(),
    "an array without a key": lambda a: KeylessArray(),
    "no array after all": lambda a: Arrayless(),
    "objects that fail": with_object,
    "items that fail": lambda a: [Failing()] * len(a),
    "missing entries": of_pandas,
    "a masked row": lambda a: [np.ma.masked, *a[1:]],
    "all masked": lambda a: np.ma.masked_all(a.shape),
    "None among numbers": lambda a: [None, *a.tolist()[1:]],
    "a mapping": lambda a: {"atoms": a},
    "keys": lambda a: {"a": 1, "b": 2}.keys(),
    "a set": lambda a: {1.0, 2.0},
    "bytes": lambda a: a.tobytes(),
    "a bytearray": lambda a: bytearray(a.tobytes()),
    "a text": lambda a: "atoms",
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("door", DOORS)
def test_what_fails_is_missing_or_is_no_array_is_refused_by_name(door, kind):
    argument, array, enter = DOORS[door]
    with pytest.raises(InputError, match=rf"^{argument}: expected ") as caught:
        enter(ODD[kind](array))
    assert "object at 0x" not in str(caught.value)


def test_a_value_that_cannot_say_what_it_is_can_still_be_named():
    assert shown(Failing()) == "a Failing"
    assert shown(Failing) == "the class Failing"
    assert " at 0x" not in shown(object())


@pytest.mark.parametrize("make", [Gabor, lambda scales: Gabor(99, scales)])
def test_lengths_that_fail_are_refused(make):
    with pytest.raises(InputError, match=r"^(scales|length): expected "):
        make(Failing())


def test_groups_that_fail_are_refused():
    with pytest.raises(InputError, match=r"^groups: expected a list"):
        Groups(Failing())


@pytest.mark.parametrize("points", [2**70, 10**400])
def test_a_path_of_more_points_than_anyone_counts_is_refused(points):
    with pytest.raises(InputError, match=r"^n_lambdas: expected "):
        path(LeastSquares(ROWS, ROWS[:, 0]), pursuit.Coordinates(4), n_lambdas=points)


# What scikit-learn leaves to its own words -----------------------------------------------------

CHOSEN = {
    "PursuitRegressorCV": lambda **o: estimators.PursuitRegressorCV(**o).fit(SIGNALS, Y),
    "PursuitClassifierCV": lambda **o: estimators.PursuitClassifierCV(**o).fit(SIGNALS, LABELS),
    "OrthogonalMatchingPursuitCV": lambda **o: estimators.OrthogonalMatchingPursuitCV(**o).fit(
        SIGNALS, Y
    ),
}
NO_FOLDS = {
    "none": [],
    "an iterator of none": iter(()),
    "a text": "nonsense",
    "nan": float("nan"),
    "more than samples": 99,
    "one": 1,
    "no pairs": [1, 2],
    "triples": [([0], [1], [2])],
    "an empty part": [([0, 1, 2], [])],
    "nothing to learn from": [([], [0, 1, 2])],
    "samples beyond": [([0, 1, 2], [99])],
    "half samples": [([0.5, 1.5], [3])],
    "an object that fails": Failing(),
}


@pytest.mark.parametrize("kind", NO_FOLDS)
@pytest.mark.parametrize("model", CHOSEN)
def test_folds_that_are_none_are_refused(model, kind):
    with pytest.raises(InputError, match=r"^cv: expected "):
        CHOSEN[model](cv=NO_FOLDS[kind])


@pytest.mark.parametrize("model", CHOSEN)
def test_masks_and_numbers_give_the_same_folds(model):
    left_out = np.arange(9) % 3
    masks = [(left_out != k, left_out == k) for k in range(3)]
    numbers = [tuple(map(np.flatnonzero, pair)) for pair in masks]
    first, second = CHOSEN[model](cv=masks), CHOSEN[model](cv=numbers)
    assert np.array_equal(first.coef_, second.coef_)


@pytest.mark.parametrize("value", [0, "two", 1.5, [], {1, 2}])
@pytest.mark.parametrize("model", CHOSEN)
def test_a_number_of_jobs_that_is_none_is_refused(model, value):
    with pytest.raises(InputError, match=r"^n_jobs: expected "):
        CHOSEN[model](n_jobs=value, cv=3)


@pytest.mark.parametrize("value", ["nonsense", 3, [], np.array(2), Failing()])
@pytest.mark.parametrize("model", ["PursuitRegressorCV", "PursuitClassifierCV"])
def test_a_score_that_is_none_is_refused(model, value):
    with pytest.raises(InputError, match=r"^scoring: expected "):
        CHOSEN[model](scoring=value, cv=3)


@pytest.mark.parametrize("value", ["3", [None], 1.5, Failing()])
def test_a_random_state_that_is_none_is_refused(value):
    with pytest.raises(InputError, match=r"^random_state: expected "):
        estimators.PursuitDictionary(2, random_state=value).fit(SIGNALS)


@pytest.mark.parametrize("value", [np.array([1, 2]), "3", 0, 1.5])
def test_a_number_of_steps_that_is_none_is_refused(value):
    with pytest.raises(InputError, match=r"^max_iter: expected "):
        estimators.OrthogonalMatchingPursuitCV(max_iter=value).fit(SIGNALS, Y)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("atoms", lambda value: pursuit.Sampling(value)),
        ("norm", lambda value: pursuit.geometry.radius(Dictionary(ROWS), norm=value)),
        ("kappa", lambda value: solve(F, ROWS, pursuit.methods.blended(kappa=value))),
    ],
)
def test_an_object_that_fails_is_named_by_its_class(argument, call):
    with pytest.raises(InputError, match=rf"^{argument}: expected .*got a Failing$"):
        call(Failing())


FITTED = {
    "regressor": lambda X, y: estimators.PursuitRegressor().fit(X, y),
    "classifier": lambda X, y: estimators.PursuitClassifier().fit(X, y),
    "pursuit": lambda X, y: estimators.OrthogonalMatchingPursuit().fit(X, y),
    "coder": lambda X, y: estimators.PursuitCoder(ROWS).fit(X).transform(X),
}


@pytest.mark.parametrize("kind", [*NO_NUMBERS, "an array that fails", "an array without a key"])
@pytest.mark.parametrize("model", FITTED)
def test_models_refuse_numbers_that_only_signal_and_arrays_that_fail(model, kind):
    y = LABELS if model == "classifier" else Y
    X = (NO_NUMBERS | ODD)[kind](SIGNALS)
    with pytest.raises(ValueError, match=r"\bX\b"):
        FITTED[model](X, y)
    if model != "coder":
        with pytest.raises(ValueError, match=r"\by\b|label|Unknown"):
            FITTED[model](SIGNALS, (NO_NUMBERS | ODD)[kind](y))


def test_answers_beyond_the_type_of_the_features_are_refused():
    with pytest.raises(InputError, match=r"^y must be zero or .* to 1e\+15, got inf; rescale"):
        estimators.PursuitRegressor().fit(SIGNALS.astype(np.float32), Y * 1e60)


class Large:
    """An array that does not fit."""

    def __array__(self, *_, **__):
        raise MemoryError("unable to allocate 3 TiB")


@pytest.mark.parametrize("door", ["SquaredDistance", "signals", "regressor"])
def test_memory_that_is_not_there_is_no_fault_of_an_argument(door):
    with pytest.raises(MemoryError, match="3 TiB"):
        FITTED[door](Large(), Y) if door in FITTED else DOORS[door][2](Large())
