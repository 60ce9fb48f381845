"""Pursuit by matrix products on any device, in chunks of bounded memory.

Residuals of a chunk of signals are multiplied by slices of the atoms at each step. It is the
engine's form of *products*, in the operations that every device of torch has.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from pursuit.base.errors import InputError
from pursuit.encoding.tensors.codes import CodesTensor, Filled, code_buffers, working_type

if TYPE_CHECKING:
    from pursuit.encoding.tensors import Options

MOST = 4096
"""Signals of a chunk, and atoms of a slice that are enough for a fast product."""
WORD = 8
"""Bytes of an atom's number."""
NOWHERE = -1
"""The number of no atom."""
FAR = 2.0**0.5
"""‖residual‖ over ‖signal‖ above which a run has diverged, as in the engine."""
ROUNDS = 30
"""Steps for each atom of the widest code after which rounding goes in circles, as in the engine."""
TINY = 1e-30
"""What keeps a quotient finite."""


# Work memory ---------------------------------------------------------------------------------


class MemoryShape(NamedTuple):
    """The sizes that work memory depends on.

    A pursuit keeps `bases` times as many vectors for a signal as its code has atoms; `converted`
    atoms are in another precision.
    """

    n: int
    d: int
    width: int
    itemsize: int
    bases: int
    converted: bool

    @property
    def shared(self) -> int:
        """Bytes whatever the chunk is: norms and weights, with what making them takes."""
        return 4 * self.n * self.itemsize

    @property
    def of_signal(self) -> int:
        """Bytes for a signal, but for its correlations."""
        w, d = self.width, self.d
        numbers = 6 * d + 4 * w + 16
        numbers += self.bases * (w * d + 3 * w * w + 4 * w)  # with factors of their products
        return numbers * self.itemsize + (6 * w + 16) * WORD

    def slice(self, rows: int, max_bytes: int) -> int:
        """The most atoms whose correlations with so many signals fit; 0: none do."""
        left = max_bytes - self.shared - rows * (self.of_signal + self.itemsize)
        of_atom = self.itemsize * (rows + (2 * self.d if self.converted else 0))
        return max(0, min(self.n, left // of_atom))


class Cut(NamedTuple):
    """Signals of a chunk, atoms of a slice."""

    rows: int
    atoms: int


def cut(shape: MemoryShape, signals: int, max_bytes: int) -> Cut:
    """As many signals as fit with slices of atoms that are still worth a product."""
    rows = min(signals, MOST)
    while rows > 1 and shape.slice(rows, max_bytes) < min(shape.n, MOST):
        rows = (rows + 1) // 2
    atoms = shape.slice(rows, max_bytes)
    if atoms < 1:
        least = shape.shared + shape.of_signal + 2 * shape.itemsize
        least += shape.itemsize * (2 * shape.d if shape.converted else 0)
        raise InputError(f"max_bytes: expected at least {least} for one signal, got {max_bytes}")
    return Cut(rows, atoms)


# A dictionary and its chunks of signals -----------------------------------------------------


@torch.no_grad()
def pursue(
    rows: Tensor, atoms: Tensor, bias: Tensor | None, options: Options, lead: tuple[int, ...]
) -> CodesTensor:
    """The codes of `rows` (m, d) over `atoms` (n, d) on their device."""
    dtype = working_type(rows, atoms, bias)
    _, _, width = options.limits((atoms.shape[0], atoms.shape[1]))
    steps = Steps(atoms, dtype, options, width, len(rows))
    out = code_buffers(
        options.layout,
        lead,
        len(atoms),
        width,
        options.n_nonzero is None,
        torch.empty(0, dtype=dtype, device=rows.device),
    )
    for first in range(0, len(rows), steps.cut.rows):
        x = rows[first : first + steps.cut.rows].to(dtype, copy=True)
        out.keep(first, steps.run(x if bias is None else x.sub_(bias), first))
    return out.result()


@dataclass(frozen=True, eq=False)
class Steps:
    """A dictionary and a method, for chunks of so many signals in all."""

    atoms: Tensor
    dtype: torch.dtype
    options: Options
    width: int
    signals: int

    @property
    def pursuit(self) -> type[Residuals]:
        """What is done to a chunk."""
        method, one_sided = self.options.encoding_method, self.options.one_sided
        if method.orthogonal:
            return NonnegativeSteps if one_sided else OrthogonalSteps
        if not method.cone:
            raise InputError(
                f"method: expected orthogonal or matching-pursuit on {self.atoms.device}, got "
                f"{method.name}, which runs on the CPU alone"
            )
        return MatchingSteps

    @cached_property
    def cut(self) -> Cut:
        """Signals of a chunk and atoms of a slice."""
        (n, d), size = self.atoms.shape, torch.finfo(self.dtype).bits // 8
        bases, converted = self.pursuit.bases, self.atoms.dtype != self.dtype
        shape = MemoryShape(n, d, self.width, size, bases, converted)
        return cut(shape, self.signals, self.options.max_bytes)

    def slices(self) -> Iterator[tuple[int, Tensor]]:
        """The atoms, some at a time, in the precision of the codes; and the first one's number."""
        for begin in range(0, len(self.atoms), self.cut.atoms):
            yield begin, self.atoms[begin : begin + self.cut.atoms].to(self.dtype)

    @cached_property
    def norm(self) -> Tensor:
        norm = torch.cat([torch.linalg.vector_norm(part, dim=1) for _, part in self.slices()])
        odd = ~(torch.isfinite(norm) & (norm > 0))
        if odd.any():
            where = int(odd.int().argmax())
            raise InputError(f"atoms: expected a finite norm above 0, got {norm[where]} of {where}")
        return norm

    @cached_property
    def weight(self) -> Tensor | None:
        """What makes slopes those of unit atoms; None for the atoms as given."""
        forward = self.options.forward_only
        return 1 / self.norm if self.options.unit_atoms and not forward else None

    def run(self, x: Tensor, first: int) -> Filled:
        """The codes of a chunk, whose first signal has a number in the whole."""
        norm = torch.linalg.vector_norm(x, dim=1)
        if not torch.isfinite(norm).all():
            odd = first + int((~torch.isfinite(norm)).int().argmax())
            raise InputError(f"signals: expected numbers with a finite norm in signal {odd}")
        return self.pursuit(self, x, norm).run()


# What pursuits have in common ---------------------------------------------------------------


class Chosen(NamedTuple):
    """An atom for each signal, its entries, and whether it has a slope above rounding."""

    atom: Tensor
    entries: Tensor
    ahead: Tensor


class Residuals(ABC):
    """Signals of a chunk: what is left of them, their codes, and which still go on.

    `index` and `value` (b, width) are filled from the left; `size` (b) places are in use.
    """

    bases = 0
    """How many times work memory holds as many vectors for a signal as its code has atoms."""

    def __init__(self, steps: Steps, x: Tensor, norm: Tensor) -> None:
        o, (b, w) = steps.options, (len(x), steps.width)
        n, d = steps.atoms.shape
        self.steps, self.rest, self.norm = steps, x, norm
        # Both are made from slices of the atoms: before slices are held for products.
        self.lengths, self.weight = steps.norm, steps.weight
        self.n_nonzero, self.max_iter, _ = o.limits((n, d))
        self.index = torch.full((b, w), NOWHERE, dtype=torch.int64, device=x.device)
        self.value = x.new_zeros((b, w))
        self.size = torch.zeros(b, dtype=torch.int64, device=x.device)
        self.zero = 8 * torch.finfo(x.dtype).eps * norm
        tested = o.rtol is not None or o.atol is not None
        self.target = ((o.rtol or 0.0) * norm).clamp_min(o.atol or 0.0) if tested else norm * 0 - 1
        self.going = norm > self.target
        self.slopes_buffer = x.new_empty(
            (b, steps.cut.atoms + 1)
        )  # one column more, for what is nowhere

    @abstractmethod
    def run(self) -> Filled:
        """Go on until no signal does."""

    @property
    def apart(self) -> float:
        """The distance below which an atom of unit norm is in the span of others."""
        return 8 * math.sqrt(torch.finfo(self.rest.dtype).eps)

    def filled(self) -> Filled:
        used = torch.arange(self.steps.width, device=self.size.device) < self.size[:, None]
        return Filled(self.index.where(used, 0), self.value.where(used, 0), used)

    def best(self, left_out: Tensor | None = None) -> Chosen:
        """The steepest atom of each signal, the lowest of several."""
        top = torch.full_like(self.norm, -torch.inf)
        atom = torch.zeros_like(self.size)
        for begin, part in self.steps.slices():
            slopes = self._slopes(begin, part, left_out)
            here, place = slopes.max(dim=1)
            better = here > top
            top, atom = top.where(~better, here), atom.where(~better, place + begin)
        entries = self.steps.atoms[atom].to(self.rest.dtype)
        scale = self.lengths[atom] if self.weight is None else 1
        return Chosen(atom, entries, top > self.zero * scale)

    def _slopes(self, begin: int, part: Tensor, left_out: Tensor | None) -> Tensor:
        """How steep the atoms of a slice are, as far as they may be followed."""
        slopes = self.slopes_buffer[:, : len(part)]
        torch.mm(self.rest, part.T, out=slopes)
        if self.weight is not None:
            slopes *= self.weight[begin : begin + len(part)]
        if not self.steps.options.one_sided:
            slopes.abs_()
        elif not self.steps.options.forward_only:  # those in use may shrink as well
            place = self._places(self.index, begin, len(part))
            self.slopes_buffer.scatter_(1, place, self.slopes_buffer.gather(1, place).abs_())
        if left_out is not None:
            place = self._places(left_out, begin, len(part))
            self.slopes_buffer.scatter_(1, place, -torch.inf)
        return slopes

    def _places(self, atoms: Tensor, begin: int, count: int) -> Tensor:
        """Where atoms are among the columns of a slice; others are in the last one."""
        inside = (atoms >= begin) & (atoms < begin + count)
        return torch.where(inside, atoms - begin, self.slopes_buffer.shape[1] - 1)

    def end_step(self) -> None:
        """Leave the signals that are near enough or have all their atoms."""
        left = torch.linalg.vector_norm(self.rest, dim=1)
        self.going &= (left > self.target) & (self.size < self.n_nonzero)
        far = ~(left <= FAR * self.norm)
        self.size[far], self.going[far] = 0, False


# The pursuits -------------------------------------------------------------------------------


class MatchingSteps(Residuals):
    """Matching pursuit: r ← r − γ z with γ = ⟨r, z⟩ / ‖z‖², or ⟨r, z⟩ where it is forward only."""

    def run(self) -> Filled:
        for _ in range(self.max_iter):
            if not self.going.any():
                break
            chosen = self.best()
            self.going &= chosen.ahead
            self._step(chosen)
            self.end_step()
        return self.filled()

    def _step(self, chosen: Chosen) -> None:
        gamma = (self.rest * chosen.entries).sum(dim=1)
        if not self.steps.options.forward_only:
            gamma /= self.lengths[chosen.atom].square()
        gamma = gamma.where(self.going, 0)
        place = self._place(chosen.atom)
        if self.steps.options.one_sided:
            gamma = torch.maximum(gamma, -self.value.gather(1, place)[:, 0])
        self.value.scatter_add_(1, place, gamma[:, None])
        self.rest.addcmul_(gamma[:, None], chosen.entries, value=-1)
        if self.steps.options.one_sided:
            self._leave(place)

    def _place(self, atom: Tensor) -> Tensor:
        """Where the coefficient of an atom is (b, 1); a new one comes after those in use."""
        same = self.index == atom[:, None]
        held = same.any(dim=1)
        new = self.going & ~held
        place = same.int().argmax(dim=1).where(held, self.size)
        place = place.clamp_max(self.steps.width - 1)[:, None]
        there = self.index.gather(1, place)[:, 0]
        self.index.scatter_(1, place, atom.where(new, there)[:, None])
        self.size += new
        return place

    def _leave(self, place: Tensor) -> None:
        """An atom at zero goes, and the last one takes its place."""
        gone = self.going & (self.value.gather(1, place)[:, 0] <= 0)
        last = (self.size - 1).clamp_min(0)[:, None]
        for kept, nothing in ((self.index, NOWHERE), (self.value, 0)):
            moved = kept.gather(1, last)
            kept.scatter_(1, place, moved.where(gone[:, None], kept.gather(1, place)))
            kept.scatter_(1, last, kept.gather(1, last).masked_fill(gone[:, None], nothing))
        self.size -= gone.to(self.size.dtype)


class OrthogonalSteps(Residuals):
    """Orthogonal matching pursuit: the atoms in use are made orthonormal as they come.

    An atom in their span is passed over. All signals that go on have the same number of atoms.
    """

    bases = 1

    def run(self) -> Filled:
        b, w, d = len(self.rest), self.steps.width, self.rest.shape[1]
        self.basis = self.rest.new_zeros((b, w, d))
        self.upper = torch.eye(w, dtype=self.rest.dtype, device=self.rest.device).repeat(b, 1, 1)
        self.along = self.rest.new_zeros((b, w))
        self.passed = self.index[:, :0]
        for t in range(min(w, self.max_iter)):
            if not self.going.any():
                break
            self._step(t)
            self.end_step()
        return self._solved()

    def _step(self, t: int) -> None:
        chosen, q = self._independent(t)
        self.index[:, t] = chosen.atom.where(self.going, NOWHERE)
        self.size += self.going
        self.basis[:, t] = q
        self.along[:, t] = (self.rest * q).sum(dim=1)
        self.rest.addcmul_(self.along[:, t, None], q, value=-1)

    def _independent(self, t: int) -> tuple[Chosen, Tensor]:
        """The steepest atom outside of the span of those in use, and what is outside of it."""
        while True:
            chosen = self.best(torch.cat([self.index[:, :t], self.passed], dim=1))
            self.going &= chosen.ahead
            q, along = self._orthogonalize(chosen, t)
            length = torch.linalg.vector_norm(q, dim=1)
            within = self.going & (length <= self.apart)
            if not within.any():
                break
            passed = chosen.atom.where(within, NOWHERE)[:, None]
            self.passed = torch.cat([self.passed, passed], dim=1)
        self.upper[:, :t, t] = along.where(self.going[:, None], 0)
        self.upper[:, t, t] = length.where(self.going, 1)
        return chosen, (q / length[:, None]).where(self.going[:, None], 0)

    def _orthogonalize(self, chosen: Chosen, t: int) -> tuple[Tensor, Tensor]:
        """What an atom of unit norm has along the basis, and what is left; twice for rounding."""
        q = chosen.entries / self.lengths[chosen.atom, None]
        basis, along = self.basis[:, :t], self.along[:, :t] * 0
        for _ in range(2):
            part = torch.bmm(basis, q[:, :, None])
            along += part[:, :, 0]
            q = torch.baddbmm(q[:, None], part.transpose(1, 2), basis, alpha=-1)[:, 0]
        return q, along

    def _solved(self) -> Filled:
        a = torch.linalg.solve_triangular(self.upper, self.along[:, :, None], upper=True)[:, :, 0]
        self.value = a / self.lengths[self.index.clamp_min(0)]
        return self.filled()


class NonnegativeSteps(Residuals):
    """Least squares with a ≥ 0 over the atoms in use, again after each atom that joins them.

    They are Lawson and Hanson's: an atom leaves when its coefficient comes to zero. Values are
    those of unit atoms until the end.
    """

    bases = 3

    def run(self) -> Filled:
        self.x, self.passed = self.rest.clone(), self.index[:, :0]
        self.places = torch.arange(self.steps.width, device=self.x.device)
        taken = torch.zeros_like(self.size)
        for _ in range(ROUNDS * (self.steps.width + 1)):
            if not self.going.any():
                break
            taken += self._step()
            self.end_step()
            self.going &= taken < self.max_iter
        self.value /= self.lengths[self.index.clamp_min(0)]
        return self.filled()

    def _step(self) -> Tensor:
        """Let the steepest atom join; which signals have a new one."""
        chosen = self.best(torch.cat([self.index, self.passed], dim=1))
        self.going &= chosen.ahead & (self.size < self.steps.width)
        last = (self.places == self.size[:, None]) & self.going[:, None]
        self.index = torch.where(last, chosen.atom[:, None], self.index)
        z = self._units()
        fits = SmallFits(torch.bmm(z, z.transpose(1, 2)), torch.bmm(z, self.x[:, :, None])[:, :, 0])
        refused = self.going & self._refused(fits, last)
        joined = self.going & ~refused
        self.index = self.index.masked_fill(last & refused[:, None], NOWHERE)
        a = fits.nonnegative(self.index != NOWHERE, self.value, self.zero[:, None])
        self.rest -= torch.bmm((a - self.value)[:, None], z)[:, 0] * joined[:, None]
        self.value = torch.where(joined[:, None], a, self.value)
        self._pass_over(chosen.atom, refused, joined)
        self._close_ranks()
        return joined

    def _units(self) -> Tensor:
        """The atoms listed, at unit norm, (b, width, d); zero in places that are empty."""
        places = self.index.clamp_min(0)
        z = self.steps.atoms[places].to(self.x.dtype)
        z *= ((self.index != NOWHERE) / self.lengths[places])[:, :, None]
        return z

    def _refused(self, fits: SmallFits, last: Tensor) -> Tensor:
        """Whether the last atom is in the span of the others, or would not grow: rounding."""
        listed = self.index != NOWHERE
        factor, wrong = fits.factor(listed)
        pivot = (factor.diagonal(dim1=1, dim2=2) * last).sum(dim=1)
        target = (fits.solve(factor, listed) * last).sum(dim=1)
        return (wrong != 0) | (pivot <= self.apart) | (target <= 0)

    def _pass_over(self, atom: Tensor, refused: Tensor, joined: Tensor) -> None:
        """Look no more at an atom that was refused until another one has joined."""
        self.passed = self.passed.masked_fill(joined[:, None], NOWHERE)
        if refused.any():
            new = atom.where(refused, NOWHERE)[:, None]
            self.passed = torch.cat([self.passed, new], dim=1)

    def _close_ranks(self) -> None:
        """Atoms at zero leave; the others stay in their order."""
        stays = self.value > 0
        order = (~stays).int().argsort(dim=1, stable=True)
        self.size = stays.sum(dim=1)
        kept = self.places < self.size[:, None]
        self.index = self.index.gather(1, order).where(kept, NOWHERE)
        self.value = self.value.gather(1, order).where(kept, 0)


class SmallFits:
    """Least squares over some atoms for each signal: Gram matrices, and products with it."""

    def __init__(self, gram: Tensor, b: Tensor) -> None:
        self.gram, self.b = gram, b

    def factor(self, used: Tensor) -> tuple[Tensor, Tensor]:
        """The Cholesky factor for the atoms in use, one for the others; where it fails, not 0."""
        both = used[:, :, None] & used[:, None]
        gram = torch.where(both, self.gram, torch.diag_embed((~used).to(self.gram.dtype)))
        factor, wrong = torch.linalg.cholesky_ex(gram)
        return factor, wrong

    def solve(self, factor: Tensor, used: Tensor) -> Tensor:
        """The best coefficients of the atoms in use, of any sign."""
        b = self.b.where(used, 0)[:, :, None]
        return torch.cholesky_solve(b, factor)[:, :, 0]

    def nonnegative(self, listed: Tensor, a: Tensor, zero: Tensor) -> Tensor:
        """argmin ‖x − a Z‖ over a ≥ 0 of the atoms listed, from a feasible a.

        A slope of at most `zero` is none.
        """
        used = listed
        for _ in range(ROUNDS * a.shape[1]):
            target = self.solve(self.factor(used)[0], used)
            low = used & (target <= 0)
            back = low.any(dim=1, keepdim=True)
            a, out = self._step_to(target, a, low, back)
            slope = self.b - torch.bmm(self.gram, a[:, :, None])[:, :, 0]
            slope = slope.where(listed & ~used & ~back, -torch.inf)
            enters = (slope > zero) & (slope == slope.max(dim=1, keepdim=True).values)
            if not (out.any() or enters.any()):
                break
            used = (used & ~out) | enters
        return a

    @staticmethod
    def _step_to(target: Tensor, a: Tensor, low: Tensor, back: Tensor) -> tuple[Tensor, Tensor]:
        """Go to the target, or towards it until a coefficient is zero; which ones are."""
        shares = (a / (a - target).clamp_min(TINY)).where(low, torch.inf)
        share = shares.min(dim=1, keepdim=True).values
        moved = a + share.where(back, 1) * (target - a)
        out = low & ((shares == share) | (moved <= 0))
        return moved.masked_fill(out, 0), out
