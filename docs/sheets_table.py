"""Table of operations that write, with their sheets, templates, samples and tests.

Everything is looked up: sheets in the catalogue, templates and samples in their folders, kinds of
records to process in their declarations. A table in ``docs/assumptions.md`` explains operations
without a sheet.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from xlbridge.resources import (
    Catalogue,
    Resource,
    load_catalogue,
)
from xlbridge.resources.remote import RecordCreation
from xlbridge.upload.process_kinds import KINDS
from xlbridge.wire import OPERATIONS, Operation, WireModel, record_model
from xlbridge.wire.operations import AUTHENTICATE

CREATION_TEST = "tests/sandbox/test_creations.py::test_good_rows_are_accepted_and_returned"
IMPORT_TEST = "tests/upload/test_every_channel.py::test_an_accepted_row_is_not_sent_again"
CHANGE_TEST = "tests/upload/test_updates.py::test_one_edited_cell_of_an_export_changes_one_record"
LISTS_TEST = (
    "tests/upload/test_inventory_counts.py::test_counts_are_registered_after_opening_the_inventory"
)
DELETION_TEST = "tests/upload/test_deletions.py::test_a_sheet_deletes_its_records_after_consent"
PROCESS_TEST = "tests/upload/test_process.py::test_a_processed_record_is_not_processed_again"
REVERSAL_TEST = (
    "tests/upload/test_process.py::test_outputs_of_an_exported_history_are_reversed_once"
)
GOOD_TEST = "tests/validation/test_samples.py::test_a_good_sample_passes"
BAD_TEST = "tests/validation/test_samples.py::test_a_bad_sample_has_exactly_its_listed_findings"

_ROOT = Path(__file__).parents[1]
_WITHOUT = "## Without a sheet"
_HEADER = ("Operation", "Sheet", "Template", "Samples", "Tests")


@dataclass(frozen=True)
class SheetOfOperation:
    """Sheet whose rows an operation uses.

    ``way`` is create, list, change, delete or import.
    """

    resource: Resource
    way: str
    operation: str

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
        """Pytest's node ids of the tests that check the sheet's samples."""
        name = self.resource.name
        return (f"{GOOD_TEST}[{name}]", f"{BAD_TEST}[{name}-com-erros]")

    @property
    def exercise(self) -> str:
        """Pytest's node id of a test in which the operation uses a row of the sheet.

        For an import that replaces records, it is the test of an edited export.
        """
        name, paths = self.resource.name, self.resource.paths
        match self.way:
            case "create":
                return f"{CREATION_TEST}[{name}]"
            case "list":
                return LISTS_TEST
            case "delete":
                return DELETION_TEST
            case "import" if self.resource.change is None or not self.resource.change.by_import:
                return (
                    f"{IMPORT_TEST}[{'direct' if self.operation == paths.direct_name else 'queue'}]"
                )
            case _:
                return f"{CHANGE_TEST}[{name}]"


@dataclass(frozen=True)
class Row:
    """One operation that writes; ``process`` is the kind of records it processes."""

    operation: Operation
    sheets: tuple[SheetOfOperation, ...]
    process: str
    explained: bool

    @property
    def exercises(self) -> tuple[str, ...]:
        """Pytest's node ids of the tests in which the system carries out the operation."""
        if self.process:
            by_number = f"{PROCESS_TEST}[{self.process}]"
            return (REVERSAL_TEST if KINDS[self.process].within else by_number,)
        return tuple(dict.fromkeys(one.exercise for one in self.sheets))


def sheets() -> Iterator[str]:
    """Every operation that writes, with the sheets whose rows it takes."""
    yield "# Sheets"
    yield "Each operation that creates or changes something: the sheets whose rows it takes, their"
    yield "templates and samples, and tests. The first tests are those in whose run the system"
    yield "carries out the operation: they are marked with it, and fail where it does not"
    yield "(`tests/exercised.py`); the others judge the samples. Records are taken to their next"
    yield "state by `xlbridge process`, from ids or a sheet that `xlbridge export` wrote;"
    yield "their samples are those whose upload makes such records."
    yield ""
    for test in (
        CREATION_TEST,
        CHANGE_TEST,
        IMPORT_TEST,
        LISTS_TEST,
        DELETION_TEST,
        PROCESS_TEST,
        REVERSAL_TEST,
        GOOD_TEST,
        BAD_TEST,
    ):
        yield f"- `{test}`"
    yield ""
    yield "A test fails where an operation has neither a sheet nor a kind to process, and"
    yield "[the assumptions](../assumptions.md#without-a-sheet) do not say why."
    yield ""
    yield f"| {' | '.join(_HEADER)} |"
    yield f"|{'---|' * len(_HEADER)}"
    for row in rows():
        yield f"| {' | '.join(_cells(row))} |"


def rows() -> list[Row]:
    """Return the rows of all operations that write, in the order of their declaration."""
    catalogue = load_catalogue()
    explained = explanations()
    processed = {kind.process.name: name for name, kind in KINDS.items()}
    writing = (o for o in OPERATIONS.values() if o.method != "GET" and o is not AUTHENTICATE)
    return [
        Row(o, _sheets_of(o, catalogue), processed.get(o.name, ""), o.name in explained)
        for o in writing
    ]


def explanations() -> set[str]:
    """Return the operations whose missing sheet the assumptions explain."""
    text = (_ROOT / "docs" / "assumptions.md").read_text(encoding="utf-8")
    section = text.partition(_WITHOUT)[2].partition("\n## ")[0]
    lines = (line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `"))
    return {name.strip(" |`") for line in lines for name in line.split(", ")}


def _sheets_of(operation: Operation, catalogue: Catalogue) -> tuple[SheetOfOperation, ...]:
    return tuple(
        SheetOfOperation(resource, way, operation.name)
        for resource in catalogue.values()
        for way, name in _operations(resource)
        if name == operation.name
    )


def _operations(resource: Resource) -> Iterator[tuple[str, str | None]]:
    yield "import", resource.paths.direct_name
    yield "import", resource.paths.queue_name
    if resource.create is not None:
        yield "create", resource.create.operation_name
        for operations in resource.create.lists.values():
            yield from (("list", name) for name in operations)
    if resource.change is not None:
        yield "change", resource.change.operation_name
        yield "delete", resource.change.delete_name


def _cells(row: Row) -> Iterator[str]:
    operation = row.operation
    anchor = operation.name.replace(".", "")
    yield f"[{operation.name}](operations.md#{anchor})<br>`{operation.method} {operation.path}`"
    if row.process:
        yield f"`xlbridge process {row.process}`"
        listing = KINDS[row.process].listing
        yield f"an export of [{listing}](listings.md#{listing})"
        yield _lines(_samples_to_process(operation))
        yield _test_names(row.exercises)
        return
    if not row.sheets:
        yield from [_without()] * (len(_HEADER) - 1)
        return
    yield _lines(f"{_sheet_link(one.resource)} ({one.way})" for one in row.sheets)
    templates = dict.fromkeys(one.template for one in row.sheets)
    yield _lines(f"[{path.name}](../../templates/{path.name})" for path in templates)
    samples = dict.fromkeys(path for one in row.sheets for path in one.samples)
    yield _lines(f"[{path.name}](../../samples/{path.name})" for path in samples)
    yield _test_names(
        dict.fromkeys((*row.exercises, *(t for one in row.sheets for t in one.tests)))
    )


def _samples_to_process(operation: Operation) -> Iterator[str]:
    """Yield the samples whose upload creates such records; for logs, those with a queue."""
    every = load_catalogue().values()
    wanted = record_model(operation.data)
    created = [one for one in every if one.create and wanted is _created_by(one.create)]
    for one in created or [one for one in every if one.paths.queue_name is not None]:
        yield f"[{one.name}.xlsx](../../samples/{one.name}.xlsx)"


def _created_by(creation: RecordCreation) -> type[WireModel] | None:
    return record_model(creation.operation.data)


def _test_names(tests: Iterable[str]) -> str:
    return _lines(f"`{test.partition('::')[2]}`" for test in tests)


def _sheet_link(resource: Resource) -> str:
    lists = "".join(f", `{child.sheet}`" for child in resource.children)
    return f"[{resource.name}](resources.md#{resource.name}){lists}"


def _without() -> str:
    return "[none](../assumptions.md#without-a-sheet)"


def _lines(found: Iterator[str]) -> str:
    return "<br>".join(found)
