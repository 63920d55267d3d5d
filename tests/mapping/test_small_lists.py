"""``xlbridge map`` for the small lists that analysts keep: few columns, any delimiter."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml
from environment import Xlbridge

_PEOPLE = "Vale Verde;11.222.333/0001-81\nPapelaria Central;11.444.777/0001-61"
_MIXED = "Vale Verde;11.222.333/0001-81;1133334444\nJosé da Silva;529.982.247-25;1122223333"
_DUE = "Vale Verde;10/12/2026;1.234,56\nPapelaria Central;15/12/2026;99,90"


@pytest.mark.parametrize(
    ("rows", "resource", "sources"),
    [
        pytest.param(
            f"Fornecedor;CNPJ\n{_PEOPLE}",
            "fornecedor",
            {"nomeComercial": "Fornecedor", "cnpj": "CNPJ"},
            id="suppliers with their documents",
        ),
        pytest.param(
            f"FORNECEDORES;CPF/CNPJ;FONE\n{_MIXED}",
            "fornecedor",
            {
                **dict.fromkeys(["natureza", "cnpj", "cpf"], "CPF/CNPJ"),
                "nomeComercial": "FORNECEDORES",
                "telefone": "FONE",
            },
            id="plural, both kinds of documents",
        ),
        pytest.param(
            f"Nome Fornecedor;CNPJ\n{_PEOPLE}".replace(";", "\t"),
            "fornecedor",
            {"nomeComercial": "Nome Fornecedor", "cnpj": "CNPJ"},
            id="tabs",
        ),
        pytest.param(
            f"clientes;documento\n{_PEOPLE}",
            "cliente",
            {"nomeComercial": "clientes", "cnpj": "documento"},
            id="plural, documents by their values",
        ),
        pytest.param(
            "cliente,email,fone\nPadaria,a@b.com,1133334444\nMercado,c@d.com,1122223333",
            "cliente",
            {"nomeComercial": "cliente", "email": "email", "telefone": "fone"},
            id="commas",
        ),
        pytest.param(
            "Produtos;Preço de venda\nCafé;12,90\nAçúcar;4,50",
            "produto",
            {"descricaoDoProduto": "Produtos", "valorUnitario": "Preço de venda"},
            id="products with their prices",
        ),
        pytest.param(
            "Código;Centro de Custo\n01.001;Administrativo\n01.002;Comercial",
            "centrodecusto",
            {"codigoDoCentroDeCusto": "Código", "descricaoDoCentroDeCusto": "Centro de Custo"},
            id="codes and names of the list's own records",
        ),
        pytest.param(
            "Código;Tipo de produto\n1;Bebidas\n2;Alimentos",
            "tipo-de-produto",
            {
                "codigoDoTipoDeProduto": "Código",
                "descricaoDoTipoDeProduto": "Tipo de produto",
            },
            id="types with their codes",
        ),
        pytest.param(
            f"Supplier;Tax ID\n{_PEOPLE}",
            "fornecedor",
            {"nomeComercial": "Supplier", "cnpj": "Tax ID"},
            id="English",
        ),
        pytest.param(
            f"Favorecido;Data;Valor\n{_DUE}",
            "contaspagar",
            {
                "codigoDoFornecedor": "Favorecido",
                "dataDeEmissao": "Data",
                "valorDoLancamento": "Valor",
            },
            id="payments",
        ),
        pytest.param(
            f"Fornecedor;Vencimento;Valor\n{_DUE}",
            "contaspagar",
            {
                "codigoDoFornecedor": "Fornecedor",
                "dataDeVencimento": "Vencimento",
                "valorDoLancamento": "Valor",
            },
            id="payables",
        ),
        pytest.param(
            f"Clientes;Vcto;Vlr\n{_DUE}",
            "contasreceber",
            {
                "codigoDoCliente": "Clientes",
                "dataDeVencimento": "Vcto",
                "valorDoLancamento": "Vlr",
            },
            id="receivables",
        ),
    ],
)
def test_resource_and_columns_of_a_small_list_are_recognised(
    tmp_path: Path, xlbridge: Xlbridge, rows: str, resource: str, sources: Mapping[str, str]
) -> None:
    (tmp_path / "lista.csv").write_text(rows, "utf-8")
    proposed = xlbridge("map", "lista.csv")
    assert proposed.returncode == 0, proposed.stderr
    content = yaml.safe_load(proposed.stdout)
    assert content["resource"] == resource
    found = {name: body["from"] for name, body in content["columns"].items() if "from" in body}
    assert found == sources


def test_the_likely_resources_of_an_unclear_list_are_ranked_with_the_next_command(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    (tmp_path / "minha lista.csv").write_text(f"Razão Social;CNPJ;Cidade\n{_MIXED}", "utf-8")
    unclear = xlbridge("map", "minha lista.csv")
    assert unclear.returncode == 2
    assert "most likely: Clients (cliente: uses 2 of 3 columns), Suppliers (forn" in unclear.stderr
    assert "xlbridge map 'minha lista.csv' --resource cliente" in unclear.stderr
    (tmp_path / "codes.csv").write_text("Código;Descrição\n1;Bebidas\n2;Alimentos", "utf-8")
    many = xlbridge("map", "codes.csv").stderr
    assert many.count(": uses 2 of 2 columns)") == 5, many


def test_amounts_are_not_taken_for_a_list_of_clients(tmp_path: Path, xlbridge: Xlbridge) -> None:
    rows = "vendedor;cliente;valor\nAna;Vale Verde;1.234,56\nBia;Papelaria Central;99,90"
    (tmp_path / "lista.csv").write_text(rows, "utf-8")
    unclear = xlbridge("map", "lista.csv")
    assert (unclear.returncode, unclear.stdout) == (2, "")
    assert "(contasreceber: uses 2 of 3 columns)" in unclear.stderr
    assert unclear.stderr.index("contasreceber") < unclear.stderr.index("(cliente: uses")
    (tmp_path / "Contas a receber.csv").write_text(rows, "utf-8")
    named = xlbridge("map", "Contas a receber.csv")
    assert yaml.safe_load(named.stdout)["resource"] == "contasreceber", named.stderr


def test_clients_with_contact_details_may_have_amounts(tmp_path: Path, xlbridge: Xlbridge) -> None:
    rows = "Cliente;Vendedor;E-mail;Valor\nVale Verde;Ana;a@b.com;9,90\nPapelaria;Bia;c@d.com;1,50"
    (tmp_path / "lista.csv").write_text(rows, "utf-8")
    proposed = xlbridge("map", "lista.csv")
    assert yaml.safe_load(proposed.stdout)["resource"] == "cliente", proposed.stderr


def test_a_list_of_one_column_is_explained(tmp_path: Path, xlbridge: Xlbridge) -> None:
    (tmp_path / "lista.csv").write_text("Tipo de produto\nBebidas\nAlimentos", "utf-8")
    refused = xlbridge("map", "lista.csv")
    assert refused.returncode == 2
    assert "no header row with at least two columns" in refused.stderr


def test_a_list_without_any_known_header_names_the_command_that_lists_resources(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    (tmp_path / "lista.csv").write_text("Foo;Bar\nx;y\nz;w", "utf-8")
    unclear = xlbridge("map", "lista.csv")
    assert unclear.returncode == 2
    assert "no header resembles a column" in unclear.stderr
    assert "xlbridge resources" in unclear.stderr


@pytest.mark.parametrize(
    ("name", "resource"), [("lista", None), ("saidas", "saida"), ("Entradas de estoque", "entrada")]
)
def test_whether_goods_come_or_go_is_not_guessed(
    tmp_path: Path, xlbridge: Xlbridge, name: str, resource: str | None
) -> None:
    (tmp_path / f"{name}.csv").write_text("Produto;Qtd\nCafé;12\nAçúcar;4", "utf-8")
    proposed = xlbridge("map", f"{name}.csv")
    if resource is None:
        assert proposed.returncode == 2
        assert (
            "(saida: uses 2 of 2 columns), Stock entries (entrada: uses 2 of 2" in proposed.stderr
        )
    else:
        assert yaml.safe_load(proposed.stdout)["resource"] == resource


def test_a_list_of_orders_without_their_items_is_not_taken_for_receivables(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    rows = "Pedido;Cliente;Valor\n1;Padaria;1.234,56\n2;Mercado;99,90"
    (tmp_path / "pedidos.csv").write_text(rows, "utf-8")
    unclear = xlbridge("map", "pedidos.csv")
    assert unclear.returncode == 2
    assert "Sales orders (pedido)" in unclear.stderr
    assert "xlbridge template pedido" in unclear.stderr
    chosen = xlbridge("map", "pedidos.csv", "--resource", "contasreceber")
    assert yaml.safe_load(chosen.stdout)["resource"] == "contasreceber"


def test_names_in_a_column_of_codes_are_not_proposed_with_high_confidence(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    rows = "Tomador;Serviço;Valor\nPadaria;Consultoria;100,00\nMercado;Manutenção;50,00"
    (tmp_path / "notas.csv").write_text(rows, "utf-8")
    proposed = xlbridge("map", "notas.csv", "--resource", "nota-fiscal-servico")
    assert "Serviço → codigoDoServicoPrestado: medium confidence" in proposed.stderr
    assert "the values seem to be names, not codes" in proposed.stdout


@pytest.mark.parametrize(
    ("resource", "rows", "column", "source"),
    [
        (
            "pedido",
            "chave;Filial;Cliente;Cond. Pagto\n1;1;1001;2\n2;1;1002;3",
            "codigoDaCondicaoDePagamento",
            "Cond. Pagto",
        ),
        (
            "pedido",
            "chave;Filial;Cliente;Condição de pagamento;Forma de pagamento\n1;1;1001;2;1",
            "codigoDaCondicaoDePagamento",
            "Condição de pagamento",
        ),
        (
            "contasreceber",
            "Filial;Cliente;Cond. Pagto;Histórico\n1;1001;2;Venda\n1;1002;3;Venda",
            "codigoDaFormaDePagamento",
            None,
        ),
        (
            "contaspagar",
            "Filial;Fornecedor;Valor Total;Parcela;Valor da Parcela\n1;501;300;1/3;100",
            "valorDoLancamento",
            "Valor da Parcela",
        ),
    ],
)
def test_similar_headers_are_told_apart(
    tmp_path: Path, xlbridge: Xlbridge, resource: str, rows: str, column: str, source: str | None
) -> None:
    (tmp_path / "lista.csv").write_text(rows, "utf-8")
    proposed = xlbridge("map", "lista.csv", "--resource", resource)
    columns = yaml.safe_load(proposed.stdout)["columns"]
    assert columns.get(column, {}).get("from") == source


def test_the_reason_of_an_unused_header_names_the_column_whose_values_it_lacks(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    rows = "Filial;Fornecedor;Competência;Cor\n1;501;out/26;azul\n1;502;nov/26;verde"
    (tmp_path / "lista.csv").write_text(rows, "utf-8")
    proposed = xlbridge("map", "lista.csv", "--resource", "contaspagar").stdout
    assert "Competência  # it seems to be PeriodoDeCompetencia, but none of the values" in proposed
    assert "Cor  # no column matches" in proposed


_PHONES = [f"(11) 9{number:08}" for number in range(78860001, 78860301)]


@pytest.mark.parametrize(
    ("header", "document"),
    [("Nome;Celular", ""), ("Nome;Celular;CNPJ;CPF", ";11.222.333/0001-81;529.982.247-25")],
)
def test_telephones_are_not_taken_for_documents(
    tmp_path: Path, xlbridge: Xlbridge, header: str, document: str
) -> None:
    rows = [f"Padaria {number};{phone}{document}" for number, phone in enumerate(_PHONES)]
    (tmp_path / "clientes.csv").write_text("\n".join([header, *rows]), "utf-8")
    proposed = xlbridge("map", "clientes.csv", "--resource", "cliente")
    columns = yaml.safe_load(proposed.stdout)["columns"]
    sources = {name: columns.get(name, {}).get("from") for name in ("telefone", "cnpj", "cpf")}
    named = {"cnpj": "CNPJ", "cpf": "CPF"} if document else {"cnpj": None, "cpf": None}
    assert sources == {"telefone": "Celular", **named}


def test_a_document_of_the_wrong_kind_does_not_hide_the_other_column(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    rows = "Nome;CNPJ;CPF\nA;11.222.333/0001-81;\nB;529.982.247-25;\nC;;111.444.777-35"
    (tmp_path / "clientes.csv").write_text(rows, "utf-8")
    columns = yaml.safe_load(xlbridge("map", "clientes.csv", "--resource", "cliente").stdout)
    sources = {name: columns["columns"][name] for name in ("cnpj", "cpf")}
    assert sources == {"cnpj": {"from": "CNPJ"}, "cpf": {"from": "CPF"}}


@pytest.mark.parametrize(
    "header", ["Valor (R$ mil)", "Valor do lançamento (em milhares)", "Valor do lançamento (US$)"]
)
def test_amounts_in_another_unit_are_not_proposed(
    tmp_path: Path, xlbridge: Xlbridge, header: str
) -> None:
    rows = f"Filial;Fornecedor;Vencimento;{header}\n1;501;25/11/2026;1,50\n1;502;26/11/2026;2,00"
    (tmp_path / "lista.csv").write_text(rows, "utf-8")
    proposed = yaml.safe_load(xlbridge("map", "lista.csv", "--resource", "contaspagar").stdout)
    assert "valorDoLancamento" not in proposed["columns"]
    assert header in proposed["ignore"]


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("Peso (g)", ("200", "450")),
        ("Doc. comprador", ("529.982.247-25", "111.444.777-35")),
        ("Pedido ID", ("771", "772")),
        ("Projeto", ("Alfa", "Beta")),
    ],
)
def test_what_only_looks_like_a_column_is_not_proposed(
    tmp_path: Path, xlbridge: Xlbridge, header: str, values: Sequence[str]
) -> None:
    resource = "produto" if "(" in header else "contasreceber"
    lines = [f"Nome;Referência;{header}", *(f"Item {it};R-{it};{it}" for it in values)]
    (tmp_path / "lista.csv").write_text("\n".join(lines), "utf-8")
    proposed = yaml.safe_load(xlbridge("map", "lista.csv", "--resource", resource).stdout)
    assert header in proposed["ignore"]
