"""Declarations of rules: everything about a rule in one place, next to its test.

A decorator turns a test function into a rule, with its name in schema files, its finding and its
wording. This module and the declarations import neither pandas nor numpy, so that commands that
only read schema files start quickly.
"""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import Meta

from xlbridge.i18n import Text, localized_number, untranslated
from xlbridge.resources.models import Names

if TYPE_CHECKING:
    import pandas as pd

    from xlbridge.resources.findings import FindingKind

Statistics = Mapping[str, Any]
"""Parameters of a rule in a schema file, by name; a single one is called ``value``."""

Wording = Callable[[Statistics], Text]
Details = Callable[[Statistics], dict[str, object]]
ValueTest = Callable[[Any, Statistics], bool]

ColumnNames = Annotated[Names, Meta(min_length=1)]
Values = Annotated[list[Any], Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]

TEXT_DTYPES = frozenset({"str"})
NUMBER_DTYPES = frozenset({"Int64", "Float64"})
DATE_DTYPES = frozenset({"datetime64[us]"})
ALL_DTYPES = TEXT_DTYPES | NUMBER_DTYPES | DATE_DTYPES | {"boolean"}


def _untested(frame: "pd.DataFrame", **_: Any) -> "pd.Series":
    raise NotImplementedError


_Test = TypeVar("_Test", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule about the cells of one column, which is declared as the decorator of its test.

    ``finding``: finding of a cell that breaks it; ``details``: the finding's placeholders from the
    statistics; ``wording``: description for templates and pages; ``statistics``: types by name;
    ``optional``: statistics that may be omitted; ``dtypes``: dtypes of columns that the rule
    accepts; ``column_values``: statistics that are values of the column, or lists of them;
    ``patterns``: statistics that are regular expressions; ``width``: length of each value, if it is
    fixed.

    ``column_test`` takes a typed column and returns one boolean per row, True for right and missing
    values; None if pandera has a check of that name. ``value_test`` tests an example; None if a
    single value cannot be tested. ``whole_column``: cells are compared with one another, so that a
    part of a column cannot be tested.
    """

    name: str
    _: KW_ONLY
    finding: "FindingKind"
    wording: Wording
    statistics: Mapping[str, Any] = field(default_factory=dict)
    details: Details = lambda _: {}
    optional: tuple[str, ...] = ()
    dtypes: frozenset[str] = TEXT_DTYPES
    column_values: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    width: Callable[[Statistics], int] | None = None
    column_test: "Callable[..., pd.Series] | None" = None
    value_test: ValueTest | None = None
    whole_column: bool = False

    def __call__(self, test: _Test) -> _Test:
        """Declare the rule with its column test, a function that also gets the statistics by name.

        Raises ``ValueError`` if there is a rule of that name.
        """
        replace(self, column_test=test).declare()
        return test

    def declare(self) -> None:
        """Declare the rule of a built-in check of pandera. Raises what declaring a test raises."""
        _require_new(self.name)
        declared_rules[self.name] = self


@dataclass(frozen=True, slots=True)
class RowRule:
    """A rule across the columns of a row, or across rows, declared as the decorator of its test.

    The statistic ``column`` names the column of its findings; ``other`` and ``columns`` name the
    further columns that it reads: rows with an error in one of them are skipped. ``finding`` is
    None if it is that of the column rule in the statistic ``check``. ``dtypes`` are the dtypes of
    the columns that it compares, including ``column``; empty if it compares none.

    ``row_test`` takes the typed frame and returns one boolean per row. ``correct`` returns the
    right values of ``column``, if the rule determines them; ``row_details`` returns the finding's
    placeholders for each row, if they differ. Both get the rows that break the rule.

    ``tests_unknown``: rows with an error in ``other`` are not skipped but tested as if ``other``
    had the first of ``values``, so that all errors of a row are found at once. ``needed``:
    statistics that name columns; rows without a value in one of them keep the rule.
    """

    name: str
    _: KW_ONLY
    finding: "FindingKind | None"
    wording: Wording
    statistics: Mapping[str, Any]
    details: Details = lambda _: {}
    dtypes: frozenset[str] = frozenset()
    row_test: "Callable[..., pd.Series]" = _untested
    correct: "Callable[..., pd.Series] | None" = None
    row_details: Callable[..., list[Mapping[str, object]]] | None = None
    tests_unknown: bool = False
    needed: tuple[str, ...] = ()

    def __call__(self, test: _Test) -> _Test:
        """Declare the rule with its row test, a function that also gets the statistics by name.

        Raises ``ValueError`` if there is a rule of that name.
        """
        _require_new(self.name)
        declared_row_rules[self.name] = replace(self, row_test=test)
        return test

    def finding_of(self, statistics: Statistics) -> "FindingKind":
        """Return the finding of rows that break the rule."""
        return self.finding or declared_rules[statistics["check"]].finding

    def columns_read(self, statistics: Statistics) -> tuple[str, ...]:
        """Return the columns that the rule reads, except that of its findings."""
        other = (statistics["other"],) if "other" in statistics else ()
        return (*statistics.get("columns", ()), *other)

    def columns_needed(self, statistics: Statistics) -> set[str]:
        """Return the columns without which no row breaks the rule."""
        named = [statistics[name] for name in self.needed]
        return {column for it in named for column in ([it] if isinstance(it, str) else it)}


declared_rules: dict[str, Rule] = {}
declared_row_rules: dict[str, RowRule] = {}
"""The rules declared so far; ``RULES`` and ``ROW_RULES`` have all of them."""


column_check = Rule
"""Decorator that declares a rule by a function that tests a whole column."""

row_check = RowRule
"""Decorator that declares a rule by a function that tests a frame."""


def _require_new(name: str) -> None:
    if name in declared_rules or name in declared_row_rules:
        raise ValueError(f"There is a rule {name!r} already.")


def text_check(
    name: str,
    *,
    finding: "FindingKind",
    wording: Text,
    width: int | None = None,
    without_mask: Callable[[str], str] = str,
) -> Callable[[Callable[[str], bool]], Callable[[str], bool]]:
    """Declare a rule whose function tests one text at a time.

    ``width`` is the length of valid texts. ``without_mask`` removes the mask of an example, which
    texts of a sheet no longer have when they are tested.

    Raises ``ValueError`` if there is a rule of that name.
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


def value_text(value: object) -> Text:
    """Format a value like a cell of a sheet."""
    if isinstance(value, bool):
        return Text(pt="VERDADEIRO", en="TRUE") if value else Text(pt="FALSO", en="FALSE")
    if isinstance(value, date):
        return untranslated(f"{value:%d/%m/%Y}")
    if isinstance(value, float):
        return localized_number(f"{value:.15g}")
    return untranslated(str(value))
