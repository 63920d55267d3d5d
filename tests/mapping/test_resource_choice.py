"""The resource that ``xlbridge map`` chooses for a foreign sheet, or why none fits."""

from datetime import date
from pathlib import Path

import pytest
import yaml
from environment import Xlbridge
from header_score import detected_resources, layouts
from sheets import write_rows

from xlbridge.resources import Catalogue

_DAY = date(2026, 10, 1)
_UNNUMBERED = ["Data", "Cliente", "CNPJ", "Produto", "Qtd", "Valor Unit.", "Total"]
_SALES_ROW = [_DAY, "Padaria Estrela", "11.222.333/0001-81", "P-1", 10, 2.5, 25]
_MONTHS = ["Centro de Custo", "Descrição", "Jan", "Fev", "mar/26", "Total"]
_ADDRESSED = ["Filial", "Depósito", "Código", "Produto", "Endereço", "Contagem 1"]
_COUNTED = ["Almoxarifado", "Seção", "SKU", "Descrição", "Quantidade contada"]


def test_orders_with_a_row_per_item_are_no_titles(tmp_path: Path, xlbridge: Xlbridge) -> None:
    header = ["Pedido", "Cliente", "Vencimento", "Produto", "Valor"]
    due = date(2026, 10, 31)
    rows = [[500 + n // 2, 1001 + n // 2, due, f"Parafuso {n}", 21] for n in range(4)]
    write_rows(tmp_path / "itens.xlsx", header, rows)
    refused = xlbridge("map", "itens.xlsx", "-o", "m.yaml")
    assert refused.returncode == 2
    assert "seems to have an item in each row" in refused.stderr
    assert "Sales orders (pedido)" in refused.stderr
    # Titles may name a product, each document once; and the user may know better.
    write_rows(tmp_path / "titulos.xlsx", header, rows[::2])
    assert xlbridge("map", "titulos.xlsx", "-o", "m.yaml").returncode == 0
    chosen = xlbridge("map", "itens.xlsx", "--resource", "contasreceber", "-o", "n.yaml")
    assert chosen.returncode == 0, chosen.stderr


def test_titles_with_numbered_items_are_rows_of_lists(tmp_path: Path, xlbridge: Xlbridge) -> None:
    header, due = ["Documento", "Item", "Cliente", "Vencimento", "Valor"], date(2026, 10, 31)
    rows = [[500 + n // 3, 1 + n % 3, 1001 + n // 3, due, 21] for n in range(6)]
    write_rows(tmp_path / "itens.xlsx", header, rows)
    refused = xlbridge("map", "itens.xlsx")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "seems to have an item in each row" in refused.stderr
    # Instalments have the same document, too.
    write_rows(tmp_path / "parcelas.xlsx", [header[0], "Parcela", *header[2:]], rows)
    assert xlbridge("map", "parcelas.xlsx").returncode == 0


@pytest.mark.parametrize(
    ("name", "sheet", "title", "resource"),
    [
        ("clientes.xlsx", "Plan1", "", "cliente"),
        ("2026-10.xlsx", "Clientes", "", "cliente"),
        ("2026-10.xlsx", "Plan1", "Cadastro de fornecedores", "fornecedor"),
    ],
)
def test_names_and_titles_distinguish_resources_with_the_same_columns(
    tmp_path: Path, xlbridge: Xlbridge, name: str, sheet: str, title: str, resource: str
) -> None:
    header = ["Razão Social", "CNPJ/CPF", "E-mail", "Telefone", "CEP", "Número", "Bairro"]
    header += ["Cidade", "UF", "Tipo Pessoa", "Observação"]
    row = ["Padaria Estrela Ltda", "11.222.333/0001-81", "a@b.com.br", "(11) 3333-4444"]
    row += ["01310-100", "10", "Centro", "São Paulo", "SP", "J", "antigo"]
    other = ["José da Silva", "529.982.247-25", *row[2:]]
    write_rows(tmp_path / name, header, [row, other], at=(2, 0), title=title, sheet=sheet)
    proposed = xlbridge("map", name)
    assert proposed.stderr.startswith(f"{resource} · sheet {sheet}")
    assert "cnpj: {from: CNPJ/CPF, when: cnpj}" in proposed.stdout


@pytest.mark.parametrize(
    ("names", "resource"),
    [("Nome do cliente", "cliente"), ("Nome do fornecedor", "fornecedor")],
)
def test_a_header_that_names_the_record_decides_between_resources_of_the_same_columns(
    tmp_path: Path, xlbridge: Xlbridge, names: str, resource: str
) -> None:
    # Both names have as many letters as a document has digits.
    rows = ["Padaria São João;11.222.333/0001-81", "José da Silva;529.982.247-25"]
    (tmp_path / "t.csv").write_text("\n".join([f"{names};CNPJ/CPF", *rows]), "utf-8")
    proposed = xlbridge("map", "t.csv")
    assert proposed.stderr.startswith(f"{resource} · sheet t"), proposed.stderr
    columns = yaml.safe_load(proposed.stdout)["columns"]
    assert columns == {
        "nomeComercial": {"from": names},
        "natureza": {"from": "CNPJ/CPF", "values": {"cnpj": "J", "cpf": "F"}},
        "cnpj": {"from": "CNPJ/CPF", "when": "cnpj"},
        "cpf": {"from": "CNPJ/CPF", "when": "cpf"},
    }
    (tmp_path / "n.csv").write_text("\n".join(["Nome;CNPJ/CPF", *rows]), "utf-8")
    unclear = xlbridge("map", "n.csv")
    assert unclear.returncode == 2
    assert "most likely: Clients (cliente: uses 2 of 2 columns), Suppliers (forn" in unclear.stderr


def test_exported_sheet_is_not_proposed_for_another_resource(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    header = ["tipoDeMovimentacao", "numeroDaMovimentacao", "codigoDaFilial", "idProd"]
    header += ["quantidade", "valorTotal", "documento"]
    write_rows(tmp_path / "movimentacoes.xlsx", header, [["Entrada", 7, 1, 2001, 5, 10, "NF-1"]])
    proposed = xlbridge("map", "movimentacoes.xlsx")
    assert (proposed.returncode, proposed.stdout) == (2, "")
    assert "those of an export that no resource imports" in proposed.stderr
    assert xlbridge("map", "movimentacoes.xlsx", "--resource", "saida").returncode == 0


@pytest.mark.parametrize(
    ("header", "row", "words"),
    [
        (_UNNUMBERED, _SALES_ROW, "Sales orders (pedido); an import"),
        (_ADDRESSED, [1, 1, 2001, "Parafuso", "A-01", 10], "xlbridge template inventario;"),
        (_COUNTED, [1, "A-01", "P-1", "Parafuso", 7], "xlbridge template inventario;"),
        (_MONTHS, ["01.001", "Vendas", 10, 20, 30, 60], "for each month (Jan, Fev, mar/26)"),
        (["Conta", *(date(2026, n, 1) for n in (1, 2, 3))], ["x", 1, 2, 3], "(01/2026, 02/2026, 0"),
        (["Cód. Produto", "Descrição", "Un.", "Saldo"], ["P-1", "Parafuso", "UN", 7], "(Saldo)"),
        (
            ["Código", "Descrição", "NCM", "Qtde em estoque", "Custo médio"],
            ["P-1", "Parafuso", "7318.15.00", 7, 1.5],
            "use --resource produto",
        ),
        (
            ["numeroDoPedido", "codigoDaFilial", "codigoDoCliente", "dataDaOrdem"],
            [1, 1, 1001, _DAY],
            "xlbridge upload ",
        ),
    ],
    ids=[
        "items of orders without a number",
        "counts at addresses",
        "counts",
        "months",
        "dates",
        "balances",
        "stock",
        "listing",
    ],
)
def test_sheet_whose_rows_are_not_records_is_explained(
    tmp_path: Path, xlbridge: Xlbridge, header: list[str], row: list[object], words: str
) -> None:
    """It is never proposed for another resource that has a few of its columns."""
    write_rows(tmp_path / "t.xlsx", header, [row, row])
    done = xlbridge("map", "t.xlsx")
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


@pytest.mark.parametrize(
    ("resource", "row", "columns"),
    [
        (
            "entrada",
            {"Filial": 1, "Data": _DAY, "NF": "4512", "Fornecedor": "Aços SA", "Código": 2001,
             "Qtd entrada": 10, "Custo unit.": 1.1},
            {"dataDaEntrada": "Data", "documento": "NF", "quantidade": "Qtd entrada",
             "valorUnitario": "Custo unit.", "idProd": "Código"},
        ),
        (
            "clientecontato",
            {"Cliente": "Padaria", "Contato": "Maria", "Cargo": "Gerente", "E-mail": "a@b.com.br"},
            {"nome": "Contato", "cargo": "Cargo", "email": "E-mail"},
        ),
        (
            "planejamento",
            {"Filial": 1, "Centro de custo": "01.001", "Categoria": "2.01.001", "Ano": 2026,
             "Mês": 1, "Valor mensal": 1000},
            {"valorLimite": "Valor mensal"},
        ),
        (
            "nota-fiscal-servico",
            {"Filial": 1, "Cliente": 1001, "Serviço": "14.01", "Valor": 1500, "ISS retido": 5},
            {"aliquotaISSRetido": "ISS retido"},
        ),
        (
            "produto",
            {"ID": 16000123451, "Código": "PAR-1", "Descrição": "Parafuso", "NCM": "7318.15.00"},
            {"codigoInterno": "Código"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_resource_is_detected_by_its_distinguishing_columns(
    tmp_path: Path,
    xlbridge: Xlbridge,
    resource: str,
    row: dict[str, object],
    columns: dict[str, str],
) -> None:
    write_rows(tmp_path / "t.xlsx", list(row), [list(row.values())] * 2)
    content = yaml.safe_load(xlbridge("map", "t.xlsx").stdout)
    assert content["resource"] == resource
    sources = {name: body.get("from") for name, body in content["columns"].items()}
    assert columns.items() <= sources.items()


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (["Nível", "Nome", "Ativo"], [1, "Oficina", "S"]),
        (["Name", "Email", "Phone"], ["Ana", "a@b.com", "1133334444"]),
        (
            ["Credor", "Produto", "Peso líquido", "Valor total", "Vencimento"],
            ["A", "B", 9, 8, _DAY],
        ),
        (
            ["Matrícula", "Aluno", "CPF", "Plano", "Turma", "Vence dia", "Mensalidade", "Pago?"],
            [1001, "Ana", "529.982.247-25", "Anual", "A", 10, 250.5, "Não"],
        ),
        (
            ["Estab.", "Doc.", "Série", "Item", "Cód. produto", "Quantidade", "C. custo"],
            [1, 4501, 1, "Aço", 2001, 10, "01.001"],
        ),
        (
            ["Cliente", "Pessoa", "Ramal", "Celular", "E-mail do contato"],
            ["Padaria", "Rita", 11, "(11) 99888-1100", "rita@estrela.com.br"],
        ),
    ],
)
def test_headers_that_fit_records_of_several_kinds_are_asked_about(
    tmp_path: Path, xlbridge: Xlbridge, header: list[str], row: list[object]
) -> None:
    write_rows(tmp_path / "a.xlsx", header, [row, row])
    refused = xlbridge("map", "a.xlsx")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--resource" in refused.stderr


def test_orders_of_an_unnamed_party_are_asked_for_by_what_the_party_would_be(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    header = ["Pedido", "CNPJ", "Código do produto", "Quantidade", "Valor unitário"]
    rows = [[4501 + n // 2, "11.222.333/0001-81", f"P-{n}", 2, 10.5] for n in range(3)]
    write_rows(tmp_path / "planilha.xlsx", header, rows)
    unclear = xlbridge("map", "planilha.xlsx")
    assert (unclear.returncode, unclear.stdout) == (2, "")
    for title, party in [("Sales orders (pedido", "client"), ("Purchase orders (pedido-", "suppl")]:
        (said,) = (part for part in unclear.stderr.split("), ") if title in part)
        assert f"; CNPJ would be the {party}" in said
    write_rows(tmp_path / "vendas.xlsx", [header[0], "CNPJ do cliente", *header[2:]], rows)
    assert xlbridge("map", "vendas.xlsx").stderr.startswith("pedido · ")


@pytest.mark.parametrize(
    ("header", "row", "resources"),
    [
        # Nothing but the names of the parties tells them apart.
        (
            ["Locatário", "Locador", "Vencimento", "Total do boleto"],
            ["Padaria Estrela Ltda", "Rui Alves", date(2026, 10, 31), "1.234,56"],
            ["contasreceber", "contaspagar"],
        ),
        (
            ["Código", "Razão Social", "CNPJ", "Telefone", "E-mail"],
            ["101", "Energia SA", "11.222.333/0001-81", "(11) 3322-1100", "a@energia.com.br"],
            ["cliente", "fornecedor"],
        ),
        # A column that says yes or no has no codes.
        (
            ["Nome", "CPF/CNPJ", "Cliente", "Fornecedor", "Telefone"],
            ["Energia SA", "11.222.333/0001-81", "Não", "Sim", "(11) 3322-1100"],
            ["cliente", "fornecedor"],
        ),
        # "Cliente desde" is no name of a client.
        (
            ["Código", "Nome", "CNPJ / CPF", "E-mail", "Situação", "Cliente desde"],
            ["F001", "Aços SA", "11.222.333/0001-81", "a@acos.com.br", "Ativo", "01/10/2020"],
            ["cliente", "fornecedor"],
        ),
        # The words of the rows contradict the header.
        (
            ["Vencimento", "Conta gerencial", "Origem", "Cliente", "Valor"],
            [date(2026, 10, 31), "Aluguel de máquinas", "Despesas", "Locadora Boa", "1.234,56"],
            ["contasreceber", "contaspagar"],
        ),
        # Words of headers that no column of titles takes do not tell them.
        (
            ["Código da receita", "Vencimento", "Valor", "Histórico", "Documento", "Filial"],
            ["1708", date(2026, 10, 31), "1.234,56", "IRRF", "DARF-1", 1],
            ["contasreceber", "contaspagar"],
        ),
        (
            ["Data de recebimento", "Nota fiscal", "Emissão", "Vencimento", "Valor", "Histórico"],
            [date(2026, 10, 20), 4501, date(2026, 10, 1), date(2026, 10, 31), "1.234,56", "Papel"],
            ["contasreceber", "contaspagar"],
        ),
        # A header, and the known layout of a system, that clients and suppliers have.
        (
            ["Código de Integração", "CNPJ / CPF *", "Razão Social *", "Nome Fantasia *", "E-mail"],
            ["F-1", "11.222.333/0001-81", "Aços SA", "Aços", "a@acos.com.br"],
            ["cliente", "fornecedor"],
        ),
        (
            [
                *(
                    "Código de Integração",
                    "CNPJ / CPF *",
                    "Razão Social *",
                    "Nome Fantasia *",
                    "Tags",
                ),
                *(
                    "Telefone 1",
                    "Contato",
                    "E-mail",
                    "Banco",
                    "Agência",
                    "Endereço",
                    "Cidade",
                    "CEP",
                ),
            ],
            [
                *("F-1", "11.222.333/0001-81", "Aços SA", "Aços", "Ferro", "(11) 3322-1100", "Ana"),
                *("a@acos.com.br", "341", "1234", "Rua A", "São Paulo", "01310-100"),
            ],
            ["cliente", "fornecedor"],
        ),
        # Orders without their items are no titles.
        (
            ["Pedido", "Cliente", "Data do pedido", "Valor total", "Forma de pagamento"],
            [901, "Padaria Estrela", date(2026, 10, 31), "1.234,56", "Pix"],
            ["contasreceber", "pedido"],
        ),
    ],
)
def test_a_sheet_that_fits_two_resources_is_asked_for(
    tmp_path: Path, xlbridge: Xlbridge, header: list[str], row: list[object], resources: list[str]
) -> None:
    write_rows(tmp_path / "planilha.xlsx", header, [row])
    refused = xlbridge("map", "planilha.xlsx")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert all(f"({name}: uses" in refused.stderr for name in resources), refused.stderr


@pytest.mark.parametrize(
    ("file", "header", "rows", "resource"),
    [
        # What is bought has more columns in a sales order, but names its supplier.
        (
            "planilha.csv",
            "Pedido;Fornecedor;CNPJ do fornecedor;Data;Produto;Quantidade;Valor unitário;Condição",
            "7{n};Aços SA;11.222.333/0001-81;2{n}/10/2026;Aço {n};2;10,50;30 dias",
            "pedido-compra",
        ),
        # The header of a layout of clients, which suppliers have as well.
        (
            "omie_fornecedores.csv",
            "Código de Integração;CNPJ / CPF *;Razão Social *;Nome Fantasia *;Tags;Telefone 1",
            "F-{n};11.222.333/0001-8{n};Aços SA;Aços;Cliente;(11) 3322-1100",
            "fornecedor",
        ),
        # 1, 2, 3 … are no products.
        (
            "planilha.csv",
            "Item;Valor total;Cliente;Vencimento",
            "{n};1{n},50;Padaria;2{n}/10/2026",
            "contasreceber",
        ),
    ],
)
def test_a_sheet_that_says_what_it_is_is_not_asked_for(
    tmp_path: Path, xlbridge: Xlbridge, file: str, header: str, rows: str, resource: str
) -> None:
    lines = [header, *(rows.format(n=n) for n in (1, 2, 3))]
    (tmp_path / file).write_text("\n".join(lines), "utf-8")
    proposed = xlbridge("map", file)
    assert proposed.stderr.startswith(f"{resource} · "), proposed.stderr


def test_a_sheet_without_what_each_record_has_is_asked_for(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    rows = [(1, "Ouro", "10%"), (2, "Prata", "5%")]
    write_rows(tmp_path / "planilha.xlsx", ["Código", "Categoria", "Desconto"], rows)
    assert xlbridge("map", "planilha.xlsx").returncode == 2


@pytest.mark.parametrize(
    ("half", "step"),
    [
        ("known", 47),
        ("adversarial", 13),
        *(pytest.param(half, 1, marks=pytest.mark.slow) for half in ("known", "adversarial")),
    ],
)
def test_no_sheet_is_taken_for_another_resource(catalogue: Catalogue, half: str, step: int) -> None:
    found = detected_resources(layouts(half)[::step], catalogue)
    wrong = [(one.what, name) for one, name in found if name not in {None, one.resource}]
    assert wrong == []
