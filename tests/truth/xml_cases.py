"""Cells as other programs write them into the XML of a sheet, correctly or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import xlsxwriter
from packing import MAIN, SHEET, STRINGS, packed, unpacked
from sheets import GOOD
from truth import REFUSED, AnyOf, Outcome, Outcomes, outcome_of, validated

_NAMES = list(GOOD["contasreceber"])
_AMOUNT, _HISTORY, _DUE = "valorDoLancamento", "historico", "dataDeVencimento"
_ROW = 2

_STRING_TABLE = (
    f'<sst xmlns="{MAIN}" count="4" uniqueCount="4"><si><t>Mensalidade</t></si>'
    "<si><r><t>Men</t></r><r><t>sal</t></r></si>"
    '<si><t>Ana</t><rPh sb="0" eb="3"><t>anna</t></rPh></si>'
    "<si><t>_x0041_ b</t></si></sst>"
).encode()


@dataclass(frozen=True, slots=True)
class XmlCase:
    """Cell of a column as XML, after ``r="…"``; ``row`` follows the good row."""

    column: str
    xml: str
    meant: Any
    row: str = ""

    def __str__(self) -> str:
        return f"raw XML: {self.column}: {self.xml} {self.row}".rstrip()

    def outcome(self, parts: dict[str, bytes], path: Path) -> Outcome:
        path.write_bytes(packed({**parts, SHEET: self.sheet(), STRINGS: _STRING_TABLE}))
        return outcome_of(validated(path), _ROW, self.column, self.meant)

    def sheet(self) -> bytes:
        header = "".join(_text(f"{_letter(n)}1", name) for n, name in enumerate(_NAMES))
        cells = "".join(self._cell(n, name) for n, name in enumerate(_NAMES))
        rows = f'<row r="1">{header}</row><row r="{_ROW}">{cells}</row>{self.row}'
        return f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'.encode()

    def _cell(self, index: int, name: str) -> str:
        address = f"{_letter(index)}{_ROW}"
        if name == self.column:
            return f"<c r='{address}'{self.xml}" if self.xml.startswith(" ") else self.xml
        value = GOOD["contasreceber"][name]
        if isinstance(value, str):
            return _text(address, value)
        number = 46326 if name in (_DUE, "dataDeEmissao") else value
        return f'<c r="{address}"><v>{number}</v></c>'


def _letter(index: int) -> str:
    return "ABCDEFGHIJ"[index]


def _text(address: str, text: str) -> str:
    return f'<c r="{address}" t="inlineStr"><is><t>{text}</t></is></c>'


def _at(column: str) -> str:
    return f"{_letter(_NAMES.index(column))}{_ROW}"


_NUMBERS: Sequence[tuple[str, Any]] = [
    ("<v>1234</v>", 1234), ("<v>12&#51;4</v>", 1234), ("<v>12&#x33;4</v>", 1234),
    ("<v>12<?pi x?>34</v>", 1234), ("<v>12</v><v>34</v>", REFUSED), ("<v>12<!-- c -->34</v>", 1234),
    ("<v><![CDATA[1234]]></v>", 1234), ("<v>12<![CDATA[34]]></v>", 1234), ("<v>1,5</v>", REFUSED),
    ("<v>1.5.2</v>", REFUSED), ("<v>0x1F</v>", REFUSED), ("<v>NaN</v>", REFUSED),
    ("<v>INF</v>", REFUSED),
    ("<v>1e400</v>", REFUSED), ("<v>1_000</v>", REFUSED), ("<v>12 34</v>", REFUSED),
    ("<v>１２</v>", REFUSED),
    ("<v>+12</v>", 12), ("<v>1E3</v>", 1000), ("<v>.5</v>", 0.5), ("<v>5.</v>", 5),
    ("<v>012</v>", 12),
    ("<v> 12 </v>", 12), ("<v>\n12\n</v>", 12), ("<v>12</v><is><t>34</t></is>", AnyOf((12,))),
    ("<v><x>5</x></v>", REFUSED), ("<v/>", None), ("<v></v>", None),
    ("<v>12</v><f>1+1</f>", AnyOf((12,))),
    ("<f>6*2</f><v>12</v>", 12), ("<f>6*2</f>", REFUSED), ("<v>12.50</v>", 12.5),
    ("<v>1D3</v>", REFUSED),
    ("<v>--5</v>", REFUSED), ("<v>1234567890123456789</v>", REFUSED), ("<v>12&amp;34</v>", REFUSED),
    ("<v>0.1000000000000000055</v>", 0.1), ("<f>1</f><f>2</f><v>12</v>", AnyOf((12,))),
    ("<v>$5</v>", REFUSED),
    ("<v>1e-400</v>", REFUSED), ("<v>1 000</v>", REFUSED), ("<v>1.000,00</v>", REFUSED),
]  # fmt: skip

_TYPED: Sequence[tuple[str, str, Any]] = [
    (_HISTORY, ' t="s"><v>0</v></c>', "Mensalidade"), (_HISTORY, ' t="s"><v>1</v></c>', "Mensal"),
    (_HISTORY, ' t="s"><v>2</v></c>', "Ana"), (_HISTORY, ' t="s"><v>3</v></c>', "A b"),
    (_HISTORY, ' t="s"><v> 0 </v></c>', "Mensalidade"), (_HISTORY, ' t="s"><v>+0</v></c>', REFUSED),
    (_HISTORY, ' t="s"><v>0.0</v></c>', REFUSED), (_HISTORY, ' t="s"><v>-1</v></c>', REFUSED),
    (_HISTORY, ' t="s"><v>99</v></c>', REFUSED), (_HISTORY, ' t="s"><v></v></c>', REFUSED),
    (_HISTORY, ' t="s"/>', REFUSED), (_HISTORY, ' t="s"><v>1e0</v></c>', REFUSED),
    (_HISTORY, ' t="s"><v>0x0</v></c>', REFUSED),
    (_HISTORY, ' t="s"><v>&#48;</v></c>', "Mensalidade"),
    (_HISTORY, ' t="s"><v>0</v><v>1</v></c>', REFUSED),
    (_HISTORY, ' t="s"><v>0<!-- -->0</v></c>', AnyOf(("Mensalidade",))),
    (_HISTORY, ' t="s"><v>٠</v></c>', REFUSED), (_HISTORY, ' t="s"><v>1_0</v></c>', REFUSED),
    (_HISTORY, " t='s'><v>0</v></c>", "Mensalidade"), (_HISTORY, ' t="S"><v>0</v></c>', REFUSED),
    (_HISTORY, ' t="s"><v>00</v></c>', "Mensalidade"),
    (_HISTORY, ' t="s"><v>4294967296</v></c>', REFUSED),
    (_HISTORY, ' t="inlineStr"><is><t>Ana</t></is></c>', "Ana"),
    (_HISTORY, ' t="inlineStr"><is><r><t>A</t></r><r><t>na</t></r></is></c>', "Ana"),
    (_HISTORY, ' t="inlineStr"><is><t>Ana</t><rPh sb="0" eb="1"><t>x</t></rPh></is></c>', "Ana"),
    (_HISTORY, ' t="inlineStr"><is><t>A</t></is><is><t>na</t></is></c>', REFUSED),
    (_HISTORY, ' t="inlineStr"><is><t>A</t><t>na</t></is></c>', AnyOf(("Ana",))),
    (_HISTORY, ' t="inlineStr"><v>Ana</v></c>', AnyOf(("Ana",))),
    (_HISTORY, ' t="inlineStr"><is><t>A&#110;a</t></is></c>', "Ana"),
    (_HISTORY, ' t="inlineStr"><is><t><![CDATA[A & b]]></t></is></c>', "A & b"),
    (_HISTORY, ' t="inlineStr"><is><t>A<!-- x -->na</t></is></c>', "Ana"),
    (_HISTORY, ' t="inlineStr"><is><t xml:space="preserve">A  b</t></is></c>',
     AnyOf(("A  b", "A b"))),
    (_HISTORY, ' t="inlineStr"><is><t>a_x005F_x0041_b</t></is></c>', "a_x0041_b"),
    (_HISTORY, ' t="inlineStr"><is><t>&#xD800;</t></is></c>', REFUSED),
    (_HISTORY, ' t="str"><v>Ana</v></c>', "Ana"),
    (_HISTORY, ' t="str"><f>"A"</f><v>Ana</v></c>', "Ana"),
    (_HISTORY, ' t="str"><v>A<?pi?>na</v></c>', "Ana"),
    (_HISTORY, ' t="str"><v>A&#110;a</v></c>', "Ana"),
    (_HISTORY, ' t="str"><v>An</v><v>a</v></c>', REFUSED),
    (_HISTORY, ' t="e"><v>#N/A</v></c>', REFUSED),
    (_HISTORY, ' t="e"><v>12</v></c>', REFUSED), (_HISTORY, ' t="x"><v>12</v></c>', REFUSED),
    (_HISTORY, ' t=""><v>12</v></c>', AnyOf(("12",))),
    (_AMOUNT, ' t="str"><v>12.5</v></c>', 12.5), (_AMOUNT, ' t="s"><v>0</v></c>', REFUSED),
    (_AMOUNT, ' t="b"><v>1</v></c>', REFUSED), (_AMOUNT, ' t="b"><v>2</v></c>', REFUSED),
    (_AMOUNT, ' t="d"><v>2026-11-05</v></c>', REFUSED), (_AMOUNT, ' t="e"><v>12</v></c>', REFUSED),
    (_AMOUNT, ' s="99"><v>12</v></c>', 12), (_AMOUNT, ' s="-1"><v>12</v></c>', AnyOf((12,))),
    (_DUE, ' t="d"><v>2026-11-05</v></c>', date(2026, 11, 5)),
    (_DUE, ' t="d"><v>2026-11-05T10:00:00Z</v></c>', date(2026, 11, 5)),
    (_DUE, ' t="d"><v>05/11/2026</v></c>', REFUSED), (_DUE, ' t="b"><v>1</v></c>', REFUSED),
    (_DUE, ' t="n"><v>46&#51;26</v></c>', date(2026, 10, 31)),
]  # fmt: skip

_ADDRESSES: Sequence[tuple[str, str, Any, str]] = [
    (_AMOUNT, f'<c r="{_at(_AMOUNT)}"><v>12</v></c><c r="{_at(_AMOUNT)}"><v>34</v></c>', REFUSED,
     ""),
    (_AMOUNT, "<c><v>12</v></c>", AnyOf((12,)), ""),
    (_AMOUNT, f'<c r="{_at(_AMOUNT).lower()}"><v>12</v></c>', AnyOf((12,)), ""),
    (_AMOUNT, f'<c r="${_at(_AMOUNT)[0]}$2"><v>12</v></c>', AnyOf((12,)), ""),
    (_AMOUNT, f'<c r="{_at(_AMOUNT)[0]}9"><v>12</v></c>', REFUSED, ""),
    (_AMOUNT, f'<c r="{_at(_AMOUNT)[0]}02"><v>12</v></c>', AnyOf((12,)), ""),
    (_AMOUNT, '<c r=""><v>12</v></c>', AnyOf((12,)), ""),
    (_AMOUNT, ' ><v>12</v></c>', REFUSED,
     f'<row r="2"><c r="{_at(_AMOUNT)}"><v>34</v></c></row>'),
    (_HISTORY, ' t="s"><v>0</v></c>', REFUSED,
     f'<row r="2"><c r="{_at(_HISTORY)}" t="s"><v>2</v></c></row>'),
    (_HISTORY, f'<c r="{_at(_AMOUNT)}" t="s"><v>0</v></c>', REFUSED, ""),
]  # fmt: skip


def xml_cases() -> Sequence[XmlCase]:
    """Return all cases."""
    typed = [XmlCase(column, xml, meant) for column, xml, meant in _TYPED]
    numbers = [XmlCase(_AMOUNT, f" >{xml}</c>", meant) for xml, meant in _NUMBERS]
    return [*numbers, *typed, *(XmlCase(c, x, m, row) for c, x, m, row in _ADDRESSES)]


def base_workbook(folder: Path) -> Path:
    """Write a workbook whose sheet and strings are replaced."""
    path = folder / "base.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("Plan1").write(0, 0, "x")
    return path


def evaluate_xml(folder: Path, every: int) -> Outcomes:
    parts = unpacked(base_workbook(folder))
    return {
        str(case): case.outcome(parts, folder / f"{number}.xlsx")
        for number, case in enumerate(xml_cases()[::every])
    }
