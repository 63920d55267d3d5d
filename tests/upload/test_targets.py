"""The system that an outcome is about, in the JSON of each command."""

import json
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge, credentials
from lossy_proxy import LossyProxy
from sandboxes import create_database
from sheets import write_records
from upload_parts import MakeClients, new_cnpj, write_job

import xlbridge as xb
from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload import UploadContext


def test_each_outcome_names_its_system(
    xlbridge: Xlbridge, tmp_path: Path, empty_sandbox: RunningSandbox
) -> None:
    environment = credentials(empty_sandbox)
    base_url = empty_sandbox.base_url
    target = {"profile": "rehearsal", "base_url": base_url, "production": False}

    def run(*arguments: str) -> dict[str, Any]:
        done = xlbridge(*arguments, "--format", "json", **environment)
        assert done.stdout, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    write_records(
        tmp_path / "bad.xlsx", "categoriacliente", [{"descricaoDaCategoriaDeCliente": ""}]
    )
    name = "Ouro dos destinos"
    good = {"descricaoDaCategoriaDeCliente": name}
    write_records(tmp_path / "good.xlsx", "categoriacliente", [good])
    (tmp_path / "plan.yaml").write_text(
        "version: 1\nname: month\nsteps:\n"
        "  one:\n    upload: good.xlsx\n    resource: categoriacliente\n"
    )
    sent = run("upload", "good.xlsx", "--yes")
    export = ("export", "categorias-cliente", "-o", "c.xlsx", "--manifest", "c.json")
    assert xlbridge(*export, **environment).returncode == 0
    documents = {
        "rejected": run("upload", "bad.xlsx", "--yes"),
        "sent": sent,
        "job": run("jobs", sent["job"]),
        "listed": run("jobs")["jobs"][0],
        "undo": run("undo", sent["job"], "--yes"),
        "process": run("process", "pedidos", "--id", "1", "--plan"),
        "whoami": run("whoami") | {"target": run("login")},
        "batch": run("batch", "plan", "plan.yaml"),
        "export": json.loads((tmp_path / "c.json").read_text()),
    }
    for name, document in documents.items():
        found = {key: document["target"][key] for key in target}
        assert found == target, name


def test_yes_writes_to_the_embedded_sandbox_only_by_its_name(
    xlbridge: Xlbridge, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_database(home, [])
    row = {"descricaoDaCategoriaDeCliente": "Ouro dos destinos"}
    file = write_records(tmp_path / "good.xlsx", "categoriacliente", [row])
    refused = xlbridge("upload", "good.xlsx", "--yes", "--format", "json")
    assert (refused.returncode, json.loads(refused.stdout)["rows"]["created"]) == (2, 0)
    assert "No environment was chosen" in refused.stderr
    assert "--profile sandbox" in refused.stderr
    monkeypatch.setenv("XLBRIDGE_HOME", str(home))
    with xb.connect() as erp, pytest.raises(UsageError, match="No environment was chosen"):
        erp.upload(xb.validate(file), yes=True)
    sent = xlbridge("upload", "good.xlsx", "--yes", "--profile", "sandbox", "--format", "json")
    assert json.loads(sent.stdout)["rows"]["created"] == 1


@pytest.mark.parametrize(
    ("info", "code", "told"),
    [
        ({"codigoDaEmpresa": 1, "ativo": "S"}, 0, ""),
        ({"empresa": 1, "usuario": "x"}, 4, "the fields empresa, usuario are not understood"),
        (None, 4, "answered without the user's data"),
    ],
)
@pytest.mark.parametrize("command", ["whoami", "doctor", "upload"])
def test_an_odd_answer_about_the_user_is_told_by_all_commands_alike(
    xlbridge: Xlbridge, proxy: LossyProxy, proxy_environment: dict[str, str],
    make_clients: MakeClients, info: object, code: int, told: str, command: str,
) -> None:  # fmt: skip
    def answer(_method: str, path: str, status: int, document: dict[str, Any]) -> Any:
        return (status, {**document, "data": info}) if "sistema/info" in path else None

    proxy.rewrite = answer
    arguments = (make_clients(new_cnpj()), "--yes") if command == "upload" else ()
    ended = xlbridge(command, *arguments, "--lang", "en", **proxy_environment)
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert told in ended.stdout + ended.stderr


def test_an_upload_of_another_system_with_the_same_profile_names_both(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job = write_job(context, client, make_clients(new_cnpj()), "records", look_up=False)
    other = "http://127.0.0.1:1#7"
    with pytest.raises(UsageError) as refused:
        job.require_system(other, job.spec.profile)
    assert f"({client.identity}); now " in str(refused.value)
    assert f"({other}) is configured" in str(refused.value)
    with pytest.raises(UsageError, match=f"belongs to {job.spec.profile}; now x is configured"):
        job.require_system(other, "x")
