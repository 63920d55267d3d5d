"""Reconciliation of a trial: row outcomes in the journal against rows in the database."""

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xlbridge.batch.batch import Batch, UnitOverview
from xlbridge.batch.plan.steps import WorkbookStep
from xlbridge.batch.proof.model import ProofFile
from xlbridge.batch.proof.upload_history import SentFile, UploadHistory
from xlbridge.batch.rehearsal.result import (
    DoubtfulRow,
    Refusal,
    RowId,
    TableComparison,
    TableCount,
    TrialCounts,
    Violation,
    ViolationKind,
    WorkbookResult,
)
from xlbridge.batch.status import overview
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Catalogue
from xlbridge.sandbox.rehearsal import (
    RowDigest,
    StoredRows,
    expected_row_digests,
    one_resource_per_table,
    read_stored_rows,
    table_name_of,
    table_title,
)
from xlbridge.sandbox.storage import Storage
from xlbridge.upload import UploadContext
from xlbridge.upload.results import RowOutcome

_NOT_IN_TABLE = frozenset({RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.UNSENT})

_TWICE = Text(
    pt="gravada em {table} mais vezes do que foi aceita",
    en="written to {table} more often than it was accepted",
)
_LOST = Text(pt="aceita, mas não está em {table}", en="accepted, but not in {table}")
_WRONGLY_REFUSED = Text(
    pt="dada por recusada, mas está em {table}", en="reported as rejected, but is in {table}"
)
_STRAY = Text(
    pt="{table}: {n} {n:linha|linhas} a mais do que foi enviado",
    en="{table}: {n} {n:row|rows} more than were sent",
)
_GONE = Text(
    pt="{table}: {n} {n:linha que já existia sumiu|linhas que já existiam sumiram}",
    en="{table}: {n} existing {n:row is gone|rows are gone}",
)


@dataclass(frozen=True, slots=True)
class ExpectedRow:
    """A row that was sent, its outcome, and the digest of its stored form, None if it has none."""

    row_id: RowId
    outcome: RowOutcome
    digest: RowDigest | None


def compare_tables(
    rows: Mapping[str, Sequence[ExpectedRow]],
    before: Iterable[StoredRows],
    after: Sequence[StoredRows],
) -> TableComparison:
    """Compare the sent rows of each table with the table before and after."""
    earlier = {stored.table: stored for stored in before}
    checks = [
        (_ReplacingTableCheck if stored.replaces else _AddingTableCheck)(
            earlier[stored.table], stored, rows.get(stored.table, ())
        )
        for stored in after
    ]
    return TableComparison(
        tables=tuple(check.table() for check in checks if check.concerned),
        violations=tuple(violation for check in checks for violation in check.violations()),
        doubts=tuple(sorted((d for c in checks for d in c.doubts()), key=lambda d: d.row_id)),
        preexisting=tuple(row_id for check in checks for row_id in check.preexisting()),
    )


class _TableCheck(ABC):
    """Comparison of one table with the rows that were sent for it."""

    def __init__(self, before: StoredRows, after: StoredRows, rows: Sequence[ExpectedRow]) -> None:
        self.before, self.after, self.rows = before, after, rows
        self.title = table_title(after.table)
        self.accepted = [row for row in rows if row.outcome is RowOutcome.ACCEPTED]
        self.in_doubt = [row for row in rows if row.outcome is RowOutcome.UNKNOWN]

    @property
    def concerned(self) -> bool:
        """True if rows were sent for the table, or it changed."""
        return bool(self.rows) or self.after.rows != self.before.rows

    def table(self) -> TableCount:
        """Return the table's counts."""
        before, after = self.before.rows.total(), self.after.rows.total()
        return TableCount(self.after.table, before, after, self.expected())

    @abstractmethod
    def expected(self) -> int:
        """Return the number of rows that the table should have gained."""

    @abstractmethod
    def doubts(self) -> list[DoubtfulRow]:
        """Return the rows in doubt."""

    @abstractmethod
    def preexisting(self) -> Iterator[RowId]:
        """Yield the accepted rows whose equal was in the table before the run."""

    @abstractmethod
    def violations(self) -> Iterator[Violation]:
        """Yield the violations."""


class _AddingTableCheck(_TableCheck):
    """A table to which each accepted row is added.

    Equal rows are indistinguishable, so they are counted: each accepted row, then each doubtful
    one, uses up one of the added rows; any surplus was added too often.
    """

    def __init__(self, before: StoredRows, after: StoredRows, rows: Sequence[ExpectedRow]) -> None:
        super().__init__(before, after, rows)
        self._unexplained = Counter(after.rows)
        self._unexplained.subtract(before.rows)
        self._lost = [row for row in self.accepted if not self._use_up(row)]
        self._doubts = [DoubtfulRow(row.row_id, self._use_up(row)) for row in self.in_doubt]

    def expected(self) -> int:
        return len(self.accepted) + sum(doubt.in_database for doubt in self._doubts)

    def doubts(self) -> list[DoubtfulRow]:
        return self._doubts

    def preexisting(self) -> Iterator[RowId]:
        for row in self.accepted:
            if row.digest in self.before.rows:
                yield row.row_id

    def violations(self) -> Iterator[Violation]:
        for row in self._lost:
            yield Violation(ViolationKind.LOST, _LOST.format(table=self.title), row.row_id)
        surplus = Counter({digest: n for digest, n in self._unexplained.items() if n > 0})
        by_digest: defaultdict[RowDigest, list[ExpectedRow]] = defaultdict(list)
        for row in self.rows:
            if row.digest is not None and row.digest in surplus:
                by_digest[row.digest].append(row)
        for digest, rows in by_digest.items():
            yield _surplus_violation(self.title, rows)
            del surplus[digest]
        if stray := surplus.total():
            yield Violation(ViolationKind.TWICE, _STRAY.format(table=self.title, n=stray))
        if gone := -sum(n for n in self._unexplained.values() if n < 0):
            yield Violation(ViolationKind.LOST, _GONE.format(table=self.title, n=gone))

    def _use_up(self, row: ExpectedRow) -> bool:
        if row.digest is None or self._unexplained[row.digest] <= 0:
            return False
        self._unexplained[row.digest] -= 1
        return True


class _ReplacingTableCheck(_TableCheck):
    """A table in which a row replaces the one with the same key."""

    def __init__(self, before: StoredRows, after: StoredRows, rows: Sequence[ExpectedRow]) -> None:
        super().__init__(before, after, rows)
        self._before = {digest.key: digest.content for digest in before.rows}
        self._after = {digest.key: digest.content for digest in after.rows}
        self._sent: defaultdict[bytes, set[bytes]] = defaultdict(set)
        for row in rows:
            if row.digest is not None and row.outcome not in _NOT_IN_TABLE:
                self._sent[row.digest.key].add(row.digest.content)

    def expected(self) -> int:
        sure = {row.digest.key for row in self.accepted if row.digest is not None}
        doubtful = self._sent.keys() - sure
        return len((sure | (doubtful & self._after.keys())) - self._before.keys())

    def doubts(self) -> list[DoubtfulRow]:
        return [DoubtfulRow(row.row_id, self._is_stored(row)) for row in self.in_doubt]

    def preexisting(self) -> Iterator[RowId]:
        yield from ()

    def violations(self) -> Iterator[Violation]:
        for row in self.accepted:
            # Another sent row with the same key may have replaced it.
            key = None if row.digest is None else row.digest.key
            if key is None or self._after.get(key) not in self._sent[key]:
                yield Violation(ViolationKind.LOST, _LOST.format(table=self.title), row.row_id)
        for row in self.rows:
            if row.outcome in _NOT_IN_TABLE and self._is_new(row):
                yield Violation(
                    ViolationKind.WRONGLY_REFUSED,
                    _WRONGLY_REFUSED.format(table=self.title),
                    row.row_id,
                )
        sent = {row.digest.key for row in self.rows if row.digest is not None}
        changed = {key for key in self._after if self._after[key] != self._before.get(key)}
        if stray := len(changed - sent):
            yield Violation(ViolationKind.TWICE, _STRAY.format(table=self.title, n=stray))
        if gone := len(self._before.keys() - self._after.keys()):
            yield Violation(ViolationKind.LOST, _GONE.format(table=self.title, n=gone))

    def _is_stored(self, row: ExpectedRow) -> bool:
        return row.digest is not None and self._after.get(row.digest.key) == row.digest.content

    def _is_new(self, row: ExpectedRow) -> bool:
        if row.digest is None or not self._is_stored(row):
            return False
        key, content = row.digest.key, row.digest.content
        return self._before.get(key) != content and content not in self._sent[key]


def _surplus_violation(title: Text | str, rows: Sequence[ExpectedRow]) -> Violation:
    """Return the violation if equal rows were added more often than they were accepted."""
    accepted = [row for row in rows if row.outcome is RowOutcome.ACCEPTED]
    if accepted or any(row.outcome is RowOutcome.UNKNOWN for row in rows):
        return Violation(
            ViolationKind.TWICE, _TWICE.format(table=title), (accepted or rows)[0].row_id
        )
    return Violation(
        ViolationKind.WRONGLY_REFUSED, _WRONGLY_REFUSED.format(table=title), rows[0].row_id
    )


_NOT_SENT = Text(pt="não foi enviada", en="was not sent")


def read_tables(storage: Storage, catalogue: Catalogue) -> list[StoredRows]:
    """Return the stored rows of all resources."""
    imported = (resource for resource in catalogue.values() if resource.is_imported)
    with storage.transaction(writing=False) as connection:
        return [
            read_stored_rows(connection, resource) for resource in one_resource_per_table(imported)
        ]


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
    histories = {
        profile: UploadHistory(batch.environments.context(profile).journal)
        for profile in {step.profile for step in batch.plan.steps}
    }
    files: list[tuple[UnitOverview, SentFile]] = []
    for state in states:
        step = state.step
        if isinstance(step, WorkbookStep) and step.sending is not None:
            for unit in state.units:
                path, jobs = batch.plan.folder / unit.name, tuple(j.id for j in unit.jobs[:1])
                count = rows[step.name, unit.name]
                file = ProofFile(path, unit.sha256, count, unit.problem, jobs)
                files.append((unit, histories[step.profile].of(step.name, file)))
    context = batch.environments.context(None)
    sent = _expected_rows([(unit.name, file) for unit, file in files], context, storage)
    comparison = compare_tables(sent, before, read_tables(storage, context.catalogue))
    contradictions = tuple(
        Violation(ViolationKind.NO_VERDICT, breach) for _, file in files for breach in file.breaches
    )
    return TrialCounts(
        workbooks=tuple(_workbook_result(unit, file) for unit, file in files),
        refusals=tuple(refusal for unit, file in files for refusal in _refusals(unit, file)),
        comparison=replace(comparison, violations=(*comparison.violations, *contradictions)),
        open_steps={
            state.step.name: state.problem or state.status.text
            for state in states
            if not state.done
        },
    )


def _workbook_result(unit: UnitOverview, file: SentFile) -> WorkbookResult:
    outcomes = {
        row.origin: row.outcome for row in file.rows if row.outcome is not RowOutcome.UNSENT
    }
    return WorkbookResult(file.step, unit.name, file.file.rows_in_sheet, outcomes, unit.problem)


def _refusals(unit: UnitOverview, file: SentFile) -> Iterator[Refusal]:
    reasons: dict[tuple[str, int | None], Text] = {}
    for job in file.jobs:
        for refused in job.verdict.rejected_rows:
            column = f"{refused.column}: " if refused.column else ""
            message = untranslated("{column}{text}").format(column=column, text=refused.message)
            reasons.setdefault((job.id, refused.row), message)
    for row in file.rows:
        if row.outcome in _NOT_IN_TABLE:
            message = reasons.get((row.job.id, row.row)) or (
                row.job.reason if row.job.last("reason") else _NOT_SENT
            )
            yield Refusal(RowId(file.step, unit.name, row.origin), message)


def _expected_rows(
    files: Sequence[tuple[str, SentFile]], context: UploadContext, storage: Storage
) -> Mapping[str, list[ExpectedRow]]:
    """Return the rows that were sent, by their tables."""
    by_table: defaultdict[str, list[ExpectedRow]] = defaultdict(list)
    with storage.transaction(writing=False) as connection:
        for name, file in files:
            digests: dict[str, list[RowDigest | None]] = {}
            # Rows that were not sent have positions in the whole sheet.
            for row in file.rows:
                spec = row.job.spec
                resource = context.catalogue.named(spec.resource)
                payload = spec.payload if row.planned is None else spec.planned or spec.payload
                if payload not in digests:
                    content = context.load_payload(payload)
                    limits = context.settings.limits
                    digests[payload] = expected_row_digests(
                        connection, content, resource, context.catalogue, limits
                    )
                digest = digests[payload][row.position]
                row_id = RowId(file.step, name, row.origin)
                by_table[table_name_of(resource)].append(ExpectedRow(row_id, row.outcome, digest))
    return by_table
