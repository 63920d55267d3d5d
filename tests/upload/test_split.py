"""A sheet sent in parts: each part is a job, and the parent job has one verdict.

Inside: batch, upload.
"""

import hashlib
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from fake_clock import FakeClock
from lossy_proxy import LossyProxy, ProxyFault
from sheets import edit, write_records
from upload_parts import (
    AT_ONCE,
    YES,
    MakeClients,
    accepted_rows,
    existing_cnpj,
    new_cnpj,
    plan_counts,
    registered,
    report_lines,
    row_counts,
    write_job,
)

from xlbridge.batch.proof_builder import contradictions, sent_file
from xlbridge.batch.proof_model import StepFile
from xlbridge.client import Client
from xlbridge.errors import InDoubt, UsageError
from xlbridge.i18n import override_language
from xlbridge.resources import Catalogue
from xlbridge.settings import read_settings
from xlbridge.upload import (
    Job,
    Journal,
    RequestedMode,
    Resolution,
    State,
    UploadContext,
    Uploads,
    resolve_job,
)
from xlbridge.upload.planning import ConsentRequest, RowAction
from xlbridge.upload.planning.corrected_rows import corrected_rows
from xlbridge.upload.requests import RowOutcome
from xlbridge.upload.results import job_json
from xlbridge.upload.results.status_copy import row_statuses
from xlbridge.validation import validate_workbook
from xlbridge.wire.financial import PAYABLE_LIST_OPEN


def split_job(
    context: UploadContext,
    client: Client,
    path: Path,
    mode: RequestedMode,
    rows: int,
    *,
    look_up: bool = True,
) -> Job:
    return write_job(context, client, path, mode, chunk_rows=rows, look_up=look_up)


@pytest.mark.parametrize("mode", ["direct", "queue"])
def test_every_part_is_sent_once_with_one_consent(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    make_clients: MakeClients,
    mode: RequestedMode,
) -> None:
    documents = [new_cnpj() for _ in range(5)]
    requests: list[tuple[int, int | None]] = []

    def agree(request: ConsentRequest) -> bool:
        requests.append((len(request.job.spec.rows), request.job.known.previewed))
        return True

    job = split_job(context, client, make_clients(*documents), mode, 2)
    job = Uploads(context, client).run(job, replace(YES, consent=agree))
    report = job_json(context.journal, job)
    assert (report["state"], report["parts"], requests) == ("done", 3, [(5, 5)])
    assert report["rows"] == row_counts(read=5, accepted=5)
    assert job.notes.plan == plan_counts(create=5)
    parts = context.journal.parts_of(job)
    assert [len(part.spec.rows) for part in parts] == [2, 2, 1]
    assert [row for part in parts for row in part.spec.rows] == list(job.spec.rows)
    assert all(registered(client, document) for document in documents)
    assert context.journal.jobs() == [job]


def test_rejected_rows_of_all_parts_are_in_one_rejects_workbook(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    existing, fresh = existing_cnpj(client), [new_cnpj() for _ in range(3)]
    path = make_clients(*fresh, existing, label="Outro")
    job = split_job(context, client, path, "direct", 2, look_up=False)
    job = Uploads(context, client).run(job, AT_ONCE)
    report = job_json(context.journal, job)
    assert report["state"] == "partial"
    assert report["rows"] == row_counts(read=4, accepted=2, rejected=2)
    assert [item["row"] for item in report["rejected"]] == [7]
    assert not registered(client, fresh[2])
    with override_language("pt-BR"):
        assert row_statuses(context, job)[6].reason.startswith("Não aplicada: o envio inteiro")
    part = context.journal.parts_of(job)[1]
    with pytest.raises(UsageError, match=job.id):
        part.require_rejected()
    rejects = Path(job.notes.rejects_file)
    assert part.notes.rejects_file is None
    edit(rejects, "cnpj", 3, new_cnpj())
    corrected = corrected_rows(context, job, validate_workbook(rejects, context.catalogue))
    assert corrected.origins == {2: 6, 3: 7}


def test_corrected_rows_are_sent_again_in_parts_and_once_each(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    taken = [existing_cnpj(client) for _ in range(3)]
    path = make_clients(new_cnpj(), *taken, label="Outro")
    job = split_job(context, client, path, "queue", 9, look_up=False)
    job = Uploads(context, client).run(job, AT_ONCE)
    rejects = Path(job.notes.rejects_file)
    corrected_cnpj = {row: new_cnpj() for row in (2, 3, 4)}
    for row, document in corrected_cnpj.items():
        edit(rejects, "cnpj", row, document)
    corrected = corrected_rows(context, job, validate_workbook(rejects, context.catalogue))
    again = Uploads(context, client).create(corrected, replace(YES, chunk_rows=2))
    assert [len(part.spec.rows) for part in context.journal.parts_of(again)] == [2, 1]
    staged: list[str] = []

    def fail_second_part(_method: str, request_path: str) -> ProxyFault:
        staged.extend([request_path] if "/fila" in request_path else [])
        return "unavailable" if len(staged) >= 2 and "/fila" in request_path else "pass"

    proxy.decide = fail_second_part
    with pytest.raises(InDoubt):
        Uploads(context, client).run(again, AT_ONCE)
    with pytest.raises(UsageError, match="not yet sent again"):
        corrected_rows(context, job, validate_workbook(rejects, context.catalogue))
    proxy.decide = lambda _method, _path: "pass"
    assert Uploads(context, client).run(again, AT_ONCE).state is State.DONE
    assert all(registered(client, document) for document in corrected_cnpj.values())
    with pytest.raises(UsageError, match="not yet sent again"):
        corrected_rows(context, job, validate_workbook(rejects, context.catalogue))
    whole = StepFile(path, hashlib.sha256(path.read_bytes()).hexdigest(), 4, job_id=job.id)
    sent = sent_file(context.journal, "clientes", whole)
    assert ([*contradictions(sent)], [row.origin for row in sent.rows]) == ([], [*job.spec.rows])
    assert {row.outcome for row in sent.rows} == {RowOutcome.ACCEPTED}


def test_a_part_refused_in_its_preview_stops_all_parts(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    documents = [new_cnpj() for _ in range(4)]
    job = split_job(context, client, make_clients(*documents), "direct", 2)
    seen: list[str] = []

    def decide(_method: str, path: str) -> ProxyFault:
        seen.extend([path] if "preview=true" in path else [])
        return "refuse" if len(seen) == 2 and "preview=true" in path else "pass"

    proxy.decide = decide
    job = Uploads(context, client).run(job, AT_ONCE)
    assert (job.state, accepted_rows(context, job)) == (State.REJECTED, 0)
    assert not any(registered(client, document) for document in documents)
    proxy.decide = lambda _method, _path: "pass"
    again = split_job(context, client, Path(job.spec.file), "direct", 2)
    assert Uploads(context, client).run(again, AT_ONCE).state is State.DONE


def test_unsent_parts_are_resumed_with_the_parent(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    documents = [new_cnpj() for _ in range(6)]
    path = make_clients(*documents)
    job = split_job(context, client, path, "queue", 2)
    staged: list[str] = []

    def decide(_method: str, request_path: str) -> ProxyFault:
        staged.extend([request_path] if "/fila" in request_path else [])
        return "unavailable" if len(staged) >= 2 and "/fila" in request_path else "pass"

    proxy.decide = decide
    with pytest.raises(InDoubt):
        Uploads(context, client).run(job, AT_ONCE)
    half = context.journal.job(job.id)
    assert half.state is State.SENDING_PARTS
    assert job_json(context.journal, half)["rows"]["accepted"] == 2
    assert "xlbridge resume" in " ".join(report_lines(context.journal, half))
    held = split_job(context, client, path, "queue", 2)
    assert held.notes.plan == plan_counts(unchanged=2, held=4)
    assert {row.job for row in context.journal.plan_of(held) if row.action is RowAction.HELD} <= {
        part.id for part in context.journal.parts_of(job)
    }
    proxy.decide = lambda _method, _path: "pass"
    second = context.journal.parts_of(half)[1]
    assert Uploads(context, client).run(second, AT_ONCE).state is State.DONE
    assert Uploads(context, client).run(half, AT_ONCE).state is State.DONE
    assert sum("/fila" in path for _, path in proxy.seen) >= 3
    assert all(registered(client, document) for document in documents)


def test_a_job_is_in_doubt_until_a_person_resolves_its_doubtful_part(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    documents = [new_cnpj() for _ in range(4)]
    job = split_job(context, client, make_clients(*documents), "direct", 2)

    def decide(_method: str, request_path: str) -> ProxyFault:
        sent = sum("preview=false" in path for _, path in proxy.seen)
        return "lose request" if "preview=false" in request_path and sent == 1 else "pass"

    proxy.decide = decide
    job = Uploads(context, client).run(job, AT_ONCE)
    assert job.state is State.NEEDS_PERSON
    assert job_json(context.journal, job)["rows"] == row_counts(read=4, accepted=2, unknown=2)
    first = context.journal.parts_of(job)[0]
    assert Path(first.notes.evidence_file).exists()
    resolve_job(context, first, Resolution.NOT_APPLIED, "the first two are missing")
    resolved = context.journal.job(job.id)
    assert resolved.state is State.PARTIAL
    assert job_json(context.journal, resolved)["rows"] == row_counts(read=4, accepted=2, rejected=2)
    rejects = validate_workbook(Path(resolved.notes.rejects_file), context.catalogue)
    assert corrected_rows(context, resolved, rejects).origins == {2: 4, 3: 5}


def test_an_unsent_split_job_is_reused_or_abandoned(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    path = make_clients(*(new_cnpj() for _ in range(4)))
    first = split_job(context, client, path, "direct", 2)
    assert split_job(context, client, path, "direct", 2).id == first.id
    other = split_job(context, client, path, "direct", 3)
    assert context.journal.job(first.id).state is State.ABANDONED
    assert {part.state for part in context.journal.parts_of(first)} == {State.ABANDONED}
    assert len(context.journal.parts_of(other)) == 2


def test_reports_of_declined_parts_claim_nothing_that_was_not_looked_up(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    path = make_clients(*(new_cnpj() for _ in range(4)))
    shown: list[str] = []

    def decline(request: ConsentRequest) -> bool:
        shown.extend(map(str, request.lines()))
        return False

    declining = replace(YES, consent=decline)
    job = split_job(context, client, path, "direct", 2, look_up=False)
    job = Uploads(context, client).run(job, declining)
    assert "in 2 parts" in shown[0]
    assert "in the system" not in "".join(shown)
    output = [
        "Nothing was sent (not confirmed).",
        f"Next: to send the rows, repeat xlbridge upload {path} with the same options.",
    ]
    assert report_lines(context.journal, job) == output
    assert job_json(context.journal, job)["rows"]["accepted"] == 0
    job = Uploads(context, client).run(split_job(context, client, path, "direct", 2), declining)
    new = plan_counts(create=4)
    assert job.notes.plan == new
    preview = split_job(context, client, path, "preview", 2)
    assert Uploads(context, client).run(preview, declining).notes.plan == new
    assert report_lines(context.journal, job) == output


@pytest.mark.parametrize("mode", ["direct", "queue"])
def test_a_part_whose_record_was_created_meanwhile_is_not_sent(
    home: Path,
    catalogue: Catalogue,
    client: Client,
    proxy: LossyProxy,
    tmp_path: Path,
    mode: RequestedMode,
) -> None:
    """While the first part is sent, a colleague creates a record of the second."""
    documents = [f"FAT-{new_cnpj()}" for _ in range(2)]
    row = {"dataDeVencimento": date(2026, 10, 30), "historico": "Energia"}
    rows = [row | {"numeroDoDocumento": one} for one in documents]
    path = write_records(tmp_path / "contas.xlsx", "contaspagar", rows)
    colleagues_rows = [rows[1] | {"historico": "De um colega"}]
    colleague = write_records(tmp_path / "colega.xlsx", "contaspagar", colleagues_rows)
    clock = FakeClock()
    options = replace(YES, mode=mode, chunk_rows=1, update=True)

    def send(folder: Path, sheet: Path) -> dict[str, Any]:
        settings = read_settings({"XLBRIDGE_HOME": str(folder), "XLBRIDGE_SETTLE": "0"})
        with closing(Journal(settings.journal, clock)) as journal:
            uploads = Uploads(UploadContext(settings, catalogue, journal), client)
            job = uploads.create(validate_workbook(sheet, catalogue), options)
            return job_json(journal, uploads.run(job, options))

    imported: list[str] = []

    def decide(method: str, request_path: str) -> ProxyFault:
        if (
            method == "POST"
            and "importacao" in request_path
            and "preview=true" not in request_path
            and not imported
        ):
            imported.append(request_path)
            assert send(tmp_path / "other-home", colleague)["state"] == "done"
            clock.advance(120)
        return "pass"

    proxy.decide = decide
    report = send(home, path)
    assert (report["state"], report["rows"]["accepted"]) == ("partial", 1)
    found = [t for t in client.records(PAYABLE_LIST_OPEN) if t["numeroDoDocumento"] in documents]
    assert sorted(str(title["historico"]) for title in found) == ["De um colega", "Energia"]


def test_the_reasons_of_all_parts_are_told_with_equal_ones_once(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    job = split_job(context, client, make_clients("", new_cnpj(), ""), "direct", 1)
    faults: list[ProxyFault] = ["lose answer", "lose request", "lose answer"]
    proxy.decide = lambda _method, path: faults.pop(0) if "preview=false" in path else "pass"
    job = Uploads(context, client).run(job, AT_ONCE)
    assert job.state is State.NEEDS_PERSON
    no_key, unchanged, _ = [part.reason for part in context.journal.parts_of(job)]
    assert "not read before" in no_key.en
    assert "unchanged" in unchanged.en
    assert job.reason.en == f"parts 1, 3: {no_key.en}; part 2: {unchanged.en}"
    assert job.reason.pt == f"partes 1, 3: {no_key.pt}; parte 2: {unchanged.pt}"
    second = context.journal.parts_of(job)[1]
    resolve_job(context, second, Resolution.NOT_APPLIED, "it is missing")
    assert context.journal.job(job.id).reason == no_key
