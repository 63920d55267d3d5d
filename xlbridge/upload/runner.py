"""Run of a job: previews, consent, then one step per state, each recorded before it is executed.

A large sheet is sent in parts, one after the other. At its end the records that a job has written
are compared with what it sent, field by field: a real system may ignore a field, cut it or spell
its name otherwise, and still report success. See the upload protocol
(``docs/upload-protocol.md``), Fields sent and not taken.
"""

import logging
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from xlbridge.errors import ApiError, UsageError, XlbridgeError
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Resource
from xlbridge.upload import remote_import
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.bulk_lookup import read_snapshot
from xlbridge.upload.lookup.comparison import lookups_for
from xlbridge.upload.lookup.snapshot import (
    CODE_SEPARATOR,
    FoundRecord,
    Moment,
    RowSnapshot,
    Snapshot,
    TypedRows,
    filled_columns,
    values_of,
)
from xlbridge.upload.planning.plan_builder import PLAN_CHANGED
from xlbridge.upload.planning.planned_row import RowAction
from xlbridge.upload.requests import LostField, RowOutcome, State, has_two_spellings

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext

_LOGGER = logging.getLogger(__name__)

_OTHER_PART_REJECTED = Text(
    pt="outra parte da planilha foi rejeitada antes do envio",
    en="another part of the sheet was rejected before sending",
)
_PAUSE = Text(
    pt="pausa de {n} {n:segundo|segundos} entre as partes",
    en="pause of {n} {n:second|seconds} between parts",
)

_SEE_NEW_PLAN = Text(
    pt="Veja o novo plano e confirme de novo: xlbridge resume {job}",
    en="Check the new plan and confirm again: xlbridge resume {job}",
    page=Text(
        pt="Veja o novo plano e confirme de novo.",
        en="See the new plan and confirm again.",
    ),
)


def run_job(context: "RunContext", job: Job) -> Job:
    """Run a job, or all its parts, as far as possible and return it.

    Raises ``AuthenticationFailed`` or ``TransportError`` if nothing was applied and the job can be
    resumed, ``InDoubt`` if the connection is lost while the outcome is awaited.
    """
    journal = context.journal
    if job.parent is not None:
        _require_confirmed(journal.job(job.parent), job)
    elif job.state.is_unsent:
        _preview_and_ask(context, job)
    for request in journal.requests_of(job):
        if job.parts and request.state.is_unsent:
            _pause_between_parts(context, job)
        _run_steps(_context_of_part(context, request), request)
    return journal.job(job.id)


def _preview_and_ask(context: "RunContext", job: Job) -> None:
    """Preview all parts of a job before anything is written, then ask for consent to send it.

    If one is rejected, or consent is refused, none is sent. Raises ``UsageError`` if the plan has
    changed.
    """
    journal, is_preview = context.journal, not job.spec.mode.channel.writes
    for part in journal.requests_of(job):
        own = _context_of_part(context, part)
        if not part.spec.rows:
            own.end(part, State.PREVIEWED if is_preview else State.DONE)
        elif is_preview and part.requests[0].mode.channel.by_record and part.state.is_unsent:
            # Changes of single records have no preview.
            own.end(part, State.PREVIEWED)
        else:
            now = part
            while now.state.is_unsent and not remote_import.preview_is_done(own, now):
                now, _ = remote_import.preview(own, now)
    requests, job = journal.requests_of(job), journal.job(job.id)
    if any(request.state.is_final for request in requests):
        refusal: Text | None = _OTHER_PART_REJECTED
    else:
        refusal = context.dissent(job)
        # The plan may have become old meanwhile. Tasks read each record just before its request.
        if refusal is None and not job.is_task and context.plan_has_changed(job):
            raise UsageError(PLAN_CHANGED, _SEE_NEW_PLAN.format(job=job.arguments()))
    if refusal is not None:
        for request in requests:
            # After lost entries a part may be in doubt before anybody has confirmed it.
            if request.state.is_unsent:
                context.end(request, State.ABANDONED, reason=refusal.languages)
    elif job.parts:
        journal.record(journal.job(job.id), State.SENDING_PARTS)


def _run_steps(context: "RunContext", job: Job) -> None:
    """Run the steps of a job without parts, or of a part, as far as possible.

    Each state has one step, which the job's channel declares: a file, or single records.
    """
    steps = remote_import.STEPS
    if job.spec.mode.channel.by_record:
        # Imported here, as imports of whole files do not need these modules.
        from xlbridge.upload import record_executor

        steps = record_executor.STEPS
    # Changes of single records read each record just before its request.
    creates = not job.spec.mode.channel.by_record or context.journal.changes.creates(job.id)
    proceed = True
    while proceed and not job.state.is_final:
        if job.state is State.COMPARING:
            # An earlier run was stopped before the records were compared.
            end_compared(context, job, at_once=False)
            return
        is_prepared = job.state is State.PREPARED
        if is_prepared and not remote_import.preview_is_done(context, job):
            job, proceed = remote_import.preview(context, job)
        elif is_prepared and job.parent is not None and creates and context.plan_has_changed(job):
            job = context.end(job, State.ABANDONED, reason=PLAN_CHANGED.languages)
        else:
            job, proceed = steps[job.state](context, job)
        if job.state is State.COMPARING:
            job = end_compared(context, job, at_once=True)


def _require_confirmed(parent: Job, job: Job) -> None:
    """Raise ``UsageError`` if the sheet of a part is not confirmed yet."""
    if parent.state.is_unsent:
        raise UsageError(
            Text(
                pt="O envio {job} é parte de {parent}, ainda não confirmado.",
                en="The upload {job} is a part of {parent}, which is not confirmed yet.",
            ).format(job=job.id, parent=parent.id),
            Text(
                pt="Continue o envio completo: xlbridge resume {p}",
                en="Continue the whole upload: xlbridge resume {p}",
                page=Text(
                    pt="Continue o envio completo, {p}, em Envios.",
                    en="Continue the whole upload, {p}, under Uploads.",
                ),
            ).format(p=parent.arguments()),
        )


def _pause_between_parts(context: "RunContext", parent: Job) -> None:
    """Wait out the pause after the last part, even if an earlier run sent it."""
    parts = context.journal.parts_of(parent)
    sent = [part.events[-1].instant for part in parts if not part.state.is_unsent]
    seconds = context.options.pause_seconds
    if not sent or not seconds:
        return
    now = context.journal.now()
    left = seconds - min(now.since(instant) for instant in sent).total_seconds()
    if left > 0:
        context.options.progress(_PAUSE.format(n=math.ceil(left)))
        _LOGGER.info("next part after %.1f s", left)
        context.options.sleep(left)


def _context_of_part(context: "RunContext", part: Job) -> "RunContext":
    """Return the context of a job, with progress that names it if it is a part."""
    if part.parent is None:
        return context
    number = part.requests[0].number

    def progress(text: Text) -> None:
        context.options.progress(
            Text(pt="Parte {n} · {text}", en="Part {n} · {text}").format(n=number, text=text)
        )

    return replace(context, options=replace(context.options, progress=progress))


_Values = Mapping[str, str | None]
"""Comparable values by column."""

_EXAMPLES = 3
"""Rows read back for each column: a field that is ignored or misspelt is lost in every row."""


def end_compared(context: "RunContext", job: Job, *, at_once: bool) -> Job:
    """Compare the records that a job has written with its rows, and end it with what was not taken.

    The records are read back; where that shows none, the answers to their writes count. Of fields
    with an open spelling, and of those of lists, also record which were taken, and of which nothing
    shows it.
    ``at_once``: nobody else had time to change the records, which an undo may then compare. What
    keeps them from being compared is recorded as the reason; the upload itself has ended.
    """
    try:
        detail = _comparison(context, job, at_once=at_once)
    except Exception as error:  # A defect would stop every later run, too.
        defect = untranslated(f"{type(error).__name__}: {error}")
        reason = error.message if isinstance(error, XlbridgeError) else defect
        detail = {"uncompared": reason.languages}
    return context.journal.record(job, job.requests[0].ends_as or job.state, **detail)


def _comparison(context: "RunContext", job: Job, *, at_once: bool) -> dict[str, Any]:
    """Return what the records show of the rows that a job has written, as details of its end."""
    written = _WrittenRows.of(context, job)
    detail: dict[str, Any] = {}
    try:
        records = _read_back(context, job, written, at_once=at_once)
    except ApiError as error:
        records, detail["uncompared"] = {}, error.message.languages
    lost = _lost_fields(job, written, records)
    if lost:
        detail["lost_fields"] = [asdict(field) for field in lost]
    doubted = written.doubted_columns(context.quirks.spellings)
    taken = {*written.taken, *job.requests[0].taken_fields}
    for at, record in records.items():
        taken.update(name for name, value in record.values.items() if value is not None)
        if written.lists:
            taken |= written.columns_of_items(at).difference(record.unlisted)
    if taken := taken & doubted:
        detail["taken_fields"] = sorted(taken)
    unseen = doubted - taken - {field.column for field in lost}
    if unseen and (
        unseen := unseen
        - context.journal.requests.taken_fields(
            job.spec.system, by_record=job.spec.mode.channel.by_record
        )
    ):
        detail["unseen_fields"] = sorted(unseen)
    return detail


def _lost_fields(
    job: Job, written: "_WrittenRows", records: Mapping[int, FoundRecord]
) -> list[LostField]:
    """Return the fields that records, or the answers to their writes, show otherwise than they were
    sent, each once."""
    found: list[LostField] = []
    for at in sorted({*records, *written.answers}):
        record, row = records.get(at), job.spec.rows[at]
        differing = written.answers[at] if record is None else record.differing
        for column, (sent, stored) in differing.items():
            kept = stored is not None and written.changed.get(at, {}).get(column) == stored
            items = () if record is None or stored is None or kept else record.items
            of_list = [item[1:] for item in items if item[0] == column]
            # Lists of different lengths are told as a whole, too.
            if sent is not None and (not of_list or of_list[0][0] is None):
                found.append(LostField(column, sent, stored, [row], kept))
            for number, name, mine, theirs in of_list:
                if number is not None and mine is not None:
                    known = job.items.get(column)
                    cell = None if known is None else known.cell(row, number, name)
                    found.append(LostField(f"{column}.{name}", mine, theirs, [row], cell=cell))
    return LostField.merge(found)


@dataclass(frozen=True, slots=True)
class _WrittenRows:
    """Rows that a job has written: the positions of the ``accepted`` ones, and by position, the
    columns that a change has ``changed`` with their values before, the codes of records, and what
    the ``answers`` to writes show otherwise than it was sent. ``taken`` are the fields with an open
    spelling, and those of lists, that answers show as they were sent, ``lists`` the columns of the
    lists that are written, by their names."""

    rows: TypedRows
    columns: Sequence[str]
    lists: Mapping[str, Collection[str]]
    accepted: frozenset[int]
    changed: Mapping[int, _Values]
    codes: Mapping[int, str]
    answers: Mapping[int, Mapping[str, Sequence[str | None]]]
    taken: Collection[str]

    @classmethod
    def of(cls, context: "RunContext", job: Job) -> "_WrittenRows":
        """Return the rows that a job has written."""
        journal = context.journal
        outcomes = enumerate(journal.changes.outcomes(job.id))
        accepted = frozenset(at for at, outcome in outcomes if outcome is RowOutcome.ACCEPTED)
        changed: dict[int, _Values] = {}
        codes: dict[int, str] = {}
        taken: set[str] = set()
        answers: dict[int, Mapping[str, Sequence[str | None]]] = {}
        if job.spec.mode.channel.by_record:
            for write in journal.writes.iterate(job.id):
                if write.position in accepted:
                    codes[write.position] = write.record
                    detail = write.detail
                    answers[write.position] = detail.get("unlike", {})
                    taken.update(detail.get("taken", ()))
                    if not write.task.creates:
                        changed[write.position] = write.task.expected
        else:
            changed = {
                at: row.theirs
                for at, row in enumerate(journal.sent_plan_of(job))
                if row.action is RowAction.UPDATE
            }
        answers = {at: unlike for at, unlike in answers.items() if unlike}
        columns = tuple(job.spec.columns)
        children = context.resource(job).children
        lists = {one.sheet: one.by_name.keys() for one in children if one.sheet in columns}
        return cls(context.rows(job), columns, lists, accepted, changed, codes, answers, taken)

    def with_column(self, column: str, of_items: str | None = None) -> Iterable[int]:
        """Return the positions of accepted rows that write a value of a column, or of a column
        ``of_items`` of a list, in order. A change writes only the columns that differ."""
        for at, value in enumerate(values_of(self.rows, column)):
            if value is None or at not in self.accepted:
                continue
            if column not in self.changed.get(at, (column,)):
                continue
            if of_items is None or any(item.get(of_items) is not None for item in value):
                yield at

    def sample(self, positions: Collection[int]) -> list[int]:
        """Return the first of the positions that write each column."""
        found: set[int] = set()
        for column in self.columns:
            for name in self.lists.get(column, (None,)):
                rows = (at for at in self.with_column(column, name) if at in positions)
                found.update(islice(rows, _EXAMPLES))
        return sorted(found)

    def doubted_columns(self, declared: Collection[str]) -> set[str]:
        """Return the columns that were written, with an open spelling or of lists, whose spelling
        is not ``declared``."""
        found = {name for name in self.columns if has_two_spellings(name)}
        found = {name for name in found if next(iter(self.with_column(name)), None) is not None}
        if self.lists:
            found.update(*map(self.columns_of_items, self.accepted))
        return {name for name in found if name.rpartition(".")[2] not in declared}

    def columns_of_items(self, at: int) -> set[str]:
        """Return the columns of items that a row writes, as ``list.column``."""
        row, changed = self.rows[at], self.changed.get(at, self.lists)
        written = (name for name in self.lists if name in changed)
        return set().union(*(filled_columns(name, row.get(name)) for name in written))


def _read_back(
    context: "RunContext", job: Job, written: _WrittenRows, *, at_once: bool
) -> dict[int, FoundRecord]:
    """Return the records of written rows, by position, as far as the system shows them.

    All are read ``at_once`` if an undo can remove them, and stored for it: the system may have
    filled fields that the sheet left empty. Else a few rows are, so that each written column is
    read three times. Raises ``ApiError`` if the system does not answer.
    """
    resource = context.resource(job)
    if resource.read_back is None or not context.options.look_up:
        return {}
    rows, journal = written.rows, context.journal
    creates = not job.spec.mode.channel.by_record or journal.changes.creates(job.id)
    removable = resource.change is not None and resource.change.delete_name is not None
    is_stored = creates and removable and at_once
    positions = range(len(rows)) if is_stored else written.sample(written.accepted)
    before = journal.snapshots.newest_of(len(rows), job.id, Moment.BEFORE)
    accepted = written.accepted

    def shows_all(found: Snapshot) -> bool:
        """Return whether no record of a written row is as before sending."""
        return not any(
            at in accepted and now is not None and was is not None and was.contents == now.contents
            for at, now in zip(positions, found, strict=True)
            for was in (before[at],)
        )

    sample = [rows[at] for at in positions]
    now = context.patience.read_until(
        lambda: read_snapshot(context.client, resource, sample), shows_all
    )
    numbered = _read_by_number(context, resource, written)
    if is_stored:
        journal.snapshots.store(job.id, Moment.WRITTEN, now)
    found = {
        at: _record_of_row(one, before[at], written.codes.get(at))
        for at, one in zip(positions, now, strict=True)
        if one is not None and at in accepted
    } | numbered
    return {at: record for at, record in found.items() if record is not None}


def _read_by_number(
    context: "RunContext", resource: Resource, written: _WrittenRows
) -> dict[int, FoundRecord | None]:
    """Return the records of rows without a key by the numbers that the system gave them.

    That may take a whole listing, so only if a field of them may be lost: its spelling is open, it
    is in a list, or an answer shows it otherwise than it was sent.
    """
    declared = resource.read_back
    rows = written.rows
    doubted = written.doubted_columns(context.quirks.spellings)
    may_be_lost = written.answers or written.lists or doubted
    if declared is None or not declared.number_columns or not may_be_lost:
        return {}
    keyless = {
        at: dict(zip(declared.codes, code.split(CODE_SEPARATOR), strict=True))
        for at, code in written.codes.items()
        if code and not lookups_for(resource, rows[at])
    }
    positions = written.sample(keyless)
    numbered = [{**rows[at], **keyless[at]} for at in positions]
    found = read_snapshot(context.client, resource, numbered) if numbered else ()
    return {
        at: None if one is None else _record_of_row(one, None, written.codes[at])
        for at, one in zip(positions, found, strict=True)
    }


def _record_of_row(
    now: RowSnapshot, before: RowSnapshot | None, code: str | None
) -> FoundRecord | None:
    """Return the record that a row has written, None if several may be."""
    candidates: Sequence[FoundRecord] = now.found
    if code:
        candidates = [record for record in now.found if record.code == code]
    elif before is not None:
        candidates = now.new_since(before) or now.found
    equal = [record for record in candidates if record.same]
    found = equal[:1] or candidates
    return found[0] if len(found) == 1 else None
