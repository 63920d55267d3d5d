"""Security: addresses, credentials, limits of uploads.

Inside: sandbox.
"""

import hmac
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from environment import Xlbridge, clean_environment
from sampling import across
from servers import Start, log_in
from test_durability import wait_for
from workbooks import upload, workbook

from xlbridge.errors import WorkbookRefused
from xlbridge.resources import Catalogue
from xlbridge.sandbox import RunningSandbox, open_database, prepare_account
from xlbridge.sandbox.storage import Storage, database_url
from xlbridge.sandbox.users import create_token, find_token_owner, find_user
from xlbridge.settings import Settings
from xlbridge.validation import validate_workbook

ROWS = [["nomeComercial"], ["Casa da Ponte"]]
MEGABYTE = 2**20


@contextmanager
def exposed(home: Path, *options: str) -> Iterator[RunningSandbox]:
    """An exposed sandbox, with a password set by the user."""
    ready = home / "ready.json"
    command = [sys.executable, "-m", "xlbridge", "sandbox", "--seed", "empty", *options]
    environment = clean_environment(home, XLBRIDGE_PASSWORD="a password of one's accepted")
    with subprocess.Popen([*command, "--ready-file", str(ready)], env=environment) as process:
        try:
            yield wait_for(ready)
        finally:
            process.terminate()


def status_under(server: RunningSandbox, host: str) -> int:
    login = {"email": server.email, "password": server.password}
    address = f"http://127.0.0.1:{urlsplit(server.base_url).port}/v2/autenticar"
    return httpx.post(address, json=login, headers={"Host": host}, verify=False).status_code


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a whole network of loopbacks")
def test_sandbox_listens_on_one_loopback_address_only(server: RunningSandbox) -> None:
    port = urlsplit(server.base_url).port
    assert urlsplit(server.base_url).hostname == "127.0.0.1"
    socket.create_connection(("127.0.0.1", port)).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port))


@pytest.mark.processes
def test_a_password_of_the_users_is_not_printed(tmp_path: Path) -> None:
    password = "a password of one's own"
    command = [sys.executable, "-m", "xlbridge", "sandbox", "--seed", "empty", "--while-stdin-open"]
    environment = clean_environment(tmp_path, XLBRIDGE_PASSWORD=password)
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, encoding="utf-8", **pipes) as process:
        assert process.stderr is not None
        shown = []
        while not shown or "XLBRIDGE_PROFILE" not in shown[-1]:
            shown.append(process.stderr.readline())
            assert shown[-1], shown
        process.communicate("")
    assert any("XLBRIDGE_PASSWORD" in line for line in shown)
    assert not any(password in line for line in shown)


@pytest.mark.parametrize("password", ["", "1", "elevenchars"])
def test_an_exposed_sandbox_needs_a_long_password(xlbridge: Xlbridge, password: str) -> None:
    refused = xlbridge("sandbox", "--expose", "0.0.0.0", XLBRIDGE_PASSWORD=password)
    assert (refused.returncode, "12 characters" in refused.stderr) == (2, True), refused.stderr


@pytest.mark.processes
def test_an_exposed_sandbox_accepts_addresses_and_its_host_names(tmp_path: Path) -> None:
    with exposed(tmp_path, "--expose", "0.0.0.0", "--host-name", "Rehearsal.example") as server:
        # Its own address is one that a client on this computer can use.
        assert urlsplit(server.base_url).hostname == "127.0.0.1"
        accepted = ["rehearsal.example:80", "192.168.7.7", "[fe80::1]:8000", "localhost"]
        for host in (*accepted, socket.gethostname()):
            assert status_under(server, host) == 200
        for host in ("evil.example", "192.168.7.7.evil.example", "rehearsal.example.evil", ""):
            assert status_under(server, host) == 400


def test_two_sandboxes_share_neither_tokens_nor_data(start: Start, tmp_path: Path) -> None:
    production = start("--seed", "empty", home=tmp_path / "production")
    development = start("--seed", "empty", home=tmp_path / "development")
    with log_in(production) as one, log_in(development) as other:
        assert one.post("/v2/cliente", json={"nomeComercial": "Só aqui"}).status_code == 200
        assert other.get("/v2/cliente").json()["data"] == []
        token = one.headers["Authorization"]
        assert other.get("/v2/cliente", headers={"Authorization": token}).status_code == 401
        login = {"email": production.email, "password": production.password}
        assert other.post("/v2/autenticar", json=login).json()["authenticated"] is False


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    opened = open_database(database_url(str(tmp_path / "accepted.db")))
    yield opened
    opened.close()


def test_tokens_are_random_and_end(storage: Storage, tmp_path: Path) -> None:
    account = prepare_account(storage, Settings(home=tmp_path))
    now, lifetime = datetime(2026, 11, 21, 10), timedelta(minutes=5)
    with storage.transaction(writing=True) as connection:
        user = find_user(connection, account.email, account.password)
        assert user is not None
        texts = [create_token(connection, user, now, lifetime).text for _ in range(50)]
        assert find_token_owner(connection, texts[0], now + lifetime - timedelta(seconds=1)) == user
        assert find_token_owner(connection, texts[0], now + lifetime) is None
        assert find_token_owner(connection, texts[0] + "x", now) is None
    assert len(set(texts)) == 50
    assert min(map(len, texts)) >= 64
    assert len({text[:8] for text in texts}) == 50


def test_secrets_are_compared_in_constant_time(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = prepare_account(storage, Settings(home=tmp_path))
    compared: list[int] = []

    def spy(left: str | bytes, right: str | bytes) -> bool:
        compared.append(len(left))
        return left == right

    monkeypatch.setattr(hmac, "compare_digest", spy)
    with storage.transaction(writing=True) as connection:
        for email in (account.email, "nobody@example.com"):
            for password in (account.password, "wrong"):
                find_user(connection, email, password)
        # The same work is done for users who do not exist.
        assert len(compared) == 4
        assert len(set(compared)) == 1


def test_a_body_that_is_declared_too_long_is_not_read(
    server: RunningSandbox, http: httpx.Client
) -> None:
    address = urlsplit(server.base_url)
    head = (
        "POST /v2/importacao/cliente HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        f"Authorization: {http.headers['Authorization']}\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 9999999999\r\n\r\n"
    )
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.skipif(sys.platform != "linux", reason="the most memory used is read from /proc")
@pytest.mark.parametrize("path", ["/v2/importacao/cliente", "/v2/cliente"])
def test_a_large_body_is_refused_without_being_kept_in_memory(start: Start, path: str) -> None:
    server = start("--seed", "empty", own_process=True)

    def body() -> Iterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="ArquivoExcel"; '
        yield b'filename="a.xlsx"\r\n\r\n'
        for _ in range(300):
            yield bytes(MEGABYTE)

    media_type = "multipart/form-data; boundary=x" if "importacao" in path else "application/json"
    with log_in(server) as http:
        before = peak(server.pid)
        refused = http.post(path, content=body(), headers={"Content-Type": media_type})
        assert (refused.status_code, refused.json()["success"]) == (413, False)
        assert peak(server.pid) - before < 120 * MEGABYTE


def peak(pid: int) -> int:
    """Return the peak memory of a process in bytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize(
    "name", ["a.xls", "a.csv", "a.xlsx.exe", "a", ".xlsx/a", "x" * 251 + ".xlsx"]
)
@pytest.mark.parametrize("path", ["/v2/importacao/cliente", "/v2/importacao/cliente/fila"])
def test_a_file_name_other_than_xlsx_is_refused(http: httpx.Client, path: str, name: str) -> None:
    refused = http.post(path, files=upload(ROWS, name))
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["key"] == "ArquivoExcel"


def form_with(
    name: bytes, media_type: str = "multipart/form-data; boundary=x"
) -> dict[str, object]:
    """Return a form with an arbitrary file name."""
    content = b"\r\n".join(
        [
            b"--x",
            b'Content-Disposition: form-data; name="ArquivoExcel"; filename="' + name + b'"',
            b"",
            workbook(ROWS),
            b"--x--",
            b"",
        ]
    )
    return {"content": content, "headers": {"Content-Type": media_type}}


NAMES = {
    b"../../up.xlsx": "up.xlsx",
    b"/etc/cron.d/root.xlsx": "root.xlsx",
    b"C:\\\\Windows\\\\win.xlsx": "win.xlsx",
    b"\\\\\\\\server\\\\share\\\\unc.xlsx": "unc.xlsx",
    b"CON.xlsx": "CON.xlsx",
    b"NUL.xlsx": "NUL.xlsx",
    b"COM1.xlsx": "COM1.xlsx",
    b"a:stream.xlsx": "a:stream.xlsx",
    b"..xlsx": "..xlsx",
    "relatório ção.XLSX".encode(): "relatório ção.XLSX",
}
"""Names of uploads, and the names stored."""


def test_folders_in_a_name_are_dropped_and_no_name_becomes_a_file(
    start: Start, tmp_path: Path
) -> None:
    with log_in(start("--seed", "empty")) as http:
        before = {path.name for path in tmp_path.rglob("*")}
        for name, kept in NAMES.items():
            log_id = http.post("/v2/importacao/cliente/fila", **form_with(name)).json()["data"]
            log = http.get(f"/v2/importacao/log-importacao/{log_id}").json()["data"]
            assert log["nomeDoArquivo"] == kept
        after = {path.name for path in tmp_path.rglob("*")}
    assert after - before <= {"sandbox.db-wal", "sandbox.db-shm"}


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        (b"a\x00.xlsx", "multipart/form-data; boundary=x"),
        (b"a.xlsx", "multipart/form-data; boundary=x; charset=undefined"),
        (b"a.xlsx", "multipart/form-data; boundary=x; charset=idna"),
        (b"\xff\xfe.xlsx", "multipart/form-data; boundary=x; charset=utf-16"),
    ],
)
def test_an_odd_form_never_causes_an_internal_error(
    http: httpx.Client, name: bytes, media_type: str
) -> None:
    answer = http.post(
        "/v2/importacao/cliente", params={"preview": "true"}, **form_with(name, media_type)
    )
    assert answer.status_code in (200, 400)


def repacked(rows: list[list[str]], part: str, content: bytes, folder: Path) -> bytes:
    """Return a workbook with the content of one part replaced."""
    (folder / "good.xlsx").write_bytes(workbook(rows))
    target = folder / "repacked.xlsx"
    with zipfile.ZipFile(folder / "good.xlsx") as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, content if entry.filename == part else old.read(entry))
        if part not in old.namelist():
            new.writestr(part, content)
    return target.read_bytes()


FAR_APART = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    b'<row r="1"><c r="A1"><v>1</v></c></row>'
    b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'
)
DECLARED = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><worksheet/>'
SHEET = "xl/worksheets/sheet1.xml"


HOSTILE = {
    "far-apart": (SHEET, FAR_APART),
    "dtd": (SHEET, DECLARED),
    "climbing": ("xl/../../up.xml", b"<a/>"),
    "broken": (SHEET, b"<worksheet"),
}


@pytest.mark.parametrize(
    ("name", "path"),
    across([*HOSTILE], ["/v2/importacao/cliente", "/v2/importacao/cliente/fila"]),
)
def test_a_hostile_workbook_is_refused_as_the_client_refuses_it(
    http: httpx.Client, catalogue: Catalogue, tmp_path: Path, name: str, path: str
) -> None:
    hostile = repacked(ROWS, *HOSTILE[name], tmp_path)
    refused = http.post(path, files={"ArquivoExcel": ("a.xlsx", hostile)})
    with pytest.raises(WorkbookRefused) as caught:
        validate_workbook(tmp_path / "repacked.xlsx", catalogue, resource="cliente")
    assert refused.status_code == 400
    assert [(e["key"], e["value"]) for e in refused.json()["errors"]] == [
        ("ArquivoExcel", caught.value.message.pt)
    ]
