"""path(): the minimisers of f + λg for many λ, each run from the one before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from pursuit import plots
from pursuit.atoms.dictionary import as_atoms
from pursuit.base.errors import InputError
from pursuit.base.status import Status
from pursuit.base.validation import Array, count, non_negative, real_array, share, shown
from pursuit.objectives.base import Objective
from pursuit.objectives.problem import Problem
from pursuit.penalties import L1, Penalty
from pursuit.solving.result import Result
from pursuit.solving.solve import solve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pursuit.methods import Method

EXACT = 1e-12
"""The share of its first slope to which what has no weight is found, before λ is known."""

MARGIN, MARGIN_ULPS = 1e-11, 64
"""λmax is raised by this share, or by so many units in the last place: what has no weight is found
up to `EXACT`, and slopes up to rounding that depends on the CPU."""

MAX_LAMBDAS = 10**6
"""The most λ of a path that nobody has listed."""


@np.errstate(all="ignore")
def path(
    f: Objective,
    atoms: object,
    penalty: Penalty | None = None,
    method: str | Method | None = None,
    *,
    lambdas: object | None = None,
    n_lambdas: int = 50,
    lambda_min_ratio: float = 1e-3,
    **options: Any,
) -> PenaltyPath:
    """Minimise f + λg for decreasing λ, each run started at the minimiser before.

    Parameters
    ----------
    f, atoms, method
        See `pursuit.solve`.
    penalty
        g at λ = 1: its weights are multiplied by λ, its bounds stay. ``L1(1)`` where not given.
    lambdas
        The λ, which are taken in decreasing order. Where not given: `n_lambdas` of them, evenly
        spaced in their logarithm, from the least λ at which no coefficient with a weight is in use
        down to `lambda_min_ratio` times that.
    n_lambdas, lambda_min_ratio
        See `lambdas`.
    **options
        Of `pursuit.solve`, for every run: `tol`, `gap_tol`, `max_iter`, `threads`, …

    Returns
    -------
    PenaltyPath
        Coefficients, values and duality gaps, one for each λ; `plot()` draws them.

    Examples
    --------
    >>> from pursuit import Coordinates, SquaredDistance, path
    >>> found = path(SquaredDistance([3.0, -0.5, -2.0]), Coordinates(3), lambdas=[2.5, 1.0])
    >>> found.coefs.toarray().tolist()
    [[0.5, 0.0, 0.0], [2.0, 0.0, -1.0]]
    """
    atoms = as_atoms(atoms)
    Problem(f, atoms)  # what is wrong with them is said before anything is asked of them
    penalty = L1(1.0) if penalty is None else penalty
    if not isinstance(penalty, Penalty):
        raise InputError(f"penalty: expected one with weights, such as L1(1), got {shown(penalty)}")
    coef = options.pop("coef0", None)
    first = options
    if lambdas is None:
        top, zero = strongest(f, atoms, penalty)
        if coef is None and zero is not None:  # a run from elsewhere ends near it, as far as tol
            coef, first = zero, options | _from_minimizer(options)
        ratio = share("lambda_min_ratio", lambda_min_ratio)
        top *= 1 + lambda_margin(np.result_type(f.dtype, atoms.dtype))
        values = np.geomspace(top, ratio * top, _runs(n_lambdas))
    else:
        values = -np.sort(-_row_of("lambdas", lambdas))
    runs: list[Result] = []
    for strength in values.tolist():
        scaled = penalty.times(strength)
        chosen = options if runs else first
        runs.append(solve(f, atoms, method, penalty=scaled, coef0=coef, **chosen))
        coef = runs[-1].coef.toarray()
    return PenaltyPath(values, tuple(runs), _charged(f, penalty, runs[0].size))


def _from_minimizer(options: dict[str, Any]) -> dict[str, float]:
    """Return the `tol` of a run whose first slope is `EXACT` times that at zero already."""
    tol = options.get("tol")
    if tol is None and options.get("gap_tol") is not None:
        return {}
    return {"tol": min(1.0, (1e-6 if tol is None else non_negative("tol", tol)) / EXACT)}


def _runs(n_lambdas: object) -> int:
    """How many runs there are to be, if anyone can wait for them."""
    runs = count("n_lambdas", n_lambdas, minimum=1)
    if runs > MAX_LAMBDAS:
        raise InputError(
            f"n_lambdas: expected an integer up to {MAX_LAMBDAS}, got {shown(n_lambdas)}"
        )
    return runs


def lambda_margin(dtype: DTypeLike) -> float:
    """Return the share of λmax that rounding may account for: above it coefficients are zero."""
    return max(MARGIN, MARGIN_ULPS * float(np.finfo(dtype).eps))


def strongest(f: Objective, atoms: object, penalty: Penalty) -> tuple[float, Array | None]:
    """Return the least λ at which no coefficient with a weight is in use at a minimiser of f + λg,
    and the coefficients of that minimiser; None where all of them are zero."""
    atoms = as_atoms(atoms)
    finite = atoms.finite
    if finite is None:
        raise InputError(f"atoms: expected a finite set, which has coefficients, got {atoms!r}")
    weights, lower, upper = penalty.parts(len(finite))
    charged = _charged(f, penalty, len(finite))
    if not charged.any():
        raise InputError(
            f"penalty: expected one with weights for λ to multiply, such as L1(1), got {penalty!r}"
        )
    x, coef = f.origin(atoms), None
    if not charged.all():  # those without a weight find their place first
        alone = penalty.only(np.flatnonzero(~charged), len(finite))
        found = solve(f, atoms, penalty=alone, tol=EXACT)
        x, coef = found.x, found.coef.toarray()
    c = finite.correlate(f.gradient(x.astype(np.float64)))
    pull = np.maximum(np.where(upper > 0, -c, -inf), np.where(lower < 0, c, -inf))
    strength = float((pull[charged] / weights[charged]).max())
    if not strength > 0:
        raise InputError(
            "penalty: no coefficient leaves zero at any λ; expected lambdas, or other bounds"
        )
    return strength, coef


@dataclass(frozen=True)
class PenaltyPath:
    """What `pursuit.path` found.

    Attributes
    ----------
    lambdas
        λ, decreasing.
    runs
        The result of `solve` at each of them.
    charged
        Which coefficients have a weight.
    """

    lambdas: Array
    runs: tuple[Result, ...]
    charged: Array

    def __len__(self) -> int:
        return len(self.runs)

    @cached_property
    def coefs(self) -> Any:
        """The coefficients, one sparse row for each λ."""
        from scipy.sparse import csr_array

        ends = np.cumsum([0, *(len(run.support) for run in self.runs)])
        places = np.concatenate([run.support for run in self.runs])
        weights = np.concatenate([run.weights for run in self.runs])
        return csr_array((weights, places, ends), shape=(len(self), self.runs[0].size))

    @cached_property
    def values(self) -> Array:
        """f + λg."""
        return np.array([run.value for run in self.runs])

    @cached_property
    def gaps(self) -> Array:
        """By how much that is above the minimum at most; inf where no bound is known."""
        return np.array([run.gap for run in self.runs])

    @cached_property
    def sizes(self) -> Array:
        """Numbers of coefficients in use."""
        return np.array([len(run.support) for run in self.runs])

    @property
    def success(self) -> bool:
        """Whether every run met its stopping test."""
        return all(run.success for run in self.runs)

    def __str__(self) -> str:
        ended = {run.status for run in self.runs}
        status = ", ".join(s.name for s in Status if s in ended)
        seconds, iterations = (
            sum(getattr(run, name) for run in self.runs) for name in ("seconds", "iterations")
        )
        rows = {
            "λ": f"{self.lambdas[0]:.4g} … {self.lambdas[-1]:.4g}, {len(self)} of them",
            "method": str(self.runs[0].method),
            "status": status,
            "in use": f"{self.sizes[0]} … {self.sizes[-1]} of {self.runs[0].size} coefficients",
            "value": f"{self.values[0]:.6g} … {self.values[-1]:.6g}",
            "gap": f"at most {self.gaps.max():.2g}",
            "iterations": f"{iterations} in {seconds:.3g} s",
        }
        return "\n".join(f"{name:>11}: {text}" for name, text in rows.items())

    __repr__ = __str__

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Coefficients against λ; see `pursuit.plots.penalty_path`."""
        return plots.penalty_path(self, ax=ax, **options)


def _charged(f: Objective, penalty: Penalty, n: int) -> Array:
    """Which coefficients have a weight: an intercept has none."""
    charged: Array = penalty.parts(n).weights > 0
    if f.intercept:
        charged[-1] = False
    return charged


def _row_of(name: str, values: object) -> Array:
    array = np.atleast_1d(real_array(name, values)).astype(np.float64)
    if array.ndim != 1 or not len(array) or array.min() <= 0:
        raise InputError(f"{name}: expected numbers above 0, got {shown(values)}")
    return array
