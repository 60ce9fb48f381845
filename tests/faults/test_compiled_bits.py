"""A process that compiles and one that finds compiled code on disk compute the same bits."""

import json
import os
import subprocess

import pytest
from children import strict_python
from faults import codes_and_abundances

from pursuit.files.data import find


def marks(folder):
    """What a new process computes, with compiled code kept in a folder."""
    done = subprocess.run(
        strict_python(codes_and_abundances.__file__),
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_codes_and_abundances_are_the_same_bits_from_fresh_and_from_kept_machine_code(tmp_path):
    compiled = marks(tmp_path)
    assert list(tmp_path.rglob("*.nbc")), "nothing was kept"
    loaded = marks(tmp_path)
    assert [name for name in compiled if compiled[name] != loaded[name]] == []
    if find(codes_and_abundances.URBAN) is None:
        pytest.skip(f"random data agree; {codes_and_abundances.URBAN} is not in $PURSUIT_DATA")
