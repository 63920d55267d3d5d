"""Operations as attributes: ``client.registry.clients.list(cnpjcpf="…")``.

Names, arguments and answers derive from the declarations in ``xlbridge.wire``. The stub beside this
file is generated from them for editors and type checkers.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from xlbridge.client.transport import UploadFile
from xlbridge.wire import OPERATIONS, Operation, WireModel

CallOperation = Callable[..., Any]
"""Type of ``Client.call``."""

AUTHENTICATED_OPERATIONS = {
    name: operation for name, operation in OPERATIONS.items() if operation.authenticated
}
"""Operations available as attributes; the login is ``Client.login``."""


class Operations:
    """The operations whose names begin with ``prefix``, as attributes.

    An operation is a function whose keyword arguments are the fields of its path, query and body,
    and ``file`` (a path, or an ``UploadFile``) if it accepts a workbook. It returns and raises what
    ``Client.call`` does. Before anything is sent, an unknown or missing argument raises
    ``TypeError``, one of the wrong type pydantic's ``ValidationError``.
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
        names = (
            name.removeprefix(self._prefix)
            for name in AUTHENTICATED_OPERATIONS
            if name.startswith(self._prefix)
        )
        return sorted({name.partition(".")[0] for name in names})


def _call_with_arguments(call: CallOperation, operation: Operation, **arguments: Any) -> Any:
    path = {name: arguments.pop(name) for name in operation.path_parameters if name in arguments}
    query, body = _pop_model(operation.query, arguments), _pop_model(operation.body, arguments)
    file = {}
    if operation.upload and "file" in arguments:
        file = {"file": UploadFile.of(arguments.pop("file"))}
    missing = operation.path_parameters.keys() - path.keys()
    if operation.upload and not file:
        missing = {*missing, "file"}
    if arguments or missing:
        problem = ", ".join(sorted(arguments)) or f"without {', '.join(sorted(missing))}"
        raise TypeError(f"{operation.name}: {problem}")
    return call(operation, path=path, query=query, body=body, **file)


def _pop_model(model: type[WireModel] | None, arguments: dict[str, Any]) -> WireModel | None:
    """Remove the arguments that are fields of a model, and return the model built from them."""
    if model is None:
        return None
    return model(**{name: arguments.pop(name) for name in model.model_fields if name in arguments})
