"""The demo's clients."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any

from xlbridge.sandbox.seed.calendar import at_work, some_day
from xlbridge.sandbox.seed.people import cnpj_number, cpf_number, email_of, firm, person
from xlbridge.sandbox.seed.places import PLACES, STREETS, Place
from xlbridge.sandbox.seed.registries import FIRST_CLIENT, codes
from xlbridge.sandbox.tables.registries import client_types, sellers

_FIRMS, _LETTERS, _INACTIVE, _UNDOCUMENTED, _KNOWN_OUTSIDE = 0.7, 0.08, 0.05, 0.02, 0.25


@dataclass(frozen=True, slots=True)
class Customer:
    """A client, with the address that its orders carry."""

    code: int
    name: str
    nature: str
    document: str | None
    contact: str
    email: str
    telephone: str
    seller: int
    active: bool
    updated: datetime
    place: Place
    street: str
    number: str
    district: str
    postcode: str


def make_customers(random: Random, count: int) -> list[Customer]:
    """Return the clients, with codes in sequence and no document twice."""
    documents: set[str] = set()
    return [_customer(random, FIRST_CLIENT + index, documents) for index in range(count)]


def client_rows(random: Random, customers: list[Customer]) -> Iterator[dict[str, Any]]:
    """Yield the clients as rows of their table."""
    for customer in customers:
        known_outside = random.random() < _KNOWN_OUTSIDE
        yield {
            "codigoDoCliente": customer.code,
            "nomeComercial": customer.name,
            "natureza": customer.nature,
            "cnpjcpf": customer.document,
            "seuCodigo": f"CLI-{customer.code:05}",
            "codigoDoTipoDeCliente": random.choice(codes(client_types)),
            "codigoDoVendedor": customer.seller,
            "email": customer.email,
            "telefone": customer.telephone,
            "ativo": customer.active,
            "idws": f"WS-{customer.code}" if known_outside else None,
            "ultimaAtualizacao": customer.updated,
        }


def _customer(random: Random, code: int, documents: set[str]) -> Customer:
    is_firm = random.random() < _FIRMS
    place = random.choice(PLACES)
    name = firm(random) if is_firm else person(random)
    return Customer(
        code=code,
        name=name,
        nature="J" if is_firm else "F",
        document=_document(random, is_firm, documents),
        contact=person(random),
        email=email_of(name, code),
        telephone=f"({place.area_code}) 9{random.randrange(10**4):04}-{random.randrange(10**4):04}",
        seller=random.choice(codes(sellers)),
        active=random.random() >= _INACTIVE,
        updated=at_work(random, some_day(random)),
        place=place,
        street=random.choice(STREETS),
        number=str(random.randrange(1, 3000)),
        district=random.choice(place.districts),
        postcode=f"{place.postcode}-{random.randrange(10, 990):03}",
    )


def _document(random: Random, is_firm: bool, documents: set[str]) -> str | None:
    if random.random() < _UNDOCUMENTED:
        return None
    while True:
        if is_firm:
            document = cnpj_number(random, letters=random.random() < _LETTERS)
        else:
            document = cpf_number(random)
        if document not in documents:
            documents.add(document)
            return document
