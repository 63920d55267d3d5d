"""Result of an export: counts, the manifest, and the state of ``--since-last``."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from xlbridge import titles
from xlbridge.client.time_windows import WindowEnds
from xlbridge.export.filters import Filter, Filters
from xlbridge.export.listing_model import FetchedWindow, InferredValues, Listing
from xlbridge.export.sheets import TotalTable
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text, count_text, joined, untranslated
from xlbridge.report_forms import Grade, Heading, Line, Report, Table, Tone, list_first
from xlbridge.resources.names import field_title
from xlbridge.wire import format_moment
from xlbridge.workbook import COVER_SHEET, COVER_TITLE

_MANIFEST_VERSION = 1
SHOWN_KEYS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """Result of a finished export.

    ``sheets`` counts the rows of each sheet, without the header. ``holes`` are the windows that
    cannot be proven complete, ``missing`` the requested keys that do not exist. ``replaced`` counts
    the records that came again in a later window, ``repeated`` the keys that several records have,
    with the first of them, ``lost`` those that a full answer had and its parts lack, ``reused`` the
    windows of an earlier run. ``clock`` is the system's own time at the start, ``future`` has the
    keys of records updated after it. ``ends`` is how the system reads the end of a window.
    ``last_update`` is the latest update time as received. ``attachments`` counts the downloaded
    files, None if none were wanted. ``zones`` are the time zones of each column's times;
    ``as_text`` has the first value of each column whose values are not all of the documented type,
    ``formulas`` the first text of each that a spreadsheet program would evaluate;
    ``unnamed`` says which names beside codes could not be read.
    ``left_out`` counts the filled fields for which an import sheet has no column, ``unknown`` names
    those that the interface does not describe and that were left out. ``excess`` counts
    by filter the removed records that the system should not have sent; ``inferred_values`` are the
    values used for a filter that was not given.
    """

    listing: str
    target: Mapping[str, Any]
    records: int
    sheets: Mapping[str, int]
    windows: tuple[FetchedWindow, ...]
    holes: tuple[FetchedWindow, ...] = ()
    missing: tuple[Mapping[str, object], ...] = ()
    calls: int = 0
    replaced: int = 0
    repeated: tuple[int, Sequence[tuple[object, ...]]] = (0, ())
    clock: datetime | None = None
    future: Sequence[tuple[str | None, ...]] = ()
    lost: tuple[int, Sequence[tuple[object, ...]]] = (0, ())
    ends: WindowEnds | None = None
    reused: int = 0
    last_update: str = ""
    totals: Sequence[TotalTable] = ()
    started: datetime = field(default_factory=datetime.now)
    attachments: int | None = None
    attachment_problems: tuple[Text, ...] = ()
    zones: Mapping[str, Sequence[str]] = field(default_factory=dict)
    as_text: Mapping[str, str] = field(default_factory=dict)
    formulas: Mapping[str, str] = field(default_factory=dict)
    unnamed: Sequence[Text] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    unknown: Sequence[str] = ()
    excess: Mapping[str, int] = field(default_factory=dict)
    inferred_values: InferredValues | None = None

    @property
    def limited(self) -> int:
        """Number of records cut off by the user's limit; 0 if the limit was not reached."""
        return sum(window.records for window in self.windows if window.limited)

    @property
    def complete(self) -> bool:
        """True if nothing can be missing."""
        lacking = self.holes or self.limited or self.lost[0] or self.inferred_values
        return not lacking

    @property
    def is_whole(self) -> bool:
        """True if everything requested was exported, attached files included."""
        lacking = self.holes or self.lost[0] or self.missing or self.inferred_values
        return not (lacking or self.attachment_problems)

    @property
    def remarks(self) -> list[Text]:
        """Remarks on what may be missing and why, and on records left out or changed."""
        remarks = [_ENDS[self.ends]] if self.ends in _ENDS else []
        remarks += map(_hole_text, self.holes)
        count, lost = self.lost
        if count:
            remarks.append(_LOST.format(n=count, keys=_first_keys(lost, count)))
        if self.limited:
            remarks.append(_LIMITED.format(n=self.limited))
        if (inferred := self.inferred_values) is not None:
            values = ", ".join(map(str, inferred.values)) or "–"
            remarks.append(_INFERRED.format(**_names(inferred.filter), values=values))
        if self.missing:
            keys = [path.values() for path in self.missing[:SHOWN_KEYS]]
            remarks.append(_MISSING.format(keys=_first_keys(keys, len(self.missing))))
        count, repeated = self.repeated
        if count:
            remarks.append(_REPEATED.format(n=count, keys=_first_keys(repeated, count)))
        if self.future:
            count = len(self.future)
            shown = _first_keys(self.future[:SHOWN_KEYS], count)
            remarks.append(_FUTURE.format(n=count, keys=shown))
        remarks += (_EXCESS.format(**_names(Filter(name)), n=n) for name, n in self.excess.items())
        remarks += self.unnamed
        if self.left_out:
            fields = ", ".join(f"{field_title(name)} ({n})" for name, n in self.left_out.items())
            remarks.append(_LEFT_OUT.format(fields=fields))
        if self.unknown:
            remarks.append(_UNKNOWN.format(fields=list_first(self.unknown, _SHOWN_FIELDS)))
        if self.zones:
            zones = self.zones.items()
            columns = "; ".join(f"{field_title(name)} {', '.join(found)}" for name, found in zones)
            remarks.append(_ZONES.format(columns=columns))
        if self.as_text:
            texts = self.as_text.items()
            columns = ", ".join(f"{field_title(name)} ({text!r})" for name, text in texts)
            remarks.append(_AS_TEXT.format(columns=columns))
        if self.formulas:
            columns = ", ".join(f"{name} ({text!r})" for name, text in self.formulas.items())
            remarks.append(_FORMULAS.format(columns=columns))
        return remarks

    def report(self, file: Path) -> Report:
        """Return the report of the export to ``file``: what was written, and what is missing."""
        one = untranslated("{name} {n}")
        sheets = self.sheets.items()
        rows = joined((one.format(name=name, n=count_text(n)) for name, n in sheets), ", ")
        count = count_text(self.records)
        attachments, inferred = self.attachments, self.inferred_values
        grade = Grade.WARNING if self.limited else Grade.GOOD
        return Report(
            verdict=_WRITTEN.format(file=file, n=self.records, count=count, rows=rows),
            grade=grade if self.is_whole else Grade.ERROR,
            facts=titles.quirks_facts(self.target),
            remarks=[
                *([_REUSED.format(n=self.reused)] if self.reused else []),
                *([] if self.records else [_NOTHING]),
                *self.remarks,
                *([] if attachments is None else [_DOWNLOADED.format(n=attachments)]),
                *self.attachment_problems,
            ],
            problems=[] if self.is_whole else [_INCOMPLETE.format(file=file)],
            next_steps=[
                *([_ASK_FOR_LESS] if self.holes else []),
                *([_FETCH_AGAIN] if self.lost[0] else []),
                *([_GIVE_FILTER.format(**_names(inferred.filter))] if inferred else []),
                *([_CHECK_KEYS] if self.missing else []),
                *([_ASK_AGAIN] if self.attachment_problems else []),
            ],
        )

    def cover(self, file: str, listing: Listing, filters: Filters) -> Report:
        """Return the report with what a workbook's cover shows."""
        amount = "" if listing.totals is None else listing.totals.amount
        used: list[tuple[Text, str]] = []
        for name, value in filters.values.items():
            text = str(list_first(value, _MOST_VALUES) if isinstance(value, tuple) else value)
            if isinstance(value, datetime):
                text = f"{value:%d/%m/%Y %H:%M}"
            used.append(
                (listing.filter_label(name), str(titles.YES) if name.type.is_flag else text)
            )
        return replace(
            self.report(Path(file)),
            title=joined([COVER_TITLE, listing.title], ""),
            facts=[
                (_EXPORTED_AT, f"{self.started:%d/%m/%Y %H:%M:%S}"),
                (_COMPLETE, titles.YES if self.complete else titles.NO),
                (titles.RECORDS, self.records),
                *titles.quirks_facts(self.target),
                *used,
            ],
            tables=[
                Table(
                    sheet=COVER_SHEET,
                    headings=(_SHEET, _ROWS),
                    lines=[Line((name, count)) for name, count in self.sheets.items()],
                ),
                *(_total_table(table, amount) for table in self.totals),
            ],
        )

    def manifest(self, render: Callable[[Text], object] = str) -> dict[str, Any]:
        """Return the manifest as JSON: times are ISO 8601, an open end is null.

        ``render`` converts its messages.
        """
        inferred = self.inferred_values
        return {
            "version": _MANIFEST_VERSION,
            "listing": self.listing,
            "target": dict(self.target),
            "complete": self.complete,
            "records": self.records,
            "replaced": self.replaced,
            "repeated": self.repeated[0],
            "calls": self.calls,
            "reused": self.reused,
            "sheets": dict(self.sheets),
            "windows": [_window_json(fetched) for fetched in self.windows],
            "holes": [_window_json(h) | {"message": render(_hole_text(h))} for h in self.holes],
            "missing": [dict(path) for path in self.missing],
            "future": ["/".join(part or "" for part in key) for key in self.future],
            "lost": [list(key) for key in self.lost[1]],
            "window_ends": self.ends,
            "limited": bool(self.limited),
            "excess": dict(self.excess),
            "seen": {inferred.filter.value: list(inferred.values)} if inferred else {},
            "left_out": dict(self.left_out),
            "unknown_fields": list(self.unknown),
            "formulas": dict(self.formulas),
            "as_text": dict(self.as_text),
            "zones": {name: list(zones) for name, zones in self.zones.items()},
            "totals": [
                {
                    "by": str(table.axis.heading),
                    "sums": [
                        {"label": label or "–", "rows": rows}
                        | dict(zip(_FIGURES, map("{:f}".format, reversed(of)), strict=False))
                        for label, (rows, *of) in table.sums.items()
                    ],
                }
                for table in self.totals
                if not table.others
            ],
        }

    def write_manifest(self, path: Path) -> None:
        """Write the manifest atomically. Raises ``UsageError`` if that fails."""
        with replace_atomically(path, shared=True) as temporary:
            document = json.dumps(self.manifest(), ensure_ascii=False, indent=2)
            temporary.write_text(document + "\n", encoding="utf-8")


_FIGURES = ("amount", "outflow", "inflow")
"""Names of a label's figures in the manifest, from the last one."""
_MOST_VALUES = 20
_EXPORTED_AT = Text(pt="Exportado em", en="Exported at")
_COMPLETE = Text(pt="Completo", en="Complete")
_LABEL_WIDTH, _NUMBER_WIDTH = 44, 24
_SHEET, _ROWS = Heading(titles.SHEET, _LABEL_WIDTH), Heading(titles.ROWS, _NUMBER_WIDTH)


def _total_table(totals: TotalTable, amount: str) -> Table:
    """Return control totals with their sum; ``amount`` is the field that is summed, if any."""
    lines = [totals.axis.line(label, figures) for label, figures in totals.sums.items()]
    if totals.others:
        lines.append(Line((_OTHERS.format(n=totals.others), *totals.of_others)))
    summed = _DIRECTED if totals.directed else (field_title(amount),) if amount else ()
    return Table(
        sheet=COVER_SHEET,
        headings=(
            Heading(totals.axis.heading, _LABEL_WIDTH),
            _ROWS,
            *(Heading(titles.in_reais(title), _NUMBER_WIDTH) for title in summed),
        ),
        lines=[*lines, Line((titles.TOTAL, *totals.total), Tone.SUM)],
        bars=[1 + len(summed)],
        drawn=len(totals.sums),
    )


_DIRECTED = (
    Text(pt="Entradas", en="Inflows"),
    Text(pt="Saídas", en="Outflows"),
    Text(pt="Saldo (entradas – saídas)", en="Net (inflows – outflows)"),
)
_OTHERS = Text(pt="outros ({n})", en="others ({n})")
_WRITTEN = Text(
    pt="{file}: {count} {n:registro|registros} ({rows})",
    en="{file}: {count} {n:record|records} ({rows})",
)


def _names(name: Filter) -> dict[str, object]:
    """Return the names of a filter: its option's, and that on the page."""
    return {"name": name, "title": name.label}


_REUSED = Text(
    pt="{n} {n:período é|períodos são} de uma execução interrompida; --fresh busca tudo de novo.",
    en="{n} {n:window is|windows are} from an interrupted run; --fresh fetches everything again.",
    page=Text(
        pt="{n} {n:período é|períodos são} de uma execução interrompida.",
        en="{n} {n:window is|windows are} from an interrupted run.",
    ),
)
_NOTHING = Text(pt="Nada foi encontrado.", en="Nothing was found.")
_DOWNLOADED = Text(
    pt="{n} {n:anexo baixado|anexos baixados}.",
    en="{n} {n:attachment|attachments} downloaded.",
)
_INCOMPLETE = Text(
    pt="{file} está, ou pode estar, incompleto.", en="{file} is, or may be, incomplete."
)
_ASK_FOR_LESS = Text(
    pt="A seguir: exporte em partes, cada uma com um filtro que traga menos registros.",
    en="Next: export in parts, each with a filter that returns fewer records.",
)
_ENDS: Mapping[WindowEnds | None, Text] = {
    WindowEnds.EXCLUSIVE: Text(
        pt="O sistema não inclui o último minuto de um período: pediu-se sempre um minuto a mais.",
        en="The system leaves out the last minute of a period: one minute more was requested.",
    ),
    WindowEnds.IGNORED: Text(
        pt="O sistema não filtra pela última atualização: veio tudo, numa só resposta, e o filtro "
        "foi aplicado aqui.",
        en="The system does not filter by the last update: everything came in one answer, and was "
        "filtered here.",
    ),
    WindowEnds.OTHER: Text(
        pt="Vieram registros cuja última atualização é de fora do período: o sistema lê os "
        "períodos de outro modo, ou por outra data. Confira no sistema se falta algum.",
        en="Records came whose last update is outside the period: the system reads periods in "
        "another way, or by another date. Check in the system whether any is missing.",
    ),
}
_LOST = Text(
    pt="{n} {n:registro veio|registros vieram} numa resposta cheia e não nos períodos que a "
    "substituem: {keys}",
    en="{n} {n:record|records} came in a full answer and not in the periods that replace it: "
    "{keys}",
)
_FETCH_AGAIN = Text(
    pt="A seguir: exporte de novo com --fresh; se os mesmos registros faltarem, o sistema lê os "
    "períodos de outro modo.",
    en="Next: export again with --fresh; if the same records are missing, the system reads periods "
    "in another way.",
    page=Text(
        pt="A seguir: exporte de novo; se os mesmos registros faltarem, o sistema lê os períodos "
        "de outro modo: avise quem cuida do ambiente.",
        en="Next: export again; if the same records are missing, the system reads periods in "
        "another way: tell the person who looks after the environment.",
    ),
)
_GIVE_FILTER = Text(
    pt="A seguir: o mesmo comando com --{name} e todos os valores que existem.",
    en="Next: the same command with --{name} and all values that exist.",
    page=Text(
        pt="A seguir: exporte de novo, com todos os valores que existem no filtro “{title}”.",
        en="Next: export again, with all values that exist in the filter “{title}”.",
    ),
)
_CHECK_KEYS = Text(
    pt="A seguir: confira os números que não existem; o resto está no arquivo.",
    en="Next: check the numbers that do not exist; the rest is in the file.",
)
_ASK_AGAIN = Text(
    pt="A seguir: o mesmo comando com --force baixa os anexos de novo.",
    en="Next: the same command with --force downloads the attachments again.",
    page=Text(
        pt="A seguir: exporte de novo, para baixar os anexos de novo.",
        en="Next: export again, to download the attachments again.",
    ),
)
_LIMITED = Text(
    pt="{n:Veio|Vieram} {n} {n:registro|registros}, o máximo de --limit; pode haver mais.",
    en="{n} {n:record|records} came, the maximum set by --limit; there may be more.",
    page=Text(
        pt="{n:Veio|Vieram} {n} {n:registro|registros}, o máximo pedido; pode haver mais.",
        en="{n} {n:record|records} came, the maximum asked for; there may be more.",
    ),
)
_INFERRED = Text(
    pt="Sem --{name} só se conhecem estes, e pode haver outros: {values}.",
    en="Without --{name} only these are known, and there may be others: {values}.",
    page=Text(
        pt="Sem o filtro “{title}” só se conhecem estes, e pode haver outros: {values}.",
        en="Without the filter “{title}” only these are known, and there may be others: {values}.",
    ),
)
_MISSING = Text(pt="Não existem: {keys}", en="Not found: {keys}")
_REPEATED = Text(
    pt="{n:Um número veio|{n} números vieram} em mais de um registro, e todos estão no arquivo; "
    "confira no sistema: {keys}",
    en="{n:One number came|{n} numbers came} with more than one record, and all of them are in the "
    "file; check them in the system: {keys}",
)
_SHOWN_FIELDS = 10
_UNKNOWN = Text(
    pt="Campos que a interface não descreve, deixados de fora (--keep-unknown os inclui; se um "
    "deles é o de uma coluna vazia, ligue-o em names, no arquivo de particularidades): {fields}.",
    en="Fields that the interface does not describe were left out (--keep-unknown keeps them; if "
    "one of them is that of an empty column, map it under names in the quirks file): {fields}.",
    page=Text(
        pt="Campos que a interface não descreve, deixados de fora (se um deles é o de uma coluna "
        "vazia, peça a quem cuida do ambiente que o ligue a ela): {fields}.",
        en="Fields that the interface does not describe were left out (if one of them is that of "
        "an empty column, ask the person who looks after the environment to map it): {fields}.",
    ),
)
_LEFT_OUT = Text(
    pt="A planilha de importação não tem coluna para o que veio em: {fields}.",
    en="The import sheet has no column for the values of: {fields}.",
)
_ZONES = Text(
    pt="Os horários vieram com fuso e foram gravados sem conversão: {columns}.",
    en="Times came with a time zone and were written without conversion: {columns}.",
)
_AS_TEXT = Text(
    pt="Valores de outro tipo que o documentado ficaram como texto, e não entram nos totais: "
    "{columns}.",
    en="Values of another type than the documented one were kept as text, and are not in the "
    "totals: {columns}.",
)
_FUTURE = Text(
    pt="{n} {n:registro tem|registros têm} a última atualização no futuro; confira no sistema: "
    "{keys}",
    en="{n} {n:record has|records have} a last update in the future; check in the system: {keys}",
)
_FORMULAS = Text(
    pt="Numa planilha estes textos seriam fórmulas; para abrir no Excel, use --csv-dialect pt-br: "
    "{columns}.",
    en="In a spreadsheet these texts would be formulas; to open them in Excel, use --csv-dialect "
    "pt-br: {columns}.",
    page=Text(
        pt="Numa planilha estes textos seriam fórmulas; para abrir no Excel, escolha o formato "
        "“CSV brasileiro”: {columns}.",
        en="In a spreadsheet these texts would be formulas; to open them in Excel, choose the "
        "format “Brazilian CSV”: {columns}.",
    ),
)
_EXCESS = Text(
    pt="O sistema mandou {n} {n:registro|registros} fora do filtro --{name}; "
    "{n:ficou|ficaram} de fora.",
    en="The system sent {n} {n:record|records} that --{name} excludes; "
    "{n:it was|they were} left out.",
    page=Text(
        pt="O sistema mandou {n} {n:registro|registros} fora do filtro “{title}”; "
        "{n:ficou|ficaram} de fora.",
        en="The system sent {n} {n:record|records} that the filter “{title}” excludes; {n:it "
        "was|they were} left out.",
    ),
)


def _first_keys(keys: Iterable[Iterable[object]], count: int) -> Text:
    """Return the first of ``count`` keys as a text."""
    texts = [", ".join(str(part) for part in key if part is not None) for key in keys]
    return list_first(texts, SHOWN_KEYS, count, "; ")


def _hole_text(hole: FetchedWindow) -> Text:
    start, end = hole.window.start, hole.window.end
    span: Text | str = ""
    if start is not None or end is not None:
        span = Text(pt=" atualizados de {start} a {end}", en=" updated from {start} to {end}")
        span = span.format(
            start="…" if start is None else format_moment(start),
            end="…" if end is None else format_moment(end),
        )
    return Text(
        pt="Pode faltar algo: {records:veio|vieram} {records} "
        "{records:registro|registros}{span}, o máximo de uma resposta, e o período não pode ser "
        "dividido.",
        en="Some records may be missing: {records} {records:record|records}{span} came, the "
        "maximum of one answer, and the period cannot be divided.",
    ).format(records=hole.records, span=span)


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
