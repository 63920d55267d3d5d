"""Model of the validation report, the common content of all its forms."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import pandas as pd

from xlbridge.i18n import Text
from xlbridge.resources import Kind, Resource
from xlbridge.resources.findings import Finding, Severity
from xlbridge.validation.finding_columns import by_column_and_kind, details_of, row_numbers
from xlbridge.validation.results import ValidatedSheet, ValidationResult, is_ok
from xlbridge.workbook import column_index

RuleKey = tuple[str | None, str]
"""A column, None for the layout as a whole, and the code of a kind of finding."""

_POOLED_CODES = frozenset({"column-unknown", "column-unnamed"})
"""Findings that are grouped across columns, as there may be thousands."""


def rule_key(finding: Finding) -> RuleKey:
    """Return the key of a finding's group."""
    code = finding.kind.code
    return (None if code in _POOLED_CODES else finding.column), code


def by_rule(findings: Sequence[Finding]) -> dict[RuleKey, Sequence[Finding]]:
    """Group findings by ``rule_key``.

    Errors come before warnings, the layout before the cells, columns in the sheet's order.
    """
    found: defaultdict[RuleKey, list[Sequence[Finding]]] = defaultdict(list)
    for group in by_column_and_kind(findings):
        found[rule_key(group[0])].append(group)
    groups = {
        rule: parts[0] if len(parts) == 1 else list(chain.from_iterable(parts))
        for rule, parts in found.items()
    }
    return dict(sorted(groups.items(), key=lambda entry: _sort_key(entry[1][0])))


def message_of_all(findings: Sequence[Finding]) -> Text:
    """Return the message of findings of one kind, with an ellipsis for differing details."""
    common = dict(findings[0].details)
    for details in details_of(findings):
        common = {name: value for name, value in common.items() if details.get(name) == value}
        if not common:
            break
    return findings[0].message if len(findings) == 1 else findings[0].kind.summary(common)


def _sort_key(first: Finding) -> tuple[bool, int, str, str]:
    column, code = rule_key(first)
    letters = (first.cell or "").rstrip("0123456789") if column else ""
    is_warning = first.kind.severity is Severity.WARNING
    return is_warning, column_index(letters), column or "", code


_MIN_WIDESPREAD = 10


def is_widespread(group: Sequence[Finding], rows: int) -> bool:
    """Return whether a group of findings is a warning on most cells of a column."""
    is_warning = group[0].kind.severity is Severity.WARNING and group[0].cell is not None
    return is_warning and len(group) >= _MIN_WIDESPREAD and 2 * len(group) > rows


def listed_findings(sheet: ValidatedSheet, limit: int | None) -> list[Finding]:
    """Return the findings to list, at most ``limit``: errors first, then by row and column. A
    warning on most cells of a column is listed once, with the number of cells."""
    found = list[Finding]()
    for group in by_rule(sheet.findings).values():
        if is_widespread(group, len(sheet.rows)):
            found.append(replace(group[0], cells=len(group)))
        else:
            found += islice(group, limit)

    def sort_key(finding: Finding) -> tuple[bool, int, int]:
        is_warning = finding.kind.severity is Severity.WARNING
        return is_warning, finding.row or 0, sheet.columns.get(finding.column or "", -1)

    return sorted(found, key=sort_key)[:limit]


def is_truncated(sheet: ValidatedSheet, limit: int | None) -> bool:
    """Return whether there are more findings than are listed; counts always include all."""
    return limit is not None and limit < len(sheet.findings)


def widespread_cells(sheet: ValidatedSheet) -> list[str]:
    """Return the addresses of the cells that have a warning like most of their column."""
    return [
        f"{(group[0].cell or '').rstrip('0123456789')}{row}"
        for group in by_rule(sheet.findings).values()
        if is_widespread(group, len(sheet.rows))
        for row in row_numbers(group)
    ]


def record_names(sheet: ValidatedSheet, row: int | None) -> list[str]:
    """Return the names of a row's record: its first text and its first filled natural key,
    preferably not the external identifier; none if its cells are unknown."""
    if sheet.resource is None or row is None or sheet.frame.empty:
        return []
    position = bisect_left(sheet.rows, row)
    if position == len(sheet.rows) or sheet.rows[position] != row:
        return []
    values = sheet.frame.iloc[position]
    texts, keys = _naming_columns(sheet.resource)
    key = next((str(values[name]) for name in keys if pd.notna(values[name])), "")
    names = [str(values[name]) for name in texts if pd.notna(values[name])]
    return [text for text in (*names, key) if text]


def _naming_columns(resource: Resource) -> tuple[list[str], list[str]]:
    """Return the columns that name a record: its first text column and its natural keys."""
    texts = [c.name for c in resource.columns if c.kind is Kind.TEXT and not c.allowed][:1]
    return texts, sorted(resource.natural_keys, key=lambda name: name == "idws")


def without_cells(sheet: ValidatedSheet) -> ValidatedSheet:
    """Return a sheet with only the cells that name its records."""
    names: list[str] = []
    if sheet.resource is not None:
        texts, keys = _naming_columns(sheet.resource)
        names = [name for name in sheet.frame.columns if name in {*texts, *keys}]
    return replace(sheet, frame=sheet.frame[names])


@dataclass(frozen=True, slots=True)
class Report:
    """Results of validating files, in the order of the files.

    ``limit`` is the user's, None for the default of each form. The suggested next command repeats
    ``options``, and ``validation_options`` if it is ``validate``; it does not mark the cells in a
    copy if ``marked``, as there is one already.
    """

    results: Sequence[ValidationResult]
    limit: int | None = None
    options: Sequence[str] = ()
    validation_options: Sequence[str] = ()
    marked: bool = False

    @property
    def ok(self) -> bool:
        """True if no file has errors."""
        return all(map(is_ok, self.results))

    @property
    def sheets(self) -> list[ValidatedSheet]:
        """Validated sheets."""
        return [item for item in self.results if isinstance(item, ValidatedSheet)]
