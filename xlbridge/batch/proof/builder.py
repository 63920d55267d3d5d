"""Builder of closing proofs: one for each environment, written as a workbook and as a page."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from xlbridge.batch.batch import Batch, UnitOverview, UnitStatus
from xlbridge.batch.plan.steps import AnyStep, ExportStep, WorkbookStep, file_digest
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
    ProofFile,
    ProofStep,
    ProofTitle,
    StepProof,
)
from xlbridge.batch.proof.proof_forms import proof_report
from xlbridge.batch.proof.read_back import ReadBackRow, Tell, read_back, repeated_key_breaches
from xlbridge.batch.proof.upload_history import SentFile, SentRow, UploadHistory
from xlbridge.batch.proof.verdict import WrittenProof
from xlbridge.batch.status import StepOverview
from xlbridge.client import Client
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.upload import State, UploadContext
from xlbridge.upload.results import RowOutcome
from xlbridge.workbook import WorkbookMark


def write_proofs(
    batch: Batch,
    steps: Sequence[StepOverview],
    at: datetime,
    tell: Callable[[Text], None] = lambda _text: None,
) -> Iterator[WrittenProof]:
    """Write the proof of each environment, and yield it; none where nothing was sent or exported.

    Raises what ``build_proof`` raises, and ``UsageError`` when a file cannot be written.
    """
    profiles = list(dict.fromkeys(state.step.profile for state in steps if _takes_part(state)))
    for profile in profiles:
        of_profile = [state for state in steps if state.step.profile == profile]
        name = batch.plan.proof
        if len(profiles) > 1:
            name = _name_of_several(batch, profile)
        plan = batch.plan
        proof = build_proof(
            batch.environments.context(profile),
            batch.environments.client(profile),
            ProofTitle(plan.batch, plan.path, file_digest(plan.path), plan.parameters),
            [
                ProofStep(state.step.name, tuple(_proof_file(batch, unit) for unit in state.units))
                for state in of_profile
                if isinstance(state.step, WorkbookStep) and _is_proven(state.step)
            ],
            [
                _proof_export(batch, state)
                for state in of_profile
                if isinstance(state.step, ExportStep)
            ],
            at=at,
            tell=tell,
        )
        yield _write_proof(proof, batch.plan.folder / name)


def require_proof_folder(batch: Batch) -> None:
    """Raise ``UsageError`` unless there is a folder for the proofs, and no other workbook there.

    Asked before anything is sent: a proof that cannot be written is found out too late after it.
    """
    plan = batch.plan
    profiles = {step.profile for step in plan.steps if _is_proven(step)}
    if not profiles:
        return
    several = sorted(_name_of_several(batch, one) for one in profiles) if len(profiles) > 1 else []
    for name in (plan.proof, *several):
        workbook, _ = _proof_paths(plan.folder / name)
        with report_write_errors(workbook):
            workbook.parent.mkdir(parents=True, exist_ok=True)
        WorkbookMark.PROVEN.require_mark(workbook)


def _name_of_several(batch: Batch, profile: str | None) -> str:
    """Return the name of the proof of one of several environments; one may go by its address."""
    environment = re.sub(r"[^\w.-]+", "-", batch.environments.name(profile))
    return f"{batch.plan.proof}-{environment}"


def _proof_paths(target: Path) -> tuple[Path, Path]:
    return target.with_name(f"{target.name}.xlsx"), target.with_name(f"{target.name}.html")


def _write_proof(proof: Proof, target: Path) -> WrittenProof:
    workbook, page = _proof_paths(target)
    with report_write_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    WorkbookMark.PROVEN.require_mark(workbook)
    report = proof_report(proof)
    report.write("workbook", workbook)
    report.write("html", page)
    return WrittenProof(proof, workbook, page)


def _takes_part(state: StepOverview) -> bool:
    """Return whether something was sent or exported in a step."""
    if isinstance(state.step, ExportStep):
        return any(unit.status is not UnitStatus.NEW for unit in state.units)
    return any(unit.jobs for unit in state.units)


def _is_proven(step: AnyStep) -> bool:
    return isinstance(step, ExportStep) or (
        isinstance(step, WorkbookStep) and step.sending is not None
    )


def _proof_file(batch: Batch, unit: UnitOverview) -> ProofFile:
    left_out = unit.status is not UnitStatus.DONE and not unit.jobs
    because = None
    if left_out or unit.status is UnitStatus.CHANGED:
        because = unit.problem or unit.status.text
    hashes = [job.file_hash for job in unit.jobs[:1]]
    return ProofFile(
        batch.plan.folder / unit.name,
        hashes[0] if hashes and hashes[0] else unit.sha256,
        unit.rows.read,
        because,
        tuple(job.id for job in unit.jobs[:1]),
    )


def _proof_export(batch: Batch, state: StepOverview) -> ProofExport:
    (unit,) = state.units
    if not isinstance(state.step, ExportStep):
        raise TypeError(state.step)
    done = batch.export_of(state.step)
    problem = unit.problem
    if done is None:
        problem = unit.problem or unit.status.text
    elif unit.status is not UnitStatus.EDITED:
        problem = None
    output = batch.plan.folder / state.step.output
    return ProofExport(
        state.step.name,
        state.step.listing,
        output,
        file_digest(output) or None,
        done.manifest if done else None,
        problem,
    )


_DOES_NOT_ADD_UP = Text(
    pt="{file}: lidas {read}, mas aceitas {accepted}, sem alteração {unchanged}, retidas {held}, "
    "rejeitadas {rejected}, não enviadas {unsent}, sem resultado {unknown}",
    en="{file}: read {read}, but accepted {accepted}, unchanged {unchanged}, held {held}, "
    "rejected {rejected}, not sent {unsent}, unknown {unknown}",
)

_READ_BACK = frozenset({RowOutcome.ACCEPTED, RowOutcome.UNCHANGED, RowOutcome.UNKNOWN})
_ANSWERED = frozenset({State.PARTIAL, State.REJECTED})


def build_proof(
    context: UploadContext,
    client: Client,
    title: ProofTitle,
    steps: Sequence[ProofStep],
    exports: Sequence[ProofExport] = (),
    *,
    at: datetime,
    tell: Tell = lambda _text: None,
) -> Proof:
    """Return the closing proof of a batch: every row of its workbooks accounted for.

    The journal says what became of each row, retries and parts of split sheets included; the
    system is asked what it has for the accepted ones. ``at`` is the proof's time.

    Raises ``UsageError`` when a job does not exist, is of another environment, or its resource is
    not known any more; ``TransportError`` or ``AuthenticationFailed`` when the system cannot be
    asked.
    """
    files = _sent_files(context, client, steps)
    read = [
        (resource, read_back(context, client, resource, rows, tell))
        for resource, rows in _rows_by_resource(context, files)
    ]
    by_file = _rows_by_file(files, [row for _, rows in read for row in rows])
    proofs = [_file_proof(file, rows) for file, rows in zip(files, by_file, strict=True)]
    in_order = [row for rows in by_file for row in rows]
    accepted = [(r, [row for row in rows if row.accepted]) for r, rows in read]
    return Proof(
        title=title,
        profile=client.target.profile,
        base_url=_address_without_credentials(client.target.base_url),
        at=at,
        steps=tuple(_step_proofs(steps, proofs)),
        exports=tuple(exports),
        resources=tuple(summarize_resource(r, rows) for r, rows in accepted if rows),
        totals=tuple(table for r, rows in accepted if rows for table in total_tables(r, rows)),
        cells=tuple(cell_differences(in_order, context.catalogue)),
        rows=tuple(open_rows(in_order)),
        refused=tuple(
            refused for file in files for refused in refused_rows(file, context.catalogue)
        ),
        unread=tuple(unread for r, rows in accepted for unread in count_unread(r, rows)),
        fields=tuple(_compared_fields(resource) for resource, _ in read),
        breaches=tuple(_breaches(files, read, proofs)),
    )


def _sent_files(
    context: UploadContext, client: Client, steps: Sequence[ProofStep]
) -> list[SentFile]:
    """Return the workbooks with what the journal says of their rows, in the order of the steps."""
    uploads = UploadHistory(context.journal)
    files = [uploads.of(step.name, file) for step in steps for file in step.files]
    for job in (job for file in files for job in file.jobs):
        job.require_system(client.identity, client.target.profile)
    return files


def _rows_by_resource(
    context: UploadContext, files: Sequence[SentFile]
) -> Iterator[tuple[Resource, list[tuple[SentFile, SentRow]]]]:
    """Yield the rows that may have records in the system, resource by resource.

    Rejected rows too, if the system has answered: it may have written them all the same.
    """
    rows: dict[str, list[tuple[SentFile, SentRow]]] = {}
    for file in files:
        for row in file.rows:
            if row.outcome in _READ_BACK or (row.job.state in _ANSWERED and row.planned is None):
                rows.setdefault(row.job.spec.resource, []).append((file, row))
    for name, of_resource in rows.items():
        yield context.catalogue.named(name), of_resource


def _rows_by_file(
    files: Sequence[SentFile], rows: Sequence[ReadBackRow]
) -> list[list[ReadBackRow]]:
    """Return the rows of each file, in the order in which they stand there."""
    by_file: dict[int, list[ReadBackRow]] = {id(file): [] for file in files}
    for row in rows:
        by_file[id(row.file)].append(row)
    return [sorted(by_file[id(file)], key=lambda row: row.sent.origin) for file in files]


def _file_proof(file: SentFile, rows: Sequence[ReadBackRow]) -> FileProof:
    resources = {job.spec.resource: None for job in file.jobs}
    return FileProof(
        file=file.file,
        resource=", ".join(resources) or None,
        jobs=tuple((job, job.verdict) for job in file.jobs),
        counts=count_rows(file, rows),
    )


def _step_proofs(steps: Sequence[ProofStep], proofs: Sequence[FileProof]) -> Iterator[StepProof]:
    left = iter(proofs)
    for step in steps:
        yield StepProof(step.name, tuple(islice(left, len(step.files))))


def _compared_fields(resource: Resource) -> ComparedFields:
    """Return which columns are compared with the system; by those of a key a record is found."""
    declared = resource.read_back
    returned = set() if declared is None else {*declared.compare}
    keys = () if declared is None else (name for way in declared.lookups for name in way.key)
    returned |= {*keys}
    names = [column.name for column in resource.columns]
    for child in resource.children:
        own = [column.name for column in child.sent_columns]
        shown = frozenset[str]() if declared is None else declared.item_columns(child.sheet)
        names += [f"{child.sheet}.{name}" for name in own]
        returned |= {f"{child.sheet}.{name}" for name in shown.intersection(own)}
    return ComparedFields(
        resource.name,
        compared=tuple(name for name in names if name in returned),
        not_returned=tuple(name for name in names if name not in returned),
    )


def _breaches(
    files: Sequence[SentFile],
    read: Sequence[tuple[Resource, Sequence[ReadBackRow]]],
    proofs: Sequence[FileProof],
) -> Iterator[Text]:
    """Yield what contradicts itself: in the journal, between workbooks, in the counts."""
    for file in files:
        yield from file.breaches
    for resource, rows in read:
        yield from repeated_key_breaches(resource, rows)
    yield from dict.fromkeys(
        row.reason
        for _, rows in read
        for row in rows
        if row.payload_missing and row.reason is not None
    )
    for proof in proofs:
        if not proof.counts.adds_up:
            yield _DOES_NOT_ADD_UP.format(file=proof.file.path.name, **asdict(proof.counts))


def _address_without_credentials(base_url: str) -> str:
    """Return an address without what a person may have written into it to log in."""
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))
