"""Files in the shapes of other programs: packages, .ods texts, formulas, rows of .csv files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import xlsxwriter
from marked_twins import CONDITIONAL_FORMATS, WRITERS, Pieces
from open_document import date_cell, number_cell, of_text, text_cell, write_ods
from package_shapes import SHAPES
from packing import WORKBOOK, packed, unpacked
from sheets import GOOD
from truth import REFUSED, AnyOf, Outcome, Outcomes, Refused, outcome_of, validated

_RECORD = GOOD["contasreceber"]
_NAMES = list(_RECORD)
_AMOUNT, _HISTORY, _DUE = "valorDoLancamento", "historico", "dataDeVencimento"


@dataclass(frozen=True, slots=True)
class FileCase:
    """File with one record, and what its author meant in some columns."""

    name: str
    write: Callable[[Path], Path]
    meant: Mapping[str, Any]

    def outcomes(self, folder: Path) -> Outcomes:
        sheet = validated(self.write(folder))
        # An error of the layout, such as rows longer than the header, holds for all cells.
        is_read = sheet is not None and sheet.readable
        return {
            f"file: {self.name}: {column}": outcome_of(sheet, 2, column, meant)
            if is_read or not isinstance(meant, Refused)
            else Outcome.REPORTED
            for column, meant in self.meant.items()
        }


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
        yield FileCase(f"package: {name}", partial(_reshaped, reshape, "0.00"), meant)
        percent = partial(_reshaped, reshape, "0%")
        yield FileCase(f"package with percentages: {name}", percent, {_AMOUNT: REFUSED})


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
        yield FileCase(f"formula: {calculation} {value!r}", write, {_AMOUNT: meant})


def _ods(cells: Mapping[str, str], styles: str, folder: Path) -> Path:
    usual = {
        name: date_cell(value.isoformat())
        if isinstance(value, date)
        else text_cell(value)
        if isinstance(value, str)
        else number_cell(value)
        for name, value in _RECORD.items()
    }
    rows = [map(text_cell, _NAMES), {**usual, **cells}.values()]
    return write_ods(folder / "case.ods", rows, styles)


_BOX = "<draw:frame><draw:text-box><text:p>CONFERIDO</text:p></draw:text-box></draw:frame>"
_RUBY = (
    "<text:ruby><text:ruby-base>Ana</text:ruby-base><text:ruby-text>x</text:ruby-text></text:ruby>"
)
_ODS_TEXTS: Sequence[tuple[str, Any]] = [
    ("<text:p>Bloco A<text:line-break/>10</text:p>", AnyOf(("Bloco A\n10", "Bloco A 10"))),
    ("<text:p>Parcela<text:tab/>2</text:p>", AnyOf(("Parcela\t2", "Parcela 2"))),
    (f"<text:p>Teste</text:p>{_BOX}", "Teste"),
    (f"<text:p>{_BOX}Teste</text:p>", "Teste"),
    (
        f"<text:p>{_RUBY}</text:p>",
        "Ana",
    ),
    ("<text:p>\n  Teste\n</text:p>", "Teste"),
    (_BOX, REFUSED),
]


def _ods_cases() -> Iterator[FileCase]:
    for xml, meant in _ODS_TEXTS:
        write = partial(_ods, {_HISTORY: of_text(xml)}, "")
        yield FileCase(f".ods: {xml}", write, {_HISTORY: meant})
    for kind, meant in (("percentage", REFUSED), ("number", 0.5)):
        style = (
            f'<number:{kind}-style style:name="N"><number:number number:decimal-places="2"/>'
            f'<number:text>%</number:text></number:{kind}-style><style:style style:name="c" '
            'style:family="table-cell" style:data-style-name="N"/>'
        )
        write = partial(_ods, {_AMOUNT: number_cell(0.5, "c")}, style)
        yield FileCase(f".ods: percent sign of a {kind}", write, {_AMOUNT: meant})
    formula = '<table:table-cell table:formula="of:=5*2"{}/>'
    for attributes in ("", ' office:value-type="float"', ' office:value-type="currency"'):
        write = partial(_ods, {_AMOUNT: formula.format(attributes)}, "")
        yield FileCase(f".ods: formula{attributes}", write, {_AMOUNT: REFUSED})


_CSV_NAMES = ";".join(_NAMES)
_CSV_ROW = "1;1001;1.01.001;01.001;1;Mensalidade;01/10/2026;31/10/2026;10,50"


def _csv(lines: Sequence[str], end: str, folder: Path) -> Path:
    path = folder / "case.csv"
    path.write_bytes(("\r\n".join(lines) + end).encode())
    return path


def _csv_cases() -> Iterator[FileCase]:
    rows = [_CSV_NAMES, *[_CSV_ROW] * 6]
    commas = [_CSV_NAMES.replace(";", ","), _CSV_ROW.replace(";", ",").replace(",50", ",03,")]
    for name, lines, end, meant in (
        ("a short total", [*rows, "TOTAL;63,00"], "\r\n", 10.5),
        ("two short lines", [*rows, "TOTAL;63,00", "Registros: 6;0"], "\r\n", 10.5),
        ("a longer row", [*rows, f"{_CSV_ROW};"], "\r\n", 10.5),
        ("a delimiter after each row", [_CSV_NAMES, *[f"{_CSV_ROW};"] * 3], "\r\n", 10.5),
        ("Ctrl-Z", rows, "\r\n\x1a", 10.5),
        ("Ctrl-Z in the last line", rows, "\x1a", 10.5),
        ("a decimal comma that shifts", [commas[0], commas[1]], "\r\n", REFUSED),
        ("decimal commas that shift", [commas[0], *commas[1:] * 3], "\r\n", REFUSED),
        ("rows of all widths", [_CSV_NAMES, *(_CSV_ROW + n * ";" for n in range(4))], "\r\n", 10.5),
        (
            "a title with commas",
            ["Contas a receber, emissão, vencimento", *rows[:3], f"{_CSV_ROW};", f"{_CSV_ROW};"],
            "\r\n",
            AnyOf((10.5,)),
        ),
        ("a longer first row", [_CSV_NAMES, f"{_CSV_ROW};", *rows[1:]], "\r\n", AnyOf((10.5,))),
    ):
        yield FileCase(f".csv: {name}", partial(_csv, lines, end), {_AMOUNT: meant})


def _marked_cases() -> Iterator[FileCase]:
    plain: Pieces = (("Parcela 1", False),)
    in_part: Sequence[Pieces] = [
        (("Parcela 1", False), (" de 2", True)),
        (("Parcela", True), (" 1", False)),
        (("Par", False), ("ce", True), ("la", False)),
    ]
    for kind, write in WRITERS.items():
        for form in CONDITIONAL_FORMATS:
            meant = _RECORD[_AMOUNT] if form == "0.00" else REFUSED
            marked = partial(_marked, write, plain, form)
            yield FileCase(f"{kind}: shown as {form}", marked, {_AMOUNT: meant})
        for pieces in in_part:
            marked = partial(_marked, write, pieces, "0.00")
            yield FileCase(f"{kind}: struck: {pieces}", marked, {_HISTORY: REFUSED})


def _marked(
    write: Callable[[Path, Pieces, str], Path], pieces: Pieces, form: str, folder: Path
) -> Path:
    return write(folder, pieces, form)


def evaluate_files(folder: Path, every: int) -> Outcomes:
    """Evaluate each ``every``-th case."""
    cases = [
        *_package_cases(), *_formula_cases(), *_ods_cases(), *_csv_cases(), *_marked_cases()
    ]  # fmt: skip
    outcomes: Outcomes = {}
    for case in cases[::every]:
        outcomes |= case.outcomes(folder)
    return outcomes
