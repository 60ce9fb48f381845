"""The Python of a page, run from top to bottom, and what the page says that it prints.

A block of Python may be followed by a block of text: what it prints. Where none follows, a comment
beside each `print` says its line, with "…" for anything.
"""

import contextlib
import io
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
EXAMPLE = re.compile(
    r"^```python\n(.*?)^```\n(?:\s*^```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE
)
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
SECONDS = re.compile(r"\b[\d.e-]+ (?:s|ms|min)\b(?! at)")
"""How long something took; "1 s at 8000 Hz" is how long a sound is."""
SAID = re.compile(r"^\s*print\(.*\)\s+# (.*)$", re.MULTILINE)


def examples(page):
    """(Python, what it prints or "") for each block of a page."""
    return EXAMPLE.findall(Path(page).read_text(encoding="utf-8"))


def run(page, apart=False, near=0.02):
    """The names that a page's Python leaves behind; each block prints what the page shows.

    Parameters
    ----------
    page
        A path.
    apart
        Whether each block begins anew.
    near
        How much the numbers may differ, relative to what is shown.
    """
    scope = {"__name__": "page"}
    for code, promised in examples(page):
        scope = {"__name__": "page"} if apart else scope
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), scope)
        check(code, printed.getvalue(), promised, near)
    return scope


def check(code, printed, promised, near=0.02):
    """What a block printed is what stands below it, or beside its prints."""
    if promised:
        words, numbers = words_and_numbers(printed)
        assert words == words_and_numbers(promised)[0], printed
        # Slopes at the end of a run are of the size of rounding: another processor has others.
        assert numbers == pytest.approx(words_and_numbers(promised)[1], rel=near, abs=1e-4), printed
        return
    lines, said = printed.splitlines(), SAID.findall(code)
    assert len(lines) == len(said), f"not shown on the page:\n{printed}"
    for line, words in zip(lines, said, strict=True):
        assert re.fullmatch(re.escape(words).replace("…", ".*"), line), line


def words_and_numbers(text):
    """Text apart from its numbers; how long something took is neither."""
    text = SECONDS.sub("some time", text.strip())
    numbers = [float(number.replace(",", "")) for number in NUMBER.findall(text)]
    return NUMBER.sub("#", text).split(), numbers
