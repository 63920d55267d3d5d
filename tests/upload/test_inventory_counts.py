"""Inventories with their counts: an inventory is opened and then counted."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lossy_proxy import LossyProxy, ProxyFault
from openpyxl import load_workbook
from sheets import header_of, write_workbook
from update_parts import Run, writes
from upload_parts import AT_ONCE, accepted_rows

from xlbridge.client import Client
from xlbridge.errors import InDoubt
from xlbridge.export import ExportRequest, Filter, Filters, OutputFile
from xlbridge.upload import State, UploadContext, Uploads
from xlbridge.validation import validate_workbook

UNKNOWN_PRODUCT = 999_999

WriteCounts = Callable[..., Path]


@pytest.fixture(autouse=True)
def close_inventories(client: Client) -> Iterator[None]:
    """Close all inventories after a test: a warehouse can have one open inventory."""
    yield
    for inventory in client.stock.inventories.list():
        if inventory.podeEncerrar:
            client.stock.inventories.close(idInventario=inventory.idInventario)


@pytest.fixture(scope="module")
def known_products() -> list[int]:
    """Products of all tests of this file, created on first use."""
    return []


@pytest.fixture
def products(client: Client, known_products: list[int]) -> list[int]:
    """Two products."""
    if not known_products:
        for name in ("Porca das contagens", "Arruela das contagens"):
            created = client.registry.products.create(descricaoDoProduto=name)
            known_products.append(int(created.idProduto))
    return known_products


@pytest.fixture
def write_counts(tmp_path: Path) -> WriteCounts:
    """Write inventories of the branches' second warehouses, with their counts."""

    def write(**counts: list[Mapping[str, Any]]) -> Path:
        keys = dict.fromkeys(counts)
        return write_workbook(
            tmp_path / "inventarios.xlsx",
            inventario=[
                {"chave": key, "codigoDaFilial": branch, "codigoDoAlmoxarifado": 2}
                for branch, key in enumerate(keys, start=1)
            ],
            contagens=[{"chave": key, **one} for key in keys for one in counts[key]],
        )

    return write


def count_row(product: int, quantity: float, count: int = 1) -> dict[str, Any]:
    return {"contagem": count, "idProd": product, "quantidade": quantity}


def newest_inventory(client: Client) -> Any:
    """Return the inventory that was opened last."""
    return max(client.stock.inventories.list(), key=lambda one: one.idInventario)


def counts_of(client: Client, inventory: Any) -> list[tuple[int, Any, Any]]:
    """Return the products of an inventory with their first two counts."""
    items = client.stock.inventories.items(idInventario=inventory.idInventario)
    return [(one.idProd, one.quantidadeContagem1, one.quantidadeContagem2) for one in items]


@pytest.mark.exercises("stock.inventories.start_count", "stock.inventories.count")
def test_counts_are_registered_after_opening_the_inventory(
    client: Client, run: Run, products: list[int], write_counts: WriteCounts
) -> None:
    nut, washer = products
    lines = [count_row(nut, 4.5), count_row(washer, 0), count_row(washer, 2, 2)]
    code, report = run("upload", write_counts(A=lines), "--yes", "--create-unread")
    assert (code, report["state"], report["rows"]["created"]) == (0, "done", 1), report
    inventory = newest_inventory(client)
    assert (inventory.inventarioContagem2, inventory.situacaoDoInventario) == (True, "Em contagem")
    assert counts_of(client, inventory) == [(nut, 4.5, None), (washer, 0, 2)]


def test_exported_counts_are_unchanged_until_one_is_edited(
    tmp_path: Path,
    client: Client,
    context: UploadContext,
    run: Run,
    products: list[int],
    write_counts: WriteCounts,
) -> None:
    nut, washer = products
    lines = [count_row(nut, 4.5), count_row(washer, 0), count_row(washer, 2, 2)]
    run("upload", write_counts(A=lines), "--yes", "--create-unread")
    exported = tmp_path / "exported.xlsx"
    only = Filters({Filter.ID: (newest_inventory(client).idInventario,)})
    request = ExportRequest(listing="inventario", filters=only, as_template="inventario")
    prepared = request.prepare(OutputFile(exported), lambda: context.catalogue)
    result = prepared.run(client)
    assert result.sheets == {"inventario": 1, "contagens": 3}
    # The system works these out by itself, or reads them from the balances.
    assert {"contagens.saldo", "contagens.seq"} <= set(result.left_out)
    found = validate_workbook(exported, context.catalogue).children["contagens"].frame
    names = ["contagem", "idProd", "quantidade"]
    assert found[names].to_numpy().tolist() == [[1, nut, 4.5], [1, washer, 0], [2, washer, 2]]
    code, plan = run("upload", exported, "--list-rows", "--yes")
    assert (code, plan["plan"]["unchanged"]) == (0, 1), plan
    book = load_workbook(exported)
    column = header_of(book["contagens"]).index("quantidade") + 1
    book["contagens"].cell(2, column).value = 5
    book.save(exported)
    code, plan = run("upload", exported, "--list-rows", "--yes")
    assert plan["plan"]["held"] == 1, plan


def test_an_inventory_with_rejected_counts_is_closed_and_rejected(
    client: Client,
    proxy: LossyProxy,
    run: Run,
    products: list[int],
    write_counts: WriteCounts,
) -> None:
    good, bad = (
        [count_row(products[0], 1)],
        [count_row(products[0], 1), count_row(UNKNOWN_PRODUCT, 3)],
    )
    proxy.seen.clear()
    code, report = run("upload", write_counts(A=good, B=bad), "--yes", "--create-unread")
    assert (code, report["state"], report["rows"]["rejected"]) == (1, "partial", 1), report
    first = report["rejected"][0]
    assert (first["row"], first["cell"]) == (3, "contagens!C4")
    assert sum(path.endswith("/encerrar") for _, path in writes(proxy)) == 1
    book = load_workbook(report["rejects_file"])
    book["contagens"]["C3"].value = products[1]
    book.save(report["rejects_file"])
    _, again = run("retry", report["job"], "--yes", "--create-unread")
    assert again["state"] == "done", again
    assert [product for product, *_ in counts_of(client, newest_inventory(client))] == products


def test_an_interrupted_upload_resumes_with_the_counts(
    client: Client,
    proxy: LossyProxy,
    context: UploadContext,
    products: list[int],
    write_counts: WriteCounts,
) -> None:
    def decide(method: str, request_path: str) -> ProxyFault:
        return "lose request" if request_path.endswith("/produtos") else "pass"

    sheet = validate_workbook(write_counts(A=[count_row(products[0], 3)]), context.catalogue)
    proxy.decide = decide
    uploads = Uploads(context, client)
    job = uploads.create(sheet, replace(AT_ONCE, mode="records"))
    with pytest.raises(InDoubt):
        uploads.run(job, AT_ONCE)
    opened = newest_inventory(client).idInventario
    proxy.decide = lambda _method, _asked: "pass"
    ended = uploads.run(context.journal.job(job.id), AT_ONCE)
    assert (ended.state, accepted_rows(context, ended)) == (State.DONE, 1)
    inventory = newest_inventory(client)
    assert inventory.idInventario == opened
    assert counts_of(client, inventory) == [(products[0], 3, None)]
