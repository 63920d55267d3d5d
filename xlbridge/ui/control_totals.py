"""Control totals of a sheet on the page: numbers and amounts of its rows, before and after sending.

The amount and the columns are those of the resource's control totals, as in the closing proof.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pandas as pd

from xlbridge import titles
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.report_forms import Heading, Line, Table, Tone, Value
from xlbridge.resources import Column, Kind
from xlbridge.ui.answers import table_json
from xlbridge.ui.row_remarks import without_numbers
from xlbridge.upload.results import RowChange, RowLedger
from xlbridge.validation import ValidatedSheet

_BRANCH = "filial"
_DUE = "dataDeVencimento"
_MOST_BARS = 18
_ZERO = Decimal(0)
_OUTCOMES = Text(pt="Situação das linhas", en="Status of the rows")
_REASONS = Text(pt="Por que não foram gravadas", en="Why they were not written")
_BY_MONTH = Text(pt="{title}, por mês", en="{title}, by month")
_NO_REASON = Text(pt="sem motivo informado", en="no reason given")

Label = str | Text


class SheetTotals:
    """Control totals of the rows of a sheet, by Excel's row numbers."""

    def __init__(self, sheet: ValidatedSheet) -> None:
        self._sheet = sheet
        self._positions = {row: position for position, row in enumerate(sheet.rows)}
        resource = sheet.resource
        name = None if resource is None else resource.totals.amount
        self._amounts: list[Decimal] | None = None
        self._heading: Text | None = None
        if resource is not None and name is not None and name in sheet.frame:
            values = sheet.frame[name].fillna(0).tolist()
            self._amounts = [Decimal(str(value)) for value in values]
            self._heading = resource.by_name[name].title

    def of_labels(
        self, title: Text, rows: Iterable[tuple[int, Label]], *, pictured: bool = False
    ) -> dict[str, Any]:
        """Return the totals of rows, each with its label, in the order of their first rows, with
        bars if they are ``pictured``."""
        counts: Counter[str] = Counter()
        amounts: defaultdict[str, Decimal] = defaultdict(Decimal)
        for row, label in rows:
            counts[str(label)] += 1
            if self._amounts is not None and row in self._positions:
                amounts[str(label)] += self._amounts[self._positions[row]]
        return self._table(title, counts, amounts, pictured=pictured)

    def of_columns(self, rows: Iterable[int]) -> Iterator[dict[str, Any]]:
        """Yield the totals of rows by branch and by due month, where the sheet has them."""
        numbers = list(rows)
        for column in self._columns():
            by_month = column.kind is Kind.DATE
            labels = [_label(value) for value in self._sheet.frame[column.name].tolist()]
            found = [(row, labels[self._positions[row]]) for row in numbers]
            found.sort(key=lambda item: _order(item[1]))
            title = _BY_MONTH.format(title=column.title) if by_month else column.title
            shown = ((row, _shown_month(label) if by_month else label) for row, label in found)
            yield self.of_labels(title, shown, pictured=True)

    def _columns(self) -> Iterator[Column]:
        resource = self._sheet.resource
        if resource is None:
            return
        for name in resource.totals.by:
            column = resource.by_name[name]
            if name in self._sheet.frame and (column.references == _BRANCH or name == _DUE):
                yield column

    def _table(
        self, title: Text, counts: Counter[str], amounts: Mapping[str, Decimal], *, pictured: bool
    ) -> dict[str, Any]:
        headings = [Heading(title, words=True), Heading(titles.ROWS)]
        lines: list[tuple[Value, ...]] = [*counts.items(), (titles.TOTAL, counts.total())]
        values: list[Decimal | int] = list(counts.values())
        if self._heading is not None:
            headings.append(Heading(self._heading))
            sums = [amounts.get(label, _ZERO) for label in counts]
            values = [*sums]
            with_sum = zip(lines, [*sums, sum(sums, _ZERO)], strict=True)
            lines = [(*line, amount) for line, amount in with_sum]
        *plain, total = map(Line, lines)
        table = Table(
            sheet=title,
            headings=tuple(headings),
            lines=[*plain, replace(total, tone=Tone.SUM)],
        )
        shown = table_json(table)
        bars = [
            {"label": line["cells"][0], "value": float(value), "text": line["cells"][-1]}
            for line, value in zip(shown["lines"], values, strict=False)
        ]
        return shown | {
            "title": str(title),
            "bars": bars[:_MOST_BARS] if pictured and len(bars) > 1 else [],
        }


def outcome_totals(sheet: ValidatedSheet, ledger: RowLedger, own: Mapping[int, RowChange]) -> Any:
    """Return the totals of the rows of an upload by their outcome, and of those that were not
    written by reason. ``own`` are the job's rows in the ledger."""
    totals = SheetTotals(sheet)
    rows = {row: change for row, change in sorted(own.items()) if change.is_record}
    reasons = {
        row: joined([found.message for found in ledger.rejections(change)], " · ")
        if change.planned is None and ledger.rejections(change)
        else ledger.reason(change) or _NO_REASON
        for row, change in rows.items()
        if change.is_refused
    }
    refused = _alike(reasons)
    tables = [totals.of_labels(_OUTCOMES, ((row, it.outcome.text) for row, it in rows.items()))]
    return [*tables, totals.of_labels(_REASONS, refused)] if refused else tables


def _alike(reasons: Mapping[int, Text]) -> list[tuple[int, str]]:
    """Return the reasons of rows, those that differ only in numbers as one."""
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for text in map(str, reasons.values()):
        texts[without_numbers(text)].add(text)
    keys = [(row, str(text), without_numbers(str(text))) for row, text in reasons.items()]
    return [(row, text if len(texts[key]) == 1 else key) for row, text, key in keys]


def _label(value: Any) -> str:
    if pd.isna(value):
        return ""
    return f"{value:%Y-%m}" if isinstance(value, date) else str(value)


def _order(label: str) -> tuple[bool, int, str]:
    return not label, int(label) if label.isdecimal() else 0, label


def _shown_month(label: str) -> Label:
    return untranslated(f"{label[5:]}/{label[:4]}") if label else untranslated("–")
