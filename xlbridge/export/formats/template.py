"""Import workbook filled from a listing: the template's sheets, checks and instructions."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.errors import UsageError
from xlbridge.export.formats.base import CoverSummary, OpenOutput, OutputWriter, Table
from xlbridge.export.formats.xlsx_rows import EXACT_DIGITS, FIRST_SAFE_DAY
from xlbridge.export.lines import CELLS_AS_JSON, LineFormat, cells_of
from xlbridge.export.sheets import ExportColumn, Sheet, naive_moment
from xlbridge.i18n import Text
from xlbridge.resources import Kind, Resource
from xlbridge.workbook import MAX_ROWS, MAX_TEXT_LENGTH, cell_address
from xlbridge.workbook.write import cell_format, template_sheets

_NUMBER_WIDTH = 24
_DO_NOT_EDIT = "Preenchida pelo sistema; não edite. Diz de que registro é a linha, e não é enviada."
"""Always in Portuguese, like the whole template."""


def template_opener(resource: Resource) -> OpenOutput:
    """Return the opener of a resource's import workbook."""
    return partial(_open_template, resource)


@contextmanager
def _open_template(
    resource: Resource, path: Path, sheets: Sequence[Sheet]
) -> Iterator[OutputWriter]:
    main, *lists = sheets
    own = len(resource.columns)
    numbers = {column.name: _NUMBER_WIDTH for column in main.columns[own:]}
    with template_sheets(path, resource, numbers, shared=True) as (book, worksheets):
        for index in range(own, len(main.columns)):
            worksheets[resource.sheet].write_comment(0, index, _DO_NOT_EDIT)
        plain = book.add_format()
        children = {child.sheet: child for child in resource.children}
        writers = []
        for sheet, declared in (main, resource), *((s, children[s.name]) for s in lists):
            formats = [cell_format(book, column) for column in declared.columns]
            formats += [plain] * (len(sheet.columns) - len(formats))
            worksheet = worksheets[declared.sheet]
            cell_writers = [_cell_writer(worksheet, column) for column in sheet.columns]
            writers.append(list(zip(cell_writers, formats, strict=True)))
        yield _TemplateOutput(writers)


_WriteCell = Callable[[int, int, Any, Format], int]
_CellWriter = tuple[_WriteCell, Format]


class _TemplateOutput(OutputWriter):
    def __init__(self, writers: Sequence[Sequence[_CellWriter]]) -> None:
        self._writers = writers

    def line_format(self, sheet: Sheet) -> LineFormat:
        return CELLS_AS_JSON

    def write(self, tables: Sequence[Table], summary: CoverSummary) -> None:
        for table, writers in zip(tables, self._writers, strict=True):
            _write_table(table, writers)


def _write_table(table: Table, writers: Sequence[_CellWriter]) -> None:
    if table.rows >= MAX_ROWS:
        raise UsageError(
            Text(
                pt="Há registros demais para uma planilha de importação.",
                en="There are too many records for one import sheet.",
            )
        )
    for number, row in enumerate(cells_of(table.blocks), start=1):
        for index, (cell, (write, style)) in enumerate(zip(row, writers, strict=True)):
            if cell is not None and write(number, index, cell, style) < 0:
                raise UsageError(
                    _TOO_LONG.format(
                        cell=cell_address(number + 1, index),
                        field=table.sheet.columns[index].name,
                        limit=MAX_TEXT_LENGTH,
                    )
                )


_TOO_LONG = Text(
    pt="{cell}, campo {field}: o texto tem mais de {limit} caracteres, o máximo de uma célula.",
    en="{cell}, field {field}: the text has more than {limit} characters, the maximum of a cell.",
)


def _cell_writer(sheet: Worksheet, column: ExportColumn) -> _WriteCell:
    match column.kind:
        case Kind.BOOLEAN:
            return sheet.write_boolean
        case Kind.INTEGER:
            return lambda row, index, cell, _format: _write_number(sheet, row, index, cell, None)
        case Kind.NUMBER | Kind.MONEY:
            return partial(_write_number, sheet)
        case Kind.DATE:
            return partial(_write_day, sheet)
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


def _write_day(sheet: Worksheet, row: int, index: int, text: str, date_format: Format) -> int:
    """Write a date without time, which import sheets do not have; before March 1900 as text."""
    day = naive_moment(text).replace(hour=0, minute=0, second=0, microsecond=0)
    if day.toordinal() < FIRST_SAFE_DAY:
        return int(sheet.write_string(row, index, text, date_format))
    return int(sheet.write_datetime(row, index, day, date_format))
