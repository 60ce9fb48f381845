"""What codes say of themselves is true: against the signals and atoms as given, in float64."""

import numpy as np
import pytest
from encoded import encode_in
from scipy.linalg import lstsq

from pursuit import Cone, Dictionary, SquaredDistance, Status, encode, solve

PURSUITS = ("orthogonal", "matching-pursuit")
STEPWISE = ("random-pursuit", "accelerated-random", "accelerated-matching-pursuit", "accelerated")
ULPS = 16
"""Units in the last place of its terms that a residual norm may differ by, in 64 steps."""
SQUARES = 350
"""How much more where it is the root of a difference of squares: below, it is computed."""


def residuals(signals, codes, atoms):
    """‖signal − code @ atoms‖, and the sizes of the terms of that difference."""
    x, z = signals.astype(np.float64), atoms.astype(np.float64)
    a = codes.matrix.toarray().astype(np.float64)
    sizes = np.linalg.norm(x, axis=1) + np.abs(a) @ np.linalg.norm(z, axis=1)
    return np.linalg.norm(x - a @ z, axis=1), sizes


def atoms_of(rng, kind, n, d):
    rows = rng.standard_normal((n, d))
    if kind == "coherent":
        return rng.standard_normal(d) + 10 ** -rng.uniform(0, 7.5) * rows
    if kind == "dependent":
        rank = max(1, min(n, d) // 2)
        return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return rows * 10 ** rng.uniform(-3, 3, (n, 1)) if kind == "scaled" else rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["plain", "coherent", "dependent", "scaled"])
@pytest.mark.parametrize("method", [*PURSUITS, *STEPWISE, "Cone orthogonal"])
def test_residual_norms_are_those_of_the_codes(method, kind, dtype):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(3, 30)), int(rng.integers(2, 24))
        atoms = atoms_of(rng, kind, n, d).astype(dtype)
        signals = rng.standard_normal((20, d))
        signals[:5] = rng.standard_normal((5, n)) @ atoms + 1e-4 * signals[:5]
        signals = (signals * 10 ** rng.uniform(-3, 3, (20, 1))).astype(dtype)
        over = Cone(atoms) if "Cone" in method else atoms
        ways = [{"max_iter": 50}, {"rtol": 1e-2, "max_iter": 50}]
        ways += [{"unit_atoms": False, "max_iter": 50}]
        if method not in STEPWISE[1:]:
            ways += [{"n_nonzero": max(1, min(n, d) - 1)}]
        for options in ways:
            codes = encode(signals, over, method.removeprefix("Cone "), rng=seed, **options)
            true, sizes = residuals(signals, codes, atoms)
            rounding = ULPS * float(np.finfo(dtype).eps) * sizes * (1 + codes.iterations / 64)
            rounding *= np.minimum(sizes / np.maximum(true, 1e-300), SQUARES)
            assert (np.abs(codes.residual_norms - true) <= rounding).all(), (seed, options)


def test_atoms_that_are_nearly_one_leave_what_they_are_said_to_leave():
    """Differences of squares have lost every digit there: the residuals are computed."""
    rng = np.random.default_rng(0)
    atoms = 1 + 1e-7 * rng.standard_normal((12, 8))
    signals = rng.standard_normal((200, 8))
    codes = encode(signals, atoms, n_nonzero=7)
    true, _ = residuals(signals, codes, atoms)
    norms = np.linalg.norm(signals, axis=1)
    assert (np.abs(codes.residual_norms - true) <= 1e-8 * norms).all()
    # Atoms that were not taken in would fit more of them: no signal has converged.
    assert Status.CONVERGED not in codes.counts()
    for i in range(len(signals)):
        chosen = codes.indices[codes.indptr[i] : codes.indptr[i + 1]]
        best = signals[i] - lstsq(atoms[chosen].T, signals[i])[0] @ atoms[chosen]
        assert codes.residual_norms[i] <= np.linalg.norm(best) * (1 + 1e-5)


@pytest.mark.parametrize("form", ["gram", "products"])
@pytest.mark.parametrize(
    "method", ["orthogonal", "Cone orthogonal", "random-pursuit", "accelerated-random"]
)
def test_float32_atoms_of_very_different_lengths_are_pursued_to_the_end(method, form):
    """As given, of norms 1e-3 … 1e3: what is rounding for a long one is much for a short one."""
    encode = encode_in(form)
    over = Cone if "Cone" in method else np.asarray
    name, steps = method.removeprefix("Cone "), 40 if "orthogonal" in method else 4000
    for seed in range(4):
        rng = np.random.default_rng(seed)
        atoms = np.linalg.qr(rng.standard_normal((16, 16)))[0][:12] + 0.1
        atoms = (atoms * 10 ** rng.uniform(-3, 3, (12, 1))).astype(np.float32)
        signals = np.abs(rng.standard_normal((30, 16))).astype(np.float32)
        exact, x = atoms.astype(np.float64), signals.astype(np.float64)
        codes = encode(signals, over(atoms), name, unit_atoms=False, max_iter=steps)
        double = encode(x, over(exact), name, unit_atoms=False, max_iter=steps)
        true, _ = residuals(signals, codes, atoms)
        assert (true <= double.residual_norms + 1e-5 * np.linalg.norm(x, axis=1)).all()


def test_float32_atoms_of_very_different_lengths_are_solved_to_the_end():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        atoms = rng.standard_normal((12, 16)) * 10 ** rng.uniform(-3, 3, (12, 1))
        f = SquaredDistance(rng.standard_normal(16).astype(np.float32))
        result = solve(
            f, Dictionary(atoms.astype(np.float32)), "orthogonal", unit_atoms=False, tol=0
        )
        best = np.linalg.lstsq(atoms.astype(np.float32).astype(np.float64).T, f.b, rcond=None)
        rest = np.linalg.norm(f.b - best[0] @ atoms.astype(np.float32))
        assert np.sqrt(2 * result.value) <= rest * (1 + 1e-5)


@pytest.mark.parametrize("goal", [{"atol": 0.9}, {"rtol": 0.1}, {"rtol": 0.1, "atol": 0.5}])
def test_a_residual_test_alone_gets_the_plan_of_a_limit_on_atoms(goal):
    rng = np.random.default_rng(0)
    atoms, signals = rng.standard_normal((256, 64)), rng.standard_normal((3000, 64))
    for dtype in (np.float32, np.float64):
        alone = encode(signals.astype(dtype), atoms.astype(dtype), **goal)
        limited = encode(signals.astype(dtype), atoms.astype(dtype), n_nonzero=32, **goal)
        assert alone.plan == limited.plan
        assert alone.plan.startswith("Gram matrix")


@pytest.mark.parametrize("method", [*PURSUITS, *STEPWISE])
def test_signals_within_the_tolerance_have_converged_before_the_first_step(method):
    rng = np.random.default_rng(0)
    signals, atoms = rng.standard_normal((200, 7)), rng.standard_normal((9, 7))
    signals *= rng.uniform(0.1, 1, (200, 1)) / np.linalg.norm(signals, axis=1, keepdims=True)
    codes = encode(signals, atoms, method, atol=1.1, max_iter=5)
    assert {codes.status(i) for i in range(len(codes))} == {Status.CONVERGED}
    assert not codes.iterations.any()
    np.testing.assert_allclose(codes.residual_norms, np.linalg.norm(signals, axis=1), rtol=1e-14)
