"""Rules of purchase requisitions, orders (Ordem) and purchase orders (Pedido).

Each document closes the one that it was made from, as far as that was approved. Source: the spec,
Purchasing and States (purchase flow); its approvals are not shown there.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, Table, exists, select, update

from xlbridge.sandbox.areas.financial.rules import round_half_even
from xlbridge.sandbox.areas.purchasing.tables import (
    buying_order_items,
    buying_orders,
    purchase_order_items,
    purchase_orders,
    purchase_requisition_items,
    purchase_requisitions,
)
from xlbridge.sandbox.areas.registry.codes import CodeLookup, RecordRegistration
from xlbridge.sandbox.areas.registry.tables import (
    collaborators,
    products,
    projects,
)
from xlbridge.sandbox.areas.stock.tables import stock_requisitions
from xlbridge.sandbox.problems import PRICE_PLACES, Problem, amount_problems
from xlbridge.wire.purchasing import (
    BuyingOrder,
    BuyingOrderInput,
    PurchaseOrder,
    PurchaseOrderInput,
    PurchaseOrderItem,
    PurchaseOrderItemInput,
    PurchaseRequisition,
    PurchaseRequisitionInput,
    RequestedItem,
    RequestedItemInput,
)

AD_HOC = 0
"""The ``idProduto`` of an item that is no registered product."""

_Wanted = RequestedItemInput | PurchaseOrderItemInput


class Origin:
    """The document that another is made from, where one is named: its items are what may be taken.

    Approving it closes it; of each item it approves what was taken.
    """

    def __init__(
        self,
        connection: Connection,
        headers: Table,
        items: Table,
        names: tuple[str, str],
        number: Decimal | int | None,
    ) -> None:
        self._connection = connection
        self._headers, self._items = headers, items
        self._key, self._label = names
        self._number = number

    def problems(self, wanted: Sequence[_Wanted]) -> list[Problem]:
        """Return the problems of a document that is unknown, closed, or has not what is taken."""
        if self._number is None:
            return []
        (own_number,) = self._headers.primary_key
        this = own_number == self._number
        closed = self._connection.scalar(select(self._headers.c.encerrada).where(this))
        if closed is None:
            return [(self._key, f"{self._label} {self._number}: número não cadastrado.")]
        if closed:
            return [(self._key, f"{self._label} {self._number} já está encerrada.")]
        _, problems = self._taken(wanted)
        return problems

    def approve(self, wanted: Sequence[_Wanted]) -> None:
        """Close the document, and approve of its items what was taken."""
        if self._number is None:
            return
        (own_number,) = self._headers.primary_key
        closing = update(self._headers).where(own_number == self._number)
        self._connection.execute(closing.values(encerrada=True))
        taken, _ = self._taken(wanted)
        for seq, quantity in taken.items():
            this = (self._items.c.number == self._number) & (self._items.c.seq == seq)
            approving = update(self._items).where(this)
            self._connection.execute(approving.values(quantidadeAprovada=quantity))

    def _taken(self, wanted: Sequence[_Wanted]) -> tuple[dict[int, Decimal], list[Problem]]:
        """Return how much of each item is taken, and what is not to be had."""
        of_number = select(self._items).where(self._items.c.number == self._number)
        offered = self._connection.execute(of_number.order_by(self._items.c.seq)).all()
        left = {item.seq: item.quantidade for item in offered}
        problems: list[Problem] = []
        for index, want in enumerate(wanted):
            rest = want.quantidade
            fitting = [item.seq for item in offered if _is_wanted(item, want)]
            for seq in fitting:
                part = min(rest, left[seq])
                left[seq] -= part
                rest -= part
            if not fitting:
                message = f"{self._label} {self._number} não tem este item."
                problems.append((f"itens.{index}.idProduto", message))
            elif rest:
                message = f"{self._label} {self._number} não tem esta quantidade do item."
                problems.append((f"itens.{index}.quantidade", message))
        return {item.seq: item.quantidade - left[item.seq] for item in offered}, problems


def _is_wanted(item: Row[Any], want: _Wanted) -> bool:
    """Tell whether an item is meant: by its product, or by the words of one that is not registered.

    What was asked for in words may be registered by the time that it is bought.
    """
    if item.idProduto != AD_HOC:
        return bool(item.idProduto == want.idProduto)
    if isinstance(want, PurchaseOrderItemInput):
        return True
    asked, words = item.descricaoDoProduto, want.descricaoDoProduto or ""
    return want.idProduto == AD_HOC and asked.casefold().split() == words.casefold().split()


Document = PurchaseRequisition | BuyingOrder | PurchaseOrder


class _DocumentRegistration(RecordRegistration):
    def _add(self, headers: Table, items: Table, document: Document) -> None:
        for table, rows in document_rows(headers, items, [document]).items():
            self._rows[table].extend(rows)


class PurchaseRequisitionRegistration(_DocumentRegistration):
    """Registration of new purchase requisitions."""

    def problems(self, data: PurchaseRequisitionInput) -> list[Problem]:
        """Return the rules that a new requisition breaks."""
        return request_problems(self._lookup, data)

    def accept(self, data: PurchaseRequisitionInput) -> PurchaseRequisition:
        """Accept a requisition without problems, open, under the next number."""
        requisition = PurchaseRequisition(
            **request_header(self._lookup, data),
            numeroDaRequisicao=self._numbers.next("purchase_requisition"),
            dataDaRequisicao=self._now,
            encerrada=False,
            itens=requested_items(self._lookup, data),
        )
        self._add(purchase_requisitions, purchase_requisition_items, requisition)
        return requisition


_NO_QUOTATIONS = 0


class BuyingOrderRegistration(_DocumentRegistration):
    """Registration of new orders; the requisition that one names is closed by it."""

    def problems(self, data: BuyingOrderInput) -> list[Problem]:
        """Return the rules that a new order breaks."""
        return [
            *request_problems(self._lookup, data),
            *self._lookup.field_problems(data, "codigoDoColaboradorResponsavelCompras"),
            *self._requisition(data).problems(data.itens),
            *self._stock_requisition_problems(data.NumeroDaRequisicaoDeEstoque),
        ]

    def accept(self, data: BuyingOrderInput) -> BuyingOrder:
        """Accept an order without problems, open, under the next number."""
        buyer = self._lookup.name(collaborators, data.codigoDoColaboradorResponsavelCompras)
        order = BuyingOrder(
            **request_header(self._lookup, data),
            numeroDaOrdem=self._numbers.next("buying_order"),
            dataDaOrdem=self._now,
            DescricaoDoColaboradorResponsavelCompras=buyer,
            TotalDeCotacoes=_NO_QUOTATIONS,
            encerrada=False,
            itens=requested_items(self._lookup, data),
        )
        self._add(buying_orders, buying_order_items, order)
        self._requisition(data).approve(data.itens)
        return order

    def _requisition(self, data: BuyingOrderInput) -> Origin:
        return Origin(
            self._connection,
            purchase_requisitions,
            purchase_requisition_items,
            ("NumeroDaRequisicaoDeCompra", "Requisição de compra"),
            data.NumeroDaRequisicaoDeCompra,
        )

    def _stock_requisition_problems(self, number: Decimal | None) -> list[Problem]:
        found = select(exists().where(stock_requisitions.c.number == number))
        if number is None or self._connection.scalar(found):
            return []
        message = f"Requisição de estoque {number}: número não cadastrado."
        return [("NumeroDaRequisicaoDeEstoque", message)]


class PurchaseOrderRegistration(_DocumentRegistration):
    """Registration of new purchase orders; the order (Ordem) that one names is closed by it."""

    def problems(self, data: PurchaseOrderInput) -> list[Problem]:
        """Return the rules that a new purchase order breaks."""
        lookup = self._lookup
        problems = [
            *lookup.field_problems(data, "codigoDaFilial", "codigoDoFornecedor"),
            *self._origin(data).problems(data.itens),
        ]
        for index, item in enumerate(data.itens):
            problems.extend(_ordered_item_problems(lookup, f"itens.{index}.", item))
        return problems

    def accept(self, data: PurchaseOrderInput) -> PurchaseOrder:
        """Accept a purchase order without problems, open, under the next number."""
        items = [self._item(seq, item) for seq, item in enumerate(data.itens, start=1)]
        order = PurchaseOrder(
            **data.model_dump(exclude={"itens"}),
            numeroPedido=self._numbers.next("purchase_order"),
            dataDoPedido=self._now,
            encerrado=False,
            valorTotal=sum(map(_item_total, data.itens), Decimal(0)),
            itens=items,
        )
        self._add(purchase_orders, purchase_order_items, order)
        self._origin(data).approve(data.itens)
        return order

    def _origin(self, data: PurchaseOrderInput) -> Origin:
        return Origin(
            self._connection,
            buying_orders,
            buying_order_items,
            ("numeroDaOrdem", "Ordem"),
            data.numeroDaOrdem,
        )

    def _item(self, seq: int, item: PurchaseOrderItemInput) -> PurchaseOrderItem:
        return PurchaseOrderItem(
            seq=seq,
            idProduto=item.idProduto,
            descricaoDoProduto=self._lookup.checked_entry(products, item.idProduto).name,
            quantidade=item.quantidade,
            valorUnitario=item.valorUnitario,
            valorTotal=_item_total(item),
        )


def _ordered_item_problems(
    lookup: CodeLookup, prefix: str, item: PurchaseOrderItemInput
) -> Iterator[Problem]:
    yield from lookup.field_problems(item, "idProduto", prefix=prefix)
    key = f"{prefix}valorUnitario"
    problems = amount_problems(key, item.valorUnitario, PRICE_PLACES)
    yield from problems or amount_problems(key, _item_total(item))


def _item_total(item: PurchaseOrderItemInput) -> Decimal:
    return round_half_even(item.quantidade * item.valorUnitario)


_REQUEST_CODES = (
    "codigoDaFilial", "codigoDoTipoDeCompra", "codigoDoColaborador", "codigoDoMotivo",
    "codigoDoCentroDeCusto", "CodigoDoProjeto",
)  # fmt: skip


def request_problems(lookup: CodeLookup, data: PurchaseRequisitionInput) -> list[Problem]:
    """Return the rules that the header and the items of a requisition or order break."""
    problems = lookup.field_problems(data, *_REQUEST_CODES)
    for index, item in enumerate(data.itens):
        problems.extend(_requested_item_problems(lookup, f"itens.{index}.", item))
    return problems


def request_header(lookup: CodeLookup, data: PurchaseRequisitionInput) -> dict[str, Any]:
    """Return the header of a requisition or order as it is read, with its project's name."""
    project = lookup.name(projects, data.CodigoDoProjeto)
    return data.model_dump(exclude={"itens"}) | {"DescricaoDoProjeto": project}


def requested_items(lookup: CodeLookup, data: PurchaseRequisitionInput) -> list[RequestedItem]:
    """Return the items under their numbers; a registered product keeps its registered name."""
    return [
        RequestedItem(
            seq=seq,
            idProduto=item.idProduto,
            descricaoDoProduto=lookup.name(products, item.idProduto)
            or item.descricaoDoProduto
            or "",
            quantidade=item.quantidade,
            quantidadeAprovada=Decimal(0),
        )
        for seq, item in enumerate(data.itens, start=1)
    ]


def _requested_item_problems(
    lookup: CodeLookup, prefix: str, item: RequestedItemInput
) -> Iterator[Problem]:
    if item.idProduto != AD_HOC:
        yield from lookup.field_problems(item, "idProduto", prefix=prefix)
    elif not (item.descricaoDoProduto or "").strip():
        yield f"{prefix}descricaoDoProduto", "Descreva o item que não é um produto cadastrado."


def document_rows(
    headers: Table, items: Table, documents: Iterable[Document]
) -> dict[Table, list[dict[str, Any]]]:
    """Return the rows of new documents and of their items, by table."""
    (key,) = headers.primary_key
    columns = set(headers.c.keys())
    rows: dict[Table, list[dict[str, Any]]] = {headers: [], items: []}
    for document in documents:
        row = document.model_dump(include=columns)
        rows[headers].append(row)
        rows[items].extend({"number": row[key.name], **i.model_dump()} for i in document.itens)
    return rows
