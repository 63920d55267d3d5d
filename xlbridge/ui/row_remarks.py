"""Findings of an open sheet as the page shows them, and remarks on rows beside them.

Findings come by rule, by row and by cell; remarks say why the system refused a row, what the plan
does.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xlbridge.i18n import Text
from xlbridge.resources import Column
from xlbridge.resources.findings import CorrectedValue, Finding, Severity
from xlbridge.ui.cell_edits import value_text
from xlbridge.upload import ItemCells
from xlbridge.upload.planning import PlannedRow, RowReason
from xlbridge.validation import ValidatedSheet, count_corrected, row_numbers
from xlbridge.validation.reports import RuleKey, by_rule, message_of_all
from xlbridge.workbook import CellPosition, column_index


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
        header = self.sheet.header_row or 0
        return [
            {
                "key": _rule_text(rule),
                "column": rule[0],
                "code": rule[1],
                "severity": found[0].kind.severity.value,
                "message": str(message_of_all(found)),
                "hint": _hint(found[0]),
                "of_header": (found[0].row or 0) <= header,
                "names": [] if rule[0] else [it.column or it.cell for it in found[:_MOST_NAMES]],
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

    def next_of(
        self, severity: Severity, after: CellPosition, skipped: Collection[int]
    ) -> CellPosition | None:
        """Return the first cell with a finding of a severity after a place, None without one."""
        if severity is Severity.ERROR and not self.sheet.errors:
            return None
        findings = self.sheet.findings
        for at in range(int(np.searchsorted(self._rows, after[0])), len(findings)):
            finding = findings[at]
            place = self._place(finding) if finding.kind.severity is severity else None
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


# What the command line declares by an option, or does, is chosen in the page, or done in Excel.
_HINTS: Mapping[str, Text] = {
    "sheets-hidden": Text(
        pt="Se os dados estão numa delas, reexiba-a no Excel, salve e abra o arquivo de novo.",
        en="If the data is in one of them, unhide it in Excel, save, and open the file again.",
    ),
    "header-not-found": Text(
        pt="Diga em Abrir em que linha está o cabeçalho, ou use o modelo, que está lá.",
        en="Say under Open in which row the header is, or use the template, which is there.",
    ),
    "template-outdated": Text(
        pt="Baixe em Abrir o modelo atual, e passe os dados para ele.",
        en="Download the present template under Open, and move the data to it.",
    ),
    "date-ambiguous": Text(
        pt="Digite-a de novo, com o dia primeiro, ou escolha a ordem na lista do que foi "
        "encontrado.",
        en="Type it again, the day first, or choose the order in the list of what was found.",
    ),
    "date-short-year": Text(
        pt="Escreva o ano com quatro algarismos; até 49, basta escolher a ordem das “Datas em "
        "texto” em Abrir.",
        en="Write the year with four digits; up to 49 it is enough to choose the order of “Dates "
        "as text” under Open.",
    ),
    "number-ambiguous": Text(
        pt="Digite-o de novo, ou escolha a escrita na lista do que foi encontrado.",
        en="Type it again, or choose the style in the list of what was found.",
    ),
}
_MOST_NAMES = 20


def told_mark(severity: str, text: str) -> dict[str, Any]:
    """Return what is told of a cell beside its findings, as the grid shows it."""
    return {"severity": severity, "message": text, "hint": "", "code": severity}


def _hint(finding: Finding) -> str:
    return str(_HINTS.get(finding.kind.code, finding.hint))


def _mark(finding: Finding) -> dict[str, Any]:
    is_error = finding.kind.severity is Severity.ERROR
    return {
        "severity": "error" if is_error else "warning",
        "code": finding.kind.code,
        "message": str(finding.message),
        "hint": _hint(finding),
        "corrected": None if finding.corrected is None else value_text(finding.corrected),
    }


def _rule_text(rule: RuleKey) -> str:
    return f"{rule[0] or ''}:{rule[1]}"


Refusals = Mapping[str, Mapping[CellPosition, str]]
"""Reasons for which the system refuses cells, by their sheets."""

REFUSED = "refused:"
"""Begins the key of a rule that the system, not the sheet, keeps."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_MOST_REASONS = 100

_DIFFERS = Text(pt="no sistema: {theirs}", en="in the system: {theirs}")


# What the command line does by an option, the page does by a choice, or leaves to the terminal.
_ON_THE_PAGE: Mapping[RowReason, Text] = {
    RowReason.DIFFERS: Text(
        pt="; para alterar o registro, marque acima “Alterar registros que já existem com outros "
        "valores”",
        en="; to change the record, tick “Change records that exist with other values” above",
    ),
    RowReason.EMPTY_CELL: Text(
        pt="; preencha-a, ou apague o valor pelo terminal: --update --clear",
        en="; fill it in, or clear the value from the terminal: --update --clear",
    ),
    RowReason.CLAIMED: Text(pt="; continue-o em “Envios”", en="; continue it under “Uploads”"),
    RowReason.GONE: Text(
        pt='; para incluí-la de novo, pelo terminal: --again "motivo"',
        en='; to create it again, from the terminal: --again "reason"',
    ),
    RowReason.NOT_LOOKED_UP: Text(
        pt="; para incluí-la assim mesmo, pelo terminal: --create-unread",
        en="; to create it all the same, from the terminal: --create-unread",
    ),
}


def planned_text(row: PlannedRow) -> str:
    """Return why a row is not created, with what the page can do about it."""
    return str(row.text_with(_ON_THE_PAGE) or "")


@dataclass(frozen=True, slots=True)
class PlannedAction:
    """Action of a row in the plan: why it is that, and by column what differs from the record."""

    action: str
    message: str
    differences: Mapping[str, str]

    @classmethod
    def of(cls, row: PlannedRow, columns: Mapping[str, Column]) -> "PlannedAction":
        """Return the action of a planned row; ``columns`` are those of the resource."""
        told = {
            name: str(_DIFFERS.format(theirs=one.shown(columns.get(name))[1]))
            for name, one in row.differences.items()
        }
        return cls(row.action.value, planned_text(row), told)


class RowRemarks:
    """Remarks on the rows of a sheet and of its records' lists."""

    def __init__(self) -> None:
        self.planned: dict[int, PlannedAction] = {}
        """The rows of the chosen sheet that the last plan does not create."""
        self._refused: dict[str, dict[int, dict[int, str]]] = {}

    def refuse(self, reasons: Refusals) -> None:
        """Take the reasons for which the system refuses cells, in place of earlier ones."""
        self._refused = {}
        for sheet, cells in reasons.items():
            for (row, column), text in cells.items():
                self._refused.setdefault(sheet, {}).setdefault(row, {})[column] = text

    def edited(self, sheet: str, places: Iterable[CellPosition]) -> None:
        """Drop what no longer goes for cells that were edited: their refusals, and the plan."""
        self.planned = {}
        rows = self._refused.get(sheet, {})
        for row, column in places:
            rows.get(row, {}).pop(column, None)
            if not rows.get(row, True):
                del rows[row]

    def refused(self, sheet: str) -> Iterator[CellPosition]:
        """Yield the refused cells of a sheet, row by row."""
        for row, cells in sorted(self._refused.get(sheet, {}).items()):
            yield from ((row, column) for column in sorted(cells))

    def rules(self, sheet: str) -> list[dict[str, Any]]:
        """Return the refusals of a sheet by reason, as ``ShownFindings.rules`` does its rules.

        Reasons that differ in their numbers alone are one.
        """
        reasons: dict[str, list[str]] = {}
        for row, column in self.refused(sheet):
            text = self._refused[sheet][row][column]
            reasons.setdefault(_reason_key(text), []).append(text)
        listed = sorted(reasons.items(), key=lambda one: -len(one[1]))[:_MOST_REASONS]
        return [
            {
                "key": key,
                "column": None,
                "code": "refused",
                "severity": "refused",
                "message": texts[0] if len(set(texts)) == 1 else key.removeprefix(REFUSED),
                "hint": "",
                "of_header": False,
                "names": [],
                "count": len(texts),
                "fixable": 0,
                "cell": None,
            }
            for key, texts in listed
        ]

    def rows_of(self, sheet: str, rule: str) -> list[int]:
        """Return the rows that are refused for a reason, by the key that ``rules`` gives it."""
        cells = self._refused.get(sheet, {})
        return sorted(row for row, own in cells.items() if rule in map(_reason_key, own.values()))

    @property
    def refused_sheets(self) -> list[str]:
        """The sheets with refused cells."""
        return [sheet for sheet, rows in self._refused.items() if rows]

    def count(self, sheet: str) -> int:
        """Return the number of refused cells of a sheet."""
        return sum(map(len, self._refused.get(sheet, {}).values()))

    def records(self) -> list[tuple[str, int, int, str]]:
        """Return the refusals as plain data, to be kept: sheet, row, column and reason."""
        return [
            (sheet, row, column, text)
            for sheet, rows in self._refused.items()
            for row, cells in rows.items()
            for column, text in cells.items()
        ]

    def marks(self, sheet: str, row: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the refusals of a row's cells as the grid shows them, with their columns."""
        for column, text in self._refused.get(sheet, {}).get(row, {}).items():
            yield column, told_mark("refused", text)

    def planned_marks(
        self, row: int, columns: Mapping[str, int], first: int
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield what the plan says of a row of the chosen sheet, with the columns of its cells."""
        plan = self.planned.get(row)
        if plan is not None:
            for name, text in (plan.differences or {"": plan.message}).items():
                yield columns.get(name, first), told_mark("planned", text)


def _reason_key(text: str) -> str:
    return REFUSED + _NUMBER.sub("…", text)


def kept_refusals(sheet: str, kept: Iterable[Sequence[Any]]) -> Refusals:
    """Return refusals as they were kept; those without a sheet are of the chosen one."""
    found: defaultdict[str, dict[CellPosition, str]] = defaultdict(dict)
    for *of_sheet, row, column, text in kept:
        found[of_sheet[0] if of_sheet else sheet][row, column] = text
    return found


def refusals(sheet: ValidatedSheet, rejected: Iterable[Mapping[str, Any]]) -> Refusals:
    """Return the reasons of rejected rows by their cells: the row's first where none is named; an
    item's in the sheet of its list."""
    items = ItemCells(sheet)
    reasons: defaultdict[str, defaultdict[CellPosition, list[str]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rejected:
        item = items.find(row["row"], row["column"] or "")
        if item is not None:
            child, place = item
            reasons[child][place].append(row["message"])
        else:
            own = row["cell"] if row["cell"] and "!" not in row["cell"] else "A"
            column = column_index(own.rstrip("0123456789"))
            reasons[sheet.sheet][row["row"], column].append(row["message"])
    return {
        name: {place: " · ".join(texts) for place, texts in cells.items()}
        for name, cells in reasons.items()
    }
