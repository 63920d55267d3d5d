"""Output formats by name, and the file, format and further files of one export; the import workbook
of a resource, which is filled through xlsxwriter, cell by cell."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.errors import UsageError, require_folder
from xlbridge.export.formats.base import (
    CELLS_AS_JSON,
    LineFormat,
    OpenOutput,
    OutputWriter,
    Table,
    cells_of,
    text_of,
)
from xlbridge.export.formats.data import CSV_DIALECTS, csv_opener, open_jsonl, open_parquet
from xlbridge.export.formats.ods import open_ods
from xlbridge.export.formats.xlsx import EXACT_DIGITS, FIRST_SAFE_DAY, open_xlsx
from xlbridge.export.sheets import ExportColumn, Sheet, naive_moment, value_reader
from xlbridge.i18n import Text
from xlbridge.report_forms import Report
from xlbridge.resources import Kind, Resource
from xlbridge.resources.names import number_title
from xlbridge.settings import Headers
from xlbridge.workbook import MAX_ROWS, MAX_TEXT_LENGTH, WorkbookOrigin, cell_address
from xlbridge.workbook.write import FilledRows, cell_format, template_sheets

FORMATS: Mapping[str, OpenOutput] = {
    "xlsx": open_xlsx,
    "ods": open_ods,
    "csv": csv_opener(CSV_DIALECTS["plain"]),
    "jsonl": open_jsonl,
    "parquet": open_parquet,
}
"""Formats by name, which is the file's extension too."""

WORKBOOK_FORMATS = {"xlsx": open_xlsx, "ods": open_ods}
"""Formats with all sheets in one file, titles as headers, and a cover."""


@dataclass(frozen=True, slots=True)
class OutputFile:
    """File that an export writes; the format defaults to that of the extension.

    Only workbooks have titles as ``headers``; they are the default there. Sheets with titles have
    names beside codes, too, unless they have ``codes_only``.
    """

    CSV_DIALECTS: ClassVar = tuple(CSV_DIALECTS)

    path: Path
    format: str | None = None
    csv_dialect: str | None = None
    headers: Headers | None = None
    codes_only: bool = False

    def require_writable(self) -> None:
        """Raise ``UsageError`` if the file is a folder, or its folder does not exist."""
        path = self.path
        require_folder(path.parent)
        if path.is_dir():
            raise UsageError(
                Text(pt="{file} é uma pasta.", en="{file} is a folder.").format(file=path)
            )


def output_opener(
    file_format: str,
    csv_dialect: str | None = None,
    template: Resource | None = None,
    headers: Headers | None = None,
    resource: str = "",
) -> OpenOutput:
    """Return the opener of a format, or of the import workbook of a resource; ``resource`` is the
    name of the one that the records belong to, empty if there is none.

    Raises ``UsageError`` for a CSV dialect with another format, a template that is not for .xlsx,
    or titles that are not for a workbook.
    """
    if file_format != "xlsx" and template is not None:
        raise UsageError(
            Text(pt="--as-template só vale para .xlsx.", en="--as-template is for .xlsx only.")
        )
    if file_format not in WORKBOOK_FORMATS and headers == "titles":
        raise UsageError(
            Text(
                pt="--headers titles só vale para .xlsx e .ods.",
                en="--headers titles is for .xlsx and .ods only.",
            )
        )
    if csv_dialect is not None and file_format != "csv":
        raise UsageError(
            Text(pt="--csv-dialect só vale para .csv.", en="--csv-dialect is for .csv only.")
        )
    if template is not None:
        return partial(open_template, template, headers or "titles")
    if file_format in WORKBOOK_FORMATS:
        opener = WORKBOOK_FORMATS[file_format]
        return partial(opener, headers=headers or "titles", resource=resource)
    return FORMATS[file_format] if csv_dialect is None else csv_opener(CSV_DIALECTS[csv_dialect])


def output_format(output: Path, wanted: str | None) -> str:
    """Return the format of an output file: the wanted one, or else that of its extension.

    Raises ``UsageError`` if there is neither, or if they differ.
    """
    extension = output.suffix.lower().removeprefix(".")
    if extension in FORMATS and wanted in (None, extension):
        return extension
    if extension not in FORMATS and wanted is not None:
        return wanted
    offered = Text(pt="Há: {names}.", en="There are: {names}.").format(
        names=", ".join(f".{name}" for name in FORMATS)
    )
    if extension not in FORMATS:
        raise UsageError(
            Text(
                pt="{file}: nenhum formato tem a extensão {extension!r}.",
                en="{file}: no format has the extension {extension!r}.",
            ).format(file=output, extension=output.suffix),
            offered,
        )
    raise UsageError(
        Text(
            pt="{file}: a extensão contradiz --format {wanted}.",
            en="{file}: the extension contradicts --format {wanted}.",
        ).format(file=output, wanted=wanted),
        offered,
    )


_NUMBER_WIDTH = 24
_DO_NOT_EDIT = Text(
    pt="Preenchida pelo sistema; não edite. Diz de que registro é a linha, e não é enviada.\n"
    "Nome no sistema: {name}",
    en="Filled in by the system; do not edit. It says which record the row is, and is not sent.\n"
    "Name in the system: {name}",
)

_WriteCell = Callable[[int, int, Any, Format], int]


@contextmanager
def open_template(
    resource: Resource, headers: Headers, path: Path, sheets: Sequence[Sheet]
) -> Iterator[OutputWriter]:
    """Open the import workbook of a resource: its template, with instructions and checks."""
    main, *lists = sheets
    numbers = [
        (
            str(number_title(column.name)) if headers == "titles" else column.name,
            _NUMBER_WIDTH,
            str(_DO_NOT_EDIT.format(name=column.name)),
        )
        for column in main.columns[len(resource.columns) :]
    ]
    filled = dict[str, FilledRows]()
    with template_sheets(
        path, resource, after=numbers, headers=headers, shared=True, filled=filled
    ) as (book, worksheets):
        plain = book.add_format()
        children = {child.sheet: child for child in resource.children}
        writers = []
        for sheet, declared in (main, resource), *((s, children[s.name]) for s in lists):
            formats = [cell_format(book, column) for column in declared.sheet_columns]
            formats += [plain] * (len(sheet.columns) - len(formats))
            worksheet = worksheets[declared.sheet]
            cell_writers = [_either_writer(worksheet, column) for column in sheet.columns]
            writers.append(list(zip(cell_writers, formats, strict=True)))
        yield _TemplateOutput(book, [resource.sheet, *(s.name for s in lists)], writers, filled)


class _TemplateOutput(OutputWriter):
    def __init__(
        self,
        book: xlsxwriter.Workbook,
        names: Sequence[str],
        writers: Sequence[Sequence[tuple[_WriteCell, Format]]],
        filled: dict[str, FilledRows],
    ) -> None:
        self._book = book
        self._names = names
        self._writers = writers
        self._filled = filled

    def line_format(self, sheet: Sheet) -> LineFormat:
        return CELLS_AS_JSON

    def write(self, tables: Sequence[Table], cover: Report, system: str) -> None:
        if system:
            self._book.set_custom_property(WorkbookOrigin.SYSTEM_PROPERTY, system)
        for table, name, writers in zip(tables, self._names, self._writers, strict=True):
            if table.rows >= MAX_ROWS:
                raise UsageError(
                    Text(
                        pt="Há registros demais para uma planilha de importação.",
                        en="There are too many records for one import sheet.",
                    )
                )
            filled = self._filled[name] = FilledRows(table.rows)
            for number, row in enumerate(cells_of(table.lines()), start=1):
                for index, (cell, (write, cell_style)) in enumerate(zip(row, writers, strict=True)):
                    if cell is not None and write(number, index, cell, cell_style) < 0:
                        raise UsageError(
                            _TOO_LONG.format(
                                cell=cell_address(number + 1, index),
                                field=table.sheet.columns[index].name,
                                limit=MAX_TEXT_LENGTH,
                            )
                        )
                    if cell is not None:
                        filled.add(index, cell)


_TOO_LONG = Text(
    pt="{cell}, campo {field}: o texto tem mais de {limit} caracteres, o máximo de uma célula.",
    en="{cell}, field {field}: the text has more than {limit} characters, the maximum of a cell.",
)


def _either_writer(sheet: Worksheet, column: ExportColumn) -> _WriteCell:
    """Return what writes a cell: one that is not of the column's type as text."""
    write, read = _template_cell_writer(sheet, column), value_reader(column)

    def write_either(row: int, index: int, cell: Any, cell_style: Format) -> int:
        with suppress(ValueError):
            if read(cell) == cell:
                return write(row, index, cell, cell_style)
        return int(sheet.write_string(row, index, text_of(cell) or "", cell_style))

    return write_either


def _template_cell_writer(sheet: Worksheet, column: ExportColumn) -> _WriteCell:
    def write_day(row: int, index: int, text: str, date_format: Format) -> int:
        # A date without time, which import sheets do not have; before March 1900 as text.
        day = naive_moment(text).replace(hour=0, minute=0, second=0, microsecond=0)
        if day.toordinal() < FIRST_SAFE_DAY:
            return int(sheet.write_string(row, index, text, date_format))
        return int(sheet.write_datetime(row, index, day, date_format))

    match column.kind:
        case Kind.BOOLEAN:
            return sheet.write_boolean
        case Kind.INTEGER:
            return lambda row, index, cell, _format: _write_number(sheet, row, index, cell, None)
        case Kind.NUMBER | Kind.MONEY:
            return partial(_write_number, sheet)
        case Kind.DATE:
            return write_day
        case _:
            return sheet.write_string


def _write_number(
    sheet: Worksheet, row: int, index: int, digits: str, number_format: Format | None
) -> int:
    """Write a number, as text if the cell would hold another one."""
    number, exact = float(digits), Decimal(digits)
    # Binary numbers hold any fifteen digits exactly; xlsxwriter writes sixteen.
    if len(exact.as_tuple().digits) > EXACT_DIGITS and Decimal(f"{number:.16G}") != exact:
        return int(sheet.write_string(row, index, digits))
    return int(sheet.write_number(row, index, number, number_format))
