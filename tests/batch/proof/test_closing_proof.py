"""Every row of a batch is accounted for and compared with the system.

Inside: batch.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from lossy_proxy import LossyProxy, ProxyFault
from openpyxl import load_workbook
from proof_parts import AT, AT_ONCE, NOVEMBER, OCTOBER, TITLE, BatchSetting, tamper, title_row
from sheets import column_of, edit
from upload_parts import accepted_rows, new_cnpj

from xlbridge.batch.proof_builder import build_proof
from xlbridge.batch.proof_model import (
    OpenReason,
    Proof,
    ProofCounts,
    TotalTable,
    open_items,
    total_counts,
)
from xlbridge.batch.proof_source_tables import job_table
from xlbridge.client import Client, UploadFile
from xlbridge.errors import InDoubt, UsageError
from xlbridge.i18n import Text
from xlbridge.resources import load_catalogue
from xlbridge.upload import State
from xlbridge.upload.results import job_report
from xlbridge.wire.imports import IMPORT


def table(proof: Proof, resource: str, by: str) -> TotalTable:
    title = load_catalogue()[resource].title
    (found,) = [t for t in proof.totals if t.resource == title and str(t.axis.heading) == by]
    return found


def sums(table: TotalTable) -> dict[str | None, tuple[int, str, str, str]]:
    return {
        t.label: (t.rows, f"{t.amount:.2f}", f"{t.found or 0:.2f}", f"{t.difference or 0:.2f}")
        for t in table.totals
    }


def test_rows_stored_as_sent_are_all_accounted_for(setting: BatchSetting) -> None:
    ana, rui = setting.customer(), setting.customer()
    rows = [
        title_row(ana, "A-1", 0.1, OCTOBER),
        title_row(ana, "A-2", 0.2, OCTOBER),
        title_row(rui, "R-1", 1234567.89, NOVEMBER),
    ]
    setting.send("receber", setting.write("receber.xlsx", "contasreceber", *rows))
    setting.send(
        "mais", setting.write("mais.xlsx", "contasreceber", title_row(rui, "R-2", 5, OCTOBER))
    )
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=4, accepted=4, same=4)
    assert [total_counts(files).read for files in proof.steps.values()] == [3, 1]
    assert (proof.cells, proof.rows, proof.refused, proof.unread, proof.breaches) == ((),) * 5
    assert sums(table(proof, "contasreceber", "Due date, by day")) == {
        "2026-10-31": (3, "5.30", "5.30", "0.00"),
        "2026-11-05": (1, "1234567.89", "1234567.89", "0.00"),
    }
    assert sums(table(proof, "contasreceber", "Client")) == {
        str(ana): (2, "0.30", "0.30", "0.00"),
        str(rui): (2, "1234572.89", "1234572.89", "0.00"),
    }
    of_clients = table(proof, "contasreceber", "Client")
    assert of_clients.axis.names.keys() >= {total.label for total in of_clients.totals}
    total = table(proof, "contasreceber", "Branch").sum
    assert (total.amount, total.found) == (Decimal("1234573.19"), Decimal("1234573.19"))
    assert all(total.agrees for t in proof.totals for total in t.totals)


def test_changes_in_the_system_are_reported_by_cell(
    setting: BatchSetting, sandbox_home: Path
) -> None:
    ana = setting.customer()
    documents = [f"D-{number}" for number in range(1, 5)]
    rows = [title_row(ana, document, 10.10, OCTOBER) for document in documents]
    path = setting.write("receber.xlsx", "contasreceber", *rows)
    job = setting.send("receber", path, chunk_rows=3)
    assert job.parts == 2
    values = {"valorDoLancamento": Decimal("10.11"), "historico": "Outro"}
    tamper(sandbox_home, ana, changed="D-2", values=values, deleted="D-3", copied="D-4")
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=4, accepted=4, same=1, differs=1, missing=1, doubled=1)
    sheet = load_workbook(path)["Plan1"]
    history = f"{letter(path, 'historico')}3"
    assert {(c.cell, c.column, c.sent, c.found) for c in proof.cells} == {
        (history, "historico", sheet[history].value, "Outro"),
        (f"{letter(path, 'valorDoLancamento')}3", "valorDoLancamento", "10.1", "10.11"),
    }
    assert 10.1 in {sheet[c.cell].value for c in proof.cells if c.cell}
    (missing, doubled) = proof.rows
    assert (missing.state, missing.location.row, missing.codes) == (OpenReason.MISSING, 4, ())
    assert missing.key == {
        "codigoDaFilial": "1",
        "codigoDoCliente": str(ana),
        "numeroDoDocumento": "D-3",
        "dataDeVencimento": "2026-10-31",
    }
    assert (doubled.state, doubled.location.row, len(doubled.codes)) == (OpenReason.DOUBLED, 5, 2)
    assert sums(table(proof, "contasreceber", "Due date, by month")) == {
        "2026-10": (4, "40.40", "40.41", "0.01"),
    }


def letter(path: Path, column: str) -> str:
    (found,) = [cell for cell in load_workbook(path)["Plan1"][1] if cell.value == column]
    return str(found.column_letter)


def test_rejected_rows_are_reported_and_corrected_ones_count_once(setting: BatchSetting) -> None:
    taken, fresh = new_cnpj(), [new_cnpj() for _ in range(3)]
    setting.client.registry.clients.create(nomeComercial="Antigo", cnpj=taken)
    documents = [fresh[0], taken, fresh[1], fresh[2]]
    rows = [{"nomeComercial": f"Novo {d}", "cnpj": d} for d in documents]
    rows[2]["codigoDoVendedor"] = 99
    path = setting.write("clientes.xlsx", "cliente", *rows)
    job = setting.send("clientes", path, options=replace(AT_ONCE, look_up=False))
    assert job.state is State.PARTIAL
    before = setting.prove()
    assert before.counts == ProofCounts(read=4, accepted=2, rejected=2, same=2)
    assert before.rows == ()
    assert [(r.location.row, r.column) for r in before.refused] == [
        (3, "cnpj"),
        (4, "codigoDoVendedor"),
    ]
    rejects = Path(job.notes.rejects_file)
    assert column_of(rejects, "codigoDoVendedor")[1] == 99
    edit(rejects, "codigoDoVendedor", 3, 3)
    assert setting.retry(job, rejects).state is State.DONE
    after = setting.prove()
    assert after.counts == ProofCounts(read=4, accepted=3, rejected=1, same=3)
    assert [r.location.row for r in after.refused] == [3]
    assert len(after.steps["clientes"][0].jobs) == 2
    assert after.breaches == ()


def test_many_rows_are_read_back_from_whole_listings(
    setting: BatchSetting, proxy: LossyProxy, sandbox_home: Path
) -> None:
    ana = setting.customer()
    rows = [
        title_row(ana, f"L-{number}", number / 100, OCTOBER) | {"idws": f"{ana}-{number}"}
        for number in range(1, 70)
    ]
    setting.send("receber", setting.write("receber.xlsx", "contasreceber", *rows))
    changed = {"valorDoLancamento": Decimal("9.99")}
    tamper(sandbox_home, ana, changed="L-7", values=changed, deleted="L-8")
    proxy.seen.clear()
    proof = setting.prove()
    everything = len(rows)
    assert proof.counts == ProofCounts(
        read=everything, accepted=everything, same=everything - 2, differs=1, missing=1
    )
    assert [(cell.sent, cell.found) for cell in proof.cells] == [("0.07", "9.99")]
    assert [row.key for row in proof.rows] == [{"idws": f"{ana}-8"}]
    assert len(proxy.seen) < 10
    total = table(proof, "contasreceber", "Client").sum
    assert (total.amount, total.difference) == (Decimal("24.15"), Decimal("9.84"))


def test_a_row_in_doubt_is_reported_with_the_records_found(
    setting: BatchSetting, proxy: LossyProxy
) -> None:
    ana = setting.customer()
    rows = [title_row(ana, None, 7, OCTOBER), title_row(ana, "D-1", 8, OCTOBER)]
    path = setting.write("receber.xlsx", "contasreceber", *rows)
    proxy.fail_once("lose answer", "preview=false")
    job = setting.send("receber", path, mode="direct")
    assert job.state is State.NEEDS_PERSON
    proof = setting.prove()
    assert (proof.counts.read, proof.counts.accepted + proof.counts.unknown) == (2, 2)
    assert proof.counts.unknown == 1
    (doubt,) = proof.rows
    assert (doubt.state, doubt.location.row) == (OpenReason.UNKNOWN, 2)
    assert table(proof, "contasreceber", "Client").sum.amount == 8


def test_what_a_stopped_upload_has_written_is_accepted_and_the_rest_in_doubt(
    setting: BatchSetting, proxy: LossyProxy
) -> None:
    document = new_cnpj()
    rows = [
        {"numeroDoDocumento": f"{document}-{place}", "dataDeVencimento": OCTOBER}
        for place in range(4)
    ]
    path = setting.write("pagar.xlsx", "contaspagar", *rows)
    posted: list[str] = []

    def decide(method: str, asked: str) -> ProxyFault:
        if method == "POST" and asked.endswith("/contaspagar"):
            posted.append(asked)
        return "pass" if len(posted) < 3 else "lose request"

    proxy.decide = decide
    options = replace(AT_ONCE, at_once=1, settle_seconds=86_400)
    with pytest.raises(InDoubt):
        setting.send("pagar", path, mode="records", options=options)
    proxy.decide = lambda _method, _path: "pass"
    (job,) = setting.context.journal.jobs()
    assert (job.state, accepted_rows(setting.context, job)) == (State.IN_DOUBT, 2)
    headline = str(job_report(setting.context.journal, job).verdict)
    assert "whether 2 rows were written is not known. Rows: 4, accepted: 2" in headline
    proof = setting.prove()
    assert (proof.counts.accepted, proof.counts.unknown) == (2, 2)
    assert proof.breaches == ()


def test_rows_that_cannot_be_read_back_have_a_reason(setting: BatchSetting) -> None:
    ana = setting.customer()
    setting.send(
        "notas",
        setting.write("notas.xlsx", "nota-fiscal-servico", *[{"codigoDoCliente": ana}] * 2),
    )
    rows = [title_row(ana, None, 7, OCTOBER), title_row(ana, "K-1", 8, OCTOBER)]
    setting.send("receber", setting.write("receber.xlsx", "contasreceber", *rows))
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=4, accepted=4, same=1, unread=3)
    assert [(u.resource, u.rows) for u in proof.unread] == [
        ("nota-fiscal-servico", 2),
        ("contasreceber", 1),
    ]
    notes = table(proof, "nota-fiscal-servico", "Branch").sum
    assert (notes.amount, notes.unread, notes.found, notes.difference) == (3000, 3000, 0, 0)
    titles = table(proof, "contasreceber", "Branch").sum
    assert (titles.amount, titles.unread, titles.found, titles.difference) == (15, 7, 8, 0)


def test_records_without_a_key_are_read_back_by_the_numbers_that_the_system_gave(
    setting: BatchSetting,
) -> None:
    notes = [{"codigoDoCliente": setting.customer(), "valorDoServico": 40}] * 2
    setting.send(
        "notas", setting.write("notas.xlsx", "nota-fiscal-servico", *notes), mode="records"
    )
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=2, accepted=2, same=2)
    found = table(proof, "nota-fiscal-servico", "Branch").sum
    assert (found.amount, found.unread, found.found, found.difference) == (80, 0, 80, 0)


def test_workbooks_that_were_not_sent_do_not_count_as_rejected(setting: BatchSetting) -> None:
    path = setting.write("ruim.xlsx", "cliente", {"nomeComercial": None}, {})
    because = Text(pt="1 erro", en="1 error")
    setting.add("clientes", path, 2, because=because)
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=2, unsent=2)
    assert "rows not sent: 2" in map(str, open_items(proof))
    assert proof.steps["clientes"][0].file.not_sent_because == because


@pytest.mark.parametrize("rows", [1, 3])
def test_contradicting_counts_are_reported(setting: BatchSetting, rows: int) -> None:
    path = setting.write("clientes.xlsx", "cliente", *[{"cnpj": new_cnpj()} for _ in range(2)])
    job = setting.send("clientes", path)
    setting.steps.clear()
    setting.add("clientes", path, rows, job.id)
    breaches = [str(breach) for breach in setting.prove().breaches]
    assert any(f"has {rows} row" in breach for breach in breaches)


def test_a_payload_that_is_gone_is_a_contradiction(setting: BatchSetting) -> None:
    job = setting.send("clientes", setting.write("c.xlsx", "cliente", {"cnpj": new_cnpj()}))
    setting.context.payload_path(job.spec.payload).write_bytes(b"tampered")
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=1, accepted=1, unread=1)
    assert ["gone or has changed" in str(breach) for breach in proof.breaches] == [True]


def test_earlier_records_are_not_assigned_and_duplicate_the_key(
    setting: BatchSetting, new_setting: Callable[[], BatchSetting]
) -> None:
    ana = setting.customer()
    row = title_row(ana, "OLD", 10, OCTOBER)
    setting.send("antes", setting.write("antes.xlsx", "contasreceber", row))
    setting.steps.clear()
    unchanged = new_setting()
    unchanged.send("agora", unchanged.write("agora.xlsx", "contasreceber", row))
    assert unchanged.prove().counts == ProofCounts(read=1, unchanged=1, same=1)
    later = new_setting()
    later.send("agora", later.write("agora.xlsx", "contasreceber", row), again="de propósito")
    proof = later.prove()
    assert proof.counts == ProofCounts(read=1, accepted=1, doubled=1)
    (doubled,) = proof.rows
    assert (doubled.state, len(doubled.codes)) == (OpenReason.DOUBLED, 2)
    assert all(total.agrees for t in proof.totals for total in t.totals)


def test_a_changed_record_is_that_of_its_row(setting: BatchSetting) -> None:
    rows = [
        {"numeroDoDocumento": new_cnpj(), "dataDeVencimento": OCTOBER, "historico": "Aluguel"}
        for _ in range(2)
    ]
    setting.send("antes", setting.write("antes.xlsx", "contaspagar", *rows))
    setting.steps.clear()
    changed = [row | {"historico": "Aluguel de outubro"} for row in rows]
    path = setting.write("agora.xlsx", "contaspagar", *changed)
    setting.send("agora", path, mode="auto", options=replace(AT_ONCE, update=True))
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=2, accepted=2, same=2)
    assert all(total.agrees for t in proof.totals for total in t.totals)


def test_rows_of_one_key_in_two_workbooks_are_one_too_many(setting: BatchSetting) -> None:
    ana = setting.customer()
    documents = ("K-1", "K-2", "K-3")
    for name in ("a", "b"):
        rows = [
            title_row(ana, document, 10, OCTOBER) | {"historico": f"{name} {document}"}
            for document in documents[: 3 if name == "a" else 2]
        ]
        setting.send(
            "receber", setting.write(f"{name}.xlsx", "contasreceber", *rows), again="outra"
        )
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=5, accepted=5, same=1, doubled=4)
    assert [len(row.codes) for row in proof.rows] == [2] * 4
    (breach,) = map(str, proof.breaches)
    assert breach.startswith("b.xlsx, row 2: the same key as a.xlsx, row 2 (codigoDaFilial, ")
    assert breach.endswith("and both were accepted; and 1 more row of these workbooks")


def test_rows_of_one_key_in_one_workbook_have_a_record_each(setting: BatchSetting) -> None:
    ana = setting.customer()
    rows = [title_row(ana, "SPLIT", amount, OCTOBER) for amount in (10, 20, 30)]
    setting.send("receber", setting.write("receber.xlsx", "contasreceber", *rows))
    assert setting.prove().counts == ProofCounts(read=3, accepted=3, same=3)


def test_jobs_of_another_environment_are_not_proven_here(
    setting: BatchSetting, client: Client
) -> None:
    setting.send("clientes", setting.write("c.xlsx", "cliente", {"cnpj": new_cnpj()}))
    other = replace(client.target, profile="producao", system="another")
    with Client(other) as elsewhere, pytest.raises(UsageError, match="rehearsal; now producao"):
        build_proof(setting.context, elsewhere, TITLE, setting.steps, at=AT)


def test_an_own_resource_is_proven_by_its_schema_file(
    setting: BatchSetting, tmp_path: Path, client: Client
) -> None:
    shipped_file = setting.context.catalogue.named("contasreceber").source
    declared = "control_totals: {amount: valorDoLancamento, by: [dataDeVencimento, "
    own = shipped_file.read_text(encoding="utf-8")
    assert declared in own
    by_centre = declared.replace("dataDeVencimento", "codigoDoCentroDeCusto")
    shown = own.replace(
        "existing: added", "existing: added\n    apart: [codigoDoCentroDeCusto]"
    ).replace(declared, by_centre)
    (tmp_path / "contasreceber.yaml").write_text(shown, encoding="utf-8")
    shutil.copytree(shipped_file.with_suffix(""), tmp_path / "contasreceber")
    context = replace(setting.context, catalogue=load_catalogue(tmp_path))
    ana = setting.customer()
    mine = BatchSetting(context, client, setting.folder)
    row = title_row(ana, "OWN-1", 12.34, OCTOBER)
    mine.send("receber", mine.write("r.xlsx", "contasreceber", row))
    proof = mine.prove()
    (untold,) = table(proof, "contasreceber", "Cost centre").totals
    assert (untold.label, untold.amount, untold.found) == ("01.001", Decimal("12.34"), None)
    assert table(proof, "contasreceber", "Client").sum.found == Decimal("12.34")
    assert [t for t in proof.totals if t.axis.unit] == []


def test_rows_that_the_system_does_not_return_are_reported(
    setting: BatchSetting, proxy: LossyProxy
) -> None:
    rows = [{"cnpj": new_cnpj()}, {"cnpj": new_cnpj()}]
    setting.send("clientes", setting.write("c.xlsx", "cliente", *rows))
    proxy.decide = lambda method, path: "refuse" if "/v2/cliente?" in path else "pass"
    try:
        proof = setting.prove()
    finally:
        proxy.decide = lambda _method, _path: "pass"
    assert proof.counts == ProofCounts(read=2, accepted=2, unread=2)
    assert "did not allow reading them: " in str(proof.unread[0].reason)


def test_a_job_that_is_still_under_way_has_no_outcome(setting: BatchSetting) -> None:
    path = setting.write("c.xlsx", "cliente", {"cnpj": new_cnpj()})
    job = setting.send("clientes", path, options=replace(AT_ONCE, wait=False))
    assert job.state in (State.STAGED, State.POLLING)
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=1, unknown=1)
    assert [row.state for row in proof.rows] == [OpenReason.UNKNOWN]


def test_rows_that_were_accepted_twice_are_reported(setting: BatchSetting) -> None:
    ana = setting.customer()
    rows = [title_row(ana, f"TWICE-{number}", 5, OCTOBER) for number in range(2)]
    wrong = rows[1] | {"codigoDaContaCorrente": 99999}
    one = setting.send("receber", setting.write("r.xlsx", "contasreceber", rows[0], wrong))
    two = setting.retry(one, setting.write("r.xlsx", "contasreceber", *rows), again="outra vez")
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=2, accepted=2, same=1, doubled=1)
    assert [
        f"row 2: accepted by more than one upload ({one.id}, {two.id})" in str(b)
        for b in proof.breaches
    ] == [True]
    notes = [str(line.values[1] or "") for line in job_table(proof).lines]
    assert notes == ["", f"retry of {one.id}; sent again: outra vez"]


def test_rejected_rows_that_are_in_the_system_are_reported(
    setting: BatchSetting, proxy: LossyProxy
) -> None:
    documents = [new_cnpj() for _ in range(2)]
    path = setting.write("c.xlsx", "cliente", *[{"cnpj": document} for document in documents])
    proxy.fail_once("refuse", "preview=false")
    job = setting.send("clientes", path, mode="direct")
    assert job.state is State.REJECTED
    file = UploadFile("by-somebody-else.xlsx", setting.context.load_payload(job.spec.payload))
    setting.client.call(IMPORT, path={"resource": "cliente"}, file=file)
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=2, rejected=2, not_written=2)
    codes = {setting.client.registry.clients.list(cnpjcpf=d).codigoDoCliente for d in documents}
    assert {row.state for row in proof.rows} == {OpenReason.WRITTEN}
    assert {code for row in proof.rows for code in row.codes} == {str(code) for code in codes}
    assert "rejected rows that are in the system nevertheless: 2" in map(str, open_items(proof))
