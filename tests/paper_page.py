"""docs/the-paper-in-code.md as data: which function each row names, and which test must run it."""

import re
import sys
import threading
from contextlib import contextmanager
from functools import cached_property, lru_cache
from importlib import import_module
from inspect import isclass, unwrap
from pathlib import Path
from types import FunctionType

from pursuit.rates import Theorem

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "the-paper-in-code.md"


def rows():
    """Yield (what, functions, tests) of each row with a verdict in a table that names tests."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and len(cells) == 4 and "tests/" in cells[2]:
            yield cells[0], re.findall(r"`([^`]+)`", cells[1]), re.findall(r"`([^`]+)`", cells[2])


def resolve(path):
    """The object behind a dotted path: modules as deep as they go, then attributes."""
    parts = path.split(".")
    owner = import_module(parts[0])
    for part in parts[1:]:
        if not hasattr(owner, part):
            owner = import_module(f"{owner.__name__}.{part}")
        else:
            owner = getattr(owner, part)
    return owner


@lru_cache
def named_by_test():
    """The functions that each test has to run, by its node id."""
    wanted = {}
    for _, functions, tests in rows():
        for test in tests:
            wanted.setdefault(test, set()).update(functions)
    return wanted


def functions_of(node_id):
    """What the page says that a test runs; an id without parameters stands for all of them."""
    wanted = named_by_test()
    return wanted.get(node_id, set()) | wanted.get(node_id.partition("[")[0], set())


def codes_of(path):
    """What has to run for a function to have run: one of these.

    Of a class any method that was written for it, of a method any of those that replace it.
    """
    *owner, name = path.split(".")
    there = resolve(".".join(owner))
    if isclass(there):
        return {code for cls in _family(there) for code in _codes(vars(cls).get(name))}
    found = resolve(path)
    if isclass(found):
        return {code for member in vars(found).values() for code in _codes(member)}
    return set(_codes(found))


def _family(cls):
    return [cls, *(member for child in cls.__subclasses__() for member in _family(child))]


def _codes(member):
    """The code of a function, however it is wrapped; what a dataclass generates does not count."""
    if isinstance(member, cached_property):
        member = member.func
    if isinstance(member, property):
        member = member.fget
    if isinstance(member, Theorem):
        member = member.bound
    member = unwrap(getattr(member, "__func__", member)) if callable(member) else member
    if isinstance(member, FunctionType) and member.__code__.co_filename != "<string>":
        yield member.__code__


@contextmanager
def watched(paths):
    """The functions among `paths` that did not run inside yet, in any thread that it started."""
    missing = set(paths)
    owners = {}
    for path in paths:
        for code in codes_of(path):
            owners.setdefault(code, set()).add(path)

    def note(frame, event, argument):
        """It is called where a function begins, and returns nothing: no line is traced."""
        missing.difference_update(owners.get(frame.f_code, ()))
        if not missing:
            stop()

    def stop():
        sys.settrace(before)
        threading.settrace(None)

    before = sys.gettrace()
    threading.settrace(note)
    sys.settrace(note)
    try:
        yield missing
    finally:
        stop()
