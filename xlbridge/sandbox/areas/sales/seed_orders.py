"""The demo's sales orders, with instalments that add up to their products, and their titles."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from xlbridge.sandbox.areas.financial.rules import equal_parts
from xlbridge.sandbox.areas.registry.seed import codes
from xlbridge.sandbox.areas.registry.seed_demo import (
    TODAY,
    Customer,
    DemoProduct,
    random_day,
    random_office_time,
)
from xlbridge.sandbox.areas.registry.tables import branches, cost_centres, payment_methods, projects
from xlbridge.sandbox.areas.sales.seed_billing import InvoiceMaker
from xlbridge.sandbox.areas.sales.seed_order_fields import (
    OrderStatus,
    carrier_fields,
    client_fields,
    delivery_fields,
    make_items,
)

_MONTH = timedelta(days=30)
_MOST_INSTALMENTS = 4
_CANCELLED, _CARRIED, _PROJECTED, _PAID = 0.08, 0.4, 0.1, 0.85
_STILL_PENDING = timedelta(days=20)
_PORTFOLIO_OF_ACCOUNT = {1: 1, 2: 2, 3: None}
_FREIGHT_PER_LINE = Decimal("12.50")
_INVOICE_MODEL = 1


@dataclass(slots=True)
class OrderRows:
    """Rows of the tables that orders fill."""

    orders: list[dict[str, Any]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    instalments: list[dict[str, Any]] = field(default_factory=list)
    titles: list[dict[str, Any]] = field(default_factory=list)
    invoices: list[dict[str, Any]] = field(default_factory=list)


class OrderMaker:
    """Makes orders one after the other; counts the transactions of each branch and exercise."""

    def __init__(
        self,
        random: Random,
        customers: list[Customer],
        products: list[DemoProduct],
        invoices: InvoiceMaker,
    ) -> None:
        self._random = random
        self._customers = customers
        self._products = products
        self._invoices = invoices
        self.transactions: dict[tuple[int, int], int] = {}

    def make(self, number: int, batch: OrderRows) -> None:
        """Add one order, its lines and its titles to a batch."""
        random = self._random
        customer = random.choice(self._customers)
        ordered = random_office_time(random, random_day(random))
        status = _status(random, ordered)
        is_carried = random.random() < _CARRIED
        freight = _FREIGHT_PER_LINE if is_carried else Decimal("0.00")
        items = make_items(random, number, self._products, freight, status)
        header = self._header(number, customer, ordered, status)
        header |= (
            client_fields(customer)
            | delivery_fields(customer)
            | carrier_fields(random, items, carried=is_carried)
        )
        instalments = _instalments(
            header, sum((item["totalLiquido"] for item in items), Decimal(0))
        )
        if status is OrderStatus.PROCESSED:
            batch.titles.extend(self._titles(header, instalments))
            batch.invoices.append(self._invoices.of_order(header, items))
        batch.orders.append(header)
        batch.items.extend(items)
        batch.instalments.extend(instalments)

    def _header(
        self, number: int, customer: Customer, ordered: datetime, status: OrderStatus
    ) -> dict[str, Any]:
        random = self._random
        ended = min(ordered + timedelta(days=random.randrange(1, 10)), TODAY)
        ended = max(ended, ordered)
        account = random.choice(list(_PORTFOLIO_OF_ACCOUNT))
        count = random.randint(1, _MOST_INSTALMENTS)
        processed, cancelled = status is OrderStatus.PROCESSED, status is OrderStatus.CANCELLED
        return {
            "codigoDaNotaFiscal": _INVOICE_MODEL,
            "codigoDaFilial": random.choice(codes(branches)),
            "codigoDaCondicaoDePagamento": count,
            "numeroDoPedido": number,
            "numeroDaOrdem": number,
            "codigoDoVendedor": customer.seller,
            "codigoDoProjeto": _choice_or_none(random, _PROJECTED, codes(projects)),
            "codigoDaFormaDePagamento": random.choice(codes(payment_methods)),
            "codigoDaContaCorrente": account,
            "codigoDaCarteira": _PORTFOLIO_OF_ACCOUNT[account],
            "codigoDaClassificacaoAuxiliar": 1,
            "idNF": number if processed else None,
            "quantidadeDeParcelas": count,
            "dataDaOrdem": ordered,
            "dataDeProcessamento": ended if processed else None,
            "dataDeCancelamento": ended if cancelled else None,
            "observacao": f"Pedido {number} do site" if number % 3 == 0 else None,
            "dadosAdicionais": None,
            "codigoDoItemDeLancamento": "1.01.001",
            "historicoCR": f"Pedido de venda {number}",
            "codigoDoCentroDeCusto": random.choice(codes(cost_centres)),
            "observacaoCR": None,
            "faturamentoNotaFiscalUnica": True,
            "consolidado": False,
            "pendente": status is OrderStatus.PENDING,
            "processado": processed,
            "cancelado": cancelled,
            "avisos": [] if customer.active else ["Cliente inativo."],
            "updated": ordered if status is OrderStatus.PENDING else ended,
        }

    def _titles(
        self, header: dict[str, Any], instalments: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        issued = header["dataDeProcessamento"].replace(hour=0, minute=0, second=0)
        key = (issued.year, header["codigoDaFilial"])
        self.transactions[key] = self.transactions.get(key, 0) + 1
        return [
            self._title(header, instalment, issued, self.transactions[key])
            for instalment in instalments
        ]

    def _title(
        self, header: dict[str, Any], instalment: dict[str, Any], issued: datetime, number: int
    ) -> dict[str, Any]:
        sequence = instalment["numeroDaParcela"]
        due, value = instalment["dataDeVencimento"], instalment["valor"]
        is_paid = due <= TODAY and self._random.random() < _PAID
        instalment |= {
            "existeLancamentoCR": True,
            "codigoDoExercicioCR": issued.year,
            "codigoDaFilialCR": header["codigoDaFilial"],
            "numeroDaMovimentacaoCR": number,
            "sequenciaDaMovimentacaoCR": sequence,
        }
        copied = (
            "codigoDaFilial", "codigoDoCliente", "codigoDoItemDeLancamento",
            "codigoDoCentroDeCusto", "codigoDaContaCorrente", "codigoDaFormaDePagamento",
            "codigoDaCarteira",
        )  # fmt: skip
        return {name: header[name] for name in copied} | {
            "codigoDoExercicio": issued.year,
            "numeroDaTransacao": number,
            "sequenciaDaTransacao": sequence,
            "historico": header["historicoCR"],
            "numeroDoDocumento": f"PV-{header['numeroDoPedido']:06}/{sequence}",
            "idws": f"WS-{header['numeroDoPedido']}-{sequence}",
            "dataDeEmissao": issued,
            "dataDeVencimento": due,
            "valorDoLancamento": value,
            "PeriodoDeCompetencia": issued.replace(day=1),
            "dataDeBaixa": due if is_paid else None,
            "valorBaixado": value if is_paid else None,
        }


def _status(random: Random, ordered: datetime) -> OrderStatus:
    if random.random() < _CANCELLED:
        return OrderStatus.CANCELLED
    return OrderStatus.PENDING if ordered > TODAY - _STILL_PENDING else OrderStatus.PROCESSED


def _choice_or_none(random: Random, share: float, values: list[Any]) -> Any:
    return random.choice(values) if random.random() < share else None


def _instalments(header: dict[str, Any], total: Decimal) -> list[dict[str, Any]]:
    count = header["quantidadeDeParcelas"]
    values, percents = equal_parts(total, count), equal_parts(Decimal(100), count)
    first_due = header["dataDaOrdem"].replace(hour=0, minute=0, second=0)
    return [
        {
            "numeroDoPedido": header["numeroDoPedido"],
            "numeroDaParcela": place,
            "dataDeVencimento": first_due + place * _MONTH,
            "percentual": percent,
            "valor": value,
            "totalDoPedido": total,
            "existeLancamentoCR": False,
            "codigoDoExercicioCR": None,
            "codigoDaFilialCR": None,
            "numeroDaMovimentacaoCR": None,
            "sequenciaDaMovimentacaoCR": None,
        }
        for place, (value, percent) in enumerate(zip(values, percents, strict=True), start=1)
    ]
