"""Seed of the supporting registries, whose codes other records refer to."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, exists, insert, select

from xlbridge.sandbox.areas.registry import tables
from xlbridge.sandbox.areas.registry.codes import counters

FIRST_CLIENT = 1001
FIRST_PRODUCT = 2001

_NAMES: dict[Table, dict[Any, str]] = {
    tables.companies: {1: "Aurora Comércio e Serviços Ltda"},
    tables.branches: {1: "Matriz São Paulo", 2: "Filial Curitiba", 3: "Filial Recife"},
    tables.client_types: {1: "Varejo", 2: "Atacado", 3: "Governo", 4: "Consumidor final"},
    tables.client_categories: {1: "Ouro", 2: "Prata", 3: "Bronze"},
    tables.sellers: {
        1: "Ana Beatriz Moura",
        2: "Carlos Eduardo Pires",
        3: "Fernanda Lopes",
        4: "João Batista Ramos",
        5: "Márcia Teixeira",
    },
    tables.cost_centres: {
        "01.001": "Comercial",
        "01.002": "Administrativo",
        "01.003": "Logística",
        "02.001": "Assistência técnica",
    },
    tables.abc_costs: {"ADM": "Administração", "COM": "Comercialização", "PRO": "Produção"},
    tables.accounts: {
        1: "Banco do Brasil 1234-5 / 10001-0",
        2: "Itaú 0567 / 20002-1",
        3: "Caixa geral",
    },
    tables.payment_methods: {
        1: "Boleto bancário",
        2: "Pix",
        3: "Cartão de crédito",
        4: "Transferência",
        5: "Dinheiro",
    },
    tables.services: {
        "01.07": "Suporte técnico em informática",
        "07.02": "Execução de obras",
        "14.01": "Manutenção e conserto de máquinas",
        "17.01": "Assessoria e consultoria",
    },
    tables.projects: {1: "Expansão Nordeste", 2: "Nova loja virtual"},
    tables.collaborators: {
        1: "Rita de Cássia Nunes",
        2: "Paulo Sérgio Alves",
        3: "Luciana Prado",
        4: "Antônio Marques",
    },
    tables.product_types: {1: "Mercadoria para revenda", 2: "Material de consumo"},
    tables.product_groups: {
        "01": "Ferragens",
        "02": "Elétrica",
        "03": "Acabamento",
        "04": "Escritório",
    },
    tables.product_categories: {1: "Linha geral", 2: "Segurança do trabalho"},
}
_ATTRIBUTES: dict[Table, tuple[str, dict[Any, tuple[str, object]]]] = {
    tables.categories: (
        "revenue",
        {
            "1.01.001": ("Venda de mercadorias", True),
            "1.01.002": ("Prestação de serviços", True),
            "1.02.001": ("Receitas financeiras", True),
            "2.01.001": ("Energia elétrica", False),
            "2.01.002": ("Aluguel", False),
            "2.02.001": ("Compra de mercadorias", False),
            "2.03.001": ("Salários e encargos", False),
        },
    ),
    tables.units: (
        "symbol",
        {1: ("Unidade", "UN"), 2: ("Caixa", "CX"), 3: ("Metro", "M"), 4: ("Litro", "L")},
    ),
    tables.portfolios: (
        "account",
        {
            1: ("Cobrança simples BB", 1),
            2: ("Cobrança registrada Itaú", 2),
            3: ("Cobrança vinculada BB", 1),
        },
    ),
    tables.suppliers: (
        "active",
        {
            501: ("Companhia Paulista de Energia", True),
            502: ("Distribuidora Boa Vista Ltda", True),
            503: ("Transportes Rio Claro S.A.", True),
            506: ("Expresso Araucária Ltda", True),
            504: ("Papelaria Central ME", True),
            505: ("Metalúrgica Santa Rita Ltda", False),
        },
    ),
    tables.purchase_types: (
        "active",
        {
            1: ("Material de consumo", True),
            2: ("Mercadoria para revenda", True),
            3: ("Imobilizado", True),
            4: ("Importação direta", False),
        },
    ),
    tables.purchase_reasons: (
        "active",
        {
            1: ("Reposição de estoque", True),
            2: ("Urgência operacional", True),
            3: ("Manutenção preventiva", True),
            4: ("Evento promocional", False),
            5: ("Época de safra", True),
        },
    ),
}
SUPPLIER_DOCUMENTS = {
    501: "33114455000197",
    502: "44881234000160",
    503: "11222333000181",
    504: "55223366000111",
    505: "66778899000186",
    506: "12ABC34501DE35",
}
WAREHOUSES = {1: "Almoxarifado central", 2: "Loja"}
_SECTIONS = {
    f"{aisle}-{position:02}": f"Corredor {aisle}, posição {position}"
    for aisle in "ABCD"
    for position in range(1, 21)
}


def is_seeded(connection: Connection) -> bool:
    """Return whether the database was seeded before."""
    return bool(connection.scalar(select(exists(select(tables.companies)))))


def codes(registry: Table) -> list[Any]:
    """Return the codes of a registry."""
    return list(_NAMES.get(registry) or _ATTRIBUTES[registry][1])


def active_codes(registry: Table) -> list[Any]:
    """Return the codes of a registry's active entries."""
    return [code for code, (_name, active) in _ATTRIBUTES[registry][1].items() if active]


def section_codes() -> list[str]:
    """Return the codes of the tables.sections of every warehouse."""
    return list(_SECTIONS)


def seed_registries(connection: Connection) -> None:
    """Write the supporting registries, and the counters of generated codes."""
    for table, names in _NAMES.items():
        write_rows(
            connection, table, [{"code": code, "name": name} for code, name in names.items()]
        )
    for table, (attribute, entries) in _ATTRIBUTES.items():
        rows = [
            {"code": code, "name": name, attribute: value}
            | (_supplier_details(code) if table is tables.suppliers else {})
            for code, (name, value) in entries.items()
        ]
        write_rows(connection, table, rows)
    warehouse_rows = [
        {"branch": branch, "code": code, "name": name}
        for branch in codes(tables.branches)
        for code, name in WAREHOUSES.items()
    ]
    section_rows = (
        {"branch": row["branch"], "warehouse": row["code"], "code": code, "name": name}
        for row in warehouse_rows
        for code, name in _SECTIONS.items()
    )
    counter_rows = [
        {"scope": "client", "last": FIRST_CLIENT - 1},
        {"scope": "product", "last": FIRST_PRODUCT - 1},
        {"scope": "supplier", "last": max(codes(tables.suppliers))},
    ]
    write_rows(connection, tables.warehouses, warehouse_rows)
    write_rows(connection, tables.sections, section_rows)
    write_rows(connection, counters, counter_rows)


def _supplier_details(code: int) -> dict[str, Any]:
    return {
        "document": SUPPLIER_DOCUMENTS[code],
        "email": f"fornecedor{code}@example.com",
        "telephone": f"(11) 3{code}-{code}0",
    }


SERIES_OF_MODEL = {1: 1, 2: 2}

_INVOICE_MODELS = [
    {"code": code, "name": f"NF-e modelo 55, série {series}", "series": series}
    for code, series in SERIES_OF_MODEL.items()
]
_PAYMENT_CONDITIONS = [
    {"code": 1, "name": "30 dias", "instalments": 1, "days_between": 30},
    {"code": 2, "name": "30/60 dias", "instalments": 2, "days_between": 30},
    {"code": 3, "name": "30/60/90 dias", "instalments": 3, "days_between": 30},
    {"code": 4, "name": "30/60/90/120 dias", "instalments": 4, "days_between": 30},
    {"code": 5, "name": "À vista", "instalments": 1, "days_between": 0},
]
_BILLING_DEFAULTS: dict[str, Any] = {
    "invoice_model": 1,
    "payment_method": 1,
    "category": "1.01.001",
    "cost_centre": "01.001",
    "account": 1,
}
ISSUER_ENTRIES = [
    _BILLING_DEFAULTS | issuer
    for issuer in (
        {
            "code": 1,
            "name": "Aurora Comércio e Serviços Ltda",
            "cnpj": "12345678000195",
            "municipality": "3550308",
            "postcode": "01310-100",
        },
        {
            "code": 2,
            "name": "Aurora Comércio e Serviços Ltda, Curitiba",
            "cnpj": "12345678000276",
            "municipality": "4106902",
            "postcode": "80020-310",
        },
        {
            "code": 3,
            "name": "Aurora Comércio e Serviços Ltda, Recife",
            "cnpj": "12345678000357",
            "municipality": "2611606",
            "postcode": "50030-230",
        },
    )
]


def seed_billing_registries(connection: Connection) -> None:
    """Write the registries that billing refers to, after the tables.branches."""
    write_rows(connection, tables.invoice_models, _INVOICE_MODELS)
    write_rows(connection, tables.payment_conditions, _PAYMENT_CONDITIONS)
    write_rows(connection, tables.issuers, ISSUER_ENTRIES)


_BATCH_SIZE = 2_000


def write_rows(connection: Connection, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    """Insert rows with the same columns, in batches."""
    iterator = iter(rows)
    while batch := list(islice(iterator, _BATCH_SIZE)):
        connection.execute(insert(table), batch)
