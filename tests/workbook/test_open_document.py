"""Texts and formats of an .ods workbook are read as LibreOffice shows them."""

from pathlib import Path

import pytest
import xlsxwriter
from open_document import date_cell, number_cell, of_text, style_of, text_cell, write_ods
from packing import packed, unpacked
from xlsb_writer import write_xlsb

from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import SheetCells, read_workbook


def read(path: Path) -> SheetCells:
    """Read a workbook in this process, like the parser process."""
    (sheet,) = read_workbook(path, WorkbookLimits(), trusted=path.read_bytes()).sheets
    return sheet


_BOX = "<draw:frame><draw:text-box><text:p>CONFERIDO</text:p></draw:text-box></draw:frame>"
_PICTURE = (
    "<draw:frame><draw:image><text:p/></draw:image><svg:title>Logo</svg:title>"
    "<svg:desc>Logotipo da empresa</svg:desc></draw:frame>"
)
_SHAPE = "<draw:custom-shape><text:p><text:span>NOTA</text:span></text:p></draw:custom-shape>"
_RUBY = (
    "<text:ruby><text:ruby-base>Ana</text:ruby-base><text:ruby-text>anna</text:ruby-text>"
    "</text:ruby>"
)
_NOTE = (
    "<text:note><text:note-citation>1</text:note-citation>"
    "<text:note-body><text:p>rodapé</text:p></text:note-body></text:note>"
)
_COMMENT = "<office:annotation><text:p>conferir</text:p></office:annotation>"
TEXTS = {
    "<text:p>Bloco A</text:p>": "Bloco A",
    "<text:p>Bloco A<text:line-break/>10</text:p>": "Bloco A\n10",
    "<text:p>Bloco A</text:p><text:p>10</text:p>": "Bloco A\n10",
    "<text:p>Bloco A</text:p><text:p/><text:p>10</text:p>": "Bloco A\n\n10",
    "<text:p>Parcela<text:tab/>2</text:p>": "Parcela\t2",
    '<text:p>a<text:s/><text:s text:c="2"/>b</text:p>': "a   b",
    "<text:p>a <text:s/>b</text:p>": "a  b",
    "<text:p>\n   Teste\n   longo\n</text:p>": "Teste longo",
    "<text:p>fim </text:p>": "fim ",
    "<text:p>um <text:span>dois</text:span> <text:span> tres</text:span></text:p>": "um dois tres",
    "<text:p><text:span>a<text:line-break/></text:span>b</text:p>": "a\nb",
    '<text:p>site <text:a>loja</text:a><text:tab/>x</text:p>': "site loja\tx",
    f"<text:p>Teste</text:p>{_BOX}": "Teste",
    f"{_BOX}<text:p>Teste</text:p>": "Teste",
    f"<text:p>Teste</text:p>{_PICTURE}": "Teste",
    f"<text:p>Teste</text:p>{_SHAPE}{_PICTURE}": "Teste",
    f"<text:p>Teste{_BOX} dois</text:p>": "Teste dois",
    f"<text:p>{_RUBY} Lima</text:p>": "Ana Lima",
    f"<text:p>{_RUBY}{_RUBY}</text:p>": "AnaAna",
    f"<text:p>Sra. {_RUBY}<text:tab/>x</text:p>": "Sra. Ana\tx",
    f"<text:p><text:span>{_RUBY} e <text:a>{_RUBY}</text:a></text:span></text:p>": "Ana e Ana",
    f"<text:p>{_RUBY}</text:p><text:p>{_RUBY}</text:p>": "Ana\nAna",
    f"<text:p>Teste{_NOTE}</text:p>": "Teste",
    f"{_COMMENT}<text:p>Teste</text:p>": "Teste",
    f"<text:p>Teste<text:tab/></text:p>{_COMMENT}": "Teste\t",
    "<text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>": "item",
    "<text:p>a &amp; b</text:p>": "a & b",
    "<text:h>Título</text:h>": "Título",
    "\n  <text:p>Teste</text:p>\n": "Teste",
    "\n  <text:p>Bloco A</text:p>\n  <text:p>10</text:p>\n": "Bloco A\n10",
    f"\n{_COMMENT}\n<text:p>Teste</text:p>\n": "Teste",
    _BOX: "",
    f"{_SHAPE}{_PICTURE}": "",
}  # fmt: skip


def test_a_text_is_that_of_its_cell(tmp_path: Path) -> None:
    rows = [[of_text(xml), text_cell("fim")] for xml in TEXTS]
    sheet = read(write_ods(tmp_path / "a.ods", rows))
    assert {xml: sheet.row(n)[0] for n, xml in enumerate(TEXTS)} == TEXTS
    assert {sheet.row(n)[1] for n in range(len(rows))} == {"fim"}


def test_a_shape_on_a_number_or_an_empty_cell_is_no_text(tmp_path: Path) -> None:
    on_number = number_cell(100.5).replace("</table:table-cell>", f"{_BOX}</table:table-cell>")
    empty = f"<table:table-cell>{_SHAPE}</table:table-cell>"
    repeated = of_text("<text:p>x<text:tab/>y</text:p>").replace(
        "<table:table-cell", '<table:table-cell table:number-columns-repeated="2"'
    )
    path = write_ods(tmp_path / "a.ods", [[on_number, empty, repeated], [empty, text_cell("z")]])
    sheet = read(path)
    assert [sheet.row(n) for n in range(2)] == [[100.5, "", "x\ty", "x\ty"], ["", "z", "", ""]]


def test_a_text_without_a_type_or_a_value_is_not_lost(tmp_path: Path) -> None:
    untyped = "<table:table-cell><text:p>sem tipo</text:p></table:table-cell>"
    no_value = '<table:table-cell office:value-type="float"><text:p>5</text:p></table:table-cell>'
    path = write_ods(
        tmp_path / "a.ods", [["<table:table-cell/>", text_cell("x")], [untyped, no_value]]
    )
    sheet = read(path)
    assert [sheet.row(n) for n in range(2)] == [["", "x"], ["sem tipo", "5"]]
    void = '<table:table-cell office:value-type="void">{}</table:table-cell>'
    cells = [void.format("<text:p>vazio</text:p>"), void.format(""), text_cell("x")]
    assert read(write_ods(tmp_path / "b.ods", [cells])).row(0) == ["vazio", "", "x"]


_DIGITS = '<number:number number:decimal-places="2" number:min-integer-digits="1"/>'
PERCENTAGES = {
    "a percentage": ("percentage", f"{_DIGITS}<number:text>%</number:text>", True),
    "a percentage and a text": ("percentage", f"{_DIGITS}<number:text> % a.m.</number:text>", True),
    "a literal sign": ("number", f"{_DIGITS}<number:text>%</number:text>", False),
    "a literal sign before": ("number", f"<number:text>% </number:text>{_DIGITS}", False),
    "a literal sign within": ("number", f"{_DIGITS}<number:text> % ao mês</number:text>", False),
    "a literal sign of an amount": ("currency", f"{_DIGITS}<number:text>%</number:text>", False),
    "no sign": ("number", _DIGITS, False),
}


@pytest.mark.parametrize("name", PERCENTAGES)
def test_a_literal_percent_sign_does_not_multiply(name: str, tmp_path: Path) -> None:
    kind, parts, is_percentage = PERCENTAGES[name]
    path = write_ods(tmp_path / "a.ods", [[number_cell(0.5, "c")]], style_of("c", kind, parts))
    assert read(path).raw.scaled == ({(1, 0): 100.0} if is_percentage else {})


def test_twins_in_all_formats_say_the_same(tmp_path: Path) -> None:
    """A sheet with line breaks, tabs, spaces, a literal percent sign and dates."""
    texts = ["Bloco A\n10", "Parcela\t2", "a  b", "Ana"]
    source, binary = tmp_path / "a.xlsx", tmp_path / "a.xlsb"
    with xlsxwriter.Workbook(source) as book:
        page = book.add_worksheet("Plan1")
        page.write_row(0, 0, texts)
        page.write_number(0, 4, 12.5, book.add_format({"num_format": '0.00"%"'}))
    write_xlsb(source, binary)
    cells = [
        of_text("<text:p>Bloco A<text:line-break/>10</text:p>"),
        of_text(f"<text:p>Parcela<text:tab/>2</text:p>{_BOX}"),
        of_text("<text:p>a <text:s/>b</text:p>"),
        of_text(f"<text:p>{_RUBY}</text:p>"),
        number_cell(12.5, "c"),
    ]
    style = style_of("c", "number", f"{_DIGITS}<number:text>%</number:text>")
    document = write_ods(tmp_path / "a.ods", [cells], style)
    sheets = [read(path) for path in (source, binary, document)]
    assert [sheet.row(0) for sheet in sheets] == [[*texts, 12.5]] * 3
    assert [sheet.raw.scaled for sheet in sheets] == [{}] * 3


def test_a_date_beside_a_replaced_text_stays_a_date(tmp_path: Path) -> None:
    cells = [date_cell("2026-10-31"), of_text("<text:p>a<text:tab/>b</text:p>")]
    day, text = read(write_ods(tmp_path / "a.ods", [cells])).row(0)
    assert (str(day), text) == ("2026-10-31", "a\tb")


GROUPS = {
    "collapsed": ('<table:table-row-group table:display="false">', {2, 3}),
    "open": ("<table:table-row-group>", set()),
    "open by name": ('<table:table-row-group table:display="true">', set()),
    "collapsed within an open one": (
        '<table:table-row-group><table:table-row-group table:display="false">', {2, 3}
    ),
    "open within a collapsed one": (
        '<table:table-row-group table:display="false"><table:table-row-group>', {2, 3}
    ),
}  # fmt: skip
"""Starts of groups around the second and the third of four rows, and the hidden rows."""


@pytest.mark.parametrize("name", GROUPS)
def test_rows_of_collapsed_groups_are_hidden(name: str, tmp_path: Path) -> None:
    start, hidden = GROUPS[name]
    path = write_ods(tmp_path / "a.ods", [[text_cell(str(n))] for n in range(4)])
    parts = unpacked(path)
    pieces = parts["content.xml"].decode().split("<table:table-row>")
    end = "</table:table-row-group>" * start.count("<")
    pieces[2] = start + "<table:table-row>" + pieces[2]
    pieces[3] = f"<table:table-row>{pieces[3]}{end}<table:table-row>"
    content = "<table:table-row>".join(pieces[:2]) + "".join(pieces[2:])
    path.write_bytes(packed({**parts, "content.xml": content.encode()}))
    sheet = read(path)
    assert (sheet.height, sheet.raw.layout.hidden_rows) == (4, hidden)
