"""Access is limited to the browser that opened the launch link, and to its own page."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from running_page import RunningPage

from xlbridge.sandbox import RunningSandbox


@contextmanager
def enter(ui: RunningPage) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=ui.address, follow_redirects=True, timeout=60) as client:
        assert client.get(ui.link).status_code == 200
        yield client


def test_the_launch_link_works_once(ui: RunningPage) -> None:
    assert httpx.get(ui.address, timeout=60).status_code == 403
    with enter(ui) as client:
        assert client.get("/").status_code == 200
        assert client.get(ui.link).status_code == 403
    assert httpx.get(ui.link, timeout=60).status_code == 403


def test_the_cookie_is_for_this_page_alone(ui: RunningPage) -> None:
    cookie = httpx.get(ui.link, timeout=60).headers["set-cookie"]
    assert cookie.startswith(f"xlbridge-{urlsplit(ui.address).port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "OWN", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "OWN", "Host": "evil.example"},
    ],
)
def test_a_foreign_page_cannot_act(ui: RunningPage, headers: dict[str, str]) -> None:
    sent = {name: ui.address if it == "OWN" else it for name, it in headers.items()}
    with enter(ui) as client:
        assert client.post("/api/stop", json={}, headers=sent).status_code == 403
        assert client.get("/").status_code == 200


def test_a_foreign_page_cannot_read(ui: RunningPage) -> None:
    with enter(ui) as client:
        assert client.get("/api/jobs").status_code == 200
        foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
        assert client.get("/api/jobs", headers=foreign).status_code == 403
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 403


def test_every_answer_has_the_strict_policy(ui: RunningPage) -> None:
    with enter(ui) as client:
        for path in ("/", "/files/page.js", "/api/jobs", "/nowhere"):
            headers = client.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "require-trusted-types-for 'script'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
        assert "style=" not in client.get("/").text


def test_no_answer_holds_the_password(ui: RunningPage, empty_sandbox: RunningSandbox) -> None:
    with enter(ui) as client:
        client.post("/api/export", json={"listing": "clientes"}, headers={"Origin": ui.address})
        paths = ("/", "/files/page.js", "/api/jobs", "/api/sheet", "/api/exported?listing=clientes")
        answers = [client.get(path) for path in paths]
    assert all(empty_sandbox.password not in answer.text for answer in answers)
    assert empty_sandbox.password not in ui.ready_file.read_text("utf-8")


def test_end_button_stops_the_page(ui: RunningPage) -> None:
    with enter(ui) as client:
        answer = client.post("/api/stop", json={}, headers={"Origin": ui.address})
        assert answer.status_code == 200
