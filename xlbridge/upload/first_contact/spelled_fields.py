"""Probe of fields that the interface spells in two ways: in its tables, and in samples of payloads.

Previews of rows that no system imports show which headers an import takes, earlier uploads which
fields a write has lost. See the spec, introduction.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from xlbridge.client import Client, Executed, Outcome, Rejected, UploadFile
from xlbridge.i18n import Text, joined
from xlbridge.resources import Column, Kind, Mode, Resource
from xlbridge.upload.context import UploadContext
from xlbridge.upload.payload import frame_of_rows
from xlbridge.upload.results.verdict import has_two_spellings
from xlbridge.wire.imports import ImportQuery, split_line_number
from xlbridge.workbook.edit import with_headers
from xlbridge.workbook.write import write_records

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
        for lost in job.lost_fields:
            name = lost.column.rpartition(".")[2]
            if lost.stored is not None or not has_two_spellings(name):
                continue
            sent = _other(name) if job.spec.mode is Mode.RECORDS else name
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
    with TemporaryDirectory(prefix="xlbridge-") as folder:
        book = Path(folder) / "xlbridge.xlsx"
        write_records(book, resource, frame_of_rows(resource, rows))
        content = with_headers(book.read_bytes(), lambda header: spelled.get(header, header))
    outcome = client.send(
        resource.paths.direct,
        path={"resource": resource.name} if resource.paths.direct.path_parameters else {},
        query=ImportQuery(preview=True),
        file=UploadFile(f"{resource.name}.xlsx", content),
        harmless=True,
    )
    said = " ".join(_messages_of_lines(outcome))
    if not said and len(columns) > 1:
        half = len(columns) // 2
        halves = (columns[:half], columns[half:])
        return set().union(*(_taken_headers(client, resource, one, spelled) for one in halves))
    names = [column.name for column in columns]
    return {name for name in names if re.search(rf"\b{name}\b", said, re.IGNORECASE)}


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


_FOUND = Text(pt="o sistema aceita só a outra grafia: {fields}", en="taken otherwise: {fields}")
_EITHER = Text(pt="aceitos nas duas grafias: {fields}", en="taken in either spelling: {fields}")
_AS_SENT = Text(pt="aceitos como são enviados: {fields}", en="taken as they are sent: {fields}")
_OPEN = Text(
    pt="só uma gravação mostra, e avisa se o campo se perdeu: {fields}",
    en="only a write shows, and tells if the field is lost: {fields}",
)
