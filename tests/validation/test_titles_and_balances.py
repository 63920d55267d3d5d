"""Titles of groups, footers, totals and balances in sheets of other programs, and names like them.

Two signs, of words, gaps and sums, hold a row; one of them is a warning.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from sampling import every
from sheets import write_rows

from xlbridge.resources import Catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.validation.mapping import read_mapping

CLIENT_HEADER = [
    *("nomeComercial", "natureza", "cnpj", "seuCodigo"),
    *("codigoDoTipoDeCliente", "codigoDoVendedor", "email", "telefone"),
]


def clients(path: Path, *texts: str | Mapping[int, str], count: int = 9) -> Path:
    """Write clients with eight columns, and rows with one cell after every third of them."""
    rows: list[list[Any]] = []
    extra = iter(texts)
    for number in range(1, count + 1):
        name = f"Padaria {chr(64 + number)} Ltda"
        phone, code = f"(11) 98765-43{number:02}", f"CLI-{number:04}"
        rows.append([name, "F", None, code, 1, 3, f"c{number}@example.com", phone])
        if number % 3 == 0 and (text := next(extra, None)) is not None:
            cells = {0: text} if isinstance(text, str) else dict(text)
            rows.append([cells.get(column) for column in range(8)])
    return write_rows(path, CLIENT_HEADER, rows)


def marks(sheet: ValidatedSheet) -> dict[int, str]:
    """Return the code of each row's finding."""
    return {finding.row or 0: finding.kind.code for finding in sheet.findings}


HELD_TITLES = [
    "Vendedor: 3 - João",
    "Vendedor 3 - João",
    "Fim do relatório",
    "*** FIM DO RELATÓRIO ***",
    "Registros: 7",
    "7 registros listados",
    "Total de registros: 7",
    "Total de clientes 7",
    "TOTAL GERAL",
    "T O T A L  G E R A L ---->",
    "Subtotal SP",
    "Filial: 01 - Matriz",
    "Grupo: Varejo",
    "Região: Sul",
    "Página 1 de 2",
    "Pág.: 1",
    "Emitido em 31/10/2026 às 10:32",
    "Impresso por: maria",
    "Relatório de clientes ativos",
    "Usuário: maria.souza",
    "Obs.: somente ativos",
    "Continua na próxima página",
    "Fonte: ERP",
    "Data: 31/10/2026",
    "Quantidade de clientes: 7",
    "Foram encontrados 7 registros",
    "Listados 7 clientes",
    "Folha 1/3",
    "(continua)",
]
DOUBTFUL_TITLES = ["CLIENTES ATIVOS", "São Paulo", "Carteira do João", "Atacado", "A", "12345 SP"]


@pytest.mark.parametrize("text", HELD_TITLES)
def test_title_or_footer_with_one_filled_cell_among_eight_is_held(
    tmp_path: Path, catalogue: Catalogue, text: str
) -> None:
    sheet = validate_workbook(clients(tmp_path / "a.xlsx", text), catalogue)
    assert list(sheet.non_records) == [5]
    assert marks(sheet) == sheet.non_records


@pytest.mark.parametrize("text", DOUBTFUL_TITLES)
def test_row_with_one_filled_cell_among_eight_has_at_least_a_warning(
    tmp_path: Path, catalogue: Catalogue, text: str
) -> None:
    sheet = validate_workbook(clients(tmp_path / "a.xlsx", text), catalogue)
    assert (sheet.non_records, marks(sheet)) == ({}, {5: "row-doubtful"})
    assert sheet.errors == 0


def test_titles_of_many_groups_are_one_warning(tmp_path: Path, catalogue: Catalogue) -> None:
    cities = ["São Paulo", "Curitiba", "Recife", "Natal", "Belém"]
    sheet = validate_workbook(clients(tmp_path / "a.xlsx", *cities, count=15), catalogue)
    (finding,) = sheet.findings
    assert (finding.kind.code, finding.cell, finding.cells) == ("row-doubtful", "A5", 5)


def test_title_of_a_group_in_two_cells_is_held(tmp_path: Path, catalogue: Catalogue) -> None:
    title = {0: "Vendedor:", 3: "3 - João"}
    text = {0: "Vendedor: 3", 1: "J"}
    sheet = validate_workbook(clients(tmp_path / "a.xlsx", text), catalogue)
    assert sheet.non_records == {5: "row-note"}
    other = validate_workbook(clients(tmp_path / "b.xlsx", title), catalogue)
    assert marks(other) == {5: "row-doubtful"}


def test_sparse_records_that_are_ordinary_have_no_findings(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    full = [["A Ltda", "J", None, "C-1", 1, 3, "a@example.com", "(11) 98765-4321"]] * 1
    rows = [
        *([f"Padaria {n}", "J", None, f"C-{n}", 1, 3, f"a{n}@b.com.br", None] for n in range(9)),
        *([f"Oficina {n}", *[None] * 7] for n in range(9)),
    ]
    path = write_rows(tmp_path / "a.xlsx", CLIENT_HEADER, [*full, *rows])
    assert validate_workbook(path, catalogue).findings == []


NAMES = [
    *("Média", "Quantidade", "Total de vidros", "Total", "Soma", "Máximo", "Contagem", "Qtde"),
    *("Saldo de estoque", "Subtotal", "Resultado", "Total Distribuidora", "Loja 3", "Fonte: água"),
    *("Mínimo", "Número", "Relatórios", "Fim de linha", "Página 1", "Grupo 7", "7 itens", "Saldo"),
]


@pytest.mark.parametrize("resource", ["tipocliente", "tipo-de-produto", "categoriacliente"])
@pytest.mark.parametrize("with_codes", [True, False])
def test_words_of_totals_are_names_in_a_registry_of_two_columns(
    tmp_path: Path, catalogue: Catalogue, resource: str, with_codes: bool
) -> None:
    header = [column.name for column in catalogue[resource].columns]
    names = ["Varejo", "Atacado", *NAMES, "Governo"]
    rows = [[number if with_codes else None, name] for number, name in enumerate(names, start=100)]
    ordered = [row if header[0].startswith("codigo") else row[::-1] for row in rows]
    sheet = validate_workbook(
        write_rows(tmp_path / "a.xlsx", header, ordered), catalogue, resource=resource
    )
    assert [(f.cell, f.kind.code) for f in sheet.findings] == []
    assert len(sheet.rows) == len(names)


MAPPING = """version: 1
resource: contasreceber
header: [Data, Histórico, Documento, Valor, Saldo]
columns:
  dataDeVencimento: {from: Data}
  historico: {from: Histórico}
  numeroDoDocumento: {from: Documento}
  valorDoLancamento: {from: Valor}
  codigoDaFilial: {constant: 1}
  codigoDoCliente: {constant: 1001}
  codigoDoItemDeLancamento: {constant: "1.01.001"}
  codigoDoCentroDeCusto: {constant: "01.001"}
  codigoDaContaCorrente: {constant: 1}
ignore: [Saldo]
"""
Line = tuple[Any, ...]
MOVES: Sequence[Line] = [
    (46300 + day, f"Recebimento {day}", f"NF-{day:03}", 100.5 + day, 100.0 * day)
    for day in range(1, 9)
]
TOTAL = sum(line[3] for line in MOVES)


def statement(folder: Path, catalogue: Catalogue, *lines: Line) -> ValidatedSheet:
    """Validate a mapped statement with dates, texts, documents, amounts and balances."""
    path, mapping = folder / "a.xlsx", folder / "m.yaml"
    mapping.write_text(MAPPING, "utf-8")
    with xlsxwriter.Workbook(path) as book:
        page, day = book.add_worksheet(), book.add_format({"num_format": "dd/mm/yyyy"})
        page.write_row(0, 0, ["Data", "Histórico", "Documento", "Valor", "Saldo"])
        for row, line in enumerate(lines, start=1):
            for column, value in enumerate(line):
                if isinstance(value, str):
                    page.write_string(row, column, value)
                elif value is not None:
                    page.write(row, column, value, day if column == 0 else None)
    return validate_workbook(path, catalogue, mapping=read_mapping(mapping))


TOTALS = [
    *(
        "Total recebido",
        "TOTAL RECEBIDO:",
        "Total",
        "TOTAL",
        "Totais",
        "Total geral",
        "TOTAL GERAL",
    ),
    *(
        "T O T A L  G E R A L ---->",
        "T O T A L",
        "=== TOTAL ===",
        "--- Total do dia ---",
        "Tot. geral",
    ),
    *("Total do período", "TOTAL DO PERIODO", "Total no mês", "Total de recebimentos", "Subtotal"),
    *(
        "Sub-total",
        "SUB TOTAL",
        "Total parcial",
        "Total da página",
        "Total a receber",
        "Total pago",
    ),
    *(
        "Total de títulos",
        "Total: R$ 836,00",
        "TOTAL R$",
        "Total em 31/10/2026",
        "Total (8 títulos)",
    ),
    *("Total de entradas", "Total créditos", "TOTAL DE CRÉDITOS", "Total do cliente João", "Soma"),
    *(
        "Total das notas",
        "Soma total",
        "Valor total",
        "Somatório",
        "Soma dos valores",
        "A transportar",
    ),
    *("Transporte", "Saldo final", "SALDO ATUAL", "Saldo do dia", "Saldo em 31/10/2026", "Saldo"),
    *(
        "S A L D O  A T U A L",
        "Saldo disponível",
        "Saldo a transportar",
        "Total líquido",
        "Acumulado",
    ),
    *("VLR TOTAL", "Vl. total", "TT GERAL", "Valor acumulado", "TOTALIZAÇÃO", "Totalizador"),
]


@pytest.mark.parametrize("text", every(4, TOTALS))
def test_running_sum_with_its_word_in_a_mapped_statement_is_held(
    tmp_path: Path, catalogue: Catalogue, text: str
) -> None:
    complete = (46309, text, "TOTAL", TOTAL, TOTAL)
    sheet = statement(tmp_path, catalogue, *MOVES, complete)
    assert sheet.non_records == {10: "row-total"}
    alone = (None, text, None, TOTAL, None)
    sheet = statement(tmp_path, catalogue, *MOVES, alone)
    assert sheet.non_records == {10: "row-total"}


@pytest.mark.parametrize(
    "line",
    [
        (46300, "SALDO ANTERIOR", None, None, 500.0),
        (None, "Saldo anterior", None, 500.0, None),
        (46300, "S A L D O   A N T E R I O R", None, None, 500.0),
        (None, "SALDO INICIAL", None, None, 500.0),
        (46300, "Saldo em 01/10/2026", None, 500.0, 500.0),
        (46300, "SALDO ANTERIOR....:", None, 500.0, None),
        (None, "Saldo de transporte", None, None, None),
        (46300, "SALDO ANT.", None, None, 500.0),
        (None, "Sdo. anterior", None, 500.0, None),
        (46300, "SALDO ABERTURA", None, None, 500.0),
        (None, "Saldo de abertura", None, 500.0, None),
        (46300, "S.ANT", None, None, 500.0),
        (46300, "Saldo transportado", None, 500.0, None),
        (None, "Vem da folha anterior", None, 500.0, None),
        (46300, "Saldo em C/C", None, None, 500.0),
    ],
)
def test_balance_above_the_movements_is_held(
    tmp_path: Path, catalogue: Catalogue, line: Line
) -> None:
    sheet = statement(tmp_path, catalogue, line, *MOVES)
    assert list(sheet.non_records) == [2]
    assert sheet.errors == 1


def test_complete_row_with_the_word_of_a_balance_has_a_warning(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    line = (46300, "SALDO ANTERIOR", "NF-000", 500.0, 500.0)
    sheet = statement(tmp_path, catalogue, line, *MOVES)
    assert (sheet.non_records, marks(sheet)) == ({}, {2: "row-doubtful"})


def test_sum_of_all_rows_above_is_held_below_a_gap(tmp_path: Path, catalogue: Catalogue) -> None:
    """No word tells it: "Recebido no mês" may be the text of a title."""
    for line in (
        (None, "Recebido no mês", None, TOTAL, None),
        (46309, "Líquido a receber", None, TOTAL, None),
        (None, "Loja 1", "X", TOTAL, None),
    ):
        sheet = statement(tmp_path, catalogue, *MOVES, line)
        assert sheet.non_records == {10: "row-total"}


def test_sum_of_all_rows_above_in_a_complete_row_has_a_warning(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    sheet = statement(tmp_path, catalogue, *MOVES, (46309, "Loja 1", "X", TOTAL, 1.0))
    assert (sheet.non_records, marks(sheet)) == ({}, {10: "row-doubtful"})
    after = (46310, "Loja 2", "Y", 7.0, 1.0)
    within = statement(tmp_path, catalogue, *MOVES, (46309, "Loja 1", "X", TOTAL, 1.0), after)
    assert within.findings == []


def test_sum_by_chance_in_a_row_with_an_empty_cell_has_a_warning_at_most(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    pair = [(46300, "Parcela", f"NF-9{n}", 50.0, 1.0) for n in range(2)]
    line = (46309, "Parcela", None, 100.0, 1.0)
    sheet = statement(tmp_path, catalogue, *MOVES, *pair, line, *MOVES[:2])
    assert sheet.non_records == {}


def test_sums_of_groups_and_of_the_sheet_are_held(tmp_path: Path, catalogue: Catalogue) -> None:
    groups = [MOVES[:3], MOVES[3:6], MOVES[6:]]
    lines: list[Line] = []
    for group in groups:
        lines += [*group, (46310, "Total do dia", "X", sum(line[3] for line in group), 1.0)]
    lines.append((46311, "Total geral", "Y", TOTAL, 1.0))
    sheet = statement(tmp_path, catalogue, *lines)
    assert list(sheet.non_records) == [5, 9, 12, 13]


@pytest.mark.parametrize(
    "text",
    [
        *("Saldo da fatura 123", "Saldo do pedido 45", "Total do contrato 9", "Soma de parcelas"),
        *("Total Distribuidora", "Resumo da obra", "Média tensão", "Quantidade excedente"),
    ],
)
def test_ordinary_texts_with_such_words_have_no_findings(
    tmp_path: Path, catalogue: Catalogue, text: str
) -> None:
    line = (46309, text, "NF-900", 77.0, 1.0)
    assert statement(tmp_path, catalogue, *MOVES[:4], line, *MOVES[4:]).findings == []
