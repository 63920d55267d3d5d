"""The demo's invoices: those of its processed orders, and those of services."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

from sqlalchemy import Insert, insert, select

from xlbridge.sandbox.business.access_keys import product_invoice_key, service_invoice_key
from xlbridge.sandbox.business.emission import product_invoice_scope, service_invoice_scope
from xlbridge.sandbox.business.money import percent_of
from xlbridge.sandbox.seed.billing import ISSUERS, SERIES_OF_MODEL
from xlbridge.sandbox.seed.calendar import at_work, some_day
from xlbridge.sandbox.seed.clients import Customer
from xlbridge.sandbox.seed.registries import codes
from xlbridge.sandbox.tables.registries import services
from xlbridge.sandbox.tables.sales import (
    product_invoice_items,
    sales_order_items,
    sales_orders,
)
from xlbridge.wire.services import ServiceInvoice

_EMITTED = 0.6
_IBS, _CBS = Decimal("0.1"), Decimal("0.9")
_ISS = (None, Decimal(2), Decimal("3.5"), Decimal(5))
_NBS_OF_SERVICE = {
    "01.07": "115021000",
    "07.02": "101011100",
    "14.01": "120011000",
    "17.01": "114011100",
}
_COPIED = (
    "codigoDaFilial", "codigoDaNotaFiscal", "codigoDaFormaDePagamento", "codigoDoCliente",
    "nomeDoCliente", "cep", "idNF", "numeroDoPedido",
)  # fmt: skip


class InvoiceMaker:
    """Makes invoices one after the other; ``numbers`` are the last that each sequence took."""

    def __init__(self) -> None:
        self.numbers: Counter[str] = Counter()

    def of_order(self, header: dict[str, Any], items: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the emitted product invoice of a processed order."""
        branch, emitted = header["codigoDaFilial"], header["dataDeProcessamento"]
        series = SERIES_OF_MODEL[header["codigoDaNotaFiscal"]]
        number = self._next(product_invoice_scope(branch, series))
        return {name: header[name] for name in _COPIED} | {
            "tipoDeOperacao": "Saída",
            "naturezaDaOperacao": "Venda de mercadorias",
            "valorDosProdutos": sum(item["valorTotal"] for item in items),
            "dataDeEmissao": emitted,
            "numeroDaNotaFiscalEletronica": number,
            "chaveDaNotaFiscalEletronica": product_invoice_key(
                ISSUERS[branch], series, number, emitted
            ),
            "ultimaAtualizacao": emitted,
        }

    def of_services(
        self, random: Random, customers: list[Customer], count: int
    ) -> Iterator[dict[str, Any]]:
        """Yield service invoices, some emitted and some pending, as rows of their table."""
        for id_nf in range(1, count + 1):
            invoice = _service_invoice(random, id_nf, random.choice(customers))
            if random.random() < _EMITTED:
                invoice |= self._emission(invoice)
            yield invoice

    def _emission(self, invoice: dict[str, Any]) -> dict[str, Any]:
        branch, emitted = invoice["codigoDaFilial"], invoice["ultimaAtualizacao"]
        number = self._next(service_invoice_scope(branch))
        return {
            "dataDeEmissao": emitted,
            "numeroDaNotaFiscalEletronica": number,
            "chaveDaNotaFiscalEletronica": service_invoice_key(ISSUERS[branch], number, emitted),
        }

    def _next(self, scope: str) -> int:
        self.numbers[scope] += 1
        return self.numbers[scope]


def items_of_orders() -> Insert:
    """Return the statement that copies the products of all invoiced orders to their invoices."""
    names = ("seq", "idProduto", "descricaoDoProduto", "quantidade", "valorUnitario", "valorTotal")
    ordered = (
        select(sales_orders.c.idNF, *(sales_order_items.c[name] for name in names))
        .join(
            sales_order_items, sales_order_items.c.numeroDoPedido == sales_orders.c.numeroDoPedido
        )
        .where(sales_orders.c.idNF.is_not(None))
    )
    return insert(product_invoice_items).from_select(["idNF", *names], ordered)


def _service_invoice(random: Random, id_nf: int, customer: Customer) -> dict[str, Any]:
    service = random.choice(codes(services))
    amount = Decimal(random.randrange(15_000, 900_000)).scaleb(-2)
    half_of_ibs = _IBS / 2
    share_of_ibs = percent_of(amount, half_of_ibs)
    given = {
        "idNF": id_nf,
        "codigoDaFilial": random.choice(list(ISSUERS)),
        "codigoDoCliente": customer.code,
        "codigoDoServicoPrestado": service,
        "valorDoServico": amount,
        "aliquotaISSRetido": random.choice(_ISS),
        "CodigoNBS": _NBS_OF_SERVICE[service],
        "CodigoIndicadorDaOperacao": "100301",
        "CodigoTipoDaOperacao": 1,
        "CodigoIndicadorDoDestinatario": 0,
        "CodigoDaSituacaoTributariaIBSCBS": "000",
        "ClassificacaoIBSCBS": "000001",
        "AliquotaIBSMunicipal": half_of_ibs,
        "ValorIBSMunicipal": share_of_ibs,
        "AliquotaIBSEstadual": half_of_ibs,
        "ValorIBSEstadual": share_of_ibs,
        "AliquotaCBS": _CBS,
        "ValorCBS": percent_of(amount, _CBS),
        "CodigoDaSituacaoTributariaPIS": "01",
        "CodigoDaSituacaoTributariaCOFINS": "01",
        "CodigoDaRetencaoPisCofinsCsll": "1",
        "ultimaAtualizacao": at_work(random, some_day(random)),
    }
    return dict.fromkeys(ServiceInvoice.model_fields) | given
