"""Registries of the remote system that the values of a column may refer to, and links to them.

A schema file names one of these under ``references``; ``validate --online`` asks the system.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge.i18n import Text
from xlbridge.wire import Operation
from xlbridge.wire.products import PRODUCT_LIST
from xlbridge.wire.registry import (
    CLIENT_CAP,
    CLIENT_LIST,
    CLIENT_TYPE_LIST,
    COST_CENTRE_LIST,
    PRODUCT_TYPE_LIST,
    SUPPLIER_LIST,
)
from xlbridge.wire.stock import STOCK_BALANCES, STOCK_BALANCES_OF_BRANCH

if TYPE_CHECKING:
    from xlbridge.resources.column import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A registry of the remote system.

    ``operation`` lists its records, or, where it has a path parameter, answers 404 for one that
    does not exist. ``key`` is the field of the code; ``active`` the one that tells whether a
    record may be used, None where all may. ``cap`` is the most records of one answer. ``label`` is
    the field of what people call a record. ``resource`` is the resource whose sheets register
    records, where that has another name; ``names`` lists the records with their labels, where
    ``operation`` does not.
    """

    title: Text
    operation: Operation
    key: str
    label: str
    active: str | None = None
    cap: int | None = None
    resource: str | None = None
    names: Operation | None = None

    @property
    def one_by_one(self) -> bool:
        """True where the interface answers for one code at a time only."""
        return bool(self.operation.path_parameters)

    @property
    def listing(self) -> Operation:
        """The operation that lists all records with their labels."""
        return self.names or self.operation


REFERENCES: Mapping[str, Reference] = {
    "cliente": Reference(
        title=Text(pt="o cadastro de clientes", en="the clients"),
        operation=CLIENT_LIST,
        key="codigoDoCliente",
        label="nomeComercial",
        active="ativo",
        cap=CLIENT_CAP,
    ),
    "fornecedor": Reference(
        title=Text(pt="o cadastro de fornecedores", en="the suppliers"),
        operation=SUPPLIER_LIST,
        key="codigoDoFornecedor",
        label="nomeComercial",
        active="ativo",
    ),
    "produto": Reference(
        title=Text(pt="o cadastro de produtos", en="the products"),
        operation=PRODUCT_LIST,
        key="idProduto",
        label="descricaoDoProduto",
    ),
    "centro-de-custo": Reference(
        title=Text(pt="os centros de custo", en="the cost centres"),
        operation=COST_CENTRE_LIST,
        key="codigoDoCentroDeCusto",
        label="descricaoDoCentroDeCusto",
        resource="centrodecusto",
    ),
    "tipo-de-cliente": Reference(
        title=Text(pt="os tipos de cliente", en="the client types"),
        operation=CLIENT_TYPE_LIST,
        key="codigoDoTipoDeCliente",
        label="descricaoDoTipoDeCliente",
        resource="tipocliente",
    ),
    "tipo-de-produto": Reference(
        title=Text(pt="os tipos de produto", en="the product types"),
        operation=PRODUCT_TYPE_LIST,
        key="codigoDoTipoDeProduto",
        label="descricaoDoTipoDeProduto",
    ),
    "filial": Reference(
        title=Text(pt="as filiais", en="the branches"),
        operation=STOCK_BALANCES_OF_BRANCH,
        key="codigoDaFilial",
        label="descricaoDaFilial",
        names=STOCK_BALANCES,
    ),
}
"""Every registry that a column may refer to, by the name that schema files use."""


@dataclass(frozen=True, slots=True)
class LinkName:
    """Name of a record: a ``column`` of its resource, which the listing calls ``field``."""

    column: str
    field: str
    kind: "Kind"


@dataclass(frozen=True, slots=True)
class Link:
    """Link of a column to records of a registry by something else than their codes.

    Its cells hold one of the records' ``names``; ``is_loose`` says that any of them may be there,
    written as people write names, ``has_codes`` that the codes may, too.
    """

    registry: str
    names: tuple[LinkName, ...]
    is_loose: bool = False
    has_codes: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the registry's listing that have the names."""
        return tuple(dict.fromkeys(name.field for name in self.names))

    @property
    def by(self) -> str:
        """The columns that the names are of, in words of messages."""
        return ", ".join(name.column for name in self.names)


@dataclass(frozen=True, slots=True)
class SheetLink:
    """Link of a column to the records of another sheet: its cells hold what ``column`` of ``file``
    holds there, and stand for the codes that the system gave those records.
    """

    file: Path
    column: str
