"""The demo's sales orders: their fields and lines, instalments that add up to their products, and
their titles."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum, auto
from operator import attrgetter
from random import Random
from typing import Any

from xlbridge.sandbox.areas.financial.rules import equal_parts
from xlbridge.sandbox.areas.registry.seed import SUPPLIER_DOCUMENTS, codes
from xlbridge.sandbox.areas.registry.seed_demo import (
    TODAY,
    Customer,
    DemoProduct,
    office_moments,
)
from xlbridge.sandbox.areas.registry.tables import branches, cost_centres, payment_methods, projects
from xlbridge.sandbox.areas.sales.order_figures import ZERO, line_figures
from xlbridge.sandbox.areas.sales.orders import TITLE_FIELDS
from xlbridge.sandbox.areas.sales.seed_billing import InvoiceMaker
from xlbridge.wire.sales import SalesOrder, SalesOrderItemInput

_MONTH = timedelta(days=30)
_MOST_INSTALMENTS = 4
_CANCELLED, _CARRIED, _PROJECTED, _PAID = 0.08, 0.4, 0.1, 0.85
_STILL_PENDING = timedelta(days=20)
_PORTFOLIO_OF_ACCOUNT = {1: 1, 2: 2, 3: None}
_FREIGHT_PER_LINE = Decimal("12.50")
_INVOICE_MODEL = 1
_GRAMS = Decimal("0.001")
_GROSS = Decimal("1.1")
_DISCOUNTS = (0, 0, 0, 5, 10)
_IPI = (0, 0, 5)
_ICMS = (7, 12, 18)
_MOST_LINES, _MOST_UNITS = 8, 20


class OrderStatus(Enum):
    """State of an order."""

    PENDING = auto()
    PROCESSED = auto()
    CANCELLED = auto()


@dataclass(slots=True)
class OrderRows:
    """Rows of the tables that orders fill."""

    orders: list[dict[str, Any]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    instalments: list[dict[str, Any]] = field(default_factory=list)
    titles: list[dict[str, Any]] = field(default_factory=list)
    invoices: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class OrderCourse:
    """Course of an order: when it is placed, how it ends, and the numbers that it takes then.

    ``ended`` is when it was processed or cancelled. A processed order has the id of its invoice,
    the invoice's number in its branch, and the transaction of its titles, all in the order in
    which orders were processed.
    """

    number: int
    branch: int
    ordered: datetime
    status: OrderStatus
    ended: datetime
    id_nf: int | None = None
    invoice_number: int = 0
    transaction: int = 0


def plan_orders(random: Random, count: int) -> list[OrderCourse]:
    """Return the courses of so many orders, numbered in the order of their dates."""
    courses = []
    for number, ordered in enumerate(office_moments(random, count), start=1):
        status = _status(random, ordered)
        ended = max(min(ordered + timedelta(days=random.randrange(1, 10)), TODAY), ordered)
        courses.append(OrderCourse(number, random.choice(codes(branches)), ordered, status, ended))
    processed = (course for course in courses if course.status is OrderStatus.PROCESSED)
    taken: Counter[object] = Counter()
    for id_nf, course in enumerate(sorted(processed, key=attrgetter("ended")), start=1):
        exercise = (course.ended.year, course.branch)
        taken.update((course.branch, exercise))
        course.id_nf = id_nf
        course.invoice_number, course.transaction = taken[course.branch], taken[exercise]
    return courses


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
        self.transactions: Counter[tuple[int, int]] = Counter()
        self.processed = 0

    def make(self, course: OrderCourse, batch: OrderRows) -> None:
        """Add one order, its lines and its titles to a batch."""
        random, number, status = self._random, course.number, course.status
        customer = random.choice(self._customers)
        is_carried = random.random() < _CARRIED
        freight = _FREIGHT_PER_LINE if is_carried else Decimal("0.00")
        items = _make_items(random, number, self._products, freight, status)
        header = self._header(course, customer)
        header |= (
            _client_fields(customer)
            | _delivery_fields(customer)
            | _carrier_fields(random, items, carried=is_carried)
        )
        total = sum((item["totalLiquido"] for item in items), Decimal(0))
        count = header["quantidadeDeParcelas"]
        values, percents = equal_parts(total, count), equal_parts(Decimal(100), count)
        first_due = header["dataDaOrdem"].replace(hour=0, minute=0, second=0)
        instalments = [
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
        if status is OrderStatus.PROCESSED:
            self.processed += 1
            batch.titles.extend(self._titles(header, instalments, course))
            batch.invoices.append(self._invoices.of_order(header, items, course.invoice_number))
        batch.orders.append(header)
        batch.items.extend(items)
        batch.instalments.extend(instalments)

    def _header(self, course: OrderCourse, customer: Customer) -> dict[str, Any]:
        random, number = self._random, course.number
        ordered, status, ended = course.ordered, course.status, course.ended
        account = random.choice(list(_PORTFOLIO_OF_ACCOUNT))
        count = random.randint(1, _MOST_INSTALMENTS)
        processed, cancelled = status is OrderStatus.PROCESSED, status is OrderStatus.CANCELLED
        return {
            "codigoDaNotaFiscal": _INVOICE_MODEL,
            "codigoDaFilial": course.branch,
            "codigoDaCondicaoDePagamento": count,
            "numeroDoPedido": number,
            "numeroDaOrdem": number,
            "codigoDoVendedor": customer.seller,
            "codigoDoProjeto": (
                random.choice(codes(projects)) if random.random() < _PROJECTED else None
            ),
            "codigoDaFormaDePagamento": random.choice(codes(payment_methods)),
            "codigoDaContaCorrente": account,
            "codigoDaCarteira": _PORTFOLIO_OF_ACCOUNT[account],
            "codigoDaClassificacaoAuxiliar": 1,
            "idNF": course.id_nf,
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
        self, header: dict[str, Any], instalments: list[dict[str, Any]], course: OrderCourse
    ) -> list[dict[str, Any]]:
        issued = course.ended.replace(hour=0, minute=0, second=0)
        key = (issued.year, course.branch)
        self.transactions[key] = max(self.transactions[key], course.transaction)
        return [
            self._title(header, instalment, issued, course.transaction)
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
        return {name: header[name] for name in TITLE_FIELDS} | {
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


def _make_items(
    random: Random, order: int, products: list[DemoProduct], freight: Decimal, status: OrderStatus
) -> list[dict[str, Any]]:
    """Return an order's lines; ``freight`` is what each line bears of it.

    In each, the total is quantity times unit value, and the net total follows from the rest.
    """
    chosen = random.sample(products, random.randint(1, min(_MOST_LINES, len(products))))
    items = []
    for seq, product in enumerate(chosen, start=1):
        quantity = Decimal(random.randint(1, _MOST_UNITS))
        item: dict[str, Any] = {"numeroDoPedido": order, "seq": seq}
        item |= _identity(product)
        item |= _measures(product, quantity)
        total = quantity * product.price
        rates = (_DISCOUNTS, _IPI, _ICMS)
        discount, ipi, icms = (Decimal(random.choice(values)) for values in rates)
        terms = SalesOrderItemInput.model_construct(
            idProduto=product.code,
            quantidade=quantity,
            valorFrete=freight,
            valorDescontoPercentual=discount,
            aliquotaIPI=ipi,
            aliquotaICMS=icms,
        )
        prices = {"valorUnitario": product.price, "valorTotal": total}
        item |= prices | line_figures(terms, total)
        item |= _progress(quantity, item["totalLiquido"], status)
        items.append(item)
    return items


def _identity(product: DemoProduct) -> dict[str, Any]:
    return {
        "idProduto": product.code,
        "idMapeamentoPadrao": product.code,
        "codigoInterno": product.internal_code,
        "codigoDeBarras": product.barcode,
        "descricaoDoProduto": product.name,
        "ncm": product.ncm,
        "url": f"https://loja.example/{product.internal_code}",
    }


def _measures(product: DemoProduct, quantity: Decimal) -> dict[str, Any]:
    weight = product.weight * quantity
    return {
        "largura": "10",
        "altura": "20",
        "comprimento": "30",
        "pesoLiquido": weight,
        "pesoBruto": (weight * _GROSS).quantize(_GRAMS),
        "quantidade": quantity,
    }


def _progress(quantity: Decimal, net: Decimal, status: OrderStatus) -> dict[str, Any]:
    pending = status is OrderStatus.PENDING
    return {
        "quantidadeProcessadaParcial": quantity if status is OrderStatus.PROCESSED else Decimal(0),
        "quantidadeDisponivelParaProcessamento": quantity if pending else Decimal(0),
        "valorDisponivelParaProcessamento": net if pending else ZERO,
        "disponivelParaProcessamentoParcial": pending,
    }


_CARRIERS = (
    {
        "transportadoraCodigo": 503,
        "transportadoraNome": "Transportes Rio Claro S.A.",
        "transportadoraEndereco": "Rodovia Washington Luís, km 173",
        "transportadoraCidade": "Rio Claro",
        "transportadoraUF": "SP",
        "transportadoraPlaca": "BRA2E19",
        "transportadoraPlacaUF": "SP",
        "transportadoraCNPJ": SUPPLIER_DOCUMENTS[503],
    },
    {
        "transportadoraCodigo": 506,
        "transportadoraNome": "Expresso Araucária Ltda",
        "transportadoraEndereco": "Avenida das Araucárias, 1500",
        "transportadoraCidade": "Araucária",
        "transportadoraUF": "PR",
        "transportadoraPlaca": "QQP4F56",
        "transportadoraPlacaUF": "PR",
        "transportadoraCNPJ": SUPPLIER_DOCUMENTS[506],
    },
)
_NO_CARRIER: dict[str, Any] = {
    name: None for name in SalesOrder.model_fields if name.startswith("transportadora")
}
_PAID_BY_SENDER = "E"


def _client_fields(customer: Customer) -> dict[str, Any]:
    """Return the client's fields of an order."""
    place = customer.place
    return {
        "codigoDoCliente": customer.code,
        "nomeDoCliente": customer.name,
        "nomeDoClienteFmt": f"{customer.code} - {customer.name}",
        "naturezaJuridica": customer.nature,
        "cnpjcpf": customer.document,
        "inscricaoEstadual": "ISENTO" if customer.nature == "J" else None,
        "inscricaoMunicipal": None,
        "cep": customer.postcode,
        "logradouro": customer.street,
        "numero": customer.number,
        "complemento": None,
        "bairro": customer.district,
        "cidade": place.city,
        "uf": place.state,
        "codigoDoMunicipio": place.municipality,
        "contato": customer.contact,
        "telefone": customer.telephone,
        "email": customer.email,
    }


def _delivery_fields(customer: Customer) -> dict[str, Any]:
    """Return the fields of delivery to the client's own address."""
    return {
        "entregaNomeContato": customer.contact,
        "entregaCEP": customer.postcode,
        "entregaLogradouro": customer.street,
        "entregaNumero": customer.number,
        "entregaComplemento": None,
        "entregaBairro": customer.district,
        "entregaCidade": customer.place.city,
        "entregaCodigoMunicipio": customer.place.municipality,
        "entregaUF": customer.place.state,
    }


def _carrier_fields(
    random: Random, items: list[dict[str, Any]], *, carried: bool
) -> dict[str, Any]:
    """Return the carrier's fields; without one they are all empty."""
    if not carried:
        return _NO_CARRIER
    return {
        **random.choice(_CARRIERS),
        "transportadoraNatureza": "J",
        "transportadoraIE": "ISENTO",
        "transportadoraEspecie": "CAIXA",
        "transportadoraVolume": str(len(items)),
        "transportadoraFreteEmiDest": _PAID_BY_SENDER,
        "transportadoraObservacao": "Entregar em horário comercial",
        "transportadoraPesoBruto": sum(item["pesoBruto"] for item in items),
        "transportadoraPesoLiquido": sum(item["pesoLiquido"] for item in items),
        "transportadoraValorFrete": sum(item["valorFrete"] for item in items),
        "transportadoraValorSeguro": Decimal("0.00"),
        "transportadoraVolumeComprimento": Decimal("0.60"),
        "transportadoraVolumeAltura": Decimal("0.40"),
        "transportadoraVolumeLargura": Decimal("0.40"),
        "transportadoraQtde": Decimal(len(items)),
    }
