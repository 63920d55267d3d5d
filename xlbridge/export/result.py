"""What an export came to, and the manifest that says so."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from xlbridge.api.splitting import Window
from xlbridge.export.fetched import FetchedWindow
from xlbridge.export.totals import TotalTable
from xlbridge.i18n import Text
from xlbridge.wire.model import format_moment
from xlbridge.workbook.atomic import replacing

_MANIFEST_VERSION = 1
_SHOWN_MISSING = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """One finished export.

    ``sheets`` counts the rows of each sheet, headers not among them. ``holes`` are the windows
    that cannot be proven whole, ``missing`` the keys that were asked for and are not there.
    ``replaced`` counts the records that changed meanwhile and came again, ``reused`` the windows
    that an earlier run had finished; ``newest`` is the last update seen, as it came.
    """

    listing: str
    records: int
    sheets: Mapping[str, int]
    windows: tuple[FetchedWindow, ...]
    holes: tuple[FetchedWindow, ...] = ()
    missing: tuple[Mapping[str, object], ...] = ()
    calls: int = 0
    replaced: int = 0
    reused: int = 0
    newest: str = ""
    totals: Sequence[TotalTable] = ()
    begun: datetime = field(default_factory=datetime.now)

    @property
    def complete(self) -> bool:
        """Whether nothing can be missing."""
        return not self.holes


def describe_hole(hole: FetchedWindow) -> Text:
    """Say what may be missing, and why."""
    if hole.limited:
        return Text(
            pt="Pode faltar: {records:veio|vieram} {records} {records:registro|registros}, tantos "
            "quantos --limit deixa vir.",
            en="Some may be missing: {records} {records:record|records} came, as many as --limit "
            "lets through.",
        ).format(records=hole.records)
    return Text(
        pt="Pode faltar: {records:veio|vieram} {records} {records:registro|registros}{span}, o "
        "máximo de uma resposta, e o período "
        "não pode ser dividido.",
        en="Some may be missing: {records} {records:record|records}{span} came, the most that an "
        "answer holds, and "
        "the period cannot be divided.",
    ).format(records=hole.records, span=_span(hole.window))


def describe_missing(missing: Sequence[Mapping[str, object]]) -> Text:
    """Say which records were asked for by their key and are not there."""
    keys = [", ".join(map(str, path.values())) for path in missing[:_SHOWN_MISSING]]
    return Text(pt="Não existem: {keys}", en="Not there: {keys}").format(
        keys="; ".join(keys) + (" …" if len(missing) > _SHOWN_MISSING else "")
    )


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
        "replaced": result.replaced,
        "calls": result.calls,
        "reused": result.reused,
        "sheets": dict(result.sheets),
        "windows": [_window(fetched) for fetched in result.windows],
        "holes": [_window(hole) | {"message": str(describe_hole(hole))} for hole in result.holes],
        "missing": [dict(path) for path in result.missing],
        "totals": [
            {
                "by": str(table.title),
                "sums": [
                    {"label": t.label, "rows": t.rows, "amount": f"{t.amount:f}"}
                    for t in table.totals
                ],
            }
            for table in result.totals
        ],
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
        "digest": fetched.digest,
        **({"keys": [dict(key) for key in fetched.keys]} if fetched.keys else {}),
    }
