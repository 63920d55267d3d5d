"""Rows of every sheet, created one by one through the operation in the schema file."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import httpx
import pandas as pd
import pytest
from exercised import note_answer
from good_rows import MAKERS, make_rows
from servers import log_in, sandbox_on

from xlbridge.resources import Resource, load_catalogue
from xlbridge.wire import WireModel

CREATED = [
    pytest.param(one, id=one.name, marks=pytest.mark.exercises(one.create.operation_name))
    for one in load_catalogue().values()
    if one.create is not None
]


@cache
def good_rows(resource: str) -> list[dict[str, Any]]:
    return make_rows(resource, min(12, MAKERS[resource][1]), "creations")


def as_json(model: type[WireModel], row: dict[str, Any]) -> dict[str, Any]:
    filled = {n: pd.Timestamp(v) if hasattr(v, "month") else v for n, v in row.items()}
    record = model.model_validate({n: v for n, v in filled.items() if v is not None})
    sent: dict[str, Any] = record.model_dump(mode="json", by_alias=True, exclude_none=True)
    return sent


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A sandbox without inventories of other tests."""
    folder = tmp_path_factory.mktemp("creations")
    with sandbox_on(folder, few=True) as running, log_in(running) as client:
        client.event_hooks = {"response": [_note]}
        yield client


def _note(answer: httpx.Response) -> None:
    request = answer.request
    note_answer(request.method, request.url.path, answer.status_code)


def assert_same(got: Any, sent: Any) -> None:
    """Compare values; in lists, only the fields that were sent."""
    if isinstance(sent, list):
        assert len(got) == len(sent)
        for item, expected in zip(got, sent, strict=True):
            assert {name: item[name] for name in expected} == expected
    else:
        assert got == sent


@pytest.mark.parametrize("resource", CREATED)
def test_good_rows_are_accepted_and_returned(fresh: httpx.Client, resource: Resource) -> None:
    assert resource.create is not None
    operation, model = resource.create.operation, resource.row_model
    assert operation.body is not None
    assert model is not None
    assert issubclass(model, operation.body)
    more = model.model_fields.keys() - operation.body.model_fields.keys()
    assert more == resource.create.lists.keys()
    for row in good_rows(resource.name):
        body = as_json(operation.body, row)
        answer = fresh.post(operation.path, json=body)
        assert answer.status_code == 200, (row, answer.text)
        data = answer.json()["data"]
        shared = data.keys() & body.keys()
        for name in shared:
            if body[name] != []:
                assert_same(data[name], body[name])
        if resource.read_back is not None:
            created = data["payload"] if operation.refuses_in_data else data
            assert None not in [created[name] for name in resource.read_back.codes]
