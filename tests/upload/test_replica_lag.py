"""A reading that lags behind what was written proves nothing: it is repeated, or is a doubt.

Inside: upload.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from environment import Xlbridge
from fake_clock import FakeClock
from lossy_proxy import LossyProxy
from sheets import edit, write_records
from upload_parts import QUICK, MakeClients, new_cnpj, registered, send_sheet, write_job

from xlbridge.client import Client
from xlbridge.client.registries import Registries
from xlbridge.resources.links import linked_catalogue
from xlbridge.upload import Job, Journal, State, UploadContext, Uploads
from xlbridge.upload.claims import Patience
from xlbridge.upload.lookup import LinkResolver
from xlbridge.upload.planning import RowReason
from xlbridge.upload.results import job_json
from xlbridge.validation import validate_workbook
from xlbridge.wire.registry import PRODUCT_LIST

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


Send = Callable[..., Job]


@pytest.fixture
def product(tmp_path: Path) -> dict[str, str]:
    return {"codigoInterno": f"ATR-{new_cnpj()}", "descricaoDoProduto": "Arruela"}


@pytest.fixture
def send(context: UploadContext, client: Client, tmp_path: Path) -> Send:
    """Send a product that exists, and what changes of it."""

    def send(row: dict[str, object], **changes: object) -> Job:
        path = write_records(tmp_path / "produtos.xlsx", "produto", [row])
        sheet = validate_workbook(path, context.catalogue)
        return send_sheet(context, client, sheet, replace(QUICK, update=True, **changes))  # type: ignore[arg-type]

    return send


def stored(client: Client, row: dict[str, str]) -> dict[str, object]:
    (found,) = (one for one in client.records(PRODUCT_LIST) if row.items() <= one.items())
    return dict(found)


def see_late(proxy: LossyProxy, readings: int) -> None:
    """Show the next readings as they were before the last write."""
    proxy.lag = proxy._late = readings


@pytest.mark.parametrize("late", [2, 1000])
def test_a_change_is_not_built_on_a_record_as_it_was_before_another_change(
    client: Client, proxy: LossyProxy, product: dict[str, str], send: Send, late: int
) -> None:
    """The request contains the whole record, and would take the earlier change back."""
    created = {**product, "marca": "Ciser", "valorUnitario": 2.5}
    assert send(created).state is State.DONE
    stored(client, product)
    proxy.lag = 1000
    changed = {**created, "marca": "Tramontina"}
    assert send(changed, settle_seconds=0).state is State.DONE
    see_late(proxy, late)
    job = send({**changed, "valorUnitario": 3.5})
    see_late(proxy, 0)
    now = stored(client, product)
    assert now["marca"] == "Tramontina"
    assert now["valorUnitario"] == (3.5 if late == 2 else 2.5), job.events
    assert (job.state, job.held) == (State.DONE, int(late != 2))


def test_a_row_is_not_called_unchanged_that_an_upload_has_just_changed(
    context: UploadContext, client: Client, proxy: LossyProxy, product: dict[str, str], send: Send
) -> None:
    created = {**product, "marca": "Ciser"}
    assert send(created).state is State.DONE
    stored(client, product)
    proxy.lag = 1000
    changed = send({**product, "marca": "Tramontina"}, settle_seconds=0)
    see_late(proxy, 1000)
    (row,) = context.journal.plan_of(send(created))
    assert (row.reason, row.job) == (RowReason.SHOWN_LATE, changed.id)
    # Once the system must show it, it is what somebody else made of it.
    with_later_clock = Journal(context.journal.path, now=FakeClock.later(1000))
    job = Uploads(replace(context, journal=with_later_clock), client).create(
        validate_workbook(Path(changed.spec.file), context.catalogue), replace(QUICK, update=True)
    )
    (row,) = with_later_clock.plan_of(job)
    with_later_clock.close()
    see_late(proxy, 0)
    assert row.reason is RowReason.SAME


def test_a_record_that_was_just_created_is_not_called_gone(
    context: UploadContext, client: Client, proxy: LossyProxy, product: dict[str, str], send: Send
) -> None:
    with pytest.raises(ValueError, match="not enough"):
        stored(client, product)
    proxy.lag = 1000
    created = send(product, settle_seconds=0)
    see_late(proxy, 1000)
    (row,) = context.journal.plan_of(send(product))
    assert (row.reason, row.job) == (RowReason.SHOWN_LATE, created.id), row
    see_late(proxy, 2)
    (row,) = context.journal.plan_of(send(product))
    assert row.reason is RowReason.SAME


def test_an_undo_does_not_call_a_record_changed_that_is_shown_late(
    context: UploadContext, client: Client, proxy: LossyProxy, product: dict[str, str], send: Send
) -> None:
    assert send({**product, "marca": "Ciser"}).state is State.DONE
    stored(client, product)
    proxy.lag = 1000
    changed = send({**product, "marca": "Tramontina"}, settle_seconds=0)
    see_late(proxy, 1000)
    uploads = Uploads(replace(context, settings=replace(context.settings, settle=900)), client)
    plan = uploads.plan_undo(changed, sleep=QUICK.sleep)
    see_late(proxy, 0)
    assert [(row.row, row.reason) for row in plan.left] == [(2, "shown-late")]


def test_a_record_that_was_just_sent_is_awaited_where_a_cell_names_it(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients,
    tmp_path: Path,
) -> None:  # fmt: skip
    document = new_cnpj()
    catalogue = linked_catalogue({"codigoDoCliente": "cnpj"}, context.catalogue)
    path = write_records(tmp_path / "r.xlsx", "contasreceber", [{"codigoDoCliente": document}])
    sheet = validate_workbook(path, catalogue, resource="contasreceber")
    context = replace(context, settings=replace(context.settings, settle=900))
    Uploads(context, client).with_codes(sheet)
    proxy.lag = 1000
    clients = validate_workbook(make_clients(document), context.catalogue)
    send_sheet(context, client, clients, replace(QUICK, settle_seconds=0))
    see_late(proxy, 1000)
    resolver = LinkResolver(Registries(client), patience=lambda _: Patience(900, QUICK.sleep))
    (finding,) = resolver.fill_in(sheet).error_findings()
    assert "may not be shown yet" in finding.message.en
    see_late(proxy, 1)
    assert Uploads(context, client).with_codes(sheet).ok
