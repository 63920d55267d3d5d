"""Table of the interface: client call, handler, golden exchanges and tests of each operation.

Everything is looked up: the client's name in its groups, the handler in the sandbox's registry, the
exchanges in the golden files, the tests by the exchanges that parametrise them.
"""

import importlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlbridge.client import Client
from xlbridge.client.operation_attributes import AUTHENTICATED_OPERATIONS
from xlbridge.sandbox.area_declarations import HANDLERS
from xlbridge.wire import OPERATIONS, Operation
from xlbridge.wire.operations import AUTHENTICATE

SANDBOX_TEST = "tests/sandbox/test_golden_exchanges.py::test_exchange"
CLIENT_TEST = (
    "tests/client/test_golden_answers.py::test_the_client_sends_and_reads_the_golden_exchanges"
)
LOGIN_TEST = "tests/client/test_golden_answers.py::test_the_client_reads_the_golden_logins"

_ROOT = Path(__file__).parents[1]
_HEADER = ("Operation", "Client", "Sandbox", "Golden exchanges", "Sandbox tests", "Client tests")


@dataclass(frozen=True)
class Row:
    """What exists for one operation; fields are empty if nothing was found.

    ``exchanges`` are the files and names of the cases, the tests pytest's node ids.
    """

    operation: Operation
    call: str
    handler: str
    exchanges: tuple[tuple[str, str], ...]
    sandbox_tests: tuple[str, ...]
    client_tests: tuple[str, ...]


def interface() -> Iterator[str]:
    """Every operation, with what calls it, answers it, shows it and tests it."""
    yield "# Interface"
    yield "Each operation: how the client calls it, what of the sandbox answers it, the"
    yield "hand-written exchanges that show it, and the parameters of the tests that these drive."
    yield ""
    yield f"- Sandbox tests: `{SANDBOX_TEST}[…]`, whole exchanges over a bare HTTP client."
    yield f"- Client tests: `{CLIENT_TEST}[…]`, single steps;"
    yield f"  of the login `{LOGIN_TEST}[…]`."
    yield ""
    yield "A test fails when a cell is empty, or names what is not there."
    yield ""
    yield f"| {' | '.join(_HEADER)} |"
    yield f"|{'---|' * len(_HEADER)}"
    for row in rows():
        yield f"| {' | '.join(_cells(row))} |"


def rows() -> list[Row]:
    """Return the rows of all operations, in the order of their declaration."""
    importlib.import_module("xlbridge.sandbox.app")
    sys.path.append(str(_ROOT / "tests" / "golden"))
    steps: Any = importlib.import_module("golden_steps")
    cases = [(case, steps.operations_of(case)) for case in steps.golden_cases()]
    made = list(steps.client_steps())
    return [_row(operation, cases, made) for operation in OPERATIONS.values()]


def _row(operation: Operation, cases: list[tuple[Any, set[str]]], steps: list[Any]) -> Row:
    named = [case for case, names in cases if operation.name in names]
    named.sort(key=lambda case: case.operation != operation.name)
    client_tests = [f"{CLIENT_TEST}[{s.name}]" for s in steps if s.operation is operation]
    if operation is AUTHENTICATE:
        alone = (case for case, names in cases if names == {operation.name})
        client_tests = [f"{LOGIN_TEST}[{case.name}]" for case in alone]
    return Row(
        operation,
        _call(operation),
        _handler(operation),
        tuple((case.file, case.title) for case in named),
        tuple(f"{SANDBOX_TEST}[{case.name}]" for case in named),
        tuple(client_tests),
    )


def _call(operation: Operation) -> str:
    if operation is AUTHENTICATE:
        return f"client.{Client.login.__name__}()"
    return f"client.{operation.name}()" if operation.name in AUTHENTICATED_OPERATIONS else ""


def _handler(operation: Operation) -> str:
    handler = HANDLERS.get(operation.name)
    return f"{handler.source.__module__}.{handler.source.__name__}" if handler else ""


def _cells(row: Row) -> Iterator[str]:
    operation = row.operation
    anchor = operation.name.replace(".", "")
    yield f"[{operation.name}](operations.md#{anchor})<br>`{operation.method} {operation.path}`"
    yield f"`{row.call}`"
    module, _, function = row.handler.rpartition(".")
    file = module.replace(".", "/")
    area = module.removeprefix("xlbridge.sandbox.").removeprefix("areas.")
    yield f"[`{area}.{function}`](../../{file}.py)"
    yield _first([f"[{file}](../../tests/golden/{file}): {title}" for file, title in row.exchanges])
    for tests in (row.sandbox_tests, row.client_tests):
        yield _first([f"`{test.partition('[')[2][:-1]}`" for test in tests])


def _first(found: Sequence[str]) -> str:
    return f"{found[0]} (+{len(found) - 1})" if len(found) > 1 else "".join(found)
