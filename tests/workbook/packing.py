"""Unpacking of workbooks, and packing into valid or invalid ones."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import xlsxwriter

Parts = Mapping[str, bytes]

SHEET = "xl/worksheets/sheet1.xml"
WORKBOOK = "xl/workbook.xml"
RELATIONS = "xl/_rels/workbook.xml.rels"
TYPES = "[Content_Types].xml"
STYLES = "xl/styles.xml"
STRINGS = "xl/sharedStrings.xml"

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
HEADER = ("nomeComercial", "natureza", "cnpj")
GOOD_ROW = ("Padaria Estrela", "J", "11.222.333/0001-81")


def unpacked(path: Path) -> dict[str, bytes]:
    """Return the parts of a workbook by name."""
    with zipfile.ZipFile(path) as package:
        return {entry.filename: package.read(entry) for entry in package.infolist()}


def good_parts(folder: Path) -> dict[str, bytes]:
    """Return the parts of a small workbook of a client without findings."""
    path = folder / "good.xlsx"
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet("Plan1")
        page.write_row(0, 0, HEADER)
        page.write_row(1, 0, GOOD_ROW)
    return unpacked(path)


def packed(parts: Parts, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive of these parts."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return stream.getvalue()


def text_cell(address: str, text: str) -> str:
    """Return the XML of a cell with an inline text."""
    return f'<c r="{address}" t="inlineStr"><is><t>{text}</t></is></c>'


def text_row(number: int, texts: tuple[str, ...]) -> str:
    """Return the XML of a row of texts from column A on."""
    cells = "".join(text_cell(f"{'ABCDEFGH'[place]}{number}", t) for place, t in enumerate(texts))
    return f'<row r="{number}">{cells}</row>'


FIRST_ROWS = text_row(1, HEADER) + text_row(2, GOOD_ROW)


def sheet(rows: str, before: str = "", after: str = "") -> bytes:
    """Return a sheet's part with these rows."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="{MAIN}">{before}'
        f"<sheetData>{rows}</sheetData>{after}</worksheet>"
    ).encode()
