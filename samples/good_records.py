"""Rows of records that are created one by one, with codes of the sandbox's demo."""

from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from random import Random
from typing import Any

from xlbridge.sandbox.demo_company import (
    cnpj_number,
    company_name,
    cpf_number,
    email_of,
    person_name,
)

_ACTIVE_CLIENTS = range(1001, 1032)
_MATERIALS = ("Matéria-prima", "Embalagem", "Produto acabado", "Ferramenta", "Peça de reposição")
_AREAS = ("Marketing", "Logística", "Qualidade", "Engenharia", "Assistência técnica")
_ARTICLES = ("Parafuso sextavado", "Arruela lisa", "Porca autotravante", "Barra roscada")
_POSITIONS = ("Compradora", "Gerente financeiro", "Analista fiscal", None)
_COST_CENTRES = ("01.001", "01.002", "01.003", "02.001")
_EXPENSES = ("2.01.001", "2.01.002", "2.02.001", "2.03.001")
_FIRST_DAY = date(2026, 9, 1)

Row = dict[str, Any]


def product_type(_random: Random, number: int) -> Row:
    """Return a product type; the system assigns the code of every third one."""
    return _entry_of_list("TipoDeProduto", number, f"{_cycled(_MATERIALS, number)}, linha {number}")


def client_type(_random: Random, number: int) -> Row:
    """Return a client type."""
    return _entry_of_list("TipoDeCliente", number, f"Atacado da região {number}")


def client_category(_random: Random, number: int) -> Row:
    """Return a client category."""
    return _entry_of_list("CategoriaDeCliente", number, f"Faixa {number} de faturamento", "a")


def cost_centre(_random: Random, number: int) -> Row:
    """Return a cost centre with the company's own code."""
    return {
        "codigoDoCentroDeCusto": f"{number % 7 + 3:02}.{number:03}",
        "descricaoDoCentroDeCusto": f"{_cycled(_AREAS, number)}, unidade {number}",
    }


def supplier(random: Random, number: int) -> Row:
    """Return a supplier, a company in four of five cases."""
    is_firm = number % 5 != 0
    name = company_name(random) if is_firm else person_name(random)
    document = cnpj_number(random, letters=number % 9 == 1) if is_firm else cpf_number(random)
    return {
        "nomeComercial": name,
        "natureza": "J" if is_firm else "F",
        "cnpj" if is_firm else "cpf": document,
        "email": email_of(name, number),
        "telefone": f"({random.choice((11, 41, 81))}) 3{random.randrange(10**6, 10**7)}",
        "ativo": None if number % 4 else number % 8 == 0,
    }


def contact(random: Random, number: int) -> Row:
    """Return a client's contact."""
    name = person_name(random)
    return {
        "codigoDoCliente": random.choice(_ACTIVE_CLIENTS),
        "nome": f"{name} {number}",
        "email": email_of(name, number),
        "telefone": f"({random.choice((11, 41, 81))}) 9{random.randrange(10**7, 10**8)}",
        "cargo": _cycled(_POSITIONS, number),
    }


def product(random: Random, number: int) -> Row:
    """Return a product with net and gross weight."""
    net = random.randrange(5, 900)
    return {
        "descricaoDoProduto": f"{_cycled(_ARTICLES, number)} M{number % 12 + 4}, lote {number}",
        "DescricaoDoProdutoIngles": f"Fastener {number}" if number % 2 else None,
        "codigoInterno": f"FIX-{number:05}",
        "CodigoGenerico": f"FIX-{number % 12:02}",
        "codigoDeBarras": f"789{random.randrange(10**9, 10**10)}",
        "ncm": "7318.15.00" if number % 3 else "73181600",
        "marca": "Ciser",
        "modelo": f"DIN {930 + number % 7}",
        "codigoDaUnidadeDeMedida": random.randint(1, 4),
        "codigoDoTipoDeProduto": random.randint(1, 2),
        "codigoDoGrupoDeProduto": random.choice(("01", "02", "03", "04")),
        "codigoDaCategoriaDeProduto": random.randint(1, 2),
        "valorUnitario": random.randrange(1, 500_000) / 10_000,
        "Peso": net / 1000,
        "PesoBruto": (net + 12) / 1000,
        "PesoLiquido": net / 1000,
        "Altura": str(random.randint(4, 40)),
        "Largura": str(random.randint(4, 40)),
        "Comprimento": str(random.randint(10, 90)),
    }


def stock_output(random: Random, number: int) -> Row:
    """Return an output of a small quantity."""
    return {
        "codigoDaFilial": random.randint(1, 3),
        "quantidade": random.randrange(1, 12) / 4,
        "codigoDoCentroDeCusto": random.choice(_COST_CENTRES),
        "codigoDoProjeto": random.choice((1, 2, None)),
        "codigoDaUnidadeDeMedida": random.randint(1, 4),
        "observacao": f"Consumo da ordem de serviço {4000 + number}",
        "documento": f"OS-{4000 + number}",
        "codigoDoColaboradorSolicitante": random.randint(1, 4),
        "codigoDoColaboradorDestino": random.randint(1, 4),
    }


def stock_entry(random: Random, number: int) -> Row:
    """Return an entry of a product with its cost."""
    return {
        "codigoDaFilial": random.randint(1, 3),
        "dataDaEntrada": _FIRST_DAY + timedelta(days=random.randrange(50)),
        "quantidade": random.randrange(4, 4_000) / 4,
        "idProd": 2000 + random.randint(1, 50),
        "codigoDoAlmoxarifado": random.randint(1, 2),
        "codigoDoProjeto": random.choice((1, 2, None)),
        "valorUnitario": random.randrange(1, 500_000) / 10_000 if number % 5 else None,
        "documento": f"NF-{20260000 + number}",
        "observacao": "Recebido sem avarias" if number % 3 else None,
    }


def spending_limit(random: Random, number: int) -> Row:
    """Return a monthly spending limit; month and place are unique."""
    return {
        "codigoDaFilial": random.randint(1, 3),
        "codigoDoCentroDeCusto": random.choice(_COST_CENTRES),
        "codigoDoItemDeLancamento": random.choice(_EXPENSES),
        "codigoDoProjeto": random.choice((1, 2)) if number % 3 == 0 else None,
        "ano": 2027 + number // 12,
        "mes": number % 12 + 1,
        "valorLimite": random.randrange(100_000, 9_000_000) / 100,
    }


def service_forecast(random: Random, number: int) -> Row:
    """Return a service billed every few months."""
    start = _FIRST_DAY + timedelta(days=random.randrange(120))
    return {
        "codigoDaFilial": random.randint(1, 3),
        "codigoDoCliente": random.choice(_ACTIVE_CLIENTS),
        "codigoDoServicoPrestado": random.choice(("01.07", "07.02", "14.01", "17.01")),
        "valorDoServico": random.randrange(30_000, 1_500_000) / 100,
        "dataDeInicio": start,
        "dataDeTermino": start + timedelta(days=730) if number % 3 else None,
        "mesesEntreEmissoes": random.choice((1, 2, 3, 6)),
        "codigoDaCondicaoDePagamento": random.randint(1, 3),
        "percentualDeReajuste": random.choice((3.5, 4, 4.75, None)),
        "mesesEntreReajustes": 12,
        "emissaoAutomatica": number % 2 == 0,
        "ativo": None if number % 3 else True,
        "observacao": f"Contrato {900 + number}",
    }


def inventory(random: Random, number: int) -> Row:
    """Return an inventory to open; the first three are of warehouses that nobody counts yet.

    Every third has all products with a balance and is counted later; every fourth of the others has
    two counts.
    """
    return {
        "chave": f"INV-{number:02}",
        "codigoDaFilial": number % 3 + 1,
        "codigoDoAlmoxarifado": 2 - (number - 1) // 3 % 2,
        "codigoDoCentroDeCusto": random.choice(_COST_CENTRES),
        "descricaoDoInventario": f"Inventário rotativo {number}",
        "observacao": "Contar por seção" if number % 2 else None,
        "carregarBaseDeProdutos": number % 3 == 0,
        "contagens": _counts(random, number) if number % 3 else [],
    }


def _counts(random: Random, number: int) -> list[Row]:
    products = [2000 + place for place in sorted(random.sample(range(1, 51), k=3 + number % 4))]
    first = [
        {
            "contagem": 1,
            "idProd": product,
            "codigoDoProjeto": None if place % 4 else 1,
            "quantidade": random.randrange(0, 800) / 4,
        }
        for place, product in enumerate(products, start=1)
    ]
    again = {**first[-1], "contagem": 2, "quantidade": random.randrange(0, 800) / 4}
    return [*first, again] if number % 4 == 2 else first


def sales_order(random: Random, number: int) -> Row:
    """Return an order with one to eight products; two in three have their own instalments."""
    ordered = _FIRST_DAY + timedelta(days=random.randrange(50))
    products = _priced_items(random, 8)
    if number % 4 == 0:
        products[0] |= {"valorDescontoPercentual": 5, "aliquotaICMS": 18}
    return {
        "chave": f"PV-{number:04}",
        "codigoDaFilial": random.randint(1, 3),
        "codigoDoCliente": random.choice(_ACTIVE_CLIENTS),
        "dataDaOrdem": ordered,
        "codigoDaCondicaoDePagamento": random.randint(1, 3),
        "observacao": f"Pedido {number} da feira" if number % 5 == 0 else None,
        "faturamentoNotaFiscalUnica": None if number % 3 else True,
        "produtos": products,
        "parcelas": _instalments(number, ordered, products),
    }


def _instalments(number: int, ordered: date, products: list[Row]) -> list[Row]:
    if number % 3 == 0:
        return []
    dues = [ordered + timedelta(days=30 * place) for place in (1, 2, 3)][: number % 3 + 1]
    # A discount changes the total; the system divides what percentages say.
    if number % 4 == 0 or number % 3 == 1:
        parts = {2: (40, 60), 3: (30, 30, 40)}[len(dues)]
        return [
            {"dataDeVencimento": due, "percentual": part}
            for due, part in zip(dues, parts, strict=True)
        ]
    cents = sum(int(100 * _line_total(product)) for product in products)
    first = cents // len(dues)
    values = [cents - first * (len(dues) - 1), *[first] * (len(dues) - 1)]
    return [
        {"numeroDaParcela": place, "dataDeVencimento": due, "valor": value / 100}
        for place, (due, value) in enumerate(zip(dues, values, strict=True), start=1)
    ]


def _line_total(product: Row) -> Decimal:
    """Return the total of an order line, rounded to the cent as the system does."""
    exact = Decimal(str(product["quantidade"])) * Decimal(str(product["valorUnitario"]))
    return exact.quantize(Decimal("0.01"), ROUND_HALF_EVEN)


def requisition(random: Random, number: int) -> Row:
    """Return a purchase requisition; one item in five is not a registered product."""
    return {
        "chave": f"R{number:03}",
        "codigoDaFilial": random.randint(1, 3),
        "codigoDoTipoDeCompra": 1,
        "codigoDoColaborador": random.randint(1, 4),
        "codigoDoMotivo": 1 if number % 2 else None,
        "codigoDoCentroDeCusto": random.choice(_COST_CENTRES),
        "itens": [
            {
                "idProduto": 2000 + random.randint(1, 50) if place % 5 else 0,
                "descricaoDoProduto": None if place % 5 else f"Item avulso {number}",
                "quantidade": random.randrange(1, 200) / 4,
            }
            for place in range(number, number + random.randint(1, 5))
        ],
    }


def purchase_order(random: Random, number: int) -> Row:
    """Return a purchase order of one to six products."""
    return {
        "chave": f"C{number:03}",
        "codigoDaFilial": random.randint(1, 3),
        "codigoDoFornecedor": random.choice((501, 502, 503)),
        "IdPedidoWS": f"PC-2026-{number:04}",
        "itens": _priced_items(random, 6),
    }


def product_invoice(random: Random, number: int) -> Row:
    """Return a product invoice to register."""
    return {
        "chave": f"N{number:03}",
        "codigoDaFilial": random.randint(1, 3),
        "codigoDaNotaFiscal": 1,
        "tipoDeOperacao": _cycled(("Saída", "Saída", "Simples Remessa"), number),
        "naturezaDaOperacao": "Venda de mercadorias",
        "codigoDaFormaDePagamento": random.randint(1, 5),
        "codigoDoCliente": random.choice(_ACTIVE_CLIENTS),
        "nomeDoCliente": company_name(random),
        "cep": f"0{random.randrange(1_000, 9_999)}-{random.randrange(100, 999)}",
        "produtos": _priced_items(random, 5),
    }


def _priced_items(random: Random, most: int) -> list[Row]:
    return [
        {
            "idProduto": 2000 + place,
            "quantidade": random.randrange(1, 400) / 4,
            "valorUnitario": random.randrange(100, 50_000) / 100,
        }
        for place in sorted(random.sample(range(1, 51), k=random.randint(1, most)))
    ]


def _entry_of_list(name: str, number: int, text: str, article: str = "o") -> Row:
    return {
        f"codigoD{article}{name}": 100 + number if number % 3 else None,
        f"descricaoD{article}{name}": text,
    }


def _cycled(values: tuple[Any, ...], number: int) -> Any:
    return values[number % len(values)]
