"""The table of what sheets write: each operation that writes, its sheets, and what shows them.

Everything is looked up: sheets in the catalogue, templates and samples in their folders, kinds of
records to process in their declarations. An operation without a sheet is explained in a table of
``docs/assumptions.md``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xlbridge.resources import Catalogue, Resource, load_catalogue
from xlbridge.upload.process_kinds import KINDS
from xlbridge.wire import OPERATIONS, Operation
from xlbridge.wire.authentication import AUTHENTICATE

CREATION_TEST = "tests/sandbox/test_creations.py::test_good_rows_are_taken_and_come_back"
GOOD_TEST = "tests/validation/test_samples.py::test_a_good_sample_passes"
BAD_TEST = "tests/validation/test_samples.py::test_a_bad_sample_has_exactly_its_listed_findings"

_ROOT = Path(__file__).parents[1]
_WITHOUT = "## Without a sheet"
_HEADER = ("Operation", "Sheet", "Template", "Samples", "Tests")


@dataclass(frozen=True)
class SheetOfOperation:
    """Sheet that an operation takes rows of: ``way`` is create, change, undo or import."""

    resource: Resource
    way: str

    @property
    def template(self) -> Path:
        """The template."""
        return _ROOT / "templates" / f"{self.resource.name}.xlsx"

    @property
    def samples(self) -> tuple[Path, ...]:
        """The samples, good and bad ones."""
        name, folder = self.resource.name, _ROOT / "samples"
        return (folder / f"{name}.xlsx", *sorted(folder.glob(f"{name}-com-*.xlsx")))

    @property
    def tests(self) -> tuple[str, ...]:
        """Pytest's node ids of the tests of the sheet."""
        created = [CREATION_TEST] if self.resource.create is not None else []
        name = self.resource.name
        ends = {GOOD_TEST: name, BAD_TEST: f"{name}-com-erros"}
        return (
            *(f"{test}[{name}]" for test in created),
            *(f"{test}[{end}]" for test, end in ends.items()),
        )


@dataclass(frozen=True)
class Row:
    """What was found of one operation that writes; ``process`` is the kind that it processes."""

    operation: Operation
    sheets: tuple[SheetOfOperation, ...]
    process: str
    explained: bool


def sheets() -> Iterator[str]:
    """Every operation that writes, with the sheets whose rows it takes."""
    yield "# Sheets"
    yield "Each operation that creates or changes something: the sheets whose rows it takes, their"
    yield "templates and samples, and the tests that send or judge them. Records are taken to their"
    yield "next state by `xlbridge process`, from ids or an exported sheet."
    yield ""
    yield f"- Rows that are created: `{CREATION_TEST}[…]`."
    yield f"- Samples: `{GOOD_TEST}[…]`,"
    yield f"  `{BAD_TEST}[…]`."
    yield ""
    yield "A test fails where an operation has neither a sheet nor a kind to process, and"
    yield "[the assumptions](../assumptions.md#without-a-sheet) do not say why."
    yield ""
    yield f"| {' | '.join(_HEADER)} |"
    yield f"|{'---|' * len(_HEADER)}"
    for row in rows():
        yield f"| {' | '.join(_cells(row))} |"


def rows() -> list[Row]:
    """What is found of each operation that writes, in the order of their declaration."""
    catalogue = load_catalogue()
    explained = explanations()
    processed = {kind.process.name: name for name, kind in KINDS.items()}
    writing = (o for o in OPERATIONS.values() if o.method != "GET" and o is not AUTHENTICATE)
    return [
        Row(o, _sheets_of(o, catalogue), processed.get(o.name, ""), o.name in explained)
        for o in writing
    ]


def explanations() -> set[str]:
    """Return the names of the operations that the assumptions tell why they take no sheet."""
    text = (_ROOT / "docs" / "assumptions.md").read_text(encoding="utf-8")
    section = text.partition(_WITHOUT)[2].partition("\n## ")[0]
    lines = (line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `"))
    return {name.strip(" |`") for line in lines for name in line.split(", ")}


def _sheets_of(operation: Operation, catalogue: Catalogue) -> tuple[SheetOfOperation, ...]:
    return tuple(
        SheetOfOperation(resource, way)
        for resource in catalogue.values()
        for way, name in _operations(resource)
        if name == operation.name
    )


def _operations(resource: Resource) -> Iterator[tuple[str, str | None]]:
    yield "import", resource.paths.direct_name
    yield "import", resource.paths.queue_name
    if resource.create is not None:
        yield "create", resource.create.operation_name
    if resource.change is not None:
        yield "change", resource.change.operation_name
        yield "undo", resource.change.delete_name


def _cells(row: Row) -> Iterator[str]:
    operation = row.operation
    anchor = operation.name.replace(".", "")
    yield f"[{operation.name}](operations.md#{anchor})<br>`{operation.method} {operation.path}`"
    if not row.sheets:
        yield f"`xlbridge process {row.process}`" if row.process else _without()
        yield from ("", "", "")
        return
    yield _lines(f"{_sheet_link(one.resource)} ({one.way})" for one in row.sheets)
    templates = dict.fromkeys(one.template for one in row.sheets)
    yield _lines(f"[{path.name}](../../templates/{path.name})" for path in templates)
    samples = dict.fromkeys(path for one in row.sheets for path in one.samples)
    yield _lines(f"[{path.name}](../../samples/{path.name})" for path in samples)
    tests = dict.fromkeys(test for one in row.sheets for test in one.tests)
    yield _lines(f"`{test.partition('::')[2]}`" for test in tests)


def _sheet_link(resource: Resource) -> str:
    lists = "".join(f", `{child.sheet}`" for child in resource.children)
    return f"[{resource.name}](resources.md#{resource.name}){lists}"


def _without() -> str:
    return "[none](../assumptions.md#without-a-sheet)"


def _lines(found: Iterator[str]) -> str:
    return "<br>".join(found)
