"""Rows of a .csv file with edited cells: they are written anew in the file's own form, and all
other rows keep every byte."""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import chain
from typing import Literal

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.settings import CSV_ENCODINGS, CsvForm, ParseOptions
from xlbridge.workbook.address import CellPosition, cell_address
from xlbridge.workbook.read.csv_file import (
    COMMA_NUMBER,
    MARKS,
    NO_DELIMITER,
    POINT_NUMBER,
    split_text,
)

CellValue = Decimal | date | str

_LINE_END = re.compile(r"\r\n|\n|\r")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d\b", re.ASCII)
_NOT_ENCODED = Text(
    pt="{cell}: “{text}” tem um caractere que um arquivo em {encoding} não pode ter. Digite outro, "
    "ou salve o arquivo de origem como CSV UTF-8.",
    en="{cell}: “{text}” has a character that a file in {encoding} cannot have. Enter another one, "
    "or save the original file as CSV UTF-8.",
)


def edit_csv(
    content: bytes,
    form: CsvForm,
    reading: ParseOptions,
    values: Mapping[CellPosition, CellValue],
    order: Sequence[int],
) -> bytes:
    """Return a .csv file with new values in some cells, and its rows in an order: rows that are not
    in it are left out, those below the last one of the file are new.

    ``form`` is the form that was detected, with the codec. Numbers and dates are written as others
    in their column are, or as ``reading`` declares. Raises ``UsageError`` for a text that the
    encoding does not have.
    """
    mark = next((mark for mark, _ in MARKS if content.startswith(mark)), b"")
    codec = form.encoding or "utf-8"
    text = content[len(mark) :].decode(codec)
    if codec == "ascii":
        codec = "cp1252"  # as Excel reads a file without a mark
    start, _, rows, ending = split_text(text)
    delimiter = form.delimiter or NO_DELIMITER
    records = list(_records(rows, delimiter))
    break_ = _LINE_END.search(text)
    line_end = "\r\n" if break_ is None else break_[0]
    by_row: defaultdict[int, dict[int, CellValue]] = defaultdict(dict)
    for (row, column), value in values.items():
        by_row[row][column] = value
    written = list[str]()
    for row in order:
        raw, cells = records[row - 1] if row <= len(records) else ("", [])
        if row in by_row:
            cells = cells + [""] * (max(by_row[row]) + 1 - len(cells))
            for column, value in by_row[row].items():
                cells[column] = _text(value, column, records, reading)
                try:
                    cells[column].encode(codec)
                except UnicodeEncodeError:
                    name, cell = CSV_ENCODINGS[codec[: len("utf-16")]], cell_address(row, column)
                    raise UsageError(
                        _NOT_ENCODED.format(cell=cell, text=cells[column], encoding=name)
                    ) from None
            if row > len(records):
                width = max((len(other) for _, other in records), default=0)
                cells = cells + [""] * (width - len(cells))
            raw = _line(cells, delimiter, line_end, like=raw)
        if written and not written[-1].endswith(("\n", "\r")):
            written[-1] += line_end
        written.append(raw)
    return mark + (start + "".join(written) + ending).encode(codec)


def _records(text: str, delimiter: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the text of each record, and its cells."""
    lines = io.StringIO(text, newline="")
    taken: list[str] = []

    def read() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    for cells in csv.reader(read(), delimiter=delimiter, strict=True):
        yield "".join(taken), cells
        taken.clear()


def _line(cells: Sequence[str], delimiter: str, line_end: str, like: str) -> str:
    """Return cells as a record; all are quoted if those of the one before were."""
    is_quoted = like.count('"') >= 2 * (like.count(delimiter) + 1)
    target = io.StringIO(newline="")
    writer = csv.writer(
        target,
        delimiter=delimiter,
        lineterminator=line_end,
        quoting=csv.QUOTE_ALL if is_quoted else csv.QUOTE_MINIMAL,
    )
    writer.writerow(cells)
    return target.getvalue()


def _text(
    value: CellValue,
    column: int,
    records: Sequence[tuple[str, Sequence[str]]],
    reading: ParseOptions,
) -> str:
    """Return a value as the cells of its column are written."""
    if isinstance(value, str):
        return value
    own = [cells[column].strip() for _, cells in records if column < len(cells)]
    if isinstance(value, date):
        if any(map(_ISO_DATE.match, own)):
            return value.isoformat()
        return f"{value:%m/%d/%Y}" if reading.dates == "mdy" else f"{value:%d/%m/%Y}"
    style = reading.numbers
    if style is None:
        everywhere = (cell.strip() for _, cells in records for cell in cells)
        forms: Mapping[Literal["pt", "en"], re.Pattern[str]]
        forms = {"pt": COMMA_NUMBER, "en": POINT_NUMBER}
        texts = chain(own, everywhere)
        found = (name for it in texts for name, form in forms.items() if form.fullmatch(it))
        style = next(found, None)
    number = f"{value:f}"
    return number if style == "en" else number.replace(".", ",")
