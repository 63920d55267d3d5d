"""Catalogue of every kind of finding, by its code."""

from xlbridge.resources.checks.rules import RULE_FINDINGS
from xlbridge.resources.findings.finding import FindingKind
from xlbridge.resources.findings.records import BATCH_FINDINGS, RECORD_FINDINGS
from xlbridge.resources.findings.sheets import SHEET_FINDINGS
from xlbridge.resources.findings.texts import TEXT_FINDINGS
from xlbridge.resources.findings.values import VALUE_FINDINGS

CATALOGUE: dict[str, FindingKind] = {
    kind.code: kind
    for kinds in (
        SHEET_FINDINGS,
        VALUE_FINDINGS,
        TEXT_FINDINGS,
        RULE_FINDINGS,
        RECORD_FINDINGS,
        BATCH_FINDINGS,
    )
    for kind in kinds
}
"""Every kind of finding, by its code."""
