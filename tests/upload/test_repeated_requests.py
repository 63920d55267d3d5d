"""Requests of an upload are repeated by the client's policy, and only where that can help."""

import json

import pytest
from lossy_proxy import Fate, LossyProxy
from upload_parts import MakeClients, new_cnpj, write_job

from xlbridge.client import Client
from xlbridge.errors import TransportError
from xlbridge.upload import RunOptions, State, UploadContext, run_job


def options(pauses: list[float], **others: bool) -> RunOptions:
    return RunOptions(
        consent=lambda _job, _seen: True, read_back=False, sleep=pauses.append, **others
    )


def test_a_password_that_was_changed_meanwhile_is_sent_once(
    desk: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    job = write_job(desk, make_clients(new_cnpj()), "direct")
    refusal = json.dumps({"authenticated": False, "message": "Senha trocada"}).encode()
    pauses: list[float] = []

    def refuse_token_and_password(_method: str, path: str) -> Fate:
        if "importacao" not in path:
            return "pass"
        proxy.answers["autenticar"] = refusal
        return "token refused"

    proxy.decide = refuse_token_and_password
    with pytest.raises(TransportError, match="Senha trocada"):
        run_job(desk, client, job, options(pauses))
    assert [path.partition("?")[0] for _, path in proxy.seen] == [
        "/v2/autenticar",
        "/v2/importacao/cliente",
        "/v2/autenticar",
    ]
    assert pauses == []
    assert desk.journal.job(job.id).state is State.PREPARED


@pytest.mark.parametrize("fate", ["too large", "moved"])
def test_what_cannot_get_better_is_sent_once(
    desk: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients, fate: Fate
) -> None:
    job = write_job(desk, make_clients(new_cnpj()), "direct")
    proxy.decide = lambda _method, path: fate if "importacao" in path else "pass"
    with pytest.raises(TransportError):
        run_job(desk, client, job, options([], preview=False))
    assert sum("importacao" in path for _, path in proxy.seen) == 1


def test_a_preview_waits_as_long_as_the_system_asks(
    desk: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    pauses: list[float] = []
    proxy.lose_once("busy", "preview=true")
    job = write_job(desk, make_clients(new_cnpj()), "direct")
    assert run_job(desk, client, job, options(pauses)).state is State.DONE
    assert pauses == [40.0]


def test_a_preview_is_given_up_after_six_tries(
    desk: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    pauses: list[float] = []
    job = write_job(desk, make_clients(new_cnpj()), "direct")
    proxy.decide = lambda _method, path: "unavailable" if "preview" in path else "pass"
    with pytest.raises(TransportError):
        run_job(desk, client, job, options(pauses))
    assert sum("preview" in path for _, path in proxy.seen) == 6
    longest = [0.5, 1.0, 2.0, 4.0, 8.0]
    assert all(0 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
