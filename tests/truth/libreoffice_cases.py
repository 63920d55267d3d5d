"""Sheets that LibreOffice converts from a .csv and an .ods file, cell by cell."""

import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from libreoffice import require_libreoffice
from sheets import GOOD
from truth import REFUSED, AnyOf, Outcomes, outcome_of, validated

_NAMES = [*GOOD["contasreceber"], "numeroDoDocumento"]
_BRAZILIAN_CSV = "CSV:59,34,76,1,,1046,false,true"
"""Semicolons, quotes, UTF-8, from row 1, Brazilian Portuguese, dates and numbers detected."""


@dataclass(frozen=True, slots=True)
class SavedCase:
    """Content of a cell in the original file, and what its author meant."""

    form: str
    column: str
    content: str
    meant: Any

    def __str__(self) -> str:
        return f"LibreOffice: {self.form}: {self.column}: {self.content}"


def _csv_cases() -> Iterator[SavedCase]:
    christmas, november = date(2026, 12, 25), date(2026, 11, 5)
    cells: Sequence[tuple[str, str, Any]] = [
        ("valorDoLancamento", "1234,56", 1234.56), ("valorDoLancamento", "1.234,56", 1234.56),
        ("valorDoLancamento", "1.234", 1234), ("valorDoLancamento", "12,5", 12.5),
        ("valorDoLancamento", "R$ 1.234,56", 1234.56), ("valorDoLancamento", "10%", REFUSED),
        ("valorDoLancamento", "1E3", 1000), ("valorDoLancamento", "-5,00", REFUSED),
        ("valorDoLancamento", "VERDADEIRO", REFUSED), ("valorDoLancamento", "12:30", REFUSED),
        ("valorDoLancamento", "25/12/2026", REFUSED), ("valorDoLancamento", "", None),
        ("valorDoLancamento", "a combinar", REFUSED), ("valorDoLancamento", "0,005", REFUSED),
        ("dataDeVencimento", "25/12/2026", christmas), ("dataDeVencimento", "05/11/2026", november),
        ("dataDeVencimento", "2026-11-05", november), ("dataDeVencimento", "25/12/26", christmas),
        ("dataDeVencimento", "31/02/2026", REFUSED), ("dataDeVencimento", "hoje", REFUSED),
        ("dataDeVencimento", "25/12/2026 10:30", christmas), ("dataDeVencimento", "", None),
        ("dataDeVencimento", "46327", AnyOf((date(2026, 11, 1),))),
        ("codigoDoCliente", "1001", 1001), ("codigoDoCliente", "1.001", 1001),
        ("codigoDoCliente", "1001,5", REFUSED), ("codigoDoCliente", "01001", 1001),
        ("codigoDoCliente", "50%", REFUSED), ("codigoDoCliente", "1/2/2026", REFUSED),
        ("historico", "Mensalidade", "Mensalidade"), ("historico", " ação ", "ação"),
        ("historico", '"com ; dentro"', "com ; dentro"), ("historico", '"a ""b"""', 'a "b"'),
        ("historico", '"linha 1\nlinha 2"', "linha 1\nlinha 2"),
        ("historico", "=1+1", AnyOf(("=1+1",))),
        ("historico", "25/12/2026", AnyOf(("25/12/2026",))), ("historico", "10%", AnyOf(("10%",))),
        ("historico", "12:30", AnyOf(("12:30",))), ("historico", "1.234,56", AnyOf(("1.234,56",))),
        ("numeroDoDocumento", "NF-1", "NF-1"), ("numeroDoDocumento", "01/02/2026", REFUSED),
        ("numeroDoDocumento", "123456789012345678", REFUSED), ("numeroDoDocumento", "50%", REFUSED),
        ("numeroDoDocumento", "1,50", REFUSED), ("numeroDoDocumento", "12:30", REFUSED),
    ]  # fmt: skip
    yield from (SavedCase("csv", column, content, meant) for column, content, meant in cells)


def _ods_cases() -> Iterator[SavedCase]:
    november = date(2026, 11, 5)
    number, text = 'office:value-type="float" office:value="{}"', "string"
    cells: Sequence[tuple[str, str, Any]] = [
        ("valorDoLancamento", number.format("1234.56"), 1234.56),
        ("valorDoLancamento", number.format("-5"), REFUSED),
        ("valorDoLancamento", number.format("0.005"), REFUSED),
        ("valorDoLancamento", 'office:value-type="percentage" office:value="0.125"', REFUSED),
        ("valorDoLancamento",
         'office:value-type="currency" office:currency="BRL" office:value="12.5"', 12.5),
        ("valorDoLancamento", 'office:value-type="date" office:date-value="2026-11-05"', REFUSED),
        ("valorDoLancamento", 'office:value-type="time" office:time-value="PT12H30M00S"', REFUSED),
        ("valorDoLancamento", 'office:value-type="boolean" office:boolean-value="true"', REFUSED),
        ("valorDoLancamento", 'table:formula="of:=10*2" ' + number.format("20"), 20),
        ("valorDoLancamento", 'table:formula="of:=1/0" ' + number.format("0"), REFUSED),
        ("valorDoLancamento", text + "|1.234,56", 1234.56),
        ("valorDoLancamento", text + "|mil", REFUSED),
        ("dataDeVencimento", 'office:value-type="date" office:date-value="2026-11-05"', november),
        ("dataDeVencimento",
         'office:value-type="date" office:date-value="2026-11-05T10:30:00"', november),
        ("dataDeVencimento", 'office:value-type="time" office:time-value="PT12H30M00S"', REFUSED),
        ("dataDeVencimento", number.format("20261105"), REFUSED),
        ("dataDeVencimento", text + "|2026-11-05", november),
        ("dataDeVencimento", 'office:value-type="date" office:date-value="1899-12-30"', REFUSED),
        ("codigoDoCliente", number.format("1001"), 1001),
        ("codigoDoCliente", number.format("1001.5"), REFUSED),
        ("codigoDoCliente", 'office:value-type="percentage" office:value="10"', REFUSED),
        ("codigoDoCliente", text + "|1001", 1001), ("codigoDoCliente", text + "|1001a", REFUSED),
        ("historico", text + "|Mensalidade", "Mensalidade"),
        ("historico", text + "|a</text:p><text:p>b", "a\nb"),
        ("historico", text + '|a<text:s text:c="3"/>b', AnyOf(("a   b", "a b"))),
        ("historico", text + "|<text:span>An</text:span>a", "Ana"),
        ("historico", text + "|=1+1", "=1+1"),
        ("historico", 'office:value-type="percentage" office:value="0.1"', REFUSED),
        ("historico",
         'office:value-type="date" office:date-value="2026-11-05"', AnyOf(("05/11/2026",))),
        ("historico", number.format("12"), "12"), ("historico", text + "|#N/A", REFUSED),
        ("historico",
         'office:value-type="boolean" office:boolean-value="true"', AnyOf(("VERDADEIRO",))),
        ("numeroDoDocumento", text + "|00123", "00123"),
        ("numeroDoDocumento", number.format("12.5"), REFUSED),
        ("numeroDoDocumento", 'office:value-type="date" office:date-value="2026-11-05"', REFUSED),
        ("numeroDoDocumento", number.format("123456789012345678"), REFUSED),
    ]  # fmt: skip
    yield from (SavedCase("ods", column, content, meant) for column, content, meant in cells)


def libreoffice_cases() -> Sequence[SavedCase]:
    """Return all cases."""
    return [*_csv_cases(), *_ods_cases()]


def evaluate_libreoffice(folder: Path) -> Outcomes:
    """Let LibreOffice save both files as .xlsx, and evaluate their cells."""
    require_libreoffice()
    csv, ods = folder / "csv.csv", folder / "ods.ods"
    csv.write_text("\n".join([";".join(_NAMES), *map(_csv_row, _csv_cases())]) + "\n", "utf-8")
    _write_ods(ods, [_ods_header(), *map(_ods_row, _ods_cases())])
    _convert(folder, csv, f"--infilter={_BRAZILIAN_CSV}")
    _convert(folder, ods)
    outcomes = {}
    for form, cases in (("csv", _csv_cases()), ("ods", _ods_cases())):
        sheet = validated(folder / f"{form}.xlsx")
        for row, case in enumerate(cases, start=2):
            outcomes[str(case)] = outcome_of(sheet, row, case.column, case.meant)
    return outcomes


def _convert(folder: Path, file: Path, *options: str) -> None:
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = ["soffice", profile, "--headless", *options, "--convert-to", "xlsx"]
    subprocess.run([*command, "--outdir", folder, file], check=True, capture_output=True)


def _csv_row(case: SavedCase) -> str:
    def text(name: str) -> str:
        value = GOOD["contasreceber"].get(name, "")
        if isinstance(value, date):
            return value.strftime("%d/%m/%Y")
        return str(value).replace(".", ",") if isinstance(value, float) else str(value)

    return ";".join(case.content if name == case.column else text(name) for name in _NAMES)


def _ods_header() -> str:
    return "".join(_ods_text(name) for name in _NAMES)


def _ods_text(text: str) -> str:
    return (
        f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'
    )


def _ods_row(case: SavedCase) -> str:
    def cell(name: str) -> str:
        if name == case.column:
            kind, _, text = case.content.partition("|")
            style = next((style for style in _STYLES if f'"{style}"' in kind), "float")
            attributes = f'table:style-name="{style}" {kind}'
            return _ods_text(text) if kind == "string" else f"<table:table-cell {attributes}/>"
        value = GOOD["contasreceber"].get(name)
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, date):
            kind = f'office:value-type="date" office:date-value="{value}"'
            return f'<table:table-cell table:style-name="date" {kind}/>'
        if isinstance(value, str):
            return _ods_text(value)
        return f'<table:table-cell office:value-type="float" office:value="{value}"/>'

    return "".join(map(cell, _NAMES))


_STYLES = {
    "date": "date-style|<number:day/><number:text>/</number:text><number:month/>"
    "<number:text>/</number:text><number:year/>",
    "time": "time-style|<number:hours/><number:text>:</number:text>"
    '<number:minutes number:style="long"/>',
    "percentage": 'percentage-style|<number:number number:decimal-places="0"/>'
    "<number:text>%</number:text>",
    "boolean": "boolean-style|<number:boolean/>",
    "currency": "currency-style|<number:currency-symbol>R$</number:currency-symbol>"
    '<number:number number:decimal-places="2"/>',
}
"""Styles that spreadsheet programs use for cells of a type."""


def _style(name: str) -> str:
    element, _, content = _STYLES[name].partition("|")
    return (
        f'<number:{element} style:name="n-{name}">{content}</number:{element}>'
        f'<style:style style:name="{name}" style:family="table-cell"'
        f' style:data-style-name="n-{name}"/>'
    )


def _write_ods(path: Path, rows: Sequence[str]) -> None:
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    spaces = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text", "style", "manifest")
    ) + (
        ' xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2"'
        ' xmlns:number="urn:oasis:names:tc:opendocument:xmlns:datastyle:1.0"'
    )
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    content = (
        f'<office:document-content{spaces} office:version="1.2">'
        f"<office:automatic-styles>{''.join(map(_style, _STYLES))}</office:automatic-styles>"
        "<office:body><office:spreadsheet>"
        f'<table:table table:name="Plan1">{body}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    manifest = (
        f'<manifest:manifest{spaces} manifest:version="1.2">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        "</manifest:manifest>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", kind, zipfile.ZIP_STORED)
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)
