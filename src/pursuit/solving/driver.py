"""solve(): the one driver. It starts the rules of a method, steps, watches and stops."""

from __future__ import annotations

import os
from contextlib import suppress

import numpy as np

from pursuit.atoms.dictionary import as_atoms
from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.progress import bar
from pursuit.base.status import Status
from pursuit.base.threads import Crew
from pursuit.base.validation import count, non_negative
from pursuit.methods import Method
from pursuit.objectives.base import Objective
from pursuit.objectives.problem import Problem
from pursuit.penalties import Penalty
from pursuit.solving.beginning import Beginning
from pursuit.solving.checkpoint import continue_from
from pursuit.solving.choosing import chosen
from pursuit.solving.finish import Finish
from pursuit.solving.loop import Loop
from pursuit.solving.observing import Callback
from pursuit.solving.penalised import check_penalty, penalised
from pursuit.solving.posing import Posed
from pursuit.solving.results import Result
from pursuit.solving.state import State, check_outlet
from pursuit.solving.stopping import Stopping


def solve(
    f: Objective,
    atoms: object,
    method: str | Method | None = None,
    x0: object | None = None,
    *,
    coef0: object | None = None,
    max_iter: int = 1000,
    tol: float | None = None,
    rtol: float | None = None,
    target: float | None = None,
    max_atoms: int | None = None,
    max_time: float | None = None,
    every: int | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    seed: int = 0,
    unit_atoms: bool = True,
    penalty: Penalty | None = None,
    gap: float | None = None,
    threads: int | None = None,
    gram_bytes: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: State | Result | str | os.PathLike[str] | None = None,
) -> Result:
    """Minimise f over the span of the atoms, or over their `Cone`, one atom at a time; or f and a
    penalty on coefficients.

    Parameters
    ----------
    f
        The objective, e.g. ``SquaredDistance(signal)``.
    atoms
        The set of atoms, e.g. ``Dictionary(rows)``; or the rows themselves, as an array.
    method
        A name of `pursuit.methods`, or what one of its functions returns. Where not given, one
        that suits, which the result names: for a linear model over `Coordinates` ``"working-set"``
        with a penalty, with a sparse X or where its Hessian is small, else ``"accelerated"``; for
        anything else, and with `max_atoms`, ``"matching-pursuit"``.
    x0, coef0
        Where to start: a point of lin(A), or coefficients of the atoms. Zero if not given. The
        weights of the result count from x0, and include coef0. Over a `Cone`, coef0 alone.
    max_iter
        The most iterations of this run, those before a `resume` included.
    tol
        Stop when the slope max \\|⟨∇f(x), z⟩\\| has fallen to `tol` times its first value. Where
        not given: 1e-6, for a method that looks at gradients. 0 turns it off. Methods with random
        directions are tested once in as many iterations as there are atoms.
    rtol
        Stop when the residual norm has fallen to `rtol` times the norm of the signal (for
        `SquaredDistance` and `LeastSquares`).
    target
        Stop when f(x), with a penalty f(x) + g(w), has fallen to this value; coordinate descent on
        large linear models looks at it once in as many iterations as there are coordinates.
    max_atoms
        Stop when so many distinct atoms are in use.
    max_time
        Stop after so many seconds in steps, those before a `resume` included.
    every
        Observe (trace, callback) every so many iterations; at most about 1,000 times by default,
        and not more often than it costs little, for coordinate descent on large linear models.
        It changes what is recorded and no number of the run.
    callback
        Called at each observation with a `Snapshot`; returns True to stop. If it raises, the
        error passes through with the result so far as its attribute ``partial_result``; so does
        an interrupt, or any error, within an iteration. It resumes after the last whole one.
    progress
        True or False for a progress bar or none; by default one appears on a terminal when the
        run takes more than two seconds.
    seed
        Of the random directions.
    unit_atoms
        Run on the atoms divided by their norms, and give coefficients for the atoms as they
        are: up to rounding no result then depends on their scale (but for an `Oracle`, whose
        atoms are taken as it gives them). False runs the algorithms as printed.
    penalty
        g on the coefficients of a finite set: f(x) + g(w) is minimised. An `L1`, a `Box` or
        `NonNegative()`, each about the coefficients of the atoms as given. A `Cone` keeps its
        coefficients at or above zero beside it. For matching, affine-invariant and random pursuit,
        rounds through coordinates and working sets; the slope then is the largest distance of
        −⟨∇f(x), z_j⟩ from ∂g_j(w_j), and the value that of f + g.
    gap
        Stop when f + g is proved to be within `gap` of its minimum, in the units of f: by the
        duality gap of a linear model with a penalty, or with an l2 over `Coordinates`. It is looked
        at every so many iterations, whatever else is observed. `tol` then is 0 unless given.
    threads
        Threads that share products with large dense arrays; else ``$PURSUIT_THREADS``, else every
        core. It changes no bit of the result. During the run BLAS is limited to one thread in the
        whole process.
    gram_bytes
        For a quadratic f over a finite set of n atoms: the most memory that their n × n Gram matrix
        may take, 256 MiB where not given. With it, steps cost one of its rows; above the limit a
        run keeps x and looks at the atoms in each iteration. 0 never forms one. Up to rounding it
        changes no number of the run.
    checkpoint
        A file that the state is written to, every half minute and at the end.
    resume
        A checkpoint file, a result or its state, of the same problem, method, start and seed.
        Stopped and resumed equals uninterrupted, on the same machine.

    Returns
    -------
    Result
        It says how the run ended: see `Status`. float32 everywhere gives an x in float32, or in
        float64 where float32 has no room for the numbers of a run.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import Dictionary, SquaredDistance, solve
    >>> atoms = Dictionary([[3.0, 0.0], [1.0, 1.0]])
    >>> result = solve(SquaredDistance([5.0, 1.0]), atoms, max_iter=50)
    >>> result.status.name, result.coef.toarray().round(5).tolist()
    ('CONVERGED', [1.33333, 1.0])
    """
    own = as_atoms(atoms)
    given = Problem(f, penalised(f, own, penalty))
    rules, why = chosen(method, given, own, few=max_atoms is not None)
    check_penalty(given.atoms, rules, x0)
    if callback is not None and not callable(callback):
        raise InputError(f"callback: expected a function, got {type(callback).__name__}")
    check_outlet(checkpoint)
    _check_tol(rules, tol)
    stop = Stopping.checked(given, max_iter, tol, rtol, target, max_atoms, max_time, gap)
    looks = None if every is None else count("every", every, minimum=1)
    # Small products in float32 may raise the flag for numbers that lie beyond their arrays.
    with np.errstate(invalid="ignore"), Crew(thread_count(threads)):
        limit = None if gram_bytes is None else count("gram_bytes", gram_bytes)
        with np.errstate(over="ignore"):  # a start that is too far is refused by its value
            posed = Posed.of(given, rules, x0, coef0, unit_atoms, seed)
            begin, finish = Beginning(posed, rules, stop, looks, limit), Finish(posed, rules, why)
            loop = begin()
        if resume is not None:
            loop.keeper.resumed = continue_from(loop.running, resume)
        loop.observer.callback, loop.checkpoint = callback, checkpoint
        loop.observer.goal, loop.observer.limit = (stop.goal or (0.0, ""))[0], stop.max_iter
        with bar(rules.name, stop.max_iter, progress) as loop.observer.bar:
            try:
                return finish(loop.running, *loop.drive())
            except BaseException as error:
                _tell_partial_result(error, loop, begin, finish)
                raise


def _tell_partial_result(
    error: BaseException, loop: Loop, begin: Beginning, finish: Finish
) -> None:
    """Let an error say what the run came to: where it was after the last whole iteration."""
    # What raised may do so again when it is asked about that point: then there is nothing to say.
    with suppress(Exception):
        running, whole = loop.running, loop.running.whole
        if whole is not None:
            running = loop.keeper.after_iterations(whole, begin)
        partial = finish(running, Status.STOPPED, "an error interrupted the run")
        error.partial_result = partial  # type: ignore[attr-defined]


def _check_tol(rules: Method, tol: float | None) -> None:
    if rules.gradient_free and tol is not None and non_negative("tol", tol) > 0:
        raise InputError(f"tol: {rules.name} sees no slope to test; expected target or max_iter")
