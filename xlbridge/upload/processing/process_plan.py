"""Plan of a processing, with the action on each record, and its report."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge import titles
from xlbridge.i18n import Text, untranslated
from xlbridge.report_forms import Heading, Line, Report, Table, group_by_reason, list_first
from xlbridge.upload.claims import ClaimedRows
from xlbridge.upload.planning.planned_row import JobPlan, PlannedRow, token_line
from xlbridge.upload.planning.row_reasons import RowAction
from xlbridge.upload.processing.process_kinds import (
    ProcessKind,
    RecordNumbers,
    RecordStatus,
    find_kind,
)

if TYPE_CHECKING:
    from xlbridge.client import Target

ALREADY = Text(pt="já processado", en="already processed")
_SHOWN_RECORDS = 10


@dataclass(frozen=True, slots=True)
class ProcessPlan(JobPlan):
    """Plan of a processing, with a row for every record in the sheet's order.

    ``known`` are the claims on them in this journal, ``elsewhere`` those in other profiles'
    journals.
    """

    kind: ProcessKind
    numbers: RecordNumbers
    rows: Sequence[PlannedRow]
    known: ClaimedRows = field(repr=False)
    elsewhere: Mapping[Path, ClaimedRows] = field(repr=False)

    @property
    def to_process(self) -> list[PlannedRow]:
        """Records to process, or that the system is processing, in order."""
        return [row for row in self.rows if row.action.writes]

    @property
    def skipped(self) -> list[PlannedRow]:
        """Records that cannot be processed, in order."""
        return [row for row in self.rows if row.action is RowAction.HELD]

    @property
    def digest(self) -> str:
        """Digest of the records to process."""
        records = [[int(row.record or 0), row.status] for row in self.to_process]
        return hashlib.sha256(json.dumps([self.kind.name, records]).encode()).hexdigest()

    @property
    def note(self) -> dict[str, Any]:
        """Details of the event that records the plan, named as for uploads."""
        skipped = len(self.skipped)
        counts = {"unchanged": len(self.rows) - self.writes - skipped, "held": skipped}
        return {**super(ProcessPlan, self).note, "plan": counts, "hidden": self.numbers.hidden}


def process_plan_report(
    listing: str, target: "Target", rows: Sequence[PlannedRow], token: str, hidden: int
) -> Report:
    """Return the plan of a processing, ending with the token.

    ``hidden`` counts the records in hidden rows.
    """
    counts = Counter(row.action for row in rows)
    unknown = sum(row.action.writes and row.status == RecordStatus.UNKNOWN for row in rows)
    warnings = {_NOT_SHOWN.format(n=unknown): unknown, _IN_HIDDEN_ROWS.format(n=hidden): hidden}
    if counts[RowAction.PROCESS]:
        warnings[untranslated("  {text}").format(text=find_kind(listing).final)] = 1
    return Report(
        title=_PLAN.format(
            listing=listing,
            place=target.label,
            n=counts[RowAction.PROCESS],
            already=counts[RowAction.UNCHANGED],
            left=counts[RowAction.HELD],
        ),
        remarks=[warning for warning, count in warnings.items() if count],
        tables=[
            record_table((_ACTION_NAMES[row.action], row.why, int(row.record or 0)) for row in rows)
        ],
        next_steps=[token_line(token)] if counts[RowAction.PROCESS] else [],
    )


_PLAN = Text(
    pt="Plano: processar {listing} em {place} · a processar: {n}; já processados: {already}; "
    "não podem: {left}",
    en="Plan: process {listing} in {place} · to process: {n}; already done: {already}; "
    "cannot: {left}",
)
_NOT_SHOWN = Text(
    pt="  {n:para 1 registro|para {n} registros} o sistema não informa se já "
    "{n:foi processado|foram processados}",
    en="  for {n} {n:record|records} the system does not show whether {n:it was|they were} "
    "already processed",
)
_IN_HIDDEN_ROWS = Text(
    pt="  {n} {n:está em linha oculta|estão em linhas ocultas} da planilha (um filtro?) e "
    "também {n:conta|contam}",
    en="  {n} {n:is in a hidden row|are in hidden rows} of the sheet (a filter?) and "
    "{n:is|are} included",
)


_ACTION_NAMES: Mapping[RowAction, Text] = {
    RowAction.PROCESS: Text(pt="processar", en="process"),
    RowAction.UNCHANGED: ALREADY,
    RowAction.HELD: Text(pt="fica de fora", en="left out"),
}


def record_table(records: Iterable[tuple[Text, Text | str | None, int]]) -> Table:
    """Return the action or outcome of records and the remark on it, with their numbers."""
    groups = group_by_reason(((name, remark), number) for name, remark, number in records)
    sentence, with_remark = untranslated("  • {numbers}: {name}"), untranslated("{text}; {remark}")
    lines = []
    for (name, remark), numbers in groups.items():
        shown = list_first(numbers, _SHOWN_RECORDS)
        text = sentence.format(numbers=shown, name=name)
        if remark is not None:
            text = with_remark.format(text=text, remark=remark)
        lines.append(Line((shown, name, remark), text=text))
    return Table(
        sheet=titles.RECORDS,
        headings=(
            Heading(titles.RECORD),
            Heading(titles.STATE),
            Heading(titles.REASON, words=True),
        ),
        lines=lines,
    )
