"""Verdict on the rows of a job: the outcome of each, and messages with the analyst's addresses."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from xlbridge import titles
from xlbridge.i18n import Text, joined, without_values
from xlbridge.workbook import cell_address

if TYPE_CHECKING:
    from xlbridge.validation import ValidatedSheet
    from xlbridge.wire.imports import ImportLog


class RejectedRow(NamedTuple):
    """Rejected row, with its Excel number and cell in the analyst's sheet if they are known.

    ``itself`` is false for a row without an error of its own, which was rejected with others or
    whose record has changed.
    """

    row: int | None
    cell: str | None
    column: str | None
    message: Text
    itself: bool = True

    @property
    def label(self) -> str:
        """Rejected column; for a column of an item, its cell and name."""
        item = None if self.column is None else parse_item_column(self.column)
        return f"{self.cell} ({item[2]})" if item and self.cell else self.column or ""

    @property
    def labelled(self) -> Text:
        """The message, after the label of the column if there is one."""
        label = f"{self.label}: " if self.label else ""
        return Text(pt=label + self.message.pt, en=label + self.message.en)

    @property
    def has_reason(self) -> bool:
        """True if the row has a reason of its own: an error or a changed column."""
        return self.itself or self.column is not None


def has_two_spellings(name: str) -> bool:
    """Return whether the description shows a field in PascalCase, unlike the samples' camelCase."""
    return name[:1].isupper()


def has_open_name(path: str) -> bool:
    """Return whether the description leaves open how a field is named in requests: its spelling,
    or, of the parts of a split, all of it."""
    return path.startswith("rateio.") or has_two_spellings(path.rpartition(".")[2])


@dataclass(frozen=True, slots=True)
class LostField:
    """Column whose values the system has not taken: an example as sent and as stored, None if that
    is empty, and the rows in which this was seen; ``kept``: changes have left the value before.
    The column of a list's items follows the name of the list; ``cell`` is that of the example."""

    column: str
    sent: str
    stored: str | None
    rows: list[int]
    kept: bool = False
    cell: str | None = None

    @property
    def label(self) -> str:
        """The column; for a column of items, the cell of the example and the name."""
        return self.column if self.cell is None else f"{self.cell} ({self.column.split('.')[1]})"

    @property
    def is_lost(self) -> bool:
        """True if nothing of what was sent is stored; other values may be another notation."""
        return self.stored is None or self.kept

    @staticmethod
    def merge(fields: Iterable["LostField"]) -> list["LostField"]:
        """Return the fields of the parts of a sheet, each once."""
        merged: dict[tuple[str, bool, bool], LostField] = {}
        for one in fields:
            known = merged.setdefault(
                (one.column, one.stored is None, one.kept), replace(one, rows=[])
            )
            # Several items of a row may have lost it.
            known.rows.extend([row for row in one.rows if row not in known.rows[-1:]])
        return list(merged.values())


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on the rows of a job: the outcome of each, in order, and the messages about rejected
    ones. ``outcomes`` are None if they are recorded otherwise, or nothing was sent.
    """

    outcomes: "Sequence[RowOutcome] | None" = None
    rejections: Sequence[RejectedRow] = ()

    @classmethod
    def of_rejections(
        cls, rows: Sequence[int], rejections: Sequence[RejectedRow], others: "RowOutcome"
    ) -> Self:
        """Return the verdict on rows of which the named ones are rejected."""
        named = {rejected.row for rejected in rejections}
        return cls([RowOutcome.REJECTED if row in named else others for row in rows], rejections)

    @classmethod
    def of_proof(cls, rows: Sequence[int], proven: Sequence[bool | None]) -> Self:
        """Return the verdict on rows proven to be present or absent; None is unproven."""
        return cls(
            [RowOutcome.of_proof(present) for present in proven],
            [
                RejectedRow(row, None, None, NOT_IN_SYSTEM, itself=False)
                for row, present in zip(rows, proven, strict=True)
                if present is False
            ],
        )


NO_VERDICT = Verdict()
"""Verdict on rows that an event does not decide on, or that single records' answers decide on."""


def reasons_by_row(rejections: Iterable[RejectedRow]) -> dict[int, Text]:
    """Return the joined messages about each rejected row whose number is known."""
    reasons: dict[int, list[Text]] = defaultdict(list)
    for rejected in rejections:
        if rejected.row is not None:
            reasons[rejected.row].append(rejected.labelled)
    return {row: joined(texts) for row, texts in reasons.items()}


REJECTED_AS_A_WHOLE = Text(
    pt="Não aplicada: o envio inteiro foi rejeitado.",
    en="Not applied: the whole upload was rejected.",
)
"""Remark on a row without an error of its own."""

NOT_IN_SYSTEM = Text(
    pt="Não está no sistema: procurada duas vezes depois do envio, e não encontrada.",
    en="Not in the system: read back twice after the upload, and not found.",
)
"""Remark on a row that was read back and not found, while others of its upload were."""


class RowOutcome(StrEnum):
    """Outcome of a row.

    ``NOT_WRITTEN`` rows have no error of their own but were not applied: the whole sheet was
    rejected, or a person saw that they are missing. ``UNSENT``: no request that could write was
    sent. ``UNCHANGED`` and ``HELD`` rows were left out by the plan. ``UNDONE`` rows were accepted,
    and reversed since. ``text`` says it of a row, ``count_title`` is the title of their number.
    """

    text: Text
    count_title: Text

    def __new__(
        cls, value: str, text: Text = titles.IN_DOUBT, count_title: Text = titles.IN_DOUBT
    ) -> Self:
        """Return the outcome with its words."""
        self = str.__new__(cls, value)
        self._value_, self.text, self.count_title = value, text, count_title
        return self

    ACCEPTED = "accepted", Text(pt="aceita", en="accepted"), Text(pt="Aceitas", en="Accepted")
    UNCHANGED = (
        "unchanged",
        Text(pt="sem alteração", en="unchanged"),
        Text(pt="Sem alteração", en="Unchanged"),
    )
    HELD = (
        "held",
        Text(pt="não enviada, aguardando você", en="not sent, waiting for you"),
        Text(pt="Não enviadas, aguardando você", en="Not sent, waiting for you"),
    )
    REJECTED = "rejected", Text(pt="rejeitada", en="rejected"), Text(pt="Rejeitadas", en="Rejected")
    NOT_WRITTEN = (
        "not_written",
        Text(pt="não gravada", en="not written"),
        Text(pt="Não gravadas", en="Not written"),
    )
    UNSENT = "unsent", Text(pt="não enviada", en="not sent"), Text(pt="Não enviadas", en="Not sent")
    UNDONE = "undone", Text(pt="desfeita", en="undone"), Text(pt="Desfeitas", en="Undone")
    UNKNOWN = "unknown", titles.IN_DOUBT, Text(pt="Em dúvida", en="In doubt")

    @classmethod
    def of_proof(cls, present: bool | None) -> Self:
        """Return the outcome of a row that is present, absent or, with None, neither for sure."""
        if present is None:
            return cls.UNKNOWN
        return cls.ACCEPTED if present else cls.REJECTED


_FAILED = Text(
    pt="o sistema desistiu do arquivo (situação “{word}”: {message})",
    en="the system gave the file up (status “{word}”: {message})",
)


def failure_of_log(log: "ImportLog") -> Text:
    """Return the reason that the log of a failed file gives."""
    return _FAILED.format(word=log.situacao or "–", message=log.mensagem or "–")


@dataclass(frozen=True, slots=True)
class DriftedRule:
    """Rule missing from the schema: its column, the message without values, and the row count."""

    column: str | None
    rule: str
    rows: int


def drifted_rules(rejections: Iterable[RejectedRow]) -> list[DriftedRule]:
    """Count the rejected rows by rule, the most frequent first.

    Messages that differ only in values count as one rule.
    """
    counts: Counter[tuple[str | None, str]] = Counter()
    for row in rejections:
        if row.itself:
            item = None if row.column is None else parse_item_column(row.column)
            column = f"{item[0]}.{item[2]}" if item else row.column
            counts[column, without_values(str(row.message))] += 1
    return [DriftedRule(column, rule, rows) for (column, rule), rows in counts.most_common()]


def item_column(sheet: str, number: int, column: str) -> str:
    """Return the interface's name for a column of an item in its record."""
    return f"{sheet}.{number}.{column}"


def parse_item_column(name: str) -> tuple[str, int, str] | None:
    """Return the list, number and column in a name by ``item_column``, None for other names."""
    sheet, _, rest = name.partition(".")
    number, _, column = rest.partition(".")
    return (sheet, int(number), column) if column and number.isdecimal() else None


def items_of_records(main: "ValidatedSheet", child: "ValidatedSheet") -> list[list[int]]:
    """Return the positions in a child sheet of the items of each record, in order."""
    items: list[list[int]] = [[] for _ in range(len(main.frame))]
    for at, record in enumerate(main.parent_positions(child).tolist()):
        if record >= 0:
            items[record].append(at)
    return items


@dataclass(frozen=True, slots=True)
class ItemAddresses:
    """Addresses of a list's items: their sheet, the zero-based position of each column, and the
    Excel row numbers of the items by the row number of their record.

    If several items are side by side in a row, ``blocks`` has the positions of the columns of each
    of them, and ``numbers`` which of them each item is, like ``rows``.
    """

    sheet: str
    columns: Mapping[str, int]
    rows: Mapping[int, Sequence[int]] = field(repr=False)
    blocks: Sequence[Mapping[str, int]] = ()
    numbers: Mapping[int, Sequence[int]] = field(default_factory=dict, repr=False)

    @classmethod
    def of_sheet(cls, main: "ValidatedSheet") -> "dict[str, ItemAddresses]":
        """Return the addresses of the items of a sheet's records, by the names of the lists."""
        addresses = {}
        for name, child in main.children.items():
            of_record = zip(main.rows, items_of_records(main, child), strict=True)
            items = {row: positions for row, positions in of_record if positions}
            rows = {row: [child.rows[at] for at in positions] for row, positions in items.items()}
            columns = [block.columns for block in child.blocks]
            numbers = {
                row: [child.block_numbers[at] for at in positions if child.blocks]
                for row, positions in items.items()
            }
            addresses[name] = cls(child.sheet, child.columns, rows, columns, numbers)
        return addresses

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> "ItemAddresses":
        """Return the addresses stored by ``to_json``."""
        rows = {int(row): items for row, items in stored["rows"].items()}
        numbers = {int(row): items for row, items in stored.get("numbers", {}).items()}
        blocks = stored.get("blocks", ())
        return cls(stored["sheet"], stored["columns"], rows, blocks, numbers)

    def to_json(self, rows: Iterable[int]) -> dict[str, Any]:
        """Return the addresses of the items of the records in the given rows."""
        kept = {row: list(self.rows[row]) for row in rows if row in self.rows}
        stored = {"sheet": self.sheet, "columns": dict(self.columns), "rows": kept}
        if self.blocks:
            numbers = {row: list(self.numbers[row]) for row in kept}
            stored |= {"blocks": [dict(block) for block in self.blocks], "numbers": numbers}
        return stored

    def cell(self, row: int, number: int, column: str, *, or_first: bool = False) -> str | None:
        """Return the sheet and address of a cell of a record's item, None if it has none; with
        ``or_first`` that of its first column, if it lacks the given one."""
        items = self.rows.get(row, ())
        if number >= len(items):
            return None
        columns = self.blocks[self.numbers[row][number]] if self.blocks else self.columns
        if column not in columns and not or_first:
            return None
        position = columns.get(column, min(columns.values(), default=0))
        return f"{self.sheet}!{cell_address(items[number], position)}"

    @staticmethod
    def find(
        items: "Mapping[str, ItemAddresses]", row: int, path: str, *, or_first: bool = False
    ) -> str | None:
        """Return the sheet and address of a column of an item, named as by ``item_column``, None if
        it names none of the ``items``, by their lists; ``or_first`` as in ``cell``."""
        item = parse_item_column(path)
        if item is None or item[0] not in items:
            return None
        return items[item[0]].cell(row, item[1], item[2], or_first=or_first)
