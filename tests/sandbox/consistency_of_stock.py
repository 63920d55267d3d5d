"""Purchases and stock of a sandbox fit one another."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from consistency_checks import CENT, ZERO, Finding, Tables, check, told


@check
def purchases(tables: Tables) -> Iterator[Finding]:
    """A document takes what the one before it asked for, later, and is approved for just that."""
    chain = (
        ("purchase_requisitions", "numeroDaRequisicao", "purchase_requisition_items",
         "buying_orders", "numeroDaOrdem", "buying_order_items", "NumeroDaRequisicaoDeCompra",
         "dataDaRequisicao", "dataDaOrdem"),
        ("buying_orders", "numeroDaOrdem", "buying_order_items", "purchase_orders", "numeroPedido",
         "purchase_order_items", "numeroDaOrdem", "dataDaOrdem", "dataDoPedido"),
    )  # fmt: skip
    for origins, key, origin_items, made, own, items, named, before, after in chain:
        headers = {row[key]: row for row in tables[origins]}
        asked, taken = tables.by(origin_items, "number"), tables.by(items, "number")
        following = {int(row[named]): row for row in tables[made] if row[named] is not None}
        yield told(len(following) == len(tables[made]), made, "each names another origin")
        for number, header in headers.items():
            later = following.get(number)
            where = (origins, number)
            yield told(header["encerrada"] == (later is not None), where, "encerrada")
            approved = [item["quantidadeAprovada"] for item in asked[number]]
            wanted = (
                {item["idProduto"]: item["quantidade"] for item in taken[later[own]]}
                if later
                else {}
            )
            expected = [wanted.get(item["idProduto"], ZERO) for item in asked[number]]
            yield told(approved == expected, where, "quantidadeAprovada", approved)
            yield told(later is None or header[before] <= later[after], where, after)


@check
def purchase_lines(tables: Tables) -> Iterator[Finding]:
    for row in tables["purchase_order_items"]:
        total = (row["quantidade"] * row["valorUnitario"]).quantize(CENT)
        yield told(row["valorTotal"] == total > 0, row["number"], "valorTotal", row["valorTotal"])
    for table, date in (
        ("purchase_requisitions", "dataDaRequisicao"),
        ("buying_orders", "dataDaOrdem"),
        ("purchase_orders", "dataDoPedido"),
    ):
        for row in tables[table]:
            released = row["DataLiberacaoParaAprovacao"]
            yield told(released is None or released >= row[date], table, date, released)


@check
def stock(tables: Tables) -> Iterator[Finding]:
    """No balance is ever below zero, and an empty one is worth nothing."""
    held: defaultdict[Any, list[Decimal]] = defaultdict(lambda: [ZERO, ZERO])
    names = ("codigoDaFilial", "codigoDoAlmoxarifado", "idProd", "numeroDeSerie", "codigoDoProjeto")
    for row in sorted(tables["movements"], key=lambda row: (row["moved"], row["id"])):
        key = tuple(row[name] for name in names)
        sign = 1 if row["inward"] else -1
        balance = held[key]
        balance[0] += sign * row["quantidade"]
        balance[1] += sign * row["valorTotal"]
        fits = balance[0] >= 0 <= balance[1] and (balance[0] > 0 or balance[1] == 0)
        yield told(fits, key, row["moved"], *balance)
    for item in tables["inventory_items"]:
        inventory = next(r for r in tables["inventories"] if r["idInventario"] == item["inventory"])
        place = (inventory["codigoDaFilial"], inventory["codigoDoAlmoxarifado"], item["product"])
        balance = held[(*place, item["serial"], item["project"])]
        yield told(item["balance"] == balance[0], ("inventory", *place), item["balance"], *balance)


@check
def stock_requisitions(tables: Tables) -> Iterator[Finding]:
    """An item is settled after it was asked for, from its branch, and never beyond its quantity."""
    headers = {row["number"]: row for row in tables["stock_requisitions"]}
    items = {(row["requisition"], row["seq"]): row for row in tables["stock_requisition_items"]}
    settled: Counter[Any] = Counter()
    for row in tables["movements"]:
        number = row["numeroDaRequisicao"]
        if number is not None:
            header, item = headers[number], items[(number, row["seqRequisicao"])]
            fits = (row["codigoDaFilial"], row["idProd"]) == (header["branch"], item["product"])
            yield told(fits and row["moved"] >= header["requested"], number, row["moved"])
            settled[(number, row["seqRequisicao"])] += row["quantidade"]
    for key, item in items.items():
        yield told(settled[key] <= item["quantity"], key, settled[key])


@check
def open_inventories(tables: Tables) -> Iterator[Finding]:
    for place, rows in tables.by("inventories", "codigoDaFilial", "codigoDoAlmoxarifado").items():
        going_on = [row for row in rows if row["situation"] not in ("Processado", "Encerrado")]
        yield told(len(going_on) <= 1, place, len(going_on))
