"""The rules of recurring service forecasts. Source: the spec, Sales and billing (previsao)."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, exists, insert, select, update

from xlbridge.sandbox.answers import Problem, not_found
from xlbridge.sandbox.business.dates import months_after
from xlbridge.sandbox.business.entries import amount_problems
from xlbridge.sandbox.business.intake import refuse
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.money import rate_problems
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.registries import issuers, payment_conditions, services
from xlbridge.sandbox.tables.sales import service_forecasts
from xlbridge.wire.forecasts import ServiceForecastInput


def register_forecast(connection: Connection, data: ServiceForecastInput, now: datetime) -> int:
    """Register a forecast and return its code.

    Raises ``RequestError`` (400) with the rules that it breaks.
    """
    refuse(_problems(Known(connection), data))
    numbers = Numbers(connection)
    code = numbers.next("service_forecast")
    numbers.write()
    row = {"codigoDaPrevisao": code} | _content(data, now)
    connection.execute(insert(service_forecasts).values(row))
    return code


def change_forecast(
    connection: Connection, code: int, data: ServiceForecastInput, now: datetime
) -> None:
    """Give a forecast new content, the whole of it.

    Raises ``RequestError``: 404 when there is none, 400 with the rules that it breaks.
    """
    this = service_forecasts.c.codigoDaPrevisao == code
    if not connection.scalar(select(exists().where(this))):
        raise not_found("id", "Previsão não encontrada.")
    refuse(_problems(Known(connection), data))
    connection.execute(update(service_forecasts).where(this).values(_content(data, now)))


def _content(data: ServiceForecastInput, now: datetime) -> dict[str, Any]:
    """What is kept: the content, and the dates that follow from it."""
    next_readjustment = None
    if data.percentualDeReajuste is not None:
        next_readjustment = months_after(data.dataDeInicio, data.mesesEntreReajustes)
    return data.model_dump() | {
        "dataDaProximaEmissao": data.dataDeInicio,
        "dataDoProximoReajuste": next_readjustment,
        "ultimaAtualizacao": now,
    }


def _problems(known: Known, data: ServiceForecastInput) -> list[Problem]:
    problems = [
        *known.complaint("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
        *known.client_complaint(data.codigoDoCliente),
        *known.complaint(
            "codigoDoServicoPrestado", services, data.codigoDoServicoPrestado, "Serviço"
        ),
        *known.complaint(
            "codigoDaCondicaoDePagamento",
            payment_conditions,
            data.codigoDaCondicaoDePagamento,
            "Condição de pagamento",
        ),
        *amount_problems("valorDoServico", data.valorDoServico),
        *rate_problems("percentualDeReajuste", data.percentualDeReajuste),
    ]
    if data.dataDeTermino is not None and data.dataDeTermino < data.dataDeInicio:
        problems.append(("dataDeTermino", "O término é anterior ao início."))
    return problems
