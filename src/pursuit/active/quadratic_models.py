"""A quadratic model of a linear model on a working set, minimised with its penalty.

Epochs of coordinate descent find out which coefficients stay, and Newton steps on the face of
those (signs kept, no bound crossed) find their values: what `orthogonal` does, carried over to
penalties. Where a step leaves the face it is clipped, or ends on the edge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from pursuit.active.columns import Columns
from pursuit.active.terms import Face, Terms
from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.validation import Array
from pursuit.linalg.conjugate_gradients import Apply, conjugate_gradients

EPOCHS, CHEAP, LARGE = (3, 50), 1_000_000, 100
"""The fewest and the most epochs of coordinate descent between two steps on the support; so many
multiplications are nothing, and an epoch takes the time of as many rows of a factorisation."""
ROUNDS = 60
"""The most of these steps."""
CLIPPED, HALVINGS = 0.25, 8
"""The share of its promise that a clipped step has to keep, and how many ends of it are tried."""
JITTER, TRIES = 1e-13, 100
"""Of the largest curvature, what keeps a Gram matrix of dependent columns definite; and how often
it may be raised."""
CG_ROUNDS, CG_STEPS, CG_EPOCHS = 10, 60, 6
"""The most of them where they are made by conjugate gradients, the most steps of these, and the
fewest epochs between them."""
FLAT = 0.3
"""The share of what is enough at which conjugate gradients end."""


class QuadraticModel(ABC):
    """c·δ + ½ δᵀHδ + penalty(w + δ), H = Xᵀ diag(h) X + diag(l2)."""

    @abstractmethod
    def minimise(self, w: Array, c: Array, enough: float) -> Array:
        """The w at which slopes are `enough` small, from one with slopes c."""


class DescentModel(QuadraticModel):
    """Minimised by coordinate descent and steps on faces."""

    terms: Terms
    curvatures: Array
    """The diagonal of H."""
    rounds: int = ROUNDS
    fewest: int = EPOCHS[0]

    def minimise(self, w: Array, c: Array, enough: float) -> Array:
        w, self.epochs = w.copy(), self.fewest
        # A coefficient that no sample sees, or hardly, costs its weight for nothing.
        weights = self.terms.weights
        w[(self.curvatures == 0) & (np.abs(c) <= weights) & (weights > 0)] = 0.0
        self._begin(w, c)
        for _ in range(self.rounds):
            if not self.terms.smooth and self._epochs(w, enough) <= enough:
                break
            slopes = self._slopes(w)
            if self.terms.smooth and np.abs(slopes).max() <= enough:
                break
            face = self.terms.face(w)
            if not len(face.places):
                continue
            self._move(w, face, self._step(face, slopes, enough))
        return w

    def _step(self, face: Face, slopes: Array, enough: float) -> Array:
        """The minimiser on the face, or a step towards it that stays there."""
        tilted = slopes[face.places] + face.tilt
        step, curved = self._newton(face, tilted, enough)
        if not face.leaves(step):
            return step

        def gain(step: Array) -> float:
            return -float(tilted @ step + 0.5 * step @ curved(step))

        promise, best, most = gain(step), step, 0.0
        for halvings in range(HALVINGS):  # along the edges, from its far end
            clipped = face.clipped(0.5**halvings * step)
            gained = gain(clipped)
            if gained <= most and most > 0:
                break
            if gained > most:
                best, most = clipped, gained
            if most >= CLIPPED * promise:
                return best
        self.epochs = min(2 * self.epochs, EPOCHS[1])  # signs are not found yet
        return best if most > 0 else face.up_to_edge(step)

    @abstractmethod
    def _begin(self, w: Array, c: Array) -> None:
        """Be at w, with slopes c."""

    @abstractmethod
    def _epochs(self, w: Array, enough: float) -> float:
        """Epochs of coordinate descent; by how much the last one changed a slope at most."""

    @abstractmethod
    def _slopes(self, w: Array) -> Array:
        """Of the model without its penalty."""

    @abstractmethod
    def _newton(
        self, face: Face, tilted: Array, enough: float
    ) -> tuple[Array, Callable[[Array], Array]]:
        """The minimiser on the space of the face, and what applies H there."""

    @abstractmethod
    def _move(self, w: Array, face: Face, step: Array) -> None:
        """Make a step on a face."""


class GramModel(DescentModel):
    """H as a matrix."""

    def __init__(self, gram: Array, terms: Terms) -> None:
        self.terms = terms
        self.H = gram
        self.H.flat[:: len(gram) + 1] += terms.l2
        self.curvatures = self.H.diagonal()
        # As many as cost next to nothing, or about what a factorisation does.
        most = max(EPOCHS[0], CHEAP // len(gram) ** 2, len(gram) // LARGE)
        self.fewest = min(most, EPOCHS[1])

    def _begin(self, w: Array, c: Array) -> None:
        self.c = c.copy()

    def _epochs(self, w: Array, enough: float) -> float:
        from pursuit.kernels.working_set import gram_epochs

        return gram_epochs(self.H, self.c, w, *self.terms.parts, self.epochs, enough)

    def _slopes(self, w: Array) -> Array:
        return self.c

    def _newton(
        self, face: Face, tilted: Array, enough: float
    ) -> tuple[Array, Callable[[Array], Array]]:
        dposv = scipy_linalg().lapack.dposv
        whole = len(face.places) == len(self.H)
        H = self.H if whole else self.H[np.ix_(face.places, face.places)]
        definite = H.T.copy(order="F")
        jitter = JITTER * max(float(definite.diagonal().max()), 1e-300)
        for _ in range(TRIES):  # numbers that are none never become definite
            definite.flat[:: len(definite) + 1] += jitter
            _, step, info = dposv(definite, -tilted, lower=0)
            if info == 0:
                break
            jitter *= 100
        return step, H.__matmul__

    def _move(self, w: Array, face: Face, step: Array) -> None:
        w[face.places] = face.after(step)
        if len(face.places) == len(w):
            self.c += self.H @ step
        else:
            self.c += step @ self.H[face.places]


class ResidualModel(DescentModel):
    """H by its columns: v = g + h·(Xδ) is kept."""

    rounds = CG_ROUNDS
    fewest = CG_EPOCHS

    def __init__(self, columns: Columns, g: Array, h: Array, terms: Terms) -> None:
        self.terms, self.columns = terms, columns
        self.g, self.h = g, h
        self.curvatures = columns.curvatures(h) + terms.l2

    def minimise(self, w: Array, c: Array, enough: float) -> Array:
        if not self.terms.smooth:
            return super().minimise(w, c, enough)
        share = FLAT * enough / max(float(np.abs(c).max()), 1e-300)
        steps = CG_ROUNDS * CG_STEPS
        curved = self._curved(self.columns, self.terms.l2)
        return w + _solved(curved, -c, self.curvatures, share, steps)

    def _begin(self, w: Array, c: Array) -> None:
        self.v = self.g.copy()

    def _epochs(self, w: Array, enough: float) -> float:
        from pursuit.kernels.working_set import residual_epochs

        samples = (*self.columns.operands, self.h, self.v, self.curvatures)
        penalised = (self.terms.l2, w, *self.terms.parts)
        return residual_epochs(*samples, *penalised, self.epochs, enough)

    def _slopes(self, w: Array) -> Array:
        slopes: Array = self.columns.correlate(self.v) + self.terms.l2 * w
        return slopes

    def _newton(
        self, face: Face, tilted: Array, enough: float
    ) -> tuple[Array, Callable[[Array], Array]]:
        places, l2 = face.places, self.terms.l2[face.places]
        columns = self.columns
        if len(places) < columns.shape[1]:
            columns = columns.part(places)
        curved = self._curved(columns, l2)
        share = max(0.01, FLAT * enough / max(float(np.abs(tilted).max()), 1e-300))
        diagonal = self.curvatures[places]
        return _solved(curved, -tilted, diagonal, share, CG_STEPS), curved

    def _curved(self, columns: Columns, l2: Array) -> Callable[[Array], Array]:
        """What applies H to some columns."""

        def curved(step: Array) -> Array:
            bent: Array = columns.correlate(self.h * columns.combine(step)) + l2 * step
            return bent

        return curved

    def _move(self, w: Array, face: Face, step: Array) -> None:
        w[face.places] = face.after(step)
        spread = np.zeros(len(w))
        spread[face.places] = step
        self.v += self.h * self.columns.combine(spread)


def _solved(curved: Apply, b: Array, diagonal: Array, share: float, steps: int) -> Array:
    """Steps towards Hx = b, preconditioned by a diagonal, until the residual has such a share."""
    norms = np.sqrt(diagonal)
    largest = float(np.abs(b[norms > 0] / norms[norms > 0]).max(initial=0.0))
    return conjugate_gradients(curved, b, norms, share * largest, steps)
