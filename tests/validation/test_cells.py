"""One damaged cell in a good row gives exactly one finding, at its own address.

Inside: validation.
"""

import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from sampling import sampled
from sheets import GOOD, ErrorCell, Formula, write_records

from xlbridge.resources import Catalogue
from xlbridge.settings import ParseOptions
from xlbridge.validation import validate_workbook
from xlbridge.validation.cells.contents import quoted
from xlbridge.validation.report import Report
from xlbridge.validation.report_formats import report_forms

CR, CP, NFS, END = "contasreceber", "contaspagar", "nota-fiscal-servico", "enderecamento-de-produto"
SLIP = {"valorDoLancamento": 1.0, "ValorBruto": None}

DAMAGE: list[tuple[str, str, Any, str]] = [
    ("cliente", "nomeComercial", None, "required-missing"),
    ("cliente", "nomeComercial", "   ", "required-missing"),
    ("cliente", "nomeComercial", "x" * 151, "text-length"),
    ("cliente", "nomeComercial", 10.5, "type-text"),
    ("cliente", "nomeComercial", True, "type-text"),
    ("cliente", "nomeComercial", date(2026, 1, 1), "type-text"),
    ("cliente", "natureza", "X", "value-not-allowed"),
    ("cliente", "natureza", "j", "value-spelling"),
    ("cliente", "cnpj", "11.222.333/0001-82", "cnpj-invalid"),
    ("cliente", "cnpj", "11.222.333/0001", "cnpj-invalid"),
    ("cliente", "cnpj", 1222333000181, "code-leading-zeros"),
    ("cliente", "cnpj", "11.222.333/0001-8\u200b1", "invisible-character"),
    ("cliente", "cnpj", "12.АBC.345/01DE-35", "hidden-character"),
    ("cliente", "cnpj", "11.222.333/0001–81", "code-form"),
    ("cliente", "cnpj", "12abc34501de35", "code-form"),
    ("cliente", "cnpj", "１１222333000181", "code-form"),
    ("cliente", "cnpj", "11.222.333/0001-8\n1", "hidden-character"),
    ("cliente", "cnpj", "1,1222333E+13", "code-scientific"),
    ("cliente", "cnpj", 191, "code-leading-zeros"),
    ("cliente", "seuCodigo", " 0012", "text-spaces"),
    ("cliente", "seuCodigo", "CLI\N{NO-BREAK SPACE}0012", "invisible-character"),
    ("cliente", "nomeComercial", "Padaria\N{ZERO WIDTH SPACE} Sol", "invisible-character"),
    ("cliente", "nomeComercial", "\N{LEFT-TO-RIGHT MARK}Padaria", "invisible-character"),
    ("cliente", "nomeComercial", "Pаdaria Sol", "look-alike-letter"),
    ("cliente", "nomeComercial", "АСМЕ", "look-alike-letter"),
    ("cliente", "nomeComercial", "АСМЕ LTDA", "look-alike-letter"),
    ("cliente", "nomeComercial", "Paдaрia", "look-alike-letter"),
    ("cliente", "nomeComercial", "a\N{COMBINING ACUTE ACCENT}" * 150, "accents-apart"),
    ("cliente", "seuCodigo", "ac\N{COMBINING CEDILLA}a\N{COMBINING TILDE}o", "accents-apart"),
    ("cliente", "cnpj", "1.1222333000181E13", "code-scientific"),
    ("cliente", "email", "contato@empresa.com.br”", "email-invalid"),
    ("cliente", "email", "contato@empresa.com.br–", "email-invalid"),
    ("cliente", "email", "contato@…", "email-invalid"),
    ("cliente", "email", "contato@a—x.com", "email-invalid"),
    ("cliente", "email", "contato€@empresa.com", "email-invalid"),
    ("cliente", "email", "contato@empresa.com，", "email-invalid"),
    ("cliente", "email", "'contato@empresa.com", "email-invalid"),
    (CR, "numeroDoDocumento", "1.1222333000181E13", "code-scientific"),
    (CR, "numeroDoDocumento", "4.5123E10", "code-scientific"),
    (CR, "numeroDoDocumento", "4,5E7", "code-scientific"),
    (CR, "numeroDoDocumento", "-", "text-placeholder"),
    (CR, "numeroDoDocumento", "N/A", "text-placeholder"),
    (CR, "numeroDoDocumento", "null", "text-placeholder"),
    ("produto", "codigoDeBarras", "SEM GTIN", "text-placeholder"),
    (CR, "numeroDoDocumento", '"', "text-ditto"),
    (CR, "historico", "Idem", "text-ditto"),
    ("cliente", "cnpj", "idem", "text-ditto"),
    (CR, "numeroDoDocumento", "'00123", "text-apostrophe"),
    ("cliente", "nomeComercial", "Padaria Sol ", "text-spaces"),
    ("cliente", "natureza", " J", "text-spaces"),
    ("cliente", "email", "maria@", "email-invalid"),
    ("cliente", "email", "a@b.com; c@d.com", "email-invalid"),
    ("cliente", "email", "a..b@c.com.br", "email-invalid"),
    ("cliente", "email", ".a@b.com.br", "email-invalid"),
    ("cliente", "email", "a@-b.com", "email-invalid"),
    ("cliente", "email", "a@b-.com", "email-invalid"),
    ("cliente", "email", "mailto:a@b.com", "email-invalid"),
    ("cliente", "email", "a@b.com/x", "email-invalid"),
    ("cliente", "email", "a@b.com'", "email-invalid"),
    ("cliente", "email", "a@emp!resa.com", "email-invalid"),
    ("cliente", "email", "a@b_c.com", "email-invalid"),
    ("cliente", "email", "a@1.2.3.4", "email-invalid"),
    ("cliente", "email", "a@b.c", "email-invalid"),
    ("cliente", "email", "a@b.com:25", "email-invalid"),
    ("cliente", "telefone", "1234", "text-length"),
    ("cliente", "codigoDoVendedor", "dois", "type-integer"),
    (CR, "codigoDaFilial", 0, "value-range"),
    (CR, "codigoDaFilial", None, "required-missing"),
    (CR, "codigoDaFilial", "1a", "type-integer"),
    (CR, "codigoDaFilial", 1.5, "type-integer"),
    (CR, "codigoDaFilial", 1e17, "type-integer"),
    (CR, "codigoDaFilial", "1" + "0" * 30, "type-integer"),
    (CR, "codigoDaFilial", True, "type-integer"),
    (CR, "codigoDaFilial", "2", "number-as-text"),
    (CR, "codigoDoCliente", ErrorCell("#N/A"), "cell-error"),
    (CR, "codigoDoCliente", Formula("=A1"), "formula-no-value"),
    (CR, "codigoDoItemDeLancamento", 1.01, "type-text"),
    (CR, "historico", "x" * 501, "text-length"),
    (CR, "numeroDoDocumento", 1e15, "code-digits-lost"),
    (CR, "valorDoLancamento", "1" + "0" * 30, "type-number"),
    (CR, "dataDeVencimento", date(2026, 9, 30), "not-before"),
    (CR, "dataDeVencimento", "31/02/2026", "type-date"),
    (CR, "dataDeVencimento", "amanhã", "type-date"),
    (CR, "dataDeVencimento", 46000, "type-date"),
    (CR, "dataDeVencimento", "31/10/26", "date-short-year"),
    (CR, "dataDeVencimento", "01/11/2026", "date-ambiguous"),
    (CR, "dataDeVencimento", "31/10/2026", "date-as-text"),
    (CR, "dataDeVencimento", "2026-10-31", "date-as-text"),
    (CR, "dataDeVencimento", datetime(2026, 10, 31, 10, 30), "date-has-time"),
    (CR, "dataDeVencimento", "\N{LEFT-TO-RIGHT MARK}31/10/2026", "date-as-text"),
    (CR, "dataDeVencimento", "31/10/2026 10:30", "date-has-time"),
    (CR, "dataDeVencimento", "31/10/2026 １０：３０", "date-has-time"),
    (CR, "dataDeVencimento", date(2206, 10, 31), "date-implausible"),
    (CR, "dataDeEmissao", date(1900, 2, 28), "date-serial"),
    (CR, "dataDeEmissao", time(10, 30), "date-serial"),
    (CR, "valorDoLancamento", "R$\N{NO-BREAK SPACE}1.234,56", "number-as-text"),
    (CR, "valorDoLancamento", "1 234,56", "number-as-text"),
    (CR, "codigoDoCliente", "99999999999999999", "type-integer"),
    (CR, "valorDoLancamento", -1, "value-range"),
    (CR, "valorDoLancamento", 0, "value-range"),
    (CR, "valorDoLancamento", 10.555, "decimal-places"),
    (CR, "valorDoLancamento", 12_345_678.895, "decimal-places"),
    (CR, "valorDoLancamento", "dez", "type-number"),
    (CR, "valorDoLancamento", "10²", "type-number"),
    (CR, "codigoDoCliente", "①", "type-integer"),
    (CR, "dataDeVencimento", "31/12/0026", "type-date"),
    (CR, "dataDeVencimento", "31/12/2026 99:99", "type-date"),
    ("cliente", "cnpj", "1122233300018¹", "cnpj-invalid"),
    ("cliente", "seuCodigo", "𝐀1", "hidden-character"),
    ("cliente", "nomeComercial", "PadÃ£o", "text-misread"),
    ("cliente", "nomeComercial", "PARANÃ\x81", "text-misread"),
    ("cliente", "nomeComercial", "Ã\xa0 vista", "text-misread"),
    ("cliente", "nomeComercial", "Itaú â€“ Agência", "text-misread"),
    ("cliente", "nomeComercial", "Silva &amp; Filhos", "text-misread"),
    ("cliente", "nomeComercial", "Jo&#227;o", "text-misread"),
    ("cliente", "seuCodigo", "NÂº 5", "text-misread"),
    ("cliente", "nomeComercial", "Jo%C3%A3o", "text-misread"),
    ("cliente", "nomeComercial", "Caf%c3%a9 Central", "text-misread"),
    ("cliente", "nomeComercial", "Jos=C3=A9 Lima", "text-misread"),
    ("cliente", "nomeComercial", "S\\u00e3o Paulo", "text-misread"),
    (CR, "valorDoLancamento", "000000001050", "type-number"),
    (CR, "valorDoLancamento", "001050", "type-number"),
    ("cliente", "nomeComercial", "S\ufffdo Paulo", "character-lost"),
    ("cliente", "email", "jo\ufffdo@b.com", "character-lost"),
    ("cliente", "cnpj", "-", "document-placeholder"),
    ("cliente", "cpf", "N/A", "document-placeholder"),
    (CR, "valorDoLancamento", "1.234", "number-ambiguous"),
    (CR, "valorDoLancamento", "1.234,56", "number-as-text"),
    (CR, "valorDoLancamento", "R$      1.234,56", "number-as-text"),
    (CR, "valorDoLancamento", "10.299999999999999", "number-as-text"),
    (CR, "valorDoLancamento", "(1.234,56)", "type-number"),
    (CR, "valorDoLancamento", "1.234,56-", "type-number"),
    (CR, "valorDoLancamento", "1.234,56 D", "type-number"),
    (CR, "valorDoLancamento", "10,5%", "type-number"),
    (CR, "valorDoLancamento", "99999999999999999,99", "type-number"),
    (CR, "valorDoLancamento", "123456789012345,67", "type-number"),
    (CR, "valorDoLancamento", 1.9337370000000100e41, "type-number"),
    (CR, "codigoDoCliente", 1e15, "type-integer"),
    (CR, "dataDeVencimento", "2026/12/31", "date-as-text"),
    (CR, "dataDeVencimento", "jan/26", "type-date"),
    (CR, "dataDeVencimento", "2026-12-31T00:00:00Z", "type-date"),
    (CR, "valorDoLancamento", "12,5", "number-as-text"),
    (CR, "valorDoLancamento", date(2026, 1, 1), "type-number"),
    (CP, "valorDoLancamento", 100.01, "net-exceeds-gross"),
    (CP, "ValorPISRetido", -0.01, "value-range"),
    (CP, "CodigoDeBarras", "00193373700000001000500940144816060680935032", "barcode-invalid"),
    (CP, "CodigoDeBarras", 1.9337370000000100e41, "code-digits-lost"),
    (CP, "PeriodoDeCompetencia", "outubro", "type-date"),
    (NFS, "aliquotaISSRetido", 101, "value-range"),
    (NFS, "CodigoNBS", "1.1502.10", "format"),
    (NFS, "ClassificacaoIBSCBS", 1, "code-leading-zeros"),
    (NFS, "CodigoTipoDaOperacao", -1, "value-range"),
    (END, "ativo", "talvez", "type-boolean"),
    (END, "ativo", 1, "type-boolean"),
    (END, "codigoDaSecao", "x" * 31, "text-length"),
]


def is_first_of_its_kind(place: int, case: tuple[str, str, Any, str]) -> bool:
    resource, column, _value, code = case
    return all((one[0], one[1], one[3]) != (resource, column, code) for one in DAMAGE[:place])


@pytest.mark.parametrize(
    ("resource", "column", "value", "code"), sampled(DAMAGE, is_first_of_its_kind)
)
def test_a_damaged_cell_has_one_finding(
    tmp_path: Path, catalogue: Catalogue, resource: str, column: str, value: object, code: str
) -> None:
    path = write_records(tmp_path / "a.xlsx", resource, [{}, {column: value}])
    validated = validate_workbook(path, catalogue, resource=resource)
    header = list(dict.fromkeys([*GOOD[resource], column]))
    cell = f"{chr(ord('A') + header.index(column))}3"
    repeated = {"duplicate-in-sheet"}
    found = [(f.cell, f.column, f.kind.code) for f in validated.findings]
    assert [f for f in found if f[2] not in repeated] == [(cell, column, code)]


@pytest.mark.parametrize(
    ("resource", "change"),
    [
        ("cliente", {"cnpj": "12.ABC.345/01DE-35"}),
        ("cliente", {"cnpj": 11222333000181}),
        ("cliente", {"cnpj": None, "natureza": "F", "cpf": "529.982.247-25"}),
        ("cliente", {"natureza": "F", "cnpj": "not validated for a person"}),
        ("cliente", {"natureza": None, "cpf": "not validated for a company"}),
        ("cliente", {"nomeComercial": 1001}),
        ("cliente", {"nomeComercial": "ООО Ромашка"}),
        ("cliente", {"nomeComercial": "IRMÃ – SÃO JOSÉ™ P&D; AMANHÃ… Pão&notas"}),
        ("cliente", {"nomeComercial": "'Arte e Pão' – N/A Bar"}),
        ("cliente", {"email": "o'brien+x@exämple.com.br"}),
        ("cliente", {"email": "用户@例子.公司"}),
        ("cliente", {"email": "सम्पर्क@उदाहरण.भारत"}),
        ("cliente", {"email": "a@xn--80ak6aa92e.xn--p1ai"}),
        ("cliente", {"seuCodigo": "12E4"}),
        ("cliente", {"seuCodigo": "1.5E2"}),
        ("cliente", {"seuCodigo": "12E456"}),
        ("cliente", {"nomeComercial": "Ελληνική Ταβέρνα 👩\N{ZERO WIDTH JOINER}🍳 Ltda"}),
        ("cliente", {"nomeComercial": "Matriz\nFilial", "seuCodigo": "\N{ZERO WIDTH SPACE}"}),
        ("cliente", {"seuCodigo": "+1E5"}),
        ("cliente", {"seuCodigo": "Contrato nº 12, 2ª via"}),
        ("cliente", {"email": "o'neil+nf_e.1@sub.empresa-sul.com.br"}),
        ("cliente", {"email": "josé@padaria-são-joão.com.br"}),
        ("cliente", {"email": "a@xn--bcher-kva.com"}),
        (CR, {"codigoDoCentroDeCusto": 10}),
        (CR, {"valorDoLancamento": 0.1 + 0.2}),
        (CR, {"valorDoLancamento": 123_456_789.1 * 3}),
        (CR, {"dataDeEmissao": None}),
        (CR, {"dataDeVencimento": date(2026, 10, 1)}),
        (CP, SLIP | {"CodigoDeBarras": "00190.50095 40144.816069 06809.350314 3 37370000000100"}),
        (CP, SLIP | {"CodigoDeBarras": "00193373700000001000500940144816060680935031"}),
        (CP, {"valorDoLancamento": None}),
        (NFS, {"CodigoNBS": "1.1502.10.00", "ClassificacaoIBSCBS": "000001"}),
        (END, {"ativo": "Sim"}),
        (END, {"ativo": "FALSO"}),
        (END, {"ativo": None}),
        (END, {"ativo": "\u200bNa\N{COMBINING TILDE}o"}),
        (END, {"ativo": "ＳＩＭ"}),
    ],
)
def test_valid_cell_has_no_finding(
    tmp_path: Path, catalogue: Catalogue, resource: str, change: dict[str, object]
) -> None:
    path = write_records(tmp_path / "a.xlsx", resource, [change])
    assert validate_workbook(path, catalogue, resource=resource).findings == []


def test_code_masks_and_floating_point_noise_are_removed(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = write_records(tmp_path / "a.xlsx", "cliente", [{"cnpj": "12.abc.345/01de-35"}])
    assert validate_workbook(path, catalogue).frame["cnpj"].tolist() == ["12ABC34501DE35"]
    path = write_records(tmp_path / "b.xlsx", CR, [{"valorDoLancamento": 0.1 + 0.2}])
    assert validate_workbook(path, catalogue).frame["valorDoLancamento"].tolist() == [0.3]


@pytest.mark.parametrize("stored", [b"NaN", b"INF", b"1e400"])
def test_stored_nan_and_infinity_are_reported(
    tmp_path: Path, catalogue: Catalogue, stored: bytes
) -> None:
    good = write_records(tmp_path / "good.xlsx", CR, [{}])
    bad = tmp_path / "bad.xlsx"
    with zipfile.ZipFile(good) as parts, zipfile.ZipFile(bad, "w") as package:
        for name in parts.namelist():
            content = parts.read(name)
            package.writestr(name, content.replace(b"<v>10.5</v>", b"<v>%s</v>" % stored))
    validated = validate_workbook(bad, catalogue)
    assert [(f.cell, f.kind.code) for f in validated.findings] == [("I2", "type-number")]
    assert validated.frame["valorDoLancamento"].isna().all()


def test_a_repeated_document_names_the_first_cell(tmp_path: Path, catalogue: Catalogue) -> None:
    same = {"cnpj": "11222333000181"}
    path = write_records(tmp_path / "a.xlsx", "cliente", [{}, {"cnpj": None}, same])
    (finding,) = validate_workbook(path, catalogue).findings
    assert (finding.cell, finding.kind.code) == ("C4", "duplicate-in-sheet")
    assert "C2" in str(finding.message)


def test_a_last_row_with_only_a_formula_without_a_result_is_reported(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    rows = [{"descricaoDaCategoriaDeCliente": name} for name in ("Ouro", "Prata", "Bronze")]
    path = write_records(tmp_path / "c.xlsx", "categoriacliente", rows)
    book = openpyxl.load_workbook(path)
    book.worksheets[0]["A5"] = "=1"
    book.save(path)
    validated = validate_workbook(path, catalogue)
    last = [(f.cell, f.kind.code) for f in validated.findings if f.row == 5]
    assert last == [("A5", "formula-no-value")]


def test_repeated_rows_are_compared_by_all_keys(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_records(tmp_path / "a.xlsx", END, [{}, {"codigoDaSecao": "A-02"}, {}])
    (finding,) = validate_workbook(path, catalogue).findings
    assert (finding.cell, finding.kind.code, finding.details) == (
        "D4",
        "duplicate-in-sheet",
        {"first": "D2"},
    )


def test_other_dates_of_the_column_resolve_ambiguous_ones(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    changes = [{"dataDeVencimento": f"{day}/2026"} for day in ("31/12", "01/11", "30/11")]
    validated = validate_workbook(write_records(tmp_path / "a.xlsx", CR, changes), catalogue)
    assert {f.kind.code for f in validated.findings} == {"date-as-text"}
    assert [str(day.date()) for day in validated.frame["dataDeVencimento"]] == [
        "2026-12-31",
        "2026-11-01",
        "2026-11-30",
    ]


@pytest.mark.parametrize(
    ("reading", "expected"),
    [(ParseOptions(dates="dmy"), "2026-11-02"), (ParseOptions(dates="mdy"), "2026-02-11")],
)
def test_declared_order_resolves_ambiguous_dates(
    tmp_path: Path, catalogue: Catalogue, reading: ParseOptions, expected: str
) -> None:
    change = {"dataDeEmissao": None, "dataDeVencimento": "02/11/2026"}
    path = write_records(tmp_path / "a.xlsx", CR, [change])
    validated = validate_workbook(path, catalogue, reading=reading)
    assert validated.ok
    assert str(validated.frame["dataDeVencimento"][0].date()) == expected


@pytest.mark.parametrize(("numbers", "expected"), [("pt", 1234.0), ("en", 1.23)])
def test_declared_style_resolves_ambiguous_numbers(
    tmp_path: Path, catalogue: Catalogue, numbers: Any, expected: float
) -> None:
    text = "1.234" if numbers == "pt" else "1.230"
    path = write_records(tmp_path / "a.xlsx", CR, [{"valorDoLancamento": text}])
    validated = validate_workbook(path, catalogue, reading=ParseOptions(numbers=numbers))
    assert validated.ok
    assert validated.frame["valorDoLancamento"].tolist() == [expected]


def test_wrong_type_suppresses_other_rules_of_the_cell(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = write_records(tmp_path / "a.xlsx", CP, [{"ValorBruto": "cem", "historico": None}])
    validated = validate_workbook(path, catalogue)
    assert [f.kind.code for f in validated.findings] == ["required-missing", "type-number"]


def test_messages_format_numbers_by_language(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{"valorDoLancamento": "1.234"}])
    (finding,) = validate_workbook(path, catalogue).findings
    assert "1234 ou 1,234" in finding.message.pt
    assert "1234 or 1.234" in finding.message.en


@pytest.mark.parametrize(
    ("value", "reading", "words"),
    [
        ("31/04/2026", ParseOptions(), "no such day"),
        ("29/02/2025", ParseOptions(), "no such day"),
        ("2026-13-01", ParseOptions(), "no such day"),
        (45_000, ParseOptions(), "only needs the format of a date"),
        (timedelta(days=46_331), ParseOptions(), "only needs the format of a date"),
        (
            "02/13/2026",
            ParseOptions(dates="dmy"),
            "with --dates dmy; in the other one it would be 13/",
        ),
        (
            "31/12/2026",
            ParseOptions(dates="mdy"),
            "with --dates mdy; in the other one it would be 31/",
        ),
        ("amanhã", ParseOptions(), "This is not a date."),
        (12, ParseOptions(), "This is not a date."),
        (
            "31/12/0026",
            ParseOptions(),
            "This is not a date that is accepted: the year is before 1905.",
        ),
        ("1899-12-31", ParseOptions(), "the year is before 1905"),
    ],
)
def test_invalid_date_is_reported_with_the_reason(
    tmp_path: Path, catalogue: Catalogue, value: object, reading: ParseOptions, words: str
) -> None:
    path = tmp_path / "a.xlsx"
    write_records(path, CR, [{"dataDeVencimento": "x"}])
    book = openpyxl.load_workbook(path)
    book["Plan1"]["H2"] = value
    book["Plan1"]["H2"].number_format = "[h]:mm" if isinstance(value, timedelta) else "General"
    book.save(path)
    [finding] = validate_workbook(path, catalogue, reading=reading).findings
    assert finding.kind.code == "type-date"
    assert words in finding.message.en
    if isinstance(value, timedelta):
        assert finding.value == "1111944:00:00"


@pytest.mark.parametrize(
    ("column", "value", "style", "words"),
    [
        ("valorDoLancamento", "1.234,56", "en", "--numbers en; na outra seria 1234,56."),
        ("valorDoLancamento", "10.5", "pt", "--numbers pt; na outra seria 10,5."),
        ("codigoDoCliente", "1,001", "pt", "--numbers pt; na outra seria 1001."),
        ("valorDoLancamento", "dez", "pt", "Não é um número."),
        ("codigoDoCliente", "dez", None, "Não é um número inteiro."),
        (
            "codigoDoCliente",
            "1" * 16,
            None,
            "que caiba na célula: o Excel guarda só 15 algarismos.",
        ),
        ("valorDoLancamento", 1e20, None, "que caiba na célula: o Excel guarda só 15 algarismos."),
    ],
)
def test_invalid_number_is_reported_with_the_reason(
    tmp_path: Path, catalogue: Catalogue, column: str, value: object, style: Any, words: str
) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{column: value}])
    [finding] = validate_workbook(path, catalogue, reading=ParseOptions(numbers=style)).findings
    assert finding.kind.code == f"type-{'number' if column == 'valorDoLancamento' else 'integer'}"
    assert finding.message.pt.endswith(words)


def test_document_placeholders_are_not_duplicates(tmp_path: Path, catalogue: Catalogue) -> None:
    people = [{"natureza": "F", "cnpj": text, "cpf": None} for text in ("-", "-", "isento")]
    validated = validate_workbook(write_records(tmp_path / "a.xlsx", "cliente", people), catalogue)
    assert [(f.cell, f.kind.code) for f in validated.findings] == [
        ("C2", "document-placeholder"),
        ("C3", "document-placeholder"),
    ]
    assert validated.frame["cnpj"][2] == "isento"


def test_invisible_characters_are_shown_as_symbols(tmp_path: Path, catalogue: Catalogue) -> None:
    text = "R$\N{NO-BREAK SPACE}1.234,56"
    path = write_records(tmp_path / "a.xlsx", CR, [{"valorDoLancamento": text}])
    text = "\n".join(report_forms(Report([validate_workbook(path, catalogue)])).lines())
    assert "'R$␣1.234,56'" in text
    assert quoted("a\tb\n\u200b") == "'a⇥b↵⟨U+200B⟩'"
