"""encode(…, forward_only=True): the encoders of matching-pursuit autoencoders, compiled."""

import pickle

import numpy as np
import pytest
from encoded import assert_same, encode_in

from pursuit import Cone, Encoder, InputError, Status, encode

FORMS = pytest.mark.parametrize("form", ["gram", "products"])


def relu_pursuit(x, W, k):
    """Matching pursuit as autoencoders write it; the codes, and what is left."""
    codes, rest, rows = np.zeros((len(x), len(W)), x.dtype), x.copy(), np.arange(len(x))
    for _ in range(k):
        c = np.maximum(rest @ W.T, 0)
        j = c.argmax(axis=1)
        codes[rows, j] += c[rows, j]
        rest -= c[rows, j][:, None] * W[j]
    return codes, rest


def problem(seed, dtype=np.float64, m=100):
    """Signals, and atoms of norms about one that are more than there are dimensions."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((60, 16))
    W *= rng.uniform(0.4, 1.35, (60, 1)) / np.linalg.norm(W, axis=1, keepdims=True)
    return rng.standard_normal((m, 16)).astype(dtype), W.astype(dtype)


def forward(signals, W, encode=encode, **rules):
    return encode(signals, Cone(W), "matching-pursuit", forward_only=True, **rules)


@FORMS
@pytest.mark.parametrize(("dtype", "near"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_it_is_the_relu_pursuit_of_ten_lines_on_every_signal(form, dtype, near):
    again = 0
    for seed in range(5):
        signals, W = problem(seed, dtype)
        codes = forward(signals, W, encode_in(form), max_iter=20)
        expected, rest = relu_pursuit(signals, W, 20)
        np.testing.assert_allclose(codes.toarray(), expected, rtol=0, atol=near)
        np.testing.assert_allclose(
            codes.residual_norms, np.linalg.norm(rest, axis=1), rtol=0, atol=near
        )
        again += int((codes.sizes < codes.iterations).sum())
    assert again > 100, "no atom was ever chosen again"


def test_it_differs_from_exact_steps_that_may_go_back():
    signals, W = problem(0)
    ours, exact = forward(signals, W, max_iter=20), encode(signals, Cone(W), "mp", max_iter=20)
    assert (ours.residual_norms >= exact.residual_norms * (1 - 1e-9)).mean() > 0.9
    assert not np.allclose(ours.toarray(), exact.toarray())


def test_atoms_are_counted_once_however_often_they_are_chosen():
    # A step of 0.25 · ⟨r, z⟩ with z of norm ½ leaves ¾ of what was there.
    codes = forward([[4.0, 1.0]], [[0.5, 0.0], [0.0, 0.5]], n_nonzero=2)
    steps = int(codes.iterations[0])
    assert steps == 6  # 4 · (3/4)⁵ is the first below one, and then the other atom is ahead
    np.testing.assert_allclose(np.asarray(codes[0]), [8 * (1 - 0.75 ** (steps - 1)), 0.5])
    assert codes.status(0) is Status.MAX_NONZERO


def test_nothing_ahead_is_the_end():
    codes = forward([[-1.0, -2.0], [1.0, -1.0]], np.eye(2), max_iter=5)
    assert codes.toarray().tolist() == [[0, 0], [1, 0]]
    assert codes.counts() == {Status.CONVERGED: 2}


def test_a_residual_test_ends_at_the_first_residual_that_meets_it():
    signals, W = problem(3)
    goal = 0.5 * np.linalg.norm(signals, axis=1)
    codes = forward(signals, W, rtol=0.5)
    assert (codes.residual_norms <= goal).all()
    for i, steps in enumerate(codes.iterations):
        earlier = relu_pursuit(signals[i : i + 1], W, int(steps) - 1)[1]
        assert np.linalg.norm(earlier) > goal[i]


@pytest.mark.parametrize("scale", [2.0**-45, 2.0**-35])
def test_atoms_that_are_scaled_on_the_way_in_are_stepped_along_as_given(scale):
    signals, W = problem(4, np.float32)
    codes = forward(signals, W * np.float32(scale), max_iter=8)
    expected = relu_pursuit(signals.astype(float), W.astype(float) * scale, 8)[0]
    np.testing.assert_allclose(codes.toarray(), expected, rtol=1e-4, atol=1e-5 * expected.max())


@FORMS
@pytest.mark.parametrize("scale", [2, 1e6, 1e14])
def test_a_residual_that_grows_is_a_run_that_diverged(form, scale):
    signals, W = problem(5, np.float32)
    W *= np.float32(scale) / np.linalg.norm(W, axis=1, keepdims=True)
    codes = forward(signals, W, encode_in(form))
    assert codes.counts() == {Status.DIVERGED: len(signals)}
    assert not codes.sizes.any()
    np.testing.assert_allclose(codes.residual_norms, np.linalg.norm(signals, axis=1), rtol=1e-6)


def test_an_encoder_goes_elsewhere_with_its_rule():
    signals, W = problem(6)
    encoder = Encoder(Cone(W), "mp", max_iter=9, forward_only=True, expected=len(signals))
    expected = forward(signals, W, max_iter=9)
    assert_same(pickle.loads(pickle.dumps(encoder))(signals), expected)
    assert expected.method == "matching-pursuit, forward only, non-negative"


def test_a_folder_of_exact_steps_is_not_continued_with_these(tmp_path):
    signals, W = problem(7)
    encode(signals, Cone(W), "mp", max_iter=9, unit_atoms=False, out=tmp_path / "codes")
    with pytest.raises(InputError, match="another job: its method is matching-pursuit"):
        forward(signals, W, max_iter=9, out=tmp_path / "codes", resume=True)


@pytest.mark.parametrize(
    ("atoms", "method", "got"),
    [
        (np.eye(2), "mp", "got matching-pursuit over atoms of both signs"),
        (Cone(np.eye(2)), "omp", "got orthogonal over a Cone"),
        (np.eye(2), "accelerated", "got accelerated over atoms of both signs"),
    ],
)
def test_where_it_has_no_meaning_it_is_refused_by_name(atoms, method, got):
    with pytest.raises(InputError, match=f"forward_only: expected .* over a Cone, {got}"):
        encode(np.ones((1, 2)), atoms, method, forward_only=True)
    with pytest.raises(InputError, match="forward_only: expected True or False"):
        encode(np.ones((1, 2)), atoms, method, forward_only="yes")
