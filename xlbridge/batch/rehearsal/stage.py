"""The private place of a rehearsal: a home, a database, a practice system, and nothing real."""

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from xlbridge.errors import ConfigError, UsageError
from xlbridge.i18n import Text
from xlbridge.i18n.language import active_language
from xlbridge.sandbox.faults import FaultKind, FaultPlan
from xlbridge.sandbox.seed import seed
from xlbridge.sandbox.seed_kind import Seed
from xlbridge.sandbox.serving.account import prepare_account
from xlbridge.sandbox.serving.embedded import sandbox_process
from xlbridge.sandbox.serving.running import RunningSandbox
from xlbridge.sandbox.storage import Storage, database_url, reporting_trouble
from xlbridge.settings import SCHEMAS_VARIABLE, Settings

_PROFILE = "rehearsal"
_EMAIL = "ensaio@xlbridge.example"
_NOWHERE = "http://127.0.0.1:9"
_OF_THE_REAL_SYSTEM = (
    "XLBRIDGE_BASE_URL",
    "XLBRIDGE_CA_BUNDLE",
    "XLBRIDGE_EMAIL",
    "XLBRIDGE_HOME",
    "XLBRIDGE_PASSWORD",
    "XLBRIDGE_PROFILE",
    "XLBRIDGE_SETTLE",
)
_LEAST_SETTLE = 1.0


@dataclass(frozen=True, slots=True)
class Stage:
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
            base_url=_NOWHERE,
            email=_EMAIL,
            password=secrets.token_urlsafe(),
            settle=self.settle,
            limits=self.settings.limits,
            own_schemas=self._schemas(),
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
        with closing(Storage(database_url(str(self.database)))) as storage:
            yield storage

    def _environment(self) -> dict[str, str]:
        kept = {name: v for name, v in os.environ.items() if name not in _OF_THE_REAL_SYSTEM}
        kept["XLBRIDGE_LANG"] = active_language()
        schemas = self._schemas()
        return kept if schemas is None else kept | {SCHEMAS_VARIABLE: str(schemas)}

    def _schemas(self) -> Path | None:
        return self.settings.schemas.resolve() if self.settings.schemas.is_dir() else None


def set_stage(
    folder: Path, settings: Settings, faults: FaultPlan, original: Path | None, kind: Seed
) -> Stage:
    """Make a private place: a database like the ``original``, or a new one with its seed.

    Raises ``UsageError`` when there is no such database, ``ConfigError`` when it is none of the
    practice system.
    """
    delays = sum(f.value for f in faults.faults if f.kind is FaultKind.DELAY)
    stage = Stage(folder, settings, _LEAST_SETTLE + delays)
    stage.home.mkdir(parents=True)
    stage.month.mkdir()
    if original is not None:
        _copy_database(original, stage.database)
    try:
        with stage.storage() as storage, reporting_trouble(storage.url):
            with storage.transaction(writing=True) as connection:
                seed(connection, kind, 1)
            # A user of the rehearsal's own: the password of another is not known here.
            own = replace(stage.private_settings(), password=None)
            prepare_account(storage, own)
    except ConfigError as error:
        if original is None:
            raise
        told = Text(
            pt="{file} não serve para um ensaio: {why}", en="{file} is unfit to rehearse on: {why}"
        )
        raise ConfigError(told.format(file=original, why=error.message), error.hint) from error
    return stage


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
