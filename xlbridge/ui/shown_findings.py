"""Findings of an open sheet as the page shows them: by rule, by row, and by cell."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from xlbridge.resources.findings import CorrectedValue, Finding, Severity
from xlbridge.ui.cell_texts import value_text
from xlbridge.validation import ValidatedSheet, count_corrected, row_numbers
from xlbridge.validation.reports import RuleKey, by_rule
from xlbridge.workbook import CellPosition


class ShownFindings:
    """Findings of a sheet that was validated. Rows are Excel's numbers, columns count from zero."""

    def __init__(self, sheet: ValidatedSheet) -> None:
        self.sheet = sheet
        self._rows = np.array(row_numbers(sheet.findings), dtype=np.intc)
        self._names: dict[int, list[str]] = {}
        for name, place in sheet.columns.items():
            self._names.setdefault(place, []).append(name)

    def names(self, place: int) -> Sequence[str]:
        """Return the names of the resource's columns that a column of the sheet becomes."""
        return self._names.get(place, ())

    def rules(self) -> list[dict[str, Any]]:
        """Return the findings by rule, errors first: how many there are, and what can be fixed."""
        return [
            {
                "key": _rule_text(rule),
                "column": rule[0],
                "code": rule[1],
                "severity": found[0].kind.severity.value,
                "message": str(found[0].message if len(found) == 1 else found[0].kind.summary),
                "hint": str(found[0].hint if len(found) == 1 else ""),
                "count": len(found),
                "fixable": count_corrected(found),
                "cell": found[0].cell,
            }
            for rule, found in by_rule(self.sheet.findings).items()
        ]

    def of_rule(self, rule: str) -> Sequence[Finding]:
        """Return the findings of a rule, by the key that ``rules`` gives it."""
        groups = by_rule(self.sheet.findings)
        return next((found for key, found in groups.items() if _rule_text(key) == rule), ())

    def fixes(self, rule: str) -> dict[CellPosition, tuple[str, CorrectedValue]]:
        """Return the certain corrections of a rule: of each cell the old text, the new value."""
        columns = self.sheet.columns
        doubted = {f.column for f in self.sheet.findings if f.kind.code == "dates-swapped"}
        return {
            (finding.row, columns[finding.column]): (finding.value or "", finding.corrected)
            for finding in self.of_rule(rule)
            if finding.corrected is not None
            and finding.row is not None
            and finding.column in columns
            and finding.column not in doubted
            and "moved_to" not in finding.details
        }

    def rows(self, rule: str | None) -> list[int]:
        """Return the rows with findings, or those of one rule, each once and in order."""
        found = self._rows if rule is None else row_numbers(self.of_rule(rule))
        rows: list[int] = np.unique(found).tolist()
        return rows

    def next_wrong(self, after: CellPosition, skipped: Collection[int]) -> CellPosition | None:
        """Return the first cell with a finding after a place, None where there is none."""
        findings = self.sheet.findings
        for at in range(int(np.searchsorted(self._rows, after[0])), len(findings)):
            place = self._place(findings[at])
            if place is not None and place > after and place[0] not in skipped:
                return place
        return None

    def marks(self, row: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Return the findings of a row's cells as the grid shows them, with their columns."""
        first = int(np.searchsorted(self._rows, row, "left"))
        last = int(np.searchsorted(self._rows, row, "right"))
        for finding in self.sheet.findings[first:last]:
            place = self._place(finding)
            if place is not None:
                yield place[1], _mark(finding)

    def _place(self, finding: Finding) -> CellPosition | None:
        if finding.row is None or finding.column is None:
            return None
        column = self.sheet.columns.get(finding.column)
        header = self.sheet.header_row or 0
        return None if column is None or finding.row <= header else (finding.row, column)


def told_mark(severity: str, text: str) -> dict[str, Any]:
    """Return what is told of a cell beside its findings, as the grid shows it."""
    return {"severity": severity, "message": text, "hint": "", "code": severity}


def _mark(finding: Finding) -> dict[str, Any]:
    is_error = finding.kind.severity is Severity.ERROR
    return {
        "severity": "error" if is_error else "warning",
        "code": finding.kind.code,
        "message": str(finding.message),
        "hint": str(finding.hint),
        "corrected": None if finding.corrected is None else value_text(finding.corrected),
    }


def _rule_text(rule: RuleKey) -> str:
    return f"{rule[0] or ''}:{rule[1]}"
