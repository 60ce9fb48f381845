"""Install a wheel into an environment of its own and run what a newcomer would run there.

``python tools/clean_install.py dist/pursuit-….whl``: the examples of the README, the program and
its version, with nothing of the repository in reach.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def examples() -> str:
    """The Python of the README, one block after the other."""
    text = README.read_text(encoding="utf-8")
    return "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))


def run(*command: str | Path, folder: Path) -> None:
    """Run a command there; whatever it says on the way, an exit code other than 0 ends this."""
    print("$", *(Path(part).name if Path(part).is_absolute() else part for part in command))
    done = subprocess.run([str(part) for part in command], cwd=folder)
    if done.returncode:
        raise SystemExit(done.returncode)


def main(wheel: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "venv", folder / "clean", folder=folder)
        python = folder / "clean" / "bin" / "python"
        quietly = ("install", "--quiet", "--disable-pip-version-check")
        run(python, "-m", "pip", *quietly, f"{wheel.resolve()}[plot]", folder=folder)
        run(folder / "clean" / "bin" / "pursuit", "--version", folder=folder)
        run(python, "-m", "pursuit", "--help", folder=folder)
        (folder / "readme.py").write_text(examples(), encoding="utf-8")
        run(python, "-W", "error", "readme.py", folder=folder)
        run(python, "-m", "pip", "check", "--disable-pip-version-check", folder=folder)
    print("The wheel works by itself.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
