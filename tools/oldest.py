"""Print the oldest versions that `pyproject.toml` allows, as constraints for pip.

``python tools/oldest.py test`` covers the dependencies of the package and of the extra `test`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)(?:\[([^\]]+)\])?(?:>=([0-9.]+))?")


def oldest(extras: list[str]) -> dict[str, str]:
    """Package → its lower bound, over the dependencies and the extras that are named."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    wanted = list(project["dependencies"])
    pending = list(extras)
    while pending:
        for requirement in project["optional-dependencies"][pending.pop()]:
            name, chosen, _ = _parts(requirement)
            if name == project["name"]:
                pending += [extra.strip() for extra in (chosen or "").split(",")]
            else:
                wanted.append(requirement)
    parts = [_parts(requirement) for requirement in wanted]
    return {name: version for name, _, version in parts if version}


def _parts(requirement: str) -> tuple[str, str | None, str | None]:
    match = REQUIREMENT.match(requirement)
    if match is None:
        raise SystemExit(f"pyproject.toml: cannot read the requirement {requirement!r}")
    return match[1], match[2], match[3]


if __name__ == "__main__":
    for package, version in oldest(sys.argv[1:]).items():
        print(f"{package}=={version}")
