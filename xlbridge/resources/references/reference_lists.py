"""Registries of the remote system that columns refer to (``references`` in schema files), and
links to their records."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from xlbridge.i18n import OR, Text, joined, untranslated
from xlbridge.resources.kind import Kind
from xlbridge.wire import Operation
from xlbridge.wire.registry import (
    CLIENT_CAP,
    CLIENT_LIST,
    CLIENT_TYPE_LIST,
    COST_CENTRE_LIST,
    PRODUCT_LIST,
    PRODUCT_TYPE_LIST,
    SUPPLIER_LIST,
)
from xlbridge.wire.stock import STOCK_BALANCES, STOCK_BALANCES_OF_BRANCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A registry of the remote system.

    ``operation``: lists the records or, with a path parameter, answers 404 for one that does not
    exist; ``key``: field of the code; ``label``: field of the name; ``active``: field that is true
    of records that may be used, None if all may; ``cap``: maximum number of records in an answer;
    ``resource``: resource whose sheets register records, if its name differs; ``names``: lists the
    records with their labels, if ``operation`` does not.
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
        """True if the interface only answers for one code at a time."""
        return bool(self.operation.path_parameters)

    @property
    def listing(self) -> Operation:
        """The operation that lists all records with their labels."""
        return self.names or self.operation


BRANCH = "filial"
"""Registry of the branches."""

REFERENCES: Mapping[str, Reference] = {
    "cliente": Reference(
        title=Text(pt="os clientes", en="the clients"),
        operation=CLIENT_LIST,
        key="codigoDoCliente",
        label="nomeComercial",
        active="ativo",
        cap=CLIENT_CAP,
    ),
    "fornecedor": Reference(
        title=Text(pt="os fornecedores", en="the suppliers"),
        operation=SUPPLIER_LIST,
        key="codigoDoFornecedor",
        label="nomeComercial",
        active="ativo",
    ),
    "produto": Reference(
        title=Text(pt="os produtos", en="the products"),
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
    BRANCH: Reference(
        title=Text(pt="as filiais", en="the branches"),
        operation=STOCK_BALANCES_OF_BRANCH,
        key="codigoDaFilial",
        label="descricaoDaFilial",
        names=STOCK_BALANCES,
    ),
}
"""Registries by their names in schema files."""


@dataclass(frozen=True, slots=True)
class LinkName:
    """Column that identifies or names records, and its field in the listing."""

    column: str
    field: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Link:
    """Link of a column to records of a registry by other values than their codes.

    The cells hold the value of one of ``names``. ``is_loose``: of any of them, in any spelling;
    ``has_codes``: codes are accepted, too.
    """

    registry: str
    names: tuple[LinkName, ...]
    is_loose: bool = False
    has_codes: bool = False

    @property
    def text(self) -> str:
        """The link as it is asked for: the registry, or the column of its resource."""
        return self.registry if self.is_loose else self.names[0].column

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of the names in the registry's listing."""
        return tuple(dict.fromkeys(name.field for name in self.names))

    @property
    def by(self) -> Text:
        """Kinds of names in words for messages: CNPJ/CPF, own code, name."""
        columns = [name.column for name in self.names]
        if {"cnpj", "cpf"} <= set(columns):
            columns = ["CNPJ/CPF" if one == "cnpj" else one for one in columns if one != "cpf"]
        words = [_NAME_WORDS.get(one, untranslated(one)) for one in columns]
        *others, last = dict.fromkeys([*words, *([_CODE] if self.has_codes else [])])
        return joined([joined(others, ", "), last], OR) if others else last


_CODE = Text(pt="código", en="code")
_OWN_NAME = Text(pt="nome", en="name")
_NAME_WORDS: Mapping[str, Text] = {
    "idws": Text(pt="identificador", en="identifier"),
    "cnpj": untranslated("CNPJ"),
    "cpf": untranslated("CPF"),
    "seuCodigo": Text(pt="seu código", en="own code"),
    "codigoInterno": Text(pt="código interno", en="internal code"),
    "codigoDeBarras": Text(pt="código de barras", en="barcode"),
    **dict.fromkeys((each.label for each in REFERENCES.values() if each.label), _OWN_NAME),
}


@dataclass(frozen=True, slots=True)
class SheetLink:
    """Link of a column to the records of another sheet: its cells hold values of ``column`` in
    ``file``, and are replaced by the codes that the system assigned to those records."""

    file: Path
    column: str

    @property
    def text(self) -> str:
        """The link as it is asked for."""
        return f"{self.file.resolve()}#{self.column}"


def registry_named(name: str) -> str | None:
    """Return the registry with a name, or whose resource has the name."""
    if name in REFERENCES:
        return name
    return next((key for key, one in REFERENCES.items() if one.resource == name), None)
