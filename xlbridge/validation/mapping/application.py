"""Application of a mapping: what its resource accepts of it, and how a foreign sheet becomes the
cells and the header of that resource.

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
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Catalogue, Column, Kind, Resource, pandera_checks
from xlbridge.resources.checks import CATALOGUE, DOCUMENTS, RULES
from xlbridge.resources.references import REFERENCES, registry_named
from xlbridge.resources.remote import ReadBack
from xlbridge.resources.yaml_files import YamlPath, unknown_value
from xlbridge.settings import ParseOptions
from xlbridge.validation.cells.coercion import type_column
from xlbridge.validation.cells.contents import MAX_LISTED, ColumnCells, display, quote_some, quoted
from xlbridge.validation.cells.suspect_cells import FormatLookup, is_shown_as_text
from xlbridge.validation.cells.text_parsing import (
    all_values,
    day_of,
    document_kind,
    month_of,
    shown_text,
)
from xlbridge.validation.header_row import ChosenSheet, Header, UnusableCell
from xlbridge.validation.mapping.mapping_file import (
    TO_FILL_IN,
    FoundMistake,
    HeaderCandidate,
    MappedColumn,
    Scalar,
    SheetMapping,
    value_key,
)
from xlbridge.validation.request import AcceptedFindings
from xlbridge.validation.sheet_findings import CellProblems
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


def join_texts(
    mapped: MappedColumn,
    columns: Sequence[CellColumn],
    formats: Sequence[Mapping[int, str]],
    rows: Iterable[int],
) -> ConvertedCells:
    """Join the texts of the columns of a mapped one in each row, without empty ones; its suffix
    follows what is not empty. ``formats`` are the number formats of each column by Excel's rows.

    Cells that show another text than the one to be joined are unusable, such as the instalment
    1/3, which Excel makes a date.
    """
    joined, parts = ConvertedCells(all_values(columns[0])), list(zip(columns, formats, strict=True))
    for row in rows:
        texts = []
        for header, (column, forms) in zip(mapped.sources, parts, strict=True):
            value = column.value(row - 1)
            if not (text := display(value).strip()):
                continue
            texts.append(text)
            if not is_shown_as_text(value, forms.get(row)):
                details = {"header": quoted(header), "stored": text}
                joined.unusable.setdefault(row, ("mapping-part-shown-otherwise", details))
        whole = mapped.separator.join(texts) + (mapped.suffix or "")
        joined.values[row - 1] = whole if texts else ""
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
    header = _mapped_header(columns, resource, found)
    header.left_out.update(left_out)
    added: list[tuple[str, Sequence[int], ConvertedCells]] = []
    conversions = _converted_columns(columns, resource, found, formats_of, left_out)
    for mapped, converted in chain(conversions, given):
        header.names[mapped.name] = " + ".join(mapped.sources)
        if converted.kept_rows is None and (words := _words(mapped.values or {})):
            header.words[mapped.name] = words
        added.append((mapped.name, [*map(found.index, mapped.sources)], converted))
    return _with_columns(ChosenSheet(found.cells, resource), header, added)


def with_record_columns(choice: ChosenSheet, header: Header, declared: ReadBack) -> MappedSheet:
    """Return an exported listing with the columns that it has as other fields of its records.

    Each has its source's header.
    """
    added: list[tuple[str, Sequence[int], ConvertedCells]] = []
    for name, fields in header.made_of.items():
        indexes = [*fields.values()]
        values = _values_made_of(choice.cells, fields, name, declared)
        rows = frozenset(row for row, value in enumerate(values, start=1) if value != "")
        values[header.row - 1] = choice.cells.columns[indexes[0]].value(header.row - 1)
        kept_rows = None if name == KEY else rows
        added.append((name, indexes, ConvertedCells(values, kept_rows=kept_rows)))
    return _with_columns(choice, header, added)


def _values_made_of(
    cells: SheetCells, fields: Mapping[str, int], column: str, declared: ReadBack
) -> list[object]:
    """Return the values of a column that an exported listing has as other fields, from Excel's row
    1 on; an empty one is ``""``. ``fields`` have their indexes, as in ``Header.made_of``."""
    sources = [cells.columns[index].values(range(cells.height)) for index in fields.values()]
    rows: Iterable[dict[str, object]] = (
        {name: value for name, value in zip(fields, row, strict=True) if value != ""}
        for row in zip(*sources, strict=True)
    )
    if column == KEY:
        texts = ({name: display(value) for name, value in row.items()} for row in rows)
        return [declared.joined_codes(row) or "" for row in texts]
    convert = declared.as_row
    values = (convert(row)[column] for row in rows)
    return ["" if value is None else value for value in values]


def _with_columns(
    choice: ChosenSheet,
    header: Header,
    columns: Iterable[tuple[str, Sequence[int], ConvertedCells]],
) -> MappedSheet:
    """Return a sheet with columns after its own, each with its name and the indexes of its sources,
    and enter them in its header."""
    cells = choice.cells
    errors, without_result = dict(cells.raw.errors), set(cells.raw.without_result)
    raw = replace(cells.raw, errors=errors, without_result=without_result)
    added: list[CellColumn] = []
    kept_rows: dict[int, frozenset[int]] = {}
    split: set[int] = set()
    for name, indexes, converted in columns:
        index = len(cells.columns) + len(added)
        added.append(CellEncoder().encode(converted.values))
        header.columns[name], header.sources[index] = index, indexes[0]
        header.unusable[name] = converted.unusable
        if converted.kept_rows is None:
            header.converted.add(name)
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
    with_added = replace(cells, columns=[*cells.columns, *added], raw=raw)
    return MappedSheet(replace(choice, cells=with_added), header, kept_rows)


_MOST_WORDS = 1_000


def _words(values: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
    """Return the words of a mapped column that may also stand for its values elsewhere, beside
    codes: none if one is a number, which could be another code."""
    words = {text: value for text, value in values.items() if text not in DOCUMENTS}
    is_clear = len(words) <= _MOST_WORDS and not any(map(str.isdecimal, words))
    return words if is_clear else {}


def replace_words(
    choice: ChosenSheet, header: Header, words: Mapping[str, Mapping[str, Any]]
) -> MappedSheet:
    """Return a sheet of ``header`` with the values of the words in some of its columns; other texts
    stay unchanged."""
    cells, resource = choice.cells, choice.resource
    added: list[tuple[str, Sequence[int], ConvertedCells]] = []
    for name, values in words.items():
        if resource is None or name not in header.columns:
            continue
        source, column = header.columns[name], resource.by_name[name]
        targets = {text: _to_cell(column, value) for text, value in values.items()}
        rows = range(header.row + 1, cells.height + 1)
        converted = convert_values(cells.columns[source], rows, targets, is_complete=False)
        added.append((name, [source], converted))
        header.words[name] = values
    return _with_columns(choice, header, added)


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
    rows = [row for row in found.rows if row not in left_out]
    split: dict[int, list[MappedColumn]] = {}
    for mapped in columns:
        if mapped.join or mapped.suffix:
            left, indexes = cells.first_column, [found.index(text) for text in mapped.sources]
            found_formats = formats_of(cells.raw.formats, [left + index for index in indexes])
            formats = [
                {r: form for (r, c), form in found_formats.items() if c == left + index}
                for index in indexes
            ]
            yield mapped, join_texts(mapped, [cells.columns[at] for at in indexes], formats, rows)
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


_A_NUMBER = Text(pt="deve ser um número, sem aspas.", en="this must be a number, without quotes.")
_OR_A_NAME = Text(
    pt="{wrong} Para um nome, acrescente link: {registry}.",
    en="{wrong} For a name, add link: {registry}.",
)
_A_TEXT = Text(pt="deve ser um texto, entre aspas.", en="this must be a text, in quotes.")
_A_DATE = Text(
    pt="deve ser uma data, como 2026-01-31.", en="this must be a date, such as 2026-01-31."
)
_TO_FILL_IN = Text(pt="substitua ? pelo valor.", en="replace ? with the value.")
_ONLY_OF_DATES = Text(pt="month só vale para datas.", en="month is only valid for dates.")
_A_FLAG = Text(pt="deve ser true ou false.", en="this must be true or false.")


def require_fitting(mapping: SheetMapping, catalogue: Catalogue, resource: str | None) -> Resource:
    """Return the resource of a mapping.

    Raises ``UsageError`` if it is not the requested ``resource``, or with the line of each column,
    value and link that the resource does not accept.
    """
    if mapping.resource not in catalogue:
        message = unknown_value(mapping.resource, tuple(catalogue))
        raise mapping.error([(("resource",), message)])
    if resource is not None and resource != mapping.resource:
        raise UsageError(
            Text(
                pt="O mapeamento {mapping} é de {found}, e não de {wanted}.",
                en="The mapping {mapping} is for {found}, not for {wanted}.",
            ).format(mapping=mapping.path, found=mapping.resource, wanted=resource),
            Text(pt="Use só --map, sem --resource.", en="Use --map alone, without --resource."),
        )
    found = catalogue[mapping.resource]
    if mistakes := list(_mistakes(mapping, found)):
        raise mapping.error(mistakes)
    return found


_KEY_OF_RECORD = Text(
    pt="a chave é a do registro, em columns; tire-a daqui.",
    en="the key is that of the record, in columns; remove it from here.",
)
_SAME_KEY = Text(
    pt="os registros de uma linha teriam o mesmo {name}: dê a cada um, em items, um suffix próprio "
    "ou outra coluna.",
    en="the records of a row would have the same {name}: give each of them, in items, a suffix of "
    "its own or another column.",
)
_NOT_LINKABLE = Text(
    pt="esta coluna não contém o código de um registro que possa ser procurado.",
    en="this column does not hold the code of a record that can be looked up.",
)


def _mistakes(mapping: SheetMapping, resource: Resource) -> Iterator[FoundMistake]:
    """Yield the columns, links, constants, target values and accepted findings that cannot be."""
    parts = {part.sheet: part for part in resource.children} | {resource.name: resource}
    base = resource.base or resource
    unlinked = {part.name: part for part in (base, *base.children)}
    for name in mapping.lists:
        if name not in parts:
            yield ("lists", name), unknown_value(name, tuple(parts))
    for number, text in enumerate(mapping.accept):
        if mistake := AcceptedFindings.mistake_in(text):
            yield ("accept", number), mistake.message
    for path, mapped in mapping.all_columns:
        target = resource if path[0] == "columns" else parts.get(str(path[1]))
        if target is not None:
            yield from _column_mistakes(path, mapped, target, unlinked[target.name])
    items = () if mapping.records is None else mapping.records.items
    for name in resource.natural_keys if items else ():
        bodies = [block[name].body for block in items if name in block]
        is_shared = any(column.name == name for column in mapping.columns)
        if is_shared or any(bodies.count(body) > 1 or "constant" in body for body in bodies):
            yield ("lists", resource.name), _SAME_KEY.format(name=name)


def _column_mistakes(
    path: YamlPath, mapped: MappedColumn, resource: Resource, unlinked: Resource
) -> Iterator[FoundMistake]:
    """Yield what a resource or a list does not accept of a column; ``unlinked`` has no links."""
    column = unlinked.by_name.get(mapped.name)
    if column is None:
        yield path, unknown_value(mapped.name, tuple(resource.by_name))
    elif path[0] == "lists" and mapped.name == KEY:
        yield path, _KEY_OF_RECORD
    elif mapped.link is not None and registry_named(mapped.link) != column.references:
        registry = REFERENCES.get(column.references or "")
        known = "" if registry is None else registry.resource or column.references or ""
        message = unknown_value(mapped.link, (known,)) if known else _NOT_LINKABLE
        yield (*path, "link"), message
    if mapped.month is not None:
        if column is not None and column.kind is not Kind.DATE:
            yield (*path, "month"), _ONLY_OF_DATES
        for key in ("month", "later"):
            if getattr(mapped, key) == TO_FILL_IN:
                yield (*path, key), _TO_FILL_IN
        if not str(mapped.later).isdecimal() and mapped.later != TO_FILL_IN:
            yield (*path, "later"), _A_NUMBER
    values: dict[YamlPath, Scalar] = {
        (*path, "values", text): value
        for text, value in (mapped.values or {}).items()
        if value is not None
    }
    if not mapped.sources:
        values[*path, "constant"] = mapped.constant
    if (target := resource.by_name.get(mapped.name)) is not None:
        for place, value in values.items():
            if wrong := _wrong_value(target, value):
                is_name = wrong is _A_NUMBER and place[-1] == "constant" and target.references
                yield place, _named(target, wrong) if is_name else wrong


def _named(column: Column, wrong: Text) -> Text:
    """Return the message of a wrong value that may be the name of a record."""
    registry = REFERENCES[column.references or ""].resource or column.references
    return _OR_A_NAME.format(wrong=wrong, registry=registry)


def _wrong_value(column: Column, value: Scalar) -> Text | None:
    """Return the message that a value of the mapping file has another type than the column, or
    breaks the first of its rules; None if it is valid."""
    if value == TO_FILL_IN:
        return _TO_FILL_IN
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if column.kind.is_number and not is_number:
        return _A_NUMBER
    if column.kind is Kind.BOOLEAN and not isinstance(value, bool):
        return _A_FLAG
    if column.kind.is_text and not isinstance(value, str):
        return _A_TEXT
    if column.kind is Kind.DATE and not isinstance(value, str):
        return _A_DATE
    try:
        series, problems = type_value(column, value)
    except ValueError:
        return _A_DATE
    if len(problems):
        code = problems.finding_codes()[0]
        return CATALOGUE[code].message.format(**problems.remarks[problems.details[0]].details)
    if column.allowed and value not in column.allowed:
        return unknown_value(value, column.allowed)
    for name, check in pandera_checks(column).items():
        rule = RULES[name]
        if not rule.whole_column and not np.all(check(series).check_output):
            details = {"found": len(str(value)), **rule.details(column.checks[name])}
            return rule.finding.message.format(**details)
    return None
