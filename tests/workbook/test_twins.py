"""The same sheet as .xlsx, .xls, .xlsb, .ods and .csv has the same findings."""

import csv
import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from environment import ROOT
from libreoffice import save_with_libreoffice
from random_workbooks import write_random_sheets
from xlsb_writer import write_xlsb

from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import validate_workbook
from xlbridge.workbook.read import read_workbook

SAMPLES = sorted((ROOT / "samples").glob("*.xlsx"))
SIZES = pytest.mark.parametrize(
    ("sources", "count"), [(SAMPLES[::24], 2), pytest.param(SAMPLES, 200, marks=pytest.mark.slow)]
)
"""A few samples and random sheets, or all samples and many random sheets."""
AS_TEXT = frozenset({"number-as-text", "date-as-text"})

Findings = list[tuple[object, ...]]


def findings(
    path: Path, catalogue: Catalogue, resource: str | None = None
) -> tuple[Findings, str | None]:
    """Return a report without the name of the file, and the resource's name."""
    sheet = validate_workbook(path, catalogue, resource=resource)
    report: Findings = [
        (f.kind.code, f.column, f.cell, f.row, f.value, f.message, f.corrected)
        for f in sheet.findings
    ]
    return report, None if sheet.resource is None else sheet.resource.name


def differing(
    pairs: Sequence[tuple[Path, Path]], catalogue: Catalogue
) -> dict[str, tuple[Findings, Findings]]:
    """Return the findings in which the copies differ."""
    wrong = {}
    for one, other in pairs:
        original, resource = findings(one, catalogue)
        copied, _ = findings(other, catalogue, resource)
        if original != copied:
            only = (
                [f for f in original if f not in copied],
                [f for f in copied if f not in original],
            )
            wrong[other.name] = only
    return wrong


@pytest.mark.programs
@SIZES
def test_copies_saved_by_libreoffice_have_the_same_findings(
    sources: list[Path], count: int, tmp_path: Path, catalogue: Catalogue
) -> None:
    kinds, is_complete = ("ods",), len(sources) == len(SAMPLES)
    plain = sources = [*sources, *write_random_sheets(tmp_path, count, seed=19)]
    if is_complete:
        # It computes formulas when it opens a workbook: all copies are its own.
        kinds, plain = ("ods", "xls"), save_with_libreoffice(sources, tmp_path / "xlsx")
    for kind in kinds:
        copies = save_with_libreoffice(sources, tmp_path / kind, kind)
        assert differing(list(zip(plain, copies, strict=True)), catalogue) == {}


@SIZES
def test_xlsb_copies_have_the_same_findings(
    sources: list[Path], count: int, tmp_path: Path, catalogue: Catalogue
) -> None:
    # The format has no formula without a result.
    sources = [path for path in sources if path.name != "contaspagar-com-erros.xlsx"]
    sources += write_random_sheets(tmp_path, count, seed=20)
    pairs = [(path, write_xlsb(path, tmp_path / f"{path.stem}.xlsb")) for path in sources]
    assert differing(pairs, catalogue) == {}


@SIZES
def test_a_csv_has_the_findings_of_a_workbook_of_texts(
    sources: list[Path], count: int, tmp_path: Path, catalogue: Catalogue
) -> None:
    wrong = {}
    for path in [*sources, *write_random_sheets(tmp_path, count, seed=21)]:
        _, resource = findings(path, catalogue)
        rows = shown_rows(path)
        plain, copy = tmp_path / "texts.xlsx", tmp_path / "texts.csv"
        with xlsxwriter.Workbook(plain) as book:
            page = book.add_worksheet("texts")
            for number, row in enumerate(rows):
                for column, text in enumerate(row):
                    page.write_string(number, column, text)
        with copy.open("w", encoding="cp1252", errors="replace", newline="") as file:
            csv.writer(file, delimiter=";").writerows(rows)
        of_texts, _ = findings(plain, catalogue, resource)
        expected = [finding for finding in of_texts if finding[0] not in AS_TEXT]
        found, _ = findings(copy, catalogue, resource)
        if found != expected:
            wrong[path.name] = found, expected
    assert wrong == {}


def shown_rows(path: Path) -> list[list[str]]:
    """Return a sheet's rows as Excel in Brazil saves them as .csv."""
    cells = read_workbook(path, WorkbookLimits()).sheets[0]
    blank = [""] * cells.first_column
    return [blank + [shown(v) for v in cells.row(position)] for position in range(cells.height)]


def shown(value: Any) -> str:
    match value:
        case bool():
            return "VERDADEIRO" if value else "FALSO"
        case float():
            return str(int(value)) if value == int(value) else repr(value).replace(".", ",")
        case dt.datetime():
            return value.strftime("%d/%m/%Y %H:%M")
        case dt.date():
            return value.strftime("%d/%m/%Y")
        case _:
            # What Windows-1252 lacks comes out as a question mark, in both.
            return str(value).encode("cp1252", "replace").decode("cp1252")


@pytest.mark.programs
def test_shapes_and_breaks_are_no_values_in_any_format(tmp_path: Path) -> None:
    """Text boxes, texts of pictures, line breaks, empty results and a literal percent sign."""
    source = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(source) as book:
        page = book.add_worksheet("Plan1")
        percent, broken = book.add_format({"num_format": '0.00"%"'}), {"text_wrap": True}
        page.write_row(0, 0, ["historico", "valor", "nota"])
        page.write_string(1, 0, "Bloco A\n10", book.add_format(broken))
        page.write_string(2, 0, "Parcela\t2")
        page.write_string(3, 0, "a  b ")
        for row in range(1, 4):
            page.write_number(row, 1, 12.5, percent)
            page.write_formula(row, 2, "=B2*2", None, 25)
        for row in range(4, 9):
            page.write_formula(row, 2, '=IF(B20="","","x")', None, "")
        page.insert_textbox(1, 0, "CONFERIDO", {"description": "carimbo"})
        page.insert_textbox(2, 1, "NOTA")
        page.insert_textbox(6, 3, "solta")
    values = []
    # It computes formulas when it opens a workbook: the copies are of its own.
    (plain,) = save_with_libreoffice([source], tmp_path / "plain")
    for kind in ("xlsx", "ods", "xls"):
        (path,) = save_with_libreoffice([plain], tmp_path / kind, kind)
        (cells,) = read_workbook(path, WorkbookLimits()).sheets
        values.append([cells.row(position)[:3] for position in range(4)])
        rest = [cells.row(position) for position in range(4, cells.height)]
        assert not any(value for row in rest for value in row)
        assert (cells.raw.without_result, cells.raw.scaled) == (set(), {})
    assert values[0] == values[1] == values[2]
    texts = [row[0] for row in values[0][1:]]
    assert texts == ["Bloco A\n10", "Parcela\t2", "a  b "]
