"""Sparse codes as a step of a pipeline: over a dictionary that is given, or a learned one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pursuit.atoms.cone import Cone
from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range
from pursuit.base.validation import Array, count, flag, shown
from pursuit.encoding import Encoder
from pursuit.estimators.door import Checked, clipped, numbers, seed, threads
from pursuit.learning import learn


class Coding(Checked, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Codes over `components_`: what coders have in common.

    `fit` of a subclass ends with `_prepare(atoms)`, so that later calls share what is prepared.
    """

    takes_sparse = True
    components_: Array
    method: str

    def _prepare(self, atoms: Array, method: str, **limits: Any) -> None:
        """Make the encoder of all later calls."""
        flag("sparse_output", self.sparse_output)
        given = Cone(atoms) if flag("positive", self.positive) else atoms
        self.encoder_ = Encoder(
            given, method, rtol=self.rtol, atol=self.atol, threads=threads(self.n_jobs), **limits
        )
        self.components_ = self.encoder_.matrix

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Any:
        """The codes of the rows of X: ``transform(X) @ components_ ≈ X``.

        Returns
        -------
        array of shape (n_samples, n_atoms)
            Sparse if `sparse_output`, else dense.
        """
        X = self._rows(X, reset=False)
        codes = self.encoder_(self._dense_parts(X) if hasattr(X, "tocsr") else X, progress=False)
        return codes.matrix if self.sparse_output else codes.toarray()

    def _dense_parts(self, X: Any) -> Iterator[Array]:
        """A sparse X, as many dense rows at a time as are encoded together."""
        rows, size = X.tocsr(), self.encoder_.block
        return (rows[first : first + size].toarray() for first in range(0, rows.shape[0], size))

    def inverse_transform(self, X: Any) -> Array:
        """The rows that codes stand for: ``X @ components_``."""
        check_is_fitted(self)
        codes = numbers("X", X, accept_sparse=True)
        check_range("X", codes)
        if codes.shape[1] != len(self.components_):
            raise InputError(
                f"X: expected codes over {len(self.components_)} atoms, got shape {codes.shape}"
            )
        rows: Array = codes @ self.components_.astype(codes.dtype, copy=False)
        return rows


class PursuitCoder(Coding):
    """Sparse codes over a fixed dictionary, by `pursuit.encode`.

    Parameters
    ----------
    dictionary : array of shape (n_atoms, n_features), default=None
        An atom in each row, of any scale but zero. None: the rows that are fitted to, those that
        are zero left out.
    method : str, default="orthogonal"
        A method of `pursuit.encode`: ``"orthogonal"``, ``"matching-pursuit"``, ….
    n_nonzero : int, default=None
        The most atoms of a code; more than there are is clipped with a warning. Where no stopping
        rule is given at all, a tenth of the features, at least 1.
    max_steps : int, default=None
        The most steps for a row.
    rtol, atol : float, default=None
        Stop when the residual norm is at most `rtol` times the norm of the row, or at most `atol`.
    positive : bool, default=False
        Coefficients of at least zero.
    unit_atoms : bool, default=True
        Choose among atoms divided by their norms; False: among the atoms as they are.
    sparse_output : bool, default=False
        Whether `transform` gives a sparse array.
    n_jobs : int, default=None
        Threads; None is one, −1 all cores. It changes no bit of the result.
    random_state : int, RandomState or None, default=None
        Of the methods with random directions.

    Attributes
    ----------
    components_ : array of shape (n_atoms, n_features)
        The atoms, as they are.
    encoder_ : pursuit.Encoder
        What is prepared once for all calls of `transform`.
    n_features_in_, feature_names_in_
        What was seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.estimators import PursuitCoder
    >>> coder = PursuitCoder(3 * np.eye(4), n_nonzero=1)
    >>> coder.fit_transform([[0.0, 6.0, 0.0, 1.0]]).tolist()
    [[0.0, 2.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        dictionary: Any = None,
        *,
        method: str = "orthogonal",
        n_nonzero: int | None = None,
        max_steps: int | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        positive: bool = False,
        unit_atoms: bool = True,
        sparse_output: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.dictionary = dictionary
        self.method = method
        self.n_nonzero = n_nonzero
        self.max_steps = max_steps
        self.rtol = rtol
        self.atol = atol
        self.positive = positive
        self.unit_atoms = unit_atoms
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Prepare the dictionary; of X the width is looked at, and its rows if there is none."""
        X = self._rows(X, reset=True)
        atoms = self._given(X.shape[1]) if self.dictionary is not None else _rows_as_atoms(X)
        k, steps = self.n_nonzero, self.max_steps
        self._prepare(
            atoms,
            self.method,
            n_nonzero=None if k is None else clipped("n_nonzero", k, len(atoms), "atoms there are"),
            max_iter=None if steps is None else count("max_steps", steps, minimum=1),
            rng=seed(self.random_state),
            unit_atoms=self.unit_atoms,
        )
        return self

    def _given(self, features: int) -> Array:
        atoms: Array = numbers("dictionary", self.dictionary)
        check_range("dictionary", atoms, "atom")
        if atoms.shape[1] != features:
            raise InputError(
                f"dictionary: expected atoms of {features} entries, as many as X has features, "
                f"got shape {atoms.shape}"
            )
        return atoms


def _rows_as_atoms(X: Any) -> Array:
    rows: Array = X.toarray() if hasattr(X, "toarray") else X
    live = rows.any(axis=1)
    if not live.any():
        raise InputError("X: expected a row that is not zero, to be an atom, got zeros alone")
    return rows[live]


class PursuitDictionary(Coding):
    """A dictionary learned from the rows of X, by `pursuit.learn`, and codes over it.

    Parameters
    ----------
    n_components : int, default=None
        Atoms; None: as many as `dict_init` has, else as there are features, or samples if these are
        fewer.
    n_nonzero : int, default=None
        Atoms of a code, in learning and in `transform`; a tenth of the features, at least 1, where
        it is not given. More than there are atoms is clipped with a warning.
    method : {"online", "aksvd", "mod"}, default="online"
        How to learn; see `pursuit.learn`. `partial_fit` learns online.
    passes : int, default=3
        How often `fit` learns from each row.
    tol : float, default=None
        Stop when a pass lowers the objective by less than this share.
    dict_init : array of shape (n_components, n_features), default=None
        The first atoms; rows of X drawn at random where not given.
    rtol, atol : float, default=None
        `transform` stops when the residual norm is at most `rtol` times the norm of the row, or at
        most `atol`.
    positive : bool, default=False
        Coefficients of at least zero, and atoms without negative entries.
    sparse_output : bool, default=False
        Whether `transform` gives a sparse array.
    n_jobs : int, default=None
        Threads; None is one, −1 all cores. It changes no bit of the result.
    random_state : int, RandomState or None, default=None
        Of the first atoms, the order of rows and the draws of new atoms.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Atoms, unit rows.
    n_nonzero_ : int
        Atoms of a code.
    trace_ : LearningTrace
        What `fit` saw on its way: objective, share left out, atoms renewed.
    n_iter_ : int
        Batches or passes in `fit`, calls of `partial_fit` since.
    encoder_ : pursuit.Encoder
        What is prepared once for all calls of `transform`.
    n_features_in_, feature_names_in_
        What was seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.estimators import PursuitDictionary
    >>> X = np.random.default_rng(0).standard_normal((500, 16))
    >>> learner = PursuitDictionary(32, n_nonzero=3, random_state=0).fit(X)
    >>> learner.components_.shape, int(np.count_nonzero(learner.transform(X[:1])))
    ((32, 16), 3)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_nonzero: int | None = None,
        method: str = "online",
        passes: int = 3,
        tol: float | None = None,
        dict_init: Any = None,
        rtol: float | None = None,
        atol: float | None = None,
        positive: bool = False,
        sparse_output: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.method = method
        self.passes = passes
        self.tol = tol
        self.dict_init = dict_init
        self.rtol = rtol
        self.atol = atol
        self.positive = positive
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all rows of X, anew."""
        from pursuit.learning.continued import after

        X, n, k, first = self._begin(X)
        drawn, crew = seed(self.random_state), threads(self.n_jobs)
        learned = learn(
            X,
            n,
            k,
            self.method,
            nonnegative=self.positive,
            passes=self.passes,
            start=first,
            tol=self.tol,
            seed=drawn,
            threads=crew,
            progress=False,
        )
        self.trace_, self.n_iter_ = learned.trace, len(learned.trace)
        online = self.method == "online"
        self._ongoing = after(learned, drawn, crew) if online else None
        return self._found(learned.atoms, k)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn online from more rows, once; the first call makes the first atoms of them."""
        from pursuit.learning.continued import begin, go_on

        if self.method != "online":
            raise InputError(f"method: expected online for partial_fit, got {shown(self.method)}")
        ongoing = getattr(self, "_ongoing", None)
        if ongoing is not None:
            X = _dense(self._rows(X, reset=False))
            self._ongoing = go_on(ongoing, X)
            self.n_iter_ += 1
            return self._found(self._ongoing.atoms.astype(X.dtype), self.n_nonzero_)
        X, n, k, first = self._begin(X)
        self._ongoing = begin(
            X,
            n,
            k,
            nonnegative=self.positive,
            start=first,
            seed=seed(self.random_state),
            threads=threads(self.n_jobs),
        )
        self.n_iter_ = 1
        return self._found(self._ongoing.atoms.astype(X.dtype), k)

    def _begin(self, X: Any) -> tuple[Array, int, int, Array | None]:
        """X, the numbers of atoms, in all and of a code, and the first atoms where given."""
        X, first = _dense(self._rows(X, reset=True)), None
        if self.dict_init is not None:
            first = numbers("dict_init", self.dict_init)
            check_range("dict_init", first, "atom")
        n = self.n_components
        if n is None:
            n = min(X.shape) if first is None else len(first)
        n, positive = count("n_components", n, minimum=1), flag("positive", self.positive)
        if first is not None:
            _check_first(first, (n, X.shape[1]), positive)
        k = max(1, X.shape[1] // 10) if self.n_nonzero is None else self.n_nonzero
        if self.n_nonzero is not None:
            k = clipped("n_nonzero", k, n, "atoms there are")
        return X, n, min(k, n), first

    def _found(self, atoms: Array, n_nonzero: int) -> Self:
        self.n_nonzero_ = n_nonzero
        self._prepare(atoms, "orthogonal", n_nonzero=n_nonzero)
        return self


def _check_first(atoms: Array, shape: tuple[int, int], positive: bool) -> None:
    if atoms.shape != shape:
        raise InputError(f"dict_init: expected shape {shape}, got {atoms.shape}")
    seen = (atoms > 0 if positive else atoms != 0).any(axis=1)
    if not seen.all():
        kind = "a positive entry" if positive else "an entry other than zero"
        raise InputError(f"dict_init: expected {kind} in each row, got none in {seen.argmin()}")


def _dense(X: Any) -> Array:
    rows: Array = X.toarray() if hasattr(X, "toarray") else X
    return rows
