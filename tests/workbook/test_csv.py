"""Files of .csv: delimiter, encoding and decimals are detected and reported, or requested."""

from collections.abc import Callable
from pathlib import Path

import pytest

from xlbridge.cli.main import main
from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.resources import Catalogue
from xlbridge.settings import CsvForm, WorkbookLimits
from xlbridge.validation import validate_workbook
from xlbridge.workbook.read import WorkbookCells, read_workbook

Writer = Callable[[bytes], Path]


@pytest.fixture
def csv_file(tmp_path: Path) -> Writer:
    def write(content: bytes) -> Path:
        path = tmp_path / "contas.csv"
        path.write_bytes(content)
        return path

    return write


def rows(workbook: WorkbookCells) -> list[list[object]]:
    (cells,) = workbook.sheets
    return [cells.row(position) for position in range(cells.height)]


def format_description(workbook: WorkbookCells) -> str:
    assert workbook.read_as is not None
    return workbook.read_as.pt


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_encoding_and_delimiter_are_reported(
    csv_file: Writer, encoding: str, delimiter: str
) -> None:
    lines = [["codigo", "ação", "nº"], ["007", "São José", "1º"], ["", "“x”", "—"]]
    text = "".join(delimiter.join(line) + "\r\n" for line in lines)
    read = read_workbook(csv_file(text.encode(encoding)), WorkbookLimits())
    assert rows(read) == lines
    name = {"utf-8-sig": "UTF-8", "cp1252": "Windows-1252", "utf-16-le": "UTF-16"}
    assert name.get(encoding, encoding.upper()) in format_description(read)
    assert ("tabulação" if delimiter == "\t" else f"({delimiter})") in format_description(read)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a;b\r\n1,5;2\r\n3,5;4\r\n", [["a", "b"], ["1,5", "2"], ["3,5", "4"]]),
        (b"a;b\n1,5;2,25\n3,5;4,75\n", [["a", "b"], ["1,5", "2,25"], ["3,5", "4,75"]]),
        (b"sep=,\r\na,b\r\n1;2,3\r\n", [["a", "b"], ["1;2", "3"]]),
        (b'a;b\n"x\ny;""z""";1\n', [["a", "b"], ['x\ny;"z"', "1"]]),
        (b'a;b\n="007";5" cano\n', [["a", "b"], ["007", '5" cano']]),
        (b"a;b\n\n1;2\n\n\n", [["a", "b"], ["", ""], ["1", "2"]]),
        (
            b"Relat\xf3rio\n\na;b;c\n1;2;3\n4;5;6\n",
            [["Relatório", "", ""], ["", "", ""], *["abc", "123", "456"]],
        ),
        (
            b"a;b;c\n1;2\n3;4;5\n6;7;8\n9;10;11\n12;13;14\n",
            [
                [*"abc"],
                ["1", "2", ""],
                ["3", "4", "5"],
                ["6", "7", "8"],
                ["9", "10", "11"],
                ["12", "13", "14"],
            ],
        ),
        (b"nome\nPadaria, Estrela\n", [["nome"], ["Padaria, Estrela"]]),
        (b"a;b\r1;2\r", [["a", "b"], ["1", "2"]]),
    ],
    ids=[
        "comma in numbers",
        "two commas",
        "sep line",
        "quoted",
        "kept as text",
        "blank lines",
        "title",
        "ragged",
        "one column",
        "old Mac",
    ],
)
def test_csv_rows_are_read_like_in_excel(
    csv_file: Writer, content: bytes, expected: list[object]
) -> None:
    read = read_workbook(csv_file(content), WorkbookLimits())
    assert rows(read) == [list(row) for row in expected]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a;b,c\n1;2,3\n", ["--delimiter", "ponto e vírgula (;) e vírgula (,)"]),
        (b"a;b,c\n1\n2\n3\n", ["--delimiter", "nenhum"]),
        ("a;b\nS\u00e3o;\u00e7\n".encode("cp850"), ["--encoding", "linha 2"]),
        ("SITUA\u00c7\u00c3O;b\n1;2\n".encode("cp850"), ["--encoding", "linha 1"]),
        (b"a;b\nS\xc3\xa3o;1\nS\xe3o;2\n", ["linha 3", "UTF-8"]),
        (b"\xef\xbb\xbfa;b\nS\xe3o;2\n", ["linha 2", "UTF-8"]),
        (b"a;b\n1;\x002\n", ["linha 2", "nulos"]),
        (b'a;b\n"x;1\ny;2\n', ["aspas"]),
        (b'a;b\n"x"y;1\n', ["linha 2", "aspas"]),
    ],
    ids=[
        "two delimiters",
        "no delimiter",
        "MS-DOS",
        "MS-DOS capitals",
        "mixed",
        "false mark",
        "NUL",
        "open quote",
        "quote within",
    ],
)
def test_an_ambiguous_csv_is_refused_with_a_hint(
    csv_file: Writer, content: bytes, words: list[str]
) -> None:
    with pytest.raises(WorkbookRefused) as refused:
        read_workbook(csv_file(content), WorkbookLimits())
    message = f"{refused.value.message.pt} {refused.value.hint.pt if refused.value.hint else ''}"
    assert [word for word in words if word not in message] == []


def test_given_encoding_and_delimiter_are_used(csv_file: Writer) -> None:
    path = csv_file("a;b,c\n1;ã,ç\n".encode("cp850"))
    limits = WorkbookLimits(csv=CsvForm(delimiter=";", encoding="cp850"))
    assert rows(read_workbook(path, limits)) == [["a", "b,c"], ["1", "ã,ç"]]


def test_a_csv_needs_its_extension(tmp_path: Path) -> None:
    path = tmp_path / "contas.xlsx"
    path.write_bytes(b"a;b\n1;2\n")
    with pytest.raises(WorkbookRefused) as refused:
        read_workbook(path, WorkbookLimits())
    assert refused.value.code == "not-xlsx"
    assert ".csv" in str(refused.value.hint)


def test_a_csv_has_one_sheet(csv_file: Writer) -> None:
    path = csv_file(b"a;b\n1;2\n")
    assert read_workbook(path, WorkbookLimits(), "contas").sheets[0].name == "contas"
    with pytest.raises(UsageError):
        read_workbook(path, WorkbookLimits(), "Plan2")


CLIENTS = "nomeComercial;natureza;cnpj\r\nPadaria São João;J;11.222.333/0001-81\r\n"


@pytest.mark.parametrize("size", [1, 4_000])
@pytest.mark.parametrize(
    ("header", "codes"), [("", ["row-longer"]), (",", ["column-unnamed"]), (",note", [])]
)
def test_a_decimal_comma_in_a_comma_separated_row_is_reported(
    csv_file: Writer, catalogue: Catalogue, size: int, header: str, codes: list[str]
) -> None:
    """A header as long as its rows has a column without a name."""
    columns = f"nomeComercial,natureza,limiteDeCredito{header}"
    rows = [columns, *["Padaria,J,100" + "," * len(header[:1])] * size, "Bar,J,10,50"]
    sheet = validate_workbook(csv_file("\n".join(rows).encode()), catalogue, resource="cliente")
    found = {finding.kind.code: finding for finding in sheet.findings}
    assert [code for code in ("row-longer", "column-unnamed") if code in found] == codes
    if "row-longer" in codes:
        assert (found["row-longer"].cell, sheet.readable) == (f"D{size + 2}", False)
        assert f"(row {size + 2})" in found["row-longer"].message.en


@pytest.mark.parametrize("size", [1, 4_000])
@pytest.mark.parametrize(
    ("rows", "code"),
    [
        (["Padaria,J,100", "Bar,J\n"], "row-shorter"),
        (["Padaria,J", "Bar,J"], "row-shorter"),
        (["Padaria,J,100", "Bar,J"], "row-cut-off"),
        (["Padaria,J,100", "Bar,J", "", ""], "row-shorter"),
        (["Padaria,J,100", "Bar,J,"], None),
        (["Padaria,J,100", "Total: 1"], None),
    ],
)
def test_a_row_shorter_than_the_header_is_reported(
    csv_file: Writer, catalogue: Catalogue, size: int, rows: list[str], code: str | None
) -> None:
    """Trailing empty cells may be omitted; a file without a final line break was cut off."""
    lines = ["nomeComercial,natureza,limiteDeCredito", *[rows[0]] * size, *rows[1:]]
    sheet = validate_workbook(csv_file("\n".join(lines).encode()), catalogue, resource="cliente")
    found = {finding.kind.code: finding for finding in sheet.findings}
    assert [name for name in ("row-shorter", "row-cut-off") if name in found] == (
        [code] if code else []
    )
    if code is not None:
        first = 2 if rows[0] == "Padaria,J" else size + 2
        assert found[code].cell == f"C{first}"
        assert sheet.readable == (code == "row-shorter")


@pytest.mark.parametrize("size", [1, 4_000])
def test_small_and_large_csv_files_are_read_alike(
    csv_file: Writer, catalogue: Catalogue, size: int
) -> None:
    header, row, _ = CLIENTS.split("\r\n")
    path = csv_file("\r\n".join([header, *[row] * size]).encode("cp1252"))
    sheet = validate_workbook(path, catalogue)
    assert len(sheet.rows) == size
    assert sheet.sheet == "contas"
    assert sheet.read_as is not None
    assert "Windows-1252" in sheet.read_as.pt


def test_the_report_says_how_a_csv_was_read(
    csv_file: Writer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLBRIDGE_LANG", "pt-BR")
    path = csv_file(CLIENTS.encode("cp1252"))
    assert main(["validate", str(path)]) == 0
    assert "Lido como CSV: separador ponto e vírgula (;)" in capsys.readouterr().out


def test_options_set_encoding_and_delimiter(csv_file: Writer) -> None:
    path = csv_file(CLIENTS.replace("ã", "Æ").encode("cp850", "replace"))
    assert main(["validate", str(path), "--encoding", "cp850"]) == 0
    assert main(["validate", str(path), "--encoding", "cp1252", "--delimiter", ","]) == 1


@pytest.mark.parametrize("variable", ["XLBRIDGE_CSV_DELIMITER", "XLBRIDGE_CSV_ENCODING"])
def test_an_unknown_encoding_or_delimiter_is_refused(
    csv_file: Writer, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "morse")
    assert main(["validate", str(csv_file(CLIENTS.encode()))]) == 2


TITLES = (
    "codigoDaFilial;codigoDoCliente;codigoDoItemDeLancamento;codigoDoCentroDeCusto;"
    "codigoDaContaCorrente;historico;numeroDoDocumento;dataDeVencimento;valorDoLancamento;"
    "codigoDaFormaDePagamento"
)
TITLE = "1;1005;1.02.001;01.002;2;Teste;NF-{n};20/11/2026;100,50;4"


def titles(count: int, *, end: str = "") -> list[str]:
    """Return the lines of a sheet of titles, each with ``end``, below their header."""
    return [TITLES, *(TITLE.format(n=n) + end for n in range(1, count + 1))]


FOOTERS = {
    "a total": (["TOTAL;1.206,00"], 12),
    "a total of few rows": (["TOTAL;201,00"], 2),
    "two lines": (["TOTAL;1.206,00", "Registros: 12;0,00"], 12),
    "a total with a comma only": (["Total: 1.206,00"], 12),
    "a remark": (["Emitido em 01/10/2026, por Ana"], 12),
    "a total below a blank line": (["", "TOTAL;1.206,00"], 12),
    "a total in the last column": ([";;;;;;;;1.206,00"], 12),
    "a row with one delimiter more": ([TITLE.format(n=99) + ";"], 12),
    "a row with one delimiter more, of few": ([TITLE.format(n=99) + ";"], 2),
    "a row with a cell less": ([TITLE.format(n=99).rpartition(";")[0]], 3),
    "a delimiter in a text": ([TITLE.format(n=99).replace("Teste", "Rua A; 10")], 3),
}
"""Last lines below a number of good rows."""


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.parametrize("name", FOOTERS)
def test_the_delimiter_is_that_of_the_header(csv_file: Writer, name: str, mark: str) -> None:
    """Decimal commas give the rows a regular width, too, but not the header."""
    last, count = FOOTERS[name]
    text = "\r\n".join([*titles(count), *last, ""]).replace(";", mark)
    (cells,) = read_workbook(csv_file(text.encode()), WorkbookLimits()).sheets
    assert cells.row(0)[: TITLES.count(";") + 1] == TITLES.split(";")
    assert cells.row(1)[8] == "100,50"


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ([*titles(3), TITLE.format(n=9) + ";"], "row 5"),
        ([TITLES, TITLE.format(n=8) + ";", *titles(3)[1:]], "row 2"),
        ([*titles(3), TITLE.format(n=9) + ";;;"], "row 5"),
        ([*titles(3), TITLE.format(n=9) + ";x"], "row 5"),
        (titles(2, end=";"), "rows 2–3"),
        ([*titles(3), TITLE.format(n=9).replace("Teste", "Rua A; 10")], "row 5"),
        (
            [line.replace(",50", ",03").replace(";", ",") + ("," if n else "")
             for n, line in enumerate(titles(4))],
            "rows 2–5",
        ),
    ],
    ids=["last", "first", "three more", "filled", "two rows", "text", "decimal commas"],
)  # fmt: skip
def test_a_row_longer_than_the_header_is_named(
    csv_file: Writer, catalogue: Catalogue, lines: list[str], shown: str
) -> None:
    path = csv_file("\r\n".join([*lines, ""]).encode())
    found = {f.kind.code: f for f in validate_workbook(path, catalogue).findings}
    assert f"({shown})" in found["row-longer"].message.en
    assert "columns-joined" not in found


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_a_delimiter_at_the_end_of_each_row_is_no_cell(
    csv_file: Writer, catalogue: Catalogue, mark: str
) -> None:
    text = "\r\n".join([*titles(3, end=";"), ""]).replace(";", mark)
    sheet = validate_workbook(csv_file(text.encode()), catalogue)
    assert (len(sheet.rows), list(sheet.findings)) == (3, [])


@pytest.mark.parametrize(
    "end", ["\r\n\x1a", "\x1a", "\n\x1a\x1a\x1a", "\r\n\x1a\r\n", "\r\n\r\n\x1a"]
)
@pytest.mark.parametrize("encoding", ["ascii", "utf-16"])
def test_a_final_control_z_ends_the_file(
    csv_file: Writer, catalogue: Catalogue, end: str, encoding: str
) -> None:
    path = csv_file(("\r\n".join(titles(3)) + end).encode(encoding))
    sheet = validate_workbook(path, catalogue)
    assert (len(sheet.rows), list(sheet.findings)) == (3, [])


def test_a_control_z_within_a_text_stays(csv_file: Writer) -> None:
    text = "\r\n".join([*titles(1), TITLE.format(n="\x1a2"), ""])
    (cells,) = read_workbook(csv_file(text.encode()), WorkbookLimits()).sheets
    assert cells.row(2)[6] == "NF-\x1a2"


_DUE = "Data de vencimento;Valor do lançamento, em R$"
KNOWN_NAMES = {
    "a comma in a name": [_DUE, *["20/11/2026;100,50"] * 3],
    "a comma in a name, and a total": [_DUE, *["20/11/2026;100,50"] * 3, "TOTAL 301,50"],
    "a comma in two names": [
        "Número, documento;Valor do lançamento, em R$", *["Aluguel, sala;100,50"] * 3
    ],
    "a delimiter more in most rows": [TITLES, *[TITLE.format(n=9) + ";"] * 3, TITLE],
    "a semicolon in all texts": [TITLES, *[TITLE.replace("Teste", "Rua A; 10")] * 3],
    "two decimals in all rows": [
        "Histórico;Valor do lançamento", *["Rua A; 10;100,50", "Rua B; 10; 2;7,50"] * 3
    ],
    "rows of all widths": [TITLES, TITLE, TITLE + ";", TITLE + ";;", TITLE + ";;;"],
    "a title line with a comma": [
        "Contas a pagar, emissão, vencimento", TITLES, *[TITLE + ";"] * 3, TITLE
    ],
    "words of columns": [
        "Vencimento;Valor, bruto;Cliente", *["20/11/2026;1.100,50;Ana", "21/11/2026;5;Bia;"] * 2
    ],
}  # fmt: skip
"""Lines whose delimiter only the known names in their header show."""


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.parametrize("name", KNOWN_NAMES)
def test_the_delimiter_is_the_one_under_which_the_header_matches(
    csv_file: Writer, name: str, mark: str
) -> None:
    lines = [line.replace(";", mark) for line in KNOWN_NAMES[name]]
    (cells,) = read_workbook(csv_file("\n".join(lines).encode()), WorkbookLimits()).sheets
    header = next(line for line in lines if line.count(mark))
    rows = [[value for value in cells.row(n) if value != ""] for n in range(cells.height)]
    assert header.split(mark) in rows
