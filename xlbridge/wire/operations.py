"""Operations of the interface by name; the client and the sandbox both go by them."""

from xlbridge.wire import financial, imports, inventory, purchasing, registry, sales, stock
from xlbridge.wire.model import Operation

OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for area in (imports, registry, financial, sales, purchasing, stock, inventory)
    for operation in area.OPERATIONS
}
"""Every operation, by its name."""
