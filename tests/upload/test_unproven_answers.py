"""After an answer that proves nothing, keys are read back before the request is repeated."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from lossy_proxy import LossyProxy, ProxyFault
from sampling import every
from sheets import write_rows
from upload_parts import (
    AT_ONCE,
    MakeClients,
    accepted_rows,
    count_named,
    new_cnpj,
    plan_counts,
    registered,
    write_job,
)

from xlbridge.client import Client, Target
from xlbridge.errors import TransportError
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload import Job, RequestedMode, State, UploadContext, Uploads

NO_PREVIEW = replace(AT_ONCE, preview=False)
FAULTS: list[ProxyFault] = [
    "401 after",
    "429 after",
    "307 after",
    "400 as text after",
    "404 as text after",
    "413 after",
]


def count_imports(proxy: LossyProxy) -> int:
    return sum("importacao/cliente" in path for _, path in proxy.seen)


def send(context: UploadContext, client: Client, path: Path, mode: RequestedMode = "direct") -> Job:
    return Uploads(context, client).run(write_job(context, client, path, mode), NO_PREVIEW)


@pytest.mark.parametrize("fault", every(2, FAULTS[1:]))
def test_rows_of_a_queue_that_runs_by_itself_are_awaited_and_not_sent_again(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    sandbox: RunningSandbox,
    make_clients: MakeClients,
    fault: ProxyFault,
) -> None:
    document = new_cnpj()
    proxy.fail_once(fault, "importacao/cliente")
    lose = proxy.decide

    def wait_before_reading_back(method: str, path: str) -> ProxyFault:
        if method == "GET" and count_imports(proxy):
            wait_for_client(sandbox, document)
        return lose(method, path)

    proxy.decide = wait_before_reading_back
    job = send(context, client, make_clients(document), "queue")
    assert (job.state, accepted_rows(context, job)) == (State.DONE, 1)
    assert count_imports(proxy) == 1


def wait_for_client(sandbox: RunningSandbox, document: str) -> None:
    target = Target("rehearsal", sandbox.base_url, sandbox.email, sandbox.password)
    with Client(target) as direct:
        for _ in range(1000):
            if registered(direct, document):
                return
            time.sleep(0.02)
    raise AssertionError(f"{document} was not registered")


@pytest.mark.parametrize("fault", FAULTS)
def test_rows_without_a_key_are_left_in_doubt(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    make_clients: MakeClients,
    fault: ProxyFault,
) -> None:
    name = f"Sem documento {new_cnpj()}"
    proxy.fail_once(fault, "importacao/cliente")
    job = send(context, client, make_clients("", label=name))
    assert job.state is State.NEEDS_PERSON
    assert (count_imports(proxy), count_named(client, name)) == (1, 1)


@pytest.mark.parametrize("fault", ["token refused", "unavailable"])
def test_rows_not_found_after_an_unproven_answer_are_sent_again(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    make_clients: MakeClients,
    fault: ProxyFault,
) -> None:
    document = new_cnpj()
    seen: list[str] = []

    def decide(_method: str, path: str) -> ProxyFault:
        # An expired token is expired for every request until the next login.
        if "autenticar" in path:
            seen.append(path)
        if fault == "token refused":
            expired = not seen and ("importacao" in path or "sistema/info" in path)
            return fault if expired else "pass"
        seen.extend([path] if "importacao" in path else [])
        return (
            fault
            if sum("importacao" in one for one in seen) == 1 and "importacao" in path
            else "pass"
        )

    job = write_job(context, client, make_clients(document), "direct")
    proxy.decide = decide
    job = Uploads(context, client).run(job, NO_PREVIEW)
    assert job.state is State.DONE
    assert (count_imports(proxy), registered(client, document)) == (2, True)
    assert [event.state for event in job.events].count(State.SENDING) == 2


def test_a_401_to_an_import_with_a_valid_token_is_in_doubt(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    """The token is valid elsewhere, so the 401 does not come from the system."""
    proxy.fail_once("token refused", "importacao/cliente")
    job = send(context, client, make_clients(new_cnpj()))
    assert job.state is State.NEEDS_PERSON
    assert count_imports(proxy) == 1


def test_a_busy_system_leaves_a_job_that_is_proven_unsent(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    document = new_cnpj()
    proxy.decide = lambda _method, path: "unavailable" if "importacao" in path else "pass"
    job = write_job(context, client, make_clients(document), "direct")
    with pytest.raises(TransportError) as caught:
        Uploads(context, client).run(job, NO_PREVIEW)
    assert "Once the system answers" not in str(caught.value.hint)
    assert context.journal.job(job.id).state is State.PREPARED
    assert count_imports(proxy) == 6
    proxy.decide = lambda _method, _path: "pass"
    assert Uploads(context, client).run(job, NO_PREVIEW).state is State.DONE


@pytest.mark.parametrize(
    ("trusted", "state", "counts"),
    [(True, State.DONE, (2, 1)), (False, State.NEEDS_PERSON, (1, 0))],
    ids=["trusted", "not trusted"],
)
def test_only_a_profile_that_trusts_a_429_repeats_what_cannot_be_looked_up(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    make_clients: MakeClients,
    trusted: bool,
    state: State,
    counts: tuple[int, int],
) -> None:
    name = f"Sem documento {new_cnpj()}"
    path = make_clients("", label=name)
    target = client.target
    asked = Target(
        target.profile, target.base_url, target.email, target.password, trust_429=trusted
    )
    proxy.fail_once("unavailable", "importacao/cliente")
    with Client(asked) as other:
        assert send(context, other, path).state is state
    assert (count_imports(proxy), count_named(client, name)) == counts


def test_a_new_row_is_sent_again_though_another_row_has_its_key(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    customer: int,
    tmp_path: Path,
) -> None:
    """Two rows with one key are two titles; the record of one proves nothing about the other."""
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
    assert job.notes.plan == plan_counts(create=1, unchanged=1)
    proxy.seen.clear()
    proxy.fail_once("unavailable", "importacao/contasreceber")
    job = Uploads(context, client).run(job, NO_PREVIEW)
    assert job.state is State.DONE
    assert sum("importacao" in path for _, path in proxy.seen) == 2
