"""Recurring service forecasts. Source: the spec, Sales and billing (previsao).

Only readjustment, payment condition and automatic emission are named there; the fields are this
project's choice (``docs/assumptions.md``).
"""

from pydantic import Field

from xlbridge.wire.model import Moment, Number, WireModel

YEAR = 12


class ServiceForecastTerms(WireModel):
    """A service that is billed again and again.

    ``percentualDeReajuste`` is by how many per cent the amount changes, every so many months.
    """

    codigoDaFilial: int | None = None
    codigoDoCliente: int | None = None
    codigoDoServicoPrestado: str | None = None
    valorDoServico: Number | None = None
    dataDeInicio: Moment | None = None
    dataDeTermino: Moment | None = None
    mesesEntreEmissoes: int | None = None
    codigoDaCondicaoDePagamento: int | None = None
    percentualDeReajuste: Number | None = None
    mesesEntreReajustes: int | None = None
    emissaoAutomatica: bool | None = None
    ativo: bool | None = None
    observacao: str | None = None


class ServiceForecastInput(ServiceForecastTerms):
    """A forecast to register, or the whole of its new content."""

    codigoDaFilial: int
    codigoDoCliente: int
    codigoDoServicoPrestado: str
    valorDoServico: Number
    dataDeInicio: Moment
    mesesEntreEmissoes: int = Field(default=1, ge=1, le=10 * YEAR)
    mesesEntreReajustes: int = Field(default=YEAR, ge=1, le=10 * YEAR)
    emissaoAutomatica: bool = False
    ativo: bool = True


class ServiceForecastCode(WireModel):
    """What names a forecast."""

    codigoDaPrevisao: int


class ServiceForecast(ServiceForecastTerms, ServiceForecastCode):
    """A recurring service forecast.

    ``dataDoProximoReajuste`` is null where there is no readjustment.
    """

    dataDaProximaEmissao: Moment | None = None
    dataDoProximoReajuste: Moment | None = None
    ultimaAtualizacao: Moment | None = None


class ServiceForecastQuery(WireModel):
    """Filters of the forecasts' listing."""

    codigoDaFilial: int | None = None
    codigoDoCliente: int | None = None
    somenteAtivos: bool = False
