"""Clients. Source: the spec, Client, and Registry."""

from typing import Literal

from pydantic import Field

from xlbridge.wire.model import Moment, QueryMoment, WireModel

CLIENT_CAP = 500
"""Most records of one GET /v2/cliente without a single-record filter (the spec, Limits)."""


class ClientInput(WireModel):
    """A client to create; only ``nomeComercial`` is required."""

    nomeComercial: str = Field(min_length=1)
    natureza: Literal["J", "F"] = "J"
    cnpj: str | None = None
    cpf: str | None = None
    seuCodigo: str | None = None
    codigoDoTipoDeCliente: int | None = None
    codigoDoVendedor: int | None = None
    email: str | None = None
    telefone: str | None = None


class Client(WireModel):
    """A client as it is read; only its code is counted on.

    ``ultimaAtualizacao``, which the update window goes by, is this project's choice
    (``docs/assumptions.md``).
    """

    codigoDoCliente: int
    nomeComercial: str | None = None
    natureza: Literal["J", "F"] | None = None
    cnpjcpf: str | None = None
    seuCodigo: str | None = None
    codigoDoTipoDeCliente: int | None = None
    codigoDoVendedor: int | None = None
    email: str | None = None
    telefone: str | None = None
    ativo: bool = True
    idws: str | None = None
    ultimaAtualizacao: Moment | None = None


class ClientIdws(WireModel):
    """The caller's stable identifier for a client."""

    codigoDoCliente: int
    idws: str = Field(min_length=1)


class ClientQuery(WireModel):
    """Filters of the client listing; ``idws`` and ``cnpjcpf`` name a single record."""

    idws: str | None = None
    cnpjcpf: str | None = None
    dataInferior: QueryMoment | None = None
    dataSuperior: QueryMoment | None = None
