"""Copies of workbooks in which what is certain was mended, and what is found before and after."""

from collections import Counter
from pathlib import Path
from typing import Any

from xlbridge.resources.catalogue import Catalogue
from xlbridge.validation.changes import Change
from xlbridge.validation.copies.mending import mend
from xlbridge.validation.validate import ValidatedSheet, validate_workbook


def mended(
    path: Path, catalogue: Catalogue, **options: Any
) -> tuple[ValidatedSheet, list[Change], ValidatedSheet]:
    """Judge a workbook, mend it, and judge the copy."""
    judged = validate_workbook(path, catalogue, **options)
    copy = path.with_name("mended.xlsx")
    [mending] = mend([judged], copy)
    return judged, mending.changes, validate_workbook(copy, catalogue, **options)


def places(judged: ValidatedSheet) -> Counter[tuple[str | None, str]]:
    """Count the findings of each cell and kind."""
    return Counter((finding.cell, finding.kind.code) for finding in judged.findings)
