"""Requisitions, orders (Ordem), purchase orders (Pedido), spending limits: models and operations.

Source: the spec, Purchasing (planejamento for the limits). References between documents, the
responsible buyer, dates and states in responses beyond those named there, and the shape of spending
limits are this project's choice (``docs/assumptions.md``).
"""

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from xlbridge.wire.model import (
    Attachment,
    Many,
    Moment,
    Number,
    Operation,
    WireModel,
    empty_list,
    null_as,
)

DocumentNumber = Annotated[Number, Field(gt=0, lt=2**31, multiple_of=1)]
"""Number of another document, a decimal in the spec."""


class RequestedItemInput(WireModel):
    """One item of a requisition or order to create; ``idProduto`` 0 means an ad-hoc item."""

    idProduto: int = 0
    descricaoDoProduto: str | None = None
    quantidade: Number = Field(gt=0)


class RequestedItem(WireModel):
    """One item of a requisition or order; ``quantidadeAprovada`` is 0 initially."""

    seq: int | None = None
    idProduto: int | None = None
    descricaoDoProduto: str | None = None
    quantidade: Number | None = None
    quantidadeAprovada: Number | None = None


class RequisitionHeader(WireModel):
    """Fields common to requisitions and orders, in requests and responses."""

    codigoDaFilial: int | None = None
    codigoDoTipoDeCompra: int | None = None
    codigoDoColaborador: int | None = None
    codigoDoMotivo: int | None = None
    codigoDoCentroDeCusto: str | None = None
    CodigoDoProjeto: int | None = None


class PurchaseRequisitionInput(RequisitionHeader):
    """A purchase requisition to create; its number is generated."""

    codigoDaFilial: int
    codigoDoTipoDeCompra: int
    codigoDoColaborador: int
    itens: list[RequestedItemInput] = Field(min_length=1)


class PurchaseRequisition(RequisitionHeader):
    """A purchase requisition in responses."""

    numeroDaRequisicao: int | None = None
    dataDaRequisicao: Moment | None = None
    DescricaoDoProjeto: str | None = None
    DataLiberacaoParaAprovacao: Moment | None = None
    encerrada: bool | None = None
    itens: Many[RequestedItem] = Field(default_factory=empty_list)


class RequisitionQuery(WireModel):
    """Filters of the requisition listings; no cost centres means all of them."""

    camel_case: ClassVar[bool] = False

    CodigoDaFilial: int | None = None
    CodigosCentroCustos: list[str] = Field(default_factory=empty_list)


class BuyingOrderInput(PurchaseRequisitionInput):
    """An order (Ordem) to create; it closes the purchase requisition that it refers to."""

    NumeroDaRequisicaoDeCompra: DocumentNumber | None = None
    NumeroDaRequisicaoDeEstoque: DocumentNumber | None = None
    codigoDoColaboradorResponsavelCompras: int | None = None


class BuyingOrder(RequisitionHeader):
    """An order (Ordem) in responses."""

    numeroDaOrdem: int | None = None
    dataDaOrdem: Moment | None = None
    NumeroDaRequisicaoDeCompra: Number | None = None
    NumeroDaRequisicaoDeEstoque: Number | None = None
    DescricaoDoProjeto: str | None = None
    codigoDoColaboradorResponsavelCompras: int | None = None
    DescricaoDoColaboradorResponsavelCompras: str | None = None
    TotalDeCotacoes: int | None = None
    DataLiberacaoParaAprovacao: Moment | None = None
    encerrada: bool | None = None
    itens: Many[RequestedItem] = Field(default_factory=empty_list)


class PurchaseOrderItemInput(WireModel):
    """One item of a purchase order to create."""

    idProduto: int
    quantidade: Number = Field(gt=0)
    valorUnitario: Number = Field(ge=0)


class PurchaseOrderItem(WireModel):
    """One item of a purchase order; ``valorTotal`` is rounded to cents."""

    seq: int | None = None
    idProduto: int | None = None
    descricaoDoProduto: str | None = None
    quantidade: Number | None = None
    valorUnitario: Number | None = None
    valorTotal: Number | None = None


class PurchaseOrderHeader(WireModel):
    """Header of a purchase order, in requests and responses.

    ``numeroDaOrdem`` is the order (Ordem) that it was made from, ``IdPedidoWS`` the caller's
    identifier.
    """

    codigoDaFilial: int | None = None
    codigoDoFornecedor: int | None = None
    numeroDaOrdem: int | None = None
    IdPedidoWS: str | None = None


class PurchaseOrderInput(PurchaseOrderHeader):
    """A purchase order to create; it closes the order (Ordem) that it refers to."""

    codigoDaFilial: int
    codigoDoFornecedor: int
    itens: list[PurchaseOrderItemInput] = Field(min_length=1)


class PurchaseOrder(PurchaseOrderHeader):
    """A purchase order in responses; the two lists of files stay empty in listings."""

    numeroPedido: int | None = None
    dataDoPedido: Moment | None = None
    DataLiberacaoParaAprovacao: Moment | None = None
    encerrado: bool | None = None
    valorTotal: Number | None = None
    itens: Many[PurchaseOrderItem] = Field(default_factory=empty_list)
    Arquivos: Many[Attachment] = Field(default_factory=empty_list)
    ArquivosNotasFiscais: Many[Attachment] = Field(default_factory=empty_list)


class PurchaseOrderCreated(WireModel):
    """Purchase order in the response to its creation, whose shape differs from the reads."""

    numeroPedido: int | None = None
    codigoDoFornecedor: int | None = None


class Notification(WireModel):
    """One reason why a purchase order was not created: the field concerned and the message."""

    key: Annotated[str, null_as("")] = ""
    value: Annotated[str, null_as("")] = ""


class PurchaseOrderAnswer(WireModel):
    """Response to the creation of a purchase order, always with HTTP 200.

    Without notifications it is a success with the purchase order in ``payload``; with
    notifications it is a failure, and ``payload`` is null.
    """

    notifications: Many[Notification] = Field(default_factory=empty_list)
    payload: PurchaseOrderCreated | None = None

    @model_validator(mode="after")
    def _require_either(self) -> Self:
        if not self.notifications and self.payload is None:
            raise ValueError("neither notifications nor payload")
        return self


class ActiveQuery(WireModel):
    """Filter of the purchasing registries."""

    somenteAtivos: bool = False


class PurchaseType(WireModel):
    """A type of purchase."""

    codigoDoTipoDeCompra: int | None = None
    descricaoDoTipoDeCompra: str | None = None
    ativo: bool | None = None


class PurchaseReason(WireModel):
    """A reason (motivo) for a purchase."""

    codigoDoMotivo: int | None = None
    descricaoDoMotivo: str | None = None
    ativo: bool | None = None


REQUISITION_CREATE = Operation.creation(
    "purchasing.requisitions.create",
    "/v2/compras/requisicao",
    PurchaseRequisitionInput,
    PurchaseRequisition,
)
REQUISITION_CREATE_SUFFIXED = Operation.creation(
    "purchasing.requisitions.create_suffixed",
    "/v2/compras/requisicao/create",
    PurchaseRequisitionInput,
    PurchaseRequisition,
)
REQUISITION_LIST_OPEN = Operation.listing(
    "purchasing.requisitions.list_open",
    "/v2/compras/requisicao/abertas",
    PurchaseRequisition,
    RequisitionQuery,
)
REQUISITION_LIST_CLOSED = Operation.listing(
    "purchasing.requisitions.list_closed",
    "/v2/compras/requisicao/encerradas",
    PurchaseRequisition,
    RequisitionQuery,
)
REQUISITION_GET = Operation.reading(
    "purchasing.requisitions.get", "/v2/compras/requisicao/{id}", PurchaseRequisition
)
ORDER_CREATE = Operation.creation(
    "purchasing.orders.create", "/v2/compras/ordem", BuyingOrderInput, BuyingOrder
)
ORDER_LIST_OPEN = Operation.listing(
    "purchasing.orders.list_open", "/v2/compras/ordem/abertas", BuyingOrder
)
ORDER_LIST_CLOSED = Operation.listing(
    "purchasing.orders.list_closed", "/v2/compras/ordem/encerradas", BuyingOrder
)
ORDER_GET = Operation.reading("purchasing.orders.get", "/v2/compras/ordem/{id}", BuyingOrder)
PURCHASE_ORDER_CREATE = Operation(
    name="purchasing.purchase_orders.create",
    method="POST",
    path="/v2/compras/pedido",
    body=PurchaseOrderInput,
    data=PurchaseOrderAnswer,
    refuses_in_data=True,
)
PURCHASE_ORDER_LIST_OPEN = Operation.listing(
    "purchasing.purchase_orders.list_open", "/v2/compras/pedido/abertos", PurchaseOrder
)
PURCHASE_ORDER_LIST_CLOSED = Operation.listing(
    "purchasing.purchase_orders.list_closed", "/v2/compras/pedido/encerrados", PurchaseOrder
)
PURCHASE_ORDER_GET = Operation.reading(
    "purchasing.purchase_orders.get", "/v2/compras/pedido/{numeroPedido}", PurchaseOrder
)
PURCHASE_TYPE_LIST = Operation.listing(
    "purchasing.types.list", "/v2/compras/gerenciamento/tipodecompra", PurchaseType, ActiveQuery
)
PURCHASE_REASON_LIST = Operation.listing(
    "purchasing.reasons.list", "/v2/compras/gerenciamento/motivo", PurchaseReason, ActiveQuery
)


_PATH = "/v2/compras/planejamento"


class SpendingLimitQuery(WireModel):
    """Filters of the spending-limit listing."""

    codigoDaFilial: int | None = None
    codigoDoCentroDeCusto: str | None = None
    codigoDoItemDeLancamento: str | None = None
    codigoDoProjeto: int | None = None
    ano: int | None = None
    mes: int | None = None


class SpendingLimitTerms(SpendingLimitQuery):
    """Spending limit of one month in reais; without a project, for spending outside projects."""

    valorLimite: Number | None = None


class SpendingLimitId(WireModel):
    """Identifier of a spending limit."""

    idPlanejamento: int | None = None


class SpendingLimit(SpendingLimitTerms, SpendingLimitId):
    """A spending limit in responses."""


class SpendingLimitKey(SpendingLimitId):
    """Identifier of a spending limit as a query parameter."""

    idPlanejamento: int


SPENDING_LIMIT_LIST = Operation.listing(
    "purchasing.budget.list", _PATH, SpendingLimit, SpendingLimitQuery
)


class SpendingLimitInput(SpendingLimitTerms):
    """A spending limit to set."""

    codigoDaFilial: int
    codigoDoCentroDeCusto: str = Field(min_length=1)
    codigoDoItemDeLancamento: str = Field(min_length=1)
    ano: int = Field(ge=2000, le=2100)
    mes: int = Field(ge=1, le=12)
    valorLimite: Number


SPENDING_LIMIT_CREATE = Operation.creation(
    "purchasing.budget.create", _PATH, SpendingLimitInput, SpendingLimit
)


class SpendingLimitChange(SpendingLimitInput, SpendingLimitId):
    """New content of a spending limit."""

    idPlanejamento: int


SPENDING_LIMIT_UPDATE = Operation.change(
    "purchasing.budget.update", _PATH, SpendingLimitChange, SpendingLimit
)
SPENDING_LIMIT_DELETE = Operation(
    name="purchasing.budget.delete",
    method="DELETE",
    path=_PATH,
    query=SpendingLimitKey,
    data=SpendingLimit,
)
