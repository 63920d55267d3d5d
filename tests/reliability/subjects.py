"""The sheets that trials send, and what the sandbox's database says became of their rows."""

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
from xlbridge.upload.processing import find_kind
from xlbridge.wire.imports import IMPORT_QUEUE

_numbers = itertools.count(1)
_SUPPLIER = 501


@dataclass(frozen=True)
class Subject:
    """A kind of sheet: how it is sent, where its rows end up, and by what they are known there.

    ``keyed`` says that rows can be read back by their keys. ``way`` is what is done with the sheet
    where that is not one upload of it.
    """

    name: str
    resource: str
    mode: str
    table: str
    column: str
    keyed: bool = True
    way: str = ""

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
PAYABLE = Subject("payables", "contaspagar", "queue", "payables", "numeroDoDocumento")


@dataclass(frozen=True)
class Prepared(Subject):
    """Kind of sheet that names records which are created first, and is looked up by them."""

    def create(self, client: Client, path: Path, rows: int, customer: int) -> list[str]:
        """Create what so many rows name, write their sheet, and return what each is known by."""
        raise NotImplementedError

    def times(
        self, database: Path, known: Sequence[str], asked: Mapping[tuple[str, str], int]
    ) -> list[int]:
        """Return how often what each row says was done; ``asked`` counts requests to the server."""
        raise NotImplementedError


@dataclass(frozen=True)
class Processing(Prepared):
    """Kind of records that are taken to their next state; ``resource`` is its listing."""

    def create(self, client: Client, path: Path, rows: int, customer: int) -> list[str]:
        new = _NEW[self.resource]
        made = [new(client, customer, path, place) for place in range(1, rows + 1)]
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet("Plan1")
            sheet.write_column(0, 0, [find_kind(self.resource).headers[0], *made])
        return list(map(str, made))

    def times(
        self, database: Path, known: Sequence[str], asked: Mapping[tuple[str, str], int]
    ) -> list[int]:
        """Return how often each record was processed: it counts how often the server got to hear
        of it, once it has done so.
        """
        operation = find_kind(self.resource).process
        found = []
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as db:
            for one in known:
                (done,) = db.execute(self.column, (int(one),)).fetchone()
                path = operation.path.format(**dict.fromkeys(operation.path_parameters, one))
                found.append(max(done, asked[operation.method, path]) if done else 0)
        return found


@dataclass(frozen=True)
class Counted(Prepared):
    """Kind of sheet that opens inventories, and counts a product of each twice."""

    def create(self, client: Client, path: Path, rows: int, customer: int) -> list[str]:
        """Create a product for the inventory of each of so many branches, of which none is open."""
        calls = client.stock.inventories
        newest = 0
        for one in calls.list():
            newest = max(newest, one.idInventario)
            if one.podeEncerrar and one.codigoDoAlmoxarifado == _COUNTED_WAREHOUSE:
                calls.close(idInventario=one.idInventario)
        named = (f"Porca {next(_numbers)}" for _ in range(rows))
        made = [client.registry.products.create(descricaoDoProduto=one).idProduto for one in named]
        with xlsxwriter.Workbook(path) as book:
            sheet, counts = book.add_worksheet(self.resource), book.add_worksheet("contagens")
            sheet.write_row(0, 0, ["chave", "codigoDaFilial", "codigoDoAlmoxarifado"])
            counts.write_row(0, 0, ["chave", "idProd", "contagem", "quantidade"])
            for branch, product in enumerate(made, 1):
                sheet.write_row(branch, 0, [f"A{branch}", branch, _COUNTED_WAREHOUSE])
                for place, line in enumerate(_COUNTS.items(), 2 * branch - 1):
                    counts.write_row(place, 0, [f"A{branch}", product, *line])
        return [f"{branch} {newest} {product}" for branch, product in enumerate(made, 1)]

    def times(
        self, database: Path, known: Sequence[str], asked: Mapping[tuple[str, str], int]
    ) -> list[int]:
        """Return how many inventories each row has opened, 0 where it is not counted.

        A product that has other counts than the sheet's counts as done twice.
        """
        opened = f"SELECT COUNT(*) FROM {self.table} WHERE {self.column}"
        found = []
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as db:
            for one in known:
                branch, newest, product = map(int, one.split())
                (there,) = db.execute(opened, (branch, newest, _COUNTED_WAREHOUSE)).fetchone()
                counts = db.execute(
                    # Amounts are whole numbers of millionths there.
                    "SELECT count1 / 1e6, count2 / 1e6 FROM inventory_items WHERE product = ?",
                    (product,),
                ).fetchall()
                as_sheet = counts == [tuple(_COUNTS.values())]
                found.append(there if as_sheet else 2 * bool(counts))
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


def _new_inventory(client: Client, _customer: int, _path: Path, place: int) -> int:
    """Open an inventory of a branch of its own, and count it until it may be processed."""
    calls = client.stock.inventories
    for one in calls.list():
        if one.podeEncerrar and one.codigoDaFilial == place:
            calls.close(idInventario=one.idInventario)
    product = client.registry.products.create(descricaoDoProduto=f"Parafuso {next(_numbers)}")
    number = calls.open(codigoDaFilial=place, codigoDoAlmoxarifado=1).idInventario
    calls.start_count(idInventario=number, contagem=1)
    counted = [{"idProd": product.idProduto, "quantidade": 7}]
    calls.count(idInventario=number, contagem=1, itens=counted)
    calls.validate(idInventario=number)
    return int(number)


def _new_file(client: Client, customer: int, path: Path, _place: int) -> int:
    """Put a workbook of one payable into the queue, where it waits."""
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
COUNTED = Counted(
    *("counted inventories", "inventario", "records", "inventories"),
    column="codigoDaFilial = ? AND idInventario > ? AND codigoDoAlmoxarifado = ?",
    way="counted",
)


def _payables(name: str, mode: str, way: str) -> Subject:
    return replace(PAYABLE, name=name, mode=mode, way=way)


UPDATE = _payables("updates", "update", "change")
UNDO = _payables("undos", "undo", "change")
RIVAL_UPDATE = _payables("updates beside another's", "update", "changes")
RIVAL_UNDO = _payables("undos beside another's", "undo", "changes")
BATCHES = _payables("two batches", "queue", "batches")
DIRECT_BATCHES = _payables("two direct batches", "direct", "batches")
WORKBOOKS = tuple(
    replace(one, name=f"two {whose}, {one.name}", way=whose)
    for whose in ("workbooks", "colleagues")
    for one in (DIRECT, QUEUE, OWN_QUEUE, BY_RECORD)
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
