"""What tests of codes share."""

from dataclasses import replace

import numpy as np

from pursuit import Encoder, Replay
from pursuit.encoding.stepwise import Draws, segments

ARRAYS = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")


def encode_in(form):
    """An `encode` that has its correlations from a form."""

    def encode(signals, atoms, method="orthogonal", *, expected=None, out=None, **options):
        many = len(signals) if expected is None else expected
        return Encoder(atoms, method, expected=many, form=str(form), **options)(signals, out=out)

    return encode


def assert_same(a, b):
    """The same codes, bit for bit and of the same types."""
    for name in ARRAYS:
        ours, theirs = getattr(a, name), getattr(b, name)
        assert ours.dtype == theirs.dtype, name
        assert np.array_equal(ours, theirs), name


def block_draws(rules, signals, seed, block, steps):
    """All picks and probes of a block of signals, a row for each of them.

    With ``Replay(picks[i])`` and ``Replay(probes[i])`` for its random directions, `solve` takes
    the steps of signal i of the block.
    """
    draws = Draws(rules, signals, seed, block)
    picks, probes = zip(*(draws(span) for span in segments(steps)), strict=True)
    return np.concatenate(picks, axis=1), np.concatenate(probes, axis=1)


def replayed(method, rules, picks, probes):
    """The method for `solve`, with the atoms that were drawn for one signal."""
    advance, momentum = method.advance, method.momentum
    if rules.picks is not None:
        advance = replace(advance, direction=Replay(picks))
    if rules.stiffness is not None:
        # ν is fixed first: which value is safe depends on how the atoms are drawn.
        probe = None if rules.probes is None else Replay(probes)
        momentum = replace(momentum, nu=rules.stiffness, probe=probe)
    return replace(method, advance=advance, momentum=momentum)
