"""What learning gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pursuit import plots
from pursuit.base import html
from pursuit.base.status import Status
from pursuit.base.validation import Array
from pursuit.solving.checkpoint import State
from pursuit.solving.result import Observed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LearningTrace(Observed):
    """What was seen while learning, one NumPy column for each quantity.

    Attributes
    ----------
    signals : int array
        Signals learned from so far; each counts once a pass. A row is a batch of them for online
        learning, else a pass.
    seconds : float array
        Time spent, that before a `resume` included.
    objective : float array
        The mean of ½‖x − γD‖² over the signals of the row, coded before the atoms changed.
    share : float array
        Σ‖x − γD‖² / Σ‖x‖²: the share of the signals that their codes leave out.
    renewed : int array
        Atoms that were replaced after the row.
    ended : int array
        1 where a pass was over with the row, or as much as one.
    """

    _columns = ("signals", "seconds", "objective", "share", "renewed", "ended")
    _whole = ("signals", "renewed", "ended")
    signals: Array
    seconds: Array
    objective: Array
    share: Array
    renewed: Array
    ended: Array

    def __repr__(self) -> str:
        if not len(self):
            return "LearningTrace, empty"
        return (
            f"LearningTrace of {len(self)} rows, {self.signals[-1]:,} signals, share left out "
            f"{self.share[0]:.4g} → {self.share[-1]:.4g}"
        )

    def passes(self) -> Array:
        """The mean objective of each pass that is over (for an iterator, of 64 batches)."""
        ends = np.flatnonzero(self.ended) + 1
        sizes = np.diff(self.signals, prepend=0)
        parts = np.split(np.arange(len(self)), ends)[: len(ends)]
        means = [float(np.average(self.objective[p], weights=sizes[p])) for p in parts]
        return np.array(means)


@dataclass(frozen=True)
class Learned:
    """A dictionary that was learned.

    Attributes
    ----------
    atoms
        Shape (n, *shape of a signal), every one a unit vector, in the precision of the signals.
    trace
        What was seen on the way: `LearningTrace`.
    usage
        The share of signals that use each atom; for online learning the latest weigh most.
    replaced
        How many atoms were renewed, over the whole run.
    status, message, success
        How it ended, in words, and whether the test of `tol` was met.
    method, n_nonzero, nonnegative
        What was asked for.
    state
        What ``learn(…, resume=learned)`` goes on from.
    """

    atoms: Array
    trace: LearningTrace
    usage: Array
    replaced: int
    status: Status
    message: str
    method: str
    n_nonzero: int
    nonnegative: bool
    state: State

    @property
    def success(self) -> bool:
        return self.status.success

    def plot(self, ax: Axes | None = None, *, shape: tuple[int, ...] | None = None) -> Axes:
        """The atoms, most used first: pictures where they are square patches, else curves.

        `shape` says what an atom is, where that is not the shape of the signals that were given:
        ``(8, 8)`` a picture, ``(8, 8, 3)`` one in colour, ``(64,)`` a curve.
        """
        order = np.argsort(-self.usage, kind="stable")
        return plots.atoms(self.atoms[order], ax=ax, shape=shape)

    def _facts(self) -> dict[str, str]:
        n, shape = len(self.atoms), self.atoms.shape[1:]
        trace, unused = self.trace, int(np.count_nonzero(self.usage == 0))
        size = " × ".join(map(str, shape))
        kind = ", non-negative" if self.nonnegative else ""
        rows = {
            "dictionary": f"{n} atoms of {size} numbers ({self.atoms.dtype})",
            "method": f"{self.method}, {self.n_nonzero} atoms a signal{kind}",
            "status": f"{self.status.name}: {self.message}",
        }
        if len(trace):
            seen, spent = int(trace.signals[-1]), float(trace.seconds[-1])
            rows["signals"] = f"{seen:,} seen in {spent:.3g} s"
            first, last = float(trace.share[0]), float(trace.share[-1])
            rows["left out"] = f"{last:.4g} of Σ‖x‖² (at first {first:.4g})"
            least, most = float(self.usage.min()), float(self.usage.max())
            rows["usage"] = f"{least:.2%} … {most:.2%} of the signals, {unused} atoms unused"
            rows["renewed"] = f"{self.replaced} atoms"
        return rows

    def __str__(self) -> str:
        return "\n".join(f"{name:>10}: {text}" for name, text in self._facts().items())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        curve = html.sparkline(self.trace.share, "the share left out, batch by batch")
        return html.page("Learned", html.facts(self._facts(), {"trace of what is left": curve}))
