"""Spreadsheet imports: models and operations, and how installations differ in them.

Source: the spec, Import, Authentication and utilities. It does not show the fields of the import
log and of a direct import's response; they are this project's choice (``docs/assumptions.md``).
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct
from pydantic import (
    BeforeValidator,
    Field,
    InstanceOf,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from xlbridge.wire.model import (
    AddressingPlace,
    Many,
    Moment,
    Operation,
    WireModel,
    default_for_invalid,
    empty_list,
    null_as,
)

Count = Annotated[int | None, default_for_invalid(None)]
"""A number of rows; None if it is missing."""

_OptionalText = Annotated[str | None, default_for_invalid(None)]
_OptionalMoment = Annotated[Moment | None, default_for_invalid(None)]


_SentRecord = Annotated[dict[str, Any], InstanceOf]
"""A record as sent: not copied, since an answer may have all the rows of a sheet."""


class ImportQuery(WireModel):
    """Query of a direct import; with ``preview`` nothing is written."""

    preview: bool = False


_ERROR_ITEM_FIELDS = {"key": "coluna", "value": "mensagem"}
LINE_NUMBER = re.compile(r"\blinha\s+(\d+)\s*:\s*", re.IGNORECASE)


def split_line_number(message: str) -> tuple[int | None, str]:
    """Split ``Linha N:`` off a message; return N, or None, and the rest of the message."""
    found = LINE_NUMBER.search(message)
    return (int(found[1]), LINE_NUMBER.sub("", message, count=1)) if found else (None, message)


class RejectedLine(WireModel):
    """Line that the import rejected.

    ``linha`` is the Excel row number in the uploaded sheet, ``coluna`` the field concerned. A
    plain text or an item of the error envelope is accepted too; its message may begin with
    ``Linha N:``.
    """

    linha: Annotated[int | None, default_for_invalid(None)] = None
    coluna: str | None = None
    mensagem: Annotated[str, null_as("")] = ""

    @model_validator(mode="before")
    @classmethod
    def _accept_other_shapes(cls, data: Any) -> Any:
        if isinstance(data, str):
            data = {"mensagem": data}
        if not isinstance(data, Mapping) or any(name.lower() == "linha" for name in data):
            return data
        renamed = {_ERROR_ITEM_FIELDS.get(n.lower(), n): value for n, value in data.items()}
        line, message = split_line_number(str(renamed.get("mensagem", "")))
        return renamed if line is None else renamed | {"linha": line, "mensagem": message}


def _rejected(count: int | None, lines: Sequence[RejectedLine] | None) -> int | None:
    return len({line.linha for line in lines}) if count is None and lines is not None else count


class _ImportAnswer(WireModel):
    """Answer to an import or its preview: counts and rejected lines, as far as it has them.

    The sandbox rejects a direct import as a whole, and so answers with the number of records only.
    ``records_field`` is the field with the records that were read.
    """

    records_field: ClassVar[str]

    totalDeRegistros: int | None = None
    registrosImportados: Count = None
    registrosRejeitados: Count = None
    linhasRejeitadas: Annotated[list[RejectedLine] | None, default_for_invalid(None)] = None

    @model_serializer(mode="wrap")
    def _without_missing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: v for name, v in write(self).items() if v is not None}

    @property
    def count(self) -> int | None:
        """Number of records read; None if the response does not have it."""
        total = self.totalDeRegistros
        return len(getattr(self, self.records_field)) or None if total is None else total

    @property
    def rejected(self) -> int | None:
        """Number of rejected lines: the count, else the lines; None if it has neither."""
        return _rejected(self.registrosRejeitados, self.linhasRejeitadas)


class ImportRecords(_ImportAnswer):
    """Records read by an import or its preview, and their count."""

    records_field = "registros"

    registros: Many[_SentRecord] = Field(default_factory=empty_list)

    @model_validator(mode="before")
    @classmethod
    def _accept_other_shapes(cls, data: Any) -> Any:
        """Accept the records themselves or only their number: the spec does not fix the shape."""
        if isinstance(data, list):
            return {"totalDeRegistros": len(data)}
        return {"totalDeRegistros": data} if isinstance(data, int) else data


class AddressingRecords(_ImportAnswer):
    """Records read by the addressing import or its preview."""

    records_field = "produtoMapeamentoEstoque"

    produtoMapeamentoEstoque: Many[AddressingPlace] = Field(default_factory=empty_list)


class ImportState(StrEnum):
    """State of a queued file, with the sandbox's word for it; ``FAILED``: it was given up."""

    PENDING = "Pendente"
    RUNNING = "Processando"
    FINISHED = "Finalizado"
    FAILED = "Erro"


FAILURE_WORDS = ("erro", "com erro", "falha", "falhou", "rejeitado", "error", "failed")
"""Words for the status of a file that failed, in lower case."""


class ImportLog(WireModel):
    """Log of a queued file; the spec promises its status and its rejected lines.

    ``situacao`` is the system's own word, or its number as text, which may be called ``status``.
    ``linhasRejeitadas`` is None if the response does not have them.
    """

    id: Annotated[int | None, default_for_invalid(None)] = None
    recurso: _OptionalText = None
    nomeDoArquivo: _OptionalText = None
    situacao: Annotated[
        str | None,
        BeforeValidator(lambda value: str(value) if isinstance(value, int) else value),
        default_for_invalid(None),
    ] = None
    dataDeInclusao: _OptionalMoment = None
    dataDeInicio: _OptionalMoment = None
    dataDeConclusao: _OptionalMoment = None
    totalDeRegistros: Count = None
    registrosImportados: Count = None
    registrosRejeitados: Count = None
    linhasRejeitadas: Annotated[list[RejectedLine] | None, default_for_invalid(None)] = None
    mensagem: _OptionalText = None

    @model_validator(mode="before")
    @classmethod
    def _accept_status(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        names = {str(name).lower(): name for name in data}
        if data.get(names.get("situacao")) is None and "status" in names:
            return {**data, names.get("situacao", "situacao"): data[names["status"]]}
        return data

    @property
    def rejected(self) -> int | None:
        """Number of rejected lines: the log's count, else its lines; None if it has neither."""
        return _rejected(self.registrosRejeitados, self.linhasRejeitadas)


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_ID_WORDS = frozenset({"id", "codigo", "log", "protocolo"})


def _extract_log_id(data: Any) -> Any:
    """Return a plain id as is, and of an object ``id`` or the only field whose words name one."""
    if isinstance(data, Mapping):
        fields = {name.lower(): value for name, value in data.items()}
        ids = [
            value
            for name, value in data.items()
            if not _ID_WORDS.isdisjoint(word.lower() for word in _WORD.findall(name))
        ]
        data = fields.get("id", ids[0] if len(ids) == 1 else None)
        return _extract_log_id(data) if isinstance(data, Mapping) else data
    return None if isinstance(data, bool) else data


QueuedLogId = Annotated[int, BeforeValidator(_extract_log_id)]
"""Id of the import log of a queued file."""

IMPORT = Operation(
    name="imports.direct",
    method="POST",
    path="/v2/importacao/{resource}",
    path_types={"resource": str},
    query=ImportQuery,
    upload=True,
    data=ImportRecords,
)
IMPORT_QUEUE = Operation(
    name="imports.queue",
    method="POST",
    path="/v2/importacao/{resource}/fila",
    path_types={"resource": str},
    upload=True,
    data=QueuedLogId,
)
IMPORT_PROCESS = Operation.step(
    "imports.process", "/v2/importacao/processar-arquivo/{id}", ImportLog
)
IMPORT_LOG = Operation.reading("imports.log", "/v2/importacao/log-importacao/{id}", ImportLog)
IMPORT_ADDRESSING = Operation(
    name="imports.addressing",
    method="POST",
    path="/v2/sistema/importacao/enderecamento-de-produto",
    query=ImportQuery,
    upload=True,
    data=AddressingRecords,
)


LogMeaning = Literal["pending", "running", "finished", "failed"]
QueueBehaviour = Literal["runs", "waits"]

FIRST_LINE: Literal[2] = 2
"""Line of the first row of a sheet with a header, as Excel numbers it."""

Name = Annotated[str, Meta(min_length=1)]


class Quirks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Quirks of one installation; the defaults are what this project assumes.

    log_words: The system's words for the status of a queued file, and their meanings.
    first_line: The number that logs and messages give to the first row of a sheet; 2 if the header
        is line 1.
    file_names: Whether logs name a file as it was sent, or by a name of the system's own.
    spellings: Fields of requests and headers of import files, and the spelling in which the system
        takes them; all others are sent in camelCase.
    names: Names in answers, and the names of the same fields in the interface's description.
    queue: Resources, and whether their queued files run by themselves or wait for
        processar-arquivo.
    window_end: The end of a window of update times. inclusive covers its whole minute or day,
        minute only its first moment, exclusive not even that.
    line_breaks: What separates several messages in one error.
    """

    log_words: Mapping[Name, LogMeaning] = {}
    first_line: Literal[2, 1, 0] = FIRST_LINE
    file_names: Literal["sent", "own"] = "sent"
    spellings: Mapping[Name, Name] = {}
    names: Mapping[Name, Name] = {}
    queue: Mapping[Name, QueueBehaviour] = {}
    window_end: Literal["inclusive", "minute", "exclusive"] = "inclusive"
    line_breaks: Annotated[str, Meta(min_length=1)] | None = None

    def state_of(self, log: ImportLog) -> ImportState | None:
        """Return the meaning of a log's status, None if the word is unknown.

        The interface does not document the words.
        """
        word = (log.situacao or "").strip().casefold()
        declared = {one.strip().casefold(): state for one, state in self.log_words.items()}
        if word in declared:
            return ImportState[declared[word].upper()]
        if word in FAILURE_WORDS:
            return ImportState.FAILED
        return next((state for state in ImportState if state.casefold() == word), None)

    def needs_start(self, resource: str, assumed: bool) -> bool:
        """Return whether queued files of a resource wait for processar-arquivo.

        ``assumed`` is what its schema file says.
        """
        behaviour = self.queue.get(resource)
        return assumed if behaviour is None else behaviour == "waits"

    def messages(self, text: str) -> Sequence[str]:
        """Return the messages in the text of one error, each with the line named before it."""
        if self.line_breaks is None or self.line_breaks not in text:
            return [text]
        messages, named = [], ""
        for part in filter(None, map(str.strip, text.split(self.line_breaks))):
            if line := LINE_NUMBER.match(part):
                named = line[0]
            messages.append(part if line else named + part)
        return messages or [text]

    @property
    def first_lines(self) -> Sequence[int]:
        """Numbers that logs may give to the first row, the declared one first."""
        others = (line for line in (FIRST_LINE, 1, 0) if line != self.first_line)
        return self.first_line, *others


NO_QUIRKS = Quirks()
