"""Operations of the interface by name; the client and the sandbox both go by them."""

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
    declared.name: declared
    for area in _AREAS
    for declared in vars(area).values()
    if isinstance(declared, Operation)
}
"""Every operation that an area declares, by its name."""
