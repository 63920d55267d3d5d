"""Operations of the golden exchanges, and their steps as calls of our client."""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

from exchange_files import (
    Case,
    Step,
    VariantSet,
    example,
    filled,
    golden_cases,
    variant_sets,
)
from pydantic import TypeAdapter, ValidationError

from xlbridge.wire import OPERATIONS, Operation, WireModel

SAVED: dict[str, Any] = defaultdict(lambda: 7, email="a@b.com", password="secret")
"""Values that earlier steps would have saved."""


@dataclass(frozen=True)
class ClientStep:
    """A step as a call of our client: operation, path, query, body or workbook; with the variants
    of its answer, if its exchange names any."""

    name: str
    operation: Operation
    exchange: Step
    path: dict[str, Any]
    query: WireModel | None
    body: WireModel | None
    workbook: list[Any] | None
    variants: VariantSet | None


def operation_of(request: dict[str, Any]) -> tuple[Operation, dict[str, str]] | None:
    """Return the operation that a request is for, and the values in its path."""
    matches = []
    for operation in OPERATIONS.values():
        if operation.method != request["method"]:
            continue
        if match := _pattern(operation.path).fullmatch(request["path"]):
            matches.append((len(match.groupdict()), operation, match.groupdict()))
    return min(matches, key=lambda item: item[0])[1:] if matches else None


@cache
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path))


def operations_of(case: Case) -> set[str]:
    """Return the names of all operations that a case makes requests for."""
    matches = (operation_of(filled(step.request, SAVED)) for step in case.steps)
    return {operation.name for operation, _ in filter(None, matches)}


@cache
def client_steps() -> tuple[ClientStep, ...]:
    """Return every step whose request our client can send and whose response it can read.

    It cannot send what our types exclude (a wrong type, a broken body, another token), and does
    not accept responses without the key of a record.
    """
    steps = (
        _client_step(f"{case.name}-{number}", step, case)
        for case in golden_cases()
        for number, step in enumerate(case.steps)
    )
    return tuple(step for step in steps if step is not None and _has_valid_response(step))


def _client_step(name: str, step: Step, case: Case) -> ClientStep | None:
    request = filled(step.request, SAVED)
    match = operation_of(request)
    if match is None or {"file", "text", "token"} & request.keys():
        return None
    operation, values = match
    if operation.upload != ("workbook" in request):
        return None
    try:
        path = {key: operation.path_parameters[key](value) for key, value in values.items()}
        query = operation.query and operation.query.model_validate(request.get("query", {}))
        body = operation.body and operation.body.model_validate(request.get("json"))
    except (ValidationError, ValueError):
        return None
    if body is not None and _is_corrected(request["json"], body):
        return None
    variants = _variants_of(case, operation, step)
    return ClientStep(name, operation, step, path, query, body, request.get("workbook"), variants)


def golden_answer(step: Step) -> tuple[int, Any]:
    """Return the status and the body of the answer in a step."""
    return step.response["status"], example(filled(step.response.get("body"), SAVED))


def refusals_of(operation: Operation, step: Step) -> list[dict[str, str]]:
    """Return the reasons of a refusal, none if the answer in a step is a success."""
    _, body = golden_answer(step)
    if not isinstance(body, dict):
        return [{"key": "", "value": str(body)}]
    if operation.refuses_in_data and body["success"]:
        return list(body["data"]["notifications"])
    return list(body.get("errors") or ())


def _variants_of(case: Case, operation: Operation, step: Step) -> VariantSet | None:
    """Return the variants of an answer, None if its exchange names none."""
    is_refusal = bool(refusals_of(operation, step))
    for name, one in variant_sets().items():
        is_about = operation.method in one.methods and step.response["status"] in one.answers
        is_about = is_about and one.operation in (None, operation.name)
        if name in case.variants and is_about and is_refusal is not bool(one.statuses):
            return one
    return None


def _is_corrected(request: dict[str, Any], body: WireModel) -> bool:
    """Return whether our types corrected the intended error of a request."""
    dumped = body.model_dump(mode="json", by_alias=True)
    return any(type(dumped.get(k)) is not type(v) for k, v in request.items() if isinstance(v, str))


@cache
def _answer_of(operation: str) -> TypeAdapter[Any]:
    return TypeAdapter(OPERATIONS[operation].data)


def _has_valid_response(client_step: ClientStep) -> bool:
    if client_step.exchange.response["status"] != 200 or not client_step.operation.enveloped:
        return client_step.operation.enveloped
    body = example(filled(client_step.exchange.response["body"], SAVED))
    try:
        _answer_of(client_step.operation.name).validate_python(body.get("data"))
    except ValidationError:
        return False
    return True
