"""Findings of the open sheet by rule, row and cell, and remarks from uploads and plans.

Remarks are the reasons for which the system rejected rows, and the actions of the last plan.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from xlbridge.i18n import Text, without_values
from xlbridge.report_forms import group_by_reason
from xlbridge.resources import Column
from xlbridge.resources.findings import CorrectedValue, Finding, Severity
from xlbridge.titles import number_in_row, sheet_row
from xlbridge.ui.cell_edits import value_text
from xlbridge.upload import ItemAddresses
from xlbridge.upload.planning import PlannedRow, RowAction, RowReason
from xlbridge.validation import ValidatedSheet, count_corrected, row_numbers
from xlbridge.validation.report import RuleKey, by_rule, message_of_all
from xlbridge.workbook import CellPosition, cell_position, column_index


class FindingsView:
    """Findings of a validated sheet. Rows are Excel's numbers, columns count from zero."""

    def __init__(self, sheet: ValidatedSheet) -> None:
        self.sheet = sheet
        self._names: dict[int, list[str]] = {}
        for name, column in sheet.columns.items():
            self._names.setdefault(column, []).append(name)
        self._in_titles = str if sheet.resource is None else sheet.resource.with_titles

    @cached_property
    def _rows(self) -> npt.NDArray[np.intc]:
        return np.array(row_numbers(self.sheet.findings), dtype=np.intc)

    def names(self, column: int) -> Sequence[str]:
        """Return the names of the resource's columns read from a column of the sheet."""
        return self._names.get(column, ())

    def rules(self) -> list[dict[str, Any]]:
        """Return the findings by rule, errors first, with their number and fixable cells."""
        header = self.sheet.header_row or 0
        resource = self.sheet.resource
        columns = {} if resource is None else resource.by_name
        return [
            {
                "key": _rule_text(rule),
                "column": rule[0],
                "title": str(columns[rule[0]].title) if rule[0] and rule[0] in columns else rule[0],
                "code": rule[1],
                "severity": first.kind.severity.value,
                "message": self._in_titles(message_of_all(found)),
                "hint": self._in_titles(hint_on_page(first.kind.code, first.hint)),
                "of_header": (first.row or 0) <= header,
                "names": [] if rule[0] else [f.column or f.cell for f in found[:_MAX_NAMES]],
                "count": len(found),
                "fixable": count_corrected(found),
                "cell": first.cell,
                "acceptable": first.kind.acceptable,
            }
            for rule, found in by_rule(self.sheet.findings).items()
            for first in found[:1]
        ]

    def of_rule(self, rule: str) -> Sequence[Finding]:
        """Return the findings of a rule by its key in ``rules``."""
        groups = by_rule(self.sheet.findings)
        return next((found for key, found in groups.items() if _rule_text(key) == rule), ())

    def fixes(self, rule: str) -> dict[CellPosition, tuple[str, CorrectedValue]]:
        """Return the certain corrections of a rule: the old text and new value of each cell."""
        columns = self.sheet.columns
        doubtful = {f.column for f in self.sheet.findings if f.kind.code == "dates-swapped"}
        return {
            (finding.row, columns[finding.column]): (finding.value or "", finding.corrected)
            for finding in self.of_rule(rule)
            if finding.corrected is not None
            and finding.row is not None
            and finding.column in columns
            and finding.column not in doubtful
            and "moved_to" not in finding.details
        }

    def cells_of(self, rule: str) -> list[CellPosition]:
        """Return the cells with findings of a rule, each once."""
        found = map(self._position, self.of_rule(rule))
        return list(dict.fromkeys(position for position in found if position is not None))

    def rows(self, rule: str | None) -> list[int]:
        """Return the distinct rows with findings, in order, or those of one rule."""
        numbers = self._rows if rule is None else row_numbers(self.of_rule(rule))
        rows: list[int] = np.unique(numbers).tolist()
        return rows

    def next_cell(self, severity: Severity, after: CellPosition) -> CellPosition | None:
        """Return the next cell after a position with a finding of a severity, None without one."""
        if severity is Severity.ERROR and not self.sheet.errors:
            return None
        findings = self.sheet.findings
        for index in range(int(np.searchsorted(self._rows, after[0])), len(findings)):
            finding = findings[index]
            position = self._position(finding) if finding.kind.severity is severity else None
            if position is not None and position > after:
                return position
        return None

    def marks(self, rows: Collection[int]) -> Iterator[tuple[CellPosition, dict[str, Any]]]:
        """Yield the marks for the findings of some rows in the grid, with their cells."""
        for finding in self.sheet.findings_of(rows):
            position = self._position(finding)
            if position is None:
                continue
            is_error = finding.kind.severity is Severity.ERROR
            yield (
                position,
                {
                    "severity": "error" if is_error else "warning",
                    "code": finding.kind.code,
                    "message": self._in_titles(finding.message),
                    "hint": self._in_titles(hint_on_page(finding.kind.code, finding.hint)),
                    "corrected": None
                    if finding.corrected is None
                    else value_text(finding.corrected),
                },
            )

    def _position(self, finding: Finding) -> CellPosition | None:
        if finding.row is None or finding.column is None:
            return None
        column = self.sheet.columns.get(finding.column)
        header = self.sheet.header_row or 0
        return None if column is None or finding.row <= header else (finding.row, column)


_COMPARE = Text(
    pt="Compare com a origem. Se está certo, clique em “Está certo” na lista de problemas.",
    en="Compare it with the source. If it is right, click “This is right” in the list of findings.",
)

# Hints that name options of the command line are replaced by what the user can do in the page.
_CORRECT_OR_MAP = Text(
    pt="Corrija a célula, ou ajuste em Abrir as “Colunas usadas” e confirme de novo.",
    en="Correct the cell, or change the “Columns used” under Open and confirm again.",
)
PAGE_HINTS: Mapping[str, Text] = {
    "sheets-hidden": Text(
        pt="Se os dados estão em uma delas, reexiba-a no Excel, salve e abra o arquivo de novo.",
        en="If the data is in one of them, unhide it in Excel, save, and open the file again.",
    ),
    "header-not-found": Text(
        pt="Em Abrir, informe a linha do cabeçalho ou baixe o modelo e use-o.",
        en="Under Open, enter the row of the header, or download the template and use it.",
    ),
    "template-of-other": Text(
        pt="Em Abrir, escolha o tipo de registro do arquivo, ou baixe o modelo e use-o.",
        en="Under Open, choose the kind of record of the workbook, or download the template and "
        "use it.",
    ),
    "template-outdated": Text(
        pt="Em Abrir, baixe o modelo atual e passe os dados para ele.",
        en="Under Open, download the current template, and move the data to it.",
    ),
    "link-unknown": Text(
        pt="Cadastre-o ou digite outro.", en="Register it first, or enter another."
    ),
    "record-number-missing": Text(
        pt="Digite o número. Registros novos vão no modelo: em Abrir, baixe-o.",
        en="Enter the number. New records go into the template: under Open, download it.",
    ),
    "new-record-lacks": Text(
        pt="Preencha-o nessa linha, acrescentando a coluna se não existir. Registros novos cabem "
        "no modelo: em Abrir, baixe-o.",
        en="Fill it in there, in a new column if there is none. New records go into the template: "
        "under Open, download it.",
    ),
    "record-again": Text(
        pt="Deixe só uma das linhas. Uma exportação com uma linha por item não volta.",
        en="Keep only one of the rows. An export with a row for each item cannot be sent back.",
    ),
    "row-doubtful": Text(
        pt="Se não é um registro, exclua a linha. Se é, clique em “Está certo” na lista de "
        "problemas.",
        en="If it is no record, delete the row. If it is, click “This is right” in the list of "
        "findings.",
    ),
    "key-column-missing": Text(
        pt="Inclua essa coluna na planilha, com a chave de cada linha, ou indique em “Colunas "
        "usadas”, em Abrir, de que coluna ela vem.",
        en="Add this column to the sheet, with the key of each row, or choose where it comes from "
        "under “Columns used”, under Open.",
    ),
    "mapping-column-missing": Text(
        pt="Em Abrir, em “Colunas usadas”, escolha de onde ela vem ou informe um valor para todas "
        "as linhas.",
        en="Under Open, under “Columns used”, choose where it comes from, or enter a value for all "
        "rows.",
    ),
    "mapping-document-unknown": _CORRECT_OR_MAP,
    "mapping-rows-contradict": _CORRECT_OR_MAP,
    "mapping-rows-left-out": Text(
        pt="Se alguma deve ser enviada, mude a escolha das linhas em “Colunas usadas”, em Abrir.",
        en="If any is to be sent, change the choice of rows under “Columns used”, under Open.",
    ),
    # A code is refused as well: it may be the other system's, with another meaning.
    "mapping-value-unknown": Text(
        pt="Digite um desses valores, não o código deles, ou ajuste em Abrir as “Colunas usadas” e "
        "confirme de novo.",
        en="Enter one of these values, not its code, or change the “Columns used” under Open and "
        "confirm again.",
    ),
    "code-shape": _COMPARE,
    "code-decimals": _COMPARE,
    "date-ambiguous": Text(
        pt="Digite-a de novo, com o dia primeiro, ou escolha a ordem na lista de problemas.",
        en="Type it again, day first, or choose the order in the list of findings.",
    ),
    "date-order-of-sheet": Text(
        pt="Confira uma delas na origem. Se o dia e o mês estão trocados, escolha a ordem das "
        "“Datas em texto” em Abrir.",
        en="Compare one of them with the source. If day and month are swapped, choose the order of "
        "“Dates as text” under Open.",
    ),
    "date-short-year": Text(
        pt="Escreva o ano com quatro algarismos; até 49, basta escolher a ordem das “Datas em "
        "texto” em Abrir.",
        en="Write the year with four digits; up to 49, choosing the order of “Dates as text” "
        "under Open is enough.",
    ),
    "number-ambiguous": Text(
        pt="Digite-o de novo ou escolha o formato na lista de problemas.",
        en="Type it again, or choose the format in the list of findings.",
    ),
}
"""Hints of findings in the words of the page, by their codes."""
_MAX_NAMES = 20


def make_mark(severity: str, text: str) -> dict[str, Any]:
    """Return a mark for a cell in the grid that is not a finding."""
    return {"severity": severity, "message": text, "hint": "", "code": severity}


def hint_on_page(code: str, hint: Text) -> Text:
    """Return the hint of a finding, by its code, in the words of the page."""
    return PAGE_HINTS.get(code, hint)


def _rule_text(rule: RuleKey) -> str:
    return f"{rule[0] or ''}:{rule[1]}"


Refusals = Mapping[str, Mapping[CellPosition, str]]
"""Reasons for which the system refuses cells, by sheet and position."""

ContentOf = Callable[[str, CellPosition], str]
"""Function that returns the content of a sheet's cell."""

REFUSED = "refused:"
"""Prefix of the keys of rules for refusals."""

_MAX_REASONS = 100

_DIFFERS = Text(pt="no sistema: {theirs}", en="in the system: {theirs}")

PLANNED = "plan:"
"""Prefix of the names of views of rows by their action in the plan, and by their reason."""


def planned_view(action: RowAction, reason: RowReason | None) -> str:
    """Return the name of the view of the rows with an action and a reason."""
    return f"{PLANNED}{action}:{reason or ''}"


@dataclass(frozen=True, slots=True)
class PlannedAction:
    """Action of a row in the plan: its view, its reason, and the differences from the record by
    column."""

    view: str
    message: str
    differences: Mapping[str, str]

    @classmethod
    def of(cls, row: PlannedRow, columns: Mapping[str, Column]) -> "PlannedAction":
        """Return the action of a planned row; ``columns`` are those of the resource, by path."""
        texts: dict[str, list[str]] = {}
        for shown in row.shown_differences(columns):
            is_item = str(shown.label) != shown.column
            theirs = f"{shown.label}: {shown.theirs}" if is_item else str(shown.theirs)
            texts.setdefault(shown.column, []).append(theirs)
        differences = {
            name: str(_DIFFERS.format(theirs="; ".join(values))) for name, values in texts.items()
        }
        view = planned_view(row.action, row.reason)
        return cls(view, str(row.text or ""), differences)


class RowRemarks:
    """Remarks on the rows of a sheet and its child sheets."""

    def __init__(self) -> None:
        self.planned: dict[int, PlannedAction] = {}
        """Rows of the chosen sheet that the last plan does not create."""
        self._refused: dict[str, dict[int, dict[int, str]]] = {}
        self._of_contents: dict[tuple[str, CellPosition], tuple[str, str]] = {}
        self._edited: Sequence[CellPosition] = ()

    def plan(
        self, rows: Iterable[PlannedRow], columns: Mapping[str, Column], own: Collection[str]
    ) -> None:
        """Replace the plan; ``own`` are the columns of the sheet, those of the second and later
        records of a row as ``number.column``."""
        self.planned = {}
        for row in rows:
            action, number = PlannedAction.of(row, columns), number_in_row(row.row) + 1
            named = {
                own_name if (own_name := f"{number}.{name}") in own else name: text
                for name, text in action.differences.items()
            }
            known = self.planned.get(sheet_row(row.row))
            self.planned[sheet_row(row.row)] = PlannedAction(
                action.view if known is None else known.view,
                action.message if known is None else f"{known.message} · {action.message}",
                named if known is None else {**known.differences, **named},
            )

    def set_refusals(self, reasons: Refusals, content_of: ContentOf) -> None:
        """Replace the reasons for which the system refuses cells, with their present contents."""
        self._refused, self._edited = {}, ()
        self._of_contents = {
            (sheet, cell): (text, content_of(sheet, cell))
            for sheet, cells in reasons.items()
            for cell, text in cells.items()
        }
        for (sheet, (row, column)), (text, _) in self._of_contents.items():
            self._refused.setdefault(sheet, {}).setdefault(row, {})[column] = text

    def refuse(
        self, sheet: str, reasons: Mapping[CellPosition, str], content_of: ContentOf
    ) -> None:
        """Add reasons for which the system will refuse cells of a sheet."""
        rows = self._refused.setdefault(sheet, {})
        for cell, text in reasons.items():
            self._of_contents[sheet, cell] = text, content_of(sheet, cell)
            rows.setdefault(cell[0], {})[cell[1]] = text

    def take_edited(self) -> Sequence[CellPosition]:
        """Return the cells of the last edit, once."""
        edited, self._edited = self._edited, ()
        return edited

    def update(self, sheet: str, cells: Sequence[CellPosition], content_of: ContentOf) -> None:
        """Drop the plan, and the refusals of cells that were edited until they have the contents
        that were refused."""
        self.planned, self._edited = {}, cells
        if not self._of_contents:
            return
        rows = self._refused.setdefault(sheet, {})
        for row, column in cells:
            text, content = self._of_contents.get((sheet, (row, column)), ("", None))
            if content is not None and content_of(sheet, (row, column)) == content:
                rows.setdefault(row, {})[column] = text
                continue
            rows.get(row, {}).pop(column, None)
            if not rows.get(row, True):
                del rows[row]

    def still_refused(self, old: ValidatedSheet, new: ValidatedSheet) -> Refusals:
        """Return the refusals without those of cells that a mapping converts otherwise in ``new``;
        of a reason without a column, the whole row counts."""

        def record(sheet: ValidatedSheet, row: int, column: int) -> list[str]:
            names = [name for name, place in new.columns.items() if place == column]
            values = sheet.frame.iloc[sheet.rows.index(row)]
            return [str(values.get(name)) for name in names or new.frame]

        def is_kept(sheet: str, row: int, column: int) -> bool:
            if sheet != new.sheet or row not in old.rows or row not in new.rows:
                return True
            return record(old, row, column) == record(new, row, column)

        return load_refusals(one for one in self.refusals_json() if is_kept(*one[:3]))

    def refused(self, sheet: str) -> Iterator[CellPosition]:
        """Yield the refused cells of a sheet, by row and column."""
        for row, cells in sorted(self._refused.get(sheet, {}).items()):
            yield from ((row, column) for column in sorted(cells))

    def rules(self, sheet: str) -> list[dict[str, Any]]:
        """Return the refusals of a sheet by reason, in the form of ``FindingsView.rules``.

        Reasons that differ only in numbers count as one.
        """
        texts = [self._refused[sheet][row][column] for row, column in self.refused(sheet)]
        reasons = group_by_reason((_reason_key(text), text) for text in texts)
        listed = sorted(reasons.items(), key=lambda item: -len(item[1]))[:_MAX_REASONS]
        return [
            {
                "key": key,
                "column": None,
                "code": "refused",
                "severity": "refused",
                "message": alike[0] if len(set(alike)) == 1 else key.removeprefix(REFUSED),
                "hint": "",
                "of_header": False,
                "names": [],
                "count": len(alike),
                "fixable": 0,
                "cell": None,
            }
            for key, alike in listed
        ]

    def cells_of(self, sheet: str, rule: str) -> list[CellPosition]:
        """Return the cells refused for a reason, by its key in ``rules``."""
        refused = self._refused.get(sheet, {})
        return [
            (row, at) for row, at in self.refused(sheet) if _reason_key(refused[row][at]) == rule
        ]

    @property
    def refused_sheets(self) -> list[str]:
        """Sheets with refused cells."""
        return [sheet for sheet, rows in self._refused.items() if rows]

    def count(self, sheet: str) -> int:
        """Return the number of refused cells of a sheet."""
        return sum(map(len, self._refused.get(sheet, {}).values()))

    def refusals_json(self) -> list[tuple[str, int, int, str]]:
        """Return the refusals for storage: sheet, row, column and reason."""
        return [
            (sheet, row, column, text)
            for sheet, rows in self._refused.items()
            for row, cells in rows.items()
            for column, text in cells.items()
        ]

    def marks(self, sheet: str, row: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the marks for a row's refusals in the grid, with their columns."""
        for column, text in self._refused.get(sheet, {}).get(row, {}).items():
            yield column, make_mark("refused", text)

    def planned_marks(
        self, row: int, columns: Mapping[str, int], first: int
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the marks for the plan of a row of the chosen sheet, with their columns.

        ``first`` is the column for a reason that concerns the whole row.
        """
        plan = self.planned.get(row)
        if plan is not None:
            for name, text in (plan.differences or {"": plan.message}).items():
                yield columns.get(name, first), make_mark("planned", text)


def _reason_key(text: str) -> str:
    return REFUSED + without_values(text)


def load_refusals(stored: Iterable[tuple[str, int, int, str]]) -> Refusals:
    """Return stored refusals."""
    loaded: defaultdict[str, dict[CellPosition, str]] = defaultdict(dict)
    for sheet, row, column, text in stored:
        loaded[sheet][row, column] = text
    return loaded


def refusals(sheet: ValidatedSheet, rejected: Iterable[Mapping[str, Any]]) -> Refusals:
    """Return the reasons of rejected rows by cell, an item's in its child sheet.

    A reason without a cell belongs to the row's first one.
    """
    items = ItemAddresses.of_sheet(sheet)
    reasons: defaultdict[str, defaultdict[CellPosition, list[str]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rejected:
        item = ItemAddresses.find(items, row["row"] or 0, row["column"] or "", or_first=True)
        if item is not None:
            child, _, address = item.rpartition("!")
            reasons[child][cell_position(address)].append(row["message"])
        else:
            cell = row["cell"] if row["cell"] and "!" not in row["cell"] else "A"
            column = column_index(cell.rstrip("0123456789"))
            reasons[sheet.sheet][row["row"], column].append(row["message"])
    return {
        name: {position: " · ".join(texts) for position, texts in cells.items()}
        for name, cells in reasons.items()
    }
