"""What a column asks for, in the analyst's words.

Templates speak Portuguese whatever the language of the command is, as their readers do.
"""

from collections.abc import Mapping
from datetime import date

from xlbridge.resources.column import Column, Kind
from xlbridge.resources.resource import Resource
from xlbridge.resources.rules import ROW_RULES, RULES

TRUE, FALSE = "VERDADEIRO", "FALSO"

_KIND_NAMES: Mapping[Kind, str] = {
    Kind.TEXT: "texto",
    Kind.CODE: "código (texto)",
    Kind.CNPJ: "CNPJ (texto)",
    Kind.CPF: "CPF (texto)",
    Kind.INTEGER: "número inteiro",
    Kind.NUMBER: "número",
    Kind.MONEY: "valor em reais",
    Kind.DATE: "data",
    Kind.BOOLEAN: f"{TRUE} ou {FALSE}",
}

_KIND_RULES: Mapping[Kind, tuple[str, ...]] = {
    Kind.DATE: ("dd/mm/aaaa",),
}


def kind_name(column: Column) -> str:
    """Return what the column's values are, such as ``número inteiro``."""
    return _KIND_NAMES[column.kind]


def obligation(column: Column) -> str:
    """Return ``obrigatória`` or ``opcional``."""
    return "obrigatória" if column.required else "opcional"


def rules_in_words(column: Column) -> str:
    """Return the rules of the column's own values, separated by semicolons."""
    checks = [RULES[name].statement(statistics).pt for name, statistics in column.checks.items()]
    return "; ".join((*_KIND_RULES.get(column.kind, ()), *checks))


def row_rules_in_words(resource: Resource) -> list[str]:
    """Return the rules across columns and rows, one sentence each."""
    return [ROW_RULES[c.name].statement(c.statistics).pt for c in resource.row_checks]


def example_in_words(column: Column) -> str:
    """Return the column's example as an analyst would type it, empty where there is none."""
    example = column.example
    if example is None:
        return ""
    if column.kind is Kind.BOOLEAN:
        return TRUE if example else FALSE
    if isinstance(example, date):
        return example.strftime("%d/%m/%Y")
    if column.kind is Kind.MONEY:
        return _with_decimal_comma(f"{example:,.2f}")
    if column.kind is Kind.NUMBER:
        return _with_decimal_comma(f"{example:,}")
    return str(example)


def _with_decimal_comma(number: str) -> str:
    return number.translate(str.maketrans(",.", ".,"))
