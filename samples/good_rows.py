"""Valid rows with codes of the sandbox's demo."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from random import Random
from typing import Any

from good_records import (
    client_category,
    client_type,
    contact,
    cost_centre,
    inventory,
    product,
    product_invoice,
    product_type,
    purchase_order,
    requisition,
    sales_order,
    service_forecast,
    spending_limit,
    stock_entry,
    stock_output,
    supplier,
)

from xlbridge.resources.checks import is_boleto
from xlbridge.sandbox.demo_company import (
    cnpj_number,
    company_name,
    cpf_number,
    email_of,
    person_name,
)

Row = dict[str, Any]

INACTIVE_CLIENT = 1032

_ACTIVE_CLIENTS = range(1001, 1032)
_SUPPLIERS = (501, 502, 503, 504, 506)
_PORTFOLIO_OF_ACCOUNT = {1: 3, 2: 2}
_REVENUE = (
    ("1.01.001", "Venda de mercadorias, pedido {n}"),
    ("1.01.002", "Manutenção preventiva, contrato {n}"),
    ("1.02.001", "Juros de mora, acordo {n}"),
)
_EXPENSES = (
    ("2.01.001", "Energia elétrica, fatura {n}"),
    ("2.01.002", "Aluguel do galpão, recibo {n}"),
    ("2.02.001", "Reposição de estoque, nota {n}"),
)
_COST_CENTRES = ("01.001", "01.002", "01.003", "02.001")
_SERVICES = ("01.07", "07.02", "14.01", "17.01")
_FIRST_DAY = date(2026, 9, 1)
_SLIPS_BEGAN_AGAIN = date(2025, 2, 22)


def client(random: Random, number: int) -> Row:
    """Return a client, a company in three of four cases, some with letters in their CNPJ."""
    is_firm = number % 4 != 0
    name = company_name(random) if is_firm else person_name(random)
    row: Row = {
        "nomeComercial": name,
        "natureza": "J" if is_firm else "F",
        "seuCodigo": f"{number:06}",
        "codigoDoTipoDeCliente": random.randint(1, 4),
        "codigoDoVendedor": random.randint(1, 5),
        "email": email_of(name, number),
        "telefone": f"({random.choice((11, 41, 81))}) 9{random.randrange(10**7, 10**8)}",
    }
    if is_firm:
        bare = cnpj_number(random, letters=number % 10 == 1)
        masked = f"{bare[:2]}.{bare[2:5]}.{bare[5:8]}/{bare[8:12]}-{bare[12:]}"
        return {**row, "cnpj": bare if number % 3 == 0 else masked}
    bare = cpf_number(random)
    return {**row, "cpf": f"{bare[:3]}.{bare[3:6]}.{bare[6:9]}-{bare[9:]}"}


def receivable(random: Random, number: int) -> Row:
    """Return a receivable, every other one on a collection portfolio."""
    account = random.randint(1, 2)
    category, history = random.choice(_REVENUE)
    row = _entry(random, number, category, history)
    return {
        **row,
        "codigoDoCliente": random.choice(_ACTIVE_CLIENTS),
        "codigoDaContaCorrente": account,
        "numeroDoDocumento": f"NF-{20260000 + number}",
        "valorDoLancamento": _cents(random.randrange(5_000, 900_000)),
        "codigoDaCarteira": _PORTFOLIO_OF_ACCOUNT[account] if number % 2 else None,
    }


def payable(random: Random, number: int) -> Row:
    """Return a payable whose net amount is the gross amount minus retentions."""
    category, history = random.choice(_EXPENSES)
    row = _entry(random, number, category, history)
    gross = random.randrange(20_000, 2_000_000)
    retained = {
        "ValorPISRetido": gross * 65 // 10_000,
        "ValorCOFINSRetido": gross * 3 // 100,
        "ValorCSLLRetido": gross // 100,
        "ValorIRRetido": gross * 15 // 1000,
        "ValorISSRetido": gross * 2 // 100,
        "ValorINSSRetido": 0,
    }
    net = gross - sum(retained.values())
    return {
        **row,
        "codigoDoFornecedor": random.choice(_SUPPLIERS),
        "codigoDaContaCorrente": random.randint(1, 2),
        "numeroDoDocumento": f"FAT-{78000 + number}",
        "valorDoLancamento": _cents(net),
        "PeriodoDeCompetencia": row["dataDeEmissao"].replace(day=1),
        "CodigoDeBarras": _barcode(random, net, row["dataDeVencimento"]) if number % 2 else None,
        "CodigoDoCustoABC": random.choice(("ADM", "COM", "PRO")),
        "ValorBruto": _cents(gross),
        **{name: _cents(cents) for name, cents in retained.items()},
    }


def service_invoice(random: Random, _number: int) -> Row:
    """Return a service invoice with the fields of the tax reform."""
    value = random.randrange(30_000, 1_500_000)
    return {
        "codigoDaFilial": random.randint(1, 3),
        "codigoDoCliente": random.choice(_ACTIVE_CLIENTS),
        "codigoDoServicoPrestado": random.choice(_SERVICES),
        "valorDoServico": _cents(value),
        "aliquotaISSRetido": random.choice((2, 2.5, 3.75, 5)),
        "CodigoNBS": random.choice(("1.1502.10.00", "120011000")),
        "CodigoIndicadorDaOperacao": "100301",
        "CodigoTipoDaOperacao": 1,
        "CodigoIndicadorDoDestinatario": random.randint(0, 1),
        "CodigoDaSituacaoTributariaIBSCBS": "000",
        "ClassificacaoIBSCBS": "000001",
        "AliquotaIBSMunicipal": 0,
        "ValorIBSMunicipal": 0,
        "AliquotaIBSEstadual": 0.1,
        "ValorIBSEstadual": _cents(value // 1000),
        "AliquotaCBS": 0.9,
        "ValorCBS": _cents(value * 9 // 1000),
        "CodigoDaSituacaoTributariaPIS": "01",
        "CodigoDaSituacaoTributariaCOFINS": "01",
        "CodigoDaRetencaoPisCofinsCsll": "1",
    }


def addressing(random: Random, number: int) -> Row:
    """Return a product's address; rows are unique."""
    branch, warehouse = random.randint(1, 3), random.randint(1, 2)
    return {
        "codigoDaFilial": branch,
        "codigoDoAlmoxarifado": warehouse,
        "codigoDaSecao": f"{random.choice('ABCD')}-{random.randint(1, 20):02}",
        "idProd": 2000 + number,
        "codigoDaFilialSecao": branch if number % 3 else None,
        "codigoDoAlmoxarifadoSecao": warehouse if number % 3 else None,
        "ativo": number % 7 != 0 if number % 2 else None,
    }


MAKERS: Mapping[str, tuple[Callable[[Random, int], Row], int]] = {
    "categoriacliente": (client_category, 8),
    "centrodecusto": (cost_centre, 20),
    "cliente": (client, 48),
    "clientecontato": (contact, 40),
    "contaspagar": (payable, 40),
    "contasreceber": (receivable, 60),
    "enderecamento-de-produto": (addressing, 50),
    "entrada": (stock_entry, 50),
    "fornecedor": (supplier, 30),
    "inventario": (inventory, 3),
    "nfe": (product_invoice, 24),
    "nota-fiscal-servico": (service_invoice, 36),
    "ordem": (requisition, 20),
    "pedido-compra": (purchase_order, 24),
    "pedido": (sales_order, 30),
    "planejamento": (spending_limit, 48),
    "previsao": (service_forecast, 24),
    "produto": (product, 60),
    "requisicao": (requisition, 20),
    "saida": (stock_output, 40),
    "tipo-de-produto": (product_type, 12),
    "tipocliente": (client_type, 8),
}
"""Function that makes a row of each resource, and the size of its good sample."""


def make_rows(resource: str, count: int, seed: str) -> list[Row]:
    """Return rows of a resource; the same seed gives the same rows."""
    random = Random(seed)
    maker, _ = MAKERS[resource]
    return [maker(random, number) for number in range(1, count + 1)]


def split_titles(resource: str, count: int, seed: str) -> list[Row]:
    """Return titles, two in three split between two cost centres."""
    rows = make_rows(resource, count, seed)
    for number, row in enumerate(rows, start=1):
        if number % 3 == 0:
            continue
        cents = round(100 * row["valorDoLancamento"])
        first, second = _COST_CENTRES[number % 2 : number % 2 + 2]
        row["chave"] = f"T{number:03}"
        row["numeroDoDocumento"] = f"{row['numeroDoDocumento']}-R"
        row["rateio"] = [
            {"codigoDoCentroDeCusto": first, "valor": _cents(cents // 3)},
            {"codigoDoCentroDeCusto": second, "valor": _cents(cents - cents // 3)},
        ]
    return rows


def rows_of_child(rows: Iterable[Row], sheet: str) -> list[Row]:
    """Return the rows of a child sheet, each with the key of its record."""
    return [{"chave": row["chave"], **item} for row in rows for item in row.get(sheet, ())]


def _entry(random: Random, number: int, category: str, history: str) -> Row:
    issued = _FIRST_DAY + timedelta(days=random.randrange(50))
    return {
        "codigoDaFilial": random.randint(1, 3),
        "codigoDoItemDeLancamento": category,
        "codigoDoCentroDeCusto": random.choice(_COST_CENTRES),
        "historico": history.format(n=4000 + number),
        "dataDeEmissao": issued,
        "dataDeVencimento": issued + timedelta(days=random.choice((0, 15, 30, 45))),
        "codigoDaFormaDePagamento": random.randint(1, 5),
    }


def _cents(cents: int) -> float:
    return cents / 100


def _barcode(random: Random, cents: int, due: date) -> str:
    free = "".join(random.choices("0123456789", k=25))
    rest = f"{1000 + (due - _SLIPS_BEGAN_AGAIN).days}{cents:010}{free}"
    return next(code for digit in "123456789" if is_boleto(code := f"0019{digit}{rest}"))
