"""The named methods: an advance and a momentum each.

| name                         | in the paper              | over `Coordinates` it is          |
|------------------------------|---------------------------|-----------------------------------|
| matching-pursuit             | Algorithm 1               | steepest coordinate descent       |
| affine-invariant             | Algorithm 2               | steepest coordinate descent       |
| random-pursuit               | §2, Theorem 4             | random coordinate descent         |
| accelerated-random           | Algorithm 3               | accelerated random CD             |
| accelerated-matching-pursuit | Algorithm 4               | accelerated greedy CD             |
| greedy-greedy                | Algorithm 4 with z̃ = z   | AGCD (Lu, Freund & Mirrokni 2018) |
| accelerated                  | Theorem 8 without ν and L | accelerated CD without constants  |
| accelerated-affine-invariant | Algorithm 2, accelerated  | the same, κ = L_A                 |
| gradient-free                | §2, values of f alone     | random CD with line search        |
| cyclic                       | one atom after another    | cyclic CD with Newton steps       |
| shuffled                     | the same, in drawn orders | shuffled CD with Newton steps     |
| orthogonal                   | fully corrective          | forward selection                 |
| orthogonal-least-squares     | the same, by gain         | forward regression                |
| local-orthogonal             | corrective near the atom  | steepest coordinate descent       |
| blended                      | Combettes & Pokutta 2019  | blended coordinate descent        |
| working-set                  | (not in it)               | prox-Newton on working sets       |

Names are case-insensitive, with hyphens or underscores; ``"mp"``, ``"omp"`` and ``"ols"`` are short
for matching-pursuit, orthogonal and orthogonal-least-squares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pursuit.acceleration.accelerated import Conjugate
from pursuit.acceleration.adaptive import Adaptive, largest_curvature
from pursuit.active.blended_pursuit import Blended
from pursuit.active.corrective import Corrective, LocalCorrective
from pursuit.active.working_set import WorkingSet
from pursuit.base.errors import InputError
from pursuit.base.validation import shown
from pursuit.rules.advances import Advance, Greedy
from pursuit.rules.directions import Cyclic, Direction, Random, Shuffled, Steepest
from pursuit.rules.gradient_free import Blind
from pursuit.rules.momentum import FixedNu, Momentum, Plain
from pursuit.rules.steps import AffineInvariant, ExactLineSearch, Newton, Smooth, Step


@dataclass(frozen=True)
class Method:
    """An advance (how x improves from a point) and a momentum (from which point)."""

    name: str
    advance: Advance
    momentum: Momentum

    def __post_init__(self) -> None:
        for name, rule, kind in (
            ("advance", self.advance, Advance),
            ("momentum", self.momentum, Momentum),
        ):
            if not isinstance(rule, kind):
                raise InputError(
                    f"{name}: expected a subclass of {kind.__name__}, got {shown(rule)}"
                )

    @property
    def gradient_free(self) -> bool:
        """Whether the method looks at values of f alone."""
        return self.advance.gradient_free


def matching_pursuit(*, direction: Direction | None = None, step: Step | None = None) -> Method:
    """Algorithm 1, generalized matching pursuit: z = LMO(∇f(x)), x ← x − ⟨∇f(x), z⟩/(L‖z‖²) z."""
    find_z = direction or Steepest()  # line 3: z_t = LMO_A(∇f(x_t))
    h = step or Smooth()  # line 4: x_{t+1} = x_t − ⟨∇f(x_t), z_t⟩/h(z_t) z_t, h(z) = L‖z‖²
    return Method("matching-pursuit", Greedy(find_z, h), Plain())


def affine_invariant(*, direction: Direction | None = None, L_A: float | None = None) -> Method:
    """Algorithm 2, affine-invariant matching pursuit: x ← x − ⟨∇f(x), z⟩/L_A z."""
    find_z = direction or Steepest()  # line 3: z_t = LMO_A(∇f(x_t))
    h = AffineInvariant(L_A)  # line 4: x_{t+1} = x_t − ⟨∇f(x_t), z_t⟩/L_A z_t
    return Method("affine-invariant", Greedy(find_z, h), Plain())


def random_pursuit(*, sampling: object | None = None, step: Step | None = None) -> Method:
    """Random pursuit (Theorem 4): z ~ p in place of the oracle."""
    return Method("random-pursuit", Greedy(Random(sampling), step or Smooth()), Plain())


def cyclic(*, step: Step | None = None) -> Method:
    """One atom of a finite set after another: over `Coordinates`, cyclic coordinate descent.

    Steps are Newton's for quadratics and linear models, unless given.
    """
    return Method("cyclic", Greedy(Cyclic(), step or Newton()), Plain())


def shuffled(*, step: Step | None = None) -> Method:
    """All atoms of a finite set, in an order drawn anew for each round of them.

    Over `Coordinates` this is coordinate descent as liblinear does it. Steps are Newton's for
    quadratics and linear models, unless given.
    """
    return Method("shuffled", Greedy(Shuffled(), step or Newton()), Plain())


def accelerated_random(
    *,
    nu: float | None = None,
    direction: Direction | None = None,
    sampling: object | None = None,
    step: Step | None = None,
    L: float | None = None,
) -> Method:
    """Algorithm 3, accelerated random pursuit; `nu` is ν′, computed exactly where not given."""
    sample_z = direction or Random(sampling)  # line 7: z_t ~ p
    h = step or Smooth(L)  # line 8: x_{t+1} = y_t − ⟨∇f(y_t), z_t⟩/(L‖z_t‖²) z_t
    pair = FixedNu(nu, None, L)  # lines 3 to 6: α, β, τ, y_t; line 9: v moves along z_t
    return Method("accelerated-random", Greedy(sample_z, h), pair)


def accelerated_matching_pursuit(
    *,
    nu: float | None = None,
    direction: Direction | None = None,
    probe: Direction | None = None,
    sampling: object | None = None,
    step: Step | None = None,
    L: float | None = None,
) -> Method:
    """Algorithm 4, accelerated matching pursuit; where `nu` is not given, a safe ν is computed."""
    find_z = direction or Steepest()  # line 7: z_t = LMO_A(∇f(y_t))
    h = step or Smooth(L)  # line 8: x_{t+1} = y_t − ⟨∇f(y_t), z_t⟩/(L‖z_t‖²) z_t
    sample_z = probe or Random(sampling)  # line 9: z̃_t ~ p
    pair = FixedNu(nu, sample_z, L)  # lines 3 to 6: α, β, τ, y_t; line 10: v moves along z̃_t
    return Method("accelerated-matching-pursuit", Greedy(find_z, h), pair)


def greedy_greedy(
    *, nu: float | None = None, step: Step | None = None, L: float | None = None
) -> Method:
    """Algorithm 4 with z̃ = z: both sequences move along the oracle's atom.

    There is no proof of convergence; the driver stops a run that diverges. `nu` is dim lin(A)
    times the squared radius where it is not given.
    """
    return Method("greedy-greedy", Greedy(Steepest(), step or Smooth(L)), FixedNu(nu, None, L))


def accelerated(
    *,
    exploration: int | None = None,
    sampling: object | None = None,
    memory: int | None = None,
) -> Method:
    """Acceleration without parameters: x goes to the best point of a plane of earlier steps.

    On quadratics these are conjugate gradients with a memory, preconditioned by the sampling and
    with a certificate; linear models take Newton steps on the plane. All atoms enter: give
    `exploration=m` to have a second sequence move along m drawn atoms an iteration, as in
    Algorithm 4. Any other f, and infinite sets, are accelerated in that way too.

    Parameters
    ----------
    exploration
        The number of atoms drawn an iteration; see `pursuit.Adaptive`.
    sampling
        A `Sampling`, or probabilities, which act as a preconditioner; scale-invariant where not
        given.
    memory
        The most earlier steps to keep; see `pursuit.Conjugate`.
    """
    if exploration is not None and memory is not None:
        raise InputError("memory: with exploration no earlier step is kept; expected one of them")
    momentum: Momentum = Conjugate(memory, sampling)
    if exploration is not None:
        momentum = Adaptive(exploration, sampling)
    return Method("accelerated", Greedy(Steepest(), ExactLineSearch()), momentum)


def accelerated_affine_invariant(
    *, L_A: float | None = None, sampling: object | None = None
) -> Method:
    """Algorithm 2 accelerated: f(x_t) − f* ≤ 2L_A‖x* − x0‖²_P / (t(t + 1)), surely.

    Nesterov's method in the P-norm, with x moved along the oracle's atom. On the atoms as given
    (`unit_atoms=False`) its iterates are affine invariant. L_A is computed unless given.
    """
    momentum = Adaptive(None, sampling, largest_curvature if L_A is None else L_A)
    advance = Greedy(Steepest(), AffineInvariant(L_A))
    return Method("accelerated-affine-invariant", advance, momentum)


def orthogonal(*, selection: str = "omp") -> Method:
    """Orthogonal matching pursuit for any smooth f: z = LMO(∇f(x)), then the best coefficients
    of all atoms in use.

    Parameters
    ----------
    selection
        "omp", or "ols" for the atom that lowers f most once all coefficients are corrected, in the
        place of the oracle's; see `pursuit.Corrective`.
    """
    return Method("orthogonal", Corrective(selection), Plain())


def orthogonal_least_squares() -> Method:
    """Orthogonal least squares (Chen, Billings and Luo 1989): `orthogonal` with the atom that
    lowers f most once the coefficients of all atoms in use are corrected. For finite sets."""
    return Method("orthogonal-least-squares", Corrective("ols"), Plain())


def local_orthogonal() -> Method:
    """Locally orthogonal pursuit over atoms that overlap few others, such as `pursuit.Shifts`:
    z = LMO(∇f(x)), then the best coefficients of z and of the atoms in use that overlap it.

    Over a set that does not say which of its atoms overlap it is `orthogonal`."""
    return Method("local-orthogonal", LocalCorrective(), Plain())


def blended(*, kappa: float = 4.0) -> Method:
    """Blended matching pursuit: nearly the sparsity of orthogonal pursuit for less work.

    `kappa` says how much better than the atoms in use a new one has to be.
    """
    return Method("blended", Blended(kappa), Plain())


def working_set() -> Method:
    """Prox-Newton on working sets, for linear models over `Coordinates` with any penalty.

    The coefficients in use and those farthest from optimal are corrected together: a quadratic
    model of the losses is minimized with the penalty by epochs of coordinate descent that take
    turns with Newton steps on the support.
    """
    return Method("working-set", WorkingSet(), Plain())


def gradient_free(*, sampling: object | None = None) -> Method:
    """Gradient-free pursuit: z ~ p, then the minimiser of f along z found from values alone.

    For each draw f falls at least as much as Algorithm 2 makes it fall, up to rounding.
    """
    return Method("gradient-free", Blind(sampling), Plain())


NAMED: dict[str, Callable[[], Method]] = {
    "matching-pursuit": matching_pursuit,
    "affine-invariant": affine_invariant,
    "random-pursuit": random_pursuit,
    "accelerated-random": accelerated_random,
    "accelerated-matching-pursuit": accelerated_matching_pursuit,
    "greedy-greedy": greedy_greedy,
    "accelerated": accelerated,
    "accelerated-affine-invariant": accelerated_affine_invariant,
    "gradient-free": gradient_free,
    "cyclic": cyclic,
    "shuffled": shuffled,
    "orthogonal": orthogonal,
    "local-orthogonal": local_orthogonal,
    "blended": blended,
}
"""Those for any f over any set, or any that has what they ask for."""
FOR_FINITE_SETS: dict[str, Callable[[], Method]] = {
    "orthogonal-least-squares": orthogonal_least_squares
}
"""Those for any f over finite sets."""
FOR_LINEAR_MODELS: dict[str, Callable[[], Method]] = {"working-set": working_set}
"""Those for linear models over `Coordinates`."""

ALIASES = {
    "mp": "matching-pursuit",
    "omp": "orthogonal",
    "ols": "orthogonal-least-squares",
}
"""The field's short names."""


def full_name(method: object) -> object:
    """Return a method's own name for one in other letters or a short one; else what was given."""
    if not isinstance(method, str):
        return method
    name = method.lower().replace("_", "-")
    return ALIASES.get(name, name)


def as_method(method: str | Method) -> Method:
    """Return a method from its name."""
    if isinstance(method, Method):
        return method
    name, known = full_name(method), NAMED | FOR_FINITE_SETS | FOR_LINEAR_MODELS
    if not isinstance(name, str) or name not in known:
        raise InputError(
            f"method: expected one of {', '.join([*known, *ALIASES])}, or a Method, "
            f"got {shown(method)}"
        )
    return known[name]()
