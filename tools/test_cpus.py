"""Run the tests as on other CPUs than this one, and print how many passed on each.

``python tools/test_cpus.py nehalem zen -- -x tests/unit`` runs the tests of one folder as on two
CPUs; without names all of them are simulated. What depends on the CPU is which kernels OpenBLAS
takes, which loops NumPy dispatches to, what Numba compiles for and which functions the C library
picks: environment variables restrict all four to what the simulated CPU has. It can have no more
than the CPU that this runs on. Compiled kernels and pytest's cache are kept in ``.cpus/<name>``, so
that ``-- --last-failed`` repeats what failed on each CPU. The exit code is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

PROJECT = Path(__file__).resolve().parent.parent
FOLDER = PROJECT / ".cpus"
V2 = {"SSE", "SSE2", "SSE3", "SSSE3", "SSE41", "POPCNT", "SSE42", "X86_V2"}
V3 = V2 | {"AVX", "F16C", "FMA3", "AVX2", "X86_V3"}
# The C library ignores names that it does not know.
AVX512 = ("AVX512F", "AVX512CD", "AVX512BW", "AVX512DQ", "AVX512VL")
AVX2 = ("AVX2", "AVX2_Usable", "FMA", "FMA_Usable", "FMA4")
SIMULATED = (
    "OPENBLAS_CORETYPE",
    "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES",
    "NPY_DISABLE_CPU_FEATURES",
    "GLIBC_TUNABLES",
)


@dataclass(frozen=True)
class Cpu:
    """A CPU to simulate: its names in OpenBLAS and LLVM, and what NumPy and libm may use of it."""

    openblas: str
    llvm: str
    numpy_features: set[str]
    libm_without: tuple[str, ...]
    registers_without: tuple[str, ...]
    """Names of vector registers that compiled code must not use."""
    architectures: tuple[str, ...]
    """What OpenBLAS may report: builds without the kernels of Zen take those of Haswell."""
    llvm_features: str = ""
    """If this is not set at all, even to nothing, Numba adds the features of the host."""


CPUS: dict[str, Cpu | None] = {
    "nehalem": Cpu("Nehalem", "nehalem", V2, AVX2 + AVX512, ("ymm", "zmm"), ("Nehalem",)),
    "sandybridge": Cpu(
        "Sandybridge", "sandybridge", V2 | {"AVX"}, AVX2 + AVX512, ("zmm",), ("Sandybridge",)
    ),
    "haswell": Cpu("Haswell", "haswell", V3, AVX512, ("zmm",), ("Haswell",)),
    # SSE4a exists on CPUs of AMD alone, and this must run on others.
    "zen": Cpu("Zen", "znver1", V3, AVX512, ("zmm",), ("Zen", "Haswell"), "-sse4a"),
    "native": None,
}

SUPPORTED = """
from numpy._core import _multiarray_umath as numpy
print(*[name for name in numpy.__cpu_dispatch__ if numpy.__cpu_features__[name]])
"""

INSPECTION = """
import numba, numpy as np, scipy.linalg, threadpoolctl
from numpy._core import _multiarray_umath as core

@numba.njit(fastmath=True)
def dot(x, y):
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total

dot(np.ones(9), np.ones(9))
assembly = "".join(dot.inspect_asm().values())
print(*[name for name in ("xmm", "ymm", "zmm") if name in assembly])
print(*{one["architecture"] for one in threadpoolctl.threadpool_info()
        if one["internal_api"] == "openblas"})
print(*[name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]])
"""


def run_python(code: str, environment: dict[str, str]) -> list[list[str]]:
    """Return the words of each line that a new process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}\n{done.stderr}".rstrip())
    return [line.split() for line in done.stdout.splitlines()]


def make_environment(name: str) -> dict[str, str]:
    """Return the environment variables under which processes run as on a CPU."""
    cpu = CPUS[name]
    environment = {key: value for key, value in os.environ.items() if key not in SIMULATED}
    environment |= {
        "NUMBA_CACHE_DIR": str(FOLDER / name / "numba"),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    if cpu is None:
        return environment
    # NumPy warns of features that the host lacks, and refuses names that it does not know.
    (supported,) = run_python(SUPPORTED, environment)
    return environment | {
        "OPENBLAS_CORETYPE": cpu.openblas,
        "NUMBA_CPU_NAME": cpu.llvm,
        "NUMBA_CPU_FEATURES": cpu.llvm_features,
        "NPY_DISABLE_CPU_FEATURES": " ".join(set(supported) - cpu.numpy_features),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{one}" for one in cpu.libm_without),
    }


def find_leaks(name: str, environment: dict[str, str]) -> list[str]:
    """Return in what a process under the environment is not on the simulated CPU."""
    registers, architectures, features = run_python(INSPECTION, environment)
    cpu = CPUS[name]
    if cpu is None:
        return []
    return [
        *[f"Numba uses {one} registers" for one in registers if one in cpu.registers_without],
        *[f"OpenBLAS runs on {one}" for one in architectures if one not in cpu.architectures],
        *[f"NumPy dispatches to {one}" for one in features if one not in cpu.numpy_features],
    ]


def run_tests(name: str, arguments: list[str]) -> tuple[str, int, int, int | str]:
    """Return the name of the CPU, and how many tests passed, were skipped and failed on it."""
    try:
        environment = make_environment(name)
        leaks = find_leaks(name, environment)
    except RuntimeError as error:
        leaks = [str(error)]
    if leaks:
        print(f"{name} cannot be simulated here: {'; '.join(leaks)}", flush=True)
        return name, 0, 0, "not run"
    report = FOLDER / name / "report.xml"
    report.unlink(missing_ok=True)
    options = [f"--junitxml={report}", "-o", f"cache_dir={FOLDER / name / 'pytest'}"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    code = subprocess.run(command, env=environment, cwd=PROJECT).returncode
    if not report.exists():
        return name, 0, 0, f"exit code {code}"
    suite = next(ElementTree.parse(report).iter("testsuite"))
    total, skipped, failures, errors = (
        int(suite.get(key, 0)) for key in ("tests", "skipped", "failures", "errors")
    )
    failed = failures + errors
    return name, total - skipped - failed, skipped, failed or (f"exit code {code}" if code else 0)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Run the tests as on other CPUs.", usage="%(prog)s [CPU ...] [-- PYTEST ...]"
    )
    parser.add_argument("cpus", nargs="*", metavar="CPU", help=f"of {', '.join(CPUS)} (all)")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    names = parser.parse_args(sys.argv[1:split]).cpus or list(CPUS)
    arguments = sys.argv[split + 1 :]
    unknown = [name for name in names if name not in CPUS]
    if unknown:
        parser.error(f"CPU must be one of {', '.join(CPUS)}, got {', '.join(unknown)}")
    rows = []
    for name in names:
        print(f"== {name} ==", flush=True)
        start = time.perf_counter()
        rows.append((*run_tests(name, arguments), round(time.perf_counter() - start)))
    print()
    for row in [("setting", "passed", "skipped", "failed", "seconds"), *rows]:
        print(f"{row[0]:<12}" + "".join(f"{entry!s:>14}" for entry in row[1:]))
    return int(any(row[3] != 0 for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
