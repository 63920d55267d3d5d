"""Packages of .xlsx and .xlsb workbooks in shapes that programs write and Excel opens.

Each has a sheet with a shared text, a date, a number and a percentage in row 1.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date

from packing import MAIN, Parts

ROW = ["Compartilhado", date(2026, 10, 31), 10.5, 0.5]
"""Values of the row; the last one is displayed as 50 %."""

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_WORKBOOK, _SHEET = "xl/workbook.xml", "xl/worksheets/sheet1.xml"
_STYLES, _STRINGS = "xl/styles.xml", "xl/sharedStrings.xml"
_RELS, _BOOK_RELS = "_rels/.rels", "xl/_rels/workbook.xml.rels"
_TYPES = "[Content_Types].xml"
FILLING = "".join(
    f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c><c r="B{n}" s="1"><v>46326</v></c>'
    f'<c r="C{n}"><v>{n}.25</v></c><c r="D{n}" s="2"><v>0.5</v></c></row>'
    for n in range(2, 1_200)
)
"""Rows that make the sheet large enough to be parsed in chunks."""


def relations(targets: Mapping[str, str], office: str = _OFFICE) -> bytes:
    """Return a part of relations by kind."""
    elements = "".join(
        f'<Relationship Id="rId{n}" Type="{office}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(targets.items(), start=1)
    )
    return f'<Relationships xmlns="{_RELATIONS}">{elements}</Relationships>'.encode()


def usual_parts(*, large: bool = False) -> dict[str, bytes]:
    """Return the parts as Excel names them."""
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" s="1"><v>46326</v></c>'
        '<c r="C1"><v>10.5</v></c><c r="D1" s="2"><v>0.5</v></c></row>'
    )
    declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    texts: dict[str, str] = {
        _TYPES: '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        '<Override PartName="/xl/workbook.xml" ContentType='
        '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
        _WORKBOOK: f'<workbook xmlns="{MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="Plan1" sheetId="1" r:id="rId1"/></sheets></workbook>',
        _STYLES: f'<styleSheet xmlns="{MAIN}"><numFmts count="1">'
        '<numFmt numFmtId="164" formatCode="0%"/></numFmts><fonts count="1"><font/></fonts>'
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0"/></cellStyleXfs>'
        '<cellXfs count="3"><xf numFmtId="0" fontId="0"/><xf numFmtId="14" fontId="0"/>'
        '<xf numFmtId="164" fontId="0"/></cellXfs><cellStyles count="1">'
        '<cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
        _STRINGS: f'<sst xmlns="{MAIN}"><si><t>Compartilhado</t></si></sst>',
        _SHEET: f'<worksheet xmlns="{MAIN}"><sheetData>{rows}{FILLING if large else ""}'
        "</sheetData></worksheet>",
    }
    parts = {name: f"{declaration}{text}".encode() for name, text in texts.items()}
    return parts | {
        _RELS: relations({"officeDocument": "xl/workbook.xml"}),
        _BOOK_RELS: relations(
            {
                "worksheet": "worksheets/sheet1.xml",
                "styles": "styles.xml",
                "sharedStrings": "sharedStrings.xml",
            }
        ),
    }


def _moved(parts: Parts, names: Mapping[str, str]) -> dict[str, bytes]:
    """Return parts under other names; the relations of the workbook have absolute paths."""
    at = {name: names.get(name, name) for name in (_WORKBOOK, _SHEET, _STYLES, _STRINGS)}
    folder, _, file = at[_WORKBOOK].rpartition("/")
    moved = {names.get(name, name): content for name, content in parts.items()}
    del moved[_BOOK_RELS]
    return moved | {
        _RELS: relations({"officeDocument": f"/{at[_WORKBOOK]}"}),
        f"{folder}/_rels/{file}.rels".lstrip("/"): relations(
            {
                "worksheet": f"/{at[_SHEET]}",
                "styles": f"/{at[_STYLES]}",
                "sharedStrings": f"/{at[_STRINGS]}",
            }
        ),
    }


def _recoded(parts: Parts, encoding: str, *names: str) -> dict[str, bytes]:
    """Return parts, some of them in another encoding."""
    changed = dict(parts)
    for name in names or parts:
        text = re.sub(r"^<\?xml[^>]*\?>", "", parts[name].decode())
        label = encoding.removesuffix("-le").removesuffix("-be").removesuffix("-sig")
        text = f'<?xml version="1.0" encoding="{label}"?>{text}'
        changed[name] = text.encode(encoding, "xmlcharrefreplace")
    return changed


def _with_target(parts: Parts, old: str, new: str) -> dict[str, bytes]:
    changed = parts[_BOOK_RELS].replace(f'"{old}"'.encode(), f'"{new}"'.encode())
    assert changed != parts[_BOOK_RELS]
    return {**parts, _BOOK_RELS: changed}


_OTHER_STYLES = (
    f'<styleSheet xmlns="{MAIN}"><fonts/><cellXfs>'
    + '<xf numFmtId="0" fontId="0"/>' * 3
    + "</cellXfs></styleSheet>"
).encode()
_OTHER_STRINGS = f'<sst xmlns="{MAIN}"><si><t>Outro</t></si></sst>'.encode()
_CONDITIONAL = (
    b'</cellStyles><dxfs><dxf><numFmt numFmtId="164" formatCode="0.00"/></dxf></dxfs></styleSheet>'
)

SHAPES: Mapping[str, Callable[[Parts], Parts]] = {
    "as Excel writes it": dict,
    "another name of the workbook": lambda p: _moved(p, {_WORKBOOK: "xl/workbook22.xml"}),
    "the workbook elsewhere": lambda p: _moved(p, {_WORKBOOK: "book/main.xml"}),
    "the workbook at the top": lambda p: _moved(p, {_WORKBOOK: "book.xml"}),
    "another name of the styles": lambda p: _moved(p, {_STYLES: "xl/styles2.xml"}),
    "the styles elsewhere": lambda p: _moved(p, {_STYLES: "formats/cells.xml"}),
    "another name of the texts": lambda p: _moved(p, {_STRINGS: "xl/strings9.xml"}),
    "the texts at the top": lambda p: _moved(p, {_STRINGS: "texts.xml"}),
    "the sheet elsewhere": lambda p: _moved(p, {_SHEET: "data/one.xml"}),
    "a name with a space": lambda p: _moved(p, {_SHEET: "xl/worksheets/plan 1.xml"}),
    "all elsewhere": lambda p: _moved(
        p, {_WORKBOOK: "a/w.xml", _SHEET: "b/s.xml", _STYLES: "c/f.xml", _STRINGS: "d/t.xml"}
    ),
    "styles of no relation": lambda p: {
        **_moved(p, {_STYLES: "xl/styles2.xml"}), _STYLES: _OTHER_STYLES
    },
    "texts of no relation": lambda p: {
        **_moved(p, {_STRINGS: "xl/strings2.xml"}), _STRINGS: _OTHER_STRINGS
    },
    "backslashes in names": lambda p: {name.replace("/", "\\"): c for name, c in p.items()},
    "a backslash in one name": lambda p: {
        name.replace("worksheets/", "worksheets\\"): c for name, c in p.items()
    },
    "backslashes in a path": lambda p: _with_target(
        p, "worksheets/sheet1.xml", "worksheets\\sheet1.xml"
    ),
    "an escape in a path": lambda p: {
        **{name.replace("sheet1.xml", "a b.xml"): content for name, content in p.items()},
        _BOOK_RELS: _with_target(p, "worksheets/sheet1.xml", "worksheets/a%20b.xml")[_BOOK_RELS],
    },
    "an absolute path": lambda p: _with_target(
        p, "worksheets/sheet1.xml", "/xl/worksheets/sheet1.xml"
    ),
    "a path from the top without a slash": lambda p: _with_target(
        p, "worksheets/sheet1.xml", "xl/worksheets/sheet1.xml"
    ),
    "a path with dots": lambda p: _with_target(
        p, "worksheets/sheet1.xml", "../xl/./worksheets/sheet1.xml"
    ),
    "capitals in names": lambda p: {name.upper(): content for name, content in p.items()},
    "strict": lambda p: {
        name: content.replace(MAIN.encode(), b"http://purl.oclc.org/ooxml/spreadsheetml/main")
        .replace(_OFFICE.encode(), b"http://purl.oclc.org/ooxml/officeDocument/relationships")
        for name, content in _moved(p, {_STYLES: "xl/styles2.xml"}).items()
    },
    "a conditional format of the same number": lambda p: {
        **p, _STYLES: p[_STYLES].replace(b"</cellStyles></styleSheet>", _CONDITIONAL)
    },
    "UTF-16": lambda p: _recoded(p, "utf-16"),
    "UTF-16 in big-endian order": lambda p: {
        name: b"\xfe\xff" + content for name, content in _recoded(p, "utf-16-be").items()
    },
    "UTF-16 without a mark": lambda p: _recoded(p, "utf-16-le"),
    "a sheet in UTF-16": lambda p: _recoded(p, "utf-16", _SHEET),
    "styles in UTF-16": lambda p: _recoded(p, "utf-16", _STYLES),
    "texts in UTF-16": lambda p: _recoded(p, "utf-16", _STRINGS),
    "a workbook in UTF-16": lambda p: _recoded(p, "utf-16", _WORKBOOK, _BOOK_RELS),
    "UTF-8 with a mark": lambda p: _recoded(p, "utf-8-sig"),
    "Latin-1": lambda p: _recoded(p, "iso-8859-1"),
    "Windows-1252": lambda p: _recoded(p, "windows-1252", _STRINGS, _SHEET),
}  # fmt: skip
"""Changes of the usual parts."""
