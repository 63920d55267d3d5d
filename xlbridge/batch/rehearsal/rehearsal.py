"""Rehearsal of a batch: its own workbooks in a private workspace, under faults, then proven.

The batch runs as it would in reality, first on a practice system with faults, then on the same
system without them until nothing changes any more.
"""

import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from xlbridge.batch.batch import Batch, UnitStatus
from xlbridge.batch.plan.steps import BatchPlan, WorkbookStep, workbooks_of
from xlbridge.batch.rehearsal.checks import check_trial, read_tables
from xlbridge.batch.rehearsal.report import RehearsalResult, TrialResult
from xlbridge.batch.rehearsal.workspace import Workspace, copy_month, prepare_workspace
from xlbridge.batch.run import prove_batch, run_batch
from xlbridge.batch.run_options import BatchRunOptions, open_batch
from xlbridge.batch.workbook_checks import validate_workbook
from xlbridge.errors import ApiError, TransportError, UsageError
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.parallel import executor_for
from xlbridge.resources import Kind, Resource
from xlbridge.resources.references import REFERENCES, Link, key_fields, registry_named
from xlbridge.sandbox import SeedKind, has_unfinished_files, parse_faults
from xlbridge.sandbox.rehearsal import CODE_COLUMNS, StandIns, own_code, table_name_of
from xlbridge.sandbox.storage import Storage
from xlbridge.settings import Settings
from xlbridge.upload import UploadOptions
from xlbridge.upload.lookup import comparable_key, name_keys
from xlbridge.validation import ValidatedSheet


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalOptions:
    """Options of a rehearsal.

    ``faults`` is a specification for the practice system, ``seed_number`` replaces its seed.
    ``database`` is a practice system's, which is copied; without it a new one is filled by
    ``kind``. ``stand_ins`` creates records that are missing there. ``compare`` also runs the month
    without faults. ``keep`` is a folder for all files, otherwise they are deleted. Of ``settings``
    only schemas and limits are used.
    """

    plan: BatchPlan
    faults: str
    settings: Settings
    seed_number: int | None = None
    database: Path | None = None
    kind: SeedKind = SeedKind.DEMO
    stand_ins: bool = False
    compare: bool = False
    keep: Path | None = None


def run_rehearsal(options: RehearsalOptions, show: Callable[[Text], None]) -> RehearsalResult:
    """Run a month in a private workspace and return the result.

    The real system is not contacted, and the workbooks are only read.

    Raises ``UsageError`` for faults, paths or folders that cannot be used; ``ConfigError`` for an
    unsuitable database; ``TransportError`` if the practice system does not start; and what
    ``run_batch`` raises.
    """
    faults = parse_faults(options.faults)
    parts = [part for part in options.faults.split(",") if not part.strip().startswith("seed=")]
    seed = faults.seed if options.seed_number is None else options.seed_number
    specification = ",".join([*parts, f"seed={seed}"]) if faults.faults else ""
    with _workspace_folder(options.keep) as folder:

        def try_month(name: str, faults_of_trial: str) -> TrialResult:
            workspace = prepare_workspace(
                folder / name, options.settings, faults, options.database, options.kind
            )
            return _run_trial(workspace, options, faults_of_trial, show)

        undisturbed = try_month("undisturbed", "") if options.compare else None
        trial = try_month("disturbed", specification)
    differences = None
    if undisturbed is not None:
        expected, found = undisturbed.checks.outcomes, trial.checks.outcomes
        differences = {
            row_id: (expected.get(row_id), found.get(row_id))
            for row_id in sorted(expected.keys() | found.keys())
            if expected.get(row_id) is not found.get(row_id)
        }
    kept = options.keep is not None
    return RehearsalResult(options.plan, specification, trial, kept, differences)


@contextmanager
def _workspace_folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        # Windows cannot delete files that a process ended just now still has open.
        with tempfile.TemporaryDirectory(
            prefix="xlbridge-rehearsal-", ignore_cleanup_errors=True
        ) as folder:
            yield Path(folder).resolve()
        return
    with report_write_errors(keep):
        keep.mkdir(parents=True, exist_ok=True)
        occupied = any(keep.iterdir())
    if occupied:
        raise UsageError(
            Text(
                pt="A pasta {folder} não está vazia.", en="The folder {folder} is not empty."
            ).format(folder=keep),
            Text(
                pt="Indique uma pasta nova: todos os arquivos do ensaio ficam nela.",
                en="Name a new folder: all files of the rehearsal stay in it.",
            ),
        )
    yield keep.resolve()


def _run_trial(
    workspace: Workspace, options: RehearsalOptions, faults: str, show: Callable[[Text], None]
) -> TrialResult:
    """Copy the month, run it under faults and then without, prove it, and check the result."""
    path, copied = copy_month(options.plan, workspace.month)
    parameters = options.plan.parameters
    with open_batch(path, parameters, workspace.settings, show) as batch:
        required = _RequiredRecords() if options.stand_ins else None
        rows = _count_rows(batch, required, show)
        catalogue = batch.environments.context(None).catalogue
        with workspace.storage() as storage:
            stand_ins = {} if required is None else required.create_missing(storage)
            before = read_tables(storage, catalogue)
    runs = _Runs(workspace.settings.settle_seconds, show)
    if faults:
        with (
            workspace.sandbox(faults),
            open_batch(path, parameters, workspace.settings, show) as batch,
        ):
            runs.repeat(batch, _UNDER_FAULTS, _MAX_FAULTY_RUNS)
    faulty = runs.count
    with workspace.sandbox(None), open_batch(path, parameters, workspace.settings, show) as batch:
        failure = runs.repeat(batch, _WITHOUT_FAULTS, _MAX_CALM_RUNS)
        _wait_for_queue(workspace)
        outcome = prove_batch(batch, runs.options.progress)
        if (error := failure or outcome.proof_error) is not None:
            raise error
        with workspace.storage() as storage:
            checks = check_trial(batch, outcome, rows, storage, before)
    return TrialResult(outcome, checks, copied, stand_ins, faulty, runs.count - faulty)


def _count_rows(
    batch: Batch, required: "_RequiredRecords | None", show: Callable[[Text], None]
) -> Mapping[tuple[str, str], int]:
    """Return the number of rows of every workbook; add the ``required`` records of all."""
    rows: dict[tuple[str, str], int] = {}
    for step in batch.plan.steps:
        if not isinstance(step, WorkbookStep):
            continue
        for workbook in workbooks_of(batch.plan, step):
            show(Text(pt="Lendo {name}", en="Reading {name}").format(name=workbook.name))
            sheet = validate_workbook(batch, workbook)
            rows[step.name, workbook.name] = 0
            if isinstance(sheet, ValidatedSheet):
                records = sum(row not in sheet.non_records for row in sheet.rows)
                rows[step.name, workbook.name] = records
                if required is not None:
                    required.add(sheet)
    return rows


@dataclass(slots=True)
class _RequiredRecords:
    """Records that the rows of sheets refer to, without those that the sheets create themselves."""

    _rows: list[tuple[Resource, Resource, list[dict[str, Any]]]] = field(default_factory=list)
    _linked: dict[tuple[str, str], Link] = field(default_factory=dict)
    _provided_names: set[tuple[str, str, str]] = field(default_factory=set)
    _provided_codes: defaultdict[str, set[object]] = field(default_factory=lambda: defaultdict(set))

    def add(self, sheet: ValidatedSheet) -> None:
        """Add the records of a sheet and its child sheets."""
        record = sheet.resource
        if record is None:
            return
        for part in sheet.with_children:
            if part.resource is None:
                continue
            # The columns whose codes must exist.
            names = [
                column.name
                for column in part.resource.columns
                if column.references is not None
                or (column.name in CODE_COLUMNS and not (column.link or column.sheet_link))
            ]
            rows = [
                {
                    str(name): value.item() if hasattr(value, "item") else value
                    for name, value in row.dropna().items()
                }
                for _, row in part.frame[names].drop_duplicates().iterrows()
            ]
            self._rows.append((part.resource, record, rows))
            for column in part.resource.columns:
                if column.link is not None:
                    for value in part.frame[column.name].dropna().unique():
                        self._linked[column.link.registry, str(value)] = column.link
        code = own_code(record)
        if code is not None:
            codes = sheet.frame[code].dropna().unique().tolist()
            self._provided_codes[table_name_of(record)].update(codes)
        registry = registry_named(record.name)
        if registry is not None:
            plain = record.base or record
            for name in {*key_fields(plain), REFERENCES[registry].label} & plain.by_name.keys():
                kind = plain.by_name[name].kind
                for value in sheet.frame[name].dropna().unique():
                    key = comparable_key(kind, value).casefold()
                    self._provided_names.add((registry, name, key))

    def create_missing(self, storage: Storage) -> Counter[str]:
        """Create the records that a database lacks; return how many, by table."""
        with storage.transaction(writing=True) as connection:
            now = datetime.now().replace(microsecond=0)
            stand_ins = StandIns(connection, now, self._provided_codes)
            for resource, record, rows in self._rows:
                for row in rows:
                    stand_ins.create_for_row(resource, row, record)
            for (registry, value), link in sorted(self._linked.items(), key=lambda item: item[0]):
                # A sheet may bring a record with one of the names that the value may be.
                if not any(
                    (registry, name.column, key.casefold()) in self._provided_names
                    for name in link.names
                    for key in (
                        comparable_key(name.kind, value),
                        *name_keys(link, name.kind, value),
                    )
                ):
                    # It is a document, or else a text.
                    is_document = len(name_keys(link, Kind.TEXT, value)) > 1
                    kinds = {Kind.CNPJ, Kind.CPF} if is_document else {Kind.TEXT}
                    fitting = (one for one in link.names if one.kind in kinds and link.is_loose)
                    name = next(fitting, link.names[0])
                    key = comparable_key(name.kind, value)
                    stand_ins.create_by_name(registry, link.fields, name.field, key)
            stand_ins.advance_counters()
        return stand_ins.counts


_MAX_FAULTY_RUNS, _MAX_CALM_RUNS = 8, 4
_UNDER_FAULTS = Text(pt="Execução {n}, com falhas", en="Run {n}, under faults")
_WITHOUT_FAULTS = Text(pt="Execução {n}, sem falhas", en="Run {n}, without faults")
_FINAL = frozenset({UnitStatus.DONE, UnitStatus.REFUSED, UnitStatus.PARTIAL})
"""Statuses that another run does not change unless a person fixes something.

A workbook with errors is not final: it may refer to records that did not exist yet.
"""


class _Runs:
    """The runs of a trial; a doubt is left alone for ``settle`` seconds before the next one."""

    def __init__(self, settle: float, show: Callable[[Text], None]) -> None:
        self.count = 0
        self.options = BatchRunOptions(
            consent=lambda _request: True,
            # The workbooks have record numbers of the real system.
            upload=UploadOptions(consent=lambda _request: True, foreign_numbers=True),
            consent_to_processing=lambda _request: True,
            executor_for=partial(executor_for, workers=None, scheduler=None),
        )
        self._settle = settle
        self._show = show
        self._last: object = None
        self._final = False

    def repeat(self, batch: Batch, message: Text, limit: int) -> ApiError | None:
        """Run a batch until another run would change nothing, or up to a limit.

        Return the error of the last run, if it failed.
        """
        failure = None
        for _ in range(0 if self._final else limit):
            self.count += 1
            self._show(message.format(n=self.count))
            try:
                outcome, failure = run_batch(batch, self.options), None
            except ApiError as error:
                failure = error
                continue
            status = [
                (state.step.name, state.status, unit.name, unit.status, unit.rows, len(unit.jobs))
                for state in outcome.steps
                for unit in state.units
            ]
            ready = [unit for state in outcome.steps if not state.waits_for for unit in state.units]
            self._final = all(unit.status in _FINAL for unit in ready)
            unchanged, self._last = status == self._last, status
            if unchanged or self._final:
                break
            if any(unit.status is UnitStatus.IN_DOUBT for unit in ready):
                time.sleep(self._settle)
        return failure


_MAX_QUEUE_SECONDS = 120.0
_QUEUE_POLL_SECONDS = 0.05


def _wait_for_queue(workspace: Workspace) -> None:
    end = time.monotonic() + _MAX_QUEUE_SECONDS
    with workspace.storage() as storage:
        while True:
            with storage.transaction(writing=False) as connection:
                if not has_unfinished_files(connection):
                    return
            if time.monotonic() > end:
                raise TransportError(
                    Text(
                        pt="A fila do ambiente de testes não esvazia.",
                        en="The practice system's queue does not become empty.",
                    )
                )
            time.sleep(_QUEUE_POLL_SECONDS)
