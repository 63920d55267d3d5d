"""Listings, their columns and filters, and the conversion of records into rows.

Inside: export.
"""

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from reading import cells_of_record

from xlbridge.errors import UsageError
from xlbridge.export import LISTINGS, Filter, Filters, Listing, find_listing
from xlbridge.export.formats.all_formats import output_format, output_opener
from xlbridge.export.sheets import MarkedDigits, as_json, join_child_sheet
from xlbridge.i18n import Text
from xlbridge.resources import Kind
from xlbridge.wire import Operation, WireModel
from xlbridge.wire.sales import SalesOrder, SalesOrderInstallment, SalesOrderItem

pytestmark = pytest.mark.one_database

PEDIDOS = LISTINGS["pedidos"]


def test_every_field_of_an_order_has_a_column() -> None:
    names = {sheet.name: {column.name for column in sheet.columns} for sheet in PEDIDOS.sheets}
    assert names == {
        "pedidos": set(SalesOrder.model_fields) - {"parcelas", "produtos"},
        "parcelas": set(SalesOrderInstallment.model_fields),
        "produtos": set(SalesOrderItem.model_fields),
    }


ORDER_COLUMNS = """
codigoDaNotaFiscal codigoDaFilial codigoDaCondicaoDePagamento numeroDoPedido numeroDaOrdem
codigoDoCliente codigoDoVendedor codigoDoProjeto codigoDaFormaDePagamento codigoDaContaCorrente
codigoDaCarteira codigoDaClassificacaoAuxiliar idNF quantidadeDeParcelas dataDaOrdem
dataDeProcessamento dataDeCancelamento nomeDoCliente nomeDoClienteFmt naturezaJuridica cnpjcpf
inscricaoEstadual inscricaoMunicipal cep logradouro numero complemento bairro cidade uf
codigoDoMunicipio contato telefone email observacao dadosAdicionais codigoDoItemDeLancamento
historicoCR codigoDoCentroDeCusto observacaoCR ultimaAtualizacao faturamentoNotaFiscalUnica
consolidado pendente processado cancelado avisos entregaNomeContato entregaCEP entregaLogradouro
"""
ITEM_COLUMNS = """
numeroDoPedido seq idProduto idMapeamentoPadrao codigoInterno codigoDeBarras descricaoDoProduto ncm
largura altura comprimento url pesoBruto pesoLiquido quantidade valorUnitario valorTotal valorFrete
valorSeguro valorOutros valorAcrescimo valorDesconto valorAcrescimoPercentual
valorDescontoPercentual baseIPI aliquotaIPI valorIPI aliquotaICMSST valorICMSST baseICMS
aliquotaICMS valorICMS totalLiquido quantidadeProcessadaParcial
quantidadeDisponivelParaProcessamento valorDisponivelParaProcessamento
disponivelParaProcessamentoParcial
"""


@pytest.mark.parametrize(("index", "names"), [(0, ORDER_COLUMNS), (2, ITEM_COLUMNS)])
def test_columns_are_in_the_order_of_the_interface(index: int, names: str) -> None:
    wanted = names.split()
    assert [column.name for column in PEDIDOS.sheets[index].columns][: len(wanted)] == wanted


@pytest.mark.parametrize(
    ("listing", "field", "kind"),
    [
        ("pedidos", "numeroDoPedido", Kind.INTEGER),
        ("pedidos", "cnpjcpf", Kind.TEXT),
        ("pedidos", "avisos", Kind.TEXT),
        ("pedidos", "dataDaOrdem", Kind.DATE),
        ("pedidos", "processado", Kind.BOOLEAN),
        ("pedidos", "transportadoraValorFrete", Kind.MONEY),
        ("pedidos", "transportadoraPesoBruto", Kind.NUMBER),
        ("estoque", "valorTotal", Kind.MONEY),
        ("estoque", "quantidadeTotal", Kind.NUMBER),
        ("clientes", "natureza", Kind.TEXT),
        ("contasreceber", "dataDeVencimento", Kind.DATE),
    ],
)
def test_a_columns_kind_follows_from_the_model(listing: str, field: str, kind: Kind) -> None:
    columns = {column.name: column.kind for column in LISTINGS[listing].sheets[0].columns}
    assert columns[field] is kind


@pytest.mark.parametrize(
    ("listing", "filters"),
    [
        ("pedidos", (Filter.FROM, Filter.TO, Filter.BRANCH, Filter.LIMIT)),
        ("estoque", (Filter.BRANCH, Filter.PRODUCT, Filter.WITH_BALANCE)),
        ("clientes", (Filter.FROM, Filter.TO, Filter.DOCUMENT, Filter.IDWS)),
        (
            "contasreceber",
            (
                Filter.BRANCH,
                Filter.CLIENT,
                Filter.ACCOUNT,
                Filter.COST_CENTRE,
                Filter.CATEGORY,
            ),
        ),
        ("importacao", (Filter.ID,)),
        ("requisicoes", (Filter.BRANCH, Filter.COST_CENTRE)),
        ("caixabancos", (Filter.FROM, Filter.TO, Filter.ACCOUNT)),
        ("nfe", (Filter.FROM, Filter.TO, Filter.BRANCH, Filter.ID)),
    ],
)
def test_a_listing_has_the_filters_of_its_operation(
    listing: str, filters: tuple[Filter, ...]
) -> None:
    assert LISTINGS[listing].filters == filters


def test_a_child_row_without_a_key_gets_its_orders_key() -> None:
    record = {"numeroDoPedido": 5, "parcelas": [{"valor": 1}, {"numeroDoPedido": 6}]}
    parcelas = PEDIDOS.sheets[1]
    index = [column.name for column in parcelas.columns].index("numeroDoPedido")
    (rows,) = cells_of_record([parcelas], record)
    assert [row[index] for row in rows] == ["5", "6"]


class Line(WireModel):
    texto: str | None = None


class Document(WireModel):
    numero: int
    ano: int
    linhas: list[Line]


def test_a_child_sheet_without_the_key_gets_key_columns_first() -> None:
    operation = Operation(name="documents", method="GET", path="/x", data=list[Document])
    listing = Listing(
        name="documentos", title=Text("", ""), operation=operation, key=("ano", "numero")
    )
    main_sheet, lines = listing.sheets
    assert [column.name for column in main_sheet.columns] == ["numero", "ano"]
    assert [column.name for column in lines.columns] == ["numero", "ano", "texto"]
    record = {"numero": 3, "ano": 2026, "linhas": [{"texto": "a"}, {}]}
    assert cells_of_record([lines], record) == [[["3", "2026", "a"], ["3", "2026", None]]]


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("codigoDaFilial", "um", "um"),
        ("codigoDaFilial", "007", "007"),
        ("codigoDaFilial", "1_0", "1_0"),
        ("codigoDaFilial", Decimal("1.5"), "1.5"),
        ("codigoDaFilial", True, "true"),
        ("codigoDaFilial", {"a": True}, '{"a": true}'),
        ("codigoDaFilial", Decimal("1E+999999"), "1E+999999"),
        ("transportadoraQtde", True, "true"),
        ("transportadoraQtde", "007.5", "007.5"),
        ("transportadoraQtde", "NaN", "NaN"),
        ("transportadoraQtde", "1,5", "1,5"),
        ("transportadoraQtde", Decimal("1E-999999"), "1E-999999"),
        ("dataDaOrdem", 46000, "46000"),
        ("dataDaOrdem", 20260131, "20260131"),
        ("dataDaOrdem", "31/01/2026", "31/01/2026"),
        ("processado", 1, "1"),
        ("cidade", ["São Paulo"], '["São Paulo"]'),
        ("cidade", True, "true"),
        ("avisos", "texto", "texto"),
    ],
)
def test_a_value_of_the_wrong_type_is_kept_as_text(field: str, value: Any, text: str) -> None:
    (rows, *_) = cells_of_record(PEDIDOS.sheets, {"numeroDoPedido": 5, field: value})
    assert [cell for cell in rows[0] if cell is not None] in (["5", text], [text, "5"])


@pytest.mark.parametrize(
    "field",
    [
        "dataDaOrdem",
        "codigoDaFilial",
        "transportadoraQtde",
        "processado",
        "transportadoraValorFrete",
    ],
)
def test_an_empty_text_is_none_in_a_column_of_another_type(field: str) -> None:
    (rows, *_) = cells_of_record(PEDIDOS.sheets, {"numeroDoPedido": 5, field: ""})
    assert [cell for cell in rows[0] if cell is not None] == ["5"]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("31/01/2026", datetime(2026, 1, 31)),
        ("31/01/2026 18:30", datetime(2026, 1, 31, 18, 30)),
        ("2026-01-31", datetime(2026, 1, 31)),
        ("2026-01-31T18:30", datetime(2026, 1, 31, 18, 30)),
        (None, None),
    ],
)
def test_dates_are_parsed_in_both_notations(text: str | None, moment: datetime | None) -> None:
    assert Filters.parse({Filter.FROM: text}).start == moment


@pytest.mark.parametrize(
    "text",
    ["", "31/02/2026", "31/01/26", "01-31-2026", "2026-01-31T10:00:01", "hoje", "2026-01-31Z"],
)
def test_an_invalid_date_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--to"):
        Filters.parse({Filter.TO: text})


@pytest.mark.parametrize(
    ("listing", "filters"),
    [
        ("contasreceber", {Filter.FROM: datetime(2026, 1, 1)}),
        ("estoque", {Filter.TO: datetime(2026, 1, 1)}),
        ("estoque", {Filter.BRANCH: (1,), Filter.PRODUCT: (7,)}),
        ("clientes", {Filter.BRANCH: (1,)}),
        ("pedidos", {Filter.BRANCH: (1, 2)}),
        ("contasreceber", {Filter.CLIENT: (1, 2)}),
        ("importacao", {}),
        ("caixabancos", {Filter.ACCOUNT: (1,)}),
    ],
)
def test_an_unsupported_filter_is_refused(listing: str, filters: dict[Filter, Any]) -> None:
    with pytest.raises(UsageError):
        LISTINGS[listing].check(Filters(filters))


def test_codes_may_be_ranges() -> None:
    filters = Filters.parse({Filter.ID: ("7", "9-11"), Filter.BRANCH: None, Filter.ACTIVE: False})
    assert filters.values == {Filter.ID: (7, 9, 10, 11)}


@pytest.mark.parametrize(
    "texts",
    [
        {Filter.ID: ("11-9",)},
        {Filter.ID: ("0",)},
        {Filter.ID: ("a",)},
        {Filter.FROM: "02/01/2026", Filter.TO: "01/01/2026"},
    ],
)
def test_invalid_filter_values_are_refused(texts: dict[Filter, Any]) -> None:
    with pytest.raises(UsageError):
        Filters.parse(texts)


def test_a_flat_sheet_repeats_the_record_for_each_child() -> None:
    (sheet,) = join_child_sheet(PEDIDOS.sheets, "parcelas")
    names = [column.name for column in sheet.columns]
    assert names.count("numeroDoPedido") == 1
    record = {"numeroDoPedido": 5, "parcelas": [{"valor": 1}, {"valor": 2}]}
    (rows,) = cells_of_record([sheet], record)
    places = names.index("numeroDoPedido"), names.index("valor")
    assert [tuple(row[index] for index in places) for row in rows] == [("5", "1"), ("5", "2")]
    assert [
        [row[p] for p in places] for row in cells_of_record([sheet], {"numeroDoPedido": 6})[0]
    ] == [["6", None]]


def test_columns_of_both_record_and_child_get_distinct_names() -> None:
    (sheet,) = join_child_sheet(LISTINGS["contaspagar"].sheets, "rateio")
    names = [column.name for column in sheet.columns]
    indexes = names.index("codigoDoCentroDeCusto"), names.index("rateio.codigoDoCentroDeCusto")
    record = {"codigoDoCentroDeCusto": "01", "rateio": [{"codigoDoCentroDeCusto": "02"}]}
    ((row,),) = cells_of_record([sheet], record)
    assert [row[index] for index in indexes] == ["01", "02"]


def test_nested_lists_have_the_keys_of_both_levels() -> None:
    statement = LISTINGS["caixabancos"]
    lines = [{"numeroDaTransacao": 7, "rateio": [{"valor": 1}, {"valor": 2}]}]
    *_, parts = statement.sheets
    assert parts.name == "lancamentos.rateio"
    (rows,) = cells_of_record([parts], {"codigoDaContaCorrente": 3, "lancamentos": lines})
    names = [column.name for column in parts.columns]
    indexes = [names.index(n) for n in ("codigoDaContaCorrente", "numeroDaTransacao", "valor")]
    assert [[row[index] for index in indexes] for row in rows] == [["3", "7", "1"], ["3", "7", "2"]]


@pytest.mark.parametrize(
    "path",
    [
        "a/b.pdf?token=SECRET#more",
        "a/b.pdf;token=SECRET",
        "a;t=SECRET/b.pdf;x?y",
        "a/b.pdf%3Btoken=SECRET",
    ],
)
def test_the_token_of_a_signed_address_is_removed(path: str) -> None:
    sheet = next(s for s in LISTINGS["contaspagar"].sheets if s.name == "Arquivos")
    url = f"https://me:key@files.example.com/{path}"
    ((row,),) = cells_of_record([sheet], {"Arquivos": [{"Id": 1, "Url": url}]})
    assert "https://files.example.com/a/b.pdf" in row
    assert "SECRET" not in str(row)
    assert "key" not in str(row)


def test_unknown_fields_are_json_with_unchanged_numbers() -> None:
    digits = ["5", "-0.10", "1e3", "12345678901234567.89", "9" * 30, "1e999"]
    read = {"a": [MarkedDigits(text) for text in digits], "b": {"c": "007", "d": None}}
    numbers = [5, -0.1, 1000.0, "12345678901234567.89", "9" * 30, "1e999"]
    assert json.loads(as_json(read)) == {"a": numbers, "b": {"c": "007", "d": None}}


def test_an_unknown_listing_is_refused_with_the_existing_ones() -> None:
    with pytest.raises(UsageError) as caught:
        find_listing("pedidoz")
    assert "pedidos" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("name", "wanted", "form"),
    [("a.xlsx", None, "xlsx"), ("a.CSV", "csv", "csv"), ("a.b.jsonl", None, "jsonl")],
)
def test_the_extension_determines_the_format(name: str, wanted: str | None, form: str) -> None:
    assert output_format(Path(name), wanted) == form


@pytest.mark.parametrize(
    ("name", "wanted"), [("a.xls", None), ("a", None), ("a.csv", "xlsx"), ("a.odt", None)]
)
def test_another_extension_is_refused(name: str, wanted: str | None) -> None:
    with pytest.raises(UsageError):
        output_format(Path(name), wanted)


def test_a_csv_dialect_is_refused_for_other_formats() -> None:
    with pytest.raises(UsageError):
        output_opener("xlsx", "pt-br")
