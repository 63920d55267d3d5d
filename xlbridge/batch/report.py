"""A batch for programs and for people: fit for a terminal, a log or an e-mail."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from xlbridge.batch.batch import Batch
from xlbridge.batch.overview import StepState
from xlbridge.batch.plan import ExportStep, WorkbookStep
from xlbridge.batch.standing import Rows, Standing, UnitState
from xlbridge.i18n import Text

STANDINGS: Mapping[Standing, Text] = {
    Standing.NEW: Text(pt="a fazer", en="to do"),
    Standing.CHANGED: Text(pt="mudou", en="changed"),
    Standing.INVALID: Text(pt="com erros", en="has errors"),
    Standing.REFUSED: Text(pt="recusada", en="refused"),
    Standing.HELD: Text(pt="não enviada", en="not sent"),
    Standing.FAILED: Text(pt="falhou", en="failed"),
    Standing.UNDER_WAY: Text(pt="em andamento", en="under way"),
    Standing.PARTIAL: Text(pt="em parte", en="in part"),
    Standing.IN_DOUBT: Text(pt="em dúvida", en="in doubt"),
    Standing.INCOMPLETE: Text(pt="incompleta", en="incomplete"),
    Standing.EDITED: Text(pt="editada", en="edited"),
    Standing.DONE: Text(pt="feito", en="done"),
}
"""What each standing is called."""

_MARKS = {Standing.DONE: "✓", Standing.NEW: "·", Standing.CHANGED: "·", Standing.UNDER_WAY: "…"}
_BAD = "✗"
_WAITING = Text(pt="espera por {names}", en="waits for {names}")


def batch_json(batch: Batch, steps: Sequence[StepState]) -> dict[str, Any]:
    """Return a batch as JSON."""
    return {
        "version": 1,
        "batch": batch.id,
        "plan": str(batch.plan.path),
        "parameters": dict(batch.plan.parameters),
        "done": all(state.done for state in steps),
        "rows": _rows_json(total(steps)),
        "steps": [_step_json(state) for state in steps],
    }


def batch_text(batch: Batch, steps: Sequence[StepState]) -> Iterator[Text]:
    """Yield the lines of a report: each step, what is wrong in it, and the whole at the end."""
    yield Text(pt="Lote {id}", en="Batch {id}").format(id=batch.id)
    width = max((len(state.step.name) for state in steps), default=0)
    for state in steps:
        mark = _MARKS.get(state.standing, _BAD)
        yield Text(pt="{text}", en="{text}").format(
            text=_line(f"  {mark} {state.step.name:{width}}  ", state)
        )
        if state.problem is not None:
            yield Text(pt="      {p}", en="      {p}").format(p=state.problem)
        for unit in state.units:
            if unit.standing is Standing.DONE:
                continue
            if isinstance(state.step, WorkbookStep):
                yield from _unit_text(unit)
            elif unit.problem is not None:
                yield Text(pt="      {p}", en="      {p}").format(p=unit.problem)
    yield from _closing(steps)


def total(steps: Sequence[StepState]) -> Rows:
    """Return what became of the rows of all steps that send."""
    return sum((s.rows for s in steps if _sends(s)), Rows())


def _sends(state: StepState) -> bool:
    return isinstance(state.step, WorkbookStep) and state.step.sending is not None


def _line(head: str, state: StepState) -> Text:
    if state.waits_for and not state.done:
        told = _WAITING.format(names=", ".join(state.waits_for))
    else:
        told = STANDINGS[state.standing]
    if isinstance(state.step, ExportStep):
        detail = Text(pt="{listing} → {o}", en="{listing} → {o}").format(
            listing=state.step.listing, o=state.step.output
        )
    elif not _sends(state):
        detail = Text(
            pt="{n} {n:arquivo conferido|arquivos conferidos}",
            en="{n} {n:workbook|workbooks} checked",
        ).format(n=len(state.units))
    else:
        detail = _rows_text(state.rows, len(state.units))
    return Text(pt="{head}{told} · {detail}", en="{head}{told} · {detail}").format(
        head=head, told=told, detail=detail
    )


def _rows_text(rows: Rows, workbooks: int) -> Text:
    if rows.read == rows.unsent:
        return Text(
            pt="{n} {n:arquivo|arquivos}, {read} {read:linha conferida|linhas conferidas}, nada "
            "enviado",
            en="{n} {n:workbook|workbooks}, {read} {read:row|rows} checked, nothing sent",
        ).format(n=workbooks, read=rows.read)
    told = Text(
        pt="{n} {n:arquivo|arquivos}, {read} {read:linha|linhas}: {accepted} "
        "{accepted:aceita|aceitas}",
        en="{n} {n:workbook|workbooks}, {read} {read:row|rows}: {accepted} accepted",
    ).format(n=workbooks, read=rows.read, accepted=rows.accepted)
    for count, text in (
        (rows.rejected, Text(pt="{n} {n:rejeitada|rejeitadas}", en="{n} rejected")),
        (rows.unknown, Text(pt="{n} sem prova", en="{n} without proof")),
        (rows.unsent, Text(pt="{n} {n:não enviada|não enviadas}", en="{n} not sent")),
    ):
        if count:
            told = Text(pt="{told}, {more}", en="{told}, {more}").format(
                told=told, more=text.format(n=count)
            )
    return told


def _unit_text(unit: UnitState) -> Iterator[Text]:
    yield Text(pt="      {name}: {standing}", en="      {name}: {standing}").format(
        name=unit.name, standing=STANDINGS[unit.standing]
    )
    if unit.problem is not None:
        yield Text(pt="        {p}", en="        {p}").format(p=unit.problem)
    if unit.standing is Standing.INVALID and unit.check is not None:
        yield Text(pt="        erros: {n}", en="        errors: {n}").format(n=unit.check.errors)
        for line in unit.check.told:
            yield Text(pt="        {line}", en="        {line}").format(line=line)
    for job in unit.jobs:
        if unit.rows.rejected and job.last("rejects_file"):
            yield Text(
                pt="        rejeitadas: {n} · corrija em {file}",
                en="        rejected: {n} · mend them in {file}",
            ).format(n=unit.rows.rejected, file=job.last("rejects_file"))
    if unit.standing is Standing.IN_DOUBT:
        for job in unit.jobs:
            yield Text(
                pt="        veja: xlbridge jobs {job}", en="        see: xlbridge jobs {job}"
            ).format(job=job.id)


def _closing(steps: Sequence[StepState]) -> Iterator[Text]:
    rows = total(steps)
    yield Text(
        pt="Linhas: {read} = {accepted} {accepted:aceita|aceitas} + {rejected} "
        "{rejected:rejeitada|rejeitadas} + {unknown} sem prova + "
        "{unsent} {unsent:não enviada|não enviadas}",
        en="Rows: {read} = {accepted} accepted + {rejected} rejected + {unknown} without proof + "
        "{unsent} not sent",
    ).format(rejected=rows.rejected, **asdict(rows))


def _step_json(state: StepState) -> dict[str, Any]:
    step = state.step
    kind = "export" if isinstance(step, ExportStep) else "upload" if step.sending else "validate"
    return {
        "step": step.name,
        "kind": kind,
        "state": state.standing.value,
        "after": list(step.after),
        "waits_for": list(state.waits_for),
        "problem": None if state.problem is None else str(state.problem),
        "rows": _rows_json(state.rows),
        "units": [_unit_json(unit) for unit in state.units],
    }


def _unit_json(unit: UnitState) -> dict[str, Any]:
    return {
        "name": unit.name,
        "state": unit.standing.value,
        "sha256": unit.sha256,
        "rows": _rows_json(unit.rows),
        "errors": unit.check.errors if unit.check else 0,
        "warnings": unit.check.warnings if unit.check else 0,
        "problem": None if unit.problem is None else str(unit.problem),
        "jobs": [job.id for job in unit.jobs],
    }


def _rows_json(rows: Rows) -> dict[str, int]:
    return {**asdict(rows), "rejected": rows.rejected}
