"""Headers and values that mislead are never proposed with high confidence."""

from collections.abc import Mapping, Sequence

import pytest
from header_score import HALVES, Grade, Layout, layouts, proposals, scores
from misleading_sheets import misleading

from xlbridge.resources import Catalogue

SAMPLE = 211
PARTS = 12
"""Parts of the complete set, each of which runs some minutes."""

_SIDES = {"Débito (R$)": (100.5, 9.0, 30.0), "Crédito (R$)": ("", "", "")}
"""Columns of a statement without anything that came in."""


@pytest.mark.parametrize(
    ("half", "first", "step"),
    [
        *((half, 0, SAMPLE) for half in HALVES),
        *(
            pytest.param(half, part, PARTS, marks=pytest.mark.slow)
            for half in HALVES
            for part in range(PARTS)
        ),
    ],
)
def test_no_misleading_column_is_proposed_with_high_confidence(
    catalogue: Catalogue, half: str, first: int, step: int
) -> None:
    sheets = [sheet for layout in layouts(half) for sheet in misleading(layout, catalogue)]
    found = scores(proposals(sheets[first::step], catalogue))
    assert [(s.what, s.header, *s.sure) for s in found if s.grade is Grade.SURE] == []


@pytest.mark.parametrize(
    ("what", "change", "header"),
    [
        # A layout that is known ignores the company: it does not take the branch's place.
        ("Senior, accounts payable (E501TCP)", "without CODFIL", "CODEMP"),
        # The other amounts are those of payables, with a sign.
        ("Conta Azul, cash flow statement lines", "with Valor", "Valor"),
    ],
)
def test_a_column_that_was_misleading_is_not_proposed_with_high_confidence(
    catalogue: Catalogue, what: str, change: str, header: str
) -> None:
    (layout,) = (one for one in layouts("known") if one.what == what)
    (sheet,) = (s for s in misleading(layout, catalogue) if s.what == f"{what}, {change}")
    (found,) = (one for one in scores(proposals([sheet], catalogue)) if one.header == header)
    assert not found.sure


@pytest.mark.parametrize("header", ["Mensalidade", "Aluguel", "Prêmio"])
def test_a_bare_amount_beside_unnamed_ones_is_doubtful(catalogue: Catalogue, header: str) -> None:
    nothing = frozenset[str]()
    columns = dict.fromkeys(("Valor", "Cliente", header, "Vencimento"), nothing)
    rows = [[10.5 + n, 1001 + n, 99.9 + n, f"{n + 1:02}/10/2026"] for n in range(3)]
    layout = Layout(header, "contasreceber", list(columns), rows, columns, columns)
    (found,) = (one for one in scores(proposals([layout], catalogue)) if one.header == "Valor")
    assert found.proposed == {"valorDoLancamento"}
    assert not found.sure


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("CPF do sócio", ("529.982.247-25", "111.444.777-35")),
        ("CNPJ da transportadora", ("11.222.333/0001-81", "11.444.777/0001-61")),
        ("CPF/CNPJ do avalista", ("11.222.333/0001-81", "529.982.247-25")),
        ("E-mail do contador", ("a@exemplo.com.br", "b@exemplo.com.br")),
        ("E-mail do vendedor", ("a@exemplo.com.br", "b@exemplo.com.br")),
        ("ID contato", (700222, 700223)),
        ("Nome do pet", ("Thor", "Mel")),
    ],
)
def test_what_belongs_to_somebody_else_is_doubtful(
    catalogue: Catalogue, header: str, values: Sequence[object]
) -> None:
    nothing = frozenset[str]()
    columns = {"Fantasia": frozenset({"nomeComercial"}), header: nothing}
    rows = list(zip(("Padaria Estrela", "Mercado Sol"), values, strict=True))
    layout = Layout(
        header, "cliente", list(columns), rows, columns, dict.fromkeys(columns, nothing)
    )
    (found,) = (one for one in scores(proposals([layout], catalogue)) if one.header == header)
    assert not found.sure


@pytest.mark.parametrize(
    ("resource", "header", "values", "beside"),
    [
        ("contasreceber", "ID do cliente", ("C-1", "C-2", "C-3"), {}),
        ("contasreceber", "Valor na Categoria 1", (10.5, 20.5, 30.5), {}),
        ("contaspagar", "Valor por km", (1.2, 1.2, 1.3), {}),
        ("contaspagar", "Fatura de", ("10/2026", "10/2026", "10/2026"), {}),
        ("contaspagar", "Mês de referência", ("09/2026", "10/2026", "10/2026"), {}),
        ("contasreceber", "Número da conta", (88001, 88002, 88003), {}),
        ("contaspagar", "Conta", ("2.01.001", "2.01.002", "2.01.002"), {}),
        ("contasreceber", "Número", (10, 20, 35), {"CEP": ("01310-100", "13010-000", "11010-000")}),
        ("contasreceber", "Complemento", ("sala 2", "casa", "ap 1"), {"Bairro": ("A", "B", "C")}),
        ("contaspagar", "Saldo (R$)", (99.5, 90.5, 60.5), _SIDES),
        ("entrada", "Item", ("0001", "0002", "0001"), {}),
        ("produto", "Custo médio", (40.1, 70.5, 3.2), {}),
        ("inventario", "Estoque", (100, 50, 70), {}),
        ("contaspagar", "Pago ou Recebido", ("0,00", "0,00", "0,00"), {}),
        ("contaspagar", "Pagto", ("", "", ""), {}),
        ("contaspagar", "Referência da empresa", ("NF-4501", "FAT-77", "NF-12"), {}),
        ("cliente", "Vendedor", ("Não", "Não", "Sim"), {}),
        ("cliente", "CPF do sócio", ("529.982.247-25", "111.444.777-35", "123.456.789-09"), {}),
        ("pedido", "CNPJ do fornecedor", ("11.222.333/0001-81", "11.444.777/0001-61", ""), {}),
        # A purchase order has the number of an order of this system, not that of another one.
        ("pedido-compra", "Nº do pedido", (77, 78, 81), {}),
    ],
)
def test_what_is_rather_another_thing_is_not_proposed(
    catalogue: Catalogue,
    resource: str,
    header: str,
    values: Sequence[object],
    beside: Mapping[str, Sequence[object]],
) -> None:
    columns = {"Fantasia": ("Padaria", "Mercado", "Loja"), header: values, **beside}
    nothing = dict.fromkeys(columns, frozenset[str]())
    rows = list(zip(*columns.values(), strict=True))
    layout = Layout(header, resource, list(columns), rows, nothing, nothing)
    (found,) = (one for one in scores(proposals([layout], catalogue)) if one.header == header)
    assert found.proposed == set()


@pytest.mark.parametrize(
    ("resource", "columns", "name", "meant"),
    [
        # A code rather than the name beside it.
        (
            "saida",
            {"Material": ("Luva", "Capacete"), "Cód. material": ("M-1", "M-2")},
            "idProd",
            "Cód. material",
        ),
        # The number of a document is not that of a house, which stands beside its street.
        (
            "contasreceber",
            {"NUMERO": ("NF45", "NF46"), "VALOR": (10.5, 20.5), "CEP": ("01310-100", "13010-000")},
            "numeroDoDocumento",
            "NUMERO",
        ),
        (
            "contaspagar",
            {"Vencto Titulo": ("20/10/2026",) * 2, "Vencto Real": ("21/10/2026",) * 2},
            "dataDeVencimento",
            "Vencto Titulo",
        ),
        # A branch is rather called so than a company, whether by its name or by its code.
        (
            "contasreceber",
            {"Empresa": ("Estrela SA",) * 3, "Filial": ("Matriz", "Rio", "Matriz")},
            "codigoDaFilial",
            "Filial",
        ),
        (
            "contasreceber",
            {"Empresa": (1, 1, 1), "Filial": ("Matriz", "Rio", "Matriz")},
            "codigoDaFilial",
            "Filial",
        ),
        # The other system's code of a product says more than a name of it.
        ("entrada", {"Produto": ("Tinta", "Torneira"), "SKU": ("P-1", "P-2")}, "idProd", "SKU"),
    ],
)
def test_the_better_of_two_headers_is_proposed(
    catalogue: Catalogue,
    resource: str,
    columns: Mapping[str, Sequence[object]],
    name: str,
    meant: str,
) -> None:
    nothing = dict.fromkeys(columns, frozenset[str]())
    rows = list(zip(*columns.values(), strict=True))
    layout = Layout(meant, resource, list(columns), rows, nothing, nothing)
    found = {one.header for one in scores(proposals([layout], catalogue)) if name in one.proposed}
    assert found == {meant}


@pytest.mark.parametrize(
    ("header", "values", "other", "name"),
    [
        ("Nº Documento", ("", "", ""), "Nota Fiscal", "numeroDoDocumento"),
        ("Nº Documento", (1, 2, 3), "Nota Fiscal", "numeroDoDocumento"),
        ("Filial", ("", "", ""), "Empresa", "codigoDaFilial"),
    ],
)
def test_beside_an_empty_column_of_its_name_another_one_is_doubtful(
    catalogue: Catalogue, header: str, values: Sequence[object], other: str, name: str
) -> None:
    columns = {header: values, other: ("11", "15", "11")}
    nothing = dict.fromkeys([*columns, "Cliente"], frozenset[str]())
    rows = list(zip(*columns.values(), ("Padaria", "Mercado", "Loja"), strict=True))
    layout = Layout("sheet", "contasreceber", list(nothing), rows, nothing, nothing)
    (found,) = (s for s in scores(proposals([layout], catalogue)) if s.header == other)
    assert found.proposed == {name}
    assert not found.sure
