"""solve(): minimize f over the span of the atoms, one atom at a time."""

from __future__ import annotations

import os
from contextlib import suppress

import numpy as np

from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.progress import bar
from pursuit.base.status import Status
from pursuit.base.threads import Crew
from pursuit.base.validation import count, random_seed
from pursuit.methods import Method
from pursuit.objectives.base import Objective
from pursuit.penalties import Penalty
from pursuit.solving.checkpoint import State, check_outlet
from pursuit.solving.loop import Callback, Recorder, RunState, initialize, run
from pursuit.solving.problem import prepare_problem
from pursuit.solving.result import Result, make_result
from pursuit.solving.stopping import StoppingCriteria


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
    n_nonzero: int | None = None,
    max_time: float | None = None,
    every: int | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    rng: int | np.random.Generator | None = 0,
    unit_atoms: bool = True,
    penalty: Penalty | None = None,
    gap_tol: float | None = None,
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
        anything else, and with `n_nonzero`, ``"matching-pursuit"``.
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
    n_nonzero
        Stop when so many distinct atoms are in use.
    max_time
        Stop after so many seconds in steps, those before a `resume` included.
    every
        Record (trace, callback) every so many iterations; at most about 1,000 times by default,
        and not more often than it costs little, for coordinate descent on large linear models.
        It changes what is recorded and no number of the run.
    callback
        Called at each record with a `Snapshot`; returns True to stop. If it raises, the error
        passes through with the result of that record as its attribute ``partial_result``, which
        `resume` takes. So does an interrupt, or any error, within an iteration, with the result of
        the last record, or of an earlier one where the state is large.
    progress
        True or False for a progress bar or none; by default one appears on a terminal when the
        run takes more than two seconds.
    rng
        Of the random directions: an integer; or a `numpy.random.Generator`, which one integer is
        drawn from; or None: one is drawn from the system. ``result.rng`` is that integer.
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
    gap_tol
        Stop when f + g is proved to be within `gap_tol` of its minimum, in the units of f: by the
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
        A checkpoint file, a result or its state, of the same problem, method, start and `rng`,
        which may be None here. Stopped and resumed equals uninterrupted, on the same machine.

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
    if callback is not None and not callable(callback):
        raise InputError(f"callback: expected a function, got {type(callback).__name__}")
    check_outlet(checkpoint)
    every = None if every is None else count("every", every, minimum=1)
    gram_bytes = None if gram_bytes is None else count("gram_bytes", gram_bytes)
    stored = None if resume is None else State.of(resume)
    if stored is not None and rng is None:
        rng = stored.numbers.get("rng")
    seed = random_seed("rng", rng)
    # The run deals with overflow itself; its threads are those of the crew.
    with np.errstate(all="ignore"), Crew(thread_count(threads)):
        # Choose the method, scale the atoms, find the initial point; then start the method there.
        # A limit on the number of atoms says which method suits, where none is given.
        problem = prepare_problem(
            f, atoms, method, x0, coef0, penalty, unit_atoms, seed, is_sparse=n_nonzero is not None
        )
        state = initialize(problem, gram_bytes)
        if stored is not None:
            state.restore(stored)
        criteria = StoppingCriteria(
            state, max_iter, tol, rtol, target, n_nonzero, max_time, gap_tol
        )
        with bar(problem.method.name, criteria.max_iter, progress) as shown:
            recorder = Recorder(state, criteria, every, callback, shown)
            try:
                # Step, ask the criteria, record, store a checkpoint, until a criterion is met.
                end = run(state, criteria, recorder, checkpoint)
                end = criteria.conclude(state, end)
                return make_result(state, end, recorder.last_row(state))
            except BaseException as error:
                _attach_partial_result(error, state, recorder, gram_bytes)
                raise


def _attach_partial_result(
    error: BaseException, state: RunState, recorder: Recorder, gram_bytes: int | None
) -> None:
    """Give an error the result of the last copied record as its `partial_result`, if there is one.

    The state itself may be halfway through a step: it is set back to that copy.
    """
    if recorder.latest is None:
        return
    with suppress(Exception):  # f may raise again
        stored = state.stored(recorder.latest)
        if state.stepper.x.ledger.finite is None:
            # An infinite set lists atoms as the run meets them, some of them since the copy: begin
            # a new list.
            state = initialize(state.problem, gram_bytes)
        state.restore(stored)
        end = Status.STOPPED, "an error interrupted the run"
        error.partial_result = make_result(state, end)  # type: ignore[attr-defined]
