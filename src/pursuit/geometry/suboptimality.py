"""Bounds on f(x) less its minimum, over lin(A) or with a penalty on coefficients.

They are inequalities in exact arithmetic, evaluated in float64 at the stored x, plus one allowance
for rounding: `Tolerances.certificate` times the sum of the magnitudes of the terms that were added
up. Where a curvature cannot be told from rounding no bound is made of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.atoms.forms import AtomForm
from pursuit.atoms.lin import Lin
from pursuit.base.products import times
from pursuit.base.scaling import row_norms
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.objectives.base import HessianBound, Objective
from pursuit.objectives.linear_models import LinearModel
from pursuit.objectives.maps import image_sums, magnitudes
from pursuit.objectives.problem import Problem
from pursuit.objectives.regression import Squares
from pursuit.penalties import Parts, Penalty

LARGEST = 4000
"""The largest dimension in which curvatures are computed from singular values."""
ENTRIES = 30_000_000
"""The most entries of a matrix that singular values are computed of."""
CHEAP = 10_000_000
"""The size n²·m of singular values that cost no more than a few products."""
FREE = 500
"""The most coefficients without a penalty that a dual point is made orthogonal to."""
INDEPENDENT = 2.0**-26
"""The smallest singular value of the images of these, relative to the largest one."""
PERCEPTRON_STEPS = 100
"""Steps to find a direction in which all coefficients of one sign may be led."""
LEAST_COSINE = 1e-9
"""The cosine that the image of each of them must have with it."""


# Curvature ------------------------------------------------------------------------------


class Curvatures(NamedTuple):
    """E H Eᵀ = D U diag(s²) Uᵀ D for the rows of E along which f is curved.

    `rows` are the places of these, `scales` the diagonal of D, `axes` the columns of U and `roots`
    a lower bound on each s.
    """

    rows: Array
    scales: Array
    axes: Array
    roots: Array


def curvatures(bound: HessianBound) -> Curvatures | None:
    """Return the curvatures of f along the rows of a frame; None if one is zero up to rounding.

    Rows are scaled to curvature one. A singular value of what remains is known up to a shift, which
    Weyl's inequality gives, and it is lowered by that. Directions in which the Hessian is zero by
    construction (more rows than samples) are left out: the gradient is zero along these as well.
    """
    J, (n, columns) = bound.product, bound.product.shape
    diagonal = row_norms(J) if bound.is_root else np.sqrt(np.maximum(np.diag(J), 0))
    curved = diagonal > 0
    if not curved.all() and not (bound.is_root and bound.exact):
        return None
    D, J = diagonal[curved], J[curved]
    rounding = max(n, columns) * tolerances(np.float64).rank
    relative = bound.sizes[curved] / D
    if bound.is_root:
        J = J / D[:, None]
        if columns > n:
            J = np.asarray(np.linalg.qr(J.T, mode="r")).T
        axes, s, _ = np.linalg.svd(J, full_matrices=False)
        roots = s - rounding * float(np.linalg.norm(relative))
    else:
        spectrum, axes = np.linalg.eigh(J / D[:, None] / D)
        roots = np.sqrt(np.maximum(spectrum - rounding * float(relative @ relative), 0))
    return Curvatures(curved, D, axes, roots) if roots.size and (roots > 0).all() else None


# Over lin(A) ----------------------------------------------------------------------------


def bound_over_span(f: Objective, lin: Lin, x: Array) -> float:
    """Return a bound on f(x) − min f over lin(A), infinite where none is known.

    With y the nearest point of lin(A), it is ½cᵀ(E H Eᵀ)⁻¹c + ⟨∇f(x), x − y⟩ for c = E∇f(y), rows E
    that span lin(A) and an H that is nowhere above the Hessian. For quadratics this is exact.
    """
    if lin.rank > LARGEST and not (f.mu > 0 and lin.frame is None):
        return inf
    x = np.asarray(x, np.float64)
    gradient = f.gradient(x)
    y, weights, gradient_at_y = x, None, gradient
    if lin.frame is not None:
        weights = lin.coefficients(x)
        y = (weights @ lin.frame).reshape(x.shape)
        gradient_at_y = f.gradient(y)
    g, terms = np.ravel(gradient_at_y), np.ravel(gradient_terms(f, y))
    decrease = _largest_decrease(f, lin, g, terms)
    off = max(float(np.vdot(gradient, x - y)), 0.0)
    spent = allowance(f, y)
    if weights is not None:
        assert lin.frame is not None
        size = float(np.abs(g) @ (np.abs(lin.frame).T @ np.abs(weights)))
        spent += tolerances(np.float64).certificate * size
    return decrease + off + spent


def bound_by_floor(f: Objective, x: Any) -> float:
    """Return f(x) less a number that f is never below, infinite where none is known."""
    value = f.value(x)
    return value - f.lowest + allowance(f, x, value) if f.lowest > -inf else inf


def _largest_decrease(f: Objective, lin: Lin, g: Array, terms: Array) -> float:
    """Return at least ½gᵀH⁻¹g over lin(A), where entries of g have terms of these magnitudes."""
    unit = tolerances(np.float64).certificate
    if lin.frame is None and (_is_round(f) or lin.rank > LARGEST):
        return (float(np.linalg.norm(g)) + unit * float(np.linalg.norm(terms))) ** 2 / (2 * f.mu)
    frame = np.eye(lin.dimension) if lin.frame is None else lin.frame
    below = f.hessian_below(frame)
    if below.product.size > ENTRIES:
        return inf
    found = curvatures(below)
    if found is None:
        return inf
    rows = frame[found.rows]
    along = found.axes.T @ ((rows @ g) / found.scales)
    noise = unit * float(np.linalg.norm((np.abs(rows) @ terms) / found.scales))
    size = float(np.linalg.norm(along / found.roots)) + noise / float(found.roots.min())
    return size * size / 2


def _is_round(f: Objective) -> bool:
    """Whether all that is known below the Hessian of f is a multiple of the identity."""
    return f.mu > 0 and (f.identity or f.quadratic is None or f.mu == f.L)


def bound_by_dual_norm(f: Objective, atoms: AtomSet, x: Any, mu: float) -> tuple[float, float]:
    """Return ‖∇f(x)‖²_{A*}/(2μ), with its allowance for rounding, and ‖∇f(x)‖_{A*}."""
    unit = tolerances(np.float64).certificate
    norm = atoms.dual_norm(f.gradient(x)) + unit * atoms.radius * _gradient_size(f, x)
    return (norm / mu * norm / 2 + allowance(f, x) if mu > 0 else inf), norm


# The allowance ----------------------------------------------------------------------------


def allowance(f: Objective, x: Any, value: float | None = None) -> float:
    """Return what rounding may have done to f(x) and ⟨∇f(x), x⟩ in float64."""
    return tolerances(np.float64).certificate * magnitude(f, x, value)


def magnitude(f: Objective, x: Any, value: float | None = None) -> float:
    """Return the sum of the magnitudes of the terms of f(x) and of ⟨∇f(x), x⟩."""
    value = f.value(x) if value is None else value
    if not isinstance(x, np.ndarray):
        return abs(value) + _gradient_size(f, x) * sqrt(x.norm2())
    model = f.linear_model
    if model is None:
        terms = np.abs(f.gradient(x)) if f.identity else gradient_terms(f, x)
        return abs(value) + float(np.vdot(terms, np.abs(x)))
    u, products = model.image(x), magnitudes(model.X, x)
    # A loss turns the rounding of u, a sum of products, into its sensitivity times it.
    rounded = tolerances(np.float64).certificate * model.sensitivity(u) * products
    slopes = np.abs(model.slopes(u)) + rounded
    return float(np.abs(model.losses(u)).sum() + slopes @ products) + model.l2 * float(x @ x)


def gradient_terms(f: Objective, x: Array) -> Array:
    """Return the magnitudes of what each entry of ∇f(x) is a sum of, or a bound on them."""
    terms = f.gradient_terms(x)
    return np.full(x.shape, _size_by_smoothness(f, x)) if terms is None else terms


def _gradient_size(f: Objective, x: Any) -> float:
    """Return the norm of the magnitudes behind ∇f(x), for points that are no arrays as well."""
    terms = f.gradient_terms(x) if isinstance(x, np.ndarray) else None
    return _size_by_smoothness(f, x) if terms is None else float(np.linalg.norm(terms))


def _size_by_smoothness(f: Objective, x: Any) -> float:
    norm = float(np.linalg.norm(x)) if isinstance(x, np.ndarray) else sqrt(x.norm2())
    return 2 * (f.gradient_norm(x) + (f.L or 0.0) * norm)


# With a penalty ---------------------------------------------------------------------------


class Evaluation(NamedTuple):
    """P = f(x) + g(w) at a stored x and its coefficients w, in float64.

    `theta` are the slopes of the losses of a linear model, and `magnitude` the sum of the
    magnitudes of the terms of P.
    """

    x: Array
    w: Array
    u: Array
    theta: Array
    value: float
    magnitude: float


class DualPoint(NamedTuple):
    """θ, the correlations c_j = ⟨z_j, Xᵀθ⟩, and what rounding may have done to each of them."""

    theta: Array
    c: Array
    roundoff: Array


@dataclass(frozen=True)
class SuboptimalityBound:
    """A proved bound on f(x) + g(w) less its minimum, over a finite set.

    The smaller of two. By duality, for linear models and every θ,

        min P ≥ D(θ) = −Σ φᵢ*(θᵢ) − Σ_j g_j*(−⟨z_j, Xᵀθ⟩),

    where g_j takes in l2/2 w_j² over `Coordinates`, and an l2 is samples more over other atoms; θ
    is φ′(Xx), made feasible. And by the lower bound that a convex f has at y = Σ w_j z_j,

        min P ≥ f(y) + Σ_j min over v of c_j(v − w_j) + μ_j/2 (v − w_j)² + g_j(v),

    with c = Z∇f(y) and μ_j the curvatures of f in the coefficients.

    Attributes
    ----------
    f, atoms, penalty
        In float64.
    model
        f as a linear model whose conjugate is known, or None.
    """

    f: Objective
    atoms: FiniteAtoms
    penalty: Penalty
    model: LinearModel | None

    @staticmethod
    def of(problem: Problem) -> SuboptimalityBound | None:
        """Return the bound for a problem; None where nothing is known at any coefficients."""
        atoms = problem.atoms.finite
        wide = None if atoms is None else atoms.astype(np.dtype(np.float64)).finite
        if atoms is None or wide is None:
            return None
        model = _linear_model(problem.f)
        bound = SuboptimalityBound(problem.f.double(), wide, atoms.penalty, model)
        return bound if bound._is_known else None

    def __call__(self, x: Array, w: Array) -> float:
        """Return at least P(x, w) less its minimum, infinite where no bound is known."""
        x, w = x.reshape(-1).astype(np.float64), w.astype(np.float64)
        bound = inf if self.model is None else self._by_duality(self.model, x, w)
        if bound == inf or self._cheap:
            bound = min(bound, self._by_parabola(x, w))
        return max(bound, 0.0) if bound < inf else inf

    @property
    def _is_known(self) -> bool:
        weights, lower, upper = self.parts
        bounded = bool((np.isfinite(lower) & np.isfinite(upper)).all())
        penalized = bool(((weights > 0) | np.isfinite(lower) | np.isfinite(upper)).any())
        convex = self._on_axes and (self.f.mu > 0 or bool(self._ridge.any()))
        return bounded or convex or (penalized and self.model is not None)

    @property
    def _on_axes(self) -> bool:
        """Whether coefficients are the entries of x."""
        return self.atoms.form is AtomForm.AXES

    @cached_property
    def parts(self) -> Parts:
        return self.penalty.parts(len(self.atoms))

    # By a parabola below f ------------------------------------------------------------------

    def _by_parabola(self, x: Array, w: Array) -> float:
        """Return P less the minimum of the parabola that supports f at y = Σ w_j z_j."""
        f, mu, unit = self.f, self._curvatures, tolerances(np.float64).certificate
        x, y = x.reshape(f.shape), self.atoms.combine(w).reshape(f.shape)
        weights, lower, upper = self.parts
        if ((w < lower) | (w > upper)).any():
            return inf
        c = self._correlations(f.gradient(y))
        terms = np.ravel(gradient_terms(f, y))
        if not self._on_axes:
            terms = self.atoms.norms * float(np.linalg.norm(terms))
        roundoff = unit * (terms + mu * np.abs(w))
        charge = np.maximum(
            self.penalty.conjugate(mu * w - c + roundoff, mu),
            self.penalty.conjugate(mu * w - c - roundoff, mu),
        )
        cost = weights * np.abs(w)
        gap = float(np.sum(cost + c * w - mu * w * w / 2 + charge))
        size = magnitude(f, y) + float(np.sum(np.abs(c * w) + mu * w * w + cost))
        off = 0.0 if self._on_axes else max(float(np.vdot(f.gradient(x), x - y)), 0.0)
        bound = gap + off + unit * size + float(roundoff @ np.abs(w))
        if f.nonconvexity and not mu.any():
            reach = float(self.atoms.norms @ np.maximum(upper - w, w - lower))
            bound += f.nonconvexity * reach * reach / 2
        return bound if isfinite(bound) else inf

    @cached_property
    def _curvatures(self) -> Array:
        """μ_j with ½Σμ_j(v_j − w_j)² below f: from the least curvature in scaled coefficients."""
        n, d = len(self.atoms), int(np.prod(self.f.shape))
        least = np.full(n, self.f.mu if self._on_axes else 0.0)
        if n > min(d, LARGEST) or n * d > ENTRIES:
            return least
        frame = np.eye(n) if self._on_axes else np.asarray(self.atoms.matrix, np.float64)
        below = self.f.hessian_below(frame)
        found = curvatures(below) if below.product.size <= ENTRIES else None
        if found is None or len(found.roots) < n:
            return least
        squares: Array = (float(found.roots.min()) * found.scales) ** 2
        return squares

    @cached_property
    def _cheap(self) -> bool:
        """Whether the parabola costs no more than the dual point."""
        n = len(self.atoms)
        samples = 0 if self.model is None else int(self.model.X.shape[0])
        return n * n * max(n, samples) <= CHEAP

    def _correlations(self, gradient: Array) -> Array:
        c: Array = self.atoms.correlate(gradient.reshape(self.atoms.shape)).reshape(-1)
        return c

    # By duality -----------------------------------------------------------------------------

    def _by_duality(self, model: LinearModel, x: Array, w: Array) -> float:
        """Return P − D(θ) for a feasible θ near φ′(Xx)."""
        here = self._evaluate(model, x, w)
        if not isfinite(here.value):
            return inf
        theta = self._with_ridge(model, here.theta, x)
        for start in self._orthogonal(theta):
            bound = min(self._gap(model, here, point) for point in self._feasible(start))
            if isfinite(bound):
                return bound
        return inf

    def _evaluate(self, model: LinearModel, x: Array, w: Array) -> Evaluation:
        u, shrunk = model.image(x), model.shrunk(x)
        losses, theta = model.losses(u), model.slopes(u)
        ridge, cost = 0.5 * model.l2 * float(shrunk @ shrunk), self.penalty.value(w)
        # |X||x| is at most as long as Σ ‖X_k‖|x_k|, for the columns X_k of X.
        products = float(self._columns @ np.abs(x))
        rounded = tolerances(np.float64).certificate * float(model.sensitivity(u).max()) * products
        slopes = float(np.linalg.norm(theta)) + rounded
        size = float(np.abs(losses).sum()) + slopes * products + 2 * ridge + cost
        return Evaluation(x, w, u, theta, float(losses.sum()) + ridge + cost, size)

    def _gap(self, model: LinearModel, here: Evaluation, point: DualPoint) -> float:
        """Return P − D(θ) and the allowance for its terms."""
        theta, rest = point.theta[: len(here.u)], point.theta[len(here.u) :]
        conjugates = model.conjugates(theta)
        ridge = 0.5 * float(rest @ rest)
        # A convex function is largest at an end of where a correlation may be.
        charge = np.maximum(
            self.penalty.conjugate(point.roundoff - point.c, self._ridge),
            self.penalty.conjugate(-point.roundoff - point.c, self._ridge),
        )
        dual = -float(conjugates.sum()) - ridge - float(charge.sum())
        terms = np.abs(conjugates).sum() + np.abs(theta) @ np.abs(here.u) + charge.sum() + ridge
        free = self._unpenalized  # θ is orthogonal to these images up to rounding
        left = np.linalg.norm(theta) * (self._image_sizes[free] @ np.abs(here.w[free]))
        size = here.magnitude + float(terms + left)
        return here.value - dual + tolerances(np.float64).certificate * size

    def _at(self, theta: Array) -> DualPoint:
        """Return the correlations of a dual point."""
        model = self._known_model
        samples = int(model.X.shape[0])
        pulled = times(model.X.T, theta[:samples])
        if len(theta) > samples:
            pulled = pulled + sqrt(model.l2) * theta[samples:]
        c = self._correlations(pulled)
        unit = tolerances(np.float64).certificate
        roundoff = unit * float(np.linalg.norm(theta)) * self._image_sizes
        c[self._unpenalized], roundoff[self._unpenalized] = 0.0, 0.0  # made orthogonal to these
        return DualPoint(theta, c, roundoff)

    # How a dual point becomes feasible

    def _orthogonal(self, theta: Array) -> Iterator[Array]:
        """Yield dual points orthogonal to the images of coefficients that have no penalty."""
        if not self._unpenalized.size:
            yield theta
            return
        basis = self._free_basis
        if basis is None:
            return
        yield self._projected(theta)
        image = self._free_images[:, 0]
        if len(self._unpenalized) == 1 and (image >= 0).all():
            # φ* is finite at zero, and so at every smaller θᵢ: scale down one side of zero.
            parts = image * theta
            up, down = float(parts[parts > 0].sum()), -float(parts[parts < 0].sum())
            shares = (min(down / up, 1.0), min(up / down, 1.0)) if min(up, down) > 0 else (0.0, 0.0)
            yield theta * np.where(theta > 0, *shares)

    def _projected(self, theta: Array) -> Array:
        """Return θ without its part in the span of those images."""
        basis = self._free_basis
        if basis is not None and basis.size:
            for _ in range(2):
                theta = theta - basis @ (basis.T @ theta)
        return theta

    def _feasible(self, theta: Array) -> Iterator[DualPoint]:
        """Yield θ scaled, and led before where coefficients of one sign have no weight."""
        point = self._at(theta)
        yield self._scaled(point)
        stuck = self._is_unlimited(point) & (self.parts.weights == 0)
        if stuck.any() and self._inward is not None:
            direction, gains = self._inward
            short = np.where(stuck, np.abs(point.c) + 2 * point.roundoff, 0.0)
            yield self._scaled(self._at(theta + float((short / gains).max()) * direction))

    def _scaled(self, point: DualPoint) -> DualPoint:
        """Return the point scaled until λ_j is exceeded nowhere where it must not be."""
        unlimited, weights = self._is_unlimited(point), self.parts.weights
        reach = np.abs(point.c) + point.roundoff
        binding = unlimited & (reach > weights)
        share = float((weights[binding] / reach[binding]).min(initial=1.0))
        roundoff = np.where(unlimited, 0.0, share * point.roundoff)
        return DualPoint(share * point.theta, share * point.c, roundoff)

    def _is_unlimited(self, point: DualPoint) -> Array:
        """Return where g_j* is infinite beyond λ_j, on the side on which c_j may be."""
        up = np.isinf(self.parts.upper) & (point.c < point.roundoff)
        down = np.isinf(self.parts.lower) & (point.c > -point.roundoff)
        unlimited: Array = (up | down) & (self._ridge == 0)
        return unlimited

    # What does not change

    @property
    def _known_model(self) -> LinearModel:
        assert self.model is not None
        return self.model

    @cached_property
    def _ridge(self) -> Array:
        """l2 for each coefficient that it is a penalty on."""
        n = len(self.atoms)
        if self.model is None or not self._on_axes:
            return np.zeros(n)
        return self.model.l2 * self.model.shrunk(np.ones(n))

    @cached_property
    def _columns(self) -> Array:
        """The norms of the columns of X."""
        X: Any = self._known_model.X
        if isinstance(X, np.ndarray):
            return row_norms(X.T)
        if hasattr(X, "multiply"):
            squares: Array = np.asarray(X.multiply(X).sum(axis=0)).reshape(-1)
            return np.sqrt(squares)
        # The norm of X, which is known to its objective.
        return np.full(X.shape[1], sqrt(self._known_model.L or inf))

    @cached_property
    def _image_sizes(self) -> Array:
        """At least the norm of |X||z_j| for every atom, with the samples of an l2."""
        if self._on_axes:
            return self._columns
        if self.f.identity:
            return self.atoms.norms
        size = float(np.linalg.norm(self._columns)) + sqrt(self._known_model.l2)
        return self.atoms.norms * size

    @cached_property
    def _unpenalized(self) -> Array:
        """The atoms whose coefficients cost nothing, wherever they are."""
        weights, lower, upper = self.parts
        return np.flatnonzero(
            (weights == 0) & np.isinf(lower) & np.isinf(upper) & (self._ridge == 0)
        )

    @cached_property
    def _free_images(self) -> Array:
        """Their images, as columns."""
        model, columns = self._known_model, []
        for j in self._unpenalized.tolist():
            z = self.atoms.vector(j).reshape(-1).astype(np.float64)
            columns.append(self._with_ridge(model, model.image(z), z))
        return np.array(columns).T

    @cached_property
    def _free_basis(self) -> Array | None:
        """An orthonormal basis of these; None where they are nearly dependent, or too many."""
        if not self._unpenalized.size:
            return np.zeros((0, 0))
        if len(self._unpenalized) > FREE:
            return None
        norms = row_norms(self._free_images.T)
        images = self._free_images[:, norms > 0] / norms[norms > 0]
        basis, s, _ = np.linalg.svd(images, full_matrices=False)
        return basis if not s.size or s[-1] > INDEPENDENT * s[0] else None

    def _with_ridge(self, model: LinearModel, samples: Array, x: Array) -> Array:
        """Return samples of f, and √l2·x behind them over atoms that are no axes."""
        if self._on_axes or not model.l2:
            return samples
        return np.append(samples, sqrt(model.l2) * model.shrunk(x))

    @cached_property
    def _inward(self) -> tuple[Array, Array] | None:
        """A direction to lead θ in, and by how much each correlation then leaves its wrong side.

        For coefficients of one sign without a weight. It is a combination of their images with
        which all of them have a positive inner product, found by the perceptron's steps, or None.
        """
        model, (weights, lower, upper) = self._known_model, self.parts
        half = (weights == 0) & (np.isinf(lower) != np.isinf(upper)) & (self._ridge == 0)
        if not half.any():
            return None
        squares = image_sums(model.X, self.atoms, np.ones(int(model.X.shape[0])))[1]
        norms = np.sqrt(squares + (0.0 if self._on_axes else model.l2) * self.atoms.norms**2)
        half &= norms > 0
        norms = np.where(half, norms, 1.0)
        side = np.where(np.isinf(upper), 1.0, -1.0)
        shares = np.where(half, side / norms, 0.0)
        for _ in range(PERCEPTRON_STEPS):
            x = self.atoms.combine(shares).reshape(-1)
            direction = self._projected(self._with_ridge(model, model.image(x), x))
            point = self._at(direction)
            gains = np.where(half, side * point.c - point.roundoff, inf)
            worst = int(np.argmin(gains / norms))
            if gains[worst] > LEAST_COSINE * float(np.linalg.norm(direction)) * norms[worst]:
                return direction, gains
            shares[worst] += side[worst] / norms[worst]
        return None


def _linear_model(f: Objective) -> LinearModel | None:
    """Return f as a linear model in float64 whose conjugate is known; a distance is one."""
    wide = f.double()
    if f.identity:
        from scipy.sparse import eye_array

        target = -wide.gradient(np.zeros(f.shape)).reshape(-1)
        return Squares(eye_array(len(target), format="csc"), target)
    model = wide.linear_model
    known = model is not None and type(model).conjugates is not LinearModel.conjugates
    return model if known else None


def coefficients(problem: Problem, x: Array, support: Array, weights: Array) -> Array:
    """Return w of a point: with a penalty the weights in use, else x over `Coordinates`."""
    if problem.atoms.penalty.free and problem.atoms.form is AtomForm.AXES:
        return x.reshape(-1)
    finite = problem.atoms.finite
    w = np.zeros(0 if finite is None else len(finite))
    w[support] = weights
    return w
