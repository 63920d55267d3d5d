"""Numbers that a conditional format may show as others; built-in formats by their number only."""

import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from packing import SHEET, packed, unpacked
from sheets import GOOD, records

from xlbridge.resources import Catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.workbook import column_letters

CR = "contasreceber"
AMOUNT = "valorDoLancamento"
CODE = "number-shown-conditionally"


def sheet(
    path: Path,
    catalogue: Catalogue,
    form: str,
    column: str = AMOUNT,
    ranges: str | None = None,
    count: int = 3,
    rule: dict[str, Any] | None = None,
) -> ValidatedSheet:
    """Validate receivables with a conditional format on the cells of a column, or on ``ranges``."""
    header, rows = records(CR, [{AMOUNT: 0.5 + n} for n in range(count)])
    letters = column_letters(header.index(column))
    place = f"{letters}2:{letters}{count + 1}"
    with xlsxwriter.Workbook(path) as book:
        page, day = book.add_worksheet(), book.add_format({"num_format": "dd/mm/yyyy"})
        page.write_row(0, 0, header)
        for at, row in enumerate(rows, start=1):
            for number, value in enumerate(row):
                page.write(at, number, value, day if "data" in header[number] else None)
        condition = {"type": "cell", "criteria": ">", "value": 0, **(rule or {})}
        condition["format"] = book.add_format({"num_format": form, "bold": True})
        if ranges:
            first, *_ = ranges.split()
            page.conditional_format(first, {**condition, "multi_range": ranges})
        else:
            page.conditional_format(place, condition)
    return validate_workbook(path, catalogue)


def found(validated: ValidatedSheet) -> list[tuple[str, str | None, int]]:
    return [(f.kind.code, f.column, f.cells) for f in validated.findings]


@pytest.mark.parametrize(
    "form",
    [
        "0%",
        "0.00%",
        "#,##0,",
        '0.0,,"M"',
        "dd/mm/yyyy",
        '"a combinar"',
        ";;;",
        "-0.00",
        "hh:mm",
        '0.00" mil"',
        "[$US$-409] 0.00",
        "[$€-407] #,##0.00",
    ],
)
def test_number_that_a_conditional_format_may_change_is_reported(
    tmp_path: Path, catalogue: Catalogue, form: str
) -> None:
    validated = sheet(tmp_path / "a.xlsx", catalogue, form)
    assert found(validated) == [(CODE, AMOUNT, 3)]
    assert validated.errors == 0


@pytest.mark.parametrize(
    "form", ["0.00", "#,##0.00", "R$ #,##0.00", "[Red]0.00", "General", "[$R$ -416]0.00"]
)
def test_conditional_format_that_shows_the_number_is_silent(
    tmp_path: Path, catalogue: Catalogue, form: str
) -> None:
    assert found(sheet(tmp_path / "a.xlsx", catalogue, form)) == []


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "formula", "criteria": "=$J2>0"},
        {"type": "top", "value": 1},
        {"type": "average", "criteria": "above"},
        {"type": "blanks"},
        {"type": "duplicate"},
    ],
)
def test_every_kind_of_rule_counts(
    tmp_path: Path, catalogue: Catalogue, rule: dict[str, Any]
) -> None:
    validated = sheet(tmp_path / "a.xlsx", catalogue, "0%", rule=rule)
    assert found(validated) == [(CODE, AMOUNT, 3)]


def test_only_cells_of_the_ranges_count(tmp_path: Path, catalogue: Catalogue) -> None:
    letters = column_letters(list(GOOD[CR]).index(AMOUNT))
    ranges = f"{letters}2 A1:A99 {letters}4:{letters}9"
    validated = sheet(tmp_path / "a.xlsx", catalogue, "0%", ranges=ranges)
    cells = [finding.cell for finding in validated.findings if finding.column == AMOUNT]
    assert cells == [f"{letters}2", f"{letters}4"]
    elsewhere = sheet(tmp_path / "b.xlsx", catalogue, "0%", ranges="Z1:AB99")
    assert found(elsewhere) == []


def test_conditional_format_of_a_long_sheet_counts(tmp_path: Path, catalogue: Catalogue) -> None:
    validated = sheet(tmp_path / "a.xlsx", catalogue, "0%", count=900)
    assert found(validated) == [(CODE, AMOUNT, 900)]


@pytest.mark.parametrize(
    ("number", "column", "expected"),
    [
        (67, AMOUNT, ["number-percent"]),
        (68, AMOUNT, ["number-percent"]),
        (9, AMOUNT, ["number-percent"]),
        (59, AMOUNT, []),
        (60, AMOUNT, []),
        (61, AMOUNT, []),
        (62, AMOUNT, []),
    ],
)
def test_thai_formats_of_numbers_are_known_by_their_number(
    tmp_path: Path, catalogue: Catalogue, number: int, column: str, expected: list[str]
) -> None:
    path, other = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    header, rows = records(CR, [{}])
    with xlsxwriter.Workbook(path) as book:
        page, day = book.add_worksheet(), book.add_format({"num_format": "dd/mm/yyyy"})
        marked = book.add_format({"num_format": "0.0000"})
        page.write_row(0, 0, header)
        for place, value in enumerate(rows[0]):
            form = marked if header[place] == column else None
            page.write(1, place, value, day if "data" in header[place] else form)
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(other, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            if name == "xl/styles.xml":
                own = re.search(rb'numFmtId="(\d+)" formatCode="0.0000"', content)
                assert own is not None
                content = content.replace(
                    b'<xf numFmtId="%s"' % own[1], b'<xf numFmtId="%d"' % number
                )
            after.writestr(name, content)
    validated = validate_workbook(other, catalogue)
    assert [finding.kind.code for finding in validated.findings] == expected


_LATER = (
    '<extLst><ext uri="{{78C0D931-6437-407d-A8EE-F0AAD7539E65}}" xmlns:x14="http://schemas.'
    'microsoft.com/office/spreadsheetml/2009/9/main"><x14:conditionalFormattings>'
    '<x14:conditionalFormatting xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main">'
    '<x14:cfRule type="expression" priority="1"><xm:f>Plan2!$A$1&gt;0</xm:f><x14:dxf>{}</x14:dxf>'
    "</x14:cfRule><xm:sqref>{}</xm:sqref></x14:conditionalFormatting>"
    "</x14:conditionalFormattings></ext></extLst></worksheet>"
)


@pytest.mark.parametrize("count", [3, 900], ids=["small", "large"])
@pytest.mark.parametrize(
    ("form", "is_told"),
    [
        ('<numFmt numFmtId="13" formatCode="0%"/>', True),
        ('<x14:numFmt numFmtId="9"/>', True),
        ('<numFmt numFmtId="171" formatCode="&quot;a combinar&quot;"/>', True),
        ('<numFmt numFmtId="171" formatCode="#,##0.00"></numFmt>', False),
        ('<font><b val="1"/></font>', False),
    ],
)
def test_rule_that_refers_to_another_sheet_counts(
    tmp_path: Path, catalogue: Catalogue, form: str, is_told: bool, count: int
) -> None:
    """Excel keeps such rules, with their formats, apart from the others."""
    path = tmp_path / "a.xlsx"
    sheet(path, catalogue, "0.00", count=count)
    letters = column_letters(list(GOOD[CR]).index(AMOUNT))
    parts = unpacked(path)
    later = _LATER.format(form, f"{letters}2 {letters}3:{letters}{count + 1}")
    parts[SHEET] = parts[SHEET].replace(b"</worksheet>", later.encode())
    path.write_bytes(packed(parts))
    expected = [(CODE, AMOUNT, count)] if is_told else []
    assert found(validate_workbook(path, catalogue)) == expected
