"""Canary: the password and token appear in nothing that xlbridge shows, whatever the answer.

Inside: client.
"""

import logging
import traceback
from collections.abc import Callable

import pytest
from scripted_server import (
    EMAIL,
    PASSWORD,
    TOKEN,
    ScriptedServer,
    Step,
    answer,
    reset,
)

from xlbridge.client import Client, Target, UploadFile
from xlbridge.client.outcomes import SecretRedactor
from xlbridge.client.session import build_call
from xlbridge.errors import XlbridgeError
from xlbridge.wire.imports import IMPORT
from xlbridge.wire.operations import AUTHENTICATE, SYSTEM_INFO, Credentials
from xlbridge.wire.sales import SALES_ORDER_LIST

ECHO = f"you sent Bearer {TOKEN}-1 and {PASSWORD}"
ANSWERS: list[Step] = [
    reset,
    answer(401, {"success": False, "errors": [{"key": "", "value": ECHO}]}),
    answer(400, {"success": False, "errors": [{"key": "", "value": ECHO}]}),
    answer(400, ECHO),
    answer(404, ECHO.encode(), "text/plain"),
    answer(500, ECHO.encode(), "text/plain"),
    answer(200, ("<html>" + " " * 60 + ECHO).encode(), "text/html"),
    answer(200, {"success": True, "data": {"codigoDaEmpresa": ECHO}}),
    answer(302, b"", Location=f"https://elsewhere.example/?token={TOKEN}-1"),
]
LOGINS: list[Step] = [
    answer(200, {"authenticated": False, "message": f"wrong: {PASSWORD}"}),
    answer(200, {"authenticated": True, "accessToken": f"{TOKEN}\r\nX: y"}),
    answer(200, f'{{"authenticated": true, "accessToken": "{TOKEN}'.encode()),
    answer(500, ECHO.encode(), "text/plain"),
]
USES: list[Callable[[Client], object]] = [
    lambda client: client.call(SYSTEM_INFO),
    lambda client: list(client.records(SALES_ORDER_LIST)),
    lambda client: client.send(
        IMPORT, path={"resource": "cliente"}, file=UploadFile("a.xlsx", b"PK")
    ),
    lambda client: client.login(),
    lambda client: client.raw("GET", "/v2/x").request.headers,
]


def everything_shown(use: Callable[[Client], object], client: Client) -> str:
    """Return everything that could be shown after a use of the client."""
    try:
        outcome = use(client)
    except XlbridgeError as error:
        parts = [str(error), repr(error), str(error.hint), *traceback.format_exception(error)]
        parts.append(repr(vars(error)))
    else:
        parts = [str(outcome), repr(outcome)]
    return "\n".join([*parts, repr(client), str(client)])


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("step", ANSWERS)
def test_no_answer_reveals_a_secret(
    server: ScriptedServer, client: Client, caplog: pytest.LogCaptureFixture, step: Step, use
) -> None:
    caplog.set_level(logging.INFO)
    server.steps = [step]
    everything = everything_shown(use, client) + caplog.text
    assert PASSWORD not in everything
    assert TOKEN not in everything


@pytest.mark.parametrize("login", LOGINS)
def test_no_login_reveals_a_secret(
    server: ScriptedServer, client: Client, caplog: pytest.LogCaptureFixture, login: Step
) -> None:
    caplog.set_level(logging.INFO)
    server.login = login
    everything = everything_shown(Client.login, client) + caplog.text
    assert PASSWORD not in everything
    assert TOKEN not in everything


def test_objects_with_secrets_do_not_show_them() -> None:
    credentials = Credentials(email=EMAIL, password=PASSWORD)
    target = Target("p", "https://erp.example.com", EMAIL, PASSWORD)
    call = build_call(AUTHENTICATE, {}, body=credentials)
    for holder in (credentials, target, call):
        assert PASSWORD not in f"{holder!r} {holder}"


@pytest.mark.parametrize(
    "shown",
    [
        'a"b/c&d ção😀',
        r"a\"b/c&d ção😀",
        r"a\"b\/c&d \u00e7\u00e3o\ud83d\ude00",
        r"a\u0022b/c\u0026d \u00E7\u00E3o\uD83D\uDE00",
    ],
)
def test_a_password_is_masked_however_json_spells_it(shown: str) -> None:
    """Servers differ in the characters that they escape."""
    redactor = SecretRedactor('a"b/c&d ção😀')
    assert redactor.redact(f'{{"sent": "{shown}"}}') == '{"sent": "•••"}'
