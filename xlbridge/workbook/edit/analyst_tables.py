"""Tables in an analyst's workbook, in which the rows of a listing may be refreshed.

Cells take the style of the first row of their column. Columns of her own are filled down if they
have a formula there; what she typed next to a row stays with its record, by the record's key.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.report_forms import list_first
from xlbridge.workbook.address import MAX_ROWS, CellPosition, CellRange, cell_address
from xlbridge.workbook.edit.editable_cells import CellXml, Formula, SheetRows, WorkbookStyles
from xlbridge.workbook.edit.editable_package import EditablePackage, SheetList, parse_xml
from xlbridge.workbook.edit.followers import DRAWN_KINDS, drawn_rows, filled_down, parse_range

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

    @classmethod
    def all_of(cls, package: EditablePackage) -> Iterator["FoundTable"]:
        """Yield the tables of a workbook, and the other rows that may be headers; ``with_data``
        gives these their rows."""
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
                for _, group in groupby(
                    enumerate(sorted(texts)), key=lambda pair: pair[1] - pair[0]
                ):
                    columns = [column for _, column in group]
                    yield cls(
                        sheet=name,
                        part=part,
                        header_row=number,
                        left=columns[0],
                        headers=tuple(texts[column] for column in columns),
                        first=number + 1,
                        last=number + 1,
                    )

    def with_data(self, package: EditablePackage, filled: Collection[int]) -> "FoundTable":
        """Return a header row with its rows: those down to the first empty one.

        Rows at the end with a formula in a column that is ``filled``, or that begin with “Total”,
        are below them. Raises ``UsageError`` if a formula stands in the middle of the rows.
        """
        if self.table:
            return self
        sheet = SheetRows(package, self.part)
        columns = range(self.left, self.right + 1)
        last, closing, place = self.header_row, 0, ""
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
                _FORMULA_AMONG_ROWS.format(sheet=self.sheet, cell=place),
                _MOVE_FORMULA,
            )
        if not closing and last > self.first:
            cells = sheet.cells(last)
            texts = (sheet.text(cells[c]) for c in columns if c in cells and cells[c].is_filled)
            if next(texts, "").strip().casefold().startswith(_CLOSING_WORDS):
                closing = last
        return replace(self, last=closing - 1 if closing else max(last, self.first))


def _tables(package: EditablePackage, sheet: str, part: str) -> Iterator[FoundTable]:
    for kind, target in package.relations(part):
        if kind != "table" or target not in package:
            continue
        root = parse_xml(package.read(target))
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


_REF = re.compile(rb"""<(?:[\w.-]+:)?(\w+)\b[^>]*?\bref=["']([A-Z0-9:]+)["']""")
_COLUMN_STYLE = re.compile(
    rb"""<(?:[\w.-]+:)?col\b(?=[^>]*\bmin="(\d+)")(?=[^>]*\bmax="(\d+)")[^>]*\bstyle="(\d+)\""""
)
_SHOWN = 5


class AnalystTable:
    """Table of an editable workbook.

    ``filled`` are the zero-based columns that new rows have, ``keys`` those of them that tell the
    records apart, none if the sheet lacks one. ``losses`` name what cannot be kept, ``remarks``
    what stays but deserves a look. Raises ``UsageError`` if the rows cannot be replaced.
    """

    def __init__(
        self,
        package: EditablePackage,
        found: FoundTable,
        filled: Collection[int],
        keys: Sequence[int],
    ) -> None:
        self.found = found
        self.losses: list[Text] = []
        self.remarks: list[Text] = []
        self._package = package
        self._filled = filled
        self._keys = keys
        self._is_filtered = False
        self._sheet = SheetRows(package, found.part)
        self._styles = WorkbookStyles(package)
        self._column_styles = [
            (int(low) - 1, int(high) - 1, style.decode())
            for low, high, style in _COLUMN_STYLE.findall(self._sheet.content[: self._sheet.begin])
        ]
        self._shared = self._shared_formulas()
        self._beside: dict[int, list[CellXml]] = {}
        self._old: dict[int, dict[int, CellXml]] = {}
        for number in range(found.first, found.last + 1):
            cells = self._sheet.cells(number)
            self._old[number] = {c: cells[c] for c in cells if found.left <= c <= found.right}
            if beside := cells.keys() - self._old[number].keys():
                self._beside[number] = [cells[column] for column in beside]
        self._own = [c for c in range(found.left, found.right + 1) if c not in filled]
        self._templates = self._formulas_of_columns()
        self._typed = [
            column
            for column in self._own
            if column not in self._templates
            and any(column in row and row[column].is_filled for row in self._old.values())
        ]
        self._first_styles = {
            column: self.style(column, is_date=False)
            for column in range(found.left, found.right + 1)
        }
        self._refuse_fixed_ranges()
        self._name_exceptions()

    @property
    def uses_1904_dates(self) -> bool:
        """True if the workbook counts days from 1904."""
        return SheetList(self._package).uses_1904_dates

    def style(self, column: int, *, is_date: bool) -> str:
        """Return the id of the style of a column's cells; that of dates shows them."""
        first = next((row[column] for row in self._old.values() if column in row), None)
        style = "0" if first is None else first.style
        if first is None:
            inherited = (s for low, high, s in self._column_styles if low <= column <= high)
            style = next(inherited, "0")
        if not is_date:
            return style
        shown = str(self._styles.for_date(int(style)))
        if shown != style:
            self._styles.save()
        return shown

    def _shared_formulas(self) -> dict[str, tuple[CellPosition, Formula]]:
        """Return the formulas that other cells share, with their cells, by group."""
        shared = {}
        if b"shared" in self._sheet.content:
            for number, row in self._sheet.rows.items():
                for cell in row.cells() if b"shared" in row.xml else ():
                    formula = cell.formula
                    if formula and formula.kind == "shared" and formula.text:
                        shared[formula.group] = (number, cell.column), formula
        return shared

    def _formula(self, number: int, cell: CellXml) -> Formula | None:
        """Return a cell's formula, with a text of its own if it shares that of another cell."""
        formula = cell.formula
        if formula is None or formula.kind != "shared" or formula.group not in self._shared:
            return formula
        (row, column), master = self._shared[formula.group]
        text = filled_down(master.text, number - row, cell.column - column)
        return Formula(text, "", "", "")

    def _formulas_of_columns(self) -> dict[int, tuple[int, Formula]]:
        """Return the first formula of each column of her own that begins with one, and its row."""
        templates = {}
        first = self._old.get(self.found.first, {})
        for column in self._own:
            formula = self._formula(self.found.first, first[column]) if column in first else None
            if formula is not None:
                templates[column] = self.found.first, formula
        if self.found.table_part:
            root = parse_xml(self._package.read(self.found.table_part))
            for index, item in enumerate(root.iterfind("{*}tableColumns/{*}tableColumn")):
                text = item.findtext("{*}calculatedColumnFormula", "")
                column = self.found.left + index
                if text and column in self._own and column not in templates:
                    templates[column] = self.found.first, Formula(text, "", "", "")
        return templates

    def _refuse_fixed_ranges(self) -> None:
        """Refuse what cannot be written into: merged cells, and formulas for several cells."""
        found, sheet = self.found, self._sheet
        area = found.first, found.left, found.last, found.right
        for name, text in _REF.findall(sheet.content, sheet.after):
            merged = parse_range(text.decode())
            if name == b"mergeCell" and merged and overlap(merged, area):
                raise UsageError(_MERGED.format(table=found.title, range=text.decode()), _UNMERGE)
        for number, row in self._old.items():
            for column, cell in row.items():
                formula = cell.formula
                if formula is None or formula.kind not in {"array", "dataTable"}:
                    continue
                address = cell_address(number, column)
                if formula.kind == "dataTable" or formula.range not in {address, ""}:
                    raise UsageError(_FOR_SEVERAL.format(table=found.title, cell=address), _UNMERGE)

    def _name_exceptions(self) -> None:
        """Name what the new rows replace or cannot carry."""
        found = self.found
        headers = {found.left + n: header for n, header in enumerate(found.headers)}
        replaced = [
            cell_address(number, column)
            for number, row in self._old.items()
            for column in self._filled
            if column in row and row[column].formula
        ]
        if replaced:
            self.losses.append(_FORMULAS.format(table=found.title, cells=first_cells(replaced)))
        for column, (start, template) in self._templates.items():
            differing = []
            for number, row in self._old.items():
                cell = row.get(column)
                if cell is None:
                    continue
                formula = self._formula(number, cell)
                expected = filled_down(template.text, number - start)
                if (formula.text if formula else cell.is_filled) not in {expected, False, ""}:
                    differing.append(cell_address(number, column))
            if differing:
                self.losses.append(
                    _EXCEPTIONS.format(
                        table=found.title, column=headers[column], cells=first_cells(differing)
                    )
                )
        if self._typed and not self._keys:
            names = ", ".join(headers[column] for column in self._typed)
            self.losses.append(_NO_KEY.format(table=found.title, columns=names))
        styles = [
            headers[column]
            for column in self._filled
            if len({row[column].style for row in self._old.values() if column in row}) > 1
        ]
        if styles:
            self.remarks.append(
                _FORMATS.format(table=found.title, columns=list_first(styles, _SHOWN))
            )
        self._name_attached()

    def _name_attached(self) -> None:
        """Name notes, links and filters, which do not know records."""
        found, sheet, package = self.found, self._sheet, self._package
        area = found.first, found.left, found.last, found.right
        attached = []
        for kind, target in package.relations(found.part):
            if kind in {"comments", "threadedComment"} and target in package:
                attached += _REF.findall(package.read(target))
        attached += (
            one for one in _REF.findall(sheet.content, sheet.after) if one[0] == b"hyperlink"
        )
        cells = [
            text.decode()
            for _, text in attached
            if (place := parse_range(text.decode())) and overlap(place, area)
        ]
        if cells:
            unique = list(dict.fromkeys(cells))
            self.losses.append(_ATTACHED.format(table=found.title, cells=first_cells(unique)))
        tables = [package.read(found.table_part)] if found.table_part else []
        if any(b"filterColumn" in content for content in (*tables, sheet.content[sheet.after :])):
            self._is_filtered = True
            self.remarks.append(_FILTERED.format(table=found.title))

    def _has_content_below(self) -> bool:
        """Return whether something below the rows has to move with their end."""
        found = self.found
        if found.has_totals:
            return True
        for number, row in self._sheet.rows.items():
            if number > found.last and any(
                found.left <= cell.column <= found.right and cell.is_filled for cell in row.cells()
            ):
                return True
        below = found.last + 1, found.left, MAX_ROWS, found.right
        return any(overlap(area, below) for _, area in self._fixed_ranges()) or any(
            top > found.last and found.left <= column <= found.right
            for kind, target in self._package.relations(found.part)
            if kind in DRAWN_KINDS and target in self._package
            for top, column in drawn_rows(self._package.read(target))
        )

    def _fixed_ranges(self) -> Iterable[tuple[str, CellRange]]:
        """Yield the ranges of the sheet that cannot be cut in two: merged cells, other tables,
        pivot tables, formulas for several cells."""
        package, found = self._package, self.found
        for name, text in _REF.findall(self._sheet.content, self._sheet.begin):
            if name in {b"mergeCell", b"f"} and (area := parse_range(text.decode())):
                yield text.decode(), area
        for kind, target in package.relations(found.part):
            if kind in {"table", "pivotTable"} and target in package and target != found.table_part:
                for name, text in _REF.findall(package.read(target)):
                    if name in {b"table", b"location"} and (area := parse_range(text.decode())):
                        yield text.decode(), area


def overlap(area: CellRange, other: CellRange) -> bool:
    """Return whether two ranges share a cell."""
    top, left, bottom, right = area
    return top <= other[2] and bottom >= other[0] and left <= other[3] and right >= other[1]


def first_cells(cells: Sequence[str]) -> Text:
    """Return the first addresses, and the number of the others."""
    return list_first(cells, _SHOWN)


_MERGED = Text(
    pt="{table}: as células mescladas {range} estão nas linhas a substituir.",
    en="{table}: the merged cells {range} are among the rows to replace.",
)
_FOR_SEVERAL = Text(
    pt="{table}: {cell} faz parte de uma fórmula de várias células, nas linhas a substituir.",
    en="{table}: {cell} is part of a formula for several cells, among the rows to replace.",
)
_UNMERGE = Text(
    pt="Desfaça-as ou leve-as para fora da tabela, e repita.",
    en="Undo them or move them out of the table, and try again.",
)
_FORMULAS = Text(
    pt="{table}: fórmulas em colunas da listagem são trocadas por valores: {cells}",
    en="{table}: formulas in columns of the listing are replaced by values: {cells}",
)
_EXCEPTIONS = Text(
    pt="{table}, coluna {column}: a fórmula da primeira linha substitui o que é diferente em "
    "{cells}",
    en="{table}, column {column}: the formula of the first row replaces what differs in {cells}",
)
_NO_KEY = Text(
    pt="{table}: o que foi digitado em {columns} some, pois a planilha não tem as colunas da chave "
    "dos registros.",
    en="{table}: what was typed in {columns} is lost, as the sheet lacks the columns of the "
    "records' key.",
)
_ATTACHED = Text(
    pt="{table}: anotações e links ficam na célula em que estão, e não acompanham o registro: "
    "{cells}",
    en="{table}: notes and links stay at their cells and do not follow the record: {cells}",
)
_FORMATS = Text(
    pt="{table}: cada coluna fica com o formato da primeira linha; havia outros em: {columns}",
    en="{table}: each column takes the format of its first row; there were others in: {columns}",
)
_FILTERED = Text(
    pt="{table}: o filtro fica, mas todas as linhas aparecem até ele ser reaplicado.",
    en="{table}: the filter stays, but all rows are shown until it is applied again.",
)
