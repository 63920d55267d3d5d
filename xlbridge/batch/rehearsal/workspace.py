"""Private workspace of a rehearsal: home, sandbox, copied workbooks, stand-in records."""

import os
import secrets
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from xlbridge.batch.plan.steps import (
    BatchPlan,
    CompareStep,
    ExportStep,
    WorkbookStep,
    file_digest,
    workbooks_of,
)
from xlbridge.errors import ConfigError, UsageError, os_error_reason
from xlbridge.i18n import Text, active_language
from xlbridge.resources import Column, Kind, Resource
from xlbridge.resources.references import Link, LinkName
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
from xlbridge.sandbox.rehearsal import CODE_COLUMNS, StandIns
from xlbridge.sandbox.storage import Storage, database_url, translate_database_errors
from xlbridge.settings import SCHEMAS_VARIABLE, Settings
from xlbridge.upload.lookup import comparable_key, name_keys
from xlbridge.validation import ValidatedSheet

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
        """Run the practice system. Raises what ``sandbox_process`` raises."""
        options = ["--db", str(self.database)]
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
    workspace = Workspace(folder, settings, _MIN_SETTLE_SECONDS + delays)
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
    """Copy a plan and all its workbooks into an empty folder, where its outputs go too.

    Return the path of the plan's copy and the number of workbooks copied. Raises ``UsageError`` if
    the plan has paths that are not relative, or a workbook cannot be read.
    """
    _require_relative(plan)
    workbooks = dict.fromkeys(
        plan.file(str(workbook.path))
        for step in plan.steps
        if isinstance(step, WorkbookStep)
        for workbook in workbooks_of(plan, step)
    )
    outputs = (path for _, path in plan.outputs())
    root = Path(os.path.commonpath([plan.folder, *(p.parent for p in (*workbooks, *outputs))]))
    for path in (plan.path, *workbooks):
        _copy_file(path, folder / path.relative_to(root))
    return folder / plan.path.relative_to(root), len(workbooks)


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


def _require_relative(plan: BatchPlan) -> None:
    """Raise ``UsageError`` if a path of the plan is absolute."""
    paths = [("proof", plan.proof)]
    for step in plan.steps:
        if isinstance(step, WorkbookStep):
            paths += [(step.name, pattern) for pattern in step.patterns]
        if isinstance(step, ExportStep | CompareStep):
            paths.append((step.name, step.output))
        if isinstance(step, ExportStep) and step.manifest is not None:
            paths.append((step.name, step.manifest))
    for key, path in paths:
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


@dataclass(slots=True)
class RequiredRecords:
    """Records that the rows of sheets refer to, without those that the sheets create."""

    _rows: list[tuple[Resource, list[dict[str, Any]]]] = field(default_factory=list)
    _linked: set[tuple[str, str, str, str]] = field(default_factory=set)
    _created: set[tuple[str, str, str]] = field(default_factory=set)

    def add(self, sheet: ValidatedSheet) -> None:
        """Add the records that a sheet refers to."""
        if sheet.resource is None:
            return
        self._rows.append((sheet.resource, list(_distinct_rows(sheet, sheet.resource))))
        for column in sheet.resource.columns:
            if (link := column.link) is not None:
                for value in _key_values(sheet, column):
                    name = _name_of(link, value)
                    self._linked.add((link.registry, name.column, name.field, value))
            elif column.name in sheet.resource.natural_keys:
                for value in _key_values(sheet, column):
                    self._created.add((sheet.resource.name, column.name, value))

    def create_missing(self, storage: Storage) -> Counter[str]:
        """Create the records that a database lacks; return their number by table."""
        with storage.transaction(writing=True) as connection:
            stand_ins = StandIns(connection, datetime.now().replace(microsecond=0))
            for resource, rows in self._rows:
                for row in rows:
                    stand_ins.create_for_row(resource, row)
            for registry, column, field_name, value in sorted(self._linked):
                if (registry, column, value) not in self._created:
                    stand_ins.create_by_field(registry, field_name, value)
            stand_ins.advance_counters()
        return stand_ins.counts


def _distinct_rows(sheet: ValidatedSheet, resource: Resource) -> Iterator[dict[str, Any]]:
    """Yield the distinct rows of the columns whose values must exist in the system."""
    names = [
        column.name
        for column in resource.columns
        if column.references is not None or (column.name in CODE_COLUMNS and column.link is None)
    ]
    for _, row in sheet.frame[names].drop_duplicates().iterrows():
        yield {
            str(name): value.item() if hasattr(value, "item") else value
            for name, value in row.dropna().items()
        }


def _key_values(sheet: ValidatedSheet, column: Column) -> set[str]:
    return {comparable_key(column.kind, value) for value in sheet.frame[column.name].dropna()}


def _name_of(link: Link, value: str) -> LinkName:
    """Return the link name that a value belongs to: a document's, else the record's name."""
    is_document = len(name_keys(link, Kind.TEXT, value)) > 1
    kinds = {Kind.CNPJ, Kind.CPF} if is_document else {Kind.TEXT}
    matching = (name for name in link.names if name.kind in kinds)
    return next(matching, link.names[0]) if link.is_loose else link.names[0]
