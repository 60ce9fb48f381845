"""The house: every file in its room, imports that go down only."""

import ast
from pathlib import Path
from statistics import median

import pytest

import pursuit
from pursuit.files import data

ROOT = Path(pursuit.__file__).parent
TESTS = Path(__file__).parents[1]
# From the roof to the ground: a room imports the lines below it, and of its own line what stands
# to its right.
LINES = [
    ["__main__", "cli", "commands"],
    ["report"],
    ["experiments", "unmixing", "decomposing", "estimators", "learning"],
    ["torch", "encoding", "solving"],
    ["methods"],
    ["acceleration", "active"],
    ["rules"],
    ["certificates", "rates", "geometry"],
    ["points"],
    ["objectives"],
    ["atoms", "penalties"],
    ["linalg"],
    ["kernels", "files"],
    ["plots"],
    ["base"],
]
PLACE = {room: (i, j) for i, line in enumerate(LINES) for j, room in enumerate(line)}
MODULES = sorted(ROOT.rglob("*.py"))
UPWARD: set[str] = set()


def name_of(path):
    """The parts of a module's name, without the package's."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def run_time_imports(path):
    """Every module that a file imports when it runs, at its top or inside a function."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def upward(path):
    """What a module imports from rooms that are not below its own."""
    own = name_of(path)
    if not own or own[0] == "testing":  # the names of the package; what may import everything
        return []
    ours = [name.split(".") for name in run_time_imports(path) if name.startswith("pursuit.")]
    rooms = {parts[1] for parts in ours} - {own[0], "__version__"}
    return [room for room in rooms if PLACE[room] < PLACE[own[0]]]


def test_imports_go_down_only():
    assert {".".join(name_of(path)) for path in MODULES if upward(path)} == UPWARD


@pytest.mark.parametrize("path", MODULES, ids=lambda path: ".".join(name_of(path)) or "pursuit")
def test_only_kernels_import_the_compiler(path):
    compiler = [name for name in run_time_imports(path) if name.split(".")[0] == "numba"]
    assert not compiler or name_of(path)[0] == "kernels"


PROMISED = ("numba.njit", "numba.types", "numba.extending")
"""What Numba documents for others to import."""


def test_what_numba_keeps_private_is_in_one_place():
    private = ("_cache", "_nrt", "_source_stamp", "make_array")
    for path in MODULES:
        names = [n for n in run_time_imports(path) if n.split(".")[0] == "numba"]
        inner = [n for n in names if n != "numba" and not n.startswith(PROMISED)]
        touched = [word for word in private if word in path.read_text()]
        if name_of(path) == ["kernels", "private"]:
            assert inner
            assert touched
        else:
            assert not inner, path
            assert not touched or name_of(path)[:1] != ["kernels"], path


def test_kernels_import_nothing_but_base():
    for path in MODULES:
        if name_of(path)[:1] == ["kernels"]:
            rooms = {n.split(".")[1] for n in run_time_imports(path) if n.startswith("pursuit.")}
            assert rooms <= {"kernels", "base"}, path


def patched_names(path):
    """The names that a test gives another meaning to, without what they belong to."""
    for node in ast.walk(ast.parse(path.read_text())):
        called = getattr(node.func, "attr", "") if isinstance(node, ast.Call) else ""
        if called in {"setattr", "setitem", "patch", "object"}:
            words = [word.value for word in node.args if isinstance(word, ast.Constant)]
            yield from (word.split(".")[-1] for word in words if isinstance(word, str))


def test_a_representation_is_asked_for_and_not_patched_in():
    """`form` and `gram_bytes` of `Encoder`, `gram_bytes` of `points.choose` ask for one."""
    choosing = {"GRAM_BYTES", "WORK_BYTES", "choose", "form", "fits"}
    patching = {path: choosing & set(patched_names(path)) for path in TESTS.rglob("*.py")}
    assert {path.name: names for path, names in patching.items() if names} == {}


def test_no_two_classes_share_a_name():
    classes = [
        node.name.lstrip("_")
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    assert sorted({name for name in classes if classes.count(name) > 1}) == []


def lines_of_body(function):
    """Lines of a function without its signature and its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_functions_are_short():
    sizes = {
        f"{path.relative_to(ROOT)}:{node.lineno}": lines_of_body(node)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    assert {place: size for place, size in sizes.items() if size > 45} == {}
    assert median(sizes.values()) <= 5


def named(node):
    """The classes that the second argument of isinstance, or a side of a comparison, names."""
    if isinstance(node, ast.Tuple):
        return {name for element in node.elts for name in named(element)}
    if isinstance(node, ast.BinOp):
        return named(node.left) | named(node.right)
    return {getattr(node, "id", getattr(node, "attr", ""))}


def classes_asked_for(node):
    """The classes that an expression, or a case of match, asks an object for."""
    if isinstance(node, ast.MatchClass):
        return named(node.cls)
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
        return named(node.args[1])
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        if any(ast.unparse(side).startswith("type(") for side in sides):
            return {name for side in sides for name in named(side)}
    return set()


def test_objects_are_asked_and_few_are_recognised_by_their_class():
    trees = {path: ast.parse(path.read_text()) for path in MODULES}
    nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree)]
    own = {node.name for _, node in nodes if isinstance(node, ast.ClassDef)}
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, node in nodes
        if classes_asked_for(node) & own
    ]
    assert len(found) <= 40, found
    assert not any("Cone" in classes_asked_for(node) for _, node in nodes)


def test_nothing_imports_the_contracts():
    for path in MODULES:
        if name_of(path)[:1] not in ([], ["testing"]):
            assert not any(n.startswith("pursuit.testing") for n in run_time_imports(path)), path


def test_modules_at_the_top_are_few_and_public():
    top = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}
    assert len(top) <= 10
    assert top <= {*pursuit.__all__, "cli"}


def test_every_room_says_what_it_is_for():
    for folder in ROOT.iterdir():
        if folder.is_dir() and list(folder.glob("*.py")):
            says = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
            assert says, folder
            assert folder.name in PLACE or folder.name == "testing", folder


def test_no_test_imports_another():
    for path in TESTS.rglob("*.py"):
        for imported in run_time_imports(path):
            assert not any(part.startswith("test_") for part in imported.split(".")), path


def test_data_is_looked_for_beside_the_project(monkeypatch):
    asked = []
    monkeypatch.delenv("PURSUIT_DATA", raising=False)
    monkeypatch.setattr(Path, "is_file", lambda path: asked.append(path) or False)
    assert data.find("scene.npz") is None
    assert asked == [ROOT.parents[2] / "shared" / "data" / "scene.npz"]
