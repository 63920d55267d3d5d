"""Private workspace of a rehearsal: home, sandbox and copied workbooks."""

import os
import secrets
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
from xlbridge.errors import ConfigError, UsageError, os_error_reason
from xlbridge.i18n import Text, active_language
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
from xlbridge.settings import SCHEMAS_VARIABLE, Settings

_PROFILE = "rehearsal"
_EMAIL = "ensaio@xlbridge.example"
_UNREACHABLE_URL = "http://127.0.0.1:9"
_REAL_SYSTEM_VARIABLES = (
    "XLBRIDGE_BASE_URL",
    "XLBRIDGE_CA_BUNDLE",
    "XLBRIDGE_EMAIL",
    "XLBRIDGE_HOME",
    "XLBRIDGE_PASSWORD",
    "XLBRIDGE_PROFILE",
    "XLBRIDGE_SETTLE",
)
_MIN_SETTLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Workspace:
    """Private workspace in ``folder``, with the schemas and limits of the user's ``settings``."""

    folder: Path
    settings: Settings
    settle: float
    port: int

    @property
    def home(self) -> Path:
        """The private home: journal, ledger, payloads."""
        return self.folder / "home"

    @property
    def month(self) -> Path:
        """The folder of the copies."""
        return self.folder / "month"

    @property
    def database(self) -> Path:
        """The practice system's database."""
        return self.folder / "sandbox.db"

    def private_settings(self) -> Settings:
        """Return the settings to read journal and ledger; their address is unreachable."""
        return Settings(
            home=self.home,
            profile=_PROFILE,
            base_url=_UNREACHABLE_URL,
            email=_EMAIL,
            password=secrets.token_urlsafe(),
            settle=self.settle,
            limits=self.settings.limits,
            custom_schemas=self._schemas(),
        )

    @contextmanager
    def sandbox(self, faults: str | None) -> Iterator[RunningSandbox]:
        """Run the practice system, always at the same address, which identifies it.

        Otherwise uploads could not be resumed. Raises what ``sandbox_process`` raises.
        """
        options = ["--db", str(self.database), "--port", str(self.port)]
        if faults:
            options += ["--faults", faults]
        with sandbox_process(self.home, options, self._environment()) as running:
            yield running

    def environment(self, running: RunningSandbox) -> dict[str, str]:
        """Return the environment variables of a run, without any of the real system."""
        return self._environment() | {
            "XLBRIDGE_HOME": str(self.home),
            "XLBRIDGE_PROFILE": _PROFILE,
            "XLBRIDGE_BASE_URL": running.base_url,
            "XLBRIDGE_EMAIL": running.email,
            "XLBRIDGE_PASSWORD": running.password,
            "XLBRIDGE_SETTLE": str(self.settle),
        }

    @contextmanager
    def storage(self) -> Iterator[Storage]:
        """Open the database directly."""
        with closing(open_database(database_url(str(self.database)))) as storage:
            yield storage

    def _environment(self) -> dict[str, str]:
        variables = {
            name: v for name, v in os.environ.items() if name not in _REAL_SYSTEM_VARIABLES
        }
        variables["XLBRIDGE_LANG"] = active_language()
        schemas = self._schemas()
        return variables if schemas is None else variables | {SCHEMAS_VARIABLE: str(schemas)}

    def _schemas(self) -> Path | None:
        return self.settings.schemas.resolve() if self.settings.schemas.is_dir() else None


def prepare_workspace(
    folder: Path, settings: Settings, faults: FaultPlan, original: Path | None, kind: SeedKind
) -> Workspace:
    """Create a private workspace with a copy of the ``original`` database, or a new one.

    Raises ``UsageError`` if there is no such database, ``ConfigError`` if it is not one of the
    practice system.
    """
    delays = sum(f.value for f in faults.faults if f.kind is FaultKind.DELAY)
    workspace = Workspace(folder, settings, _MIN_SETTLE_SECONDS + delays, _free_port())
    workspace.home.mkdir(parents=True)
    workspace.month.mkdir()
    if original is not None:
        _copy_database(original, workspace.database)
    try:
        with workspace.storage() as storage, translate_database_errors(storage.url):
            with storage.transaction(writing=True) as connection:
                seed_database(connection, kind, 1)
            # The passwords of existing users are not known.
            prepare_account(storage, replace(workspace.private_settings(), password=None))
    except ConfigError as error:
        if original is None:
            raise
        message = Text(
            pt="{file} não serve para um ensaio: {why}",
            en="{file} cannot be used for a rehearsal: {why}",
        )
        raise ConfigError(message.format(file=original, why=error.message), error.hint) from error
    return workspace


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


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
    _require_one_environment(plan)
    _require_relative(plan)
    workbooks = dict.fromkeys(
        plan.file(str(workbook.path))
        for step in plan.steps
        if isinstance(step, WorkbookStep)
        for workbook in workbooks_of(plan, step)
    )
    others = dict.fromkeys(path for path in _other_inputs(plan) if path not in workbooks)
    outputs = (path for _, path in plan.outputs())
    files = (*workbooks, *others, *outputs)
    root = Path(os.path.commonpath([plan.folder, *(path.parent for path in files)]))
    for path in (plan.path, *workbooks, *others):
        _copy_file(path, folder / path.relative_to(root))
    return folder / plan.path.relative_to(root), len(workbooks)


def _other_inputs(plan: BatchPlan) -> Iterator[Path]:
    """Yield the mapping files of a plan, and the workbooks with numbers of records to process."""
    for step in plan.steps:
        if isinstance(step, WorkbookStep) and step.mapping is not None:
            yield plan.file(str(step.mapping.path))
        if isinstance(step, ProcessStep) and step.file is not None:
            yield plan.file(step.file)


def _copy_file(path: Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    except OSError as error:
        raise UsageError(
            Text(
                pt="{path} não pôde ser copiado para o ensaio: {reason}.",
                en="{path} cannot be copied for the rehearsal: {reason}.",
            ).format(path=path, reason=os_error_reason(error))
        ) from error
    if file_digest(path) != file_digest(target):
        raise UsageError(
            Text(
                pt="{path} mudou enquanto era copiado; ensaie de novo.",
                en="{path} changed while it was being copied; rehearse again.",
            ).format(path=path)
        )


def _paths(plan: BatchPlan) -> Iterator[tuple[str, str]]:
    """Yield the steps of a plan with each path that they read or write."""
    yield "proof", plan.proof
    for step in plan.steps:
        if isinstance(step, WorkbookStep):
            for pattern in step.patterns:
                yield step.name, pattern
        if isinstance(step, ExportStep | CompareStep):
            yield step.name, step.output
        if isinstance(step, ExportStep) and step.manifest is not None:
            yield step.name, step.manifest
        if isinstance(step, ProcessStep) and step.file is not None:
            yield step.name, step.file


_MAX_STEPS_NAMED = 3


def _require_one_environment(plan: BatchPlan) -> None:
    """Raise ``UsageError`` for steps that need another environment than the one written to."""
    needing = [
        step.name for step in plan.steps if isinstance(step, CompareStep) or plan.is_source(step)
    ]
    if not needing:
        return
    more = len(needing) - _MAX_STEPS_NAMED
    shown = ", ".join(needing[:_MAX_STEPS_NAMED])
    raise UsageError(
        Text(
            pt="O plano não pode ser ensaiado assim: um ensaio tem um só sistema, novo, e {n:esta "
            "etapa lê outro|estas etapas leem outro}: {steps}{more}.",
            en="The plan cannot be rehearsed as it is: a rehearsal has a single, new system, and "
            "{n:this step reads|these steps read} another one: {steps}{more}.",
        ).format(n=len(needing), steps=shown, more=_AND_MORE.format(n=more) if more > 0 else ""),
        Text(
            pt="Faça as exportações antes, com um plano só delas, e ensaie uma cópia do plano "
            "sem essas etapas, na mesma pasta: ela envia os arquivos exportados.",
            en="Export first, with a plan of just the exports, then rehearse a copy of the plan "
            "without these steps, in the same folder: it sends the exported workbooks.",
        ),
    )


_AND_MORE = Text(pt=" e mais {n}", en=" and {n} more")


def _require_relative(plan: BatchPlan) -> None:
    """Raise ``UsageError`` if a path of the plan is absolute."""
    for key, path in _paths(plan):
        if Path(path).anchor:
            raise UsageError(
                Text(
                    pt="{key}: {path} não é relativo ao plano, e o ensaio não poderia ser isolado.",
                    en="{key}: {path} is not relative to the plan, so a rehearsal could not be "
                    "isolated.",
                ).format(key=key, path=path),
                Text(
                    pt="Escreva o caminho a partir da pasta do plano, como ../mes/*.xlsx.",
                    en="Write the path relative to the plan's folder, such as ../month/*.xlsx.",
                ),
            )
