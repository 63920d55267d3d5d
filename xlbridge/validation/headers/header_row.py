"""The header row of a sheet: found, matched to a resource's columns, and checked.

Also headers that stand in one unsplit cell, that are repeated further down, or that come from
an earlier template.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from xlbridge.i18n import Text
from xlbridge.resources import KEY, Fingerprint, Resource, normalize_header
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.validation.cells.text import quoted
from xlbridge.validation.headers.header_matching import HeaderMatch, HeaderMatcher, header_key
from xlbridge.workbook import REJECTS_COLUMNS, STATUS_COLUMNS, cell_address
from xlbridge.workbook.read import CellColumn, CellKind, SheetCells

if TYPE_CHECKING:
    from xlbridge.settings import NumberStyle

SEARCHED_ROWS = 50
"""The header is looked for in so many rows."""


@dataclass(frozen=True, slots=True)
class UnusableCell:
    """The finding of a cell that a mapping has no value for: its code and its details."""

    code: str
    details: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Header:
    """The header row of a sheet.

    ``row`` is Excel's row number; ``columns`` maps a column's name to its position in
    ``SheetCells.columns``. Columns that stand there twice are not in it. ``numbers`` are the
    columns of the system's own number, likewise. ``findings`` are those of the layout.

    The rest is of mapped sheets: ``names`` are the sheet's own headers of columns, ``sources`` the
    positions that converted columns come from, ``converted`` the columns whose cells are other
    values than the sheet's own, ``unusable`` the cells that could not be converted, by Excel's row
    number, ``constants`` the typed values of columns that the sheet lacks, ``styles`` how text
    numbers of columns are written.
    """

    row: int
    columns: dict[str, int]
    numbers: Mapping[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    sources: dict[int, int] = field(default_factory=dict)
    converted: set[str] = field(default_factory=set)
    unusable: dict[str, Mapping[int, UnusableCell]] = field(default_factory=dict)
    constants: dict[str, object] = field(default_factory=dict)
    styles: dict[str, "NumberStyle"] = field(default_factory=dict)

    def source_columns(self) -> dict[str, int]:
        """Return the position of each column in the sheet itself."""
        return {name: self.sources.get(place, place) for name, place in self.columns.items()}


def find_header_row(cells: SheetCells, resource: Resource) -> int | None:
    """Return the position of the row that names most of the columns, zero for Excel's row 1.

    The first of equals wins; None when no row among the first fifty names any.
    """
    names = resource.headers

    def named(position: int) -> int:
        texts = map(header_key, cells.row(position))
        return len({names[text] for text in texts if text in names})

    return best_row(cells, named)


def find_similar_header_row(cells: SheetCells, resource: Resource) -> int | None:
    """Return the position of the row whose cells mean most of the columns, though they name none;
    None where no row means two."""
    columns = HeaderMatcher(resource, resource.by_name)

    def meant(position: int) -> int:
        matches = [columns.of(text) for text in cells.row(position) if isinstance(text, str)]
        found = len({match.column for match in matches if match is not None})
        return found if found > 1 else 0

    return best_row(cells, meant)


def best_row(cells: SheetCells, score: Callable[[int], int]) -> int | None:
    """Return the position of the first row with the highest score; None where no row has one."""
    scores = list(map(score, range(min(cells.height, SEARCHED_ROWS))))
    best = max(scores, default=0)
    return scores.index(best) if best else None


def matched_columns(cells: SheetCells, resource: Resource) -> tuple[set[str], int]:
    """Return the columns that the sheet's best header row names, and how many cells name none."""
    position = find_header_row(cells, resource)
    if position is None:
        return set(), 0
    names = resource.headers
    filled = [text for text in map(header_key, cells.row(position)) if text]
    known = {names[text] for text in filled if text in names}
    return known, sum(text not in names for text in filled)


def nearly_matched_columns(cells: SheetCells, resource: Resource) -> tuple[set[str], int]:
    """Return as ``matched_columns`` does; misspelt names and those there twice name too."""
    position = find_header_row(cells, resource)
    if position is None:
        return set(), 0
    header = match_header(cells, position, resource)
    present = [f for f in header.findings if f.cell is not None]
    strange = sum(f.kind.code == "column-unknown" for f in present)
    meant = {f.column for f in present if f.column in resource.by_name}
    return {*header.columns, *(name for name in meant if name is not None)}, strange


@dataclass(frozen=True, slots=True)
class MainSheet:
    """The main sheet of a list's rows: its resource and its name."""

    resource: Resource
    name: str


def match_header(
    cells: SheetCells, position: int, resource: Resource, main: MainSheet | None = None
) -> Header:
    """Match the cells of the row at ``position`` to the resource's columns.

    ``main`` is the main sheet where the resource is a list of another.
    """
    names = resource.headers
    row = position + 1
    places: dict[str, list[int]] = {}
    numbers: dict[str, int] = {}
    unknown: list[tuple[str, int]] = []
    declared = () if resource.read_back is None else resource.read_back.number_columns
    number_names = {normalize_header(name): name for name in declared}
    for place, cell in enumerate(cells.row(position)):
        text = header_key(cell)
        if text in names:
            places.setdefault(names[text], []).append(place)
        elif text in number_names:
            numbers.setdefault(number_names[text], place)
        elif text and text not in REMARK_HEADERS:
            unknown.append((str(cell).strip(), place))

    def address(place: int) -> str:
        return cell_address(row, cells.first_column + place)

    findings = []
    for name, found in places.items():
        if len(found) > 1:
            details = {"column": name, "cells": ", ".join(map(address, found))}
            findings.append(_finding("column-duplicate", row, name, address(found[-1]), details))
    split = {
        place: (name, text)
        for place, (name, text) in _split_names(cells, position, names).items()
        if name not in places
    }
    findings += [_about_header("column-split", row, address(at), *split[at]) for at in split]
    there = {*places, *(name for name, _ in split.values())}
    missing = [column.name for column in resource.columns if column.name not in there]
    strange = [(text, address(place)) for text, place in unknown if place not in split]
    own_numbers = [(text, address(place)) for text, place in numbers.items()]
    main = main or MainSheet(resource, cells.name)
    findings += _missing_and_unknown(row, resource, missing, strange, own_numbers, main)
    return Header(
        row=row,
        columns={name: found[0] for name, found in places.items() if len(found) == 1},
        numbers=numbers,
        findings=findings,
    )


def _missing_and_unknown(
    row: int,
    resource: Resource,
    missing: Sequence[str],
    strange: Sequence[tuple[str, str]],
    numbers: Sequence[tuple[str, str]],
    main: MainSheet,
) -> Iterator[Finding]:
    """Yield the findings of columns that are missing or called as in a listing, then those of the
    ``strange`` headers, which name no column; they and the ``numbers`` have their addresses."""
    columns = HeaderMatcher(resource, missing)
    meanings = [columns.of(text) for text, _ in strange]
    told = {header_key(text): cell for text, cell in (*strange, *numbers)}
    exported = _of_listing(row, frozenset(missing), told, main)
    yield from exported
    asked_about = {meant.column for meant in meanings if meant is not None}
    asked_about |= {finding.column or "" for finding in exported}
    for name in missing:
        if resource.by_name[name].required and name not in asked_about:
            yield _finding("column-missing", row, name, None, {"column": name})
    renamed = {finding.cell for finding in exported}
    for (text, cell), meant in zip(strange, meanings, strict=True):
        if cell not in renamed:
            yield _unknown(row, text, cell, meant, resource)


def _split_names(
    cells: SheetCells, position: int, names: Mapping[str, str]
) -> dict[int, tuple[str, str]]:
    """Return the columns whose names span the row at ``position`` and one beside it, by their
    places, with the names as they stand there. A cell on top may stand for those to its right."""
    found: dict[int, tuple[str, str]] = {}
    for top in (position, position - 1) if position else (position,):
        above = ""
        for place, (upper, lower) in enumerate(
            zip(cells.row(top), cells.row(top + 1), strict=True)
        ):
            above = upper.strip() if isinstance(upper, str) and upper else above
            text = f"{above} {lower}" if isinstance(lower, str) and lower and above else ""
            if header_key(text) in names:
                found.setdefault(place, (names[header_key(text)], text))
    return found


REMARK_HEADERS = frozenset(map(header_key, (*REJECTS_COLUMNS, *STATUS_COLUMNS)))
"""Headers, as they are compared, of the columns that copies made by xlbridge add."""


def _finding(
    code: str, row: int, column: str, cell: str | None, details: Mapping[str, object]
) -> Finding:
    return Finding(CATALOGUE[code], row=row, column=column, cell=cell, details=details)


def _of_listing(
    row: int, missing: frozenset[str], told: Mapping[str, str], main: MainSheet
) -> list[Finding]:
    """Tell of the columns that an exported listing lacks, or has by the names of records' fields.

    ``told`` are the addresses of the headers that name no column. A listing has the system's own
    number of a record where an import sheet has the key.
    """
    declared = main.resource.read_back
    if declared is None or told.keys().isdisjoint(map(header_key, declared.number_columns)):
        return []
    keys = (pair for lookup in declared.lookups for pair in lookup.key.items())
    called = {name: text for name, text in keys if name != text} | dict(declared.fields)
    lacking: dict[str, str | None] = dict.fromkeys(missing & {KEY})
    for text in dict.fromkeys(called.values()):
        columns = [name for name in called if called[name] == text]
        if (cell := told.get(header_key(text))) and missing.issuperset(columns):
            lacking[columns[0]] = cell
    return [missing_of_listing(row, name, cell, main) for name, cell in lacking.items()]


def missing_of_listing(row: int, name: str, cell: str | None, main: MainSheet) -> Finding:
    """Tell of a column that an exported listing lacks."""
    listing = main.name if _LISTING_NAME.fullmatch(main.name) else _ANY_LISTING
    details = {"column": name, "listing": listing, "resource": main.resource.name}
    return _finding("column-missing-exported", row, name, cell, details)


_LISTING_NAME = re.compile("[a-z]+(?:-[a-z]+)*")
_ANY_LISTING = Text(pt="LISTAGEM", en="LISTING")


def _unknown(
    row: int, header: str, cell: str, meant: HeaderMatch | None, resource: Resource
) -> Finding:
    """Tell of a header that names no column."""
    if meant is None:
        details = {"header": quoted(header), "resource": resource.name}
        return _finding("column-unknown", row, header, cell, details)
    alike = "column-missing-alike" if resource.by_name[meant.column].required else "column-alike"
    code = "column-misspelt" if meant.surely else alike
    return _about_header(code, row, cell, meant.column, header)


def _about_header(code: str, row: int, cell: str, column: str, header: str) -> Finding:
    return _finding(code, row, column, cell, {"header": quoted(header), "column": column})


_SEPARATORS = ";\t,|"
_FEWEST_JOINED = 2


@dataclass(frozen=True, slots=True)
class JoinedColumns:
    """A cell that holds the names of a resource's columns: Excel's row, its address, what stands
    between the names, and how many they are."""

    row: int
    cell: str
    separator: str
    known: int


def joined_columns(cells: SheetCells, resource: Resource) -> JoinedColumns | None:
    """Return the first cell that names all required columns, None where there is none."""
    names = resource.headers
    for position in range(min(cells.height, SEARCHED_ROWS)):
        for place, text in enumerate(cells.row(position)):
            for separator in _SEPARATORS if isinstance(text, str) else ():
                parts = (header_key(part.strip(' "')) for part in str(text).split(separator))
                known = {names[part] for part in parts if part in names}
                if len(known) >= _FEWEST_JOINED and known.issuperset(resource.required):
                    cell = cell_address(position + 1, cells.first_column + place)
                    return JoinedColumns(position + 1, cell, separator, len(known))
    return None


def resource_of_joined(
    sheets: Iterable[SheetCells], resources: Iterable[Resource]
) -> tuple[SheetCells, Resource] | None:
    """Return the sheet and the resource with the most columns in one cell, if there is any."""
    resources = list(resources)
    found = [
        (joined.known, cells, resource)
        for cells in sheets
        for resource in resources
        if (joined := joined_columns(cells, resource))
    ]
    return max(found, key=lambda each: each[0])[1:] if found else None


def repeated_headers(header: Header, cells: SheetCells) -> list[int]:
    """Return Excel's numbers of the rows in which each of the resource's columns has its header's
    own text."""
    columns = [cells.columns[place] for place in header.columns.values()]
    if not columns:
        return []
    fewest = min(columns, key=lambda column: len(column.texts))
    names = [column.value(header.row - 1) for column in columns]
    return [
        row
        for row in _rows_with(fewest, fewest.value(header.row - 1), header.row)
        if [column.value(row - 1) for column in columns] == names
    ]


def _rows_with(column: CellColumn, wanted: object, above: int) -> list[int]:
    """Return the rows below ``above`` in which a column has a text."""
    places = [place for place, text in enumerate(column.texts) if text == wanted]
    is_text = np.frombuffer(column.kinds, dtype=np.uint8) == CellKind.TEXT
    is_wanted = is_text & np.isin(np.frombuffer(column.content, dtype=np.int64), places)
    rows: list[int] = (np.flatnonzero(is_wanted[above:]) + above + 1).tolist()
    return rows


def outdated_template(
    fingerprint: str | None, resource: Resource, cells: SheetCells, position: int
) -> list[Finding]:
    """Return the finding that a workbook's template is not today's, with what has changed.

    ``position`` is that of the header in the sheet. A workbook that carries no fingerprint, or
    that of another resource, has no age.
    """
    found = Fingerprint.parse(fingerprint)
    if found is None or str(replace(found, listed=())) == resource.fingerprint:
        return []
    if found.resource != resource.name:
        return []
    headers = [header_key(cell) for cell in cells.row(position)]
    changes = list(_changes(headers, resource, found.layout))
    details = {
        "resource": resource.name,
        "found": found.layout,
        "current": resource.layout,
        "changes": Text(pt="; ".join(c.pt for c in changes), en="; ".join(c.en for c in changes))
        if changes
        else Text(pt="nenhuma coluna desta planilha mudou", en="no column of this sheet changed"),
    }
    return [Finding(CATALOGUE["template-outdated"], row=position + 1, details=details)]


def at_layout(resource: Resource, layout: int) -> Resource:
    """Return a resource with its columns called as in an earlier layout.

    Titles stay, and columns that have gone since are not in it.
    """
    fates = resource.column_changes_since(layout)
    earlier = {new: old for old, new in fates.items() if new is not None}
    columns = tuple(
        replace(column, name=earlier.get(column.name, column.name)) for column in resource.columns
    )
    return replace(resource, columns=columns)


def _changes(headers: Sequence[str], resource: Resource, layout: int) -> Iterator[Text]:
    fates = resource.column_changes_since(layout)
    there = set(headers)
    renamed = {new for old, new in fates.items() if new and header_key(old) in there}
    for old, new in fates.items():
        if header_key(old) not in there:
            continue
        if new is None:
            yield Text(pt="{old} não existe mais", en="{old} is gone").format(old=old)
        else:
            yield Text(pt="{old} agora é {new}", en="{old} is now {new}").format(old=old, new=new)
    for column in resource.columns:
        names = map(header_key, (column.name, column.title.pt, column.title.en))
        if there.isdisjoint(names) and column.name not in renamed:
            yield Text(pt="{name} é nova", en="{name} is new").format(name=column.name)


def has_rows(resource: Resource, cells: SheetCells) -> bool:
    """Return whether the sheet has rows below what would be the resource's header."""
    position = find_header_row(cells, resource)
    return cells.has_data(0 if position is None else position + 1)
