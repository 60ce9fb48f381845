"""All translations of a few templates inside a signal or an image, none of which is stored."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pursuit.atoms.base import Atom, Unit
from pursuit.atoms.forms import AtomForm
from pursuit.atoms.local import LocalAtoms, Overlaps, chunks
from pursuit.base.errors import InputError
from pursuit.base.scaling import check_nonzero, check_range, row_norms, unit_rows
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array, extent, real_array

LONG, WIDE = 8192, 256
"""The least length of a block that is transformed at once, along one axis and along each of two."""


class Position(NamedTuple):
    """Which template, and how far it is moved along the axes that it moves along."""

    template: Array
    row: Array
    column: Array


class Shifts(LocalAtoms):
    """A = {template k moved by t}, for all k and all t for which it lies inside the signal.

    With K templates of L samples over T samples these are n = K(T − L + 1) atoms; atom tK + k is
    template k at t (`place` and `number` translate). A template that is as long as the signal along
    an axis does not move along it: channels are such an axis, beside one or two along which the
    templates do move.

    Correlations are computed once, block by block by FFT; then a step of `solve` on a
    `SquaredDistance` changes the K(2L − 1) of them that it can change, and a tree of maxima finds
    the next atom. The n × T matrix is never formed.

    Parameters
    ----------
    templates
        Shape (K, *extent): ``templates[k]`` is a template, of any norm but zero.
    shape
        Of the signal: its length, (rows, columns) of an image, (channels, samples), …

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import Shifts, SquaredDistance, solve
    >>> beat = np.array([1.0, 3.0, -1.0])
    >>> signal = np.zeros(12)
    >>> signal[2:5] += 2 * beat
    >>> signal[8:11] -= beat
    >>> atoms = Shifts([beat], 12)
    >>> result = solve(SquaredDistance(signal), atoms, n_nonzero=2)
    >>> atoms.place(result.support).column.tolist(), result.weights.round(9).tolist()
    ([2, 8], [2.0, -1.0])
    """

    form = AtomForm.SHIFTS

    def __init__(self, templates: object, shape: int | tuple[int, ...]) -> None:
        array = real_array("templates", templates, minimum=2)
        check_range("templates", array, "template")
        sizes = shape if isinstance(shape, tuple) else (shape,)
        self.shape = tuple(extent("shape", size) for size in sizes)
        self.dtype = array.dtype
        self._still, self._moving, counts = _axes(array.shape[1:], self.shape)
        self._order = order = self._still + self._moving
        inner = array.transpose(0, *(axis + 1 for axis in order))
        self.templates = np.ascontiguousarray(inner.reshape(len(array), *counts.template))
        self.frame, self._given = counts.frame, array.shape[1:]
        self.rows = self.frame[1] - counts.template[1] + 1
        self.columns = self.frame[2] - counts.template[2] + 1
        self.template_norms = row_norms(self.templates.reshape(len(array), -1))
        self._check()

    def _check(self) -> None:
        check_nonzero("templates", "template", self.template_norms)
        pairs = alike(self.templates.reshape(len(self.templates), -1))
        if len(pairs):
            first, second = pairs[0].tolist()
            raise InputError(
                f"templates: template {second} is template {first} up to its scale; expected each "
                "of them once"
            )

    def __len__(self) -> int:
        return len(self.templates) * self.rows * self.columns

    def __repr__(self) -> str:
        return (
            f"Shifts of {len(self.templates)} templates of shape {self._given} over {self.shape}: "
            f"{len(self):,} atoms"
        )

    # Numbers and places -----------------------------------------------------------------

    def place(self, atoms: Any) -> Position:
        """The templates and the places of atoms, by their numbers."""
        where, template = np.divmod(np.asarray(atoms), len(self.templates))
        row, column = np.divmod(where, self.columns)
        return Position(template, row, column)

    def number(self, template: Any, column: Any, row: Any = 0) -> Array:
        """The numbers of atoms, by their templates and places."""
        sizes = len(self.templates), self.columns, self.rows
        named = zip(("template", "column", "row"), (template, column, row), sizes, strict=True)
        for name, given, size in named:
            outside = (np.asarray(given) < 0) | (np.asarray(given) >= size)
            if outside.any():
                first = np.asarray(given)[outside].flat[0]
                raise InputError(f"{name}: expected 0 … {size - 1}, got {first}")
        where = np.asarray(row) * self.columns + np.asarray(column)
        numbers: Array = where * len(self.templates) + np.asarray(template)
        return numbers

    def canonical(self, d: Array) -> Array:
        """An array of the signal's shape as (channels, rows, columns)."""
        return d.transpose(self._order).reshape(self.frame)

    def natural(self, d: Array) -> Array:
        """An array of (channels, rows, columns) in the signal's shape."""
        sizes = [self.shape[axis] for axis in self._order]
        return np.ascontiguousarray(d.reshape(sizes).transpose(np.argsort(self._order)))

    @cached_property
    def _strides(self) -> Array:
        """How far apart two places of the flattened signal are, a row and a column apart."""
        strides = np.cumprod([1, *self.shape[:0:-1]])[::-1]
        moving = [int(strides[axis]) for axis in self._moving]
        return np.array([0, 0, *moving][-2:])

    @cached_property
    def _steps(self) -> Array:
        """The places of a template's entries at the first position."""
        sizes = [self._given[axis] for axis in self._order]
        coordinates = np.indices(sizes).reshape(len(sizes), -1)
        back = [coordinates[place] for place in np.argsort(self._order)]
        steps: Array = np.ravel_multi_index(back, self.shape)
        return steps

    @cached_property
    def _entries(self) -> Array:
        return self.templates.reshape(len(self.templates), -1)

    def support(self, z: Atom) -> tuple[Array, Array]:
        template, where = self.supports(np.array([z]))
        return where[0], self._entries[template[0]]

    def supports(self, places: Array) -> tuple[Array, Array]:
        """The templates of some atoms, and where their entries lie, one row for each."""
        template, row, column = self.place(places)
        first = row * self._strides[0] + column * self._strides[1]
        return template, first[:, None] + self._steps

    # Norms ------------------------------------------------------------------------------

    @cached_property
    def norms(self) -> Array:
        return np.tile(self.template_norms, self.rows * self.columns)

    @property
    def period(self) -> int:
        return len(self.templates)

    @property
    def norm_range(self) -> tuple[float, float]:
        return float(self.template_norms.min()), float(self.template_norms.max())

    @property
    def radius(self) -> float:
        return float(self.template_norms.max())

    def norm2(self, z: Atom) -> float:
        return float(self.squares[z % len(self.templates)])

    @cached_property
    def squares(self) -> Array:
        """‖template‖², in float64."""
        flat = self._entries.astype(np.float64)
        squares: Array = np.einsum("ij,ij->i", flat, flat)
        return squares

    def astype(self, dtype: np.dtype[Any]) -> Shifts:
        return self if self.dtype == dtype else self._like(self.templates.astype(dtype))

    def unit(self) -> Unit:
        if np.abs(self.template_norms - 1).max() <= tolerances(self.dtype).equal:
            return Unit(self, None)
        scaled, _ = unit_rows(self.templates.reshape(len(self.templates), -1))
        return Unit(self._like(scaled.reshape(self.templates.shape)), self.norms)

    def given(self, templates: Array | None = None) -> Array:
        """The templates as they were given, shape (K, *extent); or others of (K, channels, rows,
        columns) in that shape."""
        sizes = [self._given[axis] for axis in self._order]
        back = [0, *(1 + axis for axis in np.argsort(self._order))]
        array = self.templates if templates is None else templates
        return array.reshape(-1, *sizes).transpose(back)

    def _like(self, templates: Array) -> Shifts:
        """The same places with other templates, as (K, channels, rows, columns)."""
        return Shifts(self.given(templates), self.shape)

    # Products ---------------------------------------------------------------------------

    def correlate(self, d: Array) -> Array:
        out = np.empty((self.rows, self.columns, len(self.templates)), self._common(d))
        for rows, columns, block in self._blocks(d):
            out[rows, columns] = np.moveaxis(block, 0, -1)
        return out.reshape(-1)

    def dual_norm(self, d: Array) -> float:
        return max(float(max(block.max(), -block.min())) for _, _, block in self._blocks(d))

    def _common(self, d: Array) -> np.dtype[Any]:
        return np.dtype(np.result_type(d.dtype, self.dtype))

    def _blocks(self, d: Array) -> Iterator[tuple[slice, slice, Array]]:
        """The correlations of blocks of places, (K, rows, columns) each, by overlap-save."""
        _, _, h, w = self.templates.shape
        signal = self.canonical(d).astype(self._common(d), copy=False)
        sizes = self._sizes
        down, across = sizes[0] - h + 1, sizes[1] - w + 1
        for top in range(0, self.rows, down):
            rows = slice(top, min(top + down, self.rows))
            for left in range(0, self.columns, across):
                columns = slice(left, min(left + across, self.columns))
                piece = signal[:, top : top + sizes[0], left : left + sizes[1]]
                block = self._valid(piece, sizes)
                yield rows, columns, block[:, : rows.stop - top, : columns.stop - left]

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        _, height, width = self.frame
        _, _, h, w = self.templates.shape
        if height == 1:
            return 1, _fast(min(width + w - 1, max(8 * w, LONG)))
        return tuple(  # type: ignore[return-value]
            _fast(min(long + short - 1, max(4 * short, WIDE)))
            for long, short in ((height, h), (width, w))
        )

    def _valid(self, piece: Array, sizes: tuple[int, int]) -> Array:
        """Σ over channels and entries of templates with a piece of signal, where no end wraps."""
        from scipy import fft

        axes = (-1,) if sizes[0] == 1 else (-2, -1)
        spectrum = fft.rfftn(piece, sizes[-len(axes) :], axes=axes)
        turned = self._spectra(sizes, piece.dtype)
        product = spectrum[0] * turned[:, 0]
        for channel in range(1, len(spectrum)):
            product += spectrum[channel] * turned[:, channel]
        valid: Array = fft.irfftn(product, sizes[-len(axes) :], axes=axes)
        return valid

    def _spectra(self, sizes: tuple[int, int], dtype: np.dtype[Any]) -> Array:
        """Conjugates of the templates' transforms."""
        from scipy import fft

        key = (sizes, dtype)
        if key not in self._transforms:
            templates = self.templates.astype(dtype, copy=False)
            axes = (-1,) if sizes[0] == 1 else (-2, -1)
            spectra = fft.rfftn(templates, sizes[-len(axes) :], axes=axes)
            self._transforms[key] = spectra.conj()
        return self._transforms[key]

    @cached_property
    def _transforms(self) -> dict[Any, Array]:
        return {}

    def correlate_some(self, d: Array, places: Array) -> Array:
        flat, out = d.reshape(-1), np.empty(len(places), self._common(d))
        for some in chunks(places):
            template, where = self.supports(places[some])
            out[some] = np.einsum("ij,ij->i", flat[where], self._entries[template])
        return out

    def combine_some(self, weights: Array, places: Array) -> Array:
        flat = np.zeros(int(np.prod(self.shape)), weights.dtype)
        for some in chunks(places):
            template, where = self.supports(places[some])
            np.add.at(flat, where, weights[some, None] * self._entries[template])
        return flat.reshape(self.shape)

    def combine(self, weights: Array) -> Array:
        places = np.flatnonzero(weights)
        if len(places) * 8 <= len(self):
            return self.combine_some(weights[places], places)
        from scipy.signal import oaconvolve

        spread = np.moveaxis(weights.reshape(self.rows, self.columns, -1), -1, 0)
        x = np.zeros(self.frame, np.result_type(weights, self.dtype))
        for k, template in enumerate(self.templates):
            x += oaconvolve(spread[k][None], template, axes=(1, 2))
        return self.natural(x)

    # Overlaps ---------------------------------------------------------------------------

    @property
    def crowding(self) -> float:
        K, _, h, w = self.templates.shape
        return float(K * min(2 * h - 1, self.rows) * min(2 * w - 1, self.columns))

    @cached_property
    def cross(self) -> Array:
        """⟨template l moved by (a, b), template k⟩ at [k, a + h − 1, b + w − 1, l]."""
        K, _, h, w = self.templates.shape
        around = ((0, 0), (h - 1, h - 1), (w - 1, w - 1))
        sizes = (_fast(3 * h - 2), _fast(3 * w - 2))
        table = np.empty((K, 2 * h - 1, 2 * w - 1, K), self.dtype)
        for k, template in enumerate(self.templates.astype(np.float64)):
            valid = self._valid(np.pad(template, around), sizes)
            table[k] = np.moveaxis(valid[:, : 2 * h - 1, : 2 * w - 1], 0, -1)
        return table

    def overlaps(self, z: Atom) -> Overlaps:
        _, _, h, w = self.templates.shape
        k, i, j = (int(number) for number in self.place(z))
        rows = slice(max(0, i - h + 1), min(self.rows, i + h))
        columns = slice(max(0, j - w + 1), min(self.columns, j + w))
        known = self.cross[k, rows.start - i + h - 1 : rows.stop - i + h - 1]
        products = known[:, columns.start - j + w - 1 : columns.stop - j + w - 1]
        return Overlaps(self._window(rows, columns), products.reshape(-1))

    def _window(self, rows: slice, columns: slice) -> Array:
        """The numbers of all atoms at a window of places."""
        K = len(self.templates)
        first = np.arange(rows.start, rows.stop)[:, None] * self.columns + columns.start
        across = np.arange((columns.stop - columns.start) * K)
        numbers: Array = (first * K + across).reshape(-1)
        return numbers

    def reach(self, where: Array, entries: Array) -> tuple[Array, Array]:
        _, _, h, w = self.templates.shape
        c, i, j = self._coordinates(where)
        top, left = int(i.min()) - h + 1, int(j.min()) - w + 1
        sizes = int(i.max()) - top + h, int(j.max()) - left + w
        piece = np.zeros((self.frame[0], *sizes), self._common(entries))
        piece[c, i - top, j - left] = entries
        valid = self._valid(piece, (_fast(sizes[0]), _fast(sizes[1])))
        rows = slice(max(0, top), min(self.rows, int(i.max()) + 1))
        columns = slice(max(0, left), min(self.columns, int(j.max()) + 1))
        inside = valid[:, rows.start - top : rows.stop - top]
        inside = inside[:, :, columns.start - left : columns.stop - left]
        return self._window(rows, columns), np.moveaxis(inside, 0, -1).reshape(-1)

    def _coordinates(self, where: Array) -> tuple[Array, Array, Array]:
        """Channel, row and column of places of the flattened signal."""
        found = np.unravel_index(where, self.shape)
        sizes = [self.shape[axis] for axis in self._still]
        channel = np.zeros_like(where)
        if sizes:
            channel = np.ravel_multi_index([found[axis] for axis in self._still], sizes)
        row, column = [np.zeros_like(where)] * (2 - len(self._moving)) + [
            found[axis] for axis in self._moving
        ]
        return channel, row, column


def alike(rows: Array) -> Array:
    """The pairs of rows that are one up to their scale, of rows none of which is zero."""
    flat, _ = unit_rows(rows.astype(np.float64))
    pivots = 1 - (flat @ flat.T) ** 2
    return np.argwhere(np.triu(pivots <= tolerances(rows.dtype).dependent, 1))


class _Sizes(NamedTuple):
    """(channels, rows, columns) of a template and of the signal."""

    template: tuple[int, int, int]
    frame: tuple[int, int, int]


def _axes(template: tuple[int, ...], shape: tuple[int, ...]) -> tuple[list[int], list[int], _Sizes]:
    """The axes along which nothing moves, those along which templates do, and their sizes."""
    if len(template) != len(shape):
        raise InputError(
            f"templates: expected templates with {len(shape)} axes, as the signal of shape "
            f"{shape}, got {len(template)}"
        )
    for axis, (short, long) in enumerate(zip(template, shape, strict=True)):
        if short > long:
            raise InputError(
                f"templates: expected templates no longer than the signal, got {short} entries "
                f"along axis {axis} of a signal of {long}"
            )
    still = [axis for axis in range(len(shape)) if template[axis] == shape[axis]]
    moving = [axis for axis in range(len(shape)) if template[axis] < shape[axis]]
    if len(moving) > 2:
        raise InputError(
            "templates: expected templates that move along at most two axes (the others as long "
            f"as the signal's), got {len(moving)}"
        )
    pad = [1] * (2 - len(moving))
    channels = int(np.prod([shape[axis] for axis in still], dtype=np.int64))
    sizes = [[channels, *pad, *(of[axis] for axis in moving)] for of in (template, shape)]
    return still, moving, _Sizes(*(tuple(size) for size in sizes))  # type: ignore[arg-type]


def _fast(length: int) -> int:
    from scipy.fft import next_fast_len

    return int(next_fast_len(length, real=True))
