"""Headers similar to a column: misspelt, partial, in two rows; and additional columns."""

from pathlib import Path

import pytest
from sheets import GOOD, write_rows

from xlbridge.resources import Catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook

MISSPELT, ALIKE, MISSING_ALIKE = "column-misspelt", "column-alike", "column-missing-alike"
UNKNOWN = "column-unknown"


def validated(
    tmp_path: Path, catalogue: Catalogue, resource: str, header: str, without: tuple[str, ...]
) -> ValidatedSheet:
    """Validate a good row without some columns and with an additional header."""
    row = {name: value for name, value in GOOD[resource].items() if name not in without}
    path = write_rows(tmp_path / "a.xlsx", [*row, header], [[*row.values(), "x"]])
    return validate_workbook(path, catalogue, resource=resource)


def column_findings(sheet: ValidatedSheet, header: str) -> list[tuple[str, str | None]]:
    found = (f for f in sheet.findings if f.kind.code.startswith("column-"))
    return [(f.kind.code, None if f.column == header else f.column) for f in found]


@pytest.mark.parametrize(
    ("resource", "header", "column", "code"),
    [
        ("contasreceber", "Emissão", "dataDeEmissao", ALIKE),
        ("contasreceber", "Vencimento", "dataDeVencimento", ALIKE),
        ("contasreceber", "Valor", "valorDoLancamento", ALIKE),
        ("contaspagar", "Valor", "valorDoLancamento", ALIKE),
        ("contaspagar", "PIS retido", "ValorPISRetido", ALIKE),
        ("contaspagar", "Fornecedor", "codigoDoFornecedor", MISSING_ALIKE),
        ("contasreceber", "Conta corrente", "codigoDaContaCorrente", MISSING_ALIKE),
        ("contasreceber", "Conta", "codigoDaContaCorrente", MISSING_ALIKE),
        ("contasreceber", "Cliente", "codigoDoCliente", MISSING_ALIKE),
        ("contasreceber", "Forma de pagamento", "codigoDaFormaDePagamento", ALIKE),
        ("contasreceber", "Due", "dataDeVencimento", ALIKE),
        ("contasreceber", "Documento", "numeroDoDocumento", ALIKE),
        ("cliente", "vendedor", "codigoDoVendedor", ALIKE),
        ("cliente", "Tipo de cliente", "codigoDoTipoDeCliente", ALIKE),
        ("cliente", "Nome", "nomeComercial", MISSING_ALIKE),
        ("cliente", "C.N.P.J.", "cnpj", MISSPELT),
        ("cliente", "telefones", "telefone", MISSPELT),
        ("cliente", "nomecomerciall", "nomeComercial", MISSPELT),
        ("cliente", "Nome comercail", "nomeComercial", MISSPELT),
        ("contasreceber", "Nº documento", "numeroDoDocumento", MISSPELT),
        ("contasreceber", "N. do documento", "numeroDoDocumento", MISSPELT),
        ("contasreceber", "Dt. vencto", "dataDeVencimento", MISSPELT),
        ("contasreceber", "Cód. cliente", "codigoDoCliente", MISSPELT),
        ("contasreceber", "Valor do lançamento (US$)", "valorDoLancamento", MISSPELT),
        ("contasreceber", "datadevencimeto", "dataDeVencimento", MISSPELT),
        ("nota-fiscal-servico", "codigoDoServicoPrestad", "codigoDoServicoPrestado", MISSPELT),
    ],
)
def test_header_similar_to_a_missing_column_is_reported_once(
    tmp_path: Path, catalogue: Catalogue, resource: str, header: str, column: str, code: str
) -> None:
    sheet = validated(tmp_path, catalogue, resource, header, (column,))
    assert column_findings(sheet, header) == [(code, column)]
    assert (sheet.errors > 0) is (code != ALIKE)


@pytest.mark.parametrize(
    ("resource", "header", "without"),
    [
        ("cliente", "Código do cliente", ()),
        ("cliente", "Client code", ()),
        ("cliente", "Código", ()),
        ("cliente", "Nome do vendedor", ()),
        ("cliente", "Telefone 2", ()),
        ("contasreceber", "dataDeRecebimento", ("dataDeVencimento",)),
        ("contasreceber", "Data de pagamento", ("dataDeVencimento",)),
        ("contasreceber", "valorDoPagamento", ("valorDoLancamento",)),
        ("contasreceber", "Valor recebido", ("valorDoLancamento",)),
        ("contasreceber", "Valor total", ("valorDoLancamento",)),
        ("contasreceber", "Nome do cliente", ()),
        ("contasreceber", "Data", ("dataDeVencimento", "dataDeEmissao")),
        ("contasreceber", "Pagamento", ()),
        ("contasreceber", "Observação interna", ()),
        ("contasreceber", "Obs", ()),
        ("contasreceber", "Status", ()),
        ("contasreceber", "Situação", ()),
        ("contasreceber", "Total", ()),
        ("contasreceber", "Responsável", ()),
        ("contasreceber", "Conferido por", ()),
        ("contasreceber", "Mês", ()),
        ("contasreceber", "Saldo", ()),
        ("contasreceber", "CNPJ", ()),
        ("contasreceber", "Cidade", ()),
        ("contaspagar", "Nome do fornecedor", ()),
        ("contaspagar", "Valor retido", ()),
        ("nota-fiscal-servico", "Situação tributária", ()),
        ("nota-fiscal-servico", "Descrição do serviço", ()),
        ("enderecamento-de-produto", "Descrição", ()),
        ("enderecamento-de-produto", "Nome do produto", ()),
    ],
)
def test_additional_column_is_only_reported_as_not_sent(
    tmp_path: Path, catalogue: Catalogue, resource: str, header: str, without: tuple[str, ...]
) -> None:
    sheet = validated(tmp_path, catalogue, resource, header, without)
    assert column_findings(sheet, header) == [(UNKNOWN, None)]
    assert sheet.errors == 0


def test_note_column_does_not_replace_a_missing_column(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    sheet = validated(tmp_path, catalogue, "contasreceber", "Nome do cliente", ("codigoDoCliente",))
    found = column_findings(sheet, "Nome do cliente")
    assert found == [("column-missing", "codigoDoCliente"), (UNKNOWN, None)]


def test_both_headers_similar_to_one_column_are_reported(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    row = {n: v for n, v in GOOD["contasreceber"].items() if n != "codigoDaContaCorrente"}
    path = write_rows(
        tmp_path / "a.xlsx", [*row, "Conta", "codigoDaContaCorrent"], [[*row.values(), 1, 1]]
    )
    sheet = validate_workbook(path, catalogue, resource="contasreceber")
    assert [f.kind.code for f in sheet.findings] == [MISSING_ALIKE, MISSPELT]


@pytest.mark.parametrize(
    ("upper", "lower"),
    [
        (("Data", "Valor"), ("de vencimento", "do lançamento")),
        (("Data de", ""), ("vencimento", "emissão")),
    ],
    ids=["each in two cells", "below a merged cell"],
)
def test_header_spanning_two_rows_is_reported(
    tmp_path: Path, catalogue: Catalogue, upper: tuple[str, str], lower: tuple[str, str]
) -> None:
    split = ("dataDeVencimento", "valorDoLancamento" if upper[1] else "dataDeEmissao")
    good = GOOD["contasreceber"]
    names = [name for name in good if name not in split]
    row = [good[name] for name in (*names, *split)]
    path = write_rows(tmp_path / "a.xlsx", [*names, *upper], [[*[None] * len(names), *lower], row])
    sheet = validate_workbook(path, catalogue, resource="contasreceber")
    found = {(f.kind.code, f.column, f.row) for f in sheet.findings}
    assert found == {("column-split", name, 1) for name in split}
    assert len(sheet.rows) == 1


@pytest.mark.parametrize(
    ("added", "reported"),
    [
        (["Motivo"], ["Motivo"]),
        (["Motivo", "linha original", "motivo"], ["Motivo"]),
        (["Motivo", "situação no envio", "motivo", "código no sistema"], ["Motivo"]),
        (["linha original", "motivo", "situação no envio", "motivo", "código no sistema"], []),
        (["situação no envio", "Código no sistema", "motivo"], []),
        (["código no sistema", "situação no envio"], ["código no sistema"]),
    ],
)
def test_columns_that_xlbridge_adds_are_known_by_their_place_and_others_of_that_name_are_reported(
    tmp_path: Path, catalogue: Catalogue, added: list[str], reported: list[str]
) -> None:
    row = GOOD["saida"]
    path = write_rows(tmp_path / "a.xlsx", [*row, *added], [[*row.values(), *added]])
    sheet = validate_workbook(path, catalogue, resource="saida")
    assert [f.column for f in sheet.findings if f.kind.code == UNKNOWN] == reported
