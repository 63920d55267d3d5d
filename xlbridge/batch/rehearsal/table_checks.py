"""Checks of tables: the rows that were sent against what each table held before and after."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from xlbridge.batch.rehearsal.result import (
    DoubtfulRow,
    RowId,
    TableComparison,
    TableCount,
    Violation,
    ViolationKind,
)
from xlbridge.i18n import Text
from xlbridge.upload.results import RowOutcome

if TYPE_CHECKING:
    from xlbridge.sandbox.rehearsal import RowDigest, StoredRows

NOT_IN_TABLE = frozenset({RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.UNSENT})

_TWICE = Text(
    pt="gravada em {table} mais vezes do que foi aceita",
    en="written to {table} more often than it was accepted",
)
_LOST = Text(pt="aceita, mas não está em {table}", en="accepted, but not in {table}")
_WRONGLY_REFUSED = Text(
    pt="dada por rejeitada, mas está em {table}", en="reported as rejected, but is in {table}"
)
_STRAY = Text(
    pt="{table}: {n} {n:linha|linhas} a mais do que foi enviado ({n:número|números} {numbers})",
    en="{table}: {n} {n:row|rows} more than were sent ({n:number|numbers} {numbers})",
)
_MAX_NUMBERS = 5
_OTHERS_NUMBER = Text(
    pt="aceita com o número {number}, que é de outro registro em {table}",
    en="accepted with the number {number}, which another record in {table} has",
)
_ALTERED = Text(
    pt="{table}: {n} {n:linha que já existia mudou|linhas que já existiam mudaram} sem que nenhuma "
    "linha enviada as alterasse",
    en="{table}: {n} existing {n:row has|rows have} changed, though no row sent changes them",
)
_ITEMS_DIFFER = Text(
    pt="{items}: {sent} {sent:enviado|enviados}, {stored} no sistema",
    en="{items}: {sent} sent, {stored} in the system",
)
_GONE = Text(
    pt="{table}: {n} {n:linha que já existia sumiu|linhas que já existiam sumiram}",
    en="{table}: {n} existing {n:row is gone|rows are gone}",
)


@dataclass(frozen=True, slots=True)
class ExpectedRow:
    """A row that was sent, and its outcome.

    ``digest`` is that of its stored form, None if it has none. A row that was sent as a single
    record has the ``number`` of that record, empty if the system did not return it; with
    ``changes`` the record existed before. Other rows have no number. ``items`` are the counts of
    items of its lists.
    """

    row_id: RowId
    outcome: RowOutcome
    digest: "RowDigest | None" = None
    number: str | None = None
    changes: bool = False
    items: Mapping[str, int] = field(default_factory=dict)


def compare_tables(
    rows: Mapping[str, Sequence[ExpectedRow]],
    before: Iterable["StoredRows"],
    after: Sequence["StoredRows"],
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

    def __init__(
        self, before: "StoredRows", after: "StoredRows", rows: Sequence[ExpectedRow]
    ) -> None:
        self.before, self.after, self.rows = before, after, rows
        self.title = after.title
        self.accepted = [row for row in rows if row.outcome is RowOutcome.ACCEPTED]
        self.in_doubt = [row for row in rows if row.outcome is RowOutcome.UNKNOWN]

    @property
    def concerned(self) -> bool:
        """True if rows were sent for the table, or it changed."""
        return bool(self.rows) or self.after.rows != self.before.rows

    def table(self) -> TableCount:
        """Return the table's counts."""
        before, after = len(self.before.rows), len(self.after.rows)
        derived = len(self.after.derived - self.before.rows.keys())
        expected = self.expected() + derived
        return TableCount(self.after.table, self.title, before, after, expected, derived)

    @abstractmethod
    def expected(self) -> int:
        """Return the number of rows that the table should have gained from those sent."""

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

    Each accepted row accounts for one added record, then each doubtful one; records left over
    were added too often. A record is found by its number; if the system returned none, by its
    content, as equal rows cannot be told apart; if that is unknown too, any record will do.
    """

    def __init__(
        self, before: "StoredRows", after: "StoredRows", rows: Sequence[ExpectedRow]
    ) -> None:
        super().__init__(before, after, rows)
        self._left = _AddedRecords(before, after, _changed_numbers(rows))
        self._lost: list[ExpectedRow] = []
        self._withdrawn = sum(
            bool(row.number) and self._left.take(row)
            for row in rows
            if row.outcome in NOT_IN_TABLE and not row.changes
        )
        for row in sorted(self.accepted, key=_precision):
            is_there = row.number in after.rows if row.changes else self._left.take(row)
            if not is_there:
                self._lost.append(row)
        self._doubtful_records = 0
        self._doubts = list(self._settled_doubts())

    def _settled_doubts(self) -> Iterator[DoubtfulRow]:
        """Yield the rows in doubt; of rows without a number only the count of records is known."""
        unnumbered = []
        for row in self.in_doubt:
            if row.changes:
                yield DoubtfulRow(row.row_id, row.number in self.after.rows)
            elif row.number == "":
                unnumbered.append(row)
            else:
                taken = self._left.take(row)
                self._doubtful_records += taken
                yield DoubtfulRow(row.row_id, taken)
        found = sum(self._left.take(row) for row in unnumbered)
        self._doubtful_records += found
        is_known = found in (0, len(unnumbered))
        for row in unnumbered:
            yield DoubtfulRow(row.row_id, bool(found) if is_known else None)

    def expected(self) -> int:
        created = sum(not row.changes for row in self.accepted)
        return created + self._doubtful_records + self._withdrawn

    def doubts(self) -> list[DoubtfulRow]:
        return self._doubts

    def preexisting(self) -> Iterator[RowId]:
        earlier = set(self.before.rows.values()) - {None}
        for row in self.accepted:
            if row.digest in earlier:
                yield row.row_id

    def violations(self) -> Iterator[Violation]:
        for row in self._lost:
            message = _OTHERS_NUMBER if row.number in self.after.rows else _LOST
            text = message.format(table=self.title, number=row.number)
            yield Violation(ViolationKind.LOST, text, row.row_id)
        for row in self.accepted:
            yield from self._item_violations(row)
        left = self._left.remaining()
        by_digest: defaultdict[RowDigest, list[ExpectedRow]] = defaultdict(list)
        for row in self.rows:
            if row.digest is not None and row.digest in left:
                by_digest[row.digest].append(row)
        for digest, rows in by_digest.items():
            yield _surplus_violation(self.title, rows)
            del left[digest]
        if stray := [number for numbers in left.values() for number in numbers]:
            yield Violation(ViolationKind.TWICE, _stray_message(self.title, stray))
        before, after = self.before.rows, self.after.rows
        if gone := len(before.keys() - after.keys()):
            yield Violation(ViolationKind.LOST, _GONE.format(table=self.title, n=gone))
        altered = {
            number for number in before.keys() & after.keys() if before[number] != after[number]
        }
        if unexplained := len(altered - _changed_numbers(self.rows)):
            yield Violation(ViolationKind.LOST, _ALTERED.format(table=self.title, n=unexplained))

    def _item_violations(self, row: ExpectedRow) -> Iterator[Violation]:
        """Yield the violations of a row whose record has fewer or more items than were sent."""
        if row.changes or row.number is None or row.number not in self.after.rows:
            return
        for name, sent in row.items.items():
            stored = self.after.items.get(name, {}).get(row.number, 0)
            if stored != sent:
                kind = ViolationKind.LOST if stored < sent else ViolationKind.TWICE
                message = _ITEMS_DIFFER.format(items=name, sent=sent, stored=stored)
                yield Violation(kind, message, row.row_id)


def _precision(row: ExpectedRow) -> int:
    """Rank a row: first those with a number, then those with a content, then the others."""
    return 0 if row.number else 1 if row.number is None else 2


def _changed_numbers(rows: Iterable[ExpectedRow]) -> set[str]:
    return {row.number for row in rows if row.changes and row.number}


class _AddedRecords:
    """Records added to a table that no row accounts for yet.

    The content of ``changed`` ones is no longer that of the rows that created them.
    """

    def __init__(self, before: "StoredRows", after: "StoredRows", changed: set[str]) -> None:
        known = before.rows.keys() | after.derived
        self._left = {n: digest for n, digest in after.rows.items() if n not in known}
        self._by_digest: defaultdict[RowDigest | None, list[str]] = defaultdict(list)
        for number, digest in self._left.items():
            self._by_digest[digest].append(number)
        self._changed = [number for number in self._left if number in changed]

    def take(self, row: ExpectedRow) -> bool:
        """Return whether a record accounts for a row, and remove it."""
        if row.number:
            candidates = [row.number]
        elif row.number is None:
            candidates = [] if row.digest is None else self._by_digest[row.digest]
        else:
            candidates = list(islice(self._left, 1))
        return self._take_first(candidates) or (
            row.number is None and row.digest is not None and self._take_first(self._changed)
        )

    def _take_first(self, candidates: list[str]) -> bool:
        while candidates:
            number = candidates.pop()
            if number in self._left:
                del self._left[number]
                return True
        return False

    def remaining(self) -> "dict[RowDigest | None, list[str]]":
        """Return the numbers of the records that are left, by their content."""
        numbers: defaultdict[RowDigest | None, list[str]] = defaultdict(list)
        for number, digest in self._left.items():
            numbers[digest].append(number)
        return dict(numbers)


class _ReplacingTableCheck(_TableCheck):
    """A table in which a row replaces the one with the same key."""

    def __init__(
        self, before: "StoredRows", after: "StoredRows", rows: Sequence[ExpectedRow]
    ) -> None:
        super().__init__(before, after, rows)
        self._before = _contents_by_key(before)
        self._after = _contents_by_key(after)
        self._sent: defaultdict[bytes, set[bytes]] = defaultdict(set)
        for row in rows:
            if row.digest is not None and row.outcome not in NOT_IN_TABLE:
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
            if row.outcome in NOT_IN_TABLE and self._is_new(row):
                yield Violation(
                    ViolationKind.WRONGLY_REFUSED,
                    _WRONGLY_REFUSED.format(table=self.title),
                    row.row_id,
                )
        sent = {row.digest.key for row in self.rows if row.digest is not None}
        changed = {key for key in self._after if self._after[key] != self._before.get(key)}
        if strays := changed - sent:
            numbers = [n for n, one in self.after.rows.items() if one and one.key in strays]
            yield Violation(ViolationKind.TWICE, _stray_message(self.title, numbers))
        if gone := len(self._before.keys() - self._after.keys()):
            yield Violation(ViolationKind.LOST, _GONE.format(table=self.title, n=gone))

    def _is_stored(self, row: ExpectedRow) -> bool:
        return row.digest is not None and self._after.get(row.digest.key) == row.digest.content

    def _is_new(self, row: ExpectedRow) -> bool:
        if row.digest is None or not self._is_stored(row):
            return False
        key, content = row.digest.key, row.digest.content
        return self._before.get(key) != content and content not in self._sent[key]


def _contents_by_key(stored: "StoredRows") -> dict[bytes, bytes]:
    return {digest.key: digest.content for digest in stored.rows.values() if digest is not None}


def _stray_message(title: Text, numbers: Sequence[str]) -> Text:
    shown = [*numbers[:_MAX_NUMBERS], *(["…"] if len(numbers) > _MAX_NUMBERS else [])]
    return _STRAY.format(table=title, n=len(numbers), numbers=", ".join(shown))


def _surplus_violation(title: Text, rows: Sequence[ExpectedRow]) -> Violation:
    """Return the violation if equal rows were added more often than they were accepted."""
    accepted = [row for row in rows if row.outcome is RowOutcome.ACCEPTED]
    if accepted or any(row.outcome is RowOutcome.UNKNOWN for row in rows):
        return Violation(
            ViolationKind.TWICE, _TWICE.format(table=title), (accepted or rows)[0].row_id
        )
    return Violation(
        ViolationKind.WRONGLY_REFUSED, _WRONGLY_REFUSED.format(table=title), rows[0].row_id
    )
