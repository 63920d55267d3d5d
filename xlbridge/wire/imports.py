"""Spreadsheet imports: models and operations.

Source: the spec, Import, Authentication and utilities. The fields of the import log and of a
plain import's answer are not shown there; the shapes here are this project's choice
(``docs/assumptions.md``).
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from xlbridge.wire.model import (
    Many,
    Moment,
    Operation,
    WireModel,
    default_for_invalid,
    empty_list,
    null_as,
)

Count = Annotated[int | None, default_for_invalid(None)]
"""A number of rows; None where it is not told."""


_Remark = Annotated[str | None, default_for_invalid(None)]
_Date = Annotated[Moment | None, default_for_invalid(None)]


class ImportQuery(WireModel):
    """Query of a direct import; with ``preview`` nothing is written."""

    preview: bool = False


class ImportRecords(WireModel):
    """Records that an import or its preview has read, and their count."""

    totalDeRegistros: int | None = None
    registros: Many[dict[str, Any]] = Field(default_factory=empty_list)

    @model_validator(mode="before")
    @classmethod
    def _accept_other_shapes(cls, data: Any) -> Any:
        """Read the records themselves, or their number alone: the shape is not promised."""
        if isinstance(data, list):
            return {"totalDeRegistros": len(data)}
        return {"totalDeRegistros": data} if isinstance(data, int) else data

    @property
    def count(self) -> int | None:
        """Number of records that were read; None where the answer does not tell it."""
        return (
            len(self.registros) or None if self.totalDeRegistros is None else self.totalDeRegistros
        )


class AddressingRecord(WireModel):
    """One addressing record that was read."""

    codigoDaFilial: int | None = None
    codigoDoAlmoxarifado: int | None = None
    codigoDaSecao: str | None = None
    idProd: int | None = None


class AddressingRecords(WireModel):
    """Records that the addressing import or its preview has read."""

    totalDeRegistros: int | None = None
    produtoMapeamentoEstoque: Many[AddressingRecord] = Field(default_factory=empty_list)

    @property
    def count(self) -> int | None:
        """Number of records that were read; None where the answer does not tell it."""
        listed = len(self.produtoMapeamentoEstoque) or None
        return listed if self.totalDeRegistros is None else self.totalDeRegistros


class ImportState(StrEnum):
    """State of a queued file, in the sandbox's words."""

    PENDING = "Pendente"
    RUNNING = "Processando"
    FINISHED = "Finalizado"


_SPELT_OTHERWISE = {"key": "coluna", "value": "mensagem"}
_NAMED_LINE = re.compile(r"\blinha\s+(\d+)\s*:\s*", re.IGNORECASE)


def split_line_number(message: str) -> tuple[int | None, str]:
    """Return the line that a message names as ``Linha N: …``, None without any, and the rest."""
    named = _NAMED_LINE.search(message)
    return (int(named[1]), _NAMED_LINE.sub("", message, count=1)) if named else (None, message)


class RejectedLine(WireModel):
    """Line that the import rejected.

    ``linha`` is the row in the uploaded sheet as Excel counts it, ``coluna`` the field concerned.
    A text, or an item like those of the error envelope, may name its line as ``Linha N: …``.
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
        lowered = {_SPELT_OTHERWISE.get(n.lower(), n): value for n, value in data.items()}
        line, message = split_line_number(str(lowered.get("mensagem", "")))
        return lowered if line is None else lowered | {"linha": line, "mensagem": message}


def _word(value: Any) -> Any:
    """Read a status that came as a number as its text."""
    return str(value) if isinstance(value, int) else value


class ImportLog(WireModel):
    """Log of a queued file; the interface promises its status and its rejected lines.

    ``situacao`` is the system's own word. ``linhasRejeitadas`` is None where none are told of.
    """

    id: Annotated[int | None, default_for_invalid(None)] = None
    recurso: _Remark = None
    nomeDoArquivo: _Remark = None
    situacao: Annotated[str | None, BeforeValidator(_word), default_for_invalid(None)] = None
    dataDeInclusao: _Date = None
    dataDeInicio: _Date = None
    dataDeConclusao: _Date = None
    totalDeRegistros: Count = None
    registrosImportados: Count = None
    registrosRejeitados: Count = None
    linhasRejeitadas: Annotated[list[RejectedLine] | None, default_for_invalid(None)] = None
    mensagem: _Remark = None

    @property
    def rejected(self) -> int | None:
        """Number of rejected lines, as it is counted, else as they are listed; None if untold."""
        if self.registrosRejeitados is not None or self.linhasRejeitadas is None:
            return self.registrosRejeitados
        return len({line.linha for line in self.linhasRejeitadas})


def _log_id(value: Any) -> Any:
    """Read an id that came alone, or as the one that an object names."""
    if not isinstance(value, Mapping):
        return value
    named = {name.lower(): one for name, one in value.items()}
    ids = [one for name, one in named.items() if "id" in name or "log" in name]
    return named.get("id", ids[0] if len(ids) == 1 else None)


QueuedLogId = Annotated[int, BeforeValidator(_log_id)]
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
IMPORT_PROCESS = Operation(
    name="imports.process",
    method="POST",
    path="/v2/importacao/processar-arquivo/{id}",
    data=ImportLog,
)
IMPORT_LOG = Operation(
    name="imports.log",
    method="GET",
    path="/v2/importacao/log-importacao/{id}",
    data=ImportLog,
)
IMPORT_ADDRESSING = Operation(
    name="imports.addressing",
    method="POST",
    path="/v2/sistema/importacao/enderecamento-de-produto",
    query=ImportQuery,
    upload=True,
    data=AddressingRecords,
)
