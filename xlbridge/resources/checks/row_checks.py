"""Rules across columns or rows: conditions, comparisons, repetition."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from xlbridge.i18n import OR, Text, joined, untranslated
from xlbridge.resources.checks.rule import (
    ALL_DTYPES,
    DATE_DTYPES,
    NUMBER_DTYPES,
    ColumnNames,
    Statistics,
    Values,
    column_check,
    declared_rules,
    row_check,
    value_text,
)
from xlbridge.resources.findings import error
from xlbridge.resources.models import Name, one_of

if TYPE_CHECKING:
    import pandas as pd


def is_one_of(frame: "pd.DataFrame", other: str, wanted: Sequence[Any]) -> "pd.Series":
    """Return a mask of the rows in which ``other`` has one of the ``wanted`` values, None for a
    missing value."""
    filled = [value for value in wanted if value is not None]
    holds = frame[other].isin(filled)
    return holds | frame[other].isna() if None in wanted else holds


def _condition(statistics: Statistics) -> Text:
    filled = [value_text(value) for value in statistics["values"] if value is not None]
    empty = None in statistics["values"]
    return Text(
        pt="{other} é {values}" + (" ou está em branco" if empty else ""),
        en="{other} is {values}" + (" or blank" if empty else ""),
    ).format(
        other=statistics["other"],
        values=joined(filled, OR),
    )


@row_check(
    "valid_when",
    finding=None,
    wording=lambda s: Text(
        pt="{column}: {rule} quando {condition}", en="{column}: {rule} when {condition}"
    ).format(
        column=s["column"],
        rule=declared_rules[s["check"]].wording({}),
        condition=_condition(s),
    ),
    statistics={
        "column": Name,
        "check": Annotated[
            str,
            one_of(lambda: [name for name, rule in declared_rules.items() if not rule.statistics]),
        ],
        "other": Name,
        "values": Values,
    },
    tests_unknown=True,
    needed=("column",),
)
def valid_when(
    frame: "pd.DataFrame", *, column: str, check: str, other: str, values: Sequence[Any]
) -> "pd.Series":
    """Apply the single-column ``check`` to ``column`` if ``other`` has one of ``values``."""
    test = declared_rules[check].column_test
    if test is None:
        raise ValueError(f"{check} is a built-in check of pandera, which needs statistics.")
    return ~is_one_of(frame, other, values) | test(frame[column])


@row_check(
    "required_when",
    finding=error(
        "required-when",
        pt="Falta o valor, obrigatório quando {condition}.",
        en="The value is missing; it is required when {condition}.",
        hint_pt="Preencha a célula, ou corrija {condition_column}.",
        hint_en="Fill in the cell, or correct {condition_column}.",
    ),
    wording=lambda s: Text(
        pt="{column}: obrigatória quando {condition}",
        en="{column}: required when {condition}",
    ).format(column=s["column"], condition=_condition(s)),
    statistics={"column": Name, "other": Name, "values": Values},
    details=lambda s: {"condition": _condition(s), "condition_column": s["other"]},
)
def required_when(
    frame: "pd.DataFrame", *, column: str, other: str, values: Sequence[Any]
) -> "pd.Series":
    """Require ``column`` if ``other`` has one of ``values`` (None: is blank)."""
    return ~(is_one_of(frame, other, values) & frame[column].isna())


@row_check(
    "not_before",
    finding=error(
        "not-before",
        pt="A data é anterior à de {other}.",
        en="The date is earlier than that of {other}.",
        hint_pt="Confira as duas datas.",
        hint_en="Check both dates.",
    ),
    wording=lambda s: Text(
        pt="{column}: não antes de {other}", en="{column}: not before {other}"
    ).format(column=s["column"], other=s["other"]),
    statistics={"column": Name, "other": Name},
    details=lambda s: {"other": s["other"]},
    dtypes=DATE_DTYPES,
    needed=("column", "other"),
)
def not_before(frame: "pd.DataFrame", *, column: str, other: str) -> "pd.Series":
    """Accept dates in ``column`` that are not before the date in ``other``."""
    return ~(frame[column] < frame[other])


@row_check(
    "not_above",
    finding=error(
        "net-exceeds-gross",
        pt="O valor é maior que {other}.",
        en="The value is greater than {other}.",
        hint_pt="Confira os dois valores.",
        hint_en="Check both values.",
    ),
    wording=lambda s: Text(
        pt="{column}: não maior que {other}", en="{column}: not greater than {other}"
    ).format(column=s["column"], other=s["other"]),
    statistics={"column": Name, "other": Name},
    details=lambda s: {"other": s["other"]},
    dtypes=NUMBER_DTYPES,
    needed=("column", "other"),
)
def not_above(frame: "pd.DataFrame", *, column: str, other: str) -> "pd.Series":
    """Accept numbers in ``column`` that are not above the number in ``other``."""
    return ~(frame[column] > frame[other]).fillna(value=False).astype(bool)


@row_check(
    "sum_not_above",
    finding=error(
        "sum-exceeds-gross",
        pt="O valor, somado a {columns}, é maior que {other}.",
        en="The value, added to {columns}, is greater than {other}.",
        hint_pt="Confira os valores retidos e o valor bruto.",
        hint_en="Check the withheld amounts and the gross amount.",
    ),
    wording=lambda s: Text(
        pt="{column}: com {columns}, não maior que {other}",
        en="{column}: with {columns}, not greater than {other}",
    ).format(column=s["column"], columns=", ".join(s["columns"]), other=s["other"]),
    statistics={"column": Name, "columns": ColumnNames, "other": Name},
    details=lambda s: {"columns": ", ".join(s["columns"]), "other": s["other"]},
    dtypes=NUMBER_DTYPES,
    needed=("column", "other"),
)
def sum_not_above(
    frame: "pd.DataFrame", *, column: str, columns: Sequence[str], other: str
) -> "pd.Series":
    """Accept sums of ``column`` and ``columns`` that are not above ``other``.

    Missing values of ``columns`` count as zero; half a cent is tolerated.
    """
    # By columns: a sum over the rows of a frame converts each of its cells.
    total = frame[column] + sum(frame[name].fillna(0) for name in columns)
    return ~(total > frame[other] + 0.005).fillna(value=False).astype(bool)


def _filled_alone(frame: "pd.DataFrame", columns: Sequence[str], name: str) -> "pd.Series":
    """Return a mask of the rows with a document in column ``name`` and nothing in the others."""
    filled = frame[list(columns)].notna()
    alone = filled[name] & (filled.sum(axis="columns") == 1)
    tests = [test for kind in ("cnpj", "cpf") if (test := declared_rules[kind].value_test)]
    texts = frame.loc[alone, name].unique()
    return alone & frame[name].isin([t for t in texts if any(test(t, {}) for test in tests)])


def _fitting_value(
    frame: "pd.DataFrame", *, column: str, columns: Sequence[str], values: Sequence[Any]
) -> "pd.Series":
    fitting = frame[column].copy()
    for name, value in zip(columns, values, strict=False):
        fitting[_filled_alone(frame, columns, name)] = value
    return fitting


def _fitting_pairs(statistics: Statistics) -> Text:
    pairs = zip(statistics["values"], statistics["columns"], strict=False)
    listed = ", ".join(f"{value} – {name}" for value, name in pairs)
    return untranslated(listed)


@row_check(
    "fits_document",
    finding=error(
        "nature-document",
        pt="Não combina com o documento preenchido ({pairs}; em branco vale {default}).",
        en="This does not match the document in the row ({pairs}; blank means {default}).",
        hint_pt="Corrija a célula, ou passe o documento para a outra coluna.",
        hint_en="Correct the cell, or move the document to the other column.",
    ),
    wording=lambda s: Text(
        pt="{column}: conforme o documento preenchido ({pairs})",
        en="{column}: matches the document in the row ({pairs})",
    ).format(column=s["column"], pairs=_fitting_pairs(s)),
    statistics={"column": Name, "columns": ColumnNames, "values": Values},
    details=lambda s: {"pairs": _fitting_pairs(s), "default": s["values"][0]},
    correct=_fitting_value,
)
def fits_document(
    frame: "pd.DataFrame", *, column: str, columns: Sequence[str], values: Sequence[Any]
) -> "pd.Series":
    """Accept the value that belongs to the column of the only document: ``values`` are in the order
    of ``columns``.

    A missing value counts as the first one. Rows without a valid document pass.
    """
    right = frame[column].isna() | frame[column].notna()
    for name, value in zip(columns, values, strict=False):
        differs = ~is_one_of(frame, column, [value, None] if value == values[0] else [value])
        if differs.any():
            right[differs] = ~_filled_alone(frame.loc[differs, list(columns)], columns, name)
    return right


_REPEATED = error(
    "duplicate-in-sheet",
    pt="O valor se repete nesta planilha (primeira vez em {first}).",
    en="The value is repeated in this sheet (first in {first}).",
    hint_pt="Deixe só uma das linhas, ou corrija o valor.",
    hint_en="Keep only one of the rows, or correct the value.",
)


@column_check(
    "no_repeats",
    finding=_REPEATED,
    wording=lambda _: Text(pt="sem repetição na planilha", en="not repeated in the sheet"),
    dtypes=ALL_DTYPES,
    whole_column=True,
)
def no_repeats(values: "pd.Series") -> "pd.Series":
    """Refuse repeated values, except missing ones."""
    return ~(values.duplicated() & values.notna())


@row_check(
    "no_repeated_rows",
    finding=_REPEATED,
    wording=lambda s: Text(
        pt="linhas sem repetição de: {columns}", en="no two rows with the same {columns}"
    ).format(columns=", ".join(s["columns"])),
    statistics={"column": Name, "columns": ColumnNames},
    needed=("columns",),
)
def no_repeated_rows(frame: "pd.DataFrame", *, column: str, columns: Sequence[str]) -> "pd.Series":
    """Refuse rows with the same values in ``columns``, except those with a missing value."""
    import pandas as pd
    from pandas.api.types import is_string_dtype as is_text

    passes = pd.Series(data=True, index=frame.index)
    keys = frame[list(columns)].reset_index(drop=True)
    # Only rows that share every single value can be equal: filter column by column, texts last, as
    # they take the longest, and ``column`` first, as its values repeat least.
    for name in sorted(columns, key=lambda name: (is_text(frame[name]), name != column)):
        is_shared = keys[name].duplicated(keep=False)
        if not is_shared.any():
            return passes
        if not is_shared.all():
            keys = keys[is_shared]
    keys = keys.dropna()
    passes.iloc[keys.index[keys.duplicated()]] = False
    return passes


@row_check(
    "no_equal_rows",
    finding=_REPEATED,
    wording=lambda s: Text(
        pt="linhas sem repetição de: {columns} (em branco também conta)",
        en="no two rows with the same {columns} (blank counts, too)",
    ).format(columns=", ".join(s["columns"])),
    statistics={"column": Name, "columns": ColumnNames},
    needed=("column",),
)
def no_equal_rows(frame: "pd.DataFrame", *, column: str, columns: Sequence[str]) -> "pd.Series":
    """Refuse rows with the same values in ``columns``, or the same missing ones, except rows
    without ``column``."""
    return ~frame[list(columns)].duplicated() | frame[column].isna()
