"""Result of an export: counts, the manifest, and the state of ``--since-last``."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from xlbridge.client.listings import Window
from xlbridge.errors import UsageError
from xlbridge.export.filters import Filter, Filters
from xlbridge.export.listing_model import Listing
from xlbridge.export.totals import TotalTable
from xlbridge.export.windows import FetchedWindow, SeenValues
from xlbridge.files import make_private_folder, replace_atomically
from xlbridge.i18n import Text
from xlbridge.wire import format_moment

_MANIFEST_VERSION = 1
SHOWN_KEYS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """Result of a finished export.

    ``sheets`` counts the rows of each sheet, headers not among them. ``holes`` are the windows
    that cannot be proven whole, ``missing`` the keys that were asked for and are not there.
    ``replaced`` counts the records that changed meanwhile and came again, ``repeated`` the keys
    that several records have, with the first of them; ``reused`` the windows that an earlier run
    had finished; ``newest`` is the last update seen, as it came.
    ``attachments`` counts the attached files that were downloaded, None where none were wanted.
    ``zones`` are those that the times of a column came with; ``left_out`` counts the filled fields
    for which an import sheet has no column. ``excess`` counts by filter the records that the system
    sent though it was asked not to, which are left out; ``seen`` are values that were asked for
    though nothing lists them all.
    """

    listing: str
    records: int
    sheets: Mapping[str, int]
    windows: tuple[FetchedWindow, ...]
    holes: tuple[FetchedWindow, ...] = ()
    missing: tuple[Mapping[str, object], ...] = ()
    calls: int = 0
    replaced: int = 0
    repeated: tuple[int, Sequence[tuple[object, ...]]] = (0, ())
    reused: int = 0
    newest: str = ""
    totals: Sequence[TotalTable] = ()
    begun: datetime = field(default_factory=datetime.now)
    attachments: int | None = None
    attachment_problems: tuple[Text, ...] = ()
    zones: Mapping[str, Sequence[str]] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    excess: Mapping[str, int] = field(default_factory=dict)
    seen: SeenValues | None = None

    @property
    def limited(self) -> int:
        """Number of records that came where no more were asked for; 0 where all were."""
        return sum(window.records for window in self.windows if window.limited)

    @property
    def complete(self) -> bool:
        """True when nothing can be missing."""
        return not self.holes and not self.limited and self.seen is None

    @property
    def is_whole(self) -> bool:
        """True when all that was asked for is there, attached files included."""
        lacking = self.holes or self.missing or self.attachment_problems or self.seen
        return not lacking

    @property
    def next_steps(self) -> list[Text]:
        """Sentences on how to get what is lacking; none where nothing is."""
        seen = [_GIVE_FILTER.format(name=self.seen.filter)] if self.seen else []
        return [
            *([_ASK_FOR_LESS] if self.holes else []),
            *seen,
            *([_CHECK_KEYS] if self.missing else []),
            *([_ASK_AGAIN] if self.attachment_problems else []),
        ]

    @property
    def remarks(self) -> list[Text]:
        """Sentences on what may be missing and why, and on what is not as it came."""
        limited = [_LIMITED.format(n=self.limited)] if self.limited else []
        seen = [_seen_text(self.seen)] if self.seen else []
        missing = [_missing_text(self.missing)] if self.missing else []
        excess = [_EXCESS.format(name=n, n=count) for n, count in self.excess.items()]
        left_out = [_left_out_text(self.left_out)] if self.left_out else []
        zones = [_zones_text(self.zones)] if self.zones else []
        repeated = [_repeated_text(*self.repeated)] if self.repeated[0] else []
        lacking = [*map(_hole_text, self.holes), *limited, *seen, *missing]
        return [*lacking, *repeated, *excess, *left_out, *zones]

    def manifest(self, told: Callable[[Text], object] = str) -> dict[str, Any]:
        """Return the manifest as JSON has it; times are ISO 8601, an open end is null.

        ``told`` gives its messages their form.
        """
        return {
            "version": _MANIFEST_VERSION,
            "listing": self.listing,
            "complete": self.complete,
            "records": self.records,
            "replaced": self.replaced,
            "repeated": self.repeated[0],
            "calls": self.calls,
            "reused": self.reused,
            "sheets": dict(self.sheets),
            "windows": [_window_json(fetched) for fetched in self.windows],
            "holes": [_window_json(h) | {"message": told(_hole_text(h))} for h in self.holes],
            "missing": [dict(path) for path in self.missing],
            "limited": bool(self.limited),
            "excess": dict(self.excess),
            "seen": {self.seen.filter.value: list(self.seen.values)} if self.seen else {},
            "left_out": dict(self.left_out),
            "zones": {name: list(zones) for name, zones in self.zones.items()},
            "totals": [_totals_json(table) for table in self.totals],
        }

    def write_manifest(self, path: Path) -> None:
        """Write the manifest, whole or not at all. Raises ``UsageError`` where it cannot be."""
        with replace_atomically(path, shared=True) as temporary:
            document = json.dumps(self.manifest(), ensure_ascii=False, indent=2)
            temporary.write_text(document + "\n", encoding="utf-8")


def _hole_text(hole: FetchedWindow) -> Text:
    """Say what may be missing, and why."""
    return Text(
        pt="Pode faltar algo: {records:veio|vieram} {records} "
        "{records:registro|registros}{span}, o máximo de uma resposta, e o período não pode ser "
        "dividido.",
        en="Some may be missing: {records} {records:record|records}{span} came, the most that an "
        "answer holds, and "
        "the period cannot be divided.",
    ).format(records=hole.records, span=_span(hole.window))


_ASK_FOR_LESS = Text(
    pt="A seguir: exporte em partes, cada uma com um filtro que pede menos de uma vez.",
    en="Next: export in parts, each with a filter that asks for less at once.",
)
_GIVE_FILTER = Text(
    pt="A seguir: o mesmo comando com --{name} e todos os valores que há.",
    en="Next: the same command with --{name} and all values that there are.",
)
_CHECK_KEYS = Text(
    pt="A seguir: confira os números que não existem; o resto está no arquivo.",
    en="Next: check the numbers that are not there; the rest is in the file.",
)
_ASK_AGAIN = Text(
    pt="A seguir: o mesmo comando com --force pede os anexos de novo.",
    en="Next: the same command with --force asks for the attached files again.",
)
_LIMITED = Text(
    pt="{n:Veio|Vieram} {n} {n:registro|registros}, tantos quantos --limit pediu; pode haver mais.",
    en="{n} {n:record|records} came, as many as --limit asked for; there may be more.",
)
_EXCESS = Text(
    pt="O sistema mandou {n} {n:registro|registros} que --{name} não pede; "
    "{n:ficou|ficaram} de fora.",
    en="The system sent {n} {n:record|records} that --{name} does not ask for; "
    "{n:it was|they were} left out.",
)


def _seen_text(seen: SeenValues) -> Text:
    """Say which values were asked for in place of those that nobody gave."""
    return Text(
        pt="Sem --{name} só se conhecem estes, e pode haver outros: {values}.",
        en="Without --{name} only these are known, and there may be others: {values}.",
    ).format(name=seen.filter, values=", ".join(map(str, seen.values)) or "–")


def _missing_text(missing: Sequence[Mapping[str, object]]) -> Text:
    """Say which records were asked for by their key and are not there."""
    keys = [path.values() for path in missing[:SHOWN_KEYS]]
    return Text(pt="Não existem: {keys}", en="Not there: {keys}").format(
        keys=_listed(keys, len(missing))
    )


def _repeated_text(count: int, keys: Sequence[tuple[object, ...]]) -> Text:
    """Say which keys came with several records at one moment, of which nobody can tell the right
    one."""
    return Text(
        pt="{n:Um número veio|{n} números vieram} em mais de um registro, e todos estão no "
        "arquivo; confira no sistema: {keys}",
        en="{n:One number came|{n} numbers came} with more than one record, and all of them are in "
        "the file; check them in the system: {keys}",
    ).format(n=count, keys=_listed(keys, count))


def _listed(keys: Iterable[Iterable[object]], count: int) -> str:
    """Return the first of some keys as a text."""
    texts = (", ".join(str(part) for part in key if part is not None) for key in keys)
    return "; ".join(texts) + (" …" if count > SHOWN_KEYS else "")


def _left_out_text(counts: Mapping[str, int]) -> Text:
    """Say which fields were filled and have no column in the import sheet."""
    return Text(
        pt="A planilha de importação não tem coluna para o que veio em: {fields}.",
        en="The import sheet has no column for what came in: {fields}.",
    ).format(fields=", ".join(f"{name} ({count})" for name, count in counts.items()))


def _zones_text(zones: Mapping[str, Sequence[str]]) -> Text:
    """Say in which zones times came: most formats have none, and nothing is converted."""
    return Text(
        pt="Os horários vieram com fuso e foram gravados sem conversão: {columns}.",
        en="Times came with a zone and were written without conversion: {columns}.",
    ).format(columns="; ".join(f"{name} {', '.join(found)}" for name, found in zones.items()))


def _span(window: Window) -> Text | str:
    if window.start is None and window.end is None:
        return ""
    return Text(pt=" atualizados de {start} a {end}", en=" updated from {start} to {end}").format(
        start="…" if window.start is None else format_moment(window.start),
        end="…" if window.end is None else format_moment(window.end),
    )


def _totals_json(table: TotalTable) -> dict[str, Any]:
    sums = [{"label": t.label, "rows": t.rows, "amount": f"{t.amount:f}"} for t in table.totals]
    return {"by": str(table.title), "sums": sums}


def _window_json(fetched: FetchedWindow) -> dict[str, Any]:
    start, end = fetched.window.start, fetched.window.end
    return {
        "from": start and start.isoformat(),
        "to": end and end.isoformat(),
        "records": fetched.records,
        "saturated": fetched.saturated,
        "digest": fetched.digest,
        **({"keys": [dict(key) for key in fetched.keys]} if fetched.keys else {}),
    }


_OVERLAP = timedelta(minutes=5)
"""A change may be seen so much after the moment that it carries: that much is asked for again."""

_CLOCK_TOLERANCE = timedelta(days=1)
_STATE_VERSION = 1


class LastRuns:
    """The state of ``--since-last``: one file for each environment, listing and set of filters."""

    def __init__(self, folder: Path, profile: str) -> None:
        self._folder = folder
        self._profile = profile

    def continued(self, listing: Listing, filters: Filters) -> Filters:
        """Return the filters, from where the last complete export with the same ones ended.

        They are as they were when there was none. Raises ``UsageError`` for a listing that cannot
        be asked for by the last update, or when a start is given too.
        """
        if Filter.FROM in filters.given:
            raise UsageError(
                Text(
                    pt="--since-last substitui --from; use um dos dois.",
                    en="--since-last replaces --from; use one of the two.",
                )
            )
        if not listing.is_windowed:
            raise UsageError(
                Text(
                    pt="A listagem {listing} não serve para --since-last: ela não é filtrada "
                    "pela última atualização dos seus próprios registros.",
                    en="The listing {listing} cannot be used with --since-last: it is not "
                    "filtered by the last update of its own records.",
                ).format(listing=listing.name)
            )
        path = self._path(listing, filters)
        if not path.exists():
            return filters
        reached = datetime.fromisoformat(json.loads(path.read_text(encoding="utf-8"))["reached"])
        return filters.within(reached, filters.end)

    def record(self, listing: Listing, filters: Filters, result: ExportResult) -> None:
        """Remember how far a complete export came; one with a hole or an end changes nothing."""
        if not result.complete or not listing.is_windowed or filters.end is not None:
            return
        path = self._path(listing, filters)
        reached = _reached(result)
        if path.exists():
            earlier = json.loads(path.read_text(encoding="utf-8"))["reached"]
            reached = max(reached, datetime.fromisoformat(earlier))
        make_private_folder(path.parent)
        state = {"version": _STATE_VERSION, "listing": listing.name, "reached": reached.isoformat()}
        with replace_atomically(path) as temporary:
            temporary.write_text(json.dumps(state) + "\n", encoding="utf-8")

    def _path(self, listing: Listing, filters: Filters) -> Path:
        others = {str(k): str(v) for k, v in filters.given.items() if k is not Filter.FROM}
        what = json.dumps([self._profile, listing.name, others], sort_keys=True)
        return (
            self._folder / f"{listing.name}-{hashlib.sha256(what.encode()).hexdigest()[:16]}.json"
        )


def _reached(result: ExportResult) -> datetime:
    """Return a moment, by the remote system's clock, up to which nothing can have been missed."""
    if result.newest:
        newest = datetime.fromisoformat(result.newest).replace(tzinfo=None)
        return (newest - _OVERLAP).replace(second=0, microsecond=0)
    return (result.begun - _CLOCK_TOLERANCE).replace(second=0, microsecond=0)
