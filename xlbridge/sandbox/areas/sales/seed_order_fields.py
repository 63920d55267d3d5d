"""The lines of the demo's sales orders, and the fields of client, delivery and carrier."""

from decimal import Decimal
from enum import Enum, auto
from random import Random
from typing import Any

from xlbridge.sandbox.areas.registry.seed import SUPPLIER_DOCUMENTS
from xlbridge.sandbox.areas.registry.seed_demo import Customer, DemoProduct
from xlbridge.sandbox.areas.sales.order_figures import ZERO, line_figures
from xlbridge.wire.sales import SalesOrder, SalesOrderItemInput

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


def make_items(
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
        item |= _values(random, product, quantity, freight)
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


def _values(
    random: Random, product: DemoProduct, quantity: Decimal, freight: Decimal
) -> dict[str, Any]:
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
    return prices | line_figures(terms, total)


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


def client_fields(customer: Customer) -> dict[str, Any]:
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


def delivery_fields(customer: Customer) -> dict[str, Any]:
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


def carrier_fields(random: Random, items: list[dict[str, Any]], *, carried: bool) -> dict[str, Any]:
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
