"""A set that is known by its oracle alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pursuit.atoms.base import Atom, AtomSet
from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range
from pursuit.base.tolerances import DOUBLE
from pursuit.base.validation import Array, count, extent, positive, real_array, shaped_array, share


class Oracle(AtomSet):
    """A set of atoms given by a function d ↦ argmax \\|⟨d, z⟩\\|; its atoms are arrays.

    `solve` runs on the atoms as the function returns them, whatever their norms.

    Parameters
    ----------
    function
        d ↦ an atom that maximises \\|⟨d, z⟩\\|, as an array of the given shape; zeros where no atom
        has a product with d other than zero. It is never asked with d = 0, for which any atom will
        do, and d is its own to write into.
    shape
        The shape of the space.
    radius
        max ‖z‖, or an upper bound on it.
    sample
        generator ↦ an atom drawn at random; without it the set serves greedy methods only.
    rank
        dim lin(A); the whole space where not given.
    moments
        P̃ = E zzᵀ over the draws of `sample` on the flattened space, as a matrix or as its diagonal.
        Where it is not given, it is estimated from draws when a method or a constant needs it.
    max_leverage
        max zᵀP̃⁺z over the set, where it is known beside `moments`; else radius²/λ_min(P̃) bounds it.
    delta
        The δ of equation (3), if the function finds no more than an atom with
        \\|⟨d, z⟩\\| ≥ δ max \\|⟨d, z⟩\\|. Slopes are then the upper bounds that follow, and rates,
        statuses and certificates know it.

    Examples
    --------
    Signs of all coordinates, the corners of the cube:

    >>> import numpy as np
    >>> from pursuit import Oracle, SquaredDistance, solve
    >>> corners = Oracle(lambda d: np.where(d < 0, -1.0, 1.0), shape=4, radius=2.0)
    >>> solve(SquaredDistance([3.0, 1.0, 1.0, -1.0]), corners, max_iter=200).x.round(3).tolist()
    [3.0, 1.0, 1.0, -1.0]
    """

    def __init__(
        self,
        function: Callable[[Array], Array],
        shape: int | tuple[int, ...],
        *,
        radius: float,
        sample: Callable[[np.random.Generator], Array] | None = None,
        rank: int | None = None,
        delta: float = 1.0,
        moments: object | None = None,
        max_leverage: float | None = None,
    ) -> None:
        if not callable(function):
            raise InputError(f"function: expected a function, got {type(function).__name__}")
        if sample is not None and not callable(sample):
            raise InputError(f"sample: expected a function, got {type(sample).__name__}")
        self.function, self._sample = function, sample
        sizes = shape if isinstance(shape, tuple) else (shape,)
        self.shape = tuple(extent("shape", size) for size in sizes)
        self._radius = positive("radius", radius)
        check_range("radius", np.array(self._radius))
        size = int(np.prod(self.shape))
        self._rank = size if rank is None else count("rank", rank, minimum=1)
        if self._rank > size:
            raise InputError(f"rank: expected at most {size}, the size of the space, got {rank}")
        self.quality = share("delta", delta)
        self._second = None if moments is None else _second_moment(moments, size, self._radius)
        self._leverage = None if max_leverage is None else positive("max_leverage", max_leverage)
        if moments is None and max_leverage is not None:
            raise InputError("max_leverage: expected with moments, for it is one of those draws")
        if self._leverage is not None and self._leverage < self._rank * (1 - DOUBLE.input):
            raise InputError(
                f"max_leverage: expected at least dim lin(A) = {self._rank}, got {max_leverage:g}"
            )

    def __repr__(self) -> str:
        return f"Oracle(atoms of shape {self.shape})"

    def lmo(self, d: Array) -> Atom:
        # Copies, for functions that write into d, or each atom into the same array.
        asked = d.copy() if d.any() else np.ones(self.shape, d.dtype)
        return shaped_array("function", self.function(asked), self.shape).copy()

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        if self._sample is None:
            raise InputError("sample: this Oracle has none; expected one, or a greedy method")
        return [shaped_array("sample", self._sample(rng), self.shape).copy() for _ in range(size)]

    def vector(self, z: Atom) -> Array:
        vector: Array = z
        return vector

    @property
    def radius(self) -> float:
        return self._radius

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def max_leverage(self) -> float | None:
        return self._leverage

    def second_moment(self) -> Array | None:
        return self._second

    def spans(self, x: Array) -> bool:
        # Nothing but its dimension is known of a smaller span.
        return True


def _second_moment(value: object, size: int, radius: float) -> Array:
    """P̃ from a matrix, or from its diagonal."""
    array = real_array("moments", value).astype(np.float64)
    matrix = np.diag(array) if array.shape == (size,) else array
    if matrix.shape != (size, size):
        raise InputError(f"moments: expected shape {(size, size)} or {(size,)}, got {array.shape}")
    slack = DOUBLE.input
    if not np.allclose(matrix, matrix.T, rtol=0, atol=slack * np.abs(matrix).max()):
        raise InputError("moments: expected a symmetric matrix")
    mean = float(np.trace(matrix))  # E‖z‖²
    if not 0 < mean <= (1 + slack) * radius**2:
        raise InputError(
            f"moments: expected a trace, which is E‖z‖², above 0 and at most radius² = "
            f"{radius**2:.6g}, got {mean:.6g}"
        )
    halves: Array = (matrix + matrix.T) / 2
    return halves
