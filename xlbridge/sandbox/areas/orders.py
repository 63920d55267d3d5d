"""Sales orders: amounts of their products and instalments, registration, processing, handlers.

Processing an order creates titles and a product invoice. Source: the spec, Sales order (Pedido de
Venda) object with produtos[] and parcelas[] items, States (sales order), Receivable entry.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar

from sqlalchemy import Column, Connection, Index, Row, Table, select, update

from xlbridge.sandbox.area_declarations import (
    Call,
    IsoDateTime,
    Lists,
    derived_columns,
    equal_conditions,
    handle_records,
    handles,
    metadata,
    window_conditions,
)
from xlbridge.sandbox.areas.invoices import ProductInvoiceRegistration
from xlbridge.sandbox.areas.registries import (
    CodeLookup,
    RecordRegistration,
    clients,
    issuers,
    payment_conditions,
    products,
)
from xlbridge.sandbox.areas.titles import ReceivableRegistration
from xlbridge.sandbox.problems import (
    Problem,
    amount_problems,
    equal_parts,
    invalid,
    percent_of,
    proportional_parts,
    rate_problems,
    require_no_problems,
    round_half_even,
)
from xlbridge.wire import sales
from xlbridge.wire.financial import ReceivableInput

ZERO = Decimal("0.00")
"""Zero with two decimal places, like stored amounts."""

_AMOUNTS = ("valorFrete", "valorSeguro", "valorOutros", "valorAcrescimo", "valorDesconto")
_RATES = (
    "valorAcrescimoPercentual",
    "valorDescontoPercentual",
    *(name for name in sales.SalesOrderItemTerms.model_fields if name.startswith("aliquota")),
)


def item_values(
    item: sales.SalesOrderItemInput, product: Mapping[Any, Any], order: int, seq: int
) -> dict[str, Any]:
    """Return the fields of an unprocessed line of an order, with all its amounts."""
    own_price = item.valorUnitario
    price = Decimal(product["valorUnitario"]) if own_price is None else own_price
    total = round_half_even(item.quantidade * price)
    amounts = line_amounts(item, total)
    weight = product["Peso"] * item.quantidade
    copied = ("codigoInterno", "codigoDeBarras", "descricaoDoProduto", "ncm")
    return {
        **item.model_dump(exclude_none=True),
        **amounts,
        **{name: product[name] for name in copied},
        "numeroDoPedido": order,
        "seq": seq,
        "idMapeamentoPadrao": item.idMapeamentoPadrao or item.idProduto,
        "pesoBruto": weight if item.pesoBruto is None else item.pesoBruto,
        "pesoLiquido": weight if item.pesoLiquido is None else item.pesoLiquido,
        "valorUnitario": price,
        "valorTotal": total,
        "quantidadeProcessadaParcial": Decimal(0),
        "quantidadeDisponivelParaProcessamento": item.quantidade,
        "valorDisponivelParaProcessamento": amounts["totalLiquido"],
        "disponivelParaProcessamentoParcial": True,
    }


PROCESSED: dict[str, Any] = {
    "quantidadeDisponivelParaProcessamento": Decimal(0),
    "valorDisponivelParaProcessamento": Decimal(0),
    "disponivelParaProcessamentoParcial": False,
}
"""Fields of a line of which nothing is left to process."""


def item_problems(
    item: sales.SalesOrderItemInput, priced: sales.SalesOrderItem, prefix: str
) -> list[Problem]:
    """Return the problems of a line, with keys that have a prefix."""
    problems: list[Problem] = []
    for name in _AMOUNTS:
        problems.extend(amount_problems(prefix + name, getattr(item, name)))
    for name in _RATES:
        problems.extend(rate_problems(prefix + name, getattr(item, name)))
    if priced.baseIPI is not None and priced.baseIPI < 0:
        problems.append((f"{prefix}valorDesconto", "O desconto é maior que o valor do produto."))
    if not problems:
        problems.extend(amount_problems(f"{prefix}totalLiquido", priced.totalLiquido))
    return problems


def line_amounts(item: sales.SalesOrderItemInput, total: Decimal) -> dict[str, Decimal]:
    """Calculate the amounts of a line from its total before surcharge and discount.

    Taxes are calculated on the total after them.
    """
    surcharge, surcharge_rate = _adjustment(
        total, item.valorAcrescimo, item.valorAcrescimoPercentual
    )
    discount, discount_rate = _adjustment(total, item.valorDesconto, item.valorDescontoPercentual)
    base = total + surcharge - discount
    ipi, st, icms = (
        percent_of(base, rate or ZERO)
        for rate in (item.aliquotaIPI, item.aliquotaICMSST, item.aliquotaICMS)
    )
    extras = {name: getattr(item, name) or ZERO for name in _AMOUNTS[:3]}
    return extras | {
        "valorAcrescimo": surcharge,
        "valorAcrescimoPercentual": surcharge_rate,
        "valorDesconto": discount,
        "valorDescontoPercentual": discount_rate,
        "baseIPI": base,
        "aliquotaIPI": item.aliquotaIPI or ZERO,
        "valorIPI": ipi,
        "aliquotaICMSST": item.aliquotaICMSST or ZERO,
        "valorICMSST": st,
        "baseICMS": base,
        "aliquotaICMS": item.aliquotaICMS or ZERO,
        "valorICMS": icms,
        "totalLiquido": base + ipi + st + sum(extras.values(), ZERO),
    }


def _adjustment(
    total: Decimal, amount: Decimal | None, rate: Decimal | None
) -> tuple[Decimal, Decimal]:
    """Return a surcharge or discount as amount and rate; the amount takes precedence."""
    if amount is None:
        return percent_of(total, rate or ZERO), rate or ZERO
    return amount, round_half_even(amount * 100 / total) if total else ZERO


_DEFAULT_DAYS_BETWEEN = 30
_WHOLE_PERCENT = Decimal(100)
_INSTALMENTS = "parcelas"


def instalment_problems(
    data: sales.SalesOrderInput, ordered: datetime, total: Decimal
) -> list[Problem]:
    """Return the problems of the instalments in an order."""
    instalments = data.parcelas
    problems: list[Problem] = []
    if instalments and data.quantidadeDeParcelas not in (None, len(instalments)):
        problems.append(("quantidadeDeParcelas", "Difere da quantidade de parcelas informadas."))
    for index, instalment in enumerate(instalments):
        prefix, percent = f"{_INSTALMENTS}.{index}.", instalment.percentual
        problems += amount_problems(f"{prefix}valor", instalment.valor)
        if instalment.valor == ZERO:
            problems.append((f"{prefix}valor", "Valor inválido: deve ser maior que 0."))
        if percent is not None and not 0 < percent <= _WHOLE_PERCENT:
            problems.append((f"{prefix}percentual", "Percentual fora do intervalo de 0 a 100."))
        if instalment.numeroDaParcela not in (None, index + 1):
            message = "As parcelas são numeradas a partir de 1."
            problems.append((f"{prefix}numeroDaParcela", message))
        due = instalment.dataDeVencimento
        if due is not None and due < _midnight(ordered):
            problems.append((f"{prefix}dataDeVencimento", "O vencimento é anterior ao pedido."))
    values = [instalment.valor for instalment in instalments]
    percents = [instalment.percentual for instalment in instalments]
    if any(value is not None for value in values):
        problems.extend(_sum_problems("valor", values, total))
    if any(percent is not None for percent in percents):
        problems.extend(_sum_problems("percentual", percents, _WHOLE_PERCENT))
    return problems


def empty_instalment_problems(
    data: sales.SalesOrderInput, instalments: Sequence[sales.SalesOrderInstallment]
) -> list[Problem]:
    """Return the problem of a total so small that an instalment would be 0.00."""
    empty = [index for index, instalment in enumerate(instalments) if not instalment.valor]
    if not empty:
        return []
    key = f"{_INSTALMENTS}.{empty[0]}.percentual" if data.parcelas else "quantidadeDeParcelas"
    return [(key, "A parcela ficaria com valor 0,00.")]


def make_instalments(
    data: sales.SalesOrderInput,
    condition: Row[Any] | None,
    order: int,
    ordered: datetime,
    total: Decimal,
) -> list[sales.SalesOrderInstallment]:
    """Return an order's instalments; missing fields are calculated.

    Their number and interval follow from the payment condition. A total of 0 has no instalments.
    """
    if not total and not data.parcelas:
        return []
    count = condition.instalments if condition is not None else 1
    days = condition.days_between if condition is not None else _DEFAULT_DAYS_BETWEEN
    blank = [sales.SalesOrderInstallmentInput()] * (data.quantidadeDeParcelas or count)
    inputs = data.parcelas or blank
    values, percents = _shares(inputs, total)
    first_day = _midnight(ordered)
    return [
        sales.SalesOrderInstallment(
            numeroDaParcela=number,
            dataDeVencimento=instalment.dataDeVencimento or first_day + timedelta(number * days),
            percentual=percent,
            valor=value,
            numeroDoPedido=order,
            totalDoPedido=total,
            existeLancamentoCR=False,
        )
        for number, (instalment, value, percent) in enumerate(
            zip(inputs, values, percents, strict=True), start=1
        )
    ]


def _shares(
    instalments: Sequence[sales.SalesOrderInstallmentInput], total: Decimal
) -> tuple[list[Decimal], list[Decimal]]:
    """Return amounts and percentages: from the amounts, else the percentages, else equal parts."""
    values = [instalment.valor for instalment in instalments if instalment.valor is not None]
    if values and total:
        return values, proportional_parts(_WHOLE_PERCENT, values)
    percents = [part.percentual for part in instalments if part.percentual is not None]
    if percents:
        return proportional_parts(total, percents), percents
    count = len(instalments)
    return equal_parts(total, count), equal_parts(_WHOLE_PERCENT, count)


def _sum_problems(name: str, parts: Sequence[Decimal | None], total: Decimal) -> list[Problem]:
    if None in parts:
        return [(_INSTALMENTS, f"Informe {name} em todas as parcelas, ou em nenhuma.")]
    actual = sum(part for part in parts if part is not None)
    if actual == total:
        return []
    return [(_INSTALMENTS, f"A soma de {name} é {actual}, e não {total}.")]


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


sales_orders = Table(
    "sales_orders",
    metadata,
    *derived_columns(
        sales.SalesOrder,
        keys=("numeroDoPedido",),
        exclude=("parcelas", "produtos", "ultimaAtualizacao"),
    ),
    Column("ultimaAtualizacao", IsoDateTime, nullable=False),
    Index("sales_orders_by_update", "ultimaAtualizacao", "numeroDoPedido"),
)
sales_order_installments = Table(
    "sales_order_installments",
    metadata,
    *derived_columns(sales.SalesOrderInstallment, keys=("numeroDoPedido", "numeroDaParcela")),
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
    *derived_columns(sales.SalesOrderItem, keys=("numeroDoPedido", "seq")),
)

_CODES = (
    "codigoDaNotaFiscal", "codigoDaCondicaoDePagamento", "codigoDoVendedor", "codigoDoProjeto",
)  # fmt: skip


class OrderRegistration(RecordRegistration[sales.SalesOrder]):
    """Registration of new orders, pending processing."""

    table, model, scope = sales_orders, sales.SalesOrder, "sales_order"
    lists: ClassVar[Lists] = {
        "parcelas": (sales.SalesOrderInstallment, [sales_order_installments.c.numeroDoPedido]),
        "produtos": (sales.SalesOrderItem, [sales_order_items.c.numeroDoPedido]),
    }
    missing = ("numeroPedido", "Pedido não encontrado.")

    def problems(self, data: sales.SalesOrderInput) -> list[Problem]:
        """Return the problems that prevent the calculation of amounts."""
        problems = [
            *self._lookup.problems("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
            *self._lookup.field_problems(data, "codigoDoCliente", *_CODES),
        ]
        for index, item in enumerate(data.produtos):
            problems += self._lookup.field_problems(item, "idProduto", prefix=f"produtos.{index}.")
        return problems

    def accept(self, data: sales.SalesOrderInput) -> sales.SalesOrder:
        """Accept an order. Raises ``RequestError`` (400) with the problems of its amounts."""
        ordered = data.dataDaOrdem or self._now
        number = self._numbers.next(self.scope)
        order = _completed_order(self._lookup, data, number, ordered)
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
        titles = ReceivableRegistration(self._connection, self._now, self._lookup)
        problems += titles.problems(
            _title_input(order, sales.SalesOrderInstallment(numeroDaParcela=1))
        )
        require_no_problems(problems)
        condition = self._lookup.entry(payment_conditions, data.codigoDaCondicaoDePagamento)
        instalments = make_instalments(data, condition, number, ordered, total)
        require_no_problems(empty_instalment_problems(data, instalments))
        order = order.model_copy(
            update={
                "quantidadeDeParcelas": len(instalments),
                "parcelas": instalments,
                "ultimaAtualizacao": self._now.isoformat(),
            }
        )
        self._keep(order)
        self._rows[sales_orders][-1]["ultimaAtualizacao"] = self._now
        return order


def _completed_order(
    lookup: CodeLookup, data: sales.SalesOrderInput, number: int, ordered: datetime
) -> sales.SalesOrder:
    """Return the order with fields derived from its client, branch and products."""
    items = [
        item_values(item, lookup.checked_entry(products, item.idProduto)._mapping, number, seq)
        for seq, item in enumerate(data.produtos, start=1)
    ]
    terms = data.model_dump(exclude={*OrderRegistration.lists})
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
    return sales.SalesOrder.model_validate(
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


SALE_TERMS = {"tipoDeOperacao": "Saída", "naturezaDaOperacao": "Venda de mercadorias"}
INVOICE_FIELDS = (
    "codigoDaFilial", "codigoDaNotaFiscal", "codigoDaFormaDePagamento", "codigoDoCliente",
    "nomeDoCliente", "cep",
)  # fmt: skip
"""Fields of an order copied to its invoice."""


@handles(sales.SALES_ORDER_PROCESS)
def process_sales_order(call: Call) -> sales.SalesOrder:
    """Process a pending order: create its titles and, if it has products, its invoice.

    Raises ``RequestError``: 404 if it does not exist, 400 if it is not pending or has problems.
    """
    number, connection, now = call.path["numeroPedido"], call.connection, call.now
    order = OrderRegistration.get(connection, number)
    if order.processado:
        raise invalid(("numeroPedido", f"O pedido {number} já foi processado."))
    if order.cancelado:
        raise invalid(("numeroPedido", f"O pedido {number} está cancelado."))
    create_titles(connection, order, now)
    id_nf = None
    if order.produtos:
        copied = ("idProduto", "quantidade", "valorUnitario")
        items = [{name: getattr(item, name) for name in copied} for item in order.produtos]
        content = sales.ProductInvoiceInput.model_validate(
            SALE_TERMS
            | {name: getattr(order, name) for name in INVOICE_FIELDS}
            | {"produtos": items}
        )
        id_nf = ProductInvoiceRegistration(connection, now, order).register(content).idNF
    columns = sales_order_items.c
    connection.execute(
        update(sales_order_items)
        .where(columns.numeroDoPedido == number)
        .values(quantidadeProcessadaParcial=columns.quantidade, **PROCESSED)
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
    return OrderRegistration.get(connection, number)


TITLE_FIELDS = (
    "codigoDaFilial", "codigoDoCliente", "codigoDoItemDeLancamento", "codigoDoCentroDeCusto",
    "codigoDaContaCorrente", "codigoDaFormaDePagamento", "codigoDaCarteira",
)  # fmt: skip
"""Fields of an order copied to its titles."""


def create_titles(connection: Connection, order: sales.SalesOrder, now: datetime) -> None:
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


def _title_input(
    order: sales.SalesOrder, instalment: sales.SalesOrderInstallment
) -> ReceivableInput:
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


handle_records(OrderRegistration, sales.SALES_ORDER_CREATE)


@handles(sales.SALES_ORDER_LIST)
def list_sales_orders(call: Call) -> list[sales.SalesOrder]:
    query = call.query_as(sales.SalesOrderQuery)
    statement = (
        select(sales_orders)
        .where(
            *window_conditions(call, sales_orders.c.ultimaAtualizacao),
            *equal_conditions(sales_orders, query, "codigoDaFilial"),
        )
        .order_by(sales_orders.c.ultimaAtualizacao, sales_orders.c.numeroDoPedido)
        .limit(query.qtde or None)
    )
    return OrderRegistration.read(call.connection, statement)
