"""Status of a batch, step by step, and its report as JSON and as text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from xlbridge.batch.batch import Batch, RowCounts, UnitOverview, UnitStatus, workbook_overview
from xlbridge.batch.comparison_step import comparison_overview
from xlbridge.batch.exports import export_overview
from xlbridge.batch.plan import (
    AnyStep,
    CompareStep,
    ExportStep,
    ProcessStep,
    WorkbookFile,
    WorkbookStep,
    workbooks_of,
)
from xlbridge.i18n import Text
from xlbridge.upload import ACTION_COUNTS


@dataclass(frozen=True, slots=True)
class StepOverview:
    """Status of a step. ``waits_for`` are the steps before it that are not done."""

    step: AnyStep
    units: tuple[UnitOverview, ...]
    waits_for: tuple[str, ...] = ()
    problem: Text | None = None

    @property
    def status(self) -> UnitStatus:
        """The gravest status of its units."""
        if self.problem is not None:
            return UnitStatus.HELD
        return max(
            (unit.status for unit in self.units), key=_BY_GRAVITY.index, default=_STATUS_OF_NONE
        )

    @property
    def rows(self) -> RowCounts:
        """Row counts of its units."""
        return sum((unit.rows for unit in self.units), RowCounts())

    @property
    def done(self) -> bool:
        """True if nothing is left to do."""
        return self.status is UnitStatus.DONE


_BY_GRAVITY = (
    UnitStatus.DONE,
    UnitStatus.NEW,
    UnitStatus.CHANGED,
    UnitStatus.UNDER_WAY,
    UnitStatus.INCOMPLETE,
    UnitStatus.EDITED,
    UnitStatus.PARTIAL,
    UnitStatus.INVALID,
    UnitStatus.HELD,
    UnitStatus.REFUSED,
    UnitStatus.FAILED,
    UnitStatus.IN_DOUBT,
)
_STATUS_OF_NONE = UnitStatus.DONE
_NO_WORKBOOK = Text(
    pt="nenhum arquivo corresponde a {patterns}", en="no workbook matches {patterns}"
)

_NOT_EXPORTED = Text(
    pt="{patterns} ainda não foi exportada por este lote",
    en="{patterns} was not exported by this batch yet",
)


def overview(batch: Batch) -> list[StepOverview]:
    """Return the status of each step, in the order in which they are done."""
    states: dict[str, StepOverview] = {}
    for step in batch.plan.ordered:
        states[step.name] = step_overview(batch, step, states)
    return list(states.values())


def step_overview(batch: Batch, step: AnyStep, before: Mapping[str, StepOverview]) -> StepOverview:
    """Return the status of a step; ``before`` are those of the steps before it, by name."""
    waits_for = tuple(name for name in step.after if not before[name].done)
    if isinstance(step, ExportStep):
        # What is exported depends on all that was sent before it.
        sent = [unit for state in before.values() for unit in state.units]
        units, problem = [export_overview(batch, step, sent)], None
    elif isinstance(step, CompareStep):
        sent = [unit for state in before.values() for unit in state.units]
        units, problem = [comparison_overview(batch, step, sent)], None
    elif isinstance(step, ProcessStep):
        # What processes records judges sheets of them, too, which takes long to import.
        from xlbridge.batch.processing import processing_overview

        units, problem = [processing_overview(batch, step)], None
    else:
        units, problem = _units_of_step(batch, step)
    shown = tuple(_with_failure(batch, step, unit) for unit in units)
    return StepOverview(step, shown, waits_for, problem)


def _units_of_step(batch: Batch, step: WorkbookStep) -> tuple[list[UnitOverview], Text | None]:
    units = [unit for _, unit in workbook_overviews(batch, step)]
    if units or step.may_be_empty or _empty_exports(batch, step):
        return units, None
    before = (one for one in batch.plan.steps if one.name in step.after)
    why = _NOT_EXPORTED if any(map(batch.plan.is_source, before)) else _NO_WORKBOOK
    return [], why.format(patterns=", ".join(step.patterns))


def _empty_exports(batch: Batch, step: WorkbookStep) -> set[Path]:
    """Return the workbooks of a step that the batch itself has exported without any record."""
    files = {batch.plan.file(pattern) for pattern in step.patterns}
    found = set()
    for one in batch.plan.steps:
        if isinstance(one, ExportStep) and batch.plan.file(one.output) in files:
            name = batch.environments.name(one.profile)
            done = batch.ledger.export_of(batch.id, one.name, name)
            if done is not None and not done.manifest["records"]:
                found.add(batch.plan.file(one.output))
    return found


def workbook_overviews(
    batch: Batch, step: WorkbookStep
) -> Iterator[tuple[WorkbookFile, UnitOverview]]:
    """Yield the workbooks of a step with their status, also those that were sent and are gone;
    not those that the batch has exported without any record."""
    nothing = _empty_exports(batch, step)
    present = [one for one in workbooks_of(batch.plan, step) if one.path not in nothing]
    if step.sending is not None:
        _follow_renames(batch, step, present)
    for book in present:
        yield book, workbook_overview(batch.ledger, batch.environments, batch.id, step, book)
    if step.sending is None:
        return
    names = {book.name for book in present}
    for name in batch.ledger.files_sent(batch.id, step.name, batch.environments.name(step.profile)):
        gone = WorkbookFile(batch.plan.folder / name, name, "")
        state = workbook_overview(batch.ledger, batch.environments, batch.id, step, gone)
        if name not in names and state.jobs:
            yield gone, state


def _follow_renames(batch: Batch, step: WorkbookStep, present: Sequence[WorkbookFile]) -> None:
    """Record the new names of workbooks that were renamed after they were sent.

    Such a workbook has, byte for byte, the content sent under a name that is gone.
    """
    ledger, profile = batch.ledger, batch.environments.name(step.profile)
    sent = ledger.files_sent(batch.id, step.name, profile)
    names = {book.name for book in present}
    gone: dict[str, str] = {}
    for name in sent:
        last = ledger.last_sent(batch.id, step.name, name, profile)
        if name not in names and last is not None:
            gone[last.sha256] = name
    for book in present:
        if book.name not in sent and book.sha256 in gone:
            ledger.renamed(batch.id, step.name, profile, gone.pop(book.sha256), book.name)


def _with_failure(batch: Batch, step: AnyStep, unit: UnitOverview) -> UnitOverview:
    """Add the failure of the last run to a unit that is unchanged since."""
    profile = batch.environments.name(step.profile)
    failure = batch.ledger.failure_of(batch.id, step.name, unit.name, profile)
    if failure is None or failure.sha256 != unit.sha256:
        return unit
    if unit.status in {UnitStatus.DONE, UnitStatus.IN_DOUBT}:
        return unit
    status = unit.status
    if not unit.jobs or all(job.state.is_unsent for job in unit.jobs):
        status = UnitStatus.FAILED if failure.of_system else UnitStatus.HELD
    return replace(unit, status=status, problem=failure.message)


STATUS_NAMES: Mapping[UnitStatus, Text] = {
    UnitStatus.NEW: Text(pt="a fazer", en="to do"),
    UnitStatus.CHANGED: Text(pt="mudou", en="changed"),
    UnitStatus.INVALID: Text(pt="com erros", en="has errors"),
    UnitStatus.REFUSED: Text(pt="recusada", en="refused"),
    UnitStatus.HELD: Text(pt="não enviada", en="not sent"),
    UnitStatus.FAILED: Text(pt="falhou", en="failed"),
    UnitStatus.UNDER_WAY: Text(pt="em andamento", en="under way"),
    UnitStatus.PARTIAL: Text(pt="em parte", en="in part"),
    UnitStatus.IN_DOUBT: Text(pt="em dúvida", en="in doubt"),
    UnitStatus.INCOMPLETE: Text(pt="incompleta", en="incomplete"),
    UnitStatus.EDITED: Text(pt="editada", en="edited"),
    UnitStatus.DONE: Text(pt="feito", en="done"),
}
"""Names of the statuses."""

_MARKS = {
    UnitStatus.DONE: "✓",
    UnitStatus.NEW: "·",
    UnitStatus.CHANGED: "·",
    UnitStatus.UNDER_WAY: "…",
}
_BAD_MARK = "✗"
_WAITS_FOR = Text(pt="espera por {names}", en="waits for {names}")


def batch_json(batch: Batch, steps: Sequence[StepOverview]) -> dict[str, Any]:
    """Return a batch as JSON."""
    return {
        "version": 1,
        "batch": batch.id,
        "plan": str(batch.plan.path),
        "parameters": dict(batch.plan.parameters),
        "done": all(state.done for state in steps),
        "rows": _rows_json(total_rows(steps)),
        "steps": [_step_json(state) for state in steps],
    }


def batch_text(batch: Batch, steps: Sequence[StepOverview]) -> Iterator[Text]:
    """Yield the lines of a report: each step with its problems, and the totals at the end."""
    yield Text(pt="Lote {id}", en="Batch {id}").format(id=batch.id)
    width = max((len(state.step.name) for state in steps), default=0)
    for state in steps:
        mark = _MARKS.get(state.status, _BAD_MARK)
        yield Text(pt="{text}", en="{text}").format(
            text=_step_line(f"  {mark} {state.step.name:{width}}  ", state)
        )
        if state.problem is not None:
            yield Text(pt="      {p}", en="      {p}").format(p=state.problem)
        for unit in state.units:
            if unit.status is UnitStatus.DONE:
                continue
            if isinstance(state.step, WorkbookStep):
                yield from _unit_text(unit)
            elif unit.problem is not None:
                yield Text(pt="      {p}", en="      {p}").format(p=unit.problem)
    yield from _total_text(steps)


def total_rows(steps: Sequence[StepOverview]) -> RowCounts:
    """Return the row counts of all steps that send."""
    return sum((s.rows for s in steps if _sends(s)), RowCounts())


def _sends(state: StepOverview) -> bool:
    return isinstance(state.step, WorkbookStep) and state.step.sending is not None


def _step_line(head: str, state: StepOverview) -> Text:
    if state.waits_for and not state.done:
        summary = _WAITS_FOR.format(names=", ".join(state.waits_for))
    else:
        summary = STATUS_NAMES[state.status]
    if isinstance(state.step, ExportStep):
        detail = Text(pt="{listing} → {o}", en="{listing} → {o}").format(
            listing=state.step.listing, o=state.step.output
        )
    elif isinstance(state.step, CompareStep):
        detail = Text(
            pt="{n} {n:listagem|listagens} com {other} → {o}",
            en="{n} {n:listing|listings} with {other} → {o}",
        ).format(n=len(state.step.listings), other=state.step.other, o=state.step.output)
    elif isinstance(state.step, ProcessStep):
        detail = _processed_text(state.step, state.rows)
    elif not _sends(state):
        detail = Text(
            pt="{n} {n:arquivo conferido|arquivos conferidos}",
            en="{n} {n:workbook|workbooks} checked",
        ).format(n=len(state.units))
    else:
        detail = _rows_text(state.rows, len(state.units))
    return Text(pt="{head}{summary} · {detail}", en="{head}{summary} · {detail}").format(
        head=head, summary=summary, detail=detail
    )


def _processed_text(step: ProcessStep, rows: RowCounts) -> Text:
    return Text(
        pt="{listing} de {source}: {done} {done:processado|processados}, {already} já estavam, "
        "{rejected} {rejected:rejeitado|rejeitados}, {unknown} sem prova",
        en="{listing} of {source}: {done} processed, {already} were already, {rejected} rejected, "
        "{unknown} without proof",
    ).format(
        listing=step.listing,
        source=step.source,
        done=rows.accepted,
        already=rows.unchanged,
        rejected=rows.rejected,
        unknown=rows.unknown,
    )


def _rows_text(rows: RowCounts, workbooks: int) -> Text:
    if rows.read == rows.unsent:
        return Text(
            pt="{n} {n:arquivo|arquivos}, {read} {read:linha conferida|linhas conferidas}, nada "
            "enviado",
            en="{n} {n:workbook|workbooks}, {read} {read:row|rows} checked, nothing sent",
        ).format(n=workbooks, read=rows.read)
    summary = Text(
        pt="{n} {n:arquivo|arquivos}, {read} {read:linha|linhas}: {accepted} "
        "{accepted:aceita|aceitas}",
        en="{n} {n:workbook|workbooks}, {read} {read:row|rows}: {accepted} accepted",
    ).format(n=workbooks, read=rows.read, accepted=rows.accepted)
    for count, text in (
        (rows.unchanged, Text(pt="{n} sem alteração", en="{n} unchanged")),
        (rows.held, Text(pt="{n} {n:retida|retidas}", en="{n} held")),
        (rows.rejected, Text(pt="{n} {n:rejeitada|rejeitadas}", en="{n} rejected")),
        (rows.unknown, Text(pt="{n} sem prova", en="{n} without proof")),
        (rows.unsent, Text(pt="{n} {n:não enviada|não enviadas}", en="{n} not sent")),
    ):
        if count:
            summary = Text(pt="{summary}, {more}", en="{summary}, {more}").format(
                summary=summary, more=text.format(n=count)
            )
    return summary


def _unit_text(unit: UnitOverview) -> Iterator[Text]:
    yield Text(pt="      {name}: {status}", en="      {name}: {status}").format(
        name=unit.name, status=STATUS_NAMES[unit.status]
    )
    if unit.problem is not None:
        yield Text(pt="        {p}", en="        {p}").format(p=unit.problem)
    if unit.actions is not None:
        yield Text(pt="        {counts}", en="        {counts}").format(
            counts=ACTION_COUNTS.format(**unit.actions)
        )
    if unit.status is UnitStatus.INVALID and unit.check is not None:
        yield Text(pt="        erros: {n}", en="        errors: {n}").format(n=unit.check.errors)
        for line in unit.check.first_findings:
            yield Text(pt="        {line}", en="        {line}").format(line=line)
    for job in unit.jobs:
        if (unit.rows.rejected or unit.rows.held) and job.last("rejects_file"):
            yield Text(
                pt="        rejeitadas: {n} · retidas: {held} · corrija em {file}",
                en="        rejected: {n} · held: {held} · fix them in {file}",
            ).format(n=unit.rows.rejected, held=unit.rows.held, file=job.last("rejects_file"))
    if unit.status is UnitStatus.IN_DOUBT:
        for job in unit.jobs:
            yield Text(
                pt="        veja: xlbridge jobs {job}", en="        see: xlbridge jobs {job}"
            ).format(job=job.id)


def _total_text(steps: Sequence[StepOverview]) -> Iterator[Text]:
    rows = total_rows(steps)
    yield Text(
        pt="Linhas: {read} = {accepted} {accepted:aceita|aceitas} + {unchanged} sem alteração + "
        "{held} {held:retida|retidas} + {rejected} {rejected:rejeitada|rejeitadas} + {unknown} sem "
        "prova + {unsent} {unsent:não enviada|não enviadas}",
        en="Rows: {read} = {accepted} accepted + {unchanged} unchanged + {held} held + {rejected} "
        "rejected + {unknown} without proof + {unsent} not sent",
    ).format(rejected=rows.rejected, **asdict(rows))


def _step_json(state: StepOverview) -> dict[str, Any]:
    step = state.step
    return {
        "step": step.name,
        "kind": _kind(step),
        "state": state.status.value,
        "after": list(step.after),
        "waits_for": list(state.waits_for),
        "problem": None if state.problem is None else str(state.problem),
        "rows": _rows_json(state.rows),
        "units": [_unit_json(unit) for unit in state.units],
    }


def _kind(step: AnyStep) -> str:
    if isinstance(step, WorkbookStep):
        return "upload" if step.sending else "validate"
    if isinstance(step, ProcessStep):
        return "process"
    return "export" if isinstance(step, ExportStep) else "compare"


def _unit_json(unit: UnitOverview) -> dict[str, Any]:
    return {
        "name": unit.name,
        "state": unit.status.value,
        "sha256": unit.sha256,
        "rows": _rows_json(unit.rows),
        "errors": unit.check.errors if unit.check else 0,
        "warnings": unit.check.warnings if unit.check else 0,
        "problem": None if unit.problem is None else str(unit.problem),
        "findings": list(unit.check.first_findings) if unit.check else [],
        "plan": None if unit.actions is None else dict(unit.actions),
        "jobs": [job.id for job in unit.jobs],
    }


def _rows_json(rows: RowCounts) -> dict[str, int]:
    return {**asdict(rows), "rejected": rows.rejected}
