"""Examples must pass the rules of their column; mistakes are reported with file and line.

Inside: resources.
"""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from xlbridge.errors import SchemaFileError
from xlbridge.resources import Column, Kind, load_catalogue
from xlbridge.resources.checks import RULES
from xlbridge.resources.schema_validation import example_error

SCHEMA = """\
title: Vendedores
metadata:
  resource: vendedor
  import: {{direct: imports.direct}}
  columns:
    codigo: {{kind: {kind}, example: {example}}}
columns:
  codigo:
    dtype: {dtype}
    nullable: false
    {rule}
"""


@pytest.mark.parametrize(
    ("kind", "dtype", "example", "rule", "words"),
    [
        ("code", "str", '"12"', "digits: {width: 4}", "4 digits"),
        ("code", "str", "1234", "digits: {width: 4}", "in quotes"),
        ("text", "str", '"xyz"', "isin: [abc, abd]", "one of: abc, abd"),
        ("text", "str", '"x"', "str_length: {min_value: 2, max_value: 3}", "from 2 to 3"),
        ("text", "str", '"x"', "email: {}", "e-mail"),
        ("code", "str", '"11"', "cep: {}", "CEP"),
        ("code", "str", '"1"', "telephone: {}", "telephone"),
        ("cnpj", "str", '"11.222.333/0001-82"', "no_repeats: {}", "valid CNPJ"),
        ("cpf", "str", '"1"', "no_repeats: {}", "valid CPF"),
        ("integer", "Int64", "0", "greater_than: 0", "greater than 0"),
        ("integer", "Int64", "true", "greater_than: 0", "whole number"),
        ("integer", "Int64", "1.5", "greater_than: 0", "whole number"),
        ("integer", "Int64", "5", "in_range: {min_value: 6, max_value: 9}", "from 6 to 9"),
        ("money", "Float64", "1.234", "decimals: {places: 2}", "2 decimal places"),
        ("number", "Float64", '"1"', "decimals: {places: 2}", "a number"),
        ("date", "'datetime64[us]'", '"1/2/2026"', "required: true", "a date"),
        ("boolean", "boolean", '"sim"', "required: true", "true or false"),
    ],
)
def test_example_that_breaks_a_rule_is_reported_with_its_line(
    tmp_path: Path, kind: str, dtype: str, example: str, rule: str, words: str
) -> None:
    path = tmp_path / "vendedor.yaml"
    schema = SCHEMA.format(kind=kind, dtype=dtype, example=example, rule=rule)
    path.write_text(schema, encoding="utf-8")
    with pytest.raises(SchemaFileError) as caught:
        load_catalogue(tmp_path)
    message = caught.value.message.en
    assert message.startswith(f"{path}:6: metadata.columns.codigo.example: ")
    assert words in message


@pytest.mark.parametrize(
    "column", [c for r in load_catalogue().values() for c in r.columns], ids=lambda c: c.name
)
def test_the_shipped_examples_pass(column: Column) -> None:
    assert column.example is not None
    assert example_error(column.kind, column.checks, column.example) is None


RIGHT: dict[str, Any] = {
    "email": "a@b.com.br",
    "cnpj": "11.222.333/0001-81",
    "cpf": "529.982.247-25",
    "uf": "SP",
    "cep": "01310-100",
    "ncm": "8471.30.12",
    "nbs": "1.1502.10.00",
    "municipality": "3550308",
    "telephone": "(11) 98765-4321",
}


@pytest.mark.parametrize("name", [n for n, rule in RULES.items() if not rule.statistics])
def test_every_text_rule_checks_examples(name: str) -> None:
    if name in RIGHT:
        assert example_error(Kind.CODE, {name: {}}, RIGHT[name]) is None
    accepted = example_error(Kind.CODE, {name: {}}, "não") is None
    assert accepted == (name == "no_repeats")


def test_date_is_a_valid_example_of_a_date_column() -> None:
    assert example_error(Kind.DATE, {}, date(2026, 12, 31)) is None
