"""Proposed mapping of a sheet: its columns and lists, each column with confidence and reason,
and the text of its mapping file."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import yaml

from xlbridge.i18n import Text, joined
from xlbridge.resources import KEY, Resource
from xlbridge.validation.header_row import header_key
from xlbridge.validation.mapping.column_fit import (
    ForeignColumn,
    foreign_columns,
    takes_listed_names,
)
from xlbridge.validation.mapping.header_names import columns_called
from xlbridge.validation.mapping.mapping_file import (
    TO_FILL_IN,
    Scalar,
    SheetMapping,
    item_path,
    value_key,
)
from xlbridge.workbook.read import SheetCells

RememberedValues = Mapping[tuple[str, bool], Mapping[str, Scalar]]
"""Values of words, by their keys, for a column and whether it has a link."""

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
        # Parts of one sentence, without the period of their own.
        reasons = [
            Text(pt=why.pt.removesuffix("."), en=why.en.removesuffix("."))
            for text, similar in unknown.items()
            for why in [_UNKNOWN.format(name=text, similar=similar)]
        ]
        confidence = min(old.confidence, Confidence.MEDIUM, key=RISING.index)
        why = joined([old.reason, *reasons], "; ")
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


_WIDTH = 10_000


def confirmed_mapping_text(
    cells: SheetCells,
    header_row: int,
    resource: str,
    columns: Mapping[str, Mapping[str, Any]],
    rows: Mapping[str, Mapping[str, bool | str]],
    once: Collection[str],
    accept: Sequence[str],
) -> str:
    """Return the text of a mapping file with the ``columns`` that a person confirmed, those of
    lists by path, the words of ``rows`` that are read, and the findings that are right; all other
    headers of the sheet are ignored. The rows of a record repeat the items of the lists ``once``.
    """
    unique, repeated = foreign_columns(cells, header_row - 1)
    header = [*(foreign.header for foreign in unique), *repeated]
    used = {*rows} | {
        name
        for body in columns.values()
        for name in (body.get("from"), body.get("month"), *body.get("join", ()))
    }
    lists: dict[str, dict[str, dict[str, Any]]] = {}
    for path, body in columns.items():
        name, _, rest = path.partition(".")
        number, _, column = rest.partition(".")
        if column:
            lists.setdefault(name, {}).setdefault(number, {})[column] = dict(body)
    content = {
        "version": 1,
        "resource": resource,
        "header": header,
        "columns": {name: dict(body) for name, body in columns.items() if "." not in name},
        "rows": {text: dict(words) for text, words in rows.items()},
        "lists": {
            name: {"once": name in once, "items": [*blocks.values()]}
            for name, blocks in lists.items()
        },
        "ignore": [name for name in header if name not in used],
        "accept": list(accept),
    }
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=_WIDTH)


def mapping_text(proposal: MappingProposal) -> str:
    """Return the text of the proposed file, with the reasons as comments."""
    lines = ["version: 1", f"resource: {proposal.resource.name}"]
    lines += [f"header: {_flow(list(proposal.header))}", "columns:"]
    for column in proposal.columns:
        lines += [f"  # {reason_text(column)}", f"  {column.name}: {_flow(dict(column.body))}"]
    if proposal.lists:
        lines.append("lists:")
    for name, one in proposal.lists.items():
        lines += [f"  {name}:", *(["    once: true"] if one.once else []), "    items:"]
        for block in one.items:
            for number, column in enumerate(block):
                lead = "      " if number else "    - "
                lines.append(f"      # {reason_text(column)}")
                lines.append(f"{lead}{column.name}: {_flow(dict(column.body))}")
    if proposal.rows:
        lines.append("rows:")
    lines += [f"  {_flow(text)}: {_flow(dict(words))}" for text, words in proposal.rows.items()]
    if proposal.accept:
        lines.append(f"accept: {_flow(list(proposal.accept))}")
    if proposal.ignore:
        lines.append("ignore:")
    lines += [f"  - {_flow(header)}  # {why}" for header, why in proposal.ignore.items()]
    return "\n".join(lines) + "\n"


def reason_text(column: ProposedColumn) -> Text:
    """Return the confidence and reason of a proposed column."""
    return Text(pt="{sure}: {why}.", en="{sure}: {why}.").format(
        sure=CONFIDENCE_WORDS[column.confidence], why=column.reason
    )


def _flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(
        value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=_WIDTH
    )
    return text.removesuffix("...\n").strip()
