"""Remark columns: a copy of the analyst's own workbook with texts in columns next to the data.

Everything else of the file stays as it is: cells, styles, formulas, pictures.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lxml import etree

from xlbridge.workbook.address import cell_address, column_index
from xlbridge.workbook.edit.editable_package import (
    EditablePackage,
    Element,
    add_child,
    cell_text,
    edit_package,
    find_child,
    list_entries,
    local_name,
    tag_like,
)
from xlbridge.workbook.edit.sheets import SheetList, insert_in_order

_VALUE_ELEMENTS = frozenset({"v", "is", "f"})
_WIDTH = 28
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def write_remark_columns(
    source: Path,
    target: Path,
    sheet: str,
    header_row: int,
    titles: Sequence[str],
    remarks: Mapping[int, Sequence[str]],
    known_at: int | None = None,
) -> None:
    """Write a copy of ``source`` with remarks beside the rows of one of its sheets.

    ``remarks`` gives the texts for Excel's row numbers, one for each of ``titles``, which stand in
    ``header_row``. They go behind the last filled column, or over those of an earlier copy, whose
    first zero-based column is ``known_at``.

    Raises ``WorkbookRefused`` when the workbook cannot be copied, ``UsageError`` when the copy
    cannot be written.
    """
    with edit_package(source) as package:
        part = SheetList(package).part(sheet)
        _write_columns(package, part, known_at, {**remarks, header_row: titles}, header_row)
        package.save(target)


def _write_columns(
    package: EditablePackage,
    part: str,
    known_at: int | None,
    texts: Mapping[int, Sequence[str]],
    header_row: int,
) -> None:
    with package.tree(part) as root:
        data = find_child(root, "sheetData")
        if data is None:
            raise ValueError(f"{part} is no worksheet")
        rows = dict(_numbered_rows(data))
        first = _first_free_column(rows) if known_at is None else known_at
        for number, row in rows.items():
            if number in texts:
                _write_row(row, number, first, texts[number], styled=number == header_row)
        dimension = find_child(root, "dimension")
        if dimension is not None:
            root.remove(dimension)
        _set_widths(root, first, len(texts[header_row]))


def _numbered_rows(data: Element) -> Iterator[tuple[int, Element]]:
    """Yield the rows with Excel's numbers; one that says none follows the one before it."""
    number = 0
    for row in data:
        if local_name(row) == "row":
            number = int(row.get("r") or number + 1)
            yield number, row


def _cells_by_column(row: Element) -> Iterator[tuple[int, Element]]:
    """Yield a row's cells with their zero-based columns."""
    column = -1
    for cell in row:
        if local_name(cell) == "c":
            letters = (cell.get("r") or "").rstrip("0123456789")
            column = column_index(letters) if letters else column + 1
            yield column, cell


def _first_free_column(rows: Mapping[int, Element]) -> int:
    filled = (
        column
        for row in rows.values()
        for column, cell in _cells_by_column(row)
        if any(local_name(item) in _VALUE_ELEMENTS for item in cell)
    )
    return max(filled, default=-1) + 1


def _write_row(
    row: Element, number: int, first: int, texts: Sequence[str], *, styled: bool
) -> None:
    """Put texts into a row's cells from column ``first`` on, in place of what is there."""
    cells = list(_cells_by_column(row))
    for column, cell in cells:
        if cell.get("r") is None:
            cell.set("r", cell_address(number, column))
    style = next((cell.get("s") for column, cell in reversed(cells) if column < first), None)
    later = [cell for column, cell in cells if column >= first + len(texts)]
    for column, cell in cells:
        if first <= column < first + len(texts):
            row.remove(cell)
    for place, text in enumerate(texts):
        if not text:
            continue
        cell = etree.Element(
            tag_like(row, "c"), r=cell_address(number, first + place), t="inlineStr"
        )
        if styled and style is not None:
            cell.set("s", style)
        written = add_child(add_child(cell, "is"), "t")
        written.text = cell_text(text)
        written.set(_SPACE, "preserve")
        if later:
            later[0].addprevious(cell)
        else:
            row.append(cell)
    row.attrib.pop("spans", None)


def _set_widths(root: Element, first: int, number: int) -> None:
    """Make the columns wide enough to read, where the sheet says nothing of their width."""
    known = list_entries(root, "cols")
    if any(int(item.get("max", "0")) > first for item in known):
        return
    columns = find_child(root, "cols")
    if columns is None:
        columns = etree.Element(tag_like(root, "cols"))
        insert_in_order(root, columns)
    add_child(
        columns,
        "col",
        min=str(first + 1),
        max=str(first + number),
        width=str(_WIDTH),
        customWidth="1",
    )
