"""Spending limits of purchases: models and operations.

Source: the spec, Purchasing (planejamento).

The spec does not show their shape; it is this project's choice (``docs/assumptions.md``).
"""

from pydantic import Field

from xlbridge.wire.model import Number, Operation, WireModel

_PATH = "/v2/compras/planejamento"


class SpendingLimitTerms(WireModel):
    """Spending limit of one month in reais; without a project, for spending outside projects."""

    codigoDaFilial: int | None = None
    codigoDoCentroDeCusto: str | None = None
    codigoDoItemDeLancamento: str | None = None
    codigoDoProjeto: int | None = None
    ano: int | None = None
    mes: int | None = None
    valorLimite: Number | None = None


class SpendingLimitId(WireModel):
    """Identifier of a spending limit."""

    idPlanejamento: int | None = None


class SpendingLimit(SpendingLimitTerms, SpendingLimitId):
    """A spending limit in responses."""


class SpendingLimitKey(SpendingLimitId):
    """Identifier of a spending limit as a query parameter."""

    idPlanejamento: int


class SpendingLimitQuery(WireModel):
    """Filters of the spending-limit listing."""

    codigoDaFilial: int | None = None
    codigoDoCentroDeCusto: str | None = None
    codigoDoItemDeLancamento: str | None = None
    codigoDoProjeto: int | None = None
    ano: int | None = None
    mes: int | None = None


SPENDING_LIMIT_LIST = Operation(
    name="purchasing.budget.list",
    method="GET",
    path=_PATH,
    query=SpendingLimitQuery,
    data=list[SpendingLimit],
)


class SpendingLimitInput(SpendingLimitTerms):
    """A spending limit to set."""

    codigoDaFilial: int
    codigoDoCentroDeCusto: str = Field(min_length=1)
    codigoDoItemDeLancamento: str = Field(min_length=1)
    ano: int = Field(ge=2000, le=2100)
    mes: int = Field(ge=1, le=12)
    valorLimite: Number


SPENDING_LIMIT_CREATE = Operation(
    name="purchasing.budget.create",
    method="POST",
    path=_PATH,
    body=SpendingLimitInput,
    data=SpendingLimit,
)


class SpendingLimitChange(SpendingLimitInput, SpendingLimitId):
    """New content of a spending limit."""

    idPlanejamento: int


SPENDING_LIMIT_UPDATE = Operation(
    name="purchasing.budget.update",
    method="PUT",
    path=_PATH,
    body=SpendingLimitChange,
    data=SpendingLimit,
    repeatable=True,
)
SPENDING_LIMIT_DELETE = Operation(
    name="purchasing.budget.delete",
    method="DELETE",
    path=_PATH,
    query=SpendingLimitKey,
    data=SpendingLimit,
)
