"""Matching pursuit and orthogonal pursuit, over the atoms of both signs or over a cone: each form
of a plan, from a block of signals to its codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pursuit.base.threads import for_each_block
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.encoding.block import (
    Block,
    BlockEncoder,
    KernelEncoder,
    check_rows,
    contiguous,
    correlate,
    padded_length,
    rules_of,
)
from pursuit.encoding.codes import Codes
from pursuit.encoding.methods import EncodingMethod
from pursuit.encoding.plan import Plan, Workload, choose_form
from pursuit.kernels import cone, few_atoms
from pursuit.kernels import pursuit as kernels
from pursuit.kernels.cone import ConeScratch, ConeSteps, Small
from pursuit.kernels.few_atoms import FewCodes
from pursuit.kernels.layouts import aligned
from pursuit.kernels.pursuit import Atoms, Bases, BlockState, GramCache, PursuitRules, Scratch
from pursuit.kernels.simd import NARROW

GRAM_TILE = 1024
"""Rows and columns of the Gram matrix that one product gives."""
SHORT = 2**14
"""The length of atoms up to which such a product takes well below a second."""
ATOMS_PER_THREAD = 512
"""Atoms that a thread takes at a time where one signal is worked on by all threads."""
FEW = 8
"""Up to so many atoms a dense update of all of them is cheaper than looking one up."""
_DOUBLE = np.dtype(np.float64)
_TILE = NARROW // _DOUBLE.itemsize
Maker = Callable[[], Callable[[Block], Codes]]


def choose(
    load: Workload, atoms: Atoms, method: EncodingMethod, nonnegative: bool
) -> dict[str, Any]:
    """Return what a plan says of the form and the blocks."""
    if not nonnegative:
        return choose_form(load)
    # Over a cone the Gram matrix is of float64, and not made row by row.
    return choose_form(replace(load, itemsize=8), ("gram", "products"))


def start(atoms: Atoms, plan: Plan, threads: int) -> Maker:
    """Do the dictionary's part; return what gives a thread its encoder of blocks."""
    return _STARTS[plan.nonnegative, plan.form](atoms, plan, threads)


def _start_gram(atoms: Atoms, plan: Plan, threads: int) -> Maker:
    gram = symmetric_product(atoms.rows, padded_length(atoms), threads)
    gram[:, atoms.duplicates] = 0
    if _suits_few_atoms(atoms, plan):
        return lambda: FewAtomsEncoder(atoms, plan, gram)
    return lambda: GramEncoder(atoms, plan, gram)


def _start_cone_gram(atoms: Atoms, plan: Plan, threads: int) -> Maker:
    double = _in_double(atoms)
    length = _lengths(atoms)
    unit = double.rows / (length[: len(atoms.rows), None] if plan.orthogonal else 1.0)
    gram = symmetric_product(unit, len(length), threads)
    gram[:, atoms.duplicates] = 0
    shared = double, unit, gram, length
    return lambda: ConeGramEncoder(atoms, plan, *shared)


def symmetric_product(rows: Array, padded: int, threads: int) -> Array:
    """Z Zᵀ with rows padded by zeros: the products of half of the tiles, mirrored."""
    n = len(rows)
    # One cache line more: rows a power of two apart would compete for the same few of them.
    gram = aligned((n, padded + 64 // rows.itemsize), rows.dtype)
    pieces = _slices(n, min(GRAM_TILE, -(-n // 256) * 64))
    pairs = [(a, b) for k, a in enumerate(pieces) for b in pieces[k:]]

    def part(number: int) -> None:
        here, there = pairs[number]
        np.matmul(rows[here], rows[there].T, out=gram[here, there])
        if here != there:
            gram[there, here] = gram[here, there].T

    for_each_block(len(pairs), lambda: part, threads, brief=rows.shape[1] <= SHORT)
    return gram


def _slices(total: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]


def _scratch(atoms: Atoms, plan: Plan) -> Scratch:
    width = plan.width if plan.orthogonal else 0
    return Scratch(
        np.zeros(len(atoms.rows), np.int32),
        aligned((width * padded_length(atoms),), plan.dtype),
        np.zeros((width, width)),
        np.zeros(width),
        np.zeros(width, plan.dtype),
        np.zeros(width),
        np.empty(atoms.rows.shape[1], plan.dtype),
    )


# Both signs --------------------------------------------------------------------------------


class GramEncoder(KernelEncoder):
    """One product for the correlations of a block, then one pass over a row of G for each step."""

    def __init__(self, atoms: Atoms, plan: Plan, gram: Array) -> None:
        super().__init__(atoms, plan, aligned((plan.block, padded_length(atoms)), plan.dtype))
        self.gram = GramCache(gram, np.arange(len(gram), dtype=np.int32))
        self.scratch = _scratch(atoms, plan)
        self.kernel = kernels.orthogonal if plan.orthogonal else kernels.matching_pursuit

    def run(self, state: BlockState, rules: PursuitRules, block: Block) -> None:
        correlate(self.atoms, state.x, state.c)
        self.kernel(self.atoms, self.gram, rules, state, self.scratch)


class ColumnsEncoder(KernelEncoder):
    """One signal at a time, all threads on it; columns of G are kept from signal to signal."""

    def __init__(self, atoms: Atoms, plan: Plan, threads: int) -> None:
        length = padded_length(atoms)
        super().__init__(atoms, plan, aligned((1, length), plan.dtype))
        self.threads = threads
        self.pieces = _slices(len(atoms.rows), ATOMS_PER_THREAD)
        self.slot = np.full(len(atoms.rows), -1, np.int32)
        self.cached: list[int] = []
        self.capacity = max(2 * plan.width, 64)
        self.columns = aligned((self.capacity, length), plan.dtype)
        self.scratch = _scratch(atoms, plan)
        self.kernel = kernels.orthogonal if plan.orthogonal else kernels.matching_pursuit

    def run(self, state: BlockState, rules: PursuitRules, block: Block) -> None:
        c = state.c[0]
        self._correlate(state.x[0], c)
        while True:
            gram = GramCache(self.columns, self.slot)
            missing = self.kernel(self.atoms, gram, rules, state, self.scratch)
            if missing == kernels.NOTHING:
                break
            self._fetch(missing, c)

    def _correlate(self, x: Array, c: Array) -> None:
        rows = self.atoms.rows

        def part(number: int) -> None:
            here = self.pieces[number]
            np.matmul(rows[here], x, out=c[here])

        for_each_block(len(self.pieces), lambda: part, self.threads, brief=True)
        c[self.atoms.duplicates] = 0

    def _fetch(self, missing: int, c: Array) -> None:
        """Columns of the missing atom and of the best others that are not there yet."""
        rows = self.atoms.rows
        width = min(NARROW // rows.itemsize, len(rows) - len(self.cached))
        size = np.abs(c[: len(rows)])
        size[self.slot >= 0] = -1.0
        size[missing] = np.inf
        chosen = np.argpartition(size, -width)[-width:]
        if len(self.cached) + width > self.capacity:
            self._forget()
        spread = np.zeros((rows.shape[1], NARROW // rows.itemsize), rows.dtype)
        spread[:, :width] = rows[chosen].T
        places = np.arange(len(self.cached), len(self.cached) + width)
        self._multiply(spread, places)
        self.slot[chosen] = places
        self.cached.extend(chosen.tolist())

    def _forget(self) -> None:
        """Drop the older half of the columns."""
        keep = self.cached[len(self.cached) // 2 :]
        self.columns[: len(keep)] = self.columns[self.slot[keep]]
        self.slot[:] = -1
        self.slot[keep] = np.arange(len(keep), dtype=np.int32)
        self.cached = keep

    def _multiply(self, spread: Array, places: Array) -> None:
        rows = self.atoms.rows

        def part(number: int) -> None:
            here = self.pieces[number]
            products = np.zeros((len(rows[here]), spread.shape[1]), rows.dtype)
            kernels.correlate_few(rows[here], spread, products)
            self.columns[places, here] = products.T[: len(places)]

        for_each_block(len(self.pieces), lambda: part, self.threads, brief=True)
        self.columns[np.ix_(places, self.atoms.duplicates)] = 0


class ProductsEncoder(KernelEncoder):
    """The residuals of a block, multiplied by the dictionary at each step."""

    def __init__(self, atoms: Atoms, plan: Plan) -> None:
        super().__init__(atoms, plan, aligned((plan.block, padded_length(atoms)), plan.dtype))
        b, d, width = plan.block, atoms.rows.shape[1], plan.width
        self.rest = np.empty((b, d), plan.dtype)
        if plan.orthogonal:
            q = np.empty((b, width, d), plan.dtype)
            self.bases = Bases(q, np.zeros((b, width, width)), np.zeros((b, width)))

    def run(self, state: BlockState, rules: PursuitRules, block: Block) -> None:
        rest = self.rest
        rest[: len(state.x)] = state.x
        state.status[state.norm2 <= state.target2] = kernels.CONVERGED
        while (live := np.flatnonzero(state.status == kernels.GOING)).size:
            correlate(self.atoms, rest[live], self._c[: live.size])
            if self.plan.orthogonal:
                kernels.step_orthogonally(self.atoms, rules, state, rest, live, self.bases)
            else:
                kernels.step_from_residuals(self.atoms, rules, state, rest, live)


# A handful of atoms ------------------------------------------------------------------------


def _suits_few_atoms(atoms: Atoms, plan: Plan) -> bool:
    """Matching pursuit over few unit atoms, no limit on them, no residual to watch."""
    n, d = atoms.rows.shape
    is_small = n <= FEW and n < plan.n_nonzero and d >= NARROW // plan.dtype.itemsize
    is_unit = bool(np.all(np.abs(atoms.norm2 - 1) <= 2 * tolerances(plan.dtype).dual_norm))
    # Steps are counted in lanes, in the type of the signals.
    is_countable = plan.max_iter < 2**23
    return is_small and is_unit and is_countable and not (plan.orthogonal or plan.has_target)


class FewAtomsEncoder(BlockEncoder):
    """Matching pursuit over a handful of atoms, many signals side by side."""

    def __init__(self, atoms: Atoms, plan: Plan, gram: Array) -> None:
        super().__init__(atoms, plan)
        self.few = few_atoms.few_atoms(atoms.rows, gram, atoms.duplicates, atoms.scale)
        self.tile = few_atoms.tile_for(self.few)

    def __call__(self, block: Block) -> Codes:
        x, b = contiguous(block.rows, self.plan.dtype), len(block.rows)
        norm2, entries = self._norm2[:b], b * len(self.atoms.rows)
        out = FewCodes(
            np.empty(b, np.int32),
            np.empty(entries, np.int32),
            np.empty(entries, self.plan.dtype),
            np.empty(b),
            np.empty(b, np.int64),
            np.empty(b, np.uint8),
        )
        rules = rules_of(self.plan, block.interrupt_flag)
        used = few_atoms.matching_pursuit(self.few, rules, x, norm2, self.tile, out)
        block.raise_if_interrupted()
        check_rows("signals", "signal", x, norm2, block.first)
        return self.codes(*out._replace(indices=out.indices[:used], values=out.values[:used]))


# Over a cone -------------------------------------------------------------------------------


def _in_double(atoms: Atoms) -> Atoms:
    return atoms._replace(rows=atoms.rows.astype(_DOUBLE))


def _lengths(atoms: Atoms) -> Array:
    """The norms of the atoms, exactly one where they are at unit norm, in whole tiles."""
    length = aligned((-(-len(atoms.rows) // _TILE) * _TILE,), _DOUBLE)
    zero = tolerances(atoms.rows.dtype).dual_norm
    is_unit = np.all(np.abs(atoms.norm2 - 1) <= 2 * zero)
    length[: len(atoms.rows)] = 1.0 if is_unit else atoms.norm
    return length


def _cone_steps(atoms: Atoms, plan: Plan) -> ConeSteps:
    """Exact steps in both directions; or ⟨residual, atom⟩ for the atoms as given, forward only."""
    if plan.forward_only:
        return ConeSteps(np.ones(len(atoms.rows)), back=False)
    return ConeSteps(atoms.norm2, back=True)


def _cone_rules(plan: Plan, rules: PursuitRules) -> PursuitRules:
    """The rules where products of atoms are float64: what is dependent, of atoms in their type."""
    rounded = tolerances(plan.dtype).dual_norm ** 2
    return rules._replace(dependent=max(tolerances(_DOUBLE).dependent, rounded))


def _cone_scratch(atoms: Atoms, plan: Plan, slopes: int) -> ConeScratch:
    w, d = plan.width if plan.orthogonal else 0, atoms.rows.shape[1]
    fit = np.zeros((w, w)), np.zeros(w), np.zeros(w)
    rounding = tolerances(_DOUBLE).dual_norm, plan.dtype == np.float32
    return ConeScratch(aligned((slopes,), _DOUBLE), np.zeros(d), *fit, *rounding)


class ConeGramEncoder(KernelEncoder):
    """One product for the correlations of a block, then rows of the Gram matrix for each step.

    All in float64. Orthogonal pursuit has the Gram matrix of the atoms at unit norm, `unit`,
    matching pursuit that of the atoms.
    """

    def __init__(
        self, atoms: Atoms, plan: Plan, double: Atoms, unit: Array, gram: Array, length: Array
    ) -> None:
        super().__init__(atoms, plan, aligned((plan.block, len(length)), _DOUBLE))
        self.double, self.unit, self.gram, self.length = double, unit, gram, length
        self.steps, self.scratch = _cone_steps(atoms, plan), _cone_scratch(atoms, plan, len(length))
        self.few = np.zeros((unit.shape[1], _TILE)) if len(unit) <= _TILE else None
        if self.few is not None:
            self.few[:, : len(unit)] = unit.T

    def run(self, state: BlockState, rules: PursuitRules, block: Block) -> None:
        self._correlate(state.x, state.c)
        rules = _cone_rules(self.plan, rules)
        if self.plan.orthogonal:
            cone.orthogonal(self.double, self.length, self.gram, rules, state, self.scratch)
        else:
            arguments = self.double, self.steps, self.gram, rules, state, self.scratch.rest
            cone.matching_pursuit(*arguments)

    def _correlate(self, x: Array, out: Array) -> None:
        """out (b, padded) = x (b, d) times the atoms; what is beyond them stays zero."""
        if self.few is None:
            np.matmul(x, self.unit.T, out=out[:, : len(self.unit)])
        else:  # a matrix product would take longer to begin
            out[:] = 0
            kernels.correlate_few(x, self.few, out)
        if self.atoms.duplicates.size:
            out[:, self.atoms.duplicates] = 0


class ConeProductsEncoder(KernelEncoder):
    """The residuals of a block, multiplied by the dictionary at each step."""

    def __init__(self, atoms: Atoms, plan: Plan) -> None:
        super().__init__(atoms, plan, aligned((plan.block, padded_length(atoms)), plan.dtype))
        self.length, self.steps = _lengths(atoms), _cone_steps(atoms, plan)
        self.scratch = _cone_scratch(atoms, plan, 0)
        self.residual = np.empty(atoms.rows.shape[1], plan.dtype)
        b, w = plan.block, plan.width
        self.rest = np.empty((b, atoms.rows.shape[1]), plan.dtype)
        if plan.orthogonal:
            square, row, places = (b, w, w), (b, w), np.empty((b, w), np.int32)
            self.small = Small(
                *(np.empty(square), np.empty(row), places),
                *(np.empty(square), np.empty(row), np.empty_like(places)),
            )

    def run(self, state: BlockState, rules: PursuitRules, block: Block) -> None:
        rest, rules = self.rest, _cone_rules(self.plan, rules)
        rest[: len(state.x)] = state.x
        state.status[state.norm2 <= state.target2] = kernels.CONVERGED
        if self.plan.orthogonal:
            self.small.order[:] = np.arange(self.plan.width)
        while (live := np.flatnonzero(state.status == kernels.GOING)).size:
            correlate(self.atoms, rest[live], self._c[: live.size])
            if self.plan.orthogonal:
                arguments = rules, state, rest, live, self.small, self.scratch
                cone.step_orthogonally(self.atoms, self.length, *arguments)
            else:
                what = rules, state, rest, live, self.residual
                cone.step_from_residuals(self.atoms, self.steps, *what)


_STARTS: dict[tuple[bool, str], Callable[[Atoms, Plan, int], Maker]] = {
    (False, "gram"): _start_gram,
    (False, "columns"): lambda atoms, plan, threads: lambda: ColumnsEncoder(atoms, plan, threads),
    (False, "products"): lambda atoms, plan, threads: lambda: ProductsEncoder(atoms, plan),
    (True, "gram"): _start_cone_gram,
    (True, "products"): lambda atoms, plan, threads: lambda: ConeProductsEncoder(atoms, plan),
}
"""The encoders, by whether coefficients are non-negative and by the form of the plan."""
