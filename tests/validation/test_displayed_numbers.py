"""Numbers whose number format displays another value."""

from pathlib import Path

import pytest
import xlsxwriter
from openpyxl import Workbook
from sampling import across, every
from sheets import GOOD

from xlbridge.resources import Catalogue
from xlbridge.settings import ParseOptions
from xlbridge.validation import validate_workbook
from xlbridge.workbook.formats import displayed_number

RESOURCES = {
    "seuCodigo": "cliente",
    "telefone": "cliente",
    "cnpj": "cliente",
    "cpf": "cliente",
    "nomeComercial": "cliente",
    "dataDeEmissao": "contasreceber",
}


def written(path: Path, column: str, value: object, form: str, writer: str) -> Path:
    """Write a good record with an additional cell in a number format."""
    resource = RESOURCES.get(column, "nota-fiscal-servico")
    good = {name: known for name, known in GOOD[resource].items() if name != column}
    header, row = [*good, column], list(good.values())
    if writer == "openpyxl":
        book = Workbook()
        page = book.worksheets[0]
        page.append(header)
        page.append([*row, value])
        page.cell(2, len(header)).number_format = form
        book.save(path)
        return path
    with xlsxwriter.Workbook(path) as workbook:
        sheet = workbook.add_worksheet()
        sheet.write_row(0, 0, header)
        sheet.write_row(1, 0, row)
        sheet.write(1, len(row), value, workbook.add_format({"num_format": form}))
    return path


@pytest.mark.parametrize(
    ("column", "text"), [("codigoDoCliente", "1001."), ("valorDoLancamento", "1001.0.")]
)
def test_whole_number_is_reported_without_decimals(
    tmp_path: Path, catalogue: Catalogue, column: str, text: str
) -> None:
    good = {**GOOD["contasreceber"], column: "1001.0", "historico": "1,5"}
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as workbook:
        sheet = workbook.add_worksheet()
        sheet.write_row(0, 0, list(good))
        sheet.write_row(1, 0, list(good.values()))
    options = ParseOptions(numbers="en")
    validated = validate_workbook(tmp_path / "a.xlsx", catalogue, reading=options)
    (finding,) = [one for one in validated.findings if one.kind.code == "number-as-text"]
    assert finding.message.en.endswith(f"read as {text}")


WRITERS = ("openpyxl", "xlsxwriter")
SHOWN = [
    ("aliquotaISSRetido", 0.025, "0.00%", ["number-percent"]),
    ("aliquotaISSRetido", 0.025, "0%", ["number-percent"]),
    ("aliquotaISSRetido", 0.025, '0.0"%"', ["rate-fraction"]),
    ("aliquotaISSRetido", 0, "0", []),
    ("aliquotaISSRetido", 1, "0", []),
    ("aliquotaISSRetido", 2.5, "0.00", []),
    ("aliquotaISSRetido", "2,5", "0.00%", ["number-as-text"]),
    ("seuCodigo", 12, "00000", ["code-leading-zeros"]),
    ("seuCodigo", 12345, "00000", []),
    ("seuCodigo", 12, "0", []),
    ("seuCodigo", "00012", "00000", []),
    ("seuCodigo", 46, "00000_)", ["code-leading-zeros"]),
    ("seuCodigo", 4513, "000000;-000000", ["code-leading-zeros"]),
    ("seuCodigo", 0, "0;-0;0", []),
    ("seuCodigo", 4512, '"NF-"000000', ["code-shown-otherwise"]),
    ("seuCodigo", 45, "000\\-000", ["code-shown-otherwise"]),
    ("seuCodigo", 2, "0.00", ["code-shown-otherwise"]),
    (
        "seuCodigo",
        1001,
        '_-* #,##0.00_-;-* #,##0.00_-;_-* "-"??_-;_-@_-',
        ["code-shown-otherwise"],
    ),
    ("seuCodigo", 12, "#,##0", []),
    ("seuCodigo", 12, "#,##0_);[Red](#,##0)", []),
    ("seuCodigo", 1001, "#", []),
    ("seuCodigo", 1001, "[>999]#,##0;0", ["code-shown-otherwise"]),
    ("seuCodigo", 101, "[>999]#,##0;0", []),
    ("codigoDoServicoPrestado", 1001, "#,##0", ["code-shown-otherwise"]),
    ("codigoDoServicoPrestado", 201001, '0"."00"."000', ["code-shown-otherwise"]),
    ("codigoDoServicoPrestado", 1001, "0", []),
    ("cnpj", 11222333000181, '00"."000"."000"/"0000"-"00', []),
    ("cpf", 1234567890, "00000000000", ["code-leading-zeros"]),
    ("telefone", 11987654321, "(00) 00000-0000", []),
    ("valorDoServico", 1234567, "#,##0,", ["number-scaled"]),
    ("valorDoServico", 1234567, '"R$" #,##0.00', []),
    ("valorDoServico", 10.5, '_-"R$"\\ * #,##0.00_-;\\-"R$"\\ * #,##0.00_-', []),
    ("valorDoServico", 10.5, "[$R$-416] #,##0.00;[Red]-[$R$-416] #,##0.00", []),
    ("valorDoServico", 10.5, "[$-416]#,##0.00", []),
    ("valorDoServico", 10.5, "[$BRL] #,##0.00", []),
    ("valorDoServico", 10.5, '"$"#,##0.00', ["number-currency"]),
    ("valorDoServico", 10.5, "[$US$-409] #,##0.00", ["number-currency"]),
    ("valorDoServico", 10.5, "[$$-409]#,##0.00", ["number-currency"]),
    ("valorDoServico", 10.5, "[$$-en-US]#,##0.00", ["number-currency"]),
    ("valorDoServico", 10.5, "[$$-2C0A] #,##0.00", ["number-currency"]),
    ("valorDoServico", 10.5, "#,##0.00 [$€-407]", ["number-currency"]),
    ("valorDoServico", 10.5, '#,##0.00 "EUR"', ["number-currency"]),
    ("valorDoServico", 10.5, "\\U\\S\\$ #,##0.00", ["number-currency"]),
    ("valorDoServico", "10,50", "[$US$-409] #,##0.00", ["number-as-text"]),
    ("valorDoServico", -10.5, "[$USD] #,##0.00", ["number-currency", "value-range"]),
    ("aliquotaISSRetido", 2.5, '0.00 "EUR"', ["number-with-words"]),
    ("aliquotaISSRetido", 2.5, '0.00"%"', []),
    ("valorDoServico", 12.5, '0.00"%"', ["number-with-words"]),
    ("valorDoServico", 30, '0" dias"', ["number-with-words"]),
    ("valorDoServico", 100, "-0.00", ["number-shown-otherwise"]),
    ("valorDoServico", 100, '"-"#,##0.00', ["number-shown-otherwise"]),
    ("valorDoServico", 100, "(#,##0.00)", ["number-shown-otherwise"]),
    ("valorDoServico", 100, '"a combinar"', ["number-shown-otherwise"]),
    ("valorDoServico", 100, ";;;", ["number-shown-otherwise"]),
    ("valorDoServico", 100, '0"00"', ["number-shown-otherwise"]),
    ("valorDoServico", 1230, '00":"00', ["number-shown-otherwise"]),
    ("valorDoServico", 1234, '0"."00', ["number-shown-otherwise"]),
    ("valorDoServico", 1234, '0"."000', []),
    ("valorDoServico", 5000, '[<1000]0;"muito"', ["number-shown-otherwise"]),
    ("valorDoServico", 500, '[<1000]0;"muito"', []),
    ("valorDoServico", 46000, "[>50000]0;dd/mm/yyyy", ["number-shown-otherwise"]),
    ("valorDoServico", -5, "0.00;0.00", ["number-shown-otherwise"]),
    ("valorDoServico", -5, "0.00;[Red]0.00", ["value-range"]),
    ("valorDoServico", -5, "0.00_);(0.00)", ["value-range"]),
    ("nomeComercial", 123, '"NF "000000', ["text-shown-otherwise"]),
    ("nomeComercial", 12, "0%", ["text-shown-otherwise"]),
    ("nomeComercial", 12, "000000", ["text-shown-otherwise"]),
    ("nomeComercial", 12, '"Loja "000', ["text-shown-otherwise"]),
    ("nomeComercial", 100, "#,##0.00", ["text-shown-otherwise"]),
    ("nomeComercial", 100, ";;;", ["text-shown-otherwise"]),
    ("nomeComercial", 100, '0;"x"', []),
    ("nomeComercial", 1500, "#,##0", []),
    ("nomeComercial", 100, "0_);(0)", []),
    ("nomeComercial", "Aluguel", '@" de outubro"', ["text-shown-otherwise"]),
    ("nomeComercial", "Aluguel", ";;;", ["text-shown-otherwise"]),
    ("nomeComercial", "Aluguel", '0;0;0;"ver nota"', ["text-shown-otherwise"]),
    ("nomeComercial", "Aluguel", "_-@_-", []),
    ("nomeComercial", "Aluguel", "#,##0.00", []),
]


@pytest.mark.parametrize(("case", "writer"), across(SHOWN, WRITERS))
def test_displayed_value_that_differs_from_the_stored_one_is_reported(
    tmp_path: Path,
    catalogue: Catalogue,
    case: tuple[str, object, str, list[str]],
    writer: str,
) -> None:
    column, value, form, codes = case
    path = written(tmp_path / "a.xlsx", column, value, form, writer)
    validated = validate_workbook(path, catalogue, resource=RESOURCES.get(column))
    assert [finding.kind.code for finding in validated.findings] == codes


ORDINARY = (
    "General", "0", "0.00", "#,##0", "#,##0.00", "0.000", "#", "@", "# ?/?",
    "#,##0_);(#,##0)", "#,##0.00_);[Red](#,##0.00)", "#,##0.00;[Red]#,##0.00", "0;-0;;@",
    '_(* #,##0.00_);_(* \\(#,##0.00\\);_(* "-"??_);_(@_)', "#,##0.00;-#,##0.00;0.00",
    '_-"R$"\\ * #,##0.00_-;\\-"R$"\\ * #,##0.00_-;_-"R$"\\ * "-"??_-;_-@_-', '"R$" #,##0.00',
    "[$R$-416] #,##0.00", "[$R$-pt-BR]\\ #,##0.00", "R$ #,##0.00", "[$-416]#,##0.00",
    "[Blue]0.00;[Red]-0.00",
    '#,##0.00 "R$"', "#,##0.00\\ ;\\(#,##0.00\\);\\-#\\ ;@\\ ", "+0.00;-0.00",
)  # fmt: skip


@pytest.mark.parametrize("form", every(2, ORDINARY))
def test_ordinary_number_format_is_not_reported(
    tmp_path: Path, catalogue: Catalogue, form: str
) -> None:
    for value in (100, 10.5, 1234567.89):
        path = written(tmp_path / "a.xlsx", "valorDoServico", value, form, "openpyxl")
        assert list(validate_workbook(path, catalogue).findings) == []


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (100, "0.00E+00", None),
        (10.5, "##0.0E+0", None),
        (1230, "0.00E+00", None),
        (1234, "0.00E+00", "1.23E+03"),
        (1234567.89, "0.00E+00", "1.23E+06"),
        (123456, "##0.0E+0", "123.5E+03"),
    ],
)
def test_scientific_format_is_reported_if_it_hides_digits(
    tmp_path: Path, catalogue: Catalogue, value: float, form: str, shown: str | None
) -> None:
    path = written(tmp_path / "a.xlsx", "valorDoServico", value, form, "openpyxl")
    found = [
        (finding.kind.code, finding.details["shown"].en)
        for finding in validate_workbook(path, catalogue).findings
    ]
    assert found == ([] if shown is None else [("number-shown-otherwise", shown)])


DATES = [
    ("dd/mm/yyyy", None, None),
    ("d-mmm-yy", None, None),
    ("dd/mm/yyyy hh:mm", None, None),
    ('[$-416]d\\ "de" mmmm\\ "de"\\ yyyy', None, None),
    ("[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", None, None),
    ("m/d/yy h:mm AM/PM", None, None),
    ("mmm/yy", "date-shown-in-part", "the month and the year"),
    ("mmm-yy", "date-shown-in-part", "the month and the year"),
    ("dd/mm", "date-shown-in-part", "the day and the month"),
    ("yyyy", "date-shown-in-part", "the year"),
    ("dddd", "date-not-shown", None),
    ("hh:mm", "date-not-shown", None),
    ("h:mm AM/PM", "date-not-shown", None),
    ("mm:ss.0", "date-not-shown", None),
]


@pytest.mark.parametrize(("case", "writer"), across(DATES, WRITERS))
def test_partially_displayed_date_is_reported(
    tmp_path: Path,
    catalogue: Catalogue,
    case: tuple[str, str | None, str | None],
    writer: str,
) -> None:
    form, code, shown = case
    path = written(tmp_path / "a.xlsx", "dataDeEmissao", 46346, form, writer)
    validated = validate_workbook(path, catalogue)
    found = [
        (finding.kind.code, getattr(finding.details.get("shown"), "en", None))
        for finding in validated.findings
        if finding.column == "dataDeEmissao"
    ]
    assert found == ([] if code is None else [(code, shown)])


@pytest.mark.parametrize("amount", [999_999.99995, 99_999_999.994, 12_345.678])
def test_only_floating_point_noise_of_amounts_is_rounded(
    tmp_path: Path, catalogue: Catalogue, amount: float
) -> None:
    path = written(tmp_path / "a.xlsx", "valorDoServico", amount, "#,##0.00", "xlsxwriter")
    assert [f.kind.code for f in validate_workbook(path, catalogue).findings] == ["decimal-places"]
    noisy = round(amount, 2) * (1 + 5e-13)
    path = written(tmp_path / "b.xlsx", "valorDoServico", noisy, "#,##0.00", "xlsxwriter")
    assert list(validate_workbook(path, catalogue).findings) == []


def test_message_has_the_displayed_and_the_stored_value(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = written(tmp_path / "a.xlsx", "aliquotaISSRetido", 0.025, "0.00%", "xlsxwriter")
    (finding,) = validate_workbook(path, catalogue).findings
    assert "2.5%" in finding.message.en
    assert "0.025" in finding.message.en


@pytest.mark.parametrize(
    ("form", "value", "shown"),
    [
        ("0", 12, "12"),
        ("#,##0", 1234567, "1.234.567"),
        ("#,##0.00", 1001, "1.001,00"),
        ("0.0#", 5, "5,0"),
        ("000000", 45, "000045"),
        ('0"."00"."000', 201001, "2.01.001"),
        ('"NF-"000000', 4512, "NF-004512"),
        ("000\\-000", 45, "000-045"),
        ("0%", 45, "4500%"),
        ("#,##0,", 1234567, "1.235"),
        ("[$R$-416] #,##0", 1001, "R$ 1.001"),
        ("[Red]0", 7, "7"),
        ("0.00E+00", 1001, "1,00E+03"),
        (";;;", 7, ""),
        ("0;-0;;@", 0, ""),
        ('General" kg"', 7, "7 kg"),
        ("# ?/?", 7, "7"),
        ("[<100]0;#,##0", 7, "7"),
        ("[<100]0;#,##0", 1234, "1.234"),
        ("0.00", -1.5, "-1,50"),
        ("0.00;(0.00)", -1.5, "(1,50)"),
        ("0.00;[Red]0.00", -1.5, "1,50"),
        ("-0.00", 100, "-100,00"),
        (";;;", 100, ""),
        ('"a combinar"', 100, "a combinar"),
        ("General", 0.1, "0,1"),
        ("dd/mm/yyyy", 46000, None),
        (f"0.{'0' * 30}", 0.5, f"0,5{'0' * 29}"),
        (f"0.{'0' * 30}", 1e300, f"1{'0' * 300},{'0' * 30}"),
        (f"{'0' * 40}E+0", 1e35, f"1{'0' * 35}E+00"),
    ],
)
def test_number_is_displayed_in_its_format(form: str, value: int, shown: str | None) -> None:
    text = displayed_number(form, value)
    assert (None if text is None else text.pt) == shown
