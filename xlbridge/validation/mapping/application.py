"""Application of a mapping: a foreign sheet becomes the cells and the header of a resource.

Converted columns are appended after the sheet's last column; ``Header.sources`` maps them to their
source columns, so that findings name the analyst's own cells.
"""

import datetime as dt
import re
from calendar import monthrange
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from itertools import chain

import numpy as np
import pandas as pd

from xlbridge.resources import Column, Kind, Resource
from xlbridge.resources.checks import DOCUMENTS
from xlbridge.settings import ParseOptions
from xlbridge.validation.cells.coercion import type_column
from xlbridge.validation.cells.column_cells import CellProblems, ColumnCells
from xlbridge.validation.cells.displayed_cells import FormatLookup, is_shown_as_text
from xlbridge.validation.cells.text import MAX_LISTED, display, quote_some, quoted
from xlbridge.validation.headers.header_row import (
    ChosenSheet,
    Header,
    UnusableCell,
    repeated_headers,
)
from xlbridge.validation.mapping.column_fit import (
    all_values,
    day_of,
    document_kind,
    month_of,
    shown_text,
)
from xlbridge.validation.mapping.mapping_file import (
    HeaderCandidate,
    MappedColumn,
    Scalar,
    value_key,
)
from xlbridge.workbook import CellPosition
from xlbridge.workbook.read import CellColumn, CellEncoder, SheetCells


@dataclass(slots=True)
class ConvertedCells:
    """Converted cells of one column, one for each of Excel's rows; an empty one is ``""``.

    ``unusable``: cells that the mapping has no value for, by Excel's row number; ``kept_rows``:
    rows whose cells are used unchanged, None if all cells are converted.
    """

    values: list[object]
    unusable: dict[int, UnusableCell] = field(default_factory=dict)
    kept_rows: frozenset[int] | None = None


def convert_values(
    column: CellColumn, rows: Iterable[int], targets: Mapping[str, object], *, is_complete: bool
) -> ConvertedCells:
    """Convert the cells in ``rows``, Excel's numbers, by a list; the others stay unchanged.

    A text that an incomplete list lacks stays unchanged, too: it is looked up.
    """
    known = {value_key(text): value for text, value in targets.items()}
    by_kind = {kind: known[kind] for kind in DOCUMENTS if kind in known}
    unknown: UnusableCell = "mapping-value-unknown", {"known": quote_some(targets, MAX_LISTED)}

    @lru_cache(maxsize=None, typed=True)
    def convert(value: object) -> object:
        text = value_key(shown_text(value))
        if not text:
            return ""
        if isinstance(value, bool) and text not in known:
            text = str(value).casefold()
        if text in known:
            return known[text]
        if not is_complete:
            return value
        kind = document_kind(value) if by_kind else None
        return unknown if kind is None else by_kind.get(kind, unknown)

    converted = ConvertedCells(all_values(column))
    for row in rows:
        value = convert(converted.values[row - 1])
        if value is unknown:
            converted.unusable[row] = unknown
        else:
            converted.values[row - 1] = value
    return converted


def split_documents(
    column: CellColumn, rows: Iterable[int], kinds: Sequence[str]
) -> list[ConvertedCells]:
    """Split a column of documents into one for each of ``kinds``; other cells are unusable in the
    first."""
    values = all_values(column)
    filled = [row for row in rows if display(values[row - 1]).strip()]
    found = {row: document_kind(values[row - 1]) for row in filled}
    unknown: UnusableCell = "mapping-document-unknown", {"kinds": ", ".join(kinds).upper()}
    unusable = {row: unknown for row, kind in found.items() if kind not in kinds}
    split: list[ConvertedCells] = []
    for kind in kinds:
        kept = frozenset(row for row, other in found.items() if other == kind)
        converted = ConvertedCells(list(values), {} if split else unusable, kept)
        for row in found.keys() - kept - converted.unusable.keys():
            converted.values[row - 1] = ""
        split.append(converted)
    return split


@dataclass(frozen=True, slots=True)
class JoinedPart:
    """Column whose texts are joined with others: its header, and the number formats of its cells by
    Excel's row number."""

    header: str
    cells: CellColumn
    formats: Mapping[int, str]


def join_texts(
    parts: Sequence[JoinedPart], rows: Iterable[int], separator: str, suffix: str = ""
) -> ConvertedCells:
    """Join the texts of several columns in each row, without empty ones; the ``suffix`` follows
    what is not empty.

    Cells that show another text than the one to be joined are unusable, such as the instalment
    1/3, which Excel makes a date.
    """
    joined = ConvertedCells(all_values(parts[0].cells))
    for row in rows:
        texts = []
        for part in parts:
            value = part.cells.value(row - 1)
            if not (text := display(value).strip()):
                continue
            texts.append(text)
            if not is_shown_as_text(value, part.formats.get(row)):
                details = {"header": quoted(part.header), "stored": text}
                joined.unusable.setdefault(row, ("mapping-part-shown-otherwise", details))
        joined.values[row - 1] = separator.join(texts) + suffix if texts else ""
    return joined


def _to_cell(column: Column, value: Scalar) -> object:
    """Convert a value of the mapping file to a cell value. Raises ``ValueError``."""
    if value is None:
        return ""
    if column.kind.is_number:
        return float(value)
    return dt.date.fromisoformat(str(value)) if column.kind is Kind.DATE else value


def type_value(column: Column, value: Scalar) -> tuple[pd.Series, CellProblems]:
    """Type a value of the mapping file like a cell of the column."""
    cell = ColumnCells(CellEncoder().encode([_to_cell(column, value)]), np.array([1]))
    values, problems = type_column(column, cell, ParseOptions())
    return pd.Series(values), problems


@dataclass(frozen=True, slots=True)
class MappedSheet:
    """A foreign sheet as a resource's: its cells with the converted columns, and its header.

    ``kept_rows`` has, by the index of an added column, the rows whose cells are the source's, if
    not all of them are.
    """

    choice: ChosenSheet
    header: Header
    kept_rows: Mapping[int, Collection[int]]

    def format_lookup(self, lookup: FormatLookup) -> FormatLookup:
        """Return a lookup that finds the formats of converted cells at their source cells."""

        first_column = self.choice.cells.first_column

        def find(styles: Mapping[int, str], columns: Collection[int]) -> Mapping[CellPosition, str]:
            by_source: defaultdict[int, list[int]] = defaultdict(list)
            for index in (column - first_column for column in columns):
                by_source[self.header.sources.get(index, index)].append(index)
            found = lookup(styles, [first_column + source for source in by_source])
            return {
                (row, first_column + index): code
                for (row, column), code in found.items()
                for index in by_source[column - first_column]
                if index not in self.kept_rows or row in self.kept_rows[index]
            }

        return find


def map_rows(
    columns: Iterable[MappedColumn],
    resource: Resource,
    found: HeaderCandidate,
    formats_of: FormatLookup,
    left_out: Set[int],
    given: Iterable[tuple[MappedColumn, ConvertedCells]] = (),
) -> MappedSheet:
    """Return the cells of the rows that are not left out, Excel's numbers, for the columns of a
    resource, and for those that are ``given``."""
    columns = list(columns)
    cells = found.cells
    errors, without_result = dict(cells.raw.errors), set(cells.raw.without_result)
    raw = replace(cells.raw, errors=errors, without_result=without_result)
    header = _mapped_header(columns, resource, found)
    header.left_out.update(left_out)
    added: list[CellColumn] = []
    kept_rows: dict[int, frozenset[int]] = {}
    split: set[int] = set()
    conversions = _converted_columns(columns, resource, found, formats_of, left_out)
    for mapped, converted in chain(conversions, given):
        indexes = [found.index(text) for text in mapped.sources]
        index = len(cells.columns) + len(added)
        added.append(CellEncoder().encode(converted.values))
        header.columns[mapped.name], header.sources[index] = index, indexes[0]
        header.names[mapped.name] = " + ".join(mapped.sources)
        header.unusable[mapped.name] = converted.unusable
        if converted.kept_rows is None:
            header.converted.add(mapped.name)
        else:
            kept_rows[index] = converted.kept_rows
            # Only the first part of a split column reports its errors.
            if indexes[0] in split:
                continue
            split.add(indexes[0])
        in_sheet = cells.first_column + index
        in_source = [cells.first_column + source for source in indexes]
        errors |= {(r, in_sheet): e for (r, c), e in cells.raw.errors.items() if c in in_source}
        without_result |= {(r, in_sheet) for r, c in cells.raw.without_result if c in in_source}
    with_added = SheetCells(cells.name, cells.first_column, [*cells.columns, *added], raw)
    return MappedSheet(ChosenSheet(with_added, resource), header, kept_rows)


def rows_below(found: HeaderCandidate) -> list[int]:
    """Return Excel's numbers of the rows below a header that do not repeat it."""
    cells, header_row = found.cells, found.position + 1
    repeated = set(repeated_headers(cells, header_row, found.columns.values()))
    return [row for row in range(header_row + 1, cells.height + 1) if row not in repeated]


_SIGNS = re.compile(r"[-−()]")


def without_signs(column: CellColumn, rows: Iterable[int]) -> ConvertedCells:
    """Return the amounts in ``rows``, Excel's numbers, without their signs."""
    converted = ConvertedCells(all_values(column))
    for row in rows:
        value = converted.values[row - 1]
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            converted.values[row - 1] = abs(value)
        elif isinstance(value, str):
            converted.values[row - 1] = _SIGNS.sub("", value).strip()
    return converted


def dates_of_days(
    days: CellColumn, months: CellColumn, rows: Iterable[int], later: int
) -> ConvertedCells:
    """Return the dates of the days in ``rows``, Excel's numbers, in the month that another column
    has, or as many months ``later``.

    Cells that are dates stay unchanged.
    """
    converted = ConvertedCells(all_values(days))
    for row in rows:
        value = converted.values[row - 1]
        if not shown_text(value) or isinstance(value, dt.date):
            continue
        named = months.value(row - 1)
        day, month = day_of(value), month_of(named)
        year, at = divmod(12 * month[0] + month[1] - 1 + later, 12) if month else (1, 0)
        if month is None or day is None or day > monthrange(year, at + 1)[1]:
            details = {"month": quoted(shown_text(named))}
            converted.unusable[row] = "mapping-day-unknown", details
        else:
            converted.values[row - 1] = dt.datetime(year, at + 1, day)
    return converted


def _mapped_header(
    columns: Iterable[MappedColumn], resource: Resource, found: HeaderCandidate
) -> Header:
    """Return the header without converted columns."""
    header = Header(row=found.position + 1, columns={})
    for mapped in columns:
        if mapped.is_direct and mapped.source is not None:
            header.columns[mapped.name] = found.index(mapped.source)
            header.names[mapped.name] = mapped.source
        elif not mapped.sources:
            values, _ = type_value(resource.by_name[mapped.name], mapped.constant)
            header.constants[mapped.name] = values.iat[0]
        if mapped.numbers is not None:
            header.styles[mapped.name] = mapped.numbers
    return header


def _converted_columns(
    columns: Sequence[MappedColumn],
    resource: Resource,
    found: HeaderCandidate,
    formats_of: FormatLookup,
    left_out: Collection[int],
) -> Iterator[tuple[MappedColumn, ConvertedCells]]:
    """Yield the columns whose cells are converted, except in rows that repeat the header or are
    left out."""
    cells = found.cells
    rows = [row for row in rows_below(found) if row not in left_out]
    split: dict[int, list[MappedColumn]] = {}
    for mapped in columns:
        if mapped.join or mapped.suffix:
            left, indexes = cells.first_column, [found.index(text) for text in mapped.sources]
            formats = formats_of(cells.raw.formats, [left + index for index in indexes])
            parts = [
                JoinedPart(
                    text,
                    cells.columns[index],
                    {r: form for (r, c), form in formats.items() if c == left + index},
                )
                for text, index in zip(mapped.sources, indexes, strict=True)
            ]
            yield mapped, join_texts(parts, rows, mapped.separator, mapped.suffix or "")
        elif mapped.values is not None:
            column = resource.by_name[mapped.name]
            targets = {text: _to_cell(column, value) for text, value in mapped.values.items()}
            listed = cells.columns[found.index(mapped.sources[0])]
            is_complete = mapped.link is None
            yield mapped, convert_values(listed, rows, targets, is_complete=is_complete)
        elif mapped.sign in {"negative", "any"}:
            amounts = cells.columns[found.index(mapped.sources[0])]
            yield mapped, without_signs(amounts, rows)
        elif mapped.month is not None:
            days, months = (cells.columns[found.index(text)] for text in mapped.sources)
            yield mapped, dates_of_days(days, months, rows, int(mapped.later))
        elif mapped.when is not None:
            split.setdefault(found.index(mapped.sources[0]), []).append(mapped)
    for source, group in split.items():
        kinds = [mapped.when for mapped in group if mapped.when is not None]
        yield from zip(group, split_documents(cells.columns[source], rows, kinds), strict=True)
