"""Rules of clients, their contacts, suppliers and products.

Source: the spec, Client, Client contact, Errors, Registry, Versioning (release 6.0.294).
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, exists, select

from xlbridge.resources.checks import DOCUMENTS
from xlbridge.sandbox.amounts import PRICE_PLACES, amount_problems
from xlbridge.sandbox.areas.registry.codes import RecordRegistration
from xlbridge.sandbox.areas.registry.tables import (
    clients,
    contacts,
    products,
    suppliers,
)
from xlbridge.sandbox.columns import to_row
from xlbridge.sandbox.problems import Problem
from xlbridge.wire.products import Product, ProductChange, ProductInput
from xlbridge.wire.registry import (
    Client,
    ClientInput,
    Contact,
    ContactInput,
    PartyInput,
    Supplier,
    SupplierInput,
)


class ClientRegistration(RecordRegistration):
    """Registration of new clients."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        super().__init__(connection, now)
        self._documents = DocumentRules(connection, clients.c.cnpjcpf, "cliente")

    def problems(self, data: ClientInput) -> list[Problem]:
        """Return the problems of a new client."""
        codes = self._lookup.field_problems(data, "codigoDoTipoDeCliente", "codigoDoVendedor")
        return [*self._documents.problems(data), *codes]

    def accept(self, data: ClientInput) -> Client:
        """Accept a client, with the next code."""
        document = party_document(data)
        self._documents.accept(document)
        client = Client(
            codigoDoCliente=self._numbers.next("client"),
            cnpjcpf=document,
            ativo=True,
            ultimaAtualizacao=self._now,
            **data.model_dump(exclude={"cnpj", "cpf"}),
        )
        self._rows[clients].append(client.model_dump())
        return client


class ContactRegistration(RecordRegistration):
    """Registration of new contacts."""

    def problems(self, data: ContactInput) -> list[Problem]:
        """Return the problems of a new contact; its client may be inactive."""
        return self._lookup.unknown_client_problems(data.codigoDoCliente)

    def accept(self, data: ContactInput) -> Contact:
        """Accept a contact, with the next sequence of its client."""
        contact = Contact(
            seqContato=self._numbers.next(f"contact:{data.codigoDoCliente}"),
            nomeDoContato=data.nome,
            ativo=True,
            **data.model_dump(exclude={"nome"}),
        )
        self._rows[contacts].append(contact.model_dump())
        return contact


SUPPLIER_COLUMNS = {
    "codigoDoFornecedor": "code",
    "nomeComercial": "name",
    "natureza": "nature",
    "cnpjcpf": "document",
    "email": "email",
    "telefone": "telephone",
    "ativo": "active",
}
"""Columns of a supplier's fields."""


class SupplierRegistration(RecordRegistration):
    """Registration of new suppliers."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        super().__init__(connection, now)
        self._documents = DocumentRules(connection, suppliers.c.document, "fornecedor")

    def problems(self, data: SupplierInput) -> list[Problem]:
        """Return the problems of a new supplier."""
        return self._documents.problems(data)

    def accept(self, data: SupplierInput) -> Supplier:
        """Accept a supplier, with the next code."""
        document = party_document(data)
        self._documents.accept(document)
        supplier = Supplier(
            codigoDoFornecedor=self._numbers.next("supplier"),
            cnpjcpf=document,
            **data.model_dump(exclude={"cnpj", "cpf"}),
        )
        self._rows[suppliers].append(to_row(supplier, SUPPLIER_COLUMNS))
        return supplier


_MASK = re.compile(r"[\s./-]")


def unmasked_document(document: str) -> str:
    """Return a CNPJ or CPF without its mask, in capitals."""
    return _MASK.sub("", document).upper()


def party_document(data: PartyInput) -> str | None:
    """Return the document of the party's nature, or else the other one."""
    document = (data.cnpj or data.cpf) if data.natureza == "J" else (data.cpf or data.cnpj)
    return unmasked_document(document) if document else None


class DocumentRules:
    """Validates the documents of new parties; ``column`` has the registered ones."""

    def __init__(self, connection: Connection, column: ColumnElement[Any], label: str) -> None:
        self._connection = connection
        self._column = column
        self._label = label
        self._accepted: set[str] = set()

    def problems(self, data: PartyInput) -> list[Problem]:
        """Return the problems of a new party's document: invalid, or already registered."""
        return [*_format_problems(data), *self._duplicate_problems(party_document(data))]

    def accept(self, document: str | None) -> None:
        """Mark a document as registered."""
        if document:
            self._accepted.add(document)

    def _duplicate_problems(self, document: str | None) -> list[Problem]:
        if not document:
            return []
        stored = select(exists().where(self._column == document))
        if document not in self._accepted and not self._connection.scalar(stored):
            return []
        return [("cnpjcpf", f"O número {document} já está cadastrado para outro {self._label}.")]


def _format_problems(data: PartyInput) -> list[Problem]:
    field = "cnpj" if data.natureza == "J" else "cpf"
    document = getattr(data, field)
    if not document or DOCUMENTS[field].is_valid(unmasked_document(document)):
        return []
    return [(field, f"{field.upper()} inválido.")]


PRODUCT_COLUMNS = {
    "idProduto": "code",
    "descricaoDoProduto": "name",
    "DescricaoDoProdutoIngles": "english_name",
    "codigoInterno": "internal_code",
    "CodigoGenerico": "generic_code",
    "codigoDeBarras": "barcode",
    "ncm": "ncm",
    "marca": "brand",
    "modelo": "model",
    "codigoDaUnidadeDeMedida": "unit",
    "codigoDoTipoDeProduto": "product_type",
    "codigoDoGrupoDeProduto": "product_group",
    "codigoDaCategoriaDeProduto": "product_category",
    "valorUnitario": "price",
    "Peso": "weight",
    "PesoBruto": "gross_weight",
    "PesoLiquido": "net_weight",
    "Altura": "height",
    "Largura": "width",
    "Comprimento": "length",
}
"""Columns of a product's fields."""

_CODES = (
    "codigoDaUnidadeDeMedida", "codigoDoTipoDeProduto", "codigoDoGrupoDeProduto",
    "codigoDaCategoriaDeProduto",
)  # fmt: skip
_WEIGHTS = ("Peso", "PesoBruto", "PesoLiquido")
_WEIGHT_PLACES = 3


class ProductRegistration(RecordRegistration):
    """Registration of new products."""

    def problems(self, data: ProductInput) -> list[Problem]:
        """Return the problems of a product, new or altered."""
        return list(self._problems(data))

    def accept(self, data: ProductInput) -> Product:
        """Accept a product, with the next id."""
        product = Product(idProduto=self._numbers.next("product"), **data.model_dump())
        self._rows[products].append(to_row(product, PRODUCT_COLUMNS))
        return product

    def _problems(self, data: ProductInput) -> Iterator[Problem]:
        yield from self._lookup.field_problems(data, *_CODES)
        yield from amount_problems("valorUnitario", data.valorUnitario, PRICE_PLACES)
        for key in _WEIGHTS:
            yield from amount_problems(key, getattr(data, key), _WEIGHT_PLACES)
        gross, net = data.PesoBruto, data.PesoLiquido
        if gross is not None and net is not None and net > gross:
            yield "PesoLiquido", "O peso líquido é maior que o peso bruto."
        if data.codigoInterno is None:
            return
        if not data.codigoInterno.strip():
            yield "codigoInterno", "O código interno está em branco."
        others = products.c.internal_code == data.codigoInterno
        if isinstance(data, ProductChange):
            others &= products.c.code != data.idProduto
        if self._connection.scalar(select(exists().where(others))):
            yield "codigoInterno", f"O código {data.codigoInterno} já é de outro produto."
