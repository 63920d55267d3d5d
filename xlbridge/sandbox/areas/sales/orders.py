"""Sales orders: registration, reading, processing into titles and a product invoice, handlers.

Source: the spec, Sales order (Pedido de Venda) object, States (sales order), Receivable entry.
"""

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Column, Connection, Index, Select, Table, insert, select, update

from xlbridge.sandbox.amounts import amount_problems
from xlbridge.sandbox.areas.financial.titles import ReceivableRegistration
from xlbridge.sandbox.areas.registry.codes import CodeLookup, next_number
from xlbridge.sandbox.areas.registry.tables import clients, issuers, payment_conditions, products
from xlbridge.sandbox.areas.sales.invoices import ProductInvoiceRegistration
from xlbridge.sandbox.areas.sales.order_figures import (
    ZERO,
    empty_instalment_problems,
    instalment_problems,
    item_problems,
    make_instalments,
    priced_item,
)
from xlbridge.sandbox.columns import IsoDateTime, derived_columns, metadata
from xlbridge.sandbox.handler_registry import (
    Call,
    Lists,
    equal_conditions,
    handles,
    read_documents,
    window_conditions,
)
from xlbridge.sandbox.problems import first_or_404, invalid, require_no_problems
from xlbridge.wire.financial import ReceivableInput
from xlbridge.wire.product_invoices import ProductInvoiceInput
from xlbridge.wire.sales import (
    SALES_ORDER_CREATE,
    SALES_ORDER_LIST,
    SALES_ORDER_PROCESS,
    SalesOrder,
    SalesOrderInput,
    SalesOrderInstallment,
    SalesOrderItem,
    SalesOrderQuery,
)

sales_orders = Table(
    "sales_orders",
    metadata,
    *derived_columns(
        SalesOrder,
        keys=("numeroDoPedido",),
        exclude=("parcelas", "produtos", "ultimaAtualizacao"),
    ),
    Column("ultimaAtualizacao", IsoDateTime, nullable=False),
    Index("sales_orders_by_update", "ultimaAtualizacao", "numeroDoPedido"),
)
sales_order_installments = Table(
    "sales_order_installments",
    metadata,
    *derived_columns(SalesOrderInstallment, keys=("numeroDoPedido", "numeroDaParcela")),
)
TITLE_COLUMNS = {
    "codigoDoExercicio": "codigoDoExercicioCR",
    "codigoDaFilial": "codigoDaFilialCR",
    "numeroDaTransacao": "numeroDaMovimentacaoCR",
    "sequenciaDaTransacao": "sequenciaDaMovimentacaoCR",
}
"""Columns of an instalment with the key of its title, by the fields of that key."""

sales_order_items = Table(
    "sales_order_items",
    metadata,
    *derived_columns(SalesOrderItem, keys=("numeroDoPedido", "seq")),
)

_LISTS: Lists = {
    "parcelas": (SalesOrderInstallment, [sales_order_installments.c.numeroDoPedido]),
    "produtos": (SalesOrderItem, [sales_order_items.c.numeroDoPedido]),
}
_CODES = (
    "codigoDaNotaFiscal", "codigoDaCondicaoDePagamento", "codigoDoVendedor", "codigoDoProjeto",
)  # fmt: skip


def register_order(connection: Connection, data: SalesOrderInput, now: datetime) -> SalesOrder:
    """Register a pending order, and return it.

    Raises ``RequestError`` (400) with its problems: first those that prevent the calculation of
    amounts, then all others.
    """
    lookup = CodeLookup(connection)
    problems = [
        *lookup.problems("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
        *lookup.field_problems(data, "codigoDoCliente", *_CODES),
    ]
    for index, item in enumerate(data.produtos):
        problems += lookup.field_problems(item, "idProduto", prefix=f"produtos.{index}.")
    require_no_problems(problems)
    ordered = data.dataDaOrdem or now
    number = next_number(connection, "sales_order")
    order = _completed_order(lookup, data, number, ordered)
    # Without products, the total is that of the instalments.
    amounts = [item.totalLiquido for item in order.produtos] or [x.valor for x in data.parcelas]
    total = sum((amount or ZERO for amount in amounts), ZERO)
    problems = amount_problems("produtos", total)
    for index, (item, priced) in enumerate(zip(data.produtos, order.produtos, strict=True)):
        problems += item_problems(item, priced, f"produtos.{index}.")
    if not order.produtos and not total:
        problems.append(("produtos", "Informe produtos, ou parcelas com valor."))
    problems += instalment_problems(data, ordered, total)
    # The titles that processing would create must have no problems either.
    title = _title_input(order, SalesOrderInstallment(numeroDaParcela=1))
    problems += ReceivableRegistration(connection, now, lookup).problems(title)
    require_no_problems(problems)
    condition = lookup.entry(payment_conditions, data.codigoDaCondicaoDePagamento)
    instalments = make_instalments(data, condition, number, ordered, total)
    require_no_problems(empty_instalment_problems(data, instalments))
    order = order.model_copy(
        update={
            "quantidadeDeParcelas": len(instalments),
            "parcelas": instalments,
            "ultimaAtualizacao": now.isoformat(),
        }
    )
    header = order.model_dump(exclude={*_LISTS})
    connection.execute(insert(sales_orders), header | {"ultimaAtualizacao": now})
    for name, (_, (number_column,)) in _LISTS.items():
        if lines := getattr(order, name):
            rows = [line.model_dump() for line in lines]
            connection.execute(insert(number_column.table), rows)
    return order


def _completed_order(
    lookup: CodeLookup, data: SalesOrderInput, number: int, ordered: datetime
) -> SalesOrder:
    """Return the order with fields derived from its client, branch and products."""
    items = [
        priced_item(item, lookup.checked_entry(products, item.idProduto), number, seq)
        for seq, item in enumerate(data.produtos, start=1)
    ]
    terms = data.model_dump(exclude={*_LISTS})
    filled = {name: value for name, value in terms.items() if value not in (None, "")}
    issuer = lookup.checked_entry(issuers, data.codigoDaFilial)
    defaults = {
        "codigoDaNotaFiscal": issuer.invoice_model,
        "codigoDaFormaDePagamento": issuer.payment_method,
        "codigoDoItemDeLancamento": issuer.category,
        "codigoDoCentroDeCusto": issuer.cost_centre,
        "codigoDaContaCorrente": issuer.account,
        "cep": issuer.postcode,
    }
    client = lookup.checked_entry(clients, data.codigoDoCliente)
    return SalesOrder.model_validate(
        defaults
        | {
            "nomeDoCliente": client.nomeComercial,
            "nomeDoClienteFmt": f"{client.codigoDoCliente} - {client.nomeComercial}",
            "naturezaJuridica": client.natureza,
            "cnpjcpf": client.cnpjcpf,
            "codigoDoVendedor": client.codigoDoVendedor,
            "email": client.email,
            "telefone": client.telefone,
        }
        | filled
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


def _read_orders(connection: Connection, headers: Select[Any]) -> list[SalesOrder]:
    return read_documents(connection, SalesOrder, sales_orders.primary_key, _LISTS, headers)


def read_order(connection: Connection, number: int) -> SalesOrder:
    """Return an order. Raises ``RequestError`` (404) if it does not exist."""
    by_number = sales_orders.c.numeroDoPedido == number
    orders = _read_orders(connection, select(sales_orders).where(by_number))
    return first_or_404(orders, _NUMBER_FIELD, "Pedido não encontrado.")


_NUMBER_FIELD = "numeroPedido"
SALE_TERMS = {"tipoDeOperacao": "Saída", "naturezaDaOperacao": "Venda de mercadorias"}
INVOICE_FIELDS = (
    "codigoDaFilial", "codigoDaNotaFiscal", "codigoDaFormaDePagamento", "codigoDoCliente",
    "nomeDoCliente", "cep",
)  # fmt: skip
"""Fields of an order copied to its invoice."""


def process_order(connection: Connection, number: int, now: datetime) -> None:
    """Process a pending order: create its titles and, if it has products, its invoice.

    Raises ``RequestError``: 404 if it does not exist, 400 if it is not pending or has problems.
    """
    order = read_order(connection, number)
    if order.processado:
        raise invalid((_NUMBER_FIELD, f"O pedido {number} já foi processado."))
    if order.cancelado:
        raise invalid((_NUMBER_FIELD, f"O pedido {number} está cancelado."))
    create_titles(connection, order, now)
    id_nf = None
    if order.produtos:
        copied = ("idProduto", "quantidade", "valorUnitario")
        items = [{name: getattr(item, name) for name in copied} for item in order.produtos]
        content = ProductInvoiceInput.model_validate(
            SALE_TERMS
            | {name: getattr(order, name) for name in INVOICE_FIELDS}
            | {"produtos": items}
        )
        id_nf = ProductInvoiceRegistration(connection, now, order).register(content).idNF
    columns = sales_order_items.c
    connection.execute(
        update(sales_order_items)
        .where(columns.numeroDoPedido == number)
        .values(
            quantidadeProcessadaParcial=columns.quantidade,
            quantidadeDisponivelParaProcessamento=Decimal(0),
            valorDisponivelParaProcessamento=Decimal(0),
            disponivelParaProcessamentoParcial=False,
        )
    )
    connection.execute(
        update(sales_orders)
        .where(sales_orders.c.numeroDoPedido == number)
        .values(
            idNF=id_nf,
            pendente=False,
            processado=True,
            dataDeProcessamento=now,
            ultimaAtualizacao=now,
        )
    )


TITLE_FIELDS = (
    "codigoDaFilial", "codigoDoCliente", "codigoDoItemDeLancamento", "codigoDoCentroDeCusto",
    "codigoDaContaCorrente", "codigoDaFormaDePagamento", "codigoDaCarteira",
)  # fmt: skip
"""Fields of an order copied to its titles."""


def create_titles(connection: Connection, order: SalesOrder, now: datetime) -> None:
    """Create a title for each instalment of an order, and store its key in the instalment.

    Raises ``RequestError`` (400) with the problems of the titles.
    """
    registration = ReceivableRegistration(connection, now)
    for instalment in order.parcelas:
        data = _title_input(order, instalment)
        require_no_problems(registration.problems(data))
        title = registration.accept(data)
        columns = sales_order_installments.c
        connection.execute(
            update(sales_order_installments)
            .where(
                columns.numeroDoPedido == instalment.numeroDoPedido,
                columns.numeroDaParcela == instalment.numeroDaParcela,
            )
            .values(
                existeLancamentoCR=True,
                **{column: getattr(title, name) for name, column in TITLE_COLUMNS.items()},
            )
        )
    registration.write()


def _title_input(order: SalesOrder, instalment: SalesOrderInstallment) -> ReceivableInput:
    number = order.numeroDoPedido
    issued = order.dataDaOrdem
    return ReceivableInput.model_validate(
        {name: getattr(order, name) for name in TITLE_FIELDS}
        | {
            "historico": order.historicoCR or f"Pedido de venda {number}",
            "numeroDoDocumento": f"PV-{number:06}/{instalment.numeroDaParcela}",
            "dataDeEmissao": issued and issued.replace(hour=0, minute=0, second=0),
            "dataDeVencimento": instalment.dataDeVencimento,
            "valorDoLancamento": instalment.valor,
        }
    )


@handles(SALES_ORDER_CREATE)
def create_sales_order(call: Call) -> SalesOrder:
    return register_order(call.connection, call.body_as(SalesOrderInput), call.now)


@handles(SALES_ORDER_PROCESS)
def process_sales_order(call: Call) -> SalesOrder:
    number = call.path["numeroPedido"]
    process_order(call.connection, number, call.now)
    return read_order(call.connection, number)


@handles(SALES_ORDER_LIST)
def list_sales_orders(call: Call) -> list[SalesOrder]:
    query = call.query_as(SalesOrderQuery)
    statement = (
        select(sales_orders)
        .where(
            *window_conditions(call, sales_orders.c.ultimaAtualizacao),
            *equal_conditions(sales_orders, query, "codigoDaFilial"),
        )
        .order_by(sales_orders.c.ultimaAtualizacao, sales_orders.c.numeroDoPedido)
        .limit(query.qtde or None)
    )
    return _read_orders(call.connection, statement)
