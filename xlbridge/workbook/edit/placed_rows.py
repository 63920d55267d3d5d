"""Rows of a worksheet put in another order, and numbered anew with all that refers to them."""

import re
from collections.abc import Callable, Sequence

from xlbridge.workbook.edit.editable_package import EditablePackage, SheetList, find_sheet_data

_FORMULA = re.compile(rb"<(?:[\w.-]+:)?f[\s/>]")
_ROW = re.compile(
    rb"""<((?:[\w.-]+:)?row)\b(?P<before>[^>]*?\sr=["'])(?P<number>\d+)(?P<after>["'][^>]*?)"""
    rb"(?:/>|>.*?</\1\s*>)",
    re.DOTALL,
)
_ANY_ROW = re.compile(rb"<(?:[\w.-]+:)?row[\s/>]")
_CELL = re.compile(rb"""(<(?:[\w.-]+:)?c\b[^>]*?\sr=["'][A-Z]+)\d+""")
_PLACES = re.compile(
    rb"""(\b(?:ref|sqref|activeCell|topLeftCell)=["']|<(?:[\w.-]+:)?sqref>)([^"'<]*)"""
)
_ADDRESS = re.compile(rb"(\$?[A-Z]{1,3}\$?)(\d+)")
_POSITION = re.compile(rb"(<(?:[\w.-]+:)?[rR]ow>\s*)(\d+)")
"""Row of a drawing or note, counted from zero."""

_WITH_ADDRESSES = frozenset({"table", "comments", "threadedComment"})
_WITH_POSITIONS = frozenset({"drawing", "vmlDrawing"})


def place_rows(package: EditablePackage, sheet: str, order: Sequence[int]) -> bool:
    """Put the rows of a sheet in an order, a list of the numbers that they have now, and number
    them anew; ranges, notes, tables, drawings and names follow their rows.

    Returns whether it did: a workbook with formulas, or rows without numbers, stays as it is.
    """
    sheets = SheetList(package)
    part = sheets.part(sheet)
    content = package.read(part)
    begin, end, _ = find_sheet_data(content)
    data = content[begin:end]
    rows = list(_ROW.finditer(data))
    is_numbered = len(rows) == len(_ANY_ROW.findall(data))
    if not is_numbered or any(_FORMULA.search(package.read(one)) for one in sheets.parts()):
        return False
    new = {row: number for number, row in enumerate(order, start=1)}

    def moved(number: bytes) -> bytes:
        return b"%d" % new.get(int(number), int(number))

    def move_addresses(text: bytes) -> bytes:
        return _ADDRESS.sub(lambda found: found[1] + moved(found[2]), text)

    def move_places(text: bytes) -> bytes:
        return _PLACES.sub(lambda found: found[1] + move_addresses(found[2]), text)

    if rows:
        data = b"".join(
            (
                data[: rows[0].start()],
                *_numbered(rows, moved),
                data[rows[-1].end() :],
            )
        )
    package.write(part, move_places(content[:begin]) + data + move_places(content[end:]))
    for kind, target in package.relations(part):
        if kind in _WITH_ADDRESSES:
            package.write(target, move_places(package.read(target)))
        elif kind in _WITH_POSITIONS:
            package.write(
                target,
                _POSITION.sub(
                    lambda found: found[1] + b"%d" % (int(moved(b"%d" % (int(found[2]) + 1))) - 1),
                    package.read(target),
                ),
            )
    sheets.move_names(sheet, lambda text: move_addresses(text.encode()).decode())
    sheets.save()
    return True


def _numbered(rows: Sequence[re.Match[bytes]], moved: Callable[[bytes], bytes]) -> list[bytes]:
    """Return rows with their new numbers, in the order of these."""
    placed = []
    for row in rows:
        number = moved(row["number"])
        content = row[0]
        if number != row["number"]:
            start = row.end("number") - row.start()
            cells = _CELL.sub(rb"\g<1>" + number, content[start:])
            content = content[: row.start("number") - row.start()] + number + cells
        placed.append((int(number), content))
    return [content for _, content in sorted(placed)]
