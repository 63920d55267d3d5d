"""Declarations of rules: everything about a rule in one place, beside its test.

A decorator turns the function that tests values into a rule. It names the rule as schema files
do, what is found where it is broken, and what it says in words. This module and the declarations
need neither pandas nor numpy, so that a command which only reads schema files starts quickly.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar

from xlbridge.i18n import Text, localized_number

if TYPE_CHECKING:
    import pandas as pd

    from xlbridge.resources.findings.finding import FindingKind

Statistics = Mapping[str, Any]
"""Values that a schema file gives a rule, by name; a lone one is called ``value``."""

StatisticSchema = Mapping[str, Any] | Callable[[], Mapping[str, Any]]
"""The JSON Schema of a statistic, or what returns it once all rules are declared."""

Wording = Callable[[Statistics], Text]
Details = Callable[[Statistics], dict[str, object]]
ValueTest = Callable[[Any, Statistics], bool]
_ColumnTest = TypeVar("_ColumnTest", bound="Callable[..., pd.Series]")
_RowTest = TypeVar("_RowTest", bound="Callable[..., pd.Series]")

COLUMN_NAME: Mapping[str, Any] = {"type": "string", "minLength": 1}
COLUMN_NAMES: Mapping[str, Any] = {
    "type": "array",
    "items": COLUMN_NAME,
    "uniqueItems": True,
    "minItems": 1,
}
ANY_VALUES: Mapping[str, Any] = {"type": "array", "minItems": 1}
COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0}

TEXT_DTYPES = frozenset({"str"})
NUMBER_DTYPES = frozenset({"Int64", "Float64"})
DATE_DTYPES = frozenset({"datetime64[us]"})
ALL_DTYPES = TEXT_DTYPES | NUMBER_DTYPES | DATE_DTYPES | {"boolean"}


def _no_details(_: Statistics) -> dict[str, object]:
    return {}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule about the cells of one column.

    ``finding`` is what is found where it is broken, and ``details`` makes the values of the
    finding's placeholders from the statistics. ``wording`` says the rule in words, for templates
    and pages. ``statistics`` maps the names that a schema file gives to their JSON Schemas,
    ``optional`` are those that it may leave out. ``dtypes`` are those of the columns that the rule
    can judge. ``column_values`` are the statistics that are values of the column, or lists of
    them; ``patterns`` those that are regular expressions. ``width`` returns how
    many symbols each value has, where that is fixed.

    ``column_test`` takes a column of typed values and returns one boolean per row, True where the
    value is right or missing; it is None where pandera has a check of that name.
    ``value_test`` judges the one value of an example; it is None where one value says nothing.
    ``whole_column`` tells that cells are compared with one another, so that a piece of a column
    cannot be judged by itself.
    """

    name: str
    finding: "FindingKind"
    wording: Wording
    statistics: Mapping[str, StatisticSchema]
    details: Details
    optional: tuple[str, ...]
    dtypes: frozenset[str]
    column_values: tuple[str, ...]
    patterns: tuple[str, ...]
    width: Callable[[Statistics], int] | None
    column_test: "Callable[..., pd.Series] | None"
    value_test: ValueTest | None
    whole_column: bool


@dataclass(frozen=True, slots=True)
class RowRule:
    """A rule across the columns of a row, or across rows.

    Its findings go to the column that the statistic ``column`` names. The statistics ``other`` and
    ``columns`` name the further columns that it reads: where one of them could not be read, the
    row is not judged. ``finding`` is None where it is that of the column rule which the statistic
    ``check`` names. ``dtypes`` are those of the columns that it compares with one another,
    ``column`` included; empty where it compares none.

    ``row_test`` takes the frame of typed values and returns one boolean per row. ``correct`` takes
    the same and returns what ``column`` should hold in each row, where the rule can tell;
    ``row_details`` returns the values of the finding's placeholders for each row, where they differ
    from row to row. Both are given the rows that break the rule.
    """

    name: str
    finding: "FindingKind | None"
    wording: Wording
    statistics: Mapping[str, StatisticSchema]
    details: Details
    dtypes: frozenset[str]
    row_test: "Callable[..., pd.Series]"
    correct: "Callable[..., pd.Series] | None" = None
    row_details: Callable[..., list[Mapping[str, object]]] | None = None

    def finding_of(self, statistics: Statistics) -> "FindingKind":
        """Return what is found where the rule is broken."""
        return self.finding or declared_rules[statistics["check"]].finding

    def columns_read(self, statistics: Statistics) -> tuple[str, ...]:
        """Return the columns that the rule reads beside the one of its findings."""
        other = (statistics["other"],) if "other" in statistics else ()
        return (*statistics.get("columns", ()), *other)


declared_rules: dict[str, Rule] = {}
declared_row_rules: dict[str, RowRule] = {}
"""The rules declared so far; ``RULES`` and ``ROW_RULES`` have all of them."""


def declared_findings() -> Iterator["FindingKind"]:
    """Yield the kinds of findings of all rules declared so far; rules may share one."""
    yield from (rule.finding for rule in declared_rules.values())
    yield from (rule.finding for rule in declared_row_rules.values() if rule.finding)


def text_check(
    name: str,
    *,
    finding: "FindingKind",
    wording: Text,
    width: int | None = None,
    without_mask: Callable[[str], str] = str,
) -> Callable[[Callable[[str], bool]], Callable[[str], bool]]:
    """Declare the rule that a function tests one text at a time.

    ``width`` is how many symbols each right text has. ``without_mask`` takes off what an example
    may have and the texts of a sheet have lost when the rule judges them.

    Raises ``ValueError`` when there is a rule of that name.
    """

    def declare(passes: Callable[[str], bool]) -> Callable[[str], bool]:
        def test_column(values: "pd.Series") -> "pd.Series":
            wrong = [text for text in values.dropna().unique() if not passes(text)]
            return ~values.isin(wrong)

        column_check(
            name,
            finding=finding,
            wording=lambda _: wording,
            width=None if width is None else lambda _: width,
            value_test=lambda example, _: passes(without_mask(example)),
        )(test_column)
        return passes

    return declare


def column_check(
    name: str,
    *,
    finding: "FindingKind",
    wording: Wording,
    statistics: Mapping[str, StatisticSchema] | None = None,
    optional: tuple[str, ...] = (),
    details: Details = _no_details,
    dtypes: frozenset[str] = TEXT_DTYPES,
    column_values: tuple[str, ...] = (),
    width: Callable[[Statistics], int] | None = None,
    value_test: ValueTest | None = None,
    whole_column: bool = False,
) -> Callable[[_ColumnTest], _ColumnTest]:
    """Declare the rule that a function tests on a whole column; see ``Rule`` for the arguments.

    The function takes the column and each of the statistics by name.

    Raises ``ValueError`` when there is a rule of that name.
    """

    def declare(column_test: _ColumnTest) -> _ColumnTest:
        rule = Rule(
            name,
            finding,
            wording,
            statistics or {},
            details,
            optional,
            dtypes,
            column_values,
            patterns=(),
            width=width,
            column_test=column_test,
            value_test=value_test,
            whole_column=whole_column,
        )
        _add(rule, declared_rules)
        return column_test

    return declare


def builtin_check(
    name: str,
    *,
    finding: "FindingKind",
    wording: Wording,
    statistics: Mapping[str, StatisticSchema],
    details: Details,
    value_test: ValueTest,
    optional: tuple[str, ...] = (),
    dtypes: frozenset[str] = TEXT_DTYPES,
    column_values: tuple[str, ...] = (),
    patterns: tuple[str, ...] = (),
) -> None:
    """Declare the rule of a check that pandera brings; see ``Rule`` for the arguments."""
    rule = Rule(
        name,
        finding,
        wording,
        statistics,
        details,
        optional,
        dtypes,
        column_values,
        patterns,
        width=None,
        column_test=None,
        value_test=value_test,
        whole_column=False,
    )
    _add(rule, declared_rules)


def row_check(
    name: str,
    *,
    finding: "FindingKind | None",
    wording: Wording,
    statistics: Mapping[str, StatisticSchema],
    details: Details = _no_details,
    dtypes: frozenset[str] = frozenset(),
    correct: "Callable[..., pd.Series] | None" = None,
    row_details: Callable[..., list[Mapping[str, object]]] | None = None,
) -> Callable[[_RowTest], _RowTest]:
    """Declare the rule that a function tests on a frame; see ``RowRule`` for the arguments.

    The function takes the frame and each of the statistics by name.

    Raises ``ValueError`` when there is a rule of that name.
    """

    def declare(row_test: _RowTest) -> _RowTest:
        rule = RowRule(
            name, finding, wording, statistics, details, dtypes, row_test, correct, row_details
        )
        _add(rule, declared_row_rules)
        return row_test

    return declare


_AnyRule = TypeVar("_AnyRule", Rule, RowRule)


def _add(rule: _AnyRule, declared: dict[str, _AnyRule]) -> None:
    if rule.name in declared_rules or rule.name in declared_row_rules:
        raise ValueError(f"There is a rule {rule.name!r} already.")
    declared[rule.name] = rule


def value_text(value: object) -> Text:
    """Write a value as the cells of a sheet show it."""
    if isinstance(value, bool):
        return Text(pt="VERDADEIRO", en="TRUE") if value else Text(pt="FALSO", en="FALSE")
    if isinstance(value, date):
        return Text(pt=f"{value:%d/%m/%Y}", en=f"{value:%d/%m/%Y}")
    if isinstance(value, float):
        return localized_number(f"{value:.15g}")
    return Text(pt=str(value), en=str(value))
