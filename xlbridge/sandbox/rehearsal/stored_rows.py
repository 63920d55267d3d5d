"""Stored rows, to compare the tables with the rows of workbooks: by number, and by content.

The system assigns each record a number. Imports do not return it, so their rows are compared by
digests of their content: of the stored rows, and of the lines as they would be stored.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, Table, exists, false, func, select

from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Resource
from xlbridge.sandbox.areas.financial import tables as financial
from xlbridge.sandbox.areas.purchasing import tables as purchasing
from xlbridge.sandbox.areas.registry import tables as registry
from xlbridge.sandbox.areas.sales import tables as sales
from xlbridge.sandbox.areas.stock import tables as stock
from xlbridge.sandbox.imports.lines import (
    line_input,
    new_registration,
    own_records,
    read_upload,
)
from xlbridge.settings import WorkbookLimits
from xlbridge.wire import WireModel
from xlbridge.wire.budget import SpendingLimitInput
from xlbridge.wire.financial import PayableInput, ReceivableInput
from xlbridge.wire.inventory import CountedInventory
from xlbridge.wire.product_invoices import ProductInvoiceInput
from xlbridge.wire.products import ProductInput
from xlbridge.wire.purchasing import (
    BuyingOrderInput,
    PurchaseOrderInput,
    PurchaseRequisitionInput,
)
from xlbridge.wire.registry import (
    ClientCategoryInput,
    ClientInput,
    ClientTypeInput,
    ContactInput,
    CostCentreInput,
    ProductTypeInput,
    SupplierInput,
)
from xlbridge.wire.sales import SalesOrderInput
from xlbridge.wire.services import ServiceForecastInput, ServiceInvoiceInput
from xlbridge.wire.stock import AddressingInput, StockEntryInput, StockOutputInput

_PLACES = 6
_NUMBER_SEPARATOR = "/"
_DERIVED = "is_derived"


@dataclass(frozen=True, slots=True)
class RowDigest:
    """Digests of a stored row's key and content; equal if rows never replace each other."""

    key: bytes
    content: bytes


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Digests of a table's rows by their numbers, None in tables compared by number alone.

    ``title`` names the table in reports. ``replaces``: a row replaces the one with the same key.
    ``derived`` are the numbers of records that the system created by processing others. ``items``
    are the counts of items of each list, by the records' numbers.
    """

    table: str
    title: Text
    rows: Mapping[str, RowDigest | None]
    replaces: bool = False
    derived: frozenset[str] = frozenset()
    items: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _TableSpec:
    """Table of a resource's rows.

    ``generated`` are the columns that the system fills in, None if rows are compared by number
    alone. ``number`` are the columns of the number, by default the primary key. Records of the
    resource meet the condition ``includes``, those that the system created by processing others
    ``derived``. ``name`` is set if several resources have the table.
    """

    table: Table
    generated: frozenset[str] | None = None
    replaces: bool = False
    number: tuple[str, ...] = ()
    includes: ColumnElement[bool] | None = None
    derived: ColumnElement[bool] | None = None
    name: str = ""

    @property
    def result_name(self) -> str:
        """Name of the table in results."""
        return self.name or self.table.name

    @property
    def number_columns(self) -> list[str]:
        """Columns of the number by which the system identifies a record."""
        return list(self.number) or [column.name for column in self.table.primary_key]

    @property
    def compared_columns(self) -> list[str]:
        """Columns that the content digest covers."""
        generated = self.generated
        if generated is None:
            return []
        return [column.name for column in self.table.columns if column.name not in generated]

    def number_of(self, values: Mapping[Any, Any]) -> str:
        """Return the number of a stored row, as the journal has it."""
        return _NUMBER_SEPARATOR.join(str(values[name]) for name in self.number_columns)

    def row_digest(self, values: Mapping[Any, Any]) -> RowDigest | None:
        """Return the digest of a row, None if the table is compared by number alone."""
        if self.generated is None:
            return None
        content = _digest(_canonical_value(values[name]) for name in self.compared_columns)
        if not self.replaces:
            return RowDigest(content, content)
        keys = (column.name for column in self.table.primary_key)
        return RowDigest(_digest(_canonical_value(values[name]) for name in keys), content)


_GENERATED_TITLE_COLUMNS = frozenset(
    {"codigoDoExercicio", "numeroDaTransacao", "sequenciaDaTransacao"}
)
_GENERATED_INVOICE_COLUMNS = frozenset(
    {
        "idNF",
        "ultimaAtualizacao",
        "dataDeEmissao",
        "numeroDaNotaFiscalEletronica",
        "chaveDaNotaFiscalEletronica",
    }
)
_IS_OF_ORDER = exists().where(
    *(
        sales.sales_order_installments.c[ours] == financial.receivables.c[name]
        for name, ours in sales.TITLE_COLUMNS.items()
    )
)
"""Condition of titles that a processed order has created."""

_TABLE_SPECS: Mapping[type[WireModel], _TableSpec] = {
    ClientInput: _TableSpec(registry.clients, frozenset({"codigoDoCliente", "ultimaAtualizacao"})),
    ReceivableInput: _TableSpec(
        financial.receivables, _GENERATED_TITLE_COLUMNS, derived=_IS_OF_ORDER
    ),
    PayableInput: _TableSpec(financial.payables, _GENERATED_TITLE_COLUMNS),
    ServiceInvoiceInput: _TableSpec(sales.service_invoices, _GENERATED_INVOICE_COLUMNS),
    AddressingInput: _TableSpec(stock.addressings, frozenset({"ultimaAtualizacao"}), replaces=True),
    ClientTypeInput: _TableSpec(registry.client_types),
    ClientCategoryInput: _TableSpec(registry.client_categories),
    ContactInput: _TableSpec(registry.contacts),
    CostCentreInput: _TableSpec(registry.cost_centres),
    SupplierInput: _TableSpec(registry.suppliers),
    ProductTypeInput: _TableSpec(registry.product_types),
    ProductInput: _TableSpec(registry.products),
    SalesOrderInput: _TableSpec(sales.sales_orders),
    ProductInvoiceInput: _TableSpec(
        sales.product_invoices, derived=sales.product_invoices.c.numeroDoPedido.is_not(None)
    ),
    ServiceForecastInput: _TableSpec(sales.service_forecasts),
    PurchaseRequisitionInput: _TableSpec(purchasing.purchase_requisitions),
    BuyingOrderInput: _TableSpec(purchasing.buying_orders),
    PurchaseOrderInput: _TableSpec(purchasing.purchase_orders),
    SpendingLimitInput: _TableSpec(purchasing.spending_limits),
    StockEntryInput: _TableSpec(
        stock.movements,
        number=("number",),
        includes=stock.movements.c.inward,
        derived=stock.movements.c.adjustment | stock.movements.c.reverses.is_not(None),
        name="stock_entries",
    ),
    StockOutputInput: _TableSpec(
        stock.movements,
        number=("number",),
        includes=~stock.movements.c.inward,
        derived=stock.movements.c.adjustment,
        name="stock_outputs",
    ),
    CountedInventory: _TableSpec(stock.inventories),
}
"""Table of each resource's rows, by the resource's model."""


@dataclass(frozen=True, slots=True)
class _ListTable:
    """Table of the items of a list: the columns with the number of their record, and the count of
    the items that were sent."""

    table: Table
    owner: tuple[str, ...]
    count: ColumnElement[int] = field(default_factory=func.count)


_LIST_TABLES: Mapping[type[WireModel], Mapping[str, _ListTable]] = {
    ReceivableInput: {"rateio": _ListTable(financial.receivable_allocations, financial.OWNER_KEY)},
    PayableInput: {"rateio": _ListTable(financial.payable_allocations, financial.OWNER_KEY)},
    SalesOrderInput: {
        "produtos": _ListTable(sales.sales_order_items, ("numeroDoPedido",)),
        "parcelas": _ListTable(sales.sales_order_installments, ("numeroDoPedido",)),
    },
    ProductInvoiceInput: {"produtos": _ListTable(sales.product_invoice_items, ("idNF",))},
    PurchaseRequisitionInput: {
        "itens": _ListTable(purchasing.purchase_requisition_items, ("number",))
    },
    BuyingOrderInput: {"itens": _ListTable(purchasing.buying_order_items, ("number",))},
    PurchaseOrderInput: {"itens": _ListTable(purchasing.purchase_order_items, ("number",))},
    CountedInventory: {
        "contagens": _ListTable(
            stock.inventory_items,
            ("inventory",),
            func.count(stock.inventory_items.c.count1)
            + func.count(stock.inventory_items.c.count2)
            + func.count(stock.inventory_items.c.count3),
        )
    },
}
"""Tables of the lists of each resource's records, by the resource's model."""


def table_name_of(resource: Resource) -> str:
    """Return the name of the table of a resource's rows."""
    model = resource.row_model
    return (
        f"{own_records.name}:{resource.name}" if model is None else _TABLE_SPECS[model].result_name
    )


def is_compared_by_content(resource: Resource) -> bool:
    """Return whether rows are compared by content even if the system has returned their numbers.

    That is so if a row replaces the one with the same key.
    """
    model = resource.row_model
    return model is None or _TABLE_SPECS[model].replaces


def read_stored_rows(connection: Connection, resource: Resource) -> StoredRows:
    """Return all rows of the table of a resource."""
    model = resource.row_model
    digests: dict[str, RowDigest | None] = {}
    if model is None:
        records = select(own_records).where(own_records.c.resource == resource.name)
        for record in connection.execute(records):
            digests[str(record.id)] = _own_record_digest(record.record)
        return StoredRows(table_name_of(resource), _title_of(resource), digests)
    spec = _TABLE_SPECS[model]
    keys = (column.name for column in spec.table.primary_key)
    names = sorted({*spec.number_columns, *spec.compared_columns, *keys})
    derived = false() if spec.derived is None else spec.derived
    statement = select(*(spec.table.c[name] for name in names), derived.label(_DERIVED))
    if spec.includes is not None:
        statement = statement.where(spec.includes)
    derived_numbers = set()
    for row in connection.execute(statement).mappings():
        number = spec.number_of(row)
        digests[number] = spec.row_digest(row)
        if row[_DERIVED]:
            derived_numbers.add(number)
    return StoredRows(
        spec.result_name,
        _title_of(resource),
        digests,
        spec.replaces,
        frozenset(derived_numbers),
        {
            name: _count_items(connection, listed)
            for name, listed in _LIST_TABLES.get(model, {}).items()
        },
    )


def _count_items(connection: Connection, listed: _ListTable) -> dict[str, int]:
    """Return the number of items of each record that has some."""
    owner = [listed.table.c[name] for name in listed.owner]
    statement = select(*owner, listed.count).group_by(*owner)
    return {
        _NUMBER_SEPARATOR.join(map(str, number)): count
        for *number, count in connection.execute(statement)
    }


def _title_of(resource: Resource) -> Text:
    """Return the title of a resource as it is written within a sentence."""
    pt, en = (text[:1].lower() + text[1:] for text in (resource.title.pt, resource.title.en))
    return Text(pt=pt, en=en)


def expected_row_digests(
    connection: Connection,
    content: bytes,
    resource: Resource,
    catalogue: Catalogue,
    limits: WorkbookLimits,
) -> list[RowDigest | None]:
    """Return the digest of each line of an uploaded workbook as it would be stored.

    Lines that cannot be stored have None. Nothing is written.
    """
    # Digests leave out generated columns, so any time will do.
    registration = new_registration(resource, connection, datetime.now())
    digests: list[RowDigest | None] = []
    for line in read_upload(content, resource, catalogue, limits):
        try:
            record = registration.accept(line_input(line, resource))
        except ValidationError:
            digests.append(None)
            continue
        model = resource.row_model
        if model is None:
            digests.append(_own_record_digest(record))
        else:
            digests.append(_TABLE_SPECS[model].row_digest(record.model_dump()))
    return digests


def _own_record_digest(record: Mapping[str, Any]) -> RowDigest:
    content = _digest([json.dumps(record, sort_keys=True)])
    return RowDigest(content, content)


def _digest(values: Iterable[object]) -> bytes:
    return hashlib.blake2b(repr(list(values)).encode(), digest_size=16).digest()


def _canonical_value(value: object) -> object:
    if isinstance(value, Decimal):
        return format(round(value, _PLACES).normalize(), "f")
    return value.isoformat() if isinstance(value, datetime) else value


def one_resource_per_table(resources: Iterable[Resource]) -> Iterator[Resource]:
    """Yield one of the resources for each table."""
    yield from {table_name_of(resource): resource for resource in resources}.values()
