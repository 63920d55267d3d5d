"""Rows of a sheet that may be sent: of a validated sheet, or again of an earlier job.

Rows with errors, and those that are no records, are set aside with what is wrong.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import pandas as pd

from xlbridge.i18n import Text, joined
from xlbridge.resources import Resource
from xlbridge.resources.findings import Finding
from xlbridge.upload.claims import RowClaims
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import NO_POSITION, Job, file_hash
from xlbridge.upload.lookup.row_lookup import business_keys
from xlbridge.upload.lookup.row_table import RowTable
from xlbridge.upload.payload import (
    frame_of_payload,
    frame_with_lists,
    item_addresses,
    items_of_records,
    row_digests,
    with_empty_lists,
)
from xlbridge.upload.planning.planned_row import PlannedRow
from xlbridge.upload.planning.row_reasons import RowAction, RowReason
from xlbridge.upload.results.verdict import ItemAddresses, item_column
from xlbridge.validation import ValidatedSheet


@dataclass(frozen=True)
class SheetSource:
    """Rows of a sheet that may be sent, and their source.

    ``frame`` has the typed columns of the resource, ``numbers`` those of the system's own number;
    ``rows`` are Excel row numbers. ``columns`` are as in ``JobSpec``. ``set_aside`` are the rows
    that are not sent, by position. ``items`` are the addresses of the items of lists.
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
            item_addresses(sheet),
        )

    @classmethod
    def of_job(cls, context: UploadContext, job: Job) -> "SheetSource":
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
            job.file_hash,
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


def planned_rows(
    context: UploadContext, job: Job
) -> tuple[Sequence[PlannedRow], Sequence[int], pd.DataFrame]:
    """Return all rows that a job, or a part of it, was planned for, in order: their plan, empty for
    a task, their numbers, and the typed frame. Raises what ``load_payload`` raises."""
    journal, spec = context.journal, job.spec
    planned = journal.plan_of(job) if job.parent is None else journal.sent_plan_of(job)
    numbers = [row.row for row in planned] or list(spec.rows)
    resource, content = context.catalogue.named(spec.resource), spec.planned or spec.payload
    return planned, numbers, frame_of_payload(context, resource, content, len(numbers))


def may_be_sent(sheet: ValidatedSheet, *, good_rows: bool) -> bool:
    """Return whether a sheet may be sent: all its errors are in rows that can be set aside.

    With ``good_rows`` these are all rows with errors, else only rows that are not records. An error
    in a child row sets its record aside; if the record is unknown, nothing may be sent, nor where
    no row is a record.
    """
    sheets = sheet.with_children
    if sheet.ok or not all(part.readable for part in sheets):
        return sheet.ok
    if sheet.non_record_mask.all():
        return False
    if good_rows:
        return not sheet.has_stray_rows
    return all(f.row in part.non_records for part in sheets for f in part.error_findings())


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
            why=_join_messages([error.finding for error in errors]),
            raw_cells={
                error.column: float(value) if error.finding.numeric else value
                for error in errors
                if error.column is not None and error.unparsed and (value := error.finding.value)
            },
        )
    return aside


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


def _join_messages(findings: Sequence[Finding]) -> Text:
    messages = [
        (f"{finding.column_label}: " if finding.column else "", finding.message)
        for finding in findings
    ]
    return joined(
        Text(pt=column + message.pt.removesuffix("."), en=column + message.en.removesuffix("."))
        for column, message in messages
    )
