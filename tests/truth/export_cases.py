"""Values that a system sends, exported in every format and read back by other programs.

Inside: export.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from openpyxl import load_workbook
from openpyxl.utils.escape import unescape
from reading import Sheet, write_all
from truth import Outcome, Outcomes

from xlbridge.errors import XlbridgeError
from xlbridge.export import FORMATS, LISTINGS
from xlbridge.export.flatten import Flattener
from xlbridge.export.formats.all_formats import output_opener
from xlbridge.export.formats.base import CELLS_AS_JSON
from xlbridge.export.formats.data import FrameOutput
from xlbridge.export.layout import template_sheets
from xlbridge.resources import load_catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import read_workbook

Read = Callable[[Path, str], list[Any]]
_LISTING = LISTINGS["contasreceber"]
_TEXTS = (
    "=1+1", "+55 11", "-5", "@x", "'apostrophe", "00123", "12345678901234567890", "1E5", "1.234,56",
    "a\nb", "a\tb", 'a "b"', "a;b,c", " a ", "ação 😀", "_x0041_", "<b>&", "25/12/2026",
    "TRUE", "null",
    "x" * 32_767, "\u200b", "Joa\u0303o", "#N/A", "\\n", "R$ 5",
)  # fmt: skip
_AMOUNTS = (
    "0", "0.1", "0.30", "-1234.56", "999999999999.99", "12345678901234.56", "123456789012345678.91",
    "0.30000000000000004", "1e3", "0.005", "100000000000000000000", "1.10", "4.35",
)  # fmt: skip
_NUMBERS = ("0", "1", "-7", "999999999999999", "9007199254740993", "12345678901234567890", "1e3")
_MOMENTS = (
    "2026-11-05", "2026-11-05T00:00:00", "2026-11-05T10:30:15", "2026-11-05T23:59:59.9999999",
    "2026-11-05T23:59:59.9999999-03:00", "2026-11-05T23:30:00Z", "2026-11-05T00:00:00.0000000",
    "1899-12-31T00:00:00", "1900-02-28", "1900-03-01", "0001-01-01T00:00:00", "9999-12-31T23:59:59",
    "2026-11-05T10:30:15.5", "2026-11-05T12:00:00+05:30", "2028-02-29",
)  # fmt: skip
_VALUES: Mapping[str, Sequence[str]] = {
    "historico": _TEXTS,
    "valorDoLancamento": _AMOUNTS,
    "codigoDoCliente": _NUMBERS,
    "dataDeVencimento": _MOMENTS,
}


@dataclass(frozen=True, slots=True)
class ExportCase:
    """Value of a field in a format."""

    form: str
    field: str
    value: str

    def __str__(self) -> str:
        shown = self.value if len(self.value) < 60 else f"{len(self.value)} characters"
        return f"export: {self.form}: {self.field}: {shown!r}"


def export_cases() -> Iterator[ExportCase]:
    """Yield all cases."""
    for form in _FORMS:
        for name, values in _VALUES.items():
            yield from (ExportCase(form, name, value) for value in values)


def evaluate_exports(folder: Path) -> Outcomes:
    """Evaluate each format, with one file for each field; refused values are left out."""
    outcomes: Outcomes = {}
    for form in _FORMS:
        for name, values in _VALUES.items():
            cases = [ExportCase(form, name, value) for value in values]
            outcomes |= _evaluate_field(folder, form, name, cases)
    return outcomes


def _evaluate_field(folder: Path, form: str, name: str, cases: Sequence[ExportCase]) -> Outcomes:
    path, outcomes, written = folder / f"{form}-{name}{_suffix(form)}", {}, cases
    try:
        read = _write(path, form, cases)
    except XlbridgeError:
        written = [case for case in cases if _is_written(path, case)]
        outcomes |= {str(case): Outcome.REPORTED for case in cases if case not in written}
        read = _write(path, form, written)
    read = read or _READERS[form.partition(" ")[0]](path, name)
    for case, value in zip(written, read, strict=True):
        outcomes[str(case)] = _outcome(case, value)
    return outcomes


def _is_written(path: Path, case: ExportCase) -> bool:
    try:
        _write(path, case.form, [case])
    except XlbridgeError:
        return False
    return True


def _suffix(form: str) -> str:
    return ".xlsx" if form == "template" else f".{form.partition(' ')[0]}"


def _write(path: Path, form: str, cases: Sequence[ExportCase]) -> list[Any]:
    """Write one record for each case; return the values of the field if there is no file."""
    key = dict.fromkeys(_LISTING.key, "1")
    records = [{**key, case.field: case.value} for case in cases]
    sheets: tuple[Sheet, ...] = _LISTING.sheets[:1]
    if form == "template":
        resource = load_catalogue().named("contasreceber")
        sheets = template_sheets(_LISTING, resource)
        write_all(path, records, sheets, output_opener("xlsx", None, resource, "names"))
        return []
    if form == "frame":
        output = FrameOutput()
        write_all(path, records, sheets, output.open)
        return list(output.frames[_LISTING.name][cases[0].field]) if cases else []
    dialect = form.partition(" ")[2] or None
    write_all(path, records, sheets, output_opener(_suffix(form)[1:], dialect, None, "names"))
    return []


def _outcome(case: ExportCase, read: Any) -> Outcome:
    if _same(case, read):
        return Outcome.RIGHT
    # An export names zones on stderr, on the cover and in the manifest.
    flattener = Flattener(_LISTING.sheets[:1], [CELLS_AS_JSON])
    flattener.lines([{case.field: case.value}])
    for zone in flattener.notes.zones.get(case.field, ()):
        if _same(ExportCase(case.form, case.field, case.value.removesuffix(zone)), read):
            return Outcome.REPORTED
    return Outcome.SILENT


def _same(case: ExportCase, read: Any) -> bool:
    # The Brazilian CSV writes what Excel would convert as a formula that shows the text.
    if case.form == "csv pt-br" and re.fullmatch(r'=".*"', read, re.DOTALL):
        literals = re.findall(r'"((?:[^"]|"")*)"', read)
        read = "".join(literal.replace('""', '"') for literal in literals)
    if case.field == "historico":
        return bool(read == case.value)
    if case.field == "dataDeVencimento":
        return _same_moment(case, read)
    try:
        # Parquet's columns hold 12 decimal places, as its documentation says.
        tolerance = Decimal("1e-12") if case.form == "parquet" else Decimal(0)
        if case.form == "csv pt-br":
            read = read.replace(".", "").replace(",", ".")
        return abs(Decimal(str(read)) - Decimal(case.value)) <= tolerance
    except InvalidOperation:
        return False


def _same_moment(case: ExportCase, read: Any) -> bool:
    """Compare times to the second, or the day in an import sheet; a later time is wrong."""
    meant = datetime.fromisoformat(case.value)
    if isinstance(read, str):
        if "/" in read:
            read = datetime.strptime(read, "%d/%m/%Y %H:%M:%S" if ":" in read else "%d/%m/%Y")
        else:
            read = datetime.fromisoformat(read)
    if isinstance(read, date) and not isinstance(read, datetime):
        read = datetime.combine(read, time())
    if case.form == "template" and meant.year > 1900:
        return bool(read.date() == meant.date())
    if meant.tzinfo is not None and read.tzinfo is None:
        return False
    return bool(read.replace(microsecond=0) == meant.replace(microsecond=0) and read <= meant)


def _read_workbook(path: Path, name: str) -> list[Any]:
    rows = load_workbook(path)["contasreceber"].iter_rows(values_only=True)
    header = list(next(rows))
    values = [row[header.index(name)] for row in rows]
    return [unescape(value) if isinstance(value, str) else value for value in values]


def _read_ods(path: Path, name: str) -> list[Any]:
    # calamine by itself drops tabs, which OpenDocument has as elements.
    _cover, read = read_workbook(path, WorkbookLimits()).sheets
    header, *rows = (read.row(row) for row in range(read.height))
    return [row[header.index(name)] for row in rows]


def _read_csv(path: Path, name: str) -> list[Any]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        start = stream.read(2_000)
        stream.seek(0)
        delimiter = ";" if ";" in start.partition("\r\n")[0] else ","
        return [row[name] for row in csv.DictReader(stream, delimiter=delimiter)]


def _read_jsonl(path: Path, name: str) -> list[Any]:
    lines = path.read_text("utf-8").split("\n")[:-1]
    return [json.loads(line, parse_float=Decimal)[name] for line in lines]


def _read_parquet(path: Path, name: str) -> list[Any]:
    found: list[Any] = pq.read_table(path)[name].to_pylist()
    return found


_READERS: Mapping[str, Read] = {
    "xlsx": _read_workbook,
    "ods": _read_ods,
    "template": _read_workbook,
    "csv": _read_csv,
    "jsonl": _read_jsonl,
    "parquet": _read_parquet,
}
_FORMS = (*(form for form in FORMATS), "csv pt-br", "template", "frame")
