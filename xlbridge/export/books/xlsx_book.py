"""Excel workbooks: typed cells, real dates, numbers exact, text that never becomes a formula.

What a workbook's cell cannot hold without loss is written as text: a number of more than sixteen
digits, a date before March 1900. A text longer than a cell holds stops the export, as nothing is
cut silently.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import xlsxwriter
from xlsxwriter.exceptions import FileCreateError
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge import __version__
from xlbridge.errors import UsageError
from xlbridge.export.books.book import Book
from xlbridge.export.columns import Cell, ExportColumn
from xlbridge.export.listings import Sheet
from xlbridge.i18n import Text
from xlbridge.limits import WorkbookLimits
from xlbridge.resources.column import Kind
from xlbridge.workbook.atomic import replacing
from xlbridge.workbook.plain_text import write_plain_text
from xlbridge.workbook.signature import EXPORT_PROPERTY
from xlbridge.workbook.style import FONT, FONT_SIZE, NUMBER_FORMATS, RULE, SOFT

EXCEL_ROWS = 1_048_576
_LONGEST_TEXT = WorkbookLimits().text_length
_FIRST_SAFE_DATE = datetime(1900, 3, 1)
"""Excel believes in 29 February 1900; earlier serial numbers mean different days to programs."""

_CENT = -2
_WIDEST = 50
_SAMPLE = 200
"""So many rows of a sheet decide its columns' widths."""


@contextmanager
def open_xlsx(
    path: Path, sheets: Sequence[Sheet], rows_per_sheet: int = EXCEL_ROWS
) -> Iterator[Book]:
    """Open a workbook. A sheet that outgrows ``rows_per_sheet`` goes on in ``name (2)``.

    Memory does not grow with the rows: they wait in temporary files.
    """
    with replacing(path) as temporary, tempfile.TemporaryDirectory() as folder:
        # Before anything is fetched, as xlsxwriter would try only at the very end.
        temporary.touch()
        workbook = xlsxwriter.Workbook(
            str(temporary),
            {
                "constant_memory": True,
                "tmpdir": folder,
                "default_format_properties": {"font_name": FONT, "font_size": FONT_SIZE},
            },
        )
        try:
            workbook.set_properties({"title": sheets[0].name, "author": f"xlbridge {__version__}"})
            workbook.set_custom_property(EXPORT_PROPERTY, sheets[0].name)
            book = _XlsxBook(workbook, sheets, rows_per_sheet)
            yield book
            book.finish()
            workbook.close()
        except FileCreateError as error:
            raise OSError(str(error)) from error
        finally:
            # Where the export was broken off, nothing else would close the rows' files.
            for worksheet in workbook.worksheets():
                vars(worksheet)["row_data_fh"].close()


class _Formats:
    """The cell formats of one workbook."""

    def __init__(self, workbook: xlsxwriter.Workbook) -> None:
        self.header = workbook.add_format(
            {
                "bold": True,
                "bg_color": f"#{SOFT}",
                "bottom": 1,
                "bottom_color": f"#{RULE}",
                "text_wrap": True,
                "valign": "top",
            }
        )
        self.of_kind: dict[Kind, Format] = {
            kind: workbook.add_format({"num_format": form, "valign": "top"})
            for kind, form in NUMBER_FORMATS.items()
        }
        self.lines = workbook.add_format(
            {"num_format": NUMBER_FORMATS[Kind.TEXT], "text_wrap": True, "valign": "top"}
        )
        self.moment = workbook.add_format(
            {"num_format": f"{NUMBER_FORMATS[Kind.DATE]} hh:mm", "valign": "top"}
        )


class _XlsxBook:
    def __init__(
        self, workbook: xlsxwriter.Workbook, sheets: Sequence[Sheet], rows_per_sheet: int
    ) -> None:
        formats = _Formats(workbook)
        self._sheets = {
            sheet.name: _SheetWriter(workbook, sheet, formats, rows_per_sheet) for sheet in sheets
        }

    def write(self, sheet: Sheet, row: Sequence[Cell]) -> None:
        self._sheets[sheet.name].write(row)

    def finish(self) -> None:
        for writer in self._sheets.values():
            writer.finish()


@dataclass(slots=True)
class _Part:
    """One worksheet of a sheet; ``row`` is the next row to write, counted from 0."""

    worksheet: Worksheet
    widths: list[int]
    row: int = 1


class _SheetWriter:
    def __init__(
        self,
        workbook: xlsxwriter.Workbook,
        sheet: Sheet,
        formats: _Formats,
        rows_per_sheet: int,
    ) -> None:
        self._workbook = workbook
        self._sheet = sheet
        self._formats = formats
        self._rows = rows_per_sheet
        self._parts = 0
        self._part = self._begin()

    def write(self, row: Sequence[Cell]) -> None:
        if self._part.row == self._rows:
            self.finish()
            self._part = self._begin()
        for index, (column, cell) in enumerate(zip(self._sheet.columns, row, strict=True)):
            if cell is not None:
                self._write_cell(index, column, cell)
        if self._part.row <= _SAMPLE:
            self._measure(row)
        self._part.row += 1

    def finish(self) -> None:
        """Set what is known once all rows are there: widths and the filter's range."""
        worksheet = self._part.worksheet
        worksheet.autofilter(0, 0, self._part.row - 1, len(self._sheet.columns) - 1)
        for index, width in enumerate(self._part.widths):
            worksheet.set_column(index, index, min(width, _WIDEST) + 2)

    def _begin(self) -> _Part:
        self._parts += 1
        suffix = "" if self._parts == 1 else f" ({self._parts})"
        worksheet = self._workbook.add_worksheet(self._sheet.name + suffix)
        worksheet.freeze_panes(1, 0)
        for index, column in enumerate(self._sheet.columns):
            worksheet.write_string(0, index, column.name, self._formats.header)
        return _Part(worksheet, [max(8, len(c.name)) for c in self._sheet.columns])

    def _write_cell(self, index: int, column: ExportColumn, cell: Cell) -> None:
        worksheet, row = self._part.worksheet, self._part.row
        match cell:
            case str():
                self._write_text(index, column, cell)
            case tuple():
                self._write_text(index, column, "\n".join(cell))
            case bool():
                worksheet.write_boolean(row, index, cell, self._formats.of_kind[column.kind])
            case int() | Decimal():
                self._write_number(index, column, Decimal(cell))
            case datetime() if cell < _FIRST_SAFE_DATE:
                self._write_text(index, column, cell.isoformat())
            case datetime():
                at_midnight = cell.time() == datetime.min.time()
                form = self._formats.of_kind[Kind.DATE] if at_midnight else self._formats.moment
                worksheet.write_datetime(row, index, cell, form)

    def _write_text(self, index: int, column: ExportColumn, text: str) -> None:
        worksheet, row = self._part.worksheet, self._part.row
        if len(text.encode("utf-16-le")) // 2 > _LONGEST_TEXT:
            raise self._too_long(column, len(text))
        form = self._formats.lines if "\n" in text else self._formats.of_kind[Kind.TEXT]
        write_plain_text(worksheet, row, index, text, form)

    def _write_number(self, index: int, column: ExportColumn, number: Decimal) -> None:
        if not _is_exact(number):
            self._write_text(index, column, f"{number:f}")
            return
        exponent = number.as_tuple().exponent
        finer = column.kind is Kind.MONEY and isinstance(exponent, int) and exponent < _CENT
        form = self._formats.of_kind[Kind.NUMBER if finer else column.kind]
        # As a Decimal: of a float, xlsxwriter's sixteen digits may mean its neighbour.
        self._part.worksheet.write_number(self._part.row, index, number, form)  # type: ignore[call-overload]

    def _measure(self, row: Sequence[Cell]) -> None:
        for index, cell in enumerate(row):
            shown = 16 if isinstance(cell, datetime) else len(str(cell))
            self._part.widths[index] = max(self._part.widths[index], shown)

    def _too_long(self, column: ExportColumn, length: int) -> UsageError:
        return UsageError(
            Text(
                pt="{sheet}, linha {row}, campo {field}: o texto tem {length} caracteres, e uma "
                "célula do Excel guarda {limit}.",
                en="{sheet}, row {row}, field {field}: the text has {length} characters, and a "
                "cell of Excel holds {limit}.",
            ).format(
                sheet=self._sheet.name,
                row=self._part.row + 1,
                field=column.name,
                length=length,
                limit=_LONGEST_TEXT,
            ),
            Text(
                pt="Exporte para .csv ou .jsonl, que não têm esse limite.",
                en="Export to .csv or .jsonl, which have no such limit.",
            ),
        )


def _is_exact(number: Decimal) -> bool:
    """Say whether a workbook gives the number back as it is.

    Sixteen digits are written, and programs read them as a binary floating-point number.
    """
    return Decimal(f"{number:.16G}") == number == Decimal(repr(float(number)))
