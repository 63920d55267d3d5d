"""New workbooks: opening for writing, cells, texts that are never formulas, printing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten
from types import MappingProxyType
from typing import Any, BinaryIO

import xlsxwriter
from xlsxwriter.exceptions import XlsxFileError
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.files import replace_atomically
from xlbridge.i18n import Text
from xlbridge.workbook.address import CellRange, escape_text
from xlbridge.workbook.style import (
    DENSE_WIDTH,
    FONT,
    FONT_SIZE,
    PRINT_SCALE,
    READABLE_WIDTH,
    pages_to_fit,
)

_MARGIN, _TOP, _BOTTOM = 0.4, 0.5, 0.7  # inches
_MAX_FOOTER_LENGTH = 100


_PAGE_OF = Text(pt="&P de &N", en="&P of &N")
"""Page number in a footer."""


def print_across_pages(
    sheet: Worksheet,
    title: str,
    widths: Sequence[int] = (),
    repeated: range = range(0),
    *,
    dense: bool = False,
) -> None:
    """Print a sheet in landscape, with page numbers, on as few pages as are readable.

    It is one page wide, or two, unless ``widths`` are more; pages of the same rows come after each
    other. A ``dense`` sheet may be printed smaller for one. ``repeated`` are the columns to repeat
    on every page.
    """
    if repeated:
        sheet.repeat_columns(repeated.start, repeated.stop - 1)
    sheet.set_landscape()
    sheet.set_paper(9)  # A4
    pages = pages_to_fit(widths, repeated, DENSE_WIDTH if dense else READABLE_WIDTH)
    if pages:
        sheet.fit_to_pages(pages, 0)
    else:
        # To fit a number of pages, programs would make the sheet as large as that allows.
        sheet.set_print_scale(PRINT_SCALE)
    if pages != 1:
        sheet.print_across()
    sheet.set_margins(left=_MARGIN, right=_MARGIN, top=_TOP, bottom=_BOTTOM)
    sheet.set_footer(
        f"&L{shorten(title, _MAX_FOOTER_LENGTH, placeholder='…').replace('&', '&&')}&R{_PAGE_OF}"
    )


_PRINTED_WIDTH, _PRINTED_HEIGHT = (11.69 - 2 * _MARGIN) * 72, (8.27 - _TOP - _BOTTOM) * 72
"""Size of what a page of A4 in landscape holds, in points."""
_RESERVE = 0.95
"""Share of a page to count on, as programs differ in the sizes of rows and columns."""


def page_height(widths: Sequence[int], beside: int = 0) -> float:
    """Return the points of rows that fit a page of a sheet that is printed one page wide.

    ``beside`` are the pixels of charts to the right of its columns.
    """
    width = 0.75 * (beside + sum(7 * characters + 5 for characters in widths))
    return _RESERVE * _PRINTED_HEIGHT * max(1, width / _PRINTED_WIDTH)


class _EscapedWorksheet(Worksheet):
    """Worksheet whose texts Excel reads unchanged.

    xlsxwriter does not escape the second of two overlapping escapes, as in ``_x0041_x0042_``, nor
    one that is completed by an escaped control character.
    """

    @staticmethod
    def _escape_control_characters(data: object) -> object:
        if not isinstance(data, str):
            return data
        # The parts of a rich text are escaped before they are joined.
        is_rich = data.startswith("<r>") and data.endswith("</r>")
        return data if is_rich else escape_text(data)

    def _write_string(self, row: int, col: int, string: str, cell_format: Any = None) -> Any:
        if not (string.startswith("<r>") and string.endswith("</r>")):
            return super()._write_string(row, col, string, cell_format)
        # xlsxwriter would write such a text as markup, unescaped.
        runs = string[:1], cell_format or Format(), string[1:]
        formats = [] if cell_format is None else [cell_format]
        return self._write_rich_string(row, col, *runs, *formats)


_NOTHING: Mapping[str, str] = MappingProxyType({})
_CREATED = datetime(2026, 1, 1)  # fixed, for reproducible files
_OPTIONS = {
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "default_format_properties": {"font_name": FONT, "font_size": FONT_SIZE},
}


@contextmanager
def new_workbook(
    target: Path | BinaryIO,
    *,
    title: str = "",
    author: str = "xlbridge",
    created: datetime = _CREATED,
    carried: Mapping[str, str] = _NOTHING,
    shared: bool = False,
) -> Iterator[xlsxwriter.Workbook]:
    """Yield a workbook that is written to ``target`` on exit.

    A file is replaced atomically; its cells must be written row by row, for constant memory. For
    a stream the workbook is built in memory, in any order. Text is never a formula, link or escape.
    ``carried`` are custom properties of the document; a ``shared`` file is readable by others than
    its owner. Raises ``UsageError`` if the file cannot be written.
    """
    properties = {"created": created, "author": author} | ({"title": title} if title else {})
    file: Path | BinaryIO | str = target
    options = _OPTIONS | {"in_memory": True}
    with ExitStack() as stack:
        if isinstance(target, Path):
            file = str(stack.enter_context(replace_atomically(target, shared=shared)))
            folder = TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True)
            options = _OPTIONS | {"constant_memory": True, "tmpdir": stack.enter_context(folder)}
        try:
            with xlsxwriter.Workbook(file, options) as book:
                book.worksheet_class = _EscapedWorksheet
                book.set_properties(properties)
                for name, value in carried.items():
                    book.set_custom_property(name, value)
                yield book
        except XlsxFileError as error:
            cause = error.args[0] if error.args else None
            raise (cause if isinstance(cause, OSError) else OSError(str(error))) from error


_TEXT_FORMATS = ("@", 49)
"""Number format of texts: its code and its number."""


class Formats:
    """Formats of a workbook, each created once, with common properties."""

    def __init__(self, book: xlsxwriter.Workbook, **common: Any) -> None:
        self._book = book
        self._common = common
        self._formats: dict[frozenset[tuple[str, Any]], Format] = {}

    def format(self, **properties: Any) -> Format:
        """Return the format with some properties, by xlsxwriter's names."""
        key = frozenset(properties.items())
        if key not in self._formats:
            self._formats[key] = self._book.add_format(self._common | properties)
        return self._formats[key]


_LEAST_LENGTH = 10
"""Length of a day or a common number."""


@dataclass(slots=True)
class FilledRows:
    """Rows of a sheet: their number, and the length of the longest text of each filled column."""

    rows: int = 0
    longest: dict[int, int] = field(default_factory=dict)

    def add(self, index: int, value: object) -> None:
        """Count the value of a cell; others than texts and integers fit columns of their kinds."""
        length = len(str(value)) if isinstance(value, str | Integral) else _LEAST_LENGTH
        self.longest[index] = max(self.longest.get(index, 1), length)


class CellWriter:
    """Writer of cells that have formats of their own, row by row."""

    def __init__(self, book: xlsxwriter.Workbook) -> None:
        self._formats = Formats(book)

    def write(
        self, sheet: Worksheet, row: int, column: int, value: object, properties: Mapping[str, Any]
    ) -> None:
        """Write a cell; ``properties`` are those of its format, by xlsxwriter's names.

        Raises ``ValueError`` if Excel cannot hold it.
        """
        # Programs evaluate such a text as a formula once its cell is edited, unless it has the
        # text format.
        if (
            isinstance(value, str)
            and value.lstrip().startswith(("=", "+", "-", "@"))
            and properties.get("num_format") not in _TEXT_FORMATS
        ):
            properties = {**properties, "quote_prefix": True}
        cell_format = self._formats.format(**properties) if properties else None
        if sheet.write(row, column, value, cell_format):
            raise ValueError(f"Excel cannot hold row {row + 1}, column {column + 1}")

    def write_struck(
        self,
        sheet: Worksheet,
        row: int,
        column: int,
        text: str,
        struck: Sequence[tuple[int, int]],
    ) -> None:
        """Write a text of which pieces are struck through, each from its begin to its end."""
        mark = {"font_strikeout": True}
        pieces, done = list[Any](), 0
        for begin, end in struck:
            pieces += filter(None, [text[done:begin]])
            if piece := text[begin:end]:
                pieces += self._formats.format(**mark), piece
            done = end
        pieces += filter(None, [text[done:]])
        # A rich text has at least two pieces.
        if sum(isinstance(piece, str) for piece in pieces) < 2:
            self.write(sheet, row, column, text, mark)
        elif sheet.write_rich_string(row, column, *pieces):
            raise ValueError(f"Excel cannot hold row {row + 1}, column {column + 1}")

    def write_conditional(self, sheet: Worksheet, code: str, area: CellRange) -> None:
        """Write a conditional format with a number format, whose condition is not known.

        That of the copy is never true, but the format is still reported.
        """
        top, left, bottom, right = area
        rule = {
            "type": "formula",
            "criteria": "=FALSE",
            "format": self._formats.format(num_format=code),
        }
        sheet.conditional_format(top - 1, left, bottom - 1, right, rule)
