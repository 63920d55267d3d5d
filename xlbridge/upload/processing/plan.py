"""Plan of a processing, from the state of each record and the claims of other jobs."""

from collections.abc import Iterable, Mapping
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Mode
from xlbridge.upload.claims import ClaimedRows, ClaimScope, RowClaims, repeat_while_outdated
from xlbridge.upload.job import Job, JobSpec, planned_note
from xlbridge.upload.processing.planned_record import (
    PlannedRecord,
    ProcessPlan,
    RecordAction,
    SkipReason,
)
from xlbridge.upload.processing.process_kinds import (
    ProcessKind,
    RecordNumbers,
    RecordState,
    RecordStatus,
    StateReader,
)
from xlbridge.upload.single_records.write_journal import RecordTask
from xlbridge.workbook import WorkbookOrigin

if TYPE_CHECKING:
    from xlbridge.client import Client
    from xlbridge.upload.context import UploadContext
    from xlbridge.upload.options import UploadOptions

_READING = Text(
    pt="Lendo a situação de {n} {n:registro|registros}",
    en="Reading the {n:state|states} of {n} {n:record|records}",
)
_NOT_PROCESSED = Text(
    pt="Nada foi processado. Exporte a listagem deste sistema.",
    en="Nothing was processed. Export the listing from this system.",
)
_MISSING = Text(pt="não está no sistema", en="is not in the system")
_CLAIMED = Text(
    pt="está no processamento {job}, que não terminou: xlbridge resume {job}",
    en="is in the job {job}, which is not finished: xlbridge resume {job}",
)
_BY_JOB = Text(pt="foi processado em {job}", en="was processed by {job}")
_PROCESSED_BEFORE = Text(
    pt="foi processado em {job}, mas o sistema o mostra pendente: confira; para processar mesmo "
    "assim: --again",
    en="was processed by {job}, but the system shows it as pending: check it; to process it "
    "anyway: --again",
)


def plan_processing(
    context: "UploadContext",
    client: "Client",
    kind: ProcessKind,
    numbers: RecordNumbers,
    *,
    again: str | None = None,
    at_once: int = 1,
) -> ProcessPlan:
    """Read the state of each record and decide on its action; nothing is sent.

    ``again`` is the reason to process records that a job has processed before. Raises
    ``UsageError`` if it is empty, or the workbook has numbers of another system;
    ``RemoteRejected``, ``TransportError`` or ``AuthenticationFailed`` if the system cannot be read.
    """
    if again is not None and not again.strip():
        raise UsageError(Text(pt="Informe o motivo em --again.", en="--again needs a reason."))
    if numbers.file:
        profile = client.target.profile
        WorkbookOrigin.require_system(Path(numbers.file), client.identity, profile, _NOT_PROCESSED)
    scope = ClaimScope(client.identity, kind.name)
    claims = _claims(kind, numbers.numbers)
    known = context.journal.claimed(scope, claims)
    elsewhere = context.claimed_elsewhere(scope, claims)
    everywhere = reduce(ClaimedRows.merge, elsewhere.values(), known)
    staged = _unfinished_uploads(context, client) if kind.is_queued else {}
    reader = StateReader(client, kind, numbers.places, at_once)
    states = reader.read(numbers.numbers)
    records = [
        _plan_record(kind, number, row, states[number], everywhere, staged, again=again)
        for number, row in zip(numbers.numbers, numbers.rows, strict=True)
    ]
    return ProcessPlan(kind, numbers, records, known, elsewhere)


def _plan_record(
    kind: ProcessKind,
    number: int,
    row: int,
    state: RecordState,
    claimed: ClaimedRows,
    staged: Mapping[int, str],
    *,
    again: str | None,
) -> PlannedRecord:
    digest = _digest(kind, number)
    before = claimed.accepted(digest) if again is None else []
    claimant = claimed.unfinished_job(digest, ()) or staged.get(number)
    action, reason, remark = RecordAction.SKIP, None, state.remark
    match state.status:
        case RecordStatus.DONE:
            action = RecordAction.ALREADY
        case _ if claimant is not None:
            reason, remark = SkipReason.CLAIMED, _CLAIMED.format(job=claimant)
        case RecordStatus.MISSING:
            reason, remark = SkipReason.NOT_FOUND, remark or _MISSING
        case RecordStatus.CLOSED:
            reason = SkipReason.CLOSED
        case RecordStatus.UNKNOWN if kind.is_queued:
            reason = SkipReason.UNKNOWN
        case RecordStatus.UNKNOWN if before:
            action, remark = RecordAction.ALREADY, _BY_JOB.format(job=before[0])
        case RecordStatus.OPEN if before:
            reason = SkipReason.PROCESSED_BEFORE
            remark = _PROCESSED_BEFORE.format(job=before[0])
        case _:
            action = RecordAction.PROCESS
    return PlannedRecord(number, row, action, state.status, reason, remark, state.assigned)


def _unfinished_uploads(context: "UploadContext", client: "Client") -> dict[int, str]:
    """Return the unfinished uploads by the import logs of their queued files."""
    queued: dict[int, str] = {}
    for job in context.journal.jobs():
        for part in context.journal.parts_of(job) or [job]:
            log = part.last("log_id")
            if log is not None and part.spec.system == client.identity and not part.state.is_final:
                queued[log] = part.id
    return queued


def _digest(kind: ProcessKind, number: int) -> str:
    """Return the digest by which a job claims a record; no row of a sheet has the same."""
    return f"process/{kind.name}/{number}"


def _claims(kind: ProcessKind, numbers: Iterable[int]) -> RowClaims:
    digests = [_digest(kind, number) for number in numbers]
    return RowClaims(digests, [()] * len(digests))


def create_processing(
    context: "UploadContext",
    client: "Client",
    kind: ProcessKind,
    numbers: RecordNumbers,
    options: "UploadOptions",
    *,
    at_once: int = 1,
) -> Job:
    """Plan the processing of records and record its job, before anything is sent.

    An unsent job with the same plan is reused. Raises what ``plan_processing`` raises.
    """
    note = {"at_once": at_once, "again": options.again}

    def create() -> Job:
        options.progress(_READING.format(n=len(numbers.numbers)))
        plan = plan_processing(context, client, kind, numbers, again=options.again, at_once=at_once)
        return _record(context, client, plan, note)

    return repeat_while_outdated(create)


def _record(
    context: "UploadContext", client: "Client", plan: ProcessPlan, note: Mapping[str, Any]
) -> Job:
    """Record the job of a plan, or the plan in the unsent job that already has it."""
    records, source = plan.to_process, plan.numbers
    spec = JobSpec(
        profile=client.target.profile,
        resource=plan.kind.name,
        mode=Mode.PROCESS,
        file=source.file,
        sheet=source.sheet,
        digest=plan.digest,
        payload="",
        rows=tuple(record.row for record in records),
        columns=source.columns,
        system=client.identity,
    )
    places, within = source.places, plan.kind.within
    tasks = [
        RecordTask(str(record.number), {}, {}, {within: places[record.number]} if within else {})
        for record in records
    ]
    claims = _claims(plan.kind, (record.number for record in records))
    skipped = len(plan.skipped)
    planned: dict[str, Any] = {
        "target": client.target.to_json(),
        "plan_digest": plan.digest,
        "writes": len(records),
        # Named as for uploads, for the table of jobs.
        "plan": {"unchanged": len(plan.records) - len(records) - skipped, "held": skipped},
        "hidden": source.hidden,
    }
    actions = [record.to_journal() for record in plan.records]
    unsent = context.journal.find_unsent(spec)
    if unsent is not None and context.journal.actions_of(unsent) == actions:
        planned |= planned_note(context.journal.now())
        return context.journal.record(unsent, unsent.state, **note, **planned)
    with context.sole_claimant(spec.scope, claims, plan.elsewhere):
        return context.journal.create_from_tasks(
            spec, tasks, {**note, **planned}, actions, claims, plan.known
        )
