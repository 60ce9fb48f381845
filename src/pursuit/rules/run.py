"""What the rules of one run share: the problem, the streams of draws, the memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from pursuit.atoms.base import Atom
from pursuit.atoms.sampling import Sampling, Stream
from pursuit.base.errors import InputError
from pursuit.objectives.problem import Problem
from pursuit.rules.memory import Memory

Remembered = TypeVar("Remembered", bound=Memory)

STREAMS = ("picks", "probes", "subsets")
"""Each purpose draws from a stream of its own, so that one never shifts another."""


class Choice(NamedTuple):
    """An atom, its correlation ⟨∇f, z⟩, and an upper bound on max \\|⟨∇f, z⟩\\| (or nan).

    Where coefficients have a penalty both are slopes of f + g.
    """

    atom: Atom
    correlation: float
    slope: float


class Progress(NamedTuple):
    """What one advance did: x ← x − γz, and a proved lower bound on the decrease of f."""

    atom: Atom
    gamma: float
    correlation: float
    slope: float
    decrease: float


class Unbounded(Exception):
    """Raised by a rule that finds no lower bound of f along a line, as far as it can look."""

    def __init__(self, what: str = "an atom") -> None:
        super().__init__(f"objective is unbounded below along {what}")


@dataclass
class Run:
    """Rules are frozen descriptions; what changes while they run is known here.

    Attributes
    ----------
    memories
        What each of them remembers, by its own name.
    streams
        Their draws, by purpose.
    """

    problem: Problem
    seed: int
    t: int = 0
    memories: dict[str, Memory] = field(default_factory=dict)
    streams: dict[str, Stream] = field(default_factory=dict)

    def remember(self, owner: str, memory: Remembered) -> Remembered:
        """Have what a rule remembers saved with the run, under a name of the rule's own."""
        if owner in self.memories:
            raise InputError(f"{owner}: two rules of this run remember under this name")
        self.memories[owner] = memory
        return memory

    def stream(self, purpose: str, sampling: Sampling) -> Stream:
        """The stream of draws for a purpose, spawned from the one seed."""
        seeds = np.random.SeedSequence(self.seed).spawn(len(STREAMS))
        self.streams[purpose] = Stream(sampling, seeds[STREAMS.index(purpose)])
        return self.streams[purpose]
