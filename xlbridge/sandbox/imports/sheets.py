"""Reads an uploaded workbook into lines: the part of an import that needs pandas.

``handlers`` loads it when the first file comes, so that the sandbox starts quickly.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd

from xlbridge.resources import Catalogue, Column, Kind, Resource
from xlbridge.resources.findings import Finding
from xlbridge.sandbox.imports.queue import UploadedLine, UploadedSheet
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.workbook.read import require_xlsx

_CENTS = Decimal("0.01")
_COMPARED_IN_COLUMN = frozenset({"code-shape", "code-decimals"})
"""Findings that depend on the other codes of the column, of which a file may have a part only."""


def read_workbook(
    content: bytes, resource: Resource, catalogue: Catalogue, limits: WorkbookLimits
) -> UploadedSheet:
    """Read and judge a workbook's lines.

    Raises ``WorkbookRefused`` when it is not an .xlsx that can be read safely.
    """
    with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
        path = Path(folder) / "upload.xlsx"
        path.write_bytes(content)
        validated = validate_workbook(path, catalogue, resource=resource.name, limits=limits)
        require_xlsx(path)
    errors = [f for f in validated.error_findings() if f.kind.code not in _COMPARED_IN_COLUMN]
    if validated.header_row is None:
        return UploadedSheet([], [_problem(finding) for finding in errors])
    sheet = UploadedSheet(
        [UploadedLine(row, record) for row, record in _records(validated, resource)], []
    )
    by_row = {line.row: line for line in sheet.lines}
    for finding in errors:
        line = by_row.get(finding.row) if finding.row is not None else None
        (sheet.layout if line is None else line.problems).append(_problem(finding))
    return sheet


def _problem(finding: Finding) -> tuple[str, str]:
    # A message may quote its cell, and no database but SQLite keeps a NUL.
    return finding.column or "", finding.message.pt.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _records(validated: ValidatedSheet, resource: Resource) -> Iterator[tuple[int, dict[str, Any]]]:
    columns = [_plain_values(validated.frame[column.name], column) for column in resource.columns]
    names = [column.name for column in resource.columns]
    for row, values in zip(validated.rows, zip(*columns, strict=True), strict=True):
        pairs = zip(names, values, strict=True)
        yield row, {name: value for name, value in pairs if value is not None}


def _plain_values(values: "pd.Series[Any]", column: Column) -> list[Any]:
    if values.isna().all():
        return [None] * len(values)
    plain = _PLAIN.get(column.kind, str)
    return [
        None if missing else plain(value)
        for value, missing in zip(values.array, values.isna(), strict=True)
    ]


_PLAIN: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.INTEGER: int,
    Kind.MONEY: lambda value: Decimal(str(value)).quantize(_CENTS),
    Kind.NUMBER: lambda value: Decimal(str(value)),
    Kind.DATE: lambda value: value.to_pydatetime(),
    Kind.BOOLEAN: bool,
}
"""Converters from values of a frame to plain ones, by kind; any other kind becomes a text."""
