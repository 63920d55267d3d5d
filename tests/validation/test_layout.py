"""Detection of header rows, columns, sheets and resources."""

from datetime import date
from pathlib import Path

import pytest
import xlsxwriter
from sheets import GOOD, ErrorCell, records, write_page, write_records, write_rows

from xlbridge.errors import UsageError
from xlbridge.resources import Catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.validation.report import Report
from xlbridge.validation.report_formats import report_lines
from xlbridge.workbook.write import write_template

CLIENT = list(GOOD["cliente"])
ROW = list(GOOD["cliente"].values())


def codes(validated: ValidatedSheet) -> list[tuple[str | None, str]]:
    return [(finding.cell, finding.kind.code) for finding in validated.findings]


def test_header_is_found_below_a_title_and_blank_columns(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    bad = ["Outra", "X", None]
    path = write_rows(
        tmp_path / "a.xlsx",
        CLIENT,
        [ROW, [None] * 3, [" ", None, None], bad],
        at=(4, 2),
        title="Clientes novos de outubro",
    )
    validated = validate_workbook(path, catalogue)
    assert (validated.header_row, list(validated.rows)) == (5, [6, 9])
    assert codes(validated) == [("D9", "value-not-allowed")]


def test_exported_document_column_is_read_by_the_nature_of_each_row(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    header = ["codigoDoFornecedor", "nomeComercial", "natureza", "cnpjcpf"]
    rows = [
        [2001, "Padaria", "J", "11222333000181"],
        [2002, "Ana", "F", "52998224725"],
        [None, "Nova", None, "11444777000161"],
        [2003, "Rui", "J", "52998224725"],
        [2004, "Eva", "F", "123"],
    ]
    path = write_rows(tmp_path / "a.xlsx", header, rows)
    validated = validate_workbook(path, catalogue, resource="fornecedor")
    assert codes(validated) == [("D5", "document-misplaced"), ("D6", "cpf-invalid")]
    # One cell cannot be moved into itself.
    assert {finding.corrected for finding in validated.findings} == {None}
    documents = validated.frame[["cnpj", "cpf"]].fillna("").to_numpy().tolist()[:3]
    assert documents == [["11222333000181", ""], ["", "52998224725"], ["11444777000161", ""]]
    # Without the nature a document is a company's, as in a sheet for imports.
    del header[2], rows[0][2], rows[1:]
    path = write_rows(tmp_path / "b.xlsx", header, rows)
    assert validate_workbook(path, catalogue).frame["cnpj"].tolist() == ["11222333000181"]


@pytest.mark.parametrize(
    "header",
    [
        ["NOMECOMERCIAL", "Natureza ", "CNPJ*"],
        ["Nome comercial", "natureza", "cnpj"],
        ["nome\u00a0comercial", "Natureza", "Cnpj"],
        ["Trade name", "Nature", "CNPJ"],
        ["Nomé comercial", "Naturéza", "CNPJ"],
        ["nome\u200bcomercial", "\ufeffnatureza", "cnpj"],
        ["Nome comercial:", "Natureza :", "CNPJ*:"],
    ],
)
def test_headers_match_in_every_usual_spelling(
    tmp_path: Path, catalogue: Catalogue, header: list[str]
) -> None:
    validated = validate_workbook(
        write_rows(tmp_path / "a.xlsx", header, [ROW]), catalogue, resource="cliente"
    )
    assert validated.findings == []
    assert list(validated.columns) == CLIENT


@pytest.mark.parametrize(
    ("resource", "column", "header"),
    [
        ("contasreceber", "valorDoLancamento", "Valor do lançamento (R$)"),
        ("contasreceber", "valorDoLancamento", "valorDoLancamento (em reais):"),
        ("contasreceber", "valorDoLancamento", "VALOR DO LANÇAMENTO R$ *"),
        ("contasreceber", "dataDeVencimento", "Data de vencimento (dd/mm/aaaa)"),
        ("nota-fiscal-servico", "AliquotaCBS", "Alíquota da CBS (%)"),
    ],
)
def test_header_may_state_the_unit_of_its_column(
    tmp_path: Path, catalogue: Catalogue, resource: str, column: str, header: str
) -> None:
    names, rows = records(resource, [{column: date(2026, 11, 6) if "data" in column else 1.0}])
    path = write_rows(tmp_path / "a.xlsx", [header if n == column else n for n in names], rows)
    validated = validate_workbook(path, catalogue)
    assert validated.findings == []
    assert column in validated.columns


@pytest.mark.parametrize(
    "header",
    ["Valor da CBS (%)", "Alíquota da CBS (R$)", "Valor da CBS (US$)", "Valor da CBS (mil)"],
)
def test_header_with_another_unit_is_reported_as_misspelt(
    tmp_path: Path, catalogue: Catalogue, header: str
) -> None:
    names, [row] = records("nota-fiscal-servico", [{}])
    path = write_rows(tmp_path / "a.xlsx", [*names, header], [[*row, 1.0]])
    validated = validate_workbook(path, catalogue)
    assert [f.kind.code for f in validated.findings] == ["column-misspelt"]


def test_a_missing_required_column_is_one_finding(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_rows(tmp_path / "a.xlsx", ["natureza", "cnpj"], [["J", None]] * 3)
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert [(f.row, f.column, f.cell, f.kind.code) for f in validated.findings] == [
        (1, "nomeComercial", None, "column-missing")
    ]


def test_repeated_header_is_one_finding_and_not_read(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_rows(tmp_path / "a.xlsx", [*CLIENT, "natureza"], [[*ROW, "?"]])
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert codes(validated) == [("D1", "column-duplicate")]
    assert "natureza" not in validated.columns


def test_an_unknown_column_is_a_warning_and_a_near_miss_is_an_error(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = write_rows(tmp_path / "a.xlsx", [*CLIENT, "obs", "telefones"], [[*ROW, "x", "y"]])
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert codes(validated) == [("D1", "column-unknown"), ("E1", "column-misspelt")]
    assert (validated.findings[1].column, validated.errors) == ("telefone", 1)


def test_a_sheet_without_rows_is_empty(tmp_path: Path, catalogue: Catalogue) -> None:
    validated = validate_workbook(write_rows(tmp_path / "a.xlsx", CLIENT, []), catalogue)
    assert codes(validated) == [(None, "sheet-empty")]
    assert not validated.ok


def test_blank_workbook_is_reported_as_empty(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_rows(tmp_path / "a.xlsx", [], [])
    assert codes(validate_workbook(path, catalogue)) == [(None, "sheet-empty")]
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert codes(validated) == [(None, "sheet-empty")]


def test_unrelated_sheet_has_no_header(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_rows(tmp_path / "a.xlsx", ["a", "b"], [["c", "d"]])
    assert codes(validate_workbook(path, catalogue, resource="cliente")) == [
        (None, "header-not-found")
    ]


def test_a_template_of_another_resource_is_named(tmp_path: Path, catalogue: Catalogue) -> None:
    path = tmp_path / "a.xlsx"
    write_template(path, catalogue["produto"])
    (found,) = validate_workbook(path, catalogue, resource="cliente").findings
    assert found.kind.code == "template-of-other"
    assert "of produto, not of cliente" in found.message.en


def test_row_with_only_an_error_cell_counts_as_a_row(tmp_path: Path, catalogue: Catalogue) -> None:
    rows = [ROW, [None, None, ErrorCell("#REF!")]]
    validated = validate_workbook(write_rows(tmp_path / "a.xlsx", CLIENT, rows), catalogue)
    assert codes(validated) == [("A3", "required-missing"), ("C3", "cell-error")]
    assert validated.findings[1].value == "#REF!"


@pytest.mark.parametrize("resource", list(GOOD))
def test_resource_is_detected_by_the_headers(
    tmp_path: Path, catalogue: Catalogue, resource: str
) -> None:
    path = write_rows(tmp_path / "a.xlsx", list(GOOD[resource]), [list(GOOD[resource].values())])
    validated = validate_workbook(path, catalogue)
    assert validated.resource is catalogue[resource]
    assert validated.findings == []


def test_resource_is_detected_by_the_sheet_name(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_rows(tmp_path / "a.xlsx", ["historico"], [["x"]], sheet="contaspagar")
    validated = validate_workbook(path, catalogue)
    assert validated.resource is catalogue["contaspagar"]


def test_imported_resource_takes_precedence_over_one_created_by_records(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        write_page(book, "tipo-de-produto", *records("contasreceber", [{}]))
        write_page(book, "Tipos", *records("tipo-de-produto", [{}]))
    assert validate_workbook(path, catalogue).resource is catalogue["contasreceber"]
    only = write_records(tmp_path / "b.xlsx", "tipo-de-produto", [{}])
    assert validate_workbook(only, catalogue).resource is catalogue["tipo-de-produto"]


def test_undetectable_resource_must_be_specified(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_rows(tmp_path / "a.xlsx", ["historico", "codigoDaFilial"], [["x", 1]])
    with pytest.raises(UsageError) as caught:
        validate_workbook(path, catalogue)
    assert "--resource" in str(caught.value.hint)


@pytest.mark.parametrize("resource", ["contasreceber", "contaspagar", "cliente"])
def test_misspelt_required_column_is_reported_for_a_detected_resource(
    tmp_path: Path, catalogue: Catalogue, resource: str
) -> None:
    header = list(GOOD[resource])
    path = write_rows(
        tmp_path / "a.xlsx", [f"{header[0]}s", *header[1:]], [list(GOOD[resource].values())]
    )
    validated = validate_workbook(path, catalogue)
    assert validated.resource is catalogue[resource]
    assert [(f.column, f.cell, f.kind.code) for f in validated.findings] == [
        (header[0], "A1", "column-misspelt"),
    ]


def test_missing_required_column_is_reported_for_a_detected_resource(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    good = dict(GOOD["contasreceber"])
    del good["codigoDaFilial"]
    path = write_rows(tmp_path / "a.xlsx", list(good), [list(good.values())])
    validated = validate_workbook(path, catalogue)
    assert validated.resource is catalogue["contasreceber"]
    assert [f.kind.code for f in validated.findings] == ["column-missing"]


def test_resource_is_not_guessed_without_its_distinguishing_column(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    good = dict(GOOD["contasreceber"])
    del good["codigoDoCliente"]
    path = write_rows(tmp_path / "a.xlsx", list(good), [list(good.values())])
    with pytest.raises(UsageError, match=r"is not clear|Não dá para saber"):
        validate_workbook(path, catalogue)


def test_all_matching_resources_are_named(tmp_path: Path, catalogue: Catalogue) -> None:
    header = list(dict.fromkeys([*GOOD["contasreceber"], "codigoDoFornecedor"]))
    path = write_rows(tmp_path / "a.xlsx", header, [])
    with pytest.raises(UsageError, match="contaspagar, contasreceber"):
        validate_workbook(path, catalogue)


def test_matching_sheet_is_chosen_unless_another_is_selected(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("Notas").write_row(0, 0, ["a", "b"])
        page = book.add_worksheet("Dados")
        page.write_row(0, 0, CLIENT)
        page.write_row(1, 0, ROW)
    assert validate_workbook(path, catalogue).sheet == "Dados"
    assert codes(validate_workbook(path, catalogue, resource="cliente", sheet="Notas")) == [
        (None, "header-not-found")
    ]
    with pytest.raises(UsageError, match="Notas, Dados"):
        validate_workbook(path, catalogue, sheet="Nada")


def two_sheets(path: Path, second: list[list[object]]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        for name, rows in (("Um", [CLIENT, ROW]), ("Dois", second)):
            page = book.add_worksheet(name)
            for number, row in enumerate(rows):
                page.write_row(number, 0, row)
    return path


def test_two_matching_sheets_require_a_selection(tmp_path: Path, catalogue: Catalogue) -> None:
    receivable = GOOD["contasreceber"]
    numbers = [value if isinstance(value, int | float) else "x" for value in receivable.values()]
    for name, second in (("a", [CLIENT, ROW]), ("b", [list(receivable), numbers])):
        path = two_sheets(tmp_path / f"{name}.xlsx", second)
        with pytest.raises(UsageError, match=r"Um .*; Dois ") as caught:
            validate_workbook(path, catalogue)
        assert "--sheet" in str(caught.value.hint)
        assert validate_workbook(path, catalogue, sheet="Um").ok


def test_sheet_with_only_a_header_is_not_a_candidate(tmp_path: Path, catalogue: Catalogue) -> None:
    path = two_sheets(tmp_path / "a.xlsx", [CLIENT])
    assert validate_workbook(path, catalogue).sheet == "Um"


def test_thousands_of_unknown_columns_are_one_group(tmp_path: Path, catalogue: Catalogue) -> None:
    strange = [f"anotação {number}" for number in range(5_000)]
    path = write_rows(tmp_path / "a.xlsx", [*CLIENT, *strange], [ROW])
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert [finding.kind.code for finding in validated.findings] == ["column-unknown"] * 5_000
    lines = list(report_lines(Report([validated])))
    assert len(lines) < 12
    assert any("5000" in line or "4995" in line for line in lines)


def test_repeated_values_all_name_the_first(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_rows(tmp_path / "a.xlsx", CLIENT, [ROW] * 3_000)
    validated = validate_workbook(path, catalogue)
    assert [finding.row for finding in validated.findings] == list(range(3, 3_002))
    assert {finding.details["first"] for finding in validated.findings} == {"C2"}


@pytest.mark.parametrize(
    ("separator", "shown"), [(";", "';'"), (",", "','"), ("\t", "'⇥'"), ("|", "'|'")]
)
@pytest.mark.parametrize("resource", [None, "contaspagar"])
def test_unsplit_columns_are_reported(
    tmp_path: Path, catalogue: Catalogue, separator: str, shown: str, resource: str | None
) -> None:
    record = GOOD["contaspagar"]
    lines = [[separator.join(f'"{name}"' for name in record)], [separator.join("123456789")]]
    path = write_rows(tmp_path / "a.xlsx", ["Exportado do banco"], lines, at=(0, 1))
    validated = validate_workbook(path, catalogue, resource=resource)
    [finding] = validated.findings
    assert (finding.kind.code, finding.cell, finding.row) == ("columns-joined", "B2", 2)
    assert shown in finding.message.pt
    assert validated.resource is catalogue["contaspagar"]


def test_header_without_exact_names_is_found_by_similar_ones(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    names = ["Cod. Filial", "Cód. Cliente", "Vencimento", "Vlr. Lançamento"]
    path = write_rows(tmp_path / "a.xlsx", ["Títulos em aberto"], [names, [1, 2, 3, 4]], at=(0, 1))
    validated = validate_workbook(path, catalogue, resource="contasreceber")
    assert validated.header_row == 2
    assert [pair for pair in codes(validated) if pair[0]] == [
        ("B2", "column-misspelt"),
        ("C2", "column-misspelt"),
        ("D2", "column-alike"),
        ("E2", "column-misspelt"),
    ]
    assert {code for cell, code in codes(validated) if cell is None} == {"column-missing"}


def test_header_with_garbled_accents_is_reported_as_misspelt(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = write_rows(tmp_path / "a.xlsx", [*CLIENT, "CÃ³digo do vendedor"], [[*ROW, 1]])
    assert codes(validate_workbook(path, catalogue)) == [("D1", "column-misspelt")]


def test_table_repeated_side_by_side_is_not_reported_as_empty(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = write_rows(tmp_path / "a.xlsx", [*CLIENT, *CLIENT], [[*ROW, *ROW]])
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert {code for _, code in codes(validated)} == {"column-duplicate"}
    empty = write_rows(tmp_path / "b.xlsx", [*CLIENT, *CLIENT], [])
    assert "sheet-empty" in {
        code for _, code in codes(validate_workbook(empty, catalogue, resource="cliente"))
    }
