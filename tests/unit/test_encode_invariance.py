"""What must not matter to encode(), on drawn problems."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pursuit.encoding import encode

METHODS = st.sampled_from(["matching-pursuit", "orthogonal"])
SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.tuples(st.integers(1, 90), st.integers(2, 40), st.integers(1, 30))


def draw_problem(seed, sizes):
    n, d, m = sizes
    rng = np.random.default_rng(seed)
    return rng, rng.standard_normal((m, d)), rng.standard_normal((n, d))


def dense(signals, atoms, method, **options):
    options = options or {"max_iter": 6}
    return encode(signals, atoms, method, **options).matrix.toarray()


@given(SEEDS, SIZES, METHODS)
@example(seed=4, sizes=(23, 2, 3), method="matching-pursuit")
def test_powers_of_two_scale_codes_bit_for_bit(seed, sizes, method):
    rng, signals, atoms = draw_problem(seed, sizes)
    powers = 2.0 ** rng.integers(-40, 40, len(signals))[:, None]
    scaled = dense(signals * powers, atoms, method)
    assert np.array_equal(scaled, dense(signals, atoms, method) * powers)


@given(SEEDS, SIZES, METHODS)
def test_scales_of_atoms_only_divide_coefficients(seed, sizes, method):
    rng, signals, atoms = draw_problem(seed, sizes)
    scale = 10 ** rng.uniform(-8, 8, len(atoms))
    scaled = dense(signals, atoms * scale[:, None], method) * scale
    assert np.allclose(scaled, dense(signals, atoms, method), rtol=1e-8, atol=1e-9)


@given(SEEDS, SIZES, METHODS)
def test_signs_of_atoms_and_signals_only_flip_coefficients(seed, sizes, method):
    rng, signals, atoms = draw_problem(seed, sizes)
    flips, turns = rng.choice([-1, 1], len(atoms)), rng.choice([-1, 1], (len(signals), 1))
    flipped = dense(signals * turns, atoms * flips[:, None], method)
    assert np.array_equal(flipped, dense(signals, atoms, method) * flips * turns)


@given(SEEDS, SIZES, METHODS)
def test_the_order_of_atoms_and_signals_only_reorders_codes(seed, sizes, method):
    rng, signals, atoms = draw_problem(seed, sizes)
    p, q = rng.permutation(len(atoms)), rng.permutation(len(signals))
    permuted = dense(signals[q], atoms[p], method)
    assert np.allclose(permuted, dense(signals, atoms, method)[q][:, p], rtol=1e-9, atol=1e-11)


@given(SEEDS, SIZES)
def test_orthogonal_residuals_are_orthogonal_to_what_was_chosen(seed, sizes):
    _, signals, atoms = draw_problem(seed, sizes)
    codes = encode(signals, atoms, "orthogonal", n_nonzero=5)
    rest = signals - codes @ atoms
    slopes = np.abs(rest @ atoms.T) / np.linalg.norm(atoms, axis=1)
    chosen = codes.matrix.toarray() != 0
    assert slopes[chosen].max(initial=0) <= 1e-9 * np.linalg.norm(signals, axis=1).max()


@given(SEEDS, SIZES, METHODS)
def test_one_more_step_never_makes_the_fit_worse(seed, sizes, method):
    _, signals, atoms = draw_problem(seed, sizes)
    norms = [encode(signals, atoms, method, max_iter=t).residual_norms for t in (1, 2, 5, 20)]
    assert (np.diff(norms, axis=0) <= 1e-12 * np.linalg.norm(signals, axis=1)).all()


@pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal"])
def test_a_signal_is_encoded_alike_in_any_company(method):
    rng, signals, atoms = draw_problem(3, (50, 20, 700))
    together = encode(signals, atoms, method, max_iter=6).matrix.toarray()
    for i in rng.choice(700, 20, replace=False):
        alone = encode(signals[i : i + 1], atoms, method, max_iter=6).matrix.toarray()[0]
        assert np.allclose(alone, together[i], rtol=1e-10, atol=1e-13)
