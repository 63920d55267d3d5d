"""Which operation each step of a golden exchange is for, and what our client makes of the step."""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

from exchange_files import Case, Step, example, filled, golden_cases
from pydantic import TypeAdapter, ValidationError

from xlbridge.wire import OPERATIONS, Operation, WireModel

SAVED: dict[str, Any] = defaultdict(lambda: 7, email="a@b.com", password="secret")
"""What earlier steps would have saved."""


@dataclass(frozen=True)
class ClientStep:
    """A step that our client can make: with an operation, and its path, query, body or file."""

    name: str
    operation: Operation
    step: Step
    path: dict[str, Any]
    query: WireModel | None
    body: WireModel | None
    workbook: list[Any] | None


def operation_of(request: dict[str, Any]) -> tuple[Operation, dict[str, str]] | None:
    """Return the operation that a request is for, and the values in its path."""
    found = []
    for operation in OPERATIONS.values():
        if operation.method != request["method"]:
            continue
        if match := _pattern(operation.path).fullmatch(request["path"]):
            found.append((len(match.groupdict()), operation, match.groupdict()))
    return min(found, key=lambda item: item[0])[1:] if found else None


@cache
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path))


def operations_of(case: Case) -> set[str]:
    """Return the names of all operations that a case makes requests for."""
    found = (operation_of(filled(step.request, SAVED)) for step in case.steps)
    return {operation.name for operation, _ in filter(None, found)}


@cache
def client_steps() -> tuple[ClientStep, ...]:
    """Return every step of every file that our client can make, and whose answer is for it.

    What our types cannot say (a wrong type, a broken body, another token) it cannot be made to
    ask; an answer that leaves out what identifies a record is no answer to it.
    """
    made = (
        _client_step(f"{case.name}-{number}", step)
        for case in golden_cases()
        for number, step in enumerate(case.steps)
    )
    return tuple(step for step in made if step is not None and _is_answer(step))


def _client_step(name: str, step: Step) -> ClientStep | None:
    request = filled(step.request, SAVED)
    found = operation_of(request)
    if found is None or {"file", "text", "token"} & request.keys():
        return None
    operation, values = found
    if operation.upload != ("workbook" in request):
        return None
    try:
        path = {key: operation.path_parameters[key](value) for key, value in values.items()}
        query = operation.query and operation.query.model_validate(request.get("query", {}))
        body = operation.body and operation.body.model_validate(request.get("json"))
    except (ValidationError, ValueError):
        return None
    if body is not None and _is_mended(request["json"], body):
        return None
    return ClientStep(name, operation, step, path, query, body, request.get("workbook"))


def _is_mended(asked: dict[str, Any], body: WireModel) -> bool:
    """Return whether our types corrected the intended error of a request."""
    said = body.model_dump(mode="json", by_alias=True)
    return any(type(said.get(k)) is not type(v) for k, v in asked.items() if isinstance(v, str))


@cache
def _answer_of(operation: str) -> TypeAdapter[Any]:
    return TypeAdapter(OPERATIONS[operation].data)


def _is_answer(made: ClientStep) -> bool:
    if made.step.response["status"] != 200 or not made.operation.enveloped:
        return made.operation.enveloped
    body = example(filled(made.step.response["body"], SAVED))
    try:
        _answer_of(made.operation.name).validate_python(body.get("data"))
    except ValidationError:
        return False
    return True
