"""The rules of what is asked for, ordered and bought. Source: the spec, Purchasing.

Requisitions and orders (Ordem) have the same header and items.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.tables.registries import (
    branches,
    collaborators,
    cost_centres,
    products,
    projects,
    purchase_reasons,
    purchase_types,
)
from xlbridge.wire.purchasing import PurchaseRequisitionInput, RequestedItem, RequestedItemInput

AD_HOC = 0
"""The ``idProduto`` of an item that is no registered product."""

_SMALLEST = Decimal("0.000001")


def request_problems(known: Known, data: PurchaseRequisitionInput) -> list[Problem]:
    """Return the rules that the header and the items of a requisition or order break."""
    problems = [
        *known.complaint("codigoDaFilial", branches, data.codigoDaFilial, "Filial"),
        *known.inactive_complaint(
            "codigoDoTipoDeCompra", purchase_types, data.codigoDoTipoDeCompra, "Tipo de compra"
        ),
        *known.complaint(
            "codigoDoColaborador", collaborators, data.codigoDoColaborador, "Colaborador"
        ),
        *known.inactive_complaint(
            "codigoDoMotivo", purchase_reasons, data.codigoDoMotivo, "Motivo"
        ),
        *known.complaint(
            "codigoDoCentroDeCusto", cost_centres, data.codigoDoCentroDeCusto, "Centro de custo"
        ),
        *known.complaint("CodigoDoProjeto", projects, data.CodigoDoProjeto, "Projeto"),
    ]
    for place, item in enumerate(data.itens):
        problems.extend(_item_problems(known, f"itens.{place}", item))
    return problems


def request_header(known: Known, data: PurchaseRequisitionInput) -> dict[str, Any]:
    """Return the header of a requisition or order as it is read, with its project's name."""
    project = known.name(projects, data.CodigoDoProjeto)
    return data.model_dump(exclude={"itens"}) | {"DescricaoDoProjeto": project}


def requested_items(known: Known, data: PurchaseRequisitionInput) -> list[RequestedItem]:
    """Return the items under their numbers; a registered product goes by its own name."""
    return [
        RequestedItem(
            seq=seq,
            idProduto=item.idProduto,
            descricaoDoProduto=_description(known, item),
            quantidade=item.quantidade,
            quantidadeAprovada=Decimal(0),
        )
        for seq, item in enumerate(data.itens, start=1)
    ]


def quantity_problems(key: str, quantity: Decimal) -> list[Problem]:
    """Return the problem of a quantity that cannot be kept exactly."""
    if quantity != quantity.quantize(_SMALLEST):
        return [(key, "Quantidade com mais de seis casas decimais.")]
    return []


def _item_problems(known: Known, place: str, item: RequestedItemInput) -> Iterator[Problem]:
    if item.idProduto != AD_HOC:
        yield from known.complaint(f"{place}.idProduto", products, item.idProduto, "Produto")
    elif not (item.descricaoDoProduto or "").strip():
        yield f"{place}.descricaoDoProduto", "Descreva o item que não é um produto cadastrado."
    yield from quantity_problems(f"{place}.quantidade", item.quantidade)


def _description(known: Known, item: RequestedItemInput) -> str:
    return known.name(products, item.idProduto) or item.descricaoDoProduto or ""
