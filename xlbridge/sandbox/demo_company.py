"""Registries of the seed, and the demo's clients, contacts and products.

``company.yaml`` has their names and codes. The demo uses fixed dates and never the clock.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Table, insert
from stdnum.br import cnpj
from stdnum.ean import calc_check_digit

from xlbridge.sandbox.area_declarations import metadata
from xlbridge.sandbox.areas import registries as tables
from xlbridge.sandbox.areas.registries import counters

FIRST_CLIENT = 1001
FIRST_PRODUCT = 2001


@cache
def company() -> Mapping[str, Any]:
    """Return the content of ``company.yaml``."""
    # Loaded only when a database is seeded.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = Path(__file__).with_name("company.yaml").read_text("utf-8")
    data: Mapping[str, Any] = yaml.load(text, loader)  # noqa: S506 - a safe loader
    return data


_ACTIVE = ("active", "ativo")


@cache
def entries(registry: Table) -> Mapping[Any, dict[str, Any]]:
    """Return the entries of a registry as rows of its table, by code."""
    (key,) = registry.primary_key
    defaults: dict[str, Any] = {name: True for name in _ACTIVE if name in registry.c}
    if registry is tables.suppliers:
        defaults["natureza"] = "J"
    rows: dict[Any, dict[str, Any]] = {}
    for code, entry in company()["registries"][registry.name].items():
        columns = entry if isinstance(entry, dict) else {"name": entry}
        rows[code] = {key.name: code, **defaults, **columns}
    return rows


@cache
def codes(registry: Table) -> Sequence[Any]:
    """Return the codes of a registry."""
    return list(entries(registry))


@cache
def active_codes(registry: Table) -> Sequence[Any]:
    """Return the codes of a registry's active entries."""
    return [code for code, row in entries(registry).items() if any(map(row.get, _ACTIVE))]


SECTIONS = {
    f"{aisle}-{position:02}": f"Corredor {aisle}, posição {position}"
    for aisle in "ABCD"
    for position in range(1, 21)
}
"""Names of the sections of every warehouse, by code."""


def seed_registries(connection: Connection) -> None:
    """Write the supporting registries, and the counters of generated codes."""
    for name in company()["registries"]:
        table = metadata.tables[name]
        write_rows(connection, table, entries(table).values())
    warehouse_rows = [
        {"branch": branch, "code": code, "name": name}
        for branch in codes(tables.branches)
        for code, name in company()["warehouses"].items()
    ]
    section_rows = (
        {"branch": row["branch"], "warehouse": row["code"], "code": code, "name": name}
        for row in warehouse_rows
        for code, name in SECTIONS.items()
    )
    counter_rows = [
        {"scope": "client", "last": FIRST_CLIENT - 1},
        {"scope": "product", "last": FIRST_PRODUCT - 1},
        {"scope": "supplier", "last": max(codes(tables.suppliers))},
    ]
    write_rows(connection, tables.warehouses, warehouse_rows)
    write_rows(connection, tables.sections, section_rows)
    write_rows(connection, counters, counter_rows)


_BATCH_SIZE = 2_000


def write_rows(connection: Connection, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    """Insert rows with the same columns, in batches."""
    iterator = iter(rows)
    while batch := list(islice(iterator, _BATCH_SIZE)):
        connection.execute(insert(table), batch)


_COMPANIES, _ALPHANUMERIC, _INACTIVE, _WITHOUT_DOCUMENT, _WITH_IDWS = 0.7, 0.08, 0.05, 0.02, 0.25


Customer = dict[str, Any]
"""A client: fields of its orders, and whether it is active (``ativo``)."""


def make_customers(random: Random, count: int) -> list[Customer]:
    """Return the clients, with sequential codes and unique documents."""
    documents: set[str] = set()
    customers = []
    for code in range(FIRST_CLIENT, FIRST_CLIENT + count):
        is_company = random.random() < _COMPANIES
        city = random.choice(company()["cities"])
        name = company_name(random) if is_company else person_name(random)
        document = _document(random, is_company, documents)
        contact, email = person_name(random), email_of(name, code)
        halves = f"{random.randrange(10**4):04}-{random.randrange(10**4):04}"
        customer = {
            "codigoDoCliente": code,
            "nomeDoCliente": name,
            "nomeDoClienteFmt": f"{code} - {name}",
            "naturezaJuridica": "J" if is_company else "F",
            "cnpjcpf": document,
            "inscricaoEstadual": "ISENTO" if is_company else None,
            "contato": contact,
            "email": email,
            "telefone": f"({city['area_code']}) 9{halves}",
            "codigoDoVendedor": random.choice(codes(tables.sellers)),
            "ativo": random.random() >= _INACTIVE,
            "ultimaAtualizacao": random_office_time(random, random_day(random)),
            "logradouro": random.choice(company()["streets"]),
            "numero": str(random.randrange(1, 3000)),
            "bairro": random.choice(city["districts"]),
            "cep": f"{city['postcode']}-{random.randrange(10, 990):03}",
            "cidade": city["name"],
            "uf": city["state"],
            "codigoDoMunicipio": city["municipality"],
        }
        customers.append(customer)
    return customers


def _document(random: Random, is_company: bool, documents: set[str]) -> str | None:
    if random.random() < _WITHOUT_DOCUMENT:
        return None
    while True:
        if is_company:
            document = cnpj_number(random, letters=random.random() < _ALPHANUMERIC)
        else:
            document = cpf_number(random)
        if document not in documents:
            documents.add(document)
            return document


def client_rows(random: Random, customers: list[Customer]) -> Iterator[dict[str, Any]]:
    """Yield the clients as rows of their table."""
    copied = (
        "codigoDoCliente", "cnpjcpf", "codigoDoVendedor", "email", "telefone", "ativo",
        "ultimaAtualizacao",
    )  # fmt: skip
    for customer in customers:
        has_idws, code = random.random() < _WITH_IDWS, customer["codigoDoCliente"]
        yield {
            **{name: customer[name] for name in copied},
            "nomeComercial": customer["nomeDoCliente"],
            "natureza": customer["naturezaJuridica"],
            "seuCodigo": f"CLI-{code:05}",
            "codigoDoTipoDeCliente": random.choice(codes(tables.client_types)),
            "idws": f"WS-{code}" if has_idws else None,
        }


_MAX_CONTACTS = 2


def seed_contacts(
    connection: Connection, random: Random, customers: list[Customer]
) -> dict[str, int]:
    """Write the contacts of clients, first of each the one named in its orders.

    Return the last number of each scope.
    """
    rows = []
    for customer in customers:
        for sequence in range(1, random.randint(1, _MAX_CONTACTS) + 1):
            name = customer["contato"] if sequence == 1 else person_name(random)
            row = {
                "codigoDoCliente": customer["codigoDoCliente"],
                "seqContato": sequence,
                "nomeDoContato": name,
                "nomeAbreviado": name.split()[0],
                "departamento": random.choice(company()["departments"]),
                "telefone": customer["telefone"],
                "email": email_of(name, customer["codigoDoCliente"]),
                "ativo": customer["ativo"],
            }
            rows.append(row)
    write_rows(connection, tables.contacts, rows)
    return {f"contact:{row['codigoDoCliente']}": row["seqContato"] for row in rows}


_GRAMS = Decimal("0.001")
_GROSS = Decimal("1.1")
_COST_SHARE = Decimal("0.6")


DemoProduct = dict[str, Any]
"""A row of the products: prices in reais, weights in kilograms."""


def make_products(random: Random, count: int) -> list[DemoProduct]:
    """Return the products, of the company's kinds and with sequential codes."""
    kinds, variants = list(company()["product_kinds"].items()), company()["product_variants"]
    products = []
    for code in range(FIRST_PRODUCT, FIRST_PRODUCT + count):
        name, kind = random.choice(kinds)
        stem = f"789{code:09}"
        model = f"{random.choice(variants)} {random.randrange(10, 100)}"
        price = Decimal(random.randrange(190, 90000)).scaleb(-2)
        weight = Decimal(random.randrange(50, 20000)).scaleb(-3)
        product = {
            "idProduto": code,
            "descricaoDoProduto": f"{name} {model}",
            "codigoInterno": f"P{code:06}",
            "codigoDeBarras": stem + calc_check_digit(stem),
            "ncm": kind["ncm"],
            "valorUnitario": price,
            "Peso": weight,
            "PesoBruto": gross_weight(weight),
            "PesoLiquido": weight,
            "Altura": "20",
            "Largura": "10",
            "Comprimento": "30",
            "marca": kind["brand"],
            "modelo": model,
            "codigoDaUnidadeDeMedida": kind["unit"],
            "codigoDoTipoDeProduto": kind.get("product_type", 1),
            "codigoDoGrupoDeProduto": kind["group"],
            "codigoDaCategoriaDeProduto": kind.get("category", 1),
        }
        products.append(product)
    return products


def cost_of(product: DemoProduct) -> Decimal:
    """Return the cost of one unit, before rounding."""
    cost: Decimal = product["valorUnitario"] * _COST_SHARE
    return cost


def gross_weight(net_weight: Decimal) -> Decimal:
    """Return the weight with packaging, in kilograms."""
    return (net_weight * _GROSS).quantize(_GRAMS)


def attachment_row(random: Random, file_id: int, name: str, remark: str | None) -> dict[str, Any]:
    """Return the columns of an attached file, with the URL under which the sandbox serves it."""
    token = f"{random.getrandbits(128):032x}"
    return {
        "Id": file_id,
        "NomeDoArquivo": name,
        "Url": f"/arquivos/{quote(name)}?token={token}",
        "Observacao": remark,
    }


TODAY = datetime(2026, 10, 31)
FIRST_DAY = datetime(2025, 1, 2)
_WORKDAY_BEGINS, _WORKDAY_SECONDS = 8 * 3600, 10 * 3600


def random_day(random: Random, first: datetime = FIRST_DAY, last: datetime = TODAY) -> datetime:
    """Return a day from ``first`` to ``last``, both included."""
    return first + timedelta(days=random.randrange((last - first).days + 1))


def random_office_time(random: Random, day: datetime) -> datetime:
    """Return a time in the office hours of a day."""
    return day + timedelta(seconds=_WORKDAY_BEGINS + random.randrange(_WORKDAY_SECONDS))


def office_moments(
    random: Random, count: int, first: datetime = FIRST_DAY, last: datetime = TODAY
) -> list[datetime]:
    """Return ``count`` times in office hours in ascending order, for numbered documents."""
    return sorted(random_office_time(random, random_day(random, first, last)) for _ in range(count))


_LETTERS_AND_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def person_name(random: Random) -> str:
    """Return the name of a person."""
    first, second = random.sample(company()["last_names"], 2)
    return f"{random.choice(company()['first_names'])} {first} {second}"


def company_name(random: Random) -> str:
    """Return the name of a company."""
    parts = ("trades", "company_names", "legal_forms")
    return " ".join(random.choice(company()[part]) for part in parts)


def email_of(name: str, number: int) -> str:
    """Return an e-mail address in a reserved domain."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = "".join(c if c.isalnum() else " " for c in plain).split()
    return f"{'.'.join(words[:2])}{number}@example.com"


def cpf_number(random: Random) -> str:
    """Return a CPF with valid check digits, without mask."""
    digits = [random.randrange(10) for _ in range(9)]
    for length in (10, 11):
        total = sum(digit * (length - index) for index, digit in enumerate(digits))
        digits.append(-total % 11 % 10 if -total % 11 < 10 else 0)
    return "".join(map(str, digits))


def cnpj_number(random: Random, *, letters: bool) -> str:
    """Return a CNPJ with valid check digits, without mask; alphanumeric if ``letters``."""
    symbols = _LETTERS_AND_DIGITS if letters else _LETTERS_AND_DIGITS[:10]
    stem = "".join(random.choices(symbols, k=8)) + "0001"
    return stem + cnpj.calc_check_digits(stem)
