"""Control totals of a batch: rows and amounts of its steps, with pictures of the month."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from xlbridge import titles
from xlbridge.batch.batch import Batch
from xlbridge.batch.plan.steps import WorkbookStep, sends_workbooks
from xlbridge.batch.unit import UnitOverview
from xlbridge.errors import LocalFailure, UsageError
from xlbridge.i18n import Text, untranslated
from xlbridge.report_forms import Heading, Line, Table, Tone, Value
from xlbridge.settings import Settings
from xlbridge.upload.results import ControlTotals, RowChange, RowLedger, RowOutcome

if TYPE_CHECKING:
    from xlbridge.batch.status import StepOverview

_MONTH = Text(pt="O mês", en="The month")
_ROWS = Text(pt="Linhas por etapa", en="Rows by step")
_AMOUNTS = Text(pt="Valores por etapa", en="Amounts by step")
_GROUPS: Mapping[str, Text] = {
    "written": titles.IN_SYSTEM,
    "doubtful": Text(pt="Em dúvida", en="In doubt"),
    "rejected": Text(pt="Rejeitadas", en="Rejected"),
    "waiting": Text(pt="Por enviar", en="To be sent"),
}
_GROUP_OF = {
    RowOutcome.ACCEPTED: "written",
    RowOutcome.UNCHANGED: "written",
    RowOutcome.UNKNOWN: "doubtful",
    RowOutcome.REJECTED: "rejected",
    RowOutcome.NOT_WRITTEN: "rejected",
}
"""Group of a row by its outcome; all others wait to be sent."""


def month_tables(
    batch: Batch,
    steps: "Sequence[StepOverview]",
    branches: Callable[[Settings], Mapping[str, str]] = lambda _: {},
) -> list[Table]:
    """Return the rows and the amounts of the steps that send, by what became of them, then for each
    step its totals by outcome, reason, branch and due month.

    ``branches`` returns the names of an environment's branches by their codes.

    Amounts of a step are left out if its resource has none, or its stored rows are gone.
    """
    rows: list[tuple[Value, ...]] = []
    amounts: list[tuple[Value, ...]] = []
    details: list[Table] = []
    for state in steps:
        step = state.step
        if not sends_workbooks(step):
            continue
        changes = dict(enumerate(_changes(batch, step, state.units)))
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for number, (_, change) in changes.items():
            numbers[_GROUP_OF.get(change.outcome, "waiting")].append(number)
        counts = Counter({name: len(found) for name, found in numbers.items()})
        unsent = [unit for unit in state.units if not unit.jobs]
        counts["waiting"] += sum(unit.rows.read for unit in unsent)
        if counts.total():
            rows.append((step.name, *(counts[name] for name in _GROUPS), counts.total()))
        context = batch.environments.context(step.profile)
        try:
            totals = ControlTotals.of_changes(context, changes)
        except (LocalFailure, UsageError):
            continue
        sums = {name: totals.of_rows(numbers[name]) or Decimal(0) for name in _GROUPS}
        checked = [unit.check.amount for unit in unsent if unit.check is not None]
        known = [amount for amount in checked if amount is not None]
        sums["waiting"] += sum(known, Decimal(0))
        if totals.amount is not None or known:
            amounts.append((step.name, *sums.values(), sum(sums.values(), Decimal(0))))
        if changes:
            totals.branches = branches(context.settings)
            details += totals.by_outcome(changes, sheet=untranslated(step.name))
    tables = [_table(_ROWS, rows, shares=True), _table(_AMOUNTS, amounts)]
    return [*(table for table in tables if table.body), *details]


def _changes(
    batch: Batch, step: WorkbookStep, units: Sequence[UnitOverview]
) -> Iterator[tuple[RowLedger, RowChange]]:
    """Yield what became of each record of the workbooks that a step has sent."""
    journal = batch.environments.context(step.profile).journal
    for unit in units:
        if unit.jobs:
            ledger = RowLedger.of(journal, unit.jobs[0])
            yield from ((ledger, change) for change in ledger.now.values() if change.is_record)


def _table(title: Text, lines: Sequence[tuple[Value, ...]], *, shares: bool = False) -> Table:
    columns = [*zip(*lines, strict=True)][1:]
    sums = [sum(column, type(column[0])(0)) for column in columns]
    last = titles.ROWS if shares else titles.AMOUNT
    return Table(
        sheet=_MONTH,
        title=title,
        headings=tuple(map(Heading, (titles.STEP, *_GROUPS.values(), last))),
        lines=[*map(Line, lines), *([Line((titles.TOTAL, *sums), Tone.SUM)] if sums else [])],
        bars=range(1, len(_GROUPS) + 1),
        shares=shares,
        aligned=True,
    )
