"""What a type checker sees of the package from outside."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pursuit

USER = '''
import numpy as np
from pursuit import AtomSet, Codes, Dictionary, FiniteAtoms, Objective, Result, encode, solve
from pursuit import LeastSquares
from pursuit.points.ambient import AmbientPoint


class Corners(FiniteAtoms):
    """Atoms of a user."""


class Bowl(Objective):
    """A loss of a user."""

    def value(self, x: np.ndarray) -> float:
        return float(x @ x)


class Own(LeastSquares):
    """A loss with points of a user."""

    def form(self, atoms: AtomSet, x0: np.ndarray) -> AmbientPoint:
        return AmbientPoint(self, atoms, x0)


def run(f: Bowl, atoms: Corners) -> None:
    reveal_type(solve(f, atoms))
    reveal_type(solve(f, atoms).status)
    reveal_type(encode(np.eye(3), np.eye(3)))
    reveal_type(atoms.lmo)
    reveal_type(f.L)
    solve(3, atoms)
'''


def imported_for_type_checkers():
    """Name → module, as `pursuit/__init__.py` imports them under TYPE_CHECKING."""
    tree = ast.parse(Path(pursuit.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    return {alias.asname: node.module for node in block.body for alias in node.names}


def test_type_checkers_find_every_public_name_where_it_is_loaded_from():
    modules = dict.fromkeys(pursuit._MODULES, "pursuit")
    homes = {name: f"pursuit.{module}" for name, module in pursuit._HOME.items()}
    assert imported_for_type_checkers() == modules | homes


def test_the_package_says_that_it_is_typed():
    assert Path(pursuit.__file__).with_name("py.typed").is_file()


def test_the_types_of_a_user_are_seen_and_not_any(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    script = tmp_path / "user.py"
    script.write_text(USER)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(script)]
    told = subprocess.run(command, capture_output=True, text=True).stdout
    seen = [line.split('"')[1] for line in told.splitlines() if "Revealed type" in line]
    assert seen[:3] == [
        "pursuit.solving.result.Result",
        "pursuit.base.status.Status",
        "pursuit.encoding.codes.Codes",
    ]
    assert not any(name == "Any" for name in seen)
    assert 'incompatible type "int"' in told
    assert "incompatible with supertype" not in told
