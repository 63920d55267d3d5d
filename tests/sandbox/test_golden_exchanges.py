"""The sandbox's responses to a bare HTTP client match the golden exchanges."""

import time
from typing import Any

import httpx
import pytest
from exchange_files import Case, Step, filled, found_at, golden_cases, mismatches
from workbooks import upload

from xlbridge.sandbox import RunningSandbox
from xlbridge.wire import OPERATIONS

POLLS = 600
CASES = golden_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_exchange(case: Case, http: httpx.Client, server: RunningSandbox) -> None:
    saved: dict[str, Any] = {"email": server.email, "password": server.password}
    for step in case.steps:
        response = perform(http, step, saved)
        wanted = filled(step.response, saved)
        assert response.status_code == wanted["status"], response.text
        assert list(mismatches(wanted["body"], response.json())) == [], case.spec
        for name, path in step.save.items():
            saved[name] = found_at(path, response.json())


def test_every_operation_has_an_exchange() -> None:
    assert {case.operation for case in CASES} >= set(OPERATIONS)


def perform(http: httpx.Client, step: Step, saved: dict[str, Any]) -> httpx.Response:
    for _ in range(POLLS):
        response = send(http, filled(step.request, saved))
        document = response.json()
        if all(found_at(path, document) == value for path, value in step.until.items()):
            return response
        time.sleep(0.05)
    raise AssertionError(f"{step.until} was never reached")


def send(http: httpx.Client, request: dict[str, Any]) -> httpx.Response:
    headers = {}
    if "token" in request:
        token = request["token"]
        headers["Authorization"] = "" if token == "none" else f"Bearer {token}"
    if "type" in request:
        headers["Content-Type"] = request["type"]
    files = None
    if "workbook" in request:
        files = upload(request["workbook"], request.get("filename", "planilha.xlsx"))
    elif "file" in request:
        files = {"ArquivoExcel": ("planilha.xlsx", request["file"].encode())}
    return http.request(
        request["method"],
        request["path"],
        params=request.get("query"),
        json=request.get("json"),
        content=request.get("text"),
        files=files,
        headers=headers,
    )
