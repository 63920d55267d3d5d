"""Cells with errors, however they are stored, have the error as their finding."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from open_document import number_cell, of_text, write_ods
from packing import FIRST_ROWS, MAIN, SHEET, good_parts, packed, text_cell, text_row, unpacked
from sampling import across
from sheets import GOOD, ErrorCell, write_records

from xlbridge.errors import WorkbookRefused
from xlbridge.resources import Catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook

NEWER = ["#SPILL!", "#CALC!", "#FIELD!", "#BLOCKED!", "#GETTING_DATA", "#BUSY!"]


def found(validated: ValidatedSheet) -> list[tuple[str | None, str, str | None]]:
    return [(f.cell, f.kind.code, f.value) for f in validated.findings]


def with_rows(path: Path, rows: str) -> Path:
    """Write a workbook of clients with further rows below its good one."""
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{FIRST_ROWS}{rows}</sheetData></worksheet>'
    path.write_bytes(packed(good_parts(path.parent) | {SHEET: sheet.encode()}))
    return path


def with_error(path: Path, error: str, more: str = "") -> Path:
    """Write a workbook of clients in which A3 shows an error."""
    cells = f'<c r="A3" t="e"><v>{error}</v></c>{text_cell("B3", "J")}'
    return with_rows(path, f'<row r="3">{cells}</row>{more}')


@pytest.mark.parametrize("error", [*NEWER, "#N/A", "#DIV/0!", "#NULL!"])
def test_every_error_value_is_a_finding(tmp_path: Path, catalogue: Catalogue, error: str) -> None:
    text = text_row(4, ("&lt;v&gt;#SPILL!&lt;/v&gt;",))
    path = with_error(tmp_path / "a.xlsx", error, text)
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert found(validated) == [("A3", "cell-error", error)]
    assert validated.frame["nomeComercial"].iloc[2] == "<v>#SPILL!</v>"


def test_newer_error_in_a_large_sheet_is_found(tmp_path: Path, catalogue: Catalogue) -> None:
    more = "".join(text_row(row, (f"Padaria {row}", "F")) for row in range(4, 6000))
    path = with_error(tmp_path / "a.xlsx", "#SPILL!", more)
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert found(validated) == [("A3", "cell-error", "#SPILL!")]
    assert len(validated.rows) == 5998


def test_newer_error_is_found_without_shared_strings(tmp_path: Path, catalogue: Catalogue) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
        page = book.add_worksheet()
        page.write_row(0, 0, list(GOOD["cliente"]))
        page.write_formula(1, 0, "=NA()", None, "#N/A")
        page.write_row(1, 1, list(GOOD["cliente"].values())[1:])
    parts = unpacked(path)
    parts[SHEET] = parts[SHEET].replace(b"#N/A", b"#SPILL!")
    path.write_bytes(packed(parts))
    (first, *_) = found(validate_workbook(path, catalogue, resource="cliente"))
    assert first == ("A2", "cell-error", "#SPILL!")


def test_invalid_error_value_is_refused(tmp_path: Path, catalogue: Catalogue) -> None:
    path = with_error(tmp_path / "a.xlsx", "0")
    with pytest.raises(WorkbookRefused):
        validate_workbook(path, catalogue, resource="cliente")


@pytest.mark.parametrize("error", ["#SPILL!", "#N/A"])
def test_formula_resulting_in_an_error_has_one_finding(
    tmp_path: Path, catalogue: Catalogue, error: str
) -> None:
    path = write_records(tmp_path / "a.xlsx", "cliente", [{"nomeComercial": ErrorCell(error)}])
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert found(validated) == [("A2", "cell-error", error)]


WORDS = [
    "#N/D",
    "#N/A",
    "#VALOR!",
    " #NOME? ",
    "#NÚM!",
    "#núm!",
    "#DESPEJAR!",
    "Err:502",
    "#DIV/0!",
]
COLUMNS = ["historico", "valorDoLancamento", "dataDeVencimento", "codigoDoCliente", "idws"]


@pytest.mark.parametrize(("word", "column"), across(WORDS, COLUMNS))
def test_error_words_are_reported_as_errors(
    tmp_path: Path, catalogue: Catalogue, word: str, column: str
) -> None:
    changes: list[dict[str, Any]] = [{column: word}, {"historico": "Nota #N/D ou Err:502"}]
    path = write_records(tmp_path / "a.xlsx", "contasreceber", changes)
    validated = validate_workbook(path, catalogue, resource="contasreceber")
    [finding] = validated.findings
    assert (finding.column, finding.row, finding.kind.code) == (column, 2, "cell-error")
    assert word.strip() in finding.message.pt


def test_row_of_error_words_counts_as_a_row(tmp_path: Path, catalogue: Catalogue) -> None:
    words = dict.fromkeys(GOOD["cliente"], "#N/D")
    path = write_records(tmp_path / "a.xlsx", "cliente", [{}, words])
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert list(validated.rows) == [2, 3]
    assert [f.cell for f in validated.findings] == ["A3", "B3", "C3"]


@pytest.mark.parametrize(
    ("header", "code", "named"),
    [(2026, "column-unknown", "2026"), (date(2026, 1, 31), "column-unknown", "31/01/2026")],
)
def test_data_below_a_non_text_header_is_reported(
    tmp_path: Path, catalogue: Catalogue, header: Any, code: str, named: str
) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path, {"default_date_format": "dd/mm/yyyy"}) as book:
        page = book.add_worksheet()
        page.write_row(0, 0, ["nomeComercial", header, header, "  "])
        page.write_row(1, 0, ["Padaria", "minha nota", None, "outra"])
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert [(f.cell, f.kind.code) for f in validated.findings] == [
        ("B1", code),
        ("D1", "column-unnamed"),
    ]
    assert named in validated.findings[0].message.en


def test_empty_formula_result_counts_as_missing(tmp_path: Path, catalogue: Catalogue) -> None:
    empty = '<c r="A3" t="str"><f>""</f><v></v></c>' + text_cell("B3", "J")
    filled = '<c r="A4" t="str"><f>"Padaria"</f><v>Padaria</v></c>'
    rows = f'<row r="3">{empty}</row><row r="4">{filled}</row>'
    validated = validate_workbook(
        with_rows(tmp_path / "a.xlsx", rows), catalogue, resource="cliente"
    )
    codes = [(f.cell, f.kind.code) for f in validated.findings]
    assert codes == [("A3", "required-missing"), ("A4", "formula-result")]


def test_an_error_that_is_also_a_text_has_one_finding(tmp_path: Path, catalogue: Catalogue) -> None:
    cell = (
        '<table:table-cell table:formula="of:=NA()" office:value-type="string">'
        "<text:p>#N/D</text:p></table:table-cell>"
    )
    names = ("descricaoDoTipoDeCliente", "codigoDoTipoDeCliente")
    header = [of_text(f"<text:p>{name}</text:p>") for name in names]
    path = write_ods(tmp_path / "a.ods", [header, [cell, number_cell(1)]])
    sheet = validate_workbook(path, catalogue, resource="tipocliente")
    assert [(f.cell, f.kind.code) for f in sheet.findings] == [("A2", "cell-error")]
