"""Records that an upload wrote are reversed once, unless they changed; the others are named."""

from datetime import datetime
from pathlib import Path

import pytest
from databases import TABLES, connected
from environment import Xlbridge
from lossy_proxy import LossyProxy, ProxyFault
from openpyxl import load_workbook
from sheets import column_of, edit, write_records
from sqlalchemy import Update, update
from update_parts import Run, differing, make_new, newest_job, titles, writes
from upload_parts import new_cnpj

from xlbridge.client import Client
from xlbridge.wire.financial import PayableChange, TitleKey
from xlbridge.wire.registry import CLIENT_LIST, ClientQuery

BY_HAND = (
    "{n} not undone: the interface cannot undo this; check it in the system and undo it by hand"
)


def update_title(key: tuple[object, ...]) -> Update:
    """Return a statement that changes a title directly in the database."""
    names = dict(zip(TitleKey.model_fields, key, strict=True))
    return update(TABLES["payables"]).filter_by(**names)


def change_title(client: Client, key: tuple[object, ...], **values: object) -> None:
    """Change a title through the interface, like a colleague."""
    title = client.financial.payables.get(
        **dict(zip(("ex", "fil", "nrtrs", "seqtrs"), key, strict=True))
    )
    fields = title.model_dump(include=set(PayableChange.model_fields))
    client.financial.payables.update(**fields | values)


@pytest.mark.exercises("financial.payables.delete")
def test_created_payables_are_removed_and_can_be_sent_again(
    client: Client,
    proxy: LossyProxy,
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    payables: Path,
) -> None:
    job, before = newest_job(run, "queue"), titles(client)
    proxy.seen.clear()
    code, report = run("undo", job, "--yes")
    assert (code, report["state"], report["undo_of"]) == (0, "done", job), report
    assert report["rows"] == {"read": 3, "undone": 3, "left": 0, "unknown": 0}
    assert report["left"] == []
    assert [method for method, _ in writes(proxy)] == ["DELETE"] * 3
    assert len(titles(client)) == len(before) - 3
    undo = report["job"]
    code, report = run("jobs", job)
    assert report["undone"] == {"rows": 3, "by": undo}
    shown = xlbridge("jobs", job, **proxy_environment).stdout
    assert f"Undone since, by {undo}: 3 rows." in shown
    jobs = run("jobs")[1]["jobs"]
    code, report = run("undo", job, "--yes")
    assert (code, report["rows"], writes(proxy)) == (
        0,
        {"read": 0, "undone": 0, "left": 0, "unknown": 0},
        [],
    )
    assert (report["job"], report["state"]) == (None, "done")
    output = xlbridge("undo", job, "--yes", **proxy_environment)
    assert (output.returncode, output.stdout.splitlines()) == (
        0,
        [
            f"  3 rows were already undone by {undo}",
            f"Nothing left to undo: the rows of the upload {job} were undone before.",
        ],
    )
    assert run("jobs")[1]["jobs"] == jobs
    code, report = run("upload", payables, "--yes")
    assert (code, report["rows"]["created"]) == (0, 3), report
    assert len(titles(client)) == len(before)


def test_an_undo_leaves_and_reports_a_changed_title(
    client: Client, proxy: LossyProxy, run: Run, payables: Path
) -> None:
    job, before = newest_job(run, "queue"), titles(client)
    first, second, third = sorted(before)[-3:]
    change_title(client, second, historico="De um colega")
    proxy.seen.clear()
    code, report = run("undo", job, "--yes")
    assert (code, report["rows"]) == (1, {"read": 3, "undone": 2, "left": 1, "unknown": 0})
    (left,) = report["left"]
    assert (left["row"], left["reason"]) == (3, "changed")
    rows = run("jobs")[1]["jobs"][0]["rows"]
    assert (rows["read"], rows["accepted"], rows["rejected"] + rows["held"]) == (3, 2, 1)
    assert before.keys() - titles(client).keys() == {first, third}


def test_an_undo_leaves_what_a_later_upload_of_the_same_rows_created(
    client: Client, run: Run, payables: Path
) -> None:
    job, before = newest_job(run, "queue"), titles(client)
    first, *_ = sorted(before)[-3:]
    change_title(client, first, historico="De um colega")
    code, again = run("upload", payables, "--again", "once more", "--yes")
    assert (code, again["rows"]["created"]) == (0, 3), again
    later = titles(client).keys() - before.keys()
    code, report = run("undo", job, "--yes")
    assert (code, report["rows"]) == (1, {"read": 3, "undone": 2, "left": 1, "unknown": 0})
    assert later | {first} <= titles(client).keys()
    code, report = run("undo", again["job"], "--yes")
    assert (code, report["rows"]["undone"]) == (0, 3)
    assert later.isdisjoint(titles(client))


def test_an_undone_update_restores_the_earlier_values(
    client: Client, proxy: LossyProxy, run: Run, payables: Path
) -> None:
    before = titles(client)
    edit(
        edit(payables, "valorDoLancamento", 2, 90.25), "dataDeVencimento", 3, datetime(2026, 11, 5)
    )
    edit(payables, "ValorBruto", 4, None)
    # A new due date is another key: only the title's number would tell which one it was.
    edit(payables, "dataDeVencimento", 3, datetime(2026, 10, 30))
    edit(payables, "historico", 3, "Outro")
    code, report = run("upload", payables, "--update", "--clear", "--yes")
    assert (code, report["rows"]["updated"]) == (0, 3), report
    changed = sorted(name for _, name in differing(before, titles(client)))
    assert changed == ["ValorBruto", "historico", "valorDoLancamento"]
    third = sorted(before)[-1]
    change_title(client, third, historico="De um colega")
    change_title(client, third, historico=before[third]["historico"], ValorBruto=300)
    proxy.seen.clear()
    code, report = run("undo", report["job"], "--yes")
    assert (code, report["rows"]) == (1, {"read": 3, "undone": 2, "left": 1, "unknown": 0})
    assert [(one["row"], one["reason"]) for one in report["left"]] == [(4, "changed")]
    assert [method for method, _ in writes(proxy)] == ["PUT"] * 2
    assert differing(before, titles(client)) == [(third, "ValorBruto")]


def test_an_undo_leaves_and_reports_a_settled_title(
    client: Client, run: Run, payables: Path, sandbox_home: Path
) -> None:
    job, before = newest_job(run, "queue"), titles(client)
    first, second, third = sorted(before)[-3:]
    settle = update_title(second)
    with connected(sandbox_home, writing=True) as connection:
        connection.execute(settle.values(dataDeBaixa=datetime(2026, 10, 31), valorBaixado=95))
    code, report = run("undo", job, "--yes")
    assert (code, report["rows"]) == (1, {"read": 3, "undone": 2, "left": 1, "unknown": 0})
    assert [(one["row"], one["reason"]) for one in report["left"]] == [(3, "settled")]
    assert before.keys() - titles(client).keys() == {first, second, third}


def test_new_and_changed_rows_of_one_upload_are_reversed_together(
    client: Client, proxy: LossyProxy, run: Run, payables: Path
) -> None:
    before = titles(client)
    edit(payables, "historico", 2, "Corrigida")
    make_new(payables, 4)
    _, report = run("upload", payables, "--update", "--yes")
    assert (report["rows"]["created"], report["rows"]["updated"]) == (1, 1)
    proxy.seen.clear()
    code, report = run("undo", report["job"], "--yes")
    assert (code, report["rows"]) == (0, {"read": 2, "undone": 2, "left": 0, "unknown": 0})
    assert sorted(method for method, _ in writes(proxy)) == ["DELETE", "PUT"]
    assert differing(before, titles(client)) == []


def test_rows_the_interface_cannot_reverse_are_left_and_nothing_is_sent(
    client: Client,
    proxy: LossyProxy,
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    document, idws = new_cnpj(), f"WS-{new_cnpj()}"
    path = tmp_path / "clientes.xlsx"
    write_records(path, "cliente", [{"nomeComercial": "Ana", "cnpj": document}])
    _, created = run("upload", path, "--yes")
    write_records(path, "cliente", [{"nomeComercial": "Ana", "cnpj": document, "idws": idws}])
    _, updated = run("upload", path, "--update", "--yes")
    proxy.seen.clear()
    for report in (created, updated):
        code, undone = run("undo", report["job"], "--yes")
        assert (code, [one["reason"] for one in undone["left"]]) == (1, ["no-operation"])
        assert undone["rows"] == {"read": 1, "undone": 0, "left": 1, "unknown": 0}
    output = xlbridge("undo", updated["job"], "--yes", **proxy_environment)
    assert (output.returncode, output.stdout.splitlines()) == (
        1,
        [
            f"  {BY_HAND.format(n='1 row')} (row 2)",
            f"No row of the upload {updated['job']} was undone; left: 1 of 1.",
        ],
    )
    assert "rows to undo" not in output.stderr
    assert writes(proxy) == []
    write_records(
        path, "cliente", [{"nomeComercial": "Ana", "cnpj": document, "idws": f"{idws}-B"}]
    )
    _, again = run("upload", path, "--update", "--yes")
    code, undone = run("undo", again["job"], "--yes")
    assert (code, undone["rows"]["undone"]) == (0, 1)
    assert client.call(CLIENT_LIST, query=ClientQuery(idws=idws)).cnpjcpf == document


def test_each_reason_why_rows_are_left_is_reported_once(
    client: Client,
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    payables: Path,
    tmp_path: Path,
) -> None:
    path, job = tmp_path / "clientes.xlsx", newest_job(run, "queue")
    records = [{"nomeComercial": f"Loja {n}", "cnpj": new_cnpj()} for n in range(12)]
    _, created = run("upload", write_records(path, "cliente", records), "--yes")
    ended = xlbridge("undo", created["job"], **proxy_environment)
    shown = [line for line in (ended.stdout + ended.stderr).splitlines() if "by hand" in line]
    rows = "rows 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 … and 2 more"
    assert shown == [f"  {BY_HAND.format(n='12 rows')} ({rows})"]
    before = titles(client)
    change_title(client, sorted(before)[-2], historico="De um colega")
    ended = xlbridge("undo", job, **proxy_environment)
    plan, left, confirmation = ended.stderr.splitlines()[:3]
    assert plan.endswith("rows to undo: 2; not undone: 1")
    assert left == (
        "  1 row not undone: the record was changed or removed after the upload; "
        "check it in the system and undo it by hand (row 3)"
    )
    assert confirmation.startswith("  confirmation: 2:")


@pytest.mark.parametrize(("seen", "undone"), [("applied", 1), ("not-applied", 0)])
@pytest.mark.usefixtures("payables")
def test_a_person_decides_what_became_of_a_row_in_doubt_of_an_undo(
    client: Client, proxy: LossyProxy, run: Run, sandbox_home: Path, seen: str, undone: int
) -> None:
    job, ours = newest_job(run, "queue"), sorted(titles(client))[-3:]

    def decide(method: str, _path: str) -> ProxyFault:
        if method != "DELETE":
            return "pass"
        # The record is then neither as before nor gone.
        with connected(sandbox_home, writing=True) as connection:
            for title in ours:
                connection.execute(update_title(title).values(historico="De um colega"))
        return "lose request"

    proxy.decide = decide
    code, report = run("undo", job, "--yes", "--at-once", "1")
    assert (code, report["rows"]) == (5, {"read": 3, "undone": 0, "left": 2, "unknown": 1})
    rows = run("jobs", job)[1]["rows"]
    assert (rows["accepted"], rows["undone"], rows["unknown"]) == (2, 0, 1)
    run("resolve", report["job"], "--as", seen, "--reason", "Conferido")
    rows = run("jobs", job)[1]["rows"]
    assert (rows["accepted"], rows["undone"], rows["unknown"]) == (3 - undone, undone, 0)


@pytest.mark.usefixtures("payables")
def test_a_person_decides_about_an_undo_before_its_settle_time_is_over(
    proxy: LossyProxy, run: Run, proxy_environment: dict[str, str]
) -> None:
    proxy_environment["XLBRIDGE_SETTLE"] = "900"
    job = newest_job(run, "queue")
    faults: list[ProxyFault] = ["lose request"]
    proxy.decide = lambda method, _path: faults.pop() if method == "DELETE" and faults else "pass"
    code, report = run("undo", job, "--yes")
    assert (code, report["state"], report["rows"]["unknown"]) == (5, "in_doubt", 1)
    run("resolve", report["job"], "--as", "applied", "--reason", "Conferido")
    rows = run("jobs", job)[1]["rows"]
    assert (rows["undone"], rows["unknown"]) == (3, 0)


def test_an_undo_needs_consent_and_a_finished_upload(
    client: Client,
    proxy: LossyProxy,
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    payables: Path,
) -> None:
    job, before = newest_job(run, "queue"), titles(client)
    refused = xlbridge("undo", job, **proxy_environment)
    assert refused.returncode == 2
    assert "rows to undo: 3" in refused.stderr
    (token,) = [
        line.split()[-1] for line in refused.stderr.splitlines() if "confirmation: 3:" in line
    ]
    wrong = xlbridge("undo", job, "--confirm", "3:00000000", **proxy_environment)
    assert (wrong.returncode, titles(client)) == (2, before)
    assert run("undo", job, "--confirm", token)[1]["rows"]["undone"] == 3
    again = xlbridge("undo", newest_job(run, "undo"), "--yes", **proxy_environment)
    assert again.returncode == 2
    assert f"undo the upload {job}" in again.stderr


def test_an_undo_includes_rows_written_by_retries(
    client: Client, proxy: LossyProxy, run: Run, payables: Path
) -> None:
    before = titles(client)
    unknown_supplier = 999_999
    make_new(payables, 2, 3)
    edit(payables, "codigoDoFornecedor", 3, unknown_supplier)
    code, first = run("upload", payables, "--yes")
    assert (code, first["rows"]["created"], first["rows"]["rejected"]) == (1, 1, 1), first
    rejects = Path(first["rejects_file"])
    supplier = column_of(payables, "codigoDoFornecedor")[0]
    edit(rejects, "codigoDoFornecedor", 2, supplier)
    code, retry = run("retry", first["job"], "--yes")
    assert (code, retry["rows"]["created"]) == (0, 1), retry
    assert len(titles(client)) == len(before) + 2
    proxy.seen.clear()
    code, report = run("undo", first["job"], "--yes")
    assert (code, report["rows"]) == (0, {"read": 2, "undone": 2, "left": 0, "unknown": 0})
    assert [method for method, _ in writes(proxy)] == ["DELETE"] * 2
    assert titles(client) == before
    # The retry has nothing left to reverse either, and the sheet can be sent again.
    assert run("undo", first["job"], "--yes")[1]["rows"]["read"] == 0
    edit(payables, "codigoDoFornecedor", 3, supplier)
    code, again = run("upload", payables, "--yes")
    assert (code, again["rows"]["created"], again["rows"]["unchanged"]) == (0, 2, 1)


def test_a_retry_can_be_undone_by_itself(client: Client, run: Run, payables: Path) -> None:
    before = titles(client)
    edit(payables, "historico", 2, "Corrigida")
    code, first = run("upload", payables, "--yes")
    assert (code, first["rows"]["held"]) == (1, 1)
    code, retry = run("retry", first["job"], "--update", "--yes")
    assert (code, retry["rows"]["updated"]) == (0, 1), retry
    code, report = run("undo", retry["job"], "--yes")
    assert (code, report["rows"]["undone"], titles(client)) == (0, 1, before)
    # The first job names it no more.
    code, report = run("undo", first["job"], "--yes")
    assert (code, report["rows"]["read"], titles(client)) == (0, 0, before)


def test_fields_filled_by_the_system_do_not_count_as_changes(
    client: Client, run: Run, payables: Path, sandbox_home: Path, proxy: LossyProxy
) -> None:
    """The sheet leaves the gross amount empty, and the system fills it on import."""
    before = titles(client)
    edit(payables, "ValorBruto", 2, None)
    edit(payables, "ValorBruto", 3, None)
    make_new(payables, 2, 3, 4)
    seen: list[str] = []

    def decide(method: str, path: str) -> ProxyFault:
        # The titles are read back after the log reports them as imported.
        if "log-importacao" in path:
            seen.append("log")
        if method == "GET" and "contaspagar" in path and seen[-1:] == ["log"]:
            seen.append("titles")
            new = sorted(titles(client).keys() - before.keys())
            with connected(sandbox_home, writing=True) as connection:
                for key in new[:2]:
                    connection.execute(update_title(key).values(ValorBruto=123))
        return "pass"

    proxy.decide = decide
    code, report = run("upload", payables, "--yes")
    assert (code, report["rows"]["created"], seen[-1]) == (0, 3, "titles"), report
    proxy.decide = lambda _method, _path: "pass"
    _, second, _ = sorted(titles(client).keys() - before.keys())
    change_title(client, second, ValorBruto=124)
    code, report = run("undo", report["job"], "--yes")
    assert (code, report["rows"]) == (1, {"read": 3, "undone": 2, "left": 1, "unknown": 0})
    assert [(one["row"], one["reason"]) for one in report["left"]] == [(3, "changed")]
    assert titles(client).keys() - before.keys() == {second}


def test_undone_rows_are_coloured_in_a_status_copy_but_not_listed_as_open(
    client: Client,
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    payables: Path,
    tmp_path: Path,
) -> None:
    job, copy = newest_job(run, "queue"), tmp_path / "copia.xlsx"
    assert run("undo", job, "--yes")[0] == 0
    assert xlbridge("jobs", job, "--annotate", copy, **proxy_environment).returncode == 0
    book = load_workbook(copy)
    [coloured] = book.worksheets[1].conditional_formatting
    assert sum(area.size["rows"] for area in coloured.cells.ranges) == 3
    summary = [cell.value for row in book.worksheets[0].iter_rows() for cell in row]
    assert "Undone" in summary
    assert "What to do" not in summary
