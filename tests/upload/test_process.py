"""Records are processed once each, after a plan and a confirmation; rejections are reported."""

import json
import re
import shlex
from datetime import datetime
from pathlib import Path

import httpx
import pytest
import xlsxwriter
from databases import TABLES, connected
from environment import Xlbridge
from lossy_proxy import LossyProxy
from process_parts import (
    FILES,
    INVENTORIES,
    ORDERS,
    PRODUCT_INVOICES,
    SERVICE_INVOICES,
    VALIDATIONS,
    Kind,
    count_processing_requests,
    each_exercised_kind,
    record_counts,
    write_numbers,
)
from sheets import write_records
from sqlalchemy import update
from update_parts import Run, writes
from upload_parts import new_cnpj

from xlbridge.client import Client, UploadFile
from xlbridge.sandbox import RunningSandbox
from xlbridge.wire.imports import IMPORT_QUEUE

clients = TABLES["clients"]


@each_exercised_kind
def test_a_processed_record_is_not_processed_again(
    client: Client,
    customer: int,
    proxy: LossyProxy,
    run: Run,
    sandbox_home: Path,
    tmp_path: Path,
    kind: Kind,
) -> None:
    number = kind.create(client, customer, tmp_path)
    before = kind.times_processed(sandbox_home, number)
    proxy.seen.clear()
    code, report = run("process", kind.listing, "--id", number, "--yes")
    assert (code, report["state"], report["rows"]) == (
        0,
        "done",
        record_counts(read=1, processed=1),
    )
    assert (before, kind.times_processed(sandbox_home, number)) == (0, 1)
    (record,) = report["records"]
    assert (record["id"], record["outcome"], record["row"]) == (number, "processed", None)
    assert count_processing_requests(proxy, kind) == 1
    code, report = run("process", kind.listing, "--id", number, "--yes")
    assert (code, report["rows"]) == (0, record_counts(read=1, already=1))
    assert (count_processing_requests(proxy, kind), kind.times_processed(sandbox_home, number)) == (
        0,
        1,
    )
    assert run("jobs", report["job"])[1]["rows"] == record_counts(read=1, already=1)


@pytest.mark.parametrize("kind", [PRODUCT_INVOICES, SERVICE_INVOICES], ids=lambda k: k.listing)
def test_values_assigned_by_processing_are_reported(
    client: Client, customer: int, run: Run, tmp_path: Path, kind: Kind
) -> None:
    number = kind.create(client, customer, tmp_path)
    _, report = run("process", kind.listing, "--id", number, "--yes")
    (record,) = report["records"]
    assigned = record["assigned"]
    assert assigned["numeroDaNotaFiscalEletronica"] > 0
    assert assigned["chaveDaNotaFiscalEletronica"].isdecimal()


def test_an_exported_sheet_is_processed_and_its_rows_are_reported(
    client: Client,
    customer: int,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    run: Run,
    sandbox_home: Path,
    tmp_path: Path,
) -> None:
    orders = [ORDERS.create(client, customer, tmp_path) for _ in range(3)]
    run("process", "pedidos", "--id", orders[1], "--yes")
    sheet = tmp_path / "pedidos.xlsx"
    assert xlbridge("export", "pedidos", "-o", sheet, **proxy_environment).returncode == 0
    code, report = run("process", "pedidos", sheet, "--yes")
    rows = {record["id"]: record for record in report["records"]}
    assert code in {0, 1}
    assert [rows[order]["outcome"] for order in orders] == ["processed", "already", "processed"]
    assert sorted(rows[order]["row"] for order in orders)[0] > 1
    assert len(rows) == report["rows"]["read"]
    assert [ORDERS.times_processed(sandbox_home, order) for order in orders] == [1, 1, 1]


def test_a_plan_and_a_run_without_consent_name_the_command_that_goes_on(
    client: Client,
    customer: int,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    run: Run,
    sandbox_home: Path,
    tmp_path: Path,
) -> None:
    planned, prepared = (PRODUCT_INVOICES.create(client, customer, tmp_path) for _ in range(2))
    command = ["process", "nfe", "--id", planned, "--at-once", "2", "--again", "por engano"]
    plan = xlbridge(*command, "--plan", **proxy_environment)
    (step,) = re.findall(r"Next: xlbridge (.+)", plan.stdout)
    assert xlbridge(*shlex.split(step), **proxy_environment).returncode == 0
    assert PRODUCT_INVOICES.times_processed(sandbox_home, planned) == 1
    done = xlbridge("process", "nfe", "--id", planned, "--plan", **proxy_environment)
    assert done.stdout.splitlines()[-1] == "Next: nothing to process."
    steps = set()
    for _ in range(2):
        waiting = xlbridge("process", "nfe", "--id", prepared, **proxy_environment)
        assert waiting.returncode == 2
        steps.update(re.findall(r"Nothing was sent.+To continue: xlbridge (.+)", waiting.stderr))
    # The second run goes on with the job of the first, like an upload.
    (step,) = steps
    states = {job["job"]: job["state"] for job in run("jobs")[1]["jobs"]}
    assert (len(states), states[step.split()[1]]) == (2, "previewed")
    assert xlbridge(*step.split(), **proxy_environment).returncode == 0
    assert PRODUCT_INVOICES.times_processed(sandbox_home, prepared) == 1


def test_a_plan_sends_nothing_and_its_token_confirms_only_its_records(
    client: Client,
    customer: int,
    proxy: LossyProxy,
    run: Run,
    sandbox: RunningSandbox,
    xlbridge: Xlbridge,
    home: Path,
    sandbox_home: Path,
    tmp_path: Path,
) -> None:
    first, second = (PRODUCT_INVOICES.create(client, customer, tmp_path) for _ in range(2))
    proxy.seen.clear()
    code, plan = run("process", "nfe", "--id", f"{first},{second}", "--plan")
    assert (code, plan["job"], plan["rows"]) == (0, None, record_counts(read=2, unknown=2))
    assert (writes(proxy), run("jobs")[1]["jobs"]) == ([], [])
    production = {"base_url": sandbox.base_url, "email": sandbox.email, "production": True}
    lines = (f"{name} = {json.dumps(value)}" for name, value in production.items())
    (home / "profiles.toml").write_text("\n".join(["[profiles.prod]", *lines, ""]))
    settings = {"XLBRIDGE_PROFILE": "prod", "XLBRIDGE_PASSWORD": sandbox.password}
    command = ["process", "nfe", "--id", f"{first},{second}"]
    refused = xlbridge(*command, "--yes", **settings)
    assert refused.returncode == 2
    assert "--plan" in refused.stderr
    other = xlbridge("process", "nfe", "--id", first, "--confirm", plan["confirm"], **settings)
    assert (other.returncode, PRODUCT_INVOICES.times_processed(sandbox_home, first)) == (2, 0)
    done = xlbridge(*command, "--confirm", plan["confirm"], **settings)
    assert done.returncode == 0, done.stderr
    assert "cannot be undone" not in done.stdout
    assert "This is final" in done.stderr
    assert [PRODUCT_INVOICES.times_processed(sandbox_home, one) for one in (first, second)] == [
        1,
        1,
    ]
    # No order has led to these, and the interface lists invoices nowhere: the journal knows them.
    output = tmp_path / "nfe.jsonl"
    exported = xlbridge("export", "nfe", "-o", output, **settings)
    assert exported.returncode == 0, exported.stderr
    exported_ids = {json.loads(line)["idNF"] for line in output.read_text("utf-8").splitlines()}
    assert {first, second} <= exported_ids


def test_without_consent_nothing_is_sent_and_resume_asks_again(
    client: Client,
    customer: int,
    proxy: LossyProxy,
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    number, other = (ORDERS.create(client, customer, tmp_path) for _ in range(2))
    proxy.seen.clear()
    code, report = run("process", "pedidos", "--id", number)
    assert (code, report["rows"]) == (2, record_counts(read=1, unknown=1))
    assert writes(proxy) == []
    shown = xlbridge("jobs", report["job"], **proxy_environment).stdout
    assert "not sent: 1; in doubt: 0" in shown
    both = f"{number},{other}"
    earlier, (_, report) = report["job"], run("process", "pedidos", "--id", both)
    shown = xlbridge("jobs", earlier, **proxy_environment).stdout
    assert f"replaced by the upload {report['job']}" in shown
    code, report = run("resume", report["job"], "--yes")
    assert (code, report["rows"]) == (0, record_counts(read=2, processed=2))


def test_records_that_cannot_be_processed_are_rejected_and_the_others_processed(
    client: Client, customer: int, run: Run, sandbox_home: Path, tmp_path: Path
) -> None:
    good, cancelled = (ORDERS.create(client, customer, tmp_path) for _ in range(2))
    inactive = client.registry.clients.create(nomeComercial="Bia", cnpj=new_cnpj()).codigoDoCliente
    refused = ORDERS.create(client, int(inactive), tmp_path)
    with connected(sandbox_home, writing=True) as connection:
        order = TABLES["sales_orders"]
        connection.execute(
            update(order)
            .where(order.c.numeroDoPedido == cancelled)
            .values(cancelado=True, pendente=False)
        )
        connection.execute(
            update(clients).where(clients.c.codigoDoCliente == inactive).values(ativo=False)
        )
    path = write_numbers(
        tmp_path / "lista.xlsx", "numeroPedido", [good, cancelled, 999_999, None, refused, good]
    )
    code, report = run("process", "pedidos", path, "--yes")
    assert (code, report["rows"]) == (1, record_counts(read=4, processed=1, rejected=3))
    reasons = {record["id"]: record["reason"] for record in report["records"]}
    assert (reasons[cancelled], reasons[999_999], reasons[good]) == ("closed", "not-found", None)
    shown = {record["id"]: (record["row"], record["message"]) for record in report["records"]}
    assert shown[cancelled][0] == 4
    assert "inativo" in shown[refused][1]
    assert (
        ORDERS.times_processed(sandbox_home, refused)
        == ORDERS.times_processed(sandbox_home, cancelled)
        == 0
    )


def test_a_report_says_done_only_if_nothing_was_rejected(
    client: Client,
    customer: int,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    good = ORDERS.create(client, customer, tmp_path)
    for numbers, code, shown in (
        ("999998,999999", 1, "Rejected (pedidos): none of the 2 records was processed."),
        (f"{good},999999", 1, "Processed (pedidos): 1 of 2; already done: 0; rejected: 1."),
        (f"{good}", 0, "Done (pedidos). Processed: 0 of 1; already done: 1."),
    ):
        ended = xlbridge("process", "pedidos", "--id", numbers, "--yes", **proxy_environment)
        assert (ended.returncode, ended.stdout.splitlines()[-1]) == (code, shown), ended.stderr


def test_a_file_queued_by_an_upload_is_not_processed(
    proxy: LossyProxy, run: Run, sandbox_home: Path, tmp_path: Path
) -> None:
    path = write_records(
        tmp_path / "contas.xlsx", "contaspagar", [{"numeroDoDocumento": f"F-{new_cnpj()}"}]
    )
    proxy.fail_once("refuse", FILES.path)
    _, upload = run("upload", path, "--yes", "--mode", "queue", "--no-wait")
    code, report = run("process", "importacao", "--id", upload["log_id"], "--yes")
    (record,) = report["records"]
    assert (code, record["reason"]) == (1, "claimed")
    assert upload["job"] in record["message"]


def test_rejected_lines_of_a_processed_file_are_counted(
    client: Client, run: Run, tmp_path: Path
) -> None:
    rows = [{"codigoDoFornecedor": 987_654}, {"numeroDoDocumento": new_cnpj()}]
    path = write_records(tmp_path / "contas.xlsx", "contaspagar", rows)
    file = UploadFile(path.name, path.read_bytes())
    log = client.call(IMPORT_QUEUE, path={"resource": "contaspagar"}, file=file)
    code, report = run("process", "importacao", "--id", log, "--yes")
    assert (code, report["rows"]) == (1, record_counts(read=1, processed=1))
    assigned = report["records"][0]["assigned"]
    assert assigned["registrosRejeitados"] == 1


def test_a_sheet_of_inventories_is_validated_processed_and_closed(
    client: Client,
    customer: int,
    http: httpx.Client,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    run: Run,
    tmp_path: Path,
) -> None:
    counted = VALIDATIONS.create(client, customer, tmp_path)
    uncounted = int(
        client.stock.inventories.open(codigoDaFilial=2, codigoDoAlmoxarifado=1).idInventario
    )
    sheet = tmp_path / "inventarios.xlsx"
    assert xlbridge("export", "inventario", "-o", sheet, **proxy_environment).returncode == 0
    ends = {}
    for name in ("inventario-validar", "inventario", "inventario-encerrar"):
        _, report = run("process", name, sheet, "--yes")
        assert report["listing"] == name
        ends[name] = {record["id"]: record for record in report["records"]}
    outcomes = {name: [ends[name][n]["outcome"] for n in (counted, uncounted)] for name in ends}
    assert outcomes == {
        "inventario-validar": ["processed", "rejected"],
        "inventario": ["processed", "rejected"],
        "inventario-encerrar": ["processed", "processed"],
    }
    assert ends["inventario-validar"][uncounted]["reason"] == "closed"
    # Closed without processing: the report says that no balance was adjusted.
    assert ends["inventario-encerrar"][counted]["message"] is None
    assert "shows no processing" in ends["inventario-encerrar"][uncounted]["message"]
    for number in (counted, uncounted):
        stored = http.get(f"/v2/estoque/inventario/{number}").json()["data"]
        assert (stored["encerrado"], bool(stored["idProcessamento"])) == (True, number == counted)


def test_a_processing_cannot_be_undone_retried_or_annotated(
    client: Client, customer: int, xlbridge: Xlbridge, proxy_environment: dict[str, str], run: Run,
    tmp_path: Path,
) -> None:  # fmt: skip
    number = INVENTORIES.create(client, customer, tmp_path)
    job = run("process", "inventario", "--id", number, "--yes")[1]["job"]
    for command in (
        ["undo", job, "--yes"],
        ["retry", job, "--yes"],
        ["jobs", job, "--annotate", tmp_path / "c.xlsx"],
    ):
        ended = xlbridge(*command, **proxy_environment)
        assert ended.returncode == 2, ended.stderr
        assert "Traceback" not in ended.stderr
    shown = xlbridge("jobs", job, **proxy_environment, XLBRIDGE_LANG="pt-BR").stdout
    assert "Processados: 1 de 1" in shown


@pytest.mark.parametrize(
    ("numbers", "code", "shown"),
    [
        ([12, "12a"], 1, "B4 (12a)"),
        ([1.5], 1, "B3 (1.5)"),
        ([True], 1, "B3 (True)"),
        ([datetime(2026, 1, 1)], 1, "B3"),
        ([None, None], 2, "has no numbers"),
    ],
    ids=["text", "fraction", "boolean", "date", "empty"],
)
def test_cells_without_a_number_are_reported_and_nothing_is_sent(
    proxy: LossyProxy, xlbridge: Xlbridge, proxy_environment: dict[str, str], tmp_path: Path,
    numbers: list[object], code: int, shown: str,
) -> None:  # fmt: skip
    path = write_numbers(tmp_path / "lista.xlsx", "idNF", numbers)
    ended = xlbridge("process", "nfe", path, "--yes", **proxy_environment)
    assert ended.returncode == code, ended.stderr
    assert shown in ended.stderr
    assert writes(proxy) == []


def test_hidden_rows_are_mentioned(
    client: Client,
    customer: int,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    numbers = [PRODUCT_INVOICES.create(client, customer, tmp_path) for _ in range(2)]
    path = write_numbers(tmp_path / "lista.xlsx", "IDNF", numbers, hidden=[4])
    ended = xlbridge("process", "nfe", path, "--plan", **proxy_environment)
    assert (ended.returncode, "1 is in a hidden row" in ended.stdout) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["nothing", "--id", "1"], "importacao"),
        (["nfe"], "--id"),
        (["nfe", "{sheet}", "--id", "1"], "--id"),
        (["nfe", "--id", "1,x"], "x"),
        (["nfe", "--id", "0"], "0"),
        (["inventario", "{sheet}"], "idInventario"),
        (["nfe", "{sheet}", "--sheet", "Outra"], "Outra"),
        (["nfe", "{missing}"], "missing.xlsx"),
        (["nfe", "--id", "1", "--again", " "], "--again"),
    ],
)
def test_wrong_usage_exits_with_2_and_names_the_mistake(
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    tmp_path: Path,
    arguments: list[str],
    shown: str,
) -> None:
    sheet = write_numbers(tmp_path / "lista.xlsx", "idNF", [1])
    places = {"sheet": sheet, "missing": tmp_path / "missing.xlsx"}
    formatted = [argument.format(**places) for argument in arguments]
    ended = xlbridge("process", *formatted, "--yes", **proxy_environment)
    assert ended.returncode == 2, ended.stderr
    assert shown in ended.stderr


def test_a_file_that_is_not_a_workbook_is_refused(
    xlbridge: Xlbridge, proxy_environment: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "lista.xlsx"
    path.write_text("idNF\n1\n")
    assert xlbridge("process", "nfe", path, "--yes", **proxy_environment).returncode == 3


@pytest.fixture
def outputs(client: Client) -> tuple[int, list[int]]:
    """A new product and the numbers of three outputs of it, of 1, 2 and 3 units."""
    product = client.registry.products.create(descricaoDoProduto=f"Rebite {new_cnpj()}").idProduto
    client.stock.entries.create(
        codigoDaFilial=1, dataDaEntrada=datetime(2026, 10, 1), quantidade=10, idProd=product
    )
    made = [
        client.stock.outputs.create(codigoDaFilial=1, quantidade=units, idProd=product)
        for units in (1, 2, 3)
    ]
    return int(product), [int(output.numeroDaSaida) for output in made]


def balance(http: httpx.Client, product: int) -> float:
    """Return the balance of a product."""
    return float(http.get(f"/v2/estoque/produto/{product}").json()["data"]["quantidadeTotal"])


@pytest.mark.exercises("stock.outputs.change")
def test_outputs_of_an_exported_history_are_reversed_once(
    outputs: tuple[int, list[int]],
    http: httpx.Client,
    proxy: LossyProxy,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    run: Run,
    tmp_path: Path,
) -> None:
    product, numbers = outputs
    sheet = tmp_path / "historico.xlsx"
    exported = ("export", "movimentacoes", "--product", product, "-o", sheet)
    assert xlbridge(*exported, **proxy_environment).returncode == 0
    code, plan = run("process", "saida-estornar", sheet, "--plan")
    # The entry in the same sheet is not counted.
    assert ([one["id"] for one in plan["records"]], code) == (numbers, 0)
    proxy.seen.clear()
    proxy.fail_once("lose answer", "/estoque/saida")
    code, report = run("process", "saida-estornar", sheet, "--yes")
    assert (code, report["rows"]) == (0, record_counts(read=3, processed=3)), report
    assert writes(proxy) == [("PUT", "/v2/estoque/saida")] * 3
    assert balance(http, product) == 10
    history = http.get(f"/v2/estoque/movimentacoes/produto/{product}").json()["data"]
    returned = [one["numeroDaSaidaEstornada"] for one in history]
    assert sorted(filter(None, returned)) == sorted(numbers)
    code, report = run("process", "saida-estornar", sheet, "--yes")
    assert (code, report["rows"]) == (0, record_counts(read=3, already=3))
    assert (writes(proxy), balance(http, product)) == ([], 10)


def test_only_outputs_of_the_named_product_are_reversed(
    outputs: tuple[int, list[int]],
    http: httpx.Client,
    run: Run,
    sandbox_home: Path,
    tmp_path: Path,
) -> None:
    product, numbers = outputs
    reversible, foreign, adjusted = numbers
    rows = [(product, reversible), (2001, foreign), (999_999, 999_998), (product, adjusted)]
    movements = TABLES["movements"]
    with connected(sandbox_home, writing=True) as connection:
        is_adjusted = (movements.c.number == adjusted) & movements.c.inward.is_(False)
        connection.execute(update(movements).where(is_adjusted).values(adjustment=True))
    with xlsxwriter.Workbook(tmp_path / "saidas.xlsx") as book:
        sheet = book.add_worksheet("saidas")
        for at, row in enumerate([("idProd", "numeroDaSaida"), *rows]):
            sheet.write_row(at, 0, row)
    code, report = run("process", "saida-estornar", tmp_path / "saidas.xlsx", "--yes")
    ends = {one["id"]: (one["outcome"], one["reason"]) for one in report["records"]}
    assert (code, ends) == (
        1,
        {
            reversible: ("processed", None),
            foreign: ("rejected", "not-found"),
            999_998: ("rejected", "not-found"),
            adjusted: ("rejected", "closed"),
        },
    )
    assert balance(http, product) == 5


@pytest.mark.parametrize("arguments", [["--id", "1"], ["{sheet}"]], ids=["ids", "sheet"])
def test_outputs_need_a_sheet_with_their_products(
    xlbridge: Xlbridge, proxy_environment: dict[str, str], tmp_path: Path, arguments: list[str]
) -> None:
    sheet = write_numbers(tmp_path / "lista.xlsx", "numeroDaSaida", [1])
    formatted = [argument.format(sheet=sheet) for argument in arguments]
    ended = xlbridge("process", "saida-estornar", *formatted, "--yes", **proxy_environment)
    assert ended.returncode == 2
    assert "idProd" in ended.stderr
