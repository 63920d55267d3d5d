"""Workspace of the page: the workbook that is open, in a private folder of the home.

Edits are kept beside the workbook, whole, after each of them, so that they outlive the page. A
folder stays where edits are kept in it, or where something of its workbook was sent, as the journal
names the file; the others are removed when the page ends.
"""

import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.files import make_private_folder, report_write_errors, write_private
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.settings import CsvForm, ParseOptions, Settings, WorkbookLimits
from xlbridge.ui.reading_progress import ReadingProgress
from xlbridge.ui.row_remarks import kept_refusals
from xlbridge.ui.sheet_editor import MAPPING, BatchUnit, SheetChoice, SheetEditor
from xlbridge.validation.mapping import read_mapping
from xlbridge.workbook.write import as_xlsx

_NO_WORKBOOK = Text(pt="Abra um arquivo primeiro.", en="Open a workbook first.")
_NO_DRAFT = Text(
    pt="Essa edição não existe mais. Abra a planilha de novo.",
    en="This edit is gone. Open the workbook again.",
)
_OTHER_SHEET = Text(
    pt="Outra planilha foi aberta no lugar desta; recarregue a página para vê-la.",
    en="Another sheet was opened in place of this one; reload the page to see it.",
)
_DRAFT = "edits.json"


class Workspace:
    """Open workbook of one page, and the edits that are kept of it and of earlier ones."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.catalogue: Catalogue = load_catalogue(settings.schemas)
        self._editor: SheetEditor | None = None
        self._unsent: set[Path] = set()

    @property
    def editor(self) -> SheetEditor:
        """The open workbook. Raises ``UsageError`` when none is."""
        if self._editor is None:
            raise UsageError(_NO_WORKBOOK)
        return self._editor

    def editor_of(self, shown: str | None) -> SheetEditor:
        """Return the editor of the sheet that a page shows, of any where the page does not say.

        Raises ``UsageError`` where another one was opened since, as in a second tab.
        """
        editor = self.editor
        if shown is not None and shown != editor.id:
            raise UsageError(_OTHER_SHEET)
        return editor

    @property
    def is_open(self) -> bool:
        """True where a workbook is open whose sheet was recognised."""
        return self._editor is not None and self._editor.is_recognised

    def read_file(
        self,
        path: Path,
        catalogue: Catalogue,
        limits: WorkbookLimits,
        progress: ReadingProgress | None = None,
    ) -> SheetEditor:
        """Read a file, one of another kind as the .xlsx workbook with the same cells; what is open
        stays so until the file is shown."""
        editor = SheetEditor(path, catalogue, limits, progress)
        made = path.with_suffix(".xlsx")
        if editor.workbook.read_as is not None:
            # Its cells tell that they can be nothing but texts; those of an .xlsx would not.
            editor.path = made
            return editor
        with as_xlsx(path, (), limits, editor.workbook) as workbook:
            if workbook == path:
                return editor
            shutil.copy(workbook, made)
        return SheetEditor(made, catalogue, limits, progress)

    def show(self, editor: SheetEditor) -> None:
        """Open a workbook that was read, in place of the one that is open."""
        self._editor = editor

    def new_folder(self) -> Path:
        """Make a private folder in the home, to be removed unless something of it is kept."""
        moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        folder = self._home / f"{moment}-{secrets.token_hex(2)}"
        with report_write_errors(folder):
            make_private_folder(folder)
        self._unsent.add(folder)
        return folder

    def keep_folder(self, editor: SheetEditor) -> None:
        """Keep the folder of a workbook, as something of it is sent."""
        self._unsent.discard(editor.path.parent)

    def save_edits(self, editor: SheetEditor) -> None:
        """Keep the edits of a workbook; the caller holds its lock."""
        file = editor.path.parent / _DRAFT
        if not editor.edited and editor.job is None:
            file.unlink(missing_ok=True)
            return
        choice = editor.choice
        kept = {
            "version": 2,
            "file": editor.path.name,
            "changed_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "resource": choice.resource,
            "sheet": editor.validated.sheet,
            "mapping": None if choice.mapping is None else choice.mapping.path.name,
            "dates": choice.reading.dates,
            "numbers": choice.reading.numbers,
            "parts": editor.kept_parts(),
            "refused": editor.remarks.records(),
            "job": editor.job,
            "links": dict(choice.links),
            "unit": None if editor.unit is None else asdict(editor.unit),
            "source": editor.source.name,
            "csv": asdict(editor.limits.csv),
        }
        write_private(file, json.dumps(kept, ensure_ascii=False))

    def drop_edits(self, editor: SheetEditor) -> None:
        """Forget the kept edits of a workbook, as all of it is written."""
        (editor.path.parent / _DRAFT).unlink(missing_ok=True)

    def drafts(self) -> list[dict[str, Any]]:
        """Return the workbooks with kept edits, the latest first."""
        found = []
        for file in self._home.glob(f"*/{_DRAFT}"):
            kept = _read_draft(file)
            if kept is not None and (file.parent / _source_name(kept)).is_file():
                changed = datetime.fromisoformat(kept["changed_at"]).astimezone()
                told = {name: kept[name] for name in ("file", "resource", "sheet")}
                moment = {"changed_at": f"{changed:%d/%m/%Y %H:%M}", "at": kept["changed_at"]}
                found.append(
                    {
                        **told,
                        **moment,
                        "id": file.parent.name,
                        "cells": sum(len(part["edits"]) for part in kept["parts"].values()),
                    }
                )
        return sorted(found, key=lambda one: str(one["at"]), reverse=True)

    def discard_draft(self, name: str) -> None:
        """Remove kept edits; the workbook stays where something of it was sent."""
        (self._draft_folder(name) / _DRAFT).unlink(missing_ok=True)

    def continue_draft(self, name: str) -> SheetEditor:
        """Open a workbook with the edits that were kept of it. Raises ``UsageError`` when they are
        gone or no longer fit."""
        folder = self._draft_folder(name)
        kept = _read_draft(folder / _DRAFT)
        if kept is None:
            raise UsageError(_NO_DRAFT)
        limits = replace(self.settings.limits, csv=CsvForm(**kept.get("csv", {})))
        editor = SheetEditor(folder / _source_name(kept), self.catalogue, limits)
        editor.path = folder / kept["file"]
        mapping = None if kept["mapping"] is None else read_mapping(folder / MAPPING)
        reading = ParseOptions(kept["dates"], kept["numbers"])
        links = kept.get("links", {})
        editor.choose(SheetChoice(kept["resource"], kept["sheet"], mapping, reading, links))
        editor.repeat(kept["parts"])
        editor.refuse(kept_refusals(editor.validated.sheet, kept["refused"]))
        editor.job = kept.get("job")
        if kept.get("unit") is not None:
            editor.unit = BatchUnit(**kept["unit"])
        editor.show_part(editor.validated.sheet)
        self._editor = editor
        return editor

    def close(self) -> None:
        """Remove the folders of which nothing was sent and in which no edits are kept."""
        for folder in self._unsent:
            if not (folder / _DRAFT).exists():
                shutil.rmtree(folder, ignore_errors=True)

    @property
    def _home(self) -> Path:
        return self.settings.home / "page"

    def _draft_folder(self, name: str) -> Path:
        if name not in {draft["id"] for draft in self.drafts()}:
            raise UsageError(_NO_DRAFT)
        return self._home / name


def _source_name(kept: Mapping[str, Any]) -> str:
    """Return the name of the file that kept edits are of; earlier ones do not tell it."""
    name: str = kept.get("source", kept["file"])
    return name


def _read_draft(file: Path) -> dict[str, Any] | None:
    """Return what is kept in a file, None where it cannot be read or is of a newer version."""
    try:
        kept = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and kept.get("version") == 2 else None
