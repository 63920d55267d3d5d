"""Operations as attributes: ``client.registry.clients.list(cnpjcpf="…")``.

Names, arguments and answers come from the declarations in ``xlbridge.wire``; ``operations.pyi``
is generated from the same declarations for editors and type checkers.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from xlbridge.wire import OPERATIONS, Operation, WireModel

CallOperation = Callable[..., Any]
"""``Client.call``."""

AUTHENTICATED_OPERATIONS = {
    name: operation for name, operation in OPERATIONS.items() if operation.authenticated
}
"""The operations that are called by name; the login is ``Client.login``."""


class Operations:
    """The operations whose names begin with ``prefix``, as attributes.

    An operation is a function: the fields of its path, query and body are its keyword arguments,
    ``file`` is the workbook (``UploadFile``) that it takes, and it returns and raises what
    ``Client.call`` does. A misspelt argument is a ``TypeError``, one of a wrong type pydantic's
    ``ValidationError``; both come before anything is sent.
    """

    def __init__(self, call: CallOperation, prefix: str = "") -> None:
        self._call = call
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        full = self._prefix + name
        if full in AUTHENTICATED_OPERATIONS:
            return partial(_call_with_arguments, self._call, AUTHENTICATED_OPERATIONS[full])
        if any(known.startswith(f"{full}.") for known in AUTHENTICATED_OPERATIONS):
            return Operations(self._call, f"{full}.")
        raise AttributeError(f"there is no operation {full!r}")

    def __dir__(self) -> Iterable[str]:
        length = len(self._prefix)
        inside = (
            name[length:] for name in AUTHENTICATED_OPERATIONS if name.startswith(self._prefix)
        )
        return sorted({name.partition(".")[0] for name in inside})


def _call_with_arguments(call: CallOperation, operation: Operation, **arguments: Any) -> Any:
    path = {name: arguments.pop(name) for name in operation.path_parameters if name in arguments}
    query, body = _take_model(operation.query, arguments), _take_model(operation.body, arguments)
    file = {"file": arguments.pop("file")} if operation.upload and "file" in arguments else {}
    missing = operation.path_parameters.keys() - path.keys()
    if operation.upload and not file:
        missing = {*missing, "file"}
    if arguments or missing:
        wrong = ", ".join(sorted(arguments)) or f"without {', '.join(sorted(missing))}"
        raise TypeError(f"{operation.name}: {wrong}")
    return call(operation, path=path, query=query, body=body, **file)


def _take_model(model: type[WireModel] | None, arguments: dict[str, Any]) -> WireModel | None:
    """Make the model of those arguments that are its fields, and take them out."""
    if model is None:
        return None
    return model(**{name: arguments.pop(name) for name in model.model_fields if name in arguments})
