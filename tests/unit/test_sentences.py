"""Sentences of the documents that a test can hold against the code."""

import re
from pathlib import Path

import numpy as np
import pytest

from pursuit import (
    AtomSet,
    Dictionary,
    FiniteAtoms,
    Oracle,
    SquaredDistance,
    Status,
    encode,
    methods,
    solve,
)

PROJECT = Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(0)
ATOMS, SIGNALS = RNG.standard_normal((40, 10)), RNG.standard_normal((30, 10))


def corners(length):
    """The corners of a cube of this half side, by their oracle."""
    return Oracle(
        lambda d: np.where(d < 0, -length, length),
        shape=10,
        radius=length * 10**0.5,
        sample=lambda rng: rng.choice([-length, length], 10),
    )


def named_in(text):
    return set(re.findall(r"`(\w+)`", text))


def test_what_a_set_of_atoms_has_to_give_is_what_its_documents_list():
    wanted = {"shape", *AtomSet.__abstractmethods__}
    sentence = re.search(r"A subclass gives (.*?);", AtomSet.__doc__, re.DOTALL)[1]
    assert named_in(sentence) == wanted
    page = (PROJECT / "docs" / "extend.md").read_text(encoding="utf-8")
    sentence = re.search(r"`AtomSet` \(infinite sets\) asks for (.*?)\. The rest", page, re.DOTALL)[
        1
    ]
    assert named_in(sentence) == wanted
    assert FiniteAtoms.__abstractmethods__


@pytest.mark.parametrize("page", ["docs/overview.md", "docs/concepts.md"])
def test_every_status_is_listed_and_no_other(page):
    text = (PROJECT / page).read_text(encoding="utf-8")
    assert {word for word in named_in(text) if word.isupper()} - {"L1"} == {s.name for s in Status}


@pytest.mark.parametrize("method", ["orthogonal", "matching-pursuit"])
def test_another_order_of_the_atoms_gives_the_same_codes_and_lengths_and_signs_too(method):
    order = RNG.permutation(len(ATOMS))
    changed = (ATOMS * RNG.choice([-1, 1], (40, 1)) * 10 ** RNG.uniform(-3, 3, (40, 1)))[order]
    expected = encode(SIGNALS, ATOMS, method, n_nonzero=4)
    codes = encode(SIGNALS, changed, method, n_nonzero=4)
    np.testing.assert_allclose(codes @ changed, expected @ ATOMS, atol=1e-12)
    assert np.array_equal(codes.toarray()[:, np.argsort(order)] != 0, expected.toarray() != 0)


def test_of_equally_good_atoms_the_first_is_taken_and_random_methods_draw_by_number():
    signal = [1.0, 1.0]
    assert encode(signal, np.eye(2), n_nonzero=1)[0].indices.tolist() == [0]
    assert encode(signal, np.eye(2)[::-1], n_nonzero=1)[0].indices.tolist() == [0]
    f, order = SquaredDistance(SIGNALS[0]), np.arange(40)[::-1]
    one, other = (solve(f, rows, "random-pursuit", max_iter=9) for rows in (ATOMS, ATOMS[order]))
    assert not np.allclose(one.x, other.x)


def test_only_the_atoms_of_an_oracle_are_used_at_the_length_that_it_gives_them():
    f = SquaredDistance(SIGNALS[0])
    tall, small = (solve(f, corners(c), max_iter=5, tol=0) for c in (1.0, 7.0))
    assert np.abs(tall.weights).max() > 6 * np.abs(small.weights).max()


def test_what_needs_the_moments_of_draws_estimates_them_over_an_oracle():
    f = SquaredDistance(SIGNALS[0])
    for method in (
        "accelerated",
        "accelerated-affine-invariant",
        "accelerated-random",
        "matching-pursuit",
        "orthogonal",
        methods.accelerated_random(nu=200),
    ):
        assert solve(f, corners(1.0), method, max_iter=50).value < f.value(np.zeros(10))


def test_random_methods_of_encode_are_those_of_solve_with_other_draws():
    f, atoms = SquaredDistance(SIGNALS[0]), Dictionary(ATOMS)
    one = encode(SIGNALS[0], ATOMS, "random-pursuit", max_iter=9000, rtol=1e-8)
    other = solve(f, atoms, "random-pursuit", max_iter=9000, rtol=1e-8, tol=0)
    short = encode(SIGNALS[0], ATOMS, "random-pursuit", max_iter=20)
    shorter = solve(f, atoms, "random-pursuit", max_iter=20)
    assert not np.allclose(short @ ATOMS, shorter.x)
    np.testing.assert_allclose((one @ ATOMS)[0], other.x, atol=1e-6)
