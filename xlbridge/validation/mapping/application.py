"""Application of a mapping: a foreign sheet becomes the cells and the header of a resource.

Columns that are taken as they stand stay where they are. Converted ones are added to the cells
behind the sheet's last column, and so are values that the mapping states itself;
``Header.sources`` tells where each of them comes from, so that findings name the analyst's own
cells.
"""

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import (
    Catalogue,
    Column,
    Kind,
    Resource,
    column_checks,
)
from xlbridge.resources.checks import CATALOGUE, RULES
from xlbridge.resources.findings import Finding
from xlbridge.resources.references import REFERENCES, registry_called
from xlbridge.resources.yaml_files import Mistake, format_yaml_path, unknown_value
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
from xlbridge.validation.mapping.header_places import HeaderPlaces, find_header
from xlbridge.validation.mapping.mapping_file import (
    TO_FILL_IN,
    MappedColumn,
    Scalar,
    SheetMapping,
    mapping_error,
)
from xlbridge.workbook import CellPosition
from xlbridge.workbook.read import CellColumn, CellEncoder, RawSheet, SheetCells, WorkbookCells

_A_NUMBER = Text(
    pt="aqui se espera um número, sem aspas.", en="a number is expected here, without quotes."
)
_A_TEXT = Text(
    pt="aqui se espera um texto; ponha-o entre aspas.",
    en="a text is expected here; write it in quotes.",
)
_A_DATE = Text(pt="aqui se espera uma data: 2026-01-31.", en="a date is expected: 2026-01-31.")
_STILL_ASKED = Text(
    pt="falta o valor; escreva-o no lugar de ?.", en="the value is missing; write it in place of ?."
)
_A_FLAG = Text(pt="aqui se espera true ou false.", en="true or false is expected here.")


def stated_cell(column: Column, value: Scalar) -> object:
    """Return a value of the file as a cell of the column holds it. Raises ``ValueError``."""
    if value is None:
        return ""
    if column.kind.is_number:
        return float(value)
    return dt.date.fromisoformat(str(value)) if column.kind is Kind.DATE else value


def value_mistakes(mapping: SheetMapping, resource: Resource) -> Iterator[Mistake]:
    """Yield the constants and targets that the columns of the resource do not take."""
    for mapped in mapping.columns:
        column = resource.by_name.get(mapped.name)
        if column is None:
            continue
        for value, line, place in _stated(mapped):
            message = _wrong_type(column, value) or _broken_rule(column, value)
            if message is not None:
                yield Mistake(line, format_yaml_path(place), message)


def _stated(mapped: MappedColumn) -> Iterator[tuple[Scalar, int, tuple[str, ...]]]:
    """Yield the values that a column of the file states, with their lines and places."""
    if not mapped.sources:
        yield mapped.constant, mapped.line, ("columns", mapped.name, "constant")
    for text, value in (mapped.values or {}).items():
        if value is not None:
            line = mapped.value_lines.get(text, mapped.line)
            yield value, line, ("columns", mapped.name, "values", text)


def _wrong_type(column: Column, value: Scalar) -> Text | None:
    if value == TO_FILL_IN:
        return _STILL_ASKED
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
    """Return what a rule of the column has against a value, None where it may be there."""
    series, problems = _typed(column, value)
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


def _typed(column: Column, value: Scalar) -> tuple[pd.Series, CellProblems]:
    """Type a value of the file as a cell of the column."""
    cell = CellEncoder().encode([stated_cell(column, value)])
    values, problems = type_cells(column, cell, [1], ParseOptions())
    return pd.Series(values), problems


@dataclass(frozen=True, slots=True)
class MappedSheet:
    """A foreign sheet as one of a resource: its cells with the converted columns, its header, and
    the lookup of number formats by way of the converted columns."""

    choice: SheetChoice
    header: Header
    passed: Mapping[int, "_Passed"]

    def format_lookup(self, lookup: FormatLookup) -> FormatLookup:
        """Return a lookup that finds the formats of converted cells at the cells they are from."""

        def find(styles: Mapping[int, str], places: Collection[int]) -> Mapping[CellPosition, str]:
            converted = {place: self.passed[place] for place in places if place in self.passed}
            own = set(places) - set(converted)
            found = lookup(styles, own | {one.source for one in converted.values()})
            kept = {at: code for at, code in found.items() if at[1] in own}
            for place, one in converted.items():
                for (row, column), code in found.items():
                    if column == one.source and (one.rows is None or row in one.rows):
                        kept[row, place] = code
            return kept

        return find


@dataclass(frozen=True, slots=True)
class _Passed:
    """Source column of a converted one, and the rows whose cells were taken; None for all."""

    source: int
    rows: Collection[int] | None


def require_fitting(mapping: SheetMapping, catalogue: Catalogue, resource: str | None) -> Resource:
    """Return the resource of a mapping.

    Raises ``UsageError`` where it is not the ``resource`` that was asked for, and naming the line
    of each column, constant and link that it does not take.
    """
    if mapping.resource not in catalogue:
        message = unknown_value(mapping.resource, tuple(catalogue))
        raise mapping_error(mapping.path, [Mistake(mapping.resource_line, "resource", message)])
    if resource is not None and resource != mapping.resource:
        raise UsageError(
            Text(
                pt="O mapeamento {mapping} é de {found}, e não de {wanted}.",
                en="The mapping {mapping} is for {found}, not for {wanted}.",
            ).format(mapping=mapping.path, found=mapping.resource, wanted=resource),
            Text(pt="Use só --map, sem --resource.", en="Use --map alone, without --resource."),
        )
    found = catalogue[mapping.resource]
    mistakes = [*_column_mistakes(mapping, found), *value_mistakes(mapping, found)]
    if mistakes:
        raise mapping_error(mapping.path, mistakes)
    return found


_NOT_LINKABLE = Text(
    pt="esta coluna não é o código de nenhum registro que se possa procurar.",
    en="this column is the code of no record that could be looked up.",
)


def _column_mistakes(mapping: SheetMapping, resource: Resource) -> Iterator[Mistake]:
    plain = resource.base or resource
    for mapped in mapping.columns:
        place = ("columns", mapped.name)
        column = plain.by_name.get(mapped.name)
        if column is None:
            message = unknown_value(mapped.name, tuple(resource.by_name))
            yield Mistake(mapped.line, format_yaml_path(place), message)
        elif mapped.link is not None and registry_called(mapped.link) != column.references:
            registry = REFERENCES.get(column.references or "")
            known = "" if registry is None else registry.resource or column.references or ""
            message = unknown_value(mapped.link, (known,)) if known else _NOT_LINKABLE
            yield Mistake(mapped.line, format_yaml_path((*place, "link")), message)


def map_sheet(
    path: Path,
    mapping: SheetMapping,
    workbook: WorkbookCells,
    catalogue: Catalogue,
    resource: str | None,
    sheet: str | None,
) -> MappedSheet:
    """Apply a mapping to the sheet of a workbook that has its header.

    Raises ``UsageError`` where the mapping does not fit the resource, or the header has changed.
    """
    wanted = require_fitting(mapping, catalogue, resource)
    if not workbook.sheets:
        raise no_visible_sheet(workbook.hidden)
    found = find_header(path, mapping, workbook, sheet)
    return _Layout(mapping, wanted, found, workbook.hidden).mapped()


@dataclass(slots=True)
class _Layout:
    """The columns of a mapped sheet while they are put together."""

    mapping: SheetMapping
    resource: Resource
    found: HeaderPlaces
    hidden: Sequence[str]
    added: list[CellColumn] = field(default_factory=list)
    header: Header = field(init=False)
    passed: dict[int, _Passed] = field(default_factory=dict)
    raw: RawSheet = field(init=False)

    def mapped(self) -> MappedSheet:
        cells, position = self.found.cells, self.found.position
        errors, unvalued = dict(cells.raw.errors), set(cells.raw.unvalued)
        self.raw = replace(cells.raw, errors=errors, unvalued=unvalued)
        self.header = Header(row=position + 1, columns={}, findings=list(self._missing()))
        for mapped in self.mapping.columns:
            if mapped.is_direct and mapped.source is not None:
                self.header.columns[mapped.name] = self._place(mapped.source)
            elif not mapped.sources:
                column = self.resource.by_name[mapped.name]
                values, _ = _typed(column, mapped.constant)
                self.header.constants[mapped.name] = values.iat[0]
            if mapped.sources:
                self.header.names[mapped.name] = " + ".join(mapped.sources)
            if mapped.numbers is not None:
                self.header.styles[mapped.name] = mapped.numbers
        self._add_converted()
        whole = SheetCells(cells.name, cells.first_column, [*cells.columns, *self.added], self.raw)
        choice = SheetChoice(whole, self.resource, self.hidden)
        return MappedSheet(choice, self.header, self.passed)

    def _missing(self) -> Iterator[Finding]:
        """Yield the required columns that the mapping gives nothing for."""
        given = {mapped.name for mapped in self.mapping.columns}
        for name in self.resource.required:
            if name not in given:
                details = {"column": name, "mapping": str(self.mapping.path)}
                kind = CATALOGUE["mapping-column-missing"]
                yield Finding(kind, self.found.position + 1, name, None, None, details)

    def _add_converted(self) -> None:
        # Rows that repeat the header are left as they are.
        places = {str(place): place for place in self.found.places.values()}
        header = Header(row=self.found.position + 1, columns=places)
        again = set(repeated_headers(header, self.found.cells))
        first = self.found.position + 2
        rows = [row for row in range(first, self.found.cells.height + 1) if row not in again]
        split: dict[str, list[MappedColumn]] = {}
        for mapped in self.mapping.columns:
            columns = [self._own(header) for header in mapped.sources]
            if mapped.join:
                self._add(mapped, join_texts(columns, rows, mapped.separator), converts=True)
            elif mapped.values is not None:
                column = self.resource.by_name[mapped.name]
                targets = {
                    text: stated_cell(column, value) for text, value in mapped.values.items()
                }
                self._add(mapped, convert_values(columns[0], rows, targets), converts=True)
            elif mapped.when is not None:
                split.setdefault(header_key(mapped.sources[0]), []).append(mapped)
        for same in split.values():
            kinds = [mapped.when for mapped in same if mapped.when is not None]
            parts = split_documents(self._own(same[0].sources[0]), rows, kinds)
            for mapped, part in zip(same, parts, strict=True):
                self._add(mapped, part, first=mapped is same[0])

    def _add(
        self,
        mapped: MappedColumn,
        converted: ConvertedCells,
        *,
        converts: bool = False,
        first: bool = True,
    ) -> None:
        """Add a converted column, and what the sheet tells of its cells beside their values.

        Errors are told of the ``first`` column that is made from a cell.
        """
        cells = self.found.cells
        place = len(cells.columns) + len(self.added)
        at = cells.first_column + place
        self.added.append(CellEncoder().encode(converted.values))
        self.header.columns[mapped.name] = place
        self.header.sources[place] = self._place(mapped.sources[0])
        if converted.unusable:
            self.header.unusable[mapped.name] = converted.unusable
        if converts:
            self.header.converted.add(mapped.name)
        sources = {cells.first_column + self._place(header) for header in mapped.sources}
        source = cells.first_column + self._place(mapped.sources[0])
        self.passed[at] = _Passed(source, None if converts else converted.taken)
        if first:
            for (row, column), error in cells.raw.errors.items():
                if column in sources:
                    self.raw.errors[row, at] = error
            self.raw.unvalued |= {(r, at) for r, c in cells.raw.unvalued if c in sources}

    def _place(self, header: str) -> int:
        return self.found.places[header_key(header)]

    def _own(self, header: str) -> CellColumn:
        return self.found.cells.columns[self._place(header)]
