"""Collection of all rules and findings that modules and installed packages declare."""

from collections.abc import Mapping
from typing import Any

# In the order in which schema files and pages name the rules.
# isort: off
from xlbridge.resources.checks import column_checks as column_checks
from xlbridge.resources.checks import text_checks as text_checks
from xlbridge.resources.checks import row_checks as row_checks
from xlbridge.resources.checks import slip_checks as slip_checks

# isort: on
from xlbridge.resources.checks.rule import (
    RowRule,
    Rule,
    declared_findings,
    declared_row_rules,
    declared_rules,
)
from xlbridge.resources.findings.cell_findings import CELL_FINDINGS
from xlbridge.resources.findings.finding import FindingKind
from xlbridge.resources.findings.record_findings import BATCH_FINDINGS, RECORD_FINDINGS
from xlbridge.resources.findings.sheet_findings import SHEET_FINDINGS
from xlbridge.resources.schema_folders import import_installed_checks

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
        dict.fromkeys(declared_findings()),
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
