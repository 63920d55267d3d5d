"""Reading a workbook's cells, each with the type that it has in the file."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.i18n import Text
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.safety import InspectedWorkbook, RawSheet, inspect_workbook
from xlbridge.workbook.signature import OWN_SHEETS


@dataclass(frozen=True, slots=True)
class SheetCells:
    """The cells of one sheet.

    ``rows[i]`` is Excel's row ``i + 1``; its first value stands in the zero-based column
    ``first_column``. An empty cell is ``""``; the others are str, float, bool, date, datetime,
    time or timedelta, as the cell itself is. ``raw`` holds what those values cannot show.
    """

    name: str
    first_column: int
    rows: Sequence[Sequence[object]] = field(repr=False)
    raw: RawSheet = field(repr=False)


class Workbook:
    """A workbook that passed the safety gate, open for reading."""

    def __init__(self, path: Path, limits: WorkbookLimits) -> None:
        self._inspected: InspectedWorkbook = inspect_workbook(path, limits)
        with _refusing_unreadable():
            self._book = CalamineWorkbook.from_filelike(io.BytesIO(self._inspected.content))
            self._metadata = self._book.sheets_metadata

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the template that the workbook was made from."""
        return self._inspected.fingerprint

    @property
    def sheet_names(self) -> list[str]:
        """The visible worksheets that may hold data, in the workbook's order."""
        return [
            sheet.name
            for sheet in self._metadata
            if sheet.typ == SheetTypeEnum.WorkSheet
            and sheet.visible == SheetVisibleEnum.Visible
            and sheet.name not in OWN_SHEETS
        ]

    def cells(self, sheet: str) -> SheetCells:
        """Read one sheet, hidden or not.

        Raises ``UsageError`` when there is no such worksheet, ``WorkbookRefused`` when its content
        cannot be read.
        """
        worksheets = [s.name for s in self._metadata if s.typ == SheetTypeEnum.WorkSheet]
        if sheet not in worksheets:
            raise UsageError(
                Text(
                    pt="Não há planilha {sheet!r}. Há: {names}.",
                    en="There is no sheet {sheet!r}. There are: {names}.",
                ).format(sheet=sheet, names=", ".join(worksheets))
            )
        with _refusing_unreadable():
            content = self._book.get_sheet_by_name(sheet)
            start = content.start
            rows = list(content.iter_rows()) if start else []
        return SheetCells(
            name=sheet,
            first_column=start[1] if start else 0,
            rows=rows,
            raw=self._inspected.sheets.get(sheet, RawSheet()),
        )


@contextmanager
def _refusing_unreadable() -> Iterator[None]:
    try:
        yield
    except CalamineError as error:
        raise WorkbookRefused(
            "unreadable",
            Text(
                pt="O conteúdo da pasta de trabalho não pôde ser lido.",
                en="The workbook's content cannot be read.",
            ),
            Text(
                pt="Abra-a no Excel, salve de novo como .xlsx e tente outra vez.",
                en="Open it in Excel, save it again as .xlsx and try once more.",
            ),
        ) from error
