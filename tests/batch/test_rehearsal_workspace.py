"""Private workspace of a rehearsal: copies, a database, stand-ins for unknown codes.

Inside: batch.
"""

import shutil
from contextlib import closing
from datetime import date, datetime
from pathlib import Path

import pytest
from databases import TABLES
from rehearsal_parts import Month, make_database
from sheets import GOOD
from sqlalchemy import select

from xlbridge.batch.plan import read_plan
from xlbridge.batch.plan.steps import BatchPlan
from xlbridge.batch.rehearsal.workspace import copy_month, prepare_workspace
from xlbridge.errors import ConfigError, UsageError
from xlbridge.resources import Catalogue
from xlbridge.sandbox import FaultPlan, SeedKind, open_database, seed_database
from xlbridge.sandbox.rehearsal import StandIns
from xlbridge.sandbox.storage import database_url
from xlbridge.settings import Settings

clients = TABLES["clients"]
counters = TABLES["counters"]
suppliers = TABLES["suppliers"]


@pytest.fixture
def month(tmp_path: Path) -> Month:
    return Month(tmp_path / "month", tmp_path / "home").write()


def read(month: Month, catalogue: Catalogue) -> BatchPlan:
    return read_plan(month.plan, catalogue, {}, date(2026, 11, 2))


def test_a_month_is_copied_byte_for_byte_with_its_relative_paths(
    month: Month, tmp_path: Path, catalogue: Catalogue
) -> None:
    books = month.folder / "books"
    left = books / "receivables-1-rejeitadas-20261101-101010-0a1b.xlsx"
    shutil.copy(books / "payables.xlsx", left)
    before = month.files()
    copied, count = copy_month(read(month, catalogue), tmp_path / "copy")
    assert (copied, count) == (tmp_path / "copy" / "plans" / "plan.yaml", 5)
    assert month.files() == before
    contents = {name: content for name, (content, _) in before.items() if "rejeitadas" not in name}
    copies = {
        name: content for name, (content, _) in Month(tmp_path / "copy", tmp_path).files().items()
    }
    assert copies == contents


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("../books/payables.xlsx", "/srv/payables.xlsx"),
        ("../out/{month}.xlsx", "/srv/out.xlsx"),
        ("name: month", "name: month\nproof: /srv/proof"),
    ],
)
def test_a_plan_with_absolute_paths_is_refused(
    month: Month, tmp_path: Path, catalogue: Catalogue, what: str, instead: str
) -> None:
    month.plan.write_text(month.plan.read_text("utf-8").replace(what, instead), "utf-8")
    with pytest.raises(UsageError, match=r"/srv/.* is not relative to the plan"):
        copy_month(read(month, catalogue), tmp_path / "copy")


def test_a_database_is_copied_and_the_original_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "prepared" / "sandbox.db"
    make_database(database, GOOD["contasreceber"])
    before = {path.name: path.read_bytes() for path in database.parent.iterdir()}
    settings = Settings(home=tmp_path / "home")
    stage = prepare_workspace(tmp_path / "stage", settings, FaultPlan(), database, SeedKind.DEMO)
    assert {path.name: path.read_bytes() for path in database.parent.iterdir()} == before
    with stage.storage() as storage, storage.transaction(writing=False) as connection:
        assert connection.scalars(select(clients.c.codigoDoCliente)).all() == [1001]


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
        stand_ins.create_by_field("cliente", "seuCodigo", "K-1")
        stand_ins.create_by_field("cliente", "seuCodigo", "K-1")
        stand_ins.advance_counters()
        assert stand_ins.counts == {
            "clients": 2, "accounts": 1, "portfolios": 1, "suppliers": 1, "branches": 1
        }  # fmt: skip
        assert connection.scalar(select(suppliers.c.active).where(suppliers.c.code == inactive))
        last = select(counters.c.last).where(counters.c.scope == "client")
        assert connection.scalar(last) == 5001
