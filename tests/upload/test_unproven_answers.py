"""After an answer that proves nothing, keys are read back before the request is repeated."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from environment import Xlbridge
from lossy_proxy import Fate, LossyProxy
from sampling import across
from sheets import write_rows
from upload_parts import AT_ONCE, MakeClients, new_cnpj, plan_counts, registered, write_job

from xlbridge.client import Client, Target
from xlbridge.errors import TransportError
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload import Job, RequestedMode, State, UploadContext, Uploads
from xlbridge.wire.registry import CLIENT_LIST

NO_PREVIEW = replace(AT_ONCE, preview=False)
AFTER: list[Fate] = [
    "401 after",
    "429 after",
    "307 after",
    "400 as text after",
    "404 as text after",
    "413 after",
]


def imports(proxy: LossyProxy) -> int:
    return sum("importacao/cliente" in path for _, path in proxy.seen)


def named(client: Client, name: str) -> int:
    """Return the number of clients with a name in the remote system."""
    return sum(one["nomeComercial"] == name for one in client.records(CLIENT_LIST))


def send(context: UploadContext, client: Client, path: Path, mode: RequestedMode = "direct") -> Job:
    return Uploads(context, client).run(write_job(context, client, path, mode), NO_PREVIEW)


@pytest.mark.parametrize(("fate", "mode"), across(AFTER, ["direct", "queue"]))
def test_rows_that_are_there_are_not_sent_again(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    sandbox: RunningSandbox,
    make_clients: MakeClients,
    fate: Fate,
    mode: RequestedMode,
) -> None:
    document = new_cnpj()
    proxy.lose_once(fate, "importacao/cliente")
    lose = proxy.decide

    def read_back_once_it_is_there(method: str, path: str) -> Fate:
        # The queue works by itself: what it writes is awaited, as the settle time does.
        if method == "GET" and imports(proxy):
            await_client(sandbox, document)
        return lose(method, path)

    proxy.decide = read_back_once_it_is_there
    job = send(context, client, make_clients(document), mode)
    assert (job.state, job.verdict.accepted) == (State.DONE, 1)
    assert imports(proxy) == 1


def await_client(sandbox: RunningSandbox, document: str) -> None:
    target = Target("rehearsal", sandbox.base_url, sandbox.email, sandbox.password)
    with Client(target) as direct:
        for _ in range(1000):
            if registered(direct, document):
                return
            time.sleep(0.02)
    raise AssertionError(f"{document} was not registered")


@pytest.mark.parametrize("fate", AFTER)
def test_rows_without_a_key_are_left_in_doubt(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients, fate: Fate
) -> None:
    name = f"Sem documento {new_cnpj()}"
    proxy.lose_once(fate, "importacao/cliente")
    job = send(context, client, make_clients("", called=name))
    assert job.state is State.NEEDS_PERSON
    assert (imports(proxy), named(client, name)) == (1, 1)


@pytest.mark.parametrize("fate", ["token refused", "unavailable"])
def test_rows_that_are_not_there_are_sent_once_more(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients, fate: Fate
) -> None:
    document = new_cnpj()
    met: list[str] = []

    def decide(_method: str, path: str) -> Fate:
        # An expired token is expired for every request until the next login.
        if "autenticar" in path:
            met.append(path)
        if fate == "token refused":
            expired = not met and ("importacao" in path or "sistema/info" in path)
            return fate if expired else "pass"
        met.extend([path] if "importacao" in path else [])
        return (
            fate
            if sum("importacao" in one for one in met) == 1 and "importacao" in path
            else "pass"
        )

    job = write_job(context, client, make_clients(document), "direct")
    proxy.decide = decide
    job = Uploads(context, client).run(job, NO_PREVIEW)
    assert job.state is State.DONE
    assert (imports(proxy), registered(client, document)) == (2, True)
    assert [event.state for event in job.events].count(State.SENDING) == 2


def test_a_401_to_an_import_alone_is_in_doubt(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    """The token is valid elsewhere, so the 401 does not come from the system."""
    proxy.lose_once("token refused", "importacao/cliente")
    job = send(context, client, make_clients(new_cnpj()))
    assert job.state is State.NEEDS_PERSON
    assert imports(proxy) == 1


def test_a_system_that_stays_busy_leaves_a_job_that_was_proven_unsent(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    document = new_cnpj()
    proxy.decide = lambda _method, path: "unavailable" if "importacao" in path else "pass"
    job = write_job(context, client, make_clients(document), "direct")
    with pytest.raises(TransportError) as caught:
        Uploads(context, client).run(job, NO_PREVIEW)
    assert "Once the system answers" not in str(caught.value.hint)
    assert context.journal.job(job.id).state is State.PREPARED
    assert imports(proxy) == 6
    proxy.decide = lambda _method, _path: "pass"
    assert Uploads(context, client).run(job, NO_PREVIEW).state is State.DONE


def test_a_profile_may_trust_a_429(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    name = f"Sem documento {new_cnpj()}"
    path = make_clients("", called=name)
    target = client.target
    trusting = Target(
        target.profile, target.base_url, target.email, target.password, trust_429=True
    )
    proxy.lose_once("unavailable", "importacao/cliente")
    with Client(trusting) as other:
        assert send(context, other, path).state is State.DONE
    assert (imports(proxy), named(client, name)) == (2, 1)


@pytest.mark.parametrize("fate", ["429 after", "401 after"])
def test_a_start_is_settled_by_its_log(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    customer: int,
    make_receivables: Callable[..., Path],
    fate: Fate,
) -> None:
    proxy.lose_once(fate, "processar-arquivo")
    job = send(context, client, make_receivables(customer, new_cnpj(), "um"), "queue")
    for _ in range(20):
        if job.state.is_final:
            break
        job = Uploads(context, client).run(job, NO_PREVIEW)
    assert (job.state, job.verdict.accepted) == (State.DONE, 1)


def test_a_new_row_beside_one_of_its_key_is_sent_once_more(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    customer: int,
    tmp_path: Path,
) -> None:
    """Two rows with one key are two titles; one's record proves nothing about the other."""
    row = {
        "codigoDaFilial": 1,
        "codigoDoCliente": customer,
        "codigoDoItemDeLancamento": "1.01.001",
        "codigoDoCentroDeCusto": "01.001",
        "codigoDaContaCorrente": 1,
        "numeroDoDocumento": "NF-1",
        "dataDeVencimento": "2026-12-01",
    }
    header = [*row, "historico"]
    rows = [[*row.values(), history] for history in ("um", "dois")]
    first = write_rows(tmp_path / "um.xlsx", header, rows[:1])
    assert send(context, client, first).state is State.DONE
    job = write_job(context, client, write_rows(tmp_path / "dois.xlsx", header, rows), "direct")
    assert job.last("plan") == plan_counts(create=1, unchanged=1)
    proxy.seen.clear()
    proxy.lose_once("unavailable", "importacao/contasreceber")
    job = Uploads(context, client).run(job, NO_PREVIEW)
    assert job.state is State.DONE
    assert sum("importacao" in path for _, path in proxy.seen) == 2


@pytest.mark.parametrize("fate", ["401 after", "429 after", "307 after", "400 as text after"])
def test_the_command_sends_rows_without_a_key_once_and_says_that_it_does_not_know(
    xlbridge: Xlbridge, proxy: LossyProxy, client: Client, make_clients: MakeClients, fate: Fate
) -> None:
    name = f"Sem documento {new_cnpj()}"
    proxy.lose_once(fate, "preview=false")
    own = {
        "XLBRIDGE_BASE_URL": proxy.base_url,
        "XLBRIDGE_EMAIL": client.target.email,
        "XLBRIDGE_PASSWORD": client.target.password,
        "XLBRIDGE_SETTLE": "0",
    }
    path = make_clients("", called=name)
    done = xlbridge("upload", path, "--mode", "direct", "--yes", "--format", "json", **own)
    report = json.loads(done.stdout)
    assert (done.returncode, report["state"], report["rows"]["unknown"]) == (5, "in_doubt", 1)
    assert named(client, name) == 1
