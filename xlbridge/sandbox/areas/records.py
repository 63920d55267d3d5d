"""Clients, contacts, suppliers, products and code lists: rules and handlers.

Source: the spec, Client, Client contact, Errors, Product type, Registry, Limits, Versioning
(release 6.0.294).
"""

import re
from typing import Any, ClassVar, TypeVar

from sqlalchemy import Column, Table, exists, select, update

from xlbridge.resources.checks import DOCUMENTS
from xlbridge.sandbox.amounts import PRICE_PLACES, amount_problems
from xlbridge.sandbox.areas.registries import (
    CodeListRegistration,
    Entry,
    RecordRegistration,
    client_categories,
    client_types,
    clients,
    contacts,
    cost_centres,
    product_types,
    products,
    select_entries,
    suppliers,
)
from xlbridge.sandbox.handler_registry import Call, handle_records, handles, window_conditions
from xlbridge.sandbox.problems import Problem, first_or_404, invalid
from xlbridge.wire import Operation
from xlbridge.wire.registry import (
    CLIENT_CAP,
    CLIENT_CATEGORY_CREATE,
    CLIENT_CATEGORY_LIST,
    CLIENT_CREATE,
    CLIENT_LIST,
    CLIENT_SET_IDWS,
    CLIENT_TYPE_CREATE,
    CLIENT_TYPE_LIST,
    CONTACT_CREATE,
    CONTACT_GET,
    COST_CENTRE_CREATE,
    COST_CENTRE_LIST,
    PRODUCT_CREATE,
    PRODUCT_GET,
    PRODUCT_LIST,
    PRODUCT_TYPE_CREATE,
    PRODUCT_TYPE_LIST,
    PRODUCT_UPDATE,
    SUPPLIER_CREATE,
    SUPPLIER_LIST,
    Client,
    ClientCategory,
    ClientIdws,
    ClientQuery,
    ClientType,
    Contact,
    ContactInput,
    CostCentre,
    PartyInput,
    Product,
    ProductChange,
    ProductInput,
    ProductType,
    Supplier,
)

_MASK = re.compile(r"[\s./-]")


def unmasked_document(document: str) -> str:
    """Return a CNPJ or CPF without its mask, in capitals."""
    return _MASK.sub("", document).upper()


Party = TypeVar("Party", Client, Supplier)


class PartyRegistration(RecordRegistration[Party]):
    """Registration of parties, whose documents differ; ``column`` has the registered ones."""

    column: ClassVar[Column[Any]]
    label: ClassVar[str]

    def problems(self, data: PartyInput) -> list[Problem]:
        """Return the problems of a new party's document: invalid, or already registered."""
        problems: list[Problem] = []
        field = "cnpj" if data.natureza == "J" else "cpf"
        formatted = getattr(data, field)
        if formatted and not DOCUMENTS[field].is_valid(unmasked_document(formatted)):
            problems.append((field, f"{field.upper()} inválido."))
        document = self._document(data)
        if document and self._is_taken(self.column, document):
            message = f"O número {document} já está cadastrado para outro {self.label}."
            problems.append(("cnpjcpf", message))
        return problems

    def _document(self, data: PartyInput) -> str | None:
        """Return the document of the party's nature, or else the other one."""
        document = (data.cnpj or data.cpf) if data.natureza == "J" else (data.cpf or data.cnpj)
        return unmasked_document(document) if document else None

    def _content(self, data: PartyInput) -> dict[str, Any]:
        """Return the fields of an accepted party, whose document is registered from now on."""
        document = self._document(data)
        if document:
            self._accepted.add((self.column.name, document))
        return {"cnpjcpf": document, **data.model_dump(exclude={"cnpj", "cpf"})}


class ClientRegistration(PartyRegistration[Client]):
    """Registration of new clients."""

    table, model, scope = clients, Client, "client"
    missing = ("codigoDoCliente", "Cliente não encontrado.")
    column, label = clients.c.cnpjcpf, "cliente"

    def problems(self, data: PartyInput) -> list[Problem]:
        """Return the problems of a new client."""
        codes = self._lookup.field_problems(data, "codigoDoTipoDeCliente", "codigoDoVendedor")
        return [*super().problems(data), *codes]

    def _content(self, data: PartyInput) -> dict[str, Any]:
        return {**super()._content(data), "ativo": True}


class SupplierRegistration(PartyRegistration[Supplier]):
    """Registration of new suppliers."""

    table, model, scope = suppliers, Supplier, "supplier"
    column, label = suppliers.c.cnpjcpf, "fornecedor"


class ContactRegistration(RecordRegistration[Contact]):
    """Registration of new contacts."""

    table, model = contacts, Contact
    missing = ("seq", "Contato não encontrado.")

    def problems(self, data: ContactInput) -> list[Problem]:
        """Return the problems of a new contact; its client may be inactive."""
        field, code = "codigoDoCliente", data.codigoDoCliente
        return self._lookup.problems(field, clients, code, "Cliente", even_inactive=True)

    def accept(self, data: ContactInput) -> Contact:
        """Accept a contact, with the next sequence of its client."""
        contact = Contact(
            seqContato=self._numbers.next(f"contact:{data.codigoDoCliente}"),
            nomeDoContato=data.nome,
            ativo=True,
            **data.model_dump(exclude={"nome"}),
        )
        self._keep(contact)
        return contact


_CODES = (
    "codigoDaUnidadeDeMedida", "codigoDoTipoDeProduto", "codigoDoGrupoDeProduto",
    "codigoDaCategoriaDeProduto",
)  # fmt: skip
_WEIGHTS = ("Peso", "PesoBruto", "PesoLiquido")
_WEIGHT_PLACES = 3


class ProductRegistration(RecordRegistration[Product]):
    """Registration of new products."""

    table, model, scope = products, Product, "product"
    missing = ("idProduto", "Produto não encontrado.")

    def problems(self, data: ProductInput) -> list[Problem]:
        """Return the problems of a product, new or altered."""
        problems = self._lookup.field_problems(data, *_CODES)
        problems += amount_problems("valorUnitario", data.valorUnitario, PRICE_PLACES)
        for key in _WEIGHTS:
            problems += amount_problems(key, getattr(data, key), _WEIGHT_PLACES)
        gross, net = data.PesoBruto, data.PesoLiquido
        if gross is not None and net is not None and net > gross:
            problems.append(("PesoLiquido", "O peso líquido é maior que o peso bruto."))
        code = data.codigoInterno
        if code is None:
            return problems
        if not code.strip():
            problems.append(("codigoInterno", "O código interno está em branco."))
        others = products.c.codigoInterno == code
        if isinstance(data, ProductChange):
            others &= products.c.idProduto != data.idProduto
        if self._connection.scalar(select(exists().where(others))):
            problems.append(("codigoInterno", f"O código {code} já é de outro produto."))
        return problems


def handle_code_list(
    create: Operation, listing: Operation, table: Table, model: type[Entry]
) -> None:
    """Register the handlers that create and list the entries of a code list."""

    @handles(create, source=CodeListRegistration)
    def create_entry(call: Call) -> Any:
        registration = CodeListRegistration(call.connection, call.now, table, model)
        return registration.register(call.body)

    @handles(listing, source=select_entries)
    def list_entries(call: Call) -> Any:
        return call.read(model, select_entries(table, model))


handle_records(ClientRegistration, CLIENT_CREATE)
handle_records(ContactRegistration, CONTACT_CREATE, CONTACT_GET)
handle_records(SupplierRegistration, SUPPLIER_CREATE, SUPPLIER_LIST)
handle_records(ProductRegistration, PRODUCT_CREATE, PRODUCT_UPDATE, PRODUCT_LIST, PRODUCT_GET)
handle_code_list(CLIENT_CATEGORY_CREATE, CLIENT_CATEGORY_LIST, client_categories, ClientCategory)
handle_code_list(CLIENT_TYPE_CREATE, CLIENT_TYPE_LIST, client_types, ClientType)
handle_code_list(PRODUCT_TYPE_CREATE, PRODUCT_TYPE_LIST, product_types, ProductType)
handle_code_list(COST_CENTRE_CREATE, COST_CENTRE_LIST, cost_centres, CostCentre)


@handles(CLIENT_SET_IDWS)
def set_client_idws(call: Call) -> Client:
    data = call.body_as(ClientIdws)
    by_code = clients.c.codigoDoCliente == data.codigoDoCliente
    is_duplicate = ~by_code & (clients.c.idws == data.idws)
    if call.connection.scalar(select(exists().where(is_duplicate))):
        raise invalid(("idws", f"O identificador {data.idws} já é de outro cliente."))
    values = {"idws": data.idws, "ultimaAtualizacao": call.now}
    changed = update(clients).where(by_code).values(values).returning(clients)
    found = call.connection.execute(changed).all()
    client = first_or_404(found, *ClientRegistration.missing)
    return Client.model_construct(**client._mapping)


@handles(CLIENT_LIST)
def list_clients(call: Call) -> Client | list[Client] | None:
    query = call.query_as(ClientQuery)
    statement = select(clients).order_by(clients.c.ultimaAtualizacao, clients.c.codigoDoCliente)
    statement = statement.where(*window_conditions(call, clients.c.ultimaAtualizacao))
    if query.idws is not None:
        statement = statement.where(clients.c.idws == query.idws)
    if query.cnpjcpf is not None:
        statement = statement.where(clients.c.cnpjcpf == unmasked_document(query.cnpjcpf))
    if query.idws is None and query.cnpjcpf is None:
        return call.read(Client, statement.limit(CLIENT_CAP))
    return next(iter(call.read(Client, statement.limit(1))), None)
