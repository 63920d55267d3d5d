"""Creation of the database, and its reproducible seed records.

The seed has the supporting registries; the demo also has the records of a small company, enough
to exceed the caps of listings. Its sales are made here: orders with their titles and invoices,
service invoices and forecasts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from operator import attrgetter
from random import Random
from typing import Any, Literal

from sqlalchemy import URL, Connection, Table, exists, insert, select, update

from xlbridge.sandbox import imports  # noqa: F401 - adds tables to the metadata
from xlbridge.sandbox.area_declarations import metadata
from xlbridge.sandbox.areas import registries
from xlbridge.sandbox.areas.invoices import (
    Issuer,
    ServiceInvoiceRegistration,
    emit_invoice,
    invoice_amounts,
    months_after,
    product_invoice_items,
    product_invoice_key,
    product_invoice_scope,
    product_invoices,
    service_forecasts,
)
from xlbridge.sandbox.areas.orders import (
    INVOICE_FIELDS,
    PROCESSED,
    SALE_TERMS,
    TITLE_COLUMNS,
    TITLE_FIELDS,
    ZERO,
    item_values,
    sales_order_installments,
    sales_order_items,
    sales_orders,
)
from xlbridge.sandbox.areas.registries import clients, companies, counters, products
from xlbridge.sandbox.areas.titles import receivable_allocations, receivables, title_scope
from xlbridge.sandbox.demo_company import (
    TODAY,
    Customer,
    DemoProduct,
    client_rows,
    codes,
    company,
    entries,
    gross_weight,
    make_customers,
    make_products,
    office_moments,
    random_day,
    random_office_time,
    seed_contacts,
    seed_registries,
    write_rows,
)
from xlbridge.sandbox.demo_purchases import seed_payables, seed_purchases, seed_stock, split_rows
from xlbridge.sandbox.embedded import ProgressCallback, SeedKind
from xlbridge.sandbox.problems import equal_parts, percent_of
from xlbridge.sandbox.storage import Storage
from xlbridge.wire.sales import (
    MONTHS_PER_YEAR,
    SalesOrder,
    SalesOrderItemInput,
    ServiceInvoiceInput,
)

_CLIENTS, _PRODUCTS, _ORDERS, _PAYABLES, _PURCHASES = 1_300, 120, 2_000, 60, 60
_CLIENTS_WITH_CONTACTS = 40


def open_database(url: URL) -> Storage:
    """Open a database with the tables of all areas. Raises ``ConfigError`` like ``Storage``."""
    return Storage(url, metadata)


def seed_database(
    connection: Connection,
    kind: SeedKind,
    scale: int,
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> bool:
    """Seed a new database; ``scale`` multiplies the demo's records.

    Return False, without any change, if the database was seeded before.
    """
    if connection.scalar(select(exists(select(companies)))):
        return False
    seed_registries(connection)
    if kind is not SeedKind.DEMO:
        return True
    random = _new_random()
    customers = make_customers(random, _CLIENTS * scale)
    demo_products = make_products(random, _PRODUCTS * scale)
    write_rows(connection, clients, client_rows(random, customers))
    write_rows(connection, products, demo_products)
    last_codes = {
        "client": customers[-1]["codigoDoCliente"],
        "product": demo_products[-1]["idProduto"],
    }
    for scope, last in last_codes.items():
        connection.execute(update(counters).where(counters.c.scope == scope).values(last=last))
    with_contacts = customers[: _CLIENTS_WITH_CONTACTS * scale]
    last_numbers = {
        **seed_stock(connection, _new_random(), demo_products, scale),
        **seed_orders(connection, random, customers, demo_products, _ORDERS * scale, on_progress),
        **seed_services(connection, _new_random(), customers, scale),
        **seed_payables(connection, _new_random(), _PAYABLES * scale),
        **seed_contacts(connection, _new_random(), with_contacts),
    }
    seed_purchases(connection, random, demo_products, _PURCHASES * scale)
    rows = [{"scope": scope, "last": last} for scope, last in last_numbers.items()]
    write_rows(connection, counters, rows)
    return True


def _new_random() -> Random:
    """Return a generator that makes up the same records every time."""
    return Random(20261031)  # noqa: S311 - not for security


_INVOICES, _FORECASTS = 60, 24
_EMITTED = 0.6
_IBS, _CBS = Decimal("0.1"), Decimal("0.9")
_ISS = (None, Decimal(2), Decimal("3.5"), Decimal(5))
_NBS_OF_SERVICE = {
    "01.07": "115021000",
    "07.02": "101011100",
    "14.01": "120011000",
    "17.01": "114011100",
}


def seed_services(
    connection: Connection, random: Random, customers: list[Customer], scale: int
) -> dict[str, int]:
    """Write service invoices, emitted and pending, and service forecasts.

    Return the last number of each scope of the forecasts.
    """
    lookup = registries.CodeLookup(connection)
    for moment in office_moments(random, _INVOICES * scale):
        registration = ServiceInvoiceRegistration(connection, moment, lookup)
        invoice = registration.accept(_service_invoice(random, random.choice(customers)))
        registration.write()
        if random.random() < _EMITTED and invoice.idNF is not None:
            emit_invoice(connection, ServiceInvoiceRegistration, invoice.idNF, moment)
    forecasts = list(_forecast_rows(random, customers, _FORECASTS * scale))
    write_rows(connection, service_forecasts, forecasts)
    return {"service_forecast": len(forecasts)}


def _service_invoice(random: Random, customer: Customer) -> ServiceInvoiceInput:
    service = random.choice(codes(registries.services))
    amount = Decimal(random.randrange(15_000, 900_000)).scaleb(-2)
    half_of_ibs = _IBS / 2
    share_of_ibs = percent_of(amount, half_of_ibs)
    return ServiceInvoiceInput(
        codigoDaFilial=random.choice(codes(registries.issuers)),
        codigoDoCliente=customer["codigoDoCliente"],
        codigoDoServicoPrestado=service,
        valorDoServico=amount,
        aliquotaISSRetido=random.choice(_ISS),
        CodigoNBS=_NBS_OF_SERVICE[service],
        CodigoIndicadorDaOperacao="100301",
        CodigoTipoDaOperacao=1,
        CodigoIndicadorDoDestinatario=0,
        CodigoDaSituacaoTributariaIBSCBS="000",
        ClassificacaoIBSCBS="000001",
        AliquotaIBSMunicipal=half_of_ibs,
        ValorIBSMunicipal=share_of_ibs,
        AliquotaIBSEstadual=half_of_ibs,
        ValorIBSEstadual=share_of_ibs,
        AliquotaCBS=_CBS,
        ValorCBS=percent_of(amount, _CBS),
        CodigoDaSituacaoTributariaPIS="01",
        CodigoDaSituacaoTributariaCOFINS="01",
        CodigoDaRetencaoPisCofinsCsll="1",
    )


_ENDED, _READJUSTED, _AUTOMATIC = 0.2, 0.7, 0.5


def _forecast_rows(
    random: Random, customers: list[Customer], count: int
) -> Iterator[dict[str, Any]]:
    """Yield forecasts, some of them ended, as rows of their table."""
    active = [customer for customer in customers if customer["ativo"]]
    for code in range(1, count + 1):
        start = random_day(random).replace(day=1)
        has_ended = random.random() < _ENDED
        interval = random.choice((1, 1, 3, MONTHS_PER_YEAR))
        is_readjusted = random.random() < _READJUSTED
        yield {
            "codigoDaPrevisao": code,
            "codigoDaFilial": random.choice(codes(registries.issuers)),
            "codigoDoCliente": random.choice(active)["codigoDoCliente"],
            "codigoDoServicoPrestado": random.choice(codes(registries.services)),
            "valorDoServico": Decimal(random.randrange(20_000, 400_000)).scaleb(-2),
            "dataDeInicio": start,
            "dataDeTermino": max(start, TODAY) if has_ended else None,
            "mesesEntreEmissoes": interval,
            "codigoDaCondicaoDePagamento": 1,
            "percentualDeReajuste": Decimal("4.5") if is_readjusted else None,
            "mesesEntreReajustes": MONTHS_PER_YEAR,
            "emissaoAutomatica": random.random() < _AUTOMATIC,
            "ativo": not has_ended,
            "dataDaProximaEmissao": None if has_ended else _next_date_after_today(start, interval),
            "dataDoProximoReajuste": _next_date_after_today(start, MONTHS_PER_YEAR)
            if is_readjusted
            else None,
            "ultimaAtualizacao": random_office_time(random, random_day(random)),
        }


def _next_date_after_today(start: datetime, months: int) -> datetime:
    """Return the next date after today in a series that repeats every so many months."""
    day = months_after(start, months)
    while day <= TODAY:
        day = months_after(day, months)
    return day


_BATCH_SIZE = 1_000
_SPLIT_EVERY = 20
_MONTH = timedelta(days=30)
_MAX_INSTALMENTS = 4
_CANCELLED, _WITH_CARRIER, _WITH_PROJECT, _PAID = 0.08, 0.4, 0.1, 0.85
_STILL_PENDING = timedelta(days=20)
_PORTFOLIO_OF_ACCOUNT = {1: 1, 2: 2, 3: None}
_FREIGHT_PER_LINE = Decimal("12.50")
_INVOICE_MODEL, _SERIES = 1, 1
_DISCOUNTS = (0, 0, 0, 5, 10)
_IPI = (0, 0, 5)
_ICMS = (7, 12, 18)
_MAX_LINES, _MAX_UNITS = 8, 20
_PAID_BY_SENDER = "E"

Rows = defaultdict[Table, list[dict[str, Any]]]


@dataclass(slots=True)
class OrderPlan:
    """Dates, final status and numbers of an order.

    ``ended`` is when it was processed or cancelled. A processed order has the id of its invoice,
    the invoice number in its branch and the transaction of its titles, all in the order of
    processing.
    """

    number: int
    branch: int
    ordered: datetime
    status: Literal["pending", "processed", "cancelled"]
    ended: datetime
    id_nf: int | None = None
    invoice_number: int = 0
    transaction: int = 0


def seed_orders(
    connection: Connection,
    random: Random,
    customers: list[Customer],
    products: list[DemoProduct],
    count: int,
    on_progress: ProgressCallback,
) -> Counter[str]:
    """Write sales orders with their titles and invoices; return the last number of each scope."""
    plans, last_numbers = _plan_orders(random, count)
    for done in range(0, count, _BATCH_SIZE):
        on_progress(done, count)
        batch: Rows = defaultdict(list)
        for plan in plans[done : done + _BATCH_SIZE]:
            _add_order(random, plan, customers, products, batch)
        for title in batch[receivables][::_SPLIT_EVERY]:
            batch[receivable_allocations].extend(split_rows(receivable_allocations, title))
        for table, rows in batch.items():
            write_rows(connection, table, rows)
    on_progress(count, count)
    # Copy the products of all invoiced orders to their invoices.
    names = ("seq", "idProduto", "descricaoDoProduto", "quantidade", "valorUnitario", "valorTotal")
    items, orders = sales_order_items.c, sales_orders.c
    invoiced = (
        select(orders.idNF, *(items[name] for name in names))
        .join(sales_order_items, items.numeroDoPedido == orders.numeroDoPedido)
        .where(orders.idNF.is_not(None))
    )
    connection.execute(insert(product_invoice_items).from_select(["idNF", *names], invoiced))
    return last_numbers


def _plan_orders(random: Random, count: int) -> tuple[list[OrderPlan], Counter[str]]:
    """Return plans of orders, numbered by date, and the last number of each scope."""
    plans = []
    for number, ordered in enumerate(office_moments(random, count), start=1):
        plan = OrderPlan(number, 0, ordered, "processed", ordered)
        if random.random() < _CANCELLED:
            plan.status = "cancelled"
        elif ordered > TODAY - _STILL_PENDING:
            plan.status = "pending"
        plan.ended = max(min(ordered + timedelta(days=random.randrange(1, 10)), TODAY), ordered)
        plan.branch = random.choice(codes(registries.branches))
        plans.append(plan)
    processed = (plan for plan in plans if plan.status == "processed")
    last_numbers = Counter({"sales_order": count})
    for plan in sorted(processed, key=attrgetter("ended")):
        invoices = product_invoice_scope(plan.branch, _SERIES)
        titles = title_scope("receivable", plan.ended.year, plan.branch)
        last_numbers.update(("product_invoice", invoices, titles))
        plan.id_nf = last_numbers["product_invoice"]
        plan.invoice_number, plan.transaction = last_numbers[invoices], last_numbers[titles]
    return plans, last_numbers


def _add_order(
    random: Random,
    plan: OrderPlan,
    customers: list[Customer],
    products: list[DemoProduct],
    batch: Rows,
) -> None:
    """Add one order with its products, instalments, titles and invoice to a batch."""
    customer = random.choice(customers)
    has_carrier = random.random() < _WITH_CARRIER
    items = _make_items(random, plan, products, _FREIGHT_PER_LINE if has_carrier else ZERO)
    header = _header(random, plan, customer)
    header |= _carrier_fields(random, items) if has_carrier else _NO_CARRIER
    total = sum((item["totalLiquido"] for item in items), Decimal(0))
    batch[sales_orders].append(header)
    batch[sales_order_items].extend(items)
    count = header["quantidadeDeParcelas"]
    values, percents = equal_parts(total, count), equal_parts(Decimal(100), count)
    first_due = plan.ordered.replace(hour=0, minute=0, second=0)
    for sequence, (value, percent) in enumerate(zip(values, percents, strict=True), start=1):
        instalment = {
            "numeroDoPedido": plan.number,
            "numeroDaParcela": sequence,
            "dataDeVencimento": first_due + sequence * _MONTH,
            "percentual": percent,
            "valor": value,
            "totalDoPedido": total,
            "existeLancamentoCR": plan.status == "processed",
            **dict.fromkeys(TITLE_COLUMNS.values()),
        }
        if plan.status == "processed":
            title = _title(random, header, instalment, plan)
            instalment |= {column: title[name] for name, column in TITLE_COLUMNS.items()}
            batch[receivables].append(title)
        batch[sales_order_installments].append(instalment)
    if plan.status == "processed":
        batch[product_invoices].append(_invoice(header, items, plan))


def _header(random: Random, plan: OrderPlan, customer: Customer) -> dict[str, Any]:
    """Return an order's header with the client's address, without its carrier."""
    number = plan.number
    account = random.choice(list(_PORTFOLIO_OF_ACCOUNT))
    count = random.randint(1, _MAX_INSTALMENTS)
    for_project = random.random() < _WITH_PROJECT
    address = {name: value for name, value in customer.items() if name != "ativo"}
    delivery = {name: customer[own] for name, own in _DELIVERY.items()}
    return {
        **address,
        **delivery,
        "codigoDaNotaFiscal": _INVOICE_MODEL,
        "codigoDaFilial": plan.branch,
        "codigoDaCondicaoDePagamento": count,
        "numeroDoPedido": number,
        "numeroDaOrdem": number,
        "codigoDoProjeto": random.choice(codes(registries.projects)) if for_project else None,
        "codigoDaFormaDePagamento": random.choice(codes(registries.payment_methods)),
        "codigoDaContaCorrente": account,
        "codigoDaCarteira": _PORTFOLIO_OF_ACCOUNT[account],
        "codigoDaClassificacaoAuxiliar": 1,
        "idNF": plan.id_nf,
        "quantidadeDeParcelas": count,
        "dataDaOrdem": plan.ordered,
        "dataDeProcessamento": plan.ended if plan.status == "processed" else None,
        "dataDeCancelamento": plan.ended if plan.status == "cancelled" else None,
        "observacao": f"Pedido {number} do site" if number % 3 == 0 else None,
        "codigoDoItemDeLancamento": "1.01.001",
        "historicoCR": f"Pedido de venda {number}",
        "codigoDoCentroDeCusto": random.choice(codes(registries.cost_centres)),
        "faturamentoNotaFiscalUnica": True,
        "consolidado": False,
        "pendente": plan.status == "pending",
        "processado": plan.status == "processed",
        "cancelado": plan.status == "cancelled",
        "avisos": [] if customer["ativo"] else ["Cliente inativo."],
        "ultimaAtualizacao": plan.ordered if plan.status == "pending" else plan.ended,
    }


_DELIVERY = {
    "entregaNomeContato": "contato",
    "entregaCEP": "cep",
    "entregaLogradouro": "logradouro",
    "entregaNumero": "numero",
    "entregaBairro": "bairro",
    "entregaCidade": "cidade",
    "entregaCodigoMunicipio": "codigoDoMunicipio",
    "entregaUF": "uf",
}
"""Fields of the delivery, each with that of the client's address."""

_NO_CARRIER: dict[str, Any] = {
    name: None for name in SalesOrder.model_fields if name.startswith("transportadora")
}


def _carrier_fields(random: Random, items: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        **random.choice(company()["carriers"]),
        "transportadoraNatureza": "J",
        "transportadoraIE": "ISENTO",
        "transportadoraEspecie": "CAIXA",
        "transportadoraVolume": str(len(items)),
        "transportadoraFreteEmiDest": _PAID_BY_SENDER,
        "transportadoraObservacao": "Entregar em horário comercial",
        "transportadoraPesoBruto": sum(item["pesoBruto"] for item in items),
        "transportadoraPesoLiquido": sum(item["pesoLiquido"] for item in items),
        "transportadoraValorFrete": sum(item["valorFrete"] for item in items),
        "transportadoraValorSeguro": ZERO,
        "transportadoraVolumeComprimento": Decimal("0.60"),
        "transportadoraVolumeAltura": Decimal("0.40"),
        "transportadoraVolumeLargura": Decimal("0.40"),
        "transportadoraQtde": Decimal(len(items)),
    }


def _make_items(
    random: Random, plan: OrderPlan, products: list[DemoProduct], freight: Decimal
) -> list[dict[str, Any]]:
    """Return an order's lines with ``freight`` on each."""
    ordered = random.sample(products, random.randint(1, min(_MAX_LINES, len(products))))
    items = []
    for seq, product in enumerate(ordered, start=1):
        quantity = Decimal(random.randint(1, _MAX_UNITS))
        rates = (_DISCOUNTS, _IPI, _ICMS)
        discount, ipi, icms = (Decimal(random.choice(values)) for values in rates)
        terms = SalesOrderItemInput.model_construct(
            idProduto=product["idProduto"],
            quantidade=quantity,
            valorFrete=freight,
            valorDescontoPercentual=discount,
            aliquotaIPI=ipi,
            aliquotaICMS=icms,
            url=f"https://loja.example/{product['codigoInterno']}",
            largura="10",
            altura="20",
            comprimento="30",
            pesoBruto=gross_weight(product["Peso"] * quantity),
        )
        item = item_values(terms, product, plan.number, seq)
        if plan.status == "processed":
            item |= PROCESSED | {"quantidadeProcessadaParcial": quantity}
        elif plan.status == "cancelled":
            item |= PROCESSED
        items.append(item)
    return items


def _title(
    random: Random, header: dict[str, Any], instalment: dict[str, Any], plan: OrderPlan
) -> dict[str, Any]:
    """Return the title of an instalment of a processed order."""
    issued = plan.ended.replace(hour=0, minute=0, second=0)
    sequence = instalment["numeroDaParcela"]
    due, value = instalment["dataDeVencimento"], instalment["valor"]
    is_paid = due <= TODAY and random.random() < _PAID
    return {name: header[name] for name in TITLE_FIELDS} | {
        "codigoDoExercicio": issued.year,
        "numeroDaTransacao": plan.transaction,
        "sequenciaDaTransacao": sequence,
        "historico": header["historicoCR"],
        "numeroDoDocumento": f"PV-{plan.number:06}/{sequence}",
        "idws": f"WS-{plan.number}-{sequence}",
        "dataDeEmissao": issued,
        "dataDeVencimento": due,
        "valorDoLancamento": value,
        "PeriodoDeCompetencia": issued.replace(day=1),
        "dataDeBaixa": due if is_paid else None,
        "valorBaixado": value if is_paid else None,
    }


def _invoice(
    header: dict[str, Any], items: list[dict[str, Any]], plan: OrderPlan
) -> dict[str, Any]:
    """Return the emitted product invoice of a processed order."""
    entry, number = entries(registries.issuers)[plan.branch], plan.invoice_number
    issuer = Issuer(entry["cnpj"], entry["municipality"])
    return {name: header[name] for name in (*INVOICE_FIELDS, "idNF", "numeroDoPedido")} | {
        **SALE_TERMS,
        **invoice_amounts(items),
        "dataDeEmissao": plan.ended,
        "numeroDaNotaFiscalEletronica": number,
        "chaveDaNotaFiscalEletronica": product_invoice_key(issuer, _SERIES, number, plan.ended),
        "ultimaAtualizacao": plan.ended,
    }
