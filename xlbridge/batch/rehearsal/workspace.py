"""Private workspace of a rehearsal: home, sandbox and copied workbooks."""

import os
import shutil
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from xlbridge.batch.plan.steps import (
    BatchPlan,
    CompareStep,
    ExportStep,
    ProcessStep,
    WorkbookStep,
    file_digest,
    workbooks_of,
)
from xlbridge.connection import quirks_for
from xlbridge.errors import ConfigError, UsageError, os_error_reason
from xlbridge.i18n import Text
from xlbridge.profiles import choose_profile
from xlbridge.report_forms import list_first
from xlbridge.resources.remote import format_quirks
from xlbridge.sandbox import (
    FaultKind,
    FaultPlan,
    RunningSandbox,
    SeedKind,
    open_database,
    prepare_account,
    sandbox_process,
    seed_database,
)
from xlbridge.sandbox.storage import Storage, database_url, translate_database_errors
from xlbridge.settings import Settings

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
    def quirks_file(self) -> Path:
        """The quirks of the user's system, which the practice system has too."""
        return self.settings.quirks_file(_PROFILE)

    @contextmanager
    def sandbox(self, faults: str | None) -> Iterator[RunningSandbox]:
        """Run the practice system. Raises what ``sandbox_process`` raises."""
        options = ["--db", str(_database(self.folder)), "--port", str(self.port)]
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
        with closing(open_database(database_url(str(_database(self.folder))))) as storage:
            yield storage


def _database(folder: Path) -> Path:
    return folder / "sandbox.db"


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
        _copy_database(original, _database(folder))
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
            ).format(file=original, reason=error)
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
    for key, named in _paths(plan):
        if Path(named).anchor:
            raise UsageError(_ABSOLUTE.format(key=key, path=named), _HOW_TO_NAME_PATHS)
    reading = [step for step in plan.steps if isinstance(step, WorkbookStep)]
    workbooks = {
        plan.file(str(workbook.path)) for step in reading for workbook in workbooks_of(plan, step)
    }
    inputs = {plan.file(str(step.mapping.path)) for step in reading if step.mapping is not None}
    inputs |= {
        plan.existing_file(step.file)
        for step in plan.steps
        if isinstance(step, ProcessStep) and step.file is not None
    }
    outputs = (path for _, path in plan.outputs())
    files = (*workbooks, *inputs, *outputs)
    root = Path(os.path.commonpath([plan.folder, *(path.parent for path in files)]))
    for path in (plan.path, *sorted(workbooks | inputs)):
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


def _paths(plan: BatchPlan) -> Iterator[tuple[str, str]]:
    """Yield the steps of a plan with each path that they read or write."""
    yield "proof", plan.proof
    for step in plan.steps:
        paths: tuple[str | None, ...] = ()
        match step:
            case WorkbookStep():
                paths = step.patterns
            case ExportStep():
                paths = (step.output, step.manifest)
            case ProcessStep():
                paths = (step.file,)
        yield from ((step.name, path) for path in paths if path is not None)


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
