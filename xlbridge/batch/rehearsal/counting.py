"""Counting: what the journal says of each row is held against what the tables hold."""

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xlbridge.batch.rehearsal.outcome import Breach, Broken, Doubt, Place, TableCount, Tally
from xlbridge.i18n import Text
from xlbridge.sandbox.rehearsing.holdings import Form, Held
from xlbridge.upload.fates import Fate

_NOT_THERE = frozenset({Fate.REJECTED, Fate.NOT_WRITTEN, Fate.UNSENT})

_TWICE = Text(
    pt="o conteúdo dela entrou em {table} mais vezes do que foi aceito",
    en="its content went into {table} more often than it was accepted",
)
_LOST = Text(pt="aceita, e não está em {table}", en="accepted, and not in {table}")
_TOLD_WRONG = Text(
    pt="dada por recusada, e está em {table}", en="told to be refused, and is in {table}"
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
class Sent:
    """A row that was sent: what became of it, and how its table would hold it, None not at all."""

    place: Place
    fate: Fate
    form: Form | None


def tally(
    rows: Mapping[str, Sequence[Sent]], before: Iterable[Held], after: Sequence[Held]
) -> Tally:
    """Hold the rows sent, by the tables that they go into, against what these held and hold."""
    earlier = {held.table: held for held in before}
    counts = [
        (_Replacing if held.replaces else _Adding)(
            earlier[held.table], held, rows.get(held.table, ())
        )
        for held in after
    ]
    return Tally(
        tables=tuple(count.table() for count in counts if count.concerned),
        broken=tuple(broken for count in counts for broken in count.broken()),
        doubts=tuple(sorted((d for c in counts for d in c.doubts()), key=lambda d: d.place)),
        there_before=tuple(place for count in counts for place in count.there_before()),
    )


class _Count(ABC):
    """What is to be told of one table and the rows that were sent for it."""

    def __init__(self, before: Held, after: Held, rows: Sequence[Sent]) -> None:
        self.before, self.after, self.rows = before, after, rows
        self.name = after.table

    @property
    def concerned(self) -> bool:
        """Whether there is anything to tell of the table."""
        return bool(self.rows) or self.after.rows != self.before.rows

    def table(self) -> TableCount:
        """Return the table's counts."""
        before, after = self.before.rows.total(), self.after.rows.total()
        return TableCount(self.name, before, after, self.expected())

    def of_fate(self, fate: Fate) -> list[Sent]:
        """Return the rows that one thing became of."""
        return [row for row in self.rows if row.fate is fate]

    @abstractmethod
    def expected(self) -> int:
        """Return how many rows the table should have gained."""

    @abstractmethod
    def doubts(self) -> list[Doubt]:
        """Return the rows in doubt."""

    @abstractmethod
    def there_before(self) -> Iterator[Place]:
        """Yield the accepted rows whose like was in the table before the run."""

    @abstractmethod
    def broken(self) -> Iterator[Broken]:
        """Yield what must not be."""


class _Adding(_Count):
    """A table that each accepted row is added to.

    Equal rows are told apart by nothing, so they are counted: of what was added, each accepted row
    takes one away, then each doubtful one; what is left over was added too often.
    """

    def __init__(self, before: Held, after: Held, rows: Sequence[Sent]) -> None:
        super().__init__(before, after, rows)
        self._left = Counter(after.rows)
        self._left.subtract(before.rows)
        self._lost = [row for row in self.of_fate(Fate.ACCEPTED) if not self._take(row)]
        self._doubts = [Doubt(row.place, self._take(row)) for row in self.of_fate(Fate.UNKNOWN)]

    def expected(self) -> int:
        return len(self.of_fate(Fate.ACCEPTED)) + sum(doubt.there for doubt in self._doubts)

    def doubts(self) -> list[Doubt]:
        return self._doubts

    def there_before(self) -> Iterator[Place]:
        for row in self.of_fate(Fate.ACCEPTED):
            if row.form in self.before.rows:
                yield row.place

    def broken(self) -> Iterator[Broken]:
        for row in self._lost:
            yield Broken(Breach.LOST, _LOST.format(table=self.name), row.place)
        left = Counter({form: n for form, n in self._left.items() if n > 0})
        by_form: defaultdict[Form, list[Sent]] = defaultdict(list)
        for row in self.rows:
            if row.form is not None and row.form in left:
                by_form[row.form].append(row)
        for form, rows in by_form.items():
            yield _too_many(self.name, rows)
            del left[form]
        if stray := left.total():
            yield Broken(Breach.TWICE, _STRAY.format(table=self.name, n=stray))
        if gone := -sum(n for n in self._left.values() if n < 0):
            yield Broken(Breach.LOST, _GONE.format(table=self.name, n=gone))

    def _take(self, row: Sent) -> bool:
        if row.form is None or self._left[row.form] <= 0:
            return False
        self._left[row.form] -= 1
        return True


class _Replacing(_Count):
    """A table in which a row takes the place of the one with its key, so none is there twice."""

    def __init__(self, before: Held, after: Held, rows: Sequence[Sent]) -> None:
        super().__init__(before, after, rows)
        self._earlier = {form.key: form.content for form in before.rows}
        self._there = {form.key: form.content for form in after.rows}
        self._said: defaultdict[bytes, set[bytes]] = defaultdict(set)
        for row in rows:
            if row.form is not None and row.fate not in _NOT_THERE:
                self._said[row.form.key].add(row.form.content)

    def expected(self) -> int:
        sure = {row.form.key for row in self.of_fate(Fate.ACCEPTED) if row.form is not None}
        doubtful = self._said.keys() - sure
        return len((sure | (doubtful & self._there.keys())) - self._earlier.keys())

    def doubts(self) -> list[Doubt]:
        return [Doubt(row.place, self._is_there(row)) for row in self.of_fate(Fate.UNKNOWN)]

    def there_before(self) -> Iterator[Place]:
        yield from ()

    def broken(self) -> Iterator[Broken]:
        for row in self.of_fate(Fate.ACCEPTED):
            if not self._stands(row):
                yield Broken(Breach.LOST, _LOST.format(table=self.name), row.place)
        for row in self.rows:
            if row.fate in _NOT_THERE and self._is_new(row):
                yield Broken(Breach.TOLD_WRONG, _TOLD_WRONG.format(table=self.name), row.place)
        sent = {row.form.key for row in self.rows if row.form is not None}
        changed = {key for key in self._there if self._there[key] != self._earlier.get(key)}
        if stray := len(changed - sent):
            yield Broken(Breach.TWICE, _STRAY.format(table=self.name, n=stray))
        if gone := len(self._earlier.keys() - self._there.keys()):
            yield Broken(Breach.LOST, _GONE.format(table=self.name, n=gone))

    def _stands(self, row: Sent) -> bool:
        """Whether the row is there, or one that was sent with its key, too."""
        return row.form is not None and self._there.get(row.form.key) in self._said[row.form.key]

    def _is_there(self, row: Sent) -> bool:
        return row.form is not None and self._there.get(row.form.key) == row.form.content

    def _is_new(self, row: Sent) -> bool:
        if row.form is None or not self._is_there(row):
            return False
        key, content = row.form.key, row.form.content
        return self._earlier.get(key) != content and content not in self._said[key]


def _too_many(table: str, rows: Sequence[Sent]) -> Broken:
    """Say what it means that rows of one content were added more often than any was accepted."""
    accepted = [row for row in rows if row.fate is Fate.ACCEPTED]
    if accepted or any(row.fate is Fate.UNKNOWN for row in rows):
        return Broken(Breach.TWICE, _TWICE.format(table=table), (accepted or rows)[0].place)
    return Broken(Breach.TOLD_WRONG, _TOLD_WRONG.format(table=table), rows[0].place)
