"""Templates: their content, and the committed ones are current."""

import dataclasses
import re
import zipfile
from functools import cache
from pathlib import Path
from textwrap import wrap

import openpyxl
import pytest
from environment import ROOT
from libreoffice import save_with_libreoffice
from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token
from openpyxl.utils import range_boundaries
from openpyxl.worksheet.cell_range import MultiCellRange
from openpyxl.worksheet.worksheet import Worksheet
from sheets import INSTRUCTIONS_SHEET_PT, LISTS_SHEET, TEMPLATE_PROPERTY, header_of

from xlbridge.cli.main import main
from xlbridge.errors import UsageError
from xlbridge.files import replace_atomically
from xlbridge.i18n import Language, Text, override_language
from xlbridge.resources import (
    Column,
    Kind,
    Resource,
    load_catalogue,
    normalize_header,
)
from xlbridge.resources.links import listing_resource
from xlbridge.validation import validate_workbook
from xlbridge.workbook.write import (
    FilledRows,
    ListedRecord,
    RegistryList,
    RegistryLists,
    template_sheets,
    write_template,
)

RESOURCES = list(load_catalogue().values())

each_resource = pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: r.name)


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def committed(resource: str) -> Path:
    return ROOT / "templates" / f"{resource}.xlsx"


@cache
def book_of(resource: str) -> openpyxl.Workbook:
    """Committed template, opened once for reading."""
    return openpyxl.load_workbook(committed(resource))


def data_sheet(resource: str) -> Worksheet:
    return book_of(resource)[resource]


@each_resource
def test_the_committed_template_is_current(tmp_path: Path, resource: Resource) -> None:
    path = tmp_path / "generated.xlsx"
    with override_language("pt-BR"):
        write_template(path, resource)
    assert parts(committed(resource.name)) == parts(path), "run: make templates"


def test_every_committed_template_belongs_to_a_resource() -> None:
    names = {path.stem for path in (ROOT / "templates").glob("*.xlsx")}
    assert names == {resource.name for resource in RESOURCES}


@each_resource
def test_the_header_has_marked_titles_required_first_and_no_rows_below(resource: Resource) -> None:
    for part in (resource, *resource.children):
        sheet = book_of(resource.name)[part.sheet]
        columns = [*(c for c in part.columns if c.required)]
        columns += [c for c in part.columns if not c.required]
        titles = [f"{c.title.pt}{' *' if c.required else ''}" for c in columns]
        assert [cell.value for cell in sheet[1]] == titles
        assert len({normalize_header(title) for title in titles}) == len(titles)
        assert header_of(sheet) == [column.name for column in columns]
    sheet = data_sheet(resource.name)
    assert sheet.max_row == 1
    assert sheet.freeze_panes == "A2"
    assert sheet.print_title_rows == "$1:$1"
    instructions = book_of(resource.name).worksheets[0]
    first, last = instructions.print_title_rows.replace("$", "").split(":")
    assert first == last
    assert [instructions[f"A{first}"].value, instructions[f"G{first}"].value] == [
        "Coluna",
        "Exemplo",
    ]


@each_resource
def test_required_and_optional_headers_look_different(resource: Resource) -> None:
    sheet = data_sheet(resource.name)
    colours = {
        required: {
            cell.fill.fgColor.rgb
            for cell, column in zip(sheet[1], resource.sheet_columns, strict=True)
            if column.required is required
        }
        for required in (True, False)
    }
    assert max(map(len, colours.values())) == 1
    assert colours[True] != colours[False]


@each_resource
def test_each_header_has_a_comment_with_title_and_requirement(resource: Resource) -> None:
    sheet = data_sheet(resource.name)
    for cell, column in zip(sheet[1], resource.sheet_columns, strict=True):
        assert cell.comment is not None
        assert column.title.pt in cell.comment.text
        assert ("obrigatória" in cell.comment.text) is column.required


@each_resource
def test_each_column_is_validated_and_formatted_to_row_10000(resource: Resource) -> None:
    sheet = data_sheet(resource.name)
    for cell, column in zip(sheet[1], resource.sheet_columns, strict=True):
        address = f"{cell.column_letter}10000"
        checks = [v for v in sheet.data_validations.dataValidation if address in v.cells]
        assert len(checks) == 1
        assert checks[0].promptTitle
        assert checks[0].prompt
        width = sheet.column_dimensions[cell.column_letter].width
        assert width > max(map(len, column.title.pt.split()))


@pytest.mark.parametrize(
    ("resource", "column", "kind", "formula"),
    [
        ("cliente", "natureza", "list", f"{LISTS_SHEET}!$B$1:$C$1"),
        ("cliente", "nomeComercial", "textLength", "1"),
        ("cliente", "cnpj", "custom", None),
        ("contasreceber", "codigoDaFilial", "whole", "0"),
        ("contasreceber", "valorDoLancamento", "decimal", "0"),
        ("contasreceber", "dataDeVencimento", "date", "1"),
        ("nota-fiscal-servico", "aliquotaISSRetido", "decimal", "0"),
        ("nota-fiscal-servico", "CodigoNBS", "custom", 'LEN(SUBSTITUTE(F2,".",""))=9'),
        ("enderecamento-de-produto", "ativo", "list", '"VERDADEIRO,FALSO"'),
    ],
)
def test_excel_validation_follows_the_schema(
    resource: str, column: str, kind: str, formula: str | None
) -> None:
    sheet = data_sheet(resource)
    letter = sheet.cell(1, header_of(sheet).index(column) + 1).column_letter
    check = next(v for v in sheet.data_validations.dataValidation if f"{letter}2" in v.cells)
    assert check.type == kind
    if formula is not None:
        assert check.formula1 == formula


@pytest.mark.parametrize(
    ("resource", "column", "number_format"),
    [
        ("cliente", "cnpj", "@"),
        ("contasreceber", "codigoDoCentroDeCusto", "@"),
        ("contasreceber", "dataDeEmissao", "dd/mm/yyyy"),
        ("contasreceber", "valorDoLancamento", "#,##0.00"),
        ("contasreceber", "codigoDaFilial", "0"),
    ],
)
def test_cells_are_formatted_for_their_kind(resource: str, column: str, number_format: str) -> None:
    sheet = data_sheet(resource)
    letter = sheet.cell(1, header_of(sheet).index(column) + 1).column_letter
    assert sheet.column_dimensions[letter].number_format == number_format


@each_resource
def test_fingerprint_and_sheets(resource: Resource) -> None:
    book = book_of(resource.name)
    assert book.custom_doc_props[TEMPLATE_PROPERTY].value == resource.fingerprint
    assert book.active is book[INSTRUCTIONS_SHEET_PT]
    visible = [INSTRUCTIONS_SHEET_PT, resource.name, *(child.sheet for child in resource.children)]
    assert book.sheetnames[: len(visible)] == visible
    assert all(book[name].sheet_state == "hidden" for name in book.sheetnames[len(visible) :])


@each_resource
def test_instructions_name_every_column_and_rule(resource: Resource) -> None:
    rows = list(book_of(resource.name)[INSTRUCTIONS_SHEET_PT].iter_rows(values_only=True))
    first = [row[0] for row in rows]
    assert [text[:2] for text in first if text and re.match(r"\d\. ", text)] == [
        f"{number}." for number in range(1, 6)
    ]
    names = [row[1] for row in rows]
    for column in resource.columns:
        assert column.title.pt == str(first[names.index(column.name)]).removesuffix(" *")
    assert "2147483647" not in str(rows)
    rules = [text for text in first if text and text.startswith("• ")]
    sheets = (resource, *resource.children)
    assert len(rules) == sum(len(sheet.row_checks) for sheet in sheets)


def test_a_long_dropdown_is_stored_in_the_lists_sheet(tmp_path: Path) -> None:
    values = [f"Valor, com vírgula, número {number}" for number in range(300)]
    text = Text(pt="c", en="c")
    column = Column("situacao", Kind.TEXT, True, text, text, checks={"isin": {"value": values}})
    path = tmp_path / "t.xlsx"
    write_template(path, dataclasses.replace(RESOURCES[0], columns=(column,)))
    book = openpyxl.load_workbook(path)
    [check] = book[RESOURCES[0].name].data_validations.dataValidation
    assert (check.type, check.formula1) == ("list", f"{LISTS_SHEET}!$B$1:$KO$1")
    [listed] = book[LISTS_SHEET].iter_rows(values_only=True)
    assert listed == ("situacao", *values)


@pytest.mark.programs
@pytest.mark.slow  # what is typed into templates: validation/test_template_round_trip.py
def test_samples_saved_by_libreoffice_are_valid(tmp_path: Path) -> None:
    catalogue = load_catalogue()
    samples = [ROOT / "samples" / f"{name}.xlsx" for name in catalogue]
    for sample in save_with_libreoffice(samples, tmp_path / "saved"):
        sheet = validate_workbook(sample, catalogue)
        assert [(f.cell, f.kind.code) for f in sheet.findings] == []
        assert sheet.resource is not None
        assert sheet.resource.name == sample.stem


def test_command_writes_to_the_given_path_and_prints_the_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "novo.xlsx"
    assert main(["template", "cliente", "-o", str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"xlbridge validate {path}" in captured.err
    sheet = openpyxl.load_workbook(path)["cliente"]
    assert sheet["A1"].value == "Trade name *"
    assert main(["template", "cliente", "-o", str(path), "--force", "--headers", "names"]) == 0
    assert openpyxl.load_workbook(path)["cliente"]["A1"].value == "nomeComercial"


def test_command_writes_to_the_current_folder_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["template", "contasreceber"]) == 0
    assert (tmp_path / "contasreceber.xlsx").is_file()


def test_command_keeps_a_file_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "meu.xlsx"
    path.write_text("o trabalho de uma manhã")
    assert main(["template", "cliente", "-o", str(path)]) == 2
    assert path.read_text() == "o trabalho de uma manhã"
    assert main(["template", "cliente", "-o", str(path), "--force"]) == 0
    assert zipfile.is_zipfile(path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["template"],
        ["template", "nada"],
        ["template", "cliente", "-o", "/nope/a.xlsx"],
    ],
)
def test_wrong_usage_is_reported(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err


def test_the_sheet_option_needs_an_older_workbook(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    assert main(["template", "cliente", "-o", str(path), "--sheet", "Plan1"]) == 2
    assert not path.exists()


def test_command_writes_all(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert main(["template", "--all", str(folder)]) == 0
    assert {p.name for p in folder.iterdir()} == {f"{r.name}.xlsx" for r in RESOURCES}


def test_command_that_writes_all_keeps_existing_files(tmp_path: Path) -> None:
    filled = tmp_path / "contasreceber.xlsx"
    filled.write_text("o trabalho de uma manhã")
    assert main(["template", "--all", str(tmp_path)]) == 2
    assert (filled.read_text(), list(tmp_path.iterdir())) == ("o trabalho de uma manhã", [filled])
    assert main(["template", "--all", str(tmp_path), "--force"]) == 0
    assert zipfile.is_zipfile(filled)


def write_half(path: Path) -> None:
    with replace_atomically(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_template(tmp_path, RESOURCES[0])


@each_resource
def test_excel_ignores_numbers_stored_as_text(resource: Resource) -> None:
    path = committed(resource.name)
    [ranges] = re.findall(
        rb'<ignoredError sqref="([^"]*)" numberStoredAsText="1"/>', sheet_xml(path)
    )
    covered = MultiCellRange(ranges.decode())
    sheet = data_sheet(resource.name)
    for cell, column in zip(sheet[1], resource.sheet_columns, strict=True):
        assert (f"{cell.column_letter}2" in covered) is column.kind.is_text


def sheet_xml(path: Path) -> bytes:
    return parts(path)["xl/worksheets/sheet2.xml"]


@pytest.mark.parametrize("name", ["demanding", *(resource.name for resource in RESOURCES)])
def test_templates_stay_within_the_limits_of_excel(tmp_path: Path, name: str) -> None:
    if name == "demanding":
        resource = demanding(tmp_path)
        path = tmp_path / "template.xlsx"
        write_template(path, resource)
        sheet = openpyxl.load_workbook(path)[resource.name]
    else:
        resource, path, sheet = load_catalogue()[name], committed(name), data_sheet(name)
    checks = sheet.data_validations.dataValidation
    assert len(checks) == len(resource.columns)
    for check in checks:
        assert len(check.promptTitle) <= 32
        assert len(check.prompt) <= 255
        assert len(check.errorTitle) <= 32
        assert len(check.error) <= 225
        formula = check.formula1 or ""
        assert len(formula) <= 255
        assert not any(isinstance(token, Token) and token.type == "" for token in tokens(formula))
        assert formula.count('"') % 2 == 0
    instructions = parts(path)["xl/worksheets/sheet1.xml"]
    heights = [float(height) for height in re.findall(rb' ht="([^"]+)"', instructions)]
    assert max(heights) <= 409


def tokens(formula: str) -> list[Token]:
    return list(Tokenizer(f"={formula}").items)


def demanding(folder: Path) -> Resource:
    """Resource whose columns have the longest and oddest values that a schema file allows."""
    choices = ", ".join(f"'{number:05} {'x' * 40}'" for number in range(300))
    path = folder / "demanding.yaml"
    path.write_text(
        f"""\
title: {"Título " * 60}
metadata:
  resource: {"a" * 31}
  import: {{direct: imports.direct}}
  columns: {{quotes: {{kind: code}}, marks: {{kind: code}}}}
columns:
  {"c" * 300}: {{dtype: str, title: {"Título " * 60}, description: {"descrição " * 600}}}
  choice: {{dtype: str, isin: [{choices}]}}
  quotes: {{dtype: str, digits: {{width: 9, separators: '"/'}}}}
  marks: {{dtype: str, digits: {{width: 9, separators: '.,-/ ;:_()[]+*#%&@!?<>=|~^'}}}}
  small: {{dtype: Float64, greater_than: 0.0000001, less_than: 1.0e+15}}
  whole: {{dtype: Int64, less_than_or_equal_to: 999999999999}}
""",
        encoding="utf-8",
    )
    return load_catalogue(folder)["a" * 31]


def test_the_key_column_of_child_sheets_is_narrow() -> None:
    resource = load_catalogue()["pedido"]
    book = book_of("pedido")
    for one in (resource, *resource.children):
        sheet = book[one.sheet]
        [cell] = [
            cell for cell, name in zip(sheet[1], header_of(sheet), strict=True) if name == "chave"
        ]
        assert sheet.column_dimensions[cell.column_letter].width < 20
        letter = cell.column_letter
        assert sheet.print_title_cols.startswith(f"${letter}:")  # on each printed page


def printed_columns(sheet: Worksheet) -> range:
    area = sheet.print_area.rpartition("!")[2].replace("$", "") or sheet.dimensions
    first, _, last, _ = range_boundaries(area)
    return range(first, last + 1)


def printed_width(sheet: Worksheet) -> float:
    printed = {*printed_columns(sheet)}
    return sum(  # openpyxl has one for neighbours of the same width
        one.width * len(printed.intersection(range(one.min, one.max + 1)))
        for one in sheet.column_dimensions.values()
    )


@pytest.mark.parametrize("is_filled", [True, False], ids=["filled", "blank"])
@each_resource
def test_a_sheet_prints_two_pages_wide_at_most(
    tmp_path: Path, resource: Resource, is_filled: bool
) -> None:
    path = tmp_path / "template.xlsx"
    parts = (resource, *resource.children)
    filled = {
        part.sheet: FilledRows(1, dict.fromkeys(range(len(part.sheet_columns)), 20))
        for part in parts
        if is_filled
    }
    with template_sheets(path, resource, filled=filled):
        pass
    book = openpyxl.load_workbook(path)
    for part in parts:
        sheet = book[part.sheet]
        assert printed_width(sheet) <= 450
        fits = sheet.sheet_properties.pageSetUpPr
        assert fits or sheet.page_setup.scale == 65
        assert printed_width(sheet) <= 320 or sheet.page_setup.fitToWidth == 2
        assert sheet.print_title_cols.startswith("$A:")
        printed = printed_columns(sheet)
        assert printed == range(1, len(printed) + 1)
        required = [n for n, c in enumerate(part.sheet_columns, start=1) if c.required]
        assert set(required) <= set(printed)


@each_resource
def test_the_instructions_show_complete_column_names(resource: Resource) -> None:
    sheet = book_of(resource.name)[INSTRUCTIONS_SHEET_PT]
    names = next(one for one in sheet.column_dimensions.values() if one.min <= 2 <= one.max)
    assert names.width > max(len(c.name) for c in resource.columns) + 2
    assert sum(it.width for it in sheet.column_dimensions.values()) < 220


def test_lists_of_registries_are_text_and_mention_omitted_records(tmp_path: Path) -> None:
    hostile = ['=HYPERLINK("http://x")', "+1", "<r>&", "a\x01b", "x" * 300, ""]
    records = tuple(ListedRecord(f"{n}", label, ("=1+1",)) for n, label in enumerate(hostile))
    cut = RegistryList("cliente", "Clientes", ("cnpjcpf",), records, total=9)
    catalogue = load_catalogue()
    form = listing_resource(catalogue["contasreceber"], catalogue, ["codigoDoCliente"])
    path = tmp_path / "t.xlsx"
    write_template(path, form, RegistryLists("ensaio", (cut,)))
    book = openpyxl.load_workbook(path)
    sheet = book["Registries"]
    offered = [sheet.cell(row, 1).value for row in range(4, 10)]
    assert offered == ['0 – =HYPERLINK("http://x")', "1 – +1", "2 – <r>&", "3", "4", "5"]
    assert sheet["A2"].value == "Clientes: 9; 6 are here, the others by code or name"
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n"}
    assert {sheet.cell(row, 2).number_format for row in range(4, 10)} == {"@"}
    fingerprint = f"{form.fingerprint}:codigoDoCliente"
    assert book.custom_doc_props[TEMPLATE_PROPERTY].value == fingerprint
    book["contasreceber"]["B2"].value = offered[0]
    book.save(path)
    validated = validate_workbook(path, catalogue)
    assert validated.resource is not None
    assert validated.resource.by_name["codigoDoCliente"].link is not None
    assert {finding.column for finding in validated.error_findings()}.isdisjoint(
        {"codigoDoCliente"}
    )


@pytest.mark.parametrize("language", ["pt-BR", "en"])
@each_resource
def test_the_header_row_holds_every_title(
    tmp_path: Path, resource: Resource, language: Language
) -> None:
    path = tmp_path / "template.xlsx"
    with override_language(language):
        write_template(path, resource)
    book = openpyxl.load_workbook(path)
    for part in (resource, *resource.children):
        sheet = book[part.sheet]
        widths = {
            number: one.width
            for one in sheet.column_dimensions.values()
            for number in range(one.min, one.max + 1)
        }
        for cell in sheet[1]:
            # Beside the text are an indent and the button of the filter.
            lines = wrap(cell.value, round(widths[cell.column]) - 4)
            assert 15 * len(lines) <= sheet.row_dimensions[1].height
            assert len(lines) <= 3
