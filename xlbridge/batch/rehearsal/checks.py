"""Checks of a rehearsal: what its closing proofs show of each row."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from xlbridge.batch.batch import Batch
from xlbridge.batch.plan.steps import BatchPlan, relative_name
from xlbridge.batch.proof.builder import contradictions
from xlbridge.batch.proof.content import OPEN_REASONS
from xlbridge.batch.proof.model import FileProof, OpenReason, Proof, RowLocation
from xlbridge.batch.run_options import BatchOutcome
from xlbridge.i18n import Text, untranslated
from xlbridge.upload.results import RowOutcome


class ViolationKind(StrEnum):
    """Kind of violation, which must not happen under any fault.

    ``TWICE``: a row is stored more often than it was accepted. ``LOST``: an accepted row is not
    stored. ``WRONGLY_REFUSED``: a row reported as rejected is stored. ``NO_VERDICT``: the outcomes
    do not account for all rows of a workbook.
    """

    TWICE = "twice"
    LOST = "lost"
    WRONGLY_REFUSED = "wrongly_refused"
    NO_VERDICT = "no_verdict"


class RowId(NamedTuple):
    """Identity of a row: its step, its workbook's name in the plan, and Excel's row number."""

    step: str
    workbook: str
    row: int


class Violation(NamedTuple):
    """A violation; ``row_id`` is None if it does not concern a single row."""

    kind: ViolationKind
    message: Text
    row_id: RowId | None = None


class RehearsalState(StrEnum):
    """Verdict on a rehearsal; ``NOT_READY``: a person must fix something."""

    PASSED = "passed"
    NOT_READY = "not_ready"
    IN_DOUBT = "in_doubt"
    BROKEN = "broken"


@dataclass(slots=True, kw_only=True)
class RehearsalResult:
    """A rehearsal of a plan: the status of its steps and their proofs, and what these show.

    ``copied`` is the number of workbooks, ``stand_ins`` the number of records created for it by
    table. ``faulty_runs`` were under faults, ``calm_runs`` without. ``refused`` and ``held`` are
    the reasons of the rows that are not in the system. ``doubts`` tells of each row in doubt
    whether it is; None: it cannot be looked up.
    """

    plan: BatchPlan
    faults: str
    kept: bool
    outcome: BatchOutcome
    copied: int
    stand_ins: Mapping[str, int]
    faulty_runs: int
    calm_runs: int
    refused: dict[RowId, Text] = field(default_factory=dict)
    held: dict[RowId, Text] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    doubts: dict[RowId, bool | None] = field(default_factory=dict)

    @property
    def state(self) -> RehearsalState:
        """The worst state found."""
        if self.violations:
            return RehearsalState.BROKEN
        if self.doubts:
            return RehearsalState.IN_DOUBT
        done = all(state.done for state in self.outcome.steps) and self.outcome.proofs_settled
        return RehearsalState.PASSED if done else RehearsalState.NOT_READY


_OF_PROOF = {
    OpenReason.DOUBLED: ViolationKind.TWICE,
    OpenReason.MISSING: ViolationKind.LOST,
    OpenReason.WRITTEN: ViolationKind.WRONGLY_REFUSED,
}
_ITEMS_DIFFER = Text(
    pt="{items}: {sent} {sent:enviado|enviados}, {stored} no sistema",
    en="{items}: {sent} sent, {stored} in the system",
)
_NOT_IN_SYSTEM = frozenset({RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.UNSENT})
_NOT_SENT = Text(pt="não foi enviada", en="was not sent")


def check_rehearsal(result: RehearsalResult, batch: Batch) -> None:
    """Add to a result what the proofs after its last run show."""
    folder = batch.plan.folder
    validated = {
        (state.step.name, unit.name): unit.check.rows
        for state in result.outcome.steps
        for unit in state.units
        if unit.check is not None
    }
    catalogue = batch.environments.context(None).catalogue
    lists = {child.sheet for one in catalogue.values() for child in one.children}
    files: list[FileProof] = []
    for written in result.outcome.proofs:
        _check_proof(result, written.proof, folder, lists)
        files += [file for of_step in written.proof.steps.values() for file in of_step]
    for file in files:
        if file.ledger is None:
            continue
        name = relative_name(folder, file.file.path)
        # The proof trusts the uploads' own counts.
        rows_in_sheet = validated.get((file.step, name), file.file.rows_in_sheet)
        counted = replace(file, file=replace(file.file, rows_in_sheet=rows_in_sheet))
        result.violations += [
            Violation(ViolationKind.NO_VERDICT, text) for text in contradictions(counted)
        ]
        for row in file.rows:
            why = file.ledger.reason(row)
            row_id = RowId(file.step, name, row.origin)
            if row.outcome in _NOT_IN_SYSTEM:
                result.refused[row_id] = why or _NOT_SENT
            elif row.left_out and row.outcome is RowOutcome.HELD and row.is_record:
                result.held[row_id] = why or untranslated("–")


def _check_proof(
    result: RehearsalResult, proof: Proof, folder: Path, lists: Collection[str]
) -> None:
    """Add the violations that a proof shows, and whether the rows in doubt are in the system."""

    def row_id(place: RowLocation) -> RowId:
        return RowId(place.step, relative_name(folder, place.workbook), place.origin)

    for row in proof.rows:
        if row.state in _OF_PROOF:
            kind, message = _OF_PROOF[row.state], OPEN_REASONS[row.state]
            result.violations.append(Violation(kind, message, row_id(row.location)))
        else:
            result.doubts[row_id(row.location)] = bool(row.codes) if row.key else None
    for cell in proof.cells:
        # The difference of a whole list is that of its numbers of items.
        if cell.column in lists:
            sent, stored = int(cell.sent or 0), int(cell.found or 0)
            kind = ViolationKind.LOST if stored < sent else ViolationKind.TWICE
            message = _ITEMS_DIFFER.format(items=cell.column, sent=sent, stored=stored)
            result.violations.append(Violation(kind, message, row_id(cell.location)))
