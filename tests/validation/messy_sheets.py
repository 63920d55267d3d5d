"""Sheets of 500 rows as shops, ERPs and banks export them: nothing is wrong, and little is neat.

Inside: sandbox.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import xlsxwriter

from xlbridge.sandbox.demo_company import cnpj_number, cpf_number

Row = dict[str, Any]
ROWS = 500
_NAMES = (
    "D'Avó Padaria & Cia.", "MERCADO SÃO JOSÉ", "João da Silva – ME", "3M do Brasil Ltda",
    "Total Distribuidora Ltda", "Média Tensão Elétrica", "Ação! Comunicação S/A", "Ñandú Ltda",
    "O'Neill Surf", "Loja 10", "SOMA Engenharia", "Grupo 3 Irmãos", "Quantidade Certa Embalagens",
    "Saldo Zero Contabilidade", "Bar e Lanches \"do Zé\"", "A. C. Camargo", "Açaí nº 1", "Fênix",
    "Padaria Pão & Cia (filial)", "Müller & Söhne", "Companhia 24 horas", "Resumo Gráfica",
    "Transporte Rápido", "Contagem Auto Peças", "Número Um Modas", "Notas & Sons",
    "Fim de Tarde Bar", "Data Byte Informática", "Máximo Supermercados", "Página Certa Livraria",
)  # fmt: skip
_CITIES = (
    ("São Paulo", "SP", "3550308"),
    ("Curitiba", "PR", "4106902"),
    ("Recife", "PE", "2611606"),
)
_SIZES = ("azul", "10x20", "½ pol.", "2,5 L")
_HISTORIES = (
    "Mensalidade 10/2026", "Parc. 3/12 contrato 77", "Venda balcão - cupom 000123",
    "Saldo do pedido 4512", "REF. NF 4513 (2ª via)", "Total do contrato nº 9", "Frete s/ venda",
    "Serviços prestados em out/26", "Juros + multa", "Aluguel sala 12-B", "Energia elétrica",
    "Adiantamento; saldo em dez", "Soma de pequenas despesas", "Recibo \"avulso\"", "50% entrada",
)  # fmt: skip


def _masked(document: str, style: int) -> str:
    if style % 2:
        return document
    if len(document) == 11:
        return f"{document[:3]}.{document[3:6]}.{document[6:9]}-{document[9:]}"
    head = f"{document[:2]}.{document[2:5]}.{document[5:8]}"
    return f"{head}/{document[8:12]}-{document[12:]}"


def _phone(random: Random, number: int) -> Any:
    digits = f"{random.choice((11, 41, 81))}9{random.randrange(10**7, 10**8)}"
    forms = (
        f"({digits[:2]}) {digits[2:7]}-{digits[7:]}", digits, int(digits), f"+55 {digits}",
        f"{digits[:2]} {digits[2:]}", None, "0800 123 4567",
        f"({digits[:2]}) 3{digits[4:7]}-{digits[7:]}",
    )  # fmt: skip
    return forms[number % len(forms)]


def _document(number: int) -> Any:
    """Return a document's number as different people write them."""
    forms = (
        f"{4000 + number}/1", f"{4000 + number}/2", str(4000 + number), f"NF {number}",
        f"BOL-{number:04}", float(900_000 + number), f"{number}-A", f"{number}/2026",
    )  # fmt: skip
    return forms[number % len(forms)]


def _party(random: Random, number: int) -> Row:
    name = (
        f"{_NAMES[number % len(_NAMES)]} {number}" if number % 3 else _NAMES[number % len(_NAMES)]
    )
    is_firm = number % 4 != 0
    firm, person = cnpj_number(random, letters=number % 10 == 1), cpf_number(random)
    while person.startswith("0"):
        person = cpf_number(random)
    return {
        "nomeComercial": name,
        "natureza": "J" if is_firm else "F",
        "cnpj": _masked(firm, number) if is_firm else None,
        "cpf": None if is_firm else (int(person) if number % 8 else _masked(person, 0)),
        "email": f"Contato.{number}@Example.com.br" if number % 5 else None,
        "telefone": _phone(random, number),
    }


def client(random: Random, number: int) -> Row:
    codes = (f"{number}/1", str(number), f"A-{number}", f"CLI{number}", None)
    return {
        **_party(random, number),
        "seuCodigo": codes[number % 5],
        "codigoDoVendedor": number % 9 + 1,
    }


def supplier(random: Random, number: int) -> Row:
    return {**_party(random, number), "ativo": number % 7 != 0}


def contact(random: Random, number: int) -> Row:
    return {
        "codigoDoCliente": 1000 + number,
        "nome": _NAMES[number % len(_NAMES)].split(" ")[0] + f" {number}",
        "cargo": ("Sócio(a)", "Aux. adm.", "Gerente/Compras", None, "—sem cargo fixo")[number % 5],
        "email": f"c{number}@example.com" if number % 4 else None,
        "telefone": _phone(random, number),
    }


def product(random: Random, number: int) -> Row:
    codes = (
        f"PAR-M{number}",
        str(7000 + number),
        f"{number}/345",
        f"A.1.{number}",
        float(80_000 + number),
    )
    bars = (f"789{number:010}", f"7{number:07}", None, float(f"789{number:010}"))
    return {
        "descricaoDoProduto": f"Produto {number}: {random.choice(_SIZES)}",
        "codigoInterno": codes[number % 5],
        "codigoDeBarras": bars[number % 4],
        "ncm": ("7318.15.00", "73181500", 73181500.0)[number % 3],
        "marca": (None, "Ciser", "S/M", "3M", "D'Água")[number % 5],
        "valorUnitario": random.randrange(1, 10**6) / 10**4,
        "PesoBruto": number / 8,
        "Altura": (12.5, "8", 40.0, "12,5 cm", None)[number % 5],
        "Largura": number / 4,
        "Comprimento": float(number),
    }


def _title(random: Random, number: int) -> Row:
    issued = date(2026, 9, 1) + timedelta(days=number % 60)
    return {
        "codigoDaFilial": number % 3 + 1,
        "codigoDoItemDeLancamento": ("1.01.001", "1.01.002", "1.02.001", "1.2")[number % 4],
        "codigoDoCentroDeCusto": ("01.001", "01.002", "02.001", "3")[number % 4],
        "codigoDaContaCorrente": 1,
        "historico": _HISTORIES[number % len(_HISTORIES)],
        "numeroDoDocumento": _document(number),
        "dataDeEmissao": issued,
        "dataDeVencimento": issued + timedelta(days=30),
        "valorDoLancamento": random.randrange(1, 10**7) / 100,
    }


def receivable(random: Random, number: int) -> Row:
    return {
        **_title(random, number),
        "codigoDoCliente": 1000 + number % 40,
        "Vendedor": f"V{number % 7}",
    }


def payable(random: Random, number: int) -> Row:
    title = _title(random, number)
    return {
        **title,
        "codigoDoFornecedor": 500 + number % 6,
        "PeriodoDeCompetencia": title["dataDeEmissao"].replace(day=1),
        "ValorISSRetido": 0.0 if number % 3 else 1.5,
        "ValorBruto": title["valorDoLancamento"] + 2,
    }


def stock_output(random: Random, number: int) -> Row:
    serials = (
        f"ABC{1000 + number}",
        "BRA2E19",
        f"SN{number:08}",
        f"{number}-X",
        float(10**6 + number),
        None,
    )
    return {
        "codigoDaFilial": 1,
        "quantidade": float(number % 12 + 1),
        "numeroDeSerie": serials[number % 6],
        "documento": ("S/N", "12A", f"OS {number}", float(number + 100), f"{number}/26")[
            number % 5
        ],
        "observacao": random.choice(("ok", "Consumo interno?", "-> setor 3", "p/ obra", None)),
    }


def stock_entry(random: Random, number: int) -> Row:
    return {
        "codigoDaFilial": 1,
        "dataDaEntrada": datetime(2026, 10, 1, 8, 30, 12) + timedelta(minutes=97 * number),
        "quantidade": random.randrange(1, 4000) / 4,
        "documento": _document(number),
        "observacao": random.choice(_HISTORIES),
    }


def service_invoice(random: Random, number: int) -> Row:
    return {
        "codigoDaFilial": 1,
        "codigoDoCliente": 1000 + number % 40,
        "codigoDoServicoPrestado": ("14.01", "07.02", "17.01", "1401")[number % 4],
        "valorDoServico": random.randrange(100, 10**7) / 100,
        "aliquotaISSRetido": (0, 2, 2.5, 5)[number % 4],
        "ValorCBS": 0.0 if number % 2 else 1.25,
    }


def order(random: Random, number: int) -> Row:
    city, state, code = _CITIES[number % 3]
    return {
        "chave": f"PV/{number}",
        "codigoDaFilial": 1,
        "codigoDoCliente": 1000 + number % 40,
        "nomeDoCliente": _NAMES[number % len(_NAMES)],
        "cnpjcpf": _masked(
            cnpj_number(random, letters=number % 10 == 1) if number % 3 else cpf_number(random),
            number,
        ),
        "cep": ("01310-100", "01310100", 80010000.0)[number % 3],
        "logradouro": f"Av. 9 de Julho, km {number}",
        "numero": (float(number), "S/N", f"{number}A", str(number), f"{number}-B", "1.578")[
            number % 6
        ],
        "complemento": (None, "Sala 3", "Bl. B ap. 12", "fundos")[number % 4],
        "bairro": ("Centro", "Jd. América", "Vl. N. Sra. do Ó", "COHAB II")[number % 4],
        "cidade": city,
        "uf": state,
        "codigoDoMunicipio": float(code) if number % 2 else code,
        "telefone": _phone(random, number),
        "transportadoraPlaca": ("ABC1234", "BRA2E19", "ABC-1234", None)[number % 4],
        "transportadoraVolume": f"{number % 5 + 1} cx",
    }


def budget(random: Random, number: int) -> Row:
    return {
        "codigoDaFilial": number % 3 + 1,
        "codigoDoCentroDeCusto": ("01.001", "01.002", "02.001", "3")[number % 4],
        "codigoDoItemDeLancamento": ("2.01.001", "2.01.002", "2.1")[number % 3],
        "ano": 2027,
        "mes": number % 12 + 1,
        "valorLimite": random.randrange(0, 10**7) / 100 if number % 9 else 0.0,
    }


def forecast(random: Random, number: int) -> Row:
    begin = date(2026, 11, 1) + timedelta(days=number % 90)
    return {
        "codigoDaFilial": number % 2 + 1,
        "codigoDoCliente": 1000 + number % 40,
        "codigoDoServicoPrestado": ("14.01", "07.02", "1.07")[number % 3],
        "valorDoServico": random.randrange(100, 10**6) / 100,
        "dataDeInicio": begin,
        "dataDeTermino": begin + timedelta(days=364),
        "mesesEntreEmissoes": (1, 3, 12, 6)[number % 4],
        "percentualDeReajuste": (4.5, 0.0, 3.1415, 10)[number % 4],
        "emissaoAutomatica": ("Sim", "Não", "S", True)[number % 4],
    }


SHEETS: Mapping[str, Callable[[Random, int], Row]] = {
    "cliente": client,
    "fornecedor": supplier,
    "clientecontato": contact,
    "produto": product,
    "contasreceber": receivable,
    "contaspagar": payable,
    "saida": stock_output,
    "entrada": stock_entry,
    "nota-fiscal-servico": service_invoice,
    "pedido": order,
    "planejamento": budget,
    "previsao": forecast,
}
"""Function that makes a row of each resource."""

_FORMATS = {
    "valorDoLancamento": "[$R$ -416]#,##0.00",
    "PeriodoDeCompetencia": "mmm/yy",
    "ValorISSRetido": '#,##0.00;-#,##0.00;"Isento"',
    "ValorCBS": '#,##0.00;-#,##0.00;"Isento"',
    "quantidade": '0.##" un"',
    "PesoBruto": '0.000" kg"',
}


def write_messy_sheet(path: Path, resource: str) -> Path:
    """Write the sheet of a resource, with its lists."""
    random = Random(resource)
    rows = [SHEETS[resource](random, number) for number in range(1, ROWS + 1)]
    with xlsxwriter.Workbook(path) as book:
        _write(book, resource, rows)
        if resource == "pedido":
            items = [
                {"chave": row["chave"], "idProduto": 2001, "quantidade": 2.0, "altura": number / 4}
                for number, row in zip(count(1), rows, strict=False)
            ]
            _write(book, "produtos", items)
    return path


def _write(book: Any, sheet: str, rows: list[Row]) -> None:
    page = book.add_worksheet(sheet)
    names = list(dict.fromkeys(name for row in rows for name in row))
    page.write_row(0, 0, names)
    forms = {name: book.add_format({"num_format": form}) for name, form in _FORMATS.items()}
    day, moment = (book.add_format({"num_format": f"dd/mm/yyyy{time}"}) for time in ("", " hh:mm"))
    for at, row in enumerate(rows, start=1):
        for column, name in enumerate(names):
            value = row.get(name)
            if isinstance(value, str):
                page.write_string(at, column, value)
            elif isinstance(value, date):
                plain = moment if isinstance(value, datetime) else day
                page.write_datetime(at, column, value, forms.get(name, plain))
            elif value is not None:
                page.write(at, column, value, forms.get(name))
