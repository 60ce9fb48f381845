"""Blocks of signals, and what all that encode them have in common: how they come in and leave."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.progress import Silent
from pursuit.base.scaling import RANGE, check_range
from pursuit.base.threads import for_each_block, new_halt
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array, in_rows
from pursuit.encoding.codes import Codes
from pursuit.encoding.plan import Plan
from pursuit.kernels import pursuit as kernels
from pursuit.kernels.pursuit import Atoms, BlockState, PursuitRules
from pursuit.kernels.simd import WIDE

ROWS = 1024
"""Atoms whose norms a thread computes at a time."""


class Block(NamedTuple):
    """Signals that are encoded together.

    Attributes
    ----------
    rows
        The signals as given.
    number
        That of the block in the whole.
    first
        The number of its first signal.
    interrupt_flag
        Where it is set meanwhile, nothing more is to be done (`pursuit.base.threads`).
    """

    rows: Array
    number: int
    first: int
    interrupt_flag: Array

    def raise_if_interrupted(self) -> None:
        """Raise where the call was interrupted: what a kernel left then is no result."""
        if self.interrupt_flag[0]:
            raise KeyboardInterrupt


class BlockEncoder(ABC):
    """Encodes one block after another in the workspace of one thread."""

    def __init__(self, atoms: Atoms, plan: Plan) -> None:
        self.atoms, self.plan = atoms, plan
        self._norm2 = np.empty(plan.block)
        self._texts = plan.description, str(plan)

    @abstractmethod
    def __call__(self, block: Block) -> Codes:
        """Return the codes of a block."""

    def load(self, block: Block) -> tuple[Array, Array, Array]:
        """Return signals, their squared norms and the squared residual norms to stop at."""
        x = contiguous(block.rows, self.plan.dtype)
        norm2 = self._norm2[: len(x)]
        kernels.sum_squares(x, norm2)
        check_rows("signals", "signal", x, norm2, block.first)
        return x, norm2, self.plan.targets2(norm2)

    def codes(self, sizes: Array, *arrays: Array) -> Codes:
        """Return codes of these sizes, from the arrays that `Codes.of` takes."""
        return Codes.of(len(self.atoms.rows), *self._texts, sizes, *arrays)


class KernelEncoder(BlockEncoder):
    """Encodes by a kernel that brings a `BlockState` to its end.

    `c` is workspace for the correlations of a block; it has the precision that signals are needed
    in.
    """

    def __init__(self, atoms: Atoms, plan: Plan, c: Array) -> None:
        super().__init__(atoms, plan)
        b, w = plan.block, plan.width
        self._c = c
        self._codes = np.empty((b, w), np.int32), np.empty((b, w)), np.empty(b, np.int32)
        self._ends = np.empty(b), np.empty(b, np.int64), np.empty(b, np.uint8)

    def __call__(self, block: Block) -> Codes:
        state = self._state(*self.load(block))
        self.run(state, rules_of(self.plan, block.interrupt_flag), block)
        block.raise_if_interrupted()
        sizes = state.size.copy()
        indices = np.empty(int(sizes.sum()), np.int32)
        values = np.empty(len(indices), self.plan.dtype)
        kernels.collect(state, self.atoms.scale, indices, values)
        residual_norms = np.sqrt(np.maximum(state.residual2, 0.0))
        ends = residual_norms, state.steps.copy(), state.status.copy()
        return self.codes(sizes, indices, values, *ends)

    @abstractmethod
    def run(self, state: BlockState, rules: PursuitRules, block: Block) -> None:
        """Bring every signal of a block to its end."""

    def _state(self, x: Array, norm2: Array, targets2: Array) -> BlockState:
        """Return the state of signals that nothing was done to yet."""
        b = len(x)
        x = x.astype(self._c.dtype, copy=False)
        arrays = (array[:b] for array in (*self._codes, *self._ends))
        state = BlockState(x, self._c[:b], norm2, targets2, *arrays)
        state.size[:], state.residual2[:], state.steps[:] = 0, norm2, 0
        state.status[:] = kernels.GOING
        return state


class BlockEncoders:
    """What the blocks of all calls share, and the workspaces of threads that are idle."""

    def __init__(
        self, make: Callable[[], Callable[[Block], Codes]], atoms: Atoms, plan: Plan, threads: Any
    ) -> None:
        # A process that was forked since may use fewer than this one, if nobody has said how many.
        self._make, self._plan, self._threads = make, plan, threads
        self._is_short = plan.is_short(*atoms.rows.shape)
        self._idle: deque[Callable[[Block], Codes]] = deque()

    def each(
        self,
        numbers: Sequence[int],
        rows: Callable[[int], Array],
        take: Callable[[int, Array, Codes], None],
        bar: Silent | None = None,
    ) -> None:
        """Call take(number, rows(number), codes) for the blocks of these numbers."""
        taken, flag, size = list[Callable[[Block], Codes]](), new_halt(), self._plan.block

        def start() -> Callable[[int], None]:
            encode = self._take()
            taken.append(encode)

            def one(place: int) -> None:
                number = numbers[place]
                signals = rows(number)
                take(number, signals, encode(Block(signals, number, number * size, flag)))

            return one

        threads = 1 if self._plan.form == "columns" else thread_count(self._threads)
        for_each_block(len(numbers), start, threads, bar, halt=flag, brief=self._is_short)
        self._idle.extend(taken)

    def _take(self) -> Callable[[Block], Codes]:
        try:
            return self._idle.pop()
        except IndexError:
            return self._make()


def rules_of(plan: Plan, interrupt_flag: Array) -> PursuitRules:
    """Return the rules of the kernels."""
    t = tolerances(plan.dtype)
    limits = plan.n_nonzero, plan.max_iter
    return PursuitRules(*limits, t.dual_norm, t.dependent, t.cancelled, interrupt_flag)


# Rows ------------------------------------------------------------------------------------------


def contiguous(rows: Array, dtype: np.dtype[Any]) -> Array:
    """Rows as kernels want them: they are compiled once more, and round in other ways, for
    arrays that may not be written."""
    return np.require(in_rows(rows, dtype), requirements="W")


def check_rows(name: str, row: str, rows: Array, norm2: Array, first: int = 0) -> None:
    """Raise InputError for a row that is not finite, or whose magnitude is out of range.

    `norm2` are the squared norms, which tell for nearly all rows that they are in order; `first`
    is the number of the first row.
    """
    least, most = RANGE[rows.dtype]
    low, high = least**2 * rows.shape[1], most**2
    if norm2.min(initial=high) >= low and norm2.max(initial=low) <= high:
        return
    unsure = np.flatnonzero(~((norm2 >= low) & (norm2 <= high)))
    for r, i in np.argwhere(~np.isfinite(rows[unsure]))[:1]:
        raise InputError(
            f"{name}: expected finite numbers, got {rows[unsure[r], i]} "
            f"in {row} {first + unsure[r]}, entry {i}"
        )
    check_range(name, rows[unsure], row, first + unsure)


def prepare_atoms(
    matrix: Array, dtype: np.dtype[Any], unit_atoms: bool, signed: bool, threads: int
) -> Atoms:
    """Return unit rows, or the rows as given, with what kernels want to know of them.

    Atoms at unit norm up to rounding are used as they are. `signed`: only coefficients above zero
    are allowed, so that the negative of an atom is another one.
    """
    rows = contiguous(matrix, dtype)
    norm2 = squared_norms(rows, threads)
    check_rows("atoms", "atom", rows, norm2)
    zero = np.flatnonzero(norm2 == 0)  # in range, and so all entries are
    if zero.size:
        raise InputError(f"atoms: atom {zero[0]} is zero; expected atoms with a direction")
    scale = np.ones(len(rows))
    if unit_atoms and not np.all(np.abs(norm2 - 1) <= tolerances(dtype).dual_norm):
        # The divisor is rounded to the type of the rows first, so that scale times row gives back
        # the atom to the last digit but one.
        norms = np.sqrt(norm2).astype(dtype)
        rows, scale = rows / norms[:, None], norms.astype(np.float64)
        norm2 = squared_norms(rows, threads)
    norm = np.sqrt(norm2)
    atoms = Atoms(rows, norm2, norm, float(norm.min()), scale, np.empty(0, np.intp))
    return atoms._replace(duplicates=equal_to_earlier(atoms, signed))


def squared_norms(rows: Array, threads: int) -> Array:
    """Return ‖row‖² of each row, in float64."""
    norm2 = np.empty(len(rows))

    def part(number: int) -> None:
        here = slice(number * ROWS, (number + 1) * ROWS)
        kernels.sum_squares(rows[here], norm2[here])

    for_each_block(-(-len(rows) // ROWS), lambda: part, threads, brief=True)
    return norm2


def equal_to_earlier(atoms: Atoms, signed: bool) -> Array:
    """Return the atoms that are an earlier one, or unless `signed` its negative, bit for bit.

    Their correlations are kept at zero, so that the earlier one is chosen whatever the rounding of
    a product is.
    """
    order = np.argsort(atoms.norm2, kind="stable")
    again = np.diff(atoms.norm2[order]) == 0
    # Only atoms of equal norm can be equal, and only if a product with some vector is.
    alike = np.sort(order[np.append(again, False) | np.append(False, again)])
    if not alike.size:
        return np.empty(0, np.intp)
    products = np.empty(len(alike))
    direction: Array = 2 + np.cos(np.arange(atoms.rows.shape[1]))
    kernels.project(atoms.rows, alike, direction, products)
    products = products if signed else np.abs(products)
    same = np.array_equal if signed else _same_line
    candidates: dict[float, list[int]] = {}
    duplicates = []
    for j, product in zip(alike.tolist(), products.tolist(), strict=True):
        earlier = candidates.setdefault(product, [])
        if any(same(atoms.rows[i], atoms.rows[j]) for i in earlier):
            duplicates.append(j)
        else:
            earlier.append(j)
    return np.array(duplicates, np.intp)


def _same_line(a: Array, b: Array) -> bool:
    return bool(np.array_equal(a, b) or np.array_equal(a, -b))


def padded_length(atoms: Atoms) -> int:
    """Return the length of a row of correlations: whole tiles."""
    tile = WIDE // atoms.rows.itemsize
    return -(-len(atoms.rows) // tile) * tile


def correlate(atoms: Atoms, x: Array, out: Array) -> None:
    """out (b, padded) = x (b, d) times the atoms; what is beyond them stays zero."""
    np.matmul(x, atoms.rows.T, out=out[:, : len(atoms.rows)])
    if atoms.duplicates.size:
        out[:, atoms.duplicates] = 0
