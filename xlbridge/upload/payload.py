"""Rows of a sheet that may be sent, and their payload: a clean workbook stored by its hash.

The analyst's own file is never sent, nor its macros, links, hidden sheets and parser differences.
Rows of child sheets become lists of their records, in one column of the frame for each list, which
digests, claims and payloads treat as any other column.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import pandas as pd

from xlbridge.files import make_private_folder, replace_atomically
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.resources import KEY, Resource
from xlbridge.resources.findings import Finding
from xlbridge.settings import ParseOptions, WorkbookLimits
from xlbridge.upload.claims import RowClaims, claim_digest, named_values
from xlbridge.upload.job import NO_POSITION, Job, file_hash
from xlbridge.upload.lookup.comparison import business_keys
from xlbridge.upload.lookup.snapshot import RowTable, RowValues, column_values
from xlbridge.upload.planning.planned_row import PlannedRow, RowAction, RowReason
from xlbridge.upload.requests import ItemAddresses, item_column, items_of_records
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.cells import type_rows
from xlbridge.validation.header_row import match_header
from xlbridge.workbook.read import read_workbook

if TYPE_CHECKING:
    from xlbridge.upload.context import UploadContext

_T = TypeVar("_T")

_PIECE = 10_000
"""Rows digested together."""

_FIRST_ROW = 2
"""Number of the first row below the header of a payload."""

_PARSED_HERE = 128 * 2**10
"""Size in bytes up to which a payload is parsed faster here than in a child process."""


def row_digests(resource: Resource, frame: pd.DataFrame) -> list[str]:
    """Return a digest of each row's values, independent of the file's styles and layout."""
    filled = (str(name) for name in frame if frame[name].notna().any())
    names = sorted(name for name in filled if name != KEY)
    opening = f"[{json.dumps(resource.name)}"

    digests: list[str] = []
    for at in range(0, len(frame), _PIECE):
        rows = frame.iloc[at : at + _PIECE]
        values = [_named_values(name, rows[name]) for name in names] or [[""] * len(rows)]
        digests += (claim_digest(f"{opening}{''.join(row)}]") for row in zip(*values, strict=True))
    return digests


def _named_values(name: str, column: pd.Series) -> list[str]:
    """Return each value of a column, which may be a list, as an item of a JSON list."""
    cells = column_values(column)
    if column.dtype == object and any(isinstance(cell, list) for cell in cells):
        cells = [c if c is None else json.dumps(c, sort_keys=True, default=str) for c in cells]
    return named_values(name, cells)


def sheet_digest(rows: Sequence[str]) -> str:
    """Return the digest of all rows, independent of their order."""
    return hashlib.sha256("".join(sorted(rows)).encode()).hexdigest()


def frame_of_rows(resource: Resource, rows: Sequence[RowValues]) -> pd.DataFrame:
    """Return the typed frame of rows."""
    columns = {c.name: [row.get(c.name) for row in rows] for c in resource.columns}
    frame = pd.DataFrame(columns).astype({c.name: c.dtype for c in resource.columns})
    lists = {
        child.sheet: pd.Series([row.get(child.sheet) for row in rows], dtype=object)
        for child in resource.children
        if any(row.get(child.sheet) for row in rows)
    }
    return frame.assign(**lists) if lists else frame


def payload_of(resource: Resource, frame: pd.DataFrame) -> bytes:
    """Return the payload of the rows in a frame."""
    from xlbridge.workbook.write import records_workbook  # Planning alone needs none.

    children = {child.resource.sheet: child.frame for child in child_rows(resource, frame)}
    return records_workbook(resource, frame, children)


def store_payload(context: "UploadContext", payload: bytes) -> str:
    """Store a payload durably and return its content hash."""
    content = hashlib.sha256(payload).hexdigest()
    make_private_folder(context.settings.payloads)
    with replace_atomically(context.payload_path(content), in_home=True) as temporary:
        temporary.write_bytes(payload)
    return content


def frame_of_payload(
    context: "UploadContext", resource: Resource, content: str, count: int
) -> pd.DataFrame:
    """Return the ``count`` typed rows of a stored payload. Raises what ``load_payload`` raises."""
    return frame_with_lists(_typed_payload(context, resource, content, count))


def _typed_payload(
    context: "UploadContext", resource: Resource, content: str, count: int
) -> ValidatedSheet:
    """Return the typed main sheet of a stored payload, with its child sheets.

    The main sheet has ``count`` rows. Those whose cells were all wrong are blank there.
    """
    payload, limits = context.load_payload(content), WorkbookLimits()
    # The content hash proves that we wrote it, so that it is safe to parse in this process.
    trusted = payload if len(payload) <= _PARSED_HERE else None
    path = context.payload_path(content)
    parsed = read_workbook(path, limits, trusted=trusted)
    cells = {sheet.name: sheet for sheet in parsed.sheets}
    main, *children = (
        ValidatedSheet(path, declared, declared.sheet, frame=typed.frame, rows=typed.rows)
        for declared in (resource, *resource.children)
        if declared.sheet in cells
        for found in [cells[declared.sheet]]
        for typed in [type_rows(declared, match_header(found, 0, declared), found, ParseOptions())]
    )
    if len(main.rows) < count:
        at = pd.Index(main.rows) - _FIRST_ROW
        main.frame = main.frame.set_axis(at).reindex(range(count)).astype(main.frame.dtypes)
        main.rows = range(_FIRST_ROW, _FIRST_ROW + count)
    main.children = {child.sheet: child for child in children}
    return main


def planned_rows(
    context: "UploadContext", job: Job
) -> tuple[Sequence[PlannedRow], Sequence[int], pd.DataFrame]:
    """Return all rows that a job, or a part of it, was planned for, in order: their plan, empty for
    a task, their numbers, and the typed frame. Raises what ``load_payload`` raises."""
    journal, spec = context.journal, job.spec
    planned: Sequence[PlannedRow] = ()
    if not job.is_task:
        planned = journal.plan_of(job) if job.parent is None else journal.sent_plan_of(job)
    numbers = [row.row for row in planned] or list(spec.rows)
    resource, content = context.catalogue.named(spec.resource), spec.planned or spec.payload
    return planned, numbers, frame_of_payload(context, resource, content, len(numbers))


def sent_rows(context: "UploadContext", job: Job, *, with_unsent: bool = False) -> RowTable:
    """Return the rows of a job as sent, in order; with ``with_unsent`` all planned rows."""
    resource = context.catalogue.named(job.spec.resource)
    content, count = job.spec.payload, len(job.spec.rows)
    if with_unsent and job.spec.planned:
        content, count = job.spec.planned, len(context.journal.plan_of(job))
    sheet = _typed_payload(context, resource, content, count)
    return RowTable.of(sheet.frame, lists=_lists_of(sheet))


ListItem = Mapping[str, Any]
"""Item of a list: its filled columns with their typed values."""


def frame_with_lists(sheet: ValidatedSheet) -> pd.DataFrame:
    """Return the frame of a validated sheet with a column for each list that any record has, and
    for those that were emptied."""
    index = sheet.frame.index
    lists = {
        name: pd.Series(items, index=index, dtype=object)
        for name, items in _lists_of(sheet).items()
        if any(items)
    }
    return with_empty_lists(sheet.frame.assign(**lists), sheet.emptied_lists)


def with_empty_lists(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return a frame with an empty column for each named list that it lacks."""
    missing = [name for name in names if name not in frame]
    return frame.assign(**{n: pd.Series(None, index=frame.index, dtype=object) for n in missing})


def _lists_of(sheet: ValidatedSheet) -> dict[str, list[list[ListItem] | None]]:
    """Return the lists of a sheet's records, by their names; None for a record without items."""
    lists: dict[str, list[list[ListItem] | None]] = {}
    for name, child in sheet.children.items():
        filled = [column for column in child.frame if column != KEY]
        columns = {str(column): column_values(child.frame[column]) for column in filled}
        rows = [
            {column: values[at] for column, values in columns.items() if values[at] is not None}
            for at in range(len(child.frame))
        ]
        lists[name] = [
            [rows[at] for at in items] or None for items in items_of_records(sheet, child)
        ]
    return lists


@dataclass(frozen=True, slots=True)
class ChildRows:
    """Rows of a child sheet: a typed frame with the key, and the item that each row is.

    Optional columns without values are left out. ``item_keys`` has the position of each row's
    record and the zero-based number of the item.
    """

    resource: Resource
    frame: pd.DataFrame
    item_keys: Sequence[tuple[int, int]]


def child_rows(resource: Resource, frame: pd.DataFrame) -> Iterator[ChildRows]:
    """Yield the rows of each child sheet, from the lists in a frame."""
    for child in resource.children:
        if child.sheet not in frame:
            continue
        keys = frame[KEY].tolist()
        lists = [items if isinstance(items, list) else () for items in frame[child.sheet]]
        item_keys = [(at, number) for at, items in enumerate(lists) for number in range(len(items))]
        if not item_keys:
            continue
        named = {KEY} | {name for items in lists for item in items for name in item}
        columns = [c for c in child.columns if c.required or c.name in named]
        values: dict[str, list[Any]] = {c.name: [] for c in columns}
        for key, items in zip(keys, lists, strict=True):
            for item in items:
                for name, column in values.items():
                    column.append(key if name == KEY else item.get(name))
        typed = {c.name: pd.Series(values.pop(c.name), dtype=c.dtype) for c in columns}
        yield ChildRows(child, pd.DataFrame(typed), item_keys)


@dataclass(frozen=True)
class SheetSource:
    """Rows of a sheet that may be sent, and their source.

    ``frame`` has the typed columns of the resource, ``numbers`` those of the system's own number;
    ``rows`` are Excel row numbers. ``columns`` are as in ``JobSpec``. ``set_aside`` are the rows
    that are not sent, by position. ``items`` are the addresses of the items of lists, ``titles``,
    ``named``, ``words`` and ``links`` are as in ``JobNotes``.
    """

    resource: Resource
    file: Path
    file_hash: str | None
    sheet: str
    frame: pd.DataFrame = field(repr=False)
    numbers: pd.DataFrame = field(repr=False)
    rows: Sequence[int] = field(repr=False)
    columns: Mapping[str, int] = field(default_factory=dict)
    set_aside: Mapping[int, PlannedRow] = field(default_factory=dict)
    items: Mapping[str, ItemAddresses] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, bool] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_sheet(cls, sheet: ValidatedSheet, resource: Resource) -> "SheetSource":
        """Return the rows of a validated sheet."""
        return cls(
            resource,
            sheet.file.resolve(),
            file_hash(sheet.file),
            sheet.sheet,
            frame_with_lists(sheet),
            sheet.numbers,
            sheet.record_rows,
            {
                **sheet.record_columns,
                **dict.fromkeys(
                    (*sheet.constants, *sheet.children, *sheet.emptied_lists), NO_POSITION
                ),
            },
            _rows_set_aside(sheet),
            ItemAddresses.of_sheet(sheet),
            sheet.titles_with_lists,
            _by_path(sheet, lambda part: part.named),
            _by_path(sheet, lambda part: part.words),
            {name: by for part in sheet.with_children for name, by in part.links.items()},
        )

    @classmethod
    def of_job(cls, context: "UploadContext", job: Job) -> "SheetSource":
        """Return the rows that a job was planned for, from its stored workbook.

        Raises ``LocalFailure`` if that is missing or has changed.
        """
        spec = job.spec
        resource = context.catalogue.named(spec.resource)
        planned, rows, frame = planned_rows(context, job)
        lists = (child.sheet for child in resource.children if child.sheet in spec.columns)
        frame = with_empty_lists(frame, lists)
        return cls(
            resource,
            Path(spec.file),
            job.notes.file_hash,
            spec.sheet,
            frame,
            pd.DataFrame([row.number for row in planned] or None, index=frame.index),
            rows,
            spec.columns,
            {
                at: row
                for at, row in enumerate(planned)
                if row.reason is not None and row.reason.is_of_sheet
            },
            job.items,
            job.notes.titles,
            job.notes.named,
            job.notes.words,
            job.notes.links,
        )

    def claims(self) -> RowClaims:
        """Return the digests of the rows and of their keys."""
        digests = row_digests(self.resource, self.frame)
        return RowClaims(digests, business_keys(self.resource, self.values))

    @cached_property
    def values(self) -> RowTable:
        """Rows with only the columns that the sheet has, and the system's own numbers."""
        present = [name for name in self.frame if name in self.columns]
        numbers = () if self.numbers.empty else (self.numbers,)
        return RowTable.of(self.frame[present], *numbers)


def _by_path(
    sheet: ValidatedSheet, of_columns: Callable[[ValidatedSheet], Mapping[str, _T]]
) -> dict[str, _T]:
    """Return what is known of the columns of a sheet and its lists, by their paths."""
    return {
        name if part is sheet else f"{child}.{name}": known
        for child, part in {"": sheet, **sheet.children}.items()
        for name, known in of_columns(part).items()
    }


def _rows_set_aside(sheet: ValidatedSheet) -> dict[int, PlannedRow]:
    """Return the rows that have errors or are not records, by position.

    Cells that could not be parsed keep their content, for the rejects workbook.
    """
    found: defaultdict[int, list[Finding]] = defaultdict(list)
    for finding in sheet.error_findings():
        if finding.row is not None:
            found[finding.row].append(finding)
    item_errors = _item_errors(sheet)
    with_errors = {*found, *(sheet.rows[position] for position in item_errors)}
    aside = {}
    for at, row in enumerate(sheet.rows):
        if row not in with_errors:
            continue
        errors = [_CellError.of(sheet, at, finding.column, finding) for finding in found[row]]
        errors += item_errors.get(at, ())
        aside[at] = PlannedRow(
            row,
            RowAction.HELD,
            RowReason.NO_RECORD if row in sheet.non_records else RowReason.ERRORS,
            why=joined(_error_text(error.finding) for error in errors),
            wrong=list(dict.fromkeys(error.column for error in errors if error.column is not None)),
            raw_cells={
                error.column: float(value) if error.finding.numeric else value
                for error in errors
                if error.column is not None and error.unparsed and (value := error.finding.value)
            },
        )
    return aside


def _error_text(finding: Finding) -> Text:
    """Return the message of an error after its column, on the page by the sheet's header alone."""
    message = finding.message.changed(lambda text: text.removesuffix("."))
    name, header = finding.column_label, finding.header
    if name is None:
        return message
    label = Text(name, name, page=None if header is None else untranslated(header))
    return untranslated("{label}: {message}").format(label=label, message=message)


class _CellError(NamedTuple):
    """Error in a cell of a record: the column, of an item as in ``item_column``, the finding, and
    whether the cell is missing in the typed frame."""

    column: str | None
    finding: Finding
    unparsed: bool

    @classmethod
    def of(cls, sheet: ValidatedSheet, at: int, column: str | None, finding: Finding) -> Self:
        """Return the error that was found in the row at a position of a sheet."""
        frame, name = sheet.frame, finding.column
        return cls(column, finding, name in frame and not frame[name].notna().iat[at])


def _item_errors(sheet: ValidatedSheet) -> Mapping[int, Sequence[_CellError]]:
    """Return the errors in child rows, by the positions of their records."""
    found: defaultdict[int, list[_CellError]] = defaultdict(list)
    for name, child in sheet.children.items():
        errors = [error for error in child.error_findings() if error.row not in child.non_records]
        of_records = enumerate(items_of_records(sheet, child) if errors else ())
        records = {
            at: (record, number) for record, items in of_records for number, at in enumerate(items)
        }
        for error in errors:
            at = child.position_of(error)
            if at in records and error.column is not None:
                position, number = records[at]
                column = item_column(name, number, error.column)
                finding = replace(error, header=f"{child.sheet}!{error.cell}")
                found[position].append(_CellError.of(child, at, column, finding))
    return found
