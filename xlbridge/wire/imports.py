"""Spreadsheet imports: models and operations.

Source: the spec, Import, Authentication and utilities. The fields of the import log and of a
plain import's answer are not shown there; the shapes here are this project's choice
(``docs/assumptions.md``).
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, model_validator

from xlbridge.wire.authentication import AUTHENTICATE, SYSTEM_INFO
from xlbridge.wire.model import Many, Moment, WireModel, null_as
from xlbridge.wire.protocol import UTILITIES_SECTION, Operation

Count = Annotated[int, null_as(0)]


class ImportQuery(WireModel):
    """Query of a direct import; with ``preview`` nothing is written."""

    preview: bool = False


class ImportRecords(WireModel):
    """Records that an import or its preview has read, and their count."""

    totalDeRegistros: int | None = None
    registros: Many[dict[str, Any]] = Field(default_factory=list)

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
    produtoMapeamentoEstoque: Many[AddressingRecord] = Field(default_factory=list)

    @property
    def count(self) -> int | None:
        """Number of records that were read; None where the answer does not tell it."""
        listed = len(self.produtoMapeamentoEstoque) or None
        return listed if self.totalDeRegistros is None else self.totalDeRegistros


class ImportState(StrEnum):
    """State of a queued file."""

    PENDING = "Pendente"
    RUNNING = "Processando"
    FINISHED = "Finalizado"


class RejectedLine(WireModel):
    """Line that the import rejected.

    ``linha`` is the row in the uploaded sheet as Excel counts it, ``coluna`` the field concerned.
    """

    linha: int
    coluna: str | None = None
    mensagem: Annotated[str, null_as("")] = ""


class ImportLog(WireModel):
    """The log of a queued file. Counts are complete once ``situacao`` is ``Finalizado``."""

    id: int
    recurso: str | None = None
    nomeDoArquivo: str | None = None
    situacao: ImportState
    dataDeInclusao: Moment | None = None
    dataDeInicio: Moment | None = None
    dataDeConclusao: Moment | None = None
    totalDeRegistros: Count = 0
    registrosImportados: Count = 0
    registrosRejeitados: Count = 0
    linhasRejeitadas: Many[RejectedLine] = Field(default_factory=list)
    mensagem: str | None = None


IMPORT = Operation(
    name="imports.direct",
    method="POST",
    path="/v2/importacao/{resource}",
    path_types={"resource": str},
    section=UTILITIES_SECTION,
    query=ImportQuery,
    upload=True,
    data=ImportRecords,
)
IMPORT_QUEUE = Operation(
    name="imports.queue",
    method="POST",
    path="/v2/importacao/{resource}/fila",
    path_types={"resource": str},
    section=UTILITIES_SECTION,
    upload=True,
    data=int,
)
IMPORT_PROCESS = Operation(
    name="imports.process",
    method="POST",
    path="/v2/importacao/processar-arquivo/{id}",
    section=UTILITIES_SECTION,
    data=ImportLog,
)
IMPORT_LOG = Operation(
    name="imports.log",
    method="GET",
    path="/v2/importacao/log-importacao/{id}",
    section=UTILITIES_SECTION,
    data=ImportLog,
    retryable=True,
)
IMPORT_ADDRESSING = Operation(
    name="imports.addressing",
    method="POST",
    path="/v2/sistema/importacao/enderecamento-de-produto",
    section=UTILITIES_SECTION,
    query=ImportQuery,
    upload=True,
    data=AddressingRecords,
)

OPERATIONS = (
    AUTHENTICATE,
    SYSTEM_INFO,
    IMPORT,
    IMPORT_QUEUE,
    IMPORT_PROCESS,
    IMPORT_LOG,
    IMPORT_ADDRESSING,
)
