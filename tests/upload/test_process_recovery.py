"""Processing with lost answers, kills and doubts: proven by the records' state, never repeated."""

import json
from pathlib import Path
from typing import Any

from databases import TABLES, connected
from environment import Xlbridge
from lossy_proxy import LossyProxy, ProxyFault
from process_parts import (
    FILES,
    ORDERS,
    PRODUCT_INVOICES,
    SERVICE_INVOICES,
    count_processing_requests,
    record_counts,
)
from sqlalchemy import update
from update_parts import Run

from xlbridge.client import Client


def test_a_refused_record_that_was_processed_anyway_counts_as_done(
    client: Client, customer: int, proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    number = ORDERS.create(client, customer, tmp_path)
    proxy.fail_once("refuse after", ORDERS.path)
    code, report = run("process", "pedidos", "--id", number, "--yes")
    assert (code, report["rows"]) == (0, record_counts(read=1, already=1))


def test_many_records_are_processed_concurrently_and_each_once(
    client: Client, customer: int, proxy: LossyProxy, run: Run, sandbox_home: Path, tmp_path: Path
) -> None:
    numbers = [PRODUCT_INVOICES.create(client, customer, tmp_path) for _ in range(12)]
    lost = {numbers[2]: "lose answer", numbers[5]: "lose request", numbers[7]: "refuse"}
    faulted: set[str] = set()

    def decide(method: str, path: str) -> ProxyFault:
        number = int(path.rsplit("/", 1)[-1]) if PRODUCT_INVOICES.path in path else 0
        if method != "POST" or number not in lost or path in faulted:
            return "pass"
        faulted.add(path)
        return lost[number]  # type: ignore[return-value]

    proxy.decide = decide
    proxy.seen.clear()
    listed = ",".join(map(str, numbers))
    code, report = run("process", "nfe", "--id", listed, "--yes", "--at-once", 4)
    assert (code, report["rows"]) == (1, record_counts(read=12, processed=11, rejected=1)), report
    assert [record["id"] for record in report["records"]] == numbers
    times = [PRODUCT_INVOICES.times_processed(sandbox_home, number) for number in numbers]
    assert (sum(times), times[7], count_processing_requests(proxy, PRODUCT_INVOICES)) == (11, 0, 13)
    code, report = run("process", "nfe", "--id", listed, "--yes", "--at-once", 4)
    assert (code, report["rows"]) == (0, record_counts(read=12, processed=1, already=11))


def test_a_person_decides_if_the_record_proves_nothing(
    client: Client,
    customer: int,
    proxy: LossyProxy,
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    home: Path,
    sandbox_home: Path,
    tmp_path: Path,
) -> None:
    """A system that shows no number for its service invoices leaves them in doubt.

    Stored messages are printed in the language of the later command, not of the run.
    """
    first, second = (SERVICE_INVOICES.create(client, customer, tmp_path) for _ in range(2))
    proxy.answers = {
        f"/nfse/{number}": json.dumps({"success": True, "data": {"idNF": number}}).encode()
        for number in (first, second)
    }
    decisions = {}
    for number, answer in ((first, "applied"), (second, "not-applied")):
        fault: ProxyFault = "lose answer" if answer == "applied" else "lose request"
        proxy.fail_once(fault, f"/nfs/processar/{number}")
        code, report = run("process", "nfse", "--id", number, "--yes")
        assert (code, report["state"], report["rows"]) == (
            5,
            "in_doubt",
            record_counts(read=1, unknown=1),
        )
        page = Path(report["evidence_file"])
        assert page.parent == home / "evidence"
        text = page.read_text("utf-8")
        assert f'data-label="Number">{number}</td>' in text
        assert "Was the record of this job processed or not?" in text
        assert "<dt>Workbook</dt><dd>–</dd>" in text
        assert "Nothing was read" not in text
        assert (
            "the answer was lost, and the record does not show" in report["records"][0]["message"]
        )
        output = xlbridge("jobs", report["job"], **proxy_environment, XLBRIDGE_LANG="pt-BR").stdout
        assert output.count("a resposta se perdeu, e o registro não mostra") == 2
        assert "the answer" not in output
        held = run("process", "nfse", "--id", number, "--yes")[1]["records"][0]
        assert held["reason"] == "claimed"
        decided = ("resolve", report["job"], "--as", answer, "--reason", "visto")
        resolved = run(*decided)[1]
        assert resolved["records"][0]["message"].endswith(": visto")
        decisions[answer] = resolved["rows"]
    assert decisions == {
        "applied": record_counts(read=1, processed=1),
        "not-applied": record_counts(read=1, rejected=1),
    }
    code, report = run("process", "nfse", "--id", f"{first},{second}", "--yes")
    assert (code, report["rows"]) == (0, record_counts(read=2, processed=1, already=1))
    assert [SERVICE_INVOICES.times_processed(sandbox_home, one) for one in (first, second)] == [
        1,
        1,
    ]


def test_a_success_answer_without_a_changed_record_is_in_doubt(
    client: Client, customer: int, proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    number = PRODUCT_INVOICES.create(client, customer, tmp_path)
    pending = {"idNF": number, "numeroDaNotaFiscalEletronica": None}
    answer = json.dumps({"success": True, "data": pending}).encode()
    proxy.answers = {f"/nfe/processar/{number}": answer, f"/nfe/{number}": answer}
    proxy.seen.clear()
    code, report = run("process", "nfe", "--id", number, "--yes")
    assert (code, report["state"], report["rows"]["unknown"]) == (5, "in_doubt", 1)
    assert count_processing_requests(proxy, PRODUCT_INVOICES) == 1


def test_a_record_that_is_pending_again_needs_a_reason(
    client: Client, customer: int, run: Run, sandbox_home: Path, tmp_path: Path
) -> None:
    number = PRODUCT_INVOICES.create(client, customer, tmp_path)
    run("process", "nfe", "--id", number, "--yes")
    with connected(sandbox_home, writing=True) as connection:
        table = TABLES["product_invoices"]
        pending = {"numeroDaNotaFiscalEletronica": None, "chaveDaNotaFiscalEletronica": None}
        connection.execute(update(table).where(table.c.idNF == number).values(pending))
    code, report = run("process", "nfe", "--id", number, "--yes")
    (record,) = report["records"]
    assert (code, record["outcome"], record["reason"]) == (1, "rejected", "processed-before")
    assert run("process", "nfe", "--id", number, "--yes", "--again", "estornada")[0] == 0
    assert PRODUCT_INVOICES.times_processed(sandbox_home, number) == 1


def test_an_unreachable_system_leaves_no_job(
    client: Client, customer: int, proxy: LossyProxy, run: Run, xlbridge: Xlbridge,
    proxy_environment: dict[str, str], tmp_path: Path,
) -> None:  # fmt: skip
    number = ORDERS.create(client, customer, tmp_path)
    unreachable = proxy_environment | {"XLBRIDGE_BASE_URL": "http://127.0.0.1:9"}
    ended = xlbridge("process", "pedidos", "--id", number, "--yes", **unreachable)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert run("jobs")[1]["jobs"] == []


def test_a_started_file_that_waits_in_the_queue_is_not_started_again(
    client: Client, customer: int, proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    number = FILES.create(client, customer, tmp_path)
    waiting = {"situacao": "Pendente", "dataDeInicio": None, "dataDeConclusao": None}
    readings = iter([{}, {}, waiting])  # of the plan, before the start, after it

    def wait(path: str, data: Any) -> Any:
        return data | next(readings, {}) if "log-importacao" in path else data

    proxy.reshape = wait
    proxy.fail_once("429 after", FILES.path)
    code, report = run("process", "importacao", "--id", number, "--yes")
    assert (code, report["rows"]) == (0, record_counts(read=1, processed=1)), report
    assert count_processing_requests(proxy, FILES) == 1
