"""Annotated copies: marks at the right cells, and the analyst's work preserved."""

import base64
import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from libreoffice import save_with_libreoffice
from openpyxl.comments import Comment
from openpyxl.styles import Font, PatternFill
from openpyxl.utils.escape import unescape
from openpyxl.worksheet.worksheet import Worksheet
from sheets import ERROR_FILL as ERROR, SUMMARY_SHEET, WARNING_FILL as WARNING

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.i18n import set_language
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.workbook.edit import AnnotatedSheet, AnnotationSummary, annotate

SHEET = "Lançamentos d'outubro"

BAD_CNPJ = Finding(CATALOGUE["cnpj-invalid"], 4, "cnpj", "C4", "11.111.111/1111-11")
REPEATED = Finding(CATALOGUE["duplicate-in-sheet"], 4, "cnpj", "C4", "x", {"first": "C3"})
TEXT_DATE = Finding(CATALOGUE["date-as-text"], 5, "d", "D5", "=1+1", {"read": "2026-01-31"})
MISSING = Finding(CATALOGUE["column-missing"], 3, "historico", details={"column": "historico"})
WITHOUT_SHEET = Finding(CATALOGUE["sheet-empty"])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "meu.xlsx"
    book = openpyxl.Workbook()
    book.active.title = "Capa"
    sheet = book.create_sheet(SHEET)
    sheet["B3"], sheet["C3"], sheet["D3"] = "nomeComercial", "cnpj", "d"
    sheet["B4"], sheet["C4"], sheet["E4"] = "Padaria", "11.111.111/1111-11", "=1+1"
    sheet["B4"].font = Font(bold=True)
    sheet["B4"].fill = PatternFill("solid", fgColor="00FF00")
    sheet["C4"].comment = Comment("Conferir com a Ana", "João")
    sheet["C4"].number_format = "@"
    sheet.merge_cells("D5:D6")
    sheet["D5"] = "31/01/2026"
    sheet.column_dimensions["B"].width = 33
    sheet.freeze_panes = "B4"
    book.save(path)
    return path


Annotated = Callable[..., openpyxl.Workbook]


@pytest.fixture
def annotated(tmp_path: Path, source: Path) -> Annotated:
    def run(
        *findings: Finding,
        path: Path = source,
        errors: int = 1,
        extra_cells: Sequence[str] = (),
    ) -> openpyxl.Workbook:
        summary = AnnotationSummary(
            "meu.xlsx", {SHEET: "cliente"}, rows=2, errors=errors, warnings=1
        )
        target = tmp_path / "marcado.xlsx"
        annotate(path, target, [AnnotatedSheet(SHEET, findings, 1, extra_cells)], summary)
        return openpyxl.load_workbook(tmp_path / "marcado.xlsx")

    return run


def colour(sheet: Worksheet, address: str) -> str | None:
    """Colour of a cell's mark, from the first condition that covers it."""
    found = [
        (rule.priority, str(rule.dxf.fill.bgColor.rgb)[-6:])
        for block in sheet.conditional_formatting
        for rule in block.rules
        if address in block.cells
    ]
    return min(found, default=(0, None))[1]


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def summary_rows(book: openpyxl.Workbook) -> list[tuple[object, ...]]:
    return list(book[SUMMARY_SHEET].iter_rows(min_row=6, values_only=True))


def test_a_cell_gets_a_colour_and_a_comment(annotated: Annotated) -> None:
    sheet = annotated(BAD_CNPJ, TEXT_DATE)[SHEET]
    assert colour(sheet, "C4") == ERROR
    assert colour(sheet, "D5") == WARNING
    assert str(BAD_CNPJ.message) in sheet["C4"].comment.text
    assert str(TEXT_DATE.hint) in sheet["D5"].comment.text


def test_comments_and_values_like_escapes_are_unchanged(
    annotated: Annotated,
) -> None:
    value = "_x0041_x0042_"
    finding = Finding(CATALOGUE["value-not-allowed"], 4, "cnpj", "C4", value, {"allowed": value})
    book = annotated(finding)
    assert any(value in map(_unescaped, row) for row in summary_rows(book))
    assert value in _unescaped(book[SHEET]["C4"].comment.text)


def _unescaped(text: object) -> str:
    """Return a text without escapes, which openpyxl keeps."""
    return unescape(str(text))


def test_everything_else_is_unchanged(annotated: Annotated, source: Path) -> None:
    before, after = openpyxl.load_workbook(source), annotated(BAD_CNPJ)
    assert after.sheetnames == [*before.sheetnames, SUMMARY_SHEET]
    for row in before[SHEET].iter_rows():
        for cell in row:
            copied = after[SHEET][cell.coordinate]
            assert copied.value == cell.value
            assert copied.number_format == cell.number_format
            assert copied.font.bold == cell.font.bold
            assert copied.fill.fgColor.rgb == cell.fill.fgColor.rgb
    assert after[SHEET].column_dimensions["B"].width == 33
    assert after[SHEET].freeze_panes == "B4"
    assert [str(r) for r in after[SHEET].merged_cells.ranges] == ["D5:D6"]


@pytest.fixture
def rich(tmp_path: Path) -> Path:
    """Workbook with content that libraries lose when they rewrite it."""
    path = tmp_path / "rico.xlsx"
    dot = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet(SHEET)
        sheet.write_row(0, 0, ["nomeComercial", "cnpj", "total"])
        sheet.write_row(1, 0, ["Padaria", "x"])
        sheet.write_formula("C2", "=1+1", None, 2)
        sheet.insert_image("F2", "dot.png", {"image_data": io.BytesIO(dot)})
        sheet.write_comment("A2", "Conferir com a Ana", {"author": "João"})
        sheet.data_validation("A2:A9", {"validate": "length", "criteria": ">", "value": 1})
        chart = book.add_chart({"type": "column"})
        chart.add_series({"values": f"='{SHEET.replace(chr(39), chr(39) * 2)}'!$C$2:$C$2"})
        sheet.insert_chart("F9", chart)
        red = book.add_format({"font_color": "#FF0000"})
        rule = {"type": "cell", "criteria": ">", "value": 1, "format": red}
        sheet.conditional_format("C2:C9", rule)
        sheet.write_url("A4", "https://example.com/")
        sheet.autofilter("A1:C2")
    return path


def test_a_mark_is_readable_and_precedes_other_colours(annotated: Annotated, rich: Path) -> None:
    book = annotated(Finding(CATALOGUE["cnpj-invalid"], 2, "cnpj", "C2", "2"), path=rich)
    mark, existing = [b.rules[0] for b in book[SHEET].conditional_formatting if "C2" in b.cells]
    assert (mark.dxf.fill.bgColor.rgb, mark.dxf.font.color.rgb) == (f"FF{ERROR}", "FF9C0006")
    assert existing.dxf.font.color.rgb == "FFFF0000"


def test_pictures_charts_and_stored_results_are_kept(annotated: Annotated, rich: Path) -> None:
    found = Finding(CATALOGUE["cnpj-invalid"], 2, "cnpj", "B2", "x")
    commented = Finding(CATALOGUE["cnpj-invalid"], 2, "cnpj", "A2", "x")
    annotated(found, commented, path=rich)
    before, after = parts(rich), parts(rich.with_name("marcado.xlsx"))
    assert set(before) <= set(after)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {
        "[Content_Types].xml",
        "xl/_rels/workbook.xml.rels",
        "xl/comments1.xml",
        "xl/drawings/vmlDrawing1.vml",
        "xl/styles.xml",
        "xl/workbook.xml",
        "xl/worksheets/sheet1.xml",
    }
    cells = re.compile(rb"<sheetData>.*</sheetData>", re.DOTALL)
    sheets = [files["xl/worksheets/sheet1.xml"] for files in (before, after)]
    assert len({match[0] for match in map(cells.search, sheets) if match}) == 1
    again = openpyxl.load_workbook(rich.with_name("marcado.xlsx"), data_only=True)
    assert again[SHEET]["C2"].value == 2
    rules = [rule for block in again[SHEET].conditional_formatting for rule in block.rules]
    assert len({rule.priority for rule in rules}) == len(rules) == 2


@pytest.mark.programs
def test_an_annotated_copy_opens_in_libreoffice(
    annotated: Annotated, rich: Path, tmp_path: Path
) -> None:
    annotated(Finding(CATALOGUE["cnpj-invalid"], 2, "cnpj", "B2", "x"), path=rich)
    [saved] = save_with_libreoffice([tmp_path / "marcado.xlsx"], tmp_path / "saved")
    sheet = openpyxl.load_workbook(saved)[SHEET]
    assert "CNPJ" in sheet["B2"].comment.text
    assert "Conferir com a Ana" in sheet["A2"].comment.text
    assert colour(sheet, "B2") == ERROR


def test_a_sheet_in_utf_16_is_annotated(annotated: Annotated, source: Path) -> None:
    files = parts(source)
    name = "xl/worksheets/sheet2.xml"
    text = re.sub(r"^<\?xml.*?\?>", "", files[name].decode())
    files[name] = text.encode("utf-16")
    with zipfile.ZipFile(source, "w") as archive:
        for part, content in files.items():
            archive.writestr(part, content)
    assert colour(annotated(BAD_CNPJ)[SHEET], "C4") == ERROR


def test_findings_are_appended_to_the_analysts_comment(
    annotated: Annotated,
) -> None:
    comment = annotated(BAD_CNPJ, REPEATED)[SHEET]["C4"].comment
    analysts, first, second = (
        comment.text.index(text)
        for text in ("Conferir com a Ana", str(BAD_CNPJ.message), str(REPEATED.message))
    )
    assert analysts < first < second
    assert comment.author == "João"


def test_an_error_takes_precedence_over_a_warning(annotated: Annotated) -> None:
    warning = Finding(CATALOGUE["number-as-text"], 4, "cnpj", "C4", "1", {"read": "1"})
    assert colour(annotated(warning, BAD_CNPJ)[SHEET], "C4") == ERROR


def test_a_longer_comment_gets_a_larger_box(annotated: Annotated, tmp_path: Path) -> None:
    annotated(BAD_CNPJ, REPEATED, TEXT_DATE)
    short, long = sorted(comment_heights(tmp_path / "marcado.xlsx"))
    assert short < long


def comment_heights(path: Path) -> list[int]:
    """Return the heights of comment boxes from the drawing; openpyxl does not read them."""
    [drawing] = [content.decode() for name, content in parts(path).items() if name.endswith(".vml")]
    anchors = re.findall(r"<\w+:Anchor>([^<]+)<", drawing)
    return [int(edges[6]) - int(edges[2]) for edges in (a.split(",") for a in anchors)]


def test_a_finding_inside_merged_cells_marks_the_visible_cell(annotated: Annotated) -> None:
    inside = Finding(CATALOGUE["required-missing"], 6, "d", "D6")
    assert colour(annotated(inside)[SHEET], "D5") == ERROR


def test_a_finding_without_a_cell_marks_the_header(annotated: Annotated) -> None:
    book = annotated(MISSING, WITHOUT_SHEET)
    assert "historico" in book[SHEET]["B3"].comment.text
    assert colour(book[SHEET], "B3") == ERROR
    assert [row[0] for row in summary_rows(book)] == [None, None]
    assert [row[6] for row in summary_rows(book)] == ["column-missing", "sheet-empty"]


def test_the_summary_lists_and_links_every_finding(annotated: Annotated) -> None:
    book = annotated(BAD_CNPJ, TEXT_DATE)
    rows = summary_rows(book)
    assert [row[:2] for row in rows] == [("C4", "cnpj"), ("D5", "d")]
    link = book[SUMMARY_SHEET]["A6"].hyperlink
    assert link.location == "'Lançamentos d''outubro'!C4"
    assert book.active.title == SUMMARY_SHEET
    assert book[SUMMARY_SHEET].freeze_panes == "A6"
    assert book[SUMMARY_SHEET].auto_filter.ref == "A5:G7"


def test_values_in_the_summary_are_not_formulas(annotated: Annotated) -> None:
    cell = annotated(TEXT_DATE)[SUMMARY_SHEET]["D6"]
    assert (cell.value, cell.data_type) == ("=1+1", "s")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("Bela\u00a0Vista\u200b", "Bela␣Vista⟨U+200B⟩"),
        (" a  b\n", "·a  b↵"),
        ("x" * 600, "x" * 80 + "…"),
    ],
)
def test_the_summary_shows_invisible_characters(
    annotated: Annotated, value: str, shown: str
) -> None:
    finding = Finding(CATALOGUE["email-invalid"], 4, "cnpj", "C4", value)
    assert summary_rows(annotated(finding))[0][3] == shown


def test_characters_forbidden_in_xml_do_not_stop_the_copy(annotated: Annotated) -> None:
    finding = Finding(CATALOGUE["hidden-character"], 4, "cnpj", "C4", "a\x07b", {"character": "\0"})
    book = annotated(finding)
    assert summary_rows(book)[0][3] == "a⟨U+0007⟩b"
    assert "\N{REPLACEMENT CHARACTER}" in book[SHEET]["C4"].comment.text


def test_annotating_again_replaces_the_marks(annotated: Annotated, tmp_path: Path) -> None:
    annotated(BAD_CNPJ, TEXT_DATE)
    (tmp_path / "marcado.xlsx").rename(tmp_path / "de-novo.xlsx")
    book = annotated(TEXT_DATE, path=tmp_path / "de-novo.xlsx")
    sheet = book[SHEET]
    assert sheet["C4"].comment.text == "Conferir com a Ana"
    assert colour(sheet, "C4") is None
    assert colour(sheet, "D5") == WARNING
    assert sheet["D5"].comment.text.count(str(TEXT_DATE.message)) == 1
    assert book.sheetnames.count(SUMMARY_SHEET) == 1
    assert len(summary_rows(book)) == 1


def test_the_analysts_sheet_named_like_the_summary_is_kept(
    annotated: Annotated, source: Path
) -> None:
    book = openpyxl.load_workbook(source)
    book["Capa"].title = SUMMARY_SHEET
    book[SUMMARY_SHEET]["A1"] = "minhas notas"
    book.save(source)
    after = annotated(BAD_CNPJ)
    assert after[SUMMARY_SHEET]["A1"].value == "minhas notas"
    assert len(after.sheetnames) == 3
    assert after.active["A6"].value == "C4"


def test_all_cells_of_a_combined_finding_are_coloured(annotated: Annotated) -> None:
    combined = replace(TEXT_DATE, row=4, cell="D4", cells=3)
    book = annotated(BAD_CNPJ, combined, extra_cells=["C4", "D4", "D5", "D6"])
    assert [colour(book[SHEET], address) for address in ("C4", "D4", "D6")] == [
        ERROR,
        WARNING,
        WARNING,
    ]
    assert "3 cells of the column" in book[SHEET]["D4"].comment.text
    assert book[SHEET]["D6"].comment is None
    assert len(summary_rows(book)) == 2


@pytest.mark.slow
def test_ten_thousand_cells_are_marked_in_few_ranges(tmp_path: Path, source: Path) -> None:
    many = [
        Finding(CATALOGUE["type-boolean"], row, "d", f"D{row}", "x") for row in range(10, 12_010)
    ]
    path = tmp_path / "marcado.xlsx"
    summary = AnnotationSummary("meu.xlsx", {SHEET: "cliente"}, rows=2, errors=12_000, warnings=1)
    annotate(source, path, [AnnotatedSheet(SHEET, many, 1, [])], summary)
    # openpyxl takes seconds to read so many comments.
    written = {name: content.decode() for name, content in parts(path).items() if "xml" in name}
    (sheet,) = (content for content in written.values() if "<conditionalFormatting" in content)
    assert re.findall(r'<conditionalFormatting sqref="([^"]*)"', sheet) == ["D10:D10009"]
    (comments,) = (content for content in written.values() if 'ref="D10009"' in content)
    assert comments.count("<comment ") == 10_001
    assert 'ref="D10010"' not in comments
    (summary,) = (content for content in written.values() if "of 12001 findings" in content)
    assert "The first 10000 of 12001 findings" in summary
    assert summary.count("<row ") == 10_004


@pytest.mark.parametrize(("language", "word"), [("pt-BR", "O que fazer"), ("en", "What to do")])
def test_the_summary_is_in_the_chosen_language(
    annotated: Annotated, language: str, word: str
) -> None:
    set_language(language)
    try:
        assert word in [cell.value for cell in annotated(BAD_CNPJ)[SUMMARY_SHEET][5]]
    finally:
        set_language("en")


def test_unreadable_workbooks_and_missing_folders_are_refused(tmp_path: Path, source: Path) -> None:
    summary = AnnotationSummary("x", {SHEET: "cliente"}, 0, 0, 0)
    broken = tmp_path / "broken.xlsx"
    broken.write_bytes(source.read_bytes()[:500])
    for path, sheet in ((broken, SHEET), (source, "nada")):
        with pytest.raises(WorkbookRefused):
            annotate(path, tmp_path / "out.xlsx", [AnnotatedSheet(sheet, [])], summary)
    with pytest.raises(UsageError):
        annotate(source, tmp_path / "nope" / "out.xlsx", [AnnotatedSheet(SHEET, [])], summary)
    assert not (tmp_path / "out.xlsx").exists()
