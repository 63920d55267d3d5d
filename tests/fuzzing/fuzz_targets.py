"""Targets of the fuzzer: readers of each kind of file, and both JSON parsers.

A target accepts any bytes and returns; any exception is a defect. The first byte chooses how the
rest is used, so that one file of the corpus is a complete input.

Inside: sandbox, workbook.
"""

import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cache
from io import BytesIO
from pathlib import Path

import xlsxwriter
from hostile_kinds import FILES
from packing import HEADER, RELATIONS, SHEET, STRINGS, STYLES, TYPES, WORKBOOK, packed, unpacked

from xlbridge.client.listing_stream import InvalidJson, ListingReader, UnexpectedContent
from xlbridge.errors import WorkbookRefused
from xlbridge.sandbox.messages import parse_body
from xlbridge.sandbox.problems import RequestError
from xlbridge.settings import WorkbookLimits
from xlbridge.wire.financial import ReceivableInput
from xlbridge.wire.registry import ClientInput
from xlbridge.wire.sales import SalesOrderInput
from xlbridge.workbook.read.archive import FileKind, WorkbookArchive, is_zip
from xlbridge.workbook.read.csv_file import parse_csv
from xlbridge.workbook.read.messages import assemble_workbook
from xlbridge.workbook.read.parsing import XlsxParser, open_scan, refuse_damage

PARTS = (SHEET, STRINGS, STYLES, WORKBOOK, RELATIONS, TYPES)
"""Parts of a workbook that an input may replace; any other number means the complete file."""

_LIMITS = WorkbookLimits(file_size=2**22, total_size=2**24, part_size=2**24, cells=100_000)
_MODELS = (ClientInput, ReceivableInput, SalesOrderInput)
_LONGEST_PIECE = 63


def read_sheet(data: bytes) -> None:
    """Read a workbook with the input as one part, if the archive accepts it."""
    choice, content = data[:1] or b"\0", data[1:]
    if choice[0] < len(PARTS):
        content = packed({**_good_parts(), PARTS[choice[0]]: content})
    if not is_zip(content):
        return
    with suppress(WorkbookRefused):
        archive = WorkbookArchive(content, _LIMITS)
        archive.unpack()
        # Any other file is parsed in a process of its own, which may die of it.
        parser = XlsxParser(archive, _LIMITS)
        if parser.is_safe():
            assemble_workbook(parser.parse(None))


@cache
def _good_parts() -> Mapping[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "good.xlsx")
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet("Plan1")
            sheet.write_row(0, 0, HEADER)
            sheet.write_row(1, 0, ["Padaria Estrela", 1, True])
        return unpacked(path)


def read_other_kind(data: bytes) -> None:
    """Read a .csv file, or the facts of a workbook of another kind than .xlsx.

    The cell parser is not fuzzed: it may use much memory and runs in another process.
    """
    choice, content = data[:1] or b"\0", data[1:]
    kind, part = OTHER_PARTS[choice[0] % len(OTHER_PARTS)]
    with suppress(WorkbookRefused):
        if kind is FileKind.CSV:
            assemble_workbook(parse_csv(content, "fuzz", None, _LIMITS))
            return
        if part is not None:
            content = packed({**_good_parts_of(kind), part: content})
        with refuse_damage():
            open_scan(kind, content, _LIMITS).sheet("Plan1")


OTHER_PARTS: tuple[tuple[FileKind, str | None], ...] = (
    (FileKind.CSV, None),
    (FileKind.XLS, None),
    (FileKind.ODS, "content.xml"),
    (FileKind.ODS, "styles.xml"),
    (FileKind.ODS, "meta.xml"),
    (FileKind.XLSB, "xl/workbook.bin"),
    (FileKind.XLSB, "xl/worksheets/sheet1.bin"),
    (FileKind.XLSB, "xl/styles.bin"),
)
"""Parts that an input may replace in a workbook of another kind; None means the complete file."""


@cache
def _good_parts_of(kind: FileKind) -> Mapping[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        content = FILES[f"good {kind.value.removeprefix('.')}"][2](Path(folder))
    with zipfile.ZipFile(BytesIO(content)) as package:
        return {name: package.read(name) for name in package.namelist()}


def read_listing(data: bytes) -> None:
    """Read a listing's answer in pieces of any length; the result must not depend on the pieces."""
    size, answer = (data[0] if data else 0) % _LONGEST_PIECE + 1, data[1:]
    in_pieces = _read(answer[start : start + size] for start in range(0, len(answer), size))
    whole = _read(iter([answer]))
    if in_pieces != whole:
        raise AssertionError(f"{in_pieces!r} in pieces of {size}, {whole!r} at once")


def _read(pieces: Iterator[bytes]) -> object:
    """Return the records and the envelope of an answer, None if it is invalid."""
    try:
        reader = ListingReader(pieces, {"data": "data", "success": "success"})
        records = [record for batch in reader.batches() for record in batch]
    except (InvalidJson, UnexpectedContent):
        return None
    # NaN and its like are refused; what is read can be written again.
    return json.dumps([records, reader.envelope], default=_digits)


def _digits(number: object) -> str:
    if not isinstance(number, Decimal):
        raise TypeError
    return format(number, "f")


def read_body(data: bytes) -> None:
    """Read the body of a request to the sandbox, and serialise it again."""
    choice, raw = (data[0] if data else 0), data[1:]
    model = _MODELS[choice % len(_MODELS)]
    with suppress(RequestError):
        strict = bool(choice & 0x80)
        parse_body(model, raw, "application/json", strict=strict, spelled={}).model_dump_json()


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "workbook": read_sheet,
    "kinds": read_other_kind,
    "listing": read_listing,
    "body": read_body,
}
SEEDS = Path(__file__).with_name("seeds")
