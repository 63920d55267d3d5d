"""Purchases of the demo: requisitions, orders, purchase orders, spending limits.

They are registered like those of a client, and so close the documents that they are made from.
"""

import itertools
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from sqlalchemy import Connection, Table, update

from xlbridge.sandbox.amounts import round_half_even
from xlbridge.sandbox.areas.purchasing.rules import (
    AD_HOC,
    BuyingOrderRegistration,
    PurchaseOrderRegistration,
    PurchaseRequisitionRegistration,
    SpendingLimitRegistration,
    buying_orders,
    purchase_order_files,
    purchase_orders,
    purchase_requisitions,
)
from xlbridge.sandbox.areas.registry.codes import CodeLookup
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
from xlbridge.wire.budget import SpendingLimitInput
from xlbridge.wire.purchasing import (
    BuyingOrder,
    BuyingOrderInput,
    PurchaseOrderInput,
    PurchaseOrderItemInput,
    PurchaseRequisitionInput,
    RequestedItemInput,
)


def seed_purchases(
    connection: Connection, random: Random, products: list[DemoProduct], count: int
) -> None:
    """Write purchases in different states, and this year's spending limits for goods."""
    seed = _PurchaseSeed(connection, random)
    for requested in office_moments(random, count, FIRST_DAY, TODAY - 2 * _STEP - _RELEASED_AFTER):
        seed.add(products, requested)
    write_rows(connection, purchase_order_files, seed.files)
    limits = SpendingLimitRegistration(connection, TODAY, seed.lookup)
    keys = itertools.product(codes(branches), codes(cost_centres), range(1, 13))
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
        self.lookup = CodeLookup(connection)
        self.files: list[dict[str, Any]] = []

    def add(self, products: list[DemoProduct], requested: datetime) -> None:
        """Add one purchase that begins with a requisition, and may go on to be received."""
        random = self._random
        ordered = random.random() < _ORDERED
        bought = ordered and random.random() < _BOUGHT
        for_project = random.random() < _FOR_PROJECT
        header: dict[str, Any] = {
            "codigoDaFilial": random.choice(codes(branches)),
            "codigoDoTipoDeCompra": random.choice(active_codes(purchase_types)),
            "codigoDoColaborador": random.choice(codes(collaborators)),
            "codigoDoMotivo": random.choice(active_codes(purchase_reasons)),
            "codigoDoCentroDeCusto": random.choice(codes(cost_centres)),
            "CodigoDoProjeto": random.choice(codes(projects)) if for_project else None,
        }
        released = random.random() < _RELEASED
        chosen = random.sample(products, random.randint(1, _MAX_ITEMS))
        items = [
            RequestedItemInput(
                idProduto=product.code, quantidade=Decimal(random.randint(1, _MAX_UNITS))
            )
            for product in chosen
        ]
        if not bought and random.random() < _WITH_AD_HOC:
            items[0] = items[0].model_copy(
                update={"idProduto": AD_HOC, "descricaoDoProduto": random.choice(_AD_HOC_ITEMS)}
            )
        requisition = PurchaseRequisitionRegistration(
            self._connection, requested, self.lookup
        ).register(PurchaseRequisitionInput(**header, itens=items))
        number = requisition.numeroDaRequisicao
        self._complete(purchase_requisitions, number, _release(requested, released))
        if not ordered:
            return
        day = requested + _STEP
        order = BuyingOrderRegistration(self._connection, day, self.lookup).register(
            BuyingOrderInput(
                **header,
                NumeroDaRequisicaoDeCompra=number,
                codigoDoColaboradorResponsavelCompras=random.choice(codes(collaborators)),
                itens=items,
            )
        )
        quotations = {"TotalDeCotacoes": random.randint(0, _MAX_QUOTATIONS)}
        self._complete(buying_orders, order.numeroDaOrdem, quotations | _release(day, released))
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
            codigoDoFornecedor=random.choice(active_codes(suppliers)),
            numeroDaOrdem=order.numeroDaOrdem,
            IdPedidoWS=f"WS-{self._bought:06}",
            itens=[
                PurchaseOrderItemInput(
                    idProduto=product.code,
                    quantidade=item.quantidade or Decimal(0),
                    valorUnitario=round_half_even(product.cost),
                )
                for product, item in zip(products, order.itens, strict=True)
            ],
        )
        PurchaseOrderRegistration(self._connection, day, self.lookup).register(data)
        state = {"encerrado": received, **_release(day, released)}
        self._complete(purchase_orders, self._bought, state)
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
