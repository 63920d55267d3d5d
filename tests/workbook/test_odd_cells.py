"""Cells that readers interpret differently are refused and named, never misread."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from packing import FIRST_ROWS, MAIN, SHEET, STRINGS, WORKBOOK, good_parts, packed, text_cell
from sampling import sampled

from xlbridge.errors import WorkbookRefused
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import WorkbookCells, read_workbook

TEXTS = ("zero", "um", "dois")
FILLING = "".join(
    f'<row r="{n}"><c r="A{n}" s="1"><v>{n}</v></c>{text_cell(f"B{n}", "texto")}</row>'
    for n in range(4, 4_000)
)
"""Rows that make a sheet large enough for the quick scan in a parser process."""


def workbook(folder: Path, rows: str, *, large: bool, after: str = "") -> Path:
    """Write a workbook with the given rows from row 3 on, as a small or a large sheet."""
    texts = "".join(f"<si><t>{text}</t></si>" for text in TEXTS)
    content = f"{FIRST_ROWS}{rows}{FILLING if large else ''}"
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{content}</sheetData>{after}</worksheet>'
    strings = f'<sst xmlns="{MAIN}">{texts}</sst>'
    path = folder / "a.xlsx"
    parts = good_parts(folder) | {SHEET: sheet.encode(), STRINGS: strings.encode()}
    path.write_bytes(packed(parts))
    return path


def parsed(path: Path) -> WorkbookCells:
    """Read a workbook in this process, like the parser process."""
    return read_workbook(path, WorkbookLimits(), trusted=path.read_bytes())


def row_3(cells: str) -> str:
    return f'<row r="3">{cells}</row>'


ODD = {
    "text number with a sign": '<c r="A3" t="s"><v>+1</v></c>',
    "text number with decimals": '<c r="A3" t="s"><v>1.0</v></c>',
    "text number below zero": '<c r="A3" t="s"><v>-1</v></c>',
    "text number beyond all": '<c r="A3" t="s"><v>18446744073709551617</v></c>',
    "text number that is none": '<c r="A3" t="s"><v>um</v></c>',
    "text number by a reference": '<c r="A3" t="s"><v>&#49;</v></c>',
    "text number and a text": '<c r="A3" t="s"><is><t>x</t></is><v>1</v></c>',
    "reference in a number": '<c r="A3"><v>12&#51;4</v></c>',
    "reference at the end of a number": '<c r="A3"><v>12&#51;</v></c>',
    "instruction in a number": '<c r="A3"><v>12<?x y?>34</v></c>',
    "instruction in a text": '<c r="A3" t="str"><v>ab<?x y?>cd</v></c>',
    "comment in a number": '<c r="A3"><v>12<!-- x -->34</v></c>',
    "comment in a text": '<c r="A3" t="str"><v>12<!-- x -->34</v></c>',
    "literal part of a text": '<c r="A3" t="str"><v>12<![CDATA[<3>]]>4</v></c>',
    "element in a number": '<c r="A3"><v>12<b/>34</v></c>',
    "two values": '<c r="A3"><v>1</v><v>2</v></c>',
    "a value and an empty one": '<c r="A3"><v>1</v><v/></c>',
    "an empty value and one": '<c r="A3"><v/><v>1</v></c>',
    "two values of a text": '<c r="A3" t="str"><v>1</v><v>2</v></c>',
    "two texts": '<c r="A3" t="inlineStr"><is><t>x</t></is><is><t>y</t></is></c>',
    "a value and a text": '<c r="A3"><v>1</v><is><t>x</t></is></c>',
    "a text and a value": '<c r="A3"><is><t>x</t></is><v>1</v></c>',
    "a text of its own and a value": '<c r="A3" t="inlineStr"><is><t>x</t></is><v>1</v></c>',
    "a value in place of a text": '<c r="A3" t="inlineStr"><v>1</v></c>',
    "a text in a number": '<c r="A3"><is><t>12</t></is></c>',
    "a formula after its value": '<c r="A3"><v>2</v><f>1+1</f></c>',
    "words for a number": '<c r="A3"><v>dez</v></c>',
    "comma in a number": '<c r="A3"><v>12,5</v></c>',
    "spaces in a number": '<c r="A3"><v>1 2</v></c>',
    "spaces by references": '<c r="A3"><v>12&#32;</v></c>',
    "a break by a reference": '<c r="A3"><v>12&#10;</v></c>',
    "spaces around a number beside a comment": '<c r="A3"><!-- x --><v> 12 </v></c>',
    "two signs": '<c r="A3"><v>1-2</v></c>',
    "the address twice": '<c r="A3"><v>1</v></c><c r="A3"><v>2</v></c>',
    "the address twice, once empty": '<c r="A3"><v>1</v></c><c r="A3"/>',
    "addresses that go back": '<c r="B3"><v>1</v></c><c r="A3"><v>2</v></c>',
    "an address of another row": '<c r="A2"><v>1</v></c>',
    "an address of a later row": '<c r="A9"><v>1</v></c>',
    "an address counted twice": '<c r="B3"><v>1</v></c><c><v>2</v></c><c r="C3"><v>3</v></c>',
}
ODD_ROWS = {
    "a row twice": row_3('<c r="A3"><v>1</v></c>') + row_3('<c r="A3"><v>2</v></c>'),
    "a row in two parts": row_3('<c r="A3"><v>1</v></c>') + row_3('<c r="B3"><v>2</v></c>'),
    "rows that go back": '<row r="4"><c r="A4"><v>1</v></c></row>'
    + row_3('<c r="A3"><v>2</v></c>'),
    "a row that is counted as another": '<row><c r="A7"><v>1</v></c></row>',
}
SIZES = pytest.mark.parametrize("large", [False, True], ids=["small", "large"])


def of_each_size(cases: Iterable[str]) -> pytest.MarkDecorator:
    """Each case in a small and a large sheet; most large ones run only in the slow suite."""
    both_sizes = ((case, large) for case in cases for large in (False, True))
    some = sampled(both_sizes, lambda index, case: not case[1] or index % 12 == 1)
    return pytest.mark.parametrize(("name", "large"), some)


REFUSED = {**{name: row_3(cell) for name, cell in ODD.items()}, **ODD_ROWS}


@of_each_size(REFUSED)
def test_a_cell_that_readers_interpret_differently_is_refused(
    tmp_path: Path, name: str, large: bool
) -> None:
    with pytest.raises(WorkbookRefused) as refusal:
        parsed(workbook(tmp_path, REFUSED[name], large=large))
    assert refusal.value.code == "unreadable"
    assert re.search(r"cell [A-C]\d of the sheet 'Plan1'", refusal.value.message.en)


@SIZES
def test_the_parser_process_names_the_cell_too(tmp_path: Path, large: bool) -> None:
    path = workbook(tmp_path, row_3(ODD["two values"]), large=large)
    with pytest.raises(WorkbookRefused, match=r"cell A3 of the sheet 'Plan1'"):
        read_workbook(path, WorkbookLimits())


GOOD = {
    '<c r="A3" t="s"><v>2</v></c>': "dois",
    '<c r="A3" t="s"><v>02</v></c>': "dois",
    '<c s="1" r="A3" t="s"><v>2</v></c>': "dois",
    '<c r="A3" t="s" s="1"><v>2</v></c>': "dois",
    '<c r="A3" t="s"><v></v></c>': "",
    '<c r="A3"><v>12.50</v></c>': 12.5,
    '<c r="A3" t="n"><v>-1.5E+2</v></c>': -150.0,
    '<c r="A3"><v>1e-05</v></c>': 1e-05,
    '<c r="A3"><v>.5</v></c>': 0.5,
    '<c r="A3"><v xml:space="preserve">5</v></c>': 5.0,
    '<c r="A3"><v\n>5</v ></c >': 5.0,
    '<c r="A3"><!-- beside --><v>5</v></c>': 5.0,
    '<c r="A3"><f>2+3</f><v>5</v></c>': 5.0,
    '<c r="A3"><f t="shared" si="0"/><v>5</v></c>': 5.0,
    '<c r="A3" t="b"><v>0</v></c>': False,
    '<c r="A3" t="b"><v>true</v></c>': True,
    '<c r="A3" t="str"><f>"a"&amp;"b"</f><v>a &amp; b&#51;</v></c>': "a & b3",
    '<c r="A3" t="str"><v>a\nb</v></c>': "a\nb",
    '<c r="A3" t="inlineStr"><is><t>a &amp; b&#51;</t></is></c>': "a & b3",
    '<c r="A3" t="inlineStr"><is><t>a<![CDATA[<b>]]></t></is></c>': "a<b>",
    '<c r="A3" t="inlineStr"><is><r><rPr><b/></rPr><t>a</t></r><r><t>b</t></r></is></c>': "ab",
    '<c r="A3" t="inlineStr"><is><t>a</t><rPh sb="0" eb="1"><t>b</t></rPh></is></c>': "a",
    '<c r="A3" t="inlineStr"><is><t>a&#11;b</t></is></c>': "a\x0bb",
    '<c r="A3" t="inlineStr"><is><t>a&#x0B;b</t></is></c>': "a\x0bb",
    '<c r="A3" t="inlineStr"><is><t>a_x000B_b</t></is></c>': "a\x0bb",
    '<c r="A3" t="inlineStr"><is><t>a\x0bb</t></is></c>': "a\x0bb",
    '<c r="A3" t="inlineStr"><is><t>a&#31;&#1;b</t></is></c>': "a\x1f\x01b",
    '<c r="A3" t="str"><v>a&#11;b</v></c>': "a\x0bb",
    '<c r="A3" t="s"><v> 1 </v></c>': "um",
    '<c r="A3" t="s"><v>\n1\n</v></c>': "um",
    '<c r="A3" t="b"><v> 0 </v></c>': False,
    '<c r="A3"><v> 12 </v></c>': 12.0,
    '<c r="A3" t="n"><v>\t12.5\r\n</v></c>': 12.5,
    '<c r="A3"><f>6+6</f>\n<v>\n  12\n</v>\n</c>': 12.0,
    '<c r="A3" t="str"><v> a </v></c><c r="B3"><v> 1 </v></c>': " a ",
    "<c><v>5</v></c>": 5.0,
    '<c r="a3"><v>5</v></c>': 5.0,
    "<c r='A3'><v>5</v></c>": 5.0,
}


@of_each_size(GOOD)
def test_an_unambiguous_cell_is_read(tmp_path: Path, name: str, large: bool) -> None:
    (sheet,) = parsed(workbook(tmp_path, row_3(name), large=large)).sheets
    assert [sheet.columns[0].value(row) for row in (2, 1)] == [GOOD[name], "Padaria Estrela"]


@SIZES
def test_elements_below_the_rows_are_not_rows(tmp_path: Path, large: bool) -> None:
    after = '<rowBreaks count="1"><brk id="2"/></rowBreaks><controls><row>1</row></controls>'
    path = workbook(tmp_path, row_3('<c r="A3"><v>5</v></c>'), large=large, after=after)
    (sheet,) = read_workbook(path, WorkbookLimits()).sheets
    assert sheet.columns[0].value(2) == 5.0


@SIZES
def test_a_second_sheet_data_element_is_refused(tmp_path: Path, large: bool) -> None:
    after = "<sheetData>" + row_3('<c r="A3"><v>7</v></c>') + "</sheetData>"
    path = workbook(tmp_path, "", large=large, after=after)
    with pytest.raises(WorkbookRefused):
        read_workbook(path, WorkbookLimits())


def test_two_sheets_of_one_name_are_refused(tmp_path: Path) -> None:
    parts = dict(good_parts(tmp_path))
    sheet = b'<sheet name="Plan1" sheetId="1" r:id="rId1"/>'
    assert sheet in parts[WORKBOOK]
    parts[WORKBOOK] = parts[WORKBOOK].replace(sheet, sheet + sheet.replace(b'Id="1"', b'Id="2"'))
    path = tmp_path / "a.xlsx"
    path.write_bytes(packed(parts))
    with pytest.raises(WorkbookRefused):
        read_workbook(path, WorkbookLimits())
