"""Report of a rehearsal as a page for the browser, in the form of the closing proof's."""

from collections.abc import Iterable, Iterator, Sequence

from xlbridge.batch.proof.grids import Grid, Heading, Line, Tone, Value, page_sections
from xlbridge.batch.rehearsal.report import (
    ASSERTIONS,
    no_fault_remark,
    rehearsal_json,
    rehearsal_text,
    row_counts,
    row_lists,
    runs_text,
    verdict_lines,
)
from xlbridge.batch.rehearsal.result import RehearsalResult, RehearsalState, RowId, WorkbookResult
from xlbridge.i18n import Text
from xlbridge.report_forms import ReportForms, render_page
from xlbridge.sandbox.rehearsal import table_title

_STATES = {
    RehearsalState.PASSED: "verified",
    RehearsalState.NOT_READY: "open",
    RehearsalState.IN_DOUBT: "partly_verified",
    RehearsalState.BROKEN: "open",
}
"""States of a rehearsal as the page's style calls them."""

_CUT = Text(
    pt="Mostradas {n} de {all} linhas; --format json tem todas.",
    en="Showing {n} of {all} lines; --format json has them all.",
)


def rehearsal_report(rehearsed: RehearsalResult) -> ReportForms:
    """Return the forms of a rehearsal's report: text, JSON, a page."""
    return ReportForms(
        lambda: rehearsal_json(rehearsed),
        lambda: rehearsal_text(rehearsed),
        lambda: _rehearsal_page(rehearsed),
    )


def _rehearsal_page(rehearsed: RehearsalResult) -> str:
    """Return a rehearsal as an HTML page in the active language: the verdict first."""
    title = Text(pt="Ensaio do lote {id}", en="Rehearsal of the batch {id}")
    verdict, *after = verdict_lines(rehearsed)
    grids = [
        _workbook_grid(rehearsed.counted.workbooks),
        *_row_grids(rehearsed),
        _table_grid(rehearsed),
    ]
    return render_page(
        "xlbridge.batch.proof",
        title=title.format(id=rehearsed.batch),
        verdict=verdict,
        state=_STATES[rehearsed.state],
        resource_lines=[*after, *no_fault_remark(rehearsed)],
        open_items=[
            _BROKEN.format(what=what)
            for what, kinds in ASSERTIONS.values()
            if rehearsed.violations(*kinds)
        ],
        facts=_facts(rehearsed),
        sections=page_sections(grids, _CUT),
    )


_BROKEN = Text(pt="Quebrado: {what}", en="Broken: {what}")


def _facts(rehearsed: RehearsalResult) -> list[tuple[Text, object]]:
    trial = rehearsed.trial
    none = Text(pt="nenhuma", en="none")
    return [
        (Text(pt="Plano", en="Plan"), rehearsed.plan),
        (Text(pt="Arquivos copiados", en="Workbooks copied"), trial.copied),
        (Text(pt="Falhas", en="Faults"), rehearsed.faults or none),
        (Text(pt="Execuções", en="Runs"), runs_text(trial)),
    ]


def _workbook_grid(workbooks: Sequence[WorkbookResult]) -> Grid:
    titles = (
        *(_STEP, _WORKBOOK, Text(pt="Linhas", en="Rows"), Text(pt="Aceitas", en="Accepted")),
        *(Text(pt="Rejeitadas", en="Rejected"), Text(pt="Em dúvida", en="In doubt")),
        *(Text(pt="Não enviadas", en="Not sent"), Text(pt="Sem alteração", en="Unchanged")),
        *(Text(pt="Retidas", en="Held"), _REASON),
    )
    lines = []
    for workbook in workbooks:
        counts = row_counts([workbook]).values()
        values: tuple[Value, ...] = (workbook.step, workbook.name, *counts)
        tone = Tone.PLAIN if workbook.settled else Tone.OPEN
        lines.append(Line((*values, workbook.problem), tone))
    return _grid(Text(pt="Arquivos", en="Workbooks"), titles, lines)


def _row_grids(rehearsed: RehearsalResult) -> Iterator[Grid]:
    """Yield the tables of rows that somebody has to look at; none where there are none."""
    counted = rehearsed.counted
    told: list[tuple[Text, Iterable[tuple[RowId | None, Value]]]] = [
        (
            Text(pt="Garantias quebradas", en="Broken assertions"),
            ((one.row_id, one.message) for one in counted.tally.violations),
        ),
        *row_lists(rehearsed),
        (
            Text(pt="Etapas não concluídas", en="Steps that are not done"),
            ((RowId(name, "", 0), text) for name, text in counted.open_steps.items()),
        ),
    ]
    titles = (_STEP, _WORKBOOK, Text(pt="Linha", en="Row"), _REASON)
    for title, rows in told:
        lines = [
            Line((row.step, row.workbook or None, row.row or None, why), Tone.OPEN)
            if row is not None
            else Line((None, None, None, why), Tone.OPEN)
            for row, why in rows
        ]
        if lines:
            yield _grid(title, titles, lines)


def _table_grid(rehearsed: RehearsalResult) -> Grid:
    titles = (
        *(Text(pt="Tabela", en="Table"), Text(pt="Antes", en="Before")),
        *(Text(pt="Depois", en="After"), Text(pt="Acréscimo esperado", en="Expected increase")),
    )
    lines = [
        Line((table_title(one.table), one.before, one.after, one.expected))
        for one in rehearsed.counted.tally.tables
    ]
    return _grid(Text(pt="Linhas no banco", en="Rows in the database"), titles, lines)


_STEP = Text(pt="Etapa", en="Step")
_WORKBOOK = Text(pt="Arquivo", en="Workbook")
_REASON = Text(pt="Motivo", en="Reason")


def _grid(title: Text, titles: Sequence[Text], lines: Sequence[Line]) -> Grid:
    none = Text(pt="Nenhuma.", en="None.")
    headings = tuple(Heading(one, words=one is _REASON) for one in titles)
    return Grid(title, headings, lines, none)
