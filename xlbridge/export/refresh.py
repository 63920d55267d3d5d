"""Refresh of an analyst's workbook: listings replace the rows of its tables, and it is saved once.

The columns are those that the analyst has, in her order, called as in exports of either language or
as in the interface. Everything is changed in memory, so that the file is replaced as a whole or
stays as it is.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.export.export import ExportRequest, LoadCatalogue, PreparedExport
from xlbridge.export.formats.all_formats import OutputFile
from xlbridge.export.formats.base import (
    CELLS_AS_JSON,
    LineFormat,
    OutputWriter,
    Table,
    TextTooLong,
    WriteValue,
    cells_of,
    text_of,
)
from xlbridge.export.formats.xlsx import CellStyle, number_rows, row_format
from xlbridge.export.listing_model import Listing
from xlbridge.export.result import ExportResult
from xlbridge.export.sheets import Cell, ExportColumn, Sheet
from xlbridge.files import replace_atomically, report_write_errors
from xlbridge.i18n import LANGUAGES, Text, override_language
from xlbridge.report_forms import Report, list_first
from xlbridge.resources import Kind, normalize_header
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook import MAX_TEXT_LENGTH, cell_address
from xlbridge.workbook.edit import (
    EditablePackage,
    FoundTable,
    RefreshedTable,
    edit_package,
)
from xlbridge.workbook.read import LOCK_FILE_PREFIXES

_LOGGER = logging.getLogger(__name__)

_FEW_COLUMNS = 2
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class _Place:
    """Table of the workbook for a sheet of a listing; ``columns`` maps its columns to those of the
    sheet."""

    found: FoundTable
    sheet: Sheet
    columns: Mapping[int, int]

    @property
    def keys(self) -> list[int]:
        """Columns of the table that tell records apart, none if one is missing."""
        positions = {self.sheet.columns[index].name: c for c, index in self.columns.items()}
        names = self.sheet.key
        return [positions[name] for name in names] if positions.keys() >= {*names} else []


class WorkbookRefresh:
    """Refresh of one workbook, by one listing or several.

    ``steps`` say what was replaced, ``losses`` what cannot be kept, and ``remarks`` what else
    deserves a look.
    """

    def __init__(self, path: Path, package: EditablePackage) -> None:
        self.path = path
        self.steps: list[Text] = []
        self.losses: dict[Text, None] = {}
        self.remarks: dict[Text, None] = {}
        self._package = package
        self._is_changed = False
        self._used: dict[tuple[str, int, int], str] = {}
        self._checked: dict[FoundTable, RefreshedTable] = {}

    def prepare(
        self, request: ExportRequest, wanted: str | None, load_catalogue: LoadCatalogue
    ) -> PreparedExport:
        """Check a request, whose rows replace those of a listing, before the first call.

        ``wanted`` is the name of the sheet or table, None to find it by its header. Raises
        ``UsageError`` if there is none, or several, or its rows cannot be replaced, and for an
        invalid request.
        """
        layout = request.layout(load_catalogue, named=True)
        listing, sheets = layout.listing, layout.sheets
        places = self._places(listing, sheets, wanted)
        for place in places:
            area = place.found.part, place.found.header_row, place.found.left
            if (other := self._used.setdefault(area, listing.name)) != listing.name:
                raise UsageError(
                    _TWICE.format(table=place.found.title, first=other, second=listing.name),
                    _NAME_SHEET,
                )
            self._checked[place.found] = self._table(place)
            absent = [
                column.title
                for index, column in enumerate(place.sheet.columns)
                if index not in place.columns.values() and not column.registry
            ]
            if absent:
                self.remarks[
                    _ABSENT.format(
                        table=place.found.title,
                        n=len(absent),
                        columns=list_first(absent, _SHOWN),
                    )
                ] = None
        absent = [sheet.name for sheet in sheets if sheet not in [one.sheet for one in places]]
        if absent and wanted is None:
            self.remarks[_NO_PLACE.format(listing=listing.name, names=", ".join(absent))] = None

        @contextmanager
        def opened(_path: Path, _sheets: Sequence[Sheet]) -> Iterator[OutputWriter]:
            yield _Refreshing(self, partial(self._places, listing, sheets, wanted))

        return PreparedExport(
            request=request,
            output=OutputFile(self.path),
            filters=request.filters,
            layout=layout,
            format="into",
            files=[self.path],
            open_output=opened,
            registries={
                registry
                for place in places
                for index in place.columns.values()
                if (registry := place.sheet.columns[index].registry)
            },
        )

    def replace_rows(self, place: _Place, table: Table) -> None:
        """Replace the rows of a place by those of a listing's sheet."""
        checked = self._checked.pop(place.found, None)
        # Rows written before may have changed its formulas, or moved it.
        refreshed = self._table(place) if checked is None or self._is_changed else checked
        rows = _cell_rows(place, refreshed, cells_of(table.lines()))
        before = place.found.last - place.found.first + 1
        if not refreshed.write(rows):
            self.steps.append(_SAME.format(table=place.found.title, n=before))
            return
        self._is_changed = True
        if before > 0 and not table.rows:
            self.losses[_NO_RECORDS.format(table=place.found.title, n=before)] = None
        self.losses.update(dict.fromkeys(refreshed.losses))
        self.remarks.update(dict.fromkeys(refreshed.remarks))
        self.steps.append(
            _REPLACED.format(
                table=place.found.title,
                before=_range(place.found, before),
                after=_range(place.found, max(table.rows, 1)),
                n=table.rows,
            )
        )

    def _table(self, place: _Place) -> RefreshedTable:
        return RefreshedTable(self._package, place.found, place.columns, place.keys)

    def add_result(self, result: ExportResult) -> None:
        """Name a listing that lacks records among what is lost: they leave the workbook."""
        if not result.is_whole:
            self.losses[_INCOMPLETE.format(listing=result.listing)] = None

    def report(self) -> Report:
        """Return what is replaced, what cannot be kept, and what else deserves a look."""
        return Report(remarks=[*self.steps, *self.remarks], problems=list(self.losses))

    def save(self) -> bool:
        """Replace the file, unless nothing changes; return whether it did.

        Raises ``UsageError`` if a program has it open, or it cannot be written.
        """
        require_closed(self.path)
        for text in (*self.steps, *self.remarks, *self.losses):
            _LOGGER.info("%s", text)
        if not self._is_changed:
            return False
        with report_write_errors(self.path):
            mode = self.path.stat().st_mode
        with replace_atomically(self.path) as temporary:
            self._package.write_copy(temporary)
            temporary.chmod(mode & 0o777)
        return True

    def _places(
        self, listing: Listing, sheets: Sequence[Sheet], wanted: str | None
    ) -> list[_Place]:
        found = list(FoundTable.all_of(self._package))
        if wanted is not None:
            names = dict.fromkeys(one.title for one in found)
            found = [one for one in found if one.is_called(wanted)]
            if not found:
                raise UsageError(
                    _NO_SHEET.format(file=self.path.name, name=wanted),
                    _THERE_ARE.format(names=", ".join(names)),
                )
        headers = [_headers(sheet) for sheet in sheets]
        places = []
        for one in found:
            best = max(
                (
                    _Place(one, sheet, _columns(one, known))
                    for sheet, known in zip(sheets, headers, strict=True)
                ),
                key=lambda place: len(place.columns),
            )
            if _is_match(best, wanted, listing):
                places.append(best)
        chosen = []
        for sheet in sheets:
            fitting = [place for place in places if place.sheet == sheet]
            if place := self._chosen(listing, sheet, fitting):
                data = place.found.with_data(self._package, place.columns)
                chosen.append(replace(place, found=data))
            if wanted is not None and chosen:
                break
        if not chosen:
            shown = [f"{one.title}: {', '.join(one.headers[:_SHOWN])}" for one in found]
            raise UsageError(
                _NO_TABLE.format(file=self.path.name, listing=listing.name),
                _HEADERS.format(headers=list_first(shown, _SHOWN, separator="; ")),
            )
        return chosen

    def _chosen(self, listing: Listing, sheet: Sheet, places: Sequence[_Place]) -> _Place | None:
        """Return the place of a listing's sheet: a table before a header row; of several, that of
        the sheet's name."""
        tables = [place for place in places if place.found.table]
        if not tables:
            best: dict[str, _Place] = {}
            for place in places:
                known = best.get(place.found.sheet)
                if known is None or len(place.columns) > len(known.columns):
                    best[place.found.sheet] = place
            tables = list(best.values())
        most = max((len(place.columns) for place in tables), default=0)
        tables = [place for place in tables if 2 * len(place.columns) >= most]
        if len(tables) > 1:
            named = [place for place in tables if _is_named(place.found, sheet, listing)]
            tables = named or tables
        if len(tables) > 1:
            raise UsageError(
                _AMBIGUOUS.format(
                    file=self.path.name,
                    listing=listing.name,
                    tables="; ".join(place.found.title for place in tables),
                ),
                _NAME_SHEET,
            )
        return tables[0] if tables else None


@contextmanager
def open_refresh(path: Path, limits: WorkbookLimits) -> Iterator[WorkbookRefresh]:
    """Open an analyst's workbook for new rows.

    Raises ``UsageError`` if a program has it open or there is no such file, ``WorkbookRefused`` if
    it is not an .xlsx or .xlsm that can be read safely.
    """
    require_closed(path)
    with edit_package(path, limits) as package:
        yield WorkbookRefresh(path, package)


def require_closed(path: Path) -> None:
    """Raise ``UsageError`` if the lock file of a program says that a workbook is open."""
    for prefix in LOCK_FILE_PREFIXES:
        ending = "#" if prefix.startswith(".") else ""
        if path.with_name(f"{prefix}{path.name}{ending}").exists():
            raise UsageError(
                Text(
                    pt="{file} está aberto em outro programa.",
                    en="{file} is open in another program.",
                ).format(file=path.name),
                Text(
                    pt="Salve e feche o arquivo, e repita o comando.",
                    en="Save and close the workbook, and run the command again.",
                ),
            )


class _Refreshing(OutputWriter):
    """Rows of a listing for their places in the workbook."""

    def __init__(self, book: WorkbookRefresh, places: Callable[[], list[_Place]]) -> None:
        self._book = book
        self._places = places

    def line_format(self, sheet: Sheet) -> LineFormat:
        return replace(CELLS_AS_JSON, cell_writer=_checked_writer)

    def write(self, tables: Sequence[Table], cover: Report, system: str) -> None:
        for table in tables:
            # Found anew: rows written before may have moved it.
            for place in self._places():
                if place.sheet.name == table.sheet.name:
                    self._book.replace_rows(place, table)


def _checked_writer(column: ExportColumn, index: int) -> WriteValue:
    write = CELLS_AS_JSON.cell_writer(column, index)

    def checked(value: Any) -> str:
        line = write(value)
        if len(line) > MAX_TEXT_LENGTH // 2:
            cell = json.loads(line)
            text = "\n".join(cell) if isinstance(cell, list) else str(cell)
            length = len(text.encode("utf-16-le", "surrogatepass")) // 2
            if length > MAX_TEXT_LENGTH:
                raise TextTooLong(length, MAX_TEXT_LENGTH)
        return line

    return checked


def _cell_rows(
    place: _Place, refreshed: RefreshedTable, rows: Iterator[list[Cell]]
) -> Iterator[dict[int, bytes]]:
    """Yield the cells of each row as XML, by the columns of the workbook."""
    writers = []
    for position, index in place.columns.items():
        column = place.sheet.columns[index]
        style = refreshed.style(position, is_date=column.kind is Kind.DATE)
        format_of_rows = row_format(dict.fromkeys(CellStyle, style))
        as_text = replace(column, kind=Kind.TEXT, is_list=False)
        write = format_of_rows.cell_writer(column, position)
        if column.kind is Kind.DATE and refreshed.uses_1904_dates:
            write = partial(_written_from_1904, write)
        write_text = format_of_rows.cell_writer(as_text, position)
        writers.append((position, index, style, write, write_text))
    for number, row in enumerate(rows, start=place.found.first):
        cells = {}
        for position, index, style, write, write_text in writers:
            value = row[index]
            if value is None or value == []:
                text = f'<c r="{cell_address(number, position)}" s="{style}"/>'
            else:
                try:
                    text = write(value)
                except ValueError:
                    text = write_text(text_of(value))
            cells[position] = number_rows([text.encode("utf-8", "surrogatepass")], number)
        yield cells


def _written_from_1904(write: WriteValue, value: Any) -> str:
    """Write a day as it is counted from 1904; an earlier one as text."""
    text = write(value)
    found = _SERIAL.search(text)
    if found is None:
        return text
    days, dot, share = found[1].partition(".")
    if int(days) < _DAYS_UNTIL_1904:
        raise ValueError(value)
    return f"{text[: found.start(1)]}{int(days) - _DAYS_UNTIL_1904}{dot}{share}</v></c>"


_SERIAL = re.compile(r"<v>([0-9.]+)</v></c>$")
_DAYS_UNTIL_1904 = 1462


def _headers(sheet: Sheet) -> dict[str, int]:
    """Return the columns of a sheet by their names and titles in both languages."""
    headers: dict[str, int] = {}
    for index, column in enumerate(sheet.columns):
        headers.setdefault(normalize_header(column.name), index)
    for language in LANGUAGES:
        with override_language(language):
            for index, column in enumerate(sheet.columns):
                headers.setdefault(normalize_header(column.title), index)
    return headers


def _columns(found: FoundTable, headers: Mapping[str, int]) -> dict[int, int]:
    named = enumerate(map(normalize_header, found.headers), start=found.left)
    return {position: headers[name] for position, name in named if name in headers}


def _is_match(place: _Place, wanted: str | None, listing: Listing) -> bool:
    """Return whether a table is for a listing: by its name, or by most of its headers."""
    known, all_headers = len(place.columns), len(place.found.headers)
    if wanted is not None or _is_named(place.found, place.sheet, listing):
        return known > 0
    if place.sheet.within and not place.sheet.is_joined:
        return False
    return known >= _FEW_COLUMNS and (2 * known >= all_headers or bool(place.keys))


def _is_named(found: FoundTable, sheet: Sheet, listing: Listing) -> bool:
    names = [sheet.name]
    if not sheet.within or sheet.is_joined:
        names += [listing.name, listing.title.pt, listing.title.en]
    return any(map(found.is_called, names))


def _range(found: FoundTable, rows: int) -> str:
    return (
        f"{cell_address(found.header_row, found.left)}:"
        f"{cell_address(found.header_row + rows, found.right)}"
    )


_REPLACED = Text(
    pt="{table}: {before} passa a {after}, com {n} {n:linha|linhas}.",
    en="{table}: {before} becomes {after}, with {n} {n:row|rows}.",
)
_SAME = Text(
    pt="{table}: {n} {n:linha|linhas}, com os mesmos valores.",
    en="{table}: {n} {n:row|rows} with the same values.",
)
_ABSENT = Text(
    pt="{table}: {n} {n:coluna da listagem não está|colunas da listagem não estão} na planilha: "
    "{columns}",
    en="{table}: {n} {n:column|columns} of the listing {n:is|are} not in the sheet: {columns}",
)
_NO_PLACE = Text(
    pt="{listing}: sem lugar no arquivo: {names}",
    en="{listing}: no place in the workbook for: {names}",
)
_NO_RECORDS = Text(
    pt="{table}: a listagem não tem nenhum registro; {n:a linha que havia é apagada|as {n} "
    "linhas que havia são apagadas}.",
    en="{table}: the listing has no records; {n:its row is|its {n} rows are} deleted.",
)
_INCOMPLETE = Text(
    pt="A listagem {listing} pode estar incompleta; o que falta sai do arquivo.",
    en="The listing {listing} may be incomplete; what is missing leaves the workbook.",
)
_TWICE = Text(
    pt="{table} serve para {first} e {second}.", en="{table} fits both {first} and {second}."
)
_NO_SHEET = Text(
    pt="{file} não tem planilha nem tabela {name!r} com títulos.",
    en="{file} has no sheet or table {name!r} with titles.",
)
_THERE_ARE = Text(pt="Há: {names}.", en="There are: {names}.")
_NO_TABLE = Text(
    pt="{file}: nenhuma tabela nem planilha tem os títulos da listagem {listing}.",
    en="{file}: no table or sheet has the titles of the listing {listing}.",
)
_HEADERS = Text(
    pt="Indique-a com --sheet, ou ponha na primeira linha os títulos de uma exportação. Títulos "
    "encontrados: {headers}",
    en="Name it with --sheet, or give its first row the titles of an export. Titles found: "
    "{headers}",
)
_AMBIGUOUS = Text(
    pt="{file}: a listagem {listing} cabe em mais de um lugar: {tables}.",
    en="{file}: the listing {listing} fits more than one place: {tables}.",
)
_NAME_SHEET = Text(
    pt="Indique a planilha ou a tabela com --sheet, uma listagem por vez.",
    en="Name the sheet or the table with --sheet, one listing at a time.",
)
