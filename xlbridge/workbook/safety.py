"""The gate: a file is inspected as raw bytes before any parser sees it.

Every part is inflated here under limits, so that a bomb, a lie about sizes or a document that is
no .xlsx at all is refused with its own message. What only the raw XML shows is noted on the way:
error cells and formulas without a result, which the reader cannot tell from empty cells.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.i18n import Text
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.address import column_index
from xlbridge.workbook.file_kind import refuse_unless_workbook, refuse_unless_zip
from xlbridge.workbook.number_formats import padding_styles, percent_styles
from xlbridge.workbook.signature import TEMPLATE_PROPERTY

_CHUNK = 1 << 20
_DOCTYPE = tuple("<!DOCTYPE".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))
_XML_ENDINGS = (".xml", ".rels", ".vml")
_SHEET_PART = re.compile(r"xl/worksheets/[^/]+\.xml", re.IGNORECASE)
_ENCRYPTED_ENTRY = 0x1

# These two run over every byte: a literal beginning keeps them fast.
_TWO_LETTERS = re.compile(rb'r="[A-Z][A-Z]')
_LONG_ROW = re.compile(rb'r="(?:[A-Z]{1,3})?(\d{6,7})"')
_ROW_NUMBER = re.compile(rb"[^>]*?\br=[\"'](\d+)")
_CELL_REFERENCE = re.compile(rb"\br=[\"']([A-Z]{1,3})(\d+)[\"']")
_ERROR_CELL = re.compile(
    rb"<(?:\w+:)?c\b([^>]*\bt=[\"']e[\"'][^>]*)>(?:(?!</(?:\w+:)?c>).)*?<(?:\w+:)?v>([^<]*)<",
    re.DOTALL,
)
_BARE_FORMULA = re.compile(
    rb"<(?:\w+:)?c\b([^>]*)>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_TEXT_RESULT = re.compile(rb"\bt=[\"']str[\"']")
_FIRST_FAR_COLUMN = 26

_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ET.ParseError)

_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_STRICT_RELATION = "{http://purl.oclc.org/ooxml/officeDocument/relationships}id"

CellPlace = tuple[int, int]
"""A cell: Excel's row number and the zero-based column."""


@dataclass(slots=True)
class RawSheet:
    """What the raw XML of a sheet shows and a reader would not.

    ``errors`` maps a cell to the error that it displays; ``unvalued`` are cells whose formula has
    no stored result. ``percents`` are cells shown as a percentage, ``padded`` those shown with
    leading zeros, to so many digits.
    """

    errors: dict[CellPlace, str] = field(default_factory=dict)
    unvalued: set[CellPlace] = field(default_factory=set)
    percents: set[CellPlace] = field(default_factory=set)
    padded: dict[CellPlace, int] = field(default_factory=dict)
    last_row: int = 0
    last_column: int = _FIRST_FAR_COLUMN - 1


@dataclass(frozen=True, slots=True)
class InspectedWorkbook:
    """A workbook that passed the gate: its bytes, and what the gate saw.

    ``fingerprint`` is that of the template it was made from, None where there is none.
    """

    content: bytes = field(repr=False)
    fingerprint: str | None
    sheets: dict[str, RawSheet]


def inspect_workbook(path: Path, limits: WorkbookLimits) -> InspectedWorkbook:
    """Read a file and let it pass only if it is an .xlsx workbook within ``limits``.

    Raises ``UsageError`` when there is no such file, ``WorkbookRefused`` otherwise.
    """
    content = _read(path, limits)
    refuse_unless_zip(content)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            return _inspect(package, content, limits)
    except _DAMAGED as error:
        raise WorkbookRefused(
            "truncated",
            Text(
                pt="O arquivo está incompleto ou danificado.",
                en="The file is incomplete or damaged.",
            ),
            Text(
                pt="Abra-o no Excel, salve de novo como .xlsx e tente outra vez.",
                en="Open it in Excel, save it again as .xlsx and try once more.",
            ),
        ) from error


def _read(path: Path, limits: WorkbookLimits) -> bytes:
    if not path.exists():
        raise UsageError(
            Text(pt="O arquivo {p} não existe.", en="The file {p} does not exist.").format(p=path)
        )
    if not path.is_file():
        raise UsageError(Text(pt="{p} não é um arquivo.", en="{p} is not a file.").format(p=path))
    if path.stat().st_size > limits.file_size:
        raise _too_large(Text(pt="o arquivo", en="the file"), limits.file_size)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            Text(
                pt="O arquivo {p} não pôde ser lido: {e}", en="The file {p} cannot be read: {e}"
            ).format(p=path, e=error.strerror)
        ) from error


def _inspect(package: zipfile.ZipFile, content: bytes, limits: WorkbookLimits) -> InspectedWorkbook:
    entries = package.infolist()
    _check_directory(entries, limits)
    small: dict[str, bytes] = {}
    raw: dict[str, RawSheet] = {}
    total = 0
    for entry in sorted(entries, key=lambda entry: entry.filename.lower() != _STYLES):
        chunks = _inflate(package, entry, limits)
        if _SHEET_PART.fullmatch(entry.filename):
            telling = _telling_styles(small.get(_STYLES))
            raw[entry.filename.lower()], size = _scan_sheet(chunks, telling)
            _check_box(raw[entry.filename.lower()], limits)
        else:
            size, kept = 0, []
            wanted = entry.filename.lower() in _WANTED
            for chunk in chunks:
                size += len(chunk)
                if wanted:
                    kept.append(chunk)
            if wanted:
                small[entry.filename.lower()] = b"".join(kept)
        total += size
        if total > limits.total_size:
            raise _too_large(Text(pt="o conteúdo", en="the content"), limits.total_size)
    if total > limits.ratio_from and total > limits.ratio * len(content):
        raise _hostile(Text(pt="compressão fora do comum", en="uncommon compression"))
    refuse_unless_workbook(small.get(_CONTENT_TYPES, b""))
    parts = _sheet_parts(small)
    return InspectedWorkbook(
        content=content,
        fingerprint=_fingerprint(small.get(_CUSTOM)),
        sheets={name: raw.get(part, RawSheet()) for name, part in parts.items()},
    )


_CONTENT_TYPES = "[content_types].xml"
_WORKBOOK = "xl/workbook.xml"
_WORKBOOK_RELATIONS = "xl/_rels/workbook.xml.rels"
_CUSTOM = "docprops/custom.xml"
_STYLES = "xl/styles.xml"
_WANTED = frozenset({_CONTENT_TYPES, _WORKBOOK, _WORKBOOK_RELATIONS, _CUSTOM, _STYLES})


@dataclass(frozen=True, slots=True)
class _TellingStyles:
    """The styles that show a number as something else; ``cell`` finds the cells that have one."""

    percent: frozenset[int]
    padding: Mapping[int, int]
    cell: re.Pattern[bytes]


def _telling_styles(styles: bytes | None) -> _TellingStyles | None:
    if styles is None:
        return None
    root = _parse(styles)
    percent, padding = percent_styles(root), padding_styles(root)
    if not percent and not padding:
        return None
    either = "|".join(map(str, sorted({*percent, *padding})))
    cell = rf"<(?:\w+:)?c\b([^>]*\bs=[\"']({either})[\"'][^>]*)>"
    return _TellingStyles(percent, padding, re.compile(cell.encode()))


def _check_directory(entries: list[zipfile.ZipInfo], limits: WorkbookLimits) -> None:
    if len(entries) > limits.entries:
        raise _hostile(Text(pt="partes demais", en="too many parts"))
    names = [entry.filename.lower() for entry in entries]
    if len(set(names)) != len(names):
        raise _hostile(Text(pt="partes com o mesmo nome", en="parts of the same name"))
    for entry in entries:
        name = entry.filename
        if name.startswith(("/", "\\")) or "\\" in name or ".." in name.split("/"):
            raise _hostile(Text(pt="nome de parte inválido", en="an invalid part name"))
        if entry.flag_bits & _ENCRYPTED_ENTRY:
            raise WorkbookRefused(
                "encrypted",
                Text(pt="O arquivo está protegido por senha.", en="The file has a password."),
            )


def _inflate(
    package: zipfile.ZipFile, entry: zipfile.ZipInfo, limits: WorkbookLimits
) -> Iterator[bytes]:
    """Yield a part piece by piece; its declared size is not believed."""
    size = 0
    is_xml = entry.filename.lower().endswith(_XML_ENDINGS)
    tail = b""
    with package.open(entry) as part:
        while chunk := part.read(_CHUNK):
            size += len(chunk)
            if size > limits.part_size:
                raise _too_large(Text(pt="uma parte", en="a part"), limits.part_size)
            searched = tail + chunk if is_xml else b""
            if any(mark in searched for mark in _DOCTYPE):
                raise _hostile(Text(pt="definições DTD", en="DTD definitions"))
            tail = chunk[-32:]
            yield chunk


def _scan_sheet(chunks: Iterator[bytes], telling: _TellingStyles | None) -> tuple[RawSheet, int]:
    sheet, size, rest = RawSheet(), 0, b""
    for chunk in chunks:
        size += len(chunk)
        block = rest + chunk
        cut = _row_start(block)
        _scan_block(block[:cut], sheet, telling)
        rest = block[cut:]
    _scan_block(rest, sheet, telling)
    return sheet, size


def _note_styles(block: bytes, sheet: RawSheet, telling: _TellingStyles) -> None:
    for attributes, style in telling.cell.findall(block):
        place = _place(attributes)
        if place is None:
            continue
        if int(style) in telling.percent:
            sheet.percents.add(place)
        else:
            sheet.padded[place] = telling.padding[int(style)]


def _scan_block(block: bytes, sheet: RawSheet, telling: _TellingStyles | None) -> None:
    if telling is not None:
        _note_styles(block, sheet, telling)
    # Nobody who writes large sheets prefixes or single-quotes; only then are those forms sought.
    unusual = b"='" in block or b":row" in block
    sheet.last_row = max(sheet.last_row, _last_row(block))
    if unusual or _TWO_LETTERS.search(block):
        for letters, row in _CELL_REFERENCE.findall(block):
            sheet.last_column = max(sheet.last_column, column_index(letters.decode()))
            sheet.last_row = max(sheet.last_row, int(row))
    if unusual or b't="e"' in block:
        for attributes, error in _ERROR_CELL.findall(block):
            if place := _place(attributes):
                sheet.errors[place] = error.decode("utf-8", "replace")
    if unusual or b"<f>" in block or b"<f " in block or b"<f/" in block:
        for attributes, result in _BARE_FORMULA.findall(block):
            is_empty_text = result and _TEXT_RESULT.search(attributes)
            if not is_empty_text and (place := _place(attributes)):
                sheet.unvalued.add(place)


def _last_row(block: bytes) -> int:
    """Return the number of the block's last row, or a greater one that stands anywhere in it."""
    last = _ROW_NUMBER.match(block, _row_start(block))
    return max([0 if last is None else int(last[1]), *map(int, _LONG_ROW.findall(block))])


def _row_start(block: bytes) -> int:
    return max(block.rfind(b"<row"), block.rfind(b":row "), 0)


def _place(attributes: bytes) -> CellPlace | None:
    reference = _CELL_REFERENCE.search(attributes)
    if reference is None:
        return None
    return int(reference[2]), column_index(reference[1].decode())


def _check_box(sheet: RawSheet, limits: WorkbookLimits) -> None:
    wide = sheet.last_column >= _FIRST_FAR_COLUMN
    if wide and sheet.last_row * (sheet.last_column + 1) > limits.cells:
        raise _hostile(
            Text(pt="células longe demais umas das outras", en="cells too far from one another")
        )


def _sheet_parts(small: dict[str, bytes]) -> dict[str, str]:
    """Return the part of each sheet, by the sheet's name, in the workbook's order."""
    targets = {
        relation.get("Id", ""): relation.get("Target", "")
        for relation in _parse(small.get(_WORKBOOK_RELATIONS, b"<none/>"))
    }
    parts = {}
    for element in _parse(small.get(_WORKBOOK, b"<none/>")).iter():
        if element.tag.rpartition("}")[2] == "sheet":
            target = targets.get(element.get(_RELATION) or element.get(_STRICT_RELATION) or "", "")
            part = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
            parts[element.get("name", "")] = part.lower()
    return parts


def _fingerprint(custom: bytes | None) -> str | None:
    if custom is None:
        return None
    for element in _parse(custom):
        if element.get("name") == TEMPLATE_PROPERTY:
            return "".join(element.itertext()).strip() or None
    return None


def _parse(xml: bytes) -> ET.Element:
    return ET.fromstring(xml)  # noqa: S314 - DTDs were refused and the size is bounded above


def _too_large(what: Text, limit: int) -> WorkbookRefused:
    return WorkbookRefused(
        "too-large",
        Text(
            pt="A pasta de trabalho é grande demais: {what} passa de {mb} MB.",
            en="The workbook is too large: {what} exceeds {mb} MB.",
        ).format(what=what, mb=limit // 2**20),
        Text(pt="Divida-a em arquivos menores.", en="Split it into smaller files."),
    )


def _hostile(what: Text) -> WorkbookRefused:
    return WorkbookRefused(
        "hostile",
        Text(
            pt="O arquivo foi recusado por segurança ({what}).",
            en="The file was refused for safety ({what}).",
        ).format(what=what),
        Text(
            pt="Copie os dados para uma pasta nova e salve como .xlsx.",
            en="Copy the data into a new workbook and save it as .xlsx.",
        ),
    )
