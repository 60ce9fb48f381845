"""What every estimator checks, once, in one way."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import issparse
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range
from pursuit.base.sparse import sparse_array
from pursuit.base.validation import Array, count, refuse_mask, shown

FLOATS = (np.float64, np.float32)
"""Types that stay what they are; others become the first."""


class Checked:
    """A part of every estimator: what comes in is checked here."""

    n_features_in_: int
    takes_sparse = False
    """Whether X may be a sparse array."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = self.takes_sparse
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """X, a sample in each row; `reset` where the estimator is fitted to it."""
        if not reset:
            check_is_fitted(self)
        with checking("X"):
            X = validate_data(self, _sound("X", X), reset=reset, **self._kinds)
        check_range("X", X, "sample")
        return X

    def _pairs(self, X: Any, y: Any, *, numeric: bool = True, **checks: Any) -> tuple[Any, Array]:
        """X and y to be fitted to; numbers of y are of the type of X."""
        with checking("X, y"):
            X, y = _sound("X", X), _sound("y", y)
            X, y = validate_data(self, X, y, y_numeric=numeric, **self._kinds, **checks)
            target = np.asarray(y, X.dtype) if numeric else np.asarray(y)
        check_range("X", X.T, "feature")
        if numeric:
            check_range("y", target)
        return X, target

    @property
    def _kinds(self) -> dict[str, Any]:
        accepted = ("csr", "csc") if self.takes_sparse else False
        return {"dtype": FLOATS, "accept_sparse": accepted}


def numbers(name: str, value: Any, dtype: Any = FLOATS, **checks: Any) -> Any:
    """An argument as an array, checked as scikit-learn does."""
    with checking(name):
        return check_array(_sound(name, value), dtype=dtype, input_name=name, **checks)


@contextmanager
def checking(name: str) -> Iterator[None]:
    """Let scikit-learn say what is wrong with arrays, and not what an object fails with."""
    try:
        # What no type of ours has, and a signalling NaN, are infinite or NaN to it, no warning.
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (TypeError, ValueError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"{name}: expected arrays of numbers ({error!s:.120})") from error


def _sound(name: str, value: Any) -> Any:
    """`value`, without what scikit-learn would not see: masks, and indices that point elsewhere."""
    refuse_mask(name, value)
    if issparse(value):
        return sparse_array(name, value) if value.ndim == 2 else value
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        # scikit-learn would make float64 of float32 in a foreign byte order.
        return value.astype(value.dtype.newbyteorder("="), copy=False)
    return value


def sample_weights(sample_weight: Any, X: Any) -> Array | None:
    """The weights of the rows of X; None where all are alike."""
    if sample_weight is None:
        return None
    refuse_mask("sample_weight", sample_weight)
    with checking("sample_weight"):
        weights: Array = _check_sample_weight(
            sample_weight, X, dtype=X.dtype, ensure_non_negative=True
        )
    check_range("sample_weight", weights)
    if not weights.any():
        raise InputError("sample_weight: expected numbers that are not all zero, got zeros alone")
    return weights


def clipped(name: str, value: int, most: int, what: str) -> int:
    """`value`, and `most` with a warning where it is above: a grid search should not end there."""
    wanted = count(name, value, minimum=1)
    if wanted > most:
        warnings.warn(
            f"{name}={wanted} is more than the {what}: {most} is taken", UserWarning, stacklevel=3
        )
    return min(wanted, most)


def jobs(n_jobs: Any) -> int | None:
    """`n_jobs` as joblib takes it."""
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
        raise InputError(f"n_jobs: expected None or an integer other than 0, got {shown(n_jobs)}")
    return None if n_jobs is None else int(n_jobs)


def threads(n_jobs: int | None) -> int:
    """As many as scikit-learn would use processes: one unless something else is said."""
    number: int = effective_n_jobs(jobs(n_jobs))
    return number


def folds(cv: Any, X: Any, y: Array, *, classifier: bool = False) -> list[tuple[Array, Array]]:
    """The samples that are learned from and those that are left out, in turn."""
    wrong = f"cv: expected a number of folds, or what gives them, got {shown(cv)}"
    try:
        splitter = check_cv(cv, y, classifier=classifier)
    except Exception:
        raise InputError(wrong) from None
    try:
        parts = [tuple(part) for part in splitter.split(X, y)]
    except Exception as error:  # of scikit-learn, or of a splitter that somebody wrote
        raise InputError(f"{wrong} ({error!s:.120})") from error
    if not parts:
        raise InputError("cv: expected at least one fold, got none")
    if any(len(part) != 2 for part in parts):
        raise InputError("cv: expected folds of two parts, samples to learn from and to leave out")
    samples = np.arange(len(y))
    return [(_chosen(train, samples), _chosen(test, samples)) for train, test in parts]


def _chosen(part: Any, samples: Array) -> Array:
    """A part of the samples, which is not empty, by their numbers."""
    try:
        chosen: Array = samples[np.asarray(part)]
    except Exception:
        raise InputError(f"cv: expected numbers of samples, got {shown(part)}") from None
    if chosen.ndim != 1 or not chosen.size:
        raise InputError(f"cv: expected numbers of samples in each part, got {shown(part)}")
    return chosen


def seed(random_state: Any) -> int:
    """An integer, or one drawn from a generator of scikit-learn's kinds."""
    if isinstance(random_state, (int, np.integer)):
        return count("random_state", random_state)
    try:
        generator = check_random_state(random_state)
    except Exception:  # also of an object that fails to say what it is
        raise InputError(
            f"random_state: expected an integer, a RandomState or None, got {shown(random_state)}"
        ) from None
    return int(generator.randint(2**31 - 1))
