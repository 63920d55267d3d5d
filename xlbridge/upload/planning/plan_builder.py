"""Builder of upload plans, for a validated sheet or again for an unsent job."""

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import Any

from xlbridge.client import Client
from xlbridge.clock import Instant
from xlbridge.garbage_collection import gc_paused
from xlbridge.i18n import Text
from xlbridge.upload.claims import ClaimedRows, ClaimScope, Patience, RowClaims
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import MAX_PLAN_SECONDS, Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.lookup.snapshot import LookupResult, Moment, Snapshot
from xlbridge.upload.options import CountCallback, PlanOptions
from xlbridge.upload.payload import (
    SheetSource,
    payload_of,
    sent_rows,
    store_payload,
)
from xlbridge.upload.planning.corrected_keys import rows_with_corrected_keys
from xlbridge.upload.planning.planned_row import PlannedRow, RowPlan
from xlbridge.upload.planning.row_actions import plan_rows, prepare_lookup
from xlbridge.upload.planning.row_reasons import RowReason
from xlbridge.validation import ValidatedSheet

_NO_NOTE: Mapping[str, Any] = MappingProxyType({})


_LOGGER = logging.getLogger(__name__)


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
        at = context.journal.now()
        own = context.own_writes(scope, patience)
        look_up = prepare_lookup(client, source, options, on_count)
        claiming = meanwhile.submit(_find_claims, context, scope, source, job)
        writing = meanwhile.submit(payload_of, resource, source.frame) if store else None
        found = look_up()
        claims, claimed, elsewhere = claiming.result()
        everywhere = reduce(ClaimedRows.merge, elsewhere.values(), claimed)
        readings = chain([found], (prepare_lookup(client, source, options)() for _ in count()))

        def plan_reading() -> tuple[LookupResult, RowPlan]:
            found = next(readings)
            return found, plan_rows(source, claims, found, everywhere, options, own)

        found, plan = patience.read_until(
            plan_reading,
            lambda read: all(row.reason is not RowReason.SHOWN_LATE for row in read[1].rows),
        )
        seeks_corrected = options.look_up and options.again is None and not options.delete
        if job is None and seeks_corrected:
            corrected = rows_with_corrected_keys(
                context.journal, client, source, plan, partial(sent_rows, context)
            )
            if corrected:
                aside = replace(source, set_aside={**source.set_aside, **corrected})
                plan = plan_rows(aside, claims, found, everywhere, options, own)
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
