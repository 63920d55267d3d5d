"""Rules of what is billed for services: service invoices and recurring forecasts.

Source: the spec, Service invoice (NFS-e), States, Sales and billing (previsao).
"""

from calendar import monthrange
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, exists, insert, select, update

from xlbridge.sandbox.areas.financial.rules import rate_problems
from xlbridge.sandbox.areas.registry.codes import CodeLookup, Numbers, RecordIntake
from xlbridge.sandbox.areas.registry.tables import issuers, payment_conditions, services
from xlbridge.sandbox.areas.sales.invoices import pending_invoice
from xlbridge.sandbox.areas.sales.tables import service_forecasts, service_invoices
from xlbridge.sandbox.problems import Problem, amount_problems, not_found, require_no_problems
from xlbridge.wire.services import ServiceForecastInput, ServiceInvoice, ServiceInvoiceInput

_AMOUNTS = tuple(
    name for name in ServiceInvoiceInput.model_fields if name.lower().startswith("valor")
)
_RATES = tuple(
    name for name in ServiceInvoiceInput.model_fields if name.lower().startswith("aliquota")
)


class ServiceInvoiceIntake(RecordIntake):
    """Takes in new service invoices, pending emission."""

    def problems(self, data: ServiceInvoiceInput) -> list[Problem]:
        """Return the rules that a new invoice breaks."""
        return _service_invoice_problems(self._known, data)

    def accept(self, data: ServiceInvoiceInput) -> ServiceInvoice:
        """Take in an invoice without problems, under the next id."""
        invoice = ServiceInvoice(
            idNF=self._numbers.next("service_invoice"),
            ultimaAtualizacao=self._now,
            **data.model_dump(),
        )
        self._rows[service_invoices].append(invoice.model_dump())
        return invoice


def change_service_invoice(
    connection: Connection, invoice_id: int, data: ServiceInvoiceInput, now: datetime
) -> None:
    """Give a pending invoice new content, the whole of it.

    Raises ``RequestError``: 404 when there is none, 400 when it was emitted or breaks a rule.
    """
    pending_invoice(connection, service_invoices, invoice_id)
    require_no_problems(_service_invoice_problems(CodeLookup(connection), data))
    content = data.model_dump(include=set(ServiceInvoiceInput.model_fields))
    connection.execute(
        update(service_invoices)
        .where(service_invoices.c.idNF == invoice_id)
        .values(**content, ultimaAtualizacao=now)
    )


def _service_invoice_problems(known: CodeLookup, data: ServiceInvoiceInput) -> list[Problem]:
    problems = [
        *known.problems("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
        *known.client_problems(data.codigoDoCliente),
        *known.problems(
            "codigoDoServicoPrestado", services, data.codigoDoServicoPrestado, "Serviço"
        ),
    ]
    for name in _AMOUNTS:
        problems.extend(amount_problems(name, getattr(data, name)))
    for name in _RATES:
        problems.extend(rate_problems(name, getattr(data, name)))
    return problems


def register_forecast(connection: Connection, data: ServiceForecastInput, now: datetime) -> int:
    """Register a forecast and return its code.

    Raises ``RequestError`` (400) with the rules that it breaks.
    """
    require_no_problems(_forecast_problems(CodeLookup(connection), data))
    numbers = Numbers(connection)
    code = numbers.next("service_forecast")
    numbers.write()
    row = {"codigoDaPrevisao": code} | _forecast_content(data, now)
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
    require_no_problems(_forecast_problems(CodeLookup(connection), data))
    connection.execute(update(service_forecasts).where(this).values(_forecast_content(data, now)))


def _forecast_content(data: ServiceForecastInput, now: datetime) -> dict[str, Any]:
    """Stored columns: the content, and the dates derived from it."""
    next_readjustment = None
    if data.percentualDeReajuste is not None:
        next_readjustment = months_after(data.dataDeInicio, data.mesesEntreReajustes)
    return data.model_dump() | {
        "dataDaProximaEmissao": data.dataDeInicio,
        "dataDoProximoReajuste": next_readjustment,
        "ultimaAtualizacao": now,
    }


def _forecast_problems(known: CodeLookup, data: ServiceForecastInput) -> list[Problem]:
    problems = [
        *known.problems("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
        *known.client_problems(data.codigoDoCliente),
        *known.problems(
            "codigoDoServicoPrestado", services, data.codigoDoServicoPrestado, "Serviço"
        ),
        *known.problems(
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


def months_after(moment: datetime, months: int) -> datetime:
    """Return the same day so many months later, or the last one of a shorter month."""
    years, month = divmod(moment.month - 1 + months, 12)
    year, month = moment.year + years, month + 1
    day = min(moment.day, monthrange(year, month)[1])
    return moment.replace(year=year, month=month, day=day)
