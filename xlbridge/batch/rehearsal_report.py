"""Result of a rehearsal, which is what its closing proofs show of each row, and its report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any

from xlbridge import titles
from xlbridge.batch.plan_steps import BatchPlan, relative_name
from xlbridge.batch.proof_builder import NOT_WRITTEN, contradictions
from xlbridge.batch.proof_content import OPEN_REASONS
from xlbridge.batch.proof_model import (
    OpenReason,
    RowLocation,
    open_items,
    verdict,
)
from xlbridge.batch.report import step_json, step_table, total_rows
from xlbridge.batch.run_options import BatchOutcome
from xlbridge.files import as_arguments
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.report_forms import Grade, Heading, Line, Report, ReportForms, Table, Tone, Value
from xlbridge.sandbox.rehearsal import registry_title
from xlbridge.upload.requests import RowOutcome

Place = tuple[str, str, int]
"""Place of a row: its step, its workbook's name in the plan, and Excel's row number."""

_PLACE = ("step", "workbook", "row")

_ASSERTIONS: Mapping[str, tuple[Text, tuple[str, ...]]] = {
    "none_twice": (
        Text(pt="Nenhuma linha duas vezes", en="No row twice"),
        ("twice", "wrongly_refused"),
    ),
    "none_lost": (Text(pt="Nenhuma linha perdida", en="No row lost"), ("lost",)),
    "verdict_for_every_row": (
        Text(pt="Um resultado para cada linha", en="An outcome for every row"),
        ("no_verdict",),
    ),
}
"""Assertions of a rehearsal by JSON key: the text, and the kinds of breaches that break it."""

_KINDS = {
    OpenReason.DOUBLED: "twice",
    OpenReason.MISSING: "lost",
    OpenReason.WRITTEN: "wrongly_refused",
}
_ITEMS_DIFFER = Text(
    pt="{items}: {sent} {sent:enviado|enviados}, {stored} no sistema",
    en="{items}: {sent} sent, {stored} in the system",
)
_NOT_SENT = Text(pt="não foi enviada", en="was not sent")


class RehearsalState(StrEnum):
    """Verdict on a rehearsal; ``NOT_READY``: a person must fix something."""

    PASSED = "passed"
    NOT_READY = "not_ready"
    IN_DOUBT = "in_doubt"
    BROKEN = "broken"


@dataclass(slots=True, kw_only=True)
class RehearsalResult:
    """Rehearsal of a plan: the status of its steps and their proofs, and what these show.

    ``copied`` is the number of workbooks, ``stand_ins`` the number of records created for it by
    table. ``faulty_runs`` were under faults, ``calm_runs`` without. ``breaches`` are the kinds of
    what must not happen under any fault, each with its message and the row, if it concerns one.
    ``rejected`` and ``held`` are the reasons of the rows that are not in the system. ``doubts``
    tells of each row in doubt whether it is; None: it cannot be looked up.
    """

    plan: BatchPlan
    faults: str
    kept: bool
    outcome: BatchOutcome
    copied: int
    stand_ins: Mapping[str, int]
    faulty_runs: int
    calm_runs: int
    breaches: list[tuple[str, Text, Place | None]] = field(default_factory=list)
    rejected: dict[Place, Text] = field(default_factory=dict)
    held: dict[Place, Text] = field(default_factory=dict)
    doubts: dict[Place, bool | None] = field(default_factory=dict)

    @property
    def state(self) -> RehearsalState:
        """The worst state found."""
        if self.breaches:
            return RehearsalState.BROKEN
        if self.doubts:
            return RehearsalState.IN_DOUBT
        done = all(state.done for state in self.outcome.steps) and self.outcome.proofs_settled
        return RehearsalState.PASSED if done else RehearsalState.NOT_READY

    def holds(self, assertion: str) -> bool:
        """Return whether nothing breaks an assertion."""
        _, kinds = _ASSERTIONS[assertion]
        return all(kind not in kinds for kind, _, _ in self.breaches)

    def read_proofs(self, folder: Path) -> None:
        """Add what the proofs of the copied plan in a folder show."""

        def place(location: RowLocation) -> Place:
            return location.step, relative_name(folder, location.workbook), location.origin

        checked = {
            (state.step.name, unit.name): unit.check.rows
            for state in self.outcome.steps
            for unit in state.units
            if unit.check is not None
        }
        for proof in (written.proof for written in self.outcome.proofs):
            for row in proof.rows:
                if row.state in _KINDS:
                    breach = _KINDS[row.state], OPEN_REASONS[row.state], place(row.location)
                    self.breaches.append(breach)
                else:
                    self.doubts[place(row.location)] = bool(row.codes) if row.key else None
            lists = {child.sheet for one in proof.catalogue.values() for child in one.children}
            # The difference of a whole list is that of its numbers of items.
            for cell in (cell for cell in proof.cells if cell.column in lists):
                sent, stored = int(cell.sent or 0), int(cell.found or 0)
                message = _ITEMS_DIFFER.format(items=cell.column, sent=sent, stored=stored)
                kind = "lost" if stored < sent else "twice"
                self.breaches.append((kind, message, place(cell.location)))
            for file in chain.from_iterable(proof.steps.values()):
                if file.ledger is None:
                    continue
                name = relative_name(folder, file.file.path)
                # The proof trusts the uploads' own counts.
                rows = checked.get((file.step, name), file.file.rows_in_sheet)
                counted = replace(file, file=replace(file.file, rows_in_sheet=rows))
                self.breaches += (("no_verdict", text, None) for text in contradictions(counted))
                for change in file.rows:
                    why = file.ledger.reason(change) or _NOT_SENT
                    if change.outcome in NOT_WRITTEN:
                        self.rejected[file.step, name, change.origin] = why
                    elif change.outcome is RowOutcome.HELD and change.is_record:
                        self.held[file.step, name, change.origin] = why


_IN_DATABASE = {
    True: Text(pt="está no sistema", en="is in the system"),
    False: Text(pt="não está no sistema", en="is not in the system"),
    None: Text(pt="não há como procurá-la no sistema", en="it cannot be looked up in the system"),
}

_PASSED = Text(
    pt="✓ Ensaio aprovado: {rows} {rows:linha|linhas}, cada uma no sistema uma vez{faults}.",
    en="✓ Rehearsal passed: {rows} {rows:row|rows}, each in the system once{faults}.",
)
_PASSED_IN_PART = Text(
    pt="✓ Ensaio aprovado: {rows} {rows:linha aceita|linhas aceitas}{faults}; conferidas no "
    "sistema, cada uma só uma vez: {found}. Das demais, só a resposta do sistema prova o envio.",
    en="✓ Rehearsal passed: {rows} {rows:row|rows} accepted{faults}; read back, each in the system "
    "once: {found}. For the rest, only the system's answer proves the upload.",
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
        en="✗✗ Do not run this batch: {violations} {violations:guarantee was|guarantees were} "
        "broken. This is a defect of xlbridge: rehearse again with --keep FOLDER and report "
        "it.",
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
    "Com falhas: --faults cut-after@0.05,error-before@0.1",
    en="! No faults were requested: only the case without faults was rehearsed. "
    "With faults: --faults cut-after@0.05,error-before@0.1",
)


REHEARSAL_TITLE = Text(pt="Ensaio do lote {id}", en="Rehearsal of the batch {id}")
_GRADES = {
    RehearsalState.PASSED: Grade.GOOD,
    RehearsalState.NOT_READY: Grade.ERROR,
    RehearsalState.IN_DOUBT: Grade.WARNING,
    RehearsalState.BROKEN: Grade.ERROR,
}
_BROKEN = Text(pt="QUEBRADA: {what}", en="BROKEN: {what}")
_HOLDS = Text(pt="✓ vale", en="✓ holds")
_BROKEN_MARK = Text(pt="✗✗ quebrada", en="✗✗ broken")


def rehearsal_report(result: RehearsalResult) -> ReportForms:
    """Return the report of a rehearsal as text, JSON and a page."""
    return ReportForms.of_report(lambda: _content(result), lambda: _document(result))


def _content(result: RehearsalResult) -> Report:
    assertions = [(what, result.holds(key)) for key, (what, _) in _ASSERTIONS.items()]
    plan = as_arguments(result.plan.path, *result.plan.parameter_options)
    return Report(
        title=REHEARSAL_TITLE.format(id=result.plan.batch),
        verdict=_verdict(result),
        grade=_GRADES[result.state],
        remarks=[] if result.faulty_runs else [_NO_FAULTS],
        problems=[_BROKEN.format(what=what) for what, holds in assertions if not holds],
        facts=[
            *_facts(result),
            *((what, _HOLDS if holds else _BROKEN_MARK) for what, holds in assertions),
        ],
        tables=list(_tables(result)),
        next_steps=[_NEXT_STEPS[result.state].format(plan=plan)],
    )


def _verdict(result: RehearsalResult) -> Text:
    if result.state is not RehearsalState.PASSED:
        return _VERDICTS[result.state].format(
            doubts=len(result.doubts), violations=len(result.breaches)
        )
    runs, counts = result.faulty_runs, [one.proof.counts for one in result.outcome.proofs]
    text = _PASSED_IN_PART if any(count.unread for count in counts) else _PASSED
    return text.format(
        rows=total_rows(result.outcome.steps).read,
        faults=_UNDER_FAULTS.format(runs=runs) if runs else "",
        found=sum(count.found for count in counts),
    )


def _facts(result: RehearsalResult) -> Iterator[tuple[Text, Value]]:
    yield titles.PLAN, str(result.plan.path)
    copied = Text(
        pt="{n}, para uma pasta isolada; o ambiente real não foi chamado",
        en="{n}, to an isolated folder; the real environment was not called",
    )
    yield Text(pt="Arquivos copiados", en="Workbooks copied"), copied.format(n=result.copied)
    created = [
        untranslated("{what} {n}").format(n=count, what=registry_title(table))
        for table, count in result.stand_ins.items()
    ]
    if created:
        title = Text(
            pt="Criados no ensaio para códigos que faltavam",
            en="Created in the rehearsal for missing codes",
        )
        yield title, joined(created, ", ")
    yield Text(pt="Falhas", en="Faults"), result.faults or Text(pt="nenhuma", en="none")
    runs = Text(
        pt="{faulty} com falhas, {calm} sem falhas", en="{faulty} under faults, {calm} without"
    )
    runs = runs.format(faulty=result.faulty_runs, calm=result.calm_runs)
    yield Text(pt="Execuções", en="Runs"), runs
    for written in result.outcome.proofs:
        yield Text(pt="Prova de fechamento", en="Closing proof"), verdict(written.proof)
        if result.kept:
            yield Text(pt="Página da prova", en="Page of the proof"), str(written.page)


def _tables(result: RehearsalResult) -> Iterator[Table]:
    """Yield the steps, and the rows that a person has to check."""
    yield step_table(result.plan, result.outcome.steps)
    proofs = result.outcome.proofs
    lists: list[tuple[Text, Sequence[tuple[Place | None, Text]]]] = [
        (
            Text(pt="Garantias quebradas", en="Broken guarantees"),
            [(place, message) for _, message, place in result.breaches],
        ),
        (RowOutcome.REJECTED.count_title, list(result.rejected.items())),
        (RowOutcome.HELD.count_title, list(result.held.items())),
        (
            Text(pt="Em dúvida até o fim", en="In doubt to the end"),
            [(place, _IN_DATABASE[there]) for place, there in result.doubts.items()],
        ),
        (
            Text(pt="Em aberto na prova de fechamento", en="Open in the closing proof"),
            [(None, item) for one in proofs for item in open_items(one.proof)],
        ),
    ]
    headings = *map(Heading, _PLACE_TITLES), Heading(titles.DETAILS, words=True)
    for title, rows in lists:
        lines = [Line((*(place or _NOWHERE), why), Tone.OPEN) for place, why in rows]
        if lines:
            yield Table(
                sheet=title,
                headings=headings,
                lines=lines,
                title=title,
                most=_MAX_SHOWN,
                aligned=True,
            )


_MAX_SHOWN = 10
_PLACE_TITLES = (titles.STEP, titles.WORKBOOK, titles.ROW)
_NOWHERE = (None, None, None)


def _document(result: RehearsalResult) -> dict[str, Any]:
    def row(place: Place | None, **values: Any) -> dict[str, Any]:
        return values | dict(zip(_PLACE, place or _NOWHERE, strict=True))

    deleted = {} if result.kept else {"workbook": None, "page": None}
    return {
        "version": 1,
        "batch": result.plan.batch,
        "plan": str(result.plan.path),
        "state": result.state.value,
        "verdict": str(_verdict(result)),
        "faults": result.faults,
        "runs": {"faulty": result.faulty_runs, "calm": result.calm_runs},
        "copied": result.copied,
        "stand_ins": dict(result.stand_ins),
        "assertions": {key: result.holds(key) for key in _ASSERTIONS},
        "rows": total_rows(result.outcome.steps).to_json(),
        "steps": list(map(step_json, result.outcome.steps)),
        "breaches": [
            row(place, kind=kind, message=str(message)) for kind, message, place in result.breaches
        ],
        "in_doubt": [row(place, there=there) for place, there in result.doubts.items()],
        "rejected": [row(place, message=str(why)) for place, why in result.rejected.items()],
        "held": [row(place, message=str(why)) for place, why in result.held.items()],
        "proofs": [proof.to_json() | deleted for proof in result.outcome.proofs],
    }
