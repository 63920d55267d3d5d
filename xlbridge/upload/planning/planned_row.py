"""Rows of plans of uploads, undos and processings, as planned, stored and shown.

See the product brief, Row actions.
"""

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from xlbridge.i18n import Text, localized_number, untranslated
from xlbridge.resources import Column, Kind
from xlbridge.titles import sheet_row
from xlbridge.upload.journal_database import json_texts
from xlbridge.upload.planning.row_reasons import RowAction, RowReason

if TYPE_CHECKING:
    from xlbridge.upload.lookup.snapshot import ItemDifference

_DIGEST_LENGTH = 8
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def plan_token(rows: int, digest: str) -> str:
    """Return the token ``ROWS:DIGEST8`` that confirms a plan: the rows to write and its digest."""
    return f"{rows}:{digest[:_DIGEST_LENGTH]}"


def token_line(token: str) -> Text:
    """Return the last line of a plan, with the token that confirms it."""
    return Text(pt="  confirmação: {token}", en="  confirmation: {token}").format(token=token)


StoredRow = tuple[int, str, str | None, Mapping[str, Any]]
"""Row of a plan as stored in the journal: its number, action and reason, and all else."""


class JobPlan(ABC):
    """Plan of what a job writes: rows of a sheet, reversals of earlier rows, or processings.

    Consent to it names exactly this: the number of ``writes`` and the digest.
    """

    rows: "Sequence[PlannedRow]"

    @property
    @abstractmethod
    def digest(self) -> str:
        """Digest of all that the plan writes."""

    @property
    def writes(self) -> int:
        """Number of rows that are written."""
        return sum(row.action.writes for row in self.rows)

    def to_journal(self) -> Iterator[StoredRow]:
        """Yield the rows as stored in the journal."""
        return (row.to_journal() for row in self.rows)

    @property
    def token(self) -> str:
        """Token that confirms exactly this plan: ``ROWS:DIGEST8``."""
        return plan_token(self.writes, self.digest)

    @property
    def note(self) -> dict[str, Any]:
        """Details of the event that records the plan."""
        return {"plan_digest": self.digest, "writes": self.writes}


@dataclass(frozen=True, slots=True)
class Difference:
    """Values of a column in which a row and its record differ: the sheet's and the system's.

    If the column is a list, ``items`` are the differences of its items.
    """

    yours: str | None
    theirs: str | None
    items: "Sequence[ItemDifference]" = field(default=(), compare=False)

    def shown(
        self, name: str, columns: Mapping[str, Column], *, titled: bool = False
    ) -> "Iterator[ShownDifference]":
        """Yield the differing values formatted for display, of a list only those of its items.

        ``name`` is the column's, ``columns`` are those of the resource, by path. Labels are the
        interface's names or, ``titled``, the columns' titles.
        """
        if not self.items:
            kind = None if name not in columns else columns[name].kind
            yours, theirs = _shown_value(self.yours, kind), _shown_value(self.theirs, kind)
            label = columns[name].title if titled and name in columns else untranslated(name)
            yield ShownDifference(name, label, yours, theirs, kind)
        for sheet, number, column, *values in self.items:
            if number is None:
                label, kind = untranslated(sheet), None
                first, second = (_ITEM_COUNT.format(n=int(count)) for count in values)
            else:
                kind = columns[f"{sheet}.{column}"].kind
                shown = columns[f"{sheet}.{column}"].title if titled else column
                label = _ITEM_LABEL.format(sheet=sheet, n=number + 1, column=shown)
                first, second = (_shown_value(value, kind) for value in values)
            yield ShownDifference(name, label, first, second, kind)


class ShownDifference(NamedTuple):
    """Difference formatted for display: its column, the label of the values, both values, and
    their kind."""

    column: str
    label: Text
    yours: Text
    theirs: Text
    kind: Kind | None

    @property
    def text(self) -> Text:
        """The difference in one line, with texts in quotes."""
        yours, theirs = (
            Text(pt="'{text}'", en="'{text}'").format(text=value)
            if self.kind is Kind.TEXT and value != _MISSING
            else value
            for value in (self.yours, self.theirs)
        )
        return Text(
            pt="{label}: planilha {yours}, sistema {theirs}",
            en="{label}: sheet {yours}, system {theirs}",
        ).format(label=self.label, yours=yours, theirs=theirs)


_MISSING = untranslated("–")
_ITEM_LABEL = Text(pt="{sheet}, item {n}, {column}", en="{sheet}, item {n}, {column}")
_ITEM_COUNT = Text(pt="{n} {n:item|itens}", en="{n} {n:item|items}")


def _shown_value(value: str | None, kind: Kind | None) -> Text:
    if value is None:
        return _MISSING
    if kind in {Kind.NUMBER, Kind.MONEY}:
        whole, _, cents = value.partition(".")
        is_short = kind is Kind.MONEY and len(cents) < 2 and whole.lstrip("-").isdigit()
        return localized_number(f"{whole}.{cents:0<2}" if is_short else value)
    if kind is Kind.DATE:
        try:
            return untranslated(f"{date.fromisoformat(value):%d/%m/%Y}")
        except ValueError:  # The system's value may not be a date.
            pass
    return untranslated(value)


CellContent = str | float
"""Content of an analyst's cell: a text or a number."""


class PlannedRow(NamedTuple):
    """Row of a sheet, by its Excel number, or a record by its ordinal number, with its action and
    the reason.

    ``record`` is the code of its record in the system; ``job`` another job that claims the row;
    ``why`` completes the reason, or is all that is said of the row; ``number`` is the system's own
    number in the row; ``wrong`` are the columns with errors, ``raw_cells`` the contents of those
    cells of them that could not be parsed, ``keys`` the digests of the row's business keys. A
    processing has read the record's ``status``, and the values that the system has ``assigned``.
    """

    row: int
    action: RowAction
    reason: RowReason | None = None
    record: str | None = None
    job: str | None = None
    why: Text | None = None
    differences: Mapping[str, Difference] = _NOTHING
    number: Mapping[str, Any] = _NOTHING
    wrong: Sequence[str] = ()
    raw_cells: Mapping[str, CellContent] = _NOTHING
    keys: Sequence[str] = ()
    status: str = ""
    assigned: Mapping[str, Any] = _NOTHING

    @property
    def yours(self) -> dict[str, str | None]:
        """Values of the row in the columns that differ."""
        return {name: pair.yours for name, pair in self.differences.items()}

    @property
    def theirs(self) -> dict[str, str | None]:
        """Values of the record in the columns that differ."""
        return {name: pair.theirs for name, pair in self.differences.items()}

    @property
    def is_created(self) -> bool:
        """True if the row becomes a new record."""
        return self.action is RowAction.CREATE or self.action is RowAction.UNREAD

    @property
    def text(self) -> Text | None:
        """Text of the reason, None if there is none."""
        return None if self.reason is None else _reason_text(self.reason, self.job, self.why)

    def shown_differences(
        self, columns: Mapping[str, Column], *, titled: bool = False
    ) -> Iterator[ShownDifference]:
        """Yield the differences formatted for display, as ``Difference.shown``."""
        for name, difference in self.differences.items():
            yield from difference.shown(name, columns, titled=titled)

    def why_text(self, columns: Mapping[str, Column]) -> str:
        """Return the reason without its remedy and the differences, by titles, as one line."""
        shown = self.shown_differences(columns, titled=True)
        differing = "; ".join(str(difference.text) for difference in shown)
        reason = None if self.reason is None else self.reason.why
        text = "" if reason is None else reason.format(job=self.job or "–", why=self.why or "–")
        return f"{text} ({differing})" if differing else str(text)

    def to_journal(self) -> StoredRow:
        """Return the row as stored in the journal."""
        detail = {name: value for name in _DETAILS if (value := getattr(self, name))}
        if self.differences:
            pairs = self.differences.items()
            detail["differences"] = {n: (pair.yours, pair.theirs, pair.items) for n, pair in pairs}
        # SQLite stores plain strings faster than members of enumerations.
        reason = None if self.reason is None else str(self.reason)
        return self.row, str(self.action), reason, detail

    @classmethod
    def of_journal(
        cls, row: int, action: str, reason: str | None, detail: Mapping[str, Any]
    ) -> Self:
        """Return the row stored in the journal."""
        known = {
            name: _STORED_OTHERWISE[name](value) if name in _STORED_OTHERWISE else value
            for name, value in detail.items()
        }
        return cls(row, RowAction(action), None if reason is None else RowReason(reason), **known)

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON for reports."""
        return {
            "row": sheet_row(self.row),
            "action": self.action.value,
            "reason": None if self.reason is None else self.reason.value,
            "record": self.record,
            "job": self.job,
            "message": None if self.reason is None else str(self.text),
            "differences": [
                {"column": column, "yours": difference.yours, "theirs": difference.theirs}
                for column, difference in self.differences.items()
            ],
        }


_DETAILS = PlannedRow._fields[PlannedRow._fields.index("record") :]
_STORED_OTHERWISE: Mapping[str, Callable[[Any], Any]] = {
    "why": Text.of_json,
    "differences": lambda pairs: {name: Difference(*pair) for name, pair in pairs.items()},
    "keys": tuple,
}
"""Details of a row that the journal stores as other types, and how these are read."""


@dataclass(frozen=True)
class RowPlan(JobPlan):
    """Planned rows of a sheet, in order, with the ``digests`` of their values.

    ``unread_reason`` says why some rows could not be looked up.
    """

    rows: Sequence[PlannedRow]
    digests: Sequence[str]
    unread_reason: Text | None = None

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Number of rows by action; deletions only if there are any."""
        counts = Counter(row.action for row in self.rows)
        return {
            action.value: counts[action]
            for action in RowAction
            if counts[action] or action not in {RowAction.DELETE, RowAction.PROCESS}
        }

    @property
    def note(self) -> dict[str, Any]:
        """Details of the event that records the plan."""
        note = {**super().note, "plan": self.counts, "not_records": self.not_records}
        why = self.unread_reason
        return note if why is None else {**note, "unread": why.languages}

    @cached_property
    def positions(self) -> list[int]:
        """Positions of the rows that are sent."""
        return [at for at, row in enumerate(self.rows) if row.action.writes]

    @property
    def not_records(self) -> int:
        """Number of rows that are not records."""
        return sum(row.reason is RowReason.NO_RECORD for row in self.rows)

    @cached_property
    def digest(self) -> str:
        """Digest of the actions and of the records' current values."""
        lines = json_texts(
            [
                [
                    row.action,
                    row.reason if row.action is RowAction.HELD else None,
                    digest,
                    row.record,
                    row.theirs if row.differences else {},
                ]
                for row, digest in zip(self.rows, self.digests, strict=True)
            ]
        )
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


@lru_cache(maxsize=1_000)
def _reason_text(reason: RowReason, job: str | None, why: Text | None) -> Text:
    return reason.text.format(job=job or "–", why=why or "–")
