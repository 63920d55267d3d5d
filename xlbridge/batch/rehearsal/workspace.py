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
    """A private home in ``folder``, with the schemas and limits of the user's ``settings``."""

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
        """Return the settings with which journal and ledger are read; they lead nowhere."""
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
        """Run the practice system, under faults or without. Raises as ``sandbox_process`` does."""
        options = ["--db", str(self.database)]
        if faults:
            options += ["--faults", faults]
        with sandbox_process(self.home, options, self._environment()) as running:
            yield running

    def environment(self, running: RunningSandbox) -> dict[str, str]:
        """Return all that a run of the batch knows: nothing of the real system is in it."""
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
        """Open the database by itself."""
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
    """Make a private workspace: a database like the ``original``, or a new one with its seed.

    Raises ``UsageError`` when there is no such database, ``ConfigError`` when it is none of the
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
            # A user of the rehearsal's own: the password of another is not known here.
            own = replace(workspace.private_settings(), password=None)
            prepare_account(storage, own)
    except ConfigError as error:
        if original is None:
            raise
        message = Text(
            pt="{file} não serve para um ensaio: {why}", en="{file} is unfit to rehearse on: {why}"
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
    # A file with no log beside it is whole, and is read without making one.
    alone = not original.with_name(f"{original.name}-wal").exists()
    address = f"{original.resolve().as_uri()}?mode=ro" + ("&immutable=1" if alone else "")
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
    """Copy a plan and all its workbooks into an empty folder; the originals are only read.

    What a batch leaves beside its workbooks, and what it exports, so goes into the folder. Return
    where the plan's copy is, and how many workbooks were copied.

    Raises ``UsageError`` for a plan with paths that are not relative to it, and for a workbook
    that cannot be read.
    """
    _require_relative(plan)
    workbooks = dict.fromkeys(
        plan.file(str(workbook.path))
        for step in plan.steps
        if isinstance(step, WorkbookStep)
        for workbook in workbooks_of(plan, step)
    )
    written = [path.parent for _, path in plan.written()]
    folders = [plan.folder, *(path.parent for path in workbooks), *written]
    top = Path(os.path.commonpath(folders))
    for path in (plan.path, *workbooks):
        _copy_file(path, folder / path.relative_to(top))
    return folder / plan.path.relative_to(top), len(workbooks)


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
                en="{path} changed while it was copied; rehearse again.",
            ).format(path=path)
        )


def _outputs(plan: BatchPlan) -> Iterator[tuple[str, str]]:
    yield "proof", plan.proof
    for step in plan.steps:
        if isinstance(step, ExportStep | CompareStep):
            yield step.name, step.output
        if isinstance(step, ExportStep) and step.manifest is not None:
            yield step.name, step.manifest


def _require_relative(plan: BatchPlan) -> None:
    patterns = (
        (step.name, pattern)
        for step in plan.steps
        if isinstance(step, WorkbookStep)
        for pattern in step.patterns
    )
    for place, path in (*patterns, *_outputs(plan)):
        if Path(path).anchor:
            raise UsageError(
                Text(
                    pt="{place}: {path} não é relativo ao plano; um ensaio não poderia ser "
                    "isolado dele.",
                    en="{place}: {path} is not relative to the plan; a rehearsal could not be "
                    "kept apart from it.",
                ).format(place=place, path=path),
                Text(
                    pt="Escreva o caminho a partir da pasta do plano, como ../mes/*.xlsx.",
                    en="Write the path from the plan's folder on, such as ../month/*.xlsx.",
                ),
            )


@dataclass(slots=True)
class RequiredRecords:
    """Records that the rows of sheets name, without those that a sheet creates itself."""

    _rows: list[tuple[Resource, list[dict[str, Any]]]] = field(default_factory=list)
    _named: set[tuple[str, str, str, str]] = field(default_factory=set)
    _brought: set[tuple[str, str, str]] = field(default_factory=set)

    def add(self, sheet: ValidatedSheet) -> None:
        """Take note of a sheet."""
        if sheet.resource is None:
            return
        self._rows.append((sheet.resource, list(_distinct_rows(sheet, sheet.resource))))
        for column in sheet.resource.columns:
            if (link := column.link) is not None:
                for value in _key_values(sheet, column):
                    name = _name_of(link, value)
                    self._named.add((link.registry, name.column, name.field, value))
            elif column.name in sheet.resource.natural_keys:
                for value in _key_values(sheet, column):
                    self._brought.add((sheet.resource.name, column.name, value))

    def make(self, storage: Storage) -> Counter[str]:
        """Make what a database lacks of it; return how many records, by their tables."""
        with storage.transaction(writing=True) as connection:
            stand_ins = StandIns(connection, datetime.now().replace(microsecond=0))
            for resource, rows in self._rows:
                for row in rows:
                    stand_ins.create_for_row(resource, row)
            for registry, by, listed, value in sorted(self._named):
                if (registry, by, value) not in self._brought:
                    stand_ins.create_by_field(registry, listed, value)
            stand_ins.advance_counters()
        return stand_ins.counts


def _distinct_rows(sheet: ValidatedSheet, resource: Resource) -> Iterator[dict[str, Any]]:
    """Yield the different rows of the columns whose values must exist somewhere."""
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
    """Return which of a record's names a value is: a document, else what the record is called."""
    is_document = len(name_keys(link, Kind.TEXT, value)) > 1
    wanted = {Kind.CNPJ, Kind.CPF} if is_document else {Kind.TEXT}
    fitting = (name for name in link.names if name.kind in wanted)
    return next(fitting, link.names[0]) if link.is_loose else link.names[0]
