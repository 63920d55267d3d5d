"""Fixed copies of workbooks, and findings before and after the fix.

Inside: validation.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import openpyxl

from xlbridge.resources import Catalogue
from xlbridge.resources.findings import Finding
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.validation.edited_copies import write_fixed_copy


def fix_and_validate(
    path: Path, catalogue: Catalogue, **options: Any
) -> tuple[ValidatedSheet, list[Finding], ValidatedSheet]:
    """Validate a workbook, fix it, and validate the copy."""
    validated = validate_workbook(path, catalogue, **options)
    copy = path.with_name("fixed.xlsx")
    [fixes] = write_fixed_copy([validated], copy)
    return validated, fixes.fixed, validate_workbook(copy, catalogue, **options)


def finding_counts(validated: ValidatedSheet) -> Counter[tuple[str | None, str]]:
    """Count the findings by cell and kind."""
    return Counter((finding.cell, finding.kind.code) for finding in validated.findings)


def cells_of(path: Path, sheet: str) -> dict[str, Any]:
    """Return the contents of a sheet by cell; formulas as they are written."""
    book = openpyxl.load_workbook(path)
    return {cell.coordinate: cell.value for row in book[sheet].iter_rows() for cell in row}
