"""Harmless probes of an installation for its quirks: reads, and a preview that cannot be imported.

What only a write can show, the journal of earlier uploads may tell: their logs are read again.
The interface spells some fields in two ways, in its tables and in samples of payloads: previews of
rows that no system imports show which headers an import takes, earlier uploads which fields a write
has lost. See the spec, introduction.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice
from types import MappingProxyType
from typing import Any

from msgspec import structs

from xlbridge.client import Client, Executed, Outcome, Rejected, UploadFile
from xlbridge.client.time_windows import update_time
from xlbridge.errors import ApiError
from xlbridge.i18n import Text, joined
from xlbridge.resources import Column, Kind, Resource
from xlbridge.upload.context import UploadContext
from xlbridge.upload.executor import is_about
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.snapshot import RowValues
from xlbridge.upload.payload import frame_of_rows
from xlbridge.upload.requests import has_two_spellings
from xlbridge.wire import Operation, format_moment, record_model
from xlbridge.wire.financial import PAYABLE_LIST_OPEN, RECEIVABLE_LIST_OPEN
from xlbridge.wire.imports import (
    IMPORT_LOG,
    ImportLog,
    ImportQuery,
    ImportState,
    Quirks,
    split_line_number,
)
from xlbridge.wire.registry import CLIENT_LIST, ClientQuery
from xlbridge.wire.sales import SALES_ORDER_LIST
from xlbridge.workbook.edit import with_headers
from xlbridge.workbook.write import records_workbook

__all__ = [
    "FirstContact",
]

_TOO_LONG = "x" * 5_001
_IMPOSSIBLE: Mapping[Kind, object] = {
    Kind.INTEGER: -1,
    Kind.NUMBER: -1,
    Kind.MONEY: -1,
    Kind.DATE: datetime(9999, 12, 31),
}
"""Values that a system refuses, by kind; a text is too long."""

_NOWHERE: Mapping[Kind, object] = {
    Kind.INTEGER: 999_999_999,
    Kind.NUMBER: 1,
    Kind.MONEY: 1,
    Kind.DATE: datetime(2000, 1, 1),
    Kind.BOOLEAN: False,
}
"""Values of required columns, by kind: their codes exist nowhere."""


@dataclass(slots=True)
class SpelledFields:
    """Knowledge of the fields with two spellings, by the description's name of the field.

    ``found`` are the spellings to declare; ``either`` are taken in both, ``as_sent`` only as they
    are sent now; of the ``open`` ones only a write can tell.
    """

    found: dict[str, str] = field(default_factory=dict)
    either: list[str] = field(default_factory=list)
    as_sent: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    @classmethod
    def probe(cls, context: UploadContext, client: Client) -> "SpelledFields":
        """Find out what reads and previews can tell. Raises ``ApiError``."""
        fields = cls()
        lost = dict(_lost_fields(context, client))
        for resource in context.catalogue.values():
            columns = [column for column in resource.columns if has_two_spellings(column.name)]
            taken: set[str] = set()
            other: set[str] = set()
            if columns and resource.paths.direct_name:
                sent = {column.name: _sent(client, column.name) for column in columns}
                taken = _taken_headers(client, resource, columns, sent)
                swapped = {name: _other(spelled) for name, spelled in sent.items()}
                other = _taken_headers(client, resource, columns, swapped)
            for name in dict.fromkeys(column.name for column in columns):
                fields._judge(client, name, name in taken, name in other, lost)
        fields.open = [name for name in dict.fromkeys(fields.open) if name not in fields.found]
        return fields

    def _judge(
        self, client: Client, name: str, taken: bool, other: bool, lost: Mapping[str, str]
    ) -> None:
        """Keep what was found about a field: by a preview, else by a write that has lost it."""
        if name in lost:
            self.found[name] = lost[name]
        elif taken:
            (self.either if other else self.as_sent).append(name)
        elif other:
            self.found[name] = _other(_sent(client, name))
        else:
            self.open.append(name)

    @property
    def message(self) -> Text:
        """Findings in words."""
        parts = [
            (_FOUND, [f"{name} → {spelled}" for name, spelled in self.found.items()]),
            (_EITHER, self.either),
            (_AS_SENT, self.as_sent),
            (_OPEN, self.open),
        ]
        texts = [text.format(fields=", ".join(names)) for text, names in parts if names]
        return joined(texts, "; ")


def _other(spelled: str) -> str:
    return spelled[:1].swapcase() + spelled[1:]


def _sent(client: Client, name: str) -> str:
    """Return the header under which an import sheet has a column."""
    return client.target.quirks.spellings.get(name, name)


def _lost_fields(context: UploadContext, client: Client) -> Iterator[tuple[str, str]]:
    """Yield the fields that earlier writes have lost, with the spelling that was not tried.

    Records have camelCase, import sheets the description's spelling, unless another is declared.
    """
    declared = client.target.quirks.spellings
    for job in context.journal.jobs():
        if job.spec.system != client.identity:
            continue
        for lost in job.known.lost_fields:
            name = lost.column.rpartition(".")[2]
            if lost.stored is not None or not has_two_spellings(name):
                continue
            sent = _other(name) if job.spec.mode.channel.by_record else name
            # Once the other one is declared, the lost field says no more.
            if declared.get(name, sent) == sent:
                yield name, _other(sent)


def _taken_headers(
    client: Client, resource: Resource, columns: Sequence[Column], spelled: Mapping[str, str]
) -> set[str]:
    """Return the columns that a preview reads under these headers, as it refuses their values.

    Each row has an impossible value in one of the columns, and codes that do not exist in those
    without which the sheet would not be read. If the system refuses to read a sheet with all of
    them, each half has a sheet of its own.
    """
    required = {
        column.name: _NOWHERE.get(column.kind, "999999999")
        for column in resource.columns
        if column.required
    }
    rows = [
        {**required, column.name: _IMPOSSIBLE.get(column.kind, _TOO_LONG)} for column in columns
    ]
    outcome = _preview(client, resource, rows, spelled)
    said = " ".join(_messages_of_lines(outcome))
    if not said and len(columns) > 1:
        half = len(columns) // 2
        halves = (columns[:half], columns[half:])
        return set().union(*(_taken_headers(client, resource, one, spelled) for one in halves))
    names = [column.name for column in columns]
    return {name for name in names if re.search(rf"\b{name}\b", said, re.IGNORECASE)}


def _preview(
    client: Client,
    resource: Resource,
    rows: Sequence[RowValues],
    spelled: Mapping[str, str] = MappingProxyType({}),
) -> Outcome:
    """Let the system preview rows, under other headers if they are ``spelled`` otherwise."""
    content = records_workbook(resource, frame_of_rows(resource, rows))
    if spelled:
        content = with_headers(content, lambda header: spelled.get(header, header))
    return client.send(
        resource.paths.direct,
        path={"resource": resource.name} if resource.paths.direct.path_parameters else {},
        query=ImportQuery(preview=True),
        file=UploadFile(f"{resource.name}.xlsx", content),
        harmless=True,
    )


def _messages_of_lines(outcome: Outcome) -> Iterator[str]:
    """Yield the columns and messages of a preview about single lines; others may name a header
    that is not taken."""
    match outcome:
        case Rejected(_, details):
            for detail in details:
                if split_line_number(detail.value)[0] is not None:
                    yield f"{detail.key} {detail.value}"
        case Executed(data) if data.rejected:
            for line in data.linhasRejeitadas or ():
                yield f"{line.coluna} {line.mensagem}"


_FOUND = Text(
    pt="o sistema aceita só a outra grafia: {fields}",
    en="taken in the other spelling only: {fields}",
)
_EITHER = Text(pt="aceitos nas duas grafias: {fields}", en="taken in either spelling: {fields}")
_AS_SENT = Text(pt="aceitos como são enviados: {fields}", en="taken as they are sent: {fields}")
_OPEN = Text(
    pt="só uma gravação mostra, e avisa se o campo se perdeu: {fields}",
    en="only a write shows, and tells if the field is lost: {fields}",
)


_RECORDS = 20
"""Records of each listing that are looked at."""

_LOGS = 5
"""Newest logs that are read again."""

_SEPARATORS = ("\r\n", "\n", "<br>", "<br/>", " | ", "; ")
"""Separators of several messages in one text; others are not recognised."""


_KEYED = {
    "cliente": CLIENT_LIST,
    "contasreceber": RECEIVABLE_LIST_OPEN,
    "contaspagar": PAYABLE_LIST_OPEN,
    "pedido": SALES_ORDER_LIST,
}
"""Resources whose records are probed, with their listings."""


class Certainty(StrEnum):
    """Verdict of the probes on a quirk."""

    ASSUMED = "as assumed"
    SEEN = "seen"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Observation:
    """Finding about one quirk, named as in the quirks file, or another assumption."""

    quirk: str
    certainty: Certainty
    message: Text


@dataclass(slots=True)
class FirstContact:
    """Quirks of an installation, the declared and the seen ones, and what was found about each."""

    quirks: Quirks
    observations: list[Observation] = field(default_factory=list)

    def _add(self, quirk: str, certainty: Certainty, message: Text, **values: object) -> None:
        self.observations.append(Observation(quirk, certainty, message.format(**values)))

    @classmethod
    def make(cls, context: UploadContext, client: Client) -> "FirstContact":
        """Probe an installation. Raises ``ApiError`` if it cannot be read."""
        contact = cls(client.target.quirks)
        contact._read_logs(context, client)
        contact._preview(context, client)
        contact._read_names(client)
        contact._read_keys(context, client)
        contact._read_one_client(client)
        contact._read_window(client)
        fields = SpelledFields.probe(context, client)
        if fields.found or not fields.open:
            contact._see("spellings", fields.found, fields.message)
        else:
            contact._add("spellings", Certainty.UNKNOWN, fields.message)
        return contact

    def _see(self, quirk: str, value: Any, message: Text, **values: object) -> None:
        """Keep a value of a quirk; tell whether it is what was declared or assumed."""
        before = getattr(self.quirks, quirk)
        if isinstance(value, Mapping):
            value = {**before, **value}
        certainty = Certainty.ASSUMED if value == before else Certainty.SEEN
        self.quirks = structs.replace(self.quirks, **{quirk: value})
        self._add(quirk, certainty, message, **values)

    def _read_logs(self, context: UploadContext, client: Client) -> None:
        """Read the logs of earlier uploads for words, names of files and queues."""
        logs: list[tuple[Job, ImportLog]] = []
        every = context.journal.requests_in(client.identity)
        queued = [(job, log_id) for job in every if (log_id := job.known.log_id) is not None]
        for job, log_id in queued[:_LOGS]:
            try:
                logs.append((job, client.call(IMPORT_LOG, path={"id": log_id})))
            except ApiError:
                continue  # Systems may delete logs.
        if not logs:
            for quirk in ("log_words", "file_names", "queue"):
                self._add(quirk, Certainty.UNKNOWN, _NEEDS_QUEUED_FILE)
            return
        words = {log.situacao or "–": log for _, log in logs if self.quirks.state_of(log) is None}
        finished = {
            word: "finished"
            for word, log in words.items()
            if log.totalDeRegistros is not None
            and (log.registrosImportados or 0) + (log.rejected or 0) == log.totalDeRegistros
        }
        if unknown := [word for word in words if word not in finished]:
            self._add("log_words", Certainty.UNKNOWN, _UNKNOWN_WORDS, words=", ".join(unknown))
        found = finished or self.quirks.log_words
        self._see(
            "log_words", found, _WORDS, words=", ".join({log.situacao or "–" for _, log in logs})
        )
        own = any(
            not is_about(job, log, context.catalogue, as_sent=True)
            and is_about(job, log, context.catalogue, as_sent=False)
            for job, log in logs
        )
        names = ", ".join({log.nomeDoArquivo or "–" for _, log in logs})
        self._see("file_names", "own" if own else self.quirks.file_names, _FILE_NAMES, names=names)
        self._see_queues(context, logs)

    def _see_queues(self, context: UploadContext, logs: Sequence[tuple[Job, ImportLog]]) -> None:
        behaviour: dict[str, str] = {}
        changed: dict[str, str] = {}
        for job, log in logs:
            if job.was_started:
                continue
            paths = context.catalogue.named(job.spec.resource).paths
            waits = self.quirks.state_of(log) is ImportState.PENDING
            behaviour[job.spec.resource] = "waits" if waits else "runs"
            if waits != self.quirks.needs_start(job.spec.resource, paths.needs_processar):
                changed[job.spec.resource] = behaviour[job.spec.resource]
        if behaviour:
            names = ", ".join(f"{name}: {one}" for name, one in behaviour.items())
            self._see("queue", changed or self.quirks.queue, _QUEUES, names=names)
        else:
            self._add("queue", Certainty.UNKNOWN, _NEEDS_QUEUED_FILE)

    def _preview(self, context: UploadContext, client: Client) -> None:
        """Preview two clients that cannot be imported, to see how lines and messages are told."""
        resource = context.catalogue.named("cliente")
        rows = [{"nomeComercial": f"xlbridge {n}", "cnpj": "1", "cpf": "1"} for n in (1, 2)]
        outcome = _preview(client, resource, rows)
        texts: list[str] = []
        lines: set[int | None] = set()
        match outcome:
            case Rejected(_, details):
                texts = [detail.value for detail in details]
                lines = {split_line_number(text)[0] for text in texts}
            case Executed(data) if data.rejected:
                texts = [line.mensagem for line in data.linhasRejeitadas or ()]
                lines = {line.linha for line in data.linhasRejeitadas or ()}
        numbers = sorted(line for line in lines if line is not None)
        first = numbers[0] if len(numbers) == len(rows) and numbers[1] == numbers[0] + 1 else None
        if first in (0, 1, 2):
            self._see("first_line", first, _FIRST_LINE, line=first)
        else:
            self._add("first_line", Certainty.UNKNOWN, _NO_LINES)
        found = [one for one in _SEPARATORS if any(one in text.strip() for text in texts)]
        if found:
            self._see("line_breaks", found[0], _LINE_BREAKS, separator=repr(found[0]))
        elif texts:
            self._see("line_breaks", self.quirks.line_breaks, _ONE_BY_ONE, n=len(texts))
        else:
            self._add("line_breaks", Certainty.UNKNOWN, _NO_LINES)

    def _read_names(self, client: Client) -> None:
        """Look for fields of records that have another name."""
        names: dict[str, str] = {}
        unknown: set[str] = set()
        read = 0
        for operation in _KEYED.values():
            model = record_model(operation.data)
            records = _first_records(client, operation)
            if model is None or not records:
                continue
            read += len(records)
            answered = {name for record in records for name in record}
            missing = {_folded(name): name for name in model.model_fields if name not in answered}
            for name in answered - model.model_fields.keys():
                if _folded(name) in missing:
                    names[name] = missing[_folded(name)]
                else:
                    unknown.add(name)
        if not read:
            self._add("names", Certainty.UNKNOWN, _NO_RECORDS)
            return
        told = ", ".join(f"{name} → {field}" for name, field in names.items()) or "–"
        others = ", ".join(sorted(unknown)) or "–"
        self._see("names", names, _NAMES, names=told, others=others)

    def _read_keys(self, context: UploadContext, client: Client) -> None:
        """Look whether records show the keys by which rows are looked up."""
        hidden: list[str] = []
        shown: list[str] = []
        for name, operation in _KEYED.items():
            declared = context.catalogue.named(name).read_back
            records = _first_records(client, operation)
            lookups = () if declared is None else declared.lookups
            keys = {
                field
                for one in lookups
                if operation in one.operations and not one.may_be_hidden
                for field in one.key.values()
            }
            if not records or not keys:
                continue
            answered = {field for record in records for field in record}
            missing = sorted(keys - answered)
            shown += [] if missing else [name]
            hidden += [f"{name}.{field}" for field in missing]
        if hidden:
            self._add("keys", Certainty.SEEN, _KEYS_HIDDEN, fields=", ".join(hidden))
        elif shown:
            self._add("keys", Certainty.ASSUMED, _KEYS_SHOWN, names=", ".join(shown))
        else:
            self._add("keys", Certainty.UNKNOWN, _NO_RECORDS)

    def _read_one_client(self, client: Client) -> None:
        """Ask for one client by its document, as look-ups do."""
        documents = [one.get("cnpjcpf") for one in _first_records(client, CLIENT_LIST)]
        document = next((one for one in documents if one), None)
        if document is None:
            self._add("filters", Certainty.UNKNOWN, _NO_RECORDS)
            return
        query = ClientQuery(cnpjcpf=document)
        found = {one.get("cnpjcpf") for one in client.records(CLIENT_LIST, query=query)}
        if found == {document}:
            self._add("filters", Certainty.ASSUMED, _FILTERED)
        else:
            self._add("filters", Certainty.SEEN, _NOT_FILTERED, n=len(found))

    def _read_window(self, client: Client) -> None:
        """Ask for the minute of a record's last update, as an installation without quirks."""
        inclusive = structs.replace(client.target.quirks, window_end="inclusive")
        target = replace(client.target, quirks=inclusive)
        with Client(target, retry_policy=client.retry_policy) as plain:
            times = [
                (operation, time)
                for operation in (CLIENT_LIST, SALES_ORDER_LIST)
                for record in _first_records(plain, operation)
                if (time := update_time(record)) is not None
            ]
            within = next(((one, time) for one, time in times if time.second), None)
            if within is None:
                self._add("window_end", Certainty.UNKNOWN, _NO_RECORDS)
                return
            operation, time = within
            minute = time.replace(second=0, microsecond=0)
            if _is_in_window(plain, operation, time, minute):
                end = "inclusive"
            else:
                at_first = next(((o, t) for o, t in times if not t.second), None)
                is_minute = at_first is not None and _is_in_window(plain, *at_first, at_first[1])
                end = "minute" if is_minute else "exclusive"
                if at_first is None and self.quirks.window_end != "inclusive":
                    end = self.quirks.window_end  # No record tells the two apart.
        self._see(
            "window_end",
            end,
            _WINDOW_END,
            covers=end,
            end=format_moment(minute),
            found=f"{time:%d/%m/%Y %H:%M:%S}",
        )


def _first_records(client: Client, operation: Operation) -> Sequence[Mapping[str, Any]]:
    with closing(client.records(operation, keep_unknown=True)) as records:
        return list(islice(records, _RECORDS))


def _is_in_window(client: Client, operation: Operation, time: datetime, end: datetime) -> bool:
    """Return whether a listing's window that ends at ``end`` has a record updated at ``time``."""
    query: Any = operation.query
    window = query(dataInferior=time.replace(second=0, microsecond=0), dataSuperior=end)
    return any(update_time(record) == time for record in client.records(operation, query=window))


def _folded(name: str) -> str:
    return name.replace("_", "").casefold()


_NEEDS_QUEUED_FILE = Text(
    pt="só se sabe depois de um envio pela fila",
    en="known only after an upload through the queue",
)
_UNKNOWN_WORDS = Text(
    pt="situações de logs cujo significado não se sabe: {words}",
    en="statuses of logs whose meaning is not known: {words}",
)
_WORDS = Text(pt="situações dos últimos logs: {words}", en="statuses of the latest logs: {words}")
_FILE_NAMES = Text(pt="arquivos dos logs: {names}", en="files of the logs: {names}")
_QUEUES = Text(pt="filas dos últimos envios: {names}", en="queues of the latest uploads: {names}")
_FIRST_LINE = Text(
    pt="a prévia chama a primeira linha de {line}", en="the preview calls the first row {line}"
)
_NO_LINES = Text(
    pt="a prévia de linhas inválidas não diz números de linhas",
    en="the preview of invalid rows does not name lines",
)
_LINE_BREAKS = Text(
    pt="as mensagens da prévia são separadas por {separator}",
    en="the messages of the preview are separated by {separator}",
)
_ONE_BY_ONE = Text(
    pt="a prévia deu {n} {n:mensagem separada|mensagens, cada uma à parte}",
    en="the preview gave {n} {n:separate message|separate messages}",
)
_NO_RECORDS = Text(
    pt="não há registros para conferir", en="there are no records that would show it"
)
_NAMES = Text(
    pt="outros nomes: {names}; campos que a interface não descreve: {others}",
    en="other names: {names}; fields that the interface does not describe: {others}",
)
_KEYS_SHOWN = Text(
    pt="os registros mostram as chaves de: {names}", en="records show the keys of: {names}"
)
_KEYS_HIDDEN = Text(
    pt="os registros não mostram campos de chaves, e as linhas que dependem deles não serão "
    "enviadas e aguardarão você: {fields}",
    en="records do not show fields of keys, and rows that need them will not be sent and wait "
    "for you: {fields}",
)
_FILTERED = Text(
    pt="um cliente pedido pelo documento vem só",
    en="a client asked for by its document comes alone",
)
_NOT_FILTERED = Text(
    pt="um cliente pedido pelo documento veio com outros, ou não veio ({n}): as procuras leem a "
    "listagem inteira",
    en="a client asked for by its document came with others, or not at all ({n}): look-ups read "
    "the whole listing",
)
_WINDOW_END = Text(
    pt="{covers}: um registro alterado em {found}, pedido até {end}",
    en="{covers}: a record updated at {found}, asked for until {end}",
)
