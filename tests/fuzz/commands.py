"""The area `commands`: the command line, with files and options of every kind.

A command ends with exit code 0 and files that Python confirms, or with exit code 2 and one line
about an option or a file.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import pursuit
from fuzz.case import Case, Finding, words
from fuzz.damage import damaged
from fuzz.encoding import same
from fuzz.generators import Array
from fuzz.oracle import exact, norm
from fuzz.readers import written
from fuzz.unmixing import CONSTRAINTS, SAID, Mixed, check_unmixing
from pursuit import Codes, InputError, cli, geometry
from pursuit.unmixing.pickers import PICKERS

OPTIONS = words(
    "--dictionary --out --nonzero --method --nonnegative --max-iter --rtol --atol --seed --resume "
    "--columns --variable --dictionary-variable --threads --report --constraint --picker "
    "--endmembers --endmember-variable --names --layout --shape --bad-bands --nodata --scale -r -o "
    "--wavelengths --library --library-variable --endmembers-out --average --no-average "
    "--convergence "
    "--unit --json --data --seeds --iterations --overwrite --force "
    "SIGNALS SCENE FILE CODES EXPERIMENT"
)
CONSTANTS = words("ν ν′ δ̂² L_A μ_A mDW radius diameter")
"""What `pursuit constants` may say of a file whose numbers leave no room for one of them."""
WILD = ("", "nan", "inf", "-1", "0", "1e400", "3.5", "x", "[]", "ü", "1" * 40, "--", " ")


def commands_case(case: Case) -> None:
    case.weighted({_encode: 4, _decode: 2, _constants: 3, _unmix: 3, _nonsense: 2})(case)


def program(*arguments: Any) -> str:
    """Run the program; its output, or an InputError with what it says."""
    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["pursuit", *map(str, arguments)]
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as stop:
        code = stop.code
    finally:
        sys.argv = argv
    if code in (0, None):
        return out.getvalue()
    said = err.getvalue().strip()
    if code != 2:
        raise Finding(f"exit code {code}: {said[-200:]!r}")
    if said.startswith(("Usage:", "╭─ Error")):  # written by the parser of the command line
        raise InputError("--: a usage error")
    if not said.startswith("pursuit: "):
        raise Finding(f"exit code 2 with {said[-200:]!r}")
    raise InputError(said.removeprefix("pursuit: "))


def ask(case: Case, *arguments: Any, valid: bool = False) -> str:
    """What the program prints; a refusal may name an option or what was typed."""
    typed = {str(a) if str(a).strip() else repr(str(a)) for a in arguments}
    case.tell(command=" ".join(map(str, arguments)))
    names = OPTIONS | typed | CONSTANTS | {"--"}
    return str(case.ask(lambda: program(*arguments), names, valid=valid))


def option(case: Case, chance: float, name: str, *values: Any) -> list[Any]:
    """An option with one of its values, or with nonsense, or nothing."""
    if not case.chance(chance):
        return []
    if case.chance(0.06):
        case.odd.append(name)
        return [name, case.pick(*WILD)]
    return [name, case.pick(*values)] if values else [name]


def table(case: Case, name: str, rows: Array, columns: bool) -> tuple[Path, bool]:
    """A file with rows, or with columns; and whether it is damaged."""
    folder = case.folder / name
    folder.mkdir()
    stored = rows.T if columns else rows
    path, _ = written(case, {name: stored}, flat=True)
    moved = folder / path.name
    path.rename(moved)
    harmed = case.chance(0.08) and damaged(case, moved)
    if harmed:
        case.odd.append(f"{name} damaged")
    return moved, harmed


# Codes -------------------------------------------------------------------------------------


def _job(case: Case) -> tuple[Array, Array, Path, Path, bool]:
    d, n, m = case.whole(2, 6), case.whole(2, 8), case.whole(2, 9)
    dtype = case.pick("f8", "f4")
    atoms = case.rng.standard_normal((n, d)).astype(dtype)
    signals = case.rng.standard_normal((m, d)).astype(dtype)
    columns = case.chance(0.3)
    there, _ = table(case, "signals", signals, columns)
    dictionary, _ = table(case, "atoms", atoms, columns)
    return signals, atoms, there, dictionary, columns


def _encode(case: Case) -> None:
    signals, atoms, there, dictionary, columns = _job(case)
    out = case.folder / "codes"
    method = case.pick("orthogonal", "matching-pursuit", "random-pursuit", "accelerated-random")
    most = case.whole(1, 6)
    arguments = ["encode", there, "--dictionary", dictionary, "-o", out, "--method", method]
    arguments += ["--columns"] if columns else []
    arguments += ["--max-iter", most]
    arguments += option(case, 0.3, "--seed", 0, 3)
    arguments += option(case, 0.3, "--rtol", 0.1, 0.5)
    arguments += option(case, 0.2, "--threads", 1, 2)
    arguments += option(case, 0.1, "--variable", "signals", "other")
    arguments += option(case, 0.1, "--nonnegative")
    case.odd += ["options"] if "--variable" in arguments or "--nonnegative" in arguments else []
    said = ask(case, *arguments, valid=not case.odd)
    case.require(str(out) in said, "the program does not say where the codes are")
    if case.odd:
        Codes.open(out)
        return
    chosen = dict(pairwise(arguments))
    options = {"seed": int(chosen.get("--seed", 0)), "rtol": chosen.get("--rtol")}
    found = Codes.open(out)  # text and old files of MATLAB have no float32
    stored = signals.astype(found.dtype), atoms.astype(found.dtype)
    truth = pursuit.encode(*stored, method, max_iter=most, **options, progress=False)
    same(truth, found, "encoded by the program")


def _decode(case: Case) -> None:
    signals, atoms, _, dictionary, columns = _job(case)
    folder, out = case.folder / "codes", case.folder / case.pick("fit.npy", "fit.npy", "fit.txt")
    codes = pursuit.encode(signals, atoms, out=folder, progress=False)
    arguments = ["decode", folder, "--dictionary", dictionary, "-o", out]
    arguments += ["--columns"] if columns else []
    arguments += option(case, 0.1, "--variable", "atoms", "other")
    case.odd += ["options"] if "--variable" in arguments or out.suffix != ".npy" else []
    ask(case, *arguments, valid=not case.odd)
    found = np.load(out)
    truth = exact(codes.matrix.toarray()) @ exact(atoms)
    found = exact(found.T if columns else found)
    if "atoms damaged" in case.odd:
        return
    case.require(found.shape == truth.shape, f"decoded signals of shape {found.shape}")
    case.require(norm(norm(found - truth)) <= 1e-5 * (1 + norm(norm(truth))), "other signals")
    if case.chance(0.3):
        before = out.read_bytes()
        try:
            ask(case, *arguments)
        finally:
            case.require(out.read_bytes() == before, "a file was overwritten with other numbers")


# Constants ---------------------------------------------------------------------------------


def _constants(case: Case) -> None:
    d, n = case.whole(1, 4), case.whole(1, 7)
    atoms = case.rng.standard_normal((n, d)) * case.pick(1.0, 1.0, 1e-3, 1e160, 1e-170)
    if case.chance(0.1):
        atoms[0] = 0
        case.odd.append("a zero atom")
    columns = case.chance(0.3)
    file, _ = table(case, "atoms", atoms, columns)
    arguments = ["constants", file, *(["--columns"] if columns else [])]
    arguments += option(case, 0.3, "--unit")
    as_json = case.chance(0.7)
    said = ask(case, *arguments, *(["--json"] if as_json else []))
    if not as_json or case.odd:
        case.require(len(said.splitlines()) > 5 or case.odd, "no table")
        return
    shown = json.loads(said)
    case.require(shown["atoms"] == n and shown["shape"] == [d], "another dictionary")
    _compare(case, atoms, "--unit" in arguments, shown)


def _compare(case: Case, atoms: Array, unit: bool, shown: dict[str, Any]) -> None:
    given = pursuit.Dictionary(atoms)
    used = pursuit.Dictionary(given.unit().atoms.matrix) if unit else given
    truth = {"radius": geometry.radius, "δ̂²": geometry.sampling_quality, "ν": geometry.nu}
    values = {row["constant"]: row for row in shown["constants"]}
    for name, constant in truth.items():
        expected = float(constant(used))
        off = abs(values[name]["value"] - expected)
        case.require(off <= 1e-9 * abs(expected), f"{name} is {values[name]['value']}")


# Scenes ------------------------------------------------------------------------------------


def _unmix(case: Case) -> None:
    r, c, b = case.whole(2, 4), case.whole(2, 4), case.whole(2, 6)
    cube = case.rng.random((r, c, b)) + 0.01
    there, _ = written(case, {"cube": cube}, flat=False)
    if case.chance(0.1) and damaged(case, there):
        case.odd.append("damaged")
    out = case.folder / "found.npz"
    constraint = case.pick(*CONSTRAINTS)
    wanted = case.whole(1, 3)
    arguments = ["unmix", there, "--out", out, "--constraint", constraint, "-r", wanted]
    arguments += ["--nonzero", 1] if constraint == "sparse" else []
    arguments += option(case, 0.5, "--picker", "auto", *PICKERS)
    arguments += option(case, 0.2, "--no-average")
    arguments += option(case, 0.1, "--endmembers-out", case.folder / "found.csv")
    arguments += option(case, 0.1, "--names", ",".join("abc"[:wanted]), "a,b,c,d,e")
    arguments += option(case, 0.1, "--scale", 2, 10, "auto")
    arguments += option(case, 0.1, "--bad-bands", "1", "1-2", "1,2")
    ask(case, *arguments)
    with np.load(out) as file:
        arrays = {name: file[name] for name in file.files}
    pixels = arrays["abundances"].shape[0]
    case.require(pixels == r * c or case.odd, f"{pixels} of {r * c} pixels")
    if case.odd or {"--scale", "--bad-bands"} & set(map(str, arguments)):
        return
    places = arrays["places"]
    spectra = cube[places[:, 0], places[:, 1]]
    mixed = Mixed(spectra, arrays["endmembers"], constraint, 1)
    most = 1 if constraint == "sparse" else None
    found = case.ask(
        lambda: pursuit.unmixing.unmix(spectra, arrays["endmembers"], constraint, n_nonzero=most),
        OPTIONS,
        valid=True,
        warned=SAID,
    )
    check_unmixing(case, mixed, found)
    for name in ("abundances", "residual_norms", "angles"):
        case.require(np.array_equal(getattr(found, name), arrays[name]), f"{name} differs")


# Nonsense ----------------------------------------------------------------------------------


def _nonsense(case: Case) -> None:
    """Words in any order; nothing of it may end in anything but a line about it."""
    commands = ("encode", "decode", "constants", "unmix", "reproduce", "", "help", "--help")
    command = case.pick(*commands)
    there = case.folder / case.pick("there.npy", "there.csv", "there.mat", "there.hdr", "there")
    if case.chance(0.5):
        there.write_bytes(case.rng.integers(0, 256, case.whole(0, 99), dtype="u1").tobytes())
    words = [*sorted(OPTIONS), *WILD, there, case.folder, 1, 2.5, "--help", "toy", "urban"]
    words = [w for w in words if str(w).upper() != w or str(w) in WILD]
    extra = [case.pick(*words) for _ in range(case.whole(0, 5))]
    if command == "reproduce" and "--help" not in extra:  # a word that is none, lest it works
        extra = ["nowhere", *extra, "--out", case.folder / "out"]
    said = ask(case, command, *extra)
    helped = "--help" in (command, *extra) or command == ""
    case.require(helped and "Usage" in said, "nonsense is accepted")
