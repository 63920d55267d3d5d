"""Tables and header rows of a workbook, in which the rows of a listing may be refreshed."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.workbook.address import cell_address
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.edit.editable_package import EditablePackage, SheetList
from xlbridge.workbook.edit.references import parse_range
from xlbridge.workbook.edit.sheet_rows import SheetRows

_ROWS_WITH_HEADERS = 30
"""Rows of a sheet among which its header is searched."""

_MAX_CLOSING_ROWS = 3
_CLOSING_WORDS = ("total", "soma", "sum", "média", "media", "average")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTable:
    """Header row of a sheet, with the rows ``first`` to ``last`` below it.

    ``table`` is the name of the table and ``table_part`` its part, both empty without one;
    ``has_totals``: the table has a totals row.
    """

    sheet: str
    part: str
    header_row: int
    left: int
    headers: tuple[str, ...]
    first: int
    last: int
    table: str = ""
    table_part: str = ""
    has_totals: bool = False

    @property
    def right(self) -> int:
        """Zero-based last column."""
        return self.left + len(self.headers) - 1

    @property
    def title(self) -> str:
        """Names of the sheet and the table."""
        return f"{self.sheet} ({self.table})" if self.table else self.sheet

    def is_called(self, name: str) -> bool:
        """Return whether the sheet or the table has a name, in any case."""
        return name.casefold() in {self.sheet.casefold(), self.table.casefold()}


def find_tables(package: EditablePackage) -> Iterator[FoundTable]:
    """Yield the tables of a workbook, and the other rows that may be headers; ``with_data`` gives
    these their rows."""
    for name, part in SheetList(package).by_name().items():
        if b"sheetData" not in package.read(part):
            continue  # a sheet with a chart only
        sheet = SheetRows(package, part)
        tables = list(_tables(package, name, part))
        yield from tables
        for number in sorted(sheet.rows)[:_ROWS_WITH_HEADERS]:
            texts = {
                column: text
                for column, cell in sheet.cells(number).items()
                if cell.type in {"s", "inlineStr", "str"} and (text := sheet.text(cell).strip())
                if not any(
                    one.header_row <= number <= one.last + one.has_totals
                    and one.left <= column <= one.right
                    for one in tables
                )
            }
            for _, group in groupby(enumerate(sorted(texts)), key=lambda pair: pair[1] - pair[0]):
                columns = [column for _, column in group]
                yield FoundTable(
                    sheet=name,
                    part=part,
                    header_row=number,
                    left=columns[0],
                    headers=tuple(texts[column] for column in columns),
                    first=number + 1,
                    last=number + 1,
                )


def _tables(package: EditablePackage, sheet: str, part: str) -> Iterator[FoundTable]:
    for kind, target in package.relations(part):
        if kind != "table" or target not in package:
            continue
        root = xml.parse(package.read(target))
        area = parse_range(root.get("ref", ""))
        if area is None or root.get("headerRowCount", "1") == "0":
            continue
        has_totals = root.get("totalsRowCount", "0") != "0"
        yield FoundTable(
            sheet=sheet,
            part=part,
            header_row=area[0],
            left=area[1],
            headers=tuple(
                " ".join(item.get("name", "").replace("_x000a_", " ").split())
                for item in root.iterfind("{*}tableColumns/{*}tableColumn")
            ),
            first=area[0] + 1,
            last=max(area[2] - has_totals, area[0] + 1),
            table=root.get("displayName", root.get("name", "")),
            table_part=target,
            has_totals=has_totals,
        )


def with_data(package: EditablePackage, found: FoundTable, filled: Collection[int]) -> FoundTable:
    """Return a header row with its rows: those down to the first empty one.

    Rows at the end with a formula in a column that is ``filled``, or that begin with “Total”, are
    below them. Raises ``UsageError`` if a formula stands in the middle of the rows.
    """
    if found.table:
        return found
    sheet = SheetRows(package, found.part)
    columns = range(found.left, found.right + 1)
    last, closing, place = found.header_row, 0, ""
    while True:
        row = {c: cell for c, cell in sheet.cells(last + 1).items() if c in columns}
        if not any(cell.is_filled for cell in row.values()):
            break
        last += 1
        with_formula = next((c for c in filled if c in row and row[c].formula), None)
        if with_formula is not None and not closing:
            closing, place = last, cell_address(last, with_formula)
    if closing and last - closing >= _MAX_CLOSING_ROWS:
        raise UsageError(
            _FORMULA_AMONG_ROWS.format(sheet=found.sheet, cell=place),
            _MOVE_FORMULA,
        )
    if not closing and last > found.first:
        cells = sheet.cells(last)
        texts = (sheet.text(cells[c]) for c in columns if c in cells and cells[c].is_filled)
        if next(texts, "").strip().casefold().startswith(_CLOSING_WORDS):
            closing = last
    return replace(found, last=closing - 1 if closing else max(last, found.first))


_FORMULA_AMONG_ROWS = Text(
    pt="Planilha {sheet!r}: {cell} tem uma fórmula numa coluna da listagem, no meio das linhas.",
    en="Sheet {sheet!r}: {cell} has a formula in a column of the listing, among its rows.",
)
_MOVE_FORMULA = Text(
    pt="Leve a fórmula para uma coluna sua, ou transforme as linhas numa tabela do Excel "
    "(Ctrl+Alt+T), com linha de totais.",
    en="Move the formula to a column of your own, or turn the rows into a table of Excel (Ctrl+T) "
    "with a totals row.",
)
