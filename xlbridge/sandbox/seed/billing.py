"""What billing refers to: invoice models, payment conditions, the branches as issuers."""

from typing import Any

from sqlalchemy import Connection, Table

from xlbridge.sandbox.business.access_keys import Issuer
from xlbridge.sandbox.seed.writing import write
from xlbridge.sandbox.tables.registries import invoice_models, issuers, payment_conditions

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
_BILLED_WITH: dict[str, Any] = {
    "invoice_model": 1,
    "payment_method": 1,
    "category": "1.01.001",
    "cost_centre": "01.001",
    "account": 1,
}
_ISSUERS = [
    _BILLED_WITH | issuer
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

ISSUERS = {entry["code"]: Issuer(entry["cnpj"], entry["municipality"]) for entry in _ISSUERS}


def seed_billing_registries(connection: Connection) -> None:
    """Write what billing refers to; the branches are there already."""
    rows: dict[Table, list[dict[str, Any]]] = {
        invoice_models: _INVOICE_MODELS,
        payment_conditions: _PAYMENT_CONDITIONS,
        issuers: _ISSUERS,
    }
    for table, entries in rows.items():
        write(connection, table, entries)
