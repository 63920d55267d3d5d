"""Rows that the tables hold and rows that a workbook brings, counted by content.

The system assigns numbers to records, which imports do not return; their rows are compared by the
columns that a sheet may fill. Records that are sent one by one are only counted.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, Table, exists, func, not_, or_, select, true

from xlbridge.resources import Catalogue, Resource
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.sandbox.areas.financial import tables as financial
from xlbridge.sandbox.areas.purchasing import tables as purchasing
from xlbridge.sandbox.areas.registry import tables as registry
from xlbridge.sandbox.areas.sales import tables as sales
from xlbridge.sandbox.areas.stock import tables as stock
from xlbridge.sandbox.imports.lines import (
    IMPORTED_RESOURCES,
    line_input,
    new_registration,
    own_records,
    read_upload,
)
from xlbridge.settings import WorkbookLimits
from xlbridge.wire import (
    WireModel,
    budget,
    financial as wire_financial,
    inventory,
    product_invoices,
    products,
    purchasing as wire_purchasing,
    registry as wire_registry,
    sales as wire_sales,
    services,
    stock as wire_stock,
)

_TABLES: Mapping[type[WireModel], Table] = {
    budget.SpendingLimitInput: purchasing.spending_limits,
    inventory.CountedInventory: stock.inventories,
    product_invoices.ProductInvoiceInput: sales.product_invoices,
    products.ProductInput: registry.products,
    services.ServiceForecastInput: sales.service_forecasts,
    services.ServiceInvoiceInput: sales.service_invoices,
    wire_financial.PayableInput: financial.payables,
    wire_financial.ReceivableInput: financial.receivables,
    wire_purchasing.BuyingOrderInput: purchasing.buying_orders,
    wire_purchasing.PurchaseOrderInput: purchasing.purchase_orders,
    wire_purchasing.PurchaseRequisitionInput: purchasing.purchase_requisitions,
    wire_registry.ClientCategoryInput: registry.client_categories,
    wire_registry.ClientInput: registry.clients,
    wire_registry.ClientTypeInput: registry.client_types,
    wire_registry.ContactInput: registry.contacts,
    wire_registry.CostCentreInput: registry.cost_centres,
    wire_registry.ProductTypeInput: registry.product_types,
    wire_registry.SupplierInput: registry.suppliers,
    wire_sales.SalesOrderInput: sales.sales_orders,
    wire_stock.AddressingInput: stock.addressings,
    wire_stock.StockEntryInput: stock.movements,
    wire_stock.StockOutputInput: stock.movements,
}
"""Table of each resource's rows, by the resource's model."""

_MOVEMENT = stock.movements.c
_PARTS: Mapping[type[WireModel], tuple[str, ColumnElement[bool]]] = {
    wire_stock.StockEntryInput: ("stock_entries", _MOVEMENT.inward),
    wire_stock.StockOutputInput: ("stock_outputs", not_(_MOVEMENT.inward)),
}
"""Name and condition of the rows of resources that share a table."""

_DERIVED: Mapping[type[WireModel], ColumnElement[bool]] = {
    wire_financial.ReceivableInput: exists().where(
        *(
            sales.sales_order_installments.c[ours] == financial.receivables.c[name]
            for name, ours in sales.TITLE_COLUMNS.items()
        )
    ),
    product_invoices.ProductInvoiceInput: sales.product_invoices.c.numeroDoPedido.is_not(None),
    wire_stock.StockEntryInput: or_(_MOVEMENT.adjustment, _MOVEMENT.reverses.is_not(None)),
    wire_stock.StockOutputInput: _MOVEMENT.adjustment,
}
"""Condition of the records that the system creates by processing others."""

Content = bytes | None
"""Digest of a row's content, None for a row that is only counted. If rows with the same key replace
each other, it begins with the digest of the key."""

_DIGEST_SIZE = 16


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of a resource's table, without the ``derived`` ones that processing has created."""

    contents: Counter[Content]
    derived: int = 0

    def only_counted(self) -> "StoredRows":
        """Return the rows without their contents."""
        return StoredRows(Counter({None: self.contents.total()}), self.derived)

    def only_keys(self) -> "StoredRows":
        """Return the rows with their keys instead of their contents."""
        return StoredRows(Counter(map(key_of, self.contents.elements())), self.derived)


def key_of(content: Content) -> Content:
    """Return the digest of a row's key; the row replaces the one with the same key."""
    return None if content is None else content[:_DIGEST_SIZE]


def table_name_of(resource: Resource) -> str:
    """Return the name of the rows of a resource."""
    model = resource.row_model
    if model is None:
        return f"{own_records.name}:{resource.name}"
    return _PARTS[model][0] if model in _PARTS else _TABLES[model].name


def replaces_rows(resource: Resource) -> bool:
    """Return whether a row of a resource replaces the one with the same key."""
    policy = None if resource.read_back is None else resource.read_back.existing
    return policy is ExistingPolicy.REPLACED


def read_stored_rows(connection: Connection, resource: Resource) -> StoredRows:
    """Return the rows of a resource's table."""
    model = resource.row_model
    if model is None:
        records = select(own_records.c.record).where(own_records.c.resource == resource.name)
        return StoredRows(Counter(map(_own_content, connection.scalars(records))))
    table = _TABLES[model]
    _, included = _PARTS.get(model, ("", true()))
    derived = 0
    if model in _DERIVED:
        count = select(func.count()).select_from(table).where(included, _DERIVED[model])
        derived = connection.scalar(count) or 0
        included &= not_(_DERIVED[model])
    if model not in IMPORTED_RESOURCES:
        count = select(func.count()).select_from(table).where(included)
        return StoredRows(Counter({None: connection.scalar(count) or 0}), derived)
    groups = _compared_columns(resource, model)
    names = list(dict.fromkeys(chain(*groups)))
    stored = connection.execute(select(*(table.c[name] for name in names)).where(included))
    named = (dict(zip(names, row, strict=True)) for row in stored)
    return StoredRows(Counter(_content_of(row, groups) for row in named), derived)


def read_sent_rows(
    connection: Connection,
    payload: bytes,
    resource: Resource,
    catalogue: Catalogue,
    limits: WorkbookLimits,
) -> list[Content]:
    """Return the content of each line of an imported workbook as it would be stored.

    Lines that cannot be stored have None. Nothing is written.
    """
    model = resource.row_model
    # Times that the system sets are not compared, so any will do.
    registration = new_registration(resource, connection, datetime.now())
    contents: list[Content] = []
    for line in read_upload(payload, resource, catalogue, limits):
        try:
            record = registration.accept(line_input(line, resource))
        except ValidationError:
            contents.append(None)
            continue
        if model is None:
            contents.append(_own_content(record))
        else:
            groups = _compared_columns(resource, model)
            contents.append(_content_of(record.model_dump(), groups))
    return contents


def _compared_columns(resource: Resource, model: type[WireModel]) -> list[list[str]]:
    """Return the columns of each digest: those of the key if rows replace each other, and those
    that a sheet may fill."""
    table = _TABLES[model]
    key = [column.name for column in table.primary_key]
    filled = [column.name for column in table.columns if column.name in model.model_fields]
    return [key, filled] if replaces_rows(resource) else [filled]


def _content_of(row: Mapping[str, Any], groups: Sequence[Sequence[str]]) -> bytes:
    return b"".join(_content(row[name] for name in names) for names in groups)


def _own_content(record: Mapping[str, Any]) -> bytes:
    return _content([json.dumps(record, sort_keys=True)])


def _content(values: Iterable[object]) -> bytes:
    """Return a digest of values, the same for equal ones."""
    plain = [
        f"{round(value, 6).normalize():f}"
        if isinstance(value, Decimal)
        else value.isoformat()
        if isinstance(value, datetime)
        else value
        for value in values
    ]
    return hashlib.blake2b(repr(plain).encode(), digest_size=_DIGEST_SIZE).digest()
