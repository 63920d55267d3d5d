"""Registering sales orders. Source: the spec, Sales order (Pedido de Venda) object, States."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.entries import amount_problems
from xlbridge.sandbox.business.instalments import instalment_problems, make_instalments
from xlbridge.sandbox.business.intake import refuse
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.business.order_items import item_problems, priced_item
from xlbridge.sandbox.business.order_titles import title_problems
from xlbridge.sandbox.tables.clients import clients
from xlbridge.sandbox.tables.registries import (
    invoice_models,
    issuers,
    payment_conditions,
    products,
    projects,
    sellers,
)
from xlbridge.sandbox.tables.sales import sales_order_installments, sales_order_items, sales_orders
from xlbridge.wire.sales import SalesOrder, SalesOrderInput, SalesOrderInstallment, SalesOrderItem

_NOTHING = Decimal("0.00")
_LISTS = ("parcelas", "produtos")
_REFERENCES = {
    "codigoDaNotaFiscal": (invoice_models, "Modelo de nota"),
    "codigoDaCondicaoDePagamento": (payment_conditions, "Condição de pagamento"),
    "codigoDoVendedor": (sellers, "Vendedor"),
    "codigoDoProjeto": (projects, "Projeto"),
}


def register_order(connection: Connection, data: SalesOrderInput, now: datetime) -> int:
    """Register an order, pending, and return its number.

    Raises ``RequestError`` (400) with the rules that it breaks: first those without which it has
    no figures, then all others.
    """
    known = Known(connection)
    refuse(_basic_problems(known, data))
    numbers = Numbers(connection)
    ordered = data.dataDaOrdem or now
    order = _complete(connection, known, data, numbers.next("sales_order"), ordered)
    total = _total(data, order.produtos)
    refuse(
        [
            *_figure_problems(data, order.produtos, total),
            *instalment_problems(data, ordered, total),
            *title_problems(connection, order, now),
        ]
    )
    condition = known.entry(payment_conditions, data.codigoDaCondicaoDePagamento)
    instalments = make_instalments(data, condition, order.numeroDoPedido, ordered, total)
    numbers.write()
    _write(connection, order, instalments, now)
    return order.numeroDoPedido


def _basic_problems(known: Known, data: SalesOrderInput) -> list[Problem]:
    problems = [
        *known.complaint("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
        *known.client_complaint(data.codigoDoCliente),
    ]
    for name, (registry, label) in _REFERENCES.items():
        problems.extend(known.complaint(name, registry, getattr(data, name), label))
    for index, item in enumerate(data.produtos):
        key = f"produtos.{index}.idProduto"
        problems.extend(known.complaint(key, products, item.idProduto, "Produto"))
    return problems


def _complete(
    connection: Connection, known: Known, data: SalesOrderInput, number: int, ordered: datetime
) -> SalesOrder:
    """The order with what follows from its client, its branch and its products."""
    client = connection.execute(
        select(clients).where(clients.c.codigoDoCliente == data.codigoDoCliente)
    ).one()
    items = [
        priced_item(item, known.required(products, item.idProduto), number, seq)
        for seq, item in enumerate(data.produtos, start=1)
    ]
    terms = data.model_dump(exclude={*_LISTS})
    given = {name: value for name, value in terms.items() if value not in (None, "")}
    branch = _of_branch(known.required(issuers, data.codigoDaFilial))
    return SalesOrder.model_validate(
        branch
        | _of_client(client)
        | given
        | {
            "numeroDoPedido": number,
            "numeroDaOrdem": data.numeroDaOrdem or number,
            "dataDaOrdem": ordered,
            "faturamentoNotaFiscalUnica": data.faturamentoNotaFiscalUnica is not False,
            "consolidado": False,
            "pendente": True,
            "processado": False,
            "cancelado": False,
            "avisos": [] if data.cep else ["CEP não informado: foi usado o da filial."],
            "produtos": items,
        }
    )


def _of_branch(issuer: Row[Any]) -> dict[str, Any]:
    return {
        "codigoDaNotaFiscal": issuer.invoice_model,
        "codigoDaFormaDePagamento": issuer.payment_method,
        "codigoDoItemDeLancamento": issuer.category,
        "codigoDoCentroDeCusto": issuer.cost_centre,
        "codigoDaContaCorrente": issuer.account,
        "cep": issuer.postcode,
    }


def _of_client(client: Row[Any]) -> dict[str, Any]:
    return {
        "nomeDoCliente": client.nomeComercial,
        "nomeDoClienteFmt": f"{client.codigoDoCliente} - {client.nomeComercial}",
        "naturezaJuridica": client.natureza,
        "cnpjcpf": client.cnpjcpf,
        "codigoDoVendedor": client.codigoDoVendedor,
        "email": client.email,
        "telefone": client.telefone,
    }


def _total(data: SalesOrderInput, items: list[SalesOrderItem]) -> Decimal:
    """What the products cost; without products, what the instalments amount to."""
    if items:
        return sum((item.totalLiquido or _NOTHING for item in items), _NOTHING)
    return sum((instalment.valor or _NOTHING for instalment in data.parcelas), _NOTHING)


def _figure_problems(
    data: SalesOrderInput, items: list[SalesOrderItem], total: Decimal
) -> list[Problem]:
    problems = amount_problems("produtos", total)
    for index, (item, priced) in enumerate(zip(data.produtos, items, strict=True)):
        problems.extend(item_problems(item, priced, f"produtos.{index}."))
    if not items and not total:
        problems.append(("produtos", "Informe produtos, ou parcelas com valor."))
    return problems


def _write(
    connection: Connection,
    order: SalesOrder,
    instalments: list[SalesOrderInstallment],
    now: datetime,
) -> None:
    header = order.model_dump(exclude={*_LISTS, "ultimaAtualizacao"})
    header |= {"quantidadeDeParcelas": len(instalments), "updated": now}
    connection.execute(insert(sales_orders).values(header))
    rows = [instalment.model_dump() for instalment in instalments]
    connection.execute(insert(sales_order_installments), rows)
    items = [item.model_dump() for item in order.produtos]
    if items:
        connection.execute(insert(sales_order_items), items)
