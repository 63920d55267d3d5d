"""Report of a rehearsal as a page for the browser."""

from collections.abc import Iterable, Iterator, Sequence

from xlbridge.batch.rehearsal.report import (
    ASSERTIONS,
    no_fault_remark,
    rehearsal_json,
    rehearsal_text,
    row_counts,
    row_lists,
    runs_text,
    stand_in_texts,
    verdict_lines,
)
from xlbridge.batch.rehearsal.result import RehearsalResult, RehearsalState, RowId, WorkbookResult
from xlbridge.i18n import Text, joined
from xlbridge.report_forms import Grade, Heading, Line, Report, ReportForms, Table, Tone, Value

_GRADES = {
    RehearsalState.PASSED: Grade.GOOD,
    RehearsalState.NOT_READY: Grade.ERROR,
    RehearsalState.IN_DOUBT: Grade.WARNING,
    RehearsalState.BROKEN: Grade.ERROR,
}


def rehearsal_report(result: RehearsalResult) -> ReportForms:
    """Return the report of a rehearsal as text, JSON and a page."""
    return ReportForms(
        lambda: rehearsal_json(result),
        lambda: rehearsal_text(result),
        ReportForms.of_report(lambda: _content(result)).page,
    )


def _content(result: RehearsalResult) -> Report:
    """Return the content of the page."""
    title = Text(pt="Ensaio do lote {id}", en="Rehearsal of the batch {id}")
    verdict, *next_steps = verdict_lines(result)
    return Report(
        title=title.format(id=result.batch),
        verdict=verdict,
        grade=_GRADES[result.state],
        remarks=no_fault_remark(result),
        problems=[
            _BROKEN.format(what=what)
            for what, kinds in ASSERTIONS.values()
            if result.violations(*kinds)
        ],
        facts=_facts(result),
        tables=[
            _workbook_table(result.counts.workbooks),
            *_row_tables(result),
            _table_table(result),
        ],
        next_steps=next_steps,
    )


_BROKEN = Text(pt="Quebrado: {what}", en="Broken: {what}")


def _facts(result: RehearsalResult) -> list[tuple[Text, Value]]:
    trial = result.trial
    none = Text(pt="nenhuma", en="none")
    return [
        (Text(pt="Plano", en="Plan"), str(result.plan)),
        (Text(pt="Arquivos copiados", en="Workbooks copied"), trial.copied),
        (Text(pt="Falhas", en="Faults"), result.faults or none),
        (Text(pt="Execuções", en="Runs"), runs_text(trial)),
        *(
            (what, _BROKEN_MARK if result.violations(*kinds) else _HOLDS_MARK)
            for what, kinds in ASSERTIONS.values()
        ),
        *((_CREATED, text) for text in stand_in_texts(trial)),
    ]


_HOLDS_MARK = Text(pt="✓ vale", en="✓ holds")
_BROKEN_MARK = Text(pt="✗✗ quebrada", en="✗✗ broken")
_CREATED = Text(pt="Criados no ensaio", en="Created in the rehearsal")


def _workbook_table(workbooks: Sequence[WorkbookResult]) -> Table:
    titles = (
        _STEP,
        _WORKBOOK,
        Text(pt="Linhas", en="Rows"),
        Text(pt="Aceitas", en="Accepted"),
        Text(pt="Rejeitadas", en="Rejected"),
        Text(pt="Em dúvida", en="In doubt"),
        Text(pt="Não enviadas", en="Not sent"),
        Text(pt="Sem alteração", en="Unchanged"),
        Text(pt="Retidas", en="Held"),
        _REASON,
    )
    lines = []
    for workbook in workbooks:
        counts = row_counts([workbook]).values()
        values: tuple[Value, ...] = (workbook.step, workbook.name, *counts)
        tone = Tone.PLAIN if workbook.settled else Tone.OPEN
        lines.append(Line((*values, _reason_of(workbook)), tone))
    return _table(Text(pt="Arquivos", en="Workbooks"), titles, lines)


def _reason_of(workbook: WorkbookResult) -> Text | None:
    """Return the problem of a workbook, and its first errors."""
    reasons = [*([] if workbook.problem is None else [workbook.problem]), *workbook.errors]
    return joined(reasons) if reasons else None


def _row_tables(result: RehearsalResult) -> Iterator[Table]:
    """Yield the tables of rows that a person has to check, without empty ones."""
    counts = result.counts
    lists: list[tuple[Text, Iterable[tuple[RowId | None, Value]]]] = [
        (
            Text(pt="Garantias quebradas", en="Broken assertions"),
            ((violation.row_id, violation.message) for violation in counts.comparison.violations),
        ),
        *row_lists(result),
        (
            Text(pt="Etapas não concluídas", en="Steps that are not done"),
            ((RowId(name, "", 0), text) for name, text in counts.open_steps.items()),
        ),
    ]
    titles = (_STEP, _WORKBOOK, Text(pt="Linha", en="Row"), _DETAILS)
    for title, rows in lists:
        lines = [
            Line((row.step, row.workbook or None, row.row or None, reason), Tone.OPEN)
            if row is not None
            else Line((None, None, None, reason), Tone.OPEN)
            for row, reason in rows
        ]
        if lines:
            yield _table(title, titles, lines)


def _table_table(result: RehearsalResult) -> Table:
    titles = (
        Text(pt="Tabela", en="Table"),
        Text(pt="Antes", en="Before"),
        Text(pt="Depois", en="After"),
        Text(pt="Acréscimo esperado", en="Expected increase"),
        Text(pt="Criadas pelo processamento", en="Created by processing"),
    )
    lines = [
        Line((one.title, one.before, one.after, one.expected, one.derived))
        for one in result.counts.comparison.tables
    ]
    return _table(Text(pt="Linhas no banco", en="Rows in the database"), titles, lines)


_STEP = Text(pt="Etapa", en="Step")
_WORKBOOK = Text(pt="Arquivo", en="Workbook")
_REASON = Text(pt="Motivo", en="Reason")
_DETAILS = Text(pt="Detalhes", en="Details")


def _table(title: Text, column_titles: Sequence[Text], lines: Sequence[Line]) -> Table:
    none = Text(pt="Nenhuma.", en="None.")
    headings = tuple(
        Heading(column, words=column in (_REASON, _DETAILS)) for column in column_titles
    )
    return Table(sheet=title, headings=headings, lines=lines, none=none)
