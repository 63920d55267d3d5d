"""Logs and answers in shapes that the interface does not exclude are read as far as possible."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lossy_proxy import LossyProxy
from sheets import write_records
from upload_parts import AT_ONCE, MakeClients, accepted_rows, new_cnpj, registered, write_job

from xlbridge.client import Client
from xlbridge.errors import InDoubt
from xlbridge.i18n import Text
from xlbridge.upload import Job, RequestedMode, State, UploadContext, Uploads
from xlbridge.upload.results import job_json
from xlbridge.wire.imports import Quirks

NO_PREVIEW = replace(AT_ONCE, preview=False)


def reshape(proxy: LossyProxy, part: str, data: Any) -> None:
    """Replace the data of every answer whose path contains ``part``."""
    proxy.answers[part] = json.dumps({"success": True, "data": data}).encode()


def upload(
    context: UploadContext,
    client: Client,
    make_clients: MakeClients,
    *documents: str,
    mode: RequestedMode = "queue",
) -> Job:
    job = write_job(context, client, make_clients(*documents), mode)
    return Uploads(context, client).run(job, NO_PREVIEW if mode == "queue" else AT_ONCE)


FINISHED = {"situacao": "Finalizado"}
ENOUGH_FACTS: list[dict[str, Any]] = [
    FINISHED | {"linhasRejeitadas": []},
    {"Situacao": " finalizado ", "LinhasRejeitadas": []},
    FINISHED | {"registrosImportados": 2},
    FINISHED | {"registrosRejeitados": 0, "dataDeConclusao": "ontem", "id": "x"},
    {"totalDeRegistros": 2, "registrosImportados": 2, "registrosRejeitados": 0},
    {
        "situacao": "Encerrado",
        "totalDeRegistros": 2,
        "registrosImportados": 2,
        "registrosRejeitados": 0,
    },
]
REJECTED_LINES: list[list[Any]] = [
    [{"linha": 3, "coluna": "cnpj", "mensagem": "inválido"}],
    [{"Linha": "3", "mensagem": "inválido"}],
    ["Linha 3: inválido"],
    [{"key": "cnpj", "value": "Linha 3: inválido"}],
]
INCONSISTENT_FACTS: list[dict[str, Any]] = [
    FINISHED,
    FINISHED | {"linhasRejeitadas": [{"mensagem": "algo"}]},
    FINISHED | {"linhasRejeitadas": [], "registrosImportados": 1},
    FINISHED | {"linhasRejeitadas": [], "totalDeRegistros": 3},
]


@pytest.mark.parametrize(
    ("log", "state", "accepted", "rejected"),
    [
        *((log, State.DONE, 2, []) for log in ENOUGH_FACTS),
        *(
            (FINISHED | {"linhasRejeitadas": lines}, State.PARTIAL, 1, [(5, "inválido")])
            for lines in REJECTED_LINES
        ),
        *((log, State.NEEDS_PERSON, 0, []) for log in INCONSISTENT_FACTS),
    ],
)
def test_a_log_ends_the_upload_as_far_as_its_facts_go(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    make_clients: MakeClients,
    log: dict[str, Any],
    state: State,
    accepted: int,
    rejected: list[tuple[int, str]],
) -> None:
    """Of rows without a key, which cannot be read back, the log is the only evidence."""
    reshape(proxy, "log-importacao", log)
    job = upload(context, client, make_clients, "", "")
    report = job_json(context.journal, job)
    assert (job.state, report["rows"]["accepted"]) == (state, accepted)
    assert [(row["row"], row["message"]) for row in report["rejected"]] == rejected


@pytest.mark.parametrize(
    "log", [*INCONSISTENT_FACTS, FINISHED | {"linhasRejeitadas": REJECTED_LINES[0]}]
)
def test_the_records_decide_against_a_log(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    make_clients: MakeClients,
    log: dict[str, Any],
) -> None:
    # Once the file is imported: before that, the records would not be there.
    proxy.reshape = lambda path, data: (
        log if "log-importacao" in path and data["situacao"] == "Finalizado" else data
    )
    job = upload(context, client, make_clients, new_cnpj(), new_cnpj())
    assert (job.state, accepted_rows(context, job)) == (State.DONE, 2)


def test_an_unknown_log_state_is_polled_until_a_setting_explains_it(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    document = new_cnpj()
    reshape(proxy, "log-importacao", {"situacao": "Concluído", "linhasRejeitadas": []})
    output: list[Text] = []
    options = replace(NO_PREVIEW, progress=output.append, settle_seconds=20)
    job = write_job(context, client, make_clients(document), "queue")
    with pytest.raises(InDoubt, match="Concluído") as caught:
        Uploads(context, client).run(job, options)
    assert sum("“Concluído”" in text.en for text in output) > 3
    assert "XLBRIDGE_LOG_WORDS" in str(caught.value.hint)
    assert context.journal.job(job.id).state is State.POLLING
    client.target = replace(client.target, quirks=Quirks(log_words={"concluído": "finished"}))
    assert Uploads(context, client).run(job, options).state is State.DONE
    assert sum("/fila" in path for _, path in proxy.seen) == 1


@pytest.mark.parametrize("shape", ["{id}", {"id": "{id}"}, {"IdDoLog": "{id}", "total": 2}])
def test_the_id_of_a_log_is_found_in_other_shapes(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients, shape
) -> None:
    first = upload(context, client, make_clients, new_cnpj())
    next_id = str((first.known.log_id or 0) + 1)
    text = json.dumps(shape).replace("{id}", next_id)
    reshape(proxy, "/fila", json.loads(text))
    document = new_cnpj()
    job = upload(context, client, make_clients, document)
    assert (job.state, registered(client, document)) == (State.DONE, True)
    assert job.known.log_id == int(next_id)


def test_a_number_of_rows_is_not_taken_for_the_id_of_the_log(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    proxy.reshape = lambda path, data: (
        {"codigoDaImportacao": data, "quantidadeDeRegistros": 2} if path.endswith("/fila") else data
    )
    job = upload(context, client, make_clients, new_cnpj(), new_cnpj())
    assert (job.state, accepted_rows(context, job)) == (State.DONE, 2)


@pytest.mark.parametrize("answer", [{"quantidadeDeRegistros": 2}, True, None, {"log": "x"}])
def test_a_file_that_was_staged_without_a_readable_id_is_not_staged_again(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    customer: int,
    make_receivables,
    answer: object,
) -> None:
    """A queue may run by itself what needs a start elsewhere: each copy would be written."""
    reshape(proxy, "/fila", answer)
    path = make_receivables(customer, new_cnpj(), "um")
    job = Uploads(context, client).run(write_job(context, client, path, "queue"), NO_PREVIEW)
    assert not job.state.is_unsent
    assert job.state is not State.DONE
    assert sum("/fila" in path for _, path in proxy.seen) == 1


@pytest.mark.parametrize(
    "other", [{"id": 999}, {"nomeDoArquivo": "clientes.xlsx"}, {"recurso": "contaspagar"}]
)
def test_the_log_of_another_file_starts_nothing_and_proves_nothing(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    customer: int,
    make_receivables,
    other: dict[str, object],
) -> None:
    proxy.reshape = lambda path, data: (
        {**data, "situacao": "Finalizado", "linhasRejeitadas": [], **other}
        if "log-importacao" in path
        else data
    )
    path = make_receivables(customer, new_cnpj(), "um")
    job = Uploads(context, client).run(write_job(context, client, path, "queue"), NO_PREVIEW)
    assert job.state in {State.IN_DOUBT, State.NEEDS_PERSON}
    assert not any("processar" in path for _, path in proxy.seen)


@pytest.mark.parametrize("shift", [0, -1, -2])
def test_lines_counted_from_elsewhere_blame_the_right_row(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    make_receivables,
    customer: int,
    tmp_path: Path,
    shift: int,
) -> None:
    def shifted(path: str, log: Any) -> Any:
        if "log-importacao" not in path:
            return log
        lines = [{**line, "linha": line["linha"] + shift} for line in log["linhasRejeitadas"]]
        return {**log, "linhasRejeitadas": lines}

    proxy.reshape = shifted
    document = new_cnpj()
    rows = [
        {"codigoDoCliente": one, "numeroDoDocumento": f"{document}-{number}"}
        for number, one in enumerate((customer, customer, 999_999, customer))
    ]
    path = write_records(tmp_path / "contas.xlsx", "contasreceber", rows)
    job = Uploads(context, client).run(write_job(context, client, path, "queue"), NO_PREVIEW)
    report = job_json(context.journal, job)
    assert (report["state"], report["rows"]["accepted"]) == ("partial", 3)
    assert [row["row"] for row in report["rejected"]] == [4]


@pytest.mark.parametrize("word", [{"situacao": "Erro"}, {"status": "Falha"}])
def test_a_file_that_the_system_gave_up_is_rejected_with_its_message(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    customer: int,
    make_receivables,
    word: dict[str, object],
) -> None:
    """The sandbox never starts the file; the log says that it failed."""
    proxy.decide = lambda _method, path: "accept" if "processar-arquivo" in path else "pass"
    proxy.reshape = lambda path, _log: (
        {**word, "mensagem": "A planilha está corrompida."} if "log-importacao" in path else _log
    )
    path = make_receivables(customer, new_cnpj(), "um")
    job = Uploads(context, client).run(write_job(context, client, path, "queue"), NO_PREVIEW)
    report = job_json(context.journal, job)
    assert (report["state"], report["rows"]["rejected"]) == ("rejected", 1)
    assert "A planilha está corrompida." in report["rejected"][0]["message"]


def test_rejections_in_the_answer_of_a_direct_import_count(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    """Of rows without a key, the answer is the only evidence; else the records are."""
    lines = [{"linha": 3, "coluna": "cnpj", "mensagem": "inválido"}]
    answer = {"totalDeRegistros": 2, "registrosRejeitados": 1, "linhasRejeitadas": lines}
    proxy.reshape = lambda path, data: (
        answer if "importacao/cliente" in path and "preview=true" not in path else data
    )
    job = upload(context, client, make_clients, "", "", mode="direct")
    counts = job_json(context.journal, job)["rows"]
    assert (job.state, counts["accepted"], counts["rejected"]) == (State.PARTIAL, 1, 1)
    job = upload(context, client, make_clients, new_cnpj(), new_cnpj(), mode="direct")
    assert (job.state, accepted_rows(context, job)) == (State.DONE, 2)


def test_a_start_answered_without_data_counts_as_made(
    context: UploadContext, client: Client, proxy: LossyProxy, customer: int, make_receivables
) -> None:
    reshape(proxy, "processar-arquivo", None)
    path = make_receivables(customer, new_cnpj(), "um")
    job = Uploads(context, client).run(write_job(context, client, path, "queue"), NO_PREVIEW)
    assert job.state is State.DONE
    assert sum("processar" in path for _, path in proxy.seen) == 1


@pytest.mark.parametrize(
    ("data", "output"),
    [
        (None, None),
        ([{"nomeComercial": "A"}, {"nomeComercial": "B"}], 2),
        (2, 2),
        ({"Registros": [{}, {}]}, 2),
    ],
)
def test_an_import_is_done_whatever_shape_its_count_has(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    make_clients: MakeClients,
    data,
    output,
) -> None:
    reshape(proxy, "importacao/cliente", data)
    documents = (new_cnpj(), new_cnpj())
    job = upload(context, client, make_clients, *documents, mode="direct")
    assert (job.state, job.known.previewed) == (State.DONE, output)
    assert sum("importacao" in path for _, path in proxy.seen) == 2
    assert all(registered(client, document) for document in documents)


@pytest.mark.parametrize("data", [[], 3, {"totalDeRegistros": 1}])
def test_nothing_is_sent_if_the_preview_count_differs(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients, data
) -> None:
    reshape(proxy, "preview=true", data)
    job = upload(context, client, make_clients, new_cnpj(), new_cnpj(), mode="direct")
    assert job.state is State.ABANDONED
