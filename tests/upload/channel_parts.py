"""Channels by which records are written: a command each, and what the system has then."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from lossy_proxy import LossyProxy, ProxyFault
from process_parts import CLOSURES, INVENTORIES, KINDS, VALIDATIONS, Kind
from record_parts import (
    INVOICES,
    PAYABLES,
    TYPES,
    amounts_of,
    codes_of,
    make_invoices,
    make_types,
    new_descriptions,
)
from sheets import edit, write_records, write_workbook
from update_parts import Run, newest_job, titles
from upload_parts import new_cnpj

from xlbridge.client import Client
from xlbridge.errors import RemoteRejected
from xlbridge.wire.financial import RECEIVABLE_LIST_OPEN, ReceivableQuery
from xlbridge.wire.registry import PRODUCT_GET
from xlbridge.wire.sales import SALES_ORDER_LIST

REGISTERED_COUNT = "/contagem/1$"


@dataclass(frozen=True)
class Write:
    """Command that writes, its requests, and what the system has of its records.

    ``method`` and a part of the path, which a ``$`` ends, select the requests. ``written`` is
    ``wanted`` once ``requests`` of them were carried out; the command then ends with the exit code
    ``again``. Those that are ``repeatable`` may be sent more often.
    """

    command: tuple[object, ...]
    method: str
    path: str
    written: Callable[[], object]
    wanted: object
    requests: int = 1
    again: int = 0
    repeatable: bool = False

    def sends(self, method: str, path: str) -> bool:
        """Return whether a request is one of those that write."""
        return method == self.method and self.path in f"{path}$" and "preview=true" not in path

    def disturb(self, proxy: LossyProxy, fault: ProxyFault) -> list[str]:
        """Disturb the second request, the first if there is one; return those sent by then."""
        sent: list[str] = []
        place = min(self.requests, 2)

        def decide(method: str, path: str) -> ProxyFault:
            if not self.sends(method, path) or len(sent) == place:
                return "pass"
            sent.append(path)
            return fault if len(sent) == place else "pass"

        proxy.decide = decide
        return sent


@dataclass(frozen=True)
class Setting:
    """What the channels write with."""

    client: Client
    run: Run
    customer: int
    home: Path
    system_home: Path
    folder: Path
    make_receivables: Callable[..., Path]
    payables: Callable[[], Path]

    def be_alone(self) -> None:
        """Say that nobody else writes, so that equal records of rows without a key are counted."""
        self.home.mkdir(exist_ok=True)
        target = self.client.target
        section = f'base_url = "{target.base_url}"\nemail = "{target.email}"\nexclusive = true\n'
        profiles = self.home / "profiles.toml"
        profiles.write_text(f"[profiles.{target.profile}]\n{section}", encoding="utf-8")

    def product(self, **fields: object) -> int:
        """Create a product."""
        name = f"Parafuso {new_cnpj()}"
        made = self.client.registry.products.create(descricaoDoProduto=name, **fields)
        return int(made.idProduto)


def import_receivable(setting: Setting, mode: str, path: str) -> Write:
    book = setting.make_receivables(setting.customer, new_cnpj(), "um")
    query = ReceivableQuery(codigoDoCliente=setting.customer)

    def titles_there() -> int:
        return len(list(setting.client.records(RECEIVABLE_LIST_OPEN, query=query)))

    command = ("upload", book, "--mode", mode, "--yes")
    # Its log may show a started file as pending for a while.
    return Write(command, "POST", path, titles_there, 1, repeatable=mode == "queue")


def import_directly(setting: Setting) -> Write:
    return import_receivable(setting, "direct", "importacao/contasreceber?preview=false$")


def start_queued_file(setting: Setting) -> Write:
    return import_receivable(setting, "queue", "processar-arquivo/")


def create_records(setting: Setting) -> Write:
    names = new_descriptions(3)
    book = make_types(setting.folder / "tipos.xlsx", names)
    made = partial(codes_of, setting.client, names)
    return Write(("upload", book, "--yes"), "POST", f"{TYPES}$", lambda: len(made()), 3, 3)


def create_contacts(setting: Setting) -> Write:
    """Contacts are found by their client and name; the first is somebody else's."""
    contacts = setting.client.registry.contacts
    other = setting.client.registry.clients.create(nomeComercial="Bia", cnpj=new_cnpj())
    contacts.create(codigoDoCliente=setting.customer, nome="Rita")
    people = [
        (setting.customer, "Rita"), (setting.customer, "Rui"), (other.codigoDoCliente, "Rita")
    ]  # fmt: skip
    rows = [{"codigoDoCliente": code, "nome": name} for code, name in people]
    book = write_records(setting.folder / "contatos.xlsx", "clientecontato", rows)

    def names_there() -> list[tuple[object, str]]:
        found = []
        for code in (setting.customer, other.codigoDoCliente):
            for number in range(1, 5):
                try:
                    contact = contacts.get(codcontato=code, seq=number)
                except RemoteRejected:
                    continue
                found.append((code, str(contact.nomeDoContato)))
        return sorted(found)

    command = ("upload", book, "--mode", "records", "--yes")
    return Write(command, "POST", "/v2/clientecontato$", names_there, sorted(people), 2)


def create_invoices(setting: Setting) -> Write:
    """Invoices have no key; equal ones are counted."""
    setting.be_alone()
    amounts = [10, 10, 10, 20]
    book = make_invoices(setting.folder / "notas.xlsx", setting.customer, amounts)
    there = partial(amounts_of, setting.client, setting.customer)
    command = ("upload", book, "--mode", "records", "--yes")
    return Write(command, "POST", f"{INVOICES}$", there, amounts, 4)


def create_movements(setting: Setting, resource: str, kind: str) -> Write:
    """Movements are counted in the product's history, where some are equal to the rows."""
    setting.be_alone()
    product, day = setting.product(), datetime(2026, 10, 1)
    for quantity in (2, 50):
        setting.client.stock.entries.create(
            codigoDaFilial=1, dataDaEntrada=day, quantidade=quantity, idProd=product
        )
    row = {"codigoDaFilial": 1, "idProd": product}
    row |= {"dataDaEntrada": day} if resource == "entrada" else {}
    quantities = [2, 2, 2, 3]
    rows = [{**row, "quantidade": quantity} for quantity in quantities]
    book = write_workbook(setting.folder / "movimentos.xlsx", **{resource: rows})

    def there() -> list[float]:
        found = setting.client.stock.movements.of_product(id=product)
        return sorted(float(one.quantidade) for one in found if one.tipoDeMovimentacao == kind)

    command = ("upload", book, "--mode", "records", "--yes")
    wanted = sorted([*there(), *quantities])
    return Write(command, "POST", f"/v2/estoque/{resource}$", there, wanted, 4)


def create_entries(setting: Setting) -> Write:
    return create_movements(setting, "entrada", "Entrada")


def create_outputs(setting: Setting) -> Write:
    return create_movements(setting, "saida", "Saída")


def create_orders(setting: Setting) -> Write:
    """Orders with a child sheet have no key; equal ones are counted."""
    setting.be_alone()
    product, remarks = setting.product(valorUnitario=1), new_descriptions(3)
    book = write_workbook(
        setting.folder / "pedidos.xlsx",
        pedido=[
            {
                "chave": one,
                "codigoDaFilial": 1,
                "codigoDoCliente": setting.customer,
                "observacao": one,
            }
            for one in remarks
        ],
        produtos=[
            {"chave": one, "idProduto": product, "quantidade": 2, "valorUnitario": 10.5}
            for one in remarks
        ],
    )

    def there() -> list[str]:
        found = [str(one["observacao"]) for one in setting.client.records(SALES_ORDER_LIST)]
        return sorted(one for one in found if one in remarks)

    command = ("upload", book, "--mode", "records", "--yes")
    return Write(command, "POST", "/v2/faturamento/pedido$", there, remarks, 3)


def open_inventory(setting: Setting, path: str) -> Write:
    """An inventory is opened, its count started and registered; a warehouse has one open."""
    setting.be_alone()
    calls = setting.client.stock.inventories
    for inventory in calls.list():
        if inventory.podeEncerrar:
            calls.close(idInventario=inventory.idInventario)
    product, before = setting.product(), {one.idInventario for one in calls.list()}
    warehouse = {"chave": "A", "codigoDaFilial": 1, "codigoDoAlmoxarifado": 2}
    count = {"chave": "A", "contagem": 1, "idProd": product, "quantidade": 7}
    book = write_workbook(
        setting.folder / "inventarios.xlsx", inventario=[warehouse], contagens=[count]
    )

    def there() -> list[list[tuple[Any, ...]]]:
        new = [one.idInventario for one in calls.list() if one.idInventario not in before]
        return [
            [
                (item.idProd, item.quantidadeContagem1, item.quantidadeContagem2)
                for item in calls.items(idInventario=number)
            ]
            for number in new
        ]

    command = ("upload", book, "--mode", "records", "--yes")
    wanted = [[(product, 7, None)]]
    return Write(command, "POST", path, there, wanted, repeatable=path == REGISTERED_COUNT)


def start_count(setting: Setting) -> Write:
    return open_inventory(setting, "/contagem/1/iniciar$")


def register_count(setting: Setting) -> Write:
    return open_inventory(setting, REGISTERED_COUNT)


def open_counted_inventory(setting: Setting) -> Write:
    return open_inventory(setting, "/inventario$")


def change_records(setting: Setting) -> Write:
    book, text = setting.payables(), f"Corrigida {new_cnpj()}"
    edit(edit(book, "historico", 2, text), "historico", 3, text)

    def changed() -> int:
        return sum(one["historico"] == text for one in titles(setting.client).values())

    return Write(("upload", book, "--update", "--yes"), "PUT", PAYABLES, changed, 2, 2)


def clear_field(setting: Setting) -> Write:
    """A price that is cleared becomes 0, and other fields stay."""
    row = {"codigoInterno": f"PAR-{new_cnpj()}", "descricaoDoProduto": "Parafuso"}
    product = setting.client.registry.products.create(**row, valorUnitario=2.5, Peso=0.045)
    empty = [{**row, "valorUnitario": None}]
    book = write_workbook(setting.folder / "sem-preco.xlsx", produto=empty)

    def stored() -> tuple[Any, Any]:
        key = {"idProduto": product.idProduto}
        (now,) = setting.client.records(PRODUCT_GET, path=key)
        return now["valorUnitario"], float(now["Peso"])

    command = ("upload", book, "--update", "--clear", "--yes")
    return Write(command, "PUT", "/v2/produto", stored, (0, 0.045))


def delete_records(setting: Setting) -> Write:
    book = setting.payables()
    before = len(titles(setting.client))

    def deleted() -> int:
        return before - len(titles(setting.client))

    return Write(("upload", book, "--delete", "--yes"), "DELETE", PAYABLES, deleted, 3, 3, 1)


def undo_upload(setting: Setting) -> Write:
    setting.payables()
    job = newest_job(setting.run)
    before = len(titles(setting.client))

    def removed() -> int:
        return before - len(titles(setting.client))

    return Write(("undo", job, "--yes"), "DELETE", PAYABLES, removed, 3, 3)


def process_records(setting: Setting, kind: Kind) -> Write:
    """Several records are processed, but one inventory: a warehouse has one that is open."""
    count = 1 if kind in {INVENTORIES, VALIDATIONS, CLOSURES} else 3
    numbers = [kind.create(setting.client, setting.customer, setting.folder) for _ in range(count)]

    def processed() -> int:
        times = [kind.times_processed(setting.system_home, number) for number in numbers]
        assert max(times) <= 1, times
        return sum(times)

    command = ("process", kind.listing, "--id", ",".join(map(str, numbers)), "--yes")
    return Write(command, "POST", kind.path, processed, count, count)


PROCESSING = {f"process {kind.listing}": partial(process_records, kind=kind) for kind in KINDS}
CHANNELS: dict[str, Callable[[Setting], Write]] = {
    **{
        one.__name__: one
        for one in (
            import_directly,
            start_queued_file,
            create_records,
            create_contacts,
            create_invoices,
            create_entries,
            create_outputs,
            create_orders,
            open_counted_inventory,
            start_count,
            register_count,
            change_records,
            clear_field,
            delete_records,
            undo_upload,
        )
    },
    **PROCESSING,
}
