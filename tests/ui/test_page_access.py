"""Access is limited to the browser that opened the launch link, and to its own page."""

import json
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from environment import Xlbridge, clean_environment, credentials
from forked import Zygote
from running_page import RunningPage, page_key

from xlbridge.sandbox import RunningSandbox


@contextmanager
def enter(ui: RunningPage) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=ui.address, follow_redirects=True, timeout=60) as client:
        answer = client.get(ui.link)
        assert answer.status_code == 200
        client.headers["X-Page-Key"] = page_key(answer)
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
    assert "SameSite=lax" in cookie
    assert "Path=/" in cookie


@pytest.mark.parametrize("key", ["", "wrong"])
def test_the_cookie_alone_opens_nothing(ui: RunningPage, key: str) -> None:
    # Browsers send it to every port of this computer, also to those of other users.
    with enter(ui) as client:
        client.headers["X-Page-Key"] = key
        assert client.get("/").status_code == 200
        for path in ("/api/jobs", "/api/work", "/api/template?resource=cliente"):
            assert client.get(path).status_code == 403
        acted = client.post("/api/stop", json={}, headers={"Origin": ui.address})
        assert acted.status_code == 403


@pytest.mark.parametrize("method", ["HEAD", "POST"])
def test_only_opening_the_launch_link_uses_it_up(ui: RunningPage, method: str) -> None:
    answer = httpx.request(method, ui.link, headers={"Origin": ui.address}, timeout=60)
    assert (answer.status_code, answer.headers.get("set-cookie")) == (405, None)
    with enter(ui) as client:
        assert client.get("/api/jobs").status_code == 200


_BROWSER = """
import json, pathlib, re, sys, urllib.parse, urllib.request
folder, address = pathlib.Path(sys.argv[1]), sys.argv[2]
file = pathlib.Path(urllib.request.url2pathname(urllib.parse.urlsplit(address).path))
link = re.search(r'url=([^"]+)', file.read_text("utf-8"))[1]
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
with opener.open(link, timeout=30) as answer:
    seen = {"address": address, "mode": file.stat().st_mode & 0o777, "status": answer.status}
(folder / "seen.tmp").write_text(json.dumps(seen))
(folder / "seen.tmp").rename(folder / "seen.json")
"""


@pytest.mark.skipif(os.name != "posix", reason="BROWSER is a command line elsewhere")
def test_the_browser_is_opened_by_a_private_file_while_the_page_answers(
    tmp_path: Path, home: Path, forks: Zygote, system: RunningSandbox
) -> None:
    # The launch link in its command line could be read by every user of the computer.
    script, seen = tmp_path / "browser.py", tmp_path / "seen.json"
    script.write_text(_BROWSER, encoding="utf-8")
    browser = f"{shlex.quote(sys.executable)} {script} {tmp_path} %s"
    environment = clean_environment(home, BROWSER=browser, **credentials(system))
    log = tmp_path / "page.log"
    with forks.running(environment, ["ui"], log=log):
        deadline = time.monotonic() + 60
        while not seen.exists():
            assert time.monotonic() < deadline, log.read_text("utf-8")
            time.sleep(0.05)
    found = json.loads(seen.read_text("utf-8"))
    assert found["address"].startswith("file://")
    assert "launch/" not in found["address"]
    assert (found["mode"], found["status"]) == (0o600, 200)
    assert list(home.glob("**/*launch*")) == []


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


def test_the_command_opens_the_running_page_again(
    ui: RunningPage, xlbridge: Xlbridge, system: RunningSandbox
) -> None:
    with enter(ui) as first:
        again = xlbridge("ui", "--no-browser", **credentials(system))
        assert again.returncode == 0, again.stderr
        (link,) = re.findall(rf"{ui.address}/launch/\S+", again.stderr)
        with enter(replace(ui, link=link)) as second:
            for client in (first, second):
                assert client.get("/api/jobs").status_code == 200
    assert httpx.get(link, timeout=60).status_code == 403
    if os.name == "posix":
        assert (ui.home / "page.json").stat().st_mode & 0o777 == 0o600
    # Who does not know the secret of the private file gets no link.
    for headers in ({}, {"x-page-nonce": "1", "x-page-proof": "2"}):
        asked = httpx.post(f"{ui.address}/again", headers={**headers, "Origin": ui.address})
        assert asked.status_code == 403
