"""The end of a course: every row of every workbook, as the journal and as the tables have it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from xlbridge.batch.batch import Batch
from xlbridge.batch.closing.given import ProofFile
from xlbridge.batch.closing.sent_rows import SentFile, SentRow, Uploads
from xlbridge.batch.overview import overview
from xlbridge.batch.plan import WorkbookStep
from xlbridge.batch.rehearsal.counting import Sent, tally
from xlbridge.batch.rehearsal.outcome import (
    Breach,
    Broken,
    Counted,
    Place,
    Refusal,
    WorkbookEnd,
)
from xlbridge.batch.report import STANDINGS
from xlbridge.batch.standing import UnitState
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import Catalogue
from xlbridge.sandbox.rehearsing.holdings import Form, Held, forms, held, resources_apart, table_of
from xlbridge.sandbox.storage import Storage
from xlbridge.upload.desk import Desk
from xlbridge.upload.fates import Fate
from xlbridge.upload.payload import load_payload
from xlbridge.upload.report import verdict_of

_NOT_SENT = Text(pt="não foi enviada", en="was not sent")
_NOT_THERE = frozenset({Fate.REJECTED, Fate.NOT_WRITTEN, Fate.UNSENT})


def held_now(storage: Storage, catalogue: Catalogue) -> list[Held]:
    """Return what the tables of all resources hold."""
    with storage.transaction(writing=False) as connection:
        return [held(connection, resource) for resource in resources_apart(catalogue.values())]


def count_course(
    batch: Batch, rows: Mapping[tuple[str, str], int], storage: Storage, before: Sequence[Held]
) -> Counted:
    """Return what became of every row.

    ``rows`` is how many rows each workbook has, by its step's name and its own; ``before`` is
    what the tables held before the first run.
    """
    states = overview(batch)
    uploads = {
        profile: Uploads(batch.sites.desk(profile).journal)
        for profile in {step.profile for step in batch.plan.steps}
    }
    files: list[tuple[UnitState, SentFile]] = []
    for state in states:
        step = state.step
        if isinstance(step, WorkbookStep) and step.sending is not None:
            for unit in state.units:
                given = _proof_file(batch, unit, rows[step.name, unit.name])
                files.append((unit, uploads[step.profile].of(step.name, given)))
    desk = batch.sites.desk(None)
    sent = _sent_rows([(unit.name, file) for unit, file in files], desk, storage)
    counted = tally(sent, before, held_now(storage, desk.catalogue))
    contradictions = tuple(
        Broken(Breach.NO_VERDICT, told) for _, file in files for told in file.breaches
    )
    return Counted(
        workbooks=tuple(_workbook_end(unit, file) for unit, file in files),
        refusals=tuple(refusal for unit, file in files for refusal in _refusals(unit, file)),
        tally=replace(counted, broken=(*counted.broken, *contradictions)),
        open_steps={
            state.step.name: state.problem or STANDINGS[state.standing]
            for state in states
            if not state.done
        },
    )


def _proof_file(batch: Batch, unit: UnitState, rows: int) -> ProofFile:
    jobs = tuple(job.id for job in unit.jobs[:1])
    return ProofFile(batch.plan.folder / unit.name, unit.sha256, rows, unit.problem, jobs)


def _workbook_end(unit: UnitState, file: SentFile) -> WorkbookEnd:
    fates = {row.origin: row.fate for row in file.rows if row.fate is not Fate.UNSENT}
    return WorkbookEnd(file.step, unit.name, file.file.rows_in_sheet, fates, unit.problem)


def _refusals(unit: UnitState, file: SentFile) -> Iterator[Refusal]:
    why: dict[tuple[str, int | None], str] = {}
    for job in file.jobs:
        for refused in verdict_of(job).rejected_rows:
            column = f"{refused.column}: " if refused.column else ""
            why.setdefault((job.id, refused.row), f"{column}{refused.message}")
    for row in file.rows:
        if row.fate in _NOT_THERE:
            said = why.get((row.job.id, row.row))
            told = _reason(row) if said is None else Text(pt=said, en=said)
            yield Refusal(Place(file.step, unit.name, row.origin), told)


def _reason(row: SentRow) -> Text:
    return row.job.reason if row.job.last("reason") else _NOT_SENT


def _sent_rows(
    files: Sequence[tuple[str, SentFile]], desk: Desk, storage: Storage
) -> Mapping[str, list[Sent]]:
    """Return the rows that were sent, by the tables that they go into."""
    found: defaultdict[str, list[Sent]] = defaultdict(list)
    with storage.transaction(writing=False) as connection:
        for name, file in files:
            stored: dict[str, list[Form | None]] = {}
            for row in file.rows:
                what = row.job.what
                resource = desk.catalogue.named(what.resource)
                if row.job.id not in stored:
                    content = load_payload(desk.settings.payloads, what.payload)
                    limits = desk.settings.limits
                    stored[row.job.id] = forms(
                        connection, content, resource, desk.catalogue, limits
                    )
                form = stored[row.job.id][row.position]
                place = Place(file.step, name, row.origin)
                found[table_of(resource)].append(Sent(place, row.fate, form))
    return found
