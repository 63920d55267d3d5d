"""Invoices and service forecasts of the demo."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from random import Random
from typing import Any

from sqlalchemy import Connection

from xlbridge.sandbox.amounts import percent_of
from xlbridge.sandbox.areas.registry.seed import ISSUER_ENTRIES, SERIES_OF_MODEL, codes, write_rows
from xlbridge.sandbox.areas.registry.seed_demo import (
    TODAY,
    Customer,
    office_moments,
    random_day,
    random_office_time,
)
from xlbridge.sandbox.areas.registry.tables import services
from xlbridge.sandbox.areas.sales.invoices import (
    Issuer,
    invoice_amounts,
    months_after,
    product_invoice_key,
    service_invoice_key,
    service_invoice_scope,
)
from xlbridge.sandbox.areas.sales.orders import INVOICE_FIELDS, SALE_TERMS
from xlbridge.sandbox.areas.sales.tables import service_forecasts, service_invoices
from xlbridge.wire.services import MONTHS_PER_YEAR, ServiceInvoice

ISSUERS = {entry["code"]: Issuer(entry["cnpj"], entry["municipality"]) for entry in ISSUER_ENTRIES}

_INVOICES, _FORECASTS = 60, 24
_EMITTED = 0.6
_IBS, _CBS = Decimal("0.1"), Decimal("0.9")
_ISS = (None, Decimal(2), Decimal("3.5"), Decimal(5))
_NBS_OF_SERVICE = {
    "01.07": "115021000",
    "07.02": "101011100",
    "14.01": "120011000",
    "17.01": "114011100",
}
_COPIED = (*INVOICE_FIELDS, "idNF", "numeroDoPedido")


def order_invoice(
    header: dict[str, Any], items: list[dict[str, Any]], number: int
) -> dict[str, Any]:
    """Return the emitted product invoice of a processed order, with its number in the series."""
    branch, emitted = header["codigoDaFilial"], header["dataDeProcessamento"]
    series = SERIES_OF_MODEL[header["codigoDaNotaFiscal"]]
    return {name: header[name] for name in _COPIED} | {
        **SALE_TERMS,
        **invoice_amounts(items),
        "dataDeEmissao": emitted,
        "numeroDaNotaFiscalEletronica": number,
        "chaveDaNotaFiscalEletronica": product_invoice_key(
            ISSUERS[branch], series, number, emitted
        ),
        "ultimaAtualizacao": emitted,
    }


def seed_services(
    connection: Connection, random: Random, customers: list[Customer], scale: int
) -> Counter[str]:
    """Write service invoices, emitted and pending, and service forecasts.

    Return the last number of each scope.
    """
    last_numbers: Counter[str] = Counter()
    invoices = []
    for id_nf, moment in enumerate(office_moments(random, _INVOICES * scale), start=1):
        invoice = _service_invoice(random, id_nf, random.choice(customers), moment)
        if random.random() < _EMITTED:
            branch = invoice["codigoDaFilial"]
            scope = service_invoice_scope(branch)
            last_numbers[scope] += 1
            number = last_numbers[scope]
            invoice |= {
                "dataDeEmissao": moment,
                "numeroDaNotaFiscalEletronica": number,
                "chaveDaNotaFiscalEletronica": service_invoice_key(ISSUERS[branch], number, moment),
            }
        invoices.append(invoice)
    forecasts = list(_forecast_rows(random, customers, _FORECASTS * scale))
    write_rows(connection, service_invoices, invoices)
    write_rows(connection, service_forecasts, forecasts)
    last_numbers |= {"service_invoice": len(invoices), "service_forecast": len(forecasts)}
    return last_numbers


def _service_invoice(
    random: Random, id_nf: int, customer: Customer, moment: datetime
) -> dict[str, Any]:
    service = random.choice(codes(services))
    amount = Decimal(random.randrange(15_000, 900_000)).scaleb(-2)
    half_of_ibs = _IBS / 2
    share_of_ibs = percent_of(amount, half_of_ibs)
    values = {
        "idNF": id_nf,
        "codigoDaFilial": random.choice(list(ISSUERS)),
        "codigoDoCliente": customer.code,
        "codigoDoServicoPrestado": service,
        "valorDoServico": amount,
        "aliquotaISSRetido": random.choice(_ISS),
        "CodigoNBS": _NBS_OF_SERVICE[service],
        "CodigoIndicadorDaOperacao": "100301",
        "CodigoTipoDaOperacao": 1,
        "CodigoIndicadorDoDestinatario": 0,
        "CodigoDaSituacaoTributariaIBSCBS": "000",
        "ClassificacaoIBSCBS": "000001",
        "AliquotaIBSMunicipal": half_of_ibs,
        "ValorIBSMunicipal": share_of_ibs,
        "AliquotaIBSEstadual": half_of_ibs,
        "ValorIBSEstadual": share_of_ibs,
        "AliquotaCBS": _CBS,
        "ValorCBS": percent_of(amount, _CBS),
        "CodigoDaSituacaoTributariaPIS": "01",
        "CodigoDaSituacaoTributariaCOFINS": "01",
        "CodigoDaRetencaoPisCofinsCsll": "1",
        "ultimaAtualizacao": moment,
    }
    return dict.fromkeys(ServiceInvoice.model_fields) | values


_ENDED, _READJUSTED, _AUTOMATIC = 0.2, 0.7, 0.5


def _forecast_rows(
    random: Random, customers: list[Customer], count: int
) -> Iterator[dict[str, Any]]:
    """Yield forecasts, some of them ended, as rows of their table."""
    active = [customer for customer in customers if customer.active]
    for code in range(1, count + 1):
        start = random_day(random).replace(day=1)
        has_ended = random.random() < _ENDED
        interval = random.choice((1, 1, 3, MONTHS_PER_YEAR))
        is_readjusted = random.random() < _READJUSTED
        yield {
            "codigoDaPrevisao": code,
            "codigoDaFilial": random.choice(list(ISSUERS)),
            "codigoDoCliente": random.choice(active).code,
            "codigoDoServicoPrestado": random.choice(codes(services)),
            "valorDoServico": Decimal(random.randrange(20_000, 400_000)).scaleb(-2),
            "dataDeInicio": start,
            "dataDeTermino": max(start, TODAY) if has_ended else None,
            "mesesEntreEmissoes": interval,
            "codigoDaCondicaoDePagamento": 1,
            "percentualDeReajuste": Decimal("4.5") if is_readjusted else None,
            "mesesEntreReajustes": MONTHS_PER_YEAR,
            "emissaoAutomatica": random.random() < _AUTOMATIC,
            "ativo": not has_ended,
            "observacao": None,
            "dataDaProximaEmissao": None if has_ended else _next_date_after_today(start, interval),
            "dataDoProximoReajuste": _next_date_after_today(start, MONTHS_PER_YEAR)
            if is_readjusted
            else None,
            "ultimaAtualizacao": random_office_time(random, random_day(random)),
        }


def _next_date_after_today(start: datetime, months: int) -> datetime:
    """Return the next date after today in a series that repeats every so many months."""
    day = months_after(start, months)
    while day <= TODAY:
        day = months_after(day, months)
    return day
