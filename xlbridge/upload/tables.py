"""The tables of a file that we keep: made where they lack, recognised where they are."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from xlbridge.errors import JournalError
from xlbridge.i18n import Text

_PARTS = """
SELECT made.name, made.type || group_concat(' ' || of_it.name, '')
FROM sqlite_master AS made LEFT JOIN pragma_table_info(made.name) AS of_it
GROUP BY made.name
"""


def make_tables(db: sqlite3.Connection, path: Path, schema: str) -> None:
    """Make those tables and indexes of a schema that a file lacks.

    Raises ``JournalError``, and changes nothing, when it has others of the same name: they are
    another version's.
    """
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(schema)
        ours = _parts(empty)
    there = _parts(db)
    if any(there.get(name, part) != part for name, part in ours.items()):
        raise JournalError(
            Text(
                pt="{path} é de outra versão do xlbridge: as tabelas são outras. O arquivo ficou "
                "como estava.",
                en="{path} is of another version of xlbridge: its tables differ. The file was left "
                "as it is.",
            ).format(path=path),
            Text(
                pt="Use a versão que o criou, ou escolha outra pasta com XLBRIDGE_HOME. Um diário "
                "novo não sabe o que já foi enviado: confira no sistema antes de enviar.",
                en="Use the version that made it, or choose another folder with XLBRIDGE_HOME. A "
                "new journal does not know what was sent already: look in the system before you "
                "send.",
            ),
        )
    db.executescript(schema)


def _parts(db: sqlite3.Connection) -> Mapping[str, str]:
    """Return what a database is made of, by name, with the columns of the tables."""
    return dict(db.execute(_PARTS))
