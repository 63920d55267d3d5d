"""Signatures of the workbooks that xlbridge writes: properties, sheet names, added columns, marks.

The parser process imports this module: it must stay light.
"""

import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from html import unescape
from io import BytesIO
from itertools import count, takewhile
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from xlbridge import files, titles
from xlbridge.errors import NO_FILE, UsageError
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.workbook.encryption import OLE_START, decrypted, is_encrypted_package

TEMPLATE_PROPERTY = "xlbridge-template"
"""Custom document property with the resource's fingerprint."""

EXPORT_PROPERTY = "xlbridge-export"
"""Custom document property with the name of the exported listing."""

RESOURCE_PROPERTY = "xlbridge-resource"
"""Custom document property with the resource that the rows belong to."""

PROOF_PROPERTY = "xlbridge-proof"
"""Custom document property with the digest of the plan of a proven batch."""

INSTRUCTIONS_SHEET = Text(pt="Instruções", en="Instructions")
"""Sheet of a template with the instructions; never data."""

LISTS_SHEET = "Listas"
"""Hidden sheet of a template with the allowed values of its dropdowns; never data."""

REGISTRIES_SHEET = Text(pt="Cadastros", en="Registries")
"""Sheet of a template with the registries' records that its dropdowns offer; never data."""

REGISTRIES_TITLE = Text(pt="Cadastros do sistema: ", en="Registries of the system: ")
"""Beginning of the first cell of that sheet."""

SUMMARY_SHEET = "xlbridge"
"""Sheet of an annotated workbook that lists the findings; never data."""

SUMMARY_NAME = "xlbridge.summary"
"""Hidden name, local to that sheet, that identifies it even if it is renamed."""

COVER_SHEET = Text(pt="Exportação", en="Export cover")
"""First sheet of an export, with its filters, counts and control totals; never data."""

UPLOAD_SUMMARY_SHEET = Text(pt="Resumo do envio", en="Upload summary")
"""First sheet of a rejects workbook, with what became of the rows of the upload; never data."""

INSTRUCTIONS_TITLE = Text(pt="Modelo de importação: ", en="Import template: ")
"""Beginning of the first cell of the instructions."""

SUMMARY_TITLE = Text(pt="Resultado da conferência do xlbridge", en="What xlbridge found")
"""First cell of the sheet that lists the findings."""

UPLOAD_SUMMARY_TITLE = Text(pt="Resumo do envio ", en="Summary of the upload ")
"""Beginning of the first cell of that sheet."""

COVER_TITLE = Text(pt="Exportação: ", en="Export: ")
"""Beginning of the first cell of a cover."""

SHEETS_OF_PROPERTY: Mapping[str, frozenset[str]] = {
    TEMPLATE_PROPERTY: frozenset(
        {
            LISTS_SHEET,
            *(INSTRUCTIONS_SHEET.pt, INSTRUCTIONS_SHEET.en),
            *(UPLOAD_SUMMARY_SHEET.pt, UPLOAD_SUMMARY_SHEET.en),
        }
    ),
    EXPORT_PROPERTY: frozenset({COVER_SHEET.pt, COVER_SHEET.en}),
}
"""Sheets that xlbridge adds, by the custom property of the workbook."""

_FIRST_CELLS: Mapping[str, tuple[str, ...]] = {
    SUMMARY_SHEET: (SUMMARY_TITLE.pt, SUMMARY_TITLE.en),
    **{
        name: (start,)
        for sheet, title in (
            (INSTRUCTIONS_SHEET, INSTRUCTIONS_TITLE),
            (REGISTRIES_SHEET, REGISTRIES_TITLE),
            (COVER_SHEET, COVER_TITLE),
            (UPLOAD_SUMMARY_SHEET, UPLOAD_SUMMARY_TITLE),
        )
        for name, start in ((sheet.pt, title.pt), (sheet.en, title.en))
    },
}


def exported_resource(properties: Mapping[str, str]) -> str | None:
    """Return the resource of the records of an exported listing, empty if they have none, by the
    custom properties of a workbook; None if it is no export."""
    return properties.get(RESOURCE_PROPERTY, "") if EXPORT_PROPERTY in properties else None


def is_reserved_name(sheet: str) -> bool:
    """Return whether xlbridge uses this name for a sheet that it adds."""
    return sheet in _FIRST_CELLS


def is_generated_sheet(sheet: str, first_cells: Iterable[object]) -> bool:
    """Return whether a sheet's name and first two cells are those of one that xlbridge adds.

    For workbooks without marks: not every program keeps properties and names.
    """
    starts = _FIRST_CELLS.get(sheet, ())
    return any(isinstance(cell, str) and cell.startswith(starts) for cell in first_cells)


STATUS_COLUMNS = (
    Text(pt="Situação no envio", en="State in the upload"),
    titles.REASON,
    titles.WHAT_TO_DO,
    Text(pt="Código no sistema", en="Code in the system"),
)
"""Columns that a status copy adds after the data; not columns of the resource."""

REJECTS_COLUMNS = (
    Text(pt="Linha original", en="Original row"),
    titles.REASON,
    titles.WHAT_TO_DO,
)
"""Columns that a rejects workbook adds before the data; not columns of the resource."""


_MAX_READ = 1_000_000
_CORE_PROPERTIES = "docProps/core.xml"
_CUSTOM_PROPERTIES = "docProps/custom.xml"
_TIMES = re.compile(rb"<dcterms:(created|modified)[^>]*>([^<]*)<")
_UNREADABLE = (
    OSError, LookupError, ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


def _start_of_part(path: Path, part: str) -> bytes:
    """Return the first megabyte of a part, empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            is_ole = file.read(len(OLE_START)) == OLE_START
            file.seek(0)
            plain: BinaryIO = file
            if is_ole:
                # Nothing, if it is not a package encrypted with the default password.
                whole = file.read()
                plain = BytesIO((decrypted(whole) if is_encrypted_package(whole) else None) or b"")
            with zipfile.ZipFile(plain) as archive, archive.open(part) as content:
                return content.read(_MAX_READ)
    except _UNREADABLE:
        return b""


FORMAT_VERSION = 1
"""Version of what workbooks carry about themselves."""

_ORIGIN_PREFIX, _WORDS = "xlbridge-", "words"
_MAX_PROPERTY = 255
"""Most characters of a property that Excel keeps."""

_PROPERTY = re.compile(
    rb'<(?:property|meta:user-defined)\b[^>]*?\bname="xlbridge-(\w+)"[^>]*>(?:<\w+:\w+[^>]*>)?([^<]*)<'
)
"""Property of an .xlsx or an .ods file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkbookOrigin:
    """Origin of a workbook, which it carries inside: as properties of the document.

    ``system`` identifies the remote system that its record numbers belong to. ``template`` is the
    fingerprint of its layout, ``export`` the exported listing. ``job`` is the upload of a
    copy of the workbook that was sent, if ``copy`` is true, or of its rejected rows; ``words`` are
    those that stand for values in its columns, by the columns' paths. What does not apply is empty.
    """

    SYSTEM_PROPERTY: ClassVar = f"{_ORIGIN_PREFIX}system"

    resource: str = ""
    language: str = ""
    system: str = ""
    template: str = ""
    export: str = ""
    job: str = ""
    copy: bool = False
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def summary_title(self) -> Text:
        """Title of the first sheet, which says what became of the upload."""
        return joined([UPLOAD_SUMMARY_TITLE, untranslated(self.job)], "")

    @classmethod
    def of(cls, path: Path) -> "WorkbookOrigin | None":
        """Return the origin that a workbook carries, None if xlbridge did not write it.

        Raises ``UsageError`` if a later version of xlbridge wrote it.
        """
        parts = b"".join(_start_of_part(path, part) for part in (_CUSTOM_PROPERTIES, "meta.xml"))
        found = {
            name.decode(): unescape(value.decode("utf-8", "replace"))
            for name, value in _PROPERTY.findall(parts)
        }
        version = found.get("format")
        if version is None:
            return None
        if not version.isdecimal() or int(version) > FORMAT_VERSION:
            raise UsageError(
                Text(
                    pt="{path} foi gravado por uma versão mais nova do xlbridge.",
                    en="{path} was written by a newer version of xlbridge.",
                ).format(path=path),
                Text(pt="Atualize o xlbridge.", en="Update xlbridge."),
            )
        others = {"copy", _WORDS}
        texts = {one.name: found.get(one.name, "") for one in fields(cls) if one.name not in others}
        pieces = (found.get(f"{_WORDS}{number}", "") for number in count(1))
        try:
            words = json.loads("".join(takewhile(bool, pieces)) or "{}")
        except ValueError:
            words = {}
        return cls(**texts, copy=found.get("copy") == "yes", words=words)

    @classmethod
    def require_system(cls, path: Path, system: str, profile: str, hint: Text) -> None:
        """Raise ``UsageError`` with ``hint`` if a workbook carries another system than this one,
        whose name is ``profile``."""
        origin = cls.of(path)
        if origin is not None and origin.system not in {"", system}:
            raise UsageError(
                _OTHER_SYSTEM.format(file=path, theirs=origin.system, profile=profile, ours=system),
                hint,
            )

    @classmethod
    def job_of(cls, path: Path) -> str:
        """Return the id of the upload that a workbook belongs to.

        Raises ``UsageError`` if it carries none, or does not exist.
        """
        if not path.exists():
            raise UsageError(NO_FILE.format(path=path))
        origin = cls.of(path)
        if origin is None or not origin.job:
            raise UsageError(
                Text(
                    pt="{file} não diz de que envio é.",
                    en="{file} does not say to which upload it belongs.",
                ).format(file=path),
                Text(
                    pt="Informe o envio: xlbridge retry ENVIO --file {file}",
                    en="Name the upload: xlbridge retry JOB --file {file}",
                ).format(file=files.as_arguments(path)),
            )
        return origin.job

    @classmethod
    def is_of_rejects(cls, path: Path) -> bool:
        """Return whether a file is the rejects workbook of an upload, whatever its name is."""
        origin = cls.of(path)
        return origin is not None and bool(origin.job) and not origin.copy

    def properties(self) -> dict[str, str]:
        """Return the properties to write."""
        values = {**asdict(self), "copy": "yes" if self.copy else ""}
        del values[_WORDS]
        # Without spaces, which programs may remove at the ends of a property.
        words = json.dumps(self.words, separators=(",", ":")).replace(" ", r"\u0020")
        starts = range(0, len(words) if self.words else 0, _MAX_PROPERTY)
        values |= {
            f"{_WORDS}{number}": words[start : start + _MAX_PROPERTY]
            for number, start in enumerate(starts, start=1)
        }
        if any(values.values()):
            values["format"] = str(FORMAT_VERSION)
        return {f"{_ORIGIN_PREFIX}{name}": value for name, value in values.items() if value}


_OTHER_SYSTEM = Text(
    pt="{file} tem números de registros de outro sistema, {theirs}; agora está configurado "
    "{profile}, {ours}.",
    en="{file} has record numbers of another system, {theirs}; now {profile}, {ours}, is "
    "configured.",
)


class WorkbookMark(Enum):
    """Mark of a workbook that xlbridge wrote: the name ``text`` in the part ``part``."""

    EXPORTED = _CUSTOM_PROPERTIES, EXPORT_PROPERTY
    PROVEN = _CUSTOM_PROPERTIES, PROOF_PROPERTY
    ANNOTATED = "xl/workbook.xml", SUMMARY_NAME

    def __init__(self, part: str, text: str) -> None:
        self.part = part
        self.text = text

    def is_on(self, path: Path) -> bool:
        """Return whether a file is a workbook with this mark."""
        return f'name="{self.text}"'.encode() in _start_of_part(path, self.part)

    def require_mark(self, path: Path, *, unedited: bool = False) -> None:
        """Raise ``UsageError`` if ``path`` exists and is not a workbook with this mark.

        With ``unedited`` also if a program has saved it since.
        """
        if not self.is_on(path):
            files.require_new(path)
        # Programs set the time of the last change, and keep that of the creation.
        times = dict(_TIMES.findall(_start_of_part(path, _CORE_PROPERTIES))) if unedited else {}
        if times.get(b"modified", b"") != times.get(b"created", b""):
            raise UsageError(
                Text(
                    pt="{path} foi alterado depois de exportado.",
                    en="{path} was edited after it was exported.",
                ).format(path=path),
                Text(
                    pt="Grave com outro nome, ou substitua com --force: as alterações se perdem.",
                    en="Write under another name, or replace it with --force: the edits are lost "
                    "then.",
                ),
            )
