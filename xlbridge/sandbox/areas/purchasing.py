"""Purchase requisitions, orders (Ordem), purchase orders (Pedido), spending limits.

Each document approves and closes the one that it was made from. Source: the spec, Purchasing and
States (purchase flow), which does not show the approvals; Errors.
"""

import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Row,
    Select,
    Table,
    and_,
    delete,
    exists,
    select,
    update,
)

from xlbridge.sandbox.area_declarations import (
    Call,
    Lists,
    Model,
    derived_columns,
    equal_conditions,
    handle_records,
    handles,
    metadata,
)
from xlbridge.sandbox.areas.movements import stock_requisitions
from xlbridge.sandbox.areas.registries import (
    CodeLookup,
    RecordRegistration,
    branches,
    collaborators,
    cost_centres,
    products,
    projects,
    purchase_reasons,
    purchase_types,
    select_entries,
)
from xlbridge.sandbox.areas.titles import category_problems
from xlbridge.sandbox.problems import (
    PRICE_PLACES,
    Problem,
    RequestError,
    amount_problems,
    item_total,
)
from xlbridge.wire import Attachment, WireModel, purchasing


def _header_number(header: Table) -> Column[int]:
    (key,) = header.primary_key
    return Column("number", ForeignKey(key), primary_key=True)


def _document_tables(
    name: str, model: type[WireModel], key: str, item: type[WireModel], *unstored: str
) -> tuple[Table, Table]:
    """Return the tables of a kind of documents and of their items."""
    stored = derived_columns(model, keys=(key,), exclude=("itens", *unstored))
    headers = Table(f"{name}s", metadata, *stored)
    items = derived_columns(item, keys=("seq",))
    return headers, Table(f"{name}_items", metadata, _header_number(headers), *items)


purchase_requisitions, purchase_requisition_items = _document_tables(
    "purchase_requisition",
    purchasing.PurchaseRequisition,
    "numeroDaRequisicao",
    purchasing.RequestedItem,
    "DescricaoDoProjeto",
)
buying_orders, buying_order_items = _document_tables(
    "buying_order",
    purchasing.BuyingOrder,
    "numeroDaOrdem",
    purchasing.RequestedItem,
    "DescricaoDoProjeto",
    "DescricaoDoColaboradorResponsavelCompras",
)
purchase_orders, purchase_order_items = _document_tables(
    "purchase_order",
    purchasing.PurchaseOrder,
    "numeroPedido",
    purchasing.PurchaseOrderItem,
    "Arquivos",
    "ArquivosNotasFiscais",
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
    *derived_columns(purchasing.SpendingLimit, keys=("idPlanejamento",)),
    Index("spending_limits_by_month", "ano", "mes"),
)


AD_HOC = 0
"""``idProduto`` of an item that is not a registered product."""

_ItemInput = purchasing.RequestedItemInput | purchasing.PurchaseOrderItemInput


def _matches(original: Row[Any], item: _ItemInput) -> bool:
    """Compare items by product; ad-hoc items by description.

    In a purchase order any product matches an ad-hoc item: it may have been registered since.
    """
    if original.idProduto != AD_HOC:
        return bool(original.idProduto == item.idProduto)
    if isinstance(item, purchasing.PurchaseOrderItemInput):
        return True
    description = (item.descricaoDoProduto or "").casefold().split()
    is_same = original.descricaoDoProduto.casefold().split() == description
    return item.idProduto == AD_HOC and is_same


Document = TypeVar(
    "Document", purchasing.PurchaseRequisition, purchasing.BuyingOrder, purchasing.PurchaseOrder
)
_DocumentInput = purchasing.PurchaseRequisitionInput | purchasing.PurchaseOrderInput


class DocumentRegistration(RecordRegistration[Document]):
    """Registration of documents with items.

    A new one may be made from another: ``origin`` are those, ``key`` is the field with its number
    and ``label`` its name in messages. It may then only have that one's items, and closes it, with
    its own quantities as approved quantities.
    """

    origin: ClassVar[type["DocumentRegistration[Any]"]]
    key: ClassVar[str]
    label: ClassVar[str]

    @classmethod
    def items(cls) -> Table:
        """Return the table of the items."""
        _, (number,) = cls.lists["itens"]
        return number.table

    def _origin_problems(self, data: _DocumentInput) -> list[Problem]:
        """Return the problem of an unknown or closed document, or of items that it lacks."""
        number = getattr(data, self.key)
        if number is None:
            return []
        headers = self.origin.table
        by_number = and_(*self.origin.by_key([number]))
        closed = self._connection.scalar(select(headers.c.encerrada).where(by_number))
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
        by_number, items = and_(*self.origin.by_key([number])), self.origin.items()
        closing = update(self.origin.table).where(by_number).values(encerrada=True)
        self._connection.execute(closing)
        approved, _ = self._allocate(number, data.itens)
        for seq, quantity in approved.items():
            by_key = (items.c.number == number) & (items.c.seq == seq)
            approval = update(items).where(by_key).values(quantidadeAprovada=quantity)
            self._connection.execute(approval)

    def _allocate(
        self, number: Decimal | int, items: Sequence[_ItemInput]
    ) -> tuple[dict[int, Decimal], list[Problem]]:
        """Match new items with the document's; return quantities by ``seq``, and problems."""
        stored = self.origin.items()
        statement = select(stored).where(stored.c.number == number)
        originals = self._connection.execute(statement.order_by(stored.c.seq)).all()
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


class PurchaseRequisitionRegistration(DocumentRegistration[purchasing.PurchaseRequisition]):
    """Registration of new purchase requisitions."""

    table, model, scope = (
        purchase_requisitions,
        purchasing.PurchaseRequisition,
        "purchase_requisition",
    )
    lists: ClassVar[Lists] = {
        "itens": (purchasing.RequestedItem, [purchase_requisition_items.c.number])
    }
    missing = ("id", "Requisição de compra não encontrada.")

    @classmethod
    def statement(cls) -> Select[Any]:
        """Return the statement that selects requisitions with the names of their projects."""
        project = projects.c.name.label("DescricaoDoProjeto")
        of_project = projects.c.code == purchase_requisitions.c.CodigoDoProjeto
        return select(purchase_requisitions, project).outerjoin(projects, of_project)

    def problems(self, data: purchasing.PurchaseRequisitionInput) -> list[Problem]:
        """Return the problems of a new requisition."""
        return request_problems(self._lookup, data)

    def accept(self, data: purchasing.PurchaseRequisitionInput) -> purchasing.PurchaseRequisition:
        """Accept an open requisition, with the next number."""
        requisition = purchasing.PurchaseRequisition(
            **request_header(self._lookup, data),
            numeroDaRequisicao=self._numbers.next(self.scope),
            dataDaRequisicao=self._now,
            encerrada=False,
            itens=requested_items(self._lookup, data),
        )
        self._keep(requisition)
        return requisition


class BuyingOrderRegistration(DocumentRegistration[purchasing.BuyingOrder]):
    """Registration of new orders; each closes the requisition that it refers to."""

    table, model, scope = buying_orders, purchasing.BuyingOrder, "buying_order"
    lists: ClassVar[Lists] = {"itens": (purchasing.RequestedItem, [buying_order_items.c.number])}
    missing = ("id", "Ordem de compra não encontrada.")
    origin = PurchaseRequisitionRegistration
    key, label = "NumeroDaRequisicaoDeCompra", "Requisição de compra"

    @classmethod
    def statement(cls) -> Select[Any]:
        """Return the statement that selects orders with the names of their projects and buyers."""
        orders, buyer = buying_orders.c, "DescricaoDoColaboradorResponsavelCompras"
        return (
            select(
                buying_orders,
                projects.c.name.label("DescricaoDoProjeto"),
                collaborators.c.name.label(buyer),
            )
            .outerjoin(projects, projects.c.code == orders.CodigoDoProjeto)
            .outerjoin(
                collaborators, collaborators.c.code == orders.codigoDoColaboradorResponsavelCompras
            )
        )

    def problems(self, data: purchasing.BuyingOrderInput) -> list[Problem]:
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

    def accept(self, data: purchasing.BuyingOrderInput) -> purchasing.BuyingOrder:
        """Accept an open order, with the next number."""
        buyer = self._lookup.name(collaborators, data.codigoDoColaboradorResponsavelCompras)
        order = purchasing.BuyingOrder(
            **request_header(self._lookup, data),
            numeroDaOrdem=self._numbers.next(self.scope),
            dataDaOrdem=self._now,
            DescricaoDoColaboradorResponsavelCompras=buyer,
            TotalDeCotacoes=0,
            encerrada=False,
            itens=requested_items(self._lookup, data),
        )
        self._keep(order)
        self._approve_origin(data)
        return order


class PurchaseOrderRegistration(DocumentRegistration[purchasing.PurchaseOrder]):
    """Registration of new purchase orders; each closes the order (Ordem) that it refers to."""

    table, model, scope = purchase_orders, purchasing.PurchaseOrder, "purchase_order"
    lists: ClassVar[Lists] = {
        "itens": (purchasing.PurchaseOrderItem, [purchase_order_items.c.number])
    }
    missing = ("numeroPedido", "Pedido de compra não encontrado.")
    origin = BuyingOrderRegistration
    key, label = "numeroDaOrdem", "Ordem"

    def problems(self, data: purchasing.PurchaseOrderInput) -> list[Problem]:
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

    def accept(self, data: purchasing.PurchaseOrderInput) -> purchasing.PurchaseOrder:
        """Accept an open purchase order, with the next number."""
        order = purchasing.PurchaseOrder(
            **data.model_dump(exclude={"itens"}),
            numeroPedido=self._numbers.next(self.scope),
            dataDoPedido=self._now,
            encerrado=False,
            valorTotal=sum(map(item_total, data.itens), Decimal(0)),
            itens=[
                purchasing.PurchaseOrderItem(
                    seq=seq,
                    descricaoDoProduto=self._lookup.name(products, item.idProduto),
                    valorTotal=item_total(item),
                    **item.model_dump(),
                )
                for seq, item in enumerate(data.itens, start=1)
            ],
        )
        self._keep(order)
        self._approve_origin(data)
        return order


class SpendingLimitRegistration(RecordRegistration[purchasing.SpendingLimit]):
    """Registration of new spending limits."""

    table, model, scope = spending_limits, purchasing.SpendingLimit, "spending_limit"
    missing = ("idPlanejamento", "Planejamento não encontrado.")

    def problems(self, data: purchasing.SpendingLimitInput) -> list[Problem]:
        """Return the problems of a limit, new or altered."""
        category = data.codigoDoItemDeLancamento
        problems = [
            *self._lookup.field_problems(data, *LIMIT_CODES),
            *category_problems(self._lookup, "codigoDoItemDeLancamento", category, revenue=False),
            *amount_problems("valorLimite", data.valorLimite),
        ]
        replaced = data.idPlanejamento if isinstance(data, purchasing.SpendingLimitChange) else None
        key = data.model_dump(include=_LIMIT_KEY)
        by_key = and_(*(spending_limits.c[name].is_not_distinct_from(key[name]) for name in key))
        other = self._connection.scalar(select(spending_limits.c.idPlanejamento).where(by_key))
        if other not in (None, replaced):
            message = f"O planejamento {other} já tem um limite com os mesmos códigos e mês."
            problems.append(("mes", message))
        return problems


LIMIT_CODES = ("codigoDaFilial", "codigoDoCentroDeCusto", "codigoDoProjeto")
_LIMIT_KEY = set(purchasing.SpendingLimitInput.model_fields) - {"valorLimite"}


_REQUEST_CODES = (
    "codigoDaFilial", "codigoDoTipoDeCompra", "codigoDoColaborador", "codigoDoMotivo",
    "codigoDoCentroDeCusto", "CodigoDoProjeto",
)  # fmt: skip


def request_problems(
    lookup: CodeLookup, data: purchasing.PurchaseRequisitionInput
) -> list[Problem]:
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


def request_header(lookup: CodeLookup, data: purchasing.PurchaseRequisitionInput) -> dict[str, Any]:
    """Return the header fields of a requisition or order, with the name of its project."""
    project = lookup.name(projects, data.CodigoDoProjeto)
    return data.model_dump(exclude={"itens"}) | {"DescricaoDoProjeto": project}


def requested_items(
    lookup: CodeLookup, data: purchasing.PurchaseRequisitionInput
) -> list[purchasing.RequestedItem]:
    """Return the numbered items; registered products have their registered name."""
    return [
        purchasing.RequestedItem(
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


handle_records(
    PurchaseRequisitionRegistration,
    purchasing.REQUISITION_CREATE,
    purchasing.REQUISITION_CREATE_SUFFIXED,
    purchasing.REQUISITION_GET,
)
handle_records(BuyingOrderRegistration, purchasing.ORDER_CREATE, purchasing.ORDER_GET)
handle_records(
    SpendingLimitRegistration, purchasing.SPENDING_LIMIT_CREATE, purchasing.SPENDING_LIMIT_UPDATE
)


@handles(purchasing.REQUISITION_LIST_OPEN)
@handles(purchasing.REQUISITION_LIST_CLOSED)
def list_requisitions(call: Call) -> list[purchasing.PurchaseRequisition]:
    query, columns = call.query_as(purchasing.RequisitionQuery), purchase_requisitions.c
    lookup = CodeLookup(call.connection)
    problems = lookup.problems("CodigoDaFilial", branches, query.CodigoDaFilial, "Filial")
    for code in query.CodigosCentroCustos:
        problems += lookup.problems("CodigosCentroCustos", cost_centres, code, "Centro de custo")
    if problems:
        raise RequestError(404, problems)
    conditions: list[ColumnElement[bool]] = [
        columns.encerrada.is_(call.operation is purchasing.REQUISITION_LIST_CLOSED)
    ]
    if query.CodigoDaFilial is not None:
        conditions.append(columns.codigoDaFilial == query.CodigoDaFilial)
    if query.CodigosCentroCustos:
        conditions.append(columns.codigoDoCentroDeCusto.in_(query.CodigosCentroCustos))
    return PurchaseRequisitionRegistration.find(call.connection, *conditions)


@handles(purchasing.ORDER_LIST_OPEN)
@handles(purchasing.ORDER_LIST_CLOSED)
def list_orders(call: Call) -> list[purchasing.BuyingOrder]:
    in_state = buying_orders.c.encerrada.is_(call.operation is purchasing.ORDER_LIST_CLOSED)
    return BuyingOrderRegistration.find(call.connection, in_state)


def _reject_order(problems: Sequence[Problem]) -> purchasing.PurchaseOrderAnswer:
    notifications = [purchasing.Notification(key=key, value=value) for key, value in problems]
    return purchasing.PurchaseOrderAnswer(notifications=notifications, payload=None)


@handles(purchasing.PURCHASE_ORDER_CREATE, on_invalid=_reject_order)
def create_purchase_order(call: Call) -> purchasing.PurchaseOrderAnswer:
    registration = PurchaseOrderRegistration(call.connection, call.now)
    try:
        order = registration.register(call.body_as(purchasing.PurchaseOrderInput))
    except RequestError as error:
        return _reject_order(error.problems)
    created = purchasing.PurchaseOrderCreated(
        numeroPedido=order.numeroPedido, codigoDoFornecedor=order.codigoDoFornecedor
    )
    return purchasing.PurchaseOrderAnswer(notifications=[], payload=created)


@handles(purchasing.PURCHASE_ORDER_LIST_OPEN)
@handles(purchasing.PURCHASE_ORDER_LIST_CLOSED)
def list_purchase_orders(call: Call) -> list[purchasing.PurchaseOrder]:
    in_state = purchase_orders.c.encerrado.is_(
        call.operation is purchasing.PURCHASE_ORDER_LIST_CLOSED
    )
    return PurchaseOrderRegistration.find(call.connection, in_state)


@handles(purchasing.PURCHASE_ORDER_GET)
def show_purchase_order(call: Call) -> purchasing.PurchaseOrder:
    number = call.path["numeroPedido"]
    order = PurchaseOrderRegistration.get(call.connection, number)
    return order.model_copy(
        update={
            "Arquivos": _attached_files(call, number, of_invoice=False),
            "ArquivosNotasFiscais": _attached_files(call, number, of_invoice=True),
        }
    )


def _attached_files(call: Call, number: int, *, of_invoice: bool) -> list[Attachment]:
    files = purchase_order_files.c
    columns = tuple(files[name] for name in Attachment.model_fields)
    statement = select(*columns).where(files.number == number, files.of_invoice.is_(of_invoice))
    return call.read_attachments(statement.order_by(files.Id))


@handles(purchasing.PURCHASE_TYPE_LIST)
def list_purchase_types(call: Call) -> list[purchasing.PurchaseType]:
    return _entries(call, purchasing.PurchaseType, purchase_types)


@handles(purchasing.PURCHASE_REASON_LIST)
def list_purchase_reasons(call: Call) -> list[purchasing.PurchaseReason]:
    def dictionary_order(reason: purchasing.PurchaseReason) -> str:
        """Sort key that ignores accents and case, the same on every database."""
        plain = unicodedata.normalize("NFKD", reason.descricaoDoMotivo or "")
        return plain.encode("ascii", "ignore").decode().casefold()

    return sorted(_entries(call, purchasing.PurchaseReason, purchase_reasons), key=dictionary_order)


def _entries(call: Call, model: type[Model], registry: Table) -> list[Model]:
    statement = select_entries(registry, model)
    if call.query_as(purchasing.ActiveQuery).somenteAtivos:
        statement = statement.where(registry.c.active)
    return call.read(model, statement)


@handles(purchasing.SPENDING_LIMIT_LIST)
def list_spending_limits(call: Call) -> list[purchasing.SpendingLimit]:
    query = call.query_as(purchasing.SpendingLimitQuery)
    lookup = CodeLookup(call.connection)
    unknown = lookup.field_problems(query, *LIMIT_CODES, "codigoDoItemDeLancamento")
    if unknown:
        raise RequestError(404, unknown)
    filters = equal_conditions(spending_limits, query, *type(query).model_fields)
    return SpendingLimitRegistration.find(call.connection, *filters)


@handles(purchasing.SPENDING_LIMIT_DELETE)
def delete_spending_limit(call: Call) -> purchasing.SpendingLimit:
    number = call.query_as(purchasing.SpendingLimitKey).idPlanejamento
    limit = SpendingLimitRegistration.get(call.connection, number)
    by_id = spending_limits.c.idPlanejamento == number
    call.connection.execute(delete(spending_limits).where(by_id))
    return limit
