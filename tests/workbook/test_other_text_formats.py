"""Text files that other programs open as workbooks are named, and never to be renamed to .csv."""

from pathlib import Path

import pytest

from xlbridge.errors import WorkbookRefused
from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import validate_workbook
from xlbridge.workbook.read import read_workbook

_XML_2003 = (
    '<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?><Workbook '
    'xmlns="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet><Table/></Worksheet></Workbook>'
)
_FLAT = (
    '<?xml version="1.0" encoding="UTF-8"?><office:document '
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"/>'
)
_TABLE = "<table><tr><td>nome</td><td>1,50</td></tr></table>"
_MIME = 'Content-Type: multipart/related; boundary="x"\r\n\r\n--x\r\n<html></html>\r\n'
FILES: dict[str, tuple[str, bytes, str, str]] = {
    "XML of 2003": ("a.xls", _XML_2003.encode(), "not-xlsx", "XML 2003"),
    "XML of 2003 as .xml": ("a.xml", _XML_2003.encode(), "not-xlsx", "XML 2003"),
    "XML of 2003 as .csv": ("a.csv", _XML_2003.encode(), "not-xlsx", "XML 2003"),
    "XML of 2003 as .xlsx": ("a.xlsx", _XML_2003.encode(), "not-xlsx", "XML 2003"),
    "XML of 2003 in UTF-16": ("a.xls", _XML_2003.encode("utf-16"), "not-xlsx", "XML 2003"),
    "XML of 2003 with a mark": ("a.xls", _XML_2003.encode("utf-8-sig"), "not-xlsx", "XML 2003"),
    "XML of 2003 without a declaration": (
        "a.xls", _XML_2003.partition("?>")[2].encode(), "not-xlsx", "XML 2003"
    ),
    "flat OpenDocument": ("a.fods", _FLAT.encode(), "not-xlsx", ".fods"),
    "flat OpenDocument as .ods": ("a.ods", _FLAT.encode(), "not-xlsx", ".fods"),
    "flat OpenDocument as .xml": ("a.xml", b"\r\n" + _FLAT.encode(), "not-xlsx", ".fods"),
    "flat OpenDocument with a mark": ("a.fods", _FLAT.encode("utf-8-sig"), "not-xlsx", ".fods"),
    "flat OpenDocument in UTF-16": ("a.fods", _FLAT.encode("utf-16"), "not-xlsx", ".fods"),
    "MHTML": ("a.xls", b"MIME-Version: 1.0\r\n" + _MIME.encode(), "html", "HTML"),
    "MHTML as .mht": ("a.mht", b"MIME-Version: 1.0\r\n" + _MIME.encode(), "html", "HTML"),
    "MHTML of a browser": (
        "a.mhtml", b"From: <Saved>\r\nSubject: x\r\nMIME-Version: 1.0\r\n" + _MIME.encode(),
        "html", "HTML",
    ),
    "MHTML with a folded line": (
        "a.xls", b"X-Type: a;\r\n b\r\n" + _MIME.lower().encode(), "html", "HTML"
    ),
    "MHTML with its type first": ("a.xls", _MIME.encode(), "html", "HTML"),
    "a table": ("a.xls", _TABLE.encode(), "html", "HTML"),
    "a table in a block": ("a.xls", f"<div>\r\n\t{_TABLE}</div>".encode(), "html", "HTML"),
    "a table below a style": ("a.xls", f"<style>td {{}}</style>{_TABLE}".encode(), "html", "HTML"),
    "a table below a comment": ("a.xls", f"<!-- x -->{_TABLE}".encode(), "html", "HTML"),
    "a table of capitals": ("a.xls", _TABLE.upper().encode(), "html", "HTML"),
    "a table in UTF-16": ("a.xls", _TABLE.encode("utf-16"), "html", "HTML"),
    "a table as .csv": ("a.csv", f"\r\n{_TABLE}".encode(), "html", "HTML"),
    "a page with a declaration": (
        "a.xls", f'<?xml version="1.0"?><html><body>{_TABLE}</body></html>'.encode(), "html", "HTML"
    ),
    "XML of an invoice": ("a.xml", b'<?xml version="1.0"?><nfeProc/>', "not-xlsx", "XML"),
    "XML of an invoice as .csv": ("a.csv", b'<?xml version="1.0"?><nfeProc/>', "not-xlsx", "XML"),
    "RTF": ("a.xls", b"{\\rtf1\\ansi x}", "not-xlsx", "RTF"),
    "SYLK": ("a.slk", b"ID;PWXL;N;E\r\nP;PGeneral\r\nC;Y1;X1;K1\r\nE\r\n", "not-xlsx", "SYLK"),
    "SYLK as .xls": ("a.xls", b"ID;PSCALC3\nB;X2;Y2\n", "not-xlsx", "SYLK"),
    "DIF": ("a.dif", b'TABLE\r\n0,1\r\n"EXCEL"\r\n', "not-xlsx", "DIF"),
    "JSON": ("a.xlsx", b'[{"nome": "Ana"}]', "not-xlsx", "JSON"),
    "a JSON object": ("a.xls", b'{\n  "nome": "Ana"}', "not-xlsx", "JSON"),
}  # fmt: skip
"""Name and content of each file, the code of its refusal and a word of the message."""


@pytest.mark.parametrize("name", FILES)
def test_a_text_of_another_format_is_to_be_saved_as_a_workbook(name: str, tmp_path: Path) -> None:
    file, content, code, word = FILES[name]
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(WorkbookRefused) as refused:
        read_workbook(path, WorkbookLimits())
    assert refused.value.code == code
    assert word in refused.value.message.pt
    assert refused.value.hint is not None
    assert ".xlsx" in refused.value.hint.pt
    assert ".csv" not in refused.value.hint.pt


@pytest.mark.parametrize("first", ["ID;PRODUTO;nomeComercial", "<nome>;nomeComercial", "[a;{b"])
def test_a_csv_whose_header_starts_alike_is_read(
    first: str, tmp_path: Path, catalogue: Catalogue
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"{first};natureza\r\n1;x;Padaria;J\r\n".encode())
    (cells,) = read_workbook(path, WorkbookLimits()).sheets
    assert cells.row(0)[0] == first.partition(";")[0]
    assert validate_workbook(path, catalogue, resource="cliente").sheet == "a"
