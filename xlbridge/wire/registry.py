"""Clients, their contacts, suppliers. Source: the spec, Client, Client contact, Registry.

What a supplier is made of is not shown there; it is this project's choice
(``docs/assumptions.md``).
"""

from typing import Literal

from pydantic import Field

from xlbridge.wire.model import Moment, QueryMoment, WireModel

CLIENT_CAP = 500
"""Most records of one GET /v2/cliente without a single-record filter (the spec, Limits)."""


class PartyInput(WireModel):
    """A client or supplier to create; only ``nomeComercial`` is required."""

    nomeComercial: str = Field(min_length=1)
    natureza: Literal["J", "F"] = "J"
    cnpj: str | None = None
    cpf: str | None = None


class ClientInput(PartyInput):
    """A client to create."""

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
    ativo: bool | None = None
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


class ContactInput(WireModel):
    """A client's contact to create; its sequence is generated."""

    codigoDoCliente: int
    nome: str = Field(min_length=1)
    email: str | None = None
    telefone: str | None = None
    cargo: str | None = None


class Contact(WireModel):
    """A client's contact as it is read.

    ``cargo``, which is given on creation, is shown too: this project's choice
    (``docs/assumptions.md``).
    """

    codigoDoCliente: int
    seqContato: int
    nomeDoContato: str | None = None
    nomeAbreviado: str | None = None
    departamento: str | None = None
    cargo: str | None = None
    telefone: str | None = None
    celular: str | None = None
    email: str | None = None
    observacao: str | None = None
    ativo: bool | None = None


class SupplierInput(PartyInput):
    """A supplier to create."""

    email: str | None = None
    telefone: str | None = None
    ativo: bool = True


class Supplier(WireModel):
    """A supplier as it is read."""

    codigoDoFornecedor: int
    nomeComercial: str | None = None
    natureza: Literal["J", "F"] | None = None
    cnpjcpf: str | None = None
    email: str | None = None
    telefone: str | None = None
    ativo: bool | None = None
