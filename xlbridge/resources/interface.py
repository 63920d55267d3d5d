"""Operations and models of the interface that schema files name, looked up when they are used.

All of the interface takes a fifth of a second to import, and judging a sheet needs nothing of
it.
"""

import importlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xlbridge.wire import Operation, WireModel


_MODULES: Mapping[str, str] = {
    "attachments": "model",
    "cash": "financial",
    "code_lists": "registry",
    "envelope": "protocol",
    "forecasts": "services",
    "system": "authentication",
}
"""The modules of models that schema files know by an earlier module's name."""


def operation_named(name: str) -> "Operation":
    """Return the operation of that name. Raises ``KeyError`` when there is none."""
    from xlbridge.wire import OPERATIONS

    return OPERATIONS[name]


@cache
def record_fields(name: str) -> frozenset[str]:
    """Return the fields of the records that an operation lists or finds."""
    from xlbridge.wire import record_model

    model = record_model(operation_named(name).data)
    return frozenset(model.model_fields if model else ())


def wire_model(name: str) -> "type[WireModel]":
    """Return the model of the interface that ``module.Class`` names."""
    module, _, attribute = name.partition(".")
    module = _MODULES.get(module, module)
    model: type[WireModel] = getattr(importlib.import_module(f"xlbridge.wire.{module}"), attribute)
    return model
