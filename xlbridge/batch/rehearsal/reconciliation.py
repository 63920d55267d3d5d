"""Reconciliation of a trial: row outcomes in the journal against rows in the database."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from xlbridge.batch.batch import Batch, UnitOverview, UnitStatus
from xlbridge.batch.plan.steps import WorkbookStep
from xlbridge.batch.proof.model import StepFile
from xlbridge.batch.proof.upload_history import SentFile, sent_file
from xlbridge.batch.rehearsal.result import (
    Refusal,
    RowId,
    TrialCounts,
    Violation,
    ViolationKind,
    WorkbookResult,
)
from xlbridge.batch.rehearsal.table_checks import NOT_IN_TABLE, ExpectedRow, compare_tables
from xlbridge.batch.status import StepOverview, overview
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Catalogue, Resource
from xlbridge.sandbox.rehearsal import (
    RowDigest,
    StoredRows,
    expected_row_digests,
    is_compared_by_content,
    one_resource_per_table,
    read_stored_rows,
    table_name_of,
)
from xlbridge.sandbox.storage import Storage
from xlbridge.upload import UploadContext, sent_rows
from xlbridge.upload.results import RowChange, RowOutcome

_NOT_SENT = Text(pt="não foi enviada", en="was not sent")


def read_tables(storage: Storage, catalogue: Catalogue) -> list[StoredRows]:
    """Return the stored rows of all resources."""
    resources = one_resource_per_table(catalogue.values())
    with storage.transaction(writing=False) as connection:
        return [read_stored_rows(connection, resource) for resource in resources]


def reconcile_trial(
    batch: Batch,
    rows: Mapping[tuple[str, str], int],
    storage: Storage,
    before: Sequence[StoredRows],
) -> TrialCounts:
    """Return the outcome of every row, compared with the tables.

    ``rows`` are the row counts of the workbooks, by the names of step and workbook; ``before`` are
    the stored rows before the first run.
    """
    states = overview(batch)
    context = batch.environments.context(None)
    files = _sent_files(batch, states, rows)
    with storage.transaction(writing=False) as connection:
        sent = _SentRows(context, connection)
        for unit, file in files:
            for row in file.rows:
                sent.add(row, RowId(file.step, unit.name, row.origin))
    comparison = compare_tables(sent.by_table, before, read_tables(storage, context.catalogue))
    contradictions = tuple(
        Violation(ViolationKind.NO_VERDICT, breach) for _, file in files for breach in file.breaches
    )
    return TrialCounts(
        workbooks=tuple(_workbook_result(unit, file) for unit, file in files),
        refusals=tuple(refusal for unit, file in files for refusal in _refusals(unit, file)),
        held=tuple(held for unit, file in files for held in _held_rows(unit, file)),
        comparison=replace(comparison, violations=(*comparison.violations, *contradictions)),
        open_steps={
            state.step.name: _reason_of_open_step(state) for state in states if not state.done
        },
    )


def _sent_files(
    batch: Batch, states: Sequence[StepOverview], rows: Mapping[tuple[str, str], int]
) -> list[tuple[UnitOverview, SentFile]]:
    """Return the workbooks of the steps that send, with the outcomes of their rows."""
    files: list[tuple[UnitOverview, SentFile]] = []
    for state in states:
        step = state.step
        if not isinstance(step, WorkbookStep) or step.sending is None:
            continue
        journal = batch.environments.context(step.profile).journal
        for unit in state.units:
            path, job = batch.plan.folder / unit.name, unit.jobs[0].id if unit.jobs else None
            count = rows[step.name, unit.name]
            step_file = StepFile(path, unit.sha256, count, unit.problem, job)
            files.append((unit, sent_file(journal, step.name, step_file)))
    return files


def _reason_of_open_step(state: StepOverview) -> Text:
    """Return why a step is not done; the report shows the problems of its workbooks elsewhere."""
    problems = [unit.problem for unit in state.units if unit.problem is not None]
    if state.problem is not None:
        return state.problem
    if problems and not isinstance(state.step, WorkbookStep):
        return problems[0]
    if state.waits_for:
        return _WAITS_FOR.format(steps=", ".join(state.waits_for))
    return state.status.text


_WAITS_FOR = Text(pt="espera por {steps}", en="waits for {steps}")


def _workbook_result(unit: UnitOverview, file: SentFile) -> WorkbookResult:
    outcomes = {
        row.origin: row.outcome
        for row in file.rows
        if row.outcome is not RowOutcome.UNSENT and row.is_record
    }
    check = unit.check if unit.status is UnitStatus.INVALID else None
    return WorkbookResult(
        file.step,
        unit.name,
        file.file.rows_in_sheet,
        outcomes,
        unit.problem,
        () if check is None else check.first_findings,
    )


def _held_rows(unit: UnitOverview, file: SentFile) -> Iterator[Refusal]:
    for row in file.rows:
        if row.outcome is RowOutcome.HELD and row.planned is not None and row.is_record:
            reason = row.planned.text or untranslated("–")
            yield Refusal(RowId(file.step, unit.name, row.origin), reason)


def _refusals(unit: UnitOverview, file: SentFile) -> Iterator[Refusal]:
    reasons = {job.id: job.verdict.reasons for job in file.jobs}
    for row in file.rows:
        if row.outcome in NOT_IN_TABLE:
            message = reasons.get(row.job.id, {}).get(row.row) or (
                row.job.reason if row.job.last("reason") else _NOT_SENT
            )
            yield Refusal(RowId(file.step, unit.name, row.origin), message)


class _SentRows:
    """The rows that were sent, by the tables that they go into.

    Their records are found in the journal, their contents in the stored payloads.
    """

    def __init__(self, context: UploadContext, connection: Connection) -> None:
        self._context = context
        self._connection = connection
        self._digests: dict[str, list[RowDigest | None]] = {}
        self._records: dict[str, list[tuple[str, bool]]] = {}
        self._rows: dict[str, Sequence[Mapping[str, Any]]] = {}
        self.by_table: defaultdict[str, list[ExpectedRow]] = defaultdict(list)

    def add(self, row: RowChange, row_id: RowId) -> None:
        """Add a row."""
        spec = row.job.spec
        resource = self._context.catalogue.named(spec.resource)
        if spec.mode.is_by_record and not is_compared_by_content(resource):
            number, changes = self._record(row)
            items = self._items_of(row, resource) if number else {}
            expected = ExpectedRow(row_id, row.outcome, number=number, changes=changes, items=items)
        else:
            # Rows that were not sent count by their positions in the whole sheet.
            payload = spec.payload if row.planned is None else spec.planned or spec.payload
            digest = self._digests_of(payload, resource)[row.position]
            expected = ExpectedRow(row_id, row.outcome, digest)
        self.by_table[table_name_of(resource)].append(expected)

    def _record(self, row: RowChange) -> tuple[str, bool]:
        """Return the number of a row's record, empty if unknown, and whether it existed before."""
        job = row.job
        if row.planned is not None:
            return "", False
        if job.id not in self._records:
            self._records[job.id] = [
                (write.record or write.withdrawn_record, not write.task.creates)
                for write in self._context.journal.writes.iterate(job.id)
            ]
        written = self._records[job.id]
        return written[row.position] if written else ("", False)

    def _items_of(self, row: RowChange, resource: Resource) -> dict[str, int]:
        """Return the number of items in each list of a row that has some."""
        names = [child.sheet for child in resource.children]
        if not names:
            return {}
        if row.job.id not in self._rows:
            self._rows[row.job.id] = sent_rows(self._context, row.job)
        sent = self._rows[row.job.id][row.position]
        return {name: len(items) for name in names if (items := sent.get(name))}

    def _digests_of(self, payload: str, resource: Resource) -> list[RowDigest | None]:
        if payload not in self._digests:
            self._digests[payload] = expected_row_digests(
                self._connection,
                self._context.load_payload(payload),
                resource,
                self._context.catalogue,
                self._context.settings.limits,
            )
        return self._digests[payload]
