"""A dictionary prepared once, for many calls and for parts of a larger whole."""

from __future__ import annotations

import copy
import os
import threading
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.progress import bar
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, count, extent, flag, non_negative, one_of, shown
from pursuit.encoding.chunks import DaskArray
from pursuit.encoding.codes import Codes
from pursuit.encoding.limits import Limits, limits
from pursuit.encoding.offered import OFFERED, Offered
from pursuit.encoding.plan import GRAM_BYTES, Form, Task
from pursuit.encoding.rows import SignalRows
from pursuit.encoding.sources import UNKNOWN, open_signals

if TYPE_CHECKING:
    from pursuit.encoding.job import Job
    from pursuit.encoding.lazy import LazyCodes
    from pursuit.encoding.prepared import Prepared

METHODS = tuple(OFFERED)
FORMS = tuple(map(str, Form))


class Encoder:
    """`encode` with a dictionary that is prepared once: scales, Gram matrix, plan.

    An encoder is called with signals, again and again, from any number of threads. It keeps a copy
    of the atoms. It can be pickled: they go along, and are prepared anew where they arrive, for the
    threads that a process may use there.

    Parameters
    ----------
    atoms, method, n_nonzero, max_iter, rtol, atol, seed, threads, unit_atoms, forward_only
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
        seed: int = 0,
        threads: int | None = None,
        unit_atoms: bool = True,
        forward_only: bool = False,
        expected: int | None = None,
        form: str | None = None,
        gram_bytes: int = GRAM_BYTES,
    ) -> None:
        known = _known_set(atoms)
        self.nonnegative = known is not None and known.one_sided
        if known is not None and not (known.penalty.free or self.nonnegative):
            raise InputError(f"atoms: encode has no penalty but that of a Cone; got {atoms!r}")
        self.method = known_method(method, self.nonnegative)
        if flag("forward_only", forward_only):
            self.method = only_forward(self.method, self.nonnegative)
        self.unit_atoms = flag("unit_atoms", unit_atoms) and not self.method.forward_only
        # The compiled part is loaded here: importing this module costs nothing.
        from pursuit.encoding.job import Goal
        from pursuit.encoding.prepare import real_rows

        thread_count(threads)  # what is wrong is said at once, here and below
        self._asked = threads
        self._goal = Goal(_tolerance("rtol", rtol), _tolerance("atol", atol))
        given = real_rows("atoms", atoms) if known is None else known.matrix
        self.shape = given.shape[1:] if known is None else known.shape
        self.matrix = given.reshape(len(given), -1)
        self.expected = UNKNOWN if expected is None else extent("expected", expected)
        self._form = None if form is None else one_of("form", form, FORMS)
        self._gram_bytes = count("gram_bytes", gram_bytes)
        self._counts = n_nonzero, max_iter
        self._limits()
        self._seed = count("seed", seed)
        self._forget()
        self._keep_atoms()

    def _keep_atoms(self) -> None:
        """Later calls are for the atoms as they are now, whatever becomes of the array."""
        self.matrix = self.matrix.copy()
        self.job(self.matrix)

    def _forget(self) -> None:
        self._lock, self._process = threading.Lock(), os.getpid()
        self._jobs: dict[np.dtype[Any], Job] = {}
        self._prepared: dict[np.dtype[Any], Prepared] = {}

    def __getstate__(self) -> dict[str, Any]:
        made = {"_lock", "_process", "_jobs", "_prepared"}
        return {name: value for name, value in vars(self).items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def with_threads(self, threads: int) -> Encoder:
        """The same with another number of threads, not prepared yet."""
        other = copy.copy(self)  # without what is prepared: see __getstate__
        other._asked = threads
        return other

    def __len__(self) -> int:
        """The number of atoms."""
        return len(self.matrix)

    def __repr__(self) -> str:
        n, d = self.matrix.shape
        job = self.job(self.matrix)
        return f"Encoder: {n:,} atoms × {d:,}, {job.description}; {job.plan}"

    @property
    def threads(self) -> int:
        """Python threads of a call in this process."""
        return thread_count(self._asked)

    @property
    def block(self) -> int:
        """Signals that are worked on together, if they are of the type of the atoms."""
        return self.job(self.matrix).plan.block

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
        rows = self.open(signals)
        self._expect(rows)
        _check_target(out, flag("resume", resume), flag("overwrite", overwrite))
        return self._encode(rows, out, resume, overwrite, progress)

    def _expect(self, rows: SignalRows) -> None:
        """The plan is for all calls together."""

    def part(self, signals: object, first: int) -> Codes:
        """The codes of signals that are rows `first` and on of a larger whole.

        They are the bits that the whole would have there, if the part begins at a multiple of
        `block` rows and ends at one, or at the end of the whole. Messages count rows in the whole.
        """
        rows = self.open(signals)
        if rows.array is None:
            raise InputError(f"signals: expected an array as a part of a whole, got {rows.kind}")
        block = self.job(rows).plan.block
        if count("first", first) % block:
            raise InputError(f"first: expected a multiple of {block}, the block, got {first}")
        pieces = self.prepared(rows).run(rows.array, first // block)
        return self.joined(pieces, rows)

    def open(self, signals: object) -> SignalRows:
        """Signals as rows for these atoms, an iterator as its blocks."""
        return open_signals(signals, self.shape)

    def _encode(
        self,
        rows: SignalRows,
        out: str | os.PathLike[str] | None,
        resume: bool,
        overwrite: bool,
        progress: bool | None,
    ) -> Codes | LazyCodes:
        if out is None and rows.chunks is not None and rows.chunks.lazy:
            from pursuit.encoding.lazy import lazy_codes

            return lazy_codes(self, rows.chunks)
        from pursuit.encoding import stream

        with single_threaded_blas:  # once for all the steps that ask for it
            if out is not None or rows.array is None:
                order = stream.Order(self, rows)
                return stream.encode_stream(order, out, resume, overwrite, progress)
            prepared = self.prepared(rows)
            blocks = -(-rows.seen // prepared.job.plan.block)
            with bar("encode", blocks, progress) as shown:
                pieces = prepared.run(rows.array, bar=shown)
            return self.joined(pieces, rows)

    def joined(self, pieces: list[Any], rows: SignalRows) -> Codes:
        """The codes of all blocks."""
        job = self.job(rows)
        return Codes.join(pieces, len(self), job.description, str(job.plan), self.threads)

    # What is prepared -------------------------------------------------------------------------

    def prepared(self, rows: SignalRows) -> Prepared:
        """The dictionary, ready for signals of this type."""
        from pursuit.encoding.prepared import Prepared

        job = self.job(rows)
        with self._alone(), single_threaded_blas:
            if job.dtype not in self._prepared:
                self._prepared[job.dtype] = Prepared(job, self._asked)
            return self._prepared[job.dtype]

    def job(self, rows: SignalRows | Array) -> Job:
        """What is done to signals of this type, and how."""
        from pursuit.encoding.prepare import common_type

        dtype = common_type(rows.dtype, self.matrix.dtype)
        with self._alone(), single_threaded_blas:
            if dtype not in self._jobs:
                self._jobs[dtype] = self._job(dtype)
            return self._jobs[dtype]

    def _alone(self) -> threading.Lock:
        """The lock of this process: one that a thread held in a fork's parent opens no more."""
        if self._process != os.getpid():
            self._lock, self._process = threading.Lock(), os.getpid()
        return self._lock

    def _job(self, dtype: np.dtype[Any]) -> Job:
        from pursuit.encoding.job import Job, kernel_rules
        from pursuit.encoding.prepare import equal_to_earlier, prepare_atoms

        ends = self._limits()
        how = self.unit_atoms, self.threads, self.method.any_scale
        atoms, scale = prepare_atoms(self.matrix, dtype, *how)
        return Job(
            atoms=atoms,
            twins=equal_to_earlier(atoms, self.nonnegative),
            scale=scale,
            rules=kernel_rules(ends, dtype),
            goal=self._goal,
            method=self.method,
            nonnegative=self.nonnegative,
            seed=self._seed,
            plan=self.method.plan(self._task(ends, dtype), atoms.rows, self.nonnegative),
        )

    def _limits(self) -> Limits:
        n, d = self.matrix.shape
        return limits(self.method, (n, d), *self._counts, self._goal.given)

    def _task(self, ends: Limits, dtype: np.dtype[Any]) -> Task:
        n, d = self.matrix.shape
        steps, size = ends.expected_steps, dtype.itemsize
        sizes = self.expected, n, d, steps, ends.width, size
        form = None if self._form is None else Form[self._form.upper()]
        return Task(*sizes, self.method.orthogonal, self._gram_bytes, form)


class OneCall(Encoder):
    """An encoder that is called once: the dictionary is prepared for the signals of that call, and
    nothing can happen to it before."""

    def _keep_atoms(self) -> None:
        pass

    def _expect(self, rows: SignalRows) -> None:
        self.expected = UNKNOWN if rows.total is None else rows.total


def _known_set(atoms: object) -> FiniteAtoms | None:
    """A set whose atoms can be listed; None: an array."""
    if isinstance(atoms, FiniteAtoms):
        return atoms
    if hasattr(atoms, "lmo"):
        raise InputError(
            f"atoms: expected rows, or a set whose atoms can be listed, got {shown(atoms)}; solve "
            "takes any set"
        )
    return None


def known_method(name: object, nonnegative: bool) -> Offered:
    """The method of a name, if it can encode."""
    if not isinstance(name, str) or name not in OFFERED:
        from pursuit.methods import full_name

        name = one_of("method", full_name(name), METHODS)
    if nonnegative and not OFFERED[name].one_sided:
        able = " or ".join(other.name for other in OFFERED.values() if other.one_sided)
        raise InputError(f"method: expected {able} over a Cone, got {name!r}")
    return OFFERED[name]


def only_forward(method: Offered, nonnegative: bool) -> Offered:
    """A method whose coefficients only grow, where that has a meaning."""
    forward = method.only_forward()
    if forward is None or not nonnegative:
        over = "a Cone" if nonnegative else "atoms of both signs"
        raise InputError(
            f"forward_only: expected matching-pursuit over a Cone, got {method.name} over {over}"
        )
    return forward


def _check_target(out: object, resume: bool, overwrite: bool) -> None:
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
