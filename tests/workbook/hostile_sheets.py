"""Intact workbooks with malicious XML, and some that only look malicious."""

import zipfile
from collections.abc import Callable, Mapping

from packing import (
    FIRST_ROWS,
    HEADER,
    MAIN,
    RELATIONS,
    SHEET,
    STRINGS,
    STYLES,
    WORKBOOK,
    Parts,
    packed,
    sheet,
    text_cell,
    text_row,
)

_DATE, _HOURS = 14, 46
Maker = Callable[[Parts], bytes]

_BILLION_LAUGHS = (
    '<!DOCTYPE lolz [<!ENTITY a "lol">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    + "]>"
)
_EXTERNAL = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>'


def _sheet(rows: str, before: str = "", after: str = "") -> Maker:
    return lambda parts: packed({**parts, SHEET: sheet(rows, before, after)})


def _part(name: str, content: bytes) -> Maker:
    return lambda parts: packed({**parts, name: content})


def _typed(
    encoding: str, declared: str | None = None, lead: bytes = b"", kind: str = _EXTERNAL
) -> Maker:
    """Sheet with a document type definition, in an encoding."""
    declaration = f'<?xml version="1.0" encoding="{declared or encoding}"?>'
    xml = f'{declaration}{kind}<worksheet xmlns="{MAIN}"><sheetData/></worksheet>'
    return _part(SHEET, lead + xml.encode(encoding))


def _late_type(parts: Parts) -> bytes:
    """Definition that starts just before the end of the first megabyte."""
    before = b'<?xml version="1.0"?><!--'
    filling = b"x" * (2**20 - len(before) - len(b"-->") - 4)
    return packed({**parts, SHEET: before + filling + b"-->" + _EXTERNAL.encode() + b"<a/>"})


def _text_in_rows(count: int, cell: str, texts: list[str]) -> Maker:
    """Cell in many rows, which are created on demand because they take long."""
    return lambda parts: _shared_texts(texts, _rows(count, cell))(parts)


def _cell(cell: str) -> Maker:
    return _sheet(FIRST_ROWS + f'<row r="3">{cell}</row>')


def _formatted_number(form: int, value: str) -> Maker:
    """Number with one of the built-in formats."""
    styles = (
        f'<styleSheet xmlns="{MAIN}"><cellXfs><xf/><xf numFmtId="{form}"/></cellXfs></styleSheet>'
    )
    row = f'<row r="3"><c r="A3" s="1"><v>{value}</v></c></row>'
    return lambda parts: packed({**parts, STYLES: styles.encode(), SHEET: sheet(FIRST_ROWS + row)})


def _shared_texts(texts: list[str], rows: str) -> Maker:
    items = "".join(f"<si><t>{text}</t></si>" for text in texts)
    strings = f'<sst xmlns="{MAIN}">{items}</sst>'.encode()
    return lambda parts: packed(
        {**_with_strings(parts), STRINGS: strings, SHEET: sheet(FIRST_ROWS + rows)}
    )


def _with_strings(parts: Parts) -> Parts:
    assert STRINGS in parts
    return parts


def _rows(count: int, cells: str, first: int = 3) -> str:
    return "".join(f'<row r="{n}">{cells.format(n=n)}</row>' for n in range(first, first + count))


def _without_addresses(parts: Parts) -> bytes:
    """Rows and cells without addresses."""
    row = "<row>{}</row>"
    texts = (HEADER, ("Padaria Estrela", "J", "11.222.333/0001-81"))
    cells = [
        "".join(text_cell("A1", t).replace(' r="A1"', "") for t in row_texts) for row_texts in texts
    ]
    return packed({**parts, SHEET: sheet("".join(map(row.format, cells)))})


def _every_column(parts: Parts) -> bytes:
    """Every column of Excel."""
    cells = "".join(f'<c r="{_letters(n)}3"><v>1</v></c>' for n in range(3, 16_384))
    return packed({**parts, SHEET: sheet(FIRST_ROWS + f'<row r="3">{cells}</row>')})


def _letters(index: int) -> str:
    letters, number = "", index + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _long_texts(parts: Parts) -> bytes:
    rows = "".join(text_row(n, (f"{n:032767}",)) for n in range(3, 5_000))
    return packed({**parts, SHEET: sheet(FIRST_ROWS + rows)}, zipfile.ZIP_STORED)


def _many_sheets(parts: Parts) -> bytes:
    listed = "".join(f'<sheet name="S{n}" sheetId="{n}" r:id="rId1"/>' for n in range(2, 20_000))
    return packed(
        {**parts, WORKBOOK: parts[WORKBOOK].replace(b"</sheets>", listed.encode() + b"</sheets>")}
    )


def _many_styles(parts: Parts) -> bytes:
    styles = f'<styleSheet xmlns="{MAIN}"><cellXfs>{"<xf/>" * 500_000}</cellXfs></styleSheet>'
    return packed({**parts, STYLES: styles.encode()})


_FAR_FIRST = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
_NEAR = '<row r="1"><c r="A1"><v>1</v></c></row>'
_A_MILLION = 1_000_000
_ATTRIBUTES = " ".join(f'a{n}="1"' for n in range(100_000))
_TYPES = " ".join(f'a{number}:t="e"' for number in range(20_000))
_ADDRESSES = _TYPES.replace('t="e"', 'r="A3"')

SHEETS: Mapping[str, tuple[str, Maker]] = {
    "definition": ("hostile", _typed("utf-8")),
    "definition after a mark": ("hostile", _typed("utf-8", lead=b"\xef\xbb\xbf")),
    "definition in lower case": ("hostile", _typed("utf-8", kind=_EXTERNAL.lower())),
    "definition in UTF-16": ("hostile", _typed("utf-16")),
    "definition in UTF-16, big end first": ("hostile", _typed("utf-16-be", "utf-16", b"\xfe\xff")),
    "definition in UTF-7": ("hostile", _typed("utf-7")),
    "definition in UTF-32": ("hostile", _typed("utf-32")),
    "definition in EBCDIC": ("hostile", _typed("utf-8", "cp037")),
    "definition at the edge of a piece": ("hostile", _late_type),
    "a billion laughs": ("hostile", _typed("utf-8", kind=_BILLION_LAUGHS)),
    "definition in the strings": ("hostile", _part(STRINGS, (_BILLION_LAUGHS + "<sst/>").encode())),
    "definition in the relations": ("hostile", _part(RELATIONS, (_EXTERNAL + "<a/>").encode())),
    "entity without a definition": ("unreadable", _cell(text_cell("A3", "&nothing;"))),
    "far cells": ("hostile", _sheet(_NEAR + _FAR_FIRST)),
    "far cells, the last first": ("unreadable", _sheet(_FAR_FIRST + _NEAR)),
    "far cells that name no row": (
        "unreadable",
        _sheet('<row><c r="A1"><v>1</v></c></row><row><c r="XFD1048576"><v>1</v></c></row>'),
    ),
    "far cells behind entities": (
        "hostile",
        _sheet(_NEAR + '<row r="1048576"><c r="&#88;FD1048576"><v>1</v></c></row>'),
    ),
    "row beyond the last": (
        "hostile",
        _sheet(FIRST_ROWS + _rows(1, '<c r="A{n}"><v>1</v></c>', 4_294_967_290)),
    ),
    "row zero": ("unreadable", _sheet(FIRST_ROWS + '<row r="0"><c r="A0"><v>1</v></c></row>')),
    "row below zero": (
        "unreadable",
        _sheet(FIRST_ROWS + '<row r="-1"><c r="A-1"><v>1</v></c></row>'),
    ),
    "row with too many digits": ("good", _sheet(FIRST_ROWS + f'<row r="{"9" * 40}"/>')),
    "column beyond the last": ("hostile", _cell('<c r="ZZZZZZZ3"><v>1</v></c>')),
    "no addresses": ("good", _without_addresses),
    "a million rows without address": (
        "good",
        _sheet(FIRST_ROWS + "<row><c><v>5</v></c></row>" * _A_MILLION),
    ),
    "a million empty styled rows": ("good", _sheet(FIRST_ROWS + '<row s="1"/>' * _A_MILLION)),
    "a million styled cells": ("good", _sheet(FIRST_ROWS + '<row><c s="1"/></row>' * _A_MILLION)),
    "dimension too large": ("good", _sheet(FIRST_ROWS, before='<dimension ref="A1:XFD1048576"/>')),
    "dimension too small": ("good", _sheet(FIRST_ROWS, before='<dimension ref="A1"/>')),
    "dimension of nonsense": ("unreadable", _sheet(FIRST_ROWS, before='<dimension ref="?:?"/>')),
    "every column": ("good", _every_column),
    "one long text in 10,000 cells": (
        "too-large",
        _text_in_rows(10_000, '<c r="A{n}" t="s"><v>0</v></c>', ["x" * 2**20]),
    ),
    "a text of the longest in 1,000 cells": (
        "findings",
        _text_in_rows(1_000, '<c r="A{n}" t="s"><v>0</v></c>', ["x" * 32_767]),
    ),
    "a text of the longest in 65,000 cells": (
        "too-large",
        _text_in_rows(65_000, '<c r="A{n}" t="s"><v>0</v></c>', ["x" * 32_767]),
    ),
    "forty texts of the longest in 65,000 cells": (
        "too-large",
        _text_in_rows(65_000, '<c r="A{n}" t="s"><v>7</v></c>', ["x" * 32_767] * 40),
    ),
    "a long text and numbers that look like it": (
        "findings",
        _shared_texts(
            ["x" * 32_767],
            '<row r="3"><c r="A3" t="s"><v>0</v></c></row>'
            + _rows(20_000, '<c r="B{n}"><v>0</v></c>', 4),
        ),
    ),
    "different texts of the longest in 5,000 cells": ("too-large", _long_texts),
    "200,000 equal texts": (
        "good",
        _text_in_rows(200_000, '<c r="A{n}" t="s"><v>0</v></c>', ["Padaria"]),
    ),
    "text over the longest": ("too-large", _cell(text_cell("A3", "x" * 32_768))),
    "texts that are not there": ("unreadable", _cell('<c r="A3" t="s"><v>4000000000</v></c>')),
    "texts below zero": ("unreadable", _cell('<c r="A3" t="s"><v>-1</v></c>')),
    "style that is not there": ("good", _cell('<c r="A3" s="99999999999"><v>1</v></c>')),
    "number beyond all": ("findings", _cell('<c r="A3"><v>1e999</v></c>')),
    "number that is none": ("findings", _cell('<c r="A3"><v>NaN</v></c>')),
    "day beyond all": ("findings", _formatted_number(_DATE, "1e308")),
    "day before all": ("unreadable", _formatted_number(_DATE, "-1e308")),
    "hours beyond all": ("unreadable", _formatted_number(_HOURS, "11222333000181")),
    "hours before all": ("unreadable", _formatted_number(_HOURS, "-1e308")),
    "words for a number": ("unreadable", _cell('<c r="A3"><v>dez</v></c>')),
    "truth that is none": ("unreadable", _cell('<c r="A3" t="b"><v>7</v></c>')),
    "day that is none": ("good", _cell('<c r="A3" t="d"><v>2026-99-99</v></c>')),
    "type that is none": ("unreadable", _cell('<c r="A3" t="zzz"><v>1</v></c>')),
    "the same cell twice": ("unreadable", _cell('<c r="A3"><v>1</v></c><c r="A3"><v>2</v></c>')),
    "cells that go back": ("unreadable", _cell('<c r="C3"><v>1</v></c><c r="A1"><v>2</v></c>')),
    "deep nesting": ("good", _sheet(FIRST_ROWS, after="<a>" * 100_000 + "</a>" * 100_000)),
    "deep nesting in a cell": (
        "unreadable",
        _cell(f'<c r="A3">{"<is>" * 50_000}{"</is>" * 50_000}</c>'),
    ),
    "letters that are no UTF-8": (
        "unreadable",
        _part(SHEET, sheet(text_row(1, ("x",))).replace(b"x", b"\xff\xfe")),
    ),
    "nothing in the letters": (
        "unreadable",
        _part(SHEET, sheet(text_row(1, ("x",))).replace(b"x", b"\0")),
    ),
    "100,000 attributes": ("good", _sheet(FIRST_ROWS, after=f"<a {_ATTRIBUTES}/>")),
    "20,000 types of a cell": ("good", _cell(f'<c r="A3" {_TYPES}></c>')),
    "20,000 types, and an unknown error": (
        "findings",
        _cell(f'<c r="A3" {_TYPES}></c><c r="B3" t="e"><v>#SPILL!</v></c>'),
    ),
    "20,000 addresses of a cell, and a formula": (
        "good",
        _cell(f'<c r="A3" {_ADDRESSES}></c><c r="B3" t="str"><f>""</f><v></v></c>'),
    ),
    "an unknown error, and errors in a comment": (
        "unreadable",
        _cell('<c r="B3" t="e"><v>#SPILL!</v></c><!--' + '<c t="e">' * 20_000 + "-->"),
    ),
    "spaces in a formula": ("good", _cell(f'<c r="A3"><f>1</f>{" " * 200_000}<v>1</v></c>')),
    "attribute of 5 MB": ("good", _sheet(FIRST_ROWS, after=f'<a b="{"x" * 5 * 2**20}"/>')),
    "comment of 5 MB": ("good", _sheet(FIRST_ROWS, after=f"<!--{'x' * 5 * 2**20}-->")),
    "literal text": ("good", _sheet(FIRST_ROWS.replace("Padaria", "<![CDATA[Padaria]]>"))),
    "a merged region of everything": (
        "findings",
        _sheet(FIRST_ROWS, after='<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'),
    ),
    "errors that never end": (
        "unreadable",
        _sheet(FIRST_ROWS + '<row r="3">' + '<c r="A3" t="e">' * 200_000),
    ),
    "sheet that never ends": ("unreadable", _part(SHEET, sheet(FIRST_ROWS)[:-30])),
    "20,000 sheets": ("hostile", _many_sheets),
    "half a million styles": ("good", _many_styles),
}
"""Expected outcome and maker of each sheet; it is made from the parts of a good workbook."""
