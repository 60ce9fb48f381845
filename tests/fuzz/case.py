"""One case: its random numbers, the calls that it makes, and what is wrong with their ends."""

from __future__ import annotations

import re
import tempfile
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pursuit import InputError, PursuitError

LONGEST_SENTENCE = 600
"""Characters; what is longer is a dump of a value, not a sentence."""
NOT_A_SENTENCE = re.compile(r"Traceback|<class |\bobject at 0x|\btype object '")
"""What a message that was written for people does not contain."""

AS_IN_A_SESSION: Any = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
"""NumPy's error settings when it is imported."""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


class Finding(Exception):
    """The library did something that it must not do; the text is one line."""


class Refused(Exception):
    """The call ended in an `InputError`, as it may: the case is over."""


class Case:
    """The case called (area, seed, number)."""

    odd: list[str]
    """What is unusual about the input; where it is empty, a refusal is a finding."""

    def __init__(self, area: str, seed: int, number: int) -> None:
        self.area, self.seed, self.number = area, seed, number
        self.rng = np.random.default_rng([zlib.crc32(area.encode()), seed, number])
        self.calls = self.refusals = 0
        self.odd = []
        self.story: dict[str, Any] = {}
        self._kept: list[tuple[str, np.ndarray, bytes]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def name(self) -> str:
        return f"{self.area} {self.seed}:{self.number}"

    # Making it up -----------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, *choices: Any) -> Any:
        """One of the choices, all equally likely."""
        return choices[int(self.rng.integers(len(choices)))]

    def weighted(self, choices: dict[Any, float]) -> Any:
        """One of the keys, as likely as its weight says."""
        weights = np.array(list(choices.values()), float)
        return list(choices)[int(self.rng.choice(len(weights), p=weights / weights.sum()))]

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def tell(self, **facts: Any) -> None:
        """Remember what the case is made of, for the one who has to look at it."""
        self.story.update(facts)

    def keep(self, name: str, value: Any) -> Any:
        """`value`, which the library must leave as it is."""
        self.story[name] = value
        if isinstance(value, np.ndarray):
            self._kept.append((name, value, value.tobytes()))
        return value

    @property
    def folder(self) -> Path:
        """A folder of this case's own."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        return Path(self._folder.name)

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    # Calling the library ----------------------------------------------------------------

    def ask(
        self,
        call: Callable[[], Any],
        names: Collection[str],
        *,
        valid: bool = False,
        warned: Iterable[str] = (),
    ) -> Any:
        """What `call` returns; a proper refusal ends the case.

        Parameters
        ----------
        names
            What a refusal may be about: arguments, constants, files.
        valid
            Nothing is wrong with the input, so that a refusal is a finding.
        warned
            Beginnings of warnings that are announced in the documentation.
        """
        self.calls += 1
        try:
            with warnings.catch_warnings(), np.errstate(**AS_IN_A_SESSION):
                warnings.simplefilter("error")
                for text in warned:
                    warnings.filterwarnings("ignore", message=text)
                answer = call()
                if np.geterr() != AS_IN_A_SESSION:
                    raise Finding("NumPy's error settings are not what they were before the call")
        except InputError as error:
            self.refusals += 1
            check_sentence(str(error), names)
            if valid:
                raise Finding(f"refused although nothing is wrong: {error}") from error
            raise Refused(str(error)) from error
        except PursuitError as error:
            if "cannot be written" not in str(error):
                raise
            self.refusals += 1
            check_sentence(str(error), names)
            raise Refused(str(error)) from error
        finally:
            self.check_inputs()
        return answer

    def asked(self, call: Callable[[], Any], names: Collection[str], **options: Any) -> Any:
        """What `call` returns, None where it is refused: the case goes on."""
        try:
            return self.ask(call, names, **options)
        except Refused:
            return None

    def check_inputs(self) -> None:
        for name, array, before in self._kept:
            if array.tobytes() != before:
                raise Finding(f"the input {name} was modified")

    def require(self, holds: Any, sentence: str) -> None:
        """A finding unless `holds`."""
        if not holds:
            raise Finding(sentence)


def check_sentence(text: str, names: Collection[str]) -> None:
    """A refusal is one line that begins with what it is about."""
    if "\n" in text:
        raise Finding(f"the refusal has more than one line: {text!r}")
    if len(text) > LONGEST_SENTENCE:
        raise Finding(f"the refusal has {len(text)} characters: {text[:80]!r} …")
    if NOT_A_SENTENCE.search(text):
        raise Finding(f"the refusal speaks of Python's insides: {text!r}")
    head = text.partition(": ")[0]
    subjects = [head, *re.split(r"[,\s]+", head)]
    if not any(word in names for word in subjects) and not any(
        "/" in name and name in text for name in names
    ):
        raise Finding(f"the refusal names no argument: {text!r}")
