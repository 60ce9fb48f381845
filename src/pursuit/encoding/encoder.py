"""A dictionary prepared once, for many calls and for parts of a larger whole."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.progress import bar
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import (
    Array,
    count,
    extent,
    flag,
    float_type,
    non_negative,
    one_of,
    plain_array,
    random_seed,
    shown,
)
from pursuit.encoding.codes import Codes, CodesBuffer
from pursuit.encoding.methods import find_method
from pursuit.encoding.plan import FORMS, GRAM_BYTES, Plan, Workload, expected_steps
from pursuit.encoding.signals import UNKNOWN, SignalRows, open_signals
from pursuit.encoding.stream import encode_stream

if TYPE_CHECKING:
    from pursuit.encoding.block import BlockEncoders
    from pursuit.encoding.chunks import DaskArray
    from pursuit.encoding.lazy import LazyCodes
    from pursuit.kernels.pursuit import Atoms


class Encoder:
    """`encode` with a dictionary that is prepared once: scales, Gram matrix, plan.

    An encoder is called with signals, again and again, from any number of threads. It keeps a copy
    of the atoms. It can be pickled: they go along, and are prepared again where they arrive, for
    the threads that a process may use there.

    Parameters
    ----------
    atoms, method, n_nonzero, max_iter, rtol, atol, rng, threads, unit_atoms, forward_only
        Those of `encode`.
    expected
        The signals of all calls together, which decide how the dictionary is prepared; many by
        default. ``encode(signals, …)`` is ``Encoder(…, expected=len(signals))(signals)``.
    form
        Where correlations come from: ``"gram"``, the Gram matrix of all atoms; ``"columns"``, those
        of its columns that are needed; ``"products"``, residuals times atoms. By default the one
        with the least estimated time; codes differ by rounding.
    gram_bytes
        The most memory of a Gram matrix, 2 GiB by default.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import Encoder
    >>> encoder = Encoder(np.eye(3) * 2, n_nonzero=1)
    >>> encoder([[0.0, 0.0, 6.0]]).toarray().tolist()
    [[0.0, 0.0, 3.0]]
    """

    def __init__(
        self,
        atoms: object,
        method: str = "orthogonal",
        *,
        n_nonzero: int | None = None,
        max_iter: int | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        rng: int | np.random.Generator | None = 0,
        threads: int | None = None,
        unit_atoms: bool = True,
        forward_only: bool = False,
        expected: int | None = None,
        form: str | None = None,
        gram_bytes: int = GRAM_BYTES,
    ) -> None:
        finite = _finite_set(atoms)
        self.nonnegative = finite is not None and finite.one_sided
        if finite is not None and not (finite.penalty.free or self.nonnegative):
            raise InputError(f"atoms: encode has no penalty but that of a Cone; got {atoms!r}")
        is_forward = flag("forward_only", forward_only)
        self.method = find_method(method, self.nonnegative, is_forward)
        self.unit_atoms = flag("unit_atoms", unit_atoms) and not is_forward
        thread_count(threads)  # what is wrong is said at once, here and below
        self._threads = threads
        self._rtol, self._atol = _tolerance("rtol", rtol), _tolerance("atol", atol)
        rows = _real_rows(atoms) if finite is None else finite.matrix
        self.shape = rows.shape[1:] if finite is None else finite.shape
        self.matrix = rows.reshape(len(rows), -1)
        self.expected = UNKNOWN if expected is None else extent("expected", expected)
        self._form = None if form is None else one_of("form", form, FORMS)
        self._gram_bytes = count("gram_bytes", gram_bytes)
        self._given_limits = n_nonzero, max_iter
        self._limits()
        self.rng = random_seed("rng", rng)
        self._begin_unprepared()
        self._keep_atoms()

    def _keep_atoms(self) -> None:
        """Copy the atoms and prepare them: later calls are for the atoms as they are now, whatever
        becomes of the array."""
        self.matrix = self.matrix.copy()
        self.plan(self.matrix.dtype)

    def _begin_unprepared(self) -> None:
        """Begin with nothing prepared: in `_prepared` and `_encoders`, by precision."""
        self._lock, self._process = threading.Lock(), os.getpid()
        self._prepared: dict[np.dtype[Any], tuple[Atoms, Plan]] = {}
        self._encoders: dict[np.dtype[Any], BlockEncoders] = {}

    def __getstate__(self) -> dict[str, Any]:
        made = {"_lock", "_process", "_prepared", "_encoders"}
        return {name: value for name, value in vars(self).items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin_unprepared()

    def with_threads(self, threads: int) -> Encoder:
        """Return the same with another number of threads, not prepared yet."""
        other = copy.copy(self)  # without what is prepared: see __getstate__
        other._threads = threads
        return other

    def __len__(self) -> int:
        """The number of atoms."""
        return len(self.matrix)

    def __repr__(self) -> str:
        n, d = self.matrix.shape
        plan = self.plan(self.matrix.dtype)
        return f"Encoder: {n:,} atoms × {d:,}, {plan.description}; {plan}"

    @property
    def threads(self) -> int:
        """Python threads of a call in this process."""
        return thread_count(self._threads)

    @property
    def block(self) -> int:
        """Signals that are worked on together, if they are of the type of the atoms."""
        return self.plan(self.matrix.dtype).block

    # Calls -----------------------------------------------------------------------------------

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, signals: DaskArray, *, out: None = None, progress: bool | None = None
    ) -> LazyCodes: ...
    @overload
    def __call__(
        self,
        signals: object,
        *,
        out: str | os.PathLike[str] | None = None,
        resume: bool = False,
        overwrite: bool = False,
        progress: bool | None = None,
    ) -> Codes: ...
    def __call__(
        self,
        signals: object,
        *,
        out: str | os.PathLike[str] | None = None,
        resume: bool = False,
        overwrite: bool = False,
        progress: bool | None = None,
    ) -> Codes | LazyCodes:
        """The codes of signals; arguments are those of `encode`."""
        rows = open_signals(signals, self.shape)
        self._expect(rows)
        _check_out(out, flag("resume", resume), flag("overwrite", overwrite))
        with _working():
            lazy: LazyCodes | None = rows.lazy_codes(self) if out is None else None
            if lazy is not None:  # of a dask array
                return lazy
            if out is not None or rows.array is None:
                return encode_stream(self, rows, out, resume, overwrite, progress)
            return self._encode(rows.array, 0, progress)

    def _expect(self, rows: SignalRows) -> None:
        """Learn how many signals come. An encoder is told so when it is made, for all its calls."""

    def part(self, signals: object, first: int) -> Codes:
        """The codes of signals that are rows `first` and on of a larger whole.

        They are the bits that the whole would have there, if the part begins at a multiple of
        `block` rows and ends at one, or at the end of the whole. Messages count rows in the whole.
        """
        rows = open_signals(signals, self.shape)
        if rows.array is None:
            raise InputError(f"signals: expected an array as a part of a whole, got {rows.kind}")
        block = self.plan(rows.dtype).block
        if count("first", first) % block:
            raise InputError(f"first: expected a multiple of {block}, the block, got {first}")
        with _working():
            return self._encode(rows.array, first // block, progress=False)

    def _encode(self, array: Array, first: int, progress: bool | None) -> Codes:
        """Return the codes of an array, whose first block is that number of the whole.

        By its number a block has draws of its own, and messages name its rows.
        """
        encoders, plan = self.encoders(array.dtype), self.plan(array.dtype)
        block = plan.block
        buffer = CodesBuffer(len(array), block, plan.width, plan.dtype)

        def rows(k: int) -> Array:
            return array[(k - first) * block : (k - first + 1) * block]

        def take(k: int, signals: Array, codes: Codes) -> None:
            buffer.put(k - first, codes)

        blocks = -(-len(array) // block)
        with bar("encode", blocks, progress) as shown:
            encoders.each(range(first, first + blocks), rows, take, shown)
        return buffer.join(self.threads)

    # What is prepared -------------------------------------------------------------------------

    def plan(self, dtype: np.dtype[Any]) -> Plan:
        """Return what is done to signals of a type."""
        with self._alone():
            return self._prepare(self._common(dtype))[1]

    def encoders(self, dtype: np.dtype[Any]) -> BlockEncoders:
        """Return the encoders of blocks of signals of a type, the dictionary's part being done."""
        dtype = self._common(dtype)
        with self._alone():
            if dtype not in self._encoders:
                atoms, plan = self._prepare(dtype)
                make = self.method.module.start(atoms, plan, self.threads)
                made = _compiled("block").BlockEncoders(make, atoms, plan, self._threads)
                self._encoders[dtype] = made
            return self._encoders[dtype]

    def _common(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return float32 where signals and atoms are, else float64."""
        return np.result_type(float_type(dtype), float_type(self.matrix.dtype))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Prepare in one thread at a time. A fork makes a lock of its own: nobody would ever
        release one that another thread of its parent held."""
        if self._process != os.getpid():
            self._lock, self._process = threading.Lock(), os.getpid()
        with self._lock, _working():
            yield

    def _prepare(self, dtype: np.dtype[Any]) -> tuple[Atoms, Plan]:
        """Return the atoms and the plan of a precision."""
        if dtype not in self._prepared:
            arguments = dtype, self.unit_atoms, self.nonnegative, self.threads
            atoms = _compiled("block").prepare_atoms(self.matrix, *arguments)
            self._prepared[dtype] = atoms, self._plan(atoms, dtype)
        return self._prepared[dtype]

    def _plan(self, atoms: Atoms, dtype: np.dtype[Any]) -> Plan:
        n_nonzero, max_iter, width = self._limits()
        steps = expected_steps(n_nonzero, max_iter, width, self.method.orthogonal)
        sizes = self.expected, *self.matrix.shape, steps, width, dtype.itemsize
        load = Workload(*sizes, self.method.orthogonal, self._gram_bytes, self._form)
        return Plan(
            method=self.method.name,
            nonnegative=self.nonnegative,
            orthogonal=self.method.orthogonal,
            forward_only=self.method.forward_only,
            dtype=dtype,
            n_nonzero=n_nonzero,
            max_iter=max_iter,
            width=width,
            rtol=self._rtol,
            atol=self._atol,
            rng=self.rng,
            **self.method.module.choose(load, atoms, self.method, self.nonnegative),
        )

    def _limits(self) -> tuple[int, int, int]:
        """Return n_nonzero, max_iter and the width of codes, or raise InputError."""
        n, d = self.matrix.shape
        has_target = self._rtol is not None or self._atol is not None
        return self.method.limits((n, d), *self._given_limits, has_target)


class OneCall(Encoder):
    """An encoder that is called once: the dictionary is prepared for the signals of that call, and
    nothing can happen to it before."""

    def _keep_atoms(self) -> None:
        pass

    def _expect(self, rows: SignalRows) -> None:
        self.expected = UNKNOWN if rows.total is None else rows.total


@contextmanager
def _working() -> Iterator[None]:
    """Let kernels and products decide what a number out of range means, on one BLAS thread."""
    with np.errstate(all="ignore"), single_threaded_blas:
        yield


def _compiled(name: str) -> Any:
    """Return a module of this package that needs the compiler: loaded when first asked for."""
    return import_module(f"pursuit.encoding.{name}")


def _finite_set(atoms: object) -> FiniteAtoms | None:
    """Return a set whose atoms can be listed; None: an array."""
    if isinstance(atoms, FiniteAtoms):
        return atoms
    if hasattr(atoms, "lmo"):
        raise InputError(
            f"atoms: expected rows, or a set whose atoms can be listed, got {shown(atoms)}; solve "
            "takes any set"
        )
    return None


def _real_rows(atoms: object) -> Array:
    """Return atoms as an array with at least two dimensions; entries are not read."""
    array = plain_array("atoms", atoms)
    if array.ndim < 2:
        raise InputError(
            f"atoms: expected rows, an array of at least 2 dimensions, got shape {array.shape}"
        )
    if array.size == 0:
        raise InputError(f"atoms: expected at least one entry, got shape {array.shape}")
    return array


def _check_out(out: object, resume: bool, overwrite: bool) -> None:
    if resume and out is None:
        raise InputError("resume: expected the folder to continue in as out, got none")
    if overwrite and out is None:
        raise InputError("overwrite must be False where out is not given, got True")
    if overwrite and resume:
        raise InputError(
            "overwrite=True (--force) must be given without resume=True (--resume), got both"
        )


def _tolerance(name: str, value: float | None) -> float | None:
    return None if value is None else non_negative(name, value)
