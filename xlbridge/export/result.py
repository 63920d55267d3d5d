"""What an export came to, and the manifest that says so."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlbridge.export.windows import FetchedWindow, Window
from xlbridge.i18n import Text
from xlbridge.wire.model import format_moment
from xlbridge.workbook.atomic import replacing

_MANIFEST_VERSION = 1


@dataclass(frozen=True, slots=True)
class ExportResult:
    """One finished export; ``sheets`` counts the rows of each sheet, headers not among them."""

    listing: str
    records: int
    sheets: Mapping[str, int]
    windows: tuple[FetchedWindow, ...]

    @property
    def holes(self) -> tuple[FetchedWindow, ...]:
        """The windows that cannot be proven whole."""
        return tuple(fetched for fetched in self.windows if fetched.saturated)

    @property
    def complete(self) -> bool:
        """Whether nothing can be missing."""
        return not self.holes


def describe_hole(hole: FetchedWindow) -> Text:
    """Say what may be missing, and how to get it."""
    return Text(
        pt="Pode faltar: vieram {records} registros{span}, o máximo de uma resposta. Exporte em "
        "períodos menores, com --from e --to.",
        en="Some may be missing: {records} records{span} came, the most that an answer holds. "
        "Export shorter periods, with --from and --to.",
    ).format(records=hole.records, span=_span(hole.window))


def _span(window: Window) -> Text | str:
    if window.start is None and window.end is None:
        return ""
    return Text(pt=" atualizados de {start} a {end}", en=" updated from {start} to {end}").format(
        start="…" if window.start is None else format_moment(window.start),
        end="…" if window.end is None else format_moment(window.end),
    )


def manifest_of(result: ExportResult) -> dict[str, Any]:
    """Return the manifest as JSON has it; times are ISO 8601, an open end is null."""
    return {
        "version": _MANIFEST_VERSION,
        "listing": result.listing,
        "complete": result.complete,
        "records": result.records,
        "sheets": dict(result.sheets),
        "windows": [_window(fetched) for fetched in result.windows],
        "holes": [_window(hole) | {"message": str(describe_hole(hole))} for hole in result.holes],
    }


def write_manifest(path: Path, result: ExportResult) -> None:
    """Write the manifest, whole or not at all. Raises ``UsageError`` where it cannot be."""
    with replacing(path) as temporary:
        document = json.dumps(manifest_of(result), ensure_ascii=False, indent=2)
        temporary.write_text(document + "\n", encoding="utf-8")


def _window(fetched: FetchedWindow) -> dict[str, Any]:
    start, end = fetched.window.start, fetched.window.end
    return {
        "from": start and start.isoformat(),
        "to": end and end.isoformat(),
        "records": fetched.records,
        "saturated": fetched.saturated,
    }
