"""Suppliers. Source: the spec, Registry."""

from sqlalchemy import select

from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.business.suppliers import SUPPLIER_COLUMNS, SupplierIntake
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.columns import labelled
from xlbridge.sandbox.tables.registries import suppliers
from xlbridge.wire.operations.registry import SUPPLIER_CREATE, SUPPLIER_LIST
from xlbridge.wire.registry import Supplier, SupplierInput


@handles(SUPPLIER_CREATE)
def create(call: Call) -> Supplier:
    return admit(SupplierIntake(call.connection), call.sent(SupplierInput))


@handles(SUPPLIER_LIST)
def list_suppliers(call: Call) -> list[Supplier]:
    found = select(*labelled(suppliers, SUPPLIER_COLUMNS)).order_by(suppliers.c.code)
    return call.read(Supplier, found)
