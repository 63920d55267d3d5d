"""A batch plan as data: its steps, their order, and the workbooks that they match."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from itertools import chain, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.errors import UsageError, os_error_reason
from xlbridge.export import Filters
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue
from xlbridge.resources.references import registry_called, sheet_link
from xlbridge.settings import CsvForm, ParseOptions
from xlbridge.upload import RequestedMode, is_rejects_name
from xlbridge.workbook import WorkbookMark
from xlbridge.workbook.read import LOCK_FILE_PREFIXES

if TYPE_CHECKING:
    from xlbridge.validation.mapping import SheetMapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A part of a batch. ``after`` names the steps that must be done before it.

    ``profile`` is the environment that it is for; None is the one that the command is for.
    """

    name: str
    after: tuple[str, ...] = ()
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class SendOptions:
    """Options for sending the workbooks of a step; ``chunk_rows`` splits the larger ones, ``rest``
    is how many seconds pass between their parts.

    With ``update`` records that are there with other values are changed; with ``foreign_numbers``
    the numbers of records that the workbooks carry are another system's. ``leave_out`` are columns
    whose cells are not sent.
    """

    mode: RequestedMode = "auto"
    chunk_rows: int | None = None
    rest: int = 0
    update: bool = False
    foreign_numbers: bool = False
    leave_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkbookStep(Step):
    """Workbooks that are judged, and sent where ``sending`` says how.

    ``patterns`` are relative to the plan's folder. ``links`` maps a column that refers to another
    resource to the column by which its cells name the record there. ``mapping`` reads workbooks
    with headers of their own, ``csv`` is how .csv files among them are written.
    """

    patterns: tuple[str, ...]
    resource: str | None = None
    sheet: str | None = None
    reading: ParseOptions = field(default_factory=ParseOptions)
    csv: CsvForm = field(default_factory=CsvForm)
    links: Mapping[str, str] = field(default_factory=dict)
    mapping: "SheetMapping | None" = None
    sending: SendOptions | None = None
    may_be_empty: bool = False

    def sends_like(self, other: "WorkbookStep") -> bool:
        """Tell whether both steps would write the same records of one workbook."""
        return self.sending is not None and self._what_is_sent == other._what_is_sent

    @property
    def _what_is_sent(self) -> Sequence[object]:
        sending = self.sending and (
            self.sending.update,
            self.sending.foreign_numbers,
            frozenset(self.sending.leave_out),
        )
        return self.resource, self.sheet, self.reading, self.links, self.mapping, sending


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportStep(Step):
    """A listing that is written into ``output``, relative to the plan's folder."""

    listing: str
    output: str
    filters: Filters = field(default_factory=Filters)
    flat: str | None = None
    as_template: str | None = None
    settled: bool = False
    manifest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedListing:
    """Listing of two environments that is compared, together with those ``joined`` to it.

    With a ``resource`` the fields are compared that its sheet carries, else all but those that are
    ``apart``, each with the reason.
    """

    listing: str
    resource: str | None = None
    joined: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    apart: Mapping[str, Text] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Name of the comparison in reports."""
        return " + ".join((self.listing, *self.joined))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareStep(Step):
    """Comparison of the listings of its environment with those of ``other``, the profile of another
    one; its report is written into ``output``, relative to the plan's folder.

    ``left_out`` are listings that are not compared, each with the reason.
    """

    listings: tuple[ComparedListing, ...]
    other: str
    output: str
    left_out: Mapping[str, Text] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStep(Step):
    """Records of a listing that are taken to their next state: those that the step ``records_of``
    has sent, or those whose numbers ``file`` has, relative to the plan's folder."""

    listing: str
    records_of: str | None = None
    file: str | None = None

    @property
    def source(self) -> str:
        """Source of the records' numbers."""
        return self.records_of or self.file or ""


AnyStep = WorkbookStep | ExportStep | CompareStep | ProcessStep


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """A batch: its ``steps`` in the order in which they are done.

    ``parameters`` are the values that were put into the plan's texts. ``proof`` is where the
    closing proof goes, without extension, relative to the plan's folder.
    """

    path: Path
    name: str
    parameters: Mapping[str, str]
    steps: tuple[AnyStep, ...]
    proof: str

    @property
    def folder(self) -> Path:
        """The folder that the plan's paths start from."""
        return self.path.parent

    def workbook_named(self, step: str, name: str) -> "tuple[WorkbookStep, WorkbookFile]":
        """Return a step and a workbook of it by their names.

        Raises ``UsageError`` where it is gone.
        """
        for one in self.steps:
            if one.name == step and isinstance(one, WorkbookStep):
                for book in workbooks_of(self, one):
                    if book.name == name:
                        return one, book
        raise UsageError(
            Text(
                pt="{unit} não está mais entre os arquivos da etapa {step}.",
                en="{unit} is no longer among the workbooks of the step {step}.",
            ).format(unit=name, step=step)
        )

    def written(self) -> Iterator[tuple[tuple[str, ...], Path]]:
        """Yield the files that the batch writes, each after its key in the plan."""
        for step in self.steps:
            if isinstance(step, ExportStep | CompareStep):
                yield ("steps", step.name, "output"), self.file(step.output)
            if isinstance(step, ExportStep) and step.manifest is not None:
                yield ("steps", step.name, "manifest"), self.file(step.manifest)
        for ending in (".xlsx", ".html", "-findings.html"):
            yield ("proof",), self.file(self.proof + ending)

    def is_source(self, step: "AnyStep") -> bool:
        """Tell whether a step exports what another one reads."""
        if not isinstance(step, ExportStep):
            return False
        output = self.file(step.output)
        readers = (one for one in self.steps if isinstance(one, WorkbookStep))
        return any(self.file(pattern) == output for one in readers for pattern in one.patterns)

    @property
    def ordered(self) -> "list[AnyStep]":
        """The steps so that each comes after those it waits for.

        Otherwise the plan's own order holds: first what exports workbooks of other steps, and
        last the other exports and the comparisons, so that they show the outcome.
        """
        ranks = {
            step.name: (_ORDER[type(step)] - 2 * self.is_source(step), number)
            for number, step in enumerate(self.steps)
        }
        return _in_order(self.steps, ranks)

    def file(self, path: str) -> Path:
        """Return where a path of the plan leads, written in one way only."""
        return Path(os.path.normpath(self.folder / path))

    @property
    def batch(self) -> str:
        """The name of this batch: the plan's with the parameters' values."""
        return "-".join([self.name, *self.parameters.values()])


def referenced_steps(
    catalogue: Catalogue, steps: Mapping[str, Mapping[str, Any]], name: str
) -> Iterator[str]:
    """Yield the steps that send what the resource of a step refers to.

    A resource that is named as a registry fills that registry. ``steps`` are the plan's, as they
    are written.
    """
    resource = steps[name].get("resource")
    if resource is None or resource not in catalogue:
        return
    sheets = (catalogue[resource], *catalogue[resource].children)
    registries = {column.references for sheet in sheets for column in sheet.columns}
    registries -= {registry_called(resource)}
    for other, body in steps.items():
        fills = registry_called(body.get("resource", ""))
        if other != name and "upload" in body and fills is not None and fills in registries:
            yield other


def steps_of_files(steps: Mapping[str, Mapping[str, Any]], name: str) -> list[str]:
    """Return the steps that write the workbooks of a step, and those that send the workbooks by
    whose columns it names records, or the records that it processes; ``steps`` are the plan's, as
    they are written."""
    body = steps[name]
    links = map(sheet_link, body.get("links", {}).values())
    linked = {link.file.as_posix() for link in links if link is not None}
    own = _texts(body.get("upload", body.get("validate", body.get("file", ()))))
    return [
        other
        for other, its in steps.items()
        if other != name
        and (
            ("export" in its and its["output"] in own)
            or other == body.get("records_of")
            or any(fnmatch(file, one) for file in _texts(its.get("upload", ())) for one in linked)
        )
    ]


def _texts(value: Any) -> set[str]:
    return {value} if isinstance(value, str) else set(value)


_ORDER: Mapping[type[Step], int] = {
    WorkbookStep: 0,
    ProcessStep: 0,
    ExportStep: 1,
    CompareStep: 2,
}
"""Order of steps that do not wait for each other."""


def _in_order(steps: Sequence[AnyStep], ranks: Mapping[str, tuple[int, int]]) -> list[AnyStep]:
    """Return the steps by rank, each after those it waits for."""
    by_name = {step.name: step for step in steps}
    sorter = TopologicalSorter({step.name: step.after for step in steps})
    sorter.prepare()
    ready: list[str] = []
    ordered: list[AnyStep] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=ranks.__getitem__)
        first = ready.pop(0)
        ordered.append(by_name[first])
        sorter.done(first)
    return ordered


def find_cycle(steps: Sequence[AnyStep]) -> Sequence[str]:
    """Return steps that wait for each other in a circle, none where there is no such."""
    try:
        TopologicalSorter({step.name: step.after for step in steps}).prepare()
    except CycleError as error:
        names: Sequence[str] = error.args[1]
        return names
    return ()


_BLOCK_SIZE = 1 << 20


@dataclass(frozen=True, slots=True)
class WorkbookFile:
    """A workbook of a step: the unit in which a batch is done.

    ``name`` is its path as the plan's folder sees it; ``sha256`` is of its bytes, empty where the
    file cannot be read.
    """

    path: Path
    name: str
    sha256: str


def workbooks_of(plan: BatchPlan, step: WorkbookStep) -> list[WorkbookFile]:
    """Return the workbooks of a step, pattern by pattern, each once, by their names.

    What Excel and LibreOffice leave beside an open file is none, nor is what batches write: what
    the plan exports, unless it is named itself, closing proofs, and rejects workbooks, whose rows
    belong to the workbook that they were made for.
    """
    named = {plan.file(pattern) for pattern in step.patterns}
    written = {path for _, path in plan.written()} - named
    return [
        WorkbookFile(path, relative_name(plan.folder, path), file_digest(path))
        for place, path in files_of(plan, step).items()
        if place not in written and not WorkbookMark.PROVEN.is_on(path)
    ]


def files_of(plan: BatchPlan, step: WorkbookStep) -> dict[Path, Path]:
    """Return the files that the patterns of a step match, pattern by pattern, by where they are."""
    matched = (sorted(_matching_files(plan.folder, pattern)) for pattern in step.patterns)
    found: dict[Path, Path] = {}
    for path in chain.from_iterable(matched):
        found.setdefault(plan.file(str(path)), path)
    return found


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal; empty where it cannot be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_BLOCK_SIZE):
                digest.update(piece)
    except OSError:
        # The reader says why when the file is judged.
        return ""
    return digest.hexdigest()


def relative_name(folder: Path, path: Path) -> str:
    """Return a file's path as the plan's folder sees it, the same on every system."""
    return (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix()


def is_valid_pattern(text: str) -> bool:
    """Return whether a text can be a pattern of workbooks on every version of Python."""
    parts = Path(text).parts
    named = bool(parts) and parts[-1] not in {"..", Path(text).anchor}
    return named and "\0" not in text and all("**" not in part or part == "**" for part in parts)


def _matching_files(folder: Path, pattern: str) -> Iterator[Path]:
    start = folder
    parts = Path(pattern)
    if parts.is_absolute():
        start = Path(parts.anchor)
        parts = parts.relative_to(start)
    # A file may have brackets in its name: a path that is there is taken as it is written.
    literal = start / parts
    for path in [literal] if _is_file(literal) else _glob(start, parts):
        left = path.name.startswith(LOCK_FILE_PREFIXES) or is_rejects_name(path)
        if not left and _is_file(path):
            yield path


def _glob(start: Path, parts: Path) -> Iterator[Path]:
    try:
        yield from start.glob(str(parts))
    except OSError:
        # No file can have such a name; the step says that nothing matches.
        return


def what_is_there(folder: Path, pattern: str) -> Text:
    """Return what a person finds where no workbook matches: the folder that is missing, or files
    that are in it."""
    if os.sep == "/" and "\\" in pattern:
        return _SLASHES.format(pattern=pattern.replace("\\", "/"))
    parts = Path(pattern).parts[:-1]
    plain = list(takewhile(lambda part: not set("*?[") & set(part), parts))
    place = folder.joinpath(*plain)
    if not place.is_dir():
        return _NO_FOLDER.format(folder=place)
    try:
        names = sorted(path.name for path in place.iterdir() if not path.name.startswith("."))
    except OSError as error:
        return os_error_reason(error)
    more = ", …" if len(names) > _SHOWN_NAMES else ""
    return (_IN_FOLDER if names else _EMPTY_FOLDER).format(
        folder=place, names=", ".join(names[:_SHOWN_NAMES]) + more
    )


_SHOWN_NAMES = 5
_SLASHES = Text(pt="escreva-o com /: {pattern}", en="write it with /: {pattern}")
_NO_FOLDER = Text(pt="a pasta {folder} não existe", en="there is no folder {folder}")
_EMPTY_FOLDER = Text(pt="a pasta {folder} está vazia", en="the folder {folder} is empty")
_IN_FOLDER = Text(pt="em {folder} há: {names}", en="in {folder} there are: {names}")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
