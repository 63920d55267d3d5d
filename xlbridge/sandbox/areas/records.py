"""Clients, contacts, suppliers, products and code lists: rules and handlers.

Source: the spec, Client, Client contact, Errors, Product type, Registry, Limits, Versioning
(release 6.0.294).
"""

import re
from typing import Any, ClassVar, TypeVar

from sqlalchemy import Column, Table, exists, select, update

from xlbridge.resources.checks import DOCUMENTS
from xlbridge.sandbox.area_declarations import Call, handle_records, handles, window_conditions
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
from xlbridge.sandbox.problems import PRICE_PLACES, Problem, amount_problems, first_or_404, invalid
from xlbridge.wire import Operation, registry

_MASK = re.compile(r"[\s./-]")


def unmasked_document(document: str) -> str:
    """Return a CNPJ or CPF without its mask, in capitals."""
    return _MASK.sub("", document).upper()


Party = TypeVar("Party", registry.Client, registry.Supplier)


class PartyRegistration(RecordRegistration[Party]):
    """Registration of parties, whose documents differ; ``column`` has the registered ones."""

    column: ClassVar[Column[Any]]
    label: ClassVar[str]

    def problems(self, data: registry.PartyInput) -> list[Problem]:
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

    def _document(self, data: registry.PartyInput) -> str | None:
        """Return the document of the party's nature, or else the other one."""
        document = (data.cnpj or data.cpf) if data.natureza == "J" else (data.cpf or data.cnpj)
        return unmasked_document(document) if document else None

    def _content(self, data: registry.PartyInput) -> dict[str, Any]:
        """Return the fields of an accepted party, whose document is registered from now on."""
        document = self._document(data)
        if document:
            self._accepted.add((self.column.name, document))
        return {"cnpjcpf": document, **data.model_dump(exclude={"cnpj", "cpf"})}


class ClientRegistration(PartyRegistration[registry.Client]):
    """Registration of new clients."""

    table, model, scope = clients, registry.Client, "client"
    missing = ("codigoDoCliente", "Cliente não encontrado.")
    column, label = clients.c.cnpjcpf, "cliente"

    def problems(self, data: registry.PartyInput) -> list[Problem]:
        """Return the problems of a new client."""
        codes = self._lookup.field_problems(data, "codigoDoTipoDeCliente", "codigoDoVendedor")
        return [*super().problems(data), *codes]

    def _content(self, data: registry.PartyInput) -> dict[str, Any]:
        return {**super()._content(data), "ativo": True}


class SupplierRegistration(PartyRegistration[registry.Supplier]):
    """Registration of new suppliers."""

    table, model, scope = suppliers, registry.Supplier, "supplier"
    column, label = suppliers.c.cnpjcpf, "fornecedor"


class ContactRegistration(RecordRegistration[registry.Contact]):
    """Registration of new contacts."""

    table, model = contacts, registry.Contact
    missing = ("seq", "Contato não encontrado.")

    def problems(self, data: registry.ContactInput) -> list[Problem]:
        """Return the problems of a new contact; its client may be inactive."""
        field, code = "codigoDoCliente", data.codigoDoCliente
        return self._lookup.problems(field, clients, code, "Cliente", even_inactive=True)

    def accept(self, data: registry.ContactInput) -> registry.Contact:
        """Accept a contact, with the next sequence of its client."""
        contact = registry.Contact(
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


class ProductRegistration(RecordRegistration[registry.Product]):
    """Registration of new products."""

    table, model, scope = products, registry.Product, "product"
    missing = ("idProduto", "Produto não encontrado.")

    def problems(self, data: registry.ProductInput) -> list[Problem]:
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
        if isinstance(data, registry.ProductChange):
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


handle_records(ClientRegistration, registry.CLIENT_CREATE)
handle_records(ContactRegistration, registry.CONTACT_CREATE, registry.CONTACT_GET)
handle_records(SupplierRegistration, registry.SUPPLIER_CREATE, registry.SUPPLIER_LIST)
handle_records(
    ProductRegistration,
    registry.PRODUCT_CREATE,
    registry.PRODUCT_UPDATE,
    registry.PRODUCT_LIST,
    registry.PRODUCT_GET,
)
handle_code_list(
    registry.CLIENT_CATEGORY_CREATE,
    registry.CLIENT_CATEGORY_LIST,
    client_categories,
    registry.ClientCategory,
)
handle_code_list(
    registry.CLIENT_TYPE_CREATE, registry.CLIENT_TYPE_LIST, client_types, registry.ClientType
)
handle_code_list(
    registry.PRODUCT_TYPE_CREATE, registry.PRODUCT_TYPE_LIST, product_types, registry.ProductType
)
handle_code_list(
    registry.COST_CENTRE_CREATE, registry.COST_CENTRE_LIST, cost_centres, registry.CostCentre
)


@handles(registry.CLIENT_SET_IDWS)
def set_client_idws(call: Call) -> registry.Client:
    data = call.body_as(registry.ClientIdws)
    by_code = clients.c.codigoDoCliente == data.codigoDoCliente
    is_duplicate = ~by_code & (clients.c.idws == data.idws)
    if call.connection.scalar(select(exists().where(is_duplicate))):
        raise invalid(("idws", f"O identificador {data.idws} já é de outro cliente."))
    values = {"idws": data.idws, "ultimaAtualizacao": call.now}
    changed = update(clients).where(by_code).values(values).returning(clients)
    found = call.connection.execute(changed).all()
    client = first_or_404(found, *ClientRegistration.missing)
    return registry.Client.model_construct(**client._mapping)


@handles(registry.CLIENT_LIST)
def list_clients(call: Call) -> registry.Client | list[registry.Client] | None:
    query = call.query_as(registry.ClientQuery)
    statement = select(clients).order_by(clients.c.ultimaAtualizacao, clients.c.codigoDoCliente)
    statement = statement.where(*window_conditions(call, clients.c.ultimaAtualizacao))
    if query.idws is not None:
        statement = statement.where(clients.c.idws == query.idws)
    if query.cnpjcpf is not None:
        statement = statement.where(clients.c.cnpjcpf == unmasked_document(query.cnpjcpf))
    if query.idws is None and query.cnpjcpf is None:
        return call.read(registry.Client, statement.limit(registry.CLIENT_CAP))
    return next(iter(call.read(registry.Client, statement.limit(1))), None)
