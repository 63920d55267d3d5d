"""Model of a batch plan: its steps, the format of its file, and the workbooks that steps match."""

import dataclasses
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeGuard

from msgspec import Meta, Struct

from xlbridge.errors import UsageError
from xlbridge.export import LISTINGS, Filter, Filters, ValueKind
from xlbridge.files import folded_name, matching_files
from xlbridge.i18n import Text, untranslated
from xlbridge.resources.models import (
    NOT_IN_FILES,
    UNIQUE,
    Alternatives,
    Block,
    Identifier,
    Name,
    OneOrMore,
    Schema,
    json_schema,
    one_of,
    with_form,
)
from xlbridge.settings import (
    CSV_DELIMITERS,
    CSV_ENCODINGS,
    CsvForm,
    DateOrder,
    Headers,
    NumberStyle,
    ParseOptions,
)
from xlbridge.upload import UploadOptions
from xlbridge.upload.process_kinds import KINDS
from xlbridge.workbook import WorkbookMark, WorkbookOrigin
from xlbridge.workbook.read import LOCK_FILE_PREFIXES

if TYPE_CHECKING:
    from xlbridge.validation.mapping import SheetMapping
else:
    SheetMapping = Any  # Slow to import, and most plans have no mapping.

__all__ = ["file_digest", "plan_format"]

ListingName = Annotated[str, one_of(lambda: sorted(LISTINGS))]
Environment = Annotated[Name, Meta(description="The environment of this step.")]


class Step(Struct, frozen=True, kw_only=True):
    """A step of a batch. ``after`` names the steps that must be done before it.

    ``profile`` is its environment; None is that of the command.
    """

    name: Annotated[str, NOT_IN_FILES]
    after: Annotated[tuple[str, ...], NOT_IN_FILES] = ()
    profile: Environment | None = None


class SendOptions(Struct, frozen=True, kw_only=True, rename={"pause_seconds": "rest"}):
    """Options of uploads that a step may set, named as in ``UploadOptions``, and columns that it
    does not send.

    mode: How rows are sent; auto chooses.
    chunk_rows: Sends in parts of that many rows.
    pause_seconds: Seconds between the parts of chunk_rows: a capped listing is read by the
        minute of the last update, and cannot prove more records of one minute than its cap.
    update: Changes existing records with other values; --update does so for all steps.
    update_only: Changes existing records and creates none.
    foreign_numbers: The record numbers in the workbooks belong to another system, such as those
        of an export from there: they are not looked up here.
    leave_out: Columns that this step does not send.
    """

    mode: Literal["auto", "direct", "queue", "records"] = "auto"
    chunk_rows: Annotated[int, Meta(ge=1)] | None = None
    pause_seconds: Annotated[int, Meta(ge=1, le=3600)] = 0
    update: bool = False
    update_only: bool = False
    foreign_numbers: bool = False
    leave_out: OneOrMore = ()

    def over(self, options: UploadOptions) -> UploadOptions:
        """Return the options of a batch with those that the step sets."""
        own = {name: getattr(self, name) for name in self.__struct_fields__ if name != "leave_out"}
        for name in ("update", "update_only", "foreign_numbers"):
            own[name] = own[name] or getattr(options, name)
        return dataclasses.replace(options, **own)


class WorkbookStep(Step, frozen=True, kw_only=True):
    """Workbooks that are validated, and sent if the step has ``sending`` options.

    ``patterns`` are relative to the plan's folder. ``mapping`` reads foreign headers, ``csv`` is
    the form of .csv files.

    resource: The resource of the workbooks.
    sheet: The sheet of each workbook.
    links: Columns whose cells identify a record by another of its columns, codigoDoCliente:
        seuCodigo, by any of its names, codigoDoCliente: cliente, or by a column of a workbook
        that an earlier step sends, codigoDoCliente: clientes.xlsx#chave.
    may_be_empty: The step may have no workbooks.
    """

    resource: Name | None = None
    sheet: Name | None = None
    links: Mapping[str, Name] = {}
    may_be_empty: bool = False
    patterns: Annotated[tuple[str, ...], NOT_IN_FILES]
    reading: Annotated[ParseOptions, NOT_IN_FILES] = ParseOptions()
    csv: Annotated[CsvForm, NOT_IN_FILES] = CsvForm()
    mapping: Annotated[SheetMapping | None, NOT_IN_FILES] = None
    sending: Annotated[SendOptions | None, NOT_IN_FILES] = None

    def sends_same_rows(self, other: "WorkbookStep") -> bool:
        """Return whether both steps would send the same records of one workbook."""
        return self.sending is not None and self._sent_content == other._sent_content

    @property
    def _sent_content(self) -> Sequence[object]:
        sending = self.sending and (
            self.sending.update,
            self.sending.update_only,
            self.sending.foreign_numbers,
            frozenset(self.sending.leave_out),
        )
        return self.resource, self.sheet, self.reading, self.links, self.mapping, sending


@cache
def _filter_block() -> Block:
    code = Annotated[int, Meta(ge=1)] | str
    kinds = {ValueKind.FLAG: bool, ValueKind.CODE: code}
    repeatable = str | int | list[FilterValue]
    return Block({}).with_types(
        {
            name.value: repeatable
            if name.type.is_repeatable
            else kinds.get(name.type.kind, FilterValue)
            for name in Filter
        }
    )


FilterValue = Name | int
WrittenFilters = Annotated[Mapping[str, Any], with_form(_filter_block)]


class ExportStep(
    Step,
    frozen=True,
    kw_only=True,
    rename={
        "listing": "export",
        "output_file": "output",
        "written_filters": "filters",
        "filters": "parsed filters",
    },
):
    """A listing that is exported to ``output``, or into an analyst's workbook, relative to the
    plan's folder.

    listing: The listing.
    output_file: The file to write; its extension selects the format.
    into: Instead of output: a workbook whose rows are replaced; the rest of it stays.
    sheet: With into: its sheet or table (default: the one with the listing's titles).
    accept_losses: With into: writes even if something in the workbook cannot be kept.
    flat: One sheet only: each row of this list joined to its record.
    as_template: Uses the layout of this resource's import sheet.
    settled: Settled titles may be written into an import sheet.
    headers: Headers of an .xlsx: titles for people (default), or the system's names.
    codes_only: Codes only, without the names of clients, branches and others beside them.
    manifest: The path of the manifest.
    """

    listing: ListingName
    output_file: Name | None = None
    into: Name | None = None
    sheet: Name | None = None
    accept_losses: bool = False
    written_filters: WrittenFilters = {}
    flat: Name | None = None
    as_template: Name | None = None
    settled: bool = False
    headers: Headers | None = None
    codes_only: bool = False
    manifest: Name | None = None
    filters: Annotated[Filters, NOT_IN_FILES] = Filters()

    @property
    def output(self) -> str:
        """The file that is written, or whose rows are replaced."""
        return self.output_file or self.into or ""


class ComparedListing(
    Struct,
    frozen=True,
    kw_only=True,
    rename={
        "joined": "and",
        "reasons": "apart",
        "written_filters": "filters",
        "filters": "parsed filters",
    },
):
    """Listing that is compared between two environments, together with those ``joined`` to it.

    resource: Compares only the fields of this resource's sheet; otherwise all fields.
    joined: Other listings of the same records, compared together with it.
    reasons: Fields that are not compared, with the reasons; list.field within a list.
    """

    listing: Annotated[str, NOT_IN_FILES] = ""
    resource: Name | None = None
    joined: OneOrMore = ()
    written_filters: WrittenFilters = {}
    reasons: Mapping[str, Name] = {}
    filters: Annotated[Filters, NOT_IN_FILES] = Filters()

    @property
    def excluded(self) -> Mapping[str, Text]:
        """Fields that are not compared, with the reasons."""
        return {name: untranslated(why) for name, why in self.reasons.items()}

    @property
    def title(self) -> str:
        """Name of the listing in reports."""
        return " + ".join((self.listing, *self.joined))


class CompareStep(
    Step,
    frozen=True,
    kw_only=True,
    rename={"compared": "compare", "reasons": "left_out", "other": "with"},
):
    """Comparison of the listings of its environment with those of ``other``, another profile.

    The report is written to ``output``, relative to the plan's folder.

    compared: The listings to compare, those of registries first.
    reasons: Listings that are not compared, with the reasons, for the report.
    other: The environment to compare with, a name from profiles.toml.
    output: The workbook to write the report to.
    """

    compared: Annotated[Mapping[ListingName, ComparedListing], Meta(min_length=1)]
    reasons: Mapping[ListingName, Name] = {}
    other: Name
    output: Name

    @property
    def listings(self) -> tuple[ComparedListing, ...]:
        """The listings to compare."""
        return tuple(self.compared.values())

    @property
    def left_out(self) -> Mapping[str, Text]:
        """Listings that are not compared, with the reasons."""
        return {name: untranslated(why) for name, why in self.reasons.items()}


class ProcessStep(Step, frozen=True, kw_only=True, rename={"listing": "process"}):
    """Processing of records of a listing, which takes them to their next state.

    listing: The listing of the records to process: emission of invoices, processing of orders,
        inventories, queued files. Consent is asked for when the records are known.
    records_of: The step whose sent records are processed.
    file: A workbook with the record numbers, instead of a step.
    """

    listing: Annotated[str, one_of(lambda: sorted(KINDS))]
    records_of: Name | None = None
    file: Name | None = None

    @property
    def source(self) -> str:
        """Source of the records' numbers."""
        return self.records_of or self.file or ""


class _StepHead(Struct):
    """Keys that every step may have.

    after: The steps that must be done before; by default they follow from the schemas'
        references.
    """

    after: Name | Annotated[tuple[Name, ...], UNIQUE] = ()


class Reading(Struct, frozen=True):
    """Reading of the workbooks of a step.

    dates: The order of day and month in text.
    numbers: The style of numbers kept as text.
    delimiter: The delimiter of .csv files.
    encoding: The encoding of .csv files.
    map: The mapping file of workbooks with foreign headers.
    accept: The findings that are right as they are, each as CODE or CODE:COLUMN.
    """

    dates: DateOrder | None = None
    numbers: NumberStyle | None = None
    delimiter: Annotated[str | None, one_of(lambda: CSV_DELIMITERS)] = None
    encoding: Annotated[str | None, one_of(lambda: CSV_ENCODINGS)] = None
    map: Name | None = None
    accept: tuple[Name, ...] = ()


class _SentWorkbooks(Struct):
    """Workbooks of a step that sends them.

    upload: Workbooks to send: paths or patterns such as *.xlsx.
    """

    upload: OneOrMore


class _OfResource(Struct):
    """Keys that only a step that sends must have."""

    resource: Name


class _ValidatedWorkbooks(Struct):
    """Workbooks of a step that only validates them.

    validate: Workbooks to validate: paths or patterns such as *.xlsx.
    """

    validate: OneOrMore


_MODELS: Mapping[str, tuple[type[Struct], ...]] = {
    "upload": (_SentWorkbooks, _StepHead, _OfResource, WorkbookStep, Reading, SendOptions),
    "validate": (_ValidatedWorkbooks, _StepHead, WorkbookStep, Reading),
    "export": (_StepHead, ExportStep),
    "compare": (_StepHead, CompareStep),
    "process": (_StepHead, ProcessStep),
}
"""Keys of which each step has exactly one: what it does; with what it may have."""


STEP_KINDS = tuple(_MODELS)


def kind_of(step: Mapping[str, Any]) -> str | None:
    """Return the key of a step that says what it does, None if it has none."""
    return next((kind for kind in _MODELS if kind in step), None)


@cache
def _step() -> Alternatives:
    blocks = {kind: ({"required": [kind]}, Block.of(*models)) for kind, models in _MODELS.items()}
    return Alternatives(Block({}).with_types(dict.fromkeys(_MODELS, Any)), blocks, kind_of)


def step_keys() -> set[str]:
    """Return the keys that steps of any kind may have."""
    return {key for models in _MODELS.values() for key in Block.of(*models).types}


class PlanFile(Struct, frozen=True, kw_only=True):
    """Root of a plan.

    name: The name of the plan; with the parameters it names the batch.
    profile: The environment, a name from profiles.toml.
    parameters: Values filled into texts of the plan: {month}, {month.first}. `current` and
        `previous` are months.
    proof: The path of the closing proof; each of its forms gets its ending.
    """

    version: Literal[1] = 1
    name: Identifier
    profile: Name | None = None
    parameters: Mapping[str, Name | int] = {}
    proof: Name | None = None
    steps: Annotated[Mapping[str, Annotated[dict[str, Any], with_form(_step)]], Meta(min_length=1)]


def plan_format() -> Schema:
    """Return the JSON Schema (2020-12) of a plan."""
    return json_schema(
        "xlbridge batch plan",
        "Steps over many workbooks and listings, each run once, in the right order.",
        Block.of(PlanFile),
    )


AnyStep = WorkbookStep | ExportStep | CompareStep | ProcessStep


def sends_workbooks(step: AnyStep) -> TypeGuard[WorkbookStep]:
    """Return whether a step sends workbooks, instead of only validating them or anything else."""
    return isinstance(step, WorkbookStep) and step.sending is not None


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """A plan with its ``steps`` as they are written.

    ``parameters`` are the values filled into its texts. ``proof`` is the path of the closing proof,
    without extension, relative to the plan's folder.
    """

    path: Path
    name: str
    parameters: Mapping[str, str]
    steps: tuple[AnyStep, ...]
    proof: str

    @property
    def folder(self) -> Path:
        """The folder that the plan's paths are relative to."""
        return self.path.parent

    def find_workbook(self, step: str, name: str) -> "WorkbookFile":
        """Return a workbook by the names of step and file. Raises ``UsageError`` if it is gone."""
        for candidate in self.steps:
            if candidate.name == step and isinstance(candidate, WorkbookStep):
                for book in workbooks_of(self, candidate):
                    if book.name == name:
                        return book
        raise UsageError(
            Text(
                pt="{unit} não está mais entre os arquivos da etapa {step}.",
                en="{unit} is no longer among the workbooks of the step {step}.",
            ).format(unit=name, step=step)
        )

    def outputs(self) -> Iterator[tuple[tuple[str, ...], Path]]:
        """Yield the files that the batch writes, each with its key in the plan."""
        for step in self.steps:
            if isinstance(step, ExportStep | CompareStep):
                key = "into" if isinstance(step, ExportStep) and step.into else "output"
                yield ("steps", step.name, key), self.file(step.output)
            if isinstance(step, ExportStep) and step.manifest is not None:
                yield ("steps", step.name, "manifest"), self.file(step.manifest)
        for ending in (".xlsx", ".html", "-findings.html"):
            yield ("proof",), self.file(self.proof + ending)

    def is_source(self, step: "AnyStep") -> bool:
        """Return whether a step exports a workbook that another step reads."""
        if not isinstance(step, ExportStep):
            return False
        output = self.key(step.output)
        readers = (other for other in self.steps if isinstance(other, WorkbookStep))
        return any(self.key(pattern) == output for other in readers for pattern in other.patterns)

    @property
    def ordered(self) -> "list[AnyStep]":
        """The steps in order of execution: each comes after those it waits for.

        Otherwise in the plan's order, but exports that other steps read come first, and other
        exports and comparisons last, so that they show the outcome.
        """
        ranks = {
            step.name: (_ORDER[type(step)] - 2 * self.is_source(step), number)
            for number, step in enumerate(self.steps)
        }
        by_name = {step.name: step for step in self.steps}
        sorter = TopologicalSorter({step.name: step.after for step in self.steps})
        sorter.prepare()
        ready: list[str] = []
        ordered: list[AnyStep] = []
        while sorter.is_active():
            ready = sorted([*ready, *sorter.get_ready()], key=ranks.__getitem__)
            first = ready.pop(0)
            ordered.append(by_name[first])
            sorter.done(first)
        return ordered

    def file(self, path: str) -> Path:
        """Return a path of the plan, normalized."""
        return Path(os.path.normpath(self.folder / path))

    def key(self, path: str | Path) -> str:
        """Return a path of the plan for comparisons; case and Unicode form do not matter."""
        return folded_name(str(self.file(str(path))))

    def existing_file(self, path: str) -> Path:
        """Return the file that a path of the plan names, in any case and Unicode form."""
        return next(iter(matching_files(self.folder, path)), self.file(path))

    @property
    def parameter_options(self) -> list[str]:
        """The options of a command that set the parameters as they are."""
        return [
            word for name, value in self.parameters.items() for word in ("--set", f"{name}={value}")
        ]

    @property
    def batch(self) -> str:
        """The name of this batch: the plan's with the parameters' values."""
        return "-".join([self.name, *self.parameters.values()])


_ORDER: Mapping[type[Step], int] = {
    WorkbookStep: 0,
    ProcessStep: 0,
    ExportStep: 1,
    CompareStep: 2,
}
"""Rank of steps that do not wait for each other."""


@dataclass(frozen=True, slots=True)
class WorkbookFile:
    """A workbook of a step, the unit of work of a batch.

    ``name`` is its path relative to the plan's folder; ``sha256`` is empty if the file cannot be
    read.
    """

    step: WorkbookStep
    path: Path
    name: str
    sha256: str


def workbooks_of(plan: BatchPlan, step: WorkbookStep) -> list[WorkbookFile]:
    """Return the workbooks of a step in the order of its patterns, each once.

    Lock files of Excel and LibreOffice are left out, and so is what batches write: closing proofs,
    rejects workbooks, and exports of the plan unless a pattern is their exact name.
    """
    outputs = {plan.key(path) for _, path in plan.outputs()} - set(map(plan.key, step.patterns))
    return [
        WorkbookFile(step, path, relative_name(plan.folder, path), file_digest(path))
        for path in files_of(plan, step).values()
        if plan.key(path) not in outputs and not WorkbookMark.PROVEN.is_on(path)
    ]


def files_of(plan: BatchPlan, step: WorkbookStep) -> dict[Path, Path]:
    """Return the files that the patterns of a step match, by their normalized paths."""
    files: dict[Path, Path] = {}
    for path in chain.from_iterable(matching_files(plan.folder, name) for name in step.patterns):
        if not (path.name.startswith(LOCK_FILE_PREFIXES) or WorkbookOrigin.is_of_rejects(path)):
            files.setdefault(plan.file(str(path)), path)
    return files


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        # Validation of the file reports the reason.
        return ""


def relative_name(folder: Path, path: Path) -> str:
    """Return a file's path relative to the plan's folder, the same on every system."""
    return (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix()
