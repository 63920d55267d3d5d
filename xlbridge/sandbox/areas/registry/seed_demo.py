"""Clients, contacts and products of the demo, with Brazilian names, addresses and documents.

The demo uses fixed dates and never the clock.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection
from stdnum.br import cnpj
from stdnum.ean import calc_check_digit

from xlbridge.sandbox.areas.registry.seed import (
    FIRST_CLIENT,
    FIRST_PRODUCT,
    codes,
    write_rows,
)
from xlbridge.sandbox.areas.registry.tables import client_types, contacts, sellers

_COMPANIES, _ALPHANUMERIC, _INACTIVE, _WITHOUT_DOCUMENT, _WITH_IDWS = 0.7, 0.08, 0.05, 0.02, 0.25


@dataclass(frozen=True, slots=True)
class City:
    """A city. ``municipality`` is its IBGE code, ``postcode`` the first five digits of a CEP."""

    name: str
    state: str
    municipality: str
    postcode: str
    area_code: str
    districts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Customer:
    """A client, with the address in its orders."""

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
    city: City
    street: str
    number: str
    district: str
    postcode: str


def make_customers(random: Random, count: int) -> list[Customer]:
    """Return the clients, with sequential codes and unique documents."""
    documents: set[str] = set()
    return [_customer(random, FIRST_CLIENT + index, documents) for index in range(count)]


def client_rows(random: Random, customers: list[Customer]) -> Iterator[dict[str, Any]]:
    """Yield the clients as rows of their table."""
    for customer in customers:
        has_idws = random.random() < _WITH_IDWS
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
            "idws": f"WS-{customer.code}" if has_idws else None,
            "ultimaAtualizacao": customer.updated,
        }


def _customer(random: Random, code: int, documents: set[str]) -> Customer:
    is_company = random.random() < _COMPANIES
    city = random.choice(CITIES)
    name = company_name(random) if is_company else person_name(random)
    return Customer(
        code=code,
        name=name,
        nature="J" if is_company else "F",
        document=_document(random, is_company, documents),
        contact=person_name(random),
        email=email_of(name, code),
        telephone=f"({city.area_code}) 9{random.randrange(10**4):04}-{random.randrange(10**4):04}",
        seller=random.choice(codes(sellers)),
        active=random.random() >= _INACTIVE,
        updated=random_office_time(random, random_day(random)),
        city=city,
        street=random.choice(STREETS),
        number=str(random.randrange(1, 3000)),
        district=random.choice(city.districts),
        postcode=f"{city.postcode}-{random.randrange(10, 990):03}",
    )


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


_DEPARTMENTS = ("Compras", "Financeiro", "Diretoria", "Almoxarifado")
_MAX_CONTACTS = 2


def seed_contacts(
    connection: Connection, random: Random, customers: list[Customer]
) -> dict[str, int]:
    """Write the contacts of clients; return the last number of each scope."""
    rows = list(_contact_rows(random, customers))
    write_rows(connection, contacts, rows)
    return {f"contact:{row['codigoDoCliente']}": row["seqContato"] for row in rows}


def _contact_rows(random: Random, customers: list[Customer]) -> Iterator[dict[str, Any]]:
    """Yield contacts, first of each client the one named in its orders."""
    for customer in customers:
        for sequence in range(1, random.randint(1, _MAX_CONTACTS) + 1):
            name = customer.contact if sequence == 1 else person_name(random)
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


_GRAMS = Decimal("0.001")
_GROSS = Decimal("1.1")
_COST_SHARE = Decimal("0.6")


@dataclass(frozen=True, slots=True)
class ProductKind:
    """Common attributes of a kind of products; ``unit``, ``group`` … are codes of registries."""

    ncm: str
    brand: str
    unit: int
    group: str
    category: int = 1
    product_type: int = 1


_PRODUCT_KINDS = {
    "Parafuso sextavado": ProductKind("73181500", "Fixar", unit=2, group="01"),
    "Cabo de aço": ProductKind("73121090", "Fixar", unit=3, group="01"),
    "Furadeira de impacto": ProductKind("84672100", "Voltar", unit=1, group="02"),
    "Lâmpada LED": ProductKind("85395200", "Voltar", unit=1, group="02"),
    "Tinta acrílica": ProductKind("32091010", "Boa Cor", unit=4, group="03"),
    "Torneira de metal": ProductKind("84818019", "Fixar", unit=1, group="03"),
    "Fechadura de embutir": ProductKind("83014000", "Fixar", unit=1, group="01"),
    "Mangueira de PVC": ProductKind("39173290", "Fixar", unit=3, group="03"),
    "Luva de segurança": ProductKind("40151900", "Zelo", unit=1, group="04", category=2),
    "Papel sulfite A4": ProductKind("48025610", "Folha", unit=2, group="04", product_type=2),
}
_VARIANTS = ("P", "M", "G", "Linha Ouro", "Linha Prata", "Reforçado", "Econômico", "Profissional")


@dataclass(frozen=True, slots=True)
class DemoProduct:
    """A product. ``price`` is in reais, ``weight`` in kilograms."""

    code: int
    name: str
    model: str
    kind: ProductKind
    barcode: str
    price: Decimal
    weight: Decimal

    @property
    def ncm(self) -> str:
        """Mercosur code of its kind."""
        return self.kind.ncm

    @property
    def cost(self) -> Decimal:
        """Cost of one unit, before rounding."""
        return self.price * _COST_SHARE

    @property
    def internal_code(self) -> str:
        """Code assigned by the company."""
        return f"P{self.code:06}"


def make_products(random: Random, count: int) -> list[DemoProduct]:
    """Return the products, with sequential codes."""
    return [_product(random, FIRST_PRODUCT + index) for index in range(count)]


def product_rows(products: list[DemoProduct]) -> Iterator[dict[str, Any]]:
    """Yield the products as rows of their table."""
    for product in products:
        yield {
            "code": product.code,
            "name": product.name,
            "internal_code": product.internal_code,
            "barcode": product.barcode,
            "ncm": product.ncm,
            "price": product.price,
            "weight": product.weight,
            "gross_weight": gross_weight(product.weight),
            "net_weight": product.weight,
            "height": "20",
            "width": "10",
            "length": "30",
            "brand": product.kind.brand,
            "model": product.model,
            "unit": product.kind.unit,
            "product_type": product.kind.product_type,
            "product_group": product.kind.group,
            "product_category": product.kind.category,
        }


def gross_weight(net_weight: Decimal) -> Decimal:
    """Return the weight with packaging, in kilograms."""
    return (net_weight * _GROSS).quantize(_GRAMS)


def _product(random: Random, code: int) -> DemoProduct:
    name, kind = random.choice(list(_PRODUCT_KINDS.items()))
    stem = f"789{code:09}"
    model = f"{random.choice(_VARIANTS)} {random.randrange(10, 100)}"
    return DemoProduct(
        code=code,
        name=f"{name} {model}",
        model=model,
        kind=kind,
        barcode=stem + calc_check_digit(stem),
        price=Decimal(random.randrange(190, 90000)).scaleb(-2),
        weight=Decimal(random.randrange(50, 20000)).scaleb(-3),
    )


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


_FIRST_NAMES = (
    "Adriana", "Alessandro", "Ana Paula", "Antônio", "Beatriz", "Bruno", "Camila", "Cláudia",
    "Daniel", "Débora", "Eduardo", "Elisângela", "Fábio", "Fernanda", "Flávio", "Gabriela",
    "Gustavo", "Helena", "Igor", "Isabela", "João Pedro", "José Carlos", "Juliana", "Larissa",
    "Leandro", "Luciana", "Luís Fernando", "Márcio", "Maria Clara", "Mateus", "Natália", "Otávio",
    "Patrícia", "Paulo Henrique", "Rafael", "Renata", "Rodrigo", "Sandra", "Thiago", "Vitória",
)  # fmt: skip
_LAST_NAMES = (
    "Almeida", "Andrade", "Araújo", "Barbosa", "Batista", "Borges", "Campos", "Cardoso",
    "Carvalho", "Castro", "Cavalcanti", "Correia", "Costa", "Dias", "Duarte", "Farias",
    "Fernandes", "Ferreira", "Freitas", "Gonçalves", "Lima", "Machado", "Magalhães", "Martins",
    "Medeiros", "Melo", "Mendes", "Monteiro", "Moraes", "Moreira", "Nascimento", "Nunes",
    "Oliveira", "Pereira", "Pinheiro", "Ribeiro", "Rocha", "Rodrigues", "Santos", "Silva", "Souza",
    "Teixeira", "Vasconcelos", "Vieira",
)  # fmt: skip
_TRADES = (
    "Açougue", "Auto Peças", "Boutique", "Clínica", "Comercial", "Confecções", "Construtora",
    "Distribuidora", "Farmácia", "Ferragens", "Gráfica", "Hotel", "Indústria", "Laticínios",
    "Livraria", "Madeireira", "Mercado", "Metalúrgica", "Móveis", "Ótica", "Padaria", "Papelaria",
    "Pousada", "Restaurante", "Supermercado", "Tecidos", "Transportes", "Vidraçaria",
)  # fmt: skip
_COMPANY_NAMES = (
    "Água Viva", "Alvorada", "Bom Jesus", "Boa Esperança", "Bela Vista", "Cruzeiro do Sul",
    "Estrela do Sul", "Flor do Campo", "Horizonte", "Ipê Amarelo", "Maravilha", "Monte Alto",
    "Nova Era", "Novo Mundo", "Ouro Branco", "Planalto", "Porto Seguro", "Primavera",
    "Rio Claro", "Santa Luzia", "Santa Rita", "São Francisco", "São João", "São José",
    "Serra Azul", "Sol Nascente", "Três Irmãos", "União", "Vale Verde", "Vitória Régia",
)  # fmt: skip
_LEGAL_FORMS = ("Ltda", "Ltda", "Ltda", "ME", "EPP", "S.A.")
_LETTERS_AND_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def person_name(random: Random) -> str:
    """Return the name of a person."""
    first, second = random.sample(_LAST_NAMES, 2)
    return f"{random.choice(_FIRST_NAMES)} {first} {second}"


def company_name(random: Random) -> str:
    """Return the name of a company."""
    return f"{random.choice(_TRADES)} {random.choice(_COMPANY_NAMES)} {random.choice(_LEGAL_FORMS)}"


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


CITIES = (
    City("São Paulo", "SP", "3550308", "01310", "11", ("Bela Vista", "Cerqueira César")),
    City("Campinas", "SP", "3509502", "13010", "19", ("Centro",)),
    City("Ribeirão Preto", "SP", "3543402", "14010", "16", ("Centro",)),
    City("Santos", "SP", "3548500", "11010", "13", ("Centro", "Paquetá")),
    City("Rio de Janeiro", "RJ", "3304557", "20040", "21", ("Centro",)),
    City("Niterói", "RJ", "3303302", "24020", "21", ("Centro",)),
    City("Belo Horizonte", "MG", "3106200", "30130", "31", ("Centro", "Funcionários")),
    City("Uberlândia", "MG", "3170206", "38400", "34", ("Centro",)),
    City("Juiz de Fora", "MG", "3136702", "36010", "32", ("Centro",)),
    City("Vitória", "ES", "3205309", "29010", "27", ("Centro",)),
    City("Curitiba", "PR", "4106902", "80010", "41", ("Centro",)),
    City("Londrina", "PR", "4113700", "86010", "43", ("Centro",)),
    City("Florianópolis", "SC", "4205407", "88010", "48", ("Centro",)),
    City("Joinville", "SC", "4209102", "89201", "47", ("Centro",)),
    City("Porto Alegre", "RS", "4314902", "90010", "51", ("Centro Histórico",)),
    City("Salvador", "BA", "2927408", "40020", "71", ("Centro", "Centro Histórico")),
    City("Recife", "PE", "2611606", "50010", "81", ("Santo Antônio", "São José")),
    City("Fortaleza", "CE", "2304400", "60025", "85", ("Centro",)),
    City("Natal", "RN", "2408102", "59025", "84", ("Cidade Alta",)),
    City("Belém", "PA", "1501402", "66010", "91", ("Campina",)),
    City("Manaus", "AM", "1302603", "69005", "92", ("Centro",)),
    City("Brasília", "DF", "5300108", "70040", "61", ("Asa Norte", "Asa Sul")),
    City("Goiânia", "GO", "5208707", "74003", "62", ("Setor Central",)),
    City("Cuiabá", "MT", "5103403", "78005", "65", ("Centro Norte",)),
    City("Campo Grande", "MS", "5002704", "79002", "67", ("Centro",)),
)

STREETS = (
    "Rua XV de Novembro",
    "Rua Sete de Setembro",
    "Avenida Brasil",
    "Rua Tiradentes",
    "Avenida Getúlio Vargas",
    "Rua Marechal Deodoro",
    "Rua Barão do Rio Branco",
    "Avenida Rui Barbosa",
    "Rua Santos Dumont",
    "Praça da República",
)
