"""Records sent by another computer are looked up in the system, and not sent twice."""

import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

from environment import Xlbridge, clean_environment, credentials
from forked import Zygote
from lossy_proxy import LossyProxy, ProxyFault
from openpyxl import load_workbook
from sheets import data_sheet, header_of
from upload_parts import MakeClients, new_cnpj

from xlbridge.client import Client
from xlbridge.sandbox import RunningSandbox


def histories_of(client: Client, document: str) -> list[str | None]:
    """Return the histories of the open titles with a document number."""
    found = client.financial.receivables.list_open()
    return [title.historico for title in found if title.numeroDoDocumento == document]


def upload(xlbridge: Xlbridge, path: Path, *options: str, **environment: str) -> tuple[int, dict]:
    done = xlbridge("upload", path, "--yes", "--format", "json", *options, **environment)
    return done.returncode, json.loads(done.stdout)


def test_rows_that_differ_from_their_record_are_held_with_both_values(
    xlbridge: Xlbridge,
    sandbox: RunningSandbox,
    tmp_path: Path,
    client: Client,
    customer: int,
    make_receivables: Callable[..., Path],
) -> None:
    environment = credentials(sandbox)
    code, _ = upload(xlbridge, make_receivables(customer, "OTHER-1", "Mensalidade"), **environment)
    assert code == 0
    colleague = environment | {"XLBRIDGE_HOME": str(tmp_path / "colleague")}
    edited = make_receivables(customer, "OTHER-1", "Outro texto", name="edited.xlsx")
    code, held = upload(xlbridge, edited, **colleague)
    assert (code, held["state"], held["rows"]["held"]) == (1, "done", 1)
    (row,) = held["not_created"]
    assert (row["row"], row["action"], row["reason"]) == (2, "held", "cannot-change")
    assert row["differences"] == [
        {"column": "historico", "yours": "Outro texto", "theirs": "Mensalidade"}
    ]
    sheet = data_sheet(load_workbook(held["rejects_file"]))
    columns = dict(zip(header_of(sheet), sheet[2], strict=True))
    assert "Description: sheet 'Outro texto', system 'Mensalidade'" in columns["Reason"].value
    assert columns["historico"].comment is not None
    assert histories_of(client, "OTHER-1") == ["Mensalidade"]
    code, again = upload(xlbridge, edited, "--again", "a second instalment", **colleague)
    assert (code, again["rows"]["accepted"]) == (0, 1)
    assert sorted(map(str, histories_of(client, "OTHER-1"))) == ["Mensalidade", "Outro texto"]


def test_profiles_of_one_system_share_their_sent_rows(
    xlbridge: Xlbridge, sandbox: RunningSandbox, tmp_path: Path, make_clients: MakeClients
) -> None:
    path = make_clients("", "")
    home = tmp_path / "home"
    for name in ("homolog", "outro-nome"):
        home.mkdir(exist_ok=True)
        (home / "profiles.toml").write_text(
            f'[profiles.{name}]\nbase_url = "{sandbox.base_url}"\nemail = "{sandbox.email}"\n',
            encoding="utf-8",
        )
        environment = {
            "XLBRIDGE_HOME": str(home),
            "XLBRIDGE_PROFILE": name,
            "XLBRIDGE_PASSWORD": sandbox.password,
        }
        code, sent = upload(xlbridge, path, **environment)
        assert code == 0
    # Rows without a key are known by the journal alone, whatever the profile's name.
    assert (sent["rows"]["unchanged"], sent["rows"]["accepted"]) == (2, 0)


def test_commands_shown_for_a_profile_lead_back_to_it(
    xlbridge: Xlbridge, sandbox: RunningSandbox, home: Path, make_clients: MakeClients
) -> None:
    path = make_clients(new_cnpj())
    home.mkdir()
    login = f'base_url = "{sandbox.base_url}"\nemail = "{sandbox.email}"\n'
    (home / "profiles.toml").write_text(f"[profiles.company]\n{login}", encoding="utf-8")
    password = {"XLBRIDGE_BASE_URL": sandbox.base_url, "XLBRIDGE_PASSWORD": sandbox.password}
    validated = xlbridge("validate", path, "--online", "--profile", "company", **password)
    assert (
        validated.stdout.splitlines()[-1] == f"Next: xlbridge upload {path.name} --profile company"
    )
    plan = path.with_name("plan.yaml")
    steps = f"r: {{upload: {path.name}, resource: cliente}}"
    plan.write_text(f"version: 1\nname: october\nsteps:\n  {steps}\n", encoding="utf-8")
    planned = xlbridge("batch", "plan", plan, "--profile", "company", **password)
    command = "Next: xlbridge batch run plan.yaml --profile company"
    assert planned.stdout.splitlines()[-1] == command
    waiting = xlbridge("upload", path, "--profile", "company", **password)
    assert waiting.returncode == 2
    hint = r"Nothing was sent. In scripts, use --yes. To continue: xlbridge (resume \S+ .+)"
    (resume,) = re.findall(hint, waiting.stderr)
    assert resume.endswith(" --profile company --yes")
    sent = xlbridge(*resume.split(), **password)
    assert sent.returncode == 0
    (annotate,) = re.findall(r"xlbridge (jobs .+)", sent.stdout)
    assert " --profile company --annotate " in annotate
    assert xlbridge(*annotate.split(), **password).returncode == 0
    job = annotate.split()[1]
    rejected = xlbridge("retry", job, "--profile", "company", **password)
    assert f"xlbridge upload {path.name} --profile company" in rejected.stderr
    unknown = xlbridge("jobs", "unknown", "--profile", "company")
    assert "See the existing uploads: xlbridge jobs --profile company" in unknown.stderr
    nothing = xlbridge("resume", "--profile", "company")
    assert "Past uploads: xlbridge jobs --profile company" in nothing.stderr
    for command in (("jobs", job), ("retry", job), ("undo", job)):
        elsewhere = xlbridge(*command)
        assert elsewhere.returncode == 2
        assert f"There is no upload '{job}' in this environment." in elsewhere.stderr
        assert "It is of the profile company: add --profile company" in elsewhere.stderr
    (home / "profiles" / "company" / "journal.db").unlink()
    lost = xlbridge("jobs", "--profile", "company")
    assert 'xlbridge doctor --accept-journal "reason" --profile company.' in lost.stderr
    unknown = xlbridge("jobs", "20260101-000000-0000")
    assert "See the existing uploads: xlbridge jobs" in unknown.stderr


def test_two_profiles_sending_at_the_same_time_send_each_row_once(
    xlbridge: Xlbridge,
    sandbox: RunningSandbox,
    proxy: LossyProxy,
    tmp_path: Path,
    make_clients: MakeClients,
    forks: Zygote,
) -> None:
    """The first has stored its job but sent nothing when the second plans the rows."""
    path = make_clients("", "")
    home = tmp_path / "home"
    home.mkdir()
    login = f'base_url = "{proxy.base_url}"\nemail = "{sandbox.email}"\n'
    profiles = "\n".join(f"[profiles.{name}]\n{login}" for name in ("homolog", "outro-nome"))
    (home / "profiles.toml").write_text(profiles, encoding="utf-8")
    settings = {"XLBRIDGE_HOME": str(home), "XLBRIDGE_PASSWORD": sandbox.password}
    planned, sent = threading.Event(), threading.Event()

    def decide(_method: str, request_path: str) -> ProxyFault:
        if "preview=true" in request_path and not planned.is_set():
            planned.set()
            assert sent.wait(timeout=120)
        return "pass"

    proxy.decide = decide
    environment = clean_environment(home, XLBRIDGE_PROFILE="homolog", **settings)
    log = tmp_path / "stderr"
    with forks.running(environment, ["upload", str(path), "--yes"], log=log):
        assert planned.wait(timeout=60), log.read_text("utf-8")
        code, second = upload(xlbridge, path, XLBRIDGE_PROFILE="outro-nome", **settings)
        sent.set()
        deadline = time.monotonic() + 60
        while "nothing more was done" not in log.read_text("utf-8"):
            assert time.monotonic() < deadline, log.read_text("utf-8")
            time.sleep(0.02)
    assert (code, second["rows"]["created"]) == (0, 2)
    imports = [
        request_path
        for method, request_path in proxy.seen
        if method == "POST" and "/fila" in request_path
    ]
    assert len(imports) == 1
    code, again = upload(xlbridge, path, XLBRIDGE_PROFILE="homolog", **settings)
    assert (code, again["rows"]["unchanged"]) == (0, 2)
