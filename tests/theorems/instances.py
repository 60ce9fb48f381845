"""Random problems on which theorems are tried, and constants from their definitions.

What is computed here shares nothing with `pursuit.geometry`: corners of the polar are found by
solving for every subset and every sign in the coordinates of an orthonormal basis, second moments
by NumPy's pseudo-inverse.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from pursuit import Dictionary, Quadratic, geometry, solve
from pursuit.rules.directions import Direction
from pursuit.rules.run import Choice

MANY = settings(max_examples=200)
"""Each property is tried on this many random problems."""

KINDS = ("gaussian", "unit", "mixed scales", "coherent", "rank-deficient", "duplicates")


@dataclass(frozen=True)
class Instance:
    """A set of atoms, probabilities of them, a quadratic ½xᵀHx − bᵀx and a start in lin(A)."""

    Z: np.ndarray
    p: np.ndarray
    H: np.ndarray
    b: np.ndarray
    x0: np.ndarray
    rng: np.random.Generator

    @cached_property
    def atoms(self):
        return Dictionary(self.Z)

    @cached_property
    def f(self):
        return Quadratic(self.H, self.b)

    @cached_property
    def span(self):
        """An orthonormal basis of lin(A) as rows."""
        directions = self.Z / np.linalg.norm(self.Z, axis=1)[:, None]
        _, s, vt = np.linalg.svd(directions)
        return vt[: np.count_nonzero(s > 1e-10 * s[0])]

    @cached_property
    def computed_nu(self):
        """ν and ν′ as the library gives them."""
        return geometry.nu(self.atoms, self.p), geometry.nu_random(self.atoms, self.p)

    @property
    def r(self):
        return len(self.span)

    @cached_property
    def P_tilde(self):
        return (self.Z.T * self.p) @ self.Z

    @cached_property
    def P(self):
        inner = self.span @ self.P_tilde @ self.span.T
        return self.span.T @ np.linalg.inv(inner) @ self.span

    @cached_property
    def w(self):
        return np.einsum("ij,jk,ik->i", self.Z, self.P, self.Z)

    @cached_property
    def H_inverse(self):
        """The inverse of H on lin(A)."""
        return self.span.T @ np.linalg.inv(self.span @ self.H @ self.span.T) @ self.span

    @cached_property
    def corners(self):
        """One of each pair of corners of {y in lin(A) : |⟨y, z_j⟩| ≤ 1}."""
        B, found = self.Z @ self.span.T, []
        signs = np.array(list(product((1.0, -1.0), repeat=self.r))).T
        for subset in combinations(range(len(B)), self.r):
            if abs(np.linalg.det(B[list(subset)])) > 1e-12 * np.prod(
                np.linalg.norm(B[list(subset)], axis=1)
            ):
                Y = np.linalg.solve(B[list(subset)], signs).T
                found.append(Y[np.abs(Y @ B.T).max(axis=1) <= 1 + 1e-9])
        return np.concatenate(found) @ self.span

    @cached_property
    def x_star(self):
        """The minimiser of f over lin(A)."""
        return self.H_inverse @ self.b

    def gap(self, x):
        """f(x) − f*, without cancellation."""
        return 0.5 * (x - self.x_star) @ self.H @ (x - self.x_star)

    def gauge(self, x):
        """‖x‖_A as the support function of the polar."""
        return float((self.corners @ x).max())

    def direction(self):
        """A random vector of lin(A)."""
        return self.rng.standard_normal(self.r) @ self.span

    @cached_property
    def mu_A(self):
        Y = self.corners
        return 1 / np.einsum("ij,jk,ik->i", Y, self.H_inverse, Y).max()

    @cached_property
    def nu(self):
        """ν from its definition, over all corners."""
        c = self.corners @ self.Z.T
        squares = (self.Z**2).sum(axis=1)
        longest = np.where(np.abs(c) > 1 - 1e-7, squares, 0).max(axis=1)
        return float(((c**2 @ (self.p * self.w)) * longest).max())


def _atoms(rng, kind, n, d):
    Z = rng.standard_normal((n, d))
    if kind == "unit":
        Z /= np.linalg.norm(Z, axis=1)[:, None]
    if kind == "mixed scales":
        Z *= 10.0 ** rng.uniform(-1.5, 1.5, n)[:, None]
    if kind == "coherent":
        Z = rng.standard_normal(d) + 0.2 * Z
    if kind == "rank-deficient" and d > 1:
        Z = _few_bits(rng, (n, d - 1)) @ _few_bits(rng, (d - 1, d)) / 2**24
    if kind == "duplicates" and n > 2:
        Z[-1], Z[-2] = Z[0], -2 * Z[1]
    return Z


def _few_bits(rng, shape):
    """Factors whose product is exact, so that its rank is that of the numbers; none is zero, as no
    atom is."""
    factors = np.round(rng.standard_normal(shape) * 2**12)
    return np.where(factors == 0, 1, factors)


@st.composite
def instances(draw, max_d=4, max_n=10):
    """Problems small enough for all corners to be listed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(KINDS))
    d = draw(st.integers(1, max_d))
    n = draw(st.integers(d, max_n))
    Z = _atoms(rng, kind, n, d)
    p = np.full(n, 1 / n) if draw(st.booleans()) else rng.dirichlet(np.full(n, 2.0))
    root = rng.standard_normal((d, d))
    H = root @ root.T + 0.1 * np.eye(d)
    return Instance(Z, p, H, rng.standard_normal(d), rng.standard_normal(n) @ Z, rng)


@dataclass(frozen=True)
class Laziest(Direction):
    """The δ-approximate oracle at its worst: the smallest correlation that equation (3) allows."""

    delta: float = 1.0

    @property
    def quality(self):
        return self.delta

    def start(self, run, purpose="picks"):
        def choose(x):
            c = np.abs(x.correlations())
            allowed = np.where(c >= self.delta * c.max() * (1 - 1e-12), c, np.inf)
            z = int(np.argmin(allowed))
            return Choice(z, float(x.correlations()[z]), float(c.max()))

        return choose


def iterates(f, atoms, method, x0, steps, **options):
    """x_0, x_1, … of a method on the atoms as they are."""
    seen = []

    def keep(snapshot):
        seen.append(snapshot.x)

    options = {"tol": 0, "every": 1, "unit_atoms": False, **options}
    solve(f, atoms, method, x0, max_iter=steps, callback=keep, **options)
    return seen


def sharp_descent(rng, n):
    """(f, x0) over n coordinates on which Theorem 5 is attained at the first step.

    H has a unit diagonal, so L_A = 1, and x0 = x* + H⁻¹y* for the corner y* of the polar at which
    1/μ_A = max yᵀH⁻¹y is reached: then ε_0 = ‖g‖²_{A*}/(2μ_A), and R_A = ‖x0 − x*‖_A.
    """
    root = rng.standard_normal((n, n))
    H = root @ root.T + 0.3 * np.eye(n)
    H /= np.sqrt(np.outer(np.diag(H), np.diag(H)))
    b = rng.standard_normal(n)
    corners = np.array(list(product((1.0, -1.0), repeat=n)))
    inverse = np.linalg.inv(H)
    best = corners[np.argmax(np.einsum("ij,jk,ik->i", corners, inverse, corners))]
    return Quadratic(H, b), inverse @ (b + best)
