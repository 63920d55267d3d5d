"""Purchases and stock of the demo: requisitions, orders, purchase orders, spending limits, payable
titles; movements, stock requisitions, product addresses, inventories.

Documents of purchases are registered like those of a client, and so close those that they are
made from.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from sqlalchemy import Connection, Table, update

from xlbridge.resources.checks import is_boleto
from xlbridge.sandbox.areas import purchasing, registries
from xlbridge.sandbox.areas.inventories import open_inventory
from xlbridge.sandbox.areas.movements import (
    Balance,
    BalanceKey,
    addressings,
    movements,
    stock_requisition_items,
    stock_requisitions,
)
from xlbridge.sandbox.areas.registries import branches, collaborators, cost_centres, projects
from xlbridge.sandbox.areas.titles import (
    OWNER_KEY,
    TITLE_KEY,
    owner_of,
    payable_allocations,
    payable_files,
    payables,
    title_scope,
)
from xlbridge.sandbox.demo_company import (
    FIRST_DAY,
    SECTIONS,
    TODAY,
    DemoProduct,
    active_codes,
    attachment_row,
    codes,
    company,
    cost_of,
    office_moments,
    random_day,
    random_office_time,
    write_rows,
)
from xlbridge.sandbox.problems import percent_of, round_half_even, round_half_up
from xlbridge.wire.financial import Allocation
from xlbridge.wire.purchasing import (
    BuyingOrder,
    BuyingOrderInput,
    PurchaseOrderInput,
    PurchaseOrderItemInput,
    PurchaseRequisitionInput,
    RequestedItemInput,
    SpendingLimitInput,
)
from xlbridge.wire.stock import InventoryInput


def seed_purchases(
    connection: Connection, random: Random, products: list[DemoProduct], count: int
) -> None:
    """Write purchases in different states, and this year's spending limits for goods."""
    seed = _PurchaseSeed(connection, random)
    for requested in office_moments(random, count, FIRST_DAY, TODAY - 2 * _STEP - _RELEASED_AFTER):
        seed.add(products, requested)
    write_rows(connection, purchasing.purchase_order_files, seed.files)
    limits = purchasing.SpendingLimitRegistration(connection, TODAY, seed.lookup)
    keys = itertools.product(
        codes(registries.branches), codes(registries.cost_centres), range(1, 13)
    )
    for branch, cost_centre, month in keys:
        limits.accept(
            SpendingLimitInput(
                codigoDaFilial=branch,
                codigoDoCentroDeCusto=cost_centre,
                codigoDoItemDeLancamento=_GOODS,
                ano=TODAY.year,
                mes=month,
                valorLimite=Decimal(random.randrange(10, 200) * 500),
            )
        )
    limits.write()


_ORDERED, _BOUGHT, _RECEIVED = 0.7, 0.7, 0.6
_FOR_PROJECT, _RELEASED, _WITH_AD_HOC, _WITH_FILE = 0.2, 0.5, 0.3, 0.5
_MAX_ITEMS, _MAX_UNITS, _MAX_QUOTATIONS = 4, 60, 5
_STEP, _RELEASED_AFTER = timedelta(days=3), timedelta(days=1)
_AD_HOC_ITEMS = ("Instalação de divisórias", "Dedetização do depósito", "Faixa para a fachada")
_GOODS = "2.02.001"


class _PurchaseSeed:
    """Registers purchases; ``files`` are the rows of the attachments of their orders."""

    def __init__(self, connection: Connection, random: Random) -> None:
        self._connection = connection
        self._random = random
        self._bought = 0
        self.lookup = registries.CodeLookup(connection)
        self.files: list[dict[str, Any]] = []

    def add(self, products: list[DemoProduct], requested: datetime) -> None:
        """Add one purchase that begins with a requisition, and may go on to be received."""
        random = self._random
        ordered = random.random() < _ORDERED
        bought = ordered and random.random() < _BOUGHT
        for_project = random.random() < _FOR_PROJECT
        header: dict[str, Any] = {
            "codigoDaFilial": random.choice(codes(registries.branches)),
            "codigoDoTipoDeCompra": random.choice(active_codes(registries.purchase_types)),
            "codigoDoColaborador": random.choice(codes(registries.collaborators)),
            "codigoDoMotivo": random.choice(active_codes(registries.purchase_reasons)),
            "codigoDoCentroDeCusto": random.choice(codes(registries.cost_centres)),
            "CodigoDoProjeto": random.choice(codes(registries.projects)) if for_project else None,
        }
        released = random.random() < _RELEASED
        chosen = random.sample(products, random.randint(1, _MAX_ITEMS))
        items = [
            RequestedItemInput(
                idProduto=product["idProduto"], quantidade=Decimal(random.randint(1, _MAX_UNITS))
            )
            for product in chosen
        ]
        if not bought and random.random() < _WITH_AD_HOC:
            items[0] = items[0].model_copy(
                update={
                    "idProduto": purchasing.AD_HOC,
                    "descricaoDoProduto": random.choice(_AD_HOC_ITEMS),
                }
            )
        requisition = purchasing.PurchaseRequisitionRegistration(
            self._connection, requested, self.lookup
        ).register(PurchaseRequisitionInput(**header, itens=items))
        number = requisition.numeroDaRequisicao
        self._complete(purchasing.purchase_requisitions, number, _release(requested, released))
        if not ordered:
            return
        day = requested + _STEP
        order = purchasing.BuyingOrderRegistration(self._connection, day, self.lookup).register(
            BuyingOrderInput(
                **header,
                NumeroDaRequisicaoDeCompra=number,
                codigoDoColaboradorResponsavelCompras=random.choice(
                    codes(registries.collaborators)
                ),
                itens=items,
            )
        )
        quotations = {"TotalDeCotacoes": random.randint(0, _MAX_QUOTATIONS)}
        self._complete(
            purchasing.buying_orders, order.numeroDaOrdem, quotations | _release(day, released)
        )
        if bought:
            self._buy(order, chosen, day + _STEP, released=released)

    def _buy(
        self, order: BuyingOrder, products: list[DemoProduct], day: datetime, *, released: bool
    ) -> None:
        """Add the purchase order of an order, perhaps with files, and perhaps received."""
        random = self._random
        received = random.random() < _RECEIVED
        self._bought += 1
        data = PurchaseOrderInput(
            codigoDaFilial=order.codigoDaFilial or 0,
            codigoDoFornecedor=random.choice(active_codes(registries.suppliers)),
            numeroDaOrdem=order.numeroDaOrdem,
            IdPedidoWS=f"WS-{self._bought:06}",
            itens=[
                PurchaseOrderItemInput(
                    idProduto=product["idProduto"],
                    quantidade=item.quantidade or Decimal(0),
                    valorUnitario=round_half_even(cost_of(product)),
                )
                for product, item in zip(products, order.itens, strict=True)
            ],
        )
        purchasing.PurchaseOrderRegistration(self._connection, day, self.lookup).register(data)
        state = {"encerrado": received, **_release(day, released)}
        self._complete(purchasing.purchase_orders, self._bought, state)
        if random.random() < _WITH_FILE:
            self._attach("Proposta.pdf", of_invoice=False)
        if received:
            self._attach(f"NF-e {self._bought:06}.xml", of_invoice=True)

    def _attach(self, name: str, *, of_invoice: bool) -> None:
        file = attachment_row(self._random, len(self.files) + 1, name, None)
        self.files.append(file | {"number": self._bought, "of_invoice": of_invoice})

    def _complete(self, documents: Table, number: int | None, values: dict[str, Any]) -> None:
        """Set what the registration of a document leaves out."""
        (key,) = documents.primary_key
        self._connection.execute(update(documents).where(key == number).values(values))


def _release(day: datetime, released: bool) -> dict[str, datetime | None]:
    """Return the date on which a document was released for approval, if it was."""
    return {"DataLiberacaoParaAprovacao": day + _RELEASED_AFTER if released else None}


_DUE = timedelta(days=30)
_DAYS_BETWEEN = 11
_FIRST_INVOICE = 70001
_EXPENSES = {
    501: ("2.01.001", "Energia elétrica"),
    502: ("2.02.001", "Compra de mercadorias"),
    503: ("2.02.001", "Frete de compras"),
    504: ("2.01.002", "Aluguel de equipamentos"),
    506: ("2.02.001", "Frete de entregas"),
}
_RETAINED_PERCENT = {
    "ValorPISRetido": Decimal("0.65"),
    "ValorCOFINSRetido": Decimal(3),
    "ValorCSLLRetido": Decimal(1),
    "ValorIRRetido": Decimal("1.5"),
    "ValorISSRetido": Decimal(2),
    "ValorINSSRetido": Decimal(0),
}
_FIRST_DAYS = 1000
_BARCODE_EPOCHS = datetime(2022, 5, 29), datetime(1997, 10, 7)
"""Epochs of the due date, newest first; on 22 February 2025 the count restarted at day 1000."""
_UNPAID_EVERY, _SPLIT_EVERY, _FILE_EVERY, _TAXED_EVERY = 7, 4, 3, 2


def seed_payables(connection: Connection, random: Random, count: int) -> Counter[str]:
    """Write payable titles, spread over the demo's period; return the last number of each scope."""
    titles: list[dict[str, Any]] = []
    allocations: list[dict[str, Any]] = []
    files: list[dict[str, Any]] = []
    last_numbers: Counter[str] = Counter()
    days = (TODAY - FIRST_DAY).days + 1
    issues = sorted(index * _DAYS_BETWEEN % days for index in range(count))
    for index, day in enumerate(issues):
        issued = FIRST_DAY + timedelta(days=day)
        branch = codes(registries.branches)[index % len(codes(registries.branches))]
        scope = title_scope("payable", issued.year, branch)
        last_numbers[scope] += 1
        key = (issued.year, branch, last_numbers[scope], 1)
        title = dict(zip(TITLE_KEY, key, strict=True)) | _payable_row(random, index, issued)
        titles.append(title)
        if index % _SPLIT_EVERY == 0:
            allocations.extend(split_rows(payable_allocations, title))
        if index % _FILE_EVERY == 0:
            name = f"fatura-{_FIRST_INVOICE + index}.pdf"
            file = attachment_row(random, index + 1, name, "Fatura do fornecedor")
            files.append(dict(zip(OWNER_KEY, key, strict=True)) | file)
    write_rows(connection, payables, titles)
    write_rows(connection, payable_allocations, allocations)
    write_rows(connection, payable_files, files)
    return last_numbers


def split_rows(allocations: Table, title: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield two parts of a title: 60 % for its cost centre, the rest for another one."""
    amount = title["valorDoLancamento"]
    first_amount = round_half_even(amount * 6 / 10)
    other = next(
        code for code in codes(registries.cost_centres) if code != title["codigoDoCentroDeCusto"]
    )
    branch = title["codigoDaFilial"]
    first = Allocation(**title | {"codigoDaFilialDoRateio": branch, "valor": first_amount})
    second = first.model_copy(
        update={"codigoDoCentroDeCusto": other, "valor": amount - first_amount}
    )
    key = [title[name] for name in TITLE_KEY]
    return registries.list_rows(owner_of(allocations), key, [first, second])


def _payable_row(random: Random, index: int, issued: datetime) -> dict[str, Any]:
    supplier = random.choice(list(_EXPENSES))
    category, history = _EXPENSES[supplier]
    gross = Decimal(random.randrange(20_000, 2_000_000)).scaleb(-2)
    taxed = index % _TAXED_EVERY == 0
    retained = {
        name: percent_of(gross, percent) if taxed else Decimal(0)
        for name, percent in _RETAINED_PERCENT.items()
    }
    net = gross - sum(retained.values())
    due = issued + _DUE
    is_paid = due <= TODAY and index % _UNPAID_EVERY != 0
    return retained | {
        "codigoDoFornecedor": supplier,
        "codigoDoItemDeLancamento": category,
        "codigoDoCentroDeCusto": random.choice(codes(registries.cost_centres)),
        "codigoDaContaCorrente": random.choice(codes(registries.accounts)),
        "historico": f"{history} de {issued:%m/%Y}",
        "numeroDoDocumento": f"FAT-{_FIRST_INVOICE + index}",
        "dataDeEmissao": issued,
        "dataDeVencimento": due,
        "valorDoLancamento": net,
        "codigoDaFormaDePagamento": random.choice(codes(registries.payment_methods)),
        "PeriodoDeCompetencia": issued.replace(day=1),
        "CodigoDeBarras": _barcode(random, due, net) if taxed else None,
        "CodigoDoCustoABC": random.choice(codes(registries.abc_costs)),
        "ValorBruto": gross,
        "dataDeBaixa": due if is_paid else None,
        "valorBaixado": net if is_paid else None,
    }


def _barcode(random: Random, due: datetime, amount: Decimal) -> str:
    """Return the barcode of a Banco do Brasil slip: days since the epoch, cents, free field."""
    days = next(days for epoch in _BARCODE_EPOCHS if (days := (due - epoch).days) >= _FIRST_DAYS)
    cents = int(amount * 100)
    rest = f"{days:04}{cents:010}{random.randrange(10**12):025}"
    candidates = (f"0019{digit}{rest}" for digit in range(1, 10))
    return next(code for code in candidates if is_boleto(code))


_EMPTY, _BATCHES, _STOCK_OF_PROJECT, _INACTIVE = 0.3, 0.1, 0.05, 0.05
_COST_FACTORS = ("1", "1.03", "1.08")
_MAX_RECEIVED, _MAX_MOVEMENTS = 400, 4
_MIN_REQUESTED, _MAX_REQUESTED = 2, 20
_FIRST_REQUEST = TODAY - timedelta(days=30)
_RELEASED_FROM_STOCK, _REQUISITIONS = 0.8, 36
_FIRST_WAREHOUSE = 1

Rows = defaultdict[Table, list[dict[str, Any]]]


def seed_stock(
    connection: Connection, random: Random, products: list[DemoProduct], scale: int
) -> Counter[str]:
    """Write movements, requisitions and product addresses, and open an inventory per branch.

    Return the last number of each scope.
    """
    batch: Rows = defaultdict(list)
    balances = {
        balance_key: _make_movements(random, batch, balance_key, product)
        for balance_key, product in _balance_keys(random, products)
    }
    stocked = [key for key, balance in balances.items() if balance.quantity >= _MIN_REQUESTED]
    moments = office_moments(random, _REQUISITIONS * scale, _FIRST_REQUEST)
    requests = zip(random.sample(stocked, len(moments)), moments, strict=True)
    for number, (balance_key, requested) in enumerate(requests, start=1):
        _add_requisition(random, batch, balance_key, balances[balance_key], number, requested)
    last_numbers: Counter[str] = Counter()
    batch[movements].sort(key=lambda row: row["moved"])
    for row in batch[movements]:
        scope = "stock_entry" if row["inward"] else "stock_output"
        last_numbers[scope] += 1
        row["number"] = last_numbers[scope]
    sections = list(SECTIONS)
    for branch, product in itertools.product(codes(branches), products):
        address = {
            "codigoDaFilial": branch,
            "codigoDoAlmoxarifado": _FIRST_WAREHOUSE,
            "codigoDaSecao": random.choice(sections),
            "idProd": product["idProduto"],
            "codigoDaFilialSecao": branch,
            "codigoDoAlmoxarifadoSecao": _FIRST_WAREHOUSE,
            "ativo": random.random() >= _INACTIVE,
            "ultimaAtualizacao": random_office_time(random, random_day(random)),
        }
        batch[addressings].append(address)
    for table, rows in batch.items():
        write_rows(connection, table, rows)
    for branch in codes(branches):
        data = InventoryInput(
            codigoDaFilial=branch,
            codigoDoAlmoxarifado=_FIRST_WAREHOUSE,
            descricaoDoInventario="Inventário anual",
            carregarBaseDeProdutos=True,
        )
        open_inventory(connection, data, TODAY)
    return last_numbers


def _balance_keys(
    random: Random, products: list[DemoProduct]
) -> Iterator[tuple[BalanceKey, DemoProduct]]:
    """Yield the balances to create, each in a warehouse that has the product."""
    for branch in codes(branches):
        for warehouse in company()["warehouses"]:
            for product in products:
                if random.random() < _EMPTY:
                    continue
                code = product["idProduto"]
                has_batch = random.random() < _BATCHES
                for_project = random.random() < _STOCK_OF_PROJECT
                serial = f"L{branch}{warehouse}{code}" if has_batch else None
                project = random.choice(codes(projects)) if for_project else None
                yield BalanceKey(branch, warehouse, code, serial, project), product


def _make_movements(
    random: Random, batch: Rows, balance_key: BalanceKey, product: DemoProduct
) -> Balance:
    cost = round_half_up(cost_of(product))
    moved = random_office_time(random, random_day(random, FIRST_DAY, TODAY - timedelta(days=90)))
    balance = _add_entry(random, batch, balance_key, moved, cost)
    for _ in range(random.randrange(_MAX_MOVEMENTS)):
        moved = min(moved + timedelta(days=random.randrange(1, 60)), _FIRST_REQUEST)
        if random.random() < 1 / _MAX_MOVEMENTS:
            new_cost = round_half_up(cost * Decimal(random.choice(_COST_FACTORS)))
            received = _add_entry(random, batch, balance_key, moved, new_cost)
            balance = Balance(balance.quantity + received.quantity, balance.value + received.value)
        elif balance.quantity:
            quantity = Decimal(random.randint(1, int(balance.quantity)))
            balance = _add_output(batch, balance_key, balance, quantity, moved, {})
    return balance


def _add_entry(
    random: Random, batch: Rows, balance_key: BalanceKey, moved: datetime, cost: Decimal
) -> Balance:
    quantity = Decimal(random.randrange(1, _MAX_RECEIVED))
    received = Balance(quantity, quantity * cost)
    document = {"documento": f"NF-{random.randrange(1000, 9999)}"}
    batch[movements].append(_movement(balance_key, received, quantity, moved) | document)
    return received


def _add_output(
    batch: Rows,
    balance_key: BalanceKey,
    balance: Balance,
    quantity: Decimal,
    moved: datetime,
    references: dict[str, Any],
) -> Balance:
    movement = _movement(balance_key, balance, quantity, moved) | {"inward": False} | references
    batch[movements].append(movement)
    return Balance(balance.quantity - quantity, balance.value - balance.cost_of(quantity))


def _add_requisition(
    random: Random,
    batch: Rows,
    balance_key: BalanceKey,
    balance: Balance,
    number: int,
    requested: datetime,
) -> None:
    """Add a requisition: a third of them is settled, a third partly, a third not at all."""
    quantity = Decimal(random.randint(_MIN_REQUESTED, min(_MAX_REQUESTED, int(balance.quantity))))
    cost_centre = random.choice(codes(cost_centres))
    settled = (Decimal(0), quantity // 2, quantity)[number % 3]
    batch[stock_requisitions].append(
        {
            "number": number,
            "requested": requested,
            "branch": balance_key.branch,
            "cost_centre": cost_centre,
            "released": bool(settled) or random.random() < _RELEASED_FROM_STOCK,
        }
    )
    batch[stock_requisition_items].append(
        {"requisition": number, "seq": 1, "product": balance_key.product, "quantity": quantity}
    )
    if settled:
        references = {
            "codigoDoCentroDeCusto": cost_centre,
            "numeroDaRequisicao": number,
            "seqRequisicao": 1,
            "codigoDoColaboradorSolicitante": random.choice(codes(collaborators)),
        }
        moved = requested + timedelta(hours=1)
        _add_output(batch, balance_key, balance, settled, moved, references)


def _movement(
    balance_key: BalanceKey, balance: Balance, quantity: Decimal, moved: datetime
) -> dict[str, Any]:
    """Return an entry of part of a balance, with empty optional columns."""
    optional = ("documento", "codigoDoCentroDeCusto", "numeroDaRequisicao", "seqRequisicao",
                "codigoDoColaboradorSolicitante")  # fmt: skip
    return {
        **dict.fromkeys(optional),
        "inward": True,
        "moved": moved,
        **balance_key.movement_columns(),
        "quantidade": quantity,
        **balance.value_columns_of(quantity),
        "reversed": False,
        "adjustment": False,
        "ultimaAtualizacao": moved,
    }
