"""Payable titles of the demo, some with retained taxes, allocations or settlement."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from sqlalchemy import Connection

from xlbridge.resources.checks import is_boleto
from xlbridge.sandbox.amounts import percent_of, round_half_even
from xlbridge.sandbox.areas.financial.titles import (
    OWNER_KEY,
    TITLE_KEY,
    allocation_rows,
    payable_allocations,
    payable_files,
    payables,
    title_scope,
)
from xlbridge.sandbox.areas.registry.seed import FIRST_DAY, TODAY, attachment_row, codes, write_rows
from xlbridge.sandbox.areas.registry.tables import (
    abc_costs,
    accounts,
    branches,
    cost_centres,
    payment_methods,
)
from xlbridge.wire.financial import Allocation

_DUE = timedelta(days=30)
_DAYS_BETWEEN = 11
_FIRST_INVOICE = 70001
_EXPENSES = {
    501: ("2.01.001", "Energia elétrica"),
    502: ("2.02.001", "Compra de mercadorias"),
    503: ("2.02.001", "Frete de compras"),
    504: ("2.01.002", "Aluguel de equipamentos"),
    506: ("2.02.001", "Frete de entregas"),
}
_RETAINED_PERCENT = {
    "ValorPISRetido": Decimal("0.65"),
    "ValorCOFINSRetido": Decimal(3),
    "ValorCSLLRetido": Decimal(1),
    "ValorIRRetido": Decimal("1.5"),
    "ValorISSRetido": Decimal(2),
    "ValorINSSRetido": Decimal(0),
}
_FIRST_DAYS = 1000
_BARCODE_EPOCHS = datetime(2022, 5, 29), datetime(1997, 10, 7)
"""Epochs of the due date, newest first; on 22 February 2025 the count restarted at day 1000."""
_UNPAID_EVERY, _SPLIT_EVERY, _FILE_EVERY, _TAXED_EVERY = 7, 4, 3, 2


def seed_payables(connection: Connection, random: Random, count: int) -> Counter[str]:
    """Write payable titles, spread over the demo's period; return the last number of each scope."""
    titles: list[dict[str, Any]] = []
    allocations: list[dict[str, Any]] = []
    files: list[dict[str, Any]] = []
    last_numbers: Counter[str] = Counter()
    days = (TODAY - FIRST_DAY).days + 1
    issues = sorted(index * _DAYS_BETWEEN % days for index in range(count))
    for index, day in enumerate(issues):
        issued = FIRST_DAY + timedelta(days=day)
        branch = codes(branches)[index % len(codes(branches))]
        scope = title_scope("payable", issued.year, branch)
        last_numbers[scope] += 1
        key = (issued.year, branch, last_numbers[scope], 1)
        title = dict(zip(TITLE_KEY, key, strict=True)) | _payable_row(random, index, issued)
        titles.append(title)
        if index % _SPLIT_EVERY == 0:
            allocations.extend(split_rows(title))
        if index % _FILE_EVERY == 0:
            name = f"fatura-{_FIRST_INVOICE + index}.pdf"
            file = attachment_row(random, index + 1, name, "Fatura do fornecedor")
            files.append(dict(zip(OWNER_KEY, key, strict=True)) | file)
    write_rows(connection, payables, titles)
    write_rows(connection, payable_allocations, allocations)
    write_rows(connection, payable_files, files)
    return last_numbers


def split_rows(title: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield two parts of a title: 60 % for its cost centre, the rest for another one."""
    amount = title["valorDoLancamento"]
    first_amount = round_half_even(amount * 6 / 10)
    other = next(code for code in codes(cost_centres) if code != title["codigoDoCentroDeCusto"])
    branch = title["codigoDaFilial"]
    first = Allocation(**title | {"codigoDaFilialDoRateio": branch, "valor": first_amount})
    second = first.model_copy(
        update={"codigoDoCentroDeCusto": other, "valor": amount - first_amount}
    )
    return allocation_rows([title[name] for name in TITLE_KEY], [first, second])


def _payable_row(random: Random, index: int, issued: datetime) -> dict[str, Any]:
    supplier = random.choice(list(_EXPENSES))
    category, history = _EXPENSES[supplier]
    gross = Decimal(random.randrange(20_000, 2_000_000)).scaleb(-2)
    taxed = index % _TAXED_EVERY == 0
    retained = {
        name: percent_of(gross, percent) if taxed else Decimal(0)
        for name, percent in _RETAINED_PERCENT.items()
    }
    net = gross - sum(retained.values())
    due = issued + _DUE
    is_paid = due <= TODAY and index % _UNPAID_EVERY != 0
    return retained | {
        "codigoDoFornecedor": supplier,
        "codigoDoItemDeLancamento": category,
        "codigoDoCentroDeCusto": random.choice(codes(cost_centres)),
        "codigoDaContaCorrente": random.choice(codes(accounts)),
        "historico": f"{history} de {issued:%m/%Y}",
        "numeroDoDocumento": f"FAT-{_FIRST_INVOICE + index}",
        "dataDeEmissao": issued,
        "dataDeVencimento": due,
        "valorDoLancamento": net,
        "codigoDaFormaDePagamento": random.choice(codes(payment_methods)),
        "PeriodoDeCompetencia": issued.replace(day=1),
        "CodigoDeBarras": _barcode(random, due, net) if taxed else None,
        "CodigoDoCustoABC": random.choice(codes(abc_costs)),
        "ValorBruto": gross,
        "dataDeBaixa": due if is_paid else None,
        "valorBaixado": net if is_paid else None,
    }


def _barcode(random: Random, due: datetime, amount: Decimal) -> str:
    """Return the barcode of a Banco do Brasil slip: days since the epoch, cents, free field."""
    days = next(days for epoch in _BARCODE_EPOCHS if (days := (due - epoch).days) >= _FIRST_DAYS)
    cents = int(amount * 100)
    rest = f"{days:04}{cents:010}{random.randrange(10**12):025}"
    candidates = (f"0019{digit}{rest}" for digit in range(1, 10))
    return next(code for code in candidates if is_boleto(code))
