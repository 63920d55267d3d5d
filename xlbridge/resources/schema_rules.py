"""Check that the rules and examples of a schema file fit their columns.

One value is judged at a time, without the libraries that judge whole columns.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources.checks import ROW_RULES, RULES, bare_document, is_cnpj, is_cpf
from xlbridge.resources.checks.rule import Statistics
from xlbridge.resources.checks.rules import checks_of
from xlbridge.resources.column import DTYPES_OF_KIND, Kind
from xlbridge.resources.yaml_files import YamlPath
from xlbridge.resources.yaml_files.validation import format_yaml_value

_PYTHON_TYPES: Mapping[str, tuple[type | tuple[type, ...], Text]] = {
    "str": (str, Text(pt="um texto, entre aspas", en="a text, in quotes")),
    "Int64": (int, Text(pt="um inteiro", en="a whole number")),
    "Float64": ((int, float), Text(pt="um número", en="a number")),
    "datetime64[us]": (date, Text(pt="uma data, como 2026-12-31", en="a date, as 2026-12-31")),
    "boolean": (bool, Text(pt="true ou false", en="true or false")),
}
_DOCUMENTS = {Kind.CNPJ: is_cnpj, Kind.CPF: is_cpf}


def example_error(kind: Kind, checks: Mapping[str, Statistics], example: object) -> Text | None:
    """Return what an example should be and is not, None where it passes."""
    words = dtype_error(example, DTYPES_OF_KIND[kind])
    if words is not None:
        return words
    if kind in _DOCUMENTS and not _DOCUMENTS[kind](bare_document(str(example))):
        return RULES[kind].wording({})
    for name, statistics in checks.items():
        test = RULES[name].value_test
        if test is not None and not test(example, statistics):
            return RULES[name].wording(statistics)
    return None


def dtype_error(value: object, dtype: str) -> Text | None:
    """Return what a value of a schema file should be in a column of a dtype, None where it is."""
    expected, words = _PYTHON_TYPES[dtype]
    # A bool is an int to Python.
    if not isinstance(value, expected) or (isinstance(value, bool) and dtype != "boolean"):
        return words
    return None


_Content = Mapping[str, Any]
_Unsuitable = Iterator[tuple[YamlPath, Text]]


def unsuitable_rules(root: _Content) -> _Unsuitable:
    """Yield the rules that cannot be, each with its place: of columns, then of rows.

    Names of columns that there are none of are left to others.
    """
    for name, body in root["columns"].items():
        for rule, statistics in checks_of(body).items():
            for what in _unsuitable_for_column(body["dtype"], rule, statistics):
                yield ("columns", name, rule), what
        if body.get("required", not body.get("nullable", False)) == body.get("nullable", False):
            yield ("columns", name, "required"), _REQUIRED_CONTRADICTS_NULLABLE
    dtypes = {name: body["dtype"] for name, body in root["columns"].items()}
    for number, check in enumerate(root.get("checks") or ()):
        for key, what in _unsuitable_for_rows(check, dtypes):
            yield ("checks", number, key), what


_REQUIRED_CONTRADICTS_NULLABLE = Text(
    pt="required e nullable se contradizem: a coluna obrigatória tem required: true e "
    "nullable: false.",
    en="required and nullable contradict each other: a required column has required: true and "
    "nullable: false.",
)


def _unsuitable_for_column(dtype: str, name: str, statistics: Statistics) -> Iterator[Text]:
    rule = RULES[name]
    if dtype not in rule.dtypes:
        yield _wrong_dtype(name, dtype, rule.dtypes)
        return
    unfit = [
        what
        for statistic in rule.column_values
        for value in _as_list(statistics.get(statistic, ()))
        if (what := _wrong_bound(value, dtype)) is not None
    ]
    yield from unfit
    for statistic in rule.patterns:
        try:
            re.compile(statistics[statistic])
        except re.error as error:
            yield Text(
                pt="não é uma expressão regular: {why}.",
                en="this is not a valid regular expression: {why}.",
            ).format(why=error)
    low, high = statistics.get("min_value"), statistics.get("max_value")
    if not unfit and low is not None and high is not None and low > high:
        yield Text(
            pt="min_value é maior que max_value: nada caberia.",
            en="min_value is above max_value: nothing would fit.",
        )


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _wrong_bound(value: object, dtype: str) -> Text | None:
    # Whole numbers may be compared with others.
    return _wrong_value(value, "Float64" if dtype == "Int64" else dtype)


def _unsuitable_for_rows(check: _Content, dtypes: Mapping[str, str]) -> Iterator[tuple[str, Text]]:
    rule = ROW_RULES[check["options"]["check_name"]]
    column, other = check["column"], check.get("other", "")
    if column in _as_set(other) | _as_set(check.get("columns")) and "other" in check:
        what = Text(
            pt="{column} seria comparada consigo mesma.",
            en="{column} would be compared with itself.",
        )
        yield "column", what.format(column=column)
    # A rule of one column that holds on a condition compares nothing with the other.
    compared = ("column",) if "check" in check else ("column", "columns", "other")
    allowed = RULES[check["check"]].dtypes if "check" in check else rule.dtypes
    for key in compared if allowed else ():
        for name in sorted(_as_set(check.get(key)) & dtypes.keys()):
            if dtypes[name] not in allowed:
                yield key, _wrong_dtype(check["options"]["check_name"], dtypes[name], allowed)
    if other in dtypes:
        for value in check.get("values", ()):
            unfit = None if value is None else _wrong_value(value, dtypes[other])
            if unfit is not None:
                yield "values", unfit


def _as_set(names: object) -> set[str]:
    if isinstance(names, str):
        return {names}
    return set(names) if isinstance(names, Sequence) else set()


def _wrong_dtype(rule: str, dtype: str, allowed: frozenset[str]) -> Text:
    return Text(
        pt="{rule} não serve para uma coluna de dtype {dtype}, só para: {allowed}.",
        en="{rule} is not for a column of dtype {dtype}, only for: {allowed}.",
    ).format(rule=rule, dtype=dtype, allowed=", ".join(sorted(allowed)))


def _wrong_value(value: object, dtype: str) -> Text | None:
    expected = dtype_error(value, dtype)
    if expected is None:
        return None
    return Text(
        pt="{value} não pode ser valor da coluna: deveria ser {expected}.",
        en="{value} cannot be a value of the column: it should be {expected}.",
    ).format(value=format_yaml_value(value), expected=expected)
