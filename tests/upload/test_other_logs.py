"""Logs and answers in shapes that the interface does not exclude are read as far as possible."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from lossy_proxy import LossyProxy
from upload_parts import AT_ONCE, MakeClients, new_cnpj, registered, write_job

from xlbridge.client import Client
from xlbridge.errors import InDoubt
from xlbridge.i18n import Text
from xlbridge.upload import Job, State, UploadContext, Uploads
from xlbridge.upload.results import job_json

NO_PREVIEW = replace(AT_ONCE, preview=False)


def reshape(proxy: LossyProxy, part: str, data: Any) -> None:
    """Replace the data of every answer whose path contains ``part``."""
    proxy.answers[part] = json.dumps({"success": True, "data": data}).encode()


def upload(
    context: UploadContext,
    client: Client,
    make_clients: MakeClients,
    *documents: str,
    mode: str = "queue",
    log_words: Mapping[str, str] | None = None,
) -> Job:
    settings = replace(context.settings, log_words=log_words or {})
    configured = UploadContext(settings, context.catalogue, context.journal)
    job = write_job(configured, client, make_clients(*documents), mode)  # type: ignore[arg-type]
    return Uploads(configured, client).run(job, NO_PREVIEW if mode == "queue" else AT_ONCE)


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
    reshape(proxy, "log-importacao", log)
    job = upload(context, client, make_clients, new_cnpj(), new_cnpj())
    report = job_json(context.journal, job)
    assert (job.state, report["rows"]["accepted"]) == (state, accepted)
    assert [(row["row"], row["message"]) for row in report["rejected"]] == rejected


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
    settings = replace(context.settings, log_words={"concluído": "finished"})
    configured = UploadContext(settings, context.catalogue, context.journal)
    assert Uploads(configured, client).run(job, options).state is State.DONE
    assert sum("/fila" in path for _, path in proxy.seen) == 1


@pytest.mark.parametrize("shape", ["{id}", {"id": "{id}"}, {"IdDoLog": "{id}", "total": 2}])
def test_the_id_of_a_log_is_found_in_other_shapes(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients, shape
) -> None:
    first = upload(context, client, make_clients, new_cnpj())
    next_id = str(int(first.last("log_id")) + 1)
    text = json.dumps(shape).replace("{id}", next_id)
    reshape(proxy, "/fila", json.loads(text))
    document = new_cnpj()
    job = upload(context, client, make_clients, document)
    assert (job.state, registered(client, document)) == (State.DONE, True)
    assert job.last("log_id") == int(next_id)


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
    assert (job.state, job.last("previewed")) == (State.DONE, output)
    assert sum("importacao" in path for _, path in proxy.seen) == 2
    assert all(registered(client, document) for document in documents)


@pytest.mark.parametrize("data", [[], 3, {"totalDeRegistros": 1}])
def test_nothing_is_sent_if_the_preview_count_differs(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients, data
) -> None:
    reshape(proxy, "preview=true", data)
    job = upload(context, client, make_clients, new_cnpj(), new_cnpj(), mode="direct")
    assert job.state is State.ABANDONED
