"""The report as the contract's JSON document. Source: the product brief, ``validate``."""

from collections.abc import Sequence
from typing import Any

from xlbridge.findings import Finding
from xlbridge.validation.changes import mending_json
from xlbridge.validation.reports.judged import Judged, RefusedFile, SkippedSheet, is_good
from xlbridge.validation.validate import ValidatedSheet


def report_json(judged: Sequence[Judged], limit: int | None = None) -> dict[str, Any]:
    """Return the report as a JSON document.

    ``limit`` caps the findings listed for each file; the counts stay exact, and ``truncated``
    says that there are more. ``skipped`` are the sheets that are for no resource.
    """
    skipped = [item for item in judged if isinstance(item, SkippedSheet)]
    return {
        "version": 1,
        "ok": all(map(is_good, judged)),
        "files": [_file(item, limit) for item in judged if not isinstance(item, SkippedSheet)],
        "skipped": [{"file": str(item.file), "sheet": item.sheet} for item in skipped],
    }


def _file(item: ValidatedSheet | RefusedFile, limit: int | None) -> dict[str, Any]:
    if isinstance(item, RefusedFile):
        return {
            "file": str(item.file),
            "resource": None,
            "sheet": None,
            "header_row": None,
            "rows": 0,
            "errors": 1,
            "warnings": 0,
            "truncated": False,
            "refused": {"code": item.code, "message": str(item.refusal)},
            "findings": [],
        }
    return {
        "file": str(item.file),
        "resource": item.resource.name if item.resource else None,
        "sheet": item.sheet,
        "header_row": item.header_row,
        "rows": len(item.rows),
        "errors": item.errors,
        "warnings": item.warnings,
        "truncated": limit is not None and len(item.findings) > limit,
        "findings": [finding_json(finding) for finding in item.findings[:limit]],
        **({"fixed": mending_json(item.mending)} if item.mending else {}),
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    """Return one finding as JSON; the message and the hint in the active language."""
    return {
        "cell": finding.cell,
        "row": finding.row,
        "column": finding.column,
        "code": finding.kind.code,
        "severity": finding.kind.severity,
        "value": finding.value,
        "message": str(finding.message),
        "hint": str(finding.hint),
    }
