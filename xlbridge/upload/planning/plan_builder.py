"""Builder of upload plans: of a validated sheet, and anew of a job that has sent nothing yet."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from xlbridge.client import Client
from xlbridge.garbage_collection import gc_paused
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.resources import Resource
from xlbridge.resources.findings import Finding
from xlbridge.upload.claims import ClaimedRows, ClaimScope, RowClaims
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import NO_POSITION, Job
from xlbridge.upload.lookup.comparison import chosen_rows
from xlbridge.upload.lookup.row_lookup import RowMatcher, business_keys
from xlbridge.upload.lookup.row_table import RowTable
from xlbridge.upload.lookup.snapshot import Moment, Snapshot
from xlbridge.upload.options import PlanOptions
from xlbridge.upload.payload import (
    file_hash,
    frame_of_payload,
    frame_with_lists,
    item_addresses,
    record_positions,
    row_digests,
)
from xlbridge.upload.planning.planned_row import CellContent, PlannedRow, RowReason, SetAside
from xlbridge.upload.planning.row_actions import RowPlan, SheetRows, plan_rows, read_rows
from xlbridge.upload.results.verdict import ItemAddresses, item_column
from xlbridge.validation import ValidatedSheet

_NO_NOTE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SheetSource:
    """Rows of a sheet that may be sent, and where they come from.

    ``frame`` has the typed columns of the resource, ``numbers`` those of the system's own number;
    ``rows`` are Excel's numbers. ``columns`` gives the zero-based position of each column that the
    sheet has, ``NO_POSITION`` where a mapping gives the value. ``set_aside`` are the positions of rows
    that are not sent, each with the reason. ``items`` are the places of the items of lists.
    """

    resource: Resource
    file: Path
    file_hash: str | None
    sheet: str
    frame: pd.DataFrame = field(repr=False)
    numbers: pd.DataFrame = field(repr=False)
    rows: Sequence[int] = field(repr=False)
    columns: Mapping[str, int] = field(default_factory=dict)
    set_aside: Mapping[int, SetAside] = field(default_factory=dict)
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
            sheet.rows,
            {**sheet.columns, **dict.fromkeys((*sheet.constants, *sheet.children), NO_POSITION)},
            _rows_set_aside(sheet),
            item_addresses(sheet),
        )

    @classmethod
    def of_job(cls, context: UploadContext, job: Job) -> "SheetSource":
        """Return the rows that a job was planned for, from what was stored of them.

        Raises ``LocalFailure`` when the stored workbook is gone or no longer the same.
        """
        spec = job.spec
        resource = context.catalogue.named(spec.resource)
        frame = frame_of_payload(context, resource, spec.planned or spec.payload)
        planned = _planned_rows(context, job)
        return cls(
            resource,
            Path(spec.file),
            job.file_hash,
            spec.sheet,
            frame,
            pd.DataFrame([row.number for row in planned] or None, index=frame.index),
            [row.row for row in planned] or spec.rows,
            spec.columns,
            {
                at: SetAside(row.reason, row.why or untranslated("–"), row.own)
                for at, row in enumerate(planned)
                if row.reason is not None and row.reason.is_of_sheet
            },
            job.items,
        )

    def to_plan(self) -> SheetRows:
        """Return the rows as the planner takes them: only the columns that the sheet has."""
        present = [name for name in self.frame if name in self.columns]
        numbers = () if self.numbers.empty else (self.numbers,)
        values = RowTable.of(self.frame[present], *numbers)
        declared = self.resource.read_back
        matcher = None if declared is None else RowMatcher(self.resource, declared)
        keys = business_keys(self.resource, values, matcher)
        digests = row_digests(self.resource, self.frame)
        return SheetRows(self.rows, values, digests, keys, self.set_aside, matcher)


def may_be_sent(sheet: ValidatedSheet, *, good_rows: bool) -> bool:
    """Tell whether rows of a sheet may be sent: whatever has an error is a row that is set aside.

    Without ``good_rows`` only rows that are no records are. A row of a list that has an error sets
    its record aside; where nobody knows whose it is, nothing may be sent.
    """
    sheets = sheet.with_children
    if sheet.ok or not all(one.readable for one in sheets):
        return sheet.ok
    if good_rows:
        return not sheet.has_stray_rows
    return all(f.row in one.non_records for one in sheets for f in one.error_findings())


def _rows_set_aside(sheet: ValidatedSheet) -> dict[int, SetAside]:
    """Return the positions of the rows that have errors or are no records.

    A cell that could not be used comes with its own content, for the rejects workbook.
    """
    found: defaultdict[int, list[Finding]] = defaultdict(list)
    for one in sheet.error_findings():
        if one.row is not None:
            found[one.row].append(one)
    at = {row: place for place, row in enumerate(sheet.rows)}
    lists = _lists_set_aside(sheet)
    for place in lists:
        found.setdefault(sheet.rows[place], [])
    return {
        at[row]: SetAside(
            RowReason.NO_RECORD if row in sheet.non_records else RowReason.ERRORS,
            _reasons([*findings, *(one.finding for one in lists.get(at[row], ()))]),
            {**_own_contents(sheet, at[row], findings), **_own_items(lists.get(at[row], ()))},
        )
        for row, findings in found.items()
        if row in at
    }


@dataclass(frozen=True, slots=True)
class _ItemFinding:
    """Error in an item of a list: its column among those of the record, the finding with its place,
    and whether the typed frame has nothing of the cell."""

    column: str
    finding: Finding
    unusable: bool


def _lists_set_aside(sheet: ValidatedSheet) -> Mapping[int, Sequence[_ItemFinding]]:
    """Return the errors in rows of lists, by the positions of their records."""
    found: defaultdict[int, list[_ItemFinding]] = defaultdict(list)
    for name, child in sheet.children.items():
        errors = [one for one in child.error_findings() if one.row not in child.non_records]
        places = record_positions(sheet, child) if errors else {}
        at = {row: place for place, row in enumerate(child.rows)} if errors else {}
        for one in errors:
            if one.row in places and one.column is not None:
                position, number = places[one.row]
                unusable = not child.frame[one.column].notna().iat[at[one.row]]
                column = item_column(name, number, one.column)
                told = replace(one, header=f"{child.sheet}!{one.cell}")
                found[position].append(_ItemFinding(column, told, unusable))
    return found


def _own_items(found: Sequence[_ItemFinding]) -> dict[str, CellContent]:
    """Return what the cells of a record's items hold of which the typed frame has nothing."""
    return {
        one.column: float(one.finding.value) if one.finding.numeric else one.finding.value
        for one in found
        if one.unusable and one.finding.value
    }


def _own_contents(
    sheet: ValidatedSheet, at: int, findings: Sequence[Finding]
) -> dict[str, CellContent]:
    """Return what the cells of a row hold of which the typed frame has nothing."""
    unusable = {name for name in sheet.frame if not sheet.frame[name].notna().iat[at]}
    return {
        one.column: float(one.value) if one.numeric else one.value
        for one in findings
        if one.column is not None and one.column in unusable and one.value
    }


def _reasons(findings: Sequence[Finding]) -> Text:
    texts = [(f"{one.column_label}: " if one.column else "", one.message) for one in findings]
    return joined(
        Text(pt=column + text.pt.removesuffix("."), en=column + text.en.removesuffix("."))
        for column, text in texts
    )


def _planned_rows(context: UploadContext, job: Job) -> Sequence[PlannedRow]:
    """Return the planned rows of a job; of a part those that it sends."""
    if job.parent is None:
        return context.journal.plan_of(job)
    own = set(job.spec.rows)
    planned = context.journal.plan_of(context.journal.job(job.parent))
    return [row for row in planned if row.row in own]


@dataclass(frozen=True, slots=True)
class PlannedSheet:
    """Sheet with its plan, and what the plan was made by: remote records, other jobs' claims.

    ``claimed`` are the claims of the same journal, ``elsewhere`` those of the home's others.
    """

    source: SheetSource
    plan: RowPlan
    snapshot: Snapshot
    claimed: ClaimedRows
    elsewhere: Mapping[Path, ClaimedRows]

    def claims_of(self, positions: Sequence[int]) -> RowClaims:
        """Return what some of the rows claim, in their order."""
        return RowClaims(
            [self.plan.digests[at] for at in positions],
            [self.plan.keys[at] for at in positions],
        )

    @property
    def before(self) -> Snapshot:
        """The remote records of the rows that are sent, as they were read for the plan."""
        return self.before_of(self.plan.positions)

    def before_of(self, positions: Sequence[int]) -> Snapshot:
        """Return the remote records of some of the rows, as they were read for the plan."""
        return chosen_rows(self.snapshot, positions)


def plan_source(
    context: UploadContext,
    client: Client,
    source: SheetSource,
    options: PlanOptions,
    own: Job | None = None,
) -> PlannedSheet:
    """Plan the rows of a sheet: read their remote records, and what jobs but ``own`` claim.

    Raises ``TransportError`` or ``AuthenticationFailed`` when the system cannot be asked.
    """
    with gc_paused():
        rows = source.to_plan()
        reading = read_rows(client, source.resource, rows, options)
        scope = ClaimScope(client.identity, client.target.profile, source.resource.name)
        claims = RowClaims(rows.digests, rows.keys)
        claimed = context.journal.claimed(scope, claims, own)
        elsewhere = context.claimed_elsewhere(scope, claims)
        everywhere = reduce(ClaimedRows.merge, elsewhere.values(), claimed)
        plan = plan_rows(source.resource, rows, reading, everywhere, options)
        return PlannedSheet(source, plan, reading.snapshot, claimed, elsewhere)


def replan_job(context: UploadContext, client: Client, job: Job) -> PlannedSheet:
    """Plan the rows of a job once more, with the options that it was made with.

    Raises what ``plan_source`` raises, and ``LocalFailure`` when the stored workbook is gone.
    """
    first = job if job.parent is None else context.journal.job(job.parent)
    source = SheetSource.of_job(context, job)
    return plan_source(context, client, source, PlanOptions.of_job(first), own=job)


def plan_still_holds(context: UploadContext, client: Client, job: Job) -> bool:
    """Read the keys of a job again; where its plan is the same, record that.

    Raises what ``replan_job`` raises.
    """
    planned = replan_job(context, client, job)
    if job.parent is not None:
        if list(map(_decision, planned.plan.rows)) != list(
            map(_decision, _planned_rows(context, job))
        ):
            return False
        context.journal.store_snapshot(job, Moment.BEFORE, planned.before)
        return True
    if planned.plan.digest != job.last("plan_digest"):
        return False
    refresh_plan(context, job, planned)
    return True


def _decision(row: PlannedRow) -> tuple[object, ...]:
    """Return what was decided about a row of a part: its action, its record, what differs."""
    return row.row, row.action, row.record, dict(row.differences)


def refresh_plan(
    context: UploadContext, job: Job, planned: PlannedSheet, note: Mapping[str, Any] = _NO_NOTE
) -> Job:
    """Record that a prepared job has been planned again, with the same result.

    ``note`` is what was asked for this time.
    """
    place_of = {planned.plan.rows[at].row: planned.snapshot[at] for at in planned.plan.positions}
    jobs = context.journal.parts_of(job) or [job]
    before = {one.id: tuple(place_of[row] for row in one.spec.rows) for one in jobs}
    return context.journal.refresh_plan(job, planned.plan, before, note)
