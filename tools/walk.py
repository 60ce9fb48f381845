"""Print how much of the library four calls run through.

    python tools/walk.py [--list]

For each call: the number of functions of `src/pursuit` that run, the number of files they are in,
and the deepest chain of calls among them. The second call in a warm process is traced, so that
imports, compilation and what is computed once are left out. ``--list`` names files and functions.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import pursuit

SOURCE = str(Path(pursuit.__file__).parent) + "/"
NOT_FUNCTIONS = ("<module>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<lambda>")


class Walk:
    """The functions of the library that run while this is the profiler."""

    def __init__(self) -> None:
        self.functions: set[CodeType] = set()
        self.deepest = self._depth = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if not frame.f_code.co_filename.startswith(SOURCE):
            return
        if event == "call":
            self._depth += 1
            self.deepest = max(self.deepest, self._depth)
            if frame.f_code.co_name not in NOT_FUNCTIONS:
                self.functions.add(frame.f_code)
        elif event == "return":
            self._depth -= 1

    def by_file(self) -> dict[str, list[str]]:
        """Return the names of the functions in each file."""
        files = defaultdict(list)
        for code in self.functions:
            files[code.co_filename.removeprefix(SOURCE)].append(code.co_qualname)
        return {file: sorted(files[file]) for file in sorted(files)}


def trace(call: Callable[[], object]) -> Walk:
    """Return what the second of two calls runs through; what they print is dropped."""
    walk = Walk()
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        call()
        sys.setprofile(walk)
        try:
            call()
        finally:
            sys.setprofile(None)
    return walk


def calls(folder: Path) -> dict[str, Callable[[], object]]:
    """Return the calls by their text; the command writes its files into a folder."""
    from typer.main import get_command

    from pursuit.cli import app
    from pursuit.estimators import OrthogonalMatchingPursuit

    rng = np.random.default_rng(0)
    D, b, signals = (rng.standard_normal(shape) for shape in ((200, 500), 500, (300, 500)))
    X, y = rng.standard_normal((300, 40)), rng.standard_normal(300)
    np.save(folder / "scene.npy", rng.random((12, 10, 30)))
    unmix = ["unmix", str(folder / "scene.npy"), "-r", "3", "--report"]
    unmix += [str(folder / "report.html"), "--force"]
    command = get_command(app)
    return {
        "solve(SquaredDistance(b), D)": lambda: pursuit.solve(pursuit.SquaredDistance(b), D),
        "encode(signals, D, n_nonzero=8)": lambda: pursuit.encode(signals, D, n_nonzero=8),
        "OrthogonalMatchingPursuit().fit": lambda: OrthogonalMatchingPursuit().fit(X, y),
        "pursuit unmix --report": lambda: command(unmix, standalone_mode=False),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="name the files and the functions")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'call':<34} {'functions':>9} {'files':>6} {'deepest':>8}")
        for text, call in calls(Path(folder)).items():
            walk = trace(call)
            files = walk.by_file()
            print(f"{text:<34} {len(walk.functions):>9} {len(files):>6} {walk.deepest:>8}")
            for file, names in files.items() if arguments.list else ():
                print(f"  {file}: {', '.join(names)}")


if __name__ == "__main__":
    main()
