"""Proposed mapping of a sheet: its columns and lists, each column with confidence and reason."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from xlbridge.i18n import Text, joined
from xlbridge.resources import KEY, Resource
from xlbridge.validation.headers.header_row import header_key
from xlbridge.validation.mapping.column_fit import (
    ForeignColumn,
    foreign_columns,
    takes_listed_names,
)
from xlbridge.validation.mapping.header_names import columns_called
from xlbridge.validation.mapping.mapping_file import TO_FILL_IN, SheetMapping, item_path, value_key
from xlbridge.workbook.read import SheetCells

_OTHER_COLUMN_PENALTY = 0.5
_UNKNOWN = Text(
    pt="o sistema não tem “{name}”.{similar}", en="the system does not have “{name}”.{similar}"
)


class Confidence(StrEnum):
    """Confidence of a proposal."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


RISING = list(Confidence)[::-1]
CONFIDENCE_WORDS: dict[Confidence, Text] = {
    Confidence.HIGH: Text(pt="certeza alta", en="high confidence"),
    Confidence.MEDIUM: Text(pt="certeza média", en="medium confidence"),
    Confidence.LOW: Text(pt="certeza baixa", en="low confidence"),
}


@dataclass(frozen=True, slots=True)
class ProposedColumn:
    """A proposed column: its ``body`` for the mapping file, confidence and reason."""

    name: str
    body: Mapping[str, Any]
    confidence: Confidence
    reason: Text

    @property
    def sources(self) -> tuple[str, ...]:
        """Source headers of the column."""
        named = [self.body[key] for key in ("from", "month") if key in self.body]
        return tuple(self.body.get("join", [text for text in named if text != TO_FILL_IN]))

    @property
    def is_incomplete(self) -> bool:
        """True if a person has to fill in a value."""
        asked = (self.body.get(key) for key in ("constant", "month", "later"))
        return TO_FILL_IN in [*asked, *self.body.get("values", {}).values()]


@dataclass(frozen=True, slots=True)
class ProposedList:
    """A proposed list of each record: the columns of its items, for each of those that are side by
    side; ``once`` if each row of a record repeats them."""

    items: Sequence[Sequence[ProposedColumn]]
    once: bool = False

    @property
    def columns(self) -> Sequence[ProposedColumn]:
        """Columns of all items."""
        return [column for block in self.items for column in block]


@dataclass(frozen=True, slots=True)
class MappingProposal:
    """A proposed mapping of a sheet: ``ignore`` has the unused headers with the reasons,
    ``header_row`` is Excel's row number of the header; ``base`` the mapping that it builds on;
    ``rows`` has the words of the rows that are read and left out; ``lists`` the lists of records of
    which a sheet has a row for each item."""

    resource: Resource
    sheet: str
    header: Sequence[str]
    columns: Sequence[ProposedColumn]
    ignore: Mapping[str, Text]
    header_row: int = 1
    base: SheetMapping | None = None
    rows: Mapping[str, Mapping[str, bool | str]] = field(default_factory=dict)
    lists: Mapping[str, ProposedList] = field(default_factory=dict)

    @property
    def all_columns(self) -> Mapping[str, ProposedColumn]:
        """Columns of the records by name, and of their lists by path, such as
        ``produtos.1.idProduto``."""
        found = {column.name: column for column in self.columns}
        for name, one in self.lists.items():
            for number, block in enumerate(one.items):
                found |= {item_path(name, number, column.name): column for column in block}
        return found

    @property
    def incomplete(self) -> Sequence[str]:
        """Columns, and headers of rows, with a value that a person has to fill in."""
        columns = [name for name, one in self.all_columns.items() if one.is_incomplete]
        return columns + [text for text, it in self.rows.items() if TO_FILL_IN in it.values()]

    @property
    def weight(self) -> float:
        """Weight for comparing resources, by the matched columns and headers.

        A resource that needs child sheets also needs the key that joins them.
        """
        points = {Confidence.HIGH: 1.0, Confidence.MEDIUM: 0.6, Confidence.LOW: 0.2}
        matched = {c.name: points[c.confidence] for c in self.columns if c.sources}
        items = [column for one in self.lists.values() for column in one.items[0]]
        listed = sum(points[column.confidence] for column in items if column.sources)
        required = self.resource.required
        if self.resource.needs_children and KEY not in matched:
            return -math.inf
        missing = sum(name not in matched for name in required) / max(1, len(required))
        share = len(self.used_headers) / max(1, len(self.header))
        penalty = _OTHER_COLUMN_PENALTY * len(self.foreign_names)
        return sum(matched.values()) + listed + share - 2 * missing - penalty

    def changes(self) -> tuple[list[str], list[str]]:
        """Return the headers of the base that the sheet lacks, and those that are new."""
        old = {} if self.base is None else {header_key(text): text for text in self.base.header}
        new = {header_key(text): text for text in self.header}
        gone = [text for key, text in old.items() if key not in new]
        return gone, [text for key, text in new.items() if key not in old]

    def names_to_look_up(self, cells: SheetCells) -> Mapping[str, Sequence[str]]:
        """Return the names in the linked columns of branches, cost centres and so on, by the paths
        of ``all_columns``, without those that have values; clients, suppliers and products are
        registered rather than translated.

        ``cells`` are those of the sheet.
        """
        words = self._words_read(foreign_columns(cells, self.header_row - 1)[0])
        found = {}
        for path, column in self.all_columns.items():
            target = self.resource.column_at(path)
            if "link" in column.body and target is not None and takes_listed_names(target):
                known = set(map(value_key, column.body.get("values", ())))
                texts = (text for header in column.sources for text in words.get(header, ()))
                found[path] = [text for text in texts if value_key(text) not in known]
        return found

    def _words_read(self, columns: Sequence[ForeignColumn]) -> Mapping[str, Sequence[str]]:
        """Return the words of the columns by header, without those that only rows have which are
        left out."""
        known, left = {one.header: one for one in columns}, set[int]()
        for text in self.rows.keys() & known.keys():
            gone = {value_key(word) for word, read in self.rows[text].items() if read is False}
            left |= known[text].rows_with(gone)
        for one in self.columns:
            if (sign := one.body.get("sign")) is not None:
                left |= known[one.sources[0]].rows_of_other_sign(sign)
        return {header: one.words_without(left) for header, one in known.items()}

    def without_unread(self, columns: Sequence[ForeignColumn]) -> "MappingProposal":
        """Return the proposal without the words to be filled in that no row has which is read."""
        words, found = self._words_read(columns), self
        for column in self.all_columns.values():
            values = column.body.get("values", {})
            read = {value_key(text) for header in column.sources for text in words[header]}
            kept = {t: it for t, it in values.items() if it != TO_FILL_IN or value_key(t) in read}
            if len(kept) < len(values):
                body = {key: it for key, it in column.body.items() if key != "values"}
                body |= {"values": kept} if kept else {}
                found = found._swapped(column, replace(column, body=body))
        return found

    def _swapped(self, old: ProposedColumn, new: ProposedColumn) -> "MappingProposal":
        """Return the proposal with another column in place of one."""

        def swapped(columns: Sequence[ProposedColumn]) -> Sequence[ProposedColumn]:
            return [new if one is old else one for one in columns]

        lists = {
            name: replace(one, items=list(map(swapped, one.items)))
            for name, one in self.lists.items()
        }
        return replace(self, columns=swapped(self.columns), lists=lists)

    def asking(self, path: str, unknown: Mapping[str, object]) -> "MappingProposal":
        """Return the proposal with names of a column, given by its path in ``all_columns``, to be
        replaced, each with the similar ones."""
        old = self.all_columns[path]
        asked = dict.fromkeys(unknown, TO_FILL_IN)
        body = {**old.body, "values": {**old.body.get("values", {}), **asked}}
        reasons = [_UNKNOWN.format(name=text, similar=similar) for text, similar in unknown.items()]
        confidence = min(old.confidence, Confidence.MEDIUM, key=RISING.index)
        why = joined([old.reason, *reasons], "; ")
        # The period of the last sentence is that of the whole reason.
        why = Text(pt=why.pt.removesuffix("."), en=why.en.removesuffix("."))
        return self._swapped(old, replace(old, body=body, confidence=confidence, reason=why))

    @property
    def open_columns(self) -> Mapping[str, ProposedColumn]:
        """Columns to be checked, like ``all_columns``: all, or those that differ from the mapping
        used before."""
        if self.base is None or self.base.title is not None:
            return self.all_columns
        before = {name: column.body for name, column in self.base.by_path.items()}
        return {
            name: one
            for name, one in self.all_columns.items()
            if before.get(name) != one.body or one.confidence is Confidence.LOW
        }

    @property
    def accept(self) -> Sequence[str]:
        """Findings that the mapping used before accepts."""
        return () if self.base is None else self.base.accept

    @property
    def used_headers(self) -> set[str]:
        """Headers that the columns use."""
        return {header for column in self.all_columns.values() for header in column.sources}

    @property
    def foreign_names(self) -> Mapping[str, frozenset[str]]:
        """Unused headers that are usual names of columns of other resources, with these columns."""
        meanings = {header: columns_called(header) for header in self.ignore}
        known = self.resource.names_with_lists
        return {header: names for header, names in meanings.items() if names and not names & known}
