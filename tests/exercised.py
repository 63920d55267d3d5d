"""Check that tests exercise the operations that they are marked with.

``@pytest.mark.exercises("sales.orders.create")`` fails a test during which no request to that
operation succeeded. Proxies and plain HTTP clients record their answers here.
"""

import re

from xlbridge.wire import OPERATIONS

_PARAMETER = re.compile(r"\\\{\w+\\\}")
_carried_out: list[tuple[str, str]] = []


def note_answer(method: str, path: str, status: int) -> None:
    """Record the answer to a request."""
    if status < 300:
        _carried_out.append((method, path.partition("?")[0]))


def was_carried_out(name: str) -> bool:
    """Return whether a request to an operation has succeeded since the test began."""
    operation = OPERATIONS[name]
    path = re.compile(_PARAMETER.sub("[^/]+", re.escape(operation.path)))
    return any(m == operation.method and path.fullmatch(p) for m, p in _carried_out)


def forget_answers() -> None:
    """Clear the record before another test."""
    _carried_out.clear()
