"""Operations of the interface that a test says to exercise, and whether the system carried them
out.

``@pytest.mark.exercises("sales.orders.create")`` fails a test in whose run no request to that
operation's path was answered with success. Proxies and bare clients note their answers here.
"""

import re

from xlbridge.wire import OPERATIONS

_PARAMETER = re.compile(r"\\\{\w+\\\}")
_carried_out: list[tuple[str, str]] = []


def note_answer(method: str, path: str, status: int) -> None:
    """Note a request that the system has answered."""
    if status < 300:
        _carried_out.append((method, path.partition("?")[0]))


def was_carried_out(name: str) -> bool:
    """Tell whether a request to an operation was carried out since the test began."""
    operation = OPERATIONS[name]
    path = re.compile(_PARAMETER.sub("[^/]+", re.escape(operation.path)))
    return any(m == operation.method and path.fullmatch(p) for m, p in _carried_out)


def forget_answers() -> None:
    """Forget what was carried out: another test begins."""
    _carried_out.clear()
