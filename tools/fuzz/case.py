"""One case: its random numbers, the calls that it makes, and what is wrong with them."""

from __future__ import annotations

import re
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pursuit import InputError

LONGEST_MESSAGE = 600
"""Characters; a longer message is a dump of a value."""
NOT_FOR_PEOPLE = re.compile(r"Traceback|<class |\bobject at 0x|\n")
"""What no message contains that was written for people."""


class Finding(Exception):
    """The library did something that it must not do; the text is one line."""


class Rejected(Exception):
    """A call raised an `InputError` as it may: the case is over."""


class Case:
    """The random choices and the calls of the case (area, seed, number)."""

    def __init__(self, area: str, seed: int, number: int, decades: float = 6.0) -> None:
        self.area, self.seed, self.number, self.decades = area, seed, number, decades
        self.rng = np.random.default_rng([zlib.crc32(area.encode()), seed, number])
        self.calls = self.rejections = 0
        self.facts: dict[str, Any] = {}
        self._inputs: list[tuple[str, np.ndarray, bytes]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    # Random choices -----------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return bool(self.rng.random() < probability)

    def choose(self, *choices: Any) -> Any:
        """Return one of the choices, all equally likely."""
        return choices[int(self.rng.integers(len(choices)))]

    def weighted(self, choices: dict[Any, float]) -> Any:
        """Return one of the keys, with a probability in proportion to its value."""
        weights = np.array(list(choices.values()), float)
        return list(choices)[int(self.rng.choice(len(weights), p=weights / weights.sum()))]

    def integer(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    # What a case consists of --------------------------------------------------------------

    def record(self, **facts: Any) -> None:
        """Add to what is printed when the case is run again."""
        self.facts.update(facts)

    def input(self, name: str, value: Any) -> Any:
        """Record an argument that the library must not modify, and return it."""
        self.facts[name] = value
        if isinstance(value, np.ndarray):
            self._inputs.append((name, value, value.tobytes()))
        return value

    @property
    def folder(self) -> Path:
        """A temporary folder of this case."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        return Path(self._folder.name)

    def close(self) -> None:
        """Remove the temporary folder."""
        if self._folder is not None:
            self._folder.cleanup()

    # Calls --------------------------------------------------------------------------------

    def call(
        self,
        function: Callable[..., Any],
        *args: Any,
        names: Iterable[str] = (),
        valid: bool = True,
        warned: Iterable[str] = (),
        **kwargs: Any,
    ) -> Any:
        """Return what a call of the library returns.

        Parameters
        ----------
        names
            What an InputError may name, beside the keyword arguments.
        valid
            Whether an InputError is a finding; if not, it ends the case.
        warned
            Beginnings of warnings that the documentation announces.
        """
        self.calls += 1
        before = np.geterr()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for text in warned:
                    warnings.filterwarnings("ignore", message=text)
                answer = function(*args, **kwargs)
        except InputError as error:
            self.rejections += 1
            check_message(str(error), {*names, *kwargs})
            if valid:
                raise Finding(f"valid input is rejected: {error}") from error
            raise Rejected(str(error)) from error
        finally:
            for name, array, content in self._inputs:
                if array.tobytes() != content:
                    raise Finding(f"the input {name} was modified")
        self.require(np.geterr() == before, "NumPy's error settings are changed by the call")
        return answer

    def require(self, holds: Any, problem: str) -> None:
        """Raise a finding unless a condition holds."""
        if not holds:
            raise Finding(problem)


def check_message(text: str, names: Iterable[str]) -> None:
    """Raise a finding unless a message is one short line that names an argument."""
    if len(text) > LONGEST_MESSAGE or NOT_FOR_PEOPLE.search(text):
        raise Finding(f"a message that is not one line for people: {text[:200]!r}")
    if not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names):
        raise Finding(f"a message that names no argument: {text!r}")
