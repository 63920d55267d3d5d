"""Rehearsal of a batch: its own workbooks in a private workspace, under faults, then proven.

The batch runs as it would in reality, first on a practice system with faults, then on the same
system without them until nothing changes any more.
"""

import os
import shutil
import socket
import sqlite3
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from xlbridge.batch.batch import Batch
from xlbridge.batch.plan.steps import (
    BatchPlan,
    CompareStep,
    ExportStep,
    ProcessStep,
    WorkbookStep,
    file_digest,
    workbooks_of,
)
from xlbridge.batch.rehearsal.report import RehearsalResult
from xlbridge.batch.run import prove_batch, run_batch
from xlbridge.batch.run_options import BatchRunOptions, open_batch
from xlbridge.batch.unit import UnitStatus
from xlbridge.batch.workbook_checks import validate_workbook
from xlbridge.connection import quirks_for
from xlbridge.errors import ApiError, ConfigError, TransportError, UsageError, os_error_reason
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.parallel import executor_for
from xlbridge.profiles import choose_profile
from xlbridge.report_forms import list_first
from xlbridge.resources import Kind, Resource
from xlbridge.resources.quirks_file import format_quirks
from xlbridge.resources.references import REFERENCES, Link, key_fields, registry_named
from xlbridge.sandbox import (
    FaultKind,
    FaultPlan,
    RunningSandbox,
    SeedKind,
    has_unfinished_files,
    open_database,
    parse_faults,
    prepare_account,
    sandbox_process,
    seed_database,
)
from xlbridge.sandbox.rehearsal import CODE_COLUMNS, StandIns
from xlbridge.sandbox.storage import Storage, database_url, translate_database_errors
from xlbridge.settings import Settings
from xlbridge.upload import UploadOptions
from xlbridge.upload.lookup import comparable_key, name_keys
from xlbridge.validation import ValidatedSheet

_PROFILE = "rehearsal"
_EMAIL = "ensaio@xlbridge.example"
_MIN_SETTLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Workspace:
    """Private workspace in ``folder``.

    ``settings`` are those of a home and a user of its own; their address is that of the practice
    system at ``port``, and uploads are resumed there because it stays the same.
    """

    folder: Path
    settings: Settings
    port: int

    @property
    def month(self) -> Path:
        """The folder of the copies."""
        return self.folder / "month"

    @property
    def database(self) -> Path:
        """The practice system's database."""
        return self.folder / "sandbox.db"

    @property
    def quirks_file(self) -> Path:
        """The quirks of the user's system, which the practice system has too."""
        return self.settings.quirks_file(_PROFILE)

    @contextmanager
    def sandbox(self, faults: str | None) -> Iterator[RunningSandbox]:
        """Run the practice system. Raises what ``sandbox_process`` raises."""
        options = ["--db", str(self.database), "--port", str(self.port)]
        if faults:
            options += ["--faults", faults]
        if self.quirks_file.is_file():
            options += ["--quirks", str(self.quirks_file)]
        schemas = self.settings.custom_schemas
        with sandbox_process(self.settings.home, options, schemas=schemas) as running:
            yield running

    @contextmanager
    def storage(self) -> Iterator[Storage]:
        """Open the database directly."""
        with closing(open_database(database_url(str(self.database)))) as storage:
            yield storage


def prepare_workspace(
    folder: Path, settings: Settings, faults: FaultPlan, original: Path | None, kind: SeedKind
) -> Workspace:
    """Create a private workspace with a copy of the ``original`` database, or a new one.

    Schemas, limits and quirks are those of the user's ``settings``. Raises ``UsageError`` if there
    is no such database, ``ConfigError`` if it is not one of the practice system.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    delays = sum(fault.value for fault in faults.faults if fault.kind is FaultKind.DELAY)
    private = Settings(
        home=folder / "home",
        profile=_PROFILE,
        base_url=f"http://127.0.0.1:{port}",
        email=_EMAIL,
        settle=_MIN_SETTLE_SECONDS + delays,
        limits=settings.limits,
        custom_schemas=settings.schemas.resolve() if settings.schemas.is_dir() else None,
    )
    workspace = Workspace(folder, private, port)
    private.home.mkdir(parents=True)
    workspace.month.mkdir()
    if declared := format_quirks(quirks_for(settings, choose_profile(settings))[0]):
        workspace.quirks_file.parent.mkdir()
        workspace.quirks_file.write_text(declared, "utf-8")
    if original is not None:
        _copy_database(original, workspace.database)
    try:
        with workspace.storage() as storage, translate_database_errors(storage.url):
            with storage.transaction(writing=True) as connection:
                seed_database(connection, kind, 1)
            # A user of its own, as the passwords of existing users are not known.
            account = prepare_account(storage, private)
    except ConfigError as error:
        if original is None:
            raise
        message = Text(
            pt="{file} não serve para um ensaio: {why}",
            en="{file} cannot be used for a rehearsal: {why}",
        )
        raise ConfigError(message.format(file=original, why=error.message), error.hint) from error
    return replace(workspace, settings=replace(private, password=account.password))


def _copy_database(original: Path, copy: Path) -> None:
    if not original.is_file():
        raise UsageError(
            Text(
                pt="Não existe o banco de dados {file}.", en="There is no database {file}."
            ).format(file=original)
        )
    # Without a write-ahead log the file is complete, and must be read without creating one.
    complete = not original.with_name(f"{original.name}-wal").exists()
    address = f"{original.resolve().as_uri()}?mode=ro" + ("&immutable=1" if complete else "")
    try:
        with (
            closing(sqlite3.connect(address, uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
    except sqlite3.Error as error:
        raise ConfigError(
            Text(
                pt="O banco de dados {file} não pôde ser copiado: {reason}",
                en="The database {file} cannot be copied: {reason}",
            ).format(file=original, reason=error),
            Text(
                pt="Feche o ambiente de testes que o usa, e repita.",
                en="Stop the practice system that uses it, and try again.",
            ),
        ) from error


def copy_month(plan: BatchPlan, folder: Path) -> tuple[Path, int]:
    """Copy a plan and the files that it reads into an empty folder, where its outputs go too.

    Return the path of the plan's copy and the number of workbooks copied. Raises ``UsageError`` if
    the plan cannot be rehearsed, or a file cannot be read.
    """
    needing = [
        step.name for step in plan.steps if isinstance(step, CompareStep) or plan.is_source(step)
    ]
    if needing:
        steps = list_first(needing, _MAX_STEPS_NAMED)
        raise UsageError(_ONE_SYSTEM.format(n=len(needing), steps=steps), _EXPORT_FIRST)
    inputs: set[Path] = set()
    workbooks: set[Path] = set()
    named: list[tuple[str, str | None]] = [("proof", plan.proof)]
    for step in plan.steps:
        match step:
            case WorkbookStep():
                named += ((step.name, pattern) for pattern in step.patterns)
                workbooks |= {plan.file(str(book.path)) for book in workbooks_of(plan, step)}
                inputs |= set() if step.mapping is None else {plan.file(str(step.mapping.path))}
            case ExportStep():
                named += ((step.name, step.output), (step.name, step.manifest))
                inputs |= set() if step.into is None else {plan.existing_file(step.into)}
            case ProcessStep():
                named.append((step.name, step.file))
                inputs |= set() if step.file is None else {plan.existing_file(step.file)}
    for key, written in named:
        if written is not None and Path(written).anchor:
            raise UsageError(_ABSOLUTE.format(key=key, path=written), _HOW_TO_NAME_PATHS)
    inputs |= workbooks
    files = (*inputs, *(path for _, path in plan.outputs()))
    root = Path(os.path.commonpath([plan.folder, *(path.parent for path in files)]))
    for path in (plan.path, *sorted(inputs)):
        target = folder / path.relative_to(root)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        except OSError as error:
            raise UsageError(
                _NOT_COPIED.format(path=path, reason=os_error_reason(error))
            ) from error
        if file_digest(path) != file_digest(target):
            raise UsageError(_CHANGED_MEANWHILE.format(path=path))
    return folder / plan.path.relative_to(root), len(workbooks)


_NOT_COPIED = Text(
    pt="{path} não pôde ser copiado para o ensaio: {reason}.",
    en="{path} cannot be copied for the rehearsal: {reason}.",
)
_CHANGED_MEANWHILE = Text(
    pt="{path} mudou enquanto era copiado; ensaie de novo.",
    en="{path} changed while it was being copied; rehearse again.",
)


_ABSOLUTE = Text(
    pt="{key}: {path} não é relativo ao plano, e o ensaio não poderia ser isolado.",
    en="{key}: {path} is not relative to the plan, so a rehearsal could not be isolated.",
)
_HOW_TO_NAME_PATHS = Text(
    pt="Escreva o caminho a partir da pasta do plano, como ../mes/*.xlsx.",
    en="Write the path relative to the plan's folder, such as ../month/*.xlsx.",
)
_MAX_STEPS_NAMED = 3


_ONE_SYSTEM = Text(
    pt="O plano não pode ser ensaiado assim: um ensaio tem um só sistema, novo, e {n:esta "
    "etapa lê outro|estas etapas leem outro}: {steps}.",
    en="The plan cannot be rehearsed as it is: a rehearsal has a single, new system, and "
    "{n:this step reads|these steps read} another one: {steps}.",
)
_EXPORT_FIRST = Text(
    pt="Faça as exportações antes, com um plano só delas, e ensaie uma cópia do plano "
    "sem essas etapas, na mesma pasta: ela envia os arquivos exportados.",
    en="Export first, with a plan of just the exports, then rehearse a copy of the plan "
    "without these steps, in the same folder: it sends the exported workbooks.",
)


def run_rehearsal(
    plan: BatchPlan,
    settings: Settings,
    show: Callable[[Text], None],
    *,
    faults: str = "",
    database: Path | None = None,
    kind: SeedKind = SeedKind.DEMO,
    stand_ins: bool = False,
    keep: Path | None = None,
) -> RehearsalResult:
    """Run a month in a private workspace under faults and then without, prove it, and return the
    result.

    The real system is not contacted, and the workbooks are only read. ``faults`` is a specification
    for the practice system. ``database`` is a practice system's, which is copied; without it a new
    one is filled by ``kind``. ``stand_ins`` creates records that are missing there. ``keep`` is a
    folder for all files, otherwise they are deleted. Of ``settings`` only schemas, limits and
    quirks are used.

    Raises ``UsageError`` for faults, paths or folders that cannot be used; ``ConfigError`` for an
    unsuitable database; ``TransportError`` if the practice system does not start; and what
    ``run_batch`` raises.
    """
    planned = parse_faults(faults)
    faults = faults if planned.faults else ""
    with _workspace_folder(keep) as folder:
        workspace = prepare_workspace(folder, settings, planned, database, kind)
        path, copied = copy_month(plan, workspace.month)
        open_copy = partial(open_batch, path, plan.parameters, workspace.settings, show)
        created: Mapping[str, int] = {}
        if stand_ins:
            with open_copy() as batch, workspace.storage() as storage:
                created = _create_stand_ins(batch, storage, show)
        runs = _Runs(workspace.settings.settle_seconds, show)
        if faults:
            with workspace.sandbox(faults), open_copy() as batch:
                runs.repeat(batch, _UNDER_FAULTS, _MAX_FAULTY_RUNS)
        faulty = runs.count
        with workspace.sandbox(None), open_copy() as batch:
            failure = runs.repeat(batch, _WITHOUT_FAULTS, _MAX_CALM_RUNS)
            _wait_for_queue(workspace)
            outcome = prove_batch(batch, runs.options.progress)
        if (error := failure or outcome.proof_error) is not None:
            raise error
    result = RehearsalResult(
        plan=plan,
        faults=faults,
        kept=keep is not None,
        outcome=outcome,
        copied=copied,
        stand_ins=created,
        faulty_runs=faulty,
        calm_runs=runs.count - faulty,
    )
    result.read_proofs(batch.plan.folder)
    return result


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


def _create_stand_ins(
    batch: Batch, storage: Storage, show: Callable[[Text], None]
) -> Mapping[str, int]:
    """Create the records that the workbooks refer to and a database lacks; return how many, by
    table."""
    required = _RequiredRecords()
    for step in batch.plan.steps:
        for workbook in workbooks_of(batch.plan, step) if isinstance(step, WorkbookStep) else ():
            show(Text(pt="Lendo {name}", en="Reading {name}").format(name=workbook.name))
            sheet = validate_workbook(batch, workbook)
            if isinstance(sheet, ValidatedSheet):
                required.add(sheet)
    return required.create_missing(storage)


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
                {str(name): value for name, value in row.items() if not pd.isna(value)}
                for row in part.frame[names].drop_duplicates().to_dict("records")
            ]
            self._rows.append((part.resource, record, rows))
            for column in part.resource.columns:
                if column.link is not None:
                    for value in part.frame[column.name].dropna().unique():
                        self._linked[column.link.registry, str(value)] = column.link
        for column in record.columns:
            if column.registers is not None:
                codes = sheet.frame[column.name].dropna().unique().tolist()
                self._provided_codes[column.registers].update(codes)
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
            stand_ins.write_counters()
        return stand_ins.counts


_MAX_FAULTY_RUNS, _MAX_CALM_RUNS = 8, 4
_UNDER_FAULTS = Text(pt="Execução {n}, com falhas", en="Run {n}, under faults")
_WITHOUT_FAULTS = Text(pt="Execução {n}, sem falhas", en="Run {n}, without faults")
_FINAL = frozenset({UnitStatus.DONE, UnitStatus.REFUSED, UnitStatus.PARTIAL})
"""Statuses that another run does not change unless a person fixes something.

A workbook with errors is not final: it may refer to records that did not exist yet.
"""


class _Runs:
    """The runs of a month; a doubt is left alone for ``settle`` seconds before the next one."""

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
                    ),
                    Text(
                        pt="Repita o ensaio, com menos falhas simuladas se precisar (--faults).",
                        en="Rehearse again, with fewer simulated faults if need be (--faults).",
                    ),
                )
            time.sleep(_QUEUE_POLL_SECONDS)
