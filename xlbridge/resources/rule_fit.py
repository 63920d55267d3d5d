"""Whether the rules of a schema file suit the columns that they stand on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources.examples import dtype_fault
from xlbridge.resources.rules import ROW_RULES, RULES, Statistics, checks_of
from xlbridge.yaml_files.form import as_written
from xlbridge.yaml_files.places import Place

_Content = Mapping[str, Any]
_Found = Iterator[tuple[Place, Text]]


def unfit_rules(root: _Content) -> _Found:
    """Yield the rules that cannot be, each with its place: of columns, then of rows.

    Names of columns that there are none of are left to others.
    """
    for name, body in root["columns"].items():
        for rule, statistics in checks_of(body).items():
            for what in _of_column(body["dtype"], rule, statistics):
                yield ("columns", name, rule), what
        if body.get("required", not body.get("nullable", False)) == body.get("nullable", False):
            yield ("columns", name, "required"), _OPPOSITES
    dtypes = {name: body["dtype"] for name, body in root["columns"].items()}
    for number, check in enumerate(root.get("checks") or ()):
        for key, what in _of_rows(check, dtypes):
            yield ("checks", number, key), what


_OPPOSITES = Text(
    pt="required e nullable se contradizem: a coluna obrigatória tem required: true e "
    "nullable: false.",
    en="required and nullable contradict each other: a required column has required: true and "
    "nullable: false.",
)


def _of_column(dtype: str, rule: str, statistics: Statistics) -> Iterator[Text]:
    allowed = RULES[rule].dtypes
    if dtype not in allowed:
        yield _not_for(rule, dtype, allowed)
    elif rule == "isin":
        yield from filter(None, (_misfit(value, dtype) for value in statistics["value"]))
    elif statistics.get("min_value", 0) > statistics.get("max_value", float("inf")):
        yield Text(
            pt="min_value é maior que max_value: nada caberia.",
            en="min_value is above max_value: nothing would fit.",
        )


def _of_rows(check: _Content, dtypes: Mapping[str, str]) -> Iterator[tuple[str, Text]]:
    rule = ROW_RULES[check["options"]["check_name"]]
    column, other = check["column"], check.get("other", "")
    if column in _several(other) | _several(check.get("columns")) and "other" in check:
        what = Text(
            pt="{column} seria comparada consigo mesma.",
            en="{column} would be compared with itself.",
        )
        yield "column", what.format(column=column)
    # A rule of one column that holds on a condition compares nothing with the other.
    compared = ("column",) if "check" in check else ("column", "columns", "other")
    allowed = RULES[check["check"]].dtypes if "check" in check else rule.dtypes
    for key in compared if allowed else ():
        for name in sorted(_several(check.get(key)) & dtypes.keys()):
            if dtypes[name] not in allowed:
                yield key, _not_for(check["options"]["check_name"], dtypes[name], allowed)
    if other in dtypes:
        for value in check.get("values", ()):
            unfit = None if value is None else _misfit(value, dtypes[other])
            if unfit is not None:
                yield "values", unfit


def _several(names: object) -> set[str]:
    if isinstance(names, str):
        return {names}
    return set(names) if isinstance(names, Sequence) else set()


def _not_for(rule: str, dtype: str, allowed: frozenset[str]) -> Text:
    return Text(
        pt="{rule} não serve para uma coluna de dtype {dtype}, só para: {allowed}.",
        en="{rule} is not for a column of dtype {dtype}, only for: {allowed}.",
    ).format(rule=rule, dtype=dtype, allowed=", ".join(sorted(allowed)))


def _misfit(value: object, dtype: str) -> Text | None:
    expected = dtype_fault(value, dtype)
    if expected is None:
        return None
    return Text(
        pt="{value} não pode ser valor da coluna: deveria ser {expected}.",
        en="{value} cannot be a value of the column: it should be {expected}.",
    ).format(value=as_written(value), expected=expected)
