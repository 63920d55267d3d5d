"""Status of a batch, step by step: what its ledger and its journals know of each unit."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.batch.batch import (
    Batch,
    RowCounts,
    UnitOverview,
    UnitStatus,
    sent_status,
    workbook_overview,
)
from xlbridge.batch.ledger import ExportRecord
from xlbridge.batch.plan.steps import (
    AnyStep,
    CompareStep,
    ExportStep,
    ProcessStep,
    SendOptions,
    WorkbookFile,
    WorkbookStep,
    file_digest,
    what_is_there,
    workbooks_of,
)
from xlbridge.errors import LocalFailure
from xlbridge.i18n import Text, joined
from xlbridge.resources import Mode
from xlbridge.upload import Job

if TYPE_CHECKING:
    from xlbridge.export import PreparedExport


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
    pt="nenhum arquivo corresponde a {pattern} ({there})",
    en="no workbook matches {pattern} ({there})",
)

_NOT_EXPORTED = Text(
    pt="{patterns} ainda não foi exportada por este lote",
    en="{patterns} was not exported by this batch yet",
)


def overview(batch: Batch) -> list[StepOverview]:
    """Return the status of each step, in the order in which they are done.

    Steps that the plan no longer has come last: what they have sent belongs to the batch.
    """
    states: dict[str, StepOverview] = {}
    for step in batch.plan.ordered:
        states[step.name] = step_overview(batch, step, states)
    return [*states.values(), *_dropped_steps(batch)]


def _dropped_steps(batch: Batch) -> Iterator[StepOverview]:
    """Yield the steps that the plan no longer has, with the workbooks that they have sent and that
    no other step has now."""
    plan = batch.plan
    sending = [s for s in plan.steps if isinstance(s, WorkbookStep) and s.sending is not None]
    sent = batch.ledger.sent_by_others(batch.id, {step.name for step in sending})
    if not sent:
        return
    profiles = {batch.environments.name(step.profile): step.profile for step in plan.steps}
    taken_over = {book.name for step in sending for book in workbooks_of(plan, step)}
    for (name, profile), rows in groupby(sent, key=itemgetter(0, 1)):
        files = tuple(file for _, _, file in rows if file not in taken_over)
        if profile not in profiles or not files:
            continue
        step = WorkbookStep(
            name=name, profile=profiles[profile], patterns=files, sending=SendOptions()
        )
        found = [
            workbook_overview(batch, step, WorkbookFile(plan.file(file), file, ""))
            for file in files
        ]
        units = tuple(
            unit for unit in found if any(job.spec.mode is not Mode.PROCESS for job in unit.jobs)
        )
        if units:
            done = all(unit.status is UnitStatus.DONE for unit in units)
            yield StepOverview(step, units, problem=None if done else _DROPPED)


_DROPPED = Text(
    pt="o plano não tem mais esta etapa, e nem tudo dela está feito; ponha-a de volta",
    en="the plan no longer has this step, and not all of it is done; put it back",
)


def step_overview(batch: Batch, step: AnyStep, before: Mapping[str, StepOverview]) -> StepOverview:
    """Return the status of a step; ``before`` are those of the steps before it, by name."""
    waits_for = tuple(name for name in step.after if not before[name].done)
    # What is exported or compared depends on all that was sent before it.
    sent = [unit for state in before.values() for unit in state.units]
    problem = None
    if isinstance(step, ExportStep):
        units = [_export_overview(batch, step, sent)]
    elif isinstance(step, CompareStep):
        units = [_comparison_overview(batch, step, sent)]
    elif isinstance(step, ProcessStep):
        units = [_processing_overview(batch, step)]
    else:
        units, problem = _units_of_step(batch, step)
    shown = tuple(_with_failure(batch, step, unit) for unit in units)
    return StepOverview(step, shown, waits_for, problem)


def _units_of_step(batch: Batch, step: WorkbookStep) -> tuple[list[UnitOverview], Text | None]:
    units = [unit for _, unit in workbook_overviews(batch, step)]
    if units or step.may_be_empty or _empty_exports(batch, step):
        return units, None
    before = (one for one in batch.plan.steps if one.name in step.after)
    if any(map(batch.plan.is_source, before)):
        return [], _NOT_EXPORTED.format(patterns=", ".join(step.patterns))
    there = map(partial(what_is_there, batch.plan.folder), step.patterns)
    return [], joined(
        _NO_WORKBOOK.format(pattern=pattern, there=there)
        for pattern, there in zip(step.patterns, there, strict=True)
    )


_IN_TWO_STEPS = Text(
    pt="já está na etapa {step}, que envia as mesmas linhas; tire-o de uma das duas.",
    en="is in the step {step} already, which sends the same rows; take it out of one of the two.",
)


def _empty_exports(batch: Batch, step: WorkbookStep) -> set[Path]:
    """Return the workbooks of a step that the batch itself has exported without any record."""
    files = {batch.plan.file(pattern) for pattern in step.patterns}
    found = set()
    for one in batch.plan.steps:
        if isinstance(one, ExportStep) and batch.plan.file(one.output) in files:
            done = batch.export_of(one)
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
    taken = batch.files_before(step)
    for book in present:
        state, other = workbook_overview(batch, step, book), taken.get(batch.plan.file(book.name))
        if other is not None and not state.jobs:
            problem = _IN_TWO_STEPS.format(step=other)
            state = UnitOverview(book.name, UnitStatus.HELD, problem=problem, sha256=book.sha256)
        yield book, state
    if step.sending is None:
        return
    names = {book.name for book in present}
    for name in batch.files_sent(step):
        gone = WorkbookFile(batch.plan.folder / name, name, "")
        state = workbook_overview(batch, step, gone)
        if name not in names and state.jobs:
            yield gone, state


def _follow_renames(batch: Batch, step: WorkbookStep, present: Sequence[WorkbookFile]) -> None:
    """Record the new names of workbooks that were renamed after they were sent.

    Such a workbook has, byte for byte, the content sent under a name that is gone.
    """
    sent = batch.files_sent(step)
    names = {book.name for book in present}
    gone: dict[str, str] = {}
    for name in sent:
        last = batch.last_sent(step, name)
        if name not in names and last is not None:
            gone[last.sha256] = name
    for book in present:
        if book.name not in sent and book.sha256 in gone:
            profile = batch.environments.name(step.profile)
            old = gone.pop(book.sha256)
            batch.ledger.renamed(batch.id, step.name, profile, old, book.name)


def blocked_steps(steps: Sequence[StepOverview]) -> Iterator[str]:
    """Yield the steps that wait for one that this run cannot do: a workbook there has errors, or
    none is there and no step exports it.

    They are not in the consent, so they are not done even if that workbook is removed meanwhile.
    """
    stuck: set[str] = set()
    exports = {state.step.name for state in steps if isinstance(state.step, ExportStep)}
    for state in steps:
        waits = not stuck.isdisjoint(state.waits_for)
        if waits:
            yield state.step.name
        lacking = state.problem is not None and exports.isdisjoint(state.step.after)
        if waits or lacking or any(unit.cannot_be_sent for unit in state.units):
            stuck.add(state.step.name)


def may_send(state: UnitOverview) -> bool:
    """Tell whether a run may send rows of a workbook."""
    if state.jobs:
        return state.status in {UnitStatus.PARTIAL, UnitStatus.UNDER_WAY, UnitStatus.INVALID}
    return state.status is UnitStatus.NEW


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


def is_settled(batch: Batch) -> bool:
    """Tell whether nothing that the batch has sent is in doubt; not so where nobody can tell."""
    try:
        jobs = [
            (batch.environments.context(state.step.profile).journal, job)
            for state in overview(batch)
            for unit in state.units
            for job in unit.jobs
        ]
        return all(journal.is_settled(job) for journal, job in jobs)
    except LocalFailure:
        return False


def _export_overview(
    batch: Batch, step: ExportStep, before: Sequence[UnitOverview]
) -> UnitOverview:
    """Return the status of an export; ``before`` are the units of the steps before it."""
    filters = {name.value: str(value) for name, value in step.filters.values.items()}
    asked = [step.listing, step.output, filters, step.flat, step.as_template]
    fingerprint = _fingerprint(asked, before)
    done = batch.export_of(step)
    status, problem = UnitStatus.NEW, None
    if done is not None:
        status, problem = _export_status(batch, step, done, fingerprint)
    return UnitOverview(step.output, status, problem=problem, sha256=fingerprint)


def _export_status(
    batch: Batch, step: ExportStep, done: ExportRecord, fingerprint: str
) -> tuple[UnitStatus, Text | None]:
    folder = batch.plan.folder
    edited = [
        file
        for file, sha256 in done.files.items()
        if (folder / file).exists() and file_digest(folder / file) != sha256
    ]
    if edited:
        return UnitStatus.EDITED, _EDITED_SINCE.format(files=", ".join(edited))
    files = [batch.plan.folder / file for file in done.files] or export_files(batch, step)
    if done.fingerprint != fingerprint or not all(file.exists() for file in files):
        return UnitStatus.CHANGED, None
    if not done.manifest["complete"]:
        return UnitStatus.INCOMPLETE, _MAY_BE_INCOMPLETE
    return (
        (UnitStatus.INCOMPLETE, _RECORD_MISSING)
        if done.manifest["missing"]
        else (UnitStatus.DONE, None)
    )


_EDITED_SINCE = Text(
    pt="{files} mudou depois de exportado, e não é sobrescrito. Mova-o para outro lugar, ou "
    "apague-o, e continue o lote.",
    en="{files} was changed after it was exported, and is not overwritten. Move it elsewhere, or "
    "delete it, and resume the batch.",
)
_MAY_BE_INCOMPLETE = Text(
    pt="a listagem pode estar incompleta; veja o manifesto",
    en="the listing may be incomplete; see the manifest",
)
_RECORD_MISSING = Text(
    pt="um registro pedido pela chave não existe; veja o manifesto",
    en="a record that was asked for by its key is not there; see the manifest",
)


def prepared_export(batch: Batch, step: ExportStep) -> "PreparedExport":
    """Return the export of a step, its options checked."""
    # Batches without exports, which plan and send only, start without what writes workbooks.
    from xlbridge.export import ExportRequest, OutputFile

    request = ExportRequest(
        listing=step.listing,
        filters=step.filters,
        flat=step.flat,
        as_template=step.as_template,
        settled=step.settled,
        known_ids=(),
    )
    return request.prepare(
        OutputFile(batch.plan.folder / step.output),
        lambda: batch.environments.context(step.profile).catalogue,
    )


def export_files(batch: Batch, step: ExportStep) -> list[Path]:
    """Return the files that an export writes."""
    manifest = [] if step.manifest is None else [batch.plan.folder / step.manifest]
    return [*prepared_export(batch, step).files, *manifest]


def _fingerprint(asked: object, before: Sequence[UnitOverview]) -> str:
    """Return a digest of what is exported or compared, and of the rows that were sent before."""
    sent = [[unit.name, *(job.id for job in unit.jobs), unit.rows.accepted] for unit in before]
    return hashlib.sha256(json.dumps([asked, sent]).encode()).hexdigest()


def _comparison_overview(
    batch: Batch, step: CompareStep, before: Sequence[UnitOverview]
) -> UnitOverview:
    """Return the status of a comparison; ``before`` are the units of the steps before it."""
    wanted = [
        [one.title, one.resource, sorted(one.apart), sorted(map(str, one.filters.values.items()))]
        for one in step.listings
    ]
    asked = [wanted, step.other, step.output, *sorted(map(str, step.left_out.items()))]
    fingerprint = _fingerprint(asked, before)
    done = batch.export_of(step)
    if done is None:
        return UnitOverview(step.output, UnitStatus.NEW, sha256=fingerprint)
    there = all((batch.plan.folder / file).exists() for file in done.files)
    if done.fingerprint != fingerprint or not there:
        return UnitOverview(step.output, UnitStatus.CHANGED, sha256=fingerprint)
    different = [one for one in done.manifest["listings"] if not one["is_equal"]]
    if not different:
        return UnitOverview(step.output, UnitStatus.DONE, sha256=fingerprint)
    names = [_difference(one) for one in different[:_MOST_NAMED]]
    problem = _NOT_EQUAL.format(n=len(different), names="; ".join(names))
    return UnitOverview(step.output, UnitStatus.PARTIAL, problem=problem, sha256=fingerprint)


def _difference(one: Mapping[str, Any]) -> str:
    """Return how a listing differs, in a few words of numbers and fields."""
    fields = ", ".join(f"{name} ({count})" for name, count in one["fields"].items())
    return f"{one['listing']}: {one['here']}/{one['there']}{f' · {fields}' if fields else ''}"


_MOST_NAMED = 5
_NOT_EQUAL = Text(
    pt="{n} {n:listagem difere|listagens diferem} (aqui/lá): {names}",
    en="{n} {n:listing differs|listings differ} (here/there): {names}",
)


def _processing_overview(batch: Batch, step: ProcessStep) -> UnitOverview:
    """Return the status of a processing."""
    # What processes records judges sheets of them, too, which takes long to import.
    from xlbridge.upload.processing import process_counts, processed_records

    job = last_processing(batch, step)
    if job is None:
        return UnitOverview(step.source, UnitStatus.NEW)
    journal = batch.environments.context(step.profile).journal
    counts = process_counts(processed_records(journal, job))
    unknown = counts["unknown"] if job.state.is_final else 0
    waiting = counts["unknown"] - unknown
    rows = RowCounts(
        counts["read"], counts["processed"], counts["already"], 0, unknown, unsent=waiting
    )
    return UnitOverview(step.source, sent_status((job,), rows), rows, (job,))


def last_processing(batch: Batch, step: ProcessStep) -> Job | None:
    """Return the last job of a processing, None where none was begun."""
    sent = batch.last_sent(step, step.source)
    if sent is None:
        return None
    return batch.environments.context(step.profile).journal.job(sent.job)
