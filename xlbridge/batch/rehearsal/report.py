"""Report of a rehearsal as JSON and as text, with its verdict."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from xlbridge.batch.rehearsal.result import (
    Refusal,
    RehearsalResult,
    RehearsalState,
    RowDifference,
    RowId,
    TableCount,
    TrialResult,
    ViolationKind,
    WorkbookResult,
)
from xlbridge.files import as_argument
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.sandbox.rehearsal import REGISTRY_TITLES
from xlbridge.upload.results import RowOutcome

_MAX_SHOWN = 10
_REFUSED = (RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN)

ASSERTIONS: dict[str, tuple[Text, tuple[ViolationKind, ...]]] = {
    "none_twice": (
        Text(pt="Nenhuma linha duas vezes", en="No row twice"),
        (ViolationKind.TWICE, ViolationKind.WRONGLY_REFUSED),
    ),
    "none_lost": (Text(pt="Nenhuma linha perdida", en="No row lost"), (ViolationKind.LOST,)),
    "verdict_for_every_row": (
        Text(pt="Um resultado para cada linha", en="An outcome for every row"),
        (ViolationKind.NO_VERDICT,),
    ),
}
"""Assertions of a rehearsal by JSON key: the text, and the violations that break it."""

_OUTCOME_NAMES = {
    RowOutcome.ACCEPTED: Text(pt="aceita", en="accepted"),
    RowOutcome.REJECTED: Text(pt="rejeitada", en="rejected"),
    RowOutcome.NOT_WRITTEN: Text(pt="não gravada", en="not written"),
    RowOutcome.UNKNOWN: Text(pt="em dúvida", en="in doubt"),
    RowOutcome.UNCHANGED: Text(pt="sem alteração", en="unchanged"),
    RowOutcome.HELD: Text(pt="retida", en="held"),
    RowOutcome.UNSENT: Text(pt="não enviada", en="not sent"),
    None: Text(pt="não enviada", en="not sent"),
}

_IN_DATABASE = {
    True: Text(pt="está no sistema", en="is in the system"),
    False: Text(pt="não está no sistema", en="is not in the system"),
    None: Text(
        pt="o sistema tem só uma parte destas linhas, e nada mostra se tem esta",
        en="the system has only some of these rows, and nothing shows whether it has this one",
    ),
}

_PASSED = Text(
    pt="✓ Ensaio aprovado: {rows} {rows:linha|linhas}, cada uma no sistema uma vez{faults}.",
    en="✓ Rehearsal passed: {rows} {rows:row|rows}, each in the system once{faults}.",
)
_UNDER_FAULTS = Text(
    pt=", apesar das falhas em {runs} {runs:execução|execuções}",
    en=", despite the faults in {runs} {runs:run|runs}",
)
_VERDICTS = {
    RehearsalState.NOT_READY: Text(
        pt="✗ O lote ainda não está pronto: corrija os problemas do relatório e ensaie de novo.",
        en="✗ The batch is not ready yet: fix the problems in the report, then rehearse again.",
    ),
    RehearsalState.IN_DOUBT: Text(
        pt="✗ O lote ainda não está pronto: {doubts} {doubts:linha ficou|linhas ficaram} em "
        "dúvida. Numa execução real, alguém teria de conferir cada uma no sistema.",
        en="✗ The batch is not ready yet: {doubts} {doubts:row was|rows were} left in doubt. In a "
        "real run, a person would have to look up each one in the system.",
    ),
    RehearsalState.BROKEN: Text(
        pt="✗✗ Não rode este lote: {violations} "
        "{violations:garantia foi quebrada|garantias foram quebradas}. É um defeito do xlbridge: "
        "ensaie de novo com --keep PASTA e relate-o.",
        en="✗✗ Do not run this batch: {violations} {violations:assertion was|assertions were} "
        "broken. This is a defect of xlbridge: rehearse again with --keep FOLDER and report it.",
    ),
}
_NEXT_STEPS = {
    RehearsalState.PASSED: Text(
        pt="A seguir: xlbridge batch run {plan}", en="Next: xlbridge batch run {plan}"
    ),
    RehearsalState.NOT_READY: Text(
        pt="A seguir: xlbridge batch plan {plan} mostra os erros de cada arquivo.",
        en="Next: xlbridge batch plan {plan} shows the errors of each workbook.",
    ),
    RehearsalState.IN_DOUBT: Text(
        pt="A seguir: se a planilha tem uma coluna de chave (CNPJ, idws, código próprio), "
        "preencha-a e ensaie de novo: xlbridge batch rehearse {plan}",
        en="Next: if the sheet has a key column (CNPJ, idws, your own code), fill it in and "
        "rehearse again: xlbridge batch rehearse {plan}",
    ),
    RehearsalState.BROKEN: Text(
        pt="A seguir: xlbridge batch rehearse {plan} --keep PASTA",
        en="Next: xlbridge batch rehearse {plan} --keep FOLDER",
    ),
}
_NO_FAULTS = Text(
    pt="! Nenhuma falha foi pedida: só o caso sem falhas foi ensaiado. "
    "Com falhas: --faults cut-after@0.05,error-before@0.1 --kill 3",
    en="! No faults were requested: only the case without faults was rehearsed. "
    "With faults: --faults cut-after@0.05,error-before@0.1 --kill 3",
)


def _verdict(result: RehearsalResult) -> Text:
    counts = result.counts
    if result.state is not RehearsalState.PASSED:
        return _VERDICTS[result.state].format(
            doubts=len(counts.comparison.doubts), violations=len(counts.comparison.violations)
        )
    runs = result.trial.faulty_runs
    faults = _UNDER_FAULTS.format(runs=runs) if result.had_faults else ""
    return _PASSED.format(rows=counts.rows, faults=faults)


def no_fault_remark(result: RehearsalResult) -> list[Text]:
    """Return a remark if the rehearsal had no faults."""
    return [] if result.had_faults else [_NO_FAULTS]


def verdict_lines(result: RehearsalResult) -> list[Text]:
    """Return the verdict and the next step."""
    options = "".join(f" --set {name}={value}" for name, value in result.parameters.items())
    plan = f"{as_argument(result.plan)}{options}"
    return [_verdict(result), _NEXT_STEPS[result.state].format(plan=plan)]


def rehearsal_json(result: RehearsalResult) -> dict[str, Any]:
    """Return a rehearsal as JSON."""
    trial, counts = result.trial, result.counts
    differences = result.differences
    return {
        "version": 1,
        "batch": result.batch,
        "plan": str(result.plan),
        "state": result.state.value,
        "verdict": str(_verdict(result)),
        "faults": result.faults,
        "runs": {
            "faulty": trial.faulty_runs,
            "calm": trial.calm_runs,
            "killed": trial.killed_runs,
        },
        "copied": trial.copied,
        "stand_ins": dict(trial.stand_ins),
        "assertions": {
            key: not result.violations(*kinds) for key, (_, kinds) in ASSERTIONS.items()
        },
        "rows": row_counts(counts.workbooks),
        "workbooks": list(map(_workbook_json, counts.workbooks)),
        "breaches": [
            {"kind": b.kind.value, "message": str(b.message), **_row_id_json(b.row_id)}
            for b in counts.comparison.violations
        ],
        "in_doubt": [
            {**_row_id_json(d.row_id), "there": d.in_database} for d in counts.comparison.doubts
        ],
        "rejected": _refusals_json(counts.refusals),
        "held": _refusals_json(counts.held),
        "there_before": [_row_id_json(row_id) for row_id in counts.comparison.preexisting],
        "tables": [table.to_json() for table in counts.comparison.tables],
        "open_steps": {name: str(text) for name, text in counts.open_steps.items()},
        "differences": None if differences is None else list(map(_difference_json, differences)),
    }


def _workbook_json(workbook: WorkbookResult) -> dict[str, Any]:
    return {
        "step": workbook.step,
        "workbook": workbook.name,
        "rows": row_counts([workbook]),
        "problem": None if workbook.problem is None else str(workbook.problem),
        "errors": list(map(str, workbook.errors)),
    }


def _refusals_json(refusals: Sequence[Refusal]) -> list[dict[str, Any]]:
    return [{**_row_id_json(one.row_id), "message": str(one.reason)} for one in refusals]


def rehearsal_text(result: RehearsalResult) -> Iterator[Text]:
    """Yield the lines of a report: the trial, the outcomes, and the verdict at the end."""
    yield from _trial_lines(result)
    for workbook in result.counts.workbooks:
        yield from _workbook_lines(workbook)
    for name, text in result.counts.open_steps.items():
        yield Text(
            pt="  etapa não concluída: {name}, {text}", en="  step not done: {name}, {text}"
        ).format(name=name, text=text)
    yield from map(_table_line, result.counts.comparison.tables)
    for title, rows in row_lists(result):
        yield from _limited_list(title, (_row_text(row_id, text) for row_id, text in rows))
    yield from _assertion_lines(result)
    yield from no_fault_remark(result)
    yield from verdict_lines(result)


def _table_line(table: TableCount) -> Text:
    text = Text(
        pt="  tabela {table}: {before} antes, {after} depois; esperado: {expected} a mais",
        en="  table {table}: {before} before, {after} after; expected: {expected} more",
    ).format(table=table.title, before=table.before, after=table.after, expected=table.expected)
    if not table.derived:
        return text
    return Text(
        pt="{text}, {n} {n:criada|criadas} pelo processamento de outros registros",
        en="{text}, {n} of them created by processing other records",
    ).format(text=text, n=table.derived)


def _trial_lines(result: RehearsalResult) -> Iterator[Text]:
    trial = result.trial
    yield Text(pt="Ensaio do lote {id}", en="Rehearsal of the batch {id}").format(id=result.batch)
    yield Text(
        pt="  arquivos copiados para uma pasta isolada: {n}; o ambiente real não foi chamado",
        en="  workbooks copied to an isolated folder: {n}; the real environment was not called",
    ).format(n=trial.copied)
    for text in stand_in_texts(trial):
        yield Text(
            pt="  criados no ensaio para códigos que faltavam: {text}",
            en="  created in the rehearsal for missing codes: {text}",
        ).format(text=text)
    yield Text(pt="  falhas: {faults}", en="  faults: {faults}").format(
        faults=result.faults or Text(pt="nenhuma", en="none")
    )
    yield Text(pt="  execuções: {runs}", en="  runs: {runs}").format(runs=runs_text(trial))


def stand_in_texts(trial: TrialResult) -> list[Text]:
    """Return how many records were created for missing codes, if any."""
    counts = [
        untranslated("{n} {what}").format(n=count, what=REGISTRY_TITLES[table])
        for table, count in trial.stand_ins.items()
    ]
    return [joined(counts, ", ")] if counts else []


def runs_text(trial: TrialResult) -> Text:
    """Return the number of runs of a trial, with and without faults."""
    return Text(
        pt="{faulty} com falhas, {killed} delas {killed:interrompida|interrompidas} no meio; "
        "{calm} sem falhas",
        en="{faulty} under faults, {killed} of them killed; {calm} without",
    ).format(faulty=trial.faulty_runs, killed=trial.killed_runs, calm=trial.calm_runs)


_COUNT_TEXTS = {
    "accepted": Text(pt="{n} {n:aceita|aceitas}", en="{n} accepted"),
    "rejected": Text(pt="{n} {n:rejeitada|rejeitadas}", en="{n} rejected"),
    "unknown": Text(pt="{n} em dúvida", en="{n} in doubt"),
    "unsent": Text(pt="{n} {n:não enviada|não enviadas}", en="{n} not sent"),
    "unchanged": Text(pt="{n} sem alteração", en="{n} unchanged"),
    "held": Text(pt="{n} {n:retida|retidas}", en="{n} held"),
}


def _workbook_lines(workbook: WorkbookResult) -> Iterator[Text]:
    counts = row_counts([workbook])
    terms = [text.format(n=counts[key]) for key, text in _COUNT_TEXTS.items() if counts[key]]
    yield Text(
        pt="{mark} {step} · {name}: {read} {read:linha|linhas} = {terms}{why}",
        en="{mark} {step} · {name}: {read} {read:row|rows} = {terms}{why}",
    ).format(
        mark="  ✓" if workbook.settled else "  ✗",
        step=workbook.step,
        name=workbook.name,
        read=workbook.rows,
        terms=joined(terms, " + ") if terms else "0",
        why="" if workbook.problem is None else untranslated(" ({p})").format(p=workbook.problem),
    )
    for error in workbook.errors:
        yield untranslated("      {error}").format(error=error)


def row_lists(result: RehearsalResult) -> Iterator[tuple[Text, Iterable[tuple[RowId, Text]]]]:
    """Yield the rows that a person has to check, by list, each with the reason."""
    counts = result.counts
    refused = ((refusal.row_id, refusal.reason) for refusal in counts.refusals)
    yield Text(pt="Rejeitadas", en="Rejected"), refused
    held = ((row.row_id, row.reason) for row in counts.held)
    yield Text(pt="Retidas", en="Held"), held
    doubts = ((d.row_id, _IN_DATABASE[d.in_database]) for d in counts.comparison.doubts)
    yield Text(pt="Em dúvida até o fim", en="In doubt to the end"), doubts
    repeated = Text(pt="agora aparece mais de uma vez", en="is now there more than once")
    preexisting = ((row_id, repeated) for row_id in counts.comparison.preexisting)
    yield Text(pt="Já estavam no banco antes", en="In the database before the run"), preexisting
    differences = ((d.row_id, _difference_text(d)) for d in result.differences or ())
    title = Text(
        pt="Diferenças do ensaio sem falhas", en="Differences from the rehearsal without faults"
    )
    yield title, differences


def _limited_list(title: Text, lines: Iterable[Text]) -> Iterator[Text]:
    remaining = iter(lines)
    shown = list(islice(remaining, _MAX_SHOWN))
    if not shown:
        return
    more = sum(1 for _ in remaining)
    yield untranslated("{title}: {n}").format(title=title, n=len(shown) + more)
    yield from shown
    if more:
        yield Text(pt="  … e mais {n}", en="  … and {n} more").format(n=more)


def _assertion_lines(result: RehearsalResult) -> Iterator[Text]:
    for text, kinds in ASSERTIONS.values():
        violations = result.violations(*kinds)
        if not violations:
            yield untranslated("✓ {what}").format(what=text)
            continue
        yield Text(pt="✗✗ QUEBRADO: {what}", en="✗✗ BROKEN: {what}").format(what=text)
        for violation in violations[:_MAX_SHOWN]:
            if violation.row_id is None:
                yield untranslated("  {text}").format(text=violation.message)
            else:
                yield _row_text(violation.row_id, violation.message)
        if len(violations) > _MAX_SHOWN:
            yield Text(pt="  … e mais {n}", en="  … and {n} more").format(
                n=len(violations) - _MAX_SHOWN
            )
    if result.differences == ():
        yield Text(
            pt="✓ Cada linha terminou como no ensaio sem falhas",
            en="✓ Each row ended as in the rehearsal without faults",
        )


def _row_text(row_id: RowId, text: Text) -> Text:
    return Text(
        pt="  {workbook}, linha {row} ({step}): {text}",
        en="  {workbook}, row {row} ({step}): {text}",
    ).format(workbook=row_id.workbook, row=row_id.row, step=row_id.step, text=text)


def _difference_text(difference: RowDifference) -> Text:
    return Text(pt="sem falhas {calm}, aqui {now}", en="{calm} without faults, {now} here").format(
        calm=_OUTCOME_NAMES[difference.undisturbed], now=_OUTCOME_NAMES[difference.disturbed]
    )


def _difference_json(difference: RowDifference) -> dict[str, Any]:
    undisturbed, disturbed = difference.undisturbed, difference.disturbed
    return {
        **_row_id_json(difference.row_id),
        "undisturbed": None if undisturbed is None else undisturbed.value,
        "disturbed": None if disturbed is None else disturbed.value,
    }


def row_counts(workbooks: Sequence[WorkbookResult]) -> dict[str, int]:
    """Return the row counts of workbooks by JSON key."""
    return {
        "read": sum(workbook.rows for workbook in workbooks),
        "accepted": sum(workbook.count(RowOutcome.ACCEPTED) for workbook in workbooks),
        "rejected": sum(workbook.count(*_REFUSED) for workbook in workbooks),
        "unknown": sum(workbook.count(RowOutcome.UNKNOWN) for workbook in workbooks),
        "unsent": sum(workbook.unsent for workbook in workbooks),
        "unchanged": sum(workbook.count(RowOutcome.UNCHANGED) for workbook in workbooks),
        "held": sum(workbook.count(RowOutcome.HELD) for workbook in workbooks),
    }


def _row_id_json(row_id: RowId | None) -> dict[str, Any]:
    return {"step": None, "workbook": None, "row": None} if row_id is None else asdict(row_id)
