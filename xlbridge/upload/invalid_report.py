"""The answer for a sheet that local validation stops, in the form of an upload's."""

from typing import Any

from xlbridge.findings import Severity
from xlbridge.upload.verdict import Verdict
from xlbridge.validation.validate import ValidatedSheet


def invalid_json(sheet: ValidatedSheet, mode: str) -> dict[str, Any]:
    """Return the answer for a sheet that local validation stops: no row of it is accepted."""
    errors = [f for f in sheet.findings if f.kind.severity is Severity.ERROR]
    rows = len(sheet.rows)
    return {
        "version": 1,
        "job": None,
        "state": "rejected",
        "mode": mode,
        "resource": sheet.resource.name if sheet.resource else None,
        "log_id": None,
        "rows": Verdict(read=rows, accepted=0, unknown=0).counted,
        "rejected": [
            {"row": f.row, "cell": f.cell, "column": f.column, "message": str(f.message)}
            for f in errors
        ],
        "rejects_file": None,
    }
