"""Audit of a sandbox's records against the responses that its clerks got.

Inside: sandbox.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from databases import TABLES
from load_clerks import ROWS_OF_A_FILE, Ledger
from sqlalchemy import ColumnElement, Connection, func, select

from xlbridge.sandbox.areas.movements import balances_of
from xlbridge.wire.financial import TitleKey
from xlbridge.wire.imports import ImportState

buying_order_items = TABLES["buying_order_items"]
buying_orders = TABLES["buying_orders"]
clients = TABLES["clients"]
counters = TABLES["counters"]
import_logs = TABLES["import_logs"]
inventories = TABLES["inventories"]
movements = TABLES["movements"]
outbox = TABLES["outbox"]
product_invoices = TABLES["product_invoices"]
purchase_orders = TABLES["purchase_orders"]
purchase_requisition_items = TABLES["purchase_requisition_items"]
purchase_requisitions = TABLES["purchase_requisitions"]
receivables = TABLES["receivables"]
sales_order_installments = TABLES["sales_order_installments"]
sales_orders = TABLES["sales_orders"]

Column = ColumnElement[Any]

_MARKED: dict[str, tuple[tuple[Column, ...], Column]] = {
    "title": (
        tuple(receivables.c[name] for name in TitleKey.model_fields),
        receivables.c.historico,
    ),
    "client": ((clients.c.codigoDoCliente,), clients.c.nomeComercial),
    "order": ((sales_orders.c.numeroDoPedido,), sales_orders.c.observacao),
    "entry": ((movements.c.number,), movements.c.documento),
    "output": ((movements.c.number,), movements.c.documento),
    "inventory": ((inventories.c.idInventario,), inventories.c.descricaoDoInventario),
    "requisition": (
        (purchase_requisition_items.c.number,),
        purchase_requisition_items.c.descricaoDoProduto,
    ),
    "buying": ((buying_order_items.c.number,), buying_order_items.c.descricaoDoProduto),
    "purchase": ((purchase_orders.c.numeroPedido,), purchase_orders.c.IdPedidoWS),
    "clients": ((import_logs.c.id,), import_logs.c.filename),
    "titles": ((import_logs.c.id,), import_logs.c.filename),
}
_BEGINNING = {"requisition": "goods", "buying": "goods"}
"""Prefix of the marks of a kind, if not the kind: an order has the items of its requisition."""

_COUNTED: dict[str, Column] = {
    "client": clients.c.codigoDoCliente,
    "sales_order": sales_orders.c.numeroDoPedido,
    "product_invoice": product_invoices.c.idNF,
    "inventory": inventories.c.idInventario,
    "purchase_requisition": purchase_requisitions.c.numeroDaRequisicao,
    "buying_order": buying_orders.c.numeroDaOrdem,
    "purchase_order": purchase_orders.c.numeroPedido,
}


def discrepancies(connection: Connection, ledger: Ledger) -> list[str]:
    """Return all inconsistencies."""
    checks: tuple[Callable[[Connection, Ledger], Iterator[str]], ...] = (
        _acknowledged, _transitions, _numbers, _orders, _balances, _adjustments, _purchases, _files,
    )  # fmt: skip
    return [*ledger.faults, *(found for check in checks for found in check(connection, ledger))]


def waiting_files(connection: Connection) -> int:
    """Number of unprocessed files."""
    let = import_logs.c.released & (import_logs.c.state != ImportState.FINISHED)
    return int(connection.scalar(select(func.count()).select_from(import_logs).where(let)) or 0)


def _acknowledged(connection: Connection, ledger: Ledger) -> Iterator[str]:
    """No acknowledged record is lost, none is duplicated, none was never sent."""
    for kind, (key, mark) in _MARKED.items():
        stored: defaultdict[str, list[Any]] = defaultdict(list)
        for row in connection.execute(
            select(*key, mark).where(mark.like(f"{_BEGINNING.get(kind, kind)}-%"))
        ):
            *number, text = row
            stored[text].append(tuple(number) if len(number) > 1 else number[0])
        for number, text in ledger.created[kind]:
            if stored.get(text) != [number]:
                yield f"{kind} {number} was acknowledged for {text}, which has {stored.get(text)}"
        yield from (f"{text} exists twice" for text, found in stored.items() if len(found) > 1)
        yield from (f"{text} was never sent" for text in stored.keys() - ledger.tried)
        counts = Counter(number for number, _ in ledger.created[kind])
        yield from (f"{kind} {number} was assigned twice" for number, n in counts.items() if n > 1)


def _transitions(connection: Connection, ledger: Ledger) -> Iterator[str]:
    """Definitive transitions happened once and were not undone."""
    for transition, numbers in ledger.moved.items():
        happened = Counter(numbers)
        yield from (f"{number} was {transition} twice" for number, n in happened.items() if n > 1)
    kept = {
        "processed": select(sales_orders.c.numeroDoPedido).where(sales_orders.c.processado),
        "emitted": select(product_invoices.c.idNF).where(
            product_invoices.c.chaveDaNotaFiscalEletronica.is_not(None)
        ),
        "adjusted": select(inventories.c.idInventario).where(
            inventories.c.idProcessamento.is_not(None)
        ),
        "approved requisition": select(purchase_requisitions.c.numeroDaRequisicao).where(
            purchase_requisitions.c.encerrada
        ),
        "approved buying": select(buying_orders.c.numeroDaOrdem).where(buying_orders.c.encerrada),
        "started": select(import_logs.c.id).where(import_logs.c.released),
    }
    for transition, statement in kept.items():
        lost = set(ledger.moved[transition]) - set(connection.scalars(statement))
        yield from (f"{number} is {transition} no more" for number in lost)


def _numbers(connection: Connection, _ledger: Ledger) -> Iterator[str]:
    """Every number up to the last exists exactly once."""
    last = {row.scope: row.last for row in connection.execute(select(counters))}
    for scope, column in _COUNTED.items():
        yield from _sequence(scope, sorted(connection.scalars(select(column))), last)
    for inward, scope in ((True, "stock_entry"), (False, "stock_output")):
        of_kind = select(movements.c.number).where(movements.c.inward.is_(inward))
        yield from _sequence(scope, sorted(connection.scalars(of_kind)), last)
    emitted: defaultdict[str, list[int]] = defaultdict(list)
    columns = product_invoices.c
    numbers = select(columns.codigoDaFilial, columns.numeroDaNotaFiscalEletronica)
    for branch, number in connection.execute(
        numbers.where(columns.numeroDaNotaFiscalEletronica.is_not(None))
    ):
        emitted[f"nfe:{branch}:1"].append(number)
    for scope, numbers in emitted.items():
        yield from _sequence(scope, sorted(numbers), last)


def _sequence(scope: str, numbers: list[int], last: dict[str, int]) -> Iterator[str]:
    if numbers and numbers != list(range(numbers[0], last[scope] + 1)):
        yield f"{scope}: {len(numbers)} numbers from {numbers[0]} to {numbers[-1]}, {last[scope]}"


def _orders(connection: Connection, _ledger: Ledger) -> Iterator[str]:
    """An order is processed completely, with its titles and one invoice, or not at all."""
    parts: defaultdict[int, list[Any]] = defaultdict(list)
    for part in connection.execute(select(sales_order_installments)):
        parts[part.numeroDoPedido].append(part)
    documents = select(receivables.c.numeroDoDocumento, receivables.c.valorDoLancamento)
    titles = defaultdict[str, list[Decimal]](list)
    for document, value in connection.execute(documents):
        titles[document].append(value)
    invoices = Counter(connection.scalars(select(product_invoices.c.numeroDoPedido)))
    for order in connection.execute(select(sales_orders)):
        number = order.numeroDoPedido
        billed = [
            titles[f"PV-{number:06}/{part.numeroDaParcela}"] == [part.valor]
            and part.existeLancamentoCR
            for part in parts[number]
        ]
        signs = {order.processado, not order.pendente, order.idNF is not None, *billed}
        if len(signs) != 1 or invoices[number] != order.processado:
            yield f"order {number} is processed in part: {signs}, {invoices[number]} invoices"


def _balances(connection: Connection, _ledger: Ledger) -> Iterator[str]:
    """Each balance is the sum of its movements, and was never negative."""
    sums: defaultdict[tuple[Any, ...], Decimal] = defaultdict(Decimal)
    for row in connection.execute(select(movements).order_by(movements.c.id)):
        place = (row.codigoDaFilial, row.codigoDoAlmoxarifado, row.idProd)
        sums[place] += row.quantidade if row.inward else -row.quantidade
        if sums[place] < 0:
            yield f"{place} fell to {sums[place]} with movement {row.id}"
    for key, balance in balances_of(connection, datetime.now()):
        expected = sums[key.branch, key.warehouse, key.product]
        if balance.quantity != expected:
            yield f"{key} is {balance.quantity}, its movements add up to {expected}"
        if not balance.quantity and balance.value:
            yield f"{key} is empty and worth {balance.value}"


def _adjustments(connection: Connection, _ledger: Ledger) -> Iterator[str]:
    """An inventory of one product adjusted it at most once."""
    counts = Counter(
        connection.scalars(select(movements.c.documento).where(movements.c.adjustment.is_(True)))
    )
    yield from (f"{document} adjusted {n} times" for document, n in counts.items() if n > 1)


def _purchases(connection: Connection, _ledger: Ledger) -> Iterator[str]:
    """A document is closed if and only if one other was made from it."""
    for origin, closed, named in (
        (
            purchase_requisitions.c.numeroDaRequisicao,
            purchase_requisitions.c.encerrada,
            buying_orders.c.NumeroDaRequisicaoDeCompra,
        ),
        (buying_orders.c.numeroDaOrdem, buying_orders.c.encerrada, purchase_orders.c.numeroDaOrdem),
    ):
        naming = Counter(int(n) for n in connection.scalars(select(named)) if n is not None)
        for number, is_closed in connection.execute(select(origin, closed)):
            if naming[number] != is_closed:
                yield f"{origin} {number}: closed {is_closed}, named {naming[number]} times"


def _files(connection: Connection, _ledger: Ledger) -> Iterator[str]:
    """A file was applied once and completely, and notified once."""
    applied = Counter(connection.scalars(select(clients.c.seuCodigo)))
    applied += Counter(connection.scalars(select(receivables.c.historico)))
    notified = Counter(connection.scalars(select(outbox.c.log_id)))
    for log in connection.execute(select(import_logs)):
        finished = log.state == ImportState.FINISHED
        wanted = ROWS_OF_A_FILE if finished else 0
        found = (applied[log.filename], log.imported, notified[log.id])
        if found != (wanted, wanted, int(finished)):
            yield f"file {log.id} ({log.state}) gave {found} rows, counted rows, notices"
