"""Status of a batch by step, from its ledger and its journals."""

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace as replace_fields

from xlbridge.batch.batch import (
    Batch,
    RowCounts,
    UnitOverview,
    UnitStatus,
    sent_status,
    workbook_overview,
)
from xlbridge.batch.ledger import FailureRecord
from xlbridge.batch.plan_steps import (
    AnyStep,
    CompareStep,
    ExportStep,
    ProcessStep,
    SendOptions,
    WorkbookFile,
    WorkbookStep,
    file_digest,
    sends_workbooks,
    workbooks_of,
)
from xlbridge.errors import LocalFailure, os_error_reason
from xlbridge.i18n import Text, joined
from xlbridge.report_forms import list_first
from xlbridge.upload import Job

if TYPE_CHECKING:
    from xlbridge.export import ExportRequest, PreparedExport


@dataclass(frozen=True, slots=True)
class StepOverview:
    """Status of a step. ``waits_for`` are the steps before it that are not done.

    ``problem`` is why it has no workbook; ``lacks_workbook`` is false while an export of this batch
    may still write one.
    """

    step: AnyStep
    units: tuple[UnitOverview, ...]
    waits_for: tuple[str, ...] = ()
    problem: Text | None = None
    lacks_workbook: bool = False

    @property
    def status(self) -> UnitStatus:
        """Worst status among its units."""
        if self.problem is not None:
            return UnitStatus.HELD
        return max(
            (unit.status for unit in self.units),
            key=list(UnitStatus).index,
            default=UnitStatus.DONE,
        )

    @property
    def rows(self) -> RowCounts:
        """Row counts of its units."""
        return sum((unit.rows for unit in self.units), RowCounts())

    @property
    def done(self) -> bool:
        """True if nothing is left to do."""
        return self.status is UnitStatus.DONE


_NO_WORKBOOK = Text(
    pt="nenhum arquivo corresponde a {pattern} ({contents})",
    en="no workbook matches {pattern} ({contents})",
)
_NOT_EXPORTED = Text(
    pt="{patterns} ainda não foi exportada por este lote",
    en="this batch has not exported {patterns} yet",
)


def overview(batch: Batch) -> list[StepOverview]:
    """Return the status of each step, in order of execution.

    Steps that are no longer in the plan come last, as their workbooks belong to the batch.
    """
    states: dict[str, StepOverview] = {}
    for step in batch.plan.ordered:
        states[step.name] = step_overview(batch, step, states)
    return [*states.values(), *_dropped_steps(batch)]


def _dropped_steps(batch: Batch) -> Iterator[StepOverview]:
    """Yield steps that are no longer in the plan, with their sent workbooks.

    Workbooks that were moved to another step are left out.
    """
    plan = batch.plan
    sending = [step for step in plan.steps if sends_workbooks(step)]
    sent = batch.ledger.sent_by_other_steps(batch.id, {step.name for step in sending})
    if not sent:
        return
    profiles = {batch.environments.name(step.profile): step.profile for step in plan.steps}
    moved = {book.name for step in sending for book in workbooks_of(plan, step)}
    for (name, profile), rows in groupby(sent, key=itemgetter(0, 1)):
        files = tuple(file for _, _, file in rows if file not in moved)
        if profile not in profiles or not files:
            continue
        step = WorkbookStep(
            name=name, profile=profiles[profile], patterns=files, sending=SendOptions()
        )
        overviews = (
            workbook_overview(batch, WorkbookFile(step, plan.file(file), file, ""))
            for file in files
        )
        units = tuple(
            unit
            for unit in overviews
            if any(not job.spec.mode.channel.of_listing for job in unit.jobs)
        )
        if units:
            done = all(unit.status is UnitStatus.DONE for unit in units)
            yield StepOverview(step, units, problem=None if done else _DROPPED)


_DROPPED = Text(
    pt="a etapa saiu do plano antes de terminar; ponha-a de volta",
    en="the step was removed from the plan before it was done; put it back",
)


def step_overview(batch: Batch, step: AnyStep, before: Mapping[str, StepOverview]) -> StepOverview:
    """Return the status of a step; ``before`` has the status of the steps before it, by name."""
    waits_for = tuple(name for name in step.after if not before[name].done)
    sent = [unit for state in before.values() for unit in state.units]
    if isinstance(step, ExportStep | CompareStep):
        units = [_output_overview(batch, step, sent)]
    elif isinstance(step, ProcessStep):
        units = [_processing_overview(batch, step)]
    else:
        units = [unit for _, unit in workbook_overviews(batch, step)]
        if not units and not step.may_be_empty and not _empty_exports(batch, step):
            exported = any(
                batch.plan.is_source(other)
                for other in batch.plan.steps
                if other.name in step.after
            )
            # The workbooks that this batch writes itself are not there yet.
            problem = _NOT_EXPORTED.format(patterns=", ".join(step.patterns))
            if not exported:
                problem = joined(
                    _NO_WORKBOOK.format(
                        pattern=name, contents=_folder_contents(batch.plan.folder, name)
                    )
                    for name in step.patterns
                )
            return StepOverview(step, (), waits_for, problem, lacks_workbook=not exported)
    for number, unit in enumerate(units):
        failure = batch.ledger.last(batch.key(step), unit.name, FailureRecord)
        # What is unchanged since its last run failed has the failure of that.
        if failure is None or failure.sha256 != unit.sha256 or unit.status in _CERTAIN:
            continue
        status = unit.status
        if all(job.state.is_unsent for job in unit.jobs):
            status = UnitStatus.FAILED if failure.of_system else UnitStatus.HELD
        units[number] = replace(unit, status=status, problem=failure.message)
    return StepOverview(step, tuple(units), waits_for)


def _folder_contents(folder: Path, pattern: str) -> Text:
    """Return the contents of a pattern's folder, or that it is missing, for an error message."""
    if os.sep == "/" and "\\" in pattern:
        return _SLASHES.format(pattern=pattern.replace("\\", "/"))
    parts = Path(pattern).parts[:-1]
    folder = folder.joinpath(*takewhile(lambda part: not set("*?[") & set(part), parts))
    if not folder.is_dir():
        return _NO_FOLDER.format(folder=folder)
    try:
        names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        return os_error_reason(error)
    return (_IN_FOLDER if names else _EMPTY_FOLDER).format(
        folder=folder, names=list_first(names, _MAX_NAMES)
    )


_MAX_NAMES = 5
_SLASHES = Text(pt="escreva-o com /: {pattern}", en="write it with /: {pattern}")
_NO_FOLDER = Text(pt="a pasta {folder} não existe", en="there is no folder {folder}")
_EMPTY_FOLDER = Text(pt="a pasta {folder} está vazia", en="the folder {folder} is empty")
_IN_FOLDER = Text(pt="em {folder} há: {names}", en="in {folder} there are: {names}")


_CERTAIN = frozenset({UnitStatus.DONE, UnitStatus.IN_DOUBT})
_IN_TWO_STEPS = Text(
    pt="já está na etapa {step}, que envia as mesmas linhas; tire-o de uma das duas.",
    en="is already in the step {step}, which sends the same rows; remove it from one of them.",
)


def _empty_exports(batch: Batch, step: WorkbookStep) -> set[Path]:
    """Return the workbooks of a step that this batch exported without any record."""
    files = set(map(batch.plan.key, step.patterns))
    empty = set()
    for other in batch.plan.steps:
        if isinstance(other, ExportStep) and batch.plan.key(other.output) in files:
            export = batch.last_export(other)
            if export is not None and not export.manifest["records"]:
                empty.add(batch.plan.file(other.output))
    return empty


def workbook_overviews(
    batch: Batch, step: WorkbookStep
) -> Iterator[tuple[WorkbookFile, UnitOverview]]:
    """Yield the workbooks of a step with their status, also sent ones whose files are gone.

    Workbooks that this batch exported without any record are left out.
    """
    empty = _empty_exports(batch, step)
    present = [book for book in workbooks_of(batch.plan, step) if book.path not in empty]
    if step.sending is not None:
        # A workbook that was renamed after it was sent has the digest of one that is gone.
        sent, names = batch.ledger.sent_files(batch.key(step)), {book.name for book in present}
        gone: dict[str, str] = {}
        for name in sent:
            last = batch.last_job(step, name)
            if name not in names and last is not None:
                gone[last.sha256] = name
        for book in present:
            if book.name not in sent and book.sha256 in gone:
                batch.ledger.rename_file(batch.key(step), gone.pop(book.sha256), book.name)
    earlier = batch.files_of_earlier_steps(step)
    for book in present:
        unit, other = workbook_overview(batch, book), earlier.get(batch.plan.file(book.name))
        if other is not None and not unit.jobs:
            problem = _IN_TWO_STEPS.format(step=other)
            unit = UnitOverview(book.name, UnitStatus.HELD, problem=problem, sha256=book.sha256)
        yield book, unit
    if step.sending is None:
        return
    for name in batch.ledger.sent_files(batch.key(step)):
        missing = WorkbookFile(step, batch.plan.folder / name, name, "")
        unit = workbook_overview(batch, missing)
        if name not in names and unit.jobs:
            yield missing, unit


def blocked_steps(steps: Sequence[StepOverview]) -> Iterator[str]:
    """Yield the steps that wait for one that this run cannot complete.

    Such a step has a workbook with errors, or no workbook at all and no export that writes it. The
    blocked ones are not part of the consent, so they stay blocked even if the cause is removed
    during the run.
    """
    stuck: set[str] = set()
    for state in steps:
        blocked = not stuck.isdisjoint(state.waits_for)
        if blocked:
            yield state.step.name
        if blocked or state.lacks_workbook or any(unit.cannot_be_sent for unit in state.units):
            stuck.add(state.step.name)


def is_settled(batch: Batch) -> bool:
    """Return whether nothing that the batch sent is in doubt; False if it cannot be read."""
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


def proven_profiles(steps: Sequence[StepOverview]) -> dict[str | None, None]:
    """Return the environments to which something was sent, or from which something was exported."""
    # A step that has sent has a job.
    return dict.fromkeys(
        state.step.profile
        for state in steps
        if any(
            unit.status is not UnitStatus.NEW if isinstance(state.step, ExportStep) else unit.jobs
            for unit in state.units
        )
    )


def proof_paths(
    batch: Batch, profiles: Collection[str | None]
) -> dict[str | None, tuple[Path, Path]]:
    """Return the workbook and the page of each environment's proof; several bear their names."""
    paths = {}
    for profile in profiles:
        target = batch.plan.folder / batch.plan.proof
        if len(profiles) > 1:
            # The name of an environment may be its address.
            environment = re.sub(r"[^\w.-]+", "-", batch.environments.name(profile))
            target = target.with_name(f"{target.name}-{environment}")
        paths[profile] = (
            target.with_name(f"{target.name}.xlsx"),
            target.with_name(f"{target.name}.html"),
        )
    return paths


def _output_overview(
    batch: Batch, step: ExportStep | CompareStep, before: Sequence[UnitOverview]
) -> UnitOverview:
    """Return the status of an export or a comparison; ``before`` are the units of the steps before
    it, which it depends on."""
    content = replace_fields(step, name="", after=(), profile=None)
    if isinstance(content, ExportStep):
        content = replace_fields(content, manifest=None, accept_losses=False)
    sent = [[unit.name, *(job.id for job in unit.jobs), unit.rows.accepted] for unit in before]
    fingerprint = hashlib.sha256(repr([content, sent]).encode()).hexdigest()
    unit = UnitOverview(step.output, UnitStatus.DONE, sha256=fingerprint)
    export, folder = batch.last_export(step), batch.plan.folder
    if export is None:
        return replace(unit, status=UnitStatus.NEW)
    files = [folder / file for file in export.files]
    if isinstance(step, ExportStep):
        edited = [
            file
            for file, sha256 in export.files.items()
            # The analyst goes on with a workbook of her own.
            if step.into is None
            and (folder / file).exists()
            and file_digest(folder / file) != sha256
        ]
        if edited:
            problem = _EDITED_SINCE.format(files=", ".join(edited))
            return replace(unit, status=UnitStatus.EDITED, problem=problem)
        # The plan may have got its manifest since.
        if not files:
            files = export_files(batch, step)
        elif step.manifest is not None:
            files.append(folder / step.manifest)
    if export.fingerprint != fingerprint or not all(file.exists() for file in files):
        return replace(unit, status=UnitStatus.CHANGED)
    if isinstance(step, CompareStep):
        different = [item for item in export.manifest["listings"] if not item["is_equal"]]
        if not different:
            return unit
        names = []
        for item in different[:_MAX_NAMED]:
            fields = [f"{name} ({count})" for name, count in item["fields"].items()]
            counts = f"{item['listing']}: {item['here']}/{item['there']}"
            names.append(" · ".join([counts, *([", ".join(fields)] if fields else [])]))
        problem = _NOT_EQUAL.format(n=len(different), names="; ".join(names))
        return replace(unit, status=UnitStatus.PARTIAL, problem=problem)
    if not export.manifest["complete"]:
        return replace(unit, status=UnitStatus.INCOMPLETE, problem=_MAY_BE_INCOMPLETE)
    if export.manifest["missing"]:
        return replace(unit, status=UnitStatus.INCOMPLETE, problem=_RECORD_MISSING)
    return unit


_EDITED_SINCE = Text(
    pt="{files} mudou depois de exportado, e não é sobrescrito. Mova-o para outro lugar, ou "
    "apague-o, e continue o lote.",
    en="{files} was changed after it was exported, and is not overwritten. Move or delete it, and "
    "resume the batch.",
)
_MAY_BE_INCOMPLETE = Text(
    pt="a listagem pode estar incompleta; veja o manifesto",
    en="the listing may be incomplete; see the manifest",
)
_RECORD_MISSING = Text(
    pt="um registro pedido pela chave não existe; veja o manifesto",
    en="a record requested by its key does not exist; see the manifest",
)


def prepared_export(batch: Batch, step: ExportStep) -> "PreparedExport":
    """Return the export of a step to a file with checked options."""
    from xlbridge.export import OutputFile

    return export_request(step).prepare(
        OutputFile(
            batch.plan.folder / step.output, headers=step.headers, codes_only=step.codes_only
        ),
        lambda: batch.environments.context(step.profile).catalogue,
    )


def export_request(step: ExportStep) -> "ExportRequest":
    """Return the request of a step."""
    # Batches without exports start faster without the modules that write workbooks.
    from xlbridge.export import ExportRequest

    return ExportRequest(
        listing=step.listing,
        filters=step.filters,
        flat=step.flat,
        as_template=step.as_template,
        settled=step.settled,
        known_ids=(),
    )


def export_files(batch: Batch, step: ExportStep) -> list[Path]:
    """Return the files that an export writes."""
    manifest = [] if step.manifest is None else [batch.plan.folder / step.manifest]
    if step.into is not None:
        return [batch.plan.folder / step.into, *manifest]
    return [*prepared_export(batch, step).files, *manifest]


_MAX_NAMED = 5
_NOT_EQUAL = Text(
    pt="{n} {n:listagem difere|listagens diferem} (aqui/lá): {names}",
    en="{n} {n:listing differs|listings differ} (here/there): {names}",
)


def _processing_overview(batch: Batch, step: ProcessStep) -> UnitOverview:
    """Return the status of a processing step."""
    # Slow to import, as it can also validate sheets of records.
    from xlbridge.upload.results.task_report import process_counts, processed_records

    job = last_processing(batch, step)
    if job is None:
        return UnitOverview(step.source, UnitStatus.NEW)
    journal = batch.environments.context(step.profile).journal
    counts = process_counts(processed_records(journal, job))
    unknown = counts["unknown"] if job.state.is_final else 0
    waiting = counts["unknown"] - unknown
    rows = RowCounts(
        read=counts["read"],
        accepted=counts["processed"],
        unchanged=counts["already"],
        rejected=counts["rejected"],
        unsent=waiting,
        unknown=unknown,
    )
    return UnitOverview(step.source, sent_status((job,), rows), rows, (job,))


def last_processing(batch: Batch, step: ProcessStep) -> Job | None:
    """Return the last job of a processing step, None if there is none."""
    sent = batch.last_job(step, step.source)
    if sent is None:
        return None
    return batch.environments.context(step.profile).journal.job(sent.job)
