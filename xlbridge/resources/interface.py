"""What a resource names of the interface, looked up when it is used.

All of the interface takes a fifth of a second to import, and judging a sheet needs nothing of it.
"""

import importlib
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xlbridge.wire.model import WireModel
    from xlbridge.wire.operation import Operation


def operation_named(name: str) -> "Operation":
    """Return the operation of that name. Raises ``KeyError`` when there is none."""
    from xlbridge.wire.operations import OPERATIONS

    return OPERATIONS[name]


@cache
def record_fields(name: str) -> frozenset[str]:
    """Return the fields of the records that an operation lists or finds."""
    from xlbridge.wire.model import record_model

    model = record_model(operation_named(name).data)
    return frozenset(model.model_fields if model else ())


def wire_model(name: str) -> "type[WireModel]":
    """Return the model of the interface that ``module.Class`` names."""
    module, _, attribute = name.partition(".")
    model: type[WireModel] = getattr(importlib.import_module(f"xlbridge.wire.{module}"), attribute)
    return model
