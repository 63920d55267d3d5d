"""Budget planning of purchases. Source: the spec, Purchasing (planejamento).

Its shape is not shown there; this one is this project's choice (``docs/assumptions.md``).
"""

from pydantic import Field

from xlbridge.wire.model import Number, WireModel


class SpendingLimitTerms(WireModel):
    """What may be spent in one month, in reais; without a project, outside all projects."""

    codigoDaFilial: int | None = None
    codigoDoCentroDeCusto: str | None = None
    codigoDoItemDeLancamento: str | None = None
    codigoDoProjeto: int | None = None
    ano: int | None = None
    mes: int | None = None
    valorLimite: Number | None = None


class SpendingLimitInput(SpendingLimitTerms):
    """A spending limit to set."""

    codigoDaFilial: int
    codigoDoCentroDeCusto: str = Field(min_length=1)
    codigoDoItemDeLancamento: str = Field(min_length=1)
    ano: int = Field(ge=2000, le=2100)
    mes: int = Field(ge=1, le=12)
    valorLimite: Number


class SpendingLimitId(WireModel):
    """Which spending limit."""

    idPlanejamento: int


class SpendingLimitChange(SpendingLimitInput, SpendingLimitId):
    """A spending limit as it is to be from now on."""


class SpendingLimit(SpendingLimitTerms, SpendingLimitId):
    """A spending limit as it is read."""


class SpendingLimitQuery(WireModel):
    """Filters of the spending limits."""

    codigoDaFilial: int | None = None
    codigoDoCentroDeCusto: str | None = None
    codigoDoItemDeLancamento: str | None = None
    codigoDoProjeto: int | None = None
    ano: int | None = None
    mes: int | None = None
