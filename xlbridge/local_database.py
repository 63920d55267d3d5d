"""SQLite files of xlbridge: opening, schema check, and error messages."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from errno import ENOTDIR
from pathlib import Path
from types import TracebackType
from typing import Any

from xlbridge.errors import (
    CHECK_HOME,
    JournalError,
    LocalDatabaseError,
    UsageError,
    XlbridgeError,
    is_local_failure,
    os_error_reason,
)
from xlbridge.files import make_private_folder
from xlbridge.i18n import Text, untranslated

_BUSY_SECONDS = 30.0
_PRIMARY_CODE = 0xFF
"""Mask for the primary code within an extended result code."""

_REASONS: Mapping[int, Text] = {
    sqlite3.SQLITE_FULL: Text(pt="não há espaço no disco", en="no space left on the disk"),
    sqlite3.SQLITE_IOERR: Text(
        pt="o disco falhou, ou não tem espaço", en="the disk failed, or has no space left"
    ),
    sqlite3.SQLITE_READONLY: Text(
        pt="o arquivo ou a pasta é só de leitura", en="the file or its folder is read-only"
    ),
    sqlite3.SQLITE_BUSY: Text(
        pt="outro processo o ocupa há tempo demais", en="another process has locked it for too long"
    ),
    sqlite3.SQLITE_CANTOPEN: Text(
        pt="o arquivo não pode ser aberto nem criado", en="the file cannot be opened or created"
    ),
    sqlite3.SQLITE_NOTADB: Text(pt="não é um banco de dados", en="it is not a database"),
    sqlite3.SQLITE_CORRUPT: Text(pt="o arquivo está danificado", en="the file is damaged"),
}
_SCHEMA_QUERY = """
SELECT object.name, object.type || group_concat(' ' || field.name, '')
FROM sqlite_master AS object LEFT JOIN pragma_table_info(object.name) AS field
GROUP BY object.name
"""


class LocalDatabase(sqlite3.Connection):
    """Connection to a database file whose errors are raised as ``LocalDatabaseError``.

    A string that is not valid UTF-8 raises ``UsageError``.
    """

    def __init__(self, path: Path, **options: Any) -> None:
        self._path = path
        with self._report_errors():
            super().__init__(path, timeout=_BUSY_SECONDS, **options)

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """Run one statement."""
        with self._report_errors():
            return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        """Run one statement for each set of values."""
        with self._report_errors():
            return super().executemany(*arguments)

    def executescript(self, script: Any) -> sqlite3.Cursor:
        """Run several statements."""
        with self._report_errors():
            return super().executescript(script)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Any:
        with self._report_errors():
            return super().__exit__(kind, error, traceback)

    @contextmanager
    def _report_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
            reason = _REASONS.get(code, untranslated(str(error)))
            raise _unusable_file(self._path, reason) from error
        except UnicodeEncodeError as error:
            raise UsageError(
                Text(
                    pt="Este nome não é um texto UTF-8 válido e não pode ser gravado: {name!r}.",
                    en="This name is not valid UTF-8 text, and cannot be stored: {name!r}.",
                ).format(name=error.object),
                Text(pt="Dê outro nome ao arquivo.", en="Rename the file."),
            ) from error


def open_local_database(path: Path, schema: str, **options: Any) -> LocalDatabase:
    """Open a durable database, creating it for its owner only, synchronised at every commit.

    Raises ``LocalDatabaseError``, ``UsageError`` if its path is wrong, and ``JournalError`` if a
    table of ``schema`` has other columns there: the file is another version's and is left as it is.
    """
    try:
        make_private_folder(path.parent)
        path.touch(mode=0o600)
    except FileExistsError as error:
        reason = os_error_reason(NotADirectoryError(ENOTDIR, ""))
        raise _unusable_file(path, reason, UsageError) from error
    except OSError as error:
        kind = LocalDatabaseError if is_local_failure(error) else UsageError
        raise _unusable_file(path, os_error_reason(error), kind) from error
    db = LocalDatabase(path, **options)
    try:
        _require_same_schema(db, path, schema)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.executescript(schema)
    except BaseException:
        db.close()
        raise
    return db


def _require_same_schema(db: LocalDatabase, path: Path, schema: str) -> None:
    with closing(sqlite3.connect(":memory:")) as model:
        model.executescript(schema)
        expected = _read_schema(model)
    found = _read_schema(db)
    if all(found.get(name, columns) == columns for name, columns in expected.items()):
        return
    raise JournalError(
        Text(
            pt="{path} é de outra versão do xlbridge: as tabelas são outras. O arquivo não foi "
            "alterado.",
            en="{path} was created by another version of xlbridge: its tables differ. The file "
            "was not changed.",
        ).format(path=path),
        Text(
            pt="Use a versão que o criou ou escolha outra pasta com XLBRIDGE_HOME. Um diário "
            "novo não sabe o que já foi enviado: confira no sistema antes de enviar.",
            en="Use the version that created it, or choose another folder with XLBRIDGE_HOME. A "
            "new journal does not know what was already sent: check the system before you send.",
            page=Text(
                pt="Um diário novo não sabe o que já foi enviado: não envie nada antes de falar "
                "com quem cuida do xlbridge.",
                en="A new journal does not know what was already sent: send nothing before you "
                "have talked to the person who looks after xlbridge.",
            ),
        ),
    )


def _read_schema(db: sqlite3.Connection) -> Mapping[str, str]:
    """Return the type and columns of each object in a database, by name."""
    return dict(db.execute(_SCHEMA_QUERY))


def _unusable_file(
    path: Path, reason: Text, kind: type[XlbridgeError] = LocalDatabaseError
) -> XlbridgeError:
    return kind(
        Text(
            pt="{path} não pôde ser lido ou gravado: {reason}.",
            en="{path} cannot be read or written: {reason}.",
        ).format(path=path, reason=reason),
        CHECK_HOME,
    )
