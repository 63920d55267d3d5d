"""Workspace of the page: the open workbook, in a private folder of the home.

Edits are stored in the workbook's folder after each step, so that they outlive the page. When the
page ends, folders are removed unless they contain stored edits, or their workbook was uploaded and
the journal names it.
"""

import secrets
import shutil
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from xlbridge.errors import ConfigError, UsageError
from xlbridge.files import make_private_folder, report_write_errors, write_private
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.settings import CsvForm, ParseOptions, Settings, WorkbookLimits
from xlbridge.ui.answers import read_object
from xlbridge.ui.cell_edits import displayed_texts
from xlbridge.ui.environment import PageConnection, RegistryNames
from xlbridge.ui.row_order import read_layout
from xlbridge.ui.row_remarks import hint_on_page, load_refusals
from xlbridge.ui.sheet_editor import (
    MAPPING,
    BatchUnit,
    ReadingProgress,
    SheetChoice,
    SheetEditor,
)
from xlbridge.ui.sheet_rows import SheetRows
from xlbridge.validation.cells import folded_text
from xlbridge.validation.mapping import read_mapping, remembered_mappings
from xlbridge.workbook import CellPosition
from xlbridge.workbook.write import as_xlsx

_NO_WORKBOOK = Text(pt="Abra um arquivo primeiro.", en="Open a workbook first.")
_NO_DRAFT = Text(
    pt="Essa edição não existe mais. Abra a planilha de novo.",
    en="This edit no longer exists. Open the workbook again.",
)
_OTHER_SHEET = Text(
    pt="Outra planilha foi aberta no lugar desta; recarregue a página para vê-la.",
    en="Another sheet was opened instead of this one; reload the page to see it.",
)
_DRAFT, _DRAFT_VERSION = "edits.json", 4


class Workspace:
    """Open workbook of one page, and the stored edits of this and earlier ones."""

    def __init__(self, remote: PageConnection, names: RegistryNames) -> None:
        self._remote = remote
        self._names = names
        self.catalogue: Catalogue = load_catalogue(remote.settings.schemas)
        self._editor: SheetEditor | None = None
        self._rows: SheetRows | None = None
        self._unsent: set[Path] = set()
        self._disk = ThreadPoolExecutor(max_workers=1)

    @property
    def settings(self) -> Settings:
        """Settings for the page's environment."""
        return self._remote.settings

    @property
    def editor(self) -> SheetEditor:
        """Editor of the open workbook. Raises ``UsageError`` if there is none."""
        if self._editor is None:
            raise UsageError(_NO_WORKBOOK)
        return self._editor

    def editor_for(self, shown: str | None) -> SheetEditor:
        """Return the editor if the page shows its sheet, or does not name one.

        Raises ``UsageError`` if another sheet was opened since, as in a second tab.
        """
        editor = self.editor
        if shown is not None and shown != editor.id:
            raise UsageError(_OTHER_SHEET)
        return editor

    def rows_for(self, shown: str | None) -> SheetRows:
        """Return the rows of the open sheet. Raises as ``editor_for`` does."""
        editor = self.editor_for(shown)
        if self._rows is None or self._rows.editor is not editor:
            self._rows = SheetRows(editor)
        return self._rows

    def change(
        self,
        shown: str | None,
        change: Callable[[SheetEditor], object],
        answer: Callable[[SheetEditor], dict[str, Any]],
    ) -> dict[str, Any]:
        """Change the open sheet, and return the answer, which is built while the disk stores the
        edits. Raises as ``editor_for`` does."""
        editor = self.editor
        with editor.lock:
            self.editor_for(shown)
            change(editor)
            self._mark_names(editor)
            storing = self._disk.submit(self.save_edits, editor)
            built = answer(editor)
            storing.result()
        return built

    def _mark_names(self, editor: SheetEditor) -> None:
        """Mark the names among the edited cells that no record has, as the plan would."""
        mapping, reasons = editor.choice.mapping, dict[CellPosition, str]()
        rows_by_column = defaultdict[int, list[int]](list)
        for row, index in editor.remarks.take_edited():
            rows_by_column[index].append(row)
        for index, rows in rows_by_column.items():
            column = editor.column_at(index)
            if column is None or column.link is None:
                continue
            mapped = None if mapping is None else mapping.by_path.get(column.name)
            words = set(() if mapped is None else map(folded_text, mapped.values or ()))
            texts = displayed_texts(editor.cells, rows, index, column.kind)
            for text in {one for one in texts if folded_text(one) not in words}:
                if (found := self._names.unknown(column.link, text)) is not None:
                    reason = f"{found.message} {hint_on_page(found.kind.code, found.hint)}"
                    same = (row for row, one in zip(rows, texts, strict=True) if one == text)
                    reasons |= {(row, index): reason for row in same}
        editor.remarks.refuse(editor.findings_view.sheet.sheet, reasons, editor.content_of)

    @property
    def is_open(self) -> bool:
        """True if a workbook is open and its sheet was recognised."""
        return self._editor is not None and self._editor.is_recognised

    def read_file(
        self,
        path: Path,
        catalogue: Catalogue,
        limits: WorkbookLimits,
        progress: ReadingProgress | None = None,
    ) -> SheetEditor:
        """Read a file, converted to .xlsx if it is of another kind; ``show`` opens it."""
        limits = limits.with_headers(remembered_mappings(self.settings.mappings))
        editor = SheetEditor(path, catalogue, limits, progress, self.settings.accepted)
        xlsx = path.with_suffix(".xlsx")
        if editor.workbook.read_as is not None:
            # All cells of a .csv are texts, which would be lost in an .xlsx.
            editor.path = xlsx
            return editor
        with as_xlsx(path, (), limits, editor.workbook) as workbook:
            if workbook == path:
                return editor
            shutil.copy(workbook, xlsx)
        editor = SheetEditor(xlsx, catalogue, limits, progress, self.settings.accepted)
        editor.name = path.name
        return editor

    def show(self, editor: SheetEditor) -> None:
        """Replace the open workbook."""
        self._editor = editor
        write_private(self._left_open, editor.path.parent.name)

    @property
    def left_open(self) -> str:
        """Id of the stored edits of the workbook that was open when the page ended without its
        button, empty if there are none."""
        try:
            name = self._left_open.read_text("utf-8")
        except (OSError, ValueError):
            return ""
        return name if (self._home / name / _DRAFT).is_file() else ""

    @property
    def left_environment(self) -> str:
        """Name of the environment of the stored edits of ``left_open`` or, without any, of the
        batch that is not done; empty if there is neither."""
        draft = _read_draft(self._home / self.left_open / _DRAFT) if self.left_open else None
        if draft is not None:
            return str(draft.get("environment", ""))
        with suppress(OSError, ValueError):
            return self._left_batch.read_text("utf-8")
        return ""

    def note_batch(self, *, done: bool) -> None:
        """Note that the page works on a batch in its environment, or that it is done."""
        if done:
            self._left_batch.unlink(missing_ok=True)
        else:
            write_private(self._left_batch, self._remote.environment)

    def return_to_environment(self) -> None:
        """Use the environment of the work that was left, if the page was started without naming
        one."""
        base, name = self._remote.base, self.left_environment
        if name and base.profile is None and base.base_url is None:
            with suppress(ConfigError):  # It was removed, or is no longer allowed.
                self._remote.use(name)

    def forget_open(self) -> None:
        """Do not return to the workbook or batch when the page is started again."""
        self._left_open.unlink(missing_ok=True)
        self.note_batch(done=True)

    def new_folder(self) -> Path:
        """Create a private folder in the home, removed by ``close`` unless it is still needed."""
        timestamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        folder = self._home / f"{timestamp}-{secrets.token_hex(2)}"
        with report_write_errors(folder, in_home=True):
            make_private_folder(folder)
        self._unsent.add(folder)
        return folder

    def keep_folder(self, editor: SheetEditor) -> None:
        """Keep the folder of a workbook that is being uploaded."""
        self._unsent.discard(editor.path.parent)

    def save_edits(self, editor: SheetEditor) -> None:
        """Store the edits of a workbook; the caller holds its lock."""
        import msgspec

        file = editor.path.parent / _DRAFT
        parts = editor.edits_json()
        if editor.job is None and not any(any(part.values()) for part in parts.values()):
            file.unlink(missing_ok=True)
            return
        choice, resource = editor.choice, editor.validated.resource
        draft = {
            "version": _DRAFT_VERSION,
            "file": editor.path.name,
            "name": editor.name,
            "changed_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "resource": choice.resource,
            "recognised": None if resource is None else resource.name,
            "sheet": editor.validated.sheet,
            "mapping": None if choice.mapping is None else choice.mapping.path.name,
            "dates": choice.reading.dates,
            "numbers": choice.reading.numbers,
            "parts": parts,
            "layouts": {sheet: asdict(layout) for sheet, layout in editor.layouts.items()},
            "refused": editor.remarks.refusals_json(),
            "job": editor.job,
            "environment": self._remote.environment,
            "links": dict(choice.links),
            "unit": None if editor.unit is None else asdict(editor.unit),
            "source": editor.source.name,
            "csv": asdict(editor.limits.csv),
        }
        write_private(file, msgspec.json.encode(draft).decode())

    def drop_edits(self, editor: SheetEditor) -> None:
        """Delete the stored edits of a workbook."""
        (editor.path.parent / _DRAFT).unlink(missing_ok=True)

    def drafts(self) -> list[dict[str, Any]]:
        """Return the workbooks with stored edits, the latest first."""
        drafts = []
        for file in self._home.glob(f"*/{_DRAFT}"):
            draft = _read_draft(file)
            if draft is not None and (file.parent / draft["source"]).is_file():
                changed = datetime.fromisoformat(draft["changed_at"]).astimezone()
                known = self.catalogue.get(draft["recognised"] or "")
                drafts.append(
                    {
                        "file": draft["name"],
                        **{name: draft[name] for name in ("resource", "sheet")},
                        "title": "" if known is None else str(known.title),
                        "changed_at": f"{changed:%d/%m/%Y %H:%M}",
                        "at": draft["changed_at"],
                        "id": file.parent.name,
                        "cells": sum(len(part["edits"]) for part in draft["parts"].values()),
                    }
                )
        return sorted(drafts, key=lambda draft: str(draft["at"]), reverse=True)

    def discard_draft(self, name: str) -> None:
        """Delete stored edits; an uploaded workbook is kept."""
        (self._draft_folder(name) / _DRAFT).unlink(missing_ok=True)

    def continue_draft(self, name: str) -> SheetEditor:
        """Open a workbook with its stored edits.

        Raises ``UsageError`` if they no longer exist or fit.
        """
        folder = self._draft_folder(name)
        draft = _read_draft(folder / _DRAFT)
        if draft is None:
            raise UsageError(_NO_DRAFT)
        limits = replace(self.settings.limits, csv=CsvForm(**draft["csv"]))
        editor = SheetEditor(
            folder / draft["source"], self.catalogue, limits, accepted=self.settings.accepted
        )
        editor.name = draft["name"]
        editor.path = folder / draft["file"]
        mapping = None if draft["mapping"] is None else read_mapping(folder / MAPPING)
        reading = ParseOptions(draft["dates"], draft["numbers"])
        editor.choose(
            SheetChoice(draft["resource"], draft["sheet"], mapping, reading, draft["links"])
        )
        editor.load_edits(draft["parts"])
        editor.layouts = {
            sheet: read_layout(layout) for sheet, layout in draft.get("layouts", {}).items()
        }
        editor.set_refusals(load_refusals(draft["refused"]))
        editor.job = draft["job"]
        if draft.get("environment", self._remote.environment) != self._remote.environment:
            editor.forget_uploads()
        if draft["unit"] is not None:
            editor.unit = BatchUnit(**draft["unit"])
        editor.show_part(editor.validated.sheet)
        self.show(editor)
        return editor

    def close(self) -> None:
        """Remove folders without stored edits whose workbook was not uploaded."""
        self._disk.shutdown()
        for folder in self._unsent:
            if not (folder / _DRAFT).exists():
                shutil.rmtree(folder, ignore_errors=True)

    @property
    def _home(self) -> Path:
        return self.settings.home / "page"

    @property
    def _left_open(self) -> Path:
        return self._home / "open"

    @property
    def _left_batch(self) -> Path:
        return self._home / "batch"

    def _draft_folder(self, name: str) -> Path:
        if name not in {draft["id"] for draft in self.drafts()}:
            raise UsageError(_NO_DRAFT)
        return self._home / name


def _read_draft(file: Path) -> dict[str, Any] | None:
    """Return the draft in a file, None if it is unreadable or of another version."""
    draft = read_object(file)
    return draft if draft.get("version") == _DRAFT_VERSION else None
