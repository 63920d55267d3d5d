"""``--fix``: unambiguous values are fixed in a copy, everything else stays unchanged.

Inside: validation.
"""

import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import openpyxl
import pytest
import xlsxwriter
from fixed_copies import cells_of, finding_counts, fix_and_validate, write_fixed_copy
from hypothesis import given, strategies as st
from packing import MAIN, RELATIONS, SHEET, STYLES, TYPES, good_parts, packed
from sampling import across, examples
from sheets import GOOD, Formula, write_records

from xlbridge.errors import UsageError
from xlbridge.resources import Catalogue
from xlbridge.resources.findings import Finding
from xlbridge.settings import ParseOptions
from xlbridge.validation import validate_workbook
from xlbridge.validation.report import fixes_text
from xlbridge.validation.report_formats import fixes_json
from xlbridge.validation.results import FixedCopy

CR, CP = "contasreceber", "contaspagar"


def change_counts(changes: Sequence[Finding]) -> Counter[tuple[str | None, str]]:
    return Counter((change.cell, change.kind.code) for change in changes)


@pytest.mark.parametrize(
    ("resource", "column", "value", "stored"),
    [
        (CR, "valorDoLancamento", "1.234,56", 1234.56),
        (CR, "valorDoLancamento", " R$ 10 ", 10),
        (CR, "codigoDoCliente", "1001", 1001),
        (CR, "dataDeVencimento", "31/12/2026", datetime(2026, 12, 31)),
        (CR, "dataDeVencimento", "2026-12-31", datetime(2026, 12, 31)),
        ("cliente", "nomeComercial", "  Padaria & Cia <Sol> ", "Padaria & Cia <Sol>"),
        ("cliente", "nomeComercial", "Açougue\N{ZERO WIDTH SPACE} São João", "Açougue São João"),
        ("cliente", "cpf", 1234567890, "01234567890"),
        ("cliente", "cnpj", "12abc34501de35", "12.ABC.345/01DE-35"),
        ("cliente", "cnpj", "11.222.333/0001–81", "11.222.333/0001-81"),
        ("cliente", "natureza", "j", "J"),
    ],
)
def test_unambiguous_values_are_fixed(
    tmp_path: Path, catalogue: Catalogue, resource: str, column: str, value: Any, stored: Any
) -> None:
    first = {"cnpj": "12.ABC.345/01DE-35"} if value == "11.222.333/0001–81" else {}
    path = write_records(tmp_path / "a.xlsx", resource, [first, {column: value}])
    validated, changes, after = fix_and_validate(path, catalogue, resource=resource)
    (change,) = changes
    assert finding_counts(validated) - finding_counts(after) == change_counts(changes)
    assert after.frame.equals(validated.frame)
    assert cells_of(path.with_name("fixed.xlsx"), "Plan1")[change.cell] == stored


@pytest.mark.parametrize(
    ("resource", "column", "value"),
    [
        (CR, "valorDoLancamento", "1.234"),
        (CR, "valorDoLancamento", "dez"),
        (CR, "valorDoLancamento", 10.555),
        (CR, "dataDeVencimento", "01/11/2026"),
        (CR, "dataDeVencimento", "31/10/26"),
        (CR, "dataDeVencimento", "31/10/2026 10:30"),
        (CR, "dataDeVencimento", Formula("=A1")),
        ("cliente", "cnpj", 1222333000181),
        ("cliente", "cnpj", "12.АBC.345/01DE-35"),
        ("cliente", "nomeComercial", "Pаdaria"),
        ("nota-fiscal-servico", "ClassificacaoIBSCBS", 1),
    ],
)
def test_uncertain_values_are_left_unchanged(
    tmp_path: Path, catalogue: Catalogue, resource: str, column: str, value: Any
) -> None:
    path = write_records(tmp_path / "a.xlsx", resource, [{"seuCodigo": "1"}, {column: value}])
    validated, changes, after = fix_and_validate(path, catalogue, resource=resource)
    assert changes == []
    assert validated.findings == after.findings


@pytest.mark.parametrize(
    ("form", "text"),
    across(["0.00%", "dd/mm/yyyy", "[h]:mm", "#,##0,", "@"], ["15,50", "1.234,56"]),
)
def test_fixed_number_is_displayed_correctly(
    tmp_path: Path, catalogue: Catalogue, text: str, form: str
) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{"valorDoLancamento": text}])
    book = openpyxl.load_workbook(path)
    cell = next(c for c in book["Plan1"][2] if c.value == text)
    cell.number_format = form
    book.save(path)
    validated, changes, after = fix_and_validate(path, catalogue)
    assert len(changes) == 1
    assert after.findings == []
    assert after.frame.equals(validated.frame)


def test_declared_order_makes_ambiguous_dates_fixable(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{"dataDeVencimento": "01/11/2026"}])
    _, changes, after = fix_and_validate(path, catalogue, reading=ParseOptions(dates="dmy"))
    assert [change.corrected for change in changes] == [date(2026, 11, 1)]
    assert after.findings == []


DUE, AMOUNT = "dataDeVencimento", "valorDoLancamento"


@pytest.mark.parametrize(
    ("column", "texts", "count"),
    [
        (DUE, ["31/10/2026", "10/31/2026", "01/11/2026"], 2),
        (DUE, ["31/12/2026"] * 6 + ["30/12/2026 10:30"], 6),
        (DUE, ["31/12/2026", "01/12/2026", "30/12/2026 10:30"], 2),
        (AMOUNT, ["1.234,56", "1,234.56", "R$ 10,00", "10"], 4),
        (AMOUNT, ["1.234,56", "1,234.56", "1.234"], 2),
    ],
)
def test_cells_unambiguous_by_themselves_are_fixed(
    tmp_path: Path, catalogue: Catalogue, column: str, texts: list[str], count: int
) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{column: text} for text in texts])
    validated, changes, after = fix_and_validate(path, catalogue)
    assert len(changes) == count
    assert finding_counts(validated) - finding_counts(after) == change_counts(changes)
    assert finding_counts(after) - finding_counts(validated) == Counter()
    assert after.frame.equals(validated.frame)


@pytest.mark.parametrize("texts", [["31/12/2026", "01/11/2026 10:30"], ["31/12/2026 10:30"]])
def test_cells_left_unchanged_are_reported_with_the_reason(
    tmp_path: Path, catalogue: Catalogue, texts: list[str]
) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{DUE: text} for text in texts])
    validated = validate_workbook(path, catalogue)
    [fixes] = write_fixed_copy([validated], tmp_path / "b.xlsx")
    assert fixes.fixed == []
    left = [f.cell for f in validated.findings if f.kind.code == "date-as-text"]
    assert [item["cell"] for item in fixes_json(fixes)["left"]] == left
    text = "\n".join(fixes_text(validated, fixes))
    assert ("Left unchanged: dataDeVencimento H2: the meaning of other" in text) == bool(left)


def test_a_declared_order_needs_no_evidence(tmp_path: Path, catalogue: Catalogue) -> None:
    texts = ["31/12/2026", "01/11/2026 10:30"]
    path = write_records(tmp_path / "a.xlsx", CR, [{DUE: text} for text in texts])
    _, changes, _ = fix_and_validate(path, catalogue, reading=ParseOptions(dates="dmy"))
    assert [change.cell for change in changes] == ["H2"]


@pytest.mark.parametrize(
    "text",
    ["cod _x0041_ ", "Linha1\r\nLinha2 ", " a _x005F_x000D_ b", " _x0041_x0042_", " _x0041\rb"],
)
def test_fixed_text_is_read_back_as_reported(
    tmp_path: Path, catalogue: Catalogue, text: str
) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{"historico": text}])
    validated, changes, after = fix_and_validate(path, catalogue)
    [finding] = validated.findings
    assert [change.corrected for change in changes] == [str(finding.value).strip()]
    assert after.frame.equals(validated.frame)


@pytest.mark.parametrize("shared", [True, False])
def test_rich_text_is_left_unchanged_and_reported(
    tmp_path: Path, catalogue: Catalogue, shared: bool
) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path, {"in_memory": True, "constant_memory": not shared}) as book:
        page = book.add_worksheet()
        page.write_row(0, 0, ["nomeComercial", "seuCodigo"])
        page.write_rich_string(1, 0, "Padaria ", book.add_format({"bold": True}), "Sol ")
        page.write_string(1, 1, " A1")
    validated = validate_workbook(path, catalogue, resource="cliente")
    [fixes] = write_fixed_copy([validated], tmp_path / "b.xlsx")
    assert [change.cell for change in fixes.fixed] == ["B2"]
    [left] = fixes.left
    assert (left.finding.cell, "formats of their own" in left.reason.en) == ("A2", True)


def test_column_with_a_text_number_from_a_formula_is_left_unchanged(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = tmp_path / "a.xlsx"
    header, good = list(GOOD[CP]), list(GOOD[CP].values())
    at = header.index("ValorBruto")
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet()
        page.write_row(0, 0, header)
        for row in (1, 2):
            page.write_row(row, 0, good)
        page.write_formula(1, at, '="1.2"&"34"', None, "1.234")
        page.write_string(2, at, "1.500,50")
    validated, changes, after = fix_and_validate(path, catalogue, resource=CP)
    assert changes == []
    assert after.findings == validated.findings
    assert {f.kind.code for f in validated.findings} >= {"number-as-text"}


def rich_workbook(path: Path, rows: Sequence[dict[str, Any]], epoch_1904: bool = False) -> Path:
    """Write a sheet with colours, widths, notes, a picture, formulas, and another sheet."""
    header = list(GOOD[CR])
    with xlsxwriter.Workbook(path, {"date_1904": epoch_1904}) as book:
        page = book.add_worksheet("Títulos")
        text = book.add_format({"num_format": "@", "bg_color": "#FFEEAA", "italic": True})
        day = book.add_format({"num_format": "dd/mm/yyyy", "bold": True})
        page.set_column(0, 20, 23)
        page.freeze_panes(3, 1)
        page.write_string(0, 0, "Títulos de outubro & novembro", text)
        page.write_row(2, 0, [*header, "dobro", "minha anotação"])
        for number, change in enumerate(rows, start=3):
            values = GOOD[CR] | change
            for column, name in enumerate(header):
                if isinstance(values[name], str):
                    page.write_string(number, column, values[name], text)
                elif isinstance(values[name], date):
                    page.write_datetime(number, column, values[name], day)
                else:
                    page.write(number, column, values[name])
            page.write_formula(number, len(header), f"=I{number + 1}*2", None, 21)
            page.write_string(number, len(header) + 1, "  confere  ")
        page.write_comment("A4", "Falar com a Ana")
        page.data_validation("A4:A99", {"validate": "integer", "criteria": ">", "value": 0})
        page.conditional_format("I4:I99", {"type": "data_bar"})
        page.insert_image("P2", "logo.png", {"image_data": BytesIO(PICTURE)})
        other = book.add_worksheet("Resumo")
        other.write_formula("A1", "=SUM(Títulos!I4:I9)", None, 10.5)
        other.write_string("A2", "1.234,56")
        book.define_name("Total", "=Resumo!$A$1")
    return path


def _png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0")
    chunks = chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


PICTURE = _png()


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        return {name: package.read(name) for name in package.namelist()}


_TEXTS = st.sampled_from(
    ["Mensalidade", " Mensalidade ", "Ação\N{ZERO WIDTH SPACE}", "Pаdaria", "x" * 501, "", " "]
)
_DAYS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["31/10/2026", "2026-10-31", "01/11/2026", "10/31/2026", "31/10/26", "ontem"]),
    st.sampled_from(["31/12/2026 10:30", date(2026, 12, 1), date(1900, 1, 31), None, 46000]),
)
_AMOUNTS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["1.234,56", "1,234.56", "1.234", "R$ 5", "-7", "dez", "0,1"]),
    st.sampled_from([10.5, -1, None]),
)
_ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "historico": _TEXTS,
            "codigoDoCliente": st.sampled_from([1001, "1001", " 7 ", "1.001", "1.5", None]),
            "codigoDoCentroDeCusto": st.sampled_from(["01.001", "01 001 ", "1E+05", 7, 1e15]),
            "dataDeEmissao": _DAYS,
            "dataDeVencimento": _DAYS,
            "valorDoLancamento": _AMOUNTS,
        },
    ),
    min_size=1,
    max_size=6,
)


@examples(10)
@given(rows=_ROWS, epoch_1904=st.booleans())
def test_fixing_removes_exactly_the_listed_findings(
    catalogue: Catalogue, rows: list[dict[str, Any]], epoch_1904: bool
) -> None:
    with TemporaryDirectory() as folder:
        path = rich_workbook(Path(folder) / "rich.xlsx", rows, epoch_1904)
        validated, changes, after = fix_and_validate(path, catalogue, resource=CR, sheet="Títulos")
        copy = path.with_name("fixed.xlsx")
        assert finding_counts(validated) - finding_counts(after) == change_counts(changes)
        assert finding_counts(after) - finding_counts(validated) == Counter()
        assert after.frame.equals(validated.frame)
        touched = {change.cell for change in changes}
        assert touched <= {f.cell for f in validated.findings if f.corrected is not None}
        before, now = cells_of(path, "Títulos"), cells_of(copy, "Títulos")
        assert {cell for cell in before if before[cell] != now[cell]} <= touched
        assert before.keys() == now.keys()
        assert cells_of(path, "Resumo") == cells_of(copy, "Resumo")
        parts, kept = parts_of(path), parts_of(copy)
        assert list(parts) == list(kept)
        may_change = {"xl/worksheets/sheet1.xml", "xl/styles.xml", "xl/workbook.xml"}
        assert {name for name in parts if parts[name] != kept[name]} <= may_change
        again = path.with_name("again.xlsx")
        [nothing] = write_fixed_copy([after], again)
        assert nothing.fixed == []
        assert parts_of(again) == kept


def test_fixing_keeps_styles_except_number_formats(tmp_path: Path, catalogue: Catalogue) -> None:
    path = rich_workbook(
        tmp_path / "rich.xlsx",
        [{"valorDoLancamento": "1.234,56", "dataDeVencimento": "31/10/2026", "historico": " x"}],
    )
    fix_and_validate(path, catalogue, resource=CR, sheet="Títulos")
    page = openpyxl.load_workbook(tmp_path / "fixed.xlsx")["Títulos"]
    for cell in ("F4", "H4", "I4"):
        assert page[cell].fill.fgColor.rgb == "FFFFEEAA"
        assert page[cell].font.italic
    assert (page["H4"].is_date, page["I4"].number_format) == (True, "General")
    assert page["F4"].number_format == "@"
    assert page["A4"].comment.text == "Falar com a Ana"
    assert page.column_dimensions["A"].width > 20
    assert (page["J4"].value, page["K4"].value) == ("=I4*2", "  confere  ")


ODD_SHEET = """<?xml version="1.0" encoding="UTF-8"?>
<x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><x:sheetData>
<x:row><x:c t='inlineStr'><x:is><x:t>nomeComercial</x:t></x:is></x:c></x:row>
<x:row><x:c t='inlineStr'>
<x:is><x:t xml:space='preserve'> Padaria São João </x:t></x:is></x:c></x:row>
<x:row><x:c t='inlineStr'><x:is><x:t>Outra</x:t></x:is></x:c></x:row>
</x:sheetData></x:worksheet>"""


def test_unusual_xml_is_fixed(tmp_path: Path, catalogue: Catalogue) -> None:
    plain = write_records(tmp_path / "plain.xlsx", "cliente", [{}])
    odd = tmp_path / "odd.xlsx"
    with zipfile.ZipFile(odd, "w") as package:
        for name, content in parts_of(plain).items():
            is_sheet = name.endswith("sheet1.xml")
            package.writestr(name, ODD_SHEET.encode() if is_sheet else content)
    validated, changes, after = fix_and_validate(odd, catalogue, resource="cliente")
    assert [(c.cell, c.corrected) for c in changes] == [("A2", "Padaria São João")]
    assert after.findings == []
    assert after.frame.equals(validated.frame)


def test_array_formula_is_not_changed(tmp_path: Path, catalogue: Catalogue) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet()
        page.write_row(0, 0, ["nomeComercial", "origem"])
        page.write_array_formula("A2:A3", "{=B2:B3}", None, " Padaria")
        page.write_string("A3", " Mercado")
    _, changes, _ = fix_and_validate(path, catalogue, resource="cliente")
    assert changes == []


def test_changes_are_reported_as_text_and_as_json(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_records(
        tmp_path / "a.xlsx", CR, [{"valorDoLancamento": "1.234,56", "dataDeEmissao": "2026-10-01"}]
    )
    sheet, changes, _ = fix_and_validate(path, catalogue)
    fixes = FixedCopy(tmp_path / "b.xlsx", changes)
    assert [(c["cell"], c["old"], c["new"]) for c in fixes_json(fixes)["changes"]] == [
        ("G2", "2026-10-01", "2026-10-01"),
        ("I2", "1.234,56", "1234.56"),
    ]
    lines = list(fixes_text(sheet, fixes))
    assert len(lines) == 3
    assert "'1.234,56' → 1234.56" in lines[2]


def test_many_changes_are_counted_by_rule_with_examples(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    changed = [{"valorDoLancamento": f"{n},5", "codigoDaFilial": "1.0"} for n in range(1, 16)]
    path = write_records(tmp_path / "a.xlsx", CR, changed)
    sheet, changes, _ = fix_and_validate(path, catalogue)
    _, filial, amount, last = fixes_text(sheet, FixedCopy(tmp_path / "b.xlsx", changes))
    assert filial == (
        "      codigoDaFilial  [number-as-text] ×15: "
        "A2: '1.0' → 1, A3: '1.0' → 1, A4: '1.0' → 1 … and 12 more"
    )
    assert amount.startswith("      valorDoLancamento  [number-as-text] ×15: I2: '1,5' → 1.5, ")
    assert "--format json" in last


def test_failed_fix_leaves_no_file(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{}])
    with pytest.raises(UsageError):
        write_fixed_copy([validate_workbook(path, catalogue)], tmp_path / "missing" / "b.xlsx")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.xlsx"]


@pytest.mark.parametrize(
    "styles",
    [
        None,
        f'<styleSheet xmlns="{MAIN}"/>',
        f'<styleSheet xmlns="{MAIN}"><cellXfs count="0"/><dxfs count="0"/></styleSheet>',
    ],
)
def test_fixed_date_has_a_date_format_in_a_workbook_without_styles(
    tmp_path: Path, catalogue: Catalogue, styles: str | None
) -> None:
    header = "".join(f'<c t="inlineStr"><is><t>{name}</t></is></c>' for name in GOOD[CR])
    texts = {**GOOD[CR], DUE: "31/12/2026", "dataDeEmissao": "", AMOUNT: "1.234,56"}
    cells = "".join(
        f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        if isinstance(value, str)
        else f"<c><v>{value}</v></c>"
        for value in texts.values()
    )
    sheet = (
        f'<worksheet xmlns="{MAIN}"><sheetData><row>{header}</row><row>{cells}</row></sheetData>'
    )
    parts = good_parts(tmp_path) | {SHEET: f"{sheet}</worksheet>".encode()}
    if styles is None:
        del parts[STYLES]
        for listing in (RELATIONS, TYPES):
            parts[listing] = re.sub(rb"<[^>]*styles.xml[^>]*>", b"", parts[listing])
    else:
        parts[STYLES] = styles.encode()
    path = tmp_path / "plain.xlsx"
    path.write_bytes(packed(parts))
    validated, changes, after = fix_and_validate(path, catalogue)
    assert [change.corrected for change in changes] == [date(2026, 12, 31), Decimal("1234.56")]
    assert after.findings == []
    assert after.frame.equals(validated.frame)
    row = openpyxl.load_workbook(path.with_name("fixed.xlsx"))["Plan1"][2]
    assert row[7].value == datetime(2026, 12, 31)
    assert {cell.number_format for cell in row if cell is not row[7]} == {"General"}
