"""Converted columns: values by a list, documents by kind, joined texts, constants."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from foreign_sheets import write_mapping
from sheets import ErrorCell, write_rows

from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.validation.mapping import propose_mapping, read_mapping

CNPJ, CPF = "11.222.333/0001-81", "529.982.247-25"


@pytest.fixture
def validate_rows(tmp_path: Path, catalogue: Catalogue) -> Any:
    """Validate rows below a header with a mapping of the columns."""

    def run(
        resource: str, header: list[str], rows: list[list[Any]], columns: dict[str, Any]
    ) -> ValidatedSheet:
        used = {h for c in columns.values() for h in [c.get("from"), *c.get("join", [])]}
        mapping = write_mapping(
            tmp_path / "m.yaml",
            resource=resource,
            header=header,
            columns=columns,
            ignore=[text for text in header if text not in used],
        )
        path = write_rows(tmp_path / "a.xlsx", header, rows)
        return validate_workbook(path, catalogue, mapping=read_mapping(mapping))

    return run


def codes(sheet: ValidatedSheet) -> list[tuple[str | None, str, str | None]]:
    return [(f.cell, f.kind.code, f.value) for f in sheet.findings]


def column(sheet: ValidatedSheet, name: str) -> list[object]:
    values = sheet.frame[name]
    return [None if gone else value for value, gone in zip(values, values.isna(), strict=True)]


def test_documents_are_split_by_kind_and_determine_the_nature(validate_rows: Any) -> None:
    rows = [["A", CNPJ], ["B", CPF], ["C", 52998224725], ["D", "isento"], ["E", None]]
    validated = validate_rows(
        "cliente",
        ["Razão Social", "CNPJ/CPF"],
        rows,
        {
            "nomeComercial": {"from": "Razão Social"},
            "cnpj": {"from": "CNPJ/CPF", "when": "cnpj"},
            "cpf": {"from": "CNPJ/CPF", "when": "cpf"},
            "natureza": {"from": "CNPJ/CPF", "values": {"cnpj": "J", "cpf": "F"}},
        },
    )
    assert column(validated, "cnpj") == ["11222333000181", None, None, None, None]
    assert column(validated, "cpf") == [None, "52998224725", "52998224725", None, None]
    assert column(validated, "natureza") == ["J", "F", "F", None, None]
    assert ("B5", "mapping-document-unknown", "isento") in codes(validated)
    assert ("B5", "mapping-value-unknown", "isento") in codes(validated)
    assert {f.header for f in validated.findings} == {"CNPJ/CPF"}


def test_document_without_a_matching_column_is_reported(validate_rows: Any) -> None:
    validated = validate_rows(
        "cliente",
        ["Nome", "Documento"],
        [["A", CNPJ], ["B", CPF]],
        {"nomeComercial": {"from": "Nome"}, "cnpj": {"from": "Documento", "when": "cnpj"}},
    )
    assert codes(validated) == [("B3", "mapping-document-unknown", CPF)]


PLACE = {
    "codigoDoAlmoxarifado": {"constant": 1},
    "codigoDaSecao": {"join": ["Rua", "Nível"], "with": "-"},
    "idProd": {"from": "Produto"},
    "ativo": {"from": "Ativo", "values": {"Sim": True, "Não": False, "S": True}},
}


def test_values_constants_and_joined_texts_are_converted(validate_rows: Any) -> None:
    rows = [
        ["Matriz", "A", 1, 2001, "Sim"],
        [" MATRIZ ", "B", None, 2002, "não"],
        ["Filial", "C", 3, 2003, "talvez"],
        [None, ErrorCell("#N/A"), 4, 2004, "s"],
    ]
    validated = validate_rows(
        "enderecamento-de-produto",
        ["Loja", "Rua", "Nível", "Produto", "Ativo"],
        rows,
        {"codigoDaFilial": {"from": "Loja", "values": {"Matriz": 1}}, **PLACE},
    )
    assert column(validated, "codigoDaFilial") == [1, 1, None, None]
    assert column(validated, "codigoDoAlmoxarifado") == [1, 1, 1, 1]
    assert column(validated, "codigoDaSecao")[:3] == ["A-1", "B", "C-3"]
    assert column(validated, "ativo") == [True, False, None, True]
    assert codes(validated) == [
        ("A4", "mapping-value-unknown", "Filial"),
        ("E4", "mapping-value-unknown", "talvez"),
        ("A5", "required-missing", None),
        ("B5", "cell-error", "#N/A"),
    ]


def test_constants_do_not_turn_blank_rows_and_totals_into_records(validate_rows: Any) -> None:
    rows = [
        ["Matriz", 1001, "1.01.001", "01.001", "Mensalidade", 10.5, date(2026, 10, 31)],
        [None] * 7,
        ["Total", None, None, None, None, 10.5, None],
    ]
    validated = validate_rows(
        "contasreceber",
        ["Loja", "Cliente", "Item", "CC", "Histórico", "Valor (R$)", "Vencto"],
        rows,
        {
            "codigoDaFilial": {"from": "Loja", "values": {"Matriz": 1}},
            "codigoDoCliente": {"from": "Cliente"},
            "codigoDoItemDeLancamento": {"from": "Item"},
            "codigoDoCentroDeCusto": {"from": "CC"},
            "codigoDaContaCorrente": {"constant": 1},
            "codigoDaFormaDePagamento": {"constant": 2},
            "historico": {"from": "Histórico"},
            "valorDoLancamento": {"from": "Valor (R$)"},
            "dataDeVencimento": {"from": "Vencto"},
        },
    )
    assert list(validated.rows) == [2, 4]
    assert codes(validated) == [("A4", "row-total", "Total")]
    assert column(validated, "codigoDaContaCorrente") == [1, None]


@pytest.mark.parametrize(("style", "read"), [("pt", 1.234), ("en", 1234.0)])
def test_mapping_declares_the_number_style(validate_rows: Any, style: str, read: float) -> None:
    validated = validate_rows(
        "nota-fiscal-servico",
        ["Valor"],
        [["1,234"]],
        {
            "codigoDaFilial": {"constant": 1},
            "codigoDoCliente": {"constant": 1001},
            "codigoDoServicoPrestado": {"constant": "14.01"},
            "valorDoServico": {"from": "Valor", "numbers": style},
        },
    )
    assert column(validated, "valorDoServico") == [read]


def test_required_column_missing_in_the_mapping_is_reported_once(validate_rows: Any) -> None:
    validated = validate_rows("cliente", ["CNPJ"], [[CNPJ]], {"cnpj": {"from": "CNPJ"}})
    assert [(f.row, f.column, f.kind.code) for f in validated.findings] == [
        (1, "nomeComercial", "mapping-column-missing")
    ]


def test_row_that_repeats_the_header_is_reported_once(validate_rows: Any) -> None:
    validated = validate_rows(
        "cliente",
        ["Nome", "Doc"],
        [["A", CNPJ], ["Nome", "Doc"], ["B", CPF]],
        {
            "nomeComercial": {"from": "Nome"},
            "cnpj": {"from": "Doc", "when": "cnpj"},
            "cpf": {"from": "Doc", "when": "cpf"},
            "natureza": {"from": "Doc", "values": {"cnpj": "J", "cpf": "F"}},
        },
    )
    assert codes(validated) == [("A3", "row-header-again", "Nome")]


@pytest.mark.parametrize("added", [[], ["situação no envio", "motivo", "código no sistema"]])
def test_a_column_named_like_a_status_column_is_read(
    tmp_path: Path, catalogue: Catalogue, added: list[str]
) -> None:
    header = ["Filial", "Qtd", "Motivo"]
    path = write_rows(tmp_path / "a.xlsx", [*header, *added], [[1, 2, "uso", *added]])
    proposal = propose_mapping(path, catalogue, WorkbookLimits(), resource="saida")
    assert proposal.header == header
    mapping = write_mapping(
        tmp_path / "m.yaml",
        resource="saida",
        header=header,
        columns={
            "codigoDaFilial": {"from": "Filial"},
            "quantidade": {"from": "Qtd"},
            "observacao": {"from": "Motivo"},
        },
    )
    sheet = validate_workbook(path, catalogue, mapping=read_mapping(mapping))
    assert (column(sheet, "observacao"), sheet.findings) == (["uso"], [])


def test_a_mapping_that_does_not_list_a_column_named_like_a_status_column_is_still_read(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    mapping = write_mapping(
        tmp_path / "m.yaml",
        resource="saida",
        header=["Filial", "Qtd"],
        columns={"codigoDaFilial": {"from": "Filial"}, "quantidade": {"from": "Qtd"}},
    )
    path = write_rows(tmp_path / "a.xlsx", ["Filial", "Motivo", "Qtd"], [[1, "uso", 2]])
    assert validate_workbook(path, catalogue, mapping=read_mapping(mapping)).ok


@pytest.mark.parametrize(
    ("value", "form", "joined"),
    [
        (123, "General", "NF-123"),
        (123, "000000", None),
        (1234, "#,##0", "NF-1234"),
        (123, "0.00", None),
        (0.5, "0%", None),
        (1e16, "General", None),
        (date(2026, 3, 1), "d/m", None),
        (date(2026, 3, 1), "mmm/yy", None),
        (date(2026, 3, 1), "dd/mm/yyyy", "NF-01/03/2026"),
        ("1/3", "d/m", "NF-1/3"),
        (None, "000000", "NF"),
    ],
)
def test_a_joined_cell_that_shows_something_else_is_reported(
    tmp_path: Path, catalogue: Catalogue, value: object, form: str, joined: str | None
) -> None:
    mapping = write_mapping(
        tmp_path / "m.yaml",
        resource="saida",
        header=["Filial", "Qtd", "Tipo", "Parcela"],
        columns={
            "codigoDaFilial": {"from": "Filial"},
            "quantidade": {"from": "Qtd"},
            "documento": {"join": ["Tipo", "Parcela"], "with": "-"},
        },
    )
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        page = book.add_worksheet()
        page.write_row(0, 1, ["Filial", "Qtd", "Tipo", "Parcela"])
        page.write_row(1, 1, [1, 2, "NF"])
        cell_format = book.add_format({"num_format": form})
        if isinstance(value, date):
            page.write_datetime(1, 4, value, cell_format)
        else:
            page.write(1, 4, value, cell_format)
    sheet = validate_workbook(tmp_path / "a.xlsx", catalogue, mapping=read_mapping(mapping))
    assert column(sheet, "documento") == [joined]
    wrong = [("D2", "mapping-part-shown-otherwise")] if joined is None else []
    assert [(f.cell, f.kind.code) for f in sheet.findings] == wrong
