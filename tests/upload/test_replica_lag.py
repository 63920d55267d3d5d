"""A reading that lags behind what was written proves nothing: it is repeated, or is a doubt."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from environment import Xlbridge
from lossy_proxy import LossyProxy
from update_parts import edit
from upload_parts import QUICK, MakeClients, new_cnpj, registered, write_job

from xlbridge.client import Client
from xlbridge.upload import State, UploadContext, Uploads
from xlbridge.upload.results import job_json

NO_PREVIEW = replace(QUICK, preview=False)


@pytest.mark.parametrize(("lag", "state"), [(4, State.PARTIAL), (100, State.IN_DOUBT)])
def test_rows_that_a_replica_does_not_show_yet_are_not_called_missing(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients,
    lag: int, state: State,
) -> None:  # fmt: skip
    """The log names one rejected row, so the others are read back."""
    written, refused = new_cnpj(), new_cnpj()
    path = make_clients(written, refused)
    job = write_job(context, client, path, "queue")
    client.registry.clients.create(nomeComercial="De outra pessoa", cnpj=refused)
    proxy.lag = lag
    job = Uploads(context, client).run(job, NO_PREVIEW)
    assert job.state is state, job.reason
    proxy.lag = proxy._late = 0
    assert registered(client, written)
    at_once = replace(NO_PREVIEW, settle_seconds=0)
    job = Uploads(context, client).run(context.journal.job(job.id), at_once)
    assert job_json(context.journal, job)["rows"]["accepted"] == 1


def test_fields_that_a_replica_does_not_show_yet_are_not_called_lost(
    proxy: LossyProxy, xlbridge: Xlbridge, proxy_environment: dict[str, str], payables: Path
) -> None:
    edit(payables, "historico", 2, "Energia, outubro")
    proxy.lag = 2
    options = ("--update", "--yes", "--format", "json")
    ended = xlbridge("upload", payables, *options, **proxy_environment | {"XLBRIDGE_SETTLE": "9"})
    report = json.loads(ended.stdout)
    assert (report["state"], report["lost_fields"]) == ("done", []), report
