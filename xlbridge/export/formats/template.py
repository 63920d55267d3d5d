"""Import workbook filled from a listing: the template's own sheet, checks and instructions."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.errors import UsageError
from xlbridge.export.formats.base import CoverSummary, OpenOutput, OutputWriter, Table
from xlbridge.export.lines import CELLS_AS_JSON, LineFormat, cells_of
from xlbridge.export.sheets import Sheet
from xlbridge.i18n import Text
from xlbridge.resources import Column, Kind, Resource
from xlbridge.workbook import MAX_ROWS
from xlbridge.workbook.write import cell_format, template_workbook, write_plain_text


def template_opener(resource: Resource) -> OpenOutput:
    """Return what opens an import workbook of a resource."""
    return partial(_open_template, resource)


@contextmanager
def _open_template(
    resource: Resource, path: Path, _sheets: Sequence[Sheet]
) -> Iterator[OutputWriter]:
    with template_workbook(path, resource) as (book, sheet):
        formats = [cell_format(book, column) for column in resource.columns]
        yield _TemplateOutput(sheet, resource, formats)


class _TemplateOutput:
    def __init__(self, sheet: Worksheet, resource: Resource, formats: Sequence[Format]) -> None:
        self._writers = [
            (index, _writer(sheet, column), form)
            for index, (column, form) in enumerate(zip(resource.columns, formats, strict=True))
        ]

    def form(self, sheet: Sheet) -> LineFormat:
        return CELLS_AS_JSON

    def write(self, tables: Sequence[Table], summary: CoverSummary) -> None:
        (table,) = tables
        if table.rows >= MAX_ROWS:
            raise UsageError(
                Text(
                    pt="São registros demais para uma planilha de importação.",
                    en="These are too many records for one import sheet.",
                )
            )
        for number, row in enumerate(cells_of(table.blocks), start=1):
            for cell, (index, put, form) in zip(row, self._writers, strict=True):
                if cell is not None:
                    put(number, index, cell, form)


def _writer(sheet: Worksheet, column: Column) -> Callable[[int, int, Any, Format], int]:
    match column.kind:
        case Kind.BOOLEAN:
            return sheet.write_boolean
        case Kind.INTEGER:
            return lambda row, index, cell, _form: sheet.write_number(row, index, int(cell))
        case Kind.NUMBER | Kind.MONEY:
            return lambda row, index, cell, form: sheet.write_number(row, index, float(cell), form)
        case Kind.DATE:
            return partial(_write_day, sheet)
        case _:
            return partial(write_plain_text, sheet)


def _write_day(sheet: Worksheet, row: int, index: int, text: str, form: Format) -> int:
    # Days only: an import sheet has no times.
    day = datetime.fromisoformat(text).replace(hour=0, minute=0, second=0, microsecond=0)
    return int(sheet.write_datetime(row, index, day, form))
