"""Hidden sheets are not read; they are named if no visible sheet has data."""

from pathlib import Path

import pytest
import xlsxwriter
from sheets import records, write_page

from xlbridge.errors import UsageError
from xlbridge.resources import Catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook


def workbook(path: Path, visible: list[list[str]], hidden: tuple[str, ...] = ("Dados",)) -> Path:
    """Write a visible sheet with some rows, and hidden ones with a good client each."""
    with xlsxwriter.Workbook(path) as book:
        write_page(book, "Capa", [], visible)
        for name in hidden:
            write_page(book, name, *records("cliente", [{}]))
            book.get_worksheet_by_name(name).hide()
    return path


def messages(validated: ValidatedSheet) -> list[tuple[str, str]]:
    return [(f.kind.code, str(f.message)) for f in validated.findings]


def test_hidden_sheets_are_named_if_the_resource_is_unknown(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = workbook(tmp_path / "a.xlsx", [["Leia-me"], ["Dados do cliente"]])
    with pytest.raises(UsageError) as refused:
        validate_workbook(path, catalogue)
    assert "hidden sheets, which are not read: 'Dados'; unhide them" in str(refused.value.hint)
    assert validate_workbook(path, catalogue, sheet="Dados").ok


def test_hidden_sheets_are_not_named_for_a_selected_sheet(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = workbook(tmp_path / "a.xlsx", [["Leia-me"], ["Dados do cliente"]])
    with pytest.raises(UsageError) as refused:
        validate_workbook(path, catalogue, sheet="Capa")
    assert "Dados" not in str(refused.value.hint)


@pytest.mark.parametrize(
    ("visible", "resource", "code"),
    [
        ([], None, "sheet-empty"),
        ([["Leia-me"], ["Dados"]], "cliente", "header-not-found"),
        ([["nomeComercial", "natureza", "cnpj"]], None, "sheet-empty"),
    ],
)
def test_hidden_sheets_are_named_if_the_visible_sheet_has_no_data(
    tmp_path: Path, catalogue: Catalogue, visible: list[list[str]], resource: str, code: str
) -> None:
    path = workbook(tmp_path / "a.xlsx", visible)
    validated = validate_workbook(path, catalogue, resource=resource)
    named = "There are hidden sheets, which are not read: 'Dados'."
    assert messages(validated)[0][0] == code
    assert messages(validated)[1:] == [("sheets-hidden", named)]


def test_only_the_first_hidden_sheets_are_named(tmp_path: Path, catalogue: Catalogue) -> None:
    names = tuple(f"Mês {number}" for number in range(1, 8))
    path = workbook(tmp_path / "a.xlsx", [["Leia-me"]], names)
    with pytest.raises(UsageError) as refused:
        validate_workbook(path, catalogue)
    assert "'Mês 1', 'Mês 2', 'Mês 3', 'Mês 4', 'Mês 5' …" in str(refused.value.hint)


def test_hidden_sheets_are_ignored_if_the_data_is_visible(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    header, rows = records("cliente", [{}])
    path = workbook(tmp_path / "a.xlsx", [header, *rows], ("Listas", "Cidades"))
    assert messages(validate_workbook(path, catalogue)) == []
