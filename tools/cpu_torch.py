"""Install a CPU build of torch into the environment that runs this, where one resolves.

Its default wheel for Linux brings gigabytes of CUDA: that one is never downloaded. pip is asked
what it would install, from whatever indexes the user has configured, and a build counts as one
for the CPU if its version ends in ``+cpu`` or nothing of it is for GPUs. The exit code is 0 if
torch is there in the end, else 1, after one sentence.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST = (2, 2)
"""The oldest version that `pyproject.toml` allows."""
SECONDS = 120
"""For an answer of pip."""
INSTALL_SECONDS = 900
FOR_GPUS = ("nvidia", "cuda", "triton", "pytorch-triton", "rocm")


def pip(*arguments: str, seconds: int = SECONDS) -> str | None:
    """What pip prints; None if it fails or takes too long."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def wanted() -> list[str]:
    """Requirements to try: the newest version that says that it is for the CPU, then any."""
    listed = pip("index", "versions", "torch") or ""
    found = re.findall(r"\b(\d+)\.(\d+)\.(\d+)\+cpu\b", listed)
    newest = max((tuple(map(int, version)) for version in found), default=(0,))
    plain = f"torch>={OLDEST[0]}.{OLDEST[1]}"
    return [f"torch=={'.'.join(map(str, newest))}+cpu", plain] if newest >= OLDEST else [plain]


def for_the_cpu(requirement: str) -> bool:
    """Whether pip would install it, and nothing for GPUs along with it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = "--dry-run", "--quiet", "--only-binary=:all:", f"--report={report}"
        if pip("install", *options, requirement) is None:
            return False
        packages = [
            one["metadata"]["name"].lower() for one in json.loads(report.read_text())["install"]
        ]
    return not any(name.startswith(FOR_GPUS) for name in packages)


def main() -> int:
    if importlib.util.find_spec("torch") is not None:
        return 0
    for requirement in wanted():
        if for_the_cpu(requirement):
            options = "--quiet", "--only-binary=:all:"
            if pip("install", *options, requirement, seconds=INSTALL_SECONDS) is not None:
                print(f"{requirement} was installed.")
                return 0
    print("No CPU build of torch resolves here: what needs one is not tested.")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
