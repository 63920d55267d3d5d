"""Plan of a processing: the records that a sheet or a person names, what becomes of each, and the
report of that.

That follows from the state of each record and the claims of other jobs.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.report_forms import list_first
from xlbridge.resources import Mode, normalize_header
from xlbridge.resources.names import number_headers
from xlbridge.upload.claims import (
    ClaimedRows,
    ClaimScope,
    RowClaims,
    repeat_while_outdated,
    require_reason,
)
from xlbridge.upload.job import Job, JobSpec
from xlbridge.upload.journal import NewRequest
from xlbridge.upload.planning.planned_row import (
    JobPlan,
    PlannedRow,
    RowAction,
    RowReason,
)
from xlbridge.upload.process_kinds import (
    ProcessKind,
    RecordNumbers,
    RecordState,
    RecordStatus,
    StateReader,
)
from xlbridge.upload.row_changes import RecordTask
from xlbridge.workbook import WorkbookOrigin, cell_address
from xlbridge.workbook.read import SheetCells, read_workbook

if TYPE_CHECKING:
    from xlbridge.client import Client
    from xlbridge.settings import WorkbookLimits
    from xlbridge.upload.context import UploadContext

__all__ = [
    "InvalidNumbers",
    "ProcessPlan",
    "create_processing",
    "numbers_in_sheet",
    "plan_processing",
]


@dataclass(frozen=True, slots=True)
class ProcessPlan(JobPlan):
    """Plan of a processing, with a row for every record in the sheet's order.

    ``known`` are the claims on them in this journal, ``elsewhere`` those in other profiles'
    journals.
    """

    kind: ProcessKind
    numbers: RecordNumbers
    rows: Sequence[PlannedRow]
    known: ClaimedRows = field(repr=False)
    elsewhere: Mapping[Path, ClaimedRows] = field(repr=False)

    @property
    def to_process(self) -> list[PlannedRow]:
        """Records to process, or that the system is processing, in order."""
        return [row for row in self.rows if row.action.writes]

    @property
    def skipped(self) -> list[PlannedRow]:
        """Records that cannot be processed, in order."""
        return [row for row in self.rows if row.action is RowAction.HELD]

    @property
    def digest(self) -> str:
        """Digest of the records to process."""
        records = [[int(row.record or 0), row.status] for row in self.to_process]
        return hashlib.sha256(json.dumps([self.kind.name, records]).encode()).hexdigest()

    @property
    def note(self) -> dict[str, Any]:
        """Details of the event that records the plan, named as for uploads."""
        skipped = len(self.skipped)
        counts = {"unchanged": len(self.rows) - self.writes - skipped, "held": skipped}
        return {**super(ProcessPlan, self).note, "plan": counts, "hidden": self.numbers.hidden}


_READING = Text(
    pt="Lendo a situação de {n} {n:registro|registros}",
    en="Reading the {n:state|states} of {n} {n:record|records}",
)
_NOT_PROCESSED = Text(
    pt="Nada foi processado. Exporte a listagem deste sistema.",
    en="Nothing was processed. Export the listing from this system.",
)
_MISSING = Text(pt="não está no sistema", en="is not in the system")
_CLAIMED = Text(
    pt="está no processamento {job}, que não terminou: xlbridge resume {job}",
    en="is in the job {job}, which is not finished: xlbridge resume {job}",
    page=Text(
        pt="está no processamento {job}, que não terminou; continue-o em Envios",
        en="is in the job {job}, which is not finished; continue it under Uploads",
    ),
)
_BY_JOB = Text(pt="foi processado em {job}", en="was processed by {job}")
_PROCESSED_BEFORE = Text(
    pt="foi processado em {job}, mas o sistema o mostra pendente: confira; para processar mesmo "
    "assim: --again",
    en="was processed by {job}, but the system shows it as pending: check it; to process it "
    "anyway: --again",
    page=Text(
        pt="foi processado em {job}, mas o sistema o mostra pendente: confira no sistema",
        en="was processed by {job}, but the system shows it as pending: check it in the system",
    ),
)


def plan_processing(
    context: "UploadContext",
    client: "Client",
    kind: ProcessKind,
    numbers: RecordNumbers,
    *,
    again: str | None = None,
    at_once: int = 1,
) -> ProcessPlan:
    """Read the state of each record and decide on its action; nothing is sent.

    ``again`` is the reason to process records that a job has processed before. Raises
    ``UsageError`` if it is empty, or the workbook has numbers of another system;
    ``RemoteRejected``, ``TransportError`` or ``AuthenticationFailed`` if the system cannot be read.
    """
    require_reason(again)
    if numbers.file:
        profile = client.target.profile
        WorkbookOrigin.require_system(Path(numbers.file), client.identity, profile, _NOT_PROCESSED)
    scope = ClaimScope(client.identity, kind.name)
    claims = _claims(kind, numbers.numbers)
    known = context.journal.claimed(scope, claims)
    elsewhere = context.claimed_elsewhere(scope, claims)
    everywhere = reduce(ClaimedRows.merge, elsewhere.values(), known)
    # The unfinished uploads, by the import logs of their queued files.
    uploads = context.journal.requests_in(client.identity) if kind.is_queued else ()
    staged = {
        job.known.log_id: job.id for job in uploads if job.known.log_id and not job.state.is_final
    }
    reader = StateReader(client, kind, numbers.places, at_once)
    states = reader.read(numbers.numbers)
    rows = [
        _plan_record(kind, number, row, states[number], everywhere, staged, again=again)
        for number, row in zip(numbers.numbers, numbers.rows, strict=True)
    ]
    return ProcessPlan(kind, numbers, rows, known, elsewhere)


def _plan_record(
    kind: ProcessKind,
    number: int,
    row: int,
    state: RecordState,
    claimed: ClaimedRows,
    staged: Mapping[int, str],
    *,
    again: str | None,
) -> PlannedRow:
    digest = _digest(kind, number)
    before = claimed.accepted(digest) if again is None else []
    claimant = claimed.unfinished_job(digest, ()) or staged.get(number)
    action, reason, why = RowAction.HELD, None, state.remark
    match state.status:
        case RecordStatus.DONE:
            action = RowAction.UNCHANGED
        case _ if claimant is not None:
            reason, why = RowReason.CLAIMED, _CLAIMED.format(job=claimant)
        case RecordStatus.MISSING:
            reason, why = RowReason.NOT_FOUND, why or _MISSING
        case RecordStatus.CLOSED:
            reason = RowReason.CLOSED
        case RecordStatus.UNKNOWN if kind.is_queued:
            reason = RowReason.UNKNOWN
        case RecordStatus.UNKNOWN if before:
            action, why = RowAction.UNCHANGED, _BY_JOB.format(job=before[0])
        case RecordStatus.OPEN if before:
            reason = RowReason.PROCESSED_BEFORE
            why = _PROCESSED_BEFORE.format(job=before[0])
        case _:
            action = RowAction.PROCESS
    return PlannedRow(
        row, action, reason, str(number), why=why, status=state.status, assigned=state.assigned
    )


def _digest(kind: ProcessKind, number: int | str) -> str:
    """Return the digest by which a job claims a record; no row of a sheet has the same."""
    return f"process/{kind.name}/{number}"


def _claims(kind: ProcessKind, numbers: Iterable[int | str]) -> RowClaims:
    digests = [_digest(kind, number) for number in numbers]
    return RowClaims(digests, [()] * len(digests))


def create_processing(
    context: "UploadContext",
    client: "Client",
    kind: ProcessKind,
    numbers: RecordNumbers,
    progress: Callable[[Text], None],
    *,
    again: str | None = None,
    at_once: int = 1,
) -> Job:
    """Plan the processing of records and record its job, before anything is sent.

    An unsent job with the same plan is reused. Raises what ``plan_processing`` raises.
    """
    note = {"at_once": at_once, "again": again}

    def create() -> Job:
        progress(_READING.format(n=len(numbers.numbers)))
        plan = plan_processing(context, client, kind, numbers, again=again, at_once=at_once)
        return _record(context, client, plan, note)

    return repeat_while_outdated(create)


def _record(
    context: "UploadContext", client: "Client", plan: ProcessPlan, note: Mapping[str, Any]
) -> Job:
    """Record the job of a plan, or the plan in the unsent job that already has it."""
    records, source = plan.to_process, plan.numbers
    numbers = [row.record or "" for row in records]
    spec = JobSpec(
        profile=client.target.profile,
        resource=plan.kind.name,
        mode=Mode.PROCESS,
        file=source.file,
        sheet=source.sheet,
        digest=plan.digest,
        payload="",
        rows=tuple(row.row for row in records),
        columns=source.columns,
        system=client.identity,
    )
    places, within = source.places, plan.kind.within
    tasks = [
        RecordTask(number, {}, {}, {within: places[int(number)]} if within else {})
        for number in numbers
    ]
    claims = _claims(plan.kind, numbers)
    note = {**note, "target": client.target.to_json()}
    unsent = context.journal.find_unsent(spec, [len(spec.rows)])
    if unsent is not None and context.journal.plan_of(unsent) == plan.rows:
        return context.journal.refresh_plan(unsent, plan, note)
    request = NewRequest(spec, claims, tasks=tasks)
    return context.create_job(spec, [request], plan, note, plan.known, plan.elsewhere)


_HEADER_ROWS = 20
"""Rows at the top of a sheet that are searched for its header."""

_SHOWN_CELLS = 10
_LEAST_INEXACT = 1e15
"""Least number that a cell may not store exactly."""

_DIGITS = re.compile(r"[0-9]{1,18}", re.ASCII)


class InvalidNumbers(UsageError):
    """Cells of the sheet, named in ``cells``, that are not numbers of records."""

    def __init__(self, file: Path, cells: Sequence[str]) -> None:
        super().__init__(
            Text(
                pt="{file}: {n} {n:célula não tem|células não têm} número de registro: {cells}",
                en="{file}: {n} {n:cell has|cells have} no number of a record: {cells}",
            ).format(file=file, n=len(cells), cells=list_first(cells, _SHOWN_CELLS)),
            Text(
                pt="Nada foi enviado: corrija as células ou apague as linhas.",
                en="Nothing was sent: fix the cells or delete the rows.",
            ),
        )
        self.cells = cells


def numbers_in_sheet(
    file: Path, kind: ProcessKind, limits: "WorkbookLimits", sheet: str | None = None
) -> RecordNumbers:
    """Return the record numbers in a workbook's column, found by its header.

    Empty cells are skipped. Raises ``UsageError`` unless there is exactly one such sheet and
    column; ``InvalidNumbers`` for cells with other values; ``WorkbookRefused`` if the file is not
    a .xlsx that can be read safely.
    """
    cells, header, column = _find_column(file, kind, limits, sheet)
    position = cells.first_column + column
    hidden = cells.raw.layout.hidden_rows
    others = _other_columns(file, cells, header, kind)
    known: dict[int, int] = {}
    places: dict[int, int] = {}
    wrong: list[str] = []
    empty = repeated = 0
    for row in range(header + 1, cells.height + 1):
        if any(
            str(cells.columns[others[name]].value(row - 1)).strip() != value
            for name, value in kind.only.items()
            if name in others
        ):
            continue
        number = _number(cells, row, column)
        place = _number(cells, row, others[kind.within]) if kind.within else None
        if isinstance(number, str):
            wrong.append(f"{cell_address(row, position)} ({number})")
        elif number is None:
            empty += any(value != "" for value in cells.row(row - 1))
        elif number in known:
            repeated += 1
        elif kind.within and not isinstance(place, int):
            address = cell_address(row, cells.first_column + others[kind.within])
            wrong.append(f"{address} ({place or '–'})")
        else:
            known[number] = row
            if isinstance(place, int):
                places[number] = place
    if wrong:
        raise InvalidNumbers(file, wrong)
    if not known:
        raise UsageError(
            Text(
                pt="{file}: a coluna {column} não tem nenhum número.",
                en="{file}: the column {column} has no numbers.",
            ).format(file=file, column=kind.number)
        )
    return RecordNumbers(
        list(known),
        list(known.values()),
        places,
        str(file.resolve()),
        cells.name,
        {kind.number: position},
        hidden=sum(row in hidden for row in known.values()),
        empty=empty,
        repeated=repeated,
    )


def _number(cells: SheetCells, row: int, column: int) -> int | str | None:
    """Return the number in a cell, None if it is empty or 0, its text if it is not a number."""
    position = (row, cells.first_column + column)
    raw = cells.raw
    if position in raw.errors or position in raw.without_result or position in raw.scaled:
        return raw.errors.get(position, "?")
    value = cells.columns[column].value(row - 1)
    whole = isinstance(value, float) and value.is_integer() and abs(value) < _LEAST_INEXACT
    text = str(int(value) if whole and isinstance(value, float) else value).strip()
    if not _DIGITS.fullmatch(text):
        return text or None
    return int(text) or None


def _find_column(
    file: Path, kind: ProcessKind, limits: "WorkbookLimits", sheet: str | None
) -> tuple[SheetCells, int, int]:
    """Return the sheet with the column of the numbers, its header row, and the column.

    A sheet named after the listing takes precedence.
    """
    sheets = read_workbook(file, limits, sheet).sheets
    found = [(cells, row, column) for cells in sheets for row, column in _columns(cells, kind)]
    candidates = [column for column in found if column[0].name == kind.listing] or found
    if len(candidates) == 1:
        return candidates[0]
    headers = " / ".join(kind.headers)
    if not candidates:
        raise UsageError(
            _NO_COLUMN.format(file=file, headers=headers),
            kind.sheet_hint,
        )
    in_several_sheets = len({cells.name for cells, _, _ in candidates}) > 1
    raise UsageError(
        Text(
            pt="{file}: há mais de uma coluna {headers}: {places}.",
            en="{file}: there is more than one column {headers}: {places}.",
        ).format(
            file=file,
            headers=headers,
            places=", ".join(
                f"{cells.name}!{cell_address(row, cells.first_column + column)}"
                for cells, row, column in candidates
            ),
        ),
        Text(pt="Escolha a planilha com --sheet.", en="Choose the sheet with --sheet.")
        if in_several_sheets
        else Text(pt="Apague a que sobra.", en="Delete the surplus column."),
    )


def _other_columns(file: Path, cells: SheetCells, header: int, kind: ProcessKind) -> dict[str, int]:
    """Return the columns of the kind's other fields, in the header row.

    Raises ``UsageError`` if the one that records are read by is missing.
    """
    titles = [normalize_header(str(value)) for value in cells.row(header - 1)]
    found = {
        name: index
        for name in (kind.within, *kind.only)
        if name
        for index, title in enumerate(titles)
        if title in number_headers(name)
    }
    if kind.within and kind.within not in found:
        raise UsageError(_NO_COLUMN.format(file=file, headers=kind.within))
    return found


_NO_COLUMN = Text(
    pt="{file}: nenhuma coluna se chama {headers}.", en="{file}: no column is called {headers}."
)


def _columns(cells: SheetCells, kind: ProcessKind) -> Iterator[tuple[int, int]]:
    """Yield the Excel row and the column of each matching header in the first row that has any."""
    wanted = frozenset().union(*map(number_headers, kind.headers))
    for position in range(min(_HEADER_ROWS, cells.height)):
        titles = [normalize_header(str(value)) for value in cells.row(position)]
        if wanted.intersection(titles):
            yield from (
                (position + 1, column) for column, title in enumerate(titles) if title in wanted
            )
            return
