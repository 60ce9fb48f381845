"""Coordinate descent on linear models, compiled: a step costs the entries of one column of X.

    minimise  Σ wᵢ ℓᵢ(uᵢ) + l2/2 ‖β‖² + Σ λ_j |β_j|   over   lower_j ≤ β_j ≤ upper_j,     u = Xβ

The steps are those of `rules.steps.Newton` and of step rules that are curvature bounds, over
`Coordinates`; the accelerated ones are those of `momentum.FixedNu`. Losses are known by the type of
what they need, so that each gets code of its own. Nothing here draws a number.
"""

from __future__ import annotations

from math import exp, inf, log1p
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from pursuit.base.roots import next_weight
from pursuit.base.validation import Array
from pursuit.kernels.compiling import compiled, strict

# The order of a sum is the compiler's; numbers that are not finite stay what they are.
loose = compiled(fastmath={"contract", "nsz", "reassoc", "arcp"})
"""Compile a function whose sums may be added up in any order."""
_next_weight = strict(next_weight)

PRODUCTS, ATOM, GAMMA, CORRELATION, SLOPE, DECREASE, USED, THETA, BETA, LOG = range(10)
"""Places in the log of some steps: the work done, the last step and what it surely gained, the
number of coefficients in use; θ and β of the accelerated ones; and how many there are."""
SMALL = 1e-8
"""Where θ has fallen to this it is multiplied into b, so that b does not grow without end."""

ALIKE = 0.99
"""A bend of at least this share of the largest one is taken for it."""
NEARLY = 0.1
"""The share of what a safe step gains that a Newton step need not prove: with no kink on its way
both prove the same, and rounding shall not decide."""


class ColumnEntries(NamedTuple):
    """X by columns: entries, their rows and where columns begin. No rows: every column is full."""

    entries: Array
    rows: Array
    starts: Array


class Clipped(NamedTuple):
    """ℓ′ is the residual u − y between two bounds: squares, Huber's loss, the squared hinge.

    Of this loss and of others: ℓ″ ≤ bend and |ℓ‴| ≤ growth·ℓ″, infinite where there is no such
    number.
    """

    bend: float
    growth: float


class Signed(NamedTuple):
    """The logistic loss of labels y = ±1."""

    bend: float
    growth: float


class Counted(NamedTuple):
    """Poisson's loss of counts y."""

    bend: float
    growth: float


class SampleArrays(NamedTuple):
    """What is known of each sample; the bounds on residuals of `Clipped` alone."""

    y: Array
    weights: Array
    low: Array
    high: Array


class ColumnModel(NamedTuple):
    """A linear model: X, the loss and its samples; l2 and the coordinate that it does not touch
    (−1: none)."""

    columns: ColumnEntries
    loss: Any
    samples: SampleArrays
    l2: float
    free: int


class PenaltyArrays(NamedTuple):
    """λ_j|w| on [lower_j, upper_j]."""

    weights: Array
    lower: Array
    upper: Array


class ColumnPlace(NamedTuple):
    """x, its coefficients (what it has moved by) and its image."""

    x: Array
    coef: Array
    image: Array


# One sample ---------------------------------------------------------------------------------


def slope_and_bend(loss: Any, y: float, low: float, high: float, u: float) -> tuple[float, float]:
    """ℓ′(u) and ℓ″(u)."""
    raise NotImplementedError


@overload(slope_and_bend, jit_options={"forceinline": True})
def _of_loss(loss: Any, y: float, low: float, high: float, u: float) -> tuple[float, float]:
    return _SLOPES[loss.instance_class]  # type: ignore[return-value]


def _clipped(loss: Any, y: float, low: float, high: float, u: float) -> tuple[float, float]:
    r = u - y
    if r > high:
        return high, 0.0
    if r < low:
        return low, 0.0
    return r, 1.0


def _signed(loss: Any, y: float, low: float, high: float, u: float) -> tuple[float, float]:
    t = u * y
    far = exp(-abs(t))
    near = 1 / (1 + far)
    slope = far * near if t > 0 else near  # 1/(1 + exp(t))
    return -y * slope, far * near * near


def _counted(loss: Any, y: float, low: float, high: float, u: float) -> tuple[float, float]:
    mean = exp(u)
    return mean - y, mean


_SLOPES = {Clipped: _clipped, Signed: _signed, Counted: _counted}


# One column ---------------------------------------------------------------------------------
# Arrays are taken out of their tuples before a loop: inside it they would be counted as used.


@loose
def along(
    model: ColumnModel, image: Array, other: Array, theta: float, j: int, shift: float
) -> tuple[float, float, float, float]:
    """Σ wx ℓ′, Σ wx²ℓ″, Σ wx² and max |x| over column j, at image + θ·other (none: empty) moved
    by so much along it."""
    entries, rows, loss = model.columns.entries, model.columns.rows, model.loss
    y, weights, low, high = model.samples
    slope = bend = square = most = 0.0
    first, last = model.columns.starts[j], model.columns.starts[j + 1]
    blended, dense = len(other) > 0, len(rows) == 0
    for k in range(first, last):
        i = k - first if dense else np.int64(rows[k])
        x, u = np.float64(entries[k]), np.float64(image[i])
        if blended:
            u += theta * other[i]
        w = x * weights[i]
        d, dd = slope_and_bend(
            loss, np.float64(y[i]), np.float64(low[i]), np.float64(high[i]), u + shift * x
        )
        slope += w * d
        bend += w * x * dd
        square += w * x
        most = max(most, abs(x))
    return slope, bend, square, most


@loose
def add(columns: ColumnEntries, image: Array, j: int, step: float) -> None:
    """image ← image + step·x_j."""
    entries, rows = columns.entries, columns.rows
    first, last, dense = columns.starts[j], columns.starts[j + 1], len(columns.rows) == 0
    for k in range(first, last):
        i = k - first if dense else np.int64(rows[k])
        image[i] += image.dtype.type(step * entries[k])


@loose
def scale(array: Array, factor: float) -> None:
    """array ← factor·array; as a loop it is compiled in a tenth of the time."""
    for i in range(len(array)):
        array[i] = factor * array[i]


# One step -----------------------------------------------------------------------------------


@loose
def distance(c: float, w: float, weight: float, lower: float, upper: float) -> float:
    """The number of c + ∂g(w) next to zero."""
    left = c + (weight if w > 0 else -weight)
    if left > 0:
        return left if w > lower else 0.0
    right = c + (-weight if w < 0 else weight)
    return right if right < 0 and w < upper else 0.0


@loose
def shrunk(w: float, weight: float, lower: float, upper: float) -> float:
    """argmin over v of (v − w)²/2 + weight·|v| for lower ≤ v ≤ upper: the prox of g."""
    if w > weight:
        w -= weight
    elif w < -weight:
        w += weight
    elif weight > 0:
        w = 0.0
    return min(max(w, lower), upper)


@loose
def damped(bend: float, growth: float, most: float, q: float) -> float:
    """h so that f is below its parabola of bend h as far as a step against a slope q leads.

    After a way τ the bend is at most exp(growth·τ) times what it is here, so that
    h = bend·s/log(1 + s) with s = growth·q/bend will do; and so will the largest bend there is.
    """
    if growth == 0:
        return bend
    if bend == 0:
        return min(growth * q, most)
    s = growth * q / bend
    return min(bend * s / log1p(s) if s > 1e-8 else bend, most)


@loose
def step(
    model: ColumnModel, penalties: PenaltyArrays, bounds: Array, x: ColumnPlace, j: int
) -> tuple[float, float, float, int]:
    """The slope of f + g along e_j, where the coefficient goes, what that surely gains, and how
    often the column was looked at."""
    w, beta, l2 = np.float64(x.coef[j]), np.float64(x.x[j]), 0.0 if j == model.free else model.l2
    weight, lower, upper = penalties.weights[j], penalties.lower[j], penalties.upper[j]
    slope, bend, square, most = along(model, x.image, x.image[:0], 0.0, j, 0.0)
    c, bend = slope + l2 * beta, bend + l2
    s = distance(c, w, weight, lower, upper)
    h = largest = model.loss.bend * square + l2 if square > 0 else l2
    if len(bounds) > 0:
        h = bounds[j]
    elif model.loss.growth < inf:
        h = damped(bend, model.loss.growth * most, largest, abs(s))
    elif s != 0 and largest > 0:
        return tried(model, penalties, x, j, (s, c, bend, largest))
    if s == 0 or not h > 0 or h == inf:
        return s, w, 0.0, 1
    to = shrunk(w - c / h, weight / h, lower, upper)
    return s, to, 0.5 * h * (to - w) * (to - w), 1


@loose
def tried(
    model: ColumnModel,
    penalties: PenaltyArrays,
    x: ColumnPlace,
    j: int,
    here: tuple[float, float, float, float],
) -> tuple[float, float, float, int]:
    """A step of a loss with kinks, which may spoil Newton's: that has to prove nearly as much as
    the safe one. Both end where the coefficient is zero, if it has a penalty there."""
    s, c, bend, largest = here
    w, beta, l2 = np.float64(x.coef[j]), np.float64(x.x[j]), 0.0 if j == model.free else model.l2
    h, gain, looks = largest, s * s / (2 * largest), 1
    if 0 < bend < ALIKE * largest:
        d, looks = -s / bend, 2
        there = along(model, x.image, x.image[:0], 0.0, j, d)[0] + l2 * (beta + d) + (s - c)
        proved = (there - s) * (there - s) / (2 * largest) - d * there
        if proved >= gain * (1 - NEARLY):
            h, gain = bend, proved
    to = float(w - s / h)
    if penalties.weights[j] > 0 and to * w < 0:
        to = 0.0
    to = min(max(to, penalties.lower[j]), penalties.upper[j])
    return s, to, gain * min(abs(to - w) * h / abs(s), 1.0), looks


@loose
def moved(columns: ColumnEntries, x: ColumnPlace, j: int, to: float) -> float:
    """The coefficient of e_j becomes `to`, rounded; by how much it fell."""
    before = x.coef[j]
    x.coef[j] = to
    change = np.float64(x.coef[j]) - np.float64(before)
    if x.x[j] == before:
        x.x[j] = x.coef[j]
    else:
        x.x[j] += x.x.dtype.type(change)
    if change != 0:
        add(columns, x.image, j, change)
    return -change


# Many steps ---------------------------------------------------------------------------------


@loose
def descend(
    model: ColumnModel,
    penalties: PenaltyArrays,
    bounds: Array,
    x: ColumnPlace,
    picks: Array,
    most: int,
    share: float,
    log: Array,
) -> int:
    """Steps along the picked coordinates, until `most` are in use; how many were made.

    `bounds` are those of the step rule; none: Newton's steps.
    """
    for t in range(len(picks)):
        j = picks[t]
        before = x.coef[j] != 0
        s, to, gain, looks = step(model, penalties, bounds, x, j)
        log[ATOM], log[CORRELATION], log[DECREASE] = j, s, gain
        log[GAMMA] = moved(model.columns, x, j, to)
        for _ in range(looks + 1):  # and a step
            log[PRODUCTS] += share
        log[USED] += (x.coef[j] != 0) - before
        if log[USED] >= most:
            return t + 1
    return len(picks)


@loose
def descend_accelerated(
    model: ColumnModel,
    bounds: Array,
    stiffness: float,
    v: ColumnPlace,
    b: ColumnPlace,
    picks: Array,
    share: float,
    log: Array,
) -> None:
    """Algorithm 3 along the picked coordinates, with x = v + θb.

    v moves along one coordinate, and so does b, since x − v = θb: y = v + (1 − τ)θb, and with
    θ ← (1 − τ)θ the steps x ← y − γz and v ← v − αcz make b ← b + (αc − γ)/θ·z.
    """
    for t in range(len(picks)):
        j, beta = picks[t], log[BETA]
        l2 = 0.0 if j == model.free else model.l2
        alpha = _next_weight(beta, stiffness)  # line 3: α²Lν = β_t + α
        # Lines 4 to 6: y_t = v_t + θb, with θ ← (1 − τ)θ and τ = α/(β_t + α).
        theta = log[THETA] * (beta / (beta + alpha)) if beta > 0 else 1.0
        c = along(model, v.image, b.image, theta, j, 0.0)[0]
        c += l2 * (v.x[j] + theta * b.x[j])
        gamma = c / bounds[j]
        fall, rise = alpha * c, (alpha * c - gamma) / theta  # lines 8 and 9
        v.x[j] -= v.x.dtype.type(fall)
        v.coef[j] -= v.coef.dtype.type(fall)
        b.x[j] += b.x.dtype.type(rise)
        add(model.columns, v.image, j, -fall)
        add(model.columns, b.image, j, rise)
        if theta < SMALL:
            scale(b.x, theta)
            scale(b.image, theta)
            theta = 1.0
        log[THETA], log[BETA] = theta, beta + alpha
        log[ATOM], log[CORRELATION], log[GAMMA] = j, c, gamma
        log[DECREASE] = 0.5 * gamma * c
        for _ in range(3):  # a look, and two steps
            log[PRODUCTS] += share


# The steepest of all ------------------------------------------------------------------------


@loose
def slopes_of(model: ColumnModel, image: Array, slopes: Array) -> None:
    """wᵢ ℓᵢ′(uᵢ) for every sample."""
    y, weights, low, high = model.samples
    for i in range(len(image)):
        bounds = np.float64(low[i]), np.float64(high[i])
        u = np.float64(image[i])
        slopes[i] = weights[i] * slope_and_bend(model.loss, np.float64(y[i]), *bounds, u)[0]


@loose
def steepest(
    c: Array, x: ColumnPlace, model: ColumnModel, penalties: PenaltyArrays
) -> tuple[int, float]:
    """The coordinate that is farthest from optimal, and how far that is."""
    best, place = -1.0, 0
    beta, coef, (weights, lower, upper) = x.x, x.coef, penalties
    for j in range(len(c)):
        here = c[j] + (0.0 if j == model.free else model.l2 * beta[j])
        far = abs(distance(here, np.float64(coef[j]), weights[j], lower[j], upper[j]))
        if far > best:
            best, place = far, j
    return place, best


@loose
def descend_steepest(
    model: ColumnModel,
    across: ColumnEntries,
    penalties: PenaltyArrays,
    bounds: Array,
    x: ColumnPlace,
    slopes: Array,
    c: Array,
    limits: tuple[int, int, float],
    share: float,
    log: Array,
) -> int:
    """Steps along the steepest coordinate; `across` is X by rows, `slopes` and c = Xᵀ·slopes are
    kept up to date. `limits`: the most steps, the most coordinates in use, and the slope below
    which a test of the run might be met."""
    steps, most, low = limits
    for t in range(steps):
        j, far = steepest(c, x, model, penalties)
        before = x.coef[j] != 0
        s, to, gain, looks = step(model, penalties, bounds, x, j)
        log[ATOM], log[CORRELATION], log[SLOPE], log[DECREASE] = j, s, far, gain
        log[GAMMA] = moved(model.columns, x, j, to)
        log[PRODUCTS] += 1 + looks * share  # a step, and a second look where there was one
        log[USED] += (x.coef[j] != 0) - before
        if log[GAMMA] != 0:
            renew(model, across, x.image, slopes, c, j)
        if log[USED] >= most or not far > low or log[GAMMA] == 0:
            return t + 1
    return steps


@loose
def renew(
    model: ColumnModel, across: ColumnEntries, image: Array, slopes: Array, c: Array, j: int
) -> None:
    """Slopes of the samples that column j meets, and of all coordinates that these meet."""
    rows, (y, weights, low, high) = model.columns.rows, model.samples
    entries, places, starts = across
    first, last, dense = model.columns.starts[j], model.columns.starts[j + 1], len(rows) == 0
    for k in range(first, last):
        i = k - first if dense else np.int64(rows[k])
        bounds = np.float64(low[i]), np.float64(high[i])
        u = np.float64(image[i])
        slope = weights[i] * slope_and_bend(model.loss, np.float64(y[i]), *bounds, u)[0]
        change = slope - slopes[i]
        slopes[i] = slope
        if change == 0:
            continue
        begin = starts[i]
        for m in range(begin, starts[i + 1]):
            place = m - begin if dense else np.int64(places[m])
            c[place] += change * entries[m]
