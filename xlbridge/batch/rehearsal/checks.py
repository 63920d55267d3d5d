"""Checks of a trial: what its closing proofs show of each row, and the numbers of the tables' rows.

The proof matches rows and records. The number of a table's rows also shows rows without a key,
records that no row brought, and records that are gone.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from xlbridge.batch.batch import Batch
from xlbridge.batch.plan.steps import BatchPlan, relative_name
from xlbridge.batch.proof.builder import contradictions
from xlbridge.batch.proof.content import OPEN_REASONS
from xlbridge.batch.proof.model import FileProof, OpenReason, Proof, RowLocation
from xlbridge.batch.run_options import BatchOutcome
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Catalogue, Resource
from xlbridge.sandbox.rehearsal import (
    StoredRows,
    read_stored_rows,
    replaces_rows,
    table_name_of,
)
from xlbridge.sandbox.storage import Storage
from xlbridge.upload import UploadContext
from xlbridge.upload.results import RowOutcome


class ViolationKind(StrEnum):
    """Kind of violation, which must not happen under any fault.

    ``TWICE``: a row is stored more often than it was accepted. ``LOST``: an accepted row is not
    stored. ``WRONGLY_REFUSED``: a row reported as rejected is stored. ``NO_VERDICT``: the outcomes
    do not account for all rows of a workbook.
    """

    TWICE = "twice"
    LOST = "lost"
    WRONGLY_REFUSED = "wrongly_refused"
    NO_VERDICT = "no_verdict"


class RowId(NamedTuple):
    """Identity of a row: its step, its workbook's name in the plan, and Excel's row number."""

    step: str
    workbook: str
    row: int


class Violation(NamedTuple):
    """A violation; ``row_id`` is None if it does not concern a single row."""

    kind: ViolationKind
    message: Text
    row_id: RowId | None = None


@dataclass(frozen=True, slots=True)
class TableCount:
    """Row counts of a table before and after the run, and the expected increase.

    ``derived`` of the expected rows were created by processing other records.
    """

    table: str
    title: Text
    before: int
    after: int
    expected: int
    derived: int = 0


@dataclass(slots=True)
class TrialChecks:
    """Outcomes of the rows of a trial.

    ``outcomes`` are those of all rows that were sent or left out by a plan, ``refused`` and
    ``held`` the reasons of those that are not in the system. ``doubts`` tells of each row in doubt
    whether it is; None: some of these rows are, and nothing shows which ones.
    """

    outcomes: dict[RowId, RowOutcome] = field(default_factory=dict)
    refused: dict[RowId, Text] = field(default_factory=dict)
    held: dict[RowId, Text] = field(default_factory=dict)
    tables: list[TableCount] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    doubts: dict[RowId, bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One trial of the month: the status of its steps and their proofs, and the checks of both.

    ``copied`` is the number of workbooks, ``stand_ins`` the number of records created for it by
    table. ``faulty_runs`` were under faults, ``calm_runs`` without.
    """

    outcome: BatchOutcome
    checks: TrialChecks
    copied: int
    stand_ins: Mapping[str, int]
    faulty_runs: int
    calm_runs: int


class RehearsalState(StrEnum):
    """Verdict on a rehearsal; ``NOT_READY``: a person must fix something."""

    PASSED = "passed"
    NOT_READY = "not_ready"
    IN_DOUBT = "in_doubt"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class RehearsalResult:
    """A rehearsal of a plan: its trial under faults.

    ``differences`` are the rows that ended differently in the trial without faults, each with that
    outcome and the other one, None if it was never sent; None without such a trial.
    """

    plan: BatchPlan
    faults: str
    trial: TrialResult
    kept: bool
    differences: Mapping[RowId, tuple[RowOutcome | None, RowOutcome | None]] | None = None

    @property
    def state(self) -> RehearsalState:
        """The worst state found."""
        outcome, checks = self.trial.outcome, self.trial.checks
        if checks.violations:
            return RehearsalState.BROKEN
        if checks.doubts:
            return RehearsalState.IN_DOUBT
        done = all(state.done for state in outcome.steps) and outcome.proofs_settled
        if not done or self.differences:
            return RehearsalState.NOT_READY
        return RehearsalState.PASSED


_OF_PROOF = {
    OpenReason.DOUBLED: ViolationKind.TWICE,
    OpenReason.MISSING: ViolationKind.LOST,
    OpenReason.WRITTEN: ViolationKind.WRONGLY_REFUSED,
}
_ITEMS_DIFFER = Text(
    pt="{items}: {sent} {sent:enviado|enviados}, {stored} no sistema",
    en="{items}: {sent} sent, {stored} in the system",
)
_MORE = Text(
    pt="{table}: {n} {n:linha|linhas} a mais do que foi aceito",
    en="{table}: {n} {n:row|rows} more than were accepted",
)
_FEWER = Text(
    pt="{table}: {n} {n:linha|linhas} a menos do que foi aceito",
    en="{table}: {n} {n:row|rows} fewer than were accepted",
)
_NOT_IN_SYSTEM = frozenset({RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.UNSENT})
_NOT_SENT = Text(pt="não foi enviada", en="was not sent")


def read_tables(storage: Storage, catalogue: Catalogue) -> dict[str, StoredRows]:
    """Return the number of the rows of all resources, by the names of their tables."""
    with storage.transaction(writing=False) as connection:
        return {
            table_name_of(resource): read_stored_rows(connection, resource)
            for resource in catalogue.values()
        }


def check_trial(
    batch: Batch, outcome: BatchOutcome, storage: Storage, before: Mapping[str, StoredRows]
) -> TrialChecks:
    """Check a trial after its last run; ``before`` are the tables before the first run."""
    context = batch.environments.context(None)
    checks = TrialChecks()
    folder = batch.plan.folder
    validated = {
        (state.step.name, unit.name): unit.check.rows
        for state in outcome.steps
        for unit in state.units
        if unit.check is not None
    }
    lists = {child.sheet for one in context.catalogue.values() for child in one.children}
    files = []
    for written in outcome.proofs:
        _check_proof(checks, written.proof, folder, lists)
        files += [file for of_step in written.proof.steps.values() for file in of_step]
    for file in files:
        if file.ledger is None:
            continue
        name = relative_name(folder, file.file.path)
        # The proof trusts the uploads' own counts.
        rows_in_sheet = validated.get((file.step, name), file.file.rows_in_sheet)
        counted = replace(file, file=replace(file.file, rows_in_sheet=rows_in_sheet))
        checks.violations += [
            Violation(ViolationKind.NO_VERDICT, text) for text in contradictions(counted)
        ]
        for row in file.rows:
            why = file.ledger.reason(row)
            row_id = RowId(file.step, name, row.origin)
            if row.outcome is not RowOutcome.UNSENT and row.is_record:
                checks.outcomes[row_id] = row.outcome
            if row.outcome in _NOT_IN_SYSTEM:
                checks.refused[row_id] = why or _NOT_SENT
            elif row.left_out and row.outcome is RowOutcome.HELD and row.is_record:
                checks.held[row_id] = why or untranslated("–")
    sent = _sent_by_table(context, files, folder)
    after = read_tables(storage, context.catalogue)
    for name, resource in {table_name_of(r): r for r in context.catalogue.values()}.items():
        check_table(checks, resource, sent[name], before[name], after[name])
    # The proof and the tables may show the same.
    checks.violations = list(dict.fromkeys(checks.violations))
    return checks


def _check_proof(checks: TrialChecks, proof: Proof, folder: Path, lists: Collection[str]) -> None:
    """Add the violations that a proof shows, and whether the rows in doubt are in the system."""

    def row_id(place: RowLocation) -> RowId:
        return RowId(place.step, relative_name(folder, place.workbook), place.origin)

    for row in proof.rows:
        if row.state in _OF_PROOF:
            kind, message = _OF_PROOF[row.state], OPEN_REASONS[row.state]
            checks.violations.append(Violation(kind, message, row_id(row.location)))
        elif row.key:
            checks.doubts[row_id(row.location)] = bool(row.codes)
    for cell in proof.cells:
        # The difference of a whole list is that of its numbers of items.
        if cell.column in lists:
            sent, stored = int(cell.sent or 0), int(cell.found or 0)
            kind = ViolationKind.LOST if stored < sent else ViolationKind.TWICE
            message = _ITEMS_DIFFER.format(items=cell.column, sent=sent, stored=stored)
            checks.violations.append(Violation(kind, message, row_id(cell.location)))


@dataclass(slots=True)
class SentTable:
    """The rows sent for a table, with their outcomes.

    ``created`` records came of accepted rows; those that were closed because their lists were
    rejected are among them. ``doubtful`` rows may have created one.
    """

    rows: list[RowId] = field(default_factory=list)
    created: int = 0
    doubtful: list[RowId] = field(default_factory=list)


def _sent_by_table(
    context: UploadContext, files: Sequence[FileProof], folder: Path
) -> defaultdict[str, SentTable]:
    """Return the rows that jobs have sent, by table."""
    tables: defaultdict[str, SentTable] = defaultdict(SentTable)
    for file in files:
        name = relative_name(folder, file.file.path)
        for row in file.rows:
            if row.left_out:
                continue
            table = tables[table_name_of(context.catalogue.named(row.job.spec.resource))]
            row_id = RowId(file.step, name, row.origin)
            table.rows.append(row_id)
            if not row.updates:
                table.created += row.outcome is RowOutcome.ACCEPTED
                if row.outcome is RowOutcome.UNKNOWN:
                    table.doubtful.append(row_id)
        for job in file.jobs:
            if job.spec.mode.channel.by_record:
                table = tables[table_name_of(context.catalogue.named(job.spec.resource))]
                writes = context.journal.writes.iterate(job.id)
                table.created += sum(bool(write.withdrawn_record) for write in writes)
    return tables


def check_table(
    checks: TrialChecks, resource: Resource, sent: SentTable, before: StoredRows, after: StoredRows
) -> None:
    """Compare the number of a table's rows with the records that were created.

    Rows that replace those with the same key may have created none.
    """
    if not sent.rows and before == after:
        return
    gained, replaces = after.number - before.number, replaces_rows(resource)
    most = sent.created + len(sent.doubtful)
    fewest = 0 if replaces else sent.created
    # Only if the system has all or none of the rows in doubt is it known of each.
    there = None if replaces else {fewest: False, most: True}.get(gained)
    for row_id in sent.doubtful:
        checks.doubts.setdefault(row_id, there)
    pt, en = (text[:1].lower() + text[1:] for text in (resource.title.pt, resource.title.en))
    title, derived = Text(pt=pt, en=en), after.derived - before.derived
    checks.tables.append(
        TableCount(
            table_name_of(resource),
            title,
            before.number + before.derived,
            after.number + after.derived,
            min(max(gained, fewest), most) + derived,
            derived,
        )
    )
    if not {one.row_id for one in checks.violations}.isdisjoint(sent.rows):
        # The proof has named the rows; a mere count tells nothing more.
        return
    for kind, message, number in (
        (ViolationKind.LOST, _FEWER, fewest - gained),
        (ViolationKind.TWICE, _MORE, gained - most),
    ):
        if number > 0:
            checks.violations.append(Violation(kind, message.format(table=title, n=number)))
