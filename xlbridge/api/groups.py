"""The operations by their names: ``client.registry.clients.list(cnpjcpf="…")``.

Nothing is written down a second time: names, arguments and answers come from the declared
operations. What an editor and a type checker know of them stands in ``groups.pyi``, which is
generated from the same declarations.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from xlbridge.wire.model import WireModel
from xlbridge.wire.operation import Operation
from xlbridge.wire.operations import OPERATIONS

Call = Callable[..., Any]
"""``Client.call``."""

OFFERED = {name: operation for name, operation in OPERATIONS.items() if operation.authenticated}
"""The operations that are called by name; the login is ``Client.login``."""


class Operations:
    """The operations whose names begin with ``prefix``, as attributes.

    An operation is a function: the fields of its path, query and body are its keyword arguments,
    ``file`` is the workbook (``Upload``) that it takes, and it returns and raises what
    ``Client.call`` does. A misspelt argument is a ``TypeError``, one of a wrong type pydantic's
    ``ValidationError``; both come before anything is sent.
    """

    def __init__(self, call: Call, prefix: str = "") -> None:
        self._call = call
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        full = self._prefix + name
        if full in OFFERED:
            return partial(_perform, self._call, OFFERED[full])
        if any(known.startswith(f"{full}.") for known in OFFERED):
            return Operations(self._call, f"{full}.")
        raise AttributeError(f"there is no operation {full!r}")

    def __dir__(self) -> Iterable[str]:
        length = len(self._prefix)
        inside = (name[length:] for name in OFFERED if name.startswith(self._prefix))
        return sorted({name.partition(".")[0] for name in inside})


def _perform(call: Call, operation: Operation, **arguments: Any) -> Any:
    path = {name: arguments.pop(name) for name in operation.path_parameters if name in arguments}
    query, body = _taken(operation.query, arguments), _taken(operation.body, arguments)
    file = {"file": arguments.pop("file")} if operation.upload and "file" in arguments else {}
    missing = operation.path_parameters.keys() - path.keys()
    if operation.upload and not file:
        missing = {*missing, "file"}
    if arguments or missing:
        wrong = ", ".join(sorted(arguments)) or f"without {', '.join(sorted(missing))}"
        raise TypeError(f"{operation.name}: {wrong}")
    return call(operation, path=path, query=query, body=body, **file)


def _taken(model: type[WireModel] | None, arguments: dict[str, Any]) -> WireModel | None:
    """Make the model of those arguments that are its fields, and take them out."""
    if model is None:
        return None
    return model(**{name: arguments.pop(name) for name in model.model_fields if name in arguments})
