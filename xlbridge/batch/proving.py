"""The closing proof of a batch: one workbook and one page for each environment it worked with."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from xlbridge.batch.batch import Batch
from xlbridge.batch.closing.close import close_batch
from xlbridge.batch.closing.given import ProofExport, ProofFile, ProofStep, ProofTitle
from xlbridge.batch.closing.proof import Proof
from xlbridge.batch.closing.proof_page import write_proof_page
from xlbridge.batch.closing.proof_workbook import write_proof_workbook
from xlbridge.batch.ledger import Exported
from xlbridge.batch.overview import StepState
from xlbridge.batch.plan import AnyStep, ExportStep, WorkbookStep
from xlbridge.batch.report import STANDINGS
from xlbridge.batch.standing import Standing, UnitState
from xlbridge.batch.workbooks import digest_of
from xlbridge.batch.written_proof import WrittenProof
from xlbridge.i18n import Text
from xlbridge.workbook.atomic import reporting_failures
from xlbridge.workbook.overwriting import PROVEN, require_own


def prove(
    batch: Batch,
    steps: Sequence[StepState],
    at: datetime,
    tell: Callable[[Text], None] = lambda _text: None,
) -> Iterator[WrittenProof]:
    """Write the proof of each environment, and yield it; none where nothing was sent or exported.

    Raises what ``close_batch`` raises, and ``UsageError`` when a file cannot be written.
    """
    profiles = list(dict.fromkeys(state.step.profile for state in steps if _takes_part(state)))
    for profile in profiles:
        of_profile = [state for state in steps if state.step.profile == profile]
        name = batch.plan.proof
        if len(profiles) > 1:
            name = f"{name}-{batch.sites.name(profile)}"
        proof = close_batch(
            batch.sites.desk(profile),
            batch.sites.client(profile),
            _title(batch),
            [_step(batch, state) for state in of_profile if _sends(state)],
            [_export(batch, state) for state in of_profile if isinstance(state.step, ExportStep)],
            at=at,
            tell=tell,
        )
        yield _written(proof, batch.plan.folder / name)


def require_place(batch: Batch) -> None:
    """Raise ``UsageError`` unless there is a folder for the proofs, and no other workbook there.

    Asked before anything is sent: a proof that cannot be written is found out too late after it.
    """
    plan = batch.plan
    steps = [step for step in plan.steps if _is_proven(step)]
    if not steps:
        return
    names = {batch.sites.name(step.profile) for step in steps}
    for name in (plan.proof, *(f"{plan.proof}-{profile}" for profile in sorted(names))):
        workbook, _ = _files(plan.folder / name)
        with reporting_failures(workbook):
            workbook.parent.mkdir(parents=True, exist_ok=True)
        require_own(workbook, PROVEN)


def _files(target: Path) -> tuple[Path, Path]:
    return target.with_name(f"{target.name}.xlsx"), target.with_name(f"{target.name}.html")


def _written(proof: Proof, target: Path) -> WrittenProof:
    workbook, page = _files(target)
    with reporting_failures(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    require_own(workbook, PROVEN)
    write_proof_workbook(proof, workbook)
    write_proof_page(proof, page)
    return WrittenProof(proof, workbook, page)


def _takes_part(state: StepState) -> bool:
    """Whether something was sent or exported in a step."""
    if isinstance(state.step, ExportStep):
        return any(unit.standing is not Standing.NEW for unit in state.units)
    return any(unit.jobs for unit in state.units)


def _sends(state: StepState) -> bool:
    return isinstance(state.step, WorkbookStep) and _is_proven(state.step)


def _is_proven(step: AnyStep) -> bool:
    return isinstance(step, ExportStep) or (
        isinstance(step, WorkbookStep) and step.sending is not None
    )


def _title(batch: Batch) -> ProofTitle:
    plan = batch.plan
    return ProofTitle(plan.batch, plan.path, digest_of(plan.path), plan.parameters)


def _step(batch: Batch, state: StepState) -> ProofStep:
    return ProofStep(state.step.name, tuple(_file(batch, unit) for unit in state.units))


def _file(batch: Batch, unit: UnitState) -> ProofFile:
    left_out = unit.standing is not Standing.DONE and not unit.jobs
    because = None
    if left_out or unit.standing is Standing.CHANGED:
        because = unit.problem or STANDINGS[unit.standing]
    return ProofFile(
        batch.plan.folder / unit.name,
        _sent_content(unit),
        unit.rows.read,
        because,
        tuple(job.id for job in unit.jobs[:1]),
    )


def _sent_content(unit: UnitState) -> str:
    """Return the digest of a workbook as it was when it was sent; what it looks like may change."""
    hashes = [job.events[0].detail.get("file_hash") for job in unit.jobs[:1]]
    return hashes[0] if hashes and hashes[0] else unit.sha256


def _export(batch: Batch, state: StepState) -> ProofExport:
    (unit,) = state.units
    if not isinstance(state.step, ExportStep):
        raise TypeError(state.step)
    done = batch.ledger.export_of(batch.id, state.step.name, batch.sites.name(state.step.profile))
    output = batch.plan.folder / state.step.output
    return ProofExport(
        state.step.name,
        state.step.listing,
        output,
        digest_of(output) or None,
        done.manifest if done else None,
        _export_problem(unit, done),
    )


def _export_problem(unit: UnitState, done: Exported | None) -> Text | None:
    if done is None:
        return unit.problem or STANDINGS[unit.standing]
    return unit.problem if unit.standing is Standing.EDITED else None
