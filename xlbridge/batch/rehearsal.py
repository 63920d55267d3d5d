"""Rehearsal of a batch: its own workbooks in a private workspace, under faults, then proven.

The batch runs as it would in reality, first on a sandbox with faults, then on the same
system without them until nothing changes any more.
"""

import os
import shutil
import socket
import sqlite3
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd

from xlbridge.batch.batch import Batch, UnitStatus
from xlbridge.batch.plan_steps import (
    BatchPlan,
    CompareStep,
    ExportStep,
    ProcessStep,
    WorkbookStep,
    workbooks_of,
)
from xlbridge.batch.reference_checks import ProvidedKeys
from xlbridge.batch.rehearsal_report import REHEARSAL_TITLE, RehearsalResult, rehearsal_report
from xlbridge.batch.report import step_json
from xlbridge.batch.run import prove_batch, run_batch
from xlbridge.batch.run_options import BatchRunOptions, open_batch
from xlbridge.batch.workbook_checks import compared_part, validate_workbook
from xlbridge.connection import quirks_for
from xlbridge.errors import ApiError, ConfigError, UsageError, os_error_reason
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.parallel import executor_for
from xlbridge.profiles import choose_profile
from xlbridge.report_forms import list_first
from xlbridge.resources import Kind, Resource
from xlbridge.resources.quirks_file import format_quirks
from xlbridge.resources.references import Link
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
from xlbridge.validation.cross_sheet import registered_codes

__all__ = [
    "REHEARSAL_TITLE",
    "rehearsal_report",
    "run_rehearsal",
]

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
    def database(self) -> Path:
        """The sandbox's database."""
        return self.folder / "sandbox.db"

    @property
    def quirks_file(self) -> Path:
        """The quirks of the user's system, which the sandbox has too."""
        return self.settings.quirks_file(_PROFILE)

    def sandbox(self, faults: str | None) -> AbstractContextManager[RunningSandbox]:
        """Run the sandbox. Raises what ``sandbox_process`` raises."""
        options = ["--db", str(self.database), "--port", str(self.port)]
        if faults:
            options += ["--faults", faults]
        if self.quirks_file.is_file():
            options += ["--quirks", str(self.quirks_file)]
        schemas = self.settings.custom_schemas
        return sandbox_process(self.settings.home, options, schemas=schemas)

    def storage(self) -> AbstractContextManager[Storage]:
        """Open the database directly."""
        return closing(open_database(database_url(str(self.database))))


def prepare_workspace(
    folder: Path, settings: Settings, faults: FaultPlan, original: Path | None, kind: SeedKind
) -> Workspace:
    """Create a private workspace with a copy of the ``original`` database, or a new one.

    Schemas, limits and quirks are those of the user's ``settings``. Raises ``UsageError`` if there
    is no such database, ``ConfigError`` if it is not one of the sandbox.
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
                en="Stop the sandbox that uses it, and try again.",
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
    return folder / plan.path.relative_to(root), len(workbooks)


_NOT_COPIED = Text(
    pt="{path} não pôde ser copiado para o ensaio: {reason}.",
    en="{path} cannot be copied for the rehearsal: {reason}.",
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
    for the sandbox. ``database`` is a sandbox's, which is copied; without it a new
    one is filled by ``kind``. ``stand_ins`` creates records that are missing there. ``keep`` is a
    folder for all files, otherwise they are deleted. Of ``settings`` only schemas, limits and
    quirks are used.

    Raises ``UsageError`` for faults, paths or folders that cannot be used; ``ConfigError`` for an
    unsuitable database; ``TransportError`` if the sandbox does not start; and what
    ``run_batch`` raises.
    """
    planned = parse_faults(faults)
    faults = faults if planned.faults else ""
    with _workspace_folder(keep) as folder:
        workspace = prepare_workspace(folder, settings, planned, database, kind)
        path, copied = copy_month(plan, folder / "month")
        open_copy = partial(open_batch, path, plan.parameters, workspace.settings, show)
        created: Mapping[str, int] = {}
        if stand_ins:
            with open_copy() as batch, workspace.storage() as storage:
                created = _create_stand_ins(batch, storage, show)
        runs = _Runs(workspace, show)
        if faults:
            with workspace.sandbox(faults), open_copy() as batch:
                runs.repeat(batch, _UNDER_FAULTS, _MAX_FAULTY_RUNS)
        faulty = runs.count
        with workspace.sandbox(None), open_copy() as batch:
            failure = runs.repeat(batch, _WITHOUT_FAULTS, _MAX_CALM_RUNS)
            runs.wait_for_queue()
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
    """Create the records that the workbooks refer to and neither bring themselves nor the database
    has; return how many, by table."""
    sheets: list[ValidatedSheet] = []
    rows: list[tuple[Resource, Resource, list[dict[Hashable, Any]]]] = []
    named: dict[tuple[str, str], tuple[Link, Kind]] = {}
    for step in batch.plan.steps:
        for workbook in workbooks_of(batch.plan, step) if isinstance(step, WorkbookStep) else ():
            show(Text(pt="Lendo {name}", en="Reading {name}").format(name=workbook.name))
            sheet = validate_workbook(batch, workbook)
            if not isinstance(sheet, ValidatedSheet) or sheet.resource is None:
                continue
            sheets.append(compared_part(sheet, batch.plan.folder))
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
                codes = part.frame[names].drop_duplicates().to_dict("records")
                rows.append((part.resource, sheet.resource, codes))
                for column in part.resource.columns:
                    if column.link is not None:
                        for value in part.frame[column.name].dropna().unique():
                            named[column.link.registry, str(value)] = column.link, column.kind
    provided = cache(lambda link, kind: ProvidedKeys(link.registry, link, kind, sheets))
    with storage.transaction(writing=True) as connection:
        now = datetime.now().replace(microsecond=0)
        stand_ins = StandIns(connection, now, registered_codes(sheets))
        for resource, record, codes in rows:
            for row in codes:
                filled = {str(name): value for name, value in row.items() if not pd.isna(value)}
                stand_ins.create_for_row(resource, filled, record)
        for (registry, value), (link, kind) in sorted(named.items(), key=itemgetter(0)):
            if value not in provided(link, kind):
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
"""Statuses that a person has to change.

A workbook with errors is not final: it may refer to records that did not exist yet.
"""
_MAX_QUEUE_SECONDS = 120.0
_QUEUE_POLL_SECONDS = 0.05


class _Runs:
    """The runs of a month, which are counted."""

    def __init__(self, workspace: Workspace, show: Callable[[Text], None]) -> None:
        self.count = 0
        self.options = BatchRunOptions(
            consent=lambda _request: True,
            # The workbooks have record numbers of the real system.
            upload=UploadOptions(consent=lambda _request: True, foreign_numbers=True),
            consent_to_processing=lambda _request: True,
            executor_for=partial(executor_for, workers=None, scheduler=None),
        )
        self._workspace = workspace
        self._show = show
        self._last: object = None
        self._final = False

    def repeat(self, batch: Batch, message: Text, limit: int) -> ApiError | None:
        """Run a batch until another run changes nothing, or up to a limit; what is in doubt is left
        alone for a while before the next run.

        Return the error of the last run, if it failed.
        """
        failure = None
        for _ in range(0 if self._final else limit):
            self.count += 1
            self._show(message.format(n=self.count))
            try:
                steps, failure = run_batch(batch, self.options).steps, None
            except ApiError as error:
                failure = error
                continue
            last, self._last = self._last, list(map(step_json, steps))
            ready = [one for state in steps if not state.waits_for for one in state.units]
            # Rows that only other rows kept out are sent by the next run.
            self._final = all(one.status in _FINAL and not one.rows.not_written for one in ready)
            if self._final or last == self._last:
                break
            if any(one.status is UnitStatus.IN_DOUBT for one in ready):
                time.sleep(self._workspace.settings.settle_seconds)
        return failure

    def wait_for_queue(self) -> None:
        """Wait until the sandbox has processed all files."""
        end = time.monotonic() + _MAX_QUEUE_SECONDS
        with self._workspace.storage() as storage:
            while time.monotonic() < end:
                with storage.transaction(writing=False) as connection:
                    if not has_unfinished_files(connection):
                        return
                time.sleep(_QUEUE_POLL_SECONDS)
