"""Rules of purchase requisitions, orders (Ordem), purchase orders (Pedido), spending limits.

Each document approves and closes the one that it was made from. Source: the spec, Purchasing and
States (purchase flow), which does not show the approvals.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Row,
    Table,
    and_,
    exists,
    select,
    update,
)

from xlbridge.sandbox.amounts import PRICE_PLACES, amount_problems, item_total
from xlbridge.sandbox.areas.financial.titles import category_problems
from xlbridge.sandbox.areas.registry.codes import CodeLookup, RecordRegistration
from xlbridge.sandbox.areas.registry.tables import collaborators, products, projects
from xlbridge.sandbox.areas.stock.movements import stock_requisitions
from xlbridge.sandbox.columns import derived_columns, metadata
from xlbridge.sandbox.problems import Problem
from xlbridge.wire import Attachment
from xlbridge.wire.budget import SpendingLimit, SpendingLimitChange, SpendingLimitInput
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


def _header_number(header: Table) -> Column[int]:
    (key,) = header.primary_key
    return Column("number", ForeignKey(key), primary_key=True)


purchase_requisitions = Table(
    "purchase_requisitions",
    metadata,
    *derived_columns(
        PurchaseRequisition,
        keys=("numeroDaRequisicao",),
        exclude=("itens", "DescricaoDoProjeto"),
    ),
)
purchase_requisition_items = Table(
    "purchase_requisition_items",
    metadata,
    _header_number(purchase_requisitions),
    *derived_columns(RequestedItem, keys=("seq",)),
)
buying_orders = Table(
    "buying_orders",
    metadata,
    *derived_columns(
        BuyingOrder,
        keys=("numeroDaOrdem",),
        exclude=("itens", "DescricaoDoProjeto", "DescricaoDoColaboradorResponsavelCompras"),
    ),
)
buying_order_items = Table(
    "buying_order_items",
    metadata,
    _header_number(buying_orders),
    *derived_columns(RequestedItem, keys=("seq",)),
)
purchase_orders = Table(
    "purchase_orders",
    metadata,
    *derived_columns(
        PurchaseOrder,
        keys=("numeroPedido",),
        exclude=("itens", "Arquivos", "ArquivosNotasFiscais"),
    ),
)
purchase_order_items = Table(
    "purchase_order_items",
    metadata,
    _header_number(purchase_orders),
    *derived_columns(PurchaseOrderItem, keys=("seq",)),
)
purchase_order_files = Table(
    "purchase_order_files",
    metadata,
    _header_number(purchase_orders),
    *derived_columns(Attachment, keys=("Id",)),
    Column("of_invoice", Boolean, nullable=False),
)
spending_limits = Table(
    "spending_limits",
    metadata,
    *derived_columns(SpendingLimit, keys=("idPlanejamento",)),
    Index("spending_limits_by_month", "ano", "mes"),
)


AD_HOC = 0
"""``idProduto`` of an item that is not a registered product."""

_ItemInput = RequestedItemInput | PurchaseOrderItemInput


def _matches(original: Row[Any], item: _ItemInput) -> bool:
    """Compare items by product; ad-hoc items by description.

    In a purchase order any product matches an ad-hoc item: it may have been registered since.
    """
    if original.idProduto != AD_HOC:
        return bool(original.idProduto == item.idProduto)
    if isinstance(item, PurchaseOrderItemInput):
        return True
    description = (item.descricaoDoProduto or "").casefold().split()
    is_same = original.descricaoDoProduto.casefold().split() == description
    return item.idProduto == AD_HOC and is_same


Document = TypeVar("Document", PurchaseRequisition, BuyingOrder, PurchaseOrder)
_DocumentInput = PurchaseRequisitionInput | PurchaseOrderInput


class DocumentRegistration(RecordRegistration[Document]):
    """Registration of documents with items.

    A new one may be made from another: ``headers`` and ``items`` are the tables of those, ``key``
    is the field with its number and ``label`` its name in messages. It may then only have that
    one's items, and closes it, with its own quantities as approved quantities.
    """

    headers: ClassVar[Table]
    items: ClassVar[Table]
    key: ClassVar[str]
    label: ClassVar[str]

    def _origin_problems(self, data: _DocumentInput) -> list[Problem]:
        """Return the problem of an unknown or closed document, or of items that it lacks."""
        number = getattr(data, self.key)
        if number is None:
            return []
        (key,) = self.headers.primary_key
        by_number = key == number
        closed = self._connection.scalar(select(self.headers.c.encerrada).where(by_number))
        if closed is None:
            return [(self.key, f"{self.label} {number}: número não cadastrado.")]
        if closed:
            return [(self.key, f"{self.label} {number} já está encerrada.")]
        _, problems = self._allocate(number, data.itens)
        return problems

    def _approve_origin(self, data: _DocumentInput) -> None:
        """Close the document, and set the approved quantities of its items."""
        number = getattr(data, self.key)
        if number is None:
            return
        (key,) = self.headers.primary_key
        closing = update(self.headers).where(key == number).values(encerrada=True)
        self._connection.execute(closing)
        approved, _ = self._allocate(number, data.itens)
        for seq, quantity in approved.items():
            by_key = (self.items.c.number == number) & (self.items.c.seq == seq)
            approval = update(self.items).where(by_key).values(quantidadeAprovada=quantity)
            self._connection.execute(approval)

    def _allocate(
        self, number: Decimal | int, items: Sequence[_ItemInput]
    ) -> tuple[dict[int, Decimal], list[Problem]]:
        """Match new items with the document's; return quantities by ``seq``, and problems."""
        statement = select(self.items).where(self.items.c.number == number)
        originals = self._connection.execute(statement.order_by(self.items.c.seq)).all()
        available = {original.seq: original.quantidade for original in originals}
        problems: list[Problem] = []
        for index, item in enumerate(items):
            missing = item.quantidade
            matching = [original.seq for original in originals if _matches(original, item)]
            for seq in matching:
                part = min(missing, available[seq])
                available[seq] -= part
                missing -= part
            if not matching:
                message = f"{self.label} {number} não tem este item."
                problems.append((f"itens.{index}.idProduto", message))
            elif missing:
                message = f"{self.label} {number} não tem esta quantidade do item."
                problems.append((f"itens.{index}.quantidade", message))
        return {item.seq: item.quantidade - available[item.seq] for item in originals}, problems

    def _keep(self, headers: Table, items: Table, document: Document) -> None:
        """Keep the rows of an accepted document for ``write``."""
        row = document.model_dump(include=set(headers.c.keys()))
        (key,) = headers.primary_key
        self._rows[headers].append(row)
        self._rows[items] += ({"number": row[key.name], **i.model_dump()} for i in document.itens)


class PurchaseRequisitionRegistration(DocumentRegistration[PurchaseRequisition]):
    """Registration of new purchase requisitions."""

    def problems(self, data: PurchaseRequisitionInput) -> list[Problem]:
        """Return the problems of a new requisition."""
        return request_problems(self._lookup, data)

    def accept(self, data: PurchaseRequisitionInput) -> PurchaseRequisition:
        """Accept an open requisition, with the next number."""
        requisition = PurchaseRequisition(
            **request_header(self._lookup, data),
            numeroDaRequisicao=self._numbers.next("purchase_requisition"),
            dataDaRequisicao=self._now,
            encerrada=False,
            itens=requested_items(self._lookup, data),
        )
        self._keep(purchase_requisitions, purchase_requisition_items, requisition)
        return requisition


class BuyingOrderRegistration(DocumentRegistration[BuyingOrder]):
    """Registration of new orders; each closes the requisition that it refers to."""

    headers, items = purchase_requisitions, purchase_requisition_items
    key, label = "NumeroDaRequisicaoDeCompra", "Requisição de compra"

    def problems(self, data: BuyingOrderInput) -> list[Problem]:
        """Return the problems of a new order."""
        problems = [
            *request_problems(self._lookup, data),
            *self._lookup.field_problems(data, "codigoDoColaboradorResponsavelCompras"),
            *self._origin_problems(data),
        ]
        number = data.NumeroDaRequisicaoDeEstoque
        stored = exists().where(stock_requisitions.c.number == number)
        if number is not None and not self._connection.scalar(select(stored)):
            message = f"Requisição de estoque {number}: número não cadastrado."
            problems.append(("NumeroDaRequisicaoDeEstoque", message))
        return problems

    def accept(self, data: BuyingOrderInput) -> BuyingOrder:
        """Accept an open order, with the next number."""
        buyer = self._lookup.name(collaborators, data.codigoDoColaboradorResponsavelCompras)
        order = BuyingOrder(
            **request_header(self._lookup, data),
            numeroDaOrdem=self._numbers.next("buying_order"),
            dataDaOrdem=self._now,
            DescricaoDoColaboradorResponsavelCompras=buyer,
            TotalDeCotacoes=0,
            encerrada=False,
            itens=requested_items(self._lookup, data),
        )
        self._keep(buying_orders, buying_order_items, order)
        self._approve_origin(data)
        return order


class PurchaseOrderRegistration(DocumentRegistration[PurchaseOrder]):
    """Registration of new purchase orders; each closes the order (Ordem) that it refers to."""

    headers, items = buying_orders, buying_order_items
    key, label = "numeroDaOrdem", "Ordem"

    def problems(self, data: PurchaseOrderInput) -> list[Problem]:
        """Return the problems of a new purchase order."""
        lookup = self._lookup
        problems = [
            *lookup.field_problems(data, "codigoDaFilial", "codigoDoFornecedor"),
            *self._origin_problems(data),
        ]
        for index, item in enumerate(data.itens):
            prefix = f"itens.{index}."
            problems += lookup.field_problems(item, "idProduto", prefix=prefix)
            key = f"{prefix}valorUnitario"
            problems += amount_problems(key, item.valorUnitario, PRICE_PLACES) or amount_problems(
                key, item_total(item)
            )
        return problems

    def accept(self, data: PurchaseOrderInput) -> PurchaseOrder:
        """Accept an open purchase order, with the next number."""
        items = [
            PurchaseOrderItem(
                seq=seq,
                idProduto=item.idProduto,
                descricaoDoProduto=self._lookup.checked_entry(
                    products, item.idProduto
                ).descricaoDoProduto,
                quantidade=item.quantidade,
                valorUnitario=item.valorUnitario,
                valorTotal=item_total(item),
            )
            for seq, item in enumerate(data.itens, start=1)
        ]
        order = PurchaseOrder(
            **data.model_dump(exclude={"itens"}),
            numeroPedido=self._numbers.next("purchase_order"),
            dataDoPedido=self._now,
            encerrado=False,
            valorTotal=sum(map(item_total, data.itens), Decimal(0)),
            itens=items,
        )
        self._keep(purchase_orders, purchase_order_items, order)
        self._approve_origin(data)
        return order


class SpendingLimitRegistration(RecordRegistration[SpendingLimit]):
    """Registration of new spending limits."""

    table, model, scope = spending_limits, SpendingLimit, "spending_limit"

    def problems(self, data: SpendingLimitInput) -> list[Problem]:
        """Return the problems of a limit, new or altered."""
        category = data.codigoDoItemDeLancamento
        problems = [
            *self._lookup.field_problems(data, *LIMIT_CODES),
            *category_problems(self._lookup, "codigoDoItemDeLancamento", category, revenue=False),
            *amount_problems("valorLimite", data.valorLimite),
        ]
        replaced = data.idPlanejamento if isinstance(data, SpendingLimitChange) else None
        key = data.model_dump(include=_LIMIT_KEY)
        by_key = and_(*(spending_limits.c[name].is_not_distinct_from(key[name]) for name in key))
        other = self._connection.scalar(select(spending_limits.c.idPlanejamento).where(by_key))
        if other not in (None, replaced):
            message = f"O planejamento {other} já tem um limite com os mesmos códigos e mês."
            problems.append(("mes", message))
        return problems


LIMIT_CODES = ("codigoDaFilial", "codigoDoCentroDeCusto", "codigoDoProjeto")
_LIMIT_KEY = set(SpendingLimitInput.model_fields) - {"valorLimite"}


_REQUEST_CODES = (
    "codigoDaFilial", "codigoDoTipoDeCompra", "codigoDoColaborador", "codigoDoMotivo",
    "codigoDoCentroDeCusto", "CodigoDoProjeto",
)  # fmt: skip


def request_problems(lookup: CodeLookup, data: PurchaseRequisitionInput) -> list[Problem]:
    """Return the problems of the header and items of a requisition or order."""
    problems = lookup.field_problems(data, *_REQUEST_CODES)
    for index, item in enumerate(data.itens):
        prefix = f"itens.{index}."
        if item.idProduto != AD_HOC:
            problems += lookup.field_problems(item, "idProduto", prefix=prefix)
        elif not (item.descricaoDoProduto or "").strip():
            message = "Informe a descrição do item não cadastrado."
            problems.append((f"{prefix}descricaoDoProduto", message))
    return problems


def request_header(lookup: CodeLookup, data: PurchaseRequisitionInput) -> dict[str, Any]:
    """Return the header fields of a requisition or order, with the name of its project."""
    project = lookup.name(projects, data.CodigoDoProjeto)
    return data.model_dump(exclude={"itens"}) | {"DescricaoDoProjeto": project}


def requested_items(lookup: CodeLookup, data: PurchaseRequisitionInput) -> list[RequestedItem]:
    """Return the numbered items; registered products have their registered name."""
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
