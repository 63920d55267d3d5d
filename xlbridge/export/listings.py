"""What can be exported: each listing is one declaration.

Sheets, columns and filters are not declared: they follow from the operation's models.
"""

from dataclasses import dataclass
from enum import StrEnum

from xlbridge.api.records import record_model
from xlbridge.errors import UsageError
from xlbridge.export.columns import ExportColumn, children_of, columns_of
from xlbridge.i18n import Text
from xlbridge.wire.model import WireModel
from xlbridge.wire.operation import Operation
from xlbridge.wire.operations.financial import RECEIVABLE_LIST_OPEN, RECEIVABLE_LIST_SETTLED
from xlbridge.wire.operations.registry import CLIENT_LIST
from xlbridge.wire.operations.sales import SALES_ORDER_LIST
from xlbridge.wire.operations.stock import STOCK_BALANCES, STOCK_BALANCES_OF_BRANCH
from xlbridge.wire.registry import CLIENT_CAP


class Filter(StrEnum):
    """What a listing may be narrowed by; the value is the name of the command's option."""

    FROM = "from"
    TO = "to"
    BRANCH = "branch"


FILTER_FIELDS: dict[Filter, str] = {
    Filter.FROM: "dataInferior",
    Filter.TO: "dataSuperior",
    Filter.BRANCH: "codigoDaFilial",
}
"""The field of an operation's query that carries each filter."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """One sheet of a listing.

    ``within`` is the field of a record that holds this sheet's rows, None for the records
    themselves. ``key`` names the columns that join the sheets of a listing.
    """

    name: str
    columns: tuple[ExportColumn, ...]
    within: str | None
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One listing.

    ``key`` identifies a record. ``of_branch`` is the operation that lists one branch, where it is
    another one. ``cap`` is the most records that one answer can hold: an answer with that many
    may not be all.
    """

    name: str
    title: Text
    operation: Operation
    key: tuple[str, ...]
    of_branch: Operation | None = None
    cap: int | None = None

    @property
    def filters(self) -> tuple[Filter, ...]:
        """The filters that the remote system offers for this listing."""
        fields = self.operation.query.model_fields if self.operation.query else {}
        offered = [name for name, field in FILTER_FIELDS.items() if field in fields]
        return (*offered, *([Filter.BRANCH] if self.of_branch else []))

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """The records' own sheet, then one for each list of objects within a record."""
        model = self._model
        return (
            Sheet(self.name, columns_of(model), None, self.key),
            *(
                Sheet(field, self._child_columns(inner), field, self.key)
                for field, inner in children_of(model).items()
            ),
        )

    @property
    def _model(self) -> type[WireModel]:
        model = record_model(self.operation.data)
        if model is None:
            raise TypeError(f"{self.operation.name} is not a listing")
        return model

    def _child_columns(self, child: type[WireModel]) -> tuple[ExportColumn, ...]:
        """Return a child's columns, with those of the key that it lacks in front."""
        own = columns_of(child)
        names = {column.name for column in own}
        key = [c for c in columns_of(self._model) if c.name in self.key and c.name not in names]
        return (*key, *own)


LISTINGS: dict[str, Listing] = {
    listing.name: listing
    for listing in (
        Listing(
            name="pedidos",
            title=Text(
                pt="Pedidos de venda, com parcelas e produtos",
                en="Sales orders, with instalments and products",
            ),
            operation=SALES_ORDER_LIST,
            key=("numeroDoPedido",),
        ),
        Listing(
            name="estoque",
            title=Text(pt="Saldos de estoque", en="Stock balances"),
            operation=STOCK_BALANCES,
            of_branch=STOCK_BALANCES_OF_BRANCH,
            key=("codigoDaFilial", "codigoDoAlmoxarifado", "idProd", "numeroDeSerieLote"),
        ),
        Listing(
            name="clientes",
            title=Text(pt="Clientes", en="Clients"),
            operation=CLIENT_LIST,
            key=("codigoDoCliente",),
            cap=CLIENT_CAP,
        ),
        Listing(
            name="contasreceber",
            title=Text(pt="Contas a receber em aberto", en="Open receivables"),
            operation=RECEIVABLE_LIST_OPEN,
            key=(
                "codigoDoExercicio",
                "codigoDaFilial",
                "numeroDaTransacao",
                "sequenciaDaTransacao",
            ),
        ),
        Listing(
            name="contasreceber-baixados",
            title=Text(pt="Contas a receber baixadas", en="Settled receivables"),
            operation=RECEIVABLE_LIST_SETTLED,
            key=(
                "codigoDoExercicio",
                "codigoDaFilial",
                "numeroDaTransacao",
                "sequenciaDaTransacao",
            ),
        ),
    )
}
"""Every listing, by its name."""


def find_listing(name: str) -> Listing:
    """Return the listing of that name. Raises ``UsageError`` when there is none."""
    if name not in LISTINGS:
        raise UsageError(
            Text(pt="Não existe a listagem {name!r}.", en="There is no listing {name!r}.").format(
                name=name
            ),
            Text(pt="Existem: {names}.", en="There are: {names}.").format(
                names=", ".join(LISTINGS)
            ),
        )
    return LISTINGS[name]
