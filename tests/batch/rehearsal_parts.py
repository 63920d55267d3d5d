"""Test data for rehearsals: a month, and databases with defects."""

import json
import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from databases import TABLES
from environment import clean_environment
from forked import shared_zygote
from sheets import write_records, write_rows
from sqlalchemy import insert
from upload_parts import new_cnpj

from xlbridge.sandbox import SeedKind, open_database, seed_database
from xlbridge.sandbox.storage import database_url
from xlbridge.wire.financial import Receivable
from xlbridge.wire.registry import Client

clients = TABLES["clients"]
receivables = TABLES["receivables"]

PLAN = """\
name: month
parameters: {month: 2026-10}
steps:
  clients:
    upload: ../books/clients-{month}.xlsx
    resource: cliente
  receivables:
    upload: ../books/receivables-*.xlsx
    resource: contasreceber
    links: {codigoDoCliente: seuCodigo}
  payables:
    upload: ../books/payables.xlsx
    resource: contaspagar
  addresses:
    upload: ../books/addresses.xlsx
    resource: enderecamento-de-produto
  listing:
    export: clientes
    output: ../out/{month}.xlsx
    after: clients
"""
ROWS = 18


@dataclass
class Month:
    """A month in its own folder, for a user with ``home``."""

    folder: Path
    home: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def plan(self) -> Path:
        return self.folder / "plans" / "plan.yaml"

    def write(self) -> "Month":
        """Write clients, receivables of theirs, payables and addresses; of some codes nobody has
        heard in the sandbox."""
        books = self.folder / "books"
        books.mkdir(parents=True)
        self.plan.parent.mkdir()
        self.plan.write_text(PLAN, encoding="utf-8")
        clients = [[f"Client {n}", new_cnpj(), f"K-{n}"] for n in range(5)]
        header = ["nomeComercial", "cnpj", "seuCodigo"]
        write_rows(books / "clients-2026-10.xlsx", header, clients)
        for number in (1, 2):
            rows = [
                {"codigoDoCliente": f"K-{n}", "numeroDoDocumento": f"{number}/{n}"}
                # K-5 is a client from before, whom no workbook brings.
                for n in range(number, 4 + number)
            ]
            write_records(books / f"receivables-{number}.xlsx", "contasreceber", rows)
        foreign = [{"codigoDoFornecedor": 7000 + n, "codigoDaFilial": 90} for n in range(3)]
        write_records(books / "payables.xlsx", "contaspagar", foreign)
        places = [{"idProd": 8000 + n, "codigoDaSecao": "ZZ"} for n in range(2)]
        write_records(books / "addresses.xlsx", "enderecamento-de-produto", places)
        return self

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Return all files of the folder with content and modification time."""
        return {
            path.relative_to(self.folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in self.folder.rglob("*")
            if path.is_file()
        }

    def rehearse(self, *options: object) -> "subprocess.CompletedProcess[str]":
        """Run the real command."""
        command = ["batch", "rehearse", str(self.plan), "--seed", "empty", *map(str, options)]
        own = clean_environment(self.home, **self.environment)
        return shared_zygote().run(self.folder, own, command, longest=900)

    def report(self, code: int, *options: object) -> dict[str, Any]:
        """Rehearse, check the exit code, and return the report."""
        done = self.rehearse("--format", "json", *options)
        assert done.returncode == code, done.stderr + done.stdout
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def stored_rows(database: Path, *tables: str) -> int:
    """Return the number of rows that tables of a sandbox have."""
    with closing(sqlite3.connect(database)) as db:
        return sum(db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables)


def make_database(path: Path, there: Mapping[str, Any]) -> None:
    """Create a sandbox's database with an existing client and receivable."""
    key = {"codigoDoExercicio": 2020, "numeroDaTransacao": 1, "sequenciaDaTransacao": 1}
    title = Receivable(**{**there, **key}).model_dump(exclude={"rateio"})
    client = Client(codigoDoCliente=there["codigoDoCliente"], nomeComercial="A", ativo=True)
    with (
        closing(open_database(database_url(str(path)))) as storage,
        storage.transaction(writing=True) as connection,
    ):
        seed_database(connection, SeedKind.EMPTY, 1)
        connection.execute(insert(clients).values(client.model_dump()))
        connection.execute(insert(receivables).values(title))


def let_rows_be_written_twice(path: Path, history: str) -> None:
    """Make the database write each receivable with this history twice."""
    names = [column.name for column in receivables.columns]
    values = [
        "NEW.numeroDaTransacao + 500000" if name == "numeroDaTransacao" else f'NEW."{name}"'
        for name in names
    ]
    quoted = ", ".join(f'"{name}"' for name in names)
    _run(
        path,
        f"CREATE TRIGGER twice AFTER INSERT ON receivables WHEN NEW.historico = '{history}' "
        f"BEGIN INSERT INTO receivables ({quoted}) SELECT {', '.join(values)}; END",
    )


def let_rows_be_lost(path: Path, history: str) -> None:
    """Make the database lose each receivable with this history."""
    _run(
        path,
        f"CREATE TRIGGER lost AFTER INSERT ON receivables WHEN NEW.historico = '{history}' "
        "BEGIN DELETE FROM receivables WHERE historico = NEW.historico; END",
    )


def let_payables_fail(path: Path) -> None:
    """Make the database reject every payable."""
    _run(
        path,
        "CREATE TRIGGER failing BEFORE INSERT ON payables "
        "BEGIN SELECT RAISE(ABORT, 'out of order'); END",
    )


def _run(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement)
        db.commit()
