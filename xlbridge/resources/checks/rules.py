"""Rules of columns and rows: names, wording, statistics, findings. The part that needs no pandas.

``pandas_checks`` holds their functions, under the same names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from xlbridge.i18n import Text, localized_number

Statistics = Mapping[str, Any]

_MAX_NAMED = 12
"""So many of the values that a column allows are named; templates have all of them to choose."""

TEXT_DTYPES = frozenset({"str"})
NUMBER_DTYPES = frozenset({"Int64", "Float64"})
DATE_DTYPES = frozenset({"datetime64[us]"})
ALL_DTYPES = TEXT_DTYPES | NUMBER_DTYPES | DATE_DTYPES | {"boolean"}


@dataclass(frozen=True, slots=True)
class Rule:
    """A check as seen from outside.

    ``finding`` is the code in the catalogue of findings; ``details`` makes a finding's
    placeholders from the check's statistics; ``statement`` says the rule in words, for templates
    and docs. ``statistics`` are the names that a schema file gives, ``optional`` those that it
    may leave out. ``dtypes`` are those of the columns that it can judge.
    """

    finding: str
    statistics: tuple[str, ...]
    statement: Callable[[Statistics], Text]
    details: Callable[[Statistics], dict[str, object]] = lambda _: {}
    optional: tuple[str, ...] = ()
    dtypes: frozenset[str] = TEXT_DTYPES


def _number(value: object) -> Text:
    return localized_number(f"{value:.15g}" if isinstance(value, float) else str(value))


def _span(statistics: Statistics) -> Text:
    if statistics["min_value"] == statistics["max_value"]:
        return _number(statistics["min_value"])
    return Text(pt="de {low} a {high}", en="from {low} to {high}").format(
        low=_number(statistics["min_value"]), high=_number(statistics["max_value"])
    )


def _bound(pt: str, en: str) -> Callable[[Statistics], Text]:
    def bound(statistics: Statistics) -> Text:
        return Text(pt=pt, en=en).format(value=_number(statistics["value"]))

    return bound


_greater = _bound("maior que {value}", "greater than {value}")
_at_least = _bound("{value} ou mais", "{value} or more")
_less = _bound("menor que {value}", "less than {value}")
_at_most = _bound("{value} ou menos", "{value} or less")


def _range_rule(bounds: Callable[[Statistics], Text], *statistics: str) -> Rule:
    return Rule(
        "value-range",
        statistics,
        bounds,
        lambda s: {"bounds": bounds(s)},
        dtypes=NUMBER_DTYPES,
    )


def _fixed(pt: str, en: str) -> Callable[[Statistics], Text]:
    return lambda _: Text(pt=pt, en=en)


def _allowed(statistics: Statistics) -> Text:
    values = [str(value) for value in statistics["value"]]
    named = ", ".join(values[:_MAX_NAMED])
    if len(values) <= _MAX_NAMED:
        return Text(pt=named, en=named)
    return Text(pt="{named}… (são {n})", en="{named}… ({n} in all)").format(
        named=named, n=len(values)
    )


def _cell_text(value: object) -> Text:
    """Write a value as the cells of a sheet show it."""
    if isinstance(value, bool):
        return Text(pt="VERDADEIRO", en="TRUE") if value else Text(pt="FALSO", en="FALSE")
    return Text(pt=str(value), en=str(value))


def _digits(statistics: Statistics) -> Text:
    return Text(
        pt="{width} {width:algarismo|algarismos}", en="{width} {width:digit|digits}"
    ).format(width=statistics["width"])


def _condition(statistics: Statistics) -> Text:
    filled = [_cell_text(value) for value in statistics["values"] if value is not None]
    empty = None in statistics["values"]
    return Text(
        pt="{other} é {values}" + (" ou está em branco" if empty else ""),
        en="{other} is {values}" + (" or blank" if empty else ""),
    ).format(
        other=statistics["other"],
        values=Text(
            pt=" ou ".join(value.pt for value in filled),
            en=" or ".join(value.en for value in filled),
        ),
    )


_CNPJ = Text(pt="CNPJ válido", en="a valid CNPJ")
_CPF = Text(pt="CPF válido", en="a valid CPF")
_NO_REPEATS = Text(pt="sem repetição na planilha", en="not repeated in the sheet")

RULES: Mapping[str, Rule] = {
    "greater_than": _range_rule(_greater, "value"),
    "greater_than_or_equal_to": _range_rule(_at_least, "value"),
    "less_than": _range_rule(_less, "value"),
    "less_than_or_equal_to": _range_rule(_at_most, "value"),
    "in_range": _range_rule(_span, "min_value", "max_value"),
    "str_length": Rule(
        "text-length",
        ("min_value", "max_value"),
        lambda s: Text(pt="{span} caracteres", en="{span} characters").format(span=_span(s)),
        lambda s: {"bounds": _span(s)},
    ),
    "isin": Rule(
        "value-not-allowed",
        ("value",),
        lambda s: Text(pt="um de: {values}", en="one of: {values}").format(values=_allowed(s)),
        lambda s: {"allowed": _allowed(s)},
    ),
    "decimals": Rule(
        "decimal-places",
        ("places",),
        lambda s: Text(
            pt="até {places} {places:casa decimal|casas decimais}",
            en="at most {places} decimal {places:place|places}",
        ).format(places=s["places"]),
        lambda s: {"places": s["places"]},
        dtypes=NUMBER_DTYPES,
    ),
    "digits": Rule(
        "format",
        ("width", "separators"),
        _digits,
        lambda s: {"form": _digits(s)},
        optional=("separators",),
    ),
    "email": Rule("email-invalid", (), _fixed("e-mail válido", "a valid e-mail address")),
    "cnpj": Rule("cnpj-invalid", (), lambda _: _CNPJ),
    "cpf": Rule("cpf-invalid", (), lambda _: _CPF),
    "boleto": Rule(
        "barcode-invalid", (), _fixed("código de boleto válido", "a valid bank-slip code")
    ),
    "cep": Rule("cep-invalid", (), _fixed("CEP válido", "a valid postcode (CEP)")),
    "uf": Rule("uf-invalid", (), _fixed("sigla de um estado", "the letters of a state")),
    "ncm": Rule("ncm-invalid", (), _fixed("código NCM", "an NCM code")),
    "nbs": Rule("nbs-invalid", (), _fixed("código NBS", "an NBS code")),
    "municipality": Rule(
        "municipality-invalid",
        (),
        _fixed("código IBGE de município", "an IBGE code of a municipality"),
    ),
    "access_key": Rule(
        "access-key-invalid", (), _fixed("chave de acesso válida", "a valid access key")
    ),
    "telephone": Rule("phone-doubtful", (), _fixed("telefone com DDD", "a telephone number")),
    "no_repeats": Rule("duplicate-in-sheet", (), lambda _: _NO_REPEATS, dtypes=ALL_DTYPES),
}
"""The checks of a single column, by name."""


@dataclass(frozen=True, slots=True)
class RowRule:
    """A check across the columns of a row, or across rows.

    Its findings go to the column that the statistic ``column`` names. ``columns`` gives the
    other columns that it reads: where one of them could not be read, the row is not judged.
    ``dtypes`` are those of the columns that it compares with one another, ``column`` included;
    empty where it compares none.
    """

    statistics: tuple[str, ...]
    statement: Callable[[Statistics], Text]
    finding: Callable[[Statistics], str]
    columns: Callable[[Statistics], tuple[str, ...]]
    details: Callable[[Statistics], dict[str, object]] = lambda _: {}
    dtypes: frozenset[str] = frozenset()


def _other(statistics: Statistics) -> tuple[str, ...]:
    return (str(statistics["other"]),)


ROW_RULES: Mapping[str, RowRule] = {
    "valid_when": RowRule(
        ("column", "check", "other", "values"),
        lambda s: Text(
            pt="{column}: {rule} quando {condition}", en="{column}: {rule} when {condition}"
        ).format(column=s["column"], rule=RULES[s["check"]].statement({}), condition=_condition(s)),
        lambda s: RULES[s["check"]].finding,
        _other,
    ),
    "required_when": RowRule(
        ("column", "other", "values"),
        lambda s: Text(
            pt="{column}: obrigatória quando {condition}",
            en="{column}: required when {condition}",
        ).format(column=s["column"], condition=_condition(s)),
        lambda _: "required-when",
        _other,
        lambda s: {"condition": _condition(s), "condition_column": s["other"]},
    ),
    "not_before": RowRule(
        ("column", "other"),
        lambda s: Text(
            pt="{column}: não antes de {other}", en="{column}: not before {other}"
        ).format(column=s["column"], other=s["other"]),
        lambda _: "not-before",
        _other,
        lambda s: {"other": s["other"]},
        dtypes=DATE_DTYPES,
    ),
    "not_above": RowRule(
        ("column", "other"),
        lambda s: Text(
            pt="{column}: não maior que {other}", en="{column}: not greater than {other}"
        ).format(column=s["column"], other=s["other"]),
        lambda _: "net-exceeds-gross",
        _other,
        lambda s: {"other": s["other"]},
        dtypes=NUMBER_DTYPES,
    ),
    "sum_not_above": RowRule(
        ("column", "columns", "other"),
        lambda s: Text(
            pt="{column}: com {columns}, não maior que {other}",
            en="{column}: with {columns}, not greater than {other}",
        ).format(column=s["column"], columns=", ".join(s["columns"]), other=s["other"]),
        lambda _: "sum-exceeds-gross",
        lambda s: (*s["columns"], s["other"]),
        lambda s: {"columns": ", ".join(s["columns"]), "other": s["other"]},
        dtypes=NUMBER_DTYPES,
    ),
    "no_repeated_rows": RowRule(
        ("column", "columns"),
        lambda s: Text(
            pt="linhas sem repetição de: {columns}", en="rows with no repeated: {columns}"
        ).format(columns=", ".join(s["columns"])),
        lambda _: "duplicate-in-sheet",
        lambda s: tuple(s["columns"]),
    ),
}
"""The checks across columns or rows, by name."""


_WIDTHS = {"boleto": 44, "access_key": 44, "nbs": 9, "cep": 8, "ncm": 8, "municipality": 7}


def checks_of(body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the checks in the body of a schema file's column, each with its statistics.

    A lone statistic is called ``value``.
    """
    return {
        name: dict(value) if isinstance(value, Mapping) else {"value": value}
        for name, value in body.items()
        if name in RULES
    }


def code_width(kind: str, checks: Mapping[str, Any]) -> int | None:
    """Return how many symbols a code of fixed width has, None where the width is free."""
    if "digits" in checks:
        return int(checks["digits"]["width"])
    for name, width in _WIDTHS.items():
        if name in checks:
            return width
    return {"cnpj": 14, "cpf": 11}.get(kind)
