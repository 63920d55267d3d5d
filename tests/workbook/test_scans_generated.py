"""The quick scan has the result of the exact one, or none, for generated sheets.

Inside: workbook.
"""

from collections.abc import Sequence
from contextlib import suppress
from xml.sax.saxutils import escape

from hypothesis import given, strategies as st
from packing import MAIN
from quick_scanning import scan_quickly
from sampling import examples

from xlbridge.errors import WorkbookRefused
from xlbridge.workbook import column_letters
from xlbridge.workbook.read.sheet_scans import scan_exactly

SCALING = {2: 100.0}

ROW_MARKS = [
    "",
    ' ht="0" customHeight="1"',
    ' hidden="1"',
    ' hidden="true"',
    ' hidden="0"',
    ' ht="15" hidden="1" spans="1:3"',
]
BELOW = [
    "",
    '<mergeCells count="1"><mergeCell ref="A2:B3"/></mergeCells>',
    '<mergeCells count="2"><mergeCell ref="A1:A2" /><mergeCell\nref="B1:B2"/></mergeCells>',
    "<dataValidations><dataValidation><formula1>B1</formula1></dataValidation></dataValidations>",
    '<extLst><ext><x14:f xmlns:x14="x"><xm:f xmlns:xm="m">L!A1</xm:f></x14:f></ext></extLst>',
]
ABOVE = [
    "",
    '<cols><col min="2" max="3" width="0.0" customWidth="1"/></cols>',
    '<cols><col min="1" max="2" width="9" hidden="1" customWidth="1"/></cols>',
]
TEXTS = ["a", ' t="e"', "a>b", '<c r="A1" hidden="1">', "<f>", "<v>", "é&", "!", "it's"]
FORMULAS = [
    "<f>A1+1</f>",
    "<f>SUM(A1:A9)</f>",
    "<f>SUBTOTAL(9,B1:B3)</f>",
    '<f t="shared" si="0"/>',
    '<f t="array" ref="A1">A1&gt;2</f>',
    "<f/>",
]
RESULTS = ["<v>2</v>", "<v></v>", "<v/>", "<v />", "", "<v>-7</v>", "<v>1.5E-07</v>"]
ERRORS = ["<v>#N/A</v>", "<v>#REF!</v>", "<v></v>", "<v/>", ""]
STYLES = ["", ' s="1"', ' s="2"']
SPACES = ["", "", "", " ", "\n"]


def inline(text: str) -> str:
    return f"<is><t>{escape(text)}</t></is>"


USUAL = st.one_of(
    st.tuples(st.just(""), st.sampled_from(RESULTS)),
    st.tuples(st.just(' t="s"'), st.just("<v>0</v>")),
    st.tuples(st.just(' t="b"'), st.sampled_from(["<v>1</v>", "<f>A1</f><v>0</v>", "<f/>"])),
    st.tuples(st.just(' t="inlineStr"'), st.sampled_from(TEXTS).map(inline)),
    st.tuples(st.just(' t="e"'), st.sampled_from(ERRORS)),
    st.tuples(
        st.sampled_from(["", ' t="str"', ' t="e"']),
        st.tuples(*map(st.sampled_from, (FORMULAS, RESULTS))).map("".join),
    ),
)
UNUSUAL = st.sampled_from(
    [
        (' t="inlineStr"', inline("='x'")),
        (' t="e"', "<v>&#35;N/A</v>"),
        (" t='e'", "<v>#N/A</v>"),
        ("", "<!-- <f/> --><v>1</v>"),
        ("", "<v >3</v >"),
        ("", "<f>A1</f>\n<v>2</v>"),
        ("", "<v>1</v><v>2</v>"),
        (' t="s"', "<v>+1</v>"),
    ]
)


@st.composite
def cells(draw: st.DrawFn, row: int, column: int, odd: bool) -> str:
    address = f"{column_letters(column)}{row}"
    addresses = [f' r="{address}"']
    if odd and draw(st.integers(0, 9)) == 0:
        addresses = ["", f" r='{address}'", f' r="{address.lower()}"']
    kind, content = draw(USUAL | UNUSUAL if odd else USUAL)
    style = draw(st.sampled_from(STYLES))
    address, others = draw(st.sampled_from(addresses)), draw(st.permutations([style, kind]))
    attributes = draw(st.permutations([address, *others])) if odd else [address, *others]
    opened = f"<c{''.join(attributes)}{draw(st.sampled_from(SPACES)) if odd else ''}"
    return f"{opened}/>" if not content else f"{opened}>{content}</c>"


@st.composite
def sheets(draw: st.DrawFn, odd: bool) -> bytes:
    rows = []
    for row in draw(st.lists(st.integers(1, 40), unique=True, max_size=6).map(sorted)):
        columns = draw(st.lists(st.integers(0, 3), unique=True, max_size=4).map(sorted))
        number = "" if odd and draw(st.integers(0, 9)) == 0 else f' r="{row}"'
        inner = "".join(draw(cells(row, column, odd)) for column in columns)
        rows.append(f"<row{number}{draw(st.sampled_from(ROW_MARKS))}>{inner}</row>")
    above, below = draw(st.sampled_from(ABOVE)), draw(st.sampled_from(BELOW))
    data = f"<sheetData>{''.join(rows)}</sheetData>"
    return f'<worksheet xmlns="{MAIN}">{above}{data}{below}</worksheet>'.encode()


def pieces_of(sheet: bytes, cuts: Sequence[int]) -> list[bytes]:
    ends = [*sorted(cut % len(sheet) for cut in cuts), len(sheet)]
    return [sheet[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


CUTS = st.lists(st.integers(0, 10_000), max_size=3)


@examples(50)
@given(sheet=sheets(odd=False), cuts=CUTS)
def test_quick_and_exact_scan_agree_on_usual_sheets(sheet: bytes, cuts: Sequence[int]) -> None:
    quick = scan_quickly(pieces_of(sheet, cuts), SCALING)
    assert quick == scan_exactly([sheet], SCALING).raw


@examples(50)
@given(sheet=sheets(odd=True), cuts=CUTS)
def test_the_quick_scan_agrees_or_gives_up_on_unusual_sheets(
    sheet: bytes, cuts: Sequence[int]
) -> None:
    quick = scan_quickly(pieces_of(sheet, cuts), SCALING)
    exact = None
    with suppress(WorkbookRefused):
        exact = scan_exactly([sheet], SCALING).raw
    assert quick in (None, exact)
