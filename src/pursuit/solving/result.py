"""What a run returns: how it ended, the point, the trace and the path of support sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pursuit import plots
from pursuit.atoms.base import Atom
from pursuit.base import html
from pursuit.base.errors import InputError
from pursuit.base.status import Status
from pursuit.base.validation import Array
from pursuit.geometry.suboptimality import SuboptimalityBound, coefficients
from pursuit.methods import Method
from pursuit.objectives.problem import Problem
from pursuit.points import choose
from pursuit.points.ledger import Counts
from pursuit.solving.checkpoint import PathEntries, State
from pursuit.solving.loop import RunState, Termination, TraceRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pursuit.certificates import Certificate
    from pursuit.rates import Rate


COLUMNS = TraceRow._fields


class Observed:
    """One NumPy column for each quantity, as an attribute."""

    _columns: ClassVar[tuple[str, ...]]
    _whole: ClassVar[tuple[str, ...]]
    """The columns of whole numbers."""

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        table = np.asarray(rows, dtype=np.float64).reshape(-1, len(self._columns))
        for name, column in zip(self._columns, table.T, strict=True):
            whole = name in self._whole
            setattr(self, name, column.astype(np.int64) if whole else column.copy())

    def __len__(self) -> int:
        return len(getattr(self, self._columns[0]))

    def rows(self) -> Array:
        """All columns side by side, in their order."""
        return np.column_stack([getattr(self, name).astype(np.float64) for name in self._columns])


class Trace(Observed):
    """What was observed, one NumPy column for each quantity.

    Attributes
    ----------
    iteration, support, oracle_calls : int arrays
    seconds : float array
        Time spent in steps; observing is not counted.
    value, slope, products : float arrays
    """

    _columns = COLUMNS
    _whole = ("iteration", "support", "oracle_calls")
    iteration: Array
    seconds: Array
    value: Array
    slope: Array
    support: Array
    oracle_calls: Array
    products: Array

    def __repr__(self) -> str:
        if not len(self):
            return "Trace, empty"
        return (
            f"Trace of {len(self)} observations, iteration {self.iteration[0]} to "
            f"{self.iteration[-1]}, value {self.value[0]:.6g} → {self.value[-1]:.6g}"
        )

    def plot(self, ax: Axes | None = None, *, bounds: Sequence[Rate] = (), **options: Any) -> Axes:
        """Value against iterations, under bounds of `pursuit.rates`; see `pursuit.plots.trace`."""
        return plots.trace(self, ax=ax, bounds=bounds, **options)


@dataclass(frozen=True)
class SupportPath:
    """What a run found with each number of atoms: the last point of every support size it had.

    Attributes
    ----------
    sizes
        Numbers of distinct atoms, increasing.
    seconds
        Time in steps until then.
    value, residual
        f, and the residual norm (nan for objectives without one).
    coefs
        The coefficients, one sparse row for each size, in the scale of the atoms as given.
    """

    _entries: PathEntries
    _problem: Problem
    _start: Array
    _handles: Sequence[Atom]
    _offset: Array | None
    _scale: Array | None
    _leave: Callable[[Array], Array] | None = None

    @cached_property
    def sizes(self) -> Array:
        """Numbers of distinct atoms, increasing."""
        return np.array(sorted(self._entries), dtype=np.int64)

    @cached_property
    def seconds(self) -> Array:
        """Time in steps until each size was last left."""
        return np.array([self._entries[size][0] for size in self.sizes.tolist()])

    def __len__(self) -> int:
        return len(self.sizes)

    def __repr__(self) -> str:
        return (
            f"Path of {len(self)} points, {self.sizes[0]} to {self.sizes[-1]} atoms, "
            f"value {self.value[0]:.6g} → {self.value[-1]:.6g}"
        )

    def x(self, size: int) -> Array:
        """The point with so many atoms."""
        x = self._x(size)
        return x if self._leave is None else self._leave(x)

    def _x(self, size: int) -> Array:
        """The same in the coordinates of the run."""
        if size not in self._entries:
            listed = ", ".join(str(known) for known in self.sizes[:8])
            raise InputError(
                f"size: the run had no point with {size!r} atoms; expected one of {listed}"
                + (" …" if len(self) > 8 else "")
            )
        _, places, weights = self._entries[size]
        moves = [(-w, self._handles[j]) for w, j in zip(weights.tolist(), places, strict=True)]
        f, atoms = self._problem.f, self._problem.atoms
        if not isinstance(self._start, np.ndarray):  # kept as factors
            point = choose(f, atoms, self._start)
            for gamma, z in moves:
                point.move(gamma, z)
            return point.vector
        x = self._start.astype(np.float64)
        for gamma, z in moves:
            x -= gamma * atoms.vector(z).astype(np.float64)
        return x.astype(weights.dtype)

    @cached_property
    def value(self) -> Array:
        """f at each point, computed anew from its coefficients."""
        points = (self._x(size).astype(np.float64) for size in self.sizes.tolist())
        return np.array([self._problem.f.value(x) for x in points])

    @cached_property
    def residual(self) -> Array:
        """The residual norm at each point."""
        if getattr(self._problem.f, "signal_norm", None) is None:
            return np.full(len(self), np.nan)
        norms: Array = np.sqrt(2 * self.value)
        return norms

    @cached_property
    def coefs(self) -> Any:
        """The coefficients, one sparse row for each size."""
        from scipy.sparse import csr_array

        entries = [self._entries[size] for size in self.sizes.tolist()]
        ends = np.cumsum([0, *(len(places) for _, places, _ in entries)])
        places = np.concatenate([places for _, places, _ in entries])
        weights = np.concatenate([weights for _, _, weights in entries])
        coefs = csr_array((weights, places, ends), shape=(len(self), len(self._handles)))
        if self._offset is not None:
            coefs = coefs + csr_array(np.tile(self._offset, (len(self), 1)))
        return coefs if self._scale is None else coefs.multiply(1 / self._scale).tocsr()

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Value against the number of atoms; see `pursuit.plots.path`."""
        return plots.path(self, ax=ax, **options)


QUICK = 1_000_000
"""n·d·min(n, d) up to which a certificate costs less than a blink."""


@dataclass(frozen=True)
class Origin:
    """What a result came from: the problem that the method ran on, its start and its rules.

    `beta` is β_t of an accelerated method, by which its bound on f(x_t) − f* has fallen; `given`
    is the problem with the atoms as the user gave them, and `enter` the way from the coordinates of
    the result to those of the run, where they differ.
    """

    problem: Problem
    start: Array
    method: Method
    beta: float = 0.0
    given: Problem | None = None
    enter: Callable[[Array], Array] | None = None

    def seen(self, x: Array) -> Array:
        """x in the coordinates of the run."""
        return x if self.enter is None else self.enter(x)

    @cached_property
    def suboptimality(self) -> SuboptimalityBound | None:
        """Bounds f + g less its minimum, for the atoms as given; None where nothing is known."""
        return None if self.given is None else SuboptimalityBound.of(self.given)

    @property
    def quick(self) -> bool:
        """Whether a certificate is cheap enough to be made for printing."""
        atoms = self.problem.atoms
        if not (atoms.penalty.free or atoms.one_sided):  # a few products
            return True
        d = int(np.prod(atoms.shape))
        n = d if atoms.finite is None else len(atoms.finite)
        return n * d * min(n, d) <= QUICK and atoms.moments_known


@dataclass(frozen=True)
class Result:
    """The end of a run.

    Attributes
    ----------
    x
        The point found.
    weights, support
        x = x0 + Σ weights_k z_k over the atoms in use, in the scale of the atoms as given;
        `support` holds their row numbers, or their places in `used` for an infinite set.
    used
        The atoms behind `support`: handles of the set.
    value, slope
        f(x) and max \\|⟨∇f(x), z⟩\\| over the atoms that the method ran on, both at this x and in
        float64, whatever the run kept up to date on its way. With a penalty g: f(x) + g(w), and the
        largest distance of −⟨∇f(x), z_j⟩ from ∂g_j(w_j).
    method, why
        The name of the method, and what it was chosen for where nobody named one.
    status, message, success
        How it ended, in words, and whether a stopping test was met.
    iterations, counts, trace, seconds
        The work done.
    state
        What `solve(..., resume=result)` continues from.
    path
        The value and the coefficients at each number of atoms, for methods that correct all
        coefficients ("orthogonal", "blended"); None otherwise.
    origin
        The problem, the start and the rules: what `certificate` is made from.
    """

    x: Array
    weights: Array
    support: Array
    used: list[Atom]
    size: int
    value: float
    slope: float
    status: Status
    message: str
    method: str
    iterations: int
    seconds: float
    counts: Counts
    trace: Trace
    state: State
    origin: Origin | None = None
    path: SupportPath | None = None
    why: str = ""

    @property
    def success(self) -> bool:
        return self.status.success

    @property
    def rng(self) -> int:
        """The integer that random directions came from, given or drawn."""
        seed: int = self.state.numbers["rng"]
        return seed

    @cached_property
    def coef(self) -> Any:
        """The coefficients as a sparse array of shape (number of atoms,)."""
        from scipy.sparse import coo_array

        return coo_array((self.weights, (self.support,)), shape=(self.size,))

    @cached_property
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def gap(self) -> float:
        """A proved bound on f + g less its minimum, by duality; inf where none is known."""
        origin = self.origin
        if origin is None or origin.given is None or origin.suboptimality is None:
            return inf
        x = origin.seen(self.x)
        return origin.suboptimality(x, coefficients(origin.given, x, self.support, self.weights))

    @cached_property
    def certificate(self) -> Certificate:
        """A proved bound on f(x) − f*, or the constant that is missing; made when asked for."""
        from pursuit.certificates import certify  # few ask for it, and solve starts sooner

        return certify(self)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Value against iterations."""
        return self.trace.plot(ax=ax, **options)

    def _facts(self) -> dict[str, str]:
        return {
            "method": f"{self.method}, chosen for {self.why}" if self.why else self.method,
            "status": f"{self.status.name}: {self.message}",
            "value": f"{self.value:.10g}",
            "slope": f"{self.slope:.4g}",
            "atoms": f"{len(self.support)} of {self.size} in use",
            "iterations": f"{self.iterations} in {self.seconds:.3g} s",
            "products": f"{self.counts.products:.6g} (set-up {self.counts.setup:.6g}), "
            f"{self.counts.oracle_calls} oracle calls",
            "certificate": self._proved(),
        }

    def __str__(self) -> str:
        return "\n".join(f"{name:>11}: {text}" for name, text in self._facts().items())

    def _repr_html_(self) -> str:
        curve = html.sparkline(self.trace.value, "the value, observation by observation")
        return html.page("Result", html.facts(self._facts(), {"trace of the value": curve}))

    def _proved(self) -> str:
        """The certificate, where it is there or costs next to nothing."""
        quick = self.origin is not None and self.origin.quick
        return str(self.certificate) if quick or "certificate" in vars(self) else "on request"

    __repr__ = __str__


def make_result(state: RunState, end: Termination, last_row: Sequence[TraceRow] = ()) -> Result:
    """Return the result of a run that ended where the state is, with the last row of its trace."""
    problem, x, evaluation = state.problem, state.stepper.x, state.evaluation
    in_use = evaluation.weights != 0
    support, weights = evaluation.used[in_use], evaluation.weights[in_use]
    path = None
    if state.path is not None:
        # A point is put together from the atoms that the method ran on.
        parts = (problem.problem, problem.start, x.ledger.handles, state.coef0, problem.norms)
        path = SupportPath(state.path, *parts)
    status, message = end
    return Result(
        x=evaluation.x,
        weights=weights,
        support=support,
        used=x.ledger.atoms_at(support),
        size=x.ledger.size,
        value=evaluation.value,
        slope=evaluation.dual_norm,
        status=status,
        message=message,
        method=problem.method.name,
        why=problem.why,
        iterations=state.t,
        seconds=state.seconds,
        counts=x.counts,
        trace=Trace([*state.records, *last_row]),
        state=state.stored(),
        origin=Origin(
            problem.problem, problem.start, problem.method, state.stepper.beta, problem.original
        ),
        path=path,
    )
