"""Requests of an upload are repeated by the client's policy, and only if that can help."""

import json
from dataclasses import replace

import pytest
from lossy_proxy import LossyProxy, ProxyFault
from upload_parts import YES, MakeClients, new_cnpj, write_job

from xlbridge.client import Client
from xlbridge.errors import TransportError
from xlbridge.upload import State, UploadContext, UploadOptions, Uploads


def options(pauses: list[float], *, preview: bool = True) -> UploadOptions:
    return replace(YES, look_up=False, preview=preview, sleep=pauses.append)


def test_a_password_changed_meanwhile_is_sent_once(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    job = write_job(context, client, make_clients(new_cnpj()), "direct")
    proxy.seen.clear()
    refusal = json.dumps({"authenticated": False, "message": "Senha trocada"}).encode()
    pauses: list[float] = []

    def refuse_token_and_password(_method: str, path: str) -> ProxyFault:
        if "importacao" not in path:
            return "pass"
        proxy.answers["autenticar"] = refusal
        return "token refused"

    proxy.decide = refuse_token_and_password
    job = Uploads(context, client).run(job, options(pauses, preview=False))
    # The token that is held is used: no upload begins with a login of its own.
    assert [path.partition("?")[0] for _, path in proxy.seen][:2] == [
        "/v2/importacao/cliente",
        "/v2/sistema/info",
    ]
    assert sum("importacao" in path for _, path in proxy.seen) == 1
    assert pauses == []
    assert job.state is State.IN_DOUBT


@pytest.mark.parametrize("fault", ["too large", "moved"])
def test_an_error_list_is_a_rejection_and_a_redirect_is_in_doubt(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    make_clients: MakeClients,
    fault: ProxyFault,
) -> None:
    job = write_job(context, client, make_clients(new_cnpj()), "direct")
    proxy.decide = lambda _method, path: fault if "importacao" in path else "pass"
    job = Uploads(context, client).run(job, options([], preview=False))
    assert job.state is (State.REJECTED if fault == "too large" else State.IN_DOUBT)
    assert sum("importacao" in path for _, path in proxy.seen) == 1


def test_a_preview_waits_as_long_as_retry_after_says(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    pauses: list[float] = []
    proxy.fail_once("busy", "preview=true")
    job = write_job(context, client, make_clients(new_cnpj()), "direct")
    assert Uploads(context, client).run(job, options(pauses)).state is State.DONE
    assert pauses == [40.0]


def test_a_preview_is_given_up_after_six_tries(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    pauses: list[float] = []
    job = write_job(context, client, make_clients(new_cnpj()), "direct")
    proxy.decide = lambda _method, path: "unavailable" if "preview" in path else "pass"
    with pytest.raises(TransportError):
        Uploads(context, client).run(job, options(pauses))
    assert sum("preview" in path for _, path in proxy.seen) == 6
    longest = [0.5, 1.0, 2.0, 4.0, 8.0]
    assert all(0 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
