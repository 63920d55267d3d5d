"""Report of a batch: its status as JSON and as text, its proofs, what to do next, and the control
totals of its steps with pictures of the month."""

import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from xlbridge import titles
from xlbridge.batch.batch import Batch, RowCounts, UnitOverview, UnitStatus
from xlbridge.batch.plan_steps import (
    BatchPlan,
    CompareStep,
    ExportStep,
    ProcessStep,
    WorkbookStep,
    sends_workbooks,
)
from xlbridge.batch.status import StepOverview
from xlbridge.errors import LocalFailure, UsageError
from xlbridge.export import LISTINGS
from xlbridge.files import as_arguments, short_path
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.report_forms import Grade, Heading, Line, Report, ReportForms, Table, Tone, Value
from xlbridge.upload import State
from xlbridge.upload.planning import action_counts, token_line
from xlbridge.upload.requests import RowOutcome
from xlbridge.upload.results import RowLedger

if TYPE_CHECKING:
    from xlbridge.batch.run_options import BatchConsentRequest, BatchOutcome


_MARKS = {
    UnitStatus.DONE: "✓",
    UnitStatus.NEW: "·",
    UnitStatus.CHANGED: "·",
    UnitStatus.UNDER_WAY: "…",
}
_BAD_MARK = "✗"
_DROPPED = Text(
    pt="{line} · a etapa não está mais no plano", en="{line} · the step is no longer in the plan"
)
_WAITS_FOR = Text(pt="espera por {names}", en="waits for {names}")


def batch_report(batch: Batch, outcome: "BatchOutcome", *, one_screen: bool = False) -> ReportForms:
    """Return the report of a batch: its status, and the files with the details.

    Its page also has the control totals of the steps, with pictures. With ``one_screen`` its text
    is cut to the lines of a terminal.
    """

    def with_totals() -> Report:
        status = _content(batch, outcome)
        totals = month_tables(batch, outcome.steps, batch.environments.branch_names)
        return replace(status, tables=[*status.tables, *totals])

    def text() -> Report:
        report = _content(batch, outcome)
        return _cut_to_screen(report, batch.id) if one_screen else report

    return replace(
        ReportForms.of_report(text, lambda: _document(batch, outcome)),
        page=ReportForms.of_report(with_totals).page,
    )


_MORE = Text(
    pt="… e mais {n} {n:linha|linhas}: xlbridge batch status {batch} --format html",
    en="… and {n} more {n:line|lines}: xlbridge batch status {batch} --format html",
    page=Text(
        pt="… e mais {n} {n:linha|linhas}",
        en="… and {n} more {n:line|lines}",
    ),
)


def _cut_to_screen(report: Report, batch: str) -> Report:
    """Return a batch's report with the lines below its steps cut so that all fit on a screen.

    Each step keeps its line, and of those below as many as fit, the first of each step first. What
    is not written to a terminal is not cut.
    """
    columns, lines = shutil.get_terminal_size(fallback=(80, 0))
    most = lines - 1  # one line of a terminal is the next prompt's

    def height(one: Report) -> int:
        texts = map(str, ReportForms.of_report(lambda: one).lines())
        return sum(len(wrap(text, columns, subsequent_indent="    ")) or 1 for text in texts)

    def shortened(text: Text | str | None) -> str:
        line = str(text)
        return line if len(line) <= columns else f"{line[: columns - 1]}…"

    if not lines or height(report) <= most:
        return report
    steps, *others = report.tables
    kept = [0] * len(steps.lines)
    found = sorted(
        (at, step) for step, line in enumerate(steps.lines) for at in range(len(line.below))
    )

    def cut() -> Report:
        lines = [
            replace(
                line,
                text=line.text if line.tone is Tone.SUM else shortened(line.text),
                below=[shortened(text) for text in line.below[:count]],
            )
            for line, count in zip(steps.lines, kept, strict=True)
        ]
        left = len(found) - sum(kept)
        remarks = [*report.remarks, _MORE.format(n=left, batch=batch)] if left else report.remarks
        return replace(report, tables=[replace(steps, lines=lines), *others], remarks=remarks)

    for _, step in found[: max(most - height(cut()), 0)]:
        kept[step] += 1
    return cut()


def consent_report(batch: Batch, request: "BatchConsentRequest") -> Report:
    """Return what a run of a batch would write, ending with the token."""
    # Imported late, as it loads pandas.
    from xlbridge.upload.planning import PlannedSheet

    lines = []
    has_amounts = any(writes.amount is not None for writes in request.steps)
    for writes in request.steps:
        step, counts = writes.step, list(writes.texts())
        profile = batch.environments.name(step.profile)
        text = _STEP_WRITES.format(
            step=step.name,
            resource=step.resource,
            profile=profile,
            files=writes.files,
            counts="".join(f" · {count}" for count in counts),
        )
        resource = batch.environments.context(step.profile).catalogue.get(step.resource or "")
        title = step.resource if resource is None else resource.title
        amount = [writes.amount] if has_amounts else []
        values = (step.name, title, profile, writes.files, *amount, joined(counts, " · "))
        unread = writes.unread
        if resource is not None and not (resource.read_back and resource.read_back.lookups):
            unread = [PlannedSheet.explain_unread(resource)]  # also of rows that are planned later
        below = [_BELOW.format(text=one) for one in unread]
        lines.append(Line(values, text=text, below=below))
    headings = [titles.STEP, titles.RESOURCE, titles.ENVIRONMENT, titles.WORKBOOKS]
    if has_amounts:
        headings.append(titles.AMOUNT)
    return Report(
        tables=[
            Table(
                sheet=titles.STEPS,
                headings=(*map(Heading, headings), Heading(_WRITES, words=True)),
                lines=lines,
            ),
        ],
        remarks=[_NOT_SENT.format(n=request.failed)] if request.failed else [],
        next_steps=[token_line(request.token)],
    )


_WRITES = Text(pt="A gravar", en="To write")
_STEP_WRITES = Text(
    pt="  {step} · {resource} para {profile} · arquivos: {files}{counts}",
    en="  {step} · {resource} to {profile} · workbooks: {files}{counts}",
)
_NOT_SENT = Text(
    pt="  {n} {n:arquivo não será enviado|arquivos não serão enviados}, por ter erros",
    en="  not sent because of errors: {n} {n:workbook|workbooks}",
)
_BELOW = untranslated("    {text}")


def _document(batch: Batch, outcome: "BatchOutcome") -> dict[str, Any]:
    page, target = outcome.findings_page, batch.environments.profile
    return {
        "version": 1,
        "batch": batch.id,
        "plan": str(batch.plan.path),
        "parameters": dict(batch.plan.parameters),
        "target": target(None).to_json(),
        "done": all(state.done for state in outcome.steps),
        "rows": total_rows(outcome.steps).to_json(),
        "steps": [
            step_json(state)
            | ({"target": target(state.step.profile).to_json()} if state.step.profile else {})
            for state in outcome.steps
        ],
        "findings_page": None if page is None else str(page),
        "confirm": outcome.confirm,
        "proofs": [proof.to_json() for proof in outcome.proofs],
    }


def _content(batch: Batch, outcome: "BatchOutcome") -> Report:
    """Return the report of a batch as data."""
    steps = outcome.steps
    remarks = []
    if outcome.findings_page is not None:
        remarks.append(_ALL_ERRORS.format(page=short_path(outcome.findings_page)))
    if outcome.confirm is not None:
        remarks.append(token_line(outcome.confirm))
    open_steps = [state for state in steps if not state.done]
    unsettled = [proof for proof in outcome.proofs if not proof.settled]
    last_step = _CHECK_PROOF if unsettled else _KEEP_PROOF if outcome.proofs else _NOTHING_LEFT
    pages = (as_arguments(proof.page) for proof in unsettled or outcome.proofs)
    return Report(
        title=Text(pt="Lote {id}", en="Batch {id}").format(id=batch.id),
        verdict=_verdict(batch, steps, open_steps),
        grade=Grade.GOOD if not open_steps and outcome.proofs_settled else Grade.ERROR,
        remarks=remarks,
        tables=[
            step_table(batch.plan, steps),
            *(
                [Table(sheet=_PROOFS, lines=[proof.line() for proof in outcome.proofs])]
                if outcome.proofs
                else []
            ),
        ],
        next_steps=[
            _next_step(batch, open_steps)
            if open_steps
            else last_step.format(files=", ".join(pages))
        ],
    )


_PROOFS = Text(pt="Provas de fechamento", en="Closing proofs")
_ALL_ERRORS = Text(
    pt="Todos os erros dos arquivos: {page}", en="All errors of the workbooks: {page}"
)


def total_rows(steps: Sequence[StepOverview]) -> RowCounts:
    """Return the row counts of all steps that send."""
    return sum((state.rows for state in steps if sends_workbooks(state.step)), RowCounts())


def step_table(plan: BatchPlan, steps: Sequence[StepOverview]) -> Table:
    """Return the steps of a batch with their problems; the last line are the totals."""
    rows = total_rows(steps)
    total, parts = untranslated(str(rows.read)), rows.texts()
    sums = Text(pt="Linhas: {counts}", en="Rows: {counts}").format(
        counts=joined([total, joined(parts, " + ")], " = ") if parts else total
    )
    width = max((len(state.step.name) for state in steps), default=0)
    lines = [_step_line(plan, state, width) for state in steps]
    headings = Heading(titles.STEP), Heading(titles.STATE), Heading(titles.DETAILS, words=True)
    return Table(
        sheet=titles.STEPS,
        headings=headings,
        lines=[*lines, Line((None, None, sums), tone=Tone.SUM, text=sums)],
    )


def _step_line(plan: BatchPlan, state: StepOverview, width: int) -> Line:
    """Return a step with its problems; ``width`` is that of the longest name."""
    step = state.step
    mark = _MARKS.get(state.status, _BAD_MARK)
    if any(unit.needs_person for unit in state.units):
        mark = _BAD_MARK
    summary = state.status.text
    if state.waits_for and not state.done:
        summary = _WAITS_FOR.format(names=", ".join(state.waits_for))
    detail = _detail(state)
    text = untranslated("  {mark} {name}  {summary} · {detail}").format(
        mark=mark, name=f"{step.name:{width}}", summary=summary, detail=detail
    )
    if step.name not in {planned.name for planned in plan.steps}:
        text, detail = _DROPPED.format(line=text), _DROPPED.format(line=detail)
    below = list(_indented(6, state.problem))
    for unit in state.units:
        if unit.status is UnitStatus.DONE:
            continue
        below += _unit_lines(unit) if isinstance(step, WorkbookStep) else _indented(6, unit.problem)
    tone = Tone.OPEN if mark == _BAD_MARK else Tone.PLAIN
    return Line((step.name, summary, detail), tone=tone, text=text, below=below)


def _indented(width: int, *texts: Text | str | None) -> Iterator[Text]:
    for text in texts:
        if text is not None:
            yield untranslated(f"{'':{width}}{{text}}").format(text=text)


def _detail(state: StepOverview) -> Text:
    """Return what a step handles, and the counts of its rows."""
    step = state.step
    if isinstance(step, ExportStep):
        return untranslated("{listing} → {o}").format(
            listing=LISTINGS[step.listing].title, o=step.output
        )
    if isinstance(step, CompareStep):
        return Text(
            pt="{n} {n:listagem|listagens} com {other} → {o}",
            en="{n} {n:listing|listings} with {other} → {o}",
        ).format(n=len(step.listings), other=step.other, o=step.output)
    rows, workbooks = state.rows, len(state.units)
    if isinstance(step, ProcessStep):
        return Text(
            pt="{listing} de {source}: {done} {done:processado|processados}, {already} já "
            "estavam, {rejected} {rejected:rejeitado|rejeitados}, {unknown} em dúvida",
            en="{listing} of {source}: {done} processed, {already} already processed, {rejected} "
            "rejected, {unknown} in doubt",
        ).format(
            listing=step.listing,
            source=step.source,
            done=rows.accepted,
            already=rows.unchanged,
            rejected=rows.rejected,
            unknown=rows.unknown,
        )
    if not sends_workbooks(step):
        return Text(
            pt="{n} {n:arquivo conferido|arquivos conferidos}",
            en="{n} {n:workbook|workbooks} checked",
        ).format(n=workbooks)
    if rows.read == rows.unsent:
        return Text(
            pt="{n} {n:arquivo|arquivos}, {read} {read:linha conferida|linhas conferidas}, nada "
            "enviado",
            en="{n} {n:workbook|workbooks}, {read} {read:row|rows} checked, nothing sent",
        ).format(n=workbooks, read=rows.read)
    return Text(
        pt="{n} {n:arquivo|arquivos}, {read} {read:linha|linhas}: {counts}",
        en="{n} {n:workbook|workbooks}, {read} {read:row|rows}: {counts}",
    ).format(n=workbooks, read=rows.read, counts=joined(rows.texts(), ", "))


def _unit_lines(unit: UnitOverview) -> Iterator[Text]:
    """Yield the problems of a workbook, or what is planned for it."""
    yield untranslated("      {name}: {status}").format(name=unit.name, status=unit.status.text)
    yield from _indented(8, unit.problem)
    if unit.actions is not None:
        yield from _indented(8, joined(action_counts(unit.actions), " · "))
    yield from _indented(6, *unit.held)
    if unit.status is UnitStatus.INVALID and unit.check is not None:
        yield Text(pt="        erros: {n}", en="        errors: {n}").format(n=unit.check.errors)
        yield from _indented(8, *unit.check.titled_findings)
    for file, rows in unit.refused.items():
        yield Text(
            pt="        corrija {file}: {counts}", en="        correct {file}: {counts}"
        ).format(file=short_path(Path(file)), counts=joined(rows.texts(), ", "))
    if unit.status is UnitStatus.IN_DOUBT:
        for job in unit.jobs:
            yield Text(
                pt="        veja: xlbridge jobs {job}",
                en="        see: xlbridge jobs {job}",
                page=Text(
                    pt="        veja {job} em Envios",
                    en="        see {job} under Uploads",
                ),
            ).format(job=job.arguments())


def step_json(state: StepOverview) -> dict[str, Any]:
    """Return the status of a step and of its units as JSON."""
    checks = isinstance(state.step, WorkbookStep) and not sends_workbooks(state.step)
    return {
        "step": state.step.name,
        "kind": "validate" if checks else _KINDS[type(state.step)],
        "state": state.status.value,
        "after": list(state.step.after),
        "waits_for": list(state.waits_for),
        "problem": None if state.problem is None else str(state.problem),
        "rows": state.rows.to_json(),
        "units": [
            {
                "name": unit.name,
                "state": unit.status.value,
                "sha256": unit.sha256,
                "rows": unit.rows.to_json(),
                "errors": unit.check.errors if unit.check else 0,
                "warnings": unit.check.warnings if unit.check else 0,
                "problem": None if unit.problem is None else str(unit.problem),
                "findings": list(map(str, unit.check.first_findings)) if unit.check else [],
                "plan": None if unit.actions is None else dict(unit.actions),
                "jobs": [job.id for job in unit.jobs],
            }
            for unit in state.units
        ],
    }


_KINDS = {
    WorkbookStep: "upload",
    ProcessStep: "process",
    ExportStep: "export",
    CompareStep: "compare",
}


def _verdict(
    batch: Batch, steps: Sequence[StepOverview], open_steps: Sequence[StepOverview]
) -> Text:
    if not open_steps:
        return Text(pt="✓ O lote {id} está concluído.", en="✓ The batch {id} is complete.").format(
            id=batch.id
        )
    on_track = all(state.status in _TO_DO for state in open_steps) and not any(
        unit.needs_person for state in open_steps for unit in state.units
    )
    return Text(
        pt="{mark} Lote {id}: {done} de {n} {n:etapa feita|etapas feitas}; faltam: {names}.",
        en="{mark} The batch {id}: {done} of {n} {n:step|steps} done; left: {names}.",
    ).format(
        mark="·" if on_track else "✗",
        id=batch.id,
        done=len(steps) - len(open_steps),
        n=len(steps),
        names=", ".join(state.step.name for state in open_steps),
    )


def _next_step(batch: Batch, open_steps: Sequence[StepOverview]) -> Text:
    """Return the next step of a batch, first what only a person can do."""
    profile = batch.environments.profile(None).arguments
    units = [unit for state in open_steps for unit in state.units]
    doubts = [job for unit in units if unit.status is UnitStatus.IN_DOUBT for job in unit.jobs]
    settling = [moment for job in doubts if (moment := job.settles_at) is not None]
    undecided = [job for job in doubts if job.state is State.NEEDS_PERSON]
    if settling and not undecided:
        return Text(
            pt="A seguir: a partir de {moment}, xlbridge batch resume {id} confere no sistema.",
            en="Next: from {moment} on, xlbridge batch resume {id} checks the system.",
        ).format(
            moment=f"{max(settling):%d/%m/%Y %H:%M:%S}",
            id=as_arguments(batch.id, *profile),
        )
    if doubts:
        return Text(
            pt="A seguir: decida o envio em dúvida: xlbridge jobs {job}",
            en="Next: decide the upload in doubt: xlbridge jobs {job}",
        ).format(job=(undecided or doubts)[-1].arguments())
    blocked = any(state.problem is not None for state in open_steps) or any(
        unit.needs_person for unit in units
    )
    text = _CORRECT_FIRST if blocked else _RESUME
    known = any(record.id == batch.id for record in batch.ledger.batches())
    command: list[str | Path] = ["resume", batch.id]
    if not known:
        schemas = [] if batch.custom_schemas is None else ["--schemas", str(batch.custom_schemas)]
        command = ["run", batch.plan.path, *batch.plan.parameter_options, *schemas]
    return text.format(command=as_arguments(*command, *profile))


_TO_DO = frozenset({UnitStatus.NEW, UnitStatus.CHANGED, UnitStatus.UNDER_WAY})
_CORRECT_FIRST = Text(
    pt="A seguir: corrija os problemas apontados, depois: xlbridge batch {command}",
    en="Next: fix the problems shown, then: xlbridge batch {command}",
)
_RESUME = Text(pt="A seguir: xlbridge batch {command}", en="Next: xlbridge batch {command}")
_CHECK_PROOF = Text(
    pt="A seguir: confira o que a prova deixa em aberto: {files}",
    en="Next: check what the proof leaves open: {files}",
)
_KEEP_PROOF = Text(
    pt="A seguir: guarde a prova de fechamento: {files}",
    en="Next: keep the closing proof: {files}",
)
_NOTHING_LEFT = Text(pt="A seguir: nada mais a fazer.", en="Next: nothing is left to do.")


_MONTH = Text(pt="O mês", en="The month")
_ROWS = Text(pt="Linhas por etapa", en="Rows by step")
_AMOUNTS = titles.in_reais(Text(pt="Valores por etapa", en="Amounts by step"))
_GROUPS: Mapping[str, Text] = {
    "written": titles.IN_SYSTEM,
    "doubtful": Text(pt="Em dúvida", en="In doubt"),
    "rejected": Text(pt="Rejeitadas", en="Rejected"),
    "waiting": Text(pt="A enviar", en="To be sent"),
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
    steps: Sequence[StepOverview],
    branches: Callable[[str | None], Mapping[str, str]],
) -> list[Table]:
    """Return the rows and the amounts of the steps that send, by what became of them, then for each
    step its totals by outcome, reason, branch and due month.

    ``branches`` returns the names of the branches of a profile's environment by their codes.

    Amounts of a step are left out if its resource has none, or its stored rows are gone.
    """
    # Imported late, as it loads pandas.
    from xlbridge.upload.results import ControlTotals

    rows: list[tuple[Value, ...]] = []
    amounts: list[tuple[Value, ...]] = []
    details: list[Table] = []
    for state in steps:
        step = state.step
        if not sends_workbooks(step):
            continue
        context = batch.environments.context(step.profile)
        sent = (unit.jobs[0] for unit in state.units if unit.jobs)
        ledgers = (RowLedger.of(context.journal, job) for job in sent)
        records = ((one, row) for one in ledgers for row in one.now.values() if row.is_record)
        changes = dict(enumerate(records))
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for number, (_, change) in changes.items():
            numbers[_GROUP_OF.get(change.outcome, "waiting")].append(number)
        counts = Counter({name: len(found) for name, found in numbers.items()})
        unsent = [unit for unit in state.units if not unit.jobs]
        counts["waiting"] += sum(unit.rows.read for unit in unsent)
        if counts.total():
            rows.append((step.name, *(counts[name] for name in _GROUPS), counts.total()))
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
            totals.branches = branches(step.profile)
            details += totals.by_outcome(changes, sheet=untranslated(step.name))
    tables = [_table(_ROWS, rows, shares=True), _table(_AMOUNTS, amounts)]
    return [*(table for table in tables if table.body), *details]


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
