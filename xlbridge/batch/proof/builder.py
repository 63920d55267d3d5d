"""Builder of closing proofs: one per environment, written as a workbook and as a page."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from xlbridge.batch.batch import Batch, UnitOverview, UnitStatus
from xlbridge.batch.plan.steps import AnyStep, ExportStep, WorkbookStep, file_digest
from xlbridge.batch.proof.content import proof_report
from xlbridge.batch.proof.figures import (
    cell_differences,
    count_rows,
    count_unread,
    open_rows,
    refused_rows,
    summarize_resource,
    total_tables,
)
from xlbridge.batch.proof.model import (
    ComparedFields,
    FileProof,
    Proof,
    ProofExport,
    ProofTitle,
    StepFile,
    WrittenProof,
)
from xlbridge.batch.proof.read_back import ReadBackRow, ShowText, read_back, repeated_key_breaches
from xlbridge.batch.status import StepOverview
from xlbridge.client import Client
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.upload import Journal, State, UploadContext
from xlbridge.upload.results import RowChange, RowLedger, RowOutcome
from xlbridge.workbook import WorkbookMark


def write_proofs(
    batch: Batch,
    steps: Sequence[StepOverview],
    at: datetime,
    show: Callable[[Text], None] = lambda _text: None,
) -> Iterator[WrittenProof]:
    """Write and yield the proof of each environment to which something was sent or exported.

    Raises what ``build_proof`` raises, and ``UsageError`` if a file cannot be written.
    """
    plan = batch.plan
    for profile, target in _proof_targets(batch, steps).items():
        own_steps = [state for state in steps if state.step.profile == profile]
        proof = build_proof(
            batch.environments.context(profile),
            batch.environments.client(profile),
            ProofTitle(plan.batch, plan.path, file_digest(plan.path), plan.parameters),
            {
                state.step.name: [_step_file(batch, unit) for unit in state.units]
                for state in own_steps
                if isinstance(state.step, WorkbookStep) and _is_proven(state.step)
            },
            [
                _proof_export(batch, state)
                for state in own_steps
                if isinstance(state.step, ExportStep)
            ],
            at=at,
            show=show,
        )
        workbook, page = _proof_paths(target)
        with report_write_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        WorkbookMark.PROVEN.require_mark(workbook)
        report = proof_report(proof)
        report.write("workbook", workbook)
        report.write("html", page)
        yield WrittenProof(proof, workbook, page)


def are_proofs_missing(batch: Batch, steps: Sequence[StepOverview]) -> bool:
    """Return whether a proof does not exist, or is older than an upload that it should contain."""
    for profile, target in _proof_targets(batch, steps).items():
        _, page = _proof_paths(target)
        units = [unit for state in steps if state.step.profile == profile for unit in state.units]
        events = (job.events[-1].at.timestamp() for unit in units for job in unit.jobs)
        if not page.is_file() or page.stat().st_mtime < max(events, default=0):
            return True
    return False


def _proof_targets(batch: Batch, steps: Sequence[StepOverview]) -> dict[str | None, Path]:
    """Return the path of each environment's proof, without suffix."""
    # Something was sent or exported in a step with a job, or an export that was made.
    profiles = list(
        dict.fromkeys(
            state.step.profile
            for state in steps
            if any(
                unit.status is not UnitStatus.NEW
                if isinstance(state.step, ExportStep)
                else unit.jobs
                for unit in state.units
            )
        )
    )
    if len(profiles) == 1:
        return {profiles[0]: batch.plan.folder / batch.plan.proof}
    return {profile: batch.plan.folder / _environment_proof(batch, profile) for profile in profiles}


def require_proof_folder(batch: Batch) -> None:
    """Raise ``UsageError`` unless the proofs can be written and replace no other workbook.

    Called before anything is sent, as afterwards it would be too late.
    """
    plan = batch.plan
    profiles = {step.profile for step in plan.steps if _is_proven(step)}
    if not profiles:
        return
    names = [_environment_proof(batch, profile) for profile in profiles]
    for name in (plan.proof, *(sorted(names) if len(names) > 1 else ())):
        workbook, _ = _proof_paths(plan.folder / name)
        with report_write_errors(workbook):
            workbook.parent.mkdir(parents=True, exist_ok=True)
        WorkbookMark.PROVEN.require_mark(workbook)


def _environment_proof(batch: Batch, profile: str | None) -> str:
    """Return the name of the proof of one of several environments."""
    # The name of an environment may be its address.
    environment = re.sub(r"[^\w.-]+", "-", batch.environments.name(profile))
    return f"{batch.plan.proof}-{environment}"


def _proof_paths(target: Path) -> tuple[Path, Path]:
    return target.with_name(f"{target.name}.xlsx"), target.with_name(f"{target.name}.html")


def _is_proven(step: AnyStep) -> bool:
    return isinstance(step, ExportStep) or (
        isinstance(step, WorkbookStep) and step.sending is not None
    )


def _step_file(batch: Batch, unit: UnitOverview) -> StepFile:
    not_sent = unit.status is not UnitStatus.DONE and not unit.jobs
    reason = None
    if not_sent or unit.status is UnitStatus.CHANGED:
        reason = unit.problem or unit.status.text
    file_hash = unit.jobs[0].file_hash if unit.jobs else None
    return StepFile(
        batch.plan.folder / unit.name,
        file_hash or unit.sha256,
        unit.rows.read,
        reason,
        unit.jobs[0].id if unit.jobs else None,
    )


def _proof_export(batch: Batch, state: StepOverview) -> ProofExport:
    (unit,) = state.units
    if not isinstance(state.step, ExportStep):
        raise TypeError(state.step)
    export = batch.last_export(state.step)
    problem = unit.problem
    if export is None:
        problem = unit.problem or unit.status.text
    elif unit.status is not UnitStatus.EDITED:
        problem = None
    output = batch.plan.folder / state.step.output
    return ProofExport(
        state.step.name,
        state.step.listing,
        output,
        file_digest(output) or None,
        export.manifest if export else None,
        problem,
    )


_DOES_NOT_ADD_UP = Text(
    pt="{file}: lidas {read}, mas aceitas {accepted}, sem alteração {unchanged}, "
    "aguardando você {held}, rejeitadas {rejected}, desfeitas {undone}, "
    "não enviadas {unsent}, em dúvida {unknown}",
    en="{file}: read {read}, but accepted {accepted}, unchanged {unchanged}, held {held}, "
    "rejected {rejected}, undone {undone}, not sent {unsent}, in doubt {unknown}",
)

_READ_BACK = frozenset({RowOutcome.ACCEPTED, RowOutcome.UNCHANGED, RowOutcome.UNKNOWN})
_ANSWERED = frozenset({State.PARTIAL, State.REJECTED})


def build_proof(
    context: UploadContext,
    client: Client,
    title: ProofTitle,
    steps: Mapping[str, Sequence[StepFile]],
    exports: Sequence[ProofExport] = (),
    *,
    at: datetime,
    show: ShowText = lambda _text: None,
) -> Proof:
    """Return the closing proof of a batch, which accounts for every row of its workbooks.

    ``steps`` are the workbooks of the steps that upload, by the steps' names. The outcome of each
    row comes from the journal, including retries and parts of split sheets; accepted rows are read
    back from the system. ``at`` is the proof's time.

    Raises ``UsageError`` if a job does not exist or belongs to another environment, or its resource
    is no longer known; ``TransportError`` or ``AuthenticationFailed`` if the system cannot be
    queried.
    """
    files = [
        sent_file(context.journal, step, file)
        for step, of_step in steps.items()
        for file in of_step
    ]
    for job in (job for file in files for job in file.jobs):
        job.require_system(client.identity, client.target.profile)
    sent: dict[str, list[tuple[FileProof, RowChange]]] = {}
    for file in files:
        for change in file.rows:
            # The system may have written rows that it has rejected.
            is_answered = change.job.state in _ANSWERED and change.planned is None
            if change.outcome in _READ_BACK or is_answered:
                sent.setdefault(change.job.spec.resource, []).append((file, change))
    by_resource = []
    for name, rows_of_resource in sent.items():
        resource = context.catalogue.named(name)
        read = read_back(context, client, resource, rows_of_resource, show)
        by_resource.append((resource, read))
    by_file: dict[int, list[ReadBackRow]] = {id(file): [] for file in files}
    for _, rows in by_resource:
        for row in rows:
            by_file[id(row.file)].append(row)
    proven = [replace(file, counts=count_rows(file, by_file[id(file)])) for file in files]
    rows_in_order = [
        row for rows in by_file.values() for row in sorted(rows, key=lambda row: row.sent.origin)
    ]
    # Contradictions in the journal, between workbooks, and in the counts.
    breaches = [text for file in proven for text in contradictions(file)]
    for resource, read in by_resource:
        breaches += repeated_key_breaches(resource, read)
    lost = (row.reason for _, read in by_resource for row in read if row.payload_missing)
    breaches += dict.fromkeys(filter(None, lost))
    for file in proven:
        if not file.counts.adds_up:
            counts = asdict(file.counts)
            breaches.append(_DOES_NOT_ADD_UP.format(file=file.file.path.name, **counts))
    accepted = [(r, [row for row in rows if row.accepted]) for r, rows in by_resource]
    address = urlsplit(client.target.base_url)
    return Proof(
        title=title,
        profile=client.target.profile,
        base_url=urlunsplit(
            # The address without user name, password, query and fragment.
            address._replace(netloc=address.netloc.rpartition("@")[2], query="", fragment="")
        ),
        quirks=client.target.to_json().get("quirks"),
        at=at,
        steps={step: [file for file in proven if file.step == step] for step in steps},
        exports=tuple(exports),
        resources=tuple(summarize_resource(r, rows) for r, rows in accepted if rows),
        totals=tuple(table for r, rows in accepted if rows for table in total_tables(r, rows)),
        cells=tuple(cell_differences(rows_in_order, context.catalogue)),
        rows=tuple(open_rows(rows_in_order)),
        refused=tuple(
            refused for file in files for refused in refused_rows(file, context.catalogue)
        ),
        unread=tuple(unread for r, rows in accepted for unread in count_unread(r, rows)),
        fields=tuple(_compared_fields(resource) for resource, _ in by_resource),
        breaches=tuple(breaches),
    )


def sent_file(journal: Journal, step: str, file: StepFile) -> FileProof:
    """Return what became of each row of a workbook. Raises ``UsageError`` if a job is missing."""
    if file.job_id is None:
        return FileProof(step, file)
    ledger = RowLedger.of(journal, journal.job(file.job_id))
    jobs = [part for job in ledger.attempts for part in journal.parts_of(job) or [job]]
    rows = tuple(ledger.now[origin] for origin in sorted(ledger.now))
    return FileProof(step, file, ledger, tuple(jobs), rows)


def _compared_fields(resource: Resource) -> ComparedFields:
    """Return the columns that are compared with the system, key columns included."""
    read_back = resource.read_back
    names = [column.name for column in resource.columns]
    returned: set[str] = set()
    if read_back is not None:
        returned |= {*read_back.compare}
        returned |= {name for lookup in read_back.lookups for name in lookup.key}
    for child in resource.children:
        for column in child.sent_columns:
            name = f"{child.sheet}.{column.name}"
            names.append(name)
            if read_back is not None and column.name in read_back.item_columns(child.sheet):
                returned.add(name)
    return ComparedFields(
        resource.name,
        compared=tuple(name for name in names if name in returned),
        not_returned=tuple(name for name in names if name not in returned),
    )


_ACCEPTED_TWICE = Text(
    pt="{file}, linha {row}: aceita por mais de um envio ({jobs})",
    en="{file}, row {row}: accepted by more than one upload ({jobs})",
)
_ROWS_DIFFER = Text(
    pt="{file}: a planilha tem {rows} {rows:linha|linhas}, e os envios dela têm {sent}",
    en="{file}: the sheet has {rows} {rows:row|rows}, and its uploads have {sent}",
)
_OTHER_CONTENT = Text(
    pt="{file}: nenhum envio é deste conteúdo ({sha})",
    en="{file}: no upload has this content ({sha})",
)


def contradictions(file: FileProof) -> Iterator[Text]:
    """Yield the contradictions between a workbook, its jobs and what became of its rows."""
    if file.ledger is None:
        return
    name = file.file.path.name
    records = sum(row.is_record for row in file.rows)
    if records != file.file.rows_in_sheet:
        yield _ROWS_DIFFER.format(file=name, rows=file.file.rows_in_sheet, sent=records)
    if all(job.file_hash != file.file.sha256 for job in file.ledger.attempts):
        yield _OTHER_CONTENT.format(file=name, sha=file.file.sha256)
    for origin, changes in file.ledger.changes.items():
        jobs = [change.job.id for change in changes if change.outcome is RowOutcome.ACCEPTED]
        if len(jobs) > 1:
            yield _ACCEPTED_TWICE.format(file=name, row=origin, jobs=", ".join(jobs))
