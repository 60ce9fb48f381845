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
    "--unit --json --data --seeds --iterations --overwrite --force --workers --scheduler "
    "--atoms --passes --start --tol --max-time --checkpoint --snr --figure --rate --scales "
    "--max-atoms --shared --noise "
    "SIGNALS SCENE FILE CODES EXPERIMENT SOUND BOOK PHOTO COMMAND"
)
CONSTANTS = words("ν ν′ δ̂² L_A μ_A mDW radius diameter")
"""What `pursuit constants` may say of a file whose numbers leave no room for one of them."""
WILD = ("", "nan", "inf", "-1", "0", "1e400", "3.5", "x", "[]", "ü", "1" * 40, "--", " ")


def commands_case(case: Case) -> None:
    kinds = {_encode: 4, _decode: 2, _constants: 3, _unmix: 3, _nonsense: 2}
    case.weighted(kinds | {_learn: 2, _decompose: 2, _denoise: 0.3})(case)


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
    if said.startswith(("Usage:", "Error:")):  # written by the parser of the command line
        raise InputError("--: a usage error")
    if not said.startswith("pursuit: "):
        raise Finding(f"exit code 2 with {said[-200:]!r}")
    raise InputError(said.removeprefix("pursuit: "))


def ask(case: Case, *arguments: Any, valid: bool = False) -> str:
    """What the program prints; a refusal may name an option or what was typed."""
    typed = {str(a) if str(a).strip() else repr(str(a)) for a in arguments}
    typed |= {str(Path("")) for a in arguments if a == ""}
    case.tell(command=" ".join(map(str, arguments)))
    names = OPTIONS | typed | CONSTANTS | {"--"}
    with contextlib.chdir(case.folder):  # where what is written to an odd name stays
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


# Learning, sounds, pictures ----------------------------------------------------------------


def _learn(case: Case) -> None:
    signals, _, there, _, columns = _job(case)
    n, out = case.whole(1, len(signals)), case.folder / case.pick("d.npy", "d.npy", "d.txt")
    method, passes = case.pick("online", "aksvd", "mod"), case.whole(1, 3)
    arguments = ["learn", there, "--atoms", n, "-o", out, "--method", method, "--passes", passes]
    arguments += ["--columns"] if columns else []
    arguments += option(case, 0.3, "--seed", 0, 3)
    arguments += option(case, 0.2, "--nonzero", 1)
    arguments += option(case, 0.2, "--checkpoint", case.folder / "state.npz")
    arguments += option(case, 0.1, "--resume")
    arguments += option(case, 0.1, "--variable", "signals", "other")
    case.odd += ["options"] if {"--resume", "--variable"} & set(map(str, arguments)) else []
    case.odd += ["not an array"] if out.suffix != ".npy" else []
    said = ask(case, *arguments, valid=not case.odd)
    case.require(str(out) in said, "the program does not say where the atoms are")
    found = np.load(out)
    if case.odd:
        return
    found = found.T if columns else found
    chosen = dict(pairwise(arguments))
    options = {"seed": int(chosen.get("--seed", 0)), "n_nonzero": chosen.get("--nonzero")}
    given = signals.astype(found.dtype)
    truth = pursuit.learn(given, n, method=method, passes=passes, progress=False, **options)
    case.require(np.array_equal(truth.atoms, found), "learned by the program, other atoms")
    before = out.read_bytes()
    try:
        ask(case, *arguments)
    finally:
        case.require(out.read_bytes() == before, "a file was overwritten")


def _decompose(case: Case) -> None:
    """A sound to a book, and the book back to sound."""
    shape = (case.whole(64, 300),) if case.chance(0.6) else (2, case.whole(64, 300))
    samples = case.rng.standard_normal(shape) * case.pick(1.0, 1e-3, 1e200)
    sound, book, back = (
        case.folder / name for name in ("s.npy", case.pick("book.npz", "book.csv"), "back.npy")
    )
    np.save(sound, samples)
    if case.chance(0.1) and damaged(case, sound):
        case.odd.append("damaged")
    arguments = ["decompose", sound, "-o", book, "--rate", 100, "--snr", 5]
    arguments += option(case, 0.3, "--max-atoms", 3, 20)
    arguments += option(case, 0.3, "--scales", "16,64", "32", "64,,", "7")
    arguments += option(case, 0.3, "--shared")
    arguments += option(case, 0.1, "--resume")
    arguments += option(case, 0.1, "--columns")
    usual = not {"--scales", "--columns"} & set(map(str, arguments))
    ask(case, *arguments, valid=not case.odd and usual)
    kept = pursuit.Book.load(book)
    if case.chance(0.2) and damaged(case, book):
        case.odd.append("a damaged book")
    ask(case, "rebuild", book, "-o", back, valid=not case.odd)
    case.require(np.array_equal(np.load(back), kept.rebuild()), "rebuilt, another sound")


def _denoise(case: Case) -> None:
    from PIL import Image

    levels = case.rng.integers(0, 256, (case.whole(4, 20), case.whole(4, 20)), dtype="u1")
    photo, out = case.folder / "photo.png", case.folder / case.pick("clean.png", "clean.xyz")
    Image.fromarray(levels).save(photo)
    if case.chance(0.3) and damaged(case, photo):
        case.odd.append("damaged")
    ask(case, "denoise", photo, "-o", out, *option(case, 0.5, "--noise", 5, 25, 300, 0))
    with Image.open(out) as clean:
        case.require(clean.size == levels.T.shape or case.odd, "a picture of another size")


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
    commands = ("encode", "decode", "constants", "unmix", "reproduce", "learn", "decompose",
                "rebuild", "denoise", "", "help", "--help")  # fmt: skip
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
