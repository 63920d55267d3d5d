"""Builder of upload plans, for a validated sheet or again for an unsent job."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import Any

from xlbridge.client import Client
from xlbridge.errors import RemoteRejected
from xlbridge.i18n import OR, Text, joined, untranslated
from xlbridge.processes import Instant, gc_paused
from xlbridge.resources import Resource
from xlbridge.resources.names import field_title
from xlbridge.upload.claims import ClaimedRows, ClaimScope, OwnWrites, Patience, RowClaims
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import MAX_PLAN_SECONDS, Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.lookup.bulk_lookup import record_reader
from xlbridge.upload.lookup.comparison import blank_values, lookups_of_rows
from xlbridge.upload.lookup.snapshot import (
    FoundRecord,
    LookupResult,
    Moment,
    RecordMatching,
    RowSnapshot,
    Snapshot,
    values_of,
)
from xlbridge.upload.options import CountCallback, PlanOptions
from xlbridge.upload.payload import SheetSource, payload_of, sent_rows, store_payload
from xlbridge.upload.planning.corrected_keys import rows_with_corrected_keys
from xlbridge.upload.planning.planned_row import (
    Difference,
    PlannedRow,
    RowAction,
    RowPlan,
    RowReason,
)
from xlbridge.validation import ValidatedSheet

_LOOKUP_REJECTED = Text(
    pt="o sistema não permitiu a leitura: {reason}",
    en="the system did not allow reading them: {reason}",
)
_OTHER_VALUES = Text(
    pt="o sistema tem outros valores; confira qual registro é, e corrija a planilha",
    en="the system has other values; check which record it is, and correct the sheet",
)
_SETTLED = Text(
    pt="já foi baixado ou encerrado no sistema", en="it is settled or closed in the system"
)
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NOT_REQUESTED = Text(pt="não foi pedido", en="not requested")


def prepare_lookup(
    client: Client,
    source: SheetSource,
    options: PlanOptions,
    on_count: CountCallback = lambda _done, _total: None,
) -> Callable[[], LookupResult]:
    """Return a function that reads the remote records of the rows, except those set aside.

    Only that function makes requests. It raises ``TransportError`` or ``AuthenticationFailed`` if
    the system cannot be reached.
    """
    rows, aside = source.values, source.set_aside
    unread = (None,) * len(rows)
    if not options.look_up:
        return lambda: LookupResult(unread, {}, _NOT_REQUESTED)
    read = record_reader(client, source.resource, rows, on_count=on_count, left_out=aside)

    def look_up() -> LookupResult:
        try:
            return read()
        except RemoteRejected as error:
            why = _LOOKUP_REJECTED.format(reason=error.message)
            lookups = enumerate(lookups_of_rows(source.resource, rows))
            reasons = {at: why for at, of_row in lookups if of_row and at not in aside}
            return LookupResult(unread, reasons, why)

    return look_up


class _Planner:
    """Planner of the action of each row; ``claimed`` are the claims of other jobs, ``own`` the
    writes of this home that a reading may not show yet."""

    def __init__(
        self,
        source: SheetSource,
        claims: RowClaims,
        found: LookupResult,
        claimed: ClaimedRows,
        options: PlanOptions,
        own: OwnWrites,
    ) -> None:
        self._own = own
        resource = source.resource
        declared = resource.read_back
        self._resource = resource
        self._source = source
        self.lookup = found
        self._claimed = claimed
        self._options = options
        numbers = () if declared is None else declared.number_columns
        self._closed_by = () if declared is None else declared.closed_by
        self.numbers = self._filled((*numbers, *self._closed_by))
        self._digests, self._keys = claims
        self._unread = {at for at, row in enumerate(found.snapshot) if row is None}
        self._matched = _match(found.snapshot, numbers)
        self._used: Counter[str] = Counter()
        # Positions of rows that jobs claim, usually none.
        self._claimed_rows: Collection[int] = ()
        if claimed.digests or claimed.keys:
            self._claimed_rows = {
                at
                for at, (digest, keys) in enumerate(zip(*claims, strict=True))
                if digest in claimed.digests or not claimed.keys.keys().isdisjoint(keys)
            }

    @cached_property
    def _blank(self) -> Mapping[str, str | None]:
        return blank_values(self._resource)

    @cached_property
    def plan(self) -> RowPlan:
        """Planned rows, in order."""
        planned: list[PlannedRow] = []
        numbers = list(self.numbers.items())
        later = list(self._filled(self._resource.set_by_change).items())
        for at, row_number in enumerate(self._source.rows):
            number = {name: column[at] for name, column in numbers if column[at] is not None}
            row = PlannedRow(
                row_number, RowAction.CREATE, number=number or _NOTHING, keys=self._keys[at]
            )
            row = (self._decide_deletion if self._options.delete else self._decide)(at, row)
            # These columns can only be set by a change.
            unset = [name for name, column in later if column[at] is not None]
            if unset and row.is_created:
                row = _held(row, RowReason.SET_LATER, why=untranslated(", ".join(unset)))
            elif self._options.update_only and row.is_created:
                row = _held(row, RowReason.NOT_IN_SYSTEM)
            elif row.is_created and not self._options.again and (closed := self._closed(row)):
                row = _held(row, RowReason.WAS_CLOSED, why=untranslated(closed))
            planned.append(row)
        return RowPlan(planned, self._digests, self.lookup.reason)

    def _filled(self, names: Iterable[str]) -> Mapping[str, Sequence[Any]]:
        """Return the columns in which any row has a value."""
        columns = {name: values_of(self._source.values, name) for name in names}
        return {
            name: values for name, values in columns.items() if values.count(None) < len(values)
        }

    def _decide(self, at: int, row: PlannedRow) -> PlannedRow:
        again = self._options.again is not None
        if at in self._source.set_aside and not (
            again and self._source.set_aside[at].reason is RowReason.SENT_OTHERWISE
        ):
            aside = self._source.set_aside[at]
            return aside._replace(row=row.row, number=row.number, keys=row.keys)
        if again:
            unread = at in self._unread and at not in self.lookup.near
            return row._replace(action=RowAction.UNREAD if unread else RowAction.CREATE)
        if at in self._claimed_rows and self._claimed.unfinished:
            job = self._claimed.unfinished_job(self._digests[at], self._keys[at])
            if job is not None:
                return _held(row, RowReason.CLAIMED, job=job)
        for record in _found(self.lookup.snapshot[at]) if self._own.jobs else ():
            # A write of this home that the system does not show yet.
            if late := self._own.job_not_shown(record.code, record.values, self._blank):
                return _held(row, RowReason.SHOWN_LATE, job=late)
        if at in self.lookup.near:
            near = self.lookup.near[at]
            return _held(row, RowReason.NEAR_KEY, why=near.text)._replace(record=near.code)
        if at in self._unread:
            return self._decide_unread(at, row)
        if at in self.lookup.disputed:
            return _held(row, RowReason.TWO_RECORDS, why=self.lookup.disputed[at])
        if at not in self._matched:
            return self._decide_new(at, row)
        existing = self._matched[at]
        if existing is None:
            return _held(row, RowReason.SEVERAL)
        return self._decide_existing(row, existing)

    def _decide_deletion(self, at: int, row: PlannedRow) -> PlannedRow:
        """Decide on a row whose record is to be deleted: it is if it has exactly these values."""
        row = self._decide(at, row)
        match row.action, row.reason:
            case RowAction.CREATE, _:
                return _held(row, RowReason.NOT_IN_SYSTEM)
            case RowAction.UNREAD, _:
                return _held(row, RowReason.NO_KEY)
            case RowAction.HELD, RowReason.GONE:
                return _held(row, RowReason.NOT_IN_SYSTEM)
            case RowAction.HELD, RowReason.DIFFERS | RowReason.CANNOT_CHANGE:
                return _held(row, RowReason.NOT_DELETED, why=_OTHER_VALUES)
            case RowAction.UNCHANGED, RowReason.SENT_BEFORE:
                return _held(row, RowReason.NO_KEY)
            case RowAction.UNCHANGED, _:
                found = _found(self.lookup.snapshot[at])
                if any(record.final for record in found if record.code == row.record):
                    return _held(row, RowReason.NOT_DELETED, why=_SETTLED)
                return row._replace(action=RowAction.DELETE, reason=None)
        return row

    def _decide_unread(self, at: int, row: PlannedRow) -> PlannedRow:
        """Decide on a row that was not looked up, by the journal alone."""
        digest = self._digests[at]
        accepted = self._claimed.accepted(digest)
        used, self._used[digest] = self._used[digest], self._used[digest] + 1
        if used < len(accepted):
            return row._replace(
                action=RowAction.UNCHANGED, reason=RowReason.SENT_BEFORE, job=accepted[used]
            )
        why = self.lookup.reasons.get(at)
        if why is not None and not self._options.create_unread:
            return _held(row, RowReason.NOT_LOOKED_UP, why=why)
        same_key = self._claimed.accepted_by_key(self._keys[at])
        if same_key:
            return _held(row, RowReason.DIFFERS, job=same_key[0])
        if self._options.updates:
            return _held(row, RowReason.NO_KEY)
        return row._replace(action=RowAction.UNREAD)

    def _decide_existing(self, row: PlannedRow, record: FoundRecord | str) -> PlannedRow:
        """Decide on a row whose record exists; only its code is given if it is unchanged."""
        if isinstance(record, str):
            return PlannedRow(
                row.row, RowAction.UNCHANGED, RowReason.SAME, record, number=row.number
            )
        differences = {
            name: Difference(yours, theirs, [item for item in record.items if item[0] == name])
            for name, (yours, theirs) in record.differing.items()
        }
        row = row._replace(record=record.code, differences=differences)
        change = self._resource.change
        children = {child.sheet for child in self._resource.children}
        if (
            change is None
            or record.final
            or not change.covers(record.differing)
            or not children.isdisjoint(record.differing)
        ):
            return _held(row, RowReason.CANNOT_CHANGE)
        if not self._options.updates:
            return _held(row, RowReason.DIFFERS)
        emptied = [name for name, difference in row.differences.items() if difference.yours is None]
        if not all(map(change.can_empty, emptied)):
            return _held(row, RowReason.CANNOT_CHANGE)
        if emptied and not self._options.clear:
            return _held(row, RowReason.EMPTY_CELL)
        return row._replace(action=RowAction.UPDATE)

    def _decide_new(self, at: int, row: PlannedRow) -> PlannedRow:
        """Decide on a row that is not in the system; hold it if it once was or has a number.

        Records with its key may belong to other accepted rows.
        """
        if at in self._claimed_rows:
            digest = self._digests[at]
            accepted = self._claimed.accepted(digest) or self._claimed.accepted_by_key(
                self._keys[at]
            )
            present = len(_found(self.lookup.snapshot[at]))
            used, self._used[digest] = self._used[digest], self._used[digest] + 1
            if len(accepted) > present + used:
                is_late = accepted[0] in self._own.jobs
                reason = RowReason.SHOWN_LATE if is_late else RowReason.GONE
                return _held(row, reason, job=accepted[0])
        numbers = [one for one in row.number.items() if one[0] not in self._closed_by]
        if numbers:
            number = ", ".join(f"{name} {value}" for name, value in numbers)
            return _held(row, RowReason.UNKNOWN_NUMBER, why=untranslated(number))
        return row

    def _closed(self, row: PlannedRow) -> str:
        """Return the cells by which the record that a row was exported from is closed."""
        cells = ((name, row.number.get(name)) for name in self._closed_by)
        return ", ".join(
            f"{field_title(name)} {value}"
            if any(map(str.isdigit, value))
            else str(field_title(name))
            for name, value in cells
            if value
        )


_Matched = dict[int, FoundRecord | str | None]
"""Records by row: only the code if the row leaves the record unchanged, the record if it changes
it, None if the row's record is ambiguous."""


def _match(snapshot: Snapshot, numbers: Sequence[str]) -> _Matched:
    """Match rows and records: first by the system's own numbers, then key by key."""
    found = [(at, row) for at, row in enumerate(snapshot) if row is not None and row.found]
    counts = Counter(record.code for _, row in found for record in row.found)
    matched: _Matched = {}
    by_key: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for at, row in found:
        record = row.found[0]
        if len(row.found) == 1 and record.unchanged and counts[record.code] == 1:
            # Most existing records equal their row and match no other.
            matched[at] = record.code
        else:
            by_key.setdefault(tuple(row.key.items()), []).append(at)
    used: set[str] = set()
    number_columns = set(numbers)
    for by_number in (True, False) if number_columns else (False,):
        for key, positions in by_key.items():
            columns = {name for name, _ in key}
            if by_number == (bool(number_columns) and number_columns.issubset(columns)):
                _match_group({at: _found(snapshot[at]) for at in positions}, used, matched)
    return matched


def _match_group(
    records: Mapping[int, Sequence[FoundRecord]], used: set[str], matched: _Matched
) -> None:
    """Match the rows of one key with their records; ``used`` are the codes of matched records."""
    matching = RecordMatching(records, used)
    matching.match(lambda _at, record: 0 if record.unchanged else None)
    unchanged = set(matching.matched)
    matching.match_last()
    for at in records:
        record = matching.record(at)
        if record is not None:
            used.add(record.code)
            matched[at] = record.code if at in unchanged else record
        elif matching.free or matching.has_taken:
            matched[at] = None


def _found(row: RowSnapshot | None) -> Sequence[FoundRecord]:
    return () if row is None else row.found


def _held(
    row: PlannedRow, reason: RowReason, *, job: str | None = None, why: Text | None = None
) -> PlannedRow:
    return row._replace(action=RowAction.HELD, reason=reason, job=job, why=why)


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

    @property
    def unread(self) -> Text | None:
        """Why rows are created without being looked up and what to fill in, None if all are."""
        has_unread = self.plan.counts[RowAction.UNREAD] > 0
        return (
            self.explain_unread(self.source.resource, self.plan.unread_reason)
            if has_unread
            else None
        )

    @staticmethod
    def explain_unread(resource: Resource, why: Text | None = None) -> Text:
        """Return that rows are created without being looked up, why, and what to fill in."""
        lookups = () if resource.read_back is None else resource.read_back.lookups
        text = _UNREAD.format(why=(why if lookups else None) or _NO_LOOKUP)
        keys = [
            joined((resource.by_name[name].title for name in lookup.key), " + ")
            for lookup in lookups
            if all(name in resource.by_name for name in lookup.key)
        ]
        return joined([text, _TO_LOOK_UP.format(keys=joined(keys, OR))], " ") if keys else text

    def is_old(self, now: Instant) -> bool:
        """Return whether the keys of the rows must be read again before anything is written."""
        return now.uptime - self.at.uptime > MAX_PLAN_SECONDS


_UNREAD = Text(
    pt="Estas linhas serão incluídas sem conferir se já existem: {why}.",
    en="These rows are created without checking whether they exist: {why}.",
)
_NO_LOOKUP = Text(
    pt="o sistema não permite procurar estes registros",
    en="the interface does not let these records be looked up",
)
_TO_LOOK_UP = Text(
    pt="Para que sejam conferidas, preencha em cada linha: {keys}.",
    en="To have them checked, fill in for each row: {keys}.",
)


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

        planner = patience.read_until(
            lambda: _Planner(source, claims, next(readings), everywhere, options, own),
            lambda one: all(row.reason is not RowReason.SHOWN_LATE for row in one.plan.rows),
        )
        found, plan = planner.lookup, planner.plan
        seeks_corrected = options.look_up and options.again is None and not options.delete
        if job is None and seeks_corrected:
            corrected = rows_with_corrected_keys(
                context.journal, client, source, plan, partial(sent_rows, context)
            )
            if corrected:
                aside = replace(source, set_aside={**source.set_aside, **corrected})
                plan = _Planner(aside, claims, found, everywhere, options, own).plan
        # The token is made here, while no garbage is collected: its digest is of all rows.
        counted = len(plan.rows), resource.name, plan.counts, plan.token
        _LOGGER.info("plan of %d rows of %s: %s, %s", *counted)
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


PLAN_CHANGED = Text(
    pt="os registros do sistema mudaram depois do plano; nenhuma destas linhas foi enviada",
    en="records in the system have changed since the plan; none of these rows was sent",
)


def changed_plan(
    context: UploadContext, client: Client, job: Job, patience: Patience
) -> PlannedSheet | None:
    """Plan the rows of a job again, with its original options; return the plan if it has changed.

    Otherwise it is recorded. Raises what ``plan_source`` raises, and ``LocalFailure`` if the stored
    workbook is missing.
    """
    source = SheetSource.of_job(context, job)
    options = PlanOptions.of_job(context.journal.job(job.whole))
    planned = plan_source(context, client, source, options, patience, job)
    if job.parent is not None:
        decisions = map(_decision, context.journal.sent_plan_of(job))
        if list(map(_decision, planned.plan.rows)) != list(decisions):
            return planned
        before = [planned.snapshot[at] for at in planned.plan.positions]
        context.journal.snapshots.store(job.id, Moment.BEFORE, before)
        return None
    if planned.plan.digest != job.notes.plan_digest:
        return planned
    refresh_plan(context, job, planned)
    return None


def _decision(row: PlannedRow) -> tuple[object, ...]:
    """Return the parts of a planned row that must not change."""
    return row.row, row.action, row.record, dict(row.differences)


def refresh_plan(
    context: UploadContext, job: Job, planned: PlannedSheet, note: Mapping[str, Any] = _NOTHING
) -> Job:
    """Record that a prepared job was planned again with the same result, and the new ``note``."""
    records = {planned.plan.rows[at].row: planned.snapshot[at] for at in planned.plan.positions}
    for one in context.journal.requests_of(job):
        before = tuple(records[row] for row in one.spec.rows)
        context.journal.snapshots.store(one.id, Moment.BEFORE, before)
    return context.journal.refresh_plan(job, planned.plan, note)
