"""Requests with lost answers are never sent twice, and never reported as done without proof."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from environment import Xlbridge
from lossy_proxy import LossyProxy
from upload_parts import (
    QUICK,
    YES,
    MakeClients,
    new_cnpj,
    write_job,
)

from xlbridge.client import Client
from xlbridge.errors import InDoubt
from xlbridge.i18n import Text
from xlbridge.upload import State, UploadContext, Uploads

NO_PREVIEW = replace(QUICK, preview=False)


def count_requests(proxy: LossyProxy, *parts: str) -> int:
    return sum(all(part in path for part in parts) for _, path in proxy.seen)


def test_a_failed_lookup_leaves_no_payload(
    xlbridge: Xlbridge,
    home: Path,
    proxy: LossyProxy,
    proxy_environment: dict[str, str],
    make_clients: MakeClients,
) -> None:
    path = make_clients(new_cnpj())
    proxy.decide = lambda method, path: (
        "token refused" if method == "GET" and "/v2/cliente" in path else "pass"
    )
    failed = xlbridge("upload", path, "--yes", **proxy_environment)
    assert failed.returncode == 4, failed.stderr
    assert not (home / "payloads").exists()
    proxy.decide = lambda _method, _path: "pass"
    assert xlbridge("upload", path, "--yes", **proxy_environment).returncode == 0
    assert len(list((home / "payloads").iterdir())) == 1


def test_the_commands_of_a_doubt_name_its_cause_and_the_next_command(
    xlbridge: Xlbridge,
    proxy: LossyProxy,
    proxy_environment: dict[str, str],
    make_clients: MakeClients,
) -> None:
    def run(*arguments: object, settle: int = 0) -> "subprocess.CompletedProcess[str]":
        return xlbridge(*arguments, **proxy_environment | {"XLBRIDGE_SETTLE": str(settle)})

    path = make_clients("")
    proxy.fail_once("lose answer", "importacao/cliente?preview=false")
    options = ("--mode", "direct", "--yes")
    sent = run("upload", path, *options, settle=600)
    assert sent.returncode == 5
    assert f"({proxy.base_url} did not answer (the connection broke)).\n" in sent.stdout
    waiting = run("resume")
    assert waiting.returncode == 5
    job = next(iter(re.findall(r"in-doubt-(\S+)\.html", waiting.stdout + waiting.stderr)))
    last = waiting.stdout.splitlines()[-1]
    assert last == (
        "Next: look in the system. If it was applied: "
        f'xlbridge resolve {job} --as applied --reason "…"; if not: --as not-applied'
    )
    done = run("resolve", job, "--as", "not-applied", "--reason", "none is there")
    headline, following = done.stdout.splitlines()
    assert re.fullmatch(r"Nothing was sent \(.*\S+@\S+: none is there\)\.", headline)
    assert following == (
        f"Next: to send the rows, repeat xlbridge upload {path.name} with the same options."
    )


def test_a_queue_that_runs_by_itself_is_never_staged_twice(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    proxy.fail_once("lose answer", "/fila")
    job = Uploads(context, client).run(
        write_job(context, client, make_clients(""), "queue"), NO_PREVIEW
    )
    assert job.state is State.IN_DOUBT
    assert Uploads(context, client).run(job, QUICK).state is State.IN_DOUBT
    assert count_requests(proxy, "/fila") == 1


def test_polling_continues_after_a_lost_answer(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    document = new_cnpj()
    proxy.fail_once("lose answer", "log-importacao")
    job = Uploads(context, client).run(
        write_job(context, client, make_clients(document), "queue"), QUICK
    )
    assert job.state is State.DONE
    assert count_requests(proxy, "/fila") == 1


def test_an_upload_without_a_readable_log_is_in_doubt_until_resumed(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    job = write_job(context, client, make_clients(new_cnpj()), "queue")
    proxy.decide = lambda _method, path: "html" if "log-importacao" in path else "pass"
    with pytest.raises(InDoubt):
        Uploads(context, client).run(job, QUICK)
    assert context.journal.job(job.id).state is State.POLLING
    proxy.decide = lambda _method, _path: "pass"
    assert Uploads(context, client).run(job, YES).state is State.DONE


@pytest.mark.parametrize(
    ("state", "resumed"),
    [
        (State.PREVIEWING, State.DONE),
        (State.SENDING, State.IN_DOUBT),
    ],
)
def test_a_direct_job_that_died_midway_is_resumed_or_in_doubt(
    context: UploadContext, client: Client, make_clients: MakeClients, state: State, resumed: State
) -> None:
    job = write_job(context, client, make_clients(new_cnpj()), "direct")
    job = context.journal.record(job, state, attempt=1)
    assert Uploads(context, client).run(job, QUICK).state is resumed


def test_the_password_is_in_no_stored_file(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    output: list[Text] = []
    options = replace(YES, progress=output.append)
    Uploads(context, client).run(
        write_job(context, client, make_clients(new_cnpj()), "queue"), options
    )
    secret = client.target.password.encode()
    files = [path for path in context.settings.home.rglob("*") if path.is_file()]
    assert files
    assert not any(secret in path.read_bytes() for path in files)
