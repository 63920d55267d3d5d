"""Signatures of the workbooks that xlbridge writes: properties, sheet names, added columns; and the
marks by which one of them may be overwritten.

The parser process imports this module: it must stay light.
"""

import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path

from xlbridge import files
from xlbridge.errors import UsageError
from xlbridge.i18n import Text

TEMPLATE_PROPERTY = "xlbridge-template"
"""The custom document property that holds the resource's fingerprint."""

EXPORT_PROPERTY = "xlbridge-export"
"""The custom document property that holds the name of the exported listing."""

PROOF_PROPERTY = "xlbridge-proof"
"""The custom document property that holds the digest of the plan of a batch that is proven."""

INSTRUCTIONS_SHEET = "Instruções"
"""The sheet of a template with the instructions; never data."""

LISTS_SHEET = "Listas"
"""The hidden sheet of a template that its dropdowns read; never data."""

REGISTRIES_SHEET = "Cadastros"
"""The sheet of a template with the records of registries that its dropdowns offer; never data."""

REGISTRIES_TITLE = "Cadastros do sistema: "
"""Beginning of the first cell of that sheet."""

SUMMARY_SHEET = "xlbridge"
"""The sheet that lists the findings in an annotated workbook; never data."""

SUMMARY_NAME = "xlbridge.summary"
"""The hidden name, local to that sheet, that it is known by whatever it is called."""

COVER_SHEET = Text(pt="Exportação", en="Export cover")
"""The first sheet of an export: what was asked for, counts, control totals; never data."""

INSTRUCTIONS_TITLE = "Modelo de importação: "
"""Beginning of the first cell of the instructions."""

SUMMARY_TITLE = Text(pt="Resultado da conferência do xlbridge", en="What xlbridge found")
"""The first cell of the sheet that lists the findings."""

COVER_MOMENT = Text(pt="Exportado em", en="Exported at")
"""The first cell of a cover's second row."""

SHEETS_OF_PROPERTY: Mapping[str, frozenset[str]] = {
    TEMPLATE_PROPERTY: frozenset({INSTRUCTIONS_SHEET, LISTS_SHEET}),
    EXPORT_PROPERTY: frozenset({COVER_SHEET.pt, COVER_SHEET.en}),
}
"""The sheets that xlbridge adds to the workbooks that have a custom property."""

_FIRST_CELLS: Mapping[str, tuple[str, ...]] = {
    INSTRUCTIONS_SHEET: (INSTRUCTIONS_TITLE,),
    REGISTRIES_SHEET: (REGISTRIES_TITLE,),
    SUMMARY_SHEET: (SUMMARY_TITLE.pt, SUMMARY_TITLE.en),
    COVER_SHEET.pt: (COVER_MOMENT.pt,),
    COVER_SHEET.en: (COVER_MOMENT.en,),
}


def is_name_of_ours(sheet: str) -> bool:
    """Return whether a sheet bears a name that xlbridge gives to the sheets that it adds."""
    return sheet in _FIRST_CELLS


def starts_like_ours(sheet: str, first_texts: Iterable[object]) -> bool:
    """Return whether a sheet that bears a name of ours begins as ours do.

    For workbooks that lost the marks: not every program keeps properties and names.
    ``first_texts`` are the first cells of the first two rows.
    """
    openings = _FIRST_CELLS.get(sheet)
    return openings is not None and any(
        isinstance(text, str) and text.startswith(openings) for text in first_texts
    )


STATUS_COLUMNS = ("situação no envio", "motivo da rejeição", "código no sistema")
"""The columns that a living copy adds beside the data; not columns of the resource."""

REJECTS_COLUMNS = ("linha original", "motivo")
"""The columns that a rejects workbook adds after the data; not columns of the resource."""


_MAX_READ = 1_000_000
_CORE_PROPERTIES = "docProps/core.xml"
_TIMES = re.compile(rb"<dcterms:(created|modified)[^>]*>([^<]*)<")
_UNREADABLE = (
    OSError, LookupError, ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


class WorkbookMark(Enum):
    """Mark of who wrote a workbook: ``text`` is a name in one of its parts, ``part``."""

    EXPORTED = "docProps/custom.xml", EXPORT_PROPERTY
    PROVEN = "docProps/custom.xml", PROOF_PROPERTY
    ANNOTATED = "xl/workbook.xml", SUMMARY_NAME

    def __init__(self, part: str, text: str) -> None:
        self.part = part
        self.text = text

    def is_on(self, path: Path) -> bool:
        """Return whether a file is a workbook with this mark."""
        try:
            with zipfile.ZipFile(path) as archive, archive.open(self.part) as content:
                return f'name="{self.text}"'.encode() in content.read(_MAX_READ)
        except _UNREADABLE:
            # Whatever cannot be read carries no mark.
            return False

    def require_own(self, path: Path, *, unedited: bool = False) -> None:
        """Raise ``UsageError`` when ``path`` exists and is no workbook with this mark.

        With ``unedited`` also when a program has saved it since xlbridge wrote it.
        """
        if not self.is_on(path):
            files.require_new(path)
        if unedited:
            _require_unedited(path)


def _require_unedited(path: Path) -> None:
    """Raise ``UsageError`` when a workbook that xlbridge wrote was saved by a program since.

    Every program that saves one sets the time of its last change, and keeps that of its making.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_CORE_PROPERTIES) as content:
            times = dict(_TIMES.findall(content.read(_MAX_READ)))
    except _UNREADABLE:
        return
    if times.get(b"modified", b"") != times.get(b"created", b""):
        raise UsageError(
            Text(
                pt="{path} foi alterado depois de exportado.",
                en="{path} was edited after it was exported.",
            ).format(path=path),
            Text(
                pt="Grave com outro nome, ou substitua com --force: o que foi escrito nele se "
                "perde.",
                en="Write under another name, or replace it with --force: what was written in it "
                "is lost then.",
            ),
        )
