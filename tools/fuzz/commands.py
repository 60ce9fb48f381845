"""The area `commands`: the command line, against the same calls in Python.

A command ends with exit code 0 and files with the numbers of Python, or with exit code 2 and one
line that names an option or a file.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import pursuit
from fuzz.case import Case, Finding
from fuzz.data import Array, damage, precision
from fuzz.encode import same_codes
from fuzz.unmix import check_abundances
from pursuit import InputError, cli, geometry

OPTIONS = ("--out", "-o", "--dictionary", "--method", "--nonzero", "--n-nonzero", "--atoms",
           "--n-atoms", "-r", "--rate", "SIGNALS", "SCENE", "FILE", "COMMAND")  # fmt: skip
"""What a message may name, beside what was typed."""
NONSENSE = ("", "nan", "inf", "-1", "0", "1e400", "3.5", "x", "[]", "ü", "1" * 40)


def run(case: Case) -> None:
    """Run a command and compare what it writes with what Python returns."""
    kinds = {_encode: 3, _learn: 2, _decompose: 2, _unmix: 2, _constants: 2, _nonsense: 2}
    with contextlib.chdir(case.folder):  # where files with odd names stay
        case.weighted(kinds)(case)


def command(case: Case, *arguments: Any, valid: bool = True) -> str:
    """Run the program and return what it prints; its errors name what was typed or an option."""
    case.record(command=" ".join(map(str, arguments)))
    typed = [name for argument in arguments if (name := str(argument).strip())]
    return str(case.call(program, *arguments, names=(*OPTIONS, *typed), valid=valid))


def program(*arguments: Any) -> str:
    """Run the program in this process; what it prints, or its error as an InputError."""
    out, err, argv, code = io.StringIO(), io.StringIO(), sys.argv, None
    sys.argv = ["pursuit", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as stop:
        code = stop.code
    finally:
        sys.argv = argv
    if not code:
        return out.getvalue()
    message = err.getvalue().strip()
    if code == 2 and message.startswith("Usage:"):  # written by the parser of the command line
        raise InputError(OPTIONS[0])
    if code != 2 or not message.startswith("pursuit: "):
        raise Finding(f"exit code {code}: {message[-200:]!r}")
    raise InputError(message.removeprefix("pursuit: "))


def table(case: Case, name: str, array: Array, columns: bool) -> Path:
    """Write a matrix in one of the formats that commands read."""
    path = case.folder / f"{name}{case.choose('.npy', '.npz', '.csv')}"
    stored = array.T if columns else array
    if path.suffix == ".npy":
        np.save(path, stored)
    elif path.suffix == ".npz":
        np.savez(path, **{name: stored})
    else:
        path.write_text("\n".join(",".join(repr(float(v)) for v in row) for row in stored))
    return path


def as_read(path: Path, array: Array) -> Array:
    """Return the numbers as they are read: text has no precision."""
    return array.astype(float) if path.suffix == ".csv" else array


def _encode(case: Case) -> None:
    """Encode and decode."""
    d, dtype, columns = case.integer(2, 6), precision(case), case.chance(0.3)
    atoms = case.rng.standard_normal((case.integer(2, 9), d)).astype(dtype)
    signals = case.rng.standard_normal((case.integer(2, 20), d)).astype(dtype)
    there, dictionary = (
        table(case, "signals", signals, columns),
        table(case, "atoms", atoms, columns),
    )
    method, k = case.choose("orthogonal", "matching-pursuit", "mp"), case.integer(1, 3)
    flag = ["--columns"] if columns else []
    out, back = case.folder / "codes", case.folder / "back.npy"
    command(case, "encode", there, "--dictionary", dictionary, "-o", out, "--method", method,
            "--nonzero", k, "--max-iter", 7, *flag)  # fmt: skip
    codes = pursuit.encode(as_read(there, signals), as_read(dictionary, atoms), method, n_nonzero=k,
                           max_iter=7)  # fmt: skip
    same_codes(case, codes, pursuit.Codes.open(out), "by the command")
    command(case, "decode", out, "--dictionary", dictionary, "-o", back, *flag)
    expected = codes @ as_read(dictionary, atoms)
    close = np.allclose(np.load(back), expected.T if columns else expected, rtol=1e-6, atol=1e-5)
    case.require(close, "decoded, other signals")


def _learn(case: Case) -> None:
    signals = case.rng.standard_normal((case.integer(6, 30), 4))
    there, out = table(case, "signals", signals, False), case.folder / "atoms.npy"
    method, n, seed = case.choose("online", "aksvd", "mod"), case.integer(1, 5), case.integer(0, 3)
    command(case, "learn", there, "--atoms", n, "-o", out, "--method", method, "--seed", seed,
            "--nonzero", 1)  # fmt: skip
    learned = pursuit.learn(signals, n, 1, method, seed=seed, progress=False)
    case.require(np.array_equal(np.load(out), learned.atoms), "learned by the command, other atoms")


def _decompose(case: Case) -> None:
    """Decompose and rebuild."""
    shape = (case.integer(64, 300),) if case.chance(0.6) else (2, case.integer(64, 300))
    samples = case.rng.standard_normal(shape)
    signal, book = case.folder / "s.npy", case.folder / case.choose("book.npz", "book.csv")
    np.save(signal, samples)
    command(case, "decompose", signal, "-o", book, "--rate", 100, "--snr", 5, "--max-atoms", 9)
    expected = pursuit.decompose(samples, 100.0, 5.0, max_atoms=9)
    stored = pursuit.Book.load(book)
    case.require(
        np.array_equal(stored.amplitude, expected.amplitude), "by the command, another book"
    )
    back = case.folder / "back.npy"
    command(case, "rebuild", book, "-o", back)
    case.require(np.array_equal(np.load(back), stored.rebuild()), "rebuilt, another signal")


def _unmix(case: Case) -> None:
    shape = case.integer(2, 4), case.integer(2, 4), case.integer(3, 6)
    cube = case.rng.random(shape) + 0.01
    scene, out = case.folder / "scene.npy", case.folder / "unmixed.npz"
    np.save(scene, cube)
    constraint = case.choose("none", "non-negative", "sum-to-one", "sparse")
    k = ["--nonzero", 1] if constraint == "sparse" else []
    r = case.integer(1, 3)
    command(case, "unmix", scene, "--out", out, "--constraint", constraint, "-r", r, *k)
    with np.load(out) as arrays:
        pixels = cube[arrays["places"][:, 0], arrays["places"][:, 1]]
        spectra = arrays["endmembers"]
        result = pursuit.unmixing.Unmixing(
            arrays["abundances"], spectra, arrays["residual_norms"], arrays["angles"],
            np.linalg.norm(pixels, axis=1), constraint,
        )  # fmt: skip
    case.require(len(pixels) == shape[0] * shape[1], "pixels are missing")
    check_abundances(case, pixels, spectra, constraint, 1, result)


def _constants(case: Case) -> None:
    atoms = case.rng.standard_normal((case.integer(1, 7), case.integer(1, 4)))
    file, unit = table(case, "atoms", atoms, False), case.chance(0.3)
    printed = command(case, "constants", file, "--json", *(["--unit"] if unit else []))
    values = {row["constant"]: row["value"] for row in json.loads(printed)["constants"]}
    matrix = atoms / np.linalg.norm(atoms, axis=1, keepdims=True) if unit else atoms
    used = pursuit.Dictionary(matrix)
    for name, function in (("radius", geometry.radius), ("ν", geometry.nu)):
        expected = float(function(used))
        close = abs(values[name] - expected) <= 1e-6 * expected
        case.require(close, f"{name} is {values[name]}, not {expected}")


def _nonsense(case: Case) -> None:
    """Options that make no sense, and damaged files, end in one line."""
    file = case.folder / case.choose("a.npy", "a.csv", "a.npz", "a.mat", "a.hdr")
    np.save(case.folder / "good.npy", np.eye(3))
    file.write_bytes(damage(case, (case.folder / "good.npy").read_bytes()))
    value, there = (
        case.choose(*NONSENSE),
        case.choose(file, case.folder / "nothing.npy", case.folder),
    )
    arguments = case.choose(
        ["encode", "good.npy", "--dictionary", there, "-o", "codes"],
        ["encode", "good.npy", "--dictionary", "good.npy", "-o", "codes", "--method", value],
        ["encode", "good.npy", "--dictionary", "good.npy", "-o", "codes", "--nonzero", value],
        ["decode", there, "--dictionary", "good.npy", "-o", "x.npy"],
        ["learn", there, "--atoms", 2, "-o", "x.npy"],
        ["learn", "good.npy", "--atoms", value, "-o", "x.npy"],
        ["decompose", there, "-o", "book.npz", "--rate", 10],
        ["unmix", there, "-r", 2, "--out", "x.npz"],
        ["unmix", "good.npy", "-r", value, "--out", "x.npz"],
        ["constants", there],
        [value],
    )
    command(case, *arguments, valid=False)
