"""Sheets of trials, and what the sandbox's database says about their rows."""

import itertools
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import xlsxwriter
from stdnum.br import cnpj

from xlbridge.client import Client, UploadFile
from xlbridge.upload.process_kinds import find_kind
from xlbridge.wire.imports import IMPORT_QUEUE

_numbers = itertools.count(1)
_SUPPLIER = 501


@dataclass(frozen=True)
class Subject:
    """Kind of sheet: how it is sent, and the table and column in which its rows are found.

    ``keyed`` means that rows can be read back by their keys. ``scenario`` is what is done with the
    sheet, if that is not a single upload.
    """

    name: str
    resource: str
    mode: str
    table: str
    column: str
    keyed: bool = True
    scenario: str = ""

    def write(self, path: Path, rows: int, customer: int) -> list[str]:
        """Write a sheet of new rows, and return their keys."""
        keys = self.new_keys(rows)
        self.write_keys(path, keys, customer)
        return keys

    def new_keys(self, number: int) -> list[str]:
        """Return new keys."""
        return [self._new_key() for _ in range(number)]

    def write_keys(self, path: Path, keys: Sequence[str], customer: int, text: str = "") -> None:
        """Write a sheet of rows with the given keys and ``text`` in their texts."""
        records = [self.record(key, customer, text) for key in keys]
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet(self.resource)
            sheet.write_row(0, 0, list(records[0]))
            for number, record in enumerate(records, 1):
                sheet.write_row(number, 0, list(record.values()))

    def _new_key(self) -> str:
        number = next(_numbers)
        if self.table == "clients" and self.keyed:
            base = f"{number % 10**8:08d}{os.getpid() % 9000 + 1000:04d}"
            return base + str(cnpj.calc_check_digits(base))
        return f"{self.resource}-{os.getpid()}-{number}"

    def row_text(self, key: str, text: str) -> str:
        """Return the text of the row with a key."""
        return f"{'Cliente' if self.table == 'clients' else 'Título'} {key}{text}"

    def record(self, key: str, customer: int, text: str) -> dict[str, object]:
        if self.table == "clients":
            client = {"nomeComercial": self.row_text(key, text), "cnpj": key}
            return client if self.keyed else {"nomeComercial": key}
        payable = self.table == "payables"
        party = {"codigoDoFornecedor": _SUPPLIER} if payable else {"codigoDoCliente": customer}
        return {
            "codigoDaFilial": 1,
            **party,
            "codigoDoItemDeLancamento": "2.01.001" if payable else "1.01.001",
            "codigoDoCentroDeCusto": "01.001",
            "codigoDaContaCorrente": 1,
            "historico": self.row_text(key, text),
            "numeroDoDocumento": key,
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
PAYABLE = Subject("payables", "contaspagar", "queue", "payables", "numeroDoDocumento")


@dataclass(frozen=True)
class Prepared(Subject):
    """Kind of sheet that names records which are created first."""

    def create(self, client: Client, path: Path, rows: int, customer: int) -> list[str]:
        """Create the records of the rows, write their sheet, and return their keys."""
        raise NotImplementedError

    def execution_counts(
        self, database: Path, keys: Sequence[str], request_counts: Mapping[tuple[str, str], int]
    ) -> list[int]:
        """Return how often each row was executed, also by the counts of requests to the server."""
        raise NotImplementedError


@dataclass(frozen=True)
class Processing(Prepared):
    """Kind of records that are processed; ``resource`` is its listing."""

    def create(self, client: Client, path: Path, rows: int, customer: int) -> list[str]:
        new = _NEW[self.resource]
        created = [new(client, customer, path, index) for index in range(1, rows + 1)]
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet("Plan1")
            sheet.write_column(0, 0, [find_kind(self.resource).headers[0], *created])
        return list(map(str, created))

    def execution_counts(
        self, database: Path, keys: Sequence[str], request_counts: Mapping[tuple[str, str], int]
    ) -> list[int]:
        """Return how often each record was processed: the number of requests, if it was."""
        operation = find_kind(self.resource).process
        found = []
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as db:
            for one in keys:
                (done,) = db.execute(self.column, (int(one),)).fetchone()
                path = operation.path.format(**dict.fromkeys(operation.path_parameters, one))
                found.append(max(done, request_counts[operation.method, path]) if done else 0)
        return found


@dataclass(frozen=True)
class Counted(Prepared):
    """Kind of sheet that opens inventories and counts a product of each twice."""

    def create(self, client: Client, path: Path, rows: int, customer: int) -> list[str]:
        """Create a product for an inventory of each branch, and close open inventories."""
        calls = client.stock.inventories
        newest = 0
        for one in calls.list():
            newest = max(newest, one.idInventario)
            if one.podeEncerrar and one.codigoDoAlmoxarifado == _COUNTED_WAREHOUSE:
                calls.close(idInventario=one.idInventario)
        named = (f"Porca {next(_numbers)}" for _ in range(rows))
        created = [
            client.registry.products.create(descricaoDoProduto=one).idProduto for one in named
        ]
        with xlsxwriter.Workbook(path) as book:
            sheet, counts = book.add_worksheet(self.resource), book.add_worksheet("contagens")
            sheet.write_row(0, 0, ["chave", "codigoDaFilial", "codigoDoAlmoxarifado"])
            counts.write_row(0, 0, ["chave", "idProd", "contagem", "quantidade"])
            for branch, product in enumerate(created, 1):
                sheet.write_row(branch, 0, [f"A{branch}", branch, _COUNTED_WAREHOUSE])
                for index, line in enumerate(_COUNTS.items(), 2 * branch - 1):
                    counts.write_row(index, 0, [f"A{branch}", product, *line])
        return [f"{branch} {newest} {product}" for branch, product in enumerate(created, 1)]

    def execution_counts(
        self, database: Path, keys: Sequence[str], request_counts: Mapping[tuple[str, str], int]
    ) -> list[int]:
        """Return how many inventories each row opened, 0 if it is not counted.

        A product with other counts than the sheet's is returned as 2.
        """
        opened = f"SELECT COUNT(*) FROM {self.table} WHERE {self.column}"
        found = []
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as db:
            for one in keys:
                branch, newest, product = map(int, one.split())
                (count,) = db.execute(opened, (branch, newest, _COUNTED_WAREHOUSE)).fetchone()
                counts = db.execute(
                    # Amounts are whole numbers of millionths there.
                    "SELECT count1 / 1e6, count2 / 1e6 FROM inventory_items WHERE product = ?",
                    (product,),
                ).fetchall()
                is_complete = counts == [tuple(_COUNTS.values())]
                found.append(count if is_complete else 2 * bool(counts))
        return found


_COUNTED_WAREHOUSE = 2
_COUNTS = {1: 7, 2: 5}


def _new_order(client: Client, customer: int, _path: Path, _place: int) -> int:
    order = client.sales.orders.create(
        codigoDaFilial=1,
        codigoDoCliente=customer,
        parcelas=[{"dataDeVencimento": datetime(2026, 12, 1), "valor": 10}],
    )
    return int(order.numeroDoPedido)


def _new_product_invoice(client: Client, customer: int, _path: Path, _place: int) -> int:
    invoice = client.sales.product_invoices.create(
        codigoDaFilial=1,
        codigoDaNotaFiscal=1,
        tipoDeOperacao="Saída",
        naturezaDaOperacao="Venda",
        codigoDaFormaDePagamento=1,
        codigoDoCliente=customer,
        nomeDoCliente="Devedora",
        cep="01310-100",
    )
    return int(invoice.idNF)


def _new_service_invoice(client: Client, customer: int, _path: Path, _place: int) -> int:
    invoice = client.sales.service_invoices.register(
        codigoDaFilial=1,
        codigoDoCliente=customer,
        codigoDoServicoPrestado="14.01",
        valorDoServico=100,
    )
    return int(invoice.idNF)


def _new_inventory(client: Client, _customer: int, _path: Path, index: int) -> int:
    """Open an inventory of another branch, and count it so that it can be processed."""
    calls = client.stock.inventories
    for one in calls.list():
        if one.podeEncerrar and one.codigoDaFilial == index:
            calls.close(idInventario=one.idInventario)
    product = client.registry.products.create(descricaoDoProduto=f"Parafuso {next(_numbers)}")
    number = calls.open(codigoDaFilial=index, codigoDoAlmoxarifado=1).idInventario
    calls.start_count(idInventario=number, contagem=1)
    counted = [{"idProd": product.idProduto, "quantidade": 7}]
    calls.count(idInventario=number, contagem=1, itens=counted)
    calls.validate(idInventario=number)
    return int(number)


def _new_file(client: Client, customer: int, path: Path, _place: int) -> int:
    """Queue a workbook of one payable."""
    sheet = path.with_name("fila.xlsx")
    (document,) = PAYABLE.write(sheet, 1, customer)
    file = UploadFile(f"{document}.xlsx", sheet.read_bytes())
    return int(client.call(IMPORT_QUEUE, path={"resource": PAYABLE.resource}, file=file))


_NEW: Mapping[str, Callable[[Client, int, Path, int], int]] = {
    "pedidos": _new_order,
    "nfe": _new_product_invoice,
    "nfse": _new_service_invoice,
    "inventario": _new_inventory,
    "importacao": _new_file,
}
_EMITTED = "WHERE idNF = ? AND numeroDaNotaFiscalEletronica IS NOT NULL"
_DONE = {
    "pedidos": "receivables WHERE numeroDoDocumento LIKE printf('PV-%06d/%%', ?)",
    "nfe": f"product_invoices {_EMITTED}",
    "nfse": f"service_invoices {_EMITTED}",
    "inventario": "inventories WHERE idInventario = ? AND situation = 'Processado'",
    "importacao": "payables JOIN import_logs ON filename = numeroDoDocumento || '.xlsx' "
    "WHERE import_logs.id = ?",
}
PROCESSINGS = tuple(
    Processing(f"process {name}", name, "process", "", f"SELECT COUNT(*) FROM {done}")
    for name, done in _DONE.items()
)
BY_RECORD = Subject("record by record", "cliente", "records", "clients", "cnpjcpf")
BY_RECORD_KEYLESS = replace(
    BY_RECORD, name="record by record, no key", column="nomeComercial", keyed=False
)
COUNTED = Counted(
    *("counted inventories", "inventario", "records", "inventories"),
    column="codigoDaFilial = ? AND idInventario > ? AND codigoDoAlmoxarifado = ?",
    scenario="counted",
)


def _payables(name: str, mode: str, scenario: str) -> Subject:
    return replace(PAYABLE, name=name, mode=mode, scenario=scenario)


UPDATE = _payables("updates", "update", "change")
UNDO = _payables("undos", "undo", "change")
RIVAL_UPDATE = _payables("updates alongside another's", "update", "changes")
RIVAL_UNDO = _payables("undos alongside another's", "undo", "changes")
BATCHES = _payables("two batches", "queue", "batches")
DIRECT_BATCHES = _payables("two direct batches", "direct", "batches")
WORKBOOKS = tuple(
    replace(one, name=f"two {scenario}, {one.name}", scenario=scenario)
    for scenario in ("workbooks", "colleagues")
    for one in (DIRECT, QUEUE, OWN_QUEUE, BY_RECORD)
)
PREVIEW = Subject("preview", "contasreceber", "preview", "receivables", "numeroDoDocumento")


def counts(database: Path, subject: Subject, keys: Sequence[str]) -> list[int]:
    """Return how often each row is in the sandbox's database."""
    query = f"SELECT COUNT(*) FROM {subject.table} WHERE {subject.column} = ?"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as db:
        return [db.execute(query, (key,)).fetchone()[0] for key in keys]


def texts(database: Path, subject: Subject, keys: Sequence[str]) -> list[list[str]]:
    """Return the texts of each key's records in the sandbox's database."""
    column = "nomeComercial" if subject.table == "clients" else "historico"
    query = f"SELECT {column} FROM {subject.table} WHERE {subject.column} = ?"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as db:
        return [[row[0] for row in db.execute(query, (key,))] for key in keys]


def count_running_files(database: Path) -> int:
    """Return the number of queued files that were started and have not ended."""
    query = "SELECT COUNT(*) FROM import_logs WHERE finished IS NULL AND released"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as db:
        return int(db.execute(query).fetchone()[0])
