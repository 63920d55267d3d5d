"""Orders with products and instalments, sent one by one from a main sheet and its child sheets."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge, credentials
from lossy_proxy import LossyProxy
from openpyxl import load_workbook
from sheets import column_of, write_workbook
from update_parts import Run

from xlbridge.client import Client
from xlbridge.sandbox import RunningSandbox
from xlbridge.wire.sales import SALES_ORDER_LIST
from xlbridge.workbook import STATUS_COLUMNS

ORDERS = "/v2/faturamento/pedido"
UNKNOWN_PRODUCT = 999_999

Items = Sequence[Mapping[str, Any]]
MakeOrders = Callable[..., Path]

_numbers = itertools.count(1)


def remarks(count: int) -> list[str]:
    """Return remarks that no other test uses, which identify the orders."""
    return [f"Pedido da prova {next(_numbers):05}" for _ in range(count)]


@pytest.fixture(scope="module")
def articles() -> dict[str, int]:
    """Products of all orders, by name, created on first use."""
    return {}


@pytest.fixture
def bolt(client: Client, articles: dict[str, int]) -> int:
    """A product."""
    return _article(client, articles, "Parafuso das provas de pedidos")


@pytest.fixture
def nut(client: Client, articles: dict[str, int]) -> int:
    """Another product."""
    return _article(client, articles, "Porca das provas de pedidos")


def _article(client: Client, articles: dict[str, int], name: str) -> int:
    if name not in articles:
        created = client.registry.products.create(descricaoDoProduto=name, valorUnitario=1)
        articles[name] = int(created.idProduto)
    return articles[name]


@pytest.fixture
def make_orders(bolt: int, nut: int, customer: int, tmp_path: Path) -> MakeOrders:
    """Write orders identified by their remarks, with two products for 25 in total by default."""
    default_items: Items = (
        {"idProduto": bolt, "quantidade": 2, "valorUnitario": 10.5},
        {"idProduto": nut, "quantidade": 1, "valorUnitario": 4},
    )

    def make(remarks: Sequence[str], items: Mapping[str, Items] = {}, **more: Items) -> Path:
        return write_workbook(
            tmp_path / "pedidos.xlsx",
            pedido=[
                {"chave": one, "codigoDaFilial": 1, "codigoDoCliente": customer, "observacao": one}
                for one in remarks
            ],
            produtos=[
                {"chave": one, **item} for one in remarks for item in items.get(one, default_items)
            ],
            **more,
        )

    return make


def orders_of(client: Client, remarks: Sequence[str]) -> list[dict[str, Any]]:
    """Return the system's orders with the given remarks, ordered by number."""
    found = [dict(one) for one in client.records(SALES_ORDER_LIST) if one["observacao"] in remarks]
    return sorted(found, key=lambda order: int(order["numeroDoPedido"]))


def items_of(order: Mapping[str, Any]) -> list[int]:
    """Return the products of an order."""
    return [item["idProduto"] for item in order["produtos"]]


def test_the_price_of_an_item_that_the_system_did_not_take_is_told(
    proxy: LossyProxy, run: Run, make_orders: MakeOrders
) -> None:
    """Orders have no key, so they are read by the numbers that they were given."""

    def lose(_path: str, data: Any) -> Any:
        for order in data if isinstance(data, list) else ():
            for item in order.get("produtos") or ():
                item["valorUnitario"] = None
        return data

    proxy.reshape = lose
    code, report = run("upload", make_orders(remarks(2)), "--yes", "--at-once", 1)
    assert (code, report["state"], report["rows"]["created"]) == (1, "partial", 2), report
    lost = {field["column"]: field for field in report["lost_fields"]}
    price = lost.pop("produtos.valorUnitario")
    assert (price["sent"], price["stored"], price["rows"]) == ("10.5", None, [2, 3])
    assert lost == {}


def test_what_the_system_fills_in_items_is_not_told(
    proxy: LossyProxy, run: Run, make_orders: MakeOrders
) -> None:
    """The answers to their creation count for orders that are not read back."""

    def fill(_path: str, data: Any) -> Any:
        for order in data if isinstance(data, list) else [data]:
            for item in (order.get("produtos") or ()) if isinstance(order, dict) else ():
                item["pesoBruto"], item["valorDesconto"] = 12.5, 0
        return data

    proxy.reshape = fill
    code, report = run("upload", make_orders(remarks(5)), "--yes", "--at-once", 1)
    assert (code, report["state"], report["rows"]["created"]) == (0, "done", 5), report
    assert report["lost_fields"] == []


def test_fields_of_items_that_nothing_shows_are_told(
    proxy: LossyProxy, run: Run, make_orders: MakeOrders, xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
) -> None:  # fmt: skip
    """The description names them, so the upload is done."""

    def leave_out(_path: str, data: Any) -> Any:
        for order in data if isinstance(data, list) else [data]:
            if isinstance(order, dict):
                order.pop("parcelas", None)
                for item in order.get("produtos") or ():
                    item.pop("valorUnitario", None)
        return data

    proxy.reshape = leave_out
    orders = remarks(2)
    parts = [{"chave": order, "numeroDaParcela": 1, "valor": 25} for order in orders]
    code, report = run("upload", make_orders(orders, parcelas=parts), "--yes", "--at-once", 1)
    unseen = ["parcelas.numeroDaParcela", "parcelas.valor", "produtos.valorUnitario"]
    assert (code, report["state"], report["unseen_fields"]) == (0, "done", unseen), report
    told = xlbridge("jobs", report["job"], "--lang", "en", **proxy_environment).stdout
    assert f"whether it has stored them is not known: {', '.join(unseen)}." in told


def test_orders_are_created_with_their_products_and_instalments(
    client: Client, run: Run, make_orders: MakeOrders, bolt: int, nut: int
) -> None:
    first, second = remarks(2)
    parts = [
        {"chave": first, "numeroDaParcela": 1, "valor": 20},
        {"chave": first, "numeroDaParcela": 2, "valor": 5},
    ]
    path = make_orders([first, second], parcelas=parts)
    _, report = run("upload", path, "--yes", "--at-once", 1)
    assert (report["state"], report["mode"], report["rows"]["created"]) == ("done", "records", 2), (
        report
    )
    first_order, second_order = orders_of(client, [first, second])
    assert (first_order["observacao"], items_of(first_order), items_of(second_order)) == (
        first,
        [bolt, nut],
        [bolt, nut],
    )
    assert [float(part["valor"]) for part in first_order["parcelas"]] == [20, 5]
    _, again = run("upload", path, "--yes")
    assert again["plan"]["unchanged"] == 2
    assert len(orders_of(client, [first, second])) == 2


def test_an_order_with_other_items_is_a_new_order(
    client: Client, run: Run, make_orders: MakeOrders, bolt: int
) -> None:
    (remark,) = remarks(1)
    run("upload", make_orders([remark]), "--yes")
    changed = {remark: [{"idProduto": bolt, "quantidade": 3, "valorUnitario": 1}]}
    _, report = run("upload", make_orders([remark], changed), "--yes")
    assert report["rows"]["created"] == 1
    assert [len(order["produtos"]) for order in orders_of(client, [remark])] == [2, 1]


def test_an_order_with_another_key_is_unchanged(run: Run, make_orders: MakeOrders) -> None:
    path = make_orders(remarks(1))
    run("upload", path, "--yes")
    book = load_workbook(path)
    for sheet in book.worksheets:
        for row in range(2, sheet.max_row + 1):
            sheet.cell(row, 1).value = "outra chave"
    book.save(path)
    _, report = run("upload", path, "--yes")
    assert report["plan"]["unchanged"] == 1


def test_a_rejected_order_is_returned_with_its_items_and_retried(
    client: Client, run: Run, make_orders: MakeOrders, bolt: int, nut: int, tmp_path: Path
) -> None:
    good, bad = remarks(2)
    copy = tmp_path / "situacao.xlsx"
    unknown = {
        bad: [{"idProduto": bolt, "quantidade": 1}, {"idProduto": UNKNOWN_PRODUCT, "quantidade": 3}]
    }
    _, report = run("upload", make_orders([good, bad], unknown), "--yes", "--annotate", copy)
    assert (report["state"], report["rows"]["accepted"], report["rows"]["rejected"]) == (
        "partial",
        1,
        1,
    )
    (rejected,) = report["rejected"]
    assert (rejected["row"], rejected["column"]) == (3, "produtos.1.idProduto")
    assert rejected["cell"] == "produtos!B5"
    assert "produtos!B5 (idProduto)" in str(column_of(copy, "Reason")[1])
    assert [rule["column"] for rule in report["drift"]] == ["produtos.idProduto"]
    book = load_workbook(report["rejects_file"])
    items = [[cell.value for cell in row[:3]] for row in book["produtos"].iter_rows(min_row=2)]
    assert items == [[bad, bolt, 1], [bad, UNKNOWN_PRODUCT, 3]]
    wrong = book["produtos"]["B3"]
    assert wrong.comment is not None
    wrong.value = nut
    book.save(report["rejects_file"])
    _, done = run("retry", report["job"], "--yes")
    assert done["state"] == "done", done
    assert [items_of(order) for order in orders_of(client, [bad])] == [[bolt, nut]]


def test_an_order_is_held_if_one_of_its_items_has_an_error(
    client: Client, run: Run, make_orders: MakeOrders, bolt: int
) -> None:
    good, bad = remarks(2)
    broken = {bad: [{"idProduto": bolt, "quantidade": 1}, {"idProduto": bolt, "quantidade": "dez"}]}
    path = make_orders([good, bad], broken)
    assert run("upload", path, "--yes")[0] == 1
    _, report = run("upload", path, "--yes", "--good-rows")
    assert (report["rows"]["accepted"], report["rows"]["held"]) == (1, 1)
    (held,) = report["not_created"]
    assert "produtos!C5 (quantidade)" in held["message"]
    rows = load_workbook(report["rejects_file"])["produtos"].iter_rows(min_row=2)
    assert [[cell.value for cell in row[:3]] for row in rows] == [
        [bad, bolt, 1],
        [bad, bolt, "dez"],
    ]
    assert [order["observacao"] for order in orders_of(client, [good, bad])] == [good]


def test_an_item_without_an_order_stops_the_upload(
    xlbridge: Xlbridge, sandbox: RunningSandbox, make_orders: MakeOrders
) -> None:
    path = make_orders(remarks(1))
    book = load_workbook(path)
    book["produtos"]["A3"] = "outra"
    book.save(path)
    refused = xlbridge("upload", path, "--good-rows", "--yes", **credentials(sandbox))
    assert refused.returncode == 1
    assert "rows with errors belong to no record" in refused.stderr


def test_the_status_copy_has_the_numbers_of_the_orders(
    client: Client, run: Run, make_orders: MakeOrders, tmp_path: Path
) -> None:
    known = remarks(2)
    copy = tmp_path / "situacao.xlsx"
    assert run("upload", make_orders(known), "--yes", "--annotate", copy)[0] == 0
    numbers = {
        str(order["observacao"]): str(order["numeroDoPedido"]) for order in orders_of(client, known)
    }
    codes = [
        (column_of(copy, "chave")[n - 2], column_of(copy, "Code in the system")[n - 2])
        for n in (2, 3)
    ]
    assert dict(codes) == numbers
    items = load_workbook(copy)["produtos"]
    assert items.max_row == 5
    header = [one.value for one in items[1]]
    assert header[-4:] == [column.en for column in STATUS_COLUMNS]
    statuses = [(row[0].value, row[-4].value, row[-1].value) for row in items.iter_rows(2)]
    assert statuses == [(one, "accepted", numbers[one]) for one in known for _ in range(2)]


def test_items_of_a_rejected_order_are_marked_in_status_copies(
    client: Client, run: Run, make_orders: MakeOrders, bolt: int, tmp_path: Path
) -> None:
    good, bad = remarks(2)
    unknown = {
        bad: [{"idProduto": bolt, "quantidade": 1}, {"idProduto": UNKNOWN_PRODUCT, "quantidade": 3}]
    }
    copy, again = tmp_path / "situacao.xlsx", tmp_path / "situacao-2.xlsx"
    run("upload", make_orders([good, bad], unknown), "--yes", "--annotate", copy)
    items = load_workbook(copy)["produtos"]
    statuses = [(row[-4].value, "produtos!B5" in str(row[-3].value)) for row in items.iter_rows(2)]
    assert statuses == [("accepted", False)] * 2 + [("rejected", True)] * 2
    # The wrong item has the reason in its note, and the summary leads to it.
    assert "Correct the coloured cells." in items["B5"].comment.text
    *_, listed = load_workbook(copy).worksheets[0].iter_rows()
    assert (listed[1].value, listed[1].hyperlink.location) == ("produtos!B5", "'produtos'!B5")
    assert [str(area) for one in items.conditional_formatting for area in one.cells.ranges] != []
    run("upload", copy, "--yes", "--annotate", again)
    once_more = load_workbook(again)["produtos"]
    assert once_more.max_column == items.max_column
    states = [row[-4].value for row in once_more.iter_rows(2)]
    assert states == ["unchanged"] * 2 + ["rejected"] * 2


def test_columns_of_child_sheets_link_by_name_and_by_a_workbook_column(
    client: Client, run: Run, make_orders: MakeOrders, tmp_path: Path
) -> None:
    names = ["Rebite das provas de vínculos", "Pino das provas de vínculos"]
    rows = [{"chave": f"L{place}", "descricaoDoProduto": one} for place, one in enumerate(names)]
    products = write_workbook(tmp_path / "produtos.xlsx", produto=rows)
    _, report = run("upload", products, "--yes", "--create-unread")
    assert report["rows"]["created"] == 2, report
    by_name, by_key = remarks(2)
    items = {
        by_name: [{"idProduto": one, "quantidade": 1, "valorUnitario": 2} for one in names],
        by_key: [{"idProduto": key, "quantidade": 1, "valorUnitario": 2} for key in ("L1", "L0")],
    }
    for remark, link in ((by_name, "produto"), (by_key, f"{products}#chave")):
        code, report = run(
            "upload", make_orders([remark], items), "--link", f"idProduto={link}", "--yes"
        )
        assert (code, report["state"]) == (0, "done"), report
    first, second = orders_of(client, [by_name, by_key])
    ids = items_of(first)
    assert len({*ids}) == 2
    assert items_of(second) == ids[::-1]
