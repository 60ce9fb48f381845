"""Templates learned from one long signal: what returns in it, wherever it returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.atoms.shifts import Shifts, alike
from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range
from pursuit.base.validation import Array, count, extent, real_array
from pursuit.objectives.quadratic import SquaredDistance
from pursuit.solving.result import Result
from pursuit.solving.solve import solve

RIDGE = 1e-8
"""The share of the largest curvature that keeps entries of templates which hardly any atom shows
where they are."""
STEPS = 4
"""Steps of a pursuit for each atom that it may take."""


@dataclass(frozen=True)
class LearnedTemplates:
    """Templates of unit norm and what they make of the signal.

    Attributes
    ----------
    atoms
        All their translations.
    result
        Of the last pursuit over them: `result.support` are the places where they stand.
    values
        ½‖x − b‖² after the pursuit of each round.
    """

    atoms: Shifts
    result: Result
    values: Array

    @property
    def templates(self) -> Array:
        """Shape (K, *extent), the one that explains most first."""
        return self.atoms.given()

    def __repr__(self) -> str:
        first, last = self.values[0], self.values[-1]
        return (
            f"{len(self.atoms.templates)} templates, {len(self.result.support):,} times in the "
            f"signal; value {first:.6g} → {last:.6g} in {len(self.values)} rounds"
        )


def learn_templates(
    signal: object,
    n_templates: int,
    length: int | tuple[int, ...],
    *,
    n_atoms: int | None = None,
    rounds: int = 15,
    method: str = "local-orthogonal",
    seed: int = 0,
) -> LearnedTemplates:
    """Learn a few templates whose translations make up one long signal.

    Two steps take turns: pursuit over the translations of the templates, and the templates that
    are best for its coefficients, by least squares over all of them. A template that no atom uses
    is replaced by the piece of signal that is explained worst. The problem is not convex: what is
    found depends on the start, which is drawn from pieces of the signal with much energy.

    Parameters
    ----------
    signal
        A signal, an image, or either with channels (see `Shifts`).
    n_templates, length
        How many, and their length or shape.
    n_atoms
        How many times templates stand in the signal, all together; where not given, as often as
        one of them has room side by side.
    rounds
        How often the two steps take turns.
    method
        The pursuit: see `pursuit.methods`.
    seed
        Of the start.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import learn_templates
    >>> signal = np.zeros(300)
    >>> for place in (20, 90, 140, 230):
    ...     signal[place : place + 5] += [1.0, 3.0, -2.0, 1.0, 0.5]
    >>> learned = learn_templates(signal, 1, 9, n_atoms=4)
    >>> bool(learned.result.value < 1e-20)
    True
    """
    b = real_array("signal", signal)
    K, sizes = count("n_templates", n_templates, minimum=1), _sizes(length, b.shape)
    rounds = count("rounds", rounds, minimum=1)
    if not b.any():
        raise InputError("signal: it is silent; expected something to learn from")
    check_range("signal", b)
    if K > 1 and np.prod(sizes) == 1:
        raise InputError(f"n_templates: templates of one sample are all one; expected 1, got {K}")
    pieces = int(np.prod(_windows(b, sizes).shape[: b.ndim]))
    if pieces < K:
        raise InputError(
            f"n_templates: expected at most {pieces}, as a signal of shape {b.shape} has no more "
            f"pieces of shape {sizes}, got {K}"
        )
    fits = max(1, int(b.size // np.prod(sizes)))
    most = count("n_atoms", fits if n_atoms is None else n_atoms, minimum=1)
    rng = np.random.default_rng(count("seed", seed))
    templates = _distinct(_pieces(b, sizes, K, rng), rng)
    f, values = SquaredDistance(b), []
    for _ in range(rounds):
        atoms = Shifts(templates, b.shape)
        result = _coded(f, atoms, most, method)
        values.append(result.value)
        templates = _distinct(_fitted(atoms, result, b), rng)
    final = Shifts(_in_order(atoms, result, templates), b.shape).unit().atoms
    assert isinstance(final, Shifts)
    return LearnedTemplates(final, _coded(f, final, most, method), np.array(values))


def _coded(f: SquaredDistance, atoms: Shifts, most: int, method: str) -> Result:
    # No signal needs more atoms than it has samples, however many it may take.
    steps = STEPS * min(most, f.b.size)
    result = solve(f, atoms, method, n_nonzero=most, max_iter=steps, every=steps, tol=0)
    if len(result.support) > most:
        raise InputError(
            f"method: {method!r} takes many atoms at once, {len(result.support)} where n_atoms "
            f"is {most}; expected one that takes one atom at a time"
        )
    return result


def _sizes(length: int | tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    sizes = length if isinstance(length, tuple) else (length,)
    checked = tuple(extent("length", size) for size in sizes)
    if len(checked) != len(shape) or any(s > n for s, n in zip(checked, shape, strict=True)):
        raise InputError(
            f"length: expected templates that fit into a signal of shape {shape}, got {checked}"
        )
    return checked


def _windows(b: Array, sizes: tuple[int, ...]) -> Array:
    """All pieces of a size, as a view."""
    return np.lib.stride_tricks.sliding_window_view(b, sizes)


def _energies(b: Array, sizes: tuple[int, ...]) -> Array:
    """Return the energy of every piece."""
    sums = b.astype(np.float64) ** 2
    for axis, size in enumerate(sizes):
        padded = np.insert(np.cumsum(sums, axis=axis), 0, 0.0, axis=axis)
        ends = [slice(size, None) if a == axis else slice(None) for a in range(b.ndim)]
        begins = [slice(None, -size) if a == axis else slice(None) for a in range(b.ndim)]
        sums = padded[tuple(ends)] - padded[tuple(begins)]
    return np.maximum(sums, 0.0)


def _pieces(b: Array, sizes: tuple[int, ...], K: int, rng: np.random.Generator) -> Array:
    """Pieces of the signal, drawn with their energy as weight and moved to their middle."""
    energies = _energies(b, sizes)
    p = energies.reshape(-1) / energies.sum()
    drawn = rng.choice(p.size, min(K, int(np.count_nonzero(p))), replace=False, p=p)
    windows = _windows(b, sizes)
    pieces = [windows[np.unravel_index(place, energies.shape)] for place in drawn]
    while len(pieces) < K:  # of a signal that is nearly silent
        pieces.append(rng.standard_normal(sizes).astype(b.dtype))
    return np.array([_centred(piece, b.shape) for piece in pieces])


def _distinct(templates: Array, rng: np.random.Generator) -> Array:
    """The templates, with noise in place of those that are zero or another up to its scale."""
    kept = templates.copy()
    flat = kept.reshape(len(kept), -1)
    flat[~flat.any(axis=1)] = rng.standard_normal(flat.shape[1])
    while len(pairs := alike(flat)):
        flat[pairs[0, 1]] = rng.standard_normal(flat.shape[1])
    return kept


def _centred(template: Array, shape: tuple[int, ...]) -> Array:
    """The template with the middle of its energy in the middle: what moves out is lost.

    Along an axis of a signal of this shape that it fills it does not move: channels stay apart.
    """
    if not template.any():
        return template
    energy, moved = template.astype(np.float64) ** 2, template
    for axis in np.flatnonzero(np.less(template.shape, shape)):
        size = template.shape[axis]
        along = energy.sum(axis=tuple(a for a in range(template.ndim) if a != axis))
        middle = float(along @ np.arange(size)) / float(along.sum())
        by = round((size - 1) / 2 - middle)
        kept = np.roll(moved, by, axis)
        edge = np.arange(size) < by if by >= 0 else np.arange(size) >= size + by
        kept[tuple(edge if a == axis else slice(None) for a in range(template.ndim))] = 0
        moved = kept
    return moved if moved.any() else template


def _fitted(atoms: Shifts, result: Result, b: Array) -> Array:
    """The templates that are best for the coefficients: min ‖b − Σ w_i (d_k moved to t_i)‖²."""
    from scipy.sparse import csr_array

    template, where = atoms.supports(result.support)
    K, size = len(atoms.templates), where.shape[1]
    columns = template[:, None] * size + np.arange(size)
    weights = np.repeat(result.weights.astype(np.float64), size)
    spread = csr_array((weights, (where.ravel(), columns.ravel())), shape=(b.size, K * size))
    normal = (spread.T @ spread).toarray()
    normal[np.diag_indices(K * size)] += RIDGE * (normal.max() or 1.0)
    best = np.linalg.solve(normal, spread.T @ b.reshape(-1).astype(np.float64))
    fitted = atoms.given(best.reshape(atoms.templates.shape)).astype(b.dtype)
    return _renewed(fitted, b - result.x)


def _renewed(templates: Array, rest: Array) -> Array:
    """Templates that no atom uses, replaced by the pieces that are explained worst."""
    sizes = templates.shape[1:]
    kept = np.array([_centred(template, rest.shape) for template in templates])
    energies = _energies(rest, sizes)
    for k in np.flatnonzero(~kept.reshape(len(kept), -1).any(axis=1)):
        place = np.unravel_index(int(np.argmax(energies)), energies.shape)
        near = tuple(slice(max(0, p - s + 1), p + s) for p, s in zip(place, sizes, strict=True))
        kept[k] = _centred(_windows(rest, sizes)[place], rest.shape)
        energies[near] = 0
    return kept


def _in_order(atoms: Shifts, result: Result, templates: Array) -> Array:
    """The templates that explain most first."""
    used = atoms.place(result.support).template
    norms = atoms.template_norms[used]
    explained = np.bincount(used, (result.weights * norms) ** 2, len(templates))
    return templates[np.argsort(-explained, kind="stable")]
