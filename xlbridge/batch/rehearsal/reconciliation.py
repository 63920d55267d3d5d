"""Reconciliation of a trial: what the journal says of each row against what the tables hold."""

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
    pt="o conteúdo dela entrou em {table} mais vezes do que foi aceito",
    en="its content went into {table} more often than it was accepted",
)
_LOST = Text(pt="aceita, e não está em {table}", en="accepted, and not in {table}")
_WRONGLY_REFUSED = Text(
    pt="dada por recusada, e está em {table}", en="reported as refused, and is in {table}"
)
_STRAY = Text(
    pt="{table}: {n} {n:linha|linhas} a mais do que foi enviado",
    en="{table}: {n} {n:row|rows} more than were sent",
)
_GONE = Text(
    pt="{table}: {n} {n:linha que lá estava sumiu|linhas que lá estavam sumiram}",
    en="{table}: {n} {n:row that was there is gone|rows that were there are gone}",
)


@dataclass(frozen=True, slots=True)
class ExpectedRow:
    """A row that was sent: its outcome, and the digest of its stored form, None without one."""

    row_id: RowId
    outcome: RowOutcome
    digest: RowDigest | None


def compare_tables(
    rows: Mapping[str, Sequence[ExpectedRow]],
    before: Iterable[StoredRows],
    after: Sequence[StoredRows],
) -> TableComparison:
    """Compare the rows sent, by the tables that they go into, with the tables before and after."""
    earlier = {held.table: held for held in before}
    counts = [
        (_ReplacingTableCheck if held.replaces else _AddingTableCheck)(
            earlier[held.table], held, rows.get(held.table, ())
        )
        for held in after
    ]
    return TableComparison(
        tables=tuple(count.table() for count in counts if count.concerned),
        violations=tuple(one for count in counts for one in count.violations()),
        doubts=tuple(sorted((d for c in counts for d in c.doubts()), key=lambda d: d.row_id)),
        preexisting=tuple(row_id for count in counts for row_id in count.preexisting()),
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
        """Return how many rows the table should have gained."""

    @abstractmethod
    def doubts(self) -> list[DoubtfulRow]:
        """Return the rows in doubt."""

    @abstractmethod
    def preexisting(self) -> Iterator[RowId]:
        """Yield the accepted rows whose like was in the table before the run."""

    @abstractmethod
    def violations(self) -> Iterator[Violation]:
        """Yield the violations."""


class _AddingTableCheck(_TableCheck):
    """A table that each accepted row is added to.

    Equal rows cannot be told apart, so they are counted: of what was added, each accepted row
    takes one away, then each doubtful one; what is left over was added too often.
    """

    def __init__(self, before: StoredRows, after: StoredRows, rows: Sequence[ExpectedRow]) -> None:
        super().__init__(before, after, rows)
        self._left = Counter(after.rows)
        self._left.subtract(before.rows)
        self._lost = [row for row in self.accepted if not self._take(row)]
        self._doubts = [DoubtfulRow(row.row_id, self._take(row)) for row in self.in_doubt]

    def expected(self) -> int:
        return len(self.accepted) + sum(doubt.there for doubt in self._doubts)

    def doubts(self) -> list[DoubtfulRow]:
        return self._doubts

    def preexisting(self) -> Iterator[RowId]:
        for row in self.accepted:
            if row.digest in self.before.rows:
                yield row.row_id

    def violations(self) -> Iterator[Violation]:
        for row in self._lost:
            yield Violation(ViolationKind.LOST, _LOST.format(table=self.title), row.row_id)
        left = Counter({digest: n for digest, n in self._left.items() if n > 0})
        by_digest: defaultdict[RowDigest, list[ExpectedRow]] = defaultdict(list)
        for row in self.rows:
            if row.digest is not None and row.digest in left:
                by_digest[row.digest].append(row)
        for digest, rows in by_digest.items():
            yield _surplus_violation(self.title, rows)
            del left[digest]
        if stray := left.total():
            yield Violation(ViolationKind.TWICE, _STRAY.format(table=self.title, n=stray))
        if gone := -sum(n for n in self._left.values() if n < 0):
            yield Violation(ViolationKind.LOST, _GONE.format(table=self.title, n=gone))

    def _take(self, row: ExpectedRow) -> bool:
        if row.digest is None or self._left[row.digest] <= 0:
            return False
        self._left[row.digest] -= 1
        return True


class _ReplacingTableCheck(_TableCheck):
    """A table in which a row takes the place of the one with its key, so none is there twice."""

    def __init__(self, before: StoredRows, after: StoredRows, rows: Sequence[ExpectedRow]) -> None:
        super().__init__(before, after, rows)
        self._earlier = {digest.key: digest.content for digest in before.rows}
        self._there = {digest.key: digest.content for digest in after.rows}
        self._said: defaultdict[bytes, set[bytes]] = defaultdict(set)
        for row in rows:
            if row.digest is not None and row.outcome not in _NOT_IN_TABLE:
                self._said[row.digest.key].add(row.digest.content)

    def expected(self) -> int:
        sure = {row.digest.key for row in self.accepted if row.digest is not None}
        doubtful = self._said.keys() - sure
        return len((sure | (doubtful & self._there.keys())) - self._earlier.keys())

    def doubts(self) -> list[DoubtfulRow]:
        return [DoubtfulRow(row.row_id, self._is_there(row)) for row in self.in_doubt]

    def preexisting(self) -> Iterator[RowId]:
        yield from ()

    def violations(self) -> Iterator[Violation]:
        for row in self.accepted:
            # Another row that was sent with its key may stand there in its place.
            key = None if row.digest is None else row.digest.key
            if key is None or self._there.get(key) not in self._said[key]:
                yield Violation(ViolationKind.LOST, _LOST.format(table=self.title), row.row_id)
        for row in self.rows:
            if row.outcome in _NOT_IN_TABLE and self._is_new(row):
                yield Violation(
                    ViolationKind.WRONGLY_REFUSED,
                    _WRONGLY_REFUSED.format(table=self.title),
                    row.row_id,
                )
        sent = {row.digest.key for row in self.rows if row.digest is not None}
        changed = {key for key in self._there if self._there[key] != self._earlier.get(key)}
        if stray := len(changed - sent):
            yield Violation(ViolationKind.TWICE, _STRAY.format(table=self.title, n=stray))
        if gone := len(self._earlier.keys() - self._there.keys()):
            yield Violation(ViolationKind.LOST, _GONE.format(table=self.title, n=gone))

    def _is_there(self, row: ExpectedRow) -> bool:
        return row.digest is not None and self._there.get(row.digest.key) == row.digest.content

    def _is_new(self, row: ExpectedRow) -> bool:
        if row.digest is None or not self._is_there(row):
            return False
        key, content = row.digest.key, row.digest.content
        return self._earlier.get(key) != content and content not in self._said[key]


def _surplus_violation(title: Text | str, rows: Sequence[ExpectedRow]) -> Violation:
    """Say what it means that rows of one content were added more often than any was accepted."""
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
    """Return what the tables of all resources hold."""
    with storage.transaction(writing=False) as connection:
        return [
            read_stored_rows(connection, resource)
            for resource in one_resource_per_table(
                each for each in catalogue.values() if each.is_imported
            )
        ]


def reconcile_trial(
    batch: Batch,
    rows: Mapping[tuple[str, str], int],
    storage: Storage,
    before: Sequence[StoredRows],
) -> TrialCounts:
    """Return the outcome of every row, compared with the tables.

    ``rows`` is how many rows each workbook has, by its step's name and its own; ``before`` is
    what the tables held before the first run.
    """
    states = overview(batch)
    uploads = {
        profile: UploadHistory(batch.environments.context(profile).journal)
        for profile in {step.profile for step in batch.plan.steps}
    }
    files: list[tuple[UnitOverview, SentFile]] = []
    for state in states:
        step = state.step
        if isinstance(step, WorkbookStep) and step.sending is not None:
            for unit in state.units:
                path, jobs = batch.plan.folder / unit.name, tuple(j.id for j in unit.jobs[:1])
                read = rows[step.name, unit.name]
                sent_file = ProofFile(path, unit.sha256, read, unit.problem, jobs)
                files.append((unit, uploads[step.profile].of(step.name, sent_file)))
    context = batch.environments.context(None)
    sent = _expected_rows([(unit.name, file) for unit, file in files], context, storage)
    counted = compare_tables(sent, before, read_tables(storage, context.catalogue))
    contradictions = tuple(
        Violation(ViolationKind.NO_VERDICT, breach) for _, file in files for breach in file.breaches
    )
    return TrialCounts(
        workbooks=tuple(_workbook_result(unit, file) for unit, file in files),
        refusals=tuple(refusal for unit, file in files for refusal in _refusals(unit, file)),
        tally=replace(counted, violations=(*counted.violations, *contradictions)),
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
            message = untranslated("{column}{told}").format(column=column, told=refused.message)
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
    """Return the rows that were sent, by the tables that they go into."""
    found: defaultdict[str, list[ExpectedRow]] = defaultdict(list)
    with storage.transaction(writing=False) as connection:
        for name, file in files:
            stored: dict[str, list[RowDigest | None]] = {}
            # Rows that were not sent count by their places in the whole sheet.
            for row in file.rows:
                spec = row.job.spec
                resource = context.catalogue.named(spec.resource)
                payload = spec.payload if row.planned is None else spec.planned or spec.payload
                if payload not in stored:
                    content = context.load_payload(payload)
                    limits = context.settings.limits
                    stored[payload] = expected_row_digests(
                        connection, content, resource, context.catalogue, limits
                    )
                digest = stored[payload][row.position]
                row_id = RowId(file.step, name, row.origin)
                found[table_name_of(resource)].append(ExpectedRow(row_id, row.outcome, digest))
    return found
