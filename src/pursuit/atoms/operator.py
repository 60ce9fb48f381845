"""A finite set that is known by its products alone: the columns of a linear operator."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, FiniteAtoms, Unit
from pursuit.base.errors import InputError
from pursuit.base.scaling import check_nonzero, check_range, norm, row_norms
from pursuit.base.sparse import sparse_array
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array, extent, float_type, real_array

PROBED = 2**16
"""Atoms up to which norms that are not given are found, with one product each."""
TOGETHER = 32
"""Atoms that are made at once."""
ADJOINT = 1e-3
"""The share by which ⟨Aw, d⟩ and ⟨w, Aᵀd⟩ may differ, whatever precision an operator works in."""

CHECKED = 5
"""Atoms whose norms are compared with those that were given."""


class Operator(FiniteAtoms):
    """A = {A e_1, …, A e_n} for an operator A that makes signals of coefficients.

    Everything is done with products by A and Aᵀ: a transform that is fast makes a step fast. Those
    of PyLops are such operators.

    Parameters
    ----------
    operator
        A `scipy.sparse.linalg.LinearOperator` of shape (d, n), or anything that
        `scipy.sparse.linalg.aslinearoperator` makes one of: w ↦ Σ w_j z_j.
    shape
        Of an atom, with d entries; (d,) where not given.
    norms
        ‖z_j‖ for each atom, or one number for all. Where not given they are found with a product
        for each atom; where given, those of a few atoms are compared.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse.linalg import LinearOperator
    >>> from pursuit import Operator
    >>> def running_sum(w):
    ...     return np.cumsum(w)
    >>> def from_the_end(d):
    ...     return np.cumsum(d[::-1])[::-1]
    >>> steps = LinearOperator((100, 100), matvec=running_sum, rmatvec=from_the_end, dtype=float)
    >>> Operator(steps)
    Operator: 100 atoms of shape (100,)
    """

    def __init__(
        self,
        operator: Any,
        shape: int | tuple[int, ...] | None = None,
        *,
        norms: object | None = None,
    ) -> None:
        self.operator = _linear(operator)
        d, n = (int(size) for size in self.operator.shape)
        sizes = (d,) if shape is None else shape
        self.shape = tuple(
            extent("shape", s) for s in (sizes if isinstance(sizes, tuple) else (sizes,))
        )
        if int(np.prod(self.shape)) != d:
            raise InputError(f"shape: expected {d} entries, as A gives, got {self.shape}")
        self.dtype = float_type(np.dtype(self.operator.dtype))
        self._n, self._given = n, None if norms is None else _positive(norms, n, self.dtype)
        self._check_adjoint()
        if self._given is not None:
            self._check_norms()

    def _check_adjoint(self) -> None:
        rng = np.random.default_rng(0)
        w, d = rng.standard_normal(self._n), rng.standard_normal(self.shape)
        forth, back = self._products(w, d)
        if not (np.isfinite(forth).all() and np.isfinite(back).all()):
            raise InputError("operator: its products with finite numbers are not finite")
        check_range("operator", forth, dtype=self.dtype)
        one, other = float(np.vdot(forth, d)), float(w @ back)
        if abs(one - other) > ADJOINT * max(norm(forth) * norm(d), norm(w) * norm(back)):
            raise InputError(
                f"operator: ⟨Aw, d⟩ = {one:.6g} and ⟨w, Aᵀd⟩ = {other:.6g} differ; expected an "
                "rmatvec that is the adjoint of matvec"
            )

    def _products(self, w: Array, d: Array) -> tuple[Array, Array]:
        """Aw and Aᵀd, of an operator of which nothing is known yet."""
        try:
            forth, back = self.combine(w), self.correlate(d)
        except NotImplementedError:
            raise InputError(
                "operator: it has no rmatvec; expected the adjoint of matvec"
            ) from None
        except ValueError as error:
            raise InputError(
                f"operator: of shape {self.operator.shape}, its products fail ({error}); expected "
                "a matvec and an rmatvec of that shape"
            ) from error
        if np.iscomplexobj(forth) or np.iscomplexobj(back):
            raise InputError("operator: expected one of real numbers, its products are complex")
        return forth, back

    def _check_norms(self) -> None:
        """Compare the norms that were given with those of a few atoms."""
        for z in np.unique(np.linspace(0, self._n - 1, CHECKED).astype(int)).tolist():
            found, given = norm(self.vector(z)), float(self.norms[z])
            if abs(found - given) > ADJOINT * given:
                raise InputError(
                    f"norms: atom {z} has the norm {found:.6g}, got {given:.6g}; expected those of "
                    "the atoms, or none to have them found"
                )

    def __len__(self) -> int:
        return self._n

    def __repr__(self) -> str:
        return f"Operator: {len(self):,} atoms of shape {self.shape}"

    @cached_property
    def digest(self) -> bytes:
        """A hash of what the operator does to two vectors: of its insides nothing is known."""
        rng = np.random.default_rng(0)
        forth, back = rng.standard_normal(self._n), rng.standard_normal(self.shape)
        digest = blake2b(f"{self.shape}{self._n}{self.dtype.str}".encode(), digest_size=16)
        for product in (self.combine(forth), self.correlate(back)):
            digest.update(np.ascontiguousarray(product).tobytes())
        return digest.digest()

    @cached_property
    def norms(self) -> Array:
        if self._given is not None:
            return self._given
        if self._n > PROBED:
            raise InputError(
                f"norms: to find those of {self._n:,} atoms takes as many products; expected them, "
                "or one number for all"
            )
        norms = np.concatenate(
            [row_norms(self.some(j, j + TOGETHER)) for j in range(0, self._n, TOGETHER)]
        )
        check_range("operator", norms[:, None], "atom")
        check_nonzero("operator", "atom", norms)
        return norms

    def some(self, first: int, last: int) -> Array:
        last = min(last, self._n)
        basis = np.zeros((self._n, last - first), self.dtype)
        basis[np.arange(first, last), np.arange(last - first)] = 1
        rows: Array = np.ascontiguousarray(self.operator.matmat(basis).T, self.dtype)
        return rows

    def _stacked(self, first: int, last: int) -> Array:
        last = min(last, self._n)
        some = [self.some(j, min(j + 1, last)) for j in range(first, last)]
        return np.concatenate(some)

    def vector(self, z: Atom) -> Array:
        row: Array = self.some(int(z), int(z) + 1)[0]
        return row.reshape(self.shape)

    def inner(self, d: Array, z: Atom) -> float:
        return float(np.vdot(d, self.vector(z)))

    def correlate(self, d: Array) -> Array:
        return np.asarray(self.operator.rmatvec(d.reshape(-1))).reshape(-1)

    def combine(self, weights: Array) -> Array:
        return np.asarray(self.operator.matvec(weights)).reshape(self.shape)

    def correlate_some(self, d: Array, places: Array) -> Array:
        return self.correlate(d)[places]

    def combine_some(self, weights: Array, places: Array) -> Array:
        spread = np.zeros(self._n, weights.dtype)
        spread[places] = weights
        return self.combine(spread)

    def astype(self, dtype: np.dtype[Any]) -> Operator:
        if self.dtype == dtype:
            return self
        other = object.__new__(Operator)
        other.operator, other.shape, other._n = self.operator, self.shape, self._n
        other.dtype, other.penalty = np.dtype(dtype), self.penalty
        other._given = None if self._given is None else self._given.astype(dtype)
        return other

    def unit(self) -> Unit:
        if np.abs(self.norms - 1).max() <= tolerances(self.dtype).equal:
            return Unit(self, None)
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import aslinearoperator

        scaled = self.operator @ aslinearoperator(diags_array(1 / self.norms))
        return Unit(Operator(scaled, self.shape, norms=1.0), self.norms)


def _linear(operator: Any) -> Any:
    """The operator, of real numbers."""
    from scipy.sparse import issparse
    from scipy.sparse.linalg import aslinearoperator

    if issparse(operator):
        operator = sparse_array("operator", operator)
    elif not (hasattr(operator, "matvec") or np.isscalar(operator)):
        operator = real_array("operator", operator, ndim=2)
    try:
        linear = aslinearoperator(operator)
    except (TypeError, ValueError):
        raise InputError(
            "operator: expected a LinearOperator of shape (entries of a signal, number of atoms), "
            f"got {type(operator).__name__}"
        ) from None
    if 0 in linear.shape:
        raise InputError(f"operator: expected at least one atom and entry, got {linear.shape}")
    if np.dtype(linear.dtype or np.float64).kind == "c":
        raise InputError("operator: expected one of real numbers, got complex ones")
    return linear


def _positive(norms: object, n: int, dtype: np.dtype[Any]) -> Array:
    array = np.atleast_1d(real_array("norms", norms, minimum=0))
    check_range("norms", array, dtype=dtype)
    array = array.astype(dtype)
    if array.ndim > 1:
        raise InputError(f"norms: expected a number or a row of them, got shape {array.shape}")
    if len(array) not in (1, n) or not (array > 0).all():
        raise InputError(
            f"norms: expected a positive number for all or each of the {n} atoms, got {len(array)} "
            f"from {array.min():g} to {array.max():g}"
        )
    return np.broadcast_to(array, (n,)).copy()
