"""Builder of upload plans, for a validated sheet or again for an unsent job."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from xlbridge.client import Client
from xlbridge.clock import Instant
from xlbridge.garbage_collection import gc_paused
from xlbridge.i18n import Text, joined
from xlbridge.resources import Resource
from xlbridge.resources.findings import Finding
from xlbridge.upload.claims import ClaimedRows, ClaimScope, Patience, RowClaims
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import MAX_PLAN_SECONDS, NO_POSITION, Job, file_hash
from xlbridge.upload.journal import Journal
from xlbridge.upload.lookup.row_lookup import business_keys
from xlbridge.upload.lookup.row_table import RowTable
from xlbridge.upload.lookup.snapshot import LookupResult, Moment, Snapshot
from xlbridge.upload.options import CountCallback, PlanOptions
from xlbridge.upload.payload import (
    frame_of_payload,
    frame_with_lists,
    item_addresses,
    payload_of,
    record_positions,
    row_digests,
    sent_rows,
    store_payload,
    with_empty_lists,
)
from xlbridge.upload.planning.corrected_keys import SentSheet, rows_with_corrected_keys
from xlbridge.upload.planning.planned_row import CellContent, PlannedRow, RowPlan
from xlbridge.upload.planning.row_actions import SheetRows, plan_rows, prepare_lookup
from xlbridge.upload.planning.row_reasons import RowAction, RowReason
from xlbridge.upload.results.verdict import ItemAddresses, item_column
from xlbridge.validation import ValidatedSheet

_NO_NOTE: Mapping[str, Any] = MappingProxyType({})


_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
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
        journal = context.journal
        planned = journal.plan_of(job) if job.parent is None else journal.sent_plan_of(job)
        rows = [row.row for row in planned] or spec.rows
        frame = frame_of_payload(context, resource, spec.planned or spec.payload, len(rows))
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
        return RowClaims(digests, business_keys(self.resource, self.values()))

    def values(self) -> RowTable:
        """Return the rows with only the columns that the sheet has."""
        present = [name for name in self.frame if name in self.columns]
        numbers = () if self.numbers.empty else (self.numbers,)
        return RowTable.of(self.frame[present], *numbers)


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
    for position in item_errors:
        found.setdefault(sheet.rows[position], [])
    aside = {}
    for at, row in enumerate(sheet.rows):
        if row not in found:
            continue
        findings, items = found[row], item_errors.get(at, ())
        aside[at] = PlannedRow(
            row,
            RowAction.HELD,
            RowReason.NO_RECORD if row in sheet.non_records else RowReason.ERRORS,
            why=_join_messages([*findings, *(item.finding for item in items)]),
            raw_cells={
                **_raw_cells(sheet, at, findings),
                **{
                    item.column: _content(item.finding)
                    for item in items
                    if item.unparsed and item.finding.value
                },
            },
        )
    return aside


@dataclass(frozen=True, slots=True)
class _ItemFinding:
    """Error in an item of a list: the item's column in the record, the finding with its address,
    and whether the cell is missing in the typed frame."""

    column: str
    finding: Finding
    unparsed: bool


def _item_errors(sheet: ValidatedSheet) -> Mapping[int, Sequence[_ItemFinding]]:
    """Return the errors in child rows, by the positions of their records."""
    found: defaultdict[int, list[_ItemFinding]] = defaultdict(list)
    for name, child in sheet.children.items():
        errors = [error for error in child.error_findings() if error.row not in child.non_records]
        records = record_positions(sheet, child) if errors else {}
        for error in errors:
            at = child.position_of(error)
            if at in records and error.column is not None:
                position, number = records[at]
                unparsed = not child.frame[error.column].notna().iat[at]
                column = item_column(name, number, error.column)
                finding = replace(error, header=f"{child.sheet}!{error.cell}")
                found[position].append(_ItemFinding(column, finding, unparsed))
    return found


def _raw_cells(
    sheet: ValidatedSheet, at: int, findings: Sequence[Finding]
) -> dict[str, CellContent]:
    """Return the contents of a row's cells that are missing in the typed frame."""
    unparsed = {name for name in sheet.frame if not sheet.frame[name].notna().iat[at]}
    return {
        finding.column: _content(finding)
        for finding in findings
        if finding.column is not None and finding.column in unparsed and finding.value
    }


def _content(finding: Finding) -> CellContent:
    value = finding.value or ""
    return float(value) if finding.numeric else value


def _join_messages(findings: Sequence[Finding]) -> Text:
    messages = [
        (f"{finding.column_label}: " if finding.column else "", finding.message)
        for finding in findings
    ]
    return joined(
        Text(pt=column + message.pt.removesuffix("."), en=column + message.en.removesuffix("."))
        for column, message in messages
    )


@dataclass(frozen=True, slots=True)
class PlannedSheet:
    """Sheet with its plan, and the remote records and claims that the plan is based on.

    ``claimed`` are the claims in this journal, ``elsewhere`` those in the home's other journals.
    ``payload`` is the content hash of the stored payload of all rows, None if it is not stored.
    ``at`` is the time of the look-up.
    """

    source: SheetSource
    plan: RowPlan
    snapshot: Snapshot
    claimed: ClaimedRows
    elsewhere: Mapping[Path, ClaimedRows]
    payload: str | None
    at: Instant

    def is_old(self, now: Instant) -> bool:
        """Return whether the keys of the rows must be read again before anything is written."""
        return now.uptime - self.at.uptime > MAX_PLAN_SECONDS


def plan_source(
    context: UploadContext,
    client: Client,
    source: SheetSource,
    options: PlanOptions,
    patience: Patience,
    job: Job | None = None,
    *,
    store: bool = False,
    on_count: CountCallback = lambda _done, _total: None,
) -> PlannedSheet:
    """Plan the rows of a sheet, by their remote records and the claims of jobs other than ``job``.

    Records are read again while they do not show what this home has just written.

    While the system looks up the records, a thread finds the claims and, with ``store``, makes the
    payload of all rows, which is stored with the plan. Raises ``TransportError`` or
    ``AuthenticationFailed`` if the system cannot be reached.
    """
    resource = source.resource
    scope = ClaimScope(client.identity, resource.name)
    with gc_paused(), ThreadPoolExecutor(1) as meanwhile:
        rows = SheetRows(source.rows, source.values(), source.set_aside)
        at = context.journal.now()
        own = context.own_writes(scope, patience)
        look_up = prepare_lookup(client, resource, rows, options, on_count)
        claiming = meanwhile.submit(_find_claims, context, scope, source, job)
        writing = meanwhile.submit(payload_of, resource, source.frame) if store else None
        found = look_up()
        claims, claimed, elsewhere = claiming.result()
        everywhere = reduce(ClaimedRows.merge, elsewhere.values(), claimed)
        readings = chain(
            [found], (prepare_lookup(client, resource, rows, options)() for _ in count())
        )

        def plan_reading() -> tuple[LookupResult, RowPlan]:
            found = next(readings)
            return found, plan_rows(resource, rows, claims, found, everywhere, options, own)

        found, plan = patience.read_until(
            plan_reading,
            lambda read: all(row.reason is not RowReason.SHOWN_LATE for row in read[1].rows),
        )
        seeks_corrected = options.look_up and options.again is None and not options.delete
        if job is None and seeks_corrected:
            sheet = SentSheet(
                scope,
                source.file,
                source.sheet,
                source.columns,
                source.rows,
                partial(sent_rows, context),
            )
            corrected = rows_with_corrected_keys(
                context.journal, client, resource, sheet, rows.values, plan
            )
            if corrected:
                rows = replace(rows, set_aside={**rows.set_aside, **corrected})
                plan = plan_rows(resource, rows, claims, found, everywhere, options, own)
        _LOGGER.info("plan of %d rows of %s: %s", len(plan.rows), resource.name, plan.counts)
        payload = None if writing is None else store_payload(context, writing.result())
        return PlannedSheet(source, plan, found.snapshot, claimed, elsewhere, payload, at)


def _find_claims(
    context: UploadContext, scope: ClaimScope, source: SheetSource, ignored: Job | None
) -> tuple[RowClaims, ClaimedRows, Mapping[Path, ClaimedRows]]:
    """Return the claims of a sheet's rows, and those of other jobs as in ``PlannedSheet``."""
    claims = source.claims()
    # A connection of its own, since this runs in a thread.
    with closing(Journal(context.journal.path)) as journal:
        claimed = journal.claimed(scope, claims, ignored)
    return claims, claimed, context.claimed_elsewhere(scope, claims)


def replan_job(
    context: UploadContext, client: Client, job: Job, patience: Patience
) -> PlannedSheet:
    """Plan the rows of a job again, with its original options.

    Raises what ``plan_source`` raises, and ``LocalFailure`` if the stored workbook is missing.
    """
    source = SheetSource.of_job(context, job)
    options = PlanOptions.of_job(context.journal.job(job.whole))
    return plan_source(context, client, source, options, patience, job)


PLAN_CHANGED = Text(
    pt="os registros do sistema mudaram depois do plano; nenhuma destas linhas foi enviada",
    en="records in the system have changed since the plan; none of these rows was sent",
)


def plan_still_holds(context: UploadContext, client: Client, job: Job, patience: Patience) -> bool:
    """Plan a job again; return whether the plan is the same, and record that if it is.

    Raises what ``replan_job`` raises.
    """
    planned = replan_job(context, client, job, patience)
    if job.parent is not None:
        decisions = map(_decision, context.journal.sent_plan_of(job))
        if list(map(_decision, planned.plan.rows)) != list(decisions):
            return False
        before = [planned.snapshot[at] for at in planned.plan.positions]
        context.journal.snapshots.store(job.id, Moment.BEFORE, before)
        return True
    if planned.plan.digest != job.last("plan_digest"):
        return False
    refresh_plan(context, job, planned)
    return True


def _decision(row: PlannedRow) -> tuple[object, ...]:
    """Return the parts of a planned row that must not change."""
    return row.row, row.action, row.record, dict(row.differences)


def refresh_plan(
    context: UploadContext, job: Job, planned: PlannedSheet, note: Mapping[str, Any] = _NO_NOTE
) -> Job:
    """Record that a prepared job was planned again with the same result, and the new ``note``."""
    records = {planned.plan.rows[at].row: planned.snapshot[at] for at in planned.plan.positions}
    for one in context.journal.requests_of(job):
        before = tuple(records[row] for row in one.spec.rows)
        context.journal.snapshots.store(one.id, Moment.BEFORE, before)
    return context.journal.refresh_plan(job, planned.plan, note)
