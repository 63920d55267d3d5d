"""What programs leave in cells in place of values, and ordinary cells that look like it."""

from datetime import date
from pathlib import Path

import pytest
from sheets import write_records
from truth import Formatted, write_sheet

from xlbridge.resources import Catalogue
from xlbridge.validation import validate_workbook

CR = "contasreceber"
TEXT = "historico"


def codes(path: Path, catalogue: Catalogue, resource: str = CR) -> list[str]:
    sheet = validate_workbook(path, catalogue, resource=resource)
    return [finding.kind.code for finding in sheet.findings]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Manuten??o preventiva", "letter-lost"),
        ("S?o Paulo", "letter-lost"),
        ("Jo?o da Silva", "letter-lost"),
        ("Cart?o de cr?dito", "letter-lost"),
        ("?gua e esgoto", "letter-lost"),
        ("SERVI?OS", "letter-lost"),
        ("Instala??es", "letter-lost"),
        ("Loading...", "cell-error"),
        ("Carregando...", "cell-error"),
        ("Loading…", "cell-error"),
        ("#LOADING...", "cell-error"),
        ("Cargando...", "cell-error"),
        ("[object Object]", "text-placeholder"),
        ("\\N", "text-placeholder"),
        ("[NULL]", "text-placeholder"),
        ("<nil>", "text-placeholder"),
        ("(nil)", "text-placeholder"),
        ('=DISPIMG("ID_0123456789ABCDEF",1)', "cell-error"),
        ('=_xlfn.DISPIMG("ID_1",1)', "cell-error"),
        ('=dispimg("ID_1",1)', "cell-error"),
        ('=IMAGE("https://example.com/a.png")', "cell-error"),
    ],
)
def test_remains_of_programs_are_reported(
    tmp_path: Path, catalogue: Catalogue, text: str, code: str
) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{TEXT: "Aluguel"}, {TEXT: text}])
    assert codes(path, catalogue) == [code]


@pytest.mark.parametrize(
    "text",
    [
        "Quanto custa? A combinar",
        "Pago?",
        "https://loja.example/a?b=c",
        "Quem? Onde? Como?",
        "Carregando móveis",
        "Loading dock",
        "10 ?",
        "Nada???",
        "Pago??",
        "=SOMA(A1)",
        "Carregamento...",
    ],
)
def test_ordinary_texts_have_no_findings(tmp_path: Path, catalogue: Catalogue, text: str) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{TEXT: "Aluguel"}, {TEXT: text}])
    assert codes(path, catalogue) == []


@pytest.mark.parametrize(
    ("resource", "column", "value", "form", "expected"),
    [
        ("produto", "Altura", 12.5, "General", []),
        ("produto", "Largura", 0.75, "0.00", []),
        ("produto", "Comprimento", 40, "0", []),
        ("produto", "Altura", 1234.5, "#,##0.00", ["text-shown-otherwise"]),
        ("produto", "Altura", 12.5, '0" cm"', ["text-shown-otherwise"]),
        ("produto", "Altura", -1, "General", ["type-text"]),
        ("produto", "marca", 12.5, "General", ["type-text"]),
        (CR, "valorDoLancamento", 12.5, "[$R$ -416]#,##0.00", []),
        (CR, "valorDoLancamento", 12.5, "[$R$ -416] #,##0.00", []),
        (CR, "valorDoLancamento", 12.5, "[$R$\u00a0-pt-BR]#,##0.00", []),
        (CR, "valorDoLancamento", 12.5, "[$R$ -416]#,##0.00;-[$R$ -416]#,##0.00", []),
        (CR, "valorDoLancamento", 12.5, "[$ R$ -416]#,##0.00", []),
        (CR, "valorDoLancamento", 12.5, "[$US$ -409]#,##0.00", ["number-currency"]),
        ("contaspagar", "PeriodoDeCompetencia", 46327, "mmm/yy", []),
        ("contaspagar", "PeriodoDeCompetencia", 46327, "mmmm yyyy", []),
        ("contaspagar", "PeriodoDeCompetencia", 46327, '[$-416]mmmm" de "yyyy', []),
        ("contaspagar", "PeriodoDeCompetencia", 46327, "mm/yyyy", []),
        ("contaspagar", "PeriodoDeCompetencia", 46327, "yyyy-mm", []),
        ("contaspagar", "PeriodoDeCompetencia", 46328, "mmm/yy", ["date-shown-in-part"]),
        ("contaspagar", "PeriodoDeCompetencia", 46327, "yyyy", ["date-shown-in-part"]),
        ("contaspagar", "dataDeVencimento", 46327, "mmm/yy", ["date-shown-in-part"]),
        ("nota-fiscal-servico", "aliquotaISSRetido", 0, '0.00;-0.00;"Isento"', []),
        ("nota-fiscal-servico", "AliquotaCBS", 0, '0.0;0.0;"isento"', []),
        ("nota-fiscal-servico", "AliquotaCBS", 0, '0.0;0.0;"-"', []),
        ("nota-fiscal-servico", "ValorCBS", 0, '#,##0.00;-#,##0.00;"Isento"', []),
        ("nota-fiscal-servico", "ValorCBS", 0, '#,##0.00;-#,##0.00;"Zero"', []),
        (
            "nota-fiscal-servico",
            "ValorCBS",
            0,
            '#,##0.00;-#,##0.00;"a ver"',
            ["number-shown-otherwise"],
        ),
        ("nota-fiscal-servico", "aliquotaISSRetido", 2, '"Isento"', ["number-shown-otherwise"]),
        ("saida", "quantidade", 12, '0" un"', []),
        ("saida", "quantidade", 12.5, '#,##0.00" kg"', []),
        ("saida", "quantidade", 12, '0 "pçs."', []),
        ("saida", "quantidade", 12.5, '0.00 "m²"', []),
        ("saida", "quantidade", 12.5, '0.00" m2"', []),
        ("saida", "quantidade", 12, '"m2 "0', ["number-shown-otherwise"]),
        ("saida", "quantidade", 12, '0"2"', ["number-shown-otherwise"]),
        ("entrada", "quantidade", 12, '0" CX"', []),
        ("produto", "PesoBruto", 1.5, '0.000" kg"', []),
        ("produto", "PesoBruto", 1.5, '0.000" g"', ["number-with-words"]),
        ("saida", "quantidade", 12, '0" mil"', ["number-with-words"]),
        ("nota-fiscal-servico", "aliquotaISSRetido", 2.5, '0.0" un"', ["number-with-words"]),
        ("nota-fiscal-servico", "AliquotaCBS", -0.0, "0.00", []),
        ("nota-fiscal-servico", "ValorCBS", -0.0, "#,##0.00", []),
    ],
)
def test_formats_that_say_what_is_sent_are_silent(
    tmp_path: Path,
    catalogue: Catalogue,
    resource: str,
    column: str,
    value: float,
    form: str,
    expected: list[str],
) -> None:
    path = tmp_path / "a.xlsx"
    write_sheet(path, resource, [{column: Formatted(value, form)}])
    sheet = validate_workbook(path, catalogue, resource=resource)
    assert [f.kind.code for f in sheet.findings if f.column == column] == expected


def test_measures_are_sent_with_a_point_and_zero_without_a_sign(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = tmp_path / "a.xlsx"
    rows = [{"Altura": cell} for cell in (12.5, 40, "12,5 cm", "8", 0.1 + 0.2)]
    write_sheet(path, "produto", [{**row, "codigoInterno": f"P-{n}"} for n, row in enumerate(rows)])
    sheet = validate_workbook(path, catalogue)
    assert sheet.frame["Altura"].tolist() == ["12.5", "40", "12,5 cm", "8", "0.3"]
    rates = [-0.0, "-0", "-0,00"]
    write_sheet(path, "nota-fiscal-servico", [{"AliquotaCBS": rate} for rate in rates])
    sheet = validate_workbook(path, catalogue)
    assert [str(value) for value in sheet.frame["AliquotaCBS"]] == ["0.0"] * 3
    assert sheet.errors == 0


@pytest.mark.parametrize(
    ("resource", "column"),
    [
        (CR, "dataDeVencimento"),
        (CR, "dataDeEmissao"),
        ("contaspagar", "dataDeVencimento"),
        ("contaspagar", "PeriodoDeCompetencia"),
        ("entrada", "dataDaEntrada"),
        ("previsao", "dataDeInicio"),
    ],
)
@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (date(2056, 11, 1), True),
        (date(2066, 11, 1), True),
        (date(1996, 11, 1), True),
        (date(2046, 11, 1), False),
        (date(2001, 11, 1), False),
    ],
)
def test_year_thirty_years_away_is_unusual(
    tmp_path: Path, catalogue: Catalogue, resource: str, column: str, day: date, expected: bool
) -> None:
    path = write_records(tmp_path / "a.xlsx", resource, [{column: day}])
    assert ("date-implausible" in codes(path, catalogue, resource)) is expected


def test_split_document_column_of_a_csv_is_no_shorter_row(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    from xlbridge.validation.mapping import read_mapping

    path, mapping = tmp_path / "a.csv", tmp_path / "m.yaml"
    path.write_text(
        "Nome;CNPJ/CPF\nPadaria A;11.222.333/0001-81\nJoão;529.982.247-25\nBar B;\n", "utf-8"
    )
    mapping.write_text(
        'version: 1\nresource: cliente\nheader: [Nome, "CNPJ/CPF"]\ncolumns:\n'
        '  nomeComercial: {from: Nome}\n  cnpj: {from: "CNPJ/CPF", when: cnpj}\n'
        '  cpf: {from: "CNPJ/CPF", when: cpf}\n'
        '  natureza: {from: "CNPJ/CPF", values: {cnpj: J, cpf: F}}\n',
        "utf-8",
    )
    sheet = validate_workbook(path, catalogue, mapping=read_mapping(mapping))
    assert [finding.kind.code for finding in sheet.findings] == []
    path.write_text("Nome;CNPJ/CPF\nPadaria A;11.222.333/0001-81\nJoão\n", "utf-8")
    sheet = validate_workbook(path, catalogue, mapping=read_mapping(mapping))
    assert [finding.kind.code for finding in sheet.findings] == ["row-shorter"]
