"""Verdict on the rows of an upload: accepted, rejected or unknown, by the analyst's addresses.

The remote system tells of rows in a finished log, or in a rejected request.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from xlbridge.errors import ErrorDetail
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.workbook import cell_address

if TYPE_CHECKING:
    from xlbridge.upload.job import JobSpec
    from xlbridge.wire.imports import ImportLog


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """Rejected row: Excel's number and the cell in the analyst's sheet, where they are known.

    ``itself`` is false for a row without an error of its own that was rejected with others, or
    whose record has changed meanwhile.
    """

    row: int | None
    cell: str | None
    column: str | None
    message: Text
    itself: bool = True

    @property
    def label(self) -> str:
        """Name of what the row was rejected for: its column, of an item its cell and its column."""
        item = None if self.column is None else parse_item_column(self.column)
        return f"{self.cell} ({item[2]})" if item and self.cell else self.column or ""

    @property
    def has_reason(self) -> bool:
        """True where the row has a reason of its own, an error or a column that has changed."""
        return self.itself or self.column is not None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Counts of the rows of an upload, by outcome; ``read`` is always the sum of the others."""

    read: int
    accepted: int
    unknown: int
    rejected_rows: tuple[RejectedRow, ...] = ()

    @classmethod
    def all_accepted(cls, rows: Sequence[int]) -> Self:
        """Return the verdict on rows that were all applied."""
        return cls(read=len(rows), accepted=len(rows), unknown=0)

    @classmethod
    def all_unknown(cls, rows: Sequence[int]) -> Self:
        """Return the verdict on rows of which nothing is known."""
        return cls(read=len(rows), accepted=0, unknown=len(rows))

    @classmethod
    def none_applied(cls, rows: Sequence[int]) -> Self:
        """Return the verdict on rows of which none was applied, for no reason of its own."""
        return cls(read=len(rows), accepted=0, unknown=0)

    @classmethod
    def of_proof(cls, rows: Sequence[int], proven: Sequence[bool | None]) -> Self:
        """Return what the records that were read back prove of each row; None proves nothing.

        A row that is not there, while others are, was not applied.
        """
        missing = [row for row, there in zip(rows, proven, strict=True) if there is False]
        return cls(
            read=len(rows),
            accepted=sum(there is True for there in proven),
            unknown=sum(there is None for there in proven),
            rejected_rows=tuple(
                RejectedRow(row, None, None, NOT_IN_SYSTEM, itself=False) for row in missing
            ),
        )

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the verdict that the journal has."""
        rows = (
            RejectedRow(**{**row, "message": Text.of_json(row["message"])})
            for row in stored["rejected_rows"]
        )
        return cls(stored["read"], stored["accepted"], stored["unknown"], tuple(rows))

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as the journal keeps it, with messages in both languages."""
        rows = [{**asdict(row), "message": row.message.to_json()} for row in self.rejected_rows]
        counts = {"read": self.read, "accepted": self.accepted, "unknown": self.unknown}
        return {**counts, "rejected_rows": rows}

    @property
    def rejected(self) -> int:
        """Number of rejected rows."""
        return self.read - self.accepted - self.unknown

    @property
    def reasons(self) -> dict[int, Text]:
        """Reasons of each rejected row whose number is known, in one text."""
        reasons: dict[int, list[Text]] = defaultdict(list)
        for rejected in self.rejected_rows:
            if rejected.row is not None:
                label = f"{rejected.label}: " if rejected.label else ""
                told = rejected.message
                reasons[rejected.row].append(Text(pt=label + told.pt, en=label + told.en))
        return {row: joined(texts) for row, texts in reasons.items()}

    @property
    def counted(self) -> dict[str, int]:
        """Counts by the names that they have in reports, of a sheet whose rows were all sent."""
        return {
            "read": self.read,
            "accepted": self.accepted,
            "rejected": self.rejected,
            "unknown": self.unknown,
            "unchanged": 0,
            "held": 0,
        }


REJECTED_AS_A_WHOLE = Text(
    pt="Não aplicada: o envio inteiro foi recusado.",
    en="Not applied: the whole upload was rejected.",
)
"""Remark on a row without an error of its own."""

NOT_IN_SYSTEM = Text(
    pt="Não está no sistema: procurada duas vezes depois do envio, e não encontrada.",
    en="Not in the system: read back twice after the upload, and not found.",
)
"""Remark on a row that was read back and is not there, while others of its upload are."""

ROW_COUNT_DIFFERS = Text(
    pt="o sistema leu {n} {n:linha|linhas}, e a planilha tem {rows}",
    en="the system read {n} {n:row|rows}, and the sheet has {rows}",
)
"""Reason to doubt an upload that was carried out."""

_FIRST_DATA_ROW = 2


class RowOutcome(StrEnum):
    """Outcome of a row.

    ``NOT_WRITTEN`` are rows without an error of their own that were not applied all the same: the
    whole sheet was rejected, or a person saw that they are not there. ``UNSENT`` are rows of which
    nothing was sent that could write. ``UNCHANGED`` and ``HELD`` are those that the plan left out.
    """

    ACCEPTED = "accepted"
    UNCHANGED = "unchanged"
    HELD = "held"
    REJECTED = "rejected"
    NOT_WRITTEN = "not_written"
    UNSENT = "unsent"
    UNKNOWN = "unknown"


_VALUE = re.compile(r"[“\"'‘].*?[”\"'’]|\b[\w./-]*\d[\w./-]*")
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class SettledRows:
    """Rows of a job that later jobs have brought in: how many, by which, and how many are left."""

    rows: int
    by: str
    left: int


@dataclass(frozen=True, slots=True)
class DriftedRule:
    """Rule that the schema lacks: the column, the message without its values, and its count."""

    column: str | None
    rule: str
    rows: int


def drifted_rules(verdict: Verdict) -> list[DriftedRule]:
    """Count the rejected rows by rule, the most frequent first.

    Messages that differ only in the values that they name are one rule.
    """
    counted = Counter(
        (_without_number(row.column), _VALUE.sub(_ELLIPSIS, str(row.message)))
        for row in verdict.rejected_rows
        if row.itself
    )
    return [DriftedRule(column, rule, rows) for (column, rule), rows in counted.most_common()]


def _without_number(column: str | None) -> str | None:
    item = None if column is None else parse_item_column(column)
    return f"{item[0]}.{item[2]}" if item else column


def item_column(sheet: str, number: int, column: str) -> str:
    """Return how an item's column is named among those of its record, as the interface does."""
    return f"{sheet}.{number}.{column}"


def parse_item_column(name: str) -> tuple[str, int, str] | None:
    """Return the list, the number and the column that ``item_column`` named; None for no such."""
    sheet, _, rest = name.partition(".")
    number, _, column = rest.partition(".")
    return (sheet, int(number), column) if column and number.isdecimal() else None


@dataclass(frozen=True, slots=True)
class ItemPlaces:
    """Places of the items of a list: the name of their sheet, the zero-based position of each of
    its columns, and Excel's numbers of a record's items by that of the record."""

    sheet: str
    columns: Mapping[str, int]
    rows: Mapping[int, Sequence[int]] = field(repr=False)

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> "ItemPlaces":
        """Return the places that ``to_json`` was made of."""
        rows = {int(row): items for row, items in stored["rows"].items()}
        return cls(stored["sheet"], stored["columns"], rows)

    def to_json(self, rows: Iterable[int]) -> dict[str, Any]:
        """Return the places of the items of some records."""
        kept = {row: list(self.rows[row]) for row in rows if row in self.rows}
        return {"sheet": self.sheet, "columns": dict(self.columns), "rows": kept}

    def cell(self, row: int, number: int, column: str) -> str | None:
        """Return the sheet and the address of a cell of a record's item, None where it has none."""
        items = self.rows.get(row, ())
        if number >= len(items) or column not in self.columns:
            return None
        return f"{self.sheet}!{cell_address(items[number], self.columns[column])}"


_NO_ITEMS: Mapping[str, ItemPlaces] = MappingProxyType({})


def verdict_of_rejection(job: "JobSpec", details: Sequence[ErrorDetail]) -> Verdict:
    """Return the verdict on a sheet that was rejected as a whole, with its ``details``."""
    return Verdict(
        read=len(job.rows),
        accepted=0,
        unknown=0,
        rejected_rows=tuple(_rejected_by_detail(job, detail) for detail in details),
    )


def verdict_of_log(job: "JobSpec", log: "ImportLog") -> Verdict | None:
    """Return the verdict of a finished log, None when what it tells does not prove one.

    The interface promises its status and the rejected lines. Whatever it counts besides must agree:
    as many rows read as were sent, each accounted for, as many lines named as are rejected.
    """
    lines = log.linhasRejeitadas or []
    named = {line.linha for line in lines}
    rejected = log.rejected
    if rejected is None and log.registrosImportados is not None:
        rejected = len(job.rows) - log.registrosImportados
    if rejected is None or len(named) != rejected:
        return None
    accepted = len(job.rows) - rejected
    agrees = log.totalDeRegistros in (None, len(job.rows))
    if not agrees or log.registrosImportados not in (None, accepted):
        return None
    if any(_sheet_row(job, line) is None for line in named):
        return None
    return Verdict(
        read=len(job.rows),
        accepted=accepted,
        unknown=0,
        rejected_rows=tuple(
            rejected_row(job, _sheet_row(job, line.linha), line.coluna, untranslated(line.mensagem))
            for line in sorted(lines, key=lambda line: line.linha or 0)
        ),
    )


def accounts_for_every_row(job: "JobSpec", log: "ImportLog") -> bool:
    """Tell whether a log's counts alone say that no row is left to do, whatever its status is."""
    counts = (log.totalDeRegistros, log.registrosImportados, log.registrosRejeitados)
    total, imported, rejected = counts
    if total is None or imported is None or rejected is None:
        return False
    return imported + rejected == total == len(job.rows)


def _rejected_by_detail(job: "JobSpec", detail: ErrorDetail) -> RejectedRow:
    # Most commands read verdicts that are in the journal.
    from xlbridge.wire.imports import split_line_number

    number, rest = split_line_number(detail.value)
    row = _sheet_row(job, number)
    told = untranslated(rest if row else detail.value)
    return rejected_row(job, row, detail.key or None, told)


def rejected_row(
    job: "JobSpec",
    row: int | None,
    column: str | None,
    message: Text,
    *,
    itself: bool = True,
    items: Mapping[str, ItemPlaces] = _NO_ITEMS,
) -> RejectedRow:
    """Return a rejected row with its cell, where the sheet, or that of the item, has the column."""
    cell = None if row is None or column is None else job.cell(row, column)
    item = None if row is None or column is None else parse_item_column(column)
    if row is not None and item is not None and item[0] in items:
        name, number, of_item = item
        cell = items[name].cell(row, number, of_item)
    return RejectedRow(row, cell, column, message, itself)


def _sheet_row(job: "JobSpec", line: int | None) -> int | None:
    """Return the analyst's row of a line of the payload, whose header stands in row 1."""
    if line is None:
        return None
    position = line - _FIRST_DATA_ROW
    return job.rows[position] if 0 <= position < len(job.rows) else None
