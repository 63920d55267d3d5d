"""Cells as analysts' programs write them, with what their authors meant."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from functools import cache
from typing import Any

from sheets import ErrorCell, Formula
from truth import REFUSED, AnyOf, Case, Formatted

_CR, _CLIENT, _NFS, _CP, _PLACE = (
    "contasreceber",
    "cliente",
    "nota-fiscal-servico",
    "contaspagar",
    "enderecamento-de-produto",
)


def numbers_by_format() -> Iterator[Case]:
    """Numbers whose format may show another number than would be sent."""
    amounts = [
        (1234.5, "#,##0.00", 1234.5), (1234.5, '"R$" #,##0.00', 1234.5),
        (1234.5, "General", 1234.5),
        (1234.5, "0", 1234.5), (1234.5, "[$R$-416] #,##0.00", 1234.5), (100, "@", 100),
        (100, "0.00E+00", 100), (100, "[Red]#,##0.00", 100), (100, "_-* #,##0.00_-", 100),
        (100, "#", 100), (100, "00000.00", 100), (100, "#,##0.00;(#,##0.00)", 100),
        (100, "-#,##0.00", REFUSED), (100, "(#,##0.00)", REFUSED), (100, '"a combinar"', REFUSED),
        (100, ";;;", REFUSED), (100, '0" dias"', REFUSED), (0.125, "0.00%", REFUSED),
        (12.5, '0.00"%"', REFUSED), (100, "$#,##0.00", REFUSED),
        (100, "[$US$-409]#,##0.00", REFUSED),
        (100, "[$€-407] #,##0.00", REFUSED), (100, '#,##0.00 "EUR"', REFUSED),
        (100, "£#,##0.00", REFUSED), (100, "¥0", REFUSED), (1234567, "#,##0,", REFUSED),
        (1234567, '0.0,,"M"', REFUSED), (45000, "dd/mm/yyyy", REFUSED),
        (45000.5, "dd/mm/yyyy hh:mm", REFUSED), (0.5, "hh:mm", REFUSED), (100, '"x"0', REFUSED),
        (100, '0"0"', REFUSED), (100, '0.00"-"', REFUSED), (100, '[<1000]"pouco";0.00', REFUSED),
        (999999.99995, "#,##0.00", REFUSED), (0.004, "0.00", REFUSED), (10.005, "0.00", REFUSED),
        (1e12, "#,##0.00", REFUSED), (999999999999.99, "#,##0.00", 999999999999.99),
        (100, '0,"mil"', REFUSED), (100, "mmm", REFUSED), (100, "[h]:mm", REFUSED),
        (100, "[$R$ -416]#,##0.00", 100), (100, "[$R$\u00a0-416]0.00", 100),
        (100, '0.00" D"', REFUSED), (100, '#,##0.00_);[Red]"-"#,##0.00', 100),
        (1234567.89, "0.00E+00", REFUSED), (12345, "##0.0E+0", REFUSED),
        (-100, "#,##0.00;#,##0.00", REFUSED), (0, '0;0;"zero"', REFUSED),
    ]  # fmt: skip
    for value, form, meant in amounts:
        yield _formatted(_CR, "valorDoLancamento", value, form, meant)
    integers = [
        (1001, "0", 1001), (1001, "#,##0", 1001), (1001, "General", 1001), (1001, "00000", 1001),
        (10, "0%", REFUSED), (1001, '"C-"0', REFUSED), (1001, "0,", REFUSED), (1001, "-0", REFUSED),
        (1001, ";;;", REFUSED), (1001, "dd/mm/yyyy", REFUSED), (1001, '"x"', REFUSED),
        (1001.4, "0", REFUSED), (1001, "hh:mm", REFUSED), (1001, '0"1"', REFUSED),
        (1001, "0.00", 1001), (1001, '"Nº "0', AnyOf((1001,))), (1001, "(0)", REFUSED),
        (1e15, "0", REFUSED), (0.9999999999, "0", REFUSED), (1001, '0" un"', REFUSED),
    ]  # fmt: skip
    for value, form, meant in integers:
        yield _formatted(_CR, "codigoDoCliente", value, form, meant)
    rates = [
        (0.025, "0.0%", REFUSED), (2.5, '0.0"%"', 2.5), (2.5, "0.00", 2.5), (2.5, "0", 2.5),
        (2.5, ";;;", REFUSED), (2.5, "-0.0", REFUSED), (2.5, '0.0" dias"', REFUSED),
        (2500, "0,", REFUSED), (2.5, "dd/mm/yyyy", REFUSED), (2.1234567, "0.0000000", REFUSED),
        (2.5, '"isento"', REFUSED), (0.5, "hh:mm", REFUSED), (2.5, "General", 2.5),
        (2.5, '0.0"‰"', REFUSED), (2.5, "(0.0)", REFUSED), (101, "0", REFUSED),
    ]  # fmt: skip
    for value, form, meant in rates:
        yield _formatted(_NFS, "aliquotaISSRetido", value, form, meant)
    november = date(2026, 11, 1)
    days = [
        (46327, "dd/mm/yyyy", november), (46327, "d-mmm-yy", november),
        (46327, "yyyy-mm-dd", november),
        (46327, "mm/dd/yyyy", november), (46327, "dd/mm", november), (46327, "mmmm yyyy", november),
        (46327, '[$-416]d" de "mmmm" de "yyyy', november), (46327.75, "dd/mm/yyyy", november),
        (46327.75, "dd/mm/yyyy hh:mm", november), (20261101, "0", REFUSED), (2026, "0", REFUSED),
        (1, "dd/mm/yyyy", REFUSED), (0, "dd/mm/yyyy", REFUSED), (-1, "0", REFUSED),
        (60, "dd/mm/yyyy", REFUSED), (46327, '"sem data"', REFUSED), (46327, ";;;", REFUSED),
        (46327, "hh:mm", REFUSED), (2958466, "dd/mm/yyyy", REFUSED), (0.5, "hh:mm", REFUSED),
        (46327, "0", AnyOf((november,))), (46327, "#,##0.00", AnyOf((november,))),
        (46344, "mmm/yy", REFUSED), (46344, "dd/mm", REFUSED), (46344, "dddd", REFUSED),
        (1e10, "0", REFUSED), (46327, "yyyy", november), (46327.9999999, "dd/mm/yyyy", november),
    ]  # fmt: skip
    for value, form, meant in days:
        yield _formatted(_CR, "dataDeVencimento", value, form, meant)
    texts = [
        (4512, '"NF "000000', REFUSED), (0.1, "0%", REFUSED), (4512, "000000", REFUSED),
        (3, '"Loja "000', REFUSED), (1234.5, "#,##0.00", REFUSED), (46327, "dd/mm/yyyy", REFUSED),
        (46327.5, "hh:mm", REFUSED), (12, "General", "12"), (12, "0", "12"),
        (1e21, "General", REFUSED),
        (123456789012, "0", "123456789012"),
        (0.30000000000000004, "General", AnyOf(("0.3", "0,3"))),
        (12.5, "General", AnyOf(("12.5", "12,5"))), (12, ";;;", REFUSED), (12, "-0", REFUSED),
        (100, '"R$" 0.00', REFUSED), (7, '0" de julho"', REFUSED), (12.6, "0", REFUSED),
        (5, "0°", REFUSED), (12, "@", "12"),
    ]  # fmt: skip
    for value, form, meant in texts:
        yield _formatted(_CR, "historico", value, form, meant)


def _formatted(resource: str, column: str, value: float, form: str, meant: Any) -> Case:
    return Case("cell", f"{value!r} as {form}", resource, column, Formatted(value, form), meant)


def text_dates() -> Iterator[Case]:
    """Dates stored as text, alone in their column or with others."""
    christmas, november = date(2026, 12, 25), date(2026, 11, 5)
    alone = [
        ("25/12/2026", christmas), ("12/25/2026", christmas), ("05/11/2026", REFUSED),
        ("2026-11-05", november), ("2026/11/05", november), ("25.12.2026", christmas),
        ("25-12-2026", christmas), ("25 de dezembro de 2026", christmas),
        ("25/dez/2026", christmas),
        ("06-nov-2026", date(2026, 11, 6)), ("25/12/26", christmas), ("05/11/26", REFUSED),
        ("31/02/2026", REFUSED), ("2026-02-30", REFUSED), ("20261225", christmas),
        ("25/12/2026 14:30", christmas), ("2026-12-25T23:30:00Z", christmas),
        ("2026-12-25T23:30:00-03:00", christmas), ("25/12/2026 24:00", REFUSED),
        ("12/2026", REFUSED), ("dez/2026", REFUSED), ("hoje", REFUSED), ("25/12/2026.", christmas),
        ("25/12/ 2026", christmas), ("25//12/2026", REFUSED), ("O1/12/2026", REFUSED),
        ("46327", REFUSED), ("25/12/0026", REFUSED), ("25/12/20226", REFUSED),
        ("25/12/1926", REFUSED),
        ("05.11.2026", REFUSED), ("5/11/2026", REFUSED), ("a vista", REFUSED), ("30 dias", REFUSED),
        ("25/12/2026 a 31/12/2026", REFUSED), ("sex, 25/12/2026", christmas),
        ("25122026", christmas),
        ("00/00/0000", REFUSED), ("1/13/2026", date(2026, 1, 13)), ("Dec 25, 2026", christmas),
        ("25\u00a0/12/2026", christmas), ("２５/１２/２０２６", christmas),
        ("1º/12/2026", date(2026, 12, 1)), ("1°/10/2026", date(2026, 10, 1)),
        ("1º/13/2026", REFUSED), ("10º/12/2026", REFUSED),
        ("25/12/2026Z", christmas), ("2026-12-25T00:00:00Z", REFUSED),
    ]  # fmt: skip
    for text, meant in alone:
        yield _text(_CR, "dataDeVencimento", text, meant)
    brazilian = ("25/11/2026", "27/11/2026", "30/11/2026", "28/11/2026")
    few = ("03/12/2026", "07/10/2026", "08/11/2026")
    in_context = [
        ("one Brazilian text decides nothing", "05/11/2026", ("25/11/2026",), REFUSED),
        ("one American text decides nothing", "05/11/2026", (*few, "10/30/2026"), REFUSED),
        ("many Brazilian ones decide", "05/11/2026", brazilian, november),
        ("both ways in one column", "05/11/2026", (*brazilian, "11/30/2026"), AnyOf((november,))),
        ("a real date beside texts over 12", date(2026, 5, 11),
         ("25/11/2026", "30/11/2026", "28/11/2026", date(2026, 4, 11), date(2026, 6, 11)), REFUSED),
        ("ISO beside ambiguous", "05/11/2026", ("2026-11-25", "2026-11-26"), REFUSED),
        ("a short year beside full ones", "25/12/26", brazilian, christmas),
        ("some seconds before midnight", datetime(2026, 11, 4, 23, 59, 32),
         tuple(datetime(2026, 11, day, 23, 59, 32) for day in (5, 9, 20)), november),
        ("a text before midnight", "2026-11-04 23:59:17",
         ("2026-11-08 23:59:17", "2026-11-10 23:59:17"), november),
        ("the end of a day", datetime(2026, 11, 5, 23, 59, 59),
         (datetime(2026, 11, 6, 23, 59, 59),), november),
        ("a time before midnight beside others", datetime(2026, 11, 5, 23, 59, 32),
         (datetime(2026, 11, 6, 14, 30),), november),
        ("a year thirty years away", date(2056, 11, 5), (date(2026, 11, 5),), REFUSED),
        ("a year thirty years ago", date(1996, 11, 5), (date(2026, 11, 5),), REFUSED),
    ]  # fmt: skip
    for name, cell, column_cells, meant in in_context:
        yield Case("cell", name, _CR, "dataDeVencimento", cell, meant, column_cells=column_cells)


def text_numbers() -> Iterator[Case]:
    """Amounts, integers and rates stored as text."""
    amounts = [
        ("1.234", REFUSED), ("1,234", REFUSED), ("1.234,56", 1234.56), ("1,234.56", 1234.56),
        ("1234,56", 1234.56), ("1234.56", 1234.56), ("12,5", 12.5), ("12.5", 12.5),
        ("R$ 1.234,56", 1234.56), ("(100,00)", REFUSED), ("-100,00", REFUSED), ("100-", REFUSED),
        ("100 D", REFUSED), ("100C", REFUSED), ("1 234,56", 1234.56), ("1'234.56", 1234.56),
        ("1.234.567", 1234567), ("1,2,3", REFUSED), ("100%", REFUSED), ("US$ 100", REFUSED),
        ("€ 100,00", REFUSED), ("1e3", AnyOf((1000,))), ("½", REFUSED),
        ("100,00 reais", AnyOf((100,))),
        ("cem", REFUSED), ("100,005", REFUSED), ("١٢٣", REFUSED), ("１２３", 123), ("1O0", REFUSED),
        ("l00", REFUSED), ("100..00", REFUSED), ("+100", 100), ("0x10", REFUSED),
        ("1_000", REFUSED),
        ("NaN", REFUSED), ("inf", REFUSED), ("Infinity", REFUSED), ("-", REFUSED),
        ("12:30", REFUSED),
        ("1/2", REFUSED), ("10.000,00", 10000), ("10,000.00", 10000), ("10,00", 10), ("10.00", 10),
        ("1234.5600", 1234.56), ("1.23.456", REFUSED), ("12.34,56", REFUSED), ("mil", REFUSED),
        ("100,00*", REFUSED), ("100,00 (2x)", REFUSED), ("2x50,00", REFUSED),
        ("1.000.000,00", 1000000),
        ("0,00", REFUSED), ("1000000000000,00", REFUSED), ("a combinar", REFUSED),
        ("10,0 0", REFUSED),
        ("−100,00", REFUSED), ("R$1.234", REFUSED), ("000000001050", REFUSED),
        ("0010,50", 10.5), ("1\u202f234,56", 1234.56),
    ]  # fmt: skip
    for text, meant in amounts:
        yield _text(_CR, "valorDoLancamento", text, meant)
    integers = [
        ("1001", 1001), ("1.001", AnyOf((1001,))), ("1,001", REFUSED), ("1001.0", 1001),
        ("1001,00", 1001), ("1e3", AnyOf((1000,))), ("01001", 1001), ("+1001", 1001),
        ("-1001", REFUSED), ("1001a", REFUSED), ("10 01", AnyOf((1001,))), ("MATRIZ", REFUSED),
        ("1001/1", REFUSED), ("1001-2", REFUSED), ("#1001", REFUSED), ("1001;1002", REFUSED),
        ("I00I", REFUSED), ("٣", REFUSED), ("1001.5", REFUSED), ("Ⅳ", REFUSED), ("²", REFUSED),
    ]  # fmt: skip
    for text, meant in integers:
        yield _text(_CR, "codigoDoCliente", text, meant)
    in_context = [
        ("a point beside a decimal point", "1.234", ("12.5",), REFUSED),
        ("one Brazilian amount beside a point", "1.234", ("1.234,56",), REFUSED),
        ("a decimal point beside a point", "12.5", ("1.234",), AnyOf((12.5,))),
        ("a comma beside Brazilian amounts", "1,234", ("1.234,56", "2.345,67"), REFUSED),
        ("a point beside Brazilian amounts", "1.234", ("1.234,56", "2.345,67", "9,90"), 1234),
        ("Brazilian and American ones", "1.234", ("1.234,56", "1,234.56"), REFUSED),
    ]
    for name, cell, column_cells, meant in in_context:
        yield Case("cell", name, _CR, "valorDoLancamento", cell, meant, column_cells=column_cells)


def odd_types() -> Iterator[Case]:
    """Values of another kind than the column's, errors and formulas."""
    moment = datetime(2026, 11, 5, 10, 30)
    cells = [
        ("codigoDoCliente", True, REFUSED), ("codigoDoCliente", date(2026, 1, 2), REFUSED),
        ("codigoDoCliente", 1001.5, REFUSED), ("valorDoLancamento", True, REFUSED),
        ("valorDoLancamento", date(2026, 1, 2), REFUSED), ("valorDoLancamento", -100, REFUSED),
        ("valorDoLancamento", 0, REFUSED), ("dataDeVencimento", True, REFUSED),
        ("dataDeVencimento", moment, date(2026, 11, 5)), ("codigoDoCliente", 0, REFUSED),
        ("codigoDoCliente", 1e300, REFUSED), ("valorDoLancamento", 1e300, REFUSED),
        ("valorDoLancamento", 1e-300, REFUSED), ("valorDoLancamento", 12345678901234.56, REFUSED),
    ]  # fmt: skip
    for column, cell, meant in cells:
        yield Case("cell", repr(cell), _CR, column, cell, meant)
    for error in ("#N/A", "#REF!", "#DIV/0!", "#VALUE!", "#NUM!", "#NAME?", "#NULL!"):
        for column in ("historico", "valorDoLancamento", "dataDeVencimento", "idws"):
            yield Case("cell", f"error {error}", _CR, column, ErrorCell(error), REFUSED)
    for column in ("historico", "valorDoLancamento", "dataDeVencimento", "codigoDoCliente"):
        yield Case("cell", "no result", _CR, column, Formula("=1+1"), REFUSED)
    booleans = [
        (True, True), (False, False), ("VERDADEIRO", True), ("FALSO", False), ("sim", True),
        ("Sim", True), ("não", False), ("N", False), ("S", True), ("true", True), ("FALSE", False),
        (1, True), (0, False), ("1", True), ("0", False), (2, REFUSED), (-1, REFUSED),
        ("x", REFUSED),
        ("talvez", REFUSED), ("✓", REFUSED), (0.5, REFUSED), ("ativo", AnyOf((True,))),
        ("inativo", AnyOf((False,))), ("-", REFUSED), (date(2026, 1, 2), REFUSED),
        ("V", AnyOf((True,))),
        ("F", AnyOf((False,))), ("ok", REFUSED),
    ]  # fmt: skip
    for cell, meant in booleans:
        yield Case("cell", repr(cell), _PLACE, "ativo", cell, meant)


def codes() -> Iterator[Case]:
    """Codes: lost zeros, lost points, numbers of data frames, two spellings of one."""
    zeros = tuple(f"{n:05}" for n in range(1, 30))
    points = tuple(f"1.01.{n:03}" for n in range(1, 30))
    letters = tuple(f"NF-{n:06}" for n in range(1, 30))
    columns = ((_CR, "numeroDoDocumento"), (_CLIENT, "seuCodigo"), (_CR, "codigoDoCentroDeCusto"))
    for resource, column in columns:
        for cell, meant in (
            ("4512.0", REFUSED), ("4512,00", REFUSED), ("1,2E+13", REFUSED), ("4.5123E10", REFUSED),
            (4512, "4512"), (4512.5, REFUSED), (1e15, REFUSED),
            (123456789012345, "123456789012345"),
            (True, REFUSED), (date(2026, 2, 1), REFUSED), ("A-1 ", "A-1"), ("A\u200b-1", "A-1"),
            ("А-1", REFUSED), ("'00123", REFUSED), ("A\u00ad-1", "A-1"), ("#N/D", REFUSED),
            (Formatted(123, "00000"), REFUSED), (Formatted(1001, "0.00"), REFUSED),
            (Formatted(1001, '"C"0'), REFUSED), (Formatted(0.5, "0%"), REFUSED),
            (Formatted(1001, ";;;"), REFUSED),
            ("-", REFUSED), ("N/A", REFUSED), ("null", REFUSED), ("nan", REFUSED),
            ("None", REFUSED),
            ("1.0E+05", REFUSED), ("00123", "00123"), ("A 1", "A 1"), ("\ufeffA1", "A1"),
            ("ＡＢ１", AnyOf(("AB1",))),
        ):  # fmt: skip
            yield Case("cell", repr(cell), resource, column, cell, meant, alone=True)
        for name, cell, column_cells in (
            ("a number among zeros", 200, zeros),
            ("a longer text among zeros", "200", zeros),
            ("a number that lost its points", 1001, points),
            ("a text that lost its points", "1001", points),
            ("a number among letters", 12, letters),
            ("a text of another shape among letters", "12", letters),
            ("a date among points", date(2026, 1, 1), points),
        ):
            yield Case("cell", name, resource, column, cell, REFUSED, column_cells=column_cells)
    for resource, column in ((_CR, "idws"), (_CLIENT, "seuCodigo")):
        yield Case(
            "cell", "CLI-1 and cli-1", resource, column, "cli-1", REFUSED, column_cells=("CLI-1",)
        )


def documents() -> Iterator[Case]:
    """CNPJ and CPF: with lost zeros, exchanged, or not fitting the nature."""
    cpf = {"natureza": "F", "cnpj": None}
    company = [
        ("11.222.333/0001-81", "11222333000181"), ("11222333000181", "11222333000181"),
        (11222333000181, "11222333000181"), (191, REFUSED), ("191", REFUSED),
        ("529.982.247-25", REFUSED), ("52998224725", REFUSED), (52998224725, REFUSED),
        ("00000000000000", REFUSED), ("11111111111111", REFUSED),
        ("12.ABC.345/01DE-35", "12ABC34501DE35"),
        ("12.abc.345/01de-35", "12ABC34501DE35"), ("11.222.333/0001-82", REFUSED),
        ("11.222.333/OOO1-81", REFUSED), ("11.222.333/0001-8", REFUSED),
        (1.1222333000181e13, "11222333000181"),
        ("1,1222E+13", REFUSED), ("11 222 333 0001 81", "11222333000181"), ("ISENTO", REFUSED),
        ("11.222.333/0001-81 / 11.444.777/0001-61", REFUSED),
        (Formatted(11222333000181, '00"."000"."000"/"0000-00'), "11222333000181"),
    ]  # fmt: skip
    for cell, meant in company:
        yield _document("cnpj", cell, meant, {"natureza": "J"})
    person = [
        ("529.982.247-25", "52998224725"), ("52998224725", "52998224725"),
        (52998224725, "52998224725"),
        ("11.222.333/0001-81", REFUSED), ("11222333000181", REFUSED), ("111.111.111-11", REFUSED),
        ("529.982.247-26", REFUSED), (12345678909, "12345678909"), (191, REFUSED),
        ("1234567890", REFUSED),
        (Formatted(1234567890, "00000000000"), REFUSED),
        ("000.000.001-91", AnyOf(("00000000191",))),
    ]  # fmt: skip
    for cell, meant in person:
        yield _document("cpf", cell, meant, cpf)
    cnpj = {"natureza": "J", "cnpj": None}
    yield _document("cpf", "529.982.247-25", REFUSED, cnpj, "a CPF under natureza J")
    person_row = {"natureza": "F"}
    yield _document("cnpj", "11.222.333/0001-81", REFUSED, person_row, "a CNPJ under natureza F")


def _document(
    column: str, cell: Any, meant: Any, row_cells: dict[str, Any], name: str = ""
) -> Case:
    # A mask may stay or go: what counts are the digits, which the payload has alone.
    if isinstance(meant, str):
        meant = AnyOf((meant, _masked(meant)))
    return Case(
        "cell", name or repr(cell), _CLIENT, column, cell, meant, alone=True, row_cells=row_cells
    )


def _masked(digits: str) -> str:
    if len(digits) == 11:
        return f"{digits[:3]}.{digits[3:6]}.{digits[6:9]}-{digits[9:]}"
    return f"{digits[:2]}.{digits[2:5]}.{digits[5:8]}/{digits[8:12]}-{digits[12:]}"


def free_texts() -> Iterator[Case]:
    """Texts with invisible characters, wrong encodings and placeholders."""
    texts = [
        ("\u2800", REFUSED), ("\u3164", REFUSED), ("\u115f", REFUSED), ("\u200b\u200b", REFUSED),
        ("Ana\u200bMaria", "AnaMaria"), ("\ue000 Ana", "\ue000 Ana"),
        ("Ana\u00a0Maria", "Ana Maria"),
        ("Ana \ufffd", REFUSED), ("PadÃ£o", REFUSED), ("Pães &amp; Cia", REFUSED),
        ("#N/D", REFUSED),
        ("#REF!", REFUSED), ("=SOMA(A1)", "=SOMA(A1)"), ("+55 11", "+55 11"), ("-", REFUSED),
        ("N/A", REFUSED), ("null", REFUSED), ("NULL", REFUSED), ("nan", REFUSED), ("None", REFUSED),
        ("NaT", REFUSED), ("#NULO!", REFUSED), ("a\nb", "a\nb"), ("a\tb", AnyOf(("a\tb", "a b"))),
        ("A" * 501, REFUSED), ("Ana 😀", "Ana 😀"), ("Joa\u0303o", AnyOf(("João", "Joa\u0303o"))),
        (" Ana ", "Ana"), ("Ana  Maria", AnyOf(("Ana  Maria", "Ana Maria"))),
        ("\u202eanA", REFUSED),
        ("An\u00ada", "Ana"), ("'texto", AnyOf(("'texto", "texto"))), ("_x0041_", "_x0041_"),
        ("<b>Ana</b>", "<b>Ana</b>"),
        ('"Ana"', '"Ana"'), ("João & Maria", "João & Maria"), ("PADARIA АURORA", REFUSED),
        ("ﬁm", AnyOf(("fim", "ﬁm"))), ("a\\nb", "a\\nb"), ("undefined", REFUSED),
        ("(vazio)", REFUSED), ("Jo%C3%A3o", REFUSED), ("S\\u00e3o Paulo", REFUSED),
        ("Jos=C3=A9", REFUSED),
        ("https://a.b/%C3%A3", "https://a.b/%C3%A3"),
        ("Manuten??o", REFUSED), ("S?o Paulo", REFUSED), ("?gua", REFUSED),
        ("Cart?o de cr?dito", REFUSED), ("Loading...", REFUSED), ("Carregando...", REFUSED),
        ("[object Object]", REFUSED), ("\\N", REFUSED), ('=DISPIMG("ID_1",1)', REFUSED),
        ("[NULL]", REFUSED), ("Pago?", "Pago?"), ("https://a.b/?x=y", "https://a.b/?x=y"),
        ("\u2060Ana", "Ana"), ("Ana\u0000"[:3], "Ana"), ("123", "123"), ("1.234,56", "1.234,56"),
        ("VERDADEIRO", "VERDADEIRO"), ("25/12/2026", "25/12/2026"), ("\ue000", REFUSED),
    ]  # fmt: skip
    for text, meant in texts:
        yield _text(_CR, "historico", text, meant, alone=False)
    for text, meant in (
        ("J", "J"), ("j", "J"), ("PJ", REFUSED), ("Jurídica", AnyOf(("J",))), ("J ", "J"),
        ("Ｊ", AnyOf(("J",))), ("Ј", REFUSED), ("?", REFUSED),
    ):  # fmt: skip
        yield _text(_CLIENT, "natureza", text, meant, alone=False)
    for text, meant in (
        ("a@b.com.br", "a@b.com.br"), ("a@b", REFUSED),
        ("A@B.COM.BR", AnyOf(("A@B.COM.BR", "a@b.com.br"))),
        ("a@b.com;c@d.com", REFUSED), ("mailto:a@b.com", REFUSED), ("a b@c.com", REFUSED),
        ("a@b..com", REFUSED), ("nao tem", REFUSED),
    ):  # fmt: skip
        yield _text(_CLIENT, "email", text, meant, alone=False)
    slip = "00191111100000100001111111111111111111111111"
    yield _text(_CP, "CodigoDeBarras", slip[:43], REFUSED)
    yield Case("cell", "a slip as a number", _CP, "CodigoDeBarras", 1.9e42, REFUSED, alone=True)


def _text(resource: str, column: str, text: str, meant: Any, *, alone: bool = True) -> Case:
    return Case("cell", repr(text), resource, column, text, meant, alone=alone)


@cache
def cell_cases() -> Sequence[Case]:
    """Return all cases."""
    makers = (
        numbers_by_format, text_dates, text_numbers, odd_types, codes, documents, free_texts,
    )  # fmt: skip
    return [case for make in makers for case in make()]
