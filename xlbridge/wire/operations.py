"""Operations of the interface by name, shared by client and sandbox."""

from xlbridge.wire import (
    authentication,
    budget,
    financial,
    imports,
    inventory,
    product_invoices,
    products,
    purchasing,
    registry,
    sales,
    services,
    stock,
)
from xlbridge.wire.model import Operation

_AREAS = (
    authentication, imports, registry, products, financial, sales, product_invoices, services,
    purchasing, budget, stock, inventory,
)  # fmt: skip

OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for area in _AREAS
    for operation in vars(area).values()
    if isinstance(operation, Operation)
}
"""All operations that the areas declare, by name."""
