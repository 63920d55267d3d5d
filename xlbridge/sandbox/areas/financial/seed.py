"""The demo's payable titles: taxes retained, split among cost centres, some settled."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from urllib.parse import quote

from xlbridge.resources.checks import is_boleto
from xlbridge.sandbox.areas.financial.rules import allocation_rows, percent_of, round_half_even
from xlbridge.sandbox.areas.financial.tables import OWNER_KEY, TITLE_KEY
from xlbridge.sandbox.areas.registry.seed import codes
from xlbridge.sandbox.areas.registry.seed_demo import FIRST_DAY, TODAY
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
_FEWEST_DAYS = 1000
_BARCODE_EPOCHS = datetime(2022, 5, 29), datetime(1997, 10, 7)
"""Days from which slips count: the former since 22 February 2025, which is day 1000 again."""
_UNPAID_EACH, _SPLIT_EACH, _FILED_EACH, _TAXED_EACH = 7, 4, 3, 2


@dataclass(slots=True)
class PayableRows:
    """Rows of the tables of payable titles, and the last number of each scope."""

    titles: list[dict[str, Any]] = field(default_factory=list)
    allocations: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    numbers: Counter[str] = field(default_factory=Counter)


def make_payables(random: Random, count: int) -> PayableRows:
    """Return the payable titles, spread over the demo's calendar."""
    made = PayableRows()
    days = (TODAY - FIRST_DAY).days + 1
    issues = sorted(index * _DAYS_BETWEEN % days for index in range(count))
    for index, day in enumerate(issues):
        issued = FIRST_DAY + timedelta(days=day)
        branch = codes(branches)[index % len(codes(branches))]
        scope = f"payable:{issued.year}:{branch}"
        made.numbers[scope] += 1
        key = (issued.year, branch, made.numbers[scope], 1)
        title = dict(zip(TITLE_KEY, key, strict=True)) | _payable_row(random, index, issued)
        made.titles.append(title)
        if index % _SPLIT_EACH == 0:
            made.allocations.extend(split_rows(title))
        if index % _FILED_EACH == 0:
            made.files.append(_file_row(random, index, key))
    return made


def split_rows(title: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a title: 60 % for its own cost centre, the rest for the first other."""
    amount = title["valorDoLancamento"]
    own = round_half_even(amount * 6 / 10)
    other = next(code for code in codes(cost_centres) if code != title["codigoDoCentroDeCusto"])
    branch = title["codigoDaFilial"]
    whole = Allocation(**title | {"codigoDaFilialDoRateio": branch, "valor": own})
    rest = whole.model_copy(update={"codigoDoCentroDeCusto": other, "valor": amount - own})
    return allocation_rows([title[name] for name in TITLE_KEY], [whole, rest])


def _payable_row(random: Random, index: int, issued: datetime) -> dict[str, Any]:
    supplier = random.choice(list(_EXPENSES))
    category, history = _EXPENSES[supplier]
    gross = Decimal(random.randrange(20_000, 2_000_000)).scaleb(-2)
    taxed = index % _TAXED_EACH == 0
    retained = {
        name: percent_of(gross, percent) if taxed else Decimal(0)
        for name, percent in _RETAINED_PERCENT.items()
    }
    net = gross - sum(retained.values())
    due = issued + _DUE
    is_paid = due <= TODAY and index % _UNPAID_EACH != 0
    return retained | {
        "codigoDoFornecedor": supplier,
        "codigoDoItemDeLancamento": category,
        "codigoDoCentroDeCusto": random.choice(codes(cost_centres)),
        "codigoDaContaCorrente": random.choice(codes(accounts)),
        "historico": f"{history} de {issued:%m/%Y}",
        "numeroDoDocumento": f"FAT-{70001 + index}",
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
    """A slip of Banco do Brasil: days since the epoch, cents, and what the bank put in."""
    days = next(days for epoch in _BARCODE_EPOCHS if (days := (due - epoch).days) >= _FEWEST_DAYS)
    cents = int(amount * 100)
    rest = f"{days:04}{cents:010}{random.randrange(10**12):025}"
    candidates = (f"0019{digit}{rest}" for digit in range(1, 10))
    return next(code for code in candidates if is_boleto(code))


def _file_row(random: Random, index: int, key: tuple[int, ...]) -> dict[str, Any]:
    name = f"fatura-{70001 + index}.pdf"
    token = f"{random.getrandbits(128):032x}"
    return dict(zip(OWNER_KEY, key, strict=True)) | {
        "Id": index + 1,
        "NomeDoArquivo": name,
        "Url": f"/arquivos/{quote(name)}?token={token}",
        "Observacao": "Fatura do fornecedor",
    }
