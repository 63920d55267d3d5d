"""What can be wrong in the data: the catalogue, and one occurrence of an entry of it."""

from xlbridge.findings import batches, layout, records, rules, texts, values
from xlbridge.findings.finding import SEVERITY_WORDS, Finding, FindingKind, Mended, Severity

CATALOGUE: dict[str, FindingKind] = {
    kind.code: kind
    for module in (layout, values, texts, rules, records, batches)
    for kind in module.KINDS
}
"""Every kind of finding, by its code."""

__all__ = ["CATALOGUE", "SEVERITY_WORDS", "Finding", "FindingKind", "Mended", "Severity"]
