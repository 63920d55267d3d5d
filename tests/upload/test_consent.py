"""The plan is shown before anything is written, and only a matching confirmation is consent."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge, credentials
from lossy_proxy import LossyProxy
from upload_parts import YES, MakeClients, new_cnpj, plan_counts, registered, write_job

from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.resources import Resource
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload import (
    State,
    UploadContext,
    Uploads,
)
from xlbridge.upload.planning import (
    ApproveAll,
    Confirmed,
    ConsentRequest,
    PlannedRow,
    RowAction,
    RowReason,
    reason_table,
)
from xlbridge.upload.results import job_json


def test_the_plan_compares_rows_with_existing_records(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    same, changed, fresh = new_cnpj(), new_cnpj(), new_cnpj()
    for document, name in ((same, f"Novo {same}"), (changed, "Antigo")):
        client.registry.clients.create(nomeComercial=name, cnpj=document)
    output: list[str] = []

    def decline(request: ConsentRequest) -> bool:
        output.extend(map(str, request.lines()))
        return False

    path = make_clients(same, changed, fresh, label="Novo")
    job = Uploads(context, client).run(
        write_job(context, client, path, "direct"), replace(YES, consent=decline)
    )
    assert job_json(context.journal, job)["plan"] == plan_counts(create=1, unchanged=1, held=1)
    text = "\n".join(output)
    for expected in (
        f"cliente to rehearsal ({client.target.base_url}) · rows: 3",
        "rows read: 1",
        "1 to create · 1 unchanged · 1 not sent, waiting for you",
        "unchanged, row 4: in the system with the same values",
        "not sent, waiting for you, row 5: in the system with other values, which the interface",
        f"row 5, nomeComercial: sheet 'Novo {changed}', system 'Antigo'",
        f"confirmation: {job.token}",
    ):
        assert expected in text
    assert not registered(client, fresh)


def test_a_confirmation_does_not_cover_a_changed_sheet(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    first = consent_request(context, client, make_clients(new_cnpj()))
    second = consent_request(context, client, make_clients(new_cnpj(), name="other.xlsx"))
    assert Confirmed(f" {first.token.upper()} ")(first)
    with pytest.raises(UsageError, match="1 row") as caught:
        Confirmed(first.token)(second)
    assert second.token in str(caught.value.hint)


def consent_request(context: UploadContext, client: Client, path: Path) -> ConsentRequest:
    job = write_job(context, client, path, "direct")
    return ConsentRequest(job, client.target, context.journal.plan_of(job))


def test_a_general_approval_does_not_cover_production(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    request = consent_request(context, client, make_clients(new_cnpj()))
    assert ApproveAll()(request)
    production = replace(request, target=replace(client.target, production=True))
    with pytest.raises(UsageError, match="production") as caught:
        ApproveAll()(production)
    assert request.token in str(caught.value.hint)
    assert Confirmed(request.token)(production)


def test_nothing_is_sent_if_the_preview_counts_other_rows(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    document = new_cnpj()
    proxy.answers["preview=true"] = b'{"success": true, "data": {"totalDeRegistros": 7}}'
    job = Uploads(context, client).run(
        write_job(context, client, make_clients(document), "direct"), YES
    )
    assert (job.state, job.known.previewed) == (State.ABANDONED, 7)
    assert "7" in str(job.reason)
    assert not registered(client, document)


def test_rows_without_a_key_are_planned_as_unread(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    output: list[str] = []

    def agree(request: ConsentRequest) -> bool:
        output.extend(map(str, request.lines()))
        return True

    job = write_job(context, client, make_clients("", ""), "direct")
    job = Uploads(context, client).run(job, replace(YES, consent=agree))
    assert job.notes.plan == plan_counts(unread=2)
    assert "no key" in "\n".join(output)


def test_the_command_accepts_only_the_confirmation_of_its_rows(
    xlbridge: Xlbridge, sandbox: RunningSandbox, client: Client, make_clients: MakeClients
) -> None:
    document = new_cnpj()
    path: Path = make_clients(document)
    environment = credentials(sandbox)
    wrong = xlbridge("upload", path, "--confirm", "1:00000000", **environment)
    assert wrong.returncode == 2
    assert not registered(client, document)
    listed = xlbridge("jobs", **environment).stdout
    assert (" prepared " in listed, "In doubt" in listed) == (True, False), listed
    token = wrong.stderr.split("confirmation of this upload is ")[1].split(".")[0]
    right = xlbridge("upload", path, "--confirm", token, "--format", "json", **environment)
    assert (right.returncode, json.loads(right.stdout)["state"]) == (0, "done")
    assert json.loads(right.stdout)["confirm"] == token


def test_production_requires_the_confirmation_token(
    xlbridge: Xlbridge,
    sandbox: RunningSandbox,
    client: Client,
    make_clients: MakeClients,
    home: Path,
) -> None:
    home.mkdir()
    profile = (
        f'[profiles.real]\nbase_url = "{sandbox.base_url}"\nemail = "{sandbox.email}"\n'
        "production = true\n"
    )
    (home / "profiles.toml").write_text(profile, encoding="utf-8")
    document = new_cnpj()
    path = make_clients(document)
    environment = {"XLBRIDGE_PROFILE": "real", "XLBRIDGE_PASSWORD": sandbox.password}
    yes = xlbridge("upload", path, "--yes", **environment)
    assert (yes.returncode, "--confirm" in yes.stderr) == (2, True)
    silent = xlbridge("upload", path, **environment)
    assert silent.returncode == 2
    assert not registered(client, document)
    token = silent.stderr.split("use --confirm ")[1].split(".")[0]
    sent = xlbridge("upload", path, "--confirm", token, **environment)
    assert sent.returncode == 0, sent.stderr
    assert registered(client, document)


def plan_lines(row: PlannedRow, resource: Resource) -> list[Any]:
    """Return the lines of a plan about a row: its reason, then the columns that differ."""
    (reason,) = reason_table([row], resource.by_path).lines
    return [reason.text, *reason.below]


def test_differences_are_formatted_for_each_language(context: UploadContext) -> None:
    differing = {
        "valorDoLancamento": ["777.7", None],
        "historico": ["Aluguel, condomínio", "Aluguel"],
        "dataDeVencimento": ["2027-03-04", "2025-04-19"],
        "numeroDoDocumento": ["1.50", "1.5"],
        "rateio": ["1.50", "1.5"],
    }
    row = PlannedRow.of_journal(4, RowAction.HELD, RowReason.DIFFERS, {"differences": differing})
    _, *lines = plan_lines(row, context.catalogue["contasreceber"])
    assert [line.pt.strip() for line in lines] == [
        "linha 4, valorDoLancamento: planilha 777,70, sistema –",
        "linha 4, historico: planilha 'Aluguel, condomínio', sistema 'Aluguel'",
        "linha 4, dataDeVencimento: planilha 04/03/2027, sistema 19/04/2025",
        "linha 4, numeroDoDocumento: planilha 1.50, sistema 1.5",
        "linha 4, rateio: planilha 1.50, sistema 1.5",
    ]
    assert lines[0].en.endswith("sheet 777.70, system –")


def test_of_a_list_only_the_differing_values_are_shown(context: UploadContext) -> None:
    items = [
        ["rateio", 1, "valor", "777.7", "1937.61"],
        ["rateio", 1, "codigoDoCentroDeCusto", "01.001", None],
        ["rateio", None, "", "1", "2"],
    ]
    lists = ["codigoDaFilialDoRateio=1 valor=777.7", "codigoDaFilialDoRateio=1 valor=1937.61"]
    stored = {"differences": {"rateio": [*lists, items]}}
    row = PlannedRow.of_journal(4, RowAction.UPDATE, None, stored)
    _, *lines = plan_lines(row, context.catalogue["contaspagar"])
    assert [line.pt.strip() for line in lines] == [
        "linha 4, rateio, item 2, valor: planilha 777,70, sistema 1937,61",
        "linha 4, rateio, item 2, codigoDoCentroDeCusto: planilha 01.001, sistema –",
        "linha 4, rateio: planilha 1 item, sistema 2 itens",
    ]
    assert lines[0].en.strip() == "row 4, rateio, item 2, valor: sheet 777.70, system 1937.61"
    assert json.loads(json.dumps(row.to_journal()[-1])) == stored
    assert row.to_json()["differences"] == [
        {"column": "rateio", "yours": lists[0], "theirs": lists[1]}
    ]
