"""Many rows are looked up in whole listings, if those are proven complete.

Inside: upload.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from databases import database_options
from environment import clean_environment
from sandboxes import sandbox_process
from upload_parts import YES, MakeClients, new_cnpj, plan_counts, write_job

from xlbridge.client import Client
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload import (
    Journal,
    State,
    UploadContext,
    Uploads,
)
from xlbridge.upload.lookup import record_reader
from xlbridge.upload.lookup.bulk_lookup import MAX_REQUESTS
from xlbridge.upload.lookup.snapshot import Moment
from xlbridge.upload.planning import RowReason


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Separate sandbox, since many clients of one minute hide others from plain listings."""
    folder = tmp_path_factory.mktemp("many-rows")
    options = ["--seed", "empty", *database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder)) as running:
        yield running


def test_records_hidden_by_a_full_minute_are_looked_up_singly_up_to_the_limit(
    context: UploadContext, client: Client, make_clients: MakeClients, tmp_path: Path
) -> None:
    documents = [new_cnpj() for _ in range(MAX_REQUESTS + 20)]
    resource = context.catalogue.named("cliente")
    rows = [{"nomeComercial": f"Cliente {document}", "cnpj": document} for document in documents]
    found = record_reader(client, resource, rows)()
    snapshots, reason = found.snapshot, found.why
    assert ([row.found for row in snapshots if row], reason) == ([()] * len(rows), None)
    job = Uploads(context, client).run(
        write_job(context, client, make_clients(*documents), "direct"), YES
    )
    assert (job.state, job.notes.plan["create"]) == (State.DONE, len(rows))
    found = record_reader(client, resource, rows[:60])()
    snapshots, reason = found.snapshot, found.why
    assert ([row.same for row in snapshots if row], reason) == ([1] * 60, None)
    others = [{"nomeComercial": "Sem chave"}, {"nomeComercial": "Outra chave", "idws": "W-1"}]
    mixed = record_reader(client, resource, [rows[0], *others, rows[1]])().snapshot
    assert [row and set(row.key) for row in mixed] == [{"cnpj"}, None, {"idws"}, {"cnpj"}]
    context.journal.snapshots.store(job.id, Moment.AFTER, mixed)
    (*_, stored) = context.journal.snapshots.all_of(job.id)
    kept, read = (
        [row and (dict(row.key), row.contents) for row in rows] for rows in (stored.rows, mixed)
    )
    assert kept == read
    found = record_reader(client, resource, rows)()
    snapshots, reason = found.snapshot, found.why
    assert set(snapshots) == {None}
    assert str(len(rows)) in str(reason)
    assert "--chunk-rows" not in str(reason)
    path = make_clients(*documents)
    job = write_job(context, client, path, "direct")
    assert job.notes.plan == plan_counts(unchanged=len(rows))
    journal = Journal(tmp_path / "other.db")
    elsewhere = replace(context, journal=journal)
    job = write_job(elsewhere, client, path, "direct")
    assert job.notes.plan == plan_counts(held=len(rows))
    assert {row.reason for row in journal.plan_of(job)} == {RowReason.NOT_LOOKED_UP}
    journal.close()
