"""Application of a mapping: a foreign sheet becomes the cells and the header of a resource.

Converted columns are appended after the sheet's last column; ``Header.sources`` maps them to their
source columns, so that findings name the analyst's own cells.
"""

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Column, Kind, Resource, column_checks
from xlbridge.resources.checks import CATALOGUE, RULES
from xlbridge.resources.findings import Finding
from xlbridge.resources.references import REFERENCES, registry_named
from xlbridge.resources.yaml_files import Mistake, YamlPath, document_mistake, unknown_value
from xlbridge.settings import ParseOptions
from xlbridge.validation.cells.coercion import type_cells
from xlbridge.validation.cells.column_cells import CellProblems
from xlbridge.validation.cells.displayed_cells import FormatLookup
from xlbridge.validation.headers.header_matching import header_key
from xlbridge.validation.headers.header_row import Header, repeated_headers
from xlbridge.validation.headers.sheet_choice import SheetChoice, no_visible_sheet
from xlbridge.validation.mapping.conversion import (
    ConvertedCells,
    convert_values,
    join_texts,
    split_documents,
)
from xlbridge.validation.mapping.header_search import HeaderCandidate, find_header
from xlbridge.validation.mapping.mapping_file import (
    TO_FILL_IN,
    MappedColumn,
    Scalar,
    SheetMapping,
    mapping_error,
)
from xlbridge.workbook import CellPosition
from xlbridge.workbook.read import CellColumn, CellEncoder, RawSheet, SheetCells, WorkbookCells

_A_NUMBER = Text(pt="deve ser um número, sem aspas.", en="this must be a number, without quotes.")
_A_TEXT = Text(pt="deve ser um texto, entre aspas.", en="this must be a text, in quotes.")
_A_DATE = Text(
    pt="deve ser uma data, como 2026-01-31.", en="this must be a date, such as 2026-01-31."
)
_TO_FILL_IN = Text(pt="substitua ? pelo valor.", en="replace ? with the value.")
_A_FLAG = Text(pt="deve ser true ou false.", en="this must be true or false.")


def _to_cell(column: Column, value: Scalar) -> object:
    """Convert a value of the mapping file to a cell value. Raises ``ValueError``."""
    if value is None:
        return ""
    if column.kind.is_number:
        return float(value)
    return dt.date.fromisoformat(str(value)) if column.kind is Kind.DATE else value


def _value_mistakes(mapping: SheetMapping, resource: Resource) -> Iterator[Mistake]:
    """Yield the constants and target values that the resource's columns do not accept."""
    for mapped in mapping.columns:
        column = resource.by_name.get(mapped.name)
        if column is None:
            continue
        for path, value in _values(mapped):
            message = _wrong_type(column, value) or _broken_rule(column, value)
            if message is not None:
                yield document_mistake(mapping.document, path, message)


def _values(mapped: MappedColumn) -> Iterator[tuple[YamlPath, Scalar]]:
    """Yield the values in the file's declaration of a column, with their YAML paths."""
    path = ("columns", mapped.name)
    if not mapped.sources:
        yield (*path, "constant"), mapped.constant
    for text, value in (mapped.values or {}).items():
        if value is not None:
            yield (*path, "values", text), value


def _wrong_type(column: Column, value: Scalar) -> Text | None:
    if value == TO_FILL_IN:
        return _TO_FILL_IN
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if column.kind.is_number:
        return None if is_number else _A_NUMBER
    if column.kind is Kind.BOOLEAN:
        return None if isinstance(value, bool) else _A_FLAG
    if not isinstance(value, str):
        return _A_DATE if column.kind is Kind.DATE else _A_TEXT
    if column.kind is Kind.DATE:
        try:
            dt.date.fromisoformat(value)
        except ValueError:
            return _A_DATE
    return None


def _broken_rule(column: Column, value: Scalar) -> Text | None:
    """Return the message of the first rule that a value breaks, None if it is valid."""
    series, problems = _type_value(column, value)
    if len(problems):
        code = problems.finding_codes()[0]
        return CATALOGUE[code].message.format(**problems.remarks[problems.details[0]].details)
    if column.allowed and value not in column.allowed:
        return unknown_value(value, column.allowed)
    for name, check in column_checks(column).items():
        rule = RULES[name]
        if not rule.whole_column and not np.all(check(series).check_output):
            details = {"found": len(str(value)), **rule.details(column.checks[name])}
            return rule.finding.message.format(**details)
    return None


def _type_value(column: Column, value: Scalar) -> tuple[pd.Series, CellProblems]:
    """Type a value of the mapping file like a cell of the column."""
    cell = CellEncoder().encode([_to_cell(column, value)])
    values, problems = type_cells(column, cell, [1], ParseOptions())
    return pd.Series(values), problems


@dataclass(frozen=True, slots=True)
class MappedSheet:
    """A foreign sheet as a resource's: its cells with the converted columns, its header, and the
    sources of converted columns by their zero-based positions in the sheet."""

    choice: SheetChoice
    header: Header
    sources: Mapping[int, "_Source"]

    def format_lookup(self, lookup: FormatLookup) -> FormatLookup:
        """Return a lookup that finds the formats of converted cells at their source cells."""

        def find(styles: Mapping[int, str], columns: Collection[int]) -> Mapping[CellPosition, str]:
            converted = {index: self.sources[index] for index in columns if index in self.sources}
            unchanged = set(columns) - set(converted)
            found = lookup(styles, unchanged | {source.column for source in converted.values()})
            formats = {at: code for at, code in found.items() if at[1] in unchanged}
            for index, source in converted.items():
                for (row, column), code in found.items():
                    if column == source.column and (source.rows is None or row in source.rows):
                        formats[row, index] = code
            return formats

        return find


@dataclass(frozen=True, slots=True)
class _Source:
    """Source column of a converted column, and the rows whose cells are used; None for all."""

    column: int
    rows: Collection[int] | None


def require_fitting(mapping: SheetMapping, catalogue: Catalogue, resource: str | None) -> Resource:
    """Return the resource of a mapping.

    Raises ``UsageError`` if it is not the requested ``resource``, or with the line of each column,
    value and link that the resource does not accept.
    """
    if mapping.resource not in catalogue:
        message = unknown_value(mapping.resource, tuple(catalogue))
        mistake = document_mistake(mapping.document, ("resource",), message)
        raise mapping_error(mapping.path, [mistake])
    if resource is not None and resource != mapping.resource:
        raise UsageError(
            Text(
                pt="O mapeamento {mapping} é de {found}, e não de {wanted}.",
                en="The mapping {mapping} is for {found}, not for {wanted}.",
            ).format(mapping=mapping.path, found=mapping.resource, wanted=resource),
            Text(pt="Use só --map, sem --resource.", en="Use --map alone, without --resource."),
        )
    found = catalogue[mapping.resource]
    mistakes = [*_column_mistakes(mapping, found), *_value_mistakes(mapping, found)]
    if mistakes:
        raise mapping_error(mapping.path, mistakes)
    return found


_NOT_LINKABLE = Text(
    pt="esta coluna não contém o código de um registro que possa ser procurado.",
    en="this column does not hold the code of a record that can be looked up.",
)


def _column_mistakes(mapping: SheetMapping, resource: Resource) -> Iterator[Mistake]:
    unlinked = resource.base or resource
    for mapped in mapping.columns:
        path = ("columns", mapped.name)
        column = unlinked.by_name.get(mapped.name)
        if column is None:
            message = unknown_value(mapped.name, tuple(resource.by_name))
            yield document_mistake(mapping.document, path, message)
        elif mapped.link is not None and registry_named(mapped.link) != column.references:
            registry = REFERENCES.get(column.references or "")
            known = "" if registry is None else registry.resource or column.references or ""
            message = unknown_value(mapped.link, (known,)) if known else _NOT_LINKABLE
            yield document_mistake(mapping.document, (*path, "link"), message)


def map_sheet(
    path: Path,
    mapping: SheetMapping,
    workbook: WorkbookCells,
    catalogue: Catalogue,
    resource: str | None,
    sheet: str | None,
) -> MappedSheet:
    """Apply a mapping to the sheet of a workbook that has its header.

    Raises ``UsageError`` if the mapping does not fit the resource, or the header has changed.
    """
    mapped_resource = require_fitting(mapping, catalogue, resource)
    if not workbook.sheets:
        raise no_visible_sheet(workbook.hidden)
    found = find_header(path, mapping, workbook, sheet)
    return _MappedSheetBuilder(mapping, mapped_resource, found, workbook.hidden).build()


@dataclass(slots=True)
class _MappedSheetBuilder:
    mapping: SheetMapping
    resource: Resource
    found: HeaderCandidate
    hidden: Sequence[str]
    added: list[CellColumn] = field(default_factory=list)
    header: Header = field(init=False)
    sources: dict[int, _Source] = field(default_factory=dict)
    raw: RawSheet = field(init=False)

    def build(self) -> MappedSheet:
        cells, position = self.found.cells, self.found.position
        errors, without_result = dict(cells.raw.errors), set(cells.raw.without_result)
        self.raw = replace(cells.raw, errors=errors, without_result=without_result)
        self.header = Header(row=position + 1, columns={}, findings=list(self._missing_columns()))
        for mapped in self.mapping.columns:
            if mapped.is_direct and mapped.source is not None:
                self.header.columns[mapped.name] = self._index(mapped.source)
            elif not mapped.sources:
                column = self.resource.by_name[mapped.name]
                values, _ = _type_value(column, mapped.constant)
                self.header.constants[mapped.name] = values.iat[0]
            if mapped.sources:
                self.header.names[mapped.name] = " + ".join(mapped.sources)
            if mapped.numbers is not None:
                self.header.styles[mapped.name] = mapped.numbers
        self._add_converted()
        columns = [*cells.columns, *self.added]
        with_added = SheetCells(cells.name, cells.first_column, columns, self.raw)
        choice = SheetChoice(with_added, self.resource, self.hidden)
        return MappedSheet(choice, self.header, self.sources)

    def _missing_columns(self) -> Iterator[Finding]:
        """Yield the findings of required columns that the mapping lacks."""
        mapped_names = {mapped.name for mapped in self.mapping.columns}
        for name in self.resource.required:
            if name not in mapped_names:
                details = {"column": name, "mapping": str(self.mapping.path)}
                kind = CATALOGUE["mapping-column-missing"]
                yield Finding(kind, self.found.position + 1, name, None, None, details)

    def _add_converted(self) -> None:
        # Rows that repeat the header are not converted.
        indexes = {str(index): index for index in self.found.columns.values()}
        header = Header(row=self.found.position + 1, columns=indexes)
        repeated = set(repeated_headers(header, self.found.cells))
        first = self.found.position + 2
        rows = [row for row in range(first, self.found.cells.height + 1) if row not in repeated]
        split: dict[str, list[MappedColumn]] = {}
        for mapped in self.mapping.columns:
            columns = [self.found.cells.columns[self._index(text)] for text in mapped.sources]
            if mapped.join:
                self._add(mapped, join_texts(columns, rows, mapped.separator), converts=True)
            elif mapped.values is not None:
                column = self.resource.by_name[mapped.name]
                targets = {text: _to_cell(column, value) for text, value in mapped.values.items()}
                self._add(mapped, convert_values(columns[0], rows, targets), converts=True)
            elif mapped.when is not None:
                split.setdefault(header_key(mapped.sources[0]), []).append(mapped)
        for group in split.values():
            kinds = [mapped.when for mapped in group if mapped.when is not None]
            source = self.found.cells.columns[self._index(group[0].sources[0])]
            parts = split_documents(source, rows, kinds)
            for mapped, part in zip(group, parts, strict=True):
                self._add(mapped, part, first=mapped is group[0])

    def _add(
        self,
        mapped: MappedColumn,
        converted: ConvertedCells,
        *,
        converts: bool = False,
        first: bool = True,
    ) -> None:
        """Add a converted column with the errors of its source cells.

        If several columns have the same source, only the ``first`` reports its errors.
        """
        cells = self.found.cells
        index = len(cells.columns) + len(self.added)
        in_sheet = cells.first_column + index
        self.added.append(CellEncoder().encode(converted.values))
        self.header.columns[mapped.name] = index
        self.header.sources[index] = self._index(mapped.sources[0])
        if converted.unusable:
            self.header.unusable[mapped.name] = converted.unusable
        if converts:
            self.header.converted.add(mapped.name)
        sources = [cells.first_column + self._index(header) for header in mapped.sources]
        self.sources[in_sheet] = _Source(sources[0], None if converts else converted.kept_rows)
        if first:
            for (row, column), error in cells.raw.errors.items():
                if column in sources:
                    self.raw.errors[row, in_sheet] = error
            self.raw.without_result |= {
                (r, in_sheet) for r, c in cells.raw.without_result if c in sources
            }

    def _index(self, header: str) -> int:
        return self.found.columns[header_key(header)]
