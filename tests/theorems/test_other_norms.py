"""Lemmas 2 and 6 in ‖·‖₁ and ‖·‖_∞, with every constant from its definition."""

from itertools import product
from math import inf

import numpy as np
import pytest
from theorems.adversaries import lazy_sphere

from pursuit import (
    Coordinates,
    Dictionary,
    InputError,
    Logistic,
    Quadratic,
    RankOne,
    Sphere,
    geometry,
)
from pursuit.geometry import Kind

DUAL = {1: inf, inf: 1, 2: 2}


def problem(seed, d=3, n=6):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((d, d))
    f = Quadratic(root @ root.T + 0.2 * np.eye(d), rng.standard_normal(d))
    return f, Dictionary(rng.standard_normal((n, d))), rng


@pytest.mark.parametrize("norm", [1, 2, inf])
@pytest.mark.parametrize("seed", range(10))
def test_lemma_2_and_lemma_6_hold_in_every_norm(norm, seed):
    f, atoms, _ = problem(seed)
    radius, width = geometry.radius(atoms, norm), geometry.norm_width(atoms, norm)
    L, mu = geometry.norm_smoothness(f, norm), geometry.norm_convexity(f, norm)
    assert geometry.smoothness(f, atoms) <= L.upper * radius**2 * (1 + 1e-9)
    assert geometry.strong_convexity(f, atoms).upper >= mu.lower * width.lower**2 * (1 - 1e-9)


@pytest.mark.parametrize("norm", [1, inf])
@pytest.mark.parametrize("seed", range(10))
def test_the_width_is_the_smallest_ratio_of_dual_norms_and_is_attained(norm, seed):
    """Corners of the polar: the largest dual norm over it is at one of them."""
    _, atoms, rng = problem(seed)
    width = geometry.norm_width(atoms, norm)
    assert width.upper - width.lower <= 1e-8 * width
    Z = atoms.matrix
    for d in rng.standard_normal((200, 3)):
        assert np.abs(Z @ d).max() >= width * np.linalg.norm(d, DUAL[norm]) * (1 - 1e-9)
    corners = []
    for rows in np.array([[i, j, k] for i in range(6) for j in range(i) for k in range(j)]):
        for signs in product((1.0, -1.0), repeat=3):
            d = np.linalg.solve(Z[rows], signs)
            if np.abs(Z @ d).max() <= 1 + 1e-9:
                corners.append(np.linalg.norm(d, DUAL[norm]))
    assert width == pytest.approx(1 / max(corners), rel=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_smoothness_and_convexity_in_a_norm_are_the_extremes_over_its_unit_sphere(seed):
    f, _, rng = problem(seed)
    for norm in (1, 2, inf):
        L, mu = geometry.norm_smoothness(f, norm), geometry.norm_convexity(f, norm)
        d = rng.standard_normal((500, 3))
        d /= np.linalg.norm(d, norm, axis=1)[:, None]
        bends = np.einsum("ij,jk,ik->i", d, f.H, d)
        assert mu.lower * (1 - 1e-9) <= bends.min()
        assert bends.max() <= L.upper * (1 + 1e-9)
    assert geometry.norm_smoothness(f, 1) == pytest.approx(np.diag(f.H).max())
    inverse = np.linalg.inv(f.H)
    assert geometry.norm_convexity(f, inf) == pytest.approx(1 / np.diag(inverse).max())


def test_closed_forms():
    """Coordinates are the corners of the ball of ‖·‖₁; the sphere lies around it."""
    assert geometry.norm_width(Coordinates(4), 1) == pytest.approx(1)
    assert geometry.norm_width(Coordinates(4), inf) == pytest.approx(1 / 4)
    assert geometry.norm_width(Sphere(4), 1) == pytest.approx(1)
    assert geometry.norm_width(Sphere(4), inf) == pytest.approx(1 / 2)
    rows = Dictionary([[1.0, -2.0], [0.5, 0.5]])
    assert geometry.radius(rows, 1) == 3
    assert geometry.radius(rows, inf) == 2


def test_the_radii_of_infinite_sets_are_their_largest_dual_norms_over_corners():
    """‖uvᵀ‖₁ = ‖u‖₁‖v‖₁; an oracle of quality δ leaves an interval of that width."""
    for atoms, one, most in ((Sphere(4), 2.0, 1.0), (RankOne(2, 3), np.sqrt(6), 1.0)):
        assert geometry.radius(atoms, 1) == pytest.approx(one)
        assert geometry.radius(atoms, inf) == pytest.approx(most)
        assert geometry.radius(atoms, 1).kind is Kind.EXACT
    lazy = geometry.radius(lazy_sphere(4, 0.5, np.arange(4.0)), 1)
    assert lazy.kind is Kind.UPPER
    assert lazy.lower <= 2 <= lazy.upper == pytest.approx(2 * lazy.lower)
    many = geometry.radius(Sphere(14), 1)
    assert many == pytest.approx(np.sqrt(14))
    assert many.kind is Kind.UPPER
    assert geometry.radius(RankOne(40, 30), inf) == 1


@pytest.mark.parametrize("norm", [1, inf])
def test_lemma_2_and_lemma_6_hold_over_the_sphere(norm):
    f, *_ = problem(3)
    radius, width = geometry.radius(Sphere(3), norm), geometry.norm_width(Sphere(3), norm)
    bends = np.linalg.eigvalsh(f.H)
    assert bends[-1] <= geometry.norm_smoothness(f, norm).upper * radius**2 * (1 + 1e-9)
    assert bends[0] >= geometry.norm_convexity(f, norm).lower * width.lower**2 * (1 - 1e-9)


def test_atoms_that_do_not_span_the_space_give_a_lower_bound():
    atoms = Dictionary([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    for norm in (1, inf):
        width = geometry.norm_width(atoms, norm)
        assert width.upper == inf
        for a, b in np.random.default_rng(0).standard_normal((100, 2)):
            d = a * atoms.matrix[0] + b * atoms.matrix[1]
            assert np.abs(atoms.matrix @ d).max() >= width.lower * np.linalg.norm(d, DUAL[norm])


def test_many_dimensions_are_compared_by_norms():
    f, atoms, _ = problem(0, d=14, n=30)
    assert 0 < geometry.norm_width(atoms, inf).lower <= geometry.norm_width(atoms, 1)
    assert geometry.norm_smoothness(f, inf) == pytest.approx(np.abs(f.H).sum())
    loss = Logistic(np.eye(3), [0, 1, 1], l2=1.0)
    assert geometry.norm_convexity(loss, inf) == 1


def test_other_norms_are_refused():
    with pytest.raises(InputError, match="norm"):
        geometry.norm_width(Coordinates(3), 3)
    with pytest.raises(InputError, match="norm"):
        geometry.radius(Sphere(3), 3)
