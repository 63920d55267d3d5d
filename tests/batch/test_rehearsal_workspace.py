"""Private workspace of a rehearsal: copies, a database, stand-ins for unknown codes."""

import shutil
from contextlib import closing
from datetime import date, datetime
from pathlib import Path

import pytest
from databases import TABLES
from openpyxl import load_workbook
from openpyxl.packaging.custom import StringProperty
from rehearsal_parts import Month, make_database
from sheets import GOOD
from sqlalchemy import select

from xlbridge.batch.plan_reader import read_plan
from xlbridge.batch.plan_steps import BatchPlan
from xlbridge.batch.rehearsal import copy_month, prepare_workspace
from xlbridge.errors import ConfigError, UsageError
from xlbridge.resources import Catalogue
from xlbridge.sandbox import FaultPlan, SeedKind, open_database, seed_database
from xlbridge.sandbox.rehearsal import StandIns, registry_title
from xlbridge.sandbox.storage import database_url
from xlbridge.settings import Settings

clients = TABLES["clients"]
counters = TABLES["counters"]
suppliers = TABLES["suppliers"]


@pytest.fixture
def month(tmp_path: Path) -> Month:
    return Month(tmp_path / "month", tmp_path / "home").write()


def read(month: Month, catalogue: Catalogue) -> BatchPlan:
    return read_plan(month.plan, catalogue, {}, lambda _profile: date(2026, 11, 2))


def test_a_month_is_copied_byte_for_byte_with_its_relative_paths(
    month: Month, tmp_path: Path, catalogue: Catalogue
) -> None:
    books = month.folder / "books"
    rejects = load_workbook(books / "payables.xlsx")
    for name, value in (("format", "1"), ("job", "20261101-101010-0a1b")):
        rejects.custom_doc_props.append(StringProperty(name=f"xlbridge-{name}", value=value))
    rejects.save(books / "receivables-9.xlsx")
    before = month.files()
    copied, count = copy_month(read(month, catalogue), tmp_path / "copy")
    assert (copied, count) == (tmp_path / "copy" / "plans" / "plan.yaml", 5)
    assert month.files() == before
    contents = {
        name: content for name, (content, _) in before.items() if "receivables-9" not in name
    }
    copies = {
        name: content for name, (content, _) in Month(tmp_path / "copy", tmp_path).files().items()
    }
    assert copies == contents


def test_quirks_of_the_section_of_a_profile_are_rehearsed_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "profiles.toml").write_text(
        'default = "erp"\n[profiles.erp]\nbase_url = "https://erp.example"\n'
        'email = "a@b.example"\nquirks = {first_line = 1}\n',
        "utf-8",
    )
    settings = Settings(home=home, profile="erp")
    made = prepare_workspace(tmp_path / "work", settings, FaultPlan(), None, SeedKind.EMPTY)
    assert made.quirks_file.read_text("utf-8") == "first_line: 1\n"


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("../books/payables.xlsx", "/srv/payables.xlsx"),
        ("../out/{month}.xlsx", "/srv/out.xlsx"),
        ("name: month", "name: month\nproof: /srv/proof"),
        ("steps:", "steps:\n  process: {process: pedidos, file: /srv/orders.xlsx}"),
    ],
)
def test_a_plan_with_absolute_paths_is_refused(
    month: Month, tmp_path: Path, catalogue: Catalogue, what: str, instead: str
) -> None:
    month.plan.write_text(month.plan.read_text("utf-8").replace(what, instead), "utf-8")
    with pytest.raises(UsageError, match=r"/srv/.* is not relative to the plan"):
        copy_month(read(month, catalogue), tmp_path / "copy")


def test_workbooks_to_refresh_are_copied(
    month: Month, tmp_path: Path, catalogue: Catalogue
) -> None:
    book = month.folder / "books" / "flow.xlsx"
    shutil.copy(month.folder / "books" / "payables.xlsx", book)
    step = "  refresh: {export: clientes, into: ../books/flow.xlsx}\n"
    month.plan.write_text(month.plan.read_text("utf-8") + step, "utf-8")
    copy_month(read(month, catalogue), tmp_path / "copy")
    copies = Month(tmp_path / "copy", tmp_path).files()
    assert copies["books/flow.xlsx"][0] == book.read_bytes()


def test_mappings_and_lists_of_records_are_copied_with_the_workbooks(
    month: Month, tmp_path: Path, catalogue: Catalogue
) -> None:
    mapping = "version: 1\nresource: contaspagar\nheader: [A]\ncolumns: {historico: {from: A}}\n"
    (month.folder / "books" / "payables.yaml").write_text(mapping, "utf-8")
    shutil.copy(month.folder / "books" / "payables.xlsx", month.folder / "books" / "orders.xlsx")
    plan = month.plan.read_text("utf-8")
    plan = plan.replace("contaspagar", "contaspagar\n    map: ../books/payables.yaml")
    orders = "  process: {process: pedidos, file: ../books/orders.xlsx}\n"
    month.plan.write_text(plan + orders, "utf-8")
    before = {name: content for name, (content, _) in month.files().items()}
    _, count = copy_month(read(month, catalogue), tmp_path / "copy")
    copies = Month(tmp_path / "copy", tmp_path).files()
    assert {name: content for name, (content, _) in copies.items()} == before
    assert count == 5


@pytest.mark.parametrize(
    ("step", "named"),
    [
        ("{export: clientes, output: ../books/payables.xlsx}", "this step reads another one: more"),
        (
            "{compare: {clientes: {}}, with: other, output: ../out/compared.xlsx}",
            "this step reads another one: more",
        ),
    ],
)
def test_a_plan_that_needs_another_environment_is_refused(
    month: Month, tmp_path: Path, catalogue: Catalogue, step: str, named: str
) -> None:
    month.plan.write_text(f"{month.plan.read_text('utf-8')}  more: {step}\n", "utf-8")
    with pytest.raises(UsageError, match=named) as refused:
        copy_month(read(month, catalogue), tmp_path / "copy")
    assert "rehearse a copy of the plan without these steps" in str(refused.value.hint)


def test_a_database_is_copied_and_the_original_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "prepared" / "sandbox.db"
    make_database(database, GOOD["contasreceber"])
    before = {path.name: path.read_bytes() for path in database.parent.iterdir()}
    settings = Settings(home=tmp_path / "home")
    stage = prepare_workspace(tmp_path / "stage", settings, FaultPlan(), database, SeedKind.DEMO)
    assert {path.name: path.read_bytes() for path in database.parent.iterdir()} == before
    with stage.storage() as storage, storage.transaction(writing=False) as connection:
        assert connection.scalars(select(clients.c.codigoDoCliente)).all() == [1001]


def test_the_practice_system_keeps_its_address(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    stage = prepare_workspace(tmp_path / "stage", settings, FaultPlan(), None, SeedKind.EMPTY)
    addresses = []
    for faults in ("error-before@0.1", None):
        with stage.sandbox(faults) as running:
            addresses.append(running.base_url)
    assert addresses[0] == addresses[1]


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    other = tmp_path / "other.db"
    with pytest.raises(UsageError, match=r"There is no database .*other\.db"):
        prepare_workspace(tmp_path / "1", settings, FaultPlan(), other, SeedKind.EMPTY)
    other.write_bytes(b"a text, and no database at all" * 100)
    with pytest.raises(ConfigError, match=r"other\.db cannot be copied"):
        prepare_workspace(tmp_path / "2", settings, FaultPlan(), other, SeedKind.EMPTY)


def test_stand_ins_are_created_once_and_existing_records_made_usable(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    receivable = catalogue.named("contasreceber")
    payable = catalogue.named("contaspagar")
    inactive = 505
    with (
        closing(open_database(database_url(str(tmp_path / "sandbox.db")))) as storage,
        storage.transaction(writing=True) as connection,
    ):
        seed_database(connection, SeedKind.EMPTY, 1)
        stand_ins = StandIns(connection, datetime(2026, 11, 2))
        row = {"codigoDoCliente": 5000, "codigoDaFilial": 1, "codigoDaContaCorrente": 9}
        for _ in range(2):
            stand_ins.create_for_row(receivable, {**row, "codigoDaCarteira": 1})
            stand_ins.create_for_row(
                payable, {"codigoDoFornecedor": inactive, "codigoDaFilial": 70}
            )
        for _ in range(2):
            stand_ins.create_by_name("cliente", ["seuCodigo"], "seuCodigo", "K-1")
        stand_ins.write_counters()
        assert stand_ins.counts == {
            "clients": 2, "accounts": 1, "portfolios": 1, "suppliers": 1, "branches": 1
        }  # fmt: skip
        assert connection.scalar(
            select(suppliers.c.ativo).where(suppliers.c.codigoDoFornecedor == inactive)
        )
        last = select(counters.c.last).where(counters.c.scope == "client")
        assert connection.scalar(last) == 5001


def test_stand_ins_cover_child_rows_warehouses_and_codes_that_workbooks_bring(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    requisition, output = catalogue.named("requisicao"), catalogue.named("saida")
    order, (products, _) = catalogue.named("pedido"), catalogue.named("pedido").children
    with (
        closing(open_database(database_url(str(tmp_path / "sandbox.db")))) as storage,
        storage.transaction(writing=True) as connection,
    ):
        seed_database(connection, SeedKind.EMPTY, 1)
        stand_ins = StandIns(connection, datetime(2026, 11, 2), {"centro-de-custo": {"09.001"}})
        header = {
            "codigoDaFilial": 1, "codigoDoTipoDeCompra": 70, "codigoDoColaborador": 71,
            "codigoDoMotivo": 72, "codigoDoCentroDeCusto": "09.001", "CodigoDoProjeto": 73,
        }  # fmt: skip
        stand_ins.create_for_row(requisition, header)
        (items,) = requisition.children
        for product in (0, 9000):
            stand_ins.create_for_row(items, {"idProduto": product}, requisition)
        stand_ins.create_for_row(products, {"idProduto": 9001}, order)
        stand_ins.create_for_row(
            order,
            {
                "codigoDaFilial": 1, "codigoDaNotaFiscal": 74, "codigoDaCondicaoDePagamento": 75,
                "codigoDaCarteira": 76, "codigoDoItemDeLancamento": "9.01",
            },
        )  # fmt: skip
        stand_ins.create_for_row(output, {"codigoDaFilial": 80, "codigoDaSecao": "Z-1"})
        stand_ins.create_by_name(
            "produto", ["codigoInterno", "descricaoDoProduto"], "descricaoDoProduto", "Parafuso"
        )
        stand_ins.create_by_name("fornecedor", ["cnpjcpf"], "cnpjcpf", "11222333000199")
        stand_ins.create_by_name(
            "centro-de-custo", ["descricaoDoCentroDeCusto"], "descricaoDoCentroDeCusto", "Obras"
        )
        stand_ins.write_counters()
    assert stand_ins.counts == {
        "purchase_types": 1, "collaborators": 1, "purchase_reasons": 1, "projects": 1,
        "products": 3, "invoice_models": 1, "payment_conditions": 1, "portfolios": 1,
        "categories": 1, "branches": 1, "warehouses": 1, "sections": 1, "suppliers": 1,
        "cost_centres": 1,
    }  # fmt: skip
    assert [str(registry_title(name)) for name in ("sections", "clients")] == ["Section", "Client"]
    assert all(map(registry_title, stand_ins.counts))
