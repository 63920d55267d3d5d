"""The demo's contacts: one or two of each of its first clients."""

from collections.abc import Iterator
from random import Random
from typing import Any

from xlbridge.sandbox.seed.clients import Customer
from xlbridge.sandbox.seed.people import email_of, person

_DEPARTMENTS = ("Compras", "Financeiro", "Diretoria", "Almoxarifado")
_MOST = 2


def contact_rows(random: Random, customers: list[Customer]) -> Iterator[dict[str, Any]]:
    """Yield the contacts as rows of their table; the first of each is the client's own."""
    for customer in customers:
        for sequence in range(1, random.randint(1, _MOST) + 1):
            name = customer.contact if sequence == 1 else person(random)
            yield {
                "codigoDoCliente": customer.code,
                "seqContato": sequence,
                "nomeDoContato": name,
                "nomeAbreviado": name.split()[0],
                "departamento": random.choice(_DEPARTMENTS),
                "telefone": customer.telephone,
                "email": email_of(name, customer.code),
                "ativo": customer.active,
            }
