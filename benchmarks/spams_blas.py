"""SPAMS brings a BLAS of its own, which may take this machine for an older one."""

from __future__ import annotations

import os
import sys

from threadpoolctl import threadpool_info

OLD = {"Prescott", "Core2", "Penryn", "Nehalem", "Katmai", "Atom", "Barcelona"}


def use_the_right_kernels(absent: list[str]) -> None:
    """Start again with OPENBLAS_CORETYPE set if a BLAS did not recognise the machine."""
    if "spams" in absent or "OPENBLAS_CORETYPE" in os.environ:
        return
    import spams  # noqa: F401

    found = {lib["architecture"] for lib in threadpool_info() if lib["user_api"] == "blas"}
    if found & OLD and found - OLD:
        os.environ["OPENBLAS_CORETYPE"] = next(iter(found - OLD))
        os.execv(sys.executable, [sys.executable, *sys.argv])
