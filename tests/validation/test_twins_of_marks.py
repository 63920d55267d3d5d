"""Struck parts of texts and formats of conditional formats are told alike in every format."""

from collections import Counter
from pathlib import Path

import openpyxl
import pytest
from marked_twins import ROWS, TEXT_COLUMN, WRITERS, Pieces
from openpyxl.cell.rich_text import TextBlock
from sampling import across
from xls_writer import PLAIN, STRUCK, Rich, write_xls

from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.workbook.read import read_workbook
from xlbridge.workbook.write import as_xlsx

WHOLE, PART = "cell-struck", "text-struck-in-part"
SHEETS: dict[str, tuple[Pieces, str, set[str]]] = {
    "a struck end": ((("Parcela 1 ", False), ("de 2", True)), "0.00", {PART}),
    "a struck start": ((("Parcela", True), (" 1 de 2", False)), "0.00", {PART}),
    "a struck middle": ((("a ", False), ("ção", True), (" c", False)), "0.00", {PART}),
    "struck twice": ((("a", True), ("b ", False), ("c", True)), "0.00", {PART}),
    "struck as a whole, in two runs": ((("Parcela", True), (" 1", True)), "0.00", {WHOLE}),
    "two runs that are not struck": ((("Parcela", False), (" 1", False)), "0.00", set()),
    "a percentage": ((("Parcela 1", False),), "0%", {"number-shown-conditionally"}),
    "words": ((("Parcela 1", False),), '"a combinar"', {"number-shown-conditionally"}),
    "thousands": ((("Parcela 1", False),), "#,##0,", {"number-shown-conditionally"}),
    "two decimals": ((("Parcela 1", False),), "0.00", set()),
}
"""Texts and formats of conditional formats, with the findings of each row."""


def counts(sheet: ValidatedSheet) -> Counter[str]:
    """Return the numbers of cells with each finding."""
    found = Counter[str]()
    for finding in sheet.findings:
        found[finding.kind.code] += finding.cells
    return found


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("name", SHEETS)
def test_twins_say_the_same(name: str, kind: str, tmp_path: Path, catalogue: Catalogue) -> None:
    pieces, form, codes = SHEETS[name]
    sheet = validate_workbook(WRITERS[kind](tmp_path, pieces, form), catalogue)
    assert counts(sheet) == dict.fromkeys(codes, ROWS)
    assert set(sheet.frame["historico"]) == {"".join(text for text, _ in pieces)}


@pytest.mark.parametrize(
    ("name", "kind"), across(list(SHEETS), [kind for kind in WRITERS if kind != ".xlsx"])
)
def test_copies_as_xlsx_say_the_same(
    name: str, kind: str, tmp_path: Path, catalogue: Catalogue
) -> None:
    """The page, corrected copies and migrations work on such a copy."""
    pieces, form, codes = SHEETS[name]
    path = WRITERS[kind](tmp_path, pieces, form)
    with as_xlsx(path, [], WorkbookLimits()) as copy:
        sheet = validate_workbook(copy, catalogue)
    assert counts(sheet) == dict.fromkeys(codes, ROWS)
    assert set(sheet.frame["historico"]) == {"".join(text for text, _ in pieces)}


@pytest.mark.parametrize("kind", WRITERS)
def test_struck_pieces_of_a_copy_are_the_same(kind: str, tmp_path: Path) -> None:
    pieces = (("a b", True), (" ção ", False), ("c", True), ("d", False))
    with as_xlsx(WRITERS[kind](tmp_path, pieces, "0.00"), [], WorkbookLimits()) as copy:
        page = openpyxl.load_workbook(copy, rich_text=True).worksheets[0]
        text = page.cell(2, TEXT_COLUMN).value
    struck = "".join(
        str(piece) for piece in text if isinstance(piece, TextBlock) and piece.font.strike
    )
    assert (str(text), struck) == ("a b ção cd", "a bc")


@pytest.mark.parametrize(
    ("runs", "code"),
    [
        (((5, STRUCK), (0, STRUCK)), "cell-struck"),
        (((0, PLAIN), (0, STRUCK)), "cell-struck"),
        (((3, STRUCK), (3, PLAIN), (900, STRUCK)), None),
        (((900, STRUCK),), None),
        (((1, 4711), (2, STRUCK), (3, 0xFFFF)), "text-struck-in-part"),
        (((8, STRUCK), (8, STRUCK)), "text-struck-in-part"),
    ],
)
@pytest.mark.parametrize("inline", [False, True])
def test_odd_runs_of_an_xls_end_no_command(
    runs: tuple[tuple[int, int], ...],
    code: str | None,
    inline: bool,
    tmp_path: Path,
    catalogue: Catalogue,
) -> None:
    text = Rich("Parcela 1", runs, inline)
    header, row = ["codigoDoCliente", "historico"], [1.0, text]
    path = write_xls(tmp_path / "a.xls", [header, row])
    sheet = validate_workbook(path, catalogue, resource="contasreceber")
    found = {finding.kind.code for finding in sheet.findings if finding.column == "historico"}
    assert found == ({code} if code else set())
    with as_xlsx(path, [], WorkbookLimits()) as copy:
        (cells,) = read_workbook(copy, WorkbookLimits()).sheets
    assert cells.row(1)[1] == text.text
