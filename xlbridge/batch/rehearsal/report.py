"""Report of a rehearsal, as JSON and as text, with its verdict."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from xlbridge.batch.rehearsal.result import (
    RehearsalResult,
    RehearsalState,
    RowDifference,
    RowId,
    TrialResult,
    Violation,
    ViolationKind,
    WorkbookResult,
)
from xlbridge.files import as_argument
from xlbridge.i18n import Text, untranslated
from xlbridge.sandbox.rehearsal import REGISTRY_TITLES, table_title
from xlbridge.upload.results import RowOutcome

_MOST_SHOWN = 10
_REFUSED = (RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN)

ASSERTIONS: dict[str, tuple[Text, tuple[ViolationKind, ...]]] = {
    "none_twice": (
        Text(pt="Nenhuma linha duas vezes", en="No row twice"),
        (ViolationKind.TWICE, ViolationKind.WRONGLY_REFUSED),
    ),
    "none_lost": (Text(pt="Nenhuma linha perdida", en="No row lost"), (ViolationKind.LOST,)),
    "verdict_for_every_row": (
        Text(pt="Um resultado para cada linha", en="A verdict for every row"),
        (ViolationKind.NO_VERDICT,),
    ),
}
"""Assertions of a rehearsal, by its key in JSON, and its violations."""

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

_PLACE_IN_DATABASE = {
    True: Text(pt="está no sistema", en="is in the system"),
    False: Text(pt="não está no sistema", en="is not in the system"),
}


_PASSED = Text(
    pt="✓ Ensaio aprovado: {rows} {rows:linha|linhas}, cada uma no sistema uma vez{faults}.",
    en="✓ Rehearsal passed: {rows} {rows:row|rows}, each in the system once{faults}.",
)
_UNDER_FAULTS = Text(
    pt=", apesar das falhas em {runs} {runs:execução|execuções}",
    en=", in spite of the faults in {runs} {runs:run|runs}",
)
_VERDICTS = {
    RehearsalState.NOT_READY: Text(
        pt="✗ O lote ainda não está pronto: corrija o que o relatório aponta e ensaie de novo.",
        en="✗ The batch is not ready yet: fix what the report names, then rehearse again.",
    ),
    RehearsalState.IN_DOUBT: Text(
        pt="✗ O lote ainda não está pronto: {doubts} {doubts:linha ficou|linhas ficaram} em "
        "dúvida. Dê a elas uma chave pela qual possam ser lidas de volta e ensaie de novo.",
        en="✗ The batch is not ready yet: {doubts} {doubts:row was|rows were} left in doubt. Give "
        "them a key by which they can be read back, then rehearse again.",
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
        pt="A seguir: xlbridge batch plan {plan} mostra o que está errado em cada arquivo.",
        en="Next: xlbridge batch plan {plan} shows what is wrong in each workbook.",
    ),
    RehearsalState.IN_DOUBT: Text(
        pt="A seguir: xlbridge batch rehearse {plan}, depois de dar a elas a chave.",
        en="Next: xlbridge batch rehearse {plan}, once they have the key.",
    ),
    RehearsalState.BROKEN: Text(
        pt="A seguir: xlbridge batch rehearse {plan} --keep PASTA",
        en="Next: xlbridge batch rehearse {plan} --keep FOLDER",
    ),
}
_NO_FAULTS = Text(
    pt="! Nenhuma falha foi pedida: só o caso sem falhas foi ensaiado. "
    "Com falhas: --faults cut-after@0.05,error-before@0.1 --kill 3",
    en="! No faults were asked for: only the case without faults was rehearsed. "
    "With faults: --faults cut-after@0.05,error-before@0.1 --kill 3",
)


def _verdict(rehearsed: RehearsalResult) -> Text:
    counted = rehearsed.counted
    if rehearsed.state is not RehearsalState.PASSED:
        return _VERDICTS[rehearsed.state].format(
            doubts=len(counted.tally.doubts), violations=len(counted.tally.violations)
        )
    faults = "" if rehearsed.calm else _UNDER_FAULTS.format(runs=rehearsed.trial.faulty)
    return _PASSED.format(rows=counted.rows, faults=faults)


def no_fault_remark(rehearsed: RehearsalResult) -> list[Text]:
    """Return what to say where nothing was disturbed."""
    return [_NO_FAULTS] if rehearsed.calm else []


def verdict_lines(rehearsed: RehearsalResult) -> list[Text]:
    """Return the verdict, and what to do next."""
    options = "".join(f" --set {name}={value}" for name, value in rehearsed.parameters.items())
    plan = f"{as_argument(rehearsed.plan)}{options}"
    return [_verdict(rehearsed), _NEXT_STEPS[rehearsed.state].format(plan=plan)]


def rehearsal_json(rehearsed: RehearsalResult) -> dict[str, Any]:
    """Return a rehearsal as JSON."""
    trial, counted = rehearsed.trial, rehearsed.counted
    differences = rehearsed.differences
    return {
        "version": 1,
        "batch": rehearsed.batch,
        "plan": str(rehearsed.plan),
        "state": rehearsed.state.value,
        "verdict": str(_verdict(rehearsed)),
        "faults": rehearsed.faults,
        "runs": {"faulty": trial.faulty, "calm": trial.calm, "killed": trial.killed},
        "copied": trial.copied,
        "stand_ins": dict(trial.stand_ins),
        "assertions": {
            key: not rehearsed.violations(*kinds) for key, (_, kinds) in ASSERTIONS.items()
        },
        "rows": row_counts(counted.workbooks),
        "workbooks": [
            {
                "step": w.step,
                "workbook": w.name,
                "rows": row_counts([w]),
                "problem": None if w.problem is None else str(w.problem),
            }
            for w in counted.workbooks
        ],
        "breaches": [
            {"kind": b.kind.value, "message": str(b.message), **_row_id_json(b.row_id)}
            for b in counted.tally.violations
        ],
        "in_doubt": [{**_row_id_json(d.row_id), "there": d.there} for d in counted.tally.doubts],
        "rejected": [
            {**_row_id_json(r.row_id), "message": str(r.reason)} for r in counted.refusals
        ],
        "there_before": [_row_id_json(row_id) for row_id in counted.tally.preexisting],
        "tables": [asdict(table) for table in counted.tally.tables],
        "open_steps": {name: str(text) for name, text in counted.open_steps.items()},
        "differences": None if differences is None else list(map(_difference_json, differences)),
    }


def rehearsal_text(rehearsed: RehearsalResult) -> Iterator[Text]:
    """Yield the lines of a report: what was rehearsed, what became of it, the verdict last."""
    yield from _trial_text(rehearsed)
    for workbook in rehearsed.counted.workbooks:
        yield _workbook_text(workbook)
    for name, text in rehearsed.counted.open_steps.items():
        yield Text(
            pt="  etapa não concluída: {name}, {text}", en="  step not done: {name}, {text}"
        ).format(name=name, text=text)
    for table in rehearsed.counted.tally.tables:
        yield Text(
            pt="  tabela {table}: {before} antes, {after} depois; esperado: {expected} a mais",
            en="  table {table}: {before} before, {after} after; expected: {expected} more",
        ).format(**asdict(table) | {"table": table_title(table.table)})
    for title, rows in row_lists(rehearsed):
        yield from _limited_list(title, (_row_text(row_id, text) for row_id, text in rows))
    yield from _assertions_text(rehearsed)
    yield from no_fault_remark(rehearsed)
    yield from verdict_lines(rehearsed)


def _trial_text(rehearsed: RehearsalResult) -> Iterator[Text]:
    trial = rehearsed.trial
    yield Text(pt="Ensaio do lote {id}", en="Rehearsal of the batch {id}").format(
        id=rehearsed.batch
    )
    yield Text(
        pt="  arquivos copiados, byte a byte, para um lugar à parte: {n}; o ambiente real não foi "
        "chamado",
        en="  workbooks copied, byte for byte, to a private place: {n}; the real environment was "
        "not called",
    ).format(n=trial.copied)
    for table, count in trial.stand_ins.items():
        yield Text(
            pt="  criados no ensaio, para códigos que faltavam lá: {n} {what}",
            en="  made in the rehearsal for codes that were missing there: {n} {what}",
        ).format(n=count, what=REGISTRY_TITLES[table])
    yield Text(pt="  falhas: {faults}", en="  faults: {faults}").format(
        faults=rehearsed.faults or Text(pt="nenhuma", en="none")
    )
    yield Text(pt="  execuções: {runs}", en="  runs: {runs}").format(runs=runs_text(trial))


def runs_text(trial: TrialResult) -> Text:
    """Return how many runs a trial took, and how."""
    return Text(
        pt="{faulty} com falhas, {killed} delas {killed:interrompida|interrompidas} no meio; "
        "{calm} sem falhas",
        en="{faulty} under faults, {killed} of them killed in the middle; {calm} without",
    ).format(faulty=trial.faulty, killed=trial.killed, calm=trial.calm)


def _workbook_text(workbook: WorkbookResult) -> Text:
    text = Text(
        pt="{mark} {step} · {name}: {read} {read:linha|linhas} = {accepted} "
        "{accepted:aceita|aceitas} + {rejected} {rejected:rejeitada|rejeitadas} + "
        "{unknown} em dúvida + {unsent} {unsent:não enviada|não enviadas} + {unchanged} sem "
        "alteração + {held} {held:retida|retidas}",
        en="{mark} {step} · {name}: {read} {read:row|rows} = {accepted} accepted + {rejected} "
        "rejected + "
        "{unknown} in doubt + {unsent} not sent + {unchanged} unchanged + {held} held",
    ).format(
        mark="  ✓" if workbook.settled else "  ✗",
        step=workbook.step,
        name=workbook.name,
        **row_counts([workbook]),
    )
    if workbook.problem is None:
        return text
    return untranslated("{text} ({why})").format(text=text, why=workbook.problem)


def row_lists(rehearsed: RehearsalResult) -> Iterator[tuple[Text, Iterable[tuple[RowId, Text]]]]:
    """Yield the rows that somebody has to look at, list by list, with what is said of each."""
    counted = rehearsed.counted
    refused = ((one.row_id, one.reason) for one in counted.refusals)
    yield Text(pt="Rejeitadas", en="Rejected"), refused
    doubts = ((one.row_id, _PLACE_IN_DATABASE[one.there]) for one in counted.tally.doubts)
    yield Text(pt="Em dúvida até o fim", en="In doubt to the end"), doubts
    again = Text(pt="agora aparece mais de uma vez", en="is now there more than once")
    there = ((row_id, again) for row_id in counted.tally.preexisting)
    yield Text(pt="Já estavam no banco antes", en="In the database before the run"), there
    differing = ((one.row_id, _difference_text(one)) for one in rehearsed.differences or ())
    yield (
        Text(pt="Diferenças do ensaio sem falhas", en="Differences from one without faults"),
        differing,
    )


def _limited_list(title: Text, lines: Iterable[Text]) -> Iterator[Text]:
    waiting = iter(lines)
    shown = list(islice(waiting, _MOST_SHOWN))
    if not shown:
        return
    more = sum(1 for _ in waiting)
    yield untranslated("{title}: {n}").format(title=title, n=len(shown) + more)
    yield from shown
    if more:
        yield Text(pt="  … e mais {n}", en="  … and {n} more").format(n=more)


def _assertions_text(rehearsed: RehearsalResult) -> Iterator[Text]:
    for text, kinds in ASSERTIONS.values():
        violations = rehearsed.violations(*kinds)
        if not violations:
            yield untranslated("✓ {what}").format(what=text)
            continue
        yield Text(pt="✗✗ QUEBRADO: {what}", en="✗✗ BROKEN: {what}").format(what=text)
        yield from map(_violation_text, violations[:_MOST_SHOWN])
        if len(violations) > _MOST_SHOWN:
            yield Text(pt="  … e mais {n}", en="  … and {n} more").format(
                n=len(violations) - _MOST_SHOWN
            )
    if rehearsed.differences == ():
        yield Text(
            pt="✓ Cada linha terminou como no ensaio sem falhas",
            en="✓ Each row ended as in the rehearsal without faults",
        )


def _violation_text(violation: Violation) -> Text:
    if violation.row_id is None:
        return untranslated("  {text}").format(text=violation.message)
    return _row_text(violation.row_id, violation.message)


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
    without, found = difference.undisturbed, difference.disturbed
    return {
        **_row_id_json(difference.row_id),
        "undisturbed": None if without is None else without.value,
        "disturbed": None if found is None else found.value,
    }


def row_counts(workbooks: Sequence[WorkbookResult]) -> dict[str, int]:
    """Return how many rows of workbooks ended in which way, by the keys of JSON."""
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
