"""Small .ods workbooks from the XML of their cells."""

import zipfile
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

_SPACES = "".join(
    f' xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("style", "style"),
        ("number", "datastyle"), ("draw", "drawing"), ("svg", "svg-compatible"),
    )
)  # fmt: skip
_EXTENSIONS = "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"
_MANIFEST = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
)


def text_cell(text: str) -> str:
    """Return the XML of a cell with a text."""
    return of_text(f"<text:p>{escape(text)}</text:p>")


def of_text(content: str) -> str:
    """Return the XML of a cell with the XML of a text."""
    return f'<table:table-cell office:value-type="string">{content}</table:table-cell>'


def number_cell(value: float, style: str = "") -> str:
    """Return the XML of a cell with a number, and a style."""
    name = f' table:style-name="{style}"' if style else ""
    return (
        f'<table:table-cell{name} office:value-type="float" office:value="{value}">'
        f"<text:p>{value}</text:p></table:table-cell>"
    )


def date_cell(day: str) -> str:
    """Return the XML of a cell with a date, written as year, month and day."""
    return (
        f'<table:table-cell office:value-type="date" office:date-value="{day}">'
        f"<text:p>{day}</text:p></table:table-cell>"
    )


def style_of(name: str, kind: str, parts: str) -> str:
    """Return the XML of a style of cells, and of its number format of a kind with these parts."""
    return (
        f'<number:{kind}-style style:name="N{name}">{parts}</number:{kind}-style>'
        f'<style:style style:name="{name}" style:family="table-cell" '
        f'style:data-style-name="N{name}"/>'
    )


def write_ods(path: Path, rows: Iterable[Iterable[str]], styles: str = "", after: str = "") -> Path:
    """Write a workbook with a sheet of these cells; ``styles`` is the XML of its styles, ``after``
    that of what follows the rows."""
    table = "".join(f"<table:table-row>{''.join(row)}</table:table-row>" for row in rows)
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content{_SPACES} '
        f'xmlns:calcext="{_EXTENSIONS}" office:version="1.2">'
        f"<office:automatic-styles>{styles}</office:automatic-styles>"
        '<office:body><office:spreadsheet><table:table table:name="Plan1">'
        f"{table}{after}</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", _MANIFEST)
        archive.writestr("content.xml", content)
    return path
