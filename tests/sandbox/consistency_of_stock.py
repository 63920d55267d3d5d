"""Consistency of purchases and stock."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from consistency_checks import CENT, ZERO, Finding, Tables, check, verify


@check
def purchases(tables: Tables) -> Iterator[Finding]:
    """Each document follows its origin, and its quantities are those approved there."""
    chain = (
        ("purchase_requisitions", "numeroDaRequisicao", "purchase_requisition_items",
         "buying_orders", "numeroDaOrdem", "buying_order_items", "NumeroDaRequisicaoDeCompra",
         "dataDaRequisicao", "dataDaOrdem"),
        ("buying_orders", "numeroDaOrdem", "buying_order_items", "purchase_orders", "numeroPedido",
         "purchase_order_items", "numeroDaOrdem", "dataDaOrdem", "dataDoPedido"),
    )  # fmt: skip
    for (
        origins,
        key,
        origin_items,
        documents,
        number_column,
        items,
        reference,
        before,
        after,
    ) in chain:
        headers = {row[key]: row for row in tables[origins]}
        requested, ordered = tables.by(origin_items, "number"), tables.by(items, "number")
        by_origin = {
            int(row[reference]): row for row in tables[documents] if row[reference] is not None
        }
        yield verify(len(by_origin) == len(tables[documents]), documents, "origin used twice")
        for number, header in headers.items():
            successor = by_origin.get(number)
            location = (origins, number)
            yield verify(header["encerrada"] == (successor is not None), location, "encerrada")
            approved = [item["quantidadeAprovada"] for item in requested[number]]
            quantities = (
                {
                    item["idProduto"]: item["quantidade"]
                    for item in ordered[successor[number_column]]
                }
                if successor
                else {}
            )
            expected = [quantities.get(item["idProduto"], ZERO) for item in requested[number]]
            yield verify(approved == expected, location, "quantidadeAprovada", approved)
            yield verify(successor is None or header[before] <= successor[after], location, after)


@check
def purchase_lines(tables: Tables) -> Iterator[Finding]:
    for row in tables["purchase_order_items"]:
        total = (row["quantidade"] * row["valorUnitario"]).quantize(CENT)
        yield verify(row["valorTotal"] == total > 0, row["number"], "valorTotal", row["valorTotal"])
    for table, date in (
        ("purchase_requisitions", "dataDaRequisicao"),
        ("buying_orders", "dataDaOrdem"),
        ("purchase_orders", "dataDoPedido"),
    ):
        for row in tables[table]:
            released = row["DataLiberacaoParaAprovacao"]
            yield verify(released is None or released >= row[date], table, date, released)


@check
def stock(tables: Tables) -> Iterator[Finding]:
    """No balance is ever negative, and an empty one has no value."""
    held: defaultdict[Any, list[Decimal]] = defaultdict(lambda: [ZERO, ZERO])
    names = ("codigoDaFilial", "codigoDoAlmoxarifado", "idProd", "numeroDeSerie", "codigoDoProjeto")
    for row in sorted(tables["movements"], key=lambda row: (row["moved"], row["id"])):
        key = tuple(row[name] for name in names)
        sign = 1 if row["inward"] else -1
        balance = held[key]
        balance[0] += sign * row["quantidade"]
        balance[1] += sign * row["valorTotal"]
        fits = balance[0] >= 0 <= balance[1] and (balance[0] > 0 or balance[1] == 0)
        yield verify(fits, key, row["moved"], *balance)
    for item in tables["inventory_items"]:
        inventory = next(r for r in tables["inventories"] if r["idInventario"] == item["inventory"])
        place = (inventory["codigoDaFilial"], inventory["codigoDoAlmoxarifado"], item["product"])
        balance = held[(*place, item["serial"], item["project"])]
        yield verify(
            item["balance"] == balance[0], ("inventory", *place), item["balance"], *balance
        )


@check
def stock_requisitions(tables: Tables) -> Iterator[Finding]:
    """A requisition is settled after its date, from its branch, and never beyond its quantity."""
    headers = {row["number"]: row for row in tables["stock_requisitions"]}
    items = {(row["requisition"], row["seq"]): row for row in tables["stock_requisition_items"]}
    settled: Counter[Any] = Counter()
    for row in tables["movements"]:
        number = row["numeroDaRequisicao"]
        if number is not None:
            header, item = headers[number], items[(number, row["seqRequisicao"])]
            fits = (row["codigoDaFilial"], row["idProd"]) == (header["branch"], item["product"])
            yield verify(fits and row["moved"] >= header["requested"], number, row["moved"])
            settled[(number, row["seqRequisicao"])] += row["quantidade"]
    for key, item in items.items():
        yield verify(settled[key] <= item["quantity"], key, settled[key])


@check
def open_inventories(tables: Tables) -> Iterator[Finding]:
    for place, rows in tables.by("inventories", "codigoDaFilial", "codigoDoAlmoxarifado").items():
        going_on = [row for row in rows if row["situation"] not in ("Processado", "Encerrado")]
        yield verify(len(going_on) <= 1, place, len(going_on))
