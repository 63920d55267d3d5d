"""Recurring service forecasts. Source: the spec, Sales and billing (previsao)."""

from sqlalchemy import select

from xlbridge.sandbox.answers import not_found
from xlbridge.sandbox.business.forecasts import change_forecast, register_forecast
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.sales import service_forecasts
from xlbridge.wire.forecasts import ServiceForecast, ServiceForecastInput, ServiceForecastQuery
from xlbridge.wire.operations.sales import (
    SERVICE_FORECAST_CREATE,
    SERVICE_FORECAST_GET,
    SERVICE_FORECAST_LIST,
    SERVICE_FORECAST_UPDATE,
)


@handles(SERVICE_FORECAST_CREATE)
def create(call: Call) -> ServiceForecast:
    code = register_forecast(call.connection, call.sent(ServiceForecastInput), call.now)
    return _forecast(call, code)


@handles(SERVICE_FORECAST_UPDATE)
def update(call: Call) -> ServiceForecast:
    code = call.path["id"]
    change_forecast(call.connection, code, call.sent(ServiceForecastInput), call.now)
    return _forecast(call, code)


@handles(SERVICE_FORECAST_GET)
def show(call: Call) -> ServiceForecast:
    return _forecast(call, call.path["id"])


@handles(SERVICE_FORECAST_LIST)
def list_forecasts(call: Call) -> list[ServiceForecast]:
    query = call.queried(ServiceForecastQuery)
    columns = service_forecasts.c
    found = select(service_forecasts).order_by(columns.codigoDaPrevisao)
    if query.codigoDaFilial is not None:
        found = found.where(columns.codigoDaFilial == query.codigoDaFilial)
    if query.codigoDoCliente is not None:
        found = found.where(columns.codigoDoCliente == query.codigoDoCliente)
    if query.somenteAtivos:
        found = found.where(columns.ativo)
    return call.read(ServiceForecast, found)


def _forecast(call: Call, code: int) -> ServiceForecast:
    found = select(service_forecasts).where(service_forecasts.c.codigoDaPrevisao == code)
    for forecast in call.read(ServiceForecast, found):
        return forecast
    raise not_found("id", "Previsão não encontrada.")
