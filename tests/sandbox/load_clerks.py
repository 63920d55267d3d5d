"""Clerks that write concurrently and record what the sandbox acknowledged."""

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx
from servers import log_in
from workbooks import upload

from xlbridge.sandbox import RunningSandbox
from xlbridge.wire.financial import TitleKey

CLERKS = 8
ROWS_OF_A_FILE = 12
_RECENT = 12
_LEDGERS = "/v2/financeiro/contasreceber"
_QUEUED_TITLE = (
    "codigoDaFilial", "codigoDoCliente", "codigoDoItemDeLancamento", "codigoDoCentroDeCusto",
    "codigoDaContaCorrente", "historico",
)  # fmt: skip

Data = dict[str, Any]


@dataclass(slots=True)
class Ledger:
    """Writes attempted and acknowledged, over all restarts of one sandbox.

    ``created``: by kind, number and mark of each record. ``moved``: by transition, numbers of the
    records. ``faults``: unexpected responses.
    """

    created: defaultdict[str, list[tuple[Any, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    moved: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    tried: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    @property
    def acknowledged(self) -> int:
        """Number of acknowledged writes."""
        return sum(map(len, (*self.created.values(), *self.moved.values())))


@dataclass(frozen=True, slots=True)
class Ground:
    """Codes that the records refer to."""

    client: int
    products: tuple[int, ...]


def prepare(http: httpx.Client) -> Ground:
    """Create what the records refer to, in an empty sandbox."""
    client = http.post("/v2/cliente", json={"nomeComercial": "Cliente", "natureza": "J"}).json()
    products = [
        http.post("/v2/produto", json={"descricaoDoProduto": name, "valorUnitario": 10}).json()
        for name in ("Prego", "Martelo", "Serrote")
    ]
    codes = tuple(product["data"]["idProduto"] for product in products)
    return Ground(client["data"]["codigoDoCliente"], codes)


class Clerk:
    """Performs random duties until the sandbox is gone."""

    def __init__(self, name: str, ground: Ground, ledger: Ledger) -> None:
        self._name = name
        self._ground = ground
        self._ledger = ledger
        self._random = Random(name)
        self._count = 0
        self._http = httpx.Client(verify=False)

    def work(self, server: RunningSandbox) -> None:
        """Work until the connection breaks."""
        with suppress(httpx.TransportError), log_in(server) as self._http:
            while True:
                self._random.choice(_DUTIES)(self)

    def enter_title(self) -> None:
        mark = self._mark("title")
        data = self._ask(_LEDGERS, self._title(mark) | {"valorDoLancamento": 1.25})
        self._created("title", data, mark, *TitleKey.model_fields)

    def register_client(self) -> None:
        mark = self._mark("client")
        data = self._ask("/v2/cliente", {"nomeComercial": mark})
        self._created("client", data, mark, "codigoDoCliente")

    def register_order(self) -> None:
        mark = self._mark("order")
        lines = [{"idProduto": code, "quantidade": 2} for code in self._ground.products]
        order = {
            "codigoDaFilial": self._random.randint(1, 3),
            "codigoDoCliente": self._ground.client,
            "codigoDaCondicaoDePagamento": 3,
            "observacao": mark,
            "produtos": lines,
        }
        data = self._ask("/v2/faturamento/pedido", order)
        self._created("order", data, mark, "numeroDoPedido")

    def process_order(self) -> None:
        if number := self._recent("order"):
            data = self._ask(f"/v2/faturamento/pedido/processar/{number}")
            self._moved("processed", data, number)
            if data is not None:
                self._ledger.created["invoice"].append((data["idNF"], ""))

    def emit_invoice(self) -> None:
        if number := self._recent("invoice"):
            self._moved("emitted", self._ask(f"/v2/faturamento/nfe/processar/{number}"), number)

    def take_in_goods(self) -> None:
        mark = self._mark("entry")
        day = {"dataDaEntrada": "2025-11-01", "valorUnitario": self._random.randint(1, 9)}
        data = self._ask("/v2/estoque/entrada", self._goods(mark) | day)
        self._created("entry", data, mark, "numeroDaEntrada")

    def hand_out_goods(self) -> None:
        mark = self._mark("output")
        self._created(
            "output", self._ask("/v2/estoque/saida", self._goods(mark)), mark, "numeroDaSaida"
        )

    def take_inventory(self) -> None:
        mark = self._mark("inventory")
        place = {"codigoDaFilial": 1, "codigoDoAlmoxarifado": 1, "descricaoDoInventario": mark}
        data = self._ask("/v2/estoque/inventario", place)
        self._created("inventory", data, mark, "idInventario")
        if data is None:
            # An inventory left open by a kill blocks the next one of its warehouse.
            if number := self._recent("inventory"):
                self._ask(f"/v2/estoque/inventario/{number}/encerrar")
            return
        number = data["idInventario"]
        counted = {"idProd": self._random.choice(self._ground.products)}
        counted["quantidade"] = self._random.randint(0, 50)
        path = f"/v2/estoque/inventario/{number}"
        self._ask(f"{path}/contagem/1/iniciar")
        self._ask(f"{path}/contagem/1", {"itens": [counted]})
        self._ask(f"{path}/validar")
        self._moved("adjusted", self._ask(f"{path}/processar"), number)

    def ask_for_goods(self) -> None:
        mark = self._mark("goods")
        data = self._ask("/v2/compras/requisicao", self._wanted(mark))
        self._created("requisition", data, mark, "numeroDaRequisicao")

    def order_goods(self) -> None:
        if newest := self._ledger.created["requisition"][-_RECENT:]:
            number, mark = self._random.choice(newest)
            wanted = self._wanted(mark) | {"NumeroDaRequisicaoDeCompra": number}
            data = self._ask("/v2/compras/ordem", wanted)
            self._created("buying", data, mark, "numeroDaOrdem")
            self._moved("approved requisition", data, number)

    def buy_goods(self) -> None:
        if number := self._recent("buying"):
            mark = self._mark("purchase")
            item = {"idProduto": self._ground.products[0], "quantidade": 3, "valorUnitario": 7}
            bought = {"codigoDaFilial": 1, "codigoDoFornecedor": 502, "IdPedidoWS": mark}
            answer = self._ask(
                "/v2/compras/pedido", bought | {"numeroDaOrdem": number, "itens": [item]}
            )
            data = answer and answer["payload"]
            self._created("purchase", data, mark, "numeroPedido")
            self._moved("approved buying", data, number)

    def queue_clients(self) -> None:
        mark = self._mark("clients", ".xlsx")
        rows = [["nomeComercial", "seuCodigo"], *([["Da fila", mark]] * ROWS_OF_A_FILE)]
        answer = self._send("/v2/importacao/cliente/fila", files=upload(rows, mark))
        self._created("clients", answer and {"id": answer}, mark, "id")

    def queue_titles(self) -> None:
        mark = self._mark("titles", ".xlsx")
        title = [self._title(mark)[name] for name in _QUEUED_TITLE]
        rows = [list(_QUEUED_TITLE), *([title] * ROWS_OF_A_FILE)]
        answer = self._send("/v2/importacao/contasreceber/fila", files=upload(rows, mark))
        self._created("titles", answer and {"id": answer}, mark, "id")

    def start_file(self) -> None:
        if number := self._recent("titles"):
            data = self._ask(f"/v2/importacao/processar-arquivo/{number}")
            self._moved("started", data, number)

    def _title(self, mark: str) -> Data:
        return {
            "codigoDaFilial": self._random.randint(1, 3),
            "codigoDoCliente": self._ground.client,
            "codigoDoItemDeLancamento": "1.01.001",
            "codigoDoCentroDeCusto": "01.001",
            "codigoDaContaCorrente": 1,
            "historico": mark,
        }

    def _goods(self, mark: str) -> Data:
        return {
            "codigoDaFilial": 1,
            "codigoDoAlmoxarifado": 1,
            "idProd": self._random.choice(self._ground.products),
            "quantidade": self._random.randint(1, 5),
            "documento": mark,
        }

    def _wanted(self, mark: str) -> Data:
        item = {"idProduto": 0, "descricaoDoProduto": mark, "quantidade": 5}
        codes = {"codigoDaFilial": 1, "codigoDoTipoDeCompra": 1, "codigoDoColaborador": 1}
        return codes | {"itens": [item]}

    def _mark(self, kind: str, ending: str = "") -> str:
        self._count += 1
        mark = f"{kind}-{self._name}-{self._count}{ending}"
        self._ledger.tried.add(mark)
        return mark

    def _recent(self, kind: str) -> int | None:
        """Return one of the newest records, which other clerks also use."""
        newest = self._ledger.created[kind][-_RECENT:]
        return self._random.choice(newest)[0] if newest else None

    def _created(self, kind: str, data: Data | None, mark: str, *key: str) -> None:
        if data is not None:
            numbers = tuple(data[name] for name in key)
            number = numbers if len(numbers) > 1 else numbers[0]
            self._ledger.created[kind].append((number, mark))

    def _moved(self, transition: str, data: Data | None, number: int) -> None:
        if data is not None:
            self._ledger.moved[transition].append(number)

    def _ask(self, path: str, body: Data | None = None) -> Any:
        return self._send(path, json=body)

    def _send(self, path: str, **content: Any) -> Any:
        """Return the data of the response to a write; None if a rule refuses it."""
        answer = self._http.post(path, **content)
        if answer.status_code not in (200, 400):
            self._ledger.faults.append(f"{path}: {answer.status_code} {answer.text}")
        return answer.json()["data"] if answer.status_code == 200 else None


_DUTIES: tuple[Callable[[Clerk], None], ...] = (
    Clerk.enter_title,
    Clerk.register_client,
    Clerk.register_order,
    Clerk.process_order,
    Clerk.process_order,
    Clerk.emit_invoice,
    Clerk.take_in_goods,
    Clerk.take_in_goods,
    Clerk.hand_out_goods,
    Clerk.hand_out_goods,
    Clerk.take_inventory,
    Clerk.ask_for_goods,
    Clerk.order_goods,
    Clerk.order_goods,
    Clerk.buy_goods,
    Clerk.buy_goods,
    Clerk.queue_clients,
    Clerk.queue_titles,
    Clerk.start_file,
)


def work_until(server: RunningSandbox, clerks: list[Clerk], end: Callable[[], None]) -> None:
    """Run the clerks until ``end``, called in the meantime, stops the sandbox."""
    with ThreadPoolExecutor(len(clerks)) as pool:
        working = [pool.submit(clerk.work, server) for clerk in clerks]
        end()
        for future in working:
            future.result()
