"""scikit-learn's functions for orthogonal matching pursuit, with its signatures."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular

from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range
from pursuit.base.validation import Array, real_array
from pursuit.estimators.door import numbers
from pursuit.estimators.orthogonal import PursuitLimits, coefficient_path


def orthogonal_mp(
    X: Any,
    y: Any,
    *,
    n_nonzero_coefs: int | None = None,
    tol: float | None = None,
    precompute: bool | str = False,
    copy_X: bool = True,
    return_path: bool = False,
    return_n_iter: bool = False,
    unit_atoms: bool = True,
    positive: bool = False,
) -> Any:
    """Orthogonal matching pursuit: a small ‖y − Xw‖² with few w_j ≠ 0, for each column of y.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The columns are the atoms, of any scale.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        The targets.
    n_nonzero_coefs : int, default=None
        The most non-zero coefficients of a target, ignored if `tol` is given. Where neither is, a
        tenth of the features, at least 1. More than there are features is clipped with a warning.
    tol : float, default=None
        The largest **squared** norm of a residual.
    precompute, copy_X
        Taken for the sake of scikit-learn's code: whether a Gram matrix pays is decided by its
        cost, and X is never changed.
    return_path : bool, default=False
        The coefficients after each atom, along a last axis.
    return_n_iter : bool, default=False
        The number of steps as well.
    unit_atoms : bool, default=True
        Compare columns at unit norm. False: as they are, and the choices are scikit-learn's.
    positive : bool, default=False
        Coefficients of at least zero.

    Returns
    -------
    coef : array of shape (n_features,) or (n_features, n_targets)
        With `return_path` (n_features, n_steps) or (n_features, n_targets, n_steps).
    n_iters : int or list of int
        If `return_n_iter`.
    """
    X = numbers("X", X)
    y = numbers("y", y, X.dtype, ensure_2d=False)
    if y.ndim > 2 or len(y) != len(X):
        raise InputError(f"y: expected {len(X)} rows, as many as X has, got shape {y.shape}")
    check_range("X", X.T, "feature")
    check_range("y", y)
    limits = PursuitLimits.checked(n_nonzero_coefs, tol, X.shape[1], unit_atoms, positive)
    return _answer(X, y.reshape(len(y), -1).T, limits, return_path, return_n_iter)


def orthogonal_mp_gram(
    Gram: Any,
    Xy: Any,
    *,
    n_nonzero_coefs: int | None = None,
    tol: float | None = None,
    norms_squared: Any = None,
    copy_Gram: bool = True,
    copy_Xy: bool = True,
    return_path: bool = False,
    return_n_iter: bool = False,
    unit_atoms: bool = True,
    positive: bool = False,
) -> Any:
    """`orthogonal_mp` where only XᵀX and Xᵀy are known.

    Parameters
    ----------
    Gram : array of shape (n_features, n_features)
        XᵀX.
    Xy : array of shape (n_features,) or (n_features, n_targets)
        Xᵀy.
    norms_squared : array of shape (n_targets,), default=None
        ‖y‖² of each target; `tol` needs it.
    copy_Gram, copy_Xy
        Taken for the sake of scikit-learn's code: neither is ever changed.
    n_nonzero_coefs, tol, return_path, return_n_iter, unit_atoms, positive
        Those of `orthogonal_mp`.

    Returns
    -------
    coef, n_iters
        Those of `orthogonal_mp`.

    Notes
    -----
    Of all X with this Gram matrix a Cholesky factor is one: with XᵀX = RᵀR the columns of R and
    the target R⁻ᵀ(Xᵀy) have the same inner products as those that are not known.
    """
    gram = numbers("Gram", Gram)
    moments = numbers("Xy", Xy, gram.dtype, ensure_2d=False)
    n = len(gram)
    if gram.shape != (n, n) or moments.ndim > 2 or len(moments) != n:
        raise InputError(
            f"Gram, Xy: expected a square matrix and as many rows, got {gram.shape}, "
            f"{moments.shape}"
        )
    check_range("Gram", gram)
    check_range("Xy", moments)
    limits = PursuitLimits.checked(n_nonzero_coefs, tol, n, unit_atoms, positive)
    columns, targets = _factored(gram, moments.reshape(n, -1))
    if limits.tol is not None:
        columns, targets = _with_hidden(columns, targets, norms_squared)
    return _answer(columns, targets, limits, return_path, return_n_iter)


def _factored(gram: Array, moments: Array) -> tuple[Array, Array]:
    """Features with this Gram matrix, and targets (rows) with these inner products with them.

    The factor is of the columns at unit norm, so that none is too short to be seen.
    """
    norms = np.sqrt(np.maximum(np.diag(gram), 0))
    safe = np.where(norms > 0, norms, 1)
    (pstrf,) = get_lapack_funcs(("pstrf",), (gram,))
    factor, order, rank, _ = pstrf(gram / safe / safe[:, None])
    order, R = order - 1, np.triu(factor)[:rank]
    columns = np.empty_like(R)
    columns[:, order] = R
    seen = (moments / safe[:, None])[order[:rank]]
    targets = solve_triangular(R[:, :rank], seen, trans="T", check_finite=False).T
    return columns * norms, targets


def _with_hidden(columns: Array, targets: Array, norms_squared: Any) -> tuple[Array, Array]:
    """One more entry: what of each target no column sees."""
    if norms_squared is None:
        raise InputError("norms_squared: expected ‖y‖² of each target, which tol needs, got None")
    norms2 = np.atleast_1d(real_array("norms_squared", norms_squared, minimum=0)).astype(np.float64)
    if norms2.shape != (len(targets),):
        raise InputError(
            f"norms_squared: expected one for each of {len(targets)} targets, got {norms2.shape}"
        )
    hidden = np.sqrt(np.maximum(norms2 - np.sum(targets**2, axis=1), 0)).astype(targets.dtype)
    nothing = np.zeros((1, columns.shape[1]), columns.dtype)
    return np.concatenate([columns, nothing]), np.column_stack([targets, hidden])


def _answer(
    columns: Array, targets: Array, limits: PursuitLimits, return_path: bool, return_n_iter: bool
) -> Any:
    """In the shapes that scikit-learn gives."""
    live = np.flatnonzero(columns.any(axis=0))
    if not live.size:
        raise InputError("X: expected a column that is not zero, got zeros alone")
    seen = columns[:, live]
    found, steps = limits.fit(seen, targets)
    if return_path:
        paths = [coefficient_path(seen, target, limits) for target in targets]
        coef = np.zeros((columns.shape[1], len(targets), max(map(len, paths))), columns.dtype)
        for k, path in enumerate(paths):
            coef[live, k, : len(path)] = path.T
            # A target that needs fewer atoms than another keeps its last coefficients.
            coef[live, k, len(path) :] = path[-1:].T
    else:
        coef = np.zeros((columns.shape[1], len(targets)), columns.dtype)
        coef[live] = found.T
    if len(targets) == 1:
        return (coef[:, 0], steps[0]) if return_n_iter else coef[:, 0]
    return (coef, steps) if return_n_iter else coef
