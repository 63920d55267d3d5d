"""Lists of records, such as the items of orders, are compared with the system item by item.

Inside: batch.
"""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from databases import TABLES, connected
from proof_parts import AT_ONCE, BatchSetting
from sheets import write_workbook
from sqlalchemy import delete, update

from xlbridge.batch.proof_model import ProofCounts
from xlbridge.wire.sales import SALES_ORDER_LIST

sales_order_items = TABLES["sales_order_items"]


def test_lists_are_compared_item_by_item_and_named_by_their_cells(
    setting: BatchSetting, sandbox_home: Path
) -> None:
    ana = setting.customer()
    nut = int(setting.client.registry.products.create(descricaoDoProduto="Porca").idProduto)
    items = [{"idProduto": nut, "quantidade": n, "valorUnitario": 2.5} for n in (1, 2)]
    keys = ("A", "B", "C")
    path = write_workbook(
        setting.folder / "pedidos.xlsx",
        pedido=[{"chave": k, "codigoDaFilial": 1, "codigoDoCliente": ana} for k in keys],
        produtos=[{"chave": key, **item} for key in keys for item in items],
    )
    setting.send("pedidos", path, mode="records", options=replace(AT_ONCE, at_once=1))
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=3, accepted=3, same=3)
    (summary,) = proof.resources
    assert (summary.amount, summary.found_amount) == (Decimal("22.5"), Decimal("22.5"))
    _, changed, shorter = sorted(
        int(one["numeroDoPedido"])
        for one in setting.client.records(SALES_ORDER_LIST)
        if one["codigoDoCliente"] == ana
    )
    number, seq = sales_order_items.c.numeroDoPedido, sales_order_items.c.seq
    with connected(sandbox_home, writing=True) as database:
        second = update(sales_order_items).where((number == changed) & (seq == 2))
        assert database.execute(second.values(quantidade=Decimal(7))).rowcount == 1
        first = delete(sales_order_items).where((number == shorter) & (seq == 1))
        assert database.execute(first).rowcount == 1
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=3, accepted=3, same=1, differs=2)
    differences = [
        (one.location.row, one.cell, one.column, one.sent, one.found) for one in proof.cells
    ]
    assert differences == [
        (3, "produtos!C5", "produtos.quantidade", "2", "7"),
        (4, None, "produtos", "2", "1"),
    ]
    (summary,) = proof.resources
    assert (summary.amount, summary.found_amount) == (Decimal("22.5"), Decimal("32.5"))
    (by_branch,) = (table for table in proof.totals if "branch" in str(table.axis.heading).lower())
    assert by_branch.sum.difference == 10
    (fields,) = proof.fields
    assert "produtos.quantidade" in fields.compared


def test_amounts_are_not_compared_if_a_price_was_left_to_the_system(setting: BatchSetting) -> None:
    ana = setting.customer()
    nut = setting.client.registry.products.create(descricaoDoProduto="Porca", valorUnitario=4)
    path = write_workbook(
        setting.folder / "pedidos.xlsx",
        pedido=[{"chave": "A", "codigoDaFilial": 1, "codigoDoCliente": ana}],
        produtos=[
            {"chave": "A", "idProduto": nut.idProduto, "quantidade": 1, "valorUnitario": price}
            for price in (2.5, None)
        ],
    )
    setting.send("pedidos", path, mode="records", options=replace(AT_ONCE, at_once=1))
    proof = setting.prove()
    (summary,) = proof.resources
    assert (summary.amount, summary.found_amount) == (Decimal("2.5"), None)
    assert [(one.sum.found_rows, one.agrees) for one in proof.totals] == [(1, True)] * 2


def test_instalments_that_the_system_made_by_itself_are_not_a_difference(
    setting: BatchSetting,
) -> None:
    ana = setting.customer()
    nut = int(setting.client.registry.products.create(descricaoDoProduto="Porca").idProduto)
    keys = ("divided", "by the system")
    product = {"idProduto": nut, "quantidade": 2, "valorUnitario": 30}
    path = write_workbook(
        setting.folder / "pedidos.xlsx",
        pedido=[{"chave": k, "codigoDaFilial": 1, "codigoDoCliente": ana} for k in keys],
        produtos=[{"chave": k, **product} for k in keys],
        parcelas=[{"chave": keys[0], "valor": 25}, {"chave": keys[0], "valor": 35}],
    )
    setting.send("pedidos", path, mode="records", options=replace(AT_ONCE, at_once=1))
    proof = setting.prove()
    assert proof.cells == ()
    assert proof.counts == ProofCounts(read=2, accepted=2, same=2)


def test_counts_of_an_inventory_are_read_from_their_listing(setting: BatchSetting) -> None:
    made = setting.client.registry.products.create(descricaoDoProduto="Porca contada")
    line = {"chave": "A", "contagem": 1, "idProd": made.idProduto, "quantidade": 4}
    path = write_workbook(
        setting.folder / "inventarios.xlsx",
        inventario=[{"chave": "A", "codigoDaFilial": 1, "codigoDoAlmoxarifado": 2}],
        contagens=[line],
    )
    setting.send("inventarios", path, mode="records", options=replace(AT_ONCE, at_once=1))
    assert setting.prove().counts == ProofCounts(read=1, accepted=1, same=1)
    inventories = setting.client.stock.inventories
    number = max(one.idInventario for one in inventories.list())
    corrected = [{"idProd": made.idProduto, "quantidade": 5}]
    inventories.count(idInventario=number, contagem=1, itens=corrected)
    proof = setting.prove()
    assert proof.counts == ProofCounts(read=1, accepted=1, differs=1)
    (cell,) = proof.cells
    assert (cell.cell, cell.column, cell.sent, cell.found) == (
        "contagens!D2",
        "contagens.quantidade",
        "4",
        "5",
    )
    (fields,) = proof.fields
    assert {"contagens.contagem", "contagens.quantidade"} <= set(fields.compared)
    inventories.close(idInventario=number)
