"""Rules of invoices of products and of services, and their emission.

An invoice is pending until it is emitted under its access key, once and for all. Source: the spec,
Product invoice (NF-e), Service invoice (NFS-e), States.
"""

from calendar import monthrange
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, Table, select, update

from xlbridge.resources.checks import access_key_digit
from xlbridge.sandbox.areas.financial.rules import rate_problems, round_half_even
from xlbridge.sandbox.areas.registry.codes import CodeLookup, Numbers, RecordRegistration
from xlbridge.sandbox.areas.registry.tables import (
    invoice_models,
    issuers,
    products,
)
from xlbridge.sandbox.areas.sales.tables import (
    product_invoice_items,
    product_invoices,
    service_invoices,
)
from xlbridge.sandbox.problems import (
    Problem,
    amount_problems,
    invalid,
    not_found,
    require_no_problems,
)
from xlbridge.wire.product_invoices import (
    ProductInvoice,
    ProductInvoiceInput,
    ProductInvoiceItem,
    ProductInvoiceItemInput,
)
from xlbridge.wire.sales import SalesOrder
from xlbridge.wire.services import ServiceInvoice, ServiceInvoiceInput

_ITEMS = "produtos"
_ZERO = Decimal("0.00")


class ProductInvoiceRegistration(RecordRegistration):
    """Registration of new product invoices, pending emission.

    ``order`` is the sales order that they are generated from, if there is one; their figures are
    those of its products.
    """

    def __init__(
        self, connection: Connection, now: datetime, order: SalesOrder | None = None
    ) -> None:
        super().__init__(connection, now)
        self._order = order

    def problems(self, data: ProductInvoiceInput) -> list[Problem]:
        """Return the rules that a new invoice breaks."""
        known = self._known
        problems = [
            *known.problems("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
            *known.field_problems(data, "codigoDaNotaFiscal", "codigoDaFormaDePagamento"),
            *known.client_problems(data.codigoDoCliente),
        ]
        for index, item in enumerate(data.produtos):
            prefix = f"{_ITEMS}.{index}."
            problems += known.field_problems(item, "idProduto", prefix=prefix)
            problems += amount_problems(f"{prefix}valorUnitario", _item_total(item))
        return problems or amount_problems(_ITEMS, sum(map(_item_total, data.produtos), Decimal(0)))

    def accept(self, data: ProductInvoiceInput) -> ProductInvoice:
        """Accept an invoice without problems, under the next id."""
        id_nf = self._numbers.next("product_invoice")
        items = [self._item(id_nf, seq, item) for seq, item in enumerate(data.produtos, start=1)]
        order = self._order
        lines = items if order is None else order.produtos
        invoice = ProductInvoice(
            idNF=id_nf,
            numeroDoPedido=None if order is None else order.numeroDoPedido,
            **invoice_figures(line.model_dump() for line in lines),
            ultimaAtualizacao=self._now,
            produtos=items,
            **data.model_dump(exclude={_ITEMS}),
        )
        self._rows[product_invoices].append(invoice.model_dump(exclude={_ITEMS}))
        self._rows[product_invoice_items].extend(item.model_dump() for item in items)
        return invoice

    def _item(self, id_nf: int, seq: int, item: ProductInvoiceItemInput) -> ProductInvoiceItem:
        return ProductInvoiceItem(
            idNF=id_nf,
            seq=seq,
            descricaoDoProduto=self._known.required(products, item.idProduto).name,
            valorTotal=_item_total(item),
            **item.model_dump(),
        )


_SUMMED = (
    "valorAcrescimo", "valorDesconto", "valorFrete", "valorSeguro", "valorOutros", "valorIPI",
    "valorICMSST", "baseICMS", "valorICMS",
)  # fmt: skip


def invoice_figures(lines: Iterable[Mapping[str, Any]]) -> dict[str, Decimal]:
    """Return the amounts of an invoice, each the sum over its lines.

    A line without a net total of its own is worth its products.
    """
    figures = dict.fromkeys(("valorDosProdutos", *_SUMMED, "valorTotal"), _ZERO)
    for line in lines:
        figures["valorDosProdutos"] += line["valorTotal"]
        figures["valorTotal"] += line.get("totalLiquido", line["valorTotal"])
        for name in _SUMMED:
            figures[name] += line.get(name) or _ZERO
    return figures


def _item_total(item: ProductInvoiceItemInput) -> Decimal:
    return round_half_even(item.quantidade * item.valorUnitario)


def pending_invoice(connection: Connection, table: Table, invoice_id: int) -> Row[Any]:
    """Return an invoice that is still pending.

    Raises ``RequestError``: 404 when there is none, 400 when it was emitted.
    """
    statement = select(table).where(table.c.idNF == invoice_id)
    invoice = connection.execute(statement).one_or_none()
    if invoice is None:
        raise not_found("id", "Nota fiscal não encontrada.")
    if invoice.numeroDaNotaFiscalEletronica is not None:
        raise invalid(("id", f"A nota fiscal {invoice_id} já foi emitida."))
    return invoice


def emit_invoice(connection: Connection, table: Table, invoice_id: int, now: datetime) -> None:
    """Emit a pending invoice of products or services, as the table tells.

    Raises ``RequestError`` as ``pending_invoice`` does.
    """
    invoice = pending_invoice(connection, table, invoice_id)
    known, numbers = CodeLookup(connection), Numbers(connection)
    branch = invoice.codigoDaFilial
    entry = known.required(issuers, branch)
    issuer = Issuer(entry.cnpj, entry.municipality)
    if table is product_invoices:
        series = known.required(invoice_models, invoice.codigoDaNotaFiscal).series
        number = numbers.next(product_invoice_scope(branch, series))
        key = product_invoice_key(issuer, series, number, now)
    else:
        number = numbers.next(service_invoice_scope(branch))
        key = service_invoice_key(issuer, number, now)
    numbers.write()
    connection.execute(
        update(table)
        .where(table.c.idNF == invoice_id)
        .values(
            numeroDaNotaFiscalEletronica=number,
            chaveDaNotaFiscalEletronica=key,
            dataDeEmissao=now,
            ultimaAtualizacao=now,
        )
    )


@dataclass(frozen=True, slots=True)
class Issuer:
    """Issuer of an invoice: its CNPJ, and the IBGE code of its municipality."""

    cnpj: str
    municipality: str


def product_invoice_scope(branch: int, series: int) -> str:
    """Name the sequence that a branch's product invoices of a series are numbered in."""
    return f"nfe:{branch}:{series}"


def service_invoice_scope(branch: int) -> str:
    """Name the sequence that a branch's service invoices are numbered in."""
    return f"nfse:{branch}"


_PRODUCT_MODEL = "55"
_NORMAL_EMISSION = "1"
_OWN_SYSTEM, _BY_CNPJ = "1", "2"


def product_invoice_key(issuer: Issuer, series: int, number: int, emitted: datetime) -> str:
    """Return the key of 44 digits of a product invoice."""
    state = issuer.municipality[:2]
    stem = (
        f"{state}{emitted:%y%m}{issuer.cnpj}{_PRODUCT_MODEL}{series:03}{number:09}"
        f"{_NORMAL_EMISSION}{_own_code(number, 8)}"
    )
    return stem + access_key_digit(stem)


def service_invoice_key(issuer: Issuer, number: int, emitted: datetime) -> str:
    """Return the key of 50 digits of a service invoice."""
    stem = (
        f"{issuer.municipality}{_OWN_SYSTEM}{_BY_CNPJ}{issuer.cnpj}{number:013}{emitted:%y%m}"
        f"{_own_code(number, 9)}"
    )
    return stem + access_key_digit(stem)


def _own_code(number: int, width: int) -> str:
    """The key's own code, which must never be the invoice's number."""
    return f"{(10**width - 1 - number) % 10**width:0{width}}"


_AMOUNTS = tuple(
    name for name in ServiceInvoiceInput.model_fields if name.lower().startswith("valor")
)
_RATES = tuple(
    name for name in ServiceInvoiceInput.model_fields if name.lower().startswith("aliquota")
)


class ServiceInvoiceRegistration(RecordRegistration):
    """Registration of new service invoices, pending emission."""

    def problems(self, data: ServiceInvoiceInput) -> list[Problem]:
        """Return the rules that a new invoice breaks."""
        return _service_invoice_problems(self._known, data)

    def accept(self, data: ServiceInvoiceInput) -> ServiceInvoice:
        """Accept an invoice without problems, under the next id."""
        invoice = ServiceInvoice(
            idNF=self._numbers.next("service_invoice"),
            ultimaAtualizacao=self._now,
            **data.model_dump(),
        )
        self._rows[service_invoices].append(invoice.model_dump())
        return invoice


def change_service_invoice(
    connection: Connection, invoice_id: int, data: ServiceInvoiceInput, now: datetime
) -> None:
    """Give a pending invoice new content, the whole of it.

    Raises ``RequestError``: 404 when there is none, 400 when it was emitted or breaks a rule.
    """
    pending_invoice(connection, service_invoices, invoice_id)
    require_no_problems(_service_invoice_problems(CodeLookup(connection), data))
    content = data.model_dump(include=set(ServiceInvoiceInput.model_fields))
    connection.execute(
        update(service_invoices)
        .where(service_invoices.c.idNF == invoice_id)
        .values(**content, ultimaAtualizacao=now)
    )


def _service_invoice_problems(known: CodeLookup, data: ServiceInvoiceInput) -> list[Problem]:
    problems = [
        *known.problems("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
        *known.client_problems(data.codigoDoCliente),
        *known.field_problems(data, "codigoDoServicoPrestado"),
    ]
    for name in _AMOUNTS:
        problems.extend(amount_problems(name, getattr(data, name)))
    for name in _RATES:
        problems.extend(rate_problems(name, getattr(data, name)))
    return problems


def months_after(moment: datetime, months: int) -> datetime:
    """Return the same day so many months later, or the last one of a shorter month."""
    years, month = divmod(moment.month - 1 + months, 12)
    year, month = moment.year + years, month + 1
    day = min(moment.day, monthrange(year, month)[1])
    return moment.replace(year=year, month=month, day=day)
