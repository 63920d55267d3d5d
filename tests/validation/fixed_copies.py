"""Copies of workbooks in which what is certain was fixed, and what is found before and after.

Inside: validation.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import openpyxl

from xlbridge.resources import Catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.validation.fixed_copy import write_fixed_copy
from xlbridge.validation.results import FixedCell


def fixed(
    path: Path, catalogue: Catalogue, **options: Any
) -> tuple[ValidatedSheet, list[FixedCell], ValidatedSheet]:
    """Judge a workbook, fix it, and judge the copy."""
    judged = validate_workbook(path, catalogue, **options)
    copy = path.with_name("fixed.xlsx")
    [fixes] = write_fixed_copy([judged], copy)
    return judged, fixes.changes, validate_workbook(copy, catalogue, **options)


def places(judged: ValidatedSheet) -> Counter[tuple[str | None, str]]:
    """Count the findings of each cell and kind."""
    return Counter((finding.cell, finding.kind.code) for finding in judged.findings)


def cells_of(path: Path, sheet: str) -> dict[str, Any]:
    """The contents of a sheet; of a formula the formula."""
    book = openpyxl.load_workbook(path)
    return {cell.coordinate: cell.value for row in book[sheet].iter_rows() for cell in row}
