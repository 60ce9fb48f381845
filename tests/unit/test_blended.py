"""Blended pursuit: nearly the atoms of orthogonal pursuit for less work."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.smooth_problems import QUADRATICS, SMOOTH, objective

from pursuit import (
    Coordinates,
    Dictionary,
    FixedNu,
    Huber,
    InputError,
    LeastSquares,
    Logistic,
    Method,
    Random,
    SquaredDistance,
    Status,
    methods,
    solve,
)
from pursuit.active.blended_pursuit import Blended
from pursuit.files import data
from pursuit.objectives.problem import Problem
from pursuit.rules.run import Run


def stepping(f, atoms, kappa=4.0):
    """The advance at work, a point at zero, and what it remembers."""
    run = Run(Problem(f, atoms), 0)
    rule = Blended(kappa)
    improve, x = rule.start(run), rule.point(run.problem, np.zeros(atoms.shape))
    return improve, x, run.memories["active"]


@pytest.mark.parametrize("kappa", [1.5, 4.0, 100.0])
@pytest.mark.parametrize("name", QUADRATICS + SMOOTH)
def test_no_atom_in_use_promises_more_than_its_share_of_the_new_one(name, kappa, monkeypatch):
    monkeypatch.setattr(
        "pursuit.active.blended_pursuit.SPARED", -np.inf
    )  # an atom that leaves shifts slopes
    rng = np.random.default_rng(0)
    f, rows = objective(name, rng), rng.standard_normal((40, 12))
    atoms = Dictionary(rows).unit().atoms
    improve, x, memory = stepping(f, atoms, kappa)
    bounds = np.array([f.curvature(atoms.vector(j), f.atom_image(atoms, j)) for j in range(40)])
    norms = np.sqrt(bounds) if np.isfinite(bounds).all() else np.ones(40)
    for _ in range(8):
        z, _, c, _, _ = improve(x)
        slopes = np.abs(atoms.matrix @ f.gradient(x.vector))
        active = memory.active
        assert z in active
        promised = abs(c) / norms[z]
        assert (slopes[active] / norms[active]).max() <= promised / kappa * (1 + 1e-9)


def test_with_a_large_kappa_and_no_drops_it_is_orthogonal_pursuit(monkeypatch):
    monkeypatch.setattr("pursuit.active.blended_pursuit.SPARED", -np.inf)
    rng = np.random.default_rng(3)
    f = LeastSquares(rng.standard_normal((60, 40)), rng.standard_normal(60))
    orthogonal = solve(f, Coordinates(40), "orthogonal", n_nonzero=20)
    blended = solve(f, Coordinates(40), methods.blended(kappa=1e12), n_nonzero=20)
    assert blended.support.tolist() == orthogonal.support.tolist()
    np.testing.assert_allclose(blended.path.value, orthogonal.path.value, rtol=1e-10)


def test_an_atom_that_is_no_longer_needed_is_dropped():
    # The first atom points between the two that the signal is made of.
    rows = np.array([[1.0, 1.0, 0.3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    found = solve(SquaredDistance([1.0, 0.9, 0.0]), Dictionary(rows), "blended", tol=1e-9)
    assert found.path.coefs[[1]].nonzero()[1].tolist() == [0]
    assert found.status is Status.CONVERGED
    assert found.support.tolist() == [1, 2]
    np.testing.assert_allclose(found.weights, [1, 0.9], atol=1e-8)


@pytest.mark.parametrize("name", QUADRATICS + SMOOTH)
def test_it_ends_where_orthogonal_pursuit_does(name):
    rng = np.random.default_rng(6)
    f, atoms = objective(name, rng), Dictionary(rng.standard_normal((30, 12)))
    orthogonal = solve(f, atoms, "orthogonal", tol=1e-9)
    blended = solve(f, atoms, "blended", tol=1e-9)
    assert blended.status is Status.CONVERGED
    np.testing.assert_allclose(blended.x, orthogonal.x, atol=1e-6)


@given(st.sampled_from(QUADRATICS + SMOOTH), st.integers(0, 2**32 - 1))
def test_the_promised_decrease_is_positive_and_never_more_than_the_true_one(name, seed):
    rng = np.random.default_rng(seed)
    f, atoms = objective(name, rng), Dictionary(rng.standard_normal((20, 12)))
    improve, x, _ = stepping(f, atoms, kappa=1 + 4 * rng.random())
    for _ in range(10):
        before = f.value(x.vector)
        progress = improve(x)
        true = before - f.value(x.vector)
        assert 0 < progress.decrease <= true + 1e-12 * (abs(before) + true)


def test_a_look_at_all_atoms_serves_several_steps():
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((1000, 200))
    f = SquaredDistance(rng.standard_normal(30) @ rows[:30])
    orthogonal = solve(f, Dictionary(rows), "orthogonal", n_nonzero=25, tol=0)
    blended = solve(f, Dictionary(rows), "blended", target=orthogonal.value, tol=0)
    assert len(blended.support) <= 30
    assert blended.counts.products < 0.5 * orthogonal.counts.products


def test_the_slope_at_the_end_is_that_of_all_atoms():
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((100, 20))
    f = SquaredDistance(rng.standard_normal(20))
    found = solve(f, Dictionary(rows), "blended", tol=1e-3)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    first, last = (np.abs(unit @ f.gradient(x)).max() for x in (np.zeros(20), found.x))
    assert found.status is Status.CONVERGED
    assert last <= 1e-3 * first
    # The point before did not meet the test: the run did not go on after it could have ended.
    before = np.abs(unit @ f.gradient(found.path.x(found.path.sizes[-2]))).max()
    assert before > 1e-3 * first


@pytest.mark.parametrize("momentum", [FixedNu(), FixedNu(probe=Random())])
@pytest.mark.parametrize("name", ["least squares", "logistic with ridge"])
def test_it_composes_with_momentum(name, momentum):
    rng = np.random.default_rng(1)
    f, atoms = objective(name, rng), Dictionary(rng.standard_normal((30, 12)))
    best = solve(f, atoms, "orthogonal", tol=1e-10).value
    blend = solve(f, atoms, Method("both", Blended(), momentum), tol=0, max_iter=60)
    start = f.value(np.zeros(12))
    assert blend.value - best < 1e-3 * (start - best)


@pytest.mark.parametrize("kappa", [1, 0.5, -2, np.nan, "4"])
def test_kappa_is_a_number_above_one(kappa):
    with pytest.raises(InputError, match="kappa"):
        solve(SquaredDistance([1.0]), Coordinates(1), methods.blended(kappa=kappa))


@pytest.mark.parametrize("l2", [0.01, 1.0])
def test_on_golub_it_reaches_the_value_of_orthogonal_with_few_more_genes(l2):
    file = data.find("microarray/golub.npz")
    if file is None:
        pytest.skip("microarray/golub.npz is not in the data directory")
    with np.load(file) as golub:
        X, y = golub["X"].astype(np.float64), golub["y"] == "AML"
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    f, genes = Logistic(X, y, l2=l2), Coordinates(X.shape[1])
    for k in (10, 30):
        orthogonal = solve(f, genes, "orthogonal", n_nonzero=k, tol=0)
        blended = solve(f, genes, "blended", target=orthogonal.value, tol=0)
        assert blended.status is Status.CONVERGED
        assert len(blended.support) <= 1.3 * k


@pytest.mark.parametrize("seed", range(8))
def test_a_loss_that_hardly_bends_anywhere_is_minimised_too(seed):
    """Where few samples are within delta, the steps of a quadratic model are far too long."""
    rng = np.random.default_rng(seed)
    f = Huber(rng.standard_normal((12, 3)), rng.standard_normal(12), delta=0.03)
    rows = np.rint(1.5 * rng.standard_normal((14, 3)))
    atoms = Dictionary(rows[rows.any(axis=1)])
    result = solve(f, atoms, "blended", tol=1e-9, max_iter=100)
    assert result.slope <= 1e-8 * result.trace.slope[0]
