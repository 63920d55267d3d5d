"""Operations of the interface by name, shared by client and sandbox."""

from xlbridge.wire import authentication, financial, imports, purchasing, registry, sales, stock
from xlbridge.wire.model import Operation

_AREAS = (authentication, imports, registry, financial, sales, purchasing, stock)

OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for area in _AREAS
    for operation in vars(area).values()
    if isinstance(operation, Operation)
}
"""All operations that the areas declare, by name."""
