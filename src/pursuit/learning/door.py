"""A dictionary learned from signals: the door."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.progress import bar
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, count, extent, flag, non_negative, one_of, positive
from pursuit.learning.learned import Learned
from pursuit.learning.start import first_atoms, given_atoms
from pursuit.solving.checkpoint import Fingerprint, State, check_outlet

if TYPE_CHECKING:
    from pursuit.learning.round import Learner, Lesson
    from pursuit.learning.signals import Source

METHODS = ("online", "aksvd", "mod")


def learn(
    signals: object,
    n_atoms: int,
    n_nonzero: int | None = None,
    method: str = "online",
    *,
    nonnegative: bool = False,
    passes: int = 3,
    start: object = None,
    tol: float | None = None,
    max_time: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: Learned | State | str | os.PathLike[str] | None = None,
) -> Learned:
    """Learn n unit atoms D over which signals have sparse codes.

    It looks for a small Σ_i ½‖x_i − γ_i D‖² over D with unit rows and codes γ_i with at most k
    non-zero coefficients, those of `encode`'s orthogonal pursuit. The problem is not convex: what
    is found depends on the start, and no method finds the best.

    Parameters
    ----------
    signals
        Shape (m, d), a signal in each row, or (m, *shape); at least as many as atoms. An array, a
        `numpy.memmap` or the path of a ``.npy`` file (read a part at a time), a dask or zarr
        array (its chunks are read when needed), or an iterator that gives arrays of rows. float32
        stays float32, other types become float64.
    n_atoms, n_nonzero
        n, and k; a tenth of d, at least 1, where k is not given.
    method
        ``"online"``: a new dictionary after each batch of signals; the fastest, and the only one
        for an iterator. ``"aksvd"``: codes of all signals, then one atom after the other with its
        coefficients (approximate K-SVD). ``"mod"``: codes of all signals, then all atoms by least
        squares. The last two hold signals and codes in memory, and their objective never rises
        from pass to pass unless atoms were renewed.
    nonnegative
        Coefficients of at least zero, those over a `Cone`, and atoms without negative entries.
    passes
        How often each signal is learned from. An iterator gives its signals once.
    start
        The first atoms, shape (n, *shape); signals drawn at random where it is not given.
    tol
        Stop when the mean objective of a pass is less than this share below that of the one
        before (0.01: one percent); for an iterator, of 64 batches.
    max_time
        Stop after so many seconds, those before a `resume` included.
    seed
        Of the start, the order of signals and the draws of new atoms.
    threads
        Python threads; else ``$PURSUIT_THREADS``, else every core. It changes no bit of the
        result. While threads work, BLAS is limited to one thread in the whole process.
    progress
        True or False for a progress bar or none; by default one appears on a terminal when
        learning takes more than two seconds.
    checkpoint
        A file that the state is written to, every half minute and at the end, whatever ends it but
        a kill.
    resume
        A checkpoint file, a `Learned` or its state, of the same signals and arguments; `passes`,
        `tol` and `max_time` may be others. Stopped and resumed equals uninterrupted, bit for bit,
        for the same `passes`. An iterator has to give the same signals again, from the first.

    Returns
    -------
    Learned
        Atoms, trace, usage, how many atoms were renewed, status. CONVERGED: the test of `tol` was
        met; MAX_ITER: the passes, or the signals, are over; MAX_TIME. Any error, a number that is
        none or an interrupt passes through with what was learned until then as its attribute
        ``partial_result``, from which a mended run resumes.

    Notes
    -----
    Atoms that fewer signals use than 0.3 of the mean, and the less used of two with a coherence
    above 0.95, are replaced by the residual of a signal, drawn with a probability proportional to
    its square: at most 5 % of the atoms at a time, and none in the last fifth of the passes.
    Online learning forgets: of t batches the one before last counts (1 − 1/t)^10; nothing is
    forgotten in the last fifth.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import learn
    >>> signals = np.random.default_rng(0).standard_normal((500, 16))
    >>> learned = learn(signals, 32, 3)
    >>> learned.atoms.shape
    (32, 16)
    >>> learned.status.name
    'MAX_ITER'
    """
    name = one_of("method", method, METHODS)
    n = count("n_atoms", n_atoms, minimum=1)
    # The compiled part is loaded here: importing this module costs nothing.
    from pursuit.learning.round import Lesson
    from pursuit.learning.run import LearningRun, Stop
    from pursuit.learning.signals import open_source

    limits = Stop(_optional(non_negative, "tol", tol), _optional(positive, "max_time", max_time))
    turns = extent("passes", passes)
    what = flag("nonnegative", nonnegative), turns, count("seed", seed), thread_count(threads)
    check_outlet(checkpoint)
    source = open_source(signals, n)
    k, sample = nonzero_of(n_nonzero, n, math.prod(source.shape)), source.sample(what[2])
    lesson = Lesson(n, k, *what)
    with single_threaded_blas:  # once for all the steps that ask for it
        atoms = first_atoms_of(sample, source.shape, lesson, start)
        mark = Fingerprint("learn", name, lesson.identity(), source.identity(), start)
        run = LearningRun(
            name, _method(name, source, lesson, atoms), source, lesson, limits, mark, checkpoint
        )
        if resume is not None:
            run.restore(State.of(resume))
        total = None if source.total is None else source.total * lesson.passes
        with bar("learn", total, progress) as shown:
            return run(shown)


def _method(name: str, source: Source, lesson: Lesson, atoms: Array) -> Learner:
    from pursuit.learning.alternating import Alternating, aksvd, mod
    from pursuit.learning.online import Online

    makers: dict[str, Callable[[Source, Lesson, Array], Learner]] = {
        "online": Online,
        "aksvd": partial(Alternating, update=aksvd),
        "mod": partial(Alternating, update=mod),
    }
    return makers[name](source, lesson, atoms)


def first_atoms_of(sample: Array, shape: tuple[int, ...], lesson: Lesson, start: object) -> Array:
    """Those of the user, else some of the signals."""
    if start is not None:
        return given_atoms(start, lesson.n_atoms, shape, lesson.nonnegative)
    return first_atoms(sample, lesson.n_atoms, lesson.seed, lesson.nonnegative)


def nonzero_of(n_nonzero: int | None, n_atoms: int, length: int) -> int:
    if n_nonzero is None:
        return min(n_atoms, max(1, length // 10))
    wanted = count("n_nonzero", n_nonzero, minimum=1)
    if wanted > n_atoms:
        raise InputError(
            f"n_nonzero: expected at most as many as there are atoms, {n_atoms}, got {wanted}"
        )
    return wanted


def _optional(
    check: Callable[[str, object], float], name: str, value: float | None
) -> float | None:
    return None if value is None else check(name, value)
