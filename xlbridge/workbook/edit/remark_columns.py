"""Copy of the analyst's workbook with texts in columns next to the data.

Everything else stays unchanged: cells, styles, formulas, pictures.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree

from xlbridge.resources.findings import Severity
from xlbridge.workbook.address import cell_address, cell_position
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.edit.annotated_copy import colour_cells
from xlbridge.workbook.edit.editable_package import edit_package
from xlbridge.workbook.edit.sheets import SHEET_ORDER, SheetList, cells_by_column
from xlbridge.workbook.edit.styles import WorkbookStyles

_VALUE_ELEMENTS = frozenset({"v", "is", "f"})
_WIDTHS = (18, 60, 22)


@dataclass(frozen=True, slots=True)
class RemarkColumns:
    """Remarks on the rows of one sheet.

    ``remarks`` maps Excel's row numbers to texts, one for each of ``titles``, which are written in
    ``header_row``. The columns follow the last filled one, or replace those of an earlier copy
    from the zero-based ``first_column`` on. The rows of ``severities`` are coloured.
    """

    sheet: str
    header_row: int
    titles: Sequence[str]
    remarks: Mapping[int, Sequence[str]]
    first_column: int | None = None
    severities: Mapping[int, Severity] = field(default_factory=dict)


def write_remark_columns(source: Path, target: Path, sheets: Sequence[RemarkColumns]) -> None:
    """Write a copy of ``source`` with remarks on the rows of some of its sheets.

    The sheet's filter, which is added if needed, includes the new columns. Raises
    ``WorkbookRefused`` if the workbook cannot be copied, ``UsageError`` if the copy cannot be
    written.
    """
    with edit_package(source) as package:
        styles = WorkbookStyles(package)
        for sheet in sheets:
            part = SheetList(package).part(sheet.sheet)
            header_row, first = sheet.header_row, sheet.first_column
            texts = {**sheet.remarks, header_row: sheet.titles}
            with package.tree(part) as root:
                rows = dict(_numbered_rows(root))
                if not rows:
                    raise ValueError(f"{part} is not a worksheet with rows")
                if first is None:
                    first = _first_free_column(rows)
                quoted = styles.with_quote_prefix(0)
                for number, row in rows.items():
                    if number in texts:
                        style = None if number == header_row else quoted
                        _write_row(row, number, first, texts[number], style)
                for dimension in root.findall("{*}dimension"):
                    root.remove(dimension)
                last = first + len(texts[header_row]) - 1
                _set_widths(root, first, last)
                _extend_filter(root, header_row, max(rows), last)
                severities = {f"A{row}": severity for row, severity in sheet.severities.items()}
                colour_cells(root, severities, styles, last)
        styles.save()
        package.save(target)


def _extend_filter(root: xml.Element, header_row: int, last_row: int, last: int) -> None:
    """Extend the sheet's filter to the last column; a table has its own filter."""
    existing = root.find("{*}autoFilter")
    if existing is None:
        if root.find("{*}tableParts") is None:
            area = f"A{header_row}:{cell_address(last_row, last)}"
            xml.find_or_insert(root, "autoFilter", SHEET_ORDER).set("ref", area)
        return
    start, _, end = existing.get("ref", "").partition(":")
    if end and cell_position(start)[0] == header_row:
        row, column = cell_position(end)
        existing.set("ref", f"{start}:{cell_address(row, max(column, last))}")


def _numbered_rows(root: xml.Element) -> Iterator[tuple[int, xml.Element]]:
    """Yield the rows with Excel's numbers; one without a number follows the previous row."""
    number = 0
    for row in root.iterfind("{*}sheetData/{*}row"):
        number = int(row.get("r") or number + 1)
        yield number, row


def _first_free_column(rows: Mapping[int, xml.Element]) -> int:
    filled = (
        column
        for row in rows.values()
        for column, cell in cells_by_column(row)
        if any(xml.local_name(item) in _VALUE_ELEMENTS for item in cell)
    )
    return max(filled, default=-1) + 1


def _write_row(
    row: xml.Element, number: int, first: int, texts: Sequence[str], style: str | None
) -> None:
    """Write texts into a row's cells from column ``first`` on, replacing others.

    The default ``style`` is that of the preceding cell.
    """
    cells = dict(cells_by_column(row))
    for column, cell in cells.items():
        if cell.get("r") is None:
            cell.set("r", cell_address(number, column))
    if style is None:
        style = next((cells[c].get("s") for c in sorted(cells, reverse=True) if c < first), None)
    for column, text in enumerate(texts, start=first):
        if column in cells:
            row.remove(cells.pop(column))
        if text:
            address = cell_address(number, column)
            cell = etree.Element(xml.tag_like(row, "c"), r=address, t="inlineStr")
            if style is not None:
                cell.set("s", style)
            xml.add_text(xml.add_child(cell, "is"), text)
            cells[column] = cell
    # Appending moves an element that is already in the row.
    row.extend(cells[column] for column in sorted(cells) if column >= first)
    row.extend(row.findall("{*}extLst"))
    row.attrib.pop("spans", None)


def _set_widths(root: xml.Element, first: int, last: int) -> None:
    """Make the columns wide enough to read, whatever their width was."""
    columns = xml.find_or_insert(root, "cols", SHEET_ORDER)
    for item in root.findall("{*}cols/*"):
        low, high = int(item.get("min", "1")), int(item.get("max", "1"))
        if high <= first or low > last + 1:
            continue
        columns.remove(item)
        for begin, end in ((low, first), (last + 2, high)):
            if begin <= end:
                part = deepcopy(item)
                part.set("min", str(begin))
                part.set("max", str(end))
                columns.append(part)
    for number in range(first, last + 1):
        width = _WIDTHS[min(number - first, len(_WIDTHS) - 1)]
        index = str(number + 1)
        xml.add_child(columns, "col", min=index, max=index, width=str(width), customWidth="1")
    columns[:] = sorted(columns, key=lambda item: int(item.get("min", "1")))
