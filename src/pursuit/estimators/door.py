"""What every estimator checks, once, in one way."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import issparse
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from pursuit.base.errors import InputError
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
        return validate_data(self, _sound("X", X), reset=reset, **self._kinds)

    def _pairs(self, X: Any, y: Any, *, numeric: bool = True, **checks: Any) -> tuple[Any, Array]:
        """X and y to be fitted to; numbers of y are of the type of X."""
        X, y = _sound("X", X), _sound("y", y)
        X, y = validate_data(self, X, y, y_numeric=numeric, **self._kinds, **checks)
        return X, np.asarray(y, X.dtype) if numeric else np.asarray(y)

    @property
    def _kinds(self) -> dict[str, Any]:
        accepted = ("csr", "csc") if self.takes_sparse else False
        return {"dtype": FLOATS, "accept_sparse": accepted}


def numbers(name: str, value: Any, dtype: Any = FLOATS, **checks: Any) -> Any:
    """An argument as an array, checked as scikit-learn does."""
    return check_array(_sound(name, value), dtype=dtype, input_name=name, **checks)


def _sound(name: str, value: Any) -> Any:
    """`value`, without what scikit-learn would not see: masks, and indices that point elsewhere."""
    refuse_mask(name, value)
    return sparse_array(name, value) if issparse(value) and value.ndim == 2 else value


def sample_weights(sample_weight: Any, X: Any) -> Array | None:
    """The weights of the rows of X; None where all are alike."""
    if sample_weight is None:
        return None
    refuse_mask("sample_weight", sample_weight)
    weights: Array = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
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


def threads(n_jobs: int | None) -> int:
    """As many as scikit-learn would use processes: one unless something else is said."""
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
        raise InputError(f"n_jobs: expected None or an integer other than 0, got {shown(n_jobs)}")
    number: int = effective_n_jobs(n_jobs)
    return number


def seed(random_state: Any) -> int:
    """An integer, or one drawn from a generator of scikit-learn's kinds."""
    if isinstance(random_state, (int, np.integer)):
        return count("random_state", random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
