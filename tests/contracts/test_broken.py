"""The contracts catch what is broken, and say what is wrong with it."""

from dataclasses import dataclass
from itertools import count

import numpy as np
import pytest

from pursuit import (
    L1,
    Dictionary,
    Function,
    Greedy,
    LeastSquares,
    Logistic,
    Oracle,
    Quadratic,
    Random,
    Smooth,
    Sphere,
    Steepest,
    methods,
)
from pursuit.atoms.base import FiniteAtoms, Unit
from pursuit.atoms.groups import Groups
from pursuit.atoms.rank_one import RankOne
from pursuit.geometry import ClosedForm
from pursuit.methods import Method
from pursuit.rules.directions import Direction
from pursuit.rules.momentum import Plain
from pursuit.rules.run import Choice
from pursuit.testing import check_atoms, check_method, check_objective, check_penalty

rng = np.random.default_rng(3)
ROWS = rng.standard_normal((12, 5))
A = rng.standard_normal((9, 5))


# Sets -----------------------------------------------------------------------------------


class LazyDictionary(Dictionary):
    """Its oracle takes the first atom that is within 5 % of the best."""

    def lmo(self, d):
        c = np.abs(self.correlate(d))
        return int(np.argmax(c >= 0.95 * c.max()))


class Boastful(RankOne):
    """It gives up after one step of the power method, and claims that this was enough."""

    def near_lmo(self, d, delta, rng):
        v = rng.standard_normal(d.shape[1])
        u = d @ v
        v = d.T @ (u / np.linalg.norm(u))
        z = u / np.linalg.norm(u), v / np.linalg.norm(v)
        return z, self.inner(d, z) / delta


class LazySphere(Sphere):
    """Its oracle is tilted so that it reaches 95 % of the best."""

    def lmo(self, d):
        z = super().lmo(d)
        across = np.zeros_like(z)
        across.flat[0] = 1.0
        across -= np.vdot(across, z) * z
        across /= np.linalg.norm(across)
        return 0.95 * z + np.sqrt(1 - 0.95**2) * across

    def dual_norm(self, d):
        return abs(self.inner(d, self.lmo(d)))


class LazyGroups(Groups):
    """Its oracle takes the last of the groups that are within 5 % of the best."""

    def lmo(self, d):
        norms = self._group_norms(d)
        g = int(np.flatnonzero(norms >= 0.95 * norms.max())[-1])
        return g, d[self.groups[g]] / norms[g]


class LazyRankOne(RankOne):
    """Three steps of the power method."""

    def lmo(self, d, start=None):
        v = np.ones(self.shape[1])
        for _ in range(3):
            u = d @ v
            v = d.T @ u
        return u / np.linalg.norm(u), v / np.linalg.norm(v)


class LoudDictionary(Dictionary):
    """Its dual norm is 5 % too large."""

    def dual_norm(self, d):
        return 1.05 * super().dual_norm(d)


class ForgetfulDictionary(Dictionary):
    """It gives back another atom than it was given."""

    def unpack(self, packed):
        return [(j + 1) % len(self) for j in super().unpack(packed)]


class MisscaledDictionary(Dictionary):
    """Its unit version forgets to say by what it was divided."""

    def unit(self):
        unit, scale = super().unit()
        return Unit(unit, np.ones_like(scale))


class PartialGroups(Groups):
    """It forgets that some coordinates belong to no group."""

    def moments(self, p=None):
        return ClosedForm(1 / len(self.groups), np.full(self.shape, 1 / self.shape[0]))


class EvenGroups(Groups):
    """It takes the coordinates, not the groups, to be drawn alike."""

    def moments(self, p=None):
        known = super().moments(p)
        return ClosedForm(known.squared_width, np.full(self.shape, 1 / self.shape[0]))


class WideRankOne(RankOne):
    """It takes its matrices for a sphere."""

    def moments(self, p=None):
        return ClosedForm(1.0, super().moments(p).diagonal)


@pytest.mark.parametrize(
    ("atoms", "complaint"),
    [
        (LazyDictionary(ROWS), "lmo"),
        (LazySphere(5), "lmo"),
        (LazyGroups([[0, 1], [2, 3], [4]]), "lmo"),
        (LazyRankOne(6, 5), "lmo"),
        (Boastful(60, 50), "near_lmo"),
        (Oracle(LazySphere(5).lmo, 5, radius=1.0, delta=0.97), "0.97 of the largest"),
        (LoudDictionary(ROWS), "dual_norm"),
        (ForgetfulDictionary(ROWS), "unpack"),
        (MisscaledDictionary(ROWS), "unit"),
        (PartialGroups([[0, 1], [2]], size=5), "positive in lin"),
        (EvenGroups([[0, 1, 2, 3], [4]]), "mean of z_i²"),
        (WideRankOne(6, 5), "mDW²"),
    ],
)
def test_a_broken_set_is_caught(atoms, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_atoms(atoms)


def test_the_message_says_by_how_much_the_oracle_is_off():
    with pytest.raises(AssertionError, match=r"LazySphere: lmo\(d\) must maximise .* % of which"):
        check_atoms(LazySphere(5))


# Objectives -----------------------------------------------------------------------------


class TiltedGradient(LeastSquares):
    """One entry of the gradient is one per cent off."""

    def gradient_at(self, x, image):
        return super().gradient_at(x, image) * np.array([1.01, 1, 1, 1, 1])


class SmallL(Quadratic):
    def __init__(self, H, b):
        super().__init__(H, b)
        self.L *= 0.9


class SmallCurvature(Logistic):
    """It forgets that the logistic loss bends by up to a quarter."""

    bend = 0.2

    @property
    def L(self):
        return 1e9


class Stiff(Quadratic):
    """It claims more strong convexity than it has."""

    def __init__(self, H, b):
        super().__init__(H, b)
        self.mu = 1.2 * self.L


class CarelessImage(LeastSquares):
    def image(self, x):
        return super().image(x) + 1.0


class Meddler(Quadratic):
    """It writes into its argument."""

    def gradient(self, x):
        x += 1.0
        return super().gradient(x)


BROKEN = {
    "wrong gradient": (TiltedGradient(A, np.ones(9)), r"gradient\(x\) must be the slope"),
    "wrong L": (SmallL(A.T @ A, np.ones(5)), "L must bound the curvature"),
    "wrong curvature": (
        SmallCurvature(ROWS, rng.random(12) < 0.5),
        r"curvature\(z\) must bound",
    ),
    "not convex": (
        Function(lambda x: np.cos(x).sum(), lambda x: -np.sin(x), shape=4, L=1.0),
        r"f\(y\) ≥ f\(x\)",
    ),
    "wrong mu": (Stiff(A.T @ A, np.ones(5)), r"f\(y\) ≥ f\(x\)"),
    "image not linear": (CarelessImage(A, np.ones(9)), "image must be linear"),
    "changes its argument": (Meddler(A.T @ A, np.ones(5)), "must not change x"),
    "wrong L of a function": (
        Function(lambda x: float(x @ x), lambda x: 2 * x, shape=4, L=1.9),
        "L must bound",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_objective_is_caught(name):
    f, complaint = BROKEN[name]
    with pytest.raises(AssertionError, match=complaint):
        check_objective(f)


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.1, 2.0])
def test_a_gradient_of_the_wrong_length_is_caught(factor):
    f = Function(lambda x: float(x @ x), lambda x: factor * 2 * x, shape=4)
    with pytest.raises(AssertionError, match="slope of value"):
        check_objective(f)


# Methods --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Boastful:
    """A step that promises twice what it gains."""

    def start(self, run):
        measure = Smooth().start(run)

        def boast(x, z, c):
            gamma, decrease = measure(x, z, c)
            return gamma, 4 * decrease + 1e-3

        return boast


@dataclass(frozen=True)
class Modest:
    """A direction that reports half of the slope."""

    def start(self, run, purpose="picks"):
        choose = Steepest().start(run, purpose)

        def halve(x):
            z, c, slope = choose(x)
            return Choice(z, c, slope / 2)

        return halve


@dataclass(frozen=True)
class Unseeded:
    """A direction with a generator of its own, which no checkpoint knows of."""

    def start(self, run, purpose="picks"):
        generator = np.random.default_rng()
        draw = Random().start(run, purpose)

        def choose(x):
            draw(x)
            z = int(generator.integers(len(run.problem.atoms)))
            return Choice(z, x.correlation(z), float("nan"))

        return choose


@dataclass(frozen=True)
class Forgetful(Direction):
    """One atom after the other, counted where no checkpoint looks."""

    def start(self, run, purpose="picks"):
        turns = count()

        def choose(x):
            z = next(turns) % len(run.problem.atoms)
            return Choice(z, x.correlation(z), float("nan"))

        return choose


@dataclass(frozen=True)
class Undecided(Smooth):
    """A step whose bounds are not those that it goes by."""

    def bounds(self, problem):
        return 1.01 * super().bounds(problem)

    def start(self, run):
        return Smooth().start(run)


@dataclass(frozen=True)
class NoOracle(Steepest):
    """A direction of its own that still passes for the oracle."""

    def start(self, run, purpose="picks"):
        return Random().start(run, purpose)


@dataclass(frozen=True)
class TwoDraws(Random):
    """The steeper of two atoms that were drawn, where the first is said ahead."""

    def start(self, run, purpose="picks"):
        draw = super().start(run, purpose)
        return lambda x: max(draw(x), draw(x), key=lambda choice: abs(choice.correlation))


@dataclass(frozen=True)
class Uphill:
    """A step in the wrong direction."""

    def start(self, run):
        return lambda x, z, c: (-1e-3 * c, 0.0)


@pytest.mark.parametrize(
    ("method", "complaint"),
    [
        (methods.matching_pursuit(step=Boastful()), "what it promises"),
        (methods.matching_pursuit(step=Uphill()), "must end below its start"),
        (methods.matching_pursuit(direction=Modest()), "not below the largest"),
        (Method("unseeded", Greedy(Unseeded()), Plain()), "the same seed"),
        (methods.matching_pursuit(direction=Forgetful()), "stopped and resumed"),
        (methods.matching_pursuit(step=Undecided()), "its bounds say"),
        (methods.matching_pursuit(direction=NoOracle()), "must pick the atom"),
        (methods.matching_pursuit(direction=TwoDraws()), "must pick the atom"),
        (methods.accelerated_matching_pursuit(nu=1e-3), "must end below its start"),
    ],
)
def test_a_broken_method_is_caught(method, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_method(method)


def test_a_set_of_ones_own_passes():
    class Pairs(FiniteAtoms):
        """e_i + e_{i+1}."""

        def __init__(self, n):
            self.shape = (n,)
            self._rows = np.eye(n)[:-1] + np.eye(n)[1:]

        def __len__(self):
            return self.shape[0] - 1

        @property
        def matrix(self):
            return self._rows

        @property
        def norms(self):
            return np.full(len(self), np.sqrt(2))

        @property
        def rank(self):
            return len(self)

        def vector(self, z):
            return self._rows[z]

        def correlate(self, d):
            return d[:-1] + d[1:]

        def combine(self, weights):
            return weights @ self._rows

        def spans(self, x):
            return abs(x @ (-1.0) ** np.arange(len(x))) < 1e-9

        def unit(self):
            return Dictionary(self._rows).unit()

    check_atoms(Pairs(6))


class Wrong(L1):
    """Which method is wrong, its instance says."""


@pytest.mark.parametrize(
    ("name", "wrong", "complaint"),
    [
        ("value", lambda w: 2 * float(np.abs(w).sum()), r"value\(w\) must be"),
        ("prox", lambda w, h: w, r"prox\(w, h\) must minimise"),
        ("subgradient", lambda c, w: c, ".* must be how fast"),
        ("conjugate", lambda v, l2=0.0: 0 * v, "conjugate.* must be at least"),
        ("weights", -1.0, "weights must be at least 0"),
    ],
)
def test_a_broken_penalty_is_caught(name, wrong, complaint):
    penalty = Wrong(0.5)
    check_penalty(penalty)
    setattr(penalty, name, wrong)
    with pytest.raises(AssertionError, match=f"Wrong: {complaint}"):
        check_penalty(penalty)
