"""Architecture: imports point down the floors, and use only public names of other rooms.

The same applies to tests, except for those of internals, which name the rooms at the end of their
docstring ("Inside: upload, workbook.").
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from environment import ROOT, unmeasured_environment

PACKAGE = ROOT / "xlbridge"
FACES = {
    *(".".join(path.relative_to(ROOT).parent.parts) for path in PACKAGE.rglob("__init__.pyi")),
    *(
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in PACKAGE.rglob("[a-z]*.py")
        if "\n__all__ = [" in path.read_text("utf-8")
    ),
} - {"xlbridge"}
"""Packages, and rooms of one module, with a list of the names that other rooms may use."""
MAX_NAMES = 15
"""Maximum number of public names of a room."""
OPEN_MODULES = {"xlbridge.cli.main", "xlbridge.validation.cross_sheet"}
"""The entry point, and checks between sheets, which batches and online checks build on."""
OPEN_ROOMS = ("xlbridge.wire",)
"""Rooms whose modules are all public."""
SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_imports_point_down_the_floors() -> None:
    checker = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [checker, "--no-cache"],
        cwd=ROOT,
        env=unmeasured_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


IMPORT = re.compile(r"^ *(?:from|import) (xlbridge[\w.]*)", re.MULTILINE)


def imported_modules(path: Path) -> list[str]:
    """Return our modules that a file imports anywhere but in the scripts that it quotes."""
    return IMPORT.findall("".join(path.read_text("utf-8").split('"""')[::2]))


def import_statements(
    statements: Iterable[ast.stmt | ast.ExceptHandler | ast.match_case],
) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports in blocks of statements, without a look at the many expressions."""
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        for block in ("body", "handlers", "orelse", "finalbody", "cases"):
            yield from import_statements(getattr(statement, block, ()))


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def imports_internals(importer: str, module: str) -> bool:
    room = room_of(module)
    return (
        module.startswith("xlbridge.")
        and room != room_of(importer)
        and not room.startswith(OPEN_ROOMS)
        and (PACKAGE / room.rpartition(".")[2]).is_dir()
        and module not in FACES | OPEN_MODULES
    )


def test_rooms_import_only_public_names_of_other_rooms() -> None:
    wrong = {}
    for path in SOURCES:
        importer = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if found := [n for n in imported_modules(path) if imports_internals(importer, n)]:
            wrong[importer] = found
    assert wrong == {}


@pytest.mark.parametrize("face", sorted(FACES))
def test_listed_public_names_exist(face: str) -> None:
    room = __import__(face, fromlist=["__all__"])
    assert 0 < len(room.__all__) <= MAX_NAMES
    assert [name for name in room.__all__ if not hasattr(room, name)] == []


USERS = [PACKAGE, *(ROOT / name for name in ("benchmarks", "docs", "packaging", "samples"))]
NAMES_FOR_CUSTOM_CHECKS = {"column_check", "row_check", "text_check", "error", "warning"}
"""Names for checks of custom resources: docs/how-to/own-resource.md."""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def forget_trees() -> Iterator[None]:
    """Free the trees after the last test: each collection of garbage would go through them."""
    yield
    tree_of.cache_clear()


def is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported_names(path: Path, *, types: bool = True) -> Iterator[tuple[str, str]]:
    """Yield module and name of every import; without ``types``, skip those for type checkers."""
    body = [node for node in tree_of(path).body if types or not is_for_types(node)]
    package = ".".join(path.relative_to(ROOT).parent.parts)
    modules = {}
    for node in import_statements(body):
        if isinstance(node, ast.ImportFrom):
            source = ".".join(filter(None, [package if node.level else "", node.module]))
            modules |= {
                alias.asname or alias.name: f"{source}.{alias.name}" for alias in node.names
            }
            yield from ((source, alias.name) for alias in node.names)
    if modules.keys() & {face.rpartition(".")[2] for face in FACES}:
        for used in ast.walk(ast.Module(body, [])):
            if isinstance(used, ast.Attribute) and isinstance(used.value, ast.Name):
                yield modules.get(used.value.id, ""), used.attr


def test_public_names_are_used_outside_their_room() -> None:
    unused = {face: {*__import__(face, fromlist=["__all__"]).__all__} for face in FACES}
    for folder in USERS:
        for path in [*folder.rglob("*.py"), *folder.rglob("*.pyi")]:
            for face, name in imported_names(path):
                if face in FACES and not path.is_relative_to(ROOT.joinpath(*face.split("."))):
                    unused[face].discard(name)
    assert {face: names for face, names in unused.items() if names - NAMES_FOR_CUSTOM_CHECKS} == {}


MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in SOURCES}
MAX_DEPTH = 16
"""Modules in the longest chain of imports, including late ones (docs/architecture.md)."""


def defining_module(source: str, name: str) -> str:
    """Return the module that defines an imported name."""
    if f"{source}.{name}" in MODULES or source in MODULES or source not in FACES:
        return f"{source}.{name}" if f"{source}.{name}" in MODULES else source
    stub = ROOT.joinpath(*source.split("."), "__init__.pyi")
    for inner, exported in imported_names(stub):
        if exported == name:
            return defining_module(inner, name)
    return f"{source}.{name}"  # a room within the room


def imports_of_modules(*, types: bool) -> dict[str, set[str]]:
    """Map each module to those that it imports, late ones included."""
    return {
        module: {defining_module(*found) for found in imported_names(path, types=types)}
        & MODULES.keys()
        for module, path in MODULES.items()
    }


def circles_of(imported: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the largest sets of modules that import one another, directly or not."""

    def reachable(start: str) -> set[str]:
        found: set[str] = set()
        waiting = [start]
        while waiting:
            new = imported[waiting.pop()] - found
            found |= new
            waiting.extend(new)
        return found

    reached = {module: reachable(module) for module in imported}
    return {
        frozenset(other for other in below if module in reached[other])
        for module, below in reached.items()
        if module in below
    }


def test_circles_are_found_and_kept_apart() -> None:
    imported = {"a": {"b", "e"}, "b": {"c"}, "c": {"a"}, "d": {"e", "a"}, "e": {"f"}, "f": {"e"}}
    assert circles_of(imported) == {frozenset("abc"), frozenset("ef")}


def test_no_imports_for_types_or_others_go_in_a_circle() -> None:
    assert circles_of(imports_of_modules(types=True)) == set()


def test_chains_of_imports_have_limited_depth() -> None:
    imported = imports_of_modules(types=False)
    depth: dict[str, int] = {}
    for module in TopologicalSorter(imported).static_order():  # raises CycleError
        depth[module] = 1 + max((depth[below] for below in imported[module]), default=0)
    assert max(depth.values()) <= MAX_DEPTH


INSIDE = re.compile(r"^Inside: (.+)\.$", re.MULTILINE)


def declared_rooms(path: Path) -> set[str]:
    text = path.read_text("utf-8")
    inside = INSIDE.search(text.split('"""', 2)[1] if text.startswith('"""') else "")
    return set(inside[1].split(", ")) if inside else set()


def test_tests_declare_the_rooms_whose_internals_they_import() -> None:
    wrong = {}
    for path in (ROOT / "tests").rglob("*.py"):
        modules = [name for name in imported_modules(path) if imports_internals("tests", name)]
        rooms = {room_of(name).rpartition(".")[2] for name in modules}
        if rooms != declared_rooms(path):
            wrong[path.name] = modules
    assert wrong == {}
