"""Hidden and merged cells, formula results, and workbooks with the 1904 date system."""

import shutil
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
import xlsxwriter
from sampling import across
from sheets import GOOD, write_records, write_rows
from xlsxwriter.worksheet import Worksheet

from xlbridge.resources import Catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook

CR = "contasreceber"
HEADER = list(GOOD[CR])


def sheet(
    path: Path,
    change: Callable[[Worksheet], None],
    *,
    epoch_1904: bool = False,
    quoted: bool = False,
) -> Path:
    """Write five good rows below a header in row 3, after a change; optionally in unusual XML."""
    with xlsxwriter.Workbook(path, {"date_1904": epoch_1904}) as book:
        page = book.add_worksheet()
        day = book.add_format({"num_format": "dd/mm/yyyy"})
        page.write_row(2, 0, HEADER)
        for row in range(3, 8):
            for column, value in enumerate(GOOD[CR].values()):
                if isinstance(value, date):
                    page.write_datetime(row, column, value, day)
                else:
                    page.write(row, column, value)
        change(page)
    return with_single_quotes(path) if quoted else path


def with_single_quotes(path: Path) -> Path:
    """Copy a workbook with XML in single quotes, which only the exact scan can read."""
    other = path.with_name("quoted.xlsx")
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(other, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            is_sheet = name.endswith("sheet1.xml")
            after.writestr(name, content.replace(b'"', b"'") if is_sheet else content)
    shutil.copystat(path, other)
    return other


def codes(validated: ValidatedSheet) -> list[tuple[str | None, int | None, str]]:
    return [(f.cell, f.row, f.kind.code) for f in validated.findings]


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda page: page.set_row(4, None, None, {"hidden": True}), [(None, 3, "rows-hidden")]),
        (lambda page: page.set_row(0, None, None, {"hidden": True}), []),
        (
            lambda page: page.set_column(1, 2, None, None, {"hidden": True}),
            [("B3", 3, "column-hidden"), ("C3", 3, "column-hidden")],
        ),
        (lambda page: page.merge_range(3, 1, 5, 1, 1001), [("B4", 4, "cells-merged")]),
        (lambda page: page.merge_range(4, 0, 4, 2, 1), [("A5", 5, "cells-merged")]),
        (lambda page: page.merge_range(0, 0, 0, 5, "Títulos"), []),
        (
            lambda page: page.write_formula(5, 8, "=5*2", None, 10),
            [("I6", 6, "formula-result")],
        ),
        (lambda page: page.write_formula(0, 8, "=5*2", None, 10), []),
        (lambda page: page.write_number(6, len(HEADER), 7), [("J3", 3, "column-unnamed")]),
    ],
)
def test_hidden_merged_and_computed_cells_are_reported(
    tmp_path: Path,
    catalogue: Catalogue,
    change: Callable[[Worksheet], None],
    expected: list[tuple[str | None, int | None, str]],
    quoted: bool,
) -> None:
    validated = validate_workbook(sheet(tmp_path / "a.xlsx", change, quoted=quoted), catalogue)
    assert codes(validated) == expected


def test_hidden_rows_are_reported_as_ranges(tmp_path: Path, catalogue: Catalogue) -> None:
    def hide(page: Worksheet) -> None:
        for row in (3, 4, 6):
            page.set_row(row, None, None, {"hidden": True})

    (finding,) = validate_workbook(sheet(tmp_path / "a.xlsx", hide), catalogue).findings
    assert "3: 4–5, 7" in str(finding.message)


def test_dates_counted_from_1904_are_read_and_reported(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = sheet(tmp_path / "a.xlsx", lambda _: None, epoch_1904=True)
    validated = validate_workbook(path, catalogue)
    assert codes(validated) == [(None, 3, "date-system-old")]
    assert set(validated.frame["dataDeEmissao"].dt.date) == {date(2026, 10, 1)}


def test_formula_result_is_reported_after_many_empty_ones(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    good = GOOD["cliente"]
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        page = book.add_worksheet()
        page.write_row(0, 0, [*good, "seuCodigo"])
        for row in range(1, 80):
            page.write_row(row, 0, [f"{good['nomeComercial']} {row}", "J"])
            page.write_formula(row, 3, "=A1", None, "" if row < 70 else f"C{row}")
    validated = validate_workbook(tmp_path / "a.xlsx", catalogue, resource="cliente")
    found = [f.cell for f in validated.findings if f.kind.code == "formula-result"]
    assert found == ["D71"]


TOTALS: list[tuple[list[str | None], list[str]]] = [
    (["TOTAL DE CLIENTES: 7"], ["row-total"]),
    (["Total geral", None, "7"], ["row-total"]),
    (["Subtotal:"], ["row-total"]),
    (["SUBTOTAL SÃO PAULO"], ["row-total"]),
    (["Sub-total – Campinas", "J"], ["row-total"]),
    (["Totais"], ["row-total"]),
    (["Total parcial"], ["row-total"]),
    (["Total clientes", None, "7"], ["row-total"]),
    (["Total (7)"], ["row-total"]),
    (["Total - 7 clientes"], ["row-total"]),
    (["Qtde. de clientes: 7"], ["row-total"]),
    (["Quantidade total: 7"], ["row-total"]),
    (["Contagem Geral", "7"], ["row-total"]),
    (["Total Distribuidora"], []),
    (["Total-Med Farmácia"], []),
    (["Total 90 Comércio Ltda"], []),
    (["Totalmente Demais Modas"], []),
    (["Número Um Calçados"], []),
    (["Contagem Auto Peças"], []),
    (["Padaria Total"], []),
    (["Total", "F", "529.982.247-25"], []),
]


@pytest.mark.parametrize(("case", "below"), across(TOTALS, [0, 20]))
def test_total_among_the_records_is_reported(
    tmp_path: Path,
    catalogue: Catalogue,
    case: tuple[list[str | None], list[str]],
    below: int,
) -> None:
    total, found = case
    record = [GOOD["cliente"]["nomeComercial"], "F", "529.982.247-25"]
    others = [[*record[:2], None]] * below
    path = write_rows(
        tmp_path / "a.xlsx", ["nomeComercial", "natureza", "cpf"], [record, [], total, *others]
    )
    validated = validate_workbook(path, catalogue, resource="cliente")
    totals = [f for f in validated.findings if f.kind.code == "row-total"]
    assert [(f.cell, f.kind.code) for f in totals] == [("A4", code) for code in found]


@pytest.mark.parametrize("typed", ["69.879.837/0001-59", "69879837000159", 69879837000159])
def test_later_finding_shows_the_content_of_the_cell(
    tmp_path: Path, catalogue: Catalogue, typed: object
) -> None:
    path = write_records(tmp_path / "a.xlsx", "cliente", [{"cnpj": typed}])
    finding = validate_workbook(path, catalogue).finding("already-registered", "cnpj", 0, {})
    assert finding.display_value == str(typed)
