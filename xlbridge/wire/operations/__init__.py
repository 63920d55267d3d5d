"""Every operation of the interface, declared once: the client and the sandbox both go by it.

Source: the spec, Endpoints. One module for each of its tables.
"""

from xlbridge.wire.operation import Operation
from xlbridge.wire.operations import (
    financial,
    inventory,
    purchasing,
    registry,
    sales,
    stock,
    utilities,
)

OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for area in (utilities, registry, financial, sales, purchasing, stock, inventory)
    for operation in area.OPERATIONS
}
"""Every operation, by its name."""
