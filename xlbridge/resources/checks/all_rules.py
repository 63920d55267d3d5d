"""Collection of all rules and findings that modules and installed packages declare; the rules of a
column as pandera checks."""

from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

# In the order in which schema files and pages name the rules.
# isort: off
from xlbridge.resources.checks import column_checks as column_checks
from xlbridge.resources.checks import row_checks as row_checks
from xlbridge.resources.checks import text_checks as text_checks

# isort: on
from xlbridge.resources.checks.rule import (
    RowRule,
    Rule,
    declared_row_rules,
    declared_rules,
)
from xlbridge.resources.findings.cell_findings import CELL_FINDINGS
from xlbridge.resources.findings.finding import FindingKind
from xlbridge.resources.findings.record_findings import BATCH_FINDINGS, RECORD_FINDINGS
from xlbridge.resources.findings.sheet_findings import SHEET_FINDINGS
from xlbridge.resources.schema_folders import import_installed_checks

if TYPE_CHECKING:
    import pandera.pandas as pa

    from xlbridge.resources.resource import Column

import_installed_checks()

RULES: Mapping[str, Rule] = declared_rules
"""Rules of a single column, by name."""

ROW_RULES: Mapping[str, RowRule] = declared_row_rules
"""Rules across columns or rows, by name."""

CATALOGUE: dict[str, FindingKind] = {
    kind.code: kind
    for kinds in (
        SHEET_FINDINGS,
        CELL_FINDINGS,
        # Rules may share a finding; that of a rule of rows may be that of a rule of columns.
        (rule.finding for rule in declared_rules.values()),
        (rule.finding for rule in declared_row_rules.values() if rule.finding),
        RECORD_FINDINGS,
        BATCH_FINDINGS,
    )
    for kind in kinds
}
"""All kinds of findings, by code."""


def checks_of(body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the checks in the body of a schema file's column with their statistics.

    A single statistic is called ``value``.
    """
    return {
        name: dict(value) if isinstance(value, Mapping) else {"value": value}
        for name, value in body.items()
        if name in RULES
    }


def code_width(kind: str, checks: Mapping[str, Any]) -> int | None:
    """Return the length of a column's codes, None if it is not fixed."""
    for name, statistics in checks.items():
        width = RULES[name].width
        if width is not None:
            return width(statistics)
    document = text_checks.DOCUMENTS.get(kind)
    return None if document is None else document.symbols


def pandera_checks(column: "Column") -> "dict[str, pa.Check]":
    """Return the pandera checks of a column by their names, in the order of the schema file."""
    import pandera.pandas as pa

    checks: dict[str, pa.Check] = {}
    for name, statistics in column.checks.items():
        test = RULES[name].column_test
        arguments = {key: _for_pandas(value) for key, value in statistics.items()}
        if test is not None:
            checks[name] = pa.Check(partial(test, **arguments), name=name)
        else:
            build = getattr(pa.Check, name)
            checks[name] = build(arguments["value"]) if "value" in arguments else build(**arguments)
    return checks


def _for_pandas(value: Any) -> Any:
    """Convert dates for comparisons with columns of dates."""
    import pandas as pd

    if isinstance(value, list):
        return [_for_pandas(item) for item in value]
    return pd.Timestamp(value) if isinstance(value, date) else value
