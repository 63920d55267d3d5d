"""Data of answers, read as the types that operations declare.

What is read by a GET must have the types of the interface. The answer to a write is read as far as
it goes: that the request was applied does not depend on what the answer says besides.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_origin

from pydantic import TypeAdapter, ValidationError

from xlbridge.wire import Operation, WireModel, spellings


def data_reader(operation: Operation) -> Callable[[Any], Any]:
    """Return what reads an operation's ``data``; it raises ``ValueError`` where it cannot."""
    annotation = operation.data
    validate = _adapter(annotation).validate_python
    reads, lists = operation.method == "GET", get_origin(annotation) is list
    if lists:
        return lambda data: _read_list(validate, data, strict=reads)
    if reads or not (isinstance(annotation, type) and issubclass(annotation, WireModel)):
        return validate
    return lambda data: _read_as_far_as_it_goes(annotation, data)


def _read_list(validate: Callable[[Any], Any], data: Any, *, strict: bool) -> Any:
    """Read records; null is none, and so is what does not fit where that is not ``strict``."""
    try:
        return validate([] if data is None else data)
    except ValidationError:
        if strict:
            raise
        return []


def _read_as_far_as_it_goes(model: type[WireModel], data: Any) -> WireModel:
    """Read a record from whatever came; what does not fit the model is left out.

    Raises ``ValueError`` where the interface promises what is missing then.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        if isinstance(data, list) and len(data) == 1:
            return _read_as_far_as_it_goes(model, data[0])
        if not isinstance(data, Mapping):
            return model.model_validate({})
        names = spellings(model)
        bad = {problem["loc"][0] for problem in error.errors() if problem["loc"]}
        fitting = {name: v for name, v in data.items() if names.get(name, name) not in bad}
        return model.model_validate(fitting)


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)
