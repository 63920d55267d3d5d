"""Purchases of the demo: requisitions, orders, purchase orders, spending limits."""

import itertools
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from sqlalchemy import Connection

from xlbridge.sandbox.amounts import round_half_even
from xlbridge.sandbox.areas.purchasing.rules import (
    AD_HOC,
    buying_order_items,
    buying_orders,
    document_rows,
    purchase_order_files,
    purchase_order_items,
    purchase_orders,
    purchase_requisition_items,
    purchase_requisitions,
    spending_limits,
)
from xlbridge.sandbox.areas.registry.seed import (
    FIRST_DAY,
    TODAY,
    DemoProduct,
    active_codes,
    attachment_row,
    codes,
    office_moments,
    write_rows,
)
from xlbridge.sandbox.areas.registry.tables import (
    branches,
    collaborators,
    cost_centres,
    projects,
    purchase_reasons,
    purchase_types,
    suppliers,
)
from xlbridge.wire.budget import SpendingLimit
from xlbridge.wire.purchasing import (
    BuyingOrder,
    PurchaseOrder,
    PurchaseOrderItem,
    PurchaseRequisition,
    RequestedItem,
)


def seed_purchases(
    connection: Connection, random: Random, products: list[DemoProduct], count: int
) -> dict[str, int]:
    """Write purchases in different states and this year's spending limits.

    Return the last number of each scope.
    """
    maker = PurchaseMaker(random, products)
    for requested in office_moments(random, count, FIRST_DAY, TODAY - 2 * _STEP - _RELEASED_AFTER):
        maker.make(requested)
    limits = spending_limits_of_year(random)
    for headers, items, documents in (
        (purchase_requisitions, purchase_requisition_items, maker.requisitions),
        (buying_orders, buying_order_items, maker.orders),
        (purchase_orders, purchase_order_items, maker.purchase_orders),
    ):
        for table, rows in document_rows(headers, items, documents).items():
            write_rows(connection, table, rows)
    write_rows(connection, purchase_order_files, maker.files)
    write_rows(connection, spending_limits, (limit.model_dump() for limit in limits))
    return {
        "purchase_requisition": len(maker.requisitions),
        "buying_order": len(maker.orders),
        "purchase_order": len(maker.purchase_orders),
        "spending_limit": len(limits),
    }


_ORDERED, _BOUGHT, _RECEIVED = 0.7, 0.7, 0.6
_FOR_PROJECT, _RELEASED, _WITH_AD_HOC, _WITH_FILE = 0.2, 0.5, 0.3, 0.5
_MAX_ITEMS, _MAX_UNITS, _MAX_QUOTATIONS = 4, 60, 5
_STEP, _RELEASED_AFTER = timedelta(days=3), timedelta(days=1)
_ZERO = Decimal(0)
_AD_HOC_ITEMS = ("Instalação de divisórias", "Dedetização do depósito", "Faixa para a fachada")
_GOODS = "2.02.001"


class PurchaseMaker:
    """Makes purchases in different states.

    Collects ``requisitions``, ``orders`` (Ordem), ``purchase_orders`` (Pedido) and ``files``, the
    rows of attachments of purchase orders.
    """

    def __init__(self, random: Random, products: list[DemoProduct]) -> None:
        self._random = random
        self._products = products
        self.requisitions: list[PurchaseRequisition] = []
        self.orders: list[BuyingOrder] = []
        self.purchase_orders: list[PurchaseOrder] = []
        self.files: list[dict[str, Any]] = []

    def make(self, requested: datetime) -> None:
        """Add one purchase that began with a requisition at this time."""
        random = self._random
        ordered = random.random() < _ORDERED
        bought = ordered and random.random() < _BOUGHT
        for_project = random.random() < _FOR_PROJECT
        header = {
            "codigoDaFilial": random.choice(codes(branches)),
            "codigoDoTipoDeCompra": random.choice(active_codes(purchase_types)),
            "codigoDoColaborador": random.choice(codes(collaborators)),
            "codigoDoMotivo": random.choice(active_codes(purchase_reasons)),
            "codigoDoCentroDeCusto": random.choice(codes(cost_centres)),
            "CodigoDoProjeto": random.choice(codes(projects)) if for_project else None,
        }
        released = random.random() < _RELEASED
        products = random.sample(self._products, random.randint(1, _MAX_ITEMS))
        items = [
            RequestedItem(
                seq=seq,
                idProduto=product.code,
                descricaoDoProduto=product.name,
                quantidade=Decimal(random.randint(1, _MAX_UNITS)),
                quantidadeAprovada=Decimal(0),
            )
            for seq, product in enumerate(products, start=1)
        ]
        if not bought and random.random() < _WITH_AD_HOC:
            description = random.choice(_AD_HOC_ITEMS)
            items[0] = items[0].model_copy(
                update={"idProduto": AD_HOC, "descricaoDoProduto": description}
            )
        requisition = PurchaseRequisition(
            **(header | _release(requested, released)),
            numeroDaRequisicao=len(self.requisitions) + 1,
            dataDaRequisicao=requested,
            encerrada=ordered,
            itens=_approved(items) if ordered else items,
        )
        self.requisitions.append(requisition)
        if ordered:
            day = requested + _STEP
            order = BuyingOrder(
                **(header | _release(day, released)),
                numeroDaOrdem=len(self.orders) + 1,
                dataDaOrdem=day,
                NumeroDaRequisicaoDeCompra=Decimal(len(self.requisitions)),
                codigoDoColaboradorResponsavelCompras=random.choice(codes(collaborators)),
                TotalDeCotacoes=random.randint(0, _MAX_QUOTATIONS),
                encerrada=bought,
                itens=_approved(items) if bought else items,
            )
            self.orders.append(order)
        if bought:
            self._buy(products, items, requested + 2 * _STEP, released=released)

    def _buy(
        self,
        products: list[DemoProduct],
        items: list[RequestedItem],
        day: datetime,
        *,
        released: bool,
    ) -> None:
        random = self._random
        lines = []
        for product, item in zip(products, items, strict=True):
            price, quantity = round_half_even(product.cost), item.quantidade or _ZERO
            line = PurchaseOrderItem(
                seq=item.seq,
                idProduto=product.code,
                descricaoDoProduto=product.name,
                quantidade=quantity,
                valorUnitario=price,
                valorTotal=quantity * price,
            )
            lines.append(line)
        number = len(self.purchase_orders) + 1
        received = random.random() < _RECEIVED
        order = PurchaseOrder(
            codigoDaFilial=self.orders[-1].codigoDaFilial,
            codigoDoFornecedor=random.choice(active_codes(suppliers)),
            numeroDaOrdem=len(self.orders),
            IdPedidoWS=f"WS-{number:06}",
            numeroPedido=number,
            dataDoPedido=day,
            **_release(day, released),
            encerrado=received,
            valorTotal=sum((line.valorTotal or _ZERO for line in lines), _ZERO),
            itens=lines,
        )
        self.purchase_orders.append(order)
        if random.random() < _WITH_FILE:
            self._attach(number, "Proposta.pdf", of_invoice=False)
        if received:
            self._attach(number, f"NF-e {number:06}.xml", of_invoice=True)

    def _attach(self, number: int, name: str, *, of_invoice: bool) -> None:
        file = attachment_row(self._random, len(self.files) + 1, name, None)
        self.files.append(file | {"number": number, "of_invoice": of_invoice})


def spending_limits_of_year(random: Random) -> list[SpendingLimit]:
    """Return the limits for goods of each branch, cost centre and month of this year."""
    keys = itertools.product(codes(branches), codes(cost_centres), range(1, 13))
    return [
        SpendingLimit(
            idPlanejamento=number,
            codigoDaFilial=branch,
            codigoDoCentroDeCusto=cost_centre,
            codigoDoItemDeLancamento=_GOODS,
            ano=TODAY.year,
            mes=month,
            valorLimite=Decimal(random.randrange(10, 200) * 500),
        )
        for number, (branch, cost_centre, month) in enumerate(keys, start=1)
    ]


def _release(day: datetime, released: bool) -> dict[str, datetime | None]:
    """Return the date on which a document was released for approval, if it was."""
    return {"DataLiberacaoParaAprovacao": day + _RELEASED_AFTER if released else None}


def _approved(items: list[RequestedItem]) -> list[RequestedItem]:
    return [item.model_copy(update={"quantidadeAprovada": item.quantidade}) for item in items]
