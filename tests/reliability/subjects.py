"""The sheets that trials send, and what the sandbox's database says became of their rows."""

import itertools
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import xlsxwriter
from stdnum.br import cnpj

_numbers = itertools.count(1)
_SUPPLIER = 501


@dataclass(frozen=True)
class Subject:
    """A kind of sheet: how it is sent, where its rows end up, and by what they are known there.

    ``keyed`` says that rows can be read back by their keys.
    """

    name: str
    resource: str
    mode: str
    table: str
    column: str
    keyed: bool = True

    def write(self, path: Path, rows: int, customer: int) -> list[str]:
        """Write a sheet of new rows, and return what each is known by."""
        known = self.new_keys(rows)
        self.write_keys(path, known, customer)
        return known

    def new_keys(self, number: int) -> list[str]:
        """Return what so many new rows are known by."""
        return [self._known() for _ in range(number)]

    def write_keys(self, path: Path, known: Sequence[str], customer: int, text: str = "") -> None:
        """Write a sheet of rows by what they are known by, with ``text`` in what they say."""
        records = [self._record(one, customer, text) for one in known]
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet(self.resource)
            sheet.write_row(0, 0, list(records[0]))
            for number, record in enumerate(records, 1):
                sheet.write_row(number, 0, list(record.values()))

    def _known(self) -> str:
        number = next(_numbers)
        if self.table == "clients" and self.keyed:
            base = f"{number % 10**8:08d}{os.getpid() % 9000 + 1000:04d}"
            return base + str(cnpj.calc_check_digits(base))
        return f"{self.resource}-{os.getpid()}-{number}"

    def saying(self, known: str, text: str) -> str:
        """Return what the row says that is known by ``known``."""
        return f"{'Cliente' if self.table == 'clients' else 'Título'} {known}{text}"

    def _record(self, known: str, customer: int, text: str) -> dict[str, object]:
        if self.table == "clients":
            named = {"nomeComercial": self.saying(known, text), "cnpj": known}
            return named if self.keyed else {"nomeComercial": known}
        payable = self.table == "payables"
        owed = {"codigoDoFornecedor": _SUPPLIER} if payable else {"codigoDoCliente": customer}
        return {
            "codigoDaFilial": 1,
            **owed,
            "codigoDoItemDeLancamento": "2.01.001" if payable else "1.01.001",
            "codigoDoCentroDeCusto": "01.001",
            "codigoDaContaCorrente": 1,
            "historico": self.saying(known, text),
            "numeroDoDocumento": known,
            "dataDeVencimento": "30/11/2026",
            "valorDoLancamento": 10.5,
        }


DIRECT = Subject("direct", "contasreceber", "direct", "receivables", "numeroDoDocumento")
DIRECT_KEYLESS = Subject(
    "direct, no key", "cliente", "direct", "clients", "nomeComercial", keyed=False
)
QUEUE = Subject("queue", "contasreceber", "queue", "receivables", "numeroDoDocumento")
OWN_QUEUE = Subject("queue that runs by itself", "cliente", "queue", "clients", "cnpjcpf")
KEYLESS = Subject(
    "queue that runs by itself, no key", "cliente", "queue", "clients", "nomeComercial", keyed=False
)
BY_RECORD = Subject("record by record", "cliente", "records", "clients", "cnpjcpf")
PAYABLE = Subject("payables", "contaspagar", "queue", "payables", "numeroDoDocumento")
UPDATE = Subject("updates", "contaspagar", "update", "payables", "numeroDoDocumento")
UNDO = Subject("undos", "contaspagar", "undo", "payables", "numeroDoDocumento")
BATCHES = Subject("two batches", "contaspagar", "batches queue", "payables", "numeroDoDocumento")
DIRECT_BATCHES = Subject(
    "two direct batches", "contaspagar", "batches direct", "payables", "numeroDoDocumento"
)
PREVIEW = Subject("preview", "contasreceber", "preview", "receivables", "numeroDoDocumento")


def counts(database: Path, subject: Subject, known: Sequence[str]) -> list[int]:
    """Return how often each row stands in the sandbox's database."""
    asked = f"SELECT COUNT(*) FROM {subject.table} WHERE {subject.column} = ?"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as db:
        return [db.execute(asked, (one,)).fetchone()[0] for one in known]


def texts(database: Path, subject: Subject, known: Sequence[str]) -> list[list[str]]:
    """Return what the records of each key say in the sandbox's database."""
    said = "nomeComercial" if subject.table == "clients" else "historico"
    asked = f"SELECT {said} FROM {subject.table} WHERE {subject.column} = ?"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as db:
        return [[row[0] for row in db.execute(asked, (one,))] for one in known]


def files_at_work(database: Path) -> int:
    """Return how many queued files are let to run and have not ended."""
    asked = "SELECT COUNT(*) FROM import_logs WHERE finished IS NULL AND released"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as db:
        return int(db.execute(asked).fetchone()[0])
