"""Templates filled in with valid values pass, also after LibreOffice has saved them."""

import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from libreoffice import save_with_libreoffice
from sampling import every, examples

from xlbridge.resources import Catalogue, Column, Kind, Resource, load_catalogue
from xlbridge.resources.checks import DOCUMENTS, is_boleto
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.workbook.write import cell_format, template_sheets

RESOURCES = list(load_catalogue().values())
LETTERS = "ABCÇDEÉabcçdãéíõú 0123456789&'.-"
Row = Mapping[str, Any]


def _completed(stems: st.SearchStrategy[str], is_valid: Any, digits: int) -> st.SearchStrategy[str]:
    """Complete stems with their check digits; drop stems without valid ones."""

    def complete(stem: str) -> str | None:
        ends = (f"{number:0{digits}}" for number in range(10**digits))
        return next((stem + end for end in ends if is_valid(stem + end)), None)

    return stems.map(complete).filter(bool)  # type: ignore[arg-type]


def _barcodes() -> st.SearchStrategy[str]:
    """Barcodes without amount and due date, which fit every title."""
    parts = st.tuples(st.from_regex(r"[0-79][0-9]{2}9", fullmatch=True),
                      st.from_regex(r"0{14}[0-9]{25}", fullmatch=True))  # fmt: skip
    whole = parts.map(
        lambda p: next((c for d in "123456789" if is_boleto(c := p[0] + d + p[1])), None)
    )
    return whole.filter(bool)  # type: ignore[arg-type]


def _documents(kind: Kind, stem: str) -> st.SearchStrategy[str]:
    """Documents with and without mask."""
    stems = st.from_regex(stem, fullmatch=True)
    bare = _completed(stems, DOCUMENTS[kind].is_valid, 2)
    return st.one_of(bare, bare.map(DOCUMENTS[kind].masked))


def _texts(column: Column) -> st.SearchStrategy[str]:
    checks = column.checks
    if column.allowed:
        return st.sampled_from(column.allowed)
    if "digits" in checks and "nbs" not in checks:
        return st.from_regex(rf"[0-9]{{{checks['digits']['width']}}}", fullmatch=True)
    special = {
        "ncm": st.from_regex(r"([1-6][0-9]|7[0-689]|8[0-9]|9[0-7])[0-9]{6}", fullmatch=True),
        "nbs": st.from_regex(r"1(0[1-9]|1[0-9]|2[0-7])[0-9]{6}", fullmatch=True),
        "cep": st.from_regex(r"(0[1-9]|[1-9][0-9])[0-9]{3}-[0-9]{3}", fullmatch=True),
        "boleto": _barcodes(),
        "document": _documents(Kind.CNPJ, r"[0-9]{12}"),
        "uf": st.just("SP"),
        "municipality": st.just("3550308"),
        "email": st.from_regex(r"[a-z]{1,9}@[a-z]{1,9}\.com(\.br)?", fullmatch=True),
        "telephone": st.from_regex(r"\((11|21|81)\) 9[0-9]{4}-[0-9]{4}", fullmatch=True),
    }
    for name, strategy in special.items():
        if name in checks:
            return strategy
    span = checks.get("str_length", {"min_value": 1, "max_value": 20})
    # Codes that differ only in case or accents would be spellings of one code.
    letters = "ABC0123456789.-" if column.kind.is_code else LETTERS
    texts = st.text(letters, min_size=span["min_value"], max_size=span["max_value"])
    return texts.map(str.strip).filter(lambda text: _is_plain_text(text, span["min_value"]))


_NUMBER_AS_CODE = re.compile(r"\d+\.0+")
"""Code that a data frame has read as a number and written back."""


def _is_plain_text(text: str, shortest: int) -> bool:
    """Return whether a text is no placeholder, and has no apostrophe or decimals from Excel."""
    has_letters_or_digits = any(map(str.isalnum, text))
    whole = (
        len(text) >= shortest and (has_letters_or_digits or not text) and not text.startswith("'")
    )
    return whole and _NUMBER_AS_CODE.fullmatch(text) is None


def _numbers(column: Column) -> st.SearchStrategy[float]:
    if "in_range" in column.checks:
        span = column.checks["in_range"]
        return st.integers(span["min_value"] * 100, span["max_value"] * 100).map(lambda n: n / 100)
    return st.integers(1, 99_999).map(lambda cents: cents / 100)


def _whole_numbers(column: Column) -> st.SearchStrategy[int]:
    first = column.checks.get("greater_than_or_equal_to", {"value": 1})["value"]
    last = column.checks.get("less_than_or_equal_to", {"value": 2**31 - 1})["value"]
    return st.integers(max(1, first), last)


def _values(column: Column) -> st.SearchStrategy[Any]:
    """Valid values of a column, by its schema."""
    match column.kind:
        case Kind.CNPJ:
            return _documents(Kind.CNPJ, r"[0-9A-Z]{12}")
        case Kind.CPF:
            return _documents(Kind.CPF, r"[0-9]{9}")
        case Kind.INTEGER:
            return _whole_numbers(column)
        case Kind.NUMBER | Kind.MONEY:
            return _numbers(column)
        case Kind.DATE:
            return st.dates(date(2020, 1, 1), date(2030, 12, 31))
        case Kind.BOOLEAN:
            return st.booleans()
        case _:
            return _texts(column)


def _coherent(row: dict[str, Any]) -> Row:
    """Make values consistent with the rules across columns."""
    if bool(row.get("cnpj")) != bool(row.get("cpf")):
        row["natureza"] = "J" if row["cnpj"] else "F"
    for first, last in (("dataDeEmissao", "dataDeVencimento"), ("dataDeInicio", "dataDeTermino")):
        if row.get(first) and row.get(last):
            row[first], row[last] = sorted((row[first], row[last]))
    if row.get("PesoBruto") and row.get("PesoLiquido"):
        row["PesoLiquido"], row["PesoBruto"] = sorted((row["PesoLiquido"], row["PesoBruto"]))
    if row.get("ValorBruto"):
        parts = [n for n in row if n.startswith("Valor") or n == "valorDoLancamento"]
        total = sum(row[n] or 0 for n in parts if n != "ValorBruto")
        row["ValorBruto"] = round(total + row["ValorBruto"], 2)
    return row


def rows_of(resource: Resource) -> st.SearchStrategy[list[Row]]:
    """Valid rows of a resource with unique keys."""
    values = {
        column.name: _values(column) if column.required else st.none() | _values(column)
        for column in resource.columns
    }
    unique = [
        name for name in ("chave", "cnpj", "cpf", "idws", "numeroDoDocumento") if name in values
    ]
    keys = [lambda row, name=name: row[name] or object() for name in unique]
    row = st.fixed_dictionaries(values).map(_coherent)
    if not unique:
        keys = [lambda row: (row.get("idProd"), row.get("codigoDoCliente"))]
    return st.lists(row, min_size=1, max_size=5, unique_by=tuple(keys))


def fill_in(path: Path, resource: Resource, rows: list[Row]) -> Path:
    """Write the resource's template with rows typed into it."""
    with template_sheets(path, resource) as (book, sheets):
        sheet = sheets[resource.sheet]
        columns = resource.sheet_columns
        formats = [cell_format(book, column) for column in columns]
        for number, row in enumerate(rows, start=1):
            for index, (column, form) in enumerate(zip(columns, formats, strict=True)):
                value = row[column.name]
                if isinstance(value, date):
                    sheet.write_datetime(number, index, value, form)
                elif isinstance(value, str):
                    sheet.write_string(number, index, value, form)
                elif isinstance(value, bool):
                    sheet.write_boolean(number, index, value, form)
                elif value is not None:
                    sheet.write_number(number, index, value, form)
    return path


WITHOUT_LISTS = {"parent-without-children", "code-shape", "row-doubtful"}
"""Expected findings: only the main sheet is filled in, random codes differ in shape, and a random
name alone in its row may look like a note."""


def codes_of(validated: ValidatedSheet) -> set[str]:
    return {finding.kind.code for finding in validated.findings}


@pytest.mark.parametrize("resource", every(3, RESOURCES), ids=lambda resource: resource.name)
def test_template_with_valid_values_passes(catalogue: Catalogue, resource: Resource) -> None:
    @examples(3)
    @given(rows=rows_of(resource))
    def passes(rows: list[Row]) -> None:
        with TemporaryDirectory() as folder:
            validated = validate_workbook(
                fill_in(Path(folder) / "a.xlsx", resource, rows), catalogue
            )
        assert codes_of(validated) <= WITHOUT_LISTS
        assert validated.resource is resource
        assert len(validated.rows) == len(rows)

    passes()


@pytest.mark.programs
@pytest.mark.parametrize(
    "resources", [RESOURCES[1::4], pytest.param(RESOURCES, marks=pytest.mark.slow)]
)
def test_template_saved_by_libreoffice_passes(
    tmp_path: Path, catalogue: Catalogue, resources: list[Resource]
) -> None:
    counts: dict[str, int] = {}

    @settings(max_examples=2, database=None, derandomize=True)
    @given(data=st.data())
    def write(data: st.DataObject) -> None:
        for resource in resources:
            rows = data.draw(rows_of(resource))
            fill_in(tmp_path / f"{resource.name}.xlsx", resource, rows)
            counts[resource.name] = len(rows)

    write()
    files = [tmp_path / f"{resource.name}.xlsx" for resource in resources]
    saved = save_with_libreoffice(files, tmp_path / "saved")
    for resource, path in zip(resources, saved, strict=True):
        validated = validate_workbook(path, catalogue)
        assert codes_of(validated) <= WITHOUT_LISTS
        assert validated.resource is resource
        assert len(validated.rows) == counts[resource.name]
