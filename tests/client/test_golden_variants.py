"""The golden exchanges in every shape that the description allows or leaves open.

Each answer is varied in shape, spelling, types and status, as its exchange's column ``variants``
allows. Whatever the variant, a success is never taken for a refusal nor the reverse, no reason is
lost, and no value is read as another.
"""

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from answer_shapes import REFUSALS, SPELLINGS, TYPES, kind_of
from exchange_files import golden_cases, variant_sets
from golden_steps import ClientStep, client_steps, golden_answer, refusals_of
from pydantic import TypeAdapter
from sampling import sampled
from scripted_server import ScriptedServer, answer

from xlbridge.client import Client, UploadFile
from xlbridge.errors import InDoubt, RemoteRejected, XlbridgeError
from xlbridge.wire.imports import ImportRecords

Variant = tuple[str, ...]

UNPROVEN = {
    "list",
    "object",
    "plain text",
    "success with errors",
    "within a success",
    "within another object",
    "within a list",
    "no errors but a message",
    "upper case",
}
"""Refusals that a gateway may have answered, too, or that contradict themselves."""

_CHUNK = 50
_WORKBOOK = UploadFile("planilha.xlsx", b"PK the workbook")


def variants() -> Iterator[tuple[ClientStep, Variant]]:
    """Yield the variants of every answer that its exchange names."""
    for step in client_steps():
        chosen = step.variants
        if chosen is None:
            continue
        if not chosen.statuses:
            yield from ((step, ("refusal", shape)) for shape in chosen.shapes)
        else:
            axes = (chosen.shapes, chosen.spellings, chosen.types, map(str, chosen.statuses))
            yield from ((step, ("success", *one)) for one in product(*axes))


def varied_answer(step: ClientStep, variant: Variant) -> tuple[int, Any]:
    """Return the status and the body of a variant."""
    status, body = golden_answer(step.exchange)
    if variant[0] == "refusal":
        varied, document = REFUSALS[variant[1]](refusals_of(step.operation, step.exchange))
        return (status if status == 404 else varied), document
    _, shape, spelling, types, success = variant
    data = TYPES[types](body["data"])
    data = {"as the spec": data, "no data": None, "in a list": [data]}[shape]
    return int(success), SPELLINGS[spelling]({**body, "data": data})


def problem(step: ClientStep, variant: Variant, server: ScriptedServer, client: Client) -> str:
    """Return what the client made wrong of a variant, empty if nothing."""
    _, body = golden_answer(step.exchange)
    varied, document = varied_answer(step, variant)
    kind = kind_of(document) if isinstance(document, bytes) else "application/json"
    server.steps = [answer(varied, document, kind)]
    operation = step.operation
    file = _WORKBOOK if operation.upload else None
    try:
        data = client.call(operation, path=step.path, query=step.query, body=step.body, file=file)
    except RemoteRejected as error:
        if variant[0] == "success":
            return f"rejected: {error.message}"
        told = " ".join(detail.value for detail in error.details)
        lost = [
            item["value"]
            for item in refusals_of(step.operation, step.exchange)
            if item["value"] not in told
        ]
        return f"lost: {lost}" if lost and variant[1] != "object" else ""
    except XlbridgeError as error:
        return "" if may_be_unclear(step, variant, error) else f"{type(error).__name__}: {error}"
    if variant[0] == "refusal":
        return f"done: {data!r}"
    if variant[1] != "as the spec":
        return ""
    expected = TypeAdapter(operation.data).validate_python(body["data"])
    if isinstance(expected, ImportRecords):  # The records are told to nobody, their number is.
        data, expected = (one.model_copy(update={"registros": []}) for one in (data, expected))
    return "" if data == expected else f"{data!r} instead of {expected!r}"


def may_be_unclear(step: ClientStep, variant: Variant, error: XlbridgeError) -> bool:
    """Return whether the outcome may be left open after an answer, with its reasons.

    A refusal without an envelope may come from a gateway, or stands within a success. A success may
    lack what proves it: the payload of a purchase order, the id of a queued file.
    """
    if variant[0] == "success":
        return isinstance(error, InDoubt) and variant[1] != "as the spec"
    if variant[1] == "success with notifications":
        return isinstance(error, InDoubt)
    reasons = [one["value"] for one in refusals_of(step.operation, step.exchange)][
        : 1 if variant[1] == "object" else None
    ]
    return variant[1] in UNPROVEN and all(one in str(error) for one in reasons)


def chunks() -> Iterator[list[tuple[ClientStep, Variant]]]:
    """Yield all variants in chunks, mixed."""
    found = list(variants())
    random.Random(38).shuffle(found)
    for start in range(0, len(found), _CHUNK):
        yield found[start : start + _CHUNK]


@pytest.mark.parametrize("cases", sampled(chunks(), lambda index, _: index in {0, 1}))
def test_no_variant_of_an_answer_is_misread(
    server: ScriptedServer, client: Client, cases: list[tuple[ClientStep, Variant]]
) -> None:
    found = {
        (step.name, variant): wrong
        for step, variant in cases
        if (wrong := problem(step, variant, server, client))
    }
    assert not found


def test_every_operation_has_variants() -> None:
    every = {step.operation.name for step in client_steps()}
    assert {step.operation.name for step, _ in variants()} == every


def test_every_answer_with_an_envelope_has_variants() -> None:
    without = [step.name for step in client_steps() if step.variants is None]
    assert without == []


def test_every_set_of_variants_is_drawn() -> None:
    named = {name for case in golden_cases() for name in case.variants}
    assert named == variant_sets().keys()
    drawn = {id(step.variants) for step, _ in variants()}
    assert drawn == set(map(id, variant_sets().values()))
