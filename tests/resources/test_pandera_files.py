"""Schema files written by pandera are custom resources; their checks agree with pandera.

Inside: resources.
"""

from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pandera.pandas as pa
import pytest
import yaml

from xlbridge.errors import SchemaFileError
from xlbridge.resources import Kind, Mode, load_catalogue, pandera_checks
from xlbridge.resources.checks import RULES
from xlbridge.resources.schema_validation import example_error
from xlbridge.validation import validate_workbook


class Seller(pa.DataFrameModel):
    """Vendedores da empresa."""

    codigo: str = pa.Field(unique=True, str_length={"min_value": 1, "max_value": 4}, title="Código")
    nome: str = pa.Field(
        str_startswith="A", str_matches=r"^A.*$", str_contains="b", str_endswith="z"
    )
    vendas: int = pa.Field(ge=0, le=10, ne=5)
    comissao: float = pa.Field(in_range={"min_value": 0, "max_value": 3, "include_min": False})
    inicio: pd.Timestamp = pa.Field(nullable=True, ge=pd.Timestamp("2026-01-01"))
    ativo: bool
    tipo: str = pa.Field(isin=["a", "b"], notin=["c"])
    regiao: pd.StringDtype | None = pa.Field(nullable=True)

    class Config:
        """The schema's own settings."""

        name = "Vendedor Novo"
        strict = True
        coerce = True
        unique = ["nome", "tipo"]  # noqa: RUF012


def test_exported_pandera_model_is_a_resource(tmp_path: Path) -> None:
    Seller.to_yaml(tmp_path / "seller.yaml")
    resource = load_catalogue(tmp_path)["vendedor-novo"]
    assert (resource.title.pt, resource.description.pt) == (
        "Vendedor Novo",
        "Vendedores da empresa.",
    )
    assert resource.paths.modes == (Mode.DIRECT, Mode.PREVIEW)
    assert {column.name: column.kind for column in resource.columns} == {
        "codigo": Kind.TEXT,
        "nome": Kind.TEXT,
        "vendas": Kind.INTEGER,
        "comissao": Kind.NUMBER,
        "inicio": Kind.DATE,
        "ativo": Kind.BOOLEAN,
        "tipo": Kind.TEXT,
        "regiao": Kind.TEXT,
    }
    assert set(resource.by_name) - set(resource.required) == {"inicio", "regiao"}
    assert resource.by_name["codigo"].checks == {
        "no_repeats": {},
        "str_length": {"min_value": 1, "max_value": 4},
    }
    assert resource.by_name["inicio"].checks == {
        "greater_than_or_equal_to": {"value": date(2026, 1, 1)}
    }
    [unique] = resource.row_checks
    assert unique.name == "no_repeated_rows"
    assert unique.statistics["columns"] == ["nome", "tipo"]


def test_workbook_of_a_pandera_model_is_validated(tmp_path: Path) -> None:
    Seller.to_yaml(tmp_path / "seller.yaml")
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    header = ["codigo", "nome", "vendas", "comissao", "inicio", "ativo", "tipo"]
    right = ["1", "Abz", 4, 1.5, date(2026, 5, 1), True, "a"]
    wrong = ["1", "Bbz", 5, 0, date(2025, 5, 1), True, "c"]
    for row in (header, right, wrong):
        sheet.append(row)
    book.save(tmp_path / "v.xlsx")
    report = validate_workbook(
        tmp_path / "v.xlsx", load_catalogue(tmp_path), resource="vendedor-novo"
    )
    assert [(f.cell, f.kind.code) for f in report.findings] == [
        ("A3", "duplicate-in-sheet"),
        ("B3", "format"),
        ("C3", "value-range"),
        ("D3", "value-range"),
        ("E3", "value-range"),
        ("G3", "value-not-allowed"),
    ]
    begins = next(f for f in report.findings if f.cell == "E3")
    assert begins.message.en == "The value must be 01/01/2026 or later."
    assert begins.message.pt == "O valor deve ser 01/01/2026 ou depois."


def test_every_notation_of_pandera_checks_is_read(tmp_path: Path) -> None:
    schema = pa.DataFrameSchema(
        {
            "a": pa.Column("str", pa.Check.str_length(max_value=3)),
            "b": pa.Column(int, [pa.Check.isin([1, 2], name="some", error="no")], required=False),
            "c": pa.Column("category", pa.Check.unique_values_eq(["x", "y"])),
            "d": pa.Column("datetime64[ns]", pa.Check.lt(pd.Timestamp("2026-01-01"))),
            "e": pa.Column(None, pa.Check.str_length(exact_value=2)),
        },
        index=pa.Index(int),
        ordered=True,
        unique_column_names=True,
    )
    schema.to_yaml(tmp_path / "todos.yaml")
    schema.to_yaml(tmp_path / "todos-2.yaml", minimal=False)
    content = yaml.safe_load((tmp_path / "todos.yaml").read_text("utf-8"))
    content["columns"]["a"] = {
        "dtype": "str",
        "checks": [
            {"options": {"check_name": "str_length"}, "min_value": None, "max_value": 3},
            {"options": {"check_name": "email", "raise_warning": False}},
        ],
    }
    (tmp_path / "listed.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    read = load_catalogue(tmp_path)
    short = read["todos"]
    assert [(column.required, column.checks) for column in short.columns] == [
        (True, {"str_length": {"max_value": 3}}),
        (False, {"isin": {"value": [1, 2]}}),
        (True, {"unique_values_eq": {"value": ["x", "y"]}}),
        (True, {"less_than": {"value": date(2026, 1, 1)}}),
        (True, {"str_length": {"min_value": 2, "max_value": 2}}),
    ]
    assert read["todos-2"].columns == short.columns
    assert read["listed"].columns[0].checks == {"str_length": {"max_value": 3}, "email": {}}


DAY, NEXT = date(2026, 1, 1), date(2026, 1, 2)
CASES: list[tuple[str, str, Any, list[Any], list[Any]]] = [
    ("greater_than", "Int64", 3, [4], [3, 2]),
    ("gt", "Float64", 0.5, [0.75], [0.5]),
    ("greater_than_or_equal_to", "datetime64[us]", NEXT, [NEXT], [DAY]),
    ("less_than", "Int64", 3, [2], [3]),
    ("le", "Float64", 3, [3.0], [3.5]),
    ("equal_to", "str", "a", ["a"], ["b"]),
    ("eq", "boolean", True, [True], [False]),
    ("ne", "Int64", 3, [4], [3]),
    ("in_range", "Int64", {"min_value": 1, "max_value": 3}, [1, 3], [0, 4]),
    ("in_range", "Int64", {"min_value": 1, "max_value": 3, "include_min": False}, [2, 3], [1]),
    ("in_range", "Int64", {"min_value": 1, "max_value": 3, "include_max": False}, [1, 2], [3]),
    ("isin", "Int64", [1, 2], [1], [3]),
    ("isin", "datetime64[us]", [NEXT], [NEXT], [DAY]),
    ("isin", "str", ["a"], ["a"], ["b"]),
    ("notin", "str", ["a"], ["b"], ["a"]),
    ("str_matches", "str", r"(?=V)V\d+$", ["V12"], ["aV12", "V"]),
    ("str_contains", "str", r"b\d", ["ab1"], ["ab"]),
    ("str_startswith", "str", "a.", ["a.b"], ["ab"]),
    ("str_endswith", "str", "z", ["az"], ["za"]),
    ("str_length", "str", {"min_value": 2}, ["ab"], ["a"]),
    ("str_length", "str", {"max_value": 2}, ["ab"], ["abc"]),
    ("str_length", "str", {"exact_value": 2}, ["ab"], ["abc", "a"]),
]  # fmt: skip


@pytest.mark.parametrize(("check", "dtype", "statistic", "right", "wrong"), CASES)
def test_each_check_agrees_with_pandera(
    tmp_path: Path, check: str, dtype: str, statistic: Any, right: list[Any], wrong: list[Any]
) -> None:
    path = tmp_path / "one.yaml"
    schema = {"columns": {"a": {"dtype": dtype, "nullable": True, check: statistic}}}
    path.write_text(yaml.safe_dump(schema), encoding="utf-8")
    (column,) = load_catalogue(tmp_path)["one"].columns
    frame = pd.DataFrame({"a": pd.Series([*right, *wrong, None], dtype=dtype)})
    expected = [False] * len(right) + [True] * len(wrong) + [False]
    [(name, ours)] = pandera_checks(column).items()
    verdicts = pd.Series(True, index=frame.index)
    output = ours(frame["a"]).check_output
    verdicts[output.index] = output.to_numpy(dtype=bool, na_value=True)
    assert (~verdicts).tolist() == expected
    theirs = pa.DataFrameSchema.from_yaml(path)
    theirs.columns["a"].dtype = None
    with pytest.raises(pa.errors.SchemaErrors) as caught:
        theirs.validate(frame, lazy=True)
    assert sorted(caught.value.failure_cases["index"]) == [
        place for place, is_wrong in enumerate(expected) if is_wrong
    ]
    for value, is_wrong in zip([*right, *wrong], expected, strict=False):
        error = example_error(column.kind, column.checks, value)
        assert error == (RULES[name].wording(column.checks[name]) if is_wrong else None)
    message = RULES[name].finding.message.format(
        **RULES[name].details(column.checks[name]), found=0
    )
    assert "{" not in message.pt + message.en


@pytest.mark.parametrize(
    ("values", "wrong"), [(["x", "y", None], []), (["x", "z", "y"], [1]), ([None, "x"], [1])]
)
def test_a_column_has_exactly_the_values(values: list[str | None], wrong: list[int]) -> None:
    test = RULES["unique_values_eq"].column_test
    assert test is not None
    verdicts = test(pd.Series(values, dtype="str"), value=["x", "y"])
    assert [place for place, right in enumerate(verdicts) if not right] == wrong


@pytest.mark.parametrize(
    ("column", "place", "words"),
    [
        ("{dtype: str, regex: true}", "columns.a.regex", "false"),
        ("{dtype: str, default: x}", "columns.a.default", "not known"),
        ("{dtype: complex128}", "columns.a.dtype", "Int64"),
        ("{dtype: str, cep: , str_matches: '('}", "columns.a.str_matches", "regular expression"),
        ("{dtype: Int64, greater_than: many}", "columns.a.greater_than", "a number"),
        ("{dtype: Int64, in_range: {min_value: x, max_value: 1}}", "a.in_range", "a number"),
        ("{dtype: 'datetime64[us]', gt: 2026-01-01 10:00:00}", "greater_than", "a date"),
        ("{dtype: str, str_length: {}}", "columns.a.str_length", "at least one item"),
        ("{dtype: str, checks: [{options: {check_name: nope}}]}", "columns.a.checks", "'nope'"),
        (
            "{dtype: str, email: {}, checks: [{options: {check_name: email}}]}",
            "columns.a.checks",
            "only once",
        ),
        ("{dtype: str, in_range: {min_value: 1, max_value: 2}}", "columns.a.in_range", "only for"),
    ],
)
def test_unsupported_pandera_settings_are_refused(
    tmp_path: Path, column: str, place: str, words: str
) -> None:
    path = tmp_path / "um.yaml"
    path.write_text(f"columns:\n  a: {column}\n", encoding="utf-8")
    with pytest.raises(SchemaFileError) as caught:
        load_catalogue(tmp_path)
    first = caught.value.message.en.splitlines()[0]
    assert first.startswith(f"{path}:2: ")
    assert place in first
    assert words in first
