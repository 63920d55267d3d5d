"""Plan of an upload: the action of each row, decided before anything is written.

Source: the product brief, Row actions.
"""

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import compress, count, repeat
from json.encoder import encode_basestring_ascii
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from xlbridge.i18n import Text, localized_number, untranslated
from xlbridge.resources import Column, Kind
from xlbridge.upload.lookup.row_table import MadeItems, PackedRows
from xlbridge.upload.row_reasons import RowReason

_DIGEST_LENGTH = 8
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def plan_token(rows: int, digest: str) -> str:
    """Return the confirmation of just these actions, ``ROWS:DIGEST8``: rows to write, digest."""
    return f"{rows}:{digest[:_DIGEST_LENGTH]}"


class StoredAction(NamedTuple):
    """Action of a plan as the journal has it: what is done with a row or a record, and why."""

    row: int
    action: str
    reason: str | None
    detail: Mapping[str, Any]


class RowAction(StrEnum):
    """Action on a row of a sheet."""

    CREATE = "create"
    UPDATE = "update"
    UNCHANGED = "unchanged"
    HELD = "held"
    UNREAD = "unread"

    @property
    def writes(self) -> bool:
        """True where the row is sent."""
        return self in _WRITING


_WRITING = frozenset({RowAction.CREATE, RowAction.UPDATE, RowAction.UNREAD})


ACTION_COUNTS = Text(
    pt="{create} a incluir · {update} a alterar · {unchanged} sem alteração · {held} "
    "{held:retida|retidas} · {unread} a incluir sem conferir",
    en="{create} to create · {update} to update · {unchanged} unchanged · {held} held · "
    "{unread} to create without a look-up",
)
"""Counts of a plan by action, for a person."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Column in which a row and its record differ: the sheet's value and the system's."""

    yours: str | None
    theirs: str | None

    def shown(self, column: Column | None) -> tuple[Text, Text]:
        """Return both values as people write them; ``column`` is None where they are of a list."""
        kind = None if column is None else column.kind
        return _shown_value(self.yours, kind), _shown_value(self.theirs, kind)


def _shown_value(value: str | None, kind: Kind | None) -> Text:
    if value is None:
        return untranslated("–")
    if kind in {Kind.NUMBER, Kind.MONEY}:
        return localized_number(value)
    if kind is Kind.DATE:
        try:
            return untranslated(f"{date.fromisoformat(value):%d/%m/%Y}")
        except ValueError:  # What the system has there is no date.
            pass
    return untranslated(value)


CellContent = str | float
"""Content of an analyst's cell: a text or a number."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """Reason why a row is not sent, whatever the system has, as ``PlannedRow`` has it."""

    reason: RowReason
    why: Text
    own: Mapping[str, CellContent] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """Row of a sheet by Excel's number, its action, and why it is that.

    ``record`` is the code of its record in the system; ``job`` another job that holds the row;
    ``why`` completes the reason; ``number`` is the system's own number that the row carries;
    ``own`` are the contents of cells that could not be used.
    """

    row: int
    action: RowAction
    reason: RowReason | None = None
    record: str | None = None
    job: str | None = None
    why: Text | None = None
    differences: Mapping[str, Difference] = field(default_factory=lambda: _NOTHING)
    number: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    own: Mapping[str, CellContent] = field(default_factory=lambda: _NOTHING)

    @property
    def is_created(self) -> bool:
        """True where the row becomes a new record."""
        return self.action in {RowAction.CREATE, RowAction.UNREAD}

    @property
    def text(self) -> Text | None:
        """The reason for a person, None where there is none."""
        return None if self.reason is None else _reason_text(self.reason, self.job, self.why)

    def text_with(self, ways: Mapping[RowReason, Text]) -> Text | None:
        """Return the reason with what can be done about it elsewhere than on the command line."""
        if self.reason is None:
            return None
        return self.reason.text(ways).format(job=self.job or "–", why=self.why or "–")

    def difference_texts(self, columns: Mapping[str, Column]) -> Iterator[Text]:
        """Yield what differs, for a person; ``columns`` are those of the resource, by name."""
        for name, one in self.differences.items():
            yours, theirs = one.shown(columns.get(name))
            yield Text(
                pt="{column}: planilha {yours}, sistema {theirs}",
                en="{column}: sheet {yours}, system {theirs}",
            ).format(column=name, yours=yours, theirs=theirs)

    def full_text(self, columns: Mapping[str, Column]) -> str:
        """Return the reason and what differs, as one line."""
        differing = "; ".join(map(str, self.difference_texts(columns)))
        return f"{self.text} ({differing})" if differing else str(self.text or "")

    def to_journal(self, keys: Sequence[str] = ()) -> StoredAction:
        """Return the row as the journal keeps it, with the digests of its keys."""
        detail: dict[str, Any] = {}
        if self.record:
            detail["record"] = self.record
        if self.job:
            detail["job"] = self.job
        if self.why is not None:
            detail["why"] = asdict(self.why)
        if self.differences:
            pairs = self.differences.items()
            detail["differences"] = {name: [one.yours, one.theirs] for name, one in pairs}
        if self.number:
            detail["number"] = self.number
        if keys:
            detail["keys"] = keys
        if self.own:
            detail["own"] = self.own
        return StoredAction(self.row, self.action, self.reason, detail)

    @classmethod
    def of_journal(
        cls, row: int, action: str, reason: str | None, detail: Mapping[str, Any]
    ) -> Self:
        """Return the row that the journal has."""
        why = detail.get("why")
        pairs = detail.get("differences")
        return cls(
            row,
            RowAction(action),
            None if reason is None else RowReason(reason),
            record=detail.get("record"),
            job=detail.get("job"),
            why=None if why is None else Text(**why),
            differences={n: Difference(*pair) for n, pair in pairs.items()} if pairs else _NOTHING,
            number=detail.get("number", _NOTHING),
            own=detail.get("own", _NOTHING),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the row as the report has it."""
        return {
            "row": self.row,
            "action": self.action.value,
            "reason": self.reason,
            "record": self.record,
            "job": self.job,
            "message": None if self.reason is None else str(self.text),
            "differences": [
                {"column": column, "yours": one.yours, "theirs": one.theirs}
                for column, one in self.differences.items()
            ],
        }


class _Decision(NamedTuple):
    """What was decided about rows alike."""

    action: RowAction
    reason: RowReason | None
    job: str | None
    why: Text | None


class PlannedRows(MadeItems[PlannedRow]):
    """Planned rows of a sheet, in order, kept as columns: most rows have nothing of their own.

    ``numbers`` are the columns of the system's own number, as the sheet has them.
    """

    def __init__(
        self, rows: Iterable[PlannedRow] = (), numbers: Mapping[str, Sequence[Any]] = _NOTHING
    ) -> None:
        self._rows = array("L")
        self._decided = array("L")
        self._numbers = numbers
        self._particular: dict[int, PlannedRow] = {}
        decisions: dict[_Decision, int] = {}
        records = PackedRows(1)
        last, number = None, 0
        for at, row in enumerate(rows):
            decision = _Decision(row.action, row.reason, row.job, row.why)
            if decision != last:
                last, number = decision, decisions.setdefault(decision, len(decisions))
            self._rows.append(row.row)
            self._decided.append(number)
            records.append((row.record,))
            if row.differences or row.own:
                self._particular[at] = row
        self._decisions = list(decisions)
        self._records = records.column(0)

    def __len__(self) -> int:
        return len(self._rows)

    def _made(self, at: int) -> PlannedRow:
        if at in self._particular:
            return self._particular[at]
        number = {name: column[at] for name, column in self._numbers.items()}
        action, reason, job, why = self._decisions[self._decided[at]]
        return PlannedRow(
            self._rows[at],
            action,
            reason,
            self._records[at],
            job,
            why,
            number={n: value for n, value in number.items() if value is not None} or _NOTHING,
        )

    def count_actions(self) -> Counter[RowAction]:
        """Count the rows by action."""
        return Counter(map([one.action for one in self._decisions].__getitem__, self._decided))

    def chosen(self, wanted: Callable[[RowAction, RowReason | None], bool]) -> list[int]:
        """Return the positions of the rows of which the action, and its reason, is ``wanted``."""
        fitting = [wanted(one.action, one.reason) for one in self._decisions]
        return list(compress(count(), map(fitting.__getitem__, self._decided)))

    def decided_lines(self, digests: Iterable[str]) -> Iterator[str]:
        """Yield each row's decision as a JSON list: json.dumps takes several times as long."""
        begins = [
            f'["{one.action}", '
            + (f'"{one.reason}"' if one.action is RowAction.HELD and one.reason else "null")
            for one in self._decisions
        ]
        decided = map(begins.__getitem__, self._decided)
        for at, (begin, digest, code) in enumerate(
            zip(decided, digests, self._records, strict=True)
        ):
            record = "null" if code is None else encode_basestring_ascii(code)
            particular = self._particular.get(at)
            differences = {} if particular is None else particular.differences
            theirs = json.dumps({n: one.theirs for n, one in differences.items()})
            yield f'{begin}, "{digest}", {record}, {theirs if differences else "{}"}]'


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options that decide the actions of rows.

    ``update`` changes records that are there with other values; ``clear`` lets an empty cell empty
    a filled field. ``again`` is the reason to create what exists, ``create_unread`` creates what
    could not be looked up, ``good_rows`` sends a sheet without its rows that have errors. Without
    ``look_up`` the system is not asked.
    """

    update: bool = False
    clear: bool = False
    again: str | None = None
    create_unread: bool = False
    good_rows: bool = False
    look_up: bool = True


@dataclass(frozen=True)
class RowPlan:
    """Actions of the rows of a sheet, in order; ``digests`` are those of the rows' values.

    ``keys`` are the digests of each row's business keys. ``unread_reason`` says why some rows could
    not be looked up.
    """

    rows: PlannedRows
    digests: Sequence[str]
    unread_reason: Text | None = None
    keys: Sequence[Sequence[str]] = ()

    def to_journal(self) -> Iterator[StoredAction]:
        """Yield the rows as the journal keeps them."""
        keys = self.keys or repeat(())
        for row, of_row in zip(self.rows, keys, strict=bool(self.keys)):
            yield row.to_journal(of_row)

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows by action."""
        counted = self.rows.count_actions()
        return {action.value: counted[action] for action in RowAction}

    @property
    def note(self) -> dict[str, Any]:
        """Record of the plan in an event."""
        note = {
            "plan": self.counts,
            "plan_digest": self.digest,
            "writes": len(self.positions),
            "not_records": self.not_records,
        }
        why = self.unread_reason
        return note if why is None else {**note, "unread": asdict(why)}

    @property
    def positions(self) -> list[int]:
        """Positions of the rows that are sent."""
        return self.rows.chosen(lambda action, _: action.writes)

    @property
    def not_records(self) -> int:
        """Number of rows that are no records."""
        return len(self.rows.chosen(lambda _, reason: reason is RowReason.NO_RECORD))

    @cached_property
    def digest(self) -> str:
        """Digest of the actions and of the values that records have before."""
        lines = sorted(self.rows.decided_lines(self.digests))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @property
    def token(self) -> str:
        """Confirmation of just these actions: ``ROWS:DIGEST8``."""
        return plan_token(len(self.positions), self.digest)


@lru_cache(maxsize=1_000)
def _reason_text(reason: RowReason, job: str | None, why: Text | None) -> Text:
    return reason.text().format(job=job or "–", why=why or "–")
