"""The number formats of the cells in a few columns, looked up once the columns are known.

The cells of all columns would be too many to note while a workbook is read.
"""

import re
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from xlbridge.workbook.address import column_index, column_letters
from xlbridge.workbook.reading.raw_sheet import CellPlace

_CHUNK = 1 << 20
_LONGEST_TAG = 1 << 12
_STYLE = re.compile(rb"""\ss=["'](\d+)["']""")


def number_formats_of(
    path: Path, part: str, formats: Mapping[int, str], columns: Collection[int]
) -> dict[CellPlace, str]:
    """Return the formats of the cells in some columns of a sheet.

    ``part`` is the sheet's, ``formats`` are those that are looked for, by the style that has them,
    ``columns`` are zero-based. A cell that is written without its address tells nothing.
    """
    if not formats or not columns:
        return {}
    letters = b"|".join(column_letters(column).encode() for column in columns)
    styles = b"|".join(str(style).encode() for style in formats)
    quick = re.compile(rb'<c r="(%s)(\d{1,7})"[^>]*? s="(%s)"' % (letters, styles))
    exact = re.compile(rb"""<(?:\w+:)?c\s([^<>]*?\br=["'](%s)(\d{1,7})["'][^<>]*)>""" % letters)
    found = {}
    for block in _blocks(path, part):
        cells = quick.findall(block) if _is_usual(block) else _exactly(exact, block)
        for column, row, style in cells:
            code = formats.get(int(style))
            if code is not None:
                found[int(row), column_index(column.decode())] = code
    return found


def _is_usual(block: bytes) -> bool:
    """Whether each cell begins with its address, in double quotes and without a prefix."""
    return (
        block.count(b"<c ") == block.count(b'<c r="') and b":c " not in block and b"='" not in block
    )


def _exactly(exact: re.Pattern[bytes], block: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield column, row and style of cells, however they are written."""
    for attributes, column, row in exact.findall(block):
        style = _STYLE.search(b" " + attributes)
        if style is not None:
            yield column, row, style[1]


def _blocks(path: Path, part: str) -> Iterator[bytes]:
    """Yield a part in pieces that end where an element begins."""
    pending = b""
    with zipfile.ZipFile(path) as archive, archive.open(part) as content:
        while piece := content.read(_CHUNK):
            piece = pending + piece
            cut = piece.rfind(b"<")
            yield piece[:cut]
            pending = piece[cut:] if len(piece) - cut < _LONGEST_TAG else b""
    yield pending
