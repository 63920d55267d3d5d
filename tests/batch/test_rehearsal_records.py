"""Plans whose rows go up record by record are rehearsed, too: every resource, links, processing."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from databases import TABLES
from good_rows import MAKERS, make_rows, rows_of_child, split_titles
from make_month import Month as SampleMonth, write_month
from rehearsal_parts import Month, make_database
from sheets import GOOD, write_workbook
from upload_parts import new_cnpj

from xlbridge.sandbox import SeedKind, open_database, seed_database
from xlbridge.sandbox.storage import database_url

ALL_HOLD = dict.fromkeys(("none_twice", "none_lost", "verdict_for_every_row"), True)
UNDER_FAULTS = "cut-after@0.1,error-before@0.1,expire@0.05"
LISTS = ("produtos", "parcelas", "itens", "contagens", "rateio")


@pytest.fixture
def month(tmp_path: Path) -> Month:
    found = Month(tmp_path / "month", tmp_path / "home")
    for folder in ("plans", "books"):
        (found.folder / folder).mkdir(parents=True)
    return found


def write_book(month: Month, resource: str, rows: Sequence[Mapping[str, Any]]) -> None:
    lists = {name: rows_of_child(rows, name) for name in LISTS if any(name in r for r in rows)}
    main = [{n: v for n, v in row.items() if n not in lists} for row in rows]
    write_workbook(month.folder / "books" / f"{resource}.xlsx", **{resource: main}, **lists)


def write_plan(month: Month, steps: Mapping[str, str]) -> None:
    lines = [f"  {name}: {{{body}}}" for name, body in steps.items()]
    month.plan.write_text("\n".join(["name: month", "steps:", *lines, ""]), "utf-8")


def upload_of(resource: str, options: str = "") -> str:
    return f"upload: ../books/{resource}.xlsx, resource: {resource}{options}"


@pytest.mark.slow
def test_rows_of_every_resource_are_rehearsed_with_stand_ins_and_processing(month: Month) -> None:
    counts = dict.fromkeys(MAKERS, 2)
    for resource, count in counts.items():
        write_book(month, resource, make_rows(resource, count, resource))
    split = [{**row, "codigoDaFilial": 77} for row in split_titles("contasreceber", 2, "split")]
    (month.folder / "books" / "contasreceber.xlsx").rename(month.folder / "books" / "plain.xlsx")
    write_book(month, "contasreceber", split)
    steps = {name: upload_of(name) for name in MAKERS}
    steps["contasreceber-2"] = "upload: ../books/plain.xlsx, resource: contasreceber"
    steps |= {
        "processar": "process: pedidos, records_of: pedido",
        "emitir": "process: nfe, records_of: nfe",
    }
    write_plan(month, steps)
    found = month.report(0, "--stand-ins", "--faults", "delay=0.02@0.2,seed=1")
    assert (found["assertions"], found["breaches"]) == (ALL_HOLD, [])
    # Stock entries and outputs cannot be read back.
    assert "For the rest, only the system's answer" in found["verdict"]
    rows = sum(counts.values()) + len(split)
    assert (found["rows"]["read"], found["rows"]["accepted"]) == (rows, rows)
    assert found["stand_ins"]["branches"] == 1


@pytest.mark.slow
def test_names_that_no_workbook_brings_get_stand_ins_of_their_registries(month: Month) -> None:
    products = make_rows("produto", 1, "product")
    products[0]["codigoInterno"] = "KNOWN"
    write_book(month, "produto", products)
    orders = make_rows("pedido", 2, "order")
    client = new_cnpj()
    for order, product in zip(orders, ("KNOWN", "UNKNOWN"), strict=True):
        order["codigoDoCliente"] = client
        order["produtos"] = [{**item, "idProduto": product} for item in order["produtos"]]
    write_book(month, "pedido", orders)
    supplier = new_cnpj()
    payables = [
        {**row, "codigoDoFornecedor": supplier} for row in make_rows("contaspagar", 2, "payable")
    ]
    write_book(month, "contaspagar", payables)
    write_plan(
        month,
        {
            "produto": upload_of("produto"),
            "pedido": upload_of("pedido", ", links: {codigoDoCliente: cnpj, idProduto: produto}"),
            "contaspagar": upload_of("contaspagar", ", links: {codigoDoFornecedor: cnpj}"),
        },
    )
    found = month.report(0, "--stand-ins")
    assert (found["assertions"], found["state"]) == (ALL_HOLD, "passed")
    made = {name: found["stand_ins"][name] for name in ("clients", "suppliers", "products")}
    assert made == {"clients": 1, "suppliers": 1, "products": 1}


@pytest.mark.slow
def test_codes_that_workbooks_bring_get_no_stand_ins(month: Month) -> None:
    types = [{"codigoDoTipoDeCliente": 77, "descricaoDoTipoDeCliente": "Parceiro"}]
    write_book(month, "tipocliente", types)
    client = {**make_rows("cliente", 1, "client")[0], "codigoDoTipoDeCliente": 77}
    write_book(month, "cliente", [client])
    write_plan(month, {name: upload_of(name) for name in ("tipocliente", "cliente")})
    found = month.report(0, "--stand-ins")
    assert (found["rows"]["accepted"], found["assertions"]) == (2, ALL_HOLD)
    assert "client_types" not in found["stand_ins"]


@pytest.mark.slow
def test_changed_records_are_rehearsed(month: Month) -> None:
    clients = [
        {"nomeComercial": f"Cliente {n}", "cnpj": cnpj, "email": "a@b.example", "idws": f"W-{n}"}
        for n, cnpj in enumerate((new_cnpj(), new_cnpj()))
    ]
    write_book(month, "cliente", clients)
    write_plan(
        month,
        {
            "clientes": upload_of("cliente", ", leave_out: idws"),
            "idws": upload_of("cliente", ", update: true, after: clientes"),
        },
    )
    found = month.report(0)
    assert (found["assertions"], found["rows"]["accepted"]) == (ALL_HOLD, 4)


def test_a_record_created_twice_and_a_lost_one_are_found(month: Month, tmp_path: Path) -> None:
    database = tmp_path / "prepared.db"
    suppliers = [
        {"nomeComercial": name, "natureza": "J", "cnpj": cnpj}
        for name, cnpj in (("twice", new_cnpj()), ("lost", new_cnpj()))
    ]
    write_book(month, "fornecedor", suppliers)
    write_plan(month, {"fornecedor": upload_of("fornecedor")})
    with (
        closing(open_database(database_url(str(database)))) as storage,
        storage.transaction(writing=True) as connection,
    ):
        seed_database(connection, SeedKind.EMPTY, 1)
    columns = [column.name for column in TABLES["suppliers"].columns]
    copied = [
        name if name != "codigoDoFornecedor" else "codigoDoFornecedor + 5000" for name in columns
    ]
    with closing(sqlite3.connect(database)) as db:
        db.execute(
            "CREATE TRIGGER twice AFTER INSERT ON suppliers WHEN NEW.nomeComercial = 'twice' BEGIN "
            f"INSERT INTO suppliers ({', '.join(columns)}) SELECT {', '.join(copied)} "
            "FROM suppliers WHERE codigoDoFornecedor = NEW.codigoDoFornecedor; END"
        )
        db.execute(
            "CREATE TRIGGER lost AFTER INSERT ON suppliers WHEN NEW.nomeComercial = 'lost' "
            "BEGIN DELETE FROM suppliers WHERE codigoDoFornecedor = NEW.codigoDoFornecedor; END"
        )
        db.commit()
    found = month.report(5, "--db", database)
    assert {breach["kind"]: breach["row"] for breach in found["breaches"]} == {
        "twice": 2, "lost": 3
    }  # fmt: skip


@pytest.mark.slow
def test_child_rows_created_twice_and_lost_ones_are_found(month: Month, tmp_path: Path) -> None:
    database = tmp_path / "prepared.db"
    twice, _, lost = orders = make_rows("requisicao", 3, "items")
    twice["itens"][0]["quantidade"], lost["itens"][0]["quantidade"] = 111, 222
    write_book(month, "requisicao", orders)
    write_plan(month, {"requisicao": upload_of("requisicao")})
    with (
        closing(open_database(database_url(str(database)))) as storage,
        storage.transaction(writing=True) as connection,
    ):
        seed_database(connection, SeedKind.EMPTY, 1)
    table = "purchase_requisition_items"
    columns = [column.name for column in TABLES[table].columns]
    copied = ["seq + 500" if name == "seq" else name for name in columns]
    this = f"FROM {table} WHERE number = NEW.number AND seq = NEW.seq"
    with closing(sqlite3.connect(database)) as db:
        db.execute(
            f"CREATE TRIGGER twice AFTER INSERT ON {table} WHEN NEW.quantidade = 111000000 BEGIN "
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(copied)} {this}; END"
        )
        db.execute(
            f"CREATE TRIGGER lost AFTER INSERT ON {table} WHEN NEW.quantidade = 222000000 "
            f"BEGIN DELETE {this}; END"
        )
        db.commit()
    found = month.report(5, "--stand-ins", "--db", database)
    assert {(b["kind"], b["row"], b["message"]) for b in found["breaches"]} == {
        ("twice", 2, f"itens: {len(twice['itens'])} sent, {len(twice['itens']) + 1} in the system"),
        ("lost", 4, f"itens: {len(lost['itens'])} sent, {len(lost['itens']) - 1} in the system"),
    }


@pytest.mark.slow
def test_a_record_that_is_closed_as_its_lists_are_refused_is_not_a_row_too_many(
    month: Month,
) -> None:
    good, bad = make_rows("inventario", 2, "inventory")
    bad["contagens"] = [{**bad["contagens"][0], "idProd": 98765}]
    write_book(month, "inventario", [good, bad])
    write_plan(month, {"inventario": upload_of("inventario")})
    found = month.report(1, "--seed", "demo")
    assert found["assertions"] == ALL_HOLD
    (refused,) = found["rejected"]
    assert (refused["row"], "98765" in refused["message"]) == (3, True)
    assert "was closed" in refused["message"]


def test_a_row_of_totals_needs_no_outcome(month: Month) -> None:
    suppliers = [{"nomeComercial": "Energia", "natureza": "J", "cnpj": new_cnpj()}]
    write_book(month, "fornecedor", [*suppliers, {"nomeComercial": "Total"}])
    write_plan(month, {"fornecedor": upload_of("fornecedor")})
    found = month.report(0)
    assert (found["assertions"], found["rows"]["read"]) == (ALL_HOLD, 1)


@pytest.mark.slow
def test_the_report_shows_why_rows_were_not_sent(month: Month) -> None:
    supplier = {"nomeComercial": "Energia", "natureza": "J"}
    bad = [{**supplier, "cnpj": new_cnpj()}, {**supplier, "cnpj": "11.222.333/0001-00"}]
    write_book(month, "fornecedor", bad)
    held = {"codigoDoTipoDeCliente": 1, "descricaoDoTipoDeCliente": "Outro"}
    write_book(month, "tipocliente", [held])
    write_plan(month, {name: upload_of(name) for name in ("fornecedor", "tipocliente")})
    done = month.rehearse()
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    place = lines.index("      ../books/fornecedor.xlsx: has errors")
    assert "C3 cnpj" in lines[place + 2]
    (held,) = [line for line in lines if line.startswith("  ✗ tipocliente")]
    assert held.endswith("1 workbook, 1 row: 1 waiting for you")
    place = lines.index("Not sent, waiting for you: 1")
    assert lines[place + 2].startswith("tipocliente  ../books/tipocliente.xlsx    2  in the")


def write_sample(month: Month, workbooks: int, rows: int) -> int:
    write_month(month.folder / "plans", SampleMonth(workbooks=workbooks, rows=rows))
    return workbooks * rows


def require_conditions(found: Mapping[str, Any], rows: int) -> None:
    """Require that no row is lost or doubled, each has an outcome, and doubts explain the rest."""
    assert (found["assertions"], found["breaches"]) == (ALL_HOLD, [])
    counts = found["rows"]
    assert counts["read"] == rows == sum(counts.values()) - counts["read"]
    assert len(found["in_doubt"]) == counts["unknown"]
    assert counts["rejected"] == 0
    if not counts["unknown"]:
        assert counts["accepted"] == rows


@pytest.mark.slow
def test_the_sample_month_is_rehearsed_under_faults(month: Month) -> None:
    rows = write_sample(month, workbooks=8, rows=2)
    asked = ["--month", "2026-10", "--faults", f"{UNDER_FAULTS},seed=3"]
    done = month.rehearse("--seed", "demo", "--format", "json", *asked)
    assert done.returncode in (0, 5), done.stderr
    require_conditions(json.loads(done.stdout), rows)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_sample_month_survives_faults(month: Month, seed: int) -> None:
    rows = write_sample(month, workbooks=16, rows=12)
    asked = ["--month", "2026-10", "--faults", f"{UNDER_FAULTS},seed={seed}"]
    done = month.rehearse("--seed", "demo", "--format", "json", *asked)
    assert done.returncode in (0, 5), done.stderr
    require_conditions(json.loads(done.stdout), rows)


def test_a_row_that_only_others_kept_out_is_rehearsed_by_another_run(
    month: Month, tmp_path: Path
) -> None:
    database = tmp_path / "prepared.db"
    make_database(database, {**GOOD["contasreceber"], "historico": "before"})
    wrong = {"codigoDoItemDeLancamento": "9.99.999"}
    write_book(month, "contasreceber", [GOOD["contasreceber"] | more for more in ({}, wrong)])
    write_plan(month, {"contasreceber": upload_of("contasreceber", ", mode: direct")})
    found = month.report(1, "--db", database)
    (refused,) = found["rejected"]
    assert (refused["row"], "9.99.999" in refused["message"]) == (3, True)
    assert (found["rows"]["accepted"], found["runs"]["calm"]) == (1, 2)
    assert found["assertions"] == ALL_HOLD
