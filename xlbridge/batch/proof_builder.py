"""Builder of closing proofs, one per environment, and their figures: a workbook and a page."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from xlbridge.batch.batch import (
    Batch,
    UnitOverview,
    UnitStatus,
)
from xlbridge.batch.plan_steps import ExportStep, file_digest, sends_workbooks
from xlbridge.batch.proof_content import proof_report, typed_value
from xlbridge.batch.proof_model import (
    CellDifference,
    ComparedFields,
    FileProof,
    OpenReason,
    OpenRow,
    Proof,
    ProofCounts,
    ProofExport,
    ProofTitle,
    ReadBackStatus,
    RefusedRow,
    ResourceSummary,
    StepFile,
    Total,
    TotalTable,
    UnreadRows,
    WrittenProof,
)
from xlbridge.batch.proof_read_back import (
    ReadBackRow,
    ShowText,
    different_cells,
    read_back,
    repeated_key_breaches,
)
from xlbridge.batch.status import StepOverview, proof_paths, proven_profiles
from xlbridge.client import Client
from xlbridge.client.registries import Registries
from xlbridge.errors import XlbridgeError
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.report_forms.totals import Axis, Unit
from xlbridge.resources import Catalogue, Column, Kind, Resource
from xlbridge.resources.names import coded_title
from xlbridge.resources.references import BRANCH, REFERENCES
from xlbridge.titles import row_text
from xlbridge.upload import Journal, State, UploadContext
from xlbridge.upload.lookup import FoundRecord
from xlbridge.upload.requests import RowOutcome
from xlbridge.upload.results import RowChange, RowLedger
from xlbridge.workbook import WorkbookMark


def summarize_resource(resource: Resource, rows: Sequence[ReadBackRow]) -> ResourceSummary:
    """Sum up the accepted rows of a resource, as they were sent and as the system has them."""
    unread = bool(rows) and all(row.reason is not None for row in rows)
    returned = not unread and _are_amounts_returned(resource, rows)
    in_system = (
        _system_amount(resource, row, record) for row in rows for record in _found_records(row)
    )
    return ResourceSummary(
        resource=resource.name,
        title=resource.title,
        accepted=len(rows),
        found=sum(row.match is not None and row.match.record is not None for row in rows),
        amount=None if resource.amount_title is None else sum((row.amount for row in rows), _ZERO),
        found_amount=sum(in_system, _ZERO) if returned else None,
    )


_ZERO = Decimal(0)


def _names(registries: Registries, column: Column) -> Mapping[str, str]:
    """Return the names of the records whose codes a column has, none if they cannot be read."""
    if column.references is None:
        return {}
    try:
        return registries.names(REFERENCES[column.references])
    except XlbridgeError:
        return {}


def total_tables(
    resource: Resource, rows: Sequence[ReadBackRow], registries: Registries, *, details: bool
) -> Iterator[TotalTable]:
    """Yield the tables of a resource's control totals over its accepted rows, exact to the cent:
    by dates and branches or, as ``details``, by all other columns.

    Records are counted under the label that the system has. If the cell was sent empty, they stay
    under the empty label, as the system's value is not compared.
    """
    columns = [(at, resource.by_name[name]) for at, name in enumerate(resource.totals.by)]
    columns.sort(key=lambda one: one[1].kind is not Kind.DATE)
    for index, column in columns:
        if details is (column.kind is Kind.DATE or column.references == BRANCH):
            continue
        show = partial(typed_value, column.kind)
        axes = [Axis(column.title, unit) for unit in (Unit.MONTH, Unit.DAY)]
        if column.kind is not Kind.DATE:
            title = coded_title(column.name) if column.references else column.title
            axes = [Axis(title, names=_names(registries, column), show=show)]
        for axis in axes:
            yield _total_table(resource, column, axis, rows, index)


def _total_table(
    resource: Resource, column: Column, axis: Axis, rows: Sequence[ReadBackRow], index: int
) -> TotalTable:
    returned = _is_returned(resource, column.name)
    with_amounts = resource.amount_title is None or _are_amounts_returned(resource, rows)

    def figures() -> Iterator[tuple[str | None, Sequence[Any]]]:
        """Yield labels with rows and amounts: sent, of these not read back, and found."""
        for row in rows:
            sent, nothing = (1, row.amount), (0, _ZERO)
            unread = sent if row.status is ReadBackStatus.UNREAD else nothing
            yield row.labels[index], (*sent, *unread, *nothing)
            for record in _found_records(row) if returned else ():
                label = row.labels[index] and _system_value(row, record, column.name)
                found = (1, _system_amount(resource, row, record))
                yield label, (*nothing, *nothing, *found)

    def total(label: str | None, sums: Sequence[Any]) -> Total:
        rows, amount, unread_rows, unread, found_rows, found = sums
        found_rows = found_rows if returned else None
        found = found if returned and with_amounts else None
        return Total(label, rows, amount, unread_rows, unread, found_rows, found)

    sums = axis.sum_up(figures())
    return TotalTable(
        resource=resource.title,
        axis=axis,
        amount=resource.amount_title,
        totals=tuple(total(label, values) for label, values in sums.items()),
        sum=total(None, list(map(sum, zip(*sums.values(), strict=True)))),
    )


def _found_records(row: ReadBackRow) -> Iterator[FoundRecord]:
    if row.match is not None:
        yield from row.match.own_records


def _system_value(row: ReadBackRow, record: FoundRecord, column: str | None) -> str | None:
    """Return the system's value of a column; a record has the key by which it was found."""
    if column is None or row.reading is None:
        return None
    return record.values.get(column, row.reading.key.get(column))


def _system_amount(resource: Resource, row: ReadBackRow, record: FoundRecord) -> Decimal:
    """Return the system's amount of a record, zero if it is not known."""
    if resource.totals.products is not None:
        return Decimal(record.amount or 0)
    try:
        return Decimal(_system_value(row, record, resource.totals.amount) or 0)
    except InvalidOperation:
        return _ZERO


def _are_amounts_returned(resource: Resource, rows: Sequence[ReadBackRow]) -> bool:
    """Return whether the system shows the amounts of all records that were found for rows."""
    if resource.totals.products is None:
        amount = resource.totals.amount
        return amount is not None and _is_returned(resource, amount)
    return all(record.amount is not None for row in rows for record in _found_records(row))


def _is_returned(resource: Resource, column: str) -> bool:
    read_back = resource.read_back
    if read_back is None:
        return False
    keys = [lookup.key for lookup in read_back.lookups]
    return column in read_back.compare or (bool(keys) and all(column in key for key in keys))


def cell_differences(rows: Sequence[ReadBackRow], catalogue: Catalogue) -> Iterator[CellDifference]:
    """Yield each value of an accepted row that differs in the system."""
    for row in rows:
        if not row.accepted or row.match is None or row.reading is None:
            continue
        record = row.match.record
        if record is None:
            continue
        spec = row.sent.job.spec
        resource = catalogue.named(spec.resource)
        columns = resource.by_name
        item_cells = row.sent.job.items if record.items else {}
        for name, number, list_column, sent, found in record.items:
            (child,) = (child for child in resource.children if child.sheet == name)
            cells = item_cells.get(name) if number is not None else None
            yield CellDifference(
                location=row.file.location(row.sent.job, row.sent),
                cell=None if cells is None else cells.cell(row.sent.row, number, list_column),
                column=f"{name}.{list_column}" if list_column else name,
                kind=child.by_name[list_column].kind if list_column else Kind.INTEGER,
                sent=sent,
                found=found,
                code=record.code,
            )
        for name in different_cells(row.reading, record):
            yield CellDifference(
                location=row.file.location(row.sent.job, row.sent),
                cell=spec.cell(row.sent.row, name),
                column=name,
                kind=columns[name].kind,
                sent=row.reading.sent[name],
                found=record.values.get(name),
                code=record.code,
            )


def open_rows(rows: Sequence[ReadBackRow]) -> Iterator[OpenRow]:
    """Yield the rows that are open."""
    for row in rows:
        reason = None
        if row.sent.outcome is RowOutcome.UNKNOWN:
            reason = OpenReason.UNKNOWN
        elif row.accepted:
            reason = OpenReason(row.status) if row.status in _OPEN_STATUSES else None
        elif row.match is not None and row.match.record is not None:
            reason = OpenReason.WRITTEN
        if reason is not None:
            records = () if row.match is None else row.match.all_records
            yield OpenRow(
                location=row.file.location(row.sent.job, row.sent),
                state=reason,
                key={} if row.reading is None else row.reading.key,
                codes=tuple(record.code for record in records if row.accepted or record.same),
            )


_OPEN_STATUSES = frozenset({ReadBackStatus.MISSING, ReadBackStatus.DOUBLED})


NOT_WRITTEN = frozenset({RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.UNSENT})


def refused_rows(file: FileProof, catalogue: Catalogue) -> Iterator[RefusedRow]:
    """Yield the held rows of a workbook, and those not written, with the reason or the system's
    answer."""
    if file.ledger is None:
        return
    for row in file.rows:
        resource = catalogue.named(row.job.spec.resource)
        if row.outcome is RowOutcome.HELD and row.planned is not None and row.is_record:
            message = resource.with_titles(row.planned.why_text(resource.by_path))
            yield RefusedRow(file.location(row.job, row), None, None, message)
        elif row.outcome is RowOutcome.REJECTED:
            for found in file.ledger.rejections(row):
                location = file.location(row.job, row)
                yield RefusedRow(location, found.cell, found.column, str(found.message))
    incomplete = {row.job.id for row in file.rows if row.outcome in NOT_WRITTEN}
    for job in file.jobs:
        for found in file.ledger.rejections_of(job, None) if job.id in incomplete else ():
            location = file.location(job, None)
            yield RefusedRow(location, found.cell, found.column, str(found.message))


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
    for profile, (workbook, page) in proof_paths(batch, proven_profiles(steps)).items():
        own_steps = [state for state in steps if state.step.profile == profile]
        proof = build_proof(
            batch.environments.context(profile),
            batch.environments.client(profile),
            ProofTitle(plan.batch, plan.path, file_digest(plan.path), plan.parameters),
            {
                state.step.name: [_step_file(batch, unit) for unit in state.units]
                for state in own_steps
                if sends_workbooks(state.step)
            },
            [
                _proof_export(batch, state)
                for state in own_steps
                if isinstance(state.step, ExportStep)
            ],
            at=at,
            show=show,
        )
        with report_write_errors(workbook):
            workbook.parent.mkdir(parents=True, exist_ok=True)
        WorkbookMark.PROVEN.require_mark(workbook)
        report = proof_report(proof)
        report.write("workbook", workbook)
        report.write("html", page)
        yield WrittenProof(proof, workbook, page)


def are_proofs_missing(batch: Batch, steps: Sequence[StepOverview]) -> bool:
    """Return whether a proof does not exist, or is older than an upload that it should contain."""
    for profile, (_, page) in proof_paths(batch, proven_profiles(steps)).items():
        units = [unit for state in steps if state.step.profile == profile for unit in state.units]
        requests = (request for unit in units for job in unit.jobs for request in job.requests)
        changed = (request.changed_at.timestamp() for request in requests)
        if not page.is_file() or page.stat().st_mtime < max(changed, default=0):
            return True
    return False


def require_proof_folder(batch: Batch) -> None:
    """Raise ``UsageError`` unless the proofs can be written and replace no other workbook.

    Called before anything is sent, as afterwards it would be too late.
    """
    steps = batch.plan.steps
    profiles = {s.profile for s in steps if isinstance(s, ExportStep) or sends_workbooks(s)}
    # Perhaps only one of the environments gets something.
    groups = [[profile] for profile in profiles] + [list(profiles)]
    for workbook in {path for group in groups for path, _ in proof_paths(batch, group).values()}:
        with report_write_errors(workbook):
            workbook.parent.mkdir(parents=True, exist_ok=True)
        WorkbookMark.PROVEN.require_mark(workbook)


def _step_file(batch: Batch, unit: UnitOverview) -> StepFile:
    not_sent = unit.status is not UnitStatus.DONE and not unit.jobs
    reason = None
    if not_sent or unit.status is UnitStatus.CHANGED:
        reason = unit.problem or unit.status.text
    file_hash = unit.jobs[0].notes.file_hash if unit.jobs else None
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
    proven = []
    for file in files:
        statuses = Counter(row.status.value for row in by_file[id(file)] if row.accepted)
        unsent = {} if file.jobs else {"unsent": file.file.rows_in_sheet}
        counts = ProofCounts.of(file.rows, read=file.file.rows_in_sheet, **unsent, **statuses)
        proven.append(replace(file, counts=counts))
    rows_in_order = [
        row for rows in by_file.values() for row in sorted(rows, key=lambda row: row.sent.origin)
    ]
    # Contradictions in the journal, and between workbooks.
    breaches = [text for file in proven for text in contradictions(file)]
    for resource, read in by_resource:
        breaches += repeated_key_breaches(resource, read)
    lost = (row.reason for _, read in by_resource for row in read if row.payload_missing)
    breaches += dict.fromkeys(filter(None, lost))
    registries = Registries(client)
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
        totals=tuple(
            table
            for details in (False, True)
            for r, rows in accepted
            if rows
            for table in total_tables(r, rows, registries, details=details)
        ),
        cells=tuple(cell_differences(rows_in_order, context.catalogue)),
        rows=tuple(open_rows(rows_in_order)),
        refused=tuple(
            refused for file in files for refused in refused_rows(file, context.catalogue)
        ),
        unread=tuple(
            UnreadRows(resource.name, reason, count)
            for resource, rows in accepted
            for reason, count in Counter(row.reason for row in rows).items()
            if reason is not None
        ),
        fields=tuple(_compared_fields(resource) for resource, _ in by_resource),
        breaches=tuple(breaches),
        catalogue=context.catalogue,
    )


def sent_file(journal: Journal, step: str, file: StepFile) -> FileProof:
    """Return what became of each row of a workbook. Raises ``UsageError`` if a job is missing."""
    if file.job_id is None:
        return FileProof(step, file)
    ledger = RowLedger.of(journal, journal.job(file.job_id))
    jobs = [part for job in ledger.attempts for part in journal.requests_of(job)]
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


def contradictions(file: FileProof) -> Iterator[Text]:
    """Yield the contradictions between a workbook, its jobs and what became of its rows."""
    if file.ledger is None:
        return
    name = file.file.path.name
    records = sum(row.is_record for row in file.rows)
    if records != file.file.rows_in_sheet:
        yield _ROWS_DIFFER.format(file=name, rows=file.file.rows_in_sheet, sent=records)
    for origin, changes in file.ledger.changes.items():
        jobs = [change.job.id for change in changes if change.outcome is RowOutcome.ACCEPTED]
        if len(jobs) > 1:
            yield _ACCEPTED_TWICE.format(file=name, row=row_text(origin), jobs=", ".join(jobs))
