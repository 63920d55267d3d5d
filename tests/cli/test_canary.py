"""No command shows a password or token, or leaves one behind.

Inside: cli.
"""

import io
import json
import logging
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from environment import ROOT, clean_environment
from sandboxes import sandbox_process

from xlbridge.cli.help import COMMANDS
from xlbridge.cli.main import main
from xlbridge.sandbox import RunningSandbox

SHEETS = ("cliente.xlsx", "cliente-com-erros.xlsx")
PLAN = """\
name: canary
steps:
  clients:
    upload: cliente*.xlsx
    resource: cliente
  listing:
    export: clientes
    output: listing.xlsx
"""
CRASHED = 70
ELSEWHERE = "http://127.0.0.1:9"
NOT_HERE = {"sandbox", "ui"}
"""``sandbox`` shows its user the password that it made for them; ``ui`` has a test of its own, and
so has ``batch rehearse``, which takes processes: ``batch/test_rehearsal.py``."""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningSandbox]:
    server_home = tmp_path / "server"
    options = ["--seed", "empty"]
    with sandbox_process(server_home, options, clean_environment(server_home)) as process:
        yield process


def command_lines(running: RunningSandbox, folder: Path) -> Iterator[list[str]]:
    """Yield every command in every form, where it works and where it does not."""
    sheet, bad = (str(shutil.copy(ROOT / "samples" / name, folder)) for name in SHEETS)
    password = running.password
    credentials = json.dumps({"email": running.email, "password": password})
    made = ["--url", running.base_url, "--email", running.email, "--no-production"]
    yield ["login", "--profile", "dev", *made, "--password-stdin", "--store", "file"]
    yield ["profiles", "--default", "dev"]
    for name in ("login", "whoami", "profiles", "doctor", "jobs", "resources", "listings"):
        yield [name]
        yield [name, "--format", "json"]
    yield ["--lang", "pt-BR", "whoami"]
    yield ["api", "get", "/v2/sistema/info"]
    yield ["api", "post", "/v2/cliente", "--data", credentials]
    yield ["api", "post", "/v2/autenticar", "--data", credentials]
    yield ["api", "get", "/v2/nothing", "--query", "x=1"]
    yield ["template", "cliente", "-o", str(folder / "template.xlsx")]
    yield ["validate", sheet, "--online", "--format", "html", "-o", str(folder / "report.html")]
    yield ["validate", bad, "--annotate", str(folder / "marked.xlsx")]
    yield ["map", sheet, "-o", str(folder / "mapping.yaml")]
    yield ["upload", sheet, "--mode", "preview"]
    yield ["upload", sheet, "--yes", "--mode", "queue", "--no-wait"]
    yield ["resume", "--yes"]
    yield ["upload", sheet, "--yes", "--again", "test", "--format", "json"]
    yield ["upload", bad, "--yes"]
    yield ["retry", "unknown"]
    yield ["undo", "unknown"]
    yield ["process", "pedidos", "--id", "1", "--yes"]
    yield ["resolve", "unknown", "--as", "applied", "--reason", "seen"]
    plan = folder / "plan.yaml"
    plan.write_text(PLAN, encoding="utf-8")
    yield ["batch", "plan", str(plan)]
    yield ["batch", "run", str(plan), "--yes", "--format", "json"]
    yield ["batch", "resume", "--yes"]
    yield ["batch", "status", "canary"]
    yield ["batch", "proof"]
    for form in ("xlsx", "csv", "jsonl"):
        manifest = str(folder / f"{form}.json")
        yield ["export", "clientes", "-o", str(folder / f"c.{form}"), "--manifest", manifest]
    yield ["profiles", "--remove", "dev"]


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield every file's bytes; of workbooks and archives those of their parts too."""
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        whole = path.read_bytes()
        yield path, whole
        if whole.startswith(b"PK"):
            with zipfile.ZipFile(path) as archive:
                for part in archive.namelist():
                    yield path / part, archive.read(part)


def is_private(path: Path) -> bool:
    """Tell whether a file is one of those that are there to keep secrets."""
    return path.parent.name in {"secrets", "tokens"} or path.name.startswith("sandbox-user-")


def test_no_command_lets_a_secret_out(
    running: RunningSandbox,
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="xlbridge")
    caplog.set_level(logging.INFO)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XLBRIDGE_HOME", str(home))
    for name in ("BASE_URL", "EMAIL", "PASSWORD", "PROFILE", "CA_BUNDLE"):
        monkeypatch.delenv(f"XLBRIDGE_{name}", raising=False)
    shown, used = "", set()
    for line in command_lines(running, tmp_path):
        used |= {word for word in line if word in COMMANDS}
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{running.password}\n"))
        assert main(line) != CRASHED, line
        captured = capfd.readouterr()
        shown += f"\n$ {line[:2]}\n{captured.out}{captured.err}"
    monkeypatch.setenv("XLBRIDGE_PASSWORD", running.password)
    monkeypatch.setenv("XLBRIDGE_EMAIL", running.email)
    for address in (ELSEWHERE, f"https://x:{running.password}@example.com", running.base_url):
        monkeypatch.setenv("XLBRIDGE_BASE_URL", address)
        for name in ("login", "whoami", "profiles", "doctor"):
            main([name])
            captured = capfd.readouterr()
            shown += captured.out + captured.err
    assert (home / "profiles" / "dev" / "journal.db").exists()
    assert not (home / "journal.db").exists()
    tokens = {json.loads(f.read_text("utf-8"))["token"] for f in home.glob("tokens/*.json")}
    assert tokens
    assert used >= set(COMMANDS) - NOT_HERE
    secrets = {running.password, *tokens}
    leaking = [
        line for line in (shown + caplog.text).splitlines() if any(s in line for s in secrets)
    ]
    assert leaking == []
    left = [
        str(path)
        for path, content in contents(tmp_path)
        if not is_private(path) and any(secret.encode() in content for secret in secrets)
    ]
    assert left == []
