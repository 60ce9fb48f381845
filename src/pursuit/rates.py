"""The theorems of the paper as functions t ↦ a bound on f(x_t) − f*.

Each is built from a problem in one call, and carries its name, the inequality and the constants
that it used. A constant that is not known, or is no more than an estimate, is an error that names
it; one that you know from elsewhere is passed in `given`, e.g. ``given={"R_A": 3.0}``.

Examples
--------
>>> import numpy as np
>>> from pursuit import Coordinates, Quadratic, rates
>>> bound = rates.theorem_5(Quadratic(np.diag([1.0, 2.0]), np.ones(2)), Coordinates(2))
>>> bound.inequality
'f(x_t) − f* ≤ (1 − δ² μ_A/L_A)^t ε_0'
>>> round(float(bound(0)), 6), round(float(bound(10)), 6)
(0.75, 0.013006)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite, sqrt
from typing import Any

import numpy as np

from pursuit import geometry
from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.atoms.coordinates import Coordinates
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, non_negative, share, shown
from pursuit.geometry import AGREE, Constant, Kind
from pursuit.geometry.guarantee import MissingConstant as MissingConstant
from pursuit.objectives.base import Objective
from pursuit.objectives.problem import Problem

NEARLY = 1e-3
"""How much of f(x0) − f* rounding may leave open in a floor that bounds are drawn above."""
SURELY = "surely"
EXPECTED = "in expectation"


@dataclass(frozen=True)
class Rate:
    """t ↦ a bound on f(x_t) − f*.

    Attributes
    ----------
    name
        The theorem.
    inequality
        What it says.
    constants
        What was put in, by name.
    holds
        "surely" or "in expectation".
    first
        The first t at which it says something.
    """

    name: str
    inequality: str
    constants: Mapping[str, float]
    bound: Callable[[Array], Array] = field(repr=False)
    holds: str = SURELY
    first: int = 0

    def __call__(self, t: Any) -> Any:
        """The bound at an iteration or an array of them; +inf before `first`."""
        t = np.asarray(t, dtype=np.float64)
        early = t < self.first
        with np.errstate(over="ignore"):  # a bound that is no number is infinite
            return np.where(early, np.inf, self.bound(np.where(early, self.first, t)))[()]

    @property
    def confidence(self) -> float:
        """That of the constants: below 1 where some of them were estimated from draws."""
        return min((getattr(c, "confidence", 1.0) for c in self.constants.values()), default=1.0)

    def __str__(self) -> str:
        used = ", ".join(f"{name} = {float(value):.6g}" for name, value in self.constants.items())
        sure = "" if self.confidence == 1 else f" with confidence {self.confidence:.6g}"
        return f"{self.name}: {self.inequality} {self.holds}{sure}, with {used}"


# The constants of one problem -------------------------------------------------------------


@dataclass(frozen=True)
class Ground:
    """The constants of f over lin(A) from x0, computed when they are asked for by name."""

    f: Objective
    atoms: AtomSet
    x0: object | None = None
    sampling: object | None = None
    delta: float | None = None
    given: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        Problem(self.f, self.atoms)  # or an InputError
        if self.delta is not None:
            share("delta", self.delta)
        if self.given is not None and not isinstance(self.given, Mapping):
            raise InputError(f"given: expected constants by name, got {shown(self.given)}")
        if not self.atoms.penalty.free:
            raise InputError("atoms: the theorems are about lin(A), and none covers a Cone")

    @property
    def quality(self) -> float:
        """δ of the oracle: the set's own where it is not given."""
        return self.atoms.quality if self.delta is None else self.delta

    def __getitem__(self, name: str) -> Constant:
        if self.given is not None and name in self.given:
            return Constant(non_negative(name, self.given[name]), Kind.EXACT, "given")
        constant = _COMPUTED[name](self)
        if constant.kind is Kind.ESTIMATE:
            raise MissingConstant(name, _DROWNED)
        if not isfinite(constant):
            raise MissingConstant(name, _WHY.get(name, "it is not finite for this problem"))
        return constant


def _known_L(ground: Ground) -> Constant:
    if ground.f.L is None:
        raise MissingConstant("L", f"{type(ground.f).__name__} does not know it")
    # It was found by iteration, and is exact up to that.
    return Constant(ground.f.L * (1 + AGREE), Kind.UPPER, "Theorems 8, 9, Lemma 2")


def _convex(ground: Ground) -> Constant:
    mu_A = geometry.safe_strong_convexity(ground.f, ground.atoms)
    if not mu_A > 0:
        raise MissingConstant("μ_A", _FLAT)
    return mu_A


def _grows(found: Constant) -> Constant:
    if not found > 0:
        raise MissingConstant("μ̄_A", "f is not known to grow away from its minimisers")
    return found


def _unrecorded(ground: Ground) -> Constant:
    raise MissingConstant("‖x* − x_s‖_P", "the point x_s where this phase began is not recorded")


def _farthest(ground: Ground) -> Constant:
    """ρ = max(‖x*‖_A, ‖x_t‖_A) before a run: at most ‖x0‖_A + 2R_A, inside the level set of x0."""
    _convex(ground)  # with many minimisers the level set has no radius
    start = geometry.start_point(ground.f, ground.atoms, ground.x0)
    x0 = float(geometry.gauge(ground.atoms, start).upper) if start.any() else 0.0
    R_A = ground["R_A"]
    bound = Constant(x0 + 2 * R_A, Kind.UPPER, "the rate of 2017")
    return bound.stated(R_A.confidence)


def _euclidean_radius(ground: Ground) -> Constant:
    """R₂, the Euclidean radius of the level set of x0: at most √(2ε₀/μ), with equality where the
    gradient of a quadratic at x0 is an eigenvector of the smallest curvature."""
    mu = ground["μ"]
    if not mu > 0:
        raise MissingConstant("R_2", _FLAT)
    return Constant(sqrt(2 * ground["ε_0"] / mu), Kind.UPPER, "Nesterov 2012")


_COMPUTED: dict[str, Callable[[Ground], Constant]] = {
    "L": _known_L,
    "μ": lambda g: geometry.euclidean_convexity(g.f, g.atoms),
    "L_A": lambda g: geometry.smoothness(g.f, g.atoms),
    "μ_A": _convex,
    "L_P": lambda g: geometry.sampled_smoothness(g.f, g.atoms, g.sampling),
    "μ_P": lambda g: geometry.sampled_convexity(g.f, g.atoms, g.sampling),
    "R_A": lambda g: geometry.level_radius(g.f, g.atoms, g.x0),
    "ρ": _farthest,
    "μ̄_A": lambda g: _grows(geometry.growth(g.f, g.atoms)),
    "ε_0": lambda g: geometry.gap(g.f, g.atoms, g.x0),
    "δ̂²": lambda g: geometry.sampling_quality(g.atoms, g.sampling),
    "mDW": lambda g: geometry.directional_width(g.atoms),
    "radius": lambda g: geometry.radius(g.atoms),
    "ν": lambda g: geometry.nu(g.atoms, g.sampling, delta=g.quality),
    "ν′": lambda g: geometry.nu_random(g.atoms, g.sampling),
    "‖x* − x0‖_P": lambda g: geometry.distance(g.f, g.atoms, g.x0, g.sampling),
    "‖x* − x_s‖_P": _unrecorded,
    "n": lambda g: Constant(g.atoms.rank, Kind.EXACT, "the number of coordinates"),
    "R_2": _euclidean_radius,
    "r": lambda g: Constant(g.atoms.rank, Kind.EXACT, "the dimension of lin(A)"),
    "δ": lambda g: Constant(g.quality, Kind.EXACT, "equation (3)"),
}
_FLAT = "f is not known to be strongly convex on lin(A)"
_WHY = {
    "R_A": f"the level set of x0 has no known radius in the atomic norm: {_FLAT}",
    "ε_0": f"f(x0) − f* has no known bound: {_FLAT}, or f has no minimum",
    "‖x* − x0‖_P": f"the distance to an optimum has no known bound: {_FLAT}, or f has no minimum",
}
_DROWNED = "the curvature of a direction cannot be told from rounding, and it is an estimate only"


# The theorems -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Theorem:
    """A theorem as data: called with a problem, it is the `Rate` with the constants put in.

    Attributes
    ----------
    name
        As in the paper.
    inequality
        What it says; "E" in front says that it holds in expectation.
    letters
        The constants that it needs, each computed from the problem by name.
    bound
        (t, the constants in that order) ↦ the right-hand side.
    takes
        What it depends on beside f, A and x0: the `sampling` of the atoms, the `delta` of the
        oracle (the set's own unless given), and which `algorithm` was run (2; Algorithm 1 has
        L·radius² for L_A).
    first
        The first t at which it says something.
    """

    name: str
    inequality: str
    letters: tuple[str, ...]
    bound: Callable[..., Array] = field(repr=False)
    takes: tuple[str, ...] = ()
    first: int = 0

    def __call__(
        self,
        f: Objective,
        atoms: AtomSet,
        x0: object | None = None,
        *,
        sampling: object | None = None,
        delta: float | None = None,
        algorithm: int = 2,
        given: Mapping[str, float] | None = None,
    ) -> Rate:
        """The bound for f over lin(A) from x0; constants in `given` are not computed."""
        ground = Ground(f, atoms, x0, sampling, delta, given)
        if not isinstance(algorithm, int) or algorithm not in (1, 2):
            raise InputError(f"algorithm: expected 1 or 2, got {shown(algorithm)}")
        approximate = delta not in (None, 1)
        asked = {
            "sampling": sampling is not None,
            "delta": approximate,
            "algorithm": algorithm != 2,
        }
        for option, given_here in asked.items():
            if given_here and option not in self.takes:
                raise InputError(f"{option}: {self.name} does not depend on it")
        return (self if algorithm == 2 else _of_algorithm_1(self)).over(ground)

    def over(self, ground: Ground) -> Rate:
        """The bound with the constants of a problem put in."""
        constants = {letter: ground[letter] for letter in self.letters}
        return Rate(
            self.name,
            self.inequality,
            constants,
            _Stated(self.bound, tuple(constants.values())),
            EXPECTED if self.inequality.startswith("E ") else SURELY,
            self.first,
        )


def _of_algorithm_1(stated: Theorem) -> Theorem:
    """The same for Algorithm 1: L for L_A, and radius·R_A for R_A."""
    letters = ("L", "radius", *stated.letters[1:])
    inequality = stated.inequality.replace("L_A", "L radius²")
    bound = _Lengthened(stated.bound)
    return replace(stated, inequality=inequality, letters=letters, bound=bound)


# Right-hand sides -------------------------------------------------------------------------
# Functions with names, and no closures: a rate can be pickled, and goes to other processes.


@dataclass(frozen=True)
class _Stated:
    """A right-hand side with its constants put in."""

    formula: Callable[..., Array]
    constants: tuple[float, ...]

    def __call__(self, t: Array) -> Array:
        return self.formula(t, *self.constants)


@dataclass(frozen=True)
class _Lengthened:
    """One that is given L, the radius and R_A in place of L_A and R_A."""

    formula: Callable[..., Array]

    def __call__(self, t: Array, L: float, radius: float, R_A: float, *others: float) -> Array:
        return self.formula(t, L, radius * R_A, *others)


def _sublinear(t: Array, L_A: float, R_A: float, delta: float) -> Array:
    return 2 * L_A * R_A * R_A / (delta**2 * (t + 1))


def _sharper(t: Array, L_A: float, R_A: float, delta: float) -> Array:
    return 2 * L_A * R_A * R_A / (delta**2 * t + 4)


def _random(t: Array, L_A: float, R_A: float, quality: float) -> Array:
    return 2 * L_A * R_A * R_A / (quality * (t + 1))


def _linear(t: Array, mu_A: float, L_A: float, gap: float, delta: float) -> Array:
    return gap * _factor(delta**2 * mu_A / L_A) ** t


def _linear_random(t: Array, mu_A: float, L_A: float, gap: float, quality: float) -> Array:
    return gap * _factor(quality * mu_A / L_A) ** t


def _stich(t: Array, L: float, R_A: float) -> Array:
    return 2 * L * R_A * R_A / (t + 1)


def _nesterov(t: Array, L: float, n: float, R_2: float) -> Array:
    return 2 * n * L * R_2 * R_2 / (t + 1)


def _nutini(t: Array, mu_A: float, L: float, gap: float) -> Array:
    return gap * _factor(mu_A / L) ** t


def _nesterov_linear(t: Array, mu: float, L: float, n: float, gap: float) -> Array:
    return gap * _factor(mu / (n * L)) ** t


def _older(
    t: Array, mDW: float, mu: float, L: float, radius: float, gap: float, delta: float
) -> Array:
    return gap * _factor(delta**2 * (mDW / radius) ** 2 * mu / L) ** t


def _of_2017(t: Array, L: float, rho: float, radius: float, gap: float, delta: float) -> Array:
    return 4 * (2 / delta * L * (rho * radius) * (rho * radius) + gap) / (delta * t + 4)


def _accelerated(t: Array, L: float, nu: float, distance: float) -> Array:
    bound: Array = 2 * L * nu * distance * distance / (t * (t + 1))
    return bound


def _conjugate(t: Array, L_P: float, distance: float) -> Array:
    return 2 * L_P * distance**2 / (t + 1) ** 2


def _factor(quotient: float) -> float:
    """1 − q, where rounding may have made q a little more than one."""
    return max(1 - quotient, 0.0)


# By number --------------------------------------------------------------------------------

theorem_3 = Theorem(
    "Theorem 3",
    "f(x_t) − f* ≤ 2 L_A R_A² / (δ² (t + 1))",
    ("L_A", "R_A", "δ"),
    _sublinear,
    takes=("delta", "algorithm"),
    first=1,
)
"""As printed, for Algorithm 2 with a δ-approximate oracle."""
theorem_3_sharper = Theorem(
    "Theorem 3, sharper",
    "f(x_t) − f* ≤ 2 L_A R_A² / (δ² t + 4)",
    ("L_A", "R_A", "δ"),
    _sharper,
    takes=("delta", "algorithm"),
)
"""What the proof of Theorem 3 gives, since ε_0 ≤ ½L_A R_A²."""
theorem_4 = Theorem(
    "Theorem 4",
    "E f(x_t) − f* ≤ 2 L_A R_A² / (δ̂² (t + 1))",
    ("L_A", "R_A", "δ̂²"),
    _random,
    takes=("sampling", "algorithm"),
    first=1,
)
"""For random pursuit."""
theorem_5 = Theorem(
    "Theorem 5",
    "f(x_t) − f* ≤ (1 − δ² μ_A/L_A)^t ε_0",
    ("μ_A", "L_A", "ε_0", "δ"),
    _linear,
    takes=("delta",),
)
"""Its first part, for Algorithm 2."""
theorem_5_random = Theorem(
    "Theorem 5, random",
    "E f(x_t) − f* ≤ (1 − δ̂² μ_A/L_A)^t ε_0",
    ("μ_A", "L_A", "ε_0", "δ̂²"),
    _linear_random,
    takes=("sampling",),
)
"""Its second part, for random pursuit."""
older_rate = Theorem(
    "The older linear rate",
    "f(x_t) − f* ≤ (1 − δ² mDW² μ/(L radius²))^t ε_0",
    ("mDW", "μ", "L", "radius", "ε_0", "δ"),
    _older,
    takes=("delta",),
)
"""For Algorithm 1 (Locatello et al. 2017)."""
theorem_5_nearest = Theorem(
    "Theorem 5, nearest minimiser",
    "f(x_t) − f* ≤ (1 − δ² μ̄_A/L_A)^t ε_0",
    ("μ̄_A", "L_A", "ε_0", "δ"),
    theorem_5.bound,
    takes=("delta",),
)
"""The same for a quadratic with flat directions, which grows away from its minimisers."""
rate_of_2017 = Theorem(
    "The sublinear rate of 2017",
    "f(x_t) − f* ≤ 4 (2/δ L ρ² radius² + ε_0) / (δ t + 4)",
    ("L", "ρ", "radius", "ε_0", "δ"),
    _of_2017,
    takes=("delta",),
)
"""For Algorithm 1 (Locatello, Khanna, Tschannen and Jaggi 2017), with ρ the largest of ‖x*‖_A and
all ‖x_t‖_A; for comparison. It is known after a run (`given={"ρ": …}`), and at most ‖x0‖_A + 2R_A
before."""
stich_2017 = Theorem(
    "Stich et al. 2017",
    "f(x_t) − f* ≤ 2 L R_A² / (t + 1)",
    ("L", "R_A"),
    _stich,
    first=1,
)
"""For steepest coordinate descent, with L in place of L_A; see `coordinate_descent`."""
nesterov_2012 = Theorem(
    "Nesterov 2012",
    "E f(x_t) − f* ≤ 2 n L R_2² / (t + 1)",
    ("L", "n", "R_2"),
    _nesterov,
    first=1,
)
"""For random coordinate descent, as the paper states it with the global L."""
nutini_2015 = Theorem(
    "Nutini et al. 2015",
    "f(x_t) − f* ≤ (1 − μ_A/L)^t ε_0",
    ("μ_A", "L", "ε_0"),
    _nutini,
)
"""For steepest coordinate descent, with the strong convexity in the ℓ1 norm."""
nesterov_2012_linear = Theorem(
    "Nesterov 2012, linear",
    "E f(x_t) − f* ≤ (1 − μ/(n L))^t ε_0",
    ("μ", "L", "n", "ε_0"),
    _nesterov_linear,
)
"""For random coordinate descent on a strongly convex f, with the global L."""
theorem_8 = Theorem(
    "Theorem 8",
    "E f(x_t) − f* ≤ 2 L ν ‖x* − x0‖_P² / (t (t + 1))",
    ("L", "ν", "‖x* − x0‖_P"),
    _accelerated,
    takes=("sampling", "delta"),
    first=1,
)
"""For Algorithm 4."""
theorem_9 = Theorem(
    "Theorem 9",
    "E f(x_t) − f* ≤ 2 L ν′ ‖x* − x0‖_P² / (t (t + 1))",
    ("L", "ν′", "‖x* − x0‖_P"),
    theorem_8.bound,
    takes=("sampling",),
    first=1,
)
"""For Algorithm 3."""
_CONJUGATE = Theorem(
    "Conjugate acceleration",
    "f(x_t) − f* ≤ 2 L_P ‖x* − x0‖_P² / (t + 1)²",
    ("L_P", "‖x* − x0‖_P"),
    _conjugate,
    first=1,
)


def conjugate(
    f: Objective,
    atoms: FiniteAtoms,
    x0: object | None = None,
    *,
    sampling: object | None = None,
    given: Mapping[str, float] | None = None,
) -> Rate:
    """2 L_P ‖x* − x0‖_P² / (t + 1)² for "accelerated" on a quadratic, while it keeps all steps.

    β_t(f(x_t) − f*) ≤ ½‖x* − x0‖_P², and β_t ≥ (t + 1)²/(4L_P) since f falls by S/(2L_P) or more
    and no slope is left along v − x. Its own sampling is taken where none is given.
    """
    if f.quadratic is None:
        raise MissingConstant("e_t", "the slope along v − x is known before for quadratics only")
    sampling = geometry.preconditioner(f, atoms) if sampling is None else sampling
    return _CONJUGATE.over(Ground(f, atoms, x0, sampling, given=given))


def parameter_free(
    f: Objective,
    atoms: AtomSet,
    x0: object | None = None,
    *,
    sampling: object | None = None,
    exploration: int | None = 1,
    given: Mapping[str, float] | None = None,
) -> Rate:
    """2 κ ‖x* − x0‖_P² / (t(t + 1)) for `pursuit.Adaptive`, in its phase from x0.

    E[β_t ε_t] ≤ ½‖x* − x0‖_P² whatever κ_t it chose, and β_t ≥ t(t + 1)/(4κ) for the largest κ
    that it can need: L_A(1 + (r − 1)/m) with `exploration` m. None stands for all atoms, where
    κ = L_A and the bound holds surely. Steps of x are as long as Algorithm 2's or better.
    """
    ground = Ground(f, atoms, x0, sampling, given=given)
    L_A, distance, r = ground["L_A"], ground["‖x* − x0‖_P"], ground["r"]
    cap = (1 if exploration is None else 1 + (r - 1) / exploration) * L_A / ground.quality**2
    return Rate(
        "Parameter-free acceleration from a blend",
        ("" if exploration is None else "E ") + "f(x_t) − f* ≤ 2 κ ‖x* − x0‖_P² / (t (t + 1))",
        {"κ": cap, "L_A": L_A, "r": r, "‖x* − x0‖_P": distance},
        _Stated(_accelerated, (cap, 1.0, distance)),
        SURELY if exploration is None else EXPECTED,
        first=1,
    )


SUBLINEAR = (theorem_3, stich_2017, nesterov_2012)
LINEAR = (theorem_5, nutini_2015, nesterov_2012_linear)


@dataclass(frozen=True)
class RateTable:
    """Rates of coordinate descent on one problem, the tightest of each kind first.

    Attributes
    ----------
    sublinear, linear
        `Rate` by name.
    """

    sublinear: Mapping[str, Rate]
    linear: Mapping[str, Rate]

    def __str__(self) -> str:
        times = (1, 10, 100, 1000)
        lines = [f"{'':<24}" + "".join(f"{f't = {t}':>12}" for t in times)]
        for name, rate in {**self.sublinear, **self.linear}.items():
            lines.append(f"{name:<24}" + "".join(f"{float(rate(t)):>12.4g}" for t in times))
        return "\n".join(lines)

    __repr__ = __str__


def coordinate_descent(
    f: Objective, x0: object | None = None, *, given: Mapping[str, float] | None = None
) -> RateTable:
    """Return the known rates of coordinate descent for one problem, side by side.

    Theorem 3 against Stich et al. 2017 and Nesterov 2012, L₁R₁² ≤ L₂R₁² ≤ nL₂R₂², and Theorem 5
    against Nutini et al. 2015 and Nesterov 2012, μ₁/L₁ ≥ μ₁/L ≥ μ/(nL): those of the paper are the
    tightest.

    Parameters
    ----------
    f
        A strongly convex objective over vectors.
    x0
        Where the runs start; zero if not given.
    given
        Constants that are known from elsewhere, by name.

    Returns
    -------
    RateTable
        Printing it shows the bounds at t = 1, 10, 100 and 1000.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import Quadratic, rates
    >>> print(rates.coordinate_descent(Quadratic(np.diag([1.0, 4.0]), np.ones(2))))
                                   t = 1      t = 10     t = 100    t = 1000
    Theorem 3                       6.25       1.136      0.1238     0.01249
    Stich et al. 2017               6.25       1.136      0.1238     0.01249
    Nesterov 2012                     10       1.818       0.198     0.01998
    Theorem 5                        0.5     0.06711   1.273e-10   7.689e-98
    Nutini et al. 2015               0.5     0.06711   1.273e-10   7.689e-98
    Nesterov 2012, linear         0.5469      0.1644   9.924e-07   6.367e-59
    """
    if len(f.shape) != 1:
        raise InputError(f"f must be a function of a vector, got one of shape {f.shape}")
    ground = Ground(f, Coordinates(f.shape[0]), x0, given=given)
    return RateTable(
        {theorem.name: theorem.over(ground) for theorem in SUBLINEAR},
        {theorem.name: theorem.over(ground) for theorem in LINEAR},
    )


def optimal_value(f: Objective, atoms: AtomSet, x0: object | None = None) -> float:
    """f* over lin(A) of a quadratic: the floor above which bounds are drawn."""
    gap = geometry.gap(f, atoms, x0)
    if gap.kind is Kind.ESTIMATE:
        raise MissingConstant("f*", _DROWNED)
    if not isfinite(gap) or gap.lower < (1 - NEARLY) * gap.upper:
        raise MissingConstant("f*", "it is known for quadratics with a minimum only")
    return f.value(geometry.start_point(f, atoms, x0)) - gap
