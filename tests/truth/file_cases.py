"""Files in the shapes of other programs: packages, .ods texts, formulas, rows of .csv files."""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import xlsxwriter
from marked_twins import CONDITIONAL_FORMATS, WRITERS, Pieces
from open_document import date_cell, number_cell, of_text, style_of, text_cell, write_ods
from package_shapes import SHAPES
from packing import WORKBOOK, packed, unpacked
from sheets import GOOD
from test_formula_results import ODS
from test_open_document import PERCENTAGES, TEXTS
from truth import REFUSED, Outcome, Outcomes, Refused, outcome_of, validated
from xls_writer import Shown, write_xls
from xlsb_writer import write_xlsb

_RECORD = GOOD["contasreceber"]
_NAMES = list(_RECORD)
_AMOUNT, _HISTORY, _DUE = "valorDoLancamento", "historico", "dataDeVencimento"


@dataclass(frozen=True, slots=True)
class FileCase:
    """File with a record of a kind of fault, and what its author meant in some columns; ``rows``:
    the number of its records, if it tells something."""

    kind: str
    form: str
    name: str
    write: Callable[[Path], Path]
    meant: Mapping[str, Any]
    rows: int | None = None

    def outcomes(self, folder: Path) -> Outcomes:
        sheet = validated(self.write(folder))
        # An error of the layout, such as rows longer than the header, holds for all cells.
        is_read = sheet is not None and sheet.readable
        name = f"file: {self.kind}: {self.form}: {self.name}"
        found = {
            f"{name}: {column}": outcome_of(sheet, 2, column, meant)
            if is_read or not isinstance(meant, Refused)
            else Outcome.REPORTED
            for column, meant in self.meant.items()
        }
        if self.rows is not None and sheet is not None:
            is_told = Outcome.REPORTED if sheet.findings else Outcome.SILENT
            found[name] = Outcome.RIGHT if len(sheet.rows) == self.rows else is_told
        return found


def _write_good(path: Path, form: str, formula: tuple[str, str] | None = None) -> dict[str, bytes]:
    """Write a good record, its amount with a format or as a formula with a result; return the
    parts."""
    with xlsxwriter.Workbook(path) as book:
        page, day = book.add_worksheet("Plan1"), book.add_format({"num_format": "dd/mm/yyyy"})
        page.write_row(0, 0, _NAMES)
        for column, (name, value) in enumerate(_RECORD.items()):
            if name == _AMOUNT and formula is not None:
                page.write_formula(1, column, formula[0], None, formula[1])
            elif name == _AMOUNT:
                page.write(1, column, value, book.add_format({"num_format": form}))
            elif isinstance(value, date):
                page.write_datetime(1, column, value, day)
            else:
                page.write(1, column, value)
    return unpacked(path)


def _reshaped(
    reshape: Callable[[Mapping[str, bytes]], Mapping[str, bytes]], form: str, folder: Path
) -> Path:
    path = folder / "case.xlsx"
    path.write_bytes(packed(reshape(_write_good(path, form))))
    return path


def _package_cases() -> Iterator[FileCase]:
    meant = {_DUE: _RECORD[_DUE], _HISTORY: _RECORD[_HISTORY], _AMOUNT: _RECORD[_AMOUNT]}
    for name, reshape in SHAPES.items():
        kind = "parts in UTF-16" if "UTF-16" in name else "parts of other names"
        yield FileCase(kind, ".xlsx", name, partial(_reshaped, reshape, "0.00"), meant)
        percent = partial(_reshaped, reshape, "0%")
        yield FileCase(kind, ".xlsx", f"{name}, with percentages", percent, {_AMOUNT: REFUSED})


def _formula(calculation: str, value: str, folder: Path) -> Path:
    path = folder / "formula.xlsx"
    parts = _write_good(path, "0.00", ("=5*2", value))
    usual = b'<calcPr calcId="124519" fullCalcOnLoad="1"/>'
    assert usual in parts[WORKBOOK]
    parts[WORKBOOK] = parts[WORKBOOK].replace(usual, calculation.encode())
    path.write_bytes(packed(parts))
    return path


def _formula_cases() -> Iterator[FileCase]:
    for calculation, value, meant in (
        ('<calcPr calcId="124519" fullCalcOnLoad="1"/>', "0", REFUSED),
        ('<calcPr calcId="124519" fullCalcOnLoad="1"/>', "", REFUSED),
        ('<calcPr calcId="124519" fullCalcOnLoad="1"/>', "10.5", 10.5),
        ('<calcPr fullCalcOnLoad="1"/>', "0", REFUSED),
        ('<calcPr calcId="999999" fullCalcOnLoad="1"/>', "=5*2", REFUSED),
        ('<calcPr calcId="191029"/>', "10.5", 10.5),
        ("", "", REFUSED),
    ):
        write = partial(_formula, calculation, value)
        name = f"{calculation} {value!r}"
        yield FileCase(_FORMULAS, ".xlsx", name, write, {_AMOUNT: meant})


def _ods(
    cells: Mapping[str, str], styles: str, folder: Path, below: Sequence[Sequence[str]] = ()
) -> Path:
    usual = {
        name: date_cell(value.isoformat())
        if isinstance(value, date)
        else text_cell(value)
        if isinstance(value, str)
        else number_cell(value)
        for name, value in _RECORD.items()
    }
    rows = [map(text_cell, _NAMES), {**usual, **cells}.values(), *below]
    return write_ods(folder / "case.ods", rows, styles)


def _ods_cases() -> Iterator[FileCase]:
    for xml, text in TEXTS.items():
        kind = (
            "shapes and pictures" if "<draw:" in xml else "ruby texts" if "ruby" in xml else _BREAKS
        )
        write = partial(_ods, {_HISTORY: of_text(xml)}, "")
        yield FileCase(kind, ".ods", xml, write, {_HISTORY: text.strip() or REFUSED})
    for name, (kind, parts, is_percentage) in PERCENTAGES.items():
        write = partial(_ods, {_AMOUNT: number_cell(0.5, "c")}, style_of("c", kind, parts))
        meant = REFUSED if is_percentage else 0.5
        yield FileCase("literal percent signs", ".ods", name, write, {_AMOUNT: meant})
    for name, (attributes, content, _) in ODS.items():
        cell = f"<table:table-cell {attributes}>{content}</table:table-cell>"
        write = partial(_ods, {_AMOUNT: cell}, "")
        meant = None if name.startswith("an empty") else REFUSED
        yield FileCase(_FORMULAS, ".ods", name, write, {_AMOUNT: meant})
    formula = 'table:formula="of:=IF([.A9]=&quot;&quot;;&quot;&quot;;1)"'
    text = 'office:value-type="string" office:string-value=""'
    for name, row in {
        "in one column": f"<table:table-cell {formula}><text:p/></table:table-cell>",
        "with their type": f"<table:table-cell {formula} {text}><text:p/></table:table-cell>",
        "repeated in a row": f"<table:table-cell {formula} {text} "
        "table:number-columns-repeated='9'/>",
        "with a string result of calcext": f"<table:table-cell {formula} {text} "
        "calcext:value-type='string'><text:p></text:p></table:table-cell>",
        "of two paragraphs": f"<table:table-cell {formula} {text}><text:p/><text:p/>"
        "</table:table-cell>",
    }.items():
        write = partial(_ods, {}, "", below=[[row]] * 5)
        yield FileCase("empty results of formulas", ".ods", name, write, {}, rows=1)


_BREAKS, _FORMULAS = "line breaks and tabs", "formulas without a result"
_SHORT, _LONGER, _CONTROL_Z = "short last lines", "rows longer than the header", "Ctrl-Z"
_SHIFTED, _THAI = "decimal commas that shift cells", "formats 67 and 68"
_CSV_NAMES = ";".join(_NAMES)
_CSV_ROW = "1;1001;1.01.001;01.001;1;Mensalidade;01/10/2026;31/10/2026;10,50"


def _csv(lines: Sequence[str], end: str, folder: Path) -> Path:
    path = folder / "case.csv"
    path.write_bytes(("\r\n".join(lines) + end).encode())
    return path


def _csv_cases() -> Iterator[FileCase]:
    rows = [_CSV_NAMES, *[_CSV_ROW] * 6]
    commas = [_CSV_NAMES.replace(";", ","), _CSV_ROW.replace(";", ",").replace(",50", ",03,")]
    whole = _CSV_ROW.replace(";", ",").replace(",50", ".50")
    for kind, name, lines, end, meant in (
        (_SHORT, "a total", [*rows, "TOTAL;63,00"], "\r\n", 10.5),
        (_SHORT, "two of them", [*rows, "TOTAL;63,00", "Registros: 6;0"], "\r\n", 10.5),
        (_SHORT, "a total with a comma only", [*rows, "Total: 63,00"], "\r\n", 10.5),
        (_SHORT, "a remark", [*rows, "Emitido em 01/10/2026, por Ana"], "\r\n", 10.5),
        (_SHORT, "below a blank line", [*rows, "", "TOTAL;63,00"], "", 10.5),
        (_SHORT, "a word", [*rows, "FIM"], "\r\n", 10.5),
        (_LONGER, "the last", [*rows, f"{_CSV_ROW};"], "\r\n", 10.5),
        (_LONGER, "all", [_CSV_NAMES, *[f"{_CSV_ROW};"] * 3], "\r\n", 10.5),
        (_LONGER, "of all widths", [_CSV_NAMES, *(_CSV_ROW + n * ";" for n in range(4))], "", 10.5),
        (_LONGER, "the first", [_CSV_NAMES, f"{_CSV_ROW};", *rows[1:]], "\r\n", 10.5),
        (_LONGER, "below a title", [
            "Contas a receber, emissão, vencimento", *rows[:3], f"{_CSV_ROW};", f"{_CSV_ROW};"
        ], "\r\n", 10.5),
        (_SHIFTED, "one row", commas[:2], "\r\n", REFUSED),
        (_SHIFTED, "all rows", [commas[0], *commas[1:] * 3], "\r\n", REFUSED),
        (_SHIFTED, "one among good ones", [commas[0], commas[1], *[whole] * 5], "\r\n", REFUSED),
        (_SHIFTED, "with a total", [*commas, "TOTAL,21"], "\r\n", REFUSED),
        (_SHIFTED, "without the end", [commas[0], commas[1].rstrip(",")], "\r\n", REFUSED),
        (_CONTROL_Z, "below the last line", rows, "\r\n\x1a", 10.5),
        (_CONTROL_Z, "in the last line", rows, "\x1a", 10.5),
        (_CONTROL_Z, "many", rows, "\n\x1a\x1a\x1a", 10.5),
        (_CONTROL_Z, "above a line break", rows, "\r\n\x1a\r\n", 10.5),
        (_CONTROL_Z, "below a blank line", rows, "\r\n\r\n\x1a", 10.5),
    ):  # fmt: skip
        yield FileCase(kind, ".csv", name, partial(_csv, lines, end), {_AMOUNT: meant})


def _thai_cases() -> Iterator[FileCase]:
    """Percentages in the formats 67 and 68, which have no code in the file."""
    for number, value in ((67, 0.5), (67, 12.0), (68, 0.125), (68, 0.07), (68, 1.0)):
        for form in (".xlsx", ".xlsb", ".xls"):
            write = partial(_thai, form, number, value)
            yield FileCase(_THAI, form, f"{value} as {number}", write, {_AMOUNT: REFUSED})


def _thai(form: str, number: int, value: float, folder: Path) -> Path:
    path = folder / "thai.xlsx"
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet("Plan1")
        page.write_row(0, 0, [_HISTORY, _AMOUNT])
        page.write_row(1, 0, ["Mensalidade"])
        page.write_number(1, 1, value, book.add_format({"num_format": "0%"}))
    if form == ".xls":
        rows = [[_HISTORY, _AMOUNT], ["Mensalidade", Shown(value, "0%")]]
        path = write_xls(path.with_suffix(form), rows)
        old, new = (struct.pack("<HHHH", 0xE0, 20, 0, one) for one in (171, number))
        path.write_bytes(path.read_bytes().replace(old, new))
        return path
    name, old, new = "xl/styles.xml", b'xf numFmtId="164"', b'xf numFmtId="%d"' % number
    if form == ".xlsb":
        path, name = write_xlsb(path, path.with_suffix(form)), "xl/styles.bin"
        old, new = (struct.pack("<HH", 0, one) for one in (201, number))
    parts = unpacked(path)
    assert old in parts[name]
    path.write_bytes(packed({**parts, name: parts[name].replace(old, new)}))
    return path


def _marked_cases() -> Iterator[FileCase]:
    plain: Pieces = (("Parcela 1", False),)
    in_part: Sequence[Pieces] = [
        (("Parcela 1", False), (" de 2", True)),
        (("Parcela", True), (" 1", False)),
        (("Par", False), ("ce", True), ("la", False)),
        (("a", True), ("b", False), ("c", True)),
        (("Aluguel ", False), ("de novembro", True), (" e dezembro", False)),
    ]
    for name, write in WRITERS.items():
        file = name.partition(",")[0]
        for form in CONDITIONAL_FORMATS:
            meant = _RECORD[_AMOUNT] if form == "0.00" else REFUSED
            marked = partial(_marked, write, plain, form)
            kind = "conditional formats"
            yield FileCase(kind, file, f"{name}: {form}", marked, {_AMOUNT: meant})
        for pieces in in_part:
            marked = partial(_marked, write, pieces, "0.00")
            kind = "texts struck in part"
            yield FileCase(kind, file, f"{name}: {pieces}", marked, {_HISTORY: REFUSED})


def _marked(
    write: Callable[[Path, Pieces, str], Path], pieces: Pieces, form: str, folder: Path
) -> Path:
    return write(folder, pieces, form)


def file_cases() -> Sequence[FileCase]:
    """Return all cases."""
    return [
        *_package_cases(), *_formula_cases(), *_ods_cases(), *_csv_cases(), *_thai_cases(),
        *_marked_cases(),
    ]  # fmt: skip


def evaluate_files(folder: Path, every: int) -> Outcomes:
    """Evaluate each ``every``-th case."""
    outcomes: Outcomes = {}
    for case in file_cases()[::every]:
        outcomes |= case.outcomes(folder)
    return outcomes
