"""Tables of requisitions, orders (Ordem), purchase orders (Pedido) and spending limits."""

from sqlalchemy import Boolean, Column, ForeignKey, Index, Table

from xlbridge.sandbox.columns import derived_columns, metadata
from xlbridge.wire import Attachment
from xlbridge.wire.budget import SpendingLimit
from xlbridge.wire.purchasing import (
    BuyingOrder,
    PurchaseOrder,
    PurchaseOrderItem,
    PurchaseRequisition,
    RequestedItem,
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
        exclude=("itens", "valorTotal", "Arquivos", "ArquivosNotasFiscais"),
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
